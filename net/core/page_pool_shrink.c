// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: what idle pools have parked goes back when memory is short
 *
 * A pool is idle when nothing was allocated from it since the shrinker last
 * looked. Its ring may hold up to 16384 pages for nothing. Only these leave: the
 * array is the consumer's alone, and stages are empty outside of softirqs.
 *
 * The shrinker runs where memory is wanted, which may be the allocation of a
 * pool, or in the middle of a netlink dump of the pools. So it waits for no lock:
 * that of the list of pools and the consumer's of a ring it only tries. The last
 * page of a pool that was destroyed leaves to a work item what takes more.
 */

#include <kunit/visibility.h>
#include <linux/init.h>
#include <linux/shrinker.h>

#include "page_pool_priv.h"
#include "page_pool_shrink.h"

struct page_pool_shrink_walk {
	int nid;
	unsigned long pages;		/* in units of PAGE_SIZE: counted, or freed */
	unsigned long want;
};

/* Is there anything in @pool for the shrinker of node @nid? Providers' memory is
 * of no use to anybody else.
 */
static bool page_pool_shrinks(const struct page_pool *pool, int nid)
{
	return !pool->mp_ops &&
	       (!IS_ENABLED(CONFIG_NUMA) || READ_ONCE(pool->nid_served) == nid);
}

/* An allocation changes the number of pages in the array or, where the numbers
 * happen to be the same again, mostly that of pages that have ever entered it.
 */
static bool page_pool_is_idle(const struct page_pool *pool)
{
	return READ_ONCE(pool->fill) == pool->shrink.fill &&
	       READ_ONCE(pool->pages_state_hold_cnt) == pool->shrink.hold_cnt;
}

static void page_pool_shrink_look(struct page_pool *pool, void *data)
{
	struct page_pool_shrink_walk *walk = data;
	u32 size;

	if (!page_pool_shrinks(pool, walk->nid))
		return;

	if (page_pool_is_idle(pool)) {
		walk->pages += (unsigned long)page_pool_ring_count(&pool->ring,
								   &size)
			       << pool->p.order;
		return;
	}

	pool->shrink.fill = READ_ONCE(pool->fill);
	pool->shrink.hold_cnt = READ_ONCE(pool->pages_state_hold_cnt);
}

static void page_pool_shrink_one(struct page_pool *pool, void *data)
{
	struct page_pool_shrink_walk *walk = data;
	unsigned int order = pool->p.order;
	unsigned long n;

	if (walk->pages >= walk->want ||
	    !page_pool_shrinks(pool, walk->nid) || !page_pool_is_idle(pool))
		return;

	n = ((walk->want - walk->pages - 1) >> order) + 1;
	n = page_pool_shrink_ring(pool, min_t(unsigned long, n, U32_MAX));
	walk->pages += n << order;
}

VISIBLE_IF_KUNIT unsigned long
page_pool_shrink_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct page_pool_shrink_walk walk = { .nid = sc->nid };

	page_pool_try_each(page_pool_shrink_look, &walk);

	return walk.pages ?: SHRINK_EMPTY;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_shrink_count);

VISIBLE_IF_KUNIT unsigned long
page_pool_shrink_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct page_pool_shrink_walk walk = {
		.nid = sc->nid,
		.want = sc->nr_to_scan,
	};

	if (!page_pool_try_each(page_pool_shrink_one, &walk))
		return SHRINK_STOP;

	sc->nr_scanned = max(walk.pages, 1UL);

	return walk.pages ?: SHRINK_STOP;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_shrink_scan);

static int __init page_pool_shrink_init(void)
{
	struct shrinker *shrinker;

	shrinker = shrinker_alloc(SHRINKER_NUMA_AWARE, "page_pool");
	if (!shrinker)
		return -ENOMEM;

	shrinker->count_objects = page_pool_shrink_count;
	shrinker->scan_objects = page_pool_shrink_scan;
	/* Nothing is lost with a page: the next allocation brings another. */
	shrinker->seeks = 0;
	shrinker_register(shrinker);

	return 0;
}
subsys_initcall(page_pool_shrink_init);
