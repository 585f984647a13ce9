// SPDX-License-Identifier: GPL-2.0
/*
 * PID 1 of a guest that has no other program: sends frames of all sizes through the
 * one Ethernet port, which is plugged into itself, compares every byte that comes
 * back, and looks at the driver's page pool counters. Says so in KTAP in the
 * kernel log, then powers off.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>

#define PROTO		0x88b5	/* for experiments */
#define HEAD		(ETH_HLEN + 4)
#define MOST		9014
#define BURST		8
#define CASES		7

static int kmsg = -1, ctl = -1, nr;
static struct ifreq ifr;

static void say(const char *fmt, ...)
{
	char line[300];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (write(kmsg, line, n) != n)
		exit(1);
}

static void result(bool ok, const char *name, const char *detail)
{
	say("%s %d %s (%s)", ok ? "ok" : "not ok", ++nr, name, detail);
}

static bool up(bool on)
{
	int tries;

	if (ioctl(ctl, SIOCGIFFLAGS, &ifr))
		return false;
	ifr.ifr_flags = on ? ifr.ifr_flags | IFF_UP : ifr.ifr_flags & ~IFF_UP;
	if (ioctl(ctl, SIOCSIFFLAGS, &ifr))
		return false;
	/* A link takes a while. */
	for (tries = 0; on && tries < 600; tries++) {
		if (!ioctl(ctl, SIOCGIFFLAGS, &ifr) && ifr.ifr_flags & IFF_RUNNING)
			return true;
		usleep(100000);
	}
	return !on;
}

static bool mtu(int size)
{
	ifr.ifr_mtu = size;
	return !ioctl(ctl, SIOCSIFMTU, &ifr);
}

struct counters {
	uint64_t fast, slow, again, released;
	int seen;
};

static bool counters(struct counters *c)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings *names;
	struct ethtool_stats *values;
	unsigned int i;
	bool ok;

	memset(c, 0, sizeof(*c));
	ifr.ifr_data = (void *)&info;
	if (ioctl(ctl, SIOCETHTOOL, &ifr))
		return false;
	names = calloc(1, sizeof(*names) + info.n_stats * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + info.n_stats * sizeof(uint64_t));
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = info.n_stats;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = info.n_stats;
	ifr.ifr_data = (void *)names;
	ok = !ioctl(ctl, SIOCETHTOOL, &ifr);
	ifr.ifr_data = (void *)values;
	ok = ok && !ioctl(ctl, SIOCETHTOOL, &ifr);
	for (i = 0; ok && i < info.n_stats; i++) {
		const char *name = (char *)names->data + i * ETH_GSTRING_LEN;

		if (strncmp(name, "rx_pp_", 6))
			continue;
		c->seen++;
		name += 6;
		if (!strcmp(name, "alloc_fast"))
			c->fast = values->data[i];
		else if (!strcmp(name, "alloc_slow"))
			c->slow = values->data[i];
		else if (!strcmp(name, "recycle_cached") || !strcmp(name, "recycle_ring"))
			c->again += values->data[i];
		else if (!strncmp(name, "recycle_released", 16))
			c->released += values->data[i];
	}
	free(names);
	free(values);
	return ok;
}

/* What the frame of that number and size has to be */
static void fill(uint8_t *frame, uint32_t number, int size)
{
	uint32_t x = number * 2654435761u | 1;
	struct ethhdr *eth = (void *)frame;
	int i;

	memset(eth->h_dest, 0xff, ETH_ALEN);
	memcpy(eth->h_source, "\x02pp\x00\x00\x01", ETH_ALEN);
	eth->h_proto = htons(PROTO);
	memcpy(frame + ETH_HLEN, &number, sizeof(number));
	for (i = HEAD; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		frame[i] = x;
	}
}

/* Frames of all sizes that the MTU allows, @step apart: how many did not come back? */
static int exchange(int size, int step, char *detail, size_t room)
{
	static uint8_t got[MOST + 64], want[MOST];
	static uint32_t number;
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(PROTO),
	};
	struct timeval patience = { .tv_sec = 5 };
	int sizes[BURST], n, i, lost = 0, sent = 0, wrong = 0, len, fd;
	uint32_t first, id;
	int next = 60;

	fd = socket(AF_PACKET, SOCK_RAW, htons(PROTO));
	at.sll_ifindex = if_nametoindex(ifr.ifr_name);
	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))) {
		snprintf(detail, room, "no packet socket: %s", strerror(errno));
		return -1;
	}
	while (next <= size + ETH_HLEN) {
		first = number;
		for (n = 0; n < BURST && next <= size + ETH_HLEN; n++, next += step) {
			sizes[n] = next;
			fill(want, number++, next);
			if (send(fd, want, next, 0) != next) {
				snprintf(detail, room, "send of %d: %s", next, strerror(errno));
				close(fd);
				return -1;
			}
		}
		sent += n;
		for (i = 0; i < n; i++) {
			len = recv(fd, got, sizeof(got), 0);
			if (len < 0) {
				lost += n - i;
				break;
			}
			memcpy(&id, got + ETH_HLEN, sizeof(id));
			if (len < HEAD || id - first >= (uint32_t)n || len != sizes[id - first]) {
				wrong++;
				continue;
			}
			fill(want, id, len);
			wrong += !!memcmp(want, got, len);
		}
	}
	close(fd);
	snprintf(detail, room, "%d frames, %d wrong, %d lost", sent, wrong, lost);
	return wrong ? -1 : lost;
}

/* Frames go at an MTU, and counters say so; it need not be one of the driver's. */
static void traffic(int size, int step, bool needed)
{
	struct counters before, after;
	char detail[200], name[60];
	int lost;

	snprintf(name, sizeof(name), "MTU %d: every byte arrives", size);
	if (!mtu(size) && !needed) {
		say("ok %d %s # SKIP not with this driver", ++nr, name);
		say("ok %d MTU %d: pages go round # SKIP not with this driver", ++nr, size);
		return;
	}
	if (!up(true)) {
		result(false, name, "no link");
		result(false, "pages go round", "no link");
		return;
	}
	counters(&before);
	lost = exchange(size, step, detail, sizeof(detail));
	/* An emulated wire on a busy host may drop a few. */
	result(lost >= 0 && lost <= 2 * BURST, name, detail);
	counters(&after);
	after.fast -= before.fast;
	after.slow -= before.slow;
	after.again -= before.again;
	after.released -= before.released;
	snprintf(name, sizeof(name), "MTU %d: pages go round", size);
	snprintf(detail, sizeof(detail), "%llu fast, %llu slow, %llu again, %llu released",
		 (unsigned long long)after.fast, (unsigned long long)after.slow,
		 (unsigned long long)after.again, (unsigned long long)after.released);
	result(after.fast && after.again && after.slow * 4 < after.fast &&
	       after.released * 10 <= after.again, name, detail);
}

/* The first device that has the counters */
static bool find(void)
{
	struct counters c;
	int i;

	for (i = 1; i < 20; i++) {
		memset(&ifr, 0, sizeof(ifr));
		ifr.ifr_ifindex = i;
		if (ioctl(ctl, SIOCGIFNAME, &ifr))
			continue;
		/* Some count only while they are up. */
		if (counters(&c) && c.seen)
			return true;
	}
	return false;
}

int main(void)
{
	mkdir("/dev", 0755);
	mknod("/dev/kmsg", S_IFCHR | 0600, makedev(1, 11));
	kmsg = open("/dev/kmsg", O_WRONLY);
	ctl = socket(AF_INET, SOCK_DGRAM, 0);
	if (ctl < 0)
		ctl = socket(AF_PACKET, SOCK_RAW, 0);
	say("KTAP version 1");
	say("1..%d", CASES);
	if (find()) {
		result(true, "a port with a page pool", ifr.ifr_name);
		traffic(1500, 1, true);
		traffic(9000, 7, false);
		/* Old pools go, new ones come. */
		up(false);
		traffic(1500, 3, true);
		up(false);
	} else {
		result(false, "a port with a page pool", "none");
	}
	/* What is freed later is to be seen in the log. */
	sleep(2);
	reboot(RB_POWER_OFF);
	return 1;
}
