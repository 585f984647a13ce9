/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PAGE_POOL_PRIV_H
#define __PAGE_POOL_PRIV_H

#include <linux/percpu.h>
#include <net/page_pool/helpers.h>

#include "netmem_priv.h"

struct netdev_rx_queue;

/* page_pool.c */
s32 page_pool_inflight(const struct page_pool *pool, bool strict);

/* page_pool_user.c */
int page_pool_list(struct page_pool *pool);
void page_pool_detached(struct page_pool *pool);
void page_pool_unlist(struct page_pool *pool);
void page_pool_unlink_napi(struct page_pool *pool);

/* page_pool_dma.c */
void page_pool_dma_init(struct page_pool *pool);
void page_pool_dma_uninit(struct page_pool *pool);
bool page_pool_dma_map(struct page_pool *pool, netmem_ref netmem, gfp_t gfp);
void page_pool_dma_unmap(struct page_pool *pool, netmem_ref netmem);
void page_pool_dma_unmap_all(struct page_pool *pool);
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

/* Counting. 64-bit machines add in place: plainly for the consumer, with the
 * one instruction of this_cpu_add() for puts, which softirqs may interrupt.
 * 32-bit machines need two, so a sequence count tells readers to look again.
 * Interrupts are off meanwhile: a put in softirq must not find the count odd,
 * and a reader on this CPU would wait for ever.
 */
#ifdef CONFIG_PAGE_POOL_STATS
int page_pool_stats_init(struct page_pool *pool);
void page_pool_stats_uninit(struct page_pool *pool);
void page_pool_stats_fold(struct page_pool *pool);

#if BITS_PER_LONG == 64
#define pp_alloc_stat_add(pool, field, n)				\
	((pool)->alloc_stats.field += (n))
#define pp_recycle_stat_add(pool, field, n)				\
	this_cpu_add((pool)->recycle_stats->stats.field, n)
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
	struct page_pool_recycle_pcpu *__s =				\
		get_cpu_ptr((pool)->recycle_stats);			\
	unsigned long __flags;						\
									\
	__flags = u64_stats_update_begin_irqsave(&__s->syncp);		\
	__s->stats.field += (n);					\
	u64_stats_update_end_irqrestore(&__s->syncp, __flags);		\
	preempt_enable();						\
} while (0)
#endif
#else
static inline int page_pool_stats_init(struct page_pool *pool)
{
	return 0;
}

static inline void page_pool_stats_uninit(struct page_pool *pool)
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

#endif /* __PAGE_POOL_PRIV_H */
