/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exceptions that no list leads to: by pointers on a stack, and by the mark that each has in its header.
 * Knows where to look and when to stop; refuses to know what is found.
 */
#include "torch/cxx.h"

#include "base/limits.h"

#include <string.h>
#include <time.h>

#define PIECE (1UL << 20) /* bytes of memory searched at once */

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/** Exclusive end of the stack on which @sp is: of its region, or where the thread's own data begin. */
static uint64_t stack_end(struct cs_cxx *cx, uint64_t sp, uint64_t pointer)
{
	const struct cs_region *r = cs_mem_region(cx->mem, sp);
	uint64_t end = r ? r->saved_end : sp;

	if (pointer > sp && pointer < end)
		end = pointer;
	return end - sp > CS_MAX_CXX_STACK ? sp + CS_MAX_CXX_STACK : end;
}

/**
 * What a word may point to: the header itself (lists of caught ones), its part for the unwinder (frames that
 * unwind), or what was thrown (exception_ptr, catch parameters).
 */
static bool header_near(struct cs_cxx *cx, uint64_t word, struct cs_cxx_header *ret)
{
	static const uint64_t before[] = {CS_CXX_UNWIND, CS_CXX_HEADER, 0};
	const struct cs_region *r;

	if (word & 15 || word < 4096)
		return false;
	r = cs_mem_region(cx->mem, word);
	if (!r || !(r->prot & CS_PROT_WRITE))
		return false;
	for (size_t i = 0; i < CS_COUNT(before); i++)
		if (word > before[i] && cs_cxx_header_read(cx, word - before[i], ret))
			return true;
	return false;
}

void cs_cxx_search_stack(struct cs_cxx *cx, uint64_t sp, uint64_t pointer, cs_cxx_found_fn *fn, void *arg)
{
	uint64_t words[512], at = (sp + 7) & ~7ULL, end = stack_end(cx, sp, pointer);
	struct cs_cxx_header header;

	while (at < end) {
		size_t got = cs_mem_read_some(cx->mem, at, words,
					      (size_t)CS_MIN(end - at, (uint64_t)sizeof(words))) / 8;

		if (!got)
			return;
		for (size_t i = 0; i < got; i++)
			if (header_near(cx, le64toh(words[i]), &header) &&
			    !fn(arg, &header, le64toh(words[i])))
				return;
		at += got * 8;
	}
}

/** Where the pool of one search stands. */
struct memory_search {
	struct cs_cxx *cx;
	cs_cxx_found_fn *fn;
	void *arg;
	uint8_t *piece; /* PIECE bytes; owned */
	uint64_t left;  /* bytes that may still be searched */
	double end_ms;
	bool done;      /* @fn wants no more */
};

/** False: a limit was hit, or the caller has enough. */
static bool search_region(struct memory_search *s, uint64_t start, uint64_t end)
{
	struct cs_cxx_header header;
	struct cs_cxx_type type;
	uint64_t mark, want = htole64(CS_CXX_CLASS);

	for (uint64_t at = (start + 15) & ~15ULL; at < end;) {
		size_t ask = (size_t)CS_MIN(end - at, (uint64_t)PIECE), got;

		if (ask > s->left || now_ms() > s->end_ms)
			return false;
		s->left -= ask;
		got = cs_mem_read_some(s->cx->mem, at, s->piece, ask);
		for (size_t i = 0; i + 8 <= got; i += 16) {
			memcpy(&mark, s->piece + i, sizeof(mark));
			if (mark != want ||
			    !cs_cxx_header_read(s->cx, at + i - CS_CXX_UNWIND, &header) ||
			    !cs_cxx_type_read(s->cx, header.type, &type))
				continue;
			s->done = !s->fn(s->arg, &header, 0);
			if (s->done)
				return false;
		}
		if (got < ask)
			break;
		at += got;
	}
	return true;
}

static int compare_sizes(const void *a, const void *b)
{
	const struct cs_region *x = *(const struct cs_region *const *)a;
	const struct cs_region *y = *(const struct cs_region *const *)b;
	uint64_t m = x->saved_end - x->start, n = y->saved_end - y->start;

	return m != n ? (m < n ? -1 : 1) : x->start < y->start ? -1 : x->start > y->start;
}

/** Small regions first: heaps are smaller than tensors. */
bool cs_cxx_search_memory(struct cs_cxx *cx, cs_cxx_found_fn *fn, void *arg)
{
	const struct cs_target *t = cs_mem_target(cx->mem);
	CS_CLEANUP(cs_freep) const struct cs_region **list = calloc(t->n_regions + 1, sizeof(*list));
	CS_CLEANUP(cs_freep) uint8_t *piece = malloc(PIECE);
	struct memory_search s = {.cx = cx,
				  .fn = fn,
				  .arg = arg,
				  .piece = piece,
				  .left = CS_MAX_CXX_SCAN,
				  .end_ms = now_ms() + CS_MAX_CXX_SCAN_MS};
	size_t n = 0;

	if (!list || !piece)
		return false;
	for (size_t i = 0; i < t->n_regions; i++)
		if ((t->regions[i].prot & CS_PROT_WRITE) && t->regions[i].saved_end > t->regions[i].start &&
		    !cs_mem_mapping(cx->mem, t->regions[i].start))
			list[n++] = &t->regions[i];
	qsort(list, n, sizeof(const struct cs_region *), compare_sizes);
	for (size_t i = 0; i < n; i++)
		if (!search_region(&s, list[i]->start, list[i]->saved_end))
			return s.done;
	return true;
}
