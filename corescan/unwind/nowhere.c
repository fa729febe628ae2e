/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A pc where no code is: a call through a NULL or wild pointer.
 *
 * Knows that the call itself has been done and nothing since: the return address is still where the call
 * instruction put it. Refuses to guess after a wild jump or return, which leaves no return address.
 */
#include "unwind/stepper.h"

enum cs_found cs_nowhere_step(struct cs_unwinder *u, const struct cs_cursor *in,
			      struct cs_caller *ret)
{
	const struct cs_arch *arch = u->arch;
	uint64_t ra, sp = in->sp;

	ret->address = sp;
	if (arch->link >= 0) {
		if (!cs_regs_get(&in->regs, (unsigned)arch->link, &ra))
			return CS_FOUND_NOTHING;
	} else {
		if (!cs_mem_u64(u->mem, sp, &ra))
			return CS_FOUND_UNREADABLE;
		sp += 8;
	}
	ra = cs_pc_strip(u, ra);
	if (!cs_pc_after_call(u, ra))
		return CS_FOUND_NOTHING;
	ret->regs = in->regs;
	cs_regs_set(&ret->regs, arch->pc, ra);
	cs_regs_set(&ret->regs, arch->sp, sp);
	ret->cfa = sp;
	ret->trust = CS_TRUST_CFI; /* nothing was guessed: this is how a call works */
	return CS_FOUND_CALLER;
}
