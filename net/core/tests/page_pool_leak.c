// SPDX-License-Identifier: GPL-2.0
/*
 * A driver that leaks pages of its page pool, on demand.
 *
 * What finds leaks is tested with one that is known. Write to the "leak"
 * parameter:
 *
 *	dma N		make a pool that maps its pages, lose N of them
 *	plain N		the same, of a pool that does not
 *	destroy		destroy the pool, the pages are still lost
 *	return		they are found again; destroy the pool if that was not done
 *
 * One pool at a time; it has no netdev.
 */

#include <linux/bottom_half.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/string.h>
#include <net/page_pool/helpers.h>

#define LEAK_MAX	1000

static DEFINE_MUTEX(leak_lock);
static struct platform_device *leak_dev;
static struct page_pool *leak_pool;
static bool leak_destroyed;
static bool leak_over;
static struct page *leak_pages[LEAK_MAX];
static unsigned int leak_nr;

static int leak_make_dev(void)
{
	int err;

	if (leak_dev)
		return 0;

	leak_dev = platform_device_register_simple("page_pool_leak",
						   PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(leak_dev)) {
		err = PTR_ERR(leak_dev);
		leak_dev = NULL;
		return err;
	}

	err = dma_set_mask_and_coherent(&leak_dev->dev, DMA_BIT_MASK(64));
	if (err) {
		platform_device_unregister(leak_dev);
		leak_dev = NULL;
	}
	return err;
}

static int leak_return(void)
{
	unsigned int i;

	if (!leak_pool)
		return -ENOENT;

	for (i = 0; i < leak_nr; i++)
		page_pool_put_full_page(leak_pool, leak_pages[i], false);
	leak_nr = 0;
	if (!leak_destroyed)
		page_pool_destroy(leak_pool);
	leak_pool = NULL;

	return 0;
}

static int leak_take(unsigned int nr, bool dma)
{
	struct page_pool_params params = {
		.pool_size = 256,
		.nid = NUMA_NO_NODE,
	};
	int err;

	if (leak_pool)
		return -EBUSY;
	if (nr > LEAK_MAX)
		return -EINVAL;

	if (dma) {
		err = leak_make_dev();
		if (err)
			return err;
		params.flags = PP_FLAG_DMA_MAP;
		params.dma_dir = DMA_FROM_DEVICE;
		params.dev = &leak_dev->dev;
	}

	leak_pool = page_pool_create(&params);
	if (IS_ERR(leak_pool)) {
		err = PTR_ERR(leak_pool);
		leak_pool = NULL;
		return err;
	}
	leak_destroyed = false;

	while (leak_nr < nr) {
		struct page *page;

		local_bh_disable();
		page = page_pool_dev_alloc_pages(leak_pool);
		local_bh_enable();
		if (!page) {
			leak_return();
			return -ENOMEM;
		}
		leak_pages[leak_nr++] = page;
	}

	return 0;
}

static int leak_destroy(void)
{
	if (!leak_pool || leak_destroyed)
		return -ENOENT;

	/* With the last page the pool goes. */
	if (!leak_nr)
		return leak_return();
	page_pool_destroy(leak_pool);
	leak_destroyed = true;

	return 0;
}

static int leak_set(const char *val, const struct kernel_param *kp)
{
	unsigned int nr;
	int err;

	mutex_lock(&leak_lock);
	if (leak_over)
		err = -ENODEV;
	else if (sscanf(val, "dma %u", &nr) == 1)
		err = leak_take(nr, true);
	else if (sscanf(val, "plain %u", &nr) == 1)
		err = leak_take(nr, false);
	else if (sysfs_streq(val, "destroy"))
		err = leak_destroy();
	else if (sysfs_streq(val, "return"))
		err = leak_return();
	else
		err = -EINVAL;
	mutex_unlock(&leak_lock);

	return err;
}

static const struct kernel_param_ops leak_ops = {
	.set = leak_set,
};

module_param_cb(leak, &leak_ops, NULL, 0200);
MODULE_PARM_DESC(leak, "dma N, plain N, destroy or return");

/* The parameter goes after this. */
static void __exit leak_exit(void)
{
	mutex_lock(&leak_lock);
	leak_over = true;
	leak_return();
	mutex_unlock(&leak_lock);
	if (leak_dev)
		platform_device_unregister(leak_dev);
}

static int __init leak_init(void)
{
	return 0;
}

module_init(leak_init);
module_exit(leak_exit);

MODULE_DESCRIPTION("Leak pages of a page pool, for tests of what finds them");
MODULE_LICENSE("GPL");
