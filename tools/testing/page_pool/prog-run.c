// SPDX-License-Identifier: GPL-2.0
/* What a file of the base's bpf/prog_tests needs of test_progs, to run by itself:
 * test_progs links hundreds of them, and wants a kernel with BTF. Built with
 * -DFILE_OF_TEST="the file" and -DTEST=its function.
 */
#include "test_progs.h"
#include FILE_OF_TEST

#define STR_(x)	#x
#define STR(x)	STR_(x)

struct test_env env;
int env_verbosity;

static int nr, failed;	/* results, and failures among them */
static int wrong;	/* failed checks of the subtest, or of what is around them */
static bool skipped;
static const char *part;

static void result(const char *name)
{
	bool bad = wrong;

	fflush(stdout);
	printf("%sok %d %s%s\n", bad ? "not " : "", ++nr, name,
	       skipped && !bad ? " # SKIP" : "");
	failed += bad;
	wrong = 0;
	skipped = false;
}

void test__fail(void)
{
	wrong++;
}

void test__skip(void)
{
	skipped = true;
}

void test__force_log(void)
{
}

void test__end_subtest(void)
{
	if (part)
		result(part);
	part = NULL;
}

bool test__start_subtest(const char *name)
{
	test__end_subtest();
	part = name;
	return true;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	TEST();
	test__end_subtest();
	if (!nr || wrong)
		result(STR(TEST));
	printf("1..%d\n", nr);
	return !!failed;
}
