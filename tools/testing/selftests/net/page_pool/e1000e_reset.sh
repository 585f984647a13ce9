#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An e1000e that is receiving is reset in all the ways that a user has: new
# autonegotiation, self tests (with a ring of their own), another MTU, down and
# up. Not one byte is wrong, no counter goes back and no pool is left behind.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 13
need_tool ethtool
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

# The result does not matter: an emulated device does not pass all of it. It
# is 1 when a test failed, as it is when there were none at all; those leave
# nothing to read.
self_test()
{
	in_b ethtool -t "$DEVB" "$1" >"$PP_TMP/self" 2>&1
	grep -q "^Loopback test" "$PP_TMP/self" || { cat "$PP_TMP/self"; return 1; }
}

down_up()
{
	ip -n "$NSB" link set "$DEVB" down &&
	sleep 0.2 &&
	ip -n "$NSB" link set "$DEVB" up
}

mtus()
{
	local mtu

	for mtu in "$@"; do
		ip -n "$NSB" link set "$DEVB" mtu "$mtu" || return 1
	done
}

pauses()
{
	in_b ethtool -A "$DEVB" rx off && in_b ethtool -A "$DEVB" rx on
}

# Without autonegotiation the link of an emulated device does not even go down
# for a reset: frames arrive whenever it receives.
link_stays()
{
	in_b ethtool -s "$DEVB" autoneg off speed 100 duplex full || return 1
	for _ in 1 2 3 4 5; do
		ip -n "$NSB" link set "$DEVB" down && ip -n "$NSB" link set "$DEVB" up || return 1
	done
	in_b ethtool -s "$DEVB" autoneg on
}

# The fourth word is RDLEN.
no_ring()
{
	local length

	ip -n "$NSB" link set "$DEVB" down
	length=$(in_b ethtool -d "$DEVB" raw on | od -A n -t d4 -j 12 -N 4)
	ip -n "$NSB" link set "$DEVB" up
	[ "$length" -eq 0 ] || { echo "RDLEN $length"; return 1; }
}

load_start
check "traffic flows" flows
check "autonegotiation" survives in_b ethtool -r "$DEVB"
check "online self test" survives self_test online
check "offline self test" survives self_test offline
check "flow control off and on" survives pauses
check "MTU 9000, 2000, 9000" survives mtus 9000 2000 9000
check "MTU 1500" survives mtus 1500
check "down and up" survives down_up
check "down and up with a link that stays" survives link_stays
check "down there is no ring" survives no_ring
check "every byte was right" load_was_right
check "no old pool is left" no_old_pool

finish
