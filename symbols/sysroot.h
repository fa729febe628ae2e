/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Opening a file that the target names, in the target's own root. */
#ifndef CS_SYMBOLS_SYSROOT_H
#define CS_SYMBOLS_SYSROOT_H

#include "base/file.h"

/** Open regular file @path as a process whose root is @root would; @root NULL: plainly. */
CS_MUST_CHECK struct cs_error *cs_open_in_root(const char *root, const char *path,
					       struct cs_file **ret);

#endif
