// SPDX-License-Identifier: GPL-2.0
/* Pools that come, go and change, as it happens. */

#include <sys/time.h>
#include <time.h>

#include "ppstat.h"

static const char * const name[] = {
	[PP_ADD] = "add",
	[PP_DEL] = "del",
	[PP_CHANGE] = "change",
};

static void stamp(char *buf, size_t len)
{
	struct timeval tv;
	struct tm tm;
	char date[32];

	gettimeofday(&tv, NULL);
	localtime_r(&tv.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, len, "%s.%06ld", date, (long)tv.tv_usec);
}

static void event(enum pp_event what, struct pp_pool *p, void *arg)
{
	const struct pp_options *opt = arg;
	char when[64], buf[PP_HUMAN];

	if ((opt->dev && (!p->ifindex || if_nametoindex(opt->dev) != p->ifindex)) ||
	    (opt->dying && !p->dying))
		return;
	stamp(when, sizeof(when));
	if (opt->json) {
		pp_json_event(stdout, when, name[what], p);
		return;
	}
	printf("[%s] %-6s %s %s id %llu", when, name[what], pp_dev(p),
	       pp_queue(p, buf, sizeof(buf)), (unsigned long long)p->id);
	if (p->has_pages)
		printf(" pages %llu", (unsigned long long)p->pages);
	if (p->has_bytes)
		printf(" mem %s", pp_human(p->bytes, 1024, buf, sizeof(buf)));
	if (p->has_detail)
		printf(" held %u", p->held);
	printf(" %s\n", p->dying ? "dying" : "live");
}

int pp_monitor(struct ynl_sock *ys, const struct pp_options *opt)
{
	/* whoever reads this through a pipe wants it now */
	setvbuf(stdout, NULL, _IOLBF, 0);
	return pp_listen(ys, event, (void *)opt);
}
