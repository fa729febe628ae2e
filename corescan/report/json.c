/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The JSON report: the names that bots read, which never change meaning.
 * docs/corescan-report.schema.json describes every one. Knows the model; refuses to know
 * how anything was found.
 */
#include "report/report.h"

#include "report/json_build.h"
#include "report/json_findings.h"
#include "report/json_fingerprint.h"
#include "report/json_python.h"
#include "report/json_stack.h"

#include <string.h>

static json_t *input_json(struct cs_json *j, const struct cs_input *in)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "path", in->path);
	cs_json_set_text(j, o, "kind", in->kind);
	cs_json_set_size(j, o, "bytes", in->bytes);
	cs_json_set_text(j, o, "compression", in->compression);
	cs_json_set(j, o, "complete", json_boolean(in->complete));
	cs_json_set_size(j, o, "expected_bytes", in->expected_bytes);
	cs_json_set_text(j, o, "writer", in->writer);
	return o;
}

static json_t *environment_json(struct cs_json *j, const struct cs_process *p, bool *cut)
{
	json_t *o = json_object();

	for (size_t i = 0; i < p->n_environment; i++) {
		/* Through a value, so that a name that is not UTF-8 becomes a key that
		 * is. */
		json_t *name = cs_json_string(p->environment[i].name, cut);

		if (json_is_string(name))
			cs_json_set(j, o, json_string_value(name),
				    cs_json_string(p->environment[i].value, cut));
		json_decref(name);
	}
	return o;
}

static json_t *process_json(struct cs_json *j, const struct cs_process *p)
{
	json_t *o = json_object(), *command = json_array();
	bool cut = false;

	for (size_t i = 0; i < p->n_command; i++)
		cs_json_append(j, command, cs_json_string(p->command[i], &cut));
	cs_json_set_int(j, o, "pid", p->pid, p->pid > 0);
	cs_json_set(j, o, "command", command);
	cs_json_set_text(j, o, "executable", p->executable);
	cs_json_set_text(j, o, "machine", p->machine);
	cs_json_set(j, o, "environment", environment_json(j, p, &cut));
	cs_json_set_int(j, o, "rank", p->rank, p->rank >= 0);
	cs_json_set_int(j, o, "world_size", p->world_size, p->world_size >= 0);
	cs_json_set_int(j, o, "start_time", p->start_time, p->start_time > 0);
	cs_json_set_int(j, o, "ppid", p->ppid, p->ppid > 0);
	cs_json_set_int(j, o, "uid", p->uid, p->uid >= 0);
	cs_json_set_int(j, o, "gid", p->gid, p->gid >= 0);
	cs_json_set_text(j, o, "name", p->name);
	cs_json_set(j, o, "command_complete", json_boolean(p->command_complete));
	cs_json_set_size(j, o, "environment_hidden", p->n_environment_hidden);
	cs_json_set_int(j, o, "local_rank", p->local_rank, p->local_rank >= 0);
	cs_json_set_int(j, o, "core_time", p->core_time, p->core_time > 0);
	if (cut)
		cs_json_set(j, o, "truncated", json_true());
	return o;
}

static json_t *registers_json(struct cs_json *j, const struct cs_analysis *a)
{
	json_t *o = json_object();

	for (size_t i = 0; i < a->n_threads; i++) {
		const struct cs_thread *t = &a->threads[i];

		if (!t->crashed)
			continue;
		for (size_t r = 0; r < t->n_registers; r++)
			cs_json_set_hex(j, o, t->registers[r].name,
					t->registers[r].value);
		break;
	}
	return o;
}

static json_t *sender_json(struct cs_json *j, const struct cs_crash *c)
{
	json_t *o;

	if (c->sender_pid < 0)
		return json_null();
	o = json_object();
	cs_json_set_int(j, o, "pid", c->sender_pid, true);
	cs_json_set_int(j, o, "uid", c->sender_uid, c->sender_uid >= 0);
	return o;
}

/* Index in the frames of the crashed thread, which is the first one. */
static json_t *culprit_json(const struct cs_analysis *a)
{
	const struct cs_stack_group *group = a->n_threads ? a->threads[0].group : NULL;

	for (size_t i = 0; a->crash.culprit && group && i < group->n_frames; i++)
		if (&group->frames[i] == a->crash.culprit)
			return json_integer((json_int_t)i);
	return json_null();
}

static json_t *crash_json(struct cs_json *j, const struct cs_analysis *a)
{
	const struct cs_crash *c = &a->crash;
	json_t *o = json_object();

	cs_json_set_int(j, o, "tid", c->tid, c->tid > 0);
	cs_json_set_text(j, o, "signal", c->signal_name);
	cs_json_set_text(j, o, "code", c->code_name);
	if (c->has_address)
		cs_json_set_hex(j, o, "address", c->address);
	else
		cs_json_set(j, o, "address", json_null());
	cs_json_set_text(j, o, "access", c->access);
	cs_json_set_text(j, o, "instruction", c->instruction);
	cs_json_set_text(j, o, "summary", c->summary);
	cs_json_set_int(j, o, "signal_number", c->signal, c->signal != 0);
	cs_json_set_int(j, o, "code_number", c->code, c->signal != 0);
	cs_json_set(j, o, "fault", json_string(cs_fault_class_name(c->fault)));
	cs_json_set_text(j, o, "operand", c->operand);
	cs_json_set_text(j, o, "detail", c->detail);
	cs_json_set_text(j, o, "message", c->message);
	cs_json_set_text(j, o, "message_source", c->message_source);
	cs_json_set(j, o, "sender", sender_json(j, c));
	cs_json_set(j, o, "reraised", json_boolean(c->reraised));
	cs_json_set(j, o, "culprit_frame", culprit_json(a));
	cs_json_set(j, o, "registers", registers_json(j, a));
	return o;
}

/* "cuda-runtime" is {"cuda": {"runtime": …}}; all others are {NAME: {"version": …}}. */
static json_t *runtime_json(struct cs_json *j, const struct cs_analysis *a)
{
	json_t *o = json_object();

	for (size_t i = 0; i < a->n_versions; i++) {
		const struct cs_version *v = &a->versions[i];
		bool cuda = !strncmp(v->name, "cuda-", 5);
		const char *name = cuda ? "cuda" : v->name;
		json_t *entry = json_object_get(o, name);

		if (!entry) {
			cs_json_set(j, o, name, json_object());
			entry = json_object_get(
				o, name); /* @o owns it; NULL without memory */
		}
		cs_json_set_text(j, entry, cuda ? v->name + 5 : "version", v->value);
		if (!cuda)
			cs_json_set_text(j, entry, "source", v->source);
	}
	cs_json_set_pythons(j, o, &a->python);
	return o;
}

static json_t *module_json(struct cs_json *j, const struct cs_module *m)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "path", m->path);
	cs_json_set_hex(j, o, "base", m->start);
	cs_json_set_text(j, o, "build_id", m->build_id);
	cs_json_set(j, o, "file", json_string(cs_file_state_name(m->file_state)));
	cs_json_set(j, o, "symbols", json_string(cs_symbol_source_name(m->symbols)));
	cs_json_set_text(j, o, "name", m->name);
	cs_json_set_hex(j, o, "end", m->end);
	cs_json_set_hex(j, o, "bias", m->bias);
	cs_json_set_text(j, o, "used_file", m->file);
	if (m->debug_file)
		cs_json_set_text(j, o, "debug_file", m->debug_file);
	cs_json_set(j, o, "in_use", json_boolean(m->in_use));
	if (m->note)
		cs_json_set_text(j, o, "note", m->note);
	return o;
}

static json_t *diagnostic_json(struct cs_json *j, const struct cs_diagnostic *d)
{
	json_t *o = json_object();

	cs_json_set(j, o, "severity", json_string(cs_severity_name(d->severity)));
	cs_json_set_text(j, o, "layer", d->layer);
	cs_json_set_text(j, o, "code", d->code);
	cs_json_set_int(j, o, "tid", d->tid, d->tid > 0);
	cs_json_set_text(j, o, "text", d->text);
	return o;
}

static json_t *timing_json(struct cs_json *j, const struct cs_analysis *a)
{
	json_t *o = json_object(), *layers = json_object();

	for (size_t i = 0; i < a->n_timing; i++)
		cs_json_set(j, layers, a->timing[i].layer, json_real(a->timing[i].ms));
	cs_json_set(j, o, "total_ms", json_real(a->total_ms));
	cs_json_set(j, o, "layers_ms", layers);
	return o;
}

static json_t *generator_json(struct cs_json *j)
{
	json_t *o = json_object();

	cs_json_set(j, o, "name", json_string("corescan"));
	cs_json_set(j, o, "version", json_string(CORESCAN_VERSION));
	return o;
}

static void write_modules(struct cs_json *j, const struct cs_analysis *a)
{
	cs_json_key(j, "modules");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->n_modules; i++)
		cs_json_write(j, module_json(j, a->modules[i]));
	cs_json_close(j, "]");
}

static void write_diagnostics(struct cs_json *j, const struct cs_analysis *a)
{
	cs_json_key(j, "diagnostics");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->n_diagnostics; i++)
		cs_json_write(j, diagnostic_json(j, &a->diagnostics[i]));
	cs_json_close(j, "]");
}

struct cs_error *cs_report_json(const struct cs_analysis *a, FILE *out)
{
	struct cs_json j = {.out = out};

	cs_json_open(&j, "{");
	cs_json_member(&j, "schema", json_string(CS_REPORT_SCHEMA));
	cs_json_member(&j, "input", input_json(&j, &a->input));
	cs_json_member(&j, "process", process_json(&j, &a->process));
	cs_json_member(&j, "crash", crash_json(&j, a));
	cs_json_member(&j, "runtime", runtime_json(&j, a));
	write_modules(&j, a);
	CS_TRY(cs_json_stacks(&j, a));
	cs_json_exceptions(&j, a);
	cs_json_python(&j, a);
	cs_json_member(&j, "findings", cs_json_findings(&j, a->findings, a->n_findings));
	cs_json_member(&j, "fingerprint", cs_json_fingerprint(&j, &a->fingerprint));
	write_diagnostics(&j, a);
	cs_json_member(&j, "timing", timing_json(&j, a));
	cs_json_member(&j, "diagnostics_dropped",
		       json_integer((json_int_t)CS_MIN(a->n_diagnostics_dropped,
						       (size_t)INT32_MAX)));
	cs_json_member(&j, "limits_hit", json_boolean(a->limit_hit));
	cs_json_member(&j, "generator", generator_json(&j));
	cs_json_close(&j, "}");
	fputc('\n', out);
	return cs_json_finish(&j);
}

static const char *failure_code(const struct cs_error *error)
{
	static const char *const codes[] = {
		[CS_ERR_NOMEM] = "out-of-memory",    [CS_ERR_NOT_FOUND] = "not-found",
		[CS_ERR_OS] = "cannot-read",         [CS_ERR_FAULT] = "memory-not-saved",
		[CS_ERR_FORMAT] = "damaged",         [CS_ERR_LIMIT] = "limit",
		[CS_ERR_UNSUPPORTED] = "not-a-core", [CS_ERR_ARGUMENT] = "bad-argument",
	};
	size_t code = (size_t)cs_error_code(error);

	return code < CS_COUNT(codes) ? codes[code] : "failed";
}

struct cs_error *cs_report_json_failure(const char *path, const struct cs_error *error,
					FILE *out)
{
	struct cs_json j = {.out = out};
	struct cs_diagnostic d = {
		.severity = CS_SEVERITY_ERROR,
		.layer = "core",
		.code = failure_code(error),
		.text = cs_error_message(error),
	};
	json_t *input = json_object(), *diagnostics = json_array();

	cs_json_set_text(&j, input, "path", path);
	cs_json_append(&j, diagnostics, diagnostic_json(&j, &d));
	cs_json_open(&j, "{");
	cs_json_member(&j, "schema", json_string(CS_REPORT_SCHEMA));
	cs_json_member(&j, "input", input);
	cs_json_member(&j, "diagnostics", diagnostics);
	cs_json_member(&j, "generator", generator_json(&j));
	cs_json_close(&j, "}");
	fputc('\n', out);
	return cs_json_finish(&j);
}
