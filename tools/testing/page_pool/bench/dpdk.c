// SPDX-License-Identifier: GPL-2.0
/*
 * Another page pool's figures, for the scale: rte_mempool of DPDK, whose
 * per-core cache is what the array is here, and whose ring takes what the cache
 * has no room for. Get and put of one object and of 32 on one core; and one
 * core gets what another puts, handed over through a single-producer
 * single-consumer ring in sections of 64. Prints TSC cycles per object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define OBJECTS		8191
#define CACHE		256
#define SECTION		64
#define N		1048576UL
#define ROUNDS		15

static struct rte_mempool *pool;
static struct rte_ring *ring;
static uint64_t put_time[N / SECTION];

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, rte_strerror(rte_errno));
	exit(1);
}

static int cmp(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int cmp64(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* mean without the first tenth and the longest hundredth, as in run.c */
static double mean(uint64_t *t, unsigned long n)
{
	unsigned long skip = n / 10, keep = (n - skip) - (n - skip) / 100;
	double sum = 0;

	qsort(t + skip, n - skip, sizeof(*t), cmp64);
	for (unsigned long i = 0; i < keep; i++)
		sum += t[skip + i];
	return sum / keep / SECTION;
}

static double one(void)
{
	uint64_t t = rte_rdtsc_precise();
	void *p;

	for (unsigned long i = 0; i < N; i++) {
		if (rte_mempool_get(pool, &p))
			die("get");
		rte_mempool_put(pool, p);
	}
	return (double)(rte_rdtsc_precise() - t) / N;
}

static double bulk(void)
{
	uint64_t t = rte_rdtsc_precise();
	void *p[32];

	for (unsigned long i = 0; i < N; i += 32) {
		if (rte_mempool_get_bulk(pool, p, 32))
			die("get");
		rte_mempool_put_bulk(pool, p, 32);
	}
	return (double)(rte_rdtsc_precise() - t) / N;
}

static int putter(void *arg)
{
	void *p[SECTION];
	uint64_t t;

	for (unsigned long s = 0; s < N / SECTION; s++) {
		while (!rte_ring_sc_dequeue_bulk(ring, p, SECTION, NULL))
			rte_pause();
		t = rte_rdtsc_precise();
		for (int i = 0; i < SECTION; i++)
			rte_mempool_put(pool, p[i]);
		put_time[s] = rte_rdtsc_precise() - t;
	}
	return 0;
}

static void cross(unsigned int lcore, double *put, double *get, double *all)
{
	static uint64_t get_time[N / SECTION];
	void *p[SECTION];
	uint64_t t, start;

	rte_eal_remote_launch(putter, NULL, lcore);
	start = rte_rdtsc_precise();
	for (unsigned long s = 0; s < N / SECTION; s++) {
		t = rte_rdtsc_precise();
		for (int i = 0; i < SECTION; i++)
			while (rte_mempool_get(pool, &p[i]))
				rte_pause();
		get_time[s] = rte_rdtsc_precise() - t;
		while (!rte_ring_sp_enqueue_bulk(ring, p, SECTION, NULL))
			rte_pause();
	}
	rte_eal_wait_lcore(lcore);
	*all = (double)(rte_rdtsc_precise() - start) / N;
	*put = mean(put_time, N / SECTION);
	*get = mean(get_time, N / SECTION);
}

static double median(double *v)
{
	qsort(v, ROUNDS, sizeof(*v), cmp);
	return v[ROUNDS / 2];
}

int main(void)
{
	char *argv[] = { "dpdk", "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
			 "--log-level=1", "-m", "64", "-l", "0,1", NULL };
	double a[ROUNDS], b[ROUNDS], put[ROUNDS], get[ROUNDS], all[ROUNDS];
	unsigned int lcore;

	if (rte_eal_init(10, argv) < 0)
		die("rte_eal_init");
	pool = rte_mempool_create("pool", OBJECTS, 2048, CACHE, 0, NULL, NULL, NULL, NULL,
				  rte_socket_id(), 0);
	ring = rte_ring_create("ring", 512, rte_socket_id(), RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!pool || !ring)
		die("no memory");
	for (int r = 0; r < ROUNDS; r++) {
		a[r] = one();
		b[r] = bulk();
	}
	printf("single,%.2f\nbulk32,%.2f\n", median(a), median(b));
	lcore = rte_get_next_lcore(-1, 1, 0);
	if (lcore < RTE_MAX_LCORE) {
		for (int r = 0; r < ROUNDS; r++)
			cross(lcore, &put[r], &get[r], &all[r]);
		printf("cross1,%.2f,%.2f,%.2f\n", median(put), median(get), median(all));
	}
	return 0;
}
