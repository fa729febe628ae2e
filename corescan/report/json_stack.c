/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads and stacks as JSON.
 *
 * Two thousand threads that wait in the same place have one stack: its frames are turned
 * into text once and copied for each thread. The copies themselves are bounded too, or
 * 65,536 threads with 4,096 equal frames would make a report of 80 GB: beyond
 * CS_MAX_JSON_FRAMES only the first thread of a group carries its frames, and the others
 * name the group.
 */
#include "report/json_stack.h"

#include "base/limits.h"
#include "report/report.h"

struct stack_cache {
	char **frames; /* by group: the JSON text of its frames while threads still need
			  it; owned */
	size_t *left;  /* by group: threads not written yet */
	size_t n;
	uint64_t written; /* frames so far, copies included */
};

static void cache_deinit(struct stack_cache *cache)
{
	for (size_t i = 0; cache->frames && i < cache->n; i++)
		free(cache->frames[i]);
	free(cache->frames);
	free(cache->left);
}

static struct cs_error *cache_init(struct stack_cache *cache, const struct cs_analysis *a)
{
	cache->n = a->n_groups;
	cache->frames = calloc(a->n_groups + 1, sizeof(*cache->frames));
	cache->left = calloc(a->n_groups + 1, sizeof(*cache->left));
	if (!cache->frames || !cache->left)
		return &cs_nomem;
	for (size_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].group && a->threads[i].group->id < cache->n)
			cache->left[a->threads[i].group->id]++;
	return NULL;
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
	if (f->repeat_period) {
		json_t *repeat = json_object();

		cs_json_set_size(j, repeat, "period", f->repeat_period);
		cs_json_set_size(j, repeat, "count", f->repeat_count);
		cs_json_set(j, o, "repeat", repeat);
	}
	return o;
}

/* The frames of @group as JSON text, for the caller to free; NULL without memory. */
static char *frames_text(struct cs_json *j, const struct cs_stack_group *group)
{
	json_t *array = json_array();
	char *text;

	for (size_t i = 0; i < group->n_frames; i++)
		cs_json_append(j, array, frame_json(j, &group->frames[i]));
	text = array ? json_dumps(array, cs_json_flags) : NULL;
	json_decref(array);
	return text;
}

static void write_frames(struct cs_json *j, struct stack_cache *cache,
			 const struct cs_stack_group *group)
{
	char **text = &cache->frames[group->id];
	bool first = group->n_tids && cache->left[group->id] == group->n_tids;

	cache->left[group->id]--;
	if (!first && cache->written + group->n_frames > CS_MAX_JSON_FRAMES) {
		cs_json_member(j, "frames_in_group", json_true());
	} else {
		cache->written += group->n_frames;
		if (!*text)
			*text = frames_text(j, group);
		if (!*text)
			j->nomem = true;
		cs_json_key(j, "frames");
		cs_json_write_raw(j, *text ? *text : "[]");
	}
	if (!cache->left[group->id]) {
		free(*text);
		*text = NULL;
	}
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
