/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Regular expressions: compiling them under our options, and what a match of one must contain. */
#ifndef CS_SIGNATURE_PATTERN_H
#define CS_SIGNATURE_PATTERN_H

#include "signature/signature.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/** Texts that are shorter than this are in too many others to say anything. */
#define CS_LEAST_LITERAL 3

/** @text compiled: UTF-8, ^ and $ at lines. NULL and @why (of @size bytes) if it is no expression. */
CS_MUST_CHECK pcre2_code *cs_pattern_compile(const char *text, char *why, size_t size);

/**
 * Fill in the literals of @pattern, lower-case, in @arena: one of them is in every text that it
 * matches. None where the expression has constructs that are not looked into. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_pattern_literals(struct cs_arena *arena, struct cs_pattern *pattern);

#endif
