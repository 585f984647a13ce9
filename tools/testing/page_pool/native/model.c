// SPDX-License-Identifier: GPL-2.0
/*
 * A model of page pools that is exact: it says of each step which page goes
 * where, what is counted, mapped, synced and released; and after each step page
 * pool, pages and DMA mappings must be as it says.
 *
 * One thread plays all CPUs: steps are whole calls, but sections stay open from
 * one step to another, so that what a CPU has staged is there while others
 * allocate, move the pool to another node, or destroy it. For what happens
 * within a call there are threads (threads.c) and models (../model).
 *
 * Steps are decoded from bytes, be they random or a fuzzer's.
 */
#include <net/page_pool/helpers.h>
#include <net/page_pool/memory_provider.h>
#include <net/netdev_rx_queue.h>
#include <net/xdp.h>

#include "page_pool_priv.h"
#include "world.h"
#include "native.h"

#define N_POOLS		4
#define N_REFS		12288
#define RING_MAX	1024
#define STAGE		PP_STAGE_SIZE
#define BIAS		(LONG_MAX / 2)
#define NONE		0xffff

/* Where a page is */
enum where {
	FREE,		/* page allocator's, or provider's */
	ARRAY, RING, STAGED,
	OUT,		/* users have all references */
	OPEN,		/* fragments are cut off it */
	LOOSE,		/* left its pool, but somebody had a page reference */
};

struct item {
	u8 where, pool;
	bool pfmemalloc;
	bool provided;		/* a page that a provider gave */
	bool mapped;
	long refs;		/* of the pool: pp_ref_count */
	u32 users;		/* entries in refs[] */
	u32 page_refs;		/* users' own, entries in page_refs[] */
};

enum provider { NO_PROVIDER, NIOVS, PAGES };

struct counters {
	u64 fast, slow, slow_high_order, empty, refill, waive;
	u64 cached, cache_full, ring, ring_full, refcnt, pfmemalloc, nid;
};

struct mpool {
	struct page_pool *pool;
	struct nt_dev *dev;
	struct napi_struct napi;
	bool live, destroyed, summed, system;
	u32 users;
	int cpuid;
	bool cpu_check;
	unsigned int flags, order;
	enum provider provider;
	bool can_stage, sync;		/* sync: as dma_sync */
	bool sync_check;
	bool polled;			/* has a NAPI */
	u32 offset, max_len;

	u32 n_array;
	u16 array[PP_ALLOC_CACHE_SIZE];

	u16 ring[RING_MAX];		/* NONE: empty */
	bool stale[RING_MAX];		/* taken, but producers see it full */
	u32 size, batch, head, tail, producer, in_ring;

	struct { u16 page[STAGE]; u32 n; } stage[PP_CPUS];	/* n == STAGE: none */

	u16 frag;
	u64 frag_offset;
	long frag_users;

	int nid, seen, want, served;
	bool node_check;
	u32 recheck;

	u32 hold, release;
	bool counts_inits;
	u32 inits;			/* calls of init_callback() */
	struct counters c, base;	/* base: what was there before */
};

static struct item items[NT_ITEMS];
static struct mpool pools[N_POOLS];
static struct { u16 id; u8 pool; } refs[N_REFS];
static u32 n_refs;
static u16 page_refs[N_REFS];
static u32 n_page_refs;
static bool section[PP_CPUS];
static bool greedy;			/* users keep most of what they get */
static u32 hoard;			/* steps that only allocate: thousands of pages */
static u64 sum_past[13];
#ifdef CONFIG_PAGE_POOL_STATS
static struct page_pool_stats_sum sum;
#endif
static struct counters system_base;
static u32 disconnected, disconnects;
static u16 niov_free[NT_NIOVS];
static u32 n_niov_free;
static struct net_device netdev = { .num_rx_queues = 1 };
static struct netdev_rx_queue rxq;

/* The step under way */
static u32 w_warn;		/* warnings that it shall bring */
static u32 w_sync;		/* syncs */
static u32 w_unmap;
static int cpu;			/* that runs it */

static void changed(u32 id)
{
	nt_touch(id);
}

/* -- where the steps come from */

static const u8 *data, *data_end;
static u32 rnd_state;
static u64 rnd_left;
static u32 rnd_word, rnd_have;
static bool over;

static u8 byte(void)
{
	if (data < data_end)
		return *data++;
	if (!rnd_left) {
		over = true;
		return 0;
	}
	if (!rnd_have) {
		rnd_state ^= rnd_state << 13;
		rnd_state ^= rnd_state >> 17;
		rnd_state ^= rnd_state << 5;
		rnd_word = rnd_state;
		rnd_have = 3;	/* the lowest bits of xorshift are poor */
	}
	rnd_have--;
	rnd_word >>= 8;
	return rnd_word;
}

static u32 word(void)
{
	u32 hi = byte();

	return hi << 8 | byte();
}

/* -- the ring, as the comments in ptr_ring.h say it works */

static bool m_produce(struct mpool *p, u16 id)
{
	if (!p->size || p->ring[p->producer] != NONE || p->stale[p->producer])
		return false;
	p->ring[p->producer] = id;
	p->producer = (p->producer + 1) % p->size;
	p->in_ring++;
	return true;
}

/* Slots are given back to producers in batches, and at the end of the queue. */
static u32 m_consume(struct mpool *p, u16 *to, u32 n)
{
	u32 got = 0, i;

	while (p->size && got < n) {
		u32 run = min(n - got, p->size - p->head);
		u32 left = run;

		while (left && p->ring[p->head] != NONE) {
			to[got++] = p->ring[p->head];
			p->ring[p->head] = NONE;
			p->stale[p->head++] = true;
			p->in_ring--;
			left--;
		}
		if (p->head - p->tail >= p->batch || p->head == p->size) {
			for (i = p->tail; i < p->head; i++)
				p->stale[i] = false;
			p->tail = p->head;
		}
		if (left)
			break;
		if (p->head == p->size) {
			p->head = 0;
			p->tail = 0;
		}
	}
	return got;
}

/* -- what the core does, said in terms of the model */

static bool in_bh(void)
{
	return in_softirq();
}

static void m_release(struct mpool *p, u16 id)
{
	struct item *it = &items[id];

	changed(id);
	p->release++;
	if (it->mapped) {
		it->mapped = false;
		w_unmap++;
	}
	if (id >= NT_FRAMES || !it->page_refs) {
		it->where = FREE;
		if (id >= NT_FRAMES)
			niov_free[n_niov_free++] = id - NT_FRAMES;
	} else {
		it->where = LOOSE;
	}
}

static bool m_nid_ok(struct mpool *p, u16 id)
{
	int nid = nt.frame[id].nid;

	return id >= NT_FRAMES || nid == p->want || nid == p->served;
}

static int m_resolve(int nid)
{
	if (nid == NUMA_NO_NODE || !node_online(nid))
		nid = numa_mem_id();
	return nid < NT_NODES ? nid : 1;
}

static void m_change_nid(struct mpool *p, int nid)
{
	p->seen = nid;
	nid = m_resolve(nid);
	if (nid == p->want && nid == p->served)
		return;
	p->want = nid;
	p->served = nid;
	if (!p->hold)
		return;
	p->node_check = true;
	p->recheck = p->size;
}

static void m_ring_full(struct mpool *p, u16 id)
{
	p->c.ring_full++;
	m_release(p, id);
}

static void m_put_ring(struct mpool *p, u16 id)
{
	if (m_produce(p, id)) {
		p->c.ring++;
		items[id].where = RING;
	} else {
		m_ring_full(p, id);
	}
}

static void m_put_ring_batch(struct mpool *p, u16 *ids, u32 n)
{
	u32 i;

	for (i = 0; i < n && m_produce(p, ids[i]); i++) {
		p->c.ring++;
		items[ids[i]].where = RING;
	}
	for (; i < n; i++)
		m_ring_full(p, ids[i]);
}

static u32 m_stage_filter(struct mpool *p, u16 *ids, u32 n)
{
	u32 i, kept = 0;

	if (!p->node_check)
		return n;
	for (i = 0; i < n; i++) {
		if (m_nid_ok(p, ids[i])) {
			ids[kept++] = ids[i];
		} else {
			p->c.nid++;
			m_release(p, ids[i]);
		}
	}
	return kept;
}

static void m_flush(struct mpool *p, int c)
{
	u32 n = m_stage_filter(p, p->stage[c].page, p->stage[c].n);

	p->stage[c].n = 0;
	m_put_ring_batch(p, p->stage[c].page, n);
}

static void m_stage_add(struct mpool *p, u16 id)
{
	u32 *n = &p->stage[cpu].n;

	if (!p->can_stage) {
		m_put_ring(p, id);
	} else if (*n == STAGE) {
		/* the first does not wait */
		*n = 0;
		m_put_ring(p, id);
	} else {
		p->stage[cpu].page[(*n)++] = id;
		items[id].where = STAGED;
		changed(id);
		if (*n == STAGE)
			m_flush(p, cpu);
	}
}

static bool m_in_section(void)
{
	return section[cpu] && !in_hardirq();
}

static bool m_polls(struct mpool *p)
{
	return p->polled && p->napi.list_owner == cpu;
}

static bool m_is_consumer(struct mpool *p)
{
	return m_polls(p) || p->cpuid == cpu;
}

static void m_put_array(struct mpool *p, u16 id)
{
	changed(id);
	if (p->n_array < PP_ALLOC_CACHE_SIZE) {
		p->array[p->n_array++] = id;
		p->c.cached++;
		items[id].where = ARRAY;
	} else {
		p->c.cache_full++;
		m_put_ring(p, id);
	}
}

static void m_park(struct mpool *p, u16 id, bool direct)
{
	changed(id);
	if (direct) {
		m_put_array(p, id);
	} else if (!m_in_section() || p->cpu_check) {
		if (in_hardirq()) {
			w_warn++;
			m_ring_full(p, id);
		} else if (in_bh() && m_is_consumer(p)) {
			m_put_array(p, id);
		} else {
			m_put_ring(p, id);
		}
	} else if (m_polls(p)) {
		m_put_array(p, id);
	} else {
		m_stage_add(p, id);
	}
}

/* A page without users: can it be used again? Lets go of it if not. */
static bool m_prepare(struct mpool *p, u16 id, u32 len)
{
	struct item *it = &items[id];

	changed(id);
	if (id < NT_FRAMES) {
		if (it->page_refs) {
			p->c.refcnt++;
			m_release(p, id);
			return false;
		}
		if (it->pfmemalloc) {
			p->c.pfmemalloc++;
			m_release(p, id);
			return false;
		}
		if (p->node_check && !m_nid_ok(p, id)) {
			p->c.nid++;
			m_release(p, id);
			return false;
		}
	}
	if (p->sync_check && !p->destroyed) {
		if (it->mapped || id >= NT_FRAMES)
			w_sync += id < NT_FRAMES || !p->dev->dev.dma_skip_sync;
	}
	return true;
}

static void m_put_unrefed(struct mpool *p, u16 id, u32 len, bool direct)
{
	if (m_prepare(p, id, len))
		m_park(p, id, direct);
}

/* A user gives back @n pool references. True if they were the last. */
static bool m_unref(u16 id, long n)
{
	struct item *it = &items[id];

	changed(id);
	it->refs -= n;
	if (it->refs)
		return false;
	it->refs = 1;
	return true;
}

static u16 m_array_start(struct mpool *p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		items[p->array[i]].where = ARRAY;
		changed(p->array[i]);
	}
	p->n_array = n - 1;
	return p->array[n - 1];
}

static u16 m_refill(struct mpool *p)
{
	u32 n = 0, i, kept = 0, foreign = 0;

	if (p->nid == NUMA_NO_NODE && p->seen != numa_mem_id())
		m_change_nid(p, numa_mem_id());

	if (!p->in_ring) {
		if (in_bh() && m_in_section() && p->stage[cpu].n != STAGE) {
			n = p->stage[cpu].n;
			p->stage[cpu].n = 0;
			n = m_stage_filter(p, p->stage[cpu].page, n);
			memcpy(p->array, p->stage[cpu].page, n * sizeof(u16));
			p->c.ring += n;
		}
		if (!n) {
			p->c.empty++;
			return NONE;
		}
	} else if (!p->recheck) {
		n = m_consume(p, p->array, PP_ALLOC_CACHE_REFILL);
	} else {
		do {
			u16 *from = &p->array[kept];

			n = m_consume(p, from, PP_ALLOC_CACHE_REFILL - max(kept, foreign));
			p->recheck -= min(n, p->recheck);
			for (i = 0; i < n; i++) {
				if (m_nid_ok(p, from[i])) {
					p->array[kept++] = from[i];
				} else {
					m_release(p, from[i]);
					foreign++;
				}
			}
		} while (n && max(kept, foreign) < PP_ALLOC_CACHE_REFILL);
		p->c.waive += foreign;
		n = kept;
	}
	if (!n)
		return NONE;
	p->c.refill++;
	return m_array_start(p, n);
}

static bool bad_addr(void)
{
	return nt.bad_addr && sizeof(dma_addr_t) > sizeof(long);
}

/* What came from outside must be what the world says has gone out. */
static u16 m_slow(struct mpool *p, u16 got)
{
	u32 n = nt.n_alloc, i, adopted, fail;

	if (p->provider) {
		if (got == NONE) {
			if (!nt.fail[PP_FAIL_PAGES].fired && n_niov_free &&
			    p->provider == NIOVS)
				pp_fatal("no niov came, for no reason");
			return NONE;
		}
		items[got] = (struct item){
			.where = OUT, .pool = p - pools, .refs = 1,
			.pfmemalloc = got < NT_FRAMES && page_is_pfmemalloc(nt_page(got)),
		};
		p->c.slow++;
		p->hold++;
		return got;
	}
	if (nt.lost)
		pp_fatal("too many pages were allocated");
	if (n > (p->order ? 1 : PP_ALLOC_CACHE_REFILL))
		pp_fatal("%u pages were allocated at once", n);
	for (adopted = 0; adopted < n; adopted++) {
		u16 id = nt.alloc[adopted];

		if (p->flags & PP_FLAG_DMA_MAP && !nt.frame[id].mapped)
			break;
		/* what came from the page allocator */
		items[id] = (struct item){
			.where = ARRAY, .pool = p - pools, .refs = 1,
			.mapped = !!(p->flags & PP_FLAG_DMA_MAP),
			.pfmemalloc = page_is_pfmemalloc(nt_page(id)),
		};
		p->hold++;
		p->array[adopted] = id;
		if (nt.frame[id].nid != p->served) {
			p->served = nt.frame[id].nid;
			p->node_check = true;
			p->recheck = p->size;
		}
	}
	if (nt.n_map && bad_addr()) {
		w_warn++;
	} else if (nt.n_map && p->sync && !p->dev->dev.dma_skip_sync) {
		p->sync_check = true;
		w_sync += nt.n_map;
	}
	/* The slow way to find mapped pages is for those that get no slot. */
	for (i = 0; i < adopted; i++) {
		u32 slots = p->pool->dma_cap;

		if (!items[nt.alloc[i]].mapped || netmem_get_dma_index(nt_netmem(nt.alloc[i])))
			continue;
		if (p->hold - p->release < slots && !nt.fail[PP_FAIL_SLAB].fired)
			pp_fatal("page %u has no slot, and there are some", nt.alloc[i]);
		if (p->pool->dma_limit - slots >= 512 && !nt.fail[PP_FAIL_SLAB].fired)
			pp_fatal("page %u has no slot, for no reason", nt.alloc[i]);
	}
	fail = nt.fail[PP_FAIL_DMA].fired + nt.fail[PP_FAIL_SLAB].fired + bad_addr();
	if (adopted < n && !fail)
		pp_fatal("%u of %u pages were not taken, for no reason", n - adopted, n);
	/* Those were mapped, perhaps, and given back. */
	for (i = adopted; i < n; i++) {
		items[nt.alloc[i]].where = FREE;
		w_unmap += nt.n_map > adopted && i == adopted;
	}
	if (!n && !nt.fail[PP_FAIL_PAGES].fired)
		for (i = 0; i < NT_NODES; i++)
			if (!nt.node_full[i] && nt_n_free[i][p->order])
				pp_fatal("no page came, for no reason");
	if (!adopted)
		return NONE;
	if (p->order)
		p->c.slow_high_order++;
	else
		p->c.slow++;
	return m_array_start(p, adopted);
}

/* Called after the core has; @got is what it returned. */
static u16 m_alloc(struct mpool *p, u16 got)
{
	u16 id;

	if (p->n_array) {
		p->c.fast++;
		id = p->array[--p->n_array];
	} else {
		id = m_refill(p);
		if (id == NONE)
			id = m_slow(p, got);
	}
	if (id != NONE) {
		items[id].where = OUT;
		changed(id);
	}
	return id;
}

static bool m_close_frag(struct mpool *p)
{
	u16 id = p->frag;

	p->frag = NONE;
	p->frag_offset = INT_MAX;
	if (items[id].where == OPEN)
		items[id].where = OUT;
	return m_unref(id, BIAS - p->frag_users);
}

static u16 m_frag(struct mpool *p, u32 size, u16 got, unsigned int *offset)
{
	u64 need = ALIGN((u64)size, __alignof__(struct skb_shared_info));
	u64 whole = PAGE_SIZE << p->order;
	u16 id = NONE;

	if (p->frag != NONE && p->frag_offset + need <= whole) {
		*offset = p->frag_offset;
		p->frag_offset += need;
		p->frag_users++;
		return p->frag;
	}
	if (need > whole) {
		w_warn++;
		return NONE;
	}
	if (p->frag != NONE) {
		id = p->frag;
		if (m_close_frag(p) && m_prepare(p, id, -1)) {
			p->c.cached++;
			p->c.fast++;
		} else {
			id = NONE;
		}
	}
	if (id == NONE) {
		id = m_alloc(p, got);
		if (id == NONE)
			return NONE;
	}
	items[id].refs = BIAS;
	items[id].where = OPEN;
	changed(id);
	p->frag = id;
	p->frag_users = 1;
	p->frag_offset = need;
	*offset = 0;
	return id;
}

/* -- users */

static void hold(struct mpool *p, u16 id)
{
	refs[n_refs].id = id;
	refs[n_refs++].pool = p - pools;
	items[id].users++;
}

static u16 unhold(u32 at)
{
	u16 id = refs[at].id;

	refs[at] = refs[--n_refs];
	items[id].users--;
	return id;
}

/* -- providers */

static netmem_ref niov_alloc(struct page_pool *pool, gfp_t gfp)
{
	netmem_ref netmem;
	u32 i;

	if (!n_niov_free || pp_fails(PP_FAIL_PAGES))
		return 0;
	i = niov_free[--n_niov_free];
	netmem = net_iov_to_netmem(&nt_niov[i]);
	nt_touch(NT_FRAMES + i);
	WRITE_ONCE(pool->pages_state_hold_cnt, pool->pages_state_hold_cnt + 1);
	page_pool_set_pp_info(pool, netmem);
	page_pool_set_dma_addr_netmem(netmem, nt.frame[NT_FRAMES + i].addr);
	return netmem;
}

static bool niov_release(struct page_pool *pool, netmem_ref netmem)
{
	if (atomic_long_read(netmem_get_pp_ref_count_ref(netmem)) != 1)
		pp_fatal("a niov is released with references");
	page_pool_clear_pp_info(netmem);
	return false;
}

static netmem_ref page_alloc(struct page_pool *pool, gfp_t gfp)
{
	struct page *page = alloc_pages_node(0, gfp | __GFP_COMP, pool->p.order);

	if (!page)
		return 0;
	WRITE_ONCE(pool->pages_state_hold_cnt, pool->pages_state_hold_cnt + 1);
	page_pool_set_pp_info(pool, page_to_netmem(page));
	return page_to_netmem(page);
}

static bool page_release(struct page_pool *pool, netmem_ref netmem)
{
	return true;
}

static int provider_fail;
static u32 provider_inits;

static int provider_init(struct page_pool *pool)
{
	int err = provider_fail;

	if (!err)
		provider_inits++;
	return err;
}

static void provider_destroy(struct page_pool *pool)
{
	pp_might_sleep();
	if (page_pool_inflight(pool, false))
		pp_fatal("a provider goes before its memory came back");
	provider_inits--;
}

static const struct memory_provider_ops niov_ops = {
	.alloc_netmems = niov_alloc,
	.release_netmem = niov_release,
	.init = provider_init,
	.destroy = provider_destroy,
};

static const struct memory_provider_ops page_ops = {
	.alloc_netmems = page_alloc,
	.release_netmem = page_release,
	.init = provider_init,
	.destroy = provider_destroy,
};

struct netdev_rx_queue *__netif_get_rx_queue(struct net_device *dev, unsigned int q)
{
	if (q)
		pp_fatal("queue %u is asked for", q);
	return &rxq;
}

/* -- page_pool_user.c */

static u32 listed;
static bool list_fails;

int page_pool_list(struct page_pool *pool)
{
	if (list_fails)
		return -ENOMEM;
	listed++;
	return 0;
}

static u32 detached;

void page_pool_detached(struct page_pool *pool)
{
	detached++;
}

void page_pool_unlist(struct page_pool *pool)
{
	pp_might_sleep();
	listed--;
}

void page_pool_unlink_napi(struct page_pool *pool)
{
	WRITE_ONCE(pool->p.napi, NULL);
}

static void disconnect(void *pool)
{
	pp_might_sleep();
	disconnected++;
}

/* -- after each step */

static const char *const where_names[] = {
	"free", "in the array", "in the ring", "staged", "out", "open", "loose"
};

static void check_item(u32 id)
{
	const struct item *it = &items[id];
	const struct nt_frame *f = &nt.frame[id];
	netmem_ref netmem = nt_netmem(id);
	bool pooled = it->where != FREE && it->where != LOOSE;
	long refs;

	if (id < NT_FRAMES) {
		struct page *page = nt_page(id);

		bool free = it->where == FREE;

		if (f->allocated == free)
			pp_fatal("page %u is %s, the page allocator says it is %s", id,
				 where_names[it->where], f->allocated ? "not free" : "free");
		if (f->mapped != it->mapped)
			pp_fatal("page %u, %s, is %smapped", id, where_names[it->where],
				 f->mapped ? "" : "not ");
		if (f->allocated && page_ref_count(page) != (int)(pooled + it->page_refs))
			pp_fatal("page %u, %s, has %d references, not %d", id,
				 where_names[it->where], page_ref_count(page),
				 (int)(pooled + it->page_refs));
		if (it->where == LOOSE && (netmem_is_pp(netmem) || page->pp))
			pp_fatal("page %u left its pool with marks", id);
		if (it->mapped && page_pool_get_dma_addr(page) != f->addr)
			pp_fatal("page %u has another address than it was mapped to", id);
	}
	if (!pooled)
		return;
	refs = atomic_long_read(netmem_get_pp_ref_count_ref(netmem));
	if (refs != it->refs)
		pp_fatal("page %u, %s, has %ld pool references, not %ld", id,
			 where_names[it->where], refs, it->refs);
	if (!netmem_is_pp(netmem) || netmem_get_pp(netmem) != pools[it->pool].pool)
		pp_fatal("page %u, %s, is not marked as its pool's", id, where_names[it->where]);
	/* What goes to the device next is what the CPU left there. */
	if ((it->where == ARRAY || it->where == RING) && it->mapped && f->bounced &&
	    f->dirty && pools[it->pool].sync)
		pp_fatal("page %u is parked with %u bytes not synced", id, f->dirty);
}

#ifdef CONFIG_PAGE_POOL_STATS
static void to_words(const struct counters *c, u64 *w)
{
	memcpy(w, c, sizeof(*c));
}

static u64 out_of(const struct counters *c)
{
	return c->fast + c->slow + c->slow_high_order + c->refill - c->cached - c->ring -
	       c->ring_full - c->refcnt - c->pfmemalloc - c->nid;
}

static void check_stats(struct mpool *p)
{
	static const char names[13][16] = {
		"fast", "slow", "slow_high_order", "empty", "refill", "waive", "cached",
		"cache_full", "ring", "ring_full", "refcnt", "pfmemalloc", "nid"
	};
	struct page_pool_stats stats = { };
	u64 is[13], is_to_be[13], base[13];
	u32 i;

	static_assert(sizeof(stats) == sizeof(is));
	page_pool_get_stats(p->pool, &stats);
	memcpy(is, &stats, sizeof(is));
	to_words(&p->c, is_to_be);
	to_words(&p->base, base);
	for (i = 0; i < 13; i++)
		if (is[i] != is_to_be[i] + base[i])
			pp_fatal("pool %d: %s is %lld, not %lld", (int)(p - pools), names[i],
				 is[i], is_to_be[i] + base[i]);
	if (out_of(&p->c) != p->hold - p->release - p->n_array - p->in_ring)
		pp_fatal("pool %d: counters do not add up", (int)(p - pools));
}

static void check_sum(void)
{
	u8 strings[14 * ETH_GSTRING_LEN];
	u64 is[13], is_to_be[13], w[13], ethtool[14];
	struct page_pool_stats stats = { };
	u32 i, j;

	page_pool_stats_sum_get(&sum, &stats);
	memcpy(is, &stats, sizeof(is));
	memcpy(is_to_be, sum_past, sizeof(is_to_be));
	for (i = 0; i < N_POOLS; i++) {
		if (!pools[i].live || !pools[i].summed || pools[i].destroyed)
			continue;
		to_words(&pools[i].c, w);
		for (j = 0; j < 13; j++)
			is_to_be[j] += w[j];
	}
	for (i = 0; i < 13; i++)
		if (is[i] != is_to_be[i])
			pp_fatal("counter %u of the sum is %lld, not %lld", i, is[i], is_to_be[i]);

	if (page_pool_ethtool_stats_get_count() != 13 ||
	    page_pool_ethtool_stats_sum_get(ethtool, &sum) != ethtool + 13 ||
	    memcmp(ethtool, is, sizeof(is)))
		pp_fatal("ethtool shows other counters");
	if (page_pool_ethtool_stats_get_strings(strings) != strings + 13 * ETH_GSTRING_LEN ||
	    memcmp(strings, "rx_pp_alloc_fast", 17))
		pp_fatal("ethtool shows other names");
}
#else
static void check_stats(struct mpool *p)
{
}

static void check_sum(void)
{
}
#endif

#define SAME(what, is, to_be)							\
do {										\
	long __is = (long)(is), __to_be = (long)(to_be);			\
	if (__is != __to_be)							\
		pp_fatal("pool %d: " what " is %ld, not %ld", (int)(p - pools),	\
			 __is, __to_be);					\
} while (0)

static void check_pool(struct mpool *p)
{
	struct page_pool *pool = p->pool;
	const char *wrong __maybe_unused;
	u32 i, j;

	if (p->counts_inits)
		SAME("pages initialised", p->inits, p->hold);
	SAME("hold count", pool->pages_state_hold_cnt, p->hold);
	SAME("release count", atomic_read(&pool->pages_state_release_cnt), p->release);
	SAME("destroyed", pool->destroyed, p->destroyed);
	SAME("pages in the array", page_pool_array_count(pool), p->n_array);
	for (i = 0; i < p->n_array; i++)
		SAME("page in the array", nt_id(pool->cache[i]), p->array[i]);
	SAME("ring size", pool->ring.size, p->size);
	if (p->size) {
		SAME("producer", pool->ring.producer, p->producer);
		SAME("consumer", pool->ring.consumer_head, p->head);
		SAME("tail", pool->ring.consumer_tail, p->tail);
	}
	for (i = 0; i < p->size; i++) {
		void *ptr = pool->ring.queue[i];

		if (p->ring[i] != NONE)
			SAME("page in the ring", ptr ? nt_id((netmem_ref)ptr) : -1, p->ring[i]);
		else
			SAME("slot of the ring", !!ptr, p->stale[i]);
	}
	for (j = 0; j < PP_CPUS; j++) {
		struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, j);

		SAME("staged pages", pcpu->stage_next, p->stage[j].n);
		for (i = 0; p->stage[j].n != STAGE && i < p->stage[j].n; i++)
			SAME("staged page", nt_id(pcpu->staged[i]), p->stage[j].page[i]);
	}
	SAME("open page", pool->frag_page ? nt_id(pool->frag_page) : NONE, p->frag);
	SAME("fragment offset", pool->frag_offset, p->frag_offset);
	if (p->frag != NONE)
		SAME("fragments", pool->frag_users, p->frag_users);
	SAME("node", pool->p.nid, p->nid);
	SAME("wanted node", pool->nid_want, p->want);
	SAME("node that served", pool->nid_served, p->served);
	SAME("node check", pool->node_check, p->node_check);
	SAME("entries to check", pool->nid_recheck, p->recheck);
	SAME("sync check", pool->sync_check && !p->destroyed,
	     p->sync_check && !p->destroyed);
	SAME("CPU", pool->cpuid, p->cpuid);
	SAME("users", refcount_read(&pool->user_cnt), p->users);
	check_stats(p);
#ifdef CONFIG_PAGE_POOL_VALIDATE
	wrong = page_pool_validate(pool);
	if (wrong)
		pp_fatal("pool %d: %s", (int)(p - pools), wrong);
#endif
}

static void check_step(struct nt_opt *opt)
{
	u32 i, inside = 0;

	if (pp_warnings != w_warn)
		pp_fatal("%lu warnings, not %u; the last from %s:%d", pp_warnings, w_warn,
			 nt.warned_file ?: "nowhere", nt.warned_line);
	if (nt.n_sync != w_sync)
		pp_fatal("%u syncs, not %u", nt.n_sync, w_sync);
	if (nt.n_unmap != w_unmap)
		pp_fatal("%u pages unmapped, not %u", nt.n_unmap, w_unmap);
	for (i = 0; i < nt.n_touched; i++)
		check_item(nt.touched[i]);
	for (i = 0; i < PP_CPUS; i++)
		if (section[i])
			inside |= BIT(i);
	nt_quiescent(~inside);
	if (opt->steps++ % opt->deep)
		return;
	opt->checks++;
	for (i = 0; i < N_POOLS; i++)
		if (pools[i].live)
			check_pool(&pools[i]);
}

static void step_begin(void)
{
	int i;

	nt.step++;
	nt_step_begin();
	pp_warnings = 0;
	nt.warned_file = NULL;
	w_warn = 0;
	w_sync = 0;
	w_unmap = 0;
	for (i = 0; i < PP_FAILS; i++)
		nt.fail[i].fired = 0;
	for (i = 0; i < N_POOLS; i++)
		if (pools[i].live && !pools[i].destroyed)
			pools[i].dev->want_len = pools[i].max_len;
}

/* -- contexts */

enum context { TASK, BH, BH_IRQS_OFF, HARDIRQ };

static enum context context;

static void enter(int c, enum context ctx)
{
	cpu = c;
	context = ctx;
	pp_enter(c);
	if (ctx == BH || ctx == BH_IRQS_OFF)
		local_bh_disable();
	if (ctx == BH_IRQS_OFF)
		pp_irqs_off = true;
	if (ctx == HARDIRQ) {
		__this_cpu_add(pcpu_hot.preempt_count, 0x10000);
		pp_irqs_off = true;
	}
}

static void leave(void)
{
	if (context == HARDIRQ)
		__this_cpu_add(pcpu_hot.preempt_count, -0x10000);
	pp_irqs_off = false;
	if (context == BH || context == BH_IRQS_OFF)
		local_bh_enable();
	if (!in_softirq() != !section[cpu] || in_hardirq())
		pp_fatal("CPU %d: preempt count is %x", cpu, preempt_count());
}

/* A task that may sleep needs a CPU without a section. */
static bool enter_task(int c)
{
	int i;

	for (i = 0; i < PP_CPUS; i++, c = (c + 1) % PP_CPUS) {
		if (!section[c]) {
			enter(c, TASK);
			return true;
		}
	}
	return false;
}

static void enter_any(u8 b)
{
	enter(b % PP_CPUS, b / PP_CPUS % 4 == 3 ? BH_IRQS_OFF : b / PP_CPUS % 2 ? BH : TASK);
}

/* Allocations may sleep where that is so. */
static gfp_t gfp_here(void)
{
	return in_softirq() || irqs_disabled() ? GFP_ATOMIC | __GFP_NOWARN : GFP_KERNEL;
}

/* -- steps */

static bool verbose;
#define say(fmt, ...)								\
do {										\
	if (unlikely(verbose))							\
		printf(fmt, ##__VA_ARGS__);					\
} while (0)

static void init_callback(netmem_ref netmem, void *arg)
{
	struct mpool *p = arg;

	if (!netmem_is_pp(netmem) || atomic_long_read(netmem_get_pp_ref_count_ref(netmem)) != 1)
		pp_fatal("the callback gets memory that is not marked");
	p->inits++;
}

static struct mpool *any_pool(bool usable)
{
	u32 i, at = byte() % N_POOLS;

	for (i = 0; i < N_POOLS; i++) {
		struct mpool *p = &pools[(at + i) % N_POOLS];

		if (p->live && !(usable && p->destroyed))
			return p;
	}
	return NULL;
}

static void step_create(void)
{
	static const u16 sizes[] = {
		1, 2, 3, 15, 16, 17, 32, 63, 64, 65, 66, 100, 128, 200, 256, 0,
	};
	struct page_pool_params params = { };
	u8 how = byte(), what = byte(), more = byte();
	struct mpool *p = NULL;
	bool fired, wrong = false;
	struct page_pool *pool;
	int i, cpuid = -1;

	for (i = 0; i < N_POOLS; i++)
		if (!pools[i].live)
			p = &pools[i];
	if (!p || !enter_task(how % PP_CPUS))
		return;

	memset(p, 0, sizeof(*p));
	params.pool_size = sizes[what % 16];
	params.order = what / 16 % 8 < NT_ORDERS ? what / 16 % 8 : 0;
	params.nid = more % 4 == 3 ? NUMA_NO_NODE : more % 4;
	if (more / 4 % 16 == 15)
		params.nid = NT_NODE_OFF;
	if (how & 8) {
		params.flags |= PP_FLAG_DMA_MAP;
		if (how & 16)
			params.flags |= PP_FLAG_DMA_SYNC_DEV;
	}
	params.dma_dir = more & 64 ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
	params.offset = more & 128 ? 64 : 0;
	params.max_len = 1 + (more * 37) % (PAGE_SIZE - 64);
	if (how & 32) {
		params.napi = &p->napi;
		p->napi.list_owner = -1;
		p->polled = true;
	}
	switch (byte() % 16) {
	case 0:
		p->provider = NIOVS;
		break;
	case 1:
		p->provider = PAGES;
		break;
	case 2:
		cpuid = byte() % PP_CPUS;
		for (i = 0; i < N_POOLS; i++)
			if (pools[i].live && pools[i].system)
				break;
		if (i == N_POOLS) {
			p->system = true;
			params.flags |= PP_FLAG_SYSTEM_POOL;
		}
		break;
	case 3:
		cpuid = byte() % PP_CPUS;
		break;
	case 4:
		/* what no pool can be made of */
		wrong = true;
		switch (byte() % 8) {
		case 0:
			params.flags |= BIT(4);
			break;
		case 1:
			params.nid = MAX_NUMNODES;
			break;
		case 2:
			params.nid = -2;
			break;
		case 3:
			params.flags = PP_FLAG_DMA_MAP;
			params.dma_dir = DMA_TO_DEVICE;
			break;
		case 4:
			params.flags = PP_FLAG_DMA_SYNC_DEV;
			break;
		case 5:
			params.flags = PP_FLAG_DMA_SYNC_DEV | PP_FLAG_DMA_MAP;
			params.max_len = 0;
			break;
		case 6:
			params.order = MAX_PAGE_ORDER + 1;
			break;
		case 7:
			params.flags |= PP_FLAG_ALLOW_UNREADABLE_NETMEM;
			params.netdev = &netdev;
			params.queue_idx = 1;
			break;
		}
		break;
	case 5:
		list_fails = true;
		wrong = true;
		break;
	}
	if (p->provider) {
		params.flags |= PP_FLAG_ALLOW_UNREADABLE_NETMEM;
		params.netdev = &netdev;
		rxq.mp_params.mp_ops = p->provider == NIOVS ? &niov_ops : &page_ops;
		if ((params.flags & 3) != 3 || p->provider == NIOVS) {
			/* one pool of niovs at a time */
			for (i = 0; i < N_POOLS; i++)
				if (&pools[i] != p && pools[i].live && pools[i].provider == NIOVS)
					wrong = true;
			if (wrong && p->provider == NIOVS)
				goto out;
			wrong = (params.flags & 3) != 3;
		}
		if (byte() % 16 == 0) {
			provider_fail = -ENODEV;
			wrong = true;
		}
	}
	p->dev = pp_kmalloc(sizeof(*p->dev), GFP_KERNEL | __GFP_ZERO);
	if (!p->dev)
		goto out;
	p->dev->dev.dma_skip_sync = true;
	p->dev->dir = params.dma_dir;
	p->dev->offset = params.offset;
	p->dev->max_len = params.max_len;
	p->dev->want_len = params.max_len;
	p->dev->size = PAGE_SIZE << params.order;
	params.dev = &p->dev->dev;

	if (byte() % 4 == 0) {
		params.init_callback = init_callback;
		params.init_arg = p;
		p->counts_inits = true;
	}

	pool = cpuid == -1 ? page_pool_create(&params) : page_pool_create_percpu(&params, cpuid);
	fired = nt.fail[PP_FAIL_SLAB].fired || nt.fail[PP_FAIL_PERCPU].fired;
	say("create pool %d: size %u order %u flags %x nid %d cpu %d provider %d: %s\n",
	    (int)(p - pools), params.pool_size, params.order, params.flags, params.nid, cpuid,
	    p->provider, IS_ERR(pool) ? "refused" : "made");
	if (IS_ERR(pool)) {
		if (!wrong && !fired)
			pp_fatal("a pool is refused for no reason: %ld", PTR_ERR(pool));
		if (fired && !wrong && PTR_ERR(pool) != -ENOMEM)
			pp_fatal("no memory, but error %ld", PTR_ERR(pool));
		kfree(p->dev);
		goto out;
	}
	if (wrong)
		pp_fatal("a pool was made that cannot be");

	p->pool = pool;
	p->live = true;
	p->users = 1;
	p->cpuid = cpuid;
	p->cpu_check = cpuid >= 0;
	p->flags = params.flags;
	p->order = params.order;
	p->offset = params.offset;
	p->max_len = params.max_len;
	p->sync = !!(params.flags & PP_FLAG_DMA_SYNC_DEV);
	p->sync_check = p->provider && p->sync;
	p->size = params.pool_size ?: 1024;
	p->can_stage = p->size >= 64 && !p->provider && !p->system;
	p->batch = 128 / sizeof(void *);
	if (p->batch > p->size / 2 || !p->batch)
		p->batch = 1;
	for (i = 0; i < RING_MAX; i++)
		p->ring[i] = NONE;
	for (i = 0; i < PP_CPUS; i++)
		p->stage[i].n = STAGE;
	p->frag = NONE;
	p->frag_offset = INT_MAX;
	p->nid = params.nid;
	p->seen = params.nid;
	p->want = m_resolve(params.nid);
	p->served = p->want;
	if (p->system)
		p->base = system_base;
	/* as on a machine with few bits in pp_magic */
	if (byte() % 4 == 0)
		pool->dma_limit = min(pool->dma_limit, byte() % 2 * 512U);
	if (p->provider == NIOVS) {
		for (i = 0; i < NT_NIOVS; i++) {
			struct nt_frame *f = &nt.frame[NT_FRAMES + i];

			f->mapped = 1;
			f->addr = NT_DMA_NIOV + ((u64)i << PAGE_SHIFT);
			f->size = PAGE_SIZE;
			f->dev = p->dev;
		}
		p->dev->dev.dma_skip_sync = byte() % 2;
	}
#ifdef CONFIG_PAGE_POOL_STATS
	if (!p->system && byte() % 2) {
		page_pool_stats_sum_add(&sum, pool);
		p->summed = true;
	}
#endif
	if (byte() % 8 == 0) {
		struct xdp_mem_info mem = { .id = 7 };

		page_pool_use_xdp_mem(pool, disconnect, &mem);
		p->users++;
		disconnects++;
	}
out:
	list_fails = false;
	provider_fail = 0;
	leave();
}

static void pool_gone(struct mpool *p)
{
	say("pool %d is gone\n", (int)(p - pools));
#ifdef __SANITIZE_ADDRESS__
	__asan_unpoison_memory_region(p->dev, sizeof(*p->dev));
#endif
	kfree(p->dev);
	p->live = false;
	if (p->system) {
		u64 c[13], base[13];
		u32 i;

		/* The next one goes on where it stopped; allocation is its own. */
		memcpy(c, &p->c, sizeof(c));
		memcpy(base, &p->base, sizeof(base));
		for (i = 0; i < 13; i++)
			base[i] = i < 6 + PP_FILL_IS_COUNTED ? 0 : base[i] + c[i];
		memcpy(&system_base, base, sizeof(base));
	}
}

static void m_put(u32 at, u32 len, bool direct)
{
	struct mpool *p = &pools[refs[at].pool];
	u16 id = unhold(at);

	if (m_unref(id, 1))
		m_put_unrefed(p, id, len, direct);
}

/* How much a user touched, and what it says of that when it puts */
static u32 touch(struct mpool *p, u16 id, u8 how)
{
	struct nt_frame *f = &nt.frame[id];
	u32 len = how % 4 ? -1 : 1 + how * 16 % p->max_len;

	if (!f->dirty)
		f->dirty = min(1 + how * 8 % p->max_len, len);
	if (len < f->dirty)
		len = -1;
	p->dev->want_len = min(len, p->max_len);
	return len;
}

/* Puts from hardirq are reported, and mostly survived: not where a lock is
 * needed to unmap the page.
 */
static bool can_put(const struct mpool *p, u16 id)
{
	return context != HARDIRQ || p->provider == NIOVS || !(p->flags & PP_FLAG_DMA_MAP) ||
	       (!p->destroyed && netmem_get_dma_index(nt_netmem(id)));
}

static void put_one(u32 at, u8 how, bool direct, bool netmem)
{
	struct mpool *p = &pools[refs[at].pool];
	u16 id = refs[at].id;
	u32 len = -1;

	if (!can_put(p, id))
		return;
	if (!p->destroyed)
		len = touch(p, id, how);
	say("put %u of pool %d on CPU %d, context %d%s%s, sync %d\n", id, (int)(p - pools), cpu,
	    context, section[cpu] ? ", in a section" : "", direct ? ", direct" : "", (int)len);
	if (netmem || id >= NT_FRAMES)
		page_pool_put_netmem(p->pool, nt_netmem(id), len, direct);
	else
		page_pool_put_page(p->pool, nt_page(id), len, direct);
	m_put(at, len, direct);
}

/* Pages of any pools, by a CPU in any context */
static void step_put(u8 n)
{
	u8 b = byte(), how = byte();
	bool direct;

	if (greedy && n_refs < N_REFS - 128 && how & 112)
		return;
	if (b & 128)
		enter(b % PP_CPUS, b & 64 ? HARDIRQ : BH);
	else
		enter_any(b);
	while (n-- && n_refs) {
		u32 at = word() % n_refs;
		struct mpool *p = &pools[refs[at].pool];

		/* a run of them, as a packet's are */
		direct = how & 4 && in_softirq() && context != HARDIRQ && !p->destroyed;
		put_one(at, how, direct, how & 8);
	}
	leave();
}

/* In the middle of page_pool_destroy(), when the ring is empty but not closed */
static void put_meanwhile(void)
{
	int back = cpu;
	enum context was = context;
	u32 n = byte() % 24;

	nt.hook = NULL;
	while (n-- && n_refs) {
		u32 at = word() % n_refs;
		u8 b = byte();

		pp_irqs_off = false;
		enter(b % PP_CPUS == back ? (back + 1) % PP_CPUS : b % PP_CPUS,
		      section[b % PP_CPUS] ? BH : b & 8 ? BH : TASK);
		put_one(at, byte(), false, false);
		leave();
	}
	cpu = back;
	context = was;
	pp_enter(cpu);
}

static void m_unmapped(struct mpool *p, u16 id)
{
	if (items[id].pool != p - pools || !items[id].mapped)
		return;
	items[id].mapped = false;
	w_unmap++;
	changed(id);
}

/* What has become of a pool when page_pool_destroy() looks who is to free it */
static struct mpool *dying;
static bool nobody_out;

static void m_destroyed(struct mpool *p)
{
	u16 got[PP_ALLOC_CACHE_SIZE];
	u32 i, j, n;

	/* who got in is found */
	while (p->in_ring) {
		n = m_consume(p, got, PP_ALLOC_CACHE_SIZE);
		for (i = 0; i < n; i++)
			m_release(p, got[i]);
	}
	p->size = 0;
	if (p->flags & PP_FLAG_DMA_MAP && !p->provider) {
		for (i = 0; i < n_refs; i++)
			m_unmapped(p, refs[i].id);
		for (j = 0; j < PP_CPUS; j++)
			for (i = 0; p->stage[j].n != STAGE && i < p->stage[j].n; i++)
				m_unmapped(p, p->stage[j].page[i]);
	}
#ifdef CONFIG_PAGE_POOL_STATS
	if (p->summed) {
		u64 w[13];

		to_words(&p->c, w);
		if ((s64)out_of(&p->c) > 0)
			w[9] += out_of(&p->c);
		for (i = 0; i < 13; i++)
			sum_past[i] += w[i];
	}
#endif
	p->destroyed = true;
	nobody_out = p->hold == p->release;
}

/* There, too, others may put pages, and the last one. */
static void put_at_the_end(void)
{
	pp_mb_hook = NULL;
	m_destroyed(dying);
	put_meanwhile();
}

static void step_destroy(struct mpool *p, bool meanwhile)
{
	u16 got[PP_ALLOC_CACHE_SIZE];
	u32 i, n;

	if (!p || !enter_task(byte() % PP_CPUS))
		return;
	say("destroy pool %d, users %u\n", (int)(p - pools), p->users);
	if (--p->users) {
		page_pool_destroy(p->pool);
		leave();
		return;
	}

	/* up to where others come in between */
	p->cpuid = -1;
	p->polled = false;
	if (p->frag != NONE) {
		u16 id = p->frag;

		if (m_close_frag(p))
			m_ring_full(p, id);
	}
	for (i = 0; i < p->n_array; i++)
		m_release(p, p->array[i]);
	p->n_array = 0;
	while (p->in_ring) {
		n = m_consume(p, got, PP_ALLOC_CACHE_SIZE);
		for (i = 0; i < n; i++)
			m_release(p, got[i]);
	}

	dying = p;
	if (meanwhile)
		nt.hook = put_meanwhile;
	if (byte() % 2)
		pp_mb_hook = put_at_the_end;
	page_pool_destroy(p->pool);
	nt.hook = NULL;
	pp_mb_hook = NULL;

	if (!p->destroyed)
		m_destroyed(p);
	/* The device may be gone from here on, and looks as if it were. */
	p->dev->gone = true;
	p->dev->dev.dma_skip_sync = false;
#ifdef __SANITIZE_ADDRESS__
	__asan_poison_memory_region(p->dev, sizeof(*p->dev));
#endif
	/* Who lets the last page go leaves the rest to the workqueue. */
	if (nobody_out)
		pool_gone(p);
	leave();
}

/* The workqueue gets to run: pools whose last page came home are freed. */
static void step_work(void)
{
	u32 i;

	if (!enter_task(byte() % PP_CPUS))
		return;
	say("work\n");
	pp_run_work();
	for (i = 0; i < N_POOLS; i++)
		if (pools[i].live && pools[i].destroyed && pools[i].hold == pools[i].release)
			pool_gone(&pools[i]);
	leave();
}

static void handed_out(struct mpool *p, u16 id, u16 expected)
{
	if (id != expected)
		pp_fatal("pool %d hands out %d, not %d", (int)(p - pools),
			 id == NONE ? -1 : id, expected == NONE ? -1 : expected);
}

static void step_alloc(u8 n)
{
	u8 b = byte(), how = byte();
	struct mpool *p = any_pool(true);
	u16 got;

	if (!p)
		return;
	enter_any(b);
	while (n-- && n_refs < N_REFS - 1) {
		netmem_ref netmem;

		if (how & 1 || p->provider == NIOVS) {
			netmem = page_pool_alloc_netmems(p->pool, gfp_here());
		} else {
			struct page *page = page_pool_alloc_pages(p->pool, gfp_here());

			netmem = page ? page_to_netmem(page) : 0;
		}
		got = netmem ? nt_id(netmem) : NONE;
		say("alloc from pool %d on CPU %d, context %d: %d\n", (int)(p - pools), cpu,
		    context, got == NONE ? -1 : got);
		handed_out(p, got, m_alloc(p, got));
		if (got == NONE)
			break;
		hold(p, got);
		/* one call of the page allocator a step, for the model's sake */
		if (nt.n_alloc || nt.n_map)
			break;
	}
	leave();
}

static void step_frag(void)
{
	u8 b = byte(), how = byte();
	struct mpool *p = any_pool(true);
	u8 n = 1 + byte() % 8;

	if (!p || n_refs >= N_REFS - 8)
		return;
	enter_any(b);
	while (n--) {
		unsigned int offset = -1, to_be = -1, size, s;
		u32 whole = PAGE_SIZE << p->order;
		netmem_ref netmem;
		struct page *page;
		u16 got, id;

		/* sometimes more than there is */
		if ((how & 7) == 7)
			size = how & 32 ? word() * 16 : -1 - byte();
		else
			size = 1 + word() % (whole / (1 + how % 8));
		s = size;
		if (how & 8 || p->provider == NIOVS) {
			netmem = page_pool_alloc_frag_netmem(p->pool, &offset, size, gfp_here());
			got = netmem ? nt_id(netmem) : NONE;
			id = m_frag(p, size, got, &to_be);
		} else if (how & 16) {
			page = page_pool_alloc_frag(p->pool, &offset, size, gfp_here());
			got = page ? nt_id(page_to_netmem(page)) : NONE;
			id = m_frag(p, size, got, &to_be);
		} else {
			size = min(size, whole);
			s = size;
			page = page_pool_alloc(p->pool, &offset, &s, gfp_here());
			got = page ? nt_id(page_to_netmem(page)) : NONE;
			if (size > whole / 2) {
				id = m_alloc(p, got);
				to_be = 0;
				offset = id == NONE ? 0 : offset;
			} else {
				id = m_frag(p, size, got, &to_be);
				/* The last that fits gets the rest. */
				if (id != NONE && p->frag_offset + size > whole)
					p->frag_offset = whole;
			}
			if (id != NONE && (s < size || s > whole - offset))
				pp_fatal("%u bytes at %u of %u", s, offset, whole);
		}
		say("fragment of %u bytes from pool %d on CPU %d: %d at %u\n", size,
		    (int)(p - pools), cpu, got == NONE ? -1 : got, offset);
		handed_out(p, got, id);
		if (got == NONE)
			break;
		if (offset != to_be || offset + (u64)size > whole)
			pp_fatal("page %u: %u bytes at %u, not %u", got, size, offset, to_be);
		hold(p, got);
		if (nt.n_alloc || nt.n_map)
			break;
	}
	leave();
}

/* Addresses in pages of one pool, given back at once */
static void step_bulk(void)
{
	u8 b = byte(), want = 1 + byte() % 40;
	void *addrs[40];
	u16 ids[40], batch[40];
	u32 n = 0, m = 0, i;
	struct mpool *p;
	bool direct;

	if (!n_refs)
		return;
	p = &pools[refs[word() % n_refs].pool];
	if (p->provider == NIOVS)
		return;
	if (b & 128)
		enter(b % PP_CPUS, b & 64 ? HARDIRQ : BH);
	else
		enter_any(b);
	while (n < want && n_refs) {
		u32 at = word() % n_refs;

		for (i = 0; i < 16 && i < n_refs; i++, at = (at + 1) % n_refs)
			if (&pools[refs[at].pool] == p)
				break;
		if (&pools[refs[at].pool] != p)
			break;
		if (!can_put(p, refs[at].id))
			break;
		ids[n] = unhold(at);
		addrs[n] = (char *)page_address(nt_page(ids[n])) +
			   byte() * 16 % (PAGE_SIZE << p->order);
		n++;
	}
	say("bulk of %u to pool %d on CPU %d, context %d\n", n, (int)(p - pools), cpu, context);
	page_pool_put_page_bulk(p->pool, addrs, n);

	direct = context != HARDIRQ && in_softirq() && m_is_consumer(p);
	for (i = 0; i < n; i++) {
		if (!m_unref(ids[i], 1) || !m_prepare(p, ids[i], -1))
			continue;
		if (direct && p->n_array < PP_ALLOC_CACHE_SIZE) {
			m_put_array(p, ids[i]);
			continue;
		}
		if (direct)
			p->c.cache_full++;
		batch[m++] = ids[i];
	}
	if (context == HARDIRQ) {
		for (i = 0; i < m; i++) {
			w_warn++;
			m_ring_full(p, batch[i]);
		}
	} else if (m < STAGE / 2 && m_in_section() && p->can_stage) {
		for (i = 0; i < m; i++)
			m_stage_add(p, batch[i]);
	} else {
		m_put_ring_batch(p, batch, m);
	}
	leave();
}

/* A section that is ending lets a page go, that is reported, and the console
 * that sends the report frees a packet. Only pages of pools that this CPU has
 * staged nothing of, for the model's sake.
 */
static void put_while_ending(void)
{
	u32 at;

	nt.unmap_hook = NULL;
	if (page_pool_batch_begin())
		pp_fatal("a section begins in the end of another");
	if (!n_refs)
		return;
	at = word() % n_refs;
	if (pools[refs[at].pool].stage[cpu].n == STAGE)
		put_one(at, byte(), false, false);
}

static void section_end(int c)
{
	u32 i;

	cpu = c;
	context = BH;
	pp_enter(c);
	section[c] = false;
	nt.unmap_hook = byte() % 2 ? put_while_ending : NULL;
	page_pool_stage_end();
	nt.unmap_hook = NULL;
	for (i = 0; i < N_POOLS; i++) {
		struct mpool *p = &pools[i];

		if (!p->live || p->stage[c].n == STAGE)
			continue;
		if (p->stage[c].n)
			m_flush(p, c);
		p->stage[c].n = STAGE;
	}
	local_bh_enable();
}

static void step_section(void)
{
	int c = byte() % PP_CPUS;

	say("section %s on CPU %d\n", section[c] ? "ends" : "begins", c);
	if (section[c]) {
		section_end(c);
		return;
	}
	cpu = c;
	pp_enter(c);
	local_bh_disable();
	page_pool_stage_begin();
	section[c] = true;
}

/* An skb with fragments of one pool, or several, is freed. */
static void step_batch(void)
{
	u8 b = byte(), n = byte() % 40;
	bool begun;

	enter(b % PP_CPUS, b & 8 ? TASK : b & 16 ? BH_IRQS_OFF : BH);
	begun = page_pool_batch_begin();
	say("batch of %u on CPU %d, context %d: %d\n", n, cpu, context, begun);
	if (begun != (!section[cpu] && context != BH_IRQS_OFF))
		pp_fatal("a batch was begun: %d", begun);
	if (begun)
		section[cpu] = true;
	while (n-- && n_refs)
		put_one(word() % n_refs, byte(), false, false);
	if (begun) {
		u32 i;

		section[cpu] = false;
		page_pool_batch_end();
		for (i = 0; i < N_POOLS; i++) {
			struct mpool *p = &pools[i];

			if (!p->live || p->stage[cpu].n == STAGE)
				continue;
			if (p->stage[cpu].n)
				m_flush(p, cpu);
			p->stage[cpu].n = STAGE;
		}
	}
	leave();
}

static void step_page_ref(void)
{
	u16 id;

	if (byte() & 1) {
		if (!n_refs || n_page_refs == N_REFS)
			return;
		id = refs[word() % n_refs].id;
		if (id >= NT_FRAMES)
			return;
		say("get_page %u\n", id);
		get_page(nt_page(id) + (byte() & ((1 << nt.frame[id].order) - 1)));
		items[id].page_refs++;
		page_refs[n_page_refs++] = id;
	} else {
		u32 at;

		if (!n_page_refs)
			return;
		at = word() % n_page_refs;
		id = page_refs[at];
		page_refs[at] = page_refs[--n_page_refs];
		say("put_page %u\n", id);
		put_page(nt_page(id));
		if (!--items[id].page_refs && items[id].where == LOOSE)
			items[id].where = FREE;
	}
	changed(id);
}

/* Users count for themselves: more references, several at once. */
static void step_refs(void)
{
	u8 how = byte(), n;
	struct mpool *p;
	u32 at, i;
	u16 id;

	if (!n_refs || n_refs >= N_REFS - 64)
		return;
	at = word() % n_refs;
	id = refs[at].id;
	p = &pools[refs[at].pool];
	changed(id);
	switch (how % 3) {
	case 0:
		say("one more reference of %u\n", id);
		page_pool_ref_netmem(nt_netmem(id));
		items[id].refs++;
		hold(p, id);
		return;
	case 1:
		if (items[id].refs != 1 || items[id].where != OUT)
			return;
		n = 1 + byte() % 63;
		say("%u references of %u\n", n, id);
		page_pool_fragment_netmem(nt_netmem(id), n);
		items[id].refs = n;
		for (i = 1; i < n; i++)
			hold(p, id);
		return;
	}
	n = 1 + byte() % items[id].users;
	enter_any(byte());
	if (!p->destroyed)
		touch(p, id, 1);
	say("%u references of %u back\n", n, id);
	if (!page_pool_unref_netmem(nt_netmem(id), n))
		page_pool_put_unrefed_netmem(p->pool, nt_netmem(id), -1, false);
	for (i = n; i; at = n_refs ? (at + n_refs - 1) % n_refs : 0) {
		if (refs[at].id == id) {
			unhold(at);
			i--;
			if (at == n_refs)
				continue;
		}
	}
	if (m_unref(id, n))
		m_put_unrefed(p, id, -1, false);
	leave();
}

static void step_nid(void)
{
	u8 b = byte();
	struct mpool *p = any_pool(true);
	int nid = b % 8 < 5 ? b % 4 : NUMA_NO_NODE;
	u32 i, kept = 0, n;

	if (!p)
		return;
	enter(b / 8 % PP_CPUS, BH);
	say("pool %d to node %d\n", (int)(p - pools), nid);
	if (b & 128) {
		page_pool_nid_changed(p->pool, nid);
		if (p->nid == nid)
			goto out;
	} else {
		page_pool_update_nid(p->pool, nid);
	}
	p->nid = nid;
	m_change_nid(p, nid == NUMA_NO_NODE ? numa_mem_id() : nid);
	n = p->n_array;
	for (i = 0; i < n; i++) {
		if (m_nid_ok(p, p->array[i]))
			p->array[kept++] = p->array[i];
		else
			m_release(p, p->array[i]);
	}
	p->n_array = kept;
out:
	leave();
}

static void step_napi(void)
{
	u8 b = byte();
	struct mpool *p = any_pool(true);

	if (!p)
		return;
	if (b & 128) {
		if (!enter_task(b % PP_CPUS))
			return;
		say("no direct recycling in pool %d\n", (int)(p - pools));
		page_pool_disable_direct_recycling(p->pool);
		p->cpuid = -1;
		p->polled = false;
		leave();
		return;
	}
	WRITE_ONCE(p->napi.list_owner, b & 8 ? -1 : b % PP_CPUS);
	say("pool %d is polled by %d\n", (int)(p - pools), p->napi.list_owner);
}

static void step_world(void)
{
	u8 b = byte(), how = byte();

	switch (b % 8) {
	case 0:
	case 1:
	case 2:
	case 3:
		nt.fail[b % PP_FAILS] = (struct nt_fail){ how % 80, 1 + how / 80 };
		say("failure %d after %u, %u times\n", b % PP_FAILS, how % 80, 1 + how / 80);
		break;
	case 4:
		greedy = how / 4 % 4 == 0;
		nt.node_full[how & 1] = how & 2;
		say("node %d is %sfull\n", how & 1, how & 2 ? "" : "not ");
		break;
	case 5:
		nt.pfmemalloc = how % 4 == 0;
		say("pfmemalloc: %d\n", nt.pfmemalloc);
		break;
	case 6:
		nt.bounce = how & 1;
		nt.bad_addr = how / 2 % 8 == 0;
		say("bounce: %d, bad addresses: %d\n", nt.bounce, nt.bad_addr);
		break;
	case 7:
		per_cpu(pcpu_hot, how % PP_CPUS).numa_node = how / PP_CPUS % 3;
		say("CPU %d is on node %d\n", how % PP_CPUS, how / PP_CPUS % 3);
		break;
	}
}

static void step(void)
{
	u8 op = byte();

	if (hoard) {
		hoard--;
		step_alloc(70);
		return;
	}
	switch (op % 64) {
	case 0 ... 9:
		step_alloc(1);
		break;
	case 10 ... 15:
		step_alloc(2 + byte() % 64);
		break;
	case 16 ... 25:
		step_put(1);
		break;
	case 26 ... 33:
		step_put(2 + byte() % 64);
		break;
	case 34 ... 37:
		step_frag();
		break;
	case 38 ... 40:
		step_bulk();
		break;
	case 41 ... 46:
		step_section();
		break;
	case 47 ... 48:
		step_batch();
		break;
	case 49 ... 50:
		step_page_ref();
		break;
	case 51 ... 53:
		step_refs();
		break;
	case 54:
		step_nid();
		break;
	case 55 ... 56:
		step_napi();
		break;
	case 57 ... 58:
		step_world();
		break;
	case 59:
		step_create();
		break;
	case 60:
		if (op / 64 == 0)
			step_destroy(any_pool(true), byte() & 1);
		break;
	case 61:
		step_work();
		break;
	case 62:
		check_sum();
		break;
	default:
		step_alloc(70);
		break;
	}
}

/* Everything goes; then nothing may be left. */
static void finish(struct nt_opt *opt)
{
	u32 i, round;

	memset(nt.fail, 0, sizeof(nt.fail));
	for (i = 0; i < N_POOLS; i++) {
		while (pools[i].live && !pools[i].destroyed) {
			step_begin();
			for (round = 0; round < PP_CPUS && section[round]; round++)
				;
			if (round == PP_CPUS)
				section_end(0);
			step_destroy(&pools[i], true);
			check_step(opt);
		}
	}
	while (n_refs) {
		step_begin();
		enter_any(byte());
		put_one(word() % n_refs, byte(), false, false);
		leave();
		check_step(opt);
	}
	for (i = 0; i < PP_CPUS; i++) {
		if (!section[i])
			continue;
		step_begin();
		section_end(i);
		check_step(opt);
	}
	while (n_page_refs) {
		u16 id = page_refs[--n_page_refs];

		step_begin();
		put_page(nt_page(id));
		if (!--items[id].page_refs)
			items[id].where = FREE;
		changed(id);
		check_step(opt);
	}
	step_begin();
	step_work();
	check_step(opt);
	check_sum();
	nt_quiescent(~0u);
	for (i = 0; i < N_POOLS; i++)
		if (pools[i].live)
			pp_fatal("pool %d is not freed: %u pages in, %u out", i, pools[i].hold,
				 pools[i].release);
	if (nt.callbacks || nt.slab_out || nt.pages_out || nt.mapped_out || listed ||
	    provider_inits || n_niov_free != NT_NIOVS || disconnected != disconnects)
		pp_fatal("left over: %ld callbacks, %ld objects, %ld pages, %ld mappings, "
			 "%u pools, %u providers, %u niovs, %u disconnects",
			 nt.callbacks, nt.slab_out, nt.pages_out, nt.mapped_out, listed,
			 provider_inits, NT_NIOVS - n_niov_free, disconnects - disconnected);
	if (atomic_read(&page_pool_mem_providers.key.enabled))
		pp_fatal("the static key is left on");
	for (i = 0; i < NT_FRAMES; i++)
		if (items[i].where != FREE)
			pp_fatal("page %u is %s", i, where_names[items[i].where]);
}

void nt_run(const unsigned char *bytes, unsigned long size, unsigned int seed,
	    unsigned long random, struct nt_opt *opt)
{
	u32 i;

	data = bytes;
	data_end = bytes + size;
	rnd_state = seed * 2654435761u | 1;
	rnd_have = 0;
	rnd_left = random;
	over = false;
	nt_reset();
	nt.seed = seed;
	nt.step = 0;
	verbose = opt->verbose;
	nt.verbose = verbose;
	memset(nt.node_full, 0, sizeof(nt.node_full));
	nt.pfmemalloc = false;
	greedy = false;
	nt.bounce = false;
	nt.bad_addr = false;
	memset(sum_past, 0, sizeof(sum_past));
#ifdef CONFIG_PAGE_POOL_STATS
	page_pool_stats_sum_init(&sum);
#endif
	disconnects = 0;
	disconnected = 0;
	for (i = 0; i < PP_CPUS; i++)
		per_cpu(pcpu_hot, i).numa_node = i < 4 ? 0 : i < 6 ? 1 : i == 6 ? 2 : 0;

	step_begin();
	step_create();
	check_step(opt);
	hoard = byte() % 64 ? 0 : 200;
	while (!over) {
		step_begin();
		step();
		check_step(opt);
		if (rnd_left)
			rnd_left--;
	}
	finish(opt);
}

#ifdef CONFIG_PAGE_POOL_STATS
/* A fault, what page_pool_validate() has to say of it, and its repair */
#define FAULT(want, fault, repair)						\
do {										\
	fault;									\
	found += finds(pool, want);						\
	repair;									\
	finds(pool, NULL);							\
} while (0)

static u32 finds(struct page_pool *pool, const char *want)
{
	const char *said = page_pool_validate(pool);

	if (said ? !want || strcmp(said, want) : !!want)
		pp_fatal("\"%s\" is found, not \"%s\"", said ?: "nothing", want ?: "nothing");
	return 1;
}

unsigned int nt_validate(void)
{
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP, .dma_dir = DMA_FROM_DEVICE, .pool_size = 64,
	};
	struct page *page[96], *parked, *queued;
	struct page_pool_pcpu *pcpu;
	struct page_pool *pool, *was;
	unsigned int found = 0, offset;
	netmem_ref netmem;
	struct nt_dev *dev;
	int i, n;

	dev = pp_kmalloc(sizeof(*dev), GFP_KERNEL | __GFP_ZERO);
	dev->dir = params.dma_dir;
	dev->size = PAGE_SIZE;
	params.dev = &dev->dev;
	dev->dev.dma_skip_sync = true;
	enter(0, TASK);
	pool = page_pool_create(&params);
	for (i = 0; i < ARRAY_SIZE(page); i++)
		page[i] = page_pool_alloc_pages(pool, GFP_KERNEL);
	page_pool_alloc_frag(pool, &offset, 1024, GFP_KERNEL);
	local_bh_disable();
	for (i = 0; i < 20; i++)
		page_pool_put_full_page(pool, page[i], false);
	page_pool_stage_begin();
	for (; i < 30; i++)
		page_pool_put_full_page(pool, page[i], false);
	parked = __netmem_to_page(pool->cache[0]);
	queued = page[0];
	pcpu = this_cpu_ptr(pool->pcpu);
	n = pcpu->stage_next;
	was = (struct page_pool *)&found;

	netmem = pool->cache[0];
	FAULT("a page is in two places", pool->cache[0] = pool->cache[1],
	      pool->cache[0] = netmem);
	FAULT("a page is in two places", pool->cache[0] = page_to_netmem(queued),
	      pool->cache[0] = netmem);
	FAULT("a page is in two places", pool->cache[0] = pcpu->staged[0],
	      pool->cache[0] = netmem);
	FAULT("nothing where a page should be", pool->cache[0] = 0, pool->cache[0] = netmem);
	FAULT("a page of another pool is parked", parked->pp = was, parked->pp = pool);
	FAULT("a page is parked without its mark", parked->pp_magic ^= PP_SIGNATURE,
	      parked->pp_magic ^= PP_SIGNATURE);
	FAULT("a page is parked that has users", page_pool_ref_page(parked),
	      atomic_long_dec(&parked->pp_ref_count));
	FAULT("a page is parked that others refer to", get_page(queued), put_page(queued));
	FAULT("a page of the emergency reserve was parked", queued->pp_magic |= BIT(1),
	      queued->pp_magic &= ~BIT(1));
	FAULT("a page is on a node that nobody looks for",
	      pool->nid_want = 1; pool->nid_served = 1,
	      pool->nid_want = 0; pool->nid_served = 0);
	if (netmem_get_dma_index(netmem)) {
		u32 index = netmem_get_dma_index(netmem);

		FAULT("a page is parked without a mapping", netmem_set_dma_index(netmem, 0),
		      netmem_set_dma_index(netmem, index));
		netmem = page_to_netmem(page[40]);
		index = netmem_get_dma_index(netmem);
		FAULT("a page does not know its DMA slot", netmem_set_dma_index(netmem, index + 1),
		      netmem_set_dma_index(netmem, index));
		FAULT("a page left the pool, but not its DMA slot", page[40]->pp = was,
		      page[40]->pp = pool);
		FAULT("DMA slots beyond those that there are", pool->dma_next += PP_STAGE_SIZE * 64,
		      pool->dma_next -= PP_STAGE_SIZE * 64);
	} else {
		FAULT("a page left the pool, but is kept as mapped", page[40]->pp = was,
		      page[40]->pp = pool);
	}
	FAULT("the ring's entries do not end at its producer", pool->ring.producer++,
	      pool->ring.producer--);
	FAULT("the ring has a gap", pool->ring.queue[pool->ring.producer + 1] = queued,
	      pool->ring.queue[pool->ring.producer + 1] = NULL);
	FAULT("the ring's positions are beyond it", pool->ring.consumer_tail++,
	      pool->ring.consumer_tail--);
	FAULT("a stage is used that is none", pcpu->stage_next = PP_STAGE_SIZE + 1,
	      pcpu->stage_next = n);
	FAULT("a stage belongs to another pool", pcpu->pool = was, pcpu->pool = pool);
	FAULT("the open page has no fragments, or too many", pool->frag_users--,
	      pool->frag_users++);
	FAULT("the open page has no fragments, or too many",
	      pool->frag_offset += PAGE_SIZE, pool->frag_offset -= PAGE_SIZE);
	FAULT("more of the open page was given back than handed out",
	      atomic_long_sub(2, netmem_get_pp_ref_count_ref(pool->frag_page)),
	      atomic_long_add(2, netmem_get_pp_ref_count_ref(pool->frag_page)));
	netmem = pool->frag_page;
	FAULT("fragments could be cut off no page", pool->frag_page = 0,
	      pool->frag_page = netmem);
	FAULT("more pages left than entered", atomic_add(1000, &pool->pages_state_release_cnt),
	      atomic_sub(1000, &pool->pages_state_release_cnt));
	FAULT("not the pages in the pool are mapped, or others", pool->pages_state_hold_cnt++,
	      pool->pages_state_hold_cnt--);
	FAULT("more pages are here than have entered", pool->pages_state_hold_cnt -= 70,
	      pool->pages_state_hold_cnt += 70);
	FAULT("pages are looked for that puts let pass", pool->nid_recheck = 1,
	      pool->nid_recheck = 0);
	FAULT("more is looked for in the ring than it holds",
	      pool->nid_recheck = 65; pool->node_check = 1,
	      pool->nid_recheck = 0; pool->node_check = 0);
	FAULT("a pool that was destroyed has pages", pool->destroyed = true,
	      pool->destroyed = false);
	FAULT("the counters do not add up", pool->alloc_stats.slow++, pool->alloc_stats.slow--);
	FAULT("the array has more pages than room", pool->fill += 200, pool->fill -= 200);
	return found;
}
#else
unsigned int nt_validate(void)
{
	return 0;
}
#endif

const char *nt_build(void)
{
#ifdef CONFIG_PAGE_POOL_STATS
	static const char stats[] = "statistics";
#else
	static const char stats[] = "no statistics";
#endif
	static char text[64];
	u32 n = strlen(stats), bits = PP_DMA_INDEX_BITS;

	memcpy(text, stats, n);
	memcpy(text + n, ", 00 index bits", 16);
	text[n + 2] += bits / 10;
	text[n + 3] += bits % 10;
	return text;
}

void nt_setup(void)
{
	u32 i;

	pp_setup(0);
	for (i = 0; i < PP_CPUS; i++)
		nt_online(i, true);
	for (i = 0; i < NT_NIOVS; i++)
		niov_free[n_niov_free++] = i;
}
