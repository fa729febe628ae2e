/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * DWARF expressions. Input: registers' known mask (1 byte), then operations of 4 bytes: atom, a signed
 * operand, a second one, and the length by which the next operation's offset is greater.
 */
#include "unwind/expr.h"

#include "base/limits.h"
#include "tests/unit/fake_target.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_OPS 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fake_target *target;
	static struct cs_mem *mem; /* the same for all inputs: nothing changes it */
	struct cs_regs regs = {0};
	struct cs_expr_scope scope = {.regs = &regs, .has_cfa = true, .cfa = 0x1010};
	static Dwarf_Op ops[MAX_OPS];
	size_t n = 0, offset = 0;
	uint64_t result;
	bool value;

	if (!target) {
		target = fake_create(EM_X86_64);
		fake_map(target, 0x1000, NULL, 64, CS_PROT_READ);
		if (!cs_ok(cs_mem_create(fake_cs(target), &mem)))
			abort();
	}
	scope.mem = mem;
	for (unsigned reg = 0; size && reg < 8; reg++)
		if (data[0] >> reg & 1)
			cs_regs_set(&regs, reg, 0x1000 + reg);
	for (size_t at = 1; at + 4 <= size && n < MAX_OPS; at += 4) {
		ops[n++] = (Dwarf_Op){.atom = data[at],
				      .number = (uint64_t)(int64_t)(int8_t)data[at + 1],
				      .number2 = (uint64_t)(int64_t)(int8_t)data[at + 2],
				      .offset = offset};
		offset += data[at + 3] & 7;
	}
	if (cs_expr_eval(&scope, ops, n, &result, &value) == CS_EXPR_OK && n == 0)
		abort(); /* nothing cannot have a value */
	return 0;
}
