/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Memory that lives exactly as long as one analysis: allocated in blocks, freed at once.
 *
 * Everything the model points to is in one arena, so the model needs no destructors of its parts.
 */
#ifndef CS_BASE_ARENA_H
#define CS_BASE_ARENA_H

#include "base/error.h"

struct cs_arena;

/** @max bytes in all; asking for more makes the allocating call return NULL. NULL without memory. */
CS_MUST_CHECK struct cs_arena *cs_arena_create(size_t max);
void cs_arena_destroy(struct cs_arena *arena);

/** @size zeroed bytes, aligned for any type; NULL when memory or the maximum is exhausted. */
CS_MUST_CHECK void *cs_arena_alloc(struct cs_arena *arena, size_t size);

/** @n zeroed objects of @size bytes; NULL also where the product overflows. */
CS_MUST_CHECK void *cs_arena_calloc(struct cs_arena *arena, size_t n, size_t size);

/** Copies; NULL on exhaustion (and for a NULL @s). */
CS_MUST_CHECK char *cs_arena_strdup(struct cs_arena *arena, const char *s);
CS_MUST_CHECK char *cs_arena_strndup(struct cs_arena *arena, const char *s, size_t len);
CS_MUST_CHECK char *cs_arena_printf(struct cs_arena *arena, const char *fmt, ...)
	CS_PRINTF(2, 3);

/** One shared copy of each distinct string: names that occur in thousands of frames. */
CS_MUST_CHECK const char *cs_arena_intern(struct cs_arena *arena, const char *s);

/** Bytes handed out so far. */
size_t cs_arena_used(const struct cs_arena *arena);

CS_DEFINE_CLEANUP(struct cs_arena *, cs_arena_destroy)

#endif
