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
void *mmap(void *at, size_t size, int prot, int flags, int fd, long offset);
int sched_yield(void);
ssize_t write(int fd, const void *buf, size_t n);
void _exit(int status) __noreturn;
#endif

#ifdef PP_NATIVE
/* ../native/world.c */
enum pp_fail { PP_FAIL_PAGES, PP_FAIL_DMA, PP_FAIL_SLAB, PP_FAIL_PERCPU, PP_FAILS };

extern void (*pp_mb_hook)(void);
bool pp_fails(enum pp_fail what);
void pp_contended(void);
void pp_fatal(const char *fmt, ...) __printf(1, 2) __noreturn;
void pp_slab_setup(void);
void pp_pages_setup(void);
#endif

#endif /* _PP_ENV_H */
