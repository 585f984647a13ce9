// SPDX-License-Identifier: GPL-2.0
/* The XDP programs of the page pool tests: each counts what it sees and
 * returns one verdict. They need no header of libbpf.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>

#define SEC(name)		__attribute__((section(name), used))
#define __uint(name, val)	int (*name)[val]
#define __type(name, val)	typeof(val) *name

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) =
	(void *)BPF_FUNC_map_lookup_elem;
static long (*const bpf_redirect)(__u32 ifindex, __u64 flags) =
	(void *)BPF_FUNC_redirect;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pp_count SEC(".maps");

/* index of the device to redirect to */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} pp_target SEC(".maps");

static __attribute__((always_inline)) void count(void)
{
	__u32 key = 0;
	__u64 *seen;

	seen = bpf_map_lookup_elem(&pp_count, &key);
	if (seen)
		__sync_fetch_and_add(seen, 1);
}

/* Only test traffic is redirected, bounced or dropped: IPv4 UDP from port
 * 40000 up. ARP has to get through.
 */
static __attribute__((always_inline)) int is_test(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	/* Ethernet, 20 bytes of IPv4, UDP */
	if ((void *)(data + ETH_HLEN + 28) > end)
		return 0;
	if (data[12] != 0x08 || data[13] != 0x00 || data[ETH_HLEN] != 0x45 ||
	    data[ETH_HLEN + 9] != 17)
		return 0;
	/* destination port */
	return (data[ETH_HLEN + 22] << 8 | data[ETH_HLEN + 23]) >= 40000;
}

SEC("xdp")
int xdp_pass(struct xdp_md *ctx)
{
	if (is_test(ctx))
		count();
	return XDP_PASS;
}

/* for packets of more than one buffer */
SEC("xdp.frags")
int xdp_pass_frags(struct xdp_md *ctx)
{
	if (is_test(ctx))
		count();
	return XDP_PASS;
}

SEC("xdp")
int xdp_drop(struct xdp_md *ctx)
{
	if (!is_test(ctx))
		return XDP_PASS;
	count();
	return XDP_DROP;
}

SEC("xdp")
int xdp_tx(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;
	unsigned char tmp;
	int i;

	if (!is_test(ctx))
		return XDP_PASS;
	if ((void *)(data + ETH_HLEN) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;
#pragma clang loop unroll(full)
	for (i = 0; i < ETH_ALEN; i++) {
		tmp = data[i];
		data[i] = data[i + ETH_ALEN];
		data[i + ETH_ALEN] = tmp;
	}
	count();
	return XDP_TX;
}

SEC("xdp")
int xdp_redirect(struct xdp_md *ctx)
{
	__u32 key = 0;
	__u64 *target;

	if (!is_test(ctx))
		return XDP_PASS;
	target = bpf_map_lookup_elem(&pp_target, &key);
	if (!target || !*target)
		return XDP_ABORTED;
	count();
	return bpf_redirect(*target, 0);
}

char _license[] SEC("license") = "GPL";
