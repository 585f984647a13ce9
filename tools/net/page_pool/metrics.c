// SPDX-License-Identifier: GPL-2.0
/*
 * Prometheus' text format, for the textfile collector of node_exporter. A series is
 * known by device and pool; page_pool_info joins it to all else that has a name.
 */

#include <string.h>

#include "ppstat.h"

/* Device and namespace names are whatever their owner liked. One that is not UTF-8
 * would have all of the file refused.
 */
static void quoted(FILE *f, const char *name, const char *s)
{
	bool utf8 = pp_is_utf8(s);

	fprintf(f, "%s=\"", name);
	for (; *s; s++) {
		if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else
			fputc(utf8 || !(*s & 0x80) ? *s : '?', f);
	}
	fputc('"', f);
}

static void labels(FILE *f, const struct pp_pool *p, const struct pp_options *opt)
{
	quoted(f, "{device", p->ifindex ? p->ifname : "");
	if (opt->netns)
		quoted(f, ",netns", opt->netns);
	if (p->id)
		fprintf(f, ",pool=\"%llu\"", (unsigned long long)p->id);
	else
		fputs(",pool=\"system\"", f);
}

static void head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP page_pool_%s %s.\n# TYPE page_pool_%s %s\n",
		name, help, name, type);
}

static void sample(FILE *f, const char *name, const struct pp_pool *p,
		   const struct pp_options *opt, const char *label, __u64 v)
{
	fprintf(f, "page_pool_%s", name);
	labels(f, p, opt);
	if (label)
		fprintf(f, ",%s", label);
	fprintf(f, "} %llu\n", (unsigned long long)v);
}

static void info(FILE *f, const struct pp_snap *snap, const struct pp_options *opt)
{
	const struct pp_pool *p;
	size_t i;

	head(f, "info", "gauge", "What there is to know of a pool, always 1");
	for (i = 0; i < snap->nr; i++) {
		p = &snap->pools[i];
		fputs("page_pool_info", f);
		labels(f, p, opt);
		if (p->queue >= 0)
			fprintf(f, ",queue=\"%d\"", p->queue);
		if (p->napi_id)
			fprintf(f, ",napi_id=\"%llu\"",
				(unsigned long long)p->napi_id);
		if (p->order >= 0)
			fprintf(f, ",order=\"%d\"", p->order);
		if (p->node >= 0)
			fprintf(f, ",node=\"%d\"", p->node);
		if (p->dev_name)
			quoted(f, ",dma_device", p->dev_name);
		fputs("} 1\n", f);
	}
}

enum gauge { PAGES, BYTES, ARRAY, STAGED, RING, RING_SIZE, HELD, DYING, AGE,
	     ALLOCATED, RELEASED };

static const struct {
	const char *name, *type, *help;
} gauges[] = {
	[PAGES] = { "inflight_pages", "gauge",
		"Pages that belong to the pool, parked or held" },
	[BYTES] = { "inflight_bytes", "gauge",
		"Memory that belongs to the pool" },
	[ARRAY] = { "array_pages", "gauge",
		"Pages parked in the array of the consumer" },
	[STAGED] = { "staged_pages", "gauge",
		"Pages that CPUs have collected for the ring" },
	[RING] = { "ring_pages", "gauge", "Pages parked in the ring" },
	[RING_SIZE] = { "ring_size_pages", "gauge", "Pages that the ring can hold" },
	[HELD] = { "held_pages", "gauge",
		"Pages held by others: driver, stack, sockets" },
	[DYING] = { "dying_seconds", "gauge",
		"Since when the pool has been destroyed and waits for pages; 0: it lives" },
	[AGE] = { "age_seconds", "gauge", "Since when the pool exists" },
	[ALLOCATED] = { "pages_entered_total", "counter",
		"Pages that entered the pool" },
	[RELEASED] = { "pages_left_total", "counter",
		"Pages that left the pool" },
};

static bool gauge(const struct pp_pool *p, enum gauge g, double now, __u64 *v)
{
	switch (g) {
	case PAGES:
		*v = p->pages;
		return p->has_pages;
	case BYTES:
		*v = p->bytes;
		return p->has_bytes;
	case DYING:
		/* destroyed this second: not the 0 of one that lives */
		*v = p->dying ? pp_dying_for(p, now) + !pp_dying_for(p, now) : 0;
		return true;
	case ARRAY:
		*v = p->array;
		break;
	case STAGED:
		*v = p->staged;
		break;
	case RING:
		*v = p->ring;
		break;
	case RING_SIZE:
		*v = p->ring_size;
		break;
	case HELD:
		*v = p->held;
		break;
	case AGE:
		*v = p->age / 1000;
		break;
	case ALLOCATED:
		*v = p->allocated;
		break;
	case RELEASED:
		*v = p->released;
		break;
	}
	return p->has_detail;
}

/* Counters that add up are one metric, told apart by a label. */
static const struct {
	enum pp_counter counter;
	const char *name, *label;
} counters[] = {
	{ PP_ALLOC_FAST, "alloc_pages_total", "path=\"fast\"" },
	{ PP_ALLOC_REFILL, "alloc_pages_total", "path=\"refill\"" },
	{ PP_ALLOC_SLOW, "alloc_pages_total", "path=\"slow\"" },
	{ PP_ALLOC_SLOW_HIGH_ORDER, "alloc_pages_total",
	  "path=\"slow_high_order\"" },
	{ PP_RECYCLE_CACHED, "put_pages_total", "result=\"cached\"" },
	{ PP_RECYCLE_RING, "put_pages_total", "result=\"ring\"" },
	{ PP_RECYCLE_RING_FULL, "put_pages_total", "result=\"ring_full\"" },
	{ PP_RECYCLE_RELEASED_REFCNT, "put_pages_total",
	  "result=\"released_refcnt\"" },
	{ PP_RECYCLE_RELEASED_PFMEMALLOC, "put_pages_total",
	  "result=\"released_pfmemalloc\"" },
	{ PP_RECYCLE_RELEASED_NID, "put_pages_total",
	  "result=\"released_nid\"" },
	{ PP_ALLOC_EMPTY, "alloc_empty_total", NULL },
	{ PP_ALLOC_WAIVE, "alloc_waive_total", NULL },
	{ PP_RECYCLE_CACHE_FULL, "recycle_cache_full_total", NULL },
};

static const char *help_of(unsigned int i)
{
	if (!counters[i].label)
		return pp_counter_info[counters[i].counter].help;
	return counters[i].counter < PP_RECYCLE_CACHED ?
	       "Pages handed out, by where they came from" :
	       "Pages that came home, by what became of them";
}

static void put_counters(FILE *f, const struct pp_snap *snap,
			 const struct pp_options *opt)
{
	const char *last = "";
	unsigned int k;
	size_t i;

	for (k = 0; k < ARRAY_SIZE(counters); k++) {
		enum pp_counter c = counters[k].counter;

		for (i = 0; i <= snap->nr; i++) {
			/* what all system pools have put comes last */
			const struct pp_pool *p = i < snap->nr ?
						  &snap->pools[i] : &snap->system;

			if (!pp_has(&p->c, c))
				continue;
			if (strcmp(last, counters[k].name))
				head(f, counters[k].name, "counter", help_of(k));
			last = counters[k].name;
			sample(f, last, p, opt, counters[k].label, p->c.v[c]);
		}
	}
}

void pp_metrics(FILE *f, const struct pp_snap *snap, const struct pp_options *opt)
{
	unsigned int g;
	__u64 v = 0;
	bool first;
	size_t i;

	if (snap->nr)
		info(f, snap, opt);
	for (g = 0; g < ARRAY_SIZE(gauges); g++) {
		first = true;
		for (i = 0; i < snap->nr; i++) {
			if (!gauge(&snap->pools[i], g, snap->time, &v))
				continue;
			if (first)
				head(f, gauges[g].name, gauges[g].type,
				     gauges[g].help);
			first = false;
			sample(f, gauges[g].name, &snap->pools[i], opt, NULL, v);
		}
	}
	put_counters(f, snap, opt);
}
