/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the page pool's KUnit suites share.
 *
 * Every pool of a test is made with ppk_create(), which gives it a second
 * user, the way an XDP memory model does, whose disconnect callback says that
 * the pool is about to be freed. The end of each case waits for that callback,
 * so a pool that outlives its pages fails the case that made it, whatever the
 * case was about.
 *
 * The cases run on one CPU unless they say otherwise: a pool of NUMA_NO_NODE
 * follows its consumer, and a test thread that wanders between nodes would make
 * the counters guesswork.
 *
 * An expectation that fails allocates memory, so none stands in a section with
 * bottom halves off: do the work there, and look at the outcome afterwards.
 */
#ifndef _PAGE_POOL_KUNIT_H
#define _PAGE_POOL_KUNIT_H

#include <kunit/test.h>
#include <linux/bottom_half.h>
#include <linux/kmsg_dump.h>
#include <linux/mm.h>
#include <net/page_pool/helpers.h>

#define PPK_STATS	IS_ENABLED(CONFIG_PAGE_POOL_STATS)

/* Pages that most cases take, enough for stages of several lengths: one refill,
 * or where pages are larger than 4 KiB and refills shorter, several whole ones.
 */
#define BATCH		64
#define REFILL		PP_ALLOC_CACHE_REFILL
#define PPK_REFILLS	(BATCH / REFILL)
static_assert(BATCH % REFILL == 0);

/* What a new pool has counted when they were taken */
#define PPK_TAKEN	.slow = PPK_REFILLS, .empty = PPK_REFILLS, \
			.fast = BATCH - PPK_REFILLS

/* A last return queues the freeing of the pool; this is how long it may take */
#define PPK_FREE_MS	10000

/* The counters in one flat row; all zero with statistics compiled out */
struct ppk_stats {
	u64 fast, slow, slow_ho, empty, refill, waive;
	u64 cached, cache_full, ring, ring_full, ref, pfmemalloc, nid;
};

#define PPK_NSTATS	(sizeof(struct ppk_stats) / sizeof(u64))

extern const char * const ppk_stat_names[PPK_NSTATS];

int ppk_init(struct kunit *test);
void ppk_exit(struct kunit *test);

struct page_pool *ppk_create(struct kunit *test,
			     const struct page_pool_params *params);
struct page_pool *ppk_create_percpu(struct kunit *test,
				    const struct page_pool_params *params,
				    int cpu);
void ppk_destroy(struct page_pool *pool);
bool ppk_gone(struct page_pool *pool, unsigned int ms);

void ppk_read(const struct page_pool *pool, struct ppk_stats *s);
void __ppk_expect_stats(struct kunit *test, const struct page_pool *pool,
			const struct ppk_stats *want, int line);

/* Every counter, those not named are to be zero */
#define ppk_expect_stats(test, pool, ...)				\
	__ppk_expect_stats(test, pool,					\
			   &(struct ppk_stats){ __VA_ARGS__ }, __LINE__)

#define ppk_need_stats(test)						\
	do {								\
		if (!PPK_STATS)						\
			kunit_skip(test, "needs CONFIG_PAGE_POOL_STATS"); \
	} while (0)

static inline u64 ppk_handed_out(const struct ppk_stats *s)
{
	return s->fast + s->slow + s->slow_ho + s->refill;
}

static inline u64 ppk_last_puts(const struct ppk_stats *s)
{
	return s->cached + s->ring + s->ring_full + s->ref + s->pfmemalloc +
	       s->nid;
}

/* Pages that came from the page allocator and were not given back yet */
static inline s32 ppk_inflight(const struct page_pool *pool)
{
	return (s32)(pool->pages_state_hold_cnt -
		     (u32)atomic_read(&pool->pages_state_release_cnt));
}

static inline u32 ppk_held(const struct page_pool *pool)
{
	return pool->pages_state_hold_cnt;
}

static inline u32 ppk_released(const struct page_pool *pool)
{
	return atomic_read(&pool->pages_state_release_cnt);
}

/* Consumer's and producers' operations, in the context that they belong to */
struct page *ppk_alloc(struct page_pool *pool);
int ppk_alloc_many(struct page_pool *pool, struct page **pages, int n);
struct page *ppk_alloc_frag(struct page_pool *pool, unsigned int *offset,
			    unsigned int size);
void ppk_put(struct page_pool *pool, struct page *page);
void ppk_put_many(struct page_pool *pool, struct page **pages, int n);
void ppk_put_direct(struct page_pool *pool, struct page *page);
void ppk_put_bulk(struct page_pool *pool, struct page **pages, int n);

static inline void ppk_set_pfmemalloc(struct page *page)
{
	/* set_page_pfmemalloc() stores, and the pool's signature shares the word */
	page->lru.next = (void *)((unsigned long)page->lru.next | BIT(1));
}

/* A place in the kernel log, and how many lines since then have @what in them */
struct ppk_log {
	struct kmsg_dump_iter iter;
};

void ppk_log_mark(struct ppk_log *log);
int ppk_log_count(const struct ppk_log *log, const char *what);

/* Announce to the judge of the log what the case is about to provoke */
#define ppk_announce(n, regex)	pr_info("pp-expect: " #n " " regex "\n")

/* The kernel tells of pages that are put in hardirq once in its life. */
extern bool ppk_told_hardirq;

/* A device that can be mapped for, by the platform's own DMA code */
struct device *ppk_device(struct kunit *test);

/* A registered Ethernet device that does nothing */
struct net_device *ppk_netdev(struct kunit *test);

/* The @i-th permutation of 0..@n-1 */
void ppk_permutation(int i, int n, int *order);
int ppk_factorial(int n);

/* Nodes with memory and a CPU: the first two, or skip */
struct ppk_nodes {
	int a, b;
	int cpu_a, cpu_b;
};

/*
 * Threads, one on each of up to four CPUs, that put the pages they are dealt by
 * ppk_race_start(), at least one each: every other thread page by page as a
 * task, the rest in bulk with bottom halves off.
 */
#define PPK_RACERS	4

struct ppk_racer {
	struct task_struct *task;
	struct ppk_race *race;
	struct completion start, done;
	struct page **pages;
	int n;
	bool bulk;
};

struct ppk_race {
	struct page_pool *pool;
	struct ppk_racer racer[PPK_RACERS];
	int racers;
};

struct ppk_race *ppk_race_init(struct kunit *test);

void ppk_race_start(struct ppk_race *race, struct page_pool *pool,
		    struct page **pages, int n);
void ppk_race_join(struct ppk_race *race);

/*
 * A thread on another CPU that puts the pages it is given in a section of its
 * own, as net_rx_action() does, and keeps the section open, bottom halves off,
 * until it is told to end it or has had enough of waiting.
 */
struct ppk_stager {
	struct task_struct *task;
	struct completion start, done;
	struct page_pool *pool;
	struct page **pages;
	int n, cpu;
	unsigned int delay_us;	/* before the section ends, if it is not held */
	bool hold, staged, release, timed_out;
};

struct ppk_stager *ppk_stager_init(struct kunit *test);
void ppk_stage_begin(struct page_pool *pool);
void ppk_stager_start(struct ppk_stager *stager, struct page_pool *pool,
		      struct page **pages, int n);
void ppk_stager_hold(struct ppk_stager *stager, struct page_pool *pool,
		     struct page **pages, int n);
void ppk_stager_release(struct ppk_stager *stager);
void ppk_stager_join(struct ppk_stager *stager);

/* Pages that are staged anywhere, for an idle pool */
int ppk_staged(const struct page_pool *pool);

void ppk_two_nodes(struct kunit *test, struct ppk_nodes *nodes);
void ppk_pin(int cpu);

#endif /* _PAGE_POOL_KUNIT_H */
