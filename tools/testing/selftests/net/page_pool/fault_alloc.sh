#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Allocation failures are survived. page_pool_alloc_pages() is made to fail
# for a netdevsim; then the page allocator fails under the pools of an e1000e
# with traffic. Afterwards traffic flows, the counters add up, nothing leaks.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 8

DEBUG=/sys/kernel/debug
FUNC=$DEBUG/fail_function
PAGES=$DEBUG/fail_page_alloc

NSIM=$((RANDOM % 9000 + 1000))
HOLD=$DEBUG/netdevsim/netdevsim$NSIM/ports/0/pp_hold

nsim_dev()
{
	local d

	for d in "/sys/bus/netdevsim/devices/netdevsim$NSIM/net"/*; do
		[ ! -e "$d" ] || { echo "${d##*/}"; return; }
	done
}

has_nsim_dev()
{
	[ -n "$(nsim_dev)" ]
}

func_off()
{
	echo 0 >$FUNC/probability
	echo 0 >$FUNC/times
	echo '!page_pool_alloc_pages' >$FUNC/inject
}

func_on()
{
	echo page_pool_alloc_pages >$FUNC/inject &&
	echo 0 >$FUNC/verbose &&
	echo 1 >$FUNC/interval &&
	echo N >$FUNC/task-filter &&
	echo 100 >$FUNC/probability &&
	echo -1 >$FUNC/times
}

why=
modprobe netdevsim 2>/dev/null
[ -w $FUNC/inject ] || why="no fail_function"
[ -w /sys/bus/netdevsim/new_device ] || why="no netdevsim"
if [ -z "$why" ] && ! grep -q page_pool_alloc_pages $FUNC/injectable \
	2>/dev/null &&
   ! grep -q page_pool_alloc_pages $DEBUG/error_injection/list; then
	why="page_pool_alloc_pages cannot be made to fail"
fi
if [ -z "$why" ]; then
	echo "$NSIM 1" >/sys/bus/netdevsim/new_device
	defer "echo $NSIM >/sys/bus/netdevsim/del_device"
	wait_for 20 has_nsim_dev || bail "no interface of netdevsim$NSIM"
	DEV=$(nsim_dev)
	ip link set "$DEV" up
	defer func_off
	func_on

	fails()
	{
		! { echo y >"$HOLD"; } 2>/dev/null && [ "$(cat "$HOLD")" = n ]
	}
	works()
	{
		echo y >"$HOLD" && [ "$(cat "$HOLD")" = y ] &&
		echo n >"$HOLD" && [ "$(cat "$HOLD")" = n ]
	}
	leaves_nothing()
	{
		ip link set "$DEV" down
		pp - no-pools "$DEV"
	}
	check "netdevsim sees a failing page_pool_alloc_pages()" fails
	func_off
	check "netdevsim gets a page again" works
	check "netdevsim leaves no pool" leaves_nothing
	undo
else
	skip "netdevsim sees a failing page_pool_alloc_pages()" "$why"
	skip "netdevsim gets a page again" "$why"
	skip "netdevsim leaves no pool" "$why"
fi

if ! take_pair e1000e || ! has pp_b has-counters "$DEVB"; then
	why=$PP_WHY
elif [ ! -w $PAGES/probability ]; then
	why="no fail_page_alloc"
else
	why=
fi
if [ -n "$why" ]; then
	skip "allocations fail under traffic" "$why"
	skip "traffic recovers" "$why"
	skip "posted descriptors hold the rest" "$why"
	skip "the interface goes down and leaves no pool" "$why"
	finish
fi

pages_off()
{
	echo 0 >$PAGES/probability
	echo 0 >$PAGES/times
	[ -w $PAGES/require-start ] && {
		echo 0 >$PAGES/require-start
		echo 0xffffffffffffffff >$PAGES/require-end
		echo 32 >$PAGES/stacktrace-depth
	}
	echo 1 >$PAGES/min-order
}

# Only allocations that may not sleep fail, and where the kernel can tell
# only those that a page pool makes.
pages_on()
{
	local range

	echo N >"$PAGES"/task-filter &&
	echo Y >"$PAGES"/ignore-gfp-wait &&
	echo 0 >"$PAGES"/verbose &&
	echo 0 >"$PAGES"/min-order &&
	echo 1 >"$PAGES"/interval || return 1
	if [ -w "$PAGES"/require-start ]; then
		range=$(sort /proc/kallsyms | awk '
			$3 ~ /^_*page_pool_alloc/ && $2 ~ /[tT]/ {
				if (first == "") first = $1
				open = 1
				next
			}
			open { last = $1; open = 0 }
			END { print first, last }')
		say "page pool code: $range"
		echo 16 >"$PAGES"/stacktrace-depth
		echo "0x${range% *}" >"$PAGES"/require-start
		echo "0x${range#* }" >"$PAGES"/require-end
	fi
	echo -1 >"$PAGES"/times
	echo "$1" >"$PAGES"/probability
}

# A socket that nobody reads takes pages, so that the pool has to ask for
# more, and no more come.
starve()
{
	local before after

	before=$(pp_b stat "$DEVB" alloc_rx_buff_failed)
	pp_b hoard "$ADDRB" "$TEST_PORT" || return 1
	pages_on 100 || { echo "cannot inject"; return 1; }
	pp_a blast "$ADDRB" "$TEST_PORT" 2000 1000 2000
	pages_off
	pp_b release
	after=$(pp_b stat "$DEVB" alloc_rx_buff_failed)
	echo "$((after - before)) failed allocations"
	[ "$after" -gt "$before" ]
}

defer pages_off
check "allocations fail under traffic" starve
pages_off
ready || bail "nothing is received any more"
check "traffic recovers" both 1 1400
check "posted descriptors hold the rest" \
	pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"

goes_down()
{
	ip -n "$NSB" link set "$DEVB" down
	pp_b no-pools "$DEVB" && pp_b holds "$DEVB" 0
}
check "the interface goes down and leaves no pool" goes_down

finish
