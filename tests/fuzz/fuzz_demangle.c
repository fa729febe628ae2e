/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling and short names. The input is a symbol's name; it is also taken for a
 * demangled one, which gives the short form text that no demangler would print.
 */
#include "base/limits.h"
#include "base/text.h"
#include "symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct cs_arena *arena, const char *function)
{
	const char *brief = cs_short_name(arena, function), *again;

	if (!brief || strlen(brief) > strlen(function))
		abort();
	again = cs_short_name(arena, brief);
	if (!again || strcmp(again, brief))
		abort(); /* the short form of a short form is itself */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_arena *arena = cs_arena_create(64UL << 20);
	char *symbol = strndup((const char *)data, size);
	const char *name, *text;

	if (!arena || !symbol)
		abort();
	name = cs_demangle(arena, symbol);
	text = cs_text_utf8(arena, symbol, strlen(symbol));
	if (!name || !text)
		abort();
	if (strlen(name) > 3 * CS_MAX(CS_MAX_DEMANGLED, (unsigned long)size))
		abort();
	check(arena, name);
	check(arena, text);
	free(symbol);
	cs_arena_destroy(arena);
	return 0;
}
