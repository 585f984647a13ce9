// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: counters
 *
 * Allocation is counted in the pool, by its one consumer; recycling per pool
 * and CPU, since any CPU recycles. What is counted where it happens is added
 * up when somebody reads.
 */
#include <linux/ethtool.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "page_pool_priv.h"

/* The per-CPU pools of the core share one set: a set for each of them would
 * grow with the square of the number of CPUs.
 */
static DEFINE_PER_CPU_ALIGNED(struct page_pool_recycle_pcpu,
			      page_pool_system_recycle_stats);

/* Names and order are ABI; new counters are appended. ethtool has room for 31
 * characters, so the name of released_pfmemalloc is cut short.
 */
#define PP_STAT(group, field, name) {					\
	.offset = offsetof(struct page_pool_stats, group.field),	\
	.string = "rx_pp_" name,					\
}

static const struct {
	u16 offset;
	char string[ETH_GSTRING_LEN];
} page_pool_stat_table[] = {
	PP_STAT(alloc_stats, fast, "alloc_fast"),
	PP_STAT(alloc_stats, slow, "alloc_slow"),
	PP_STAT(alloc_stats, slow_high_order, "alloc_slow_ho"),
	PP_STAT(alloc_stats, empty, "alloc_empty"),
	PP_STAT(alloc_stats, refill, "alloc_refill"),
	PP_STAT(alloc_stats, waive, "alloc_waive"),
	PP_STAT(recycle_stats, cached, "recycle_cached"),
	PP_STAT(recycle_stats, cache_full, "recycle_cache_full"),
	PP_STAT(recycle_stats, ring, "recycle_ring"),
	PP_STAT(recycle_stats, ring_full, "recycle_ring_full"),
	PP_STAT(recycle_stats, released_refcnt, "recycle_released_ref"),
	PP_STAT(recycle_stats, released_pfmemalloc, "recycle_released_pfmem"),
	PP_STAT(recycle_stats, released_nid, "recycle_released_nid"),
};

/* Both structs hold u64 and nothing else, so they add up word by word. */
static_assert(sizeof(struct page_pool_stats) ==
	      ARRAY_SIZE(page_pool_stat_table) * sizeof(u64));

static void page_pool_stats_accumulate(void *to, const void *from, size_t size)
{
	const u64 *src = from;
	u64 *dst = to;
	size_t i;

	for (i = 0; i < size / sizeof(u64); i++)
		dst[i] += src[i];
}

int page_pool_stats_init(struct page_pool *pool)
{
	int cpu;

	u64_stats_init(&pool->alloc_syncp);

	if (pool->slow.flags & PP_FLAG_SYSTEM_POOL) {
		pool->system = true;
		pool->recycle_stats = &page_pool_system_recycle_stats;
		return 0;
	}

	/* A line of its own, or counting would touch two of them. */
	pool->recycle_stats =
		__alloc_percpu(sizeof(*pool->recycle_stats), SMP_CACHE_BYTES);
	if (!pool->recycle_stats)
		return -ENOMEM;

	for_each_possible_cpu(cpu)
		u64_stats_init(&per_cpu_ptr(pool->recycle_stats, cpu)->syncp);

	return 0;
}

void page_pool_stats_uninit(struct page_pool *pool)
{
	if (!pool->system)
		free_percpu(pool->recycle_stats);
}

/**
 * page_pool_get_stats() - add a pool's counters to those of the caller
 * @pool:	pool to read
 * @stats:	where to add; the caller has set it to zero, or to what he has
 *		of other pools
 *
 * The pool may be in use; each counter is then read whole, but not all of
 * them at the same moment. The per-CPU pools of the core share their
 * recycling counters: their sum counts those once per pool.
 *
 * Context: Any but hardirq; the caller keeps the pool from being destroyed.
 *
 * Return: false if @pool or @stats is NULL and nothing was done, else true.
 */
bool page_pool_get_stats(const struct page_pool *pool,
			 struct page_pool_stats *stats)
{
	struct page_pool_recycle_stats recycle;
	struct page_pool_alloc_stats alloc;
	unsigned int start;
	int cpu;

	if (!pool || !stats)
		return false;

	do {
		start = u64_stats_fetch_begin(&pool->alloc_syncp);
		alloc = pool->alloc_stats;
	} while (u64_stats_fetch_retry(&pool->alloc_syncp, start));
	page_pool_stats_accumulate(&stats->alloc_stats, &alloc, sizeof(alloc));

	for_each_possible_cpu(cpu) {
		const struct page_pool_recycle_pcpu *pcpu =
			per_cpu_ptr(pool->recycle_stats, cpu);

		do {
			start = u64_stats_fetch_begin(&pcpu->syncp);
			recycle = pcpu->stats;
		} while (u64_stats_fetch_retry(&pcpu->syncp, start));
		page_pool_stats_accumulate(&stats->recycle_stats, &recycle,
					   sizeof(recycle));
	}

	return true;
}
EXPORT_SYMBOL(page_pool_get_stats);

/**
 * page_pool_ethtool_stats_get_strings() - names of the counters for ethtool
 * @data:	where the names go, page_pool_ethtool_stats_get_count() times
 *		ETH_GSTRING_LEN bytes
 *
 * Context: Any.
 *
 * Return: the end of what was written.
 */
u8 *page_pool_ethtool_stats_get_strings(u8 *data)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(page_pool_stat_table); i++)
		ethtool_puts(&data, page_pool_stat_table[i].string);

	return data;
}
EXPORT_SYMBOL(page_pool_ethtool_stats_get_strings);

/**
 * page_pool_ethtool_stats_get_count() - number of counters for ethtool
 *
 * Context: Any.
 *
 * Return: how many names and values there are.
 */
int page_pool_ethtool_stats_get_count(void)
{
	return ARRAY_SIZE(page_pool_stat_table);
}
EXPORT_SYMBOL(page_pool_ethtool_stats_get_count);

/**
 * page_pool_ethtool_stats_get() - values of the counters for ethtool
 * @data:	where the values go
 * @stats:	struct page_pool_stats, filled by page_pool_get_stats()
 *
 * Context: Any.
 *
 * Return: the end of what was written.
 */
u64 *page_pool_ethtool_stats_get(u64 *data, const void *stats)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(page_pool_stat_table); i++)
		*data++ = *(const u64 *)(stats + page_pool_stat_table[i].offset);

	return data;
}
EXPORT_SYMBOL(page_pool_ethtool_stats_get);

/**
 * page_pool_stats_sum_init() - prepare a sum before its first pool
 * @sum:	sum to prepare, all counters zero
 *
 * Context: Any.
 */
void page_pool_stats_sum_init(struct page_pool_stats_sum *sum)
{
	spin_lock_init(&sum->lock);
	INIT_LIST_HEAD(&sum->pools);
	memset(&sum->past, 0, sizeof(sum->past));
}
EXPORT_SYMBOL(page_pool_stats_sum_init);

/**
 * page_pool_stats_sum_add() - count a pool in a sum, for its life and beyond
 * @sum:	the sum; it must stay until page_pool_destroy() of all its pools
 *		has returned
 * @pool:	pool that was just created and is in no sum yet
 *
 * The pool's counters stay in the sum when it is destroyed. Pages that are
 * still in use at that time are counted as ring_full there and then.
 *
 * Context: Any but hardirq.
 */
void page_pool_stats_sum_add(struct page_pool_stats_sum *sum,
			     struct page_pool *pool)
{
	if (WARN_ON_ONCE(pool->sum))
		return;

	spin_lock_bh(&sum->lock);
	pool->sum = sum;
	list_add_tail(&pool->sum_node, &sum->pools);
	spin_unlock_bh(&sum->lock);
}
EXPORT_SYMBOL(page_pool_stats_sum_add);

/* Pages that were handed out and whose last put was not counted yet */
static u64 page_pool_stats_out(const struct page_pool_stats *stats)
{
	const struct page_pool_recycle_stats *recycle = &stats->recycle_stats;
	const struct page_pool_alloc_stats *alloc = &stats->alloc_stats;

	return alloc->fast + alloc->slow + alloc->slow_high_order +
	       alloc->refill - recycle->cached - recycle->ring -
	       recycle->ring_full - recycle->released_refcnt -
	       recycle->released_pfmemalloc - recycle->released_nid;
}

/* The pool is being destroyed: move what it has counted to the past. Under the
 * lock, so that a reader sees it in one place or the other.
 *
 * Nobody will hear of the pages that are still out, but it is known what will
 * become of them: they leave. Counted as that now, the sum adds up for the
 * pools that come after.
 */
void page_pool_stats_fold(struct page_pool *pool)
{
	struct page_pool_stats_sum *sum = pool->sum;
	struct page_pool_stats last = {};
	s64 out;

	if (!sum)
		return;

	spin_lock_bh(&sum->lock);
	page_pool_get_stats(pool, &last);
	out = page_pool_stats_out(&last);
	if (out > 0)
		last.recycle_stats.ring_full += out;
	page_pool_stats_accumulate(&sum->past, &last, sizeof(last));
	list_del(&pool->sum_node);
	pool->sum = NULL;
	spin_unlock_bh(&sum->lock);
}

/**
 * page_pool_stats_sum_get() - add a sum's counters to those of the caller
 * @sum:	sum to read
 * @stats:	where to add
 *
 * No counter is ever lower than at an earlier call.
 *
 * Context: Any but hardirq.
 */
void page_pool_stats_sum_get(struct page_pool_stats_sum *sum,
			     struct page_pool_stats *stats)
{
	const struct page_pool *pool;

	spin_lock_bh(&sum->lock);
	page_pool_stats_accumulate(stats, &sum->past, sizeof(sum->past));
	list_for_each_entry(pool, &sum->pools, sum_node)
		page_pool_get_stats(pool, stats);
	spin_unlock_bh(&sum->lock);
}
EXPORT_SYMBOL(page_pool_stats_sum_get);

/**
 * page_pool_ethtool_stats_sum_get() - values of a sum's counters for ethtool
 * @data:	where the values go
 * @sum:	sum to read
 *
 * Context: Any but hardirq.
 *
 * Return: the end of what was written.
 */
u64 *page_pool_ethtool_stats_sum_get(u64 *data,
				     struct page_pool_stats_sum *sum)
{
	struct page_pool_stats stats = {};

	page_pool_stats_sum_get(sum, &stats);

	return page_pool_ethtool_stats_get(data, &stats);
}
EXPORT_SYMBOL(page_pool_ethtool_stats_sum_get);
