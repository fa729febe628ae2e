/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AddressSanitizer and its kin, and valgrind. Each report says what is wrong, where, and then where the
 * memory came from: those stacks are of the past, and no thread's.
 *
 * Forms: compiler-rt/lib of LLVM (asan/asan_errors.cpp, tsan/rtl/tsan_report.cpp, ubsan/ubsan_diag.cpp,
 * sanitizer_common/sanitizer_stacktrace_printer.cpp); coregrind/m_debuginfo of valgrind.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <string.h>

/* The dialect's `phase`. */
enum {
	REPORTED = 1, /* what is wrong was said; the stack of it follows */
	IN_STACK = 2,
	OF_THE_PAST = 4, /* frames that follow tell where memory came from */
	NOT_FATAL = 8, /* the process went on */
};

static void begin_stack(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_thread t = {.crashed = !(s->phase & NOT_FATAL)};

	cs_paster_thread(p, &t, false);
	s->phase = REPORTED | IN_STACK | (s->phase & NOT_FATAL);
}

static void add_frame(struct cs_paster *p, const struct cs_paste_frame *frame)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const struct cs_paste_frame *last = cs_paster_last_frame(p);

	if (s->phase & OF_THE_PAST)
		return;
	if (!(s->phase & IN_STACK) || (last && frame->number >= 0 && frame->number <= last->number))
		begin_stack(p);
	cs_paste_native(p, frame);
}

/* ---- LLVM's ---- */

static void signal_of(struct cs_paster *p, struct cs_span what)
{
	static const struct {
		const char *begin, *signal;
	} rows[] = {
		{"SEGV ", "SIGSEGV"}, {"BUS ", "SIGBUS"},	       {"ILL ", "SIGILL"}, {"FPE ", "SIGFPE"},
		{"ABRT ", "SIGABRT"}, {"stack-overflow", "SIGSEGV"}, {"TRAP ", "SIGTRAP"},
	};

	for (size_t i = 0; i < CS_COUNT(rows); i++)
		if (cs_span_begins(what, rows[i].begin))
			cs_paster_signal(p, rows[i].signal);
}

/* "==17==ERROR: AddressSanitizer: heap-use-after-free on address 0x60.. at pc .." */
static bool take_error(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_fresh(p, line);
	cs_paster_pid(p, cs_group_id(g, 1));
	cs_paster_message(p, line, cs_group_text(p, g, 2));
	cs_paster_kind(p, CS_PASTE_CRASH);
	signal_of(p, cs_span_of_group(g, 4));
	/* Races and leaks are told of a process that goes on. */
	cs_paster_state(p)->phase = REPORTED | (cs_group_is(g, 3) ? 0 : NOT_FATAL);
	return true;
}

/* "a.c:3:5: runtime error: signed integer overflow: ..." */
static bool take_undefined(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	cs_paster_message(p, line, line->text + line->indent);
	cs_paster_state(p)->phase = REPORTED | NOT_FATAL;
	return true;
}

/* "READ of size 8 at 0x.. thread T0", "Hint: address points to the zero page." */
static bool take_detail(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	const char *text = line->text + line->indent, *mark;

	(void)g;
	if (!(cs_paster_state(p)->phase & REPORTED))
		return false;
	mark = text[0] == '=' ? strrchr(text, '=') : NULL; /* "==17==Hint: ..." */
	cs_paster_continue(p, line, mark ? mark + 1 : text);
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase &= ~(IN_STACK | OF_THE_PAST);
	return true;
}

/* "freed by thread T0 here:", "Previous write of size 8 at 0x.. by main thread:" */
static bool take_past(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	if (!(cs_paster_state(p)->phase & REPORTED))
		return false;
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase = REPORTED | OF_THE_PAST;
	return true;
}

static bool take_summary(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	cs_paster_end_thread(p);
	if (cs_paster_state(p)->phase & REPORTED)
		cs_paster_continue(p, line, line->text + line->indent);
	else
		cs_paster_message(p, line, line->text + line->indent);
	cs_paster_state(p)->phase = 0;
	return true;
}

/* "f(int) /x/a.c:3:5", "f (/lib/libx.so+0x123) (BuildId: ..)", "f /x/a.c:3 (a.out+0x12)", "(/x+0x1)" */
static void split_frame(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame)
{
	size_t build = cs_span_find(s, " (BuildId: ");
	const char *open, *blank;

	s.len = build;
	s = cs_span_trim(s);
	open = s.len ? memrchr(s.at, '(', s.len) : NULL;
	if (open && cs_span_ends(s, ")") && cs_span_find(cs_span_from(s, (size_t)(open - s.at)), "+0x") <
						     s.len - (size_t)(open - s.at)) {
		struct cs_span path = cs_span_from(s, (size_t)(open + 1 - s.at));

		path.len = cs_span_find(path, "+0x");
		frame->library = cs_paste_library(p, path);
		s.len = (size_t)(open - s.at);
		s = cs_span_trim(s);
	}
	blank = s.len ? memrchr(s.at, ' ', s.len) : NULL;
	if (blank && cs_span_find(cs_span_from(s, (size_t)(blank - s.at)), ":") <
			     s.len - (size_t)(blank - s.at) &&
	    s.at[s.len - 1] >= '0' && s.at[s.len - 1] <= '9') {
		cs_paste_place(p, cs_span_from(s, (size_t)(blank + 1 - s.at)), frame);
		s.len = (size_t)(blank - s.at);
	}
	if (!cs_span_begins(s, "<null>"))
		frame->function = cs_paste_function(p, s);
}

/* "    #0 0x55.. in f /x/a.c:3:5"; ThreadSanitizer has no addresses */
static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_frame frame = {0};

	(void)line;
	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	/* LLVM prints its own crashes so, without "in". */
	if (!(s->phase & REPORTED) && !cs_group_is(g, 2))
		return false;
	split_frame(p, cs_span_of_group(g, 3), &frame);
	add_frame(p, &frame);
	return true;
}

/* ---- valgrind ---- */

static bool take_memcheck(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_fresh(p, line);
	cs_paster_pid(p, cs_group_id(g, 1));
	return true;
}

/* "==17== Invalid read of size 8", "==17== Process terminating with default action of signal 11 (SIGSEGV)" */
static bool take_invalid(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_message(p, line, cs_group_text(p, g, 2));
	cs_paster_signal(p, cs_group_text(p, g, 3));
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase = REPORTED | (cs_group_is(g, 3) ? 0 : NOT_FATAL);
	return true;
}

/* "==17==  Access not within mapped region at address 0x0" */
static bool take_access(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	if (!(cs_paster_state(p)->phase & REPORTED))
		return false;
	cs_paster_continue(p, line, cs_group_text(p, g, 1));
	return true;
}

/* "==17==  Address 0x0 is not stack'd, malloc'd or (recently) free'd", and where it was: of the past */
static bool take_address(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	if (!(cs_paster_state(p)->phase & REPORTED))
		return false;
	cs_paster_continue(p, line, cs_group_text(p, g, 1));
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase = REPORTED | OF_THE_PAST;
	return true;
}

/* "==17==    at 0x109162: f (a.c:3)", "==17==    by 0x4A: g (in /lib/libx.so)" */
static bool take_valgrind(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_frame frame = {.number = -1};
	struct cs_span name = cs_span_of_group(g, 2);
	size_t len;
	const char *word = cs_group_bytes(g, 1, &len);

	(void)line;
	if (s->phase & OF_THE_PAST)
		return true;
	if (word && word[0] == 'a' && s->phase & IN_STACK)
		s->phase &= ~IN_STACK; /* another stack begins */
	if (name.at && *name.at == '?')
		name.len = 0;
	frame.function = cs_paste_function(p, name);
	frame.library = cs_paste_library(p, cs_span_of_group(g, 3));
	cs_paste_place(p, cs_span_of_group(g, 4), &frame);
	add_frame(p, &frame);
	return true;
}

#define INVALID                                                                                          \
	"Invalid (?:read|write|free\\(\\)).*|Conditional jump or move depends.*|Use of uninitialised.*|"     \
	"Jump to the invalid address.*|Mismatched free.*|Source and destination overlap.*|"                  \
	"Syscall param .*|Process terminating with default action of signal \\d+ \\((SIG\\w+)\\).*|"         \
	"Stack overflow in thread.*"

/* How gdb's frames end, whose beginning is the same. */
#define GDB ".*\\)(?: at \\S+:\\d+| from /\\S+)$|.* \\(\\)$"

static const struct cs_rule rules[] = {
	{"#", "^ *#(\\d+) 0x[0-9a-f]+( +in)? (?!" GDB ")(.*)$", take_frame},
	{"#", "^ *#(\\d+)() (?!0x)(\\S.* \\(\\S+\\+0x[0-9a-f]+\\).*|<null> .*)$", take_frame},
	{"== ", "^==\\d+== +(at|by) 0x[0-9A-Fa-f]+: (.*?) \\((?:in (.*)|(.*:\\d+))\\)$", take_valgrind},
	{"???", "^==\\d+== +(at|by) 0x[0-9A-Fa-f]+: (\\?\\?\\?)$", take_valgrind},
	{"Sanitizer: ", "^=*(\\d+)?=*(?:ERROR: |WARNING: "
	 ")((Address|Memory|HWAddress|UndefinedBehavior)?\\w*Sanitizer:? (.*))$", take_error},
	{"Sanitizer:DEADLYSIGNAL", "", take_detail},
	{"runtime error: ", "^\\S+:\\d+(?::\\d+)?: runtime error: ", take_undefined},
	{"SUMMARY: ", "^ *SUMMARY: \\w+Sanitizer:", take_summary},
	{" of size ", "^ *(?:READ|WRITE|Read|Write|Atomic read|Atomic write) of size \\d+", take_detail},
	{"The signal is caused by ", "", take_detail},
	{"Hint: ", "", take_detail},
	{"leak of ", "^ *(?:Direct|Indirect) leak of ", take_detail},
	{" here:", "^ *(?:freed|previously allocated|allocated) by thread .* here:$", take_past},
	{"created by ", "^ *Thread T\\d+.* created by .*:$", take_past},
	{"Previous ", "^ *Previous (?:atomic )?(?:read|write) of size ", take_past},
	{"is located ", "^ *(?:0x[0-9a-f]+|Address 0x[0-9a-f]+|Location) is ", take_detail},
	{"== ", "^==(\\d+)== (" INVALID ")$", take_invalid},
	{"== ", "^==\\d+== +(Address 0x[0-9A-Fa-f]+ is .*)$", take_address},
	{"== ", "^==\\d+== +(Access not within mapped region.*|Bad permissions.*|General Protection "
	 "Fault.*)$",
	 take_access},
	{"== ", "^==(\\d+)== (?:Memcheck|Helgrind|DRD|Massif)(?:,|:) ", take_memcheck},
};

const struct cs_dialect cs_dialect_sanitizer = {
	.name = "sanitizer",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
};
