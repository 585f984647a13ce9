// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of what user space sees of page pools: netlink messages that have
 * no room, dumps over many messages, who is shown what, where the pages are,
 * devices that go, NAPI instances that come and go, and the line in the log
 * about stalled pools.
 */

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/page_pool/helpers.h>
#include <uapi/linux/netdev.h>

#include "../page_pool_priv.h"
#include "../page_pool_user.h"

#define PPU_POOLS	7
#define PPU_ROOM	(PPU_POOLS * 512)

struct ppu_ctx {
	struct genl_family family;	/* only its numbers matter here */
	struct genl_info info;
	struct sk_buff *skb;
	bool admin;			/* reader of dumps */
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
	const struct page_pool_nl_reader reader = {
		.net = &init_net,
		.admin = ctx->admin,
	};

	return page_pool_nl_dump(skb, &reader, ifindex, next, &ctx->info,
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

/* An attribute of the detail nest of a pool's message, which stays valid until
 * the next message is made.
 */
static const struct nlattr *
ppu_detail_attr(struct kunit *test, const struct page_pool *pool, int type,
		page_pool_nl_fill_fn *fill, int nest_type)
{
	struct sk_buff *skb = ppu_skb(test, PPU_ROOM);
	const struct nlattr *nest;

	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pool, fill), 0);
	nest = ppu_attr(nlmsg_hdr(skb), nest_type);
	KUNIT_ASSERT_NOT_NULL(test, nest);
	return nla_find_nested(nest, type);
}

static s64 ppu_detail(struct kunit *test, const struct page_pool *pool, int type)
{
	const struct nlattr *attr;

	attr = ppu_detail_attr(test, pool, type, page_pool_nl_fill,
			       NETDEV_A_PAGE_POOL_DETAIL);
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

/* Who is shown a pool that no namespace owns: whoever administers the initial
 * one, and nobody else.
 */
static void ppu_device_less(struct kunit *test)
{
	struct net_device *dev = ppu_dev(test, false);
	struct page_pool *pool = ppu_pool(test, NULL);
	struct page_pool *early = ppu_pool(test, dev);
	struct ppu_ctx *ctx = test->priv;
	u32 id = early->user.id;
	struct page *page;
	s64 index = 0;

	KUNIT_EXPECT_EQ(test, ppu_listed(test, pool->user.id, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 0);
	ctx->admin = true;
	KUNIT_EXPECT_EQ(test, ppu_listed(test, pool->user.id, 0, &index), 1);
	KUNIT_EXPECT_EQ(test, index, -1);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, pool->user.id, LOOPBACK_IFINDEX,
					 NULL), 0);
	index = 0;
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, &index), 1);
	KUNIT_EXPECT_EQ(test, index, -1);
	page_pool_destroy(pool);

	/* registered: the namespace's, for everybody in it */
	KUNIT_ASSERT_EQ(test, register_netdev(dev), 0);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, &index), 1);
	KUNIT_EXPECT_EQ(test, index, dev->ifindex);
	ctx->admin = false;
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 1);

	/* on the way to another namespace: nobody's */
	mutex_lock(&page_pools_lock);
	early->user.net = NULL;
	early->user.moving = true;
	mutex_unlock(&page_pools_lock);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 0);
	ctx->admin = true;
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 0);

	/* destroyed there, of all places: it must not stay invisible */
	page = ppu_page(test, early);
	page_pool_destroy(early);
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, &index), 1);
	KUNIT_EXPECT_EQ(test, index, -1);
	ctx->admin = false;
	KUNIT_EXPECT_EQ(test, ppu_listed(test, id, 0, NULL), 0);
	ppu_put(page);

	ctx->admin = true;
	KUNIT_EXPECT_TRUE(test, ppu_gone(test, id));
	ppu_dev_gone(dev);
}

static void ppu_expect_pages(struct kunit *test, const struct page_pool *pool,
			     int array, int staged, int ring, int held, int line)
{
	const struct {
		int type;
		s64 want;
	} pages[] = {
		{ NETDEV_A_PAGE_POOL_DETAIL_ARRAY, array },
		{ NETDEV_A_PAGE_POOL_DETAIL_STAGED, staged },
		{ NETDEV_A_PAGE_POOL_DETAIL_RING, ring },
		{ NETDEV_A_PAGE_POOL_DETAIL_HELD, held },
	};
	s64 in, out;
	int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++)
		KUNIT_EXPECT_EQ_MSG(test, ppu_detail(test, pool, pages[i].type),
				    pages[i].want, "attribute %d at line %d",
				    pages[i].type, line);
	KUNIT_EXPECT_EQ_MSG(test,
			    ppu_value(test, pool, NETDEV_A_PAGE_POOL_INFLIGHT),
			    array + staged + ring + held, "line %d", line);
	in = ppu_detail(test, pool, NETDEV_A_PAGE_POOL_DETAIL_ALLOCATED);
	out = ppu_detail(test, pool, NETDEV_A_PAGE_POOL_DETAIL_RELEASED);
	KUNIT_EXPECT_EQ_MSG(test, in - out, array + staged + ring + held,
			    "line %d", line);
}

#define ppu_expect_pages(test, pool, ...)				\
	ppu_expect_pages(test, pool, __VA_ARGS__, __LINE__)

/* Where the pages are. A refill of a pool of order 0 brings half an array. */
static void ppu_pages(struct kunit *test)
{
	enum { RING = 8, MANY = 3 * RING };
	const struct page_pool_params params = {
		.order = 1,
		.pool_size = RING,
		.nid = NUMA_NO_NODE,
	};
	struct page_pool *pool = page_pool_create(&params);
	struct page *page[MANY];
	int i, round;

	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	ppu_expect_pages(test, pool, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_RING_SIZE),
			RING);

	for (i = 0; i < MANY; i++)
		page[i] = ppu_page(test, pool);
	ppu_expect_pages(test, pool, 0, 0, 0, MANY);

	/* the array, as its consumer fills it */
	local_bh_disable();
	for (i = 0; i < RING; i++)
		page_pool_recycle_direct(pool, page[i]);
	local_bh_enable();
	ppu_expect_pages(test, pool, RING, 0, 0, MANY - RING);

	/* the ring, one by one until it is full, and one too many */
	for (i = RING; i < 2 * RING; i++) {
		ppu_put(page[i]);
		ppu_expect_pages(test, pool, RING, 0, i - RING + 1,
				 MANY - i - 1);
	}
	ppu_put(page[2 * RING]);
	ppu_expect_pages(test, pool, RING, 0, RING, MANY - 2 * RING - 1);
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_RELEASED), 1);

	/* and wherever the ring starts */
	for (i = 0; i < RING; i++)
		page[i] = ppu_page(test, pool);
	ppu_expect_pages(test, pool, 0, 0, RING, MANY - RING - 1);
	for (round = 0; round < RING; round++) {
		for (i = RING; i < 2 * RING; i++)
			page[i] = ppu_page(test, pool);
		ppu_expect_pages(test, pool, 0, 0, 0, MANY - 1);
		for (i = RING; i < 2 * RING - 1; i++)
			ppu_put(page[i]);
		ppu_expect_pages(test, pool, 0, 0, RING - 1, MANY - RING);
		page[RING] = ppu_page(test, pool);
		ppu_expect_pages(test, pool, RING - 2, 0, 0, MANY - RING + 1);
		ppu_put(page[RING]);
		ppu_put(page[2 * RING - 1]);
		ppu_expect_pages(test, pool, RING - 2, 0, 2, MANY - RING - 1);
		for (i = 0; i < RING - 2; i++)
			page[RING + i] = ppu_page(test, pool);
		ppu_expect_pages(test, pool, 0, 0, 2, MANY - 3);
		for (i = 0; i < RING - 2; i++)
			ppu_put(page[RING + i]);
	}

	for (i = 0; i < RING; i++)
		page_pool_put_full_page(pool, page[i], false);
	for (i = 2 * RING + 1; i < MANY; i++)
		ppu_put(page[i]);
	ppu_expect_pages(test, pool, 0, 0, RING, 0);
	page_pool_destroy(pool);
}

/* What CPUs have staged at the time, pretended: no CPU can be stopped there. */
static void ppu_pages_staged(struct kunit *test)
{
	struct page_pool *pool = ppu_pool(test, NULL);
	int here = raw_smp_processor_id();
	struct page *page[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = ppu_page(test, pool);
	i = ppu_detail(test, pool, NETDEV_A_PAGE_POOL_DETAIL_ARRAY);
	ppu_expect_pages(test, pool, i, 0, 0, 8);

	WRITE_ONCE(per_cpu_ptr(pool->pcpu, here)->stage_next, 3);
	ppu_expect_pages(test, pool, i, 3, 0, 5);
	/* nothing is in a stage that a section has just begun with */
	WRITE_ONCE(per_cpu_ptr(pool->pcpu, here)->stage_next, 0);
	ppu_expect_pages(test, pool, i, 0, 0, 8);
	/* more than there are: counted at different moments */
	WRITE_ONCE(per_cpu_ptr(pool->pcpu, here)->stage_next, PP_STAGE_SIZE - 1);
	ppu_expect_pages(test, pool, i, 8, 0, 0);
	WRITE_ONCE(per_cpu_ptr(pool->pcpu, here)->stage_next, PP_STAGE_SIZE);
	ppu_expect_pages(test, pool, i, 0, 0, 8);

	for (i = 0; i < ARRAY_SIZE(page); i++)
		ppu_put(page[i]);
	page_pool_destroy(pool);
}

/* The counts of pages wrap; their number does not. */
static void ppu_pages_wrap(struct kunit *test)
{
	const struct {
		u32 halves, hold;
		u64 want;
	} reads[] = {
		{ 0, 0, 0 },
		{ 0, 0x7fffffff, 0x7fffffff },
		{ 1, 0x80000000, 0x80000000 },
		{ 1, 0xffffffff, 0xffffffff },
		{ 2, 0, 0x100000000 },
		{ 5, 0x80000005, 0x280000005 },
		/* the number of halves was read too early */
		{ 0, 0x80000003, 0x80000003 },
		{ 1, 0x00000003, 0x100000003 },
		/* or too late */
		{ 1, 0x7ffffffe, 0x7ffffffe },
		{ 2, 0xfffffffe, 0xfffffffe },
	};
	struct page_pool *pool = ppu_pool(test, NULL);
	s64 before, after;
	struct page *page;
	int i;

	for (i = 0; i < ARRAY_SIZE(reads); i++) {
		pool->hold_halves = reads[i].halves;
		KUNIT_EXPECT_EQ_MSG(test,
				    page_pool_allocated(pool, reads[i].hold),
				    reads[i].want, "line %d", i);
	}

	for (i = 0; i < 2; i++) {
		pool->hold_halves = 1 + i;
		pool->pages_state_hold_cnt = i ? 0x7ffffffe : 0xfffffffe;
		atomic_set(&pool->pages_state_release_cnt,
			   pool->pages_state_hold_cnt);
		if (i)
			pool->hold_halves = 2;
		before = ppu_detail(test, pool,
				    NETDEV_A_PAGE_POOL_DETAIL_ALLOCATED);
		KUNIT_EXPECT_EQ(test, before, i ? 0x17ffffffe : 0xfffffffe);
		/* a batch of pages */
		page = ppu_page(test, pool);
		after = ppu_detail(test, pool,
				   NETDEV_A_PAGE_POOL_DETAIL_ALLOCATED);
		KUNIT_EXPECT_EQ(test, after - before,
				ppu_value(test, pool,
					  NETDEV_A_PAGE_POOL_INFLIGHT));
		KUNIT_EXPECT_EQ(test, pool->hold_halves, 2 + i);
		KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
						 NETDEV_A_PAGE_POOL_DETAIL_RELEASED),
				before);
		ppu_put(page);
		page_pool_destroy(pool);
		pool = ppu_pool(test, NULL);
	}
	page_pool_destroy(pool);
}

static const char *ppu_dev_name(struct kunit *test, const struct page_pool *pool)
{
	const struct nlattr *attr;

	attr = ppu_detail_attr(test, pool, NETDEV_A_PAGE_POOL_DETAIL_DEV_NAME,
			       page_pool_nl_fill, NETDEV_A_PAGE_POOL_DETAIL);
	return attr ? nla_data(attr) : NULL;
}

static void ppu_detail_values(struct kunit *test)
{
	struct page_pool_params params = {
		.order = 2,
		.pool_size = 32,
		.nid = NUMA_NO_NODE,
	};
	struct net_device *dev = ppu_dev(test, true);
	struct net_device *nameless = ppu_dev(test, false);
	u64 before, born, since;
	char name[IFNAMSIZ];
	struct page_pool *pool;
	struct page *page;
	struct device *fat;
	s64 age;

	strscpy(name, dev->name);
	params.dev = &dev->dev;
	before = ktime_get_boottime_ns();
	pool = page_pool_create(&params);
	born = ktime_get_boottime_ns();
	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	page = ppu_page(test, pool);
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_ORDER), 2);
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_NODE),
			page_to_nid(page));
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_FLAGS), 0);
	KUNIT_EXPECT_STREQ(test, ppu_dev_name(test, pool), name);
	/* by the clock: a guest that catches up with its ticks sleeps less */
	msleep(20);
	since = ktime_get_boottime_ns();
	age = ppu_detail(test, pool, NETDEV_A_PAGE_POOL_DETAIL_AGE);
	KUNIT_EXPECT_GE(test, age, div_u64(since - born, NSEC_PER_MSEC));
	since = ktime_get_boottime_ns();
	KUNIT_EXPECT_LE(test, age, div_u64(since - before, NSEC_PER_MSEC));

	/* the device goes first */
	page_pool_destroy(pool);
	ppu_dev_gone(dev);
	KUNIT_EXPECT_STREQ(test, ppu_dev_name(test, pool), name);
	KUNIT_EXPECT_EQ(test, ppu_detail(test, pool,
					 NETDEV_A_PAGE_POOL_DETAIL_RING_SIZE),
			0);
	ppu_put(page);

	/* no device, none with a name yet, and one with a long name */
	params.dev = NULL;
	pool = page_pool_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	KUNIT_EXPECT_NULL(test, ppu_dev_name(test, pool));
	page_pool_destroy(pool);

	params.dev = &nameless->dev;
	pool = page_pool_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	KUNIT_EXPECT_NULL(test, ppu_dev_name(test, pool));
	page_pool_destroy(pool);
	free_netdev(nameless);

	fat = kunit_kzalloc(test, sizeof(*fat), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fat);
	fat->init_name = kunit_kmalloc(test, 200, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fat->init_name);
	memset((char *)fat->init_name, 'x', 199);
	((char *)fat->init_name)[199] = 0;
	params.dev = fat;
	pool = page_pool_create(&params);
	KUNIT_ASSERT_FALSE(test, IS_ERR(pool));
	KUNIT_EXPECT_EQ(test, strlen(ppu_dev_name(test, pool)), 127);
	page_pool_destroy(pool);
}

#ifdef CONFIG_PAGE_POOL_STATS
/* What the message says of all CPUs and of @cpu, whose nest must be there */
static u64 ppu_cpu_stat(struct kunit *test, const struct page_pool *pool,
			int type, int cpu, u64 *all)
{
	struct sk_buff *skb = ppu_skb(test, PPU_ROOM);
	const struct nlattr *detail, *nest;
	int rem, seen = 0, last = -1;
	u64 one = 0;

	KUNIT_ASSERT_EQ(test, ppu_fill(test, skb, pool, page_pool_nl_stats_fill),
			0);
	detail = ppu_attr(nlmsg_hdr(skb), NETDEV_A_PAGE_POOL_STATS_DETAIL);
	KUNIT_ASSERT_NOT_NULL(test, detail);
	*all = 0;
	nla_for_each_nested(nest, detail, rem) {
		const struct nlattr *attr;
		int id;

		if (nla_type(nest) != NETDEV_A_PAGE_POOL_STATS_DETAIL_CPU)
			continue;
		attr = nla_find_nested(nest, NETDEV_A_PAGE_POOL_STATS_CPU_CPU);
		KUNIT_ASSERT_NOT_NULL(test, attr);
		id = nla_get_u32(attr);
		KUNIT_EXPECT_GT(test, id, last);
		last = id;
		attr = nla_find_nested(nest, type);
		KUNIT_ASSERT_NOT_NULL(test, attr);
		*all += nla_get_uint(attr);
		if (id == cpu) {
			one = nla_get_uint(attr);
			seen++;
		}
	}
	KUNIT_EXPECT_EQ(test, seen, cpu < 0 ? 0 : 1);
	return one;
}

static s64 ppu_stats_detail(struct kunit *test, const struct page_pool *pool,
			    int type)
{
	const struct nlattr *attr;

	attr = ppu_detail_attr(test, pool, type, page_pool_nl_stats_fill,
			       NETDEV_A_PAGE_POOL_STATS_DETAIL);
	return attr ? nla_get_uint(attr) : -1;
}
#endif

static void ppu_stats_by_cpu(struct kunit *test)
{
#ifdef CONFIG_PAGE_POOL_STATS
	const int ring = NETDEV_A_PAGE_POOL_STATS_CPU_RECYCLE_RING;
	const int ref = NETDEV_A_PAGE_POOL_STATS_CPU_RECYCLE_RELEASED_REFCNT;
	const int nid = NETDEV_A_PAGE_POOL_STATS_DETAIL_RECYCLE_RELEASED_NID;
	const int pfmemalloc =
		NETDEV_A_PAGE_POOL_STATS_DETAIL_RECYCLE_RELEASED_PFMEMALLOC;
	struct page_pool *pool = ppu_pool(test, NULL);
	int here, other = nr_cpu_ids - 1;
	struct page *page;
	u64 all;

	/* nobody counted anything: no CPU is in it */
	ppu_cpu_stat(test, pool, ring, -1, &all);

	/* a page for the ring, one that somebody else has, one of the reserve */
	migrate_disable();
	here = smp_processor_id();
	ppu_put(ppu_page(test, pool));
	page = ppu_page(test, pool);
	get_page(page);
	ppu_put(page);
	put_page(page);
	page = ppu_page(test, pool);
	page->lru.next = (void *)((unsigned long)page->lru.next | BIT(1));
	ppu_put(page);
	migrate_enable();

	KUNIT_EXPECT_EQ(test, ppu_cpu_stat(test, pool, ring, here, &all), 1);
	KUNIT_EXPECT_EQ(test, all, 1);
	KUNIT_EXPECT_EQ(test, ppu_cpu_stat(test, pool, ref, here, &all), 1);
	KUNIT_EXPECT_EQ(test, all, 1);
	KUNIT_EXPECT_EQ(test, ppu_stats_detail(test, pool, pfmemalloc), 1);
	KUNIT_EXPECT_EQ(test, ppu_stats_detail(test, pool, nid), 0);

	/* each CPU is asked, the last one too */
	per_cpu_ptr(pool->pcpu, other)->stats.released_nid = 5;
	per_cpu_ptr(pool->pcpu, other)->stats.ring += 7;
	KUNIT_EXPECT_EQ(test, ppu_cpu_stat(test, pool, ring, other, &all),
			other == here ? 8 : 7);
	KUNIT_EXPECT_EQ(test, all, 8);
	KUNIT_EXPECT_EQ(test, ppu_stats_detail(test, pool, nid), 5);

	/* no room in the nest: all CPUs or none */
	page_pool_nl_nest_max = 100;
	ppu_cpu_stat(test, pool, ring, -1, &all);
	KUNIT_EXPECT_EQ(test, ppu_stats_detail(test, pool, nid), 5);
	if (other != here) {
		page_pool_nl_nest_max = 160;
		ppu_cpu_stat(test, pool, ring, -1, &all);
		KUNIT_EXPECT_EQ(test, all, 0);
	}
	page_pool_nl_nest_max = U16_MAX;

	page_pool_destroy(pool);
#else
	kunit_skip(test, "kernel without CONFIG_PAGE_POOL_STATS");
#endif
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
	KUNIT_CASE(ppu_device_less),
	KUNIT_CASE(ppu_pages),
	KUNIT_CASE(ppu_pages_staged),
	KUNIT_CASE(ppu_pages_wrap),
	KUNIT_CASE(ppu_detail_values),
	KUNIT_CASE(ppu_stats_by_cpu),
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
