/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records: what somebody reported, as one line of JSON. The bytes may be anybody's. */
#include "paste/record.h"

#include "base/limits.h"
#include "base/vec.h"

#include <jansson.h>
#include <string.h>

struct record {
	const json_t *json;
	struct cs_paste *paste;
	struct cs_arena *arena;
	CS_VEC(struct cs_paste_frame) frames; /* of the thread being made; owned */
};

static void record_deinit(struct record *r)
{
	free(r->frames.v);
}

static struct cs_error *wrong(const char *key, const char *must)
{
	return cs_error_new(CS_ERR_FORMAT, "%s: must be %s", key, must);
}

/* The text of @key, in the arena; NULL: none, or empty. */
static struct cs_error *text_of(struct record *r, const json_t *object, const char *key, const char **ret)
{
	const json_t *value = json_object_get(object, key);

	*ret = NULL;
	if (!value || json_is_null(value))
		return NULL;
	if (!json_is_string(value))
		return wrong(key, "a text");
	if (!json_string_length(value))
		return NULL;
	*ret = cs_arena_strdup(r->arena, json_string_value(value));
	return *ret ? NULL : &cs_nomem;
}

static struct cs_error *list_of(const json_t *object, const char *key, const json_t **ret)
{
	*ret = json_object_get(object, key);
	if (json_is_null(*ret))
		*ret = NULL;
	return *ret && !json_is_array(*ret) ? wrong(key, "a list") : NULL;
}

/* "queue.py", "<frozen importlib._bootstrap>": what stands in parentheses is no library. */
static bool is_python_file(const char *file, size_t len)
{
	return len && ((file[0] == '<' && file[len - 1] == '>') ||
		       (len > 3 && !strncmp(file + len - 3, ".py", 3)) ||
		       (len > 4 && !strncmp(file + len - 4, ".pyx", 4)));
}

/* "train.py:88", as py-spy prints it. */
static uint32_t cut_line_number(char *file, size_t *len)
{
	char *colon = strrchr(file, ':');
	unsigned long line;

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] ||
	    !is_python_file(file, (size_t)(colon - file)))
		return 0;
	line = strtoul(colon + 1, NULL, 10);
	*colon = '\0';
	*len = (size_t)(colon - file);
	return line <= UINT32_MAX ? (uint32_t)line : 0;
}

/* "function (library)"; @python says that it stands in a list of Python frames. */
static struct cs_error *add_frame(struct record *r, const char *text, size_t len, int64_t number,
				  bool python)
{
	struct cs_paste_frame frame = {.number = number};
	const char *open = NULL;
	char *file = NULL;
	size_t file_len = 0;

	for (size_t i = 1; i + 1 < len && text[len - 1] == ')'; i++)
		if (text[i] == '(' && text[i - 1] == ' ')
			open = text + i;
	if (open) {
		file_len = len - (size_t)(open - text) - 2;
		file = cs_arena_strndup(r->arena, open + 1, file_len);
		len = (size_t)(open - text) - 1;
	}
	frame.function = cs_arena_strndup(r->arena, text, len);
	if (!frame.function || (open && !file))
		return &cs_nomem;
	if (file)
		frame.line = cut_line_number(file, &file_len);
	frame.python = python || (file && is_python_file(file, file_len));
	if (frame.python)
		frame.file = file;
	else
		frame.library = file;
	return CS_PUSH(&r->frames, frame, CS_MAX_FACT_FRAMES, "frames");
}

static struct cs_error *add_frames(struct record *r, const json_t *object, const char *key, bool python)
{
	const json_t *list, *frame;
	size_t i;

	CS_TRY(list_of(object, key, &list));
	json_array_foreach(list, i, frame)
	{
		if (!json_is_string(frame))
			return wrong(key, "a list of texts, \"function (library)\"");
		CS_TRY(add_frame(r, json_string_value(frame), strlen(json_string_value(frame)),
				 (int64_t)i, python));
	}
	return NULL;
}

/* A copy of the @n objects at @v in the arena. */
static struct cs_error *keep(struct record *r, const void *v, size_t n, size_t size, void *ret)
{
	void *copy = cs_arena_calloc(r->arena, n + 1, size);

	if (!copy)
		return &cs_nomem;
	if (n)
		memcpy(copy, v, n * size);
	memcpy(ret, &copy, sizeof(copy));
	return NULL;
}

static struct cs_error *read_thread(struct record *r, const json_t *json, bool first,
				    struct cs_paste_thread *ret)
{
	const json_t *crashed = json_object_get(json, "crashed"), *tid = json_object_get(json, "tid");
	const char *gil, *lock;

	if (!json_is_object(json))
		return wrong("threads", "a list of objects");
	*ret = (struct cs_paste_thread){.crashed = first && r->paste->kind != CS_PASTE_HANG};
	CS_TRY(text_of(r, json, "name", &ret->name));
	CS_TRY(text_of(r, json, "role", &ret->role));
	CS_TRY(text_of(r, json, "gil", &gil));
	ret->holds_gil = gil && !strcmp(gil, "holds");
	ret->waits_for_gil = gil && !strcmp(gil, "waits");
	CS_TRY(text_of(r, json, "lock", &lock));
	ret->deadlocked = lock && !strcmp(lock, "deadlocked");
	ret->orphaned = lock && !strcmp(lock, "orphaned");
	if (json_is_boolean(crashed))
		ret->crashed = json_is_true(crashed);
	if (json_is_integer(tid) && json_integer_value(tid) > 0 && json_integer_value(tid) <= INT32_MAX)
		ret->tid = (int32_t)json_integer_value(tid);
	r->frames.n = 0;
	CS_TRY(add_frames(r, json, "frames", false));
	CS_TRY(add_frames(r, json, "python_frames", true));
	/* The Python frames of the record itself are those of its first thread. */
	if (first)
		CS_TRY(add_frames(r, r->json, "python_frames", true));
	ret->n_frames = r->frames.n;
	return keep(r, r->frames.v, r->frames.n, sizeof(*r->frames.v), &ret->frames);
}

/* "Current thread 0x... (most recent call first)": so faulthandler marks who crashed, wherever it stands. */
static void mark_current(const struct record *r, struct cs_paste_thread *threads, size_t n)
{
	struct cs_paste_thread *current = NULL;

	for (size_t i = 0; i < n && r->paste->kind != CS_PASTE_HANG; i++)
		if (threads[i].name && !strncmp(threads[i].name, "Current thread", 14))
			current = &threads[i];
	for (size_t i = 0; current && i < n; i++)
		threads[i].crashed = &threads[i] == current;
}

static struct cs_error *read_threads(struct record *r)
{
	CS_CLEANUP(json_decrefp) json_t *alone = json_object();
	const json_t *list, *python, *json;
	struct cs_paste_thread *threads;
	size_t n, i;

	CS_TRY(list_of(r->json, "threads", &list));
	CS_TRY(list_of(r->json, "python_frames", &python));
	n = json_array_size(list);
	if (n > CS_MAX_THREADS)
		return cs_error_new(CS_ERR_LIMIT, "threads: more than %lu", CS_MAX_THREADS);
	threads = cs_arena_calloc(r->arena, n + 1, sizeof(*threads));
	if (!threads || !alone)
		return &cs_nomem;
	json_array_foreach(list, i, json)
		CS_TRY(read_thread(r, json, !i, &threads[i]));
	if (!n && json_array_size(python))
		CS_TRY(read_thread(r, alone, true, &threads[n++]));
	mark_current(r, threads, n);
	r->paste->threads = threads;
	r->paste->n_threads = n;
	return NULL;
}

/* The texts of list @key; of a text alone, where @or_text allows it. */
static struct cs_error *texts_of(struct record *r, const char *key, const char *must, bool or_text,
				 const char *const **ret, size_t *ret_n)
{
	const json_t *value = json_object_get(r->json, key), *item;
	const char **texts;
	size_t i;

	*ret_n = 0;
	if (!value || json_is_null(value))
		return NULL;
	if (!json_is_array(value) && !(or_text && json_is_string(value)))
		return wrong(key, must);
	texts = cs_arena_calloc(r->arena, json_array_size(value) + 2, sizeof(*texts));
	if (!texts)
		return &cs_nomem;
	*ret = texts;
	if (json_is_string(value)) {
		*ret_n = 1;
		*texts = cs_arena_strdup(r->arena, json_string_value(value));
		return *texts ? NULL : &cs_nomem;
	}
	json_array_foreach(value, i, item)
	{
		if (!json_is_string(item))
			return wrong(key, must);
		texts[i] = cs_arena_strdup(r->arena, json_string_value(item));
		if (!texts[i])
			return &cs_nomem;
	}
	*ret_n = i;
	return NULL;
}

/* {"RANK": "6"} or {"torch": "2.6.0"} */
static struct cs_error *pairs_of(struct record *r, const char *key, const struct cs_paste_pair **ret,
				 size_t *ret_n)
{
	json_t *object = json_object_get(r->json, key), *value;
	size_t n = json_object_size(object), i = 0;
	struct cs_paste_pair *v;
	const char *name;

	if (object && !json_is_null(object) && !json_is_object(object))
		return wrong(key, "an object of texts");
	v = cs_arena_calloc(r->arena, n + 1, sizeof(*v));
	if (!v)
		return &cs_nomem;
	json_object_foreach(object, name, value)
	{
		if (!json_is_string(value))
			return wrong(key, "an object of texts");
		v[i].name = cs_arena_strdup(r->arena, name);
		v[i].value = cs_arena_strdup(r->arena, json_string_value(value));
		if (!v[i].name || !v[i].value)
			return &cs_nomem;
		i++;
	}
	*ret = v;
	*ret_n = n;
	return NULL;
}

static struct cs_error *read_kind(struct record *r)
{
	static const struct {
		const char *word;
		enum cs_paste_kind kind;
	} kinds[] = {{"crash", CS_PASTE_CRASH}, {"hang", CS_PASTE_HANG}, {"oom", CS_PASTE_OOM}};
	const json_t *exit = json_object_get(r->json, "exit");
	struct cs_paste *paste = r->paste;
	const char *kind;

	CS_TRY(text_of(r, r->json, "signal", &paste->signal));
	CS_TRY(text_of(r, r->json, "kind", &kind));
	paste->kind = kind ? CS_PASTE_UNKNOWN : paste->signal ? CS_PASTE_CRASH : CS_PASTE_HANG;
	for (size_t i = 0; kind && i < CS_COUNT(kinds); i++)
		if (!strcmp(kind, kinds[i].word))
			paste->kind = kinds[i].kind;
	if (paste->kind == CS_PASTE_UNKNOWN)
		return wrong("kind", "crash, hang or oom");
	if (!exit || json_is_null(exit))
		return NULL;
	if (!json_is_integer(exit) || json_integer_value(exit) < -64 || json_integer_value(exit) > 255)
		return wrong("exit", "a number like 137 or -9");
	paste->has_exit = true;
	paste->exit = (int32_t)json_integer_value(exit);
	return NULL;
}

static struct cs_error *read_record(struct record *r)
{
	struct cs_paste *p = r->paste;

	CS_TRY(read_kind(r));
	CS_TRY(texts_of(r, "modules", "a list of file names", false, &p->modules, &p->n_modules));
	CS_TRY(read_threads(r));
	CS_TRY(texts_of(r, "message", "a text, or a list of texts", true, &p->messages, &p->n_messages));
	CS_TRY(texts_of(r, "facts", "a list of words", false, &p->facts, &p->n_facts));
	CS_TRY(pairs_of(r, "env", &p->environment, &p->n_environment));
	return pairs_of(r, "versions", &p->versions, &p->n_versions);
}

struct cs_error *cs_paste_of_record(const char *line, size_t len, struct cs_arena *arena,
				    struct cs_paste *ret)
{
	CS_CLEANUP(json_decrefp) json_t *json = NULL;
	CS_CLEANUP(record_deinit) struct record r = {.paste = ret, .arena = arena};
	json_error_t why;

	*ret = (struct cs_paste){.format = "record"};
	if (len > CS_MAX_RECORD)
		return cs_error_new(CS_ERR_LIMIT, "more than %lu bytes", CS_MAX_RECORD);
	json = json_loadb(line, len, 0, &why);
	if (!json)
		return cs_error_new(CS_ERR_FORMAT, "not JSON: %s (column %d)", why.text, why.column);
	if (!json_is_object(json))
		return cs_error_new(CS_ERR_FORMAT, "must be a JSON object");
	r.json = json;
	CS_TRY(text_of(&r, json, "source", &ret->source));
	return read_record(&r);
}
