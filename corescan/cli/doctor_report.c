/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The doctor's findings as text and as JSON, and the command itself. */
#include "cli/doctor.h"

#include "base/limits.h"
#include "cli/output.h"
#include "report/json_build.h"
#include "report/text_out.h"

#include <errno.h>

#define DEFAULT_WIDTH 100
#define TEXT_INDENT 10 /* columns below the result word */

static const char *result_word(enum cs_check_result result)
{
	static const char *const words[] = {
		[CS_CHECK_OK] = "ok",
		[CS_CHECK_NOTE] = "note",
		[CS_CHECK_PROBLEM] = "problem",
	};

	return words[result];
}

static void put_check(struct cs_text *t, const struct cs_check *check)
{
	static const enum cs_style styles[] = {
		[CS_CHECK_OK] = CS_STYLE_DIM,
		[CS_CHECK_NOTE] = CS_STYLE_DOUBT,
		[CS_CHECK_PROBLEM] = CS_STYLE_BAD,
	};

	cs_text_style(t, styles[check->result]);
	cs_text_printf(t, "%-*s", TEXT_INDENT, result_word(check->result));
	cs_text_plain(t);
	cs_text_styled(t, CS_STYLE_STRONG, check->title);
	if (check->value) {
		cs_text_printf(t, ": ");
		cs_text_put(t, check->value);
	}
	cs_text_printf(t, "\n");
	if (check->text) {
		cs_text_printf(t, "%*s", TEXT_INDENT, "");
		cs_text_wrapped(t, TEXT_INDENT, check->text);
	}
	for (size_t i = 0; i < check->n_fixes; i++) {
		cs_text_printf(t, "%*s", TEXT_INDENT, "");
		cs_text_printf(t, "%s ", i ? "  or" : "fix:");
		cs_text_put(t, check->fixes[i].command);
		if (check->fixes[i].where) {
			cs_text_style(t, CS_STYLE_DIM);
			cs_text_printf(t, "   # ");
			cs_text_put(t, check->fixes[i].where);
			cs_text_plain(t);
		}
		cs_text_printf(t, "\n");
	}
}

static void put_verdict(struct cs_text *t, const struct cs_doctor *d)
{
	size_t problems = 0;

	for (size_t i = 0; i < d->checks.n; i++)
		problems += d->checks.v[i].result == CS_CHECK_PROBLEM;
	cs_text_style(t, problems ? CS_STYLE_BAD : CS_STYLE_HEAD);
	if (d->env.pid)
		cs_text_printf(t, "Would a crash of process %d leave a whole core? ",
			       d->env.pid);
	else
		cs_text_printf(
			t, "Would a crash of what is started here leave a whole core? ");
	if (problems)
		cs_text_printf(t, "No: %zu problem%s.", problems,
			       problems == 1 ? "" : "s");
	else
		cs_text_printf(t, "Yes.");
	cs_text_plain(t);
	cs_text_printf(t, "\n");
	if (d->destination) {
		cs_text_printf(t, "Cores land in ");
		cs_text_put(t, d->destination);
		cs_text_printf(t, "%s\n",
			       d->container && d->sink != CS_SINK_FILE ? " of the host"
								       : "");
	}
	cs_text_printf(t, "\n");
}

struct cs_error *cs_doctor_report_text(const struct cs_doctor *d, bool color,
				       unsigned width, FILE *out)
{
	const struct cs_text_options options = {.color = color,
						.width = width ? width : DEFAULT_WIDTH};
	/* Commands are there to be copied: none is cut. */
	struct cs_text t = {.out = out, .options = &options, .whole = true};

	put_verdict(&t, d);
	for (int result = CS_CHECK_PROBLEM; result >= CS_CHECK_OK; result--)
		for (size_t i = 0; i < d->checks.n; i++)
			if ((int)d->checks.v[i].result == result)
				put_check(&t, &d->checks.v[i]);
	errno = 0;
	if (fflush(out) || ferror(out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return NULL;
}

static json_t *check_json(struct cs_json *j, const struct cs_check *check)
{
	json_t *o = json_object(), *fixes = json_array();

	for (size_t i = 0; i < check->n_fixes; i++) {
		json_t *fix = json_object();

		cs_json_set_text(j, fix, "command", check->fixes[i].command);
		cs_json_set_text(j, fix, "where", check->fixes[i].where);
		cs_json_append(j, fixes, fix);
	}
	cs_json_set_text(j, o, "id", check->id);
	cs_json_set_text(j, o, "result", result_word(check->result));
	cs_json_set_text(j, o, "title", check->title);
	cs_json_set_text(j, o, "value", check->value);
	cs_json_set_text(j, o, "text", check->text);
	cs_json_set(j, o, "fixes", fixes);
	return o;
}

struct cs_error *cs_doctor_report_json(const struct cs_doctor *d, FILE *out)
{
	struct cs_json j = {.out = out};

	cs_json_open(&j, "{");
	cs_json_member(&j, "schema", json_string("corescan-doctor/1"));
	cs_json_member(&j, "would_leave_core", json_boolean(cs_doctor_is_well(d)));
	cs_json_member(&j, "pid", d->env.pid ? json_integer(d->env.pid) : json_null());
	cs_json_member(&j, "destination",
		       d->destination ? json_string(d->destination) : json_null());
	cs_json_member(&j, "container",
		       d->container ? json_string(d->container) : json_null());
	cs_json_key(&j, "checks");
	cs_json_open(&j, "[");
	for (size_t i = 0; i < d->checks.n; i++)
		cs_json_write(&j, check_json(&j, &d->checks.v[i]));
	cs_json_close(&j, "]");
	cs_json_close(&j, "}");
	fputc('\n', out);
	return cs_json_finish(&j);
}

static struct cs_error *examine(const struct cs_cli *cli, struct cs_arena *arena,
				struct cs_doctor *doctor)
{
	const struct cs_doctor_env env = {.root = "", .pid = cli->pid};
	struct cs_output output = {0};
	struct cs_error *err, *closing;

	CS_TRY(cs_doctor_run(&env, arena, doctor));
	CS_TRY(cs_output_open(cli, &output));
	err = cli->json ? cs_doctor_report_json(doctor, output.stream)
			: cs_doctor_report_text(doctor, output.color, output.width,
						output.stream);
	closing = cs_output_close(&output);
	if (!err)
		return closing;
	cs_error_destroy(closing);
	return err;
}

enum cs_exit cs_command_doctor(const struct cs_cli *cli)
{
	CS_CLEANUP(cs_arena_destroyp)
	struct cs_arena *arena = cs_arena_create(CS_MAX_DOCTOR_MEMORY);
	CS_CLEANUP(cs_error_destroyp) struct cs_error *err = NULL;
	struct cs_doctor doctor = {0};
	enum cs_exit status;

	err = arena ? examine(cli, arena, &doctor) : &cs_nomem;
	status = cs_doctor_is_well(&doctor) ? CS_EXIT_OK : CS_EXIT_INCOMPLETE;
	cs_doctor_deinit(&doctor);
	if (!err || cs_output_reader_gone(err))
		return status;
	cs_output_complain(NULL, err);
	return CS_EXIT_NOTHING;
}
