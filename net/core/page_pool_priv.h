/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PAGE_POOL_PRIV_H
#define __PAGE_POOL_PRIV_H

#include <linux/percpu.h>
#include <net/page_pool/helpers.h>

#include "netmem_priv.h"

struct net;
struct netdev_rx_queue;
struct sk_buff;

/* Pool references that a fragment page starts with: more than there can be
 * fragments, and room for those that users take themselves.
 */
#define PP_FRAG_BIAS		(LONG_MAX / 2)

/* pool->frag_offset while no page is open: more than any page has */
#define PP_FRAG_CLOSED		INT_MAX

/* page_pool.c; the benchmark is built for trees without stages, too */
#define PAGE_POOL_HAS_STAGE
#ifdef CONFIG_PAGE_POOL
void page_pool_stage_begin(void);
void page_pool_stage_end(void);
bool page_pool_batch_begin(void);
void page_pool_batch_end(void);
#else
static inline void page_pool_stage_begin(void)
{
}

static inline void page_pool_stage_end(void)
{
}

static inline bool page_pool_batch_begin(void)
{
	return false;
}

static inline void page_pool_batch_end(void)
{
}
#endif
#if IS_ENABLED(CONFIG_KUNIT)
void page_pool_stage_enlist(struct page_pool *pool);
#endif
s32 page_pool_inflight(const struct page_pool *pool, bool strict);
u32 page_pool_shrink_ring(struct page_pool *pool, u32 want);
u64 page_pool_allocated(const struct page_pool *pool, u32 hold);

/* page_pool_validate.c, for tests */
#ifdef CONFIG_PAGE_POOL_VALIDATE
const char *page_pool_validate(struct page_pool *pool);
bool page_pool_dma_is_mapped(struct page_pool *pool, struct page *page);
const char *page_pool_dma_validate(struct page_pool *pool, u32 inflight);
#endif

/* BH must be off while anybody has a lock of a pool, for he may be interrupted
 * by one who wants it. Returns whether that has to be undone: not where they are
 * off anyway, netpoll has interrupts off, too.
 */
static __always_inline bool page_pool_lock(spinlock_t *lock)
	__acquires(lock)
{
	bool bh_on = !in_softirq();

	if (bh_on)
		spin_lock_bh(lock);
	else
		spin_lock(lock);

	return bh_on;
}

static __always_inline void page_pool_unlock(spinlock_t *lock, bool bh_on)
	__releases(lock)
{
	if (bh_on)
		spin_unlock_bh(lock);
	else
		spin_unlock(lock);
}

/* page_pool_user.c */
/* Where a pool's pages are, from one look. */
struct page_pool_pages {
	u32 inflight;
	u32 array;
	u32 staged;
	u32 ring;
	u32 held;		/* what is left */
	u32 ring_size;
	u64 allocated;
	u64 released;
};

void page_pool_get_pages(const struct page_pool *pool,
			 struct page_pool_pages *pages);
bool page_pool_is_listed(u32 id);
void page_pool_visit_id(u32 id, const struct page_pool *pool,
			void (*visit)(struct page_pool *pool, void *data),
			void *data);
void page_pool_visit_shown(const struct net *net, const struct sk_buff *request,
			   u32 id,
			   void (*visit)(struct page_pool *pool, void *data),
			   void *data);
bool page_pool_try_each(void (*visit)(struct page_pool *pool, void *data),
			void *data);
u32 page_pool_ring_count(struct ptr_ring *ring, u32 *size);
int page_pool_list(struct page_pool *pool);
void page_pool_detached(struct page_pool *pool);
void page_pool_unlist(struct page_pool *pool);
void page_pool_unlink_napi(struct page_pool *pool);

/* page_pool_dma.c */
void page_pool_dma_init(struct page_pool *pool);
void page_pool_dma_uninit(struct page_pool *pool);
bool page_pool_dma_map(struct page_pool *pool, netmem_ref netmem, gfp_t gfp);
void page_pool_dma_unmap(struct page_pool *pool, netmem_ref netmem);
void page_pool_dma_end(struct page_pool *pool);
bool page_pool_dma_has_table(const struct page_pool *pool);
/* Slots that are looked at in one go */
#define PP_DMA_EACH		4096U
bool page_pool_dma_each(struct page_pool *pool, u32 *slot,
			void (*each)(netmem_ref netmem, void *data),
			void *data);
void __page_pool_dma_sync_for_device(struct page_pool *pool, netmem_ref netmem,
				     u32 dma_sync_size);

/* Give the device back what the CPU touched, if there is anything to do. The
 * device may be gone after page_pool_destroy(), so it must not be asked here.
 */
static __always_inline void
page_pool_dma_sync_for_device(struct page_pool *pool, netmem_ref netmem,
			      u32 dma_sync_size)
{
	if (unlikely(READ_ONCE(pool->sync_check)))
		__page_pool_dma_sync_for_device(pool, netmem, dma_sync_size);
}

/* Returns true when @addr cannot be kept: more than a frame number is set. */
static inline bool
page_pool_set_dma_addr_netmem(netmem_ref netmem, dma_addr_t addr)
{
	if (!PAGE_POOL_32BIT_ARCH_WITH_64BIT_DMA) {
		netmem_set_dma_addr(netmem, addr);
		return false;
	}

	netmem_set_dma_addr(netmem, addr >> PAGE_SHIFT);
	return page_pool_get_dma_addr_netmem(netmem) != addr;
}

static inline bool page_pool_set_dma_addr(struct page *page, dma_addr_t addr)
{
	return page_pool_set_dma_addr_netmem(page_to_netmem(page), addr);
}

#ifdef CONFIG_PAGE_POOL
void page_pool_set_pp_info(struct page_pool *pool, netmem_ref netmem);
void page_pool_clear_pp_info(netmem_ref netmem);
int page_pool_check_memory_provider(struct net_device *dev,
				    struct netdev_rx_queue *rxq);
#else
static inline void page_pool_set_pp_info(struct page_pool *pool,
					 netmem_ref netmem)
{
}

static inline void page_pool_clear_pp_info(netmem_ref netmem)
{
}

static inline int page_pool_check_memory_provider(struct net_device *dev,
						  struct netdev_rx_queue *rxq)
{
	return 0;
}
#endif

/* page_pool_debug.c, which calls back page_pool_debug_lost() */
#ifdef CONFIG_DEBUG_PAGE_POOL
/* Far enough below zero that no count of references gets there */
#define PP_AT_HOME		(LONG_MIN / 2)
/* Pool references of a parked page */
#define PP_PARKED_REFS		PP_AT_HOME
bool page_pool_debug_put(struct page_pool **pool, netmem_ref netmem,
			 unsigned int dma_sync_size, bool *allow_direct);
void page_pool_debug_park(const struct page_pool *pool, netmem_ref netmem);
void page_pool_debug_leave(const struct page_pool *pool, netmem_ref netmem);
void page_pool_debug_lost(struct page_pool *pool, netmem_ref netmem);
void page_pool_debug_forget(netmem_ref netmem);
u64 page_pool_debug_since(netmem_ref netmem);
#if IS_ENABLED(CONFIG_KUNIT)
unsigned long page_pool_debug_pack(u64 ms);
u64 page_pool_debug_unpack(unsigned long packed);
#endif
#else
#define PP_PARKED_REFS		1L
static __always_inline bool page_pool_debug_put(struct page_pool **pool,
						netmem_ref netmem,
						unsigned int dma_sync_size,
						bool *allow_direct)
{
	return true;
}

static __always_inline void
page_pool_debug_park(const struct page_pool *pool, netmem_ref netmem)
{
}

static __always_inline void
page_pool_debug_leave(const struct page_pool *pool, netmem_ref netmem)
{
}

static __always_inline void page_pool_debug_forget(netmem_ref netmem)
{
}

static inline u64 page_pool_debug_since(netmem_ref netmem)
{
	return 0;
}
#endif

/* Counting. 64-bit machines add in place: plainly for the consumer, with the
 * one instruction of this_cpu_add() for puts, which softirqs may interrupt.
 * 32-bit machines need two, so a sequence count tells readers to look again.
 * Interrupts are off meanwhile: a put in softirq must not find the count odd,
 * and a reader on this CPU would wait for ever.
 */
#ifdef CONFIG_PAGE_POOL_STATS
void page_pool_stats_fold(struct page_pool *pool);
void page_pool_get_cpu_stats(const struct page_pool *pool, int cpu,
			     struct page_pool_recycle_stats *stats);

static inline void page_pool_stats_init(struct page_pool *pool)
{
	u64_stats_init(&pool->alloc_syncp);
}

static inline void page_pool_stats_init_pcpu(struct page_pool_pcpu *pcpu)
{
	u64_stats_init(&pcpu->syncp);
}

#if BITS_PER_LONG == 64
#define pp_alloc_stat_add(pool, field, n)				\
	((pool)->alloc_stats.field += (n))
#define pp_recycle_stat_add(pool, field, n)				\
	this_cpu_add((pool)->pcpu->stats.field, n)
#else
#define pp_alloc_stat_add(pool, field, n)				\
do {									\
	struct page_pool *__pp = (pool);				\
	unsigned long __flags;						\
									\
	preempt_disable();						\
	__flags = u64_stats_update_begin_irqsave(&__pp->alloc_syncp);	\
	__pp->alloc_stats.field += (n);					\
	u64_stats_update_end_irqrestore(&__pp->alloc_syncp, __flags);	\
	preempt_enable();						\
} while (0)
#define pp_recycle_stat_add(pool, field, n)				\
do {									\
	struct page_pool_pcpu *__s = get_cpu_ptr((pool)->pcpu);		\
	unsigned long __flags;						\
									\
	__flags = u64_stats_update_begin_irqsave(&__s->syncp);		\
	__s->stats.field += (n);					\
	u64_stats_update_end_irqrestore(&__s->syncp, __flags);		\
	preempt_enable();						\
} while (0)
#endif
#else
static inline void page_pool_stats_init(struct page_pool *pool)
{
}

static inline void page_pool_stats_init_pcpu(struct page_pool_pcpu *pcpu)
{
}

static inline void page_pool_stats_fold(struct page_pool *pool)
{
}

#define pp_alloc_stat_add(...)		do { } while (0)
#define pp_recycle_stat_add(...)	do { } while (0)
#endif

#define pp_alloc_stat_inc(pool, field)		pp_alloc_stat_add(pool, field, 1)
#define pp_recycle_stat_inc(pool, field)	pp_recycle_stat_add(pool, field, 1)

/*
 * The array: pool->fill says how many pages are in it, and in its upper bits,
 * on 64-bit machines with statistics, how many have ever entered it:
 *
 *	bits 0-7	pages in the array
 *	bit 8		which of pool->fill_base[] is valid
 *	bits 9-63	pages that entered
 *
 * Both change in one store, so counting costs nothing:
 *
 *	taken out, "fast"	= entered - pages in the array
 *	put in, "cached"	= entered - fill_base[], those that the refill
 *				  and the slow path brought
 *
 * The base is kept twice for the sake of readers, who may interrupt the
 * consumer: the one that is not valid is written, then the bit turned.
 */
#define PP_FILL_COUNT		0xffUL
#if defined(CONFIG_PAGE_POOL_STATS) && BITS_PER_LONG == 64
#define PP_FILL_IS_COUNTED	1
#define PP_FILL_BASE		BIT(8)
#define PP_FILL_ENTERED_SHIFT	9
#define PP_FILL_ENTERED		BIT(PP_FILL_ENTERED_SHIFT)
#define pp_fast_stat_inc(...)		do { } while (0)
#define pp_cached_stat_inc(...)		do { } while (0)
#else
#define PP_FILL_IS_COUNTED	0
#define PP_FILL_ENTERED		0UL
#define pp_fast_stat_inc(pool)		pp_alloc_stat_inc(pool, fast)
#define pp_cached_stat_inc(pool)	pp_recycle_stat_inc(pool, cached)
#endif

static_assert(PP_ALLOC_CACHE_SIZE <= PP_FILL_COUNT);

static __always_inline u32 page_pool_array_count(const struct page_pool *pool)
{
	return pool->fill & PP_FILL_COUNT;
}

/* The array must not be empty. */
static __always_inline netmem_ref page_pool_array_pop(struct page_pool *pool)
{
	unsigned long fill = pool->fill - 1;

	WRITE_ONCE(pool->fill, fill);
	pp_fast_stat_inc(pool);
	page_pool_debug_leave(pool, pool->cache[fill & PP_FILL_COUNT]);

	return pool->cache[fill & PP_FILL_COUNT];
}

/* The array must not be full. */
static __always_inline void page_pool_array_push(struct page_pool *pool,
						 netmem_ref netmem)
{
	unsigned long fill = pool->fill;

	pool->cache[fill & PP_FILL_COUNT] = netmem;
	WRITE_ONCE(pool->fill, fill + PP_FILL_ENTERED + 1);
	pp_cached_stat_inc(pool);
}

/* A page was put into the array and taken out again, but for the doing. */
static __always_inline void page_pool_array_pass(struct page_pool *pool)
{
	if (PP_FILL_IS_COUNTED)
		WRITE_ONCE(pool->fill, pool->fill + PP_FILL_ENTERED);
	pp_cached_stat_inc(pool);
	pp_fast_stat_inc(pool);
}

/* @n pages have come to the array from elsewhere than a put, or, if it is
 * negative, have gone elsewhere than to a user.
 */
static inline void page_pool_array_move(struct page_pool *pool, int n)
{
	unsigned long fill = pool->fill + n * (PP_FILL_ENTERED + 1);

#if PP_FILL_IS_COUNTED
	bool old = pool->fill & PP_FILL_BASE;

	/* Who sees the base of this move sees that the one before is over; who
	 * sees the fill word sees its base; who sees the sequence sees the fill
	 * word. Each pairs with a smp_rmb() in page_pool_get_array_stats().
	 */
	smp_wmb();
	WRITE_ONCE(pool->fill_base[!old], pool->fill_base[old] + n);
	smp_wmb(); /* see above */
	WRITE_ONCE(pool->fill, fill ^ PP_FILL_BASE);
	smp_wmb(); /* see above */
	WRITE_ONCE(pool->fill_seq, pool->fill_seq + 1);
#else
	WRITE_ONCE(pool->fill, fill);
#endif
}

#endif /* __PAGE_POOL_PRIV_H */
