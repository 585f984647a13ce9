#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# page_pool_skeleton is a driver that works: traffic over its two ports, with
# and without XDP programs; ring and MTU change under traffic; memory that
# runs out is survived; nothing is left when it goes down or is unloaded, with
# pages in sockets, too.
#
# PP_SKELETON_KO names the module where it is not installed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 21

MODULE=page_pool_skeleton
MAPPINGS=/sys/kernel/debug/dma-api/dump
FUNC=/sys/kernel/debug/fail_function

load()
{
	if [ -n "${PP_SKELETON_KO:-}" ]; then
		insmod "$PP_SKELETON_KO"
	else
		modprobe $MODULE
	fi
}

[ ! -e /sys/module/$MODULE ] || skip_all "$MODULE is in use"
if [ -n "${PP_SKELETON_KO:-}" ]; then
	[ -r "$PP_SKELETON_KO" ] || skip_all "no $PP_SKELETON_KO"
else
	modprobe -n $MODULE 2>/dev/null || skip_all "no module $MODULE"
fi
need_tool ethtool ping

# ports are found, wired, and have addresses
begin()
{
	load || bail "cannot load $MODULE"
	defer "rmmod $MODULE"
	take_pair $MODULE || bail "$PP_WHY"
}

pings()
{
	in_a ping -q -c 3 -i 0.01 -w 10 "$ADDRB" >/dev/null &&
	in_b ping -q -c 3 -i 0.01 -w 10 "$ADDRA" >/dev/null
}

# the whole ring is posted at both ends, and nothing else is out
ring_is_out()
{
	# without statistics there is nothing to count
	has pp_b has-counters "$DEVB" || return 0
	pp_a holds "$DEVA" "$(pp_a ring "$DEVA")" &&
	pp_b holds "$DEVB" "$(pp_b ring "$DEVB")"
}

linked()
{
	local out

	out=$(pp_b pools "$DEVB")
	echo "$out"
	[[ $out == *napi-id=* && $out != *$'\n'* ]] || return 1
	has pp_b has-counters "$DEVB" || return 0
	pp_b snap old "$DEVB"
	# frames to no socket are freed in the poll function
	pp_a blast "$ADDRB" "$TEST_PORT" 200 1000 1000
	pp_b snap new "$DEVB"
	echo "$(pp_b delta old new recycle_cached) of $(pp_b delta old new put)" \
		"pages directly"
	[ "$(pp_b delta old new recycle_cached)" -ge 100 ]
}

# under_traffic COMMAND...: TCP survives what the command does
under_traffic()
{
	local stream rc

	pp_b snap old "$DEVB"
	traffic tcp 3 1400 >"$PP_TMP/traffic" 2>&1 &
	stream=$!
	sleep 1
	"$@"
	rc=$?
	wait "$stream" || { cat "$PP_TMP/traffic"; return 1; }
	pp_b snap new "$DEVB"
	has pp_b has-counters "$DEVB" || return "$rc"
	pp_b never-less old new && pp_b moved old new 500 && ring_is_out &&
	pp_b free-deferred && pp_b none-dying "$DEVB" && return "$rc"
}

resize()
{
	local n

	for n in 512 100 1024 64 256; do
		in_b ethtool -G "$DEVB" rx "$n" || return 1
		sleep 0.2
	done
	! in_b ethtool -G "$DEVB" rx 2048 2>/dev/null || return 1
	[ "$(pp_b ring "$DEVB")" = 256 ]
}

rounds_up()
{
	in_b ethtool -G "$DEVB" rx 100 && [ "$(pp_b ring "$DEVB")" = 128 ] &&
	in_b ethtool -G "$DEVB" rx 1 && [ "$(pp_b ring "$DEVB")" = 64 ] &&
	in_b ethtool -G "$DEVB" rx 256 && ring_is_out
}

# One buffer for each frame, whatever its length, so pages of a higher order
jumbo()
{
	set_mtu 9000 || return 1
	in_a ping -q -M "do" -s 8972 -c 3 -i 0.01 -w 10 "$ADDRB" >/dev/null || return 1
	pp_a blast "$ADDRB" "$TEST_PORT" 300 8000 2000
	ring_is_out || return 1
	has pp_b has-counters "$DEVB" || return 0
	echo "$(pp_b stat "$DEVB" rx_pp_alloc_slow_ho) pages of a higher order"
	[ "$(pp_b stat "$DEVB" rx_pp_alloc_slow_ho)" -ge 256 ]
}

too_long()
{
	# the receiver's buffers are for 1500 bytes: the device drops the rest
	set_mtu 1500 && ip -n "$NSA" link set "$DEVA" mtu 9000 || return 1
	! in_a ping -q -M "do" -s 8972 -c 2 -i 0.01 -W 1 "$ADDRB" >/dev/null ||
		return 1
	set_mtu 1500 && pings
}

# what A's IP saw: frames that the program addressed to A, and as it left them
ip_received()
{
	# shellcheck disable=SC2016 # for awk
	in_a awk '$1 == "Ip:" && $4 ~ /^[0-9]+$/ { print $4 }' /proc/net/snmp
}

# verdict ACT: each test frame is seen once, and what the verdict says happens
verdict()
{
	local seen arrived received

	xdp_on "$NSB" "$DEVB" "$1" && ready || return 1
	[ "$1" != redirect ] || pp_b xdp-target "$DEVB" ppvc || return 1
	arrived=$(pp_a rx-packets "$DEVA")
	received=$(ip_received)
	[ "$1" != redirect ] || arrived=$(pp "$NSC" rx-packets ppvd)
	pp_a blast "$ADDRB" "$TEST_PORT" 400 800 2000
	seen=$(pp_b xdp-count "$DEVB" 400)
	echo "$seen packets"
	[ "$seen" = 400 ] || return 1
	case $1 in
	tx)
		pp_a wait-rx-packets "$DEVA" $((arrived + 400)) &&
		[ "$(ip_received)" -ge $((received + 400)) ]
		;;
	redirect) pp "$NSC" wait-rx-packets ppvd $((arrived + 400)) ;;
	esac && xdp_off "$NSB" "$DEVB" && ring_is_out
}

make_exit()
{
	NSC=ppc-$$
	make_netns $NSC
	ip -n "$NSB" link add ppvc type veth peer name ppvd netns $NSC &&
	ip -n "$NSB" link set ppvc up && ip -n $NSC link set ppvd up &&
	xdp_on $NSC ppvd drop
}

func_off()
{
	echo 0 >"$FUNC"/probability
	echo 0 >"$FUNC"/times
	echo '!page_pool_alloc_pages' >"$FUNC"/inject
}

func_on()
{
	echo page_pool_alloc_pages >"$FUNC"/inject && echo 0 >"$FUNC"/verbose &&
	echo 1 >"$FUNC"/interval && echo N >"$FUNC"/task-filter &&
	echo 100 >"$FUNC"/probability && echo -1 >"$FUNC"/times
}

rx_dropped()
{
	in_b cat "/sys/class/net/$DEVB/statistics/rx_dropped"
}

# the ring runs empty, what comes then is dropped
starve()
{
	local before got

	before=$(pp_b rx-packets "$DEVB")
	got=$(rx_dropped)
	func_on || { func_off; echo "cannot inject"; return 1; }
	pp_a blast "$ADDRB" "$TEST_PORT" 1000 800 2000
	# no memory for a new ring: the old one stays
	! in_b ethtool -G "$DEVB" rx 512 2>/dev/null &&
	[ "$(pp_b ring "$DEVB")" = 256 ]
	set -- $?
	func_off
	before=$(($(pp_b rx-packets "$DEVB") - before))
	got=$(($(rx_dropped) - got))
	echo "$before received, $got dropped"
	[ "$1" -eq 0 ] && [ "$before" -ge 200 ] && [ "$before" -le 600 ] &&
		[ "$got" -ge 400 ]
}

recovers()
{
	ready && pings && ring_is_out
}

cannot_open()
{
	ip -n "$NSB" link set "$DEVB" down
	func_on || { func_off; return 1; }
	! ip -n "$NSB" link set "$DEVB" up 2>/dev/null
	set -- $?
	func_off
	pp_b no-pools "$DEVB" && [ "$1" -eq 0 ] &&
	ip -n "$NSB" link set "$DEVB" up && ready && pings
}

# Pages in a socket that nobody reads
fill_socket()
{
	pp_b hoard "$ADDRB" "$TEST_PORT" &&
	pp_a blast "$ADDRB" "$TEST_PORT" 8 900 && pp_b arrived
}

unread()
{
	fill_socket && pp_b unread "$DEVB" 1 &&
	ip -n "$NSB" link set "$DEVB" up && ready && pings
}

goes_down()
{
	ip -n "$NSA" link set "$DEVA" down
	ip -n "$NSB" link set "$DEVB" down
	pp_b no-pools "$DEVB" || return 1
	if has pp_b has-counters "$DEVB"; then
		pp_b holds "$DEVB" 0 || return 1
	fi
	[ ! -r "$MAPPINGS" ] || ! grep "$MODULE" "$MAPPINGS"
}

mapped()
{
	local n

	n=$(grep -c "$MODULE" "$MAPPINGS")
	echo "$n pages mapped"
	[ "$n" -ge 512 ]
}

orphans()
{
	pp - pools | grep detach-time= | grep -vc ifindex=
}

# the module goes, its pages are in a socket
unload()
{
	local before

	before=$(orphans)
	ip -n "$NSA" link set "$DEVA" up && ip -n "$NSB" link set "$DEVB" up &&
	ready && fill_socket && rmmod "$MODULE" || return 1
	[ ! -r "$MAPPINGS" ] || ! grep "$MODULE" "$MAPPINGS" || return 1
	[ "$(pp_b pools | grep -c detach-time=)" = 1 ] ||
		{ echo "the pool is not listed"; return 1; }
	pp_b release
	pp_b free-deferred
	wait_for 20 sh -c "[ $(orphans) = $before ]"
}

again()
{
	for _ in 1 2 3; do
		load && rmmod "$MODULE" || return 1
	done
}

begin
check "ping, both ways" pings
check "TCP and UDP" both 1 1400
check "the rest is posted" ring_is_out
check "pages freed in the poll function are put directly" linked
if [ -r $MAPPINGS ]; then
	check "the device's pages are mapped" mapped
else
	skip "the device's pages are mapped" "no DMA_API_DEBUG"
fi
check "the ring changes under traffic" under_traffic resize
check "sizes are rounded up" rounds_up
check "MTU 9000" jumbo
check "frames that are too long" too_long
if has has_bpf; then
	make_exit || bail "cannot make the veth pair to redirect to"
	for act in pass drop tx redirect; do
		check "XDP $act" verdict $act
	done
else
	for act in pass drop tx redirect; do
		skip "XDP $act" "$PP_WHY"
	done
fi
if [ -w $FUNC/inject ]; then
	defer func_off
	check "no memory: the ring runs empty and a change fails" starve
	check "it recovers" recovers
	check "no memory: it cannot be opened" cannot_open
else
	for name in "no memory: the ring runs empty and a change fails" \
		"it recovers" "no memory: it cannot be opened"; do
		skip "$name" "no fail_function"
	done
fi
check "down with an unread socket" unread
check "down: no pool and no mapping is left" goes_down
check "unloaded with an unread socket" unload
undo
check "loaded and unloaded again" again

finish
