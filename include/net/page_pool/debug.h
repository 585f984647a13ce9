/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_pool: what CONFIG_DEBUG_PAGE_POOL asks from outside of the pool
 */
#ifndef _NET_PAGE_POOL_DEBUG_H
#define _NET_PAGE_POOL_DEBUG_H

#include <linux/atomic.h>
#include <linux/types.h>

struct page;

#ifdef CONFIG_DEBUG_PAGE_POOL
bool page_pool_debug_unref(const atomic_long_t *refs, long nr);
bool page_pool_debug_free_page(struct page *page);
#else
static inline bool page_pool_debug_unref(const atomic_long_t *refs, long nr)
{
	return true;
}

static inline bool page_pool_debug_free_page(struct page *page)
{
	return true;
}
#endif

#endif /* _NET_PAGE_POOL_DEBUG_H */
