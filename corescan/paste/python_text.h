/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What the forms of Python stacks have in common. */
#ifndef CS_PASTE_PYTHON_TEXT_H
#define CS_PASTE_PYTHON_TEXT_H

#include "paste/text.h"

/** `File "x.py", line 3, in f`, taken apart. */
struct cs_python_place {
	struct cs_span file, function; /* function.at NULL: there is none, as where a SyntaxError points */
	uint32_t line;
};

/** Read @text, which begins with `File "`; both `, in f` and faulthandler's ` in f` end it. */
bool cs_python_place(struct cs_span text, struct cs_python_place *ret);
/** Add the frame that runs there: of Python, if the file is. */
void cs_python_frame(struct cs_paster *p, const struct cs_python_place *place);

/** Digits alone, that fit 32 bits. */
bool cs_span_number(struct cs_span s, uint32_t *ret);

/** True for the names of source files that are not Python, nor Cython: "x.cc", "y.cu", "w.rs". */
bool cs_is_native_source(struct cs_span file);

/**
 * True if the report has stacks that a tool took of a whole process. What the process itself prints - a
 * traceback, the list of frames of a C++ exception - can come before its end, and is not meant.
 */
bool cs_paste_has_dump(const struct cs_paster *p);

#endif
