#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Who holds pages: sockets that nobody reads, a CPU that is to free packets, a
module that loses pages. The pools are those of the networking core, into which
generic XDP copies what a loopback device receives, and that of the module.
"""

import ctypes
import errno
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

from netlink_lib import (NOBODY, KsftSkipEx, NetdevFamily, Netns, Nobody, boottime,
                         defer, error_of, fresh_socket, gone, ids, is_system,
                         ksft_busy_wait, ksft_eq, ksft_ge, ksft_pr,
                         ksft_true, pools, run, small_family)
from netlink_pages import PAYLOAD, new_loop
from pp import BPF_MAP_UPDATE_ELEM, map_op, softirq, xdp_map

LEAK = "/sys/module/page_pool_leak/parameters/leak"
UNREAD = 20
# more than is looked at in one go
MANY = 1500
LONG = 16384
SOCKETS = 4000
SECONDS = 2
HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
CPUMAP = os.path.join(HERE, "xdp_cpumap.bpf.o")
SO_RCVBUFFORCE = 33
UDP_SEGMENT = 103
PR_SET_KEEPCAPS = 8
LINUX_CAPABILITY_VERSION_3 = 0x20080522
CAP_NET_ADMIN = 12
CLONE_NEWPID = 0x20000000
ETH_P_ALL = 3


class Answer:
    """What is told about the pools, or about one."""
    def __init__(self, family, scan=False, **request):
        if scan:
            request["scan"] = True
        said = family.page_pool_holders_get(request, dump=True)
        ksft_eq(list(said[0]), ["pools"])
        self.pools = {m["id"]: m for m in said if "held" in m}
        self.records = [m for m in said if "kind" in m]
        ksft_eq(len(self.pools) + len(self.records) + 1, len(said))
        for pool in self.pools.values():
            ksft_eq(pool["held"], sum(r["pages"] for r in self.of(pool["id"])) -
                    pool["several"] - pool["returned"])

    def of(self, pool):
        return [r for r in self.records if r["id"] == pool]

    def by(self, kind, **values):
        return [r for r in self.records if r["kind"] == kind and
                all(r.get(k.replace("_", "-")) == v for k, v in values.items())]

    def pages(self, kind, **values):
        return sum(r["pages"] for r in self.by(kind, **values))

    def held(self):
        """By others than the pools themselves."""
        return self.sum("held") - self.pages("fragment")

    def sum(self, what):
        return sum(pool[what] for pool in self.pools.values())


def rest(family):
    """Nothing is held of the pools of the core."""
    def held():
        softirq()
        return Answer(family).held()

    ksft_busy_wait(lambda: held() == 0, deadline=10, comment="pages are held")


def flood(loop, nr):
    for _ in range(nr):
        loop.tx.send(b"x" * PAYLOAD)


def unread(family):
    """A socket that never reads: who, where, how many, since when."""
    loop = new_loop()
    rest(family)
    before = boottime()
    flood(loop, UNREAD)
    first = Answer(family)
    found = first.by("socket-receive", inode=os.fstat(loop.rx.fileno()).st_ino)
    ksft_eq(sum(r["pages"] for r in found), UNREAD)
    with open("/proc/self/comm", encoding="ascii") as file:
        comm = file.read().strip()
    for record in found:
        ksft_eq(record["pid"], os.getpid())
        ksft_eq(record["comm"], comm)
        ksft_eq(record["netns"], os.fstat(loop.netns.fd).st_ino)
        ksft_eq(record["family"], socket.AF_INET)
        ksft_eq(record["protocol"], socket.IPPROTO_UDP)
        ksft_eq(record["local-addr"], socket.inet_aton("127.0.0.1"))
        ksft_eq(record["local-port"], loop.rx.getsockname()[1])
        ksft_eq(record["remote-port"], 0)
        ksft_eq(record["shared"], 0)
        ksft_true("partial" not in record)
    ksft_eq(first.sum("several") + first.sum("returned"), 0)
    ksft_eq(first.held(), UNREAD)
    ksft_eq(first.pages("unknown"), 0)

    time.sleep(1)
    found = Answer(family).by("socket-receive", pid=os.getpid())
    oldest = max(r["age"] for r in found)
    ksft_ge(oldest, 1000)
    ksft_ge((boottime() - before) * 1000, oldest)
    ksft_eq(len({"exact" in r for r in found}), 1)

    # read and received again they are others
    for _ in range(UNREAD):
        loop.rx.recv(65536)
    rest(family)
    ksft_eq(Answer(family).by("socket-receive"), [])
    before = boottime()
    flood(loop, UNREAD)
    found = Answer(family).by("socket-receive", pid=os.getpid())
    ksft_ge((boottime() - before) * 1000 + 1, max(r["age"] for r in found))


def long_queue(family):
    """More packets than are looked at in one go, each page counted once."""
    loop = new_loop()
    loop.rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    rest(family)
    flood(loop, MANY)
    answer = Answer(family)
    ksft_eq(answer.pages("socket-receive"), MANY)
    ksft_eq(answer.sum("several") + answer.pages("unknown"), 0)
    ksft_true(not any("partial" in r for r in answer.records))


class Probes:
    """How long a look takes, and what it does with a queue locked."""
    TRACING = "/sys/kernel/tracing"
    FUNCTIONS = ("page_pool_holders_look", "pph_walk_head", "pph_walk_tcp",
                 "pph_walk_defer", "pph_walk_cpu", "pph_walk_backlog", "pph_walk_ofo")

    def __init__(self):
        self.on = []
        for name in self.FUNCTIONS:
            if (self.event(f"p:pph/in_{name} {name}") and
                    self.event(f"r:pph/out_{name} {name}")):
                self.on.append(name)
        if self.on:
            os.mkdir(f"{self.TRACING}/instances/pph")
            defer(self.close)
            self.tell("instances/pph/buffer_size_kb", "4096")
            self.tell("instances/pph/events/pph/enable", "1")

    def tell(self, name, text):
        file = os.open(f"{self.TRACING}/{name}", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, text.encode())
        finally:
            os.close(file)

    def event(self, text):
        try:
            self.tell("kprobe_events", text)
        except OSError:
            return False
        return True

    def close(self):
        self.tell("instances/pph/events/pph/enable", "0")
        os.rmdir(f"{self.TRACING}/instances/pph")
        for name in self.on:
            self.event(f"-:pph/in_{name}")
            self.event(f"-:pph/out_{name}")

    def durations(self):
        """Of each function, the milliseconds that its calls took."""
        found = {name: [] for name in self.on}
        start = {}
        text = read(f"{self.TRACING}/instances/pph/trace") if self.on else ""
        for at, what, name in re.findall(
                r"^.* (\d+\.\d+): (in|out)_(\w+): ", text, re.M):
            if what == "in":
                start[name] = float(at)
            else:
                found[name].append((float(at) - start.pop(name)) * 1000)
        return found


def many_sockets(family):
    """Each of thousands is found, and no queue is locked for long."""
    loop = new_loop()
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    defer(resource.setrlimit, resource.RLIMIT_NOFILE, old)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * SOCKETS, 2 * SOCKETS))
    loop.rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    rest(family)
    inodes = []
    for _ in range(SOCKETS):
        with loop.netns:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        defer(sock.close)
        sock.bind(("127.0.0.1", 0))
        loop.tx.sendto(b"x" * PAYLOAD, sock.getsockname())
        inodes.append(os.fstat(sock.fileno()).st_ino)
    flood(loop, MANY)

    probes = Probes()
    answer = Answer(family)
    took = probes.durations()
    rx = os.fstat(loop.rx.fileno()).st_ino
    pages = {}
    for record in answer.by("socket-receive", pid=os.getpid()):
        inode = record["inode"]
        pages[inode] = pages.get(inode, 0) + record["pages"]
    ksft_eq(pages.pop(rx, 0), MANY)
    ksft_eq(len(pages), SOCKETS)
    ksft_true(pages == dict.fromkeys(inodes, 1), "each has one page")
    ksft_eq(answer.pages("unknown") + answer.sum("several"), 0)
    ksft_true(not any("partial" in r for r in answer.records))

    for name, calls in took.items():
        if calls:
            ksft_pr(f"{name}: {len(calls)} times, the longest {max(calls):.2f} ms, "
                    f"{sum(calls):.0f} ms in all")
    if took.get("pph_walk_head"):
        # the long queue bit by bit
        ksft_ge(len(took["pph_walk_head"]), SOCKETS + 2)


def shared(family):
    """Pages that two sockets have are counted with each, and told of."""
    loop = new_loop()
    with loop.netns:
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                            socket.htons(ETH_P_ALL))
    defer(tap.close)
    tap.bind(("lo", ETH_P_ALL))
    rest(family)
    flood(loop, UNREAD)
    answer = Answer(family)
    ksft_eq(answer.held(), UNREAD)
    ksft_eq(answer.sum("several"), UNREAD)
    for kind in (socket.AF_INET, socket.AF_PACKET):
        found = answer.by("socket-receive", family=kind)
        ksft_eq(sum(r["pages"] for r in found), UNREAD)
        ksft_eq(sum(r["shared"] for r in found), UNREAD)


def connect(loop):
    """Two ends of a connection; that which receives is not accepted yet."""
    with loop.netns:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        defer(listener.close)
        tx = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    defer(tx.close)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    tx.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    tx.connect(listener.getsockname())
    return listener, tx


def tcp(family):
    """Connections: not accepted yet, then unread, then out of order."""
    loop = new_loop()
    listener, tx = connect(loop)
    port = listener.getsockname()[1]
    rest(family)
    for _ in range(UNREAD):
        tx.send(b"x" * PAYLOAD)

    def arrived():
        return Answer(family).pages("socket-receive", local_port=port)

    ksft_busy_wait(lambda: arrived() > 0, deadline=10, comment="nothing came")
    answer = Answer(family)
    found = answer.by("socket-receive", local_port=port)
    for record in found:
        ksft_true("comm" not in record and "pid" not in record)
        ksft_eq(record["netns"], os.fstat(loop.netns.fd).st_ino)
        ksft_eq(record["remote-port"], tx.getsockname()[1])
    pages = sum(r["pages"] for r in found)
    ksft_eq(pages, answer.held() - answer.pages("unknown"))

    rx, _ = listener.accept()
    defer(rx.close)
    found = Answer(family).by("socket-receive", local_port=port)
    ksft_eq(sum(r["pages"] for r in found), pages)
    ksft_eq({r.get("pid") for r in found}, {os.getpid()})
    ksft_eq({r.get("inode") for r in found}, {os.fstat(rx.fileno()).st_ino})


def tcp_own_hash(family):
    """Connections of a namespace that has its own table of them."""
    old = write("/proc/sys/net/ipv4/tcp_child_ehash_entries", "1024")
    if old is None:
        raise KsftSkipEx("no table of their own for namespaces")
    defer(write, "/proc/sys/net/ipv4/tcp_child_ehash_entries", old)
    tcp(family)


def out_of_order(family):
    """What waits for a segment that is late."""
    loop = new_loop()
    listener, tx = connect(loop)
    rx, _ = listener.accept()
    defer(rx.close)
    rest(family)

    def delay(what, ms):
        with loop.netns:
            done = subprocess.run(["tc", "qdisc", what, "dev", "lo", "root",
                                   "netem", "delay", f"{ms}ms"],
                                  stderr=subprocess.STDOUT,
                                  stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise KsftSkipEx(f"no netem: {done.stdout}")

    delay("add", 20000)
    tx.send(b"x" * PAYLOAD)
    delay("change", 0)
    for _ in range(4):
        tx.send(b"x" * PAYLOAD)
    port = rx.getsockname()[1]

    def waiting():
        return Answer(family).pages("socket-ofo", local_port=port)

    ksft_busy_wait(lambda: waiting() > 0, deadline=5, comment="all in order")
    ksft_eq({r["pid"] for r in Answer(family).by("socket-ofo", local_port=port)},
            {os.getpid()})


def deferred(family):
    """Packets read on one CPU that another is to free."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise KsftSkipEx("needs two CPUs")
    defer(os.sched_setaffinity, 0, cpus)
    loop = new_loop()
    listener, tx = connect(loop)
    rx, _ = listener.accept()
    defer(rx.close)
    rest(family)
    answer = None
    for _ in range(20):
        os.sched_setaffinity(0, cpus[:1])
        for _ in range(8):
            tx.send(b"x" * PAYLOAD)
        os.sched_setaffinity(0, cpus[1:2])
        time.sleep(0.1)
        rx.recv(8 * PAYLOAD)
        answer = Answer(family)
        if answer.pages("cpu-defer"):
            break
    ksft_ge(answer.pages("cpu-defer", cpu=cpus[0]), 1)
    ksft_eq(answer.pages("cpu-defer"), answer.pages("cpu-defer", cpu=cpus[0]))


# Without this it would let others have the CPU now and then.
FAIR = "/sys/kernel/debug/sched/fair_server/cpu0/runtime"
RT_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
HOG = """
import os, time
os.sched_setaffinity(0, {0})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print(flush=True)
end = time.monotonic() + 4
while time.monotonic() < end:
    pass
"""


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    """Returns what was there; None if there is no such file."""
    try:
        with open(path, "r+", encoding="ascii") as file:
            old = file.read()
            file.seek(0)
            file.write(text)
        return old
    except OSError:
        return None


def wired():
    """Two ports that are wired, of a driver whose XDP frames are pages."""
    done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "pp.py"), "-",
                           "pair", "vmxnet3"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise KsftSkipEx(done.stdout.strip())
    return done.stdout.split()


def ip(*args):
    done = subprocess.run(["ip"] + list(args), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise KsftSkipEx(f"ip {' '.join(args)}: {done.stdout}")


def cpumap(family):
    """Frames that wait for a CPU which has no time for them."""
    if not os.path.exists(CPUMAP):
        raise KsftSkipEx("no XDP program, which needs clang to build")
    if not {0, 1} <= os.sched_getaffinity(0):
        raise KsftSkipEx("needs CPUs 0 and 1")
    tx, rx = wired()
    for dev in (tx, rx):
        ip("link", "set", dev, "up")
        defer(ip, "link", "set", dev, "down")
    ip("link", "set", rx, "xdp", "obj", CPUMAP, "program", "xdp_cpumap")
    defer(ip, "link", "set", rx, "xdp", "off")
    table = xdp_map(rx, "pp_cpus")
    map_op(BPF_MAP_UPDATE_ELEM, table, 256)
    os.close(table)
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    defer(tap.close)
    tap.bind((tx, 0))
    for path, text in ((FAIR, "0"), (RT_RUNTIME, "-1")):
        old = write(path, text)
        if old:
            defer(write, path, old)
    defer(os.sched_setaffinity, 0, os.sched_getaffinity(0))
    os.sched_setaffinity(0, {1})
    frame = b"\xff" * 12 + b"\x88\xb5" + bytes(PAYLOAD // 4)

    # the wire may not be there yet
    def received():
        return int(read(f"/sys/class/net/{rx}/statistics/rx_packets"))

    def arrives():
        before = received()
        tap.send(frame)
        time.sleep(0.1)
        return received() > before

    ksft_busy_wait(arrives, deadline=10, comment="nothing arrives")

    answer = None
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", HOG],
                              stdout=subprocess.PIPE) as hog:
            hog.stdout.readline()
            for _ in range(UNREAD):
                tap.send(frame)
            time.sleep(0.2)
            answer = Answer(family)
            hog.kill()
        if answer.pages("cpumap") >= UNREAD:
            break
    # perhaps with a packet of the kernel's own
    ksft_ge(answer.pages("cpumap", cpu=0), UNREAD)
    ksft_ge(UNREAD + 4, answer.pages("cpumap"))

    # and given up again
    ksft_busy_wait(lambda: not Answer(family).by("cpumap"), deadline=5,
                   comment="the CPU does not receive them")


class Module:
    """The module that leaks."""
    def __init__(self, family, what):
        if not os.path.exists(LEAK):
            os.system("modprobe -q page_pool_leak")
        if not os.path.exists(LEAK):
            raise KsftSkipEx("needs CONFIG_PAGE_POOL_LEAK_TEST")
        old = set(ids(pools(family)))
        self.tell(what)
        defer(self.found)
        self.id, = set(ids(pools(family))) - old

    @staticmethod
    def tell(what):
        with open(LEAK, "w", encoding="ascii") as file:
            file.write(what)

    def found(self):
        try:
            self.tell("return")
        except FileNotFoundError:
            pass


def lost(family, what, scan):
    """Pages that are nowhere."""
    before = boottime()
    module = Module(family, f"{what} 70")
    answer = Answer(family, scan=scan, id=module.id)
    ksft_eq(list(answer.pools), [module.id])
    ksft_eq(answer.sum("held"), 70)
    ksft_eq([(r["kind"], r["pages"], r["shared"]) for r in answer.records],
            [("unknown", 70, 0)])
    time.sleep(1)
    record, = Answer(family, scan=scan, id=module.id).records
    ksft_ge(record["age"], 1000)
    ksft_ge((boottime() - before) * 1000, record["age"])
    # for all pools the same is said of it, and other pools do not matter
    ksft_eq(Answer(family, scan=scan).pages("unknown", id=module.id), 70)
    record, = Answer(family, scan=scan, id=module.id).records
    ksft_ge(record["age"], 1000)

    # nobody who is asked about a pool that is dying has its pages either
    module.tell("destroy")
    record, = Answer(family, scan=True, id=module.id).records
    ksft_eq((record["kind"], record["pages"]), ("unknown", 70))
    ksft_ge(record["age"], 1000)
    record, = Answer(family, id=module.id).records
    ksft_eq((record["kind"], record["pages"]), ("unknown", 70))

    module.tell("return")
    gone(family, module.id)
    ksft_eq(error_of(family.page_pool_holders_get, {"id": module.id}, dump=True),
            errno.ENOENT)


def lost_mapped(family):
    """The pool's own slots tell which pages it has."""
    lost(family, "dma", False)


def lost_plain(family):
    """A pool without slots: its pages are looked for in all of the memory."""
    lost(family, "plain", True)


def not_scanned(family):
    """Else nobody knows since when."""
    module = Module(family, "plain 3")
    record, = Answer(family, id=module.id).records
    ksft_eq((record["kind"], record["pages"]), ("unknown", 3))
    ksft_true("age" not in record)


def refused(family, **request):
    return error_of(family.page_pool_holders_get, request, dump=True)


def who_may(family):
    """Those who may administer the network of the machine."""
    other = NetdevFamily()
    with Nobody():
        ksft_eq(refused(other), errno.EPERM, "reader")
        fresh_socket(other)
        ksft_eq(refused(other), errno.EPERM, "reader and opener")
    ksft_eq(refused(other), errno.EPERM, "opener")
    # of a namespace's only what it is shown
    with Netns():
        fresh_socket(other)
        ksft_eq(other.page_pool_holders_get({}, dump=True), [{"pools": 0}])
        some = [p for p in pools(family) if is_system(p)][0]["id"]
        ksft_eq(refused(other, id=some), errno.ENOENT, "another namespace")
    other.sock.close()

    for wrong in (0, 1 << 32):
        ksft_eq(refused(family, id=wrong), errno.ERANGE, f"id {wrong}")
    ksft_eq(refused(family, id=(1 << 32) - 1), errno.ENOENT)


def child(act):
    """What a process of its own returns."""
    out, back = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            text = json.dumps(act())
        except BaseException as why:        # the tests are those of the parent
            text = json.dumps({"failed": repr(why)})
        os.write(back, text.encode())
        os._exit(0)
    os.close(back)
    with os.fdopen(out, encoding="utf-8") as file:
        said = json.load(file)
    os.waitpid(pid, 0)
    return said


def only_net_admin():
    """Another user, with this capability and no other."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    header = struct.pack("=Ii", LINUX_CAPABILITY_VERSION_3, 0)
    caps = struct.pack("=6I", 1 << CAP_NET_ADMIN, 1 << CAP_NET_ADMIN, 0, 0, 0, 0)
    if libc.capset(header, caps):
        raise OSError(ctypes.get_errno(), "capset")


def own_pid_namespace():
    """Where the processes of the parent do not exist."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWPID):
        raise OSError(ctypes.get_errno(), "unshare")


def hidden(restrict):
    """What a reader who is restricted is told of a socket that he has not open, and
    of one that he has, as well as others.
    """
    loop = new_loop()
    with loop.netns:
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    defer(own.close)
    own.bind(("127.0.0.1", 0))
    family = NetdevFamily()
    defer(lambda: family.sock.close())
    rest(family)
    flood(loop, 1)
    loop.tx.sendto(b"x" * PAYLOAD, own.getsockname())
    theirs = os.fstat(loop.rx.fileno()).st_ino

    def told():
        fresh_socket(family)
        loop.rx.close()
        found = family.page_pool_holders_get({}, dump=True)
        return [[m.get("inode"), m.get("pid"), m.get("comm"), m.get("local-port")]
                for m in found if m.get("kind") == "socket-receive"] + [os.getpid()]

    def look():
        restrict()
        return child(told)

    said = child(look)
    ksft_true(isinstance(said, list), str(said))
    pid = said.pop()
    told_of = {record[0]: record[1:] for record in said}
    # somebody has it open
    ksft_eq(told_of[theirs], [0, None, loop.rx.getsockname()[1]])
    # found first with a process that is hidden
    comm = read("/proc/self/comm").strip()
    ksft_eq(told_of[os.fstat(own.fileno()).st_ino],
            [pid, comm, own.getsockname()[1]])

    # the parent sees both
    for sock in (own, loop.rx):
        record, = Answer(family).by("socket-receive",
                                    inode=os.fstat(sock.fileno()).st_ino)
        ksft_eq((record["pid"], record["comm"]), (os.getpid(), comm))


def other_user(_):
    """CAP_NET_ADMIN is not enough to see whose processes have what open."""
    hidden(only_net_admin)


def other_pids(_):
    """Nor are those told of that are none in the reader's namespace."""
    hidden(own_pid_namespace)


def closed_meanwhile(family):
    """Whoever closes a socket that is looked at has closed it: its port is free."""
    loop = new_loop()
    flood(loop, 1)
    ip("link", "set", "lo", "up")
    stop = threading.Event()
    count = [0, 0]

    def service():
        tx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tx.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1)
        address = ("127.0.0.1", 0)
        while not stop.is_set():
            rx = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
            try:
                rx.bind(address)
            except OSError:
                count[1] += 1
                rx.bind(("127.0.0.1", 0))
            address = rx.getsockname()
            # walked again with each, so that it takes a while
            socks = [rx] + [rx.dup() for _ in range(50)]
            for _ in range(LONG // 64):
                tx.sendto(b"x" * 64, address)
            for sock in socks:
                sock.close()
            count[0] += 1
        tx.close()

    thread = threading.Thread(target=service)
    thread.start()
    looks = 0
    end = time.monotonic() + SECONDS
    try:
        while thread.is_alive() and (time.monotonic() < end or count[0] < 10):
            Answer(family)
            looks += 1
    finally:
        stop.set()
        thread.join()
    ksft_pr(f"{looks} looks, {count[0]} rounds")
    ksft_ge(count[0], 10)
    ksft_eq(count[1], 0, "ports that were not free")


def in_pieces(family):
    """An answer of many messages for a reader who has little room."""
    loop = new_loop()
    rest(family)
    socks = []
    for _ in range(60):
        with loop.netns:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        defer(sock.close)
        sock.bind(("127.0.0.1", 0))
        loop.tx.connect(sock.getsockname())
        loop.tx.send(b"x" * PAYLOAD)
        socks.append(os.fstat(sock.fileno()).st_ino)
    small = small_family()
    answer = Answer(small)
    small.sock.close()
    ksft_eq(sorted(r["inode"] for r in answer.by("socket-receive")), sorted(socks))


def moving(family):
    """Whatever the traffic does, an answer is never at odds with itself."""
    loop = new_loop()
    listener, tx = connect(loop)
    rx, _ = listener.accept()
    defer(rx.close)
    stop = threading.Event()
    count = [0, 0]

    def send():
        while not stop.is_set():
            flood(loop, UNREAD)
            tx.send(b"x" * PAYLOAD)
            count[0] += 1

    def receive():
        rx.settimeout(0.1)
        loop.rx.settimeout(0.1)
        while not stop.is_set():
            try:
                for _ in range(UNREAD):
                    loop.rx.recv(65536)
                rx.recv(PAYLOAD)
                count[1] += 1
            except TimeoutError:
                pass

    threads = [threading.Thread(target=send), threading.Thread(target=receive)]
    for thread in threads:
        thread.start()
    looks, seen = 0, 0
    end = time.monotonic() + SECONDS
    try:
        while looks < 5 or time.monotonic() < end:
            answer = Answer(family, scan=looks % 4 == 0)
            seen += answer.pages("socket-receive") > 0
            looks += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    ksft_pr(f"{looks} looks, {count} rounds, {seen} times pages found")
    ksft_true(seen, "some pages were found")


def main():
    run(unread, long_queue, many_sockets, shared, tcp, tcp_own_hash, out_of_order,
        deferred, cpumap, lost_mapped, lost_plain, not_scanned, who_may, other_user,
        other_pids, closed_meanwhile, in_pieces, moving)


if __name__ == "__main__":
    main()
