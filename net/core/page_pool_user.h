/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What page_pool_user.c shows of itself to its KUnit suite. Everything here is
 * static there unless the kernel is built with CONFIG_KUNIT.
 */
#ifndef __PAGE_POOL_USER_H
#define __PAGE_POOL_USER_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct genl_info;
struct net;
struct page_pool;
struct sk_buff;

/**
 * struct page_pool_nl_reader - who asks
 * @net: his namespace
 * @admin: it is the initial one, and he may administer it: he is shown what
 *	no namespace is shown, too
 */
struct page_pool_nl_reader {
	const struct net *net;
	bool admin;
};

typedef int page_pool_nl_fill_fn(struct sk_buff *msg,
				 const struct page_pool *pool,
				 const struct genl_info *info);

/**
 * struct page_pool_stalled_line - what the log says about stalled pools
 * @pools: how many there are
 * @pages: how many pages are out, in units of PAGE_SIZE
 * @oldest: jiffies64 of when the first of them got stuck
 * @id: id of that one
 */
struct page_pool_stalled_line {
	unsigned int pools;
	u64 pages;
	u64 oldest;
	u32 id;
};

#if IS_ENABLED(CONFIG_KUNIT)
extern struct mutex page_pools_lock;

page_pool_nl_fill_fn page_pool_nl_fill;
page_pool_nl_fill_fn page_pool_nl_stats_fill;
int page_pool_nl_dump(struct sk_buff *msg,
		      const struct page_pool_nl_reader *reader, int ifindex,
		      unsigned long *next, const struct genl_info *info,
		      page_pool_nl_fill_fn *fill);

extern unsigned int page_pool_nl_nest_max;
extern struct delayed_work page_pool_stalled_timer;
extern unsigned long page_pool_stalled_after;
unsigned long page_pool_stalled_look(u64 now,
				     struct page_pool_stalled_line *line);
#endif

#endif /* __PAGE_POOL_USER_H */
