/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signal frames: the registers that the kernel saved when it delivered a signal.
 *
 * Knows a signal frame by the code of the kernel's return trampoline at its pc, whether or not anything
 * describes that code: libdw has no rules for the one of aarch64, and a stripped libc may have none.
 * Refuses to know what a signal means.
 */
#include "unwind/stepper.h"

#include <string.h>

#define MAX_TRAMPOLINE 16

bool cs_sigframe_at(const struct cs_unwinder *u, uint64_t pc)
{
	const struct cs_arch *arch = u->arch;
	uint8_t code[MAX_TRAMPOLINE];

	return arch->sigreturn_len && arch->sigreturn_len <= sizeof(code) &&
	       cs_mem_read_some(u->mem, pc, code, arch->sigreturn_len) == arch->sigreturn_len &&
	       memcmp(code, arch->sigreturn_code, arch->sigreturn_len) == 0;
}

enum cs_found cs_sigframe_step(struct cs_unwinder *u, const struct cs_cursor *in,
			       struct cs_caller *ret)
{
	const struct cs_arch *arch = u->arch;
	uint64_t base = in->sp + arch->sigframe_regs, v;

	ret->regs.known = 0;
	for (unsigned reg = 0; reg < arch->n_regs && reg < CS_REGS; reg++) {
		int offset = arch->sigframe_reg_offsets[reg];

		if (offset < 0)
			continue;
		ret->address = base + (unsigned)offset;
		if (!cs_mem_u64(u->mem, ret->address, &v))
			return CS_FOUND_UNREADABLE;
		cs_regs_set(&ret->regs, reg, v);
	}
	ret->cfa = 0;
	ret->trust = CS_TRUST_CONTEXT;
	return CS_FOUND_CALLER;
}

void cs_sigframe_info(const struct cs_unwinder *u, const struct cs_cursor *in,
		      struct cs_interrupted *ret)
{
	/*
	 * The kernel fills it in only for handlers with SA_SIGINFO (linux: arch/x86/kernel/signal.c,
	 * x64_setup_rt_frame), so what lies there may be anything; si_errno is always 0 in truth.
	 *
	 * siginfo_t: si_signo 0, si_errno 4, si_code 8, si_addr 16;
	 * linux: include/uapi/asm-generic/siginfo.h
	 */
	uint64_t info = in->sp + u->arch->sigframe_info, address;
	uint32_t signo, error, code;

	if (!cs_mem_u32(u->mem, info, &signo) || !cs_mem_u32(u->mem, info + 4, &error) ||
	    !cs_mem_u32(u->mem, info + 8, &code) ||
	    !cs_mem_u64(u->mem, info + 16, &address))
		return;
	if (signo == 0 || signo > 64 || error != 0)
		return;
	ret->signo = (int)signo;
	ret->code = (int)code;
	ret->address = address;
}
