/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recursion folded.
 *
 * Knows which frames are equal and nothing else. For each period p it remembers how far the frames are
 * known to equal those p further out, so a frame is compared at most once for each period: time is linear
 * in the frames.
 */
#include "unwind/fold.h"

#include "base/limits.h"
#include "base/vec.h"

#define MIN_REPEATS 3

struct folder {
	const uint64_t *keys;
	size_t n;
	/* [p]: all frames from where the folder is up to here equal the frame p further out. */
	size_t equal_to[CS_MAX_FOLD_PERIOD + 1];
};

/** How many frames from @at on equal the frame @period further out. */
static size_t equal_run(struct folder *f, size_t at, size_t period)
{
	size_t end = f->equal_to[period];

	if (end < at)
		end = at;
	else if (end > at)
		return end - at;
	while (end < f->n - period && f->keys[end] == f->keys[end + period])
		end++;
	f->equal_to[period] = end;
	return end - at;
}

/** The repetition at @at that covers most frames; with the shortest period among equals. */
static struct cs_fold_run best_run(struct folder *f, size_t at)
{
	struct cs_fold_run best = {.first = at, .period = 1, .count = 1};

	for (size_t period = 1; period <= CS_MAX_FOLD_PERIOD && period < f->n - at; period++) {
		size_t count = equal_run(f, at, period) / period + 1;

		if (count >= MIN_REPEATS && count * period > best.count * best.period)
			best = (struct cs_fold_run){at, period, count};
	}
	return best;
}

struct cs_error *cs_fold(const uint64_t *keys, size_t n, struct cs_fold_run **ret, size_t *ret_n)
{
	struct folder f = {.keys = keys, .n = n};
	CS_VEC(struct cs_fold_run) runs = {0};

	for (size_t at = 0; at < n;) {
		struct cs_fold_run run = best_run(&f, at);
		struct cs_error *err = CS_PUSH(&runs, run, n, "runs of frames");

		if (err) {
			free(runs.v);
			return err;
		}
		at += run.period * (size_t)run.count;
	}
	*ret = runs.v;
	*ret_n = runs.n;
	return NULL;
}
