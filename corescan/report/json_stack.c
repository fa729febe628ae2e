/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads, stacks and frames as JSON.
 *
 * Two thousand threads that wait in the same place have one stack: its frames are turned
 * into text once and copied for each thread. The copies themselves are bounded too, or
 * 65,536 threads with 4,096 equal frames would make a report of 80 GB: beyond
 * CS_MAX_JSON_FRAMES only the first thread of a group carries its frames, and the others
 * name the group.
 */
#include "report/json_stack.h"

#include "base/limits.h"
#include "report/json_python.h"
#include "report/report.h"

/* What is kept of one group while its threads are written. */
struct group_cache {
	char *frames;  /* their JSON text while threads still need it; owned */
	uint64_t cost; /* of one copy: see frames_cost() */
	size_t left;   /* threads not written yet */
};

struct stack_cache {
	struct group_cache *groups; /* owned */
	size_t n;
};

/* What frames cost of CS_MAX_JSON_FRAMES: the value of a local is as long as a frame. */
static uint64_t frames_cost(const struct cs_frame *frames, size_t n)
{
	uint64_t cost = n;

	for (size_t i = 0; i < n; i++)
		cost += frames[i].n_variables;
	return cost;
}

static void cache_deinit(struct stack_cache *cache)
{
	for (size_t i = 0; cache->groups && i < cache->n; i++)
		free(cache->groups[i].frames);
	free(cache->groups);
}

static struct cs_error *cache_init(struct stack_cache *cache, const struct cs_analysis *a)
{
	cache->n = a->n_groups;
	cache->groups = calloc(a->n_groups + 1, sizeof(*cache->groups));
	if (!cache->groups)
		return &cs_nomem;
	for (size_t i = 0; i < a->n_groups; i++)
		cache->groups[i].cost =
			frames_cost(a->groups[i].frames, a->groups[i].n_frames);
	for (size_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].group && a->threads[i].group->id < cache->n)
			cache->groups[a->threads[i].group->id].left++;
	return NULL;
}

static json_t *locals_json(struct cs_json *j, const struct cs_frame *f)
{
	json_t *array = json_array();

	for (size_t i = 0; i < f->n_variables; i++) {
		json_t *o = json_object();

		cs_json_set_text(j, o, "name", f->variables[i].name);
		cs_json_set_text(j, o, "kind", f->variables[i].kind);
		cs_json_set_text(j, o, "value", f->variables[i].value);
		cs_json_append(j, array, o);
	}
	return array;
}

/* What only Python frames have, and the native ones that carry them. */
static void set_python(struct cs_json *j, json_t *o, const struct cs_frame *f)
{
	if (f->plumbing)
		cs_json_set(j, o, "plumbing", json_true());
	if (f->kind != CS_FRAME_PYTHON)
		return;
	cs_json_set(j, o, "entry", json_boolean(f->entry));
	if (f->source)
		cs_json_set_text(j, o, "source", f->source);
	if (f->n_variables)
		cs_json_set(j, o, "locals", locals_json(j, f));
}

static json_t *frame_json(struct cs_json *j, const struct cs_frame *f)
{
	json_t *o = json_object();

	cs_json_set(j, o, "kind", json_string(cs_frame_kind_name(f->kind)));
	cs_json_set_text(j, o, "function", f->function);
	if (f->short_name)
		cs_json_set_text(j, o, "short_function", f->short_name);
	cs_json_set_text(j, o, "module", f->module ? f->module->name : NULL);
	if (f->function && f->kind == CS_FRAME_NATIVE)
		cs_json_set_hex(j, o, "offset", f->offset);
	else
		cs_json_set(j, o, "offset", json_null());
	if (f->module)
		cs_json_set_hex(j, o, "module_offset", f->module_offset);
	else if (f->place)
		cs_json_set_text(j, o, "place", f->place);
	if (f->kind == CS_FRAME_GAP)
		cs_json_set(j, o, "address", json_null());
	else
		cs_json_set_hex(j, o, "address", f->address);
	cs_json_set_text(j, o, "file", f->file);
	cs_json_set_int(j, o, "line", f->line, f->line != 0);
	if (f->column)
		cs_json_set_size(j, o, "column", f->column);
	cs_json_set(j, o, "trust", json_string(cs_trust_name(f->trust)));
	if (f->nearest)
		cs_json_set(j, o, "nearest", json_true());
	set_python(j, o, f);
	if (f->repeat_period) {
		json_t *repeat = json_object();

		cs_json_set_size(j, repeat, "period", f->repeat_period);
		cs_json_set_size(j, repeat, "count", f->repeat_count);
		cs_json_set(j, o, "repeat", repeat);
	}
	return o;
}

static json_t *frames_json(struct cs_json *j, const struct cs_frame *frames, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		cs_json_append(j, array, frame_json(j, &frames[i]));
	return array;
}

void cs_json_set_frames(struct cs_json *j, json_t *object, const char *key,
			const struct cs_frame *frames, size_t n)
{
	uint64_t cost = frames_cost(frames, n);

	if (n && j->frames + cost > CS_MAX_JSON_FRAMES) {
		cs_json_set(j, object, "frames_left_out", json_true());
		return;
	}
	j->frames += cost;
	cs_json_set(j, object, key, frames_json(j, frames, n));
}

/* The frames of @group as JSON text, for the caller to free; NULL without memory. */
static char *frames_text(struct cs_json *j, const struct cs_stack_group *group)
{
	json_t *array = frames_json(j, group->frames, group->n_frames);
	char *text;

	text = array ? json_dumps(array, cs_json_flags) : NULL;
	json_decref(array);
	return text;
}

static void write_frames(struct cs_json *j, struct stack_cache *cache,
			 const struct cs_stack_group *group)
{
	struct group_cache *g = &cache->groups[group->id];
	bool first = group->n_tids && g->left == group->n_tids;

	g->left--;
	if (!first && j->frames + g->cost > CS_MAX_JSON_FRAMES) {
		cs_json_member(j, "frames_in_group", json_true());
	} else {
		j->frames += g->cost;
		if (!g->frames)
			g->frames = frames_text(j, group);
		if (!g->frames)
			j->nomem = true;
		cs_json_key(j, "frames");
		cs_json_write_raw(j, g->frames ? g->frames : "[]");
	}
	if (!g->left) {
		free(g->frames);
		g->frames = NULL;
	}
}

static json_t *wait_json(struct cs_json *j, const struct cs_wait *w)
{
	json_t *o;

	if (!w)
		return json_null();
	o = json_object();
	cs_json_set_text(j, o, "kind", w->kind);
	if (w->address)
		cs_json_set_hex(j, o, "address", w->address);
	else
		cs_json_set(j, o, "address", json_null());
	cs_json_set_int(j, o, "owner", w->owner, w->owner > 0);
	cs_json_set(j, o, "owner_gone", json_boolean(w->owner_gone));
	cs_json_set(j, o, "timed", json_boolean(w->timed));
	cs_json_set(j, o, "deadlock", json_boolean(w->deadlock));
	return o;
}

static void write_thread(struct cs_json *j, struct stack_cache *cache,
			 const struct cs_thread *t)
{
	json_t *head = json_object(), *tail = json_object();

	cs_json_set_size(j, head, "tid", (uint64_t)CS_MAX(t->tid, 0));
	cs_json_set_text(j, head, "name", t->name);
	cs_json_set_text(j, head, "name_source", t->name_source);
	cs_json_set_text(j, head, "role", t->role);
	cs_json_set(j, head, "crashed", json_boolean(t->crashed));
	if (t->signal)
		cs_json_set_size(j, head, "signal_number",
				 (uint64_t)CS_MAX(t->signal, 0));
	cs_json_set(j, head, "python", cs_json_python_thread(j, t->python));
	cs_json_set(j, head, "waits_for", wait_json(j, t->wait));
	cs_json_open(j, "{");
	cs_json_write_members(j, head);
	if (t->group && t->group->id < cache->n) {
		write_frames(j, cache, t->group);
		cs_json_set(j, tail, "stop", json_string(cs_stop_name(t->group->stop)));
		cs_json_set_size(j, tail, "stack_group", t->group->id);
	}
	cs_json_write_members(j, tail);
	cs_json_close(j, "}");
}

static json_t *group_json(struct cs_json *j, const struct cs_stack_group *group)
{
	json_t *o = json_object(), *tids = json_array();

	for (size_t i = 0; i < group->n_tids; i++)
		cs_json_append(j, tids, json_integer(group->tids[i]));
	cs_json_set_size(j, o, "id", group->id);
	cs_json_set(j, o, "tids", tids);
	cs_json_set_size(j, o, "count", group->n_tids);
	cs_json_set_size(j, o, "total_frames", group->total_frames);
	cs_json_set(j, o, "stop", json_string(cs_stop_name(group->stop)));
	if (group->stop_text)
		cs_json_set_text(j, o, "stop_text", group->stop_text);
	return o;
}

static struct cs_error *write_threads(struct cs_json *j, const struct cs_analysis *a,
				      struct stack_cache *cache)
{
	CS_TRY(cache_init(cache, a));
	cs_json_key(j, "threads");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->n_threads; i++)
		write_thread(j, cache, &a->threads[i]);
	cs_json_close(j, "]");
	return NULL;
}

struct cs_error *cs_json_stacks(struct cs_json *j, const struct cs_analysis *a)
{
	struct stack_cache cache = {0};
	struct cs_error *err = write_threads(j, a, &cache);

	cache_deinit(&cache);
	if (err)
		return err;
	cs_json_key(j, "stack_groups");
	cs_json_open(j, "[");
	for (size_t i = 0; i < a->n_groups; i++)
		cs_json_write(j, group_json(j, &a->groups[i]));
	cs_json_close(j, "]");
	return NULL;
}
