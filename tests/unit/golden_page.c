/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing pages with golden files, and writing these anew when asked to. */
#include "golden_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t cap = 0;
	ssize_t n;

	if (!file)
		return NULL;
	n = getdelim(&text, &cap, '\0', file);
	fclose(file);
	return n >= 0 ? text : (free(text), NULL);
}

void check_golden_page(const char *name, const struct page *page)
{
	char path[512], *want;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, name);
	if (getenv("CORESCAN_UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "we");

		assert_non_null(file);
		assert_int_equal(fwrite(page->text, 1, page->len, file), page->len);
		assert_int_equal(fclose(file), 0);
	}
	want = read_file(path);
	assert_non_null(want);
	assert_string_equal(page->text, want);
	free(want);
}
