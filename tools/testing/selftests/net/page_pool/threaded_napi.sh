#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threaded NAPI recycles directly: pages freed inside a poll go into the
# array, not the ring. Then the NAPI thread is moved from CPU to CPU under
# traffic; the array must stay sound.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 8

take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

threaded()
{
	in_b sh -c "echo $1 >/sys/class/net/$DEVB/threaded"
}

# Nobody listens at the port: the stack frees each packet inside the poll.
direct()
{
	local cached put

	pp_b snap before "$DEVB"
	pp_a blast "$ADDRB" "$TEST_PORT" 1500 1000 2000
	pp_b snap after "$DEVB"
	cached=$(pp_b delta before after recycle_cached)
	# pages that the CPU has left behind on another node do not count
	put=$(($(pp_b delta before after put) -
		$(pp_b delta before after recycle_released_nid)))
	echo "$cached of $put pages into the array"
	[ "$put" -ge 1000 ] && [ $((cached * 100)) -ge $((put * 90)) ]
}

# On PREEMPT_RT a poll can be preempted, so no put ever acts as the consumer.
check_direct()
{
	case $(uname -v) in
	*PREEMPT_RT*) skip "$1" "no direct recycling on PREEMPT_RT" ;;
	*) check "$1" direct ;;
	esac
}

threaded 1 2>/dev/null || skip_all "$DEVB has no threaded NAPI"
defer "threaded 0"
[ -n "$(pp - napi-threads "$DEVB")" ] || skip_all "no NAPI thread of $DEVB"
ready
warm_up

check_direct "threaded NAPI recycles into the array"

if [ "$(nproc)" -gt 1 ]; then
	pp_b snap before "$DEVB"
	pp - migrate "$DEVB"
	check "traffic while the thread migrates" both 1 1400
	check "the thread migrated all the time" pp - settle
	pp_b snap after "$DEVB"
	check "counters move" pp_b moved before after 100
	check "posted descriptors hold the rest" \
		pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"
else
	for name in "traffic while the thread migrates" \
		    "the thread migrated all the time" "counters move" \
		    "posted descriptors hold the rest"; do
		skip "$name" "needs two CPUs"
	done
fi

threaded 0
warm_up
check_direct "softirq NAPI still recycles into the array"
check "posted descriptors hold the rest in the end" \
	pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"

finish
