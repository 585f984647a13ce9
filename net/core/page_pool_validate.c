// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: is all as it has to be?
 *
 * Checks what the top of page_pool.c, page_pool_priv.h and page_pool_dma.c say
 * holds for a pool that nobody uses just now. For tests: it looks at every page.
 */
#include <linux/export.h>
#include <linux/percpu.h>

#include <net/page_pool/helpers.h>

#include "page_pool_priv.h"

/* Pool references of a page that was looked at: no user has so few. */
#define PP_SEEN		(-1L)

struct page_pool_walk {
	struct page_pool *pool;
	const char *wrong;	/* what was found first */
	u32 pages;
};

static bool page_pool_wrong(struct page_pool_walk *w, bool wrong,
			    const char *what)
{
	if (wrong && !w->wrong)
		w->wrong = what;

	return wrong;
}

/* Is a page on a node that it cannot be on? Providers have no nodes. */
static bool page_pool_foreign(const struct page_pool *pool,
			      const struct page *page)
{
	int nid = page_to_nid(page);

	return IS_ENABLED(CONFIG_NUMA) && !pool->mp_ops && !pool->node_check &&
	       nid != pool->nid_want && nid != pool->nid_served;
}

/* Has the pool forgotten to map a page? */
static bool page_pool_unmapped(struct page_pool *pool, struct page *page)
{
	return pool->dma_map && !pool->mp_ops && !pool->destroyed &&
	       !page_pool_dma_is_mapped(pool, page);
}

static void page_pool_check_parked(struct page_pool_walk *w, netmem_ref netmem)
{
	struct page_pool *pool = w->pool;
	atomic_long_t *refs;
	struct page *page;

	if (page_pool_wrong(w, !netmem, "nothing where a page should be"))
		return;
	if (page_pool_wrong(w, netmem_get_pp(netmem) != pool,
			    "a page of another pool is parked") ||
	    page_pool_wrong(w, !netmem_is_pp(netmem),
			    "a page is parked without its mark"))
		return;

	refs = netmem_get_pp_ref_count_ref(netmem);
	if (page_pool_wrong(w, atomic_long_read(refs) == PP_SEEN,
			    "a page is in two places") ||
	    page_pool_wrong(w, atomic_long_read(refs) != PP_PARKED_REFS,
			    "a page is parked that has users"))
		return;
	atomic_long_set(refs, PP_SEEN);
	w->pages++;

	if (netmem_is_net_iov(netmem))
		return;

	page = netmem_to_page(netmem);
	page_pool_wrong(w, page_ref_count(page) != 1,
			"a page is parked that others refer to");
	page_pool_wrong(w, page_pool_foreign(pool, page),
			"a page is on a node that nobody looks for");
	page_pool_wrong(w, page_pool_unmapped(pool, page),
			"a page is parked without a mapping");
}

/* The page allocator may have served from its reserve, but such a page is not
 * put to its pool again.
 */
static void page_pool_check_put(struct page_pool_walk *w, netmem_ref netmem)
{
	page_pool_check_parked(w, netmem);
	if (!netmem || netmem_is_net_iov(netmem))
		return;

	page_pool_wrong(w, page_is_pfmemalloc(netmem_to_page(netmem)),
			"a page of the emergency reserve was parked");
}

static void page_pool_unsee(struct page_pool_walk *w, netmem_ref netmem)
{
	atomic_long_t *refs;

	if (!netmem)
		return;

	refs = netmem_get_pp_ref_count_ref(netmem);
	if (atomic_long_read(refs) == PP_SEEN)
		atomic_long_set(refs, PP_PARKED_REFS);
}

typedef void (*page_pool_visit)(struct page_pool_walk *w, netmem_ref netmem);

static void page_pool_walk_array(struct page_pool_walk *w,
				 page_pool_visit visit)
{
	u32 i;

	for (i = 0; i < page_pool_array_count(w->pool); i++)
		visit(w, w->pool->cache[i]);
}

/* From the tail on: slots that were consumed but not given back yet, entries,
 * empty slots.
 */
static void page_pool_walk_ring(struct page_pool_walk *w, page_pool_visit visit)
{
	struct ptr_ring *r = &w->pool->ring;
	int stale = r->consumer_head - r->consumer_tail;
	int at = r->consumer_head, n = 0, i;

	if (!r->size)
		return;

	if (r->producer < 0 || r->producer >= r->size ||
	    r->consumer_tail < 0 || stale < 0 || r->consumer_head >= r->size) {
		page_pool_wrong(w, true, "the ring's positions are beyond it");
		return;
	}

	for (; n < r->size - stale && r->queue[at]; n++) {
		visit(w, (__force netmem_ref)r->queue[at]);
		at = (at + 1) % r->size;
	}
	page_pool_wrong(w, at != r->producer,
			"the ring's entries do not end at its producer");
	for (i = n; i < r->size - stale; i++) {
		page_pool_wrong(w, r->queue[at], "the ring has a gap");
		at = (at + 1) % r->size;
	}
}

static void page_pool_walk_stages(struct page_pool_walk *w,
				  page_pool_visit visit)
{
	struct page_pool *pool = w->pool;
	u32 i;
	int cpu;

	if (pool->slow.flags & PP_FLAG_SYSTEM_POOL)
		return;

	for_each_possible_cpu(cpu) {
		struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, cpu);
		u32 n = pcpu->stage_next;

		page_pool_wrong(w, pcpu->pool && pcpu->pool != pool,
				"a stage belongs to another pool");
		if (n == PP_STAGE_SIZE)
			continue;
		/* A full stage is published at once. */
		if (page_pool_wrong(w, n > PP_STAGE_SIZE || !pcpu->pool,
				    "a stage is used that is none"))
			continue;
		for (i = 0; i < n; i++)
			visit(w, pcpu->staged[i]);
	}
}

static void page_pool_check_frag(struct page_pool_walk *w)
{
	struct page_pool *pool = w->pool;
	netmem_ref netmem = pool->frag_page;
	bool bad;
	long refs;

	if (!netmem) {
		page_pool_wrong(w, pool->frag_offset != PP_FRAG_CLOSED,
				"fragments could be cut off no page");
		return;
	}

	refs = atomic_long_read(netmem_get_pp_ref_count_ref(netmem));
	page_pool_wrong(w, netmem_get_pp(netmem) != pool,
			"the open page is another pool's");
	bad = pool->frag_users < 1 ||
	      pool->frag_offset > PAGE_SIZE << pool->p.order;
	page_pool_wrong(w, bad, "the open page has no fragments, or too many");
	page_pool_wrong(w, refs < PP_FRAG_BIAS - pool->frag_users,
			"more of the open page was given back than handed out");
}

/* Every page handed out, and every page that came home, is counted once. Pages
 * in a stage count as those of users.
 */
static void page_pool_check_counters(struct page_pool_walk *w, u32 parked)
{
#ifdef CONFIG_PAGE_POOL_STATS
	struct page_pool *pool = w->pool;
	struct page_pool_stats s = {};
	u64 out, home;

	/* They share their counters. */
	if (pool->slow.flags & PP_FLAG_SYSTEM_POOL)
		return;

	page_pool_get_stats(pool, &s);
	out = s.alloc_stats.fast + s.alloc_stats.slow +
	      s.alloc_stats.slow_high_order + s.alloc_stats.refill;
	home = s.recycle_stats.cached + s.recycle_stats.ring +
	       s.recycle_stats.ring_full + s.recycle_stats.released_refcnt +
	       s.recycle_stats.released_pfmemalloc +
	       s.recycle_stats.released_nid;
	page_pool_wrong(w, out - home != page_pool_inflight(pool, false) - parked,
			"the counters do not add up");
#endif
}

/**
 * page_pool_validate() - check a whole pool
 * @pool:	pool that nobody uses until this returns; its pages may be out
 *
 * Context: Any. Not fast.
 *
 * Return: NULL, or what is wrong, in words.
 */
const char *page_pool_validate(struct page_pool *pool)
{
	struct page_pool_walk w = { .pool = pool };
	u32 hold = pool->pages_state_hold_cnt, parked;
	s32 inflight;

	inflight = hold - (u32)atomic_read(&pool->pages_state_release_cnt);

	if (page_pool_array_count(pool) > PP_ALLOC_CACHE_SIZE)
		return "the array has more pages than room";

	page_pool_walk_array(&w, page_pool_check_parked);
	page_pool_walk_ring(&w, page_pool_check_put);
	parked = w.pages;
	page_pool_walk_stages(&w, page_pool_check_put);
	page_pool_check_frag(&w);
	page_pool_walk_array(&w, page_pool_unsee);
	page_pool_walk_ring(&w, page_pool_unsee);
	page_pool_walk_stages(&w, page_pool_unsee);

	page_pool_wrong(&w, inflight < 0, "more pages left than entered");
	page_pool_wrong(&w, (s32)w.pages + !!pool->frag_page > inflight,
			"more pages are here than have entered");
	page_pool_wrong(&w, pool->nid_recheck && !pool->node_check,
			"pages are looked for that puts let pass");
	if (pool->destroyed)
		page_pool_wrong(&w, parked || pool->ring.size || pool->frag_page,
				"a pool that was destroyed has pages");
	else
		page_pool_wrong(&w, pool->nid_recheck > pool->ring.size,
				"more is looked for in the ring than it holds");
	if (!w.wrong)
		w.wrong = page_pool_dma_validate(pool, inflight);
	page_pool_check_counters(&w, parked);

	return w.wrong;
}
EXPORT_SYMBOL_NS_GPL(page_pool_validate, PAGE_POOL_INTERNAL);
