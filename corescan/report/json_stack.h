/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The threads, their frames and the groups of equal stacks, as JSON. */
#ifndef CS_REPORT_JSON_STACK_H
#define CS_REPORT_JSON_STACK_H

#include "corescan/analysis.h"
#include "report/json_build.h"

/** The members "threads" and "stack_groups" of the report. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_json_stacks(struct cs_json *j,
					      const struct cs_analysis *a);

/**
 * Set @key to the frames. Frames beyond CS_MAX_JSON_FRAMES of the whole report are left
 * out, which "frames_left_out": true says.
 */
void cs_json_set_frames(struct cs_json *j, json_t *object, const char *key,
			const struct cs_frame *frames, size_t n);

#endif
