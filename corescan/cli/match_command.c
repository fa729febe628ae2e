/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corescan match FILE...: the reports in texts that were pasted together, each with the known problem that it
 * fits.
 *
 * corescan match --records FILE: a line of JSON for each line of the file, in the same order, so that the
 * two can be laid side by side. A line that is no record gets one that says why.
 */
#include "cli/match_command.h"

#include "base/limits.h"
#include "cli/output.h"
#include "cli/records.h"
#include "report/json_findings.h"
#include "report/json_fingerprint.h"
#include "report/matched.h"

#include <errno.h>
#include <string.h>

struct matching {
	const struct cs_cli *cli;
	const struct cs_output *output;
	const struct cs_signature_set *set;
	struct cs_examiner *examiner; /* of texts; owned */
	const char *path;
	size_t n_reports, n_before; /* in all texts; before this one */
	enum cs_exit status;
};

static void matching_deinit(struct matching *m)
{
	cs_examiner_destroy(m->examiner);
}

static void note_status(struct matching *m, enum cs_exit status)
{
	m->status = CS_MAX(m->status, status);
}

/* ---- records ---- */

static struct cs_error *print_record(void *arg, const struct cs_record *record)
{
	const struct cs_findings *findings = &record->found.findings;
	struct matching *m = arg;
	struct cs_json j = {.out = m->output->stream};
	json_t *o = json_object();

	cs_json_set_text(&j, o, "source", record->source);
	if (record->error) {
		note_status(m, CS_EXIT_INCOMPLETE);
		cs_json_set(&j, o, "error",
			    json_sprintf("line %zu: %s", record->line, cs_error_message(record->error)));
	}
	cs_json_set(&j, o, "findings", cs_json_findings(&j, findings->v, findings->n));
	cs_json_set(&j, o, "fingerprint", cs_json_fingerprint(&j, &record->found.fingerprint));
	if (findings->dropped)
		cs_json_set_size(&j, o, "findings_dropped", findings->dropped);
	if (findings->limits_hit) {
		note_status(m, CS_EXIT_INCOMPLETE);
		cs_json_set_size(&j, o, "searches_ended_early", findings->limits_hit);
	}
	cs_json_write(&j, o);
	fputc('\n', j.out);
	return cs_json_finish(&j);
}

/* ---- text ---- */

static struct cs_error *print_report(const struct matching *m, const struct cs_matched *matched)
{
	const struct cs_text_options options = {
		.color = m->output->color,
		.all = m->cli->all,
		.width = m->output->width,
	};

	return m->cli->json ? cs_report_matched_json(matched, m->output->stream)
			    : cs_report_matched_text(matched, &options, m->output->stream);
}

static struct cs_error *match_paste(void *arg, const struct cs_paste *paste)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	struct matching *m = arg;
	struct cs_examined found;
	struct cs_facts facts;
	struct cs_matched matched = {
		.paste = paste,
		.path = m->path,
		.number = ++m->n_reports,
		.n_signatures = m->set->n_signatures,
	};

	if (!arena)
		return &cs_nomem;
	CS_TRY(cs_facts_of_paste(paste, arena, &facts));
	CS_TRY(cs_examine(m->examiner, &facts, arena, &found));
	matched.findings = found.findings.v;
	matched.n_findings = found.findings.n;
	matched.limits_hit = found.findings.limits_hit;
	matched.fingerprint = found.fingerprint;
	if (paste->dropped || matched.limits_hit)
		note_status(m, CS_EXIT_INCOMPLETE);
	return print_report(m, &matched);
}

/* What is wrong with one text is its own affair: the others are still read. */
static struct cs_error *match_file(struct matching *m, const char *path)
{
	CS_CLEANUP(cs_error_destroyp) struct cs_error *why = NULL;
	FILE *in = strcmp(path, "-") ? fopen(path, "re") : stdin;

	m->path = path;
	m->n_before = m->n_reports;
	if (!in) {
		why = cs_error_os(errno, "cannot be opened");
	} else {
		why = cs_paste_read(in, match_paste, m);
		if (in != stdin)
			fclose(in);
		if (why && (cs_error_code(why) == CS_ERR_NOMEM || ferror(m->output->stream)))
			return CS_TAKE(why);
		if (!why && m->n_reports == m->n_before)
			why = cs_error_new(CS_ERR_FORMAT,
					   "no backtrace, error message or exit status was found in it; "
					   "docs/HOWTO-match.md lists the forms that are read");
	}
	if (!why)
		return NULL;
	fflush(m->output->stream);
	cs_output_complain(path, why);
	note_status(m, CS_EXIT_NOTHING);
	return m->cli->json ? cs_report_json_failure(path, why, m->output->stream) : NULL;
}

static struct cs_error *match_all(const struct cs_cli *cli, struct cs_output *output,
				  enum cs_exit *status)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	CS_CLEANUP(matching_deinit) struct matching m = {.cli = cli, .output = output};
	struct cs_signature_set set;
	struct cs_error *err = NULL;

	if (!arena)
		return &cs_nomem;
	CS_TRY(cs_signatures_choose(cli->analysis.signatures, arena, &set));
	m.set = &set;
	if (cli->records)
		err = cs_records_match(cli->records, &set, print_record, &m);
	else
		CS_TRY(cs_examiner_create(&set, &m.examiner));
	for (size_t i = 0; !err && i < cli->n_operands; i++)
		err = match_file(&m, cli->operands[i]);
	*status = m.status;
	return err;
}

enum cs_exit cs_command_match(const struct cs_cli *cli)
{
	return cs_output_run(cli, match_all);
}
