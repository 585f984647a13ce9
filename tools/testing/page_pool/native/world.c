// SPDX-License-Identifier: GPL-2.0
/*
 * What the page pool lives on, as strict as can be: page allocator, DMA API,
 * slab and RCU that notice what nobody may do, and fail when they are told to.
 * The rest (locks, per-CPU memory, work) is in ../bench/env.c.
 *
 * Noticed are, wherever they happen: pages freed twice, freed while mapped or
 * marked, mapped twice, unmapped when they are not mapped or otherwise than they
 * were mapped, synced when not mapped or beyond what the device writes; any use
 * of a device after page_pool_destroy() has returned; sleeping with BHs off;
 * locks that softirqs take, taken with BHs on.
 */
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>
#include <linux/xarray.h>

#include "page_pool_priv.h"
#include "world.h"

struct nt_world nt;
void (*pp_mb_hook)(void);		/* called at a full barrier */
__thread u32 nt_seed = 1;
__thread bool pp_irqs_off;
struct page *pp_vmemmap;
unsigned long pp_page_offset;
struct net_iov nt_niov[NT_NIOVS];

static u16 nt_free[NT_NODES][NT_ORDERS][NT_FRAMES / 4];
u32 nt_n_free[NT_NODES][NT_ORDERS];
static int nt_lock_word;

/* Not a lock of the kernel: nothing is to be seen of it. */
static void nt_lock(void)
{
	while (__atomic_exchange_n(&nt_lock_word, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void nt_unlock(void)
{
	__atomic_store_n(&nt_lock_word, 0, __ATOMIC_RELEASE);
}

#ifdef PP_DELAY
/* Hold up a thread, mostly for a moment, sometimes so that others run. */
void pp_point(void)
{
	u32 r = nt_rnd(), n;

	if (likely(!nt.threads || r & 31))
		return;
	if ((r >> 8) % 64) {
		for (n = (r >> 16) & 127; n; n--)
			cpu_relax();
	} else if ((r >> 16) % 8) {
		sched_yield();
	} else {
		usleep(1);
	}
}
#endif

void pp_printk(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!nt.threads)
		vsnprintf(nt.said, sizeof(nt.said), fmt, args);
	va_end(args);
	__atomic_add_fetch(&nt.n_said, 1, __ATOMIC_RELAXED);
	if (nt.verbose && !nt.threads)
		printf("    kernel: %s", nt.said);
}

/* A warning: of which kind the model knows, not where. */
void pp_trap(const char *file, int line)
{
	__atomic_add_fetch(&pp_warnings, 1, __ATOMIC_RELAXED);
	if (nt.threads)
		return;
	nt.warned_file = file;
	nt.warned_line = line;
}

void pp_fatal(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	printf("FAULT in episode %u, step %llu: ", nt.seed, nt.step);
	vprintf(fmt, args);
	printf("\n");
	va_end(args);
	fflush(NULL);
	abort();
}

void pp_contended(void)
{
	if (!nt.threads)
		pp_fatal("a lock is waited for that its holder cannot give up");
}

static bool nt_atomic(void)
{
	return in_softirq() || in_hardirq() || irqs_disabled();
}

void pp_might_sleep(void)
{
	WARN(nt_atomic(), "sleeps in atomic context\n");
	if (!nt.threads)
		nt.n_sleep++;
}

void pp_pause(void)
{
	if (!nt.threads)
		pp_fatal("destroy waits for an owner that does not run");
	usleep(1);
}

bool pp_fails(enum pp_fail what)
{
	struct nt_fail *f = &nt.fail[what];

	if (nt.threads)
		return !(nt_rnd() % 1024);
	if (!f->times)
		return false;
	if (f->after) {
		f->after--;
		return false;
	}
	f->times--;
	f->fired++;
	return true;
}

void nt_touch(u32 id)
{
	if (nt.threads || nt.frame[id].touched)
		return;
	nt.frame[id].touched = true;
	nt.touched[nt.n_touched++] = id;
}

void nt_step_begin(void)
{
	while (nt.n_touched) {
		struct nt_frame *f = &nt.frame[nt.touched[--nt.n_touched]];

		f->touched = false;
		f->fresh = false;
	}
	nt.n_alloc = 0;
	nt.n_free = 0;
	nt.n_map = 0;
	nt.n_unmap = 0;
	nt.n_sync = 0;
	nt.n_sleep = 0;
	nt.lost = false;
}

/* RCU. A callback runs when all CPUs that were on at the time of the call have
 * said that they are in no reader, or went off.
 */

struct nt_callback {
	struct nt_callback *next;
	struct rcu_head *head;
	rcu_callback_t func;
	void *obj;		/* just to be freed */
	u32 cpus;
};

static struct nt_callback *nt_callbacks, **nt_callbacks_end = &nt_callbacks;
static u32 nt_cpus_on;

static void nt_queue(struct rcu_head *head, rcu_callback_t func, void *obj)
{
	struct nt_callback *cb = malloc(sizeof(*cb));

	*cb = (struct nt_callback){ .head = head, .func = func, .obj = obj };
	nt_lock();
	cb->cpus = nt_cpus_on;
	*nt_callbacks_end = cb;
	nt_callbacks_end = &cb->next;
	__atomic_add_fetch(&nt.callbacks, 1, __ATOMIC_RELAXED);
	nt_unlock();
}

void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	nt_queue(head, func, NULL);
}

void pp_kfree_rcu(struct rcu_head *head, void *p)
{
	nt_queue(head, NULL, p);
}

void nt_quiescent(u32 cpus)
{
	struct nt_callback **at, *cb, *done = NULL, **end = &done;

	if (!READ_ONCE(nt.callbacks))
		return;
	nt_lock();
	for (at = &nt_callbacks; (cb = *at);) {
		cb->cpus &= ~cpus;
		if (cb->cpus) {
			at = &cb->next;
			continue;
		}
		*at = cb->next;
		cb->next = NULL;
		*end = cb;
		end = &cb->next;
		__atomic_sub_fetch(&nt.callbacks, 1, __ATOMIC_RELAXED);
	}
	nt_callbacks_end = at;
	nt_unlock();
	while ((cb = done)) {
		done = cb->next;
		if (cb->func)
			cb->func(cb->head);
		else
			kfree(cb->obj);
		free(cb);
	}
}

void nt_online(int cpu, bool on)
{
	nt_lock();
	if (on)
		nt_cpus_on |= BIT(cpu);
	else
		nt_cpus_on &= ~BIT(cpu);
	nt_unlock();
	if (!on)
		nt_quiescent(BIT(cpu));
}

static void nt_synchronized(struct rcu_head *head)
{
	/* Pairs with the acquire in synchronize_rcu(). */
	smp_store_release(&head->next, NULL);
}

void synchronize_rcu(void)
{
	struct rcu_head head = { .next = (void *)1 };

	pp_might_sleep();
	/* One thread is between two steps of all other CPUs; what they have
	 * staged does not count as a reader here.
	 */
	if (!nt.threads)
		return;
	call_rcu(&head, nt_synchronized);
	/* Pairs with the release in nt_synchronized(). */
	while (smp_load_acquire(&head.next)) {
		nt_quiescent(BIT(smp_processor_id()));
		sched_yield();
	}
}

/* The slab: the C library's heap, which AddressSanitizer watches */

struct kmem_cache { unsigned int size; };
static struct kmem_cache nt_xa_cache = { .size = sizeof(struct xa_node) };
struct kmem_cache *radix_tree_node_cachep = &nt_xa_cache;

static void nt_check_gfp(gfp_t gfp)
{
	WARN(gfpflags_allow_blocking(gfp) && nt_atomic(),
	     "allocation may sleep in atomic context\n");
}

static void *nt_heap(size_t size)
{
	void *p = aligned_alloc(SMP_CACHE_BYTES,
				ALIGN(max(size, (size_t)1), (size_t)SMP_CACHE_BYTES));

	if (p)
		__atomic_add_fetch(&nt.slab_out, 1, __ATOMIC_RELAXED);
	return p;
}

void *pp_kmalloc(size_t size, gfp_t gfp)
{
	void *p;

	nt_check_gfp(gfp);
	if (!size) {
		if (nt.hook)
			nt.hook();
	} else if (pp_fails(PP_FAIL_SLAB)) {
		return NULL;
	}
	p = nt_heap(size);
	if (p)
		memset(p, gfp & __GFP_ZERO ? 0 : 0xa5, size);
	return p;
}

void kfree(const void *p)
{
	if (!p)
		return;
	__atomic_sub_fetch(&nt.slab_out, 1, __ATOMIC_RELAXED);
	free((void *)p);
}

static void nt_xa_node_init(struct xa_node *node)
{
	memset(node->slots, 0, sizeof(node->slots));
	memset(node->marks, 0, sizeof(node->marks));
	INIT_LIST_HEAD(&node->private_list);
}

void radix_tree_node_rcu_free(struct rcu_head *head)
{
	kfree(container_of(head, struct xa_node, rcu_head));
}

void *kmem_cache_alloc_noprof(struct kmem_cache *c, gfp_t gfp)
{
	struct xa_node *node;

	nt_check_gfp(gfp);
	if (pp_fails(PP_FAIL_SLAB))
		return NULL;
	node = nt_heap(c->size);
	nt_xa_node_init(node);
	return node;
}

void kmem_cache_free(struct kmem_cache *c, void *p)
{
	kfree(p);
}

void pp_slab_setup(void)
{
}

/* Pages */

bool node_online(int nid)
{
	return nid >= 0 && nid <= NT_NODE_BARE;
}

bool node_state(int nid, enum node_states state)
{
	return state == N_MEMORY ? nid >= 0 && nid < NT_NODES : node_online(nid);
}

struct zonelist *node_zonelist(int nid, gfp_t gfp)
{
	/* The node without memory is next to node 1. */
	static struct zone zone = { .node = 1 };
	static struct zonelist list = { ._zonerefs[0].zone = &zone };

	if (nid < NT_NODES)
		pp_fatal("node %d has memory: its zones are not looked for", nid);
	return &list;
}

/* Episodes start alike: all pages are free. */
void nt_reset(void)
{
	u32 id = 0, node, order, i;

	memset(nt_n_free, 0, sizeof(nt_n_free));
	for (order = NT_ORDERS; order--;) {
		for (node = 0; node < NT_NODES; node++) {
			for (i = 0; i < NT_FRAMES / 8 >> order; i++, id += 1 << order) {
				nt_free[node][order][nt_n_free[node][order]++] = id;
				nt.frame[id].gen = 0;
			}
		}
	}
}

void pp_pages_setup(void)
{
	u32 node, order, i, j;

	pp_vmemmap = (struct page *)aligned_alloc(64, NT_FRAMES * sizeof(struct page)) - NT_PFN0;
	memset(nt_page(0), 0, NT_FRAMES * sizeof(struct page));
	pp_page_offset = 0x10000000;	/* nothing is there */
	nt_reset();
	for (order = 0; order < NT_ORDERS; order++) {
		for (node = 0; node < NT_NODES; node++) {
			for (i = 0; i < nt_n_free[node][order]; i++) {
				u32 id = nt_free[node][order][i];
				struct page *page = nt_page(id);

				for (j = 0; j < 1 << order; j++) {
					page[j]._mapcount = -1;
					page[j].flags = (unsigned long)node << NODES_PGSHIFT;
					if (j)
						page[j].compound_head = (unsigned long)page | 1;
					nt.frame[id + j].order = order;
					nt.frame[id + j].nid = node;
				}
				page->lru.next = LIST_POISON1;
			}
		}
	}
}

static u32 nt_head(u32 id)
{
	return id & ~((1u << nt.frame[id].order) - 1);
}

static struct page *nt_take(int nid, gfp_t gfp, unsigned int order)
{
	struct nt_frame *f;
	struct page *page;
	u32 id;
	int i;

	if (pp_fails(PP_FAIL_PAGES))
		return NULL;

	nt_lock();
	for (i = 0; i < NT_NODES; i++, nid = (nid + 1) % NT_NODES)
		if (!nt.node_full[nid] && nt_n_free[nid][order])
			break;
	if (i == NT_NODES || (i && gfp & __GFP_THISNODE)) {
		nt_unlock();
		return NULL;
	}
	id = nt_free[nid][order][--nt_n_free[nid][order]];
	nt_unlock();

	f = &nt.frame[id];
	page = nt_page(id);
	if (__atomic_exchange_n(&f->allocated, 1, __ATOMIC_ACQ_REL))
		pp_fatal("page %u is free and in use", id);
	__atomic_add_fetch(&nt.pages_out, 1, __ATOMIC_RELAXED);
	if (!nt.threads) {
		nt_touch(id);
		if (nt.n_alloc < ARRAY_SIZE(nt.alloc))
			nt.alloc[nt.n_alloc++] = id;
		else
			nt.lost = true;
	}
	/* What the page allocator leaves of the pool's words is anything. */
	page->pp = (void *)0x5a5a5a5a;
	page->dma_addr = 0x5a5a5a5a;
	page->private = 0;
	page->mapping = NULL;
	page->lru.next = nt.pfmemalloc ? (void *)BIT(1) : NULL;
	if (order)
		page->flags |= BIT(PG_head);
	atomic_set(&page->_refcount, 1);
	return page;
}

unsigned long alloc_pages_bulk_noprof(gfp_t gfp, int nid, void *nodemask,
				      int n, struct list_head *list,
				      struct page **array)
{
	int filled;

	nt_check_gfp(gfp);
	if (!node_state(nid, N_MEMORY))
		pp_fatal("pages are wanted of node %d, which has none", nid);
	for (filled = 0; filled < n; filled++) {
		if (array[filled])
			continue;
		array[filled] = nt_take(nid, gfp, 0);
		if (!array[filled])
			break;
	}
	return filled;
}

struct page *alloc_pages_node(int nid, gfp_t gfp, unsigned int order)
{
	nt_check_gfp(gfp);
	if (!node_state(nid, N_MEMORY))
		pp_fatal("pages are wanted of node %d, which has none", nid);
	if (order && !(gfp & __GFP_COMP))
		pp_fatal("a page of order %u that is not compound", order);
	return order < NT_ORDERS ? nt_take(nid, gfp, order) : NULL;
}

void __put_page(struct page *page)
{
	u32 id = page_to_pfn(page) - NT_PFN0, order;
	struct nt_frame *f = &nt.frame[id];

	if (id >= NT_FRAMES || nt_head(id) != id)
		pp_fatal("frame %u is no page to be freed", id);
	if (__atomic_load_n(&f->mapped, __ATOMIC_ACQUIRE))
		pp_fatal("page %u is freed, but still mapped", id);
	/* bad page state */
	if ((page->pp_magic & PP_MAGIC_MASK) == PP_SIGNATURE)
		pp_fatal("page %u is freed, but still marked", id);
	if (page->mapping || atomic_read(&page->_refcount))
		pp_fatal("page %u is freed in a bad state", id);
	order = f->order;
	nt_touch(id);
	if (!nt.threads)
		nt.n_free++;
	page->flags &= ~(unsigned long)BIT(PG_head);
	page->lru.next = LIST_POISON1;
	page->lru.prev = LIST_POISON2;
	if (!__atomic_exchange_n(&f->allocated, 0, __ATOMIC_ACQ_REL))
		pp_fatal("page %u is freed twice", id);
	__atomic_sub_fetch(&nt.pages_out, 1, __ATOMIC_RELAXED);
	nt_lock();
	nt_free[f->nid][order][nt_n_free[f->nid][order]++] = id;
	nt_unlock();
}

/* DMA */

static struct nt_dev *nt_dev(struct device *dev)
{
	struct nt_dev *d = container_of(dev, struct nt_dev, dev);

	if (READ_ONCE(d->gone))
		pp_fatal("a device is used that is gone");
	return d;
}

dma_addr_t dma_map_page_attrs(struct device *dev, struct page *page,
			      size_t offset, size_t size,
			      enum dma_data_direction dir, unsigned long attrs)
{
	u32 id = page_to_pfn(page) - NT_PFN0;
	struct nt_frame *f = &nt.frame[id];
	struct nt_dev *d = nt_dev(dev);

	if (offset || size != d->size || size != PAGE_SIZE << f->order || dir != d->dir)
		pp_fatal("page %u is mapped otherwise than asked for", id);
	if (!(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		pp_fatal("page %u is synced by mapping it", id);
	if (!f->allocated)
		pp_fatal("page %u is mapped, but free", id);
	if (pp_fails(PP_FAIL_DMA))
		return DMA_MAPPING_ERROR;
	if (__atomic_exchange_n(&f->mapped, 1, __ATOMIC_ACQ_REL))
		pp_fatal("page %u is mapped twice", id);
	__atomic_add_fetch(&nt.mapped_out, 1, __ATOMIC_RELAXED);
	nt_touch(id);
	f->fresh = true;
	f->gen++;
	f->size = size;
	f->dev = d;
	f->dirty = size;
	f->bounced = nt.bounce;
	if (nt.bounce)
		d->dev.dma_skip_sync = false;
	f->addr = NT_DMA_BASE + ((dma_addr_t)(f->gen % 64 * NT_FRAMES + id) << PAGE_SHIFT);
	if (nt.bad_addr && sizeof(dma_addr_t) > sizeof(long))
		f->addr += f->gen & 1 ? 8 : 1ULL << (PAGE_SHIFT + 32);
	if (!nt.threads)
		nt.n_map++;
	return f->addr;
}

void dma_unmap_page_attrs(struct device *dev, dma_addr_t addr, size_t size,
			  enum dma_data_direction dir, unsigned long attrs)
{
	u32 id = (addr - NT_DMA_BASE) / PAGE_SIZE % NT_FRAMES;
	struct nt_frame *f = &nt.frame[id];
	struct nt_dev *d = nt_dev(dev);

	if (!READ_ONCE(f->mapped))
		pp_fatal("page %u is unmapped, but not mapped", id);
	if (f->addr != addr || f->size != size || f->dev != d || dir != d->dir)
		pp_fatal("page %u is unmapped otherwise than it was mapped", id);
	if (!(attrs & DMA_ATTR_SKIP_CPU_SYNC))
		pp_fatal("page %u is synced by unmapping it", id);
	nt_touch(id);
	pp_point();
	if (!__atomic_exchange_n(&f->mapped, 0, __ATOMIC_ACQ_REL))
		pp_fatal("page %u is unmapped twice", id);
	pp_point();
	__atomic_sub_fetch(&nt.mapped_out, 1, __ATOMIC_RELAXED);
	if (nt.threads)
		return;
	nt.n_unmap++;
	if (nt.unmap_hook)
		nt.unmap_hook();
}

void __dma_sync_single_for_device(struct device *dev, dma_addr_t addr,
				  size_t size, enum dma_data_direction dir)
{
	struct nt_dev *d = nt_dev(dev);
	struct nt_frame *f;
	u32 id;

	if (addr >= NT_DMA_NIOV)
		id = NT_FRAMES + (addr - NT_DMA_NIOV - d->offset) / PAGE_SIZE;
	else
		id = (addr - NT_DMA_BASE - d->offset) / PAGE_SIZE % NT_FRAMES;
	if (id >= NT_ITEMS)
		pp_fatal("an address is synced that nothing has");
	f = &nt.frame[id];
	if (!READ_ONCE(f->mapped))
		pp_fatal("page %u is synced, but not mapped", id);
	if (addr != f->addr + d->offset || f->dev != d || dir != d->dir)
		pp_fatal("page %u is synced otherwise than it was mapped", id);
	if (size > d->max_len || d->offset + size > f->size)
		pp_fatal("page %u is synced beyond what the device writes", id);
	if (f->fresh ? size != d->max_len : d->want_len && size != d->want_len)
		pp_fatal("page %u: %u bytes are synced, not %u", id, (u32)size, d->want_len);
	pp_point();
	if (nt.threads) {
		if (!READ_ONCE(f->mapped))
			pp_fatal("page %u was unmapped while it was synced", id);
		return;
	}
	nt_touch(id);
	f->fresh = false;
	if (size >= f->dirty || size == d->max_len)
		f->dirty = 0;
	nt.n_sync++;
}

void __dma_sync_single_for_cpu(struct device *dev, dma_addr_t addr,
			       size_t size, enum dma_data_direction dir)
{
}
