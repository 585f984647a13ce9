// SPDX-License-Identifier: GPL-2.0
/*
 * Provoke a kernel report on demand.
 *
 * The page pool tests rely on the lock validator and on DMA API debugging to
 * speak up, and on a judge that reads the kernel log.  A judge that never saw a
 * report proves nothing, and neither does an image whose checkers are off.
 * Write the name of a report to the "provoke" parameter and see it arrive:
 *
 *	echo lockdep > /sys/module/page_pool_selfcheck/parameters/provoke
 *	echo dma > /sys/module/page_pool_selfcheck/parameters/provoke
 *
 * Neither does harm beyond the report: no deadlock can happen, and the mapping
 * that is undone twice belongs to a device that does not exist.  The lock
 * validator turns itself off after its first report, so this needs a boot of
 * its own.
 */

#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static DEFINE_SPINLOCK(selfcheck_lock_a);
static DEFINE_SPINLOCK(selfcheck_lock_b);

static int selfcheck_lockdep(void)
{
	/* One order, then the other: enough for the validator. */
	spin_lock(&selfcheck_lock_a);
	spin_lock(&selfcheck_lock_b);
	spin_unlock(&selfcheck_lock_b);
	spin_unlock(&selfcheck_lock_a);

	spin_lock(&selfcheck_lock_b);
	spin_lock(&selfcheck_lock_a);
	spin_unlock(&selfcheck_lock_a);
	spin_unlock(&selfcheck_lock_b);

	return 0;
}

static int selfcheck_dma(void)
{
	struct platform_device *pdev;
	dma_addr_t addr;
	void *buf;
	int err;

	buf = kmalloc(PAGE_SIZE, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;

	pdev = platform_device_register_simple("page_pool_selfcheck",
					       PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev)) {
		err = PTR_ERR(pdev);
		goto out_free;
	}

	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto out_unregister;

	addr = dma_map_single(&pdev->dev, buf, PAGE_SIZE, DMA_FROM_DEVICE);
	err = dma_mapping_error(&pdev->dev, addr);
	if (err)
		goto out_unregister;

	/* The second one is the fault that a pool must never commit. */
	dma_unmap_single(&pdev->dev, addr, PAGE_SIZE, DMA_FROM_DEVICE);
	dma_unmap_single(&pdev->dev, addr, PAGE_SIZE, DMA_FROM_DEVICE);

out_unregister:
	platform_device_unregister(pdev);
out_free:
	kfree(buf);
	return err;
}

static int selfcheck_provoke(const char *val, const struct kernel_param *kp)
{
	if (sysfs_streq(val, "lockdep"))
		return selfcheck_lockdep();
	if (sysfs_streq(val, "dma"))
		return selfcheck_dma();
	return -EINVAL;
}

static const struct kernel_param_ops selfcheck_provoke_ops = {
	.set = selfcheck_provoke,
};

module_param_cb(provoke, &selfcheck_provoke_ops, NULL, 0200);
MODULE_PARM_DESC(provoke, "report to provoke: lockdep or dma");

MODULE_DESCRIPTION("Provoke lockdep and DMA debug reports, for tests of tests");
MODULE_LICENSE("GPL");
