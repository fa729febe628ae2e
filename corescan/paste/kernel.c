/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's log: segfaults, Xid errors of the NVIDIA driver, the OOM killer. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_kernel = {
	.name = "dmesg",
};
