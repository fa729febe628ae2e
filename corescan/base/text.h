/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Making bytes from a target fit to print. */
#ifndef CS_BASE_TEXT_H
#define CS_BASE_TEXT_H

#include "base/arena.h"

/**
 * @len bytes as valid UTF-8 in @arena: every byte that is not part of a valid sequence becomes U+FFFD.
 * Control characters are kept (JSON escapes them); see cs_text_visible() for terminals. NULL on exhaustion.
 */
CS_MUST_CHECK char *cs_text_utf8(struct cs_arena *arena, const void *bytes, size_t len);

/**
 * Length of the valid UTF-8 sequence at @p, 1 .. 4, or 0 if there is none. Overlong forms, surrogates and
 * values above U+10FFFF are invalid.
 */
size_t cs_utf8_sequence(const unsigned char *p, size_t left);

/** True for characters that may reach a terminal: no C0 or C1 controls, no DEL, no bidi overrides. */
bool cs_text_is_safe(const unsigned char *p, size_t sequence_len);

#endif
