/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Which signatures fit the facts of a process, in order, with what is seen of each. */
#ifndef CS_SIGNATURE_MATCH_H
#define CS_SIGNATURE_MATCH_H

#include "signature/facts.h"
#include "signature/scan.h"

struct cs_findings {
	const struct cs_finding *v; /* in the arena; the cause first */
	size_t n;
	size_t dropped;    /* beyond CS_MAX_FINDINGS */
	size_t limits_hit; /* searches that ended at a limit */
};

/**
 * Match all signatures of @set against @facts.
 *
 * @scanner of the same set; takes the facts' texts
 * @arena   receives the findings; their texts may point into @set and @facts
 *
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_match(const struct cs_signature_set *set, struct cs_scanner *scanner,
					const struct cs_facts *facts, struct cs_arena *arena,
					struct cs_findings *ret);

/**
 * The findings of an analysis, from the built-in signatures and those of folder @dir (NULL: none).
 * What is wrong with the folder's files becomes diagnostics. Fills ret->findings and ret->fingerprint.
 * Errors: NOMEM.
 */
struct cs_diags;
CS_MUST_CHECK struct cs_error *cs_signatures_match(const char *dir, struct cs_arena *arena,
						   struct cs_diags *diags, struct cs_analysis *ret);

/**
 * Which stacks are those of idle threads, by their native frames alone where they have any: so the answer is
 * the same for the text of a debugger, which has no others.
 *
 * @scanner with @facts loaded, as cs_match() leaves it; of @set or of a set made by adding to it
 * @ret     one for each stack
 *
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_match_idle(const struct cs_signature_set *set,
					     struct cs_scanner *scanner, const struct cs_facts *facts,
					     bool *ret);

/* ---- between match.c and finding.c ---- */

/** A signature that fits, and what was seen. */
struct cs_hit {
	const struct cs_signature *signature;
	enum cs_confidence confidence;
	bool doubted; /* less sure than the signature is by itself, for what is seen proves less */
	struct cs_evidence *evidence; /* in the arena */
	size_t n_evidence;
};

/** Put @hits into order: priority, then what `wins_over` says, then confidence and id. */
void cs_hits_order(struct cs_hit *hits, size_t n);

/** The finding of @hit, with the steps that apply to the process. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_finding_make(const struct cs_hit *hit, const struct cs_facts *facts,
					       struct cs_arena *arena, struct cs_finding *ret);

/** True unless a version that the facts know lies outside. */
bool cs_versions_hold(const struct cs_version_tests *tests, const struct cs_facts *facts);
/** The variable's value; NULL: not set, or not known. */
const char *cs_facts_variable(const struct cs_facts *facts, const char *name);

#endif
