/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pystack remote and pystack core: threads with the outermost frame first, Python's and native ones woven.
 *
 *	Traceback for thread 17 (python) [Has the GIL] (most recent call last):
 *	    (Python) File "/x.py", line 3, in f
 *	        the source
 *	      Arguments:
 *	        x: 3
 *	    (C) File "???", line 0, in pthread_cond_wait (libc.so.6)
 *
 * The main thread is the last of its process, for the interpreter's list begins with the newest; what follows
 * it is another process, of which remote says nothing else. core says before the threads who that was, and
 * what ended it.
 * (The forms are those of pystack 1.7.2, and its traceback_formatter.py and __main__.py.)
 */
#include "paste/python_text.h"

#include <string.h>

enum { OUTSIDE, CORE, THREAD, MAIN_THREAD };

static void begin(struct cs_paster *p, const struct cs_line *line, int phase)
{
	cs_paster_fresh(p, line);
	cs_paster_state(p)->phase = phase;
}

static bool has(struct cs_span flags, const char *word)
{
	return cs_span_find(flags, word) < flags.len;
}

static void set_flags(struct cs_paste_thread *thread, struct cs_span flags)
{
	thread->holds_gil |= has(flags, "Has the GIL");
	thread->waits_for_gil |= has(flags, "Waiting for the GIL");
}

static void begin_thread(struct cs_paster *p, const struct cs_line *line, struct cs_paste_thread *thread)
{
	int phase = cs_paster_state(p)->phase;
	bool other = phase == MAIN_THREAD || cs_paster_has_tid(p, thread->tid) ||
		     (cs_paste_has_dump(p) && !cs_paster_has(p, &cs_dialect_pystack));

	if (phase != CORE && other)
		cs_paster_fresh(p, line);
	cs_paster_thread(p, thread, true);
	cs_paster_state(p)->phase = THREAD;
}

static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread thread = {0};
	uint64_t tid;
	size_t len;
	const char *name;

	if (!cs_group_number(g, 1, 10, &tid) || tid > INT32_MAX)
		return false;
	thread.tid = (int32_t)tid;
	set_flags(&thread, cs_span_of_group(g, 3));
	begin_thread(p, line, &thread);
	name = cs_group_bytes(g, 2, &len);
	if (name && cs_paster_current(p))
		cs_paster_current(p)->name = cs_paster_keep(p, name, len);
	return true;
}

static bool take_empty_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread thread = {0};
	uint64_t tid;

	if (!cs_group_number(g, 1, 10, &tid) || tid > INT32_MAX)
		return false;
	thread.tid = (int32_t)tid;
	begin_thread(p, line, &thread);
	return true;
}

/* With several interpreters, the status stands before the frames of each. */
static bool take_interpreter(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread *thread = cs_paster_current(p);

	(void)line;
	if (cs_paster_state(p)->phase < THREAD || !thread)
		return false;
	set_flags(thread, cs_span_of_group(g, 1));
	return true;
}

static bool take_python(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_python_place place;
	struct cs_paste_thread *thread;
	bool outermost = !cs_paster_last_frame(p);

	(void)line;
	if (!cs_python_place(cs_span_of_group(g, 1), &place))
		return false;
	cs_python_frame(p, &place);
	thread = cs_paster_current(p);
	if (outermost && thread && cs_span_is(place.function, "<module>"))
		thread->main = true;
	cs_paster_state(p)->phase = thread && thread->main ? MAIN_THREAD : THREAD;
	return true;
}

static bool is_known(struct cs_span s)
{
	return s.len && !cs_span_is(s, "???");
}

static bool take_native(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_span library = cs_span_of_group(g, 2), name;
	struct cs_python_place place;
	struct cs_paste_thread *thread;

	(void)line;
	if (!cs_python_place(cs_span_of_group(g, 1), &place))
		return false;
	name = place.function;
	if (cs_span_ends(name, " (inlined)"))
		name.len -= strlen(" (inlined)");
	if (is_known(name))
		frame.function = cs_paste_function(p, name);
	frame.library = cs_paste_library(p, library);
	/* Where the source is not known, its file is the library. */
	if (is_known(place.file) && place.line) {
		frame.file = cs_paster_keep(p, place.file.at, place.file.len);
		frame.line = place.line;
	}
	cs_paste_native(p, &frame);
	thread = cs_paster_current(p);
	cs_paster_state(p)->phase = thread && thread->main ? MAIN_THREAD : THREAD;
	return true;
}

/* ---- what core says first ---- */

static bool take_core(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	if (cs_paster_state(p)->phase != CORE)
		begin(p, line, CORE);
	return true;
}

static bool take_pid(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	if (cs_paster_state(p)->phase != CORE)
		return false;
	cs_paster_pid(p, cs_group_id(g, 1));
	return true;
}

static bool take_detail(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	return cs_paster_state(p)->phase == CORE;
}

static bool take_end(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	cs_paster_kind(p, CS_PASTE_CRASH);
	cs_paster_signal(p, cs_group_is(g, 1) ? cs_group_text(p, g, 1) : "SIGSEGV");
	cs_paster_state(p)->phase = CORE;
	return true;
}

static bool take_no_end(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	cs_paster_kind(p, CS_PASTE_HANG);
	cs_paster_state(p)->phase = CORE;
	return true;
}

/* Source lines and values of locals; the note that native frames could not be woven in. */
static bool more(struct cs_paster *p, const struct cs_line *line)
{
	return cs_paster_state(p)->phase >= THREAD &&
	       (line->indent >= 5 || !strncmp(line->text, "* - Unable to merge native", 26));
}

static const struct cs_rule rules[] = {
	{"(Python) File \"", "^ *\\(Python\\) (File \".*)$", take_python},
	{"(C) File \"", "^ *\\(C\\) (File \".*?\", line \\d+, in .*) \\(([^()]*)\\)$", take_native},
	{"Traceback for thread ",
	 "^ *Traceback for thread (\\d+)(?: \\((.*?)\\))?(?: \\[(.*?)\\])? \\(most recent call last\\):?$",
	 take_thread},
	{"The frame stack for thread ", "^ *The frame stack for thread (\\d+) is empty", take_empty_thread},
	{"nterpreter", "^ *(?:In the main interpreter|In interpreter \\d+|Not currently attached to any "
		       "interpreter) \\[(.*)\\]$",
	 take_interpreter},
	{"found in the core file: ", "^Using executable found in the core file: ", take_core},
	{"Core file information:", "^Core file information:$", take_core},
	{"pid: ", "^pid: (\\d+) ppid: \\d+", take_pid},
	{": ", "^(?:state: . zombie: |uid: \\d+ gid: |executable: .* arguments: )", take_detail},
	{"The process died due ",
	 "^The process died due (?:receiving signal (SIG[A-Z0-9]+)|a segmentation fault)", take_end},
	{"The core file seems to have been generated on demand",
	 "^The core file seems to have been generated on demand", take_no_end},
};

const struct cs_dialect cs_dialect_pystack = {
	.name = "pystack",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
};
