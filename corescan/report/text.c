/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text report: the order of its sections. What happened comes first and must fit on
 * one screen; what is only looked up comes last.
 */
#include "report/text_sections.h"

#include <errno.h>

struct cs_error *cs_report_text(const struct cs_analysis *a,
				const struct cs_text_options *options, FILE *out)
{
	struct cs_text t = {.out = out, .options = options};

	cs_text_crash(&t, a);
	cs_text_findings(&t, a);
	cs_text_fingerprint(&t, &a->fingerprint);
	cs_text_crashed_stack(&t, a);
	CS_TRY(cs_text_exceptions(&t, a));
	CS_TRY(cs_text_threads(&t, a));
	CS_TRY(cs_text_tasks(&t, a));
	cs_text_process(&t, a);
	cs_text_core(&t, a);
	CS_TRY(cs_text_modules(&t, a));
	cs_text_diagnostics(&t, a);
	errno = 0;
	if (fflush(out) || ferror(out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return NULL;
}
