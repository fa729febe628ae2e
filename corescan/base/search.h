/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Finding one of many sorted ranges by an address. */
#ifndef CS_BASE_SEARCH_H
#define CS_BASE_SEARCH_H

#include "base/util.h"

#include <string.h>

/**
 * Index of the first of @n ranges that ends above @addr; @n if none does.
 *
 * @ranges      sorted and disjoint, @stride bytes each
 * @end_offset  where in one its exclusive end is, a uint64_t
 */
CS_UNUSED static inline size_t cs_first_ending_after(const void *ranges, size_t n, size_t stride,
						     size_t end_offset, uint64_t addr)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint64_t end;

		memcpy(&end, (const char *)ranges + mid * stride + end_offset, sizeof(end));
		if (end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#define CS_FIRST_ENDING_AFTER(ranges, n, addr)                                           \
	cs_first_ending_after((ranges), (n), sizeof(*(ranges)),                          \
			      offsetof(__typeof__(*(ranges)), end), (addr))

#endif
