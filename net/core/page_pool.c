// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: allocation and recycling
 *
 * The life of a page:
 *
 *	        page allocator, or memory provider
 *	              | slow path: map,          ^ release: unmap,
 *	              | mark, count hold         | unmark, count release
 *	    +- pool --|--------------------------|-------------+
 *	    |         v                          |             |
 *	    |       array <----- refill ------ ring            |
 *	    |   (consumer only)                  ^             |
 *	    |      |   ^                         | PP_STAGE_SIZE at a time
 *	    |      |   |                       stage           |
 *	    |      |   |                    (one per CPU)      |
 *	    +------|---^-------------------------^-------------+
 *	           |   |                         |          ^
 *	     alloc |   | put, by the    put, by  |          | put, but the ring is
 *	           |   | consumer       others   |          | full, the pool is
 *	           v   |                         |          | destroyed, or the page
 *	       held by users: driver, stack, sockets        | cannot be used again
 *
 * What holds at any time, for a pool that nobody uses just now:
 *
 *  - hold count = pages held by users + in the array + in the ring + release
 *    count. A page is in one place only. (A page is in a stage only within a
 *    section with BHs off, see "Staging" below, and counts as a user's. Outside
 *    of sections it goes to the ring at once.)
 *  - A parked page (in the array or the ring) has one page reference and one
 *    pool reference, both the pool's, and is mapped and synced for the device
 *    if the pool does that.
 *  - The array, its fill word, the fragment page and everything in the groups
 *    pp_alloc, frag and pp_slow belong to the consumer. What makes calls of
 *    the consumer exclude each other is the driver's (NAPI, or not being up
 *    yet). A put may act as the consumer when the caller says that it is, or
 *    in BH context on the CPU that owns the pool or polls its NAPI now: such
 *    a put cannot interrupt a poll on that CPU and no other CPU can be in
 *    one. Not so on PREEMPT_RT, where BH context is preemptible.
 *  - The ring is filled under its producer lock by anyone, and emptied under
 *    its consumer lock by the consumer and, while that is idle, by the shrinker
 *    (page_pool_shrink.c), both with BH off.
 *
 * The end: page_pool_destroy() stops direct recycling, then empties the array
 * and closes the ring by making it a ring of no entries. That happens under
 * the producer lock, so a producer is either through, and its page is found,
 * or finds the ring full and lets the page go. From then on nothing parks, at
 * no cost to puts before. The last page to leave frees the pool.
 *
 *	page_pool_destroy()			release of a page
 *	  destroyed = true			  release count + 1
 *	  smp_mb()			(A)	  smp_mb__after_atomic()  (A)
 *	  read release count			  read destroyed
 *
 * (A) pairs with itself: at least one of the two sees what the other did. If
 * both do, or two releases both find that they were the last, the bit in
 * "freeing" decides. The release looks at the pool after it has counted, when
 * the other may already be freeing it, so the memory of the pool is freed after
 * a grace period that nobody waits for.
 */
#include <linux/device.h>
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/poison.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <kunit/visibility.h>
#include <net/netdev_rx_queue.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>
#include <net/xdp.h>

#include <trace/events/page_pool.h>

#include "dev.h"
#include "page_pool_priv.h"

DEFINE_STATIC_KEY_FALSE(page_pool_mem_providers);

#define PP_RING_DEFAULT		1024
#define PP_RING_MAX		16384
/* Pages that the shrinker takes out of a ring at a time */
#define PP_SHRINK_BATCH		32

/* Pools with a smaller ring do not stage. */
#define PP_STAGE_RING_MIN	(4 * PP_STAGE_SIZE)

/* Bits of pool->freeing */
#define PP_FREEING		0	/* somebody is freeing the pool */
#define PP_REPORTED		1	/* in-flight below zero was reported */

static bool page_pool_has_provider(const struct page_pool *pool)
{
	return static_branch_unlikely(&page_pool_mem_providers) && pool->mp_ops;
}

/*
 * Counting pages in and out
 */

/**
 * page_pool_inflight() - pages that entered a pool and have not left it
 * @pool:	the pool
 * @strict:	trace the numbers, and report it when they cannot be
 *
 * Context: Any.
 *
 * Return: their number; below zero only if @strict.
 */
s32 page_pool_inflight(const struct page_pool *pool, bool strict)
{
	u32 release = atomic_read(&pool->pages_state_release_cnt);
	u32 hold = READ_ONCE(pool->pages_state_hold_cnt);
	/* Both wrap; they are less than 2^31 apart. */
	s32 inflight = hold - release;

	if (!strict)
		return max(inflight, 0);

	trace_page_pool_release(pool, inflight, hold, release);
	WARN(inflight < 0, "page_pool: negative inflight: %d pages\n",
	     inflight);

	return inflight;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_inflight);

/* The hold count was @old before the slow path. It wraps; how often is known
 * from the times that its upper half began or ended.
 */
static void page_pool_note_hold(struct page_pool *pool, u32 old)
{
	if (unlikely((s32)(pool->pages_state_hold_cnt ^ old) < 0))
		WRITE_ONCE(pool->hold_halves, pool->hold_halves + 1);
}

/**
 * page_pool_allocated() - pages that entered a pool since it was created
 * @pool:	the pool
 * @hold:	its hold count, just read
 *
 * Context: Any.
 *
 * Return: their number, in 64 bits.
 */
u64 page_pool_allocated(const struct page_pool *pool, u32 hold)
{
	u32 halves = READ_ONCE(pool->hold_halves);

	/* One of the two values was read on this side of a turn and the other
	 * beyond: the count is just before it or just after.
	 */
	if (unlikely((halves ^ (hold >> 31)) & 1))
		halves += hold & BIT(30) ? -1 : 1;

	return ((u64)halves << 31) + (hold & ~BIT(31));
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_allocated);

static void page_pool_free(struct page_pool *pool);

static void page_pool_free_work(struct work_struct *work)
{
	page_pool_free(container_of(work, struct page_pool, free_work));
}

/* A page has left a pool that was destroyed. */
static noinline void page_pool_release_dying(struct page_pool *pool)
{
	u32 release = atomic_read(&pool->pages_state_release_cnt);
	s32 inflight = pool->pages_state_hold_cnt - release;

	if (likely(inflight > 0))
		return;

	/* Below zero somebody has put what was not his. There is no telling
	 * who still uses the pool then, so it stays.
	 */
	if (unlikely(inflight < 0)) {
		if (!test_and_set_bit(PP_REPORTED, &pool->freeing))
			page_pool_inflight(pool, true);
		return;
	}

	trace_page_pool_release(pool, inflight, release, release);
	if (!test_and_set_bit(PP_FREEING, &pool->freeing))
		queue_work(system_unbound_wq, &pool->free_work);
}

/* Count a page that leaves. The pool may be gone when this returns. */
static __always_inline void page_pool_count_release(struct page_pool *pool,
						    netmem_ref netmem)
{
	page_pool_debug_forget(netmem);
	rcu_read_lock();
	atomic_inc(&pool->pages_state_release_cnt);
	/* (A), see the top of this file */
	smp_mb__after_atomic();
	trace_page_pool_state_release(pool, netmem,
				      atomic_read(&pool->pages_state_release_cnt));
	/* Acquire for the hold count, which was final by then. */
	if (unlikely(smp_load_acquire(&pool->destroyed)))
		page_pool_release_dying(pool);
	rcu_read_unlock();
}

static noinline void page_pool_release_provided(struct page_pool *pool,
						netmem_ref netmem)
{
	bool put = pool->mp_ops->release_netmem(pool, netmem);

	if (put)
		page_pool_clear_pp_info(netmem);
	page_pool_count_release(pool, netmem);
	if (put)
		put_page(netmem_to_page(netmem));
}

/* Let a page go that only the caller has. The pool may be gone when this
 * returns.
 */
static noinline void page_pool_release(struct page_pool *pool,
				       netmem_ref netmem)
{
	struct page *page = __netmem_to_page(netmem);

	page_pool_debug_leave(pool, netmem);

	if (page_pool_has_provider(pool)) {
		page_pool_release_provided(pool, netmem);
		return;
	}

	if (pool->dma_map)
		page_pool_dma_unmap(pool, netmem);

	page_pool_clear_pp_info(netmem);
	page_pool_count_release(pool, netmem);
	put_page(page);
}

#ifdef CONFIG_DEBUG_PAGE_POOL
/* As above, but somebody has let it go to the page allocator already. */
void page_pool_debug_lost(struct page_pool *pool, netmem_ref netmem)
{
	if (pool->dma_map)
		page_pool_dma_unmap(pool, netmem);

	page_pool_clear_pp_info(netmem);
	page_pool_count_release(pool, netmem);
}
#endif

/**
 * page_pool_set_pp_info() - mark memory as a pool's
 * @pool:	the pool
 * @netmem:	memory that enters it
 *
 * Context: The pool's consumer, or its provider on the consumer's behalf.
 */
void page_pool_set_pp_info(struct page_pool *pool, netmem_ref netmem)
{
	netmem_set_pp(netmem, pool);
	netmem_or_pp_magic(netmem, PP_SIGNATURE);
	/* One user, whoever gets it first; puts rely on that. */
	page_pool_fragment_netmem(netmem, 1);
	if (unlikely(pool->has_init_callback))
		pool->slow.init_callback(netmem, pool->slow.init_arg);
}

/**
 * page_pool_clear_pp_info() - remove a pool's marks
 * @netmem:	memory that leaves its pool
 *
 * Context: Any, the caller being the only owner.
 */
void page_pool_clear_pp_info(netmem_ref netmem)
{
	netmem_clear_pp_magic(netmem);
	netmem_set_pp(netmem, NULL);
}

/*
 * NUMA: pages are wanted on the node of the pool, or on that of its consumer
 * with NUMA_NO_NODE. Where a put happens does not matter.
 *
 * Nothing is checked per page as long as all pages of the pool can only be on
 * the wanted node (node_check == 0). When the node changes, or the page
 * allocator had to serve from another one, puts start to look, and the refill
 * looks at what may have been parked before the change.
 *
 * While the wanted node is out of memory, pages of the node that served last
 * are as good as any. Refusing them would mean the slow path for each page.
 */

static int page_pool_resolve_nid(int nid)
{
	struct zoneref *z;

	if (nid == NUMA_NO_NODE || !node_online(nid))
		nid = numa_mem_id();

	if (node_state(nid, N_MEMORY))
		return nid;

	/* A node without memory: take what the page allocator would. */
	z = first_zones_zonelist(node_zonelist(nid, GFP_KERNEL),
				 gfp_zone(GFP_KERNEL), NULL);

	return zonelist_zone(z) ? zonelist_node_idx(z) : nid;
}

static noinline void page_pool_change_nid(struct page_pool *pool, int nid)
{
	pool->nid_seen = nid;
	nid = page_pool_resolve_nid(nid);
	if (nid == pool->nid_want && nid == pool->nid_served)
		return;

	WRITE_ONCE(pool->nid_want, nid);
	WRITE_ONCE(pool->nid_served, nid);

	/* No page can be on another node before the first has come in. */
	if (!pool->pages_state_hold_cnt)
		return;

	WRITE_ONCE(pool->node_check, 1);
	/* Whatever is in the ring now comes out with this many entries. */
	pool->nid_recheck = pool->ring.size;
}

/* Follow a consumer that has no fixed node. */
static void page_pool_follow_nid(struct page_pool *pool)
{
	if (!IS_ENABLED(CONFIG_NUMA) || pool->p.nid != NUMA_NO_NODE)
		return;

	/* A consumer in task context may move on at once; the next one looks
	 * again.
	 */
	if (unlikely(pool->nid_seen != numa_mem_id()))
		page_pool_change_nid(pool, numa_mem_id());
}

static bool page_pool_nid_ok(const struct page_pool *pool, netmem_ref netmem)
{
	int nid;

	if (!IS_ENABLED(CONFIG_NUMA) || netmem_is_net_iov(netmem))
		return true;

	nid = page_to_nid(__netmem_to_page(netmem));

	return nid == READ_ONCE(pool->nid_want) ||
	       nid == READ_ONCE(pool->nid_served);
}

/* Note the node of a page that came from the page allocator. */
static void page_pool_note_nid(struct page_pool *pool, const struct page *page)
{
	int nid = page_to_nid(page);

	if (!IS_ENABLED(CONFIG_NUMA) || likely(nid == pool->nid_served))
		return;

	WRITE_ONCE(pool->nid_served, nid);
	WRITE_ONCE(pool->node_check, 1);
	/* Parked pages of the node that served before are now foreign. */
	pool->nid_recheck = pool->ring.size;
}

/**
 * page_pool_update_nid() - move a pool to another NUMA node
 * @pool:	the pool
 * @new_nid:	node to allocate from now on, or NUMA_NO_NODE
 *
 * Parked pages of other nodes leave the pool, those in the ring bit by bit as
 * they come out; pages that are in use leave it when they are put.
 *
 * Context: The pool's consumer in BH or NAPI context, or with the pool idle.
 */
void page_pool_update_nid(struct page_pool *pool, int new_nid)
{
	u32 i, kept = 0, n = page_pool_array_count(pool);

	trace_page_pool_update_nid(pool, new_nid);
	pool->p.nid = new_nid;

	if (!IS_ENABLED(CONFIG_NUMA))
		return;

	if (new_nid == NUMA_NO_NODE)
		new_nid = numa_mem_id();
	page_pool_change_nid(pool, new_nid);

	for (i = 0; i < n; i++) {
		netmem_ref netmem = pool->cache[i];

		if (page_pool_nid_ok(pool, netmem))
			pool->cache[kept++] = netmem;
		else
			page_pool_release(pool, netmem);
	}
	page_pool_array_move(pool, (int)kept - (int)n);
}
EXPORT_SYMBOL(page_pool_update_nid);

/*
 * Recycling
 */

static bool page_pool_can_recycle(const struct page_pool *pool,
				  netmem_ref netmem)
{
	struct page *page = __netmem_to_page(netmem);

	/* Memory of providers has no other references and no node. */
	if (unlikely(netmem_is_net_iov(netmem)))
		return true;

	return likely(page_ref_count(page) == 1) &&
	       likely(!page_is_pfmemalloc(page)) &&
	       (likely(!READ_ONCE(pool->node_check)) ||
		page_pool_nid_ok(pool, netmem));
}

/* A page was put that cannot be used again: say why and let it go. */
static noinline void page_pool_refuse(struct page_pool *pool,
				      netmem_ref netmem)
{
	struct page *page = __netmem_to_page(netmem);

	if (page_ref_count(page) != 1)
		pp_recycle_stat_inc(pool, released_refcnt);
	else if (page_is_pfmemalloc(page))
		pp_recycle_stat_inc(pool, released_pfmemalloc);
	else
		pp_recycle_stat_inc(pool, released_nid);

	page_pool_release(pool, netmem);
}

static noinline void page_pool_ring_full(struct page_pool *pool,
					 netmem_ref netmem)
{
	pp_recycle_stat_inc(pool, ring_full);
	page_pool_release(pool, netmem);
}

/* Neither the array nor the ring's lock may be touched from hardirq. The page
 * is in nobody's way if it leaves.
 */
static noinline void page_pool_put_hardirq(struct page_pool *pool,
					   netmem_ref netmem)
{
	WARN_ONCE(1, "page_pool: page put from hardirq context\n");
	page_pool_ring_full(pool, netmem);
}

static noinline void page_pool_put_ring(struct page_pool *pool,
					netmem_ref netmem)
{
	bool bh_on = page_pool_lock(&pool->ring.producer_lock);
	bool full = __ptr_ring_produce(&pool->ring, (__force void *)netmem);

	/* Once in the ring the page may be taken out, and with it gone the
	 * pool may be destroyed, which waits for the lock only: nothing of the
	 * pool may be touched after the unlock.
	 */
	if (likely(!full))
		pp_recycle_stat_inc(pool, ring);
	page_pool_unlock(&pool->ring.producer_lock, bh_on);

	if (unlikely(full))
		page_pool_ring_full(pool, netmem);
}

/* Put @n pages that can be used again into the ring, in BH context. The pool
 * may be gone when this returns.
 */
static void page_pool_put_ring_batch(struct page_pool *pool, netmem_ref *netmem,
				     u32 n)
{
	u32 done;

	spin_lock(&pool->ring.producer_lock);
	done = __ptr_ring_produce_batched(&pool->ring, (void **)netmem, n);
	pp_recycle_stat_add(pool, ring, done);
	spin_unlock(&pool->ring.producer_lock);

	for (; unlikely(done < n); done++)
		page_pool_ring_full(pool, netmem[done]);
}

/*
 * Staging: a CPU that puts many pages while it works on a batch of packets
 * collects them and takes the ring's lock once for PP_STAGE_SIZE of them. Only
 * between the two ends of a section, during which BHs stay off: what was
 * collected is published before the section ends, so nothing is left behind
 * when the CPU turns to something else.
 *
 * Nobody else looks at what a CPU has staged. To others a staged page is one
 * that its user has not put yet: it is counted as in flight, keeps its pool
 * from being freed, and is let go when it reaches a ring that page_pool_destroy()
 * has closed meanwhile.
 */

struct page_pool_stage {
	local_lock_t lock;		/* BHs may be preemptible */
	bool open;			/* in a section */
	struct hlist_head dirty;	/* pools that the section stages for */
};

static DEFINE_PER_CPU(struct page_pool_stage, page_pool_stage) = {
	.lock = INIT_LOCAL_LOCK(lock),
};

/* In a section BHs are off, so that no task comes here, nor another CPU's. On
 * PREEMPT_RT one may, that has BHs enabled and preempts the section.
 */
static __always_inline bool page_pool_in_section(void)
{
	return this_cpu_read(page_pool_stage.open) &&
	       (!IS_ENABLED(CONFIG_PREEMPT_RT) || in_softirq()) &&
	       likely(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK)));
}

/* The pool may have moved to another node since pages were staged: let go of
 * those that are on the wrong one now. Returns how many are left.
 */
static u32 page_pool_stage_filter(struct page_pool *pool,
				  struct page_pool_pcpu *pcpu, u32 n)
{
	u32 i, kept = 0;

	if (likely(!READ_ONCE(pool->node_check)))
		return n;

	for (i = 0; i < n; i++) {
		netmem_ref netmem = pcpu->staged[i];

		if (page_pool_nid_ok(pool, netmem)) {
			pcpu->staged[kept++] = netmem;
			continue;
		}

		pp_recycle_stat_inc(pool, released_nid);
		page_pool_release(pool, netmem);
	}

	return kept;
}

/* Publish the @n pages that this CPU has staged. The pool may be gone when
 * this returns. Not called with the section open: what is let go here may be
 * reported, and a console that sends the report may free other pages, which
 * must not be staged meanwhile.
 */
static noinline void page_pool_stage_flush(struct page_pool *pool,
					   struct page_pool_pcpu *pcpu, u32 n)
{
	pcpu->stage_next = 0;

	n = page_pool_stage_filter(pool, pcpu, n);
	if (likely(n))
		page_pool_put_ring_batch(pool, pcpu->staged, n);
}

/* From here on, until the section ends, what is put to the pool is staged. */
VISIBLE_IF_KUNIT void page_pool_stage_enlist(struct page_pool *pool)
{
	struct page_pool_pcpu *pcpu = this_cpu_ptr(pool->pcpu);

	hlist_add_head(&pcpu->node, this_cpu_ptr(&page_pool_stage.dirty));
	pcpu->stage_next = 0;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_stage_enlist);

/* The first page in a section, or the last of a batch. The first does not
 * wait: where there is one packet at a time there will be no second.
 */
static noinline void page_pool_stage_edge(struct page_pool *pool,
					  struct page_pool_pcpu *pcpu,
					  netmem_ref netmem)
{
	if (pcpu->stage_next == PP_STAGE_SIZE - 1) {
		pcpu->staged[PP_STAGE_SIZE - 1] = netmem;
		this_cpu_write(page_pool_stage.open, false);
		page_pool_stage_flush(pool, pcpu, PP_STAGE_SIZE);
		this_cpu_write(page_pool_stage.open, true);
		return;
	}

	if (likely(pcpu->pool))
		page_pool_stage_enlist(pool);
	page_pool_put_ring(pool, netmem);
}

/* Only in a section */
static __always_inline void page_pool_stage_add(struct page_pool *pool,
						netmem_ref netmem)
{
	struct page_pool_pcpu *pcpu;
	u32 next;

	local_lock_nested_bh(&page_pool_stage.lock);
	pcpu = this_cpu_ptr(pool->pcpu);
	next = pcpu->stage_next;

	if (likely(next < PP_STAGE_SIZE - 1)) {
		pcpu->staged[next] = netmem;
		pcpu->stage_next = next + 1;
	} else {
		page_pool_stage_edge(pool, pcpu, netmem);
	}
	local_unlock_nested_bh(&page_pool_stage.lock);
}

/* The consumer found nothing parked: take what this CPU is about to put there.
 * Returns how many pages that were.
 */
static u32 page_pool_unstage(struct page_pool *pool)
{
	struct page_pool_pcpu *pcpu;
	u32 n = 0;

	/* In task context, with BHs on, what is staged is not the caller's. */
	if (!in_softirq() || !page_pool_in_section())
		return 0;

	static_assert(PP_STAGE_SIZE - 1 <= PP_ALLOC_CACHE_SIZE);

	local_lock_nested_bh(&page_pool_stage.lock);
	pcpu = this_cpu_ptr(pool->pcpu);
	if (pcpu->stage_next != PP_STAGE_SIZE) {
		n = pcpu->stage_next;
		pcpu->stage_next = 0;
		/* As with page_pool_stage_flush() */
		this_cpu_write(page_pool_stage.open, false);
		n = page_pool_stage_filter(pool, pcpu, n);
		this_cpu_write(page_pool_stage.open, true);
		memcpy(pool->cache, pcpu->staged, n * sizeof(*pool->cache));
		pp_recycle_stat_add(pool, ring, n);
	}
	local_unlock_nested_bh(&page_pool_stage.lock);

	return n;
}

/**
 * page_pool_stage_begin() - open a section
 *
 * Until page_pool_stage_end() this CPU collects pages that are put, of any
 * pool, and publishes them in batches. Sections do not nest. Not for drivers:
 * the loops that call their poll functions have done so.
 *
 * Context: BH off, and off until the section ends.
 */
void page_pool_stage_begin(void)
{
	DEBUG_NET_WARN_ON_ONCE(!in_softirq());
	DEBUG_NET_WARN_ON_ONCE(this_cpu_read(page_pool_stage.open));

	this_cpu_write(page_pool_stage.open, true);
}
EXPORT_SYMBOL_NS_GPL(page_pool_stage_begin, PAGE_POOL_INTERNAL);

/**
 * page_pool_stage_end() - end a section, publish what is staged
 *
 * Context: The one that page_pool_stage_begin() was called in, BH off since.
 */
void page_pool_stage_end(void)
{
	struct page_pool_stage *stage = this_cpu_ptr(&page_pool_stage);
	struct page_pool_pcpu *pcpu;
	struct hlist_node *next;

	DEBUG_NET_WARN_ON_ONCE(!stage->open);

	local_lock_nested_bh(&page_pool_stage.lock);
	stage->open = false;
	/* Pools may be gone, or go here, but for what is used of them, which
	 * stays as long as BHs are off: see page_pool_free().
	 */
	hlist_for_each_entry_safe(pcpu, next, &stage->dirty, node) {
		if (pcpu->stage_next)
			page_pool_stage_flush(pcpu->pool, pcpu,
					      pcpu->stage_next);
		pcpu->stage_next = PP_STAGE_SIZE;
	}
	INIT_HLIST_HEAD(&stage->dirty);
	local_unlock_nested_bh(&page_pool_stage.lock);
}
EXPORT_SYMBOL_NS_GPL(page_pool_stage_end, PAGE_POOL_INTERNAL);

/**
 * page_pool_batch_begin() - pages that are put one by one go home together
 *
 * A section for what frees many pages at once, outside of softirq too. Not for
 * long, since BHs are off.
 *
 * Context: Any. If it returns true, BHs are off until page_pool_batch_end().
 *
 * Return: true if the caller has to call page_pool_batch_end().
 */
bool page_pool_batch_begin(void)
{
	if (page_pool_in_section() || in_hardirq() || in_nmi() ||
	    irqs_disabled())
		return false;

	local_bh_disable();
	/* A section may be closed while it publishes, see above. */
	if (unlikely(!hlist_empty(this_cpu_ptr(&page_pool_stage.dirty)))) {
		local_bh_enable();
		return false;
	}
	page_pool_stage_begin();

	return true;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_batch_begin);

/**
 * page_pool_batch_end() - end what page_pool_batch_begin() has begun
 *
 * Context: As page_pool_stage_end().
 */
void page_pool_batch_end(void)
{
	page_pool_stage_end();
	local_bh_enable();
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_batch_end);

/* A NAPI is this CPU's from when the CPU schedules it until the poll has ended,
 * threaded or not.
 */
static __always_inline bool page_pool_polls(const struct page_pool *pool)
{
	const struct napi_struct *napi = READ_ONCE(pool->p.napi);

	return napi && READ_ONCE(napi->list_owner) == smp_processor_id();
}

/* May the caller, in BH context, act as the consumer? See the top of this
 * file.
 */
static bool page_pool_is_consumer(const struct page_pool *pool)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) &&
	       (page_pool_polls(pool) ||
		READ_ONCE(pool->cpuid) == smp_processor_id());
}

/* Not hardirq, which has bits above, nor task, which has none */
static bool page_pool_in_bh(void)
{
	return irq_count() - 1UL < SOFTIRQ_MASK;
}

static noinline void page_pool_put_cache_full(struct page_pool *pool,
					      netmem_ref netmem)
{
	pp_recycle_stat_inc(pool, cache_full);
	page_pool_put_ring(pool, netmem);
}

static __always_inline void page_pool_put_array(struct page_pool *pool,
						netmem_ref netmem)
{
	if (likely(page_pool_array_count(pool) < PP_ALLOC_CACHE_SIZE))
		page_pool_array_push(pool, netmem);
	else
		page_pool_put_cache_full(pool, netmem);
}

/* Outside of sections, and wherever it matters little how long it takes */
static noinline void page_pool_park_elsewhere(struct page_pool *pool,
					      netmem_ref netmem)
{
	page_pool_debug_park(pool, netmem);

	if (unlikely(in_hardirq() || in_nmi()))
		page_pool_put_hardirq(pool, netmem);
	else if (in_softirq() && page_pool_is_consumer(pool))
		page_pool_put_array(pool, netmem);
	else
		page_pool_put_ring(pool, netmem);
}

/* Park a page that can be used again. */
static __always_inline void
page_pool_park(struct page_pool *pool, netmem_ref netmem, bool allow_direct)
{
	page_pool_debug_park(pool, netmem);

	if (!allow_direct) {
		if (unlikely(!page_pool_in_section()))
			page_pool_park_elsewhere(pool, netmem);
		else if (!IS_ENABLED(CONFIG_PREEMPT_RT) && page_pool_polls(pool))
			page_pool_put_array(pool, netmem);
		else
			page_pool_stage_add(pool, netmem);
		return;
	}

	/* Direct callers vouch for their context; they are checked in debug
	 * kernels.
	 */
	if ((IS_ENABLED(CONFIG_DEBUG_NET) ||
	     IS_ENABLED(CONFIG_DEBUG_PAGE_POOL)) && unlikely(in_hardirq()))
		page_pool_put_hardirq(pool, netmem);
	else
		page_pool_put_array(pool, netmem);
}

/* Nothing about the page, or the pool, keeps it from being parked at once. */
static __always_inline bool page_pool_is_plain(const struct page_pool *pool,
					       const struct page *page)
{
	return likely(!READ_ONCE(pool->checks)) &&
	       likely(page_ref_count(page) == 1) &&
	       likely(!page_is_pfmemalloc(page));
}

/* Otherwise: look closer, and let go of it or prepare it. Returns whether it
 * can be parked.
 */
static noinline bool page_pool_prepare(struct page_pool *pool,
				       netmem_ref netmem,
				       unsigned int dma_sync_size)
{
	if (unlikely(!page_pool_can_recycle(pool, netmem))) {
		page_pool_refuse(pool, netmem);
		return false;
	}

	page_pool_dma_sync_for_device(pool, netmem, dma_sync_size);

	return true;
}

static noinline void page_pool_put_usable(struct page_pool *pool,
					  netmem_ref netmem,
					  unsigned int dma_sync_size,
					  bool allow_direct)
{
	page_pool_dma_sync_for_device(pool, netmem, dma_sync_size);

	if (unlikely(pool->cpu_check) && !allow_direct)
		page_pool_park_elsewhere(pool, netmem);
	else
		page_pool_park(pool, netmem, allow_direct);
}

static noinline void page_pool_put_checked(struct page_pool *pool,
					   netmem_ref netmem,
					   unsigned int dma_sync_size,
					   bool allow_direct)
{
	if (likely(page_pool_can_recycle(pool, netmem)))
		page_pool_put_usable(pool, netmem, dma_sync_size,
				     allow_direct);
	else
		page_pool_refuse(pool, netmem);
}

/* Everything that a usual put does not need is called, and called last, so
 * that a usual put saves no registers.
 */
static __always_inline void
page_pool_put_one_page(struct page_pool *pool, struct page *page,
		       unsigned int dma_sync_size, bool allow_direct)
{
	netmem_ref netmem = (__force netmem_ref)page;

	if (likely(page_pool_is_plain(pool, page)))
		page_pool_park(pool, netmem, allow_direct);
	else
		page_pool_put_checked(pool, netmem, dma_sync_size,
				      allow_direct);
}

/**
 * page_pool_put_unrefed_netmem() - put memory without pool references left
 * @pool:	pool that the memory belongs to
 * @netmem:	the memory
 * @dma_sync_size: bytes from the pool's offset on that the CPU may have
 *		touched
 * @allow_direct: the caller is the pool's consumer in BH or NAPI context
 *
 * For callers that count references themselves, see page_pool_unref_page().
 *
 * Context: Any but hardirq; @allow_direct only as said.
 */
void page_pool_put_unrefed_netmem(struct page_pool *pool, netmem_ref netmem,
				  unsigned int dma_sync_size, bool allow_direct)
{
	if (!page_pool_debug_put(&pool, netmem, dma_sync_size, &allow_direct))
		return;

	if (unlikely(netmem_is_net_iov(netmem)))
		page_pool_put_checked(pool, netmem, dma_sync_size,
				      allow_direct);
	else
		page_pool_put_one_page(pool, __netmem_to_page(netmem),
				       dma_sync_size, allow_direct);
}
EXPORT_SYMBOL(page_pool_put_unrefed_netmem);

/**
 * page_pool_put_unrefed_page() - put a page without pool references left
 * @pool:	pool that the page belongs to
 * @page:	the page
 * @dma_sync_size: bytes from the pool's offset on that the CPU may have
 *		touched
 * @allow_direct: the caller is the pool's consumer in BH or NAPI context
 *
 * Context: As page_pool_put_unrefed_netmem().
 */
void page_pool_put_unrefed_page(struct page_pool *pool, struct page *page,
				unsigned int dma_sync_size, bool allow_direct)
{
	if (!page_pool_debug_put(&pool, page_to_netmem(page), dma_sync_size,
				 &allow_direct))
		return;

	page_pool_put_one_page(pool, page, dma_sync_size, allow_direct);
}
EXPORT_SYMBOL(page_pool_put_unrefed_page);

/* For one of many pages: whether it really is @pool's to put. One of another
 * pool is put there.
 */
static __always_inline bool page_pool_debug_put_to(struct page_pool *pool,
						   struct page *page)
{
	struct page_pool *owner = pool;
	bool direct = false;

	if (!page_pool_debug_put(&owner, page_to_netmem(page), -1, &direct))
		return false;
	if (likely(owner == pool))
		return true;

	page_pool_put_one_page(owner, page, -1, false);
	return false;
}

/**
 * page_pool_put_page_bulk() - give back one pool reference of each of many
 *			       pages
 * @pool:	pool that the pages belong to
 * @data:	addresses in the pages; the array is overwritten
 * @count:	number of addresses
 *
 * Takes the ring's lock once for all, if at all: the consumer needs none, and a
 * few pages may be staged. Syncs as page_pool_put_full_page().
 *
 * Context: Any but hardirq.
 */
void page_pool_put_page_bulk(struct page_pool *pool, void **data, int count)
{
	bool direct = page_pool_in_bh() && page_pool_is_consumer(pool);
	netmem_ref *batch = (__force netmem_ref *)data;
	bool hardirq = in_hardirq() || in_nmi();
	int i, n = 0;
	bool bh_on;

	for (i = 0; i < count; i++) {
		struct page *page = virt_to_head_page(data[i]);
		netmem_ref netmem = (__force netmem_ref)page;

		if (page_pool_unref_page(page, 1))
			continue;

		if (!page_pool_debug_put_to(pool, page))
			continue;

		if (unlikely(!page_pool_is_plain(pool, page)) &&
		    !page_pool_prepare(pool, netmem, -1))
			continue;

		page_pool_debug_park(pool, netmem);
		if (direct) {
			if (likely(page_pool_array_count(pool) <
				   PP_ALLOC_CACHE_SIZE)) {
				page_pool_array_push(pool, netmem);
				continue;
			}
			pp_recycle_stat_inc(pool, cache_full);
		}

		batch[n++] = netmem;
	}

	if (unlikely(hardirq)) {
		for (i = 0; i < n; i++)
			page_pool_put_hardirq(pool, batch[i]);
		return;
	}

	/* A few are better off with those to come. */
	if (n < PP_STAGE_SIZE / 2 && page_pool_in_section() &&
	    this_cpu_ptr(pool->pcpu)->pool) {
		for (i = 0; i < n; i++)
			page_pool_stage_add(pool, batch[i]);
		return;
	}

	if (!n)
		return;

	/* Not off and on again in BH context: netpoll has interrupts off. */
	bh_on = !in_softirq();
	if (bh_on)
		local_bh_disable();
	page_pool_put_ring_batch(pool, batch, n);
	if (bh_on)
		local_bh_enable();
}
EXPORT_SYMBOL(page_pool_put_page_bulk);

/*
 * Allocation: consumer only
 */

/* Take @n pages that stand at the start of the empty array into the pool.
 * Returns how many of them it has got.
 */
static u32 page_pool_adopt(struct page_pool *pool, u32 n, gfp_t gfp)
{
	u32 old = pool->pages_state_hold_cnt;
	u32 i, adopted, hold = old;

	for (i = 0; i < n; i++) {
		netmem_ref netmem = pool->cache[i];
		struct page *page = __netmem_to_page(netmem);

		if (pool->dma_map &&
		    unlikely(!page_pool_dma_map(pool, netmem, gfp)))
			break;

		page_pool_note_nid(pool, page);
		page_pool_set_pp_info(pool, netmem);
		page_pool_debug_park(pool, netmem);
		trace_page_pool_state_hold(pool, netmem, ++hold);
	}
	adopted = i;
	/* Read by others: netlink, debugfs of drivers. */
	WRITE_ONCE(pool->pages_state_hold_cnt, hold);
	page_pool_note_hold(pool, old);

	/* What could not be mapped now will not be a moment later. */
	for (; unlikely(i < n); i++)
		put_page(__netmem_to_page(pool->cache[i]));

	return adopted;
}

/* Hand out one of @n pages that were brought to the empty array. */
static netmem_ref page_pool_array_start(struct page_pool *pool, u32 n)
{
	page_pool_array_move(pool, n - 1);
	page_pool_debug_leave(pool, pool->cache[n - 1]);

	return pool->cache[n - 1];
}

static noinline netmem_ref page_pool_alloc_slow(struct page_pool *pool,
						gfp_t gfp)
{
	struct page **array = (struct page **)pool->cache;
	unsigned int order = pool->p.order;
	netmem_ref netmem;
	u32 n;

	if (page_pool_has_provider(pool)) {
		u32 old = pool->pages_state_hold_cnt;

		netmem = pool->mp_ops->alloc_netmems(pool, gfp);
		page_pool_note_hold(pool, old);
		if (netmem)
			pp_alloc_stat_inc(pool, slow);
		return netmem;
	}

	/* Drivers cope with that, and each failing packet would be a report. */
	if ((gfp & GFP_ATOMIC) == GFP_ATOMIC)
		gfp |= __GFP_NOWARN;

	if (unlikely(order)) {
		array[0] = alloc_pages_node(pool->nid_want, gfp | __GFP_COMP,
					    order);
		n = !!array[0];
	} else {
		/* The allocator fills empty entries only. */
		memset(array, 0, PP_ALLOC_CACHE_REFILL * sizeof(*array));
		n = alloc_pages_bulk_array_node(gfp, pool->nid_want,
						PP_ALLOC_CACHE_REFILL, array);
	}

	n = page_pool_adopt(pool, n, gfp);
	if (unlikely(!n))
		return 0;

	if (order)
		pp_alloc_stat_inc(pool, slow_high_order);
	else
		pp_alloc_stat_inc(pool, slow);

	return page_pool_array_start(pool, n);
}

/* The consumer is not the only one to take pages out: the shrinker does. Moves
 * up to @n pages, returns how many.
 */
static u32 page_pool_ring_take(struct page_pool *pool, netmem_ref *to, u32 n)
{
	spinlock_t *lock = &pool->ring.consumer_lock;
	bool bh_on = page_pool_lock(lock);

	n = __ptr_ring_consume_batched(&pool->ring, (void **)to, n);
	page_pool_unlock(lock, bh_on);

	return n;
}

/* Pages of another node may be in the ring: let go of them and look on, but not
 * so long that softirqs are held up; a ring full of them goes in batches.
 * Returns how many pages of the right node were moved to the array.
 */
static noinline u32 page_pool_refill_checked(struct page_pool *pool)
{
	u32 i, n, kept = 0, foreign = 0;

	do {
		netmem_ref *from = &pool->cache[kept];

		n = page_pool_ring_take(pool, from, PP_ALLOC_CACHE_REFILL -
						    max(kept, foreign));
		pool->nid_recheck -= min(n, pool->nid_recheck);

		for (i = 0; i < n; i++) {
			if (likely(page_pool_nid_ok(pool, from[i]))) {
				pool->cache[kept++] = from[i];
			} else {
				page_pool_release(pool, from[i]);
				foreign++;
			}
		}
	} while (n && max(kept, foreign) < PP_ALLOC_CACHE_REFILL);

	pp_alloc_stat_add(pool, waive, foreign);

	return kept;
}

static noinline netmem_ref page_pool_refill(struct page_pool *pool)
{
	u32 n;

	page_pool_follow_nid(pool);

	/* Spares the ring's lines when there is nothing to take. */
	if (__ptr_ring_empty(&pool->ring)) {
		n = page_pool_unstage(pool);
		if (likely(!n)) {
			pp_alloc_stat_inc(pool, empty);
			return 0;
		}
	} else if (likely(!pool->nid_recheck)) {
		n = page_pool_ring_take(pool, pool->cache,
					PP_ALLOC_CACHE_REFILL);
	} else {
		n = page_pool_refill_checked(pool);
	}

	if (unlikely(!n))
		return 0;

	pp_alloc_stat_inc(pool, refill);

	return page_pool_array_start(pool, n);
}

static noinline netmem_ref page_pool_alloc_empty(struct page_pool *pool,
						 gfp_t gfp)
{
	netmem_ref netmem = page_pool_refill(pool);

	return netmem ?: page_pool_alloc_slow(pool, gfp);
}

static __always_inline netmem_ref page_pool_alloc_one(struct page_pool *pool,
						      gfp_t gfp)
{
	if (unlikely(!page_pool_array_count(pool)))
		return page_pool_alloc_empty(pool, gfp);

	return page_pool_array_pop(pool);
}

/**
 * page_pool_alloc_netmems() - allocate from a pool whatever it holds
 * @pool:	pool to allocate from
 * @gfp:	flags for the page allocator
 *
 * Context: The pool's consumer, any context but hardirq. May sleep if @gfp
 * allows it.
 *
 * Return: memory with one reference, or 0 when there is none or it could not
 * be mapped.
 */
netmem_ref page_pool_alloc_netmems(struct page_pool *pool, gfp_t gfp)
{
	return page_pool_alloc_one(pool, gfp);
}
EXPORT_SYMBOL(page_pool_alloc_netmems);

/* What a pool without a provider holds is always a page. */
static __always_inline struct page *page_pool_to_page(netmem_ref netmem)
{
	if (static_branch_unlikely(&page_pool_mem_providers))
		return netmem_to_page(netmem);

	return (__force struct page *)netmem;
}

/**
 * page_pool_alloc_pages() - allocate a page from a pool
 * @pool:	pool to allocate from, not one with unreadable memory
 * @gfp:	flags for the page allocator
 *
 * Context: The pool's consumer, any context but hardirq. May sleep if @gfp
 * allows it.
 *
 * Return: a page of the pool's order with one reference, or NULL when there
 * is no memory or it could not be mapped.
 */
struct page *page_pool_alloc_pages(struct page_pool *pool, gfp_t gfp)
{
	return page_pool_to_page(page_pool_alloc_one(pool, gfp));
}
EXPORT_SYMBOL(page_pool_alloc_pages);
ALLOW_ERROR_INJECTION(page_pool_alloc_pages, NULL);

/*
 * Fragments: the pool keeps one page open and cuts fragments off it. The page
 * starts with PP_FRAG_BIAS references; when it is used up, those that did not
 * become fragments are given back at once.
 */

/* Close the open page. True if all its fragments have come home already, so
 * that nobody but the caller has it.
 */
static bool page_pool_close_frag(struct page_pool *pool)
{
	netmem_ref netmem = pool->frag_page;

	pool->frag_page = 0;
	pool->frag_offset = PP_FRAG_CLOSED;

	return !page_pool_unref_netmem(netmem, PP_FRAG_BIAS - pool->frag_users);
}

/* The open page has no room: can it start again? That is a put and an
 * allocation in one.
 */
static netmem_ref page_pool_reuse_frag(struct page_pool *pool)
{
	netmem_ref netmem = pool->frag_page;

	if (!page_pool_close_frag(pool))
		return 0;

	if (unlikely(netmem_is_net_iov(netmem) ||
		     !page_pool_is_plain(pool, __netmem_to_page(netmem))) &&
	    !page_pool_prepare(pool, netmem, -1))
		return 0;

	page_pool_array_pass(pool);

	return netmem;
}

/* Open a page, for a first fragment of @size bytes. */
static noinline netmem_ref page_pool_open_frag(struct page_pool *pool,
					       unsigned int *offset,
					       u64 size, gfp_t gfp)
{
	netmem_ref netmem = 0;

	if (WARN_ON_ONCE(size > PAGE_SIZE << pool->p.order))
		return 0;

	if (pool->frag_page)
		netmem = page_pool_reuse_frag(pool);
	if (!netmem) {
		netmem = page_pool_alloc_one(pool, gfp);
		if (unlikely(!netmem))
			return 0;
	}

	page_pool_fragment_netmem(netmem, PP_FRAG_BIAS);
	pool->frag_page = netmem;
	pool->frag_users = 1;
	pool->frag_offset = size;
	*offset = 0;

	return netmem;
}

static __always_inline netmem_ref
page_pool_alloc_frag_one(struct page_pool *pool, unsigned int *offset,
			 unsigned int size, gfp_t gfp)
{
	unsigned int start = pool->frag_offset;
	u64 whole = PAGE_SIZE << pool->p.order;
	/* What is built on a fragment ends in a struct skb_shared_info, and
	 * neighbours must not share a line that DMA works on. In 64 bits, for
	 * @size may be anything.
	 */
	u64 need = ALIGN((u64)size, max_t(unsigned int,
					  dma_get_cache_alignment(),
					  __alignof__(struct skb_shared_info)));

	/* Never enough while no page is open */
	if (unlikely(start + need > whole))
		return page_pool_open_frag(pool, offset, need, gfp);

	*offset = start;
	pool->frag_offset = start + need;
	pool->frag_users++;

	return pool->frag_page;
}

/**
 * page_pool_alloc_frag_netmem() - allocate a part of what a pool holds
 * @pool:	pool to allocate from
 * @offset:	where the fragment starts, in bytes
 * @size:	bytes wanted, at most a page of the pool's order; rounded up so
 *		that the next fragment is aligned
 * @gfp:	flags for the page allocator
 *
 * Each fragment is put like a page of its own.
 *
 * Context: The pool's consumer, any context but hardirq. May sleep if @gfp
 * allows it.
 *
 * Return: the memory that holds the fragment, or 0.
 */
netmem_ref page_pool_alloc_frag_netmem(struct page_pool *pool,
				       unsigned int *offset, unsigned int size,
				       gfp_t gfp)
{
	return page_pool_alloc_frag_one(pool, offset, size, gfp);
}
EXPORT_SYMBOL(page_pool_alloc_frag_netmem);

/**
 * page_pool_alloc_frag() - allocate a part of a page from a pool
 * @pool:	pool to allocate from, not one with unreadable memory
 * @offset:	where the fragment starts in the page, in bytes
 * @size:	bytes wanted, at most a page of the pool's order
 * @gfp:	flags for the page allocator
 *
 * Context: As page_pool_alloc_frag_netmem().
 *
 * Return: the page that holds the fragment, or NULL.
 */
struct page *page_pool_alloc_frag(struct page_pool *pool, unsigned int *offset,
				  unsigned int size, gfp_t gfp)
{
	return page_pool_to_page(page_pool_alloc_frag_one(pool, offset, size,
							  gfp));
}
EXPORT_SYMBOL(page_pool_alloc_frag);

/*
 * Creation and the end
 */

static void page_pool_check_layout(void)
{
#define PP_GROUP(group, member)						\
	CACHELINE_ASSERT_GROUP_MEMBER(struct page_pool, group, member)

	PP_GROUP(pp_read, p);
	PP_GROUP(pp_read, cpuid);
	PP_GROUP(pp_read, node_check);
	PP_GROUP(pp_read, sync_check);
	PP_GROUP(pp_read, pcpu);
	PP_GROUP(pp_alloc, fill);
	PP_GROUP(pp_alloc, pages_state_hold_cnt);
	PP_GROUP(frag, frag_users);
	PP_GROUP(frag, frag_page);
	PP_GROUP(frag, frag_offset);
	PP_GROUP(pp_release, pages_state_release_cnt);
	PP_GROUP(pp_release, destroyed);
#undef PP_GROUP
	CACHELINE_ASSERT_GROUP_SIZE(struct page_pool, frag,
				    PAGE_POOL_FRAG_GROUP_ALIGN);
}

/* What is wrong with the parameters, NULL for nothing */
static const char *page_pool_check_params(const struct page_pool_params *params)
{
	if (params->flags & ~PP_FLAG_ALL)
		return "unknown flags";

	if (IS_ENABLED(CONFIG_NUMA) && params->nid != NUMA_NO_NODE &&
	    (params->nid < 0 || params->nid >= MAX_NUMNODES))
		return "no such NUMA node";

	if (params->flags & PP_FLAG_DMA_MAP) {
		if (!params->dev)
			return "no device to map for";
		if (params->dma_dir != DMA_FROM_DEVICE &&
		    params->dma_dir != DMA_BIDIRECTIONAL)
			return "bad DMA direction";
	}

	if (params->flags & PP_FLAG_DMA_SYNC_DEV) {
		if (!(params->flags & PP_FLAG_DMA_MAP))
			return "DMA sync without DMA mapping";
		if (!params->max_len)
			return "DMA sync of nothing";
	}

	if (params->flags & PP_FLAG_ALLOW_UNREADABLE_NETMEM &&
	    (!params->netdev ||
	     params->queue_idx >= params->netdev->num_rx_queues))
		return "unreadable memory without a queue";

	return NULL;
}

/* The provider of the queue that the pool serves, which RTNL keeps from
 * changing meanwhile
 */
static void page_pool_find_provider(struct page_pool *pool)
{
	struct net_device *dev = pool->slow.netdev;
	const struct netdev_rx_queue *rxq;

	ASSERT_RTNL();
	rxq = __netif_get_rx_queue(dev, pool->slow.queue_idx);
	pool->mp_ops = rxq->mp_params.mp_ops;
	pool->mp_priv = rxq->mp_params.mp_priv;
}

static int page_pool_init_provider(struct page_pool *pool)
{
	int err;

	if (pool->slow.flags & PP_FLAG_ALLOW_UNREADABLE_NETMEM)
		page_pool_find_provider(pool);

	if (!pool->mp_ops)
		return pool->p.order > MAX_PAGE_ORDER ? -EINVAL : 0;

	/* Providers map their memory themselves, for drivers that expect it. */
	if (!pool->dma_map || !pool->dma_sync)
		return -EOPNOTSUPP;

	/* A table that can be written is one that can be attacked. */
	if (WARN_ON(!is_kernel_rodata((unsigned long)pool->mp_ops)))
		return -EFAULT;

	err = pool->mp_ops->init(pool);
	if (err)
		return err;

	/* What he maps, and when, the pool does not know. */
	pool->sync_check = pool->dma_sync;
	static_branch_inc(&page_pool_mem_providers);

	return 0;
}

static void page_pool_uninit_provider(struct page_pool *pool)
{
	if (!pool->mp_ops)
		return;

	pool->mp_ops->destroy(pool);
	static_branch_dec(&page_pool_mem_providers);
}

/* The per-CPU pools of the core share one set: a set for each of them would
 * grow with the square of the number of CPUs.
 */
static DEFINE_PER_CPU_ALIGNED(struct page_pool_pcpu, page_pool_system_pcpu) = {
	.stage_next = PP_STAGE_SIZE,
};

static int page_pool_init_pcpu(struct page_pool *pool, unsigned int ring_size)
{
	/* A small ring has no room for what several CPUs bring at a time, and
	 * where there is no page allocator to fall back on, memory must not
	 * stay away longer than needed.
	 */
	bool stage = ring_size >= PP_STAGE_RING_MIN &&
		     !(pool->slow.flags & PP_FLAG_ALLOW_UNREADABLE_NETMEM);
	int cpu;

	page_pool_stats_init(pool);

	if (pool->slow.flags & PP_FLAG_SYSTEM_POOL) {
		pool->pcpu = &page_pool_system_pcpu;
		return 0;
	}

	pool->pcpu = alloc_percpu(struct page_pool_pcpu);
	if (!pool->pcpu)
		return -ENOMEM;

	for_each_possible_cpu(cpu) {
		struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, cpu);

		pcpu->pool = stage ? pool : NULL;
		pcpu->stage_next = PP_STAGE_SIZE;
		page_pool_stats_init_pcpu(pcpu);
	}

	return 0;
}

static void page_pool_uninit_pcpu(struct page_pool *pool)
{
	if (pool->pcpu != &page_pool_system_pcpu)
		free_percpu(pool->pcpu);
}

static int page_pool_init(struct page_pool *pool,
			  const struct page_pool_params *params, int cpuid)
{
	unsigned int ring_size = params->pool_size ?: PP_RING_DEFAULT;
	int err;

	page_pool_check_layout();

	pool->p = params->fast;
	pool->slow = params->slow;
	pool->frag_offset = PP_FRAG_CLOSED;
	pool->cpuid = cpuid;
	pool->cpu_check = cpuid >= 0;
	pool->has_init_callback = !!params->init_callback;
	pool->dma_map = !!(params->flags & PP_FLAG_DMA_MAP);
	pool->dma_sync = !!(params->flags & PP_FLAG_DMA_SYNC_DEV);
	pool->dma_sync_for_cpu = true;
	pool->nid_seen = params->nid;
	pool->nid_want = page_pool_resolve_nid(params->nid);
	pool->nid_served = pool->nid_want;
	/* Held by the creator until page_pool_destroy() */
	refcount_set(&pool->user_cnt, 1);
	INIT_WORK(&pool->free_work, page_pool_free_work);
	page_pool_dma_init(pool);

	err = page_pool_init_pcpu(pool, ring_size);
	if (err)
		return err;

	err = ptr_ring_init(&pool->ring, min(ring_size, PP_RING_MAX),
			    GFP_KERNEL);
	if (err)
		goto err_pcpu;

	err = page_pool_init_provider(pool);
	if (err)
		goto err_ring;

	return 0;

err_ring:
	ptr_ring_cleanup(&pool->ring, NULL);
err_pcpu:
	page_pool_uninit_pcpu(pool);
	return err;
}

static void page_pool_uninit(struct page_pool *pool)
{
	page_pool_uninit_provider(pool);
	ptr_ring_cleanup(&pool->ring, NULL);
	page_pool_dma_uninit(pool);
}

/**
 * page_pool_create_percpu() - create a pool whose consumer is one CPU
 * @params:	what is wanted, see struct page_pool_params
 * @cpuid:	the CPU, or -1 for none in particular
 *
 * Puts in BH context on that CPU act as the consumer.
 *
 * Context: Task, may sleep. With PP_FLAG_ALLOW_UNREADABLE_NETMEM the caller
 * holds RTNL.
 *
 * Return: the pool, or ERR_PTR(): -EINVAL for parameters that make no sense,
 * -ENOMEM, -EOPNOTSUPP for a provider without both DMA flags, or what the
 * provider's init() returned.
 */
struct page_pool *
page_pool_create_percpu(const struct page_pool_params *params, int cpuid)
{
	const char *wrong = page_pool_check_params(params);
	struct page_pool *pool;
	int err;

	if (wrong) {
		err = -EINVAL;
		goto err_say;
	}

	pool = kzalloc_node(sizeof(*pool), GFP_KERNEL,
			    page_pool_resolve_nid(params->nid));
	if (!pool) {
		err = -ENOMEM;
		goto err_say;
	}

	err = page_pool_init(pool, params, cpuid);
	if (!err) {
		err = page_pool_list(pool);
		if (!err)
			return pool;

		page_pool_uninit(pool);
		page_pool_uninit_pcpu(pool);
	}
	kfree(pool);
err_say:
	pr_warn("page_pool: not created, error %d%s%s\n", err,
		wrong ? ": " : "", wrong ?: "");
	return ERR_PTR(err);
}
EXPORT_SYMBOL(page_pool_create_percpu);

/**
 * page_pool_create() - create a pool
 * @params:	what is wanted, see struct page_pool_params
 *
 * Context: As page_pool_create_percpu().
 *
 * Return: the pool, or ERR_PTR() as page_pool_create_percpu().
 */
struct page_pool *page_pool_create(const struct page_pool_params *params)
{
	return page_pool_create_percpu(params, -1);
}
EXPORT_SYMBOL(page_pool_create);

/**
 * page_pool_use_xdp_mem() - a pool becomes an XDP memory model
 * @pool:	the pool
 * @disconnect:	called, in task context, just before the pool is freed
 * @mem:	the memory model
 *
 * The registration is a user of its own: page_pool_destroy() is called once
 * for it and once by the creator.
 *
 * Context: Task.
 */
void page_pool_use_xdp_mem(struct page_pool *pool, void (*disconnect)(void *),
			   const struct xdp_mem_info *mem)
{
	refcount_inc(&pool->user_cnt);
	pool->disconnect = disconnect;
	pool->xdp_mem_id = mem->id;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_use_xdp_mem);

static void page_pool_free_rcu(struct rcu_head *rcu)
{
	struct page_pool *pool = container_of(rcu, struct page_pool, rcu);

	page_pool_uninit_pcpu(pool);
	kfree(pool);
}

/* All pages have come home and all users are gone. Sleeps. */
static void page_pool_free(struct page_pool *pool)
{
	pool->destroy_cnt++;

	if (pool->disconnect)
		pool->disconnect(pool);

	page_pool_unlist(pool);
	page_pool_uninit(pool);
	/* The last to count a page looks at the pool once more, see
	 * page_pool_count_release(), and CPUs may have it on their list of
	 * pools with staged pages until their section ends.
	 */
	call_rcu(&pool->rcu, page_pool_free_rcu);
}

/**
 * page_pool_disable_direct_recycling() - no put acts as the consumer any more
 * @pool:	the pool
 *
 * For drivers that free their NAPI, or give the pool another one, before they
 * destroy the pool. Puts of callers that say that they are the consumer are
 * not affected.
 *
 * Context: Task, may sleep; the pool's NAPI is disabled.
 */
void page_pool_disable_direct_recycling(struct page_pool *pool)
{
	/* Pairs with READ_ONCE() in page_pool_is_consumer(). */
	WRITE_ONCE(pool->cpuid, -1);

	if (!pool->p.napi)
		return;

	napi_assert_will_not_race(pool->p.napi);
	page_pool_unlink_napi(pool);
}
EXPORT_SYMBOL(page_pool_disable_direct_recycling);

/**
 * page_pool_shrink_ring() - give parked pages back to the page allocator
 * @pool:	the pool, which the caller keeps from being freed
 * @want:	how many of the pages in the ring, at most
 *
 * Gives up when the consumer is at the ring: a pool that is in use is left
 * alone. What only the consumer may touch is not touched.
 *
 * Context: Task, BHs on. Does not sleep and allocates nothing: callers may be
 * about to reclaim memory.
 *
 * Return: how many pages left.
 */
u32 page_pool_shrink_ring(struct page_pool *pool, u32 want)
{
	struct ptr_ring *ring = &pool->ring;
	netmem_ref batch[PP_SHRINK_BATCH];
	u32 i, n, done = 0;

	do {
		n = min_t(u32, want - done, PP_SHRINK_BATCH);
		local_bh_disable();
		if (!spin_trylock(&ring->consumer_lock)) {
			local_bh_enable();
			break;
		}
		n = __ptr_ring_consume_batched(ring, (void **)batch, n);
		spin_unlock(&ring->consumer_lock);
		local_bh_enable();

		for (i = 0; i < n; i++)
			page_pool_release(pool, batch[i]);
		done += n;
	} while (n && done < want);

	return done;
}

/* Let go of @n parked pages that stand at the start of the array. */
static void page_pool_release_array(struct page_pool *pool, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		netmem_ref netmem = pool->cache[i];

		/* Nobody may have kept a reference of a parked page. */
		if (unlikely(netmem_ref_count(netmem) != 1))
			pr_crit_once("page_pool: refcount violation: parked page has %d\n",
				     netmem_ref_count(netmem));

		page_pool_release(pool, netmem);
	}
}

/* Takes a page that was parked just before the ring was closed. Called with
 * the ring's locks held and interrupts off, so it only puts the page on a
 * list. The head is where the open fragment page was, the links are where the
 * pool references are: one for a parked page, which nobody else looks at.
 */
static void page_pool_straggler(void *ptr)
{
	netmem_ref netmem = (__force netmem_ref)ptr;
	struct page_pool *pool = netmem_get_pp(netmem);

	page_pool_fragment_netmem(netmem, (__force long)pool->frag_page);
	pool->frag_page = netmem;
}

static void page_pool_release_stragglers(struct page_pool *pool)
{
	netmem_ref netmem;

	while ((netmem = pool->frag_page)) {
		atomic_long_t *link = netmem_get_pp_ref_count_ref(netmem);

		pool->frag_page = (__force netmem_ref)atomic_long_xchg(link, 1);
		page_pool_release(pool, netmem);
	}
}

/* Empty array and ring; nothing parks any more afterwards. The consumer has
 * stopped, so the caller is the consumer.
 */
static void page_pool_drain(struct page_pool *pool)
{
	struct ptr_ring *ring = &pool->ring;
	u32 n = page_pool_array_count(pool);

	page_pool_array_move(pool, -(int)n);
	page_pool_release_array(pool, n);

	while (!__ptr_ring_empty(ring)) {
		n = ptr_ring_consume_batched_bh(ring, (void **)pool->cache,
						PP_ALLOC_CACHE_SIZE);
		page_pool_release_array(pool, n);
		cond_resched();
	}

	/* Cannot fail: a ring of no entries needs no memory. */
	WARN_ON(ptr_ring_resize(ring, 0, GFP_KERNEL, page_pool_straggler));
	page_pool_release_stragglers(pool);
}

/**
 * page_pool_destroy() - a user of a pool is done with it
 * @pool:	the pool; NULL is fine
 *
 * With the last user (see page_pool_use_xdp_mem()) the pool dies: nothing may
 * be allocated from it, parked pages go to the page allocator, pages that are
 * still out are unmapped. These may be put as before, for as long as it takes;
 * the last one frees the pool.
 *
 * Context: Task, may sleep. The pool's NAPI is disabled.
 */
void page_pool_destroy(struct page_pool *pool)
{
	s32 inflight;
	bool free;

	if (!pool || WARN_ONCE(IS_ERR(pool), "page_pool: destroy of error %ld\n",
			       PTR_ERR(pool)))
		return;

	if (!page_pool_put(pool))
		return;

	page_pool_disable_direct_recycling(pool);

	if (pool->frag_page) {
		netmem_ref netmem = pool->frag_page;

		/* A put like any other, of a page that cannot be parked. */
		if (page_pool_close_frag(pool))
			page_pool_ring_full(pool, netmem);
	}
	page_pool_drain(pool);
	if (pool->dma_map)
		page_pool_dma_end(pool);
	page_pool_stats_fold(pool);

	pool->destroy_cnt++;
	inflight = page_pool_inflight(pool, true);
	if (inflight < 0)
		set_bit(PP_REPORTED, &pool->freeing);
	if (inflight)
		page_pool_detached(pool);

	rcu_read_lock();
	/* From here on the last page may free the pool. Release for the hold
	 * count; pairs with smp_load_acquire() in page_pool_count_release().
	 */
	smp_store_release(&pool->destroyed, true);
	/* (A), see the top of this file */
	smp_mb();
	free = (u32)atomic_read(&pool->pages_state_release_cnt) ==
	       pool->pages_state_hold_cnt &&
	       !test_and_set_bit(PP_FREEING, &pool->freeing);
	rcu_read_unlock();

	if (free)
		page_pool_free(pool);
}
EXPORT_SYMBOL(page_pool_destroy);
