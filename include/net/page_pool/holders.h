/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What page_pool_holders.c asks of others about packets that wait with them
 */
#ifndef _NET_PAGE_POOL_HOLDERS_H
#define _NET_PAGE_POOL_HOLDERS_H

#include <linux/types.h>

struct bpf_map;

int cpu_map_peek(struct bpf_map *map, u32 cpu, u32 *pos, void **frames, int max);

#endif /* _NET_PAGE_POOL_HOLDERS_H */
