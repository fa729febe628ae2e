/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Between the files of the crash layer. */
#ifndef CS_CRASH_INTERNAL_H
#define CS_CRASH_INTERNAL_H

#include "base/strbuf.h"
#include "crash/crash.h"
#include "symbols/disasm.h"

/** The signal that is explained: the fatal one, or the one that a handler raised again.
 */
struct cs_incident {
	const struct cs_scene *scene;
	const struct cs_regs *regs;    /* where the signal struck */
	const struct cs_frame *frames; /* the same place's stack, innermost first */
	size_t n_frames;
	const struct cs_raw_stack *stack; /* NULL: not known */
	size_t raw_first; /* index in it of the place's innermost frame */
	int32_t tid;
	int signo, code;
	bool has_siginfo;
	uint64_t address; /* si_addr */
	uint64_t pc, sp;  /* 0: not known */
	bool has_insn;
	struct cs_insn insn;
};

/** Classify a SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP or SIGSYS; fills fault, address,
 * access and summary. */
void cs_fault_explain(const struct cs_incident *in, struct cs_crash *ret);

/**
 * Explain an abort(): who called it, and the last words that the C library kept.
 * @ret->summary, message and message_source are set.
 */
void cs_abort_explain(const struct cs_incident *in, struct cs_crash *ret);

/** What other runtimes said before they called abort(): sets @ret->message and message_source. False:
 * nothing that is known. */
bool cs_panic_find(const struct cs_incident *in, struct cs_crash *ret);

/** The text in the C library's __abort_msg; NULL if there is none. In the scene's arena.
 */
const char *cs_abort_message(const struct cs_scene *scene);

/** What a signal handler was called for. */
struct cs_original {
	const struct cs_regs *regs; /* where it struck */
	size_t first; /* index in the group's frames of the interrupted frame */
	size_t raw_first; /* and in the raw stack */
	int signo, code;
	uint64_t address;
};

/**
 * The fault or abort() behind signal @final, which a handler on @stack raised. False if
 * no frame of @stack was interrupted by one.
 */
CS_MUST_CHECK bool cs_original_find(const struct cs_scene *scene,
				    const struct cs_raw_stack *stack,
				    const struct cs_stack_group *group, int final,
				    struct cs_original *ret);

/**
 * A handler whose own signal is blocked while it runs raises it in vain: it is delivered
 * when the handler returns, at the faulting instruction, as one that the process sent
 * itself (linux: kernel/signal.c, signals pending). True if the instruction at hand is
 * bound to cause @in's signal; its code and address are set then.
 */
CS_MUST_CHECK bool cs_original_here(struct cs_incident *in);

/** Take @in to @regs: pc, sp, and the instruction there unless it lies where nothing can
 * be executed. */
void cs_incident_set_registers(struct cs_incident *in, const struct cs_regs *regs);

/** True for the signals that a processor's trap ends in. */
bool cs_signal_is_fault(int signo);

/** Frames at the incident's start that only carry a raise() or abort() out. */
size_t cs_abort_frames(const struct cs_incident *in);

/** True for functions that send a signal to their own process: raise(), abort() and their
 * inner parts. */
bool cs_function_raises(const char *function);

/** The frame that struck: the first after @skip that is no signal frame; NULL: none. */
const struct cs_frame *cs_incident_frame(const struct cs_incident *in, size_t skip);
/**
 * Where the incident is, for a summary: " in f()", " near f()", " in libx.so+0x12" or "".
 * The first
 * @skip frames are passed over. In the arena; never NULL.
 */
const char *cs_incident_place(const struct cs_incident *in, size_t skip);

/** The short form of a frame's function; NULL: not known. */
const char *cs_frame_name(const struct cs_frame *frame);

/** True if environment variable @name (of @len bytes) may be shown. */
bool cs_variable_is_shown(const char *name, size_t len);

#endif
