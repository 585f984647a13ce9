#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pools outlive their devices: two devices that have pages in unread sockets
# are deleted, the later one first. Both pools stay in the dump, detached and
# without an ifindex, and go with the sockets. A netdevsim that holds a page
# when it is deleted leaves nothing.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 4

orphans()
{
	local n

	for n in 1 2; do
		pp_b hoard 198.51.100."$n" "$TEST_PORT" &&
		pp_a blast 198.51.100."$n" "$TEST_PORT" 8 900 || return 1
	done
	pp_b orphans ppo2 ppo1
}

# two veths in B, with programs; the far ends in A
two_veths()
{
	local n

	make_netns "$NSA" "$NSB"
	for n in 1 2; do
		PP_WHY="no veth"
		ip -n "$NSB" link add ppo$n type veth peer name ppi$n \
			netns "$NSA" || return 1
		ip -n "$NSB" addr add 198.51.100.$n peer 198.51.100.10$n \
			dev ppo$n
		ip -n "$NSA" addr add 198.51.100.10$n peer 198.51.100.$n \
			dev ppi$n
		ip -n "$NSB" link set ppo$n up
		ip -n "$NSA" link set ppi$n up
		has xdp_on "$NSB" ppo$n pass || return 1
		has pp_b listed ppo$n || return 1
	done
}

if has_bpf && two_veths; then
	check "deleted devices' pools are listed until the sockets close" \
		orphans
else
	skip "deleted devices' pools are listed until the sockets close" \
		"$PP_WHY"
fi
undo

# a netdevsim of its own
NSIM=$((RANDOM % 9000 + 1000))
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

modprobe netdevsim 2>/dev/null
HOLD=/sys/kernel/debug/netdevsim/netdevsim$NSIM/ports/0/pp_hold
if [ ! -w /sys/bus/netdevsim/new_device ]; then
	skip "a held page keeps the pool of a netdevsim that is down" \
		"no netdevsim"
	skip "a deleted netdevsim leaves no pool" "no netdevsim"
	finish
fi
echo "$NSIM 1" >/sys/bus/netdevsim/new_device
defer "echo $NSIM >/sys/bus/netdevsim/del_device"
wait_for 20 has_nsim_dev || bail "no interface of netdevsim$NSIM"
DEV=$(nsim_dev)

held_page()
{
	local out

	ip link set "$DEV" up &&
	echo y >"$HOLD" &&
	ip link set "$DEV" down || return 1
	out=$(pp - pools "$DEV")
	echo "$out"
	[[ $out == *inflight=1\ *detach-time=* && $out != *$'\n'* ]]
}

same_pools()
{
	[ "$(pp - pools | sed 's/ inflight.*//' | sort)" = "$BEFORE" ]
}

BEFORE=$(pp - pools | sed 's/ inflight.*//' | sort)
check "a held page keeps the pool of a netdevsim that is down" held_page
echo $NSIM >/sys/bus/netdevsim/del_device
check "a deleted netdevsim leaves no pool" wait_for 20 same_pools

finish
