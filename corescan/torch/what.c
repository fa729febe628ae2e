/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an exception says of itself, without running anything of it: by the first of its type and bases of
 * which it is known where the text lies. Knows the standard library's exceptions (gcc: libstdc++-v3/include,
 * libstdc++-v3/src/c++11) and values that are thrown as such; refuses to guess at members of types that it
 * does not know.
 */
#include "torch/cxx.h"

#include "base/limits.h"

#include <inttypes.h>
#include <string.h>

#define MAX_PARTS 32
#define WHAT 2          /* of the virtual functions of std::exception, after two destructors */
#define CATEGORY_NAME 2 /* and of std::error_category */

struct describe {
	struct cs_cxx *cx;
	struct cs_exception *ret;
	struct cs_cxx_part parts[MAX_PARTS];
	size_t n;
};

/** The part of type @raw, or NULL. */
static const struct cs_cxx_part *part_of(const struct describe *d, const char *raw)
{
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->parts[i].raw, raw))
			return &d->parts[i];
	return NULL;
}

/* ---- values ---- */

/** "int", "double" and the like: as a program would print them. NULL: @raw is none of these. */
static const char *number(struct cs_cxx *cx, const char *raw, uint64_t at)
{
	uint64_t v = 0;
	size_t size = strchr("abch", *raw)     ? 1
		      : strchr("st", *raw)     ? 2
		      : strchr("ijwf", *raw)   ? 4
		      : strchr("lmxyd", *raw)  ? 8
					       : 0;
	bool is_signed = strchr("acsilx", *raw);
	double real;
	float half;

	if (raw[0] && raw[1])
		return NULL;
	if (!*raw || !size || cs_mem_read_some(cx->mem, at, &v, size) != size)
		return NULL;
	v = le64toh(v);
	if (*raw == 'b')
		return v ? "true" : "false";
	if (*raw == 'f') {
		memcpy(&half, &v, sizeof(half));
		return cs_arena_printf(cx->arena, "%g", (double)half);
	}
	if (*raw == 'd') {
		memcpy(&real, &v, sizeof(real));
		return cs_arena_printf(cx->arena, "%g", real);
	}
	if (is_signed)
		return cs_arena_printf(cx->arena, "%" PRId64, (int64_t)(v << (64 - 8 * size)) >>
								      (64 - 8 * size));
	return cs_arena_printf(cx->arena, "%" PRIu64, v);
}

/** throw "text", throw std::string("text"), throw 7; false: it is no such value. */
static bool read_value(struct describe *d, const char *raw, uint64_t at)
{
	struct cs_cxx *cx = d->cx;
	uint64_t pointer;

	if (!strcmp(raw, "PKc") || !strcmp(raw, "Pc")) {
		if (cs_mem_u64(cx->mem, at, &pointer))
			d->ret->message = cs_cxx_chars(cx, pointer, CS_MAX_CXX_MESSAGE);
		return true;
	}
	if (!strcmp(raw, "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE") ||
	    !strcmp(raw, "Ss")) {
		d->ret->message = cs_cxx_string_of(cx, at, raw[0] == 'S', CS_MAX_CXX_MESSAGE);
		return true;
	}
	d->ret->message = number(cx, raw, at);
	return d->ret->message != NULL;
}

/* ---- the standard library ---- */

typedef const char *text_fn(struct cs_cxx *cx, uint64_t at);

/** std::logic_error, std::runtime_error and the old std::ios_base::failure: a string that is never new. */
static const char *old_text(struct cs_cxx *cx, uint64_t at)
{
	return cs_cxx_string_of(cx, at + 8, true, CS_MAX_CXX_MESSAGE);
}

/** A shared_ptr to {path, path, text}; a path was larger before GCC 9. */
static const char *filesystem_text(struct cs_cxx *cx, uint64_t at)
{
	static const uint8_t places[] = {80, 32, 128, 80, 96};
	static const char begin[] = "filesystem error";
	uint64_t data;

	if (!cs_mem_u64(cx->mem, at + 32, &data) || data < 4096 || data > UINT64_MAX - 4096)
		return NULL;
	for (size_t i = 0; i < CS_COUNT(places); i++) {
		const char *text = cs_cxx_string(cx, data + places[i], CS_MAX_CXX_MESSAGE);

		if (text && !strncmp(text, begin, strlen(begin)))
			return text;
	}
	return NULL;
}

/** std::bad_variant_access and others that keep a literal. */
static const char *literal_text(struct cs_cxx *cx, uint64_t at)
{
	uint64_t pointer;

	return cs_mem_u64(cx->mem, at + 8, &pointer) ? cs_cxx_chars(cx, pointer, CS_MAX_CXX_MESSAGE) : NULL;
}

/** What what() returns, where its code can be followed. */
static const char *returned_text(struct cs_cxx *cx, uint64_t at)
{
	uint64_t text;

	return cs_cxx_returned(cx, at, WHAT, &text) ? cs_cxx_chars(cx, text, CS_MAX_CXX_MESSAGE) : NULL;
}

static const struct {
	const char *raw;
	text_fn *fn;
	const char *constant; /* what() of those that say the same always */
} standard[] = {
	{"NSt10filesystem7__cxx1116filesystem_errorE", filesystem_text, NULL},
	{"NSt10filesystem16filesystem_errorE", filesystem_text, NULL},
	{"NSt8ios_base7failureE", old_text, NULL},
	{"St13runtime_error", old_text, NULL},
	{"St11logic_error", old_text, NULL},
	{"St18bad_variant_access", literal_text, NULL},
	{"St20bad_array_new_length", NULL, "std::bad_array_new_length"},
	{"St9bad_alloc", NULL, "std::bad_alloc"},
	{"St8bad_cast", NULL, "std::bad_cast"},
	{"St10bad_typeid", NULL, "std::bad_typeid"},
	{"St13bad_exception", NULL, "std::bad_exception"},
	{"St17bad_function_call", NULL, "bad_function_call"},
	{"St12bad_weak_ptr", NULL, "bad_weak_ptr"},
	{"St19bad_optional_access", NULL, "bad optional access"},
	{"St12bad_any_cast", NULL, "bad any_cast"},
};

/** By the first part that is known; std::bad_cast is a base of std::bad_any_cast, and comes after it. */
static const char *standard_text(const struct describe *d)
{
	for (size_t i = 0; i < d->n; i++)
		for (size_t k = 0; k < CS_COUNT(standard); k++) {
			if (strcmp(d->parts[i].raw, standard[k].raw) != 0)
				continue;
			/* A constant is that type's own; one that inherits from it may say other things. */
			if (!standard[k].fn)
				return i == 0 ? standard[k].constant : NULL;
			return standard[k].fn(d->cx, d->parts[i].at);
		}
	return d->n && !strcmp(d->parts[0].raw, "St9exception") ? "std::exception" : NULL;
}

/** std::system_error and std::ios_base::failure: "generic:2"; the category's name is a function's. */
static void read_error_code(struct describe *d, uint64_t at)
{
	uint64_t category, name;
	const char *text = NULL;
	uint32_t value;

	if (!cs_mem_u32(d->cx->mem, at + 16, &value) || !cs_mem_u64(d->cx->mem, at + 24, &category))
		return;
	if (category && cs_cxx_returned(d->cx, category, CATEGORY_NAME, &name))
		text = cs_cxx_chars(d->cx, name, 64);
	d->ret->code = text && *text ? cs_arena_printf(d->cx->arena, "%s:%" PRId32, text, (int32_t)value)
				     : cs_arena_printf(d->cx->arena, "%" PRId32, (int32_t)value);
}

/* ---- all together ---- */

static struct cs_error *read_text(struct describe *d)
{
	const struct cs_cxx_part *p;
	const char *text;

	if ((p = part_of(d, "N3c105ErrorE")) && cs_cxx_c10_read(d->cx, p->at, d->ret))
		return NULL;
	if ((p = part_of(d, "N8pybind1117error_already_setE")))
		return cs_cxx_pybind_read(d->cx, p->at, d->ret);
	if ((p = part_of(d, "12python_error")))
		return cs_cxx_python_error_read(d->cx, p->at, d->ret);
	if (!(p = part_of(d, "St9exception")))
		return NULL;
	text = returned_text(d->cx, p->at);
	d->ret->message = text ? text : standard_text(d);
	/* Its what() returns the text of a std::string that is its only member. */
	if (!d->ret->message && (p = part_of(d, "N5torch12PyTorchErrorE")))
		d->ret->message = cs_cxx_string(d->cx, p->at + 8, CS_MAX_CXX_MESSAGE);
	return NULL;
}

static void read_code(struct describe *d)
{
	const struct cs_cxx_part *p;
	int32_t code;

	if ((p = part_of(d, "St12system_error")))
		read_error_code(d, p->at);
	else if ((p = part_of(d, "N3c1016AcceleratorErrorE")) && cs_cxx_c10_code(d->cx, p->at, &code))
		d->ret->code = cs_arena_printf(d->cx->arena, "%" PRId32, code);
}

/** std::throw_with_nested(): the exception that was handled meanwhile. */
static struct cs_error *read_nested(struct describe *d)
{
	const struct cs_cxx_part *p = part_of(d, "St16nested_exception");
	struct cs_cxx_header header;
	struct cs_exception *e;
	uint64_t object;

	if (!p || d->cx->depth >= CS_MAX_CXX_CHAIN || !cs_mem_u64(d->cx->mem, p->at + 8, &object) ||
	    object < 4096 || !cs_cxx_header_read(d->cx, object - CS_CXX_HEADER, &header))
		return NULL;
	e = cs_arena_alloc(d->cx->arena, sizeof(*e));
	if (!e)
		return &cs_nomem;
	e->tid = d->ret->tid;
	e->state = "stored";
	d->cx->depth++;
	CS_TRY(cs_cxx_describe(d->cx, &header, e));
	d->cx->depth--;
	d->ret->context = e;
	return NULL;
}

static const char *mask(const struct cs_cxx *cx, const char *text)
{
	return text ? cs_mask_value(cx->arena, text) : NULL;
}

struct cs_error *cs_cxx_describe(struct cs_cxx *cx, const struct cs_cxx_header *header,
				 struct cs_exception *ret)
{
	struct describe d = {.cx = cx, .ret = ret};
	struct cs_cxx_type type;

	ret->language = "c++";
	if (!cs_cxx_type_read(cx, header->type, &type))
		return NULL;
	ret->type = type.name;
	if (!read_value(&d, type.raw, header->object)) {
		d.n = cs_cxx_parts(cx, header->type, header->object, d.parts, MAX_PARTS);
		CS_TRY(read_text(&d));
		read_code(&d);
		CS_TRY(read_nested(&d));
	}
	ret->message = mask(cx, ret->message);
	ret->backtrace = mask(cx, ret->backtrace);
	return NULL;
}
