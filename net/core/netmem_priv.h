/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __NETMEM_PRIV_H
#define __NETMEM_PRIV_H

#include <net/netmem.h>

/* The marks of a pool in struct page and struct net_iov. pp_magic holds, from
 * the lowest bit up: what the page allocator left (bit 1: emergency reserve),
 * the signature, the DMA index.
 */

static inline unsigned long netmem_get_pp_magic(netmem_ref netmem)
{
	return __netmem_clear_lsb(netmem)->pp_magic & ~PP_DMA_INDEX_MASK;
}

static inline void netmem_or_pp_magic(netmem_ref netmem, unsigned long pp_magic)
{
	__netmem_clear_lsb(netmem)->pp_magic |= pp_magic;
}

static inline void netmem_clear_pp_magic(netmem_ref netmem)
{
	struct net_iov *niov = __netmem_clear_lsb(netmem);

	/* An index left behind: memory that goes away still mapped. */
	WARN_ON_ONCE(niov->pp_magic & PP_DMA_INDEX_MASK);
	niov->pp_magic = 0;
}

static inline bool netmem_is_pp(netmem_ref netmem)
{
	return (netmem_get_pp_magic(netmem) & PP_MAGIC_MASK) == PP_SIGNATURE;
}

static inline void netmem_set_pp(netmem_ref netmem, struct page_pool *pool)
{
	__netmem_clear_lsb(netmem)->pp = pool;
}

static inline void netmem_set_dma_addr(netmem_ref netmem,
				       unsigned long dma_addr)
{
	__netmem_clear_lsb(netmem)->dma_addr = dma_addr;
}

/* Index of a page in its pool's DMA slots, 0 for none; pages only */
static inline u32 netmem_get_dma_index(netmem_ref netmem)
{
	return (__netmem_to_page(netmem)->pp_magic & PP_DMA_INDEX_MASK) >>
	       PP_DMA_INDEX_SHIFT;
}

static inline void netmem_set_dma_index(netmem_ref netmem, u32 index)
{
	struct page *page = __netmem_to_page(netmem);

	page->pp_magic &= ~PP_DMA_INDEX_MASK;
	page->pp_magic |= (unsigned long)index << PP_DMA_INDEX_SHIFT;
}

#endif /* __NETMEM_PRIV_H */
