/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Recursion folded: runs of frames that repeat with a short period. */
#ifndef CS_UNWIND_FOLD_H
#define CS_UNWIND_FOLD_H

#include "base/error.h"

/** Frames [first, first + period) occur `count` times in a row, count >= 1. */
struct cs_fold_run {
	size_t first;
	size_t period; /* 1 .. CS_MAX_FOLD_PERIOD */
	uint64_t count;
};

/**
 * Cover @n frames with runs, in order and without gaps; equal @keys are equal frames. A run with count 1
 * has period 1; repetition is folded only from three times on, for two equal frames are shorter than the
 * words about them. @ret is malloc'd, the caller frees it. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_fold(const uint64_t *keys, size_t n, struct cs_fold_run **ret,
				       size_t *ret_n);

#endif
