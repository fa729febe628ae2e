/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Raw stacks of all threads turned into the model's groups, frames and threads. */
#ifndef CS_STACKS_H
#define CS_STACKS_H

#include "crash/crash.h"
#include "unwind/unwind.h"

/** One thread's unwinding, in the order of the target's threads. */
struct cs_thread_stack {
	struct cs_regs regs;
	struct cs_raw_stack raw; /* owned */
	size_t group;            /* index of its group, once grouped */
};

/**
 * Group equal stacks, fold recursion, symbolize all distinct addresses at once and fill in groups and
 * threads of @ret.
 *
 * @stacks   one for each of the target's threads; `group` is set, the rest not changed
 * @crashed  index of the crashed thread; the number of threads if none did
 *
 * Everything put into @ret is in @scene->arena. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_stacks_build(const struct cs_scene *scene,
					       struct cs_thread_stack *stacks, size_t crashed,
					       struct cs_analysis *ret);

#endif
