/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What waits for what in asyncio: futures, tasks, and the coroutines that a task is suspended through.
 */
#ifndef CS_PYTHON_AWAIT_H
#define CS_PYTHON_AWAIT_H

#include "python/state.h"

/** asyncio as one interpreter has it, and where the objects of its C module keep their fields. */
struct cs_py_asyncio {
	const struct cs_py_process *p;
	const struct cs_py *py; /* of the process */
	uint64_t interp;        /* address of the interpreter */
	uint64_t c_future, c_task; /* types _asyncio.Future and _asyncio.Task; 0: not there */
	/* Byte offsets, or CS_ABSENT. */
	int32_t future_loop, future_state;
	int32_t task_waiter, task_coro, task_name, task_node;
	int32_t interp_tasks, tstate_tasks, tstate_running;
};

/** A future or task, of the C module or written in Python. */
struct cs_py_future {
	bool task;
	bool pending;
	uint64_t loop;   /* 0: not known */
	uint64_t coro;   /* of a task; 0: not known */
	uint64_t name;   /* of a task: str or int object; 0: it has none (3.6, 3.7) */
	uint64_t waiter; /* the future that a task waits for; 0: none */
};

/** False: @object is neither a future nor a task. */
CS_MUST_CHECK bool cs_py_future_read(const struct cs_py_asyncio *a, uint64_t object,
				     struct cs_py_future *ret);
/** Name of a task, in the arena; NULL: it has none. */
const char *cs_py_task_name(const struct cs_py_asyncio *a, const struct cs_py_future *task);
/** Qualified name of a coroutine or generator, else its type's name; in the arena; NULL: not known. */
const char *cs_py_coroutine_name(const struct cs_py_asyncio *a, uint64_t coro);

/** What a coroutine is suspended through. */
struct cs_py_await {
	CS_VEC(struct cs_py_frame) frames; /* outermost first; owned */
	uint64_t last; /* what the innermost frame waits for, no coroutine itself; 0: not known */
	const char *broken; /* why inner frames are missing; NULL: none */
	bool running;  /* it is not suspended: the frames are those on the thread's stack */
	int32_t tid;   /* of the thread that runs it; 0: none, or not known */
};
void cs_py_await_deinit(struct cs_py_await *await);

/** From coroutine (generator, ...) @coro on inwards. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_await_read(const struct cs_py_asyncio *a, uint64_t coro,
						struct cs_py_await *ret);

/**
 * In a few words what a task waits for, in the arena; NULL: not known. @waiter is its future, or 0.
 * @task_ret becomes the task that it waits for, or 0.
 */
const char *cs_py_await_text(const struct cs_py_asyncio *a, const struct cs_py_await *await,
			     uint64_t waiter, uint64_t *task_ret);

#endif
