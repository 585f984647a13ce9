// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: pages that a CPU stages, and the counters of
 * the consumer's array.
 */

#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/prandom.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/sort.h>

#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

#define STAGE	PP_STAGE_SIZE

static struct page *ppk_pages[4 * BATCH];

static struct page_pool *ppk_pool(struct kunit *test, unsigned int size)
{
	struct page_pool_params p = { .pool_size = size, .nid = numa_mem_id() };

	return ppk_create(test, &p);
}

/* How many of @pages are in the ring, in this order and nothing before them;
 * -1 if there is anything else. For rings that do not wrap.
 */
static int ppk_in_ring(const struct page_pool *pool, struct page **pages, int n)
{
	const struct ptr_ring *ring = &pool->ring;
	int i, at = ring->consumer_head;

	for (i = 0; at < ring->size && ring->queue[at]; i++, at++)
		if (i == n || ring->queue[at] != pages[i])
			return -1;
	return i;
}

static int ppk_ring_len(const struct page_pool *pool)
{
	const struct ptr_ring *ring = &pool->ring;
	int at = ring->consumer_head, n = 0;

	while (at < ring->size && ring->queue[at++])
		n++;
	return n;
}

/* Is a section open on this CPU? Only where it does not matter if one was
 * opened and ended.
 */
static bool ppk_section_open(void)
{
	bool opened = page_pool_batch_begin();

	if (opened)
		page_pool_batch_end();

	return !opened;
}

static int ppk_cmp_ptr(const void *a, const void *b)
{
	unsigned long x = *(unsigned long *)a, y = *(unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* The same pages in any order? Sorts both. */
static bool ppk_same_set(struct page **a, struct page **b, int n)
{
	sort(a, n, sizeof(*a), ppk_cmp_ptr, NULL);
	sort(b, n, sizeof(*b), ppk_cmp_ptr, NULL);
	return !memcmp(a, b, n * sizeof(*a));
}

/* --- when staged pages are published --- */

static void ppk_stage_bulk(struct page_pool *pool, struct page *page)
{
	ppk_put_bulk(pool, &page, 1);
}

static void ppk_stage_frag(struct page_pool *pool, struct page *page)
{
	page_pool_fragment_page(page, 2);
	ppk_put(pool, page);
	ppk_put(pool, page);
}

static const struct ppk_stage_way {
	const char *desc;
	void (*put)(struct page_pool *pool, struct page *page);
} ppk_stage_ways[] = {
	{ "single", ppk_put },
	{ "bulk of one", ppk_stage_bulk },
	{ "fragments", ppk_stage_frag },
};

KUNIT_ARRAY_PARAM_DESC(ppk_stage_ways, ppk_stage_ways, desc);

/* A full stage, or the end of the section, and nothing earlier */
static void stage_publishes_in_batches(struct kunit *test)
{
	const struct ppk_stage_way *c = test->param_value;
	struct page **pages = ppk_pages, **again = ppk_pages + BATCH;
	int n, i, early = 0, late = 0, count = 0;

	for (n = 0; n <= 2 * STAGE + 1; n++) {
		struct page_pool *pool = ppk_pool(test, 2 * BATCH);
		struct ppk_stats s;

		KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, pages, BATCH));

		local_bh_disable();
		ppk_stage_begin(pool);
		for (i = 1; i <= n; i++) {
			int ring = rounddown(i, STAGE);

			c->put(pool, pages[i - 1]);
			early += ppk_in_ring(pool, pages, n) > ring;
			late += ppk_in_ring(pool, pages, n) < ring;
			late += ppk_staged(pool) != i - ring;
			ppk_read(pool, &s);
			count += PPK_STATS && s.ring != ring;
		}
		page_pool_stage_end();
		local_bh_enable();

		KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, pages, n), n);
		KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
		ppk_expect_stats(test, pool, PPK_TAKEN, .ring = n);

		/* And come back from the ring as ever */
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, again, n));
		i = DIV_ROUND_UP(n, REFILL);
		ppk_expect_stats(test, pool, .slow = PPK_REFILLS,
				 .empty = PPK_REFILLS, .refill = i, .ring = n,
				 .fast = BATCH - PPK_REFILLS + n - i);
		KUNIT_EXPECT_TRUE(test, ppk_same_set(pages, again, n));
		ppk_put_many(pool, pages, BATCH);
		KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
		KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), BATCH);
		KUNIT_EXPECT_EQ(test, ppk_held(pool), BATCH);
		ppk_destroy(pool);
	}
	KUNIT_EXPECT_EQ(test, early, 0);
	KUNIT_EXPECT_EQ(test, late, 0);
	KUNIT_EXPECT_EQ(test, count, 0);
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
}

/* Whatever bulk stages and does not, pages are published in its order or later
 * and all of them by the end.
 */
static void stage_takes_small_bulks(struct kunit *test)
{
	int n, i, staged[BATCH + 1], ring[BATCH + 1];

	for (n = 1; n <= STAGE; n++) {
		struct page_pool *pool = ppk_pool(test, 2 * BATCH);

		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool, ppk_pages, BATCH));
		local_bh_disable();
		ppk_stage_begin(pool);
		for (i = 0; i + n <= BATCH; i += n) {
			ppk_put_bulk(pool, ppk_pages + i, n);
			staged[i + n] = ppk_staged(pool);
			ring[i + n] = ppk_ring_len(pool);
		}
		page_pool_stage_end();
		local_bh_enable();
		ppk_put_many(pool, ppk_pages + i, BATCH - i);

		for (i = n; i <= BATCH; i += n)
			if (staged[i] + ring[i] != i || staged[i] >= STAGE)
				KUNIT_FAIL(test, "%d in bulks of %d: %d staged, %d in the ring",
					   i, n, staged[i], ring[i]);
		KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), BATCH);
		KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
		ppk_expect_stats(test, pool, PPK_TAKEN, .ring = BATCH);
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool, ppk_pages + BATCH, BATCH));
		KUNIT_EXPECT_TRUE(test, ppk_same_set(ppk_pages,
						     ppk_pages + BATCH, BATCH));
		ppk_put_many(pool, ppk_pages, BATCH);
		ppk_destroy(pool);
	}
}

#define POOLS	5

/* The last @n that went into the ring are @pages, in this order. */
static bool ppk_ring_tail(const struct page_pool *pool, struct page **pages,
			  int n)
{
	const struct ptr_ring *ring = &pool->ring;

	return ring->producer >= n &&
	       !memcmp(ring->queue + ring->producer - n, pages,
		       n * sizeof(*pages));
}

/* Each page goes to its own pool, whichever of them has to publish first */
static void stage_of_many_pools(struct kunit *test)
{
	/* Those that fill a stage leave from the middle of the list of pools. */
	static const int amounts[POOLS] = { 3, STAGE, 1, STAGE + 4, STAGE - 1 };
	static struct page *pages[POOLS][2 * STAGE];
	struct page_pool *pool[POOLS];
	struct ppk_stats s;
	int round, i, p;

	for (p = 0; p < POOLS; p++)
		pool[p] = ppk_pool(test, 4 * BATCH);

	for (round = 1; round <= 2 * POOLS; round++) {
		for (p = 0; p < POOLS; p++)
			KUNIT_ASSERT_EQ(test, amounts[p],
					ppk_alloc_many(pool[p], pages[p],
						       amounts[p]));
		local_bh_disable();
		page_pool_stage_begin();
		for (i = 0; i < 2 * STAGE; i++)
			for (p = 0; p < POOLS; p++) {
				int q = (p + round) % POOLS;

				if (round & 1)
					q = POOLS - 1 - q;
				if (i < amounts[q])
					ppk_put(pool[q], pages[q][i]);
			}
		page_pool_stage_end();
		local_bh_enable();

		for (p = 0; p < POOLS; p++) {
			KUNIT_EXPECT_EQ(test, ppk_staged(pool[p]), 0);
			KUNIT_EXPECT_TRUE_MSG(test,
					      ppk_ring_tail(pool[p], pages[p],
							    amounts[p]),
					      "pool %d, round %d", p, round);
			KUNIT_EXPECT_EQ(test, ppk_held(pool[p]),
					ppk_ring_len(pool[p]) +
					page_pool_array_count(pool[p]));
			ppk_read(pool[p], &s);
			if (PPK_STATS)
				KUNIT_EXPECT_EQ(test, s.ring,
						amounts[p] * round);
		}
	}
}

/* --- the consumer and what is staged --- */

/* Own stage before the page allocator, but the ring before it */
static void consumer_takes_own_stage(struct kunit *test)
{
	struct page **back = ppk_pages + BATCH;
	struct page_pool *pool = ppk_pool(test, 4 * BATCH);
	int n, held, staged[3], ring[2], got;

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	for (n = 1; n < STAGE; n++) {
		struct ppk_stats was, is;

		ppk_read(pool, &was);
		held = ppk_held(pool);

		local_bh_disable();
		ppk_stage_begin(pool);
		ppk_put_many(pool, ppk_pages, n);
		staged[0] = ppk_staged(pool);
		got = ppk_alloc_many(pool, back, n);
		staged[1] = ppk_staged(pool);
		ring[0] = ppk_ring_len(pool);
		/* The stage works on, also for the same pool */
		ppk_put_many(pool, back, n);
		staged[2] = ppk_staged(pool);
		page_pool_stage_end();
		ring[1] = ppk_ring_len(pool);
		local_bh_enable();

		KUNIT_ASSERT_EQ(test, got, n);
		KUNIT_EXPECT_EQ(test, staged[0], n);
		KUNIT_EXPECT_EQ(test, staged[1], 0);
		KUNIT_EXPECT_EQ(test, staged[2], n);
		KUNIT_EXPECT_EQ(test, ring[0], 0);
		KUNIT_EXPECT_EQ(test, ring[1], n);
		KUNIT_EXPECT_EQ(test, ppk_held(pool), held);
		KUNIT_EXPECT_TRUE(test, ppk_same_set(ppk_pages, back, n));
		ppk_read(pool, &is);
		if (PPK_STATS) {
			KUNIT_EXPECT_EQ(test, is.ring - was.ring, 2 * n);
			KUNIT_EXPECT_EQ(test, is.refill - was.refill, 1);
			KUNIT_EXPECT_EQ(test, is.fast - was.fast, n - 1);
			KUNIT_EXPECT_EQ(test, is.empty, was.empty);
			KUNIT_EXPECT_EQ(test, is.slow, was.slow);
		}
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, back, n));
	}

	/* There is something in the ring: that is taken, and not the stage. */
	ppk_put_many(pool, ppk_pages, 4);
	local_bh_disable();
	ppk_stage_begin(pool);
	ppk_put_many(pool, ppk_pages + 4, 5);
	got = ppk_alloc_many(pool, back, 4);
	staged[0] = ppk_staged(pool);
	page_pool_stage_end();
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, got, 4);
	KUNIT_EXPECT_EQ(test, staged[0], 5);
	KUNIT_EXPECT_TRUE(test, ppk_same_set(ppk_pages, back, 4));
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages + 4, 5), 5);
	ppk_put_many(pool, back, 4);
	ppk_put_many(pool, ppk_pages + 9, BATCH - 9);
}

/* In task context a page that is staged here is a softirq's, which is to
 * publish it. No section is open then but one that a test made so, with
 * interrupts off, for no softirq may come in between.
 */
static void task_leaves_stage_alone(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 4 * BATCH);
	struct page *page;
	int staged;
	u32 held;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "a section must not be left open on PREEMPT_RT");

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	local_bh_disable();
	ppk_stage_begin(pool);
	ppk_put_many(pool, ppk_pages, 3);
	local_irq_disable();
	_local_bh_enable();
	page = page_pool_dev_alloc_pages(pool);
	staged = ppk_staged(pool);
	held = ppk_held(pool);
	local_bh_disable();
	local_irq_enable();
	page_pool_stage_end();
	local_bh_enable();

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_EQ(test, staged, 3);
	/* It came from the page allocator. */
	KUNIT_EXPECT_EQ(test, held, BATCH + REFILL);
	KUNIT_EXPECT_EQ(test, 3, ppk_in_ring(pool, ppk_pages, 3));
	ppk_put(pool, page);
	ppk_put_many(pool, ppk_pages + 3, BATCH - 3);
}

/* Nor is what another CPU has staged there for anyone, in whatever context */
static void stage_is_of_its_cpu(struct kunit *test)
{
	struct ppk_stager *stager = ppk_stager_init(test);
	struct page_pool *pool = ppk_pool(test, 4 * BATCH);
	struct page *page[2];
	bool gone = false;
	int staged[2];
	u32 held;

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	held = ppk_held(pool);
	ppk_stager_hold(stager, pool, ppk_pages, 5);
	page[0] = page_pool_dev_alloc_pages(pool);
	staged[0] = ppk_staged(pool);

	local_bh_disable();
	ppk_stage_begin(pool);
	/* The array must be empty, for a refill to happen. */
	ppk_alloc_many(pool, ppk_pages + BATCH, REFILL - 1);
	ppk_put(pool, ppk_pages[5]);
	page[1] = page_pool_dev_alloc_pages(pool);
	gone = page[1] == ppk_pages[5];
	staged[1] = ppk_staged(pool);
	page_pool_stage_end();
	local_bh_enable();
	ppk_stager_release(stager);

	KUNIT_EXPECT_FALSE(test, stager->timed_out);
	KUNIT_EXPECT_EQ(test, staged[0], 5);
	KUNIT_EXPECT_EQ(test, staged[1], 5);
	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_EQ(test, ppk_held(pool), held + REFILL);
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages, 5), 5);
	ppk_put(pool, page[0]);
	ppk_put_many(pool, ppk_pages + 5, BATCH + REFILL - 1 - 5);
	KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), BATCH + REFILL);
}

/* --- a consumer that sections interrupt --- */

enum { HOME, TASK, OUT };	/* where a page is */

/*
 * How long things may go on that come at odd moments: as long as it takes for
 * enough of them to have come, on a machine that is busy a good deal longer
 * than usual.
 */
#define RUN_MS		150
#define RUN_MS_MAX	5000

static bool ppk_run_on(ktime_t start, bool enough)
{
	s64 ms = ktime_ms_delta(ktime_get(), start);

	return ms < RUN_MS || (!enough && ms < RUN_MS_MAX);
}

#define INTR_PAGES	512
#define INTR_OUT	200
#define INTR_TASK	24
#define INTR_BURST	16
#define INTR_ENOUGH	20

enum { PUT_NOTHING, PUT_SINGLE, PUT_BULK, PUT_BATCH };

static const struct ppk_intr_case {
	const char *desc;
	bool section;		/* the softirq opens one */
	int puts;		/* of the task */
} ppk_intrs[] = {
	{ "section", true, PUT_NOTHING },
	{ "section, task puts", true, PUT_SINGLE },
	{ "section, task puts bulks", true, PUT_BULK },
	{ "section, task puts in one", true, PUT_BATCH },
	{ "no section", false, PUT_NOTHING },
	{ "no section, task puts", false, PUT_SINGLE },
	{ "no section, task puts in one", false, PUT_BATCH },
};

KUNIT_ARRAY_PARAM_DESC(ppk_intrs, ppk_intrs, desc);

/*
 * Every page that the pool ever had is in the map, which says where it is, and
 * knows its own place there. Whoever gets a page from the pool that is not at
 * home, or puts one that is, has found a page in two places.
 */
struct ppk_intr {
	struct hrtimer timer;
	const struct ppk_intr_case *c;
	struct page_pool *pool;
	struct {
		struct page *page;
		int where;
	} map[INTR_PAGES];
	int pages;
	spinlock_t lock;	/* protects the pages that are out */
	struct page *out[INTR_OUT];
	int n;
	struct rnd_state rnd;	/* of the softirq */
	int fired, puts, bad, mixed, unpublished;
	bool inside;		/* the task is in an allocation */
	int hits;
	bool stop;
};

#define WORDS	(PAGE_SIZE / sizeof(unsigned long))

static unsigned long ppk_word(unsigned long page, int word)
{
	return word ? page * 2654435761UL + word : page;
}

static void ppk_intr_enter(netmem_ref netmem, void *arg)
{
	struct page *page = netmem_to_page(netmem);
	unsigned long *data = page_address(page);
	struct ppk_intr *run = arg;
	int i, n = run->pages++;

	for (i = 0; i < WORDS; i++)
		data[i] = ppk_word(n, i);
	if (n < INTR_PAGES)
		run->map[n].page = page;
	else
		run->bad++;
}

static void ppk_intr_move(struct ppk_intr *run, struct page *page, int from,
			  int to)
{
	unsigned long n = *(unsigned long *)page_address(page);

	if (n >= min(run->pages, INTR_PAGES) || run->map[n].page != page ||
	    cmpxchg(&run->map[n].where, from, to) != from)
		run->bad++;
}

static void ppk_intr_put(struct ppk_intr *run, struct page **pages, int n,
			 int from, bool bulk)
{
	int i;

	for (i = 0; i < n; i++)
		ppk_intr_move(run, pages[i], from, HOME);
	if (bulk)
		ppk_put_bulk(run->pool, pages, n);
	else
		ppk_put_many(run->pool, pages, n);
}

static enum hrtimer_restart ppk_intr_fire(struct hrtimer *timer)
{
	struct ppk_intr *run = container_of(timer, struct ppk_intr, timer);
	u32 rnd = prandom_u32_state(&run->rnd);
	struct page *page[40];
	int n = 0, want = rnd % ARRAY_SIZE(page), first;

	spin_lock(&run->lock);
	while (run->n && n < want)
		page[n++] = run->out[--run->n];
	spin_unlock(&run->lock);

	run->mixed += ppk_section_open();
	if (run->c->section)
		page_pool_stage_begin();
	first = n / 3;
	ppk_intr_put(run, page, first, OUT, rnd & BIT(16));
	ppk_intr_put(run, page + first, n - first, OUT, rnd & BIT(17));
	if (run->c->section)
		page_pool_stage_end();
	run->unpublished += ppk_staged(run->pool);
	run->puts += n;
	run->fired++;
	run->hits += READ_ONCE(run->inside);

	if (run->stop)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime((20 + rnd % 64) * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* The task puts, now and then, some pages of its own. */
static int ppk_intr_task_puts(struct ppk_intr *run, struct page **mine, int n)
{
	bool batch = false;

	if (run->c->puts == PUT_BATCH) {
		batch = page_pool_batch_begin();
		run->mixed += !batch;
	}
	ppk_intr_put(run, mine, n, TASK, run->c->puts == PUT_BULK);
	if (batch)
		page_pool_batch_end();
	return n;
}

/* A page that the task got: kept for a put of its own, or given to the softirq,
 * where there is room, since only the task brings any.
 */
static void ppk_intr_use(struct ppk_intr *run, struct page *page,
			 struct page **mine, int *n, bool keep)
{
	ppk_intr_move(run, page, HOME, TASK);
	if (keep && *n < INTR_TASK) {
		mine[(*n)++] = page;
		return;
	}

	spin_lock_bh(&run->lock);
	ppk_intr_move(run, page, TASK, OUT);
	run->out[run->n++] = page;
	spin_unlock_bh(&run->lock);
}

static void ppk_intr_loop(struct ppk_intr *run, int *allocs, int *puts,
			  int *failed)
{
	ktime_t start = ktime_get();
	struct page *mine[INTR_TASK], *got[INTR_BURST];
	struct rnd_state rnd;
	int steps, n = 0;

	prandom_seed_state(&rnd, 20241117);
	/* The clock is slow in some guests. */
	for (steps = 1; steps % 16 ||
	     ppk_run_on(start, READ_ONCE(run->hits) >= INTR_ENOUGH); steps++) {
		u32 r = prandom_u32_state(&rnd);
		int i, k = min_t(int, r % INTR_BURST + 1,
				 INTR_OUT - READ_ONCE(run->n));

		WRITE_ONCE(run->inside, true);
		for (i = 0; i < k; i++)
			got[i] = page_pool_dev_alloc_pages(run->pool);
		WRITE_ONCE(run->inside, false);

		for (i = 0; i < k; i++) {
			if (!got[i]) {
				++*failed;
				continue;
			}
			++*allocs;
			ppk_intr_use(run, got[i], mine, &n,
				     run->c->puts && r & BIT(8 + i));
		}
		if (n == INTR_TASK || (n && r >> 30 == 3)) {
			*puts += ppk_intr_task_puts(run, mine, n);
			n = 0;
		}
		*failed += run->pages > INTR_PAGES;
		cond_resched();
	}
	ppk_intr_put(run, mine, n, TASK, false);
	*puts += n;
}

/* All pages that the pool has, in one place each, and with what was written
 * to them when they came. The array may have been refilled by one of them.
 */
static void ppk_intr_take_stock(struct kunit *test, struct ppk_intr *run)
{
	int i, w, pages = run->pages, wrong = 0;
	struct page **all;

	KUNIT_ASSERT_LE(test, pages, INTR_PAGES);
	KUNIT_EXPECT_EQ(test, ppk_held(run->pool), pages);
	KUNIT_EXPECT_EQ(test, ppk_released(run->pool), 0);

	all = kunit_kcalloc(test, pages, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_ASSERT_EQ(test, pages, ppk_alloc_many(run->pool, all, pages));
	/* None of them is new */
	KUNIT_EXPECT_EQ(test, run->pages, pages);
	for (i = 0; i < pages; i++) {
		unsigned long *data = page_address(all[i]);

		ppk_intr_move(run, all[i], HOME, TASK);
		for (w = 1; w < WORDS; w++)
			wrong += data[w] != ppk_word(data[0], w);
		KUNIT_EXPECT_EQ(test, page_ref_count(all[i]), 1);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, page_pool_array_count(run->pool), 0);
	KUNIT_EXPECT_EQ(test, ppk_ring_len(run->pool), 0);
	ppk_intr_put(run, all, pages, TASK, false);
}

/* As a driver does at open(): bottom halves on, while softirqs of this CPU come
 * in between anywhere and stage pages of the pool.
 */
static void sections_interrupt_consumer(struct kunit *test)
{
	struct page_pool_params p = {
		.pool_size = INTR_PAGES, .nid = numa_mem_id(),
		.init_callback = ppk_intr_enter,
	};
	int allocs = 0, puts = 0, failed = 0, stock;
	struct ppk_intr *run;

	if (hrtimer_resolution > NSEC_PER_MSEC)
		kunit_skip(test, "a timer comes only every %u us",
			   hrtimer_resolution / 1000);

	run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	run->c = test->param_value;
	spin_lock_init(&run->lock);
	prandom_seed_state(&run->rnd, 42);
	p.init_arg = run;
	run->pool = ppk_create(test, &p);
	hrtimer_init(&run->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	run->timer.function = ppk_intr_fire;
	hrtimer_start(&run->timer, ns_to_ktime(50 * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_SOFT);
	ppk_intr_loop(run, &allocs, &puts, &failed);
	WRITE_ONCE(run->stop, true);
	hrtimer_cancel(&run->timer);
	ppk_intr_put(run, run->out, run->n, OUT, false);
	puts += run->puts + run->n;

	KUNIT_EXPECT_EQ(test, run->bad, 0);
	KUNIT_EXPECT_EQ(test, run->mixed, 0);
	KUNIT_EXPECT_EQ(test, run->unpublished, 0);
	KUNIT_EXPECT_EQ(test, failed, 0);
	KUNIT_EXPECT_GE(test, run->hits, INTR_ENOUGH);
	KUNIT_EXPECT_EQ(test, allocs, puts);
	stock = run->pages;
	ppk_intr_take_stock(test, run);
	KUNIT_EXPECT_EQ(test, run->bad, 0);
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(run->pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), allocs + stock);
		KUNIT_EXPECT_EQ(test, s.ring, puts + stock);
		KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), puts + stock);
		KUNIT_EXPECT_EQ(test, s.slow * REFILL, ppk_held(run->pool));
		KUNIT_EXPECT_EQ(test, s.slow, s.empty);
	}
	ppk_destroy(run->pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(run->pool, PPK_FREE_MS));
	kunit_info(test, "%d pages, %d allocations, %d of %d interruptions hit one\n",
		   stock, allocs, run->hits, run->fired);
}

/* --- destroy --- */

/* The pool lives until the section ends elsewhere, and then goes at once */
static void destroy_waits_for_section(struct kunit *test)
{
	struct ppk_stager *stager = ppk_stager_init(test);
	int n;

	for (n = 1; n < STAGE; n += 7) {
		struct page_pool *pool = ppk_pool(test, 2 * BATCH);
		int staged, inflight;
		bool gone;

		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool, ppk_pages, BATCH));
		ppk_put_many(pool, ppk_pages + n + 1, BATCH - n - 1);
		ppk_stager_hold(stager, pool, ppk_pages, n);

		ppk_destroy(pool);
		staged = ppk_staged(pool);
		inflight = ppk_inflight(pool);
		gone = ppk_gone(pool, 20);
		ppk_stager_release(stager);

		KUNIT_EXPECT_FALSE(test, stager->timed_out);
		KUNIT_EXPECT_FALSE(test, gone);
		KUNIT_EXPECT_EQ(test, staged, n);
		KUNIT_EXPECT_EQ(test, inflight, n + 1);

		/* One is out yet, so that the pool can be asked */
		KUNIT_EXPECT_EQ(test, ppk_inflight(pool), 1);
		KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
		KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), 0);
		ppk_expect_stats(test, pool, PPK_TAKEN, .ring = BATCH - n - 1,
				 .ring_full = n);

		/* The last one, staged too */
		ppk_stager_hold(stager, pool, ppk_pages + n, 1);
		gone = ppk_gone(pool, 20);
		ppk_stager_release(stager);
		KUNIT_EXPECT_FALSE(test, gone);
		KUNIT_EXPECT_TRUE(test, ppk_gone(pool, PPK_FREE_MS));
	}
}

/* The last page may be published before the section ends. The pool is gone
 * then, but the CPU has not forgotten of it, so what it knows it by must not
 * be another's.
 */
static void destroy_in_section(struct kunit *test)
{
	struct ppk_stager *stager = ppk_stager_init(test);
	struct page_pool_pcpu __percpu *pcpu;
	struct page_pool *pool, *new[8];
	bool gone, taken = false;
	int i;

	pool = ppk_pool(test, BATCH);
	pcpu = pool->pcpu;
	KUNIT_ASSERT_EQ(test, STAGE, ppk_alloc_many(pool, ppk_pages, STAGE));
	ppk_stager_hold(stager, pool, ppk_pages, STAGE);
	ppk_destroy(pool);
	gone = ppk_gone(pool, PPK_FREE_MS);
	for (i = 0; i < ARRAY_SIZE(new); i++) {
		new[i] = ppk_pool(test, BATCH);
		taken |= new[i]->pcpu == pcpu;
	}
	ppk_stager_release(stager);
	KUNIT_EXPECT_FALSE(test, stager->timed_out);
	KUNIT_EXPECT_TRUE(test, gone);
	KUNIT_EXPECT_FALSE(test, taken);

	/* Those that were made meanwhile can be staged for. */
	for (i = 0; i < ARRAY_SIZE(new); i++) {
		KUNIT_ASSERT_EQ(test, 5, ppk_alloc_many(new[i], ppk_pages, 5));
		ppk_stager_start(stager, new[i], ppk_pages, 5);
		ppk_stager_join(stager);
		KUNIT_EXPECT_EQ(test, ppk_in_ring(new[i], ppk_pages, 5), 5);
	}
}

/* Whichever is first, the end of the section or that of the pool */
static void destroy_races_section(struct kunit *test)
{
	struct ppk_stager *stager = ppk_stager_init(test);
	int i, n, late = 0, rounds = 120;

	for (i = 0; i < rounds; i++) {
		struct page_pool *pool = ppk_pool(test, i & 1 ? 2 : BATCH);

		n = 1 + i % (STAGE + 2);
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
		stager->delay_us = i * 7 % 60;
		ppk_stager_start(stager, pool, ppk_pages, n);
		/* Pairs with ppk_stager_section() */
		while (!(i & 2) && !smp_load_acquire(&stager->staged))
			cpu_relax();
		udelay(i * 11 % 50);
		ppk_destroy(pool);
		ppk_stager_join(stager);
		late += !ppk_gone(pool, PPK_FREE_MS);
	}
	KUNIT_EXPECT_EQ(test, late, 0);
}

/* --- NUMA --- */

static void ppk_to_node(struct page_pool *pool, int nid)
{
	local_bh_disable();
	page_pool_update_nid(pool, nid);
	local_bh_enable();
}

/* The pool moves while pages are staged: those that are wrong now leave when
 * they would have been parked.
 */
static void stage_follows_node(struct kunit *test)
{
	struct page **on_a = ppk_pages, **on_b = ppk_pages + BATCH, *page;
	struct page_pool_params p = { .pool_size = 2 * BATCH };
	int staged[4], released[3], ring;
	struct ppk_nodes nodes;
	struct page_pool *pool;
	struct ppk_stats s;

	ppk_two_nodes(test, &nodes);
	p.nid = nodes.a;
	pool = ppk_create(test, &p);
	KUNIT_ASSERT_EQ(test, 16, ppk_alloc_many(pool, on_a, 16));
	ppk_to_node(pool, nodes.b);
	KUNIT_ASSERT_EQ(test, 16, ppk_alloc_many(pool, on_b, 16));
	ppk_to_node(pool, nodes.a);
	KUNIT_ASSERT_EQ(test, ppk_inflight(pool), 32);

	/* Wrong ones first, last and in the middle of the stage */
	local_bh_disable();
	ppk_stage_begin(pool);
	released[0] = ppk_released(pool);
	ppk_put_many(pool, on_a, 2);
	page_pool_update_nid(pool, nodes.b);
	ppk_put_many(pool, on_b, 3);
	page_pool_update_nid(pool, nodes.a);
	ppk_put_many(pool, on_a + 2, 1);
	page_pool_update_nid(pool, nodes.b);
	staged[0] = ppk_staged(pool);
	released[1] = ppk_released(pool);
	page_pool_stage_end();
	staged[1] = ppk_staged(pool);
	released[2] = ppk_released(pool);
	ring = ppk_in_ring(pool, on_b, 3);
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, staged[0], 6);
	KUNIT_EXPECT_EQ(test, staged[1], 0);
	KUNIT_EXPECT_EQ(test, released[1], released[0]);
	KUNIT_EXPECT_EQ(test, released[2], released[0] + 3);
	KUNIT_EXPECT_EQ(test, ring, 3);
	ppk_read(pool, &s);
	KUNIT_EXPECT_EQ(test, s.nid, PPK_STATS ? 3 : 0);
	KUNIT_EXPECT_EQ(test, s.ring, PPK_STATS ? 3 : 0);
	KUNIT_ASSERT_EQ(test, 3, ppk_alloc_many(pool, on_b, 3));

	/* The consumer gets no wrong one from its stage either */
	ppk_to_node(pool, nodes.a);
	local_bh_disable();
	ppk_stage_begin(pool);
	ppk_put_many(pool, on_a + 3, 4);
	page_pool_update_nid(pool, nodes.b);
	staged[0] = ppk_staged(pool);
	page = page_pool_dev_alloc_pages(pool);
	staged[1] = ppk_staged(pool);
	page_pool_update_nid(pool, nodes.a);
	ppk_put_many(pool, on_a + 7, 2);
	page_pool_update_nid(pool, nodes.b);
	ppk_put_many(pool, on_b, 2);
	staged[2] = ppk_staged(pool);
	on_b[0] = page_pool_dev_alloc_pages(pool);
	on_b[1] = page_pool_dev_alloc_pages(pool);
	staged[3] = ppk_staged(pool);
	page_pool_stage_end();
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, staged[0], 4);
	KUNIT_EXPECT_EQ(test, staged[1], 0);
	KUNIT_EXPECT_EQ(test, staged[2], 4);
	KUNIT_EXPECT_EQ(test, staged[3], 0);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_NOT_NULL(test, on_b[0]);
	KUNIT_ASSERT_NOT_NULL(test, on_b[1]);
	KUNIT_EXPECT_EQ(test, page_to_nid(page), nodes.b);
	KUNIT_EXPECT_EQ(test, page_to_nid(on_b[0]), nodes.b);
	KUNIT_EXPECT_EQ(test, page_to_nid(on_b[1]), nodes.b);
	ppk_read(pool, &s);
	KUNIT_EXPECT_EQ(test, s.nid, PPK_STATS ? 3 + 4 + 2 : 0);
	KUNIT_EXPECT_EQ(test, s.ring, PPK_STATS ? 3 + 2 : 0);
	ppk_put(pool, page);
	ppk_put_many(pool, on_b, 16);
	ppk_put_many(pool, on_a + 9, 7);
	ppk_read(pool, &s);
	KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), ppk_last_puts(&s));
}

/* --- who never stages --- */

static void system_pool_never_stages(struct kunit *test)
{
	struct page_pool_params p = {
		.pool_size = BATCH, .nid = NUMA_NO_NODE,
		.flags = PP_FLAG_SYSTEM_POOL,
	};
	struct page_pool *pool, *other = ppk_pool(test, 2 * BATCH);
	int i, staged = 0, missing = 0, after, of_other;

	/* Nobody's, or this CPU's puts would go straight to the array */
	pool = ppk_create_percpu(test, &p, -1);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	KUNIT_ASSERT_EQ(test, 5, ppk_alloc_many(other, ppk_pages + BATCH, 5));

	local_bh_disable();
	ppk_stage_begin(other);
	for (i = 0; i < STAGE + 2; i++) {
		if (i < 5)
			ppk_put(other, ppk_pages[BATCH + i]);
		if (i & 1)
			ppk_put(pool, ppk_pages[i]);
		else
			ppk_put_bulk(pool, ppk_pages + i, 1);
		staged += ppk_staged(pool);
		missing += ppk_in_ring(pool, ppk_pages, i + 1) != i + 1;
	}
	of_other = ppk_staged(other);
	page_pool_stage_end();
	after = ppk_in_ring(pool, ppk_pages, BATCH);
	local_bh_enable();

	KUNIT_EXPECT_EQ(test, staged, 0);
	KUNIT_EXPECT_EQ(test, missing, 0);
	KUNIT_EXPECT_EQ(test, after, STAGE + 2);
	KUNIT_EXPECT_EQ(test, of_other, 5);
	KUNIT_EXPECT_EQ(test, ppk_ring_len(other), 5);
	ppk_put_many(pool, ppk_pages + STAGE + 2, BATCH - STAGE - 2);
	KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), BATCH);
}

/* Several CPUs could not bring a batch each to a ring of a few batches. */
static void small_ring_never_stages(struct kunit *test)
{
	static const int sizes[] = { 1, STAGE - 1, STAGE, 4 * STAGE - 1,
				     4 * STAGE };
	int i, k, n, late, staged;

	for (k = 0; k < ARRAY_SIZE(sizes); k++) {
		struct page_pool *pool = ppk_pool(test, sizes[k]);

		n = min(sizes[k], STAGE - 2);
		KUNIT_ASSERT_EQ(test, n, ppk_alloc_many(pool, ppk_pages, n));
		late = 0;
		staged = 0;
		local_bh_disable();
		ppk_stage_begin(pool);
		for (i = 0; i < n; i++) {
			ppk_put(pool, ppk_pages[i]);
			late += ppk_in_ring(pool, ppk_pages, n) != i + 1;
			staged = max(staged, ppk_staged(pool));
		}
		page_pool_stage_end();
		local_bh_enable();

		KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages, n), n);
		if (sizes[k] < 4 * STAGE)
			KUNIT_EXPECT_EQ(test, late, 0);
		KUNIT_EXPECT_EQ(test, staged, sizes[k] < 4 * STAGE ? 0 : n);
	}
}

struct ppk_hardirq {
	struct irq_work work;
	struct page_pool *pool;
	int staged;
	bool ran, hardirq, batch;
};

static void ppk_hardirq_put(struct irq_work *work)
{
	struct ppk_hardirq *run = container_of(work, struct ppk_hardirq, work);

	run->hardirq = in_hardirq();
	run->batch = page_pool_batch_begin();
	ppk_put(run->pool, ppk_pages[0]);
	ppk_put_bulk(run->pool, ppk_pages + 1, 2);
	run->staged = ppk_staged(run->pool);
	WRITE_ONCE(run->ran, true);
}

/* A caller's bug, which must not touch what the interrupted one is at */
static void hardirq_never_stages(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 2 * BATCH);
	struct ppk_hardirq run = { .pool = pool };
	u64 end = ktime_get_ns() + 10ULL * NSEC_PER_SEC;
	struct ppk_log log;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "no puts from hardirq on PREEMPT_RT");

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	if (!ppk_told_hardirq)
		ppk_announce(1, "WARNING: .*page_pool");
	ppk_log_mark(&log);
	run.work = IRQ_WORK_INIT_HARD(ppk_hardirq_put);

	local_bh_disable();
	ppk_stage_begin(pool);
	ppk_put_many(pool, ppk_pages + 3, 4);
	irq_work_queue(&run.work);
	while (!READ_ONCE(run.ran) && ktime_get_ns() < end)
		cpu_relax();
	page_pool_stage_end();
	local_bh_enable();
	irq_work_sync(&run.work);

	KUNIT_EXPECT_TRUE(test, run.hardirq);
	KUNIT_EXPECT_FALSE(test, run.batch);
	KUNIT_EXPECT_EQ(test, run.staged, 4);
	KUNIT_EXPECT_EQ(test, ppk_told_hardirq ? 0 : 1,
			ppk_log_count(&log, "WARNING:"));
	ppk_told_hardirq = true;
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages + 3, 4), 4);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 3);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = 4, .ring_full = 3);
	ppk_put_many(pool, ppk_pages + 7, BATCH - 7);
}

/* --- batches of a task --- */

static void batch_where_it_may(struct kunit *test)
{
	unsigned int before, inside, after;
	bool got[6], open[3];
	int bad = 0;

	/* From a task */
	before = preempt_count();
	got[0] = page_pool_batch_begin();
	inside = softirq_count();
	/* One in the other */
	got[1] = page_pool_batch_begin();
	bad += softirq_count() != inside;
	got[2] = !ppk_section_open();
	if (got[0])
		page_pool_batch_end();
	after = preempt_count();
	KUNIT_EXPECT_TRUE(test, got[0]);
	KUNIT_EXPECT_FALSE(test, got[1]);
	KUNIT_EXPECT_FALSE(test, got[2]);
	KUNIT_EXPECT_NE(test, inside, 0);
	KUNIT_EXPECT_EQ(test, before, after);
	KUNIT_EXPECT_EQ(test, softirq_count(), 0);
	open[0] = ppk_section_open();

	/* With bottom halves off, and in a section */
	local_bh_disable();
	before = preempt_count();
	got[0] = page_pool_batch_begin();
	if (got[0])
		page_pool_batch_end();
	bad += preempt_count() != before;
	open[1] = ppk_section_open();

	page_pool_stage_begin();
	got[1] = page_pool_batch_begin();
	bad += preempt_count() != before;
	open[2] = ppk_section_open();
	page_pool_stage_end();
	local_bh_enable();
	KUNIT_EXPECT_TRUE(test, got[0]);
	KUNIT_EXPECT_FALSE(test, got[1]);
	KUNIT_EXPECT_FALSE(test, open[0]);
	KUNIT_EXPECT_FALSE(test, open[1]);
	KUNIT_EXPECT_TRUE(test, open[2]);

	/* Not where bottom halves could not be enabled again */
	before = preempt_count();
	local_irq_disable();
	got[0] = page_pool_batch_begin();
	bad += !irqs_disabled();
	local_irq_enable();
	bad += preempt_count() != before;
	local_bh_disable();
	local_irq_disable();
	got[1] = page_pool_batch_begin();
	local_irq_enable();
	local_bh_enable();
	bad += preempt_count() != before;
	KUNIT_EXPECT_FALSE(test, got[0]);
	KUNIT_EXPECT_FALSE(test, got[1]);
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
	KUNIT_EXPECT_EQ(test, bad, 0);
}

/* As netpoll polls: bottom halves cannot be enabled, for interrupts are off. */
static void puts_with_interrupts_off(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 2 * BATCH);
	unsigned int before = preempt_count();
	int section, i = 0, bad = 0;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "locks sleep on PREEMPT_RT");

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	for (section = 0; section < 2; section++) {
		local_bh_disable();
		if (section)
			ppk_stage_begin(pool);
		local_irq_disable();
		ppk_put(pool, ppk_pages[i++]);
		/* One that is staged in a section, and one that is not */
		ppk_put_bulk(pool, ppk_pages + i, 2);
		ppk_put_bulk(pool, ppk_pages + i + 2, STAGE);
		i += 2 + STAGE;
		bad += !irqs_disabled();
		local_irq_enable();
		if (section)
			page_pool_stage_end();
		local_bh_enable();
	}
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, preempt_count(), before);
	KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), i);
	ppk_put_many(pool, ppk_pages + i, BATCH - i);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = BATCH);
}

#define FRAGS	min_t(int, MAX_SKB_FRAGS, 17)

static struct sk_buff *ppk_skb(struct kunit *test, struct page **pages, int n)
{
	struct sk_buff *skb = alloc_skb(64, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	for (i = 0; i < n; i++)
		skb_add_rx_frag(skb, i, pages[i], 0, 100, PAGE_SIZE);
	skb_mark_for_recycle(skb);
	return skb;
}

static void skb_of_one_pool(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 2 * BATCH);
	unsigned int before = preempt_count();
	int cpu, together = 0, n = FRAGS;

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	kfree_skb(ppk_skb(test, ppk_pages, n));
	KUNIT_EXPECT_EQ(test, preempt_count(), before);
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages, n), n);
	KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
	ppk_expect_stats(test, pool, PPK_TAKEN, .ring = n);
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
	/* The second one was the first in a stage, which is not wiped. */
	for_each_possible_cpu(cpu)
		together += per_cpu_ptr(pool->pcpu, cpu)->staged[0] ==
			    page_to_netmem(ppk_pages[1]);
	KUNIT_EXPECT_EQ(test, together, 1);

	/* A clone keeps them out until both are gone */
	{
		struct sk_buff *skb = ppk_skb(test, ppk_pages + n, n);
		struct sk_buff *clone = skb_clone(skb, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, clone);
		kfree_skb(skb);
		KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), n);
		kfree_skb(clone);
		KUNIT_EXPECT_EQ(test, ppk_ring_len(pool), 2 * n);
	}
	ppk_put_many(pool, ppk_pages + 2 * n, BATCH - 2 * n);
	KUNIT_EXPECT_EQ(test, ppk_released(pool), 0);
}

static void skb_of_two_pools(struct kunit *test)
{
	struct page_pool *pool[2] = { ppk_pool(test, 2 * BATCH),
				      ppk_pool(test, 2 * BATCH) };
	static struct page *pages[2][BATCH];
	struct page *frag[17];
	int i, p, n = FRAGS, of[2] = { (n + 1) / 2, n / 2 };

	for (p = 0; p < 2; p++)
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(pool[p], pages[p], BATCH));
	for (i = 0; i < n; i++)
		frag[i] = pages[i & 1][i / 2];
	kfree_skb(ppk_skb(test, frag, n));
	for (p = 0; p < 2; p++) {
		KUNIT_EXPECT_EQ(test, ppk_in_ring(pool[p], pages[p], of[p]),
				of[p]);
		KUNIT_EXPECT_EQ(test, ppk_staged(pool[p]), 0);
		ppk_expect_stats(test, pool[p], PPK_TAKEN, .ring = of[p]);
		ppk_put_many(pool[p], pages[p] + of[p], BATCH - of[p]);
	}
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
}

/* Looks about when an skb is freed that is in the list of another, or by
 * net_tx_action().
 */
struct ppk_spy {
	struct page_pool *pool;
	int calls, staged;
	bool open, bh_off, softirq;
};

static struct ppk_spy ppk_spy;

static void ppk_spy_destructor(struct sk_buff *skb)
{
	ppk_spy.calls++;
	ppk_spy.bh_off = in_softirq();
	ppk_spy.softirq = in_serving_softirq();
	ppk_spy.open = ppk_section_open();
	ppk_spy.staged = ppk_staged(ppk_spy.pool);
}

static void skb_frags_go_together(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 2 * BATCH);
	struct sk_buff *skb, *inner;
	int n = 5;

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	skb = ppk_skb(test, ppk_pages, n);
	inner = ppk_skb(test, ppk_pages + n, n);
	inner->destructor = ppk_spy_destructor;
	skb_shinfo(skb)->frag_list = inner;
	ppk_spy = (struct ppk_spy){ .pool = pool };
	kfree_skb(skb);

	/* A list may be long: it is freed outside of the section, and those of
	 * the outer one are published.
	 */
	KUNIT_EXPECT_EQ(test, ppk_spy.calls, 1);
	KUNIT_EXPECT_FALSE(test, ppk_spy.open);
	KUNIT_EXPECT_FALSE(test, ppk_spy.bh_off);
	KUNIT_EXPECT_EQ(test, ppk_spy.staged, 0);
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages, 2 * n), 2 * n);
	KUNIT_EXPECT_EQ(test, ppk_staged(pool), 0);
	ppk_put_many(pool, ppk_pages + 2 * n, BATCH - 2 * n);
}

/* --- who opens sections --- */

struct ppk_poll_run {
	struct napi_struct napi;
	struct page_pool *pool;
	struct completion polled;
	int cpu, polls, closed, staged;
};

static int ppk_stage_poll(struct napi_struct *napi, int budget)
{
	struct ppk_poll_run *run = container_of(napi, struct ppk_poll_run, napi);

	run->cpu = smp_processor_id();
	run->closed += !ppk_section_open();
	ppk_put_many(run->pool, ppk_pages + 5 * run->polls++, 5);
	run->staged = ppk_staged(run->pool);
	napi_complete_done(napi, 0);
	complete(&run->polled);
	return 0;
}

static const struct ppk_poll_case {
	const char *desc;
	bool threaded;
} ppk_polls[] = {
	{ "softirq", false },
	{ "threaded", true },
};

KUNIT_ARRAY_PARAM_DESC(ppk_polls, ppk_polls, desc);

static void ppk_poll_end(void *arg)
{
	struct ppk_poll_run *run = arg;

	napi_disable(&run->napi);
	netif_napi_del(&run->napi);
}

static void poll_is_a_section(struct kunit *test)
{
	const struct ppk_poll_case *c = test->param_value;
	struct net_device *dev = ppk_netdev(test);
	struct ppk_poll_run *run;
	int i, cpu, self = raw_smp_processor_id();

	run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	init_completion(&run->polled);
	/* Not the NAPI's own: its puts would not be staged */
	run->pool = ppk_pool(test, 2 * BATCH);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(run->pool, ppk_pages, BATCH));
	netif_napi_add(dev, &run->napi, ppk_stage_poll);
	if (c->threaded) {
		int err;

		rtnl_lock();
		err = dev_set_threaded(dev, true);
		rtnl_unlock();
		KUNIT_ASSERT_EQ(test, err, 0);
	}
	napi_enable(&run->napi);
	kunit_add_action(test, ppk_poll_end, run);

	for (i = 1; i <= 8; i++) {
		if (c->threaded) {
			cpu = i & 1 ? cpumask_last(cpu_online_mask) : self;
			set_cpus_allowed_ptr(run->napi.thread, cpumask_of(cpu));
		}
		local_bh_disable();
		napi_schedule(&run->napi);
		local_bh_enable();
		if (!wait_for_completion_timeout(&run->polled, 10 * HZ)) {
			KUNIT_FAIL(test, "no poll");
			break;
		}
		KUNIT_EXPECT_EQ(test, run->closed, 0);
		KUNIT_EXPECT_EQ(test, run->staged, 4);

		/* Whoever polled there has come to its end when we are there. */
		ppk_pin(run->cpu);
		KUNIT_EXPECT_FALSE(test, ppk_section_open());
		KUNIT_EXPECT_EQ(test, ppk_staged(run->pool), 0);
		KUNIT_EXPECT_EQ(test, ppk_in_ring(run->pool, ppk_pages, 5 * i),
				5 * i);
		ppk_pin(self);
	}
	ppk_put_many(run->pool, ppk_pages + 5 * run->polls,
		     BATCH - 5 * run->polls);
}

/* Transmitted packets are freed in one, too. */
static void tx_completion_is_a_section(struct kunit *test)
{
	struct page_pool *pool = ppk_pool(test, 2 * BATCH);
	unsigned long end = jiffies + 10 * HZ;
	struct sk_buff *skb, *spy;
	int n = 3;

	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(pool, ppk_pages, BATCH));
	ppk_spy = (struct ppk_spy){ .pool = pool };

	/* The queue is last in, first out: the spy finds what the other left. */
	skb = ppk_skb(test, ppk_pages, n);
	spy = ppk_skb(test, ppk_pages + n, n);
	spy->destructor = ppk_spy_destructor;
	local_bh_disable();
	dev_kfree_skb_irq(spy);
	dev_kfree_skb_irq(skb);
	local_bh_enable();
	while (!READ_ONCE(ppk_spy.calls) && time_before(jiffies, end))
		schedule_timeout_interruptible(1);
	KUNIT_EXPECT_EQ(test, ppk_spy.calls, 1);
	KUNIT_EXPECT_TRUE(test, ppk_spy.softirq);
	KUNIT_EXPECT_TRUE(test, ppk_spy.open);
	/* The first one is in the ring. */
	KUNIT_EXPECT_EQ(test, ppk_spy.staged, n - 1);
	KUNIT_EXPECT_FALSE(test, ppk_section_open());
	KUNIT_EXPECT_EQ(test, ppk_in_ring(pool, ppk_pages, 2 * n), 2 * n);
	ppk_put_many(pool, ppk_pages + 2 * n, BATCH - 2 * n);
}

/* --- counters of the array --- */

/*
 * The consumer says beforehand what it may count, and afterwards what it has
 * counted. What a reader sees is between the one, read before, and the other,
 * read after it, and no less than it saw the last time.
 */
struct ppk_ledger {
	struct page_pool *pool;
	u32 may_fast, did_fast, may_cached, did_cached;
	int again;	/* fragment pages that started again */
};

struct ppk_reader {
	struct ppk_ledger *ledger;
	u64 fast, cached;
	int reads, exact, low, high, back;
};

static void ppk_reader_look(struct ppk_reader *r)
{
	const struct ppk_ledger *l = r->ledger;
	u32 fast = READ_ONCE(l->did_fast), cached = READ_ONCE(l->did_cached);
	struct ppk_stats s;

	/* These pair with those of ppk_ledger_*() */
	smp_rmb();
	ppk_read(l->pool, &s);
	smp_rmb();	/* as above */
	r->low += s.fast < fast || s.cached < cached;
	r->exact += fast == READ_ONCE(l->may_fast) &&
		    cached == READ_ONCE(l->may_cached);
	r->high += s.fast > READ_ONCE(l->may_fast) ||
		   s.cached > READ_ONCE(l->may_cached);
	r->back += s.fast < r->fast || s.cached < r->cached;
	r->fast = s.fast;
	r->cached = s.cached;
	r->reads++;
}

static struct page *ppk_ledger_alloc(struct ppk_ledger *l)
{
	bool fast = page_pool_array_count(l->pool);
	struct page *page;

	WRITE_ONCE(l->may_fast, l->may_fast + fast);
	/* These pair with those of ppk_reader_look() */
	smp_wmb();
	page = page_pool_dev_alloc_pages(l->pool);
	smp_wmb();	/* as above */
	WRITE_ONCE(l->did_fast, l->did_fast + fast);

	return page;
}

static void ppk_ledger_put(struct ppk_ledger *l, struct page *page)
{
	u32 was = page_pool_array_count(l->pool);
	bool cached;

	WRITE_ONCE(l->may_cached, l->may_cached + 1);
	/* These pair with those of ppk_reader_look() */
	smp_wmb();
	page_pool_put_full_page(l->pool, page, true);
	smp_wmb();	/* as above */
	/* It may have been full, or the page on the wrong node. */
	cached = page_pool_array_count(l->pool) != was;
	WRITE_ONCE(l->did_cached, l->did_cached + cached);
	WRITE_ONCE(l->may_cached, l->did_cached);
}

/* A fragment that is a page: it starts again when it has come home, which is a
 * put and an allocation.
 */
static void ppk_ledger_frag(struct ppk_ledger *l)
{
	struct page *old = netmem_to_page(l->pool->frag_page), *page;
	bool fast = page_pool_array_count(l->pool), again;
	u32 held = ppk_held(l->pool);
	unsigned int offset;

	WRITE_ONCE(l->may_fast, l->may_fast + 1);
	WRITE_ONCE(l->may_cached, l->may_cached + 1);
	/* These pair with those of ppk_reader_look() */
	smp_wmb();
	page = page_pool_dev_alloc_frag(l->pool, &offset, PAGE_SIZE);
	smp_wmb();	/* as above */
	/* Another page if that one was on the wrong node */
	again = page && page == old && held == ppk_held(l->pool);
	WRITE_ONCE(l->did_fast, l->did_fast + (again || fast));
	WRITE_ONCE(l->did_cached, l->did_cached + again);
	WRITE_ONCE(l->may_fast, l->did_fast);
	WRITE_ONCE(l->may_cached, l->did_cached);
	l->again += again;
	/* Not the last reference, so it counts as nothing */
	if (page)
		ppk_put(l->pool, page);
}

static int ppk_reader_thread(void *arg)
{
	struct ppk_reader *r = arg;

	while (!kthread_should_stop()) {
		ppk_reader_look(r);
		if (!(r->reads % 256))
			cond_resched();
	}
	return 0;
}

struct ppk_reader_timer {
	struct hrtimer timer;
	struct ppk_reader reader;
	bool stop;
};

static enum hrtimer_restart ppk_reader_fire(struct hrtimer *timer)
{
	struct ppk_reader_timer *t = container_of(timer,
						  struct ppk_reader_timer,
						  timer);

	ppk_reader_look(&t->reader);
	if (READ_ONCE(t->stop))
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime((20 + t->reader.reads * 7 % 50) *
					       NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

#define READ_ENOUGH	200

static void ppk_ledger_run(struct ppk_ledger *l, int other_node, int *pages,
			   const struct ppk_reader *a,
			   const struct ppk_reader *b)
{
	ktime_t start = ktime_get();
	static struct page *out[3 * BATCH];
	int i, n = 0, home = l->pool->p.nid;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 90125);
	while (ppk_run_on(start, min(READ_ONCE(a->reads), READ_ONCE(b->reads)) >=
			  READ_ENOUGH)) {
		u32 r = prandom_u32_state(&rnd);
		int k = r % (2 * BATCH);

		/* Some in, some out, and now and then to another node */
		for (i = 0; i < k && n < ARRAY_SIZE(out); i++) {
			out[n] = ppk_ledger_alloc(l);
			if (!out[n])
				break;
			n++;
			++*pages;
		}
		k = (r >> 8) % (2 * BATCH);
		for (i = 0; i < k && n; i++)
			if (r & BIT(20 + i % 4))
				ppk_ledger_put(l, out[--n]);
			else
				ppk_put(l->pool, out[--n]);
		for (i = 0; i < 3; i++, ++*pages)
			ppk_ledger_frag(l);
		if ((r >> 24) % 16 == 0)
			ppk_to_node(l->pool, l->pool->p.nid == home ?
					     other_node : home);
		cond_resched();
	}
	while (n)
		ppk_ledger_put(l, out[--n]);
}

static void ppk_reader_expect(struct kunit *test, struct ppk_reader *r,
			      const char *who)
{
	KUNIT_EXPECT_EQ_MSG(test, r->low, 0, "%s", who);
	KUNIT_EXPECT_EQ_MSG(test, r->high, 0, "%s", who);
	KUNIT_EXPECT_EQ_MSG(test, r->back, 0, "%s", who);
	KUNIT_EXPECT_GE_MSG(test, r->reads, READ_ENOUGH, "%s", who);
	KUNIT_EXPECT_GT_MSG(test, r->exact, 0, "%s", who);
	kunit_info(test, "%s: %d times read, %d of them exactly\n", who,
		   r->reads, r->exact);
}

/*
 * For readers on other CPUs, and in a softirq that interrupts the consumer
 * anywhere. That is why the consumer has bottom halves on: nobody else puts to
 * this pool, so there is none who could mistake itself for the consumer.
 */
static void array_counters_are_exact(struct kunit *test)
{
	struct ppk_ledger *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	struct page_pool_params p = { .pool_size = 4 * BATCH };
	int cpu, pages = 0, node, other;
	struct ppk_reader_timer *t;
	struct task_struct *task = NULL;
	struct ppk_reader *elsewhere;
	struct ppk_stats s;

	ppk_need_stats(test);
	KUNIT_ASSERT_NOT_NULL(test, l);
	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	elsewhere = kunit_kzalloc(test, sizeof(*elsewhere), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, elsewhere);

	p.nid = numa_mem_id();
	other = p.nid;
	for_each_node_state(node, N_MEMORY)
		if (node != p.nid)
			other = node;
	l->pool = ppk_create(test, &p);
	elsewhere->ledger = l;
	t->reader.ledger = l;

	cpu = cpumask_any_but(cpu_online_mask, raw_smp_processor_id());
	if (cpu < nr_cpu_ids) {
		task = kthread_create(ppk_reader_thread, elsewhere,
				      "ppk_read/%d", cpu);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
		kthread_bind(task, cpu);
		wake_up_process(task);
	}
	hrtimer_init(&t->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	t->timer.function = ppk_reader_fire;
	hrtimer_start(&t->timer, ns_to_ktime(50 * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_SOFT);
	ppk_ledger_run(l, other, &pages, &t->reader,
		       task ? elsewhere : &t->reader);
	WRITE_ONCE(t->stop, true);
	hrtimer_cancel(&t->timer);
	if (task)
		kthread_stop(task);

	if (task)
		ppk_reader_expect(test, elsewhere, "another CPU");
	ppk_reader_expect(test, &t->reader, "a softirq");
	ppk_read(l->pool, &s);
	KUNIT_EXPECT_EQ(test, s.fast, l->did_fast);
	KUNIT_EXPECT_EQ(test, s.cached, l->did_cached);
	KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), pages);
	/* But for the open page of fragments */
	KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), pages - 1);
	KUNIT_EXPECT_GT(test, l->again, 0);
	KUNIT_EXPECT_GT(test, s.refill, 0);
	if (other != p.nid)
		KUNIT_EXPECT_GT(test, s.nid, 0);
}

static const struct kunit_attributes ppk_slow = { .speed = KUNIT_SPEED_SLOW };

static struct kunit_case ppk_stage_cases[] = {
	KUNIT_CASE_PARAM(stage_publishes_in_batches, ppk_stage_ways_gen_params),
	KUNIT_CASE(stage_takes_small_bulks),
	KUNIT_CASE(stage_of_many_pools),
	KUNIT_CASE(consumer_takes_own_stage),
	KUNIT_CASE(task_leaves_stage_alone),
	KUNIT_CASE(stage_is_of_its_cpu),
	KUNIT_CASE_PARAM_ATTR(sections_interrupt_consumer,
			      ppk_intrs_gen_params, ppk_slow),
	KUNIT_CASE(destroy_waits_for_section),
	KUNIT_CASE(destroy_in_section),
	KUNIT_CASE(destroy_races_section),
	KUNIT_CASE(stage_follows_node),
	KUNIT_CASE(system_pool_never_stages),
	KUNIT_CASE(small_ring_never_stages),
	KUNIT_CASE(hardirq_never_stages),
	KUNIT_CASE(batch_where_it_may),
	KUNIT_CASE(puts_with_interrupts_off),
	KUNIT_CASE(skb_of_one_pool),
	KUNIT_CASE(skb_of_two_pools),
	KUNIT_CASE(skb_frags_go_together),
	KUNIT_CASE_PARAM(poll_is_a_section, ppk_polls_gen_params),
	KUNIT_CASE(tx_completion_is_a_section),
	KUNIT_CASE(array_counters_are_exact),
	{}
};

static struct kunit_suite ppk_stage_suite = {
	.name = "page_pool_stage",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_stage_cases,
};

kunit_test_suites(&ppk_stage_suite);
