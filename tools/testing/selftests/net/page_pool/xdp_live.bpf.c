// SPDX-License-Identifier: GPL-2.0
/* Sends frames on, counts them where they arrive, and counts the pages of the
 * pools that they are on, by the tracepoints of page pools.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

#include "xdp_live.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct live_state);
} state SEC(".maps");

/* by the address of a pool */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct live_pages);
} pools SEC(".maps");

static struct live_state *the_state(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&state, &key);
}

/* The payload of one of our frames, and whether it is as it was written. */
static struct live_payload *payload(void *data, void *end,
				    struct live_state *live)
{
	struct live_payload *load = data + ETH_HLEN;

	if ((void *)(load + 1) > end || load->magic != LIVE_MAGIC)
		return 0;
	if (load->len != end - data)
		__sync_fetch_and_add(&live->broken, 1);

	return load;
}

SEC("xdp")
int live_send(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	void *data = (void *)(long)ctx->data;
	struct live_state *live = the_state();
	struct live_payload *load;
	__u32 verdict;
	__u64 nr;

	if (!live)
		return XDP_ABORTED;
	nr = __sync_fetch_and_add(&live->sent, 1);
	load = payload(data, end, live);
	if (!load) {
		__sync_fetch_and_add(&live->broken, 1);
		return XDP_ABORTED;
	}
	if (load->trips++)
		__sync_fetch_and_add(&live->again, 1);

	verdict = live->verdict;
	if (verdict == LIVE_MIXED)
		verdict = nr & 3;
	switch (verdict) {
	case LIVE_REDIRECT:
		return bpf_redirect(live->target, 0);
	case LIVE_TX:
		return XDP_TX;
	case LIVE_PASS:
		return XDP_PASS;
	default:
		__sync_fetch_and_add(&live->dropped, 1);
		return XDP_DROP;
	}
}

SEC("xdp")
int live_far(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	void *data = (void *)(long)ctx->data;
	struct live_state *live = the_state();

	if (!live || !payload(data, end, live))
		return XDP_PASS;
	__sync_fetch_and_add(&live->far, 1);

	return live->far_passes ? XDP_PASS : XDP_DROP;
}

static int stack(struct __sk_buff *skb, int far)
{
	void *end = (void *)(long)skb->data_end;
	void *data = (void *)(long)skb->data;
	struct live_state *live = the_state();

	if (!live || !payload(data, end, live))
		return TC_ACT_OK;
	__sync_fetch_and_add(far ? &live->far_tc : &live->near_tc, 1);

	return TC_ACT_SHOT;
}

SEC("tc")
int live_near_tc(struct __sk_buff *skb)
{
	return stack(skb, 0);
}

SEC("tc")
int live_far_tc(struct __sk_buff *skb)
{
	return stack(skb, 1);
}

/* A run has a pool of its own, which takes pages in the task that asked for it. */
SEC("raw_tp/page_pool_state_hold")
int live_came(struct bpf_raw_tracepoint_args *ctx)
{
	struct live_state *live = the_state();
	struct live_pages fresh = {}, *pages;
	__u64 pool = ctx->args[0];

	if (!live || bpf_get_current_pid_tgid() >> 32 != live->task)
		return 0;
	bpf_map_update_elem(&pools, &pool, &fresh, BPF_NOEXIST);
	pages = bpf_map_lookup_elem(&pools, &pool);
	if (pages)
		__sync_fetch_and_add(&pages->came, 1);

	return 0;
}

SEC("raw_tp/page_pool_state_release")
int live_left(struct bpf_raw_tracepoint_args *ctx)
{
	struct live_pages *pages;
	__u64 pool = ctx->args[0];

	pages = bpf_map_lookup_elem(&pools, &pool);
	if (pages)
		__sync_fetch_and_add(&pages->left, 1);

	return 0;
}

char _license[] SEC("license") = "GPL";
