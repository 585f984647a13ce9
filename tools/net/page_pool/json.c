// SPDX-License-Identifier: GPL-2.0
/* JSON: names as the text has them, a value that the kernel did not send left out. */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ppstat.h"

bool pp_is_utf8(const char *s)
{
	json_t *o = json_string(s);
	bool is = o;

	json_decref(o);
	return is;
}

json_t *pp_json_name(const char *s)
{
	json_t *o = json_string(s);
	char *plain;

	if (o)
		return o;
	plain = pp_plain(strdup(s));
	o = json_string(plain);
	free(plain);
	return o;
}

static json_t *counters_json(const struct pp_counters *c)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < PP_NR_COUNTERS; i++)
		if (pp_has(c, i))
			json_object_set_new(o, pp_counter_info[i].name,
					    json_integer(c->v[i]));
	return o;
}

static json_t *flags_json(unsigned int flags)
{
	json_t *a = json_array();
	unsigned int i;

	for (i = 0; i < 32; i++) {
		if (!(flags & (1U << i)))
			continue;
		json_array_append_new(a, pp_flag(i) ?
				      json_string(pp_flag(i)) :
				      json_sprintf("0x%x", 1U << i));
	}
	return a;
}

static void detail_json(json_t *o, const struct pp_pool *p)
{
	if (p->dev_name)
		json_object_set_new(o, "dma_device", json_string(p->dev_name));
	if (p->node >= 0)
		json_object_set_new(o, "node", json_integer(p->node));
	json_object_set_new(o, "flags", flags_json(p->flags));
	json_object_set_new(o, "ring_size", json_integer(p->ring_size));
	json_object_set_new(o, "ring", json_integer(p->ring));
	json_object_set_new(o, "array", json_integer(p->array));
	json_object_set_new(o, "staged", json_integer(p->staged));
	json_object_set_new(o, "held", json_integer(p->held));
	json_object_set_new(o, "allocated", json_integer(p->allocated));
	json_object_set_new(o, "released", json_integer(p->released));
	json_object_set_new(o, "age_ms", json_integer(p->age));
}

static json_t *pool_json(const struct pp_pool *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "id", json_integer(p->id));
	if (p->ifindex) {
		json_object_set_new(o, "ifindex", json_integer(p->ifindex));
		json_object_set_new(o, "ifname", pp_json_name(p->ifname));
	}
	if (p->queue >= 0)
		json_object_set_new(o, "queue", json_integer(p->queue));
	if (p->napi_id)
		json_object_set_new(o, "napi_id", json_integer(p->napi_id));
	if (p->has_dmabuf)
		json_object_set_new(o, "dmabuf", json_integer(p->dmabuf));
	if (p->order >= 0)
		json_object_set_new(o, "order", json_integer(p->order));
	if (p->has_pages)
		json_object_set_new(o, "pages", json_integer(p->pages));
	if (p->has_bytes)
		json_object_set_new(o, "bytes", json_integer(p->bytes));
	json_object_set_new(o, "state",
			    json_string(p->dying ? "dying" : "live"));
	if (p->has_detail)
		detail_json(o, p);
	return o;
}

static json_t *cpus_json(const struct pp_pool *p)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < p->nr_cpus; i++) {
		json_t *o = counters_json(&p->cpus[i].c);

		json_object_set_new(o, "cpu", json_integer(p->cpus[i].cpu));
		json_array_append_new(a, o);
	}
	return a;
}

static void put(FILE *f, json_t *o, size_t flags)
{
	json_dumpf(o, f, flags | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));
	fputc('\n', f);
	json_decref(o);
}

static void set_rate(json_t *o, const struct pp_counters *c)
{
	double rate = pp_recycle_rate(c);

	if (rate >= 0)
		json_object_set_new(o, "recycle_percent", json_real(rate));
}

void pp_json(FILE *f, const struct pp_snap *snap, const struct pp_options *opt)
{
	json_t *a = json_array();
	size_t i;

	for (i = 0; i < snap->nr; i++) {
		const struct pp_pool *p = &snap->pools[i], *all;
		json_t *o = pool_json(p);

		all = pp_is_system(p) && snap->system.has_stats ? &snap->system : NULL;
		if (p->dying)
			json_object_set_new(o, "dying_seconds",
					    json_integer(pp_dying_for(p, snap->time)));
		if (p->has_stats) {
			set_rate(o, &p->c);
			json_object_set_new(o, "counters", counters_json(&p->c));
		}
		if (all)
			json_object_set_new(o, "shared_counters",
					    counters_json(&all->c));
		if (opt->cpus && p->has_detail)
			json_object_set_new(o, all ? "shared_cpus" : "cpus",
					    cpus_json(all ? all : p));
		json_array_append_new(a, o);
	}
	put(f, a, JSON_INDENT(2));
}

void pp_json_event(FILE *f, const char *stamp, const char *what,
		   const struct pp_pool *pool)
{
	json_t *o = pool_json(pool);

	json_object_set_new(o, "time", json_string(stamp));
	json_object_set_new(o, "event", json_string(what));
	put(f, o, JSON_COMPACT);
}

static json_t *rates_json(const struct pp_counters *d, double dt)
{
	json_t *o = json_object();
	unsigned int i;

	for (i = 0; i < PP_NR_COUNTERS; i++)
		if (pp_has(d, i) && dt > 0)
			json_object_set_new(o, pp_counter_info[i].name,
					    json_real(d->v[i] / dt));
	return o;
}

/* An interval a line: counters are what was counted in it, per second. */
void pp_json_rates(FILE *f, const struct pp_snap *now, const struct pp_snap *old,
		   const struct pp_options *opt)
{
	double dt = now->time - old->time;
	json_t *a = json_array();
	struct pp_counters all;
	size_t i;

	pp_diff(&all, &now->system.c, &old->system.c);
	for (i = 0; i < now->nr; i++) {
		const struct pp_pool *p = &now->pools[i];
		const struct pp_pool *was = pp_find(old, p->id);
		json_t *o = pool_json(p);
		struct pp_counters d;

		pp_diff(&d, &p->c, was ? &was->c : NULL);
		if (p->has_stats)
			set_rate(o, &d);
		json_object_set_new(o, "rates", rates_json(&d, dt));
		if (pp_is_system(p) && now->system.has_stats)
			json_object_set_new(o, "shared_rates", rates_json(&all, dt));
		json_array_append_new(a, o);
	}
	put(f, json_pack("{s:f,s:o}", "seconds", dt, "pools", a), JSON_COMPACT);
}
