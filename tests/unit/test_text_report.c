/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text report against golden files, so that a change of its look is a diff that is
 * reviewed. After an intended change: CORESCAN_UPDATE_GOLDEN=1 ctest -R
 * unit.test_text_report
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "report/report.h"
#include "report/text_out.h"
#include "report/text_sections.h"
#include "golden_page.h"
#include "sample_analysis.h"

#include <string.h>

static struct page render(const struct cs_analysis *a, struct cs_text_options options)
{
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);

	assert_non_null(out);
	assert_null(cs_report_text(a, &options, out));
	fclose(out);
	return page;
}

static struct page render_dump(const struct cs_analysis *a, struct cs_text_options options)
{
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);

	assert_non_null(out);
	assert_null(cs_report_python(a, &options, out));
	fclose(out);
	return page;
}

/* Takes the page over. */
static void check_page(const char *name, struct page page)
{
	char path[128];

	snprintf(path, sizeof(path), "%s.txt", name);
	check_golden_page(path, &page);
	free(page.text);
}

static void check_golden(const char *name, const struct cs_analysis *a,
			 struct cs_text_options options)
{
	check_page(name, render(a, options));
}

static void test_golden(void **state)
{
	(void)state;
	check_golden("crash", sample_crash(), (struct cs_text_options){0});
	check_golden("crash-80-columns", sample_crash(),
		     (struct cs_text_options){.width = 80});
	check_golden("crash-all", sample_crash(), (struct cs_text_options){.all = true});
	check_golden("crash-modules", sample_crash(),
		     (struct cs_text_options){.modules = true});
	check_golden("abort", sample_abort(), (struct cs_text_options){0});
	check_golden("cxx", sample_cxx(), (struct cs_text_options){0});
	check_golden("cxx-all", sample_cxx(), (struct cs_text_options){.all = true});
	check_golden("running", sample_running(), (struct cs_text_options){.width = 80});
	check_golden("running-threads", sample_running(),
		     (struct cs_text_options){.threads = true});
	check_golden("hostile", sample_hostile(), (struct cs_text_options){0});
	check_golden("python", sample_python(), (struct cs_text_options){0});
	check_golden("python-80-columns", sample_python(),
		     (struct cs_text_options){.width = 80});
	check_golden("python-all", sample_python(), (struct cs_text_options){.all = true});
	check_golden("python-threads", sample_python(),
		     (struct cs_text_options){.threads = true});
}

/* --python: the habits of py-spy dump. */
static void test_golden_python_dump(void **state)
{
	(void)state;
	check_page("dump", render_dump(sample_python(), (struct cs_text_options){0}));
	check_page("dump-all",
		   render_dump(sample_python(), (struct cs_text_options){.all = true}));
	check_page("dump-none",
		   render_dump(sample_running(), (struct cs_text_options){0}));
	check_page("dump-hostile",
		   render_dump(sample_hostile(), (struct cs_text_options){.color = true}));
}

/* No byte may drive a terminal, whatever the options; without colours there is no escape
 * at all. */
static void check_safe_page(struct page page)
{
	const unsigned char *p = (const unsigned char *)page.text;

	for (size_t i = 0; i < page.len;) {
		size_t n = cs_utf8_sequence(p + i, page.len - i);

		assert_true(n > 0);
		assert_true(p[i] == '\n' || cs_text_is_safe(p + i, n));
		i += n;
	}
	free(page.text);
}

static void check_safe(const struct cs_analysis *a, struct cs_text_options options)
{
	check_safe_page(render(a, options));
}

static void test_hostile_text_is_safe(void **state)
{
	(void)state;
	for (unsigned width = 0; width < 140; width++) {
		check_safe(sample_hostile(), (struct cs_text_options){.width = width});
		check_safe(sample_crash(), (struct cs_text_options){.width = width});
		check_safe(sample_python(), (struct cs_text_options){.width = width});
	}
	check_safe_page(render_dump(sample_hostile(), (struct cs_text_options){0}));
	check_safe(sample_hostile(), (struct cs_text_options){.all = true, .width = 80});
	check_safe(sample_hostile(),
		   (struct cs_text_options){.modules = true, .threads = true});
}

/* Colours: only our own few codes, and the text between them is the one without colours.
 */
static void test_color_changes_no_text(void **state)
{
	(void)state;
	for (unsigned width = 0; width < 140; width += 7) {
		struct page plain =
			render(sample_crash(), (struct cs_text_options){.width = width});
		struct page color =
			render(sample_crash(),
			       (struct cs_text_options){.width = width, .color = true});
		char *out = color.text;
		size_t codes = 0;

		for (const char *p = color.text; *p;) {
			if (*p == '\033') {
				assert_int_equal(p[1], '[');
				p += 2 + strspn(p + 2, "0123456789;");
				assert_int_equal(*p++, 'm');
				codes++;
				continue;
			}
			*out++ = *p++;
		}
		*out = '\0';
		assert_true(codes > 10);
		assert_string_equal(color.text, plain.text);
		free(plain.text);
		free(color.text);
	}
}

/* Frames and facts are cut to the width; only words that cannot be broken may be wider.
 */
static void test_width_is_kept(void **state)
{
	struct page page = render(sample_crash(), (struct cs_text_options){.width = 60});

	(void)state;
	for (char *line = strtok(page.text, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(strlen(line) <= 60);
	free(page.text);
}

static void test_line_of_exact_width_is_not_cut(void **state)
{
	const struct cs_text_options options = {.width = 20};
	struct page page = {0};
	FILE *out = open_memstream(&page.text, &page.len);
	struct cs_text t = {.out = out, .options = &options};

	(void)state;
	cs_text_put(&t, "01234567890123456789");
	cs_text_printf(&t, "\n");
	cs_text_put(&t, "012345678901234567890");
	cs_text_printf(&t, "\n");
	fclose(out);
	assert_string_equal(page.text, "01234567890123456789\n01234567890123456...\n");
	free(page.text);
}

static void test_folded_frames_keep_their_numbers(void **state)
{
	struct page page = render(sample_abort(), (struct cs_text_options){0});

	(void)state;
	/* 5 frames, then 3 frames 26,664 times, then 1 frame 5 times, then main: 80,002.
	 */
	assert_non_null(strstr(page.text, "#80002  main at src/parse.c:120\n"));
	assert_non_null(strstr(page.text, "the 3 frames above repeat 26,664 times"));
	free(page.text);
}

/* Frames that were counted but not kept are where the gap is, and the numbers after it
 * know of them. */
static void test_gap_keeps_numbers(void **state)
{
	static const struct cs_frame frames[] = {
		{.kind = CS_FRAME_NATIVE, .function = "inner"},
		{.kind = CS_FRAME_GAP, .function = "57 frames left out"},
		{.kind = CS_FRAME_NATIVE, .function = "outer"},
	};
	struct cs_stack_group group = *sample_abort()->groups;
	struct cs_thread thread = *sample_abort()->threads;
	struct cs_analysis a = *sample_abort();
	struct page page;

	(void)state;
	group.frames = frames;
	group.n_frames = CS_COUNT(frames);
	group.total_frames = 59;
	thread.group = &group;
	a.groups = &group;
	a.threads = &thread;
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text,
			       "> #0   inner\n"
			       "       <frames are missing here: 57 frames left out>\n"
			       "  #58  outer\n"));
	assert_null(strstr(page.text, "not kept"));
	free(page.text);
}

/* Without a culprit: the caller of raise() and abort(); after a handler, where the signal
 * struck. */
static void test_marked_frame(void **state)
{
	static const struct cs_frame frames[] = {
		{.kind = CS_FRAME_NATIVE, .function = "raise"},
		{.kind = CS_FRAME_NATIVE, .function = "handler(int)"},
		{.kind = CS_FRAME_SIGNAL},
		{.kind = CS_FRAME_NATIVE, .function = "struck"},
	};
	struct cs_stack_group group = *sample_abort()->groups;
	struct cs_analysis a = *sample_abort();

	(void)state;
	group.frames = frames;
	group.n_frames = CS_COUNT(frames);
	a.crash.culprit = &frames[3];
	assert_int_equal(cs_text_blamed_frame(&a, &group), 3);
	a.crash.culprit = NULL;
	assert_int_equal(cs_text_blamed_frame(&a, &group), 1);
	a.crash.reraised = true;
	assert_int_equal(cs_text_blamed_frame(&a, &group), 3);
	group.n_frames = 1;
	assert_int_equal(cs_text_blamed_frame(&a, &group), 0);
	group.n_frames = 0;
	assert_int_equal(cs_text_blamed_frame(&a, &group), CS_NO_FRAME);
}

/* Notes alone limit nothing: one line says that they are there. */
static void test_notes_alone(void **state)
{
	static const struct cs_diagnostic note = {CS_SEVERITY_NOTE, "core", "n",
						  "by the way", 0};
	struct cs_analysis a = *sample_abort();
	struct page page;

	(void)state;
	a.diagnostics = &note;
	a.n_diagnostics = 1;
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text, "\nNotes: 1 (--all)\n"));
	assert_null(strstr(page.text, "by the way"));
	assert_null(strstr(page.text, "What limits"));
	free(page.text);
	page = render(&a, (struct cs_text_options){.all = true});
	assert_non_null(
		strstr(page.text, "What limits this report\n  note    by the way\n"));
	free(page.text);
}

/* What is hidden takes no room from what is shown, and numbers go on as if it were there. */
static void test_plumbing_takes_no_room(void **state)
{
	struct cs_frame frames[2 * 11];
	struct cs_stack_group group = {.n_tids = 1, .frames = frames, .n_frames = 22,
				       .total_frames = 22};
	struct cs_thread thread = {.tid = 1, .group = &group};
	struct cs_analysis a = *sample_running();
	struct page page;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(frames); i++)
		frames[i] = (struct cs_frame){.kind = CS_FRAME_NATIVE,
					      .function = i % 2 ? "loop" : "work",
					      .plumbing = i % 2};
	a.threads = &thread;
	a.groups = &group;
	a.n_threads = a.n_groups = 1;
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text, "#20  work"));
	assert_null(strstr(page.text, "loop"));
	assert_null(strstr(page.text, "more frame"));
	assert_non_null(strstr(page.text, "(11 frames of the interpreter itself are "
					  "hidden: --all)\n"));
	free(page.text);
	/* A stack of nothing else is shown. */
	for (size_t i = 0; i < CS_COUNT(frames); i++)
		frames[i].plumbing = true;
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text, "#0   work"));
	assert_null(strstr(page.text, "hidden"));
	free(page.text);
}

/* Equal chains once with a count, the most frequent first, and few without --threads. */
static void test_tasks_are_folded(void **state)
{
	static struct cs_python_task tasks[1000];
	struct cs_frame frames[10] = {{0}};
	struct cs_analysis a = *sample_running();
	struct page page;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(frames); i++)
		frames[i] = (struct cs_frame){.kind = CS_FRAME_PYTHON,
					      .function = "f",
					      .file = "f.py",
					      .line = (uint32_t)i + 1};
	for (size_t i = 0; i < CS_COUNT(tasks); i++)
		tasks[i] = (struct cs_python_task){
			.name = "T",
			.state = "waiting",
			.frames = &frames[i < 900 ? 9 : i % 10],
			.n_frames = 1};
	a.python.tasks = tasks;
	a.python.n_tasks = CS_COUNT(tasks);
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text,
			       "asyncio tasks: 1,000 in 10 distinct stacks\n\n"
			       "910 tasks, waiting: \"T\", \"T\", \"T\", \"T\", \"T\", "
			       "\"T\", ... 904 more\n  py  f at f.py:10\n\n10 tasks"));
	assert_non_null(strstr(page.text, "\n(40 more in 4 more stacks: --threads)\n"));
	free(page.text);
	page = render(&a, (struct cs_text_options){.threads = true});
	assert_null(strstr(page.text, "more stacks: --threads"));
	free(page.text);
}

/* A long message is cut between characters, with what shows the rest; the first screen has
 * its first line. */
static void test_long_message_is_cut(void **state)
{
	static char message[4000];
	struct cs_exception e = {.tid = 4242, .type = "E", .message = message};
	struct cs_analysis a = *sample_abort();
	struct page page;

	(void)state;
	message[0] = 'x';
	for (size_t i = 1; i + 2 < sizeof(message); i += 2)
		memcpy(message + i, "\xc3\xa9", 2);
	a.exceptions = &e;
	a.n_exceptions = 1;
	page = render(&a, (struct cs_text_options){0});
	assert_non_null(strstr(page.text, "\xc3\xa9 ...\n"));
	assert_non_null(strstr(page.text, "\xc3\xa9 ... (--all)\n"));
	assert_null(strstr(page.text, "\\x"));
	free(page.text);
	page = render(&a, (struct cs_text_options){.all = true});
	assert_non_null(strstr(page.text, message));
	free(page.text);
}

static void test_numbers_for_people(void **state)
{
	(void)state;
	assert_string_equal(cs_text_count(0), "0");
	assert_string_equal(cs_text_count(999), "999");
	assert_string_equal(cs_text_count(1000), "1,000");
	assert_string_equal(cs_text_count(UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(cs_text_size(1023), "1023 bytes");
	assert_string_equal(cs_text_size(1536), "1.5 KiB");
	assert_string_equal(cs_text_size(UINT64_MAX), "15.9 EiB");
}

static void test_failed_stream_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "we");
	struct cs_text_options options = {0};
	struct cs_error *err;

	(void)state;
	if (!full)
		skip();
	err = cs_report_text(sample_crash(), &options, full);
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_OS);
	cs_error_destroy(err);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_python_dump),
		cmocka_unit_test(test_hostile_text_is_safe),
		cmocka_unit_test(test_color_changes_no_text),
		cmocka_unit_test(test_width_is_kept),
		cmocka_unit_test(test_line_of_exact_width_is_not_cut),
		cmocka_unit_test(test_folded_frames_keep_their_numbers),
		cmocka_unit_test(test_gap_keeps_numbers),
		cmocka_unit_test(test_marked_frame),
		cmocka_unit_test(test_notes_alone),
		cmocka_unit_test(test_plumbing_takes_no_room),
		cmocka_unit_test(test_tasks_are_folded),
		cmocka_unit_test(test_long_message_is_cut),
		cmocka_unit_test(test_numbers_for_people),
		cmocka_unit_test(test_failed_stream_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
