/* SPDX-License-Identifier: GPL-3.0-or-later */
/** A fingerprint as JSON: the same for a report, a pasted text and a record. */
#ifndef CS_REPORT_JSON_FINGERPRINT_H
#define CS_REPORT_JSON_FINGERPRINT_H

#include "corescan/analysis.h"
#include "report/json_build.h"

/** For cs_json_set() or cs_json_member(); null where none was made. */
json_t *cs_json_fingerprint(struct cs_json *j, const struct cs_fingerprint *fingerprint);

#endif
