/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One instruction on either machine: the first byte chooses machine and known registers.
 */
#include "symbols/disasm.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cs_arch *arch;
	struct cs_regs regs = {0};
	struct cs_insn insn;
	struct cs_error *err;

	if (size < 1)
		return 0;
	arch = cs_arch_find(data[0] & 1 ? EM_AARCH64 : EM_X86_64);
	for (unsigned i = 0; i < arch->n_regs; i++)
		if (!(data[0] & 2) || (data[0] >> (i % 6 + 2) & 1))
			cs_regs_set(&regs, i, 0x0123456789abcdefULL * (i + 1));
	err = cs_disasm(arch, data + 1, size - 1, 0x401000, &regs, &insn);
	if (err) {
		cs_error_destroy(err);
		return 0;
	}
	if (!insn.length || insn.length > size - 1 || !insn.text[0] ||
	    strlen(insn.text) >= sizeof(insn.text))
		abort();
	if (insn.operand_known && !insn.has_operand)
		abort();
	return 0;
}
