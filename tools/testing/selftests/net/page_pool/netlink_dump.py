#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Dumps of many pools in messages as small as netlink makes them, read slowly
and while other pools come and go: every pool that is there all the time is
shown exactly once.
"""

import threading
import time

from netlink_lib import (NLM_F_DUMP, NlMsgs, ids, ksft_eq, ksft_pr, ksft_true,
                         new_sim, pools, run, small_family)

SIMS = 2
QUEUES = 96
SECONDS = 5


def make_many():
    sims = [new_sim(QUEUES) for _ in range(SIMS)]
    return {sim.ifindex for sim in sims}


def same(found, want):
    ksft_true(found == want, f"{len(found)} shown, {len(want)} wanted, "
              f"differ by {sorted(set(found) ^ set(want))[:9]}")


def shown(found, indexes):
    return [pool["id"] for pool in found if pool.get("ifindex") in indexes]


def complete(family):
    indexes = make_many()
    small = small_family()

    want = shown(pools(family), indexes)
    ksft_eq(len(want), SIMS * QUEUES)
    ksft_eq(len(set(want)), SIMS * QUEUES)

    # those without a device are between them, and are not forgotten either
    all_ids = ids(pools(family))
    ksft_true(len(all_ids) > len(want))
    same(ids(pools(small)), all_ids)
    same(shown(pools(small), indexes), want)
    stats = [s["info"] for s in small.page_pool_stats_get({}, dump=True)]
    same(ids(stats), all_ids)
    same(shown(stats, indexes), want)

    by_device = []
    for ifindex in sorted(indexes):
        by_device += ids(pools(small, ifindex=ifindex))
    same(sorted(by_device), sorted(want))

    for pool in want[::17]:
        ksft_eq(family.page_pool_get({"id": pool})["id"], pool)


def while_others_change(family):
    indexes = make_many()
    want = shown(pools(family), indexes)
    ksft_eq(len(want), SIMS * QUEUES)

    restless = [new_sim(8, up=False) for _ in range(2)]
    stop = threading.Event()
    changes = [0]

    def change():
        while not stop.is_set():
            for sim in restless:
                sim.up()
            for sim in restless:
                sim.down()
            changes[0] += 1

    changer = threading.Thread(target=change)
    changer.start()
    dumps = others = 0
    end = time.monotonic() + SECONDS
    try:
        small = small_family()
        while dumps < 3 or not changes[0] or time.monotonic() < end:
            found = pools(small)
            dumps += 1
            others += len(found) - len(want)
            same(shown(found, indexes), want)
            ksft_eq(len(set(ids(found))), len(found))
    finally:
        stop.set()
        changer.join()
    ksft_pr(f"{dumps} dumps, {changes[0]} changes, {others} other pools seen")


def device_goes(family):
    """The device of a filtered dump goes down in the middle of it."""
    sim = new_sim(2 * QUEUES)
    small = small_family()
    want = ids(pools(small, ifindex=sim.ifindex))
    ksft_eq(len(want), 2 * QUEUES)

    # ask, read one message, let the pools go, read the rest
    request = small._encode_message(small.ops["page-pool-get"],
                                    {"ifindex": sim.ifindex}, [NLM_F_DUMP], 42)
    small.sock.send(request)
    first = list(NlMsgs(small.sock.recv(65536)))
    ksft_true(first and not first[-1].done, "more than one message")
    sim.down()
    while True:
        msgs = list(NlMsgs(small.sock.recv(65536)))
        if msgs[-1].done:
            break
    ksft_eq(msgs[-1].error, 0)
    ksft_eq(pools(family, ifindex=sim.ifindex), [])


if __name__ == "__main__":
    run(complete, while_others_change, device_goes)
