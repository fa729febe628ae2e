/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What the process of test_core_real says of itself, in a page that it shares with the test. */
#ifndef TESTS_CORE_PROCESS_H
#define TESTS_CORE_PROCESS_H

#include <stdint.h>

#define THREADS 3

/** What the process writes of itself before it dies. */
struct said {
	int32_t pid, crashing_tid;
	int32_t tids[THREADS];
	uint64_t fault;
	uint64_t code_begin, code_end; /* the page from which crash() runs */
	uint64_t sp; /* near the crashing thread's */
};

#endif
