#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Ten thousand pools, in messages as small as netlink makes them: each is shown
exactly once, while pools come and go as well, and a reader that is shown only
some of them is not held up by the others.
"""

import threading
import time

from netlink_lib import (Netns, fresh_socket, ids, ksft_eq, ksft_pr, ksft_true,
                         new_sim, pools, run, small_family)

SIMS = 20
QUEUES = 500
SECONDS = 20


def timed(call):
    start = time.monotonic()
    value = call()
    return value, time.monotonic() - start


def many(family):
    sims, took = timed(lambda: [new_sim(QUEUES) for _ in range(SIMS)])
    ksft_pr(f"{SIMS * QUEUES} pools made in {took:.1f} s")
    indexes = {sim.ifindex for sim in sims}
    restless = [new_sim(16, up=False) for _ in range(2)]
    small = small_family()

    def mine(found):
        return [pool["id"] for pool in found if pool.get("ifindex") in indexes]

    all_pools, took = timed(lambda: pools(family))
    want = mine(all_pools)
    ksft_pr(f"{len(all_pools)} pools listed in {took:.1f} s")
    ksft_eq(len(want), SIMS * QUEUES)
    ksft_eq(len(set(want)), len(want))

    found, took = timed(lambda: pools(small))
    ksft_pr(f"in small messages in {took:.1f} s")
    ksft_eq(ids(found), ids(all_pools))
    for sim in sims[::7]:
        ksft_eq(len(pools(small, ifindex=sim.ifindex)), QUEUES)

    stop = threading.Event()
    changes = [0]

    def change():
        while not stop.is_set():
            for sim in restless:
                sim.up()
                sim.down()
            changes[0] += 1

    changer = threading.Thread(target=change)
    changer.start()
    dumps = 0
    end = time.monotonic() + SECONDS
    try:
        while dumps < 2 or not changes[0] or time.monotonic() < end:
            found = pools(small)
            ksft_true(mine(found) == want, "each once")
            ksft_eq(len(set(ids(found))), len(found))
            dumps += 1
    finally:
        stop.set()
        changer.join()
    ksft_pr(f"{dumps} dumps while there were {changes[0]} changes")

    with Netns():
        fresh_socket(small)
    found, took = timed(lambda: pools(small))
    ksft_eq(found, [])
    ksft_pr(f"nothing to show in {took * 1000:.0f} ms")


if __name__ == "__main__":
    run(many)
