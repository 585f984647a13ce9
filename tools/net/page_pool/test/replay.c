// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel made of recorded messages, for tests without one. ppstat-replay is ppstat
 * with the calls below taken from here: requests are answered out of the file that
 * PPSTAT_REPLAY names, which messages.py writes; time goes on by sleeping only.
 *
 * The file is a row of records: kind, argument, length (u32 each), data.
 *
 *	FAMILY		attributes that answer the question for the family
 *	ANSWER cmd	netlink messages; each further record of the same command
 *			answers the next request, the last one all that follow
 *	ERROR cmd	a number instead
 *	EVENT		a notification; none left is an interrupt
 *	LOST		events were lost here
 *	NAME ifindex	of a device
 *	TIME		double: CLOCK_BOOTTIME
 *	USER uid
 *	RING n		descriptors of every receive ring
 */

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/sockios.h>

enum kind { FAMILY = 1, ANSWER, ERROR, EVENT, LOST, NAME, TIME, USER, RING };

struct record {
	__u32 kind, arg, len;
	bool used;
	char *data;
};

static struct record *records;
static size_t nr;
static double now;

#define OUT_MAX 65536

/* What recv() has to give, a message at a time. */
static struct {
	char *data;
	size_t len;
	int err;
} out[OUT_MAX];
static unsigned int out_head, out_tail;

static void die(const char *why)
{
	fprintf(stderr, "replay: %s\n", why);
	_exit(99);
}

static void load(void)
{
	const char *name = getenv("PPSTAT_REPLAY");
	__u32 head[3];
	FILE *f;

	if (records)
		return;
	f = name ? fopen(name, "r") : NULL;
	if (!f)
		die("PPSTAT_REPLAY names no file");
	while (fread(head, sizeof(head), 1, f) == 1) {
		records = realloc(records, (nr + 1) * sizeof(*records));
		records[nr] = (struct record) {
			.kind = head[0], .arg = head[1], .len = head[2],
			.data = malloc(head[2] + 1),
		};
		if (fread(records[nr].data, 1, head[2], f) != head[2])
			die("the file is cut off");
		records[nr].data[head[2]] = 0;
		if (head[0] == TIME)
			memcpy(&now, records[nr].data, sizeof(now));
		nr++;
	}
	fclose(f);
}

static __attribute__((destructor)) void unload(void)
{
	size_t i;

	for (i = 0; i < nr; i++)
		free(records[i].data);
	free(records);
}

static void push(const void *data, size_t len, int err)
{
	char *copy = malloc(len + 1);

	memcpy(copy, data, len);
	if (out_tail - out_head == OUT_MAX)
		die("too many messages");
	out[out_tail % OUT_MAX].data = copy;
	out[out_tail % OUT_MAX].len = len;
	out[out_tail++ % OUT_MAX].err = err;
}

static void push_done(const struct nlmsghdr *req, __u16 type, int err)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
	} m = {
		.h.nlmsg_type = type,
		.h.nlmsg_seq = req->nlmsg_seq,
		.e.error = -err,
		.e.msg = *req,
	};

	m.h.nlmsg_len = type == NLMSG_DONE ? NLMSG_LENGTH(sizeof(int)) : sizeof(m);
	if (type == NLMSG_ERROR)
		m.h.nlmsg_flags = NLM_F_CAPPED;
	push(&m, m.h.nlmsg_len, 0);
}

static struct record *find(enum kind kind, __u32 arg)
{
	struct record *last = NULL;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (records[i].kind != kind || records[i].arg != arg)
			continue;
		last = &records[i];
		if (!last->used)
			break;
	}
	if (last)
		last->used = true;
	return last;
}

static void answer_family(const struct nlmsghdr *req)
{
	struct record *r = find(FAMILY, 0);
	struct {
		struct nlmsghdr h;
		struct genlmsghdr g;
		char data[2048];
	} m = {
		.h.nlmsg_type = GENL_ID_CTRL,
		.h.nlmsg_seq = req->nlmsg_seq,
		.g.cmd = CTRL_CMD_NEWFAMILY,
	};

	if (!r || r->len > sizeof(m.data)) {
		push_done(req, NLMSG_ERROR, ENOENT);
		return;
	}
	memcpy(m.data, r->data, r->len);
	m.h.nlmsg_len = sizeof(m.h) + sizeof(m.g) + r->len;
	push(&m, m.h.nlmsg_len, 0);
	push_done(req, NLMSG_ERROR, 0);
}

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	const struct nlmsghdr *req = buf;
	const struct genlmsghdr *g = NLMSG_DATA(req);
	struct nlmsghdr *h;
	struct record *r;
	size_t at;

	load();
	if (req->nlmsg_type == GENL_ID_CTRL) {
		answer_family(req);
		return len;
	}
	r = find(ERROR, g->cmd);
	if (r) {
		push_done(req, NLMSG_ERROR, *(int *)r->data);
		return len;
	}
	r = find(ANSWER, g->cmd);
	if (!r) {
		push_done(req, NLMSG_ERROR, EOPNOTSUPP);
		return len;
	}
	for (at = 0; at < r->len; at += NLMSG_ALIGN(h->nlmsg_len)) {
		h = (struct nlmsghdr *)(r->data + at);
		h->nlmsg_seq = req->nlmsg_seq;
		push(h, h->nlmsg_len, 0);
	}
	push_done(req, NLMSG_DONE, 0);
	return len;
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
	unsigned int i = out_head % OUT_MAX;
	size_t n;

	if (out_head == out_tail) {
		if (!(flags & MSG_DONTWAIT))
			die("nothing to receive: ppstat would wait for ever");
		errno = EAGAIN;
		return -1;
	}
	out_head++;
	n = out[i].len;
	if (n > len)
		die("the buffer is too small");
	memcpy(buf, out[i].data, n);
	free(out[i].data);
	if (out[i].err) {
		errno = out[i].err;
		return -1;
	}
	return n;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	size_t i;

	load();
	for (i = 0; i < nr; i++) {
		struct record *r = &records[i];

		if (r->used || (r->kind != EVENT && r->kind != LOST))
			continue;
		r->used = true;
		push(r->data, r->len, r->kind == LOST ? ENOBUFS : 0);
		fds->revents = POLLIN;
		return 1;
	}
	errno = EINTR;
	return -1;
}

/* What is left of an answer goes with the socket. */
int __wrap_socket(int domain, int type, int protocol)
{
	for (; out_head != out_tail; out_head++)
		free(out[out_head % OUT_MAX].data);
	return dup(0);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return 0;
}

int __wrap_setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
	return 0;
}

int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	return 0;
}

char *__wrap_if_indextoname(unsigned int ifindex, char *name)
{
	size_t i;

	load();
	for (i = 0; i < nr; i++)
		if (records[i].kind == NAME && records[i].arg == ifindex) {
			snprintf(name, IF_NAMESIZE, "%s", records[i].data);
			return name;
		}
	errno = ENXIO;
	return NULL;
}

unsigned int __wrap_if_nametoindex(const char *name)
{
	size_t i;

	load();
	for (i = 0; i < nr; i++)
		if (records[i].kind == NAME && !strcmp(records[i].data, name))
			return records[i].arg;
	errno = ENODEV;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	load();
	ts->tv_sec = now;
	ts->tv_nsec = (now - ts->tv_sec) * 1e9;
	return 0;
}

int __wrap_nanosleep(const struct timespec *req, struct timespec *rem)
{
	now += req->tv_sec + req->tv_nsec / 1e9;
	return 0;
}

int __wrap_gettimeofday(struct timeval *tv, void *tz)
{
	tv->tv_sec = 86400 + now;
	tv->tv_usec = 250000;
	return 0;
}

time_t __wrap_time(time_t *t)
{
	return 86400 + now;
}

int __wrap_uname(struct utsname *uts)
{
	memset(uts, 0, sizeof(*uts));
	snprintf(uts->release, sizeof(uts->release), "6.1.0");
	return 0;
}

uid_t __wrap_geteuid(void)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (records[i].kind == USER)
			return records[i].arg;
	return 0;
}

int __real_ioctl(int fd, unsigned long request, void *arg);

int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	struct ethtool_ringparam *ring;
	size_t i;

	if (request != SIOCETHTOOL)
		return __real_ioctl(fd, request, arg);
	for (i = 0; i < nr; i++)
		if (records[i].kind == RING) {
			ring = (void *)((struct ifreq *)arg)->ifr_data;
			ring->rx_pending = records[i].arg;
			return 0;
		}
	errno = EOPNOTSUPP;
	return -1;
}
