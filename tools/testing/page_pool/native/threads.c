// SPDX-License-Identifier: GPL-2.0
/*
 * A pool, its consumer, and others that put its pages, that read its counters,
 * that run the work that frees it: at the same time, held up at random wherever
 * memory is ordered (pp_point()). In each round a pool is created, used and
 * destroyed with pages out.
 *
 * What must hold: no page is handed out that somebody has, the world (world.c)
 * has nothing to complain about, counters never go back, and at the end of a
 * round nothing is left.
 */
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>
#include <net/netdev_rx_queue.h>

#include "page_pool_priv.h"
#include "world.h"
#include "native.h"

#define CONSUMER	0
#define PUTTERS		3		/* threads 1 to 3 */
#define READER		4
#define WORKER		5
#define DEPTH		256		/* of a queue */

struct queue {
	void *slot[DEPTH];
	unsigned int head ____cacheline_aligned;
	unsigned int tail ____cacheline_aligned;
};

static struct {
	struct page_pool *pool;
	struct napi_struct napi;
	struct nt_dev *dev;
	struct queue q[PUTTERS];
	unsigned int flags, seed[NT_THREADS];
	bool provider, fragments;
	bool few;			/* pages: it is about the end */
	int done;			/* the consumer has: threads that are */
} r;

#ifdef CONFIG_PAGE_POOL_STATS
static struct page_pool_stats_sum sum;
#endif

/* -- what model.c has in the other programs */

int page_pool_list(struct page_pool *pool)
{
	return 0;
}

void page_pool_detached(struct page_pool *pool)
{
}

void page_pool_unlist(struct page_pool *pool)
{
	pp_might_sleep();
}

void page_pool_unlink_napi(struct page_pool *pool)
{
	WRITE_ONCE(pool->p.napi, NULL);
}

static struct net_device netdev = { .num_rx_queues = 1 };
static struct netdev_rx_queue rxq;
static int niov_used[NT_NIOVS];

static netmem_ref niov_alloc(struct page_pool *pool, gfp_t gfp)
{
	netmem_ref netmem;
	u32 i;

	for (i = 0; i < NT_NIOVS; i++)
		if (!__atomic_exchange_n(&niov_used[i], 1, __ATOMIC_ACQ_REL))
			break;
	if (i == NT_NIOVS)
		return 0;
	netmem = net_iov_to_netmem(&nt_niov[i]);
	WRITE_ONCE(pool->pages_state_hold_cnt, pool->pages_state_hold_cnt + 1);
	page_pool_set_pp_info(pool, netmem);
	page_pool_set_dma_addr_netmem(netmem, NT_DMA_NIOV + ((u64)i << PAGE_SHIFT));
	return netmem;
}

static bool niov_release(struct page_pool *pool, netmem_ref netmem)
{
	u32 i = netmem_to_net_iov(netmem) - nt_niov;

	page_pool_clear_pp_info(netmem);
	if (!__atomic_exchange_n(&niov_used[i], 0, __ATOMIC_ACQ_REL))
		pp_fatal("niov %u is released twice", i);
	return false;
}

static int provider_init(struct page_pool *pool)
{
	return 0;
}

static void provider_destroy(struct page_pool *pool)
{
	u32 i;

	for (i = 0; i < NT_NIOVS; i++)
		if (__atomic_load_n(&niov_used[i], __ATOMIC_ACQUIRE))
			pp_fatal("niov %u is out when its provider goes", i);
}

static const struct memory_provider_ops ops = {
	.alloc_netmems = niov_alloc,
	.release_netmem = niov_release,
	.init = provider_init,
	.destroy = provider_destroy,
};

struct netdev_rx_queue *__netif_get_rx_queue(struct net_device *dev, unsigned int q)
{
	return &rxq;
}

/* -- hand over */

static bool give(struct queue *q, void *p)
{
	unsigned int head = q->head;

	/* Pairs with the release in take(). */
	if (head - smp_load_acquire(&q->tail) == DEPTH)
		return false;
	q->slot[head % DEPTH] = p;
	/* Pairs with the acquire in take(). */
	smp_store_release(&q->head, head + 1);
	return true;
}

static void *take(struct queue *q)
{
	unsigned int tail = q->tail;
	void *p;

	/* Pairs with the release in give(). */
	if (smp_load_acquire(&q->head) == tail)
		return NULL;
	p = q->slot[tail % DEPTH];
	/* Pairs with the acquire in give(). */
	smp_store_release(&q->tail, tail + 1);
	return p;
}

/* Whole pages have one user. */
static void held(netmem_ref netmem, bool yes)
{
	struct nt_frame *f = &nt.frame[nt_id(netmem)];

	if (r.fragments)
		return;
	if (__atomic_exchange_n(&f->held, yes, __ATOMIC_ACQ_REL) == yes)
		pp_fatal(yes ? "page %u is handed out, but somebody has it" :
			 "page %u is put by nobody", nt_id(netmem));
}

/* -- threads */

static void put_some(netmem_ref *p, u32 n, u32 how, bool direct)
{
	void *addr[64];
	bool batch;
	u32 i;

	for (i = 0; i < n; i++)
		held(p[i], false);

	switch (how % 7) {
	case 0:		/* a task */
		for (i = 0; i < n; i++)
			page_pool_put_netmem(r.pool, p[i], -1, false);
		break;
	case 1:		/* softirq, in a section */
	case 2:
		local_bh_disable();
		page_pool_stage_begin();
		for (i = 0; i < n; i++)
			page_pool_put_netmem(r.pool, p[i], -1, false);
		pp_point();
		page_pool_stage_end();
		local_bh_enable();
		break;
	case 3:		/* softirq, outside of sections */
		local_bh_disable();
		for (i = 0; i < n; i++)
			page_pool_put_netmem(r.pool, p[i], -1, direct);
		local_bh_enable();
		break;
	case 4:		/* an skb, in a task */
		batch = page_pool_batch_begin();
		for (i = 0; i < n; i++)
			page_pool_put_full_netmem(r.pool, p[i], false);
		if (batch)
			page_pool_batch_end();
		break;
	case 5:		/* somebody else has the page, too */
		for (i = 0; i < n; i++) {
			struct page *page = netmem_is_net_iov(p[i]) ? NULL : netmem_to_page(p[i]);

			if (page)
				get_page(page);
			page_pool_put_netmem(r.pool, p[i], -1, false);
			if (page)
				put_page(page);
		}
		break;
	case 6:
		if (r.provider) {
			for (i = 0; i < n; i++)
				page_pool_put_netmem(r.pool, p[i], -1, false);
			break;
		}
		for (i = 0; i < n; i++)
			addr[i] = page_address(netmem_to_page(p[i]));
		if (how & 64)
			local_bh_disable();
		page_pool_put_page_bulk(r.pool, addr, n);
		if (how & 64)
			local_bh_enable();
		break;
	}
}

static u32 alloc_some(netmem_ref *p, u32 n, u32 how)
{
	unsigned int offset, size;
	u32 i;

	for (i = 0; i < n; i++) {
		if (!r.fragments) {
			p[i] = page_pool_alloc_netmems(r.pool, PP_DEV_GFP);
		} else if (how & 1) {
			p[i] = page_pool_alloc_frag_netmem(r.pool, &offset, 64 + how % 1900,
							   PP_DEV_GFP);
		} else {
			size = 64 + how % 4000;
			p[i] = page_to_netmem(page_pool_alloc(r.pool, &offset, &size, PP_DEV_GFP));
		}
		if (!p[i])
			break;
		held(p[i], true);
	}
	return i;
}

static void consume(u32 steps)
{
	netmem_ref p[64];
	u32 n, how, kind;

	while (steps--) {
		how = nt_rnd();
		kind = how % 4;
		WRITE_ONCE(r.napi.list_owner, how & 16 ? CONSUMER : -1);
		local_bh_disable();
		if (kind)
			page_pool_stage_begin();
		n = alloc_some(p, 1 + nt_rnd() % (r.few ? 3 : 64), nt_rnd());
		if (how & 32 && !r.provider)
			page_pool_nid_changed(r.pool, nt_rnd() % 16 ? 0 : 1);
		if (kind)
			page_pool_stage_end();
		local_bh_enable();

		/* Some go home from here, most elsewhere. */
		if (how & 6 || r.few)
			while (n && give(&r.q[nt_rnd() % PUTTERS], (void *)p[n - 1]))
				n--;
		put_some(p, n, nt_rnd(), how & 8);
		nt_quiescent(BIT(CONSUMER));
	}
	WRITE_ONCE(r.napi.list_owner, -1);
}

static void destroy(void)
{
	page_pool_destroy(r.pool);
	WRITE_ONCE(r.dev->gone, true);
	__atomic_add_fetch(&r.done, 1, __ATOMIC_RELEASE);
}

static void putter(u32 nr)
{
	netmem_ref p[64];
	bool last;
	u32 n, want;

	do {
		last = __atomic_load_n(&r.done, __ATOMIC_ACQUIRE);
		want = 1 + nt_rnd() % 64;
		for (n = 0; n < want; n++) {
			p[n] = (netmem_ref)take(&r.q[nr]);
			if (!p[n])
				break;
		}
		if (n) {
			put_some(p, n, nt_rnd(), false);
			last = false;
		} else {
			sched_yield();
		}
		nt_quiescent(BIT(1 + nr));
	} while (!last);
	__atomic_add_fetch(&r.done, 1, __ATOMIC_RELEASE);
}

static void reader(void)
{
#ifdef CONFIG_PAGE_POOL_STATS
	static u64 seen[sizeof(struct page_pool_stats) / sizeof(u64)];
	struct page_pool_stats now;
	u64 words[ARRAY_SIZE(seen)];
	u32 i;

	while (__atomic_load_n(&r.done, __ATOMIC_ACQUIRE) < 1 + PUTTERS) {
		memset(&now, 0, sizeof(now));
		page_pool_stats_sum_get(&sum, &now);
		memcpy(words, &now, sizeof(words));
		for (i = 0; i < ARRAY_SIZE(seen); i++) {
			if (words[i] < seen[i])
				pp_fatal("counter %u goes back from %lld to %lld", i, seen[i],
					 words[i]);
			seen[i] = words[i];
		}
		nt_quiescent(BIT(READER));
	}
#endif
}

static void worker(void)
{
	while (__atomic_load_n(&r.done, __ATOMIC_ACQUIRE) < 1 + PUTTERS) {
		pp_run_work();
		nt_quiescent(BIT(WORKER));
		sched_yield();
	}
	pp_run_work();
}

void nt_round(unsigned int thread)
{
	pp_enter(thread);
	nt_seed = r.seed[thread] | 1;
	switch (thread) {
	case CONSUMER:
		consume(r.few ? 1 : 1 + nt_rnd() % 64);
		destroy();
		break;
	case READER:
		reader();
		break;
	case WORKER:
		worker();
		break;
	default:
		putter(thread - 1);
		break;
	}
	nt_online(thread, false);
}

void nt_round_begin(unsigned int seed)
{
	static const u16 sizes[] = { 4, 64, 100, 256, 0 };
	struct page_pool_params params = { .nid = 0, .dma_dir = DMA_FROM_DEVICE };
	u32 i;

	nt.seed = seed;
	nt.threads = false;
	nt_seed = seed * 2654435761u | 1;
	pp_enter(7);
	memset(&r, 0, sizeof(r));
	for (i = 0; i < NT_THREADS; i++)
		r.seed[i] = nt_rnd();
	r.fragments = nt_rnd() & 256;
	r.few = (nt_rnd() >> 8) % 4;
	r.flags = (nt_rnd() >> 8) % 4;
	if (r.flags == PP_FLAG_DMA_SYNC_DEV)
		r.flags |= PP_FLAG_DMA_MAP;
	params.flags = r.flags;
	params.pool_size = sizes[(nt_rnd() >> 8) % ARRAY_SIZE(sizes)];
	params.order = (nt_rnd() >> 8) % 8 ? 0 : 1;
	params.max_len = PAGE_SIZE;
	params.napi = &r.napi;
	r.napi.list_owner = -1;
	r.provider = !((nt_rnd() >> 8) % 8);
	if (r.provider) {
		params.flags = 3 | PP_FLAG_ALLOW_UNREADABLE_NETMEM;
		params.netdev = &netdev;
		rxq.mp_params.mp_ops = &ops;
		r.fragments = false;
		params.order = 0;
	}
	r.dev = pp_kmalloc(sizeof(*r.dev), GFP_KERNEL | __GFP_ZERO);
	nt.bounce = nt_rnd() & 256;
	r.dev->dev.dma_skip_sync = !nt.bounce;
	r.dev->dir = params.dma_dir;
	r.dev->max_len = params.max_len;
	r.dev->size = PAGE_SIZE << params.order;
	params.dev = &r.dev->dev;
	for (i = 0; r.provider && i < NT_NIOVS; i++) {
		struct nt_frame *f = &nt.frame[NT_FRAMES + i];

		f->mapped = 1;
		f->addr = NT_DMA_NIOV + ((u64)i << PAGE_SHIFT);
		f->size = PAGE_SIZE;
		f->dev = r.dev;
	}
	r.pool = page_pool_create(&params);
	if (IS_ERR(r.pool))
		pp_fatal("no pool: %ld", PTR_ERR(r.pool));
	if (!((nt_rnd() >> 8) % 4))
		r.pool->dma_limit = min(r.pool->dma_limit, nt_rnd() & 256 ? 0U : 512U);
#ifdef CONFIG_PAGE_POOL_STATS
	page_pool_stats_sum_add(&sum, r.pool);
#endif
	nt.threads = true;
	for (i = 0; i < NT_THREADS; i++)
		nt_online(i, true);
}

void nt_round_end(void)
{
	nt.threads = false;
	pp_enter(7);
	pp_run_work();
	nt_quiescent(~0u);
	kfree(r.dev);
	if (pp_warnings)
		pp_fatal("%lu warnings", pp_warnings);
	if (nt.callbacks || nt.slab_out || nt.pages_out || nt.mapped_out)
		pp_fatal("left over: %ld callbacks, %ld objects, %ld pages, %ld mappings",
			 nt.callbacks, nt.slab_out, nt.pages_out, nt.mapped_out);
}

void nt_threads_setup(void)
{
	pp_setup(0);
#ifdef CONFIG_PAGE_POOL_STATS
	page_pool_stats_sum_init(&sum);
#endif
}
