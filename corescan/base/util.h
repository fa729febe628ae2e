/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The small words that every layer uses: cleanup by attribute, hand-over, early return on error. */
#ifndef CS_BASE_UTIL_H
#define CS_BASE_UTIL_H

#include "corescan/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CS_CLEANUP(fn) __attribute__((cleanup(fn)))
#define CS_UNUSED __attribute__((unused))
#define CS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** Hand the pointer over and forget it, so that its cleanup does nothing. */
#define CS_TAKE(ptr)                                                                     \
	({                                                                               \
		__typeof__(ptr) cs_taken_ = (ptr);                                       \
		(ptr) = NULL;                                                            \
		cs_taken_;                                                               \
	})

/** The only macro that returns: give a callee's error to the caller. */
#define CS_TRY(call)                                                                     \
	do {                                                                             \
		struct cs_error *cs_err_ = (call);                                       \
		if (cs_err_)                                                             \
			return cs_err_;                                                  \
	} while (0)

/** Define NAMEp(), the form of a destructor that CS_CLEANUP wants. */
#define CS_DEFINE_CLEANUP(type, destroy)                                                 \
	CS_UNUSED static inline void destroy##p(type *ptr)                               \
	{                                                                                \
		destroy(*ptr);                                                           \
	}

CS_UNUSED static inline void cs_freep(void *ptr)
{
	free(*(void **)ptr);
}

/** Closes *@fd unless it is negative. */
void cs_closep(const int *fd);

#define CS_MIN(a, b)                                                                     \
	({                                                                               \
		__typeof__(a) cs_a_ = (a);                                               \
		__typeof__(b) cs_b_ = (b);                                               \
		cs_a_ < cs_b_ ? cs_a_ : cs_b_;                                           \
	})
#define CS_MAX(a, b)                                                                     \
	({                                                                               \
		__typeof__(a) cs_a_ = (a);                                               \
		__typeof__(b) cs_b_ = (b);                                               \
		cs_a_ > cs_b_ ? cs_a_ : cs_b_;                                           \
	})

#endif
