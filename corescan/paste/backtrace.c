/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks that handlers inside the process print: glog, absl, Ray, UCX, glibc's backtrace_symbols(), Rust. */
#include "paste/paster.h"

const struct cs_dialect cs_dialect_backtrace = {
	.name = "backtrace",
};
