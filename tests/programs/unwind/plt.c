/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dies within its own procedure linkage table: the table's slot for plt_target() is overwritten with a wild
 * address, so the jump in the stub faults there. CFI describes a stub by an expression.
 */
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;

/* Every lazily bound slot now holds an address that cannot be jumped to, not even by its pc. */
static void spoil_slots(void)
{
	uint64_t *slots = NULL;
	size_t bytes = 0;

	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_PLTGOT)
			slots = (uint64_t *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ)
			bytes = d->d_un.d_val;
	}
	for (size_t i = 0; slots && i < bytes / sizeof(ElfW(Rela)); i++)
		slots[3 + i] = 0x4141414141414141; /* not canonical: the fault comes in the stub */
}

NOINLINE static void plt_1(void)
{
	sink = rand();
	sink++;
}

int main(void)
{
	spoil_slots();
	plt_1();
	return 2;
}
