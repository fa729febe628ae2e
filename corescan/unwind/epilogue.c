/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that nothing describes, but that is about to return: what it does after the call it is in is to
 * take its frame down, and that says how large the frame is. Stubs made at run time are like that, among
 * them the trampolines of CPython's perf support (Python/asm_trampoline.S).
 *
 * Refuses anything but a straight way from the return address to ret.
 */
#include "unwind/stepper.h"

#define MAX_EPILOGUE 24 /* bytes of code; six pops, an add and ret have 18 */

enum cs_found cs_epilogue_step(struct cs_unwinder *u, const struct cs_cursor *in,
			       struct cs_caller *ret)
{
	const struct cs_arch *arch = u->arch;
	uint8_t code[MAX_EPILOGUE];
	struct cs_epilogue e;
	uint64_t base = in->sp, value;

	if (in->exact || in->row || !in->known || !arch->epilogue)
		return CS_FOUND_NOTHING;
	if (!arch->epilogue(code, cs_mem_read_some(u->mem, in->pc, code, sizeof(code)), &e))
		return CS_FOUND_NOTHING;
	if (e.from_fp && !cs_regs_get(&in->regs, arch->fp, &base))
		return CS_FOUND_NOTHING;
	ret->address = base + e.ra_at;
	ret->regs = in->regs;
	ret->regs.known &= arch->callee_saved;
	for (unsigned r = 0; r < arch->n_regs; r++)
		if (e.restored >> r & 1 && cs_mem_u64(u->mem, base + e.at[r], &value))
			cs_regs_set(&ret->regs, r, value);
	if (!cs_mem_u64(u->mem, ret->address, &value))
		return CS_FOUND_UNREADABLE;
	if (!cs_pc_returnable(u, value))
		return CS_FOUND_NOTHING;
	cs_regs_set(&ret->regs, arch->pc, value);
	ret->cfa = ret->address + 8;
	cs_regs_set(&ret->regs, arch->sp, ret->cfa);
	ret->trust = CS_TRUST_CFI; /* nothing was guessed: the code itself says it */
	return CS_FOUND_CALLER;
}
