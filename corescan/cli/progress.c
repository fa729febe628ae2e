/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A progress line. Knows time and terminals; whoever works says what it does and how far
 * it is. */
#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define FIRST_MS 500 /* shorter work needs no progress */
#define EACH_MS 100
#define ERASE "\r\033[K"

static int64_t ms_since(const struct timespec *then, const struct timespec *now)
{
	return (int64_t)(now->tv_sec - then->tv_sec) * 1000 +
	       (now->tv_nsec - then->tv_nsec) / 1000000;
}

void cs_progress_begin(struct cs_progress *progress, FILE *out, bool quiet)
{
	const char *term = getenv("TERM");
	bool can = !quiet && isatty(fileno(out)) && term && *term && strcmp(term, "dumb");

	*progress = (struct cs_progress){.out = can ? out : NULL};
	clock_gettime(CLOCK_MONOTONIC, &progress->start);
	progress->shown = progress->start;
}

void cs_progress_update(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct cs_progress *progress = arg;
	struct timespec now;

	if (!progress->out)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (ms_since(&progress->start, &now) < FIRST_MS ||
	    ms_since(&progress->shown, &now) < EACH_MS)
		return;
	progress->shown = now;
	progress->visible = true;
	if (total)
		fprintf(progress->out, ERASE "corescan: %.40s %u %%", what,
			(unsigned)((double)CS_MIN(done, total) / (double)total * 100));
	else
		fprintf(progress->out, ERASE "corescan: %.40s %" PRIu64 " MB", what,
			done / 1000000);
	fflush(progress->out);
}

void cs_progress_end(struct cs_progress *progress)
{
	if (!progress->visible)
		return;
	fputs(ERASE, progress->out);
	fflush(progress->out);
	progress->visible = false;
}
