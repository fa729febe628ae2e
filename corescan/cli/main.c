/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program: reads its command line and runs one command. */
#include "cli/analyze_command.h"
#include "cli/doctor.h"
#include "cli/match_command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/signatures_command.h"

static int run(const struct cs_cli *cli)
{
	switch (cli->command) {
	case CS_COMMAND_HELP:
		cs_cli_help(stdout);
		break;
	case CS_COMMAND_VERSION:
		puts("corescan " CORESCAN_VERSION);
		break;
	case CS_COMMAND_DOCTOR:
		return (int)cs_command_doctor(cli);
	case CS_COMMAND_MATCH:
		return (int)cs_command_match(cli);
	case CS_COMMAND_SIGNATURES:
		return (int)cs_command_signatures(cli);
	case CS_COMMAND_ANALYZE:
		return (int)cs_command_analyze(cli);
	}
	return fflush(stdout) ? CS_EXIT_NOTHING : CS_EXIT_OK;
}

int main(int argc, char **argv)
{
	struct cs_cli cli;
	struct cs_error *err;
	int status;

	cs_output_prepare_process();
	err = cs_cli_parse(argc, argv, &cli);
	if (err) {
		cs_output_complain(NULL, err);
		status = cs_error_code(err) == CS_ERR_NOMEM ? CS_EXIT_NOTHING
							    : CS_EXIT_USAGE;
	} else {
		status = run(&cli);
	}
	cs_error_destroy(err);
	cs_cli_deinit(&cli);
	return status;
}
