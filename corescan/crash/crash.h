/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What killed the process, and in what context: signal, fault class, faulting
 * instruction, last words, command line, environment, versions, the roles of threads.
 */
#ifndef CS_CRASH_CRASH_H
#define CS_CRASH_CRASH_H

#include "core/core.h"
#include "corescan/analysis.h"
#include "symbols/modules.h"
#include "unwind/unwind.h"

/** What the functions below look at; nothing is owned. */
struct cs_scene {
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_modules *modules;
	const struct cs_arch *arch;
	struct cs_arena *arena; /* receives all strings */
	struct cs_diags *diags;
};

/**
 * Fill @ret from the crashed thread: @regs are its registers as saved, @stack its raw
 * stack and @group its symbolized frames (NULL, NULL, NULL when no thread crashed). Sees
 * through a re-raised signal: where the thread died in raise() or kill() under a signal
 * frame, the facts are those of the interrupted frame. Never fails: what is not known
 * stays empty.
 */
void cs_crash_explain(const struct cs_scene *scene, const struct cs_regs *regs,
		      const struct cs_raw_stack *stack,
		      const struct cs_stack_group *group, struct cs_crash *ret);

/** Command line, environment (allow-list, secrets masked), ranks, ids, times. Never
 * fails. */
void cs_process_describe(const struct cs_scene *scene, struct cs_process *ret);

/** One thread of the target. */
struct cs_wait_thread {
	const struct cs_regs *regs;
	const struct cs_raw_stack *raw;
};

/** What the answer to "who waits for whom" is made from; nothing is owned. */
struct cs_wait_input {
	const struct cs_scene *scene;
	const struct cs_wait_thread *threads; /* in the order of the target's */
};

/**
 * Fill in what each thread of @ret waits for, and which wait for one another. Threads, their groups and
 * what the interpreter knows of them must be there. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_waits_read(const struct cs_wait_input *in,
					     struct cs_analysis *ret);

/**
 * True if function @name of the C library is one of the @n of @list, written without leading underscores:
 * "pthread_mutex_lock" is also "__GI___pthread_mutex_lock" and "pthread_mutex_lock@@GLIBC_2.2.5".
 */
bool cs_libc_name_is(const char *name, const char *const *list, size_t n);

/** Versions that modules and memory tell; @ret is in the arena. Never fails. */
void cs_versions_read(const struct cs_scene *scene, const struct cs_version **ret,
		      size_t *ret_n);

/**
 * @text with what looks like a secret replaced by "***": passwords in URLs, values that have the form of
 * well-known tokens, and what a name of a secret is given in code, a query, a header or a dict
 * ("api_key='...'"). @text itself if there is nothing to hide. NULL on exhaustion.
 */
const char *cs_mask_value(struct cs_arena *arena, const char *text);

/** True if a variable or an option of this name holds a secret ("HF_TOKEN", "--api-key").
 */
bool cs_name_is_secret(const char *name, size_t len);

/** Role of a thread by the functions of its stack ("openmp-worker"), or NULL. A literal.
 */
const char *cs_thread_role(const struct cs_stack_group *group, bool is_main);

/** "SIGSEGV" for 11; NULL if there is no such signal. */
const char *cs_signal_name(int signo);
/** "SEGV_MAPERR" for (11, 1); NULL if not known. */
const char *cs_signal_code_name(int signo, int code);

#endif
