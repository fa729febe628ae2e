/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matching: each kind of condition holds and does not, precedence, limits, and facts from both sources.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "signature/match.h"

#include <stdio.h>
#include <string.h>

/* A process that is matched against signatures made from a text. */
struct world {
	struct cs_arena *arena;
	struct cs_signature_set set;
	struct cs_scanner *scanner;
	struct cs_findings findings;
};

static void make(struct world *w, const char *yaml)
{
	struct cs_complaints complaints = {0};
	struct cs_signature_set base = cs_signatures_builtin;

	base.n_signatures = 0; /* of what is built in, the reporters and decoys alone */
	*w = (struct world){.arena = cs_arena_create(512UL << 20)};
	assert_non_null(w->arena);
	complaints.arena = w->arena;
	assert_null(
		cs_signatures_parse("t.yaml", yaml, strlen(yaml), &base, w->arena, &complaints, &w->set));
	if (complaints.list.n)
		fail_msg("%s", complaints.list.v[0]);
	assert_null(cs_scanner_create(&w->set, &w->scanner));
}

static void end(struct world *w)
{
	cs_scanner_destroy(w->scanner);
	cs_arena_destroy(w->arena);
}

static void match_record(struct world *w, const char *json)
{
	struct cs_error *err;
	struct cs_facts facts;
	const char *source;

	err = cs_facts_of_record(json, strlen(json), w->arena, &facts, &source);
	if (err)
		fail_msg("%s", cs_error_message(err));
	assert_null(cs_match(&w->set, w->scanner, &facts, w->arena, &w->findings));
}

/* A signature "id" with one alternative, in flow style: "{message: luck}". */
static void put_signature(char *to, size_t size, const char *id, int priority, const char *any,
			  const char *more)
{
	size_t at = strlen(to);

	snprintf(to + at, size - at,
		 "%sid: %s\ntitle: A title\ncategory: t\nseverity: high\npriority: %d\nconfidence: "
		 "certain\n"
		 "any: [%s]\n%s\n"
		 "explanation: A text that is long enough to explain whatever this is about.\n"
		 "steps: [Look at it.]\n",
		 at ? "---\n" : "", id, priority, any, more);
}

static const struct cs_finding *finding(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->findings.n; i++)
		if (!strcmp(w->findings.v[i].id, id))
			return &w->findings.v[i];
	return NULL;
}

/* The signature with that alternative fits the record, or does not. */
static void check_one(const char *any, const char *json, bool fits)
{
	char yaml[4096] = "";
	struct world w;

	put_signature(yaml, sizeof(yaml), "test-one", 50, any, "");
	make(&w, yaml);
	match_record(&w, json);
	if ((finding(&w, "test-one") != NULL) != fits)
		fail_msg("%s\n%s\nmust%s fit", any, json, fits ? "" : " not");
	end(&w);
}

#define CRASH(frames)                                                                                    \
	"{\"signal\":\"SIGSEGV\",\"kind\":\"crash\",\"threads\":[{\"frames\":[" frames "]}]}"
#define TWO(kind, first, second)                                                                         \
	"{\"kind\":\"" kind "\",\"threads\":[{\"frames\":[" first "]},{\"frames\":[" second "]}]}"

/* What a signature asks for, and whether a record has it. */
static const struct {
	const char *any, *record;
	bool fits;
} conditions[] = {
	{"{message: 'bad luck'}", "{\"message\":\"so much bad luck today\"}", true},
	{"{message: 'bad luck'}", "{\"message\":\"so much Bad luck today\"}", false},
	{"{message: '(?i)bad luck'}", "{\"message\":\"so much Bad luck today\"}", true},
	{"{message: '^second$'}", "{\"message\":\"first\\nsecond\\nthird\"}", true},
	{"{message: ['one thing', 'another']}", "{\"message\":[\"one thing\",\"another\"]}", true},
	{"{message: ['one thing', 'another']}", "{\"message\":[\"one thing\"]}", false},
	{"{frames: ['^inner', '^outer']}", CRASH("\"inner (a.so)\",\"x (b)\",\"outer (c)\""), true},
	{"{frames: ['^inner', '^outer']}", CRASH("\"outer (a.so)\",\"inner (c)\""), false},
	{"{frames: ['^outer']}", TWO("crash", "\"inner (a)\"", "\"outer (b)\""), false},
	{"{frames: ['^outer']}", TWO("hang", "\"inner (a)\"", "\"outer (b)\""), true},
	{"{frames: ['^outer'], thread: any}", TWO("crash", "\"inner (a)\"", "\"outer (b)\""), true},
	{"{frames: ['inner', 'outer']}", TWO("hang", "\"inner (a)\"", "\"outer (b)\""), false},
	{"{frames: ['inner'], others: [{frames: ['outer']}]}",
	 TWO("crash", "\"inner (a)\"", "\"outer (b)\""), true},
	{"{frames: ['inner'], others: [{frames: ['inner']}]}",
	 TWO("crash", "\"inner (a)\"", "\"outer (b)\""), false},
	{"{frames: ['inner'], others: [{frames: ['inner']}]}",
	 TWO("hang", "\"inner (a)\",\"x (y)\"", "\"inner (b)\""), true},
	{"{top: '^inner'}", CRASH("\"raise (libc.so.6)\",\"abort (libc.so.6)\",\"inner (a)\""), true},
	{"{top: '^outer'}", CRASH("\"inner (a)\",\"outer (b)\""), false},
	{"{frames: ['^ucs_handle_error']}", CRASH("\"ucs_handle_error (libucs.so.0)\""), false},
	{"{frames: ['^abort \\(']}", CRASH("\"__GI_abort (libc.so.6)\""), true},
	{"{frames: ['^__GI_abort \\(']}", CRASH("\"__GI_abort (libc.so.6)\""), true},
	{"{frames: ['^free \\(']}", CRASH("\"__GI___libc_free (libc.so.6)\""), true},
	{"{frames: ['^pthread_cond_wait \\(']}",
	 CRASH("\"pthread_cond_wait@@GLIBC_2.3.2 (libpthread.so.0)\""), true},
	{"{frames: ['^worker \\(']}", CRASH("\"worker.constprop.0 (a.so)\""), true},
	{"{frames: ['^worker \\(']}", CRASH("\"worker.part.3.cold (a.so)\""), true},
	{"{frames: ['^run\\(int\\) \\(']}", CRASH("\"run(int) [clone .cold] (a.so)\""), true},
	{"{frames: ['^pop \\(']}", CRASH("\"pop+0x1f (a.so)\""), true},
	{"{frames: ['^g::run \\(a']}", CRASH("\"void g::run<int>(std::vector<int> const&) (a.so)\""),
	 true},
	{"{frames: ['run<int>\\(std::vector']}",
	 CRASH("\"void g::run<int>(std::vector<int> const&) (a.so)\""), true},
	{"{python: ['^step \\(train\\.py\\)']}", CRASH("\"step (train.py:88)\""), true},
	{"{frames: ['^malloc \\(']}", CRASH("\"_malloc (mine.so)\""), false},
	{"{frames: ['\\?\\? \\(libcuda']}", CRASH("\"n/a (libcuda.so.1)\""), true},
	{"{python: ['^get \\(queue\\.py']}",
	 "{\"kind\":\"hang\",\"python_frames\":[\"Queue.get "
	 "(/usr/lib/python3.11/queue.py)\"]}",
	 true},
	{"{python: ['worker \\(torch/utils']}",
	 "{\"python_frames\":[\"worker (/x/site-packages/torch/utils/data.py)\"]}", true},
	{"{python: ['^wait \\(threading']}", CRASH("\"wait (threading.py)\""), true},
	{"{frames: ['^wait \\(threading']}", CRASH("\"wait (threading.py)\""), false},
	{"{frames: ['inner'], python: ['main']}",
	 "{\"threads\":[{\"frames\":[\"inner (a)\"],\"python_frames\":[\"main (m.py)\"]}]}", true},
	{"{frames: ['inner'], python: ['main']}",
	 "{\"threads\":[{\"frames\":[\"inner (a)\"]},{\"python_frames\":[\"main (m.py)\"]}]}", false},
	{"{frames: ['inner'], python: ['main'], same_thread: false}",
	 "{\"threads\":[{\"frames\":[\"inner (a)\"]},{\"python_frames\":[\"main (m.py)\"]}]}", true},
	{"{signal: SIGBUS}", "{\"signal\":\"SIGBUS\"}", true},
	{"{signal: SIGBUS}", "{\"signal\":\"SIGSEGV\"}", false},
	{"{signal: SIGBUS}", "{}", false},
	{"{message: luck, kind: oom}", "{\"message\":\"luck\",\"kind\":\"oom\"}", true},
	{"{message: luck, kind: oom}", "{\"message\":\"luck\",\"kind\":\"hang\"}", false},
	{"{message: luck, kind: [oom, hang]}", "{\"message\":\"luck\",\"kind\":\"hang\"}", true},
	{"{exit: [-9]}", "{\"exit\":137}", true},
	{"{exit: [137]}", "{\"exit\":-9}", true},
	{"{exit: [137]}", "{\"exit\":1}", false},
	{"{exit: [137]}", "{\"message\":\"worker failed (exitcode: -9) local_rank: 2\"}", true},
	{"{exit: [137]}", "{\"message\":\"worker failed\"}", false},
	{"{modules: ['^libfoo']}", "{\"modules\":[\"libfoo.so.1\"]}", true},
	{"{modules: ['^libfoo', '^libbar']}", "{\"modules\":[\"libfoo.so.1\"]}", false},
	{"{modules: ['^libfoo']}", CRASH("\"f (libfoo.so)\""), true},
	{"{env: {RANK: '^6'}}", "{\"env\":{\"RANK\":\"6\"}}", true},
	{"{env: {RANK: '^6'}}", "{\"env\":{\"RANK\":\"7\"}}", false},
	{"{env: {RANK: '^6'}}", "{}", false},
	{"{message: luck, versions: 'torch>=2.2'}", "{\"message\":\"luck\"}", true},
	{"{message: luck, versions: 'torch>=2.2'}",
	 "{\"message\":\"luck\",\"versions\":{\"torch\":\"2.1.0\"}}", false},
	{"{fact: null-write}", "{\"facts\":[\"null-write\"]}", true},
	{"{fact: null-write}", "{\"facts\":[\"null-read\"]}", false},
	{"{fact: terminated}", CRASH("\"abort (libc.so.6)\",\"std::terminate() (libstdc++.so.6)\""),
	 true},
	{"{fact: [process-exiting, terminated]}", CRASH("\"std::terminate() (libstdc++.so.6)\""), false},
	{"{frames: ['inner'], thread: nccl-watchdog}", CRASH("\"inner (a)\""), true},
	{"{frames: ['inner'], thread: nccl-watchdog}",
	 "{\"threads\":[{\"name\":\"python\",\"frames\":[\"inner (a)\"]}]}", false},
	{"{frames: ['inner'], thread: nccl-watchdog}",
	 "{\"threads\":[{\"name\":\"pt_nccl_watchdg\",\"frames\":[\"inner (a)\"]}]}", true},
	{"{frames: ['inner'], thread: main}",
	 "{\"threads\":[{\"role\":\"main\",\"frames\":[\"inner (a)\"]}]}", true},
	{"{frames: ['inner'], thread: gil-holder}", CRASH("\"inner (a)\""), false},
	{"{frames: ['inner'], thread: gil-holder}",
	 "{\"threads\":[{\"gil\":\"holds\",\"frames\":[\"inner (a)\"]}]}", true},
	{"{frames: ['inner'], thread: deadlocked}", CRASH("\"inner (a)\""), false},
	{"{frames: ['inner'], thread: deadlocked}",
	 "{\"threads\":[{\"lock\":\"deadlocked\",\"frames\":[\"inner (a)\"]}]}", true},
	{"{frames: ['inner'], thread: orphaned}",
	 "{\"threads\":[{\"lock\":\"deadlocked\",\"frames\":[\"inner (a)\"]}]}", false},
	{"{fact: lock-owner-gone, thread: orphaned}",
	 "{\"facts\":[\"lock-owner-gone\"],\"threads\":[{\"lock\":\"orphaned\",\"frames\":[\"x (a)\"]}]}",
	 true},
	{"{fact: lock-owner-gone, thread: orphaned}",
	 "{\"facts\":[\"lock-owner-gone\"],\"threads\":[{\"frames\":[\"x (a)\"]}]}", false},
	{"{fact: lock-cycle, thread: deadlocked, others: [{thread: deadlocked}]}",
	 "{\"facts\":[\"lock-cycle\"],\"threads\":[{\"lock\":\"deadlocked\",\"frames\":[\"x (a)\"]}]}",
	 false},
	{"{frames: ['inner']}",
	 "{\"kind\":\"crash\",\"threads\":[{\"frames\":[\"x (a)\"]},"
	 "{\"name\":\"Current thread\",\"frames\":[\"inner (a)\"]}]}",
	 true},
	{"{fact: stack-overflow}",
	 CRASH("\"f (a)\",\"g (a)\",\"f (a)\",\"g (a)\",\"f (a)\",\"g (a)\",\"f (a)\","
	       "\"g (a)\",\"f (a)\",\"g (a)\""),
	 true},
	{"{fact: stack-overflow}",
	 CRASH("\"_PyEval_Vector (p)\",\"PyObject_Call (p)\",\"_PyEval_Vector (p)\","
	       "\"PyObject_Call (p)\",\"_PyEval_Vector (p)\",\"PyObject_Call (p)\","
	       "\"_PyEval_Vector (p)\",\"PyObject_Call (p)\",\"_PyEval_Vector (p)\","
	       "\"PyObject_Call (p)\""),
	 false},
	{"{fact: report, message: luck}", "{\"message\":\"luck\"}", true},
	{"{frames: ['inner'], thread: crashed}", TWO("hang", "\"inner (a)\"", "\"x (a)\""), false},
};

static void test_conditions(void **state)
{
	(void)state;
	for (size_t i = 0; i < CS_COUNT(conditions); i++)
		check_one(conditions[i].any, conditions[i].record, conditions[i].fits);
}

static void test_not(void **state)
{
	char yaml[4096] = "";
	struct world w;

	(void)state;
	put_signature(yaml, sizeof(yaml), "test-one", 50, "{message: luck}", "not: [{message: lucky}]");
	make(&w, yaml);
	match_record(&w, "{\"message\":\"out of luck\"}");
	assert_non_null(finding(&w, "test-one"));
	match_record(&w, "{\"message\":\"lucky\"}");
	assert_null(finding(&w, "test-one"));
	end(&w);
}

/* Threads that wait for work are not looked at, those that wait for something are. */
static void test_idle(void **state)
{
	static const char wait[] = "\"__futex_abstimed_wait_common64 (libc.so.6)\"";
	char record[1024];

	(void)state;
	snprintf(record, sizeof(record),
		 "{\"kind\":\"hang\",\"threads\":[{\"frames\":[%s,\"?? (libcuda.so.1)\","
		 "\"start_thread (libc.so.6)\"]}]}",
		 wait);
	check_one("{frames: ['libcuda']}", record, false);
	check_one("{frames: ['libcuda'], thread: any}", record, true);
	snprintf(record, sizeof(record),
		 "{\"kind\":\"hang\",\"threads\":[{\"frames\":[%s,\"?? (libcuda.so.1)\","
		 "\"cuStreamSynchronize (libcuda.so.1)\",\"f (app)\"]}]}",
		 wait);
	check_one("{frames: ['libcuda']}", record, true);
	snprintf(record, sizeof(record), "{\"kind\":\"hang\",\"threads\":[{\"frames\":[%s]}]}", wait);
	check_one("{frames: ['futex']}", record, false);
}

static void test_order(void **state)
{
	char yaml[8192] = "";
	struct world w;

	(void)state;
	put_signature(yaml, sizeof(yaml), "test-low", 10, "{message: luck}", "wins_over: [test-high]");
	put_signature(yaml, sizeof(yaml), "test-high", 80, "{message: luck}", "");
	put_signature(yaml, sizeof(yaml), "test-middle", 50, "{message: luck}", "");
	put_signature(yaml, sizeof(yaml), "test-higher", 90, "{message: luck}", "wins_over: [test-ring]");
	put_signature(yaml, sizeof(yaml), "test-ring", 20, "{message: luck}", "wins_over: [test-higher]");
	make(&w, yaml);
	match_record(&w, "{\"message\":\"luck\"}");
	assert_int_equal(w.findings.n, 5);
	assert_string_equal(w.findings.v[0].id, "test-higher");
	assert_string_equal(w.findings.v[1].id, "test-low");
	assert_string_equal(w.findings.v[2].id, "test-high");
	assert_string_equal(w.findings.v[3].id, "test-middle");
	assert_string_equal(w.findings.v[4].id, "test-ring");
	end(&w);
}

static void test_steps(void **state)
{
	static const char yaml[] =
		"id: test-one\ntitle: A title\ncategory: t\nseverity: high\npriority: 50\nconfidence: "
		"certain\n"
		"any: [{message: luck, confidence: possible}, {message: luck, signal: SIGBUS, "
		"confidence: likely}]\n"
		"explanation: A text that is long enough to explain whatever this is about.\n"
		"steps:\n"
		"  - First.\n"
		"  - {text: Set it., unless_env: NCCL_DEBUG}\n"
		"  - {text: Only new., versions: 'torch>=2.2'}\n";
	struct world w;

	(void)state;
	make(&w, yaml);
	match_record(&w, "{\"message\":\"luck\",\"signal\":\"SIGBUS\"}");
	assert_int_equal(w.findings.v[0].confidence, CS_CONFIDENCE_LIKELY);
	assert_int_equal(w.findings.v[0].n_steps, 3);
	assert_string_equal(w.findings.v[0].steps[2], "Only new. (torch from 2.2)");
	match_record(&w, "{\"message\":\"luck\",\"env\":{\"NCCL_DEBUG\":\"INFO\"},\"versions\":{"
			 "\"torch\":\"2.0\"}}");
	assert_int_equal(w.findings.v[0].confidence, CS_CONFIDENCE_POSSIBLE);
	assert_int_equal(w.findings.v[0].n_steps, 1);
	assert_string_equal(w.findings.v[0].steps[0], "First.");
	end(&w);
}

static void test_evidence(void **state)
{
	char yaml[4096] = "";
	struct world w;

	(void)state;
	put_signature(yaml, sizeof(yaml), "test-one", 50,
		      "{message: 'bad luck', frames: ['inner', 'outer']}", "");
	make(&w, yaml);
	match_record(&w,
		     "{\"signal\":\"SIGABRT\",\"message\":\"first line\\nwith bad luck in it\\nlast\","
		     "\"threads\":[{\"tid\":7,\"frames\":[\"raise (libc.so.6)\",\"inner (a.so)\","
		     "\"x (b)\",\"outer.part.0 (c)\"]}]}");
	assert_int_equal(w.findings.v[0].n_evidence, 3);
	assert_string_equal(w.findings.v[0].evidence[0].text, "with bad luck in it");
	assert_int_equal(w.findings.v[0].evidence[0].frame, -1);
	assert_int_equal(w.findings.v[0].evidence[1].tid, 7);
	assert_int_equal(w.findings.v[0].evidence[1].frame, 1);
	assert_string_equal(w.findings.v[0].evidence[2].text, "outer (c)");
	assert_int_equal(w.findings.v[0].evidence[2].frame, 3);
	end(&w);
}

/* An expression that backtracks for ever ends at the limit, is told, and costs no other finding. */
static void test_catastrophic(void **state)
{
	char yaml[4096] = "", record[4096] = "{\"message\":\"luck ";
	struct world w;

	(void)state;
	put_signature(yaml, sizeof(yaml), "test-slow", 50, "{message: 'luck (a+)+(a|aa)+$'}", "");
	put_signature(yaml, sizeof(yaml), "test-quick", 50, "{message: '^luck'}", "");
	memset(record + strlen(record), 'a', 2000);
	strcat(record, "b\"}");
	make(&w, yaml);
	match_record(&w, record);
	assert_int_equal(w.findings.n, 1);
	assert_string_equal(w.findings.v[0].id, "test-quick");
	assert_int_equal(w.findings.limits_hit, 1);
	match_record(&w, "{\"message\":\"luck aaa\"}");
	assert_non_null(finding(&w, "test-slow"));
	assert_int_equal(w.findings.limits_hit, 0);
	end(&w);
}

/* More frames than are looked at: the rest is counted, and what was looked at is matched. */
static void test_large_record(void **state)
{
	size_t n = CS_MAX_FACT_TEXTS + 1000, size = n * 32 + 100, at;
	char *json = malloc(size), yaml[4096] = "";
	struct cs_facts facts;
	const char *source;
	struct world w;

	(void)state;
	assert_non_null(json);
	at = (size_t)snprintf(json, size, "{\"threads\":[{\"frames\":[\"inner (a.so)\"");
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(json + at, size - at, ",\"f%zu (b.so)\"", i);
	snprintf(json + at, size - at, "]}]}");
	put_signature(yaml, sizeof(yaml), "test-one", 50, "{frames: ['^inner', '^f99 ']}", "");
	make(&w, yaml);
	assert_null(cs_facts_of_record(json, strlen(json), w.arena, &facts, &source));
	assert_true(facts.dropped > 0);
	match_record(&w, json);
	assert_non_null(finding(&w, "test-one"));
	free(json);
	end(&w);
}

static void test_wrong_records(void **state)
{
	static const struct {
		const char *record, *why;
	} rows[] = {
		{"", "not JSON"},
		{"[1]", "must be a JSON object"},
		{"{\"signal\":11}", "signal: must be a text"},
		{"{\"kind\":\"stall\"}", "kind: must be crash, hang or oom"},
		{"{\"threads\":{}}", "threads: must be a list"},
		{"{\"threads\":[1]}", "threads: must be a list of objects"},
		{"{\"threads\":[{\"frames\":[1]}]}", "frames: must be a list of texts"},
		{"{\"message\":{}}", "message: must be a text"},
		{"{\"env\":[1]}", "env: must be an object of texts"},
		{"{\"exit\":1e3}", "exit: must be a number"},
		{"{\"facts\":[\"x\"]}", "there is no fact 'x'"},
		{"{\"source\":\"\xff\"}", "not JSON"},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		struct cs_arena *arena = cs_arena_create(16UL << 20);
		struct cs_facts facts;
		const char *source;
		struct cs_error *err = cs_facts_of_record(rows[i].record, strlen(rows[i].record), arena,
							  &facts, &source);

		assert_non_null(err);
		if (!strstr(cs_error_message(err), rows[i].why))
			fail_msg("%s: %s", rows[i].record, cs_error_message(err));
		cs_error_destroy(err);
		cs_arena_destroy(arena);
	}
}

/* ---- from an analysis ---- */

static const struct cs_module library = {.name = "libapp.so", .path = "/opt/libapp.so"};
static const struct cs_frame frames[] = {
	{.kind = CS_FRAME_NATIVE, .function = "inner(int)", .module = &library},
	{.kind = CS_FRAME_NATIVE, .function = "wrong_name", .nearest = true, .module = &library},
	{.kind = CS_FRAME_PYTHON, .function = "Trainer.step", .file = "/srv/app/train.py"},
};
static const int32_t tids[] = {41};
static const struct cs_stack_group group = {
	.tids = tids, .n_tids = 1, .frames = frames, .n_frames = CS_COUNT(frames)};

/* A process with one thread, one exception and signal @signal from @sender. */
static void match_analysis(struct world *w, int signal, const char *name, int32_t sender,
			   const struct cs_exception *exception)
{
	static const struct cs_module *const modules[] = {&library};
	const struct cs_thread thread = {
		.tid = 41, .group = &group, .crashed = signal != 0, .role = "main"};
	struct cs_analysis a = {
		.process = {.pid = 40},
		.crash = {.tid = signal ? 41 : 0,
			  .signal = signal,
			  .signal_name = name,
			  .sender_pid = sender,
			  .fault = sender < 0 ? CS_FAULT_NULL : CS_FAULT_NONE},
		.threads = &thread,
		.n_threads = 1,
		.groups = &group,
		.n_groups = 1,
		.modules = modules,
		.n_modules = 1,
		.exceptions = exception,
		.n_exceptions = exception ? 1 : 0,
	};
	struct cs_facts facts;

	assert_null(cs_facts_of_analysis(&a, w->arena, &facts));
	assert_null(cs_match(&w->set, w->scanner, &facts, w->arena, &w->findings));
}

static void test_analysis(void **state)
{
	const struct cs_exception stored = {.language = "c++",
					    .type = "std::runtime_error",
					    .message = "bad luck",
					    .state = "stored"};
	const struct cs_exception handled = {
		.tid = 41, .type = "std::runtime_error", .message = "bad luck", .state = "caught"};
	const struct cs_exception fatal = {.tid = 41,
					   .language = "c++",
					   .type = "std::runtime_error",
					   .message = "bad luck",
					   .state = "in-flight",
					   .fatal = true};
	char yaml[8192] = "";
	struct world w;

	(void)state;
	put_signature(yaml, sizeof(yaml), "test-frames", 70, "{frames: ['^inner\\(int\\) \\(libapp']}",
		      "");
	put_signature(yaml, sizeof(yaml), "test-general", 40, "{frames: ['^inner']}", "");
	put_signature(yaml, sizeof(yaml), "test-wrong", 40, "{frames: ['wrong_name']}", "");
	put_signature(yaml, sizeof(yaml), "test-python", 40, "{python: ['^step \\(train\\.py']}", "");
	put_signature(yaml, sizeof(yaml), "test-message", 80,
		      "{message: '^std::runtime_error: bad luck'}", "");
	put_signature(yaml, sizeof(yaml), "test-fact", 30, "{fact: null-read}", "");
	make(&w, yaml);
	match_analysis(&w, 11, "SIGSEGV", -1, &fatal);
	assert_int_equal(w.findings.n, 5);
	assert_string_equal(w.findings.v[0].id, "test-message");
	assert_int_equal(w.findings.v[0].confidence, CS_CONFIDENCE_CERTAIN);
	assert_int_equal(w.findings.v[0].evidence[0].tid, 41);
	assert_int_equal(finding(&w, "test-python")->evidence[0].frame, 2);
	assert_int_equal(finding(&w, "test-frames")->confidence, CS_CONFIDENCE_CERTAIN);
	assert_null(finding(&w, "test-wrong"));
	/* Looked at while it lives: stacks prove less, general ones next to nothing. */
	match_analysis(&w, 0, NULL, -1, &stored);
	assert_int_equal(finding(&w, "test-message")->confidence, CS_CONFIDENCE_LIKELY);
	assert_int_equal(finding(&w, "test-frames")->confidence, CS_CONFIDENCE_LIKELY);
	assert_int_equal(finding(&w, "test-general")->confidence, CS_CONFIDENCE_POSSIBLE);
	assert_null(finding(&w, "test-fact"));
	/* ... and an error that is being handled is no end. */
	match_analysis(&w, 0, NULL, -1, &handled);
	assert_int_equal(finding(&w, "test-message")->confidence, CS_CONFIDENCE_POSSIBLE);
	assert_string_equal(w.findings.v[0].id, "test-frames");
	/* Killed from outside is no crash of the thread that happened to take the signal. */
	match_analysis(&w, 6, "SIGABRT", 1, NULL);
	assert_int_equal(finding(&w, "test-general")->confidence, CS_CONFIDENCE_POSSIBLE);
	end(&w);
}

/* The built-in signatures are there, and none fits a process of which nothing is known. */
static void test_builtin(void **state)
{
	struct world w = {.arena = cs_arena_create(64UL << 20), .set = cs_signatures_builtin};

	(void)state;
	assert_true(w.set.n_signatures > 0);
	assert_null(cs_scanner_create(&w.set, &w.scanner));
	match_record(&w, "{}");
	assert_int_equal(w.findings.n, 0);
	match_record(&w,
		     "{\"kind\":\"crash\",\"signal\":\"SIGABRT\",\"message\":\"Aborted (core dumped)\"}");
	assert_int_equal(w.findings.n, 0);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions),    cmocka_unit_test(test_not),
		cmocka_unit_test(test_idle),          cmocka_unit_test(test_order),
		cmocka_unit_test(test_steps),         cmocka_unit_test(test_evidence),
		cmocka_unit_test(test_catastrophic),  cmocka_unit_test(test_large_record),
		cmocka_unit_test(test_wrong_records), cmocka_unit_test(test_analysis),
		cmocka_unit_test(test_builtin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
