/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings as JSON. Knows the model; refuses to know how a signature is matched. */
#include "report/json_findings.h"

#include "report/report.h"

static json_t *evidence_json(struct cs_json *j, const struct cs_evidence *e)
{
	json_t *o = json_object();

	cs_json_set_int(j, o, "tid", e->tid, e->tid > 0);
	cs_json_set_int(j, o, "frame", e->frame, e->frame >= 0);
	cs_json_set_text(j, o, "text", e->text);
	return o;
}

static json_t *texts_json(struct cs_json *j, const char *const *v, size_t n)
{
	json_t *list = json_array();
	bool cut = false;

	for (size_t i = 0; i < n; i++)
		cs_json_append(j, list, cs_json_string(v[i], &cut));
	return list;
}

static json_t *finding_json(struct cs_json *j, const struct cs_finding *f)
{
	json_t *o = json_object(), *evidence = json_array();

	for (size_t i = 0; i < f->n_evidence; i++)
		cs_json_append(j, evidence, evidence_json(j, &f->evidence[i]));
	cs_json_set_text(j, o, "id", f->id);
	cs_json_set(j, o, "confidence", json_string(cs_confidence_name(f->confidence)));
	cs_json_set_text(j, o, "title", f->title);
	cs_json_set_text(j, o, "explanation", f->explanation);
	cs_json_set(j, o, "next_steps", texts_json(j, f->steps, f->n_steps));
	cs_json_set(j, o, "evidence", evidence);
	cs_json_set(j, o, "references", texts_json(j, f->references, f->n_references));
	cs_json_set_text(j, o, "category", f->category);
	return o;
}

json_t *cs_json_findings(struct cs_json *j, const struct cs_finding *findings, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		cs_json_append(j, list, finding_json(j, &findings[i]));
	return list;
}
