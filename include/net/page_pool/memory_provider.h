/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NET_PAGE_POOL_MEMORY_PROVIDER_H
#define _NET_PAGE_POOL_MEMORY_PROVIDER_H

#include <net/netmem.h>
#include <net/page_pool/types.h>

/**
 * struct memory_provider_ops - where a pool's memory comes from, if not pages
 * @alloc_netmems: give one netmem that carries the pool's marks and is counted
 *		in its hold count, or 0; called by the consumer
 * @release_netmem: take @netmem back; true when it is a page that the pool
 *		shall give to the page allocator; called from any context that
 *		may put pages
 * @init:	the pool is being created: take what is needed, errno on refusal
 * @destroy:	the pool has gone and all its memory came back; may sleep
 *
 * The table must be constant data of the kernel image.
 */
struct memory_provider_ops {
	netmem_ref (*alloc_netmems)(struct page_pool *pool, gfp_t gfp);
	bool (*release_netmem)(struct page_pool *pool, netmem_ref netmem);
	int (*init)(struct page_pool *pool);
	void (*destroy)(struct page_pool *pool);
};

#endif /* _NET_PAGE_POOL_MEMORY_PROVIDER_H */
