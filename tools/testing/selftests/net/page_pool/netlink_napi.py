#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The NAPI id of a pool is the one it is linked to now: that of its queue while
the device is up, none once the driver has let go of the NAPI.
"""

from netlink_lib import ids, ksft_eq, ksft_true, new_sim, of_dev, run

QUEUES = 4


def napis(family, sim):
    return sorted(napi["id"] for napi in
                  family.napi_get({"ifindex": sim.ifindex}, dump=True))


def linked(family, sim):
    return sorted(pool["napi-id"] for pool in of_dev(family, sim)
                  if "napi-id" in pool)


def follows_queues(family):
    sim = new_sim(QUEUES)
    for _ in range(3):
        ksft_eq(len(linked(family, sim)), QUEUES)
        ksft_eq(linked(family, sim), napis(family, sim))
        sim.down()
        sim.up()


def gone_with_napi(family):
    """netdevsim deletes its NAPI before it destroys the pool."""
    sim = new_sim()
    sim.hold()
    old = of_dev(family, sim)
    ksft_true("napi-id" in old[0])
    sim.down()

    left = of_dev(family, sim)
    ksft_eq(ids(left), ids(old))
    ksft_true("napi-id" not in left[0], "the NAPI is gone")

    # a NAPI at the same address has nothing to do with the old pool
    sim.up()
    both = of_dev(family, sim)
    ksft_eq(len(both), 2)
    for pool in both:
        ksft_eq("napi-id" in pool, pool["id"] != old[0]["id"])
    ksft_eq(linked(family, sim), napis(family, sim))
    sim.release()


if __name__ == "__main__":
    run(follows_queues, gone_with_napi)
