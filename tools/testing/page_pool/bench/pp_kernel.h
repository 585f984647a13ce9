/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel as the page pool sees it, in user space: the only list of what
 * the page pool, ptr_ring.h, netmem.h and the xarray need from outside. It is
 * included before every file; all headers that are not taken from the tree
 * (see the list in bench) are empty.
 *
 * What costs something in the kernel costs the same here, in instructions and
 * in kind: per-CPU variables are reached through %gs, in one instruction;
 * locks are an out-of-line call around a locked cmpxchg, unlocking is a plain
 * store; static keys and tracepoints are a five-byte nop; WARN_ON() is a ud2
 * off the path. Modelled is a kernel without a preemption count, on x86-64,
 * SMP and NUMA.
 *
 * With PP_SANITIZE the same comes without assembly, so that sanitizers see it
 * and 32-bit machines can be built for. With PP_NATIVE, on top, it does not
 * stand for what things cost but for what they may do and forbid: see
 * ../native/world.c.
 */
#ifndef _PP_KERNEL_H
#define _PP_KERNEL_H

/* As in a kernel image all symbols are known when linking: no PLT, no GOT. */
#ifndef PP_SANITIZE
#pragma GCC visibility push(hidden)
#endif

#include <stdarg.h>
#include <stddef.h>
#undef offsetof		/* stddef.h of the kernel has it */

#define __KERNEL__		1
#if __SIZEOF_LONG__ == 8
#define CONFIG_64BIT		1
#define CONFIG_X86_64		1
#endif
#define CONFIG_SMP		1
#define CONFIG_NUMA		1
#define CONFIG_HAS_DMA		1
#define CONFIG_DMA_NEED_SYNC	1
#define CONFIG_NET		1
#define CONFIG_PAGE_POOL	1
#ifdef PP_STATS
#define CONFIG_PAGE_POOL_STATS	1
#endif
#include <linux/kconfig.h>

/* Types and the compiler */

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef s8 __s8;
typedef u8 __u8;
typedef s16 __s16;
typedef u16 __u16;
typedef s32 __s32;
typedef u32 __u32;
typedef s64 __s64;
typedef u64 __u64;
typedef _Bool bool;
typedef long ssize_t;
typedef unsigned long uintptr_t;
typedef u64 dma_addr_t;
typedef u64 phys_addr_t;
typedef unsigned int gfp_t;

#ifdef CONFIG_64BIT
#define BITS_PER_LONG		64
#else
#define BITS_PER_LONG		32
#endif
#define __BITS_PER_LONG		BITS_PER_LONG
#define BITS_PER_LONG_LONG	64
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define MAX_PAGE_ORDER		10
#define MAX_NUMNODES		1024
#define NODES_SHIFT		10
#define NUMA_NO_NODE		(-1)
#define SHRT_MAX		0x7fff
#define INT_MAX			((int)(~0U >> 1))
#define UINT_MAX		(~0U)
#define LONG_MAX		((long)(~0UL >> 1))
#define ULONG_MAX		(~0UL)
#define U32_MAX			(~0U)
#define S32_MAX			INT_MAX
#define KMALLOC_MAX_SIZE	(PAGE_SIZE << MAX_PAGE_ORDER)
#define SIZE_MAX		(~(size_t)0)

#define __force
#define __bitwise
#define __user
#define __rcu
#define __percpu
#define __iomem
#define __must_hold(x)
#define __acquires(x)
#define __releases(x)
#define __acquire(x)		do { } while (0)
#define __release(x)		do { } while (0)
#define __counted_by(x)
#define __init
#define __read_mostly
#define __ro_after_init
#define asmlinkage
#define notrace
#define __must_check		__attribute__((warn_unused_result))
#define __maybe_unused		__attribute__((unused))
#define __always_unused		__attribute__((unused))
#define __aligned(x)		__attribute__((aligned(x)))
#define __packed		__attribute__((packed))
#define __section(x)		__attribute__((section(x)))
#define __weak			__attribute__((weak))
#define __used			__attribute__((used))
#define __cold			__attribute__((cold))
#define __noreturn		__attribute__((noreturn))
#define __pure			__attribute__((pure))
#define __attribute_const__	__attribute__((const))
#define __malloc		__attribute__((malloc))
#define __printf(a, b)		__attribute__((format(printf, a, b)))
#define __always_inline		inline __attribute__((always_inline))
#define noinline		__attribute__((noinline))
#define fallthrough		__attribute__((fallthrough))
/* As the kernel: static inline functions that nobody uses are no news. */
#define inline			inline __attribute__((unused))

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		asm volatile("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(v)	asm volatile("" : "+r" (v))
#define unreachable()		__builtin_unreachable()
#define __same_type(a, b)	__builtin_types_compatible_p(typeof(a), typeof(b))
#define __must_be_array(a)	(sizeof(struct { int:-!!(__same_type((a), &(a)[0])); }))
#define ___PASTE(a, b)		a##b
#define __PASTE(a, b)		___PASTE(a, b)
#define __UNIQUE_ID(prefix)	__PASTE(__PASTE(__UNIQUE_ID_, prefix), __COUNTER__)
#define __is_constexpr(x) \
	(sizeof(int) == sizeof(*(8 ? ((void *)((long)(x) * 0l)) : (int *)8)))
#define __compiletime_error(msg)	__attribute__((error(msg)))
#define BUILD_BUG_FN(n)		__PASTE(pp_build_bug_, n)
#define __pp_assert(cond, msg, fn)					\
do {									\
	extern void fn(void) __compiletime_error(msg);			\
	if (!(cond))							\
		fn();							\
} while (0)
#define compiletime_assert(cond, msg)					\
	__pp_assert(cond, msg, BUILD_BUG_FN(__COUNTER__))
#define statically_true(x)	(__builtin_constant_p(x) && (x))
#define is_signed_type(type)	(((type)(-1)) < (type)1)
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define struct_size(p, member, n)					\
	(sizeof(*(p)) + (n) * sizeof(*(p)->member))
#define ALIGN(x, a)		(((x) + (typeof(x))(a) - 1) & ~((typeof(x))(a) - 1))
#define IS_ALIGNED(x, a)	(((x) & ((typeof(x))(a) - 1)) == 0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define round_up(x, y)		((((x) - 1) | ((typeof(x))((y) - 1))) + 1)
#define EXPORT_SYMBOL(x)
#define EXPORT_SYMBOL_GPL(x)
#define EXPORT_SYMBOL_IF_KUNIT(x)
#define EXPORT_SYMBOL_NS(x, ns)
#define EXPORT_SYMBOL_NS_GPL(x, ns)
#define VISIBLE_IF_KUNIT	static
#define ALLOW_ERROR_INJECTION(fn, how)

#include <linux/stddef.h>
#include <linux/build_bug.h>
#include <linux/const.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#define L1_CACHE_SHIFT		6
#define L1_CACHE_BYTES		(1 << L1_CACHE_SHIFT)
#include <linux/cache.h>
#include <linux/errno.h>

#ifdef PP_DELAY
void pp_point(void);		/* a place where a thread may be held up */
#else
#define pp_point()		do { } while (0)
#endif

#ifdef PP_SANITIZE
/* ThreadSanitizer knows no fences: what these order is modelled here. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define WRITE_ONCE(x, v)						\
	({ pp_point(); __atomic_store_n(&(x), (v), __ATOMIC_RELEASE); })
#define smp_load_acquire(p)	({ pp_point(); __atomic_load_n(p, __ATOMIC_ACQUIRE); })
#define smp_store_release(p, v)						\
	do { pp_point(); __atomic_store_n(p, (v), __ATOMIC_RELEASE); pp_point(); } while (0)
#define smp_mb()		pp_san_mb()
#else
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define smp_load_acquire(p)						\
({									\
	typeof(*(p)) __v = READ_ONCE(*(p));				\
	barrier();							\
	__v;								\
})
#define smp_store_release(p, v)						\
do {									\
	barrier();							\
	WRITE_ONCE(*(p), v);						\
} while (0)
#define smp_mb()		asm volatile("lock; addl $0,-4(%%rsp)" ::: "memory", "cc")
#endif
#define data_race(x)		(x)
#define smp_rmb()		barrier()
#define smp_wmb()		barrier()
#define mb()			asm volatile("mfence" ::: "memory")
#define dma_rmb()		barrier()
#define dma_wmb()		barrier()
#define smp_mb__before_atomic()	barrier()
#define smp_mb__after_atomic()	barrier()
#define smp_mb__after_spinlock() barrier()
#define smp_store_mb(var, v)	do { WRITE_ONCE(var, v); smp_mb(); } while (0)
#define cpu_relax()		__builtin_ia32_pause()
#define prefetch(x)		__builtin_prefetch(x)
#define prefetchw(x)		__builtin_prefetch(x, 1)
void pp_san_mb(void);

/* Complaints. A ud2 that the harness counts and steps over, as the kernel's
 * is: it costs the path nothing and clobbers nothing.
 */
extern unsigned long pp_warnings;
void pp_printk(const char *fmt, ...) __printf(1, 2) __cold;

#ifdef PP_NATIVE
void pp_trap(const char *file, int line);
#define __pp_trap()		pp_trap(__FILE__, __LINE__)
#elif defined(PP_SANITIZE)
#define __pp_trap()		((void)__atomic_add_fetch(&pp_warnings, 1, __ATOMIC_RELAXED))
#else
#define __pp_trap()		asm volatile("ud2")
#endif
#define WARN_ON(cond)							\
({									\
	int __ret = !!(cond);						\
	if (unlikely(__ret))						\
		__pp_trap();						\
	unlikely(__ret);						\
})
#define WARN(cond, fmt, ...)						\
({									\
	int __ret = !!(cond);						\
	if (unlikely(__ret)) {						\
		pp_printk(fmt, ##__VA_ARGS__);				\
		__pp_trap();						\
	}								\
	unlikely(__ret);						\
})
#ifdef PP_NATIVE	/* each time: the model knows how often */
#define __pp_once(cond)		(cond)
#else
#define __pp_once(cond)							\
({									\
	static bool __done;						\
	int __now = !!(cond) && !__done;				\
	if (unlikely(__now))						\
		__done = true;						\
	unlikely(__now);						\
})
#endif
#define WARN_ON_ONCE(cond)	WARN_ON(cond)
#define WARN_ONCE(cond, fmt, ...)					\
({									\
	int __once = !!(cond);						\
	WARN(unlikely(__once) && __pp_once(true), fmt, ##__VA_ARGS__);	\
	unlikely(__once);						\
})
#define BUG_ON(cond)		do { if (unlikely(cond)) __builtin_trap(); } while (0)
#define BUG()			BUG_ON(1)
#define pr_warn(fmt, ...)	pp_printk(fmt, ##__VA_ARGS__)
#define pr_err(fmt, ...)	pp_printk(fmt, ##__VA_ARGS__)
#define pr_crit(fmt, ...)	pp_printk(fmt, ##__VA_ARGS__)
#define pr_info(fmt, ...)	pp_printk(fmt, ##__VA_ARGS__)
#define pr_cont(fmt, ...)	pp_printk(fmt, ##__VA_ARGS__)
#define pr_crit_once(fmt, ...)	({ if (__pp_once(true)) pp_printk(fmt, ##__VA_ARGS__); })
#ifdef PP_NATIVE
#define DEBUG_NET_WARN_ON_ONCE(cond)	((void)WARN_ON(cond))
void pp_might_sleep(void);
void pp_pause(void);
#define might_sleep()		pp_might_sleep()
#define cond_resched()		pp_might_sleep()
#define usleep_range(a, b)	do { pp_might_sleep(); pp_pause(); } while (0)
#else
#define DEBUG_NET_WARN_ON_ONCE(cond)	((void)(cond))
#define might_sleep()		do { } while (0)
#define cond_resched()		do { } while (0)
#define usleep_range(a, b)	cpu_relax()
#endif
#define might_alloc(gfp)	do { } while (0)
#define ASSERT_RTNL()		do { } while (0)

static inline bool is_kernel_rodata(unsigned long addr) { return true; }

/* Locks are not validated. */
#define lockdep_is_held(l)		1
#define lockdep_assert_held(l)		do { } while (0)
#define lockdep_assert_no_hardirq()	do { } while (0)
#define lockdep_assert_in_softirq()	do { } while (0)
#define lockdep_assert(c)		do { } while (0)
#define lock_is_held(l)			1
struct lock_class_key { };
#define lockdep_set_class(l, k)		do { } while (0)

/* Atomics */

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;
#ifdef CONFIG_64BIT
typedef atomic64_t atomic_long_t;
#else
typedef atomic_t atomic_long_t;
#endif
typedef struct { atomic_t refs; } refcount_t;
#define ATOMIC_INIT(i)		{ (i) }
#define ATOMIC_LONG_INIT(i)	{ (i) }
#define REFCOUNT_INIT(n)	{ .refs = ATOMIC_INIT(n) }

#ifdef PP_SANITIZE
#define __pp_atomic_add(v, i)						\
do {									\
	pp_point();							\
	(void)__atomic_add_fetch(&(v)->counter, (i), __ATOMIC_SEQ_CST);	\
	pp_point();							\
} while (0)
#define __pp_xadd(v, i)							\
({									\
	pp_point();							\
	__atomic_fetch_add(&(v)->counter, (i), __ATOMIC_SEQ_CST);	\
})
#define __pp_dec_zero(v)						\
({									\
	pp_point();							\
	__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_SEQ_CST) == 0;	\
})
#define xchg(p, v)		__atomic_exchange_n(p, (v), __ATOMIC_SEQ_CST)
#define try_cmpxchg(p, old, new)					\
({									\
	bool __ok;							\
	pp_point();							\
	__ok = __atomic_compare_exchange_n(p, old, new, false,		\
				__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);	\
	pp_point();							\
	__ok;								\
})
#else
#define __pp_sfx(p, op, args, ...)					\
do {									\
	if (sizeof(*(p)) == 1)						\
		asm volatile(op "b " args __VA_ARGS__);			\
	else if (sizeof(*(p)) == 4)					\
		asm volatile(op "l " args __VA_ARGS__);			\
	else								\
		asm volatile(op "q " args __VA_ARGS__);			\
} while (0)
#define __pp_atomic_add(v, i)						\
do {									\
	if (__builtin_constant_p(i) && (i) == 1)			\
		__pp_sfx(&(v)->counter, "lock; inc", "%0",		\
			 : "+m" ((v)->counter) : : "memory");		\
	else if (__builtin_constant_p(i) && (i) == -1)			\
		__pp_sfx(&(v)->counter, "lock; dec", "%0",		\
			 : "+m" ((v)->counter) : : "memory");		\
	else								\
		__pp_sfx(&(v)->counter, "lock; add", "%1,%0",		\
			 : "+m" ((v)->counter)				\
			 : "er" ((typeof((v)->counter))(i)) : "memory");\
} while (0)
#define __pp_xadd(v, i)							\
({									\
	typeof((v)->counter) __x = (i);					\
	__pp_sfx(&(v)->counter, "lock; xadd", "%0,%1",			\
		 : "+r" (__x), "+m" ((v)->counter) : : "memory", "cc");	\
	__x;								\
})
#define __pp_dec_zero(v)						\
({									\
	bool __z;							\
	if (sizeof((v)->counter) == 4)					\
		asm volatile("lock; decl %0"				\
			     : "+m" ((v)->counter), "=@ccz" (__z)	\
			     : : "memory");				\
	else								\
		asm volatile("lock; decq %0"				\
			     : "+m" ((v)->counter), "=@ccz" (__z)	\
			     : : "memory");				\
	__z;								\
})
#define xchg(p, v)							\
({									\
	typeof(*(p)) __x = (v);						\
	__pp_sfx(p, "xchg", "%0,%1",					\
		 : "+q" (__x), "+m" (*(p)) : : "memory");		\
	__x;								\
})
#define try_cmpxchg(p, oldp, new)					\
({									\
	typeof(oldp) __oldp = (oldp);					\
	typeof(*(p)) __old = *__oldp, __new = (new);			\
	bool __ok;							\
	if (sizeof(*(p)) == 4)						\
		asm volatile("lock; cmpxchgl %3,%1"			\
			     : "=@ccz" (__ok), "+m" (*(p)), "+a" (__old)\
			     : "r" (__new) : "memory");			\
	else								\
		asm volatile("lock; cmpxchgq %3,%1"			\
			     : "=@ccz" (__ok), "+m" (*(p)), "+a" (__old)\
			     : "r" (__new) : "memory");			\
	if (unlikely(!__ok))						\
		*__oldp = __old;					\
	likely(__ok);							\
})
#endif
#define cmpxchg(p, old, new)						\
({									\
	typeof(*(p)) __was = (old);					\
	try_cmpxchg(p, &__was, new);					\
	__was;								\
})
#define try_cmpxchg_acquire	try_cmpxchg
#define try_cmpxchg_release	try_cmpxchg
#define try_cmpxchg_relaxed	try_cmpxchg
#define cmpxchg_relaxed		cmpxchg
#define xchg_relaxed		xchg

#define __PP_ATOMIC(pfx, type, val)					\
static __always_inline val pfx##_read(const type *v)			\
{									\
	return READ_ONCE(v->counter);					\
}									\
static __always_inline void pfx##_set(type *v, val i)			\
{									\
	WRITE_ONCE(v->counter, i);					\
}									\
static __always_inline void pfx##_add(val i, type *v)			\
{									\
	__pp_atomic_add(v, i);						\
}									\
static __always_inline void pfx##_sub(val i, type *v)			\
{									\
	__pp_atomic_add(v, -i);						\
}									\
static __always_inline void pfx##_inc(type *v)				\
{									\
	__pp_atomic_add(v, 1);						\
}									\
static __always_inline void pfx##_dec(type *v)				\
{									\
	__pp_atomic_add(v, -1);						\
}									\
static __always_inline val pfx##_add_return(val i, type *v)		\
{									\
	return i + __pp_xadd(v, i);					\
}									\
static __always_inline val pfx##_sub_return(val i, type *v)		\
{									\
	return __pp_xadd(v, -i) - i;					\
}									\
static __always_inline val pfx##_inc_return(type *v)			\
{									\
	return 1 + __pp_xadd(v, 1);					\
}									\
static __always_inline val pfx##_dec_return(type *v)			\
{									\
	return __pp_xadd(v, -1) - 1;					\
}									\
static __always_inline val pfx##_fetch_add(val i, type *v)		\
{									\
	return __pp_xadd(v, i);						\
}									\
static __always_inline bool pfx##_dec_and_test(type *v)			\
{									\
	return __pp_dec_zero(v);					\
}									\
static __always_inline bool pfx##_sub_and_test(val i, type *v)		\
{									\
	return __pp_xadd(v, -i) == i;					\
}									\
static __always_inline val pfx##_xchg(type *v, val new)			\
{									\
	return xchg(&v->counter, new);					\
}									\
static __always_inline val pfx##_cmpxchg(type *v, val old, val new)	\
{									\
	return cmpxchg(&v->counter, old, new);				\
}									\
static __always_inline bool pfx##_try_cmpxchg(type *v, val *old, val new) \
{									\
	return try_cmpxchg(&v->counter, old, new);			\
}

__PP_ATOMIC(atomic, atomic_t, int)
__PP_ATOMIC(atomic64, atomic64_t, s64)
#ifdef CONFIG_64BIT
#define __PP_LONG(op)		atomic64_##op
#else
#define __PP_LONG(op)		atomic_##op
#endif
static __always_inline long atomic_long_read(const atomic_long_t *v)
{
	return READ_ONCE(v->counter);
}
#define atomic_long_set		__PP_LONG(set)
#define atomic_long_add		__PP_LONG(add)
#define atomic_long_sub		__PP_LONG(sub)
#define atomic_long_inc		__PP_LONG(inc)
#define atomic_long_dec		__PP_LONG(dec)
#define atomic_long_add_return	__PP_LONG(add_return)
#define atomic_long_sub_return	__PP_LONG(sub_return)
#define atomic_long_inc_return	__PP_LONG(inc_return)
#define atomic_long_dec_return	__PP_LONG(dec_return)
#define atomic_long_fetch_add	__PP_LONG(fetch_add)
#define atomic_long_dec_and_test __PP_LONG(dec_and_test)
#define atomic_long_sub_and_test __PP_LONG(sub_and_test)
#define atomic_long_xchg	__PP_LONG(xchg)
#define atomic_long_cmpxchg	__PP_LONG(cmpxchg)
#define atomic_long_try_cmpxchg	__PP_LONG(try_cmpxchg)
#define atomic_inc_return_relaxed	atomic_inc_return
#define atomic_read_acquire(v)		smp_load_acquire(&(v)->counter)
#define atomic_set_release(v, i)	smp_store_release(&(v)->counter, i)
#define atomic_long_read_acquire(v)	smp_load_acquire(&(v)->counter)
#define atomic_long_set_release(v, i)	smp_store_release(&(v)->counter, i)

#define refcount_set(r, n)		atomic_set(&(r)->refs, n)
#define refcount_read(r)		atomic_read(&(r)->refs)
#define refcount_inc(r)			atomic_inc(&(r)->refs)
#define refcount_dec_and_test(r)	atomic_dec_and_test(&(r)->refs)

/* Bits */

#define BITS_TO_LONGS(nr)	DIV_ROUND_UP(nr, BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits)	unsigned long name[BITS_TO_LONGS(bits)]

static __always_inline unsigned long __ffs(unsigned long w) { return __builtin_ctzl(w); }
static __always_inline unsigned long __fls(unsigned long w) { return BITS_PER_LONG - 1 - __builtin_clzl(w); }
static __always_inline unsigned long ffz(unsigned long w) { return __builtin_ctzl(~w); }
static __always_inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static __always_inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static __always_inline int fls_long(unsigned long x) { return fls64(x); }
#define ilog2(n)		((int)__fls(n))
#define hweight_long(w)		__builtin_popcountl(w)
#define is_power_of_2(n)	((n) != 0 && (((n) & ((n) - 1)) == 0))
#define roundup_pow_of_two(n)	(1UL << fls64((unsigned long)(n) - 1))
#define order_base_2(n)		((n) > 1 ? fls64((unsigned long)(n) - 1) : 0)

static __always_inline bool test_bit(long nr, const volatile unsigned long *p)
{
	return p[BIT_WORD(nr)] & BIT_MASK(nr);
}

static __always_inline void __set_bit(long nr, volatile unsigned long *p)
{
	p[BIT_WORD(nr)] |= BIT_MASK(nr);
}

static __always_inline void __clear_bit(long nr, volatile unsigned long *p)
{
	p[BIT_WORD(nr)] &= ~BIT_MASK(nr);
}

static __always_inline bool __test_and_set_bit(long nr, volatile unsigned long *p)
{
	bool was = test_bit(nr, p);

	__set_bit(nr, p);
	return was;
}

static __always_inline bool __test_and_clear_bit(long nr, volatile unsigned long *p)
{
	bool was = test_bit(nr, p);

	__clear_bit(nr, p);
	return was;
}

static __always_inline void set_bit(long nr, volatile unsigned long *p)
{
	__atomic_or_fetch(p + BIT_WORD(nr), BIT_MASK(nr), __ATOMIC_SEQ_CST);
}

static __always_inline void clear_bit(long nr, volatile unsigned long *p)
{
	__atomic_and_fetch(p + BIT_WORD(nr), ~BIT_MASK(nr), __ATOMIC_SEQ_CST);
}

static __always_inline bool test_and_set_bit(long nr, volatile unsigned long *p)
{
	return __atomic_fetch_or(p + BIT_WORD(nr), BIT_MASK(nr),
				 __ATOMIC_SEQ_CST) & BIT_MASK(nr);
}

static __always_inline bool test_and_clear_bit(long nr, volatile unsigned long *p)
{
	return __atomic_fetch_and(p + BIT_WORD(nr), ~BIT_MASK(nr),
				  __ATOMIC_SEQ_CST) & BIT_MASK(nr);
}

#ifdef CONFIG_64BIT
/* The xarray's marks are one word each. */
static __always_inline unsigned long
find_next_bit(const unsigned long *p, unsigned long size, unsigned long from)
{
	unsigned long w;

	if (unlikely(from >= size))
		return size;
	w = *p & (~0UL << from);
	return w ? min(__ffs(w), size) : size;
}

static __always_inline bool bitmap_empty(const unsigned long *p, unsigned int n)
{
	BUILD_BUG_ON(n != BITS_PER_LONG);
	return !*p;
}

static __always_inline void bitmap_fill(unsigned long *p, unsigned int n)
{
	BUILD_BUG_ON(n != BITS_PER_LONG);
	*p = ~0UL;
}
#else
static inline unsigned long
find_next_bit(const unsigned long *p, unsigned long size, unsigned long from)
{
	while (from < size && !test_bit(from, p))
		from++;
	return min(from, size);
}

static inline bool bitmap_empty(const unsigned long *p, unsigned int n)
{
	return find_next_bit(p, n, 0) == n;
}

static inline void bitmap_fill(unsigned long *p, unsigned int n)
{
	while (n--)
		__set_bit(n, p);
}
#endif

void bitmap_clear(unsigned long *p, unsigned int from, unsigned int n);

/* Memory. memset() and friends are the kernel's kind: rep stosb */
void *memset(void *s, int c, size_t n);
void *memcpy(void *d, const void *s, size_t n);
void *memmove(void *d, const void *s, size_t n);
size_t strlen(const char *s);

#include <linux/container_of.h>
#include <linux/err.h>

struct list_head { struct list_head *next, *prev; };
struct hlist_head { struct hlist_node *first; };
struct hlist_node { struct hlist_node *next, **pprev; };
struct callback_head {
	struct callback_head *next;
	void (*func)(struct callback_head *head);
} __aligned(sizeof(void *));
#define rcu_head callback_head
typedef void (*rcu_callback_t)(struct rcu_head *head);

#ifdef CONFIG_64BIT
#define CONFIG_ILLEGAL_POINTER_VALUE	0xdead000000000000
#endif
#include <linux/poison.h>
#include <linux/list.h>

/* CPUs. A thread becomes one by setting its %gs, see env.c */

#define NR_CPUS			8
#define nr_cpu_ids		8U
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)
#define for_each_online_cpu(cpu)	for_each_possible_cpu(cpu)
#define num_possible_cpus()		NR_CPUS
#define cpu_online(cpu)			((cpu) < NR_CPUS)

struct task_struct { int pid; };

struct pcpu_hot {
	struct task_struct *current_task;
	int preempt_count;
	int cpu_number;
	unsigned long this_cpu_off;
	int numa_node;
	u16 softirq_pending;
};

#define __PP_PCPU		__section("pp_percpu")
#define DECLARE_PER_CPU(type, name)	extern __PP_PCPU typeof(type) name
#define DEFINE_PER_CPU(type, name)	__PP_PCPU typeof(type) name
#define DECLARE_PER_CPU_ALIGNED(type, name)				\
	extern __PP_PCPU typeof(type) name ____cacheline_aligned
#define DEFINE_PER_CPU_ALIGNED(type, name)				\
	__PP_PCPU typeof(type) name ____cacheline_aligned
#define DEFINE_PER_CPU_SHARED_ALIGNED	DEFINE_PER_CPU_ALIGNED

DECLARE_PER_CPU_ALIGNED(struct pcpu_hot, pcpu_hot);
extern unsigned long __per_cpu_offset[NR_CPUS];

#define per_cpu_ptr(p, cpu)						\
	((typeof(*(p)) *)((unsigned long)(p) + __per_cpu_offset[cpu]))
#define per_cpu(var, cpu)	(*per_cpu_ptr(&(var), cpu))

#ifdef PP_SANITIZE
extern __thread unsigned long pp_this_cpu_off;
#define raw_cpu_ptr(p)							\
	((typeof(*(p)) *)((unsigned long)(p) + pp_this_cpu_off))
#define raw_cpu_read(var)	(*raw_cpu_ptr(&(var)))
#define raw_cpu_write(var, v)	(*raw_cpu_ptr(&(var)) = (v))
/* Statistics: one CPU writes, others read at any time. */
#define this_cpu_read(var)	__atomic_load_n(raw_cpu_ptr(&(var)), __ATOMIC_RELAXED)
#define this_cpu_write(var, v)	__atomic_store_n(raw_cpu_ptr(&(var)), (v), __ATOMIC_RELAXED)
#define this_cpu_add(var, v)						\
	((void)__atomic_add_fetch(raw_cpu_ptr(&(var)), (v), __ATOMIC_RELAXED))
#else
#define __pp_gs(p)		((typeof(*(p)) __seg_gs *)(uintptr_t)(p))
#define raw_cpu_read(var)	(*__pp_gs(&(var)))
#define raw_cpu_write(var, v)	(*__pp_gs(&(var)) = (v))
#define this_cpu_read(var)						\
	(*(volatile typeof(var) __seg_gs *)(uintptr_t)&(var))
#define this_cpu_write(var, v)						\
	(*(volatile typeof(var) __seg_gs *)(uintptr_t)&(var) = (v))
#define raw_cpu_ptr(p)							\
({									\
	unsigned long __off = raw_cpu_read(pcpu_hot.this_cpu_off);	\
	__off += (unsigned long)(p);					\
	(typeof(*(p)) *)__off;						\
})
#define this_cpu_add(var, v)						\
do {									\
	if (__builtin_constant_p(v) && (v) == 1)			\
		__pp_sfx(&(var), "inc", "%0",				\
			 : "+m" (*__pp_gs(&(var))));			\
	else if (__builtin_constant_p(v) && (v) == -1)			\
		__pp_sfx(&(var), "dec", "%0",				\
			 : "+m" (*__pp_gs(&(var))));			\
	else								\
		__pp_sfx(&(var), "add", "%1,%0",			\
			 : "+m" (*__pp_gs(&(var)))			\
			 : "er" ((typeof(var))(v)));			\
} while (0)
#endif
#define this_cpu_ptr(p)		raw_cpu_ptr(p)
#define this_cpu_inc(var)	this_cpu_add(var, 1)
#define this_cpu_dec(var)	this_cpu_add(var, -1)
#define this_cpu_sub(var, v)	this_cpu_add(var, -(typeof(var))(v))
#define __this_cpu_read(var)	raw_cpu_read(var)
#define __this_cpu_write(var, v) raw_cpu_write(var, v)
#define __this_cpu_add(var, v)	this_cpu_add(var, v)
#define __this_cpu_inc(var)	this_cpu_add(var, 1)
#define __this_cpu_dec(var)	this_cpu_add(var, -1)
#define raw_cpu_add(var, v)	this_cpu_add(var, v)
#define raw_cpu_inc(var)	this_cpu_add(var, 1)
#define get_cpu_ptr(p)		({ barrier(); raw_cpu_ptr(p); })
#define put_cpu_ptr(p)		barrier()
#define get_cpu_var(var)	(*get_cpu_ptr(&(var)))
#define put_cpu_var(var)	barrier()
#define raw_smp_processor_id()	raw_cpu_read(pcpu_hot.cpu_number)
#define smp_processor_id()	raw_smp_processor_id()
#define get_cpu()		({ barrier(); raw_smp_processor_id(); })
#define put_cpu()		barrier()
#define numa_mem_id()		raw_cpu_read(pcpu_hot.numa_node)
#define numa_node_id()		raw_cpu_read(pcpu_hot.numa_node)
#define cpu_to_mem(cpu)		0
#define cpu_to_node(cpu)	0

void *__alloc_percpu_gfp(size_t size, size_t align, gfp_t gfp);
void free_percpu(void *p);
#define __alloc_percpu(size, align)	__alloc_percpu_gfp(size, align, GFP_KERNEL)
#define alloc_percpu(type)						\
	((typeof(type) *)__alloc_percpu(sizeof(type), __alignof__(type)))
#define alloc_percpu_gfp(type, gfp)					\
	((typeof(type) *)__alloc_percpu_gfp(sizeof(type), __alignof__(type), gfp))

/* Contexts. The top bit of the count is the inverted wish to reschedule. */

#define PREEMPT_NEED_RESCHED	0x80000000
#define SOFTIRQ_OFFSET		0x100
#define SOFTIRQ_MASK		0xff00
#define HARDIRQ_MASK		0xf0000
#define NMI_MASK		0xf00000
#define SOFTIRQ_DISABLE_OFFSET	(2 * SOFTIRQ_OFFSET)
#define SOFTIRQ_LOCK_OFFSET	SOFTIRQ_DISABLE_OFFSET
#define preempt_count()		(raw_cpu_read(pcpu_hot.preempt_count) & ~PREEMPT_NEED_RESCHED)
#define softirq_count()		(preempt_count() & SOFTIRQ_MASK)
#define hardirq_count()		(preempt_count() & HARDIRQ_MASK)
#define in_softirq()		(softirq_count())
#define in_serving_softirq()	(softirq_count() & SOFTIRQ_OFFSET)
#define in_hardirq()		(hardirq_count())
#define in_nmi()		(preempt_count() & NMI_MASK)
#define in_interrupt()		(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))
#define irq_count()		(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_MASK))
#define in_task()		(!(preempt_count() & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET)))
#ifdef PP_NATIVE
extern __thread bool pp_irqs_off;
#define irqs_disabled()		pp_irqs_off
#else
#define irqs_disabled()		0
#endif
#define preempt_disable()	barrier()
#define preempt_enable()	barrier()
#define preempt_disable_notrace() barrier()
#define preempt_enable_notrace() barrier()
#define migrate_disable()	barrier()
#define migrate_enable()	barrier()
#ifdef PP_NATIVE
#define local_irq_save(f)	do { (f) = pp_irqs_off; pp_irqs_off = true; } while (0)
#define local_irq_restore(f)	do { pp_irqs_off = (f); } while (0)
#else
#define local_irq_save(f)	do { (f) = 0; barrier(); } while (0)
#define local_irq_restore(f)	do { (void)(f); barrier(); } while (0)
#endif
#define local_irq_disable()	barrier()
#define local_irq_enable()	barrier()
#define current			raw_cpu_read(pcpu_hot.current_task)

void __local_bh_enable_ip(unsigned long ip, unsigned int cnt);
#define _THIS_IP_	({ __label__ __here; __here: (unsigned long)&&__here; })
#define _RET_IP_	((unsigned long)__builtin_return_address(0))

static __always_inline void __local_bh_disable_ip(unsigned long ip, unsigned int cnt)
{
	__this_cpu_add(pcpu_hot.preempt_count, (int)cnt);
	barrier();
}

static __always_inline void local_bh_disable(void)
{
	__local_bh_disable_ip(_THIS_IP_, SOFTIRQ_DISABLE_OFFSET);
}

static __always_inline void local_bh_enable(void)
{
	__local_bh_enable_ip(_THIS_IP_, SOFTIRQ_DISABLE_OFFSET);
}

/* What is done at boot; and CPUs, which do not come and go here */
typedef int (*pp_initcall_t)(void);
#define __pp_initcall(fn)						\
	static const pp_initcall_t __pp_init_##fn			\
	__used __section("pp_initcalls") = fn
#define early_initcall(fn)	__pp_initcall(fn)
#define core_initcall(fn)	__pp_initcall(fn)
#define subsys_initcall(fn)	__pp_initcall(fn)
#define fs_initcall(fn)		__pp_initcall(fn)
#define device_initcall(fn)	__pp_initcall(fn)
#define late_initcall(fn)	__pp_initcall(fn)

/* Locks */

typedef struct { union { u32 val; struct { u8 locked, pending; }; }; } spinlock_t;
typedef spinlock_t raw_spinlock_t;
typedef struct { } local_lock_t;
typedef struct { } rwlock_t;
#define __SPIN_LOCK_UNLOCKED(n)	(spinlock_t){ { 0 } }
#define DEFINE_SPINLOCK(n)	spinlock_t n
#define INIT_LOCAL_LOCK(n)	{ }
#define local_lock(l)		barrier()
#define local_unlock(l)		barrier()
#define local_lock_irqsave(l, f)	local_irq_save(f)
#define local_unlock_irqrestore(l, f)	local_irq_restore(f)
#define local_lock_nested_bh(l)	do { } while (0)
#define local_unlock_nested_bh(l) do { } while (0)
#define __local_lock_nested_bh(l) do { } while (0)
#define __local_unlock_nested_bh(l) do { } while (0)

void _raw_spin_lock(spinlock_t *l);
void _raw_spin_lock_bh(spinlock_t *l);
void _raw_spin_unlock_bh(spinlock_t *l);
unsigned long _raw_spin_lock_irqsave(spinlock_t *l);
void _raw_spin_unlock_irqrestore(spinlock_t *l, unsigned long flags);
int _raw_spin_trylock(spinlock_t *l);
int _raw_spin_trylock_bh(spinlock_t *l);

static __always_inline void spin_lock_init(spinlock_t *l) { l->val = 0; }
static __always_inline void spin_lock(spinlock_t *l) { _raw_spin_lock(l); }
static __always_inline void spin_unlock(spinlock_t *l)
{
#ifdef PP_NATIVE
	WARN_ON(!READ_ONCE(l->locked));
#endif
	smp_store_release(&l->locked, 0);
}
static __always_inline void spin_lock_bh(spinlock_t *l) { _raw_spin_lock_bh(l); }
static __always_inline void spin_unlock_bh(spinlock_t *l) { _raw_spin_unlock_bh(l); }
static __always_inline int spin_trylock(spinlock_t *l) { return _raw_spin_trylock(l); }
static __always_inline int spin_trylock_bh(spinlock_t *l) { return _raw_spin_trylock_bh(l); }
static __always_inline bool spin_is_locked(spinlock_t *l) { return READ_ONCE(l->val); }
#define spin_lock_irqsave(l, f)		((f) = _raw_spin_lock_irqsave(l))
#define spin_unlock_irqrestore(l, f)	_raw_spin_unlock_irqrestore(l, f)
#define spin_lock_irq(l)		((void)_raw_spin_lock_irqsave(l))
#define spin_unlock_irq(l)		_raw_spin_unlock_irqrestore(l, 0)
#define spin_lock_nested(l, c)		spin_lock(l)
#define spin_lock_bh_nested(l, c)	spin_lock_bh(l)
#define spin_lock_irq_nested(l, c)	spin_lock_irq(l)
#define spin_lock_irqsave_nested(l, f, c) spin_lock_irqsave(l, f)
#define raw_spin_lock			spin_lock
#define raw_spin_unlock			spin_unlock

/* RCU. Readers cost nothing, callbacks run when the harness says that all
 * CPUs are outside (see env.c).
 */
#define rcu_read_lock()			barrier()
#define rcu_read_unlock()		barrier()
#define rcu_read_lock_bh()		local_bh_disable()
#define rcu_read_unlock_bh()		local_bh_enable()
#define rcu_dereference(p)		READ_ONCE(p)
#define rcu_dereference_raw(p)		READ_ONCE(p)
#define rcu_dereference_check(p, c)	READ_ONCE(p)
#define rcu_dereference_protected(p, c)	(p)
#define rcu_access_pointer(p)		READ_ONCE(p)
#define rcu_assign_pointer(p, v)	smp_store_release(&(p), v)
#define RCU_INIT_POINTER(p, v)		WRITE_ONCE(p, v)
void call_rcu(struct rcu_head *head, rcu_callback_t func);
void pp_kfree_rcu(struct rcu_head *head, void *p);
#define kfree_rcu(p, member)		pp_kfree_rcu(&(p)->member, p)
#define kvfree_rcu(p, member)		pp_kfree_rcu(&(p)->member, p)
void synchronize_rcu(void);
#define synchronize_net()		synchronize_rcu()

/* Static keys: the nop of one that is off. They stay off. */
struct static_key { atomic_t enabled; };
struct static_key_false { struct static_key key; };
struct static_key_true { struct static_key key; };
#define DEFINE_STATIC_KEY_FALSE(n)	struct static_key_false n
#define DECLARE_STATIC_KEY_FALSE(n)	extern struct static_key_false n
#define DEFINE_STATIC_KEY_TRUE(n)	struct static_key_true n

static __always_inline bool pp_key_off(void)
{
#ifndef PP_SANITIZE
	asm goto(".byte 0x0f,0x1f,0x44,0x00,0x00" : : : : on);
#endif
	return false;
#ifndef PP_SANITIZE
on:
	return true;
#endif
}

#ifdef PP_NATIVE
#define static_branch_unlikely(k)	unlikely(atomic_read(&(k)->key.enabled))
#define static_branch_likely(k)		likely(!atomic_read(&(k)->key.enabled))
#define static_branch_inc(k)		atomic_inc(&(k)->key.enabled)
#define static_branch_dec(k)		atomic_dec(&(k)->key.enabled)
#else
#define static_branch_unlikely(k)	unlikely(pp_key_off())
#define static_branch_likely(k)		likely(!pp_key_off())
#define static_branch_inc(k)		pp_printk("a static key was switched\n")
#define static_branch_dec(k)		do { } while (0)
#endif
#define static_branch_enable(k)		static_branch_inc(k)
#define static_branch_disable(k)	do { } while (0)

/* Tracepoints: the tree's own trace/events/page_pool.h, never switched on */
#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)		__VA_ARGS__
#define TRACE_EVENT(name, proto, args, ...)				\
static __attribute__((noipa, cold, unused)) void __trace_##name(proto)	\
{									\
	barrier();							\
}									\
static __always_inline void trace_##name(proto)				\
{									\
	if (unlikely(pp_key_off()))					\
		__trace_##name(args);					\
}

/* The slab */

#define __GFP_DMA		0x01u
#define __GFP_HIGHMEM		0x02u
#define __GFP_DMA32		0x04u
#define __GFP_MOVABLE		0x08u
#define __GFP_RECLAIMABLE	0x10u
#define __GFP_HIGH		0x20u
#define __GFP_IO		0x40u
#define __GFP_FS		0x80u
#define __GFP_ZERO		0x100u
#define __GFP_DIRECT_RECLAIM	0x400u
#define __GFP_KSWAPD_RECLAIM	0x800u
#define __GFP_NOWARN		0x2000u
#define __GFP_RETRY_MAYFAIL	0x4000u
#define __GFP_NORETRY		0x10000u
#define __GFP_MEMALLOC		0x20000u
#define __GFP_COMP		0x40000u
#define __GFP_NOMEMALLOC	0x80000u
#define __GFP_THISNODE		0x200000u
#define __GFP_ACCOUNT		0x400000u
#define __GFP_RECLAIM		(__GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM)
#define GFP_ATOMIC		(__GFP_HIGH | __GFP_KSWAPD_RECLAIM)
#define GFP_KERNEL		(__GFP_RECLAIM | __GFP_IO | __GFP_FS)
#define GFP_NOWAIT		(__GFP_KSWAPD_RECLAIM | __GFP_NOWARN)
#define gfpflags_allow_blocking(gfp)	(!!((gfp) & __GFP_DIRECT_RECLAIM))
#define __GFP_BITS_SHIFT	26
#define ___GFP_LAST_BIT		26

struct list_lru;
struct kmem_cache;
void *pp_kmalloc(size_t size, gfp_t gfp);
void kfree(const void *p);
void *kmem_cache_alloc_noprof(struct kmem_cache *c, gfp_t gfp);
void kmem_cache_free(struct kmem_cache *c, void *p);
#define kmem_cache_alloc(c, gfp)		kmem_cache_alloc_noprof(c, gfp)
#define kmem_cache_alloc_lru(c, lru, gfp)	kmem_cache_alloc_noprof(c, gfp)
#define kmalloc(size, gfp)			pp_kmalloc(size, gfp)
#define kmalloc_node(size, gfp, nid)		pp_kmalloc(size, gfp)
#define kzalloc(size, gfp)			pp_kmalloc(size, (gfp) | __GFP_ZERO)
#define kzalloc_node(size, gfp, nid)		pp_kmalloc(size, (gfp) | __GFP_ZERO)
#define kcalloc(n, size, gfp)			pp_kmalloc((n) * (size), (gfp) | __GFP_ZERO)
#define kcalloc_node(n, size, gfp, nid)		kcalloc(n, size, gfp)
#define kmalloc_array(n, size, gfp)		pp_kmalloc((n) * (size), gfp)
#define kmalloc_array_noprof(n, size, gfp)	pp_kmalloc((n) * (size), gfp)
#define kvmalloc(size, gfp)			pp_kmalloc(size, gfp)
#define kvmalloc_node(size, gfp, nid)		pp_kmalloc(size, gfp)
#define kvmalloc_array(n, size, gfp)		pp_kmalloc((n) * (size), gfp)
#define kvmalloc_array_noprof(n, size, gfp)	pp_kmalloc((n) * (size), gfp)
#define kvcalloc(n, size, gfp)			kcalloc(n, size, gfp)
#define kvzalloc(size, gfp)			kzalloc(size, gfp)
#define kvfree(p)				kfree(p)
#define alloc_hooks(call)			call

/* Pages. struct page has the layout of the kernel, 64 bytes of it. */

struct page_pool;

struct page {
	unsigned long flags;
	union {
		struct {
			union {
				struct list_head lru;
				struct list_head pcp_list;
			};
			void *mapping;
			unsigned long index;
			unsigned long private;
		};
		struct {
			unsigned long pp_magic;
			struct page_pool *pp;
			unsigned long _pp_mapping_pad;
			unsigned long dma_addr;
			atomic_long_t pp_ref_count;
		};
		unsigned long compound_head;
	};
	int _mapcount;
	atomic_t _refcount;
	unsigned long memcg_data;
} __aligned(16);

extern struct page *pp_vmemmap;		/* page of frame 0 */
extern unsigned long pp_page_offset;	/* address of frame 0 */
/* Only what it lends to pp_magic counts, see PP_DMA_INDEX_BITS. */
#ifdef PP_PAGE_OFFSET
#define PAGE_OFFSET		PP_PAGE_OFFSET
#else
#define PAGE_OFFSET		pp_page_offset
#endif
#define pfn_to_page(pfn)	(pp_vmemmap + (pfn))
#define page_to_pfn(page)	((unsigned long)((page) - pp_vmemmap))
#define page_to_phys(page)	((phys_addr_t)page_to_pfn(page) << PAGE_SHIFT)
#define __pa(va)		((unsigned long)(va) - pp_page_offset)
#define __va(pa)		((void *)((unsigned long)(pa) + pp_page_offset))
#define virt_to_page(va)	pfn_to_page(__pa(va) >> PAGE_SHIFT)
#define page_to_virt(page)	__va(page_to_pfn(page) << PAGE_SHIFT)
#define page_address(page)	page_to_virt(page)
#define NODES_PGSHIFT		(BITS_PER_LONG - NODES_SHIFT)
#define PG_head			6
#define PP_PG_BAD		0x7ff		/* flags that no free page has */

static __always_inline int page_to_nid(const struct page *page)
{
	return (page->flags >> NODES_PGSHIFT) & (MAX_NUMNODES - 1);
}

static __always_inline struct page *compound_head(const struct page *page)
{
	unsigned long head = READ_ONCE(page->compound_head);

	if (unlikely(head & 1))
		return (struct page *)(head - 1);
	/* hugetlb_optimize_vmemmap_key */
	if (unlikely(pp_key_off()))
		return NULL;
	return (struct page *)page;
}

#define virt_to_head_page(va)	compound_head(virt_to_page(va))

static __always_inline int page_ref_count(const struct page *page)
{
	return atomic_read(&page->_refcount);
}

static __always_inline bool page_is_pfmemalloc(const struct page *page)
{
	return (unsigned long)page->lru.next & BIT(1);
}

static __always_inline void get_page(struct page *page)
{
	page = compound_head(page);
	/* VM_BUG_ON is off, the tracepoint of the reference is not. */
	atomic_inc(&page->_refcount);
	if (unlikely(pp_key_off()))
		pp_printk("traced\n");
}

void __put_page(struct page *page);

static __always_inline void put_page(struct page *page)
{
	page = compound_head(page);
	if (atomic_dec_and_test(&page->_refcount))
		__put_page(page);
}

struct page *alloc_pages_node(int nid, gfp_t gfp, unsigned int order);
unsigned long alloc_pages_bulk_noprof(gfp_t gfp, int nid, void *nodemask,
				      int n, struct list_head *list,
				      struct page **array);

static __always_inline unsigned long
alloc_pages_bulk_array_node(gfp_t gfp, int nid, unsigned long n, struct page **array)
{
	if (nid == NUMA_NO_NODE)
		nid = numa_mem_id();
	return alloc_pages_bulk_noprof(gfp, nid, NULL, n, NULL, array);
}

#include <pp_mm.h>	/* the bits of pp_magic, taken from the tree's mm.h */

/* Zones: one node, with memory */
struct zone { int node; };
struct zoneref { struct zone *zone; int zone_idx; };
struct zonelist { struct zoneref _zonerefs[2]; };
enum node_states { N_POSSIBLE, N_ONLINE, N_MEMORY = 3 };
#define gfp_zone(gfp)		0
#ifdef PP_NATIVE
bool node_online(int nid);
bool node_state(int nid, enum node_states state);
struct zonelist *node_zonelist(int nid, gfp_t gfp);
#define first_zones_zonelist(zl, idx, mask)	(&(zl)->_zonerefs[0])
#else
#define node_online(nid)	((nid) == 0)
#define node_state(nid, s)	((nid) == 0)
#define node_zonelist(nid, gfp)	((struct zonelist *)NULL)
#define first_zones_zonelist(zl, idx, mask)	((void)(zl), (struct zoneref *)NULL)
#endif
#define zonelist_zone(z)	((z)->zone)
#define zonelist_node_idx(z)	((z)->zone->node)

/* DMA: mapped directly, by a device that needs no syncing */
enum dma_data_direction {
	DMA_BIDIRECTIONAL = 0,
	DMA_TO_DEVICE = 1,
	DMA_FROM_DEVICE = 2,
	DMA_NONE = 3,
};

struct device {
	const void *dma_ops;
	u64 *dma_mask;
	u64 bus_dma_limit;
	const void *dma_range_map;
	void *dma_io_tlb_mem;
	bool dma_coherent:1;
	bool dma_ops_bypass:1;
	bool dma_skip_sync:1;
};

#define DMA_ATTR_WEAK_ORDERING	(1UL << 1)
#define DMA_ATTR_SKIP_CPU_SYNC	(1UL << 5)
#define DMA_MAPPING_ERROR	(~(dma_addr_t)0)
#define dma_get_cache_alignment()	1

dma_addr_t dma_map_page_attrs(struct device *dev, struct page *page,
			      size_t offset, size_t size,
			      enum dma_data_direction dir, unsigned long attrs);
void dma_unmap_page_attrs(struct device *dev, dma_addr_t addr, size_t size,
			  enum dma_data_direction dir, unsigned long attrs);
void __dma_sync_single_for_device(struct device *dev, dma_addr_t addr,
				  size_t size, enum dma_data_direction dir);
void __dma_sync_single_for_cpu(struct device *dev, dma_addr_t addr,
			       size_t size, enum dma_data_direction dir);

static __always_inline int dma_mapping_error(struct device *dev, dma_addr_t addr)
{
	return unlikely(addr == DMA_MAPPING_ERROR) ? -ENOMEM : 0;
}

static __always_inline bool dma_dev_need_sync(const struct device *dev)
{
	pp_point();
	return !dev->dma_skip_sync;
}

#define dma_sync_single_range_for_cpu(dev, addr, off, size, dir)	\
do {									\
	if (dma_dev_need_sync(dev))					\
		__dma_sync_single_for_cpu(dev, (addr) + (off), size, dir); \
} while (0)

/* Work and time: run when the harness says so, see pp_run_work() in env.c */
struct work_struct {
	struct list_head entry;
	void (*func)(struct work_struct *work);
	bool queued;
};
struct delayed_work { struct work_struct work; };
typedef void (*work_func_t)(struct work_struct *work);
struct workqueue_struct;
extern struct workqueue_struct *system_wq, *system_unbound_wq;
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
#define schedule_work(w)		queue_work(NULL, w)
#define INIT_WORK(w, f)			do { (w)->func = (f); (w)->queued = false; } while (0)
#define INIT_DELAYED_WORK(d, f)		INIT_WORK(&(d)->work, f)
#define schedule_delayed_work(d, t)	queue_work(NULL, &(d)->work)
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define HZ				250
#define jiffies				0UL
#define jiffies_64			0ULL
#define msecs_to_jiffies(ms)		((ms) * HZ / 1000)
#define time_after_eq(a, b)		((long)((a) - (b)) >= 0)

/* What is left of networking */
struct sk_buff;
struct net;
struct bpf_prog;
struct net_device {
	unsigned int num_rx_queues;
	struct hlist_head page_pools;
};
struct napi_struct {
	struct list_head poll_list;
	unsigned long state;
	int weight;
	u32 defer_hard_irqs_count;
	unsigned long gro_bitmask;
	int (*poll)(struct napi_struct *napi, int budget);
	int list_owner;
};
struct skb_shared_info { void *align; };
struct memory_provider_ops;
struct rx_queue_mp { void *mp_priv; const struct memory_provider_ops *mp_ops; };
struct netdev_rx_queue { struct rx_queue_mp mp_params; };
struct netdev_rx_queue *__netif_get_rx_queue(struct net_device *dev, unsigned int rxq);
#define napi_assert_will_not_race(napi)	do { } while (0)
#define NET_PTR_POISON			((void *)(0x801 + POISON_POINTER_DELTA))
struct xdp_mem_info { u32 type, id; };

#define ETH_GSTRING_LEN			32
void ethtool_puts(u8 **data, const char *s);

#ifdef CONFIG_64BIT
struct u64_stats_sync { };
#define u64_stats_init(s)		do { } while (0)
#define u64_stats_fetch_begin(s)	0U
#define u64_stats_fetch_retry(s, start)	((void)(start), false)
#else
struct u64_stats_sync { u32 seq; };
#define u64_stats_init(s)		((s)->seq = 0)
#define u64_stats_fetch_begin(s)	READ_ONCE((s)->seq)
#define u64_stats_fetch_retry(s, start)	(((start) & 1) || READ_ONCE((s)->seq) != (start))
#define u64_stats_update_begin_irqsave(s)				\
({									\
	unsigned long __irq;						\
									\
	local_irq_save(__irq);						\
	WRITE_ONCE((s)->seq, (s)->seq + 1);				\
	WARN_ON(!((s)->seq & 1));					\
	__irq;								\
})
#define u64_stats_update_end_irqrestore(s, irq)				\
do {									\
	WRITE_ONCE((s)->seq, (s)->seq + 1);				\
	local_irq_restore(irq);						\
} while (0)
#endif

#endif /* _PP_KERNEL_H */
