#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Where the pages are: in the array, staged, in the ring, held. The pools are
those of the networking core, into which generic XDP copies what a loopback
device receives, so that the pages that are held are the datagrams that
nobody has read.
"""

import fcntl
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from netlink_lib import (KsftSkipEx, Netns, SIOCGIFFLAGS, SIOCSIFFLAGS, defer,
                         deviceless, has_stats, is_system, ksft_busy_wait, ksft_eq, ksft_ge,
                         ksft_in, ksft_pr, ksft_true, pools, run)
from pp import softirq

BPF = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])),
                   "xdp_pp.bpf.o")
# with its headers more than half a page, so that each has one of its own
PAYLOAD = 3000
UNREAD = 24
SECONDS = 2


class Loop:
    """A namespace whose loopback device has an XDP program."""
    def __init__(self):
        if not os.path.exists(BPF):
            raise KsftSkipEx("no XDP program, which needs clang to build")
        self.netns = Netns()
        with self.netns:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                req = struct.pack("16sH14x", b"lo", 0)
                flags, = struct.unpack("16xH14x",
                                       fcntl.ioctl(sock, SIOCGIFFLAGS, req))
                fcntl.ioctl(sock, SIOCSIFFLAGS,
                            struct.pack("16sH14x", b"lo", flags | 1))
            try:
                done = subprocess.run(
                    ["ip", "link", "set", "dev", "lo", "xdpgeneric", "obj", BPF,
                     "program", "xdp_pass_frags"], stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, check=False)
            except FileNotFoundError as why:
                raise KsftSkipEx("no ip") from why
            if done.returncode:
                raise KsftSkipEx(f"no XDP on lo: {done.stdout}")
            self.rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.rx.bind(("127.0.0.1", 0))
            self.rx.settimeout(5)
            self.tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.tx.connect(self.rx.getsockname())

    def close(self):
        self.rx.close()
        self.tx.close()
        self.netns.close()


def new_loop():
    loop = Loop()
    defer(loop.close)
    return loop


def system(family):
    return [pool for pool in deviceless(pools(family)) if is_system(pool)]


def total(found, what):
    return sum(pool["detail"][what] for pool in found)


def parked(pool):
    where = pool["detail"]
    return where["array"] + where["staged"] + where["ring"]


def adds_up(pool):
    where = pool["detail"]
    ksft_eq(parked(pool) + where["held"], pool["inflight"])
    ksft_eq(where["allocated"] - where["released"], pool["inflight"])
    ksft_eq(pool["inflight-mem"],
            pool["inflight"] * os.sysconf("SC_PAGE_SIZE") << where["order"])


def nobodys(family):
    """What is held when nobody has a packet: at most a page of each pool, which
    it has open for fragments since small packets came by, before this test."""
    def held():
        return total(system(family), "held")

    softirq()
    ksft_busy_wait(lambda: held() <= len(system(family)), deadline=5,
                   comment="pages are held")
    return held()


def shrink():
    """Have rings emptied; the first time it is only seen who is idle."""
    for _ in range(3):
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("2")


def unread(family):
    """Held is what nobody has read."""
    loop = new_loop()
    loop.tx.send(b"x" * PAYLOAD)
    loop.rx.recv(65536)
    open_pages = nobodys(family)
    # room for all that will come home
    shrink()

    def held():
        return total(system(family), "held") - open_pages

    for i in range(1, UNREAD + 1):
        loop.tx.send(b"x" * PAYLOAD)
        if i % 8 == 0:
            ksft_busy_wait(lambda want=i: held() == want, deadline=5,
                           comment=f"{held()} are held, not {i}")
    before = system(family)
    for pool in before:
        adds_up(pool)
    for i in range(UNREAD):
        loop.rx.recv(65536)
    ksft_busy_wait(lambda: held() == 0, deadline=5,
                   comment="pages are held when all is read")
    after = system(family)
    for pool in after:
        adds_up(pool)
    # they came home, none to the page allocator
    ksft_eq(total(after, "released"), total(before, "released"))
    ksft_eq(sum(map(parked, after)), sum(map(parked, before)) + UNREAD)


def moving(family):
    """Whatever the traffic does, one message is never at odds with itself."""
    loop = new_loop()
    open_pages = nobodys(family)
    stop = threading.Event()
    sent = [0]

    def send():
        while not stop.is_set():
            for _ in range(UNREAD):
                loop.tx.send(b"x" * PAYLOAD)
                sent[0] += 1
            for _ in range(UNREAD):
                loop.rx.recv(65536)

    sender = threading.Thread(target=send)
    sender.start()
    looks, full, last = 0, 0, {}
    end = time.monotonic() + SECONDS
    try:
        while looks < 5 or not sent[0] or time.monotonic() < end:
            for pool in system(family):
                adds_up(pool)
                where = pool["detail"]
                old = last.get(pool["id"], where)
                for what in ("allocated", "released", "age"):
                    ksft_ge(where[what], old[what])
                ksft_ge(where["ring-size"], where["ring"])
                last[pool["id"]] = where
                full += where["held"] > 1
            looks += 1
    finally:
        stop.set()
        sender.join()
    ksft_pr(f"{looks} dumps, {sent[0]} datagrams, {full} times pages held")
    ksft_true(full, "some pages were seen to be held")
    ksft_busy_wait(lambda: total(system(family), "held") == open_pages, deadline=5,
                   comment="pages are held when all is read")


def shrunk(family):
    """What the rings hold goes back when memory is wanted, nothing else."""
    loop = new_loop()
    open_pages = nobodys(family)
    for _ in range(UNREAD):
        loop.tx.send(b"x" * PAYLOAD)
    for _ in range(UNREAD):
        loop.rx.recv(65536)
    ksft_busy_wait(lambda: total(system(family), "held") == open_pages, deadline=5,
                   comment="pages are held when all is read")
    before = system(family)
    ksft_ge(total(before, "ring"), 1)
    shrink()
    after = system(family)
    for pool in after:
        adds_up(pool)
    ksft_eq(total(after, "ring"), 0)
    ksft_eq(total(after, "array"), total(before, "array"))
    ksft_eq(total(after, "released"),
            total(before, "released") + total(before, "ring"))
    for _ in range(UNREAD):
        loop.tx.send(b"x" * PAYLOAD)
        loop.rx.recv(65536)


def by_cpu(family):
    """Recycling counters by CPU add up to those of the pool."""
    if not has_stats(family):
        raise KsftSkipEx("no page pool statistics in this kernel")
    loop = new_loop()
    for _ in range(UNREAD):
        loop.tx.send(b"x" * PAYLOAD)
        loop.rx.recv(65536)
    pool = max(system(family), key=lambda pool: pool["detail"]["allocated"])
    stats = family.page_pool_stats_get({"info": {"id": pool["id"]}})
    detail = stats["detail"]
    ksft_in("cpu", detail)
    cpus = [entry["cpu"] for entry in detail["cpu"]]
    ksft_eq(cpus, sorted(set(cpus)))
    for what in ("recycle-cache-full", "recycle-ring", "recycle-ring-full",
                 "recycle-released-refcnt"):
        ksft_eq(sum(entry[what] for entry in detail["cpu"]), stats[what])
    for what in ("recycle-released-pfmemalloc", "recycle-released-nid"):
        ksft_eq(sum(entry[what] for entry in detail["cpu"]), detail[what])
    for entry in detail["cpu"]:
        ksft_true(any(entry[what] for what in entry if what != "cpu"))


if __name__ == "__main__":
    run(unread, moving, shrunk, by_cpu)
