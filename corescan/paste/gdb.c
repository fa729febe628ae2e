/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gdb: bt, thread apply all bt, and what it prints when it opens a core. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_gdb = {
	.name = "gdb",
};
