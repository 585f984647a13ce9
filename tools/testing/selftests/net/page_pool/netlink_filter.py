#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A dump with an ifindex shows the pools of that device and no other; without
one it shows all, as before there was a choice.
"""

import errno

from netlink_lib import (KsftSkipEx, Netns, error_of, ids, ksft_eq, ksft_in,
                         ksft_true, new_sim, of_dev, pools, run)


def stats_ids(family, **request):
    return [stats["info"]["id"] for stats in
            family.page_pool_stats_get(request, dump=True)]


def one_device(family):
    one, two = new_sim(3), new_sim(2)
    for sim, number in ((one, 3), (two, 2)):
        found = pools(family, ifindex=sim.ifindex)
        ksft_eq(len(found), number)
        ksft_eq({pool["ifindex"] for pool in found}, {sim.ifindex})
        ksft_eq(ids(found), ids(of_dev(family, sim)))

    everything = ids(pools(family))
    ksft_eq(len(everything), len(set(everything)))
    for sim in (one, two):
        for pool in ids(pools(family, ifindex=sim.ifindex)):
            ksft_in(pool, everything)


def one_device_stats(family):
    if not hasattr(family, "page_pool_stats_get") or \
       error_of(family.page_pool_stats_get, {}, dump=True) == errno.EOPNOTSUPP:
        raise KsftSkipEx("no page pool statistics in this kernel")
    one, two = new_sim(3), new_sim(2)
    for sim in (one, two):
        want = ids(pools(family, ifindex=sim.ifindex))
        ksft_eq(stats_ids(family, info={"ifindex": sim.ifindex}), want)
    ksft_eq(stats_ids(family), ids(pools(family)))

    pool = ids(of_dev(family, one))[0]
    got = family.page_pool_stats_get({"info": {"id": pool}})
    ksft_eq(got["info"], {"id": pool, "ifindex": one.ifindex})
    ksft_eq(error_of(family.page_pool_stats_get,
                     {"info": {"ifindex": one.ifindex}}), errno.EINVAL)
    ksft_eq(error_of(family.page_pool_stats_get,
                     {"info": {"id": pool}}, dump=True), errno.EINVAL)
    ksft_eq(error_of(family.page_pool_stats_get,
                     {"info": {"ifindex": 0x7ffffffe}}, dump=True), errno.ENODEV)


def no_pools(family):
    """A device that is there and has none is not an error."""
    sim = new_sim(up=False)
    ksft_eq(pools(family, ifindex=sim.ifindex), [])
    ksft_eq(pools(family, ifindex=1), [])


def no_device(family):
    ksft_eq(error_of(family.page_pool_get, {"ifindex": 0x7ffffffe}, dump=True),
            errno.ENODEV)
    ksft_true(error_of(family.page_pool_get, {"ifindex": 0}, dump=True) in
              (errno.ERANGE, errno.EINVAL))
    ksft_eq(error_of(family.page_pool_get, {"id": 0xfffffffe}), errno.ENOENT)


def other_namespace(family):
    sim = new_sim(up=False)
    ksft_eq(error_of(family.page_pool_get, {"ifindex": sim.ifindex}, dump=True),
            0)
    sim.move(Netns())
    ksft_eq(error_of(family.page_pool_get, {"ifindex": sim.ifindex}, dump=True),
            errno.ENODEV)
    sim.move(None)


def detached_and_orphaned(family):
    """A pool is its device's until the device has gone, then nobody's."""
    one, two = new_sim(), new_sim()
    one.hold()
    pool = ids(of_dev(family, one))
    one.down()
    ksft_eq(ids(pools(family, ifindex=one.ifindex)), pool)

    one.move(Netns())
    ksft_in(pool[0], ids(pools(family)))
    for ifindex in (1, two.ifindex):
        ksft_true(pool[0] not in ids(pools(family, ifindex=ifindex)))
    one.release()
    one.move(None)


if __name__ == "__main__":
    run(one_device, one_device_stats, no_pools, no_device, other_namespace,
        detached_and_orphaned)
