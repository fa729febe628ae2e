/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Inside the making of fingerprints: names and messages in the form in which they are compared. */
#ifndef CS_SIGNATURE_PRINT_H
#define CS_SIGNATURE_PRINT_H

#include "base/arena.h"

/**
 * The function of frame text @text ("function (library)", further lines are other ways to write it):
 * "g::f" of "void g::f<int>(int) const (libg.so)", "memcpy" of "__memmove_avx_unaligned_erms (libc.so.6)".
 * The library is no part of it, for debuggers leave it out where they know the line.
 *
 * Of a frame without a name it is the library, "[libcuda]", without version and build. Where that is not
 * known, or says nothing because it is the C library or the program: NULL.
 *
 * @ret the same pointer for the same name, in @arena. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_print_native(struct cs_arena *arena, const char *text,
					       const char **ret);

/** The same of a Python frame: "get (queue.py)" of "Queue.get (/usr/lib/python3.11/queue.py)". */
CS_MUST_CHECK struct cs_error *cs_print_python(struct cs_arena *arena, const char *text,
					       const char **ret);

/**
 * What is the same in the message whenever it is said: its first line, without numbers, addresses, folders,
 * hosts. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_print_message(struct cs_arena *arena, const char *text,
						const char **ret);

#endif
