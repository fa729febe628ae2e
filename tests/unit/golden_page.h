/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Pages as they were when somebody last looked at them: tests/unit/golden. */
#ifndef GOLDEN_PAGE_H
#define GOLDEN_PAGE_H

#include <stddef.h>

struct page {
	char *text; /* owned by who has the page; NUL-terminated */
	size_t len;
};

/** Fails unless @page is what golden file @name has. With CORESCAN_UPDATE_GOLDEN in the environment the
 * file becomes the page. */
void check_golden_page(const char *name, const struct page *page);

#endif
