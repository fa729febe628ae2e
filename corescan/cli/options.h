/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The command line. One table describes every option; parsing, --help and the tests of
 * the man page all come from it.
 */
#ifndef CS_CLI_OPTIONS_H
#define CS_CLI_OPTIONS_H

#include "base/error.h"
#include "base/vec.h"
#include "corescan/analysis.h"

#include <stdio.h>

enum cs_command {
	CS_COMMAND_ANALYZE,
	CS_COMMAND_DOCTOR,
	CS_COMMAND_MATCH,
	CS_COMMAND_SIGNATURES,
	CS_COMMAND_HELP,
	CS_COMMAND_VERSION
};

enum cs_when { CS_WHEN_AUTO, CS_WHEN_ALWAYS, CS_WHEN_NEVER };

/** Exit status; the same for every command, and fixed. */
enum cs_exit {
	CS_EXIT_OK = 0, /* nothing is known to be missing */
	CS_EXIT_INCOMPLETE =
		1, /* a report with errors among its diagnostics; doctor: no core */
	CS_EXIT_USAGE = 2,
	CS_EXIT_NOTHING = 3, /* nothing could be said, or it could not be written */
	CS_EXIT_LIMIT = 4,   /* stopped by a limit of time or memory */
};

struct cs_cli {
	enum cs_command command;
	bool json, markdown, threads, modules, all, python, quiet;
	enum cs_when color;
	const char *output; /* --output; NULL: standard output */
	const char *records; /* --records; NULL: not given */
	int pid;            /* --pid; 0: not given */
	struct cs_options
		analysis; /* lib_paths and debug_dirs point into the vectors below */
	CS_VEC(const char *) lib_paths;
	CS_VEC(const char *) debug_dirs;
	char *const *operands; /* core files, or a command's own words; in argv */
	size_t n_operands;
	CS_VEC(char *) owned; /* texts that do not lie in argv */
};

/**
 * Read the command line into @ret, which is zeroed first. argv is permuted; @ret points
 * into it. Errors: ARGUMENT (the message names the option and says what to do), NOMEM.
 * @ret is for cs_cli_deinit() in any case.
 */
CS_MUST_CHECK struct cs_error *cs_cli_parse(int argc, char **argv, struct cs_cli *ret);
void cs_cli_deinit(struct cs_cli *cli);

/** Usage, commands, options, exit status: for --help. */
void cs_cli_help(FILE *out);

/** The n-th long option's name, for tests; NULL after the last. */
const char *cs_cli_option_name(size_t n);

#endif
