/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What kind of fault it was: which address was read, written or executed, and why that
 * could not be. Knows siginfo, the address space and the faulting instruction; refuses to
 * know whose fault it was.
 *
 * siginfo does not say whether memory was read or written: the instruction does.
 */
#include "crash/internal.h"

#include "base/limits.h"
#include "base/text.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define SI_KERNEL_CODE 0x80
#define SEGV_MAPERR_CODE 1
#define BUS_ADRALN_CODE 1
#define BUS_ADRERR_CODE 2
#define BUS_MCEERR_AR_CODE 4
#define BUS_MCEERR_AO_CODE 5
#define FPE_INTDIV_CODE 1
#define NULL_REACH                                                                       \
	65536UL /* bytes from NULL on that count as "a small offset": mmap_min_addr */
#define OPERAND_REACH 256UL /* bytes that one access spans at most, XSAVE areas apart */
#define STACK_REACH (64UL << 20) /* how far below its stack an overflow may land */
#define STACK_EDGE (1UL << 20)   /* how near its end sp is then */

/** One signal while it is classified. */
struct fault {
	const struct cs_incident *in;
	struct cs_crash *crash;
	const struct cs_region *region; /* that holds the address; NULL: none */
	const char *what; /* the rest of the summary after the access, or NULL */
};

static const char *access_word(enum cs_access access)
{
	return access == CS_ACCESS_READ    ? "read"
	       : access == CS_ACCESS_WRITE ? "write"
					   : NULL;
}

static bool is_near(uint64_t operand, uint64_t address)
{
	return address - operand < OPERAND_REACH;
}

/** Read, write or execute, by pc and operands. */
static void find_access(struct fault *f)
{
	const struct cs_insn *insn = &f->in->insn;
	struct cs_crash *c = f->crash;

	if (c->address == f->in->pc && !f->in->has_insn)
		c->access = "execute";
	else if (!f->in->has_insn)
		return;
	else if (insn->has_operand && insn->operand_known &&
		 is_near(insn->operand_address, c->address))
		c->access = access_word(insn->access);
	else if (insn->has_implicit && insn->implicit_known &&
		 is_near(insn->implicit_address, c->address))
		c->access = access_word(insn->implicit_access);
	else if (insn->has_operand && !insn->operand_known && !insn->has_implicit)
		c->access = access_word(insn->access);
}

static bool is_non_canonical(const struct cs_incident *in, uint64_t address)
{
	return in->scene->arch->non_canonical && in->scene->arch->non_canonical(address);
}

/**
 * The address that a general protection fault was about: x86_64 gives none for addresses
 * that no page table can hold (linux: arch/x86/kernel/traps.c, exc_general_protection()).
 * False if no operand explains it.
 */
static bool find_hidden_address(struct fault *f)
{
	const struct cs_insn *insn = &f->in->insn;
	struct cs_crash *c = f->crash;
	uint64_t target = insn->value;
	bool returns = !strncmp(insn->text, "ret", 3);
	bool known = insn->value_known;

	if (returns && insn->implicit_known)
		known = cs_mem_u64(f->in->scene->mem, insn->implicit_address, &target);
	if (insn->has_operand && insn->operand_known &&
	    is_non_canonical(f->in, insn->operand_address)) {
		c->address = insn->operand_address;
		c->access = access_word(insn->access);
	} else if (insn->has_implicit && insn->implicit_known &&
		   is_non_canonical(f->in, insn->implicit_address)) {
		c->address = insn->implicit_address;
		c->access = access_word(insn->implicit_access);
	} else if (known && is_non_canonical(f->in, target)) {
		c->address = target;
		c->access = "execute";
	} else {
		return false;
	}
	c->has_address = true;
	return true;
}

/** The lowest region that begins above @address, or NULL. */
static const struct cs_region *region_above(const struct cs_scene *scene,
					    uint64_t address)
{
	const struct cs_target *t = cs_mem_target(scene->mem);
	size_t low = 0, high = t->n_regions;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->regions[mid].start > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low < t->n_regions ? &t->regions[low] : NULL;
}

/**
 * True if the address lies where a stack would go on growing: below a writable region
 * that sp is at the low end of (or has just left), with nothing but guard pages between.
 */
static bool is_stack_overflow(const struct fault *f)
{
	const struct cs_region *above = f->region ? f->region : NULL;
	uint64_t address = f->crash->address, sp = f->in->sp;

	if (!sp || (f->region && f->region->prot))
		return false;
	above = region_above(f->in->scene, address);
	while (above && !above->prot && above->start - address < STACK_REACH)
		above = region_above(f->in->scene, above->start);
	if (!above || (above->prot & (CS_PROT_READ | CS_PROT_WRITE)) !=
			      (CS_PROT_READ | CS_PROT_WRITE))
		return false;
	if (above->start - address > STACK_REACH)
		return false;
	/* sp is within the first MiB of the stack, or below it but not below the access
	 * by much */
	return sp < above->start ? above->start - sp < STACK_REACH
				 : sp - above->start < STACK_EDGE;
}

/** What may be done with memory of rights @prot, in words. */
static const char *rights(unsigned prot)
{
	switch (prot & (CS_PROT_READ | CS_PROT_WRITE | CS_PROT_EXEC)) {
	case CS_PROT_READ:
		return "read";
	case CS_PROT_READ | CS_PROT_WRITE:
		return "read and written";
	case CS_PROT_READ | CS_PROT_EXEC:
		return "read and executed";
	case CS_PROT_EXEC:
		return "executed";
	case CS_PROT_WRITE:
		return "written";
	case CS_PROT_WRITE | CS_PROT_EXEC:
		return "written and executed";
	default:
		return "read, written and executed";
	}
}

static const char *region_name(const struct fault *f)
{
	const struct cs_scene *scene = f->in->scene;
	const struct cs_mapping *m = cs_mem_mapping(scene->mem, f->crash->address);

	return m ? cs_text_utf8(scene->arena, m->path, strnlen(m->path, CS_MAX_PATH))
		 : NULL;
}

static void say_protection(struct fault *f)
{
	struct cs_arena *arena = f->in->scene->arena;
	const char *name = region_name(f);

	f->what = cs_arena_printf(arena, ", which may only be %s%s%s",
				  rights(f->region->prot), name ? ": it belongs to " : "",
				  name ? name : "");
	if (!f->region->prot)
		f->what = ", which is reserved and may not be accessed at all (a guard "
			  "region)";
}

static void classify_execute(struct fault *f)
{
	struct cs_crash *c = f->crash;

	c->access = "execute";
	if (c->address < NULL_REACH) {
		c->fault = CS_FAULT_NULL;
		f->what = ", a call through a NULL function pointer";
		return;
	}
	c->fault = CS_FAULT_EXECUTE_DATA;
	f->what = f->region ? ", which is data and not code: a damaged function pointer, "
			      "return "
			      "address or virtual table"
			    : ", where nothing is mapped: a damaged function pointer or "
			      "return "
			      "address, or code that was unloaded";
}

/** A SIGSEGV that came with an address, or whose address was found. */
static void classify_address(struct fault *f)
{
	struct cs_crash *c = f->crash;

	f->region = cs_mem_region(f->in->scene->mem, c->address);
	if (is_non_canonical(f->in, c->address)) {
		c->fault = CS_FAULT_NON_CANONICAL;
		f->what = ", which no program can map: the pointer is garbage (freed, "
			  "overwritten or "
			  "never set)";
	} else if (c->access && !strcmp(c->access, "execute")) {
		classify_execute(f);
	} else if (c->address < NULL_REACH) {
		c->fault = CS_FAULT_NULL;
		f->what =
			c->address ? ", a small offset from NULL" : ", the NULL pointer";
	} else if (is_stack_overflow(f)) {
		c->fault = CS_FAULT_STACK_OVERFLOW;
		f->what = ", just below the thread's stack: stack overflow";
	} else if (!f->region) {
		c->fault = CS_FAULT_UNMAPPED;
		f->what = ", where nothing is mapped";
	} else if (f->in->code == SEGV_MAPERR_CODE) {
		c->fault = CS_FAULT_UNMAPPED;
		f->what = ", where nothing was mapped then; something is by the time of "
			  "the core";
	} else {
		c->fault = CS_FAULT_PROTECTION;
		say_protection(f);
	}
}

/** Instructions that a user's program may never execute; they fault as #GP. */
static bool is_privileged(const char *text)
{
	static const char *const words[] = {
		"hlt",   "cli",   "sti",  "in ",    "out ", "lgdt",       "lidt",
		"wrmsr", "rdmsr", "invd", "wbinvd", "ltr",  "mov    %cr", "xsetbv"};

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (!strncmp(text, words[i], strlen(words[i])))
			return true;
	return false;
}

static void explain_segv(struct fault *f)
{
	const struct cs_incident *in = f->in;
	struct cs_crash *c = f->crash;
	bool hidden = in->code == SI_KERNEL_CODE && in->address == 0;

	if (hidden)
		c->has_address = false;
	if (hidden && in->has_insn && find_hidden_address(f)) {
		classify_address(f);
	} else if (hidden && in->has_insn && in->insn.has_implicit &&
		   in->insn.implicit_known && in->sp &&
		   !cs_mem_region(in->scene->mem, in->insn.implicit_address)) {
		/* The kernel could not even deliver the signal: the stack is used up. */
		c->has_address = true;
		c->address = in->insn.implicit_address;
		c->access = access_word(in->insn.implicit_access);
		classify_address(f);
	} else if (hidden && is_privileged(in->insn.text)) {
		c->fault = CS_FAULT_OTHER;
		f->what = "the privileged instruction may not be executed by a program";
	} else if (hidden && in->has_insn && in->insn.operand_known &&
		   (in->insn.operand_address & 15)) {
		c->fault = CS_FAULT_OTHER;
		c->has_address = true;
		c->address = in->insn.operand_address;
		c->access = access_word(in->insn.access);
		f->what = ", which the instruction needs aligned to 16 bytes or more";
	} else if (hidden) {
		c->fault = CS_FAULT_OTHER;
		f->what = "general protection fault; the kernel gives no address";
	} else {
		find_access(f);
		classify_address(f);
	}
}

static void explain_bus(struct fault *f)
{
	const struct cs_incident *in = f->in;
	const struct cs_mapping *m = cs_mem_mapping(in->scene->mem, in->address);
	struct cs_crash *c = f->crash;
	const char *name;

	c->fault = CS_FAULT_OTHER;
	find_access(f);
	if (in->code == BUS_ADRALN_CODE) {
		f->what = ", which is not aligned as the instruction needs";
	} else if (in->code == BUS_ADRERR_CODE && m) {
		name = region_name(f);
		c->fault = CS_FAULT_FILE_END;
		f->what = cs_arena_printf(
			in->scene->arena,
			", byte %" PRIu64
			" of mapped file %s, which has no such byte: it "
			"was truncated, or %s",
			in->address - m->start + m->offset, name ? name : "?",
			name && (!strncmp(name, "/dev/shm/", 9) ||
				 strstr(name, "memfd:") || !strncmp(name, "/SYSV", 5))
				? "its file system in memory (/dev/shm) is full"
				: "its disk is full or failed");
	} else if (in->code == BUS_ADRERR_CODE) {
		f->what = ", for which the kernel has no memory page (no huge page is "
			  "free, or a "
			  "file mapping that the core does not list)";
	} else if (in->code == BUS_MCEERR_AR_CODE || in->code == BUS_MCEERR_AO_CODE) {
		f->what = ", where the hardware reports a memory error";
	} else {
		f->what = ", for which the kernel gives no reason";
	}
}

/** Summary of a signal whose instruction is what matters. */
static void explain_instruction(struct fault *f)
{
	const struct cs_incident *in = f->in;
	struct cs_arena *arena = in->scene->arena;
	const struct cs_insn *insn = &in->insn;

	f->crash->fault = CS_FAULT_ILLEGAL_INSTRUCTION;
	if (!in->has_insn)
		f->what = "the bytes at the program counter are no instruction";
	else if (!strncmp(insn->text, "ud", 2) || !strncmp(insn->text, "brk", 3))
		f->what = cs_arena_printf(
			arena,
			"deliberate trap (%s): code that must not be reached, or a "
			"failed check",
			insn->text);
	else if (insn->isa)
		f->what = cs_arena_printf(arena,
					  "instruction of %s, which this processor (or "
					  "its virtual machine) "
					  "lacks: %s",
					  insn->isa, insn->text);
	else
		f->what = cs_arena_printf(arena, "illegal instruction: %s", insn->text);
}

/** What a division divides by; false if the instruction does not tell. */
static bool divisor_of(const struct cs_incident *in, uint64_t *ret)
{
	const struct cs_insn *insn = &in->insn;
	size_t mnemonic = strcspn(insn->text, " ");
	uint32_t narrow;

	*ret = insn->value;
	if (insn->value_known)
		return true;
	if (!in->has_insn || !insn->operand_known || !mnemonic)
		return false;
	/* "idivl", "divq": the suffix is the size of what is in memory */
	if (insn->text[mnemonic - 1] == 'q')
		return cs_mem_u64(in->scene->mem, insn->operand_address, ret);
	if (insn->text[mnemonic - 1] != 'l' ||
	    !cs_mem_u32(in->scene->mem, insn->operand_address, &narrow))
		return false;
	*ret = narrow;
	return true;
}

static void explain_arithmetic(struct fault *f)
{
	uint64_t divisor;

	f->crash->fault = CS_FAULT_ARITHMETIC;
	/* x86 raises the same for a quotient that does not fit: INT_MIN / -1. */
	if (f->in->code != FPE_INTDIV_CODE)
		f->what = "floating-point exception that the program asked to be told of";
	else if (!divisor_of(f->in, &divisor))
		f->what = "integer division by zero, or a quotient that does not fit";
	else if (divisor)
		f->what = "integer division whose quotient does not fit (such as INT_MIN "
			  "/ -1)";
	else
		f->what = "integer division by zero";
}

static void explain_other(struct fault *f)
{
	f->crash->fault = CS_FAULT_OTHER;
	f->crash->has_address = false; /* SIGTRAP's is the pc, SIGSYS has none */
	if (f->in->signo == SIGTRAP && f->in->has_insn &&
	    !strncmp(f->in->insn.text, "brk", 3))
		f->what = cs_arena_printf(
			f->in->scene->arena,
			"deliberate trap (%s): code that must not be reached, a failed "
			"check, or a breakpoint without a debugger",
			f->in->insn.text);
	else if (f->in->signo == SIGTRAP)
		f->what = "breakpoint or trap instruction without a debugger";
	else
		f->what = "a system call that the process's seccomp filter forbids";
}

void cs_fault_explain(const struct cs_incident *in, struct cs_crash *ret)
{
	struct fault f = {.in = in, .crash = ret};
	struct cs_arena *arena = in->scene->arena;
	const char *place;

	ret->has_address = in->has_siginfo;
	ret->address = in->has_siginfo ? in->address : 0;
	if (!in->has_siginfo && (in->signo == SIGSEGV || in->signo == SIGBUS)) {
		ret->fault = CS_FAULT_OTHER;
		f.what = "no details: the core has no siginfo for it";
	} else if (in->signo == SIGSEGV) {
		explain_segv(&f);
	} else if (in->signo == SIGBUS) {
		explain_bus(&f);
	} else if (in->signo == SIGILL) {
		explain_instruction(&f);
	} else if (in->signo == SIGFPE) {
		explain_arithmetic(&f);
	} else {
		explain_other(&f);
	}
	/* Where the pc went astray, what matters is who sent it there. */
	place = cs_incident_place(in, ret->access && !strcmp(ret->access, "execute") &&
					      !in->has_insn);
	if (ret->has_address && f.what && f.what[0] == ',')
		ret->summary = cs_arena_printf(
			arena, "%s: %s address 0x%" PRIx64 "%s%s", ret->signal_name,
			!ret->access                      ? "access to"
			: !strcmp(ret->access, "execute") ? "jump to"
			: !strcmp(ret->access, "write")   ? "write to"
							  : "read of",
			ret->address, f.what, place);
	else
		ret->summary = cs_arena_printf(arena, "%s: %s%s", ret->signal_name,
					       f.what ? f.what : "", place);
}
