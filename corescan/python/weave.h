/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Python frames put into their places among the native ones; private to the python layer. */
#ifndef CS_PYTHON_WEAVE_H
#define CS_PYTHON_WEAVE_H

#include "python/python.h"
#include "python/state.h"

/** A thread state that runs in the thread to be woven, and the runtime it belongs to. */
struct cs_py_strand {
	const struct cs_py_process *process;
	const struct cs_py_state *state;
};

/** Which stack addresses belong to which native frame. */
struct cs_py_windows;
CS_MUST_CHECK struct cs_error *cs_py_windows_create(const struct cs_scene *scene,
						    const struct cs_py_native *native,
						    struct cs_py_windows **ret);
void cs_py_windows_destroy(struct cs_py_windows *windows);
CS_DEFINE_CLEANUP(struct cs_py_windows *, cs_py_windows_destroy)
/** Index of the native frame in whose part of the stack @address lies; SIZE_MAX: none. */
size_t cs_py_windows_find(const struct cs_py_windows *windows, uint64_t address);

/** Weave the frames of @strands into @native; @ret->items is filled. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_weave(const struct cs_scene *scene,
					   const struct cs_py_native *native,
					   const struct cs_py_strand *strands, size_t n,
					   struct cs_weave *ret);

#endif
