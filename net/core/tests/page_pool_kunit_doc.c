// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of the page pool: the code of the driver author's guide.
 *
 * The driver of the documentation is loaded, receives frames, is unloaded with
 * frames still unread, and leaves no pool behind.
 */

#include <linux/delay.h>
#include <linux/dma-map-ops.h>
#include <linux/etherdevice.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>

#include "page_pool_example.h"
#include "page_pool_kunit.h"

static netdev_tx_t ppk_doc_xmit(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops ppk_doc_ops = {
	.ndo_open = example_open,
	.ndo_stop = example_stop,
	.ndo_start_xmit = ppk_doc_xmit,
};

struct ppk_doc {
	struct net_device *netdev;
	struct example_ring *ring;
	struct packet_type pt;
	struct sk_buff_head unread;
	unsigned int taken;
	u64 before[PPK_NSTATS], now[PPK_NSTATS];
};

/* A socket that nobody reads */
static int ppk_doc_rcv(struct sk_buff *skb, struct net_device *dev,
		       struct packet_type *pt, struct net_device *orig)
{
	struct ppk_doc *doc = pt->af_packet_priv;

	skb_queue_tail(&doc->unread, skb);
	return NET_RX_SUCCESS;
}

/* @n frames from the wire, every fourth with an error if @errors; then a poll */
static int ppk_doc_frames(struct ppk_doc *doc, int n, bool errors)
{
	struct {
		struct ethhdr eth;
		u8 data[86];
	} frame = {};
	int i, good = 0;

	ether_addr_copy(frame.eth.h_dest, doc->netdev->dev_addr);
	eth_random_addr(frame.eth.h_source);
	frame.eth.h_proto = htons(ETH_P_802_EX1);

	for (i = 0; i < n; i++) {
		bool error = errors && i % 4 == 3;

		memset(frame.data, i, sizeof(frame.data));
		if (!example_device_receive(doc->ring, &doc->taken, &frame,
					    sizeof(frame), error))
			break;
		good += !error;
	}
	/* The interrupt */
	local_bh_disable();
	napi_schedule(&doc->ring->napi);
	local_bh_enable();
	return good;
}

static bool ppk_doc_wait_unread(struct ppk_doc *doc, int n)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (skb_queue_len_lockless(&doc->unread) == n)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static bool ppk_doc_no_pool(struct ppk_doc *doc, int ms)
{
	do {
		if (hlist_empty(&doc->netdev->page_pools))
			return true;
		usleep_range(1000, 2000);
	} while (ms-- > 0);
	return false;
}

static void ppk_doc_counters(struct kunit *test, struct ppk_doc *doc)
{
	int i;

	if (!PPK_STATS)
		return;
	memcpy(doc->before, doc->now, sizeof(doc->before));
	example_get_ethtool_stats(doc->netdev, NULL, doc->now);
	for (i = 0; i < PPK_NSTATS; i++)
		KUNIT_EXPECT_GE(test, doc->now[i], doc->before[i]);
}

/* Handed out: put again, or still out */
static void ppk_doc_add_up(struct kunit *test, struct ppk_doc *doc, int out)
{
	const struct ppk_stats *s = (const struct ppk_stats *)doc->now;

	if (PPK_STATS)
		KUNIT_EXPECT_EQ(test, ppk_handed_out(s),
				ppk_last_puts(s) + out);
}

static void ppk_doc_end(void *arg)
{
	struct ppk_doc *doc = arg;

	dev_remove_pack(&doc->pt);
	unregister_netdev(doc->netdev);
	skb_queue_purge(&doc->unread);
	/* The documentation leaves it to the core to remove the NAPI */
	free_netdev(doc->netdev);
}

static int ppk_doc_up(struct ppk_doc *doc, bool up)
{
	int err = 0;

	rtnl_lock();
	if (up)
		err = dev_open(doc->netdev, NULL);
	else
		dev_close(doc->netdev);
	/* The device begins where the driver has posted */
	doc->taken = doc->ring->cleaned;
	rtnl_unlock();
	return err;
}

static void ppk_doc_halves(struct kunit *test, struct ppk_doc *doc)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct page_pool *pool = ppk_create(test, &p);
	unsigned int offset[2];
	struct page *page[2];
	int n;

	local_bh_disable();
	n = example_post_halves(pool, page, offset);
	local_bh_enable();
	KUNIT_ASSERT_EQ(test, n, 2);
	KUNIT_EXPECT_PTR_EQ(test, page[0], page[1]);
	KUNIT_EXPECT_EQ(test, offset[0], 0);
	KUNIT_EXPECT_EQ(test, offset[1], PAGE_SIZE / 2);
	ppk_put(pool, page[0]);
	ppk_put(pool, page[1]);
}

/* The driver is loaded */
static struct ppk_doc *ppk_doc_begin(struct kunit *test, struct device *dev)
{
	struct ppk_doc *doc;

	doc = kunit_kzalloc(test, sizeof(*doc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, doc);
	skb_queue_head_init(&doc->unread);
	doc->netdev = alloc_etherdev(sizeof(struct example_priv));
	KUNIT_ASSERT_NOT_NULL(test, doc->netdev);
	doc->ring = &((struct example_priv *)netdev_priv(doc->netdev))->ring;
	eth_hw_addr_random(doc->netdev);
	doc->netdev->netdev_ops = &ppk_doc_ops;
	strscpy(doc->netdev->name, "ppkdoc%d", IFNAMSIZ);
	example_probe(doc->netdev, dev);
	if (register_netdev(doc->netdev)) {
		free_netdev(doc->netdev);
		KUNIT_FAIL_AND_ABORT(test, "no test device");
	}
	doc->pt.type = htons(ETH_P_802_EX1);
	doc->pt.dev = doc->netdev;
	doc->pt.func = ppk_doc_rcv;
	doc->pt.af_packet_priv = doc;
	dev_add_pack(&doc->pt);
	kunit_add_action(test, ppk_doc_end, doc);
	return doc;
}

static void page_pool_doc_example(struct kunit *test)
{
	struct ppk_doc *doc = ppk_doc_begin(test, ppk_device(test));
	u8 names[PPK_NSTATS][ETH_GSTRING_LEN];
	struct sk_buff *skb;
	int good, held;

	/* Counters have names, and none for what is not there */
	KUNIT_EXPECT_EQ(test, example_get_sset_count(doc->netdev, ETH_SS_STATS),
			PPK_STATS ? PPK_NSTATS : 0);
	KUNIT_EXPECT_EQ(test, example_get_sset_count(doc->netdev, ETH_SS_TEST),
			-EOPNOTSUPP);
	memset(names, 0, sizeof(names));
	example_get_strings(doc->netdev, ETH_SS_STATS, names[0]);
	KUNIT_EXPECT_STREQ(test, (char *)names[0],
			   PPK_STATS ? "rx_pp_alloc_fast" : "");

	KUNIT_EXPECT_TRUE(test, ppk_doc_no_pool(doc, 0));
	KUNIT_ASSERT_EQ(test, 0, ppk_doc_up(doc, true));
	KUNIT_EXPECT_FALSE(test, ppk_doc_no_pool(doc, 0));
	ppk_doc_counters(test, doc);
	ppk_doc_add_up(test, doc, EXAMPLE_RING_SIZE);

	/* Frames come in whole, and are read */
	good = ppk_doc_frames(doc, 40, true);
	KUNIT_EXPECT_EQ(test, good, 30);
	KUNIT_ASSERT_TRUE(test, ppk_doc_wait_unread(doc, good));
	skb = skb_peek_tail(&doc->unread);
	KUNIT_EXPECT_EQ(test, skb->len, 86);
	KUNIT_EXPECT_EQ(test, skb->data[85], 38);
	KUNIT_EXPECT_TRUE(test, skb->pp_recycle);
	ppk_doc_counters(test, doc);
	ppk_doc_add_up(test, doc, EXAMPLE_RING_SIZE + good);
	skb_queue_purge(&doc->unread);
	ppk_doc_counters(test, doc);
	ppk_doc_add_up(test, doc, EXAMPLE_RING_SIZE);
	if (PPK_STATS)
		KUNIT_EXPECT_GE(test, ((struct ppk_stats *)doc->now)->cached,
				10);

	/* Down with nothing out: no pool is left */
	ppk_doc_up(doc, false);
	KUNIT_EXPECT_TRUE(test, ppk_doc_no_pool(doc, PPK_FREE_MS));
	ppk_doc_counters(test, doc);
	ppk_doc_add_up(test, doc, 0);

	/* Down with frames unread: it waits for them, and goes with the last */
	KUNIT_ASSERT_EQ(test, 0, ppk_doc_up(doc, true));
	held = ppk_doc_frames(doc, 20, false);
	KUNIT_EXPECT_EQ(test, held, 20);
	KUNIT_ASSERT_TRUE(test, ppk_doc_wait_unread(doc, held));
	ppk_doc_up(doc, false);
	ppk_doc_counters(test, doc);
	/* What is still out counts as given back when the pool is destroyed */
	ppk_doc_add_up(test, doc, 0);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, ppk_doc_no_pool(doc, 0));
	while (--held)
		kfree_skb(skb_dequeue(&doc->unread));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, ppk_doc_no_pool(doc, 0));
	skb_queue_purge(&doc->unread);
	KUNIT_EXPECT_TRUE(test, ppk_doc_no_pool(doc, PPK_FREE_MS));
	ppk_doc_counters(test, doc);
	KUNIT_EXPECT_EQ(test, doc->ring->alloc_fail, 0);

	ppk_doc_halves(test, doc);
}

#ifdef CONFIG_ARCH_HAS_DMA_OPS
static dma_addr_t ppk_doc_map_none(struct device *dev, struct page *page,
				   unsigned long offset, size_t size,
				   enum dma_data_direction dir,
				   unsigned long attrs)
{
	return DMA_MAPPING_ERROR;
}

static const struct dma_map_ops ppk_doc_no_dma = {
	.map_page = ppk_doc_map_none,
};

/* With nothing to receive into it does not come up, and leaves nothing behind */
static void page_pool_doc_no_page(struct kunit *test)
{
	struct device *dev = ppk_device(test);
	struct ppk_doc *doc = ppk_doc_begin(test, dev);

	set_dma_ops(dev, &ppk_doc_no_dma);
	KUNIT_EXPECT_EQ(test, ppk_doc_up(doc, true), -ENOMEM);
	KUNIT_EXPECT_FALSE(test, netif_running(doc->netdev));
	KUNIT_EXPECT_NULL(test, doc->ring->pool);
	KUNIT_EXPECT_TRUE(test, ppk_doc_no_pool(doc, PPK_FREE_MS));
	KUNIT_EXPECT_EQ(test, doc->ring->alloc_fail, 1);

	set_dma_ops(dev, NULL);
	KUNIT_EXPECT_EQ(test, ppk_doc_up(doc, true), 0);
	ppk_doc_up(doc, false);
	KUNIT_EXPECT_TRUE(test, ppk_doc_no_pool(doc, PPK_FREE_MS));
}
#else
static void page_pool_doc_no_page(struct kunit *test)
{
	kunit_skip(test, "a device of our own needs ARCH_HAS_DMA_OPS (on x86: GART_IOMMU or XEN)");
}
#endif

/* What the guide converts, and what is left to do when it has been */
static void page_pool_doc_before(struct kunit *test)
{
	struct net_device *netdev = ppk_netdev(test);
	struct device *dev = ppk_device(test);
	struct example_skb_buf buf;
	struct sk_buff *skb;

	KUNIT_ASSERT_TRUE(test, example_skb_post(netdev, dev, &buf, 1536));
	/* The device, which may write to a bounce buffer */
	memset(phys_to_virt(dma_to_phys(dev, buf.addr)), 0x5a, 100);
	skb = example_skb_take(dev, &buf, 1536, 100);
	KUNIT_EXPECT_NULL(test, buf.skb);
	KUNIT_EXPECT_EQ(test, skb->len, 100);
	KUNIT_EXPECT_EQ(test, skb->data[99], 0x5a);
	KUNIT_EXPECT_FALSE(test, skb->pp_recycle);
	kfree_skb(skb);
}

static void page_pool_doc_share(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct page_pool *pool = ppk_create(test, &p);
	struct sk_buff *skb[2];
	struct page *page;

	skb[0] = alloc_skb(64, GFP_KERNEL);
	skb[1] = alloc_skb(64, GFP_KERNEL);
	local_bh_disable();
	page = page_pool_dev_alloc_pages(pool);
	local_bh_enable();
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_FALSE(test, example_share(page, 100, skb[0], NULL));
	KUNIT_ASSERT_TRUE(test, example_share(page, 100, skb[0], skb[1]));

	/* The second of them brings it home, whole and fit for use again */
	kfree_skb(skb[1]);
	KUNIT_EXPECT_EQ(test, atomic_long_read(&page->pp_ref_count), 1);
	KUNIT_EXPECT_TRUE(test, __ptr_ring_empty(&pool->ring));
	kfree_skb(skb[0]);
	KUNIT_EXPECT_FALSE(test, __ptr_ring_empty(&pool->ring));
}

static struct kunit_case ppk_doc_cases[] = {
	KUNIT_CASE(page_pool_doc_example),
	KUNIT_CASE(page_pool_doc_no_page),
	KUNIT_CASE(page_pool_doc_before),
	KUNIT_CASE(page_pool_doc_share),
	{}
};

static struct kunit_suite ppk_doc_suite = {
	.name = "page_pool_doc",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_doc_cases,
};

kunit_test_suites(&ppk_doc_suite);
