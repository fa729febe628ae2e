/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text that grows up to its maximum. Knows bytes and lengths; whether they are fit to print is
 * base/text.c's business.
 */
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

void cs_strbuf_deinit(struct cs_strbuf *sb)
{
	free(sb->data);
	*sb = (struct cs_strbuf){.max = sb->max};
}

static bool strbuf_room(struct cs_strbuf *sb, size_t len)
{
	size_t want;
	char *p;

	if (sb->cut || len > sb->max - sb->len) {
		sb->cut = true;
		return false;
	}
	if (sb->cap - sb->len > len)
		return true;
	want = CS_MAX(sb->cap * 2, sb->len + len + 1);
	want = CS_MAX(want, (size_t)64);
	p = realloc(sb->data, want);
	if (!p) {
		sb->cut = true;
		return false;
	}
	sb->data = p;
	sb->cap = want;
	return true;
}

void cs_strbuf_put(struct cs_strbuf *sb, const char *bytes, size_t len)
{
	if (!strbuf_room(sb, len))
		return;
	if (len) /* nothing may come without a place */
		memcpy(sb->data + sb->len, bytes, len);
	sb->len += len;
	sb->data[sb->len] = 0;
}

void cs_strbuf_puts(struct cs_strbuf *sb, const char *s)
{
	cs_strbuf_put(sb, s, strlen(s));
}

void cs_strbuf_putc(struct cs_strbuf *sb, char c)
{
	cs_strbuf_put(sb, &c, 1);
}

void cs_strbuf_printf(struct cs_strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !strbuf_room(sb, (size_t)n)) {
		sb->cut = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(sb->data + sb->len, sb->cap - sb->len, fmt, ap);
	va_end(ap);
	sb->len += (size_t)n;
}

void cs_strbuf_truncate(struct cs_strbuf *sb, size_t len)
{
	if (len >= sb->len)
		return;
	sb->len = len;
	sb->data[len] = 0;
}
