/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What page_pool_shrink.c shows of itself to its KUnit suite. Everything here is
 * static there unless the kernel is built with CONFIG_KUNIT.
 */
#ifndef __PAGE_POOL_SHRINK_H
#define __PAGE_POOL_SHRINK_H

struct shrink_control;
struct shrinker;

#if IS_ENABLED(CONFIG_KUNIT)
unsigned long page_pool_shrink_count(struct shrinker *shrinker,
				     struct shrink_control *sc);
unsigned long page_pool_shrink_scan(struct shrinker *shrinker,
				    struct shrink_control *sc);
#endif

#endif /* __PAGE_POOL_SHRINK_H */
