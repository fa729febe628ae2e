/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UTF-8 checks. Bytes from a core may hold anything, terminal escapes included. */
#include "base/text.h"

#include "base/strbuf.h"

#include <string.h>

size_t cs_utf8_sequence(const unsigned char *p, size_t left)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	uint32_t c;
	size_t n;

	if (!left)
		return 0;
	if (p[0] < 0x80)
		return 1;
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
		return 0;
	c = p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < lowest[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	return n;
}

bool cs_text_is_safe(const unsigned char *p, size_t sequence_len)
{
	if (sequence_len == 1)
		return p[0] >= 0x20 && p[0] != 0x7f;
	if (sequence_len == 2)
		return !(p[0] == 0xc2 && p[1] < 0xa0); /* C1 controls */
	if (sequence_len == 3 && p[0] == 0xe2 && p[1] == 0x80) /* U+202A .. U+202E */
		return !(p[2] >= 0xaa && p[2] <= 0xae);
	if (sequence_len == 3 && p[0] == 0xe2 && p[1] == 0x81) /* U+2066 .. U+2069 */
		return !(p[2] >= 0xa6 && p[2] <= 0xa9);
	return sequence_len != 0;
}

char *cs_text_utf8(struct cs_arena *arena, const void *bytes, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	const unsigned char *p = bytes;
	struct cs_strbuf sb;
	char *copy;

	cs_strbuf_init(&sb, len * 3);
	for (size_t i = 0; i < len;) {
		size_t n = cs_utf8_sequence(p + i, len - i);

		if (n)
			cs_strbuf_put(&sb, (const char *)p + i, n);
		else
			cs_strbuf_puts(&sb, replacement);
		i += n ? n : 1;
	}
	copy = cs_arena_strdup(arena, cs_strbuf_text(&sb));
	cs_strbuf_deinit(&sb);
	return copy;
}
