/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What one page pool, compiled with its surroundings into a shared object,
 * shows to the driver program. Nothing else of it is visible.
 */
#ifndef _PP_BENCH_H
#define _PP_BENCH_H

struct page_pool;

#define PP_CPUS		8	/* CPUs that threads can be */
#define PP_SECTION	64	/* pages between two marks: one NAPI poll */

/* how to make a pool */
#define PP_BENCH_DMA	1u	/* PP_FLAG_DMA_MAP */
#define PP_STRESS_CONSUMER 0x80000000u	/* the caller is the consumer */
#define PP_BENCH_NAPI	2u	/* its NAPI is polled by the calling CPU */

struct pp_counts {
	unsigned long allocated;	/* pages from the page allocator */
	unsigned long freed;		/* and back to it */
	unsigned long out;		/* pages that it misses */
	unsigned long slab_out;		/* objects that the slab misses */
	unsigned long percpu_out;	/* bytes per CPU in use */
	unsigned long warnings;
	unsigned long refills;		/* of the pool; 0 without statistics */
	unsigned long handed;		/* pages handed out, same */
};

struct pp_line {
	const char *name;
	unsigned int flags;		/* PP_BENCH_NAPI */
	unsigned int batch;		/* pages must be a multiple of that */
	unsigned int ops;		/* what is counted, for instructions */
	/* Do @pages pages (fragments, pools) and return TSC cycles. */
	unsigned long (*run)(struct page_pool *pool, unsigned long pages);
	int alone;			/* does not depend on the pool at all */
};

struct pp_table {
	unsigned int pool_bytes;	/* sizeof(struct page_pool) */
	unsigned int stats, stage;
	const struct pp_line *lines;
	unsigned int n_lines;

	void (*setup)(int wrgsbase);	/* once; may the instruction be used? */
	void (*enter)(int cpu);		/* this thread is @cpu from now on */
	void (*work)(void);		/* run what was queued; any thread */
	void (*settle)(void);		/* no thread is inside: run callbacks */
	void (*hold)(int on);		/* keep callbacks until settle() */

	struct page_pool *(*create)(unsigned int flags);
	void (*destroy)(struct page_pool *pool);
	void (*counts)(struct page_pool *pool, struct pp_counts *c);

	/* A section of up to PP_SECTION pages, by the CPU of this thread, in
	 * BH context; they return TSC cycles.
	 */
	unsigned long (*alloc)(struct page_pool *pool, void **pages, unsigned int n);
	unsigned long (*put)(struct page_pool *pool, void **pages, unsigned int n);

	/* Sum of what is handed out between put and next use of @n pages */
	unsigned long (*reuse)(struct page_pool *pool, unsigned long n,
			       unsigned long *most);

	/* For the stress test: other ways than the above. Returns how many. */
	unsigned int (*alloc_mixed)(struct page_pool *pool, void **pages, unsigned int n,
				    unsigned int how);
	void (*put_mixed)(struct page_pool *pool, void **pages, unsigned int n,
			  unsigned int how);
};

#endif /* _PP_BENCH_H */
