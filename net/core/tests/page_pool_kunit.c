// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: parameters, both ways of recycling, fragments,
 * references.
 */

#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>

#include "page_pool_kunit.h"

/* --- parameters --- */

struct ppk_param_case {
	const char *desc;
	struct page_pool_params p;
	bool need_dev, need_napi, need_netdev;
	int cpu;
};

static const struct ppk_param_case ppk_bad_params[] = {
	{ "lowest unknown flag", { .flags = PP_FLAG_ALL + 1 } },
	{ "highest unknown flag", { .flags = BIT(31) } },
	{ "every unknown flag", { .flags = ~(u32)PP_FLAG_ALL } },
	{ "known and unknown flags", {
		.flags = PP_FLAG_DMA_MAP | BIT(30),
		.dma_dir = DMA_FROM_DEVICE }, true },
	{ "map to device only", {
		.flags = PP_FLAG_DMA_MAP, .dma_dir = DMA_TO_DEVICE }, true },
	{ "map without direction", {
		.flags = PP_FLAG_DMA_MAP, .dma_dir = DMA_NONE }, true },
	{ "map with a direction that does not exist", {
		.flags = PP_FLAG_DMA_MAP, .dma_dir = DMA_NONE + 4 }, true },
	{ "sync and map, direction to device", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.dma_dir = DMA_TO_DEVICE, .max_len = PAGE_SIZE }, true },
	{ "sync without map", {
		.flags = PP_FLAG_DMA_SYNC_DEV, .dma_dir = DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE }, true },
	{ "sync of nothing", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.dma_dir = DMA_FROM_DEVICE, .max_len = 0 }, true },
	{ "sync of nothing, both directions", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.dma_dir = DMA_BIDIRECTIONAL, .max_len = 0 }, true },
};

KUNIT_ARRAY_PARAM_DESC(ppk_bad_params, ppk_bad_params, desc);

/* These two crash a pool that does not look, so they stand alone */
static const struct ppk_param_case ppk_bad_orders[] = {
	{ "order one too high", { .order = MAX_PAGE_ORDER + 1 } },
	{ "order 31", { .order = 31 } },
	{ "order of all bits", { .order = UINT_MAX } },
};

KUNIT_ARRAY_PARAM_DESC(ppk_bad_orders, ppk_bad_orders, desc);

static const struct ppk_param_case ppk_bad_nids[] = {
	{ "one node too many", { .nid = MAX_NUMNODES } },
	{ "below NUMA_NO_NODE", { .nid = NUMA_NO_NODE - 1 } },
	{ "most negative node", { .nid = INT_MIN } },
	{ "highest node", { .nid = INT_MAX } },
};

KUNIT_ARRAY_PARAM_DESC(ppk_bad_nids, ppk_bad_nids, desc);

/* What the drivers of the tree ask for; a pool that refuses one breaks it */
static const struct ppk_param_case ppk_driver_params[] = {
	{ "nothing at all", {} },
	{ "direction without map", { .dma_dir = DMA_TO_DEVICE } },
	{ "bad direction without map", { .dma_dir = DMA_NONE } },
	{ "highest order", { .order = MAX_PAGE_ORDER } },
	{ "dev.c per-CPU pool", {
		.pool_size = 256, .flags = PP_FLAG_SYSTEM_POOL }, .cpu = 0 },
	{ "bpf test_run", {
		.pool_size = 64, .nid = NUMA_NO_NODE } },
	{ "veth", {
		.pool_size = 256, .nid = NUMA_NO_NODE }, true },
	{ "netdevsim", {
		.pool_size = 256, .nid = NUMA_NO_NODE,
		.dma_dir = DMA_BIDIRECTIONAL }, true, true, true },
	{ "vmxnet3 with XDP", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .nid = NUMA_NO_NODE, .offset = 256,
		.max_len = 2500, .dma_dir = DMA_BIDIRECTIONAL }, true },
	{ "vmxnet3", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .nid = NUMA_NO_NODE, .offset = 256,
		.max_len = 2500, .dma_dir = DMA_FROM_DEVICE }, true },
	{ "xen-netfront", {
		.pool_size = 256, .nid = NUMA_NO_NODE, .offset = 256,
		.max_len = 4096 - 256 }, true },
	{ "mt76 mmio", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 256, .nid = NUMA_NO_NODE, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true },
	{ "mt76 usb", {
		.pool_size = 16, .nid = NUMA_NO_NODE }, true },
	{ "mlx5 striding", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 1 << 14, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true, true },
	{ "mlx5 with XDP", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 1024, .max_len = PAGE_SIZE,
		.dma_dir = DMA_BIDIRECTIONAL }, true, true, true },
	{ "mlxsw, a ring beyond the clamp", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 1024 * 32, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true },
	{ "bnxt", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 2047 + 511, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true, true },
	{ "bnxt with 32 KiB buffers", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 511, .max_len = PAGE_SIZE << 3, .order = 3,
		.dma_dir = DMA_BIDIRECTIONAL }, true, true, true },
	{ "fec", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .nid = NUMA_NO_NODE, .offset = 256,
		.max_len = 1536, .dma_dir = DMA_FROM_DEVICE }, true },
	{ "stmmac, jumbo", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .nid = NUMA_NO_NODE, .order = 2,
		.offset = 256, .max_len = (PAGE_SIZE << 2) - 256,
		.dma_dir = DMA_BIDIRECTIONAL }, true },
	{ "mana", {
		.pool_size = 512, .order = 1 }, false, true, true },
	{ "ravb, map without sync", {
		.flags = PP_FLAG_DMA_MAP, .pool_size = 1024,
		.nid = NUMA_NO_NODE, .dma_dir = DMA_FROM_DEVICE }, true },
	{ "cpsw, map both ways without sync", {
		.flags = PP_FLAG_DMA_MAP, .pool_size = 128,
		.nid = NUMA_NO_NODE, .dma_dir = DMA_BIDIRECTIONAL }, true },
	{ "otx2", {
		.flags = PP_FLAG_DMA_MAP, .pool_size = 2048,
		.nid = NUMA_NO_NODE, .dma_dir = DMA_FROM_DEVICE }, true },
	{ "hns3", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 1024, .order = 1, .max_len = PAGE_SIZE << 1,
		.dma_dir = DMA_FROM_DEVICE }, true },
	{ "libeth, offset and length by headroom", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .offset = 64, .max_len = 3520,
		.dma_dir = DMA_FROM_DEVICE }, true, true, true },
	{ "ionic", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 4096, .nid = NUMA_NO_NODE, .max_len = PAGE_SIZE,
		.dma_dir = DMA_BIDIRECTIONAL }, true, true, true },
	{ "fbnic", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 32768, .nid = NUMA_NO_NODE, .max_len = PAGE_SIZE,
		.dma_dir = DMA_BIDIRECTIONAL }, true },
	{ "mvneta, mvpp2, mtk, tsnep, lan966x", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 512, .nid = NUMA_NO_NODE, .offset = 256,
		.max_len = 1856, .dma_dir = DMA_BIDIRECTIONAL }, true },
	{ "netsec", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 256, .nid = NUMA_NO_NODE, .offset = 258,
		.max_len = 1536, .dma_dir = DMA_FROM_DEVICE },
		true, true, true },
	{ "airoha, rtase, wangxun", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 256, .nid = NUMA_NO_NODE, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true },
	{ "tn40, no ring size", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.max_len = PAGE_SIZE, .dma_dir = DMA_FROM_DEVICE },
		true, true, true },
	{ "am65-cpsw", {
		.flags = PP_FLAG_DMA_MAP, .pool_size = 500,
		.dma_dir = DMA_BIDIRECTIONAL }, true, true },
	{ "e1000e, packet split", {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.pool_size = 256, .nid = NUMA_NO_NODE, .max_len = PAGE_SIZE,
		.dma_dir = DMA_FROM_DEVICE }, true, true, true },
};

KUNIT_ARRAY_PARAM_DESC(ppk_driver_params, ppk_driver_params, desc);

static void ppk_expect_einval(struct kunit *test)
{
	const struct ppk_param_case *c = test->param_value;
	struct page_pool_params p = c->p;
	struct page_pool *pool;

	if (c->need_dev)
		p.dev = ppk_device(test);

	pool = page_pool_create(&p);
	KUNIT_EXPECT_PTR_EQ(test, pool, ERR_PTR(-EINVAL));
	if (!IS_ERR_OR_NULL(pool))
		page_pool_destroy(pool);
}

static void params_refused(struct kunit *test)
{
	ppk_expect_einval(test);
}

static void params_bad_order(struct kunit *test)
{
	ppk_expect_einval(test);
}

static void params_bad_nid(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_NUMA))
		kunit_skip(test, "without CONFIG_NUMA nobody looks at the node");

	ppk_expect_einval(test);
}

/* Accepted, and good for a page, a recycled page and an orderly end */
static void params_accepted(struct kunit *test)
{
	const struct ppk_param_case *c = test->param_value;
	struct page_pool_params p = c->p;
	static struct napi_struct napi;
	struct page_pool *pool;
	struct page *page;

	if (c->need_dev)
		p.dev = ppk_device(test);
	if (c->need_napi)
		p.napi = &napi;
	if (c->need_netdev)
		p.netdev = ppk_netdev(test);

	if (p.flags & PP_FLAG_SYSTEM_POOL)
		pool = ppk_create_percpu(test, &p, raw_smp_processor_id());
	else
		pool = ppk_create(test, &p);

	page = ppk_alloc(pool);
	/* Half a gigabyte with pages of 64 KiB */
	if (!page && p.order + PAGE_SHIFT > ilog2(SZ_4M))
		kunit_mark_skipped(test, "no free pages of order %d", p.order);
	else
		KUNIT_EXPECT_NOT_NULL(test, page);
	if (page) {
		KUNIT_EXPECT_EQ(test, p.order, compound_order(page));
		ppk_put(pool, page);
	}
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), ppk_held(pool));
	page_pool_disable_direct_recycling(pool);
	ppk_destroy(pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static const struct ppk_ring_case {
	const char *desc;
	unsigned int asked, got;
} ppk_ring_sizes[] = {
	{ "default is 1024", 0, 1024 },
	{ "one", 1, 1 },
	{ "not a power of two", 100, 100 },
	{ "64", 64, 64 },
	{ "as large as allowed", 16384, 16384 },
	{ "clamped at 16384", 16385, 16384 },
	{ "clamped from far away", UINT_MAX, 16384 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_ring_sizes, ppk_ring_sizes, desc);

/* How many pages stay when more come home than the ring has room for */
static void params_ring_size(struct kunit *test)
{
	const struct ppk_ring_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = c->asked, .nid = NUMA_NO_NODE,
	};
	int n = round_up(c->got + 1, PP_ALLOC_CACHE_REFILL), got;
	struct page_pool *pool = ppk_create(test, &p);
	struct page **pages;

	pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);

	got = ppk_alloc_many(pool, pages, n);
	KUNIT_EXPECT_EQ(test, got, n);
	/* Nothing is parked: whole refills were taken */
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), n);
	ppk_put_many(pool, pages, got);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), c->got);
	kvfree(pages);
}

static struct kunit_case ppk_params_cases[] = {
	KUNIT_CASE_PARAM(params_refused, ppk_bad_params_gen_params),
	KUNIT_CASE_PARAM(params_bad_order, ppk_bad_orders_gen_params),
	KUNIT_CASE_PARAM(params_bad_nid, ppk_bad_nids_gen_params),
	KUNIT_CASE_PARAM(params_accepted, ppk_driver_params_gen_params),
	KUNIT_CASE_PARAM(params_ring_size, ppk_ring_sizes_gen_params),
	{}
};

static struct kunit_suite ppk_params_suite = {
	.name = "page_pool_params",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_params_cases,
};

/* --- both ways of recycling --- */

#define ARRAY	PP_ALLOC_CACHE_SIZE

static struct page *ppk_pages[4 * ARRAY + BATCH];

static struct page_pool *ppk_plain(struct kunit *test, unsigned int size)
{
	struct page_pool_params p = {
		.pool_size = size, .nid = NUMA_NO_NODE,
	};

	return ppk_create(test, &p);
}

/* The same, with @n pages taken; a multiple of the refill leaves none parked */
static struct page_pool *ppk_plain_taken(struct kunit *test, unsigned int size,
					 int n)
{
	struct page_pool *pool = ppk_plain(test, size);

	KUNIT_ASSERT_LE(test, n, ARRAY_SIZE(ppk_pages));
	KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
	return pool;
}

static void recycle_first_page(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	struct page *page = ppk_alloc(pool);

	KUNIT_ASSERT_NOT_NULL(test, page);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), REFILL);
	KUNIT_EXPECT_PTR_EQ(test, page->pp, pool);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&page->pp_ref_count), 1);
	ppk_put(pool, page);
}

static void recycle_direct(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	struct page *page = ppk_alloc(pool), *again;

	ppk_put_direct(pool, page);
	again = ppk_alloc(pool);
	KUNIT_EXPECT_PTR_EQ(test, page, again);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .cached = 1,
			 .fast = 1);
	ppk_put_direct(pool, again);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), REFILL);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);
}

static void recycle_ring(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, 64, BATCH);
	struct page *page, *first = ppk_pages[0];

	ppk_expect_stats(test, pool, PPK_TAKEN);
	ppk_put(pool, first);
	page = ppk_alloc(pool);
	KUNIT_EXPECT_PTR_EQ(test, page, first);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 1, .refill = 1);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), BATCH);
	ppk_put_many(pool, ppk_pages, BATCH);
}

/* A refill takes so many, not more: 3 refills and a page are 4 refills */
static void recycle_refill_size(struct kunit *test)
{
	int n = 4 * REFILL;
	struct page_pool *pool = ppk_plain_taken(test, n, n);

	ppk_put_many(pool, ppk_pages, 3 * REFILL + 1);
	KUNIT_ASSERT_EQ(test, ppk_alloc_many(pool, ppk_pages, 3 * REFILL + 1),
			3 * REFILL + 1);
	ppk_expect_stats(test, pool, .slow = 4, .empty = 4,
			 .fast = 4 * (REFILL - 1) + 3 * (REFILL - 1),
			 .ring = 3 * REFILL + 1, .refill = 4);
	ppk_put_many(pool, ppk_pages, n);
}

static void recycle_array_full(struct kunit *test)
{
	int i, n = ARRAY + REFILL;
	struct page_pool *pool = ppk_plain_taken(test, n, n);

	for (i = 0; i < n; i++)
		ppk_put_direct(pool, ppk_pages[i]);
	ppk_expect_stats(test, pool, .slow = n / REFILL, .empty = n / REFILL,
			 .fast = n - n / REFILL, .cached = ARRAY,
			 .cache_full = REFILL, .ring = REFILL);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);
}

/* Direct, array full, ring full: one event and one outcome */
static void recycle_all_full(struct kunit *test)
{
	int i, n = ARRAY + REFILL;
	struct page_pool *pool = ppk_plain_taken(test, 8, n);

	for (i = 0; i < n; i++)
		ppk_put_direct(pool, ppk_pages[i]);
	ppk_expect_stats(test, pool, .slow = n / REFILL, .empty = n / REFILL,
			 .fast = n - n / REFILL, .cached = ARRAY,
			 .cache_full = REFILL, .ring = 8,
			 .ring_full = REFILL - 8);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), REFILL - 8);
}

static void recycle_ring_full(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, 16, BATCH);

	ppk_put_many(pool, ppk_pages, BATCH);
	ppk_expect_stats(test, pool, PPK_TAKEN,
			 .ring = 16, .ring_full = BATCH - 16);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), BATCH - 16);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 16);
}

static void recycle_bulk(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);

	ppk_put_bulk(pool, ppk_pages, BATCH);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_expect_stats(test, pool, .slow = PPK_REFILLS, .empty = PPK_REFILLS,
			 .fast = 2 * (BATCH - PPK_REFILLS), .refill = PPK_REFILLS,
			 .ring = BATCH);
	ppk_put_bulk(pool, ppk_pages, 1);
	ppk_put_bulk(pool, ppk_pages + 1, BATCH - 1);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);
}

static void recycle_bulk_nothing(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	void *none[1];

	page_pool_put_page_bulk(pool, none, 0);
	ppk_expect_stats(test, pool, PPK_TAKEN);
	ppk_put_many(pool, ppk_pages, BATCH);
}

/* A bulk of 16 into a full ring is 16 pages that found it full, not one */
static void bulk_ring_full_counts_pages(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, 16, BATCH);

	ppk_put_many(pool, ppk_pages, 16);
	ppk_put_bulk(pool, ppk_pages + 16, 16);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 16, .ring_full = 16);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 16);
	ppk_put_bulk(pool, ppk_pages + 32, BATCH - 32);
	ppk_expect_stats(test, pool, PPK_TAKEN,
			 .ring = 16, .ring_full = BATCH - 16);
}

static void bulk_ring_nearly_full(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, 16, BATCH);

	ppk_put_many(pool, ppk_pages, 10);
	ppk_put_bulk(pool, ppk_pages + 10, 16);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 16, .ring_full = 10);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 10);
	ppk_put_many(pool, ppk_pages + 26, BATCH - 26);
}

static const struct ppk_order_case {
	const char *desc;
	int order;
} ppk_orders[] = {
	{ "order 1", 1 }, { "order 2", 2 }, { "order 3", 3 }, { "order 5", 5 },
	{ "highest order", MAX_PAGE_ORDER },
};

KUNIT_ARRAY_PARAM_DESC(ppk_orders, ppk_orders, desc);

static void recycle_high_order(struct kunit *test)
{
	const struct ppk_order_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 4, .nid = NUMA_NO_NODE, .order = c->order,
	};
	struct page_pool *pool = ppk_create(test, &p);
	struct page *a, *b, *c1, *d;

	a = ppk_alloc(pool);
	b = ppk_alloc(pool);
	if (!a || !b) {
		if (a)
			ppk_put(pool, a);
		if (b)
			ppk_put(pool, b);
		kunit_skip(test, "no free pages of order %d", c->order);
	}
	/* One at a time, nothing is put aside */
	ppk_expect_stats(test, pool, .slow_ho = 2, .empty = 2);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), 2);
	KUNIT_EXPECT_EQ(test, compound_order(a), c->order);

	ppk_put_direct(pool, a);
	ppk_put(pool, b);
	c1 = ppk_alloc(pool);
	d = ppk_alloc(pool);
	KUNIT_EXPECT_PTR_EQ(test, c1, a);
	KUNIT_EXPECT_PTR_EQ(test, d, b);
	ppk_expect_stats(test, pool, .slow_ho = 2, .empty = 2, .cached = 1,
			 .ring = 1, .fast = 1, .refill = 1);
	ppk_put_bulk(pool, &c1, 1);
	ppk_put_bulk(pool, &d, 1);
	ppk_destroy(pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void recycle_unrefed(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	struct page *page = ppk_pages[0], *again;
	long three = 3, two = 2;

	/* A driver that keeps its own account, in numbers known at run time */
	OPTIMIZER_HIDE_VAR(three);
	OPTIMIZER_HIDE_VAR(two);
	page_pool_fragment_page(page, 5);
	KUNIT_EXPECT_EQ(test, page_pool_unref_page(page, three), 2);
	KUNIT_EXPECT_EQ(test, page_pool_unref_page(page, two), 0);
	page_pool_put_unrefed_page(pool, page, -1, false);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 1);
	again = ppk_alloc(pool);
	KUNIT_EXPECT_PTR_EQ(test, again, page);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&page->pp_ref_count), 1);
	ppk_put_many(pool, ppk_pages, BATCH);
}

static void recycle_netmem(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	netmem_ref netmem;

	local_bh_disable();
	netmem = page_pool_alloc_netmems(pool, GFP_ATOMIC | __GFP_NOWARN);
	local_bh_enable();
	KUNIT_ASSERT_TRUE(test, netmem);
	KUNIT_EXPECT_FALSE(test, netmem_is_net_iov(netmem));
	KUNIT_EXPECT_PTR_EQ(test, netmem_get_pp(netmem), pool);
	page_pool_put_full_netmem(pool, netmem, false);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .ring = 1);
}

/* From an skb, as every driver's packets come home */
static void recycle_skb(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	struct sk_buff *skb;

	local_bh_disable();
	skb = napi_build_skb(page_address(ppk_pages[0]), PAGE_SIZE);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_add_rx_frag(skb, 0, ppk_pages[1], 0, 100, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	kfree_skb(skb);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 2);
	ppk_put_many(pool, ppk_pages + 2, BATCH - 2);
}

/* A clone of the skb shares the pages: home when the last one is freed */
static void recycle_skb_clone(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	struct sk_buff *skb, *clone;

	local_bh_disable();
	skb = napi_build_skb(page_address(ppk_pages[0]), PAGE_SIZE);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_add_rx_frag(skb, 0, ppk_pages[1], 0, 100, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	clone = skb_clone(skb, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clone);
	kfree_skb(skb);
	ppk_expect_stats(test, pool, PPK_TAKEN);
	kfree_skb(clone);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 2);
	ppk_put_many(pool, ppk_pages + 2, BATCH - 2);
}

/* Nothing of the pool may be left in a page that went its own way */
static void released_page_is_clean(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, 4, BATCH);
	struct page *page = ppk_pages[0];

	get_page(page);
	ppk_put(pool, page);
	KUNIT_EXPECT_PTR_EQ(test, page->pp, NULL);
	KUNIT_EXPECT_EQ(test, page->pp_magic, 0UL);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	put_page(page);
	ppk_put_many(pool, ppk_pages + 1, BATCH - 1);
}

struct ppk_callback_state {
	int calls, bad;
	struct page_pool *pool;
};

static void ppk_callback(netmem_ref netmem, void *arg)
{
	struct ppk_callback_state *st = arg;

	st->calls++;
	if (netmem_get_pp(netmem) != st->pool)
		st->bad++;
}

/* Once for every page that enters the pool, not for each time it is handed out */
static void recycle_init_callback(struct kunit *test)
{
	struct ppk_callback_state st = {};
	struct page_pool_params p = {
		.pool_size = BATCH, .nid = NUMA_NO_NODE,
		.init_callback = ppk_callback, .init_arg = &st,
	};
	struct page_pool *pool = ppk_create(test, &p);
	int i;

	st.pool = pool;
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool, ppk_pages, BATCH));
		ppk_put_many(pool, ppk_pages, BATCH);
	}
	KUNIT_EXPECT_EQ(test, st.calls, BATCH);
	KUNIT_EXPECT_EQ(test, st.bad, 0);
}

/* The consumer's CPU is only known to a pool that was made for one */
static void recycle_percpu(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 64, .nid = NUMA_NO_NODE };
	int cpu = raw_smp_processor_id();
	struct page_pool *pool = ppk_create_percpu(test, &p, cpu);

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	/* Not asked for, but this is where the consumer runs */
	local_bh_disable();
	ppk_put(pool, ppk_pages[0]);
	ppk_put_bulk(pool, ppk_pages + 1, 15);
	local_bh_enable();
	/* From a task the array is not ours to touch */
	ppk_put(pool, ppk_pages[16]);
	ppk_put_bulk(pool, ppk_pages + 17, 15);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 32);
	else
		ppk_expect_stats(test, pool, PPK_TAKEN, .cached = 16, .ring = 16);

	page_pool_disable_direct_recycling(pool);
	local_bh_disable();
	ppk_put(pool, ppk_pages[32]);
	local_bh_enable();
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		ppk_expect_stats(test, pool, PPK_TAKEN, .cached = 16, .ring = 17);
	ppk_put_many(pool, ppk_pages + 33, BATCH - 33);
}

static struct kunit_case ppk_recycle_cases[] = {
	KUNIT_CASE(recycle_first_page),
	KUNIT_CASE(recycle_direct),
	KUNIT_CASE(recycle_ring),
	KUNIT_CASE(recycle_refill_size),
	KUNIT_CASE(recycle_array_full),
	KUNIT_CASE(recycle_all_full),
	KUNIT_CASE(recycle_ring_full),
	KUNIT_CASE(recycle_bulk),
	KUNIT_CASE(recycle_bulk_nothing),
	KUNIT_CASE(bulk_ring_full_counts_pages),
	KUNIT_CASE(bulk_ring_nearly_full),
	KUNIT_CASE_PARAM(recycle_high_order, ppk_orders_gen_params),
	KUNIT_CASE(recycle_unrefed),
	KUNIT_CASE(recycle_netmem),
	KUNIT_CASE(recycle_skb),
	KUNIT_CASE(recycle_skb_clone),
	KUNIT_CASE(released_page_is_clean),
	KUNIT_CASE(recycle_init_callback),
	KUNIT_CASE(recycle_percpu),
	{}
};

static struct kunit_suite ppk_recycle_suite = {
	.name = "page_pool_recycle",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_recycle_cases,
};

/* --- fragments --- */

#define KIB_PER_PAGE	(PAGE_SIZE / 1024)

/* Fragments of 1 KiB, each put before the next is taken: one page goes round */
static void frag_cycle_one_page(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int offset, i, n = 1000 * KIB_PER_PAGE;
	struct page *page, *first = NULL;
	int other = 0;

	for (i = 0; i < n; i++) {
		page = ppk_alloc_frag(pool, &offset, 1024);
		if (!page)
			break;
		if (!first)
			first = page;
		other += page != first;
		ppk_put_direct(pool, page);
	}
	KUNIT_EXPECT_EQ(test, i, n);
	KUNIT_EXPECT_EQ(test, other, 0);
	ppk_expect_stats(test, pool, .fast = 999, .slow = 1, .empty = 1,
			 .cached = 999);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), REFILL);
}

/* 100 pages' worth held, then freed; the last page stays open in the pool */
static void frag_hold_then_free(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	int i, k, n = 100 * KIB_PER_PAGE, slow = DIV_ROUND_UP(100, REFILL);
	struct page **pages;
	unsigned int offset;

	pages = kunit_kcalloc(test, n, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < n; i++) {
		pages[i] = ppk_alloc_frag(pool, &offset, 1024);
		if (!pages[i])
			break;
	}
	KUNIT_EXPECT_EQ(test, i, n);
	ppk_expect_stats(test, pool, .fast = 100 - slow, .slow = slow,
			 .empty = slow);
	for (k = 0; k < i; k++)
		ppk_put_direct(pool, pages[k]);
	if (slow * REFILL <= ARRAY)
		ppk_expect_stats(test, pool, .fast = 100 - slow, .slow = slow,
				 .empty = slow, .cached = 99);
}

static const struct ppk_frag_case {
	const char *desc;
	int order;
	unsigned int size;
} ppk_frag_sizes[] = {
	{ "1 byte", 0, 1 },
	{ "60 bytes", 0, 60 },
	{ "256 bytes", 0, 256 },
	{ "a third and a bit", 0, PAGE_SIZE / 3 + 5 },
	{ "half a page", 0, PAGE_SIZE / 2 },
	{ "one more than half", 0, PAGE_SIZE / 2 + 1 },
	{ "a page", 0, PAGE_SIZE },
	{ "2 KiB of 8 pages", 3, 2048 },
	{ "9000 of 8 pages", 3, 9000 },
	{ "all of 2 pages", 1, PAGE_SIZE * 2 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_frag_sizes, ppk_frag_sizes, desc);

/* No two live fragments overlap, none leaves its page, all are aligned */
static void frag_geometry(struct kunit *test)
{
	const struct ppk_frag_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 64, .nid = NUMA_NO_NODE, .order = c->order,
	};
	struct page_pool *pool = ppk_create(test, &p);
	unsigned int off, end = 0, align = 0, outside = 0, overlap = 0;
	struct page *page, *last = NULL;
	int i, n = 200, pages = 0;
	void **va;

	va = kunit_kcalloc(test, n, sizeof(*va), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, va);
	for (i = 0; i < n; i++) {
		page = ppk_alloc_frag(pool, &off, c->size);
		if (!page)
			break;
		va[i] = page_address(page) + off;
		if (page != last) {
			pages++;
			end = 0;
		}
		overlap += off < end;
		outside += off + c->size > PAGE_SIZE << c->order;
		align += !IS_ALIGNED(off, __alignof__(struct skb_shared_info));
		align += !IS_ALIGNED(off, dma_get_cache_alignment());
		end = off + c->size;
		last = page;
		memset(va[i], i, c->size);
	}
	KUNIT_EXPECT_EQ(test, i, n);
	KUNIT_EXPECT_EQ(test, overlap, 0);
	KUNIT_EXPECT_EQ(test, outside, 0);
	KUNIT_EXPECT_EQ(test, align, 0);
	KUNIT_EXPECT_GE(test, (u64)pages * (PAGE_SIZE << c->order),
			(u64)n * c->size);
	if (PPK_STATS) {
		struct ppk_stats s;

		/* Fragments count pages */
		ppk_read(pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), pages);
	}
	while (i--) {
		KUNIT_EXPECT_EQ(test, *(u8 *)va[i], (u8)i);
		page_pool_free_va(pool, va[i], false);
	}
}

/* Also when rounding it up would make it a small one */
static void frag_too_large(struct kunit *test)
{
	static const unsigned int sizes[] = {
		PAGE_SIZE + 1, INT_MAX, UINT_MAX - 62, UINT_MAX - 1, UINT_MAX,
	};
	struct page_pool_params p = { .pool_size = 64, .nid = numa_mem_id() };
	struct page_pool *pool = ppk_create(test, &p);
	struct page *first, *second;
	unsigned int off = 0;
	int i;

	ppk_announce(1, "WARNING: .*page_pool");
	/* No page is open */
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_NULL(test, ppk_alloc_frag(pool, &off, sizes[i]));

	first = ppk_alloc_frag(pool, &off, 256);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_EXPECT_EQ(test, off, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_NULL(test, ppk_alloc_frag(pool, &off, sizes[i]));
	second = ppk_alloc_frag(pool, &off, 256);
	KUNIT_EXPECT_PTR_EQ(test, second, first);
	KUNIT_EXPECT_EQ(test, off, 256);
	ppk_put(pool, first);
	ppk_put(pool, second);
}

static void frag_alloc_grows_size(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int size[5], off[5];
	struct page *page[5];
	int i;

	/* More than half: the whole page is the caller's */
	size[0] = PAGE_SIZE / 2 + 1;
	off[0] = 77;
	local_bh_disable();
	page[0] = page_pool_dev_alloc(pool, &off[0], &size[0]);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, page[0]);
	KUNIT_EXPECT_EQ(test, size[0], PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, off[0], 0);

	/* A third and a bit: the second gets what is left over */
	for (i = 1; i < 3; i++) {
		size[i] = round_up(PAGE_SIZE / 3 + 64, 64);
		local_bh_disable();
		page[i] = page_pool_dev_alloc(pool, &off[i], &size[i]);
		local_bh_enable();
		KUNIT_ASSERT_NOT_NULL(test, page[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, page[1], page[2]);
	KUNIT_EXPECT_EQ(test, off[1], 0);
	KUNIT_EXPECT_EQ(test, off[2] + size[2], PAGE_SIZE);

	/* So that the next page begins */
	size[3] = 64;
	local_bh_disable();
	page[3] = page_pool_alloc(pool, &off[3], &size[3],
				  GFP_ATOMIC | __GFP_NOWARN);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, page[3]);
	KUNIT_EXPECT_PTR_NE(test, page[3], page[2]);
	KUNIT_EXPECT_EQ(test, off[3], 0);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 2);
	for (i = 0; i < 4; i++)
		ppk_put(pool, page[i]);
}

static void frag_va(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int size = 500, size2 = 500;
	void *a, *b;

	local_bh_disable();
	a = page_pool_dev_alloc_va(pool, &size);
	b = page_pool_alloc_va(pool, &size2,
			       GFP_ATOMIC | __GFP_NOWARN | __GFP_HIGHMEM);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	KUNIT_EXPECT_PTR_EQ(test, virt_to_head_page(a), virt_to_head_page(b));
	KUNIT_EXPECT_PTR_EQ(test, virt_to_head_page(a)->pp, pool);
	memset(a, 1, size);
	memset(b, 2, size2);
	KUNIT_EXPECT_EQ(test, *(u8 *)a, 1);
	page_pool_free_va(pool, a, false);
	page_pool_free_va(pool, b, false);
}

/* A fragment does not start before the last user of its page has gone */
static void frag_page_not_reused_early(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int off, size = PAGE_SIZE / 2;
	struct page *a, *b, *c;

	a = ppk_alloc_frag(pool, &off, size);
	b = ppk_alloc_frag(pool, &off, size);
	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_PTR_EQ(test, a, b);
	ppk_put(pool, a);
	c = ppk_alloc_frag(pool, &off, size);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_EXPECT_PTR_NE(test, c, b);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 1);
	ppk_put(pool, b);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 1,
			 .ring = 1);
	ppk_put(pool, c);
}

/* A drained page with another user may not be used again */
static void frag_drained_page_held(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int off, size = PAGE_SIZE / 2;
	struct page *a, *c;

	a = ppk_alloc_frag(pool, &off, size);
	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_PTR_EQ(test, a, ppk_alloc_frag(pool, &off, size));
	get_page(a);
	ppk_put(pool, a);
	ppk_put(pool, a);
	c = ppk_alloc_frag(pool, &off, size);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_EXPECT_PTR_NE(test, c, a);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 1,
			 .ref = 1);
	KUNIT_EXPECT_PTR_EQ(test, a->pp, NULL);
	KUNIT_EXPECT_EQ(test, page_ref_count(a), 1);
	put_page(a);
	ppk_put(pool, c);
}

/* The pool's own hold on its open page is given up at destroy, no sooner */
static void frag_open_page_at_destroy(struct kunit *test)
{
	struct page_pool *pool = ppk_plain(test, 64);
	unsigned int off;
	struct page *a, *b;

	a = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, a);
	b = ppk_alloc_frag(pool, &off, 64);
	KUNIT_ASSERT_NOT_NULL(test, b);
	ppk_put(pool, b);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), REFILL);
	ppk_destroy(pool);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);
	ppk_expect_stats(test, pool, .slow = 1, .empty = 1, .fast = 1,
			 .ring_full = 1);
	ppk_put(pool, a);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static const struct ppk_count_case {
	const char *desc;
	int n;
} ppk_counts[] = {
	{ "1 fragment", 1 }, { "2 fragments", 2 }, { "3 fragments", 3 },
	{ "4 fragments", 4 }, { "5 fragments", 5 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_counts, ppk_counts, desc);

/*
 * k fragments, the first few back before destroy, the rest after, in every
 * order and with every split: nothing is ever left in flight.
 */
static void frag_destroy_every_order(struct kunit *test)
{
	const struct ppk_count_case *c = test->param_value;
	int n = c->n, perm, split, i, order[5], stuck = 0, early = 0;
	struct page_pool_params p = { .pool_size = 2, .nid = NUMA_NO_NODE };
	unsigned int off, size = PAGE_SIZE / 4;
	struct page *frag[5];
	struct page_pool *pool;

	for (perm = 0; perm < ppk_factorial(n); perm++) {
		ppk_permutation(perm, n, order);
		for (split = 0; split <= n; split++) {
			pool = ppk_create(test, &p);
			for (i = 0; i < n; i++) {
				frag[i] = ppk_alloc_frag(pool, &off, size);
				KUNIT_ASSERT_NOT_NULL(test, frag[i]);
			}
			for (i = 0; i < split; i++)
				ppk_put(pool, frag[order[i]]);
			ppk_destroy(pool);
			for (; i < n; i++) {
				early += ppk_gone(pool, 0);
				ppk_put(pool, frag[order[i]]);
			}
			stuck += !ppk_gone(pool, PPK_FREE_MS);
			if (stuck > 3)
				goto out;
		}
	}
out:
	KUNIT_EXPECT_EQ(test, early, 0);
	KUNIT_EXPECT_EQ_MSG(test, stuck, 0, "of %d orders",
			    ppk_factorial(n) * (n + 1));
}

static struct kunit_case ppk_frag_cases[] = {
	KUNIT_CASE(frag_cycle_one_page),
	KUNIT_CASE(frag_hold_then_free),
	KUNIT_CASE_PARAM(frag_geometry, ppk_frag_sizes_gen_params),
	KUNIT_CASE(frag_too_large),
	KUNIT_CASE(frag_alloc_grows_size),
	KUNIT_CASE(frag_va),
	KUNIT_CASE(frag_page_not_reused_early),
	KUNIT_CASE(frag_drained_page_held),
	KUNIT_CASE(frag_open_page_at_destroy),
	KUNIT_CASE_PARAM(frag_destroy_every_order, ppk_counts_gen_params),
	{}
};

static struct kunit_suite ppk_frag_suite = {
	.name = "page_pool_frag",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_frag_cases,
};

/* --- references --- */

struct ppk_put_case {
	const char *desc;
	void (*put)(struct page_pool *pool, struct page *page);
};

static void ppk_put_bulk_one(struct page_pool *pool, struct page *page)
{
	ppk_put_bulk(pool, &page, 1);
}

static void ppk_put_bh(struct page_pool *pool, struct page *page)
{
	local_bh_disable();
	ppk_put(pool, page);
	local_bh_enable();
}

/* The last of two references on the page's fragments */
static void ppk_put_as_frag(struct page_pool *pool, struct page *page)
{
	page_pool_fragment_page(page, 2);
	ppk_put(pool, page);
	ppk_put(pool, page);
}

static void ppk_put_as_skb(struct page_pool *pool, struct page *page)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL | __GFP_NOFAIL);

	skb_add_rx_frag(skb, 0, page, 0, 100, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	/* The head is not the pool's: it is recognised and freed normally */
	kfree_skb(skb);
}

static const struct ppk_put_case ppk_put_ways[] = {
	{ "from a task", ppk_put },
	{ "with bottom halves off", ppk_put_bh },
	{ "direct", ppk_put_direct },
	{ "bulk", ppk_put_bulk_one },
	{ "fragment", ppk_put_as_frag },
	{ "skb", ppk_put_as_skb },
};

KUNIT_ARRAY_PARAM_DESC(ppk_put_ways, ppk_put_ways, desc);

/* Someone else has the page: it leaves the pool, and lives on */
static void refs_held_page(struct kunit *test)
{
	const struct ppk_put_case *c = test->param_value;
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	struct page *page = ppk_pages[0];

	get_page(page);
	c->put(pool, page);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ref = 1);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 1);
	KUNIT_EXPECT_PTR_EQ(test, page->pp, NULL);
	put_page(page);
	ppk_put_many(pool, ppk_pages + 1, BATCH - 1);
}

/* The emergency reserve is given back at once, under its own reason */
static void refs_pfmemalloc(struct kunit *test)
{
	const struct ppk_put_case *c = test->param_value;
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	struct page *page = ppk_pages[0];

	ppk_set_pfmemalloc(page);
	KUNIT_ASSERT_TRUE(test, page_is_pfmemalloc(page));
	c->put(pool, page);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 1);
	ppk_expect_stats(test, pool, PPK_TAKEN, .pfmemalloc = 1);
	ppk_put_many(pool, ppk_pages + 1, BATCH - 1);
}

/* A mixed bulk: each page by its own merits */
static void refs_mixed_bulk(struct kunit *test)
{
	struct page_pool *pool = ppk_plain_taken(test, BATCH, BATCH);
	int i;

	for (i = 0; i < 16; i += 4) {
		get_page(ppk_pages[i]);
		ppk_set_pfmemalloc(ppk_pages[i + 1]);
		page_pool_fragment_page(ppk_pages[i + 2], 2);
	}
	ppk_put_bulk(pool, ppk_pages, 16);
	ppk_expect_stats(test, pool, PPK_TAKEN,
			 .ref = 4, .pfmemalloc = 4, .ring = 4);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 8);
	for (i = 0; i < 16; i += 4) {
		put_page(ppk_pages[i]);
		ppk_put(pool, ppk_pages[i + 2]);
	}
	ppk_expect_stats(test, pool, PPK_TAKEN,
			 .ref = 4, .pfmemalloc = 4, .ring = 8);
	ppk_put_many(pool, ppk_pages + 16, BATCH - 16);
}

/*
 * A page with references of both kinds, the pool's own count and the page's:
 * dropped in every order, it leaves the pool exactly once. It is recycled when
 * the last of the pool's references finds no other, and released when it does.
 */
static void refs_every_order(struct kunit *test)
{
	const struct ppk_count_case *c = test->param_value;
	int n = c->n, mask, perm, i, left, wrong = 0, tried = 0;
	struct page_pool *pool = ppk_plain(test, 1024);
	int order[5];

	for (mask = 0; mask < 1 << n; mask++) {
		/* A set bit is a reference of the pool's kind; one there must be */
		int pp = hweight32(mask);

		if (!pp)
			continue;
		for (perm = 0; perm < ppk_factorial(n); perm++) {
			u32 released = ppk_released(pool);
			int others = n - pp, expect_release = -1;
			struct page *page = ppk_alloc(pool);

			KUNIT_ASSERT_NOT_NULL(test, page);
			page_pool_fragment_page(page, pp);
			page_ref_add(page, others);

			ppk_permutation(perm, n, order);
			left = pp;
			for (i = 0; i < n; i++) {
				if (!(mask & BIT(order[i]))) {
					others--;
					put_page(page);
					continue;
				}
				wrong += ppk_released(pool) != released;
				if (!--left)
					expect_release = others > 0;
				ppk_put(pool, page);
			}
			wrong += ppk_released(pool) - released !=
				 expect_release;
			tried++;
		}
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "of %d", tried);
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), tried);
		KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), tried);
		KUNIT_EXPECT_EQ(test, s.ref, ppk_released(pool));
	}
}

static struct kunit_case ppk_refs_cases[] = {
	KUNIT_CASE_PARAM(refs_held_page, ppk_put_ways_gen_params),
	KUNIT_CASE_PARAM(refs_pfmemalloc, ppk_put_ways_gen_params),
	KUNIT_CASE(refs_mixed_bulk),
	KUNIT_CASE_PARAM(refs_every_order, ppk_counts_gen_params),
	{}
};

static struct kunit_suite ppk_refs_suite = {
	.name = "page_pool_refs",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_refs_cases,
};

kunit_test_suites(&ppk_params_suite, &ppk_recycle_suite, &ppk_frag_suite,
		  &ppk_refs_suite);
