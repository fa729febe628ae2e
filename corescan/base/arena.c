/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bump allocator with a ceiling, and the table of strings that occur many times. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_SIZE (64UL * 1024)
#define ALIGNMENT 16UL

struct block {
	struct block *next;
	size_t used;
	size_t size;
	_Alignas(16) unsigned char data[];
};

struct cs_arena {
	struct block *blocks;
	size_t used;
	size_t max;
	const char **table; /* open addressing, NULL is free; a power of two */
	size_t table_size;
	size_t table_used;
};

struct cs_arena *cs_arena_create(size_t max)
{
	struct cs_arena *arena = calloc(1, sizeof(*arena));

	if (arena)
		arena->max = max;
	return arena;
}

void cs_arena_destroy(struct cs_arena *arena)
{
	if (!arena)
		return;
	while (arena->blocks) {
		struct block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	free(arena->table);
	free(arena);
}

static struct block *block_add(struct cs_arena *arena, size_t size)
{
	size_t room = CS_MAX(size, BLOCK_SIZE);
	struct block *b = calloc(1, sizeof(*b) + room);

	if (!b)
		return NULL;
	b->size = room;
	/* A block made for one large object keeps the half-empty one in front usable. */
	if (arena->blocks && size > BLOCK_SIZE / 4) {
		b->next = arena->blocks->next;
		arena->blocks->next = b;
	} else {
		b->next = arena->blocks;
		arena->blocks = b;
	}
	return b;
}

void *cs_arena_alloc(struct cs_arena *arena, size_t size)
{
	struct block *b = arena->blocks;
	size_t rounded = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	void *p;

	if (rounded < size || rounded > arena->max - arena->used)
		return NULL;
	if (!b || rounded > b->size - b->used)
		b = block_add(arena, rounded);
	if (!b)
		return NULL;
	p = b->data + b->used;
	b->used += rounded;
	arena->used += rounded;
	return p;
}

void *cs_arena_calloc(struct cs_arena *arena, size_t n, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(n, size, &total))
		return NULL;
	return cs_arena_alloc(arena, total);
}

char *cs_arena_strndup(struct cs_arena *arena, const char *s, size_t len)
{
	char *copy;

	if (!s)
		return NULL;
	len = strnlen(s, len);
	copy = cs_arena_alloc(arena, len + 1);
	if (copy)
		memcpy(copy, s, len);
	return copy;
}

char *cs_arena_strdup(struct cs_arena *arena, const char *s)
{
	return s ? cs_arena_strndup(arena, s, strlen(s)) : NULL;
}

char *cs_arena_printf(struct cs_arena *arena, const char *fmt, ...)
{
	CS_CLEANUP(cs_freep) char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		return NULL;
	}
	return cs_arena_strdup(arena, text);
}

static size_t hash_string(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return (size_t)(h ^ (h >> 32));
}

static size_t table_slot(const char *const *table, size_t size, const char *s)
{
	size_t i = hash_string(s) & (size - 1);

	while (table[i] && strcmp(table[i], s) != 0)
		i = (i + 1) & (size - 1);
	return i;
}

static bool table_grow(struct cs_arena *arena)
{
	size_t size = arena->table_size ? arena->table_size * 2 : 1024;
	const char **table = calloc(size, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < arena->table_size; i++)
		if (arena->table[i])
			table[table_slot(table, size, arena->table[i])] = arena->table[i];
	free(arena->table);
	arena->table = table;
	arena->table_size = size;
	return true;
}

const char *cs_arena_intern(struct cs_arena *arena, const char *s)
{
	size_t slot;

	if (!s)
		return NULL;
	if (arena->table_used * 2 >= arena->table_size && !table_grow(arena))
		return NULL;
	slot = table_slot(arena->table, arena->table_size, s);
	if (arena->table[slot])
		return arena->table[slot];
	arena->table[slot] = cs_arena_strdup(arena, s);
	arena->table_used += arena->table[slot] != NULL;
	return arena->table[slot];
}

size_t cs_arena_used(const struct cs_arena *arena)
{
	return arena->used;
}
