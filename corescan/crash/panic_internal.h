/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Between the files that read last words: the stack of an abort() as bytes, frame by frame. */
#ifndef CS_CRASH_PANIC_INTERNAL_H
#define CS_CRASH_PANIC_INTERNAL_H

#include "base/limits.h"
#include "crash/internal.h"
#include "crash/panic.h"

/** One frame of the machine, with the frames that it has in the report. */
struct cs_panic_frame {
	uint64_t pc;        /* where execution was: for callers the return address */
	uint64_t low, high; /* its part of the stack, [low, high) */
	const struct cs_frame *frames; /* inlined calls first, its own one last; NULL: none */
	size_t n;
};

struct cs_panic {
	const struct cs_incident *in;
	struct cs_panic_frame frames[CS_MAX_ABORT_FRAMES]; /* innermost first */
	size_t n;
	size_t first;          /* of the frames: the one that called abort() */
	uint64_t low;          /* address of words[0], a multiple of 8 */
	const uint64_t *words; /* the stack from the innermost frame on; in the arena */
	size_t n_words;
};

/** The frame in the report of @frame itself, not of what is inlined into it; NULL: none. */
const struct cs_frame *cs_panic_own(const struct cs_panic_frame *frame);

/** True if @frame, or a call inlined into it, is of a function for which @is answers true. */
bool cs_panic_any(const struct cs_panic_frame *frame, bool (*is)(const char *function));

/** Index in words[] of address @at, clipped to [0, n_words]. */
size_t cs_panic_word(const struct cs_panic *p, uint64_t at);

/** True if @len bytes can be shown as a message: UTF-8 without control characters but space. */
bool cs_panic_is_text(const char *bytes, size_t len);

/** The NUL-terminated text at @at, at most CS_MAX_PANIC_TEXT bytes and not empty, without line ends at its
 * end; NULL: there is no text. In the arena. */
const char *cs_panic_text(const struct cs_panic *p, uint64_t at);

/** The same of @len bytes, which may be none; NULL: it is no text. */
const char *cs_panic_text_of(const struct cs_panic *p, uint64_t at, uint64_t len);

/**
 * Value of pointer argument @arg (0: the first) in the call that frame @callee was entered by, as far as code
 * tells: a constant that the caller, or one of its callers, hands over.
 */
CS_MUST_CHECK bool cs_panic_argument(const struct cs_panic *p, size_t callee, unsigned arg,
				     uint64_t *ret);

/* Each sets message and message_source of @ret and returns true if it finds a text of its kind. */
bool cs_panic_python(const struct cs_panic *p, struct cs_crash *ret);
bool cs_panic_rust(const struct cs_panic *p, struct cs_crash *ret);
bool cs_panic_log(const struct cs_panic *p, struct cs_crash *ret);

#endif
