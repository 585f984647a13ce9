/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The code of Documentation/networking/page_pool.rst.
 *
 * The document includes the parts between the markers "doc: NAME" and
 * "end: NAME"; the KUnit case page_pool_doc_example compiles and runs them.
 * What is outside of markers only serves the test: it plays the device.
 *
 * One net_device with one RX ring. The descriptor ring lives in ordinary memory
 * and "the device" is example_device_receive().
 */
#ifndef _PAGE_POOL_EXAMPLE_H
#define _PAGE_POOL_EXAMPLE_H

#include <linux/dma-direct.h>
#include <linux/dma-mapping.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/page_pool/helpers.h>
#include <net/xdp.h>

/* doc: types */
#define EXAMPLE_RING_SIZE	64
#define EXAMPLE_HEADROOM	(XDP_PACKET_HEADROOM + NET_IP_ALIGN)
/* What the device may fill: the tail of the page is for skb_shared_info */
#define EXAMPLE_BUF_LEN		(SKB_WITH_OVERHEAD(PAGE_SIZE) - EXAMPLE_HEADROOM)

struct example_desc {
	dma_addr_t addr;
	u16 len;
	bool error;
	bool done;
};

struct example_ring {
	struct page_pool *pool;
	struct page *page[EXAMPLE_RING_SIZE];
	struct example_desc desc[EXAMPLE_RING_SIZE];
	unsigned int posted;		/* buffers ever given to the device */
	unsigned int cleaned;		/* buffers ever taken back */
	u64 alloc_fail;			/* no page, or no skb for a frame */
	struct napi_struct napi;
	struct xdp_rxq_info xdp_rxq;
};

struct example_priv {
	struct net_device *netdev;
	struct device *dev;		/* the one that does DMA */
	struct page_pool_stats_sum pp_stats;
	struct example_ring ring;
};

/* end: types */

/* doc: create */
static int example_create_pool(struct example_priv *priv)
{
	struct example_ring *ring = &priv->ring;
	struct page_pool_params params = {
		.flags		= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order		= 0,
		.pool_size	= EXAMPLE_RING_SIZE,
		.nid		= NUMA_NO_NODE,
		.dev		= priv->dev,
		.netdev		= priv->netdev,
		.napi		= &ring->napi,
		.dma_dir	= DMA_FROM_DEVICE,
		.offset		= EXAMPLE_HEADROOM,
		.max_len	= EXAMPLE_BUF_LEN,
	};
	struct page_pool *pool;
	int err;

	pool = page_pool_create(&params);
	if (IS_ERR(pool))
		return PTR_ERR(pool);
	page_pool_stats_sum_add(&priv->pp_stats, pool);

	err = xdp_rxq_info_reg(&ring->xdp_rxq, priv->netdev, 0,
			       ring->napi.napi_id);
	if (err)
		goto err_destroy;

	err = xdp_rxq_info_reg_mem_model(&ring->xdp_rxq, MEM_TYPE_PAGE_POOL,
					 pool);
	if (err)
		goto err_unreg;

	ring->pool = pool;
	return 0;

err_unreg:
	xdp_rxq_info_unreg(&ring->xdp_rxq);
err_destroy:
	page_pool_destroy(pool);
	return err;
}

/* end: create */

/* doc: refill */
/* From the NAPI poll, or at open time while NAPI is still disabled */
static void example_refill(struct example_ring *ring)
{
	while (ring->posted - ring->cleaned < EXAMPLE_RING_SIZE) {
		unsigned int i = ring->posted % EXAMPLE_RING_SIZE;
		struct page *page;

		page = page_pool_dev_alloc_pages(ring->pool);
		if (unlikely(!page)) {
			ring->alloc_fail++;
			break;
		}

		/* Mapped once when it entered the pool, synced when it came back */
		ring->page[i] = page;
		ring->desc[i].addr = page_pool_get_dma_addr(page) +
				     EXAMPLE_HEADROOM;
		ring->desc[i].done = false;
		ring->posted++;
	}
}

/* end: refill */

/* The device: it raises interrupts again */
static void example_device_irq_on(struct example_ring *ring)
{
}

/* doc: poll */
static int example_poll(struct napi_struct *napi, int budget)
{
	struct example_ring *ring = container_of(napi, struct example_ring,
						 napi);
	int done = 0;

	/* netpoll, perhaps with interrupts off: no pool may be touched there */
	if (unlikely(!budget))
		return 0;

	while (done < budget && ring->cleaned != ring->posted) {
		unsigned int i = ring->cleaned % EXAMPLE_RING_SIZE;
		struct example_desc *desc = &ring->desc[i];
		struct page *page = ring->page[i];
		struct sk_buff *skb = NULL;

		/* Pairs with the release in example_device_receive() */
		if (!smp_load_acquire(&desc->done))
			break;

		ring->cleaned++;
		done++;

		page_pool_dma_sync_for_cpu(ring->pool, page, 0, desc->len);

		if (!desc->error) {
			skb = napi_build_skb(page_address(page), PAGE_SIZE);
			ring->alloc_fail += !skb;
		}
		if (unlikely(!skb)) {
			/* The stack never saw it: only these bytes were touched */
			page_pool_put_page(ring->pool, page, desc->len, true);
			continue;
		}

		skb_mark_for_recycle(skb);
		skb_reserve(skb, EXAMPLE_HEADROOM);
		__skb_put(skb, desc->len);
		skb->protocol = eth_type_trans(skb, napi->dev);
		napi_gro_receive(napi, skb);
	}

	example_refill(ring);

	/* With nothing posted no interrupt can come: stay on the poll list */
	if (unlikely(ring->posted == ring->cleaned))
		return budget;

	if (done < budget && napi_complete_done(napi, done))
		example_device_irq_on(ring);
	return done;
}

/* end: poll */

/* doc: probe */
static void example_probe(struct net_device *netdev, struct device *dev)
{
	struct example_priv *priv = netdev_priv(netdev);

	priv->netdev = netdev;
	priv->dev = dev;
	page_pool_stats_sum_init(&priv->pp_stats);
	netif_napi_add(netdev, &priv->ring.napi, example_poll);
}

/* end: probe */

/* doc: open */
/* Both users go: the memory model first, then the ring itself */
static void example_destroy_pool(struct example_ring *ring)
{
	xdp_rxq_info_unreg(&ring->xdp_rxq);
	page_pool_destroy(ring->pool);
	ring->pool = NULL;
}

static int example_open(struct net_device *netdev)
{
	struct example_priv *priv = netdev_priv(netdev);
	struct example_ring *ring = &priv->ring;
	int err;

	err = example_create_pool(priv);
	if (err)
		return err;

	example_refill(ring);
	/* Without a buffer no frame, and without a frame no poll that refills */
	if (ring->posted == ring->cleaned) {
		example_destroy_pool(ring);
		return -ENOMEM;
	}

	napi_enable(&ring->napi);
	return 0;
}

/* end: open */

/* doc: stop */
static int example_stop(struct net_device *netdev)
{
	struct example_priv *priv = netdev_priv(netdev);
	struct example_ring *ring = &priv->ring;

	/* 1. The device was stopped just before; nobody allocates any more */
	napi_disable(&ring->napi);

	/* 2. What the device held goes back */
	while (ring->cleaned != ring->posted) {
		unsigned int i = ring->cleaned++ % EXAMPLE_RING_SIZE;

		page_pool_put_full_page(ring->pool, ring->page[i], false);
	}

	/* 3. The pool waits for what the stack still has */
	example_destroy_pool(ring);
	return 0;
}

/* end: stop */

/* doc: ethtool */
static int example_get_sset_count(struct net_device *netdev, int sset)
{
	if (sset != ETH_SS_STATS)
		return -EOPNOTSUPP;
	return page_pool_ethtool_stats_get_count();
}

static void example_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_STATS)
		page_pool_ethtool_stats_get_strings(data);
}

static void example_get_ethtool_stats(struct net_device *netdev,
				      struct ethtool_stats *stats, u64 *data)
{
	struct example_priv *priv = netdev_priv(netdev);

	page_pool_ethtool_stats_sum_get(data, &priv->pp_stats);
}

/* end: ethtool */

/* doc: frag */
/* Two receive buffers of half a page: the pool cuts them from one page */
static int example_post_halves(struct page_pool *pool, struct page *page[2],
			       unsigned int offset[2])
{
	int i;

	for (i = 0; i < 2; i++) {
		page[i] = page_pool_dev_alloc_frag(pool, &offset[i],
						   PAGE_SIZE / 2);
		if (!page[i])
			break;
		/* the device gets page_pool_get_dma_addr(page[i]) + offset[i] */
	}
	return i;
}

/* end: frag */

/* doc: before */
struct example_skb_buf {
	struct sk_buff *skb;
	dma_addr_t addr;
};

/* For each descriptor: memory, an skb and a mapping */
static bool example_skb_post(struct net_device *netdev, struct device *dev,
			     struct example_skb_buf *buf, unsigned int size)
{
	buf->skb = netdev_alloc_skb_ip_align(netdev, size);
	if (!buf->skb)
		return false;

	buf->addr = dma_map_single(dev, buf->skb->data, size, DMA_FROM_DEVICE);
	if (dma_mapping_error(dev, buf->addr)) {
		dev_kfree_skb_any(buf->skb);
		buf->skb = NULL;
		return false;
	}
	return true;
}

/* For each frame: the mapping goes, and all the rest with the skb */
static struct sk_buff *example_skb_take(struct device *dev,
					struct example_skb_buf *buf,
					unsigned int size, unsigned int len)
{
	struct sk_buff *skb = buf->skb;

	dma_unmap_single(dev, buf->addr, size, DMA_FROM_DEVICE);
	buf->skb = NULL;
	skb_put(skb, len);
	return skb;
}

/* end: before */

/* doc: share */
/* The same page in two skbs: each of them puts it once */
static bool example_share(struct page *page, unsigned int len,
			  struct sk_buff *first, struct sk_buff *second)
{
	if (!first || !second)
		return false;

	/* One reference came with the page, the second skb needs another */
	page_pool_ref_page(page);
	skb_add_rx_frag(first, 0, page, EXAMPLE_HEADROOM, len, PAGE_SIZE);
	skb_add_rx_frag(second, 0, page, EXAMPLE_HEADROOM, len, PAGE_SIZE);
	skb_mark_for_recycle(first);
	skb_mark_for_recycle(second);
	return true;
}

/* end: share */

/* The device: takes the next posted buffer, false when there is none */
static bool example_device_receive(struct example_ring *ring,
				   unsigned int *taken, const void *data,
				   u16 len, bool error)
{
	struct example_desc *desc;
	unsigned int i;

	if (*taken == ring->posted || len > EXAMPLE_BUF_LEN)
		return false;

	i = (*taken)++ % EXAMPLE_RING_SIZE;
	desc = &ring->desc[i];
	/* Where the address leads, which may be to a bounce buffer */
	memcpy(phys_to_virt(dma_to_phys(ring->pool->p.dev, desc->addr)), data,
	       len);
	desc->len = len;
	desc->error = error;
	/* Pairs with the acquire in example_poll() */
	smp_store_release(&desc->done, true);
	return true;
}

#endif /* _PAGE_POOL_EXAMPLE_H */
