#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Pools go while their pages are under way: up and down, other rings and
channels, XDP programs that come and go, namespaces that are deleted, drivers
that are unbound or unloaded, each under traffic, with pages in sockets that
nobody reads, with and without threaded NAPI. At the end no pool, no mapping
and no page is left.

  races.py [-r ROUNDS] [-s SECONDS] [NAME...]

A race ends after ROUNDS (2) of it, half as many of e1000e, whose link needs
seconds to come back, or SECONDS (36000). Names are DRIVER-WHAT.
Of a driver with several pairs of ports each pair runs a share of the rounds, at
the same time. PP_MODULES has the modules that are to be unloaded.
"""

import getopt
import os
import random
import subprocess
import sys
import time

import pp
from fault_lib import (XDP_DRV, XDP_SKB, Ends, Failed, Skipped, Tap, del_netns, last_line,
                       load_xdp, no_new_pools, pool_ids, set_channels, set_ring,
                       set_threaded, set_xdp, wait_until)

B = 1       # the end where it happens
RACES = {}


def race(*drivers, **how):
    """a race that these drivers can run"""
    def add(func):
        for driver in drivers:
            RACES[f"{driver}-{func.__name__}"] = (func, driver, how)
        return func
    return add


def breathe():
    """at any time"""
    time.sleep(random.random() * 0.02)


@race("veth", "vmxnet3", "e1000e")
def updown(ends, _):
    """the interface"""
    ends.up(B, False)
    breathe()
    ends.up(B)


@race("vmxnet3", "e1000e")
def ring(ends, nr):
    """ethtool -G"""
    with ends.inside(B):
        set_ring(ends.dev[B], (64, 128, 256, 512)[nr % 4])


@race("veth")
def channels(ends, nr):
    """ethtool -L"""
    if not nr:      # with a program there may not be more senders than receivers
        with ends.inside(0):
            set_channels(ends.dev[0], tx=1)
    with ends.inside(B):
        set_channels(ends.dev[B], rx=(1, 4, 2, 3)[nr % 4])


@race("veth", "vmxnet3", "e1000e")
def xdp(ends, nr):
    """off, and another program"""
    mode = XDP_SKB if ends.driver == "e1000e" else XDP_DRV
    prog = load_xdp(("pass", "tx", "drop")[nr % 3])
    with ends.inside(B):
        set_xdp(ends.dev[B], -1, mode)
        breathe()
        set_xdp(ends.dev[B], prog, mode)
    os.close(prog)


@race("veth", "e1000e", read=False)
def netns(ends, _):
    """the namespace that it is in"""
    del_netns(ends.ns[B])
    if ends.driver != "veth":
        ends.make_netns(B)
        ends.take(B)
        return
    with ends.inside(0):
        if not wait_until(20, lambda: ends.dev[0] + ":" not in pp.proc_net("dev")):
            raise Failed("the veth outlives its namespace")
    ends.make_netns(B)
    ends.make_veth()
    native(ends)


@race("vmxnet3", "e1000e")
def unbind(ends, _):
    """the driver from the device; both ends of what it leaves are new"""
    if ends.hoards and ends.tasks:
        wait_until(1, ends.hoarded)
    ends.rebind(B, False)
    breathe()
    ends.rebind(B, True)
    ends.take(B)
    native(ends)


@race("veth", "vmxnet3", "e1000e")
def module(ends, _):
    """the driver's module"""
    path = modules().get(ends.driver)
    if not path:
        raise Skipped(f"no module of {ends.driver} in PP_MODULES")
    wait_until(1, ends.hoarded)
    subprocess.run(["rmmod", "pp_" + ends.driver], check=True)
    breathe()
    subprocess.run(["insmod", path], check=True)
    if ends.driver == "veth":
        ends.make_veth()
    else:
        for i in (0, 1):
            ends.take(i)
    native(ends)


def modules():
    """driver to file, which is pp_DRIVER.ko"""
    return {os.path.basename(path)[3:-3]: path
            for path in os.environ.get("PP_MODULES", "").split()}


def native(ends):
    """veth and vmxnet3 have pools only with a program"""
    if ends.driver == "e1000e":
        return
    prog = load_xdp("pass")
    for i in (0, 1):
        with ends.inside(i):
            set_xdp(ends.dev[i], prog)
    os.close(prog)


def rounds(ends, func, how, count, seconds):
    """one race on one pair; how many rounds there were"""
    end = time.monotonic() + seconds
    native(ends)
    read = how.get("read", True)
    done = 0
    for nr in range(count):
        if not ends.tasks:
            ends.start(ways=(0, 1) if read else (0,), read=read, pause=0.001)
        if read and nr % 4 == 0:
            ends.release()
            ends.hoard(B, 1 << 20)
        with ends.inside(B):
            set_threaded(ends.dev[B], nr // 2 % 2)
        breathe()
        func(ends, nr)
        # a program that drops or sends back is traffic enough
        if func is not xdp or nr % 3 == 0:
            ends.flows(B, 8)
        if func in (module, unbind):    # the other end has another address
            ends.stop()
        done += 1
        if time.monotonic() > end:
            break
    if func is xdp:
        with ends.inside(B):
            set_xdp(ends.dev[B], -1, XDP_SKB if ends.driver == "e1000e" else XDP_DRV)
    ends.stop()
    ends.release()
    return done


def worker(ends, func, how, count, seconds, told):
    """rounds() in a process; says what became of it"""
    try:
        said = f"={rounds(ends, func, how, count, seconds)}"
    except Skipped as why:
        said = f"s{why}"
    except (Failed, OSError, subprocess.SubprocessError) as why:
        said = f"!{type(why).__name__}: {why} (line {last_line(why)})"
    ends.stop()
    ends.release()
    os.write(told, said.encode()[:4000])
    os._exit(0)


class Pairs:
    """all pairs of ports of a driver; one of veth"""

    def __init__(self, driver):
        self.before = pool_ids()
        self.ends = [Ends(driver, 4 if driver == "veth" else 1)]
        while driver != "veth":
            try:
                self.ends.append(Ends(driver))
            except Skipped:
                break
            except BaseException:
                self.close()
                raise

    def run(self, func, how, count, seconds):
        """a race, on all of them but for that which takes the driver from all"""
        start = time.monotonic()
        if self.ends[0].driver == "e1000e":
            count = -(-count // 2)
        if func is module and len(self.ends) > 1:
            raise Skipped("needs a single pair of ports")
        jobs = []
        for ends in self.ends:
            here, there = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(here)
                worker(ends, func, how, -(-count // len(self.ends)), seconds, there)
            os.close(there)
            jobs.append((pid, here))
        said = []
        for pid, here in jobs:
            with os.fdopen(here, errors="replace") as file:
                said.append(file.read())
            os.waitpid(pid, 0)
        for text in said:
            if text.startswith("s"):
                raise Skipped(text[1:])
            if not text.startswith("="):
                raise Failed(text[1:] or "the process died")
        took = time.monotonic() - start
        for ends in self.ends:
            for i in (0, 1):
                with ends.inside(i):
                    # what has come new may have another name
                    ends.dev[i] = name_of(ends, i)
                ends.gone(i)
        no_new_pools(self.before)
        for ends in self.ends:
            for i in (0, 1):
                ends.up(i)
        return f"{sum(int(text[1:]) for text in said)} rounds in {took:.0f} s"

    def close(self):
        """as it was"""
        for ends in self.ends:
            ends.close()


def name_of(ends, i):
    """of the only real device in a namespace; the current one"""
    for line in pp.proc_net("dev").splitlines()[2:]:
        name = line.partition(":")[0].strip()
        if name != "lo":
            return name
    raise Failed(f"{ends.pci[i]} is not where it was")


def main():
    """those that are named, or all"""
    try:
        opts, names = getopt.getopt(sys.argv[1:], "r:s:")
    except getopt.GetoptError:
        sys.exit(__doc__)
    opts = dict(opts)
    count, seconds = int(opts.get("-r", 2)), float(opts.get("-s", 36000))
    names = names or [name for name, (func, driver, _) in RACES.items()
                      if func is not module or driver in modules()]
    tap = Tap(len(names))
    for driver, path in modules().items():
        if not os.path.exists("/sys/module/pp_" + driver):
            subprocess.run(["insmod", path], check=True)
    for driver in dict.fromkeys(RACES[name][1] for name in names):
        pairs = None
        try:
            pairs = Pairs(driver)
        except Skipped as why:
            missing = why
        for name in names:
            func, of, how = RACES[name]
            if of != driver:
                continue
            if pairs:
                tap.case(name, pairs.run, func, how, count, seconds)
            else:
                tap.skip(name, missing)
        if pairs:
            pairs.close()
    tap.finish()


if __name__ == "__main__":
    main()
