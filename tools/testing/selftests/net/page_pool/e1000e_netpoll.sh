#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Netconsole over an e1000e under load polls the device without a budget, with
# interrupts disabled. Such a poll must not touch the page pool.
#
# Whatever happens on a CPU between entry and return of netpoll_poll_dev() is
# its doing, for interrupts are off. Probes on the entry points of the page
# pool are switched on when one begins and off when it ends; those that fire on
# the same CPU inside are what must not be. That the probes fire at all is seen
# from their hit counts, and that netpoll got to the driver from the napi_poll
# trace point.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 6
need_tool ethtool nsenter
TRACE=/sys/kernel/tracing
[ -d $TRACE/events ] || mount -t tracefs none $TRACE 2>/dev/null
[ -w $TRACE/kprobe_events ] || skip_all "no kprobe events"
CONFIGFS=/sys/kernel/config
[ -d $CONFIGFS/netconsole ] || mount -t configfs none $CONFIGFS 2>/dev/null
modprobe -q netconsole 2>/dev/null
[ -d $CONFIGFS/netconsole ] || skip_all "no dynamic netconsole"
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

ENTRIES="page_pool_alloc_netmems page_pool_alloc_pages
	 page_pool_alloc_frag_netmem page_pool_alloc_frag
	 page_pool_put_unrefed_netmem page_pool_put_unrefed_page
	 page_pool_put_page_bulk page_pool_update_nid"
INST=$TRACE/instances/pp-netpoll
PROBES=

mkdir $INST || skip_all "no trace instance"
defer "echo >$TRACE/kprobe_events"
defer "rmdir $INST"
for probe in p:ppnp/in r:ppnp/out; do
	echo "$probe netpoll_poll_dev" >>$TRACE/kprobe_events ||
		skip_all "cannot probe netpoll_poll_dev"
done
for entry in $ENTRIES; do
	echo "p:ppnp/$entry $entry" >>$TRACE/kprobe_events 2>/dev/null &&
		PROBES="$PROBES $entry"
done
case $PROBES in
*page_pool_alloc*page_pool_put_unrefed*) ;;
*) bail "the page pool has other entry points: $PROBES" ;;
esac
echo 8192 >$INST/buffer_size_kb
for entry in $PROBES; do
	defer "echo '!disable_event:ppnp:$entry' >$INST/events/ppnp/out/trigger"
	defer "echo '!enable_event:ppnp:$entry' >$INST/events/ppnp/in/trigger"
	echo "enable_event:ppnp:$entry" >$INST/events/ppnp/in/trigger ||
		bail "no event triggers"
	echo "disable_event:ppnp:$entry" >$INST/events/ppnp/out/trigger ||
		bail "no event triggers"
done
echo 'budget == 0' >$INST/events/napi/napi_poll/filter
echo 1 >$INST/events/napi/napi_poll/enable
echo 1 >$INST/events/ppnp/in/enable
echo 1 >$INST/events/ppnp/out/enable

# A short transmit ring that is rarely reaped is often full, and full it makes
# netpoll poll.
defer "in_b ethtool -C $DEVB rx-usecs 3"
in_b ethtool -C "$DEVB" rx-usecs 5000
TX=$(in_b ethtool -g "$DEVB" | awk '/Current/ { now = 1 } now && /^TX:/ { print $2 }')
defer "in_b ethtool -G $DEVB tx $TX"
in_b ethtool -G "$DEVB" tx 64
ready || bail "no link"

TARGET=$CONFIGFS/netconsole/pp-$$
mkdir "$TARGET" || skip_all "no netconsole target"
defer "rmdir $TARGET"
echo "$DEVB" >"$TARGET/dev_name"
echo $ADDRB >"$TARGET/local_ip"
echo $ADDRA >"$TARGET/remote_ip"
cat "/sys/class/net/$DEVA/address" >"$TARGET/remote_mac" 2>/dev/null ||
	in_a cat "/sys/class/net/$DEVA/address" >"$TARGET/remote_mac"
# the device is looked up in the namespace of the writer
nsenter --net="/run/netns/$NSB" sh -c "echo 1 >$TARGET/enabled"
defer "echo 0 >$TARGET/enabled"
[ "$(cat "$TARGET/enabled")" = 1 ] || skip_all "netconsole refuses $DEVB"

# talk SECONDS: console lines, while both ends flood each other
talk()
{
	local end=$((SECONDS + $1)) i=0

	while [ "$SECONDS" -lt "$end" ]; do
		i=$((i + 1))
		echo "<2>page pool netpoll test, line $i" >/dev/kmsg
	done
	echo "$i lines"
}

polls()
{
	grep -c "budget 0" "$INST"/trace
}

# the witness: events of the pool on the CPU of an unfinished netpoll_poll_dev
inside()
{
	awk -v pools="$PROBES" '
	BEGIN { n = split(pools, p, " "); for (i = 1; i <= n; i++) is[p[i]] = 1 }
	match($0, /\[[0-9]+\]/) {
		cpu = substr($0, RSTART, RLENGTH)
		for (i = 1; i <= NF; i++)
			if ($i ~ /^[0-9.]+:$/)
				break
		name = $(i + 1)
		sub(":", "", name)
		if (name == "in")
			open[cpu] = 1
		else if (name == "out")
			open[cpu] = 0
		else if (name in is) {
			if (open[cpu]) {
				bad++
				print
			} else
				beside++
		}
	}
	END { print beside + 0, "beside it"; exit bad > 0 }' "$INST"/trace
}

probes_fire()
{
	awk '$1 ~ /^page_pool_/ { n += $2 } END { print n + 0, "hits"; exit n < 1000 }' \
		"$TRACE"/kprobe_profile
}

netpoll_polled()
{
	local n

	n=$(polls)
	echo "$n polls without a budget"
	[ "$n" -gt 0 ]
}

# lines got out by the device
lines_sent()
{
	[ "$(pp_a no-ports)" -gt "$LINES" ]
}

load_start
pp_b sink udp $ADDRB $TEST_PORT 60
ip netns exec "$NSB" python3 "$PP_DIR/pp.py" >/dev/null 2>&1 <<<"- flood $ADDRA $TEST_PORT 1000 8" &
defer "kill $!"
LINES=$(pp_a no-ports)
check "console lines over $DEVB" talk 6
check "lines arrive" lines_sent
echo 0 >$INST/tracing_on
check "netpoll polls the device" netpoll_polled
check "the probes see the page pool work" probes_fire
check "netpoll does not touch the page pool" inside

finish
