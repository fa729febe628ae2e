/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Growing arrays up to a named maximum. Knows sizes alone; the element type lives in the macros of
 * base/vec.h.
 */
#include "base/vec.h"

struct cs_error *cs_vec_reserve(void **v, size_t *cap, size_t n, size_t size, size_t max,
				const char *what)
{
	size_t want;
	void *p;

	if (n >= max)
		return cs_error_new(CS_ERR_LIMIT, "more than %zu %s", max, what);
	if (n < *cap)
		return NULL;
	want = *cap ? *cap * 2 : 16;
	if (want > max)
		want = max;
	p = reallocarray(*v, want, size);
	if (!p)
		return &cs_nomem;
	*v = p;
	*cap = want;
	return NULL;
}
