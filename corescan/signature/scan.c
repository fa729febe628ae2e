/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search for all patterns in all texts.
 *
 * Each literal of each pattern is entered under three of its letters, the rarest; one pass over the texts
 * looks every three letters up, compares the literal where there is one, and notes the pattern as worth
 * trying on that text. So the cost is that of reading the texts once, and a pattern is compiled and
 * run only where a literal of it stands. Runs have PCRE2's limits on steps, depth and memory: an
 * expression that goes astray on a hostile text ends there and counts as not found.
 *
 * No just-in-time compiler: a pattern meets few texts, and translating it takes longer than they do; nor
 * would a process that has given up its rights be allowed to make code.
 */
#include "signature/scan.h"

#include "base/limits.h"
#include "signature/pattern.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define BUCKETS 8192 /* of three letters; a power of two */
#define KINDS (CS_TEXT_SIGNAL + 1)

enum answer { UNTRIED, NO, YES };

/** One literal, reached by the letters that begin at `at` in it. */
struct entry {
	uint32_t pattern;
	uint32_t next; /* index + 1 of the next one of the bucket */
	uint16_t len, at;
	const char *literal;
};

/** A pattern that may be found in a text. */
struct candidate {
	uint32_t pattern;
	enum answer answer;
};

struct cs_scanner {
	const struct cs_signature_set *set;
	CS_VEC(struct entry) entries;
	uint32_t buckets[BUCKETS]; /* index + 1 of the first entry */
	CS_VEC(uint32_t) always;   /* patterns without literals */
	pcre2_code **codes;        /* one a pattern; NULL: not compiled yet */
	size_t n_codes;            /* the set may be gone when the scanner is destroyed */
	pcre2_match_data *data;
	pcre2_match_context *context;

	const struct cs_facts *facts;
	CS_VEC(struct candidate) candidates;
	size_t *first;     /* of each text; n_texts + 1 */
	size_t *last_seen; /* one a pattern: the text that it was last noted for, + 1 */
	uint8_t *may;      /* one a pattern: bit set of kinds of texts */
	size_t limits_hit;
	double spent_ms; /* with searches in these texts */
	bool nomem;
};

static unsigned bucket_of(unsigned a, unsigned b, unsigned c)
{
	return ((a | b << 8 | c << 16) * 2654435761U) >> 19;
}

/* Of text; literals are lower-case as they are. */
static unsigned folded_bucket(const unsigned char *p)
{
	return bucket_of((unsigned)tolower(p[0]), (unsigned)tolower(p[1]), (unsigned)tolower(p[2]));
}

static unsigned literal_bucket(const char *literal, size_t at)
{
	const unsigned char *p = (const unsigned char *)literal + at;

	return bucket_of(p[0], p[1], p[2]);
}

/* Where in the literal the letters are that fewest literals have. */
static uint16_t rarest(const char *literal, size_t len, const uint16_t *counts)
{
	uint16_t best = 0, least = counts[literal_bucket(literal, 0)];

	for (size_t i = 1; i + CS_LEAST_LITERAL <= len && least > 1; i++) {
		uint16_t count = counts[literal_bucket(literal, i)];

		if (count < least) {
			least = count;
			best = (uint16_t)i;
		}
	}
	return best;
}

static void count_letters(const struct cs_pattern *p, uint16_t *counts)
{
	for (uint32_t k = 0; k < p->n_literals; k++) {
		size_t len = strlen(p->literals[k]);

		for (size_t i = 0; i + CS_LEAST_LITERAL <= len; i++) {
			uint16_t *count = &counts[literal_bucket(p->literals[k], i)];

			*count += *count < UINT16_MAX;
		}
	}
}

static struct cs_error *enter_pattern(struct cs_scanner *s, uint32_t number, const uint16_t *counts)
{
	const struct cs_pattern *p = &s->set->patterns[number];

	if (!p->n_literals)
		return CS_PUSH(&s->always, number, CS_MAX_PATTERNS, "patterns");
	for (uint32_t k = 0; k < p->n_literals; k++) {
		struct entry e = {.pattern = number, .literal = p->literals[k]};
		unsigned bucket;

		e.len = (uint16_t)strlen(e.literal);
		e.at = rarest(e.literal, e.len, counts);
		bucket = literal_bucket(e.literal, e.at);
		e.next = s->buckets[bucket];
		CS_TRY(CS_PUSH(&s->entries, e, 64UL * CS_MAX_PATTERNS, "literals"));
		s->buckets[bucket] = (uint32_t)s->entries.n;
	}
	return NULL;
}

static struct cs_error *enter_all(struct cs_scanner *s)
{
	CS_CLEANUP(cs_freep) uint16_t *counts = calloc(BUCKETS, sizeof(*counts));

	if (!counts)
		return &cs_nomem;
	for (uint32_t i = 1; i < s->set->n_patterns; i++)
		count_letters(&s->set->patterns[i], counts);
	for (uint32_t i = 1; i < s->set->n_patterns; i++)
		CS_TRY(enter_pattern(s, i, counts));
	return NULL;
}

struct cs_error *cs_scanner_create(const struct cs_signature_set *set, struct cs_scanner **ret)
{
	CS_CLEANUP(cs_scanner_destroyp) struct cs_scanner *s = calloc(1, sizeof(*s));

	if (!s)
		return &cs_nomem;
	s->set = set;
	s->n_codes = (size_t)set->n_patterns + 1;
	s->codes = calloc(s->n_codes, sizeof(*s->codes));
	s->last_seen = calloc((size_t)set->n_patterns + 1, sizeof(*s->last_seen));
	s->may = calloc((size_t)set->n_patterns + 1, sizeof(*s->may));
	s->data = pcre2_match_data_create(1, NULL);
	s->context = pcre2_match_context_create(NULL);
	if (!s->codes || !s->last_seen || !s->may || !s->data || !s->context)
		return &cs_nomem;
	pcre2_set_match_limit(s->context, CS_MAX_MATCH_STEPS);
	pcre2_set_depth_limit(s->context, CS_MAX_MATCH_DEPTH);
	pcre2_set_heap_limit(s->context, CS_MAX_MATCH_HEAP / 1024);
	CS_TRY(enter_all(s));
	*ret = CS_TAKE(s);
	return NULL;
}

void cs_scanner_destroy(struct cs_scanner *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->codes && i < s->n_codes; i++)
		pcre2_code_free(s->codes[i]);
	free(s->codes);
	pcre2_match_data_free(s->data);
	pcre2_match_context_free(s->context);
	free(s->entries.v);
	free(s->always.v);
	free(s->candidates.v);
	free(s->first);
	free(s->last_seen);
	free(s->may);
	free(s);
}

static struct cs_error *note(struct cs_scanner *s, uint32_t pattern, size_t text)
{
	struct candidate c = {.pattern = pattern};

	if (s->last_seen[pattern] == text + 1)
		return NULL;
	s->last_seen[pattern] = text + 1;
	s->may[pattern] |= (uint8_t)(1U << s->facts->texts[text].kind);
	return CS_PUSH(&s->candidates, c, CS_MAX_CANDIDATES, "patterns worth trying");
}

static struct cs_error *find_literals(struct cs_scanner *s, size_t text)
{
	const char *bytes = s->facts->texts[text].text;
	size_t len = strlen(bytes);

	for (size_t i = 0; i + CS_LEAST_LITERAL <= len; i++) {
		uint32_t at = s->buckets[folded_bucket((const unsigned char *)bytes + i)];

		while (at) {
			const struct entry *e = &s->entries.v[at - 1];

			at = e->next;
			if (i < e->at || len - (i - e->at) < e->len ||
			    strncasecmp(bytes + i - e->at, e->literal, e->len))
				continue;
			CS_TRY(note(s, e->pattern, text));
		}
	}
	return NULL;
}

struct cs_error *cs_scanner_load(struct cs_scanner *s, const struct cs_facts *facts)
{
	s->facts = facts;
	s->limits_hit = 0;
	s->spent_ms = 0;
	s->candidates.n = 0;
	memset(s->last_seen, 0, s->set->n_patterns * sizeof(*s->last_seen));
	memset(s->may, 0, s->set->n_patterns);
	free(s->first);
	s->first = calloc((size_t)facts->n_texts + 1, sizeof(*s->first));
	if (!s->first)
		return &cs_nomem;
	for (size_t i = 0; i < facts->n_texts; i++) {
		struct cs_error *err;

		s->first[i] = s->candidates.n;
		err = find_literals(s, i);
		for (size_t k = 0; !err && k < s->always.n; k++)
			err = note(s, s->always.v[k], i);
		if (err && cs_error_code(err) == CS_ERR_LIMIT)
			s->limits_hit++;
		else if (err)
			return err;
		if (err)
			cs_error_destroy(err);
	}
	s->first[facts->n_texts] = s->candidates.n;
	return NULL;
}

bool cs_scan_may(const struct cs_scanner *s, uint32_t pattern, enum cs_text_kind kind)
{
	return s->may[pattern] & 1U << kind;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static bool run(struct cs_scanner *s, uint32_t pattern, const char *bytes)
{
	double start = now_ms();
	int n;

	if (s->spent_ms > CS_MAX_MATCH_MS) {
		s->limits_hit++;
		return false;
	}

	if (!s->codes[pattern])
		s->codes[pattern] = cs_pattern_compile(s->set->patterns[pattern].text, NULL, 0);
	if (!s->codes[pattern]) {
		s->nomem = true; /* it was compiled before, when it was read */
		return false;
	}
	n = pcre2_match(s->codes[pattern], (PCRE2_SPTR)bytes, strlen(bytes), 0, 0, s->data, s->context);
	s->limits_hit +=
		n == PCRE2_ERROR_MATCHLIMIT || n == PCRE2_ERROR_DEPTHLIMIT || n == PCRE2_ERROR_HEAPLIMIT;
	s->nomem |= n == PCRE2_ERROR_NOMEMORY;
	s->spent_ms += now_ms() - start;
	return n >= 0;
}

bool cs_scan_bytes(struct cs_scanner *s, uint32_t pattern, const char *bytes)
{
	return run(s, pattern, bytes);
}

bool cs_scan_text(struct cs_scanner *s, uint32_t pattern, uint32_t text)
{
	if (!(s->may[pattern] & 1U << s->facts->texts[text].kind))
		return false;
	for (size_t i = s->first[text]; i < s->first[text + 1]; i++) {
		struct candidate *c = &s->candidates.v[i];

		if (c->pattern != pattern)
			continue;
		if (c->answer == UNTRIED)
			c->answer = run(s, pattern, s->facts->texts[text].text) ? YES : NO;
		return c->answer == YES;
	}
	return false;
}

uint32_t cs_scan_next(struct cs_scanner *s, uint32_t text, size_t *at)
{
	while (s->first[text] + *at < s->first[text + 1]) {
		uint32_t pattern = s->candidates.v[s->first[text] + (*at)++].pattern;

		if (cs_scan_text(s, pattern, text))
			return pattern;
	}
	return 0;
}

void cs_scan_where(struct cs_scanner *s, uint32_t pattern, uint32_t text, size_t *ret_start,
		   size_t *ret_end)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->data);
	bool found = run(s, pattern, s->facts->texts[text].text);

	*ret_start = found ? at[0] : 0;
	*ret_end = found ? at[1] : 0;
}

size_t cs_scan_limits_hit(const struct cs_scanner *s)
{
	return s->limits_hit;
}

bool cs_scan_nomem(const struct cs_scanner *s)
{
	return s->nomem;
}
