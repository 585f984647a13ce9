/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_pool: what drivers call
 *
 * A pool has one consumer, normally the NAPI poll of one receive queue, and
 * any number of users that put pages. The functions below say which of the
 * two may call them:
 *
 *   consumer	allocates; calls must exclude each other (NAPI does that; a
 *		driver that fills its ring in open() before NAPI is enabled is
 *		fine too). On PREEMPT_RT as well as elsewhere.
 *   anyone	puts, from task, softirq or NAPI context, not from hardirq, and
 *		with interrupts off only where BHs are off, too (netpoll).
 *
 * Nothing here sleeps but page_pool_create() and page_pool_destroy(), unless
 * the gfp flags of an allocation say that it may.
 *
 * Documentation/networking/page_pool.rst tells the rest.
 */
#ifndef _NET_PAGE_POOL_HELPERS_H
#define _NET_PAGE_POOL_HELPERS_H

#include <linux/dma-mapping.h>

#include <net/net_debug.h>
#include <net/netmem.h>
#include <net/page_pool/debug.h>
#include <net/page_pool/types.h>

#ifdef CONFIG_PAGE_POOL_STATS
int page_pool_ethtool_stats_get_count(void);
u8 *page_pool_ethtool_stats_get_strings(u8 *data);
u64 *page_pool_ethtool_stats_get(u64 *data, const void *stats);

bool page_pool_get_stats(const struct page_pool *pool,
			 struct page_pool_stats *stats);

void page_pool_stats_sum_init(struct page_pool_stats_sum *sum);
void page_pool_stats_sum_add(struct page_pool_stats_sum *sum,
			     struct page_pool *pool);
void page_pool_stats_sum_get(struct page_pool_stats_sum *sum,
			     struct page_pool_stats *stats);
u64 *page_pool_ethtool_stats_sum_get(u64 *data,
				     struct page_pool_stats_sum *sum);
#else
static inline int page_pool_ethtool_stats_get_count(void)
{
	return 0;
}

static inline u8 *page_pool_ethtool_stats_get_strings(u8 *data)
{
	return data;
}

static inline u64 *page_pool_ethtool_stats_get(u64 *data, const void *stats)
{
	return data;
}

static inline void page_pool_stats_sum_init(struct page_pool_stats_sum *sum)
{
}

static inline void page_pool_stats_sum_add(struct page_pool_stats_sum *sum,
					   struct page_pool *pool)
{
}

static inline u64 *
page_pool_ethtool_stats_sum_get(u64 *data, struct page_pool_stats_sum *sum)
{
	return data;
}
#endif

/* What a driver's receive path asks for: it must not sleep, and it copes with
 * an empty pool better than the log does.
 */
#define PP_DEV_GFP	(GFP_ATOMIC | __GFP_NOWARN)

/**
 * page_pool_dev_alloc_pages() - allocate a page in the receive path
 * @pool:	pool to allocate from
 *
 * Context: The pool's consumer, any context but hardirq. Does not sleep.
 *
 * Return: a page of the pool's order with one reference, or NULL when there
 * is no memory or it could not be mapped.
 */
static inline struct page *page_pool_dev_alloc_pages(struct page_pool *pool)
{
	return page_pool_alloc_pages(pool, PP_DEV_GFP);
}

/**
 * page_pool_dev_alloc_frag() - allocate a part of a page in the receive path
 * @pool:	pool to allocate from
 * @offset:	where the fragment starts in the page, in bytes
 * @size:	bytes wanted, at most a page of the pool's order
 *
 * Context: The pool's consumer, any context but hardirq. Does not sleep.
 *
 * Return: the page that holds the fragment, or NULL.
 */
static inline struct page *page_pool_dev_alloc_frag(struct page_pool *pool,
						    unsigned int *offset,
						    unsigned int size)
{
	return page_pool_alloc_frag(pool, offset, size, PP_DEV_GFP);
}

/**
 * page_pool_alloc() - allocate a page or a part of one, whichever wastes less
 * @pool:	pool to allocate from
 * @offset:	where the memory starts in the page, in bytes
 * @size:	in: bytes wanted; out: bytes that the caller owns, the truesize
 * @gfp:	flags for the page allocator
 *
 * A request for more than half a page gets a whole one. The last fragment
 * that fits gets what is left of its page, since nobody else could use it.
 *
 * Context: The pool's consumer, any context but hardirq. May sleep if @gfp
 * allows it.
 *
 * Return: the page that holds the memory, or NULL.
 */
static inline struct page *page_pool_alloc(struct page_pool *pool,
					   unsigned int *offset,
					   unsigned int *size, gfp_t gfp)
{
	const unsigned int whole = PAGE_SIZE << pool->p.order;
	struct page *page;

	if (*size > whole / 2) {
		page = page_pool_alloc_pages(pool, gfp);
		*offset = 0;
		*size = whole;
		return page;
	}

	page = page_pool_alloc_frag(pool, offset, *size, gfp);
	if (likely(page) && pool->frag_offset + *size > whole) {
		*size = whole - *offset;
		pool->frag_offset = whole;
	}

	return page;
}

/**
 * page_pool_dev_alloc() - page_pool_alloc() in the receive path
 * @pool:	pool to allocate from
 * @offset:	where the memory starts in the page, in bytes
 * @size:	in: bytes wanted; out: bytes that the caller owns
 *
 * Context: The pool's consumer, any context but hardirq. Does not sleep.
 *
 * Return: the page that holds the memory, or NULL.
 */
static inline struct page *page_pool_dev_alloc(struct page_pool *pool,
					       unsigned int *offset,
					       unsigned int *size)
{
	return page_pool_alloc(pool, offset, size, PP_DEV_GFP);
}

static inline void *page_pool_alloc_va(struct page_pool *pool,
				       unsigned int *size, gfp_t gfp)
{
	unsigned int offset;
	struct page *page;

	/* An address is wanted, so not memory that has none. */
	page = page_pool_alloc(pool, &offset, size, gfp & ~__GFP_HIGHMEM);

	return likely(page) ? page_address(page) + offset : NULL;
}

/**
 * page_pool_dev_alloc_va() - page_pool_dev_alloc() that returns an address
 * @pool:	pool to allocate from
 * @size:	in: bytes wanted; out: bytes that the caller owns
 *
 * Context: The pool's consumer, any context but hardirq. Does not sleep.
 *
 * Return: address of the memory, to be freed by page_pool_free_va(), or NULL.
 */
static inline void *page_pool_dev_alloc_va(struct page_pool *pool,
					   unsigned int *size)
{
	return page_pool_alloc_va(pool, size, PP_DEV_GFP);
}

/**
 * page_pool_get_dma_dir() - direction in which a pool's pages are mapped
 * @pool:	the pool
 *
 * Context: Any.
 *
 * Return: the direction given at creation.
 */
static inline enum dma_data_direction
page_pool_get_dma_dir(const struct page_pool *pool)
{
	return pool->p.dma_dir;
}

static inline void page_pool_fragment_netmem(netmem_ref netmem, long nr)
{
	atomic_long_set(netmem_get_pp_ref_count_ref(netmem), nr);
}

/**
 * page_pool_fragment_page() - set how many users a fresh page has
 * @page:	page that was just allocated and that nobody else knows
 * @nr:		number of pool references that the page shall have
 *
 * A page leaves its users when this count, pp_ref_count, has come down to
 * zero, each user giving his back through one of the put functions (or
 * page_pool_unref_page()). It is not the page's own reference count, which
 * stays one as long as nobody calls get_page(). Setting a large number at once
 * and giving back the rest later costs two atomic operations a page instead of
 * one a user.
 *
 * Context: The pool's consumer.
 */
static inline void page_pool_fragment_page(struct page *page, long nr)
{
	page_pool_fragment_netmem(page_to_netmem(page), nr);
}

static inline long page_pool_unref_count(atomic_long_t *refs, long nr)
{
	long left = 0;

	if (!page_pool_debug_unref(refs, nr))
		return 1;

	/* Who sees only his own references left is alone: nobody can add any.
	 * That spares the common case of one user a locked operation. Others
	 * may still be counting down otherwise.
	 */
	if (atomic_long_read(refs) != nr) {
		left = atomic_long_sub_return(nr, refs);
		WARN_ON(left < 0);
		if (likely(left))
			return left;
	} else if (__builtin_constant_p(nr) && nr == 1) {
		return 0;
	}

	/* A page that comes home has one user again, whoever gets it next. */
	atomic_long_set(refs, 1);

	return left;
}

static inline long page_pool_unref_netmem(netmem_ref netmem, long nr)
{
	return page_pool_unref_count(netmem_get_pp_ref_count_ref(netmem), nr);
}

/**
 * page_pool_unref_page() - give back pool references without putting the page
 * @page:	page of a pool
 * @nr:		number of references, as many as the caller holds or fewer
 *
 * Context: Any but hardirq.
 *
 * Return: references left. At zero the caller owns the page alone and hands
 * it to page_pool_put_unrefed_page().
 */
static inline long page_pool_unref_page(struct page *page, long nr)
{
	return page_pool_unref_count(&page->pp_ref_count, nr);
}

static inline void page_pool_ref_netmem(netmem_ref netmem)
{
	atomic_long_inc(netmem_get_pp_ref_count_ref(netmem));
}

/**
 * page_pool_ref_page() - take one more pool reference of a page
 * @page:	page of a pool that the caller has a pool reference of
 *
 * Context: Any.
 */
static inline void page_pool_ref_page(struct page *page)
{
	page_pool_ref_netmem(page_to_netmem(page));
}

static inline bool page_pool_is_last_ref(netmem_ref netmem)
{
	return !page_pool_unref_netmem(netmem, 1);
}

static inline void page_pool_put_netmem(struct page_pool *pool,
					netmem_ref netmem,
					unsigned int dma_sync_size,
					bool allow_direct)
{
	/* No pool can be without CONFIG_PAGE_POOL, but callers are compiled. */
	if (is_page_pool_compiled_in() && page_pool_is_last_ref(netmem))
		page_pool_put_unrefed_netmem(pool, netmem, dma_sync_size,
					     allow_direct);
}

/**
 * page_pool_put_page() - give back one pool reference of a page
 * @pool:	pool that the page belongs to
 * @page:	the page
 * @dma_sync_size: bytes from the pool's offset on that the CPU may have
 *		touched and that must be synced before the device gets the page
 *		again; cut at &page_pool_params.max_len
 * @allow_direct: the caller is the pool's consumer in BH or NAPI context
 *
 * With the last pool reference the page is parked for its next use, or, when
 * it cannot be (see struct page_pool_recycle_stats), unmapped and given to the
 * page allocator.
 *
 * Context: Anyone; @allow_direct only as said, and nobody else may be
 * allocating or putting directly at that time.
 */
static inline void page_pool_put_page(struct page_pool *pool,
				      struct page *page,
				      unsigned int dma_sync_size,
				      bool allow_direct)
{
	/* The same for what is known to be a page */
	if (is_page_pool_compiled_in() && !page_pool_unref_page(page, 1))
		page_pool_put_unrefed_page(pool, page, dma_sync_size,
					   allow_direct);
}

static inline void page_pool_put_full_netmem(struct page_pool *pool,
					     netmem_ref netmem,
					     bool allow_direct)
{
	page_pool_put_netmem(pool, netmem, -1, allow_direct);
}

/**
 * page_pool_put_full_page() - page_pool_put_page() that syncs all there is
 * @pool:	pool that the page belongs to
 * @page:	the page
 * @allow_direct: the caller is the pool's consumer in BH or NAPI context
 *
 * For callers that do not know how much of the page was touched.
 *
 * Context: As page_pool_put_page().
 */
static inline void page_pool_put_full_page(struct page_pool *pool,
					   struct page *page, bool allow_direct)
{
	page_pool_put_page(pool, page, -1, allow_direct);
}

/**
 * page_pool_recycle_direct() - put a page as the pool's consumer
 * @pool:	pool that the page belongs to
 * @page:	the page
 *
 * Context: The pool's consumer in BH or NAPI context.
 */
static inline void page_pool_recycle_direct(struct page_pool *pool,
					    struct page *page)
{
	page_pool_put_full_page(pool, page, true);
}

/* The address of a page is then kept as a page frame number. */
#define PAGE_POOL_32BIT_ARCH_WITH_64BIT_DMA	\
		(sizeof(dma_addr_t) > sizeof(unsigned long))

/**
 * page_pool_free_va() - free memory of page_pool_dev_alloc_va()
 * @pool:	pool that the memory belongs to
 * @va:		its address, or any in it
 * @allow_direct: the caller is the pool's consumer in BH or NAPI context
 *
 * Context: As page_pool_put_page().
 */
static inline void page_pool_free_va(struct page_pool *pool, void *va,
				     bool allow_direct)
{
	page_pool_put_full_page(pool, virt_to_head_page(va), allow_direct);
}

static inline dma_addr_t page_pool_get_dma_addr_netmem(netmem_ref netmem)
{
	dma_addr_t addr = netmem_get_dma_addr(netmem);

	return PAGE_POOL_32BIT_ARCH_WITH_64BIT_DMA ? addr << PAGE_SHIFT : addr;
}

/**
 * page_pool_get_dma_addr() - where the device finds a page
 * @page:	page of a pool with PP_FLAG_DMA_MAP
 *
 * Context: Any, while the caller holds a reference and the pool was not
 * destroyed.
 *
 * Return: DMA address of the start of the page.
 */
static inline dma_addr_t page_pool_get_dma_addr(const struct page *page)
{
	return page_pool_get_dma_addr_netmem(page_to_netmem((struct page *)page));
}

static inline void __page_pool_dma_sync_for_cpu(const struct page_pool *pool,
						const dma_addr_t dma_addr,
						u32 offset, u32 dma_sync_size)
{
	dma_sync_single_range_for_cpu(pool->p.dev, dma_addr,
				      pool->p.offset + offset, dma_sync_size,
				      pool->p.dma_dir);
}

/**
 * page_pool_dma_sync_for_cpu() - let the CPU see what the device wrote
 * @pool:	pool with PP_FLAG_DMA_MAP that the page belongs to
 * @page:	the page
 * @offset:	bytes from the pool's offset to what is wanted, for fragments
 * @dma_sync_size: bytes that the device wrote
 *
 * Whether or not the pool syncs for the device, this is the driver's to call
 * before it looks at received data.
 *
 * Context: Any that may call the DMA API, the caller owning the page.
 */
static inline void page_pool_dma_sync_for_cpu(const struct page_pool *pool,
					      const struct page *page,
					      u32 offset, u32 dma_sync_size)
{
	__page_pool_dma_sync_for_cpu(pool, page_pool_get_dma_addr(page), offset,
				     dma_sync_size);
}

static inline void
page_pool_dma_sync_netmem_for_cpu(const struct page_pool *pool,
				  const netmem_ref netmem, u32 offset,
				  u32 dma_sync_size)
{
	dma_addr_t addr = page_pool_get_dma_addr_netmem(netmem);

	/* Not all memory of providers has something to sync. */
	if (!pool->dma_sync_for_cpu)
		return;

	__page_pool_dma_sync_for_cpu(pool, addr, offset, dma_sync_size);
}

static inline bool page_pool_put(struct page_pool *pool)
{
	return refcount_dec_and_test(&pool->user_cnt);
}

/**
 * page_pool_nid_changed() - tell a pool on which node its consumer runs
 * @pool:	the pool
 * @new_nid:	node of the consumer, normally numa_mem_id()
 *
 * Cheap enough for every poll.
 *
 * Context: The pool's consumer in BH or NAPI context.
 */
static inline void page_pool_nid_changed(struct page_pool *pool, int new_nid)
{
	if (unlikely(pool->p.nid != new_nid))
		page_pool_update_nid(pool, new_nid);
}

#endif /* _NET_PAGE_POOL_HELPERS_H */
