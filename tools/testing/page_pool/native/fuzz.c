// SPDX-License-Identifier: GPL-2.0
/*
 * Steps from a fuzzer that looks for input which reaches more of the code. What
 * it finds to be a fault, `native asan file` shows step by step (-v).
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "native.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	nt_setup();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_opt opt = { .deep = 1 };

	nt_run(data, size, 0, 0, &opt);
	return 0;
}
