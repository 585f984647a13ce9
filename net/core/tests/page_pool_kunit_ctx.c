// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the page pool: contexts that pages are allocated and put in.
 */

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "page_pool_kunit.h"

static struct page *ppk_pages[2 * BATCH];

/* --- what a put leaves behind --- */

enum { PPK_TASK, PPK_NO_PREEMPT, PPK_BH_OFF, PPK_BH_OFF_TWICE, PPK_SOFTIRQ };

static const struct ppk_ctx_case {
	const char *desc;
	int ctx;
} ppk_ctxs[] = {
	{ "task", PPK_TASK },
	{ "preemption off", PPK_NO_PREEMPT },
	{ "bottom halves off", PPK_BH_OFF },
	{ "bottom halves off twice", PPK_BH_OFF_TWICE },
	{ "softirq", PPK_SOFTIRQ },
};

KUNIT_ARRAY_PARAM_DESC(ppk_ctxs, ppk_ctxs, desc);

struct ppk_ctx_run {
	struct page_pool *pool;
	struct tasklet_struct tasklet;
	struct completion done;
	bool bh;
	int puts, bad;
};

static void ppk_ctx_step(struct ppk_ctx_run *run, void (*put)(struct page_pool *,
							      struct page *),
			 struct page *page)
{
	unsigned int before = preempt_count(), softirq = softirq_count();
	bool irqs = irqs_disabled();

	put(run->pool, page);
	run->puts++;
	run->bad += preempt_count() != before || softirq_count() != softirq ||
		    irqs_disabled() != irqs;
}

static void ppk_ctx_plain(struct page_pool *pool, struct page *page)
{
	page_pool_put_full_page(pool, page, false);
}

static void ppk_ctx_direct(struct page_pool *pool, struct page *page)
{
	page_pool_recycle_direct(pool, page);
}

static void ppk_ctx_bulk(struct page_pool *pool, struct page *page)
{
	void *va = page_address(page);

	page_pool_put_page_bulk(pool, &va, 1);
}

static void ppk_ctx_held(struct page_pool *pool, struct page *page)
{
	get_page(page);
	page_pool_put_full_page(pool, page, false);
	put_page(page);
}

static void ppk_ctx_frag(struct page_pool *pool, struct page *page)
{
	page_pool_fragment_page(page, 2);
	page_pool_put_full_page(pool, page, false);
	page_pool_put_full_page(pool, page, false);
}

/* Every way of putting, into a ring with room and into a full one */
static void ppk_ctx_all(struct ppk_ctx_run *run)
{
	int i;

	for (i = 0; i < BATCH; i += 4) {
		ppk_ctx_step(run, ppk_ctx_plain, ppk_pages[i]);
		ppk_ctx_step(run, i & 4 ? ppk_ctx_bulk : ppk_ctx_frag,
			     ppk_pages[i + 1]);
		ppk_ctx_step(run, ppk_ctx_held, ppk_pages[i + 2]);
		ppk_ctx_step(run, run->bh ? ppk_ctx_direct : ppk_ctx_bulk,
			     ppk_pages[i + 3]);
	}
}

static void ppk_ctx_tasklet(struct tasklet_struct *t)
{
	struct ppk_ctx_run *run = from_tasklet(run, t, tasklet);

	ppk_ctx_all(run);
	complete(&run->done);
}

static void put_leaves_context_alone(struct kunit *test)
{
	const struct ppk_ctx_case *c = test->param_value;
	struct page_pool_params p = { .pool_size = 24, .nid = NUMA_NO_NODE };
	struct ppk_ctx_run run = {};

	if (IS_ENABLED(CONFIG_PREEMPT_RT) && c->ctx == PPK_NO_PREEMPT)
		kunit_skip(test, "locks sleep on PREEMPT_RT");

	run.bh = c->ctx >= PPK_BH_OFF;
	run.pool = ppk_create(test, &p);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(run.pool, ppk_pages, BATCH));

	switch (c->ctx) {
	case PPK_TASK:
		ppk_ctx_all(&run);
		break;
	case PPK_NO_PREEMPT:
		preempt_disable();
		ppk_ctx_all(&run);
		preempt_enable();
		break;
	case PPK_BH_OFF:
		local_bh_disable();
		ppk_ctx_all(&run);
		local_bh_enable();
		break;
	case PPK_BH_OFF_TWICE:
		local_bh_disable();
		local_bh_disable();
		ppk_ctx_all(&run);
		local_bh_enable();
		local_bh_enable();
		break;
	case PPK_SOFTIRQ:
		init_completion(&run.done);
		tasklet_setup(&run.tasklet, ppk_ctx_tasklet);
		tasklet_schedule(&run.tasklet);
		wait_for_completion(&run.done);
		tasklet_kill(&run.tasklet);
		break;
	}
	KUNIT_EXPECT_EQ(test, run.puts, BATCH);
	KUNIT_EXPECT_EQ(test, run.bad, 0);
	KUNIT_EXPECT_EQ(test, 0, preempt_count());
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(run.pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), BATCH);
		KUNIT_EXPECT_EQ(test, s.ref, BATCH / 4);
		KUNIT_EXPECT_EQ(test, s.cached, run.bh ? BATCH / 4 : 0);
		KUNIT_EXPECT_GT(test, s.ring, 0);
	}
}

/* --- hardirq --- */

struct ppk_irq_run {
	struct irq_work work;
	struct page_pool *pool;
	bool hardirq;
};

static void ppk_put_in_irq(struct irq_work *work)
{
	struct ppk_irq_run *run = container_of(work, struct ppk_irq_run, work);

	run->hardirq = in_hardirq();
	ppk_ctx_plain(run->pool, ppk_pages[0]);
	ppk_ctx_frag(run->pool, ppk_pages[1]);
	ppk_ctx_bulk(run->pool, ppk_pages[2]);
}

/* A caller's bug: told once, and the pool goes on without the pages */
static void put_from_hardirq(struct kunit *test)
{
	/* Room to spare: what the consumer took frees slots by the line */
	struct page_pool_params p = { .pool_size = 128, .nid = NUMA_NO_NODE };
	struct ppk_irq_run run = {};
	struct ppk_log log;

	run.pool = ppk_create(test, &p);
	KUNIT_ASSERT_EQ(test, BATCH, ppk_alloc_many(run.pool, ppk_pages, BATCH));
	ppk_put_many(run.pool, ppk_pages + 3, 5);

	/* Once in the life of a kernel, so not when the case is run again */
	if (!ppk_told_hardirq)
		ppk_announce(1, "WARNING: .*page_pool");
	ppk_log_mark(&log);
	run.work = IRQ_WORK_INIT_HARD(ppk_put_in_irq);
	irq_work_queue(&run.work);
	irq_work_sync(&run.work);
	KUNIT_EXPECT_TRUE(test, run.hardirq);
	KUNIT_EXPECT_EQ(test, ppk_told_hardirq ? 0 : 1,
			ppk_log_count(&log, "WARNING:"));
	ppk_told_hardirq = true;

	/* Neither array nor ring was touched */
	ppk_expect_stats(test, run.pool, PPK_TAKEN, .ring = 5, .ring_full = 3);
	KUNIT_EXPECT_EQ(test, ppk_released(run.pool), 3);
	KUNIT_ASSERT_EQ(test, 5, ppk_alloc_many(run.pool, ppk_pages + 3, 5));
	KUNIT_EXPECT_EQ(test, ppk_held(run.pool), BATCH);
	ppk_put_many(run.pool, ppk_pages + 3, BATCH - 3);
	KUNIT_EXPECT_EQ(test, ppk_inflight(run.pool), BATCH - 3);
}

/* --- a consumer that softirqs interrupt --- */

/*
 * A page that is out has a mark in its memory. Whoever gets one that is marked
 * already has got a page that is someone else's.
 */
static bool ppk_mark(struct page *page)
{
	return cmpxchg((unsigned long *)page_address(page), 0UL, 1UL);
}

static void ppk_unmark(struct page *page)
{
	/* Before the page can come round; pairs with the cmpxchg() above */
	smp_store_release((unsigned long *)page_address(page), 0UL);
}

static void ppk_clear(netmem_ref netmem, void *arg)
{
	clear_page(page_address(netmem_to_page(netmem)));
}

struct ppk_timer_run {
	struct hrtimer timer;
	struct page_pool *pool;
	spinlock_t lock;	/* protects the pages that are out */
	struct page *out[256];
	int n, fired, puts;
	bool stop;
};

static enum hrtimer_restart ppk_put_in_softirq(struct hrtimer *timer)
{
	struct ppk_timer_run *run = container_of(timer, struct ppk_timer_run,
						 timer);
	void *data[16];
	int i, n = 0;

	spin_lock(&run->lock);
	while (run->n && n < ARRAY_SIZE(data))
		data[n++] = page_address(run->out[--run->n]);
	spin_unlock(&run->lock);

	for (i = 0; i < n; i++)
		ppk_unmark(virt_to_page(data[i]));
	if (run->fired++ & 1)
		page_pool_put_page_bulk(run->pool, data, n);
	else
		for (i = 0; i < n; i++)
			ppk_ctx_plain(run->pool, virt_to_page(data[i]));
	run->puts += n;

	if (run->stop)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(50 * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

/* As a driver does at open(): bottom halves on, softirqs of the CPU put pages */
static void alloc_in_task_under_softirq_puts(struct kunit *test)
{
	struct page_pool_params p = {
		.pool_size = 128, .nid = NUMA_NO_NODE,
		.init_callback = ppk_clear,
	};
	struct ppk_timer_run *run;
	ktime_t end = ktime_add_ms(ktime_get(), 500);
	int allocs = 0, twice = 0, failed = 0;

	run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	spin_lock_init(&run->lock);
	run->pool = ppk_create(test, &p);
	hrtimer_init(&run->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_SOFT);
	run->timer.function = ppk_put_in_softirq;
	hrtimer_start(&run->timer, ns_to_ktime(50 * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_SOFT);

	while (ktime_before(ktime_get(), end)) {
		struct page *page;

		if (READ_ONCE(run->n) == ARRAY_SIZE(run->out)) {
			/* Softirqs may wait for their thread. */
			cond_resched();
			continue;
		}
		page = page_pool_dev_alloc_pages(run->pool);
		if (!page) {
			failed++;
			continue;
		}
		allocs++;
		twice += ppk_mark(page);
		spin_lock_bh(&run->lock);
		run->out[run->n++] = page;
		spin_unlock_bh(&run->lock);
		if (!(allocs % 1024))
			cond_resched();
	}
	WRITE_ONCE(run->stop, true);
	hrtimer_cancel(&run->timer);
	ppk_put_many(run->pool, run->out, run->n);
	run->puts += run->n;

	KUNIT_EXPECT_EQ(test, twice, 0);
	KUNIT_EXPECT_EQ(test, failed, 0);
	KUNIT_EXPECT_GT(test, run->fired, 10);
	KUNIT_EXPECT_EQ(test, allocs, run->puts);
	if (PPK_STATS) {
		struct ppk_stats s;

		ppk_read(run->pool, &s);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s), allocs);
		KUNIT_EXPECT_EQ(test, ppk_last_puts(&s), allocs);
	}
	ppk_destroy(run->pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(run->pool, PPK_FREE_MS));
	kunit_info(test, "%d pages, %d interruptions\n", allocs, run->fired);
}

/* --- NAPI --- */

/* What it puts has room in the array beside what a refill left there */
#define PPK_POLL_PAGES	(REFILL < 16 ? REFILL : 16)

struct ppk_napi_run {
	struct napi_struct napi;
	struct page_pool *pool;
	struct completion polled;
	int polls, twice, failed, direct;
	int last_cpu;
	bool moved;
	/* Pages for puts from elsewhere */
	spinlock_t lock;	/* protects the pages that are out */
	struct page *out[256];
	int n, given;
};

static int ppk_poll(struct napi_struct *napi, int budget)
{
	struct ppk_napi_run *run = container_of(napi, struct ppk_napi_run, napi);
	struct page *page[PPK_POLL_PAGES];
	int i, n;

	for (n = 0; n < PPK_POLL_PAGES; n++) {
		page[n] = page_pool_dev_alloc_pages(run->pool);
		if (!page[n]) {
			run->failed++;
			break;
		}
		run->twice += ppk_mark(page[n]);
	}
	for (i = 0; i < n; i++) {
		ppk_unmark(page[i]);
		page_pool_put_full_page(run->pool, page[i], false);
	}
	/* And some go out into the world */
	for (i = 0; i < 4; i++) {
		page[0] = page_pool_dev_alloc_pages(run->pool);
		if (!page[0])
			break;
		run->twice += ppk_mark(page[0]);
		spin_lock(&run->lock);
		if (run->n < ARRAY_SIZE(run->out)) {
			run->out[run->n++] = page[0];
			page[0] = NULL;
			run->given++;
		}
		spin_unlock(&run->lock);
		if (page[0]) {
			ppk_unmark(page[0]);
			page_pool_recycle_direct(run->pool, page[0]);
			run->direct++;
			break;
		}
	}

	if (run->polls++ && run->last_cpu != smp_processor_id())
		run->moved = true;
	run->last_cpu = smp_processor_id();
	napi_complete_done(napi, 0);
	complete(&run->polled);
	return 0;
}

/* Puts on every CPU in turn, where the NAPI may be, or may just have been */
static int ppk_napi_putter(void *arg)
{
	struct ppk_napi_run *run = arg;

	while (!kthread_should_stop()) {
		struct page *page = NULL;

		local_bh_disable();
		spin_lock(&run->lock);
		if (run->n)
			page = run->out[--run->n];
		spin_unlock(&run->lock);
		if (page) {
			ppk_unmark(page);
			ppk_ctx_plain(run->pool, page);
		}
		local_bh_enable();
		if (page)
			cond_resched();
		else
			schedule_timeout_interruptible(1);
	}
	return 0;
}

static const struct ppk_napi_case {
	const char *desc;
	bool threaded, migrate, puts;
} ppk_napis[] = {
	{ "softirq", false, false, false },
	{ "threaded", true, false, false },
	{ "threaded, other CPUs put", true, false, true },
	{ "threaded and migrating", true, true, false },
	{ "threaded and migrating, other CPUs put", true, true, true },
};

KUNIT_ARRAY_PARAM_DESC(ppk_napis, ppk_napis, desc);

static void ppk_napi_end(void *arg)
{
	struct ppk_napi_run *run = arg;

	napi_disable(&run->napi);
	netif_napi_del(&run->napi);
}

/* Who runs the NAPI recycles directly, wherever it is, and nobody else does */
static void napi_recycles_directly(struct kunit *test)
{
	const struct ppk_napi_case *c = test->param_value;
	struct page_pool_params p = {
		.pool_size = 512, .nid = NUMA_NO_NODE,
		.init_callback = ppk_clear,
	};
	struct task_struct *putter[4] = {};
	int i, cpu, n = 400, putters = 0;
	struct ppk_napi_run *run;
	struct net_device *dev;
	struct ppk_stats s;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "no direct recycling on PREEMPT_RT");

	dev = ppk_netdev(test);
	run = kunit_kzalloc(test, sizeof(*run), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, run);
	spin_lock_init(&run->lock);
	init_completion(&run->polled);
	netif_napi_add(dev, &run->napi, ppk_poll);
	if (c->threaded) {
		int err;

		rtnl_lock();
		err = dev_set_threaded(dev, true);
		rtnl_unlock();
		KUNIT_ASSERT_EQ(test, err, 0);
	}
	napi_enable(&run->napi);
	kunit_add_action(test, ppk_napi_end, run);
	p.napi = &run->napi;
	/* The consumer's node must not change when it moves: name it */
	p.nid = numa_mem_id();
	run->pool = ppk_create(test, &p);

	if (c->puts)
		for_each_online_cpu(cpu) {
			putter[putters] = kthread_create(ppk_napi_putter, run,
							 "ppk_put/%d", cpu);
			KUNIT_ASSERT_NOT_ERR_OR_NULL(test, putter[putters]);
			kthread_bind(putter[putters], cpu);
			wake_up_process(putter[putters]);
			if (++putters == ARRAY_SIZE(putter))
				break;
		}

	cpu = cpumask_first(cpu_online_mask);
	for (i = 0; i < n; i++) {
		if (c->migrate && i % 5 == 0) {
			cpu = cpumask_next(cpu, cpu_online_mask);
			if (cpu >= nr_cpu_ids)
				cpu = cpumask_first(cpu_online_mask);
			set_cpus_allowed_ptr(run->napi.thread, cpumask_of(cpu));
		}
		local_bh_disable();
		napi_schedule(&run->napi);
		local_bh_enable();
		if (!wait_for_completion_timeout(&run->polled, HZ))
			break;
	}
	for (i = 0; i < putters; i++)
		kthread_stop(putter[i]);
	/* A poll may be over and not yet have left */
	napi_disable(&run->napi);

	KUNIT_EXPECT_EQ(test, run->polls, n);
	KUNIT_EXPECT_EQ(test, run->twice, 0);
	KUNIT_EXPECT_EQ(test, run->failed, 0);
	if (c->migrate && num_online_cpus() > 1)
		KUNIT_EXPECT_TRUE(test, run->moved);
	if (PPK_STATS) {
		u64 full = (u64)run->polls * PPK_POLL_PAGES + run->direct;

		ppk_read(run->pool, &s);
		/* All that the poll put, and not one that another put */
		KUNIT_EXPECT_EQ(test, s.cached, full);
		KUNIT_EXPECT_EQ(test, s.ring, run->given - run->n);
		KUNIT_EXPECT_EQ(test, s.cache_full, 0);
		KUNIT_EXPECT_EQ(test, ppk_handed_out(&s),
				full + run->given);
		kunit_info(test, "cached %llu of %llu, ring %llu\n", s.cached,
			   full, s.ring);
	}
	ppk_put_many(run->pool, run->out, run->n);
	ppk_destroy(run->pool);
	KUNIT_EXPECT_TRUE(test, ppk_gone(run->pool, PPK_FREE_MS));
	napi_enable(&run->napi);
}

static const struct kunit_attributes ppk_slow = { .speed = KUNIT_SPEED_SLOW };

static struct kunit_case ppk_ctx_cases[] = {
	KUNIT_CASE_PARAM(put_leaves_context_alone, ppk_ctxs_gen_params),
	KUNIT_CASE(put_from_hardirq),
	KUNIT_CASE(alloc_in_task_under_softirq_puts),
	KUNIT_CASE_PARAM_ATTR(napi_recycles_directly, ppk_napis_gen_params,
			      ppk_slow),
	{}
};

static struct kunit_suite ppk_ctx_suite = {
	.name = "page_pool_context",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_ctx_cases,
};

kunit_test_suites(&ppk_ctx_suite);
