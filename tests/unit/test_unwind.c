/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver and the steppers that need no tables, on stacks made up word by word. */
#include "unwind/stepper.h"

#include "base/limits.h"
#include "fake_modules.h"
#include "fake_target.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define CODE 0x400000UL
#define STACK 0x7ff00000UL
#define STACK_BYTES 0x40000UL
#define ALT 0x600000UL

/* DWARF numbers, System V ABI AMD64, figure 3.36, and AArch64 DWARF, 4.1. */
enum { X86_RBP = 6, X86_RSP = 7, X86_RIP = 16, A64_FP = 29, A64_LR = 30, A64_SP = 31, A64_PC = 32 };

struct world {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_modules *modules;
	struct cs_unwinder *u;
	struct cs_regs regs;
	struct cs_raw_stack stack;
};

/** Code is full of call instructions: x86-64 `call rax` (ff d0), aarch64 `blr x0` (d63f0000). */
static struct world *world_of(uint16_t machine)
{
	struct world *w = calloc(1, sizeof(*w));
	uint8_t code[0x1000];

	assert_non_null(w);
	for (size_t i = 0; i < sizeof(code); i += 4)
		memcpy(code + i, machine == EM_X86_64 ? "\x90\x90\xff\xd0" : "\x00\x00\x3f\xd6", 4);
	w->target = fake_create(machine);
	fake_map(w->target, CODE, code, sizeof(code), CS_PROT_READ | CS_PROT_EXEC);
	fake_map(w->target, STACK, NULL, STACK_BYTES, CS_PROT_READ | CS_PROT_WRITE);
	fake_map(w->target, ALT, NULL, 0x2000, CS_PROT_READ | CS_PROT_WRITE);
	return w;
}

static int setup(void **state)
{
	*state = world_of(EM_X86_64);
	return 0;
}

static int setup_aarch64(void **state)
{
	*state = world_of(EM_AARCH64);
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	cs_raw_stack_deinit(&w->stack);
	cs_unwinder_destroy(w->u);
	cs_modules_destroy(w->modules);
	cs_mem_destroy(w->mem);
	fake_destroy(w->target);
	free(w);
	return 0;
}

static void unwind(struct world *w, uint64_t pac_mask)
{
	struct cs_target *t = fake_cs(w->target);

	assert_null(cs_mem_create(t, &w->mem));
	if (!w->modules)
		w->modules = fake_modules_create();
	assert_null(cs_unwinder_create(w->mem, w->modules, cs_arch_find(t->machine), pac_mask,
				       &w->u));
	assert_null(cs_unwind(w->u, &w->regs, &w->stack));
}

static void put(struct world *w, uint64_t addr, uint64_t value)
{
	fake_poke64(w->target, addr, value);
}

static void expect(const struct world *w, size_t i, uint64_t pc, enum cs_trust trust)
{
	assert_true(i < w->stack.n);
	assert_int_equal(w->stack.frames[i].pc, pc);
	assert_int_equal(w->stack.frames[i].trust, trust);
}

static void set_x86(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	cs_regs_set(&w->regs, X86_RIP, pc);
	cs_regs_set(&w->regs, X86_RSP, sp);
	cs_regs_set(&w->regs, X86_RBP, fp);
}

static void test_frame_pointers(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK + 0x100, STACK + 0x120);
	put(w, STACK + 0x120, STACK + 0x200);
	put(w, STACK + 0x128, CODE + 0x10);
	put(w, STACK + 0x200, 0);
	put(w, STACK + 0x208, 0);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 2);
	expect(w, 0, CODE + 8, CS_TRUST_CONTEXT);
	expect(w, 1, CODE + 0x10, CS_TRUST_FRAME_POINTER);
	assert_true(w->stack.frames[0].exact);
	assert_false(w->stack.frames[1].exact);
	assert_int_equal(w->stack.frames[0].cfa, STACK + 0x130);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

/* The return address does not follow a call: the chain is not believed, nor is anything else there. */
static void test_frame_pointer_is_checked(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK + 0x100, STACK + 0x120);
	put(w, STACK + 0x120, STACK + 0x200);
	put(w, STACK + 0x128, CODE + 0x12);
	put(w, STACK + 0x130, STACK + 0x300); /* not executable */
	unwind(w, 0);
	assert_int_equal(w->stack.n, 1);
	assert_int_equal(w->stack.stop, CS_STOP_NO_UNWIND_INFO);
	assert_int_equal(w->stack.stop_address, CODE + 8);
}

static void test_scan(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK + 0x100, 0x1234);
	put(w, STACK + 0x180, CODE + 0x10);
	put(w, STACK + 0x188, CODE + 0x13); /* behind no call */
	put(w, STACK + 0x1a0, CODE + 0x20);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 3);
	expect(w, 1, CODE + 0x10, CS_TRUST_SCAN);
	expect(w, 2, CODE + 0x20, CS_TRUST_SCAN);
	assert_int_equal(w->stack.stop, CS_STOP_NO_UNWIND_INFO);
}

/* Behind a direct call to somewhere else (a word left over), then behind an indirect one. */
static void test_scan_follows_calls(void **state)
{
	static const uint8_t call_here[] = {0xe8, 0xfb, 0xff, 0xff, 0xff}; /* its own address + 0 */
	struct world *w = *state;

	fake_prot(w->target, CODE, CS_PROT_READ | CS_PROT_WRITE | CS_PROT_EXEC);
	fake_poke(w->target, CODE + 0x900, call_here, sizeof(call_here));
	set_x86(w, CODE + 0x808, STACK + 0x100, 0);
	put(w, STACK + 0x180, CODE + 0x905);
	put(w, STACK + 0x1a0, CODE + 0x810);
	w->modules = fake_modules_create();
	fake_module(w->modules, CODE + 0x800, CODE + 0x1000, CODE, NULL, 0);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 2);
	expect(w, 1, CODE + 0x810, CS_TRUST_SCAN);
}

/* A word within a module is preferred to one before it that is not. */
static void test_scan_prefers_modules(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK + 0x100, 0);
	put(w, STACK + 0x180, CODE + 0x10);
	put(w, STACK + 0x1a0, CODE + 0x810);
	w->modules = fake_modules_create();
	fake_module(w->modules, CODE + 0x800, CODE + 0x1000, CODE, NULL, 0);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 2);
	expect(w, 1, CODE + 0x810, CS_TRUST_SCAN);
}

static void test_scan_is_bounded(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK, 0);
	for (size_t i = 0; i < CS_MAX_SCAN_FRAMES + 10; i++)
		put(w, STACK + 0x10 + i * 8, CODE + 0x10 + i * 4);
	unwind(w, 0);
	assert_int_equal(w->stack.n, CS_MAX_SCAN_FRAMES + 1);
	assert_int_equal(w->stack.stop, CS_STOP_LIMIT);
	cs_raw_stack_deinit(&w->stack);
	for (size_t i = 0; i < CS_MAX_SCAN_FRAMES + 10; i++)
		put(w, STACK + 0x10 + i * 8, 0);
	put(w, STACK + CS_MAX_SCAN_BYTES + 8, CODE + 0x10);
	cs_unwinder_destroy(w->u);
	cs_mem_destroy(w->mem);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 1);
}

static void test_null_call(void **state)
{
	struct world *w = *state;

	set_x86(w, 0, STACK + 0x100, STACK + 0x120);
	put(w, STACK + 0x100, CODE + 0x10);
	put(w, STACK + 0x120, STACK + 0x200);
	put(w, STACK + 0x128, CODE + 0x20);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 3);
	expect(w, 0, 0, CS_TRUST_CONTEXT);
	expect(w, 1, CODE + 0x10, CS_TRUST_CFI);
	expect(w, 2, CODE + 0x20, CS_TRUST_FRAME_POINTER);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

/* After a wild jump there is no return address at sp. */
static void test_wild_jump(void **state)
{
	struct world *w = *state;

	set_x86(w, 0x4141414141414141, STACK + 0x100, 0x4141414141414141);
	put(w, STACK + 0x100, 0x4141414141414141);
	put(w, STACK + 0x140, CODE + 0x20);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 2);
	expect(w, 0, 0x4141414141414141, CS_TRUST_CONTEXT);
	expect(w, 1, CODE + 0x20, CS_TRUST_SCAN);
}

static void test_unreadable(void **state)
{
	struct world *w = *state;

	set_x86(w, 0, STACK + 0x100, 0);
	fake_fail(w->target, STACK, STACK_BYTES);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 1);
	assert_int_equal(w->stack.stop, CS_STOP_UNREADABLE);
	assert_int_equal(w->stack.stop_address, STACK + 0x100);
}

static void test_no_registers(void **state)
{
	struct world *w = *state;

	unwind(w, 0);
	assert_int_equal(w->stack.n, 0);
	assert_int_equal(w->stack.stop, CS_STOP_NO_UNWIND_INFO);
}

/* linux arch/x86/include/uapi/asm/sigcontext.h: r8 first, then ..., rsp at 120, rip at 128; ucontext at 0. */
static void put_x86_sigframe(struct world *w, uint64_t sp, uint64_t pc, uint64_t old_sp, uint64_t fp)
{
	uint32_t info[6] = {11, 0, 1, 0, 0x1008, 0};

	put(w, sp + 40 + 80, fp);
	put(w, sp + 40 + 120, old_sp);
	put(w, sp + 40 + 128, pc);
	fake_poke(w->target, sp + 304, info, sizeof(info));
}

/* mov $15, %rax; syscall: glibc sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c, __restore_rt */
#define X86_TRAMPOLINE "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"

static void put_trampoline(struct world *w)
{
	fake_prot(w->target, CODE, CS_PROT_READ | CS_PROT_WRITE | CS_PROT_EXEC);
	fake_poke(w->target, CODE + 0x100, X86_TRAMPOLINE, 9);
}

/* A handler on another, higher stack; the interrupted frame called NULL. */
static void test_signal_frame(void **state)
{
	struct world *w = *state;

	put_trampoline(w);
	set_x86(w, CODE + 8, ALT + 0x100, ALT + 0x120);
	put(w, ALT + 0x120, STACK + 0x400);
	put(w, ALT + 0x128, CODE + 0x100);
	put_x86_sigframe(w, ALT + 0x130, 0, STACK + 0x300, STACK + 0x400);
	put(w, STACK + 0x300, CODE + 0x20);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 4);
	/* The handler's frame pointer leads to a trampoline, which no call precedes. */
	expect(w, 1, CODE + 0x100, CS_TRUST_FRAME_POINTER);
	assert_true(w->stack.frames[1].signal);
	assert_false(w->stack.frames[0].signal);
	expect(w, 2, 0, CS_TRUST_CONTEXT);
	assert_true(w->stack.frames[2].exact);
	expect(w, 3, CODE + 0x20, CS_TRUST_CFI);
	assert_int_equal(w->stack.n_interrupted, 1);
	assert_int_equal(w->stack.interrupted[0].frame, 2);
	assert_int_equal(w->stack.interrupted[0].signo, 11);
	assert_int_equal(w->stack.interrupted[0].code, 1);
	assert_int_equal(w->stack.interrupted[0].address, 0x1008);
	assert_int_equal(w->stack.interrupted[0].regs.value[X86_RSP], STACK + 0x300);
}

/* Signal frames that lead to each other for ever. */
static void test_signal_cycle(void **state)
{
	struct world *w = *state;

	put_trampoline(w);
	set_x86(w, CODE + 0x100, STACK + 0x1000, 0);
	put_x86_sigframe(w, STACK + 0x1000, CODE + 0x100, STACK + 0x800, 0);
	put_x86_sigframe(w, STACK + 0x800, CODE + 0x100, STACK + 0x1000, 0);
	unwind(w, 0);
	assert_int_equal(w->stack.stop, CS_STOP_CYCLE);
	assert_true(w->stack.n <= 6);
	assert_true(w->stack.n_interrupted <= CS_MAX_INTERRUPTED);
}

/* A leaf function: its return address is in x30 and signed; then the frame records. */
static void test_aarch64(void **state)
{
	const uint64_t pac = 0x007f000000000000, signature = 0x0055000000000000;
	struct world *w = *state;

	cs_regs_set(&w->regs, A64_PC, CODE + 0x40);
	cs_regs_set(&w->regs, A64_SP, STACK + 0x100);
	cs_regs_set(&w->regs, A64_FP, STACK + 0x120);
	cs_regs_set(&w->regs, A64_LR, (CODE + 0x14) | signature);
	put(w, STACK + 0x120, STACK + 0x200);
	put(w, STACK + 0x128, (CODE + 0x24) | signature);
	unwind(w, pac);
	assert_int_equal(w->stack.n, 3);
	expect(w, 1, CODE + 0x14, CS_TRUST_FRAME_POINTER);
	expect(w, 2, CODE + 0x24, CS_TRUST_FRAME_POINTER);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

/* Arm ARM, C6.2.33: BL with imm26; 1 and -1 instruction. */
static void test_aarch64_call_target(void **state)
{
	const struct cs_arch *arch = cs_arch_find(EM_AARCH64);
	uint64_t target;

	(void)state;
	assert_true(arch->call_target((const uint8_t *)"\x01\x00\x00\x94", 4, 0x1004, &target));
	assert_int_equal(target, 0x1004);
	assert_true(arch->call_target((const uint8_t *)"\xff\xff\xff\x97", 4, 0x1004, &target));
	assert_int_equal(target, 0xffc);
	assert_false(arch->call_target((const uint8_t *)"\x00\x00\x3f\xd6", 4, 0x1004, &target));
}

/* The core does not say which bits are the signature: the address that can be executed tells. */
static void test_aarch64_without_mask(void **state)
{
	struct world *w = *state;

	cs_regs_set(&w->regs, A64_PC, CODE + 0x40);
	cs_regs_set(&w->regs, A64_SP, STACK + 0x100);
	cs_regs_set(&w->regs, A64_FP, STACK + 0x120);
	put(w, STACK + 0x120, STACK + 0x200);
	put(w, STACK + 0x128, (CODE + 0x24) | 0x0055000000000000);
	put(w, STACK + 0x200, STACK + 0x300);
	put(w, STACK + 0x208, (CODE + 0x34) | 0x002a550000000000);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 3);
	expect(w, 1, CODE + 0x24, CS_TRUST_FRAME_POINTER);
	expect(w, 2, CODE + 0x34, CS_TRUST_FRAME_POINTER);
}

static void test_aarch64_null_call(void **state)
{
	struct world *w = *state;

	cs_regs_set(&w->regs, A64_PC, 0);
	cs_regs_set(&w->regs, A64_SP, STACK + 0x100);
	cs_regs_set(&w->regs, A64_FP, STACK + 0x100);
	cs_regs_set(&w->regs, A64_LR, CODE + 0x14);
	unwind(w, 0);
	assert_int_equal(w->stack.n, 2);
	expect(w, 1, CODE + 0x14, CS_TRUST_CFI);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

/** A thread just behind the clone3 system call, which returned @rax; its stack seems to hold a caller. */
static void unwind_behind_clone(struct world *w, uint64_t rax)
{
	static const uint8_t clone3[] = {0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05};

	fake_prot(w->target, CODE, CS_PROT_READ | CS_PROT_WRITE | CS_PROT_EXEC);
	fake_poke(w->target, CODE + 0x200, clone3, sizeof(clone3));
	put(w, STACK + 0x100, CODE + 4);
	set_x86(w, CODE + 0x200 + sizeof(clone3), STACK + 0x100, 0);
	cs_regs_set(&w->regs, 0, rax);
	unwind(w, 0);
}

/* A thread still in clone has no caller. */
static void test_newborn(void **state)
{
	struct world *w = *state;

	unwind_behind_clone(w, 0);
	assert_int_equal(w->stack.n, 1);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

/* Its parent is at the same place with another value in rax, and does have a caller. */
static void test_not_newborn(void **state)
{
	struct world *w = *state;

	unwind_behind_clone(w, 4242);
	assert_int_equal(w->stack.n, 2);
	expect(w, 1, CODE + 4, CS_TRUST_SCAN);
}

/* A million frames of a chain that never ends, within bounds and time. */
static void test_long_chain(void **state)
{
	struct world *w = *state;

	set_x86(w, CODE + 8, STACK, STACK);
	for (uint64_t at = STACK; at + 32 <= STACK + STACK_BYTES; at += 16) {
		put(w, at, at + 16);
		put(w, at + 8, CODE + 0x10);
	}
	unwind(w, 0);
	assert_int_equal(w->stack.n, STACK_BYTES / 16);
	assert_int_equal(w->stack.stop, CS_STOP_BOTTOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_frame_pointers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frame_pointer_is_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_follows_calls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_prefers_modules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scan_is_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_null_call, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wild_jump, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_registers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_cycle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_aarch64, setup_aarch64, teardown),
		cmocka_unit_test(test_aarch64_call_target),
		cmocka_unit_test_setup_teardown(test_aarch64_without_mask, setup_aarch64, teardown),
		cmocka_unit_test_setup_teardown(test_aarch64_null_call, setup_aarch64, teardown),
		cmocka_unit_test_setup_teardown(test_newborn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_newborn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_chain, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
