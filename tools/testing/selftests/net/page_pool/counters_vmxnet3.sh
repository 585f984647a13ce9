#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters of vmxnet3, which takes its buffers from page pools while it
# has an XDP program: they move under traffic, most pages are used again, and
# once the traffic has stopped the first ring of each queue holds pages. The
# program stays, whatever the device is told, and no frame comes in pieces.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 18
has_bpf || skip_all "$PP_WHY"

take_pair vmxnet3 || skip_all "$PP_WHY"

# what a program's frames have room for: the driver's first buffer without a header
MOST=3046

# after COMMAND frames still come in pages
stays()
{
	"$@" && ready && pp_b snap before "$DEVB" && both 1 1400 &&
	pp_b snap after "$DEVB" && pp_b moved before after 200 &&
	pp_b holds "$DEVB" "$(posted_vmxnet3)"
}

down_and_up()
{
	ip -n "$NSB" link set "$DEVB" down && ip -n "$NSB" link set "$DEVB" up
}

refused()
{
	! "$@"
}

# A page has to hold headroom, frame and skb_shared_info: no jumbo frames.
for mtu in 1500 3000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	has xdp_on "$NSB" "$DEVB" pass || skip_all "cannot attach: $PP_WHY"
	ready || bail "nothing is received with a program"
	has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"
	warm_up
	pp_b snap before "$DEVB"
	check "TCP and UDP traffic at MTU $mtu" both 1 $((mtu - 100))
	pp_b snap after "$DEVB"
	check "counters move at MTU $mtu" pp_b moved before after 500
	check "pages are recycled at MTU $mtu" pp_b recycled before after 90
	check "the rings hold the rest at MTU $mtu" \
		pp_b holds "$DEVB" "$(posted_vmxnet3)"
	xdp_off "$NSB" "$DEVB"
	check "every page is home without a program at MTU $mtu" \
		pp_b holds "$DEVB" 0
done

RING=$(pp_b ring "$DEVB")
defer "in_b ethtool -G $DEVB rx $RING"
set_mtu 1500 || bail "cannot set the MTU to 1500"
has xdp_on "$NSB" "$DEVB" pass || bail "cannot attach: $PP_WHY"
check "a program stays in another ring" stays in_b ethtool -G "$DEVB" rx 512
check "a program stays while the device is down" stays down_and_up
check "a program stays at the largest MTU" stays set_mtu $MOST
check "frames of that size arrive" both 1 $((MOST - 28))
check "a larger MTU is refused" refused ip -n "$NSB" link set "$DEVB" mtu $((MOST + 1))
xdp_off "$NSB" "$DEVB"
check "without a program that MTU can be had" set_mtu $((MOST + 1))
check "and the program not" refused xdp_on "$NSB" "$DEVB" pass
set_mtu 1500

finish
