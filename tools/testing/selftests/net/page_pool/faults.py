#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Whatever can fail under an e1000e with traffic does: allocations of pages and
of small memory, mappings, the page pool itself. Then each allocation that a
change of the device makes fails in turn. Packets may be lost, nothing else:
traffic is what it was, the counters add up, nothing is left behind.

  faults.py [SECONDS]    of each fault (1)
"""

import contextlib
import ctypes
import fcntl
import struct
import sys
import time

import pp
from fault_lib import (FailNth, Failed, function_fails, pages_fail,
                       run_cases, set_mtu, slab_fails, wait_until)

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 1
B = 1       # the end that is looked at


def counted(ends):
    """buffers that the driver did not get"""
    with ends.inside(B):
        return pp.ethtool_stats(ends.dev[B]).get("alloc_rx_buff_failed", 0)


def under(ends, *faults):
    """traffic with faults, and as before without them"""
    ends.linked()
    ends.start(hoard=0)
    ends.flows(B)
    former = ends.rate(B)
    ends.stop()
    missed = counted(ends)
    ends.hoard(B)
    ends.start(hoard=6, pause=0.0005)
    with contextlib.ExitStack() as stack:
        for fault in faults:
            stack.enter_context(fault)
        time.sleep(SECONDS)
        # what the pool has parked lasts longer on a slow machine
        wait_until(20, lambda: all(fault.struck() for fault in faults))
    ends.stop()
    ends.release()
    if not all(fault.hits for fault in faults):
        raise Failed(f"nothing failed: {[fault.hits for fault in faults]}")
    missed = counted(ends) - missed
    ends.start(hoard=0)
    ends.flows(B)
    said = ends.recovers(B, former)
    ends.stop()
    ends.adds_up(B)
    return f"{'+'.join(str(fault.hits) for fault in faults)} failed, " \
        f"{missed} buffers missed; {said}"


def mtu(ends, size):
    """at both ends"""
    for i in (0, 1):
        with ends.inside(i):
            set_mtu(ends.dev[i], size)


def pages(ends):
    """allocations of pages"""
    return under(ends, pages_fail())


def slabs(ends):
    """allocations of small memory, slots for mappings among them"""
    return under(ends, slab_fails(50))


def mappings(ends):
    """mappings of pages"""
    return under(ends, function_fails("page_pool_dma_map", 50))


def jumbo(ends):
    """the page pool has no page"""
    mtu(ends, 9000)
    try:
        return under(ends, function_fails("page_pool_alloc_pages", 20))
    finally:
        mtu(ends, 1500)


def both(ends):
    """what is copied has skbs, what is not has pages"""
    mtu(ends, 9000)
    try:
        return under(ends, pages_fail(), slab_fails(50))
    finally:
        mtu(ends, 1500)


def in_turn(ends, request, first, second):
    """
    Each allocation of an ioctl fails in turn; first is what it is to do, second
    what undoes it. The device has one living pool all the time that it is up.
    """
    nth = FailNth()
    ends.start(hoard=1)
    try:
        with ends.inside(B), pp.udp_socket("0.0.0.0") as sock:
            dev = ends.dev[B]

            def call():
                fcntl.ioctl(sock, request, first)

            def after(_):
                up = bool(pp.flags(dev) & pp.IFF_UP)
                if up:
                    fcntl.ioctl(sock, request, second)
                alive = [pool for pool in pp.pools(pp.index_of(dev))
                         if "detach-time" not in pool]
                if len(alive) != (pp.flags(dev) & pp.IFF_UP):
                    raise Failed(f"pools: {alive}")
            faults, noticed = nth.each(call, after)
    finally:
        nth.close()
    ends.stop()
    # A driver that got no interrupts of one kind takes others, for good, which
    # may not work here; and routes and the like may be lost.
    ends.rebind(B, False)
    ends.rebind(B, True)
    ends.take(B)
    ends.start()
    ends.flows(B)
    ends.stop()
    ends.adds_up(B)
    if not noticed:
        raise Failed(f"{faults} faults, and none was noticed")
    return f"{noticed} of {faults} faults let it fail"


def ifreq(dev, data):
    """what an ioctl is given"""
    return struct.pack("16s24s", dev.encode(), data)


def mtu_in_turn(ends):
    """another MTU, which needs another pool"""
    dev = ends.dev[B]
    return in_turn(ends, 0x8922, ifreq(dev, struct.pack("=I", 9000)),
                   ifreq(dev, struct.pack("=I", 1500)))


def up_in_turn(ends):
    """up, which makes the pool"""
    with ends.inside(B):
        flags = pp.flags(ends.dev[B])
    dev = ends.dev[B]
    down = ifreq(dev, struct.pack("=H", flags & ~pp.IFF_UP & 0xffff))
    ends.up(B, False)
    return in_turn(ends, pp.SIOCSIFFLAGS,
                   ifreq(dev, struct.pack("=H", flags & 0xffff)), down)


def ring_in_turn(ends):
    """another ring"""
    with ends.inside(B):
        data = pp.ethtool(ends.dev[B], struct.pack("=I", pp.ETHTOOL_GRINGPARAM) + bytes(32))
    new = bytearray(data)
    struct.pack_into("=I", new, 0, 0x11)
    old = ctypes.create_string_buffer(bytes(new), len(new))
    struct.pack_into("=I", new, 20, 80)
    new = ctypes.create_string_buffer(bytes(new), len(new))
    dev = ends.dev[B]
    return in_turn(ends, pp.SIOCETHTOOL,
                   ifreq(dev, struct.pack("P", ctypes.addressof(new))),
                   ifreq(dev, struct.pack("P", ctypes.addressof(old))))


if __name__ == "__main__":
    run_cases(("allocations of pages fail", pages),
              ("allocations of slabs fail", slabs),
              ("mappings fail", mappings),
              ("page_pool_alloc_pages() fails", jumbo),
              ("pages and slabs fail at MTU 9000", both),
              ("each allocation of a new MTU fails", mtu_in_turn),
              ("each allocation of a new ring fails", ring_in_turn),
              ("each allocation of going up fails", up_in_turn))
