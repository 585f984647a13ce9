#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Memory of which a pool has parked pages is to go offline, with and without
traffic: it stays, and so does the traffic.
"""

import os
import re

from fault_lib import DEBUG, Failed, Skipped, read, run_cases, write

B = 1
MEMORY = "/sys/devices/system/memory"
EVENT = f"{DEBUG}/tracing/events/page_pool/page_pool_state_hold/enable"
TRACE = f"{DEBUG}/tracing/trace"


def blocks(ends):
    """those with pages of the pool that going up makes"""
    if not os.path.exists(f"{MEMORY}/block_size_bytes"):
        raise Skipped("no CONFIG_MEMORY_HOTREMOVE")
    if not os.path.exists(EVENT):
        raise Skipped("no tracepoints")
    ends.up(B, False)
    write(TRACE, "")
    write(EVENT, 1)
    try:
        ends.up(B)
        ends.linked()
        ends.start(hoard=0)
        ends.flows(B)
    finally:
        write(EVENT, 0)
    pfns = [int(pfn, 16) for pfn in re.findall(r"pfn=(0x[0-9a-f]+)", read(TRACE))]
    if not pfns:
        raise Failed("no page was traced")
    size = int(read(f"{MEMORY}/block_size_bytes"), 16) // os.sysconf("SC_PAGESIZE")
    return {f"{MEMORY}/memory{pfn // size}" for pfn in pfns}, len(pfns)


def offline(found):
    """none of these can"""
    for block in found:
        try:
            write(f"{block}/state", "offline")
        except OSError:
            pass
        if read(f"{block}/state") != "online":
            write(f"{block}/state", "online")
            raise Failed(f"{block} went offline")


def parked(ends):
    """pages that a pool has cannot be moved"""
    found, count = blocks(ends)
    former = ends.rate(B)
    offline(found)
    ends.stop()
    ends.adds_up(B)
    offline(found)
    ends.start(hoard=0)
    said = ends.recovers(B, former)
    ends.stop()
    ends.adds_up(B)
    return f"{count} pages in {len(found)} blocks; {said}"


if __name__ == "__main__":
    run_cases(("memory with pages of a pool stays online", parked))
