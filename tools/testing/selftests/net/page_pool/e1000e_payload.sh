#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Every byte of frames of all sizes arrives, through each receive path of
# e1000e: copied, in one buffer, split into header and pages. The same with a
# VLAN tag, with the FCS left on, with bad frames let in, without checksum and
# hash from the device.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 17
need_tool ethtool ping
take_pair e1000e || skip_all "$PP_WHY"

both_ends()
{
	in_a ethtool -K "$DEVA" "$@" >/dev/null
	in_b ethtool -K "$DEVB" "$@" >/dev/null
	ready
}

# QEMU's e1000e delivers nothing that a driver could take while RCTL.SECRC is
# clear, whatever the driver.
can_fcs()
{
	PP_NOFCS="the device loses all frames"
	in_a ethtool -K "$DEVA" rx-fcs on
	in_b ethtool -K "$DEVB" rx-fcs on
	in_a ping -q -c 1 -w 10 $ADDRB >/dev/null && PP_NOFCS=
	both_ends rx-fcs off || bail "no traffic after rx-fcs"
	[ -z "$PP_NOFCS" ] && return
	# QEMU's host bridge is from Intel by vendor, and by subsystem from QEMU
	grep -qsi 0x1af4 /sys/bus/pci/devices/*/subsystem_vendor
}

# with FEATURE on|off MTU: payload while the feature is so
with()
{
	local rc=1

	both_ends "$1" "$2" && payload "$3"
	rc=$?
	both_ends "$1" "$([ "$2" = on ] && echo off || echo on)" || return 1
	return "$rc"
}

# length on DEVB of a frame that has 100 bytes of payload
frame_length()
{
	in_b python3 -c '
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88b5))
raw.bind((sys.argv[1], 0x88b5))
raw.settimeout(10)
print("ready", flush=True)
print(len(raw.recv(4096)))' "$DEVB" >"$PP_TMP/length" 2>&1 &
	wait_for 10 test -s "$PP_TMP/length" || return 1
	in_a python3 -c '
import socket, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((sys.argv[1], 0))
raw.send(b"\xff" * 6 + raw.getsockname()[4] + b"\x88\xb5" + bytes(100))' "$DEVA"
	wait $!
	tail -n 1 "$PP_TMP/length"
}

# the FCS is seen where it was asked for, and only there
fcs()
{
	local without with

	without=$(frame_length)
	both_ends rx-fcs on || return 1
	with=$(frame_length)
	both_ends rx-fcs off || return 1
	echo "$without bytes without, $with with FCS"
	[ "$without" -eq 114 ] && [ "$with" -eq 118 ]
}

VA=192.0.3.1
VB=192.0.3.2
vlan()
{
	ip -n "$NSA" link add link "$DEVA" name ppvlan type vlan id 5 &&
	ip -n "$NSB" link add link "$DEVB" name ppvlan type vlan id 5 &&
	ip -n "$NSA" addr add $VA/24 dev ppvlan &&
	ip -n "$NSB" addr add $VB/24 dev ppvlan &&
	ip -n "$NSA" link set ppvlan up &&
	ip -n "$NSB" link set ppvlan up
}

tagged()
{
	ip netns exec "$NSB" python3 -B "$PP_DIR/e1000e_lib.py" serve "$VB" "$LOAD_PORT" \
		>"$PP_TMP/vserve" 2>&1 &
	payload "$1" "$VB"
	set -- $?
	kill $!
	return "$1"
}

defer "in_a ethtool -K $DEVA rx on rx-fcs off rx-all off"
defer "in_b ethtool -K $DEVB rx on rx-fcs off rx-all off"
can_fcs || bail "$PP_NOFCS with rx-fcs"
serve_b
vlan || PP_NOVLAN="no VLAN devices"
for mtu in 1500 2000 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	check "MTU $mtu" payload $mtu
	check "MTU $mtu, no checksum" with rx off $mtu
	if [ -n "$PP_NOFCS" ]; then
		skip "MTU $mtu, FCS" "$PP_NOFCS"
	else
		check "MTU $mtu, FCS" with rx-fcs on $mtu
	fi
	if [ -n "${PP_NOVLAN:-}" ]; then
		skip "MTU $mtu, VLAN" "$PP_NOVLAN"
	else
		ip -n "$NSA" link set ppvlan mtu $mtu
		ip -n "$NSB" link set ppvlan mtu $mtu
		check "MTU $mtu, VLAN" tagged $mtu
	fi
	check "MTU $mtu, all frames" with rx-all on $mtu
done
set_mtu 1500
if [ -n "$PP_NOFCS" ]; then
	skip "length of a frame with FCS" "$PP_NOFCS"
else
	check "length of a frame with FCS" fcs
fi

finish
