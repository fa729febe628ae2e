/* SPDX-License-Identifier: GPL-3.0-or-later */
/** One instruction in words: text, length, memory operands. */
#ifndef CS_SYMBOLS_DISASM_H
#define CS_SYMBOLS_DISASM_H

#include "arch/arch.h"

enum cs_access { CS_ACCESS_UNKNOWN, CS_ACCESS_READ, CS_ACCESS_WRITE };

struct cs_insn {
	char text[128];   /* AT&T syntax on x86_64, as gdb and objdump print by default */
	unsigned length;  /* bytes */
	bool has_operand; /* it has a memory operand that it accesses: not that of lea or
			     a prefetch */
	bool operand_known; /* all its registers were known */
	uint64_t operand_address;
	char operand[160]; /* "0x10(%rax,%rcx,8) = 0x18 (rax = 0x0, rcx = 0x1)" */
	enum cs_access
		access; /* of the memory operand; WRITE also where it reads and writes */
	/*
	 * A second access: the stack by call, push, pop and ret, the destination of a
	 * string instruction. Has the same meaning as the fields above.
	 */
	bool has_implicit, implicit_known;
	uint64_t implicit_address;
	char implicit[160];
	enum cs_access implicit_access;
	/* Value of its one register operand, where it has no other ("call *%rax", "idiv
	 * %ecx"). */
	bool value_known;
	uint64_t value;
	const char *isa; /* instruction set extension it needs ("AVX-512", "AMX", "SVE");
			    NULL: baseline */
};

/**
 * Decode the instruction at the start of @bytes, which lies at @pc in a process whose
 * registers are
 * @regs. Where libopcodes was built without aarch64, its loads, stores, branches and
 * traps are decoded by our own table and other instructions read ".inst 0x...". Errors:
 * NOT_FOUND (no valid instruction), UNSUPPORTED (machine not built in).
 */
CS_MUST_CHECK struct cs_error *cs_disasm(const struct cs_arch *arch, const uint8_t *bytes,
					 size_t n, uint64_t pc,
					 const struct cs_regs *regs, struct cs_insn *ret);

#endif
