/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The unwinder's own state: what is known of code addresses, kept across threads.
 *
 * Knows for each pc whether it can be executed, whether the kernel's signal trampoline is there and which
 * row of call frame information governs it. Thousands of threads are parked at the same few addresses, so
 * a stack of the second thread costs one look-up and a few memory reads a frame.
 */
#include "unwind/stepper.h"

#include "base/limits.h"

#include <string.h>

#define FIRST_PCS 4096UL /* entries; a power of two */
#define MAX_STUB 20 /* bytes of code that tell a stub */
#define MAX_CALL_BYTES 16UL

bool cs_pc_executable(const struct cs_unwinder *u, uint64_t pc)
{
	const struct cs_region *region = cs_mem_region(u->mem, pc);

	if (region)
		return region->prot & CS_PROT_EXEC;
	/* A core cut off within its program headers lacks regions; the file mappings still tell. */
	return cs_modules_find(u->modules, pc) != NULL;
}

/** The bytes in front of @pc, as many as a call may have; fewer where the code begins. 0: none. */
static size_t bytes_before(const struct cs_unwinder *u, uint64_t pc, uint8_t *ret)
{
	const struct cs_arch *arch = u->arch;
	size_t want = CS_MIN((size_t)arch->max_call_bytes, MAX_CALL_BYTES);

	if (pc % arch->insn_align || pc < want || !cs_pc_executable(u, pc))
		return 0;
	for (; want; want -= CS_MIN(want, (size_t)arch->insn_align))
		if (cs_mem_read_some(u->mem, pc - want, ret, want) == want)
			return want;
	return 0;
}

bool cs_pc_after_call(const struct cs_unwinder *u, uint64_t pc)
{
	uint8_t bytes[MAX_CALL_BYTES];
	size_t n = bytes_before(u, pc, bytes);

	return n && u->arch->call_before(bytes, n);
}

/** Code that cannot be read may be anything. */
static bool may_be_stub(const struct cs_unwinder *u, uint64_t pc)
{
	uint8_t code[MAX_STUB];
	size_t n = cs_mem_read_some(u->mem, pc, code, sizeof(code));

	return n < sizeof(code) || u->arch->is_stub(code, n);
}

bool cs_pc_may_call(const struct cs_unwinder *u, uint64_t ra, uint64_t callee)
{
	const struct cs_mod *from = cs_modules_find(u->modules, ra - 1);
	const struct cs_mod *to = cs_modules_find(u->modules, callee);
	uint8_t bytes[MAX_CALL_BYTES];
	size_t n = bytes_before(u, ra, bytes);
	uint64_t target;

	if (!n || !u->arch->call_target(bytes, n, ra, &target))
		return true;
	/* A call of another module goes through a stub of this one; made code has no stubs. */
	if (from != to)
		return from && to && cs_modules_find(u->modules, target) == from &&
		       may_be_stub(u, target);
	return target <= callee && callee - target < CS_MAX_FUNCTION;
}

bool cs_pc_returnable(const struct cs_unwinder *u, uint64_t pc)
{
	return cs_pc_after_call(u, pc) || (cs_pc_executable(u, pc) && cs_sigframe_at(u, pc));
}

uint64_t cs_pc_strip(const struct cs_unwinder *u, uint64_t pc)
{
	if (u->pac_mask || !u->arch->pac_masks[0])
		return pc & ~u->pac_mask;
	if (cs_pc_executable(u, pc))
		return pc;
	for (size_t i = 0; i < CS_COUNT(u->arch->pac_masks); i++)
		if (cs_pc_executable(u, pc & ~u->arch->pac_masks[i]))
			return pc & ~u->arch->pac_masks[i];
	return pc;
}

static size_t slot_of(const struct cs_unwinder *u, uint64_t pc, bool exact)
{
	size_t i = (size_t)(((pc * 2 + exact) * 0x9e3779b97f4a7c15ULL) >> 32) & u->pcs_mask;

	while (u->pcs[i].used && (u->pcs[i].pc != pc || u->pcs[i].exact != exact))
		i = (i + 1) & u->pcs_mask;
	return i;
}

static void forget_all(struct cs_unwinder *u)
{
	memset(u->pcs, 0, (u->pcs_mask + 1) * sizeof(*u->pcs));
	u->n_pcs = 0;
	cs_cfi_forget(u->cfi);
}

/** Twice the room; without memory, or at the limit, all is forgotten instead. */
static void make_room(struct cs_unwinder *u)
{
	size_t old_mask = u->pcs_mask, n = (old_mask + 1) * 2;
	struct cs_pc *old = u->pcs, *grown;

	grown = n <= CS_MAX_CODE_ADDRESSES ? calloc(n, sizeof(*grown)) : NULL;
	if (!grown) {
		forget_all(u);
		return;
	}
	u->pcs = grown;
	u->pcs_mask = n - 1;
	for (size_t i = 0; i <= old_mask; i++)
		if (old[i].used)
			u->pcs[slot_of(u, old[i].pc, old[i].exact)] = old[i];
	free(old);
}

const struct cs_pc *cs_pc_facts(struct cs_unwinder *u, uint64_t pc, bool exact)
{
	struct cs_pc *facts = &u->pcs[slot_of(u, pc, exact)];
	struct cs_pc fresh = {.pc = pc, .exact = exact, .used = true};
	uint64_t lookup;
	bool full;

	if (facts->used)
		return facts;
	if (u->n_pcs >= u->pcs_mask / 2)
		make_room(u);
	fresh.executable = cs_pc_executable(u, pc);
	if (fresh.executable) {
		fresh.trampoline = cs_sigframe_at(u, pc);
		/*
		 * A return address may lie behind its function, whose last instruction was the call;
		 * a trampoline was not called, its address is that of its first instruction.
		 */
		lookup = pc - !(exact || fresh.trampoline);
		fresh.row = cs_cfi_row(u->cfi, lookup, &full);
		if (full) {
			forget_all(u);
			fresh.row = cs_cfi_row(u->cfi, lookup, &full);
		}
	}
	facts = &u->pcs[slot_of(u, pc, exact)];
	*facts = fresh;
	u->n_pcs++;
	return facts;
}

struct cs_error *cs_unwinder_create(struct cs_mem *mem, struct cs_modules *modules,
				    const struct cs_arch *arch, uint64_t pac_mask,
				    struct cs_unwinder **ret)
{
	CS_CLEANUP(cs_unwinder_destroyp) struct cs_unwinder *u = calloc(1, sizeof(*u));

	if (!u)
		return &cs_nomem;
	u->mem = mem;
	u->modules = modules;
	u->arch = arch;
	u->pac_mask = pac_mask;
	u->steppers = CS_STEPPERS_ALL;
	u->pcs_mask = FIRST_PCS - 1;
	u->pcs = calloc(FIRST_PCS, sizeof(*u->pcs));
	if (!u->pcs)
		return &cs_nomem;
	CS_TRY(cs_cfi_create(u, &u->cfi));
	CS_TRY(cs_unw_create(u, &u->unw));
	*ret = CS_TAKE(u);
	return NULL;
}

void cs_unwinder_destroy(struct cs_unwinder *u)
{
	if (!u)
		return;
	cs_unw_destroy(u->unw);
	cs_cfi_destroy(u->cfi);
	free(u->pcs);
	free(u);
}
