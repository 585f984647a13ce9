// SPDX-License-Identifier: GPL-2.0
/* The list of pools, with their counters below (-s), or those per CPU (-c). */

#include <string.h>

#include "ppstat.h"

static void count(struct pp_table *t, const struct pp_counters *c,
		  enum pp_counter i)
{
	if (pp_has(c, i))
		pp_cell(t, "%llu", (unsigned long long)c->v[i]);
	else
		pp_cell(t, "-");
}

static void number(struct pp_table *t, bool has, __u64 v)
{
	if (has)
		pp_cell(t, "%llu", (unsigned long long)v);
	else
		pp_cell(t, "-");
}

static void pool_row(struct pp_table *t, const struct pp_pool *p, double now)
{
	double rate = pp_recycle_rate(&p->c);
	char buf[PP_HUMAN];

	pp_cell(t, "%s", pp_dev(p));
	pp_cell(t, "%s", pp_queue(p, buf, sizeof(buf)));
	pp_cell(t, "%llu", (unsigned long long)p->id);
	number(t, p->order >= 0, p->order);
	number(t, p->node >= 0, p->node);
	number(t, p->has_pages, p->pages);
	if (p->has_detail)
		pp_cell(t, "%u/%u", p->ring, p->ring_size);
	else
		pp_cell(t, "-");
	number(t, p->has_detail, p->array);
	number(t, p->has_detail, p->staged);
	number(t, p->has_detail, p->held);
	if (p->has_bytes)
		pp_cell(t, "%s", pp_human(p->bytes, 1024, buf, sizeof(buf)));
	else
		pp_cell(t, "-");
	if (rate >= 0)
		pp_cell(t, "%.1f%%", rate);
	else
		pp_cell(t, "-");
	if (p->dying)
		pp_cell(t, "dying %llus",
			(unsigned long long)pp_dying_for(p, now));
	else
		pp_cell(t, "live");
}

static struct pp_table *pool_table(void)
{
	static const char * const head[] = {
		"DEV", "QUEUE", "ID", "ORDER", "NODE", "PAGES", "RING", "ARRAY",
		"STAGED", "HELD", "MEM", "RECYCLE", "STATE",
	};
	struct pp_table *t = pp_table_new(ARRAY_SIZE(head));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(head); i++)
		pp_cell(t, "%s", head[i]);
	pp_table_text(t, 0);
	pp_table_text(t, 1);
	pp_table_text(t, ARRAY_SIZE(head) - 1);
	return t;
}

static void counters(FILE *f, const struct pp_counters *c,
		     const char *title, enum pp_counter from, enum pp_counter to)
{
	struct pp_table *t = pp_table_new(to - from + 1);
	unsigned int i;

	pp_cell(t, "%s", title);
	for (i = from; i < to; i++)
		pp_cell(t, "%s", pp_counter_info[i].head);
	pp_cell(t, "%s", "");
	for (i = from; i < to; i++)
		count(t, c, i);
	pp_table_text(t, 0);
	pp_table_print(t, f, "    ");
	pp_table_free(t);
}

static void put_detail(FILE *f, const struct pp_pool *p)
{
	const char *sep = "  flags ";
	unsigned int i;

	fprintf(f, "    age %.3fs  entered %llu  left %llu  device %s",
		p->age / 1000.0, (unsigned long long)p->allocated,
		(unsigned long long)p->released,
		p->dev_name ? p->dev_name : "-");
	for (i = 0; i < 32; i++) {
		if (!(p->flags & (1U << i)))
			continue;
		if (pp_flag(i))
			fprintf(f, "%s%s", sep, pp_flag(i));
		else
			fprintf(f, "%s0x%x", sep, 1U << i);
		sep = ",";
	}
	fputc('\n', f);
}

static void stats(FILE *f, const struct pp_pool *p)
{
	if (p->has_detail)
		put_detail(f, p);
	if (!p->has_stats)
		return;
	counters(f, &p->c, "ALLOC", 0, PP_FIRST_PER_CPU);
	if (!pp_is_system(p))
		counters(f, &p->c, "RECYCLE", PP_FIRST_PER_CPU, PP_NR_COUNTERS);
}

static void cpus(FILE *f, const struct pp_pool *p)
{
	struct pp_table *t;
	unsigned int c;
	size_t i;

	if (!p->nr_cpus)
		return;
	t = pp_table_new(PP_NR_COUNTERS - PP_FIRST_PER_CPU + 1);
	pp_cell(t, "CPU");
	for (c = PP_FIRST_PER_CPU; c < PP_NR_COUNTERS; c++)
		pp_cell(t, "%s", pp_counter_info[c].head);
	for (i = 0; i < p->nr_cpus; i++) {
		pp_cell(t, "%u", p->cpus[i].cpu);
		for (c = PP_FIRST_PER_CPU; c < PP_NR_COUNTERS; c++)
			count(t, &p->cpus[i].c, c);
	}
	pp_table_print(t, f, "    ");
	pp_table_free(t);
}

static void system_pools(FILE *f, const struct pp_pool *all,
			 const struct pp_options *opt)
{
	if (!all->has_stats)
		return;
	fputs("all system pools together\n", f);
	if (opt->stats)
		counters(f, &all->c, "RECYCLE", PP_FIRST_PER_CPU, PP_NR_COUNTERS);
	if (opt->cpus)
		cpus(f, all);
}

void pp_list(FILE *f, const struct pp_snap *snap, const struct pp_options *opt)
{
	bool each = opt->stats || opt->cpus;
	struct pp_table *t = NULL;
	size_t i;

	for (i = 0; i < snap->nr; i++) {
		if (!t)
			t = pool_table();
		pool_row(t, &snap->pools[i], snap->time);
		if (!each && i + 1 < snap->nr)
			continue;
		pp_table_print(t, f, "");
		pp_table_free(t);
		t = NULL;
		if (opt->stats)
			stats(f, &snap->pools[i]);
		if (opt->cpus)
			cpus(f, &snap->pools[i]);
	}
	if (each)
		system_pools(f, &snap->system, opt);
	if (!snap->nr) {
		t = pool_table();
		pp_table_print(t, f, "");
		pp_table_free(t);
	}
}
