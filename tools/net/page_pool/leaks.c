// SPDX-License-Identifier: GPL-2.0
/* Who holds pages: as text, and as JSON. */

#include <arpa/inet.h>
#include <dirent.h>
#include <jansson.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ppstat.h"

#define NETNS_DIR	"/run/netns"

static const struct {
	const char *name;	/* JSON */
	const char *text;
} kinds[] = {
	[PP_UNKNOWN]		= { "unknown", "unknown" },
	[PP_FRAGMENT]		= { "fragment", "the pool, for fragments" },
	[PP_SOCKET_RECEIVE]	= { "socket-receive", "receive queue" },
	[PP_SOCKET_OFO]		= { "socket-ofo", "out of order" },
	[PP_SOCKET_BACKLOG]	= { "socket-backlog", "backlog" },
	[PP_CPU_DEFER]		= { "cpu-defer", "to be freed" },
	[PP_CPU_BACKLOG]	= { "cpu-backlog", "to be received" },
	[PP_CPUMAP]		= { "cpumap", "XDP cpumap" },
};

static bool is_socket(const struct pp_holder *h)
{
	return h->kind >= PP_SOCKET_RECEIVE && h->kind <= PP_SOCKET_BACKLOG;
}

static bool is_cpu(const struct pp_holder *h)
{
	return h->kind >= PP_CPU_DEFER && h->kind <= PP_CPUMAP;
}

static const char *family(const struct pp_holder *h)
{
	switch (h->family) {
	case AF_PACKET:
		return "packet";
	case AF_INET:
	case AF_INET6:
		break;
	default:
		return "socket";
	}
	switch (h->protocol) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	}
	return "raw";
}

static void address(const struct pp_holder *h, const struct pp_addr *a,
		    char *buf, size_t len)
{
	char addr[INET6_ADDRSTRLEN] = "?", port[16] = "*";

	inet_ntop(h->family, a->addr, addr, sizeof(addr));
	if (a->port)
		snprintf(port, sizeof(port), "%u", a->port);
	snprintf(buf, len, h->family == AF_INET6 ? "[%s]:%s" : "%s:%s", addr,
		 port);
}

/* The name that ip-netns(8) has for it, or what its links in /proc say. */
static void netns_name(unsigned int inode, char *buf, size_t len)
{
	DIR *dir = opendir(NETNS_DIR);
	struct dirent *d;
	struct stat st;

	while (dir && (d = readdir(dir))) {
		if (!fstatat(dirfd(dir), d->d_name, &st, 0) &&
		    S_ISREG(st.st_mode) && st.st_ino == inode) {
			snprintf(buf, len, "%s", d->d_name);
			closedir(dir);
			return;
		}
	}
	if (dir)
		closedir(dir);
	if (!stat("/proc/1/ns/net", &st) && st.st_ino == inode)
		snprintf(buf, len, "init");
	else
		snprintf(buf, len, "net:[%u]", inode);
}

/* Descriptors of a receive ring of the device; 0: it does not tell */
static unsigned int descriptors(const struct pp_pool *p)
{
	struct ethtool_ringparam ring = { .cmd = ETHTOOL_GRINGPARAM };
	struct ifreq ifr = { .ifr_data = (void *)&ring };
	int fd;

	if (!p->ifindex || p->dying)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	memcpy(ifr.ifr_name, p->ifname, sizeof(ifr.ifr_name));
	if (ioctl(fd, SIOCETHTOOL, &ifr))
		ring.rx_pending = 0;
	close(fd);
	return ring.rx_pending;
}

/* A pool that was destroyed has given the driver's pages back. */
static bool may_be_driver(const struct pp_pool *p)
{
	return !p->dying && !pp_is_system(p);
}

static void nowhere(struct pp_table *t, const struct pp_pool *p,
		    const struct pp_holder *h)
{
	unsigned int nr = descriptors(p);

	if (!may_be_driver(p))
		pp_cell(t, "unknown");
	else if (!nr)
		pp_cell(t, "driver's ring, or unknown");
	else if (h->pages <= nr)
		pp_cell(t, "driver's ring (%u descriptors)", nr);
	else
		pp_cell(t, "driver's ring (%u descriptors), the rest unknown",
			nr);
}

static void age(struct pp_table *t, const struct pp_holder *h)
{
	double s = h->age / 1000.0;

	if (!h->has_age)
		pp_cell(t, "-");
	else if (s < 100)
		pp_cell(t, "%.1fs", s);
	else if (s < 100 * 60)
		pp_cell(t, "%.0fm", s / 60);
	else if (s < 48 * 3600)
		pp_cell(t, "%.0fh", s / 3600);
	else
		pp_cell(t, "%.0fd", s / 86400);
}

static void who(struct pp_table *t, const struct pp_holder *h)
{
	char local[64], remote[64], netns[NAME_MAX + 1];

	if (is_cpu(h)) {
		pp_cell(t, "%s", kinds[h->kind].text);
		pp_cell(t, "CPU %u", h->cpu);
		pp_cell(t, "-");
		pp_cell(t, "-");
		return;
	}
	if (!is_socket(h)) {
		pp_cell(t, "%s", h->kind < PP_NR_KINDS ? kinds[h->kind].text :
			"something newer than this program");
		pp_cell(t, "-");
		pp_cell(t, "-");
		pp_cell(t, "-");
		return;
	}
	pp_cell(t, "%s %s%s", family(h), kinds[h->kind].text,
		h->partial ? ", and more" : "");
	if (h->comm && h->pid)
		pp_cell(t, "%s/%u", h->comm, h->pid);
	else if (h->comm)
		pp_cell(t, "%s", h->comm);
	else if (h->hidden)
		pp_cell(t, "hidden");
	else if (h->inode)
		pp_cell(t, "kernel");
	else
		pp_cell(t, h->has_addr ? "not accepted" : "-");
	netns_name(h->netns, netns, sizeof(netns));
	pp_cell(t, "%s", netns);
	if (!h->has_addr) {
		pp_cell(t, "-");
		return;
	}
	address(h, &h->local, local, sizeof(local));
	address(h, &h->remote, remote, sizeof(remote));
	if (h->remote.port)
		pp_cell(t, "%s <- %s", local, remote);
	else
		pp_cell(t, "%s", local);
}

static void holders(FILE *f, const struct pp_pool *p, const struct pp_held *held)
{
	struct pp_table *t = pp_table_new(7);
	bool exact = false;
	unsigned int i;
	size_t n;

	for (n = 0; n < held->nr; n++)
		exact |= held->holders[n].exact;
	pp_cell(t, "PAGES");
	pp_cell(t, "SHARED");
	pp_cell(t, exact ? "AGE" : "SEEN");
	pp_cell(t, "HOLDER");
	pp_cell(t, "PROCESS");
	pp_cell(t, "NETNS");
	pp_cell(t, "ADDRESS");
	for (n = 0; n < held->nr; n++) {
		const struct pp_holder *h = &held->holders[n];

		pp_cell(t, "%u", h->pages);
		pp_cell(t, "%u", h->shared);
		age(t, h);
		if (h->kind != PP_UNKNOWN) {
			who(t, h);
			continue;
		}
		nowhere(t, p, h);
		for (i = 0; i < 3; i++)
			pp_cell(t, "-");
	}
	for (i = 3; i < 7; i++)
		pp_table_text(t, i);
	pp_table_print(t, f, "    ");
	pp_table_free(t);

	if (held->several)
		fprintf(f, "    %u counted again with another holder\n",
			held->several);
	if (held->returned)
		fprintf(f, "    %u came home meanwhile\n", held->returned);
}

/* The most pages first, what is unknown last. */
static int by_pages(const void *a, const void *b)
{
	const struct pp_holder *x = a, *y = b;
	int last = x->kind == PP_UNKNOWN;

	last -= y->kind == PP_UNKNOWN;
	if (last)
		return last;
	return x->pages > y->pages ? -1 : x->pages < y->pages;
}

static void text(FILE *f, const struct pp_snap *snap,
		 const struct pp_holders *all)
{
	char queue[PP_HUMAN], mem[PP_HUMAN], dying[32] = "live";
	bool some = false;
	size_t i;

	for (i = 0; i < snap->nr; i++) {
		const struct pp_pool *p = &snap->pools[i];
		const struct pp_held *held = pp_held_by(all, p->id);

		if (!held || !(held->held || held->returned))
			continue;
		if (some)
			fputc('\n', f);
		some = true;
		snprintf(dying, sizeof(dying), p->dying ? "dying %llus" : "live",
			 (unsigned long long)pp_dying_for(p, snap->time));
		fprintf(f, "%s %s id %llu: %u pages held, %s, %s\n", pp_dev(p),
			pp_queue(p, queue, sizeof(queue)),
			(unsigned long long)p->id, held->held,
			pp_human((double)held->held * pp_page_bytes(p), 1024,
				 mem, sizeof(mem)), dying);
		holders(f, p, held);
	}
	if (!some)
		fputs("no pages are held\n", f);
}

static json_t *addr_json(const struct pp_holder *h, const struct pp_addr *a)
{
	char buf[INET6_ADDRSTRLEN] = "";

	inet_ntop(h->family, a->addr, buf, sizeof(buf));
	return json_pack("{s:s,s:i}", "address", buf, "port", a->port);
}

static json_t *holder_json(const struct pp_pool *p, const struct pp_holder *h)
{
	json_t *o = json_object();
	char netns[NAME_MAX + 1];
	unsigned int nr;

	if (h->kind < PP_NR_KINDS)
		json_object_set_new(o, "holder", json_string(kinds[h->kind].name));
	else
		json_object_set_new(o, "holder", json_sprintf("%u", h->kind));
	json_object_set_new(o, "pages", json_integer(h->pages));
	json_object_set_new(o, "shared", json_integer(h->shared));
	if (h->has_age) {
		json_object_set_new(o, "age_ms", json_integer(h->age));
		json_object_set_new(o, "age_exact", json_boolean(h->exact));
	}
	if (h->partial)
		json_object_set_new(o, "partial", json_true());
	if (h->kind == PP_UNKNOWN) {
		json_object_set_new(o, "maybe_driver",
				    json_boolean(may_be_driver(p)));
		nr = descriptors(p);
		if (nr)
			json_object_set_new(o, "descriptors", json_integer(nr));
	}
	if (is_cpu(h))
		json_object_set_new(o, "cpu", json_integer(h->cpu));
	if (!is_socket(h))
		return o;

	netns_name(h->netns, netns, sizeof(netns));
	json_object_set_new(o, "netns", pp_json_name(netns));
	json_object_set_new(o, "netns_inode", json_integer(h->netns));
	json_object_set_new(o, "socket", json_string(family(h)));
	if (h->inode)
		json_object_set_new(o, "inode", json_integer(h->inode));
	if (h->hidden)
		json_object_set_new(o, "hidden", json_true());
	if (h->pid)
		json_object_set_new(o, "pid", json_integer(h->pid));
	if (h->comm)
		json_object_set_new(o, "comm", pp_json_name(h->comm));
	if (h->has_addr) {
		json_object_set_new(o, "local", addr_json(h, &h->local));
		json_object_set_new(o, "remote", addr_json(h, &h->remote));
	}
	return o;
}

static void json(FILE *f, const struct pp_snap *snap,
		 const struct pp_holders *all)
{
	json_t *a = json_array(), *list, *o;
	size_t i, n;

	for (i = 0; i < snap->nr; i++) {
		const struct pp_pool *p = &snap->pools[i];
		const struct pp_held *held = pp_held_by(all, p->id);

		if (!held)
			continue;
		list = json_array();
		for (n = 0; n < held->nr; n++)
			json_array_append_new(list, holder_json(p, &held->holders[n]));
		o = json_object();
		json_object_set_new(o, "id", json_integer(p->id));
		if (p->ifindex)
			json_object_set_new(o, "ifname",
					    pp_json_name(p->ifname));
		json_object_set_new(o, "state",
				    json_string(p->dying ? "dying" : "live"));
		json_object_set_new(o, "held", json_integer(held->held));
		json_object_set_new(o, "several", json_integer(held->several));
		json_object_set_new(o, "returned", json_integer(held->returned));
		json_object_set_new(o, "holders", list);
		json_array_append_new(a, o);
	}
	json_dumpf(a, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', f);
	json_decref(a);
}

void pp_leaks(FILE *f, const struct pp_snap *snap, struct pp_holders *all,
	      const struct pp_options *opt)
{
	size_t i;

	for (i = 0; i < all->nr; i++) {
		struct pp_held *held = &all->pools[i];

		if (held->nr)
			qsort(held->holders, held->nr, sizeof(*held->holders),
			      by_pages);
	}
	if (opt->json)
		json(f, snap, all);
	else
		text(f, snap, all);
}
