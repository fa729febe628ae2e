/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes, exceptions, tasks and greenlets as JSON. Each is made and written on its own,
 * so memory is that of one of them.
 */
#include "report/json_python.h"

#include "base/limits.h"
#include "report/json_stack.h"
#include "report/report.h"

json_t *cs_json_python_thread(struct cs_json *j, const struct cs_python_thread *p)
{
	json_t *o;

	if (!p)
		return json_null();
	o = json_object();
	cs_json_set_text(j, o, "name", p->name);
	cs_json_set_hex(j, o, "ident", p->ident);
	cs_json_set_int(j, o, "interpreter", p->interpreter, p->interpreter >= 0);
	cs_json_set_size(j, o, "runtime", p->runtime);
	cs_json_set(j, o, "main", json_boolean(p->is_main));
	cs_json_set(j, o, "daemon", json_boolean(p->daemon));
	cs_json_set(j, o, "holds_gil", json_boolean(p->holds_gil));
	cs_json_set(j, o, "waits_for_gil", json_boolean(p->waits_for_gil));
	cs_json_set(j, o, "collecting", json_boolean(p->collecting));
	cs_json_set_text(j, o, "state", p->state);
	cs_json_set_text(j, o, "broken", p->broken);
	return o;
}

static void set_tid(struct cs_json *j, json_t *o, const char *key, int32_t tid)
{
	cs_json_set_int(j, o, key, tid, tid > 0);
}

static void set_address(struct cs_json *j, json_t *o, const char *key, uint64_t address)
{
	if (address)
		cs_json_set_hex(j, o, key, address);
	else
		cs_json_set(j, o, key, json_null());
}

static void set_runtime(struct cs_json *j, json_t *o, const struct cs_python_runtime *r)
{
	cs_json_set_text(j, o, "version", r->version);
	cs_json_set(j, o, "layout", json_string(cs_layout_source_name(r->layout)));
	cs_json_set(j, o, "free_threaded", json_boolean(r->free_threaded));
	cs_json_set_text(j, o, "phase", r->phase);
	cs_json_set_text(j, o, "found", r->found);
	cs_json_set_text(j, o, "module", r->module ? r->module->path : NULL);
	cs_json_set_size(j, o, "interpreters", r->n_interpreters);
	cs_json_set_size(j, o, "threads", r->n_threads);
	cs_json_set_size(j, o, "stale_threads", r->n_stale);
	cs_json_set_text(j, o, "gil", r->gil);
	set_tid(j, o, "gil_holder", r->gil_holder);
	set_tid(j, o, "collecting", r->collecting);
}

void cs_json_set_pythons(struct cs_json *j, json_t *o, const struct cs_python *python)
{
	json_t *first = json_object_get(o, "python"), *all;

	if (!python->n_runtimes)
		return;
	if (!first) {
		cs_json_set(j, o, "python", json_object());
		first = json_object_get(o,
					"python"); /* @o owns it; NULL without memory */
	}
	set_runtime(j, first, &python->runtimes[0]);
	if (python->n_runtimes < 2)
		return;
	all = json_array();
	for (size_t i = 0; i < python->n_runtimes; i++) {
		json_t *runtime = json_object();

		set_runtime(j, runtime, &python->runtimes[i]);
		cs_json_append(j, all, runtime);
	}
	cs_json_set(j, o, "pythons", all);
}

/*
 * Cause and context are exceptions too. A hostile core can let both point to one and the
 * same over and over, so that what is a chain in memory would be a tree of any size:
 * @left bounds the whole of it, and with it the depth.
 */
static json_t *exception_json(struct cs_json *j, const struct cs_exception *e,
			      size_t *left)
{
	const struct cs_exception *context = e->context != e->cause ? e->context : NULL;
	json_t *o = json_object(), *notes = json_array();
	bool cut = false;

	--*left;
	set_tid(j, o, "tid", e->tid);
	cs_json_set_text(j, o, "language", e->language);
	cs_json_set_text(j, o, "type", e->type);
	cs_json_set_text(j, o, "message", e->message);
	cs_json_set_text(j, o, "state", e->state);
	cs_json_set(j, o, "fatal", json_boolean(e->fatal));
	cs_json_set_text(j, o, "code", e->code);
	cs_json_set_text(j, o, "backtrace", e->backtrace);
	cs_json_set_frames(j, o, "traceback", e->frames, e->n_frames);
	for (size_t i = 0; i < e->n_notes; i++)
		cs_json_append(j, notes, cs_json_string(e->notes[i], &cut));
	cs_json_set(j, o, "notes", notes);
	cs_json_set(j, o, "suppress_context", json_boolean(e->suppress_context));
	cs_json_set(j, o, "cause",
		    e->cause && *left ? exception_json(j, e->cause, left) : json_null());
	cs_json_set(j, o, "context",
		    context && *left ? exception_json(j, context, left) : json_null());
	if (cut || (!*left && (e->cause || context)))
		cs_json_set(j, o, "truncated", json_true());
	return o;
}

void cs_json_exceptions(struct cs_json *j, const struct cs_analysis *a)
{
	cs_json_key(j, "exception");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->n_exceptions; i++) {
		size_t left = CS_MAX_PY_EXCEPTIONS;

		cs_json_write(j, exception_json(j, &a->exceptions[i], &left));
	}
	cs_json_close(j, "]");
}

static json_t *task_json(struct cs_json *j, const struct cs_python_task *task)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "name", task->name);
	cs_json_set_text(j, o, "coroutine", task->coroutine);
	cs_json_set_text(j, o, "state", task->state);
	set_tid(j, o, "tid", task->tid);
	cs_json_set_hex(j, o, "address", task->address);
	set_address(j, o, "loop", task->loop);
	cs_json_set_text(j, o, "awaits", task->awaits);
	set_address(j, o, "awaits_task", task->awaits_task);
	cs_json_set_text(j, o, "broken", task->broken);
	cs_json_set_frames(j, o, "frames", task->frames, task->n_frames);
	return o;
}

static json_t *greenlet_json(struct cs_json *j, const struct cs_python_greenlet *g)
{
	json_t *o = json_object();

	cs_json_set_text(j, o, "name", g->name);
	cs_json_set_text(j, o, "state", g->state);
	set_tid(j, o, "tid", g->tid);
	cs_json_set_hex(j, o, "address", g->address);
	cs_json_set_text(j, o, "broken", g->broken);
	cs_json_set_frames(j, o, "frames", g->frames, g->n_frames);
	return o;
}

void cs_json_python(struct cs_json *j, const struct cs_analysis *a)
{
	cs_json_key(j, "python");
	cs_json_open(j, "{");
	cs_json_key(j, "tasks");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->python.n_tasks; i++)
		cs_json_write(j, task_json(j, &a->python.tasks[i]));
	cs_json_close(j, "]");
	cs_json_key(j, "greenlets");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->python.n_greenlets; i++)
		cs_json_write(j, greenlet_json(j, &a->python.greenlets[i]));
	cs_json_close(j, "]");
	cs_json_close(j, "}");
}
