/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Modules that a test makes up, in place of the symbols layer: link this instead of it.
 */
#ifndef TESTS_FAKE_MODULES_H
#define TESTS_FAKE_MODULES_H

#include "symbols/modules.h"

/** No module at all. */
struct cs_modules *fake_modules_create(void);
/** One more, at [@start, @end); @image (may be NULL) is an ELF file in memory, not owned. */
struct cs_mod *fake_module(struct cs_modules *modules, uint64_t start, uint64_t end, uint64_t bias,
			   void *image, size_t len);

#endif
