# SPDX-License-Identifier: GPL-2.0
"""
What the tests of faults and races share: two ends with a wire between them
that can be taken away at any moment, traffic that survives it, and what has to
be true when it is over.
"""

import ctypes
import errno
import os
import re
import select
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pp  # noqa: E402

DEBUG = "/sys/kernel/debug"
ADDR = ("192.0.2.1", "192.0.2.2")
# One port is read by a task, one by nobody, at one nobody listens. XDP programs
# of others leave ports below 40000 alone.
READ_PORT, HOARD_PORT, DEAD_PORT = 30001, 30002, 30003

ETHTOOL_SRINGPARAM = 0x11
ETHTOOL_GCHANNELS = 0x3c
ETHTOOL_SCHANNELS = 0x3d
SIOCSIFMTU = 0x8922
SIOCGIFHWADDR = 0x8927
SIOCSIFNAME = 0x8923
SIOCSIFADDR = 0x8916
RTM_NEWLINK = 16
RTM_SETLINK = 19
NLM_F_CREATE = 0x600        # and not if it is there
IFLA_IFNAME = 3
IFLA_LINKINFO = 18
IFLA_INFO_KIND = 1
IFLA_INFO_DATA = 2
IFLA_NET_NS_FD = 28
IFLA_NUM_TX_QUEUES = 31
IFLA_NUM_RX_QUEUES = 32
VETH_INFO_PEER = 1
MS_BIND = 0x1000
MNT_DETACH = 2
IFLA_XDP_FD = 1
IFLA_XDP_FLAGS = 3
XDP_SKB, XDP_DRV = 2, 4
NLA_F_NESTED = 0x8000
BPF_PROG_LOAD = 5
BPF_PROG_TYPE_XDP = 6
BPF_F_XDP_HAS_FRAGS = 1 << 5
XDP_VERDICTS = {"drop": 1, "pass": 2, "tx": 3}
SO_RCVBUFFORCE = 33
KSFT_SKIP = 4

Failed, Skipped = pp.Failed, pp.Skipped
wait_until = pp.wait_until


# -------------------------------------------------------------------- TAP

BAD_LOG = re.compile(
    "WARNING|BUG|Oops|general protection|lockdep|KASAN|UBSAN|DMA-API"
    "|refcount_t|[Bb]ad page|page_pool.*(stalled|inflight)|violation"
    "|NETDEV WATCHDOG|unregister_netdevice: waiting")


def last_line(why):
    """where it happened"""
    where = why.__traceback__
    while where.tb_next:
        where = where.tb_next
    return f"{where.tb_lineno} of {os.path.basename(where.tb_frame.f_code.co_filename)}"


class Tap:
    """results, one for each case, and the kernel log since the start"""

    def __init__(self, planned):
        if os.geteuid():
            self.skip_all("needs root")
        self.planned = planned
        self.count = self.failed = self.ran = 0
        self.log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.log, 0, os.SEEK_END)
        print(f"TAP version 13\n1..{planned + 1}", flush=True)

    @staticmethod
    def skip_all(why):
        """nothing can run here"""
        print(f"TAP version 13\n1..0 # SKIP {why}")
        sys.exit(KSFT_SKIP)

    def case(self, name, func, *args):
        """one case; what it returns goes with its result"""
        self.count += 1
        try:
            said = func(*args)
        except Skipped as why:
            print(f"ok {self.count} {name} # SKIP {why}", flush=True)
            return False
        except (Failed, OSError) as why:
            for line in f"{type(why).__name__}: {why}".splitlines():
                print(f"# {line}")
            print(f"# line {last_line(why)}")
            print(f"not ok {self.count} {name}", flush=True)
            self.failed += 1
            return False
        self.ran += 1
        print(f"ok {self.count} {name}" + (f" ({said})" if said else ""), flush=True)
        return True

    def skip(self, name, why):
        """a case that cannot run here"""
        self.count += 1
        print(f"ok {self.count} {name} # SKIP {why}", flush=True)

    def clean(self):
        """the kernel did not complain"""
        bad = []
        while True:
            try:
                line = os.read(self.log, 8192).decode(errors="replace")
            except BlockingIOError:
                break
            except BrokenPipeError:     # the oldest lines were overwritten
                continue
            line = line.partition(";")[2].split("\n")[0]
            if BAD_LOG.search(line) and not line.startswith("DMA-API: dma_debug_entry pool"):
                bad.append(line)
        if bad:
            raise Failed("\n".join(bad[:20]))

    def finish(self):
        """the last case; does not return"""
        self.case("log is clean", self.clean)
        if self.count != self.planned + 1:
            print(f"# planned {self.planned + 1} cases, ran {self.count}")
            self.failed += 1
        if self.failed:
            sys.exit(1)
        sys.exit(0 if self.ran > 1 else KSFT_SKIP)


# ------------------------------------------------------------------ files

def write(path, value):
    """a setting of the kernel"""
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def read(path):
    """a line of the kernel's"""
    with open(path, encoding="ascii") as file:
        return file.read().strip()


class Inside:
    """with Inside(NAMESPACE): this process is there"""

    def __init__(self, name):
        self.name = name
        self.back = None

    def __enter__(self):
        self.back = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        pp.enter(self.name)

    def __exit__(self, *_):
        pp.LIBC.setns(self.back, pp.CLONE_NEWNET)
        os.close(self.back)


# -------------------------------------------------- what one does to a device

def set_ring(dev, size):
    """ethtool -G DEV rx SIZE"""
    data = bytearray(pp.ethtool(dev, struct.pack("=I", pp.ETHTOOL_GRINGPARAM) + bytes(32)))
    struct.pack_into("=I", data, 0, ETHTOOL_SRINGPARAM)
    struct.pack_into("=I", data, 20, size)
    pp.ethtool(dev, data)


def set_channels(dev, rx=None, tx=None):
    """ethtool -L DEV rx RX tx TX"""
    data = bytearray(pp.ethtool(dev, struct.pack("=I", ETHTOOL_GCHANNELS) + bytes(32)))
    struct.pack_into("=I", data, 0, ETHTOOL_SCHANNELS)
    for place, count in ((20, rx), (24, tx)):
        if count:
            struct.pack_into("=I", data, place, count)
    pp.ethtool(dev, data)


def set_mtu(dev, size):
    """ip link set DEV mtu SIZE"""
    pp.ifreq(dev, SIOCSIFMTU, struct.pack("=I", size))


def set_threaded(dev, on):
    """NAPI in threads; not every device has NAPI all the time"""
    try:
        write(f"/sys/class/net/{dev}/threaded", int(on))
    except FileNotFoundError:
        pass


def mac(dev):
    """its address"""
    return pp.ifreq(dev, SIOCGIFHWADDR, b"")[2:8]


def load_xdp(verdict):
    """a program that says only that"""
    code = struct.pack("=BBhi", 0xb7, 0, 0, XDP_VERDICTS[verdict]) + \
        struct.pack("=BBhi", 0x95, 0, 0, 0)
    buf = ctypes.create_string_buffer(code, len(code))
    lic = ctypes.create_string_buffer(b"GPL")
    # union bpf_attr: type, insns, their address, licence; flags at 44
    data = bytearray(struct.pack("=IIQQ", BPF_PROG_TYPE_XDP, 2, ctypes.addressof(buf),
                                 ctypes.addressof(lic))) + bytes(104)
    struct.pack_into("=I", data, 44, BPF_F_XDP_HAS_FRAGS)
    return pp.bpf(BPF_PROG_LOAD, bytes(data))


# Starting a program takes longer on an emulated machine than what it does.

def nla(kind, *data):
    """a netlink attribute"""
    data = b"".join(x if isinstance(x, bytes) else struct.pack("=i", x) for x in data)
    head = struct.pack("=HH", 4 + len(data), kind)
    return (head + data).ljust((4 + len(data) + 3) & ~3, b"\0")


def link(request, index, *data, flags=0):
    """a message to rtnetlink"""
    with pp.netlink(pp.NETLINK_ROUTE) as sock:
        for _ in pp.ask(sock, request, ifinfo(index) + b"".join(data), 4 | flags):
            pass


def ifinfo(index=0):
    """how such a message begins"""
    return struct.pack("=BxHiII", 0, 0, index, 0, 0)


def set_xdp(dev, prog, mode=XDP_DRV):
    """attach the program, -1: none"""
    link(RTM_SETLINK, pp.index_of(dev),
         nla(pp.IFLA_XDP | NLA_F_NESTED, nla(IFLA_XDP_FD, prog), nla(IFLA_XDP_FLAGS, mode)))


def set_netns(dev, where):
    """ip link set DEV netns WHERE"""
    link(RTM_SETLINK, pp.index_of(dev), nla(IFLA_NET_NS_FD, where))


def set_address(dev, addr):
    """as ifconfig does; the class of what documentation uses has 24 bits"""
    pp.ifreq(dev, SIOCSIFADDR, struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(addr)))


def add_veth(dev, peer, where, queues):
    """a pair, the other end in another namespace"""
    same = nla(IFLA_NUM_TX_QUEUES, queues) + nla(IFLA_NUM_RX_QUEUES, queues)
    far = nla(IFLA_IFNAME, peer.encode() + b"\0") + nla(IFLA_NET_NS_FD, where)
    link(RTM_NEWLINK, 0, nla(IFLA_IFNAME, dev.encode() + b"\0"), same,
         nla(IFLA_LINKINFO, nla(IFLA_INFO_KIND, b"veth"),
             nla(IFLA_INFO_DATA, nla(VETH_INFO_PEER, ifinfo(), far, same))),
         flags=NLM_F_CREATE)


def mount(what, where, flags):
    """a mount without a file system of its own"""
    if pp.LIBC.mount(what.encode(), where.encode(), None, flags, None):
        raise OSError(ctypes.get_errno(), "mount")


def add_netns(name):
    """ip netns add NAME"""
    os.makedirs("/run/netns", exist_ok=True)
    path = "/run/netns/" + name
    os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o444))
    with Inside("-"):
        if pp.LIBC.unshare(pp.CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        mount("/proc/thread-self/ns/net", path, MS_BIND)


def del_netns(name):
    """ip netns del NAME"""
    path = ("/run/netns/" + name).encode()
    pp.LIBC.umount2(path, MNT_DETACH)
    os.unlink(path)


# ---------------------------------------------------------------- traffic

def checksum(data):
    """of an IP header"""
    total = sum(struct.unpack("!10H", data))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def frame(dst, src, from_addr, to_addr, port, size):
    """an Ethernet frame with a datagram"""
    size = max(size, 60) - 42
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, 0, 0x4000, 64, 17, 0,
                       socket.inet_aton(from_addr), socket.inet_aton(to_addr))
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return dst + src + b"\x08\0" + head + \
        struct.pack("!HHHH", 30000, port, 8 + size, 0) + b"\x5a" * size


class Task:
    """a process in a namespace; dies with its parent"""

    def __init__(self, ns, func, *args):
        self.pid = os.fork()
        if self.pid:
            return
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            pp.LIBC.prctl(1, signal.SIGKILL)    # PR_SET_PDEATHSIG
            for sock in Ends.unread:
                sock.close()
            pp.enter(ns)
            func(*args)
        except BaseException as why:    # pylint: disable=broad-except
            print(f"# {func.__name__}: {type(why).__name__}: {why}", flush=True)
        finally:
            os._exit(1)

    def stop(self):
        """and wait until its sockets are closed"""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0


def flood(dev, frames, pause):
    """send the frames over and over, whatever happens to the device"""
    sock = None
    nr = 0
    while True:
        try:
            if sock is None:
                sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                sock.bind((dev, 0))
            for _ in range(16):
                sock.send(frames[nr % len(frames)])
                nr += 1
            time.sleep(pause)
        except OSError as why:
            if why.errno in (errno.ENODEV, errno.ENXIO):
                sock.close()
                sock = None
            time.sleep(0.002)


def reader(addr):
    """read what comes to READ_PORT"""
    sock = pp.udp_socket(addr)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("", READ_PORT))
    while True:
        sock.recv(1 << 16)


# ------------------------------------------------------------------- ends

class Ends:
    """
    Two devices with a wire between them, each in a namespace of its own:
    veth, or two ports of a driver.
    """

    made = 0
    unread = []     # sockets of all hoards: a process that has one keeps its pages

    def __init__(self, driver, queues=1):
        self.driver = driver
        self.queues = queues
        Ends.made += 1
        self.ns = [f"ppf{os.getpid()}-{Ends.made}{x}" for x in "ab"]
        self.dev = [None, None]
        self.tasks = []
        self.hoards = []
        self.pci = [None, None]
        for i in (0, 1):
            self.make_netns(i)
        try:
            if driver == "veth":
                self.make_veth()
            else:
                self.take_ports()
        except BaseException:
            self.close()
            raise

    def make_netns(self, i):
        """the namespace of an end"""
        add_netns(self.ns[i])
        with self.inside(i):
            pp.cmd_prepare()
            pp.set_up("lo", True)

    def make_veth(self):
        """a pair"""
        self.dev = ["ppfa", "ppfb"]
        there = os.open("/run/netns/" + self.ns[1], os.O_RDONLY)
        with self.inside(0):
            add_veth(*self.dev, there, self.queues)
        os.close(there)
        for i in (0, 1):
            with self.inside(i):
                set_address(self.dev[i], ADDR[i])
            self.up(i)

    def take_ports(self):
        """two of a driver that are idle; wired to each other, as all are here"""
        names = [name for name in pp.ports_of(self.driver) if not pp.flags(name) & pp.IFF_UP]
        if len(names) < 2:
            raise Skipped(f"no two idle {self.driver} ports")
        for i in (0, 1):
            self.pci[i] = os.path.basename(os.path.realpath(
                f"/sys/class/net/{names[i]}/device"))
            self.take(i)

    def take(self, i):
        """a port into its namespace, up; by its place on the bus, since names change"""
        where = f"/sys/bus/pci/devices/{self.pci[i]}/net"
        if not wait_until(10, lambda: os.path.isdir(where) and os.listdir(where)):
            raise Failed(f"{self.pci[i]} has no interface")
        self.dev[i] = os.listdir(where)[0]
        self.give(i)

    def give(self, i):
        """the port, which is in the first namespace, to its end"""
        there = os.open("/run/netns/" + self.ns[i], os.O_RDONLY)
        set_netns(self.dev[i], there)
        os.close(there)
        with self.inside(i):
            set_address(self.dev[i], ADDR[i])
        self.up(i)

    def inside(self, i):
        """this process is at that end"""
        return Inside(self.ns[i])

    def up(self, i, on=True):
        """ip link set up or down"""
        with self.inside(i):
            pp.set_up(self.dev[i], on)

    def packets(self, i):
        """received at that end"""
        with self.inside(i):
            return pp.rx_packets(self.dev[i])

    def linked(self):
        """wait until each end hears the other"""
        for i in (0, 1):
            with self.inside(i):
                if not wait_until(20, lambda i=i: pp.carrier(self.dev[i])):
                    raise Failed(f"{self.dev[i]} has no carrier")
        with self.inside(0):
            if not wait_until(20, lambda: pp.answers(ADDR[1])):
                raise Failed(f"{self.dev[0]} and {self.dev[1]} cannot talk")

    def start(self, size=1000, pause=0.002, ways=(0, 1), hoard=1, read=True):
        """traffic until stop(); so many of eight packets for the socket nobody reads"""
        addrs = []
        for i in (0, 1):
            with self.inside(i):
                addrs.append(mac(self.dev[i]))
        for i in ways:
            ports = [HOARD_PORT] * hoard + [READ_PORT, DEAD_PORT] * 4
            sizes = [size, 60, size, 300, size, size, 128, size]
            frames = [frame(addrs[1 - i], addrs[i], ADDR[i], ADDR[1 - i], port, length)
                      for port, length in zip(ports[:8], sizes)]
            if read:
                self.tasks.append(Task(self.ns[1 - i], reader, ADDR[1 - i]))
            self.tasks.append(Task(self.ns[i], flood, self.dev[i], frames, pause))

    def stop(self):
        """no more traffic"""
        for task in self.tasks[::-1]:
            task.stop()
        self.tasks = []

    def hoard(self, i, room=1 << 24):
        """a socket at that end that nobody reads"""
        with self.inside(i):
            sock = pp.udp_socket(ADDR[i])
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, room)
        sock.bind(("", HOARD_PORT))
        self.hoards.append(sock)
        Ends.unread.append(sock)

    def hoarded(self):
        """each of these sockets has something"""
        return all(select.select([sock], [], [], 0)[0] for sock in self.hoards)

    def release(self):
        """close them"""
        while self.hoards:
            sock = self.hoards.pop()
            Ends.unread.remove(sock)
            sock.close()

    def rate(self, i, seconds=0.5):
        """packets a second at that end, now"""
        count, start = self.packets(i), time.monotonic()
        time.sleep(seconds)
        return (self.packets(i) - count) / (time.monotonic() - start)

    def flows(self, i, least=20):
        """packets arrive at that end"""
        count = self.packets(i)
        if not wait_until(20, lambda: self.packets(i) >= count + least):
            raise Failed(f"{self.dev[i]}: {self.packets(i) - count} packets in 20 s\n" +
                         "\n".join(map(self.numbers, (0, 1))))

    def numbers(self, i):
        """all that the device counts"""
        with self.inside(i):
            dev = self.dev[i]
            return f"{dev} flags {pp.flags(dev):x} mtu {pp.mtu(dev)}: " + " ".join(
                f"{name} {value}" for name, value in pp.ethtool_stats(dev).items() if value)

    def recovers(self, i, former):
        """it is as it was; an emulated machine is never quite steady, nor alone"""
        now = 0
        for _ in range(20):
            now = max(now, self.rate(i))
            if now * 3 >= former:
                return f"{former:.0f}/s before, {now:.0f}/s after"
        raise Failed(f"{former:.0f} packets/s before, {now:.0f} after")

    def adds_up(self, i):
        """
        Idle: the counters say that the descriptors hold what they should. Closed
        connections may have something for some seconds, for which this waits.
        """
        if self.driver != "e1000e":
            return
        with self.inside(i):
            if "alloc_fast" not in pp.counters(self.dev[i]):
                return
            out = capture(pp.cmd_posted_e1000e, self.dev[i])
            try:
                capture(pp.cmd_holds, self.dev[i], out)
                return
            except Failed as why:
                print(f"# {str(why).splitlines()[-1]}; again after traffic", flush=True)
        # a descriptor that got no buffer waits for the next packet
        self.start(hoard=0)
        self.flows(i)
        self.stop()
        with self.inside(i):
            capture(pp.cmd_holds, self.dev[i], out)

    def gone(self, i):
        """down: no pool is left, no page out, nothing mapped"""
        with self.inside(i):
            pp.set_up(self.dev[i], False)
            pp.cmd_free_deferred()
            pp.cmd_no_pools(self.dev[i])
            if pp.counters(self.dev[i]):
                capture(pp.cmd_holds, self.dev[i], "0")
        if self.pci[i]:
            left = mapped_pages(self.pci[i])
            if left:
                raise Failed(f"{len(left)} mappings left: {left[:3]}")

    def rebind(self, i, bound):
        """take the driver away from a port, or give it back"""
        write(f"/sys/bus/pci/drivers/{self.driver}/{'' if bound else 'un'}bind", self.pci[i])

    def close(self):
        """leave nothing, real ports as they were"""
        self.stop()
        self.release()
        for i in (0, 1):
            if self.pci[i] and self.dev[i]:
                try:
                    with self.inside(i):
                        pp.set_up(self.dev[i], False)
                        set_threaded(self.dev[i], 0)
                        set_mtu(self.dev[i], 1500)
                        set_address(self.dev[i], "0.0.0.0")
                        set_netns(self.dev[i], pp.HOME)
                except OSError:
                    pass
        for ns in self.ns:
            try:
                del_netns(ns)
            except OSError:
                pass
        pp.cmd_free_deferred()


def capture(func, *args):
    """what a command of pp.py prints"""
    out, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="ascii")
    said = []
    try:
        sys.stdout.close()
        sys.stdout = Said(said)
        func(*args)
    finally:
        sys.stdout = out
    return "".join(said).strip()


class Said:
    """a file in memory"""

    def __init__(self, said):
        self.write = said.append

    def flush(self):
        """nothing"""


def mapped_pages(pci):
    """
    What is mapped for a device for it to write whole pages to, as
    CONFIG_DMA_API_DEBUG knows it: only a page pool's mappings are like that.
    """
    found = []
    try:
        with open(f"{DEBUG}/dma-api/dump", encoding="ascii") as file:
            for line in file:
                if f" {pci} " in line and "DMA_FROM_DEVICE" in line:
                    found.append(line.strip())
    except OSError:
        pass
    return found


def pool_ids():
    """of all pools that this namespace shows"""
    return {pool["id"] for pool in pp.pools()}


def no_new_pools(before, seconds=10):
    """all pools that came since are gone; devices may be in other namespaces"""
    def left():
        return [pool for pool in pp.pools() if pool["id"] not in before]

    def none():
        pp.softirq()
        return not left()
    if not wait_until(seconds, none, 0.05):
        raise Failed("left: " + "; ".join(map(pp.show, left())))


# ----------------------------------------------------------------- faults

def spared():
    """
    Settings of a fault that spare the kernel's debugging of DMA: the page that it
    is to track is there, and where it has no memory for that it switches itself
    off, for good.
    """
    where = {}
    with open("/proc/kallsyms", encoding="ascii") as file:
        for line in file:
            addr, _, name = line.split()[:3]
            where.setdefault(name, int(addr, 16))
    first = [where[name] for name in ("add_dma_entry", "debug_dma_map_page") if name in where]
    if not first:
        return {}
    after = min(addr for addr in where.values() if addr > max(first))
    return {"stacktrace-depth": 32, "reject-start": hex(min(first)), "reject-end": hex(after)}


class Fault:
    """
    A fault attribute of debugfs, set for as long as the block; hits says how
    often it struck.
    """
    MANY = 1000000000

    def __init__(self, name, percent, func=None, **settings):
        self.dir = f"{DEBUG}/{name}"
        if not os.path.isdir(self.dir):
            raise Skipped(f"no {name}")
        self.func = func
        self.percent = percent
        self.settings = {"task-filter": "N", "interval": 1, "space": 0, "verbose": 0,
                         **settings}
        self.hits = 0

    def __enter__(self):
        if self.func:
            if self.func not in read(f"{DEBUG}/error_injection/list"):
                raise Skipped(f"{self.func} cannot be made to fail")
            write(f"{self.dir}/inject", self.func)
        # without CONFIG_FAULT_INJECTION_STACKTRACE_FILTER nothing is spared
        filters = spared() if os.path.exists(f"{self.dir}/reject-start") else {}
        for name, value in {**filters, **self.settings}.items():
            write(f"{self.dir}/{name}", value)
        write(f"{self.dir}/times", self.MANY)
        write(f"{self.dir}/probability", self.percent)
        return self

    def struck(self):
        """how often it did so far"""
        return self.MANY - int(read(f"{self.dir}/times"))

    def __exit__(self, *_):
        self.hits = self.struck()
        write(f"{self.dir}/probability", 0)
        write(f"{self.dir}/times", 0)
        if self.func:
            write(f"{self.dir}/inject", "!" + self.func)


class Bursts(Fault):
    """
    All fail, but only half of the time: where some do, the kernel's debugging
    of DMA may get a page to track, but no memory for it, and switches itself off.
    """

    def __enter__(self):
        super().__enter__()
        self.task = Task("-", self.toggle)
        return self

    def toggle(self):
        """on and off until stopped"""
        while True:
            time.sleep(0.03)
            write(f"{self.dir}/probability", 0)
            time.sleep(0.03)
            write(f"{self.dir}/probability", self.percent)

    def __exit__(self, *args):
        self.task.stop()
        super().__exit__(*args)


def choose_slabs():
    """all but what that debugging needs, for the same reason"""
    for name in os.listdir("/sys/kernel/slab"):
        try:
            write(f"/sys/kernel/slab/{name}/failslab", int(name != "radix_tree_node"))
        except OSError:     # several caches in one, unless there is slab_nomerge
            pass
    write(f"{DEBUG}/failslab/cache-filter", "Y")


def slab_fails(percent):
    """allocations of small memory that may not sleep"""
    choose_slabs()
    return Fault("failslab", percent, **{"ignore-gfp-wait": "Y"})


def pages_fail():
    """allocations of pages that may not sleep"""
    return Bursts("fail_page_alloc", 100, **{"ignore-gfp-wait": "Y", "min-order": 0})


def function_fails(func, percent):
    """a function that has an injection point"""
    return Fault("fail_function", percent, func)


class FailNth:
    """
    Each allocation that a call makes fails in turn, of whatever kind. The call
    must not allocate anything by itself between the two system calls.
    """

    def __init__(self):
        try:
            self.file = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
            for name in ("failslab", "fail_page_alloc"):
                write(f"{DEBUG}/{name}/ignore-gfp-wait", "N")
                write(f"{DEBUG}/{name}/verbose", 0)
            write(f"{DEBUG}/fail_page_alloc/min-order", 0)
            choose_slabs()
        except FileNotFoundError as why:
            raise Skipped("no fault injection") from why

    def each(self, call, after, most=1000):
        """
        call() until it got through without a fault, after(ok) after each time;
        how many faults there were, and how many it noticed
        """
        noticed = 0
        for nth in range(1, most):
            os.pwrite(self.file, b"%d" % nth, 0)
            try:
                call()
                okay = True
            except OSError:
                okay = False
            left = int(os.pread(self.file, 16, 0))
            os.pwrite(self.file, b"0", 0)
            noticed += not okay
            after(okay)
            if left:
                return nth - 1, noticed
        return most - 1, noticed

    def close(self):
        """no more"""
        os.close(self.file)
        for name in ("failslab", "fail_page_alloc"):
            write(f"{DEBUG}/{name}/ignore-gfp-wait", "Y")


# -------------------------------------------------------------------- cases

def run_cases(*cases):
    """names and functions, each called with a pair of e1000e whose receiver has
    a short ring: a pool that has little parked; does not return"""
    try:
        ends = Ends("e1000e")
    except Skipped as why:
        Tap.skip_all(why)
    receiver = 1
    try:
        with ends.inside(receiver):
            ring = pp.ring_size(ends.dev[receiver])
            set_ring(ends.dev[receiver], 64)
        tap = Tap(len(cases) + 1)
        for name, func in cases:
            tap.case(name, func, ends)
        tap.case("the interface goes down and leaves nothing", ends.gone, receiver)
        with ends.inside(receiver):
            set_ring(ends.dev[receiver], ring)
    finally:
        ends.close()
    tap.finish()
