/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Equal things shown once with a count: exceptions, tasks, greenlets. */
#ifndef CS_REPORT_TEXT_FOLD_H
#define CS_REPORT_TEXT_FOLD_H

#include "base/error.h"
#include "corescan/analysis.h"

#define CS_FOLD_END SIZE_MAX

/** How things are compared; they are known by their number. */
struct cs_text_fold_by {
	uint64_t (*hash)(const void *things, size_t i);
	bool (*equal)(const void *things, size_t i, size_t j);
	const void *things;
};

/** Equal things: the first, and the others through cs_text_folds.next. */
struct cs_text_fold {
	size_t first, last, n;
};

struct cs_text_folds {
	struct cs_text_fold *folds; /* in the order of their first; owned */
	size_t n;
	size_t *next; /* by thing: the next equal one, or CS_FOLD_END; owned */
};

/** Fold @n things. @ret is for cs_text_folds_deinit() in any case. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_text_folds_init(struct cs_text_folds *ret, size_t n,
						  const struct cs_text_fold_by *by);
void cs_text_folds_deinit(struct cs_text_folds *folds);

/** The hash @h continued with a text; NULL is not "". */
uint64_t cs_text_hash(uint64_t h, const char *s);
bool cs_text_same(const char *a, const char *b);
/** Frames as they are shown: by function, file and line. */
uint64_t cs_text_hash_frames(uint64_t h, const struct cs_frame *frames, size_t n);
bool cs_text_same_frames(const struct cs_frame *a, size_t n_a, const struct cs_frame *b,
			 size_t n_b);
bool cs_text_same_frame(const struct cs_frame *a, const struct cs_frame *b);

#endif
