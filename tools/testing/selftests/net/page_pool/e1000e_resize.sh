#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The ring of an e1000e gets another size while frames come in: each size has
# a pool of its own. Not one byte is wrong, no counter goes back and no pool is
# left behind.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 13
need_tool ethtool
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"
RING=$(pp_b ring "$DEVB")
defer "in_b ethtool -G $DEVB rx $RING"

for mtu in 1500 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	load_start
	for ring in 64 4096 512 "$RING"; do
		check "ring of $ring at MTU $mtu" \
			survives in_b ethtool -G "$DEVB" rx "$ring"
	done
	check "every byte was right at MTU $mtu" load_was_right
	check "no old pool is left at MTU $mtu" no_old_pool
done

finish
