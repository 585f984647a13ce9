// SPDX-License-Identifier: GPL-2.0
/*
 * native [-v] [-d N] steps COUNT [SEED]	random steps; all is looked at each N
 * native [-v] [-d N] episode SEED		one episode of these again
 * native validate				does page_pool_validate() find faults?
 * native [-v] file FILE...			steps that a fuzzer found
 * native threads SECONDS [SEED]		threads
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "native.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

#ifndef NT_THREADED
/* What is random about an episode follows from its seed. */
static void episode(unsigned int seed, struct nt_opt *opt)
{
	unsigned int n = seed * 2246822519u;

	nt_run(NULL, 0, seed, n % 16 ? 64 + n % 4096 : 32768 + n % 65536, opt);
}

static void run_steps(unsigned long long count, unsigned int seed, struct nt_opt *opt)
{
	double start = now();
	unsigned int n;

	printf("seed %u: %s\n", seed, nt_build());
	for (n = 0; opt->steps < count; n++, seed++) {
		/* A report ends the program: say which episode it was. */
		if (!(n % 256)) {
			printf("episodes from seed %u\n", seed);
			fflush(stdout);
		}
		episode(seed, opt);
	}
	printf("%llu steps in %u episodes, %llu checked throughout, %.1f s\n", opt->steps, n,
	       opt->checks, now() - start);
}

static void run_file(const char *name, struct nt_opt *opt)
{
	static unsigned char buf[1 << 20];
	FILE *f = fopen(name, "r");

	if (!f)
		err(1, "%s", name);
	nt_run(buf, fread(buf, 1, sizeof(buf), f), 0, 0, opt);
	fclose(f);
	printf("%s: %llu steps\n", name, opt->steps);
}
#else
static void *thread(void *arg)
{
	nt_round((long)arg);
	return NULL;
}

static void run_threads(double seconds, unsigned int seed, const struct nt_opt *opt)
{
	double start = now();
	pthread_t t[NT_THREADS];
	unsigned int rounds = 0;
	long i;

	do {
		if (opt->verbose)
			printf("round %u\n", seed + rounds);
		nt_round_begin(seed + rounds);
		for (i = 0; i < NT_THREADS; i++)
			if (pthread_create(&t[i], NULL, thread, (void *)i))
				err(1, "pthread_create");
		for (i = 0; i < NT_THREADS; i++)
			pthread_join(t[i], NULL);
		nt_round_end();
		rounds++;
	} while (now() - start < seconds);
	printf("%u pools lived and died among %d threads, %.1f s\n", rounds, NT_THREADS,
	       now() - start);
}
#endif

int main(int argc, char **argv)
{
	struct nt_opt opt = { .deep = 1 };
	unsigned int seed;
	int c;

	while ((c = getopt(argc, argv, "vd:")) != -1) {
		if (c == 'v')
			opt.verbose = 1;
		else if (c == 'd' && atoi(optarg) > 0)
			opt.deep = atoi(optarg);
		else
			errx(2, "see the head of this program");
	}
	argc -= optind;
	argv += optind;
	seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
#ifdef NT_THREADED
	nt_threads_setup();
	if (argc >= 2 && !strcmp(argv[0], "threads"))
		run_threads(atof(argv[1]), seed, &opt);
#else
	nt_setup();
	if (argc >= 2 && !strcmp(argv[0], "steps"))
		run_steps(strtoull(argv[1], NULL, 0), seed, &opt);
	else if (argc == 2 && !strcmp(argv[0], "episode"))
		episode(strtoul(argv[1], NULL, 0), &opt);
	else if (argc == 1 && !strcmp(argv[0], "validate"))
		printf("%u faults found\n", nt_validate());
	else if (argc >= 2 && !strcmp(argv[0], "file"))
		while (*++argv)
			run_file(*argv, &opt);
#endif
	else
		errx(2, "see the head of this program");
	return 0;
}
