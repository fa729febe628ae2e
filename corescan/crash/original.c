/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The signal behind a signal: which fault a handler was called for before it ended the
 * process by a signal of its own. faulthandler, DataLoader workers and c10's
 * FatalSignalHandler all do so.
 *
 * The kernel writes siginfo beside the saved registers only for handlers with SA_SIGINFO,
 * which faulthandler is not; but it always saves what the processor said of the last
 * trap. Knows those records, per machine.
 */
#include "crash/internal.h"

#include <elf.h>
#include <signal.h>
#include <string.h>

#define SI_KERNEL_CODE 0x80

/** What the processor said of a trap, in terms of siginfo. */
struct trap {
	int signo, code;
	uint64_t address;
};

/* struct sigcontext_64 from its r8 on: err, trapno, cr2; linux:
 * arch/x86/include/uapi/asm/sigcontext.h */
enum { X86_ERR = 152, X86_TRAPNO = 160, X86_CR2 = 176 };

/**
 * What x86's trap number says. The kernel sets it only when a trap ends in a signal
 * (linux: arch/x86/mm/fault.c, set_signal_archinfo(); arch/x86/kernel/traps.c), so a page
 * fault that was served leaves no trace.
 */
static bool x86_trap(const struct cs_scene *scene, uint64_t regs, int final,
		     struct trap *ret)
{
	uint64_t err, number, cr2;

	if (!cs_mem_u64(scene->mem, regs + X86_ERR, &err) ||
	    !cs_mem_u64(scene->mem, regs + X86_TRAPNO, &number) ||
	    !cs_mem_u64(scene->mem, regs + X86_CR2, &cr2))
		return false;
	*ret = (struct trap){0};
	switch (number) {
	case 0: /* divide error, but also "no trap yet" */
		*ret = (struct trap){.signo = SIGFPE, .code = 1};
		return final == SIGFPE;
	case 3:
		*ret = (struct trap){.signo = SIGTRAP, .code = SI_KERNEL_CODE};
		return true;
	case 6:
		*ret = (struct trap){.signo = SIGILL, .code = 2};
		return true;
	case 13:
		*ret = (struct trap){.signo = SIGSEGV, .code = SI_KERNEL_CODE};
		return true;
	case 14: /* bit 0 of the error: the page was there, the right was not */
		*ret = (struct trap){
			.signo = SIGSEGV, .code = err & 1 ? 2 : 1, .address = cr2};
		if (final == SIGBUS)
			*ret = (struct trap){.signo = SIGBUS, .code = 2, .address = cr2};
		return true;
	case 16:
	case 19:
		*ret = (struct trap){.signo = SIGFPE, .code = 7};
		return true;
	case 17:
		*ret = (struct trap){.signo = SIGBUS, .code = 1, .address = cr2};
		return true;
	default:
		return false;
	}
}

/*
 * struct sigcontext: fault_address stands before the registers, and records of {magic,
 * size} follow behind them, aligned to 16; linux:
 * arch/arm64/include/uapi/asm/sigcontext.h
 */
enum { ARM64_RECORDS = 280, ARM64_RECORDS_END = 280 + 4096 };
#define ESR_MAGIC 0x45535201U

/** The syndrome register of the last fault; false if the kernel saved none. */
static bool arm64_syndrome(const struct cs_scene *scene, uint64_t regs, uint64_t *ret)
{
	uint32_t magic, size;

	for (uint64_t at = ARM64_RECORDS; at < ARM64_RECORDS_END; at += size) {
		if (!cs_mem_u32(scene->mem, regs + at, &magic) ||
		    !cs_mem_u32(scene->mem, regs + at + 4, &size) || !magic || size < 16)
			return false;
		if (magic == ESR_MAGIC)
			return cs_mem_u64(scene->mem, regs + at + 8, ret);
	}
	return false;
}

/** Arm ARM, D17.2 "ESR_EL1": EC in bits 31 to 26, and the fault status in bits 5 to 0 of
 * an abort. */
static bool arm64_trap(const struct cs_scene *scene, uint64_t regs, int final,
		       struct trap *ret)
{
	uint64_t esr, address;
	unsigned class, status;

	if (!arm64_syndrome(scene, regs, &esr) ||
	    !cs_mem_u64(scene->mem, regs - 8, &address))
		return false;
	class = esr >> 26 & 0x3f;
	status = esr & 0x3f;
	if (class != 0x20 &&
	    class != 0x24) /* instruction and data aborts from user mode */
		return false;
	*ret = (struct trap){.signo = final == SIGBUS ? SIGBUS : SIGSEGV,
			     .address = address};
	ret->code = final == SIGBUS ? 2 : (status & 0x3c) == 0x0c ? 2 : 1;
	if (status == 0x21) /* alignment */
		*ret = (struct trap){.signo = SIGBUS, .code = 1, .address = address};
	return true;
}

bool cs_signal_is_fault(int signo)
{
	return signo == SIGSEGV || signo == SIGBUS || signo == SIGILL ||
	       signo == SIGFPE || signo == SIGTRAP || signo == SIGSYS;
}

static bool is_fault(const struct cs_interrupted *at)
{
	return cs_signal_is_fault(at->signo) && at->code > 0 &&
	       cs_signal_code_name(at->signo, at->code);
}

/** Frames of @group from the one that the @nth signal (from 1) interrupted; its end if
 * there are fewer. */
static size_t interrupted_frame(const struct cs_stack_group *group, size_t nth)
{
	size_t i = 0;

	while (i < group->n_frames && nth)
		nth -= group->frames[i++].kind == CS_FRAME_SIGNAL;
	return nth ? group->n_frames : i;
}

static size_t signals_before(const struct cs_raw_stack *stack, size_t frame)
{
	size_t n = 0;

	for (size_t i = 0; i < frame && i < stack->n; i++)
		n += stack->frames[i].signal;
	return n;
}

/** Nothing was saved of the trap: true if the interrupted instruction is bound to end in
 * signal @final. */
static bool would_fault(const struct cs_scene *scene, const struct cs_interrupted *at,
			int final, struct cs_original *ret)
{
	struct cs_incident in = {.scene = scene, .signo = final};

	cs_incident_set_registers(&in, &at->regs);
	if (!cs_original_here(&in))
		return false;
	ret->signo = in.signo;
	ret->code = in.code;
	ret->address = in.address;
	return true;
}

/**
 * True if frame @first was about to raise a signal. glibc's raise() does so in a function
 * of its own, which has no name in a stripped libc: the caller in the same module tells.
 */
static bool was_raising(const struct cs_stack_group *group, size_t first)
{
	const struct cs_frame *f = group->frames + first;
	size_t n = group->n_frames - first;

	if (n > 1 && (!f->function || f->nearest) && f[1].module == f->module)
		f++;
	return n && f->function && !f->nearest && cs_function_raises(f->function);
}

/** What @at was called for; false if it was no fault and no abort(). */
static bool examine(const struct cs_scene *scene, const struct cs_interrupted *at,
		    const struct cs_stack_group *group, int final,
		    struct cs_original *ret)
{
	uint64_t regs = at->frame_sp + scene->arch->sigframe_regs;
	bool raised = was_raising(group, ret->first), trapped;
	struct trap trap = {0};

	trapped = scene->arch->machine == EM_X86_64
			  ? x86_trap(scene, regs, final, &trap)
			  : arm64_trap(scene, regs, final, &trap);
	/* Without SA_SIGINFO the bytes are whatever lay there: the processor's record
	 * must agree. */
	if (is_fault(at) && (!trapped || !trap.address || trap.address == at->address)) {
		ret->signo = at->signo;
		ret->code = at->code;
		ret->address = at->address;
		return true;
	}
	if (raised) {
		ret->signo = SIGABRT;
		return final == SIGABRT;
	}
	if (!trapped)
		return would_fault(scene, at, final, ret);
	ret->signo = trap.signo;
	ret->code = trap.code;
	ret->address = trap.address;
	return true;
}

bool cs_original_find(const struct cs_scene *scene, const struct cs_raw_stack *stack,
		      const struct cs_stack_group *group, int final,
		      struct cs_original *ret)
{
	/* The outermost came first: those within it struck its handler. */
	for (size_t i = stack->n_interrupted; i-- > 0;) {
		const struct cs_interrupted *at = &stack->interrupted[i];
		struct cs_original o = {.regs = &at->regs, .raw_first = at->frame};

		o.first = interrupted_frame(group, signals_before(stack, at->frame));
		if (examine(scene, at, group, final, &o)) {
			*ret = o;
			return true;
		}
	}
	return false;
}

/** True if an access of kind @access to @address cannot be made, as far as the core
 * tells. */
static bool cannot_access(const struct cs_scene *scene, uint64_t address,
			  enum cs_access access, int *ret_code)
{
	const struct cs_region *region = cs_mem_region(scene->mem, address);
	unsigned need = access == CS_ACCESS_WRITE ? CS_PROT_WRITE : CS_PROT_READ;

	if (scene->arch->non_canonical && scene->arch->non_canonical(address))
		*ret_code = SI_KERNEL_CODE;
	else
		*ret_code = region ? 2 : 1; /* SEGV_ACCERR, SEGV_MAPERR */
	return !region || !(region->prot & need);
}

static bool would_segv(const struct cs_incident *in, int *ret_code, uint64_t *ret_address)
{
	const struct cs_insn *insn = &in->insn;

	*ret_address = insn->operand_address;
	if (insn->has_operand && insn->operand_known &&
	    cannot_access(in->scene, insn->operand_address, insn->access, ret_code))
		return true;
	*ret_address = insn->implicit_address;
	return insn->has_implicit && insn->implicit_known &&
	       cannot_access(in->scene, insn->implicit_address, insn->implicit_access,
			     ret_code);
}

/** True if the program counter itself is where nothing can be executed. */
static bool is_astray(const struct cs_incident *in, int *ret_code)
{
	const struct cs_region *region = cs_mem_region(in->scene->mem, in->pc);

	*ret_code = region ? 2 : 1;
	return !region || !(region->prot & CS_PROT_EXEC);
}

bool cs_original_here(struct cs_incident *in)
{
	const struct cs_insn *insn = &in->insn;
	int code = 1; /* FPE_INTDIV */
	uint64_t address = 0;

	if (!in->has_insn && in->signo == SIGSEGV && is_astray(in, &code)) {
		in->code = code;
		in->address = in->pc;
		return true;
	}
	if (!in->has_insn)
		return false;
	switch (in->signo) {
	case SIGSEGV:
		if (!would_segv(in, &code, &address))
			return false;
		if (code == SI_KERNEL_CODE) /* the kernel would not have told it either */
			address = 0;
		break;
	case SIGBUS:
		address = insn->operand_address;
		code = 2; /* BUS_ADRERR */
		if (!insn->operand_known || !cs_mem_mapping(in->scene->mem, address))
			return false;
		break;
	case SIGFPE:
		if (strncmp(insn->text, "div", 3) && strncmp(insn->text, "idiv", 4))
			return false;
		break;
	case SIGILL:
		code = 2; /* ILL_ILLOPN, as x86 has it */
		if (strncmp(insn->text, "ud", 2) && !insn->isa)
			return false;
		break;
	case SIGTRAP:
		code = 1; /* TRAP_BRKPT */
		if (strncmp(insn->text, "brk", 3) && strncmp(insn->text, "int3", 4))
			return false;
		break;
	default:
		return false;
	}
	in->code = code;
	in->address = address;
	return true;
}
