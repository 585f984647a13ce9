#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The machine itself gets short under an e1000e with traffic: CPUs go and come,
memory is used up until pages of the emergency reserve arrive, the
device's node has none. Traffic goes on or comes back, the counters add up,
nothing is left behind.
"""

import mmap
import os
import signal
import time

import pp
from fault_lib import (Ends, Failed, Skipped, Tap, Task, read, set_ring,
                       wait_until, write)

B = 1
CPUS = "/sys/devices/system/cpu/"
MIN_FREE = "/proc/sys/vm/min_free_kbytes"
MAP_POPULATE = 0x8000


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


def free():
    """kilobytes"""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemFree:"):
                return int(line.split()[1])
    return 0


def hog(leave):
    """use up memory but for so many kilobytes"""
    pp.LIBC.prctl(1, signal.SIGKILL)
    write("/proc/self/oom_score_adj", 1000)
    have = []
    while True:
        room = free() - leave
        if room < 1024:
            time.sleep(0.05)
            continue
        have.append(mmap.mmap(-1, min(room, 16384) << 10, flags=mmap.MAP_PRIVATE |
                              mmap.MAP_ANONYMOUS | MAP_POPULATE))


def reserve(ends):
    """
    Until pages of the reserve come, which a softirq gets while it interrupts
    who reclaims memory; none of them goes round again.
    """
    write("/proc/self/oom_score_adj", -1000)
    ends.linked()
    ends.start(hoard=0)
    ends.flows(B)
    former = ends.rate(B)
    ends.stop()
    before = counters(ends).get("recycle_released_pfmem", 0)
    least = read(MIN_FREE)
    # the test itself must not have to be read again
    pp.LIBC.mlockall(3)
    ends.hoard(B, 1 << 28)
    ends.start(hoard=6, pause=0.0005)
    write(MIN_FREE, 32 << 10)
    hogs = Task("-", hog, 40 << 10)
    try:
        wait_until(60, lambda: counters(ends).get("recycle_released_pfmem", 0) > before, 0.2)
    finally:
        hogs.stop()
        write(MIN_FREE, least)
        pp.LIBC.munlockall()
    ends.stop()
    ends.release()
    count = counters(ends).get("recycle_released_pfmem", 0) - before
    ends.start(hoard=0)
    ends.flows(B)
    said = ends.recovers(B, former)
    ends.stop()
    ends.adds_up(B)
    if not count:
        raise Failed("no page of the reserve arrived")
    return f"{count} pages; {said}"


def main():
    """on one pair of ports"""
    try:
        ends = Ends("e1000e")
    except Skipped as why:
        Tap.skip_all(why)
    try:
        with ends.inside(B):
            ring = pp.ring_size(ends.dev[B])
            set_ring(ends.dev[B], 64)
        tap = Tap(4)
        tap.case("the device's node has no memory", memoryless, ends)
        tap.case("CPUs go and come", cpus, ends)
        tap.case("pages of the reserve are not recycled", reserve, ends)
        tap.case("the interface goes down and leaves nothing", ends.gone, B)
        with ends.inside(B):
            set_ring(ends.dev[B], ring)
    finally:
        ends.close()
    tap.finish()


if __name__ == "__main__":
    main()
