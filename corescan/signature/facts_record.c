/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts of a record: what somebody reported, as one line of JSON. The bytes may be anybody's, and a
 * report is cut: what it does not say is not known, which is not the same as absent.
 */
#include "signature/facts.h"

#include "base/limits.h"
#include "base/text.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

struct record {
	const json_t *json;
	struct cs_facts_maker maker;
	struct cs_facts *facts;
	struct cs_arena *arena;
	bool listed; /* it has a list of modules */
};

static void record_deinit(struct record *r)
{
	cs_facts_maker_deinit(&r->maker);
}

static struct cs_error *wrong(const char *key, const char *must)
{
	return cs_error_new(CS_ERR_FORMAT, "%s: must be %s", key, must);
}

/* The text of @key; NULL: none, or empty. */
static struct cs_error *text_of(const json_t *object, const char *key, const char **ret)
{
	const json_t *value = json_object_get(object, key);

	*ret = NULL;
	if (!value || json_is_null(value))
		return NULL;
	if (!json_is_string(value))
		return wrong(key, "a text");
	if (json_string_length(value))
		*ret = json_string_value(value);
	return NULL;
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
static void cut_line_number(char *file, size_t *len)
{
	char *colon = strrchr(file, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")] ||
	    !is_python_file(file, (size_t)(colon - file)))
		return;
	*colon = '\0';
	*len = (size_t)(colon - file);
}

/* "function (library)"; @python says that it stands in a list of Python frames. */
static struct cs_error *add_frame(struct record *r, const char *frame, size_t len, int64_t number,
				  bool python)
{
	const char *open = NULL, *function;
	char *file = NULL;
	size_t file_len = 0;

	for (size_t i = 1; i + 1 < len && frame[len - 1] == ')'; i++)
		if (frame[i] == '(' && frame[i - 1] == ' ')
			open = frame + i;
	if (open) {
		file_len = len - (size_t)(open - frame) - 2;
		file = cs_arena_strndup(r->arena, open + 1, file_len);
		len = (size_t)(open - frame) - 1;
	}
	function = cs_arena_strndup(r->arena, frame, len);
	if (!function || (open && !file))
		return &cs_nomem;
	if (file)
		cut_line_number(file, &file_len);
	if (python || (file && is_python_file(file, file_len)))
		cs_facts_python(&r->maker, function, file, number);
	else
		cs_facts_native(&r->maker, function, NULL, file, number);
	/* Without a list of modules, those on stacks are what is known of them. */
	if (file && !r->listed && !is_python_file(file, file_len))
		cs_facts_module(&r->maker, file);
	return NULL;
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

/* Threads by the names that PyTorch, CUDA and others give them; 15 characters at most. */
static const char *role_of_name(const char *name)
{
	static const struct {
		const char *name, *role;
	} rows[] = {
		{"pt_nccl_watchdg", "nccl-watchdog"},
		{"pt_nccl_heartbt", "nccl-heartbeat"},
		{"pt_main_thread", "main"},
		{"MainThread", "main"},
		{"pt_autograd_", "autograd"},
		{"jemalloc_bg_thd", "jemalloc-background"},
		{"cuda-EvtHandlr", "cuda-driver"},
		{"cuda0", "cuda-driver"},
		{"NCCL", "nccl-proxy"},
	};

	for (size_t i = 0; name && i < CS_COUNT(rows); i++)
		if (!strncmp(name, rows[i].name, strlen(rows[i].name)))
			return rows[i].role;
	return NULL;
}

static struct cs_error *add_thread(struct record *r, const json_t *json, const json_t *extra, bool first)
{
	struct cs_fact_thread thread = {.crashed = first && r->facts->kind != CS_KIND_HANG};
	const json_t *crashed = json_object_get(json, "crashed"), *tid = json_object_get(json, "tid");
	const char *gil;

	if (!json_is_object(json))
		return wrong("threads", "a list of objects");
	CS_TRY(text_of(json, "name", &thread.name));
	CS_TRY(text_of(json, "role", &thread.role));
	if (!thread.role)
		thread.role = role_of_name(thread.name);
	CS_TRY(text_of(json, "gil", &gil));
	thread.holds_gil = gil && !strcmp(gil, "holds");
	thread.waits_for_gil = gil && !strcmp(gil, "waits");
	if (json_is_boolean(crashed))
		thread.crashed = json_is_true(crashed);
	if (json_is_integer(tid) && json_integer_value(tid) > 0 && json_integer_value(tid) <= INT32_MAX)
		thread.tid = (int32_t)json_integer_value(tid);
	CS_TRY(add_frames(r, json, "frames", false));
	CS_TRY(add_frames(r, json, "python_frames", true));
	if (extra)
		CS_TRY(add_frames(r, extra, "python_frames", true));
	thread.main = thread.role && !strcmp(thread.role, "main");
	thread.stack = cs_facts_stack(&r->maker);
	cs_facts_thread(&r->maker, &thread);
	return NULL;
}

/* The Python frames of the record itself are those of its first thread. */
static struct cs_error *add_threads(struct record *r)
{
	const json_t *list, *python, *thread;
	json_t *alone;
	struct cs_error *err;
	size_t i;

	CS_TRY(list_of(r->json, "threads", &list));
	CS_TRY(list_of(r->json, "python_frames", &python));
	json_array_foreach(list, i, thread)
	{
		if (i >= CS_MAX_THREADS)
			return cs_error_new(CS_ERR_LIMIT, "threads: more than %lu", CS_MAX_THREADS);
		CS_TRY(add_thread(r, thread, i ? NULL : r->json, !i));
	}
	if (json_array_size(list) || !json_array_size(python))
		return NULL;
	alone = json_object();
	err = alone ? add_thread(r, alone, r->json, true) : &cs_nomem;
	json_decref(alone);
	return err;
}

/* "(exitcode: -7)", "exit code 137": the number behind such words. */
static void exit_of_message(struct cs_facts *f, const char *message)
{
	static const char *const words[] = {"exitcode", "exit code", "exit status", "returncode",
					    "return code"};

	for (size_t i = 0; i < CS_COUNT(words) && !f->has_exit; i++) {
		const char *p = strstr(message, words[i]);
		char *end;
		long value;

		if (!p)
			continue;
		p += strlen(words[i]);
		p += strspn(p, " :=\"'");
		value = strtol(p, &end, 10);
		if (end == p || value < -64 || value > 255)
			continue;
		f->has_exit = true;
		f->exit = (int32_t)value;
	}
}

static struct cs_error *add_messages(struct record *r)
{
	static const struct cs_fact_message said = {.final = true};
	const json_t *value = json_object_get(r->json, "message"), *item;
	size_t i;

	if (json_is_string(value)) {
		cs_facts_message(&r->maker, json_string_value(value), &said);
		exit_of_message(r->facts, json_string_value(value));
		return NULL;
	}
	if (!value || json_is_null(value))
		return NULL;
	if (!json_is_array(value))
		return wrong("message", "a text, or a list of texts");
	json_array_foreach(value, i, item)
	{
		if (!json_is_string(item))
			return wrong("message", "a text, or a list of texts");
		cs_facts_message(&r->maker, json_string_value(item), &said);
		exit_of_message(r->facts, json_string_value(item));
	}
	return NULL;
}

static struct cs_error *add_modules(struct record *r)
{
	const json_t *list, *item;
	size_t i;

	CS_TRY(list_of(r->json, "modules", &list));
	r->listed = list != NULL;
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return wrong("modules", "a list of file names");
		cs_facts_module(&r->maker, json_string_value(item));
	}
	return NULL;
}

static struct cs_error *read_facts(struct record *r)
{
	const json_t *list, *item;
	size_t i;

	CS_TRY(list_of(r->json, "facts", &list));
	json_array_foreach(list, i, item)
	{
		const char *word = json_is_string(item) ? json_string_value(item) : "";
		enum cs_fact fact = cs_fact_named(word);

		if (fact == CS_FACT_COUNT)
			return cs_error_new(CS_ERR_FORMAT, "facts: there is no fact '%.40s'", word);
		r->facts->facts |= UINT64_C(1) << fact;
	}
	return NULL;
}

/* {"RANK": "6"} or {"torch": "2.6.0"}: pairs of texts, as variables; versions begin with the same
 * members. */
static struct cs_error *pairs_of(struct record *r, const char *key, struct cs_variable **ret,
				 size_t *ret_n)
{
	json_t *object = json_object_get(r->json, key);
	size_t n = json_object_size(object), i = 0;
	struct cs_variable *v;
	const char *name;
	json_t *value;

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

static struct cs_error *read_pairs(struct record *r)
{
	struct cs_variable *env, *versions;
	struct cs_version *list;
	size_t n;

	CS_TRY(pairs_of(r, "env", &env, &n));
	r->facts->environment = env;
	r->facts->n_environment = n;
	CS_TRY(pairs_of(r, "versions", &versions, &n));
	list = cs_arena_calloc(r->arena, n + 1, sizeof(*list));
	if (!list)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++)
		list[i] = (struct cs_version){.name = versions[i].name, .value = versions[i].value};
	r->facts->versions = list;
	r->facts->n_versions = n;
	return NULL;
}

static struct cs_error *read_kind(struct record *r)
{
	static const char *const words[] = {
		[CS_KIND_CRASH] = "crash",
		[CS_KIND_HANG] = "hang",
		[CS_KIND_OOM] = "oom",
	};
	const char *signal, *kind;
	const json_t *exit = json_object_get(r->json, "exit");
	size_t k = 0;

	CS_TRY(text_of(r->json, "signal", &signal));
	CS_TRY(text_of(r->json, "kind", &kind));
	cs_facts_signal(&r->maker, signal, r->facts);
	while (kind && k < CS_COUNT(words) && strcmp(kind, words[k]))
		k++;
	if (k == CS_COUNT(words))
		return wrong("kind", "crash, hang or oom");
	r->facts->kind = kind ? (enum cs_kind)k : signal ? CS_KIND_CRASH : CS_KIND_HANG;
	r->facts->facts |= CS_FACT_BIT(REPORT);
	if (r->facts->kind == CS_KIND_HANG)
		r->facts->facts |= CS_FACT_BIT(NO_CRASH);
	if (!exit || json_is_null(exit))
		return NULL;
	if (!json_is_integer(exit) || json_integer_value(exit) < -64 || json_integer_value(exit) > 255)
		return wrong("exit", "a number like 137 or -9");
	r->facts->has_exit = true;
	r->facts->exit = (int32_t)json_integer_value(exit);
	return NULL;
}

/* "Current thread 0x... (most recent call first)": so faulthandler marks who crashed, wherever it stands.
 */
static void mark_current(struct record *r)
{
	struct cs_fact_thread *current = NULL;

	for (size_t i = 0; i < r->maker.threads.n && r->facts->kind != CS_KIND_HANG; i++)
		if (r->maker.threads.v[i].name &&
		    !strncmp(r->maker.threads.v[i].name, "Current thread", 14))
			current = &r->maker.threads.v[i];
	if (!current)
		return;
	for (size_t i = 0; i < r->maker.threads.n; i++)
		r->maker.threads.v[i].crashed = false;
	current->crashed = true;
}

/* The interpreter's own functions take turns on every stack that runs Python. */
static bool is_interpreter(const char *text)
{
	static const char *const names[] = {"_Py",           "Py",       "call_function", "cfunction",
					    "method_",       "slot_",    "type_call",     "object_",
					    "function_code", "do_call",  "vectorcall",    "builtin_",
					    "fast_function", "partial_", "wrap",          "??"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A group of frames that repeats, as far as the report goes: what a stack that is used up looks like. */
static bool recurs(const struct record *r, const struct cs_fact_frame *frames, uint32_t n)
{
	for (uint32_t period = 1; period <= 12; period++) {
		uint32_t run = 0;
		bool says = false;

		for (uint32_t i = 0; i + period < n; i++) {
			bool same = frames[i].text == frames[i + period].text;

			run = same ? run + 1 : 0;
			says = same && (says || !is_interpreter(r->maker.texts.v[frames[i].text].text));
			if (says && run >= period && run + period >= 10)
				return true;
		}
	}
	return false;
}

static void find_recursion(struct record *r)
{
	const char *signal = r->facts->has_signal ? r->maker.texts.v[r->facts->signal].text : "";

	if (strcmp(signal, "SIGSEGV") && strcmp(signal, "SIGBUS"))
		return;
	for (size_t i = 0; i < r->maker.threads.n; i++) {
		const struct cs_fact_thread *t = &r->maker.threads.v[i];
		const struct cs_fact_stack *s = &r->maker.stacks.v[t->stack];

		if (t->crashed &&
		    (recurs(r, s->frames, s->n_frames) || recurs(r, s->python, s->n_python)))
			r->facts->facts |= CS_FACT_BIT(STACK_OVERFLOW);
	}
}

/* Names are kept by the facts, but belong to the JSON. */
static struct cs_error *own_names(struct record *r)
{
	for (size_t i = 0; i < r->maker.threads.n; i++) {
		struct cs_fact_thread *t = &r->maker.threads.v[i];
		const char *name = t->name, *role = t->role;

		t->name = cs_arena_strdup(r->arena, name);
		t->role = cs_arena_strdup(r->arena, role);
		if ((name && !t->name) || (role && !t->role))
			return &cs_nomem;
	}
	return NULL;
}

static struct cs_error *read_record(struct record *r)
{
	CS_TRY(read_kind(r));
	CS_TRY(add_modules(r));
	CS_TRY(add_threads(r));
	CS_TRY(add_messages(r));
	CS_TRY(read_facts(r));
	CS_TRY(read_pairs(r));
	CS_TRY(own_names(r));
	if (r->maker.nomem)
		return &cs_nomem;
	mark_current(r);
	find_recursion(r);
	return cs_facts_finish(&r->maker, r->facts);
}

struct cs_error *cs_facts_of_record(const char *line, size_t len, struct cs_arena *arena,
				    struct cs_facts *ret, const char **source_ret)
{
	CS_CLEANUP(json_decrefp) json_t *json = NULL;
	CS_CLEANUP(record_deinit)
	struct record r = {.maker = {.arena = arena}, .facts = ret, .arena = arena};
	const char *source;
	json_error_t why;

	*ret = (struct cs_facts){0};
	*source_ret = NULL;
	if (len > CS_MAX_RECORD)
		return cs_error_new(CS_ERR_LIMIT, "more than %lu bytes", CS_MAX_RECORD);
	json = json_loadb(line, len, 0, &why);
	if (!json)
		return cs_error_new(CS_ERR_FORMAT, "not JSON: %s (column %d)", why.text, why.column);
	if (!json_is_object(json))
		return cs_error_new(CS_ERR_FORMAT, "must be a JSON object");
	r.json = json;
	CS_TRY(text_of(json, "source", &source));
	*source_ret = cs_arena_strdup(arena, source);
	if (source && !*source_ret)
		return &cs_nomem;
	return read_record(&r);
}
