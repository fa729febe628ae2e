/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The whole unwinder: a module whose .eh_frame_hdr and .eh_frame are the input, in the file that libdw
 * reads and in the memory that libunwind reads, and a stack that is the input's first 512 bytes.
 */
#include "unwind/unwind.h"

#include "base/limits.h"
#include "tests/unit/fake_modules.h"
#include "tests/unit/fake_target.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BIAS 0x500000UL
#define TABLES 0x200UL /* offset of .eh_frame_hdr in the image */
#define IMAGE 0x4000UL
#define STACK 0x7ff00000UL
#define STACK_BYTES 512UL

static void make_image(uint8_t *image, uint16_t machine, const uint8_t *tables, size_t len)
{
	Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2};
	Elf64_Phdr ph[2] = {
		{.p_type = PT_LOAD, .p_filesz = IMAGE, .p_memsz = IMAGE, .p_flags = PF_R | PF_X},
		{.p_type = PT_GNU_EH_FRAME, .p_offset = TABLES, .p_vaddr = TABLES},
	};

	len = CS_MIN(len, IMAGE - TABLES);
	ph[1].p_filesz = ph[1].p_memsz = len;
	memset(image, 0x90, IMAGE);
	memcpy(image, &eh, sizeof(eh));
	memcpy(image + sizeof(eh), ph, sizeof(ph));
	if (len)
		memcpy(image + TABLES, tables, len);
}

static void unwind(struct fake_target *target, struct cs_modules *modules, const struct cs_regs *regs)
{
	struct cs_target *t = fake_cs(target);
	struct cs_unwinder *u;
	struct cs_raw_stack stack = {0};
	struct cs_mem *mem;

	if (!cs_ok(cs_mem_create(t, &mem)) ||
	    !cs_ok(cs_unwinder_create(mem, modules, cs_arch_find(t->machine), 0, &u)))
		abort();
	if (cs_ok(cs_unwind(u, regs, &stack))) {
		if (stack.n == 0 || stack.n > CS_MAX_RAW_FRAMES)
			abort();
		cs_raw_stack_deinit(&stack);
	}
	cs_unwinder_destroy(u);
	cs_mem_destroy(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[IMAGE];
	uint8_t words[STACK_BYTES] = {0};
	size_t used = CS_MIN(size, STACK_BYTES);
	uint16_t machine = size % 2 ? EM_AARCH64 : EM_X86_64;
	const struct cs_arch *arch = cs_arch_find(machine);
	struct fake_target *target = fake_create(machine);
	struct cs_modules *modules = fake_modules_create();
	struct cs_regs regs = {0};

	if (used)
		memcpy(words, data, used);
	make_image(image, machine, data + used, size - used);
	fake_map(target, BIAS, image, IMAGE, CS_PROT_READ | CS_PROT_EXEC);
	fake_map(target, STACK, words, STACK_BYTES, CS_PROT_READ | CS_PROT_WRITE);
	fake_module(modules, BIAS, BIAS + IMAGE, BIAS, image, IMAGE);
	for (unsigned reg = 0; reg < arch->n_regs; reg++)
		cs_regs_set(&regs, reg, STACK + reg * 8);
	cs_regs_set(&regs, arch->sp, STACK);
	cs_regs_set(&regs, arch->pc, BIAS + 0x2000 + words[0]);
	unwind(target, modules, &regs);
	cs_modules_destroy(modules);
	fake_destroy(target);
	return 0;
}
