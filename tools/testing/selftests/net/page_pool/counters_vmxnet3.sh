#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters of vmxnet3, which takes its buffers from page pools while it
# has an XDP program: they move under traffic, most pages are used again, and
# once the traffic has stopped the first ring of each queue holds pages.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 11
has_bpf || skip_all "$PP_WHY"

take_pair vmxnet3 || skip_all "$PP_WHY"

# A page has to hold headroom, frame and skb_shared_info: no jumbo frames. The
# driver forgets its program when the MTU changes, so that comes first.
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

finish
