/* SPDX-License-Identifier: GPL-3.0-or-later */
/** YAML files as trees of nodes with line numbers. Aliases and tags are refused: nothing multiplies. */
#ifndef CS_SIGNATURE_YAML_H
#define CS_SIGNATURE_YAML_H

#include "signature/signature.h"

enum cs_yaml_kind { CS_YAML_TEXT, CS_YAML_LIST, CS_YAML_MAP };

struct cs_yaml {
	enum cs_yaml_kind kind;
	uint32_t line;         /* from 1 */
	const char *text;      /* of a text */
	const char *key;       /* of a map's member */
	struct cs_yaml *first; /* items of a list, members of a map */
	struct cs_yaml *next;  /* sibling, or the next document */
};

/**
 * The documents of @bytes, as a chain, in @arena. What is wrong becomes a complaint; @ret then has
 * the documents before it. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_yaml_read(const char *name, const void *bytes, size_t len,
					    struct cs_arena *arena, struct cs_complaints *complaints,
					    struct cs_yaml **ret);

/** Add "@file:@line: text" to the list; what has no room is counted. */
void cs_complain(struct cs_complaints *c, const char *file, uint32_t line, const char *fmt, ...)
	CS_PRINTF(4, 5);

#endif
