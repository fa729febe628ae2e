/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Fingerprints: what two processes that died of the same thing have in common, as two short strings.
 *
 * The short form is of function names alone, so that a core, the output of gcore and the text of a debugger
 * have the same; the long one adds the signal, the message and the frames further out. What is left out
 * is in corpus/signatures/fingerprint.yaml. docs/HOWTO-fingerprint.md has the rules.
 */
#ifndef CS_SIGNATURE_FINGERPRINT_H
#define CS_SIGNATURE_FINGERPRINT_H

#include "signature/facts.h"
#include "signature/scan.h"

/** The lists, ready for use, for one process after another. */
struct cs_fingerprinter;

/** With @lists, which must outlive it. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_fingerprinter_create(const struct cs_print_lists *lists,
						       struct cs_fingerprinter **ret);
void cs_fingerprinter_destroy(struct cs_fingerprinter *p);

/**
 * The fingerprint of @facts. Its texts are in @arena.
 *
 * @set     the built-in signatures: which threads are idle (decoys) must not depend on anybody's folder
 * @scanner with @facts loaded, as cs_match() leaves it; of @set or of a set made by adding to it
 *
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_fingerprint_make(struct cs_fingerprinter *p,
						   const struct cs_signature_set *set,
						   struct cs_scanner *scanner,
						   const struct cs_facts *facts, struct cs_arena *arena,
						   struct cs_fingerprint *ret);

CS_DEFINE_CLEANUP(struct cs_fingerprinter *, cs_fingerprinter_destroy)

#endif
