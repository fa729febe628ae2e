/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Call frame programs looked at before libdw runs them.
 *
 * libdw 0.188 runs a program whatever its length, keeps as many saved states as the program asks for, and
 * makes its register table as large as the largest register number it meets. A crafted module could so
 * ask for minutes and gigabytes. The vet walks a program's operations without executing them.
 */
#ifndef CS_UNWIND_VET_H
#define CS_UNWIND_VET_H

#include "base/error.h"

#include <gelf.h>

struct cs_vet;

/**
 * For the .eh_frame of @elf, which is not owned and must outlive the result.
 * Errors: NOMEM, NOT_FOUND (no .eh_frame), FORMAT.
 */
CS_MUST_CHECK struct cs_error *cs_vet_create(Elf *elf, struct cs_vet **ret);
void cs_vet_destroy(struct cs_vet *vet);

/** True if the entry that covers @addr (an address in the file) is within bounds. */
CS_MUST_CHECK bool cs_vet_allows(struct cs_vet *vet, uint64_t addr);

/**
 * True if the call frame program @program, that of a CIE or an FDE, is within bounds, names only registers
 * below @registers and sets no location by a pointer.
 */
CS_MUST_CHECK bool cs_vet_program(const void *program, size_t len, uint64_t registers);

CS_DEFINE_CLEANUP(struct cs_vet *, cs_vet_destroy)

#endif
