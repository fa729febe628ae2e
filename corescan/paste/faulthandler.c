/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python's faulthandler: "Fatal Python error: Aborted", "Thread 0x7f.. (most recent call first)". */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_faulthandler = {
	.name = "faulthandler",
};
