/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folding of recursion: what is folded, what is not, and that time is linear. */
#include "unwind/fold.h"

#include "base/limits.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Each letter is a pc; the runs as text: "a b(cd)x3". */
static void check(const char *stack, const char *want)
{
	size_t n = strlen(stack), n_runs, len = 0;
	uint64_t *frames = calloc(n + 1, sizeof(*frames));
	struct cs_fold_run *runs = NULL;
	char got[512] = "";

	assert_non_null(frames);
	for (size_t i = 0; i < n; i++)
		frames[i] = (unsigned char)stack[i];
	assert_null(cs_fold(frames, n, &runs, &n_runs));
	for (size_t i = 0; i < n_runs; i++) {
		if (runs[i].count == 1) {
			assert_int_equal(runs[i].period, 1);
			len += (size_t)snprintf(got + len, sizeof(got) - len, "%c",
						stack[runs[i].first]);
		} else {
			len += (size_t)snprintf(got + len, sizeof(got) - len, "(%.*s)x%d",
						(int)runs[i].period, stack + runs[i].first,
						(int)runs[i].count);
		}
	}
	assert_string_equal(got, want);
	free(runs);
	free(frames);
}

static void test_shapes(void **state)
{
	(void)state;
	check("", "");
	check("a", "a");
	check("abc", "abc");
	check("aabb", "aabb"); /* two equal frames are shorter than the words about them */
	check("aaa", "(a)x3");
	check("xaaaay", "x(a)x4y");
	check("abababc", "(ab)x3c");
	check("ababab", "(ab)x3");
	check("abababa", "(ab)x3a");
	check("mabcabcabcabz", "m(abc)x3abz");
	check("aaabaaabaaab", "(aaab)x3"); /* the repetition that covers most */
	check("aaaabbbb", "(a)x4(b)x4");
	check("aaaaaa", "(a)x6"); /* not (aa)x3 */
}

static void test_longest_period(void **state)
{
	char cycle[CS_MAX_FOLD_PERIOD + 2], stack[4 * sizeof(cycle)], want[sizeof(stack)];

	(void)state;
	for (size_t i = 0; i < CS_MAX_FOLD_PERIOD; i++)
		cycle[i] = (char)('A' + i);
	cycle[CS_MAX_FOLD_PERIOD] = 0;
	snprintf(stack, sizeof(stack), "%s%s%s", cycle, cycle, cycle);
	snprintf(want, sizeof(want), "(%s)x3", cycle);
	check(stack, want);
	/* One frame more is not looked for. */
	cycle[CS_MAX_FOLD_PERIOD] = 'z';
	cycle[CS_MAX_FOLD_PERIOD + 1] = 0;
	snprintf(stack, sizeof(stack), "%s%s%s", cycle, cycle, cycle);
	check(stack, stack);
}

/** Runs cover all frames in order, and unfolding them gives the frames again. */
static void check_cover(const uint64_t *frames, size_t n)
{
	struct cs_fold_run *runs;
	size_t n_runs, at = 0;

	assert_null(cs_fold(frames, n, &runs, &n_runs));
	for (size_t i = 0; i < n_runs; i++) {
		assert_int_equal(runs[i].first, at);
		for (uint64_t k = 0; k < runs[i].count; k++)
			for (size_t p = 0; p < runs[i].period; p++)
				assert_int_equal(frames[at++], frames[runs[i].first + p]);
	}
	assert_int_equal(at, n);
	free(runs);
}

static void test_cover(void **state)
{
	uint64_t frames[300] = {0};
	uint32_t random = 12345;

	(void)state;
	for (size_t round = 0; round < 500; round++) {
		for (size_t i = 0; i < CS_COUNT(frames); i++) {
			random = random * 1664525 + 1013904223;
			frames[i] = random >> 30;
		}
		check_cover(frames, CS_COUNT(frames));
	}
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Two thirds of each period match, then the pattern breaks: the worst case for a search that starts anew. */
static void test_linear_time(void **state)
{
	size_t n = CS_MAX_RAW_FRAMES;
	uint64_t *frames = calloc(n, sizeof(*frames));
	struct cs_fold_run *runs;
	size_t n_runs;
	double small, large;

	(void)state;
	assert_non_null(frames);
	for (size_t i = 0; i < n; i++)
		frames[i] = i % 61 == 0 ? i : i % 2;
	small = seconds();
	assert_null(cs_fold(frames, n / 8, &runs, &n_runs));
	small = seconds() - small;
	free(runs);
	large = seconds();
	assert_null(cs_fold(frames, n, &runs, &n_runs));
	large = seconds() - large;
	free(runs);
	free(frames);
	/* Eight times as many frames; quadratic time would be 64 times. */
	assert_true(large < small * 24 + 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_longest_period),
		cmocka_unit_test(test_cover),
		cmocka_unit_test(test_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
