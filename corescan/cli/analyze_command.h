/* SPDX-License-Identifier: GPL-3.0-or-later */
/** corescan CORE... */
#ifndef CS_CLI_ANALYZE_COMMAND_H
#define CS_CLI_ANALYZE_COMMAND_H

#include "cli/options.h"

/** Analyse and report every core of @cli, each as soon as it is done; the worst exit
 * status of all. */
enum cs_exit cs_command_analyze(const struct cs_cli *cli);

#endif
