#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Everything at the same time for a long time: TCP whose every byte is compared,
UDP of all sizes, XDP, both directions, on all drivers that are named, while
rings, MTU, programs and NAPI threads change every few seconds. Once a minute
traffic rests and the counters have to add up; at the end no pool is left and
memory is what it was.

  soak.py [MINUTES [DRIVER...]]    (1, all that are there)
"""

import glob
import os
import random
import sys
import time

import e1000e_lib
import pp
from fault_lib import (ADDR, XDP_DRV, XDP_SKB, Ends, Failed, Skipped, Tap, Task, load_xdp,
                       no_new_pools, pool_ids, read, set_channels, set_mtu, set_ring,
                       set_threaded, set_xdp, wait_until, write)

MINUTES = float(sys.argv[1]) if len(sys.argv) > 1 else 1
DRIVERS = sys.argv[2:]
REST = 60           # seconds between two rests
STREAM_PORT = 30100
# What the kernel keeps for itself: per CPU, per node, for each that came newly.
SLACK = 16 << 20


class Wire(Ends):
    """a pair with all traffic that it bears"""

    def __init__(self, driver):
        super().__init__(driver, 4 if driver == "veth" else 1)
        self.good = f"/tmp/soak-{os.getpid()}-{driver}"
        self.load = None
        self.bytes = 0
        self.seen = 0
        self.actions = dict.fromkeys(("ring", "mtu", "xdp", "threaded", "updown"), 0)
        if driver == "veth":    # not more senders than receivers, with a program
            for i in (0, 1):
                with self.inside(i):
                    set_channels(self.dev[i], tx=1)
        if driver != "e1000e":
            self.xdp(True)

    def begin(self):
        """traffic"""
        self.linked()
        self.hoard(random.randrange(2), 1 << 21)
        with self.inside(1):
            most = pp.mtu(self.dev[1]) + 14
        self.tasks.append(Task(self.ns[1], e1000e_lib.serve, ADDR[1], STREAM_PORT))
        self.start(size=random.choice((most, 1000, 1514)), pause=0.003)
        self.load = Task(self.ns[0], e1000e_lib.load, ADDR[1], STREAM_PORT, self.good)
        self.tasks.append(self.load)
        if not wait_until(60, self.streams):
            raise Failed(f"{self.driver}: the stream does not begin\n" + self.told())

    def told(self):
        """what there is to know of a wire that fails"""
        return "\n".join([str(self.actions)] + list(map(self.numbers, (0, 1))))

    def lives(self):
        """who compares the streams"""
        if os.waitpid(self.load.pid, os.WNOHANG)[0]:
            self.load.pid = 0
            raise Failed(f"{self.driver}: the stream broke\n" + self.told())

    def streams(self):
        """some bytes went each way"""
        self.lives()
        return os.path.exists(self.good) and "0" not in read(self.good).split()

    def rest(self):
        """no traffic; all of it was right"""
        self.lives()
        for i in (0, 1):
            self.seen += self.packets(i)
        self.stop()
        self.release()
        if os.path.exists(self.good):
            good = sum(map(int, read(self.good).split()))
            os.unlink(self.good)
            self.bytes += good
            if not good:
                raise Failed(f"{self.driver}: no byte of the stream")
        for i in (0, 1):
            self.adds_up(i)

    def change(self):
        """one thing"""
        what = random.choice(list(self.actions))
        try:
            getattr(self, what)()
        except OSError as why:
            # not everything goes with everything: a program, a large MTU
            if what not in ("mtu", "xdp", "ring"):
                raise Failed(f"{self.driver}: {what}: {why}") from why
            return
        self.actions[what] += 1

    def ring(self):
        """another size"""
        i = random.randrange(2)
        with self.inside(i):
            if self.driver == "veth":
                set_channels(self.dev[i], rx=random.randrange(1, 5))
            else:
                set_ring(self.dev[i], random.choice((64, 128, 256, 512)))

    def mtu(self):
        """both ends; without LRO, which a program takes from it for good, QEMU's
        vmxnet3 puts a frame into one buffer or drops it"""
        size = random.choice((1500, 3000) if self.driver == "vmxnet3" else (1500, 3000, 9000))
        for i in (0, 1):
            with self.inside(i):
                set_mtu(self.dev[i], size)

    def xdp(self, on=None):
        """a program that lets pass, off and on"""
        mode = XDP_SKB if self.driver == "e1000e" else XDP_DRV
        on = random.random() < 0.7 if on is None else on
        prog = load_xdp("pass")
        try:
            for i in (0, 1):
                with self.inside(i):
                    set_xdp(self.dev[i], -1, mode)
                    if on:
                        set_xdp(self.dev[i], prog, mode)
        finally:
            os.close(prog)

    def threaded(self):
        """NAPI in threads, or not"""
        i = random.randrange(2)
        with self.inside(i):
            set_threaded(self.dev[i], random.randrange(2))

    def updown(self):
        """the receiver for a moment"""
        i = random.randrange(2)
        self.up(i, False)
        time.sleep(random.random() / 10)
        self.up(i)


def memory():
    """bytes that the kernel has for good, once caches are emptied"""
    pp.cmd_free_deferred()
    for _ in range(3):
        for path in ["/proc/sys/vm/drop_caches"] + glob.glob("/sys/kernel/slab/*/shrink"):
            if os.path.exists(path):
                write(path, 1 if path.endswith("shrink") else 3)
        time.sleep(0.5)
    with open("/proc/meminfo", encoding="ascii") as file:
        info = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
    return info["MemTotal"] - info["MemFree"] - info["Buffers"] - info["Cached"] - \
        info["SReclaimable"] - info["AnonPages"]


def wires():
    """all that are named, or there"""
    found = []
    for driver in DRIVERS or ("e1000e", "vmxnet3", "veth"):
        try:
            found.append(Wire(driver))
        except Skipped as why:
            if DRIVERS:
                raise Failed(why) from why
            print(f"# {why}")
    return found


def period(all_wires, seconds):
    """traffic and changes, then a rest"""
    for wire in all_wires:
        wire.begin()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        random.choice(all_wires).change()
        time.sleep(random.uniform(0.5, 3))
    for wire in all_wires:
        wire.rest()


def soak(minutes):
    """all of it"""
    before = pool_ids()
    all_wires = wires()
    try:
        end = time.monotonic() + 60 * minutes
        count = 0
        while True:
            left = end - time.monotonic()
            if left <= 0 and count:
                break
            period(all_wires, min(REST, max(left, 5)))
            count += 1
            print(f"# rest {count}: adds up, " + "; ".join(
                f"{wire.driver} {wire.bytes >> 20} MB of TCP" for wire in all_wires), flush=True)
        for wire in all_wires:
            for i in (0, 1):
                wire.gone(i)
            print(f"# {wire.driver}: {wire.actions}")
    finally:
        for wire in all_wires:
            wire.close()
    no_new_pools(before)
    return f"{count} rests, {sum(w.bytes for w in all_wires) >> 20} MB of TCP compared, " \
        f"{sum(sum(w.actions.values()) for w in all_wires)} changes"


def level(start):
    """memory as before"""
    now = memory()
    if now > start + SLACK:
        raise Failed(f"{now - start} bytes more than at the start")
    return f"{(now - start) / 1024:+.0f} KiB"


def main():
    """once for what is allocated at the first time only, then for good"""
    tap = Tap(3)
    tap.case("a short soak", soak, 0.1)
    start = memory()
    tap.case(f"a soak of {MINUTES:g} minutes", soak, MINUTES)
    tap.case("memory is what it was", level, start)
    tap.finish()


if __name__ == "__main__":
    main()
