/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The parts of the report for an issue. Each writes no more than its budget and says what it left out; a part
 * without anything to say writes nothing. Errors of all of them: NOMEM.
 */
#ifndef CS_REPORT_MARKDOWN_PARTS_H
#define CS_REPORT_MARKDOWN_PARTS_H

#include "report/markdown_out.h"

/** What killed it and which known problem it is: two sentences for whoever has never seen a core. */
CS_MUST_CHECK struct cs_error *cs_md_verdict(struct cs_md *m);
/** What to do about the first finding, and public reports of it. */
CS_MUST_CHECK struct cs_error *cs_md_finding(struct cs_md *m);
/** Command, rank, versions, machine. */
CS_MUST_CHECK struct cs_error *cs_md_versions(struct cs_md *m);
CS_MUST_CHECK struct cs_error *cs_md_exceptions(struct cs_md *m);
/** The crashed thread's stack, native and Python frames woven. */
CS_MUST_CHECK struct cs_error *cs_md_crashed_stack(struct cs_md *m);
/** Its Python frames alone. */
CS_MUST_CHECK struct cs_error *cs_md_python_stack(struct cs_md *m);
/** The findings after the first. */
CS_MUST_CHECK struct cs_error *cs_md_others(struct cs_md *m);
/** All other threads, folded up. */
CS_MUST_CHECK struct cs_error *cs_md_threads(struct cs_md *m);
CS_MUST_CHECK struct cs_error *cs_md_environment(struct cs_md *m);
CS_MUST_CHECK struct cs_error *cs_md_fingerprint(struct cs_md *m);
/** What limits all that. */
CS_MUST_CHECK struct cs_error *cs_md_diagnostics(struct cs_md *m);
CS_MUST_CHECK struct cs_error *cs_md_footer(struct cs_md *m);

#endif
