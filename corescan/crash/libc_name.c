/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The many names that one function of the C library has: aliases, versions, 64-bit times. */
#include "crash/crash.h"

#include <string.h>

bool cs_libc_name_is(const char *name, const char *const *list, size_t n)
{
	size_t len;

	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3)) /* glibc's own alias */
		name += strspn(name + 3, "_") + 3;
	len = strcspn(name, ".@");
	if (len > 2 && !strncmp(name + len - 2, "64", 2)) /* glibc's 64-bit time_t */
		len -= 2;
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && !strncmp(name, list[i], len))
			return true;
	return false;
}
