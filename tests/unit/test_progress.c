/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The progress line, on a terminal that the test holds the other end of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/progress.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct terminal {
	int master;
	FILE *slave;
};

static int setup(void **state)
{
	static struct terminal t;

	t.master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(t.master >= 0);
	assert_int_equal(grantpt(t.master), 0);
	assert_int_equal(unlockpt(t.master), 0);
	t.slave = fopen(ptsname(t.master), "w");
	assert_non_null(t.slave);
	setenv("TERM", "xterm", 1);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	struct terminal *t = *state;

	fclose(t->slave);
	close(t->master);
	return 0;
}

/* What was written to the terminal since the last call. */
static const char *written(struct terminal *t)
{
	static char text[256];
	ssize_t n;

	fflush(t->slave);
	fcntl(t->master, F_SETFL, O_NONBLOCK);
	n = read(t->master, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* As if the work had begun @ms earlier. */
static void pass(struct cs_progress *progress, int64_t ms)
{
	progress->start.tv_sec -= ms / 1000;
	progress->shown.tv_sec -= ms / 1000;
}

static void test_short_work_shows_nothing(void **state)
{
	struct terminal *t = *state;
	struct cs_progress progress;

	cs_progress_begin(&progress, t->slave, false);
	assert_non_null(progress.out);
	cs_progress_update(&progress, "unpacking", 1, 2);
	cs_progress_end(&progress);
	assert_string_equal(written(t), "");
}

static void test_long_work_shows_a_line_and_erases_it(void **state)
{
	struct terminal *t = *state;
	struct cs_progress progress;

	cs_progress_begin(&progress, t->slave, false);
	pass(&progress, 2000);
	cs_progress_update(&progress, "unpacking", 1, 4);
	assert_string_equal(written(t), "\r\033[Kcorescan: unpacking 25 %");
	/* Not more often than people can read. */
	cs_progress_update(&progress, "unpacking", 2, 4);
	assert_string_equal(written(t), "");
	pass(&progress, 1000);
	cs_progress_update(&progress, "unpacking", 5000000, 0);
	assert_string_equal(written(t), "\r\033[Kcorescan: unpacking 5 MB");
	pass(&progress, 1000);
	cs_progress_update(&progress, "unpacking", UINT64_MAX, 4);
	assert_string_equal(written(t), "\r\033[Kcorescan: unpacking 100 %");
	cs_progress_end(&progress);
	assert_string_equal(written(t), "\r\033[K");
	cs_progress_end(&progress);
	assert_string_equal(written(t), "");
}

static void test_where_nothing_may_be_shown(void **state)
{
	struct terminal *t = *state;
	struct cs_progress progress;
	FILE *file = tmpfile();

	cs_progress_begin(&progress, t->slave, true); /* --quiet */
	assert_null(progress.out);
	cs_progress_begin(&progress, file, false);
	assert_null(progress.out);
	setenv("TERM", "dumb", 1);
	cs_progress_begin(&progress, t->slave, false);
	assert_null(progress.out);
	pass(&progress, 2000);
	cs_progress_update(&progress, "unpacking", 1, 4);
	cs_progress_end(&progress);
	assert_string_equal(written(t), "");
	fclose(file);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_short_work_shows_nothing),
		CASE(test_long_work_shows_a_line_and_erases_it),
		CASE(test_where_nothing_may_be_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
