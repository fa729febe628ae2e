/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Where a module's thread-local variables lie, as the dynamic linker says (glibc: elf/dl-tls.c,
 * sysdeps/generic/dl-dtv.h; the ABIs' documents on thread-local storage).
 */
#ifndef CS_SYMBOLS_TLS_H
#define CS_SYMBOLS_TLS_H

#include "symbols/modules.h"

/** One module's thread-local storage. */
struct cs_tls {
	uint64_t size; /* bytes of each thread's block */
	uint64_t id;   /* number of the module in each thread's vector; 0: not known */
	bool fixed;    /* the block lies at the same distance from each thread pointer */
	int64_t distance; /* of the block's first byte from the thread pointer, bytes */
};

/** Bytes of @mod's block of each thread; 0: it has none. Reads nothing. */
uint64_t cs_mod_tls_size(const struct cs_mod *mod);

/**
 * The storage of @mod. Its number comes from a slot that the linker filled in (relocations DTPMOD64 and
 * TLSDESC of local variables); that of the executable is always 1. False: the module has none.
 */
CS_MUST_CHECK bool cs_mod_tls(struct cs_mod *mod, const struct cs_arch *arch, struct cs_mem *mem,
			      bool executable, struct cs_tls *ret);

/**
 * Address of the block of @tls in the thread with thread pointer @pointer; 0: it has none (a thread gets
 * one at its first access), or it cannot be read.
 */
uint64_t cs_tls_block(const struct cs_tls *tls, const struct cs_arch *arch, struct cs_mem *mem,
		      uint64_t pointer);

/** True if the dynamic section of @mod names a library that begins with @prefix ("libstdc++.so"). */
bool cs_mod_needs(struct cs_mod *mod, const char *prefix);

#endif
