/* SPDX-License-Identifier: GPL-3.0-or-later */
/** corescan signatures list|show|lint|test */
#ifndef CS_CLI_SIGNATURES_COMMAND_H
#define CS_CLI_SIGNATURES_COMMAND_H

#include "cli/options.h"

/** List or show signatures, check their files, or test them with cases. */
enum cs_exit cs_command_signatures(const struct cs_cli *cli);

#endif
