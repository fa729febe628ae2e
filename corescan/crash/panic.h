/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What a process said before it called abort(), where it was not the C library that said it: the
 * texts of Py_FatalError(), of Rust panics, and of the fatal log messages of glog, Abseil and c10.
 *
 * Nothing keeps such a text for a debugger. It is read from where the functions that reported it
 * left it: from their frames, from what these point to, or from the code that called them. A text
 * is given only if what surrounds it proves what it is; no text is better than a wrong one.
 */
#ifndef CS_CRASH_PANIC_H
#define CS_CRASH_PANIC_H

#include "crash/crash.h"

/* cs_crash.message_source */
#define CS_SOURCE_PYTHON "Py_FatalError"
#define CS_SOURCE_RUST "Rust panic"
#define CS_SOURCE_GLOG "glog"
#define CS_SOURCE_ABSL "absl log"
#define CS_SOURCE_C10 "c10 log"
#define CS_SOURCE_TSL "TensorFlow log"

/**
 * Adds to Py_FatalError()'s message what it prints after it since CPython 3.8: the state of the runtime.
 * @crash with another message stays as it is, and so does a runtime whose state is not known.
 */
void cs_panic_add_state(struct cs_arena *arena, const struct cs_python *python, struct cs_crash *crash);

#endif
