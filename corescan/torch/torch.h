/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What native code knows that no stack shows: C++ exceptions. (PyTorch's own state comes here, too.)
 */
#ifndef CS_TORCH_TORCH_H
#define CS_TORCH_TORCH_H

#include "crash/crash.h"
#include "python/python.h"

/** What the layer works on; nothing is owned. */
struct cs_torch_input {
	const struct cs_scene *scene;
	const struct cs_py_native *natives; /* one for each of the target's threads, in order */
	size_t n;
	const struct cs_pythons *pythons; /* NULL: none */
};

/**
 * C++ exceptions that threads have thrown and not caught yet, that they handle, and, where neither tells why
 * the process ended, those that are kept for later.
 *
 * @ret must have its threads, their stacks and its crash; the exceptions that it has are kept, and sorted
 * with the new ones: the one that ended the process first, then those of the crashed thread. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_torch_exceptions_read(const struct cs_torch_input *in,
							struct cs_analysis *ret);

#endif
