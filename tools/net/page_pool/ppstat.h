/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ppstat: page pools and their counters, as the netdev netlink family tells them
 *
 *	netlink.c	messages to struct pp_snap, through YNL; network namespaces
 *	model.c		sums, rates, order, names
 *	table.c		cells to aligned columns
 *	list.c		the list of pools, -s, -c
 *	watch.c		-w
 *	monitor.c	monitor
 *	json.c		-j
 *	metrics.c	--openmetrics
 *	hints.c		hints
 *	leaks.c		leaks
 *	main.c		options
 *
 * A value is there when the kernel sent it. Kernels differ in what they send, so
 * that nothing but netlink.c asks where a value came from.
 */
#ifndef PPSTAT_H
#define PPSTAT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/types.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#ifndef __printf
#define __printf(a, b)	__attribute__((format(printf, a, b)))
#endif

/* Exit statuses. */
enum pp_exit {
	PP_OK		= 0,
	PP_FAILED	= 1,
	PP_USAGE	= 2,
	PP_NOT_OFFERED	= 3,	/* by this kernel */
	PP_DENIED	= 4,
	PP_NO_SUCH	= 5,	/* device, pool or namespace */
};

/* In this order they are shown. */
enum pp_counter {
	PP_ALLOC_FAST,
	PP_ALLOC_REFILL,
	PP_ALLOC_SLOW,
	PP_ALLOC_SLOW_HIGH_ORDER,
	PP_ALLOC_EMPTY,
	PP_ALLOC_WAIVE,
	PP_RECYCLE_CACHED,
	PP_RECYCLE_RING,
	PP_RECYCLE_CACHE_FULL,
	PP_RECYCLE_RING_FULL,
	PP_RECYCLE_RELEASED_REFCNT,
	PP_RECYCLE_RELEASED_PFMEMALLOC,
	PP_RECYCLE_RELEASED_NID,
	PP_NR_COUNTERS,
	/* Those of recycling are counted per CPU; the others belong to the consumer. */
	PP_FIRST_PER_CPU = PP_RECYCLE_CACHED,
};

struct pp_counter_info {
	const char *name;
	const char *head;	/* of a column, below ALLOC or RECYCLE */
	const char *help;
};

extern const struct pp_counter_info pp_counter_info[PP_NR_COUNTERS];

struct pp_counters {
	__u64 v[PP_NR_COUNTERS];
	__u32 has;		/* bit per counter */
};

static inline bool pp_has(const struct pp_counters *c, enum pp_counter i)
{
	return c->has & (1U << i);
}

static inline void pp_set(struct pp_counters *c, enum pp_counter i, __u64 v)
{
	c->v[i] = v;
	c->has |= 1U << i;
}

struct pp_cpu {
	unsigned int cpu;
	struct pp_counters c;
};

struct pp_pool {
	__u64 id;
	unsigned int ifindex;		/* 0: no device */
	char ifname[IF_NAMESIZE];
	char plain[IF_NAMESIZE];	/* the same, see pp_plain() */
	__u64 napi_id;			/* 0: none */
	int queue;			/* -1: not known */
	__u64 pages;			/* in flight, as the kernel calls it */
	__u64 bytes;
	__u64 detach_time;		/* of CLOCK_BOOTTIME, seconds */
	unsigned int dmabuf;
	int order;			/* -1: not known */
	bool has_pages;
	bool has_bytes;
	bool dying;
	bool has_dmabuf;

	bool has_detail;		/* what follows */
	char *dev_name;			/* NULL: none */
	int node;
	unsigned int flags;
	unsigned int ring_size;
	unsigned int array, staged, ring, held;
	__u64 allocated, released;
	__u64 age;			/* ms */

	bool has_stats;
	struct pp_counters c;
	struct pp_cpu *cpus;
	size_t nr_cpus;
};

/* All that a reader is shown at a moment. */
struct pp_snap {
	struct pp_pool *pools;
	size_t nr;
	double time;			/* CLOCK_BOOTTIME, seconds */
	bool has_detail;		/* some pool has */
	bool has_stats;			/* the kernel counts */
	/* What became of the pages of all system pools, if has_stats: counters
	 * and CPUs only.
	 */
	struct pp_pool system;
};

/* The bit of pp_pool.flags */
#define PP_SYSTEM_POOL	0x4

static inline bool pp_is_system(const struct pp_pool *pool)
{
	return pool->flags & PP_SYSTEM_POOL;
}

/* Numbers of the kernel, which may have more. */
enum pp_kind {
	PP_UNKNOWN,
	PP_FRAGMENT,
	PP_SOCKET_RECEIVE,
	PP_SOCKET_OFO,
	PP_SOCKET_BACKLOG,
	PP_CPU_DEFER,
	PP_CPU_BACKLOG,
	PP_CPUMAP,
	PP_NR_KINDS,
};

struct pp_addr {
	unsigned char addr[16];
	unsigned int port;		/* 0: any */
};

struct pp_holder {
	unsigned int kind;
	unsigned int pages;
	unsigned int shared;		/* of them, with other holders */
	__u64 age;			/* ms */
	bool has_age;
	bool exact;			/* since they were handed out */
	bool partial;			/* he may have more */
	unsigned int cpu;
	unsigned int netns;
	unsigned int pid;		/* 0: none known */
	bool hidden;			/* there is one; we may not know it */
	char *comm;			/* NULL: none */
	__u64 inode;			/* 0: none */
	unsigned int family, protocol;
	bool has_addr;
	struct pp_addr local, remote;
};

/* Pages of a pool: held = sum of those of holders - several - returned */
struct pp_held {
	__u64 id;
	unsigned int held;
	unsigned int several;
	unsigned int returned;
	struct pp_holder *holders;
	size_t nr;
};

struct pp_holders {
	struct pp_held *pools;
	size_t nr;
};

/* What is asked for. */
struct pp_options {
	const char *netns;
	const char *dev;
	bool stats, cpus, dying, json;
	__u64 pool;			/* 0: all */
	bool no_scan;
	bool watch;
	double interval;
	unsigned long count;		/* of intervals; 0: no end */
};

/* netlink.c: all but the first return an exit status, having said why */
void pp_error(const char *fmt, ...) __printf(1, 2);
struct ynl_sock;
int pp_enter_netns(const char *name);
int pp_open(struct ynl_sock **ys);
void pp_close(struct ynl_sock *ys);
int pp_read(struct ynl_sock **ys, const struct pp_options *opt,
	    struct pp_snap *snap);
void pp_snap_free(struct pp_snap *snap);
int pp_read_holders(struct ynl_sock **ys, const struct pp_options *opt,
		    struct pp_holders *all);
void pp_holders_free(struct pp_holders *all);
enum pp_event { PP_ADD, PP_DEL, PP_CHANGE };
int pp_listen(struct ynl_sock *ys,
	      void (*event)(enum pp_event what, struct pp_pool *pool, void *arg),
	      void *arg);

/* model.c */
double pp_now(void);			/* CLOCK_BOOTTIME, seconds */
__u64 pp_handed_out(const struct pp_counters *c);
__u64 pp_recycled(const struct pp_counters *c);
__u64 pp_released(const struct pp_counters *c);
__u64 pp_came_home(const struct pp_counters *c);
/* Percent; negative: none came home, or nothing is known. */
double pp_recycle_rate(const struct pp_counters *c);
/* Counters of old are of the same pool, or NULL when it has just come. */
void pp_diff(struct pp_counters *diff, const struct pp_counters *now,
	     const struct pp_counters *old);
/* What the kernel tells more often than once, or cannot tell, goes. */
void pp_tell_apart(struct pp_snap *snap);
void pp_sort_by_id(struct pp_snap *snap);	/* as pp_read() has it */
void pp_sort_by_device(struct pp_snap *snap);	/* as it is shown */
/* In one that is sorted by id. */
struct pp_pool *pp_find(const struct pp_snap *snap, __u64 id);
struct pp_held *pp_held_by(const struct pp_holders *all, __u64 id);
double pp_page_bytes(const struct pp_pool *pool);
__u64 pp_dying_for(const struct pp_pool *pool, double now);
const char *pp_dev(const struct pp_pool *pool);
const char *pp_queue(const struct pp_pool *pool, char *buf, size_t len);
/* What the driver asked for, a bit at a time; NULL: no name for that one. */
const char *pp_flag(unsigned int bit);
int pp_order(__u64 pages, __u64 bytes);
/* 4 digits at most: 9999, 12.3k, 456M */
const char *pp_human(double v, unsigned int base, char *buf, size_t len);
#define PP_HUMAN	16

/* table.c */
struct pp_table;
struct pp_table *pp_table_new(unsigned int columns);
void pp_cell(struct pp_table *t, const char *fmt, ...) __printf(2, 3);
/* Column @i is text: aligned to the left. */
void pp_table_text(struct pp_table *t, unsigned int i);
void pp_table_print(struct pp_table *t, FILE *f, const char *indent);
void pp_table_free(struct pp_table *t);
/* Names are whatever somebody liked: no byte of these moves a terminal's cursor. */
char *pp_plain(char *s);

/* json.c */
struct json_t;
bool pp_is_utf8(const char *s);
struct json_t *pp_json_name(const char *s);	/* plain if it is not UTF-8 */

/* the modes: print to @f */
void pp_list(FILE *f, const struct pp_snap *snap, const struct pp_options *opt);
void pp_json(FILE *f, const struct pp_snap *snap, const struct pp_options *opt);
void pp_json_event(FILE *f, const char *stamp, const char *what,
		   const struct pp_pool *pool);
void pp_json_rates(FILE *f, const struct pp_snap *now, const struct pp_snap *old,
		   const struct pp_options *opt);
void pp_metrics(FILE *f, const struct pp_snap *snap, const struct pp_options *opt);
void pp_hints(FILE *f, const struct pp_snap *now, const struct pp_snap *old,
	      const struct pp_options *opt);
void pp_leaks(FILE *f, const struct pp_snap *snap, struct pp_holders *all,
	      const struct pp_options *opt);
int pp_watch(struct ynl_sock **ys, const struct pp_options *opt);
int pp_monitor(struct ynl_sock *ys, const struct pp_options *opt);
int pp_sleep(double seconds);		/* -1: somebody wants an end */

#endif /* PPSTAT_H */
