/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb, cuda-gdb, pstack and gstack: bt, bt full, thread apply all bt, info threads, py-bt, and what gdb
 * prints when it opens a core or attaches. One session is one report, however often it prints a stack.
 *
 * Forms: gdb/stack.c (print_frame), gdb/thread.c (thread_apply_all_command, print_thread_info),
 * gdb/corelow.c; Tools/gdb/libpython.py of CPython for py-bt.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <string.h>

/* What is known of the session, in the dialect's `phase`. */
enum {
	IN_SESSION = 1,    /* somebody typed commands: stacks that come again are the same process's */
	DIED = 2,          /* a signal ended or stopped it: the current thread is who got it */
	PYTHON_STACK = 4,  /* py-bt prints */
	FROM_CORE = 8,     /* it is a core: thread 1 is who died */
	WAS_SWITCHED = 16, /* `thread N` made another thread the current one */
};

#define PROMPT "^[ `>]*(?:>*\\((?:cuda-)?gdb\\) *)*(?:-{2,3}Type <(?:RET|return)>[^#]*--)?"

/* ---- threads ---- */

/* @again is a thread that was printed before as @first: what either says is kept in @again. */
static void merge(struct cs_paste_thread *again, const struct cs_paste_thread *first)
{
	again->crashed |= first->crashed;
	again->main |= first->main;
	again->name = again->name ? again->name : first->name;
	again->tid = again->tid ? again->tid : first->tid;
	again->ordinal = again->ordinal ? again->ordinal : first->ordinal;
	if (first->n_frames > again->n_frames) {
		again->frames = first->frames;
		again->n_frames = first->n_frames;
	}
}

/* The stack that ended may have been printed before, then or now without saying whose it is. */
static void settle(struct cs_paster *p)
{
	size_t n = cs_paster_count_threads(p);
	struct cs_paste_thread *last, *other;

	cs_paster_end_thread(p);
	if (n < 2 || n > CS_MAX_PASTE_COMPARED)
		return;
	last = cs_paster_thread_at(p, n - 1);
	for (size_t i = 0; i + 1 < n && last->n_frames; i++) {
		other = cs_paster_thread_at(p, i);
		if (last->tid && other->tid && last->tid != other->tid)
			continue; /* threads that wait are often alike */
		if ((!last->tid || last->tid != other->tid) &&
		    ((last->ordinal && other->ordinal) || !cs_paste_same_stack(last, other)))
			continue;
		merge(last, other);
		*other = *last;
		cs_paster_forget_thread(p, n - 1);
		return;
	}
}

/* The thread of that tid, if it was printed in this report. */
static bool find_thread(struct cs_paster *p, int32_t tid, size_t *ret)
{
	size_t n = cs_paster_count_threads(p);

	for (size_t i = 0; tid && n <= CS_MAX_PASTE_COMPARED && i < n; i++)
		if (cs_paster_thread_at(p, i)->tid == tid) {
			*ret = i;
			return true;
		}
	return false;
}

/* True if all that is known of it is a line of `info threads`, which has no number. */
static bool is_listed(const struct cs_paste_thread *t)
{
	return !t->n_frames || (t->n_frames == 1 && t->frames[0].number < 0);
}

/* True if thread @tid was printed in this report and is printed again, rather than that of another one. */
static bool is_known(struct cs_paster *p, int32_t tid, size_t *ret)
{
	const struct cs_paste_thread *t;

	if (!find_thread(p, tid, ret))
		return false;
	t = cs_paster_thread_at(p, *ret);
	return !t->ordinal || is_listed(t) || cs_paster_state(p)->phase & IN_SESSION;
}

/* Threads are printed downwards, or upwards: where the numbers turn, another process begins. */
static bool begins_anew(struct cs_paster *p, uint32_t ordinal)
{
	uint32_t before[2] = {0}; /* the last, the one before it */
	size_t found = 0;

	if (cs_paster_state(p)->phase & IN_SESSION)
		return false;
	for (size_t i = cs_paster_count_threads(p); i && found < 2; i--)
		if (cs_paster_thread_at(p, i - 1)->ordinal)
			before[found++] = cs_paster_thread_at(p, i - 1)->ordinal;
	if (!found)
		return false;
	if (found == 1)
		return ordinal == before[0] || (before[0] == 1 && ordinal > 2);
	return before[1] > before[0] ? ordinal >= before[0] : ordinal <= before[0];
}

/* "Thread 12 (Thread 0x7f.. (LWP 17) "name"):", "Thread 1 (LWP 17):", "Thread 2 (process 17):" */
static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_thread t = {0};
	uint64_t n;
	size_t at;

	if (cs_group_number(g, 1, 10, &n) && n <= UINT32_MAX)
		t.ordinal = (uint32_t)n;
	t.tid = cs_group_id(g, 2);
	settle(p);
	if (!is_known(p, t.tid, &at)) {
		if (t.ordinal && begins_anew(p, t.ordinal))
			cs_paster_fresh(p, line);
	} else if (is_listed(cs_paster_thread_at(p, at))) {
		struct cs_paste_thread listed = *cs_paster_thread_at(p, at);

		cs_paster_forget_thread(p, at);
		merge(&t, &listed);
	}
	if (cs_group_is(g, 3))
		t.name = cs_group_text(p, g, 3);
	s->phase &= ~PYTHON_STACK;
	t.crashed |= s->phase & DIED && t.tid && s->number == (uint64_t)t.tid;
	t.crashed |= s->phase & FROM_CORE && t.ordinal == 1;
	cs_paster_thread(p, &t, false);
	return true;
}

/* "[Switching to thread 2 (Thread 0x7f.. (LWP 17))]" by command, "[Switching to Thread 0x7f.. (LWP 17)]" */
static bool take_switch(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	uint64_t tid, ordinal;

	(void)line;
	settle(p);
	if (!cs_group_number(g, 2, 10, &tid) || tid > INT32_MAX)
		tid = 0;
	s->number = tid;
	if (!cs_group_number(g, 1, 10, &ordinal))
		return true;
	s->phase |= IN_SESSION | WAS_SWITCHED;
	s->phase &= ~DIED; /* the current thread is not who did */
	return true;
}

/* "[Current thread is 1 (Thread 0x7f.. (LWP 17))]" */
static bool take_current(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	size_t n;
	uint64_t tid;

	(void)line;
	settle(p);
	if (!cs_group_number(g, 1, 10, &tid) || tid > INT32_MAX)
		return true;
	cs_paster_state(p)->number = tid;
	/* Of a core the innermost frame was printed before; others that wait may have the same. */
	n = cs_paster_count_threads(p);
	if (n && !cs_paster_thread_at(p, n - 1)->tid && !cs_paster_thread_at(p, n - 1)->ordinal)
		cs_paster_thread_at(p, n - 1)->tid = (int32_t)tid;
	return true;
}

/* ---- frames ---- */

/* Function, its argument that is text, and what the process prints before and behind it. */
struct last_words {
	const char *function, *argument, *before, *behind;
};

static void say_text(struct cs_paster *p, const struct cs_line *line, const struct cs_call *call,
		     const struct last_words *how)
{
	static const char caught[] = "Caught signal ";
	struct cs_strbuf text, all;

	cs_strbuf_init(&text, CS_MAX_FACT_MESSAGE);
	cs_strbuf_init(&all, CS_MAX_FACT_MESSAGE);
	if (cs_call_text(call, how->argument, &text) && text.len && !memmem(text.data, text.len, "%s", 2)) {
		while (text.len && text.data[text.len - 1] == '\n')
			cs_strbuf_truncate(&text, text.len - 1);
		cs_strbuf_printf(&all, "%s%s%s", how->before, cs_strbuf_text(&text), how->behind);
		cs_paste_say(p, line, cs_strbuf_text(&all));
		if (!strncmp(cs_strbuf_text(&text), caught, strlen(caught)))
			cs_paster_signal_number(p, atoi(text.data + strlen(caught)));
	}
	cs_strbuf_deinit(&text);
	cs_strbuf_deinit(&all);
}

/* As assert() prints it: "a.c:12: f: Assertion `x > 0' failed." */
static void say_assertion(struct cs_paster *p, const struct cs_line *line, const struct cs_call *call)
{
	static const char *const names[] = {"file", "line", "function", "assertion"};
	struct cs_strbuf all, parts[CS_COUNT(names)];

	for (size_t i = 0; i < CS_COUNT(names); i++) {
		cs_strbuf_init(&parts[i], CS_MAX_FACT_MESSAGE);
		cs_call_text(call, names[i], &parts[i]);
	}
	cs_strbuf_init(&all, CS_MAX_FACT_MESSAGE);
	for (size_t i = 0; i < 3; i++)
		if (parts[i].len)
			cs_strbuf_printf(&all, "%s:%s", cs_strbuf_text(&parts[i]), i ? " " : "");
	cs_strbuf_printf(&all, "Assertion `%s' failed.", cs_strbuf_text(&parts[3]));
	if (parts[3].len)
		cs_paste_say(p, line, cs_strbuf_text(&all));
	for (size_t i = 0; i < CS_COUNT(names); i++)
		cs_strbuf_deinit(&parts[i]);
	cs_strbuf_deinit(&all);
}

/* Functions that are given the process's last words. */
static void say_last_words(struct cs_paster *p, const struct cs_line *line, const struct cs_call *call)
{
	static const char *const assertions[] = {"__assert_fail", "__GI___assert_fail", "__assert_fail_base",
						 "__malloc_assert"};
	static const struct last_words rows[] = {
		{"malloc_printerr", "str", "", ""},
		{"__libc_message", "fmt", "", ""},
		{"__libc_message_impl", "fmt", "", ""},
		{"__libc_fatal", "message", "", ""},
		{"__GI___libc_fatal", "message", "", ""},
		{"__fortify_fail", "msg", "*** ", " ***: terminated"},
		{"__GI___fortify_fail", "msg", "*** ", " ***: terminated"},
		{"Py_FatalError", "msg", "Fatal Python error: ", ""},
		{"_Py_FatalErrorFunc", "msg", "Fatal Python error: ", ""},
		{"_Py_FatalErrorFormat", "format", "Fatal Python error: ", ""},
		{"fatal_error", "msg", "Fatal Python error: ", ""},
		{"abort_message", "format", "", ""},
		{"std::__throw_logic_error", "__s", "std::logic_error: ", ""},
		{"std::__throw_runtime_error", "__s", "std::runtime_error: ", ""},
		{"std::__throw_out_of_range", "__s", "std::out_of_range: ", ""},
		{"std::__throw_length_error", "__s", "std::length_error: ", ""},
		{"std::__throw_invalid_argument", "__s", "std::invalid_argument: ", ""},
		{"std::__throw_out_of_range_fmt", "__fmt", "std::out_of_range: ", ""},
		{"c10::detail::torchCheckFail", "msg", "", ""},
		{"c10::detail::torchInternalAssertFail", "condMsg", "", ""},
		{"c10::Error::Error", "msg", "", ""},
		{"gpr_assertion_failed", "message", "assertion failed: ", ""},
		{"g_assertion_message", "message", "", ""},
		{"ucs_error_freeze", "message", "", ""},
		{"ucs_handle_error", "message", "", ""},
		{"ucs_fatal_error_message", "message_buf", "", ""},
	};

	if (cs_span_find(call->arguments, "\"") == call->arguments.len)
		return;
	for (size_t i = 0; i < CS_COUNT(assertions); i++)
		if (cs_span_is(call->function, assertions[i]))
			say_assertion(p, line, call);
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		if (cs_span_is(call->function, rows[i].function))
			say_text(p, line, call, &rows[i]);
}

/* Frame 0x7f.., for file x.py, line 3, in f (a=1): as CPython's own gdb script prints frame objects. */
static bool python_frame(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *ret)
{
	struct cs_span file = cs_span_from(s, cs_span_find(s, ", for file "));
	struct cs_span number, name;

	if (!file.len)
		return false;
	file = cs_span_from(file, strlen(", for file "));
	number = cs_span_from(file, cs_span_find(file, ", line "));
	name = cs_span_from(number, cs_span_find(number, ", in "));
	if (!name.len)
		return false;
	file.len -= number.len;
	name = cs_span_from(name, strlen(", in "));
	name.len = CS_MIN(cs_span_find(name, " ("), cs_span_find(name, ","));
	*ret = (struct cs_paste_frame){
		.function = cs_paste_function(p, name),
		.file = cs_paster_keep(p, file.at, file.len),
		.line = (uint32_t)strtoul(number.at + strlen(", line "), NULL, 10),
		.python = true,
		.number = -1,
	};
	return ret->function != NULL;
}

/* The Python function that @call of the interpreter runs; several frames of C stand for one. */
static void add_python(struct cs_paster *p, const struct cs_call *call)
{
	struct cs_paste_frame frame;

	if (cs_span_find(call->function, "_PyEval_EvalFrame") && !cs_span_is(call->function, "P"
		"yEval_EvalFrameEx"))
		return;
	if (cs_span_find(call->arguments, "=Frame 0x") < call->arguments.len &&
	    python_frame(p, call->arguments, &frame))
		cs_paster_frame(p, &frame);
}

/* The frame where it stopped is the first of its stack: it needs no thread of its own. */
static void forget_stop(struct cs_paster *p, struct cs_span function, struct cs_paste_thread *now)
{
	size_t n = cs_paster_count_threads(p);
	const struct cs_paste_thread *last = n ? cs_paster_thread_at(p, n - 1) : NULL;

	if (!last || last->ordinal || last->n_frames != 1 || last->frames[0].number ||
	    !last->frames[0].function || !cs_span_is(function, last->frames[0].function))
		return;
	merge(now, last);
	now->frames = NULL;
	now->n_frames = 0;
	cs_paster_forget_thread(p, n - 1);
}

/*
 * Frame 0 begins a stack. After another, and without the head of a thread, it is the same stack printed
 * again, if a command asked for it, or another process's. Strings of the report must be made after this.
 */
static void begin_stack(struct cs_paster *p, const struct cs_line *line, struct cs_span function)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct cs_paste_thread t = {0};
	bool other = s->text.len && !cs_span_is(function, s->text.data);

	if (last && last->number > 0)
		settle(p);
	if (last && last->number > 0 && !(s->phase & IN_SESSION))
		cs_paster_fresh(p, line);
	else if (!cs_paster_current(p) && other && !(s->phase & WAS_SWITCHED))
		cs_paster_fresh(p, line);
	if (cs_paster_current(p))
		return;
	if (!s->text.max)
		cs_strbuf_init(&s->text, CS_MAX_FACT_NAME);
	cs_strbuf_truncate(&s->text, 0);
	cs_strbuf_put(&s->text, function.at, function.len);
	t.tid = (int32_t)s->number;
	t.crashed = s->phase & DIED;
	forget_stop(p, function, &t);
	cs_paster_thread(p, &t, false);
}

static void add_frame(struct cs_paster *p, const struct cs_paste_frame *frame)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_frame *last = cs_paster_last_frame(p);

	s->phase &= ~PYTHON_STACK;
	if (last && !last->python && !last->number && !frame->number) { /* printed when it stopped, too */
		*last = *frame;
		return;
	}
	if (last && !last->python && frame->number <= last->number)
		return; /* `up`, `frame 3` */
	if (!cs_paster_current(p) && frame->number && s->phase & IN_SESSION && s->text.len)
		return;
	cs_paste_native(p, frame);
}

/* Handlers of what kills, by their names: others run while a process goes on. */
static bool is_fatal_handler(const char *name)
{
	static const char *const parts[] = {"atal", "rror",   "segv", "SEGV",
					    "rash", "ailure", "bort", "ackTrace"};

	for (size_t i = 0; name && i < CS_COUNT(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* The frame after @inner is the mark of a signal handler's. */
static void mark_handler(struct cs_paster *p, const char *inner)
{
	struct cs_paste_thread *t = cs_paster_current(p);

	if (!t || cs_paster_state(p)->phase & (DIED | FROM_CORE))
		return;
	t->crashed = true;
	if (is_fatal_handler(inner))
		cs_paster_kind(p, CS_PASTE_CRASH);
}

static const char handler[] = "<signal handler called>";

/* What stands behind the number and the address; false: that is no frame. */
static bool split_frame(struct cs_span rest, struct cs_call *ret)
{
	*ret = (struct cs_call){.function = CS_SPAN(handler)};
	return cs_span_begins(rest, handler) || cs_call_split(rest, ret);
}

static void fill_frame(struct cs_paster *p, const struct cs_call *call, struct cs_paste_frame *ret)
{
	ret->function = cs_paste_function(p, call->function);
	ret->library = cs_paste_library(p, call->library);
	cs_paste_place(p, call->file, ret);
}

/* "#3  0x00007f.. in f (x=1) at a.c:5" */
static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	const struct cs_paste_frame *inner;
	struct cs_span rest = cs_span_of_group(g, 2);
	struct cs_call call;
	uint64_t n;

	if (!cs_group_number(g, 1, 10, &n))
		n = 0; /* where a thread stopped */
	if (n > CS_MAX_FACT_FRAMES)
		return false;
	if (cs_span_begins(rest, "Frame 0x")) { /* py-bt-full */
		if (python_frame(p, rest, &frame))
			cs_paster_frame(p, &frame);
		return true;
	}
	if (!split_frame(rest, &call))
		return false;
	if (!n)
		begin_stack(p, line, call.function);
	inner = cs_paster_last_frame(p);
	frame.number = (int64_t)n;
	fill_frame(p, &call, &frame);
	if (cs_span_is(call.function, handler))
		mark_handler(p, inner ? inner->function : NULL);
	add_frame(p, &frame);
	say_last_words(p, line, &call);
	add_python(p, &call);
	return true;
}

/* "0x00007f.. in f () from /lib/x.so", where a thread stopped when a signal came */
static bool take_stop(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	return cs_paster_state(p)->phase & DIED && !cs_paster_current(p) && take_frame(p, line, g);
}

/* "* 1    Thread 0x7f.. (LWP 17) "name" 0x.. in f () from /lib/x.so": info threads */
static bool take_listed(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_paste_thread t = {0};
	struct cs_span rest = cs_span_of_group(g, 5);
	struct cs_call call;
	uint64_t ordinal, tid;
	size_t at;

	if (!cs_group_number(g, 2, 10, &ordinal) || ordinal > UINT32_MAX ||
	    !cs_group_number(g, 3, 10, &tid) || tid > INT32_MAX)
		return false;
	settle(p);
	if (cs_group_is(g, 1))
		cs_paster_state(p)->number = tid;
	if (find_thread(p, (int32_t)tid, &at))
		return true;
	t.tid = (int32_t)tid;
	t.ordinal = (uint32_t)ordinal;
	t.name = cs_group_text(p, g, 4);
	t.crashed = cs_group_is(g, 1) && cs_paster_state(p)->phase & DIED;
	cs_paster_thread(p, &t, false);
	if (split_frame(rest, &call)) {
		fill_frame(p, &call, &frame);
		cs_paste_native(p, &frame);
	}
	(void)line;
	cs_paster_end_thread(p);
	return true;
}

/* ---- py-bt ---- */

static bool take_python_head(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	cs_paster_state(p)->phase |= PYTHON_STACK;
	return true;
}

static bool take_python(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.python = true, .number = -1};
	uint64_t n;

	(void)line;
	if (!(cs_paster_state(p)->phase & PYTHON_STACK))
		return false;
	frame.file = cs_group_text(p, g, 1);
	frame.line = cs_group_number(g, 2, 10, &n) && n <= UINT32_MAX ? (uint32_t)n : 0;
	frame.function = cs_group_text(p, g, 3);
	cs_paster_frame(p, &frame);
	return true;
}

static bool take_gil(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	if (!(cs_paster_state(p)->phase & PYTHON_STACK) || !cs_paster_current(p))
		return false;
	cs_paster_current(p)->waits_for_gil = true;
	return true;
}

/* ---- the session ---- */

static bool take_banner(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	settle(p);
	cs_paster_fresh(p, line);
	cs_strbuf_deinit(&cs_paster_state(p)->text);
	*cs_paster_state(p) = (struct cs_paster_state){0};
	return true;
}

/* gdb names each thread when it opens a core or attaches: before any stack, and not in its middle. */
static bool take_new_lwp(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	if (cs_paster_has(p, &cs_dialect_gdb) && !(cs_paster_state(p)->phase & IN_SESSION))
		return take_banner(p, line, g);
	return true;
}

static bool take_attach(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	take_banner(p, line, g);
	cs_paster_pid(p, cs_group_id(g, 1));
	return true;
}

/* A debugger stops a process by these, and a core that it made says so: nobody died of them. */
static bool only_stops(const char *name)
{
	return !strcmp(name, "SIGINT") || !strcmp(name, "SIGSTOP") || !strcmp(name, "SIGTSTP") ||
	       !strcmp(name, "SIGCONT") || !strcmp(name, "SIGWINCH") || !strcmp(name, "0");
}

static void note_signal(struct cs_paster *p, const struct cs_groups *g, unsigned group)
{
	const char *name = cs_group_text(p, g, group);
	uint64_t n;

	if (!name || only_stops(name))
		return;
	cs_paster_state(p)->phase |= DIED;
	if (cs_group_number(g, group, 10, &n) && n < 128)
		cs_paster_signal_number(p, (int)n);
	else
		cs_paster_signal(p, name);
}

/* "Program terminated with signal SIGABRT, Aborted.", "... with signal 11, Segmentation fault." */
static bool take_terminated(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	note_signal(p, g, 1);
	if (cs_paster_state(p)->phase & DIED)
		cs_paster_state(p)->phase |= FROM_CORE;
	return true;
}

/* "Thread 3 "pt_nccl_watchdg" received signal SIGSEGV, Segmentation fault." */
static bool take_received(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	const char *name = cs_group_text(p, g, 2);

	settle(p);
	note_signal(p, g, 1);
	cs_paster_state(p)->phase |= IN_SESSION;
	cs_paster_state(p)->number = 0; /* [Switching to Thread ...] may tell */
	if (cs_group_text(p, g, 1) && !strncmp(cs_group_text(p, g, 1), "CUDA_EXCEPTION", 14))
		cs_paste_say(p, line, name);
	return true;
}

/* "(gdb) bt": what is printed from here on, somebody asked for. */
static bool take_prompt(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span command = cs_span_of_group(g, 1);

	(void)line;
	settle(p);
	cs_paster_state(p)->phase |= IN_SESSION;
	cs_paster_state(p)->phase &= ~PYTHON_STACK;
	if (cs_span_is(command, "q") || cs_span_begins(command, "quit") || cs_span_is(command, "detach"))
		cs_paster_state(p)->phase &= ~IN_SESSION;
	return true;
}

/* "(More stack frames follow...)", "Backtrace stopped: ..." */
static bool take_end(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	settle(p);
	return true;
}

static const struct cs_rule rules[] = {
	{"#", PROMPT "#(\\d+) +(?:0x[0-9a-f]+(?: <[^>]*>)? in )?(?!0x[0-9a-f]{6,}[ )])(\\S.*)$", take_frame},
	{"Thread ",
	 PROMPT "Thread (\\d+(?:\\.\\d+)?) \\((?:Thread (?:0x)?[0-9a-f]+ )?\\(?(?:LWP|process) (\\d+)\\)?"
		"(?: \"([^\"]*)\")?(?: \\(Exiting\\))?\\):?",
	 take_thread},
	{" in ", "^()0x[0-9a-f]+ in (.*)$", take_stop},
	{"LWP ",
	 PROMPT "(\\*)? *(\\d+) +(?:Thread 0x[0-9a-f]+ \\()?LWP (\\d+)\\)?(?: \"([^\"]*)\")? *"
		"(?:0x[0-9a-f]+(?: <[^>]*>)? in )?(.*)$",
	 take_listed},
	{"[New ", "^\\[New (?:LWP|Thread) ", take_new_lwp},
	{"[", "^\\[Current thread is .*(?:LWP|process) (\\d+)", take_current},
	{"[Switching to ", "^\\[Switching to (?:thread (\\d+).*|Thread .*)LWP (\\d+)\\)", take_switch},
	{"gdb", "^GNU gdb |cuda-gdb release", take_banner},
	{"Core was generated by ", "^Core was generated by ", take_banner},
	{"ttach", "^Attaching to (?:program: .*, )?process (\\d+)", take_attach},
	{"terminated with signal ", "^Program terminated with signal (\\w+)", take_terminated},
	{"received signal ", "^(?:Program|Thread [0-9.]+(?: \".*\")?) received signal (\\w+)(?:, (.*))?$",
	 take_received},
	{"gdb) ", "^ *(?:>*\\((?:cuda-)?gdb\\) *)+([^#].*)?$", take_prompt},
	{"Traceback (most recent call first", "^ *Traceback \\(most recent call first\\):", take_python_head},
	{"  File \"", "^ *File \"(.*)\", line (\\d+), in (.*)$", take_python},
	{"Waiting for the GIL", "Waiting for the GIL", take_gil},
	{"frames follow", "^\\(More stack frames follow", take_end},
	{"Backtrace stopped", "^Backtrace stopped:", take_end},
	{"[Thread debugging using", "", NULL},
	{"Using host libthread_db", "", NULL},
};

/* Source lines of py-bt; what bt full prints of locals is nobody's message. */
static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_span s = cs_span_trim((struct cs_span){line->text, line->len});

	if (cs_paster_state(p)->phase & PYTHON_STACK && line->indent >= 4)
		return true;
	return cs_paster_last_frame(p) && line->indent >= 8 &&
	       (cs_span_find(s, " = ") < s.len || cs_span_is(s, "No locals.") ||
		cs_span_is(s, "No symbol table info available."));
}

/* Lines of others may stand within a stack: only one that is complete is over then. */
static void end(struct cs_paster *p)
{
	static const char *const outermost[] = {"main",   "_start", "clone",	    "clone3",
						"__clone", "__clone3", "__GI___clone", "start_thread"};
	const struct cs_paste_frame *last = cs_paster_last_frame(p);

	for (size_t i = 0; last && i < CS_COUNT(outermost); i++)
		if (last->function && !strcmp(last->function, outermost[i])) {
			settle(p);
			return;
		}
}

const struct cs_dialect cs_dialect_gdb = {
	.name = "gdb",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
	.end = end,
};
