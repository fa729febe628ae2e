/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pasted report as JSON: the fields are those of a core's report, so that one consumer reads both. What a
 * text cannot tell (addresses, trust, build ids) is absent.
 */
#include "report/json_findings.h"
#include "report/json_fingerprint.h"
#include "report/matched.h"

#include <string.h>

static json_t *input_json(struct cs_json *j, const struct cs_matched *m)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "path", m->path);
	cs_json_set(j, o, "kind", json_string("text"));
	cs_json_set_text(j, o, "format", m->paste->format);
	cs_json_set_size(j, o, "line", m->paste->line);
	cs_json_set_size(j, o, "lines", m->paste->n_lines);
	return o;
}

static const char *kind_word(enum cs_paste_kind kind)
{
	switch (kind) {
	case CS_PASTE_CRASH:
		return "crash";
	case CS_PASTE_HANG:
		return "hang";
	case CS_PASTE_OOM:
		return "oom";
	default:
		return NULL;
	}
}

static json_t *crash_json(struct cs_json *j, const struct cs_paste *paste)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "kind", kind_word(paste->kind));
	cs_json_set_text(j, o, "signal", paste->signal);
	if (paste->has_exit)
		cs_json_set_int(j, o, "exit", paste->exit, true);
	return o;
}

static json_t *frame_json(struct cs_json *j, const struct cs_paste_frame *f)
{
	json_t *o = json_object();
	bool signal = f->function && !strcmp(f->function, "<signal handler called>");

	cs_json_set(j, o, "kind", json_string(signal ? "signal" : f->python ? "python" : "native"));
	cs_json_set_text(j, o, "function", f->function);
	cs_json_set_text(j, o, "module", f->library);
	cs_json_set_text(j, o, "file", f->file);
	cs_json_set_int(j, o, "line", f->line, f->line != 0);
	return o;
}

static json_t *thread_json(struct cs_json *j, const struct cs_paste_thread *t)
{
	json_t *o = json_object(), *frames = json_array();

	cs_json_set_int(j, o, "tid", t->tid, t->tid > 0);
	cs_json_set_text(j, o, "name", t->name);
	cs_json_set_text(j, o, "role", t->role ? t->role : t->main ? "main" : NULL);
	cs_json_set(j, o, "crashed", json_boolean(t->crashed));
	if (t->holds_gil || t->waits_for_gil) {
		json_t *python = json_object();

		cs_json_set(j, python, "holds_gil", json_boolean(t->holds_gil));
		cs_json_set(j, python, "waits_for_gil", json_boolean(t->waits_for_gil));
		cs_json_set(j, o, "python", python);
	}
	for (size_t i = 0; i < t->n_frames; i++)
		cs_json_append(j, frames, frame_json(j, &t->frames[i]));
	cs_json_set(j, o, "frames", frames);
	return o;
}

static void put_threads(struct cs_json *j, const struct cs_paste *paste)
{
	cs_json_key(j, "threads");
	cs_json_open(j, "[");
	for (size_t i = 0; i < paste->n_threads; i++)
		cs_json_write(j, thread_json(j, &paste->threads[i]));
	cs_json_close(j, "]");
}

static json_t *messages_json(struct cs_json *j, const struct cs_paste *paste)
{
	json_t *list = json_array();
	bool cut = false;

	for (size_t i = 0; i < paste->n_messages; i++)
		cs_json_append(j, list, cs_json_string(paste->messages[i], &cut));
	return list;
}

static json_t *process_json(struct cs_json *j, const struct cs_paste *paste)
{
	json_t *o = json_object(), *environment = json_object();

	cs_json_set_int(j, o, "pid", paste->pid, paste->pid > 0);
	for (size_t i = 0; i < paste->n_environment; i++)
		cs_json_set_text(j, environment, paste->environment[i].name, paste->environment[i].value);
	cs_json_set(j, o, "environment", environment);
	return o;
}

static json_t *runtime_json(struct cs_json *j, const struct cs_paste *paste)
{
	json_t *o = json_object();

	for (size_t i = 0; i < paste->n_versions; i++) {
		json_t *version = json_object();

		cs_json_set_text(j, version, "version", paste->versions[i].value);
		cs_json_set(j, o, paste->versions[i].name, version);
	}
	return o;
}

struct cs_error *cs_report_matched_json(const struct cs_matched *m, FILE *out)
{
	struct cs_json j = {.out = out};
	json_t *source = json_object();

	cs_json_open(&j, "{");
	cs_json_member(&j, "schema", json_string(CS_REPORT_SCHEMA));
	cs_json_member(&j, "input", input_json(&j, m));
	cs_json_set_text(&j, source, "source", m->paste->source);
	cs_json_write_members(&j, source);
	cs_json_member(&j, "process", process_json(&j, m->paste));
	cs_json_member(&j, "crash", crash_json(&j, m->paste));
	cs_json_member(&j, "runtime", runtime_json(&j, m->paste));
	put_threads(&j, m->paste);
	cs_json_member(&j, "messages", messages_json(&j, m->paste));
	cs_json_member(&j, "findings", cs_json_findings(&j, m->findings, m->n_findings));
	cs_json_member(&j, "fingerprint", cs_json_fingerprint(&j, &m->fingerprint));
	if (m->paste->dropped)
		cs_json_member(&j, "dropped", json_integer((json_int_t)m->paste->dropped));
	if (m->limits_hit)
		cs_json_member(&j, "searches_ended_early", json_integer((json_int_t)m->limits_hit));
	cs_json_close(&j, "}");
	fputc('\n', out);
	return cs_json_finish(&j);
}
