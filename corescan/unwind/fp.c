/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The chain of saved frame pointers, for code that nothing describes.
 *
 * Knows the standard frame of each architecture: the caller's frame pointer and the return address lie
 * side by side where the frame pointer points. Refuses a frame pointer that leaves the stack or whose
 * return address does not follow a call, for code without unwind information may use it as it likes.
 */
#include "unwind/stepper.h"

/**
 * A leaf function on a machine with a link register may have no frame of its own: then the frame pointer
 * is still its caller's, and the return address is in the register only.
 */
static bool leaf_caller(const struct cs_unwinder *u, const struct cs_cursor *in, uint64_t saved_ra,
			struct cs_caller *ret)
{
	const struct cs_arch *arch = u->arch;
	uint64_t ra;

	if (!in->exact || arch->link < 0 ||
	    !cs_regs_get(&in->regs, (unsigned)arch->link, &ra))
		return false;
	ra = cs_pc_strip(u, ra);
	if (ra == saved_ra || ra == in->pc || !cs_pc_after_call(u, ra))
		return false;
	ret->regs = in->regs;
	ret->regs.known &= arch->callee_saved;
	cs_regs_set(&ret->regs, arch->pc, ra);
	cs_regs_set(&ret->regs, arch->sp, in->sp);
	ret->cfa = in->sp;
	ret->trust = CS_TRUST_FRAME_POINTER;
	return true;
}

enum cs_found cs_fp_step(struct cs_unwinder *u, const struct cs_cursor *in, struct cs_caller *ret)
{
	const struct cs_arch *arch = u->arch;
	const struct cs_region *stack = cs_mem_region(u->mem, in->sp);
	uint64_t fp, saved_fp, ra;

	if (!cs_regs_get(&in->regs, arch->fp, &fp) || !stack)
		return CS_FOUND_NOTHING;
	if (fp < in->sp || fp >= stack->end || fp % 8)
		return leaf_caller(u, in, 0, ret) ? CS_FOUND_CALLER : CS_FOUND_NOTHING;
	ret->address = fp;
	if (!cs_mem_u64(u->mem, fp + (uint64_t)(int64_t)arch->fp_saved_fp, &saved_fp) ||
	    !cs_mem_u64(u->mem, fp + (uint64_t)(int64_t)arch->fp_saved_ra, &ra))
		return CS_FOUND_UNREADABLE;
	ra = cs_pc_strip(u, ra);
	if (leaf_caller(u, in, ra, ret))
		return CS_FOUND_CALLER;
	if (ra == 0 && saved_fp == 0)
		return CS_FOUND_BOTTOM;
	if (!cs_pc_returnable(u, ra))
		return CS_FOUND_NOTHING;
	ret->regs.known = 0; /* what else the function saved, and where, nobody says */
	cs_regs_set(&ret->regs, arch->pc, ra);
	ret->cfa = fp + (uint64_t)(int64_t)arch->fp_cfa;
	cs_regs_set(&ret->regs, arch->sp, ret->cfa);
	cs_regs_set(&ret->regs, arch->fp, saved_fp);
	ret->trust = CS_TRUST_FRAME_POINTER;
	return CS_FOUND_CALLER;
}
