#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pages wait in a socket that nobody reads, and the interface goes down. The
# pool is listed with the time of its detachment, the log stays quiet, and
# close() frees the pool at once.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 5

DATAGRAMS=100
QUIET=1.5	# seconds that the pool is watched

unread()
{
	pp_b hoard "$ADDRB" "$TEST_PORT" &&
	pp_a blast "$ADDRB" "$TEST_PORT" "$DATAGRAMS" 1000 2000 &&
	pp_b unread "$DEVB" "$QUIET"
}

quiet()
{
	! log_since | grep -i 'page_pool\|page pool'
}

run()
{
	if ! has pp_b listed "$DEVB"; then
		skip "$1: down with an unread socket, then close" "$PP_WHY"
		skip "$1: log says nothing of it" "$PP_WHY"
		return
	fi
	check "$1: down with an unread socket, then close" unread
	check "$1: log says nothing of it" quiet
}

if take_pair e1000e; then
	run e1000e
else
	skip "e1000e: down with an unread socket, then close" "$PP_WHY"
	skip "e1000e: log says nothing of it" "$PP_WHY"
fi
undo

if has_bpf && make_veth && has xdp_on "$NSB" "$DEVB" pass; then
	run veth
else
	skip "veth: down with an unread socket, then close" "$PP_WHY"
	skip "veth: log says nothing of it" "$PP_WHY"
fi
undo

finish
