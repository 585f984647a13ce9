#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Suspend to memory and back under traffic: the pool of an e1000e outlives it,
# and once all is quiet it is the posted descriptors that hold pages.
#
# All devices are put to sleep and woken up. The machine itself sleeps only
# where PP_SUSPEND=mem (or freeze) asks for it: there, the alarm of its clock
# has to wake it, which not every machine can do.

# shellcheck disable=SC2317 # reached through check
# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 13
POWER=/sys/power
CLOCK=/sys/class/rtc/rtc0
NAP=3	# seconds
STATE=${PP_SUSPEND:-$(grep -ow mem $POWER/state || grep -ow freeze $POWER/state)}
if [ -z "$STATE" ] || ! grep -qw "$STATE" $POWER/state; then
	skip_all "no suspend to memory"
fi
# The virtio driver of 9p does not resume: a guest with such a root would be
# lost, and the result with it.
grep -q '^[^ ]* [^ ]* 9p ' /proc/mounts &&
	skip_all "a 9p file system does not survive it"
if [ -n "$PP_SUSPEND" ]; then
	[ -w $CLOCK/wakealarm ] || skip_all "no clock that wakes"
else
	[ -w $POWER/pm_test ] || skip_all "no $POWER/pm_test (CONFIG_PM_SLEEP_DEBUG)"
fi
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

DELAY=/sys/module/suspend/parameters/pm_test_delay
if [ -w $DELAY ]; then
	defer "echo $(cat $DELAY) >$DELAY"
	echo 1 >$DELAY
fi
if [ -w $POWER/pm_test ]; then
	defer "echo none >$POWER/pm_test"
	[ -n "$PP_SUSPEND" ] || echo devices >$POWER/pm_test
fi
# the time of each driver's callbacks, for snooze() to see that they ran
if [ -w $POWER/pm_print_times ]; then
	defer "echo $(cat $POWER/pm_print_times) >$POWER/pm_print_times"
	echo 1 >$POWER/pm_print_times
fi

suspends()
{
	cat "$POWER"/suspend_stats/success
}

# in and out again, to the alarm where there is one
snooze()
{
	local before bus mark

	before=$(suspends)
	mark=$(($(log_since | wc -l) + 1))
	bus=$(in_b readlink "/sys/class/net/$DEVB/device")
	bus=${bus##*/}
	if [ -n "$PP_SUSPEND" ]; then
		echo 0 >"$CLOCK"/wakealarm
		echo +"$NAP" >"$CLOCK"/wakealarm || return 1
	fi
	echo "$STATE" >"$POWER"/state || return 1
	[ "$(suspends)" -eq $((before + 1)) ] || { echo "no suspend"; return 1; }
	# it says so when it got there
	log_since | tail -n +"$mark" >"$PP_TMP/log"
	if [ -n "$PP_SUSPEND" ]; then
		grep -q "PM: suspend exit" "$PP_TMP/log"
	else
		grep -q "suspend debug: Waiting" "$PP_TMP/log"
	fi || { echo "the log knows nothing of it"; return 1; }
	[ -w "$POWER"/pm_print_times ] || return 0
	grep -q "$bus: .*pci_pm_suspend" "$PP_TMP/log" &&
	grep -q "$bus: .*pci_pm_resume" "$PP_TMP/log" && return 0
	echo "no callbacks of $bus"
	return 1
}

received()
{
	[ "$(pp_b rx-packets "$DEVB")" -ge "$1" ]
}

# Both ends of a connection have megabytes to send when all tasks stop, and take
# seconds for it: the one that is put to sleep first is sent to until the other is.
snooze_in_flood()
{
	local flood rc=1 start

	start=$(pp_b rx-packets "$DEVB")
	ip netns exec "$NSA" python3 -B "$PP_DIR/e1000e_lib.py" flood "$ADDRB" "$LOAD_PORT" \
		>"$PP_TMP/flood" 2>&1 &
	flood=$!
	if wait_for 60 grep -q queued "$PP_TMP/flood" && wait_for 30 received $((start + 300)); then
		snooze
		rc=$?
	fi
	cat "$PP_TMP/flood"
	# the rest of it goes with who sends it
	kill "$flood"
	wait "$flood"
	[ "$rc" = 0 ] && ready
}

# What the devices wrote, and where, is for the runner of the guest to see.
serve_b
for nr in 1 2 3; do
	check "suspend and resume in a flood, $nr" snooze_in_flood
done
for mtu in 1500 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	load_start
	check "suspend and resume at MTU $mtu" survives snooze
	check "every byte was right at MTU $mtu" load_was_right
	check "posted descriptors hold the rest at MTU $mtu" \
		pp_b holds "$DEVB" "$(pp_b posted-e1000e "$DEVB")"
done
check "no pool is dying" no_old_pool
ip -n "$NSB" link set "$DEVB" down
check "every page is home when the interface is down" pp_b holds "$DEVB" 0
ip -n "$NSB" link set "$DEVB" up
check "the ends can talk again" ready

finish
