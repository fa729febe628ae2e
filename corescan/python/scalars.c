/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Numbers and texts as repr() writes them. Knows Python's quoting and the shortest digits
 * of a float; refuses to know which characters are not assigned: those are shown as they
 * are.
 */
#include "python/repr.h"

#include <ctype.h>
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DIGIT_BITS 30
#define MARK_BYTES 48 /* room for what says how much was left out */

/* ---- int ---- */

/** @n digits of base 2^30 as decimal text; @digits is used up. */
static void decimal(struct cs_py_repr *r, uint32_t *digits, size_t n)
{
	uint32_t group[CS_MAX_PY_DIGITS * DIGIT_BITS / 29 +
		       1]; /* of nine decimal digits */
	size_t groups = 0;

	while (n) {
		uint64_t rest = 0;

		for (size_t i = n; i-- > 0;) {
			rest = rest << DIGIT_BITS | digits[i];
			digits[i] = (uint32_t)(rest / 1000000000U);
			rest %= 1000000000U;
		}
		group[groups++] = (uint32_t)rest;
		while (n && !digits[n - 1])
			n--;
	}
	cs_strbuf_printf(&r->out, "%u", group[--groups]);
	while (groups)
		cs_strbuf_printf(&r->out, "%09u", group[--groups]);
}

void cs_py_repr_int(struct cs_py_repr *r, uint64_t object)
{
	uint32_t digits[CS_MAX_PY_DIGITS];
	uint64_t n, at;
	int sign;

	if (!cs_py_int_parts(r->py, object, &sign, &n, &at)) {
		cs_strbuf_puts(&r->out, "<unreadable int>");
		return;
	}
	if (n > CS_MAX_PY_DIGITS) {
		cs_strbuf_printf(&r->out, "<%sint of about %llu bits>",
				 sign < 0 ? "negative " : "",
				 (unsigned long long)n * DIGIT_BITS);
		return;
	}
	if (n && !cs_py_read(r->py, at, digits, n * sizeof(*digits))) {
		cs_strbuf_puts(&r->out, "<unreadable int>");
		return;
	}
	for (size_t i = 0; i < n; i++)
		digits[i] = le32toh(digits[i]) & ((1U << DIGIT_BITS) - 1);
	while (n && !digits[n - 1])
		n--;
	if (sign < 0)
		cs_strbuf_putc(&r->out, '-');
	if (n)
		decimal(r, digits, n);
	else
		cs_strbuf_putc(&r->out, '0');
}

/* ---- float, complex ---- */

/** Digits without point and their decimal exponent: 0.d1d2d3 * 10^*point. */
static size_t shortest(double value, bool single, char digits[32], int *point)
{
	char text[64];
	size_t n = 0;
	const char *p;

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (single ? strtof(text, NULL) == (float)value
			   : strtod(text, NULL) == value)
			break;
	}
	for (p = text; *p && *p != 'e'; p++) /* a locale may have another point */
		if (isdigit((unsigned char)*p) && n < 31)
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	*point = (*p ? (int)strtol(p + 1, NULL, 10) : 0) + 1;
	return n;
}

/** As float_repr_style "short" has it; @point_zero: whole numbers end in ".0". */
static void format_double(double v, bool single, bool point_zero, char ret[64])
{
	const char *sign = signbit(v) ? "-" : "";
	char digits[32];
	int point, n;

	if (isnan(v) || isinf(v)) {
		snprintf(ret, 64, "%s", isnan(v) ? "nan" : signbit(v) ? "-inf" : "inf");
		return;
	}
	if (v == 0) {
		snprintf(ret, 64, "%s0%s", sign, point_zero ? ".0" : "");
		return;
	}
	n = (int)shortest(fabs(v), single, digits, &point);
	if (point <= -4 || point > 16)
		snprintf(ret, 64, "%s%c%s%se%+03d", sign, digits[0], n > 1 ? "." : "",
			 digits + 1, point - 1);
	else if (point <= 0)
		snprintf(ret, 64, "%s0.%.*s%s", sign, -point, "0000", digits);
	else if (point >= n)
		snprintf(ret, 64, "%s%s%.*s%s", sign, digits, point - n,
			 "0000000000000000", point_zero ? ".0" : "");
	else
		snprintf(ret, 64, "%s%.*s.%s", sign, point, digits, digits + point);
}

void cs_py_repr_double(struct cs_py_repr *r, double value, bool single)
{
	char text[64];

	format_double(value, single, true, text);
	cs_strbuf_puts(&r->out, text);
}

void cs_py_repr_complex(struct cs_py_repr *r, double real, double imaginary, bool single,
			bool brackets)
{
	char re[64], im[64];

	format_double(real, single, false, re);
	format_double(imaginary, single, false, im);
	if (real == 0 && !signbit(real))
		cs_strbuf_printf(&r->out, "%sj", im);
	else
		cs_strbuf_printf(&r->out, "%s%s%s%sj%s", brackets ? "(" : "", re,
				 im[0] == '-' ? "" : "+", im, brackets ? ")" : "");
}

bool cs_py_double(const struct cs_py *py, uint64_t addr, double *ret)
{
	uint64_t bits;

	if (!cs_py_read(py, addr, &bits, sizeof(bits)))
		return false;
	bits = le64toh(bits);
	memcpy(ret, &bits, sizeof(bits));
	return true;
}

/* ---- str, bytes ---- */

/**
 * Characters above ASCII that repr() escapes: controls, formats, separators, surrogates,
 * private use (categories C* and Z* of the Unicode character database, but without those
 * not assigned).
 */
static bool is_hidden(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{0x7f, 0xa0},          {0xad, 0xad},       {0x600, 0x605},
		{0x61c, 0x61c},        {0x6dd, 0x6dd},     {0x70f, 0x70f},
		{0x890, 0x891},        {0x8e2, 0x8e2},     {0x1680, 0x1680},
		{0x180e, 0x180e},      {0x2000, 0x200f},   {0x2028, 0x202f},
		{0x205f, 0x206f},      {0x3000, 0x3000},   {0xd800, 0xf8ff},
		{0xfeff, 0xfeff},      {0xfff0, 0xfffb},   {0xfffe, 0xffff},
		{0x110bd, 0x110bd},    {0x110cd, 0x110cd}, {0x13430, 0x1343f},
		{0x1bca0, 0x1bca3},    {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
		{0xe01f0, UINT32_MAX},
	};

	for (size_t i = 0; i < CS_COUNT(ranges) && c >= ranges[i][0]; i++)
		if (c <= ranges[i][1])
			return true;
	return false;
}

/** The character within quotes @quote; @byte: one of bytes, not of a text. */
static void put_character(struct cs_strbuf *out, uint32_t c, char quote, bool byte)
{
	char bytes[4];

	if (c == (uint32_t)quote || c == '\\')
		cs_strbuf_printf(out, "\\%c", (char)c);
	else if (c == '\n' || c == '\r' || c == '\t')
		cs_strbuf_puts(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
	else if (c < 0x20 || (c < 0x100 && (byte ? c >= 0x7f : is_hidden(c))))
		cs_strbuf_printf(out, "\\x%02x", c);
	else if (c >= 0x100 && is_hidden(c))
		cs_strbuf_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
	else
		cs_strbuf_put(out, bytes, cs_py_utf8(c, bytes));
}

/** How many characters of @n are shown here: texts within containers leave room for
 * others. */
static size_t shown(const struct cs_py_repr *r, uint64_t n)
{
	return (size_t)CS_MIN(n, r->depth > 1 ? CS_MAX_PY_INNER_TEXT
					      : CS_MAX_PY_REPR - MARK_BYTES);
}

static void put_text(struct cs_py_repr *r, const uint32_t *c, size_t n, uint64_t whole,
		     bool byte)
{
	bool one = false, two = false;
	char quote = '\'';

	for (size_t i = 0; i < n; i++) {
		one |= c[i] == '\'';
		two |= c[i] == '"';
	}
	if (one && !two)
		quote = '"';
	cs_strbuf_putc(&r->out, quote);
	for (size_t i = 0; i < n && !r->out.cut; i++)
		put_character(&r->out, c[i], quote, byte);
	cs_strbuf_putc(&r->out, quote);
	if (n < whole)
		cs_strbuf_printf(&r->out, "... %llu more",
				 (unsigned long long)(whole - n));
}

void cs_py_repr_str(struct cs_py_repr *r, uint64_t object)
{
	uint32_t c[CS_MAX_PY_REPR];
	struct cs_py_text text;
	size_t n;

	if (!cs_py_text(r->py, object, &text)) {
		cs_strbuf_puts(&r->out, "<unreadable str>");
		return;
	}
	n = cs_py_text_read(r->py, &text, 0, c, shown(r, text.length));
	if (n == 0 && text.length)
		cs_strbuf_puts(&r->out, "<unreadable str>");
	else
		put_text(r, c, n, text.length, false);
}

void cs_py_repr_bytes(struct cs_py_repr *r, uint64_t data, uint64_t len)
{
	uint32_t c[CS_MAX_PY_REPR];
	uint8_t bytes[CS_MAX_PY_REPR];
	size_t n = 0;

	if (len)
		n = cs_mem_read_some(r->py->mem, data, bytes, shown(r, len));
	for (size_t i = 0; i < n; i++)
		c[i] = bytes[i];
	cs_strbuf_putc(&r->out, 'b');
	put_text(r, c, n, len, true);
}
