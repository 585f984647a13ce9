# SPDX-License-Identifier: GPL-2.0
"""Netlink messages as kernels send them, for test/replay.c.

Numbers are written down here once more, and not taken from netdev.yaml: a program that
was built with a wrong one must not be tested with the same.
"""

import struct

# linux/genetlink.h
CTRL_FAMILY_ID, CTRL_FAMILY_NAME, CTRL_MCAST_GROUPS = 1, 2, 7
GRP_NAME, GRP_ID = 1, 2

# linux/netdev.h: commands
POOL_GET, POOL_ADD, POOL_DEL, POOL_CHANGE, STATS_GET, QUEUE_GET = 5, 6, 7, 8, 9, 10
HOLDERS_GET = 64

# Attributes of a pool in 6.8 to 6.12, that which newer kernels append (7.x), ours.
POOL = {"id": 1, "ifindex": 2, "napi": 3, "inflight": 4, "inflight_mem": 5,
        "detach": 6, "dmabuf": 7, "io_uring": 8, "detail": 64}
DETAIL = {"dev_name": 1, "order": 2, "node": 3, "flags": 4, "ring_size": 5,
          "array": 6, "staged": 7, "ring": 8, "held": 9, "allocated": 10,
          "released": 11, "age": 12}
STATS = {"info": 1, "alloc_fast": 8, "alloc_slow": 9, "alloc_slow_high_order": 10,
         "alloc_empty": 11, "alloc_refill": 12, "alloc_waive": 13,
         "recycle_cached": 14, "recycle_cache_full": 15, "recycle_ring": 16,
         "recycle_ring_full": 17, "recycle_released_refcnt": 18, "detail": 64}
STATS_DETAIL = {"recycle_released_pfmemalloc": 1, "recycle_released_nid": 2, "cpu": 3}
CPU = {"cpu": 1, "recycle_cached": 2, "recycle_cache_full": 3, "recycle_ring": 4,
       "recycle_ring_full": 5, "recycle_released_refcnt": 6,
       "recycle_released_pfmemalloc": 7, "recycle_released_nid": 8}
HOLDERS = {"id": 1, "scan": 2, "pools": 3, "held": 4, "several": 5, "returned": 6,
           "kind": 7, "pages": 8, "shared": 9, "age": 10, "exact": 11, "partial": 12,
           "netns": 13, "pid": 14, "comm": 15, "inode": 16, "family": 17, "protocol": 18,
           "local_addr": 19, "local_port": 20, "remote_addr": 21, "remote_port": 22, "cpu": 23}
KINDS = {"unknown": 0, "fragment": 1, "socket-receive": 2, "socket-ofo": 3, "socket-backlog": 4,
         "cpu-defer": 5, "cpu-backlog": 6, "cpumap": 7}
QUEUE = {"id": 1, "ifindex": 2, "type": 3, "napi": 4}

FAMILY_TYPE = 0x20
NLM_F_MULTI, NLM_F_DUMP_INTR, NLA_F_NESTED = 2, 16, 0x8000
FAMILY, ANSWER, ERROR, EVENT, LOST, NAME, TIME, USER, RING = range(1, 10)


def attr(kind, data):
    return struct.pack("=HH", len(data) + 4, kind) + data + bytes(-len(data) % 4)


def u32(kind, v):
    return attr(kind, struct.pack("=I", v))


def uint(kind, v):
    return attr(kind, struct.pack("=I" if v < 1 << 32 else "=Q", v))


def string(kind, v):
    return attr(kind, v.encode("utf-8", "surrogateescape") + b"\0")


def nest(kind, *parts):
    return attr(kind | NLA_F_NESTED, b"".join(parts))


def message(cmd, data, flags=NLM_F_MULTI):
    body = struct.pack("=BBH", cmd, 1, 0) + data
    return struct.pack("=IHHII", len(body) + 16, FAMILY_TYPE, flags, 0, 0) + body


def pool(detail=None, newer=b"", **values):
    """The attributes of a pool; those of .newer come where a kernel appends them."""
    out = b""
    for name, v in values.items():
        out += (u32 if name in ("ifindex", "dmabuf") else uint)(POOL[name], v)
    out += newer
    if detail is not None:
        parts = []
        for name, v in detail.items():
            kind = DETAIL[name]
            if name == "dev_name":
                parts.append(string(kind, v))
            elif name in ("allocated", "released", "age"):
                parts.append(uint(kind, v))
            else:
                parts.append(u32(kind, v & 0xffffffff))
        out += nest(POOL["detail"], *parts)
    return out


def stats(ident, detail=None, cpus=(), newer=b"", ifindex=None, **values):
    info = uint(POOL["id"], ident)
    if ifindex:
        info += u32(POOL["ifindex"], ifindex)
    out = nest(STATS["info"], info)
    for name, v in values.items():
        out += uint(STATS[name], v)
    out += newer
    if detail is not None:
        parts = [uint(STATS_DETAIL[name], v) for name, v in detail.items()]
        for cpu in cpus:
            parts.append(nest(STATS_DETAIL["cpu"], *(
                (u32 if name == "cpu" else uint)(CPU[name], v)
                for name, v in cpu.items())))
        out += nest(STATS["detail"], *parts)
    return out


def holder(**values):
    """One message about holders: True is a flag, bytes are an address."""
    out = b""
    for name, v in values.items():
        kind = HOLDERS[name]
        if v is True:
            out += attr(kind, b"")
        elif isinstance(v, bytes):
            out += attr(kind, v)
        elif name == "comm":
            out += string(kind, v)
        elif name in ("id", "age", "inode"):
            out += uint(kind, v)
        else:
            out += u32(kind, KINDS.get(v, v))
    return out


class Kernel:
    """What a kernel answers; write() makes it a file."""

    def __init__(self, time=1000.0):
        self.records = []
        groups = nest(CTRL_MCAST_GROUPS,
                      nest(1, u32(GRP_ID, 8), string(GRP_NAME, "mgmt")),
                      nest(2, u32(GRP_ID, 9), string(GRP_NAME, "page-pool")))
        self.add(FAMILY, 0, attr(CTRL_FAMILY_ID, struct.pack("=H", FAMILY_TYPE))
                 + string(CTRL_FAMILY_NAME, "netdev") + groups)
        self.add(TIME, 0, struct.pack("=d", time))

    def add(self, kind, arg, data=b""):
        self.records.append(struct.pack("=III", kind, arg, len(data)) + data)
        return self

    def pools(self, *pools, flags=NLM_F_MULTI):
        return self.add(ANSWER, POOL_GET, b"".join(
            message(POOL_GET, p, flags) for p in pools))

    def stats(self, *all_stats, flags=NLM_F_MULTI):
        return self.add(ANSWER, STATS_GET, b"".join(
            message(STATS_GET, s, flags) for s in all_stats))

    def holders(self, *messages):
        return self.add(ANSWER, HOLDERS_GET, b"".join(
            message(HOLDERS_GET, x) for x in messages))

    def ring(self, descriptors):
        return self.add(RING, descriptors)

    def queues(self, *queues):
        """(ifindex, id, napi, type)"""
        return self.add(ANSWER, QUEUE_GET, b"".join(
            message(QUEUE_GET, u32(1, q[1]) + u32(3, q[3]) + u32(4, q[2]) + u32(2, q[0]))
            for q in queues))

    def error(self, cmd, number):
        return self.add(ERROR, cmd, struct.pack("=i", number))

    def event(self, cmd, data):
        return self.add(EVENT, 0, message(cmd, data, 0))

    def lost(self):
        return self.add(LOST, 0)

    def name(self, ifindex, name):
        return self.add(NAME, ifindex, name.encode("utf-8", "surrogateescape"))

    def user(self, uid):
        return self.add(USER, uid)

    def write(self, path):
        with open(path, "wb") as f:
            f.write(b"".join(self.records))
