/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines that were one line. gdb breaks its own between arguments, and before "at" and "from"; trackers and
 * mailers break at blanks, terminals wherever the column is. Only a frame is taken together, and only while
 * it lacks something: in any other text a line means something.
 */
#include "paste/text.h"

#include <ctype.h>
#include <string.h>

/* A frame with all its arguments; beyond it, its end is not looked for. */
#define LONGEST 8192
#define MOST_LINES 100

static bool is_number_after(struct cs_span s, const char *mark)
{
	size_t n = strlen(mark);

	return cs_span_begins(s, mark) && s.len > n && isdigit((unsigned char)s.at[n]);
}

/* "#3  ...", "frame #3: ...", "* 3 Thread 0x7f.. (LWP 17) ...": what may be wrapped. */
static bool is_frame(struct cs_span s)
{
	if (!s.len)
		return false;
	if (s.at[0] == '#')
		return is_number_after(s, "#");
	if (s.at[0] == 'f')
		return is_number_after(s, "frame #");
	if (s.at[0] == 'T')
		return is_number_after(s, "Thread ") && cs_span_find(s, "LWP ") < s.len;
	if (s.at[0] == '*' || isdigit((unsigned char)s.at[0]))
		return cs_span_find(s, "(LWP ") < s.len && cs_span_find(s, "Thread 0x") < s.len;
	return false;
}

/* Below a frame that corescan has cut to a terminal's width, brackets and all. */
static bool is_remark(struct cs_span s)
{
	return (cs_span_begins(s, "py  ") && cs_span_find(s, " at ") < s.len) ||
	       cs_span_begins(s, "... the ") || cs_span_begins(s, "<frames are missing here") ||
	       cs_span_begins(s, "the stack cannot be followed further") ||
	       (cs_span_begins(s, "(") && cs_span_find(s, " of the interpreter itself ") < s.len);
}

/* What stands at the beginning of lines of its own. */
static bool begins_something(struct cs_span s, size_t indent)
{
	static const char *const words[] = {
		"(gdb)",     "(More stack",      "Backtrace stopped", "--",       "[",    "No locals",
		"=====",     "No symbol table",  "Traceback",	 "Program ", "TID ", "PID ",
		"Exception", "terminate called", "SUMMARY:",	  "thread #", "*** ", "* ",
		"Core was",  "File \"",	  "```",	       "$ ",
	};

	if (is_frame(s) || is_remark(s))
		return true;
	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (cs_span_begins(s, words[i]))
			return true;
	/* bt full: a local variable */
	return indent >= 8 && cs_span_find(s, " = ") < s.len;
}

/* True if the frame says already where it is from, and what stands behind is of something else. */
static bool has_place(struct cs_span s)
{
	return cs_span_find(s, ") at ") < s.len || cs_span_find(s, ") from ") < s.len;
}

static bool ends_amid(struct cs_span s)
{
	static const char *const words[] = {" in", " at", " from", ",", "=", "::", "=0x"};

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (cs_span_ends(s, words[i]))
			return true;
	return false;
}

/* The columns at which terminals and trackers break; the line may be several of theirs already. */
static bool is_full(const struct cs_line *line)
{
	static const size_t columns[] = {80, 100, 120, 132};

	for (size_t i = 0; i < CS_COUNT(columns); i++)
		if (line->len >= columns[i] && line->len % columns[i] == 0)
			return true;
	return false;
}

/* "at a.c:5", "from /lib/libx.so" */
static bool is_place(struct cs_span s)
{
	struct cs_span path = cs_span_from(s, s.len && s.at[0] == 'a' ? strlen("at ") : strlen("from "));

	return (cs_span_begins(s, "at ") || cs_span_begins(s, "from ")) &&
	       cs_span_find(path, " ") == path.len &&
	       (cs_span_find(path, ":") < path.len || cs_span_find(path, "/") < path.len);
}

/* "> const&" at the beginning of a line: C++, unless what it belongs to is quoted as well. */
static void unquote(const struct cs_line *line, struct cs_line *next)
{
	if (line->quote || !next->quote || next->lead)
		return;
	next->text -= next->quote;
	next->len += next->quote;
	next->quote = 0;
	next->indent = 0;
}

/* @open: a bracket of @line's is not closed. */
static bool belongs(const struct cs_line *line, bool open, const struct cs_line *next, bool *ret_blank)
{
	struct cs_span s = cs_span_from((struct cs_span){line->text, line->len}, line->indent);
	struct cs_span more = cs_span_from((struct cs_span){next->text, next->len}, next->indent);
	struct cs_call call;

	if (!more.len || begins_something(more, next->indent))
		return false;
	*ret_blank = true;
	if (more.at[0] == '(' && s.at[0] == '#')
		return open || !cs_call_split(s, &call);
	if (is_place(more))
		return !has_place(s);
	if (open || ends_amid(s)) {
		*ret_blank = next->indent || !is_full(line);
		if (cs_span_ends(s, "::") || cs_span_begins(more, "::") || cs_span_begins(more, ","))
			*ret_blank = false;
		return true;
	}
	/* The middle of a path or of a name. */
	*ret_blank = false;
	return is_full(line) && !next->indent &&
	       (cs_span_find(more, " ") == more.len || (s.at[0] == '#' && !cs_call_split(s, &call)));
}

bool cs_line_is_continued(const struct cs_line *line, struct cs_line *next, bool *ret_blank)
{
	struct cs_span s = cs_span_from((struct cs_span){line->text, line->len}, line->indent);
	struct cs_line whole = *next;
	bool open;

	if (!is_frame(s) || s.len > LONGEST || next->at - line->at > MOST_LINES)
		return false;
	open = cs_span_is_open(s);
	if (open)
		unquote(line, &whole);
	if (!belongs(line, open, &whole, ret_blank))
		return false;
	*next = whole;
	return true;
}
