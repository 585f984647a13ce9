// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of CONFIG_DEBUG_PAGE_POOL: each mistake is made on purpose,
 * reported at the call that makes it, once, and does the pool no harm.
 */
#include <linux/kasan.h>
#include <linux/mm.h>
#include <linux/time64.h>
#include <net/page_pool/helpers.h>

#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

#define PPD_PAGES	8

#define ppd_need_debug(test)						\
	do {								\
		if (!IS_ENABLED(CONFIG_DEBUG_PAGE_POOL))		\
			kunit_skip(test, "needs CONFIG_DEBUG_PAGE_POOL"); \
	} while (0)

static struct page_pool *ppd_pool(struct kunit *test)
{
	const struct page_pool_params p = {
		.order = 1,
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
	};

	return ppk_create(test, &p);
}

static void ppd_alloc(struct kunit *test, struct page_pool *pool,
		      struct page **pages)
{
	KUNIT_ASSERT_EQ(test, PPD_PAGES, ppk_alloc_many(pool, pages, PPD_PAGES));
}

/* Ways to put a page for the last time */
enum { PPD_PLAIN, PPD_DIRECT, PPD_BULK, PPD_SECTION, PPD_UNREFED, PPD_NETMEM };

static const struct ppd_way {
	const char *desc;
	int how;
} ppd_ways[] = {
	{ "to the ring", PPD_PLAIN },
	{ "directly", PPD_DIRECT },
	{ "in bulk", PPD_BULK },
	{ "in a section", PPD_SECTION },
	{ "without references", PPD_UNREFED },
	{ "as netmem", PPD_NETMEM },
};

KUNIT_ARRAY_PARAM_DESC(ppd_ways, ppd_ways, desc);

static void ppd_put(const struct ppd_way *way, struct page_pool *pool,
		    struct page *page)
{
	switch (way->how) {
	case PPD_PLAIN:
		ppk_put(pool, page);
		break;
	case PPD_DIRECT:
		ppk_put_direct(pool, page);
		break;
	case PPD_BULK:
		ppk_put_bulk(pool, &page, 1);
		break;
	case PPD_SECTION:
		local_bh_disable();
		page_pool_stage_begin();
		page_pool_put_full_page(pool, page, false);
		page_pool_stage_end();
		local_bh_enable();
		break;
	case PPD_UNREFED:
		page_pool_put_unrefed_page(pool, page, -1, false);
		break;
	case PPD_NETMEM:
		page_pool_put_unrefed_netmem(pool, page_to_netmem(page), -1,
					     false);
		break;
	}
}

/* All pages come out of the pool again, each of them once, with one user */
static void ppd_expect_intact(struct kunit *test, struct page_pool *pool)
{
	struct page *pages[PPD_PAGES];
	int i, k;

	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), PPD_PAGES);
	ppd_alloc(test, pool, pages);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), PPD_PAGES);
	for (i = 0; i < PPD_PAGES; i++) {
		KUNIT_EXPECT_PTR_EQ(test, pages[i]->pp, pool);
		KUNIT_EXPECT_EQ(test, page_ref_count(pages[i]), 1);
		KUNIT_EXPECT_EQ(test, atomic_long_read(&pages[i]->pp_ref_count),
				1);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_PTR_NE(test, pages[i], pages[k]);
	}
	ppk_put_many(pool, pages, PPD_PAGES);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), PPD_PAGES);
}

static void put_twice(struct kunit *test)
{
	const struct ppd_way *way = test->param_value;
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);

	ppd_put(way, pool, pages[0]);
	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	ppd_put(way, pool, pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "at home already"));

	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
	ppd_expect_intact(test, pool);
}

static void put_to_wrong_pool(struct kunit *test)
{
	const struct ppd_way *way = test->param_value;
	struct page_pool *pool, *other;
	struct page *pages[PPD_PAGES];
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	other = ppd_pool(test);
	ppd_alloc(test, pool, pages);

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	ppd_put(way, other, pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "put to another"));
	KUNIT_EXPECT_EQ(test, ppk_inflight(other), 0);

	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
	ppd_expect_intact(test, pool);
}

/* It was put before, and left the pool because somebody else has it, too. */
static void put_after_leaving(struct kunit *test)
{
	const struct ppd_way *way = test->param_value;
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);

	get_page(pages[0]);
	ppk_put(pool, pages[0]);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	ppd_put(way, pool, pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "in no pool"));
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);
	KUNIT_EXPECT_EQ(test, page_ref_count(pages[0]), 1);
	put_page(pages[0]);

	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), PPD_PAGES - 1);
}

/* And the pool is gone, too: nothing of it may be looked at. */
static void put_to_pool_that_is_gone(struct kunit *test)
{
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);

	get_page(pages[0]);
	ppk_destroy(pool);
	ppk_put_many(pool, pages, PPD_PAGES);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
	rcu_barrier();

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	ppk_put(pool, pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	put_page(pages[0]);
}

/* Others may put a page of a dead pool, but there is no consumer any more. */
static void put_directly_after_destroy(struct kunit *test)
{
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);
	ppk_destroy(pool);

	ppk_log_mark(&log);
	ppk_put_many(pool, pages, PPD_PAGES - 1);
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_put_direct(pool, pages[PPD_PAGES - 1]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "was destroyed"));
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void too_many_references(struct kunit *test)
{
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;
	long three = 3;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);

	OPTIMIZER_HIDE_VAR(three);
	page_pool_fragment_page(pages[0], 2);
	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	KUNIT_EXPECT_NE(test, page_pool_unref_page(pages[0], three), 0);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "3 references given up, there are 2"));

	ppk_put(pool, pages[0]);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&pages[0]->pp_ref_count), 1);
	ppk_put_many(pool, pages, PPD_PAGES);
	ppd_expect_intact(test, pool);
}

/* A page that somebody has is let go by put_page(): mapped, too, which DMA API
 * debugging watches.
 */
static void free_held_page(struct kunit *test)
{
	struct page_pool_params p = {
		.flags = PP_FLAG_DMA_MAP,
		.order = 1,
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
	};
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	p.dev = ppk_device(test);
	pool = ppk_create(test, &p);
	ppd_alloc(test, pool, pages);

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	put_page(pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "page freed that belongs"));
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "BUG:"));
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);

	/* nothing is missing: the last of the others frees the pool */
	ppk_destroy(pool);
	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* A page that was put before is let go by put_page(): the pool still has it. */
static void free_parked_page(struct kunit *test)
{
	const struct ppd_way *way = test->param_value;
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);
	ppd_put(way, pool, pages[0]);

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	put_page(pages[0]);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "is at home in pool"));
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "BUG:"));
	KUNIT_EXPECT_EQ(test, page_ref_count(pages[0]), 1);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);

	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
	ppd_expect_intact(test, pool);
}

/* Nobody but the pool has the page that fragments are cut off. */
static void free_open_page(struct kunit *test)
{
	struct page_pool *pool;
	unsigned int offset;
	struct page *page;
	struct ppk_log log;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	page = ppk_alloc_frag(pool, &offset, 256);
	KUNIT_ASSERT_NOT_NULL(test, page);

	ppk_announce(1, "WARNING: .*page_pool_debug");
	ppk_log_mark(&log);
	put_page(page);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	KUNIT_EXPECT_PTR_EQ(test, ppk_alloc_frag(pool, &offset, 256), page);
	ppk_put(pool, page);
	ppk_put(pool, page);
}

static void sync_too_much(struct kunit *test)
{
	struct page_pool_params p = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order = 1,
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = 1000,
	};
	struct page *pages[PPD_PAGES];
	struct page_pool *pool;
	struct ppk_log log;
	int i;

	ppd_need_debug(test);
	p.dev = ppk_device(test);
	pool = ppk_create(test, &p);
	ppd_alloc(test, pool, pages);

	ppk_log_mark(&log);
	page_pool_put_page(pool, pages[0], 1000, false);
	page_pool_put_page(pool, pages[1], 0, false);
	page_pool_put_full_page(pool, pages[2], false);
	KUNIT_EXPECT_EQ(test, 0, ppk_log_count(&log, "WARNING:"));

	ppk_announce(1, "WARNING: .*page_pool_debug");
	page_pool_put_page(pool, pages[3], 1001, false);
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "sync of 1001 bytes"));

	for (i = 4; i < PPD_PAGES; i++)
		ppk_put(pool, pages[i]);
	ppd_expect_intact(test, pool);
}

#ifdef CONFIG_KASAN_GENERIC
/* What KASAN thinks of a page. To touch it would use up the one report that it
 * makes in the life of a kernel.
 */
static bool ppd_poisoned(struct page *page)
{
	return *(s8 *)kasan_mem_to_shadow(page_address(page)) &&
	       *(s8 *)kasan_mem_to_shadow(page_address(page) +
					  page_size(page) - 1);
}

static bool ppd_accessible(struct page *page)
{
	return !*(s8 *)kasan_mem_to_shadow(page_address(page)) &&
	       !*(s8 *)kasan_mem_to_shadow(page_address(page) +
					   page_size(page) - 1);
}
#endif

static void parked_page_is_poisoned(struct kunit *test)
{
#ifdef CONFIG_KASAN_GENERIC
	const struct ppd_way *way = test->param_value;
	struct page *pages[PPD_PAGES], *page;
	struct page_pool *pool;
	int i;

	ppd_need_debug(test);
	pool = ppd_pool(test);
	ppd_alloc(test, pool, pages);
	for (i = 0; i < PPD_PAGES; i++)
		KUNIT_EXPECT_TRUE(test, ppd_accessible(pages[i]));
	ppd_put(way, pool, pages[0]);
	KUNIT_EXPECT_TRUE(test, ppd_poisoned(pages[0]));
	page = ppk_alloc(pool);
	KUNIT_EXPECT_PTR_EQ(test, page, pages[0]);
	KUNIT_EXPECT_TRUE(test, ppd_accessible(pages[0]));

	/* one that leaves is for whoever has it */
	get_page(pages[0]);
	ppd_put(way, pool, pages[0]);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);
	KUNIT_EXPECT_TRUE(test, ppd_accessible(pages[0]));
	put_page(pages[0]);
	ppk_put_many(pool, pages + 1, PPD_PAGES - 1);
#else
	kunit_skip(test, "needs CONFIG_KASAN_GENERIC");
#endif
}

/* When a page was handed out is known years later. */
static void age_of_page(struct kunit *test)
{
#ifdef CONFIG_DEBUG_PAGE_POOL
	static const unsigned int days[] = { 0, 1, 13, 25, 50, 365, 1400 };
	int i;

	for (i = 0; i < ARRAY_SIZE(days); i++) {
		u64 ms = days[i] * 86400ULL * MSEC_PER_SEC + 12345;
		u64 back = page_pool_debug_unpack(page_pool_debug_pack(ms));

		KUNIT_EXPECT_LE(test, back, ms);
		KUNIT_EXPECT_LT(test, ms - back, 64);
	}
#else
	kunit_skip(test, "needs CONFIG_DEBUG_PAGE_POOL");
#endif
}

static struct kunit_case ppk_debug_cases[] = {
	KUNIT_CASE_PARAM(put_twice, ppd_ways_gen_params),
	KUNIT_CASE_PARAM(put_to_wrong_pool, ppd_ways_gen_params),
	KUNIT_CASE_PARAM(put_after_leaving, ppd_ways_gen_params),
	KUNIT_CASE(put_to_pool_that_is_gone),
	KUNIT_CASE(put_directly_after_destroy),
	KUNIT_CASE(too_many_references),
	KUNIT_CASE(free_held_page),
	KUNIT_CASE_PARAM(free_parked_page, ppd_ways_gen_params),
	KUNIT_CASE(free_open_page),
	KUNIT_CASE(sync_too_much),
	KUNIT_CASE_PARAM(parked_page_is_poisoned, ppd_ways_gen_params),
	KUNIT_CASE(age_of_page),
	{}
};

static struct kunit_suite ppk_debug_suite = {
	.name = "page_pool_debug",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_debug_cases,
};

kunit_test_suites(&ppk_debug_suite);
