/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_pool: pages for one receive queue, kept DMA mapped and used again
 *
 * Types and out-of-line interface. Most callers want the wrappers in
 * <net/page_pool/helpers.h>; Documentation/networking/page_pool.rst has the
 * guide.
 */
#ifndef _NET_PAGE_POOL_TYPES_H
#define _NET_PAGE_POOL_TYPES_H

#include <linux/cache.h>
#include <linux/dma-direction.h>
#include <linux/ptr_ring.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue_types.h>
#include <linux/xarray.h>
#include <net/netmem.h>

/* The pool maps its pages for the device and unmaps them again. */
#define PP_FLAG_DMA_MAP		BIT(0)
/* The pool gives the part of a page that it is told about back to the device
 * before the page is handed out. Syncing for the CPU stays with the driver.
 */
#define PP_FLAG_DMA_SYNC_DEV	BIT(1)
/* One of the per-CPU pools of the networking core. */
#define PP_FLAG_SYSTEM_POOL	BIT(2)
/* The driver copes with memory that the CPU cannot read (struct net_iov,
 * netmem_address() == NULL); page_pool_params.queue_idx must then be set. Not
 * for pools of packet headers.
 */
#define PP_FLAG_ALLOW_UNREADABLE_NETMEM BIT(3)

#define PP_FLAG_ALL		(PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV | \
				 PP_FLAG_SYSTEM_POOL | PP_FLAG_ALLOW_UNREADABLE_NETMEM)

/* Pages the consumer keeps at hand: with 4 KiB pages, room for what one NAPI
 * poll (64 frames) may recycle on top of one refill. The same amount of memory,
 * not the same number of pages, where pages are larger: more of a poll goes to
 * the ring there. The floor keeps batching worth its while.
 */
#if PAGE_SHIFT >= 15
#define PP_ALLOC_CACHE_SIZE	16
#else
#define PP_ALLOC_CACHE_SIZE	(128 >> (PAGE_SHIFT - 12))
#endif
#define PP_ALLOC_CACHE_REFILL	(PP_ALLOC_CACHE_SIZE / 2)

/**
 * struct page_pool_params - what a driver wants of a pool
 * @fast:	parameters that the packet paths read
 * @order:	a page is 2^order base pages
 * @pool_size:	entries of the recycling ring; 0: 1024; more than 16384 is cut
 * @nid:	NUMA node to allocate from; NUMA_NO_NODE: the node on which the
 *		consumer runs
 * @dev:	device to map pages for, with PP_FLAG_DMA_MAP
 * @napi:	the one NAPI instance that allocates from the pool, if so
 * @dma_dir:	DMA_FROM_DEVICE, or DMA_BIDIRECTIONAL where pages are also sent
 * @max_len:	bytes of a page that the device may write, with
 *		PP_FLAG_DMA_SYNC_DEV
 * @offset:	bytes from the start of a page to where the device writes, with
 *		PP_FLAG_DMA_SYNC_DEV
 * @slow:	parameters for set-up and netlink
 * @netdev:	network device that the pool serves, NULL for none or several
 * @queue_idx:	index of the receive queue that the pool serves
 * @flags:	PP_FLAG_* bits
 */
struct page_pool_params {
	struct_group_tagged(page_pool_params_fast, fast,
		unsigned int	order;
		unsigned int	pool_size;
		int		nid;
		enum dma_data_direction dma_dir;
		struct device	*dev;
		struct napi_struct *napi;
		unsigned int	max_len;
		unsigned int	offset;
	);
	struct_group_tagged(page_pool_params_slow, slow,
		struct net_device *netdev;
		unsigned int queue_idx;
		unsigned int	flags;
/* private: for tests: called for each page that enters the pool */
		void (*init_callback)(netmem_ref netmem, void *arg);
		void *init_arg;
	);
};

#ifdef CONFIG_PAGE_POOL_STATS
/**
 * struct page_pool_alloc_stats - how pages were handed out
 * @fast:	from the consumer's array, a drained fragment page included
 * @slow:	order-0 page from the page allocator, or any from a provider
 * @slow_high_order: page of a higher order from the page allocator
 * @empty:	event: nothing was parked, the slow path was next
 * @refill:	from the array just after it was refilled from the ring, or from
 *		what this CPU was about to put there
 * @waive:	event: a page taken from the ring was on the wrong node
 *
 * Every page handed out is counted in exactly one of @fast, @slow,
 * @slow_high_order and @refill.
 */
struct page_pool_alloc_stats {
	u64 fast;
	u64 slow;
	u64 slow_high_order;
	u64 empty;
	u64 refill;
	u64 waive;
};

/**
 * struct page_pool_recycle_stats - what became of pages that were put
 * @cached:	went to the consumer's array
 * @cache_full:	event: the array had no room, the ring was tried instead
 * @ring:	went to the ring, or was taken by the consumer on its way there
 * @ring_full:	left the pool, the ring had no room (or is closed: the pool
 *		was destroyed)
 * @released_refcnt: left the pool, somebody else held a reference
 * @released_pfmemalloc: left the pool, came from the emergency reserve
 * @released_nid: left the pool, was on the wrong NUMA node
 *
 * Every page put for the last time is counted in exactly one of these, but
 * for @cache_full.
 */
struct page_pool_recycle_stats {
	u64 cached;
	u64 cache_full;
	u64 ring;
	u64 ring_full;
	u64 released_refcnt;
	u64 released_pfmemalloc;
	u64 released_nid;
};

/**
 * struct page_pool_stats - the counters of a pool, or of several added up
 * @alloc_stats:	see struct page_pool_alloc_stats
 * @recycle_stats:	see struct page_pool_recycle_stats
 */
struct page_pool_stats {
	struct page_pool_alloc_stats alloc_stats;
	struct page_pool_recycle_stats recycle_stats;
};

/**
 * struct page_pool_stats_sum - counters of a device, whatever pools it has had
 * @lock:	protects all members
 * @past:	counters of the pools that were destroyed
 * @pools:	the pools that live
 *
 * Pools come and go when rings are resized or XDP programs attached; a sum
 * goes on where they stop, so that what users graph never jumps back.
 */
struct page_pool_stats_sum {
	spinlock_t lock;	/* protects all members */
	struct page_pool_stats past;
	struct list_head pools;
};
#else
struct page_pool_stats_sum {};
#endif

/* What an allocation of a fragment writes must not be spread over lines:
 * two longs and an int, in the next power of two.
 */
#define PAGE_POOL_FRAG_GROUP_ALIGN	(4 * sizeof(long))

/* Pages that a CPU collects before it takes the ring's lock for all of them:
 * two cache lines of the ring with 64-bit pointers.
 */
#define PP_STAGE_SIZE		16

/* private: what one CPU has of a pool. Used by that CPU only, BH off, but for
 * the counters, which tasks count as well.
 */
struct page_pool_pcpu {
	__cacheline_group_begin(pp_pcpu_hot) ____cacheline_aligned_in_smp;
#ifdef CONFIG_PAGE_POOL_STATS
	struct page_pool_recycle_stats stats;
	struct u64_stats_sync syncp;
#endif
	u32 stage_next;			/* in @staged; PP_STAGE_SIZE: not in use */
	__cacheline_group_end(pp_pcpu_hot);
	struct page_pool *pool;		/* NULL: nothing is staged */
	struct hlist_node node;		/* of page_pool_stage, while in use */

	netmem_ref staged[PP_STAGE_SIZE] ____cacheline_aligned_in_smp;
};

struct memory_provider_ops;
struct net;
struct page_pool_dma_dir;

struct pp_memory_provider_params {
	void *mp_priv;
	const struct memory_provider_ops *mp_ops;
};

/**
 * struct page_pool - pool of pages; opaque to drivers but for @p
 *
 * Members are grouped by who touches them when, a group a cache line. Sizes
 * in the comments are those of 64-bit machines with statistics.
 */
struct page_pool {
	/* private: */
	/* Read by every put and by the slow path, hardly ever written. */
	__cacheline_group_begin(pp_read) ____cacheline_aligned_in_smp;
	struct page_pool_params_fast p;
	int cpuid;			/* consumer of a per-CPU pool, or -1 */
	bool has_init_callback:1;
	bool dma_map:1;
	bool dma_sync:1;		/* sync for the device on recycling */
	bool dma_sync_for_cpu:1;
	/* Why a put has to look closer. Written while others read, so not bits
	 * of a byte, but read as one.
	 */
	union {
		struct {
			/* a page may be on a node that is not wanted */
			u8 node_check;
			/* a page may be mapped in a way that needs syncing */
			u8 sync_check;
			/* the consumer is a CPU, see @cpuid */
			u8 cpu_check;
		};
		u32 checks;
	};
	struct page_pool_pcpu __percpu *pcpu;
	__cacheline_group_end(pp_read);

	/* Written by the consumer with every allocation. */
	__cacheline_group_begin(pp_alloc) ____cacheline_aligned_in_smp;
	unsigned long fill;		/* pages in @cache, see PP_FILL_COUNT */
	u32 pages_state_hold_cnt;	/* pages that entered the pool */
	__cacheline_group_end(pp_alloc);

	/* Written by the consumer with every fragment. */
	__cacheline_group_begin_aligned(frag, PAGE_POOL_FRAG_GROUP_ALIGN);
	long frag_users;
	netmem_ref frag_page;
	unsigned int frag_offset;
	__cacheline_group_end_aligned(frag, PAGE_POOL_FRAG_GROUP_ALIGN);

	/* Written by the consumer in the refill and the slow path. */
	__cacheline_group_begin(pp_slow);
	int nid_seen;			/* node as asked for, before resolving */
	int nid_want;			/* node with memory that is wanted */
	int nid_served;			/* node of the last page that came in */
	u32 nid_recheck;		/* ring entries of before the last change */
	u32 hold_halves;		/* times the hold count's top bit turned */
	u32 dma_next;			/* slot to try next */
	u32 dma_cap;			/* slots that exist */
	u32 dma_limit;			/* slots that may exist */
#ifdef CONFIG_PAGE_POOL_STATS
	u32 fill_seq;			/* changes of @fill_base */
	u64 fill_base[2];		/* see PP_FILL_COUNT */
	struct page_pool_alloc_stats alloc_stats;
	struct u64_stats_sync alloc_syncp;
#endif
	__cacheline_group_end(pp_slow);

	netmem_ref cache[PP_ALLOC_CACHE_SIZE] ____cacheline_aligned_in_smp;

	/* Pages on their way home from elsewhere: many producers, and the
	 * consumer, which the shrinker stands in for, each under a lock of it.
	 */
	struct ptr_ring ring;

	/* Read when pages enter and leave. */
	struct page_pool_dma_dir *dma_dir ____cacheline_aligned_in_smp;
	void *mp_priv;
	const struct memory_provider_ops *mp_ops;

	/* Written by whoever lets a page go. */
	__cacheline_group_begin(pp_release) ____cacheline_aligned_in_smp;
	atomic_t pages_state_release_cnt; /* pages that left the pool */
	bool destroyed;			/* the last return frees the pool */
	unsigned long freeing;		/* bit 0: somebody does */
	__cacheline_group_end(pp_release);

	/* Set-up and teardown. */
	struct xarray dma_overflow;	/* by pfn: mapped pages without a slot */
	refcount_t user_cnt;
	u32 xdp_mem_id;
	u64 destroy_cnt;
	void (*disconnect)(void *pool);
	struct work_struct free_work;
	struct rcu_head rcu;
#ifdef CONFIG_PAGE_POOL_STATS
	struct page_pool_stats_sum *sum;
	struct list_head sum_node;	/* under sum->lock */
#endif
	struct page_pool_params_slow slow;
	/* page_pool_shrink.c's: where the consumer was when it last looked */
	struct {
		unsigned long fill;
		u32 hold_cnt;
	} shrink;
	/* What user space sees; page_pool_user.c's, under its page_pools_lock. */
	struct {
		struct hlist_node list;	/* of a device, or of pools without one */
		struct net *net;	/* readers of it see the pool; NULL: none */
		u64 detach_time;	/* boot time, seconds, if @detached */
		u64 hidden_since;	/* jiffies64: detached, in no namespace */
		u64 created;		/* boot time, nanoseconds */
		char *dev_name;		/* of p.dev, which may go before we do */
		u32 id;
		bool detached;		/* destroyed by its owner, pages are out */
		bool warned;		/* was named in a line of the log */
		bool moving;		/* the device is between two namespaces */
	} user;
};

struct page *page_pool_alloc_pages(struct page_pool *pool, gfp_t gfp);
netmem_ref page_pool_alloc_netmems(struct page_pool *pool, gfp_t gfp);
struct page *page_pool_alloc_frag(struct page_pool *pool, unsigned int *offset,
				  unsigned int size, gfp_t gfp);
netmem_ref page_pool_alloc_frag_netmem(struct page_pool *pool,
				       unsigned int *offset, unsigned int size,
				       gfp_t gfp);
struct page_pool *page_pool_create(const struct page_pool_params *params);
struct page_pool *page_pool_create_percpu(const struct page_pool_params *params,
					  int cpuid);

struct xdp_mem_info;

#ifdef CONFIG_PAGE_POOL
void page_pool_disable_direct_recycling(struct page_pool *pool);
void page_pool_destroy(struct page_pool *pool);
void page_pool_use_xdp_mem(struct page_pool *pool, void (*disconnect)(void *),
			   const struct xdp_mem_info *mem);
void page_pool_put_page_bulk(struct page_pool *pool, void **data, int count);
#else
static inline void page_pool_destroy(struct page_pool *pool)
{
}

static inline void page_pool_use_xdp_mem(struct page_pool *pool,
					 void (*disconnect)(void *),
					 const struct xdp_mem_info *mem)
{
}

static inline void page_pool_put_page_bulk(struct page_pool *pool, void **data,
					   int count)
{
}
#endif

void page_pool_put_unrefed_netmem(struct page_pool *pool, netmem_ref netmem,
				  unsigned int dma_sync_size,
				  bool allow_direct);
void page_pool_put_unrefed_page(struct page_pool *pool, struct page *page,
				unsigned int dma_sync_size,
				bool allow_direct);

static inline bool is_page_pool_compiled_in(void)
{
	return IS_ENABLED(CONFIG_PAGE_POOL);
}

void page_pool_update_nid(struct page_pool *pool, int new_nid);

#endif /* _NET_PAGE_POOL_TYPES_H */
