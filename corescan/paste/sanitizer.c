/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of AddressSanitizer and its kin. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_sanitizer = {
	.name = "sanitizer",
};
