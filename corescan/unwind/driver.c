/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The driver: asks the steppers in turn and judges what they propose.
 *
 * Knows what a caller must be: further out on the stack, at a pc that can be executed, and not a frame
 * that was there before. Refuses to know how a caller is found; a proposal that fails the test only sends
 * the driver to the next stepper, so an overwritten stack costs frames, never the thread.
 */
#include "unwind/stepper.h"

#include "base/limits.h"
#include "base/vec.h"

#include <string.h>

/** One stack in the making. */
struct walk {
	struct cs_unwinder *u;
	CS_VEC(struct cs_raw_frame) frames;
	struct cs_raw_stack *stack;
	struct cs_cursor at;
	size_t n_scanned;
	/* Where signal frames led to other stacks: elsewhere sp grows, so a cycle must pass here. */
	struct {
		uint64_t pc, sp;
	} switches[CS_MAX_STACK_SWITCHES];
	size_t n_switches;
	/* The most telling failure so far at this frame. */
	enum cs_stop stop;
	uint64_t stop_address;
	uint64_t rejected_cfa; /* of a proposal whose return address was no good; 0: none */
};

static void note_failure(struct walk *w, enum cs_stop stop, uint64_t address)
{
	/* The first stepper is the most trusted, so its reason counts; having nothing to say is none. */
	if (w->stop != CS_STOP_NO_UNWIND_INFO)
		return;
	w->stop = stop;
	w->stop_address = address;
}

static bool is_cycle(struct walk *w, uint64_t pc, uint64_t sp)
{
	for (size_t i = 0; i < w->n_switches; i++)
		if (w->switches[i].pc == pc && w->switches[i].sp == sp)
			return true;
	return false;
}

/** A signal handler may run on another stack (sigaltstack), so sp may go either way here. */
static bool accept_interrupted(struct walk *w, uint64_t pc, uint64_t sp)
{
	if (sp > w->at.sp)
		return true;
	if (is_cycle(w, pc, sp)) {
		note_failure(w, CS_STOP_CYCLE, pc);
		return false;
	}
	if (w->n_switches == CS_MAX_STACK_SWITCHES) {
		note_failure(w, CS_STOP_LIMIT, pc);
		return false;
	}
	w->switches[w->n_switches].pc = pc;
	w->switches[w->n_switches++].sp = sp;
	return true;
}

static bool same_region(const struct walk *w, uint64_t a, uint64_t b)
{
	return cs_mem_region(w->u->mem, a) == cs_mem_region(w->u->mem, b);
}

/** Is @c a frame that can be the caller of the one at hand? If not, the reason is noted. */
static bool accept(struct walk *w, const struct cs_caller *c)
{
	const struct cs_arch *arch = w->u->arch;
	uint64_t pc = c->regs.value[arch->pc], sp = c->regs.value[arch->sp];

	if (w->at.signal)
		return accept_interrupted(w, pc, sp);
	/* Without a frame of its own a leaf function has its caller's sp, if there is a link register. */
	if (sp < w->at.sp || (sp == w->at.sp && (arch->link < 0 || !w->at.exact))) {
		note_failure(w, CS_STOP_NO_PROGRESS, sp);
		return false;
	}
	if (sp == w->at.sp && pc == w->at.pc) {
		note_failure(w, CS_STOP_CYCLE, pc);
		return false;
	}
	/* Code that switches stacks does it by a call; a stray frame pointer has nothing behind it. */
	if (!cs_pc_executable(w->u, pc) || !cs_mem_region(w->u->mem, sp - 1) ||
	    (!same_region(w, w->at.sp, sp - 1) && !cs_pc_after_call(w->u, pc))) {
		note_failure(w, CS_STOP_NO_PROGRESS, pc);
		w->rejected_cfa = sp;
		return false;
	}
	return true;
}

/** Before the program's first function there is nothing: the entry point was not called. */
static bool is_entry(const struct cs_unwinder *u, uint64_t pc)
{
	struct cs_mod *mod = cs_modules_find(u->modules, pc);
	Elf *elf = mod ? cs_mod_elf(mod) : NULL;
	GElf_Ehdr ehdr;

	return elf && gelf_getehdr(elf, &ehdr) && ehdr.e_entry &&
	       pc - (ehdr.e_entry + cs_mod_public(mod)->bias) < 64;
}

/** A thread that clone() has made and that has not run yet: its stack is empty. */
static bool is_newborn(const struct walk *w)
{
	const struct cs_arch *arch = w->u->arch;
	uint8_t bytes[CS_MAX_CLONE_CODE];
	size_t n = arch->clone_len;
	uint64_t returned;

	return w->at.exact && cs_regs_get(&w->at.regs, 0, &returned) && returned == 0 &&
	       cs_mem_read_some(w->u->mem, w->at.pc - n, bytes, n) == n &&
	       cs_arch_after_clone(arch, bytes, n);
}

/** All zeroes where a caller should be is how a stack is begun (musl, makecontext, fibers). */
static bool is_zero_bottom(const struct walk *w, const struct cs_caller *c)
{
	uint64_t fp = 0;

	if (w->at.signal || c->regs.value[w->u->arch->pc] != 0)
		return false;
	return !cs_regs_get(&c->regs, w->u->arch->fp, &fp) || fp == 0;
}

/** What to do about one stepper's answer. */
static enum cs_found judge(struct walk *w, enum cs_found found, const struct cs_caller *c)
{
	switch (found) {
	case CS_FOUND_CALLER:
		if (is_zero_bottom(w, c))
			return CS_FOUND_BOTTOM;
		return accept(w, c) ? CS_FOUND_CALLER : CS_FOUND_NOTHING;
	case CS_FOUND_UNREADABLE:
		note_failure(w, CS_STOP_UNREADABLE, c->address);
		return CS_FOUND_NOTHING;
	default:
		return found;
	}
}

static enum cs_found step_scan(struct walk *w, struct cs_caller *ret)
{
	uint64_t from = w->at.sp;
	enum cs_found found;

	if (w->n_scanned == CS_MAX_SCAN_FRAMES) {
		note_failure(w, CS_STOP_LIMIT, w->at.pc);
		return CS_FOUND_NOTHING;
	}
	/* The tables told how large this frame is: what lies in it is not its return address. */
	if (w->rejected_cfa > from && same_region(w, from, w->rejected_cfa))
		from = w->rejected_cfa;
	found = judge(w, cs_scan_step(w->u, &w->at, from, ret), ret);
	w->n_scanned += found == CS_FOUND_CALLER;
	return found;
}

/** The caller of the frame at hand, by the best method that finds a good one. */
static enum cs_found step(struct walk *w, struct cs_caller *ret)
{
	static const struct {
		enum cs_stepper bit;
		enum cs_found (*step)(struct cs_unwinder *, const struct cs_cursor *,
				      struct cs_caller *);
	} steppers[] = {
		{CS_STEPPER_NOWHERE, cs_nowhere_step}, {CS_STEPPER_SIGFRAME, cs_sigframe_step},
		{CS_STEPPER_CFI, cs_cfi_step},         {CS_STEPPER_LIBUNWIND, cs_unw_step},
		{CS_STEPPER_EPILOGUE, cs_epilogue_step}, {CS_STEPPER_FP, cs_fp_step},
	};
	struct cs_unwinder *u = w->u;
	unsigned usable = u->steppers;

	w->stop = CS_STOP_NO_UNWIND_INFO;
	w->stop_address = w->at.pc;
	w->rejected_cfa = 0;
	if (w->at.known && !w->at.row && is_newborn(w))
		return CS_FOUND_BOTTOM;
	usable &= ~(w->at.known ? (unsigned)CS_STEPPER_NOWHERE
				: CS_STEPPER_SIGFRAME | CS_STEPPER_CFI | CS_STEPPER_LIBUNWIND);
	if (!w->at.signal || !cs_sigframe_at(u, w->at.pc))
		usable &= ~(unsigned)CS_STEPPER_SIGFRAME;
	for (size_t i = 0; i < CS_COUNT(steppers); i++) {
		enum cs_found found = CS_FOUND_NOTHING;

		if (usable & steppers[i].bit)
			found = judge(w, steppers[i].step(u, &w->at, ret), ret);
		/* A good method that leads in circles is not to be helped by a worse one. */
		if (found != CS_FOUND_NOTHING || w->stop == CS_STOP_CYCLE || w->stop == CS_STOP_LIMIT)
			return found;
	}
	if (w->at.known && !w->at.row && is_entry(u, w->at.pc))
		return CS_FOUND_BOTTOM;
	return u->steppers & CS_STEPPER_SCAN ? step_scan(w, ret) : CS_FOUND_NOTHING;
}

/** Keep what the kernel saved of the frame that the signal frame at hand interrupted. */
static void keep_interrupted(struct walk *w, const struct cs_caller *caller)
{
	struct cs_raw_stack *stack = w->stack;
	struct cs_interrupted *kept = &stack->interrupted[stack->n_interrupted];

	if (stack->n_interrupted == CS_MAX_INTERRUPTED)
		return;
	*kept = (struct cs_interrupted){
		.frame = w->frames.n, .regs = caller->regs, .frame_sp = w->at.sp};
	if (cs_sigframe_at(w->u, w->at.pc))
		cs_sigframe_info(w->u, &w->at, kept);
	stack->n_interrupted++;
}

static void move_to(struct walk *w, const struct cs_regs *regs, bool exact)
{
	const struct cs_arch *arch = w->u->arch;
	const struct cs_pc *pc;

	w->at.regs = *regs;
	w->at.pc = regs->value[arch->pc];
	w->at.sp = regs->value[arch->sp];
	w->at.exact = exact;
	pc = cs_pc_facts(w->u, w->at.pc, exact);
	w->at.known = pc->executable;
	w->at.row = pc->row;
	w->at.signal = pc->trampoline || (pc->row && cs_cfi_row_is_signal(pc->row));
}

static struct cs_error *add_frame(struct walk *w, enum cs_trust trust)
{
	struct cs_raw_frame frame = {
		.pc = w->at.pc,
		.trust = (uint8_t)trust,
		.exact = w->at.exact,
		.signal = w->at.signal,
	};

	return CS_PUSH(&w->frames, frame, CS_MAX_RAW_FRAMES, "frames");
}

/** All frames from the innermost on. Errors: NOMEM. */
static struct cs_error *walk_stack(struct walk *w)
{
	struct cs_caller caller;
	enum cs_found found;
	bool was_signal;

	CS_TRY(add_frame(w, CS_TRUST_CONTEXT));
	for (;;) {
		if (w->frames.n == CS_MAX_RAW_FRAMES) {
			w->stop = CS_STOP_LIMIT;
			w->stop_address = w->at.pc;
			return NULL;
		}
		found = step(w, &caller);
		if (found == CS_FOUND_BOTTOM)
			w->stop = CS_STOP_BOTTOM;
		if (found != CS_FOUND_CALLER)
			return NULL;
		w->frames.v[w->frames.n - 1].cfa = caller.cfa;
		was_signal = w->at.signal;
		if (was_signal)
			keep_interrupted(w, &caller);
		move_to(w, &caller.regs, was_signal);
		CS_TRY(add_frame(w, caller.trust));
	}
}

struct cs_error *cs_unwind(struct cs_unwinder *u, const struct cs_regs *regs,
			   struct cs_raw_stack *ret)
{
	struct cs_raw_stack stack = {.stop = CS_STOP_NO_UNWIND_INFO};
	struct walk w = {.u = u, .stack = &stack, .stop = CS_STOP_NO_UNWIND_INFO};
	struct cs_error *err = NULL;
	uint64_t pc, sp;

	if (cs_regs_get(regs, u->arch->pc, &pc) && cs_regs_get(regs, u->arch->sp, &sp)) {
		move_to(&w, regs, true);
		err = walk_stack(&w);
	}
	if (err) {
		free(w.frames.v);
		return err;
	}
	stack.frames = w.frames.v;
	stack.n = w.frames.n;
	stack.stop = w.stop;
	stack.stop_address = w.stop == CS_STOP_BOTTOM ? w.at.pc : w.stop_address;
	*ret = stack;
	return NULL;
}

void cs_raw_stack_deinit(struct cs_raw_stack *stack)
{
	free(stack->frames);
	*stack = (struct cs_raw_stack){0};
}
