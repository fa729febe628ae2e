/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Text that grows up to a maximum declared when it is made; there is no unlimited form.
 *
 * A write that does not fit or gets no memory is dropped and sets `cut`; every later write is dropped too,
 * so a text is never cut in the middle and continued. data is always NUL-terminated once non-NULL.
 */
#ifndef CS_BASE_STRBUF_H
#define CS_BASE_STRBUF_H

#include "base/util.h"

#include <stdarg.h>

struct cs_strbuf {
	char *data; /* owned; NULL while empty */
	size_t len; /* bytes, without the NUL */
	size_t cap;
	size_t max; /* of len, inclusive */
	bool cut;
};

CS_UNUSED static inline void cs_strbuf_init(struct cs_strbuf *sb, size_t max)
{
	*sb = (struct cs_strbuf){.max = max};
}

void cs_strbuf_deinit(struct cs_strbuf *sb);
void cs_strbuf_put(struct cs_strbuf *sb, const char *bytes, size_t len);
void cs_strbuf_puts(struct cs_strbuf *sb, const char *s);
void cs_strbuf_putc(struct cs_strbuf *sb, char c);
void cs_strbuf_printf(struct cs_strbuf *sb, const char *fmt, ...) CS_PRINTF(2, 3);
/** Shorten to @len bytes; used to drop a trailing separator. */
void cs_strbuf_truncate(struct cs_strbuf *sb, size_t len);

/** The text, "" while empty; valid until the next write. */
CS_UNUSED static inline const char *cs_strbuf_text(const struct cs_strbuf *sb)
{
	return sb->data ? sb->data : "";
}

#endif
