/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pystack remote and pystack core. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_pystack = {
	.name = "pystack",
};
