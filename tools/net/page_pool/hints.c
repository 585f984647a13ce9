// SPDX-License-Identifier: GPL-2.0
/*
 * What the counters of a pool mean, and what to change: a line each. A hint needs
 * enough pages to speak of, and a share of them that is worth the trouble.
 */

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ppstat.h"

#define ENOUGH_PAGES	1000
#define SHARE		1.0	/* percent of what came home */
#define GOOD_RATE	90.0	/* percent recycled */
#define SLOW_SHARE	5.0	/* percent of what was handed out */
#define DYING_SECONDS	60
#define BULK		64	/* pages, at most, that come in at once */
#define FIRST_PAGES	16384	/* more than a pool needs to get going */

struct hints {
	FILE *f;
	json_t *json;		/* NULL: text */
	unsigned int nr;
};

__printf(4, 5)
static void say(struct hints *h, const struct pp_pool *p, const char *what,
		const char *fmt, ...)
{
	char queue[PP_HUMAN];
	char *text;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	h->nr++;
	if (h->json) {
		json_t *o = json_object();

		json_object_set_new(o, "id", json_integer(p->id));
		json_object_set_new(o, "hint", json_string(what));
		json_object_set_new(o, "text", json_string(text));
		if (p->ifindex)
			json_object_set_new(o, "ifname", pp_json_name(p->ifname));
		json_array_append_new(h->json, o);
	} else {
		fprintf(h->f, "%s %s id %llu: %s: %s\n", pp_dev(p),
			pp_queue(p, queue, sizeof(queue)),
			(unsigned long long)p->id, what, text);
	}
	free(text);
}

static double share(__u64 part, __u64 all)
{
	/* pages that entered need not have been handed out yet */
	return part < all ? 100.0 * part / all : all ? 100 : 0;
}

static void say_released(struct hints *h, const struct pp_pool *p,
			 const struct pp_counters *c)
{
	__u64 home = pp_came_home(c), lost;
	double s;

	/* what a pool that was destroyed gets back is counted here, too */
	lost = c->v[PP_RECYCLE_RING_FULL];
	s = share(lost, home);
	if (s >= SHARE && !p->dying)
		say(h, p, "ring full",
		    "%llu pages (%.1f %%) came home to a full ring: bursts are larger than it is; enlarge the RX ring (ethtool -G %s rx N) where the driver sizes the pool by it",
		    (unsigned long long)lost, s,
		    p->ifindex ? pp_dev(p) : "DEV");

	lost = c->v[PP_RECYCLE_RELEASED_REFCNT];
	s = share(lost, home);
	if (s >= SHARE)
		say(h, p, "released, refcnt",
		    "%llu pages (%.1f %%) had another holder when they came home: stop packet capture, splice or mirroring on this device, if it need not be",
		    (unsigned long long)lost, s);

	lost = c->v[PP_RECYCLE_RELEASED_PFMEMALLOC];
	s = share(lost, home);
	if (lost && s >= SHARE / 10)
		say(h, p, "released, pfmemalloc",
		    "%llu pages (%.1f %%) came from the emergency reserve: the host is short of memory; free some, or raise vm.min_free_kbytes",
		    (unsigned long long)lost, s);

	/* In kernels that do not count the former, the latter tells. */
	lost = c->v[PP_RECYCLE_RELEASED_NID] + c->v[PP_ALLOC_WAIVE];
	s = share(lost, home + c->v[PP_ALLOC_WAIVE]);
	if (s >= SHARE)
		say(h, p, "waive",
		    "%llu pages (%.1f %%) were of another NUMA node: the interrupt moves between nodes; pin it to CPUs of one node (/proc/irq/N/smp_affinity_list), best that of the device",
		    (unsigned long long)lost, s);
}

/* Pages that entered the pool. A kernel that does not tell counts how often it went
 * for some, up to BULK at a time.
 */
static __u64 entered(const struct pp_pool *p, const struct pp_pool *was,
		     const struct pp_counters *c)
{
	__u64 n;

	if (p->has_detail)
		return p->allocated - (was ? was->allocated : 0);
	n = BULK * c->v[PP_ALLOC_SLOW] + c->v[PP_ALLOC_SLOW_HIGH_ORDER];
	return n < pp_handed_out(c) ? n : pp_handed_out(c);
}

/* Who holds pages: a kernel that tells where they are tells that, too. */
static const char *find_out(const struct pp_pool *p, char *buf, size_t len)
{
	if (p->has_detail)
		snprintf(buf, len, "ppstat leaks %llu names the reader",
			 (unsigned long long)p->id);
	else
		snprintf(buf, len, "find the reader (ss -tmnp, ss -uamnp)");
	return buf;
}

static void say_slow(struct hints *h, const struct pp_pool *p,
		     const struct pp_pool *was, const struct pp_counters *c)
{
	__u64 lost = pp_released(c) + c->v[PP_ALLOC_WAIVE];
	__u64 n = entered(p, was, c);
	double s = share(n, pp_handed_out(c));
	char cmd[64];

	/* What left the pool had to be replaced: that has been said above. And every
	 * pool begins empty.
	 */
	if (s < SLOW_SHARE || n < 2 * lost || (!was && n < FIRST_PAGES))
		return;
	say(h, p, "slow path",
	    "%llu pages (%.1f %% of those handed out) came from the page allocator, few were given back: more and more are held, by sockets that are read slowly, or by a leak; %s",
	    (unsigned long long)n, s, find_out(p, cmd, sizeof(cmd)));
}

static void say_where(struct hints *h, const struct pp_pool *p,
		      const struct pp_counters *c)
{
	__u64 back = pp_recycled(c);

	if (back < ENOUGH_PAGES || c->v[PP_RECYCLE_CACHED] * 10 >= back ||
	    p->dying)
		return;
	if (p->napi_id)
		say(h, p, "remote",
		    "%.1f %% of the recycled pages came home through the ring: they are freed on other CPUs than the one that receives; run the reader, or steer the flow (RPS, RFS, IRQ affinity), to the same CPU",
		    share(c->v[PP_RECYCLE_RING], back));
	else
		say(h, p, "no NAPI",
		    "%.1f %% of the recycled pages came home through the ring: the driver names no NAPI instance for the pool, so that none goes straight to the array; a matter of the driver",
		    share(c->v[PP_RECYCLE_RING], back));
}

static void one_pool(struct hints *h, const struct pp_pool *p,
		     const struct pp_pool *was, const struct pp_counters *c,
		     double now)
{
	double rate = pp_recycle_rate(c);
	unsigned int before = h->nr;
	char cmd[64];

	if (pp_came_home(c) >= ENOUGH_PAGES)
		say_released(h, p, c);
	if (pp_handed_out(c) >= ENOUGH_PAGES)
		say_slow(h, p, was, c);
	if (rate < GOOD_RATE && pp_came_home(c) >= ENOUGH_PAGES && !p->dying)
		say(h, p, "recycle rate",
		    "%.1f %% of %llu pages that came home are used again (healthy: near 100 %%)%s",
		    rate, (unsigned long long)pp_came_home(c),
		    h->nr > before ? "; for the reasons above" : "");
	say_where(h, p, c);
	if (p->dying && pp_dying_for(p, now) >= DYING_SECONDS)
		say(h, p, "dying",
		    "destroyed %llu s ago, %llu pages are still out: some socket is not read; %s, not the driver",
		    (unsigned long long)pp_dying_for(p, now),
		    (unsigned long long)p->pages,
		    find_out(p, cmd, sizeof(cmd)));
}

void pp_hints(FILE *f, const struct pp_snap *now, const struct pp_snap *old,
	      const struct pp_options *opt)
{
	struct hints h = { .f = f, .json = opt->json ? json_array() : NULL };
	size_t i;

	for (i = 0; i < now->nr; i++) {
		const struct pp_pool *p = &now->pools[i];
		const struct pp_pool *was = old ? pp_find(old, p->id) : NULL;
		struct pp_counters d;

		/* What became of its pages is not known apart from others'. */
		if (pp_is_system(p))
			continue;
		pp_diff(&d, &p->c, was ? &was->c : NULL);
		one_pool(&h, p, was, &d, now->time);
	}
	if (h.json) {
		json_dumpf(h.json, f, JSON_INDENT(2));
		fputc('\n', f);
		json_decref(h.json);
	} else if (!h.nr) {
		fprintf(f, "%zu pools, nothing to say about them\n", now->nr);
	}
}
