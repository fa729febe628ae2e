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

/** Weave the frames of @strands into @native; @ret gets all but its thread. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_weave(const struct cs_scene *scene,
					   const struct cs_py_native *native,
					   const struct cs_py_strand *strands, size_t n,
					   struct cs_weave *ret);
void cs_weave_deinit(struct cs_weave *weave);

#endif
