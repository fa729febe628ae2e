/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matching and fingerprint, with the tools that both need and that are made once. The fingerprint is of the
 * built-in set whatever else is looked for: it must be the same for everybody.
 */
#include "signature/examine.h"

#include "signature/fingerprint.h"

struct cs_examiner {
	const struct cs_signature_set *set; /* not owned */
	struct cs_scanner *scanner;
	struct cs_fingerprinter *printer;
};

struct cs_error *cs_examiner_create(const struct cs_signature_set *set, struct cs_examiner **ret)
{
	CS_CLEANUP(cs_examiner_destroyp) struct cs_examiner *e = calloc(1, sizeof(*e));

	if (!e)
		return &cs_nomem;
	e->set = set;
	CS_TRY(cs_scanner_create(set, &e->scanner));
	CS_TRY(cs_fingerprinter_create(&cs_signatures_builtin.print, &e->printer));
	*ret = CS_TAKE(e);
	return NULL;
}

void cs_examiner_destroy(struct cs_examiner *e)
{
	if (!e)
		return;
	cs_scanner_destroy(e->scanner);
	cs_fingerprinter_destroy(e->printer);
	free(e);
}

struct cs_error *cs_examine(struct cs_examiner *e, const struct cs_facts *facts, struct cs_arena *arena,
			    struct cs_examined *ret)
{
	CS_TRY(cs_match(e->set, e->scanner, facts, arena, &ret->findings));
	return cs_fingerprint_make(e->printer, &cs_signatures_builtin, e->scanner, facts, arena,
				   &ret->fingerprint);
}
