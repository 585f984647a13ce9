#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The benchmark runs: every line is in its table and has a figure, bad
# parameters are refused with a reason, and nothing is left when the module is
# gone. How fast a page pool is, a few hundred pages do not tell, nor does this
# test look.
#
# PP_BENCH_KO names the module where it is not installed.

# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

plan 10

MODULE=page_pool_bench
TABLE=/sys/kernel/debug/$MODULE
PARAM=/sys/module/$MODULE/parameters
LOOPS=640

bench_load()
{
	if [ -n "${PP_BENCH_KO:-}" ]; then
		insmod "$PP_BENCH_KO" "$@"
	else
		modprobe "$MODULE" "$@"
	fi
}

[ -e /sys/module/$MODULE ] && [ ! -e /sys/module/$MODULE/refcnt ] &&
	skip_all "$MODULE is built in"
[ -e /sys/module/$MODULE ] && skip_all "$MODULE is in use"
if [ -n "${PP_BENCH_KO:-}" ]; then
	[ -r "$PP_BENCH_KO" ] || skip_all "no $PP_BENCH_KO"
else
	modprobe -n "$MODULE" 2>/dev/null || skip_all "no module $MODULE"
fi
[ -d /sys/kernel/debug/bdi ] || mount -t debugfs none /sys/kernel/debug \
	2>/dev/null || [ -d /sys/kernel/debug/bdi ] || skip_all "no debugfs"

# Netlink does not list pools without a device; the tracepoint tells of each that
# is destroyed how many of its pages are out. Only of those that the benchmark's
# threads destroy: other pools may go at the same time.
INST=/sys/kernel/tracing/instances/pp-bench-$$

trace_on()
{
	[ -d /sys/kernel/tracing/events ] ||
		mount -t tracefs none /sys/kernel/tracing 2>/dev/null
	mkdir $INST 2>/dev/null || return 1
	defer "rmdir $INST"
	echo 1 >$INST/events/page_pool/page_pool_release/enable
}

POOLS_LINES="no-softirq-page_pool01 no-softirq-page_pool02
	no-softirq-page_pool03 tasklet_page_pool01_fast_path
	tasklet_page_pool02_ptr_ring tasklet_page_pool03_slow napi_page_pool
	tasklet_page_pool_bulk16 tasklet_page_pool_bulk64
	tasklet_page_pool_burst64 tasklet_page_pool_burst640
	tasklet_page_pool_burst1280 tasklet_page_pool_frag1024
	tasklet_page_pool_frag1024_64 tasklet_page_pool_frag2048
	tasklet_page_pool_frag2048_64"
CROSS_LINES="page_pool_cross_cpu_alloc page_pool_cross_cpu
	page_pool_cross_cpu_average page_pool_cross_cpu_total"

wanted_lines()
{
	local line

	printf '%s\n' for_loop atomic_inc lock
	[ "$(nproc)" -gt 1 ] || CROSS_LINES=page_pool_cross_cpu
	for line in $POOLS_LINES $CROSS_LINES; do
		printf '%s\n' "$line" "${line}_dma"
	done
}

table_lines()
{
	awk '!/^#/ { print $1 }' "$TABLE" | LC_ALL=C sort
}

all_lines()
{
	diff <(wanted_lines | LC_ALL=C sort) <(table_lines) &&
		echo "$(table_lines | wc -l) lines"
}

# Of each line: as many pages as asked for, rounded up to whole rounds, and a
# time. Whether there is a cycle counter, the machine decides.
all_figures()
{
	awk -v loops="$1" '
	/^#/ { next }
	$3 ~ /^skipped/ { next }
	{ n++ }
	$3 !~ /^[0-9]+$/ || $3 < loops || $3 > loops + 4096 ||
	$5 !~ /^[0-9]+\.[0-9]+$/ || $5 == 0 { print; bad = 1 }
	END { print n " figures"; exit bad || !n }' "$TABLE"
}

in_log()
{
	local line

	log_since >"$PP_TMP/log"
	grep -v '^#' "$TABLE" | while read -r line; do
		grep -qF "$MODULE: $line" "$PP_TMP/log" || {
			echo "not in the log: $line"
			return 1
		}
	done
}

again()
{
	echo 'tasklet_page_pool0*, lock' >"$PARAM"/lines &&
	echo 5000 >"$PARAM"/loops &&
	echo >"$TABLE" || return 1
	all_figures 5000 &&
		[ "$(table_lines | tr '\n' ' ')" = "lock $(printf '%s ' \
		tasklet_page_pool01_fast_path{,_dma} \
		tasklet_page_pool02_ptr_ring{,_dma} \
		tasklet_page_pool03_slow{,_dma})" ]
}

# refused PARAMETER VALUE: so that the reason names the parameter, and the table
# stays as it is
refused()
{
	local old was

	old=$(cat "$PARAM"/"$1")
	was=$(cat "$TABLE")
	echo "$2" >"$PARAM"/"$1" || return 1
	if { echo >"$TABLE"; } 2>/dev/null; then
		echo "$1=$2: taken"
		return 1
	fi
	echo "$old" >"$PARAM"/"$1"
	[ "$(cat "$TABLE")" = "$was" ] || { echo "$1=$2: another table"; return 1; }
	log_since | tail -n 1 | grep "$MODULE: $1[=:]" ||
		{ echo "$1=$2: no reason given"; return 1; }
}

all_refused()
{
	refused loops 0 && refused loops 99999999999 &&
	refused lines 'lock,no_such_line' && refused lines ',' &&
	refused cpus nonsense && refused cpus 8191 &&
	refused returning_cpus 1- &&
	refused returning_cpus "$(cut -d- -f1 /sys/devices/system/cpu/online)"
}

load_refused()
{
	! bench_load loops=0 2>/dev/null && [ ! -e "$PARAM" ] && [ ! -e "$TABLE" ]
}

unloads()
{
	rmmod "$MODULE" && [ ! -e "$TABLE" ] &&
		[ ! -e "/sys/devices/platform/$MODULE" ]
}

# A pool for each line with pages, of a thread of its own, and of each set of
# CPUs, of whoever loads the module; all destroyed, with all pages at home.
all_pools_gone()
{
	local want gone out

	want=$(wanted_lines | grep -c page_pool)
	# several rows, one pool
	if [ "$(nproc)" -gt 1 ]; then
		want=$((want - 6))
	else
		want=$((want - 2))
	fi
	grep -E '(page_pool_bench|insmod|modprobe)-.*page_pool_release:' \
		"$INST/trace" >"$PP_TMP/trace"
	gone=$(grep -c 'inflight=0 ' "$PP_TMP/trace")
	out=$(grep -vc 'inflight=0 ' "$PP_TMP/trace")
	echo "$gone of $want pools destroyed, $out with pages out"
	[ "$gone" -eq "$want" ] && [ "$out" -eq 0 ]
}

WHY=
trace_on || WHY="no tracing instances"
defer "rmmod $MODULE"
check "bad parameters do not load" load_refused
check "the module loads and runs" bench_load loops=$LOOPS ||
	bail "nothing to look at"
[ -n "$WHY" ] || echo 0 >$INST/tracing_on
check "every line is in the table" all_lines
check "every line has a figure" all_figures $LOOPS
check "the table is in the log" in_log
if [ -z "$WHY" ]; then
	check "no pool is left, no page is out" all_pools_gone
else
	skip "no pool is left, no page is out" "$WHY"
fi
check "what is written to the file runs again" again
check "bad parameters are refused" all_refused
check "the module unloads" unloads

finish
