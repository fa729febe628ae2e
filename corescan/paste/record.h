/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Reports that are split into frames already: one JSON object each. */
#ifndef CS_PASTE_RECORD_H
#define CS_PASTE_RECORD_H

#include "paste/paste.h"

/**
 * The report of a record: one line of JSON in the form of corpus/cases (docs/HOWTO-signatures.md), which may
 * be anybody's. All of @ret is in @arena; its source also where the rest is an error.
 * Errors: FORMAT (the message says which key is wrong), LIMIT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_paste_of_record(const char *line, size_t len, struct cs_arena *arena,
						  struct cs_paste *ret);

#endif
