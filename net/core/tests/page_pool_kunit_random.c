// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit test of the page pool: random calls, and after each of them everything
 * that has to hold of a pool that nobody uses just now.
 *
 * There is more of this in user space, see tools/testing/page_pool/native, which
 * also knows where each page has to be; here the page allocator, the DMA API and
 * contexts are the kernel's.
 */

#include <linux/prandom.h>

#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

#ifdef CONFIG_PAGE_POOL_VALIDATE

#define PPK_OUT		600	/* references that users have at most */
#define PPK_STEPS	30000

static const struct ppk_kind {
	const char *desc;
	unsigned int flags, order, size;
} ppk_kinds[] = {
	{ "plain", 0, 0, 256 },
	{ "small ring", 0, 0, 16 },
	{ "mapped", PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV, 0, 128 },
	{ "mapped, without slots", PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV, 0, 64 },
	{ "high order", PP_FLAG_DMA_MAP, 2, 64 },
};

KUNIT_ARRAY_PARAM_DESC(ppk_kinds, ppk_kinds, desc);

struct ppk_random {
	struct rnd_state rnd;
	struct page_pool *pool;
	struct page *out[PPK_OUT];
	struct page *held[8];	/* page references, for those that stay */
	int n;
	bool section;
};

static u32 ppk_below(struct ppk_random *r, u32 n)
{
	return prandom_u32_state(&r->rnd) % n;
}

static struct page *ppk_take_out(struct ppk_random *r)
{
	int i = ppk_below(r, r->n);
	struct page *page = r->out[i];

	r->out[i] = r->out[--r->n];
	return page;
}

static void ppk_step_alloc(struct ppk_random *r)
{
	int n = min_t(int, 1 + ppk_below(r, 80), PPK_OUT - r->n);
	bool frags = ppk_below(r, 2);
	unsigned int offset;
	struct page *page;

	while (n--) {
		if (frags)
			page = page_pool_dev_alloc_frag(r->pool, &offset,
							1 + ppk_below(r, 3000));
		else
			page = page_pool_dev_alloc_pages(r->pool);
		if (!page)
			break;
		r->out[r->n++] = page;
	}
}

static void ppk_step_put(struct ppk_random *r)
{
	int n = min_t(int, 1 + ppk_below(r, 80), r->n), i;
	bool direct = !ppk_below(r, 4);
	void *addr[40];

	if (!ppk_below(r, 4)) {
		n = min_t(int, n, ARRAY_SIZE(addr));
		for (i = 0; i < n; i++)
			addr[i] = page_address(ppk_take_out(r));
		page_pool_put_page_bulk(r->pool, addr, n);
		return;
	}

	while (n--)
		page_pool_put_full_page(r->pool, ppk_take_out(r), direct);
}

/* Somebody has, or no longer has, a reference of a page's own. */
static void ppk_step_hold(struct ppk_random *r)
{
	struct page **held = &r->held[ppk_below(r, ARRAY_SIZE(r->held))];

	if (*held) {
		put_page(*held);
		*held = NULL;
	} else if (r->n) {
		*held = r->out[ppk_below(r, r->n)];
		get_page(*held);
	}
}

static void ppk_step(struct ppk_random *r)
{
	switch (ppk_below(r, 8)) {
	case 0:
	case 1:
	case 2:
		ppk_step_alloc(r);
		break;
	case 3:
	case 4:
	case 5:
		ppk_step_put(r);
		break;
	case 6:
		ppk_step_hold(r);
		break;
	case 7:
		if (!ppk_below(r, 16)) {
			page_pool_update_nid(r->pool, NUMA_NO_NODE);
			break;
		}
		if (r->section)
			page_pool_stage_end();
		else
			page_pool_stage_begin();
		r->section = !r->section;
		break;
	}
}

static void random_calls(struct kunit *test)
{
	const struct ppk_kind *kind = test->param_value;
	struct page_pool_params p = {
		.flags = kind->flags, .order = kind->order,
		.pool_size = kind->size, .nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE, .max_len = PAGE_SIZE,
	};
	const char *wrong = NULL;
	struct ppk_random *r;
	int i;

	r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, r);
	if (kind->flags)
		p.dev = ppk_device(test);
	prandom_seed_state(&r->rnd, 20241017);
	r->pool = ppk_create(test, &p);
	if (strstr(kind->desc, "without"))
		r->pool->dma_limit = 0;

	for (i = 0; i < PPK_STEPS && !wrong; i += 64) {
		int n = 64;

		local_bh_disable();
		while (n-- && !wrong) {
			ppk_step(r);
			wrong = page_pool_validate(r->pool);
		}
		if (r->section)
			page_pool_stage_end();
		r->section = false;
		local_bh_enable();
		cond_resched();
	}
	KUNIT_EXPECT_NULL_MSG(test, wrong, "step %d: %s", i, wrong);

	for (i = 0; i < ARRAY_SIZE(r->held); i++)
		if (r->held[i])
			put_page(r->held[i]);
	page_pool_put_full_page(r->pool, ppk_take_out(r), false);
	ppk_destroy(r->pool);
	wrong = page_pool_validate(r->pool);
	KUNIT_EXPECT_NULL_MSG(test, wrong, "destroyed: %s", wrong);
	while (r->n)
		page_pool_put_full_page(r->pool, ppk_take_out(r), false);
	KUNIT_EXPECT_TRUE(test, ppk_gone(r->pool, PPK_FREE_MS));
}

/* Is it noticed when something is wrong? All that is: in user space. */
static void validate_finds(struct kunit *test)
{
	struct page_pool_params p = { .nid = NUMA_NO_NODE };
	struct page_pool *pool = ppk_create(test, &p);
	struct page *page = ppk_alloc(pool);
	netmem_ref netmem;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_NULL(test, page_pool_validate(pool));

	netmem = pool->cache[0];
	pool->cache[0] = pool->cache[1];
	KUNIT_EXPECT_STREQ(test, page_pool_validate(pool),
			   "a page is in two places");
	pool->cache[0] = netmem;
	/* fewer than are parked */
	pool->pages_state_hold_cnt -= 2;
	KUNIT_EXPECT_NOT_NULL(test, page_pool_validate(pool));
	pool->pages_state_hold_cnt += 2;
	KUNIT_EXPECT_NULL(test, page_pool_validate(pool));
	ppk_put(pool, page);
}

static struct kunit_case ppk_random_cases[] = {
	KUNIT_CASE_PARAM(random_calls, ppk_kinds_gen_params),
	KUNIT_CASE(validate_finds),
	{}
};

#else

static void random_all(struct kunit *test)
{
	kunit_skip(test, "needs CONFIG_PAGE_POOL_VALIDATE");
}

static struct kunit_case ppk_random_cases[] = {
	KUNIT_CASE(random_all),
	{}
};

#endif

static struct kunit_suite ppk_random_suite = {
	.name = "page_pool_random",
	.init = ppk_init,
	.exit = ppk_exit,
	.test_cases = ppk_random_cases,
};

kunit_test_suites(&ppk_random_suite);
