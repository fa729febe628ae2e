/* SPDX-License-Identifier: GPL-3.0-or-later */
/** corescan match --records FILE */
#ifndef CS_CLI_MATCH_COMMAND_H
#define CS_CLI_MATCH_COMMAND_H

#include "cli/options.h"

/** Match every record of the file, and print what fits it as one line of JSON. */
enum cs_exit cs_command_match(const struct cs_cli *cli);

#endif
