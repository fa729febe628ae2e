/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * c10::Error and its family. Knows where each generation of PyTorch keeps the parts of one (pytorch:
 * c10/util/Exception.h, Backtrace.h, Lazy.h; up to 2.3 the backtrace is a text, later it is made when it is
 * asked for) with either ABI of std::string, and takes that layout whose derived text begins with the
 * message; refuses to know what the errors mean.
 */
#include "torch/cxx.h"

#include "base/limits.h"

#include <string.h>

/** Byte offsets within a c10::Error. */
struct layout {
	bool old;  /* strings with copy on write */
	bool lazy; /* 2.4 and later */
	uint8_t context, backtrace, what, message, size; /* message: what_without_backtrace_ */
};

static const struct layout layouts[] = {
	{false, true, 40, 64, 80, 88, 128},
	{false, false, 40, 64, 96, 128, 168},
	{true, true, 16, 40, 56, 64, 80},
	{true, false, 16, 40, 48, 56, 72},
};

#define MESSAGE 8 /* msg_ */

static bool starts_with(const char *text, const char *prefix)
{
	return text && prefix && !strncmp(text, prefix, strlen(prefix));
}

static const char *string_at(struct cs_cxx *cx, const struct layout *l, uint64_t at)
{
	return cs_cxx_string_of(cx, at, l->old, CS_MAX_CXX_MESSAGE);
}

static const struct layout *layout_of(struct cs_cxx *cx, uint64_t at, const char **message,
				      const char **whole)
{
	for (size_t i = 0; i < CS_COUNT(layouts); i++) {
		const struct layout *l = &layouts[i];

		*message = string_at(cx, l, at + MESSAGE);
		*whole = *message ? string_at(cx, l, at + l->message) : NULL;
		if (*message && starts_with(*whole, *message))
			return l;
	}
	return NULL;
}

/** The message with its context, as c10::Error::compute_what() puts them together. */
static const char *join(struct cs_cxx *cx, const struct layout *l, uint64_t at, const char *message)
{
	uint64_t begin, end, stride = l->old ? 8 : 32, n;
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf out;

	cs_strbuf_init(&out, CS_MAX_CXX_MESSAGE);
	cs_strbuf_puts(&out, message);
	if (!cs_mem_u64(cx->mem, at + l->context, &begin) ||
	    !cs_mem_u64(cx->mem, at + l->context + 8, &end) || end < begin || (end - begin) % stride)
		return message;
	n = CS_MIN((end - begin) / stride, (uint64_t)CS_MAX_CXX_CONTEXT);
	for (uint64_t i = 0; i < n; i++) {
		const char *line = string_at(cx, l, begin + i * stride);

		if (line)
			cs_strbuf_printf(&out, end - begin == stride ? " (%s)" : "\n  %s", line);
	}
	return cs_arena_strdup(cx->arena, cs_strbuf_text(&out));
}

/** An error whose derived text is not there (any more): by its message and its context alone. */
static bool read_bare(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret)
{
	static const struct layout *const both[] = {&layouts[0], &layouts[2]};

	for (size_t i = 0; i < CS_COUNT(both); i++) {
		const char *message = string_at(cx, both[i], at + MESSAGE);

		if (!message || !*message)
			continue;
		ret->message = join(cx, both[i], at, message);
		return ret->message != NULL;
	}
	return false;
}

/**
 * What a backtrace that was never asked for knows: where the error was raised (pytorch: c10/util/Logging.cpp,
 * PyTorchStyleBacktrace: virtual table, value, shared_ptr, function, file, line).
 */
static const char *raised_at(struct cs_cxx *cx, uint64_t lazy)
{
	uint64_t function, file;
	uint32_t line;
	const char *name = cs_cxx_dynamic_type(cx, lazy), *f, *p;

	if (!name || !strstr(name, "PyTorchStyleBacktrace") ||
	    !cs_mem_u64(cx->mem, lazy + 32, &function) || !cs_mem_u64(cx->mem, lazy + 40, &file) ||
	    !cs_mem_u32(cx->mem, lazy + 48, &line) || line > INT32_MAX)
		return NULL;
	f = cs_cxx_chars(cx, function, CS_MAX_PATH);
	p = cs_cxx_chars(cx, file, CS_MAX_PATH);
	return f && p ? cs_arena_printf(cx->arena, "Exception raised from %s at %s:%u", f, p, line) : NULL;
}

static const char *backtrace_of(struct cs_cxx *cx, const struct layout *l, uint64_t at, const char *whole)
{
	uint64_t lazy, value;
	const char *text;

	if (!l->lazy)
		return string_at(cx, l, at + l->backtrace);
	/* what() was called: it has both. */
	if (cs_mem_u64(cx->mem, at + l->what, &value) && value) {
		text = string_at(cx, l, value);
		if (starts_with(text, whole) && text[strlen(whole)] == '\n')
			return text + strlen(whole) + 1;
	}
	if (!cs_mem_u64(cx->mem, at + l->backtrace, &lazy) || !lazy || lazy > UINT64_MAX - 64)
		return NULL;
	text = cs_mem_u64(cx->mem, lazy + 8, &value) && value ? string_at(cx, l, value) : NULL;
	return text ? text : raised_at(cx, lazy);
}

bool cs_cxx_c10_read(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret)
{
	const char *message = NULL, *whole = NULL, *backtrace;
	const struct layout *l;

	if (at > UINT64_MAX - 4096)
		return false;
	l = layout_of(cx, at, &message, &whole);
	if (!l)
		return read_bare(cx, at, ret);
	ret->message = whole;
	backtrace = backtrace_of(cx, l, at, whole);
	if (backtrace && *backtrace)
		ret->backtrace = backtrace;
	return true;
}

bool cs_cxx_c10_code(struct cs_cxx *cx, uint64_t at, int32_t *ret)
{
	const char *message, *whole;
	const struct layout *l = at > UINT64_MAX - 4096 ? NULL : layout_of(cx, at, &message, &whole);
	uint32_t code;

	if (!l || !cs_mem_u32(cx->mem, at + l->size, &code))
		return false;
	*ret = (int32_t)code;
	return true;
}
