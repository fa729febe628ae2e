/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Files of records, one JSON object a line: each matched against signatures, in order. */
#ifndef CS_CLI_RECORDS_H
#define CS_CLI_RECORDS_H

#include "base/error.h"
#include "signature/examine.h"

/** What became of one record. Valid during the call that it is given to. */
struct cs_record {
	const char *text; /* the line as it stands in the file, without its end */
	size_t len;
	size_t line;                  /* its number, from 1 */
	const char *source;           /* NULL: it does not say */
	const struct cs_error *error; /* why it could not be read; NULL: it was */
	struct cs_examined found;     /* all zero if it could not be read */
};

/** An error ends the reading. */
typedef struct cs_error *cs_record_fn(void *arg, const struct cs_record *record);

/**
 * Match each line of @path ("-": standard input) and give it to @fn; empty lines are skipped. A line that
 * is no record is given as well, with its error. Errors: OS, NOMEM, and those of @fn.
 */
CS_MUST_CHECK struct cs_error *cs_records_match(const char *path, const struct cs_signature_set *set,
						cs_record_fn *fn, void *arg);

/**
 * The built-in signatures with those of folder @dir (NULL: none). Errors: ARGUMENT (the first complaint
 * about a file, and how many more there are), OS, LIMIT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_signatures_choose(const char *dir, struct cs_arena *arena,
						    struct cs_signature_set *ret);

#endif
