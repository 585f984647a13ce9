// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: DMA mappings
 *
 * A page is mapped when it enters the pool and unmapped when it leaves, or
 * when the pool is destroyed while the page is still out: the device may be
 * gone a moment after page_pool_destroy() has returned. So the pool has to
 * find all its mapped pages, wherever they are, and each must be unmapped
 * once.
 *
 * Each mapped page has a slot that holds its address; its number, plus one,
 * is kept in spare bits of page->pp_magic. Slots stand in chunks that never
 * move or go away before the pool does:
 *
 *	pool->dma_dir --> dir --> [ chunk 0 | chunk 1 | ... ]     grown by copy,
 *	                             |                            old ones kept
 *	                             +--> 512 slots: NULL, or page, or page|BUSY
 *
 *	NULL --------> page		pool's consumer, when it has mapped the
 *					page: a plain store, since nobody else
 *					fills slots
 *	page --------> page|BUSY	whoever owns the page, to sync it for
 *					the device or to unmap it (cmpxchg)
 *	page|BUSY ---> page, or NULL	the same, when that is done
 *	page --------> NULL		page_pool_destroy(), under the xarray's
 *					lock, held until the page is unmapped
 *					(cmpxchg)
 *
 * Who loses a cmpxchg waits for the winner: destroy sleeps until the slot is
 * no longer BUSY, an owner passes through the lock. Thus nobody syncs an
 * unmapped page, frees a mapped one, or lets the device go too early, and no
 * grace period is needed for it.
 *
 * A page that gets no slot, because pp_magic has few or no bits to spare on
 * this machine or because all of them are used up, has index 0 and is kept in
 * an xarray under its frame number. Its lock then takes the part of BUSY.
 */
#include <kunit/visibility.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/slab.h>

#include "page_pool_priv.h"

#define PP_DMA_CHUNK		512U
#define PP_DMA_DIR_MIN		8U
/* How far to look for an empty slot before more slots are made, when less
 * than half of them are empty.
 */
#define PP_DMA_SCAN		64U
/* Pages that destroy unmaps before it lets softirqs run again. */
#define PP_DMA_UNMAP_BATCH	64U

#define PP_DMA_ATTRS	(DMA_ATTR_SKIP_CPU_SYNC | DMA_ATTR_WEAK_ORDERING)

/* struct page pointers are aligned, so the lowest bit of a slot is free. */
#define PP_SLOT_BUSY		1UL

struct page_pool_dma_dir {
	struct page_pool_dma_dir *old;	/* the one that this replaced */
	unsigned int size;
	unsigned long *chunk[] __counted_by(size);
};

/* The caller has the page from the consumer through some hand-over that
 * orders memory, so it sees the directory and chunk that were there when the
 * page was given its slot, or later ones.
 */
static unsigned long *page_pool_dma_slot(const struct page_pool *pool, u32 nr)
{
	const struct page_pool_dma_dir *dir = READ_ONCE(pool->dma_dir);

	return &dir->chunk[nr / PP_DMA_CHUNK][nr % PP_DMA_CHUNK];
}

static bool page_pool_dma_grow(struct page_pool *pool, gfp_t gfp)
{
	struct page_pool_dma_dir *dir = pool->dma_dir, *new;
	unsigned int n = pool->dma_cap / PP_DMA_CHUNK;
	unsigned long *chunk;

	if (pool->dma_limit - pool->dma_cap < PP_DMA_CHUNK)
		return false;

	if (!dir || n == dir->size) {
		unsigned int size = max(PP_DMA_DIR_MIN, 2 * n);

		new = kzalloc(struct_size(new, chunk, size), gfp);
		if (!new)
			return false;

		new->size = size;
		new->old = dir;
		if (n)
			memcpy(new->chunk, dir->chunk, n * sizeof(*dir->chunk));
		/* The copy is complete before anybody follows the pointer;
		 * pairs with the dependency in page_pool_dma_slot().
		 */
		smp_store_release(&pool->dma_dir, new);
		dir = new;
	}

	chunk = kcalloc(PP_DMA_CHUNK, sizeof(*chunk), gfp);
	if (!chunk)
		return false;

	/* All empty before others see it; pairs with the dependency in
	 * page_pool_dma_each().
	 */
	smp_store_release(&dir->chunk[n], chunk);
	pool->dma_cap += PP_DMA_CHUNK;

	return true;
}

/* Find an empty slot, near the last one found. Only the consumer fills slots,
 * so an empty one stays empty until it is used here.
 *
 * Returns the slot's number plus one, 0 if there is none.
 */
static u32 page_pool_dma_slot_get(struct page_pool *pool, struct page *page,
				  gfp_t gfp)
{
	u32 nr = pool->dma_next, seen;
	unsigned long *slot;

	for (seen = 0;; seen++) {
		bool full = seen >= pool->dma_cap;

		/* With half of the slots empty one is bound to come soon. */
		if (full || (seen == PP_DMA_SCAN &&
			     page_pool_inflight(pool, false) >
			     pool->dma_cap / 2)) {
			u32 cap = pool->dma_cap;

			if (page_pool_dma_grow(pool, gfp)) {
				nr = cap;
				seen = 0;
			} else if (full) {
				return 0;
			}
		}

		if (nr == pool->dma_cap)
			nr = 0;

		slot = page_pool_dma_slot(pool, nr++);
		if (!READ_ONCE(*slot))
			break;
	}

	WRITE_ONCE(*slot, (unsigned long)page);
	pool->dma_next = nr;

	return nr;
}

static noinline bool page_pool_dma_add_overflow(struct page_pool *pool,
						struct page *page, gfp_t gfp)
{
	struct xarray *xa = &pool->dma_overflow;
	unsigned long pfn = page_to_pfn(page);

	/* As page_pool_lock() */
	return !xa_err(in_softirq() ? xa_store(xa, pfn, page, gfp) :
				      xa_store_bh(xa, pfn, page, gfp));
}

static bool page_pool_dma_remember(struct page_pool *pool, struct page *page,
				   gfp_t gfp)
{
	u32 index;

	/* The flags say where pages may come from; this is other memory. */
	gfp &= ~(__GFP_DMA | __GFP_DMA32 | __GFP_HIGHMEM | __GFP_COMP |
		 __GFP_THISNODE);

	index = page_pool_dma_slot_get(pool, page, gfp);
	if (likely(index)) {
		netmem_set_dma_index(page_to_netmem(page), index);
		return true;
	}

	return page_pool_dma_add_overflow(pool, page, gfp);
}

static void page_pool_dma_unmap_addr(const struct page_pool *pool,
				     dma_addr_t addr)
{
	dma_unmap_page_attrs(pool->p.dev, addr, PAGE_SIZE << pool->p.order,
			     pool->p.dma_dir, PP_DMA_ATTRS);
}

static void page_pool_dma_sync_addr(const struct page_pool *pool,
				    dma_addr_t addr, u32 dma_sync_size)
{
#if defined(CONFIG_HAS_DMA) && defined(CONFIG_DMA_NEED_SYNC)
	__dma_sync_single_for_device(pool->p.dev, addr + pool->p.offset,
				     min(dma_sync_size, pool->p.max_len),
				     pool->p.dma_dir);
#endif
}

/* Asked after a page was mapped: a device that needed no sync does from its
 * first mapping on that is bounced. Earlier ones were not, and never need it.
 */
static bool page_pool_dma_needs_sync(const struct page_pool *pool)
{
	return pool->dma_sync && dma_dev_need_sync(pool->p.dev);
}

/* Map a page that enters the pool; consumer only. On failure the page is as
 * it was.
 */
bool page_pool_dma_map(struct page_pool *pool, netmem_ref netmem, gfp_t gfp)
{
	struct page *page = __netmem_to_page(netmem);
	dma_addr_t addr;

	addr = dma_map_page_attrs(pool->p.dev, page, 0,
				  PAGE_SIZE << pool->p.order, pool->p.dma_dir,
				  PP_DMA_ATTRS);
	if (unlikely(dma_mapping_error(pool->p.dev, addr)))
		return false;

	if (unlikely(page_pool_set_dma_addr_netmem(netmem, addr))) {
		WARN_ONCE(1, "page_pool: DMA address %pad is not page aligned\n",
			  &addr);
		goto unmap;
	}

	/* Before the page is in a slot: destroy only runs when the consumer
	 * has stopped, so nobody can unmap it meanwhile.
	 */
	if (page_pool_dma_needs_sync(pool)) {
		WRITE_ONCE(pool->sync_check, 1);
		page_pool_dma_sync_addr(pool, addr, pool->p.max_len);
	}

	if (unlikely(!page_pool_dma_remember(pool, page, gfp)))
		goto unmap;

	return true;

unmap:
	page_pool_set_dma_addr_netmem(netmem, 0);
	page_pool_dma_unmap_addr(pool, addr);
	return false;
}

/* There is no type for false, which is what NULL makes of a bool. */
ALLOW_ERROR_INJECTION(page_pool_dma_map, NULL);

/* page_pool_dma_unmap_all() has taken the page out of its slot: wait until it
 * is unmapped too.
 */
static noinline void page_pool_dma_wait(struct page_pool *pool)
{
	spinlock_t *lock = &pool->dma_overflow.xa_lock;

	page_pool_unlock(lock, page_pool_lock(lock));
}

static noinline void page_pool_dma_unmap_overflow(struct page_pool *pool,
						  struct page *page,
						  dma_addr_t addr)
{
	bool bh_on = page_pool_lock(&pool->dma_overflow.xa_lock);
	bool ours;

	ours = __xa_erase(&pool->dma_overflow, page_to_pfn(page)) == page;
	if (ours)
		page_pool_dma_unmap_addr(pool, addr);
	page_pool_unlock(&pool->dma_overflow.xa_lock, bh_on);
}

/* Unmap a page that leaves the pool, unless destroy has done so already. The
 * caller owns the page.
 */
void page_pool_dma_unmap(struct page_pool *pool, netmem_ref netmem)
{
	dma_addr_t addr = page_pool_get_dma_addr_netmem(netmem);
	struct page *page = __netmem_to_page(netmem);
	u32 index = netmem_get_dma_index(netmem);
	unsigned long *slot;

	if (likely(index)) {
		unsigned long old = (unsigned long)page;

		slot = page_pool_dma_slot(pool, index - 1);
		if (likely(try_cmpxchg(slot, &old, old | PP_SLOT_BUSY))) {
			page_pool_dma_unmap_addr(pool, addr);
			/* Unmapped before destroy sees that it is; pairs with
			 * smp_load_acquire() in page_pool_dma_unmap_all().
			 */
			smp_store_release(slot, 0);
		} else {
			page_pool_dma_wait(pool);
		}
		netmem_set_dma_index(netmem, 0);
	} else {
		page_pool_dma_unmap_overflow(pool, page, addr);
	}

	page_pool_set_dma_addr_netmem(netmem, 0);
}

/* What a provider has mapped is for him to unmap, after the pool. That keeps the
 * address, but not the device: no slot says whether it is still there.
 */
static noinline void page_pool_dma_sync_provided(const struct page_pool *pool,
						 dma_addr_t addr,
						 u32 dma_sync_size)
{
	rcu_read_lock();
	if (READ_ONCE(pool->sync_check) && page_pool_dma_needs_sync(pool))
		page_pool_dma_sync_addr(pool, addr, dma_sync_size);
	rcu_read_unlock();
}

/* Give a page that will be parked back to the device. Once the pool has been
 * destroyed there is nothing to sync, and the page will not be parked.
 */
void __page_pool_dma_sync_for_device(struct page_pool *pool, netmem_ref netmem,
				     u32 dma_sync_size)
{
	dma_addr_t addr = page_pool_get_dma_addr_netmem(netmem);
	struct page *page = __netmem_to_page(netmem);
	unsigned long old = (unsigned long)page;
	unsigned long *slot;
	u32 index;

	if (netmem_is_net_iov(netmem)) {
		page_pool_dma_sync_provided(pool, addr, dma_sync_size);
		return;
	}

	index = netmem_get_dma_index(netmem);
	if (unlikely(!index)) {
		bool bh_on = page_pool_lock(&pool->dma_overflow.xa_lock);

		if (xa_load(&pool->dma_overflow, page_to_pfn(page)) == page)
			page_pool_dma_sync_addr(pool, addr, dma_sync_size);
		page_pool_unlock(&pool->dma_overflow.xa_lock, bh_on);
		return;
	}

	slot = page_pool_dma_slot(pool, index - 1);
	if (unlikely(!try_cmpxchg(slot, &old, old | PP_SLOT_BUSY)))
		return;

	page_pool_dma_sync_addr(pool, addr, dma_sync_size);
	/* Synced before it may be unmapped; pairs with smp_load_acquire() in
	 * page_pool_dma_unmap_all().
	 */
	smp_store_release(slot, (unsigned long)page);
}

static void page_pool_dma_unmap_slot(struct page_pool *pool,
				     unsigned long *slot)
{
	struct xarray *xa = &pool->dma_overflow;
	unsigned long old;

	for (;;) {
		/* Pairs with smp_store_release() of those that had it BUSY. */
		old = smp_load_acquire(slot);
		if (!old)
			return;

		/* The owner may be a task that does not run right now. */
		if (old & PP_SLOT_BUSY) {
			xa_unlock_bh(xa);
			usleep_range(10, 50);
			xa_lock_bh(xa);
			continue;
		}

		if (try_cmpxchg(slot, &old, 0))
			break;
	}

	/* The owner cannot free the page before it got the lock. */
	page_pool_dma_unmap_addr(pool, page_pool_get_dma_addr((struct page *)old));
}

static void page_pool_dma_breathe(struct xarray *xa)
{
	xa_unlock_bh(xa);
	cond_resched();
	xa_lock_bh(xa);
}

/* Unmap whatever is still out. */
static void page_pool_dma_unmap_all(struct page_pool *pool)
{
	struct xarray *xa = &pool->dma_overflow;
	unsigned long pfn;
	struct page *page;
	u32 nr = 0;

	xa_lock_bh(xa);
	while (nr < pool->dma_cap) {
		page_pool_dma_unmap_slot(pool, page_pool_dma_slot(pool, nr));
		if (!(++nr % PP_DMA_UNMAP_BATCH))
			page_pool_dma_breathe(xa);
	}

	nr = 0;
	xa_for_each(xa, pfn, page) {
		__xa_erase(xa, pfn);
		page_pool_dma_unmap_addr(pool, page_pool_get_dma_addr(page));
		if (!(++nr % PP_DMA_UNMAP_BATCH))
			page_pool_dma_breathe(xa);
	}
	xa_unlock_bh(xa);
}

/* What a provider has mapped is not synced any more. */
static void page_pool_dma_stop_sync(struct page_pool *pool)
{
	if (!pool->sync_check)
		return;

	WRITE_ONCE(pool->sync_check, 0);
	/* Wait for whoever saw it set, see page_pool_dma_sync_provided(). */
	synchronize_net();
}

/* The pool is being destroyed: when this returns the device may go. The consumer
 * has stopped; pages may be put meanwhile. Sleeps.
 */
void page_pool_dma_end(struct page_pool *pool)
{
	might_sleep();

	if (pool->mp_ops)
		page_pool_dma_stop_sync(pool);
	else
		page_pool_dma_unmap_all(pool);
}

/**
 * page_pool_dma_has_table() - does the pool know all of its pages?
 * @pool:	the pool
 *
 * Return: false for what a provider has mapped, and when the pool has been
 * destroyed.
 */
bool page_pool_dma_has_table(const struct page_pool *pool)
{
	return pool->dma_map && !pool->mp_ops && refcount_read(&pool->user_cnt);
}

/**
 * page_pool_dma_each() - call a function for pages that are mapped
 * @pool:	the pool, which stays meanwhile
 * @slot:	0 for the first PP_DMA_EACH slots; then those to go on with
 * @each:	the function; the page may leave the pool at any time, so it may
 *		only be compared
 * @data:	for @each
 *
 * Context: Task, sleeps. Pages may come and go meanwhile.
 *
 * Return: true if there are more.
 */
bool page_pool_dma_each(struct page_pool *pool, u32 *slot,
			void (*each)(netmem_ref netmem, void *data),
			void *data)
{
	const struct page_pool_dma_dir *dir = READ_ONCE(pool->dma_dir);
	unsigned long pfn, *chunk, entry;
	u32 i, end = *slot + PP_DMA_EACH;
	struct page *page;

	while (dir && *slot / PP_DMA_CHUNK < dir->size) {
		if (*slot == end)
			return true;
		chunk = READ_ONCE(dir->chunk[*slot / PP_DMA_CHUNK]);
		if (!chunk)
			break;
		for (i = 0; i < PP_DMA_CHUNK; i++) {
			entry = READ_ONCE(chunk[i]) & ~PP_SLOT_BUSY;
			if (entry)
				each((__force netmem_ref)entry, data);
		}
		*slot += PP_DMA_CHUNK;
		cond_resched();
	}

	xa_for_each(&pool->dma_overflow, pfn, page)
		each(page_to_netmem(page), data);

	return false;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_dma_each);

void page_pool_dma_init(struct page_pool *pool)
{
	xa_init_flags(&pool->dma_overflow, XA_FLAGS_LOCK_BH);
	pool->dma_limit = BIT_ULL(PP_DMA_INDEX_BITS) - 1;
}

void page_pool_dma_uninit(struct page_pool *pool)
{
	struct page_pool_dma_dir *dir = pool->dma_dir, *old;
	u32 nr;

	for (nr = 0; nr < pool->dma_cap; nr += PP_DMA_CHUNK)
		kfree(dir->chunk[nr / PP_DMA_CHUNK]);

	for (; dir; dir = old) {
		old = dir->old;
		kfree(dir);
	}

	xa_destroy(&pool->dma_overflow);
}

#ifdef CONFIG_PAGE_POOL_VALIDATE
bool page_pool_dma_is_mapped(struct page_pool *pool, struct page *page)
{
	u32 index = netmem_get_dma_index(page_to_netmem(page));

	if (!index)
		return xa_load(&pool->dma_overflow, page_to_pfn(page)) == page;

	return index <= pool->dma_cap &&
	       *page_pool_dma_slot(pool, index - 1) == (unsigned long)page;
}

/* Called while nobody uses the pool, which has @inflight pages. Returns what is
 * wrong, or NULL.
 */
const char *page_pool_dma_validate(struct page_pool *pool, u32 inflight)
{
	unsigned long pfn, entry;
	struct page *page;
	u32 nr, mapped = 0;

	if (pool->dma_cap > pool->dma_limit || pool->dma_cap % PP_DMA_CHUNK ||
	    pool->dma_next > pool->dma_cap)
		return "DMA slots beyond those that there are";

	for (nr = 0; nr < pool->dma_cap; nr++) {
		entry = *page_pool_dma_slot(pool, nr);
		if (!entry)
			continue;

		page = (struct page *)entry;
		if (entry & PP_SLOT_BUSY)
			return "a DMA slot is left busy";
		if (netmem_get_dma_index(page_to_netmem(page)) != nr + 1)
			return "a page does not know its DMA slot";
		if (page->pp != pool)
			return "a page left the pool, but not its DMA slot";
		mapped++;
	}

	xa_for_each(&pool->dma_overflow, pfn, page) {
		if (page_to_pfn(page) != pfn ||
		    netmem_get_dma_index(page_to_netmem(page)))
			return "a page is in the wrong place for its mapping";
		if (page->pp != pool)
			return "a page left the pool, but is kept as mapped";
		mapped++;
	}

	if (mapped != (pool->dma_map && !pool->mp_ops && !pool->destroyed ?
		       inflight : 0))
		return "not the pages in the pool are mapped, or others";

	return NULL;
}
#endif
