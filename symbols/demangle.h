/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Readable names for C++ and Rust symbols, with bounds on time and size whatever the
 * name holds. */
#ifndef CS_SYMBOLS_DEMANGLE_H
#define CS_SYMBOLS_DEMANGLE_H

#include "base/arena.h"

/**
 * @symbol demangled, or itself if it is not mangled or too costly (CS_MAX_MANGLED,
 * CS_MAX_DEMANGLED); valid UTF-8, interned in @arena. NULL only on exhaustion. A symbol
 * version ("@@GLIBC_2.2") is cut off, clone suffixes (".cold", ".constprop.0", ".part.1")
 * are kept as gdb shows them.
 */
const char *cs_demangle(struct cs_arena *arena, const char *symbol);

/**
 * A short form of demangled name @function: template arguments as <...>, parameters
 * dropped, lambdas and anonymous namespaces kept as "{lambda}" and "(anonymous
 * namespace)"; operators, including operator<, operator() and conversions, intact.
 * Interned; @function itself if there is nothing to shorten.
 */
const char *cs_short_name(struct cs_arena *arena, const char *function);

#endif
