/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Growable arrays that declare their maximum where they grow.
 *
 *	CS_VEC(struct cs_region) regions = {0};
 *	CS_TRY(CS_PUSH(&regions, ((struct cs_region){...}), CS_MAX_SEGMENTS, "segments"));
 *	free(regions.v);
 */
#ifndef CS_BASE_VEC_H
#define CS_BASE_VEC_H

#include "base/error.h"

#define CS_VEC(type)                                                                     \
	struct {                                                                         \
		type *v;                                                                 \
		size_t n;                                                                \
		size_t cap;                                                              \
	}

/** The same with a name, for signatures: CS_VEC_TYPE(cs_names, const char *); */
#define CS_VEC_TYPE(name, type)                                                          \
	struct name {                                                                    \
		type *v;                                                                 \
		size_t n;                                                                \
		size_t cap;                                                              \
	}

/** Room for one more of @size bytes; CS_ERR_LIMIT names @what once @n reaches @max. */
CS_MUST_CHECK struct cs_error *cs_vec_reserve(void **v, size_t *cap, size_t n, size_t size,
					      size_t max, const char *what);

#define CS_PUSH(vec, item, max, what)                                                    \
	({                                                                               \
		struct cs_error *cs_push_err_ = NULL;                                    \
		if ((vec)->n == (vec)->cap || (vec)->n >= (max))                         \
			cs_push_err_ = cs_vec_reserve((void **)&(vec)->v, &(vec)->cap,   \
						      (vec)->n, sizeof(*(vec)->v),       \
						      (max), what);                      \
		if (!cs_push_err_)                                                       \
			(vec)->v[(vec)->n++] = (item);                                   \
		cs_push_err_;                                                            \
	})

#endif
