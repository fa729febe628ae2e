/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lldb: bt, bt all, thread backtrace all. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_lldb = {
	.name = "lldb",
};
