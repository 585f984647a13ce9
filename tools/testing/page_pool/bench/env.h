/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PP_ENV_H
#define _PP_ENV_H

#include "bench.h"

void pp_setup(int wrgsbase);
void pp_enter(int cpu);
void pp_run_work(void);
void pp_settle(void);
void pp_hold(int on);
void pp_env_counts(struct pp_counts *c);

extern const pp_initcall_t __start_pp_initcalls[] __weak;
extern const pp_initcall_t __stop_pp_initcalls[] __weak;

#ifdef PP_SANITIZE
/* Of the C library and the sanitizers */
void *aligned_alloc(size_t align, size_t size);
void free(void *p);
void __asan_poison_memory_region(const void *p, size_t size);
void __asan_unpoison_memory_region(const void *p, size_t size);
#endif

#endif /* _PP_ENV_H */
