// SPDX-License-Identifier: GPL-2.0
/*
 * -w: what happened in each interval, per second. On a terminal the busiest pools
 * that fit, redrawn; in a pipe a block per interval, of all pools. 80 columns.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "ppstat.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* The screen is left as it is, and what is in a pipe is flushed. */
static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
}

int pp_sleep(double seconds)
{
	struct timespec ts = { .tv_sec = seconds };

	ts.tv_nsec = (seconds - ts.tv_sec) * 1e9;
	while (!stop && nanosleep(&ts, &ts) && errno == EINTR)
		;
	return stop ? -1 : 0;
}

struct row {
	const struct pp_pool *p;
	struct pp_counters d;
	double busy;
};

static int by_busy(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->busy != y->busy)
		return x->busy < y->busy ? 1 : -1;
	return x->p->id < y->p->id ? -1 : 1;
}

static void put_rate(FILE *f, int width, bool has, __u64 n, double dt)
{
	char buf[PP_HUMAN];

	fprintf(f, " %*s", width, has && dt > 0 ?
		pp_human(n / dt, 1000, buf, sizeof(buf)) : "-");
}

static void put_percent(FILE *f, int width, double v)
{
	char buf[PP_HUMAN];

	snprintf(buf, sizeof(buf), v < 0 ? "-" : v < 99.95 ? "%.1f" : "100", v);
	fprintf(f, " %*s", width, buf);
}

static void put_row(FILE *f, const struct row *r, double dt, double now)
{
	const struct pp_pool *p = r->p;
	bool has = p->has_stats, put = pp_has(&p->c, PP_RECYCLE_RING);
	char buf[PP_HUMAN];

	/* names longer than their column would push the rest aside */
	fprintf(f, "%-8.8s %-8.8s %7llu", pp_dev(p),
		pp_queue(p, buf, sizeof(buf)), (unsigned long long)p->id);
	put_rate(f, 7, has, pp_handed_out(&r->d), dt);
	put_rate(f, 7, put, pp_recycled(&r->d), dt);
	put_rate(f, 6, has, r->d.v[PP_ALLOC_SLOW] +
		 r->d.v[PP_ALLOC_SLOW_HIGH_ORDER], dt);
	put_rate(f, 6, put, pp_released(&r->d), dt);
	put_percent(f, 6, pp_recycle_rate(&r->d));
	put_percent(f, 5, p->has_detail && p->ring_size ?
		    100.0 * p->ring / p->ring_size : -1);
	fprintf(f, " %5s", p->has_detail ?
		pp_human(p->held, 1000, buf, sizeof(buf)) : "-");
	fprintf(f, " %5s\n", p->dying ?
		pp_human(pp_dying_for(p, now), 1000, buf, sizeof(buf)) : "-");
}

/* @all: what was put to all system pools */
static void put_summary(FILE *f, const struct row *rows, size_t nr,
			const struct pp_counters *all, double dt)
{
	struct pp_counters sum = *all;
	size_t i, dying = 0;
	double bytes = 0;
	char a[PP_HUMAN], b[PP_HUMAN], clock[16];
	time_t t = time(NULL);
	struct tm tm;
	unsigned int c;

	for (i = 0; i < nr; i++) {
		dying += rows[i].p->dying;
		bytes += rows[i].p->bytes;
		for (c = 0; c < PP_NR_COUNTERS; c++)
			sum.v[c] += rows[i].d.v[c];
	}
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&t, &tm));
	fprintf(f, "ppstat %s  %zu pools, %zu dying, %sB; %s pages/s", clock, nr,
		dying, pp_human(bytes, 1024, a, sizeof(a)),
		dt > 0 ? pp_human(pp_handed_out(&sum) / dt, 1000, b, sizeof(b)) : "-");
	if (pp_recycle_rate(&sum) >= 0)
		fprintf(f, ", %.1f%% recycled", pp_recycle_rate(&sum));
	fputs("\n", f);
}

static void draw(const struct pp_snap *now, const struct pp_snap *old, bool screen)
{
	double dt = old ? now->time - old->time : 0;
	struct pp_counters all = {};
	struct winsize ws = {};
	size_t i, most = now->nr;
	struct row *rows;

	rows = calloc(now->nr + 1, sizeof(*rows));
	if (!rows)
		return;
	for (i = 0; i < now->nr; i++) {
		const struct pp_pool *p = &now->pools[i], *was;

		rows[i].p = p;
		if (!old)
			continue;
		was = pp_find(old, p->id);
		pp_diff(&rows[i].d, &p->c, was ? &was->c : NULL);
		rows[i].busy = pp_handed_out(&rows[i].d) + pp_came_home(&rows[i].d);
	}
	if (old)
		pp_diff(&all, &now->system.c, &old->system.c);
	qsort(rows, now->nr, sizeof(*rows), by_busy);

	if (screen) {
		/* home, then what is left of a longer picture goes */
		fputs("\033[H\033[J", stdout);
		if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) && ws.ws_row > 3 &&
		    most > ws.ws_row - 3U)
			most = ws.ws_row - 3;
	}
	put_summary(stdout, rows, now->nr, &all, dt);
	puts("DEV      QUEUE         ID ALLOC/s RECYC/s SLOW/s LOST/s RECYC% RING%  HELD DYING");
	for (i = 0; i < most; i++)
		put_row(stdout, &rows[i], dt, now->time);
	if (!screen)
		putchar('\n');
	fflush(stdout);
	free(rows);
}

int pp_watch(struct ynl_sock **ys, const struct pp_options *opt)
{
	bool screen = isatty(STDOUT_FILENO) && !opt->json;
	struct pp_snap now, old;
	unsigned long n;
	int ret;

	catch_signals();
	ret = pp_read(ys, opt, &old);
	if (ret)
		return ret;
	if (screen)
		draw(&old, NULL, screen);
	for (n = 0; !opt->count || n < opt->count; n++) {
		if (pp_sleep(opt->interval))
			break;
		ret = pp_read(ys, opt, &now);
		if (ret)
			break;
		if (opt->json) {
			pp_json_rates(stdout, &now, &old, opt);
			fflush(stdout);
		} else {
			draw(&now, &old, screen);
		}
		pp_snap_free(&old);
		old = now;
		if (ferror(stdout))
			break;
	}
	pp_snap_free(&old);
	return ret;
}
