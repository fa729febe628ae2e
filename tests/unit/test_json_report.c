/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON report: read back with a parser and compared with the model that it was made
 * of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/text.h"
#include "report/json_build.h"
#include "report/report.h"
#include "sample_analysis.h"

#include <string.h>

struct page {
	char *text;
	size_t len;
};

static struct page render(const struct cs_analysis *a)
{
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);

	assert_non_null(out);
	assert_null(cs_report_json(a, out));
	fclose(out);
	/* JSON Lines: one line, and only one. */
	assert_ptr_equal(strchr(page.text, '\n'), page.text + page.len - 1);
	return page;
}

static json_t *parse(struct page page)
{
	json_error_t error;
	json_t *report = json_loads(page.text, JSON_REJECT_DUPLICATES, &error);

	if (!report)
		fail_msg("%s at %d", error.text, error.position);
	free(page.text);
	return report;
}

/* The value at a path of keys and indexes: "threads.0.frames.1.line". */
static json_t *at(json_t *value, const char *path)
{
	char copy[128], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while (value && (key = strsep(&rest, "."))) {
		if (json_is_array(value))
			value = json_array_get(value, strtoul(key, NULL, 10));
		else
			value = json_object_get(value, key);
	}
	if (!value)
		fail_msg("%s is not there", path);
	return value;
}

static void expect_text(json_t *report, const char *path, const char *want)
{
	const char *have = json_string_value(at(report, path));

	if (!have || strcmp(have, want) != 0)
		fail_msg("%s: %s, not %s", path, have ? have : "no text", want);
}

static void expect_int(json_t *report, const char *path, int64_t want)
{
	assert_true(json_is_integer(at(report, path)));
	assert_int_equal(json_integer_value(at(report, path)), want);
}

static void expect_null(json_t *report, const char *path)
{
	if (!json_is_null(at(report, path)))
		fail_msg("%s is not null", path);
}

/* How often each of @parts occurs, in one pass: strstr() is quadratic under
 * AddressSanitizer. */
static void count(struct page page, const char *const *parts, size_t *ret, size_t n)
{
	for (size_t at = 0; at < page.len; at++) {
		if (page.text[at] != '"')
			continue;
		for (size_t i = 0; i < n; i++) {
			size_t len = strlen(parts[i]);

			ret[i] += len <= page.len - at &&
				  !memcmp(page.text + at, parts[i], len);
		}
	}
}

static void test_members_and_their_order(void **state)
{
	static const char *const order[] = {
		"schema",  "input",   "process",      "crash",       "runtime",
		"modules", "threads", "stack_groups", "exception",   "python",
		"findings", "fingerprint", "diagnostics", "timing"};
	json_t *report = parse(render(sample_crash()));
	void *member = json_object_iter(report);

	(void)state;
	for (size_t i = 0; i < CS_COUNT(order); i++) {
		assert_non_null(member);
		assert_string_equal(json_object_iter_key(member), order[i]);
		member = json_object_iter_next(report, member);
	}
	json_decref(report);
}

static void test_crash(void **state)
{
	json_t *report = parse(render(sample_crash()));

	(void)state;
	expect_text(report, "schema", "corescan-report/1");
	expect_text(report, "input.compression", "zstd");
	expect_int(report, "input.bytes", 656310272);
	assert_true(json_is_true(at(report, "input.complete")));
	expect_int(report, "process.pid", 4240);
	expect_text(report, "process.command.3", "two words");
	expect_text(report, "process.environment.RANK", "6");
	expect_int(report, "process.world_size", 64);
	expect_text(report, "crash.signal", "SIGSEGV");
	expect_text(report, "crash.code", "SEGV_MAPERR");
	expect_text(report, "crash.address", "0x10");
	expect_text(report, "crash.access", "write");
	expect_text(report, "crash.fault", "null");
	expect_null(report, "crash.sender");
	expect_null(report, "crash.culprit_frame");
	expect_text(report, "crash.registers.rip", "0x7f0000101234");
	expect_text(report, "runtime.python.version", "3.8.13");
	expect_text(report, "runtime.cuda.runtime", "11.7");
	expect_text(report, "runtime.cuda.driver", "535.54");
	expect_text(report, "diagnostics.2.severity", "error");
	expect_int(report, "diagnostics.2.tid", 4242);
	expect_null(report, "diagnostics.0.tid");
	expect_int(report, "diagnostics_dropped", 7);
	assert_true(json_real_value(at(report, "timing.layers_ms.unwind")) == 12.5);
	json_decref(report);
}

static void test_modules_and_frames(void **state)
{
	json_t *report = parse(render(sample_crash()));

	(void)state;
	expect_text(report, "modules.0.path", "/srv/job/libtrain.so");
	expect_text(report, "modules.0.base", "0x7f0000100000");
	expect_text(report, "modules.0.file", "verified");
	expect_text(report, "modules.0.symbols", "dwarf");
	expect_text(report, "modules.1.file", "mismatch");
	expect_null(report, "modules.1.used_file");
	expect_text(report, "modules.3.file", "missing");
	expect_null(report, "modules.3.build_id");
	expect_int(report, "threads.0.tid", 4242);
	assert_true(json_is_true(at(report, "threads.0.crashed")));
	expect_text(report, "threads.0.stop", "unreadable");
	expect_int(report, "threads.1.stack_group", 1);
	expect_text(report, "threads.0.frames.0.kind", "inline");
	expect_null(report, "threads.0.frames.0.offset");
	expect_text(report, "threads.0.frames.1.offset", "0x24");
	expect_text(report, "threads.0.frames.1.module_offset", "0x1234");
	expect_text(report, "threads.0.frames.1.file", "src/optim.cpp");
	expect_int(report, "threads.0.frames.1.line", 118);
	assert_true(json_is_true(at(report, "threads.0.frames.3.nearest")));
	expect_null(report, "threads.0.frames.3.file");
	expect_null(report, "threads.0.frames.3.line");
	expect_null(report, "threads.0.frames.5.address");
	expect_text(report, "threads.0.frames.6.trust", "frame-pointer");
	expect_null(report, "threads.0.frames.7.module");
	expect_text(report, "threads.0.frames.7.trust", "scan");
	expect_text(report, "threads.0.frames.8.kind", "signal");
	expect_int(report, "stack_groups.1.count", 9);
	expect_int(report, "stack_groups.1.tids.0", 4241);
	json_decref(report);
}

static void test_folded_frames(void **state)
{
	json_t *report = parse(render(sample_abort()));

	(void)state;
	expect_int(report, "threads.0.frames.5.repeat.period", 3);
	expect_int(report, "threads.0.frames.5.repeat.count", 26664);
	expect_int(report, "stack_groups.0.total_frames", 80004);
	expect_int(report, "crash.sender.pid", 4242);
	expect_int(report, "crash.culprit_frame", 4);
	json_decref(report);
}

static void test_cxx_exceptions(void **state)
{
	json_t *report = parse(render(sample_cxx()));

	(void)state;
	expect_text(report, "exception.0.language", "c++");
	assert_true(json_is_true(at(report, "exception.0.fatal")));
	expect_null(report, "exception.0.code");
	expect_text(report, "exception.0.context.code", "generic:111");
	expect_null(report, "exception.0.context.backtrace");
	expect_text(report, "exception.1.cause.language", "python");
	assert_true(json_is_false(at(report, "exception.1.fatal")));
	expect_null(report, "exception.2.type");
	expect_null(report, "exception.2.tid");
	json_decref(report);
}

static void test_python_threads_and_frames(void **state)
{
	json_t *report = parse(render(sample_python()));

	(void)state;
	expect_text(report, "threads.0.name_source", "python");
	expect_text(report, "threads.0.python.name", "ThreadPool-0_0");
	expect_text(report, "threads.0.python.ident", "0x7f00deadb700");
	expect_int(report, "threads.0.python.interpreter", 0);
	assert_true(json_is_true(at(report, "threads.0.python.holds_gil")));
	assert_true(json_is_true(at(report, "threads.0.python.collecting")));
	assert_true(json_is_false(at(report, "threads.0.python.main")));
	expect_null(report, "threads.0.python.state");
	expect_null(report, "threads.0.python.broken");
	assert_true(json_is_true(at(report, "threads.1.python.main")));
	assert_true(json_is_true(at(report, "threads.2.python.daemon")));
	assert_true(json_is_true(at(report, "threads.2.python.waits_for_gil")));
	expect_int(report, "threads.5.python.interpreter", 2);
	expect_null(report, "threads.6.python");
	assert_true(json_is_true(at(report, "threads.0.frames.3.plumbing")));
	assert_null(json_object_get(at(report, "threads.0.frames.0"), "plumbing"));
	assert_null(json_object_get(at(report, "threads.0.frames.0"), "entry"));
	expect_text(report, "threads.0.frames.4.kind", "python");
	expect_text(report, "threads.0.frames.4.trust", "runtime");
	expect_text(report, "threads.0.frames.4.function",
		    "Trainer.crash.<locals>.<lambda>");
	expect_text(report, "threads.0.frames.4.file", "/srv/job/train.py");
	expect_int(report, "threads.0.frames.4.line", 22);
	expect_text(report, "threads.0.frames.4.source",
		    "    ctypes.memset(buffer, 0, size)");
	expect_null(report, "threads.0.frames.4.module");
	expect_null(report, "threads.0.frames.4.offset");
	assert_true(json_is_true(at(report, "threads.0.frames.4.entry")));
	expect_text(report, "threads.0.frames.4.locals.0.name", "size");
	expect_text(report, "threads.0.frames.4.locals.0.kind", "argument");
	expect_text(report, "threads.0.frames.4.locals.0.value", "4096");
	expect_null(report, "threads.0.frames.4.locals.2.value");
	expect_null(report, "threads.0.frames.11.function");
	json_decref(report);
}

static void test_python_runtimes_and_exceptions(void **state)
{
	json_t *report = parse(render(sample_python()));

	(void)state;
	expect_text(report, "runtime.python.version", "3.12.1");
	expect_text(report, "runtime.python.source", "/opt/venv/bin/python3");
	expect_text(report, "runtime.python.layout", "dwarf");
	expect_text(report, "runtime.python.phase", "finalizing");
	expect_int(report, "runtime.python.gil_holder", 7020);
	assert_true(json_is_false(at(report, "runtime.python.free_threaded")));
	expect_text(report, "runtime.pythons.1.layout", "published");
	assert_true(json_is_true(at(report, "runtime.pythons.1.free_threaded")));
	expect_null(report, "runtime.pythons.1.gil_holder");
	expect_int(report, "exception.0.tid", 7020);
	expect_text(report, "exception.0.language", "python");
	expect_text(report, "exception.0.type", "ValueError");
	expect_text(report, "exception.0.message", "bad gradient\nin layer 3");
	expect_text(report, "exception.0.state", "caught");
	expect_int(report, "exception.0.traceback.0.line", 30);
	expect_text(report, "exception.0.notes.0", "while reading shard 3");
	expect_null(report, "exception.0.cause");
	expect_text(report, "exception.0.context.type", "conf.ConfigError");
	expect_text(report, "exception.0.context.cause.type", "KeyError");
	expect_null(report, "exception.0.context.context"); /* it is the cause */
	assert_true(json_is_true(at(report, "exception.0.context.suppress_context")));
	expect_text(report, "python.tasks.0.awaits_task", "0x7f0000010200");
	expect_null(report, "python.tasks.1.awaits_task");
	expect_text(report, "python.tasks.1.frames.0.function", "sleep");
	expect_text(report, "python.greenlets.0.state", "suspended");
	expect_text(report, "python.greenlets.2.broken", "its stack is not in the core");
	json_decref(report);
}

/* Exceptions that are each other's causes end at the limit, and say so. */
static void test_cycle_of_exceptions_ends(void **state)
{
	json_t *report = parse(render(sample_hostile())), *e;
	size_t depth = 0;

	(void)state;
	e = at(report, "exception.0");
	for (; json_is_object(json_object_get(e, "cause")); depth++)
		e = json_object_get(e, "cause");
	assert_int_equal(depth, CS_MAX_PY_EXCEPTIONS - 1);
	assert_true(json_is_true(json_object_get(e, "truncated")));
	json_decref(report);
}

/* Frames of tasks count, too: beyond the limit they are left out, and the task says so. */
static void test_frames_of_tasks_are_bounded(void **state)
{
	static const char *const parts[] = {"\"frames\":[", "\"frames_left_out\":true"};
	size_t kept = CS_MAX_JSON_FRAMES / 50, n = kept + 30, found[2] = {0};
	struct cs_python_task *tasks = calloc(n, sizeof(*tasks));
	struct cs_frame frames[50] = {{.kind = CS_FRAME_PYTHON}};
	struct cs_analysis a = *sample_abort();
	struct page page;

	(void)state;
	assert_non_null(tasks);
	for (size_t i = 0; i < n; i++) {
		tasks[i].frames = frames;
		tasks[i].n_frames = CS_COUNT(frames);
	}
	a.n_threads = 0;
	a.python.tasks = tasks;
	a.python.n_tasks = n;
	page = render(&a);
	count(page, parts, found, CS_COUNT(parts));
	assert_int_equal(found[0], kept);
	assert_int_equal(found[1], n - kept);
	free(page.text);
	free(tasks);
}

static void test_unknown_is_null(void **state)
{
	json_t *report = parse(render(sample_running()));

	(void)state;
	expect_null(report, "process.pid");
	expect_null(report, "process.rank");
	expect_null(report, "process.uid");
	expect_null(report, "crash.signal");
	expect_null(report, "crash.tid");
	expect_null(report, "crash.address");
	expect_null(report, "threads.0.name");
	assert_true(json_is_true(at(report, "limits_hit")));
	json_decref(report);
}

/* The report of a hostile core is ASCII without controls, and its texts are the core's,
 * cleaned. */
static void test_hostile(void **state)
{
	struct page page = render(sample_hostile());
	json_t *report;

	(void)state;
	for (size_t i = 0; i + 1 < page.len; i++)
		assert_in_range((unsigned char)page.text[i], 0x20, 0x7f);
	report = parse(page);
	expect_text(report, "process.command.2", "\xef\xbf\xbd");
	expect_text(report, "threads.0.stop", "unknown");
	expect_int(report, "input.bytes", INT64_MAX);
	json_decref(report);
}

static void test_findings(void **state)
{
	json_t *report = parse(render(sample_cxx()));

	(void)state;
	expect_text(report, "findings.0.id", "nccl-remote-error");
	expect_text(report, "findings.0.confidence", "certain");
	expect_text(report, "findings.0.next_steps.1", "Look at its report.");
	expect_int(report, "findings.0.evidence.1.frame", 4);
	expect_int(report, "findings.0.evidence.1.tid", 4242);
	assert_true(json_is_null(at(report, "findings.0.evidence.0.frame")));
	assert_true(json_is_null(at(report, "findings.0.evidence.2.tid")));
	expect_text(report, "findings.0.references.3", "owner/repository#4");
	expect_text(report, "findings.1.confidence", "possible");
	json_decref(report);
}

static void test_long_text_is_cut_and_marked(void **state)
{
	static char name[CS_MAX_JSON_STRING + 10];
	struct cs_frame frame = {.kind = CS_FRAME_NATIVE, .function = name};
	struct cs_stack_group group = {.frames = &frame, .n_frames = 1};
	struct cs_thread thread = {.tid = 1, .group = &group};
	struct cs_analysis a = *sample_running();
	json_t *report;

	(void)state;
	/* Two-byte characters after one byte, so that the limit falls inside one. */
	name[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	a.threads = &thread;
	a.n_threads = 1;
	a.groups = &group;
	a.n_groups = 1;
	report = parse(render(&a));
	assert_true(json_is_true(at(report, "threads.0.frames.0.truncated")));
	assert_int_equal(json_string_length(at(report, "threads.0.frames.0.function")),
			 CS_MAX_JSON_STRING - 1);
	assert_null(json_object_get(at(report, "threads.0"), "truncated"));
	json_decref(report);
}

/* Equal stacks beyond the limit come once; every thread still names its group. */
static void test_copies_of_frames_are_bounded(void **state)
{
	static const char *const parts[] = {"\"frames\":[", "\"frames_in_group\":true",
					    "\"stack_group\":0"};
	size_t copies = CS_MAX_JSON_FRAMES / 20, threads = copies + 100, found[3] = {0};
	struct cs_analysis *a = sample_parked(threads);
	struct page page;

	(void)state;
	assert_non_null(a);
	page = render(a);
	count(page, parts, found, CS_COUNT(parts));
	assert_int_equal(found[0], copies);
	assert_int_equal(found[1], threads - copies);
	assert_int_equal(found[2], threads);
	free(page.text);
	free(a);
}

static void test_failure(void **state)
{
	struct cs_error *why = cs_error_new(CS_ERR_UNSUPPORTED, "x: is a directory");
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);
	json_t *report;

	(void)state;
	assert_null(cs_report_json_failure("x\xff", why, out));
	fclose(out);
	report = parse(page);
	expect_text(report, "schema", "corescan-report/1");
	expect_text(report, "input.path", "x\xef\xbf\xbd");
	expect_text(report, "diagnostics.0.severity", "error");
	expect_text(report, "diagnostics.0.code", "not-a-core");
	expect_text(report, "diagnostics.0.text", "x: is a directory");
	json_decref(report);
	cs_error_destroy(why);
}

static size_t allocations_left;

static void *failing_malloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	allocations_left--;
	return malloc(size);
}

/*
 * Whichever allocation fails, the report ends with that error, and nothing else happens. Of
 * the tens of thousands that a large report makes, some are tried.
 */
static void test_no_memory(void **state)
{
	static const struct cs_analysis *(*const samples[])(void) = {
		sample_crash, sample_abort, sample_hostile, sample_python, sample_cxx};
	size_t failures = 0;

	(void)state;
	json_set_alloc_funcs(failing_malloc, free);
	for (size_t s = 0; s < CS_COUNT(samples); s++) {
		for (size_t n = 0;; n += 1 + n / 100) {
			struct page page = {0};
			FILE *out = open_memstream(&page.text, &page.len);
			struct cs_error *err;

			allocations_left = n;
			err = cs_report_json(samples[s](), out);
			fclose(out);
			free(page.text);
			if (!err)
				break;
			assert_int_equal(cs_error_code(err), CS_ERR_NOMEM);
			cs_error_destroy(err);
			failures++;
		}
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(failures > 100);
}

static void test_failed_stream_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "we");
	struct cs_error *err;

	(void)state;
	if (!full)
		skip();
	err = cs_report_json(sample_crash(), full);
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_OS);
	cs_error_destroy(err);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_and_their_order),
		cmocka_unit_test(test_crash),
		cmocka_unit_test(test_modules_and_frames),
		cmocka_unit_test(test_folded_frames),
		cmocka_unit_test(test_cxx_exceptions),
		cmocka_unit_test(test_python_threads_and_frames),
		cmocka_unit_test(test_python_runtimes_and_exceptions),
		cmocka_unit_test(test_cycle_of_exceptions_ends),
		cmocka_unit_test(test_frames_of_tasks_are_bounded),
		cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_long_text_is_cut_and_marked),
		cmocka_unit_test(test_copies_of_frames_are_bounded),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_failed_stream_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
