/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch's own backtraces: "frame #0: c10::Error::Error(...) + 0x57 (0x7f.. in /path/libc10.so)". */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_torch = {
	.name = "pytorch",
};
