/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _NT_NATIVE_H
#define _NT_NATIVE_H

/* What the program (main.c, fuzz.c) sees of the page pool and its model */

struct nt_opt {
	int verbose;
	unsigned int deep;	/* look at everything each so many steps */
	unsigned long long checks;	/* out: how often that was done */
	unsigned long long steps;	/* out */
};

void nt_setup(void);
/* Steps decoded from @data; then, if @random steps are wanted, from numbers
 * that start at @seed. All is torn down and looked for leaks at the end.
 */
void nt_run(const unsigned char *data, unsigned long size, unsigned int seed,
	    unsigned long random, struct nt_opt *opt);

/* Does page_pool_validate() find each thing that it looks for? Returns how many. */
unsigned int nt_validate(void);

/* Threads: what each of them runs in a round, during which a pool lives and dies.
 * Thread 0 allocates and destroys.
 */
#define NT_THREADS	6
void nt_threads_setup(void);
void nt_round_begin(unsigned int seed);
void nt_round(unsigned int thread);
void nt_round_end(void);
const char *nt_build(void);

#endif /* _NT_NATIVE_H */
