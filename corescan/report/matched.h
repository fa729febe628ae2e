/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What is known of a report that somebody pasted, rendered as a report of a core is. */
#ifndef CS_REPORT_MATCHED_H
#define CS_REPORT_MATCHED_H

#include "paste/paste.h"
#include "report/report.h"

struct cs_matched {
	const struct cs_paste *paste;
	const char *path;     /* of the text; "-": standard input */
	size_t number;        /* of the report in all that is printed, from 1 */
	size_t n_signatures;  /* that were tried */
	const struct cs_finding *findings;
	size_t n_findings;
	size_t limits_hit; /* searches that ended at a limit: something may be missing */
	struct cs_fingerprint fingerprint;
};

/** For people. Errors: OS (the stream failed), NOMEM. */
CS_MUST_CHECK struct cs_error *cs_report_matched_text(const struct cs_matched *m,
						      const struct cs_text_options *options, FILE *out);
/** One JSON object on one line, with the fields of a core's report. Errors: OS, NOMEM. */
CS_MUST_CHECK struct cs_error *cs_report_matched_json(const struct cs_matched *m, FILE *out);

#endif
