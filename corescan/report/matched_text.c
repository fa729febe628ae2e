/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pasted report for people: what was read of it, so that a misread text is noticed, and what it means.
 */
#include "report/matched.h"
#include "report/text_sections.h"

#include <errno.h>
#include <inttypes.h>

static const struct cs_paste_thread *crashed_thread(const struct cs_paste *paste)
{
	for (size_t i = 0; i < paste->n_threads; i++)
		if (paste->threads[i].crashed)
			return &paste->threads[i];
	return NULL;
}

static void put_count(struct cs_text *t, size_t n, const char *one, const char *many)
{
	if (n)
		cs_text_printf(t, ", %s %s", cs_text_count(n), n == 1 ? one : many);
}

/* "gdb, SIGABRT, 12 threads, thread 3097701 crashed" */
static void put_read(struct cs_text *t, const struct cs_paste *paste)
{
	const struct cs_paste_thread *crashed = crashed_thread(paste);

	cs_text_label(t, "read as");
	cs_text_put(t, paste->format);
	if (paste->signal) {
		cs_text_printf(t, ", ");
		cs_text_put(t, paste->signal);
	}
	if (paste->has_exit)
		cs_text_printf(t, ", exit status %" PRId32, paste->exit);
	put_count(t, paste->n_threads, "thread", "threads");
	put_count(t, paste->n_messages, "message", "messages");
	if (paste->kind == CS_PASTE_HANG)
		cs_text_printf(t, "; it did not crash");
	else if (crashed && crashed->tid)
		cs_text_printf(t, "; thread %" PRId32 " crashed", crashed->tid);
	cs_text_printf(t, "\n");
	if (paste->dropped)
		cs_text_fact(t, "not read", "some of it: there is more than a report may have");
}

static void put_heading(struct cs_text *t, const struct cs_matched *m)
{
	if (m->number > 1)
		cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_HEAD);
	cs_text_printf(t, "Report %zu", m->number);
	cs_text_plain(t);
	cs_text_printf(t, ", line %s", cs_text_count(m->paste->line));
	if (m->paste->n_lines > 1)
		cs_text_printf(t, " to %s", cs_text_count(m->paste->line + m->paste->n_lines - 1));
	cs_text_printf(t, " of ");
	cs_text_put(t, m->path);
	if (m->paste->source) {
		cs_text_printf(t, " (");
		cs_text_put(t, m->paste->source);
		cs_text_printf(t, ")");
	}
	cs_text_printf(t, "\n");
}

struct cs_error *cs_report_matched_text(const struct cs_matched *m, const struct cs_text_options *options,
					FILE *out)
{
	struct cs_text t = {.out = out, .options = options};
	struct cs_analysis a = {
		.findings = m->findings,
		.n_findings = m->n_findings,
		.n_signatures = m->n_signatures,
	};

	put_heading(&t, m);
	put_read(&t, m->paste);
	cs_text_findings(&t, &a);
	if (!m->n_findings)
		cs_text_no_finding(&t, m->n_signatures);
	cs_text_fingerprint(&t, &m->fingerprint);
	if (m->limits_hit)
		cs_text_fact(&t, "not searched", "all of it: some searches ended at a limit");
	errno = 0;
	if (fflush(out) || ferror(out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return NULL;
}
