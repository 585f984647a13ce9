// SPDX-License-Identifier: GPL-2.0
/* Helpers of the page pool's KUnit suites, see page_pool_kunit.h */

#include <kunit/device.h>
#include <kunit/visibility.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <net/xdp.h>

#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_IMPORT_NS(PAGE_POOL_INTERNAL);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the page pool");

const char * const ppk_stat_names[PPK_NSTATS] = {
	"alloc_fast", "alloc_slow", "alloc_slow_ho", "alloc_empty",
	"alloc_refill", "alloc_waive", "recycle_cached", "recycle_cache_full",
	"recycle_ring", "recycle_ring_full", "recycle_released_ref",
	"recycle_released_pfmemalloc", "recycle_released_nid",
};

bool ppk_told_hardirq;

/* A pool and whether it is gone; outlives a test whose pool does not die */
struct ppk_watch {
	struct list_head list;
	struct kunit *test;
	struct page_pool *pool;
	struct completion gone;
	bool destroyed;
};

static LIST_HEAD(ppk_watches);
static DEFINE_SPINLOCK(ppk_lock);

static struct ppk_watch *ppk_find(const struct page_pool *pool)
{
	struct ppk_watch *w;

	/* Newest first: the address of a freed pool may serve again */
	list_for_each_entry(w, &ppk_watches, list)
		if (w->pool == pool)
			return w;
	return NULL;
}

static void ppk_disconnect(void *pool)
{
	struct ppk_watch *w;

	spin_lock_bh(&ppk_lock);
	w = ppk_find(pool);
	if (!WARN_ON(!w))
		complete_all(&w->gone);
	spin_unlock_bh(&ppk_lock);
}

int ppk_init(struct kunit *test)
{
	ppk_pin(cpumask_first(cpu_online_mask));
	return 0;
}

/* A pool must be gone at the end of the case that made it */
void ppk_exit(struct kunit *test)
{
	struct ppk_watch *w, *next;
	int alive = 0;

	list_for_each_entry(w, &ppk_watches, list)
		if (w->test == test && !w->destroyed) {
			w->destroyed = true;
			page_pool_destroy(w->pool);
			page_pool_destroy(w->pool);
		}

	list_for_each_entry_safe(w, next, &ppk_watches, list) {
		if (w->test != test)
			continue;
		if (!wait_for_completion_timeout(&w->gone,
						 msecs_to_jiffies(3000))) {
			alive++;
			w->test = NULL;
			continue;
		}
		spin_lock_bh(&ppk_lock);
		list_del(&w->list);
		spin_unlock_bh(&ppk_lock);
		kfree(w);
	}
	if (alive)
		KUNIT_FAIL(test, "%d pools were never freed", alive);
}

struct page_pool *ppk_create_percpu(struct kunit *test,
				    const struct page_pool_params *params,
				    int cpu)
{
	struct xdp_mem_info mem = { .type = MEM_TYPE_PAGE_POOL };
	struct page_pool *pool;
	struct ppk_watch *w;

	pool = page_pool_create_percpu(params, cpu);
	KUNIT_ASSERT_FALSE_MSG(test, IS_ERR(pool), "no pool: %pe", pool);
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		page_pool_destroy(pool);
	KUNIT_ASSERT_NOT_NULL(test, w);

	init_completion(&w->gone);
	w->test = test;
	w->pool = pool;
	spin_lock_bh(&ppk_lock);
	list_add(&w->list, &ppk_watches);
	spin_unlock_bh(&ppk_lock);

	page_pool_use_xdp_mem(pool, ppk_disconnect, &mem);
	return pool;
}

struct page_pool *ppk_create(struct kunit *test,
			     const struct page_pool_params *params)
{
	return ppk_create_percpu(test, params, -1);
}

/* Both users, the driver and the memory model, let go */
void ppk_destroy(struct page_pool *pool)
{
	struct ppk_watch *w;

	spin_lock_bh(&ppk_lock);
	w = ppk_find(pool);
	w->destroyed = true;
	spin_unlock_bh(&ppk_lock);

	page_pool_destroy(pool);
	page_pool_destroy(pool);
}

bool ppk_gone(struct page_pool *pool, unsigned int ms)
{
	struct ppk_watch *w;

	spin_lock_bh(&ppk_lock);
	w = ppk_find(pool);
	spin_unlock_bh(&ppk_lock);

	if (!ms)
		return completion_done(&w->gone);
	return wait_for_completion_timeout(&w->gone, msecs_to_jiffies(ms));
}

void ppk_read(const struct page_pool *pool, struct ppk_stats *s)
{
	memset(s, 0, sizeof(*s));
#ifdef CONFIG_PAGE_POOL_STATS
	{
		struct page_pool_stats st = {};

		if (!page_pool_get_stats(pool, &st))
			return;

		s->fast = st.alloc_stats.fast;
		s->slow = st.alloc_stats.slow;
		s->slow_ho = st.alloc_stats.slow_high_order;
		s->empty = st.alloc_stats.empty;
		s->refill = st.alloc_stats.refill;
		s->waive = st.alloc_stats.waive;
		s->cached = st.recycle_stats.cached;
		s->cache_full = st.recycle_stats.cache_full;
		s->ring = st.recycle_stats.ring;
		s->ring_full = st.recycle_stats.ring_full;
		s->ref = st.recycle_stats.released_refcnt;
		s->pfmemalloc = st.recycle_stats.released_pfmemalloc;
		s->nid = st.recycle_stats.released_nid;
	}
#endif
}

void __ppk_expect_stats(struct kunit *test, const struct page_pool *pool,
			const struct ppk_stats *want, int line)
{
	struct ppk_stats have;
	const u64 *h = (const u64 *)&have, *w = (const u64 *)want;
	int i;

	if (!PPK_STATS)
		return;

	ppk_read(pool, &have);
	for (i = 0; i < PPK_NSTATS; i++)
		if (h[i] != w[i])
			KUNIT_FAIL(test, "line %d: %s is %llu, should be %llu",
				   line, ppk_stat_names[i], h[i], w[i]);
}

struct page *ppk_alloc(struct page_pool *pool)
{
	struct page *page;

	local_bh_disable();
	page = page_pool_dev_alloc_pages(pool);
	local_bh_enable();

	return page;
}

int ppk_alloc_many(struct page_pool *pool, struct page **pages, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		pages[i] = ppk_alloc(pool);
		if (!pages[i])
			break;
	}
	return i;
}

struct page *ppk_alloc_frag(struct page_pool *pool, unsigned int *offset,
			    unsigned int size)
{
	struct page *page;

	local_bh_disable();
	page = page_pool_dev_alloc_frag(pool, offset, size);
	local_bh_enable();

	return page;
}

void ppk_put(struct page_pool *pool, struct page *page)
{
	page_pool_put_full_page(pool, page, false);
}

void ppk_put_many(struct page_pool *pool, struct page **pages, int n)
{
	int i;

	for (i = 0; i < n; i++)
		ppk_put(pool, pages[i]);
}

void ppk_put_direct(struct page_pool *pool, struct page *page)
{
	local_bh_disable();
	page_pool_recycle_direct(pool, page);
	local_bh_enable();
}

/* In calls of 16, as the XDP redirect path makes them */
void ppk_put_bulk(struct page_pool *pool, struct page **pages, int n)
{
	void *data[16];
	int i, k;

	for (; n > 0; n -= k, pages += k) {
		k = min_t(int, n, ARRAY_SIZE(data));
		for (i = 0; i < k; i++)
			data[i] = page_address(pages[i]);
		page_pool_put_page_bulk(pool, data, k);
	}
}

void ppk_log_mark(struct ppk_log *log)
{
	size_t len;

	kmsg_dump_rewind(&log->iter);
	while (kmsg_dump_get_line(&log->iter, false, NULL, 0, &len))
		;
}

int ppk_log_count(const struct ppk_log *log, const char *what)
{
	struct kmsg_dump_iter iter = log->iter;
	static char line[512];
	int n = 0;
	size_t len;

	while (kmsg_dump_get_line(&iter, false, line, sizeof(line) - 1, &len)) {
		line[len] = '\0';
		if (strstr(line, what) && !strstr(line, "pp-expect:"))
			n++;
	}
	return n;
}

struct device *ppk_device(struct kunit *test)
{
	struct device *dev = kunit_device_register(test, "page_pool_kunit");

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, 0,
			dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64)));
	return dev;
}

static const struct net_device_ops ppk_netdev_ops = {};

static void ppk_netdev_unregister(void *dev)
{
	unregister_netdev(dev);
	free_netdev(dev);
}

struct net_device *ppk_netdev(struct kunit *test)
{
	struct net_device *dev = alloc_etherdev(0);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &ppk_netdev_ops;
	strscpy(dev->name, "ppk%d", IFNAMSIZ);
	if (register_netdev(dev)) {
		free_netdev(dev);
		KUNIT_FAIL_AND_ABORT(test, "no test device");
	}
	kunit_add_action(test, ppk_netdev_unregister, dev);
	return dev;
}

int ppk_factorial(int n)
{
	return n < 2 ? 1 : n * ppk_factorial(n - 1);
}

void ppk_permutation(int i, int n, int *order)
{
	int j, k, left;

	for (j = 0; j < n; j++)
		order[j] = j;

	/* @i read in the factorial number system picks what is left over */
	for (j = 0, left = n; left > 1; j++, left--) {
		int f = ppk_factorial(left - 1);
		int pick = j + i / f % left;
		int v = order[pick];

		for (k = pick; k > j; k--)
			order[k] = order[k - 1];
		order[j] = v;
	}
}

static int ppk_racer_fn(void *arg)
{
	struct ppk_racer *r = arg;
	int i;

	for (;;) {
		wait_for_completion(&r->start);
		if (!r->n)
			break;
		if (r->bulk)
			for (i = 0; i < r->n; i += 16) {
				local_bh_disable();
				ppk_put_bulk(r->race->pool, r->pages + i,
					     min(16, r->n - i));
				local_bh_enable();
			}
		else
			ppk_put_many(r->race->pool, r->pages, r->n);
		complete(&r->done);
	}
	complete(&r->done);
	return 0;
}

static void ppk_race_end(void *arg)
{
	struct ppk_race *race = arg;
	int i;

	for (i = 0; i < race->racers; i++) {
		struct ppk_racer *r = &race->racer[i];

		r->n = 0;
		complete(&r->start);
		wait_for_completion(&r->done);
		kthread_stop(r->task);
		put_task_struct(r->task);
	}
}

struct ppk_race *ppk_race_init(struct kunit *test)
{
	int cpu, self = raw_smp_processor_id();
	struct ppk_race *race;

	race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, race);
	kunit_add_action(test, ppk_race_end, race);

	/* The CPU of the test itself is left to the test, if there are others */
	for_each_online_cpu(cpu) {
		struct ppk_racer *r = &race->racer[race->racers];

		if (cpu == self && num_online_cpus() > 1)
			continue;
		init_completion(&r->start);
		init_completion(&r->done);
		r->race = race;
		r->bulk = race->racers & 1;
		r->task = kthread_create(ppk_racer_fn, r, "ppk_race/%d", cpu);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r->task);
		/* It may have ended when it is asked to stop */
		get_task_struct(r->task);
		kthread_bind(r->task, cpu);
		wake_up_process(r->task);
		if (++race->racers == PPK_RACERS)
			break;
	}
	return race;
}

void ppk_race_start(struct ppk_race *race, struct page_pool *pool,
		    struct page **pages, int n)
{
	int i;

	race->pool = pool;
	for (i = 0; i < race->racers; i++) {
		struct ppk_racer *r = &race->racer[i];

		r->pages = pages + n * i / race->racers;
		r->n = pages + n * (i + 1) / race->racers - r->pages;
	}
	for (i = 0; i < race->racers; i++)
		complete(&race->racer[i].start);
}

void ppk_race_join(struct ppk_race *race)
{
	int i;

	for (i = 0; i < race->racers; i++)
		wait_for_completion(&race->racer[i].done);
}

/* Opens a section in which the pool's first page is staged like the others. */
void ppk_stage_begin(struct page_pool *pool)
{
	page_pool_stage_begin();
	if (this_cpu_ptr(pool->pcpu)->pool)
		page_pool_stage_enlist(pool);
}

#define PPK_HOLD_MS	8000

static void ppk_stager_section(struct ppk_stager *s)
{
	u64 end;

	local_bh_disable();
	ppk_stage_begin(s->pool);
	ppk_put_many(s->pool, s->pages, s->n);
	/* Who sees it sees what is staged */
	smp_store_release(&s->staged, true);
	if (s->hold) {
		end = ktime_get_ns() + (u64)PPK_HOLD_MS * NSEC_PER_MSEC;
		/* Pairs with ppk_stager_release() */
		while (!smp_load_acquire(&s->release)) {
			cpu_relax();
			if (ktime_get_ns() > end) {
				s->timed_out = true;
				break;
			}
		}
	} else {
		udelay(s->delay_us);
	}
	page_pool_stage_end();
	local_bh_enable();
}

static int ppk_stager_fn(void *arg)
{
	struct ppk_stager *s = arg;

	for (;;) {
		wait_for_completion(&s->start);
		if (!s->n)
			break;
		ppk_stager_section(s);
		complete(&s->done);
	}
	complete(&s->done);
	return 0;
}

static void ppk_stager_end(void *arg)
{
	struct ppk_stager *s = arg;

	s->n = 0;
	complete(&s->start);
	wait_for_completion(&s->done);
	kthread_stop(s->task);
	put_task_struct(s->task);
}

struct ppk_stager *ppk_stager_init(struct kunit *test)
{
	int cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	struct ppk_stager *s;

	/* Without SMP it would not return, and objtool wants to be told of that. */
	OPTIMIZER_HIDE_VAR(cpu);
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	init_completion(&s->start);
	init_completion(&s->done);
	s->cpu = cpu;
	s->task = kthread_create(ppk_stager_fn, s, "ppk_stage/%d", cpu);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s->task);
	get_task_struct(s->task);
	kthread_bind(s->task, cpu);
	wake_up_process(s->task);
	kunit_add_action(test, ppk_stager_end, s);
	return s;
}

static void __ppk_stager_start(struct ppk_stager *s, struct page_pool *pool,
			       struct page **pages, int n, bool hold)
{
	s->pool = pool;
	s->pages = pages;
	s->n = n;
	s->hold = hold;
	s->staged = false;
	s->release = false;
	s->timed_out = false;
	complete(&s->start);
}

/* A section that ends by itself */
void ppk_stager_start(struct ppk_stager *s, struct page_pool *pool,
		      struct page **pages, int n)
{
	__ppk_stager_start(s, pool, pages, n, false);
}

/* Returns when the pages are staged */
void ppk_stager_hold(struct ppk_stager *s, struct page_pool *pool,
		     struct page **pages, int n)
{
	__ppk_stager_start(s, pool, pages, n, true);
	/* Pairs with ppk_stager_section() */
	while (!smp_load_acquire(&s->staged))
		cond_resched();
}

void ppk_stager_release(struct ppk_stager *s)
{
	/* What was done so far was done while the pages were staged. */
	smp_store_release(&s->release, true);
	ppk_stager_join(s);
}

void ppk_stager_join(struct ppk_stager *s)
{
	wait_for_completion(&s->done);
}

int ppk_staged(const struct page_pool *pool)
{
	int cpu, n = 0;

	for_each_possible_cpu(cpu)
		n += READ_ONCE(per_cpu_ptr(pool->pcpu, cpu)->stage_next) %
		     PP_STAGE_SIZE;
	return n;
}

void ppk_two_nodes(struct kunit *test, struct ppk_nodes *nodes)
{
	int nid, n = 0;

	for_each_node_state(nid, N_MEMORY) {
		int cpu = cpumask_any_and(cpumask_of_node(nid), cpu_online_mask);

		if (cpu >= nr_cpu_ids)
			continue;
		if (!n++) {
			nodes->a = nid;
			nodes->cpu_a = cpu;
		} else {
			nodes->b = nid;
			nodes->cpu_b = cpu;
			ppk_pin(nodes->cpu_a);
			return;
		}
	}
	/* Nor would it here without NUMA. */
	OPTIMIZER_HIDE_VAR(n);
	if (n < 2)
		kunit_skip(test, "needs two NUMA nodes with memory and CPUs");
}

void ppk_pin(int cpu)
{
	WARN_ON(set_cpus_allowed_ptr(current, cpumask_of(cpu)));
}
