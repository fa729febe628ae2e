/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What somebody reported of a process, out of text: the output of a debugger or of a dumper of stacks, a log,
 * or all of these after one another, as people paste them. The text may be anybody's.
 *
 * A report says only what its text says. What it lacks may have been there.
 */
#ifndef CS_PASTE_PASTE_H
#define CS_PASTE_PASTE_H

#include "base/arena.h"

#include <stdio.h>

enum cs_paste_kind {
	CS_PASTE_UNKNOWN,
	CS_PASTE_CRASH,
	CS_PASTE_HANG, /* it was looked at, and did not die */
	CS_PASTE_OOM,  /* it was killed for want of memory */
};

/** How a message bears on the end. */
enum cs_paste_weight {
	CS_PASTE_FINAL,   /* of what ended the process, or not known */
	CS_PASTE_KEPT,    /* of an exception that was kept, or is another thread's */
	CS_PASTE_HANDLED, /* of one that is being handled: the program may go on */
};

struct cs_paste_frame {
	const char *function; /* as printed, without the values of arguments; NULL: not known */
	const char *library;  /* its file's name without folders; NULL: not known */
	const char *file;     /* source file, as printed; NULL: not known */
	uint32_t line;        /* 0: not known */
	bool python;
	int64_t number; /* the text's own; -1: it has none */
};

struct cs_paste_thread {
	int32_t tid;      /* LWP, native id; 0: not known */
	uint32_t ordinal; /* gdb's "Thread 3"; 0: none */
	const char *name; /* NULL: not known, as `role` */
	const char *role;
	bool crashed; /* the text says so */
	bool main;
	bool holds_gil, waits_for_gil; /* false: not known */
	bool deadlocked, orphaned; /* a record says so; see signature/facts.h */
	const struct cs_paste_frame *frames; /* innermost first; Python and native ones as they were woven */
	size_t n_frames;
};

/** "torch" "2.6.0", "RANK" "6". */
struct cs_paste_pair {
	const char *name, *value;
};

struct cs_paste {
	const char *source; /* where it is from, as the text says: a heading, a file, "[rank3]" */
	const char *format; /* of its stacks, the first: "gdb", "py-spy", ...; "log": it has none */
	size_t line, n_lines; /* where its text stands in the input, from 1 */
	enum cs_paste_kind kind;
	const char *signal; /* "SIGSEGV"; NULL: not known */
	bool has_exit;
	int32_t exit; /* status as a shell or a launcher tells it, negative for a signal */
	int32_t pid;  /* 0: not known */
	const struct cs_paste_thread *threads;
	size_t n_threads;
	const char *const *messages; /* errors, exceptions, last words; may have many lines each */
	size_t n_messages;
	const enum cs_paste_weight *weights; /* of each message; NULL: all are CS_PASTE_FINAL */
	const char *const *modules; /* a list of what is loaded; NULL: the text has none */
	size_t n_modules;
	const struct cs_paste_pair *versions, *environment;
	size_t n_versions, n_environment;
	const char *const *facts; /* words of signature/facts.h that the text gives itself */
	size_t n_facts;
	bool explained; /* these say what kind of fault it was: it need not be guessed from stacks */
	size_t dropped; /* lines, frames, threads for which there was no room */
};

/** Is given each report when its text ends; @paste is valid during the call. An error ends the reading. */
typedef struct cs_error *cs_paste_fn(void *arg, const struct cs_paste *paste);

/**
 * Read all reports in @in. Where text of several processes or ranks is mixed line by line and the lines say
 * whose they are, each gets its own; reports come in the order in which they end.
 *
 * Errors: FORMAT (it is a core, or compressed), OS, NOMEM, and those of @fn. Text that says nothing gives no
 * report, which is no error.
 */
CS_MUST_CHECK struct cs_error *cs_paste_read(FILE *in, cs_paste_fn *fn, void *arg);

#endif
