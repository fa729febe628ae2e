/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The threads, their frames and the groups of equal stacks, as JSON. */
#ifndef CS_REPORT_JSON_STACK_H
#define CS_REPORT_JSON_STACK_H

#include "corescan/analysis.h"
#include "report/json_build.h"

/** The members "threads" and "stack_groups" of the report. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_json_stacks(struct cs_json *j,
					      const struct cs_analysis *a);

#endif
