/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Findings as JSON: the same for a report and for a record. */
#ifndef CS_REPORT_JSON_FINDINGS_H
#define CS_REPORT_JSON_FINDINGS_H

#include "corescan/analysis.h"
#include "report/json_build.h"

/** The array of @n findings; for cs_json_set() or cs_json_member(). */
json_t *cs_json_findings(struct cs_json *j, const struct cs_finding *findings, size_t n);

#endif
