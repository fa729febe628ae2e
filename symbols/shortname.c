/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The short form of a demangled function name, for people's eyes: torch's names run to
 * thousands of bytes. Knows the text that libiberty's demanglers print; refuses to guess:
 * text that it cannot follow to the end is returned whole.
 */
#include "symbols/demangle.h"

#include "base/limits.h"
#include "base/strbuf.h"

#include <string.h>

struct parse {
	const char *p;         /* next byte */
	struct cs_strbuf out;  /* the name so far */
	bool after_parameters; /* a parameter list was just dropped: qualifiers may follow
				*/
	bool bad;
};

/** Words that stand before a name and say what it is; kept. */
static const char *const prefixes[] = {
	"non-virtual thunk to ",
	"virtual thunk to ",
	"covariant return thunk to ",
	"guard variable for ",
	"reference temporary #",
	"transaction clone for ",
	"vtable for ",
	"VTT for ",
	"typeinfo for ",
	"typeinfo name for ",
	"typeinfo fn for ",
	"TLS init function for ",
	"TLS wrapper function for ",
};

/** Longest first where one begins another. */
static const char *const operators[] = {
	"->*", "<=>", "<<=", ">>=", "()", "[]",   "->", "<<", ">>", "<=",
	">=",  "==",  "!=",  "&&",  "||", "++",   "--", "+=", "-=", "*=",
	"/=",  "%=",  "^=",  "&=",  "|=", "\"\"", "<",  ">",  "+",  "-",
	"*",   "/",   "%",   "^",   "&",  "|",    "~",  "!",  "=",  ",",
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/** "operator" as a whole word at @p of text @start; the length of word and symbol, or 0.
 */
static size_t operator_at(const char *start, const char *p)
{
	static const size_t word = sizeof("operator") - 1;

	if (!begins(p, "operator") || (p > start && is_word(p[-1])) || is_word(p[word]))
		return 0;
	for (size_t i = 0; i < CS_COUNT(operators); i++)
		if (begins(p + word, operators[i]))
			return word + strlen(operators[i]);
	return word;
}

/**
 * Length of the bracketed text that begins at @p with one of ( [ { <, or 0 if it never
 * closes. Less-than and greater-than signs of expressions are told from brackets by what
 * encloses them: libiberty puts every such expression in parentheses.
 */
static size_t bracketed(const char *p)
{
	char open[CS_MAX_NAME_NESTING];
	size_t depth = 0, i = 0;

	for (; p[i]; i++) {
		size_t op = p[i] == 'o' ? operator_at(p, p + i) : 0;

		if (op) {
			i += op - 1;
		} else if (strchr("([{<", p[i])) {
			if (depth == CS_MAX_NAME_NESTING)
				return 0;
			open[depth++] = p[i];
		} else if (p[i] == '>') {
			/* "->" and greater-than do not close anything. */
			if (p[i - 1] != '-' && open[depth - 1] == '<')
				depth--;
		} else if (strchr(")]}", p[i])) {
			char want = p[i] == ')' ? '(' : p[i] == ']' ? '[' : '{';

			while (depth && open[depth - 1] == '<' && want != '<')
				depth--; /* a less-than sign */
			if (!depth || open[depth - 1] != want)
				return 0;
			depth--;
		}
		if (!depth)
			return i + 1;
	}
	return 0;
}

static size_t take(struct parse *s, size_t n)
{
	cs_strbuf_put(&s->out, s->p, n);
	s->p += n;
	s->after_parameters = false;
	return n;
}

/** Template arguments: "<...>", or as they are where that would not be shorter. */
static void take_arguments(struct parse *s)
{
	size_t n = bracketed(s->p);

	s->bad |= !n;
	if (n <= strlen("<...>")) {
		take(s, n);
		return;
	}
	cs_strbuf_puts(&s->out, "<...>");
	s->p += n;
	s->after_parameters = false;
}

/** Rust's "<Type as Trait>" at the start of a path says whose function it is: only its
 * inside is cut. */
static void take_impl(struct parse *s)
{
	const char *end = s->p + bracketed(s->p);

	if (end == s->p) {
		s->bad = true;
		return;
	}
	take(s, 1);
	while (s->p < end && !s->bad) {
		if (*s->p == '<')
			take_arguments(s);
		else
			take(s, 1);
	}
	s->bad |= s->p != end;
}

/** Bytes of the conversion operator's type at @p: up to its parameter list "()". */
static size_t conversion_type(const char *p)
{
	size_t i = 0;

	while (p[i] && !begins(p + i, "()")) {
		size_t n = strchr("([{<", p[i]) ? bracketed(p + i) : 1;

		if (!n)
			return 0;
		i += n;
	}
	return i;
}

static void take_operator(struct parse *s, const char *start)
{
	size_t n = operator_at(start, s->p);
	const char *end;

	take(s, n);
	if (s->p[-1] != 'r') { /* a symbol; its template arguments come after a space */
		if (begins(s->p, " <"))
			take(s, 1);
		else if (s->p[-1] == '"' && *s->p == ' ')
			take(s, 1);
		return;
	}
	if (*s->p != ' ')
		return;
	/* "operator new", "operator delete[]", or a conversion: a type, up to "()". */
	end = s->p + conversion_type(s->p);
	if (begins(s->p, " new") || begins(s->p, " delete")) {
		n = begins(s->p, " new") ? 4 : 7;
		end = s->p + n + (begins(s->p + n, "[]") ? 2 : 0);
	} else if (*end != '(')
		s->bad = true;
	while (s->p < end && !s->bad) {
		if (*s->p == '<')
			take_arguments(s);
		else
			take(s, 1);
	}
}

/** Qualifiers and tags that may follow a parameter list or a name; the length of one at
 * @p, or 0. */
static size_t qualifier(const char *p, bool after_parameters)
{
	static const char *const words[] = {
		" const",    " volatile",        " &&", " &", " noexcept",
		" restrict", " transaction_safe"};

	if (begins(p, " [clone ") ||
	    begins(p, " (.")) /* ".cold" by libiberty, and by LLVM */
		return 1 + bracketed(p + 1);
	if (begins(p, "[abi:"))
		return bracketed(p);
	for (size_t i = 0; after_parameters && i < CS_COUNT(words); i++)
		if (begins(p, words[i]) && !is_word(p[strlen(words[i])]))
			return strlen(words[i]);
	return 0;
}

/** True if "(" at @p begins the declarator of a function that returns a pointer: "void
 * (*f(int))(char)". */
static bool is_declarator(const struct parse *s)
{
	const char *p = s->p + 1;

	return s->out.len == 0 && (*p == '*' || *p == '&');
}

static void take_parenthesis(struct parse *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t n;

	if (begins(s->p, anonymous)) {
		take(s, strlen(anonymous));
		return;
	}
	if (is_declarator(s)) {
		s->p += 2;
		return;
	}
	n = bracketed(s->p);
	s->bad |= !n;
	s->p += n;
	s->after_parameters = true;
}

static void take_brace(struct parse *s)
{
	static const char lambda[] = "{lambda";
	size_t n = bracketed(s->p);

	s->bad |= !n;
	if (!begins(s->p, lambda) || s->p[strlen(lambda)] != '(') {
		take(s, n);
		return;
	}
	cs_strbuf_puts(&s->out, "{lambda}");
	s->p += n;
	s->after_parameters = false;
}

/** One step of the name; false at its end. */
static bool step(struct parse *s, const char *start)
{
	size_t n = qualifier(s->p, s->after_parameters);

	if (n) {
		s->p += n;
		s->bad |=
			is_word(*s->p); /* a tag ends a name: no name goes on behind it */
		return true;
	}
	/* After parameters comes what is local to the function, or nothing; "f(int)g" is
	 * no name. */
	if (s->after_parameters && !strchr(" )", *s->p) && !begins(s->p, "::")) {
		s->bad = true;
		return false;
	}
	switch (*s->p) {
	case '\0':
		return false;
	case '<':
		if (s->out.len == 0)
			take_impl(s);
		else
			take_arguments(s);
		return true;
	case '(':
		take_parenthesis(s);
		return true;
	case ')': /* closes a declarator: what follows is the parameters of what is
		     returned */
		s->bad |= !s->after_parameters;
		s->p += strlen(s->p);
		return true;
	case '{':
		take_brace(s);
		return true;
	case ' ': /* what came before was the return type */
		cs_strbuf_truncate(&s->out, 0);
		s->p++;
		s->after_parameters = false;
		return true;
	case '[':
	case ']':
	case '}':
	case '>': /* of nothing that is known here */
		s->bad = true;
		return false;
	case 'o':
		if (operator_at(start, s->p)) {
			take_operator(s, start);
			return true;
		}
		break;
	default:
		break;
	}
	take(s, 1);
	return true;
}

const char *cs_short_name(struct cs_arena *arena, const char *function)
{
	const char *result = function;
	struct parse s = {.p = function};
	size_t prefix = 0;

	if (!function[strcspn(function, "<({[ ")])
		return function;
	for (size_t i = 0; i < CS_COUNT(prefixes); i++)
		if (begins(function, prefixes[i]))
			prefix = strlen(prefixes[i]);
	cs_strbuf_init(&s.out, CS_MAX_DEMANGLED);
	s.p += prefix;
	while (!s.bad && !s.out.cut && step(&s, function))
		;
	if (!s.bad && !s.out.cut && s.out.len && prefix + s.out.len < strlen(function)) {
		char *text = cs_arena_printf(arena, "%.*s%s", (int)prefix, function,
					     cs_strbuf_text(&s.out));

		result = text ? cs_arena_intern(arena, text) : NULL;
	}
	cs_strbuf_deinit(&s.out);
	return result ? result : function;
}
