/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of Py_FatalError(). It is an argument: a constant in the code that calls the function,
 * nearly always; else it can still be in a register that the functions below have saved. Knows the
 * functions' arguments and how they put the text together (cpython: Python/pylifecycle.c,
 * Python/errors.c, Objects/object.c, 3.6 to 3.14).
 */
#include "crash/panic_internal.h"

#include <ctype.h>
#include <string.h>

/** What the arguments of a function are. */
enum form {
	MESSAGE,       /* (message) */
	FUNC_MESSAGE,  /* (name of the caller, message) */
	FUNC_FORMAT,   /* (name of the caller, printf format, ...) */
	FUNC_REFCOUNT, /* (name of the caller, message), and the same words after each message */
};

static const struct fatal {
	const char *function;
	enum form form;
} fatals[] = {
	{"Py_FatalError", MESSAGE}, /* from 3.9 on also a macro for the next */
	{"_Py_FatalErrorFunc", FUNC_MESSAGE},
	{"_Py_FatalErrorFormat", FUNC_FORMAT},
	{"_Py_FatalRefcountErrorFunc", FUNC_REFCOUNT},
};

#define MIN_TEXT 4 /* bytes; shorter ones are numbers that happen to be letters */

/* How far out of abort() they can be: fatal_error_exit(), fatal_error() and such, two formatters. */
#define MAX_DEPTH 6

static const struct fatal *fatal_of(const struct cs_panic_frame *f)
{
	const struct cs_frame *own = cs_panic_own(f);
	size_t n;

	if (!own || !own->function || own->nearest)
		return NULL;
	for (size_t i = 0; i < CS_COUNT(fatals); i++) {
		n = strlen(fatals[i].function);
		if (!strncmp(own->function, fatals[i].function, n) && !isalnum(own->function[n]) &&
		    own->function[n] != '_')
			return &fatals[i];
	}
	return NULL;
}

/** The outermost of these functions; NULL: none. */
static const struct fatal *find(const struct cs_panic *p, size_t *ret_frame)
{
	const struct fatal *found = NULL;

	for (size_t i = p->first; i < p->n && i < p->first + MAX_DEPTH; i++) {
		const struct fatal *f = fatal_of(&p->frames[i]);

		if (f)
			*ret_frame = i;
		found = f ? f : found;
	}
	return found;
}

static bool is_name(const char *text)
{
	if (!text || isdigit((unsigned char)*text) || strlen(text) < 3)
		return false;
	while (isalnum((unsigned char)*text) || *text == '_')
		text++;
	return !*text;
}

/** Argument @arg of the call of frame @frame if it is a constant text. */
static const char *constant(const struct cs_panic *p, size_t frame, unsigned arg)
{
	uint64_t at;

	return cs_panic_argument(p, frame, arg, &at) ? cs_panic_text(p, at) : NULL;
}

/**
 * The words that lie in the frames between abort() and frame @frame are, among others, the
 * registers that those functions found and saved: what @frame itself kept. A name and a text side
 * by side are its two arguments; a text alone is its one argument if there is no other.
 */
static bool from_saved(const struct cs_panic *p, size_t frame, bool named, const char **func,
		       const char **message)
{
	size_t end = cs_panic_word(p, p->frames[frame].low);
	const char *only = NULL;
	uint64_t only_at = 0;

	for (size_t i = cs_panic_word(p, p->frames[p->first].low); i < end; i++) {
		const char *text = cs_panic_text(p, p->words[i]), *next;

		if (!text)
			continue;
		next = named && is_name(text) && i + 1 < end ? cs_panic_text(p, p->words[i + 1]) : NULL;
		if (next) {
			*func = text;
			*message = next;
			return true;
		}
		if (strlen(text) < MIN_TEXT)
			continue;
		if (only && p->words[i] != only_at)
			return false; /* which of the two? */
		only = text;
		only_at = p->words[i];
	}
	if (named || !only)
		return false;
	*message = only;
	return true;
}

/** @format with "..." for each conversion: what was inserted is gone. */
static const char *without_conversions(struct cs_arena *arena, const char *format)
{
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf sb;

	cs_strbuf_init(&sb, CS_MAX_PANIC_TEXT);
	for (const char *s = format; *s; s++) {
		if (*s != '%') {
			cs_strbuf_putc(&sb, *s);
			continue;
		}
		s++;
		if (*s == '%') {
			cs_strbuf_putc(&sb, '%');
			continue;
		}
		s += strspn(s, "-+ #0123456789.*hlqjzt");
		cs_strbuf_puts(&sb, "...");
		if (!*s)
			break;
	}
	return cs_arena_strdup(arena, cs_strbuf_text(&sb));
}

bool cs_panic_python(const struct cs_panic *p, struct cs_crash *ret)
{
	struct cs_arena *arena = p->in->scene->arena;
	const char *func = NULL, *message, *end = "";
	const struct fatal *fatal;
	size_t frame = 0;

	fatal = find(p, &frame);
	if (!fatal)
		return false;
	message = constant(p, frame, fatal->form == MESSAGE ? 0 : 1);
	if (fatal->form != MESSAGE)
		func = constant(p, frame, 0);
	if (func && !is_name(func))
		func = NULL;
	if (!message || (!func && fatal->form != MESSAGE))
		(void)from_saved(p, frame, fatal->form != MESSAGE, &func, &message);
	if (fatal->form == FUNC_FORMAT && message)
		message = without_conversions(arena, message);
	if (fatal->form == FUNC_REFCOUNT)
		end = ": bug likely caused by a refcount error in a C extension";
	if (!message)
		return false;
	if (fatal->form == MESSAGE)
		message = cs_arena_printf(arena, "Fatal Python error: %s", message);
	else /* the name of the caller is printed, too, but could not be read */
		message = cs_arena_printf(arena, "Fatal Python error: %s: %s%s", func ? func : "...",
					  message, end);
	if (!message)
		return false;
	ret->message = message;
	ret->message_source = CS_SOURCE_PYTHON;
	return true;
}
