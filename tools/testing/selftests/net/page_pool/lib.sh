# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Helpers of the page pool tests: TAP, two namespaces with a wire between
# them, and a process of pp.py that does what a shell cannot do or only
# slowly.
#
# A test calls plan, then check for each of its cases, and ends in finish.
# All that it changes it gives to defer, which runs last in, first out,
# whichever way the test ends.

KSFT_SKIP=4

PP_DIR=$(cd "$(dirname "$0")" && pwd)
PP_NAME=$(basename "$0" .sh)
PP_BPF=$PP_DIR/xdp_pp.bpf.o
PP_TMP=
PP_PLAN=0
PP_SAID=
PP_NR=0
PP_SKIPPED=0
PP_FAILED=0
PP_DEFER=()
PP_WHY=

# The test's ends: the counters are read at B, traffic comes from A.
NSA=ppa-$$
NSB=ppb-$$
DEVA=
DEVB=
ADDRA=192.0.2.1
ADDRB=192.0.2.2
IPERF_PORT=5201
# The XDP programs look at UDP to ports from 40000 up only.
TEST_PORT=40001

# ------------------------------------------------------------------- TAP

# plan N: N cases will follow
plan()
{
	PP_PLAN=$1
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
	need_tool ip python3
	PP_TMP=$(mktemp -d) || exit 1
	trap pp_exit EXIT
	trap 'exit 143' TERM
	trap 'exit 130' INT
	PP_MARK="pp-selftest: $PP_NAME $$"
	echo "$PP_MARK" >/dev/kmsg
	coproc PP { exec python3 -S -B "$PP_DIR/pp.py"; }
	# subshells see these, but not those of the coprocess
	# shellcheck disable=SC2153
	exec 7<&"${PP[0]}" 8>&"${PP[1]}"
	# nobody writes to it: what wait_for sleeps on
	mkfifo "$PP_TMP/never" && exec 9<>"$PP_TMP/never" || exit 1
}

# the header waits for the first result: until then all may still be skipped
header()
{
	[ -n "$PP_SAID" ] && return
	PP_SAID=1
	echo "TAP version 13"
	echo "1..$1${2:+ # SKIP $2}"
}

# skip_all REASON: nothing more of the test can run here
skip_all()
{
	if [ -z "$PP_SAID" ]; then
		header 0 "$*"
		exit $KSFT_SKIP
	fi
	while [ "$PP_NR" -lt $((PP_PLAN - 1)) ]; do
		skip "$PP_NAME" "$*"
	done
	finish
}

say()
{
	local line

	while read -r line; do
		echo "# $line"
	done <<<"$*"
}

# check NAME COMMAND...: one test case; the last line of its output goes with
# the result, all of it when it fails
check()
{
	local name=$1 out rc

	shift
	header "$PP_PLAN"
	PP_NR=$((PP_NR + 1))
	out=$("$@" 2>&1)
	rc=$?
	if [ $rc -eq 0 ]; then
		echo "ok $PP_NR $name${out:+ (${out##*$'\n'})}"
		return 0
	fi
	PP_FAILED=$((PP_FAILED + 1))
	[ -n "$out" ] && say "$out"
	echo "not ok $PP_NR $name"
	return 1
}

# skip NAME REASON: one test case that cannot run here
skip()
{
	header "$PP_PLAN"
	PP_NR=$((PP_NR + 1))
	PP_SKIPPED=$((PP_SKIPPED + 1))
	echo "ok $PP_NR $1 # SKIP $2"
}

# a test of which nothing could run was skipped
finish()
{
	local ran=$((PP_NR - PP_SKIPPED))

	check "log is clean" log_clean
	[ $ran -eq 0 ] && [ $PP_FAILED -eq 0 ] && exit $KSFT_SKIP
	exit 0
}

# bail REASON: the test cannot go on, and that is a failure
bail()
{
	header "$PP_PLAN"
	PP_FAILED=$((PP_FAILED + 1))
	PP_NR=$((PP_NR + 1))
	echo "not ok $PP_NR $PP_NAME: $*"
	exit 1
}

defer()
{
	PP_DEFER+=("$*")
}

# undo: all that was deferred so far
undo()
{
	local i

	for ((i = ${#PP_DEFER[@]} - 1; i >= 0; i--)); do
		eval "${PP_DEFER[i]}" >/dev/null 2>&1
	done
	PP_DEFER=()
	# Pages in skbs that wait for a CPU which receives nothing would keep the
	# pools of devices that are gone, and the log would say so much later.
	python3 -B "$PP_DIR/pp.py" - free-deferred >/dev/null 2>&1
}

pp_exit()
{
	local rc=$?

	trap - EXIT
	trap '' INT TERM
	undo
	exec 7<&- 8>&- 9>&-
	rm -rf "$PP_TMP"
	[ $rc -eq $KSFT_SKIP ] && exit $KSFT_SKIP
	if [ $rc -eq 0 ] && [ "$PP_NR" -ne "$PP_PLAN" ]; then
		say "planned $PP_PLAN cases, ran $PP_NR"
		rc=1
	fi
	[ "$PP_FAILED" -ne 0 ] && rc=1
	exit $rc
}

# ----------------------------------------------------------------- needs

need_tool()
{
	local tool

	for tool in "$@"; do
		command -v "$tool" >/dev/null || skip_all "needs $tool"
	done
}

# has CONDITION...: a command whose output is the reason when it fails
has()
{
	PP_WHY=$("$@" 2>&1)
}

has_bpf()
{
	[ -r "$PP_BPF" ] && return 0
	PP_WHY="xdp_pp.bpf.o was not built (needs clang)"
	return 1
}

# ------------------------------------------------------------------- log

log_since()
{
	dmesg | sed -n "/$PP_MARK/,\$p" | sed 1d
}

log_clean()
{
	local bad='WARNING|BUG|Oops|general protection|lockdep|KASAN|DMA-API'

	bad+='|refcount_t|[Bb]ad page|page_pool.*(stalled|inflight)|violation'
	bad+='|NETDEV WATCHDOG'
	! log_since | grep -E "$bad"
}

# ---------------------------------------------------------------- pp.py

# pp NAMESPACE COMMAND...: see pp.py
pp()
{
	local line

	echo "$*" >&8
	while IFS= read -r line <&7; do
		case $line in
		$'\004'*) return "${line#?}" ;;
		*) echo "$line" ;;
		esac
	done
	echo "pp.py is gone"
	return 1
}

pp_a()
{
	pp "$NSA" "$@"
}

pp_b()
{
	pp "$NSB" "$@"
}

in_a()
{
	ip netns exec "$NSA" "$@"
}

in_b()
{
	ip netns exec "$NSB" "$@"
}

# wait_for SECONDS COMMAND...: until the command succeeds. To start a program
# takes an emulated CPU longer than to wait: no sleep.
wait_for()
{
	local end=$((SECONDS + $1))

	shift
	while ! "$@"; do
		[ $SECONDS -gt $end ] && return 1
		read -rt 0.05 -u 9
	done
	return 0
}

# -------------------------------------------------------- the two ends

make_netns()
{
	local ns

	for ns in "$@"; do
		ip netns add "$ns" || skip_all "no network namespaces"
		defer "ip netns del $ns"
		pp "$ns" prepare
		ip -n "$ns" link set lo up
	done
}

# ip_all NAMESPACE COMMAND...: all of them, though some fail, by one process
ip_all()
{
	ip -n "$1" -force -batch - < <(printf '%s\n' "${@:2}")
}

start_ends()
{
	ip_all "$NSA" "addr add $ADDRA/24 dev $DEVA" "link set $DEVA up"
	ip_all "$NSB" "addr add $ADDRB/24 dev $DEVB" "link set $DEVB up"
	PP_WHY=$(ready)
	case $? in
	0) return 0 ;;
	"$KSFT_SKIP") return 1 ;;
	*) bail "$PP_WHY" ;;
	esac
}

ready()
{
	pp_a ready "$DEVA" "$NSB" "$DEVB" $ADDRB
}

# make_veth [QUEUES]: a veth pair
# shellcheck disable=SC2120
make_veth()
{
	local queues=${1:+numrxqueues $1 numtxqueues $1}

	DEVA=ppva
	DEVB=ppvb
	make_netns "$NSA" "$NSB"
	# shellcheck disable=SC2086
	if ! ip -n "$NSA" link add $DEVA $queues type veth \
		peer name $DEVB $queues netns "$NSB"; then
		PP_WHY="no veth"
		return 1
	fi
	start_ends
}

# take_pair DRIVER [NODE]: two wired ports of a NIC, the receiver on NODE.
# PP_PAIR="eth1 eth2" chooses them by hand.
take_pair()
{
	PP_WHY=${PP_PAIR:-$(pp - pair "$@")} || return 1
	read -r DEVA DEVB <<<"$PP_WHY"
	make_netns "$NSA" "$NSB"
	ip link set "$DEVA" netns "$NSA" || bail "cannot move $DEVA"
	defer "give_back $NSA $DEVA"
	ip link set "$DEVB" netns "$NSB" || bail "cannot move $DEVB"
	defer "give_back $NSB $DEVB"
	start_ends
}

# a real device outlives the test: leave it as it was found
give_back()
{
	ip_all "$1" "link set $2 down" "link set $2 mtu 1500" \
		"link set $2 xdp off" "link set $2 xdpgeneric off" \
		"addr flush dev $2" "link set $2 netns $$"
}

set_mtu()
{
	ip -n "$NSA" link set "$DEVA" mtu "$1" &&
	ip -n "$NSB" link set "$DEVB" mtu "$1" &&
	ready
}

# xdp_on NS DEV PROGRAM [MODE]; MODE: xdp (native, default), xdpgeneric
xdp_on()
{
	ip -n "$1" link set dev "$2" "${4:-xdp}" obj "$PP_BPF" program "xdp_$3"
}

xdp_off()
{
	ip -n "$1" link set dev "$2" "${3:-xdp}" off
}

# --------------------------------------------------------------- traffic

# traffic tcp|udp SECONDS SIZE: from A to B, everything read at B; PP_SENDER
# and PP_READER are commands to start the two with. The TCP window is bounded:
# what the ring of a pool cannot hold at once is released by right and says
# nothing about recycling.
traffic()
{
	local proto=$1 secs=$2 size=$3 server rc

	if ! command -v iperf3 >/dev/null; then
		pp_b sink "$proto" $ADDRB $TEST_PORT $((secs + 1)) || return 1
		if [ "$proto" = tcp ]; then
			pp_a stream $ADDRB $TEST_PORT "$secs"
		else
			pp_a flood $ADDRB $TEST_PORT "$size" "$secs"
		fi
		return
	fi
	# shellcheck disable=SC2086
	in_b ${PP_READER:-} timeout $((secs + 30)) iperf3 -s -1 \
		-p $IPERF_PORT >"$PP_TMP/server" 2>&1 &
	server=$!
	pp_b listening $IPERF_PORT || return 1
	if [ "$proto" = udp ]; then
		set -- -u -b 0 -l "$size"
	else
		set -- -w 128K
	fi
	# shellcheck disable=SC2086
	in_a ${PP_SENDER:-} timeout $((secs + 25)) iperf3 -c $ADDRB -p $IPERF_PORT \
		-t "$secs" "$@" >"$PP_TMP/client" 2>&1
	rc=$?
	[ $rc -ne 0 ] && tail -n 2 "$PP_TMP/client"
	wait $server
	grep -o '[0-9.]* .bits/sec .*receiver' "$PP_TMP/client"
	return $rc
}

# A ring is filled on whatever CPU brings the interface up, and if that is on
# another node than NAPI, each of its pages is given back on first use. Use all
# of them once, before anything is counted.
warm_up()
{
	local ring size goal

	ring=$(pp_b ring "$DEVB")
	size=$(($(pp_b mtu "$DEVB") - 100))
	goal=$(($(pp_b rx-packets "$DEVB") + 2 * ring))
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		pp_a blast $ADDRB $TEST_PORT "$ring" "$size" 2000
		[ "$(pp_b rx-packets "$DEVB")" -ge "$goal" ] && return
	done
}

# both TIME SIZE: TCP, then UDP
both()
{
	traffic tcp "$1" "$2" && traffic udp "$1" "$2"
}

# Pages in the rings of a vmxnet3 with an XDP program. Every descriptor of the
# first ring of a queue has one; the last, too, though the device gets it only
# later.
posted_vmxnet3()
{
	local queues

	queues=$(in_b sh -c "echo /sys/class/net/$DEVB/queues/rx-*" | wc -w)
	echo $((queues * $(pp_b ring "$DEVB")))
}
