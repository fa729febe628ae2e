/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a regular expression must find, without running it: of "WorkNCCL::(checkTimeout|isDone)" each
 * match has "WorkNCCL::" in it, and either of two words. The search for such literals in all texts at
 * once is what makes hundreds of signatures cost nothing where they do not fit (scan.c). Reads the syntax
 * only as far as it is sure of it: at anything else it says that nothing is known.
 */
#include "signature/pattern.h"

#include "base/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_LITERALS 48 /* alternatives of one expression; more are not kept apart */
#define MAX_LITERAL 48  /* bytes; of a longer one, the beginning */
#define MAX_DEPTH 16    /* of groups */

/** One of these is in every match; n == 0: nothing is known. */
struct must {
	char text[MAX_LITERALS][MAX_LITERAL];
	size_t len[MAX_LITERALS];
	size_t n;
};

struct reading {
	const char *p;
	bool lost; /* something was met that is not looked into */
};

enum repeat { ONCE, OFTEN, MAYBE };

static size_t shortest(const struct must *m)
{
	size_t least = m->n ? m->len[0] : 0;

	for (size_t i = 1; i < m->n; i++)
		least = CS_MIN(least, m->len[i]);
	return least;
}

static void keep_better(struct must *best, const struct must *other)
{
	if (shortest(other) > shortest(best))
		*best = *other;
}

static void flush(struct must *best, struct must *run)
{
	run->n = 1;
	keep_better(best, run);
	run->len[0] = 0;
}

/* The quantifier at the reading point, which moves past it. */
static enum repeat quantifier(struct reading *r)
{
	enum repeat repeat = ONCE;
	const char *p = r->p;

	if (*p == '?' || *p == '*') {
		repeat = MAYBE;
		p++;
	} else if (*p == '+') {
		repeat = OFTEN;
		p++;
	} else if (*p == '{' && (isdigit((unsigned char)p[1]) || p[1] == ',')) {
		repeat = p[1] == '0' || p[1] == ',' ? MAYBE : OFTEN;
		p += strcspn(p, "}");
		p += *p == '}';
	}
	if (repeat != ONCE && (*p == '?' || *p == '+'))
		p++; /* lazy, possessive */
	r->p = p;
	return repeat;
}

static void skip_class(struct reading *r)
{
	const char *p = r->p + 1;

	p += *p == '^';
	p += *p == ']';
	while (*p && *p != ']') {
		if (*p == '[' && p[1] == ':')
			p += strcspn(p, "]");
		else if (*p == '\\' && p[1])
			p++;
		p += *p != '\0';
	}
	if (*p == ']')
		r->p = p + 1;
	else
		r->lost = true;
}

static void add_char(struct reading *r, char c, struct must *run, struct must *best)
{
	enum repeat repeat = quantifier(r);

	if (repeat != MAYBE && run->len[0] < MAX_LITERAL)
		run->text[0][run->len[0]++] = (char)tolower((unsigned char)c);
	if (repeat != ONCE || run->len[0] == MAX_LITERAL)
		flush(best, run);
}

static void escape(struct reading *r, struct must *run, struct must *best)
{
	char c = r->p[1];

	if (c == 'b' || c == 'B' || c == 'A' || c == 'z' || c == 'Z') {
		r->p += 2; /* takes no characters */
	} else if (c && strchr("dDwWsShHvVRntrf", c)) {
		r->p += 2;
		flush(best, run);
		(void)quantifier(r);
	} else if (c && ispunct((unsigned char)c)) {
		r->p += 2;
		add_char(r, c, run, best);
	} else {
		r->lost = true;
	}
}

static void alternatives(struct reading *r, unsigned depth, struct must *ret);

enum group { GROUP_PLAIN, GROUP_ASSERTION, GROUP_FLAGS };

/* What kind of group begins at "("; moves to its contents. */
static enum group group_kind(struct reading *r)
{
	const char *p = r->p + 1;

	r->p = p;
	if (*p == '*') {
		r->lost = true;
		return GROUP_PLAIN;
	}
	if (*p != '?')
		return GROUP_PLAIN;
	p++;
	if (*p == ':' || *p == '>') {
		r->p = p + 1;
		return GROUP_PLAIN;
	}
	if (*p == '=' || *p == '!') {
		r->p = p + 1;
		return GROUP_ASSERTION;
	}
	if (*p == '<' && (p[1] == '=' || p[1] == '!')) {
		r->p = p + 2;
		return GROUP_ASSERTION;
	}
	p += strspn(p, "ims-");
	if (p[-1] != '?' && (*p == ')' || *p == ':')) {
		r->p = p + 1;
		return *p == ')' ? GROUP_FLAGS : GROUP_PLAIN;
	}
	r->lost = true;
	return GROUP_PLAIN;
}

static void group(struct reading *r, unsigned depth, struct must *run, struct must *best)
{
	enum group kind = group_kind(r);
	struct must *inner;

	if (r->lost || kind == GROUP_FLAGS)
		return;
	inner = calloc(1, sizeof(*inner));
	if (!inner || depth >= MAX_DEPTH) {
		r->lost = true;
		free(inner);
		return;
	}
	alternatives(r, depth + 1, inner);
	if (*r->p == ')')
		r->p++;
	else
		r->lost = true;
	flush(best, run);
	if (quantifier(r) != MAYBE && kind == GROUP_PLAIN)
		keep_better(best, inner);
	free(inner);
}

/* Up to "|", ")" or the end. */
static void sequence(struct reading *r, unsigned depth, struct must *run, struct must *best)
{
	while (!r->lost && *r->p && *r->p != '|' && *r->p != ')') {
		unsigned char c = (unsigned char)*r->p;

		switch (c) {
		case '(':
			group(r, depth, run, best);
			break;
		case '[':
			skip_class(r);
			flush(best, run);
			(void)quantifier(r);
			break;
		case '\\':
			escape(r, run, best);
			break;
		case '^':
		case '$':
			r->p++;
			break;
		case '.':
			r->p++;
			flush(best, run);
			(void)quantifier(r);
			break;
		default:
			r->p++;
			if (c < 0x80) {
				add_char(r, (char)c, run, best);
			} else {
				flush(best, run); /* case and length are not bytes' */
				(void)quantifier(r);
			}
		}
	}
	flush(best, run);
}

static void alternatives(struct reading *r, unsigned depth, struct must *ret)
{
	struct must *one = calloc(2, sizeof(*one)), *run = one ? one + 1 : NULL;
	bool known = true;

	while (one && !r->lost) {
		one->n = 0;
		run->len[0] = 0;
		sequence(r, depth, run, one);
		known = known && shortest(one) && ret->n + one->n <= MAX_LITERALS;
		for (size_t i = 0; known && i < one->n; i++) {
			memcpy(ret->text[ret->n], one->text[i], MAX_LITERAL);
			ret->len[ret->n++] = one->len[i];
		}
		if (*r->p != '|')
			break;
		r->p++;
	}
	if (!one)
		r->lost = true;
	if (!known || r->lost)
		ret->n = 0;
	free(one);
}

struct cs_error *cs_pattern_literals(struct cs_arena *arena, struct cs_pattern *pattern)
{
	CS_CLEANUP(cs_freep) struct must *found = calloc(1, sizeof(*found));
	struct reading r = {.p = pattern->text};
	const char **literals;

	pattern->literals = NULL;
	pattern->n_literals = 0;
	if (!found)
		return &cs_nomem;
	alternatives(&r, 0, found);
	if (r.lost || *r.p || shortest(found) < CS_LEAST_LITERAL)
		return NULL;
	literals = cs_arena_calloc(arena, found->n, sizeof(*literals));
	if (!literals)
		return &cs_nomem;
	for (size_t i = 0; i < found->n; i++) {
		literals[i] = cs_arena_strndup(arena, found->text[i], found->len[i]);
		if (!literals[i])
			return &cs_nomem;
	}
	pattern->literals = literals;
	pattern->n_literals = (uint32_t)found->n;
	return NULL;
}

pcre2_code *cs_pattern_compile(const char *text, char *why, size_t size)
{
	const uint32_t options =
		PCRE2_UTF | PCRE2_MULTILINE | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	PCRE2_SIZE offset = 0;
	PCRE2_UCHAR message[160] = "";
	pcre2_code *code;
	int error = 0;

	code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &error, &offset, NULL);
	if (!code && size) {
		pcre2_get_error_message(error, message, sizeof(message));
		snprintf(why, size, "%s at character %zu", (const char *)message, offset + 1);
	}
	return code;
}
