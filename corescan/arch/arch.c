/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding an architecture by its ELF machine, and reading registers by its tables. */
#include "arch/internal.h"

#include <elf.h>

static const struct cs_arch *const arches[] = {&cs_arch_x86_64, &cs_arch_aarch64};

const struct cs_arch *cs_arch_find(uint16_t machine)
{
	for (size_t i = 0; i < CS_COUNT(arches); i++)
		if (arches[i]->machine == machine)
			return arches[i];
	return NULL;
}

const char *cs_machine_name(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{EM_X86_64, "x86_64"},     {EM_AARCH64, "aarch64"}, {EM_386, "i386"},
		{EM_ARM, "arm"},           {EM_PPC, "ppc"},         {EM_PPC64, "ppc64"},
		{EM_S390, "s390"},         {EM_RISCV, "riscv"},     {EM_MIPS, "mips"},
		{EM_SPARCV9, "sparc64"},   {EM_IA_64, "ia64"},      {EM_ALPHA, "alpha"},
		{EM_68K, "m68k"},          {EM_PARISC, "hppa"},     {EM_SH, "sh"},
		{EM_LOONGARCH, "loongarch"}, {EM_CUDA, "NVIDIA CUDA"}, {EM_AMDGPU, "AMD GPU"},
		{EM_BPF, "bpf"},
	};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return NULL;
}

bool cs_arch_prstatus_regs(const struct cs_arch *arch, struct cs_buf *desc, struct cs_regs *ret)
{
	struct cs_regs regs = {.known = 0};
	uint64_t slot;

	for (unsigned i = 0; i < arch->n_regs; i++) {
		if (arch->reg_slots[i] < 0)
			continue;
		if (!cs_buf_seek(desc, arch->prstatus.regs + 8U * (unsigned)arch->reg_slots[i],
				 "pr_reg") ||
		    !cs_buf_u64(desc, "pr_reg", &slot))
			return false;
		cs_regs_set(&regs, i, slot);
	}
	*ret = regs;
	return true;
}

uint64_t cs_arch_prstatus_thread_pointer(const struct cs_arch *arch, struct cs_buf *desc)
{
	uint64_t ret = 0;

	if (arch->prstatus.thread_pointer < 0 ||
	    !cs_buf_seek(desc, arch->prstatus.regs + 8U * (unsigned)arch->prstatus.thread_pointer,
			 "pr_reg") ||
	    !cs_buf_u64(desc, "pr_reg", &ret))
		return 0;
	return ret;
}

bool cs_arch_after_clone(const struct cs_arch *arch, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < CS_COUNT(arch->clone_code); i++)
		if (n >= arch->clone_len &&
		    !memcmp(bytes + n - arch->clone_len, arch->clone_code[i], arch->clone_len))
			return true;
	return false;
}
