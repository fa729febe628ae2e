/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Which patterns are found in which texts: of all pairs, only those whose literals meet are tried.
 *
 * A scanner belongs to one set; the facts of one process after another are loaded into it. Patterns are
 * compiled when they are first tried, so those that no process ever comes near cost nothing.
 */
#ifndef CS_SIGNATURE_SCAN_H
#define CS_SIGNATURE_SCAN_H

#include "signature/facts.h"

struct cs_scanner;

/** @set must outlive it. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_scanner_create(const struct cs_signature_set *set,
						 struct cs_scanner **ret);
void cs_scanner_destroy(struct cs_scanner *s);

/** Take the texts of @facts, which must outlive their use; those before are forgotten. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_scanner_load(struct cs_scanner *s, const struct cs_facts *facts);

/** True if @pattern may be found in some text of @kind: its literals are there. */
bool cs_scan_may(const struct cs_scanner *s, uint32_t pattern, enum cs_text_kind kind);

/** True if @pattern is found in text number @text. Remembers the answer. */
bool cs_scan_text(struct cs_scanner *s, uint32_t pattern, uint32_t text);

/** The next pattern that is found in text number @text, 0: no more; *@at is 0 before the first. */
uint32_t cs_scan_next(struct cs_scanner *s, uint32_t text, size_t *at);

/** Where in the text the pattern is found, in bytes; call it only after cs_scan_text() was true. */
void cs_scan_where(struct cs_scanner *s, uint32_t pattern, uint32_t text, size_t *ret_start,
		   size_t *ret_end);

/** True if @pattern is found in @bytes, which is no text of the facts. */
bool cs_scan_bytes(struct cs_scanner *s, uint32_t pattern, const char *bytes);

/** How many searches ended at a limit since the facts were loaded: their patterns count as not found. */
size_t cs_scan_limits_hit(const struct cs_scanner *s);
/** True once there was no memory: answers since then are not to be used. */
bool cs_scan_nomem(const struct cs_scanner *s);

CS_DEFINE_CLEANUP(struct cs_scanner *, cs_scanner_destroy)

#endif
