/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text and the place of a Rust panic. The panic hook is handed a structure on the stack that
 * has both, and it is still there when the process aborts: the payload as a fat pointer (data,
 * vtable), and beside it a pointer to the Location (rust: library/std/src/panicking.rs,
 * library/core/src/panic/{location,panic_info}.rs; 1.63 to 1.97). Rust fixes no layout, so each
 * part has to prove itself: the Location by a path that ends in ".rs", the payload by its vtable.
 */
#include "crash/panic_internal.h"

#include <inttypes.h>
#include <string.h>

#define MAX_LINE 10000000U
#define MAX_COLUMN 1000000U
#define MAX_OTHER 65536U     /* bytes of a payload that is no text */
#define MAX_NAMELESS 16      /* frames of a stripped program that are looked at */
#define MAX_CAPACITY (1ULL << 40)

/** Where a panic was: struct core::panic::Location is {file: &str, line: u32, col: u32}. */
struct location {
	const char *file;
	uint32_t line, column;
};

static bool is_executable(const struct cs_panic *p, uint64_t at)
{
	const struct cs_region *r = cs_mem_region(p->in->scene->mem, at);

	return r && (r->prot & CS_PROT_EXEC);
}

static bool read_location(const struct cs_panic *p, uint64_t at, struct location *ret)
{
	struct cs_mem *mem = p->in->scene->mem;
	uint64_t file, len;
	size_t n;

	/* A constant of some module. */
	if (at < 4096 || at & 7 || !cs_modules_find(p->in->scene->modules, at) ||
	    !cs_mem_u64(mem, at, &file) || !cs_mem_u64(mem, at + 8, &len) ||
	    !cs_mem_u32(mem, at + 16, &ret->line) || !cs_mem_u32(mem, at + 20, &ret->column) ||
	    len < 4 || len > CS_MAX_PATH || !ret->line || ret->line > MAX_LINE || !ret->column ||
	    ret->column > MAX_COLUMN)
		return false;
	ret->file = cs_panic_text_of(p, file, len);
	n = ret->file ? strlen(ret->file) : 0;
	return n > 3 && !strcmp(ret->file + n - 3, ".rs") && !strpbrk(ret->file, "\n\r\t");
}

/** String: {capacity, pointer, length}, in older versions {pointer, capacity, length}. */
static const char *string_at(const struct cs_panic *p, uint64_t at)
{
	struct cs_mem *mem = p->in->scene->mem;
	uint64_t words[3];

	if (!cs_ok(cs_mem_read(mem, at, words, sizeof(words), NULL)))
		return NULL;
	for (unsigned capacity = 0; capacity < 2; capacity++)
		if (words[capacity] <= MAX_CAPACITY && words[2] <= words[capacity] &&
		    words[!capacity] && words[!capacity] > MAX_CAPACITY / 1024)
			return cs_panic_text_of(p, words[!capacity], words[2]);
	return NULL;
}

/**
 * The text of the payload that the fat pointer (@data, @vtable) means. A vtable is {drop or 0,
 * size, alignment, methods}: String and &str are known by their sizes, anything else is shown as
 * the default hook does.
 */
static const char *payload(const struct cs_panic *p, uint64_t data, uint64_t vtable)
{
	struct cs_mem *mem = p->in->scene->mem;
	uint64_t v[4], str[2];

	if (data < 1 || vtable & 7 || !cs_modules_find(p->in->scene->modules, vtable) ||
	    !cs_ok(cs_mem_read(mem, vtable, v, sizeof(v), NULL)) || v[1] > MAX_OTHER || !v[2] ||
	    v[2] > 4096 || v[2] & (v[2] - 1) || data & (v[2] - 1) || (v[0] && !is_executable(p, v[0])) ||
	    !is_executable(p, v[3]))
		return NULL;
	if (v[1] == 24 && v[2] == 8)
		return string_at(p, data);
	if (v[1] == 16 && v[2] == 8)
		return cs_ok(cs_mem_read(mem, data, str, sizeof(str), NULL)) ?
			       cs_panic_text_of(p, str[0], str[1]) : NULL;
	return "Box<dyn Any>";
}

static bool is_panicking(const char *function)
{
	static const char *const parts[] = {"std::panicking::", "core::panicking::", "rust_panic",
					    "rust_begin_unwind", "__rust_start_panic"};

	/* What catches panics, around every thread's body, says nothing of one. */
	if (strstr(function, "panicking::try") || strstr(function, "panicking::catch_unwind"))
		return false;
	for (size_t i = 0; i < CS_COUNT(parts); i++)
		if (strstr(function, parts[i]))
			return true;
	return false;
}

/** The frame after the last one that panics; where they have no names, the last one that can. */
static size_t end_of_panic(const struct cs_panic *p)
{
	const struct cs_frame *own = cs_panic_own(&p->frames[p->first]);
	const struct cs_module *module = own ? own->module : NULL;
	size_t end = 0;

	for (size_t i = p->first; i < p->n; i++)
		if (cs_panic_any(&p->frames[i], is_panicking))
			end = i + 1;
	if (end || !module)
		return end;
	for (end = p->first; end < p->n && end < p->first + MAX_NAMELESS; end++) {
		own = cs_panic_own(&p->frames[end]);
		if (!own || own->module != module || (own->function && !own->nearest))
			break;
	}
	return end;
}

/**
 * The payload's text if the word at @i, a pointer to a Location, is the location of a
 * PanicHookInfo: {payload, location, can_unwind, force_no_backtrace}, up to 1.80 PanicInfo with
 * @between = 1 word, the message, after the payload.
 */
static const char *payload_before(const struct cs_panic *p, size_t i, size_t between)
{
	size_t at = i - between - 2;

	if (i < between + 2 || i + 1 >= p->n_words || p->words[i + 1] & (between ? 0xfe : 0xfefe))
		return NULL;
	return payload(p, p->words[at], p->words[at + 1]);
}

bool cs_panic_rust(const struct cs_panic *p, struct cs_crash *ret)
{
	size_t last = end_of_panic(p), end = last ? cs_panic_word(p, p->frames[last - 1].high) : 0;
	struct location where;

	for (size_t between = 0; between < 2; between++) {
		for (size_t i = cs_panic_word(p, p->frames[p->first].low); i < end; i++) {
			const char *text = read_location(p, p->words[i], &where)
						   ? payload_before(p, i, between)
						   : NULL;

			if (!text)
				continue;
			ret->message = cs_arena_printf(p->in->scene->arena,
						       "panicked at %s:%" PRIu32 ":%" PRIu32 "%s%s",
						       where.file, where.line, where.column,
						       *text ? ": " : "", text);
			ret->message_source = ret->message ? CS_SOURCE_RUST : NULL;
			return ret->message != NULL;
		}
	}
	return false;
}
