// SPDX-License-Identifier: GPL-2.0
/* BPF_PROG_TEST_RUN with live frames: the kernel makes a page pool for the run,
 * fills pages with a frame each, and does with them what the program says. Each
 * frame arrives as it was written, pages are used over and over, and all of them
 * are home in the end, though the pool may be destroyed while they are on their way.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "../../kselftest.h"
#include "xdp_live.h"

#define BATCH	64
/* More of them at once than a veth has room for would be lost. */
#define BURST	192

static struct live_case {
	const char *name;
	enum live_verdict verdict;
	unsigned int frames;
	unsigned int batch;
	unsigned int runs;
	unsigned int len;	/* 0: as much as a page has room for */
	bool far_passes;
	bool threaded;
	bool kept;		/* by a socket, until the pool was destroyed */
} cases[] = {
	{ "redirected", LIVE_REDIRECT, 10000, BATCH, 1, 64 },
	{ "redirected to a stack", LIVE_REDIRECT, 10000, BATCH, 1, 64, true },
	{ "sent back", LIVE_TX, 10000, BATCH, 1, 64 },
	{ "passed to the stack", LIVE_PASS, 10000, BATCH, 1, 64 },
	{ "dropped", LIVE_DROP, 10000, BATCH, 1, 64 },
	{ "one of each in turn", LIVE_MIXED, 10000, BATCH, 1, 64 },
	{ "frames that fill a page", LIVE_REDIRECT, 2000, BATCH, 1, 0 },
	{ "large batches", LIVE_MIXED, 10000, 256, 1, 64 },
	{ "frames one by one", LIVE_REDIRECT, 500, 1, 1, 64 },
	{ "pools that go before their frames arrive", LIVE_REDIRECT, BURST, BATCH,
	  50, 64, false, true },
	{ "frames kept by a socket", LIVE_PASS, BURST, BATCH, 1, 1000, false, false,
	  true },
};

static int near, far;	/* interfaces */
static int run_fd, state_fd, pools_fd;
static __u32 key;

static struct live_state get_state(void)
{
	struct live_state state;

	if (bpf_map_lookup_elem(state_fd, &key, &state))
		ksft_exit_fail_perror("the state");
	return state;
}

/* Pages that came into the pools of runs, and what of them is still out. */
static struct live_pages count_pages(void)
{
	struct live_pages sum = {}, pages;
	__u64 at, *last = NULL;

	while (!bpf_map_get_next_key(pools_fd, last, &at)) {
		last = &at;
		if (bpf_map_lookup_elem(pools_fd, last, &pages))
			continue;
		sum.came += pages.came;
		sum.left += pages.left;
	}
	return sum;
}

static void forget_pools(void)
{
	__u64 at;

	while (!bpf_map_get_next_key(pools_fd, NULL, &at))
		bpf_map_delete_elem(pools_fd, &at);
}

static int run(unsigned char *frame, unsigned int len, unsigned int frames,
	       unsigned int batch)
{
	struct live_payload *load = (void *)(frame + ETH_HLEN);
	struct xdp_md ctx = {
		.data_end = len,
		.ingress_ifindex = near,
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts,
		    .data_in = frame,
		    .data_size_in = len,
		    .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx),
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .repeat = frames,
		    .batch_size = batch);

	load->magic = LIVE_MAGIC;
	load->len = len;
	load->trips = 0;

	return bpf_prog_test_run_opts(run_fd, &opts);
}

/* The longest frame that a page has room for, by what the kernel refuses. */
static unsigned int longest(unsigned char *frame)
{
	unsigned int len = getpagesize();
	char cmd[80];

	while (len > ETH_FRAME_LEN && run(frame, len, 1, BATCH) == -EINVAL)
		len--;
	snprintf(cmd, sizeof(cmd), "ip link set ppfar mtu %u && ip link set ppnear mtu %u",
		 len - ETH_HLEN, len - ETH_HLEN);
	if (system(cmd))
		ksft_exit_fail_msg("%s failed\n", cmd);
	return len;
}

static unsigned long long arrived(const struct live_state *live)
{
	return live->near_tc + (live->far_tc ? live->far_tc : live->far) +
	       live->dropped;
}

static bool wait_for(bool (*done)(const void *), const void *arg)
{
	int i;

	for (i = 0; i < 2000; i++) {
		if (done(arg))
			return true;
		usleep(10000);
	}
	return false;
}

static bool all_arrived(const void *sent)
{
	struct live_state live = get_state();

	return arrived(&live) >= *(const unsigned long long *)sent;
}

static bool all_home(const void *arg)
{
	struct live_pages pages = count_pages();

	return pages.came == pages.left;
}

static int keep(void)
{
	struct sockaddr_ll addr = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = near,
	};
	int fd, room = 1 << 24;

	fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    bind(fd, (void *)&addr, sizeof(addr)))
		ksft_exit_fail_perror("a packet socket");
	return fd;
}

/* Frames in the socket that are as they were sent. */
static unsigned int read_kept(int fd, const unsigned char *frame, unsigned int len)
{
	unsigned char got[ETH_FRAME_LEN];
	struct live_payload *load = (void *)(got + ETH_HLEN);
	unsigned int good = 0;

	while (recv(fd, got, sizeof(got), MSG_DONTWAIT) == len) {
		load->trips = 0;
		good += !memcmp(got, frame, len);
	}
	return good;
}

static void set_threaded(bool on)
{
	const char *path = "/sys/class/net/ppfar/threaded";
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, on ? "1" : "0", 1) != 1)
		ksft_exit_fail_perror(path);
	close(fd);
}

#define expect(cond, fmt, ...) do {					\
	if (!(cond)) {							\
		ksft_print_msg("%s: " fmt "\n", #cond, ##__VA_ARGS__);	\
		good = false;						\
	}								\
} while (0)

static void test(const struct live_case *c, unsigned char *frame, unsigned int len)
{
	struct live_state live = {
		.verdict = c->verdict,
		/* what leaves there arrives at the far end */
		.target = near,
		.task = getpid(),
		.far_passes = c->far_passes,
	};
	unsigned long long sent = 0;
	struct live_pages pages;
	bool good = true;
	int fd = -1;
	unsigned int i;

	forget_pools();
	bpf_map_update_elem(state_fd, &key, &live, BPF_ANY);
	if (c->threaded)
		set_threaded(true);
	if (c->kept)
		fd = keep();

	for (i = 0; i < c->runs && good; i++) {
		int err = run(frame, len, c->frames, c->batch);

		expect(!err, "%s", strerror(-err));
		sent += c->frames;
		expect(wait_for(all_arrived, &sent), "not all frames arrive");
	}
	if (c->threaded)
		set_threaded(false);

	live = get_state();
	expect(live.sent == sent, "%llu of %llu", live.sent, sent);
	expect(arrived(&live) == sent, "%llu of %llu", arrived(&live), sent);
	expect(!live.broken, "%llu of %llu", live.broken, sent);
	if (c->far_passes)
		expect(live.far_tc == live.far, "%llu of %llu", live.far_tc, live.far);

	pages = count_pages();
	expect(pages.came, "no page came into a pool");
	expect(live.again + pages.came >= sent, "%llu and %llu", live.again, pages.came);
	/* A pool has as many places as a batch has frames; one place is too few. */
	if (c->runs == 1 && c->batch > 1 && !c->kept)
		expect(pages.came <= 4 * c->batch, "%llu pages for %llu frames",
		       pages.came, sent);
	if (c->kept) {
		unsigned int kept;

		expect(pages.came - pages.left >= sent, "%llu pages came, %llu left",
		       pages.came, pages.left);
		kept = read_kept(fd, frame, len);
		expect(kept == sent, "%u of %llu", kept, sent);
		close(fd);
	}
	wait_for(all_home, NULL);
	pages = count_pages();
	expect(pages.came == pages.left, "%llu pages came, %llu left", pages.came,
	       pages.left);

	/* The last line before a failure is taken for its reason. */
	if (good)
		ksft_print_msg("%llu frames on %llu pages\n", sent, pages.came);
	ksft_test_result(good, "%s\n", c->name);
}

static int program(struct bpf_object *obj, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(obj, name));
}

static void attach(struct bpf_object *obj, int ifindex, const char *xdp,
		   const char *tc)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = ifindex,
		    .attach_point = BPF_TC_INGRESS);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = 1, .priority = 1,
		    .prog_fd = program(obj, tc));
	int err;

	err = bpf_xdp_attach(ifindex, program(obj, xdp), XDP_FLAGS_DRV_MODE, NULL);
	if (!err)
		err = bpf_tc_hook_create(&hook);
	if (!err)
		err = bpf_tc_attach(&hook, &opts);
	if (err)
		ksft_exit_fail_msg("%s, %s: %s\n", xdp, tc, strerror(-err));
}

static void trace(struct bpf_object *obj, const char *name)
{
	struct bpf_link *link;

	/* stays until the process ends */
	link = bpf_program__attach(bpf_object__find_program_by_name(obj, name));
	if (!link)
		ksft_exit_skip("no tracepoints of page pools: %s\n", strerror(errno));
}

static struct bpf_object *load(void)
{
	struct bpf_object *obj;
	char path[PATH_MAX];
	ssize_t n;

	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n < 0)
		ksft_exit_fail_perror("/proc/self/exe");
	path[n] = 0;
	dirname(path);
	strncat(path, "/xdp_live.bpf.o", sizeof(path) - strlen(path) - 1);
	if (access(path, R_OK))
		ksft_exit_skip("xdp_live.bpf.o was not built (needs clang)\n");
	obj = bpf_object__open(path);
	if (!obj || bpf_object__load(obj))
		ksft_exit_fail_perror(path);
	return obj;
}

/* A pair of interfaces where nothing moves but what the test sends. */
static void make_wire(void)
{
	cpu_set_t here;

	/* With sysfs of that namespace, which no one sees but the test. */
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("sysfs", "/sys", "sysfs", 0, NULL))
		ksft_exit_skip("no namespaces: %s\n", strerror(errno));
	if (system("ip link add ppnear type veth peer name ppfar"))
		ksft_exit_skip("no veth\n");
	if (system("ip link set ppnear addrgenmode none up") ||
	    system("ip link set ppfar addrgenmode none up"))
		ksft_exit_fail_msg("cannot bring the veth up\n");
	near = if_nametoindex("ppnear");
	far = if_nametoindex("ppfar");

	/* Frames that another CPU has to fetch would be too many for a veth. */
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

int main(void)
{
	struct bpf_object *obj;
	unsigned char *frame;
	unsigned int i, most;

	ksft_print_header();
	if (getuid())
		ksft_exit_skip("needs root\n");
	frame = calloc(1, getpagesize());
	if (!frame)
		ksft_exit_fail_perror("memory");
	/* to a locally administered address, of a protocol for experiments */
	memcpy(frame, "\x02\0\0\0\0\1\x02\0\0\0\0\2\x88\xb5", ETH_HLEN);
	for (i = ETH_HLEN; i < getpagesize(); i++)
		frame[i] = i;

	make_wire();
	obj = load();
	run_fd = program(obj, "live_send");
	state_fd = bpf_object__find_map_fd_by_name(obj, "state");
	pools_fd = bpf_object__find_map_fd_by_name(obj, "pools");
	/* Some program has to be there for the near end to take frames. With this the
	 * runs do not change the code that calls programs: when they did, a CPU that
	 * was there might fail in QEMU (text_poke of bpf_dispatcher_xdp_func, int3).
	 */
	attach(obj, near, "live_send", "live_near_tc");
	attach(obj, far, "live_far", "live_far_tc");
	trace(obj, "live_came");
	trace(obj, "live_left");
	most = longest(frame);

	ksft_set_plan(ARRAY_SIZE(cases));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test(&cases[i], frame, cases[i].len ?: most);
	ksft_finished();
}
