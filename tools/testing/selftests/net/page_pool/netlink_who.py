#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Pools that no namespace owns: who administers the initial namespace is shown
them and hears of them, and nobody else is or does.
"""

import ctypes
import errno
import os

from netlink_lib import (NOBODY, SOL_NETLINK, KsftSkipEx, NetdevFamily, Netns,
                         Nobody, deviceless, error_of, fresh_socket, gone,
                         has_stats, heard, ids, is_system, ksft_busy_wait,
                         ksft_eq, ksft_in, ksft_true, name_home, new_sim,
                         of_dev, pools, run)

CLONE_NEWUSER = 0x10000000
NETLINK_LISTEN_ALL_NSID = 8


def system_pools(family):
    """One per CPU that there can be, of its node."""
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as file:
        first, _, last = file.read().strip().partition("-")
    cpus = range(int(first), int(last or first) + 1)
    found = [pool for pool in pools(family) if is_system(pool)]
    ksft_eq(len(found), len(cpus))
    nodes = []
    for cpu in cpus:
        path = f"/sys/devices/system/cpu/cpu{cpu}"
        nodes += [int(name[4:]) for name in os.listdir(path)
                  if name.startswith("node") and name[4:].isdigit()]
    ksft_eq(sorted(pool["detail"]["node"] for pool in found), sorted(nodes))
    for pool in found:
        ksft_true("ifindex" not in pool and "dev-name" not in pool["detail"])
        ksft_eq(pool["detail"]["flags"], {"system-pool"})
        ksft_eq(pool["detail"]["ring-size"], (1 << 20) // os.sysconf("SC_PAGE_SIZE"))
        ksft_eq(family.page_pool_get({"id": pool["id"]})["id"], pool["id"])


def sees(family):
    """Ids of the pools without a device, by dump or by id."""
    found = set(ids(deviceless(pools(family))))
    if has_stats(family):
        stats = [s["info"] for s in family.page_pool_stats_get({}, dump=True)]
        found |= set(ids(deviceless(stats)))
    return found


def sees_none(family, some, mine, who):
    ksft_eq(sees(family), set(), who)
    ksft_eq(error_of(family.page_pool_get, {"id": some}), errno.ENOENT, who)
    if has_stats(family):
        ksft_eq(error_of(family.page_pool_stats_get, {"info": {"id": some}}),
                errno.ENOENT, who)
    for pool in mine:
        ksft_in(pool, ids(pools(family)), who)
        ksft_eq(family.page_pool_get({"id": pool})["id"], pool, who)


def unprivileged(family):
    """Reader and opener of the socket both count."""
    mine = ids(of_dev(family, new_sim()))
    some = ids(deviceless(pools(family)))[0]

    other = NetdevFamily()
    with Nobody():
        sees_none(other, some, mine, "reader")
    ksft_in(some, sees(other))

    with Nobody():
        fresh_socket(other)
        sees_none(other, some, mine, "reader and opener")
    sees_none(other, some, mine, "opener")

    other.sock.close()


def other_namespace(family):
    some = ids(deviceless(pools(family)))[0]
    other = NetdevFamily()
    with Netns():
        fresh_socket(other)
        sees_none(other, some, [], "another namespace")
    sees_none(other, some, [], "a socket of another namespace")
    other.sock.close()


def user_namespace(family):
    """Root of a user namespace, in the initial network namespace."""
    mine = ids(of_dev(family, new_sim()))
    some = ids(deviceless(pools(family)))[0]
    other = NetdevFamily()
    to_parent, from_child = os.pipe()
    pid = os.fork()
    if not pid:
        said = "did not come to an end"
        try:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            if ctypes.CDLL(None).unshare(CLONE_NEWUSER):
                said = "skip"
            else:
                fresh_socket(other)
                with open("/proc/self/status", encoding="ascii") as file:
                    caps = [line.split()[1] for line in file
                            if line.startswith("CapEff")]
                seen = sees(other)
                said = f"{int(caps[0], 16) >> 12 & 1} {len(seen)} " + \
                    f"{error_of(other.page_pool_get, {'id': some})} " + \
                    f"{set(mine) <= set(ids(pools(other)))}"
        except OSError:
            said = "skip"
        finally:
            os.write(from_child, said.encode())
            os._exit(0)
    os.close(from_child)
    said = os.read(to_parent, 100).decode()
    os.close(to_parent)
    os.waitpid(pid, 0)
    other.sock.close()
    if said == "skip":
        raise KsftSkipEx("no user namespaces")
    ksft_eq(said, f"1 0 {errno.ENOENT} True")


def listener():
    family = NetdevFamily()
    family.ntf_subscribe("page-pool")
    return family


def inherited_pool(family):
    """A pool of a namespace that is gone, and the device that has its page."""
    netns = Netns()
    sim = new_sim(up=False)
    sim.move(netns)
    with netns:
        inside = NetdevFamily()
    sim.up()
    sim.hold()
    sim.down()
    sim.move(None)
    found = [pool for pool in pools(inside) if "detach-time" in pool]
    inside.sock.close()
    netns.close()
    pool = found[0]["id"]
    ksft_busy_wait(lambda: pool in ids(pools(family)), deadline=30,
                   comment=f"pool {pool} is not shown")
    return sim, pool


def notifications(family):
    privileged = listener()
    others = [listener() for _ in range(3)]
    with Nobody():
        fresh_socket(others[0])
        others[0].ntf_subscribe("page-pool")
    with Netns():
        fresh_socket(others[1])
        others[1].ntf_subscribe("page-pool")
    # one that hears of all namespaces which his own knows
    netns = Netns()
    name_home(netns, 5)
    with netns:
        fresh_socket(others[2])
        others[2].sock.setsockopt(SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, 1)
        others[2].ntf_subscribe("page-pool")

    sim, pool = inherited_pool(family)
    # the family of a listener asks nothing, and nobody hears of what he may not
    said = heard(privileged, pool)
    ksft_eq([name for name, _ in said], ["page-pool-add-ntf"])
    ksft_true("ifindex" not in said[0][1])
    ksft_in("detach-time", said[0][1])
    for i, other in enumerate(others):
        ksft_eq(heard(other, pool), [], f"listener {i}")

    sim.release()
    gone(family, pool)
    said = heard(privileged, pool)
    ksft_eq([name for name, _ in said], ["page-pool-del-ntf"])
    for i, other in enumerate(others):
        ksft_eq(heard(other, pool), [], f"listener {i}")

    # they are not deaf: a device of the initial namespace
    sim.up()
    pool = ids(of_dev(family, sim))[0]
    for ears, want in ((privileged, 1), (others[0], 1), (others[1], 0),
                       (others[2], 1)):
        ksft_eq(len(heard(ears, pool)), want)
    for ears in [privileged] + others:
        ears.sock.close()


if __name__ == "__main__":
    run(system_pools, unprivileged, other_namespace, user_namespace,
        notifications)
