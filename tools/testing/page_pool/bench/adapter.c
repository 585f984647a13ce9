// SPDX-License-Identifier: GPL-2.0
/*
 * A driver as a benchmark: compiled with the headers of one tree, so that its
 * inline functions are those of the page pool in the same object, and calling
 * the rest of it out of line and directly.
 *
 * In BH context pages are worked on in sections of 64, as many as a NAPI poll
 * has, between the marks that a kernel has around such a section (HAVE_STAGE).
 */
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>

#include "page_pool_priv.h"
#include "env.h"

/* page_pool_user.c, for both trees: no device, no netlink */
int page_pool_list(struct page_pool *pool)
{
	return 0;
}

void page_pool_detached(struct page_pool *pool)
{
}

void page_pool_unlist(struct page_pool *pool)
{
}

#ifdef HAVE_UNLINK_NAPI
void page_pool_unlink_napi(struct page_pool *pool)
{
	WRITE_ONCE(pool->p.napi, NULL);
}
#endif

#ifdef HAVE_STAGE
#define section_begin()		page_pool_stage_begin()
#define section_end()		page_pool_stage_end()
#else
#define section_begin()		do { } while (0)
#define section_end()		do { } while (0)
#endif

/* Around the fragments of an skb, wherever it is freed */
#ifdef HAVE_BATCH
#define batch_begin()		page_pool_batch_begin()
#define batch_end()		page_pool_batch_end()
#else
#define batch_begin()		false
#define batch_end()		do { } while (0)
#endif

static u64 dma_mask = ~0ULL;
static u64 dma_force_bounce;

static struct device dev = {
	.dma_mask = &dma_mask,
	.dma_io_tlb_mem = &dma_force_bounce,
	.dma_coherent = true,
	.dma_skip_sync = true,
};

static struct napi_struct napis[NR_CPUS];

/* Ordered, so that what is measured is inside; without RDTSCP, which not every
 * virtual machine shows, and valgrind only has where it is shown.
 */
static __always_inline unsigned long tsc_begin(void)
{
	unsigned int lo, hi;

	asm volatile("lfence; rdtsc" : "=a" (lo), "=d" (hi) : : "memory");
	return lo | (unsigned long)hi << 32;
}

static __always_inline unsigned long tsc_end(void)
{
	unsigned int lo, hi;

	asm volatile("lfence; rdtsc; lfence" : "=a" (lo), "=d" (hi) : : "memory");
	return lo | (unsigned long)hi << 32;
}

static struct page_pool *bench_create(unsigned int flags)
{
	struct page_pool_params params = {
		.pool_size = 1024,
		.nid = NUMA_NO_NODE,
		.dev = &dev,
		.dma_dir = DMA_FROM_DEVICE,
		.flags = flags & PP_BENCH_DMA ? PP_FLAG_DMA_MAP : 0,
	};
	struct page_pool *pool;

	if (flags & PP_BENCH_NAPI) {
		int cpu = raw_smp_processor_id();

		napis[cpu].list_owner = cpu;
		params.napi = &napis[cpu];
	}
	pool = page_pool_create(&params);
	return IS_ERR(pool) ? NULL : pool;
}

static void bench_counts(struct page_pool *pool, struct pp_counts *c)
{
	pp_env_counts(c);
	c->refills = 0;
	c->handed = 0;
#ifdef CONFIG_PAGE_POOL_STATS
	if (pool) {
		struct page_pool_stats stats = { };

		page_pool_get_stats(pool, &stats);
		c->refills = stats.alloc_stats.refill;
		c->handed = stats.alloc_stats.fast + stats.alloc_stats.refill +
			    stats.alloc_stats.slow;
	}
#endif
}

#define GFP_BENCH	(GFP_ATOMIC | __GFP_NOWARN)
#define MAX_PAGES	2048
static struct page *pages[MAX_PAGES];
static void *addrs[64];
static unsigned int offsets[64];

/* Park @n pages in the ring. */
static void fill_ring(struct page_pool *pool, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		pages[i] = page_pool_alloc_pages(pool, GFP_BENCH);
	for (i = 0; i < n; i++)
		page_pool_put_page(pool, pages[i], -1, false);
}

static __always_inline void nothing(void)
{
}

/* A line in BH context: @one works on one page, or @n on a section of them.
 * @prepare comes before the time is taken.
 */
#define BH_LINE(name, prepare, one)					\
	BH_LINE_OF(name, PP_SECTION, prepare, one)
#define BH_LINE_OF(name, section, prepare, one)				\
static unsigned long name(struct page_pool *pool, unsigned long n)	\
{									\
	unsigned long start, sections = n / (section), i;		\
									\
	local_bh_disable();						\
	prepare;							\
	start = tsc_begin();						\
	do {								\
		section_begin();					\
		for (i = 0; i < (section); i++) {			\
			one;						\
		}							\
		section_end();						\
	} while (--sections);						\
	start = tsc_end() - start;					\
	local_bh_enable();						\
	return start;							\
}

/* The same from a task, with BH enabled, where there are no marks */
#define TASK_LINE(name, prepare, one)					\
static unsigned long name(struct page_pool *pool, unsigned long n)	\
{									\
	unsigned long start, sections = n / PP_SECTION, i;		\
									\
	prepare;							\
	start = tsc_begin();						\
	do {								\
		for (i = 0; i < PP_SECTION; i++) {			\
			one;						\
		}							\
	} while (--sections);						\
	return tsc_end() - start;					\
}

static __always_inline void fast_one(struct page_pool *pool)
{
	struct page *page = page_pool_alloc_pages(pool, GFP_BENCH);

	page_pool_recycle_direct(pool, page);
}

static __always_inline void ring_one(struct page_pool *pool)
{
	struct page *page = page_pool_alloc_pages(pool, GFP_BENCH);

	page_pool_put_page(pool, page, -1, false);
}

/* Another reference makes the pool let go of the page. */
static __always_inline void slow_one(struct page_pool *pool)
{
	struct page *page = page_pool_alloc_pages(pool, GFP_BENCH);

	get_page(page);
	page_pool_put_page(pool, page, -1, false);
	put_page(page);
}

BH_LINE(line_fast, nothing(), fast_one(pool))
BH_LINE(line_napi, nothing(), ring_one(pool))
BH_LINE(line_ring, fill_ring(pool, 256), ring_one(pool))
/* Light traffic: one packet, or a few, and nothing more to do */
BH_LINE_OF(line_ring_of1, 1, fill_ring(pool, 256), ring_one(pool))
BH_LINE_OF(line_ring_of4, 4, fill_ring(pool, 256), ring_one(pool))
BH_LINE(line_slow, nothing(), slow_one(pool))
TASK_LINE(line_fast_task, nothing(), fast_one(pool))
TASK_LINE(line_ring_task, fill_ring(pool, 256), ring_one(pool))
TASK_LINE(line_slow_task, nothing(), slow_one(pool))

static __always_inline void bulk_n(struct page_pool *pool, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		addrs[i] = page_address(page_pool_alloc_pages(pool, GFP_BENCH));
	page_pool_put_page_bulk(pool, addrs, n);
}

BH_LINE(line_bulk16, fill_ring(pool, 256), bulk_n(pool, 16); i += 15)
BH_LINE(line_bulk64, fill_ring(pool, 256), bulk_n(pool, 64); i += 63)

/* The pages of an skb: allocated one by one, and freed together */
static __always_inline void skb_n(struct page_pool *pool, unsigned int n)
{
	unsigned int i;
	bool batch;

	for (i = 0; i < n; i++)
		pages[i] = page_pool_alloc_pages(pool, GFP_BENCH);
	/* as skb_release_data() has it */
	batch = n > 2 && batch_begin();
	for (i = 0; i < n; i++)
		page_pool_put_full_page(pool, pages[i], false);
	if (batch)
		batch_end();
}

TASK_LINE(line_skb1_task, fill_ring(pool, 256), skb_n(pool, 1))
TASK_LINE(line_skb2_task, fill_ring(pool, 256), skb_n(pool, 2); i += 1)
TASK_LINE(line_skb4_task, fill_ring(pool, 256), skb_n(pool, 4); i += 3)
BH_LINE(line_skb16, fill_ring(pool, 256), skb_n(pool, 16); i += 15)
TASK_LINE(line_skb16_task, fill_ring(pool, 256), skb_n(pool, 16); i += 15)

/* @n pages out, then all of them back */
static __always_inline unsigned long
burst(struct page_pool *pool, unsigned long todo, unsigned int n)
{
	unsigned long start;
	unsigned int i, j;

	local_bh_disable();
	fill_ring(pool, n);
	start = tsc_begin();
	for (; todo; todo -= n) {
		for (i = 0; i < n; i += PP_SECTION) {
			section_begin();
			for (j = 0; j < PP_SECTION; j++)
				pages[i + j] = page_pool_alloc_pages(pool, GFP_BENCH);
			section_end();
		}
		for (i = 0; i < n; i += PP_SECTION) {
			section_begin();
			for (j = 0; j < PP_SECTION; j++)
				page_pool_put_page(pool, pages[i + j], -1, false);
			section_end();
		}
	}
	start = tsc_end() - start;
	local_bh_enable();
	return start;
}

static unsigned long line_burst64(struct page_pool *pool, unsigned long n)
{
	return burst(pool, n, 64);
}

static unsigned long line_burst640(struct page_pool *pool, unsigned long n)
{
	return burst(pool, n, 640);
}

/* more than the ring has room for */
static unsigned long line_burst1280(struct page_pool *pool, unsigned long n)
{
	return burst(pool, n, 1280);
}

static __always_inline void frag_one(struct page_pool *pool, unsigned int size)
{
	unsigned int offset;
	struct page *page;

	page = page_pool_alloc_frag(pool, &offset, size, GFP_BENCH);
	page_pool_put_page(pool, page, -1, false);
}

/* The oldest of 64 fragments goes home, a new one takes its place. */
static __always_inline void
frag_out(struct page_pool *pool, unsigned int i, unsigned int size)
{
	page_pool_put_page(pool, pages[i], -1, false);
	pages[i] = page_pool_alloc_frag(pool, &offsets[i], size, GFP_BENCH);
}

static void frags_get(struct page_pool *pool, unsigned int size)
{
	unsigned int i;

	fill_ring(pool, 256);
	for (i = 0; i < 64; i++)
		pages[i] = page_pool_alloc_frag(pool, &offsets[i], size, GFP_BENCH);
}

static void frags_put(struct page_pool *pool)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		page_pool_put_page(pool, pages[i], -1, false);
}

BH_LINE(line_frag1024, nothing(), frag_one(pool, 1024))
BH_LINE(line_frag2048, nothing(), frag_one(pool, 2048))
BH_LINE(frag1024_out, frags_get(pool, 1024), frag_out(pool, i, 1024))
BH_LINE(frag2048_out, frags_get(pool, 2048), frag_out(pool, i, 2048))

static unsigned long line_frag1024_out(struct page_pool *pool, unsigned long n)
{
	unsigned long t = frag1024_out(pool, n);

	frags_put(pool);
	return t;
}

static unsigned long line_frag2048_out(struct page_pool *pool, unsigned long n)
{
	unsigned long t = frag2048_out(pool, n);

	frags_put(pool);
	return t;
}

static __always_inline unsigned long create_n(unsigned long n, unsigned int flags)
{
	unsigned long start = tsc_begin();

	while (n--)
		page_pool_destroy(bench_create(flags));
	return tsc_end() - start;
}

static unsigned long line_create(struct page_pool *pool, unsigned long n)
{
	return create_n(n, pool->slow.flags & PP_FLAG_DMA_MAP ? PP_BENCH_DMA : 0);
}

/* The first pages of a pool, which all come from the page allocator: what is
 * touched for the first time. Only the allocation is in the time.
 */
static unsigned long line_first(struct page_pool *like, unsigned long n)
{
	unsigned int flags = like->slow.flags & PP_FLAG_DMA_MAP ? PP_BENCH_DMA : 0;
	unsigned long sum = 0, start;
	struct page_pool *pool;
	unsigned int i;

	for (; n; n -= PP_SECTION) {
		pool = bench_create(flags);
		local_bh_disable();
		start = tsc_begin();
		section_begin();
		for (i = 0; i < PP_SECTION; i++)
			pages[i] = page_pool_alloc_pages(pool, GFP_BENCH);
		section_end();
		sum += tsc_end() - start;
		for (i = 0; i < PP_SECTION; i++)
			page_pool_recycle_direct(pool, pages[i]);
		local_bh_enable();
		page_pool_destroy(pool);
	}
	return sum;
}

/* How many pages are handed out between a put and the next use of the page,
 * while one page after the other is allocated and put. Returns the sum.
 */
static unsigned long bench_reuse(struct page_pool *pool, unsigned long n,
				 unsigned long *most)
{
	unsigned long i, sum = 0;

	*most = 0;
	local_bh_disable();
	fill_ring(pool, 256);
	for (i = 0; i < n; i++) {
		struct page *page;

		if (i % PP_SECTION == 0)
			section_begin();
		page = page_pool_alloc_pages(pool, GFP_BENCH);
		/* nobody else uses the word, in this kernel */
		if (page->memcg_data) {
			sum += i - page->memcg_data;
			*most = max(*most, i - page->memcg_data);
		}
		page->memcg_data = i;
		page_pool_put_page(pool, page, -1, false);
		if (i % PP_SECTION == PP_SECTION - 1)
			section_end();
	}
	for (i = 0; i < 1024; i++) {
		pages[i] = page_pool_alloc_pages(pool, GFP_BENCH);
		pages[i]->memcg_data = 0;
	}
	for (i = 0; i < 1024; i++)
		page_pool_put_page(pool, pages[i], -1, false);
	local_bh_enable();
	return sum;
}

/* The scale */

static unsigned long line_nothing(struct page_pool *pool, unsigned long n)
{
	unsigned long start = tsc_begin();

	while (n--)
		barrier();
	return tsc_end() - start;
}

static unsigned long line_atomic(struct page_pool *pool, unsigned long n)
{
	static atomic_t v;
	unsigned long start = tsc_begin();

	while (n--)
		atomic_inc(&v);
	return tsc_end() - start;
}

static unsigned long line_lock(struct page_pool *pool, unsigned long n)
{
	static DEFINE_SPINLOCK(lock);
	unsigned long start = tsc_begin();

	while (n--) {
		spin_lock(&lock);
		spin_unlock(&lock);
	}
	return tsc_end() - start;
}

static unsigned long line_bh(struct page_pool *pool, unsigned long n)
{
	unsigned long start = tsc_begin();

	while (n--) {
		local_bh_disable();
		local_bh_enable();
	}
	return tsc_end() - start;
}

static const struct pp_line lines[] = {
	{ "nothing", 0, 64, 0, line_nothing, 1 },
	{ "atomic_inc", 0, 64, 0, line_atomic, 1 },
	{ "lock", 0, 64, 0, line_lock, 1 },
	{ "bh", 0, 64, 0, line_bh, 1 },
	{ "fast", 0, 64, 0, line_fast },
	{ "fast_task", 0, 64, 0, line_fast_task },
	{ "napi", PP_BENCH_NAPI, 64, 0, line_napi },
	{ "ring", 0, 64, 0, line_ring },
	{ "ring_task", 0, 64, 0, line_ring_task },
	{ "slow", 0, 64, 0, line_slow },
	{ "slow_task", 0, 64, 0, line_slow_task },
	{ "bulk16", 0, 64, 0, line_bulk16 },
	{ "bulk64", 0, 64, 0, line_bulk64 },
	{ "ring_of1", 0, 64, 0, line_ring_of1 },
	{ "ring_of4", 0, 64, 0, line_ring_of4 },
	{ "skb1_task", 0, 64, 0, line_skb1_task },
	{ "skb2_task", 0, 64, 0, line_skb2_task },
	{ "skb4_task", 0, 64, 0, line_skb4_task },
	{ "skb16", 0, 64, 0, line_skb16 },
	{ "skb16_task", 0, 64, 0, line_skb16_task },
	{ "burst64", 0, 64, 0, line_burst64 },
	{ "burst640", 0, 640, 0, line_burst640 },
	{ "burst1280", 0, 1280, 0, line_burst1280 },
	{ "frag1024", 0, 64, 0, line_frag1024 },
	{ "frag1024_64out", 0, 64, 0, line_frag1024_out },
	{ "frag2048", 0, 64, 0, line_frag2048 },
	{ "frag2048_64out", 0, 64, 0, line_frag2048_out },
	{ "first64", 0, 64, 0, line_first },
	{ "create", 0, 64, 256, line_create },
};

/* Sections of the cross-CPU lines. What is handed over stands in an array of
 * the caller, so that only the page pool is in the time.
 */

static unsigned long bench_alloc(struct page_pool *pool, void **to, unsigned int n)
{
	unsigned long start;
	unsigned int i;

	local_bh_disable();
	start = tsc_begin();
	section_begin();
	for (i = 0; i < n; i++)
		to[i] = page_pool_alloc_pages(pool, GFP_BENCH);
	section_end();
	start = tsc_end() - start;
	local_bh_enable();
	return start;
}

static unsigned long bench_put(struct page_pool *pool, void **from, unsigned int n)
{
	unsigned long start;
	unsigned int i;

	local_bh_disable();
	start = tsc_begin();
	section_begin();
	for (i = 0; i < n; i++)
		page_pool_put_page(pool, from[i], -1, false);
	section_end();
	start = tsc_end() - start;
	local_bh_enable();
	return start;
}

/* Parts of pages, from a task: each is one reference of its page. */
static unsigned int bench_alloc_mixed(struct page_pool *pool, void **to, unsigned int n,
				      unsigned int how)
{
	unsigned int i, offset, size;

	switch (how % 3) {
	case 0:
		for (i = 0; i < n; i++)
			to[i] = page_pool_alloc_pages(pool, GFP_BENCH);
		break;
	case 1:
		for (i = 0; i < n; i++)
			to[i] = page_pool_alloc_frag(pool, &offset, 64 + how % 1900, GFP_BENCH);
		break;
	case 2:
		for (i = 0; i < n; i++) {
			size = 64 + how % 4000;
			to[i] = page_pool_alloc(pool, &offset, &size, GFP_BENCH);
		}
		break;
	}
	for (i = 0; i < n && to[i]; i++)
		;
	return i;
}

static void bench_put_mixed(struct page_pool *pool, void **from, unsigned int n,
			    unsigned int how)
{
	unsigned int i;

	switch (how % 6) {
	case 0:		/* a task */
		for (i = 0; i < n; i++)
			page_pool_put_page(pool, from[i], -1, false);
		break;
	case 1:		/* in bulk, from BH */
		for (i = 0; i < n; i++)
			from[i] = page_address((struct page *)from[i]);
		local_bh_disable();
		section_begin();
		page_pool_put_page_bulk(pool, from, n);
		section_end();
		local_bh_enable();
		break;
	case 2:		/* as the consumer */
		local_bh_disable();
		for (i = 0; i < n; i++)
			page_pool_put_page(pool, from[i], -1, how & PP_STRESS_CONSUMER);
		local_bh_enable();
		break;
	case 5: {	/* those of an skb, from a task */
		bool batch = batch_begin();

		for (i = 0; i < n; i++)
			page_pool_put_full_page(pool, from[i], false);
		if (batch)
			batch_end();
		break;
	}
	case 4:		/* pages that somebody else has too */
		for (i = 0; i < n; i++) {
			get_page(from[i]);
			page_pool_put_page(pool, from[i], -1, false);
			put_page(from[i]);
		}
		break;
	case 3:		/* BH, but without marks */
		local_bh_disable();
		for (i = 0; i < n; i++)
			page_pool_put_page(pool, from[i], -1, false);
		local_bh_enable();
		break;
	}
}

static const struct pp_table table = {
	.pool_bytes = sizeof(struct page_pool),
	.stats = IS_ENABLED(CONFIG_PAGE_POOL_STATS),
#ifdef HAVE_STAGE
	.stage = 1,
#endif
	.lines = lines,
	.n_lines = ARRAY_SIZE(lines),
	.setup = pp_setup,
	.enter = pp_enter,
	.work = pp_run_work,
	.settle = pp_settle,
	.hold = pp_hold,
	.create = bench_create,
	.destroy = page_pool_destroy,
	.counts = bench_counts,
	.alloc = bench_alloc,
	.put = bench_put,
	.reuse = bench_reuse,
	.alloc_mixed = bench_alloc_mixed,
	.put_mixed = bench_put_mixed,
};

__attribute__((visibility("default"))) const struct pp_table *pp_bench_table(void);
const struct pp_table *pp_bench_table(void)
{
	return &table;
}

/* What returns go through with return thunks (-mfunction-return=thunk-extern):
 * the safe return of processors with the SRSO weakness, whose prediction is
 * wrong each time. Indirect calls are left to the processor, as there.
 */
#ifdef PP_THUNK
#define THUNK(reg)					\
	".hidden __x86_indirect_thunk_" #reg "\n"	\
	".globl __x86_indirect_thunk_" #reg "\n"	\
	"__x86_indirect_thunk_" #reg ":\n"		\
	"	jmp	*%" #reg "\n"			\
	"	int3\n"

asm(".pushsection .text\n"
	".balign 64\n"
	".hidden __x86_return_thunk\n"
	".globl __x86_return_thunk\n"
	"__x86_return_thunk:\n"
	"	call	1f\n"
	"	ud2\n"
	".balign 16\n"
	"1:	lea	8(%rsp), %rsp\n"
	"	ret\n"
	"	int3\n"
	THUNK(rax) THUNK(rbx) THUNK(rcx) THUNK(rdx)
	THUNK(rsi) THUNK(rdi) THUNK(rbp) THUNK(r8)
	THUNK(r9) THUNK(r10) THUNK(r11) THUNK(r12)
	THUNK(r13) THUNK(r14) THUNK(r15)
	".popsection\n");
#endif
