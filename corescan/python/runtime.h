/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Finding the CPython runtimes of a process; private to the python layer. */
#ifndef CS_PYTHON_RUNTIME_H
#define CS_PYTHON_RUNTIME_H

#include "python/state.h"

/**
 * Every runtime of the process that has an interpreter, or would have one a moment later. What was looked
 * for in vain becomes a diagnostic. @found has room for @max; @n_ret of them are filled in.
 */
CS_MUST_CHECK struct cs_error *cs_py_runtimes_find(const struct cs_scene *scene,
						   struct cs_py_found *found, size_t max,
						   size_t *n_ret);

/** The context for reading @found: head of the interpreters, addresses of the static types. */
void cs_py_open(const struct cs_scene *scene, const struct cs_py_found *found, struct cs_py *ret);

#endif
