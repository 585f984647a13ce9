// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what user space sees of page pools: netlink messages that have
 * no room, dumps over many messages, devices that go, NAPI instances that come
 * and go, and the line in the log about stalled pools.
 */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/page_pool/helpers.h>
#include <uapi/linux/netdev.h>

#include "../page_pool_user.h"

#define PPU_POOLS	7
#define PPU_ROOM	(PPU_POOLS * 512)

struct ppu_ctx {
	struct genl_family family;	/* only its numbers matter here */
	struct genl_info info;
	struct sk_buff *skb;
};

static const struct net_device_ops ppu_netdev_ops = {
};

static struct net_device *ppu_dev(struct kunit *test, bool registered)
{
	struct net_device *dev;

	dev = alloc_netdev(0, "ppu%d", NET_NAME_UNKNOWN, ether_setup);
	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->netdev_ops = &ppu_netdev_ops;
	eth_hw_addr_random(dev);
	if (registered)
		KUNIT_ASSERT_EQ(test, register_netdev(dev), 0);
	return dev;
}

static void ppu_dev_gone(struct net_device *dev)
{
	unregister_netdev(dev);
	free_netdev(dev);
}

static struct page_pool *ppu_pool(struct kunit *test, struct net_device *dev)
{
	const struct page_pool_params params = {
		.pool_size = 16,
		.nid = NUMA_NO_NODE,
		.netdev = dev,
	};
	struct page_pool *pool = page_pool_create(&params);

	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	return pool;
}

static struct page *ppu_page(struct kunit *test, struct page_pool *pool)
{
	struct page *page = page_pool_dev_alloc_pages(pool);

	KUNIT_ASSERT_NOT_NULL(test, page);
	return page;
}

static void ppu_put(struct page *page)
{
	page_pool_put_full_page(page->pp, page, false);
}

/* An empty message buffer with room for exactly @room bytes. */
static struct sk_buff *ppu_skb(struct kunit *test, unsigned int room)
{
	struct ppu_ctx *ctx = test->priv;
	struct sk_buff *skb = ctx->skb;

	__skb_trim(skb, 0);
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	KUNIT_ASSERT_GE(test, skb_tailroom(skb), room);
	skb_reserve(skb, skb_tailroom(skb) - room);
	return skb;
}

static int ppu_fill(struct kunit *test, struct sk_buff *skb,
		    const struct page_pool *pool, page_pool_nl_fill_fn *fill)
{
	struct ppu_ctx *ctx = test->priv;
	int err;

	mutex_lock(&page_pools_lock);
	err = fill(skb, pool, &ctx->info);
	mutex_unlock(&page_pools_lock);
	return err;
}

static int ppu_dump(struct kunit *test, struct sk_buff *skb, int ifindex,
		    unsigned long *next)
{
	struct ppu_ctx *ctx = test->priv;

	return page_pool_nl_dump(skb, &init_net, ifindex, next, &ctx->info,
				 page_pool_nl_fill);
}

static const struct nlattr *ppu_attr(const struct nlmsghdr *nlh, int type)
{
	return nlmsg_find_attr(nlh, GENL_HDRLEN, type);
}

/* The value of an attribute of a pool's page-pool-get message, -1 without it. */
static s64 ppu_value(struct kunit *test, const struct page_pool *pool, int type)
{
	struct sk_buff *skb = ppu_skb(test, PPU_ROOM);
	const struct nlattr *attr;

	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pool, page_pool_nl_fill), 0);
	attr = ppu_attr(nlmsg_hdr(skb), type);
	return attr ? nla_get_uint(attr) : -1;
}

/* How often the pool with @id is in a whole dump; *ifindex is what it says. */
static int ppu_listed(struct kunit *test, u32 id, int filter, s64 *ifindex)
{
	unsigned long next = 0;
	int err, found = 0;

	do {
		struct sk_buff *skb = ppu_skb(test, PPU_ROOM);
		struct nlmsghdr *nlh;
		int len;

		err = ppu_dump(test, skb, filter, &next);
		if (err && err != -EMSGSIZE)
			KUNIT_FAIL(test, "dump failed with %d", err);
		KUNIT_ASSERT_FALSE(test, err && !skb->len);

		len = skb->len;
		for (nlh = nlmsg_hdr(skb); nlmsg_ok(nlh, len);
		     nlh = nlmsg_next(nlh, &len)) {
			const struct nlattr *attr;

			attr = ppu_attr(nlh, NETDEV_A_PAGE_POOL_ID);
			KUNIT_ASSERT_NOT_NULL(test, attr);
			if (nla_get_uint(attr) != id)
				continue;
			found++;
			attr = ppu_attr(nlh, NETDEV_A_PAGE_POOL_IFINDEX);
			if (ifindex)
				*ifindex = attr ? (s64)nla_get_u32(attr) : -1;
		}
	} while (err);

	return found;
}

/* The last put of a destroyed pool frees it, but from a work item. */
static bool ppu_gone(struct kunit *test, u32 id)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (!ppu_listed(test, id, 0, NULL))
			return true;
		msleep(20);
	}
	return false;
}

static void ppu_no_room(struct kunit *test, page_pool_nl_fill_fn *fill)
{
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pool = ppu_pool(test, dev);
	struct page *page = ppu_page(test, pool);
	unsigned int room, full;
	struct sk_buff *skb;
	u32 id;

	/* as many attributes as a message can have */
	id = pool->user.id;
	page_pool_destroy(pool);

	skb = ppu_skb(test, PPU_ROOM);
	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pool, fill), 0);
	full = skb->len;
	KUNIT_EXPECT_GT(test, full, NLMSG_HDRLEN + GENL_HDRLEN);

	for (room = 0; room < full; room++) {
		skb = ppu_skb(test, room);
		KUNIT_EXPECT_EQ_MSG(test, ppu_fill(test, skb, pool, fill),
				    -EMSGSIZE, "room for %u of %u", room, full);
		KUNIT_EXPECT_EQ_MSG(test, skb->len, 0,
				    "room for %u of %u", room, full);
	}
	skb = ppu_skb(test, full);
	KUNIT_EXPECT_EQ(test, ppu_fill(test, skb, pool, fill), 0);
	KUNIT_EXPECT_EQ(test, skb->len, full);

	ppu_put(page);
	KUNIT_EXPECT_TRUE(test, ppu_gone(test, id));
	ppu_dev_gone(dev);
}

static void ppu_get_no_room(struct kunit *test)
{
	ppu_no_room(test, page_pool_nl_fill);
}

static void ppu_stats_no_room(struct kunit *test)
{
#ifdef CONFIG_PAGE_POOL_STATS
	ppu_no_room(test, page_pool_nl_stats_fill);
#else
	kunit_skip(test, "kernel without CONFIG_PAGE_POOL_STATS");
#endif
}

/* The boundary between two messages may fall anywhere. */
static void ppu_dump_any_room(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pools[PPU_POOLS];
	unsigned int room, one, all, i;
	unsigned long next = 0;
	struct sk_buff *skb;

	for (i = 0; i < PPU_POOLS; i++)
		pools[i] = ppu_pool(test, dev);

	skb = ppu_skb(test, PPU_ROOM);
	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pools[0], page_pool_nl_fill),
			0);
	one = skb->len;
	skb = ppu_skb(test, PPU_ROOM);
	KUNIT_ASSERT_EQ(test, ppu_dump(test, skb, dev->ifindex, &next), 0);
	all = skb->len;
	KUNIT_ASSERT_EQ(test, all, PPU_POOLS * one);

	for (room = one; room <= all; room++) {
		unsigned int seen = 0;
		int err;

		next = 0;
		do {
			struct nlmsghdr *nlh;
			int len;

			skb = ppu_skb(test, room);
			err = ppu_dump(test, skb, dev->ifindex, &next);
			if (err)
				KUNIT_ASSERT_EQ(test, err, -EMSGSIZE);
			KUNIT_ASSERT_FALSE(test, err && !skb->len);

			len = skb->len;
			for (nlh = nlmsg_hdr(skb); nlmsg_ok(nlh, len);
			     nlh = nlmsg_next(nlh, &len)) {
				const struct nlattr *id;

				id = ppu_attr(nlh, NETDEV_A_PAGE_POOL_ID);
				KUNIT_ASSERT_NOT_NULL(test, id);
				KUNIT_ASSERT_LT(test, seen, PPU_POOLS);
				KUNIT_EXPECT_EQ(test, nla_get_uint(id),
						pools[seen]->user.id);
				seen++;
			}
		} while (err);
		KUNIT_EXPECT_EQ_MSG(test, seen, PPU_POOLS, "room for %u", room);
	}

	/* not even one fits: said so, and nothing skipped */
	next = 0;
	skb = ppu_skb(test, one - 1);
	KUNIT_EXPECT_EQ(test, ppu_dump(test, skb, dev->ifindex, &next),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, skb->len, 0);
	KUNIT_EXPECT_EQ(test, next, (unsigned long)pools[0]->user.id);

	for (i = 0; i < PPU_POOLS; i++)
		page_pool_destroy(pools[i]);
	ppu_dev_gone(dev);
}

/* The pool at which a dump would go on has been freed in between. */
static void ppu_dump_resume_gone(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pools[3];
	struct sk_buff *skb;
	unsigned long next = 0;
	unsigned int one, i;

	for (i = 0; i < ARRAY_SIZE(pools); i++)
		pools[i] = ppu_pool(test, dev);

	skb = ppu_skb(test, PPU_ROOM);
	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pools[0], page_pool_nl_fill),
			0);
	one = skb->len;

	skb = ppu_skb(test, one);
	KUNIT_EXPECT_EQ(test, ppu_dump(test, skb, dev->ifindex, &next),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, next, (unsigned long)pools[1]->user.id);
	page_pool_destroy(pools[1]);

	skb = ppu_skb(test, one);
	KUNIT_EXPECT_EQ(test, ppu_dump(test, skb, dev->ifindex, &next), 0);
	KUNIT_ASSERT_EQ(test, skb->len, one);
	KUNIT_EXPECT_EQ(test,
			nla_get_uint(ppu_attr(nlmsg_hdr(skb),
					      NETDEV_A_PAGE_POOL_ID)),
			(u64)pools[2]->user.id);

	page_pool_destroy(pools[0]);
	page_pool_destroy(pools[2]);
	ppu_dev_gone(dev);
}

/* Devices may go in any order; the pools that outlive them are all listed. */
static void ppu_orphans_any_order(struct kunit *test)
{
	unsigned int order;

	for (order = 0; order < 2; order++) {
		struct net_device *dev[2];
		struct page_pool *pool[2];
		struct page *page[2];
		u32 id[2];
		s64 index;
		int i;

		for (i = 0; i < 2; i++) {
			dev[i] = ppu_dev(test, true);
			pool[i] = ppu_pool(test, dev[i]);
			page[i] = ppu_page(test, pool[i]);
			id[i] = pool[i]->user.id;
			KUNIT_EXPECT_EQ(test, ppu_listed(test, id[i], 0, &index),
					1);
			KUNIT_EXPECT_EQ(test, index, dev[i]->ifindex);
			page_pool_destroy(pool[i]);
		}

		ppu_dev_gone(dev[order]);
		ppu_dev_gone(dev[!order]);

		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_EQ(test, ppu_listed(test, id[i], 0, &index),
					1);
			KUNIT_EXPECT_EQ(test, index, -1);
			KUNIT_EXPECT_NULL(test, pool[i]->slow.netdev);
			KUNIT_EXPECT_EQ(test, ppu_value(test, pool[i],
							NETDEV_A_PAGE_POOL_INFLIGHT),
					1);
			ppu_put(page[i]);
			KUNIT_EXPECT_TRUE(test, ppu_gone(test, id[i]));
		}
	}
}

static void ppu_filter(struct kunit *test)
{
	struct net_device *one = ppu_dev(test, true);
	struct net_device *two = ppu_dev(test, true);
	struct page_pool *mine = ppu_pool(test, one);
	struct page_pool *other = ppu_pool(test, two);
	u32 id = mine->user.id;
	struct page *page;

	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, one->ifindex, NULL), 1);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, other->user.id, one->ifindex,
					 NULL), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, two->ifindex, NULL), 0);

	/* an orphan belongs to no device, the loopback device included */
	page = ppu_page(test, mine);
	page_pool_destroy(mine);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, one->ifindex, NULL), 1);
	ppu_dev_gone(one);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, two->ifindex, NULL), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, LOOPBACK_IFINDEX, NULL), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 1);
	ppu_put(page);

	page_pool_destroy(other);
	ppu_dev_gone(two);
}

static int ppu_poll(struct napi_struct *napi, int budget)
{
	return 0;
}

static void ppu_napi(struct kunit *test)
{
	struct napi_struct *napi = kunit_kzalloc(test, sizeof(*napi), GFP_KERNEL);
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pool = ppu_pool(test, dev);
	unsigned int id;

	KUNIT_ASSERT_NOT_NULL(test, napi);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);

	netif_napi_add(dev, napi, ppu_poll);
	id = napi->napi_id;
	KUNIT_EXPECT_GT(test, id, 0);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);

	/* linked late, as some drivers do */
	WRITE_ONCE(pool->p.napi, napi);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			id);

	/* ids below are those of CPUs */
	napi->napi_id = 1;
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);
	napi->napi_id = id;

	WRITE_ONCE(pool->p.napi, NULL);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);

	/* the NAPI goes and the pool still points there */
	WRITE_ONCE(pool->p.napi, napi);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			id);
	netif_napi_del(napi);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);
	/* even where nothing is mapped */
	WRITE_ONCE(pool->p.napi, (struct napi_struct *)LIST_POISON1);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_NAPI_ID),
			-1);
	WRITE_ONCE(pool->p.napi, NULL);

	page_pool_destroy(pool);
	ppu_dev_gone(dev);
}

static void ppu_detach_time(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pool = ppu_pool(test, dev);
	struct page *page = ppu_page(test, pool);
	u32 id = pool->user.id;
	s64 before;

	KUNIT_EXPECT_EQ(test, ppu_value(test, pool,
					NETDEV_A_PAGE_POOL_DETACH_TIME), -1);

	before = ktime_get_boottime_seconds();
	page_pool_destroy(pool);
	KUNIT_EXPECT_GE(test, ppu_value(test, pool,
					NETDEV_A_PAGE_POOL_DETACH_TIME), before);
	KUNIT_EXPECT_LE(test, ppu_value(test, pool,
					NETDEV_A_PAGE_POOL_DETACH_TIME),
			(s64)ktime_get_boottime_seconds());

	/* in the first second after boot */
	mutex_lock(&page_pools_lock);
	pool->user.detach_time = 0;
	mutex_unlock(&page_pools_lock);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool,
					NETDEV_A_PAGE_POOL_DETACH_TIME), 0);

	ppu_put(page);
	KUNIT_EXPECT_TRUE(test, ppu_gone(test, id));
	ppu_dev_gone(dev);
}

static void ppu_inflight(struct kunit *test)
{
	struct page_pool_params params = {
		.order = 1,
		.pool_size = 16,
		.nid = NUMA_NO_NODE,
	};
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pool;
	struct page *page[3];
	unsigned int i;

	params.netdev = dev;
	pool = page_pool_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));

	for (i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = ppu_page(test, pool);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool, NETDEV_A_PAGE_POOL_INFLIGHT),
			3);
	KUNIT_EXPECT_EQ(test, ppu_value(test, pool,
					NETDEV_A_PAGE_POOL_INFLIGHT_MEM),
			6 * PAGE_SIZE);
	for (i = 0; i < ARRAY_SIZE(page); i++)
		ppu_put(page[i]);

	page_pool_destroy(pool);
	ppu_dev_gone(dev);
}

/* The device is registered after its pool was made, or never. */
static void ppu_unregistered_dev(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, false);
	struct page_pool *pool = ppu_pool(test, dev);
	u32 id = pool->user.id;
	struct page *page;
	s64 index;

	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 0);
	KUNIT_ASSERT_EQ(test, register_netdev(dev), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, &index), 1);
	KUNIT_EXPECT_EQ(test, index, dev->ifindex);
	page_pool_destroy(pool);
	unregister_netdev(dev);

	/* between its notification and its end */
	pool = ppu_pool(test, dev);
	KUNIT_EXPECT_NULL(test, pool->slow.netdev);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, pool->user.id, 0, NULL), 0);
	page_pool_destroy(pool);
	free_netdev(dev);

	/* the driver gives up before it registers its device */
	dev = ppu_dev(test, false);
	pool = ppu_pool(test, dev);
	page = ppu_page(test, pool);
	page_pool_destroy(pool);
	KUNIT_EXPECT_NULL(test, pool->slow.netdev);
	free_netdev(dev);
	ppu_put(page);
}

static unsigned long ppu_look(u64 now, struct page_pool_stalled_line *line)
{
	unsigned long delay;

	mutex_lock(&page_pools_lock);
	delay = page_pool_stalled_look(now, line);
	mutex_unlock(&page_pools_lock);
	return delay;
}

static bool ppu_timer_off(void)
{
	int i;

	for (i = 0; i < 500; i++) {
		if (!delayed_work_pending(&page_pool_stalled_timer))
			return true;
		msleep(20);
	}
	return false;
}

/* What is said when, without waiting for it. */
static void ppu_stalled_schedule(struct kunit *test)
{
	const unsigned long after = page_pool_stalled_after;
	struct page_pool_stalled_line line;
	struct page_pool *pool[2];
	struct page *page[3];
	u64 start;

	if (!ppu_timer_off())
		kunit_skip(test, "there are stalled pools already");

	/* nothing is stalled before it is destroyed */
	pool[0] = ppu_pool(test, NULL);
	page[0] = ppu_page(test, pool[0]);
	page[1] = ppu_page(test, pool[0]);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&page_pool_stalled_timer));
	page_pool_destroy(pool[0]);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&page_pool_stalled_timer));
	start = pool[0]->user.hidden_since;

	KUNIT_EXPECT_EQ(test, ppu_look(start, &line), after);
	KUNIT_EXPECT_EQ(test, line.pools, 0);
	KUNIT_EXPECT_EQ(test, ppu_look(start + after - 1, &line), 1);
	KUNIT_EXPECT_EQ(test, line.pools, 0);

	KUNIT_EXPECT_EQ(test, ppu_look(start + after, &line), 2 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 1);
	KUNIT_EXPECT_EQ(test, line.pages, 2);
	KUNIT_EXPECT_EQ(test, line.oldest, start);
	KUNIT_EXPECT_EQ(test, line.id, pool[0]->user.id);

	/* looked at too early: nothing said, nothing lost */
	KUNIT_EXPECT_EQ(test, ppu_look(start + 2 * after, &line), after);
	KUNIT_EXPECT_EQ(test, line.pools, 0);

	KUNIT_EXPECT_EQ(test, ppu_look(start + 3 * after, &line), 4 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 1);
	KUNIT_EXPECT_EQ(test, ppu_look(start + 7 * after, &line), 8 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 1);

	/* a second one joins: does not wait for the long pause to end */
	pool[1] = ppu_pool(test, NULL);
	page[2] = ppu_page(test, pool[1]);
	page_pool_destroy(pool[1]);
	mutex_lock(&page_pools_lock);
	pool[1]->user.hidden_since = start + 8 * after;
	mutex_unlock(&page_pools_lock);
	KUNIT_EXPECT_EQ(test, ppu_look(start + 8 * after, &line), after);
	KUNIT_EXPECT_EQ(test, line.pools, 0);
	KUNIT_EXPECT_EQ(test, ppu_look(start + 9 * after, &line), 2 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 2);
	KUNIT_EXPECT_EQ(test, line.pages, 3);
	KUNIT_EXPECT_EQ(test, line.oldest, start);
	KUNIT_EXPECT_EQ(test, ppu_look(start + 11 * after, &line), 4 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 2);

	/* the last return ends it */
	ppu_put(page[0]);
	ppu_put(page[1]);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&page_pool_stalled_timer));
	ppu_put(page[2]);
	KUNIT_EXPECT_TRUE(test, ppu_timer_off());
	KUNIT_EXPECT_EQ(test, ppu_look(start + 99 * after, &line), 0);
	KUNIT_EXPECT_EQ(test, line.pools, 0);
}

/* The pause grows, but not for ever. */
static void ppu_stalled_pause(struct kunit *test)
{
	const unsigned long after = page_pool_stalled_after;
	struct page_pool *pool = ppu_pool(test, NULL);
	struct page *page = ppu_page(test, pool);
	struct page_pool_stalled_line line;
	unsigned long delay = after;
	int i;
	u64 now;

	page_pool_destroy(pool);
	now = pool->user.hidden_since;
	for (i = 0; i < 20; i++) {
		unsigned long pause;

		now += delay;
		pause = ppu_look(now, &line);
		KUNIT_EXPECT_GE(test, line.pools, 1);
		KUNIT_EXPECT_GE(test, pause, delay);
		delay = pause;
	}
	KUNIT_EXPECT_EQ(test, delay, 1024 * after);

	ppu_put(page);
}

/* One whose count has gone wrong never ends: it is not waited for, and does not
 * keep the timer from starting for the next one.
 */
static void ppu_stalled_broken(struct kunit *test)
{
	const unsigned long after = page_pool_stalled_after;
	struct page_pool_stalled_line line;
	struct page_pool *pool[2];
	struct page *page[2];
	u64 start;
	int i;

	if (!ppu_timer_off())
		kunit_skip(test, "there are stalled pools already");

	for (i = 0; i < 2; i++) {
		pool[i] = ppu_pool(test, NULL);
		page[i] = ppu_page(test, pool[i]);
	}

	page_pool_destroy(pool[0]);
	start = pool[0]->user.hidden_since;
	atomic_inc(&pool[0]->pages_state_release_cnt);
	KUNIT_EXPECT_EQ(test, ppu_look(start + after, &line), 0);
	KUNIT_EXPECT_EQ(test, line.pools, 0);
	cancel_delayed_work_sync(&page_pool_stalled_timer);

	page_pool_destroy(pool[1]);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&page_pool_stalled_timer));
	start = pool[1]->user.hidden_since;
	KUNIT_EXPECT_EQ(test, ppu_look(start + after, &line), 2 * after);
	KUNIT_EXPECT_EQ(test, line.pools, 1);
	KUNIT_EXPECT_EQ(test, line.id, pool[1]->user.id);

	atomic_dec(&pool[0]->pages_state_release_cnt);
	for (i = 0; i < 2; i++)
		ppu_put(page[i]);
	KUNIT_EXPECT_TRUE(test, ppu_timer_off());
}

/* A pool whose device or namespace is there to list it is never named. */
static void ppu_stalled_visible(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, true);
	struct page_pool *pool = ppu_pool(test, dev);
	struct page *page = ppu_page(test, pool);
	u32 id = pool->user.id;

	if (!ppu_timer_off())
		kunit_skip(test, "there are stalled pools already");

	page_pool_destroy(pool);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&page_pool_stalled_timer));
	ppu_dev_gone(dev);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&page_pool_stalled_timer));
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 1);
	ppu_put(page);
	KUNIT_EXPECT_TRUE(test, ppu_gone(test, id));
}

/* The timer itself, shortened: one line for three pools. */
static void ppu_stalled_timer(struct kunit *test)
{
	const unsigned long after = page_pool_stalled_after;
	struct page_pool *pool[3];
	struct page *page[3];
	int i;

	if (!ppu_timer_off())
		kunit_skip(test, "there are stalled pools already");

	pr_info("pp-expect: 1 stalled pool shutdown: 3 pools with 3 pages\n");
	page_pool_stalled_after = HZ;
	for (i = 0; i < 3; i++) {
		pool[i] = ppu_pool(test, NULL);
		page[i] = ppu_page(test, pool[i]);
	}
	for (i = 0; i < 3; i++)
		page_pool_destroy(pool[i]);
	/* of one age, so that one line is due for all */
	mutex_lock(&page_pools_lock);
	for (i = 1; i < 3; i++)
		pool[i]->user.hidden_since = pool[0]->user.hidden_since;
	mutex_unlock(&page_pools_lock);

	for (i = 0; i < 1000 && !READ_ONCE(pool[2]->user.warned); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, pool[2]->user.warned);

	for (i = 0; i < 3; i++)
		ppu_put(page[i]);
	KUNIT_EXPECT_TRUE(test, ppu_timer_off());
	page_pool_stalled_after = after;
}

static int ppu_init(struct kunit *test)
{
	struct ppu_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	if (!ctx)
		return -ENOMEM;
	ctx->skb = alloc_skb(PPU_ROOM, GFP_KERNEL);
	if (!ctx->skb)
		return -ENOMEM;
	genl_info_init_ntf(&ctx->info, &ctx->family, NETDEV_CMD_PAGE_POOL_GET);
	test->priv = ctx;
	return 0;
}

static void ppu_exit(struct kunit *test)
{
	struct ppu_ctx *ctx = test->priv;

	if (ctx)
		kfree_skb(ctx->skb);
}

static struct kunit_case ppu_cases[] = {
	KUNIT_CASE(ppu_get_no_room),
	KUNIT_CASE(ppu_stats_no_room),
	KUNIT_CASE(ppu_dump_any_room),
	KUNIT_CASE(ppu_dump_resume_gone),
	KUNIT_CASE(ppu_orphans_any_order),
	KUNIT_CASE(ppu_filter),
	KUNIT_CASE(ppu_napi),
	KUNIT_CASE(ppu_detach_time),
	KUNIT_CASE(ppu_inflight),
	KUNIT_CASE(ppu_unregistered_dev),
	KUNIT_CASE(ppu_stalled_schedule),
	KUNIT_CASE(ppu_stalled_pause),
	KUNIT_CASE(ppu_stalled_broken),
	KUNIT_CASE(ppu_stalled_visible),
	KUNIT_CASE_SLOW(ppu_stalled_timer),
	{}
};

static struct kunit_suite ppu_suite = {
	.name = "page_pool_user",
	.init = ppu_init,
	.exit = ppu_exit,
	.test_cases = ppu_cases,
};

kunit_test_suite(ppu_suite);

MODULE_DESCRIPTION("KUnit tests of page pool netlink");
MODULE_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_LICENSE("GPL");
