/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions and their memory operands. Bytes and texts are those of GNU as and
 * objdump; addresses are worked out by hand for a process whose register of DWARF number
 * n holds n * 0x1000.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/disasm.h"

#include <elf.h>
#include <string.h>

#define PC 0x4000

/* rax 0, rdx 0x1000, rcx 0x2000, rbx 0x3000, rsi 0x4000, rdi 0x5000, rbp 0x6000, rsp
 * 0x7000, rN 0xN000 */
static struct cs_regs registers(void)
{
	struct cs_regs regs = {0};

	for (unsigned i = 0; i < CS_REGS; i++)
		cs_regs_set(&regs, i, 0x1000 * i);
	return regs;
}

enum { U = CS_ACCESS_UNKNOWN, R = CS_ACCESS_READ, W = CS_ACCESS_WRITE };

struct expected {
	const char *bytes;
	unsigned length;
	const char *text;
	const char *operand; /* NULL: none */
	uint64_t address;    /* 0 with an operand: not known, or NULL itself */
	int access;
	uint64_t implicit; /* 0: none */
	int implicit_access;
	const char *isa;
};

static const struct expected x86[] = {
	{"\x8b\x08", 2, "mov    (%rax),%ecx", "(%rax) = 0x0 (rax = 0x0)", 0, R, 0, U,
	 NULL},
	{"\x89\x04\x25\x10\0\0\0", 7, "mov    %eax,0x10", "0x10", 0x10, W, 0, U, NULL},
	{"\xa0\x88\x77\x66\x55\x44\x33\x22\x11", 9, "movabs 0x1122334455667788,%al",
	 "0x1122334455667788", 0x1122334455667788, R, 0, U, NULL},
	{"\x64\x48\x8b\x04\x25\x28\0\0\0", 9, "mov    %fs:0x28,%rax", "%fs:0x28", 0, R, 0,
	 U, NULL},
	{"\x48\x8d\x18", 3, "lea    (%rax),%rbx", NULL, 0, U, 0, U, NULL},
	{"\x66\x0f\x1f\x44\0\0", 6, "nopw   0x0(%rax,%rax,1)", NULL, 0, U, 0, U, NULL},
	{"\xf3\xa4", 2, "rep movsb %ds:(%rsi),%es:(%rdi)",
	 "(%rsi) = 0x4000 (rsi = 0x4000)", 0x4000, R, 0x5000, W, NULL},
	{"\xf3\x48\xab", 3, "rep stos %rax,%es:(%rdi)", "(%rdi) = 0x5000 (rdi = 0x5000)",
	 0x5000, W, 0, U, NULL},
	{"\xff\x50\x18", 3, "call   *0x18(%rax)", "0x18(%rax) = 0x18 (rax = 0x0)", 0x18,
	 R, 0x6ff8, W, NULL},
	{"\xff\xd0", 2, "call   *%rax", NULL, 0, U, 0x6ff8, W, NULL},
	{"\xe8\0\0\0\0", 5, "call   0x4005", NULL, 0, U, 0x6ff8, W, NULL},
	{"\x74\x10", 2, "je     0x4012", NULL, 0, U, 0, U, NULL},
	{"\x55", 1, "push   %rbp", NULL, 0, U, 0x6ff8, W, NULL},
	{"\xc3", 1, "ret", NULL, 0, U, 0x7000, R, NULL},
	{"\xc9", 1, "leave", NULL, 0, U, 0x6000, R, NULL},
	{"\x8f\x40\x08", 3, "pop    0x8(%rax)", "0x8(%rax) = 0x8 (rax = 0x0)", 8, W,
	 0x7000, R, NULL},
	{"\x83\x44\x8d\xfc\x01", 5, "addl   $0x1,-0x4(%rbp,%rcx,4)",
	 "-0x4(%rbp,%rcx,4) = 0xdffc (rbp = 0x6000, rcx = 0x2000)", 0xdffc, W, 0, U,
	 NULL},
	{"\xf0\x0f\xb1\x0a", 4, "lock cmpxchg %ecx,(%rdx)",
	 "(%rdx) = 0x1000 (rdx = 0x1000)", 0x1000, W, 0, U, NULL},
	{"\x80\x3f\0", 3, "cmpb   $0x0,(%rdi)", "(%rdi) = 0x5000 (rdi = 0x5000)", 0x5000,
	 R, 0, U, NULL},
	{"\x8b\x05\x34\x12\0\0", 6, "mov    0x1234(%rip),%eax        # 0x523a",
	 "0x1234(%rip) = 0x523a", 0x523a, R, 0, U, NULL},
	{"\x47\x8a\xbc\x75\xff\xff\xff\x7f", 8, "mov    0x7fffffff(%r13,%r14,2),%r15b",
	 "0x7fffffff(%r13,%r14,2) = 0x80028fff (r13 = 0xd000, r14 = 0xe000)", 0x80028fff,
	 R, 0, U, NULL},
	{"\x67\x89\x06", 3, "mov    %eax,(%esi)", "(%esi) = 0x4000 (esi = 0x4000)",
	 0x4000, W, 0, U, NULL},
	{"\x0f\x94\x01", 3, "sete   (%rcx)", "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, W,
	 0, U, NULL},
	{"\xdd\x19", 2, "fstpl  (%rcx)", "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, W, 0,
	 U, NULL},
	{"\xd8\xc1", 2, "fadd   %st(1),%st", NULL, 0, U, 0, U, NULL},
	{"\xee", 1, "out    %al,(%dx)", NULL, 0, U, 0, U, NULL},
	{"\x0f\x0b", 2, "ud2", NULL, 0, U, 0, U, NULL},
	{"\x62\xf1\x7c\xc9\x10\x09", 6, "vmovups (%rcx),%zmm1{%k1}{z}",
	 "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, R, 0, U, "AVX-512"},
	{"\x62\xf2\x7d\x49\x92\x14\x88", 7, "vgatherdps (%rax,%zmm1,4),%zmm2{%k1}",
	 "(%rax,%zmm1,4)", 0, R, 0, U, "AVX-512"},
	{"\xc4\xe2\x7d\x58\x09", 5, "vpbroadcastd (%rcx),%ymm1",
	 "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, R, 0, U, "AVX2"},
	{"\xc5\xfc\x58\xc0", 4, "vaddps %ymm0,%ymm0,%ymm0", NULL, 0, U, 0, U, "AVX"},
	{"\xc4\xe2\x75\xa8\x11", 5, "vfmadd213ps (%rcx),%ymm1,%ymm2",
	 "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, R, 0, U, "FMA"},
	{"\xc4\xe2\x78\x49\x01", 5, "ldtilecfg (%rcx)", "(%rcx) = 0x2000 (rcx = 0x2000)",
	 0x2000, R, 0, U, "AMX"},
	{"\x66\x0f\x3a\x14\x01\x01", 6, "pextrb $0x1,%xmm0,(%rcx)",
	 "(%rcx) = 0x2000 (rcx = 0x2000)", 0x2000, W, 0, U, "SSE4.1"},
};

/* x1 0x1000, x2 0x2000, x3 0x3000, sp 0x1f000 */
static const struct expected arm64[] = {
	{"\x20\x00\x40\xf9", 4, NULL, "[x1] = 0x1000 (x1 = 0x1000)", 0x1000, R, 0, U,
	 NULL},
	{"\x20\x10\x40\xb9", 4, NULL, "[x1, #16] = 0x1010 (x1 = 0x1000)", 0x1010, R, 0, U,
	 NULL},
	{"\xe5\x0f\x00\x79", 4, NULL, "[sp, #6] = 0x1f006 (sp = 0x1f000)", 0x1f006, W, 0,
	 U, NULL},
	{"\xe0\x0f\x1f\xf8", 4, NULL, "[sp, #-16]! = 0x1eff0 (sp = 0x1f000)", 0x1eff0, W,
	 0, U, NULL},
	{"\x41\x84\x40\xfc", 4, NULL, "[x2], #8 = 0x2000 (x2 = 0x2000)", 0x2000, R, 0, U,
	 NULL},
	{"\x20\x78\x62\xf8", 4, NULL,
	 "[x1, x2, lsl #3] = 0x11000 (x1 = 0x1000, x2 = 0x2000)", 0x11000, R, 0, U, NULL},
	{"\xfd\x7b\xbe\xa9", 4, NULL, "[sp, #-32]! = 0x1efe0 (sp = 0x1f000)", 0x1efe0, W,
	 0, U, NULL},
	{"\x20\xfc\x02\xc8", 4, NULL, "[x1] = 0x1000 (x1 = 0x1000)", 0x1000, W, 0, U,
	 NULL},
	{"\x41\x00\x20\xb8", 4, NULL, "[x2] = 0x2000 (x2 = 0x2000)", 0x2000, W, 0, U,
	 "LSE"},
	{"\x23\x74\x0b\xd5", 4, NULL, "[x3] = 0x3000 (x3 = 0x3000)", 0x3000, W, 0, U,
	 NULL},
	{"\x20\x00\x02\x8b", 4, NULL, NULL, 0, U, 0, U, NULL}, /* add x0, x1, x2 */
	{"\x00\xa0\x40\xa5", 4, NULL, NULL, 0, U, 0, U, "SVE"},
	{"\x00\x00\x20\xd4", 4, NULL, NULL, 0, U, 0, U, NULL}, /* brk #0x0 */
};

static void check(uint16_t machine, const struct expected *e)
{
	struct cs_regs regs = registers();
	struct cs_insn insn;

	assert_null(cs_disasm(cs_arch_find(machine), (const uint8_t *)e->bytes, e->length,
			      PC, &regs, &insn));
	assert_int_equal(insn.length, e->length);
	if (e->text)
		assert_string_equal(insn.text, e->text);
	assert_int_equal(insn.has_operand, e->operand != NULL);
	if (e->operand) {
		assert_string_equal(insn.operand, e->operand);
		assert_int_equal(insn.operand_known,
				 e->address || strstr(e->operand, "= 0x0"));
		if (insn.operand_known)
			assert_int_equal(insn.operand_address, e->address);
	}
	assert_int_equal(insn.access, e->access);
	assert_int_equal(insn.has_implicit, e->implicit != 0);
	if (e->implicit)
		assert_int_equal(insn.implicit_address, e->implicit);
	assert_int_equal(insn.implicit_access, e->implicit_access);
	if (e->isa)
		assert_string_equal(insn.isa, e->isa);
	else
		assert_null(insn.isa);
}

static void x86_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(x86) / sizeof(*x86); i++)
		check(EM_X86_64, &x86[i]);
}

static void arm64_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(arm64) / sizeof(*arm64); i++)
		check(EM_AARCH64, &arm64[i]);
}

static void unknown_registers_leave_the_address_unknown(void **state)
{
	struct cs_regs none = {0};
	struct cs_insn insn;

	(void)state;
	assert_null(cs_disasm(cs_arch_find(EM_X86_64), (const uint8_t *)"\x8b\x08", 2, PC,
			      &none, &insn));
	assert_true(insn.has_operand);
	assert_false(insn.operand_known);
	assert_string_equal(insn.operand, "(%rax)");
	assert_null(cs_disasm(cs_arch_find(EM_AARCH64),
			      (const uint8_t *)"\x20\x78\x62\xf8", 4, PC, &none, &insn));
	assert_true(insn.has_operand);
	assert_false(insn.operand_known);
	assert_string_equal(insn.operand, "[x1, x2, lsl #3]");
}

static void no_instruction(void **state)
{
	struct cs_regs regs = registers();
	struct cs_insn insn;

	(void)state;
	/* cut off, and invalid in 64-bit mode */
	assert_ptr_equal(cs_disasm(cs_arch_find(EM_X86_64), (const uint8_t *)"\x8b", 1,
				   PC, &regs, &insn),
			 &cs_not_found);
	assert_ptr_equal(cs_disasm(cs_arch_find(EM_X86_64), (const uint8_t *)"\x06", 1,
				   PC, &regs, &insn),
			 &cs_not_found);
	assert_ptr_equal(cs_disasm(cs_arch_find(EM_X86_64), (const uint8_t *)"", 0, PC,
				   &regs, &insn),
			 &cs_not_found);
	assert_ptr_equal(cs_disasm(cs_arch_find(EM_AARCH64), (const uint8_t *)"\0\0\0", 3,
				   PC, &regs, &insn),
			 &cs_not_found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_instructions),
		cmocka_unit_test(arm64_instructions),
		cmocka_unit_test(unknown_registers_leave_the_address_unknown),
		cmocka_unit_test(no_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
