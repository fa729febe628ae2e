/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it means: the known problem that fits, why it is thought to, and what to do. The first finding is
 * told in full, for it is the cause; the others are its company and get a line each.
 */
#include "report/text_sections.h"

#include <inttypes.h>

#define MAX_WHY 3    /* pieces of evidence shown without --all */
#define MAX_STEPS 4  /* steps, too */
#define MAX_OTHERS 3 /* further findings, too */
#define WHY_COLUMNS 200

static void put_title(struct cs_text *t, const struct cs_finding *f)
{
	cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_HEAD);
	cs_text_printf(t, "Finding: ");
	cs_text_put(t, f->title);
	cs_text_plain(t);
	cs_text_printf(t, " (%s)\n", cs_confidence_name(f->confidence));
}

static void put_evidence(struct cs_text *t, const struct cs_finding *f)
{
	size_t n = t->options->all ? f->n_evidence : CS_MIN(f->n_evidence, (size_t)MAX_WHY);

	for (size_t i = 0; i < n; i++) {
		const struct cs_evidence *e = &f->evidence[i];

		cs_text_label(t, i ? "" : "why");
		if (e->tid > 0)
			cs_text_printf(t, "thread %" PRId32 " %s ", e->tid,
				       e->frame >= 0 ? "in" : "says");
		else
			cs_text_printf(t, "%s ", e->frame >= 0 ? "in" : "it says");
		cs_text_put_cut(t, e->text, WHY_COLUMNS);
		cs_text_printf(t, "\n");
	}
	if (n < f->n_evidence) {
		cs_text_label(t, "");
		cs_text_printf(t, "(and %s more)\n", cs_text_count(f->n_evidence - n));
	}
}

static void put_steps(struct cs_text *t, const struct cs_finding *f)
{
	size_t n = t->options->all ? f->n_steps : CS_MIN(f->n_steps, (size_t)MAX_STEPS);

	for (size_t i = 0; i < n; i++) {
		cs_text_label(t, i ? "" : "do");
		cs_text_printf(t, "%zu. ", i + 1);
		cs_text_wrapped(t, 2 + CS_TEXT_LABEL + 3, f->steps[i]);
	}
	if (n < f->n_steps) {
		cs_text_label(t, "");
		cs_text_printf(t, "(%s more with --all)\n", cs_text_count(f->n_steps - n));
	}
}

static void put_references(struct cs_text *t, const struct cs_finding *f)
{
	size_t n = t->options->all ? f->n_references : CS_MIN(f->n_references, (size_t)MAX_WHY);

	cs_text_label(t, "id");
	cs_text_put(t, f->id);
	for (size_t i = 0; i < n; i++) {
		cs_text_printf(t, "%s", i ? ", " : "; seen in ");
		cs_text_put(t, f->references[i]);
	}
	cs_text_printf(t, "\n");
}

static void put_others(struct cs_text *t, const struct cs_analysis *a)
{
	size_t others = a->n_findings - 1;
	size_t n = t->options->all ? others : CS_MIN(others, (size_t)MAX_OTHERS);

	for (size_t i = 1; i <= n; i++) {
		const struct cs_finding *f = &a->findings[i];

		cs_text_label(t, i > 1 ? "" : "also fits");
		cs_text_put(t, f->title);
		cs_text_printf(t, " (%s, ", cs_confidence_name(f->confidence));
		cs_text_put(t, f->id);
		cs_text_printf(t, ")\n");
	}
	if (n < others) {
		cs_text_label(t, "");
		cs_text_printf(t, "(and %s more with --all)\n", cs_text_count(others - n));
	}
}

/* Nothing fits: that is an answer, too, and what is known stands around it. */
void cs_text_no_finding(struct cs_text *t, size_t n_signatures)
{
	if (!n_signatures)
		return;
	cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_HEAD);
	cs_text_printf(t, "Finding: none");
	cs_text_plain(t);
	cs_text_printf(t, " of the %s known problems fits\n", cs_text_count(n_signatures));
}

void cs_text_findings(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_finding *f = a->n_findings ? &a->findings[0] : NULL;

	if (!f && a->crash.signal)
		cs_text_no_finding(t, a->n_signatures);
	if (!f)
		return;
	put_title(t, f);
	cs_text_printf(t, "  ");
	cs_text_wrapped(t, 2, f->explanation ? f->explanation : "");
	put_evidence(t, f);
	put_steps(t, f);
	put_references(t, f);
	put_others(t, a);
}
