/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Columns, colours and escapes. Knows terminals; refuses to know what is reported.
 *
 * A line that has no room ends in "...". The columns where that goes are held back until
 * it is known whether the line ends there.
 */
#include "report/text_out.h"

#include "base/strbuf.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define CUT "..."
#define CUT_COLUMNS 3U
#define PLAIN "\033[0m"

static bool cuts(const struct cs_text *t)
{
	return t->options->width > CUT_COLUMNS + CS_TEXT_LABEL && !t->options->all;
}

static void end_line(struct cs_text *t)
{
	if (t->held_len)
		fwrite_unlocked(t->held, 1, t->held_len, t->out);
	fputc('\n', t->out);
	t->held_len = 0;
	t->column = 0;
	t->cut = false;
}

/* One character of one column. */
static void put_character(struct cs_text *t, const char *p, size_t len)
{
	unsigned room = t->options->width - CUT_COLUMNS;

	if (t->cut)
		return;
	if (!cuts(t) || t->whole || t->column < room) {
		fwrite_unlocked(p, 1, len, t->out);
		t->column++;
		return;
	}
	if (t->column - room >= CUT_COLUMNS || t->held_len + len > sizeof(t->held)) {
		fputs(CUT, t->out);
		if (t->options->color)
			fputs(PLAIN,
			      t->out); /* the held text may have begun or ended a style */
		t->held_len = 0;
		t->cut = true;
		return;
	}
	memcpy(t->held + t->held_len, p, len);
	t->held_len += len;
	t->column++;
}

static void put_plain(struct cs_text *t, const char *s)
{
	for (; *s; s++) {
		if (*s == '\n')
			end_line(t);
		else
			put_character(t, s, 1);
	}
}

void cs_text_printf(struct cs_text *t, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_plain(t, text);
}

/*
 * The next character of @s as it may be shown: its bytes in @ret and its columns;
 * advances @s. @s must not be at its end. Characters of two columns (CJK) count as one:
 * lines with them may be cut late, not lost.
 */
static unsigned next_visible(const char **s, char ret[16])
{
	const unsigned char *p = (const unsigned char *)*s;
	size_t left = strnlen(*s, 4), n = cs_utf8_sequence(p, left);

	if (n && cs_text_is_safe(p, n)) {
		memcpy(ret, p, n);
		ret[n] = '\0';
		*s += n;
		return 1;
	}
	*s += n ? n : 1;
	if (n == 1 && *p == '\n')
		return (unsigned)snprintf(ret, 16, "\\n");
	if (n == 1 && *p == '\t')
		return (unsigned)snprintf(ret, 16, "\\t");
	if (n <= 1)
		return (unsigned)snprintf(ret, 16, "\\x%02x", *p);
	/* C1 controls and bidirectional overrides, byte by byte as they are in the core.
	 */
	ret[0] = '\0';
	for (size_t i = 0; i < n && i < 3; i++)
		snprintf(ret + 4 * i, 16 - 4 * i, "\\x%02x", p[i]);
	return (unsigned)strlen(ret);
}

static void put_visible(struct cs_text *t, const char *bytes, unsigned columns)
{
	if (columns == 1)
		put_character(t, bytes, strlen(bytes));
	else
		put_plain(t, bytes); /* an escape: ASCII */
}

void cs_text_put(struct cs_text *t, const char *s)
{
	char bytes[16];

	while (s && *s && !t->cut) {
		unsigned columns = next_visible(&s, bytes);

		put_visible(t, bytes, columns);
	}
}

size_t cs_text_columns(const char *s)
{
	char bytes[16];
	size_t columns = 0;

	while (s && *s)
		columns += next_visible(&s, bytes);
	return columns;
}

void cs_text_put_cut(struct cs_text *t, const char *s, size_t max)
{
	char bytes[16];
	size_t columns = 0;

	if (!s || t->options->all || cs_text_columns(s) <= max) {
		cs_text_put(t, s);
		return;
	}
	while (*s) {
		unsigned n = next_visible(&s, bytes);

		columns += n;
		if (columns + CUT_COLUMNS > max)
			break;
		put_visible(t, bytes, n);
	}
	put_plain(t, CUT);
}

void cs_text_put_tail(struct cs_text *t, const char *s, size_t max)
{
	size_t columns = cs_text_columns(s);
	const char *slash;
	char bytes[16];

	if (!s || t->options->all || columns <= max) {
		cs_text_put(t, s);
		return;
	}
	while (*s && columns + CUT_COLUMNS > max)
		columns -= next_visible(&s, bytes);
	slash = strchr(s, '/');
	put_plain(t, CUT);
	cs_text_put(t, slash ? slash : s);
}

void cs_text_styled(struct cs_text *t, enum cs_style style, const char *s)
{
	cs_text_style(t, style);
	cs_text_put(t, s);
	cs_text_plain(t);
}

/* A style that begins among held columns must not reach the terminal before them. */
static void put_code(struct cs_text *t, const char *code)
{
	size_t len = strlen(code);

	if (!t->options->color || t->cut)
		return;
	if (!t->held_len) {
		fputs(code, t->out);
	} else if (len <= sizeof(t->held) - t->held_len) {
		memcpy(t->held + t->held_len, code, len);
		t->held_len += len;
	}
}

void cs_text_style(struct cs_text *t, enum cs_style style)
{
	static const char *const codes[] = {
		[CS_STYLE_BAD] = "\033[1;31m", [CS_STYLE_HEAD] = "\033[1m",
		[CS_STYLE_DIM] = "\033[2m",    [CS_STYLE_STRONG] = "\033[1m",
		[CS_STYLE_DOUBT] = "\033[33m", [CS_STYLE_PYTHON] = "\033[36m",
	};

	put_code(t, codes[style]);
}

void cs_text_plain(struct cs_text *t)
{
	put_code(t, PLAIN);
}

void cs_text_heading(struct cs_text *t, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_plain(t, "\n");
	cs_text_style(t, CS_STYLE_HEAD);
	put_plain(t, text);
	cs_text_plain(t);
	put_plain(t, "\n");
}

void cs_text_label(struct cs_text *t, const char *label)
{
	cs_text_style(t, CS_STYLE_DIM);
	cs_text_printf(t, "  %-*s", CS_TEXT_LABEL, label);
	cs_text_plain(t);
}

void cs_text_fact(struct cs_text *t, const char *label, const char *value)
{
	if (!value)
		return;
	cs_text_label(t, label);
	cs_text_wrapped(t, 2 + CS_TEXT_LABEL, value);
}

/* Columns of the word that begins at @s, and its length in bytes. */
static size_t word_at(const char *s, size_t *ret_len)
{
	const char *start = s;
	size_t columns = 0;
	char bytes[16];

	while (*s && *s != ' ' && *s != '\n')
		columns += next_visible(&s, bytes);
	*ret_len = (size_t)(s - start);
	return columns;
}

static void put_bytes(struct cs_text *t, const char *s, size_t len)
{
	const char *end = s + len;
	char bytes[16];

	while (s < end) {
		unsigned columns = next_visible(&s, bytes);

		put_visible(t, bytes, columns);
	}
}

void cs_text_wrapped(struct cs_text *t, unsigned indent, const char *s)
{
	size_t blanks = 0; /* before the next word: written with it, dropped where the
			      line is broken */
	bool fresh = true; /* nothing on this line yet but the indent */

	for (; *s; fresh = false) {
		size_t len, columns;

		if (*s == '\n' && !s[1])
			break; /* the last newline of a message is ours to write */
		if (*s == '\n') {
			cs_text_printf(t, "\n%*s", (int)indent, "");
			blanks = strspn(++s, " "); /* messages are indented with them */
			s += blanks;
		}
		columns = word_at(s, &len);
		if (!fresh && cuts(t) && columns + blanks > cs_text_left(t)) {
			cs_text_printf(t, "\n%*s", (int)indent, "");
			blanks = 0;
		}
		for (; blanks; blanks--)
			put_plain(t, " ");
		put_bytes(t, s, len);
		s += len;
		blanks = strspn(s, " ");
		s += blanks;
	}
	put_plain(t, "\n");
}

void cs_text_gap(struct cs_text *t, unsigned indent, size_t columns)
{
	if (cuts(t) && columns >= cs_text_left(t) && t->column > indent)
		cs_text_printf(t, "\n%*s", (int)indent, "");
	else
		put_plain(t, " ");
}

size_t cs_text_left(const struct cs_text *t)
{
	if (!cuts(t))
		return SIZE_MAX / 2;
	return t->column < t->options->width ? t->options->width - t->column : 0;
}

static char *number_buffer(void)
{
	static _Thread_local char buffers[4][40];
	static _Thread_local unsigned next;

	return buffers[next++ % 4];
}

const char *cs_text_count(uint64_t n)
{
	char digits[24], *out = number_buffer(), *p = out;
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

const char *cs_text_size(uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB",
					    "TiB",   "PiB", "EiB"};
	char *out = number_buffer();
	uint64_t whole = bytes, rest = 0;
	size_t unit = 0;

	while (whole >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		rest = whole % 1024;
		whole /= 1024;
		unit++;
	}
	if (unit)
		snprintf(out, 40, "%" PRIu64 ".%" PRIu64 " %s", whole, rest * 10 / 1024,
			 units[unit]);
	else
		snprintf(out, 40, "%" PRIu64 " %s", whole, units[0]);
	return out;
}
