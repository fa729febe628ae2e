/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What the forms of native stacks have in common: names of functions with all that C++ puts into them, paths,
 * "file:line". Texts are given by their bytes, and need not end with NUL; what is returned lives as long as
 * the report.
 */
#ifndef CS_PASTE_TEXT_H
#define CS_PASTE_TEXT_H

#include "paste/paster.h"

/** Bytes of somebody else's text. */
struct cs_span {
	const char *at; /* NULL: there is none */
	size_t len;
};

#define CS_SPAN(text) ((struct cs_span){(text), strlen(text)})

/** "ns::f<int> (this=0x1, x=3) at a.cc:5", taken apart. */
struct cs_call {
	struct cs_span function;  /* "ns::f<int>" */
	struct cs_span arguments; /* "this=0x1, x=3", without the parentheses; `at` NULL: cut off */
	struct cs_span file;      /* "a.cc:5" */
	struct cs_span library;   /* "/usr/lib/libx.so.1" */
};

/** The span without blanks at both ends. */
struct cs_span cs_span_trim(struct cs_span s);
bool cs_span_is(struct cs_span s, const char *text);
bool cs_span_begins(struct cs_span s, const char *text);
bool cs_span_ends(struct cs_span s, const char *text);
/** Where @needle stands in @s; @s.len: nowhere. */
size_t cs_span_find(struct cs_span s, const char *needle);
/** From @at on, to the end. */
struct cs_span cs_span_from(struct cs_span s, size_t at);
/** Group @n of a rule; `at` NULL: it caught nothing. */
struct cs_span cs_span_of_group(const struct cs_groups *g, unsigned n);

/**
 * Past the bracket that closes the one at @open: "(", "<", "[" or "{". Quoted text and the names of operators
 * do not count. @s.len + 1: it is not closed.
 */
size_t cs_span_close(struct cs_span s, size_t open);

/** True if a bracket or a quote in it is not closed. */
bool cs_span_is_open(struct cs_span s);

/** As gdb prints it. False: there is no call in it. */
bool cs_call_split(struct cs_span s, struct cs_call *ret);
/** The value of argument @name: what stands between quotes if it is a text. False: it has none such. */
bool cs_call_text(const struct cs_call *call, const char *name, struct cs_strbuf *ret);

/**
 * The name of a function: demangled, without the values of arguments. NULL: "??", "(unknown)" and other ways
 * to say that there is none.
 */
const char *cs_paste_function(struct cs_paster *p, struct cs_span s);
/** "libx.so.1" of "/usr/lib/libx.so.1 (deleted)"; NULL: there is none. */
const char *cs_paste_library(struct cs_paster *p, struct cs_span s);
/** "a.cc:5" or "a.cc:5:17" into file and line of @frame; "??:0" is nothing. */
void cs_paste_place(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame);
/** Add @frame; its thread is the main one if this is where programs begin, and crashed if it is abort(). */
void cs_paste_native(struct cs_paster *p, const struct cs_paste_frame *frame);
/** True if both have the same functions, as far as both were printed, and one at least. */
bool cs_paste_same_stack(const struct cs_paste_thread *a, const struct cs_paste_thread *b);
/** The open thread ends, and is forgotten if an earlier one has the very same stack: it was printed twice. */
void cs_paste_end_repeated(struct cs_paster *p);
/** Message @text, unless it is the one that was said last. */
void cs_paste_say(struct cs_paster *p, const struct cs_line *line, const char *text);

#endif
