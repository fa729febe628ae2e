/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The CPython runtimes of a process, and their frames woven into the native stacks.
 *
 * A thread whose Python frames cannot be read keeps its native ones, and the other way round.
 */
#ifndef CS_PYTHON_PYTHON_H
#define CS_PYTHON_PYTHON_H

#include "crash/crash.h"
#include "python/frames.h"

/** One thread as the unwinder left it; nothing is owned. */
struct cs_py_native {
	const struct cs_regs *regs;
	const struct cs_raw_stack *raw;
};

enum cs_woven_kind {
	CS_WOVEN_NATIVE, /* raw frame number `native` */
	CS_WOVEN_LOOP,   /* the same, and it is the evaluation loop of the Python frames before it */
	CS_WOVEN_PYTHON,
	CS_WOVEN_GAP,    /* what comes next has no known place; `text` says why */
};

/** One frame of a weave. Deep recursion makes a million of them, so it is small. */
struct cs_woven {
	uint8_t kind;    /* enum cs_woven_kind */
	bool entry;      /* PYTHON: the outermost frame of its evaluation loop's call */
	uint16_t strand; /* PYTHON: whose frame it is */
	uint32_t index;  /* NATIVE, LOOP: of the raw frame; PYTHON: of the strand's frame; GAP: of the text */
};

/** The frames of one thread state. */
struct cs_woven_strand {
	const struct cs_py *py; /* owned by the pythons, and so are the frames */
	const struct cs_py_frame *frames;
};

/** One thread's frames, innermost first, native and Python. n == 0: it never entered Python. */
struct cs_weave {
	CS_VEC(struct cs_woven) items;           /* owned */
	CS_VEC(struct cs_woven_strand) strands;  /* owned */
	CS_VEC(const char *) texts;              /* of the gaps; owned, the texts are not */
	struct cs_python_thread *thread; /* in the arena; NULL: not known to any interpreter */
};

/** The frame of a PYTHON item. */
CS_UNUSED static inline const struct cs_py_frame *cs_woven_frame(const struct cs_weave *w,
								 const struct cs_woven *item)
{
	return &w->strands.v[item->strand].frames[item->index];
}

struct cs_pythons;

/**
 * Find every runtime, read it, and weave. @natives has one entry for each of the target's threads, in
 * order. Model parts are put into @ret and live in the scene's arena. No runtime at all is a success.
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_pythons_read(const struct cs_scene *scene,
					       const struct cs_py_native *natives, size_t n,
					       struct cs_analysis *ret, struct cs_pythons **pythons_ret);
void cs_pythons_destroy(struct cs_pythons *pythons);
CS_DEFINE_CLEANUP(struct cs_pythons *, cs_pythons_destroy)

/** True if @module holds a runtime that was found. */
bool cs_pythons_own(const struct cs_pythons *pythons, const struct cs_module *module);

/**
 * The Python exception with these references, which native code keeps: @type and @traceback may be 0, @value
 * need not be an exception yet. *@ret is NULL if there is none such. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_pythons_exception(const struct cs_pythons *pythons, uint64_t type,
						    uint64_t value, uint64_t traceback,
						    const struct cs_exception **ret);

/** The weave of thread number @i; valid as long as @pythons. */
const struct cs_weave *cs_pythons_weave(const struct cs_pythons *pythons, size_t i);

#endif
