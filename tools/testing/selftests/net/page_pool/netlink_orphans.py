#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Pools that outlive their device. A device that leaves the namespace while a
page of its old pool is still held leaves that pool behind as an orphan: it
belongs to no device, and is listed where it was used, once, whichever order
the devices went in. When that namespace goes, too, the initial one inherits it.
"""

import errno

from netlink_lib import (NetdevFamily, Netns, error_of, gone, ids,
                         ksft_busy_wait, ksft_eq, ksft_in, ksft_true, new_sim,
                         of_dev, pools, run)


def detached_with_page(family):
    """A device that is down, and the id of its pool with a page out."""
    sim = new_sim()
    sim.hold()
    pool = of_dev(family, sim)
    ksft_eq(len(pool), 1)
    sim.down()
    return sim, pool[0]["id"]


def leave_in_order(family, order):
    netns = Netns()
    made = [detached_with_page(family) for _ in order]
    for i in order:
        made[i][0].move(netns)

    listed = pools(family)
    for _, pool_id in made:
        found = [pool for pool in listed if pool["id"] == pool_id]
        ksft_eq(len(found), 1, f"pool {pool_id} in {ids(listed)}")
        for pool in found:
            ksft_true("ifindex" not in pool, "an orphan has no device")
            ksft_in("detach-time", pool)
            ksft_eq(pool["inflight"], 1)
        ksft_eq(family.page_pool_get({"id": pool_id})["id"], pool_id)

    with netns:
        there = ids(pools(NetdevFamily()))
    for sim, pool_id in made:
        ksft_true(pool_id not in there, "the other namespace is not shown it")
        sim.release()
        gone(family, pool_id)
        sim.move(None)


def last_first(family):
    leave_in_order(family, (2, 1, 0))


def first_first(family):
    leave_in_order(family, (0, 1, 2))


def mixed(family):
    leave_in_order(family, (1, 2, 0))


def namespace_gone(family):
    """The pools of a namespace that is gone are the initial one's."""
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
    ksft_eq(len(found), 1)
    pool_id = found[0]["id"]
    ksft_true("ifindex" not in found[0])
    ksft_true(pool_id not in ids(pools(family)))
    ksft_eq(error_of(family.page_pool_get, {"id": pool_id}), errno.ENOENT)

    inside.sock.close()
    netns.close()
    ksft_busy_wait(lambda: pool_id in ids(pools(family)), deadline=30,
                   comment=f"pool {pool_id} is not shown")
    left = family.page_pool_get({"id": pool_id})
    ksft_true("ifindex" not in left)
    ksft_eq(left["inflight"], 1)
    ksft_eq(left["detail"]["held"], 1)
    ksft_eq(left["detail"]["dev-name"], found[0]["detail"]["dev-name"])
    ksft_eq(left["detach-time"], found[0]["detach-time"])

    # the same device makes a new pool, the old page comes home
    sim.up()
    ksft_eq(len(of_dev(family, sim)), 1)
    sim.release()
    gone(family, pool_id)


if __name__ == "__main__":
    run(last_first, first_first, mixed, namespace_gone)
