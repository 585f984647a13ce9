#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters of e1000e: they move under traffic, most pages are used again,
# and once the traffic has stopped exactly the posted descriptors hold pages.
# The witness for that is the ring, its size as ethtool knows it and head and
# tail as the hardware has them, not the counters.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 12
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

# Between head and tail are the descriptors that the device may fill. The
# driver moves the tail in steps of 16 and never to the last one. Frames of the
# stack's own may just be coming in. Both count 16 bytes, of which a descriptor
# for packet split has 32.
hardware_agrees()
{
	local ring left head tail size

	ring=$(pp_b ring "$DEVB")
	read -r size head tail < <(in_b ethtool -d "$DEVB" | awk '
		$2 ~ /^RD(LEN|H|T)$/ { regs = regs " " $NF }
		END { print regs }')
	size=$((size / 16))
	[ "$size" -gt 0 ] || { echo "no ring"; return 1; }
	left=$(((tail - head + size) % size * ring / size))
	echo "$left of $ring descriptors are with the device"
	[ "$left" -lt "$ring" ] && [ "$left" -ge $((ring - 32)) ]
}

for mtu in 1500 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	warm_up
	pp_b snap before "$DEVB"
	check "TCP and UDP traffic at MTU $mtu" both 2 $((mtu - 100))
	pp_b snap after "$DEVB"
	check "counters move at MTU $mtu" pp_b moved before after 500
	check "pages are recycled at MTU $mtu" pp_b recycled before after 90
	check "posted descriptors hold the rest at MTU $mtu" \
		pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"
	check "head and tail agree at MTU $mtu" wait_for 10 hardware_agrees
done

ip -n "$NSB" link set "$DEVB" down
check "every page is home when the interface is down" pp_b holds "$DEVB" 0

finish
