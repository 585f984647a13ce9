#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Suspend to memory up to the point where all devices sleep, and back, with
# traffic before and after. The pool of an e1000e outlives it.

# shellcheck source=e1000e_lib.sh
. "$(dirname "$0")/e1000e_lib.sh"

plan 6
POWER=/sys/power
[ -w $POWER/pm_test ] || skip_all "no $POWER/pm_test (CONFIG_PM_SLEEP_DEBUG)"
STATE=$(grep -ow mem $POWER/state || grep -ow freeze $POWER/state) ||
	skip_all "no suspend to memory"
# The virtio driver of 9p does not resume: a guest with such a root would be
# lost, and the result with it.
grep -q '^[^ ]* [^ ]* 9p ' /proc/mounts &&
	skip_all "a 9p file system does not survive it"
take_pair e1000e || skip_all "$PP_WHY"
has pp_b has-counters "$DEVB" || skip_all "$PP_WHY"

DELAY=/sys/module/suspend/parameters/pm_test_delay
if [ -w $DELAY ]; then
	defer "echo $(cat $DELAY) >$DELAY"
	echo 1 >$DELAY
fi
defer "echo none >$POWER/pm_test"
echo devices >$POWER/pm_test

snooze()
{
	log_mark_at=$(log_since | wc -l)
	echo "$STATE" >$POWER/state || return 1
	# it says so when it got there
	log_since | tail -n +"$log_mark_at" | grep -q "suspend debug: Waiting"
}

for mtu in 1500 9000; do
	set_mtu $mtu || bail "cannot set the MTU to $mtu"
	load_start
	check "suspend and resume at MTU $mtu" survives snooze
	check "every byte was right at MTU $mtu" load_was_right
done
check "no pool is dying" no_old_pool

finish
