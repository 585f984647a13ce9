/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NT_WORLD_H
#define _NT_WORLD_H

#include "env.h"

/* Frames come in blocks of one order, which are never split nor merged. */
#define NT_ORDERS	4
#define NT_NODES	2		/* with memory: 0 and 1 */
#define NT_NODE_BARE	2		/* online, without memory */
#define NT_NODE_OFF	3		/* not online */
#ifndef NT_FRAMES
#define NT_FRAMES	32768		/* of both nodes */
#endif
#define NT_NIOVS	256
#define NT_ITEMS	(NT_FRAMES + NT_NIOVS)
#define NT_PFN0		256UL

#define NT_DMA_BASE	0x1000000000ULL	/* no 32-bit machine has that address */
#define NT_DMA_NIOV	0x4000000000ULL

/* What the page allocator and the DMA API know of a block of frames; of a niov
 * only what DMA does.
 */
struct nt_frame {
	u8 order, nid;
	bool touched;		/* is in nt.touched */
	bool fresh;		/* was mapped by this step */
	bool bounced;
	int allocated;
	int mapped;
	int held;		/* threads: by its one user */
	u32 gen;		/* mappings so far: each has another address */
	u32 dirty;		/* bytes the CPU may have touched since the last sync */
	u32 size;		/* that are mapped */
	dma_addr_t addr;
	struct nt_dev *dev;
};

struct nt_dev {
	struct device dev;
	u64 mask;
	enum dma_data_direction dir;
	u32 offset, max_len, size;	/* of its pool */
	bool gone;
	u32 want_len;			/* sync this much; 0: anything in max_len */
};

struct nt_fail {
	u32 after, times;	/* fail so many times, after so many went well */
	u32 fired;
};

struct nt_world {
	bool threads;		/* or one that plays all CPUs */
	bool verbose;
	struct nt_frame frame[NT_ITEMS];
	struct nt_fail fail[PP_FAILS];
	bool node_full[NT_NODES];	/* cannot serve now */
	bool pfmemalloc;		/* serve from the emergency reserve */
	bool bounce;			/* mappings are bounced now */
	bool bad_addr;			/* an address that cannot be kept */
	void (*hook)(void);		/* called when a ring of no entries is made */
	void (*unmap_hook)(void);	/* called when a page is unmapped */

	/* Of the step under way: */
	u32 n_alloc, n_free, n_map, n_unmap, n_sync, n_touched, n_sleep;
	u16 alloc[2 * PP_ALLOC_CACHE_SIZE];
	u16 touched[NT_ITEMS];
	bool lost;		/* more than the above has room for */

	u32 seed;		/* of the episode, and the step in it, for reports */
	u64 step;

	long slab_out, pages_out, mapped_out, callbacks;
	char said[256];		/* the last message of the kernel */
	u32 n_said;
	const char *warned_file;	/* where the last warning came from */
	int warned_line;
};

extern struct nt_world nt;
extern __thread u32 nt_seed;
extern u32 nt_n_free[NT_NODES][NT_ORDERS];

static inline u32 nt_rnd(void)
{
	nt_seed ^= nt_seed << 13;
	nt_seed ^= nt_seed >> 17;
	nt_seed ^= nt_seed << 5;
	return nt_seed;
}

void nt_touch(u32 id);
void nt_step_begin(void);
void nt_reset(void);
void nt_quiescent(u32 cpus);
void nt_online(int cpu, bool on);

static inline struct page *nt_page(u32 id)
{
	return pfn_to_page(NT_PFN0 + id);
}

extern struct net_iov nt_niov[NT_NIOVS];

static inline netmem_ref nt_netmem(u32 id)
{
	return id < NT_FRAMES ? page_to_netmem(nt_page(id)) :
	       net_iov_to_netmem(&nt_niov[id - NT_FRAMES]);
}

static inline u32 nt_id(netmem_ref netmem)
{
	return netmem_is_net_iov(netmem) ?
	       NT_FRAMES + (netmem_to_net_iov(netmem) - nt_niov) :
	       page_to_pfn(__netmem_to_page(netmem)) - NT_PFN0;
}

/* The C library */
int printf(const char *fmt, ...) __printf(1, 2);
int fflush(void *file);
int vsnprintf(char *buf, size_t n, const char *fmt, va_list args);
int vprintf(const char *fmt, va_list args);
void *malloc(size_t n);
void *calloc(size_t n, size_t size);
void __noreturn abort(void);
int strcmp(const char *a, const char *b);
int memcmp(const void *a, const void *b, size_t n);
int usleep(unsigned int us);

#endif /* _NT_WORLD_H */
