// SPDX-License-Identifier: GPL-2.0
/*
 * What page pool operations cost
 *
 *	modprobe page_pool_bench loops=10000000
 *	dmesg, or cat /sys/kernel/debug/page_pool_bench
 *
 * Each line of the table is one pattern of use, repeated until "loops" pages
 * have gone round, from a task or from a softirq, and on one CPU but for the
 * last. All lines with pages are there twice, the second time (_dma) with a
 * pool that maps its pages for a device.
 *
 *	for_loop, atomic_inc, lock	the scale: nothing, a locked increment,
 *					an uncontended lock and unlock
 *	no-softirq-page_pool01..03	a page is allocated and put from a task:
 *					twice the same, then put while somebody
 *					else holds a reference, so that it goes
 *					back to the page allocator
 *	tasklet_page_pool01_fast_path	in softirq: to the consumer's array and
 *					back
 *	tasklet_page_pool02_ptr_ring	to the ring and back
 *	tasklet_page_pool03_slow	to the page allocator and back
 *	napi_page_pool			put in a NAPI poll, the pool knowing the
 *					NAPI and the caller not saying so
 *	tasklet_page_pool_bulk*		so many allocated, then put at once
 *	tasklet_page_pool_burst*	so many allocated, then put one by one;
 *					1280 do not fit into the ring
 *	tasklet_page_pool_frag*		a fragment of so many bytes; _64 of them
 *					allocated, then put one by one
 *	page_pool_cross_cpu		one CPU allocates, the returning_cpus
 *					put: a row for each of them and their
 *					average; _alloc is the side of the CPU
 *					that allocates, _total the time that a
 *					page took from start to end
 *
 * A page costs "cycles" and "ns" on average; "least" is the average of the
 * cheapest piece of a few thousand pages, which no interrupt has hit: where
 * the cycle counter counts instructions (QEMU -icount), it is repeatable.
 * "released" is how many pages went back to the page allocator.
 *
 * Only the interface for drivers is used, and the ends of the sections in which
 * pages are staged, where there are any: this file measures other page pools
 * with that interface, too.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/glob.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/string_choices.h>
#include <linux/timex.h>
#include <linux/topology.h>
#include <linux/utsname.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/types.h>

#include "../page_pool_priv.h"

/* What a NAPI poll handles. Softirq lines work in sections of that many. */
#define BENCH_SECTION		64
#define BENCH_BURST_MAX		1280
/* Pages between two looks at the clock and at whether others want the CPU:
 * well below a millisecond.
 */
#define BENCH_CHUNK		4096
#define BENCH_LOOPS_MAX		1000000000UL
/* Sections on their way to a returning CPU */
#define BENCH_QUEUE		4

/* A page pool may park pages per CPU while a softirq handles its packets, as
 * long as it is told where that begins and ends. This is the only difference.
 */
#ifdef PAGE_POOL_HAS_STAGE
#define BENCH_STAGED		", staged"

static __always_inline bool bench_section_begin(void)
{
	page_pool_stage_begin();
	return true;
}

static __always_inline void bench_section_end(bool begun)
{
	if (begun)
		page_pool_stage_end();
}

MODULE_IMPORT_NS(PAGE_POOL_INTERNAL);
#else
#define BENCH_STAGED		""

static __always_inline bool bench_section_begin(void)
{
	return false;
}

static __always_inline void bench_section_end(bool begun)
{
}
#endif

/*
 * Parameters
 */

static unsigned long loops = 1000000;
module_param(loops, ulong, 0644);
MODULE_PARM_DESC(loops, "pages per line of the table (1000000)");

static char *cpus = "";
module_param(cpus, charp, 0644);
MODULE_PARM_DESC(cpus, "CPUs that run the lines, one after the other; the first is the one that allocates in page_pool_cross_cpu (the first online)");

static char *returning_cpus = "";
module_param(returning_cpus, charp, 0644);
MODULE_PARM_DESC(returning_cpus, "CPUs that return pages in page_pool_cross_cpu (one other than that which allocates)");

static char *lines = "*";
module_param(lines, charp, 0644);
MODULE_PARM_DESC(lines, "which lines, names with * and ?, separated by commas (all)");

static bool run = IS_MODULE(CONFIG_PAGE_POOL_BENCH);
module_param(run, bool, 0444);
MODULE_PARM_DESC(run, "run when loaded (yes as a module, no when built in), and not only when debugfs is written to");

/* One line of the table */
struct bench_row {
	char name[48];
	int cpu;		/* or -1 */
	u64 pages;
	u64 cycles;
	u64 ns;
	u64 least_cycles;	/* of the cheapest piece, */
	u64 least_pages;	/* which had so many */
	s64 released;		/* or -1: not known */
	char why[48];		/* it was skipped or failed */
};

/* A run: what it was asked for, and the table */
struct bench_run {
	unsigned long loops;
	char *lines;
	cpumask_var_t cpus;
	cpumask_var_t returning;
	struct device *dev;
	bool killed;		/* by who waits for it */
	unsigned int nr_rows;
	unsigned int max_rows;
	struct bench_row *rows;
};

struct bench;

enum bench_context {
	BENCH_TASK,
	BENCH_TASKLET,
	BENCH_NAPI,
};

/* A line that one CPU runs */
struct bench_line {
	const char *name;
	enum bench_context context;
	bool pool;
	unsigned int batch;	/* pages per round */
	void (*op)(struct bench *b, unsigned int rounds);
};

/* A line while it runs */
struct bench {
	const struct bench_line *line;
	struct bench_run *run;
	struct bench_row *row;
	struct page_pool *pool;
	bool dma;
	int cpu;
	int err;
	unsigned int rounds;		/* of a piece */
	struct completion chunk_done;
	struct completion done;
	struct tasklet_struct tasklet;
	struct net_device *netdev;
	struct napi_struct napi;
	atomic_t counter;
	spinlock_t lock;		/* what it costs, no more */
	union {
		struct page *pages[BENCH_BURST_MAX];
		void *addrs[BENCH_SECTION];
	};
};

/*
 * The lines: what these functions do is what is measured.
 */

static void op_for_loop(struct bench *b, unsigned int rounds)
{
	unsigned int i, n = rounds * BENCH_SECTION;

	for (i = 0; i < n; i++)
		barrier();
}

static void op_atomic_inc(struct bench *b, unsigned int rounds)
{
	unsigned int i, n = rounds * BENCH_SECTION;

	for (i = 0; i < n; i++)
		atomic_inc(&b->counter);
}

static void op_lock(struct bench *b, unsigned int rounds)
{
	unsigned int i, n = rounds * BENCH_SECTION;

	for (i = 0; i < n; i++) {
		spin_lock(&b->lock);
		barrier();
		spin_unlock(&b->lock);
	}
}

enum bench_put {
	BENCH_PUT,		/* the pool finds out who puts */
	BENCH_PUT_DIRECT,	/* the caller is the consumer and says so */
	BENCH_PUT_SHARED,	/* somebody else has a reference */
};

static __always_inline void op_pages(struct bench *b, unsigned int rounds,
				     enum bench_put put, bool softirq,
				     bool marks)
{
	struct page_pool *pool = b->pool;
	bool begun = false;
	struct page *page;
	unsigned int i;

	while (rounds--) {
		if (marks)
			begun = bench_section_begin();
		for (i = 0; i < BENCH_SECTION; i++) {
			page = page_pool_dev_alloc_pages(pool);
			if (unlikely(!page)) {
				b->err = -ENOMEM;
				rounds = 0;
				break;
			}
			switch (put) {
			case BENCH_PUT:
				page_pool_put_full_page(pool, page, false);
				break;
			case BENCH_PUT_DIRECT:
				page_pool_recycle_direct(pool, page);
				break;
			case BENCH_PUT_SHARED:
				get_page(page);
				page_pool_put_full_page(pool, page, softirq);
				put_page(page);
				break;
			}
		}
		if (marks)
			bench_section_end(begun);
	}
}

/* Only BH context may say that it is the consumer, so that the first two
 * lines of a task are the same.
 */
static void op_task_put(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT, false, false);
}

static void op_task_shared(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT_SHARED, false, false);
}

static void op_direct(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT_DIRECT, true, true);
}

static void op_put(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT, true, true);
}

static void op_shared(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT_SHARED, true, true);
}

/* A poll does not set the marks itself: who calls it does. */
static void op_napi(struct bench *b, unsigned int rounds)
{
	op_pages(b, rounds, BENCH_PUT, true, false);
}

static __always_inline void op_bulks(struct bench *b, unsigned int rounds,
				     unsigned int bulk)
{
	struct page_pool *pool = b->pool;
	unsigned int done, n = bulk;
	struct page *page;
	bool begun;

	while (rounds--) {
		begun = bench_section_begin();
		for (done = 0; done < BENCH_SECTION && n == bulk; done += n) {
			for (n = 0; n < bulk; n++) {
				page = page_pool_dev_alloc_pages(pool);
				if (unlikely(!page))
					break;
				b->addrs[n] = page_address(page);
			}
			page_pool_put_page_bulk(pool, b->addrs, n);
		}
		bench_section_end(begun);
		if (unlikely(n < bulk)) {
			b->err = -ENOMEM;
			return;
		}
	}
}

static void op_bulk16(struct bench *b, unsigned int rounds)
{
	op_bulks(b, rounds, 16);
}

static void op_bulk64(struct bench *b, unsigned int rounds)
{
	op_bulks(b, rounds, 64);
}

/* Put what was gathered, as many polls would: a section at a time. */
static __always_inline void op_put_gathered(struct bench *b, unsigned int n)
{
	struct page_pool *pool = b->pool;
	unsigned int i = 0, end;
	bool begun;

	while (i < n) {
		end = min(n, i + BENCH_SECTION);
		begun = bench_section_begin();
		for (; i < end; i++)
			page_pool_put_full_page(pool, b->pages[i], false);
		bench_section_end(begun);
	}
}

static __always_inline void op_bursts(struct bench *b, unsigned int rounds,
				      unsigned int burst)
{
	struct page_pool *pool = b->pool;
	struct page *page;
	unsigned int n;

	while (rounds--) {
		for (n = 0; n < burst; n++) {
			page = page_pool_dev_alloc_pages(pool);
			if (unlikely(!page)) {
				b->err = -ENOMEM;
				rounds = 0;
				break;
			}
			b->pages[n] = page;
		}
		op_put_gathered(b, n);
	}
}

static void op_burst64(struct bench *b, unsigned int rounds)
{
	op_bursts(b, rounds, 64);
}

static void op_burst640(struct bench *b, unsigned int rounds)
{
	op_bursts(b, rounds, 640);
}

static void op_burst1280(struct bench *b, unsigned int rounds)
{
	op_bursts(b, rounds, 1280);
}

static __always_inline void op_frags(struct bench *b, unsigned int rounds,
				     unsigned int size, bool alone)
{
	struct page_pool *pool = b->pool;
	unsigned int n, offset;
	bool begun = false;
	struct page *page;

	while (rounds--) {
		if (alone)
			begun = bench_section_begin();
		for (n = 0; n < BENCH_SECTION; n++) {
			page = page_pool_dev_alloc_frag(pool, &offset, size);
			if (unlikely(!page)) {
				b->err = -ENOMEM;
				rounds = 0;
				break;
			}
			if (alone)
				page_pool_put_full_page(pool, page, false);
			else
				b->pages[n] = page;
		}
		if (alone)
			bench_section_end(begun);
		else
			op_put_gathered(b, n);
	}
}

static void op_frag1024(struct bench *b, unsigned int rounds)
{
	op_frags(b, rounds, 1024, true);
}

static void op_frag1024_64(struct bench *b, unsigned int rounds)
{
	op_frags(b, rounds, 1024, false);
}

static void op_frag2048(struct bench *b, unsigned int rounds)
{
	op_frags(b, rounds, 2048, true);
}

static void op_frag2048_64(struct bench *b, unsigned int rounds)
{
	op_frags(b, rounds, 2048, false);
}

static const struct bench_line bench_lines[] = {
	{ "for_loop", BENCH_TASK, false, BENCH_SECTION, op_for_loop },
	{ "atomic_inc", BENCH_TASK, false, BENCH_SECTION, op_atomic_inc },
	{ "lock", BENCH_TASK, false, BENCH_SECTION, op_lock },
	{ "no-softirq-page_pool01", BENCH_TASK, true, BENCH_SECTION,
	  op_task_put },
	{ "no-softirq-page_pool02", BENCH_TASK, true, BENCH_SECTION,
	  op_task_put },
	{ "no-softirq-page_pool03", BENCH_TASK, true, BENCH_SECTION,
	  op_task_shared },
	{ "tasklet_page_pool01_fast_path", BENCH_TASKLET, true, BENCH_SECTION,
	  op_direct },
	{ "tasklet_page_pool02_ptr_ring", BENCH_TASKLET, true, BENCH_SECTION,
	  op_put },
	{ "tasklet_page_pool03_slow", BENCH_TASKLET, true, BENCH_SECTION,
	  op_shared },
	{ "napi_page_pool", BENCH_NAPI, true, BENCH_SECTION, op_napi },
	{ "tasklet_page_pool_bulk16", BENCH_TASKLET, true, BENCH_SECTION,
	  op_bulk16 },
	{ "tasklet_page_pool_bulk64", BENCH_TASKLET, true, BENCH_SECTION,
	  op_bulk64 },
	{ "tasklet_page_pool_burst64", BENCH_TASKLET, true, 64, op_burst64 },
	{ "tasklet_page_pool_burst640", BENCH_TASKLET, true, 640, op_burst640 },
	{ "tasklet_page_pool_burst1280", BENCH_TASKLET, true, 1280,
	  op_burst1280 },
	{ "tasklet_page_pool_frag1024", BENCH_TASKLET, true, BENCH_SECTION,
	  op_frag1024 },
	{ "tasklet_page_pool_frag1024_64", BENCH_TASKLET, true, BENCH_SECTION,
	  op_frag1024_64 },
	{ "tasklet_page_pool_frag2048", BENCH_TASKLET, true, BENCH_SECTION,
	  op_frag2048 },
	{ "tasklet_page_pool_frag2048_64", BENCH_TASKLET, true, BENCH_SECTION,
	  op_frag2048_64 },
};

#define BENCH_CROSS	"page_pool_cross_cpu"

/*
 * Pools and the table
 */

static struct page_pool *bench_pool(struct bench_run *r, bool dma,
				    struct napi_struct *napi)
{
	struct page_pool_params params = {
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
		.napi = napi,
	};

	if (dma) {
		params.dev = r->dev;
		params.flags = PP_FLAG_DMA_MAP;
	}

	return page_pool_create(&params);
}

/* Pages that have gone back to the page allocator so far: exact, while the
 * counter of the slow path counts a batch that it has brought in as one.
 */
static s64 bench_released(struct page_pool *pool)
{
#ifdef CONFIG_PAGE_POOL_STATS
	struct page_pool_stats stats = {};

	if (pool && page_pool_get_stats(pool, &stats))
		return stats.recycle_stats.ring_full +
		       stats.recycle_stats.released_refcnt;
#endif
	return -1;
}

static void bench_released_since(struct bench_row *row, struct page_pool *pool,
				 s64 before)
{
	row->released = before < 0 ? -1 : bench_released(pool) - before;
}

static void bench_account(struct bench_row *row, u64 pages, u64 cycles)
{
	row->pages += pages;
	row->cycles += cycles;
	if (!row->least_pages || cycles < row->least_cycles) {
		row->least_cycles = cycles;
		row->least_pages = pages;
	}
}

/* "12.34", or "-" where there is nothing to divide */
static const char *bench_per_page(char *buf, size_t size, u64 sum, u64 pages)
{
	u64 hundredths;
	u32 rest;

	if (!pages || !sum)
		return "-";

	hundredths = div64_u64(100 * sum + pages / 2, pages);
	hundredths = div_u64_rem(hundredths, 100, &rest);
	snprintf(buf, size, "%llu.%02u", hundredths, rest);

	return buf;
}

static const char *bench_number(char *buf, size_t size, s64 number)
{
	if (number < 0)
		return "-";
	snprintf(buf, size, "%lld", number);

	return buf;
}

/* Room for a row, whatever its numbers are */
#define BENCH_TEXT	256
#define BENCH_HEAD	"%-36s %4s %11s %10s %10s %10s %9s"

static void bench_show_row(const struct bench_row *row, char *buf, size_t size)
{
	char cpu[12], pages[24], cycles[28], ns[28], least[28], released[24];

	if (row->why[0]) {
		snprintf(buf, size, "%-36s %4s %s", row->name,
			 bench_number(cpu, sizeof(cpu), row->cpu), row->why);
		return;
	}

	snprintf(buf, size, BENCH_HEAD, row->name,
		 bench_number(cpu, sizeof(cpu), row->cpu),
		 bench_number(pages, sizeof(pages), row->pages),
		 bench_per_page(cycles, sizeof(cycles), row->cycles,
				row->pages),
		 bench_per_page(ns, sizeof(ns), row->ns, row->pages),
		 bench_per_page(least, sizeof(least), row->least_cycles,
				row->least_pages),
		 bench_number(released, sizeof(released), row->released));
}

static struct bench_row *bench_new_row(struct bench_run *r, const char *name,
				       bool dma, int cpu)
{
	struct bench_row *row;

	if (WARN_ON_ONCE(r->nr_rows == r->max_rows))
		return NULL;

	row = &r->rows[r->nr_rows++];
	snprintf(row->name, sizeof(row->name), "%s%s", name, dma ? "_dma" : "");
	row->cpu = cpu;
	row->released = -1;

	return row;
}

static void bench_say(const struct bench_row *row)
{
	char text[BENCH_TEXT];

	bench_show_row(row, text, sizeof(text));
	pr_info("%s\n", text);
}

/*
 * One CPU
 */

static void bench_chunk(struct bench *b)
{
	cycles_t begin, end;
	u64 ns;

	ns = ktime_get_ns();
	begin = get_cycles();
	b->line->op(b, b->rounds);
	end = get_cycles();
	ns = ktime_get_ns() - ns;

	bench_account(b->row, (u64)b->rounds * b->line->batch,
		      (cycles_t)(end - begin));
	b->row->ns += ns;
}

static void bench_tasklet(struct tasklet_struct *t)
{
	struct bench *b = from_tasklet(b, t, tasklet);

	bench_chunk(b);
	complete(&b->chunk_done);
}

static int bench_poll(struct napi_struct *napi, int budget)
{
	struct bench *b = container_of(napi, struct bench, napi);

	bench_chunk(b);
	napi_complete_done(napi, 0);
	complete(&b->chunk_done);

	return 0;
}

/* One piece, in the context that the line asks for */
static void bench_do_chunk(struct bench *b)
{
	if (b->line->context == BENCH_TASK) {
		bench_chunk(b);
		return;
	}

	/* The softirq runs at the latest when BH go on again, here. */
	local_bh_disable();
	if (b->line->context == BENCH_NAPI)
		napi_schedule(&b->napi);
	else
		tasklet_schedule(&b->tasklet);
	local_bh_enable();
	wait_for_completion(&b->chunk_done);
}

static int bench_do_line(struct bench *b)
{
	const struct bench_line *line = b->line;
	struct bench_row *row = b->row;
	u64 rounds, chunks;
	s64 released;

	rounds = DIV_ROUND_UP(b->run->loops, line->batch);
	b->rounds = min_t(u64, rounds, BENCH_CHUNK / line->batch);
	chunks = DIV_ROUND_UP_ULL(rounds, b->rounds);

	/* The first piece finds caches and pool empty. */
	bench_do_chunk(b);
	row->pages = 0;
	row->cycles = 0;
	row->ns = 0;
	row->least_pages = 0;
	released = bench_released(b->pool);

	while (chunks-- && !b->err) {
		bench_do_chunk(b);
		if (READ_ONCE(b->run->killed))
			return -EINTR;
		if (raw_smp_processor_id() != b->cpu)
			return -ENODEV;
		cond_resched_tasks_rcu_qs();
	}

	bench_released_since(row, b->pool, released);

	return b->err;
}

static int bench_open_napi(struct bench *b)
{
	b->netdev = alloc_netdev_dummy(0);
	if (!b->netdev)
		return -ENOMEM;

	netif_napi_add(b->netdev, &b->napi, bench_poll);
	napi_enable(&b->napi);

	return 0;
}

static void bench_close_napi(struct bench *b)
{
	netif_napi_del(&b->napi);
	free_netdev(b->netdev);
}

static int bench_line_thread(void *arg)
{
	struct bench *b = arg;
	bool napi = b->line->context == BENCH_NAPI;
	int err;

	if (napi) {
		err = bench_open_napi(b);
		if (err)
			goto out;
	}

	if (b->line->pool) {
		b->pool = bench_pool(b->run, b->dma, napi ? &b->napi : NULL);
		if (IS_ERR(b->pool)) {
			err = PTR_ERR(b->pool);
			b->pool = NULL;
			goto out_napi;
		}
	}

	tasklet_setup(&b->tasklet, bench_tasklet);
	err = bench_do_line(b);
	tasklet_kill(&b->tasklet);

out_napi:
	/* Before the pool goes, which has a pointer to it. */
	if (napi)
		napi_disable(&b->napi);
	page_pool_destroy(b->pool);
	if (napi)
		bench_close_napi(b);
out:
	b->err = err;
	complete(&b->done);

	return 0;
}

static struct task_struct *bench_thread(int (*fn)(void *), void *arg, int cpu)
{
	struct task_struct *task;

	task = kthread_create_on_node(fn, arg, cpu_to_node(cpu),
				      "page_pool_bench/%d", cpu);
	if (!IS_ERR(task)) {
		/* It ends by itself, and may have when it is stopped. */
		get_task_struct(task);
		kthread_bind(task, cpu);
	}

	return task;
}

static void bench_join(struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
}

/* A user who has seen enough does not wait for the end. */
static void bench_wait(struct bench_run *r, struct completion *done)
{
	if (!wait_for_completion_killable(done))
		return;

	WRITE_ONCE(r->killed, true);
	wait_for_completion(done);
}

static int bench_one_line(struct bench_run *r, const struct bench_line *line,
			  bool dma, int cpu)
{
	struct task_struct *task;
	struct bench_row *row;
	struct bench *b;
	int err;

	row = bench_new_row(r, line->name, dma, cpu);
	if (!row)
		return -ENOSPC;

	b = kzalloc_node(sizeof(*b), GFP_KERNEL, cpu_to_node(cpu));
	if (!b) {
		err = -ENOMEM;
		goto out;
	}

	b->line = line;
	b->run = r;
	b->row = row;
	b->dma = dma;
	b->cpu = cpu;
	init_completion(&b->chunk_done);
	init_completion(&b->done);
	spin_lock_init(&b->lock);

	task = bench_thread(bench_line_thread, b, cpu);
	if (IS_ERR(task)) {
		err = PTR_ERR(task);
		goto out_free;
	}
	wake_up_process(task);
	bench_wait(r, &b->done);
	bench_join(task);
	err = b->err;

out_free:
	kfree(b);
out:
	if (err)
		snprintf(row->why, sizeof(row->why), "failed: error %d", err);
	bench_say(row);

	return err;
}

/*
 * Several CPUs. The one that allocates hands sections of pages over through a
 * queue to each of the others, which is why that costs next to nothing per
 * page. It ends by itself, always; the others end when it has and their queue
 * is empty. So all pages come home, whatever happens.
 */

struct bench_cross;

struct bench_side {
	struct bench_cross *x;
	struct task_struct *task;
	struct bench_row row;
	int cpu;
	int err;

	/* Sections put in and taken out, ever */
	unsigned int in ____cacheline_aligned_in_smp;
	unsigned int out ____cacheline_aligned_in_smp;
	struct page *queue[BENCH_QUEUE][BENCH_SECTION]
		____cacheline_aligned_in_smp;
};

struct bench_cross {
	struct bench_run *run;
	struct page_pool *pool;
	unsigned int nr;		/* that return */
	struct bench_side *alloc;
	struct bench_side **ret;
	struct bench_row total;
	atomic_t ready;
	atomic_t running;
	struct completion done;
	bool finished;
};

/* Spins, for that is what costs least, but lets others run. */
#define bench_spin_until(cond)						\
do {									\
	unsigned int __spins = 0;					\
									\
	while (!(cond)) {						\
		cpu_relax();						\
		if (!(++__spins % 64))					\
			cond_resched_tasks_rcu_qs();			\
	}								\
} while (0)

static void bench_side_done(struct bench_side *s)
{
	if (raw_smp_processor_id() != s->cpu && !s->err)
		s->err = -ENODEV;
	if (atomic_dec_and_test(&s->x->running))
		complete(&s->x->done);
}

static bool bench_finished(struct bench_cross *x)
{
	/* Pairs with smp_store_release() in bench_alloc_thread(). */
	return smp_load_acquire(&x->finished);
}

static bool bench_has_section(struct bench_side *s, unsigned int out)
{
	/* Pairs with smp_store_release() in bench_hand_over(): the pages have
	 * been written.
	 */
	return smp_load_acquire(&s->in) != out;
}

static unsigned int bench_taken(struct bench_side *s)
{
	/* Pairs with smp_store_release() in bench_return_thread(): the pages
	 * have been read, put and accounted.
	 */
	return smp_load_acquire(&s->out);
}

static int bench_return_thread(void *arg)
{
	struct bench_side *s = arg;
	struct bench_cross *x = s->x;
	struct page_pool *pool = x->pool;
	cycles_t begin, end;
	struct page **pages;
	unsigned int i, out;
	bool last, begun;
	u64 ns;

	atomic_inc(&x->ready);

	for (out = 0; ; out++) {
		/* In that order: what was put in before the end is seen. */
		bench_spin_until((last = bench_finished(x)) ||
				 bench_has_section(s, out));
		if (last && !bench_has_section(s, out))
			break;

		pages = s->queue[out % BENCH_QUEUE];
		local_bh_disable();
		ns = ktime_get_ns();
		begin = get_cycles();
		begun = bench_section_begin();
		for (i = 0; i < BENCH_SECTION && pages[i]; i++)
			page_pool_put_full_page(pool, pages[i], false);
		bench_section_end(begun);
		end = get_cycles();
		s->row.ns += ktime_get_ns() - ns;
		local_bh_enable();

		if (i)
			bench_account(&s->row, i, (cycles_t)(end - begin));
		/* Pairs with smp_load_acquire() in bench_taken(). */
		smp_store_release(&s->out, out + 1);
		cond_resched_tasks_rcu_qs();
	}

	bench_side_done(s);

	return 0;
}

/* Allocate a section and hand it to a returning CPU. */
static int bench_hand_over(struct bench_cross *x, struct bench_side *to)
{
	struct bench_side *s = x->alloc;
	struct page_pool *pool = x->pool;
	cycles_t begin, end;
	struct page **pages;
	unsigned int i;
	bool begun;
	u64 ns;

	bench_spin_until(to->in - bench_taken(to) < BENCH_QUEUE);

	pages = to->queue[to->in % BENCH_QUEUE];
	local_bh_disable();
	ns = ktime_get_ns();
	begin = get_cycles();
	begun = bench_section_begin();
	for (i = 0; i < BENCH_SECTION; i++) {
		pages[i] = page_pool_dev_alloc_pages(pool);
		if (unlikely(!pages[i]))
			break;
	}
	bench_section_end(begun);
	end = get_cycles();
	s->row.ns += ktime_get_ns() - ns;
	local_bh_enable();

	if (i)
		bench_account(&s->row, i, (cycles_t)(end - begin));
	/* Pairs with smp_load_acquire() in bench_has_section(). */
	smp_store_release(&to->in, to->in + 1);

	return i == BENCH_SECTION ? 0 : -ENOMEM;
}

/* Have all pages come home? */
static bool bench_cross_idle(struct bench_cross *x)
{
	unsigned int i;

	for (i = 0; i < x->nr; i++)
		if (bench_taken(x->ret[i]) != x->ret[i]->in)
			return false;

	return true;
}

static int bench_hand_over_many(struct bench_cross *x, u64 sections)
{
	unsigned int to = 0;
	int err;

	while (sections--) {
		err = bench_hand_over(x, x->ret[to]);
		if (err)
			return err;
		if (++to == x->nr)
			to = 0;
		if (READ_ONCE(x->run->killed))
			return -EINTR;
		cond_resched_tasks_rcu_qs();
	}
	bench_spin_until(bench_cross_idle(x));

	return 0;
}

static int bench_alloc_thread(void *arg)
{
	struct bench_side *s = arg;
	struct bench_cross *x = s->x;
	u64 sections = DIV_ROUND_UP(x->run->loops, BENCH_SECTION);
	cycles_t begin, end;
	unsigned int i;
	s64 released;
	u64 ns;

	bench_spin_until(atomic_read(&x->ready) == x->nr);

	/* Fill the pool. The others wait for more, so their rows are free. */
	s->err = bench_hand_over_many(x, 2ULL * BENCH_QUEUE * x->nr);
	for (i = 0; i < x->nr && !s->err; i++)
		memset(&x->ret[i]->row, 0, sizeof(x->ret[i]->row));
	memset(&s->row, 0, sizeof(s->row));
	released = bench_released(x->pool);

	ns = ktime_get_ns();
	begin = get_cycles();
	if (!s->err)
		s->err = bench_hand_over_many(x, sections);
	end = get_cycles();
	x->total.ns = ktime_get_ns() - ns;
	x->total.cycles = (cycles_t)(end - begin);
	x->total.pages = s->row.pages;
	bench_released_since(&x->total, x->pool, released);

	/* Pairs with smp_load_acquire() in bench_finished(). */
	smp_store_release(&x->finished, true);
	bench_side_done(s);

	return 0;
}

static struct bench_side *bench_new_side(struct bench_cross *x, int cpu,
					 int (*fn)(void *))
{
	struct bench_side *s;

	s = kzalloc_node(sizeof(*s), GFP_KERNEL, cpu_to_node(cpu));
	if (!s)
		return ERR_PTR(-ENOMEM);

	s->x = x;
	s->cpu = cpu;
	s->task = bench_thread(fn, s, cpu);
	if (IS_ERR(s->task)) {
		int err = PTR_ERR(s->task);

		kfree(s);
		return ERR_PTR(err);
	}

	return s;
}

static void bench_free_side(struct bench_side *s)
{
	if (IS_ERR_OR_NULL(s))
		return;
	bench_join(s->task);
	kfree(s);
}

static void bench_cross_row(struct bench_run *r, const struct bench_row *from,
			    const char *name, bool dma, int cpu)
{
	struct bench_row *row = bench_new_row(r, name, dma, cpu);

	if (!row)
		return;

	row->pages = from->pages;
	row->cycles = from->cycles;
	row->ns = from->ns;
	row->least_cycles = from->least_cycles;
	row->least_pages = from->least_pages;
	row->released = from->released;
	bench_say(row);
}

static void bench_cross_rows(struct bench_cross *x, bool dma)
{
	struct bench_run *r = x->run;
	struct bench_row sum = { .released = -1 };
	unsigned int i;

	x->alloc->row.released = -1;
	bench_cross_row(r, &x->alloc->row, BENCH_CROSS "_alloc", dma,
			x->alloc->cpu);
	for (i = 0; i < x->nr; i++) {
		struct bench_row *row = &x->ret[i]->row;

		row->released = -1;
		bench_cross_row(r, row, BENCH_CROSS, dma, x->ret[i]->cpu);
		sum.pages += row->pages;
		sum.cycles += row->cycles;
		sum.ns += row->ns;
	}
	bench_cross_row(r, &sum, BENCH_CROSS "_average", dma, -1);
	bench_cross_row(r, &x->total, BENCH_CROSS "_total", dma, -1);
}

static void bench_cross_start(struct bench_cross *x)
{
	unsigned int i;

	atomic_set(&x->running, x->nr + 1);
	for (i = 0; i < x->nr; i++)
		wake_up_process(x->ret[i]->task);
	wake_up_process(x->alloc->task);
}

static int bench_cross(struct bench_run *r, bool dma)
{
	int cpu, err = 0, alloc = cpumask_first(r->cpus);
	struct bench_row *row;
	struct bench_cross *x;
	unsigned int i = 0;

	x = kzalloc(sizeof(*x), GFP_KERNEL);
	if (!x)
		return -ENOMEM;

	x->run = r;
	x->nr = cpumask_weight(r->returning);
	init_completion(&x->done);
	x->ret = kcalloc(x->nr, sizeof(*x->ret), GFP_KERNEL);
	if (!x->ret) {
		err = -ENOMEM;
		goto out;
	}

	x->pool = bench_pool(r, dma, NULL);
	if (IS_ERR(x->pool)) {
		err = PTR_ERR(x->pool);
		x->pool = NULL;
		goto out;
	}

	/* None of them runs before all of them are there. */
	x->alloc = bench_new_side(x, alloc, bench_alloc_thread);
	if (IS_ERR(x->alloc)) {
		err = PTR_ERR(x->alloc);
		goto out;
	}
	for_each_cpu(cpu, r->returning) {
		x->ret[i] = bench_new_side(x, cpu, bench_return_thread);
		if (IS_ERR(x->ret[i])) {
			err = PTR_ERR(x->ret[i]);
			goto out;
		}
		i++;
	}

	bench_cross_start(x);
	bench_wait(r, &x->done);

	err = x->alloc->err;
	for (i = 0; i < x->nr && !err; i++)
		err = x->ret[i]->err;
	if (!err)
		bench_cross_rows(x, dma);
out:
	bench_free_side(x->alloc);
	for (i = 0; x->ret && i < x->nr; i++)
		bench_free_side(x->ret[i]);
	page_pool_destroy(x->pool);
	kfree(x->ret);
	kfree(x);

	if (err) {
		row = bench_new_row(r, BENCH_CROSS, dma, alloc);
		if (row) {
			snprintf(row->why, sizeof(row->why),
				 "failed: error %d", err);
			bench_say(row);
		}
	}

	return err;
}

static void bench_cross_skip(struct bench_run *r, bool dma)
{
	struct bench_row *row = bench_new_row(r, BENCH_CROSS, dma, -1);

	if (!row)
		return;
	strscpy(row->why, "skipped: needs a second CPU online");
	bench_say(row);
}

/*
 * A run
 */

static DEFINE_MUTEX(bench_mutex);	/* one run at a time */
static DEFINE_MUTEX(bench_table_mutex);	/* protects bench_table */
static struct bench_run *bench_table;	/* the last run that ended */
static struct dentry *bench_file;

/* Is a line asked for? Patterns that match it are noted by their first letter,
 * so that those which match none can be told.
 */
static bool bench_wanted(const char *patterns, const char *name, bool dma,
			 unsigned long *used)
{
	char full[48], *copy, *rest, *pattern;
	bool wanted = false;
	unsigned int nr = 0;

	copy = kstrdup(patterns, GFP_KERNEL);
	if (!copy)
		return false;

	snprintf(full, sizeof(full), "%s%s", name, dma ? "_dma" : "");
	rest = strim(copy);
	while ((pattern = strsep(&rest, ",\n "))) {
		if (!*pattern)
			continue;
		if (glob_match(pattern, full)) {
			wanted = true;
			if (used && nr < BITS_PER_LONG)
				__set_bit(nr, used);
		}
		nr++;
	}
	kfree(copy);

	return wanted;
}

static int bench_check_lines(const char *patterns)
{
	char *copy, *rest, *pattern;
	unsigned long used = 0;
	unsigned int i, nr = 0;
	int err = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(bench_lines); i++) {
		const struct bench_line *line = &bench_lines[i / 2];

		if (!(i % 2) || line->pool)
			bench_wanted(patterns, line->name, i % 2, &used);
	}
	bench_wanted(patterns, BENCH_CROSS, false, &used);
	bench_wanted(patterns, BENCH_CROSS, true, &used);

	copy = kstrdup(patterns, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = strim(copy);
	while ((pattern = strsep(&rest, ",\n ")) && !err) {
		if (!*pattern)
			continue;
		if (nr < BITS_PER_LONG && !test_bit(nr, &used)) {
			pr_err("lines: no line is called %s\n", pattern);
			err = -EINVAL;
		}
		nr++;
	}
	if (!nr) {
		pr_err("lines: none is named\n");
		err = -EINVAL;
	}
	kfree(copy);

	return err;
}

static int bench_parse_cpus(const char *name, const char *text,
			    struct cpumask *mask)
{
	unsigned int cpu;

	if (cpulist_parse(text, mask)) {
		pr_err("%s=%s is not a list of CPUs such as 1,4-7\n", name,
		       text);
		return -EINVAL;
	}
	for_each_cpu(cpu, mask) {
		if (!cpu_online(cpu)) {
			pr_err("%s=%s: CPU %u is not online\n", name, text,
			       cpu);
			return -EINVAL;
		}
	}

	return 0;
}

static void bench_free_run(struct bench_run *r)
{
	if (!r)
		return;
	kvfree(r->rows);
	free_cpumask_var(r->returning);
	free_cpumask_var(r->cpus);
	kfree(r->lines);
	kfree(r);
}

static int bench_parse(struct bench_run *r, const char *cpu_list,
		       const char *returning_list)
{
	unsigned int alloc, other;
	int err;

	if (!r->loops || r->loops > BENCH_LOOPS_MAX) {
		pr_err("loops=%lu is not from 1 to %lu\n", r->loops,
		       BENCH_LOOPS_MAX);
		return -EINVAL;
	}

	err = bench_check_lines(r->lines);
	if (err)
		return err;

	err = bench_parse_cpus("cpus", cpu_list, r->cpus);
	if (err)
		return err;
	if (cpumask_empty(r->cpus))
		cpumask_set_cpu(cpumask_first(cpu_online_mask), r->cpus);

	err = bench_parse_cpus("returning_cpus", returning_list, r->returning);
	if (err)
		return err;
	alloc = cpumask_first(r->cpus);
	if (cpumask_test_cpu(alloc, r->returning)) {
		pr_err("returning_cpus=%s: CPU %u is the one that allocates\n",
		       returning_list, alloc);
		return -EINVAL;
	}
	if (cpumask_empty(r->returning)) {
		other = cpumask_any_but(cpu_online_mask, alloc);
		if (other < nr_cpu_ids)
			cpumask_set_cpu(other, r->returning);
	}

	return 0;
}

/* Take the parameters as they are now. */
static struct bench_run *bench_new_run(void)
{
	char *cpu_list, *returning_list;
	struct bench_run *r;
	int err = -ENOMEM;

	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return ERR_PTR(-ENOMEM);

	kernel_param_lock(THIS_MODULE);
	r->loops = loops;
	r->lines = kstrdup(lines, GFP_KERNEL);
	cpu_list = kstrdup(cpus, GFP_KERNEL);
	returning_list = kstrdup(returning_cpus, GFP_KERNEL);
	kernel_param_unlock(THIS_MODULE);
	if (!zalloc_cpumask_var(&r->cpus, GFP_KERNEL) ||
	    !zalloc_cpumask_var(&r->returning, GFP_KERNEL) ||
	    !r->lines || !cpu_list || !returning_list)
		goto out;

	err = bench_parse(r, strim(cpu_list), strim(returning_list));
	if (err)
		goto out;

	r->max_rows = 2 * (ARRAY_SIZE(bench_lines) * cpumask_weight(r->cpus) +
			   cpumask_weight(r->returning) + 3);
	r->rows = kvcalloc(r->max_rows, sizeof(*r->rows), GFP_KERNEL);
	if (!r->rows)
		err = -ENOMEM;
out:
	kfree(returning_list);
	kfree(cpu_list);
	if (err) {
		bench_free_run(r);
		return ERR_PTR(err);
	}

	return r;
}

static void bench_show_head(const struct bench_run *r, char *what, char *head,
			    size_t size)
{
	snprintf(what, size,
		 "# Linux %s, %lu pages per line, statistics %s" BENCH_STAGED,
		 init_utsname()->release, r->loops,
		 str_on_off(IS_ENABLED(CONFIG_PAGE_POOL_STATS)));
	snprintf(head, size, BENCH_HEAD, "# line", "CPU", "pages", "cycles",
		 "ns", "least", "released");
}

/* A line that fails ends the run: what comes after it would not be trusted. */
static int bench_all_lines(struct bench_run *r)
{
	unsigned int i;
	int cpu, err;

	for_each_cpu(cpu, r->cpus) {
		for (i = 0; i < 2 * ARRAY_SIZE(bench_lines); i++) {
			const struct bench_line *line = &bench_lines[i / 2];
			bool dma = i % 2;

			if ((dma && !line->pool) ||
			    !bench_wanted(r->lines, line->name, dma, NULL))
				continue;
			err = bench_one_line(r, line, dma, cpu);
			if (err)
				return err;
		}
	}

	for (i = 0; i < 2; i++) {
		if (!bench_wanted(r->lines, BENCH_CROSS, i, NULL))
			continue;
		if (cpumask_empty(r->returning)) {
			bench_cross_skip(r, i);
			continue;
		}
		err = bench_cross(r, i);
		if (err)
			return err;
	}

	return 0;
}

/* A device that can reach all memory and does nothing */
static struct platform_device *bench_new_device(void)
{
	struct platform_device *pdev;
	int err;

	pdev = platform_device_register_simple(KBUILD_MODNAME,
					       PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev))
		return pdev;

	err = dma_coerce_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err) {
		platform_device_unregister(pdev);
		return ERR_PTR(err);
	}

	return pdev;
}

static int bench_run(void)
{
	struct platform_device *pdev;
	char what[BENCH_TEXT], head[BENCH_TEXT];
	struct bench_run *r;
	int err;

	if (!mutex_trylock(&bench_mutex))
		return -EBUSY;

	r = bench_new_run();
	if (IS_ERR(r)) {
		err = PTR_ERR(r);
		goto out;
	}

	pdev = bench_new_device();
	if (IS_ERR(pdev)) {
		err = PTR_ERR(pdev);
		pr_err("no device to map pages for, error %d\n", err);
		bench_free_run(r);
		goto out;
	}
	r->dev = &pdev->dev;

	bench_show_head(r, what, head, sizeof(what));
	pr_info("%s\n", what);
	pr_info("%s\n", head);
	err = bench_all_lines(r);
	platform_device_unregister(pdev);
	r->dev = NULL;

	mutex_lock(&bench_table_mutex);
	swap(bench_table, r);
	mutex_unlock(&bench_table_mutex);
	bench_free_run(r);
out:
	mutex_unlock(&bench_mutex);

	return err;
}

static int page_pool_bench_show(struct seq_file *m, void *v)
{
	char what[BENCH_TEXT], head[BENCH_TEXT];
	unsigned int i;

	mutex_lock(&bench_table_mutex);
	if (bench_table) {
		bench_show_head(bench_table, what, head, sizeof(what));
		seq_printf(m, "%s\n%s\n", what, head);
		for (i = 0; i < bench_table->nr_rows; i++) {
			bench_show_row(&bench_table->rows[i], what,
				       sizeof(what));
			seq_printf(m, "%s\n", what);
		}
	}
	mutex_unlock(&bench_table_mutex);

	return 0;
}

/* Whatever is written starts a run, which has ended when this returns. */
static ssize_t page_pool_bench_write(struct file *file, const char __user *buf,
				     size_t count, loff_t *ppos)
{
	int err = bench_run();

	return err ?: count;
}

DEFINE_SHOW_STORE_ATTRIBUTE(page_pool_bench);

static int __init page_pool_bench_init(void)
{
	int err;

	if (run) {
		err = bench_run();
		if (err) {
			bench_free_run(bench_table);
			return err;
		}
	}

	bench_file = debugfs_create_file(KBUILD_MODNAME, 0600, NULL, NULL,
					 &page_pool_bench_fops);

	return 0;
}
late_initcall(page_pool_bench_init);

static void __exit page_pool_bench_exit(void)
{
	/* Waits for whoever reads or writes it. */
	debugfs_remove(bench_file);
	bench_free_run(bench_table);
}
module_exit(page_pool_bench_exit);

MODULE_DESCRIPTION("Benchmark of the page pool");
MODULE_LICENSE("GPL");
