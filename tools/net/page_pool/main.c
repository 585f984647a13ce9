// SPDX-License-Identifier: GPL-2.0
/* Options, and which mode they ask for. */

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ppstat.h"

static const char usage[] =
"Usage: ppstat [OPTIONS] [list|monitor|hints|leaks [POOL]]\n"
"Show page pools of network devices and what their counters say.\n"
"\n"
"  list                the pools (default)\n"
"  monitor             pools that come, go and change, as it happens\n"
"  hints               what the counters mean and what to change; with -w, those of\n"
"                      the next SEC seconds\n"
"  leaks [POOL]        who holds the pages of all pools, or of that with this id\n"
"\n"
"  -s, --stats         with counters\n"
"  -c, --cpu           with counters per CPU\n"
"  -z, --dying         only pools that were destroyed and wait for pages\n"
"  -d, --dev DEV       only pools of this device\n"
"  -n, --netns NETNS   in this network namespace (a name, or a path)\n"
"  -w, --watch[=SEC]   rates, every SEC seconds (1)\n"
"      --count N       with -w of the list: end after N intervals\n"
"  -j, --json          JSON\n"
"      --openmetrics   Prometheus' text format, for node_exporter's textfile collector\n"
"      --no-scan       leaks: do not look through all of the memory\n"
"  -h, --help          this text\n"
"\n"
"-z, -d, -n and -j go with everything, but -j not with --openmetrics; -s and -c with\n"
"the list; -w with the list, without -s and -c, and with hints.\n"
"\n"
"Exit status: 0; 1 failed; 2 wrong usage; 3 this kernel does not offer it;\n"
"4 no permission; 5 no such device, pool or namespace. See ppstat(8).\n";

enum { OPT_METRICS = 256, OPT_COUNT, OPT_NO_SCAN };

static const struct option options[] = {
	{ "stats",	 no_argument,	    NULL, 's' },
	{ "cpu",	 no_argument,	    NULL, 'c' },
	{ "dying",	 no_argument,	    NULL, 'z' },
	{ "dev",	 required_argument, NULL, 'd' },
	{ "netns",	 required_argument, NULL, 'n' },
	{ "watch",	 optional_argument, NULL, 'w' },
	{ "count",	 required_argument, NULL, OPT_COUNT },
	{ "json",	 no_argument,	    NULL, 'j' },
	{ "openmetrics", no_argument,	    NULL, OPT_METRICS },
	{ "no-scan",	 no_argument,	    NULL, OPT_NO_SCAN },
	{ "help",	 no_argument,	    NULL, 'h' },
	{}
};

static int bad(const char *what, const char *arg)
{
	pp_error("%s%s%s (ppstat --help)", what, arg ? " " : "", arg ? arg : "");
	return PP_USAGE;
}

static bool seconds(const char *s, double *v)
{
	char *end;

	errno = 0;
	*v = strtod(s, &end);
	/* neither "nan" nor a time that nobody waits for */
	return end != s && !*end && !errno && *v >= 0.01 && *v <= 1e6;
}

static bool number(const char *s, unsigned long *v)
{
	char *end;

	errno = 0;
	*v = strtoul(s, &end, 10);
	return *s >= '0' && *s <= '9' && !*end && !errno && *v;
}

static int hints(struct ynl_sock **ys, const struct pp_options *opt)
{
	struct pp_snap now = {}, old = {};
	int ret;

	if (opt->watch) {
		ret = pp_read(ys, opt, &old);
		if (ret)
			return ret;
		pp_sleep(opt->interval);
	}
	ret = pp_read(ys, opt, &now);
	if (!ret) {
		pp_sort_by_device(&now);
		pp_hints(stdout, &now, opt->watch ? &old : NULL, opt);
	}
	pp_snap_free(&now);
	pp_snap_free(&old);
	return ret;
}

static int leaks(struct ynl_sock **ys, const struct pp_options *opt)
{
	struct pp_holders all;
	struct pp_snap snap;
	int ret;

	/* The pools after that: one that has come meanwhile is not missed. */
	ret = pp_read_holders(ys, opt, &all);
	if (ret)
		return ret;
	ret = pp_read(ys, opt, &snap);
	if (!ret) {
		pp_sort_by_device(&snap);
		pp_leaks(stdout, &snap, &all, opt);
		pp_snap_free(&snap);
	}
	pp_holders_free(&all);
	return ret;
}

/* What is asked for but not there is an error, not an empty column. */
static int offered(const struct pp_snap *snap, bool stats, bool cpus)
{
	if ((stats || cpus) && !snap->has_stats) {
		pp_error("this kernel counts nothing: it was built without CONFIG_PAGE_POOL_STATS");
		return PP_NOT_OFFERED;
	}
	if (cpus && snap->nr && !snap->has_detail) {
		pp_error("this kernel does not tell counters per CPU");
		return PP_NOT_OFFERED;
	}
	return PP_OK;
}

static int show(struct ynl_sock **ys, const struct pp_options *opt, bool metrics)
{
	struct pp_snap snap;
	int ret;

	ret = pp_read(ys, opt, &snap);
	if (ret)
		return ret;
	ret = offered(&snap, opt->stats, opt->cpus);
	if (ret)
		goto out;
	pp_sort_by_device(&snap);
	if (metrics)
		pp_metrics(stdout, &snap, opt);
	else if (opt->json)
		pp_json(stdout, &snap, opt);
	else
		pp_list(stdout, &snap, opt);
	if (opt->dying && geteuid())
		pp_error("note: pools without a device are shown to root only");
out:
	pp_snap_free(&snap);
	return ret;
}

static int need_stats(struct ynl_sock **ys)
{
	struct pp_options all = {};
	struct pp_snap snap;
	int ret;

	ret = pp_read(ys, &all, &snap);
	if (ret)
		return ret;
	ret = offered(&snap, true, false);
	pp_snap_free(&snap);
	return ret;
}

int main(int argc, char **argv)
{
	struct pp_options opt = { .interval = 1 };
	const char *mode = "list";
	struct ynl_sock *ys;
	bool metrics = false, find;
	unsigned long id;
	int o, ret;

	while ((o = getopt_long(argc, argv, "sczd:n:w::jh", options, NULL)) != -1) {
		switch (o) {
		case 's':
			opt.stats = true;
			break;
		case 'c':
			opt.cpus = true;
			break;
		case 'z':
			opt.dying = true;
			break;
		case 'd':
			opt.dev = optarg;
			break;
		case 'n':
			opt.netns = optarg;
			break;
		case 'w':
			opt.watch = true;
			/* "-w 2" is what fingers type */
			if (!optarg && argv[optind] &&
			    seconds(argv[optind], &opt.interval))
				optind++;
			else if (optarg && !seconds(optarg, &opt.interval))
				return bad("not a number of seconds:", optarg);
			else if (!optarg)
				opt.interval = 1;
			break;
		case 'j':
			opt.json = true;
			break;
		case OPT_METRICS:
			metrics = true;
			break;
		case OPT_COUNT:
			if (!number(optarg, &opt.count))
				return bad("not a count:", optarg);
			break;
		case OPT_NO_SCAN:
			opt.no_scan = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return PP_OK;
		default:
			return bad("that is not an option of mine", NULL);
		}
	}
	if (optind < argc)
		mode = argv[optind++];
	if (optind < argc && !strcmp(mode, "leaks")) {
		if (!number(argv[optind], &id) || id > UINT32_MAX)
			return bad("not a pool's id:", argv[optind]);
		opt.pool = id;
		optind++;
	}
	if (optind < argc)
		return bad("too many words:", argv[optind]);
	if (strcmp(mode, "list") && strcmp(mode, "monitor") && strcmp(mode, "hints") &&
	    strcmp(mode, "leaks"))
		return bad("no such command:", mode);
	find = !strcmp(mode, "leaks");
	if (find && (metrics || opt.watch || opt.stats || opt.cpus))
		return bad("leaks goes with -d, -z, -n and -j only", NULL);
	if (opt.no_scan && !find)
		return bad("--no-scan goes with leaks", NULL);
	if (metrics && (*mode != 'l' || opt.json || opt.watch || opt.stats || opt.cpus))
		return bad("--openmetrics goes with -d, -z and -n only", NULL);
	if (*mode == 'h' && (opt.stats || opt.cpus))
		return bad("hints goes with -d, -z, -n, -w and -j only", NULL);
	if (opt.count && (!opt.watch || *mode == 'h'))
		return bad("--count goes with -w of the list", NULL);
	if (opt.watch && (*mode == 'm' || opt.stats || opt.cpus))
		return bad("-w goes with -d, -z, -n, -j and hints", NULL);
	if (*mode == 'm' && (opt.stats || opt.cpus))
		return bad("events have no counters: not with -s or -c", NULL);

	ret = opt.netns ? pp_enter_netns(opt.netns) : PP_OK;
	if (!ret)
		ret = pp_open(&ys);
	if (ret)
		return ret;

	if (opt.watch || *mode == 'h')
		ret = need_stats(&ys);
	if (!ret) {
		if (*mode == 'm')
			ret = pp_monitor(ys, &opt);
		else if (*mode == 'h')
			ret = hints(&ys, &opt);
		else if (find)
			ret = leaks(&ys, &opt);
		else if (opt.watch)
			ret = pp_watch(&ys, &opt);
		else
			ret = show(&ys, &opt, metrics);
	}
	pp_close(ys);
	/* what could not be written was not shown */
	if (fflush(stdout) || ferror(stdout)) {
		if (errno != EPIPE)
			pp_error("cannot write: %s", strerror(errno));
		return ret ? ret : PP_FAILED;
	}
	return ret;
}
