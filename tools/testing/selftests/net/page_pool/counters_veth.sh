#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The counters of veth with an XDP program: they move under traffic, most
# pages are used again, and once the traffic has stopped every page is home
# (veth posts none) but the one that the pool cuts fragments from.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 10
need_tool taskset
has_bpf || skip_all "$PP_WHY"

make_veth || skip_all "$PP_WHY"
has xdp_on "$NSB" $DEVB pass_frags || skip_all "cannot attach: $PP_WHY"
has pp_b has-counters $DEVB || skip_all "$PP_WHY"

# The NAPI of a veth runs where its packets are sent. Wandering between nodes it
# would have to give pages away, which is the business of another test.
PP_SENDER="taskset -c 0"
PP_READER="taskset -c 0"

for mtu in 1500 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	pp_b snap before "$DEVB"
	check "TCP and UDP traffic at MTU $mtu" both 1 $((mtu - 100))
	pp_b snap after "$DEVB"
	check "counters move at MTU $mtu" pp_b moved before after 200
	check "pages are recycled at MTU $mtu" pp_b recycled before after 90
	check "every page is home at MTU $mtu" pp_b holds $DEVB 0-1
done

xdp_off "$NSB" $DEVB
check "every page is home without a program" pp_b holds $DEVB 0

finish
