/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of exceptions. Knows what the str() of each builtin exception makes of its
 * fields (CPython: Objects/exceptions.c), also of those that were raised but not made
 * yet; refuses to know who raised them.
 */
#include "base/limits.h"
#include "python/exception.h"
#include "python/value.h"

#include <string.h>

/** Builtin exceptions whose str() is not that of BaseException. */
enum kind {
	KIND_PLAIN,
	KIND_KEY,
	KIND_OS,
	KIND_SYNTAX,
	KIND_ENCODE,
	KIND_DECODE,
	KIND_TRANSLATE,
	KIND_GROUP,
};

/** One exception while its text is made. */
struct text {
	const struct cs_py *py;
	struct cs_strbuf *out;
	uint64_t value; /* the exception; 0: not made yet, there are only its arguments */
	uint64_t tuple; /* its arguments; 0: there is one at most */
	uint64_t items; /* address of the first one's pointer */
	uint64_t single; /* the only argument, where there is no tuple */
	uint64_t n;
	unsigned depth; /* exceptions within exceptions */
};

static void put_exception(const struct cs_py *py, uint64_t type, uint64_t value,
			  unsigned depth, struct cs_strbuf *out);

/** By the builtin type that it inherits from: classes written in Python may have the same
 * names. */
static enum kind kind_of(const struct cs_py *py, uint64_t type)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = {
		{"KeyError", KIND_KEY},
		{"OSError", KIND_OS},
		{"SyntaxError", KIND_SYNTAX},
		{"UnicodeEncodeError", KIND_ENCODE},
		{"UnicodeDecodeError", KIND_DECODE},
		{"UnicodeTranslateError", KIND_TRANSLATE},
		{"BaseExceptionGroup", KIND_GROUP},
	};
	uint64_t base;

	for (uint64_t i = 0; i < CS_MAX_PY_MRO && (base = cs_py_type_base(py, type, i));
	     i++) {
		const char *name = cs_py_type_has(py, base, CS_PY_HEAPTYPE)
					   ? NULL
					   : cs_py_type_name(py, base);

		for (size_t k = 0; name && k < CS_COUNT(kinds); k++)
			if (strcmp(name, kinds[k].name) == 0)
				return kinds[k].kind;
	}
	return KIND_PLAIN;
}

static size_t room(const struct cs_strbuf *out)
{
	return out->len < CS_MAX_PY_MESSAGE ? CS_MAX_PY_MESSAGE - out->len : 0;
}

/** As str(object), as far as memory tells. */
static void put_str(const struct text *t, uint64_t object)
{
	bool cut = false;
	const char *s;

	if (!object || !room(t->out))
		return;
	s = cs_py_str(t->py, object, room(t->out), &cut);
	if (s) {
		cs_strbuf_puts(t->out, s);
		if (cut)
			cs_strbuf_puts(t->out, "…");
	} else if (t->depth < CS_MAX_PY_DEPTH &&
		   cs_py_is(t->py, object, CS_PY_EXCEPTION)) {
		put_exception(t->py, cs_py_type(t->py, object), object, t->depth + 1,
			      t->out);
	} else {
		cs_py_repr(t->py, object, t->out);
	}
}

static void put_str_or_none(const struct text *t, uint64_t object)
{
	if (object)
		put_str(t, object);
	else
		cs_strbuf_puts(t->out, "None");
}

static void put_repr(const struct text *t, uint64_t object)
{
	if (object && room(t->out))
		cs_py_repr(t->py, object, t->out);
}

/** Argument number @i; 0: none, or not readable. */
static uint64_t argument(const struct text *t, uint64_t i)
{
	if (i >= t->n)
		return 0;
	if (!t->tuple)
		return t->single;
	return cs_py_pointer_at(t->py, cs_py_add(t->items, 8 * i));
}

static void put_plain(const struct text *t)
{
	if (t->n == 1)
		put_str(t, argument(t, 0));
	else if (t->n > 1)
		put_repr(t, t->tuple);
}

/** 0: not set. What is set but not readable is shown so. */
static uint64_t field(const struct text *t, int32_t offset)
{
	return t->value ? cs_py_get(t->py, t->value, offset) : 0;
}

/** "[Errno 2] No such file or directory: 'x' -> 'y'" */
static void put_os(const struct text *t)
{
	const struct cs_py_layout *l = &t->py->layout;
	bool made = t->value != 0, has_arguments = !made && t->n >= 2 && t->n <= 5;
	uint64_t number = made ? field(t, l->oserror_number) : 0;
	uint64_t text = made ? field(t, l->oserror_text) : 0;
	uint64_t file = made ? field(t, l->oserror_filename) : 0;
	uint64_t file2 = made ? field(t, l->oserror_filename2) : 0;

	if (has_arguments) { /* errno, strerror, filename, winerror, filename2 */
		number = argument(t, 0);
		text = argument(t, 1);
		file = argument(t, 2);
		file2 = argument(t, 4);
		file = file && !cs_py_is_none(t->py, file) ? file : 0;
		file2 = file2 && !cs_py_is_none(t->py, file2) ? file2 : 0;
	}
	if (!file && !(number && text)) {
		put_plain(t);
		return;
	}
	cs_strbuf_puts(t->out, "[Errno ");
	put_str_or_none(t, number);
	cs_strbuf_puts(t->out, "] ");
	put_str_or_none(t, text);
	if (file) {
		cs_strbuf_puts(t->out, ": ");
		put_repr(t, file);
	}
	if (file && file2) {
		cs_strbuf_puts(t->out, " -> ");
		put_repr(t, file2);
	}
}

/** "invalid syntax (x.py, line 3)" */
static void put_syntax(const struct text *t)
{
	const struct cs_py_layout *l = &t->py->layout;
	uint64_t msg = field(t, l->syntaxerror_msg),
		 lineno = field(t, l->syntaxerror_lineno);
	const char *file =
		cs_py_str(t->py, field(t, l->syntaxerror_filename), CS_MAX_PY_NAME, NULL);
	const char *base = file ? strrchr(file, '/') : NULL;
	int64_t line = 0;
	bool has_line = lineno && cs_py_int(t->py, lineno, &line);

	if (!t->value) {
		put_plain(t);
		return;
	}
	base = base ? base + 1 : file;
	put_str_or_none(t, msg);
	if (base && has_line)
		cs_strbuf_printf(t->out, " (%s, line %lld)", base, (long long)line);
	else if (base)
		cs_strbuf_printf(t->out, " (%s)", base);
	else if (has_line)
		cs_strbuf_printf(t->out, " (line %lld)", (long long)line);
}

/** "character '\xe4'", "byte 0xff": what cannot be encoded or decoded. False: not
 * readable. */
static bool put_culprit(const struct text *t, enum kind kind, uint64_t object,
			uint64_t at)
{
	struct cs_py_text str;
	uint64_t data, len;
	uint32_t c;
	uint8_t byte;

	if (kind == KIND_DECODE) {
		if (!cs_py_bytes(t->py, object, &data, &len) || at >= len ||
		    !cs_py_read(t->py, cs_py_add(data, at), &byte, 1))
			return false;
		cs_strbuf_printf(t->out, "byte 0x%02x", byte);
		return true;
	}
	if (!cs_py_text(t->py, object, &str) || at >= str.length ||
	    cs_py_text_read(t->py, &str, at, &c, 1) != 1)
		return false;
	if (c <= 0xff)
		cs_strbuf_printf(t->out, "character '\\x%02x'", c);
	else if (c <= 0xffff)
		cs_strbuf_printf(t->out, "character '\\u%04x'", c);
	else
		cs_strbuf_printf(t->out, "character '\\U%08x'", c);
	return true;
}

/** "'ascii' codec can't encode character '\xe4' in position 3: ordinal not in range(128)"
 */
static void put_unicode(const struct text *t, enum kind kind)
{
	const struct cs_py_layout *l = &t->py->layout;
	uint64_t object = field(t, l->unicodeerror_object), start, end;

	if (!t->value) {
		put_plain(t);
		return;
	}
	if (!object || !cs_py_u64(t->py, t->value, l->unicodeerror_start, &start) ||
	    !cs_py_u64(t->py, t->value, l->unicodeerror_end, &end))
		return;
	if (kind == KIND_TRANSLATE) {
		cs_strbuf_puts(t->out, "can't translate ");
	} else {
		cs_strbuf_puts(t->out, "'");
		put_str(t, field(t, l->unicodeerror_encoding));
		cs_strbuf_printf(t->out, "' codec can't %s ",
				 kind == KIND_DECODE ? "decode" : "encode");
	}
	if (end == start + 1 && put_culprit(t, kind, object, start))
		cs_strbuf_printf(t->out, " in position %lld: ", (long long)start);
	else
		cs_strbuf_printf(t->out, "%s in position %lld-%lld: ",
				 kind == KIND_DECODE ? "bytes" : "characters",
				 (long long)start, (long long)(end - 1));
	put_str(t, field(t, l->unicodeerror_reason));
}

/** "several things failed (2 sub-exceptions)" */
static void put_group(const struct text *t)
{
	const struct cs_py_layout *l = &t->py->layout;
	uint64_t items, n;

	put_str(t, t->value ? field(t, l->excgroup_msg) : argument(t, 0));
	if (cs_py_items(t->py, t->value ? field(t, l->excgroup_excs) : argument(t, 1),
			&items, &n))
		cs_strbuf_printf(t->out, " (%llu sub-exception%s)", (unsigned long long)n,
				 n == 1 ? "" : "s");
}

/** The arguments of an exception, or those that one would be made from. */
static void find_arguments(struct text *t, uint64_t value)
{
	if (cs_py_is(t->py, value, CS_PY_EXCEPTION)) {
		t->value = value;
		t->tuple = cs_py_get(t->py, value, t->py->layout.exception_args);
	} else if (cs_py_is(t->py, value, CS_PY_TUPLE)) {
		t->tuple = value;
	} else if (value && !cs_py_is_none(t->py, value) && cs_py_type(t->py, value)) {
		t->single = value;
		t->n = 1;
	}
	if (t->tuple && !cs_py_items(t->py, t->tuple, &t->items, &t->n)) {
		t->tuple = 0;
		t->n = 0;
	}
}

static void put_exception(const struct cs_py *py, uint64_t type, uint64_t value,
			  unsigned depth, struct cs_strbuf *out)
{
	struct text t = {.py = py, .out = out, .depth = depth};
	enum kind kind = kind_of(py, type);

	find_arguments(&t, value);
	switch (kind) {
	case KIND_KEY:
		if (t.n == 1)
			put_repr(&t, argument(&t, 0));
		else
			put_plain(&t);
		break;
	case KIND_OS:
		put_os(&t);
		break;
	case KIND_SYNTAX:
		put_syntax(&t);
		break;
	case KIND_ENCODE:
	case KIND_DECODE:
	case KIND_TRANSLATE:
		put_unicode(&t, kind);
		break;
	case KIND_GROUP:
		put_group(&t);
		break;
	case KIND_PLAIN:
		put_plain(&t);
		break;
	}
}

/** Hand @sb over to the arena; NULL where it is empty. */
static const char *keep(const struct cs_py *py, struct cs_strbuf *sb)
{
	const char *text =
		sb->len ? cs_arena_strdup(py->arena, cs_strbuf_text(sb)) : NULL;

	cs_strbuf_deinit(sb);
	return text;
}

/* Room for a value and for the mark of what was cut, beyond the longest message. */
#define ROOM (CS_MAX_PY_MESSAGE + CS_MAX_PY_REPR + 64)

const char *cs_py_exception_message(const struct cs_py *py, uint64_t type, uint64_t value)
{
	struct cs_strbuf sb;

	cs_strbuf_init(&sb, ROOM);
	put_exception(py, type, value, 0, &sb);
	return keep(py, &sb);
}

const char *cs_py_exception_note(const struct cs_py *py, uint64_t note)
{
	struct cs_strbuf sb;
	struct text t = {.py = py, .out = &sb};

	cs_strbuf_init(&sb, ROOM);
	put_str(&t, note);
	return keep(py, &sb);
}

const char *cs_py_exception_type(const struct cs_py *py, uint64_t type)
{
	static const char main_module[] = "__main__.";
	const char *name = cs_py_type_full_name(py, type);

	if (name && strncmp(name, main_module, strlen(main_module)) == 0)
		return name + strlen(main_module);
	return name;
}
