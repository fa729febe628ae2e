/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From signatures that fit to findings: which comes first, and which of its steps are for this process.
 * Knows versions and environment; refuses to know how a signature was matched.
 */
#include "signature/match.h"

#include "base/diag.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "signature/examine.h"

#include <string.h>

const char *cs_facts_variable(const struct cs_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->n_environment; i++)
		if (!strcmp(facts->environment[i].name, name))
			return facts->environment[i].value;
	return NULL;
}

bool cs_versions_hold(const struct cs_version_tests *tests, const struct cs_facts *facts)
{
	for (uint32_t i = 0; i < tests->n; i++)
		for (size_t k = 0; k < facts->n_versions; k++)
			if (!strcmp(facts->versions[k].name, tests->v[i].name) &&
			    !cs_version_test_holds(&tests->v[i], facts->versions[k].value))
				return false;
	return true;
}

/* What became only possible by what was seen does not come before what is known. */
static int by_rank(const void *a, const void *b)
{
	const struct cs_hit *x = a, *y = b;
	bool x_only = x->doubted && x->confidence == CS_CONFIDENCE_POSSIBLE;
	bool y_only = y->doubted && y->confidence == CS_CONFIDENCE_POSSIBLE;

	if (x_only != y_only)
		return x_only ? 1 : -1;
	if (x->signature->priority != y->signature->priority)
		return x->signature->priority > y->signature->priority ? -1 : 1;
	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	return strcmp(x->signature->id, y->signature->id);
}

static bool wins_over(const struct cs_signature *winner, const struct cs_signature *loser)
{
	for (uint32_t i = 0; i < winner->wins_over.n; i++)
		if (!strcmp(winner->wins_over.v[i], loser->id))
			return true;
	return false;
}

/* Move hits[from] up to hits[to]. */
static void move_up(struct cs_hit *hits, size_t from, size_t to)
{
	struct cs_hit moved = hits[from];

	memmove(&hits[to + 1], &hits[to], (from - to) * sizeof(*hits));
	hits[to] = moved;
}

void cs_hits_order(struct cs_hit *hits, size_t n)
{
	if (n > 1)
		qsort(hits, n, sizeof(*hits), by_rank);
	/* One that wins moves before the first that it wins over. Two that win over each other end the
	   passes by their number. */
	for (size_t pass = 0; pass < n; pass++) {
		bool moved = false;

		for (size_t i = 1; i < n; i++) {
			size_t to = 0;

			while (to < i && !wins_over(hits[i].signature, hits[to].signature))
				to++;
			if (to == i || wins_over(hits[to].signature, hits[i].signature))
				continue;
			move_up(hits, i, to);
			moved = true;
		}
		if (!moved)
			break;
	}
}

static bool is_known(const struct cs_facts *facts, const char *name)
{
	for (size_t i = 0; i < facts->n_versions; i++)
		if (!strcmp(facts->versions[i].name, name))
			return true;
	return false;
}

static void put_version(struct cs_strbuf *sb, const struct cs_version_test *test)
{
	static const struct {
		const char *op, *word;
	} words[] = {{">=", "from "}, {"<", "before "}, {">", "after "}, {"<=", "up to "}, {"=", ""}};
	const char *word = "not ";

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (!strcmp(words[i].op, test->op))
			word = words[i].word;
	cs_strbuf_printf(sb, "%s%s", word, test->version);
}

/* The step; where the version is not known that it is for, with that: "... (torch from 2.2, before 2.8)". */
static const char *step_text(const struct cs_advice *step, const struct cs_facts *facts,
			     struct cs_arena *arena)
{
	struct cs_strbuf sb;
	const char *text;

	cs_strbuf_init(&sb, CS_MAX_PATTERN);
	for (uint32_t i = 0; i < step->versions.n; i++) {
		const struct cs_version_test *test = &step->versions.v[i];
		bool same = i && !strcmp(test->name, test[-1].name);

		if (is_known(facts, test->name))
			continue;
		cs_strbuf_puts(&sb, sb.len ? ", " : " (");
		if (!same)
			cs_strbuf_printf(&sb, "%s ", test->name);
		put_version(&sb, test);
	}
	text = sb.len ? cs_arena_printf(arena, "%s%s)", step->text, cs_strbuf_text(&sb)) : step->text;
	cs_strbuf_deinit(&sb);
	return text;
}

static struct cs_error *pick_steps(const struct cs_signature *s, const struct cs_facts *facts,
				   struct cs_arena *arena, struct cs_finding *ret)
{
	const char **steps = cs_arena_calloc(arena, (size_t)s->n_steps + 1, sizeof(*steps));
	size_t n = 0;

	if (!steps)
		return &cs_nomem;
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct cs_advice *step = &s->steps[i];

		if (step->unless_env && cs_facts_variable(facts, step->unless_env))
			continue;
		if (!cs_versions_hold(&step->versions, facts))
			continue;
		steps[n] = step_text(step, facts, arena);
		if (!steps[n++])
			return &cs_nomem;
	}
	ret->steps = steps;
	ret->n_steps = n;
	return NULL;
}

struct cs_error *cs_finding_make(const struct cs_hit *hit, const struct cs_facts *facts,
				 struct cs_arena *arena, struct cs_finding *ret)
{
	const struct cs_signature *s = hit->signature;

	*ret = (struct cs_finding){
		.id = s->id,
		.category = s->category,
		.title = s->title,
		.confidence = hit->confidence,
		.explanation = s->explanation,
		.evidence = hit->evidence,
		.n_evidence = hit->n_evidence,
		.references = s->references.v,
		.n_references = s->references.n,
	};
	return pick_steps(s, facts, arena, ret);
}

static void say_complaints(const struct cs_complaints *c, struct cs_diags *diags)
{
	for (size_t i = 0; i < c->list.n; i++)
		cs_diag(diags, CS_SEVERITY_ERROR, "signature", "signature-file", 0, "%s", c->list.v[i]);
	if (c->dropped)
		cs_diag(diags, CS_SEVERITY_ERROR, "signature", "signature-file", 0,
			"%zu more complaints about signature files; corescan signatures lint shows them",
			c->dropped);
}

/* The folder's signatures on top of the built-in ones; what cannot be read leaves those. */
static struct cs_error *choose_set(const char *dir, struct cs_arena *arena, struct cs_diags *diags,
				   struct cs_signature_set *ret)
{
	struct cs_complaints complaints = {.arena = arena};
	struct cs_error *err;

	*ret = cs_signatures_builtin;
	if (!dir)
		return NULL;
	err = cs_signatures_load(dir, &cs_signatures_builtin, arena, &complaints, ret);
	say_complaints(&complaints, diags);
	free(complaints.list.v);
	if (err && cs_error_code(err) == CS_ERR_NOMEM)
		return err;
	cs_diag_error(diags, CS_SEVERITY_ERROR, "signature", "signature-file", 0, err);
	return NULL;
}

struct cs_error *cs_signatures_match(const char *dir, struct cs_arena *arena, struct cs_diags *diags,
				     struct cs_analysis *ret)
{
	CS_CLEANUP(cs_examiner_destroyp) struct cs_examiner *examiner = NULL;
	struct cs_signature_set set;
	struct cs_examined found;
	struct cs_facts facts;

	CS_TRY(choose_set(dir, arena, diags, &set));
	CS_TRY(cs_facts_of_analysis(ret, arena, &facts));
	CS_TRY(cs_examiner_create(&set, &examiner));
	CS_TRY(cs_examine(examiner, &facts, arena, &found));
	if (facts.dropped || found.findings.limits_hit)
		cs_diag(diags, CS_SEVERITY_WARNING, "signature", "signature-limit", 0,
			"not all of the process was compared with the signatures: %zu frames or messages "
			"were left out, %zu searches ended early",
			facts.dropped, found.findings.limits_hit);
	ret->findings = found.findings.v;
	ret->n_findings = found.findings.n;
	ret->n_signatures = set.n_signatures;
	ret->fingerprint = found.fingerprint;
	return NULL;
}
