# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the e1000e tests share: a load that checks every byte it receives, and
# what has to be true after the device was taken down and up in some way.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

LOAD_PORT=40100
LOAD=
SERVE=

# serve_b: the far end of load_start and payload
serve_b()
{
	[ -n "$SERVE" ] && return
	# not a function: the process is to be killed, not a shell that waits
	ip netns exec "$NSB" python3 -B "$PP_DIR/e1000e_lib.py" serve $ADDRB $LOAD_PORT \
		>"$PP_TMP/serve" 2>&1 &
	SERVE=$!
	defer "kill $SERVE"
}

# load_start: TCP both ways until load_stop
load_start()
{
	serve_b
	rm -f "$PP_TMP/good"
	ip netns exec "$NSA" python3 -B "$PP_DIR/e1000e_lib.py" load $ADDRB $LOAD_PORT \
		"$PP_TMP/good" >"$PP_TMP/load" 2>&1 &
	LOAD=$!
	defer "kill -9 $LOAD; wait $LOAD"
	wait_for 60 test -s "$PP_TMP/good" || bail "no load: $(cat "$PP_TMP/load")"
}

load_is_gone()
{
	! kill -0 "$LOAD" 2>/dev/null
}

# load_was_right: stop the load; all that was received was right, to the end
load_was_right()
{
	kill -TERM "$LOAD"
	wait_for 20 load_is_gone || { echo "the load does not end"; return 1; }
	cat "$PP_TMP/load" "$PP_TMP/serve"
	if [ -s "$PP_TMP/load" ] || [ -s "$PP_TMP/serve" ]; then
		return 1
	fi
	echo "$(cat "$PP_TMP/good") bytes"
}

grown()
{
	local up down

	read -r up down <"$PP_TMP/good" || return 1
	[ "$up" -ge $(($1 + 100000)) ] && [ "$down" -ge $(($2 + 100000)) ]
}

# flows: the load makes progress both ways, now
flows()
{
	local up down

	kill -0 "$LOAD" 2>/dev/null || { cat "$PP_TMP/load"; return 1; }
	read -r up down <"$PP_TMP/good"
	wait_for 60 grown "$up" "$down" && return
	echo "stuck at $up up, $down down: $(cat "$PP_TMP/good")"
	return 1
}

# survives COMMAND...: the load goes on after it, no counter went back, the
# pools that went with it are gone
survives()
{
	pp_b snap old "$DEVB"
	"$@" || { echo "failed: $*"; return 1; }
	pp_b snap new "$DEVB"
	pp_b never-less old new || return 1
	flows || return 1
	pp_b snap newer "$DEVB"
	pp_b never-less new newer
}

# no_old_pool: those that were replaced went with the last page out
no_old_pool()
{
	in_b python3 -B "$PP_DIR/e1000e_lib.py" softirq 127.0.0.1 $LOAD_PORT
	pp_b none-dying "$DEVB"
}

# payload: datagrams of all sizes there and back at the MTU of the two ends
payload()
{
	in_a python3 -B "$PP_DIR/e1000e_lib.py" echo "${2:-$ADDRB}" \
		$LOAD_PORT "$1"
}
