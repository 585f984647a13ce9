#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What ethtool shows never goes back, though pools come and go with XDP
# programs, channels, ring sizes, the MTU and the interface itself.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 13

# some traffic, so that every pool has something to lose
blast()
{
	pp_a blast "$ADDRB" "$TEST_PORT" 200 1000 1000
}

# after NAME COMMAND...: nothing goes back over the command
after()
{
	local name=$1

	shift
	check "$name" step "$@"
}

step()
{
	blast
	pp_b snap old "$DEVB"
	"$@" || { echo "failed: $*"; return 1; }
	pp_b snap new "$DEVB"
	pp_b never-less old new || return 1
	ready || return 1
	blast
	pp_b snap newer "$DEVB"
	pp_b never-less new newer
}

grows()
{
	pp_b snap old "$DEVB"
	blast
	pp_b snap new "$DEVB"
	pp_b moved old new 50
}

updown()
{
	ip -n "$NSB" link set "$DEVB" down &&
	pp_b snap down "$DEVB" &&
	pp_b never-less old down &&
	ip -n "$NSB" link set "$DEVB" up
}

VETH=("veth counts" "veth: detach XDP" "veth: attach XDP again"
      "veth: more channels" "veth: fewer channels" "veth: down and up")
if has_bpf && make_veth 4 && has xdp_on "$NSB" $DEVB pass &&
   has pp_b has-counters $DEVB; then
	# the near end's transmit queues choose the channel
	check "${VETH[0]}" grows
	after "${VETH[1]}" xdp_off "$NSB" $DEVB
	after "${VETH[2]}" xdp_on "$NSB" $DEVB pass
	in_a ethtool -L $DEVA tx 1 >/dev/null 2>&1
	in_b ethtool -L $DEVB rx 2 >/dev/null 2>&1
	after "${VETH[3]}" in_b ethtool -L $DEVB rx 4
	after "${VETH[4]}" in_b ethtool -L $DEVB rx 1
	after "${VETH[5]}" updown
else
	for name in "${VETH[@]}"; do
		skip "$name" "$PP_WHY"
	done
fi
undo

E1000E=("e1000e counts" "e1000e: larger ring" "e1000e: smaller ring"
	"e1000e: jumbo frames" "e1000e: standard frames"
	"e1000e: down and up")
if take_pair e1000e && has pp_b has-counters "$DEVB"; then
	RING=$(pp_b ring "$DEVB")
	defer "in_b ethtool -G $DEVB rx $RING"
	check "${E1000E[0]}" grows
	after "${E1000E[1]}" in_b ethtool -G "$DEVB" rx $((RING * 2))
	after "${E1000E[2]}" in_b ethtool -G "$DEVB" rx "$RING"
	after "${E1000E[3]}" set_mtu 9000
	after "${E1000E[4]}" set_mtu 1500
	after "${E1000E[5]}" updown
else
	for name in "${E1000E[@]}"; do
		skip "$name" "$PP_WHY"
	done
fi
undo

finish
