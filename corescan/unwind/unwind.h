/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Native stacks: a driver over steppers.
 *
 * A stepper finds a frame's caller by one method (CFI, libunwind, frame pointer, scan). The driver picks
 * the stepper and accepts a caller only if it is further out, its pc can be executed and it is not the
 * same frame again. Knows nothing of Python or of symbols' names.
 */
#ifndef CS_UNWIND_UNWIND_H
#define CS_UNWIND_UNWIND_H

#include "symbols/modules.h"

struct cs_raw_frame {
	uint64_t pc;
	uint64_t cfa;  /* 0: not known */
	uint8_t trust; /* enum cs_trust */
	/* pc is where execution was (innermost, or interrupted by a signal), not a return address */
	bool exact;
	bool signal;   /* the frame is a signal trampoline */
};

/** Registers of a frame that a signal interrupted, as the kernel saved them. */
struct cs_interrupted {
	size_t frame; /* index of the interrupted frame: the one after the trampoline */
	struct cs_regs regs;
	uint64_t frame_sp; /* sp in the trampoline: what the kernel wrote lies from there on */
	int signo; /* from the siginfo beside the ucontext; 0: not readable */
	int code;
	uint64_t address;
};
#define CS_MAX_INTERRUPTED 4 /* signal frames of one stack whose registers are kept */

struct cs_raw_stack {
	struct cs_raw_frame *frames; /* owned; innermost first */
	size_t n;
	enum cs_stop stop;
	uint64_t stop_address;  /* the pc or memory address at which it ended */
	struct cs_interrupted interrupted[CS_MAX_INTERRUPTED];
	size_t n_interrupted;
};

struct cs_unwinder;

/** Nothing given is owned; all must outlive the unwinder. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_unwinder_create(struct cs_mem *mem, struct cs_modules *modules,
						  const struct cs_arch *arch, uint64_t pac_mask,
						  struct cs_unwinder **ret);
void cs_unwinder_destroy(struct cs_unwinder *unwinder);

/**
 * The stack of a thread with innermost registers @regs. There is always at least one frame if the pc is
 * known; @ret->stop says why it ends. The caller ends @ret with cs_raw_stack_deinit().
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_unwind(struct cs_unwinder *unwinder, const struct cs_regs *regs,
					 struct cs_raw_stack *ret);
void cs_raw_stack_deinit(struct cs_raw_stack *stack);

CS_DEFINE_CLEANUP(struct cs_unwinder *, cs_unwinder_destroy)

#endif
