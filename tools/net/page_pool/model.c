// SPDX-License-Identifier: GPL-2.0
/* Sums, rates and names of what the kernel tells. */

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ppstat.h"

const struct pp_counter_info pp_counter_info[PP_NR_COUNTERS] = {
	[PP_ALLOC_FAST] = { "alloc_fast", "fast",
		"Pages handed out of the array" },
	[PP_ALLOC_REFILL] = { "alloc_refill", "refill",
		"Pages handed out of the array after a refill from the ring" },
	[PP_ALLOC_SLOW] = { "alloc_slow", "slow",
		"Pages of order 0 handed out from the page allocator" },
	[PP_ALLOC_SLOW_HIGH_ORDER] = { "alloc_slow_high_order", "slow_ho",
		"Pages of a higher order handed out from the page allocator" },
	[PP_ALLOC_EMPTY] = { "alloc_empty", "empty",
		"Times that nothing was parked, which forced the slow path" },
	[PP_ALLOC_WAIVE] = { "alloc_waive", "waive",
		"Pages out of the ring that were given away, of another node" },
	[PP_RECYCLE_CACHED] = { "recycle_cached", "cached",
		"Pages that came home to the array" },
	[PP_RECYCLE_RING] = { "recycle_ring", "ring",
		"Pages that came home to the ring" },
	[PP_RECYCLE_CACHE_FULL] = { "recycle_cache_full", "cache_full",
		"Times that the array was full, so that the ring was tried" },
	[PP_RECYCLE_RING_FULL] = { "recycle_ring_full", "ring_full",
		"Pages released because the ring was full or closed" },
	[PP_RECYCLE_RELEASED_REFCNT] = { "recycle_released_refcnt", "refcnt",
		"Pages released because somebody else held a reference" },
	[PP_RECYCLE_RELEASED_PFMEMALLOC] = {
		"recycle_released_pfmemalloc", "pfmemalloc",
		"Pages released because they came from the emergency reserve" },
	[PP_RECYCLE_RELEASED_NID] = { "recycle_released_nid", "nid",
		"Pages released because they were of another NUMA node" },
};

double pp_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

__u64 pp_handed_out(const struct pp_counters *c)
{
	return c->v[PP_ALLOC_FAST] + c->v[PP_ALLOC_REFILL] +
	       c->v[PP_ALLOC_SLOW] + c->v[PP_ALLOC_SLOW_HIGH_ORDER];
}

__u64 pp_recycled(const struct pp_counters *c)
{
	return c->v[PP_RECYCLE_CACHED] + c->v[PP_RECYCLE_RING];
}

__u64 pp_released(const struct pp_counters *c)
{
	return c->v[PP_RECYCLE_RING_FULL] + c->v[PP_RECYCLE_RELEASED_REFCNT] +
	       c->v[PP_RECYCLE_RELEASED_PFMEMALLOC] +
	       c->v[PP_RECYCLE_RELEASED_NID];
}

__u64 pp_came_home(const struct pp_counters *c)
{
	return pp_recycled(c) + pp_released(c);
}

double pp_recycle_rate(const struct pp_counters *c)
{
	__u64 home = pp_came_home(c);

	return home ? 100.0 * pp_recycled(c) / home : -1;
}

void pp_diff(struct pp_counters *diff, const struct pp_counters *now,
	     const struct pp_counters *old)
{
	unsigned int i;

	*diff = *now;
	if (!old)
		return;
	for (i = 0; i < PP_NR_COUNTERS; i++) {
		/* Read while they count: none is ever less than it was, but
		 * for another pool of the same number.
		 */
		if (diff->v[i] >= old->v[i])
			diff->v[i] -= old->v[i];
	}
}

/* On 64-bit machines a pool knows how many pages came to its array, and CPUs say 0. */
static bool knows_cached(const struct pp_pool *p)
{
	size_t i;

	for (i = 0; i < p->nr_cpus; i++)
		if (p->cpus[i].c.v[PP_RECYCLE_CACHED])
			return false;
	return p->c.v[PP_RECYCLE_CACHED];
}

/* System pools have one set of counters for puts: each shows that of all, but what
 * it knows itself. They are read one after the other: the last has counted most.
 */
static void share(struct pp_pool *all, struct pp_pool *p, bool own_cached)
{
	unsigned int i;

	for (i = PP_FIRST_PER_CPU; i < PP_NR_COUNTERS; i++) {
		__u64 v = p->c.v[i];

		if (!pp_has(&p->c, i))
			continue;
		if (i == PP_RECYCLE_CACHED && own_cached)
			v += all->c.v[i];
		else if (v < all->c.v[i])
			v = all->c.v[i];
		pp_set(&all->c, i, v);
		p->c.v[i] = 0;
		p->c.has &= ~(1U << i);
	}
	free(all->cpus);
	all->cpus = p->cpus;
	all->nr_cpus = p->nr_cpus;
	p->cpus = NULL;
	p->nr_cpus = 0;
	all->has_stats = true;
}

void pp_tell_apart(struct pp_snap *snap)
{
	size_t i, k;

	for (i = 0; i < snap->nr; i++) {
		struct pp_pool *p = &snap->pools[i];
		bool own_cached = knows_cached(p);

		for (k = 0; own_cached && k < p->nr_cpus; k++)
			p->cpus[k].c.has &= ~(1U << PP_RECYCLE_CACHED);
		if (p->has_stats && pp_is_system(p))
			share(&snap->system, p, own_cached);
	}
}

static int by_id(const void *a, const void *b)
{
	const struct pp_pool *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_device(const void *a, const void *b)
{
	const struct pp_pool *x = a, *y = b;

	/* those without a device (0) come last */
	if (x->ifindex != y->ifindex)
		return x->ifindex - 1 < y->ifindex - 1 ? -1 : 1;
	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return by_id(a, b);
}

void pp_sort_by_id(struct pp_snap *snap)
{
	qsort(snap->pools, snap->nr, sizeof(*snap->pools), by_id);
}

void pp_sort_by_device(struct pp_snap *snap)
{
	qsort(snap->pools, snap->nr, sizeof(*snap->pools), by_device);
}

struct pp_pool *pp_find(const struct pp_snap *snap, __u64 id)
{
	struct pp_pool key = { .id = id };

	return bsearch(&key, snap->pools, snap->nr, sizeof(key), by_id);
}

static int held_by_id(const void *a, const void *b)
{
	const struct pp_held *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The kernel tells of them in the order of their ids. */
struct pp_held *pp_held_by(const struct pp_holders *all, __u64 id)
{
	struct pp_held key = { .id = id };

	return all->nr ? bsearch(&key, all->pools, all->nr, sizeof(key),
				 held_by_id) : NULL;
}

double pp_page_bytes(const struct pp_pool *pool)
{
	if (pool->has_bytes && pool->has_pages && pool->pages)
		return (double)pool->bytes / pool->pages;
	return sysconf(_SC_PAGESIZE) * (1UL << (pool->order > 0 ? pool->order : 0));
}

__u64 pp_dying_for(const struct pp_pool *pool, double now)
{
	if (!pool->dying || now <= pool->detach_time)
		return 0;
	return (__u64)now - pool->detach_time;
}

const char *pp_dev(const struct pp_pool *pool)
{
	return pool->ifindex ? pool->plain : "-";
}

const char *pp_queue(const struct pp_pool *pool, char *buf, size_t len)
{
	if (pool->queue >= 0)
		snprintf(buf, len, "rx%d", pool->queue);
	else if (pool->napi_id)
		snprintf(buf, len, "napi%llu", (unsigned long long)pool->napi_id);
	else
		snprintf(buf, len, "-");
	return buf;
}

const char *pp_flag(unsigned int bit)
{
	static const char * const name[] = {
		"dma-map", "dma-sync-dev", "system-pool",
		"allow-unreadable-netmem",
	};

	return bit < ARRAY_SIZE(name) ? name[bit] : NULL;
}

/* Kernels that do not tell the order tell how large all pages are. */
int pp_order(__u64 pages, __u64 bytes)
{
	__u64 base = sysconf(_SC_PAGESIZE);
	int order = 0;

	if (!pages || bytes % pages)
		return -1;
	while (base << order < bytes / pages)
		order++;
	return base << order == bytes / pages ? order : -1;
}

const char *pp_human(double v, unsigned int base, char *buf, size_t len)
{
	static const char unit[] = "\0kMGTPE";
	unsigned int i = 0;

	/* What would be rounded to five digits has the next unit. */
	while (v >= (i ? 999.5 : 9999.5) && i < sizeof(unit) - 2) {
		v /= base;
		i++;
	}
	snprintf(buf, len, "%.*f%.1s", i && v < 99.95, v, &unit[i]);
	return buf;
}
