// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: how pools begin, end, and outlive their owner.
 */

#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kallsyms.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/xdp.h>

#include "page_pool_kunit.h"

static struct page *ppk_pages[4 * BATCH];

static struct page_pool *ppk_small(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };

	return ppk_create(test, &p);
}

static void destroy_null(struct kunit *test)
{
	struct ppk_log log;

	ppk_log_mark(&log);
	page_pool_destroy(NULL);
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "WARNING:"));
}

/* A driver's error path that forgot to look: told once, and lives */
static void destroy_err_ptr(struct kunit *test)
{
	struct ppk_log log;

	ppk_announce(1, "WARNING: .*page_pool_destroy");
	ppk_log_mark(&log);
	page_pool_destroy(ERR_PTR(-ENOMEM));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
}

static const struct ppk_allocator_case {
	const char *desc;
	long err;
} ppk_allocators[] = {
	{ "NULL", 0 }, { "-ENOMEM", -ENOMEM }, { "-EINVAL", -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(ppk_allocators, ppk_allocators, desc);

static void xdp_mem_model_without_pool(struct kunit *test)
{
	const struct ppk_allocator_case *c = test->param_value;
	struct xdp_mem_info mem = {};

	KUNIT_EXPECT_EQ(test, -EINVAL,
			xdp_reg_mem_model(&mem, MEM_TYPE_PAGE_POOL,
					  ERR_PTR(c->err)));
}

/* Driver and memory model each hold the pool, in either order of leaving */
static const struct ppk_model_case {
	const char *desc;
	bool driver_first;
} ppk_models[] = {
	{ "driver leaves first", true }, { "memory model leaves first", false },
};

KUNIT_ARRAY_PARAM_DESC(ppk_models, ppk_models, desc);

static void xdp_mem_model_holds_pool(struct kunit *test)
{
	const struct ppk_model_case *c = test->param_value;
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct xdp_mem_info mem = {};
	struct page_pool *pool;
	struct page *page;

	pool = page_pool_create(&p);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	KUNIT_ASSERT_EQ(test, 0, xdp_reg_mem_model(&mem, MEM_TYPE_PAGE_POOL,
						   pool));
	KUNIT_EXPECT_GT(test, mem.id, 0);
	if (c->driver_first)
		page_pool_destroy(pool);
	else
		xdp_unreg_mem_model(&mem);

	/* One user is left: the pool works */
	page = ppk_alloc(pool);
	KUNIT_EXPECT_NOT_NULL(test, page);
	if (page)
		ppk_put(pool, page);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), REFILL);

	if (c->driver_first)
		xdp_unreg_mem_model(&mem);
	else
		page_pool_destroy(pool);
}

static void destroy_idle(struct kunit *test)
{
	struct page_pool *pool = ppk_small(test);

	ppk_destroy(pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void destroy_with_parked(struct kunit *test)
{
	struct page_pool *pool = ppk_small(test);

	KUNIT_ASSERT_EQ(test, 40, ppk_alloc_many(pool, ppk_pages, 40));
	ppk_put_many(pool, ppk_pages, 8);
	ppk_put_bulk(pool, ppk_pages + 8, 8);
	ppk_put_many(pool, ppk_pages + 16, 24);
	ppk_destroy(pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void ppk_life_bulk(struct page_pool *pool, struct page *page)
{
	ppk_put_bulk(pool, &page, 1);
}

static void ppk_life_bh(struct page_pool *pool, struct page *page)
{
	local_bh_disable();
	ppk_put(pool, page);
	local_bh_enable();
}

static void ppk_life_irqs_on_rcu(struct page_pool *pool, struct page *page)
{
	rcu_read_lock();
	ppk_put(pool, page);
	rcu_read_unlock();
}

static void ppk_life_spin(struct page_pool *pool, struct page *page)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock_bh(&lock);
	ppk_put(pool, page);
	spin_unlock_bh(&lock);
}

static void ppk_life_held(struct page_pool *pool, struct page *page)
{
	get_page(page);
	ppk_put(pool, page);
	put_page(page);
}

static void ppk_life_skb(struct page_pool *pool, struct page *page)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL | __GFP_NOFAIL);

	skb_add_rx_frag(skb, 0, page, 0, 100, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	kfree_skb(skb);
}

static void ppk_life_frag(struct page_pool *pool, struct page *page)
{
	page_pool_fragment_page(page, 2);
	ppk_put(pool, page);
	ppk_put(pool, page);
}

static const struct ppk_life_case {
	const char *desc;
	void (*put)(struct page_pool *pool, struct page *page);
} ppk_lives[] = {
	{ "from a task", ppk_put },
	{ "with bottom halves off", ppk_life_bh },
	{ "in an RCU section", ppk_life_irqs_on_rcu },
	{ "under a lock", ppk_life_spin },
	{ "bulk", ppk_life_bulk },
	{ "held by another", ppk_life_held },
	{ "skb", ppk_life_skb },
	{ "fragment", ppk_life_frag },
};

KUNIT_ARRAY_PARAM_DESC(ppk_lives, ppk_lives, desc);

/* Not a page less: the pool stays until the last is home, and then goes at once */
static void last_put_frees(struct kunit *test)
{
	const struct ppk_life_case *c = test->param_value;
	struct page_pool *pool = ppk_small(test);
	ktime_t start;

	KUNIT_ASSERT_EQ(test, 3, ppk_alloc_many(pool, ppk_pages, 3));
	ppk_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 3);
	ppk_put(pool, ppk_pages[0]);
	ppk_put(pool, ppk_pages[1]);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 20));

	start = ktime_get();
	c->put(pool, ppk_pages[2]);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
	kunit_info(test, "freed after %lld us\n",
		   ktime_us_delta(ktime_get(), start));
}

/* After destroy nothing is parked, and what comes home counts as "no room" */
static void put_after_destroy_counts(struct kunit *test)
{
	struct page_pool *pool = ppk_small(test);

	KUNIT_ASSERT_EQ(test, 8, ppk_alloc_many(pool, ppk_pages, 8));
	ppk_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 8);
	ppk_put(pool, ppk_pages[0]);
	ppk_put_bulk(pool, ppk_pages + 1, 3);
	get_page(ppk_pages[4]);
	ppk_put(pool, ppk_pages[4]);
	put_page(ppk_pages[4]);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 3);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 7,
			 .ring_full = 4, .ref = 1);
	ppk_put_many(pool, ppk_pages + 5, 3);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* --- what runs of its own accord --- */

static atomic_t ppk_ran;

#ifdef CONFIG_TRACEPOINTS

struct ppk_probe {
	const char *name;
	void *probe;
	bool optional;
	struct tracepoint *tp;
};

static struct {
	struct ppk_probe *probe;
	int n;
} ppk_probing;

static void ppk_probe_find(struct tracepoint *tp, void *priv)
{
	int i;

	for (i = 0; i < ppk_probing.n; i++)
		if (!strcmp(tp->name, ppk_probing.probe[i].name))
			ppk_probing.probe[i].tp = tp;
}

static void ppk_probes_off(void *unused)
{
	int i;

	for (i = 0; i < ppk_probing.n; i++)
		if (ppk_probing.probe[i].tp)
			tracepoint_probe_unregister(ppk_probing.probe[i].tp,
						    ppk_probing.probe[i].probe,
						    NULL);
	tracepoint_synchronize_unregister();
}

static void ppk_probes_on(struct kunit *test, struct ppk_probe *probe, int n)
{
	int i;

	ppk_probing.probe = probe;
	ppk_probing.n = n;
	for_each_kernel_tracepoint(ppk_probe_find, NULL);
	for (i = 0; i < n; i++)
		if (!probe[i].tp && !probe[i].optional)
			kunit_skip(test, "no tracepoint %s", probe[i].name);
	for (i = 0; i < n; i++)
		if (probe[i].tp)
			KUNIT_ASSERT_EQ(test, 0,
					tracepoint_probe_register(probe[i].tp,
								  probe[i].probe,
								  NULL));
	kunit_add_action(test, ppk_probes_off, NULL);
}

/* By name, since who does it, and how, is the page pool's own affair */
static void ppk_count_if_ours(const void *fn)
{
	char name[KSYM_SYMBOL_LEN];

	snprintf(name, sizeof(name), "%ps", fn);
	if (strstarts(name, "page_pool") || strstarts(name, "pp_"))
		atomic_inc(&ppk_ran);
}

static void ppk_on_work(void *data, struct work_struct *work)
{
	ppk_count_if_ours(work->func);
}

static void ppk_on_timer(void *data, struct timer_list *timer,
			 unsigned long baseclk)
{
	ppk_count_if_ours(timer->function);
}

static struct ppk_probe ppk_run_probes[] = {
	{ "workqueue_execute_start", ppk_on_work },
	{ "timer_expire_entry", ppk_on_timer },
};

/* Count the page pool's work items and timers from here on */
static void ppk_watch_runs(struct kunit *test)
{
	ppk_probes_on(test, ppk_run_probes, ARRAY_SIZE(ppk_run_probes));
	atomic_set(&ppk_ran, 0);
}

#else

static void ppk_watch_runs(struct kunit *test)
{
	kunit_skip(test, "needs CONFIG_TRACEPOINTS to see what runs");
}

#endif

/* A thousand pools that wait for a page each: nobody asks them whether it came */
static void dying_pools_are_not_polled(struct kunit *test)
{
	const int n = 1000;
	struct page_pool **pools;
	struct page **pages;
	int i, stuck = 0, early = 0;

	ppk_watch_runs(test);
	pools = kunit_kcalloc(test, n, sizeof(*pools), GFP_KERNEL);
	pages = kunit_kcalloc(test, n, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pools);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < n; i++) {
		pools[i] = ppk_small(test);
		pages[i] = ppk_alloc(pools[i]);
		KUNIT_ASSERT_NOT_NULL(test, pages[i]);
		ppk_destroy(pools[i]);
	}
	msleep(20);
	atomic_set(&ppk_ran, 0);
	msleep(2200);
	KUNIT_EXPECT_EQ_MSG(test, 0, atomic_read(&ppk_ran),
			    "work items and timers of dying pools in 2.2 s");

	for (i = 0; i < n; i++) {
		early += ppk_gone(pools[i], 0);
		ppk_put(pools[i], pages[i]);
		/* The last return is what frees it */
		stuck += !ppk_gone(pools[i], PPK_FREE_MS);
		if (stuck > 10)
			break;
	}
	for (i++; i < n; i++)
		ppk_put(pools[i], pages[i]);
	KUNIT_EXPECT_EQ(test, early, 0);
	KUNIT_EXPECT_EQ(test, stuck, 0);
	if (!stuck) {
		KUNIT_EXPECT_GE(test, atomic_read(&ppk_ran), 1);
		KUNIT_EXPECT_LE(test, atomic_read(&ppk_ran), n);
	}
}

/* A page may be out for as long as it likes */
static void dying_pool_stays(struct kunit *test)
{
	struct page_pool *pool = ppk_small(test);
	struct ppk_log log;

	ppk_log_mark(&log);
	ppk_pages[0] = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, ppk_pages[0]);
	ppk_destroy(pool);
	msleep(1500);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);
	KUNIT_EXPECT_PTR_EQ(test, ppk_pages[0]->pp, pool);
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "stalled"));
	ppk_put(pool, ppk_pages[0]);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* More came back than went out: said once, and left alone */
static void inflight_below_zero(struct kunit *test)
{
	struct page_pool *pool = ppk_small(test);
	struct ppk_log log;
	struct page *page;

	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);

	ppk_watch_runs(test);
	ppk_announce(1, "WARNING: .*page_pool");
	ppk_log_mark(&log);
	/* Two pages came home that were never given out, and one is out */
	atomic_add(2, &pool->pages_state_release_cnt);
	atomic_set(&ppk_ran, 0);
	ppk_destroy(pool);
	msleep(2200);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_LE(test, atomic_read(&ppk_ran), 1);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));

	/* Mended, so that no dead pool is left to tests that come after */
	atomic_sub(2, &pool->pages_state_release_cnt);
	ppk_put(pool, page);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* --- races --- */

static const struct ppk_stress_case {
	const char *desc;
	unsigned int ring;
	int rounds;
} ppk_stresses[] = {
	{ "no room", 1, 60 },
	{ "some room", 32, 60 },
	{ "room for all", 256, 60 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_stresses, ppk_stresses, desc);

/*
 * Every CPU puts, one by one and in bulk, while the pool is destroyed; now and
 * then the last page is put before destroy has begun, or long after it is done.
 */
static void puts_race_destroy(struct kunit *test)
{
	const struct ppk_stress_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = c->ring, .nid = NUMA_NO_NODE,
	};
	int i, n, stuck = 0;
	struct page_pool *pool;
	struct ppk_race *race;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	race = ppk_race_init(test);

	for (i = 0; i < c->rounds; i++) {
		/* From a page per thread up: the last put is what matters */
		n = PPK_RACERS + i * 3 % (ARRAY_SIZE(ppk_pages) - PPK_RACERS);
		pool = ppk_create(test, &p);
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
		ppk_race_start(race, pool, ppk_pages, n);
		udelay(i % 50);
		ppk_destroy(pool);
		ppk_race_join(race);
		stuck += !ppk_gone(pool, 1000);
	}
	KUNIT_EXPECT_EQ(test, stuck, 0);
}

/* --- create runs out of memory --- */

#if defined(CONFIG_FAILSLAB) && defined(CONFIG_FAIL_PAGE_ALLOC) && \
	defined(CONFIG_FAULT_INJECTION_DEBUG_FS) && defined(CONFIG_TRACEPOINTS)

/* One knob of fault injection, found where its user interface has it */
struct ppk_knob {
	const char *dir, *file;
	enum { PPK_BOOL, PPK_U32, PPK_ULONG } type;
	unsigned long was;
	void *at;
};

/* Any allocation may fail, also one that can wait, and without a long story */
static struct ppk_knob ppk_knobs[] = {
	{ "failslab", "ignore-gfp-wait", PPK_BOOL },
	{ "failslab", "verbose", PPK_ULONG },
	{ "fail_page_alloc", "ignore-gfp-wait", PPK_BOOL },
	{ "fail_page_alloc", "ignore-gfp-highmem", PPK_BOOL },
	{ "fail_page_alloc", "min-order", PPK_U32 },
	{ "fail_page_alloc", "verbose", PPK_ULONG },
};

static unsigned long ppk_knob_set(struct ppk_knob *k, unsigned long value)
{
	switch (k->type) {
	case PPK_BOOL:
		return xchg((bool *)k->at, value);
	case PPK_U32:
		return xchg((u32 *)k->at, value);
	default:
		return xchg((unsigned long *)k->at, value);
	}
}

static void ppk_knobs_back(void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ppk_knobs); i++)
		ppk_knob_set(&ppk_knobs[i], ppk_knobs[i].was);
}

static void ppk_knobs_zero(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(ppk_knobs); i++) {
		struct ppk_knob *k = &ppk_knobs[i];
		struct dentry *dir, *file = NULL;

		dir = debugfs_lookup(k->dir, NULL);
		if (dir)
			file = debugfs_lookup(k->file, dir);
		k->at = file ? d_inode(file)->i_private : NULL;
		dput(file);
		dput(dir);
		if (!k->at)
			kunit_skip(test, "no %s/%s in debugfs", k->dir,
				   k->file);
	}
	for (i = 0; i < ARRAY_SIZE(ppk_knobs); i++)
		ppk_knobs[i].was = ppk_knob_set(&ppk_knobs[i], 0);
	kunit_add_action(test, ppk_knobs_back, NULL);
}

/*
 * What this task allocated while watched, and nobody freed since. The tracing
 * of the allocators tells; the table is small, and full is an error.
 */
static struct {
	raw_spinlock_t lock;
	const struct task_struct *task;
	const void *ptr[256];
	unsigned long site[256];
	int n;
	bool full;
} ppk_mem = { .lock = __RAW_SPIN_LOCK_UNLOCKED(ppk_mem.lock) };

static void ppk_mem_add(unsigned long site, const void *ptr)
{
	unsigned long flags;
	int i;

	if (!ptr || READ_ONCE(ppk_mem.task) != current || !in_task())
		return;
	raw_spin_lock_irqsave(&ppk_mem.lock, flags);
	/* Large ones are told of by both allocators that they pass through */
	for (i = 0; i < ppk_mem.n; i++)
		if (ppk_mem.ptr[i] == ptr)
			break;
	if (i < ppk_mem.n)
		goto unlock;
	if (ppk_mem.n < ARRAY_SIZE(ppk_mem.ptr)) {
		ppk_mem.site[ppk_mem.n] = site;
		ppk_mem.ptr[ppk_mem.n++] = ptr;
	} else {
		ppk_mem.full = true;
	}
unlock:
	raw_spin_unlock_irqrestore(&ppk_mem.lock, flags);
}

static void ppk_mem_del(const void *ptr)
{
	unsigned long flags;
	int i;

	if (!ptr || !READ_ONCE(ppk_mem.n))
		return;
	raw_spin_lock_irqsave(&ppk_mem.lock, flags);
	for (i = ppk_mem.n - 1; i >= 0; i--)
		if (ppk_mem.ptr[i] == ptr) {
			ppk_mem.n--;
			ppk_mem.ptr[i] = ppk_mem.ptr[ppk_mem.n];
			ppk_mem.site[i] = ppk_mem.site[ppk_mem.n];
			break;
		}
	raw_spin_unlock_irqrestore(&ppk_mem.lock, flags);
}

static void ppk_on_kmalloc(void *data, unsigned long site, const void *ptr,
			   size_t req, size_t alloc, gfp_t gfp, int node)
{
	ppk_mem_add(site, ptr);
}

static void ppk_on_cache_alloc(void *data, unsigned long site, const void *ptr,
			       struct kmem_cache *s, gfp_t gfp, int node)
{
	ppk_mem_add(site, ptr);
}

static void ppk_on_kfree(void *data, unsigned long site, const void *ptr)
{
	ppk_mem_del(ptr);
}

static void ppk_on_cache_free(void *data, unsigned long site, const void *ptr,
			      const struct kmem_cache *s)
{
	ppk_mem_del(ptr);
}

static void ppk_on_percpu_alloc(void *data, unsigned long site, bool reserved,
				bool is_atomic, size_t size, size_t align,
				void *base, int off, void __percpu *ptr,
				size_t bytes, gfp_t gfp)
{
	ppk_mem_add(site, (__force const void *)ptr);
}

static void ppk_on_percpu_free(void *data, void *base, int off,
			       void __percpu *ptr)
{
	ppk_mem_del((__force const void *)ptr);
}

static void ppk_on_bulk_free(void *data, const char *rcuname, unsigned long n,
			     void **p)
{
	while (n--)
		ppk_mem_del(*p++);
}

/* kfree_rcu() frees in bulk, which only CONFIG_RCU_TRACE tells of */
static struct ppk_probe ppk_mem_probes[] = {
	{ "rcu_invoke_kfree_bulk_callback", ppk_on_bulk_free, true },
	{ "kmalloc", ppk_on_kmalloc },
	{ "kmem_cache_alloc", ppk_on_cache_alloc },
	{ "kfree", ppk_on_kfree },
	{ "kmem_cache_free", ppk_on_cache_free },
	{ "percpu_alloc_percpu", ppk_on_percpu_alloc },
	{ "percpu_free_percpu", ppk_on_percpu_free },
};

static int ppk_mem_left(struct kunit *test)
{
	int i, left = 0;

	/* What is freed by a work item or after a grace period gets its time */
	for (i = 0; i < 50 && READ_ONCE(ppk_mem.n); i++) {
		kvfree_rcu_barrier();
		rcu_barrier();
		vm_unmap_aliases();
		usleep_range(2000, 3000);
	}
	for (i = 0; i < ppk_mem.n; i++) {
		char name[KSYM_SYMBOL_LEN];

		snprintf(name, sizeof(name), "%ps", (void *)ppk_mem.site[i]);
		/* What vmalloc() notes of address space stays in use there, and
		 * with it what kmemleak notes of that. What kmemleak notes of
		 * other memory goes with it, and that is counted itself.
		 */
		if (strstarts(name, "alloc_vmap_area") ||
		    (IS_ENABLED(CONFIG_DEBUG_KMEMLEAK) &&
		     strstarts(name, "__alloc_object")))
			continue;
		left++;
		kunit_info(test, "left: %s\n", name);
	}
	return left;
}

static const struct ppk_oom_case {
	const char *desc;
	bool dma, netdev;
	unsigned int ring;
} ppk_ooms[] = {
	{ "plain", false, false, 64 },
	{ "large ring", false, false, 16384 },
	{ "DMA", true, false, 64 },
	{ "listed with its device", true, true, 256 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_ooms, ppk_ooms, desc);

/* The n-th allocation inside of create fails, for each n */
static void create_nth_alloc_fails(struct kunit *test)
{
	const struct ppk_oom_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = c->ring, .nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE, .max_len = PAGE_SIZE,
	};
	struct page_pool *pool;
	int n, left, failed = 0;

	if (c->dma) {
		p.dev = ppk_device(test);
		p.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV;
	}
	if (c->netdev)
		p.netdev = ppk_netdev(test);

	/* Whatever happens once only happens now */
	pool = page_pool_create(&p);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	page_pool_destroy(pool);

	ppk_probes_on(test, ppk_mem_probes, ARRAY_SIZE(ppk_mem_probes));
	ppk_knobs_zero(test);

	for (n = 1; n < 100; n++) {
		ppk_mem.n = 0;
		WRITE_ONCE(ppk_mem.task, current);
		current->fail_nth = n;
		pool = page_pool_create(&p);
		left = current->fail_nth;
		current->fail_nth = 0;
		WRITE_ONCE(ppk_mem.task, NULL);

		if (IS_ERR(pool)) {
			failed++;
			KUNIT_EXPECT_EQ(test, PTR_ERR(pool), -ENOMEM);
		} else {
			/* At the least there is the pool itself */
			KUNIT_EXPECT_GT(test, ppk_mem.n, 0);
			page_pool_destroy(pool);
			if (!ppk_mem_probes[0].tp)
				ppk_mem_del(pool);
		}
		KUNIT_EXPECT_EQ_MSG(test, 0, ppk_mem_left(test), "n = %d", n);
		if (left)
			break;
	}
	KUNIT_EXPECT_FALSE(test, ppk_mem.full);
	KUNIT_EXPECT_LT(test, n, 100);
	/* The pool and its ring at the least, but a large ring can also be had
	 * from vmalloc().
	 */
	KUNIT_EXPECT_GE(test, failed, c->ring < 16384 ? 2 : 1);
	kunit_info(test, "%d allocations, %d of them fatal\n", n - 1, failed);
}

#else

static void create_nth_alloc_fails(struct kunit *test)
{
	kunit_skip(test, "needs fault injection of pages and slabs, its debugfs, and tracepoints");
}

static const void *ppk_ooms_gen_params(const void *prev, char *desc)
{
	strscpy(desc, "all", KUNIT_PARAM_DESC_SIZE);
	return prev ? NULL : "all";
}

#endif

static const struct kunit_attributes ppk_slow = { .speed = KUNIT_SPEED_SLOW };

static struct kunit_case ppk_life_cases[] = {
	KUNIT_CASE(destroy_null),
	KUNIT_CASE(destroy_err_ptr),
	KUNIT_CASE_PARAM(xdp_mem_model_without_pool, ppk_allocators_gen_params),
	KUNIT_CASE_PARAM(xdp_mem_model_holds_pool, ppk_models_gen_params),
	KUNIT_CASE(destroy_idle),
	KUNIT_CASE(destroy_with_parked),
	KUNIT_CASE_PARAM(last_put_frees, ppk_lives_gen_params),
	KUNIT_CASE(put_after_destroy_counts),
	KUNIT_CASE_SLOW(dying_pools_are_not_polled),
	KUNIT_CASE_SLOW(dying_pool_stays),
	KUNIT_CASE_SLOW(inflight_below_zero),
	KUNIT_CASE_PARAM_ATTR(puts_race_destroy, ppk_stresses_gen_params,
			      ppk_slow),
	KUNIT_CASE_PARAM_ATTR(create_nth_alloc_fails, ppk_ooms_gen_params,
			      ppk_slow),
	{}
};

static struct kunit_suite ppk_life_suite = {
	.name = "page_pool_life",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_life_cases,
};

kunit_test_suites(&ppk_life_suite);
