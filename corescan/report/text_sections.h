/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The sections of the text report, in the order of the page. */
#ifndef CS_REPORT_TEXT_SECTIONS_H
#define CS_REPORT_TEXT_SECTIONS_H

#include "report/text_fold.h"
#include "report/text_out.h"

#define CS_NO_FRAME SIZE_MAX
#define CS_TEXT_MAX_VALUE                                                                \
	128 /* columns of a variable's value unless --all: py-spy's, too */

/** How much of a stack is shown. */
struct cs_frames_view {
	size_t head;        /* frames from the innermost */
	size_t tail;        /* frames up to the outermost */
	size_t marked;      /* index of the frame that is to blame, or CS_NO_FRAME */
	const char *broken; /* why Python frames are missing; NULL: they are not */
	/* The stack is also that of others, which differ only in frames of the
	 * interpreter. */
	bool like;
	uint64_t least_plumbing, most_plumbing; /* of those others */
};

/** What happened: the verdict and the facts that belong to it. */
void cs_text_crash(struct cs_text *t, const struct cs_analysis *a);

/** The known problem that fits, why, and what to do; that none does, where it crashed. */
void cs_text_findings(struct cs_text *t, const struct cs_analysis *a);
/** That none of so many fits. */
void cs_text_no_finding(struct cs_text *t, size_t n_signatures);

/** The fingerprint; with --all also what it was made of. Nothing where there is none. */
void cs_text_fingerprint(struct cs_text *t, const struct cs_fingerprint *f);

/** The words for an exception's state: "being handled"; NULL: none. */
const char *cs_text_exception_state(const struct cs_exception *e);
/** "ValueError: first line of its message (being handled)"; ends the line. */
void cs_text_exception_line(struct cs_text *t, const struct cs_exception *e);

/** The stack of the crashed thread; nothing when none crashed. */
void cs_text_crashed_stack(struct cs_text *t, const struct cs_analysis *a);

/** All other threads, folded by equal stacks. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_text_threads(struct cs_text *t,
					       const struct cs_analysis *a);

/** What Python raised, as its own tracebacks read. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_text_exceptions(struct cs_text *t,
						  const struct cs_analysis *a);
/** Equal exceptions of @a; as cs_text_folds_init(). Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_text_exceptions_fold(const struct cs_analysis *a,
						       struct cs_text_folds *ret);
/** "Thread 12 "MainThread" (being handled)", on the line that is open. */
void cs_text_exception_title(struct cs_text *t, const struct cs_analysis *a,
			     const struct cs_text_folds *folds, const struct cs_text_fold *fold);
/** @last with what led to it before it, tracebacks and texts. */
void cs_text_exception_chain(struct cs_text *t, const struct cs_exception *last);

/** asyncio tasks and greenlets, folded by equal chains. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_text_tasks(struct cs_text *t,
					     const struct cs_analysis *a);

void cs_text_process(struct cs_text *t, const struct cs_analysis *a);
void cs_text_core(struct cs_text *t, const struct cs_analysis *a);
CS_MUST_CHECK struct cs_error *cs_text_modules(struct cs_text *t,
					       const struct cs_analysis *a);
void cs_text_diagnostics(struct cs_text *t, const struct cs_analysis *a);

/* ---- shared by the sections ---- */

/** The thread that crashed, or NULL. */
const struct cs_thread *cs_text_crashed_thread(const struct cs_analysis *a);
/** Index of the frame of @group that a person should look at, or CS_NO_FRAME without
 * frames. */
size_t cs_text_blamed_frame(const struct cs_analysis *a,
			    const struct cs_stack_group *group);
/** "function at file:line (module)", on the line that is open. */
void cs_text_place(struct cs_text *t, const struct cs_frame *frame);
void cs_text_frames(struct cs_text *t, const struct cs_stack_group *group,
		    const struct cs_frames_view *view);
/** Frames of the interpreter that cs_text_frames() leaves out, as if nothing were folded.
 */
uint64_t cs_text_plumbing(const struct cs_stack_group *group);
/** `3097701 "worker-1" (openmp-worker), holds the GIL`, on the line that is open. */
void cs_text_thread_name(struct cs_text *t, const struct cs_analysis *a,
			 const struct cs_thread *thread);
/** The thread with that id; NULL: none, or @tid is 0. */
const struct cs_thread *cs_text_thread(const struct cs_analysis *a, int32_t tid);
/** The command, quoted where a shell would need it; further lines begin at the column it
 * begins at. */
void cs_text_command(struct cs_text *t, const struct cs_process *process);

#endif
