// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: DMA.
 *
 * The device is ours, and so are its DMA operations: they remember what is
 * mapped, count what is asked of them, and complain of a page that is mapped
 * twice, unmapped twice, or synced while it is not mapped.
 */

#include <kunit/device.h>
#include <linux/delay.h>
#include <linux/dma-map-ops.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/skbuff.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#include "page_pool_kunit.h"

#ifdef CONFIG_ARCH_HAS_DMA_OPS

/* Addresses that do not fit 32 bits, to see that all of them comes back */
#define PPK_DMA_BASE	((dma_addr_t)1 << (sizeof(dma_addr_t) > 4 ? 40 : 31))

struct ppk_dma {
	struct xarray mapped;	/* by page frame number */
	atomic_t map, unmap, sync, bad, attempts;
	atomic_long_t bytes;
	int refuse_every;	/* the n-th mapping is an error */
	unsigned int sync_delay_us;
	dma_addr_t last_addr;
	size_t last_size;
	enum dma_data_direction last_dir;
};

static dma_addr_t ppk_map_page(struct device *dev, struct page *page,
			       unsigned long offset, size_t size,
			       enum dma_data_direction dir, unsigned long attrs)
{
	struct ppk_dma *d = dev_get_drvdata(dev);
	unsigned long pfn = page_to_pfn(page);
	int n = atomic_inc_return(&d->attempts);

	if (d->refuse_every && n % d->refuse_every == 0)
		return DMA_MAPPING_ERROR;

	/* -EBUSY: mapped twice */
	if (xa_insert_irq(&d->mapped, pfn, xa_mk_value(size / PAGE_SIZE),
			  GFP_ATOMIC))
		atomic_inc(&d->bad);
	atomic_inc(&d->map);
	d->last_dir = dir;
	return PPK_DMA_BASE + PFN_PHYS(pfn) + offset;
}

static void ppk_unmap_page(struct device *dev, dma_addr_t addr, size_t size,
			   enum dma_data_direction dir, unsigned long attrs)
{
	struct ppk_dma *d = dev_get_drvdata(dev);
	void *was;

	was = xa_erase_irq(&d->mapped, PHYS_PFN(addr - PPK_DMA_BASE));
	if (was != xa_mk_value(size / PAGE_SIZE))
		atomic_inc(&d->bad);
	atomic_inc(&d->unmap);
}

static void ppk_sync_for_device(struct device *dev, dma_addr_t addr,
				size_t size, enum dma_data_direction dir)
{
	struct ppk_dma *d = dev_get_drvdata(dev);
	unsigned long pfn = PHYS_PFN(addr - PPK_DMA_BASE);

	if (!xa_load(&d->mapped, pfn))
		atomic_inc(&d->bad);
	if (d->sync_delay_us) {
		/* Long enough for a destroy to go wrong meanwhile */
		udelay(d->sync_delay_us);
		if (!xa_load(&d->mapped, pfn))
			atomic_inc(&d->bad);
	}
	atomic_inc(&d->sync);
	atomic_long_add(size, &d->bytes);
	d->last_addr = addr;
	d->last_size = size;
}

static void ppk_sync_for_cpu(struct device *dev, dma_addr_t addr, size_t size,
			     enum dma_data_direction dir)
{
}

static const struct dma_map_ops ppk_dma_ops = {
	.map_page = ppk_map_page,
	.unmap_page = ppk_unmap_page,
	.sync_single_for_device = ppk_sync_for_device,
	.sync_single_for_cpu = ppk_sync_for_cpu,
};

static void ppk_dma_end(void *arg)
{
	struct ppk_dma *d = arg;

	xa_destroy(&d->mapped);
}

static struct ppk_dma *ppk_dma_state(struct kunit *test)
{
	struct ppk_dma *d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, d);
	xa_init_flags(&d->mapped, XA_FLAGS_LOCK_IRQ);
	kunit_add_action(test, ppk_dma_end, d);
	return d;
}

static void ppk_dma_setup(struct kunit *test, struct device *dev,
			  struct ppk_dma *d)
{
	dev_set_drvdata(dev, d);
	set_dma_ops(dev, &ppk_dma_ops);
	KUNIT_ASSERT_EQ(test, 0,
			dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64)));
}

static struct ppk_dma *ppk_dma_device(struct kunit *test, struct device **dev)
{
	struct ppk_dma *d = ppk_dma_state(test);

	*dev = kunit_device_register(test, "page_pool_kunit_dma");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, *dev);
	ppk_dma_setup(test, *dev, d);
	return d;
}

static int ppk_mapped(struct ppk_dma *d)
{
	unsigned long i;
	void *entry;
	int n = 0;

	xa_for_each(&d->mapped, i, entry)
		n++;
	return n;
}

/* Pages mapped and unmapped since the beginning, and nothing out of order */
#define ppk_expect_dma(test, d, maps, unmaps)				\
	__ppk_expect_dma(test, d, maps, unmaps, __LINE__)

static void __ppk_expect_dma(struct kunit *test, struct ppk_dma *d, int maps,
			     int unmaps, int line)
{
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&d->map), maps, "line %d", line);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&d->unmap), unmaps, "line %d",
			    line);
	KUNIT_EXPECT_EQ_MSG(test, ppk_mapped(d), maps - unmaps, "line %d",
			    line);
	KUNIT_EXPECT_EQ_MSG(test, atomic_read(&d->bad), 0, "line %d", line);
}

static struct page *ppk_pages[4 * BATCH];

static struct page_pool *ppk_dma_pool(struct kunit *test, struct device *dev,
				      unsigned int flags, unsigned int size)
{
	struct page_pool_params p = {
		.pool_size = size, .nid = NUMA_NO_NODE, .dev = dev,
		.flags = PP_FLAG_DMA_MAP | flags, .dma_dir = DMA_FROM_DEVICE,
		.offset = 256, .max_len = 2000,
	};

	return ppk_create(test, &p);
}

/* Once each when they enter, once each when they leave, whatever the way out */
static void dma_map_once(struct kunit *test)
{
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);
	int i;

	pool = ppk_dma_pool(test, dev, 0, 16);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_expect_dma(test, d, BATCH, 0);
	for (i = 0; i < BATCH; i++)
		if (page_pool_get_dma_addr(ppk_pages[i]) !=
		    PPK_DMA_BASE + page_to_phys(ppk_pages[i]))
			KUNIT_FAIL(test, "address of page %d is %pad", i,
				   &ppk_pages[i]->dma_addr);

	/* Recycled both ways and taken again: no new mapping */
	for (i = 0; i < 100; i++) {
		ppk_put(pool, ppk_pages[0]);
		ppk_put_direct(pool, ppk_pages[1]);
		KUNIT_ASSERT_EQ(test, 2, ppk_alloc_many(pool, ppk_pages, 2));
	}
	ppk_expect_dma(test, d, BATCH, 0);

	/* Another user; the emergency reserve; a full ring */
	get_page(ppk_pages[0]);
	ppk_put(pool, ppk_pages[0]);
	KUNIT_EXPECT_EQ(test, page_ref_count(ppk_pages[0]), 1);
	ppk_expect_dma(test, d, BATCH, 1);
	put_page(ppk_pages[0]);
	ppk_set_pfmemalloc(ppk_pages[1]);
	ppk_put(pool, ppk_pages[1]);
	ppk_expect_dma(test, d, BATCH, 2);
	ppk_put_many(pool, ppk_pages + 2, 16);
	ppk_expect_dma(test, d, BATCH, 2);
	ppk_put(pool, ppk_pages[18]);
	ppk_put_bulk(pool, ppk_pages + 19, 16);
	ppk_expect_dma(test, d, BATCH, 2 + 17);
	ppk_put_many(pool, ppk_pages + 35, BATCH - 35);

	/* What is parked goes with the pool */
	ppk_destroy(pool);
	ppk_expect_dma(test, d, BATCH, BATCH);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void dma_no_map_unless_asked(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 16, .nid = NUMA_NO_NODE };
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);

	pool = ppk_create(test, &p);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_put_many(pool, ppk_pages, BATCH);
	ppk_destroy(pool);
	ppk_expect_dma(test, d, 0, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), 0);
}

/* Pages get an index in spare bits, or on machines that have none are found by
 * their frame number. A pool that may have no slots does as those do.
 */
#define ALL_SLOTS	U32_MAX

static const struct ppk_dma_order {
	const char *desc;
	int order;
	u32 slots;
} ppk_dma_orders[] = {
	{ "order 0", 0, ALL_SLOTS },
	{ "order 1", 1, ALL_SLOTS },
	{ "order 3", 3, ALL_SLOTS },
	{ "order 0, no slots", 0, 0 },
	{ "order 1, no slots", 1, 0 },
};

static void ppk_dma_limit(struct page_pool *pool, u32 slots)
{
	pool->dma_limit = min(pool->dma_limit, slots);
}

KUNIT_ARRAY_PARAM_DESC(ppk_dma_orders, ppk_dma_orders, desc);

static const struct ppk_dma_dir {
	const char *desc;
	enum dma_data_direction dir;
} ppk_dma_dirs[] = {
	{ "from the device", DMA_FROM_DEVICE },
	{ "both ways", DMA_BIDIRECTIONAL },
};

KUNIT_ARRAY_PARAM_DESC(ppk_dma_dirs, ppk_dma_dirs, desc);

static void dma_direction(struct kunit *test)
{
	const struct ppk_dma_dir *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 16, .nid = NUMA_NO_NODE, .flags = PP_FLAG_DMA_MAP,
		.dma_dir = c->dir,
	};
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);
	struct page *page;

	pool = ppk_create(test, &p);
	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, d->last_dir, c->dir);
	KUNIT_EXPECT_EQ(test, page_pool_get_dma_dir(pool), c->dir);
	ppk_put(pool, page);
}

/* More pages than slots: those that find none are looked after all the same */
static void dma_slots_run_out(struct kunit *test)
{
	static struct page *pages[640];
	struct page_pool_params p = {
		.pool_size = 1024, .nid = NUMA_NO_NODE, .flags = PP_FLAG_DMA_MAP,
		.dma_dir = DMA_FROM_DEVICE,
	};
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);
	int n = ARRAY_SIZE(pages), out;

	pool = ppk_create(test, &p);
	ppk_dma_limit(pool, 512);
	KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, pages, n));
	KUNIT_EXPECT_EQ(test, pool->dma_cap, 512);
	KUNIT_EXPECT_FALSE(test, xa_empty(&pool->dma_overflow));
	ppk_expect_dma(test, d, n, 0);

	/* Some of both kinds leave at once, some stay parked, some stay out */
	for (out = 0; out < n; out += 16)
		get_page(pages[out]);
	for (out = 0; out < n; out += 8)
		ppk_put(pool, pages[out]);
	for (out = 0; out < n; out += 16)
		put_page(pages[out]);
	ppk_expect_dma(test, d, n, n / 16);

	ppk_destroy(pool);
	ppk_expect_dma(test, d, n, n);
	for (out = 0; out < n; out++)
		if (out % 8)
			ppk_put(pool, pages[out]);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
	ppk_expect_dma(test, d, n, n);
}

/* As netpoll polls: to enable bottom halves would enable interrupts, too. */
static void dma_with_interrupts_off(struct kunit *test)
{
	/* Not the device of the other cases, whose locks enable interrupts. */
	struct device *dev = ppk_device(test);
	struct page_pool *pool;
	int i, bad = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "locks sleep on PREEMPT_RT");
	pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, 2 * BATCH);
	ppk_dma_limit(pool, 0);
	local_bh_disable();
	local_irq_disable();
	for (i = 0; i < BATCH; i++) {
		ppk_pages[i] = page_pool_alloc_pages(pool, GFP_ATOMIC);
		bad += !irqs_disabled();
	}
	/* Every other page leaves */
	for (i = 0; i < BATCH; i++) {
		if (i % 2)
			get_page(ppk_pages[i]);
		page_pool_put_full_page(pool, ppk_pages[i], false);
		bad += !irqs_disabled();
	}
	local_irq_enable();
	local_bh_enable();
	for (i = 1; i < BATCH; i += 2)
		put_page(ppk_pages[i]);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), BATCH / 2);
}

/* Every page that is out loses its mapping before destroy returns, and once */
static void dma_destroy_unmaps_all(struct kunit *test)
{
	const struct ppk_dma_order *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 16, .nid = NUMA_NO_NODE, .flags = PP_FLAG_DMA_MAP,
		.dma_dir = DMA_BIDIRECTIONAL, .order = c->order,
	};
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);
	int i, held, n = 2 * BATCH;

	pool = ppk_create(test, &p);
	ppk_dma_limit(pool, c->slots);
	KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
	KUNIT_EXPECT_EQ(test, xa_empty(&pool->dma_overflow), !!pool->dma_limit);
	held = ppk_held(pool);
	ppk_put_many(pool, ppk_pages, 8);
	for (i = 8; i < 16; i++)
		ppk_put_direct(pool, ppk_pages[i]);
	ppk_expect_dma(test, d, held, 0);

	ppk_destroy(pool);
	ppk_expect_dma(test, d, held, held);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), n - 16);

	/* The device may be gone by now; they come home by every road */
	get_page(ppk_pages[16]);
	ppk_put(pool, ppk_pages[16]);
	put_page(ppk_pages[16]);
	ppk_put_bulk(pool, ppk_pages + 17, 20);
	ppk_put_many(pool, ppk_pages + 37, n - 37);
	ppk_expect_dma(test, d, held, held);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* So are the pages that another CPU has staged and goes on to publish. */
static void dma_destroy_unmaps_staged(struct kunit *test)
{
	const struct ppk_dma_order *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 64, .nid = NUMA_NO_NODE, .flags = PP_FLAG_DMA_MAP,
		.dma_dir = DMA_FROM_DEVICE, .order = c->order,
	};
	struct ppk_stager *stager = ppk_stager_init(test);
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);
	int held, n = 24;

	pool = ppk_create(test, &p);
	ppk_dma_limit(pool, c->slots);
	KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
	held = ppk_held(pool);
	ppk_put_many(pool, ppk_pages + 8, n - 8);
	ppk_stager_hold(stager, pool, ppk_pages, 8);

	ppk_destroy(pool);
	ppk_expect_dma(test, d, held, held);
	KUNIT_EXPECT_FALSE(test, ppk_gone(pool, 0));
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 8);

	ppk_stager_release(stager);
	KUNIT_EXPECT_FALSE(test, stager->timed_out);
	ppk_expect_dma(test, d, held, held);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

/* A fragment that is out, and the page that the pool kept open */
static void dma_destroy_unmaps_frags(struct kunit *test)
{
	struct page_pool *pool;
	struct page *a, *b;
	struct device *dev;
	unsigned int off;
	struct ppk_dma *d = ppk_dma_device(test, &dev);

	pool = ppk_dma_pool(test, dev, 0, 16);
	a = ppk_alloc_frag(pool, &off, PAGE_SIZE / 2);
	KUNIT_ASSERT_NOT_NULL(test, a);
	b = ppk_alloc_frag(pool, &off, PAGE_SIZE / 2 + 1);
	KUNIT_ASSERT_NOT_NULL(test, b);
	ppk_put(pool, b);
	ppk_destroy(pool);
	ppk_expect_dma(test, d, REFILL, REFILL);
	ppk_put(pool, a);
	ppk_expect_dma(test, d, REFILL, REFILL);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void ppk_vdev_release(struct device *dev)
{
	vfree(dev);
	/* Whoever looks at it from now on shall fault */
	vm_unmap_aliases();
}

/* The device goes with pages in sockets: nothing may ask for it again */
static void dma_device_gone(struct kunit *test)
{
	struct ppk_dma *d = ppk_dma_state(test);
	struct page_pool *pool;
	struct device *dev;

	dev = vzalloc(sizeof(*dev));
	KUNIT_ASSERT_NOT_NULL(test, dev);
	device_initialize(dev);
	dev->release = ppk_vdev_release;
	dev_set_name(dev, "page_pool_kunit_gone");
	ppk_dma_setup(test, dev, d);

	pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, 16);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_destroy(pool);
	ppk_expect_dma(test, d, BATCH, BATCH);
	atomic_set(&d->sync, 0);
	put_device(dev);

	ppk_put_many(pool, ppk_pages, BATCH / 2);
	ppk_put_bulk(pool, ppk_pages + BATCH / 2, BATCH / 2);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
	ppk_expect_dma(test, d, BATCH, BATCH);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), 0);
}

/* Not one page can be mapped: NULL, and as if nothing had happened */
static void dma_map_fails(struct kunit *test)
{
	const struct ppk_dma_order *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 16, .nid = NUMA_NO_NODE, .flags = PP_FLAG_DMA_MAP,
		.dma_dir = DMA_FROM_DEVICE, .order = c->order,
	};
	struct page_pool *pool;
	struct ppk_dma *d = ppk_dma_device(test, &p.dev);
	unsigned int off, size = 100;
	struct page *page;

	pool = ppk_create(test, &p);
	ppk_dma_limit(pool, c->slots);
	d->refuse_every = 1;
	KUNIT_EXPECT_NULL(test, ppk_alloc(pool));
	KUNIT_EXPECT_NULL(test, ppk_alloc_frag(pool, &off, 100));
	local_bh_disable();
	page = page_pool_dev_alloc(pool, &off, &size);
	local_bh_enable();
	KUNIT_EXPECT_NULL(test, page);
	KUNIT_EXPECT_GT(test, atomic_read(&d->attempts), 0);
	ppk_expect_dma(test, d, 0, 0);
	KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 0);
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), 0);
		KUNIT_EXPECT_EQ(test, s.empty, 3);
	}

	/* And it works again when mapping does */
	d->refuse_every = 0;
	page = ppk_alloc_frag(pool, &off, 100);
	KUNIT_ASSERT_NOT_NULL(test, page);
	ppk_put(pool, page);
	ppk_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_mapped(d), 0);
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static const struct ppk_refuse_case {
	const char *desc;
	int every;
} ppk_refuse[] = {
	{ "every second", 2 }, { "every third", 3 }, { "one of a batch", 64 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_refuse, ppk_refuse, desc);

/* Some of a batch cannot be mapped: the others are used, the rest given back */
static void dma_map_fails_at_times(struct kunit *test)
{
	const struct ppk_refuse_case *c = test->param_value;
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);
	int i, n = 3 * BATCH, got, unmapped = 0;

	pool = ppk_dma_pool(test, dev, 0, 256);
	d->refuse_every = c->every;
	got = ppk_alloc_many(pool, ppk_pages, n);
	KUNIT_EXPECT_EQ(test, got, n);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), atomic_read(&d->map));
	KUNIT_EXPECT_EQ(test, ppk_mapped(d), atomic_read(&d->map));
	KUNIT_EXPECT_GT(test, atomic_read(&d->attempts), atomic_read(&d->map));
	for (i = 0; i < got; i++)
		unmapped += !xa_load(&d->mapped, page_to_pfn(ppk_pages[i]));
	KUNIT_EXPECT_EQ(test, unmapped, 0);
	ppk_put_many(pool, ppk_pages, got);
	ppk_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_mapped(d), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->bad), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->unmap), atomic_read(&d->map));
	KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
}

static void ppk_sync_put_skb(struct page_pool *pool, struct page *page)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL | __GFP_NOFAIL);

	skb_add_rx_frag(skb, 0, page, 0, 60, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	kfree_skb(skb);
}

static void ppk_sync_put_60(struct page_pool *pool, struct page *page)
{
	page_pool_put_page(pool, page, 60, false);
}

static void ppk_sync_put_60_direct(struct page_pool *pool, struct page *page)
{
	local_bh_disable();
	page_pool_put_page(pool, page, 60, true);
	local_bh_enable();
}

static void ppk_sync_put_too_much(struct page_pool *pool, struct page *page)
{
	/* A driver's mistake, which does no harm */
	if (IS_ENABLED(CONFIG_DEBUG_PAGE_POOL))
		ppk_announce(1, "WARNING: .*page_pool_debug_put");
	page_pool_put_page(pool, page, 4000, false);
}

static void ppk_sync_put_unrefed(struct page_pool *pool, struct page *page)
{
	page_pool_put_unrefed_page(pool, page, 1500, false);
}

static void ppk_sync_put_bulk(struct page_pool *pool, struct page *page)
{
	ppk_put_bulk(pool, &page, 1);
}

static void ppk_sync_put_held(struct page_pool *pool, struct page *page)
{
	get_page(page);
	ppk_put(pool, page);
	put_page(page);
}

/* How much of the page is synced: all that the device may write, unless known */
static const struct ppk_sync_case {
	const char *desc;
	void (*put)(struct page_pool *pool, struct page *page);
	int syncs;
	unsigned int bytes;
} ppk_syncs[] = {
	{ "full page", ppk_put, 1, 2000 },
	{ "full page, direct", ppk_put_direct, 1, 2000 },
	{ "60 bytes", ppk_sync_put_60, 1, 60 },
	{ "60 bytes, direct", ppk_sync_put_60_direct, 1, 60 },
	{ "more than max_len", ppk_sync_put_too_much, 1, 2000 },
	{ "unrefed", ppk_sync_put_unrefed, 1, 1500 },
	{ "bulk", ppk_sync_put_bulk, 1, 2000 },
	{ "skb", ppk_sync_put_skb, 1, 2000 },
	{ "released", ppk_sync_put_held, 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_syncs, ppk_syncs, desc);

static void dma_sync_by_path(struct kunit *test)
{
	const struct ppk_sync_case *c = test->param_value;
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);
	dma_addr_t addr;

	if (!IS_ENABLED(CONFIG_DMA_NEED_SYNC))
		kunit_skip(test, "no device of this kernel needs to be synced");

	pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	/* Fresh pages are the device's to write, up to max_len */
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), BATCH);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&d->bytes), BATCH * 2000L);

	atomic_set(&d->sync, 0);
	atomic_long_set(&d->bytes, 0);
	addr = page_pool_get_dma_addr(ppk_pages[0]) + 256;
	c->put(pool, ppk_pages[0]);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), c->syncs);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&d->bytes), c->bytes);
	if (c->syncs)
		KUNIT_EXPECT_EQ(test, d->last_addr, addr);

	/* Not again when it is taken out */
	atomic_set(&d->sync, 0);
	if (c->syncs) {
		ppk_pages[0] = ppk_alloc(pool);
		KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), 0);
		ppk_put(pool, ppk_pages[0]);
	}
	ppk_put_many(pool, ppk_pages + 1, BATCH - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->bad), 0);
}

/* The pool's own reuse of a drained fragment page is a recycling like another */
static void dma_sync_drained_frag(struct kunit *test)
{
	struct page_pool *pool;
	struct page *a, *b;
	struct device *dev;
	unsigned int off;
	struct ppk_dma *d = ppk_dma_device(test, &dev);

	if (!IS_ENABLED(CONFIG_DMA_NEED_SYNC))
		kunit_skip(test, "no device of this kernel needs to be synced");

	pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, BATCH);
	a = ppk_alloc_frag(pool, &off, PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, a);
	ppk_put(pool, a);
	atomic_set(&d->sync, 0);
	atomic_long_set(&d->bytes, 0);
	b = ppk_alloc_frag(pool, &off, PAGE_SIZE);
	KUNIT_EXPECT_PTR_EQ(test, a, b);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), 1);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&d->bytes), 2000);
	ppk_put(pool, b);
}

static void ppk_sync_none(struct kunit *test, struct page_pool *pool,
			  struct ppk_dma *d)
{
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_put_many(pool, ppk_pages, 16);
	ppk_put_bulk(pool, ppk_pages + 16, 16);
	ppk_put_direct(pool, ppk_pages[32]);
	ppk_put_many(pool, ppk_pages + 33, BATCH - 33);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->sync), 0);
}

static void dma_sync_not_asked(struct kunit *test)
{
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);

	pool = ppk_dma_pool(test, dev, 0, BATCH);
	ppk_sync_none(test, pool, d);
}

static void dma_sync_not_needed(struct kunit *test)
{
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);

	if (IS_ENABLED(CONFIG_DMA_API_DEBUG))
		kunit_skip(test, "DMA_API_DEBUG wants to see every sync");
#ifdef CONFIG_DMA_NEED_SYNC
	dev->dma_skip_sync = true;
#endif
	pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, BATCH);
	ppk_sync_none(test, pool, d);
}

/*
 * Threads on every CPU put pages, one by one and in bulk, while the pool is
 * destroyed under them, and the device is slow to sync: no page is synced that
 * is not mapped any more, each is unmapped once, and before destroy returns.
 */
static const struct ppk_dma_order ppk_dma_races[] = {
	{ "slots", 0, ALL_SLOTS },
	{ "no slots", 0, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_dma_races, ppk_dma_races, desc);

static void dma_sync_races_destroy(struct kunit *test)
{
	const struct ppk_dma_order *c = test->param_value;
	struct page_pool *pool;
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);
	int round, n = 4 * BATCH, left = 0, late = 0, stuck = 0;
	struct ppk_race *race = ppk_race_init(test);

	d->sync_delay_us = 5;
	for (round = 0; round < 40; round++) {
		pool = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, 32);
		ppk_dma_limit(pool, c->slots);
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
		ppk_race_start(race, pool, ppk_pages, n);
		/* From before the first put to long after the last */
		udelay(round * 20);
		ppk_destroy(pool);
		left += ppk_mapped(d);
		late -= atomic_read(&d->unmap);
		ppk_race_join(race);
		late += atomic_read(&d->unmap);
		stuck += !ppk_gone(pool, 1000);
	}
	KUNIT_EXPECT_EQ(test, left, 0);
	KUNIT_EXPECT_EQ(test, late, 0);
	KUNIT_EXPECT_EQ(test, stuck, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->bad), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&d->map), atomic_read(&d->unmap));
}

/* Grace periods since the kernel started, of both kinds */
static unsigned long ppk_grace_periods(void)
{
	struct rcu_gp_oldstate gp;
	unsigned long gps;

	get_state_synchronize_rcu_full(&gp);
	/* The two lowest bits say how far the current one is */
	gps = gp.rgos_norm / 4;
#ifndef CONFIG_TINY_RCU
	gps += gp.rgos_exp / 4;
#endif
	return gps;
}

/* One grace period for each of a device's queues makes a slow ifdown */
static void dma_destroy_many_fast(struct kunit *test)
{
	struct device *dev;
	struct ppk_dma *d = ppk_dma_device(test, &dev);
	static struct page_pool *pools[64];
	unsigned long gps;
	u64 took;
	int i;

	if (!IS_ENABLED(CONFIG_TREE_RCU))
		kunit_skip(test, "one CPU has no grace periods to wait for");

	for (i = 0; i < 64; i++) {
		pools[i] = ppk_dma_pool(test, dev, PP_FLAG_DMA_SYNC_DEV, 16);
		ppk_pages[i] = ppk_alloc(pools[i]);
		KUNIT_ASSERT_NOT_NULL(test, ppk_pages[i]);
	}
	took = ktime_get_ns();
	gps = ppk_grace_periods();
	for (i = 0; i < 64; i++)
		ppk_destroy(pools[i]);
	gps = ppk_grace_periods() - gps;
	took = ktime_get_ns() - took;
	KUNIT_EXPECT_EQ(test, ppk_mapped(d), 0);
	/* Others wait for some, too */
	KUNIT_EXPECT_LT(test, gps, 48);
	kunit_info(test, "64 pools in %llu us, %lu grace periods\n",
		   div_u64(took, 1000), gps);
	for (i = 0; i < 64; i++)
		ppk_put(pools[i], ppk_pages[i]);
}

static struct kunit_case ppk_dma_cases[] = {
	KUNIT_CASE(dma_map_once),
	KUNIT_CASE(dma_no_map_unless_asked),
	KUNIT_CASE_PARAM(dma_direction, ppk_dma_dirs_gen_params),
	KUNIT_CASE_PARAM(dma_destroy_unmaps_all, ppk_dma_orders_gen_params),
	KUNIT_CASE(dma_slots_run_out),
	KUNIT_CASE(dma_with_interrupts_off),
	KUNIT_CASE(dma_destroy_unmaps_frags),
	KUNIT_CASE_PARAM(dma_destroy_unmaps_staged, ppk_dma_orders_gen_params),
	KUNIT_CASE(dma_device_gone),
	KUNIT_CASE_PARAM(dma_map_fails, ppk_dma_orders_gen_params),
	KUNIT_CASE_PARAM(dma_map_fails_at_times, ppk_refuse_gen_params),
	KUNIT_CASE_PARAM(dma_sync_by_path, ppk_syncs_gen_params),
	KUNIT_CASE(dma_sync_drained_frag),
	KUNIT_CASE(dma_sync_not_asked),
	KUNIT_CASE(dma_sync_not_needed),
	KUNIT_CASE_PARAM(dma_sync_races_destroy, ppk_dma_races_gen_params),
	KUNIT_CASE(dma_destroy_many_fast),
	{}
};

#else /* !CONFIG_ARCH_HAS_DMA_OPS */

static void dma_all(struct kunit *test)
{
	kunit_skip(test, "a device of our own needs ARCH_HAS_DMA_OPS (on x86: GART_IOMMU or XEN)");
}

static struct kunit_case ppk_dma_cases[] = {
	KUNIT_CASE(dma_all),
	{}
};

#endif

static struct kunit_suite ppk_dma_suite = {
	.name = "page_pool_dma",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_dma_cases,
};

kunit_test_suites(&ppk_dma_suite);
