#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pool follows the node: the receive interrupt of an e1000e moves to a
# CPU of another node. Pages of the old node leave once; then recycling is as
# good as before and no more pages are given away. The reader stays on the
# node that the interrupt left, which must not matter.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 9
need_tool taskset

# first CPU of each node that has CPUs and memory
cpu_of_node()
{
	local cpus

	grep -q ' MemTotal: *[1-9]' "/sys/devices/system/node/node$1/meminfo" \
		2>/dev/null || return 1
	cpus=$(cat "/sys/devices/system/node/node$1/cpulist")
	[ -n "$cpus" ] && echo "${cpus%%[-,]*}"
}

NODES=()
for dir in /sys/devices/system/node/node[0-9]*; do
	node=${dir##*node}
	cpu_of_node "$node" >/dev/null && NODES+=("$node")
done
[ ${#NODES[@]} -ge 2 ] || skip_all "needs two nodes with CPUs and memory"
HOME_NODE=${NODES[0]}
AWAY_NODE=${NODES[1]}
HOME_CPU=$(cpu_of_node "$HOME_NODE")
AWAY_CPU=$(cpu_of_node "$AWAY_NODE")

take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"
say "device on node $(in_b cat "/sys/class/net/$DEVB/device/numa_node"), \
CPU $HOME_CPU of node $HOME_NODE, CPU $AWAY_CPU of node $AWAY_NODE"

# the receive interrupt, or the only one when the device has no MSI-X
rx_irq()
{
	awk -v dev="$DEVB" '
		$NF == dev "-rx-0" { rx = $1 }
		$NF == dev	   { one = $1 }
		END { sub(":", "", rx); sub(":", "", one)
		      print rx != "" ? rx : one }' /proc/interrupts
}

IRQ=$(rx_irq)
[ -n "$IRQ" ] || skip_all "no interrupt of $DEVB"
AFFINITY=$(cat "/proc/irq/$IRQ/smp_affinity_list")
defer "echo $AFFINITY >/proc/irq/$IRQ/smp_affinity_list"

irqs_on()
{
	awk -v irq="$IRQ:" -v cpu="$1" '
		NR == 1 { for (i = 1; i <= NF; i++)
				if ($i == "CPU" cpu) col = i + 1 }
		$1 == irq { print $col }' /proc/interrupts
}

# run CPU: interrupt there, reader at home, traffic
run()
{
	local before

	echo "$1" >"/proc/irq/$IRQ/smp_affinity_list" || return 1
	before=$(irqs_on "$1")
	PP_READER="taskset -c $HOME_CPU" traffic tcp 1 1500 || return 1
	PP_READER="taskset -c $HOME_CPU" traffic udp 1 1400 || return 1
	echo "$(($(irqs_on "$1") - before)) interrupts on CPU $1"
	[ "$(irqs_on "$1")" -gt $((before + 100)) ]
}

# at most one page in a hundred
few_leave()
{
	local gone put

	gone=$(($(pp_b delta "$1" "$2" alloc_waive) +
		$(pp_b delta "$1" "$2" recycle_released_nid)))
	put=$(pp_b delta "$1" "$2" put)
	echo "$gone of $put pages left for their node"
	[ $((gone * 100)) -le "$put" ]
}

run "$HOME_CPU" >/dev/null
pp_b snap s0 "$DEVB"
check "traffic with the interrupt on node $HOME_NODE" run "$HOME_CPU"
pp_b snap s1 "$DEVB"
check "pages are recycled there" pp_b recycled s0 s1 90
check "the interrupt moves to node $AWAY_NODE" run "$AWAY_CPU"
pp_b snap s2 "$DEVB"
say "while moving: $(few_leave s1 s2)"
check "traffic after the move" run "$AWAY_CPU"
pp_b snap s3 "$DEVB"
check "pages are recycled after the move" pp_b recycled s2 s3 90
check "the old node's pages are gone, the reader's node does not matter" \
	few_leave s2 s3

# slow allocations stop with them; each one brings up to 64 pages
settled()
{
	local slow put

	slow=$(pp_b delta s2 s3 alloc_slow)
	put=$(pp_b delta s2 s3 put)
	echo "$slow slow allocations for $put pages"
	[ $((slow * 100)) -le "$put" ]
}
check "new allocations settle" settled
check "posted descriptors hold the rest" \
	pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"

finish
