/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Texts made harmless for trackers. Knows CommonMark, and what GitHub and GitLab add to it; refuses to know
 * what is reported.
 */
#include "report/markdown_out.h"

#include "base/text.h"

#include <ctype.h>
#include <string.h>

#define CUT "..."
#define MAX_USER 64      /* bytes of a user's name in a path */
#define MIN_COMMIT 7     /* digits of what a tracker takes for a commit */
#define MAX_REFERENCE 200

/* ---- what every text goes through ---- */

static uint32_t code_point(const unsigned char *p, size_t n)
{
	uint32_t c = n == 1 ? p[0] : p[0] & (0x7fU >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (p[i] & 0x3f);
	return c;
}

/* Nobody sees these, or sees what is around them in another order: U+0000 is not in a text. */
static bool is_hidden(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} all[] = {
		{0xad, 0xad},     {0x61c, 0x61c},     {0x115f, 0x1160},   {0x180b, 0x180f},
		{0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
		{0xfeff, 0xfeff}, {0xfff0, 0xfffb},   {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < CS_COUNT(all); i++)
		if (c >= all[i].first && c <= all[i].last)
			return true;
	return false;
}

/* Bytes of "/home/NAME" at @p that stand for a home folder, or 0. */
static size_t home_at(const char *p)
{
	static const char *const folders[] = {"/home/", "/Users/"};

	if (!strncmp(p, "/root", 5) && !isalnum((unsigned char)p[5]) && !(p[5] && strchr("_.-", p[5])))
		return 5;
	for (size_t i = 0; i < CS_COUNT(folders); i++) {
		size_t len = strlen(folders[i]), name;

		if (strncmp(p, folders[i], len))
			continue;
		name = strcspn(p + len, "/ \t\r\n\"'`:;,()[]{}<>|&?#");
		return name && name <= MAX_USER ? len + name : 0;
	}
	return 0;
}

/* A path begins at @p: what is before it in @text is no part of one. "-I/home/x" and "file:///home/x" are. */
static bool begins_path(const char *text, const char *p)
{
	size_t before = (size_t)(p - text);

	if (!before)
		return true;
	if (p[-1] == '/')
		return before > 1 && p[-2] == '/';
	if (before > 1 && p[-2] == '-' && isalpha((unsigned char)p[-1]))
		return before == 2 || isspace((unsigned char)p[-3]) || strchr("\"',=", p[-3]);
	return !isalnum((unsigned char)p[-1]) && !strchr("_.-~", p[-1]) && (unsigned char)p[-1] < 0x80;
}

/* One character at @p, visible; returns its bytes in the text. */
static size_t put_visible(struct cs_strbuf *out, const char *p)
{
	const unsigned char *bytes = (const unsigned char *)p;
	size_t n = cs_utf8_sequence(bytes, strnlen(p, 4));

	if (n <= 1 && (*p == '\n' || *p == '\t'))
		cs_strbuf_puts(out, *p == '\n' ? "\\n" : "\\t");
	else if (!n || (n == 1 && !cs_text_is_safe(bytes, 1)))
		cs_strbuf_printf(out, "\\x%02x", *bytes);
	else if (!cs_text_is_safe(bytes, n) || is_hidden(code_point(bytes, n)))
		cs_strbuf_printf(out, "\\u{%x}", code_point(bytes, n));
	else
		cs_strbuf_put(out, p, n);
	return n ? n : 1;
}

/* @len bytes of @s as one visible line. */
static void put_clean(struct cs_strbuf *out, const char *s, size_t len, size_t max)
{
	const char *end = s + len, *start = s;
	size_t first = out->len, home;

	while (s < end && !out->cut) {
		if (out->len - first >= max) {
			cs_strbuf_puts(out, CUT);
			return;
		}
		home = *s == '/' && begins_path(start, s) ? home_at(s) : 0;
		if (home && home <= (size_t)(end - s)) {
			cs_strbuf_putc(out, '~');
			s += home;
		} else {
			s += put_visible(out, s);
		}
	}
}

static size_t longest_run(const char *s, char c)
{
	size_t longest = 0, run = 0;

	for (; *s; s++) {
		run = *s == c ? run + 1 : 0;
		longest = CS_MAX(longest, run);
	}
	return longest;
}

static void put_times(struct cs_strbuf *out, char c, size_t n)
{
	while (n--)
		cs_strbuf_putc(out, c);
}

/* ---- code within a line ---- */

/* Clean text between more backticks than it has in a row. */
static void put_span(struct cs_strbuf *out, const char *s)
{
	size_t ticks = longest_run(s, '`') + 1, len = strlen(s);
	bool pad = len && (s[0] == '`' || s[len - 1] == '`' || (s[0] == ' ' && s[len - 1] == ' '));

	if (!len || strspn(s, " ") == len) {
		cs_strbuf_puts(out, "(empty)");
		return;
	}
	put_times(out, '`', ticks);
	cs_strbuf_puts(out, pad ? " " : "");
	cs_strbuf_puts(out, s);
	cs_strbuf_puts(out, pad ? " " : "");
	put_times(out, '`', ticks);
}

static void put_code(struct cs_strbuf *out, const char *s, size_t len, size_t max)
{
	struct cs_strbuf clean;

	cs_strbuf_init(&clean, CS_MD_MAX_UNIT);
	put_clean(&clean, s, len, max);
	out->cut |= clean.cut;
	put_span(out, cs_strbuf_text(&clean));
	cs_strbuf_deinit(&clean);
}

void cs_md_code(struct cs_strbuf *out, const char *s, size_t max)
{
	put_code(out, s ? s : "", s ? strlen(s) : 0, max);
}

/*
 * A row is taken apart at each "|" without a backslash, also within code. A backslash of the text before one
 * would escape ours, so a blank comes between.
 */
void cs_md_cell(struct cs_strbuf *out, const char *s, size_t max)
{
	struct cs_strbuf code;
	const char *p;

	cs_strbuf_init(&code, CS_MD_MAX_UNIT);
	cs_md_code(&code, s, max);
	out->cut |= code.cut;
	p = cs_strbuf_text(&code);
	for (const char *start = p; *p; p++) {
		if (*p == '|')
			cs_strbuf_puts(out, p > start && p[-1] == '\\' ? " \\" : "\\");
		cs_strbuf_putc(out, *p);
	}
	cs_strbuf_deinit(&code);
}

/* Clean text in HTML; only a line end could end the HTML, and clean texts have none. */
void cs_md_html_code(struct cs_strbuf *out, const char *s, size_t max)
{
	struct cs_strbuf clean;

	cs_strbuf_init(&clean, CS_MD_MAX_UNIT);
	put_clean(&clean, s ? s : "", s ? strlen(s) : 0, max);
	out->cut |= clean.cut;
	cs_strbuf_puts(out, "<code>");
	for (const char *p = cs_strbuf_text(&clean); *p; p++) {
		if (strchr("&<>", *p))
			cs_strbuf_puts(out, *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : "&amp;");
		else
			cs_strbuf_putc(out, *p);
	}
	cs_strbuf_puts(out, "</code>");
	cs_strbuf_deinit(&clean);
}

/* ---- sentences ---- */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '/' || c == '\'' || c == '.' || c == ',';
}

/* Enough hexadecimal digits to be taken for a commit, or "GH-12". */
static bool looks_like_reference(const char *s, size_t len)
{
	size_t hex = 0, digits = 0;

	for (size_t i = 0; i < len; i++) {
		hex += isxdigit((unsigned char)s[i]) != 0;
		digits += isdigit((unsigned char)s[i]) != 0;
	}
	return (hex == len && digits && len >= MIN_COMMIT) || (len > 3 && !strncasecmp(s, "GH-", 3));
}

/* "torch.cuda", and what some trackers take for the name of a host. */
static bool has_inner_dot(const char *s, size_t len)
{
	for (size_t i = 1; i + 1 < len; i++)
		if (s[i] == '.' && isalnum((unsigned char)s[i - 1]) && isalpha((unsigned char)s[i + 1]) &&
		    len > 3)
			return true;
	return false;
}

/* True of what is a word in every tracker and means nothing else. */
static bool is_plain_word(const char *s, size_t len)
{
	size_t letters = 0;

	for (size_t i = 0; i < len; i++) {
		if (!is_word_char(s[i]))
			return false;
		letters += isalnum((unsigned char)s[i]) != 0;
	}
	if (!letters || s[0] == '-' || s[0] == '/' || s[len - 1] == '/' || s[len - 1] == '-')
		return false;
	return !has_inner_dot(s, len) && !looks_like_reference(s, len);
}

/* The last character is the ")" of a "(" within: "f()". */
static bool closes_inner(const char *s, size_t len)
{
	long depth = 0;

	if (s[len - 1] != ')')
		return false;
	for (size_t i = 0; i < len; i++)
		depth += s[i] == '(' ? 1 : s[i] == ')' ? -1 : 0;
	return depth >= 0;
}

/* A word with the marks around it: `"(` before, `.,;:?!)"` after. @first: nothing is before it. */
static void put_word(struct cs_strbuf *out, const char *s, size_t len, bool first)
{
	size_t open = 0, close = len;
	bool list;

	while (open < len && strchr("(\"", s[open]))
		open++;
	while (close > open && strchr(".,;:?!)\"'", s[close - 1]) && !closes_inner(s + open, close - open))
		close--;
	/* "1." and "1)" at the begin would be a list. */
	list = first && close > open && strspn(s + open, "0123456789") >= close - open && close < len;
	close = list ? len : close;
	cs_strbuf_put(out, s, open);
	if (!list && is_plain_word(s + open, close - open))
		cs_strbuf_put(out, s + open, close - open);
	else if (close > open)
		put_code(out, s + open, close - open, CS_MD_MAX_LINE);
	cs_strbuf_put(out, s + close, len - close);
}

void cs_md_prose(struct cs_strbuf *out, const char *s, size_t max)
{
	size_t begin = out->len;
	bool first = true;

	for (s = s ? s : ""; *s && !out->cut;) {
		size_t len;

		s += strspn(s, " \t\r\n");
		len = strcspn(s, " \t\r\n");
		if (!len)
			return;
		if (out->len - begin >= max) {
			cs_strbuf_puts(out, " " CUT);
			return;
		}
		cs_strbuf_puts(out, first ? "" : " ");
		put_word(out, s, len, first);
		first = false;
		s += len;
	}
}

static size_t name_length(const char *s, const char *more)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && strchr(more, s[n])))
		n++;
	return n;
}

void cs_md_reference(struct cs_strbuf *out, const char *s)
{
	size_t owner, name, number;

	s = s ? s : "";
	owner = name_length(s, "-_");
	name = owner && s[owner] == '/' ? name_length(s + owner + 1, "-_.") : 0;
	number = name && s[owner + 1 + name] == '#' ? strspn(s + owner + 1 + name + 1, "0123456789") : 0;
	if (number && !s[owner + 1 + name + 1 + number] && owner + name + number < MAX_REFERENCE)
		cs_strbuf_puts(out, s);
	else
		cs_md_code(out, s, MAX_REFERENCE);
}

/* ---- blocks ---- */

/* Columns are characters here: good enough to tell a long line. */
static size_t characters(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* Bytes of the first @n characters. */
static size_t bytes_of(const char *s, size_t n)
{
	size_t i = 0;

	for (; s[i]; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80 && !n--)
			break;
	return i;
}

/* The end of a long line is kept: names are cut before the file and the line that they are at. */
static void put_line(struct cs_strbuf *out, const char *s, size_t len)
{
	const size_t tail = CS_MD_MAX_LINE / 3;
	struct cs_strbuf clean;
	const char *text;
	size_t n;

	cs_strbuf_init(&clean, CS_MD_MAX_UNIT);
	put_clean(&clean, s, len, CS_MD_MAX_UNIT / 2);
	out->cut |= clean.cut;
	text = cs_strbuf_text(&clean);
	n = characters(text, clean.len);
	if (n > CS_MD_MAX_LINE) {
		cs_strbuf_put(out, text, bytes_of(text, CS_MD_MAX_LINE - tail - strlen(CUT)));
		cs_strbuf_puts(out, CUT);
		text += bytes_of(text, n - tail);
	}
	cs_strbuf_puts(out, text);
	cs_strbuf_deinit(&clean);
}

static size_t count_lines(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == '\n' || !s[1];
	return n;
}

void cs_md_block(struct cs_strbuf *out, const char *s, size_t budget)
{
	const size_t reserve = 64; /* of the last line, and the ends of the fences' lines */
	struct cs_strbuf body;
	size_t ticks = 3;

	cs_strbuf_init(&body, CS_MD_MAX_UNIT);
	while (*s && !body.cut) {
		size_t len = strcspn(s, "\n"), before = body.len;

		put_line(&body, s, len);
		cs_strbuf_putc(&body, '\n');
		ticks = CS_MAX(ticks, longest_run(cs_strbuf_text(&body) + before, '`') + 1);
		if (body.len + 2 * ticks + reserve > budget) {
			cs_strbuf_truncate(&body, before);
			cs_strbuf_printf(&body, "... %s more lines\n", cs_text_count(count_lines(s)));
			break;
		}
		s += len + (s[len] == '\n');
	}
	out->cut |= body.cut;
	put_times(out, '`', ticks);
	cs_strbuf_puts(out, "\n");
	cs_strbuf_puts(out, cs_strbuf_text(&body));
	put_times(out, '`', ticks);
	cs_strbuf_puts(out, "\n");
	cs_strbuf_deinit(&body);
}

struct cs_error *cs_md_add(struct cs_md *m, struct cs_strbuf *unit, bool *ret)
{
	bool cut = unit->cut, fits = unit->len <= cs_md_room(m);

	if (fits)
		cs_strbuf_puts(&m->out, cs_strbuf_text(unit));
	*ret = fits;
	cs_strbuf_deinit(unit);
	cs_strbuf_init(unit, CS_MD_MAX_UNIT);
	return cut || m->out.cut ? &cs_nomem : NULL;
}

struct cs_error *cs_md_no_room(struct cs_md *m, const char *what, const char *how)
{
	struct cs_strbuf unit;
	bool fits;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	cs_strbuf_printf(&unit, "No room for %s: `%s`\n", what, how);
	return cs_md_add(m, &unit, &fits);
}

/* ---- sheets ---- */

struct cs_error *cs_md_sheet_init(struct cs_md_sheet *ret)
{
	*ret = (struct cs_md_sheet){.text = {.issue = true}};
	ret->text.options = &ret->options;
	ret->text.out = open_memstream(&ret->bytes, &ret->len);
	return ret->text.out ? NULL : &cs_nomem;
}

struct cs_error *cs_md_sheet_done(struct cs_md_sheet *sheet)
{
	FILE *out = CS_TAKE(sheet->text.out);
	bool failed = ferror(out);

	return fclose(out) || failed ? &cs_nomem : NULL;
}

void cs_md_sheet_deinit(struct cs_md_sheet *sheet)
{
	if (sheet->text.out)
		fclose(sheet->text.out);
	free(sheet->bytes);
	sheet->bytes = NULL;
}
