/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * std::string of both ABIs, and plain C strings. Knows their layouts (gcc: libstdc++-v3/include/bits/
 * basic_string.h, cow_string.h) and checks all that there is to check; refuses to know whose they are.
 */
#include "torch/cxx.h"

#include "base/limits.h"
#include "base/text.h"

#include <string.h>

#define INLINE_BYTES 16      /* of a new string, with its NUL */
#define MAX_LENGTH (1UL << 32)
#define COW_LENGTH 24        /* before the characters: length, capacity, references */

/** Control characters that texts for people have: tab, newline, return, escape (colours). */
static bool is_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != 0x1b) || c == 0x7f)
			return false;
	}
	return true;
}

/** At least nine of ten characters are valid UTF-8: it may be cut in one, or hold the bytes of a file. */
static bool mostly_valid(const char *s, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n;) {
		size_t len = cs_utf8_sequence((const unsigned char *)s + i, n - i);

		bad += !len;
		i += len ? len : 1;
	}
	return bad <= n / 10;
}

/** The @n bytes read as a text; @more: there are others behind them. */
static const char *finish(struct cs_cxx *cx, char *bytes, size_t n, bool more)
{
	char *text;

	/* No half of a character at the cut. */
	for (size_t i = 0; more && i < 3 && n && ((unsigned char)bytes[n - 1] & 0xc0) == 0x80; i++)
		n--;
	if (more && n && (unsigned char)bytes[n - 1] >= 0xc0)
		n--;
	if (!is_text(bytes, n) || !mostly_valid(bytes, n))
		return NULL;
	text = cs_text_utf8(cx->arena, bytes, n);
	return text && more ? cs_arena_printf(cx->arena, "%s …", text) : text;
}

/** @length characters at @at, with the NUL that every string has behind them, and none among them. */
static const char *characters(struct cs_cxx *cx, uint64_t at, uint64_t length, size_t max)
{
	size_t n = (size_t)CS_MIN(length, (uint64_t)max);
	CS_CLEANUP(cs_freep) char *bytes = NULL;
	uint8_t nul = 1;

	if (at < 4096 || at > UINT64_MAX - length - 1 ||
	    !cs_ok(cs_mem_read(cx->mem, at + length, &nul, 1, NULL)) || nul)
		return NULL;
	bytes = malloc(n + 1);
	if (!bytes || (n && !cs_ok(cs_mem_read(cx->mem, at, bytes, n, NULL))) || memchr(bytes, 0, n))
		return NULL;
	return finish(cx, bytes, n, n < length);
}

static const char *new_string(struct cs_cxx *cx, uint64_t at, size_t max)
{
	uint64_t words[3], data, length;

	if (cs_mem_read_some(cx->mem, at, words, sizeof(words)) != sizeof(words))
		return NULL;
	data = le64toh(words[0]);
	length = le64toh(words[1]);
	if (length > MAX_LENGTH)
		return NULL;
	if (data == at + 16)
		return length < INLINE_BYTES ? characters(cx, data, length, max) : NULL;
	/* On the heap: its capacity is where short ones have their characters. */
	if (le64toh(words[2]) < length || le64toh(words[2]) < INLINE_BYTES ||
	    le64toh(words[2]) > MAX_LENGTH)
		return NULL;
	return characters(cx, data, length, max);
}

static const char *old_string(struct cs_cxx *cx, uint64_t at, size_t max)
{
	uint64_t words[3], data, length, capacity;
	int32_t references;

	if (!cs_mem_u64(cx->mem, at, &data) || data < 4096 ||
	    cs_mem_read_some(cx->mem, data - COW_LENGTH, words, sizeof(words)) != sizeof(words))
		return NULL;
	length = le64toh(words[0]);
	capacity = le64toh(words[1]);
	references = (int32_t)(uint32_t)le64toh(words[2]); /* of others; -1: not to be shared */
	if (length > MAX_LENGTH || capacity > MAX_LENGTH || capacity < length || references < -1)
		return NULL;
	return characters(cx, data, length, max);
}

const char *cs_cxx_string_of(struct cs_cxx *cx, uint64_t at, bool old, size_t max)
{
	if (at > UINT64_MAX - 64)
		return NULL;
	return old ? old_string(cx, at, max) : new_string(cx, at, max);
}

const char *cs_cxx_string(struct cs_cxx *cx, uint64_t at, size_t max)
{
	const char *text = cs_cxx_string_of(cx, at, false, max);

	return text ? text : cs_cxx_string_of(cx, at, true, max);
}

const char *cs_cxx_chars(struct cs_cxx *cx, uint64_t at, size_t max)
{
	CS_CLEANUP(cs_freep) char *bytes = NULL;
	size_t got;
	char *nul;

	if (at < 4096 || at > UINT64_MAX - max - 1)
		return NULL;
	bytes = malloc(max + 1);
	if (!bytes)
		return NULL;
	got = cs_mem_read_some(cx->mem, at, bytes, max + 1);
	nul = memchr(bytes, 0, got);
	if (!nul && got <= max)
		return NULL;
	return finish(cx, bytes, nul ? (size_t)(nul - bytes) : max, !nul);
}
