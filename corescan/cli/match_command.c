/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corescan match --records FILE: a line of JSON for each line of the file, in the same order, so that the
 * two can be laid side by side. A line that is no record gets one that says why.
 */
#include "cli/match_command.h"

#include "base/limits.h"
#include "cli/output.h"
#include "cli/records.h"
#include "report/json_findings.h"

struct matching {
	FILE *out;
	const char *path;
	enum cs_exit status;
};

static struct cs_error *print_record(void *arg, const struct cs_record *record)
{
	struct matching *m = arg;
	struct cs_json j = {.out = m->out};
	json_t *o = json_object();

	cs_json_set_text(&j, o, "source", record->source);
	if (record->error) {
		m->status = CS_EXIT_INCOMPLETE;
		cs_json_set(&j, o, "error",
			    json_sprintf("line %zu: %s", record->line, cs_error_message(record->error)));
	}
	cs_json_set(&j, o, "findings", cs_json_findings(&j, record->findings.v, record->findings.n));
	if (record->findings.dropped)
		cs_json_set_size(&j, o, "findings_dropped", record->findings.dropped);
	if (record->findings.limits_hit) {
		m->status = CS_EXIT_INCOMPLETE;
		cs_json_set_size(&j, o, "searches_ended_early", record->findings.limits_hit);
	}
	cs_json_write(&j, o);
	fputc('\n', m->out);
	return cs_json_finish(&j);
}

static struct cs_error *match_all(const struct cs_cli *cli, struct cs_output *output,
				  enum cs_exit *status)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	struct matching m = {.out = output->stream, .path = cli->records};
	struct cs_signature_set set;
	struct cs_error *err;

	if (!arena)
		return &cs_nomem;
	CS_TRY(cs_signatures_choose(cli->analysis.signatures, arena, &set));
	err = cs_records_match(cli->records, &set, print_record, &m);
	*status = m.status;
	return err;
}

enum cs_exit cs_command_match(const struct cs_cli *cli)
{
	return cs_output_run(cli, match_all);
}
