/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The evaluator of DWARF expressions: each operation, and that nothing runs for ever. */
#include "unwind/expr.h"

#include "base/limits.h"
#include "fake_target.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>

#define OP(a) {.atom = (a)}
#define OP1(a, x) {.atom = (a), .number = (uint64_t)(x)}
#define OP2(a, x, y) {.atom = (a), .number = (uint64_t)(x), .number2 = (uint64_t)(y)}
#define MAX_OPS 8

struct world {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_regs regs;
	struct cs_expr_scope scope;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	static const uint8_t bytes[16] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
					  1, 2, 3, 4, 5, 6, 7, 8};

	assert_non_null(w);
	w->target = fake_create(EM_X86_64);
	fake_map(w->target, 0x5000, bytes, sizeof(bytes), CS_PROT_READ);
	assert_null(cs_mem_create(fake_cs(w->target), &w->mem));
	cs_regs_set(&w->regs, 7, 0x5000);
	cs_regs_set(&w->regs, 16, 0x40100b);
	w->scope = (struct cs_expr_scope){.mem = w->mem, .regs = &w->regs, .bias = 0x100000};
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cs_mem_destroy(w->mem);
	fake_destroy(w->target);
	free(w);
	return 0;
}

struct sample {
	Dwarf_Op ops[MAX_OPS];
	uint64_t want;
};

/* Values worked out by hand from DWARF 5, section 2.5.1. */
static const struct sample samples[] = {
	{{OP(DW_OP_lit0)}, 0},
	{{OP(DW_OP_lit31)}, 31},
	{{OP1(DW_OP_const1s, -5)}, (uint64_t)-5},
	{{OP1(DW_OP_const8u, UINT64_MAX)}, UINT64_MAX},
	{{OP1(DW_OP_constu, 300)}, 300},
	{{OP1(DW_OP_addr, 0x10)}, 0x100010},
	{{OP1(DW_OP_breg7, 8)}, 0x5008},
	{{OP1(DW_OP_breg7, -8)}, 0x4ff8},
	{{OP2(DW_OP_bregx, 16, 1)}, 0x40100c},
	{{OP1(DW_OP_breg7, 0), OP(DW_OP_deref)}, 0x1122334455667788},
	{{OP1(DW_OP_breg7, 8), OP1(DW_OP_deref_size, 2)}, 0x0201},
	{{OP(DW_OP_lit5), OP(DW_OP_lit3), OP(DW_OP_minus)}, 2},
	{{OP(DW_OP_lit5), OP(DW_OP_lit3), OP(DW_OP_plus)}, 8},
	{{OP(DW_OP_lit5), OP(DW_OP_lit3), OP(DW_OP_mul)}, 15},
	{{OP(DW_OP_lit5), OP1(DW_OP_plus_uconst, 1000)}, 1005},
	{{OP1(DW_OP_const1s, -7), OP(DW_OP_lit2), OP(DW_OP_div)}, (uint64_t)-3},
	{{OP1(DW_OP_const8u, 1ULL << 63), OP1(DW_OP_const1s, -1), OP(DW_OP_div)}, 1ULL << 63},
	{{OP(DW_OP_lit7), OP(DW_OP_lit4), OP(DW_OP_mod)}, 3},
	{{OP(DW_OP_lit12), OP(DW_OP_lit10), OP(DW_OP_and)}, 8},
	{{OP(DW_OP_lit12), OP(DW_OP_lit10), OP(DW_OP_or)}, 14},
	{{OP(DW_OP_lit12), OP(DW_OP_lit10), OP(DW_OP_xor)}, 6},
	{{OP(DW_OP_lit0), OP(DW_OP_not)}, UINT64_MAX},
	{{OP(DW_OP_lit2), OP(DW_OP_neg)}, (uint64_t)-2},
	{{OP1(DW_OP_const1s, -9), OP(DW_OP_abs)}, 9},
	{{OP(DW_OP_lit3), OP(DW_OP_lit4), OP(DW_OP_shl)}, 48},
	{{OP(DW_OP_lit1), OP1(DW_OP_constu, 64), OP(DW_OP_shl)}, 0},
	{{OP1(DW_OP_const1s, -16), OP(DW_OP_lit2), OP(DW_OP_shr)}, 0x3ffffffffffffffc},
	{{OP1(DW_OP_const1s, -16), OP(DW_OP_lit2), OP(DW_OP_shra)}, (uint64_t)-4},
	{{OP1(DW_OP_const1s, -16), OP1(DW_OP_constu, 99), OP(DW_OP_shra)}, UINT64_MAX},
	{{OP1(DW_OP_const1s, -1), OP(DW_OP_lit0), OP(DW_OP_lt)}, 1},
	{{OP1(DW_OP_const1s, -1), OP(DW_OP_lit0), OP(DW_OP_le)}, 1},
	{{OP1(DW_OP_const1s, -1), OP(DW_OP_lit0), OP(DW_OP_gt)}, 0},
	{{OP(DW_OP_lit2), OP(DW_OP_lit2), OP(DW_OP_ge)}, 1},
	{{OP(DW_OP_lit2), OP(DW_OP_lit2), OP(DW_OP_eq)}, 1},
	{{OP(DW_OP_lit2), OP(DW_OP_lit2), OP(DW_OP_ne)}, 0},
	{{OP(DW_OP_lit2), OP(DW_OP_dup), OP(DW_OP_mul)}, 4},
	{{OP(DW_OP_lit2), OP(DW_OP_lit9), OP(DW_OP_drop)}, 2},
	{{OP(DW_OP_lit2), OP(DW_OP_lit9), OP(DW_OP_over)}, 2},
	{{OP(DW_OP_lit2), OP(DW_OP_lit9), OP(DW_OP_swap)}, 2},
	{{OP(DW_OP_lit1), OP(DW_OP_lit2), OP(DW_OP_lit3), OP1(DW_OP_pick, 2)}, 1},
	{{OP(DW_OP_lit1), OP(DW_OP_lit2), OP(DW_OP_lit3), OP(DW_OP_rot)}, 2},
	{{OP(DW_OP_lit1), OP(DW_OP_lit2), OP(DW_OP_lit3), OP(DW_OP_rot), OP(DW_OP_drop)}, 1},
	{{OP(DW_OP_lit6), OP(DW_OP_nop)}, 6},
};

static size_t count(const Dwarf_Op *ops)
{
	size_t n = 0;

	while (n < MAX_OPS && ops[n].atom)
		n++;
	return n;
}

static void test_operations(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < CS_COUNT(samples); i++) {
		uint64_t got = 0xdead;

		if (cs_expr_eval(&w->scope, samples[i].ops, count(samples[i].ops), &got, NULL) !=
			    CS_EXPR_OK ||
		    got != samples[i].want)
			fail_msg("sample %zu: got %#llx, want %#llx", i, (unsigned long long)got,
				 (unsigned long long)samples[i].want);
	}
}

/* The expression that ld writes for .plt: CFA = rsp + 8 + ((rip & 15) >= 11) * 8. */
static void test_plt_expression(void **state)
{
	static const Dwarf_Op ops[] = {
		OP1(DW_OP_breg7, 8), OP1(DW_OP_breg16, 0), OP(DW_OP_lit15), OP(DW_OP_and),
		OP(DW_OP_lit11),     OP(DW_OP_ge),         OP(DW_OP_lit3),  OP(DW_OP_shl),
		OP(DW_OP_plus),
	};
	struct world *w = *state;
	uint64_t got;

	assert_int_equal(cs_expr_eval(&w->scope, ops, CS_COUNT(ops), &got, NULL), CS_EXPR_OK);
	assert_int_equal(got, 0x5010);
	cs_regs_set(&w->regs, 16, 0x401006);
	assert_int_equal(cs_expr_eval(&w->scope, ops, CS_COUNT(ops), &got, NULL), CS_EXPR_OK);
	assert_int_equal(got, 0x5008);
}

static void test_jumps(void **state)
{
	/* 0: lit1; 1: bra +1 -> 5; 4: lit9 (skipped); 5: lit4 */
	static const Dwarf_Op taken[] = {
		{.atom = DW_OP_lit1, .offset = 0},
		{.atom = DW_OP_bra, .number = 1, .offset = 1},
		{.atom = DW_OP_lit9, .offset = 4},
		{.atom = DW_OP_lit4, .offset = 5},
	};
	/* 0: lit4; 1: skip to the end */
	static const Dwarf_Op to_end[] = {
		{.atom = DW_OP_lit4, .offset = 0},
		{.atom = DW_OP_skip, .number = 1, .offset = 1},
		{.atom = DW_OP_lit9, .offset = 4},
	};
	static const Dwarf_Op inside[] = {
		{.atom = DW_OP_skip, .number = 1, .offset = 0},
		{.atom = DW_OP_const1u, .number = 1, .offset = 3},
		{.atom = DW_OP_lit4, .offset = 5},
	};
	struct world *w = *state;
	uint64_t got;

	assert_int_equal(cs_expr_eval(&w->scope, taken, 4, &got, NULL), CS_EXPR_OK);
	assert_int_equal(got, 4);
	assert_int_equal(cs_expr_eval(&w->scope, to_end, 3, &got, NULL), CS_EXPR_OK);
	assert_int_equal(got, 4);
	assert_int_equal(cs_expr_eval(&w->scope, inside, 3, &got, NULL), CS_EXPR_BAD);
}

static void test_bounds(void **state)
{
	static const Dwarf_Op forever[] = {
		{.atom = DW_OP_lit1, .offset = 0},
		{.atom = DW_OP_drop, .offset = 1},
		{.atom = DW_OP_skip, .number = (uint64_t)-5, .offset = 2},
	};
	static const Dwarf_Op empty[] = {OP(DW_OP_drop)};
	static const Dwarf_Op by_zero[] = {OP(DW_OP_lit1), OP(DW_OP_lit0), OP(DW_OP_div)};
	static const Dwarf_Op foreign[] = {OP1(DW_OP_fbreg, 0)};
	Dwarf_Op deep[CS_MAX_CFI_STACK + 1];
	struct world *w = *state;
	uint64_t got;

	assert_int_equal(cs_expr_eval(&w->scope, forever, 3, &got, NULL), CS_EXPR_BAD);
	assert_int_equal(cs_expr_eval(&w->scope, empty, 1, &got, NULL), CS_EXPR_BAD);
	assert_int_equal(cs_expr_eval(&w->scope, empty, 0, &got, NULL), CS_EXPR_BAD);
	assert_int_equal(cs_expr_eval(&w->scope, by_zero, 3, &got, NULL), CS_EXPR_BAD);
	assert_int_equal(cs_expr_eval(&w->scope, foreign, 1, &got, NULL), CS_EXPR_BAD);
	for (size_t i = 0; i < CS_COUNT(deep); i++)
		deep[i] = (Dwarf_Op){.atom = DW_OP_lit1, .offset = i};
	assert_int_equal(cs_expr_eval(&w->scope, deep, CS_MAX_CFI_STACK, &got, NULL), CS_EXPR_OK);
	assert_int_equal(cs_expr_eval(&w->scope, deep, CS_COUNT(deep), &got, NULL), CS_EXPR_BAD);
}

static void test_what_is_not_known(void **state)
{
	static const Dwarf_Op reg[] = {OP1(DW_OP_breg3, 0)};
	static const Dwarf_Op far[] = {OP2(DW_OP_bregx, 1000000, 0)};
	static const Dwarf_Op mem[] = {OP1(DW_OP_constu, 0x9000), OP(DW_OP_deref)};
	static const Dwarf_Op cfa[] = {OP(DW_OP_call_frame_cfa), OP1(DW_OP_plus_uconst, -16),
				       OP(DW_OP_stack_value)};
	struct world *w = *state;
	bool value = false;
	uint64_t got;

	assert_int_equal(cs_expr_eval(&w->scope, reg, 1, &got, NULL), CS_EXPR_UNKNOWN);
	assert_int_equal(cs_expr_eval(&w->scope, far, 1, &got, NULL), CS_EXPR_UNKNOWN);
	assert_int_equal(cs_expr_eval(&w->scope, mem, 2, &got, NULL), CS_EXPR_UNREADABLE);
	assert_int_equal(got, 0x9000);
	assert_int_equal(cs_expr_eval(&w->scope, cfa, 3, &got, &value), CS_EXPR_BAD);
	w->scope.has_cfa = true;
	w->scope.cfa = 0x5010;
	assert_int_equal(cs_expr_eval(&w->scope, cfa, 3, &got, &value), CS_EXPR_OK);
	assert_int_equal(got, 0x5000);
	assert_true(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_operations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plt_expression, setup, teardown),
		cmocka_unit_test_setup_teardown(test_jumps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_is_not_known, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
