/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing versions: by their numbers, as far as both have some. "2.6.0+cu124" is 2.6.0. */
#include "signature/signature.h"

#include <ctype.h>
#include <string.h>

/* The next number of @p, which moves behind it; false at the end of the numbers. */
static bool next_number(const char **p, unsigned long *ret)
{
	char *end;

	if (**p == '.')
		++*p;
	if (!isdigit((unsigned char)**p))
		return false;
	*ret = strtoul(*p, &end, 10);
	*p = end;
	return true;
}

/* < 0, 0, > 0. A number that is missing is 0: 2.2 is 2.2.0. */
static int compare(const char *a, const char *b)
{
	bool more_a, more_b;

	do {
		unsigned long x = 0, y = 0;

		more_a = next_number(&a, &x);
		more_b = next_number(&b, &y);
		if (x != y)
			return x < y ? -1 : 1;
	} while (more_a || more_b);
	return 0;
}

bool cs_version_test_holds(const struct cs_version_test *test, const char *value)
{
	int order;

	if (!value || !isdigit((unsigned char)*value))
		return true;
	order = compare(value, test->version);
	switch (test->op[0]) {
	case '<':
		return test->op[1] ? order <= 0 : order < 0;
	case '>':
		return test->op[1] ? order >= 0 : order > 0;
	case '!':
		return order != 0;
	default:
		return order == 0;
	}
}
