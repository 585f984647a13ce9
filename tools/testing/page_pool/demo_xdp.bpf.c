// SPDX-License-Identifier: GPL-2.0
/*
 * XDP verdicts for the demonstration: drop a datagram, or send it back to where
 * it came from.  Only UDP to one port is touched, so that ARP works.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define DEMO_PORT	40001

struct demo_frame {
	struct ethhdr *eth;
	struct iphdr *ip;
	struct udphdr *udp;
};

static __always_inline int demo_parse(struct xdp_md *ctx,
				      struct demo_frame *frame)
{
	void *end = (void *)(long)ctx->data_end;

	frame->eth = (void *)(long)ctx->data;
	frame->ip = (void *)(frame->eth + 1);
	frame->udp = (void *)(frame->ip + 1);

	return (void *)(frame->udp + 1) <= end &&
	       frame->eth->h_proto == bpf_htons(ETH_P_IP) &&
	       frame->ip->ihl == 5 && frame->ip->protocol == IPPROTO_UDP &&
	       frame->udp->dest == bpf_htons(DEMO_PORT);
}

SEC("xdp")
int demo_drop(struct xdp_md *ctx)
{
	struct demo_frame frame;

	return demo_parse(ctx, &frame) ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int demo_tx(struct xdp_md *ctx)
{
	struct demo_frame frame;
	__u8 mac[ETH_ALEN];
	__be32 addr;
	__be16 port;

	if (!demo_parse(ctx, &frame))
		return XDP_PASS;

	__builtin_memcpy(mac, frame.eth->h_source, ETH_ALEN);
	__builtin_memcpy(frame.eth->h_source, frame.eth->h_dest, ETH_ALEN);
	__builtin_memcpy(frame.eth->h_dest, mac, ETH_ALEN);

	/* The sums over the headers do not depend on the order. */
	addr = frame.ip->saddr;
	frame.ip->saddr = frame.ip->daddr;
	frame.ip->daddr = addr;
	port = frame.udp->source;
	frame.udp->source = frame.udp->dest;
	frame.udp->dest = port;

	return XDP_TX;
}

SEC("xdp")
int demo_pass(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* Only for such programs generic XDP copies a packet to pages of a pool. */
SEC("xdp.frags")
int demo_pass_frags(struct xdp_md *ctx)
{
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
