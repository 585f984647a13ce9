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

/* Read counters that others may be counting. Word by word: each is read whole,
 * which a copy of the structure need not do. (32-bit machines look again.)
 */
static void page_pool_stats_read(void *to, const void *from, size_t size,
				 const struct u64_stats_sync *syncp)
{
	const unsigned long *src = from;
	unsigned long *dst = to;
	unsigned int start;
	size_t i;

	do {
		start = u64_stats_fetch_begin(syncp);
		for (i = 0; i < size / sizeof(long); i++)
			dst[i] = READ_ONCE(src[i]);
	} while (u64_stats_fetch_retry(syncp, start));
}

/* What the array's fill word counts. Exact at the moment it was read, also if
 * that is in the middle of page_pool_array_move().
 */
static void page_pool_get_array_stats(const struct page_pool *pool,
				      struct page_pool_stats *stats)
{
#if PP_FILL_IS_COUNTED
	unsigned long fill, entered;
	u64 base;
	u32 seq;

	/* A base may be written over while we look, by the next move but one.
	 * The order of the reads is that of page_pool_array_move() reversed.
	 */
	do {
		seq = READ_ONCE(pool->fill_seq);
		smp_rmb(); /* pairs with that before the sequence is written */
		fill = READ_ONCE(pool->fill);
		smp_rmb(); /* pairs with that before the fill word is written */
		base = READ_ONCE(pool->fill_base[!!(fill & PP_FILL_BASE)]);
		smp_rmb(); /* pairs with that before a base is written */
	} while (unlikely(seq != READ_ONCE(pool->fill_seq)));

	entered = fill >> PP_FILL_ENTERED_SHIFT;
	stats->alloc_stats.fast += entered - (fill & PP_FILL_COUNT);
	stats->recycle_stats.cached += entered - base;
#endif
}

/**
 * page_pool_get_cpu_stats() - read what one CPU has counted
 * @pool:	pool to read
 * @cpu:	a possible CPU
 * @stats:	where to store it
 *
 * On 64-bit machines that is without @cached, see PP_FILL_COUNT.
 *
 * Context: Any but hardirq.
 */
void page_pool_get_cpu_stats(const struct page_pool *pool, int cpu,
			     struct page_pool_recycle_stats *stats)
{
	const struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, cpu);

	page_pool_stats_read(stats, &pcpu->stats, sizeof(*stats), &pcpu->syncp);
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
	int cpu;

	if (!pool || !stats)
		return false;

	page_pool_stats_read(&alloc, &pool->alloc_stats, sizeof(alloc),
			     &pool->alloc_syncp);
	page_pool_stats_accumulate(&stats->alloc_stats, &alloc, sizeof(alloc));
	page_pool_get_array_stats(pool, stats);

	for_each_possible_cpu(cpu) {
		page_pool_get_cpu_stats(pool, cpu, &recycle);
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
