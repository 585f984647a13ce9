#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Packets of generic XDP are copied into pages of the pool that each CPU has for
# that. On PREEMPT_RT a task can be preempted with bottom halves off, by one of a
# higher priority that wants the same pool. Every byte that either receives is right.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 4
need_tool taskset chrt ethtool
has_bpf || skip_all "$PP_WHY"
make_veth || skip_all "$PP_WHY"

# All that is started from here on, the far end included, is on one CPU.
taskset -p -c 0 $$ >/dev/null || skip_all "cannot stay on CPU 0"

# sender NAME COMMAND...: a load that COMMAND starts
sender()
{
	local name=$1

	shift
	in_a "$@" python3 -B "$PP_DIR/e1000e_lib.py" load $ADDRB $LOAD_PORT \
		"$PP_TMP/$name" >"$PP_TMP/$name.err" 2>&1 &
	defer "kill -9 $!"
	wait_for 60 test -s "$PP_TMP/$name" || bail "no load: $(cat "$PP_TMP/$name.err")"
}

both_grown()
{
	local now

	[ -s "$PP_TMP/$1.err" ] && return
	read -r -a now <"$PP_TMP/$1"
	[ "${now[0]}" -ge $(($2 + 500000)) ] && [ "${now[1]}" -ge $(($3 + 500000)) ]
}

# far SENDER: it gets half a megabyte further, both ways
far()
{
	local old

	read -r -a old <"$PP_TMP/$1"
	wait_for 60 both_grown "$1" "${old[@]}" && [ ! -s "$PP_TMP/$1.err" ] && return
	echo "${old[*]}, later $(cat "$PP_TMP/$1"): $(cat "$PP_TMP/$1.err")"
	return 1
}

# The program counts UDP only.
seen()
{
	local n

	pp_a blast "$ADDRB" "$TEST_PORT" 200 800 2000
	n=$(pp_b xdp-count "$DEVB" 200)
	echo "$n of 200 packets"
	[ "$n" -ge 190 ]
}

# What has fragments is copied elsewhere.
for dev in "in_a $DEVA" "in_b $DEVB"; do
	${dev% *} ethtool -K "${dev#* }" sg off >/dev/null || bail "cannot switch off fragments"
done
xdp_on "$NSA" "$DEVA" pass xdpgeneric || bail "cannot attach to $DEVA"
xdp_on "$NSB" "$DEVB" pass xdpgeneric || bail "cannot attach to $DEVB"
serve_b
sender low env
sender high chrt -f 1
check "the low one's bytes" far low
check "the high one's bytes" far high
check "the program is in their way" seen

finish
