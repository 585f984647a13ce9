// SPDX-License-Identifier: GPL-2.0
/*
 * A NIC without hardware, to start a driver from: two ports and a cable between them.
 * The device is skel_send(). For the reasons see Documentation/networking/page_pool.rst.
 */

#include <linux/bpf_trace.h>
#include <linux/dma-direct.h>
#include <linux/ethtool.h>
#include <linux/filter.h>
#include <linux/if_vlan.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <net/page_pool/helpers.h>

#define SKEL_HEADROOM	(XDP_PACKET_HEADROOM + NET_IP_ALIGN)
#define SKEL_TAILROOM	SKB_DATA_ALIGN(sizeof(struct skb_shared_info))

struct skel_desc {
	dma_addr_t addr;		/* where the device writes */
	u32 len;			/* what it wrote */
	struct page *page;		/* the driver's */
};

struct skel_ring {
	struct page_pool *pool;
	struct xdp_rxq_info xdp_rxq;
	unsigned int size;		/* power of two, as the indexes wrap */
	unsigned int posted;		/* given to the device so far: the doorbell */
	unsigned int filled;		/* written by the device */
	unsigned int cleaned;		/* taken back by the driver */
	struct skel_desc desc[] __counted_by(size);
};

struct skel_port {
	struct net_device *netdev;
	struct skel_port *peer;
	struct skel_ring __rcu *ring;	/* NULL: the device receives nothing */
	struct bpf_prog *prog;
	struct napi_struct napi;
	struct page_pool_stats_sum pp_stats;
	unsigned int ring_size;
};

/* A device has no page, and what it writes to may be a bounce buffer */
static void *skel_dma(struct skel_port *port, dma_addr_t addr)
{
	return phys_to_virt(dma_to_phys(port->netdev->dev.parent, addr));
}

/* The device sends a frame. The caller holds the lock of the transmit queue */
static void skel_send(struct skel_port *port, const void *data, unsigned int len)
{
	struct skel_port *to = port->peer;
	struct skel_ring *ring = rcu_dereference_bh(to->ring);
	struct skel_desc *desc;

	dev_sw_netstats_tx_add(port->netdev, 1, len);
	if (!ring || len > ring->pool->p.max_len ||
	    ring->filled == smp_load_acquire(&ring->posted)) {	/* see skel_refill() */
		dev_core_stats_rx_dropped_inc(to->netdev);
		return;
	}
	desc = &ring->desc[ring->filled % ring->size];
	memcpy(skel_dma(to, desc->addr), data, len);
	desc->len = len;
	/* Pairs with the acquire in skel_poll(). Then the interrupt */
	smp_store_release(&ring->filled, ring->filled + 1);
	napi_schedule(&to->napi);
}

/* From the poll function, or for a ring that NAPI does not know yet */
static void skel_refill(struct skel_ring *ring, gfp_t gfp)
{
	unsigned int posted = ring->posted;

	for (; posted - ring->cleaned < ring->size; posted++) {
		struct skel_desc *desc = &ring->desc[posted % ring->size];

		desc->page = page_pool_alloc_pages(ring->pool, gfp);
		if (unlikely(!desc->page))
			break;
		desc->addr = page_pool_get_dma_addr(desc->page) + SKEL_HEADROOM;
	}
	/* Pairs with the acquire in skel_send() */
	smp_store_release(&ring->posted, posted);
}

/* What becomes of a frame, PASS apart */
static void skel_xdp(struct skel_port *port, struct skel_ring *ring, struct bpf_prog *prog,
		     struct page *page, struct xdp_buff *xdp, u32 act)
{
	dma_addr_t addr = page_pool_get_dma_addr(page) + (xdp->data - xdp->data_hard_start);
	struct netdev_queue *txq = netdev_get_tx_queue(port->netdev, 0);
	unsigned int len = xdp->data_end - xdp->data;

	if (act == XDP_REDIRECT && !xdp_do_redirect(port->netdev, xdp, prog))
		return;
	if (act == XDP_TX) {
		dma_sync_single_for_device(port->netdev->dev.parent, addr, len, DMA_BIDIRECTIONAL);
		__netif_tx_lock(txq, smp_processor_id());
		/* This device has read the page then. With others it is put later */
		skel_send(port, skel_dma(port, addr), len);
		__netif_tx_unlock(txq);
	} else if (act != XDP_DROP) {
		if (act > XDP_REDIRECT)
			bpf_warn_invalid_xdp_action(port->netdev, prog, act);
		trace_xdp_exception(port->netdev, prog, act);
	}
	/* The program may have moved the end out and in again: sync all */
	page_pool_recycle_direct(ring->pool, page);
}

static void skel_receive(struct skel_port *port, struct skel_ring *ring, struct skel_desc *desc)
{
	unsigned int truesize = PAGE_SIZE << ring->pool->p.order;
	struct bpf_prog *prog = READ_ONCE(port->prog);
	struct page *page = desc->page;
	struct xdp_buff xdp;
	struct sk_buff *skb;
	u32 act;

	page_pool_dma_sync_for_cpu(ring->pool, page, 0, desc->len);
	dev_sw_netstats_rx_add(port->netdev, desc->len);
	xdp_init_buff(&xdp, truesize, &ring->xdp_rxq);
	xdp_prepare_buff(&xdp, page_address(page), SKEL_HEADROOM, desc->len, false);
	act = prog ? bpf_prog_run_xdp(prog, &xdp) : XDP_PASS;
	if (act != XDP_PASS) {
		skel_xdp(port, ring, prog, page, &xdp, act);
		return;
	}
	skb = napi_build_skb(page_address(page), truesize);
	if (unlikely(!skb)) {
		dev_core_stats_rx_dropped_inc(port->netdev);
		page_pool_recycle_direct(ring->pool, page);
		return;
	}
	/* From here on whoever frees the skb puts the page */
	skb_mark_for_recycle(skb);
	skb_reserve(skb, xdp.data - xdp.data_hard_start);
	__skb_put(skb, xdp.data_end - xdp.data);
	skb->protocol = eth_type_trans(skb, port->netdev);
	napi_gro_receive(&port->napi, skb);
}

static int skel_poll(struct napi_struct *napi, int budget)
{
	struct skel_port *port = container_of(napi, struct skel_port, napi);
	struct skel_ring *ring = rcu_dereference_bh(port->ring);
	int done = 0;

	/* netpoll may not touch the pool. Busy polling may be here without a ring */
	if (unlikely(!budget || !ring))
		return budget;

	/* The acquire pairs with the release in skel_send() */
	for (; done < budget && ring->cleaned != smp_load_acquire(&ring->filled); done++)
		skel_receive(port, ring, &ring->desc[ring->cleaned++ % ring->size]);
	xdp_do_flush();
	skel_refill(ring, GFP_ATOMIC | __GFP_NOWARN);

	/* With nothing posted no interrupt can come: stay on the poll list */
	if (unlikely(ring->cleaned == ring->posted))
		return budget;
	/* A device's interrupt is enabled when this returns true */
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}

static struct skel_ring *skel_create_ring(struct skel_port *port, unsigned int mtu)
{
	unsigned int len = mtu + VLAN_ETH_HLEN;
	struct page_pool_params params = {
		.flags		= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order		= get_order(SKEL_HEADROOM + SKB_DATA_ALIGN(len) + SKEL_TAILROOM),
		.pool_size	= port->ring_size,
		.nid		= NUMA_NO_NODE,
		.dev		= port->netdev->dev.parent,
		.netdev		= port->netdev,
		.dma_dir	= DMA_BIDIRECTIONAL,	/* XDP_TX */
		.offset		= SKEL_HEADROOM,
		.max_len	= len,
	};
	struct skel_ring *ring;
	int err;

	ring = kvzalloc(struct_size(ring, desc, port->ring_size), GFP_KERNEL);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->size = port->ring_size;
	ring->pool = page_pool_create(&params);
	err = PTR_ERR_OR_ZERO(ring->pool);
	if (err)
		goto err_free;
	page_pool_stats_sum_add(&port->pp_stats, ring->pool);
	err = xdp_rxq_info_reg(&ring->xdp_rxq, port->netdev, 0, port->napi.napi_id);
	if (err)
		goto err_destroy;
	err = xdp_rxq_info_reg_mem_model(&ring->xdp_rxq, MEM_TYPE_PAGE_POOL, ring->pool);
	if (err)
		goto err_unreg;
	skel_refill(ring, GFP_KERNEL);
	if (ring->posted)
		return ring;
	err = -ENOMEM;

err_unreg:
	xdp_rxq_info_unreg(&ring->xdp_rxq);
err_destroy:
	page_pool_destroy(ring->pool);
err_free:
	kvfree(ring);
	return ERR_PTR(err);
}

/* Cannot fail. The ring and the one before may be NULL */
static void skel_set_ring(struct skel_port *port, struct skel_ring *ring)
{
	struct skel_ring *old = rtnl_dereference(port->ring);

	if (old) {
		/* 1. Nobody allocates from the old pool, or puts directly */
		napi_disable(&port->napi);
		/* 2. The device writes to its buffers no more */
		rcu_assign_pointer(port->ring, NULL);
		synchronize_net();
		/* 3. The buffers, then both users of the pool, go before NAPI comes back */
		while (old->cleaned != old->posted)
			page_pool_put_full_page(old->pool,
						old->desc[old->cleaned++ % old->size].page, false);
		xdp_rxq_info_unreg(&old->xdp_rxq);
		page_pool_destroy(old->pool);
		kvfree(old);
	}
	/* 4. The reverse. Linked only now: when its creation failed NAPI was in use */
	if (ring) {
		WRITE_ONCE(ring->pool->p.napi, &port->napi);
		napi_enable(&port->napi);
		rcu_assign_pointer(port->ring, ring);
	}
}

/* What may fail comes first: there is a ring then for what it was before */
static int skel_change_mtu(struct net_device *netdev, int mtu)
{
	struct skel_port *port = netdev_priv(netdev);
	struct skel_ring *ring;

	if (netif_running(netdev)) {
		ring = skel_create_ring(port, mtu);
		if (IS_ERR(ring))
			return PTR_ERR(ring);
		skel_set_ring(port, ring);
	}
	WRITE_ONCE(netdev->mtu, mtu);
	return 0;
}

static int skel_open(struct net_device *netdev)
{
	return skel_change_mtu(netdev, netdev->mtu);
}

static int skel_stop(struct net_device *netdev)
{
	skel_set_ring(netdev_priv(netdev), NULL);
	return 0;
}

static netdev_tx_t skel_start_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	skel_send(netdev_priv(netdev), skb->data, skb->len);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

static int skel_bpf(struct net_device *netdev, struct netdev_bpf *bpf)
{
	struct skel_port *port = netdev_priv(netdev);
	struct bpf_prog *old;

	if (bpf->command != XDP_SETUP_PROG)
		return -EINVAL;
	old = xchg(&port->prog, bpf->prog);
	if (old)
		bpf_prog_put(old);
	return 0;
}

static const struct net_device_ops skel_netdev_ops = {
	.ndo_open	= skel_open,
	.ndo_stop	= skel_stop,
	.ndo_start_xmit	= skel_start_xmit,
	.ndo_change_mtu	= skel_change_mtu,
	.ndo_bpf	= skel_bpf,
};

static void skel_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			       struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	struct skel_port *port = netdev_priv(netdev);

	ring->rx_max_pending = 1024;
	ring->rx_pending = port->ring_size;
}

static int skel_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	struct skel_port *port = netdev_priv(netdev);
	int err, old = port->ring_size;

	port->ring_size = roundup_pow_of_two(max(ring->rx_pending, 64));
	err = skel_change_mtu(netdev, netdev->mtu);
	if (err)
		port->ring_size = old;
	return err;
}

static int skel_get_sset_count(struct net_device *netdev, int sset)
{
	return sset == ETH_SS_STATS ? page_pool_ethtool_stats_get_count() : -EOPNOTSUPP;
}

static void skel_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	page_pool_ethtool_stats_get_strings(data);
}

static void skel_get_stats(struct net_device *netdev, struct ethtool_stats *stats, u64 *data)
{
	struct skel_port *port = netdev_priv(netdev);

	page_pool_ethtool_stats_sum_get(data, &port->pp_stats);
}

static const struct ethtool_ops skel_ethtool_ops = {
	.get_ringparam		= skel_get_ringparam,
	.set_ringparam		= skel_set_ringparam,
	.get_sset_count		= skel_get_sset_count,
	.get_strings		= skel_get_strings,
	.get_ethtool_stats	= skel_get_stats,
};

static int __init skel_probe(struct platform_device *pdev)
{
	struct skel_port *port[2];
	struct net_device *netdev;
	int i, err = 0;

	/* The device is a CPU: what it writes has to be what others read */
	if (get_dma_ops(&pdev->dev) || !dev_is_dma_coherent(&pdev->dev) ||
	    dma_set_mask(&pdev->dev, DMA_BIT_MASK(64)))
		return -ENODEV;
	for (i = 0; i < 2; i++) {
		netdev = devm_alloc_etherdev(&pdev->dev, sizeof(struct skel_port));
		if (!netdev)
			return -ENOMEM;
		SET_NETDEV_DEV(netdev, &pdev->dev);
		eth_hw_addr_random(netdev);
		netdev->netdev_ops = &skel_netdev_ops;
		netdev->ethtool_ops = &skel_ethtool_ops;
		netdev->max_mtu = 9000;
		netdev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
		xdp_set_features_flag(netdev, NETDEV_XDP_ACT_BASIC | NETDEV_XDP_ACT_REDIRECT);
		port[i] = netdev_priv(netdev);
		port[i]->netdev = netdev;
		port[i]->ring_size = 256;
		page_pool_stats_sum_init(&port[i]->pp_stats);
		netif_napi_add(netdev, &port[i]->napi, skel_poll);
		netif_queue_set_napi(netdev, 0, NETDEV_QUEUE_TYPE_RX, &port[i]->napi);
	}
	for (i = 0; !err && i < 2; i++) {
		port[i]->peer = port[!i];
		err = devm_register_netdev(&pdev->dev, port[i]->netdev);
	}
	return err;
}

static struct platform_driver skel_driver = { .driver.name = KBUILD_MODNAME };
static struct platform_device *skel_pdev;

static int __init skel_init(void)
{
	skel_pdev = platform_create_bundle(&skel_driver, skel_probe, NULL, 0, NULL, 0);
	return PTR_ERR_OR_ZERO(skel_pdev);
}
module_init(skel_init);

static void __exit skel_exit(void)
{
	platform_device_unregister(skel_pdev);
	platform_driver_unregister(&skel_driver);
}
module_exit(skel_exit);

MODULE_DESCRIPTION("NIC without hardware that shows how a driver uses a page pool");
MODULE_LICENSE("GPL");
