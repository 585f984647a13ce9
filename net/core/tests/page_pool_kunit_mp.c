// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: memory that a provider brings.
 */

#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/vmalloc.h>
#include <net/netdev_rx_queue.h>
#include <net/page_pool/memory_provider.h>

#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

/*
 * A pool only trusts a table of operations that nobody can write to, and a
 * module's is not among the kernel's read-only data.
 */
#ifndef MODULE

#define PPK_NIOVS	100

static struct {
	struct net_iov niov[PPK_NIOVS];
	bool out[PPK_NIOVS];
	int inits, allocs, releases, destroys, bad;
	int init_err;
	bool synced;
	struct device *dev;	/* instead of one that stays */
} ppk_mp;

static int ppk_mp_init(struct page_pool *pool)
{
	/* No memory that a CPU can touch, so none to sync */
	if (!ppk_mp.synced) {
		pool->dma_sync = false;
		pool->dma_sync_for_cpu = false;
	}
	ppk_mp.inits++;
	return ppk_mp.init_err;
}

static netmem_ref ppk_mp_alloc(struct page_pool *pool, gfp_t gfp)
{
	int i;

	for (i = 0; i < PPK_NIOVS; i++) {
		netmem_ref netmem = net_iov_to_netmem(&ppk_mp.niov[i]);

		if (ppk_mp.out[i])
			continue;
		ppk_mp.out[i] = true;
		ppk_mp.allocs++;
		page_pool_set_pp_info(pool, netmem);
		pool->pages_state_hold_cnt++;
		return netmem;
	}
	return 0;
}

static bool ppk_mp_release(struct page_pool *pool, netmem_ref netmem)
{
	int i = netmem_to_net_iov(netmem) - ppk_mp.niov;

	if (i < 0 || i >= PPK_NIOVS || !ppk_mp.out[i] ||
	    netmem_get_pp(netmem) != pool) {
		ppk_mp.bad++;
		return false;
	}
	page_pool_clear_pp_info(netmem);
	ppk_mp.out[i] = false;
	ppk_mp.releases++;
	/* Not a page: nothing for the pool to give to the page allocator */
	return false;
}

static void ppk_mp_destroy(struct page_pool *pool)
{
	ppk_mp.destroys++;
}

static const struct memory_provider_ops ppk_mp_ops = {
	.init = ppk_mp_init,
	.alloc_netmems = ppk_mp_alloc,
	.release_netmem = ppk_mp_release,
	.destroy = ppk_mp_destroy,
};

static struct memory_provider_ops ppk_mp_writable;

static struct page_pool *ppk_mp_create(struct kunit *test,
				       struct net_device *dev,
				       const struct memory_provider_ops *ops,
				       unsigned int flags)
{
	struct page_pool_params p = {
		.pool_size = 24, .nid = NUMA_NO_NODE,
		.flags = PP_FLAG_ALLOW_UNREADABLE_NETMEM | flags,
		.dma_dir = DMA_FROM_DEVICE, .max_len = PAGE_SIZE,
		.netdev = dev, .queue_idx = 0,
	};
	struct netdev_rx_queue *rxq;
	struct page_pool *pool;

	p.dev = ppk_mp.dev ?: ppk_device(test);
	rtnl_lock();
	rxq = __netif_get_rx_queue(dev, 0);
	rxq->mp_params.mp_ops = ops;
	pool = page_pool_create(&p);
	rxq->mp_params.mp_ops = NULL;
	rtnl_unlock();
	return pool;
}

#define PPK_MP_DMA	(PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV)

static netmem_ref ppk_mp_take(struct page_pool *pool)
{
	netmem_ref netmem;

	local_bh_disable();
	netmem = page_pool_alloc_netmems(pool, GFP_ATOMIC | __GFP_NOWARN);
	local_bh_enable();
	return netmem;
}

static void provider_serves_pool(struct kunit *test)
{
	struct net_device *dev = ppk_netdev(test);
	static netmem_ref nm[PPK_NIOVS];
	netmem_ref again;
	struct page_pool *pool;
	int i;

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	pool = ppk_mp_create(test, dev, &ppk_mp_ops, PPK_MP_DMA);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	KUNIT_EXPECT_EQ(test, ppk_mp.inits, 1);

	for (i = 0; i < PPK_NIOVS; i++) {
		nm[i] = ppk_mp_take(pool);
		KUNIT_ASSERT_TRUE(test, nm[i] && netmem_is_net_iov(nm[i]));
	}
	/* One at a time: each allocation asks the provider */
	KUNIT_EXPECT_EQ(test, ppk_mp.allocs, PPK_NIOVS);
	KUNIT_EXPECT_FALSE(test, ppk_mp_take(pool));
	ppk_expect_stats(test, pool, .slow = PPK_NIOVS,
			 .empty = PPK_NIOVS + 1);

	/* Recycled like a page, both ways, and with no eye on nodes */
	page_pool_put_full_netmem(pool, nm[0], false);
	local_bh_disable();
	page_pool_put_full_netmem(pool, nm[1], true);
	local_bh_enable();
	again = ppk_mp_take(pool);
	KUNIT_EXPECT_TRUE(test, again == nm[1]);
	again = ppk_mp_take(pool);
	KUNIT_EXPECT_TRUE(test, again == nm[0]);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, 0);
	ppk_expect_stats(test, pool, .slow = PPK_NIOVS,
			 .empty = PPK_NIOVS + 1, .ring = 1, .cached = 1,
			 .fast = 1, .refill = 1);

	/* No room in the ring: back to the provider */
	for (i = 0; i < 40; i++)
		page_pool_put_full_netmem(pool, nm[i], false);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, 16);
	ppk_expect_stats(test, pool, .slow = PPK_NIOVS,
			 .empty = PPK_NIOVS + 1, .ring = 25, .cached = 1,
			 .fast = 1, .refill = 1, .ring_full = 16);

	/* What is parked goes home at destroy, the rest when it is put */
	page_pool_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, 40);
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 0);
	for (i = 40; i < PPK_NIOVS; i++)
		page_pool_put_full_netmem(pool, nm[i], false);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, PPK_NIOVS);
	for (i = 0; i < PPK_FREE_MS && !READ_ONCE(ppk_mp.destroys); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 1);
	KUNIT_EXPECT_EQ(test, ppk_mp.bad, 0);
}

/* A fragment of provider's memory is a reference, not a piece of a page */
static void provider_fragments(struct kunit *test)
{
	struct net_device *dev = ppk_netdev(test);
	struct page_pool *pool;
	unsigned int off[2];
	netmem_ref nm[2];
	int i;

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	pool = ppk_mp_create(test, dev, &ppk_mp_ops, PPK_MP_DMA);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	for (i = 0; i < 2; i++) {
		local_bh_disable();
		nm[i] = page_pool_alloc_frag_netmem(pool, &off[i],
						    PAGE_SIZE / 2,
						    GFP_ATOMIC | __GFP_NOWARN);
		local_bh_enable();
		KUNIT_ASSERT_TRUE(test, nm[i]);
	}
	KUNIT_EXPECT_TRUE(test, nm[0] == nm[1]);
	KUNIT_EXPECT_EQ(test, off[1], PAGE_SIZE / 2);
	page_pool_put_full_netmem(pool, nm[0], false);
	page_pool_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, 0);
	page_pool_put_full_netmem(pool, nm[1], false);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, 1);
	for (i = 0; i < PPK_FREE_MS && !READ_ONCE(ppk_mp.destroys); i++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 1);
}

static void ppk_mp_vdev_release(struct device *dev)
{
	vfree(dev);
	/* Whoever looks at it from now on shall fault */
	vm_unmap_aliases();
}

/* The device goes with memory in sockets: nothing may ask for it again. */
static void provider_device_gone(struct kunit *test)
{
	struct net_device *netdev = ppk_netdev(test);
	static netmem_ref nm[PPK_NIOVS];
	struct page_pool *pool;
	int i;

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	ppk_mp.synced = true;
	ppk_mp.dev = vzalloc(sizeof(*ppk_mp.dev));
	KUNIT_ASSERT_NOT_NULL(test, ppk_mp.dev);
	device_initialize(ppk_mp.dev);
	ppk_mp.dev->release = ppk_mp_vdev_release;
	dev_set_name(ppk_mp.dev, "page_pool_kunit_mp_gone");
	/* nothing is mapped, so nothing is to be synced before either */
#ifdef CONFIG_DMA_NEED_SYNC
	ppk_mp.dev->dma_skip_sync = true;
#endif

	pool = ppk_mp_create(test, netdev, &ppk_mp_ops, PPK_MP_DMA);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	for (i = 0; i < PPK_NIOVS; i++)
		nm[i] = ppk_mp_take(pool);
	page_pool_destroy(pool);
	put_device(ppk_mp.dev);
	ppk_mp.dev = NULL;

	for (i = 0; i < PPK_NIOVS; i++)
		page_pool_put_full_netmem(pool, nm[i], false);
	/* The work that frees the pool calls the provider. */
	for (i = 0; i < PPK_FREE_MS && !READ_ONCE(ppk_mp.destroys); i += 20)
		msleep(20);
	KUNIT_EXPECT_EQ(test, ppk_mp.releases, PPK_NIOVS);
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 1);
	KUNIT_EXPECT_EQ(test, ppk_mp.bad, 0);
}

static const struct ppk_mp_flags {
	const char *desc;
	unsigned int flags;
	int err;
} ppk_mp_refused[] = {
	{ "no mapping", 0, -EOPNOTSUPP },
	{ "no syncing", PP_FLAG_DMA_MAP, -EOPNOTSUPP },
	{ "syncing without mapping", PP_FLAG_DMA_SYNC_DEV, -EINVAL },
};

KUNIT_ARRAY_PARAM_DESC(ppk_mp_refused, ppk_mp_refused, desc);

static void provider_needs_dma_flags(struct kunit *test)
{
	const struct ppk_mp_flags *c = test->param_value;
	struct net_device *dev = ppk_netdev(test);

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(c->err),
			    ppk_mp_create(test, dev, &ppk_mp_ops, c->flags));
	KUNIT_EXPECT_EQ(test, ppk_mp.inits, 0);
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 0);
}

static void provider_init_fails(struct kunit *test)
{
	struct net_device *dev = ppk_netdev(test);

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	ppk_mp.init_err = -EBUSY;
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EBUSY),
			    ppk_mp_create(test, dev, &ppk_mp_ops, PPK_MP_DMA));
	KUNIT_EXPECT_EQ(test, ppk_mp.inits, 1);
	/* What was not begun is not ended */
	KUNIT_EXPECT_EQ(test, ppk_mp.destroys, 0);
}

static void provider_table_writable(struct kunit *test)
{
	struct net_device *dev = ppk_netdev(test);
	struct ppk_log log;

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	ppk_mp_writable = ppk_mp_ops;
	ppk_announce(1, "WARNING: .*page_pool");
	ppk_log_mark(&log);
	KUNIT_EXPECT_PTR_EQ(test, ERR_PTR(-EFAULT),
			    ppk_mp_create(test, dev, &ppk_mp_writable,
					  PPK_MP_DMA));
	KUNIT_EXPECT_EQ(test, 1, ppk_log_count(&log, "WARNING:"));
	KUNIT_EXPECT_EQ(test, ppk_mp.inits, 0);
}

/* The queue has none: an ordinary pool, with pages */
static void provider_absent(struct kunit *test)
{
	struct net_device *dev = ppk_netdev(test);
	struct page_pool *pool;
	struct page *page;

	memset(&ppk_mp, 0, sizeof(ppk_mp));
	pool = ppk_mp_create(test, dev, NULL, PPK_MP_DMA);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pool);
	page = ppk_alloc(pool);
	KUNIT_EXPECT_NOT_NULL(test, page);
	if (page)
		ppk_put(pool, page);
	page_pool_destroy(pool);
	KUNIT_EXPECT_EQ(test, ppk_mp.inits, 0);
}

static struct kunit_case ppk_mp_cases[] = {
	KUNIT_CASE(provider_serves_pool),
	KUNIT_CASE(provider_fragments),
	KUNIT_CASE(provider_device_gone),
	KUNIT_CASE_PARAM(provider_needs_dma_flags, ppk_mp_refused_gen_params),
	KUNIT_CASE(provider_init_fails),
	KUNIT_CASE(provider_table_writable),
	KUNIT_CASE(provider_absent),
	{}
};

#else

static void provider_all(struct kunit *test)
{
	kunit_skip(test, "a module's table of operations is never accepted");
}

static struct kunit_case ppk_mp_cases[] = {
	KUNIT_CASE(provider_all),
	{}
};

#endif

static struct kunit_suite ppk_mp_suite = {
	.name = "page_pool_provider",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_mp_cases,
};

kunit_test_suites(&ppk_mp_suite);
