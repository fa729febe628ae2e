/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the C names that Cython gives its functions back to the names in the .pyx file. Knows the rules of
 * Cython 0.29 and 3; refuses to know modules, files and lines.
 *
 * One function of the user becomes up to three in C, each of which calls the next: pw takes Python's
 * arguments, pf is the body, and f is the body of what C code can call (cdef, cpdef). gb is the body of a
 * generator. After the prefix come the scopes, each with its length in characters: modules, classes,
 * functions. Then the name, before it a count that keeps names apart (none for the first in its scope, and
 * never for f), which cannot always be told from a length:
 *
 *	__pyx_pw_5model_7Encoder_3forward    model.Encoder.forward
 *	__pyx_pf_5model_5outer_inner         model.outer.inner
 *	__pyx_f_5model_7Encoder_step         model.Encoder.step
 *
 * Where a name is not ASCII, the whole is in punycode (RFC 3492) with _ for its hyphen, and a U stands behind
 * the first __pyx_. Cython: Cython/Compiler/Naming.py, Symtab.py (qualified names, punycodify_name).
 */
#include "python/state.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

#define PREFIX "__pyx_"
#define FUSED PREFIX "fuse_" /* one of the variants of a function of fused types */
#define LAMBDA PREFIX "lambda_funcdef_"
#define MODULE PREFIX "pymod_exec_"
#define DIGITS "0123456789"

/** In the order in which they call one another. */
enum kind { NONE, WRAPPER, BODY, C_FUNCTION, GENERATOR };

static const struct {
	const char *prefix;
	enum kind kind;
} prefixes[] = {
	{"pw_", WRAPPER},
	{"pf_", BODY},
	{"f_", C_FUNCTION},
	{"gb_", GENERATOR},
};

/** @text behind @prefix, or NULL if it does not begin with that. */
static const char *behind(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* ---- punycode ---- */

static bool punycode_digit(char c, uint32_t *ret)
{
	if (c >= 'a' && c <= 'z')
		*ret = (uint32_t)(c - 'a');
	else if (c >= '0' && c <= '9')
		*ret = (uint32_t)(c - '0') + 26;
	else
		return false;
	return true;
}

/** The next number of @text, which ends before @end; the bias is that of the place. */
static bool punycode_number(const char **text, const char *end, uint32_t bias, uint32_t *ret)
{
	uint64_t value = 0, weight = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t digit, threshold = k <= bias ? 1 : CS_MIN(k - bias, 26U);

		if (*text == end || !punycode_digit(*(*text)++, &digit))
			return false;
		value += digit * weight;
		if (value > UINT32_MAX)
			return false;
		if (digit < threshold)
			break;
		weight *= 36 - threshold;
		if (weight > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)value;
	return true;
}

static uint32_t punycode_bias(uint32_t delta, uint32_t points, bool first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / points;
	for (; delta > 455; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

static void put_utf8(struct cs_strbuf *out, uint32_t c)
{
	if (c >= 0x10000) {
		cs_strbuf_putc(out, (char)(0xf0 | c >> 18));
		cs_strbuf_putc(out, (char)(0x80 | (c >> 12 & 0x3f)));
	} else if (c >= 0x800) {
		cs_strbuf_putc(out, (char)(0xe0 | c >> 12));
	}
	if (c >= 0x800)
		cs_strbuf_putc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	else if (c >= 0x80)
		cs_strbuf_putc(out, (char)(0xc0 | c >> 6));
	cs_strbuf_putc(out, (char)(c < 0x80 ? c : 0x80 | (c & 0x3f)));
}

/** Append what @text of @len bytes stands for. False: it is none, or longer than a name may be. */
static bool punycode(const char *text, size_t len, struct cs_strbuf *out)
{
	const char *end = text + len, *mark = memrchr(text, '_', len);
	uint32_t points[CS_MAX_PY_NAME], c = 0x80, at = 0, bias = 72;
	size_t n = mark ? (size_t)(mark - text) : 0;
	bool first = true;

	if (len > CS_MAX_PY_NAME)
		return false;
	for (size_t i = 0; i < n; i++)
		points[i] = (unsigned char)text[i];
	text = mark ? mark + 1 : text;
	while (text < end) {
		uint32_t delta;

		if (!punycode_number(&text, end, bias, &delta) || delta > UINT32_MAX - at)
			return false;
		n++; /* each takes a byte of @text at least: no more than CS_MAX_PY_NAME in all */
		bias = punycode_bias(delta, (uint32_t)n, first);
		first = false;
		at += delta;
		if (at / n > 0x10ffff - c)
			return false;
		c += at / (uint32_t)n;
		at %= (uint32_t)n;
		if (c >= 0xd800 && c <= 0xdfff)
			return false;
		memmove(&points[at + 1], &points[at], (n - 1 - at) * sizeof(points[0]));
		points[at++] = c;
	}
	for (size_t i = 0; i < n; i++)
		put_utf8(out, points[i]);
	return true;
}

/* ---- scopes ---- */

/** Skip a number; false: none there, or no length that a name has. */
static bool skip_number(const char **text, size_t *ret)
{
	const char *p = *text;
	size_t value = 0;

	for (; isdigit((unsigned char)*p); p++) {
		value = value * 10 + (size_t)(*p - '0');
		if (value > CS_MAX_PY_NAME)
			return false;
	}
	if (p == *text)
		return false;
	*text = p;
	*ret = value;
	return true;
}

/** @text behind @n characters, or NULL if it has not so many. */
static const char *skip_characters(const char *text, size_t n)
{
	while (n--) {
		if (!*text++)
			return NULL;
		while ((*text & 0xc0) == 0x80)
			text++;
	}
	return text;
}

static bool is_lambda(const char *name)
{
	const char *count = behind(name, "lambda");

	return behind(name, LAMBDA) || (count && count[strspn(count, DIGITS)] == 0);
}

static bool is_genexpr(const char *name)
{
	return strcmp(name, "genexpr") == 0;
}

enum reading { SCOPE, NAME, EITHER };

/** What "4load_data" is: the scope "load" before @rest ("data"), or the fourth name "load_data". */
static enum reading reading_of(enum kind kind, const char *scope, const char *rest, bool first)
{
	if (kind == C_FUNCTION || first)
		return SCOPE; /* these have no count, and nothing is outside of a module */
	if (behind(scope, LAMBDA))
		return NAME; /* "20__pyx_lambda_funcdef_lambda3": that many characters by chance */
	if (isdigit((unsigned char)*rest) || is_lambda(rest) || is_genexpr(rest))
		return SCOPE;
	if (kind != BODY || strcmp(rest, "_") == 0)
		return NAME; /* only bodies come first in a scope, without a count; "6__repr__" */
	return isupper((unsigned char)*scope) || behind(rest, "__") ? SCOPE : EITHER;
}

/**
 * Put the scopes of @text and a point after each into @out; returns the name behind them. NULL: @text is not
 * of this form, or has two readings.
 */
static const char *put_scopes(enum kind kind, const char *text, struct cs_strbuf *out)
{
	for (bool first = true;; first = false) {
		const char *scope = text, *end;
		enum reading reading = NAME;
		size_t length;

		if (!skip_number(&scope, &length))
			return !first && *text && !isdigit((unsigned char)*text) ? text : NULL;
		end = length ? skip_characters(scope, length) : NULL;
		if (end && *end == '_' && end[1])
			reading = reading_of(kind, scope, end + 1, first);
		if (reading == EITHER)
			return NULL;
		if (reading == NAME)
			return !first && kind != C_FUNCTION && *scope ? scope : NULL;
		cs_strbuf_put(out, scope, (size_t)(end - scope));
		cs_strbuf_putc(out, '.');
		text = end + 1;
	}
}

/** A C name taken apart. */
struct cython {
	enum kind kind;
	struct cs_strbuf encoded; /* where the name is not ASCII: in punycode; owned */
	struct cs_strbuf text;    /* the C name in plain text; owned */
	const char *rest;         /* of it, behind the prefix */
	struct cs_strbuf name;    /* the Python name; owned */
};

static void cython_deinit(struct cython *c)
{
	cs_strbuf_deinit(&c->encoded);
	cs_strbuf_deinit(&c->text);
	cs_strbuf_deinit(&c->name);
}

/** @name behind "__pyx_fuse_0_1", if that is what it begins with. */
static const char *skip_fused(const char *name)
{
	const char *rest = behind(name, FUSED);

	if (!rest || !isdigit((unsigned char)*rest))
		return name;
	rest += strspn(rest, DIGITS);
	while (*rest == '_' && isdigit((unsigned char)rest[1]))
		rest += 1 + strspn(rest + 1, DIGITS);
	return rest;
}

/** The kind of C name @function, and the text behind its prefix; NULL: no function of the user. */
static const char *skip_prefix(const char *function, enum kind *kind)
{
	const char *rest = behind(skip_fused(function), PREFIX);

	for (size_t i = 0; rest && i < CS_COUNT(prefixes); i++) {
		const char *text = behind(rest, prefixes[i].prefix);

		*kind = prefixes[i].kind;
		if (text)
			return text;
	}
	return NULL;
}

/** Put @function into c->text, as it was before the C compiler and punycode. */
static bool put_plain(const char *function, struct cython *c)
{
	/* ".cold" of the compiler, or the parameters where Cython wrote C++. */
	size_t len = strcspn(function, ".(");
	const char *encoded = behind(function, PREFIX "U");

	if (!encoded) {
		cs_strbuf_put(&c->text, function, len);
		return !c->text.cut;
	}
	/* The U was put in last, so the prefix is in punycode as well. */
	cs_strbuf_puts(&c->encoded, PREFIX);
	cs_strbuf_put(&c->encoded, encoded, len - strlen(PREFIX "U"));
	return !c->encoded.cut &&
	       punycode(cs_strbuf_text(&c->encoded), c->encoded.len, &c->text) && !c->text.cut;
}

/** Take @function apart, but for its name. False: it is no function of the user. */
static bool cython_parse(const char *function, struct cython *c)
{
	c->text.max = c->encoded.max = c->name.max = CS_MAX_PY_NAME;
	if (!put_plain(function, c))
		return false;
	c->rest = skip_prefix(cs_strbuf_text(&c->text), &c->kind);
	return c->rest != NULL;
}

/** The Python name of what was parsed; NULL: it does not tell. */
static const char *cython_name(struct cython *c)
{
	const char *name = put_scopes(c->kind, c->rest, &c->name);

	if (name && behind(name, FUSED)) {
		/* Cython 3 names the wrapper of a variant after the C function of the variant. */
		enum kind inner;
		const char *rest = skip_prefix(name, &inner);

		if (rest)
			cs_strbuf_truncate(&c->name, 0);
		name = rest ? put_scopes(inner, rest, &c->name) : skip_fused(name);
	}
	if (!name)
		return NULL;
	if (c->kind == GENERATOR)
		name = "<generator>"; /* "generator3" in C: the name of its function is not kept */
	else if (is_lambda(name))
		name = "<lambda>";
	else if (is_genexpr(name))
		name = "<genexpr>";
	cs_strbuf_puts(&c->name, name);
	return c->name.cut ? NULL : cs_strbuf_text(&c->name);
}

const char *cs_py_cython_name(struct cs_arena *arena, const char *function)
{
	CS_CLEANUP(cython_deinit) struct cython c = {0};
	const char *module = behind(function, MODULE), *name;

	if (behind(function, LAMBDA))
		return "<lambda>";
	if (module && *module)
		return cs_arena_printf(arena, "%.*s.<module>", (int)strcspn(module, ".("), module);
	name = cython_parse(function, &c) ? cython_name(&c) : NULL;
	return name ? cs_arena_intern(arena, name) : NULL;
}

/* ---- one function of the user, several in C ---- */

/**
 * Do the texts of a wrapper and of what it calls differ by nothing but the count? The counts follow one
 * another ("11gen" and "10gen"), the first is left out ("1gen" and "gen"), and C functions have none.
 */
static bool differ_by_count(const char *outer, enum kind outer_kind, const char *inner, enum kind inner_kind)
{
	size_t at = 0, count, inner_count = 0;

	while (outer[at] && outer[at] == inner[at])
		at++;
	/* Back to the first digit of the counts, which may begin alike. */
	while (at > 0 && isdigit((unsigned char)outer[at - 1]))
		at--;
	if (at == 0 || outer[at - 1] != '_')
		return false;
	outer += at;
	inner += at;
	if (!skip_number(&outer, &count))
		return outer_kind == BODY && inner_kind == C_FUNCTION && strcmp(outer, inner) == 0;
	if (inner_kind == C_FUNCTION)
		return strcmp(outer, inner) == 0;
	if (isdigit((unsigned char)*inner) && !skip_number(&inner, &inner_count))
		return false;
	return count == inner_count + 1 && strcmp(outer, inner) == 0;
}

bool cs_py_cython_same(const char *inner, const char *outer)
{
	CS_CLEANUP(cython_deinit) struct cython in = {0}, out = {0};
	const char *lambda = behind(inner, LAMBDA), *in_name, *out_name;

	if (!cython_parse(outer, &out))
		return false;
	if (lambda) {
		size_t len = strcspn(lambda, ".("), outer_len = strlen(out.rest);

		return out.kind == WRAPPER && outer_len > len &&
		       memcmp(out.rest + outer_len - len, lambda, len) == 0;
	}
	if (!cython_parse(inner, &in) || in.kind <= out.kind || in.kind == GENERATOR)
		return false;
	if (differ_by_count(out.rest, out.kind, in.rest, in.kind))
		return true;
	if (in.kind == BODY)
		return false;
	/* The C function of a variant of fused types. */
	in_name = cython_name(&in);
	out_name = cython_name(&out);
	return in_name && out_name && strcmp(in_name, out_name) == 0;
}
