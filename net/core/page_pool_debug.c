// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: mistakes caught at the call that makes them
 *
 * A page is at home from its last put, or from when it enters the pool, until
 * it is handed out or leaves: nobody may touch it meanwhile. Its pool
 * references, which nobody has then, say so:
 *
 *	pp_ref_count > 0	users have it, or it is on its way out
 *	PP_AT_HOME		at home
 *
 * Everybody who puts a page, hands one out or lets one go comes by here. What
 * is found wrong is reported once for each time, and mended: the pool goes on
 * as if the mistake had not been made.
 *
 * When pages were handed out is noted down, too, for those who ask who has them.
 */
#include <linux/hardirq.h>
#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <linux/xarray.h>
#include <kunit/visibility.h>
#include <net/page_pool/debug.h>

#include "page_pool_priv.h"

/* By page_pool_debug_key(): boot time, page_pool_debug_pack()ed */
static DEFINE_XARRAY_FLAGS(page_pool_debug_out, XA_FLAGS_LOCK_IRQ);

static unsigned long page_pool_debug_key(netmem_ref netmem)
{
	static_assert(sizeof(struct page) >= 16);
	static_assert(sizeof(struct net_iov) >= 16);

	return (__force unsigned long)netmem >> 4;
}

/* An entry of an xarray has a bit less than a long: with 32 of these
 * milliseconds would do for 24 days, units of 64 of them do for 4 years.
 */
#define PP_DEBUG_SHIFT	(BITS_PER_LONG == 32 ? 6 : 0)

VISIBLE_IF_KUNIT unsigned long page_pool_debug_pack(u64 ms)
{
	return (ms >> PP_DEBUG_SHIFT) & LONG_MAX;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_debug_pack);

VISIBLE_IF_KUNIT u64 page_pool_debug_unpack(unsigned long packed)
{
	return (u64)packed << PP_DEBUG_SHIFT;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_debug_unpack);

/**
 * page_pool_debug_forget() - a page leaves its pool
 * @netmem:	the page
 */
void page_pool_debug_forget(netmem_ref netmem)
{
	unsigned long flags;

	xa_lock_irqsave(&page_pool_debug_out, flags);
	__xa_erase(&page_pool_debug_out, page_pool_debug_key(netmem));
	xa_unlock_irqrestore(&page_pool_debug_out, flags);
}

/* If there is no memory for it its age will not be known. */
static void page_pool_debug_note(netmem_ref netmem)
{
	u64 ms = div_u64(ktime_get_boot_fast_ns(), NSEC_PER_MSEC);
	unsigned long flags;

	xa_lock_irqsave(&page_pool_debug_out, flags);
	__xa_store(&page_pool_debug_out, page_pool_debug_key(netmem),
		   xa_mk_value(page_pool_debug_pack(ms)),
		   GFP_NOWAIT | __GFP_NOWARN);
	xa_unlock_irqrestore(&page_pool_debug_out, flags);
}

/**
 * page_pool_debug_since() - when was a page handed out?
 * @netmem:	the page, which may leave the pool any time
 *
 * Return: boot time in ms; 0: not known.
 */
u64 page_pool_debug_since(netmem_ref netmem)
{
	void *entry = xa_load(&page_pool_debug_out, page_pool_debug_key(netmem));
	u64 now = ktime_to_ms(ktime_get_boottime());

	if (!entry)
		return 0;

	/* The clocks may differ a little. */
	return min(now, page_pool_debug_unpack(xa_to_value(entry)));
}

static bool page_pool_debug_at_home(long refs)
{
	return refs < PP_AT_HOME / 2;
}

/**
 * page_pool_debug_unref() - somebody gives up pool references
 * @refs:	pp_ref_count of the memory
 * @nr:		how many
 *
 * Return: false if he has not got them, and they must be left alone.
 */
bool page_pool_debug_unref(const atomic_long_t *refs, long nr)
{
	long left = atomic_long_read(refs);

	if (likely(left >= nr))
		return true;

	if (page_pool_debug_at_home(left))
		WARN(1, "page_pool: page put that is at home already\n");
	else
		WARN(1, "page_pool: %ld references given up, there are %ld\n",
		     nr, left);

	return false;
}
EXPORT_SYMBOL(page_pool_debug_unref);

static void page_pool_debug_poison(const struct page_pool *pool,
				   netmem_ref netmem)
{
	if (!netmem_is_net_iov(netmem))
		kasan_poison_pages(__netmem_to_page(netmem), pool->p.order,
				   false);
}

static void page_pool_debug_unpoison(const struct page_pool *pool,
				     netmem_ref netmem)
{
	if (!netmem_is_net_iov(netmem))
		kasan_unpoison_pages(__netmem_to_page(netmem), pool->p.order,
				     false);
}

/**
 * page_pool_debug_put() - memory without pool references left is put
 * @pool:	where to; set to where it belongs
 * @netmem:	the memory
 * @dma_sync_size: bytes that the caller says the CPU may have touched
 * @allow_direct: whether he says that he is the consumer; cleared if he
 *		cannot be
 *
 * Return: false if there is nothing to put.
 */
bool page_pool_debug_put(struct page_pool **pool, netmem_ref netmem,
			 unsigned int dma_sync_size, bool *allow_direct)
{
	struct page_pool *owner = netmem_get_pp(netmem);
	long refs;

	/* It left when it was put before, or never was in one. The pool may
	 * be gone.
	 */
	if (WARN(!netmem_is_pp(netmem),
		 "page_pool: page put that is in no pool\n"))
		return false;

	refs = atomic_long_xchg(netmem_get_pp_ref_count_ref(netmem),
				PP_AT_HOME);
	if (WARN(page_pool_debug_at_home(refs),
		 "page_pool: page put that is at home already\n"))
		return false;

	if (WARN(owner != *pool, "page_pool: page of pool %u put to another\n",
		 owner->user.id)) {
		*pool = owner;
		*allow_direct = false;
	}

	/* Nobody empties the array any more. */
	if (WARN(*allow_direct && !refcount_read(&owner->user_cnt),
		 "page_pool: direct put to pool %u, which was destroyed\n",
		 owner->user.id))
		*allow_direct = false;

	WARN(owner->dma_sync && dma_sync_size != -1 &&
	     dma_sync_size > owner->p.max_len,
	     "page_pool: sync of %u bytes, the device may write %u\n",
	     dma_sync_size, owner->p.max_len);

	return true;
}

/**
 * page_pool_debug_park() - nobody may touch a page from now on
 * @pool:	the pool it is in
 * @netmem:	the page
 */
void page_pool_debug_park(const struct page_pool *pool, netmem_ref netmem)
{
	atomic_long_set(netmem_get_pp_ref_count_ref(netmem), PP_AT_HOME);
	page_pool_debug_poison(pool, netmem);
}

/**
 * page_pool_debug_leave() - a page is handed out, or leaves the pool
 * @pool:	the pool
 * @netmem:	the page
 */
void page_pool_debug_leave(const struct page_pool *pool, netmem_ref netmem)
{
	page_pool_debug_unpoison(pool, netmem);
	atomic_long_set(netmem_get_pp_ref_count_ref(netmem), 1);
	page_pool_debug_note(netmem);
}

/**
 * page_pool_debug_free_page() - the page allocator gets a page of a pool
 * @page:	the page, whose last reference was dropped
 *
 * Somebody has called put_page() for a page that he had from a pool, instead
 * of giving it back, or for one that he had given back. The first is taken for
 * a page that leaves the pool; what is at home stays there.
 *
 * Return: false if the page must not be freed.
 */
bool page_pool_debug_free_page(struct page *page)
{
	struct page_pool *pool = page->pp;
	netmem_ref netmem = page_to_netmem(page);

	if (page_pool_debug_at_home(atomic_long_read(&page->pp_ref_count)) ||
	    READ_ONCE(pool->frag_page) == netmem) {
		WARN(1, "page_pool: page freed that is at home in pool %u\n",
		     pool->user.id);
		set_page_count(page, 1);
		return false;
	}

	WARN(1, "page_pool: page freed that belongs to pool %u\n",
	     pool->user.id);
	page_pool_debug_lost(pool, netmem);

	return true;
}
