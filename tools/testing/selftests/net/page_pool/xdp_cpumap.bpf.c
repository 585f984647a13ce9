// SPDX-License-Identifier: GPL-2.0
/* An XDP program that leaves all packets to a CPU; see netlink_holders.py. */
#include <linux/types.h>
#include <linux/bpf.h>

#define SEC(name)		__attribute__((section(name), used))
#define __uint(name, val)	int (*name)[val]
#define __type(name, val)	typeof(val) *name

static long (*const bpf_redirect_map)(void *map, __u64 key, __u64 flags) =
	(void *)BPF_FUNC_redirect_map;

/* CPU 0 and no other, with a queue that the test makes */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} pp_cpus SEC(".maps");

SEC("xdp")
int xdp_cpumap(struct xdp_md *ctx)
{
	return bpf_redirect_map(&pp_cpus, 0, XDP_ABORTED);
}

char _license[] SEC("license") = "GPL";
