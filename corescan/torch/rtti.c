/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run-time type information. Knows the classes of type_info (Itanium C++ ABI 2.9.4; gcc: libstdc++-v3/
 * libsupc++/cxxabi.h) and finds out which one it has before it by that one's own type_info, so that no
 * symbol is needed; refuses to know what a type is for.
 */
#include "torch/cxx.h"

#include "base/limits.h"
#include "base/text.h"
#include "symbols/demangle.h"

#include <ctype.h>
#include <string.h>

#define MAX_BASES 64U  /* direct bases of one class */
#define MAX_DEPTH 32U  /* bases of bases */
#define BASE_VIRTUAL 1 /* bits of a base's flags; its offset is above them */
#define BASE_OFFSET_SHIFT 8

struct walk {
	struct cs_cxx *cx;
	struct cs_cxx_part *parts;
	size_t n, max;
	unsigned steps;
};

void cs_cxx_deinit(struct cs_cxx *cx)
{
	free(cx->types.v);
	cx->types.v = NULL;
}

/** Letters, digits and what GCC puts into the names of local types; the linker's '*' is no part of it. */
static bool valid_name(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_.$", s[i]))
			return false;
	return n > 0;
}

/** The name in a type_info; caller frees. NULL: it is none. */
static char *name_read(struct cs_cxx *cx, uint64_t info)
{
	uint64_t at;
	char *raw = NULL;

	if (info & 7 || info > UINT64_MAX - 64 || !cs_mem_u64(cx->mem, info + 8, &at) || !at ||
	    !cs_ok(cs_mem_string(cx->mem, at, CS_MAX_MANGLED, &raw)))
		return NULL;
	if (*raw == '*')
		memmove(raw, raw + 1, strlen(raw));
	if (valid_name(raw))
		return raw;
	free(raw);
	return NULL;
}

/** Demangled through the symbol of the name itself; NULL: the name is none of a type. */
static const char *demangle(struct cs_cxx *cx, const char *raw)
{
	static const char prefix[] = "typeinfo name for ";
	CS_CLEANUP(cs_freep) char *symbol = malloc(strlen(raw) + sizeof("_ZTS"));
	const char *text;

	if (!symbol)
		return NULL;
	if (!strcmp(raw, "Ss")) /* written out within a symbol */
		return "std::string";
	strcpy(symbol, "_ZTS");
	strcat(symbol, raw);
	text = cs_demangle(cx->arena, symbol);
	return text && !strncmp(text, prefix, strlen(prefix)) ? text + strlen(prefix) : NULL;
}

bool cs_cxx_type_read(struct cs_cxx *cx, uint64_t address, struct cs_cxx_type *ret)
{
	CS_CLEANUP(cs_freep) char *raw = NULL;
	struct cs_cxx_type type = {.address = address};

	for (size_t i = 0; i < cx->types.n; i++)
		if (cx->types.v[i].address == address) {
			*ret = cx->types.v[i];
			return true;
		}
	raw = name_read(cx, address);
	if (!raw)
		return false;
	type.raw = cs_arena_intern(cx->arena, raw);
	type.name = demangle(cx, raw);
	if (!type.raw || !type.name)
		return false;
	*ret = type;
	/* One that finds no room is read again. */
	(void)cs_ok(CS_PUSH(&cx->types, type, CS_MAX_CXX_TYPES, "C++ types"));
	return true;
}

/** The type_info that the virtual table of the object at @object names; 0: it has none. */
static uint64_t dynamic_info(struct cs_cxx *cx, uint64_t object)
{
	uint64_t table, info;

	if (!cs_mem_u64(cx->mem, object, &table) || table < 4096 || table & 7 ||
	    !cs_mem_u64(cx->mem, table - 8, &info))
		return 0;
	return info;
}

const char *cs_cxx_dynamic_type(struct cs_cxx *cx, uint64_t object)
{
	uint64_t info = dynamic_info(cx, object);
	struct cs_cxx_type type;

	return info && cs_cxx_type_read(cx, info, &type) ? type.raw : NULL;
}

static void walk_type(struct walk *w, uint64_t info, uint64_t object, unsigned depth);

/** Bases of a class with several, or with virtual ones. */
static void walk_bases(struct walk *w, uint64_t info, uint64_t object, unsigned depth)
{
	uint32_t n = 0;
	uint64_t base, flags, table;

	if (!cs_mem_u32(w->cx->mem, info + 20, &n))
		return;
	for (uint32_t i = 0; i < CS_MIN(n, MAX_BASES); i++) {
		uint64_t at = info + 24 + 16ULL * i, distance;

		if (!cs_mem_u64(w->cx->mem, at, &base) || !cs_mem_u64(w->cx->mem, at + 8, &flags))
			return;
		distance = (uint64_t)((int64_t)flags >> BASE_OFFSET_SHIFT);
		/* Where a virtual base lies is in the virtual table, at a negative distance. */
		if (flags & BASE_VIRTUAL &&
		    (!cs_mem_u64(w->cx->mem, object, &table) ||
		     !cs_mem_u64(w->cx->mem, table + distance, &distance)))
			continue;
		walk_type(w, base, object + distance, depth + 1);
	}
}

static void walk_type(struct walk *w, uint64_t info, uint64_t object, unsigned depth)
{
	struct cs_cxx_type type;
	const char *kind;
	uint64_t base;

	if (depth > MAX_DEPTH || w->n == w->max || ++w->steps > CS_MAX_CXX_BASES ||
	    !cs_cxx_type_read(w->cx, info, &type))
		return;
	w->parts[w->n++] = (struct cs_cxx_part){.raw = type.raw, .at = object};
	kind = cs_cxx_dynamic_type(w->cx, info);
	if (!kind)
		return;
	if (!strcmp(kind, "N10__cxxabiv120__si_class_type_infoE")) {
		if (cs_mem_u64(w->cx->mem, info + 16, &base))
			walk_type(w, base, object, depth + 1);
	} else if (!strcmp(kind, "N10__cxxabiv121__vmi_class_type_infoE")) {
		walk_bases(w, info, object, depth);
	}
}

size_t cs_cxx_parts(struct cs_cxx *cx, uint64_t type, uint64_t object, struct cs_cxx_part *ret,
		    size_t max)
{
	struct walk w = {.cx = cx, .parts = ret, .max = max};

	walk_type(&w, type, object, 0);
	return w.n;
}
