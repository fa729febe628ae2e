/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Where a report goes, and how it may look there. */
#ifndef CS_CLI_OUTPUT_H
#define CS_CLI_OUTPUT_H

#include "cli/options.h"

struct cs_output {
	FILE *stream;     /* owned if it is not stdout */
	const char *path; /* for messages */
	bool color;
	unsigned width; /* columns; 0: not a terminal */
};

/**
 * Make sure that descriptors 0, 1 and 2 are open, so that no file of ours gets one of
 * them and has a report written into it, and that a reader who goes away is an error of
 * writing and not a signal.
 */
void cs_output_prepare_process(void);

/** Open what --output names, or standard output. Errors: OS, NOMEM. */
CS_MUST_CHECK struct cs_error *cs_output_open(const struct cs_cli *cli,
					      struct cs_output *ret);
/** Flush and close. Errors: OS. */
CS_MUST_CHECK struct cs_error *cs_output_close(struct cs_output *output);

/** A command's work: writes to @output, and says in @status how it went. */
typedef struct cs_error *cs_output_fn(const struct cs_cli *cli, struct cs_output *output,
				      enum cs_exit *status);

/**
 * Open the output, run @work, close the output. An error of any of them is told on
 * standard error, the first one only, and decides the exit status: 2 where the command
 * line is to blame, else 3.
 */
enum cs_exit cs_output_run(const struct cs_cli *cli, cs_output_fn *work);

/** One line on standard error: "corescan: " and the error's message, made fit for a
 * terminal. */
void cs_output_complain(const char *path, const struct cs_error *err);

/** True when the reader of the report has gone away: no reason to complain. */
bool cs_output_reader_gone(const struct cs_error *err);

#endif
