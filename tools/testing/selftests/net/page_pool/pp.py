#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The hands of the page pool tests: reads counters, asks netdev genetlink for
pools, looks into BPF maps, sends datagrams and waits for conditions.

One process serves a whole test, since starting a program is what costs most
on an emulated machine. It reads commands from stdin, one a line: the network
namespace to act in ("-" is the one it was started in), the name of the
command, its arguments. The answer is any number of lines and then one with
EOT and the exit status. Needs nothing but the standard library.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)


class Failed(Exception):
    """a check that did not hold, with what to say about it"""


class Skipped(Exception):
    """something that this machine does not have"""


def wait_until(seconds, cond, pause=0.01):
    """poll a condition; its last value"""
    end = time.monotonic() + seconds
    while True:
        value = cond()
        if value or time.monotonic() >= end:
            return value
        time.sleep(pause)


# -------------------------------------------------------------- namespaces

CLONE_NEWNET = 0x40000000
HOME = os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(name):
    """make a network namespace the one of this process"""
    fd = HOME if name == "-" else os.open("/run/netns/" + name, os.O_RDONLY)
    if LIBC.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
    if fd != HOME:
        os.close(fd)


def proc_net(name):
    """a file of /proc/net in the current namespace"""
    with open("/proc/thread-self/net/" + name, encoding="ascii") as file:
        return file.read()


def run(*args):
    """run a program in the current namespace"""
    return os.spawnvp(os.P_WAIT, args[0], args)


# ----------------------------------------------------------------- netlink

NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
NLM_F_DUMP = 0x300
NLMSG_ERROR = 2
NLMSG_DONE = 3
NETLINK_ROUTE = 0
NETLINK_GENERIC = 16
RTM_GETLINK = 18
IFLA_XDP = 43
IFLA_XDP_PROG_ID = 4
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2

CMD_PAGE_POOL_GET = 5
POOL_ATTRS = {1: "id", 2: "ifindex", 3: "napi-id", 4: "inflight",
              5: "inflight-mem", 6: "detach-time"}


def attrs(data):
    """split netlink attributes into (type, payload)"""
    off = 0
    while off + 4 <= len(data):
        length, kind = struct.unpack_from("=HH", data, off)
        if length < 4:
            break
        yield kind & 0x3fff, data[off + 4:off + length]
        off += (length + 3) & ~3


def uint(data):
    """netlink's u32, u64 and 'uint'"""
    return int.from_bytes(data, sys.byteorder)


def ask(sock, kind, payload, flags=NLM_F_ACK):
    """one netlink request; yields the bodies of the answers"""
    sock.send(struct.pack("=IHHII", 16 + len(payload), kind,
                          NLM_F_REQUEST | flags, 1, 0) + payload)
    while True:
        data = sock.recv(1 << 17)
        off = 0
        while off + 16 <= len(data):
            length, got = struct.unpack_from("=IH", data, off)
            body = data[off + 16:off + length]
            off += (length + 3) & ~3
            if got in (NLMSG_ERROR, NLMSG_DONE):
                err = struct.unpack_from("=i", body)[0] if body else 0
                if err:
                    raise OSError(-err, os.strerror(-err))
                return
            yield body


def netlink(proto):
    """a netlink socket in the current namespace"""
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, proto)
    sock.settimeout(10)
    return sock


def pools(ifindex=None):
    """page pools that the current namespace lists, or those of a device"""
    out = []
    with netlink(NETLINK_GENERIC) as sock:
        family = None
        name = b"netdev\0\0"
        req = struct.pack("=BBHHH", CTRL_CMD_GETFAMILY, 2, 0, 4 + 7,
                          CTRL_ATTR_FAMILY_NAME) + name
        try:
            for body in ask(sock, GENL_ID_CTRL, req):
                for kind, data in attrs(body[4:]):
                    if kind == CTRL_ATTR_FAMILY_ID:
                        family = uint(data)
        except FileNotFoundError as exc:
            raise Skipped("no netdev genetlink family") from exc
        for body in ask(sock, family,
                        struct.pack("=BBH", CMD_PAGE_POOL_GET, 1, 0),
                        NLM_F_DUMP):
            pool = {POOL_ATTRS[k]: uint(v) for k, v in attrs(body[4:])
                    if k in POOL_ATTRS}
            if ifindex is None or pool.get("ifindex") == ifindex:
                out.append(pool)
    return out


def show(pool):
    """a pool on one line"""
    return " ".join(f"{key}={value}" for key, value in pool.items())


def index_of(dev):
    """interface name or number to number"""
    return int(dev) if dev.isdigit() else socket.if_nametoindex(dev)


def cmd_pools(dev=None):
    """pools [DEV]"""
    for pool in pools(index_of(dev) if dev else None):
        print(show(pool))


def cmd_listed(dev):
    """listed DEV: netlink knows a pool of the device that is in use"""
    if not [p for p in pools(index_of(dev)) if "detach-time" not in p]:
        raise Skipped(f"netlink lists no pool of {dev}")


def cmd_no_pools(dev):
    """no-pools DEV: netlink lists none of the device, dying or alive"""
    index = index_of(dev)
    wait_until(20, lambda: not pools(index))
    left = pools(index)
    if left:
        raise Failed("left: " + "; ".join(map(show, left)))


def cmd_none_dying(dev):
    """none-dying DEV: every pool of the device that is listed is in use"""
    index = index_of(dev)

    def dying():
        return [p for p in pools(index) if "detach-time" in p]
    wait_until(20, lambda: not dying())
    left = dying()
    if left:
        raise Failed("dying: " + "; ".join(map(show, left)))


# ---------------------------------------------------------------- ethtool

SIOCETHTOOL = 0x8946
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
SIOCGIFMTU = 0x8921
IFF_UP = 0x1
IFF_RUNNING = 0x40
ETHTOOL_GRINGPARAM = 0x10
ETHTOOL_GSTRINGS = 0x1b
ETHTOOL_GSTATS = 0x1d
ETHTOOL_GSSET_INFO = 0x37
ETH_SS_STATS = 1
ETH_GSTRING_LEN = 32


def ifreq(dev, request, data):
    """an ioctl on an interface; data is what follows the name"""
    buf = bytearray(struct.pack("16s24s", dev.encode(), data))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, request, buf)
    return bytes(buf[16:])


def ethtool(dev, data):
    """an ethtool ioctl on a buffer that it changes"""
    buf = ctypes.create_string_buffer(bytes(data), len(data))
    ifreq(dev, SIOCETHTOOL, struct.pack("P", ctypes.addressof(buf)))
    return buf.raw


def ethtool_stats(dev):
    """what ethtool -S shows"""
    try:
        info = ethtool(dev, struct.pack("=IIQI", ETHTOOL_GSSET_INFO, 0,
                                        1 << ETH_SS_STATS, 0))
        mask, count = struct.unpack_from("=8xQI", info)
        if not mask or not count:
            return {}
        names = ethtool(dev, struct.pack("=III", ETHTOOL_GSTRINGS,
                                         ETH_SS_STATS, count) +
                        bytes(ETH_GSTRING_LEN * count))
        values = ethtool(dev, struct.pack("=II", ETHTOOL_GSTATS, count) +
                         bytes(8 * count))
    except OSError as exc:
        if exc.errno in (errno.EOPNOTSUPP, errno.ENODEV):
            return {}
        raise
    out = {}
    for i in range(count):
        name = names[12 + i * ETH_GSTRING_LEN:12 + (i + 1) * ETH_GSTRING_LEN]
        out[name.split(b"\0")[0].decode()] = \
            struct.unpack_from("=Q", values, 8 + 8 * i)[0]
    return out


def counters(dev):
    """the page pool counters, without their prefix"""
    return {name[6:]: value for name, value in ethtool_stats(dev).items()
            if name.startswith("rx_pp_")}


def out_sum(cnt):
    """pages handed out"""
    return sum(cnt.get("alloc_" + name, 0)
               for name in ("fast", "slow", "slow_ho", "refill"))


def again_sum(cnt):
    """pages put for the last time and kept for another use"""
    return cnt.get("recycle_cached", 0) + cnt.get("recycle_ring", 0)


def put_sum(cnt):
    """pages put for the last time"""
    return again_sum(cnt) + cnt.get("recycle_ring_full", 0) + \
        sum(value for name, value in cnt.items()
            if name.startswith("recycle_released_"))


def held(dev):
    """pages that were handed out and have not come home"""
    cnt = counters(dev)
    return out_sum(cnt) - put_sum(cnt)


SNAPS = {}


def cmd_snap(name, dev):
    """snap NAME DEV: remember the counters"""
    SNAPS[name] = counters(dev)


def delta(old, new, what):
    """how much a counter, or out, put, again, grew between two snaps"""
    sums = {"out": out_sum, "put": put_sum, "again": again_sum}
    func = sums.get(what, lambda cnt: cnt.get(what, 0))
    return func(SNAPS[new]) - func(SNAPS[old])


def cmd_delta(old, new, what):
    """delta OLD NEW COUNTER|out|put|again"""
    print(delta(old, new, what))


def changes(old, new):
    """what moved between two snaps"""
    return "\n".join(f"{name} {SNAPS[old].get(name)} -> {value}"
                     for name, value in SNAPS[new].items()
                     if SNAPS[old].get(name) != value)


def cmd_moved(old, new, want):
    """moved OLD NEW N: at least N pages were handed out, and came back"""
    out = delta(old, new, "out")
    put = delta(old, new, "put")
    if out < int(want) or put < int(want):
        raise Failed(f"{changes(old, new)}\nout {out}, put {put}")
    print(f"out {out}, put {put}")


def cmd_recycled(old, new, percent):
    """recycled OLD NEW PERCENT: share of the put pages that is used again"""
    put = delta(old, new, "put")
    again = delta(old, new, "again")
    if not put or again * 100 < put * int(percent):
        raise Failed(f"{changes(old, new)}\n{again} of {put} pages")
    print(f"{again * 100 / put:.1f} % of {put}")


def cmd_never_less(old, new):
    """never-less OLD NEW: no counter went back, none is gone"""
    bad = [f"{name}: {value} -> {SNAPS[new].get(name)}"
           for name, value in SNAPS[old].items()
           if SNAPS[new].get(name, -1) < value]
    if bad or not SNAPS[old]:
        raise Failed("; ".join(bad) or "no counters")


def cmd_has_counters(dev):
    """has-counters DEV"""
    if "alloc_fast" not in counters(dev):
        raise Skipped(f"{dev} shows no rx_pp_ counters")


def softirq():
    """
    One datagram over loopback on each CPU. A CPU frees skbs that others
    handed back to it only in its next RX softirq; once a test's traffic has
    stopped that may be a long time off.
    """
    allowed = os.sched_getaffinity(0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.settimeout(1)
        for cpu in allowed:
            os.sched_setaffinity(0, {cpu})
            sock.sendto(b"x", sock.getsockname())
            try:
                sock.recv(1)
            except socket.timeout:
                pass
    os.sched_setaffinity(0, allowed)


def cmd_free_deferred():
    """free-deferred: have all CPUs free the skbs that wait for them"""
    softirq()


def cmd_holds(dev, pages):
    """
    holds DEV N|MIN-MAX: the witness. Once nothing moves, exactly so many
    pages are out; the number comes from somewhere else than the counters.
    """
    low, _, high = pages.partition("-")
    want = range(int(low), int(high or low) + 1)

    def right():
        if held(dev) in want:
            return True
        softirq()
        return False
    wait_until(30, right, 0.05)
    now = held(dev)
    if now not in want:
        raise Failed("\n".join(f"{k} {v}" for k, v in counters(dev).items()) +
                     f"\nheld {now}, expected {pages}")
    print(f"held {now}")


def cmd_stat(dev, name):
    """stat DEV NAME: a value of ethtool -S"""
    print(ethtool_stats(dev).get(name, 0))


def ring_size(dev):
    """descriptors of a receive ring in use now"""
    ring = ethtool(dev, struct.pack("=I", ETHTOOL_GRINGPARAM) + bytes(32))
    return struct.unpack_from("=9I", ring)[5]


def cmd_ring(dev):
    """ring DEV"""
    print(ring_size(dev))


def mtu(dev):
    """what ip link shows"""
    return struct.unpack_from("=I", ifreq(dev, SIOCGIFMTU, b""))[0]


def cmd_mtu(dev):
    """mtu DEV"""
    print(mtu(dev))


def cmd_posted_e1000e(dev):
    """
    posted-e1000e DEV: pages in the receive ring of an idle e1000e. The ring
    never posts its last descriptor, but that may have kept the buffer of a
    packet that was copied. A descriptor has one page, or with packet split
    (MTU above 1500 and a page size that three of hold it) as many pages as
    the MTU needs and a small buffer for headers, several of which may share
    a page that the pool has not cut up yet.
    """
    ring = ring_size(dev)
    size = os.sysconf("SC_PAGESIZE")
    pages = -(-mtu(dev) // size)
    if mtu(dev) > 1500 and size <= 16384 and pages <= 3:
        print(f"{(ring - 1) * pages + (ring - 1) * 512 // size}-"
              f"{ring * (pages + 1) + 1}")
    elif mtu(dev) <= 1500 and size == 4096:
        print(f"{ring - 1}-{ring}")
    else:
        # how many buffers share a page depends on its size
        print(f"{(ring - 1) * 2048 // size}-{ring + 1}")


def flags(dev):
    """interface flags"""
    return struct.unpack_from("=H", ifreq(dev, SIOCGIFFLAGS, b""))[0]


def set_up(dev, up):
    """ip link set up or down"""
    new = flags(dev) | IFF_UP if up else flags(dev) & ~IFF_UP
    ifreq(dev, SIOCSIFFLAGS, struct.pack("=H", new & 0xffff))


def carrier(dev):
    """is there a link?"""
    return bool(flags(dev) & IFF_RUNNING)


# ---------------------------------------------------------------- traffic

def udp_socket(addr):
    """a datagram socket of the family of addr"""
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    return socket.socket(family, socket.SOCK_DGRAM)


def blast(addr, port, count, size, pause=0):
    """send datagrams, pause microseconds after every 16"""
    payload = b"\x5a" * size
    with udp_socket(addr) as sock:
        for i in range(count):
            try:
                sock.sendto(payload, (addr, port))
            except OSError as exc:
                # a full queue, or an answer that nobody listens
                if exc.errno not in (errno.ENOBUFS, errno.EAGAIN,
                                     errno.ECONNREFUSED):
                    raise
            if pause and i % 16 == 15:
                time.sleep(pause / 1e6)


def cmd_blast(addr, port, count, size, pause="0"):
    """blast ADDR PORT COUNT SIZE [US]"""
    blast(addr, int(port), int(count), int(size), int(pause))


def answers(addr):
    """somebody at addr says that nobody listens at the discard port"""
    with udp_socket(addr) as sock:
        sock.settimeout(0.2)
        try:
            sock.connect((addr, 9))
            sock.send(b"x")
            sock.recv(1)
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
        return False


def cmd_ready(dev_a, ns_b, dev_b, addr_b):
    """ready DEVA NSB DEVB ADDRB: both ends are there and can talk"""
    if not wait_until(15, lambda: carrier(dev_a)):
        raise Skipped(f"{dev_a} has no carrier")
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(ns_b)
        if not wait_until(15, lambda: carrier(dev_b)):
            raise Skipped(f"{dev_b} has no carrier")
    finally:
        LIBC.setns(here, CLONE_NEWNET)
        os.close(here)
    if not wait_until(15, lambda: answers(addr_b)):
        raise Failed(f"{dev_a} and {dev_b} cannot talk")


def cmd_listening(port):
    """listening PORT: until somebody does, TCP"""
    want = f":{int(port):04X}"

    def there():
        for name in ("tcp", "tcp6"):
            try:
                lines = proc_net(name).splitlines()[1:]
            except FileNotFoundError:
                continue
            for line in lines:
                col = line.split()
                if col[1].endswith(want) and col[3] == "0A":
                    return True
        return False
    if not wait_until(15, there):
        raise Failed(f"nobody listens at port {port}")


def cmd_prepare():
    """
    prepare: a namespace for counting. Neighbour discovery would only add
    noise. IP fragments whose rest was lost wait for 30 s and hold pages; an
    emulated NIC makes fragments of what it should segment.
    """
    for name, value in (("ipv6/conf/all/disable_ipv6", "1"),
                        ("ipv6/conf/default/disable_ipv6", "1"),
                        ("ipv4/ipfrag_time", "1")):
        try:
            with open("/proc/sys/net/" + name, "w", encoding="ascii") as file:
                file.write(value)
        except FileNotFoundError:
            pass


def no_ports():
    """datagrams that found no socket"""
    rows = [line.split() for line in proc_net("snmp").splitlines()
            if line.startswith("Udp:")]
    return int(rows[1][rows[0].index("NoPorts")])


def cmd_no_ports():
    """no-ports: datagrams that found no socket so far"""
    print(no_ports())


def rx_packets(dev):
    """packets that a device received"""
    for line in proc_net("dev").splitlines():
        name, _, rest = line.partition(":")
        if name.strip() == dev:
            return int(rest.split()[1])
    raise Failed(f"no device {dev}")


def cmd_rx_packets(dev):
    """rx-packets DEV"""
    print(rx_packets(dev))


def cmd_wait_rx_packets(dev, want):
    """wait-rx-packets DEV N"""
    if not wait_until(20, lambda: rx_packets(dev) >= int(want)):
        raise Failed(f"{dev} has {rx_packets(dev)} packets, expected {want}")


def cmd_wait_no_ports(want):
    """wait-no-ports N: exactly N, and no more a little later"""
    wait_until(20, lambda: no_ports() >= int(want))
    time.sleep(0.05)
    if no_ports() != int(want):
        raise Failed(f"{no_ports()} datagrams found no socket, not {want}")


# Where iperf3 is missing: a process of its own each, since they block.

def cmd_sink(proto, addr, port, seconds):
    """sink tcp|udp ADDR PORT S: read and throw away, in the background"""
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    kind = socket.SOCK_STREAM if proto == "tcp" else socket.SOCK_DGRAM
    sock = socket.socket(family, kind)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((addr, int(port)))
    if proto == "tcp":
        sock.listen(1)
    if os.fork():
        sock.close()
        return
    end = time.monotonic() + float(seconds)
    if proto == "tcp":
        if not select.select([sock], [], [], float(seconds))[0]:
            os._exit(1)
        sock = sock.accept()[0]
    while time.monotonic() < end:
        if select.select([sock], [], [], 0.1)[0] and \
           not sock.recv(1 << 16) and proto == "tcp":
            break
    os._exit(0)


def cmd_stream(addr, port, seconds):
    """stream ADDR PORT S: write to a TCP socket"""
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    end = time.monotonic() + float(seconds)
    data = b"\x5a" * 65536
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.settimeout(float(seconds) + 5)
        sock.connect((addr, int(port)))
        while time.monotonic() < end:
            sock.sendall(data)


def cmd_flood(addr, port, size, seconds):
    """flood ADDR PORT SIZE S: send datagrams for S seconds"""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        blast(addr, int(port), 64, int(size))


# ------------------------------------------------------------ wired ports

ETH_P_TEST = 0x88b5     # reserved for local experiments


def ports_of(driver):
    """interfaces of the first namespace that the driver runs"""
    return [name for name in sorted(os.listdir("/sys/class/net"))
            if os.path.basename(os.path.realpath(
                f"/sys/class/net/{name}/device/driver")) == driver]


def port_node(name):
    """NUMA node of the device behind an interface"""
    with open(f"/sys/class/net/{name}/device/numa_node",
              encoding="ascii") as file:
        return int(file.read())


def find_pair(socks, node):
    """which two ports hear each other?"""
    for left, sock in socks.items():
        magic = os.urandom(16)
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\x01" + \
            struct.pack("!H", ETH_P_TEST) + magic
        others = {s: n for n, s in socks.items() if n != left}
        for _ in range(5):
            sock.send(frame.ljust(60, b"\0"))
            for other in select.select(list(others), [], [], 0.3)[0]:
                if magic not in other.recv(2048):
                    continue
                right = others[other]
                if node is None or port_node(right) == int(node):
                    return left, right
                if port_node(left) == int(node):
                    return right, left
    return None


def cmd_pair(driver, node=None):
    """
    pair DRIVER [NODE]: two ports of a driver that are wired together, the
    second one on NODE when given. A port that is up is somebody's, and two
    that are left need no search: they have a link to each other or none.
    """
    names = [name for name in ports_of(driver) if not flags(name) & IFF_UP]
    if len(names) < 2:
        raise Skipped(f"no two idle {driver} ports")
    if len(names) == 2 and node is None:
        print(*names)
        return
    socks = {}
    try:
        for name in names:
            set_up(name, True)
        wait_until(15, lambda: all(map(carrier, names)))
        for name in names:
            socks[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                        socket.htons(ETH_P_TEST))
            socks[name].bind((name, ETH_P_TEST))
        found = find_pair(socks, node)
    finally:
        for sock in socks.values():
            sock.close()
        for name in names:
            set_up(name, False)
    if not found:
        where = f", one of them on node {node}" if node is not None else ""
        raise Skipped(f"no two {driver} ports are wired together{where}")
    print(*found)


# --------------------------------------------------------------------- bpf

BPF_MAP_LOOKUP_ELEM = 1
BPF_MAP_UPDATE_ELEM = 2
BPF_PROG_GET_FD_BY_ID = 13
BPF_MAP_GET_FD_BY_ID = 14
BPF_OBJ_GET_INFO_BY_FD = 15
SYS_BPF = {"x86_64": 321, "i686": 357, "aarch64": 280, "riscv64": 280,
           "s390x": 351, "ppc64le": 361, "ppc64": 361, "armv7l": 386}


def bpf(cmd, data):
    """the system call"""
    number = SYS_BPF.get(os.uname().machine)
    if number is None:
        raise Skipped("number of bpf() on this machine not known")
    ret = LIBC.syscall(number, cmd, ctypes.create_string_buffer(data, 128),
                       128)
    if ret < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return ret


def xdp_prog_id(dev):
    """id of the XDP program of a device"""
    with netlink(NETLINK_ROUTE) as sock:
        req = struct.pack("=BxHiII", 0, 0, index_of(dev), 0, 0)
        for body in ask(sock, RTM_GETLINK, req):
            for kind, data in attrs(body[16:]):
                if kind != IFLA_XDP:
                    continue
                for sub, value in attrs(data):
                    if sub == IFLA_XDP_PROG_ID:
                        return uint(value)
    raise Failed(f"{dev} has no XDP program")


def xdp_map(dev, name):
    """descriptor of a map that the XDP program of a device uses"""
    prog = bpf(BPF_PROG_GET_FD_BY_ID, struct.pack("=I", xdp_prog_id(dev)))
    ids = (ctypes.c_uint32 * 8)()
    # struct bpf_prog_info: nr_map_ids at 52, map_ids at 56
    info = ctypes.create_string_buffer(232)
    struct.pack_into("=IQ", info, 52, 8, ctypes.addressof(ids))
    bpf(BPF_OBJ_GET_INFO_BY_FD,
        struct.pack("=IIQ", prog, len(info), ctypes.addressof(info)))
    os.close(prog)
    for map_id in ids[:struct.unpack_from("=I", info, 52)[0]]:
        fd = bpf(BPF_MAP_GET_FD_BY_ID, struct.pack("=I", map_id))
        # struct bpf_map_info: name at 24
        minfo = ctypes.create_string_buffer(88)
        bpf(BPF_OBJ_GET_INFO_BY_FD,
            struct.pack("=IIQ", fd, len(minfo), ctypes.addressof(minfo)))
        if minfo.raw[24:40].split(b"\0")[0].decode() == name:
            return fd
        os.close(fd)
    raise Failed(f"the program of {dev} has no map {name}")


def map_op(cmd, fd, value=0):
    """look up or update the only element of an array of u64"""
    key = ctypes.c_uint32(0)
    val = ctypes.c_uint64(value)
    bpf(cmd, struct.pack("=I4xQQQ", fd, ctypes.addressof(key),
                         ctypes.addressof(val), 0))
    return val.value


def cmd_xdp_count(dev, want):
    """xdp-count DEV N: packets its program saw, waits for N of them"""
    fd = xdp_map(dev, "pp_count")
    wait_until(20, lambda: map_op(BPF_MAP_LOOKUP_ELEM, fd) >= int(want))
    print(map_op(BPF_MAP_LOOKUP_ELEM, fd))
    os.close(fd)


def cmd_xdp_target(dev, target):
    """xdp-target DEV TO: where its program redirects to"""
    fd = xdp_map(dev, "pp_target")
    map_op(BPF_MAP_UPDATE_ELEM, fd, index_of(target))
    os.close(fd)


# --------------------------------------------------- pages held in sockets

HOARD = []


def cmd_hoard(addr, port):
    """hoard ADDR PORT: a socket that nobody reads"""
    sock = udp_socket(addr)
    # SO_RCVBUFFORCE
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
    sock.bind((addr, int(port)))
    HOARD.append(sock)


def has_data(sock):
    """is there a datagram?"""
    return bool(select.select([sock], [], [], 0)[0])


def cmd_arrived():
    """arrived: until each hoarding socket has a datagram"""
    if not wait_until(20, lambda: all(map(has_data, HOARD))):
        raise Failed("no datagram arrived")


def cmd_release():
    """release: close the sockets of hoard"""
    while HOARD:
        HOARD.pop().close()


def prompt(slow, left):
    """
    Close the sockets of hoard; nothing must be left 200 ms later. That is
    for a machine that answers at once: where one look at the pools takes
    long, so does the rest. A pool that is polled once a second is too late
    all the same.
    """
    start = time.monotonic()
    cmd_release()
    wait_until(20, lambda: not left(), 0.002)
    took = round((time.monotonic() - start) * 1000)
    if took >= min(200 + 10000 * slow, 400):
        raise Failed(f"pool gone {took} ms after close()")
    return took


def cmd_unread(dev, quiet):
    """
    unread DEV S: a socket of hoard has pages of the device, which goes down.
    The pool stays listed for S seconds, with the time of its detachment, and
    goes when the socket is closed.
    """
    index = index_of(dev)
    mine = {p["id"] for p in pools(index) if "detach-time" not in p}
    cmd_arrived()
    set_up(dev, False)
    now = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    end = time.monotonic() + float(quiet)
    slowest = 0
    while True:
        start = time.monotonic()
        dying = [p for p in pools(index)
                 if p["id"] in mine and "detach-time" in p]
        if not dying:
            raise Failed("no detached pool of the device is listed")
        for pool in dying:
            if not pool.get("inflight"):
                raise Failed(f"holds nothing: {show(pool)}")
            if not now - 10 <= pool["detach-time"] <= now + 1:
                raise Failed(f"detached when? now {now}: {show(pool)}")
        slowest = max(slowest, time.monotonic() - start)
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    took = prompt(slowest, lambda: {p["id"] for p in pools(index)} & mine)
    print(f"{sum(p['inflight'] for p in dying)} pages, "
          f"pool gone {took} ms after close()")


def cmd_orphans(*devs):
    """
    orphans DEV...: sockets of hoard have pages of each device; the devices
    are deleted in this order. All pools stay listed, without an ifindex, and
    go when the sockets are closed.
    """
    def orphans():
        return {p["id"] for p in pools()
                if "detach-time" in p and not p.get("ifindex")}
    known = orphans()
    mine = set()
    for dev in devs:
        got = {p["id"] for p in pools(index_of(dev))}
        if not got:
            raise Failed(f"no pool of {dev} is listed")
        mine |= got
    cmd_arrived()
    for dev in devs:
        run("ip", "link", "del", dev)
    start = time.monotonic()
    found = orphans() - known
    slow = time.monotonic() - start
    if found != mine:
        raise Failed(f"pools {sorted(mine)}, orphans listed {sorted(found)}")
    took = prompt(slow, lambda: orphans() & mine)
    print(f"{len(mine)} pools gone {took} ms after close()")


# ------------------------------------------------------------ NAPI threads

CHILDREN = {}


def napi_threads(dev):
    """pids of the NAPI threads of a device"""
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                if file.read().startswith(f"napi/{dev}-"):
                    out.append(int(pid))
        except OSError:
            pass
    return out


def cmd_napi_threads(dev):
    """napi-threads DEV"""
    print(*napi_threads(dev))


def cmd_migrate(dev):
    """migrate DEV: move its NAPI threads between CPUs until told to stop"""
    cpus = sorted(os.sched_getaffinity(0))
    threads = napi_threads(dev)
    child = os.fork()
    if child:
        CHILDREN["migrate"] = (child, threads, cpus)
        return
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while os.getppid() != 1:
        for cpu in cpus:
            for pid in threads:
                os.sched_setaffinity(pid, {cpu})
            time.sleep(0.01)
    os._exit(0)


def cmd_settle():
    """settle: stop migrating"""
    child, threads, cpus = CHILDREN.pop("migrate")
    if os.waitpid(child, os.WNOHANG)[0]:
        raise Failed("the migration ended early")
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    for pid in threads:
        os.sched_setaffinity(pid, set(cpus))


# ------------------------------------------------------------------ server

COMMANDS = {name[4:].replace("_", "-"): func
            for name, func in list(globals().items())
            if name.startswith("cmd_")}


def serve(line):
    """one command; its exit status"""
    args = line.split()
    try:
        enter(args[0])
        COMMANDS[args[1]](*args[2:])
        return 0
    except Failed as exc:
        print(exc)
        return 1
    except Skipped as exc:
        print(exc)
        return 4
    except Exception as exc:
        print(f"{line.strip()}: {type(exc).__name__}: {exc}")
        return 1
    finally:
        enter("-")


def main():
    """commands from the command line, or from stdin"""
    if len(sys.argv) > 1:
        return serve(" ".join(sys.argv[1:]))
    for line in sys.stdin:
        print(f"\4{serve(line)}", flush=True)
    for child, _, _ in CHILDREN.values():
        os.kill(child, signal.SIGTERM)
    return 0


if __name__ == "__main__":
    sys.exit(main())
