// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: memory that idle pools give back.
 */

#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/shrinker.h>

#include "../page_pool_priv.h"
#include "../page_pool_shrink.h"
#include "../page_pool_user.h"
#include "page_pool_kunit.h"

static struct page *ppk_pages[6 * BATCH];

static unsigned long ppk_count(int nid)
{
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nid = nid };
	unsigned long n = page_pool_shrink_count(NULL, &sc);

	return n == SHRINK_EMPTY ? 0 : n;
}

static unsigned long ppk_scan(int nid, unsigned long want)
{
	struct shrink_control sc = {
		.gfp_mask = GFP_KERNEL,
		.nid = nid,
		.nr_to_scan = want,
	};

	return page_pool_shrink_scan(NULL, &sc);
}

/* What other pools have parked is not to be counted. */
static void ppk_empty_others(int nid)
{
	ppk_count(nid);
	ppk_count(nid);
	while (ppk_scan(nid, ULONG_MAX) != SHRINK_STOP)
		;
}

/* A pool with @n pages in its ring and none in the array */
static struct page_pool *ppk_parked(struct kunit *test,
				    const struct page_pool_params *params,
				    int n)
{
	struct page_pool *pool;

	ppk_empty_others(params->nid);
	pool = ppk_create(test, params);
	KUNIT_ASSERT_EQ(test, ppk_alloc_many(pool, ppk_pages, n), n);
	ppk_put_many(pool, ppk_pages, n);
	KUNIT_ASSERT_EQ(test, page_pool_array_count(pool), 0);

	return pool;
}

/* The first look only remembers, the second finds all of the ring, and what is
 * asked for leaves it.
 */
static void shrink_idle_ring(struct kunit *test)
{
	struct page_pool_params p = {
		.pool_size = 4 * BATCH,
		.nid = numa_mem_id(),
		.dev = ppk_device(test),
		.dma_dir = DMA_FROM_DEVICE,
		.flags = PP_FLAG_DMA_MAP,
	};
	struct page_pool *pool = ppk_parked(test, &p, 3 * BATCH);
	struct ppk_stats s;

	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 0);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 3 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, BATCH + 5), BATCH + 5);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), BATCH + 5);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 2 * BATCH - 5);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, ULONG_MAX), 2 * BATCH - 5);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, ULONG_MAX), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 0);

	/* These were put and handed out as ever. */
	ppk_read(pool, &s);
	KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), PPK_STATS * 3 * BATCH);
	KUNIT_EXPECT_EQ(test, s.ring, PPK_STATS * 3 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), s.ring);

	KUNIT_EXPECT_EQ(test, ppk_alloc_many(pool, ppk_pages, BATCH), BATCH);
	ppk_put_many(pool, ppk_pages, BATCH);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), BATCH);
}

/* The array is the consumer's. */
static void shrink_leaves_array(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id() };
	struct page_pool *pool = ppk_parked(test, &p, BATCH);
	unsigned long fill;
	struct page *page;

	page = ppk_alloc(pool);
	ppk_put(pool, page);
	fill = pool->fill;
	KUNIT_ASSERT_EQ(test, page_pool_array_count(pool), REFILL - 1);

	ppk_empty_others(p.nid);
	KUNIT_EXPECT_EQ(test, pool->fill, fill);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), REFILL - 1);
}

/* --- what is in use stays --- */

static void ppk_use_array(struct page_pool *pool)
{
	ppk_put_direct(pool, ppk_alloc(pool));
}

static void ppk_use_ring(struct page_pool *pool)
{
	ppk_put_many(pool, ppk_pages,
		     ppk_alloc_many(pool, ppk_pages, BATCH / 2));
}

static void ppk_use_slow(struct page_pool *pool)
{
	/* more than ever before */
	ppk_put_many(pool, ppk_pages,
		     ppk_alloc_many(pool, ppk_pages,
				    ppk_inflight(pool) + BATCH));
}

static const struct ppk_use {
	const char *desc;
	void (*use)(struct page_pool *pool);
	bool needs_stats;
} ppk_uses[] = {
	/* only the number of pages that have entered the array tells */
	{ "array, there and back", ppk_use_array, true },
	{ "refill", ppk_use_ring },
	{ "page allocator", ppk_use_slow },
};

KUNIT_ARRAY_PARAM_DESC(ppk_uses, ppk_uses, desc);

static void shrink_spares_used(struct kunit *test)
{
	const struct ppk_use *c = test->param_value;
	struct page_pool_params p = { .nid = numa_mem_id() };
	struct page_pool *pool;
	u32 released;

	if (c->needs_stats && !PP_FILL_IS_COUNTED)
		kunit_skip(test, "needs counters in the fill word");

	pool = ppk_parked(test, &p, 4 * BATCH);
	c->use(pool);
	ppk_count(p.nid);
	released = ppk_released(pool);

	c->use(pool);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, ULONG_MAX), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 0);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), released);
	KUNIT_EXPECT_GT(test, ppk_count(p.nid), 0);
}

static void shrink_other_node(struct kunit *test)
{
	struct page_pool_params p = {};
	struct ppk_nodes nodes;
	struct page_pool *pool;

	ppk_two_nodes(test, &nodes);
	ppk_pin(nodes.cpu_a);
	ppk_empty_others(nodes.b);
	p.nid = nodes.a;
	pool = ppk_parked(test, &p, 2 * BATCH);

	ppk_count(nodes.a);
	ppk_count(nodes.b);
	KUNIT_EXPECT_EQ(test, ppk_count(nodes.b), 0);
	KUNIT_EXPECT_EQ(test, ppk_scan(nodes.b, ULONG_MAX), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 2 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_scan(nodes.a, ULONG_MAX), 2 * BATCH);
}

/* Numbers are in units of PAGE_SIZE, and a page leaves as a whole. */
static void shrink_high_order(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id(), .order = 2 };
	struct page_pool *pool = ppk_parked(test, &p, 8);

	ppk_count(p.nid);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 32);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, 5), 8);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 6);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, ULONG_MAX), 24);
}

/* It is called where others wait for memory, so it waits for nobody. */
static void shrink_never_waits(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id() };
	struct page_pool *pool = ppk_parked(test, &p, 2 * BATCH);
	unsigned long counted, listed, rung;

	ppk_count(p.nid);
	mutex_lock(&page_pools_lock);
	counted = ppk_count(p.nid);
	listed = ppk_scan(p.nid, ULONG_MAX);
	mutex_unlock(&page_pools_lock);

	KUNIT_EXPECT_EQ(test, counted, 0);
	KUNIT_EXPECT_EQ(test, listed, SHRINK_STOP);

	/* A lock that nobody else can have is not there. */
	if (IS_ENABLED(CONFIG_SMP) || IS_ENABLED(CONFIG_DEBUG_SPINLOCK)) {
		spin_lock_bh(&pool->ring.consumer_lock);
		rung = ppk_scan(p.nid, ULONG_MAX);
		spin_unlock_bh(&pool->ring.consumer_lock);
		KUNIT_EXPECT_EQ(test, rung, SHRINK_STOP);
	}
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 2 * BATCH);
}

/* The lock validator sees what is taken in reclaim, and what memory is wanted
 * under: a lock that is both would be reported.
 */
static void shrink_in_reclaim(struct kunit *test)
{
	struct page_pool_params p = {
		.nid = numa_mem_id(),
		.dev = ppk_device(test),
		.dma_dir = DMA_FROM_DEVICE,
		.flags = PP_FLAG_DMA_MAP,
	};
	struct page_pool *pool = ppk_parked(test, &p, 2 * BATCH);
	unsigned int noreclaim;
	unsigned long done;

	ppk_count(p.nid);
	fs_reclaim_acquire(GFP_KERNEL);
	noreclaim = memalloc_noreclaim_save();
	done = ppk_scan(p.nid, ULONG_MAX);
	memalloc_noreclaim_restore(noreclaim);
	fs_reclaim_release(GFP_KERNEL);

	KUNIT_EXPECT_EQ(test, done, 2 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 0);
}

/* A pool that was destroyed has nothing parked, and goes with its last page. */
static void shrink_dying_pool(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id() };
	struct page_pool *pool = ppk_parked(test, &p, 2 * BATCH);
	struct page *page = ppk_alloc(pool);

	ppk_count(p.nid);
	ppk_destroy(pool);
	ppk_count(p.nid);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), 0);
	KUNIT_EXPECT_EQ(test, ppk_scan(p.nid, ULONG_MAX), SHRINK_STOP);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);
	ppk_put(pool, page);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* --- consumer and shrinker at the same time --- */

struct ppk_shrinker {
	struct task_struct *task;
	struct page_pool *pool;
	int nid;
	unsigned long freed;
};

static int ppk_shrinker_fn(void *data)
{
	struct ppk_shrinker *s = data;

	while (!kthread_should_stop()) {
		/* as if it had been idle */
		s->pool->shrink.fill = READ_ONCE(s->pool->fill);
		s->pool->shrink.hold_cnt =
			READ_ONCE(s->pool->pages_state_hold_cnt);
		s->freed += page_pool_shrink_ring(s->pool, BATCH / 2);
		cond_resched();
	}

	return 0;
}

static void ppk_shrinker_stop(void *data)
{
	struct ppk_shrinker *s = data;

	kthread_stop(s->task);
	put_task_struct(s->task);
}

/* No page comes out of the ring twice, none is lost. */
static void shrink_races_with_consumer(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id() };
	int i, n, cpu = raw_smp_processor_id();
	struct ppk_shrinker *s;
	struct page_pool *pool;

	cpu = cpumask_any_but(cpu_online_mask, cpu);
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");

	pool = ppk_parked(test, &p, 2 * BATCH);
	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	s->pool = pool;
	s->task = kthread_create_on_cpu(ppk_shrinker_fn, s, cpu, "ppk_shrink/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(s->task));
	get_task_struct(s->task);
	wake_up_process(s->task);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ppk_shrinker_stop,
							   s));

	for (i = 0; i < 1000; i++) {
		n = ppk_alloc_many(pool, ppk_pages, 1 + i % (3 * BATCH));
		ppk_put_many(pool, ppk_pages, n);
		KUNIT_ASSERT_EQ(test, n, 1 + i % (3 * BATCH));
		if (!(i % 64))
			cond_resched();
	}
	kunit_release_action(test, ppk_shrinker_stop, s);

	KUNIT_EXPECT_GT(test, s->freed, 0);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), s->freed);
	kunit_info(test, "%lu pages were taken from the ring meanwhile", s->freed);
}

/* --- 44 pools of a NIC that is idle, 16K pages of 4 KiB --- */

#define PPK_MANY	44
#define PPK_EACH	(6 * REFILL)
#define PPK_ASKED	128

static void shrink_many_pools(struct kunit *test)
{
	struct page_pool_params p = { .nid = numa_mem_id() };
	unsigned long freed = 0, n;
	struct page_pool *pool;
	int i;

	ppk_empty_others(p.nid);
	for (i = 0; i < PPK_MANY; i++) {
		pool = ppk_create(test, &p);
		KUNIT_ASSERT_EQ(test, ppk_alloc_many(pool, ppk_pages, PPK_EACH),
				PPK_EACH);
		ppk_put_many(pool, ppk_pages, PPK_EACH);
	}

	ppk_count(p.nid);
	KUNIT_EXPECT_EQ(test, ppk_count(p.nid), PPK_MANY * PPK_EACH);
	/* as much at a time as reclaim asks for */
	while ((n = ppk_scan(p.nid, PPK_ASKED)) != SHRINK_STOP)
		freed += n;
	KUNIT_EXPECT_EQ(test, freed, PPK_MANY * PPK_EACH);
	kunit_info(test, "%lu KB of %d pools were given back",
		   freed << (PAGE_SHIFT - 10), PPK_MANY);
}

static struct kunit_case ppk_shrink_cases[] = {
	KUNIT_CASE(shrink_idle_ring),
	KUNIT_CASE(shrink_leaves_array),
	KUNIT_CASE_PARAM(shrink_spares_used, ppk_uses_gen_params),
	KUNIT_CASE(shrink_other_node),
	KUNIT_CASE(shrink_high_order),
	KUNIT_CASE(shrink_never_waits),
	KUNIT_CASE(shrink_in_reclaim),
	KUNIT_CASE(shrink_dying_pool),
	KUNIT_CASE(shrink_races_with_consumer),
	KUNIT_CASE(shrink_many_pools),
	{}
};

static struct kunit_suite ppk_shrink_suite = {
	.name = "page_pool_shrink",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_shrink_cases,
};

kunit_test_suites(&ppk_shrink_suite);
