// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel around a page pool: page allocator, slab, per-CPU memory, direct
 * DMA mapping, locks, RCU and work. Compiled once into every shared object, so
 * that calls are direct and nothing is shared between two page pools that are
 * compared. What is called per page takes about as many instructions, and as
 * many locked ones, as the kernel's; the rest is only right.
 *
 * With PP_NATIVE page allocator, DMA mapping, slab and RCU are others, which
 * check and fail: see ../native/world.c.
 */
#include <linux/xarray.h>

#include "env.h"

#define PP_PAGES	32768UL		/* frames; their memory is never touched */
#define PP_PFN0		256UL		/* first of them */
#define PP_UNIT		(256UL << 10)	/* per-CPU memory of a CPU */
#define PP_ARENA	(64UL << 20)	/* the slab's memory */
#define PP_CHUNK_SHIFT	18

unsigned long pp_warnings;

#ifdef PP_SANITIZE
static unsigned long pp_mmap(unsigned long size, int prot)
{
	return (unsigned long)mmap(NULL, size, prot, 0x4022, -1, 0);
}

static void pp_yield(void)
{
	sched_yield();
}

#ifndef PP_NATIVE
static void pp_huge(void *p, unsigned long size)
{
}

static void pp_write(const char *text)
{
	write(2, text, strlen(text));
}

static void pp_exit(void)
{
	_exit(1);
}
#endif
#else
/* System calls: there is no C library in here. */

static long pp_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;
	long ret;

	asm volatile("syscall" : "=a" (ret)
		     : "a" (nr), "D" (a), "S" (b), "d" (c), "r" (r10), "r" (r8),
		       "r" (r9)
		     : "rcx", "r11", "memory");
	return ret;
}

#define NR_write	1
#define NR_mmap		9
#define NR_madvise	28
#define NR_sched_yield	24
#define NR_arch_prctl	158
#define NR_exit_group	231
#define ARCH_SET_GS	0x1001

static unsigned long pp_mmap(unsigned long size, int prot)
{
	return pp_syscall(NR_mmap, 0, size, prot, 0x4022, -1, 0);
}

static void pp_yield(void)
{
	pp_syscall(NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void pp_huge(void *p, unsigned long size)
{
	pp_syscall(NR_madvise, (long)p, size, 14, 0, 0, 0);
}

static void pp_write(const char *text)
{
	pp_syscall(NR_write, 2, (long)text, strlen(text), 0, 0, 0);
}

static void pp_exit(void)
{
	pp_syscall(NR_exit_group, 1, 0, 0, 0, 0, 0);
}
#endif

#ifndef PP_NATIVE
/* Where a message is wanted the text of its format will do. Not inline: that
 * would make functions which hardly ever say something save registers.
 */
noinline void pp_printk(const char *fmt, ...)
{
	pp_write(fmt);
}

static void __cold __noreturn pp_fatal(const char *why)
{
	pp_write(why);
	pp_exit();
	unreachable();
}
#endif

static void *pp_map(unsigned long size, unsigned long align, int prot)
{
	unsigned long p = pp_mmap(size + align, prot);

	if (p > -4096UL)
		pp_fatal("no memory\n");
	return (void *)ALIGN(p, align);
}

#ifndef PP_SANITIZE
void *memset(void *s, int c, size_t n)
{
	void *d = s;

	asm volatile("rep stosb" : "+D" (d), "+c" (n) : "a" (c) : "memory");
	return s;
}

void *memcpy(void *d, const void *s, size_t n)
{
	void *ret = d;

	asm volatile("rep movsb" : "+D" (d), "+S" (s), "+c" (n) : : "memory");
	return ret;
}

void *memmove(void *d, const void *s, size_t n)
{
	char *to = d;
	const char *from = s;

	if (to <= from || to >= from + n)
		return memcpy(d, s, n);
	while (n--) {
		to[n] = from[n];
		barrier();
	}
	return d;
}

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n]) {
		n++;
		barrier();
	}
	return n;
}
#endif

void bitmap_clear(unsigned long *p, unsigned int from, unsigned int n)
{
	while (n--)
		__clear_bit(from++, p);
}

void ethtool_puts(u8 **data, const char *s)
{
	memcpy(*data, s, min(strlen(s) + 1, (size_t)ETH_GSTRING_LEN));
	*data += ETH_GSTRING_LEN;
}

/* Per-CPU memory, as the kernel does it: the section of the variables is a
 * template, and %gs is the distance from it to the copy of a CPU.
 */

extern char __start_pp_percpu[], __stop_pp_percpu[];
DEFINE_PER_CPU_ALIGNED(struct pcpu_hot, pcpu_hot);
unsigned long __per_cpu_offset[PP_CPUS];
static spinlock_t pp_percpu_lock;
static unsigned long pp_percpu_used;	/* end of the part in use, as an address */
static unsigned long pp_percpu_out;
static struct task_struct pp_tasks[PP_CPUS];
static bool pp_wrgsbase;

/* Freed areas, for areas of the same size: size in 64-byte units */
static void *pp_percpu_free[64];

#ifdef PP_SANITIZE
__thread unsigned long pp_this_cpu_off;
#endif

static unsigned long pp_percpu_size(size_t size)
{
	return ALIGN(size, (size_t)SMP_CACHE_BYTES);
}

/* Tell AddressSanitizer what was freed. */
static void pp_poison_percpu(void *p, unsigned long size, bool poison)
{
#ifdef __SANITIZE_ADDRESS__
	int cpu;

	for_each_possible_cpu(cpu) {
		if (poison)
			__asan_poison_memory_region(per_cpu_ptr(p, cpu), size);
		else
			__asan_unpoison_memory_region(per_cpu_ptr(p, cpu), size);
	}
#endif
}

/* The size stands in front, in the CPU 0 copy. */
void *__alloc_percpu_gfp(size_t size, size_t align, gfp_t gfp)
{
	unsigned long sz = pp_percpu_size(size), *head;
	void *p;
	int cpu;

	if (sz / SMP_CACHE_BYTES >= ARRAY_SIZE(pp_percpu_free))
		return NULL;
#ifdef PP_NATIVE
	if (pp_fails(PP_FAIL_PERCPU))
		return NULL;
#endif

	spin_lock_bh(&pp_percpu_lock);
	p = pp_percpu_free[sz / SMP_CACHE_BYTES];
	if (p) {
		pp_poison_percpu(p, sz, false);
		pp_percpu_free[sz / SMP_CACHE_BYTES] = *(void **)per_cpu_ptr(p, 0);
	} else if (pp_percpu_used + SMP_CACHE_BYTES + sz <=
		   (unsigned long)__start_pp_percpu + PP_UNIT) {
		p = (void *)(pp_percpu_used + SMP_CACHE_BYTES);
		pp_percpu_used += SMP_CACHE_BYTES + sz;
		head = per_cpu_ptr((unsigned long *)p - 1, 0);
		*head = sz;
	}
	if (p)
		pp_percpu_out += sz;
	spin_unlock_bh(&pp_percpu_lock);

	if (p)
		for_each_possible_cpu(cpu)
			memset(per_cpu_ptr(p, cpu), 0, size);
	return p;
}

void free_percpu(void *p)
{
	unsigned long sz;

	if (!p)
		return;
	spin_lock_bh(&pp_percpu_lock);
	sz = *per_cpu_ptr((unsigned long *)p - 1, 0);
	*(void **)per_cpu_ptr(p, 0) = pp_percpu_free[sz / SMP_CACHE_BYTES];
	pp_poison_percpu(p, sz, true);
	pp_percpu_free[sz / SMP_CACHE_BYTES] = p;
	pp_percpu_out -= sz;
	spin_unlock_bh(&pp_percpu_lock);
}

/* Without wrgsbase above the template, since distances must not be negative:
 * between all libraries and the stack there are 128 MB at least.
 */
static char *pp_percpu_map(unsigned long start)
{
	unsigned long size = PP_CPUS * PP_UNIT + PAGE_SIZE;
#ifndef PP_SANITIZE
	unsigned long p, at;

	for (at = 16 << 20; !pp_wrgsbase && at < 112 << 20; at += 8 << 20) {
		p = pp_syscall(NR_mmap, ALIGN(start + at, 2UL << 20), size, 3,
			       0x104022 /* MAP_FIXED_NOREPLACE */, -1, 0);
		if (p < -4096UL)
			return (char *)p;
	}
#endif
	return pp_map(size, 2 << 20, 3);
}

static void pp_percpu_setup(void)
{
	unsigned long start = (unsigned long)__start_pp_percpu;
	unsigned long len = __stop_pp_percpu - __start_pp_percpu;
	char *mem = pp_percpu_map(start);
	int cpu;

	/* units start where the template does in its page */
	mem += start & (PAGE_SIZE - 1);
	pp_percpu_used = ALIGN(start + len, (unsigned long)SMP_CACHE_BYTES);
	for_each_possible_cpu(cpu) {
		struct pcpu_hot *hot;

		__per_cpu_offset[cpu] = (unsigned long)mem + cpu * PP_UNIT - start;
		memcpy(mem + cpu * PP_UNIT, __start_pp_percpu, len);
		hot = per_cpu_ptr(&pcpu_hot, cpu);
		hot->preempt_count = PREEMPT_NEED_RESCHED;
		hot->cpu_number = cpu;
		hot->this_cpu_off = __per_cpu_offset[cpu];
		hot->current_task = &pp_tasks[cpu];
	}
}

void pp_enter(int cpu)
{
#ifdef PP_SANITIZE
	pp_this_cpu_off = __per_cpu_offset[cpu];
#else
	/* The system call refuses a negative distance, but not under valgrind,
	 * which does not know the instruction.
	 */
	if (pp_wrgsbase)
		asm volatile("wrgsbase %0" : : "r" (__per_cpu_offset[cpu]) : "memory");
	else if (pp_syscall(NR_arch_prctl, ARCH_SET_GS, __per_cpu_offset[cpu],
			    0, 0, 0, 0))
		pp_fatal("this processor or kernel lets nobody set gs\n");
#endif
}

/* Locks: the first two levels of a queued spinlock, so that a second CPU
 * waits without a locked instruction and gets it next. A third one tries to
 * become the second; when threads outnumber processors it has to yield.
 */

static void pp_lock_wait(unsigned int *tries)
{
	cpu_relax();
	if (!(++*tries & 0xfff))
		pp_yield();
}

static noinline void pp_lock_slow(spinlock_t *l)
{
	unsigned int tries = 0;
	u32 val, want;

#ifdef PP_NATIVE
	pp_contended();
#endif

	for (;;) {
		val = READ_ONCE(l->val);
		if (!val) {
			if (try_cmpxchg(&l->val, &val, 1))
				return;
		} else if (val == 1) {
			want = 1;
			if (try_cmpxchg(&l->val, &want, 0x101))
				break;
		}
		pp_lock_wait(&tries);
	}

	/* Pairs with the release of whoever unlocks. */
	while (smp_load_acquire(&l->locked))
		pp_lock_wait(&tries);

	/* Pending becomes locked; nobody else writes meanwhile. What follows
	 * stays behind the acquire above.
	 */
	WRITE_ONCE(l->val, 1);
	barrier();
}

static __always_inline void pp_lock(spinlock_t *l)
{
	u32 val = 0;

#ifdef PP_NATIVE
	/* Softirqs take all locks here, so this is a deadlock to come. */
	WARN_ON(!in_softirq() && !irqs_disabled());
#endif
	if (unlikely(!try_cmpxchg(&l->val, &val, 1)))
		pp_lock_slow(l);
}

void _raw_spin_lock(spinlock_t *l)
{
#ifdef PP_NATIVE
	WARN_ON(in_hardirq() || in_nmi());
#endif
	pp_lock(l);
}

void _raw_spin_lock_bh(spinlock_t *l)
{
	__local_bh_disable_ip(_RET_IP_, SOFTIRQ_LOCK_OFFSET);
	pp_lock(l);
}

void _raw_spin_unlock_bh(spinlock_t *l)
{
	spin_unlock(l);
	__local_bh_enable_ip(_RET_IP_, SOFTIRQ_LOCK_OFFSET);
}

unsigned long _raw_spin_lock_irqsave(spinlock_t *l)
{
	unsigned long flags;

	local_irq_save(flags);
	pp_lock(l);
	return flags;
}

void _raw_spin_unlock_irqrestore(spinlock_t *l, unsigned long flags)
{
	spin_unlock(l);
	local_irq_restore(flags);
}

int _raw_spin_trylock(spinlock_t *l)
{
	u32 val = READ_ONCE(l->val);

	if (unlikely(val))
		return 0;
	return try_cmpxchg(&l->val, &val, 1);
}

int _raw_spin_trylock_bh(spinlock_t *l)
{
	__local_bh_disable_ip(_RET_IP_, SOFTIRQ_LOCK_OFFSET);
	if (_raw_spin_trylock(l))
		return 1;
	__local_bh_enable_ip(_RET_IP_, SOFTIRQ_LOCK_OFFSET);
	return 0;
}

static noinline void pp_do_softirq(void)
{
	pp_printk("softirqs are never pending\n");
}

void __local_bh_enable_ip(unsigned long ip, unsigned int cnt)
{
	WARN_ON_ONCE(in_hardirq());
#ifdef PP_NATIVE
	WARN_ON(irqs_disabled());
	WARN_ON(softirq_count() < cnt);
#endif
	/* One is kept until the end, against preemption. */
	__this_cpu_add(pcpu_hot.preempt_count, (int)-(cnt - 1));
	if (unlikely(!in_interrupt() && raw_cpu_read(pcpu_hot.softirq_pending)))
		pp_do_softirq();
	__this_cpu_dec(pcpu_hot.preempt_count);
}

/* RCU and work: wait until the harness says that nobody is inside. With one
 * thread that is at every turn, so callbacks go in batches as in the kernel.
 */

static spinlock_t pp_later_lock;
static LIST_HEAD(pp_work);
#ifndef PP_NATIVE
static struct rcu_head *pp_callbacks;
static unsigned int pp_n_callbacks;
static bool pp_holding;
static void pp_slab_gather(void);

#define PP_KFREE_TAG	1UL	/* func is what to free */

static noinline void pp_run_callbacks(void)
{
	struct rcu_head *head, *next;

	spin_lock_bh(&pp_later_lock);
	head = pp_callbacks;
	pp_callbacks = NULL;
	pp_n_callbacks = 0;
	spin_unlock_bh(&pp_later_lock);

	for (; head; head = next) {
		unsigned long func = (unsigned long)head->func;

		next = head->next;
		if (func & PP_KFREE_TAG)
			kfree((void *)(func - PP_KFREE_TAG));
		else
			head->func(head);
	}
}

static void pp_queue_callback(struct rcu_head *head, rcu_callback_t func)
{
	bool run;

	spin_lock_bh(&pp_later_lock);
	head->func = func;
	head->next = pp_callbacks;
	pp_callbacks = head;
	run = ++pp_n_callbacks >= 32 && !pp_holding;
	spin_unlock_bh(&pp_later_lock);

	if (unlikely(run))
		pp_run_callbacks();
}

void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	pp_queue_callback(head, func);
}

void pp_kfree_rcu(struct rcu_head *head, void *p)
{
	pp_queue_callback(head, (rcu_callback_t)((unsigned long)p | PP_KFREE_TAG));
}

void synchronize_rcu(void)
{
	/* Devices here need no syncing, which is what it is waited for. */
}
#endif

struct workqueue_struct *system_wq, *system_unbound_wq;

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&pp_later_lock, flags);
	mine = !work->queued;
	if (mine) {
		work->queued = true;
		list_add_tail(&work->entry, &pp_work);
	}
	spin_unlock_irqrestore(&pp_later_lock, flags);
	return mine;
}

/* Work that was queued by now. A work function may queue itself again. */
void pp_run_work(void)
{
	struct work_struct *work;
	unsigned long flags;
	LIST_HEAD(todo);

	spin_lock_irqsave(&pp_later_lock, flags);
	list_splice_init(&pp_work, &todo);
	while (!list_empty(&todo)) {
		work = list_first_entry(&todo, struct work_struct, entry);
		list_del(&work->entry);
		work->queued = false;
		spin_unlock_irqrestore(&pp_later_lock, flags);
		work->func(work);
		spin_lock_irqsave(&pp_later_lock, flags);
	}
	spin_unlock_irqrestore(&pp_later_lock, flags);
}

#ifndef PP_NATIVE
void pp_settle(void)
{
	pp_run_work();
	pp_run_callbacks();
}

void pp_hold(int on)
{
	if (on)
		pp_slab_gather();
	pp_holding = on;
}
#endif

void pp_san_mb(void)
{
	static int word;

#ifdef PP_NATIVE
	if (pp_mb_hook)
		pp_mb_hook();
#endif
	__atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
}

#ifndef PP_NATIVE
/* The slab: per CPU a list of free objects of each size; more of them come
 * from chunks that hold one size only.
 */

struct kmem_cache { unsigned int size, class; };

#define PP_CLASSES	16	/* 32 << class; class 0 is that of xarray nodes */
#define PP_XA_NODE	576u

struct pp_slab_cpu { void *free[PP_CLASSES]; long out; };
static DEFINE_PER_CPU_ALIGNED(struct pp_slab_cpu, pp_slab_cpu);
static struct kmem_cache pp_xa_cache = { .size = PP_XA_NODE, .class = 0 };
struct kmem_cache *radix_tree_node_cachep = &pp_xa_cache;

/* As lib/radix-tree.c leaves a node: only what xas_alloc() does not set. */
static void pp_xa_node_init(struct xa_node *node)
{
	memset(node->slots, 0, sizeof(node->slots));
	memset(node->marks, 0, sizeof(node->marks));
	INIT_LIST_HEAD(&node->private_list);
}

void radix_tree_node_rcu_free(struct rcu_head *head)
{
	struct xa_node *node = container_of(head, struct xa_node, rcu_head);

	pp_xa_node_init(node);
	kmem_cache_free(radix_tree_node_cachep, node);
}

static unsigned int pp_class_size(unsigned int class)
{
	return class ? 32u << class : PP_XA_NODE;
}

#ifdef PP_SANITIZE
static void pp_slab_gather(void)
{
}

/* From the C library, which the sanitizer watches. */
static void *pp_slab_alloc(unsigned int class)
{
	void *p = aligned_alloc(SMP_CACHE_BYTES, ALIGN(pp_class_size(class), SMP_CACHE_BYTES));

	if (!class)
		pp_xa_node_init(p);
	this_cpu_inc(pp_slab_cpu.out);
	return p;
}

static void pp_slab_free(unsigned int class, void **obj)
{
	this_cpu_dec(pp_slab_cpu.out);
	free(obj);
}

static void pp_slab_setup(void)
{
}

static unsigned int pp_class_of(const void *p)
{
	return 1;
}
#else
static char *pp_arena;
static unsigned long pp_arena_used;
static DEFINE_SPINLOCK(pp_arena_lock);	/* of the above */
static u8 pp_chunk_class[PP_ARENA >> PP_CHUNK_SHIFT];

/* What is free anywhere, for whoever needs it next: objects are often freed on
 * other CPUs than where they are allocated.
 */
static void *pp_slab_common[PP_CLASSES];

static void pp_slab_gather(void)
{
	unsigned int class;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct pp_slab_cpu *s = per_cpu_ptr(&pp_slab_cpu, cpu);

		for (class = 0; class < PP_CLASSES; class++) {
			void **last = s->free[class];

			if (!last)
				continue;
			while (*last)
				last = *last;
			*last = pp_slab_common[class];
			pp_slab_common[class] = s->free[class];
			s->free[class] = NULL;
		}
	}
}

static noinline void pp_slab_grow(unsigned int class)
{
	unsigned long size = pp_class_size(class), at, n;
	struct pp_slab_cpu *s;
	void **obj;

	spin_lock_bh(&pp_arena_lock);
	s = raw_cpu_ptr(&pp_slab_cpu);
	if (pp_slab_common[class]) {
		s->free[class] = pp_slab_common[class];
		pp_slab_common[class] = NULL;
		goto out;
	}
	at = pp_arena_used;
	pp_arena_used += max(1UL << PP_CHUNK_SHIFT, size);
	if (pp_arena_used > PP_ARENA)
		pp_fatal("the slab is out of memory\n");
	for (n = 0; n < max(1UL << PP_CHUNK_SHIFT, size) >> PP_CHUNK_SHIFT; n++)
		pp_chunk_class[(at >> PP_CHUNK_SHIFT) + n] = class;
	for (n = max(1UL << PP_CHUNK_SHIFT, size) / size; n--;) {
		obj = (void **)(pp_arena + at + n * size);
		*obj = s->free[class];
		s->free[class] = obj;
		if (!class)	/* the constructor of xarray nodes */
			pp_xa_node_init((struct xa_node *)obj);
	}
out:
	spin_unlock_bh(&pp_arena_lock);
}

/* Softirqs do not interrupt here, and a thread stays what CPU it is. */
static __always_inline void *pp_slab_alloc(unsigned int class)
{
	void **obj;

	obj = raw_cpu_read(pp_slab_cpu.free[class]);
	if (unlikely(!obj)) {
		pp_slab_grow(class);
		obj = raw_cpu_read(pp_slab_cpu.free[class]);
	}
	raw_cpu_write(pp_slab_cpu.free[class], *obj);
	this_cpu_inc(pp_slab_cpu.out);
	return obj;
}

static __always_inline void pp_slab_free(unsigned int class, void **obj)
{
	*obj = raw_cpu_read(pp_slab_cpu.free[class]);
	raw_cpu_write(pp_slab_cpu.free[class], obj);
	this_cpu_dec(pp_slab_cpu.out);
}

static void pp_slab_setup(void)
{
	pp_arena = pp_map(PP_ARENA, 2 << 20, 3);
}

static __always_inline unsigned int pp_class_of(const void *p)
{
	return pp_chunk_class[((char *)p - pp_arena) >> PP_CHUNK_SHIFT];
}
#endif

void *pp_kmalloc(size_t size, gfp_t gfp)
{
	unsigned int class = size <= 64 ? 1 : fls64(size - 1) - 5;
	void *p;

	if (class >= PP_CLASSES)
		return NULL;
	p = pp_slab_alloc(class);
	if (gfp & __GFP_ZERO)
		memset(p, 0, size);
	return p;
}

void kfree(const void *p)
{
	if (p)
		pp_slab_free(pp_class_of(p), (void **)p);
}

void *kmem_cache_alloc_noprof(struct kmem_cache *c, gfp_t gfp)
{
	return pp_slab_alloc(c->class);
}

void kmem_cache_free(struct kmem_cache *c, void *p)
{
	pp_slab_free(c->class, p);
}

/* The page allocator: per-CPU lists in front of a zone */

struct page *pp_vmemmap;
unsigned long pp_page_offset;

struct pp_pcp {
	spinlock_t lock;		/* protects the list */
	int count, high, batch;
	struct list_head list;
	unsigned long allocated, freed;
};

static DEFINE_PER_CPU_ALIGNED(struct pp_pcp, pp_pcp);
static struct {
	/* of all below */
	spinlock_t lock ____cacheline_aligned;
	struct list_head free;
	unsigned long nr_free;
	unsigned long min;
	unsigned long blocks[(PP_PFN0 + PP_PAGES) / 8192 + 1]; /* migrate types */
} pp_zone;

static void pp_pages_setup(void)
{
	char *memmap = pp_map(PP_PAGES * sizeof(struct page), 2 << 20, 3);
	unsigned long i;

	BUILD_BUG_ON(sizeof(struct page) != 64);
	BUILD_BUG_ON(offsetof(struct page, pp_ref_count) != 40);
	BUILD_BUG_ON(offsetof(struct page, _refcount) != 52);

	pp_huge(memmap, PP_PAGES * sizeof(struct page));
	pp_vmemmap = (struct page *)memmap - PP_PFN0;
	pp_page_offset = (unsigned long)pp_map(PP_PAGES << PAGE_SHIFT, 2 << 20, 0) -
			 (PP_PFN0 << PAGE_SHIFT);
	INIT_LIST_HEAD(&pp_zone.free);
	pp_zone.min = 64;
	for (i = 0; i < PP_PAGES; i++) {
		struct page *page = pfn_to_page(PP_PFN0 + i);

		page->_mapcount = -1;
		list_add_tail(&page->lru, &pp_zone.free);
	}
	pp_zone.nr_free = PP_PAGES;
	for_each_possible_cpu(i) {
		struct pp_pcp *pcp = per_cpu_ptr(&pp_pcp, i);

		pcp->batch = 63;
		pcp->high = 378;
		INIT_LIST_HEAD(&pcp->list);
	}
}

static noinline int pp_rmqueue_bulk(struct pp_pcp *pcp, int n)
{
	int i;

	spin_lock(&pp_zone.lock);
	for (i = 0; i < n && !list_empty(&pp_zone.free); i++) {
		struct page *page = list_first_entry(&pp_zone.free, struct page, lru);

		list_del(&page->lru);
		list_add_tail(&page->pcp_list, &pcp->list);
	}
	WRITE_ONCE(pp_zone.nr_free, pp_zone.nr_free - i);
	spin_unlock(&pp_zone.lock);
	return i;
}

static noinline void pp_free_bulk(struct pp_pcp *pcp, int n)
{
	pcp->count -= n;
	spin_lock(&pp_zone.lock);
	WRITE_ONCE(pp_zone.nr_free, pp_zone.nr_free + n);
	while (n--) {
		struct page *page = list_last_entry(&pcp->list, struct page, pcp_list);

		list_del(&page->pcp_list);
		list_add(&page->lru, &pp_zone.free);
	}
	spin_unlock(&pp_zone.lock);
}

static __always_inline struct page *pp_pcp_take(struct pp_pcp *pcp)
{
	struct page *page;

	if (unlikely(list_empty(&pcp->list))) {
		pcp->count += pp_rmqueue_bulk(pcp, pcp->batch);
		if (unlikely(list_empty(&pcp->list)))
			return NULL;
	}
	page = list_first_entry(&pcp->list, struct page, pcp_list);
	list_del(&page->pcp_list);
	pcp->count--;
	return page;
}

/* A page on its way out: what the kernel's hooks write and ask. */
static __always_inline void pp_prep_new_page(struct page *page, gfp_t gfp)
{
	page->private = 0;
	atomic_set(&page->_refcount, 1);
	/* init_on_alloc, page owner, tag compression, memory profiling */
	if (unlikely(pp_key_off()) || unlikely(pp_key_off()))
		pp_printk("hook\n");
	page->mapping = NULL;
	/* pfmemalloc: only from the emergency reserve */
	if (unlikely(gfp & __GFP_MEMALLOC))
		page->lru.next = (void *)BIT(1);
	else
		page->lru.next = NULL;
}

static __always_inline bool pp_page_bad(const struct page *page)
{
	return page->_mapcount != -1 ||
	       ((unsigned long)page->mapping | (unsigned int)page_ref_count(page) |
		page->memcg_data | (page->flags & PP_PG_BAD));
}

unsigned long alloc_pages_bulk_noprof(gfp_t gfp, int nid, void *nodemask,
				      int n, struct list_head *list,
				      struct page **array)
{
	int filled = 0, got = 0;
	struct pp_pcp *pcp;

	while (filled < n && array[filled])
		filled++;
	if (unlikely(filled == n))
		return n;
	if (unlikely(READ_ONCE(pp_zone.nr_free) < pp_zone.min + n))
		return filled;

	pcp = raw_cpu_ptr(&pp_pcp);
	if (unlikely(!spin_trylock(&pcp->lock)))
		return filled;
	for (; filled < n; filled++) {
		struct page *page;

		if (unlikely(array[filled]))
			continue;
		page = pp_pcp_take(pcp);
		if (unlikely(!page))
			break;
		got++;
		pp_prep_new_page(page, gfp);
		array[filled] = page;
	}
	pcp->allocated += got;
	spin_unlock(&pcp->lock);
	return filled;
}

struct page *alloc_pages_node(int nid, gfp_t gfp, unsigned int order)
{
	struct page *page = NULL;

	if (!order)
		alloc_pages_bulk_noprof(gfp, nid, NULL, 1, NULL, &page);
	return page;
}

static __always_inline bool pp_free_prepare(struct page *page)
{
	if (unlikely(pp_key_off()))
		return false;
	if (unlikely(page->flags & BIT(PG_head)))
		return false;
	if (unlikely(pp_page_bad(page))) {
		WARN_ON(1);
		return false;
	}
	page->flags &= ~(unsigned long)PP_PG_BAD;
	if (unlikely(pp_key_off()) || unlikely(pp_key_off()))
		pp_printk("hook\n");
	return true;
}

/* Blocks of 512 frames have four bits each. */
static __always_inline unsigned int pp_migratetype(const struct page *page)
{
	unsigned long bit = (page_to_pfn(page) >> 9) * 4;

	return (READ_ONCE(pp_zone.blocks[bit / 64]) >> (bit % 64)) & 7;
}

static __always_inline void pp_pcp_give(struct pp_pcp *pcp, struct page *page)
{
	list_add(&page->pcp_list, &pcp->list);
	pcp->count++;
	pcp->freed++;
	if (unlikely(pcp->count >= pcp->high))
		pp_free_bulk(pcp, pcp->batch);
}

static noinline void pp_free_unref_page(struct page *page, unsigned int order)
{
	struct pp_pcp *pcp;

	if (unlikely(!pp_free_prepare(page)))
		return;
	if (unlikely(pp_migratetype(page) > 3))
		return;
	pcp = raw_cpu_ptr(&pp_pcp);
	if (unlikely(!spin_trylock(&pcp->lock))) {
		spin_lock(&pp_zone.lock);
		WRITE_ONCE(pp_zone.nr_free, pp_zone.nr_free + 1);
		list_add(&page->lru, &pp_zone.free);
		spin_unlock(&pp_zone.lock);
		return;
	}
	pp_pcp_give(pcp, page);
	spin_unlock(&pcp->lock);
}

/* The last reference is gone: is it any of the special kinds? */
void __put_page(struct page *page)
{
	unsigned int nid = page_to_nid(page);

	if (unlikely(nid == 3 || (page->flags & (BIT(5) | BIT(10)))))
		return;
	if (unlikely(page->memcg_data))
		return;
	pp_free_unref_page(page, 0);
}

/* Direct DMA mapping */

static __always_inline bool pp_dma_capable(struct device *dev, dma_addr_t addr, size_t size)
{
	dma_addr_t end = addr + size - 1;
	u64 limit = dev->bus_dma_limit;

	if (unlikely(!dev->dma_mask))
		return false;
	if (limit)
		limit = min(limit, *dev->dma_mask);
	else
		limit = *dev->dma_mask;
	return end <= limit;
}

dma_addr_t dma_map_page_attrs(struct device *dev, struct page *page,
			      size_t offset, size_t size,
			      enum dma_data_direction dir, unsigned long attrs)
{
	phys_addr_t phys = page_to_phys(page) + offset;
	dma_addr_t addr = phys;

	if (unlikely(dir == DMA_NONE))
		pp_fatal("mapped in no direction\n");
	if (WARN_ON_ONCE(!dev->dma_mask))
		return DMA_MAPPING_ERROR;
	/* operations of an IOMMU, or a device that bypasses them? */
	if (unlikely(dev->dma_ops))
		return DMA_MAPPING_ERROR;
	/* bounced by force? */
	if (unlikely(dev->dma_io_tlb_mem && READ_ONCE(*(u64 *)dev->dma_io_tlb_mem)))
		return DMA_MAPPING_ERROR;
	if (unlikely(!pp_dma_capable(dev, addr, size)))
		return DMA_MAPPING_ERROR;
	if (!dev->dma_coherent && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		barrier();
	if (unlikely(pp_key_off()))	/* tracepoint */
		pp_printk("traced\n");
	return addr;
}

void dma_unmap_page_attrs(struct device *dev, dma_addr_t addr, size_t size,
			  enum dma_data_direction dir, unsigned long attrs)
{
	if (unlikely(dir == DMA_NONE))
		pp_fatal("mapped in no direction\n");
	if (unlikely(dev->dma_ops))
		return;
	if (!dev->dma_coherent && !(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		barrier();
	/* was it bounced? */
	if (unlikely(dev->dma_io_tlb_mem && READ_ONCE(*(u64 *)dev->dma_io_tlb_mem)))
		return;
	if (unlikely(pp_key_off()))
		pp_printk("traced\n");
}

void __dma_sync_single_for_device(struct device *dev, dma_addr_t addr,
				  size_t size, enum dma_data_direction dir)
{
}

void __dma_sync_single_for_cpu(struct device *dev, dma_addr_t addr,
			       size_t size, enum dma_data_direction dir)
{
}

struct netdev_rx_queue *__netif_get_rx_queue(struct net_device *dev, unsigned int rxq)
{
	return NULL;
}

void pp_env_counts(struct pp_counts *c)
{
	unsigned long out = PP_PAGES - pp_zone.nr_free;
	int cpu;

	c->allocated = 0;
	c->freed = 0;
	c->slab_out = 0;
	for_each_possible_cpu(cpu) {
		const struct pp_pcp *pcp = per_cpu_ptr(&pp_pcp, cpu);

		c->allocated += pcp->allocated;
		c->freed += pcp->freed;
		out -= pcp->count;
		c->slab_out += per_cpu(pp_slab_cpu, cpu).out;
	}
	c->out = out;
	c->percpu_out = pp_percpu_out;
	c->warnings = READ_ONCE(pp_warnings);
}

#endif /* !PP_NATIVE */

void pp_setup(int wrgsbase)
{
	const pp_initcall_t *fn;

	pp_wrgsbase = wrgsbase;
	pp_percpu_setup();
	pp_enter(0);
	pp_slab_setup();
	pp_pages_setup();
	for (fn = __start_pp_initcalls; fn < __stop_pp_initcalls; fn++)
		(*fn)();
}
