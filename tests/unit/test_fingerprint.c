/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fingerprints: names and messages in one form, what counts of a stack, and which thread it is of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/strbuf.h"
#include "signature/fingerprint.h"
#include "signature/match.h"
#include "signature/print.h"

#include <stdio.h>
#include <string.h>

struct world {
	struct cs_arena *arena;
	struct cs_scanner *scanner;
	struct cs_fingerprinter *printer;
};

static int set_up(void **state)
{
	static struct world w;

	w.arena = cs_arena_create(512UL << 20);
	assert_non_null(w.arena);
	assert_null(cs_scanner_create(&cs_signatures_builtin, &w.scanner));
	assert_null(cs_fingerprinter_create(&cs_signatures_builtin.print, &w.printer));
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	cs_scanner_destroy(w->scanner);
	cs_fingerprinter_destroy(w->printer);
	cs_arena_destroy(w->arena);
	return 0;
}

static struct cs_fingerprint of_facts(struct world *w, const struct cs_facts *facts)
{
	struct cs_fingerprint print;
	struct cs_findings findings;

	assert_null(cs_match(&cs_signatures_builtin, w->scanner, facts, w->arena, &findings));
	assert_null(cs_fingerprint_make(w->printer, &cs_signatures_builtin, w->scanner, facts, w->arena,
					&print));
	assert_int_equal(print.algorithm, cs_signatures_builtin.print.algorithm);
	return print;
}

/* Of a record. Its single quotes stand for double ones. */
static struct cs_fingerprint of(struct world *w, const char *record)
{
	char *json = cs_arena_strdup(w->arena, record);
	struct cs_facts facts;
	struct cs_error *err;
	const char *source;

	assert_non_null(json);
	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	err = cs_facts_of_record(json, strlen(json), w->arena, &facts, &source);
	if (err)
		fail_msg("%s", cs_error_message(err));
	return of_facts(w, &facts);
}

/* A crash with these frames, of one thread. */
static struct cs_fingerprint crash(struct world *w, const char *frames)
{
	return of(w, cs_arena_printf(w->arena,
				     "{'signal': 'SIGSEGV', 'kind': 'crash', 'threads': [{'frames': [%s]}]}",
				     frames));
}

static void same(struct cs_fingerprint a, struct cs_fingerprint b)
{
	assert_non_null(a.short_form);
	assert_non_null(b.short_form);
	if (strcmp(a.short_form, b.short_form) != 0)
		fail_msg("%s is not %s", a.text, b.text);
}

static void differ(struct cs_fingerprint a, struct cs_fingerprint b)
{
	if (a.short_form && b.short_form && !strcmp(a.short_form, b.short_form))
		fail_msg("%s is %s", a.text, b.text);
}

/* ---- names ---- */

static const struct {
	const char *text, *name;
} native_rows[] = {
	{"abort (libc.so.6)", "abort"},
	{"__GI_abort (libc.so.6)", "abort"},
	{"__GI___libc_malloc (libc.so.6)", "malloc"},
	{"___pthread_mutex_lock (libc.so.6)", "pthread_mutex_lock"},
	{"__GI___pthread_mutex_lock (?)", "pthread_mutex_lock"},
	{"__libc_start_main (libc.so.6)", "__libc_start_main"},
	{"_IO_new_fclose (libc.so.6)", "fclose"},
	{"__memmove_avx_unaligned_erms (libc.so.6)", "memcpy"},
	{"__memcpy_evex_unaligned_erms (libc.so.6)", "memcpy"},
	{"memcpy (libc.so.6)", "memcpy"},
	{"cfree (libc.so.6)", "free"},
	{"__strlen_avx2 (libc.so.6)", "strlen"},
	{"__strlen_sse2 (?)", "strlen"},
	{"__sin_fma (libm.so.6)", "sin"},
	{"gemm_avx2 (libmine.so)", "gemm_avx2"},
	{"open64 (libc.so.6)", "open"},
	{"uint64 (libmine.so)", "uint64"},
	{"__read_nocancel (libc.so.6)", "read"},
	{"helper.localalias (libmine.so)", "helper"},
	{"_PyObject_MakeTpCall (python3.11)", "_PyObject_MakeTpCall"},
	{"void g::f<int>(int) const (libg.so)", "g::f"},
	{"g::f (libg.so)", "g::f"},
	{"g::f(int) (?)", "g::f"},
	{"std::enable_if<(3>2), std::map<int, int> >::type g::f<(3>2)>(int) (libg.so)", "g::f"},
	{"swig_varlink_type () (_swigfaiss.so)", "swig_varlink_type"},
	{"std::__cxx11::basic_string<char>::append(char const*) (libstdc++.so.6)",
	 "std::basic_string::append"},
	{"std::string::append[abi:cxx11](char const*) (libstdc++.so.6)", "std::string::append"},
	{"absl::lts_20230802::Mutex::Lock() (libabsl.so)", "absl::Mutex::Lock"},
	{"fmt::v10::format(int) (libfmt.so)", "fmt::format"},
	{"(anonymous namespace)::inner<long>(long) (app)", "(anonymous namespace)::inner"},
	{"int a::(anonymous namespace)::inner(int) (app)", "a::(anonymous namespace)::inner"},
	{"main::{lambda(int)#1}::operator()(int) const (app)", "{lambda}"},
	{"operator() (app)", "{lambda}"},
	{"f(int)::{lambda()#2}::_FUN() (app)", "{lambda}"},
	{"f()::'lambda0'(int)::operator()(int) const (app)", "{lambda}"},
	{"f(int)::Local::g(int) (app)", "Local::g"},
	{"lib::Op::operator()(int) const (app)", "lib::Op::operator()"},
	{"lib::Op::operator<(lib::Op const&) const (app)", "lib::Op::operator<"},
	{"std::ostream& lib::operator<< <char>(std::ostream&, char) (app)", "lib::operator<<"},
	{"lib::Op::operator->() (app)", "lib::Op::operator->"},
	{"lib::Op::operator std::vector<int>() const (app)", "lib::Op::operator std::vector"},
	{"operator new[](unsigned long) (libstdc++.so.6)", "operator new[]"},
	{"non-virtual thunk to a::B::f() (app)", "a::B::f"},
	{"decltype (f({parm#1})) g::h<int>(int) (app)", "g::h"},
	{"core::ptr::drop_in_place<alloc::vec::Vec<u8>> (app)", "core::ptr::drop_in_place"},
	{"demo::run::h0123456789abcdef (app)", "demo::run"},
	{"<demo::Pool as core::ops::drop::Drop>::drop (app)", "demo::Pool::drop"},
	{"demo::main::{{closure}} (app)", "demo::main::{closure}"},
	{"<signal handler called> (?)", "<signal handler called>"},
	{"?? (libtorch-1a2b3c4d.so.2)", "[libtorch]"},
	{"?? (libtorch.so)", "[libtorch]"},
	{"?? (/usr/lib/libcuda.so.535.104.05)", "[libcuda]"},
	{"?? (libc-2.31.so)", NULL},
	{"?? (libopenblas64_p-r0-0cf96a72.3.23.dev.so)", "[libopenblas64_p-r0]"},
	{"?? (cygrpc.cpython-311-x86_64-linux-gnu.so)", "[cygrpc]"},
	{"<unknown function> (libnccl.so.2)", "[libnccl]"},
	{"?? (libc.so.6)", NULL},
	{"?? (python3.11)", NULL},
	{"?? (?)", NULL},
	{"", NULL},
	{" (", NULL},
	{"f<", "f"},
	{"f<a(b", "f"},
	{"(((", NULL},
	{"operator", "operator"},
	{"'", NULL},
	{"{", "{}"},
	{"::::", NULL},
};

static void test_native_names(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(native_rows); i++) {
		const char *name;

		assert_null(cs_print_native(w->arena, native_rows[i].text, &name));
		if (!name != !native_rows[i].name || (name && strcmp(name, native_rows[i].name) != 0))
			fail_msg("%s: %s, not %s", native_rows[i].text, name ? name : "NULL",
				 native_rows[i].name ? native_rows[i].name : "NULL");
	}
}

static void test_long_names_end(void **state)
{
	static const char *const parts[] = {"a::", "<", "(", "{", "operator ", "'", "[", "f<x>::", " "};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(parts); i++) {
		struct cs_strbuf sb;
		const char *name;

		cs_strbuf_init(&sb, CS_MAX_FACT_NAME);
		while (sb.len + strlen(parts[i]) <= CS_MAX_FACT_NAME)
			cs_strbuf_puts(&sb, parts[i]);
		assert_null(cs_print_native(w->arena, cs_strbuf_text(&sb), &name));
		assert_true(!name || strlen(name) <= 1024);
		assert_null(cs_print_python(w->arena, cs_strbuf_text(&sb), &name));
		cs_strbuf_deinit(&sb);
	}
}

static void test_python_names(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{"Queue.get (/usr/lib/python3.11/queue.py)", "get (queue.py)"},
		{"get (queue.py)", "get (queue.py)"},
		{"f.<locals>.g (/home/a/train.py)", "g (train.py)"},
		{"<module> (train.py)", "<module> (train.py)"},
		{"_find_and_load (<frozen importlib._bootstrap>)",
		 "_find_and_load (<frozen importlib._bootstrap>)"},
		{"forward (<eval_with_key>.12)", "forward (<eval_with_key>)"},
		{"call (/tmp/torchinductor_a/xy/cxyabcdefghijklmnopqrstuvwxyz234567abc.py)",
		 "call (<generated>)"},
		{"f (?)", "f"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		const char *name;

		assert_null(cs_print_python(w->arena, rows[i].text, &name));
		assert_string_equal(name, rows[i].name);
	}
}

static void test_messages(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"terminate called after throwing an instance of 'std::out_of_range'\n  what():  no key 7",
		 "std::out_of_range: no key N"},
		{"std::out_of_range: no key 8", "std::out_of_range: no key N"},
		{"c10::Error: bad thing\nException raised from f at /a/b.cpp:3", "c10::Error: bad thing"},
		{"bad thing (Exception raised from f at /a/b.cpp:3", "bad thing"},
		{"\n  indented \nnext", "indented"},
		{"at 0x7f12ab00 and 0xDEADBEEF", "at ADDR and ADDR"},
		{"id 550e8400-e29b-41d4-a716-446655440000 gone", "id ADDR gone"},
		{"float16 is not int64 on sm_90", "float16 is not int64 on sm_90"},
		{"rank3 of 8, cuda:0, GPU1", "rankN of N, cuda:N, GPUN"},
		{"took 3.5 s at 12:34:56", "took N s at N"},
		{"10.0.0.12:29500 refused", "N refused"},
		{"[node-7.cluster.local]:29500 is silent", "[HOST]:N is silent"},
		{"[rank3]:[E1130 01:02:03.456 a.cpp:7] lost", "lost"},
		{"F0101 12:00:00.123 4567 file.cc:8] Check failed: a == b", "Check failed: a == b"},
		{"cannot open /home/a/lib/libx.so.12: no file", "cannot open libx.so.12: no file"},
		{"fail at ../third_party/gloo/pair.cc:446", "fail at pair.cc:N"},
		{"NET/IB : and/or", "NET/IB : and/or"},
		{"", ""},
		{"   \n", ""},
	};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		const char *message;

		assert_null(cs_print_message(w->arena, rows[i].text, &message));
		assert_string_equal(message, rows[i].message);
	}
}

static void test_long_messages_are_cut_between_characters(void **state)
{
	struct world *w = *state;
	const char *message;
	char text[2000] = "";

	for (size_t i = 0; i < 600; i++)
		strcat(text, "\xe2\x82\xac"); /* a euro sign */
	assert_null(cs_print_message(w->arena, text, &message));
	assert_true(strlen(message) > 200 && strlen(message) % 3 == 0);
}

/* ---- what counts ---- */

static void test_addresses_libraries_and_folders_do_not_count(void **state)
{
	struct world *w = *state;

	same(crash(w, "'f+0x1a (libmine.so.1)', 'void a::g<int>(int) (libmine.so.1)'"),
	     crash(w, "'f (?)', 'a::g<long> (/opt/other/libmine-1a2b3c4d.so)'"));
	same(crash(w, "'?? (libmine-1a2b3c4d.so.1)', 'f (libmine.so)'"),
	     crash(w, "'?? (libmine.so.2)', '?? (libmine.so.2)', 'f (libmine.so)'"));
	differ(crash(w, "'f (libmine.so)'"), crash(w, "'g (libmine.so)'"));
	differ(crash(w, "'?? (libmine.so)', 'f (app)'"), crash(w, "'?? (libother.so)', 'f (app)'"));
}

static void test_what_ran_because_of_the_crash_is_cut(void **state)
{
	static const char plain[] = "'engine::step (app)', 'engine::run (app)'";
	static const char *const before[] = {
		"'__pthread_kill_implementation (libc.so.6)', 'raise (libc.so.6)', 'abort (libc.so.6)', ",
		"'raise (libc.so.6)', 'abort (libc.so.6)', '__gnu_cxx::__verbose_terminate_handler() "
		"(libstdc++.so.6)', '__cxxabiv1::__terminate(void (*)()) (libstdc++.so.6)', "
		"'std::terminate() (libstdc++.so.6)', '__cxa_throw (libstdc++.so.6)', ",
		"'waitpid (libc.so.6)', 'c10::FatalSignalHandler::fatalSignalHandler(int) (libc10.so)', "
		"'<signal handler called> (?)', ",
		"'raise (libc.so.6)', 'faulthandler_fatal_error (python3.11)', "
		"'<signal handler called> (?)', ",
		"'abort (libc.so.6)', 'fatal_error_exit (python3.11)', '_Py_FatalErrorFunc (python3.11)', ",
		"'__assert_fail_base (libc.so.6)', '__GI___assert_fail (libc.so.6)', ",
		"'abort (libc.so.6)', 'google::LogMessage::Fail() (libglog.so)', "
		"'google::LogMessageFatal::~LogMessageFatal() (libglog.so)', ",
		"'abort (libc.so.6)', 'absl::lts_20230802::log_internal::LogMessage::Flush() (libabsl.so)', ",
		"'rust_panic (libx.so)', 'core::panicking::panic_fmt (libx.so)', "
		"'core::option::unwrap_failed (libx.so)', ",
	};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(before); i++) {
		struct cs_fingerprint print =
			crash(w, cs_arena_printf(w->arena, "%s%s", before[i], plain));

		same(print, crash(w, plain));
		assert_int_equal(print.frames[0].part, CS_PRINT_CUT);
	}
}

static void test_plumbing_and_beginnings_are_passed_over(void **state)
{
	struct world *w = *state;

	same(crash(w, "'f (libx.so)', '_PyEval_EvalFrameDefault (python3.11)', 'g (libx.so)', "
		      "'start_thread (libc.so.6)', '__clone3 (libc.so.6)'"),
	     crash(w, "'f (libx.so)', 'call_function (python3.8)', 'PyEval_EvalFrameEx (python3.8)', "
		      "'g (libx.so)', 'thread_start (libc.so.6)'"));
}

/* Frames that say little do not end the short form; those further out are in the long one. */
static void test_how_far_the_short_form_goes(void **state)
{
	static const enum cs_print_part parts[] = {
		CS_PRINT_PREFIX,  CS_PRINT_COUNTED, CS_PRINT_PREFIX, CS_PRINT_COUNTED,
		CS_PRINT_COUNTED, CS_PRINT_COUNTED, CS_PRINT_LONG,
	};
	struct world *w = *state;
	struct cs_fingerprint a, b;

	a = crash(w, "'memcpy (libc.so.6)', 'f1 (a)', 'std::vector<int>::at(int) (a)', 'f2 (a)', 'f3 (a)', "
		     "'f4 (a)', 'f5 (a)'");
	assert_int_equal(a.n_frames, CS_COUNT(parts));
	for (size_t i = 0; i < CS_COUNT(parts); i++) {
		assert_int_equal(a.frames[i].part, parts[i]);
		assert_int_equal(a.frames[i].frame, (int64_t)i);
	}
	assert_string_equal(a.text, "SIGSEGV | memcpy | f1 | std::vector::at | f2 | f3 | f4");
	b = crash(w, "'memcpy (libc.so.6)', 'f1 (a)', 'std::vector<int>::at(int) (a)', 'f2 (a)', 'f3 (a)', "
		     "'f4 (a)', 'f6 (a)'");
	same(a, b);
	assert_string_not_equal(a.long_form, b.long_form);
}

static void test_signal_and_message_are_in_the_long_form(void **state)
{
	static const char form[] = "{'signal': '%s', 'kind': 'crash', 'message': '%s', 'threads': "
				   "[{'frames': ['raise (libc.so.6)', 'f (a)']}]}";
	struct world *w = *state;
	struct cs_fingerprint a, b, c, d;

	a = of(w, cs_arena_printf(w->arena, form, "SIGABRT", "rank 3 lost"));
	b = of(w, cs_arena_printf(w->arena, form, "SIGABRT", "rank 4 lost"));
	c = of(w, cs_arena_printf(w->arena, form, "SIGABRT", "rank 4 found"));
	d = of(w, cs_arena_printf(w->arena, form, "SIGTRAP", "rank 4 lost"));
	same(a, b);
	same(a, c);
	same(a, d);
	assert_string_equal(a.long_form, b.long_form);
	assert_string_not_equal(a.long_form, c.long_form);
	assert_string_not_equal(a.long_form, d.long_form);
	assert_int_equal(strlen(a.short_form), 2 + 16);
	assert_int_equal(strlen(a.long_form), 2 + 32);
	assert_memory_equal(a.short_form, "1-", 2);
	assert_memory_equal(a.long_form, "1-", 2);
}

/* ---- recursion ---- */

/* @head, then @n rounds of @cycle, then @tail. */
static struct cs_fingerprint recursion(struct world *w, const char *head, const char *cycle, size_t n,
				       const char *tail)
{
	struct cs_fingerprint print;
	struct cs_strbuf sb;

	cs_strbuf_init(&sb, 1UL << 20);
	cs_strbuf_puts(&sb, head);
	for (size_t i = 0; i < n; i++)
		cs_strbuf_puts(&sb, cycle);
	cs_strbuf_puts(&sb, tail);
	print = crash(w, cs_strbuf_text(&sb));
	cs_strbuf_deinit(&sb);
	return print;
}

static void test_recursion_counts_once(void **state)
{
	struct world *w = *state;
	static const char cycle[] = "'visit (a)', 'walk (a)', 'each (a)', ", tail[] = "'begin (a)'";

	same(recursion(w, "", cycle, 2, tail), recursion(w, "", cycle, 3, tail));
	same(recursion(w, "", cycle, 2, tail), recursion(w, "", cycle, 4000, tail));
	/* wherever in the cycle the innermost frame is */
	same(recursion(w, "'each (a)', ", cycle, 50, tail), recursion(w, "", cycle, 60, tail));
	same(recursion(w, "'walk (a)', 'each (a)', ", cycle, 50, tail), recursion(w, "", cycle, 60, tail));
	/* and whatever the last call of a used-up stack was */
	same(recursion(w, "'memset (libc.so.6)', 'leaf (a)', ", cycle, 500, tail),
	     recursion(w, "'other (a)', ", cycle, 700, tail));
	differ(recursion(w, "", cycle, 3, tail), recursion(w, "", "'visit (a)', ", 3, tail));
}

/* An analysis has folded recursion, a text has all of it. */
static void test_folded_recursion_is_the_same(void **state)
{
	struct world *w = *state;
	struct cs_frame frames[] = {
		{.kind = CS_FRAME_NATIVE, .function = "walk"},
		{.kind = CS_FRAME_NATIVE, .function = "visit", .repeat_period = 2, .repeat_count = 900},
		{.kind = CS_FRAME_NATIVE, .function = "walk"},
		{.kind = CS_FRAME_NATIVE, .function = "begin"},
	};
	struct cs_stack_group group = {.frames = frames, .n_frames = CS_COUNT(frames), .n_tids = 1};
	struct cs_thread thread = {.tid = 7, .crashed = true, .signal = 11, .group = &group};
	struct cs_analysis a = {
		.crash = {.tid = 7, .signal = 11, .signal_name = "SIGSEGV", .sender_pid = -1,
			  .fault = CS_FAULT_STACK_OVERFLOW},
		.threads = &thread, .n_threads = 1, .groups = &group, .n_groups = 1,
	};
	struct cs_fingerprint print;
	struct cs_facts facts;

	assert_null(cs_facts_of_analysis(&a, w->arena, &facts));
	print = of_facts(w, &facts);
	assert_int_equal(print.tid, 7);
	assert_int_equal(print.n_frames, CS_COUNT(frames));
	same(print, recursion(w, "'walk (a)', ", "'visit (a)', 'walk (a)', ", 900, "'begin (a)'"));
}

/* ---- which thread ---- */

#define WAITER                                                                                             \
	"{'frames': ['futex_wait (libc.so.6)', 'pthread_cond_wait (libc.so.6)', "                          \
	"'start_thread (libc.so.6)']}"
#define MAIN(frame)                                                                                        \
	"{'role': 'main', 'tid': 1, 'frames': ['poll (libc.so.6)', " frame " 'main (a)', '_start (a)']}"
#define WORKER(frame) "{'frames': ['poll (libc.so.6)', '" frame " (a)', 'start_thread (libc.so.6)']}"

static struct cs_fingerprint hang(struct world *w, const char *threads)
{
	return of(w, cs_arena_printf(w->arena, "{'kind': 'hang', 'threads': [%s]}", threads));
}

static void test_thread_of_a_hang(void **state)
{
	struct world *w = *state;
	struct cs_fingerprint print;

	/* the main one, where it says something, wherever it stands */
	print = hang(w, WAITER ", " WORKER("apply") ", " MAIN("'join_all (a)',"));
	assert_int_equal(print.tid, 1);
	assert_string_equal(print.text, "hang | poll | join_all");
	/* else one that works, in an order that is not that of the threads */
	same(hang(w, MAIN("") ", " WORKER("zip") ", " WORKER("apply") ", " WAITER),
	     hang(w, WORKER("apply") ", " MAIN("") ", " WORKER("zip")));
	print = hang(w, MAIN("") ", " WORKER("zip") ", " WORKER("apply"));
	assert_string_equal(print.text, "hang | poll | apply");
}

/* kill -ABRT: a debugger calls the thread crashed that took the signal, and prints no raise(). */
static void test_killed_from_outside_is_a_hang(void **state)
{
	static const char form[] = "{'signal': 'SIGABRT', 'kind': 'crash', 'threads': [%s]}";
	struct world *w = *state;

	same(of(w, cs_arena_printf(w->arena, form, MAIN("") ", " WORKER("zip") ", " WORKER("apply"))),
	     hang(w, MAIN("") ", " WORKER("zip") ", " WORKER("apply")));
	same(of(w, cs_arena_printf(w->arena, form, MAIN("'step (a)',") ", " WORKER("apply"))),
	     hang(w, WORKER("apply") ", " MAIN("'step (a)',")));
}

/* ---- little or nothing known ---- */

static void test_nothing_known_is_no_fingerprint(void **state)
{
	static const char *const records[] = {
		"{}",
		"{'signal': 'SIGSEGV'}",
		"{'signal': 'SIGSEGV', 'message': 'Segmentation fault (core dumped)'}",
		"{'signal': 'SIGABRT', 'message': 'Fatal Python error: Aborted'}",
		"{'kind': 'hang', 'threads': [" WAITER "]}",
		"{'kind': 'hang', 'threads': [" MAIN("") ", " WAITER "]}",
		("{'signal': 'SIGSEGV', 'threads': [{'frames': ['?? (libc.so.6)', '?? (?)', "
		 "'_PyEval_EvalFrameDefault (python3.11)', '_start (python3.11)']}]}"),
	};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(records); i++) {
		struct cs_fingerprint print = of(w, records[i]);

		assert_null(print.short_form);
		assert_null(print.long_form);
		assert_null(print.text);
	}
}

static void test_message_where_frames_say_nothing(void **state)
{
	static const char form[] = "{'signal': 'SIGABRT', 'message': ['Aborted', '%s'], 'threads': "
				   "[{'frames': ['?? (libc.so.6)']}]}";
	struct world *w = *state;
	struct cs_fingerprint a = of(w, cs_arena_printf(w->arena, form, "no room at 0x1000"));

	same(a, of(w, cs_arena_printf(w->arena, form, "no room at 0x2000")));
	differ(a, of(w, cs_arena_printf(w->arena, form, "no time")));
	assert_string_equal(a.text, "SIGABRT | no room at ADDR");
}

/* Its own functions depend on the version; they count only where a thread died in them. */
static void test_death_within_the_interpreter(void **state)
{
	struct world *w = *state;
	struct cs_fingerprint print = crash(w, "'visit_decref (python3.11)', 'dict_traverse (python3.11)', "
					       "'_PyEval_EvalFrameDefault (python3.11)', '_start (p)'");

	assert_string_equal(print.text, "SIGSEGV | visit_decref | dict_traverse");
	same(crash(w, "'subtype_dealloc (python3.8)', 'f (libx.so)'"), crash(w, "'f (libx.so)'"));
	print = of(w, "{'kind': 'hang', 'threads': [{'role': 'main', 'frames': ['gc_collect_main (python3)', "
		      "'_start (python3)']}]}");
	assert_null(print.short_form);
}

/* Python frames count where there are no others; a debugger's text has only the others. */
static void test_python_frames(void **state)
{
	struct world *w = *state;
	struct cs_fingerprint alone, woven, native;

	alone = of(w, "{'kind': 'hang', 'python_frames': ['wait (/usr/lib/python3.9/threading.py)', "
		      "'Loader.fetch (/home/a/loader.py)', '<module> (/home/a/train.py)']}");
	same(alone, of(w, "{'kind': 'hang', 'python_frames': ['wait (threading.py)', 'fetch (loader.py)', "
			  "'<module> (train.py)']}"));
	woven = of(w, "{'signal': 'SIGSEGV', 'threads': [{'frames': ['f (a)'], 'python_frames': "
		      "['fetch (loader.py)']}]}");
	native = crash(w, "'f (a)'");
	same(woven, native);
	assert_string_not_equal(woven.long_form, native.long_form);
}

static void test_many_frames_are_explained_in_part(void **state)
{
	struct world *w = *state;
	struct cs_fingerprint print;
	struct cs_strbuf sb;

	cs_strbuf_init(&sb, 1UL << 20);
	for (size_t i = 0; i < CS_MAX_PRINT_FRAMES + 200; i++)
		cs_strbuf_printf(&sb, "%s'f%zu (a)'", i ? ", " : "", i);
	print = crash(w, cs_strbuf_text(&sb));
	cs_strbuf_deinit(&sb);
	assert_int_equal(print.n_frames, CS_MAX_PRINT_FRAMES);
	assert_non_null(print.long_form);
}

/*
 * People keep fingerprints. Whoever must change one of these raises `algorithm` in
 * corpus/signatures/fingerprint.yaml, unless no release has had it yet.
 */
static void test_they_stay_the_same(void **state)
{
	static const struct {
		const char *record, *short_form, *long_form;
	} rows[] = {
		{"{'signal': 'SIGSEGV', 'kind': 'crash', 'threads': [{'frames': ["
		 "'__memmove_avx_unaligned_erms (libc.so.6)', "
		 "'void at::native::copy_impl<float>(at::Tensor&) (libtorch_cpu.so)', "
		 "'?? (libcuda.so.535.104.05)', 'THPVariable_copy (libtorch_python.so)']}]}",
		 "1-78aae383151c7716", "1-a950efb973678d72e22c7db89bd26be2"},
		{"{'signal': 'SIGABRT', 'kind': 'crash', 'message': 'c10::Error: rank 3 lost at 0x7f00', "
		 "'threads': [{'frames': ['raise (libc.so.6)', 'abort (libc.so.6)', 'std::terminate() "
		 "(libstdc++.so.6)', 'c10d::ProcessGroupNCCL::ncclCommWatchdog() (libtorch_cuda.so)', "
		 "'start_thread (libc.so.6)']}]}",
		 "1-c8a95130c214174f", "1-e23d05716961613479aff7e77782b334"},
		{"{'signal': 'SIGABRT', 'kind': 'crash', 'message': 'free(): invalid pointer'}",
		 "1-1473bfad450f8372", "1-2f8883c28858af7f005ac60265ad45db"},
		{"{'kind': 'hang', 'python_frames': ['wait (/usr/lib/python3.11/threading.py)', "
		 "'Loader.fetch (/home/a/loader.py)', '<module> (/home/a/train.py)']}",
		 "1-6aede726283eef62", "1-d1ddc386ffbe6ced0730c92dd55b624f"},
		{"{'signal': 'SIGSEGV', 'kind': 'crash', 'threads': [{'frames': ["
		 "'visit_decref (python3.11)', 'dict_traverse (python3.11)', "
		 "'gc_collect_main (python3.11)']}]}",
		 "1-5f7c486befb7c48a", "1-93e5bb8245ef8fd4e71584bed0293e80"},
	};
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		struct cs_fingerprint print = of(w, rows[i].record);

		assert_string_equal(print.short_form, rows[i].short_form);
		assert_string_equal(print.long_form, rows[i].long_form);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native_names),
		cmocka_unit_test(test_long_names_end),
		cmocka_unit_test(test_python_names),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_long_messages_are_cut_between_characters),
		cmocka_unit_test(test_addresses_libraries_and_folders_do_not_count),
		cmocka_unit_test(test_what_ran_because_of_the_crash_is_cut),
		cmocka_unit_test(test_plumbing_and_beginnings_are_passed_over),
		cmocka_unit_test(test_how_far_the_short_form_goes),
		cmocka_unit_test(test_signal_and_message_are_in_the_long_form),
		cmocka_unit_test(test_recursion_counts_once),
		cmocka_unit_test(test_folded_recursion_is_the_same),
		cmocka_unit_test(test_thread_of_a_hang),
		cmocka_unit_test(test_killed_from_outside_is_a_hang),
		cmocka_unit_test(test_nothing_known_is_no_fingerprint),
		cmocka_unit_test(test_message_where_frames_say_nothing),
		cmocka_unit_test(test_death_within_the_interpreter),
		cmocka_unit_test(test_python_frames),
		cmocka_unit_test(test_many_frames_are_explained_in_part),
		cmocka_unit_test(test_they_stay_the_same),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
