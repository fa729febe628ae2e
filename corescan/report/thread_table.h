/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The threads of a process, sorted into the stacks that a reader can tell apart. */
#ifndef CS_REPORT_THREAD_TABLE_H
#define CS_REPORT_THREAD_TABLE_H

#include "base/util.h"
#include "report/text_out.h"

/** A person looks first at the main thread and at the one that all others wait for. */
enum cs_interest { CS_INTEREST_NATIVE, CS_INTEREST_PYTHON, CS_INTEREST_LEADING, CS_INTERESTS };

/** The threads that are shown with one stack, and how many of them are in which state. */
struct cs_thread_members {
	const struct cs_thread **threads; /* a part of the table's; n of them */
	size_t n;     /* 0: shown with another group */
	size_t room;  /* how many will come, while the table is filled */
	bool crashed; /* one of them is the crashed thread */
	bool names_differ;
	size_t holding, waiting, collecting, daemons, deadlocked;
	enum cs_interest interest; /* of the most interesting one */
	const char *broken;        /* of the first whose Python frames end early */
	size_t n_stacks; /* groups that differ only in what is hidden: all but the first have no members */
	uint64_t least_plumbing, most_plumbing; /* hidden frames of any of them */
};

/** By group of the analysis. */
struct cs_thread_table {
	struct cs_thread_members *groups; /* n_groups of them; owned */
	const struct cs_thread **threads; /* owned */
	size_t *shown_as; /* by group: the one that its threads are shown with; owned */
};

/**
 * Sort the threads of @a; without @every_frame stacks are equal that differ only in the interpreter's own
 * frames. @table is zeroed by the caller, and for cs_thread_table_deinit() in any case. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_thread_table_init(struct cs_thread_table *table,
						    const struct cs_analysis *a, bool every_frame);
void cs_thread_table_deinit(struct cs_thread_table *table);

/** The name that Python gave it, or the kernel's; NULL: none. */
const char *cs_thread_shown_name(const struct cs_thread *thread);

/**
 * Who @m are, on the line that is open: `Thread 12 "MainThread", holds the GIL` or
 * `9 threads "pool" (...): 1, 2`.
 */
void cs_text_threads_title(struct cs_text *t, const struct cs_analysis *a,
			   const struct cs_thread_members *m);

#endif
