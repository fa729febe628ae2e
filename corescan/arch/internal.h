/* SPDX-License-Identifier: GPL-3.0-or-later */
/** The list of architectures, and what the 64-bit ones share. */
#ifndef CS_ARCH_INTERNAL_H
#define CS_ARCH_INTERNAL_H

#include "arch/arch.h"

extern const struct cs_arch cs_arch_x86_64;
extern const struct cs_arch cs_arch_aarch64;

/* struct elf_prpsinfo where long is 8 bytes and ids are 4; linux: include/linux/elfcore.h */
#define CS_PRPSINFO_LP64                                                                 \
	{                                                                                \
		.size = 136, .uid = 16, .gid = 20, .pid = 24, .ppid = 28, .fname = 40,   \
		.psargs = 56                                                             \
	}

#endif
