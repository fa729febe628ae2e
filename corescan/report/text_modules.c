/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules, and the diagnostics of the whole analysis. A healthy module is not worth a
 * line: by default only those are shown whose file is gone or another than the one that
 * ran, the ones in a stack first.
 */
#include "report/text_sections.h"

#include <inttypes.h>

#define DEFAULT_PROBLEMS 8
#define DEFAULT_DIAGNOSTICS 10

static bool has_problem(const struct cs_module *m)
{
	return m->note || m->file_state == CS_FILE_MISMATCH ||
	       m->file_state == CS_FILE_MISSING;
}

static void put_problem(struct cs_text *t, const struct cs_module *m)
{
	cs_text_printf(t, "  %-10s ", cs_file_state_name(m->file_state));
	cs_text_put(t, m->path);
	cs_text_printf(t, "\n");
	if (m->note) {
		cs_text_printf(t, "  %-10s ", "");
		cs_text_wrapped(t, 13, m->note);
	}
}

static void put_problems(struct cs_text *t, const struct cs_analysis *a, size_t problems)
{
	size_t max = t->options->all || problems == DEFAULT_PROBLEMS + 1
			     ? problems
			     : DEFAULT_PROBLEMS;
	size_t shown = 0;

	for (int in_use = 1; in_use >= 0; in_use--) {
		for (size_t i = 0; i < a->n_modules && shown < max; i++) {
			if (!has_problem(a->modules[i]) ||
			    a->modules[i]->in_use != (bool)in_use)
				continue;
			put_problem(t, a->modules[i]);
			shown++;
		}
	}
	if (shown < problems)
		cs_text_printf(t, "  (%s more: --modules)\n",
			       cs_text_count(problems - shown));
}

static void put_table(struct cs_text *t, const struct cs_analysis *a)
{
	cs_text_style(t, CS_STYLE_DIM);
	cs_text_printf(t, "  %-18s %-18s %-10s %-7s %s\n", "start", "end", "file",
		       "symbols", "path");
	cs_text_plain(t);
	for (size_t i = 0; i < a->n_modules; i++) {
		const struct cs_module *m = a->modules[i];

		cs_text_printf(t, "  0x%016" PRIx64 " 0x%016" PRIx64 " %-10s %-7s ",
			       m->start, m->end, cs_file_state_name(m->file_state),
			       m->in_use ? cs_symbol_source_name(m->symbols) : "-");
		cs_text_put(t, m->path);
		cs_text_printf(t, "\n");
		if (t->options->all && m->build_id) {
			cs_text_printf(t, "  %18s build id ", "");
			cs_text_put(t, m->build_id);
			cs_text_printf(t, "\n");
		}
		if (t->options->all && m->debug_file) {
			cs_text_printf(t, "  %18s debug file ", "");
			cs_text_put(t, m->debug_file);
			cs_text_printf(t, "\n");
		}
		if (m->note) {
			cs_text_printf(t, "  %18s ", "");
			cs_text_wrapped(t, 21, m->note);
		}
	}
}

struct cs_error *cs_text_modules(struct cs_text *t, const struct cs_analysis *a)
{
	size_t in_use = 0, problems = 0, unverified = 0;

	for (size_t i = 0; i < a->n_modules; i++) {
		const struct cs_module *m = a->modules[i];

		in_use += m->in_use;
		problems += has_problem(m);
		unverified +=
			m->file_state == CS_FILE_UNVERIFIED && m->path && *m->path == '/';
	}
	if (!a->n_modules)
		return NULL;
	cs_text_heading(t, "Modules: %s, %s of them in a stack",
			cs_text_count(a->n_modules), cs_text_count(in_use));
	if (t->options->modules || t->options->all) {
		put_table(t, a);
		return NULL;
	}
	put_problems(t, a, problems);
	if (unverified)
		cs_text_printf(t,
			       "  (%s without a build id, so their files could not be "
			       "verified: --modules)\n",
			       cs_text_count(unverified));
	if (!problems && !unverified)
		cs_text_printf(t, "  all files are those that ran (--modules)\n");
	return NULL;
}

static void put_diagnostic(struct cs_text *t, const struct cs_diagnostic *d)
{
	cs_text_style(t,
		      d->severity == CS_SEVERITY_ERROR ? CS_STYLE_BAD : CS_STYLE_DOUBT);
	cs_text_printf(t, "  %-8s", cs_severity_name(d->severity));
	cs_text_plain(t);
	if (d->tid > 0)
		cs_text_printf(t, "thread %" PRId32 ": ", d->tid);
	cs_text_wrapped(t, 10, d->text ? d->text : d->code);
}

void cs_text_diagnostics(struct cs_text *t, const struct cs_analysis *a)
{
	size_t count[3] = {0}, shown = 0, wanted;

	for (size_t i = 0; i < a->n_diagnostics; i++)
		if ((unsigned)a->diagnostics[i].severity < CS_COUNT(count))
			count[a->diagnostics[i].severity]++;
	wanted = t->options->all ? a->n_diagnostics
				 : count[CS_SEVERITY_ERROR] + count[CS_SEVERITY_WARNING];
	if (!a->n_diagnostics && !a->n_diagnostics_dropped)
		return;
	if (!wanted && !a->n_diagnostics_dropped) {
		cs_text_heading(t, "Notes: %s (--all)",
				cs_text_count(count[CS_SEVERITY_NOTE]));
		return;
	}
	cs_text_heading(t, "What limits this report");
	for (int severity = CS_SEVERITY_ERROR; severity >= CS_SEVERITY_NOTE; severity--) {
		if (severity == CS_SEVERITY_NOTE && !t->options->all)
			break;
		for (size_t i = 0; i < a->n_diagnostics; i++) {
			if ((int)a->diagnostics[i].severity != severity)
				continue;
			if (shown == DEFAULT_DIAGNOSTICS && !t->options->all)
				break;
			put_diagnostic(t, &a->diagnostics[i]);
			shown++;
		}
	}
	if (shown < wanted)
		cs_text_printf(t, "  (%s more: --all)\n", cs_text_count(wanted - shown));
	if (count[CS_SEVERITY_NOTE] && !t->options->all)
		cs_text_printf(t, "  (%s note%s: --all)\n",
			       cs_text_count(count[CS_SEVERITY_NOTE]),
			       count[CS_SEVERITY_NOTE] == 1 ? "" : "s");
	if (a->n_diagnostics_dropped)
		cs_text_printf(t, "  (%s more had no room)\n",
			       cs_text_count(a->n_diagnostics_dropped));
}
