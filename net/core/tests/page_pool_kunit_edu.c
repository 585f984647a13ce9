// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: a device that writes to memory.
 *
 * Fake DMA operations tell what was asked of them, not what it was good for.
 * QEMU's "edu" device (-device edu,dma_mask=0xffffffff) writes wherever it is told:
 * through bounce buffers, and past an IOMMU or not.
 */

#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/pci.h>

#include "page_pool_kunit.h"

#define EDU_SRC		0x80
#define EDU_DST		0x88
#define EDU_COUNT	0x90
#define EDU_CMD		0x98
#define EDU_CMD_RUN	BIT(0)
#define EDU_CMD_TO_RAM	BIT(1)
#define EDU_BUF		0x40000	/* its own memory, as its DMA engine sees it */

#define OFFSET		256
#define LEN		1000

struct ppk_edu {
	struct pci_dev *pdev;
	void __iomem *regs;
	dma_addr_t dma;
	u8 *data;		/* what the device writes */
};

static void ppk_edu_end(void *arg)
{
	struct ppk_edu *e = arg;

	if (e->data)
		dma_free_coherent(&e->pdev->dev, LEN, e->data, e->dma);
	if (e->regs)
		pci_iounmap(e->pdev, e->regs);
	pci_disable_device(e->pdev);
	pci_dev_put(e->pdev);
}

static void ppk_edu_dma(struct kunit *test, struct ppk_edu *e, u32 src, u32 dst,
			u32 count, u32 cmd)
{
	int ms;

	writel(src, e->regs + EDU_SRC);
	writel(dst, e->regs + EDU_DST);
	writel(count, e->regs + EDU_COUNT);
	writel(cmd | EDU_CMD_RUN, e->regs + EDU_CMD);
	for (ms = 0; readl(e->regs + EDU_CMD) & EDU_CMD_RUN; ms += 20) {
		KUNIT_ASSERT_LT(test, ms, 20000);
		msleep(20);
	}
}

static void ppk_edu_write(struct kunit *test, struct ppk_edu *e,
			  dma_addr_t addr, u32 count)
{
	ppk_edu_dma(test, e, EDU_BUF, addr, count, EDU_CMD_TO_RAM);
}

static struct ppk_edu *ppk_edu(struct kunit *test)
{
	struct ppk_edu *e = kunit_kzalloc(test, sizeof(*e), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, e);
	if (IS_ENABLED(CONFIG_PCI))
		e->pdev = pci_get_device(0x1234, 0x11e8, NULL);
	if (!e->pdev)
		kunit_skip(test, "no device edu");
	if (pci_enable_device(e->pdev)) {
		pci_dev_put(e->pdev);
		KUNIT_FAIL_AND_ABORT(test, "device edu is not to be enabled");
	}
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ppk_edu_end, e));
	pci_set_master(e->pdev);
	KUNIT_ASSERT_EQ(test, 0, dma_set_mask_and_coherent(&e->pdev->dev,
							   DMA_BIT_MASK(32)));
	e->regs = pci_iomap(e->pdev, 0, 0);
	KUNIT_ASSERT_TRUE(test, !!e->regs);
	e->data = dma_alloc_coherent(&e->pdev->dev, LEN, &e->dma, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, e->data);
	for (i = 0; i < LEN; i++)
		e->data[i] = i * 7 + i / 251;
	ppk_edu_dma(test, e, e->dma, EDU_BUF, LEN, 0);
	return e;
}

static struct page_pool *ppk_edu_pool(struct kunit *test, struct ppk_edu *e,
				      enum dma_data_direction dir)
{
	struct page_pool_params p = {
		.pool_size = 16, .nid = NUMA_NO_NODE, .dev = &e->pdev->dev,
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.dma_dir = dir, .offset = OFFSET, .max_len = LEN,
	};

	return ppk_create(test, &p);
}

/*
 * What the device wrote is read. In a pool that maps both ways what it did not write
 * is what the CPU left there. With bounce buffers the first is the sync for the CPU;
 * the second is that for the device, without which an older frame would show up.
 */
static void device_writes(struct kunit *test)
{
	struct ppk_edu *e = ppk_edu(test);
	const enum dma_data_direction *dir = test->param_value;
	struct page_pool *pool = ppk_edu_pool(test, e, *dir);
	struct page *pages[BATCH];
	unsigned int len, i;
	u8 *va;

	/* With all others out it is the same page that comes back. */
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, pages, BATCH));
	va = page_address(pages[0]) + OFFSET;
	for (i = 0; i < 3; i++) {
		struct page *page = pages[0];

		len = LEN - i * 400;
		ppk_edu_write(test, e, page_pool_get_dma_addr(page) + OFFSET,
			      len);
		page_pool_dma_sync_for_cpu(pool, page, 0, LEN);
		KUNIT_EXPECT_MEMEQ(test, va, e->data, len);
		if (*dir == DMA_BIDIRECTIONAL)
			KUNIT_EXPECT_NULL(test, memchr_inv(va + len, 0xee,
							   LEN - len));
		memset(va, 0xee, LEN);
		ppk_put(pool, page);
		pages[0] = ppk_alloc(pool);
		KUNIT_EXPECT_PTR_EQ(test, pages[0], page);
		if (pages[0] != page)
			break;
	}
	ppk_put_many(pool, pages + !pages[0], BATCH - !pages[0]);
	ppk_destroy(pool);
}

static const enum dma_data_direction ppk_edu_dirs[] = {
	DMA_FROM_DEVICE, DMA_BIDIRECTIONAL,
};

static void ppk_edu_dir_desc(const enum dma_data_direction *dir, char *desc)
{
	strscpy(desc, *dir == DMA_BIDIRECTIONAL ? "both ways" : "from the device",
		KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(ppk_edu_dirs, ppk_edu_dirs, ppk_edu_dir_desc);

static void ppk_edu_destroy(struct page_pool *pool, struct page *page)
{
	ppk_destroy(pool);
}

/* With another user a page that is put leaves the pool. */
static void ppk_edu_release(struct page_pool *pool, struct page *page)
{
	ppk_put(pool, page);
}

static const struct ppk_edu_way {
	const char *desc;
	void (*leave)(struct page_pool *pool, struct page *page);
} ppk_edu_ways[] = {
	{ "pool destroyed", ppk_edu_destroy },
	{ "page released", ppk_edu_release },
};

KUNIT_ARRAY_PARAM_DESC(ppk_edu_ways, ppk_edu_ways, desc);

/*
 * A page that left its pool is out of the device's reach at once: the IOMMU stops
 * what writes there, and the judge of the log wants to see that it said so.
 */
static void device_writes_late(struct kunit *test)
{
	const struct ppk_edu_way *way = test->param_value;
	struct ppk_edu *e = ppk_edu(test);
	struct iommu_domain *domain = iommu_get_domain_for_dev(&e->pdev->dev);
	unsigned int left = PAGE_SIZE - OFFSET;
	struct page_pool *pool;
	struct page *page;
	dma_addr_t addr;
	u8 *va;

	if (!domain || domain->type != IOMMU_DOMAIN_DMA)
		kunit_skip(test, "no IOMMU in strict mode");

	pool = ppk_edu_pool(test, e, DMA_FROM_DEVICE);
	page = ppk_alloc(pool);
	KUNIT_ASSERT_NOT_NULL(test, page);
	get_page(page);
	addr = page_pool_get_dma_addr(page);
	va = page_address(page) + OFFSET;
	ppk_edu_write(test, e, addr + OFFSET, LEN);
	KUNIT_EXPECT_MEMEQ(test, va, e->data, LEN);

	memset(va, 0x55, left);
	way->leave(pool, page);
	pr_info("pp-expect: 1 DMAR: .*Write.* fault addr 0x%llx\\b\n",
		(u64)addr);
	ppk_edu_write(test, e, addr + OFFSET, LEN);
	/* It is said from an interrupt. */
	msleep(200);
	KUNIT_EXPECT_NULL(test, memchr_inv(va, 0x55, left));

	if (way->leave == ppk_edu_destroy)
		ppk_put(pool, page);
	else
		ppk_destroy(pool);
	put_page(page);
}

static struct kunit_case ppk_edu_cases[] = {
	KUNIT_CASE_PARAM(device_writes, ppk_edu_dirs_gen_params),
	KUNIT_CASE_PARAM(device_writes_late, ppk_edu_ways_gen_params),
	{}
};

static struct kunit_suite ppk_edu_suite = {
	.name = "page_pool_device",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_edu_cases,
};

kunit_test_suites(&ppk_edu_suite);
