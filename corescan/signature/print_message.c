/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a message says, without what it says of this one run: ranks, counts, addresses, folders, hosts.
 * Digits within a word stay (float16, int64, sm_90), for they tell failures apart.
 */
#include "signature/print.h"

#include "base/text.h"
#include "base/util.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define MAX_MESSAGE 240 /* bytes that are compared */

struct writer {
	const char *s;
	size_t len, at;
	char out[MAX_MESSAGE];
	size_t n;
};

static void put(struct writer *w, const char *bytes, size_t len)
{
	len = CS_MIN(len, sizeof(w->out) - w->n);
	memcpy(w->out + w->n, bytes, len);
	w->n += len;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_hex(char c)
{
	return isxdigit((unsigned char)c);
}

static size_t find(const char *s, size_t len, const char *what)
{
	const char *at = memmem(s, len, what, strlen(what));

	return at ? (size_t)(at - s) : len;
}

/* The first line that says something, and no more of it than where it was raised. */
static void first_line(struct writer *w, const char *text)
{
	while (*text == '\n' || *text == ' ' || *text == '\t' || *text == '\r')
		text++;
	w->s = text;
	w->len = strcspn(text, "\n\r");
	w->len = find(w->s, w->len, "Exception raised from");
	while (w->len && strchr(" (:;,.!", w->s[w->len - 1]))
		w->len--;
}

/* "[rank3]:", "[rank3]:[E1130 01:02:03.456 file.cpp:7]", "F0101 12:00:00.123 4567 file.cc:8]". */
static void skip_prefixes(struct writer *w)
{
	for (bool more = true; more && w->len;) {
		const char *p = w->s;
		size_t skip = 0, end = CS_MIN(w->len, (size_t)120);

		if (!strncasecmp(p, "[rank", 5) || (*p == '[' && strchr("IWEF", p[1]) && w->len > 2 &&
						    isdigit((unsigned char)p[2])))
			skip = find(p, end, "]") + 1;
		else if (w->len > 5 && strchr("IWEF", *p) && isdigit((unsigned char)p[1]) &&
			 isdigit((unsigned char)p[4]) && find(p, end, "] ") < end)
			skip = find(p, end, "] ") + 1;
		more = skip && skip < w->len;
		if (!more)
			return;
		skip += strspn(p + skip, ": ");
		skip = CS_MIN(skip, w->len);
		w->s += skip;
		w->len -= skip;
	}
}

/* The word right before the reading point, of @out. */
static bool counts_things(const struct writer *w)
{
	static const char *const names[] = {"rank", "ranks", "node", "worker", "host",  "gpu",  "cuda",
					    "device", "pid", "tid",  "proc",   "actor", "stage", "port"};
	size_t from = w->n, at;

	while (from && isalpha((unsigned char)w->out[from - 1]))
		from--;
	at = w->n - from;
	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (strlen(names[i]) == at && !strncasecmp(w->out + from, names[i], at))
			return true;
	return false;
}

/* Hexadecimal digits and what joins them: an address, a digest, a UUID. 0: it is none. */
static size_t digest(const struct writer *w)
{
	const char *p = w->s + w->at;
	size_t left = w->len - w->at, n = 0;
	bool digit = false, dash = false;

	if (left > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) {
		for (n = 2; n < left && is_hex(p[n]); n++)
			;
		return n > 2 ? n : 0;
	}
	while (n < left && (is_hex(p[n]) || (p[n] == '-' && n))) {
		digit |= isdigit((unsigned char)p[n]) != 0;
		dash |= p[n] == '-';
		n++;
	}
	if (n < left && is_word(p[n]))
		return 0;
	if (!digit || n < (dash ? 24U : 8U) || strspn(p, "0123456789") >= n)
		return 0;
	return n;
}

/* A path's length, 0: none; what of it counts begins at @ret_last. */
static size_t path(const struct writer *w, size_t *ret_last)
{
	const char *p = w->s + w->at;
	size_t n = 0, slashes = 0, last = 0, limit = w->len - w->at;

	while (n < limit && !strchr(" \t'\"`,;()[]<>|=", p[n]) && !(p[n] == ':' && p[n + 1] != '/')) {
		if (p[n] == '/') {
			slashes++;
			last = n + 1;
		}
		n++;
	}
	while (n && strchr(".!?", p[n - 1]))
		n--;
	if (!slashes || last >= n)
		return 0;
	if (p[0] != '/' && p[0] != '.' && p[0] != '~' && slashes < 2 && !memchr(p + last, '.', n - last))
		return 0;
	*ret_last = last;
	return n;
}

/* "[node-7.cluster]:29500": its length without the number. */
static size_t host(const struct writer *w)
{
	const char *p = w->s + w->at;
	size_t limit = w->len - w->at, n = 1;

	if (*p != '[')
		return 0;
	while (n < limit && (is_word(p[n]) || p[n] == '.' || p[n] == '-'))
		n++;
	if (n < 2 || n + 2 >= limit || p[n] != ']' || p[n + 1] != ':' || !isdigit((unsigned char)p[n + 2]))
		return 0;
	return n + 1;
}

static void number(struct writer *w)
{
	const char *p = w->s;

	/* "10.0.0.1", "3.5", "12:34:56", "2024-01-02": whatever is numbered, one N. */
	while (w->at < w->len) {
		if (isdigit((unsigned char)p[w->at]))
			w->at++;
		else if (strchr(".,:-/", p[w->at]) && w->at + 1 < w->len &&
			 isdigit((unsigned char)p[w->at + 1]))
			w->at++;
		else
			break;
	}
	put(w, "N", 1);
}

/* At the beginning of a word. */
static void word(struct writer *w)
{
	size_t last = 0, n = digest(w);

	if (n) {
		put(w, "ADDR", 4);
		w->at += n;
		return;
	}
	n = path(w, &last);
	if (n) {
		/* Numbers of a file's name count: libcudart.so.12. */
		put(w, w->s + w->at + last, n - last);
		w->at += n;
		return;
	}
	if (isdigit((unsigned char)w->s[w->at])) {
		number(w);
		return;
	}
	while (w->at < w->len && is_word(w->s[w->at])) {
		if (isdigit((unsigned char)w->s[w->at]) && counts_things(w))
			number(w);
		else
			put(w, w->s + w->at++, 1);
	}
}

/* Where the text was cut in the middle of one. */
static void drop_half_character(struct writer *w)
{
	size_t first = w->n;

	while (first && ((unsigned char)w->out[first - 1] & 0xc0) == 0x80)
		first--;
	if (first && (unsigned char)w->out[first - 1] >= 0xc0 &&
	    !cs_utf8_sequence((const unsigned char *)w->out + first - 1, w->n - (first - 1)))
		w->n = first - 1;
}

static void normalise(struct writer *w)
{
	while (w->at < w->len && w->n < sizeof(w->out)) {
		char c = w->s[w->at];
		size_t n, last;

		/* "NET/IB" is no path, nor is "/IB" that of one. */
		bool begins = !w->at || !is_word(w->s[w->at - 1]);

		if (is_word(c) || (begins && strchr("/.~", c) && path(w, &last))) {
			word(w);
		} else if ((n = host(w))) {
			put(w, "[HOST]", 6);
			w->at += n;
		} else if (isspace((unsigned char)c)) {
			if (w->n && w->out[w->n - 1] != ' ')
				put(w, " ", 1);
			w->at++;
		} else {
			put(w, &c, 1);
			w->at++;
		}
	}
	while (w->n && w->out[w->n - 1] == ' ')
		w->n--;
	drop_half_character(w);
}

/* "T: what" of "terminate called after throwing an instance of 'T'", newline, "  what():  what". */
static const char *terminate_text(const char *text, struct writer *w)
{
	static const char said[] = "terminate called after throwing an instance of '";
	const char *type, *end, *what;

	text += strspn(text, " \t\r\n");
	type = !strncmp(text, "terminate called", 16) ? strstr(text, said) : NULL;
	if (!type)
		return text;
	type += sizeof(said) - 1;
	end = strchr(type, '\'');
	what = end ? strstr(end, "what():") : NULL;
	if (!end)
		return text;
	put(w, type, CS_MIN((size_t)(end - type), (size_t)MAX_MESSAGE / 2));
	if (!what)
		return "";
	put(w, ": ", 2);
	return what + 7;
}

struct cs_error *cs_print_message(struct cs_arena *arena, const char *text, const char **ret)
{
	struct writer w = {0};
	char done[MAX_MESSAGE + 1];

	first_line(&w, terminate_text(text, &w));
	skip_prefixes(&w);
	normalise(&w);
	memcpy(done, w.out, w.n);
	done[w.n] = '\0';
	*ret = cs_arena_intern(arena, done);
	return *ret ? NULL : &cs_nomem;
}
