/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line as its author printed it. Terminals colour it, loggers and launchers put words before it, trackers
 * quote and wrap it; none of that is the tool's.
 */
#include "paste/paster.h"

#include "base/limits.h"
#include "base/text.h"

#include <string.h>

/* Length of the escape sequence at @p: ESC [ ... letter, ESC ] ... BEL, ESC x. */
static size_t escape_length(const char *p, size_t left)
{
	size_t i = 2;

	if (left < 2)
		return left;
	if (p[1] == '[') {
		while (i < left && (unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < 0x40)
			i++;
	} else if (p[1] == ']') {
		while (i < left && p[i] != '\a')
			i++;
	} else {
		return 2;
	}
	return i < left ? i + 1 : left;
}

/* @bytes without escape sequences and control characters, as UTF-8. */
static void put_visible(struct cs_strbuf *sb, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = cs_utf8_sequence((const unsigned char *)bytes + i, len - i);

		if (bytes[i] == '\033') {
			i += escape_length(bytes + i, len - i);
			continue;
		}
		if (!n)
			cs_strbuf_puts(sb, "\xef\xbf\xbd");
		else if (bytes[i] == '\t')
			cs_strbuf_puts(sb, "    ");
		else if ((unsigned char)bytes[i] >= 0x20)
			cs_strbuf_put(sb, bytes + i, n);
		i += n ? n : 1;
	}
}

void cs_line_clean(struct cs_strbuf *scratch, const char *bytes, size_t len, struct cs_line *ret)
{
	const char *text;

	*ret = (struct cs_line){0};
	put_visible(scratch, bytes, len);
	text = cs_strbuf_text(scratch);
	while (!strncmp(text, "> ", 2) || !strcmp(text, ">"))
		text += text[1] ? 2 : 1;
	ret->text = text;
	ret->len = strlen(text);
	while (ret->len && text[ret->len - 1] == ' ')
		ret->len--;
	cs_strbuf_truncate(scratch, (size_t)(text - cs_strbuf_text(scratch)) + ret->len);
	ret->indent = strspn(text, " ");
	if (ret->indent > ret->len)
		ret->indent = ret->len;
}

void cs_line_inherit(char *carried, struct cs_line *line)
{
	if (line->label) {
		snprintf(carried, CS_MAX_PASTE_LABEL + 1, "%s", line->carries ? line->label : "");
		return;
	}
	if (line->level)
		*carried = '\0';
	if (*carried)
		line->label = carried;
}

bool cs_line_is_continued(const struct cs_line *line, const struct cs_line *next)
{
	(void)line;
	(void)next;
	return false;
}
