/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code objects and their line tables. Knows the three formats of line tables (CPython:
 * Objects/lnotab_notes.txt of 3.6 to 3.10, Objects/locations.md of 3.11 and later) and reads each code
 * object once; refuses to know how a frame says where it is.
 */
#include "python/frames.h"

#include "base/limits.h"

#include <string.h>

struct cs_py_codes {
	const struct cs_py *py;
	struct cs_py_code **slots; /* open addressing; owned, and so is what they point to */
	size_t n_slots;            /* a power of two */
	size_t n;
	uint64_t type; /* of code objects; 0: not known yet */
	bool full;
};

#define FIRST_SLOTS 256

struct cs_error *cs_py_codes_create(const struct cs_py *py, struct cs_py_codes **ret)
{
	CS_CLEANUP(cs_py_codes_destroyp) struct cs_py_codes *c = calloc(1, sizeof(*c));

	if (!c)
		return &cs_nomem;
	c->py = py;
	c->type = py->type_code;
	c->n_slots = FIRST_SLOTS;
	c->slots = calloc(c->n_slots, sizeof(*c->slots));
	if (!c->slots)
		return &cs_nomem;
	*ret = CS_TAKE(c);
	return NULL;
}

void cs_py_codes_destroy(struct cs_py_codes *codes)
{
	if (!codes)
		return;
	for (size_t i = 0; codes->slots && i < codes->n_slots; i++) {
		if (codes->slots[i])
			free(codes->slots[i]->lines);
		free(codes->slots[i]);
	}
	free(codes->slots);
	free(codes);
}

static size_t slot_of(struct cs_py_code *const *slots, size_t n_slots, uint64_t address)
{
	size_t i = (size_t)((address >> 4) * 0x9e3779b97f4a7c15ULL >> 32) & (n_slots - 1);

	while (slots[i] && slots[i]->address != address)
		i = (i + 1) & (n_slots - 1);
	return i;
}

/** Twice the slots; false without memory. */
static bool grow(struct cs_py_codes *codes)
{
	size_t n = codes->n_slots * 2;
	struct cs_py_code **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < codes->n_slots; i++)
		if (codes->slots[i])
			slots[slot_of(slots, n, codes->slots[i]->address)] = codes->slots[i];
	free(codes->slots);
	codes->slots = slots;
	codes->n_slots = n;
	return true;
}

/**
 * True if a code object is at @address. The type decides where it is known from its symbol; else the first
 * object that has the shape of one teaches it.
 */
static bool is_code(struct cs_py_codes *codes, uint64_t address)
{
	const struct cs_py *py = codes->py;
	const struct cs_py_layout *l = &py->layout;
	uint64_t type = cs_py_type(py, address);
	uint32_t flags, first_line;

	if (!type || (codes->type && type != codes->type))
		return false;
	if (!cs_py_u32(py, address, l->code_flags, &flags) ||
	    !cs_py_u32(py, address, l->code_firstlineno, &first_line) || first_line > INT32_MAX)
		return false;
	if (codes->type)
		return true;
	if (!cs_py_is(py, cs_py_get(py, address, l->code_filename), CS_PY_STR) ||
	    !cs_py_is(py, cs_py_get(py, address, l->code_name), CS_PY_STR) ||
	    !cs_py_is(py, cs_py_get(py, address, l->code_linetable), CS_PY_BYTES))
		return false;
	codes->type = type;
	return true;
}

static const char *text_of(const struct cs_py *py, uint64_t str)
{
	const char *text = cs_py_str(py, str, CS_MAX_PY_NAME, NULL);

	return text ? cs_arena_intern(py->arena, text) : NULL;
}

static void code_read(const struct cs_py *py, struct cs_py_code *code)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t at = code->address, table;

	/* "<locals>" and all: what the version has as __qualname__. */
	code->name = text_of(py, cs_py_get(py, at, l->code_qualname));
	if (!code->name)
		code->name = text_of(py, cs_py_get(py, at, l->code_name));
	code->filename = text_of(py, cs_py_get(py, at, l->code_filename));
	cs_py_u32(py, at, l->code_firstlineno, &code->first_line);
	cs_py_u32(py, at, l->code_firsttraceable, &code->first_traceable);
	if (l->code_adaptive != CS_ABSENT)
		code->instructions = at + (uint64_t)l->code_adaptive;
	table = cs_py_get(py, at, l->code_linetable);
	if (!cs_py_bytes(py, table, &code->table, &code->table_len))
		code->table = 0;
	/* CPython 3.12: Python/pylifecycle.c and ceval.c, the entry trampoline's code. */
	code->shim = l->minor == 12 && code->filename && !strcmp(code->filename, "<shim>");
}

const struct cs_py_code *cs_py_code_at(struct cs_py_codes *codes, uint64_t address)
{
	size_t slot = slot_of(codes->slots, codes->n_slots, address);
	struct cs_py_code *code;

	if (codes->slots[slot])
		return codes->slots[slot];
	if (codes->n >= CS_MAX_PY_CODES || !is_code(codes, address))
		return NULL;
	if (codes->n * 2 >= codes->n_slots) {
		if (!grow(codes))
			return NULL;
		slot = slot_of(codes->slots, codes->n_slots, address);
	}
	code = calloc(1, sizeof(*code));
	if (!code)
		return NULL;
	code->address = address;
	code_read(codes->py, code);
	codes->slots[slot] = code;
	codes->n++;
	return code;
}

/* ---- line tables ---- */

struct table {
	const uint8_t *pos, *end;
	int64_t line;
	uint64_t at; /* code unit, or byte before 3.10 */
	CS_VEC(struct cs_py_line) lines;
};

static bool add_range(struct table *t, bool has_line)
{
	struct cs_py_line range = {.start = (uint32_t)CS_MIN(t->at, (uint64_t)UINT32_MAX)};

	if (has_line && t->line > 0 && t->line <= INT32_MAX)
		range.line = (uint32_t)t->line;
	if (t->lines.n && t->lines.v[t->lines.n - 1].start == range.start) {
		t->lines.v[t->lines.n - 1] = range;
		return true;
	}
	return cs_ok(CS_PUSH(&t->lines, range, CS_MAX_PY_LINE_TABLE, "lines"));
}

/** 3.6 to 3.9: pairs of an address step and a signed line step, both applied before the next range. */
static bool decode_lnotab(struct table *t)
{
	if (!add_range(t, true))
		return false;
	while (t->end - t->pos >= 2) {
		t->at += *t->pos++;
		t->line += (int8_t)*t->pos++;
		if (!add_range(t, true))
			return false;
	}
	return true;
}

/** 3.10: pairs of a range's bytes and the line step before it; -128: no line. */
static bool decode_pep626(struct table *t)
{
	while (t->end - t->pos >= 2) {
		uint8_t bytes = *t->pos++;
		int8_t step = (int8_t)*t->pos++;

		if (step != -128)
			t->line += step;
		if (bytes && !add_range(t, step != -128))
			return false;
		t->at += bytes / 2;
	}
	return true;
}

static uint64_t varint(struct table *t)
{
	uint64_t value = 0;

	for (unsigned shift = 0; t->pos < t->end && shift < 60; shift += 6) {
		uint8_t byte = *t->pos++;

		value |= (uint64_t)(byte & 0x3f) << shift;
		if (!(byte & 0x40))
			break;
	}
	return value;
}

static int64_t signed_varint(struct table *t)
{
	uint64_t value = varint(t);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/** 3.11 and later. An entry begins with a byte that has bit 7 set: kind in bits 3-6, length in 0-2. */
static bool decode_pep657(struct table *t)
{
	while (t->pos < t->end) {
		uint8_t head = *t->pos++;
		unsigned kind = head >> 3 & 15;

		/* Hostile steps wrap around; only lines that fit are used. */
		if (kind >= 13 && kind <= 14)
			t->line = (int64_t)((uint64_t)t->line + (uint64_t)signed_varint(t));
		else if (kind >= 10 && kind <= 12)
			t->line = (int64_t)((uint64_t)t->line + kind - 10);
		if (!add_range(t, kind != 15))
			return false;
		t->at += (head & 7) + 1U;
		/* Columns follow; the next entry is the next byte with bit 7. */
		while (t->pos < t->end && !(*t->pos & 0x80))
			t->pos++;
	}
	return true;
}

static void lines_read(const struct cs_py *py, struct cs_py_code *code)
{
	CS_CLEANUP(cs_freep) uint8_t *bytes = NULL;
	struct table t = {.line = code->first_line};
	size_t len = (size_t)CS_MIN(code->table_len, (uint64_t)CS_MAX_PY_LINE_TABLE);
	bool ok;

	code->lines_read = true;
	if (!code->table || !len)
		return;
	bytes = malloc(len);
	if (!bytes || !cs_ok(cs_mem_read(py->mem, code->table, bytes, len, NULL)))
		return;
	t.pos = bytes;
	t.end = bytes + len;
	if (py->layout.minor >= 11)
		ok = decode_pep657(&t);
	else if (py->layout.minor == 10)
		ok = decode_pep626(&t);
	else
		ok = decode_lnotab(&t);
	if (!ok) {
		free(t.lines.v);
		return;
	}
	code->lines = t.lines.v;
	code->n_lines = t.lines.n;
}

uint32_t cs_py_code_line(struct cs_py_codes *codes, const struct cs_py_code *code, int64_t at)
{
	/* The codes own it, and only they hand it out. */
	struct cs_py_code *own = (struct cs_py_code *)(uintptr_t)code;
	size_t low = 0, high;

	if (at < 0)
		return code->first_line;
	if (!code->lines_read)
		lines_read(codes->py, own);
	/* A function of one line may have an empty table before 3.10. */
	if (!code->n_lines)
		return codes->py->layout.minor < 10 && code->table && !code->table_len
			       ? code->first_line
			       : 0;
	for (high = code->n_lines; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (code->lines[middle].start <= (uint64_t)at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? code->lines[low - 1].line : 0;
}
