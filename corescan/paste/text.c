/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of functions, arguments and paths in native stacks. */
#include "paste/text.h"

#include "base/limits.h"
#include "symbols/demangle.h"

#include <ctype.h>
#include <string.h>

struct cs_span cs_span_trim(struct cs_span s)
{
	while (s.len && s.at[0] == ' ') {
		s.at++;
		s.len--;
	}
	while (s.len && s.at[s.len - 1] == ' ')
		s.len--;
	return s;
}

bool cs_span_is(struct cs_span s, const char *text)
{
	return s.at && strlen(text) == s.len && !memcmp(s.at, text, s.len);
}

bool cs_span_begins(struct cs_span s, const char *text)
{
	size_t n = strlen(text);

	return s.at && n <= s.len && !memcmp(s.at, text, n);
}

bool cs_span_ends(struct cs_span s, const char *text)
{
	size_t n = strlen(text);

	return s.at && n <= s.len && !memcmp(s.at + s.len - n, text, n);
}

size_t cs_span_find(struct cs_span s, const char *needle)
{
	const char *found = s.at ? memmem(s.at, s.len, needle, strlen(needle)) : NULL;

	return found ? (size_t)(found - s.at) : s.len;
}

struct cs_span cs_span_from(struct cs_span s, size_t at)
{
	at = CS_MIN(at, s.len);
	return (struct cs_span){s.at + at, s.len - at};
}

struct cs_span cs_span_of_group(const struct cs_groups *g, unsigned n)
{
	struct cs_span s;

	s.at = cs_group_bytes(g, n, &s.len);
	return s;
}

/* ---- brackets ---- */

/* What closes bracket @c; '\0': it is none that opens. */
static char closing(char c)
{
	switch (c) {
	case '(':
		return ')';
	case '<':
		return '>';
	case '[':
		return ']';
	case '{':
		return '}';
	default:
		return '\0';
	}
}

/* Past the quoted text that begins at @at; C's escapes hold. */
static size_t past_quotes(struct cs_span s, size_t at)
{
	char quote = s.at[at++];

	while (at < s.len && s.at[at] != quote)
		at += s.at[at] == '\\' ? 2 : 1;
	return CS_MIN(at + 1, s.len);
}

/* A quote that opens a text stands where a value does; that of `x' and of operator""s does not. */
static bool opens_quotes(struct cs_span s, size_t at)
{
	char before = at ? s.at[at - 1] : ' ';

	return s.at[at] == '"' ? before != 'r' && before != '"' : s.at[at] == '\'' && strchr("= ,", before);
}

/* Past the name of the operator whose keyword ends at @at: "<<", "()", "->". */
static size_t past_operator(struct cs_span s, size_t at)
{
	static const char *const names[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<",
					    ">>", "<=", ">=",  "<",   ">"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (cs_span_begins(cs_span_from(s, at), names[i]))
			return at + strlen(names[i]);
	return at;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next place to look at: past what at @at is no bracket. */
static size_t step(struct cs_span s, size_t at)
{
	static const char word[] = "operator";
	size_t past;

	if (opens_quotes(s, at))
		return past_quotes(s, at);
	if (s.at[at] == '-' && at + 1 < s.len && s.at[at + 1] == '>')
		return at + 2;
	if (s.at[at] != 'o' || (at && is_word(s.at[at - 1])) || !cs_span_begins(cs_span_from(s, at), word))
		return at + 1;
	past = past_operator(s, at + strlen(word));
	return past;
}

size_t cs_span_close(struct cs_span s, size_t open)
{
	char stack[CS_MAX_NAME_NESTING];
	size_t depth = 0;

	for (size_t at = open; at < s.len;) {
		char c = s.at[at], close = closing(c);

		if (close) {
			if (depth == sizeof(stack))
				break;
			stack[depth++] = close;
		} else if (c == ')' || c == ']' || c == '}' || c == '>') {
			/* "a < b" and "x->y" are no brackets: what encloses them ends them. */
			while (depth && stack[depth - 1] == '>' && c != '>')
				depth--;
			if (depth && stack[depth - 1] == c)
				depth--;
			if (!depth)
				return at + 1;
		}
		at = close ? at + 1 : step(s, at);
	}
	return s.len + 1;
}

bool cs_span_is_open(struct cs_span s)
{
	size_t at = 0;

	while (at < s.len) {
		bool bracket = closing(s.at[at]) != '\0';
		bool quote = !bracket && opens_quotes(s, at);
		size_t from = at;

		at = bracket ? cs_span_close(s, at) : step(s, at);
		if (at > s.len || (quote && (at == from + 1 || s.at[at - 1] != s.at[from])))
			return true;
	}
	return false;
}

/* ---- calls ---- */

/* What follows the arguments: nothing, " at a.cc:5", " from /usr/lib/libx.so". */
static bool split_tail(struct cs_span tail, struct cs_call *ret)
{
	tail = cs_span_trim(tail);
	if (!tail.len)
		return true;
	if (cs_span_begins(tail, "at "))
		ret->file = cs_span_trim(cs_span_from(tail, 3));
	else if (cs_span_begins(tail, "from "))
		ret->library = cs_span_trim(cs_span_from(tail, 5));
	else
		return false;
	return true;
}

/* "this=0x1, x=3", "", "...": and not "int, char", which is a part of the name. */
static bool are_arguments(struct cs_span s)
{
	s = cs_span_trim(s);
	return !s.len || cs_span_is(s, "...") || (cs_span_find(s, "=") < s.len && s.at[0] != '/');
}

/* True if the bracket at @open is that of the arguments, and nothing but a place follows. */
static bool split_at(struct cs_span s, size_t open, size_t end, struct cs_call *ret)
{
	*ret = (struct cs_call){.function = cs_span_trim((struct cs_span){s.at, open})};
	if (end > s.len) /* the rest is missing */
		return are_arguments(cs_span_from(s, open + 1));
	ret->arguments = (struct cs_span){s.at + open + 1, end - open - 2};
	return are_arguments(ret->arguments) && split_tail(cs_span_from(s, end), ret);
}

/* Of a name that lacks a bracket, for it was cut or wrapped: the first that arguments would fit. */
static bool split_damaged(struct cs_span s, struct cs_call *ret)
{
	size_t at = 0;

	for (int i = 0; i < 32 && at < s.len; i++) {
		at += cs_span_find(cs_span_from(s, at), " (") + 1;
		if (at > 1 && at < s.len) {
			size_t end = cs_span_close(s, at);

			if (end <= s.len && split_at(s, at, end, ret))
				return true;
		}
	}
	return false;
}

bool cs_call_split(struct cs_span s, struct cs_call *ret)
{
	for (size_t at = 0; at < s.len;) {
		size_t end;

		if (!closing(s.at[at])) {
			at = step(s, at);
			continue;
		}
		end = cs_span_close(s, at);
		if (s.at[at] == '(' && at > 1 && s.at[at - 1] == ' ' && split_at(s, at, end, ret))
			return true;
		if (end > s.len)
			break;
		at = end;
	}
	return split_damaged(s, ret);
}

/* The bytes of the C string at @at, which is past its opening quote. */
static void put_unescaped(struct cs_span s, size_t at, struct cs_strbuf *ret)
{
	while (at < s.len && s.at[at] != '"') {
		char c = s.at[at++];

		if (c != '\\' || at >= s.len) {
			cs_strbuf_putc(ret, c);
			continue;
		}
		c = s.at[at++];
		if (c == 'n')
			cs_strbuf_putc(ret, '\n');
		else if (isdigit((unsigned char)c)) /* a byte that gdb did not take for text */
			at += CS_MIN(strspn(s.at + at, "01234567"), 2UL);
		else
			cs_strbuf_putc(ret, strchr("trabfve", c) ? ' ' : c);
	}
}

/* Past "name=", and past "name@entry=" behind it, if argument @name begins at @at; 0: it does not. */
static size_t past_name(struct cs_span s, size_t at, const char *name)
{
	struct cs_span rest = cs_span_from(s, at);
	size_t n = strlen(name);

	if (!cs_span_begins(rest, name))
		return 0;
	if (cs_span_begins(cs_span_from(rest, n), "@entry="))
		return at + n + strlen("@entry=");
	if (n >= rest.len || rest.at[n] != '=')
		return 0;
	return CS_MAX(at + n + 1, past_name(s, at + n + 1, name));
}

bool cs_call_text(const struct cs_call *call, const char *name, struct cs_strbuf *ret)
{
	struct cs_span s = call->arguments;
	bool begins = true;

	for (size_t at = 0; at < s.len;) {
		size_t value = begins ? past_name(s, at, name) : 0;

		if (value) {
			/* "0x7f12 "text"", "0x55 <symbol> "text"" */
			size_t quote = value + cs_span_find(cs_span_from(s, value), "\"");
			size_t comma = value + cs_span_find(cs_span_from(s, value), ",");

			if (quote < s.len && quote < comma)
				put_unescaped(s, quote + 1, ret);
			else if (comma > value && isdigit((unsigned char)s.at[value]))
				cs_strbuf_put(ret, s.at + value, comma - value);
			return ret->len != 0;
		}
		begins = s.at[at] == ',' || (begins && s.at[at] == ' ');
		at = step(s, at);
	}
	return false;
}

/* ---- names ---- */

const char *cs_paste_function(struct cs_paster *p, struct cs_span s)
{
	static const char *const nothing[] = {
		"??",        "???",       "?? ()",     "n/a",    "(unknown)", "<unknown function>",
		"<unknown>", "[unknown]", "(null)",    "0x0",
	};
	const char *name;

	s = cs_span_trim(s);
	for (size_t i = 0; i < CS_COUNT(nothing); i++)
		if (cs_span_is(s, nothing[i]))
			return NULL;
	if (!s.len)
		return NULL;
	name = cs_paster_keep(p, s.at, s.len);
	if ((!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2)) && cs_paster_arena(p)) {
		const char *readable = cs_demangle(cs_paster_arena(p), name);

		name = readable ? readable : name;
	}
	return name;
}

const char *cs_paste_library(struct cs_paster *p, struct cs_span s)
{
	static const char deleted[] = " (deleted)";
	const char *slash;

	s = cs_span_trim(s);
	if (cs_span_ends(s, deleted))
		s.len -= strlen(deleted);
	if (cs_span_is(s, "??") || cs_span_is(s, "???") || cs_span_is(s, "n/a"))
		return NULL;
	slash = s.len ? memrchr(s.at, '/', s.len) : NULL;
	if (slash)
		s = cs_span_from(s, (size_t)(slash + 1 - s.at));
	if (!s.len)
		return NULL;
	return cs_paster_keep(p, s.at, s.len);
}

/* The number behind the last colon, which is cut off; false: there is none. */
static bool cut_number(struct cs_span *s, uint32_t *ret)
{
	const char *colon = memrchr(s->at, ':', s->len);
	size_t at = colon ? (size_t)(colon - s->at) : s->len;
	uint64_t n = 0;

	if (at + 1 >= s->len || s->len - at > 10)
		return false;
	for (size_t i = at + 1; i < s->len; i++) {
		if (!isdigit((unsigned char)s->at[i]))
			return false;
		n = n * 10 + (uint64_t)(s->at[i] - '0');
	}
	if (n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	s->len = at;
	return true;
}

void cs_paste_place(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame)
{
	uint32_t line = 0, column = 0;

	s = cs_span_trim(s);
	if (!s.len)
		return;
	if (cut_number(&s, &line) && cut_number(&s, &column))
		line = column; /* the one before it is the line */
	if (!s.len || s.at[0] == '?')
		return;
	frame->file = cs_paster_keep(p, s.at, s.len);
	frame->line = line;
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; name && i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

void cs_paste_native(struct cs_paster *p, const struct cs_paste_frame *frame)
{
	static const char *const starts[] = {
		"main",
		"_start",
		"Py_BytesMain",
		"Py_Main",
		"Py_RunMain",
		"pymain_main",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_main@@GLIBC_2.34",
		"__libc_start_call_main",
	};
	static const char *const ends[] = {"abort", "__GI_abort", "*__GI_abort"};
	struct cs_paste_thread *t;

	cs_paster_frame(p, frame);
	t = cs_paster_current(p);
	if (!t)
		return;
	t->main |= is_one_of(frame->function, starts, CS_COUNT(starts));
	if (!is_one_of(frame->function, ends, CS_COUNT(ends)))
		return;
	t->crashed = true;
	cs_paster_kind(p, CS_PASTE_CRASH);
	cs_paster_signal(p, "SIGABRT");
}

bool cs_paste_same_stack(const struct cs_paste_thread *a, const struct cs_paste_thread *b)
{
	size_t n = CS_MIN(a->n_frames, b->n_frames);

	for (size_t i = 0; i < n; i++) {
		const char *x = a->frames[i].function, *y = b->frames[i].function;

		if (x != y && (!x || !y || strcmp(x, y)))
			return false;
	}
	return n != 0;
}

void cs_paste_end_repeated(struct cs_paster *p)
{
	size_t n = cs_paster_count_threads(p);
	const struct cs_paste_thread *last, *other;

	if (!cs_paster_current(p))
		return;
	cs_paster_end_thread(p);
	last = cs_paster_thread_at(p, n - 1);
	for (size_t i = 0; i + 1 < n && n <= CS_MAX_PASTE_COMPARED; i++) {
		other = cs_paster_thread_at(p, i);
		if (last->n_frames != other->n_frames || last->crashed != other->crashed ||
		    !cs_paste_same_stack(last, other))
			continue;
		cs_paster_forget_thread(p, n - 1);
		return;
	}
}

void cs_paste_say(struct cs_paster *p, const struct cs_line *line, const char *text)
{
	size_t where;
	const char *last = cs_paster_last_message(p, &where);

	if (last && !strcmp(last, text))
		return;
	cs_paster_message(p, line, text);
}
