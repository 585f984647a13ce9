#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The life of a pool as netlink tells it: added, detached at a certain time,
deleted by the last page that comes home, and a notification for each step.
"""

from netlink_lib import (NetdevFamily, Netns, boottime, gone, heard, ids,
                         ksft_eq, ksft_ge, ksft_true, new_sim, of_dev, run)


def listener():
    family = NetdevFamily()
    family.ntf_subscribe("page-pool")
    return family


def detach_time(family):
    sim = new_sim()
    sim.hold()
    live = of_dev(family, sim)
    ksft_eq(len(live), 1)
    ksft_true("detach-time" not in live[0])

    before = int(boottime())
    sim.down()
    after = boottime()
    dying = of_dev(family, sim)
    ksft_eq(ids(dying), ids(live))
    ksft_ge(dying[0]["detach-time"], before)
    ksft_ge(after, dying[0]["detach-time"])
    ksft_eq(dying[0]["inflight"], 1)
    ksft_eq(dying[0]["inflight-mem"] % 4096, 0)
    ksft_ge(dying[0]["inflight-mem"], 4096)

    # it stays what it was while it waits
    sim.up()
    ksft_eq([pool["detach-time"] for pool in of_dev(family, sim)
             if "detach-time" in pool], [dying[0]["detach-time"]])

    sim.release()
    gone(family, ids(live)[0])


def notifications(family):
    ears = listener()
    sim = new_sim()
    pool_id = ids(of_dev(family, sim))[0]
    said = heard(ears, pool_id)
    ksft_eq([name for name, _ in said], ["page-pool-add-ntf"])
    ksft_eq(said[0][1]["ifindex"], sim.ifindex)
    ksft_true("detach-time" not in said[0][1])

    sim.hold()
    sim.down()
    said = heard(ears, pool_id)
    ksft_eq([name for name, _ in said], ["page-pool-change-ntf"])
    ksft_true("detach-time" in said[0][1])
    ksft_eq(said[0][1]["inflight"], 1)

    sim.release()
    gone(family, pool_id)
    said = heard(ears, pool_id)
    ksft_eq([name for name, _ in said], ["page-pool-del-ntf"])
    ksft_eq(said[0][1]["inflight"], 0)

    # nothing out: created and deleted, never seen to be detached
    sim.up()
    pool_id = ids(of_dev(family, sim))[0]
    sim.down()
    ksft_eq([name for name, _ in heard(ears, pool_id)],
            ["page-pool-add-ntf", "page-pool-del-ntf"])


def nobody_else_hears(_family):
    """A namespace is not told of the pools of another one."""
    with Netns():
        ears = listener()
    sim = new_sim()
    sim.down()
    ears.check_ntf()
    ksft_eq(ears.async_msg_queue, [])
    ears.sock.close()


if __name__ == "__main__":
    run(detach_time, notifications, nobody_else_hears)
