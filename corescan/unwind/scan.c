/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last resort: search the stack for a word that can be a return address.
 *
 * Knows that a return address points behind a call instruction in executable memory. Refuses to be sure:
 * such a word may be left over from a call that returned long ago, so the frame is marked as found by
 * scanning, and the search goes no further than CS_MAX_SCAN_BYTES.
 */
#include "unwind/stepper.h"

#include "base/limits.h"

#include <string.h>

#define CHUNK 4096UL

struct search {
	const struct cs_unwinder *u;
	const struct cs_cursor *in;
	uint64_t at; /* address of the best word so far */
	uint64_t pc;
	bool found;
};

/**
 * Look at the words in @bytes, which lie at @addr. True ends the search: a return address within a module,
 * behind a call that can have led here. The first of the others is kept in case that no such one comes
 * soon: a tail call leads elsewhere, made code is in no module.
 */
static bool look(struct search *s, uint64_t addr, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;
		bool good;

		if (s->found && addr + i - s->at > CS_MAX_SCAN_PREFERENCE)
			return true;
		memcpy(&word, bytes + i, sizeof(word));
		word = cs_pc_strip(s->u, le64toh(word));
		if (word < 4096 || !cs_pc_returnable(s->u, word))
			continue;
		good = cs_modules_find(s->u->modules, word - 1) &&
		       cs_pc_may_call(s->u, word, s->in->pc);
		if (s->found && !good)
			continue;
		s->at = addr + i;
		s->pc = word;
		s->found = true;
		if (good)
			return true;
	}
	return false;
}

/**
 * The caller's frame pointer: where the function saved it, just below the return address, if that value
 * can be one; else the register as it is, if it still points further out.
 */
static void guess_fp(const struct cs_unwinder *u, const struct cs_cursor *in, uint64_t at,
		     struct cs_caller *ret)
{
	const struct cs_region *stack = cs_mem_region(u->mem, at);
	uint64_t fp;

	if (!stack)
		return;
	if (cs_mem_u64(u->mem, at - 8, &fp) && fp > at && fp < stack->end && fp % 8 == 0)
		cs_regs_set(&ret->regs, u->arch->fp, fp);
	else if (cs_regs_get(&in->regs, u->arch->fp, &fp) && fp > at && fp < stack->end)
		cs_regs_set(&ret->regs, u->arch->fp, fp);
}

enum cs_found cs_scan_step(struct cs_unwinder *u, const struct cs_cursor *in, uint64_t from,
			   struct cs_caller *ret)
{
	struct search s = {.u = u, .in = in};
	uint64_t addr = (from + 7) & ~7ULL, end;
	const struct cs_region *stack = cs_mem_region(u->mem, addr);
	uint8_t bytes[CHUNK];

	if (!stack)
		return CS_FOUND_NOTHING;
	end = stack->end - addr < CS_MAX_SCAN_BYTES ? stack->end : addr + CS_MAX_SCAN_BYTES;
	while (addr < end) {
		size_t want = CS_MIN(CHUNK, end - addr);
		size_t got = cs_mem_read_some(u->mem, addr, bytes, want);

		if (look(&s, addr, bytes, got) || got < want)
			break;
		addr += got;
	}
	if (!s.found)
		return CS_FOUND_NOTHING;
	ret->regs.known = 0;
	cs_regs_set(&ret->regs, u->arch->pc, s.pc);
	cs_regs_set(&ret->regs, u->arch->sp, s.at + 8);
	guess_fp(u, in, s.at, ret);
	ret->cfa = 0;
	ret->trust = CS_TRUST_SCAN;
	return CS_FOUND_CALLER;
}
