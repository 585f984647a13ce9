#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# XDP verdicts on pages of a pool: native on veth and vmxnet3, generic on
# e1000e. Each packet is seen by the program and goes where the verdict says;
# the counters add up afterwards; nothing is left behind after detach.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 16

PACKETS=400

has_bpf || skip_all "$PP_WHY"

# verdict VERDICT MODE: each packet is seen, and goes where it should: to no
# socket, back to the sender or out of the exit
verdict()
{
	local act=$1 mode=$2 ns='' dev='' seen passed arrived

	xdp_on "$NSB" "$DEVB" "$act" "$mode" || return 1
	ready || return 1
	if [ "$act" = redirect ]; then
		pp_b xdp-target "$DEVB" ppvc || return 1
	fi
	case $act in
	tx) ns=$NSA dev=$DEVA ;;
	redirect) ns=$NSC dev=ppvd ;;
	esac
	passed=$(pp_b no-ports)
	[ -z "$dev" ] || arrived=$(pp "$ns" rx-packets "$dev")
	pp_a blast "$ADDRB" "$TEST_PORT" "$PACKETS" 800 2000
	# a busy emulated wire may drop a few
	seen=$(pp_b xdp-count "$DEVB" "$PACKETS")
	if [ "$seen" -lt $((PACKETS * 95 / 100)) ] ||
	   [ "$seen" -gt "$PACKETS" ]; then
		echo "sent $PACKETS, the program saw $seen"
		return 1
	fi
	[ "$act" = pass ] && passed=$((passed + seen))
	pp_b wait-no-ports "$passed" || return 1
	if [ -n "$dev" ]; then
		pp "$ns" wait-rx-packets "$dev" \
			$((arrived + seen * 95 / 100)) || return 1
	fi
	echo "$seen packets"
}

# where redirected packets go: a veth whose far end takes XDP frames
make_exit()
{
	NSC=ppc-$$
	make_netns $NSC
	ip -n "$NSB" link add ppvc type veth peer name ppvd netns $NSC &&
	ip -n "$NSB" link set ppvc up &&
	ip -n $NSC link set ppvd up &&
	xdp_on $NSC ppvd drop
}

# native veth bounces frames only to an end that has NAPI
open_near_end()
{
	[ "$KIND" != veth ] || xdp_on "$NSA" "$DEVA" pass
}

# what is out once nothing moves, with a program and without
pages_with()
{
	case $KIND in
	veth) echo 0-1 ;; # the page that is cut into fragments
	e1000e) pp_b posted-e1000e "$DEVB" ;;
	vmxnet3) posted_vmxnet3 ;;
	esac
}

nothing_left()
{
	if [ "$KIND" = veth ]; then
		pp_b no-pools "$DEVB"
	else
		pp_b none-dying "$DEVB"
	fi
}

for KIND in veth e1000e vmxnet3; do
	mode=xdp
	[ $KIND = e1000e ] && mode=xdpgeneric
	if [ $KIND = veth ]; then
		make_veth
	else
		take_pair $KIND
	fi || {
		for act in pass drop tx redirect "leaves nothing"; do
			skip "$KIND $act" "$PP_WHY"
		done
		undo
		continue
	}
	make_exit || bail "cannot make the veth pair to redirect to"
	open_near_end || bail "cannot attach to $DEVA"
	adds_up=
	for act in pass drop tx redirect; do
		check "$KIND $act" verdict $act $mode
		if has pp_b has-counters "$DEVB"; then
			out=$(pp_b holds "$DEVB" "$(pages_with)") ||
				adds_up="$adds_up $act: ${out##*$'\n'}."
		else
			say "$KIND: $PP_WHY"
		fi
		xdp_off "$NSB" "$DEVB" $mode
	done
	leaves_nothing()
	{
		[ -z "$adds_up" ] || { echo "$adds_up"; return 1; }
		nothing_left
	}
	check "$KIND counts and leaves nothing" leaves_nothing
	undo
done

finish
