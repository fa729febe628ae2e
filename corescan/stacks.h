/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Raw stacks of all threads turned into the model's groups, frames and threads. */
#ifndef CS_STACKS_H
#define CS_STACKS_H

#include "crash/crash.h"
#include "python/python.h"
#include "unwind/unwind.h"

/** One thread's unwinding, in the order of the target's threads. */
struct cs_thread_stack {
	struct cs_regs regs;
	struct cs_raw_stack raw; /* owned */
	size_t group;            /* index of its group, once grouped */
};

/** What stacks are built from; nothing is owned. */
struct cs_stack_input {
	const struct cs_scene *scene;
	struct cs_thread_stack *stacks; /* one a thread; `group` is set, the rest not changed */
	size_t crashed; /* index of the crashed thread; the number of threads if none did */
	const struct cs_pythons *pythons;
	bool locals; /* values of Python frames' locals: then no two Python stacks are equal */
	bool source; /* source lines of Python frames */
	const char *sysroot;
};

/**
 * Group equal stacks, fold recursion, symbolize all distinct addresses at once and fill in groups and
 * threads of @ret. Everything put into @ret is in the scene's arena. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_stacks_build(const struct cs_stack_input *input,
					       struct cs_analysis *ret);

#endif
