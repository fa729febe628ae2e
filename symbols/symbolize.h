/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What an address means: function, source line, inlined calls.
 *
 * All distinct addresses of all stacks come in one call, and each module's symbol table is read in one
 * streamed pass; no index is built and modules without an address are not opened.
 */
#ifndef CS_SYMBOLS_SYMBOLIZE_H
#define CS_SYMBOLS_SYMBOLIZE_H

#include "symbols/modules.h"

struct cs_inline_call {
	const char *function; /* of the inlined function */
	const char *short_name;
	const char *file; /* where execution is within it */
	uint32_t line, column;
};

struct cs_location {
	uint64_t lookup; /* in: the address looked up; for a return address, the pc minus 1 */
	const struct cs_module *module; /* NULL: in no module */
	const char *function;   /* demangled; NULL: none known */
	const char *short_name; /* see cs_short_name(); NULL: as function */
	uint64_t offset;        /* lookup - start of function */
	bool nearest;           /* lookup lies outside the symbol's size */
	const char *file;       /* of the outermost, that is not inlined, function */
	uint32_t line, column;
	const struct cs_inline_call *inlines; /* innermost first */
	size_t n_inlines;
};

/**
 * Fill in @locations, which must be sorted by `lookup` and distinct. All strings are in @arena.
 * What cannot be found stays NULL. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_symbolize(struct cs_modules *modules, struct cs_arena *arena,
					    struct cs_diags *diags, struct cs_location *locations,
					    size_t n);

#endif
