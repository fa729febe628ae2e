/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules' grammar, its messages, and when a rule applies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "process.h"

static int teardown(void **state)
{
	(void)state;
	rig_rules_reset();
	rig_process_reset();
	unsetenv("RANK");
	return 0;
}

/* Bad text, and how the message has to begin. */
static void test_messages(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"onn cudaMalloc: error=2",
		 "x:1:1: \"onn\": a rule begins with `on` or `gpu`"},
		{"on launch nht=3: error=2",
		 "x:1:11: \"nht=\" is no condition; expected nth="},
		{"# fine\non launch nth=0: error=2",
		 "x:2:11: \"nth=0\": nth is a number from 1 to"},
		{"on launch nth=3 error=2", "x:1:17: \"error=\" is no condition"},
		{"on launch nth=3", "x:1:16: \":\" expected, then what happens"},
		{"on launch nth=3:", "x:1:17: nothing happens; expected error="},
		{"on launch: eror=2", "x:1:12: \"eror\" is nothing that can happen"},
		{"on launch: pending=1", "x:1:12: \"pending\" takes no value"},
		{"on launch: error=2; on", "x:1:23: \"\": a call is expected"},
		{"on launch: text=\"open", "x:1:17: a quote without its end"},
		{"on launch: text=\"\\x\"", "x:1:19: \"\\x\" in quotes"},
		{"on launch: signal=SEGV", "x:1:12: \"signal=SEGV\": a name is expected"},
		{"on launch: delay=soon",
		 "x:1:12: \"delay=soon\": delay is a number of seconds"},
		{"on nothing: error=2",
		 "x:1:4: \"nothing\" is no entry point of the rig"},
		{"on launch nth=1 every=2: error=2",
		 "x:1:17: nth= and every= in one rule"},
		{"gpu count=0", "x:1:5: \"count=0\": count is a number from 1 to 64"},
		{"gpu memory=80GB", "x:1:5: \"memory=80GB\": memory is a size"},
		{"gpu memory=1GiB other=2GiB", "x:1:1: others have more"},
		{"gpu capability=9", "x:1:5: \"capability=9\": such as 9.0"},
		{"gpu fast", "x:1:5: \"fast\": key=value expected"},
		{"gpu speed=1", "x:1:5: \"speed=\" is no property of a GPU"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_gpu gpu, before;
		struct rig_rule *rules;
		char *message = NULL;

		gpu_defaults(&gpu, 12040);
		before = gpu;
		assert_int_equal(rig_parse("x", cases[i].text, &gpu, &rules, &message),
				 -1);
		if (strncmp(message, cases[i].message, strlen(cases[i].message)))
			fail_msg("%s: %s", cases[i].text, message);
		assert_null(rules);
		assert_memory_equal(&gpu, &before, sizeof(gpu));
		free(message);
	}
}

static void test_gpu(void **state)
{
	struct rig_gpu gpu;
	struct rig_rule *rules;
	char *message;

	(void)state;
	gpu_defaults(&gpu, 12040);
	assert_int_equal(rig_parse("x",
				   "gpu count=2 memory=40GiB other=500MiB name=\"A; "
				   "\\\"B\\\": 1\" # none\n"
				   "\n gpu capability=8.6 sms=84 ; on copy : error=1",
				   &gpu, &rules, &message),
			 0);
	assert_int_equal(gpu.count, 2);
	assert_int_equal(gpu.memory, UINT64_C(40) << 30);
	assert_int_equal(gpu.other, UINT64_C(500) << 20);
	assert_string_equal(gpu.name, "A; \"B\": 1");
	assert_int_equal(gpu.major * 10 + gpu.minor, 86);
	assert_int_equal(gpu.multiprocessors, 84);
	assert_string_equal(rules->call, "copy");
	assert_null(rules->next);
	rig_rules_free(rules);
	assert_int_equal(rig_rule("gpu count=1"), -1); /* too late */
}

/* For each call of COUNT: 1 where it fails, else 0. */
static const char *pattern(const char *call, const char *match, int count)
{
	static char text[64];

	for (int i = 0; i < count; i++)
		text[i] = rig_enter(call, match).error ? '1' : '0';
	text[count] = 0;
	return text;
}

static void test_counting(void **state)
{
	static const struct {
		const char *rule, *pattern;
	} cases[] = {
		{"on launch: error=2", "111111111"},
		{"on launch nth=3: error=2", "001000000"},
		{"on launch nth=3 count=4: error=2", "001111000"},
		{"on launch every=3: error=2", "001001001"},
		{"on launch every=3 count=2: error=2", "001001000"},
		{"on launch count=2: error=2", "110000000"},
		{"on launch match=*gelu* nth=2: error=2", "010000000"},
		{"on launch match=*relu*: error=2", "000000000"},
		{"on launch after=1000: error=2", "000000000"},
		{"on launch cue=never: error=2", "000000000"},
		{"on launch rank=1: error=2", "111111111"},
		{"on launch rank=0: error=2", "000000000"},
		{"on launch device=0: error=2", "111111111"},
		{"on launch device=1: error=2", "000000000"},
		{"on copy: error=2", "000000000"},
	};

	(void)state;
	setenv("RANK", "1", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *got;

		rig_rules_reset();
		assert_int_equal(rig_rule(cases[i].rule), 0);
		got = pattern("launch", "_Zgelu_kernel", 9);
		if (strcmp(got, cases[i].pattern))
			fail_msg("%s: %s", cases[i].rule, got);
		assert_int_equal(rig_calls("launch", NULL), 9);
		assert_int_equal(rig_calls("launch", "_Zgelu_kernel"), 9);
		assert_int_equal(rig_calls("launch", "_Zrelu_kernel"), 0);
	}
}

/* nth= counts from the moment at which all else holds. */
static void test_cue(void **state)
{
	(void)state;
	assert_int_equal(rig_rule("on launch cue=now nth=2: error=7 text=\"words: \\n; "
				  "\\\"so\\\"\""),
			 0);
	assert_string_equal(pattern("launch", NULL, 4), "0000");
	rig_cue("now");
	rig_cue("now");
	assert_int_equal(rig_enter("launch", NULL).error, 0);
	assert_string_equal(rig_enter("launch", NULL).text, "words: \n; \"so\"");
	assert_string_equal(pattern("launch", NULL, 4), "0000");
}

static void test_many_rules(void **state)
{
	struct rig_verdict verdict;

	(void)state;
	assert_int_equal(rig_rule("on copy: sticky=700\non copy nth=2: error=3 "
				  "pending\non copy: error=4"),
			 0);
	verdict = rig_enter("copy", "HtoD");
	assert_int_equal(verdict.error, 4);
	assert_int_equal(verdict.sticky, 700);
	assert_false(verdict.pending);
	verdict = rig_enter("copy", "HtoD");
	assert_int_equal(verdict.error, 3);
	assert_true(verdict.pending);
}

static void test_many_names(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "kernel%d", i % 1000);
		rig_enter("launch", name);
	}
	assert_int_equal(rig_calls("launch", NULL), 2000);
	assert_int_equal(rig_calls("launch", "kernel999"), 2);
}

static void test_delay_and_after(void **state)
{
	double before = rig_seconds();
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "on copy after=%.3f: error=2", before + 0.15);
	assert_int_equal(rig_rule(text), 0);
	assert_int_equal(rig_rule("on launch: delay=0.2"), 0);
	assert_int_equal(rig_enter("copy", NULL).error, 0);
	rig_enter("launch", NULL);
	assert_true(rig_seconds() - before >= 0.2);
	assert_int_equal(rig_enter("copy", NULL).error, 2);
}

static void test_signal(void **state)
{
	int status;
	pid_t child;

	(void)state;
	assert_int_equal(rig_rule("on launch nth=2: signal=SIGTERM"), 0);
	child = fork();
	if (!child) {
		rig_enter("launch", NULL);
		rig_enter("launch", NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* A program with bad rules does not begin. */
static void test_bad_environment(void **state)
{
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (!child) {
		setenv("RIG_RULES", "on launch: eror=2", 1);
		execl("/proc/self/exe", "rules", (char *)NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_messages, teardown),
		cmocka_unit_test_teardown(test_gpu, teardown),
		cmocka_unit_test_teardown(test_counting, teardown),
		cmocka_unit_test_teardown(test_cue, teardown),
		cmocka_unit_test_teardown(test_many_rules, teardown),
		cmocka_unit_test_teardown(test_many_names, teardown),
		cmocka_unit_test_teardown(test_delay_and_after, teardown),
		cmocka_unit_test_teardown(test_signal, teardown),
		cmocka_unit_test_teardown(test_bad_environment, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
