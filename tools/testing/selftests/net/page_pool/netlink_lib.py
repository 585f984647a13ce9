# SPDX-License-Identifier: GPL-2.0
"""
What the netlink tests of page pools have in common: the kernel tree's own
Python library for tests and netlink families, or a skip where it is not to be
found, simulated devices that hold a page, and namespaces. Nothing here starts
a program, which takes seconds on an emulated machine.
"""

import ctypes
import fcntl
import os
import random
import socket
import struct
import sys
import time

# The tests may be symbolic links into another tree, and Python has followed
# them: the library is in the tree where they were called.
sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))))

try:
    import yaml
    from lib.py import (KsftSkipEx, NetdevFamily, NlError, defer,
                        ksft_busy_wait, ksft_eq, ksft_exit, ksft_ge, ksft_in,
                        ksft_pr, ksft_run, ksft_true)
    from lib.py.ynl import SPEC_PATH, YnlFamily
except ModuleNotFoundError as why:
    print("TAP version 13")
    print(f"1..0 # SKIP needs the selftest library of the kernel tree ({why})")
    sys.exit(4)

# what the tests take from that library by way of this file
__all__ = ["KsftSkipEx", "ksft_eq", "ksft_ge", "ksft_in", "ksft_pr", "ksft_true"]

# The parser written in Python takes seconds per family.
if hasattr(yaml, "CSafeLoader"):
    yaml.safe_load = lambda text: yaml.load(text, Loader=yaml.CSafeLoader)

NLM_F_DUMP = 0x300
NETLINK_GENERIC = 16
SOL_NETLINK = 270
NETLINK_CAP_ACK = 10
NETLINK_EXT_ACK = 11
NETLINK_GET_STRICT_CHK = 12
NOBODY = 65534
NlMsgs = sys.modules[YnlFamily.__module__].NlMsgs

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS = 0x8913
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
RTM_SETLINK = 19
RTM_NEWNSID = 88
NETNSA_NSID = 1
NETNSA_FD = 3
NLM_F_REQUEST_ACK = 5
IFLA_NET_NS_FD = 28

NSIM_BUS = "/sys/bus/netdevsim"
NSIM_DEBUGFS = "/sys/kernel/debug/netdevsim"

libc = ctypes.CDLL(None, use_errno=True)


def skip_all(why):
    print("TAP version 13")
    print(f"1..0 # SKIP {why}")
    sys.exit(4)


def run(*cases):
    """Runs the cases with a netdev family, which each takes as its argument."""
    if os.geteuid():
        skip_all("needs root")
    if not os.path.exists(NSIM_BUS) and os.system("modprobe -q netdevsim"):
        skip_all("needs netdevsim")
    if not os.path.exists(NSIM_DEBUGFS):
        skip_all("needs debugfs, mounted")
    try:
        family = NetdevFamily()
        family.page_pool_get({}, dump=True)
    except (AttributeError, NlError) as why:
        skip_all(f"no page pools in the netdev family ({why})")
    ksft_run(list(cases), args=(family,))
    ksft_exit()


def small_family():
    """A family that is given as little room as netlink ever gives."""
    family = YnlFamily(str(SPEC_PATH / "netdev.yaml"), schema='', recv_size=4000)
    # and that has one message waiting at a time
    family.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    return family


def fresh_socket(family):
    """A new socket for the family, opened by who calls, where he is now."""
    family.sock.close()
    family.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW,
                                NETLINK_GENERIC)
    for option in (NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK):
        family.sock.setsockopt(SOL_NETLINK, option, 1)
    family.async_msg_queue.clear()


class Nobody:
    """Without capabilities until the end of the block."""
    def __enter__(self):
        os.seteuid(NOBODY)
        return self

    def __exit__(self, ex_type, ex_value, ex_tb):
        os.seteuid(0)


class Netns:
    """A nameless namespace, gone when nothing refers to it any more."""
    def __init__(self):
        self.fd = -1
        here = self._here()
        try:
            self._ok(libc.unshare(CLONE_NEWNET))
            self.fd = self._here()
        finally:
            self._ok(libc.setns(here, CLONE_NEWNET))
            os.close(here)
        self.back = []

    @staticmethod
    def _here():
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY)

    @staticmethod
    def _ok(err):
        if err:
            raise OSError(ctypes.get_errno(), "network namespaces")

    def __enter__(self):
        self.back.append(self._here())
        self._ok(libc.setns(self.fd, CLONE_NEWNET))
        return self

    def __exit__(self, ex_type, ex_value, ex_tb):
        old = self.back.pop()
        self._ok(libc.setns(old, CLONE_NEWNET))
        os.close(old)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self):
        self.close()


def name_home(netns, nsid):
    """Lets a namespace know the one that the test runs in by a number."""
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    msg = struct.pack("=BxxxHHiHHI", socket.AF_UNSPEC, 8, NETNSA_NSID, nsid,
                      8, NETNSA_FD, home)
    msg = struct.pack("=IHHII", 16 + len(msg), RTM_NEWNSID,
                      NLM_F_REQUEST_ACK, 1, 0) + msg
    with netns:
        sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    with sock:
        sock.send(msg)
        err = -struct.unpack_from("=i", sock.recv(4096), 16)[0]
    os.close(home)
    if err:
        raise OSError(err, os.strerror(err), "number of a namespace")


class Sim:
    """A simulated device of one port."""
    def __init__(self, queues=1):
        while True:
            self.addr = random.randrange(1, 1 << 15)
            if not os.path.exists(f"{NSIM_BUS}/devices/netdevsim{self.addr}"):
                break
        self._ctrl("new_device", f"{self.addr} 1 {queues}")
        path = f"{NSIM_BUS}/devices/netdevsim{self.addr}/net"
        end = time.monotonic() + 30
        while not os.path.exists(path) or not os.listdir(path):
            if time.monotonic() > end:
                raise TimeoutError("no netdevsim device appears")
            time.sleep(0.01)
        self.ifname = os.listdir(path)[0]
        self.ifindex = socket.if_nametoindex(self.ifname)
        self.netns = None

    @staticmethod
    def _ctrl(name, text):
        with open(f"{NSIM_BUS}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def remove(self):
        # the namespace must not go first and take the device with it
        if self.netns:
            self.move(None)
        self._ctrl("del_device", str(self.addr))

    def _pp_hold(self, yes):
        with open(f"{NSIM_DEBUGFS}/netdevsim{self.addr}/ports/0/pp_hold", "w",
                  encoding="ascii") as file:
            file.write(yes)

    def hold(self):
        self._pp_hold("y")

    def release(self):
        self._pp_hold("n")

    def _set_up(self, value):
        if self.netns:
            with self.netns:
                sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        else:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with sock:
            ifreq = struct.pack("16sH14x", self.ifname.encode(), 0)
            flags, = struct.unpack("16xH14x",
                                   fcntl.ioctl(sock, SIOCGIFFLAGS, ifreq))
            flags = flags | IFF_UP if value else flags & ~IFF_UP
            fcntl.ioctl(sock, SIOCSIFFLAGS,
                        struct.pack("16sH14x", self.ifname.encode(), flags))

    def up(self):
        self._set_up(True)

    def down(self):
        self._set_up(False)

    def move(self, netns):
        """Into a namespace, or with None back to where the test runs."""
        fd = netns.fd if netns else Netns._here()
        msg = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, self.ifindex, 0, 0)
        msg += struct.pack("=HHI", 8, IFLA_NET_NS_FD, fd)
        msg = struct.pack("=IHHII", 16 + len(msg), RTM_SETLINK,
                          NLM_F_REQUEST_ACK, 1, 0) + msg
        if self.netns:
            with self.netns:
                sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        else:
            sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        with sock:
            sock.send(msg)
            err = -struct.unpack_from("=i", sock.recv(4096), 16)[0]
        if not netns:
            os.close(fd)
        if err:
            raise OSError(err, os.strerror(err), f"move of {self.ifname}")
        self.netns = netns
        # a name or an index that is taken there is replaced
        path = f"{NSIM_BUS}/devices/netdevsim{self.addr}/net"
        if not netns:
            self.ifname = os.listdir(path)[0]
            self.ifindex = socket.if_nametoindex(self.ifname)


def new_sim(queues=1, up=True):
    """A simulated device that is gone again when the case ends."""
    sim = Sim(queues)
    defer(sim.remove)
    if up:
        sim.up()
    return sim


def pools(family, **request):
    return family.page_pool_get(request, dump=True)


def of_dev(family, sim):
    """Pools that say they belong to the device, out of a dump of all."""
    return [pool for pool in pools(family) if pool.get("ifindex") == sim.ifindex]


def ids(found):
    return [pool["id"] for pool in found]


def has_stats(family):
    return not error_of(family.page_pool_stats_get, {}, dump=True)


def deviceless(found):
    return [pool for pool in found if "ifindex" not in pool]


def is_system(pool):
    return "system-pool" in pool["detail"]["flags"]


def heard(family, pool_id):
    """What was said of a pool since the last call: names and messages."""
    family.check_ntf()
    said = [(ntf["name"], ntf["msg"]) for ntf in family.async_msg_queue
            if ntf["msg"]["id"] == pool_id]
    family.async_msg_queue.clear()
    return said


def gone(family, pool_id):
    """Waits for a pool that its last page has come home to."""
    ksft_busy_wait(lambda: pool_id not in ids(pools(family)), deadline=10,
                   comment=f"pool {pool_id} is still there")


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def error_of(call, *args, **kwargs):
    """The errno of a request, 0 when it succeeds."""
    try:
        call(*args, **kwargs)
    except NlError as err:
        return err.error
    return 0
