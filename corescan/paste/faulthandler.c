/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Python's faulthandler, and Py_FatalError(), which prints in the same form: the innermost frame first.
 *
 *	Fatal Python error: Segmentation fault
 *	Python runtime state: finalizing
 *
 *	Thread 0x00007f1c (most recent call first):
 *	  File "x.py", line 3 in f
 *
 *	Current thread 0x00007f1d [name] (most recent call first):
 *	  <no Python frame>
 *
 *	Current thread's C stack trace (most recent call first):
 *	  Binary file "/lib/libc.so.6", at abort+0xdf [0x7f1c80e3]
 *
 *	Extension modules: torch._C, ... (total: 34)
 *
 * "Current thread" is where it struck only below an error; dump_traceback(), a registered signal and
 * dump_traceback_later() ("Timeout (0:00:05)!") print of processes that live. A traceback, or what a C++
 * exception says, right before an error is the same process's: it does not begin a report, unless a dump has
 * been printed before. Python's threads are known by their pthread_t, which is no native id. Extension
 * modules are modules of Python, not files.
 * (The forms are those of CPython 3.6 to 3.14: Python/traceback.c, Modules/faulthandler.c.)
 */
#include "paste/python_text.h"

#include <string.h>

enum {
	OUTSIDE,
	ERROR,   /* its message may go on */
	HEADED,  /* a dump without an error has begun */
	THREAD,
	C_STACK,
	MODULES, /* a list that may go on in further lines */
};

static bool take_error(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span what = cs_span_of_group(g, 1);
	const char *text = line->text + line->indent;

	if (cs_paste_has_dump(p))
		cs_paster_fresh(p, line);
	cs_paster_message(p, line, text);
	cs_paster_kind(p, CS_PASTE_CRASH);
	if (!strncmp(text, "Windows", 7))
		cs_paster_signal(p, cs_span_is(what, "access violation") ? "SIGSEGV" : NULL);
	else if (what.at)
		cs_paster_signal(p, cs_paster_keep(p, what.at, what.len));
	/* Whoever has other words calls abort(). */
	if (!strncmp(text, "Fatal Python error", 18))
		cs_paster_signal(p, "SIGABRT");
	cs_paster_state(p)->phase = ERROR;
	return true;
}

static bool take_state(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	if (cs_paster_state(p)->phase == ERROR)
		cs_paster_continue(p, line, line->text + line->indent);
	else
		cs_paster_message(p, line, line->text + line->indent);
	cs_paster_state(p)->phase = ERROR;
	return true;
}

static bool take_timeout(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	if (cs_paste_has_dump(p))
		cs_paster_fresh(p, line);
	cs_paster_kind(p, CS_PASTE_HANG);
	cs_paster_state(p)->phase = HEADED;
	return true;
}

/*
 * The interpreter's list of threads begins with the newest. What follows the main thread, whose outermost
 * frame is a module's, is another dump; and so is what follows the C stack and the list of modules.
 */
static bool is_complete(struct cs_paster *p)
{
	const struct cs_paste_frame *outermost = cs_paster_last_frame(p);
	int phase = cs_paster_state(p)->phase;

	if (phase == C_STACK || phase == MODULES)
		return true;
	return phase == THREAD && outermost && outermost->function &&
	       !strcmp(outermost->function, "<module>");
}

static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread thread = {0};
	struct cs_paster_state *state = cs_paster_state(p);
	bool another = cs_paste_has_dump(p) && !cs_paster_has(p, &cs_dialect_faulthandler);

	if (state->phase == OUTSIDE ? another : is_complete(p))
		cs_paster_fresh(p, line);
	thread.name = cs_group_text(p, g, 2);
	/* The error may be cut off, and a shell tells of it below. */
	thread.crashed = cs_group_is(g, 1) && cs_paster_known_kind(p) != CS_PASTE_HANG;
	cs_paster_thread(p, &thread, false);
	state->phase = THREAD;
	return true;
}

static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_python_place place;

	(void)line;
	if (!cs_python_place(cs_span_of_group(g, 1), &place))
		return false;
	cs_python_frame(p, &place);
	cs_paster_state(p)->phase = THREAD;
	return true;
}

/* The C stack is that of the current thread: its Python frames follow the native ones. */
static bool take_c_stack(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	bool died = cs_paster_known_kind(p) == CS_PASTE_CRASH;
	struct cs_paste_thread thread = {.crashed = died};
	size_t n = cs_paster_count_threads(p);

	(void)line;
	(void)g;
	cs_paster_end_thread(p);
	for (size_t i = n; died && i-- > 0;)
		if (cs_paster_thread_at(p, i)->crashed) {
			thread = *cs_paster_thread_at(p, i);
			cs_paster_forget_thread(p, i);
			break;
		}
	cs_paster_thread(p, &thread, false);
	for (size_t i = 0; i < thread.n_frames; i++)
		cs_paster_frame(p, &thread.frames[i]);
	cs_paster_state(p)->phase = C_STACK;
	return true;
}

/* Native frames come after the Python ones were read, and stand before them. */
static bool take_binary(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_paste_thread thread;
	size_t i = 0;

	(void)line;
	if (cs_paster_state(p)->phase != C_STACK || !cs_paster_current(p))
		return false;
	frame.library = cs_paste_library(p, cs_span_of_group(g, 1));
	if (cs_group_is(g, 2))
		frame.function = cs_paste_function(p, cs_span_of_group(g, 2));
	cs_paster_end_thread(p);
	thread = *cs_paster_thread_at(p, cs_paster_count_threads(p) - 1);
	cs_paster_forget_thread(p, cs_paster_count_threads(p) - 1);
	cs_paster_thread(p, &thread, false);
	for (; i < thread.n_frames && !thread.frames[i].python; i++)
		cs_paster_frame(p, &thread.frames[i]);
	cs_paste_native(p, &frame);
	for (; i < thread.n_frames; i++)
		cs_paster_frame(p, &thread.frames[i]);
	return true;
}

static bool take_words(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	return cs_paster_state(p)->phase != OUTSIDE;
}

static bool take_modules(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	cs_paster_state(p)->phase = cs_group_is(g, 1) ? THREAD : MODULES;
	return true;
}

static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *state = cs_paster_state(p);
	const char *text = line->text + line->indent;

	if (state->phase == ERROR) {
		/* Py_FatalError() takes any text; an empty line ends it. */
		state->phase = HEADED;
		return false;
	}
	if (state->phase != MODULES || !*text)
		return false;
	/* "numpy.linalg._umath_linalg, numpy.fft" */
	if (!strpbrk(text, ",.") || strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
						 "0123456789_., ()-:") != strlen(text)) {
		state->phase = HEADED;
		return false;
	}
	if (strstr(text, "(total: "))
		state->phase = HEADED;
	return true;
}

#define SIGNALS "(Segmentation fault|Aborted|Bus error|Illegal instruction|Floating[ -]point exception)"

static const struct cs_rule rules[] = {
	{"File \"", "^ *(File \".*\", line \\d+ in .+)$", take_frame},
	{"(most recent call first)",
	 "^ *(?:(Current t)|T)hread (?:0x)?[0-9a-fA-F]+(?: \\[(.*?)\\])?(?: \\(.*?\\))?(?: \\[(.*?)\\])? "
	 "\\(most recent call first\\):",
	 take_thread},
	{"Fatal Python error: ", "^ *Fatal Python error: (?:" SIGNALS "$)?", take_error},
	{"Windows fatal exception: ", "^ *Windows fatal exception: (.*)$", take_error},
	{"Python runtime state: ", "^ *Python runtime state: ", take_state},
	{"Binary file \"",
	 "^ *Binary file \"(.*)\"(?:, at ([^ +][^ ]*?)?(?:\\+0x[0-9a-f]+)?)?(?: \\[0x[0-9a-f]+\\])?$",
	 take_binary},
	{"C stack trace (most recent call first)",
	 "^ *Current thread's C stack trace \\(most recent call first\\):", take_c_stack},
	{"(most recent call first)", "^ *(Stack) \\(most recent call first\\):", take_thread},
	{"Extension modules: ", "^ *Extension modules: (.*\\(total: \\d+\\))?", take_modules},
	{"Timeout (", "^ *Timeout \\(\\d+:\\d\\d:\\d\\d(?:\\.\\d+)?\\)!$", take_timeout},
	{"<", "^ *<(?:no Python frame|tstate is freed|freed interpreter|truncated|cannot get|system returned|"
	      "Cannot show|unknown|invalid|timeout)",
	 take_words},
	{"  ", "^ *(?:\\.\\.\\.|Garbage-collecting)$", take_words},
};

const struct cs_dialect cs_dialect_faulthandler = {
	.name = "faulthandler",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
};
