/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Progress of long work: one line on a terminal, which leaves no trace. */
#ifndef CS_CLI_PROGRESS_H
#define CS_CLI_PROGRESS_H

#include "base/util.h"

#include <stdio.h>
#include <time.h>

struct cs_progress {
	FILE *out; /* NULL: show nothing */
	struct timespec start, shown;
	bool visible;
};

/** Show progress on @out if it is a terminal that can erase a line, and not @quiet. */
void cs_progress_begin(struct cs_progress *progress, FILE *out, bool quiet);
/** A cs_progress_fn; @arg is the struct cs_progress. Shows nothing in the first half
 * second. */
void cs_progress_update(void *arg, const char *what, uint64_t done, uint64_t total);
/** Erase the line, if there is one. */
void cs_progress_end(struct cs_progress *progress);

#endif
