/* SPDX-License-Identifier: GPL-3.0-or-later */
/* eu-stack, pstack and gstack: stacks of all threads of a process or core. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_eu_stack = {
	.name = "eu-stack",
};
