/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signature files: what right ones become, and that each wrong one is answered with line, key and remedy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "signature/facts.h"
#include "signature/pattern.h"
#include "signature/signature.h"

#include <stdio.h>
#include <string.h>

/* A signature but for its condition and what follows. */
#define HEAD                                                                                             \
	"id: a-crash\n"                                                                                  \
	"title: \"A crash: of a test\"\n"                                                                \
	"category: tests\n"                                                                              \
	"severity: high\n"                                                                               \
	"priority: 85\n"                                                                                 \
	"confidence: certain\n"
#define TAIL                                                                                             \
	"explanation: >-\n"                                                                              \
	"  Something happened, and a text that is long enough tells why it did.\n"                       \
	"steps:\n"                                                                                       \
	"  - Look at it.\n"
#define ANY "any:\n  - message: 'out of luck'\n"

struct read {
	struct cs_arena *arena;
	struct cs_complaints complaints;
	struct cs_signature_set set;
};

static void read_text(struct read *r, const char *name, const char *text,
		      const struct cs_signature_set *base, bool strict)
{
	*r = (struct read){.arena = cs_arena_create(64UL << 20)};
	assert_non_null(r->arena);
	r->complaints = (struct cs_complaints){.arena = r->arena, .strict = strict};
	assert_null(
		cs_signatures_parse(name, text, strlen(text), base, r->arena, &r->complaints, &r->set));
}

static void end(struct read *r)
{
	free(r->complaints.list.v);
	cs_arena_destroy(r->arena);
}

/* The first complaint has @want in it. */
static void refuses(const char *name, const char *text, const char *want)
{
	struct read r;

	read_text(&r, name, text, NULL, true);
	if (!r.complaints.list.n)
		fail_msg("no complaint, wanted: %s", want);
	if (!strstr(r.complaints.list.v[0], want))
		fail_msg("complaint: %s\nwanted: %s", r.complaints.list.v[0], want);
	assert_int_equal(r.set.n_signatures, 0);
	end(&r);
}

static void test_whole(void **state)
{
	const char *text = HEAD "any:\n"
				"  - message: 'out of luck'\n"
				"  - frames: ['^f \\(', 'g::h']\n"
				"    python: 'train \\('\n"
				"    top: '^memcpy'\n"
				"    thread: nccl-watchdog\n"
				"    same_thread: false\n"
				"    others: [{frames: ['take_gil'], thread: any}]\n"
				"    signal: SIGSEGV|SIGBUS\n"
				"    kind: crash\n"
				"    exit: [137, -9]\n"
				"    modules: ['^libfoo']\n"
				"    env: {RANK: '^[0-9]+$|none'}\n"
				"    versions: 'torch>=2.2, python<3.12'\n"
				"    fact: null-write\n"
				"    confidence: possible\n"
				"not:\n  - message: 'lucky after all'\n"
				"wins_over: [a-crash]\n" TAIL "  - text: Set it.\n"
				"    unless_env: NCCL_DEBUG\n"
				"    versions: 'torch>=2'\n"
				"versions: 'all'\n"
				"references: [owner/repository#12]\n";
	const struct cs_alternative *a;
	const struct cs_signature *s;
	struct read r;

	(void)state;
	read_text(&r, "dir/tests.yaml", text, NULL, true);
	assert_int_equal(r.complaints.list.n, 0);
	assert_int_equal(r.set.n_signatures, 1);
	s = &r.set.signatures[0];
	assert_string_equal(s->id, "a-crash");
	assert_string_equal(s->title, "A crash: of a test");
	assert_int_equal(s->priority, 85);
	assert_int_equal(s->confidence, CS_CONFIDENCE_CERTAIN);
	assert_int_equal(s->n_any, 2);
	assert_int_equal(s->n_nots, 1);
	assert_int_equal(s->n_steps, 2);
	assert_string_equal(s->steps[1].unless_env, "NCCL_DEBUG");
	assert_string_equal(s->references.v[0], "owner/repository#12");
	a = &s->any[1];
	assert_int_equal(a->self.frames.n, 2);
	assert_string_equal(r.set.patterns[a->self.frames.v[1]].text, "g::h");
	assert_true(a->self.apart);
	assert_string_equal(a->self.thread, "nccl-watchdog");
	assert_int_equal(a->n_others, 1);
	assert_string_equal(a->others[0].thread, "any");
	assert_int_equal(a->kinds, 1U << CS_KIND_CRASH);
	assert_int_equal(a->n_exits, 2);
	assert_int_equal(a->exits[1], -9);
	assert_string_equal(a->env[0].name, "RANK");
	assert_int_equal(a->versions.n, 2);
	assert_string_equal(a->versions.v[1].op, "<");
	assert_true(a->facts == CS_FACT_BIT(NULL_WRITE));
	assert_true(a->has_confidence);
	end(&r);
}

static void test_complaints(void **state)
{
	static const struct {
		const char *text, *complaint;
	} rows[] = {
		{HEAD TAIL, "tests.yaml:1: a-crash: any is missing"},
		{HEAD ANY TAIL "colour: red\n",
		 "tests.yaml:13: a-crash: colour: there is no such key here; known"},
		{HEAD "any:\n  - mesage: x\n" TAIL,
		 "tests.yaml:8: a-crash: mesage: there is no such key"},
		{HEAD "any:\n  - message: 'a(bc'\n" TAIL,
		 "'a(bc' is no regular expression (PCRE2): missing"},
		{HEAD "any:\n  - message: 'x*'\n" TAIL, "matches every text"},
		{HEAD "any:\n  - message: 'ab.cd'\n" TAIL,
		 "no expression of this alternative has a word of 3 letters"},
		{HEAD "any:\n  - kind: crash\n" TAIL, "holds of every process"},
		{HEAD "any: []\n" TAIL, "must be a list of conditions"},
		{HEAD "any:\n  - message: ''\n" TAIL, "must be a regular expression in quotes"},
		{HEAD "any:\n  - signal: SIGSEGV\n    kind: stall\n" TAIL, "must be crash, hang or oom"},
		{HEAD "any:\n  - exit: [many]\n" TAIL, "must be numbers like 137"},
		{HEAD "any:\n  - fact: blue-moon\n" TAIL, "there is no fact 'blue-moon'"},
		{HEAD "any:\n  - message: luck\n    versions: 'torch'\n" TAIL,
		 "must be like 'torch>=2.2"},
		{HEAD "any:\n  - message: luck\n    others: x\n" TAIL,
		 "must be a list of conditions of other"},
		{HEAD "any:\n  - env: [A]\n" TAIL, "must be {NAME: 'regular expression'}"},
		{HEAD ANY "wins_over: [nobody]\n" TAIL, "there is no signature 'nobody'"},
		{HEAD TAIL ANY, "any: must stand before"},
		{HEAD ANY TAIL "references: [elsewhere]\n", "must be owner/repository#number"},
		{HEAD ANY TAIL "steps:\n  - Again.\n", "steps: occurs twice"},
		{HEAD "any: [\n" TAIL, "not YAML:"},
		{HEAD "any: &x\n  - message: luck\n" TAIL, "anchors (&NAME)"},
		{HEAD "any: *x\n" TAIL, "aliases (*NAME)"},
		{"[a, b]\n", "must be keys and values"},
		{"{[a]: b}\n", "a key must be a word"},
		{"id: Not_An_Id\n", "must be of a-z, 0-9 and -"},
		{"id: a\npriority: high\n", "must be 1 to 99"},
		{"id: a\nseverity: bad\n", "must be high, medium or low"},
		{"id: a\nconfidence: sure\n", "must be certain, likely or possible"},
		{"a: [[[[[[[[[[1]]]]]]]]]]\n", "too deep"},
		{"a: \"\\0\"\n", "NUL character"},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		if (strstr(rows[i].complaint, "wins_over") || strstr(rows[i].complaint, "nobody")) {
			struct read r; /* the one mistake that leaves the signature as it is */

			read_text(&r, "tests.yaml", rows[i].text, NULL, true);
			assert_int_equal(r.complaints.list.n, 1);
			assert_non_null(strstr(r.complaints.list.v[0], rows[i].complaint));
			end(&r);
			continue;
		}
		refuses("tests.yaml", rows[i].text, rows[i].complaint);
	}
	refuses("other.yaml", HEAD ANY TAIL, "category is tests, but the file is of other");
}

static void test_twice(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, "tests.yaml", HEAD ANY TAIL "---\n" HEAD ANY TAIL, NULL, false);
	assert_int_equal(r.complaints.list.n, 1);
	assert_non_null(strstr(r.complaints.list.v[0],
			       "tests.yaml:14: a-crash: id: occurs twice (first in "
			       "tests.yaml:1)"));
	end(&r);
}

/* A signature of --signatures replaces the built-in one of its id, and the others stay. */
static void test_replaces(void **state)
{
	const char *other = "id: another\ntitle: b\ncategory: tests\nseverity: low\npriority: 5\n"
			    "confidence: likely\n" ANY TAIL;
	char text[2048];
	struct read base, r;

	(void)state;
	snprintf(text, sizeof(text), "%s---\n%s", HEAD ANY TAIL, other);
	read_text(&base, "tests.yaml", text, NULL, true);
	assert_int_equal(base.set.n_signatures, 2);
	read_text(&r, "mine.yaml", HEAD "any:\n  - message: 'no luck at all'\n" TAIL, &base.set, false);
	assert_int_equal(r.complaints.list.n, 0);
	assert_int_equal(r.set.n_signatures, 2);
	assert_string_equal(cs_signature_find(&r.set, "a-crash")->file, "mine.yaml");
	assert_string_equal(cs_signature_find(&r.set, "another")->file, "tests.yaml");
	assert_string_equal(
		r.set.patterns[cs_signature_find(&r.set, "another")->any[0].message.v[0]].text,
		"out of luck");
	end(&r);
	end(&base);
}

static void test_literals(void **state)
{
	static const struct {
		const char *pattern;
		const char *literals; /* separated by |; "": none */
	} rows[] = {
		{"WorkNCCL::isDone", "worknccl::isdone"},
		{"^abort \\(libc", "abort (libc"},
		{"WorkNCCL::(checkTimeout|checkAndSetTimeout)", "checktimeout|checkandsettimeout"},
		{"a(b|cde)", ""},
		{"abc?", ""},
		{"abcd?", "abc"},
		{"abcd+e", "abcd"},
		{"(abc)?defg", "defg"},
		{"abc|def", "abc|def"},
		{"abc|.*", ""},
		{"(?i)Fatal Error", "fatal error"},
		{"x(?=yyyy)zzz", "zzz"},
		{"[abc]+def\\d{3}", "def"},
		{"ab\\.cd", "ab.cd"},
		{"\\bfree\\b", "free"},
		{"(?<!a)bcd", "bcd"},
		{"abc{0,2}defg", "defg"},
		{"(a(b(cde)))", "cde"},
		{"\\Qabc\\E", ""},
		{"\\x41bcd", ""},
		{"(?x) a b c", ""},
		{"caf\xc3\xa9 house", " house"},
		{"abc\\", ""},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		struct cs_arena *arena = cs_arena_create(1UL << 20);
		struct cs_pattern p = {.text = rows[i].pattern};
		char text[256] = "";

		assert_null(cs_pattern_literals(arena, &p));
		for (uint32_t k = 0; k < p.n_literals; k++) {
			strcat(text, k ? "|" : "");
			strcat(text, p.literals[k]);
		}
		if (strcmp(text, rows[i].literals))
			fail_msg("%s: '%s', wanted '%s'", rows[i].pattern, text, rows[i].literals);
		cs_arena_destroy(arena);
	}
}

static void test_versions(void **state)
{
	static const struct {
		struct cs_version_test test;
		const char *value;
		bool holds;
	} rows[] = {
		{{"torch", ">=", "2.2"}, "2.2.0+cu118", true},
		{{"torch", ">=", "2.2"}, "2.1.9", false},
		{{"torch", ">=", "2.2"}, "2.10.0", true},
		{{"torch", "<", "2.2"}, "1.13.1", true},
		{{"torch", "<=", "2.2"}, "2.2.1", false},
		{{"torch", "=", "2.2"}, "2.2.0", true},
		{{"torch", "!=", "2.2"}, "2.2", false},
		{{"torch", ">", "2.2"}, "2.2", false},
		{{"torch", ">", "2.2"}, NULL, true},
		{{"torch", ">", "2.2"}, "main", true},
		{{"torch", ">=", "2.6"}, "2.6.0a0+git1", true},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		assert_int_equal(cs_version_test_holds(&rows[i].test, rows[i].value), rows[i].holds);
}

static void test_folder(void **state)
{
	struct cs_arena *arena = cs_arena_create(1UL << 20);
	struct cs_complaints complaints = {.arena = arena};
	struct cs_signature_set set;
	struct cs_error *err;

	(void)state;
	err = cs_signatures_load("/nowhere/at/all", NULL, arena, &complaints, &set);
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_OS);
	assert_non_null(strstr(cs_error_message(err), "/nowhere/at/all"));
	cs_error_destroy(err);
	assert_null(cs_signatures_load("/proc/self/task", NULL, arena, &complaints, &set));
	assert_non_null(strstr(complaints.list.v[0], "no signature files here"));
	free(complaints.list.v);
	cs_arena_destroy(arena);
}

/* Each fact has a word of its own, and words lead back. */
static void test_facts(void **state)
{
	(void)state;
	for (int i = 0; i < CS_FACT_COUNT; i++)
		assert_int_equal(cs_fact_named(cs_fact_word((enum cs_fact)i)), i);
	assert_int_equal(cs_fact_named("no such"), CS_FACT_COUNT);
	assert_true(CS_FACT_COUNT <= 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),    cmocka_unit_test(test_complaints),
		cmocka_unit_test(test_twice),    cmocka_unit_test(test_replaces),
		cmocka_unit_test(test_literals), cmocka_unit_test(test_versions),
		cmocka_unit_test(test_folder),   cmocka_unit_test(test_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
