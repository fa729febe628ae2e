/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding of equal things. Ten thousand tasks that wait in one place are one paragraph;
 * comparing each with each would take minutes. Refuses to know what the things are.
 */
#include "report/text_fold.h"

#include "base/util.h"

#include <string.h>

#define FNV_PRIME 0x100000001b3ULL

uint64_t cs_text_hash(uint64_t h, const char *s)
{
	h = (h ^ (s ? 1U : 2U)) * FNV_PRIME;
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * FNV_PRIME;
	return h ^ h >> 29;
}

bool cs_text_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

uint64_t cs_text_hash_frames(uint64_t h, const struct cs_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		h = cs_text_hash(h, frames[i].function);
		h = cs_text_hash(h ^ frames[i].line, frames[i].file);
	}
	return h;
}

bool cs_text_same_frame(const struct cs_frame *a, const struct cs_frame *b)
{
	return a->kind == b->kind && a->line == b->line &&
	       a->repeat_period == b->repeat_period &&
	       a->repeat_count == b->repeat_count &&
	       cs_text_same(a->function, b->function) && cs_text_same(a->file, b->file);
}

bool cs_text_same_frames(const struct cs_frame *a, size_t n_a, const struct cs_frame *b,
			 size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; a != b && i < n_a; i++)
		if (!cs_text_same_frame(&a[i], &b[i]))
			return false;
	return true;
}

/* Slots hold the number of a fold plus one. */
static void fold_add(struct cs_text_folds *folds, size_t *slots, size_t n_slots,
		     const struct cs_text_fold_by *by, size_t i)
{
	size_t slot = by->hash(by->things, i) & (n_slots - 1);
	struct cs_text_fold *fold;

	while (slots[slot] &&
	       !by->equal(by->things, folds->folds[slots[slot] - 1].first, i))
		slot = (slot + 1) & (n_slots - 1);
	folds->next[i] = CS_FOLD_END;
	if (!slots[slot]) {
		folds->folds[folds->n++] =
			(struct cs_text_fold){.first = i, .last = i, .n = 1};
		slots[slot] = folds->n;
		return;
	}
	fold = &folds->folds[slots[slot] - 1];
	folds->next[fold->last] = i;
	fold->last = i;
	fold->n++;
}

struct cs_error *cs_text_folds_init(struct cs_text_folds *ret, size_t n,
				    const struct cs_text_fold_by *by)
{
	CS_CLEANUP(cs_freep) size_t *slots = NULL;
	size_t n_slots = 16;

	*ret = (struct cs_text_folds){0};
	while (n_slots / 2 < n)
		n_slots *= 2;
	slots = calloc(n_slots, sizeof(*slots));
	ret->folds = calloc(n + 1, sizeof(*ret->folds));
	ret->next = calloc(n + 1, sizeof(*ret->next));
	if (!slots || !ret->folds || !ret->next)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++)
		fold_add(ret, slots, n_slots, by, i);
	return NULL;
}

void cs_text_folds_deinit(struct cs_text_folds *folds)
{
	free(folds->folds);
	free(folds->next);
	*folds = (struct cs_text_folds){0};
}
