/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What throws.cc and the library that it loads share. */
#ifndef TESTS_TORCH_THROWS_H
#define TESTS_TORCH_THROWS_H

/** Notes one exception of the calling thread; @type is mangled. */
typedef void record_fn(const char *state, bool fatal, const char *code, const char *type,
		       const char *text);

#endif
