/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Lines of Python source files; private to the analyze layer. */
#ifndef CS_SOURCE_H
#define CS_SOURCE_H

#include "crash/crash.h"

struct cs_source;

/**
 * @sysroot NULL: plainly. Files that are newer than the core are not what ran, and are not used.
 * Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_source_create(const struct cs_scene *scene, const char *sysroot,
						struct cs_source **ret);
void cs_source_destroy(struct cs_source *source);

/** Line @line of @path without its indentation, as UTF-8 in the arena; NULL: not to be had. */
const char *cs_source_line(struct cs_source *source, const char *path, uint32_t line);

#endif
