/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole analyses in which the N-th allocation fails, for every N until none does: no crash, no leak (with
 * LeakSanitizer in the dev preset), and a result or an error, never neither. Only this program's own
 * allocations are counted, those of the libraries that it links dynamically are not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/error.h"
#include "core_builder.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define STACK 0x7ffe00000000
#define MAX_FAILURES 200000UL

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static unsigned long countdown; /* allocations until one fails; 0: none does */
static bool failed, forever;

static bool fails(void)
{
	if (failed && forever)
		return true;
	if (!countdown || --countdown)
		return false;
	failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

static bool is_wrapped(void *p)
{
	bool ok = p != NULL;

	free(p);
	return ok;
}

static void the_wrappers_are_in_place(void **state)
{
	(void)state;
	failed = forever = false;
	countdown = 2;
	assert_true(is_wrapped(malloc(10)));
	assert_false(is_wrapped(calloc(1, 10)));
	assert_true(is_wrapped(strdup("text")));
	assert_true(failed);
	countdown = 0;
}

/** A module with a build id, two threads, and a stack with arguments: every layer has something to do. */
static struct core_builder *small_core(void)
{
	static const char *const paths[] = {"/nowhere/prog", "/nowhere/lib.so"};
	static const uint64_t auxv[] = {6, 4096, 3, 0x400040, 4, 56, 5, 1, 9, 0x400800, 25, STACK + 0xf00};
	struct core_builder *b = core_create(62), *image = core_create(62);
	uint64_t words[512] = {[256] = 1, STACK + 0xf00, 0, STACK + 0xf08, 0};
	uint8_t page[4096] = {0}, *bytes;
	size_t len;

	/* The module is an ELF file with one note; as the builder's, with another e_type. */
	core_note(image, "GNU", 3, "0123456789abcdef0123", 20);
	core_segment(image, 1, 0, 0, 4096, 4096);
	core_poke(image, 16, 3, 2);
	core_poke(image, core_phdr_offset(image, 0) + 16, core_notes_offset(image), 8);
	bytes = core_bytes(image, &len);
	memcpy(page, bytes, len);
	core_prstatus(b, &(struct core_thread){41, 11, 0x400880, STACK + 0x100, STACK + 0x140, 0});
	core_prpsinfo(b, 41, "prog", "prog a");
	core_siginfo(b, 11, 1, 0x10);
	core_auxv(b, auxv, 6);
	core_files(b, 0x400000, paths, 2);
	core_prstatus(b, &(struct core_thread){42, 11, 0x401880, STACK + 0x200, STACK + 0x240, 0});
	memcpy(words + 261, auxv, sizeof(auxv));
	words[(0x140 >> 3)] = STACK + 0x180;
	words[(0x140 >> 3) + 1] = 0x400900;
	memcpy((char *)words + 0xf00, "prog\0\0\0\0RANK=3", 15);
	core_load(b, 0x400000, 5, page, 4096, 4096);
	core_load(b, 0x401000, 5, page, 4096, 4096);
	core_load(b, STACK, 6, words, 4096, 4096);
	core_destroy(image);
	return b;
}

/** One analysis with its reports, the @n-th allocation failing; true if there were so many. */
static bool run(const char *path, unsigned long n, FILE *out)
{
	static const struct cs_text_options all = {.threads = true, .modules = true, .all = true};
	static const struct cs_markdown_options markdown = {.threads = true};
	struct cs_options options = {.size = sizeof(options)};
	const struct cs_analysis *a = NULL;
	struct cs_error *err;
	bool hit;

	failed = false;
	countdown = n;
	err = cs_analyze(path, &options, &a);
	if (err) {
		assert_true(failed && cs_error_message(err)[0]);
		assert_null(a);
	} else {
		assert_non_null(a);
		assert_true(a->n_threads == 2 || failed);
		(void)cs_ok(cs_report_text(a, &all, out));
		(void)cs_ok(cs_report_json(a, out));
		(void)cs_ok(cs_report_markdown(a, &markdown, out));
	}
	hit = failed;
	countdown = 0;
	failed = false;
	cs_error_destroy(err);
	cs_analysis_destroy(a);
	return hit;
}

static void run_all(bool all_later_ones)
{
	struct core_builder *b = small_core();
	const char *path = core_path(b);
	FILE *out = fopen("/dev/null", "w");
	unsigned long n = 1;

	assert_non_null(out);
	assert_false(run(path, 0, out));
	forever = all_later_ones;
	while (n < MAX_FAILURES && run(path, n, out))
		n++;
	forever = false;
	assert_true(n > 50 && n < MAX_FAILURES);
	print_message("%lu allocations failed in turn\n", n - 1);
	fclose(out);
	core_destroy(b);
}

static void each_allocation_fails_once(void **state)
{
	(void)state;
	run_all(false);
}

static void each_allocation_and_all_later_ones_fail(void **state)
{
	(void)state;
	run_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wrappers_are_in_place),
		cmocka_unit_test(each_allocation_fails_once),
		cmocka_unit_test(each_allocation_and_all_later_ones_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
