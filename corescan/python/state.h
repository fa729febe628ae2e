/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Inside the python layer: one runtime with its interpreters and thread states, and the readers that fill
 * in what each knows. Every reader fails softly: what it cannot read stays empty.
 */
#ifndef CS_PYTHON_STATE_H
#define CS_PYTHON_STATE_H

#include "python/frames.h"
#include "python/plumbing.h"

#define CS_PY_NO_THREAD SIZE_MAX

struct cs_py_native;

struct cs_py_interp {
	uint64_t address;
	int64_t id; /* 0: the main one; -1: not readable */
};

/** A PyThreadState. */
struct cs_py_state {
	uint64_t address;
	size_t interp; /* index into cs_py_process.interps */
	uint64_t thread_id; /* pthread_self() of its thread, as it says */
	uint64_t native_thread_id; /* 3.11+; else 0 */
	size_t thread; /* index of the target's thread; CS_PY_NO_THREAD: it has none (any more) */
	int32_t tid;   /* of that thread; 0: none */
	bool own_id;   /* thread_id is that thread's; false for a subinterpreter that was lent to it */
	struct cs_py_chain chain; /* owned */
	struct cs_python_thread *model; /* in the arena; zeroed until the readers fill it in */
};

/** One runtime, read. */
struct cs_py_process {
	struct cs_py py;
	struct cs_py_codes *codes; /* owned */
	CS_VEC(struct cs_py_interp) interps; /* owned */
	CS_VEC(struct cs_py_state) states;   /* owned */
	struct cs_python_runtime model;
};

CS_VEC_TYPE(cs_py_exceptions, struct cs_exception);
CS_VEC_TYPE(cs_py_tasks, struct cs_python_task);
CS_VEC_TYPE(cs_py_greenlets, struct cs_python_greenlet);

/* ---- finding runtimes (runtime.c, search.c) ---- */

/** Where a runtime was found. */
struct cs_py_found {
	struct cs_mod *module;  /* NULL: not known */
	uint64_t runtime;       /* address of _PyRuntime; 3.6: of interp_head */
	uint64_t interp;        /* head of the list of interpreters; 0: to be read from the runtime */
	struct cs_py_layout layout;
	const char *how;        /* in the arena */
};

/** Runtimes for which no symbol was found: the cookie of 3.13+, then the shape of the structures. */
CS_MUST_CHECK struct cs_error *cs_py_search(const struct cs_scene *scene, struct cs_py_found *found,
					    size_t max, size_t *n);

/** True if @interp looks like a PyInterpreterState: its thread states point back to it. */
bool cs_py_interp_plausible(const struct cs_py *py, uint64_t interp);

/* ---- what is known beside the frames ---- */

/** Names, daemon flags and the main thread out of threading._active; into the states' models. */
void cs_py_names_read(struct cs_py_process *p);
/** Who holds the GIL, who waits for it, who collects garbage; into the models of states and runtime. */
void cs_py_gil_read(struct cs_py_process *p);
/**
 * Once the GIL is read: where garbage is collected, the thread whose native stack has the collector's lists
 * on it is the one. A finalizer can let the GIL go, and then who has it is not who collects. @natives as
 * for cs_pythons_read().
 */
void cs_py_collectors_confirm(struct cs_py_process *p, const struct cs_py_native *natives);
/**
 * True if a thread whose @n innermost native functions these are waits for the GIL: take_gil() in a wait on
 * a condition, also where it was inlined or has no name (NULL). Innermost first, without parameters.
 */
bool cs_py_waits_for_gil(const char *const *functions, size_t n);
/** Pending and handled exceptions of all states, tracebacks and causes included. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_exceptions_read(struct cs_py_process *p,
						     struct cs_py_exceptions *ret);
/** One exception by its parts, as a thread state has them; false in *@found: it is none. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_exception_read(struct cs_py_process *p, uint64_t type, uint64_t value,
						    uint64_t traceback, struct cs_exception *ret,
						    bool *found);
/** All asyncio tasks that are not done. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_tasks_read(struct cs_py_process *p, struct cs_py_tasks *ret);
/** All greenlets that do not run. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_greenlets_read(struct cs_py_process *p,
						    struct cs_py_greenlets *ret);
/** Values of the locals of @frame into @model. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_locals_read(const struct cs_py *py,
						 const struct cs_py_frame *frame,
						 struct cs_frame *model);

/* ---- native frames that only carry Python calls (plumbing.c) ---- */

/**
 * The Python name of a Cython function's C name ("__pyx_pw_5model_7Encoder_3forward" is
 * "model.Encoder.forward"), in the arena; NULL: it is none.
 */
const char *cs_py_cython_name(struct cs_arena *arena, const char *function);
/**
 * True if @inner is the body of the function whose wrapper @outer is ("__pyx_pf_5model_6f" called by
 * "__pyx_pw_5model_7f"): where the two are neighbours, they are one frame, under the name of @outer.
 */
bool cs_py_cython_same(const char *inner, const char *outer);

#endif
