/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything else that a process, its launcher or its scheduler says about its end. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_log = {
	.name = "log",
};
