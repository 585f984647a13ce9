#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0

"""
Page pools of any driver: they are listed, their counters move and add up,
ethtool shows the same as netlink, and down and up leave nothing behind.

Traffic needs a remote end (see ../README.rst). With NETIF alone the cases
that need traffic are skipped. Without NETIF a pair of netdevsims is used,
which take a page when told to instead.
"""

import errno
import json
import os
import re
import socket
import sys
import time

# the directory that the test was found in, not the one that a link leads to
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib.py import ksft_run, ksft_exit, ksft_pr, ksft_disruptive
from lib.py import ksft_eq, ksft_ge, ksft_in, ksft_true, ksft_busy_wait
from lib.py import KsftSkipEx
from lib.py import NetdevFamily, NetDrvEnv, NetDrvEpEnv, NlError
from lib.py import GenerateTraffic, cmd, defer, ip

PAGE_SIZE = os.sysconf("SC_PAGESIZE")

# outcomes of an allocation, each one page handed out
HANDED_OUT = ("alloc-fast", "alloc-slow", "alloc-slow-high-order",
              "alloc-refill")
# outcomes of the last put of a page
PUT = ("recycle-cached", "recycle-ring", "recycle-ring-full",
       "recycle-released-refcnt", "recycle-released-pfmemalloc",
       "recycle-released-nid")
# netlink name -> ethtool name, where it is not the same with underscores
ETHTOOL_NAMES = {
    "alloc-slow-high-order": "rx_pp_alloc_slow_ho",
    "recycle-released-refcnt": "rx_pp_recycle_released_ref",
    "recycle-released-pfmemalloc": "rx_pp_recycle_released_pfmem",
}


def _pools(cfg, netdevnl):
    return [pool for pool in netdevnl.page_pool_get({}, dump=True)
            if pool.get("ifindex") == cfg.ifindex]


def _need_pools(cfg, netdevnl):
    pools = _pools(cfg, netdevnl)
    if not pools:
        raise KsftSkipEx("no page pool of the device is listed")
    return pools


def _stats(cfg, netdevnl):
    """{pool id: counters}"""
    try:
        dump = netdevnl.page_pool_stats_get({}, dump=True)
    except NlError as exc:
        if exc.nl_msg.error == -errno.EOPNOTSUPP:
            raise KsftSkipEx("kernel without page pool statistics") from exc
        raise
    out = {}
    for entry in dump:
        info = entry["info"]
        if info.get("ifindex") == cfg.ifindex:
            out[info["id"]] = {k: v for k, v in
                               {**entry, **entry.get("detail", {})}.items()
                               if k not in ("info", "detail", "cpu")}
    if not out:
        raise KsftSkipEx("no page pool of the device is listed")
    return out


def _sum(stats, names):
    return sum(cnt.get(name, 0) for cnt in stats.values() for name in names)


def _quiet_stats(cfg, netdevnl):
    """
    Pools and counters while nothing moves. Other traffic may go on at a real
    device, so they are read until two readings are the same.
    """
    result = {}

    def same():
        before = _stats(cfg, netdevnl)
        result["pools"] = _pools(cfg, netdevnl)
        time.sleep(0.02)
        result["stats"] = _stats(cfg, netdevnl)
        return before == result["stats"]

    end = time.monotonic() + 5
    while not same():
        if time.monotonic() > end:
            raise KsftSkipEx("the device is never idle")
        time.sleep(0.05)
    return result["pools"], result["stats"]


def _ethtool(cfg):
    """page pool counters of ethtool -S"""
    out = {}
    for line in cmd(f"ethtool -S {cfg.dev['ifname']}",
                    fail=False).stdout.splitlines():
        match = re.match(r"\s+(rx_pp_\w+): (\d+)$", line)
        if match:
            out[match.group(1)] = int(match.group(2))
    return out


def _nsim(cfg):
    """the netdevsim under test, None with a real device"""
    nsim = getattr(cfg, "_ns", None)
    return nsim.nsims[0] if nsim else None


def _set_sysctl(name, value):
    """for as long as the case runs"""
    path = "/proc/sys/" + name
    if not os.path.exists(path):
        return
    with open(path, "r+", encoding="ascii") as file:
        was = file.read().strip()
        file.seek(0)
        file.write(value)
    defer(cmd, f"echo {was} > {path}")


def _has_sockets(port):
    """is there a TCP socket at a local port, but in TIME_WAIT?"""
    live = re.compile(rf"^ *\d+: [0-9A-F]+:{port:04X} \S+ (?!06)", re.M)
    return bool(live.search(cmd("cat /proc/net/tcp*").stdout))


def _softirq():
    """
    One datagram over loopback on each CPU: only its next RX softirq frees the
    skbs that were handed back to a CPU.
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


def _traffic(cfg):
    """make the driver take pages from its pools"""
    nsim = _nsim(cfg)
    if nsim:
        for _ in range(100):
            nsim.dfs_write("pp_hold", "y")
            nsim.dfs_write("pp_hold", "n")
        return 100
    if not isinstance(cfg, NetDrvEpEnv):
        raise KsftSkipEx("traffic needs a remote end, see README.rst")
    # fragments whose rest was lost would hold pages for 30 s
    for name in ("ipv4/ipfrag_time", "ipv6/ip6frag_time"):
        _set_sysctl("net/" + name, "1")
    traffic = GenerateTraffic(cfg)
    traffic.wait_pkts_and_stop(5000)
    # what its sockets have not read is still held until they are closed
    ksft_busy_wait(lambda: not _has_sockets(traffic.port), sleep=0.05,
                   deadline=20, comment="the traffic has not ended")
    return 1000


def test_listed(cfg, netdevnl) -> None:
    """each pool is in the dump, and by its id gives the same"""
    for pool in _need_pools(cfg, netdevnl):
        ksft_in("id", pool)
        ksft_in("inflight", pool)
        ksft_in("inflight-mem", pool)
        if pool["inflight"]:
            # a page may be of a higher order
            ksft_eq(pool["inflight-mem"] % (pool["inflight"] * PAGE_SIZE), 0)
            ksft_ge(pool["inflight-mem"], pool["inflight"] * PAGE_SIZE)
        one = netdevnl.page_pool_get({"id": pool["id"]})
        ksft_eq(one["id"], pool["id"])
        ksft_eq(one.get("ifindex"), cfg.ifindex)


def test_have_stats(cfg, netdevnl) -> None:
    """each pool that is in use has counters"""
    pools = _need_pools(cfg, netdevnl)
    stats = _stats(cfg, netdevnl)
    for pool in pools:
        if "detach-time" in pool:
            continue
        ksft_in(pool["id"], stats)
        for name in HANDED_OUT + PUT[:4]:
            ksft_in(name, stats.get(pool["id"], {}))


def test_move(cfg, netdevnl) -> None:
    """traffic moves the counters, and none goes back"""
    before = _stats(cfg, netdevnl)
    least = _traffic(cfg)
    after = _stats(cfg, netdevnl)
    out = _sum(after, HANDED_OUT) - _sum(before, HANDED_OUT)
    put = _sum(after, PUT) - _sum(before, PUT)
    ksft_pr(f"{out} pages handed out, {put} put")
    ksft_ge(out, least, "pages handed out")
    ksft_ge(put, least, "pages put")
    for pool, cnt in before.items():
        for name, value in cnt.items():
            if pool in after:
                ksft_ge(after[pool][name], value, f"{name} of pool {pool}")


def test_add_up(cfg, netdevnl) -> None:
    """
    Pages handed out and not put are held by somebody, and what is in flight
    is these and those that are parked in the pool.
    """
    pools, stats = _quiet_stats(cfg, netdevnl)
    for pool in pools:
        if pool["id"] not in stats:
            continue
        one = {pool["id"]: stats[pool["id"]]}
        held = _sum(one, HANDED_OUT) - _sum(one, PUT)
        ksft_pr(f"pool {pool['id']}: {held} held, {pool['inflight']} in flight")
        ksft_ge(held, 0, f"held by users of pool {pool['id']}")
        ksft_ge(pool["inflight"], held, f"in flight of pool {pool['id']}")
        if "detail" in pool:
            ksft_eq(pool["detail"]["held"], held, f"held of pool {pool['id']}")
        if "detach-time" in pool:
            ksft_eq(pool["inflight"], held, "a detached pool parks nothing")


def test_ethtool(cfg, netdevnl) -> None:
    """ethtool counts what netlink counts, over pools that are gone as well"""
    if "rx_pp_alloc_fast" not in _ethtool(cfg):
        raise KsftSkipEx("the driver publishes no counters in ethtool -S")
    _, nl_before = _quiet_stats(cfg, netdevnl)
    et_before = _ethtool(cfg)
    _traffic(cfg)
    _, nl_after = _quiet_stats(cfg, netdevnl)
    et_after = _ethtool(cfg)
    if nl_before.keys() != nl_after.keys():
        raise KsftSkipEx("pools came or went meanwhile")
    for name in next(iter(nl_after.values())):
        known_as = ETHTOOL_NAMES.get(name, "rx_pp_" + name.replace("-", "_"))
        if known_as not in et_after:
            ksft_pr(f"the driver does not publish {known_as}")
            continue
        grew = _sum(nl_after, [name]) - _sum(nl_before, [name])
        ksft_eq(et_after[known_as] - et_before[known_as], grew, known_as)
        ksft_ge(et_after[known_as], _sum(nl_after, [name]), known_as)


def _has_carrier(cfg):
    link = ip(f"link show dev {cfg.dev['ifname']}", json=True)[0]
    return "LOWER_UP" in link["flags"]


@ksft_disruptive
def test_down_up(cfg, netdevnl) -> None:
    """no pool outlives its use when the interface goes down and up"""
    ifname = cfg.dev["ifname"]
    old = {pool["id"] for pool in _need_pools(cfg, netdevnl)}
    had_carrier = _has_carrier(cfg)
    before = _ethtool(cfg)

    _set_sysctl(f"net/ipv6/conf/{ifname}/keep_addr_on_down", "1")

    ip(f"link set dev {ifname} down")
    up = defer(ip, f"link set dev {ifname} up")

    def in_use():
        return [p for p in _pools(cfg, netdevnl) if "detach-time" not in p]

    def dying():
        return [p for p in _pools(cfg, netdevnl) if "detach-time" in p]

    def none_dying():
        if not dying():
            return True
        _softirq()
        return False

    kept = {pool["id"] for pool in in_use()}
    if kept:
        ksft_pr(f"the driver keeps pools while it is down: {sorted(kept)}")
    ksft_busy_wait(none_dying, sleep=0.05, deadline=5,
                   comment="a pool is left after down")
    if dying():
        ksft_pr("left after down:", json.dumps(dying()))
    up.exec()
    ksft_busy_wait(lambda: len(in_use()) > 0, deadline=5,
                   comment="no pool after up")
    new = {pool["id"] for pool in in_use()} - kept
    ksft_true(not new & old, "ids are not used twice")
    ksft_eq(len(dying()), 0)
    for name, value in _ethtool(cfg).items():
        ksft_ge(value, before.get(name, 0), name)
    if had_carrier:
        ksft_busy_wait(lambda: _has_carrier(cfg), sleep=0.05, deadline=20,
                       comment="no carrier after up")


def _env():
    """with a remote end where there is one, or none is needed"""
    has_config = os.path.exists(os.path.join(os.path.dirname(__file__),
                                             "net.config"))
    if "REMOTE_TYPE" in os.environ or "NETIF" not in os.environ or has_config:
        return NetDrvEpEnv(__file__)
    return NetDrvEnv(__file__)


def main() -> None:
    """run against NETIF, or netdevsim"""
    netdevnl = NetdevFamily()
    with _env() as cfg:
        ksft_run([test_listed, test_have_stats, test_move, test_add_up,
                  test_ethtool, test_down_up], args=(cfg, netdevnl))
    ksft_exit()


if __name__ == "__main__":
    main()
