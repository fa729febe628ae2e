/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that a dying process prints itself: glog, Abseil and folly, backtrace_symbols() of the C library as
 * Ray, Open MPI, UCX and TensorRT-LLM use it, LLVM, Rust, and the crash reports of macOS.
 *
 * Forms: glog src/signalhandler.cc, abseil-cpp absl/debugging/internal/examine_stack.cc, folly
 * debugging/symbolizer/SignalHandler.cpp, glibc debug/backtracesyms.c, ompi opal/util/stacktrace.c,
 * ucx src/ucs/debug/debug.c, ray src/ray/util/logging.cc, llvm lib/Support/Signals.cpp, rust
 * library/std/src/backtrace.rs.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

/* The dialect's `phase`. */
enum {
	IN_LIST = 1, /* frames belong to the open thread */
	IN_MAP = 2,  /* a list of what is mapped, as old C libraries print it */
	IN_RUST = 4, /* frames have no address */
	IN_PANIC = 8, /* the message goes on */
	EXPECTED = 16, /* the head of a stack was there */
	HAS_PC = 32, /* where it died was said before its frames: in `text` and `line` */
	IN_HANDLER = 64, /* the frames between that and the next are of the handler */
};

/* What follows is the stack of who died: its thread is there once it has a frame. */
static void expect_list(struct cs_paster *p, int phase, uint64_t tid)
{
	struct cs_paster_state *s = cs_paster_state(p);

	cs_paste_end_repeated(p);
	s->phase = EXPECTED | phase | (s->phase & HAS_PC);
	s->number = tid <= INT32_MAX ? tid : 0;
}

static void add_frame(struct cs_paster *p, struct cs_paste_frame *frame)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct cs_paste_thread t = {.crashed = true, .tid = (int32_t)s->number};

	/* Another list begins where numbers begin anew, and where they begin or end. */
	if (!(s->phase & IN_LIST) ||
	    (last && frame->number <= last->number && (frame->number >= 0 || last->number >= 0))) {
		cs_paste_end_repeated(p);
		cs_paster_thread(p, &t, false);
		cs_paster_kind(p, CS_PASTE_CRASH); /* a process prints its own stack when it fails */
		s->phase = IN_LIST | (s->phase & (IN_RUST | HAS_PC));
		s->number = 0;
	}
	cs_paste_native(p, frame);
}

/* True if the process is the one whose number is known, or either is not. */
static bool is_same_process(struct cs_paster *p, const struct cs_groups *g, unsigned group)
{
	uint64_t pid;

	return !cs_group_number(g, group, 10, &pid) || !cs_paster_known_pid(p) ||
	       (uint64_t)cs_paster_known_pid(p) == pid;
}

/* A process prints this once: where another's stack was, this is another process. */
static void begin_dump(struct cs_paster *p, const struct cs_line *line)
{
	if (cs_paster_has(p, &cs_dialect_backtrace))
		cs_paster_fresh(p, line);
}

static void note_process(struct cs_paster *p, const struct cs_groups *g, unsigned group)
{
	cs_paster_pid(p, cs_group_id(g, group));
}

/* ---- glog, Abseil, folly ---- */

/*
 * True if no handler has printed yet, or this is what one has printed, again: Ray writes to the standard
 * error first, and to its log then.
 */
static bool says_again(struct cs_paster *p, const struct cs_line *line, const char *text)
{
	size_t number;
	const char *last = cs_paster_last_message(p, &number);
	const char *cpu = strstr(text, " on cpu ");

	if (!cs_paster_has(p, &cs_dialect_backtrace))
		return true;
	return cpu && last && (isalpha((unsigned char)line->level) || text > line->text + line->indent) &&
	       !strncmp(last, text, (size_t)(cpu - text));
}

/* "*** SIGSEGV (@0x0) received by PID 17 (TID 0x7f..) from PID 0; stack trace: ***" and its kin */
static bool take_signal(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	const char *stars = strstr(line->text, "*** ");

	if (!says_again(p, line, stars ? stars : line->text))
		cs_paster_fresh(p, line);
	cs_paste_say(p, line, stars ? stars : line->text);
	cs_paster_signal(p, cs_group_text(p, g, 1));
	note_process(p, g, 2);
	expect_list(p, 0, 0);
	return true;
}

/* "*** Check failure stack trace: ***", "*** StackTrace Information ***" */
static bool take_check(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	expect_list(p, 0, 0);
	return true;
}

/* The name in "960  f()" or "(unknown)  f()": Abseil prints the size of the frame before it. */
static struct cs_span past_size(struct cs_span s)
{
	static const char unknown[] = "(unknown)";
	size_t n = 0;

	if (cs_span_begins(s, unknown))
		n = strlen(unknown);
	else
		while (n < s.len && s.at[n] >= '0' && s.at[n] <= '9')
			n++;
	return n && n < s.len && s.at[n] == ' ' ? cs_span_trim(cs_span_from(s, n)) : s;
}

/*
 * "PC: @     0x7f..  (unknown)  f()": Abseil's list goes from the handler to f()'s caller, glog's has
 * f(), too
 */
static bool take_pc(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span name = past_size(cs_span_trim(cs_span_of_group(g, 2)));
	uint64_t address;

	(void)line;
	if (!cs_group_number(g, 1, 16, &address) || cs_span_is(name, "(unknown)"))
		return true;
	cs_strbuf_deinit(&s->text);
	cs_strbuf_init(&s->text, CS_MAX_FACT_NAME);
	cs_strbuf_put(&s->text, name.at, name.len);
	s->line = address;
	s->phase |= HAS_PC;
	return true;
}

/* True if the frame is of the handler that prints, or the one that take_pc() had. */
static bool is_of_handler(struct cs_paster *p, const struct cs_paste_frame *frame, uint64_t address)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!(s->phase & IN_HANDLER))
		return false;
	if (address != s->line && frame->function && !strstr(frame->function, "FailureSignalHandler"))
		s->phase &= ~IN_HANDLER;
	return s->phase & IN_HANDLER;
}

/* "    @     0x7f.. f()" */
static bool take_at(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_frame frame = {.number = -1}, died = {.number = -1};
	uint64_t address;

	(void)line;
	if (!cs_group_number(g, 1, 16, &address))
		return false;
	frame.function = cs_paste_function(p, past_size(cs_span_trim(cs_span_of_group(g, 2))));
	if (s->phase & HAS_PC) {
		died.function = cs_paste_function(p, CS_SPAN(cs_strbuf_text(&s->text)));
		add_frame(p, &died);
		s->phase = (s->phase & ~HAS_PC) | IN_HANDLER;
	}
	if (!is_of_handler(p, &frame, address))
		add_frame(p, &frame);
	return true;
}

/* ---- backtrace_symbols() ---- */

/*
 * "/lib/libc.so.6(abort+0x12b) [0x7f..]", behind a number or a mark: whoever prints it also looks names up,
 * and they stand behind the address then.
 */
static bool take_symbol(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};
	struct cs_span better = cs_span_of_group(g, 4);

	(void)line;
	(void)cs_group_frame(g, 1, &frame.number);
	frame.library = cs_paste_library(p, cs_span_of_group(g, 2));
	frame.function = cs_paste_function(p, better.len ? better : cs_span_of_group(g, 3));
	add_frame(p, &frame);
	return true;
}

/* "python[0x5678ab]": a library alone */
static bool take_library(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	return cs_paster_state(p)->phase & (IN_LIST | EXPECTED) && take_symbol(p, line, g);
}

/* " 0 0x0000000000012980 funlockfile()  ???:0": UCX */
static bool take_ucx(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	struct cs_span name = cs_span_of_group(g, 2);

	(void)line;
	if (!(cs_paster_state(p)->phase & (IN_LIST | EXPECTED)) || !cs_group_frame(g, 1, &frame.number))
		return false;
	if (cs_span_ends(name, "()") && cs_span_find(name, "operator()") + strlen("operator()") != name.len)
		name.len -= 2;
	frame.function = cs_paste_function(p, name);
	cs_paste_place(p, cs_span_of_group(g, 3), &frame);
	add_frame(p, &frame);
	return true;
}

/* "==== backtrace (tid: 17) ====" */
static bool take_ucx_head(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	uint64_t tid;

	(void)line;
	cs_group_number(g, 1, 10, &tid);
	expect_list(p, 0, tid);
	return true;
}

/*
 * "Caught signal 11 (Segmentation fault: address not mapped to object at address 0x8)", "Signal: Aborted
 * (6)"
 */
static bool take_caught(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	uint64_t n;

	if (!cs_group_number(g, 2, 10, &n) || n > 64)
		return false;
	if (!strncmp(cs_group_text(p, g, 1), "Caught", 6)) /* UCX; Open MPI has said whose it is */
		begin_dump(p, line);
	note_process(p, g, 3);
	cs_paste_say(p, line, cs_group_text(p, g, 1));
	cs_paster_signal_number(p, (int)n);
	return true;
}

/* "Signal code: Address not mapped (1)", "Failing at address: (nil)" */
static bool take_detail(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_continue(p, line, cs_group_text(p, g, 1));
	return true;
}

static bool take_mpi(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	size_t number;
	const char *last = cs_paster_last_message(p, &number);

	/* UCX may have printed before, but Open MPI prints once. */
	if (!is_same_process(p, g, 1) || (last && !strncmp(last, "Signal: ", 8)))
		begin_dump(p, line);
	note_process(p, g, 1);
	expect_list(p, 0, 0);
	return true;
}

static bool take_end(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	if (!(cs_paster_state(p)->phase & IN_LIST))
		return false;
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase = 0;
	return true;
}

/* "*** Error in `python': free(): invalid pointer: 0x7f.. ***" */
static bool take_error(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	begin_dump(p, line);
	cs_paste_say(p, line, line->text + line->indent);
	return true;
}

static bool take_map(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	cs_paster_end_thread(p);
	cs_paster_state(p)->phase = IN_MAP;
	return true;
}

/* ---- Caffe2 ---- */

/* "SIGABRT(6), PID: 17, Thread 18:", for each of its threads */
static bool take_caffe2(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread t = {0};

	if (!is_same_process(p, g, 2))
		cs_paster_fresh(p, line);
	cs_paster_signal(p, cs_group_text(p, g, 1));
	note_process(p, g, 2);
	t.tid = cs_group_id(g, 3);
	cs_paster_thread(p, &t, false);
	cs_paster_state(p)->phase = IN_LIST;
	return true;
}

/*
 * "[18] _PyFunction_Vectorcall+0x10b(0x56..) in /opt/conda/bin/python",
 * "1   0x7f.. tensorrt_llm::common::throwRuntimeError(char const*, int, ...) + 100", which has no library
 */
static bool take_indexed(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};

	(void)line;
	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	frame.function = cs_paste_function(p, cs_span_of_group(g, 2));
	frame.library = cs_paste_library(p, cs_span_of_group(g, 3));
	add_frame(p, &frame);
	return true;
}

/* ---- LLVM, TensorRT-LLM, macOS ---- */

/* " #0 0x00007f.. llvm::sys::PrintStackTrace(...) (/x/libtriton.so+0x123)" or "... /x/Signals.inc:22:1" */
static bool take_llvm(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	struct cs_span s = cs_span_trim(cs_span_of_group(g, 2));
	const char *at = s.len ? memrchr(s.at, ' ', s.len) : NULL;
	struct cs_span tail = at ? cs_span_from(s, (size_t)(at + 1 - s.at)) : s;

	(void)line;
	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	if (cs_span_begins(tail, "(") && cs_span_find(tail, "+0x") < tail.len) {
		struct cs_span path = cs_span_from(tail, 1);

		path.len = cs_span_find(path, "+0x");
		frame.library = cs_paste_library(p, path);
		s.len -= tail.len;
	} else if (cs_span_begins(tail, "/") && cs_span_find(tail, ":") < tail.len) {
		cs_paste_place(p, tail, &frame);
		s.len -= tail.len;
	}
	frame.function = cs_paste_function(p, s);
	add_frame(p, &frame);
	return true;
}

/* "12  libtriton.so 0x00007f.. llvm::sys::RunSignalHandlers() + 61", on macOS, too */
static bool take_numbered(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	struct cs_span name = cs_span_of_group(g, 3);
	size_t in = cs_span_find(name, " (in ");

	(void)line;
	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	name.len = in; /* "f (in libx.dylib)" */
	if (cs_span_begins(name, "0x")) /* "0x104a000 + 1234": the library's address */
		name.len = 0;
	frame.library = cs_paste_library(p, cs_span_of_group(g, 2));
	frame.function = cs_paste_function(p, name);
	add_frame(p, &frame);
	return true;
}

/* "Thread 3 Crashed:: Dispatch queue: com.apple.main-thread", "Thread 4:" of macOS */
static bool take_mac_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread t = {.crashed = cs_group_is(g, 2)};
	uint64_t n;

	(void)line;
	if (!cs_group_number(g, 1, 10, &n) || n >= UINT32_MAX)
		return false;
	t.ordinal = (uint32_t)n + 1;
	t.main = n == 0;
	t.name = cs_group_text(p, g, 3);
	cs_paster_thread(p, &t, false);
	cs_paster_state(p)->phase = IN_LIST;
	return true;
}

/* "Process:               Python [17]" */
static bool take_mac_process(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_fresh(p, line);
	note_process(p, g, 1);
	return true;
}

/* "Exception Type:        EXC_BAD_ACCESS (SIGSEGV)" */
static bool take_mac_signal(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	cs_paster_signal(p, cs_group_text(p, g, 1));
	return true;
}

/* ---- Rust ---- */

/* "thread 'main' panicked at src/main.rs:3:5:", and the message in lines below; before 1.73 it came first. */
static bool take_panic(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	begin_dump(p, line);
	cs_paster_message(p, line, line->text + line->indent);
	cs_paster_state(p)->phase = IN_PANIC;
	return true;
}

static bool take_rust_head(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	expect_list(p, IN_RUST, 0);
	return true;
}

/* "   3: core::panicking::panic_fmt", "   3:     0x55.. - core::panicking::panic_fmt::h0123456789abcdef" */
static bool take_rust(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	struct cs_span name = cs_span_of_group(g, 2);

	(void)line;
	if (!(cs_paster_state(p)->phase & IN_RUST) || !cs_group_frame(g, 1, &frame.number))
		return false;
	if (name.len > 19 && !memcmp(name.at + name.len - 19, "::h", 3) &&
	    strspn(name.at + name.len - 16, "0123456789abcdef") >= 16)
		name.len -= 19;
	frame.function = cs_paste_function(p, name);
	add_frame(p, &frame);
	return true;
}

/* "             at /rustc/.../library/core/src/panicking.rs:72:14" */
static bool take_rust_place(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame *last = cs_paster_last_frame(p);

	(void)line;
	if (!(cs_paster_state(p)->phase & IN_RUST) || !last)
		return false;
	cs_paste_place(p, cs_span_of_group(g, 1), last);
	return true;
}

#define NUMBER "(?:\\[bt\\] +)?(?:#|\\[ *|\\()?(\\d+)?(?:[:\\])] *| +)?"

static const struct cs_rule rules[] = {
	{"@ ", "^(?:.*logging\\.cc:\\d+:)? *(?:\\(\\) *)?@ +(?:0x)?([0-9a-f]{1,16}) +(\\S.*)$", take_at},
	{"[0x",
	 "^(?:\\[[^\\]]+:\\d+\\] )? *" NUMBER "(?:0x[0-9a-f]+ +)?([^ ()]*)\\"
	 "(([^()]*?)(?:[+-]0x[0-9a-f]+)?\\) ?"
	 "\\[0x[0-9a-f]+\\](?: (\\S.*))?$",
	 take_symbol},
	{"[0x",
	 "^(?:\\[[^\\]]+:\\d+\\] )? *" NUMBER "(?:0x[0-9a-f]+ +)?([^ ()\\[\\]]+)() ?\\[0x[0-9a-f]+\\]$",
	 take_library},
	{" 0x", "^ *(\\d+) +0x[0-9a-f]{8,16} +(\\S.*?) +(\\S*:\\d+)$", take_ucx},
	{" 0x", "^ *#(\\d+) 0x[0-9a-f]{8,16} (?!in )(\\S.*)$", take_llvm},
	{" 0x", "^ *(\\d+) +(\\S+) +0x[0-9a-f]{8,16}(?: +(\\S.*?)(?: \\+ \\d+)?)?$",
	 take_numbered},
	{" 0x", "^ *(\\d+) +0x[0-9a-f]{6,16} (\\S.*?)(?: \\+ \\d+)?$", take_indexed},
	{"] ", "^ *\\[(\\d+)\\] (\\S.*?)(?:\\+0x[0-9a-f]+)?\\((?:0x)?[0-9a-f]+\\) in "
	 "(/.*)$", take_indexed},
	{"), PID: ", "\\b(SIG\\w+)\\(\\d+\\), PID: (\\d+), Thread (\\d+):", take_caffe2},
	{": ", "^ *(\\d+): +(?:0x[0-9a-f]+ - )?(\\S.*)$", take_rust},
	{" at ", "^ +at (\\S+:\\d+)$", take_rust_place},
	{"*** SIG", "\\*\\*\\* (SIG[A-Z0-9]+) received at time=", take_signal},
	{"*** SIG", "\\*\\*\\* (SIG[A-Z0-9]+) \\(.*received by PID (\\d+)", take_signal},
	{"*** Signal ", "\\*\\*\\* Signal \\d+ \\((SIG[A-Z0-9]+)\\).*received by PID (\\d+)", take_signal},
	{"*** Check failure stack trace: ***", "", take_check},
	{"*** StackTrace Information ***", "", take_check},
	{"@ ", "@ +\\.\\.\\. and at least \\d+ more frames", NULL},
	{"PC: @", "\\bPC: @ +(?:0x)?([0-9a-f]{1,16}) +(\\S.*)$", take_pc},
	{"*** Aborted at ", "^ *\\*\\*\\* Aborted at \\d+ ", NULL},
	{"backtrace", "^.{0,40}={4,} ?backtrace(?: \\(tid: *(\\d+)\\))? ?={4,}", take_ucx_head},
	{"======= Backtrace: =", "", take_check},
	{"======= Memory map: =", "", take_map},
	{"=========", "^={20,}$", take_end},
	{"*** Error in ", "^ *\\*\\*\\* Error in .*\\*\\*\\*$", take_error},
	{"Caught signal ", "^(?=.*?(Caught signal (\\d+) \\(.*)$)(?:[^\\[]{0,80}\\[[^\\]:]*:(\\d+))?",
	 take_caught},
	{"*** Process received signal ***", "^(?:\\[[^\\]]+:(\\d+)\\])?", take_mpi},
	{"*** End of error message ***", "", take_end},
	{"Signal: ", "^(?:\\[[^\\]]+:\\d+\\] )?(Signal: .* \\((\\d+)\\))$", take_caught},
	{"Signal code: ", "^(?:\\[[^\\]]+:\\d+\\] )?(Signal code: .*)$", take_detail},
	{"Failing at address: ", "^(?:\\[[^\\]]+:\\d+\\] )?(Failing at address: .*)$", take_detail},
	{" panicked at ", "^.{0,80}?thread '.*'(?: \\(\\d+\\))? panicked at ", take_panic},
	{"stack backtrace:", "^ *stack backtrace:$", take_rust_head},
	{"Thread ", "^Thread (\\d+)( Crashed)?:{1,2}(?: *Dispatch queue: (\\S+)| (\\"
	 "S.*))?$", take_mac_thread},
	{"Process: ", "^Process: +\\S.* \\[(\\d+)\\]$", take_mac_process},
	{"Exception Type: ", "^Exception Type: +\\w+ \\((SIG\\w+)\\)", take_mac_signal},
};

static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = {line->text, line->len};

	if (s->phase == IN_MAP)
		return strspn(line->text, "0123456789abcdef-") >= 12;
	if (s->phase != IN_PANIC || !line->len || cs_span_begins(text, "note: "))
		return false;
	cs_paster_continue(p, line, line->text + line->indent);
	return true;
}

/* The stack that ended may have been printed before: to the standard error, and to a log. */
static void end(struct cs_paster *p)
{
	if (cs_paster_state(p)->phase & IN_LIST)
		cs_paste_end_repeated(p);
}

const struct cs_dialect cs_dialect_backtrace = {
	.name = "backtrace",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
	.end = end,
};
