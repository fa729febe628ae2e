/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python tracebacks: "Traceback (most recent call last)". */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_traceback = {
	.name = "traceback",
};
