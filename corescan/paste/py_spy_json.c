/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * py-spy dump --json: an array of threads, each with the pid of its process, over many lines or on one; after
 * jq, also threads without the array. The text is taken apart thread by thread as it comes, so that of a
 * dump that is cut off only the thread at its end is lost, and said to be.
 * (The members are those of py-spy 0.3.14 and 0.4.1.)
 *
 * Any program may print brackets: lines are taken from the one on that names a member of py-spy's threads.
 * Those before it, "[" and "{", are kept until then, and nothing else is kept from other dialects.
 */
#include "paste/python_text.h"

#include "base/limits.h"

#include <jansson.h>
#include <string.h>

#define MAX_DEPTH 1000U /* of brackets: jansson reads 2048 */

enum {
	OUTSIDE,
	OPENED, /* an array, or an object, has begun; whose is not known */
	INSIDE,
};

/* ---- one thread ---- */

static struct cs_span text_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_string(value))
		return (struct cs_span){0};
	return (struct cs_span){json_string_value(value), json_string_length(value)};
}

static const char *keep(struct cs_paster *p, struct cs_span s)
{
	return s.len ? cs_paster_keep(p, s.at, s.len) : NULL;
}

static void add_frame(struct cs_paster *p, const json_t *f)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_span name = text_of(f, "name"), file = text_of(f, "filename");
	struct cs_span module = text_of(f, "module");
	json_int_t number = json_integer_value(json_object_get(f, "line"));

	if (!file.len)
		file = text_of(f, "short_filename");
	if (!cs_span_begins(name, "0x"))
		frame.function = keep(p, name);
	frame.python = cs_span_ends(file, ".pyx") || (!module.len && !cs_is_native_source(file));
	if (number > 0 && number <= UINT32_MAX)
		frame.line = (uint32_t)number;
	if (!frame.python)
		frame.library = cs_paste_library(p, module);
	if (frame.python || frame.line)
		frame.file = keep(p, file);
	cs_paster_frame(p, &frame);
}

static int32_t id_of(const json_t *object, const char *name)
{
	json_int_t value = json_integer_value(json_object_get(object, name));

	return value > 0 && value <= INT32_MAX ? (int32_t)value : 0;
}

/* False: it is none of py-spy's. */
static bool add_thread(struct cs_paster *p, const struct cs_line *line, const json_t *t)
{
	const json_t *frames = json_object_get(t, "frames"), *frame;
	struct cs_paste_thread thread = {.tid = id_of(t, "os_thread_id")};
	int32_t pid = id_of(t, "pid");
	size_t i;

	if (!json_is_array(frames))
		return false;
	/* An array may have the threads of several processes; so may threads without one. */
	if ((pid && cs_paster_known_pid(p) && pid != cs_paster_known_pid(p)) ||
	    cs_paster_has_tid(p, thread.tid))
		cs_paster_fresh(p, line);
	cs_paster_pid(p, pid);
	cs_paster_kind(p, CS_PASTE_HANG);
	thread.name = keep(p, text_of(t, "thread_name"));
	thread.main = thread.name && !strcmp(thread.name, "MainThread");
	thread.holds_gil = json_is_true(json_object_get(t, "owns_gil"));
	cs_paster_thread(p, &thread, false);
	json_array_foreach(frames, i, frame)
		add_frame(p, frame);
	cs_paster_end_thread(p);
	return true;
}

/* ---- lines ---- */

/* state->number: depth of brackets, and above: that of threads */
static unsigned depth_of(const struct cs_paster_state *s)
{
	return (unsigned)(s->number & 0xffff);
}

static unsigned base_of(const struct cs_paster_state *s)
{
	return (unsigned)(s->number >> 32);
}

static void give_up(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (s->phase == INSIDE && (s->text.len || s->text.cut))
		cs_paster_drop(p, 1);
	cs_strbuf_deinit(&s->text);
	*s = (struct cs_paster_state){0};
}

/* A whole value in state->text. */
static void take_value(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t len = s->text.cut ? 0 : s->text.len;
	json_t *value = NULL;
	struct cs_paster_state before = *s;

	if (len)
		value = json_loadb(cs_strbuf_text(&s->text), len, JSON_REJECT_DUPLICATES, NULL);
	/* A new report forgets what a dialect remembers. */
	*s = (struct cs_paster_state){0};
	if (!value || !add_thread(p, line, value))
		cs_paster_drop(p, 1);
	cs_strbuf_truncate(&before.text, 0);
	before.text.cut = false;
	json_decref(value);
	*cs_paster_state(p) = before;
}

/* Add one line's text to the thread being read; false: it is not JSON. */
static bool feed(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	bool quoted = false;

	for (const char *c = line->text; *c; c++) {
		unsigned depth = depth_of(s);

		if (depth > base_of(s) || *c == '{')
			cs_strbuf_putc(&s->text, *c);
		if (quoted) {
			if (*c == '\\' && c[1])
				cs_strbuf_putc(&s->text, *++c);
			else if (*c == '"')
				quoted = false;
		} else if (*c == '"') {
			quoted = true;
		} else if (*c == '{' || *c == '[') {
			if (depth >= MAX_DEPTH)
				return false;
			s->number++;
		} else if (*c == '}' || *c == ']') {
			if (!depth)
				return false;
			s->number--;
			if (depth_of(s) == base_of(s) && *c == '}' && s->phase == INSIDE)
				take_value(p, line);
		}
	}
	if (depth_of(s) > base_of(s))
		cs_strbuf_putc(&s->text, '\n');
	return true;
}

static bool is_json(const struct cs_line *line)
{
	const char *text = line->text + line->indent;

	return !*text || strchr("{}[],\"-0123456789", *text) || !strncmp(text, "null", 4) ||
	       !strncmp(text, "true", 4) || !strncmp(text, "false", 5);
}

/* Lines of a value that has begun. */
static bool go_on(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (s->phase == OUTSIDE)
		return false;
	if (!is_json(line) || !feed(p, line)) {
		give_up(p);
		return false;
	}
	if (!depth_of(s))
		give_up(p);
	return true;
}

static bool take_opening(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	bool array = cs_group_is(g, 1);

	if (s->phase == INSIDE)
		return go_on(p, line);
	/* "[" and then "{", or "{" alone; a second "[" begins anew. */
	if (s->phase == OUTSIDE || array) {
		give_up(p);
		s->phase = OPENED;
		s->line = line->number;
		s->number = array ? UINT64_C(1) << 32 : 0;
		cs_strbuf_init(&s->text, CS_MAX_RECORD);
	}
	return feed(p, line);
}

static bool take_member(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paster_state before;
	struct cs_line first = *line;

	(void)g;
	if (s->phase == INSIDE)
		return go_on(p, line);
	if (s->phase != OPENED || depth_of(s) != base_of(s) + 1)
		return false;
	before = *s;
	*s = (struct cs_paster_state){0};
	first.number = before.line;
	/* Without an array, a thread is of the same dump as the one before it. */
	if (base_of(&before) || !cs_paster_has(p, &cs_dialect_py_spy_json))
		cs_paster_fresh(p, &first);
	*cs_paster_state(p) = before;
	s->phase = INSIDE;
	return go_on(p, line);
}

/* All on one line. */
static bool take_line(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	bool array = cs_group_is(g, 1);

	if (s->phase == INSIDE)
		return go_on(p, line);
	give_up(p);
	if (array || !cs_paster_has(p, &cs_dialect_py_spy_json))
		cs_paster_fresh(p, line);
	*s = (struct cs_paster_state){
		.phase = INSIDE,
		.line = line->number,
		.number = array ? UINT64_C(1) << 32 : 0,
	};
	cs_strbuf_init(&s->text, CS_MAX_RECORD);
	return go_on(p, line);
}

static bool more(struct cs_paster *p, const struct cs_line *line)
{
	if (cs_paster_state(p)->phase == OPENED) {
		give_up(p);
		return false;
	}
	return go_on(p, line);
}

#define MEMBERS "\"(?:pid|thread_id|thread_name|os_thread_id|active|owns_gil|frames|process_info)\" *:"

static const struct cs_rule rules[] = {
	{"\"", "^ *" MEMBERS, take_member},
	{"\"frames\"", "^ *(\\[)? *\\{ *" MEMBERS ".*\"frames\" *:", take_line},
	{"{", "^ *(\\[)? *\\{$", take_opening},
	{"[", "^ *(\\[)$", take_opening},
};

const struct cs_dialect cs_dialect_py_spy_json = {
	.name = "py-spy",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
	.end = give_up,
};
