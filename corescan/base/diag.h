/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Collecting diagnostics: the things that limit an analysis without ending it. */
#ifndef CS_BASE_DIAG_H
#define CS_BASE_DIAG_H

#include "base/arena.h"
#include "base/vec.h"
#include "corescan/analysis.h"

struct cs_diags {
	struct cs_arena *arena; /* not owned; holds the texts */
	CS_VEC(struct cs_diagnostic) list;
	size_t dropped; /* beyond CS_MAX_DIAGNOSTICS, or for want of memory */
};

/** @layer and @code must be string literals. Never fails: what has no room is counted. */
void cs_diag(struct cs_diags *diags, enum cs_severity severity, const char *layer,
	     const char *code, int32_t tid, const char *fmt, ...) CS_PRINTF(6, 7);

/** As cs_diag(), with an error's message; takes @err over. NULL @err adds nothing. */
void cs_diag_error(struct cs_diags *diags, enum cs_severity severity, const char *layer,
		   const char *code, int32_t tid, struct cs_error *err);

#endif
