/* SPDX-License-Identifier: GPL-3.0-or-later */
/* py-spy dump, as text. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_py_spy = {
	.name = "py-spy",
};
