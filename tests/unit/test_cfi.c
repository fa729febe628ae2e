/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call frame information from tables written by hand (LSB core, "Exception Frames"; DWARF 5, 6.4): the
 * rules, the vet in front of libdw, and libunwind on the same tables in the target's memory.
 */
#include "unwind/stepper.h"
#include "unwind/vet.h"

#include "base/limits.h"
#include "fake_modules.h"
#include "fake_target.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define BIAS 0x500000UL
#define IMAGE 0x8000UL /* bytes */
#define HDR 0x200UL
#define FRAMES 0x300UL
#define TEXT 0x4000UL
#define STACK 0x7ff00000UL

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };

struct world {
	uint8_t image[IMAGE];
	size_t at; /* end of .eh_frame so far */
	struct {
		int32_t start, fde;
	} table[16];
	size_t n_fdes;
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_modules *modules;
	struct cs_unwinder *u;
	struct cs_cursor cursor;
	struct cs_caller caller;
};

static void put8(struct world *w, uint8_t v)
{
	w->image[w->at++] = v;
}

static void put32(struct world *w, uint32_t v)
{
	memcpy(w->image + w->at, &v, 4);
	w->at += 4;
}

/** End the entry that began at @start: padding and its length. */
static void end_entry(struct world *w, size_t start)
{
	uint32_t len;

	while ((w->at - start) % 8)
		put8(w, DW_CFA_nop);
	len = (uint32_t)(w->at - start - 4);
	memcpy(w->image + start, &len, 4);
}

/** "zR", pc-relative 4-byte addresses; CFA = rsp + 8, return address at CFA - 8. */
static void put_cie(struct world *w)
{
	size_t start = w->at;

	put32(w, 0);
	put32(w, 0);
	put8(w, 1);
	memcpy(w->image + w->at, "zR", 3);
	w->at += 3;
	put8(w, 1);    /* code alignment */
	put8(w, 0x78); /* data alignment: -8 */
	put8(w, RIP);
	put8(w, 1);
	put8(w, 0x1b);
	put8(w, DW_CFA_def_cfa);
	put8(w, RSP);
	put8(w, 8);
	put8(w, DW_CFA_offset | RIP);
	put8(w, 1);
	end_entry(w, start);
}

/** A function of 64 bytes at TEXT + @n * 64 with operations @ops from its first byte on. */
static void put_fde(struct world *w, const uint8_t *ops, size_t len)
{
	size_t start = w->at;
	uint32_t text = (uint32_t)(TEXT + w->n_fdes * 64);

	w->table[w->n_fdes].start = (int32_t)(text - HDR);
	w->table[w->n_fdes++].fde = (int32_t)(start - HDR);
	put32(w, 0);
	put32(w, (uint32_t)(w->at - FRAMES));
	put32(w, text - (uint32_t)w->at);
	put32(w, 64);
	put8(w, 0);
	memcpy(w->image + w->at, ops, len);
	w->at += len;
	end_entry(w, start);
}

#define FDE(w, ...)                                                                      \
	do {                                                                             \
		static const uint8_t ops_[] = {__VA_ARGS__};                             \
		put_fde(w, ops_, sizeof(ops_));                                          \
	} while (0)

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2};
	Elf64_Phdr ph[2] = {
		{.p_type = PT_LOAD, .p_filesz = IMAGE, .p_memsz = IMAGE, .p_flags = PF_R | PF_X},
		{.p_type = PT_GNU_EH_FRAME, .p_offset = HDR, .p_vaddr = HDR},
	};

	assert_non_null(w);
	ph[1].p_filesz = ph[1].p_memsz = 12 + sizeof(w->table);
	memcpy(w->image, &eh, sizeof(eh));
	memcpy(w->image + sizeof(eh), ph, sizeof(ph));
	w->at = FRAMES;
	put_cie(w);
	*state = w;
	return 0;
}

/** The search table, and the whole as a module of a process that stands in it. */
static void finish(struct world *w)
{
	uint8_t hdr[4] = {1, 0x1b, 0x03, 0x3b};
	int32_t frames = (int32_t)(FRAMES - (HDR + 4)), n = (int32_t)w->n_fdes;
	struct cs_target *t;

	put32(w, 0); /* terminator */
	memcpy(w->image + HDR, hdr, 4);
	memcpy(w->image + HDR + 4, &frames, 4);
	memcpy(w->image + HDR + 8, &n, 4);
	memcpy(w->image + HDR + 12, w->table, sizeof(w->table));
	w->target = fake_create(EM_X86_64);
	fake_map(w->target, BIAS, w->image, IMAGE, CS_PROT_READ | CS_PROT_EXEC);
	fake_map(w->target, STACK, NULL, 0x1000, CS_PROT_READ | CS_PROT_WRITE);
	w->modules = fake_modules_create();
	fake_module(w->modules, BIAS, BIAS + IMAGE, BIAS, w->image, IMAGE);
	t = fake_cs(w->target);
	assert_null(cs_mem_create(t, &w->mem));
	assert_null(cs_unwinder_create(w->mem, w->modules, cs_arch_find(EM_X86_64), 0, &w->u));
	for (unsigned reg = 0; reg < 16; reg++)
		cs_regs_set(&w->cursor.regs, reg, 0x1000 + reg);
	for (uint64_t i = 0; i < 0x200; i++)
		fake_poke64(w->target, STACK + i * 8, 0xabc000 + i);
}

static int teardown(void **state)
{
	struct world *w = *state;

	cs_unwinder_destroy(w->u);
	cs_modules_destroy(w->modules);
	cs_mem_destroy(w->mem);
	fake_destroy(w->target);
	free(w);
	return 0;
}

/** Stand in function @n and ask for the caller. */
static enum cs_found step_in(struct world *w, size_t n,
			     enum cs_found (*step)(struct cs_unwinder *, const struct cs_cursor *,
						   struct cs_caller *))
{
	const struct cs_pc *pc;

	w->cursor.pc = BIAS + TEXT + n * 64 + 8;
	w->cursor.sp = STACK + 0x100;
	w->cursor.exact = true;
	cs_regs_set(&w->cursor.regs, RIP, w->cursor.pc);
	cs_regs_set(&w->cursor.regs, RSP, w->cursor.sp);
	pc = cs_pc_facts(w->u, w->cursor.pc, true);
	assert_true(pc->executable);
	w->cursor.row = pc->row;
	return step(w->u, &w->cursor, &w->caller);
}

static uint64_t reg(const struct world *w, unsigned n)
{
	uint64_t v = 0xdead;

	return cs_regs_get(&w->caller.regs, n, &v) ? v : 0xdead;
}

static void test_rules(void **state)
{
	struct world *w = *state;

	FDE(w, DW_CFA_nop);
	FDE(w, DW_CFA_def_cfa_offset, 0x20, DW_CFA_offset | RBP, 2, DW_CFA_same_value, RBX);
	FDE(w, DW_CFA_register, RBX, RBP, DW_CFA_val_offset, RBP, 3);
	FDE(w, DW_CFA_undefined, RIP);
	/* rbx at *(rsp + 16); rbp is rsp + 1 */
	FDE(w, DW_CFA_expression, RBX, 2, DW_OP_breg7, 16, DW_CFA_val_expression, RBP, 2,
	    DW_OP_breg7, 1);
	/* CFA = *(rsp) - the word there is 0xabc020: not mapped */
	FDE(w, DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 0, DW_OP_deref);
	finish(w);
	assert_int_equal(step_in(w, 0, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(w->caller.cfa, STACK + 0x108);
	assert_int_equal(reg(w, RIP), 0xabc020);
	assert_int_equal(reg(w, RSP), STACK + 0x108);
	assert_int_equal(reg(w, RBX), 0x1000 + RBX); /* callee-saved: kept, by the ABI */
	assert_int_equal(reg(w, 0), 0xdead);         /* rax: not */
	assert_int_equal(step_in(w, 1, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(reg(w, RIP), 0xabc000 + 0x23);
	assert_int_equal(reg(w, RBP), 0xabc000 + 0x22);
	assert_int_equal(step_in(w, 2, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(reg(w, RBX), 0x1000 + RBP);
	assert_int_equal(reg(w, RBP), STACK + 0x108 - 24);
	assert_int_equal(step_in(w, 3, cs_cfi_step), CS_FOUND_BOTTOM);
	assert_int_equal(step_in(w, 4, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(reg(w, RBX), 0xabc022);
	assert_int_equal(reg(w, RBP), STACK + 0x101);
	assert_int_equal(step_in(w, 5, cs_cfi_step), CS_FOUND_UNREADABLE);
	assert_int_equal(w->caller.address, 0xabc018);
	assert_int_equal(step_in(w, 6, cs_cfi_step), CS_FOUND_NOTHING);
}

/* The second thread at the same pc costs no further look at the tables. */
static void test_rows_are_kept(void **state)
{
	struct world *w = *state;
	const struct cs_pc *first;

	FDE(w, DW_CFA_nop);
	finish(w);
	first = cs_pc_facts(w->u, BIAS + TEXT + 8, false);
	assert_non_null(first->row);
	memset(w->image + FRAMES, 0xff, 64);
	assert_ptr_equal(cs_pc_facts(w->u, BIAS + TEXT + 8, false)->row, first->row);
	assert_null(cs_pc_facts(w->u, BIAS + TEXT + 9, false)->row);
}

/* What libdw must never be given: it would allocate or compute as the table asks. */
static void test_vet(void **state)
{
	struct world *w = *state;
	static uint8_t states[CS_MAX_CFI_STATES + 2], longest[0x1800];
	static uint8_t in_turn[4 * CS_MAX_CFI_STATES];

	memset(states, DW_CFA_remember_state, sizeof(states));
	for (size_t i = 0; i < sizeof(in_turn); i++)
		in_turn[i] = i % 2 ? DW_CFA_restore_state : DW_CFA_remember_state;
	FDE(w, DW_CFA_nop);
	FDE(w, DW_CFA_undefined, 0xff, 0xff, 0xff, 0xff, 0x0f);
	put_fde(w, states, sizeof(states));
	put_fde(w, states, CS_MAX_CFI_STATES);
	FDE(w, 0x3a);
	FDE(w, DW_CFA_def_cfa_expression, 0x7f);
	put_fde(w, longest, sizeof(longest));
	put_fde(w, in_turn, sizeof(in_turn));
	finish(w);
	assert_int_equal(step_in(w, 0, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(step_in(w, 1, cs_cfi_step), CS_FOUND_NOTHING);
	assert_int_equal(step_in(w, 2, cs_cfi_step), CS_FOUND_NOTHING);
	assert_int_equal(step_in(w, 3, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(step_in(w, 4, cs_cfi_step), CS_FOUND_NOTHING);
	assert_int_equal(step_in(w, 5, cs_cfi_step), CS_FOUND_NOTHING);
	assert_int_equal(step_in(w, 6, cs_cfi_step), CS_FOUND_CALLER);
	assert_int_equal(step_in(w, 7, cs_cfi_step), CS_FOUND_CALLER);
}

/* Each cut-off of the tables is refused or harmless (the sanitizers watch). */
static void test_vet_truncated(void **state)
{
	struct world *w = *state;

	FDE(w, DW_CFA_def_cfa_offset, 0x20, DW_CFA_offset | RBP, 2);
	finish(w);
	for (size_t len = sizeof(Elf64_Ehdr); len < w->at; len++) {
		uint8_t *cut = malloc(len);
		struct cs_vet *vet = NULL;
		Elf *elf;

		assert_non_null(cut);
		memcpy(cut, w->image, len);
		elf = elf_memory((char *)cut, len);
		if (elf && cs_ok(cs_vet_create(elf, &vet)) && vet)
			assert_int_equal(cs_vet_allows(vet, TEXT), len >= w->at - 4);
		cs_vet_destroy(vet);
		elf_end(elf);
		free(cut);
	}
}

/* Another implementation on the target's own bytes comes to the same caller. */
static void test_libunwind(void **state)
{
	struct world *w = *state;
	static uint8_t states[CS_MAX_CFI_STATES + 2];
	struct cs_caller by_libdw;

	memset(states, DW_CFA_remember_state, sizeof(states));
	FDE(w, DW_CFA_def_cfa_offset, 0x20, DW_CFA_offset | RBP, 2);
	FDE(w, DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 0x18, DW_OP_nop);
	put_fde(w, states, sizeof(states));
	/* rbx is in register 2^34 - 1, which libunwind would look up in an array of 17 */
	FDE(w, DW_CFA_register, RBX, 0xff, 0xff, 0xff, 0xff, 0x3f);
	finish(w);
	if (!w->u->unw)
		skip(); /* libunwind knows this machine only */
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(step_in(w, i, cs_cfi_step), CS_FOUND_CALLER);
		by_libdw = w->caller;
		assert_int_equal(step_in(w, i, cs_unw_step), CS_FOUND_CALLER);
		assert_int_equal(w->caller.cfa, by_libdw.cfa);
		for (unsigned r = 0; r <= RIP; r++)
			if (by_libdw.regs.known >> r & 1)
				assert_int_equal(reg(w, r), by_libdw.regs.value[r]);
	}
	/* What the vet keeps from libdw it keeps from libunwind too. */
	for (size_t i = 2; i < 4; i++) {
		assert_int_equal(step_in(w, i, cs_cfi_step), CS_FOUND_NOTHING);
		assert_int_equal(step_in(w, i, cs_unw_step), CS_FOUND_NOTHING);
	}
	/* No entry: no guess either. */
	assert_int_equal(step_in(w, 9, cs_unw_step), CS_FOUND_NOTHING);
}

/* A program without end in the target's memory. */
static void test_libunwind_is_bounded(void **state)
{
	struct world *w = *state;
	uint32_t huge = 0x7ffffff0;

	FDE(w, DW_CFA_nop);
	finish(w);
	if (!w->u->unw)
		skip();
	fake_prot(w->target, BIAS, CS_PROT_READ | CS_PROT_WRITE | CS_PROT_EXEC);
	fake_poke(w->target, BIAS + HDR + (uint64_t)(int64_t)w->table[0].fde, &huge, 4);
	fake_map_partial(w->target, BIAS + IMAGE, NULL, 16UL << 20, 16UL << 20, CS_PROT_READ);
	w->cursor.row = NULL;
	(void)step_in(w, 0, cs_unw_step); /* ends */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vet, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vet_truncated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_libunwind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_libunwind_is_bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
