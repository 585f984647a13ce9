#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
An e1000e whose node has no memory, and CPUs that go and come under its traffic:
recycling is as good as anywhere, the counters add up, nothing is left behind.
"""

import os
import time

import pp
from fault_lib import Failed, Skipped, read, run_cases, write

B = 1
CPUS = "/sys/devices/system/cpu/"


def counters(ends):
    """of the receiver"""
    with ends.inside(B):
        return pp.counters(ends.dev[B])


def node_of(ends):
    """where the receiver is"""
    return int(read(f"/sys/bus/pci/devices/{ends.pci[B]}/numa_node"))


def memoryless(ends):
    """a device on a node that has CPUs only recycles as well as any"""
    node = node_of(ends)
    if node < 0 or f"node{node}" in os.listdir("/sys/devices/system/node") and \
       node in numbers(read("/sys/devices/system/node/has_memory")):
        raise Skipped("the node of the device has memory")
    ends.linked()
    ends.start(hoard=0)
    ends.flows(B, 200)
    old = counters(ends)
    ends.flows(B, 500)
    ends.stop()
    new = counters(ends)
    put = pp.put_sum(new) - pp.put_sum(old)
    again = pp.again_sum(new) - pp.again_sum(old)
    if not put or again * 100 < put * 90:
        raise Failed(f"{again} of {put} pages recycled")
    ends.adds_up(B)
    return f"{again} of {put} pages recycled"


def numbers(text):
    """a list like 0-2,4"""
    out = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        out |= set(range(int(first), int(last or first) + 1))
    return out


def cpus(ends):
    """each CPU but the first goes and comes, twice"""
    others = [cpu for cpu in numbers(read(CPUS + "online"))
              if os.path.exists(f"{CPUS}cpu{cpu}/online")]
    if not others:
        raise Skipped("no CPU can be taken offline")
    ends.linked()
    ends.start(hoard=0)
    ends.flows(B)
    former = ends.rate(B)
    times = 0
    try:
        for cpu in others * 2:
            for on in (0, 1):
                write(f"{CPUS}cpu{cpu}/online", on)
                time.sleep(0.05)
            times += 1
        ends.flows(B)
    finally:
        for cpu in others:
            if read(f"{CPUS}cpu{cpu}/online") == "0":
                write(f"{CPUS}cpu{cpu}/online", 1)
    said = ends.recovers(B, former)
    ends.stop()
    ends.adds_up(B)
    return f"{times} times; {said}"


if __name__ == "__main__":
    run_cases(("the device's node has no memory", memoryless),
              ("CPUs go and come", cpus))
