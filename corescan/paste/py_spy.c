/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * py-spy dump, as text: a line of the process, one of its Python, then threads, innermost frames first. With
 * --native, frames of libraries are woven in; with --locals, values follow each frame, further right.
 *
 *	Process 17: python train.py
 *	Python v3.10.12 (/usr/bin/python3.10)
 *
 *	Thread 17 (active+gil): "MainThread"
 *	    f (train.py:12)
 *	    pthread_cond_wait (libc.so.6)
 *
 * With --subprocesses, a rule of dashes and the dump of each child follow the parent's threads: other
 * reports. ray stack has "Stack dump for USER PID ..." before each process.
 * Who was dumped was alive: it hung, or was looked at.
 * (The forms are those of py-spy 0.3.14, 0.4.1 and 0.4.3, and of older ones as issues show them.)
 */
#include "paste/python_text.h"

#include <stdio.h>
#include <string.h>

enum {
	OUTSIDE,
	PROCESS, /* after "Process 17: ...": who that is, its thread tells */
	CHILD,   /* and "Parent Process 16" */
	THREAD,
	REPEATED, /* a thread that the report has already */
};

/* "Process 17: loss 0.3" is a log's: nothing is done before a thread follows. */
static bool take_process(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	uint64_t pid;

	if (!cs_group_number(g, 1, 10, &pid) || !pid || pid > INT32_MAX)
		return false;
	state->phase = PROCESS;
	state->number = state->number << 32 | pid; /* above: the one whose report is made */
	state->line = line->number;
	cs_strbuf_deinit(&state->text);
	cs_strbuf_init(&state->text, 64);
	return true;
}

static bool take_python(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	size_t len;
	const char *version = cs_group_bytes(g, 1, &len);

	(void)line;
	if (state->phase != PROCESS || !version)
		return false;
	cs_strbuf_put(&state->text, version, len);
	return true;
}

static bool take_parent(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	if (cs_paster_state(p)->phase != PROCESS)
		return false;
	cs_paster_state(p)->phase = CHILD;
	return true;
}

/* The first thread after "Process 17: ...". */
static void begin_process(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *state = cs_paster_state(p);
	struct cs_line first = *line;
	uint32_t pid = (uint32_t)state->number;
	bool again = state->phase == CHILD && state->number >> 32 == pid;
	char version[65];

	snprintf(version, sizeof(version), "%s", cs_strbuf_text(&state->text));
	first.number = state->line;
	/*
	 * Versions up to 0.4.1 print each child again after every thread of the parent. The parent's
	 * threads go to the child's report then: nothing in the text tells them from the child's.
	 */
	if (!again)
		cs_paster_fresh(p, &first);
	state->number = pid;
	cs_paster_pid(p, (int32_t)pid);
	if (*version && !again)
		cs_paster_version(p, "python", version);
}

static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	struct cs_paste_thread thread = {0};

	if (state->phase == PROCESS || state->phase == CHILD)
		begin_process(p, line);
	else if (state->phase == OUTSIDE && cs_paste_has_dump(p) && !cs_paster_has(p, &cs_dialect_py_spy))
		cs_paster_fresh(p, line); /* threads without a process, after another tool's */
	/* Without a native id it is a pthread_t, in hexadecimal. */
	thread.tid = cs_group_id(g, 1);
	state->phase = THREAD;
	if (cs_paster_has_tid(p, thread.tid)) {
		if ((uint32_t)state->number) {
			state->phase = REPEATED;
			return true;
		}
		cs_paster_fresh(p, line);
		state->phase = THREAD;
	}
	thread.holds_gil = cs_group_is(g, 3);
	thread.name = cs_group_text(p, g, 4);
	thread.main = thread.name && !strcmp(thread.name, "MainThread");
	cs_paster_kind(p, CS_PASTE_HANG);
	cs_paster_thread(p, &thread, false);
	return true;
}

static bool is_address(struct cs_span s)
{
	return cs_span_begins(s, "0x");
}

/* Values of locals are further right: "        Arguments:", "            x: 3". */
static bool is_frame(struct cs_paster *p, const struct cs_line *line)
{
	return cs_paster_state(p)->phase == THREAD && line->indent < 8;
}

static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_span name = cs_span_of_group(g, 1), file = cs_span_of_group(g, 2);

	if (!is_frame(p, line))
		return cs_paster_state(p)->phase == REPEATED;
	frame.python = cs_group_is(g, 3) && !cs_is_native_source(file);
	if (!is_address(name))
		frame.function = cs_paster_keep(p, name.at, name.len);
	if (!cs_group_is(g, 3)) {
		frame.library = cs_paste_library(p, file);
	} else {
		cs_span_number(cs_span_of_group(g, 3), &frame.line);
		frame.file = cs_paster_keep(p, file.at, file.len);
	}
	cs_paster_frame(p, &frame);
	return true;
}

/* Python runs code that has no file: "<string>", or a function whose line is not known. */
static bool take_odd_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.python = true, .number = -1};

	if (!is_frame(p, line))
		return cs_paster_state(p)->phase == REPEATED;
	frame.function = cs_group_text(p, g, 1);
	frame.file = cs_group_text(p, g, 2);
	cs_paster_frame(p, &frame);
	return true;
}

static bool more(struct cs_paster *p, const struct cs_line *line)
{
	return cs_paster_state(p)->phase >= THREAD && line->indent >= 8;
}

/* Between processes; a cut is where the next one begins. */
static bool take_dashes(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	return cs_paster_state(p)->phase >= THREAD;
}

static const struct cs_rule rules[] = {
	{":", "^ *(\\S.*?) \\(([^()]*[^():]):(\\d+)\\)$", take_frame},
	{"Thread ", "^ *Thread (0x[0-9A-Fa-f]+|\\d+) \\((active|idle)(\\+gil)?\\)(?:: \"(.*)\")?$",
	 take_thread},
	{".so", "^ *(\\S.*?) \\(([^()]+\\.so[.0-9]*)\\)$", take_frame},
	{" (", "^ {4}(\\S.*?) \\((<[^()]+>|[^()]+\\.py)\\)$", take_odd_frame},
	{" (", "^ {4}(0x[0-9a-f]+|[A-Za-z_][^ ]*|.+\\)(?: const)?) \\(([^(): ][^()]*)\\)$", take_frame},
	{"Process ", "^Process (\\d+)(?:: .*|:?)$", take_process},
	{"Python v", "^Python v(\\d+\\.\\d+\\.\\S+) \\(.*\\)$", take_python},
	{"Stack dump for ", "^ *Stack dump for \\S+ +(\\d+) ", take_process},
	{"Parent Process ", "^Parent Process \\d+", take_parent},
	{"----------", "^-{80}$", take_dashes},
};

const struct cs_dialect cs_dialect_py_spy = {
	.name = "py-spy",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
};
