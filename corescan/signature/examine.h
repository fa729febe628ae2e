/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What facts mean: the known problems that fit them, and their fingerprint. */
#ifndef CS_SIGNATURE_EXAMINE_H
#define CS_SIGNATURE_EXAMINE_H

#include "signature/match.h"

struct cs_examiner;

struct cs_examined {
	struct cs_findings findings;
	struct cs_fingerprint fingerprint;
};

/** @set: the signatures to look for, which must outlive it. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_examiner_create(const struct cs_signature_set *set,
						  struct cs_examiner **ret);
void cs_examiner_destroy(struct cs_examiner *e);

/** @arena receives what is found; texts may point into the set and @facts. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_examine(struct cs_examiner *e, const struct cs_facts *facts,
					  struct cs_arena *arena, struct cs_examined *ret);

CS_DEFINE_CLEANUP(struct cs_examiner *, cs_examiner_destroy)

#endif
