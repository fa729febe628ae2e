/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What loggers, launchers and log collectors put before a line: when it was printed, by
 * whom, how bad it is. */
#ifndef CS_PASTE_PREFIX_H
#define CS_PASTE_PREFIX_H

#include "base/limits.h"

#include <stdbool.h>
#include <stddef.h>

struct cs_prefix {
	size_t len;  /* bytes of all that stands before the line */
	size_t lead; /* of these, the last ones: see struct cs_line */
	char label[CS_MAX_PASTE_LABEL + 1]; /* "": it does not say whose the line is */
	char level;                         /* as in struct cs_line, as `carries` */
	bool carries;
};

/**
 * Read what stands before the line @text. What might be the line's own is left there: a
 * piece is taken only in a form that no tool prints at the beginning of a frame, a thread
 * or a message.
 */
void cs_prefix_read(const char *text, struct cs_prefix *ret);

#endif
