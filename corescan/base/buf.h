/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The one cursor for binary data.
 *
 * It compares by subtraction, so a hostile length cannot wrap. On a read that does not fit the position
 * stays, the cursor stays failed, and `bad` names the field: one check at the end of a run of reads is
 * enough, and its message can say what and where.
 */
#ifndef CS_BASE_BUF_H
#define CS_BASE_BUF_H

#include "base/util.h"

#include <endian.h>
#include <string.h>

struct cs_buf {
	const uint8_t *start;
	const uint8_t *pos;
	const uint8_t *end; /* exclusive */
	const char *bad;    /* name of the first field that did not fit, or NULL */
	bool big_endian;
};

/** What an iterator over bytes can say; damage never looks like the end. */
enum cs_step { CS_STEP_ITEM, CS_STEP_END, CS_STEP_BAD };

CS_UNUSED static inline struct cs_buf cs_buf_of(const void *data, size_t len)
{
	const uint8_t *p = data;

	return (struct cs_buf){.start = p, .pos = p, .end = p + len};
}

CS_UNUSED static inline size_t cs_buf_left(const struct cs_buf *b)
{
	return (size_t)(b->end - b->pos);
}

/** Offset of the position from the start, in bytes: for messages. */
CS_UNUSED static inline size_t cs_buf_offset(const struct cs_buf *b)
{
	return (size_t)(b->pos - b->start);
}

/** The next @n bytes, in place; valid as long as the cursor's data. */
CS_MUST_CHECK CS_UNUSED static inline bool
cs_buf_take(struct cs_buf *b, uint64_t n, const char *what, const uint8_t **ret)
{
	if (b->bad)
		return false;
	if (n > cs_buf_left(b)) {
		b->bad = what;
		return false;
	}
	*ret = b->pos;
	b->pos += n;
	return true;
}

CS_UNUSED static inline bool cs_buf_skip(struct cs_buf *b, uint64_t n, const char *what)
{
	const uint8_t *ignored;

	return cs_buf_take(b, n, what, &ignored);
}

/** Move to @offset from the start. */
CS_UNUSED static inline bool cs_buf_seek(struct cs_buf *b, uint64_t offset, const char *what)
{
	if (b->bad)
		return false;
	if (offset > (uint64_t)(b->end - b->start)) {
		b->bad = what;
		return false;
	}
	b->pos = b->start + offset;
	return true;
}

/** Skip to a multiple of @align (a power of two) from the start; stops at the end, never fails. */
CS_UNUSED static inline void cs_buf_pad(struct cs_buf *b, size_t align)
{
	size_t pad = -cs_buf_offset(b) & (align - 1);

	b->pos += CS_MIN(pad, cs_buf_left(b));
}

#define CS_BUF_READER(bits)                                                              \
	CS_UNUSED static inline bool cs_buf_u##bits(struct cs_buf *b, const char *what,  \
						    uint##bits##_t *ret)                 \
	{                                                                                \
		const uint8_t *p;                                                        \
		uint##bits##_t v;                                                        \
\
		if (!cs_buf_take(b, sizeof(v), what, &p))                                \
			return false;                                                    \
		memcpy(&v, p, sizeof(v));                                                \
		*ret = b->big_endian ? be##bits##toh(v) : le##bits##toh(v);              \
		return true;                                                             \
	}
CS_BUF_READER(16)
CS_BUF_READER(32)
CS_BUF_READER(64)
#undef CS_BUF_READER

CS_UNUSED static inline bool cs_buf_u8(struct cs_buf *b, const char *what, uint8_t *ret)
{
	const uint8_t *p;

	if (!cs_buf_take(b, 1, what, &p))
		return false;
	*ret = *p;
	return true;
}

/** A NUL-terminated string, in place; fails if the NUL does not come before the end. */
CS_MUST_CHECK CS_UNUSED static inline bool cs_buf_cstr(struct cs_buf *b, const char *what,
						       const char **ret)
{
	const uint8_t *nul;

	if (b->bad)
		return false;
	nul = memchr(b->pos, 0, cs_buf_left(b));
	if (!nul) {
		b->bad = what;
		return false;
	}
	*ret = (const char *)b->pos;
	b->pos = nul + 1;
	return true;
}

#endif
