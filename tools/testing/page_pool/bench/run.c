// SPDX-License-Identifier: GPL-2.0
/*
 * Runs page pools that were compiled into shared objects, and prints samples;
 * what they mean is worked out by the script that calls this.
 *
 *   run lines MS ROUNDS A.so B.so [LINE...]	one CPU, A and B in turn
 *   run cross MS ROUNDS N A.so B.so		N returning CPUs
 *   run instr A.so [LINE...]			under callgrind: dumps per line
 *   run info A.so				sizes, cost per page, lines
 *   run stress SECONDS SEED A.so		everything at once
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef HAVE_VALGRIND
#include <valgrind/callgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#include "bench.h"

static atomic_ulong warnings;

/* WARN_ON(): say where, go on behind it. */
static void on_ud2(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	unsigned char *ip = (unsigned char *)uc->uc_mcontext.gregs[REG_RIP];
	Dl_info info;

	if (ip[0] != 0x0f || ip[1] != 0x0b)
		abort();
	if (warnings++ < 10 && dladdr(ip, &info))
		fprintf(stderr, "warning of the page pool at %s+0x%lx\n",
			info.dli_fname, (long)(ip - (unsigned char *)info.dli_fbase));
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static const struct pp_table *load(const char *path)
{
	const struct pp_table *t;
	const struct pp_table *(*get)(void);
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!so)
		errx(1, "%s", dlerror());
	*(void **)&get = dlsym(so, "pp_bench_table");
	if (!get)
		errx(1, "%s has no table", path);
	t = get();
	t->setup((getauxval(AT_HWCAP2) & 2) && !RUNNING_ON_VALGRIND);
	return t;
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static inline uint64_t tsc(void)
{
	return __builtin_ia32_rdtsc();
}

static double tsc_per_ms(void)
{
	struct timespec a, b;
	uint64_t t = tsc();
	double ns;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		clock_gettime(CLOCK_MONOTONIC, &b);
		ns = (b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec);
	} while (ns < 5e6);
	return (tsc() - t) / (ns / 1e6);
}

static bool wanted(const char *name, char **list)
{
	if (!*list)
		return true;

	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static unsigned long round_to(unsigned long n, unsigned long batch)
{
	n -= n % batch;
	return n ? n : batch;
}

/* One sample: a fresh pool, warmed up. Returns cycles. */
static unsigned long sample(const struct pp_table *t, const struct pp_line *l,
			    unsigned int flags, unsigned long n, struct pp_counts *d)
{
	struct pp_counts before = { 0 }, after = { 0 };
	struct page_pool *pool;
	unsigned long cycles;

	t->enter(0);
	pool = t->create(flags | l->flags);
	if (!pool)
		errx(1, "no pool");
	l->run(pool, round_to(n / 8, l->batch));
	if (d)
		t->counts(pool, &before);
	cycles = l->run(pool, n);
	if (d) {
		t->counts(pool, &after);
		d->allocated = after.allocated - before.allocated;
		d->refills = after.refills - before.refills;
		d->handed = after.handed - before.handed;
	}
	t->destroy(pool);
	t->settle();
	t->counts(NULL, &after);
	if (after.out || after.slab_out || after.percpu_out)
		errx(1, "%s: %ld pages, %ld objects, %ld bytes per CPU leaked", l->name,
		     after.out, after.slab_out, after.percpu_out);
	return cycles;
}

static void cmd_lines(double ms, int rounds, char **so, char **list)
{
	const struct pp_table *t[2] = { load(so[0]), load(so[1]) };
	double cycles = ms * tsc_per_ms();
	unsigned int flags;

	for (unsigned int i = 0; i < t[0]->n_lines; i++) {
		const struct pp_line *l[2] = { &t[0]->lines[i], &t[1]->lines[i] };

		if (!wanted(l[0]->name, list))
			continue;
		for (flags = 0; flags <= PP_BENCH_DMA; flags++) {
			unsigned long n = l[0]->batch, c[2];

			if (flags && l[0]->alone)
				continue;
			while (sample(t[0], l[0], flags, n, NULL) < cycles)
				n *= 2;
			for (int r = 0; r < rounds; r++) {
				int first = r & 1;

				c[first] = sample(t[first], l[first], flags, n, NULL);
				c[!first] = sample(t[!first], l[!first], flags, n, NULL);
				printf("line,%s,%u,%d,%.4f,%.4f\n", l[0]->name, flags, r,
				       (double)c[0] / n, (double)c[1] / n);
			}
			fflush(stdout);
		}
	}
}

static void cmd_info(char *so)
{
	const struct pp_table *t = load(so);
	struct pp_counts empty, c;
	struct page_pool *pool;
	unsigned int flags;
	unsigned long most;

	t->enter(0);
	t->counts(NULL, &empty);
	pool = t->create(0);
	t->counts(NULL, &c);
	printf("size,%u,%lu\n", t->pool_bytes, c.percpu_out - empty.percpu_out);
	printf("reuse,%.1f", t->reuse(pool, 64000, &most) / 64000.0);
	printf(",%lu\n", most);
	t->destroy(pool);
	t->settle();
	for (unsigned int i = 0; i < t->n_lines; i++) {
		const struct pp_line *l = &t->lines[i];
		unsigned long n = 12800;

		if (l->alone || !strcmp(l->name, "create") || !strcmp(l->name, "first64"))
			continue;
		for (flags = 0; flags <= PP_BENCH_DMA; flags++) {
			sample(t, l, flags, n, &c);
			printf("page,%s,%u,%.4f,%.4f\n", l->name, flags,
			       (double)c.allocated / n, (double)c.refills / n);
		}
	}
}

/* Two lengths of each line: their difference is free of what is done once. */
static void cmd_instr(char *so, char **list)
{
#ifdef HAVE_VALGRIND
	const struct pp_table *t = load(so);
	unsigned int flags;
	char name[64];

	for (unsigned int i = 0; i < t->n_lines; i++) {
		const struct pp_line *l = &t->lines[i];

		/* most of first64 is not in its time */
		if (!wanted(l->name, list) || !strcmp(l->name, "first64"))
			continue;
		for (flags = 0; flags <= PP_BENCH_DMA; flags++) {
			if (flags && l->alone)
				continue;
			for (int k = 1; k <= 3; k += 2) {
				unsigned long n = (l->ops ? l->ops : 6400) * k;
				struct page_pool *pool;

				t->enter(0);
				pool = t->create(flags | l->flags);
				l->run(pool, 6400);
				snprintf(name, sizeof(name), "%s:%u:%lu", l->name, flags, n);
				CALLGRIND_ZERO_STATS;
				l->run(pool, n);
				CALLGRIND_DUMP_STATS_AT(name);
				t->destroy(pool);
				t->settle();
			}
		}
	}
#else
	errx(1, "built without valgrind's headers");
#endif
}

/* Two processors throw a line to each other. */

static _Alignas(128) atomic_uint ball;
static atomic_int go;

static void *pong(void *arg)
{
	pin(1);
	go = 1;
	for (unsigned int i = 0; i < 2000; i++) {
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
			;
		atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
	}
	return NULL;
}

/* Cycles one way: the lower quarter, since any pause makes it longer. */
static int cmp_u64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double latency(void)
{
	static uint64_t t[2000];
	pthread_t thread;

	pin(0);
	ball = 0;
	go = 0;
	pthread_create(&thread, NULL, pong, NULL);
	while (!go)
		;
	for (unsigned int i = 0; i < 2000; i++) {
		t[i] = tsc();
		atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
			;
		t[i] = tsc() - t[i];
	}
	pthread_join(thread, NULL);
	qsort(t, 2000, sizeof(*t), cmp_u64);
	return t[1000] / 2.0;
}

/* A queue from one thread to one other, moved by sections */

#define QUEUE	512	/* more than this is never between two threads */
#define WINDOW	16	/* sections that throughput is taken over */

struct queue {
	_Alignas(128) atomic_ulong head;
	_Alignas(128) atomic_ulong tail;
	_Alignas(128) void *slot[QUEUE];
};

struct times {
	uint64_t *t;
	unsigned long n, max;
};

struct cross {
	const struct pp_table *t;
	struct page_pool *pool;
	unsigned int n;			/* returners */
	unsigned long sections;		/* each */
	bool crowded;			/* more threads than processors */
	atomic_bool stop;
	pthread_barrier_t start;
	struct queue q[4];
	struct times put[4], alloc, all;
};

static void add_time(struct times *s, uint64_t t)
{
	if (s->n < s->max)
		s->t[s->n++] = t;
}

static void new_times(struct times *s, unsigned long max)
{
	s->t = calloc(max, sizeof(*s->t));
	s->max = max;
	s->n = 0;
}

/* Mean per page without the first tenth (warming up) and the longest
 * hundredth (the host takes the processor away now and then).
 */
static double mean(struct times *s)
{
	unsigned long skip = s->n / 10, n = s->n - skip, keep = n - n / 100;
	double sum = 0;

	qsort(s->t + skip, n, sizeof(*s->t), cmp_u64);
	for (unsigned long i = 0; i < keep; i++)
		sum += s->t[skip + i];
	free(s->t);
	return sum / keep / PP_SECTION;
}

/* Median of the times, again per page of @pages */
static double median(struct times *s, unsigned long pages)
{
	unsigned long skip = s->n / 10, n = s->n - skip;
	double m;

	qsort(s->t + skip, n, sizeof(*s->t), cmp_u64);
	m = (double)s->t[skip + n / 2] / pages;
	free(s->t);
	return m;
}

static void breathe(const struct cross *c, unsigned int *spins)
{
	__builtin_ia32_pause();
	if (c->crowded && !(++*spins & 255))
		sched_yield();
}

static void push(struct cross *c, struct queue *q, void **p)
{
	unsigned long head = q->head;
	unsigned int spins = 0;

	/* All queues together hold less than the pool's ring. */
	while (head + PP_SECTION - atomic_load_explicit(&q->tail, memory_order_acquire) >
	       QUEUE / c->n)
		breathe(c, &spins);
	for (int i = 0; i < PP_SECTION; i++)
		q->slot[(head + i) % QUEUE] = p[i];
	atomic_store_explicit(&q->head, head + PP_SECTION, memory_order_release);
}

static bool pop(struct cross *c, struct queue *q, void **p)
{
	unsigned long tail = q->tail;
	unsigned int spins = 0;

	while (atomic_load_explicit(&q->head, memory_order_acquire) == tail) {
		if (c->stop && atomic_load_explicit(&q->head, memory_order_acquire) == tail)
			return false;
		breathe(c, &spins);
	}
	for (int i = 0; i < PP_SECTION; i++)
		p[i] = q->slot[(tail + i) % QUEUE];
	atomic_store_explicit(&q->tail, tail + PP_SECTION, memory_order_release);
	return true;
}

struct returner {
	struct cross *c;
	unsigned int nr;
};

static void *returner(void *arg)
{
	struct returner *r = arg;
	struct cross *c = r->c;
	void *p[PP_SECTION];

	pin(c->crowded ? r->nr : 1);
	c->t->enter(1 + r->nr);
	pthread_barrier_wait(&c->start);
	while (pop(c, &c->q[r->nr], p))
		add_time(&c->put[r->nr], c->t->put(c->pool, p, PP_SECTION));
	return NULL;
}

struct result {
	double put, alloc, all, fallback;
};

static void cross_begin(struct cross *c, const struct pp_table *t, unsigned int n,
			unsigned long sections)
{
	memset(c, 0, sizeof(*c));
	c->t = t;
	c->n = n;
	c->sections = sections;
	t->enter(0);
	t->hold(1);
	c->pool = t->create(0);
	if (!c->pool)
		errx(1, "no pool");
	new_times(&c->alloc, sections * n);
	new_times(&c->all, sections * n);
	for (unsigned int i = 0; i < n; i++)
		new_times(&c->put[i], sections);
}

static void cross_end(struct cross *c, struct result *r)
{
	struct pp_counts left;

	r->alloc = mean(&c->alloc);
	r->put = 0;
	for (unsigned int i = 0; i < c->n; i++)
		r->put += mean(&c->put[i]) / c->n;
	c->t->enter(0);
	c->t->destroy(c->pool);
	c->t->settle();
	c->t->hold(0);
	c->t->counts(NULL, &left);
	if (left.out || left.slab_out || left.percpu_out)
		errx(1, "cross: %ld pages, %ld objects, %ld bytes per CPU leaked",
		     left.out, left.slab_out, left.percpu_out);
}

/* All at once: one returner beside the allocator, or four on what there is. */
static struct result cross_stream(const struct pp_table *t, unsigned int n,
				  unsigned long sections)
{
	static struct cross c;
	struct pp_counts before, after;
	struct returner r[4];
	pthread_t thread[4];
	void *p[PP_SECTION];
	struct result res;
	uint64_t start = 0;

	cross_begin(&c, t, n, sections);
	c.crowded = n > 1;
	pthread_barrier_init(&c.start, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++) {
		r[i] = (struct returner){ &c, i };
		pthread_create(&thread[i], NULL, returner, &r[i]);
	}
	pin(0);
	t->enter(0);
	pthread_barrier_wait(&c.start);
	for (unsigned long s = 0; s < sections * n; s++) {
		if (s == sections * n / 10)
			t->counts(NULL, &before);
		if (s % WINDOW == 0) {
			uint64_t now = tsc();

			if (s)
				add_time(&c.all, now - start);
			start = now;
		}
		add_time(&c.alloc, t->alloc(c.pool, p, PP_SECTION));
		push(&c, &c.q[s % n], p);
	}
	c.stop = true;
	for (unsigned int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	t->counts(NULL, &after);
	sections = sections * n - sections * n / 10;
	res.all = median(&c.all, WINDOW * PP_SECTION);
	res.fallback = (double)(after.allocated - before.allocated) / (sections * PP_SECTION);
	cross_end(&c, &res);
	return res;
}

/* In phases: allocate all, then two processors return them at the same time.
 * This thread is the allocator, and the second returner under another number.
 */
#define PHASE	7	/* sections of each returner */

struct phases {
	struct cross *c;
	void *p[2][PHASE][PP_SECTION];
	unsigned long n;

	_Alignas(128) atomic_ulong started, finished, here;
};

static void put_phase(struct phases *ph, int nr)
{
	struct cross *c = ph->c;

	for (int s = 0; s < PHASE; s++)
		add_time(&c->put[nr], c->t->put(c->pool, ph->p[nr][s], PP_SECTION));
}

static void *phase_returner(void *arg)
{
	struct phases *ph = arg;

	pin(1);
	ph->c->t->enter(1);
	for (unsigned long i = 1; i <= ph->n; i++) {
		ph->here = i;
		while (ph->started != i)
			;
		put_phase(ph, 0);
		ph->finished = i;
	}
	return NULL;
}

static struct result cross_phases(const struct pp_table *t, unsigned long n)
{
	static struct cross c;
	static struct phases ph;
	struct pp_counts before, after;
	uint64_t took, start;
	struct result res;
	pthread_t thread;

	memset(&ph, 0, sizeof(ph));
	cross_begin(&c, t, 2, n * PHASE);
	ph.c = &c;
	ph.n = n;
	pthread_create(&thread, NULL, phase_returner, &ph);
	pin(0);
	for (unsigned long i = 1; i <= n; i++) {
		t->enter(0);
		if (i == n / 10 + 1)
			t->counts(NULL, &before);
		start = tsc();
		for (int s = 0; s < 2 * PHASE; s++)
			add_time(&c.alloc, t->alloc(c.pool, ph.p[s & 1][s / 2], PP_SECTION));
		took = tsc() - start;
		t->enter(2);
		while (ph.here != i)
			;
		start = tsc();
		ph.started = i;
		put_phase(&ph, 1);
		while (ph.finished != i)
			;
		add_time(&c.all, took + tsc() - start);
	}
	pthread_join(thread, NULL);
	t->counts(NULL, &after);
	n -= n / 10;
	res.all = median(&c.all, 2 * PHASE * PP_SECTION);
	res.fallback = (double)(after.allocated - before.allocated) /
		       (n * 2 * PHASE * PP_SECTION);
	cross_end(&c, &res);
	return res;
}

static struct result cross_once(const struct pp_table *t, unsigned int n, double cycles)
{
	/* about 100 cycles per page, all in all */
	unsigned long sections = cycles / 100 / PP_SECTION / n;

	if (n == 2)
		return cross_phases(t, sections / PHASE);
	return cross_stream(t, n, sections);
}

static void cmd_cross(double ms, int rounds, unsigned int n, char **so)
{
	const struct pp_table *t[2] = { load(so[0]), load(so[1]) };
	double cycles = ms * tsc_per_ms();

	for (int r = 0; r < rounds; r++) {
		struct result res[2];
		double lat[3];
		int first = r & 1;

		lat[0] = latency();
		res[first] = cross_once(t[first], n, cycles);
		lat[1] = latency();
		res[!first] = cross_once(t[!first], n, cycles);
		lat[2] = latency();
		for (int i = 0; i < 2; i++)
			printf("cross,%u,%d,%d,%.2f,%.2f,%.2f,%.5f,%.1f,%.1f,%.1f\n", n, r, i,
			       res[i].put, res[i].alloc, res[i].all, res[i].fallback,
			       lat[0], lat[1], lat[2]);
		fflush(stdout);
	}
}

/* Stress: pools live and die while CPUs put in all ways. A round has one pool,
 * a consumer, three returners and a worker; the pool is destroyed, on yet another
 * CPU, while its pages are still out.
 */

#define RETURNERS	3

struct handover {
	_Alignas(128) atomic_ulong head;
	_Alignas(128) atomic_ulong tail;
	void *slot[256];
};

struct stress {
	const struct pp_table *t;
	struct page_pool *pool;
	atomic_bool done, home;
	struct handover q[RETURNERS];
	unsigned int seed[RETURNERS + 1];
};

static unsigned int rnd(unsigned int *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static bool give(struct handover *q, void *p)
{
	unsigned long head = atomic_load_explicit(&q->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&q->tail, memory_order_acquire) == 256)
		return false;
	q->slot[head % 256] = p;
	atomic_store_explicit(&q->head, head + 1, memory_order_release);
	return true;
}

static void *take(struct handover *q)
{
	unsigned long tail = atomic_load_explicit(&q->tail, memory_order_relaxed);
	void *p;

	if (atomic_load_explicit(&q->head, memory_order_acquire) == tail)
		return NULL;
	p = q->slot[tail % 256];
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	return p;
}

static void stress_put(struct stress *s, void **p, unsigned int n, unsigned int how)
{
	if (how % 6 == 5)
		s->t->put(s->pool, p, n);
	else
		s->t->put_mixed(s->pool, p, n, how);
}

struct stresser {
	struct stress *s;
	unsigned int nr;
};

static void *stress_returner(void *arg)
{
	struct stresser *me = arg;
	struct stress *s = me->s;
	unsigned int *seed = &s->seed[1 + me->nr];
	void *p[PP_SECTION];
	bool done;

	pin(me->nr);
	s->t->enter(1 + me->nr);
	do {
		unsigned int n, want = 1 + rnd(seed) % PP_SECTION;

		done = s->done;
		for (n = 0; n < want; n++) {
			p[n] = take(&s->q[me->nr]);
			if (!p[n])
				break;
		}
		if (n) {
			stress_put(s, p, n, (rnd(seed) % 30) & ~PP_STRESS_CONSUMER);
			done = false;
		} else {
			sched_yield();
		}
	} while (!done);
	return NULL;
}

/* Where the page pool's work runs, and ends pools, while others put. */
static void *stress_worker(void *arg)
{
	struct stress *s = arg;

	pin(1);
	s->t->enter(6);
	while (!s->home) {
		s->t->work();
		sched_yield();
	}
	return NULL;
}

static void stress_consume(struct stress *s, unsigned int steps, unsigned int *seed)
{
	void *p[PP_SECTION];
	unsigned int i, n;

	while (steps--) {
		unsigned int how = rnd(seed);

		n = 1 + rnd(seed) % PP_SECTION;
		if (how & 1) {
			s->t->alloc(s->pool, p, n);
			for (i = 0; i < n && p[i]; i++)
				;
			n = i;
		} else {
			n = s->t->alloc_mixed(s->pool, p, n, rnd(seed));
		}
		/* Some go home from here, directly or not, most elsewhere. */
		if (how & 6) {
			struct handover *q = &s->q[rnd(seed) % RETURNERS];

			while (n && give(q, p[n - 1]))
				n--;
		}
		if (n)
			stress_put(s, p, n, rnd(seed) % 30 + (how & 8 ? PP_STRESS_CONSUMER : 0));
	}
}

static void cmd_stress(double seconds, unsigned int seed, char *so)
{
	static struct stress s;
	struct stresser me[RETURNERS];
	pthread_t thread[RETURNERS], worker;
	time_t end = time(NULL) + seconds;
	unsigned long rounds = 0;

	s.t = load(so);
	do {
		struct pp_counts c;
		unsigned int flags = rnd(&seed) % 4;

		s.t->enter(0);
		s.t->hold(1);
		s.pool = s.t->create(flags);
		if (!s.pool)
			errx(1, "no pool");
		s.done = false;
		s.home = false;
		pthread_create(&worker, NULL, stress_worker, &s);
		for (int i = 0; i < RETURNERS; i++) {
			me[i] = (struct stresser){ &s, i };
			s.seed[1 + i] = rnd(&seed);
			pthread_create(&thread[i], NULL, stress_returner, &me[i]);
		}
		stress_consume(&s, 1 + rnd(&seed) % 200, &seed);
		/* Nobody is the NAPI any more when a pool is destroyed. */
		s.t->enter(7);
		s.t->destroy(s.pool);
		s.done = true;
		for (int i = 0; i < RETURNERS; i++)
			pthread_join(thread[i], NULL);
		s.home = true;
		pthread_join(worker, NULL);
		s.t->hold(0);
		for (int i = 0; i < 4; i++)
			s.t->settle();
		s.t->counts(NULL, &c);
		if (c.out || c.slab_out || c.percpu_out || c.warnings || warnings)
			errx(1, "pool %lu: %ld pages, %ld objects, %ld bytes lost; %lu warnings",
			     rounds, c.out, c.slab_out, c.percpu_out, c.warnings + warnings);
		rounds++;
	} while (time(NULL) < end);
	printf("%lu pools lived and died\n", rounds);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_ud2, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &sa, NULL);
	pin(0);
	if (argc >= 6 && !strcmp(argv[1], "lines"))
		cmd_lines(atof(argv[2]), atoi(argv[3]), argv + 4, argv + 6);
	else if (argc == 7 && !strcmp(argv[1], "cross"))
		cmd_cross(atof(argv[2]), atoi(argv[3]), atoi(argv[4]), argv + 5);
	else if (argc >= 3 && !strcmp(argv[1], "instr"))
		cmd_instr(argv[2], argv + 3);
	else if (argc == 3 && !strcmp(argv[1], "info"))
		cmd_info(argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "stress"))
		cmd_stress(atof(argv[2]), atoi(argv[3]), argv[4]);
	else
		errx(2, "see the top of run.c");
	if (warnings)
		errx(1, "%lu warnings of the page pool", warnings);
	return 0;
}
