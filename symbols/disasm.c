/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction as text, by libopcodes. The only file that knows libopcodes, whose
 * interface is not stable (this is that of binutils 2.39 and later); what the text says
 * of memory is worked out by insn_x86.c and insn_arm64.c.
 */
#include "symbols/insn.h"

/* bfd.h wants to be told that it is not included by accident. */
#define PACKAGE "corescan"
#define PACKAGE_VERSION CORESCAN_VERSION
#include <dis-asm.h>

#include <elf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct line {
	char *text;
	size_t len, size;
};

static void CS_PRINTF(2, 0) line_put(struct line *line, const char *fmt, va_list args)
{
	size_t room = line->size - line->len;
	int n = vsnprintf(line->text + line->len, room, fmt, args);

	if (n > 0)
		line->len += CS_MIN((size_t)n, room - 1);
}

static int CS_PRINTF(2, 3) print(void *stream, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	line_put(stream, fmt, args);
	va_end(args);
	return 0;
}

static int CS_PRINTF(3, 4)
	print_styled(void *stream, enum disassembler_style style, const char *fmt, ...)
{
	va_list args;

	(void)style;
	va_start(args, fmt);
	line_put(stream, fmt, args);
	va_end(args);
	return 0;
}

static void print_address(bfd_vma addr, struct disassemble_info *info)
{
	print(info->stream, "0x%llx", (unsigned long long)addr);
}

/** The default prints to stderr, which a library does not. A short read ends the
 * instruction. */
static void memory_error(int status, bfd_vma addr, struct disassemble_info *info)
{
	(void)status;
	(void)addr;
	(void)info;
}

/** Length of the instruction, its text in @ret; 0 if libopcodes lacks @machine or sees no
 * instruction. */
static unsigned decode(uint16_t machine, const uint8_t *bytes, size_t n, uint64_t pc,
		       char *text, size_t size)
{
	struct line line = {.text = text, .size = size};
	struct disassemble_info info;
	disassembler_ftype fn;
	int len;

	init_disassemble_info(&info, &line, print, print_styled);
	info.arch = machine == EM_AARCH64 ? bfd_arch_aarch64 : bfd_arch_i386;
	info.mach = machine == EM_AARCH64 ? bfd_mach_aarch64 : bfd_mach_x86_64;
	info.endian = info.endian_code = BFD_ENDIAN_LITTLE;
	info.buffer = (bfd_byte *)(uintptr_t)bytes; /* only read */
	info.buffer_vma = pc;
	info.buffer_length = n;
	info.print_address_func = print_address;
	info.memory_error_func = memory_error;
	fn = disassembler(info.arch, false, info.mach, NULL);
	if (!fn)
		return 0;
	disassemble_init_for_target(&info);
	len = fn(pc, &info);
	disassemble_free_target(&info);
	while (line.len && text[line.len - 1] == ' ')
		text[--line.len] = '\0';
	/* What is cut off reads ".byte 0x8b", what is no instruction "(bad)" or ";
	 * undefined". */
	if (len <= 0 || (size_t)len > n || text[0] == '.' || strstr(text, "(bad)") ||
	    strstr(text, "undefined"))
		return 0;
	return (unsigned)len;
}

static struct cs_error *disasm_arm64(const uint8_t *bytes, size_t n, uint64_t pc,
				     const struct cs_regs *regs, struct cs_insn *ret)
{
	uint32_t word;

	if (n < sizeof(word))
		return &cs_not_found;
	memcpy(&word, bytes, sizeof(word));
	word = le32toh(word);
	if (!decode(EM_AARCH64, bytes, sizeof(word), pc, ret->text, sizeof(ret->text)))
		ret->text[0] = '\0';
	ret->length = sizeof(word);
	if (!cs_insn_arm64(word, pc, regs, ret) && !ret->text[0])
		snprintf(ret->text, sizeof(ret->text), ".inst 0x%08x", word);
	return NULL;
}

struct cs_error *cs_disasm(const struct cs_arch *arch, const uint8_t *bytes, size_t n,
			   uint64_t pc, const struct cs_regs *regs, struct cs_insn *ret)
{
	struct cs_insn insn = {0};

	if (arch->machine == EM_AARCH64) {
		CS_TRY(disasm_arm64(bytes, n, pc, regs, &insn));
	} else if (arch->machine == EM_X86_64) {
		insn.length =
			decode(arch->machine, bytes, n, pc, insn.text, sizeof(insn.text));
		if (!insn.length)
			return &cs_not_found;
		cs_insn_x86(arch, pc, regs, &insn);
	} else {
		return cs_error_new(CS_ERR_UNSUPPORTED, "no disassembler for %s",
				    arch->name);
	}
	*ret = insn;
	return NULL;
}
