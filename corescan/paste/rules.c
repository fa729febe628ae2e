/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The forms of lines, as patterns. A line is looked at by a hundred of them, so each names a text that must
 * stand in it, and only then is the expression run, under PCRE2's limits: the line may be anybody's.
 */
#include "paste/reading.h"

#include "base/limits.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

#define MAX_GROUPS 16

struct cs_error *cs_rules_init(struct cs_reading *r)
{
	while (cs_dialects[r->n_dialects])
		r->n_dialects++;
	r->codes = calloc(r->n_dialects + 1, sizeof(*r->codes));
	r->data = pcre2_match_data_create(MAX_GROUPS, NULL);
	r->context = pcre2_match_context_create(NULL);
	if (!r->codes || !r->data || !r->context)
		return &cs_nomem;
	for (size_t i = 0; i < r->n_dialects; i++) {
		r->codes[i] = calloc(cs_dialects[i]->n_rules + 1, sizeof(**r->codes));
		if (!r->codes[i])
			return &cs_nomem;
	}
	pcre2_set_match_limit(r->context, CS_MAX_MATCH_STEPS);
	pcre2_set_depth_limit(r->context, CS_MAX_MATCH_DEPTH);
	pcre2_set_heap_limit(r->context, CS_MAX_MATCH_HEAP >> 10);
	return NULL;
}

void cs_rules_deinit(struct cs_reading *r)
{
	for (size_t i = 0; r->codes && i < r->n_dialects; i++) {
		for (size_t k = 0; r->codes[i] && k < cs_dialects[i]->n_rules; k++)
			pcre2_code_free(r->codes[i][k]);
		free(r->codes[i]);
	}
	free(r->codes);
	pcre2_match_data_free(r->data);
	pcre2_match_context_free(r->context);
}

/* NULL only without memory: tests compile every pattern. */
static pcre2_code *code_of(struct cs_reading *r, size_t dialect, size_t rule)
{
	pcre2_code **code = &r->codes[dialect][rule];
	const char *pattern = cs_dialects[dialect]->rules[rule].pattern;
	PCRE2_SIZE at;
	int why;

	if (!*code)
		*code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_NO_UTF_CHECK,
				      &why, &at, NULL);
	r->nomem |= !*code;
	return *code;
}

static bool take(struct cs_paster *p, size_t dialect, size_t rule, const struct cs_line *line)
{
	const struct cs_rule *row = &cs_dialects[dialect]->rules[rule];
	struct cs_reading *r = p->reading;
	PCRE2_SIZE at[2 * MAX_GROUPS];
	struct cs_groups g = {.subject = line->text, .at = at};
	pcre2_code *code;
	int n;

	if (row->literal && !strstr(line->text, row->literal))
		return false;
	code = code_of(r, dialect, rule);
	if (!code)
		return false;
	n = pcre2_match(code, (PCRE2_SPTR)line->text, line->len, 0, PCRE2_NO_UTF_CHECK, r->data,
			r->context);
	if (n <= 0)
		return false;
	/* The rule's function may look further, with patterns of its own. */
	memcpy(at, pcre2_get_ovector_pointer(r->data), 2 * sizeof(*at) * (unsigned)n);
	g.n = (unsigned)n;
	return !row->take || row->take(p, line, &g);
}

bool cs_rules_take(struct cs_paster *p, size_t dialect, const struct cs_line *line)
{
	for (size_t i = 0; i < cs_dialects[dialect]->n_rules; i++)
		if (take(p, dialect, i, line))
			return true;
	return false;
}

const char *cs_group_bytes(const struct cs_groups *g, unsigned n, size_t *ret_len)
{
	*ret_len = 0;
	if (n >= g->n || g->at[2 * n] == PCRE2_UNSET || g->at[2 * n + 1] <= g->at[2 * n])
		return NULL;
	*ret_len = g->at[2 * n + 1] - g->at[2 * n];
	return g->subject + g->at[2 * n];
}

bool cs_group_is(const struct cs_groups *g, unsigned n)
{
	size_t len;

	return cs_group_bytes(g, n, &len) != NULL;
}

const char *cs_group_text(struct cs_paster *p, const struct cs_groups *g, unsigned n)
{
	size_t len;
	const char *bytes = cs_group_bytes(g, n, &len);

	return bytes ? cs_paster_keep(p, bytes, len) : NULL;
}

bool cs_group_number(const struct cs_groups *g, unsigned n, int base, uint64_t *ret)
{
	char digits[32], *end;
	size_t len;
	const char *bytes = cs_group_bytes(g, n, &len);

	*ret = 0;
	if (!bytes || len >= sizeof(digits) || *bytes == '-' || *bytes == '+' || *bytes == ' ')
		return false;
	memcpy(digits, bytes, len);
	digits[len] = '\0';
	errno = 0;
	*ret = strtoull(digits, &end, base);
	return !errno && !*end && end != digits;
}

int32_t cs_group_id(const struct cs_groups *g, unsigned n)
{
	uint64_t id;

	return cs_group_number(g, n, 10, &id) && id <= INT32_MAX ? (int32_t)id : 0;
}

bool cs_group_frame(const struct cs_groups *g, unsigned n, int64_t *ret)
{
	uint64_t number;

	if (!cs_group_number(g, n, 10, &number) || number > CS_MAX_FACT_FRAMES)
		return false;
	*ret = (int64_t)number;
	return true;
}
