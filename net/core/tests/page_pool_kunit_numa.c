// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: NUMA nodes.
 *
 * A page is foreign when it does not lie on the node of its pool. That is asked
 * when the page comes home, and again at refill of pages that were parked
 * before the pool moved. Who puts the page has no say in it.
 */

#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>

#include "page_pool_kunit.h"

static struct page *ppk_pages[4 * BATCH];

static struct page_pool *ppk_on_node(struct kunit *test, int nid,
				     unsigned int size)
{
	struct page_pool_params p = { .pool_size = size, .nid = nid };

	return ppk_create(test, &p);
}

static int ppk_foreign(struct page **pages, int n, int nid)
{
	int i, foreign = 0;

	for (i = 0; i < n; i++)
		foreign += page_to_nid(pages[i]) != nid;
	return foreign;
}

/* A refill for a far pool looks at the pool's node, not at its own CPU's */
static void nid_far_pool_waives_nothing(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct page_pool *pool;
	int i;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.b, 4 * BATCH);
	for (i = 0; i < 10; i++) {
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool, ppk_pages, BATCH));
		KUNIT_EXPECT_EQ(test, 0,
				ppk_foreign(ppk_pages, BATCH, nodes.b));
		ppk_put_many(pool, ppk_pages, BATCH);
	}
	ppk_expect_stats(test, pool, .slow = PPK_REFILLS, .empty = PPK_REFILLS,
			 .fast = 10 * (BATCH - PPK_REFILLS), .refill = 9 * PPK_REFILLS,
			 .ring = 10 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);
}

struct ppk_nid_put {
	const char *desc;
	void (*put)(struct page_pool *pool, struct page **pages, int n);
};

static void ppk_put_directs(struct page_pool *pool, struct page **pages, int n)
{
	int i;

	for (i = 0; i < n; i++)
		ppk_put_direct(pool, pages[i]);
}

static void ppk_put_frags(struct page_pool *pool, struct page **pages, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		page_pool_fragment_page(pages[i], 2);
		ppk_put(pool, pages[i]);
		ppk_put(pool, pages[i]);
	}
}

static const struct ppk_nid_put ppk_nid_puts[] = {
	{ "ring", ppk_put_many },
	{ "direct", ppk_put_directs },
	{ "bulk", ppk_put_bulk },
	{ "fragments", ppk_put_frags },
};

KUNIT_ARRAY_PARAM_DESC(ppk_nid_puts, ppk_nid_puts, desc);

/* The pool moved while its pages were out */
static void nid_foreign_put(struct kunit *test)
{
	const struct ppk_nid_put *c = test->param_value;
	struct ppk_nodes nodes;
	struct page_pool *pool;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.a, BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	local_bh_disable();
	page_pool_nid_changed(pool, nodes.b);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, pool->p.nid, nodes.b);

	c->put(pool, ppk_pages, 16);
	ppk_expect_stats(test, pool, PPK_TAKEN, .nid = 16);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 16);

	/* And back: the others are at home again */
	local_bh_disable();
	page_pool_nid_changed(pool, nodes.a);
	local_bh_enable();
	c->put(pool, ppk_pages + 16, BATCH - 16);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 16);
}

/* Pages parked in the array leave at once, those in the ring at refill */
static void nid_update_follows(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct page_pool *pool;
	struct page *page;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.a, BATCH);
	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, page_to_nid(page), nodes.a);

	local_bh_disable();
	page_pool_nid_changed(pool, nodes.a);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);

	local_bh_disable();
	page_pool_update_nid(pool, nodes.b);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, pool->p.nid, nodes.b);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);

	ppk_put(pool, page);
	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, page_to_nid(page), nodes.b);
	ppk_put(pool, page);
}

static void nid_foreign_refill(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct page_pool *pool;
	struct page *page;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.a, BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_put_many(pool, ppk_pages, BATCH);

	local_bh_disable();
	page_pool_update_nid(pool, nodes.b);
	local_bh_enable();
	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, page_to_nid(page), nodes.b);
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(pool, &s);
		KUNIT_EXPECT_GT(test, s.waive, 0);
		KUNIT_EXPECT_EQ(test, s.waive, ppk_released(pool));
		/* They were counted when they were put, and are once only */
		KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), BATCH);
		KUNIT_EXPECT_EQ(test, s.nid, 0);
	}
	ppk_put(pool, page);
}

static void ppk_move(struct page_pool *pool, int nid)
{
	local_bh_disable();
	page_pool_update_nid(pool, nid);
	local_bh_enable();
}

/* Behind foreign pages in the ring are local ones: a refill finds them */
static void nid_refill_keeps_looking(struct kunit *test)
{
	struct page **old = ppk_pages, **new = ppk_pages + BATCH;
	int foreign = REFILL / 8;
	struct ppk_nodes nodes;
	struct page_pool *pool;
	struct page *page;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.a, 2 * BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, old, BATCH));
	ppk_move(pool, nodes.b);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, new, BATCH));
	ppk_move(pool, nodes.a);
	ppk_put_many(pool, old, foreign);
	ppk_move(pool, nodes.b);
	ppk_put_many(pool, new, BATCH);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);

	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, page_to_nid(page), nodes.b);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), 2 * BATCH);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), foreign);
	ppk_expect_stats(test, pool, .slow = 2 * PPK_REFILLS,
			 .empty = 2 * PPK_REFILLS, .refill = 1, .waive = foreign,
			 .fast = 2 * (BATCH - PPK_REFILLS), .ring = BATCH + foreign);
	ppk_put(pool, page);
	ppk_put_many(pool, old + foreign, BATCH - foreign);
}

/*
 * A ring full of the old node's pages: each refill gives back at most a batch,
 * and the page allocator is asked for no more pages than the ring has room for.
 */
static void nid_full_ring_moves(struct kunit *test)
{
	const int ring = 1024;
	struct ppk_nodes nodes;
	u64 longest = 0, start, took;
	u32 before, dropped, most = 0, held;
	struct page_pool *pool;
	struct page **pages, *page;
	int i, got, foreign = 0;

	ppk_two_nodes(test, &nodes);
	pool = ppk_on_node(test, nodes.a, ring);
	pages = kunit_kcalloc(test, ring, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	got = ppk_alloc_many(pool, pages, ring);
	ppk_put_many(pool, pages, got);
	KUNIT_ASSERT_EQ(test, got, ring);
	KUNIT_ASSERT_EQ(test, ppk_inflight(pool), ring);

	local_bh_disable();
	page_pool_update_nid(pool, nodes.b);
	local_bh_enable();
	held = ppk_held(pool);

	for (i = 0; i < 100 * ring && ppk_released(pool) < ring; i++) {
		before = ppk_released(pool);
		local_bh_disable();
		start = ktime_get_ns();
		page = page_pool_dev_alloc_pages(pool);
		took = ktime_get_ns() - start;
		local_bh_enable();
		KUNIT_ASSERT_NOT_NULL(test, page);
		dropped = ppk_released(pool) - before;
		most = max(most, dropped);
		longest = max(longest, took);
		foreign += page_to_nid(page) != nodes.b;
		ppk_put(pool, page);
		if (ppk_held(pool) - held > 2 * ring)
			break;
	}
	KUNIT_EXPECT_EQ(test, foreign, 0);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), ring);
	KUNIT_EXPECT_LE(test, most, BATCH);
	KUNIT_EXPECT_LE(test, ppk_held(pool) - held, ring);
	kunit_info(test, "%d allocations, %u pages from buddy, at most %u dropped at a time, longest %llu ns\n",
		   i, ppk_held(pool) - held, most, longest);
}

struct ppk_far {
	struct page_pool *pool;
	struct page **pages;
	int n;
};

static long ppk_far_put(void *arg)
{
	struct ppk_far *far = arg;

	ppk_put_many(far->pool, far->pages, far->n / 2);
	local_bh_disable();
	ppk_put_bulk(far->pool, far->pages + far->n / 2, far->n - far->n / 2);
	local_bh_enable();
	return 0;
}

static long ppk_far_alloc(void *arg)
{
	struct ppk_far *far = arg;

	return ppk_alloc_many(far->pool, far->pages, far->n);
}

/* Packets received on one node, read and freed on the other */
static void nid_reader_far_away(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct ppk_far far = { .pages = ppk_pages, .n = BATCH };
	int i;

	ppk_two_nodes(test, &nodes);
	far.pool = ppk_on_node(test, NUMA_NO_NODE, 2 * BATCH);
	for (i = 0; i < 20; i++) {
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(far.pool, ppk_pages, BATCH));
		KUNIT_EXPECT_EQ(test, 0,
				ppk_foreign(ppk_pages, BATCH, nodes.a));
		work_on_cpu(nodes.cpu_b, ppk_far_put, &far);
	}
	ppk_expect_stats(test, far.pool, .slow = PPK_REFILLS, .empty = PPK_REFILLS,
			 .fast = 20 * (BATCH - PPK_REFILLS), .refill = 19 * PPK_REFILLS,
			 .ring = 20 * BATCH);
}

/* No node of its own, and the consumer moves: the pool goes with it */
static void nid_consumer_moves(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct ppk_far far = { .pages = ppk_pages + BATCH, .n = BATCH };

	ppk_two_nodes(test, &nodes);
	far.pool = ppk_on_node(test, NUMA_NO_NODE, 2 * BATCH);
	KUNIT_ASSERT_EQ(test, BATCH,
			ppk_alloc_many(far.pool, ppk_pages, BATCH));
	/* The array is empty, so the move shows at once */
	KUNIT_ASSERT_EQ(test, BATCH,
			work_on_cpu(nodes.cpu_b, ppk_far_alloc, &far));
	KUNIT_EXPECT_EQ(test, 0, ppk_foreign(far.pages, BATCH, nodes.b));
	/* Whoever puts them, those of the old node are not wanted any more */
	ppk_put_many(far.pool, ppk_pages, BATCH);
	ppk_put_many(far.pool, far.pages, BATCH);
	ppk_expect_stats(test, far.pool, .slow = 2 * PPK_REFILLS,
			 .empty = 2 * PPK_REFILLS, .ring = BATCH, .nid = BATCH,
			 .fast = 2 * (BATCH - PPK_REFILLS));
}

static void nid_fixed_node_ignores_consumer(struct kunit *test)
{
	struct ppk_nodes nodes;
	struct ppk_far far = { .pages = ppk_pages, .n = BATCH };

	ppk_two_nodes(test, &nodes);
	far.pool = ppk_on_node(test, nodes.a, 2 * BATCH);
	KUNIT_ASSERT_EQ(test, BATCH,
			work_on_cpu(nodes.cpu_b, ppk_far_alloc, &far));
	KUNIT_EXPECT_EQ(test, 0, ppk_foreign(ppk_pages, BATCH, nodes.a));
	work_on_cpu(nodes.cpu_b, ppk_far_put, &far);
	KUNIT_ASSERT_EQ(test, BATCH,
			work_on_cpu(nodes.cpu_b, ppk_far_alloc, &far));
	ppk_put_many(far.pool, ppk_pages, BATCH);
	ppk_expect_stats(test, far.pool, .slow = PPK_REFILLS, .empty = PPK_REFILLS,
			 .refill = PPK_REFILLS, .fast = 2 * (BATCH - PPK_REFILLS),
			 .ring = 2 * BATCH);
}

static const struct ppk_memoryless_case {
	const char *desc;
	bool named;
} ppk_memoryless[] = {
	{ "the pool names the node", true },
	{ "the consumer runs there", false },
};

KUNIT_ARRAY_PARAM_DESC(ppk_memoryless, ppk_memoryless, desc);

struct ppk_memoryless_run {
	struct page_pool *pool;
	int rounds;
};

static long ppk_memoryless_cycle(void *arg)
{
	struct ppk_memoryless_run *run = arg;
	int i;

	for (i = 0; i < run->rounds; i++) {
		if (ppk_alloc_many(run->pool, ppk_pages, BATCH) != BATCH)
			return -ENOMEM;
		ppk_put_many(run->pool, ppk_pages, BATCH);
	}
	return 0;
}

/* Every page is foreign where no page can be had: they must go round all the same */
static void nid_memoryless(struct kunit *test)
{
	const struct ppk_memoryless_case *c = test->param_value;
	struct ppk_memoryless_run run = { .rounds = 100 };
	int nid, cpu = nr_cpu_ids;

	for_each_online_node(nid) {
		if (node_state(nid, N_MEMORY))
			continue;
		cpu = cpumask_any_and(cpumask_of_node(nid), cpu_online_mask);
		if (cpu < nr_cpu_ids)
			break;
	}
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs a node with a CPU and without memory");

	run.pool = ppk_on_node(test, c->named ? nid : NUMA_NO_NODE, 2 * BATCH);
	KUNIT_ASSERT_EQ(test, 0, work_on_cpu(cpu, ppk_memoryless_cycle, &run));
	KUNIT_EXPECT_LE(test, ppk_released(run.pool), 100 * BATCH / 10);
	KUNIT_EXPECT_LE(test, ppk_held(run.pool), 100 * BATCH / 10);
	kunit_info(test, "node %d: %u of %d puts not recycled\n", nid,
		   ppk_released(run.pool), 100 * BATCH);
}

/* More than this is not taken away from a machine for the sake of a test */
#define PPK_HOG_MAX	SZ_2G

static LIST_HEAD(ppk_hog_pages);

static void ppk_unhog(void *unused)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, &ppk_hog_pages, lru) {
		list_del(&page->lru);
		__free_pages(page, page->private);
	}
}

/*
 * All that a node has and others than the kernel in need may take. Asking does
 * not wait, so nothing is reclaimed and nobody killed.
 */
static u64 ppk_hog(int nid)
{
	gfp_t gfp = GFP_NOWAIT | __GFP_THISNODE | __GFP_NOWARN;
	struct page *page;
	u64 taken = 0;
	int order;

	for (order = MAX_PAGE_ORDER; order >= 0; order--) {
		while ((page = alloc_pages_node(nid, gfp, order))) {
			page->private = order;
			list_add(&page->lru, &ppk_hog_pages);
			taken += PAGE_SIZE << order;
			cond_resched();
		}
	}
	return taken;
}

/*
 * A node that has memory, all of it in use: its pool is served by another node
 * and recycles what that gives. Once there is memory again new pages are the
 * node's own, and those of the other leave.
 */
static void nid_full_node(struct kunit *test)
{
	struct ppk_memoryless_run run = { .rounds = 100 };
	struct ppk_nodes nodes;
	u64 more, taken = 0;
	u32 released;
	int i, got;

	ppk_two_nodes(test, &nodes);
	if ((u64)NODE_DATA(nodes.b)->node_present_pages * PAGE_SIZE > PPK_HOG_MAX)
		kunit_skip(test, "node %d has too much memory to use it up",
			   nodes.b);
	run.pool = ppk_on_node(test, nodes.b, 4 * BATCH);

	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, ppk_unhog, NULL));
	/* kswapd, or a sanitizer that kept it, gives some back late */
	for (i = 0; i < 100; i++) {
		more = ppk_hog(nodes.b);
		taken += more;
		if (!more && i > 1)
			break;
		msleep(20);
	}
	kunit_info(test, "node %d: %llu MiB taken\n", nodes.b, taken >> 20);

	got = ppk_alloc_many(run.pool, ppk_pages, BATCH);
	i = ppk_foreign(ppk_pages, got, nodes.a);
	ppk_put_many(run.pool, ppk_pages, got);
	KUNIT_ASSERT_EQ(test, got, BATCH);
	/* The witness: the node is full indeed */
	KUNIT_ASSERT_EQ(test, i, 0);

	released = ppk_released(run.pool);
	KUNIT_ASSERT_EQ(test, 0, ppk_memoryless_cycle(&run));
	released = ppk_released(run.pool) - released;
	KUNIT_EXPECT_LE(test, released, 100 * BATCH / 10);
	KUNIT_EXPECT_LE(test, ppk_held(run.pool), 100 * BATCH / 10);
	kunit_info(test, "node %d full: %u of %d puts not recycled\n", nodes.b,
		   released, 100 * BATCH);

	kunit_release_action(test, ppk_unhog, NULL);

	/* More than is parked */
	got = ppk_alloc_many(run.pool, ppk_pages, 4 * BATCH);
	ppk_put_many(run.pool, ppk_pages, got);
	KUNIT_ASSERT_EQ(test, got, 4 * BATCH);

	got = ppk_alloc_many(run.pool, ppk_pages, 4 * BATCH);
	i = ppk_foreign(ppk_pages, got, nodes.b);
	released = ppk_released(run.pool);
	ppk_put_many(run.pool, ppk_pages, got);
	KUNIT_ASSERT_EQ(test, got, 4 * BATCH);
	KUNIT_EXPECT_EQ(test, i, 0);
	/* All of them are at home again, so all are kept */
	KUNIT_EXPECT_EQ(test, ppk_released(run.pool), released);
}

static struct kunit_case ppk_numa_cases[] = {
	KUNIT_CASE(nid_far_pool_waives_nothing),
	KUNIT_CASE_PARAM(nid_foreign_put, ppk_nid_puts_gen_params),
	KUNIT_CASE(nid_update_follows),
	KUNIT_CASE(nid_foreign_refill),
	KUNIT_CASE(nid_refill_keeps_looking),
	KUNIT_CASE(nid_full_ring_moves),
	KUNIT_CASE(nid_reader_far_away),
	KUNIT_CASE(nid_consumer_moves),
	KUNIT_CASE(nid_fixed_node_ignores_consumer),
	KUNIT_CASE_PARAM(nid_memoryless, ppk_memoryless_gen_params),
	KUNIT_CASE(nid_full_node),
	{}
};

static struct kunit_suite ppk_numa_suite = {
	.name = "page_pool_numa",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_numa_cases,
};

kunit_test_suites(&ppk_numa_suite);
