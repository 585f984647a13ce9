// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: the counters, and that they add up.
 */

#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/prandom.h>

#include "page_pool_kunit.h"

#define ARRAY	PP_ALLOC_CACHE_SIZE

/* --- a model of the pool, and random operations on both --- */

#define PPK_PAGES	512

struct ppk_model_page {
	struct page *page;
	int refs;		/* the users' */
	bool open;		/* the pool cuts fragments from it */
	bool pfmemalloc;
	int others;		/* references of the page's own kind */
};

struct ppk_model {
	struct page_pool *pool;
	struct rnd_state rnd;
	int order, ring_size;
	bool exact;		/* the ring has no slots that free up late */

	int array, ring;	/* parked */
	u32 hold, released;
	u64 handed, put;
	struct ppk_stats s;

	struct ppk_model_page out[PPK_PAGES];
	int n;
	struct page *open;
	unsigned int offset;
	const char *op;
	const char *wrong;
	long have, want;
};

static u32 ppk_rnd(struct ppk_model *m, u32 below)
{
	return prandom_u32_state(&m->rnd) % below;
}

static struct ppk_model_page *ppk_model_find(struct ppk_model *m,
					     struct page *page)
{
	int i;

	for (i = 0; i < m->n; i++)
		if (m->out[i].page == page)
			return &m->out[i];
	return NULL;
}

static void ppk_model_is(struct ppk_model *m, const char *what, long have,
			 long want)
{
	if (have == want || m->wrong)
		return;
	m->wrong = what;
	m->have = have;
	m->want = want;
}

/* A page has just been handed out: what that must have been */
static struct ppk_model_page *ppk_model_took(struct ppk_model *m,
					     struct page *page)
{
	struct ppk_model_page *p;
	int n;

	if (m->array) {
		m->array--;
		m->s.fast++;
	} else if (m->ring) {
		n = min(m->ring, REFILL);
		m->ring -= n;
		m->array = n - 1;
		m->s.refill++;
	} else {
		m->s.empty++;
		/* How many the page allocator gave is its own affair */
		n = ppk_held(m->pool) - m->hold;
		m->hold += n;
		m->array = n - 1;
		if (m->order) {
			m->s.slow_ho++;
			ppk_model_is(m, "pages of a high order", n, 1);
		} else {
			m->s.slow++;
			ppk_model_is(m, "a batch at most", n > REFILL, false);
		}
		ppk_model_is(m, "pages entered", n > 0, true);
	}
	m->handed++;
	ppk_model_is(m, "handed out while out", !!ppk_model_find(m, page),
		     false);
	p = &m->out[m->n++];
	*p = (struct ppk_model_page){ .page = page };
	return p;
}

/* The last reference is gone: where the page must have gone */
static void ppk_model_last(struct ppk_model *m, struct ppk_model_page *p,
			   bool direct)
{
	struct ppk_stats now;

	m->put++;
	if (p->others) {
		m->s.ref++;
		m->released++;
	} else if (p->pfmemalloc) {
		m->s.pfmemalloc++;
		m->released++;
	} else if (direct && m->array < ARRAY) {
		m->s.cached++;
		m->array++;
	} else {
		bool full = m->ring == m->ring_size;

		if (direct)
			m->s.cache_full++;
		/*
		 * The consumer of a large ring frees its slots by the line, so
		 * that up to 15 may be taken longer than the model knows.
		 */
		if (!m->exact && !full && m->ring > m->ring_size - 16) {
			ppk_read(m->pool, &now);
			full = now.ring_full > m->s.ring_full;
		}
		if (full) {
			m->s.ring_full++;
			m->released++;
		} else {
			m->s.ring++;
			m->ring++;
		}
	}
	/* It may have left the pool with references of its own */
	while (p->others--)
		put_page(p->page);
	*p = m->out[--m->n];
}

static void ppk_op_alloc(struct ppk_model *m)
{
	struct page *page;

	if (m->n >= PPK_PAGES - 1)
		return;
	m->op = "alloc";
	page = ppk_alloc(m->pool);
	if (!page) {
		m->wrong = "no page";
		return;
	}
	ppk_model_took(m, page)->refs = 1;
}

static void ppk_op_frag(struct ppk_model *m)
{
	unsigned int whole = PAGE_SIZE << m->order, size, asked, step, offset;
	bool grow = ppk_rnd(m, 2), closed = false;
	struct ppk_model_page *p;
	struct page *page;

	if (m->n >= PPK_PAGES - 1)
		return;
	m->op = grow ? "page_pool_alloc" : "frag";
	size = 1 + ppk_rnd(m, ppk_rnd(m, 2) ? whole : whole / 8);
	asked = size;
	local_bh_disable();
	if (grow)
		page = page_pool_dev_alloc(m->pool, &offset, &size);
	else
		page = page_pool_dev_alloc_frag(m->pool, &offset, size);
	local_bh_enable();
	if (!page) {
		m->wrong = "no page";
		return;
	}

	if (grow && asked * 2 > whole) {
		ppk_model_is(m, "size", size, whole);
		ppk_model_is(m, "offset", offset, 0);
		ppk_model_took(m, page)->refs = 1;
		return;
	}

	step = ALIGN(asked, max_t(unsigned int, dma_get_cache_alignment(),
				  __alignof__(struct skb_shared_info)));
	if (m->open && m->offset + step > whole) {
		p = ppk_model_find(m, m->open);
		p->open = false;
		if (!p->refs && !p->others && !p->pfmemalloc) {
			/* Drained: one recycling and one allocation */
			m->put++;
			m->s.cached++;
			m->s.fast++;
			m->handed++;
			p->open = true;
			m->offset = 0;
		} else {
			closed = !p->refs;
			m->open = NULL;
		}
		if (closed)
			ppk_model_last(m, p, false);
	}
	if (!m->open) {
		p = ppk_model_took(m, page);
		p->open = true;
		m->open = page;
		m->offset = 0;
	}
	ppk_model_is(m, "page of the fragment", page == m->open, true);
	ppk_model_is(m, "offset", offset, m->offset);
	ppk_model_find(m, page)->refs++;
	m->offset += step;
	/* Room for no other of its size: the rest is a gift */
	if (grow && m->offset + asked > whole) {
		asked = whole - offset;
		m->offset = whole;
	}
	ppk_model_is(m, "size", size, asked);
}

/* One reference back, in a way of the dice */
static void ppk_op_put(struct ppk_model *m)
{
	struct ppk_model_page *p;
	bool direct = false;

	if (!m->n)
		return;
	p = &m->out[ppk_rnd(m, m->n)];
	if (!p->refs)
		return;
	switch (ppk_rnd(m, 4)) {
	case 0:
		m->op = "put";
		ppk_put(m->pool, p->page);
		break;
	case 1:
		m->op = "put direct";
		direct = true;
		ppk_put_direct(m->pool, p->page);
		break;
	case 2:
		m->op = "put partially";
		page_pool_put_page(m->pool, p->page, 64, false);
		break;
	default:
		m->op = "bulk of one";
		ppk_put_bulk(m->pool, &p->page, 1);
		break;
	}
	if (!--p->refs && !p->open)
		ppk_model_last(m, p, direct);
}

/* Up to 16 at once, some of them twice */
static void ppk_op_bulk(struct ppk_model *m)
{
	int i, n = 1 + ppk_rnd(m, 16), k = 0;
	struct page *pages[16];

	m->op = "bulk";
	for (i = 0; i < n && m->n; i++) {
		struct ppk_model_page *p = &m->out[ppk_rnd(m, m->n)];

		if (!p->refs)
			continue;
		p->refs--;
		pages[k++] = p->page;
	}
	if (!k)
		return;
	ppk_put_bulk(m->pool, pages, k);
	for (i = 0; i < k; i++) {
		struct ppk_model_page *p = ppk_model_find(m, pages[i]);

		if (p && !p->refs && !p->open)
			ppk_model_last(m, p, false);
	}
}

/* Somebody takes, or drops, a reference of the page's own */
static void ppk_op_other(struct ppk_model *m)
{
	struct ppk_model_page *p;

	if (!m->n)
		return;
	p = &m->out[ppk_rnd(m, m->n)];
	/* Held by the users alone; dropped again, or kept until it was put */
	if (p->others) {
		m->op = "put_page";
		put_page(p->page);
		p->others--;
	} else if (!ppk_rnd(m, 4)) {
		m->op = "get_page";
		get_page(p->page);
		p->others++;
	}
}

static void ppk_op_pfmemalloc(struct ppk_model *m)
{
	struct ppk_model_page *p;

	if (!m->n || ppk_rnd(m, 8))
		return;
	m->op = "pfmemalloc";
	p = &m->out[ppk_rnd(m, m->n)];
	ppk_set_pfmemalloc(p->page);
	p->pfmemalloc = true;
}

/* A driver with a bias of its own hands out more references of a page */
static void ppk_op_bias(struct ppk_model *m)
{
	struct ppk_model_page *p;

	if (!m->n)
		return;
	m->op = "page_pool_ref_page";
	p = &m->out[ppk_rnd(m, m->n)];
	if (!p->refs)
		return;
	page_pool_ref_page(p->page);
	p->refs++;
}

static void ppk_model_check(struct ppk_model *m)
{
	const u64 *want = (const u64 *)&m->s;
	struct ppk_stats s;
	const u64 *have = (const u64 *)&s;
	int i;

	ppk_model_is(m, "hold count", ppk_held(m->pool), m->hold);
	ppk_model_is(m, "release count", ppk_released(m->pool), m->released);
	/* Pages of the page allocator are held, parked or given back */
	ppk_model_is(m, "pages that add up", ppk_held(m->pool),
		     m->n + m->array + m->ring + ppk_released(m->pool));
	if (!PPK_STATS)
		return;
	ppk_read(m->pool, &s);
	for (i = 0; i < PPK_NSTATS; i++)
		ppk_model_is(m, ppk_stat_names[i], have[i], want[i]);
	ppk_model_is(m, "outcomes of allocations", ppk_handed_out(&s),
		     m->handed);
	ppk_model_is(m, "outcomes of puts", ppk_last_puts(&s), m->put);
	ppk_model_is(m, "handed out and not put", m->handed - m->put, m->n);
}

static const struct ppk_random_case {
	const char *desc;
	u64 seed;
	int ring, order, steps;
} ppk_randoms[] = {
	{ "ring of 24", 1, 24, 0, 20000 },
	{ "ring of 1", 2, 1, 0, 10000 },
	{ "ring of 256", 3, 256, 0, 20000 },
	{ "order 2", 4, 16, 2, 10000 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_randoms, ppk_randoms, desc);

static void random_operations_add_up(struct kunit *test)
{
	static void (* const ops[])(struct ppk_model *m) = {
		ppk_op_alloc, ppk_op_alloc, ppk_op_alloc, ppk_op_frag,
		ppk_op_frag, ppk_op_frag, ppk_op_put, ppk_op_put, ppk_op_put,
		ppk_op_put, ppk_op_put, ppk_op_bulk, ppk_op_other,
		ppk_op_pfmemalloc, ppk_op_bias,
	};
	const struct ppk_random_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = c->ring, .nid = NUMA_NO_NODE, .order = c->order,
	};
	struct ppk_model *m;
	int i;

	if (!PPK_STATS && c->ring > 31)
		kunit_skip(test, "needs CONFIG_PAGE_POOL_STATS to follow a large ring");
	m = kvzalloc(sizeof(*m), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m);
	prandom_seed_state(&m->rnd, c->seed);
	m->pool = ppk_create(test, &p);
	m->order = c->order;
	m->ring_size = c->ring;
	m->exact = c->ring < 32;

	for (i = 0; i < c->steps && !m->wrong; i++) {
		/* Bursts: long rises and falls, to see all fills of the pool */
		if (i % 512 < 256 && ppk_rnd(m, 4) == 0)
			ppk_op_alloc(m);
		else if (i % 512 >= 256 && ppk_rnd(m, 2) == 0)
			ppk_op_put(m);
		else
			ops[ppk_rnd(m, ARRAY_SIZE(ops))](m);
		ppk_model_check(m);
	}
	if (m->wrong)
		KUNIT_FAIL(test, "step %d, %s: %s is %ld, should be %ld", i,
			   m->op, m->wrong, m->have, m->want);
	kunit_info(test, "%d steps, %llu pages handed out, %u given back\n", i,
		   m->handed, m->released);

	/* All home, in the end */
	while (m->n) {
		struct ppk_model_page *q = &m->out[m->n - 1];

		while (q->refs--)
			ppk_put(m->pool, q->page);
		while (q->others--)
			put_page(q->page);
		m->n--;
	}
	ppk_destroy(m->pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(m->pool, PPK_FREE_MS));
	kvfree(m);
}

#ifdef CONFIG_PAGE_POOL_STATS

/* --- how they are read --- */

static void get_stats_null(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct page_pool *pool = ppk_create(test, &p);
	struct page_pool_stats stats = {};

	KUNIT_EXPECT_FALSE(test, page_pool_get_stats(pool, NULL));
	KUNIT_EXPECT_TRUE(test, page_pool_get_stats(pool, &stats));
	KUNIT_EXPECT_TRUE(test, mem_is_zero(&stats, sizeof(stats)));
}

static void get_stats_null_pool(struct kunit *test)
{
	struct page_pool_stats stats = {};

	KUNIT_EXPECT_FALSE(test, page_pool_get_stats(NULL, &stats));
	KUNIT_EXPECT_FALSE(test, page_pool_get_stats(NULL, NULL));
	KUNIT_EXPECT_TRUE(test, mem_is_zero(&stats, sizeof(stats)));
}

/* So that a driver can sum its queues */
static void get_stats_adds(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct page_pool *a = ppk_create(test, &p), *b = ppk_create(test, &p);
	struct page_pool_stats stats;
	struct page *page;
	u64 *v = (u64 *)&stats;
	int i;

	page = ppk_alloc(a);
	KUNIT_ASSERT_NOT_NULL(test, page);
	ppk_put(a, page);
	for (i = 0; i < 2; i++) {
		page = ppk_alloc(b);
		KUNIT_ASSERT_NOT_NULL(test, page);
		ppk_put_direct(b, page);
	}
	for (i = 0; i < PPK_NSTATS; i++)
		v[i] = 1000;
	KUNIT_EXPECT_TRUE(test, page_pool_get_stats(a, &stats));
	KUNIT_EXPECT_TRUE(test, page_pool_get_stats(b, &stats));
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.slow, 1002);
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.empty, 1002);
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.fast, 1001);
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.refill, 1000);
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.waive, 1000);
	KUNIT_EXPECT_EQ(test, stats.alloc_stats.slow_high_order, 1000);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.ring, 1001);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.cached, 1002);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.cache_full, 1000);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.ring_full, 1000);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.released_refcnt, 1000);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.released_pfmemalloc, 1000);
	KUNIT_EXPECT_EQ(test, stats.recycle_stats.released_nid, 1000);
}

/* Names and order are ABI. ethtool has room for 31 letters. */
static const char * const ppk_ethtool_names[] = {
	"rx_pp_alloc_fast", "rx_pp_alloc_slow", "rx_pp_alloc_slow_ho",
	"rx_pp_alloc_empty", "rx_pp_alloc_refill", "rx_pp_alloc_waive",
	"rx_pp_recycle_cached", "rx_pp_recycle_cache_full",
	"rx_pp_recycle_ring", "rx_pp_recycle_ring_full",
	"rx_pp_recycle_released_ref", "rx_pp_recycle_released_pfmem",
	"rx_pp_recycle_released_nid",
};

static void ethtool_strings(struct kunit *test)
{
	int i, n = page_pool_ethtool_stats_get_count();
	u8 *data, *end;

	KUNIT_ASSERT_EQ(test, n, ARRAY_SIZE(ppk_ethtool_names));
	data = kunit_kmalloc(test, (n + 1) * ETH_GSTRING_LEN, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	memset(data, 0xa5, (n + 1) * ETH_GSTRING_LEN);
	end = page_pool_ethtool_stats_get_strings(data);
	KUNIT_EXPECT_PTR_EQ(test, end, data + n * ETH_GSTRING_LEN);
	KUNIT_EXPECT_EQ(test, *end, 0xa5);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_STREQ(test, (char *)data + i * ETH_GSTRING_LEN,
				   ppk_ethtool_names[i]);
}

/* Each value stands where its name does */
static void ethtool_values(struct kunit *test)
{
	struct page_pool_stats stats = {
		.alloc_stats.fast = 1, .alloc_stats.slow = 2,
		.alloc_stats.slow_high_order = 3, .alloc_stats.empty = 4,
		.alloc_stats.refill = 5, .alloc_stats.waive = 6,
		.recycle_stats.cached = 7, .recycle_stats.cache_full = 8,
		.recycle_stats.ring = 9, .recycle_stats.ring_full = 10,
		.recycle_stats.released_refcnt = 11,
		.recycle_stats.released_pfmemalloc = 12,
		.recycle_stats.released_nid = 13,
	};
	u64 data[PPK_NSTATS + 1], *end;
	int i;

	memset(data, 0, sizeof(data));
	end = page_pool_ethtool_stats_get(data, &stats);
	KUNIT_EXPECT_PTR_EQ(test, end, data + PPK_NSTATS);
	for (i = 0; i < PPK_NSTATS; i++)
		KUNIT_EXPECT_EQ(test, data[i], i + 1);
	KUNIT_EXPECT_EQ(test, data[PPK_NSTATS], 0);
}

/* --- who counts while another counts, or reads --- */

struct ppk_tear {
	struct page_pool *pool;
	struct hrtimer timer;
	struct page *pages[BATCH];
	int n, fired, puts;
	bool stop;
};

/* The timer's pages: put and taken by nobody else */
static enum hrtimer_restart ppk_tear_timer(struct hrtimer *timer)
{
	struct ppk_tear *t = container_of(timer, struct ppk_tear, timer);

	t->fired++;
	/* A reference of many: no last put, so only the one at the end counts */
	if (t->n)
		page_pool_put_full_page(t->pool, t->pages[--t->n], false);
	if (t->stop)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(20 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/*
 * Puts of a softirq on top of a task's puts, on one CPU: no count is lost, on
 * machines where counting takes two instructions just as well.
 */
static void softirq_put_on_top_of_task_put(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 1024, .nid = NUMA_NO_NODE };
	int round, i, puts = 0, fired = 0;
	struct page *mine[BATCH];
	struct ppk_tear *t;
	struct ppk_stats s;

	t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t);
	t->pool = ppk_create(test, &p);
	hrtimer_init(&t->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	t->timer.function = ppk_tear_timer;

	for (round = 0; round < 20; round++) {
		KUNIT_ASSERT_EQ(test, BATCH,
				ppk_alloc_many(t->pool, t->pages, BATCH));
		t->n = BATCH;
		t->stop = false;
		hrtimer_start(&t->timer, ns_to_ktime(20 * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_PINNED_SOFT);
		/* Until the timer has put all of its own */
		while (READ_ONCE(t->n)) {
			int n;

			/* Not the consumer's business to be interrupted here */
			local_bh_disable();
			for (n = 0; n < BATCH; n++) {
				mine[n] = page_pool_dev_alloc_pages(t->pool);
				if (!mine[n])
					break;
			}
			local_bh_enable();
			for (i = 0; i < n; i++)
				ppk_put(t->pool, mine[i]);
			puts += n;
		}
		WRITE_ONCE(t->stop, true);
		hrtimer_cancel(&t->timer);
		puts += BATCH;
	}
	fired = t->fired;
	ppk_read(t->pool, &s);
	KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), puts);
	KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), puts);
	KUNIT_EXPECT_GE(test, fired, 20 * BATCH);
}

struct ppk_reader {
	struct page_pool *pool;
	struct page_pool_stats_sum *sum;
	u64 limit;		/* of pages put, when reading a sum */
	int reads, back, above;
};

static int ppk_reader_fn(void *arg)
{
	struct ppk_reader *r = arg;
	struct page_pool_stats last = {}, now;
	const u64 *l = (const u64 *)&last, *n = (const u64 *)&now;
	int i;

	while (!kthread_should_stop()) {
		memset(&now, 0, sizeof(now));
		if (r->sum)
			page_pool_stats_sum_get(r->sum, &now);
		else
			page_pool_get_stats(r->pool, &now);
		for (i = 0; i < PPK_NSTATS; i++)
			r->back += n[i] < l[i];
		if (r->limit && now.recycle_stats.ring > READ_ONCE(r->limit))
			r->above++;
		last = now;
		r->reads++;
		cond_resched();
	}
	return 0;
}

static struct task_struct *ppk_read_elsewhere(struct kunit *test,
					      struct ppk_reader *r)
{
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);
	struct task_struct *task;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	task = kthread_create(ppk_reader_fn, r, "ppk_read/%d", cpu);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	kthread_bind(task, cpu);
	wake_up_process(task);
	return task;
}

/* Counters only grow, whoever looks; starts just below 32 bits */
static void reader_sees_no_torn_counter(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 1024, .nid = NUMA_NO_NODE };
	struct ppk_reader r = {};
	struct task_struct *task;
	struct page *page;
	ktime_t end;

	if (BITS_PER_LONG == 64)
		kunit_skip(test, "64-bit machines read a counter whole");

	r.pool = ppk_create(test, &p);
	/* The place where halves that do not match show */
	r.pool->alloc_stats.fast = U32_MAX - 5000;
	task = ppk_read_elsewhere(test, &r);
	end = ktime_add_ms(ktime_get(), 500);
	while (ktime_before(ktime_get(), end)) {
		page = ppk_alloc(r.pool);
		if (page)
			ppk_put_direct(r.pool, page);
	}
	kthread_stop(task);
	KUNIT_EXPECT_GT(test, r.reads, 100);
	KUNIT_EXPECT_EQ(test, r.back, 0);
}

/* --- sums of a device --- */

/* It must outlive the pools that a failed case leaves to the end to destroy */
static struct page_pool_stats_sum *ppk_sum(struct kunit *test)
{
	struct page_pool_stats_sum *sum;

	sum = kunit_kmalloc(test, sizeof(*sum), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sum);
	page_pool_stats_sum_init(sum);
	return sum;
}

static void ppk_sum_traffic(struct kunit *test, struct page_pool *pool, int n)
{
	struct page *page;
	int i;

	for (i = 0; i < n; i++) {
		page = ppk_alloc(pool);
		KUNIT_ASSERT_NOT_NULL(test, page);
		ppk_put(pool, page);
	}
}

static void stats_sum_empty(struct kunit *test)
{
	struct page_pool_stats_sum *sum = ppk_sum(test);
	struct page_pool_stats stats = {};
	u64 data[PPK_NSTATS + 1], *end;
	int i;

	page_pool_stats_sum_get(sum, &stats);
	KUNIT_EXPECT_TRUE(test, mem_is_zero(&stats, sizeof(stats)));
	for (i = 0; i <= PPK_NSTATS; i++)
		data[i] = 99;
	end = page_pool_ethtool_stats_sum_get(data, sum);
	KUNIT_EXPECT_PTR_EQ(test, end, data + PPK_NSTATS);
	for (i = 0; i < PPK_NSTATS; i++)
		KUNIT_EXPECT_EQ(test, data[i], 0);
	KUNIT_EXPECT_EQ(test, data[PPK_NSTATS], 99);
}

/* Pools come and go, the sums go on */
static void stats_sum_survives_pools(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 64, .nid = NUMA_NO_NODE };
	struct page_pool_stats last = {}, now;
	const u64 *l = (const u64 *)&last, *n = (const u64 *)&now;
	struct page_pool_stats_sum *sum = ppk_sum(test);
	struct page_pool *pool;
	u64 data[PPK_NSTATS];
	int round, i, k;

	for (round = 0; round < 20; round++) {
		pool = ppk_create(test, &p);
		page_pool_stats_sum_add(sum, pool);
		for (i = 0; i < 4; i++) {
			if (i == 1)
				ppk_sum_traffic(test, pool, 10);
			if (i == 2)
				ppk_destroy(pool);
			memset(&now, 0, sizeof(now));
			page_pool_stats_sum_get(sum, &now);
			for (k = 0; k < PPK_NSTATS; k++)
				KUNIT_EXPECT_GE(test, n[k], l[k]);
			last = now;
		}
		KUNIT_EXPECT_EQ(test, now.recycle_stats.ring,
				10 * (round + 1));
		KUNIT_EXPECT_EQ(test, now.alloc_stats.slow, round + 1);
	}
	page_pool_ethtool_stats_sum_get(data, sum);
	KUNIT_EXPECT_EQ(test, data[1], 20);
	KUNIT_EXPECT_EQ(test, data[8], 200);

	/* It adds, too */
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_EQ(test, now.recycle_stats.ring, 400);
}

static void stats_sum_of_two(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 64, .nid = NUMA_NO_NODE };
	struct page_pool *a = ppk_create(test, &p), *b = ppk_create(test, &p);
	struct page_pool_stats both = {}, now = {};
	struct page_pool_stats_sum *sum = ppk_sum(test);
	struct page *page;

	page_pool_stats_sum_add(sum, a);
	page_pool_stats_sum_add(sum, b);
	ppk_sum_traffic(test, a, 100);
	ppk_sum_traffic(test, b, 7);
	page_pool_get_stats(a, &both);
	page_pool_get_stats(b, &both);
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_MEMEQ(test, &now, &both, sizeof(now));

	/*
	 * One goes with a page out: what it had counted stays, once, and the
	 * page counts as given back, for nobody will hear of it again.
	 */
	page = ppk_alloc(a);
	KUNIT_ASSERT_NOT_NULL(test, page);
	memset(&both, 0, sizeof(both));
	page_pool_stats_sum_get(sum, &both);
	both.recycle_stats.ring_full++;
	ppk_destroy(a);
	memset(&now, 0, sizeof(now));
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_MEMEQ(test, &now, &both, sizeof(now));
	ppk_put(a, page);
	KUNIT_EXPECT_TRUE(test, ppk_gone(a, PPK_FREE_MS));
	memset(&now, 0, sizeof(now));
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_MEMEQ(test, &now, &both, sizeof(now));

	ppk_sum_traffic(test, b, 3);
	memset(&now, 0, sizeof(now));
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_EQ(test, now.recycle_stats.ring, 110);
}

/* A pool in a sum is never counted twice, nor not at all, while it dies */
static void stats_sum_read_while_destroyed(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 64, .nid = NUMA_NO_NODE };
	struct page_pool_stats_sum *sum = ppk_sum(test);
	struct ppk_reader r = { .sum = sum };
	struct page_pool_stats now = {};
	struct task_struct *task;
	struct page_pool *pool;
	int i;

	r.limit = 1;
	task = ppk_read_elsewhere(test, &r);
	for (i = 0; i < 200; i++) {
		pool = ppk_create(test, &p);
		WRITE_ONCE(r.limit, 5 * (i + 1));
		page_pool_stats_sum_add(sum, pool);
		ppk_sum_traffic(test, pool, 5);
		ppk_destroy(pool);
	}
	kthread_stop(task);
	page_pool_stats_sum_get(sum, &now);
	KUNIT_EXPECT_EQ(test, now.recycle_stats.ring, 1000);
	KUNIT_EXPECT_EQ(test, now.alloc_stats.slow, 200);
	KUNIT_EXPECT_GT(test, r.reads, 100);
	KUNIT_EXPECT_EQ(test, r.back, 0);
	KUNIT_EXPECT_EQ(test, r.above, 0);
}

#else

/* Nothing of it is left, and drivers need not know */
static void stats_compiled_out(struct kunit *test)
{
	struct page_pool_params p = { .pool_size = 8, .nid = NUMA_NO_NODE };
	struct page_pool *pool = ppk_create(test, &p);
	struct page_pool_stats_sum sum;
	u8 string = 1;
	u64 data = 1;

	KUNIT_EXPECT_EQ(test, sizeof(sum), 0);
	page_pool_stats_sum_init(&sum);
	page_pool_stats_sum_add(&sum, pool);
	KUNIT_EXPECT_EQ(test, page_pool_ethtool_stats_get_count(), 0);
	KUNIT_EXPECT_PTR_EQ(test, page_pool_ethtool_stats_get_strings(&string),
			    &string);
	KUNIT_EXPECT_PTR_EQ(test, page_pool_ethtool_stats_get(&data, NULL),
			    &data);
	KUNIT_EXPECT_PTR_EQ(test, page_pool_ethtool_stats_sum_get(&data, &sum),
			    &data);
	KUNIT_EXPECT_EQ(test, string, 1);
	KUNIT_EXPECT_EQ(test, data, 1);
}

#endif

static struct kunit_case ppk_stats_cases[] = {
	KUNIT_CASE_PARAM(random_operations_add_up, ppk_randoms_gen_params),
#ifdef CONFIG_PAGE_POOL_STATS
	KUNIT_CASE(get_stats_null),
	KUNIT_CASE(get_stats_null_pool),
	KUNIT_CASE(get_stats_adds),
	KUNIT_CASE(ethtool_strings),
	KUNIT_CASE(ethtool_values),
	KUNIT_CASE(softirq_put_on_top_of_task_put),
	KUNIT_CASE(reader_sees_no_torn_counter),
	KUNIT_CASE(stats_sum_empty),
	KUNIT_CASE(stats_sum_survives_pools),
	KUNIT_CASE(stats_sum_of_two),
	KUNIT_CASE(stats_sum_read_while_destroyed),
#else
	KUNIT_CASE(stats_compiled_out),
#endif
	{}
};

static struct kunit_suite ppk_stats_suite = {
	.name = "page_pool_stats",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_stats_cases,
};

kunit_test_suites(&ppk_stats_suite);
