/* SPDX-License-Identifier: GPL-3.0-or-later */
/* py-spy dump --json. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_py_spy_json = {
	.name = "py-spy",
};
