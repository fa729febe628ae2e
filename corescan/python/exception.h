/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What an exception says of itself, without running anything of it. */
#ifndef CS_PYTHON_EXCEPTION_H
#define CS_PYTHON_EXCEPTION_H

#include "python/object.h"

/** The name that a traceback shows: without module where that is builtins or __main__.
 * NULL: not known. */
const char *cs_py_exception_type(const struct cs_py *py, uint64_t type);

/**
 * str() of an exception of @type, in the arena; NULL if that is empty or not known.
 *
 * @value is the exception or, up to 3.11, what it would be made from (an argument, a
 * tuple of arguments, None or 0). A __str__() written in Python cannot be run: then the
 * arguments are shown as BaseException.__str__() would.
 */
const char *cs_py_exception_message(const struct cs_py *py, uint64_t type,
				    uint64_t value);

/** One note of add_note(), like a message. */
const char *cs_py_exception_note(const struct cs_py *py, uint64_t note);

#endif
