// SPDX-License-Identifier: GPL-2.0
/*
 * Page pools as user space sees them: the page-pool part of the netdev netlink
 * family, and the log line about pools that never come to their end.
 *
 * Every pool is in the id table from the end of its creation to the moment
 * before its memory goes. Which of them a reader is shown follows from two
 * pointers that only this file writes once a pool exists:
 *
 *	slow.netdev	user.net
 *	device		namespace	shown to the namespace, with the device's
 *					ifindex
 *	device		NULL		device not registered yet: waits for
 *					NETDEV_REGISTER, device-less until then
 *	NULL		namespace	orphan: device gone, pages still out; shown
 *					to its namespace without an ifindex
 *	NULL		NULL		device-less: never had a device of its own,
 *					or the namespace is gone as well
 *
 * Device-less pools tell of the machine, not of a namespace: they are shown
 * in the initial one, to those who may administer its network. While a device
 * is on its way to another namespace (user.moving) nobody is shown its pools.
 *
 * A pool with a device is linked on the device's list, any other one on
 * page_pools_nodev. NETDEV_UNREGISTER moves it from the first to the second
 * before the device's memory can go, and the exit of a namespace happens when
 * all its devices have had that notification, so that neither pointer is ever
 * left behind.
 */

#define pr_fmt(fmt) "page_pool: " fmt

#include <kunit/visibility.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rculist.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/busy_poll.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/netdev_rx_queue.h>
#include <net/page_pool/helpers.h>
#include <net/sock.h>

#include "devmem.h"
#include "netdev-genl-gen.h"
#include "page_pool_priv.h"
#include "page_pool_user.h"

/* Guards the id table, both kinds of list, every pool's user part and its
 * slow.netdev, and the state of the stalled timer. Nests inside the rtnl lock.
 */
VISIBLE_IF_KUNIT struct mutex page_pools_lock =
	__MUTEX_INITIALIZER(page_pools_lock);
EXPORT_SYMBOL_IF_KUNIT(page_pools_lock);
static DEFINE_XARRAY_FLAGS(page_pools, XA_FLAGS_ALLOC1);
static HLIST_HEAD(page_pools_nodev);
static u32 page_pools_next_id;

/*
 * Stalled pools
 *
 * A destroyed pool with pages out is nothing unusual, and whoever can list
 * pools sees it and since when. The log is for those that no namespace lists.
 * One timer serves all of them. It runs only while there is such a pool, it is
 * deferrable, and it counts jiffies: setting a clock changes nothing.
 */

/* Pools get this long to come home before they are called stalled. */
VISIBLE_IF_KUNIT unsigned long page_pool_stalled_after = 60 * HZ;
EXPORT_SYMBOL_IF_KUNIT(page_pool_stalled_after);

/* The pause between two lines about the same pools doubles up to this. */
#define PP_STALLED_PAUSE_MAX	(1024 * page_pool_stalled_after)

static struct {
	unsigned int hidden;	/* pools that the timer runs for */
	u64 due;		/* when it fires, jiffies64; U64_MAX: never */
	u64 repeat;		/* when the pools of the last line are due again */
	unsigned long pause;
} stalled = {
	.due = U64_MAX,
};

static void page_pool_stalled_work(struct work_struct *work);
VISIBLE_IF_KUNIT struct delayed_work page_pool_stalled_timer =
	__DELAYED_WORK_INITIALIZER(page_pool_stalled_timer,
				   page_pool_stalled_work, TIMER_DEFERRABLE);
EXPORT_SYMBOL_IF_KUNIT(page_pool_stalled_timer);

static bool page_pool_is_hidden(const struct page_pool *pool)
{
	return pool->user.detached && !pool->user.net;
}

/**
 * page_pool_stalled_look() - collect the stalled pools
 * @now: jiffies64
 * @line: filled with what a line in the log has to say, if one is due
 *
 * A line is due when a pool has become stalled, and for those already named
 * when their pause is over.
 *
 * Return: in how many jiffies to look again, 0 for never; @line->pools is 0
 * when no line is due.
 */
VISIBLE_IF_KUNIT unsigned long
page_pool_stalled_look(u64 now, struct page_pool_stalled_line *line)
{
	u64 next = U64_MAX;
	struct page_pool *pool;
	bool fresh = false;

	lockdep_assert_held(&page_pools_lock);
	memset(line, 0, sizeof(*line));

	hlist_for_each_entry(pool, &page_pools_nodev, user.list) {
		u64 since = pool->user.hidden_since;
		u64 pages;

		if (!page_pool_is_hidden(pool))
			continue;
		/* about to be freed, or its count went wrong: that has been
		 * said, and no time will mend it
		 */
		pages = page_pool_inflight(pool, false);
		if (!pages)
			continue;
		if (now < since + page_pool_stalled_after) {
			next = min(next, since + page_pool_stalled_after);
			continue;
		}
		fresh |= !pool->user.warned;
		pool->user.warned = true;
		line->pages += pages << pool->p.order;
		if (!line->pools++ || since < line->oldest) {
			line->oldest = since;
			line->id = pool->user.id;
		}
	}

	if (line->pools) {
		if (fresh)
			stalled.pause = 2 * page_pool_stalled_after;
		else if (now >= stalled.repeat)
			stalled.pause = min(2 * stalled.pause,
					    PP_STALLED_PAUSE_MAX);
		else
			line->pools = 0;
		if (line->pools)
			stalled.repeat = now + stalled.pause;
		next = min(next, stalled.repeat);
	}

	stalled.due = next;
	return next == U64_MAX ? 0 : next - now;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_stalled_look);

static void page_pool_stalled_work(struct work_struct *work)
{
	struct page_pool_stalled_line line;
	unsigned long delay;
	u64 now;

	mutex_lock(&page_pools_lock);
	now = get_jiffies_64();
	delay = page_pool_stalled_look(now, &line);
	if (line.pools)
		pr_warn("stalled pool shutdown: %u pools with %llu pages out are waiting for their users, oldest for %llu s, id %u\n",
			line.pools, line.pages,
			div_u64(now - line.oldest, HZ), line.id);
	if (delay)
		mod_delayed_work(system_power_efficient_wq,
				 &page_pool_stalled_timer, delay);
	mutex_unlock(&page_pools_lock);
}

/* To be called when a pool was detached or has lost its namespace. */
static void page_pool_watch(struct page_pool *pool)
{
	u64 due;

	if (!page_pool_is_hidden(pool))
		return;

	pool->user.hidden_since = get_jiffies_64();
	due = pool->user.hidden_since + page_pool_stalled_after;
	stalled.hidden++;
	if (stalled.due <= due)
		return;

	stalled.due = due;
	mod_delayed_work(system_power_efficient_wq, &page_pool_stalled_timer,
			 page_pool_stalled_after);
}

static void page_pool_unwatch(struct page_pool *pool)
{
	if (page_pool_is_hidden(pool) && !--stalled.hidden) {
		cancel_delayed_work(&page_pool_stalled_timer);
		stalled.due = U64_MAX;
	}
}

/*
 * Messages
 */

/* Drivers link and unlink their NAPI as they like (p.napi is theirs), and some
 * have freed it by the time they destroy the pool. So the pointer is only
 * compared with what the device has listed, never followed.
 */
static unsigned int page_pool_napi_id(const struct page_pool *pool)
{
	const struct napi_struct *linked = READ_ONCE(pool->p.napi);
	const struct net_device *dev = pool->slow.netdev;
	const struct napi_struct *napi;
	unsigned int id = 0;

	if (!dev || !linked)
		return 0;

	rcu_read_lock();
	list_for_each_entry_rcu(napi, &dev->napi_list, dev_list) {
		if (napi == linked) {
			id = READ_ONCE(napi->napi_id);
			break;
		}
	}
	rcu_read_unlock();

	/* below are the ids of CPUs, or none at all yet */
	return id >= MIN_NAPI_ID ? id : 0;
}

/* Which pool a message is about; same attributes in the info nest of statistics. */
static int page_pool_nl_put_pool(struct sk_buff *msg,
				 const struct page_pool *pool)
{
	const struct net_device *dev = pool->slow.netdev;

	if (nla_put_uint(msg, NETDEV_A_PAGE_POOL_ID, pool->user.id))
		return -EMSGSIZE;

	if (!dev || !pool->user.net)
		return 0;

	return nla_put_u32(msg, NETDEV_A_PAGE_POOL_IFINDEX, dev->ifindex);
}

static u32 page_pool_staged_count(const struct page_pool *pool)
{
	u32 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, cpu);
		/* The CPU goes on staging; any moment's number will do. */
		u32 n = data_race(READ_ONCE(pcpu->stage_next));

		if (n < PP_STAGE_SIZE)
			sum += n;
	}

	return sum;
}

/* The lock keeps producers from moving, and the ring from being closed, but
 * not the consumer.
 */
u32 page_pool_ring_count(struct ptr_ring *ring, u32 *size)
{
	u32 head, n = 0;

	spin_lock_bh(&ring->producer_lock);
	*size = ring->size;
	if (ring->size) {
		head = READ_ONCE(ring->consumer_head);
		if (head < ring->producer)
			n = ring->producer - head;
		else if (head > ring->producer || READ_ONCE(ring->queue[head]))
			n = ring->size - (head - ring->producer);
	}
	spin_unlock_bh(&ring->producer_lock);

	return n;
}

/* Pages move while they are counted: no count may exceed what is left by those
 * before it, so that all add up.
 */
static u32 page_pool_take(u32 *left, u32 n)
{
	n = min(n, *left);
	*left -= n;

	return n;
}

/**
 * page_pool_get_pages() - where are a pool's pages?
 * @pool: the pool, page_pools_lock held
 * @pages: the answer
 */
void page_pool_get_pages(const struct page_pool *pool,
			 struct page_pool_pages *pages)
{
	/* the lock in it is all that is written */
	struct ptr_ring *ring = (struct ptr_ring *)&pool->ring;
	u32 array, staged, in_ring, hold, left;

	array = READ_ONCE(pool->fill) & PP_FILL_COUNT;
	staged = page_pool_staged_count(pool);
	in_ring = page_pool_ring_count(ring, &pages->ring_size);
	hold = READ_ONCE(pool->pages_state_hold_cnt);
	left = max_t(s32, hold - atomic_read(&pool->pages_state_release_cnt), 0);

	pages->inflight = left;
	pages->array = page_pool_take(&left, array);
	pages->staged = page_pool_take(&left, staged);
	pages->ring = page_pool_take(&left, in_ring);
	pages->held = left;
	pages->allocated = page_pool_allocated(pool, hold);
	pages->released = pages->allocated - pages->inflight;
}

/* They are shown as they are: the flags of drivers are the ABI's. */
static_assert(PP_FLAG_DMA_MAP == NETDEV_PAGE_POOL_FLAGS_DMA_MAP);
static_assert(PP_FLAG_DMA_SYNC_DEV == NETDEV_PAGE_POOL_FLAGS_DMA_SYNC_DEV);
static_assert(PP_FLAG_SYSTEM_POOL == NETDEV_PAGE_POOL_FLAGS_SYSTEM_POOL);
static_assert(PP_FLAG_ALLOW_UNREADABLE_NETMEM ==
	      NETDEV_PAGE_POOL_FLAGS_ALLOW_UNREADABLE_NETMEM);
/* One that is added is to be added to netdev.yaml, too. */
static_assert(PP_FLAG_ALL == (NETDEV_PAGE_POOL_FLAGS_DMA_MAP |
			      NETDEV_PAGE_POOL_FLAGS_DMA_SYNC_DEV |
			      NETDEV_PAGE_POOL_FLAGS_SYSTEM_POOL |
			      NETDEV_PAGE_POOL_FLAGS_ALLOW_UNREADABLE_NETMEM));

static int page_pool_nl_put_detail(struct sk_buff *msg,
				   const struct page_pool *pool,
				   const struct page_pool_pages *pages)
{
	u64 age = ktime_get_boottime_ns() - pool->user.created;
	struct nlattr *nest;

	nest = nla_nest_start(msg, NETDEV_A_PAGE_POOL_DETAIL);
	if (!nest)
		return -EMSGSIZE;

	if (pool->user.dev_name &&
	    nla_put_string(msg, NETDEV_A_PAGE_POOL_DETAIL_DEV_NAME,
			   pool->user.dev_name))
		return -EMSGSIZE;

	if (nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_ORDER, pool->p.order) ||
	    nla_put_s32(msg, NETDEV_A_PAGE_POOL_DETAIL_NODE,
			READ_ONCE(pool->nid_want)) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_FLAGS,
			pool->slow.flags) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_RING_SIZE,
			pages->ring_size) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_ARRAY, pages->array) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_STAGED, pages->staged) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_RING, pages->ring) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_DETAIL_HELD, pages->held) ||
	    nla_put_uint(msg, NETDEV_A_PAGE_POOL_DETAIL_ALLOCATED,
			 pages->allocated) ||
	    nla_put_uint(msg, NETDEV_A_PAGE_POOL_DETAIL_RELEASED,
			 pages->released) ||
	    nla_put_uint(msg, NETDEV_A_PAGE_POOL_DETAIL_AGE,
			 div_u64(age, NSEC_PER_MSEC)))
		return -EMSGSIZE;

	nla_nest_end(msg, nest);
	return 0;
}

static int page_pool_nl_put_state(struct sk_buff *msg,
				  const struct page_pool *pool)
{
	unsigned int napi_id = page_pool_napi_id(pool);
	struct page_pool_pages pages;

	page_pool_get_pages(pool, &pages);

	if (napi_id && nla_put_uint(msg, NETDEV_A_PAGE_POOL_NAPI_ID, napi_id))
		return -EMSGSIZE;

	if (nla_put_uint(msg, NETDEV_A_PAGE_POOL_INFLIGHT, pages.inflight) ||
	    nla_put_uint(msg, NETDEV_A_PAGE_POOL_INFLIGHT_MEM,
			 (u64)pages.inflight * (PAGE_SIZE << pool->p.order)))
		return -EMSGSIZE;

	if (pool->user.detached &&
	    nla_put_uint(msg, NETDEV_A_PAGE_POOL_DETACH_TIME,
			 pool->user.detach_time))
		return -EMSGSIZE;

	/* device memory is the only provider there is */
	if (IS_ENABLED(CONFIG_NET_DEVMEM) && pool->mp_priv) {
		const struct net_devmem_dmabuf_binding *binding = pool->mp_priv;

		if (nla_put_u32(msg, NETDEV_A_PAGE_POOL_DMABUF, binding->id))
			return -EMSGSIZE;
	}

	return page_pool_nl_put_detail(msg, pool, &pages);
}

/**
 * page_pool_nl_fill() - append a page-pool-get message
 * @msg: where to; left as it was on failure
 * @pool: the pool, page_pools_lock held
 * @info: request or notification that is answered
 *
 * Return: 0, or -EMSGSIZE when @msg has no room for all of it.
 */
VISIBLE_IF_KUNIT int page_pool_nl_fill(struct sk_buff *msg,
				       const struct page_pool *pool,
				       const struct genl_info *info)
{
	void *hdr = genlmsg_iput(msg, info);

	if (!hdr)
		return -EMSGSIZE;

	if (page_pool_nl_put_pool(msg, pool) ||
	    page_pool_nl_put_state(msg, pool)) {
		genlmsg_cancel(msg, hdr);
		return -EMSGSIZE;
	}

	genlmsg_end(msg, hdr);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_nl_fill);

#ifdef CONFIG_PAGE_POOL_STATS
#define PP_STAT(name, field)						\
	{ NETDEV_A_PAGE_POOL_STATS_##name,				\
	  offsetof(struct page_pool_stats, field) }

static const struct {
	u16 attr;
	u16 offset;
} page_pool_nl_stats[] = {
	PP_STAT(ALLOC_FAST, alloc_stats.fast),
	PP_STAT(ALLOC_SLOW, alloc_stats.slow),
	PP_STAT(ALLOC_SLOW_HIGH_ORDER, alloc_stats.slow_high_order),
	PP_STAT(ALLOC_EMPTY, alloc_stats.empty),
	PP_STAT(ALLOC_REFILL, alloc_stats.refill),
	PP_STAT(ALLOC_WAIVE, alloc_stats.waive),
	PP_STAT(RECYCLE_CACHED, recycle_stats.cached),
	PP_STAT(RECYCLE_CACHE_FULL, recycle_stats.cache_full),
	PP_STAT(RECYCLE_RING, recycle_stats.ring),
	PP_STAT(RECYCLE_RING_FULL, recycle_stats.ring_full),
	PP_STAT(RECYCLE_RELEASED_REFCNT, recycle_stats.released_refcnt),
};

static const struct {
	u16 attr;
	u16 offset;
} page_pool_nl_cpu_stats[] = {
#define PP_CPU_STAT(name, field)					\
	{ NETDEV_A_PAGE_POOL_STATS_CPU_RECYCLE_##name,			\
	  offsetof(struct page_pool_recycle_stats, field) }
	PP_CPU_STAT(CACHED, cached),
	PP_CPU_STAT(CACHE_FULL, cache_full),
	PP_CPU_STAT(RING, ring),
	PP_CPU_STAT(RING_FULL, ring_full),
	PP_CPU_STAT(RELEASED_REFCNT, released_refcnt),
	PP_CPU_STAT(RELEASED_PFMEMALLOC, released_pfmemalloc),
	PP_CPU_STAT(RELEASED_NID, released_nid),
#undef PP_CPU_STAT
};

/* The length of a nest has 16 bits. */
VISIBLE_IF_KUNIT unsigned int page_pool_nl_nest_max = U16_MAX;
EXPORT_SYMBOL_IF_KUNIT(page_pool_nl_nest_max);

/* All counters of a CPU in a nest */
#define PP_CPU_STATS_SIZE						\
	(nla_total_size(0) + nla_total_size(sizeof(u32)) +		\
	 ARRAY_SIZE(page_pool_nl_cpu_stats) * nla_total_size(sizeof(u64)))

static int page_pool_nl_put_cpu_stats(struct sk_buff *msg, int cpu,
				      const struct page_pool_recycle_stats *stats)
{
	struct nlattr *nest;
	unsigned int i;

	nest = nla_nest_start(msg, NETDEV_A_PAGE_POOL_STATS_DETAIL_CPU);
	if (!nest || nla_put_u32(msg, NETDEV_A_PAGE_POOL_STATS_CPU_CPU, cpu))
		return -EMSGSIZE;

	for (i = 0; i < ARRAY_SIZE(page_pool_nl_cpu_stats); i++) {
		const u64 *val = (void *)stats + page_pool_nl_cpu_stats[i].offset;

		if (nla_put_uint(msg, page_pool_nl_cpu_stats[i].attr, *val))
			return -EMSGSIZE;
	}

	nla_nest_end(msg, nest);
	return 0;
}

static int page_pool_nl_put_stats_detail(struct sk_buff *msg,
					 const struct page_pool *pool,
					 const struct page_pool_stats *stats)
{
	const struct page_pool_recycle_stats *sum = &stats->recycle_stats;
	struct page_pool_recycle_stats one;
	struct nlattr *nest;
	unsigned char *cpus;
	unsigned int size;
	int cpu;

	nest = nla_nest_start(msg, NETDEV_A_PAGE_POOL_STATS_DETAIL);
	if (!nest)
		return -EMSGSIZE;

	if (nla_put_uint(msg,
			 NETDEV_A_PAGE_POOL_STATS_DETAIL_RECYCLE_RELEASED_PFMEMALLOC,
			 sum->released_pfmemalloc) ||
	    nla_put_uint(msg,
			 NETDEV_A_PAGE_POOL_STATS_DETAIL_RECYCLE_RELEASED_NID,
			 sum->released_nid))
		return -EMSGSIZE;

	cpus = skb_tail_pointer(msg);
	for_each_possible_cpu(cpu) {
		page_pool_get_cpu_stats(pool, cpu, &one);
		if (!memchr_inv(&one, 0, sizeof(one)))
			continue;

		/* Some of the CPUs would be worse than none. */
		size = skb_tail_pointer(msg) - (unsigned char *)nest;
		if (size + PP_CPU_STATS_SIZE > page_pool_nl_nest_max) {
			nlmsg_trim(msg, cpus);
			break;
		}
		if (page_pool_nl_put_cpu_stats(msg, cpu, &one))
			return -EMSGSIZE;
	}

	nla_nest_end(msg, nest);
	return 0;
}

/* What page_pool_nl_stats_fill() may write: for every CPU that may have
 * something to say, and fits. No more than usual if that will do, for readers
 * are known to have room for that.
 */
static unsigned int page_pool_nl_stats_size(void)
{
	size_t size = NLMSG_HDRLEN + GENL_HDRLEN +
		      nla_total_size(0) + nla_total_size(sizeof(u64)) +
		      nla_total_size(sizeof(u32)) +
		      ARRAY_SIZE(page_pool_nl_stats) *
				nla_total_size(sizeof(u64)) +
		      nla_total_size(0) + 2 * nla_total_size(sizeof(u64));

	size += min_t(size_t, num_possible_cpus() * PP_CPU_STATS_SIZE, U16_MAX);

	return max_t(size_t, size, NLMSG_GOODSIZE);
}

static int page_pool_nl_put_stats(struct sk_buff *msg,
				  const struct page_pool *pool)
{
	struct page_pool_stats stats = {};
	unsigned int i;

	page_pool_get_stats(pool, &stats);

	for (i = 0; i < ARRAY_SIZE(page_pool_nl_stats); i++) {
		const u64 *val = (void *)&stats + page_pool_nl_stats[i].offset;

		if (nla_put_uint(msg, page_pool_nl_stats[i].attr, *val))
			return -EMSGSIZE;
	}

	return page_pool_nl_put_stats_detail(msg, pool, &stats);
}

/**
 * page_pool_nl_stats_fill() - append a page-pool-stats-get message
 * @msg: where to; left as it was on failure
 * @pool: the pool, page_pools_lock held
 * @info: request that is answered
 *
 * Return: 0, or -EMSGSIZE when @msg has no room for all of it.
 */
VISIBLE_IF_KUNIT int page_pool_nl_stats_fill(struct sk_buff *msg,
					     const struct page_pool *pool,
					     const struct genl_info *info)
{
	void *hdr = genlmsg_iput(msg, info);
	struct nlattr *which;

	if (!hdr)
		return -EMSGSIZE;

	which = nla_nest_start(msg, NETDEV_A_PAGE_POOL_STATS_INFO);
	if (!which || page_pool_nl_put_pool(msg, pool))
		goto no_room;
	nla_nest_end(msg, which);

	if (page_pool_nl_put_stats(msg, pool))
		goto no_room;

	genlmsg_end(msg, hdr);
	return 0;

no_room:
	genlmsg_cancel(msg, hdr);
	return -EMSGSIZE;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_nl_stats_fill);
#endif /* CONFIG_PAGE_POOL_STATS */

/* For device-less pools: pass over listeners who may not hear of them. Who has
 * opened the socket counts, not who reads from it.
 */
static int page_pool_nl_filter(struct sock *listener, struct sk_buff *msg,
			       void *data)
{
	/* There is a socket as long as it listens; the kernel's own have no
	 * file.
	 */
	const struct file *file = listener->sk_socket->file;

	return sock_net(listener) != &init_net || !file ||
	       !file_ns_capable(file, &init_user_ns, CAP_NET_ADMIN);
}

/* Tell those who are shown the pool. */
static void page_pool_nl_notify(const struct page_pool *pool, u8 cmd)
{
	netlink_filter_fn filter = pool->user.net ? NULL : page_pool_nl_filter;
	struct net *net = pool->user.net ?: &init_net;
	struct genl_info info;
	struct sk_buff *msg;

	lockdep_assert_held(&page_pools_lock);

	if (pool->user.moving)
		return;
	if (!genl_has_listeners(&netdev_nl_family, net, NETDEV_NLGRP_PAGE_POOL))
		return;

	msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	genl_info_init_ntf(&info, &netdev_nl_family, cmd);
	if (!msg || page_pool_nl_fill(msg, pool, &info)) {
		nlmsg_free(msg);
		/* listeners are to know that they missed something */
		genl_set_err(&netdev_nl_family, net, 0, NETDEV_NLGRP_PAGE_POOL,
			     -ENOBUFS);
		return;
	}

	genlmsg_multicast_netns_filtered(&netdev_nl_family, net, msg, 0,
					 NETDEV_NLGRP_PAGE_POOL, GFP_KERNEL,
					 filter, NULL);
}

/*
 * Requests
 */

/* @request is the one to be answered. Its sender, and who has opened the
 * socket, must both be up to it.
 */
static struct page_pool_nl_reader
page_pool_nl_reader(const struct net *net, const struct sk_buff *request)
{
	return (struct page_pool_nl_reader) {
		.net = net,
		.admin = net == &init_net &&
			 netlink_capable(request, CAP_NET_ADMIN),
	};
}

static bool page_pool_nl_is_shown(const struct page_pool *pool,
				  const struct page_pool_nl_reader *reader)
{
	if (pool->user.net)
		return pool->user.net == reader->net;

	return reader->admin && !pool->user.moving;
}

/* One pool, named by the attribute @id, which the policy has checked. */
static int page_pool_nl_do(struct sk_buff *skb, struct genl_info *info,
			   const struct nlattr *id, page_pool_nl_fill_fn *fill,
			   unsigned int size)
{
	struct page_pool_nl_reader reader;
	const struct page_pool *pool;
	struct sk_buff *msg;
	int err;

	msg = genlmsg_new(size, GFP_KERNEL);
	if (!msg)
		return -ENOMEM;

	reader = page_pool_nl_reader(genl_info_net(info), skb);

	mutex_lock(&page_pools_lock);
	pool = xa_load(&page_pools, nla_get_uint(id));
	if (pool && page_pool_nl_is_shown(pool, &reader)) {
		err = fill(msg, pool, info);
	} else {
		NL_SET_BAD_ATTR(info->extack, id);
		err = -ENOENT;
	}
	mutex_unlock(&page_pools_lock);

	if (err) {
		nlmsg_free(msg);
		return err;
	}
	return genlmsg_reply(msg, info);
}

/**
 * page_pool_nl_dump() - append a message for each pool that a reader is shown
 * @msg: where to
 * @reader: the reader
 * @ifindex: only pools of this device, 0 for all
 * @next: first id to look at; moved on to the first one that had no room
 * @info: the dump request
 * @fill: writes the message of one pool
 *
 * In the order of ids, which a pool keeps for life whatever happens to its
 * device: one that is there from the first call to the last is shown exactly
 * once, wherever the boundaries between calls fall.
 *
 * Return: 0 when the dump is complete, -EMSGSIZE to go on with the next @msg.
 */
VISIBLE_IF_KUNIT int page_pool_nl_dump(struct sk_buff *msg,
				       const struct page_pool_nl_reader *reader,
				       int ifindex, unsigned long *next,
				       const struct genl_info *info,
				       page_pool_nl_fill_fn *fill)
{
	const struct page_pool *pool;
	unsigned long id;
	int err = 0;

	mutex_lock(&page_pools_lock);
	xa_for_each_start(&page_pools, id, pool, *next) {
		const struct net_device *dev = pool->slow.netdev;

		if (!page_pool_nl_is_shown(pool, reader))
			continue;
		if (ifindex && (!dev || !pool->user.net ||
				dev->ifindex != ifindex))
			continue;

		err = fill(msg, pool, info);
		if (err) {
			*next = id;
			break;
		}
	}
	mutex_unlock(&page_pools_lock);

	return err;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_nl_dump);

struct page_pool_nl_dump_ctx {
	unsigned long next;
	bool started;
};

static int page_pool_nl_dump_cb(struct sk_buff *msg, struct netlink_callback *cb,
				const struct nlattr *ifindex,
				page_pool_nl_fill_fn *fill)
{
	struct page_pool_nl_dump_ctx *ctx = (void *)cb->ctx;
	const struct genl_info *info = genl_info_dump(cb);
	int index = ifindex ? nla_get_u32(ifindex) : 0;
	struct net *net = sock_net(msg->sk);
	struct page_pool_nl_reader reader;

	NL_ASSERT_DUMP_CTX_FITS(struct page_pool_nl_dump_ctx);

	/* A device that goes during the dump takes its pools along; only one
	 * that was not there to begin with is the caller's mistake.
	 */
	if (index && !ctx->started) {
		bool found;

		rcu_read_lock();
		found = dev_get_by_index_rcu(net, index);
		rcu_read_unlock();
		if (!found) {
			NL_SET_BAD_ATTR(info->extack, ifindex);
			return -ENODEV;
		}
	}
	ctx->started = true;

	reader = page_pool_nl_reader(net, cb->skb);

	return page_pool_nl_dump(msg, &reader, index, &ctx->next, info, fill);
}

int netdev_nl_page_pool_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	if (GENL_REQ_ATTR_CHECK(info, NETDEV_A_PAGE_POOL_ID))
		return -EINVAL;

	return page_pool_nl_do(skb, info, info->attrs[NETDEV_A_PAGE_POOL_ID],
			       page_pool_nl_fill, GENLMSG_DEFAULT_SIZE);
}

int netdev_nl_page_pool_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);

	return page_pool_nl_dump_cb(skb, cb,
				    info->attrs[NETDEV_A_PAGE_POOL_IFINDEX],
				    page_pool_nl_fill);
}

#ifdef CONFIG_PAGE_POOL_STATS
/* Statistics requests name pools in a nest: one by id, or a device's by ifindex. */
static const struct nlattr *
page_pool_nl_stats_key(const struct genl_info *info, u16 key, u16 other)
{
	struct nlattr *nest = info->attrs[NETDEV_A_PAGE_POOL_STATS_INFO];
	struct nlattr *tb[NETDEV_A_PAGE_POOL_IFINDEX + 1];
	int err;

	err = nla_parse_nested(tb, NETDEV_A_PAGE_POOL_IFINDEX, nest,
			       netdev_page_pool_info_nl_policy, info->extack);
	if (err)
		return ERR_PTR(err);

	if (NL_REQ_ATTR_CHECK(info->extack, nest, tb, key))
		return ERR_PTR(-EINVAL);
	if (tb[other]) {
		NL_SET_ERR_MSG_ATTR(info->extack, tb[other],
				    "one pool is selected by id, the pools of a device in a dump by ifindex");
		return ERR_PTR(-EINVAL);
	}

	return tb[key];
}

int netdev_nl_page_pool_stats_get_doit(struct sk_buff *skb,
				       struct genl_info *info)
{
	const struct nlattr *id;

	if (GENL_REQ_ATTR_CHECK(info, NETDEV_A_PAGE_POOL_STATS_INFO))
		return -EINVAL;

	id = page_pool_nl_stats_key(info, NETDEV_A_PAGE_POOL_ID,
				    NETDEV_A_PAGE_POOL_IFINDEX);
	if (IS_ERR(id))
		return PTR_ERR(id);

	return page_pool_nl_do(skb, info, id, page_pool_nl_stats_fill,
			       page_pool_nl_stats_size());
}

int netdev_nl_page_pool_stats_get_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = page_pool_nl_stats_size();
	return 0;
}

int netdev_nl_page_pool_stats_get_dumpit(struct sk_buff *skb,
					 struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	const struct nlattr *ifindex = NULL;

	if (info->attrs[NETDEV_A_PAGE_POOL_STATS_INFO]) {
		ifindex = page_pool_nl_stats_key(info,
						 NETDEV_A_PAGE_POOL_IFINDEX,
						 NETDEV_A_PAGE_POOL_ID);
		if (IS_ERR(ifindex))
			return PTR_ERR(ifindex);
	}

	return page_pool_nl_dump_cb(skb, cb, ifindex, page_pool_nl_stats_fill);
}
#endif /* CONFIG_PAGE_POOL_STATS */

/*
 * What the core tells about a pool
 */

/* The device is going, or the pool is done with it. */
static void page_pool_drop_netdev(struct page_pool *pool)
{
	hlist_del(&pool->user.list);
	pool->slow.netdev = NULL;
	pool->user.moving = false;
	hlist_add_head(&pool->user.list, &page_pools_nodev);
}

/* What is longer would be in the way of messages that have to have room. */
#define PP_DEV_NAME_MAX		127

int page_pool_list(struct page_pool *pool)
{
	const char *name = pool->p.dev ? dev_name(pool->p.dev) : NULL;
	struct net_device *dev = pool->slow.netdev;
	int err;

	/* A device that is not registered yet may have none. */
	if (name) {
		pool->user.dev_name = kstrndup(name, PP_DEV_NAME_MAX,
					       GFP_KERNEL);
		if (!pool->user.dev_name)
			return -ENOMEM;
	}
	pool->user.created = ktime_get_boottime_ns();

	mutex_lock(&page_pools_lock);
	err = xa_alloc_cyclic(&page_pools, &pool->user.id, pool, xa_limit_32b,
			      &page_pools_next_id, GFP_KERNEL);
	if (err < 0)
		goto unlock;
	err = 0;	/* 1 says that ids start over */

	switch (dev ? READ_ONCE(dev->reg_state) : NETREG_DUMMY) {
	case NETREG_REGISTERED:
		pool->user.net = dev_net(dev);
		fallthrough;
	case NETREG_UNINITIALIZED:
		hlist_add_head(&pool->user.list, &dev->page_pools);
		break;
	default:
		/* too late for the notification that parts device and pool */
		pool->slow.netdev = NULL;
		hlist_add_head(&pool->user.list, &page_pools_nodev);
	}
	page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_ADD_NTF);
unlock:
	mutex_unlock(&page_pools_lock);
	if (err)
		kfree(pool->user.dev_name);
	return err;
}

/* The owner has destroyed the pool, pages are still out. */
void page_pool_detached(struct page_pool *pool)
{
	mutex_lock(&page_pools_lock);
	pool->user.detached = true;
	pool->user.detach_time = ktime_get_boottime_seconds();

	/* A device that was never registered goes without a word. */
	if (pool->slow.netdev && !pool->user.net)
		page_pool_drop_netdev(pool);

	page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_CHANGE_NTF);
	page_pool_watch(pool);
	mutex_unlock(&page_pools_lock);
}

void page_pool_unlist(struct page_pool *pool)
{
	mutex_lock(&page_pools_lock);
	page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_DEL_NTF);
	page_pool_unwatch(pool);
	hlist_del(&pool->user.list);
	xa_erase(&page_pools, pool->user.id);
	mutex_unlock(&page_pools_lock);
	kfree(pool->user.dev_name);
}

/**
 * page_pool_try_each() - visit all pools, unless somebody has their list
 * @visit:	called for each pool, which stays until it returns
 * @data:	for @visit
 *
 * Context: Task, also in reclaim: never waits. @visit must not sleep, and not
 * do what takes page_pools_lock.
 *
 * Return: false if the list was not to be had.
 */
bool page_pool_try_each(void (*visit)(struct page_pool *pool, void *data),
			void *data)
{
	struct page_pool *pool;
	unsigned long id;

	/* Those who have it may be allocating memory. */
	if (!mutex_trylock(&page_pools_lock))
		return false;

	xa_for_each(&page_pools, id, pool)
		visit(pool, data);
	mutex_unlock(&page_pools_lock);

	return true;
}

/**
 * page_pool_is_listed() - is there a pool of this id?
 * @id: the id
 *
 * Return: false once it is gone.
 */
bool page_pool_is_listed(u32 id)
{
	return xa_load(&page_pools, id);
}

/**
 * page_pool_visit_id() - visit a pool if it is there still
 * @id: its id
 * @pool: the pool that had this id
 * @visit: called for it; it stays until that returns
 * @data: for @visit
 */
void page_pool_visit_id(u32 id, const struct page_pool *pool,
			void (*visit)(struct page_pool *pool, void *data),
			void *data)
{
	struct page_pool *found;

	mutex_lock(&page_pools_lock);
	found = xa_load(&page_pools, id);
	if (found && found == pool)
		visit(found, data);
	mutex_unlock(&page_pools_lock);
}

/**
 * page_pool_visit_shown() - visit the pools that a reader is shown
 * @net: his namespace
 * @request: what he has sent
 * @id: only the pool of this id, 0 for all
 * @visit: called for each pool, which stays until it returns
 * @data: for @visit
 */
void page_pool_visit_shown(const struct net *net, const struct sk_buff *request,
			   u32 id,
			   void (*visit)(struct page_pool *pool, void *data),
			   void *data)
{
	struct page_pool_nl_reader reader = page_pool_nl_reader(net, request);
	unsigned long i, last = id ?: U32_MAX;
	struct page_pool *pool;

	mutex_lock(&page_pools_lock);
	xa_for_each_range(&page_pools, i, pool, id, last) {
		if (page_pool_nl_is_shown(pool, &reader))
			visit(pool, data);
	}
	mutex_unlock(&page_pools_lock);
}

/* For when the NAPI goes before the pool. A reader that found the link before
 * has finished with it once this returns.
 */
void page_pool_unlink_napi(struct page_pool *pool)
{
	if (!READ_ONCE(pool->p.napi))
		return;

	mutex_lock(&page_pools_lock);
	WRITE_ONCE(pool->p.napi, NULL);
	mutex_unlock(&page_pools_lock);
}

/**
 * page_pool_check_memory_provider() - did the driver use the queue's provider?
 * @dev: the device
 * @rxq: its queue, restarted with a memory provider set
 *
 * Return: 0 if the queue has no provider, or if a pool that is in use was
 * created with it; -ENODATA if not.
 */
int page_pool_check_memory_provider(struct net_device *dev,
				    struct netdev_rx_queue *rxq)
{
	const void *provider = rxq->mp_params.mp_priv;
	unsigned int queue = get_netdev_rx_queue_index(rxq);
	const struct page_pool *pool;
	int err = -ENODATA;

	if (!provider)
		return 0;

	mutex_lock(&page_pools_lock);
	hlist_for_each_entry(pool, &dev->page_pools, user.list) {
		if (pool->mp_priv == provider && !pool->user.detached &&
		    pool->slow.queue_idx == queue) {
			err = 0;
			break;
		}
	}
	mutex_unlock(&page_pools_lock);

	return err;
}

/*
 * Devices and namespaces that come and go
 */

/* Either the device is going for good, or it leaves for another namespace. In
 * that case its living pools follow it. Those already detached have to do
 * with where they were used, not with the device; they stay behind.
 */
static void page_pool_netdev_leaves(struct net_device *dev)
{
	bool moves = dev->reg_state == NETREG_REGISTERED;
	struct hlist_node *next;
	struct page_pool *pool;

	hlist_for_each_entry_safe(pool, next, &dev->page_pools, user.list) {
		if (moves && !pool->user.detached) {
			page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_DEL_NTF);
			pool->user.net = NULL;
			pool->user.moving = true;
			continue;
		}
		page_pool_drop_netdev(pool);
		page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_CHANGE_NTF);
	}
}

/* Others are shown the pool from now on. */
static void page_pool_set_net(struct page_pool *pool, struct net *net)
{
	page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_DEL_NTF);
	pool->user.net = net;
	pool->user.moving = false;
	page_pool_nl_notify(pool, NETDEV_CMD_PAGE_POOL_ADD_NTF);
}

/* Pools may also have been created before the device was registered, or while
 * it was between two namespaces.
 */
static void page_pool_netdev_arrives(struct net_device *dev)
{
	struct page_pool *pool;

	hlist_for_each_entry(pool, &dev->page_pools, user.list) {
		if (pool->user.net != dev_net(dev))
			page_pool_set_net(pool, dev_net(dev));
	}
}

static int page_pool_netdev_event(struct notifier_block *nb,
				  unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	switch (event) {
	case NETDEV_REGISTER:
		mutex_lock(&page_pools_lock);
		page_pool_netdev_arrives(dev);
		mutex_unlock(&page_pools_lock);
		break;
	case NETDEV_UNREGISTER:
		mutex_lock(&page_pools_lock);
		page_pool_netdev_leaves(dev);
		mutex_unlock(&page_pools_lock);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block page_pool_netdev_nb = {
	.notifier_call = page_pool_netdev_event,
};

/* Nobody is left to read there: orphans become device-less. */
static void __net_exit page_pool_net_exit(struct net *net)
{
	struct page_pool *pool;

	mutex_lock(&page_pools_lock);
	hlist_for_each_entry(pool, &page_pools_nodev, user.list) {
		if (pool->user.net != net)
			continue;
		page_pool_set_net(pool, NULL);
		page_pool_watch(pool);
	}
	mutex_unlock(&page_pools_lock);
}

/* Subsystems exit after devices and in reverse order, so this comes between the
 * last NETDEV_UNREGISTER of a namespace and the end of its netlink sockets.
 */
static struct pernet_operations page_pool_net_ops = {
	.exit = page_pool_net_exit,
};

static int __init page_pool_user_init(void)
{
	int err;

	err = register_pernet_subsys(&page_pool_net_ops);
	if (err)
		return err;

	err = register_netdevice_notifier(&page_pool_netdev_nb);
	if (err)
		unregister_pernet_subsys(&page_pool_net_ops);
	return err;
}
subsys_initcall(page_pool_user_init);
