/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The architectures' offsets against the C library's headers (x86_64 here, aarch64 by its cross compiler
 * where there is one), and their rules for calls and addresses.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arch.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <signal.h>
#include <sys/procfs.h>
#include <sys/ucontext.h>
#include <sys/user.h>
#endif

static const struct cs_arch *find(uint16_t machine)
{
	const struct cs_arch *a = cs_arch_find(machine);

	assert_non_null(a);
	return a;
}

static void x86_64_offsets_are_the_headers(void **state)
{
	(void)state;
#if defined(__x86_64__)
	static const struct {
		const char *name;
		size_t user;
		int greg;
	} regs[] = {
#define R(name, greg) {#name, offsetof(struct user_regs_struct, name), greg}
		R(rax, REG_RAX), R(rdx, REG_RDX), R(rcx, REG_RCX), R(rbx, REG_RBX), R(rsi, REG_RSI),
		R(rdi, REG_RDI), R(rbp, REG_RBP), R(rsp, REG_RSP), R(r8, REG_R8),   R(r9, REG_R9),
		R(r10, REG_R10), R(r11, REG_R11), R(r12, REG_R12), R(r13, REG_R13), R(r14, REG_R14),
		R(r15, REG_R15), R(rip, REG_RIP),
#undef R
	};
	const struct cs_arch *a = find(EM_X86_64);

	assert_int_equal(a->n_regs, CS_COUNT(regs));
	for (unsigned i = 0; i < CS_COUNT(regs); i++) {
		size_t greg = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)regs[i].greg;

		assert_string_equal(a->reg_names[i], regs[i].name);
		assert_int_equal(a->reg_slots[i] * 8, regs[i].user);
		assert_int_equal(a->sigframe_regs + (size_t)a->sigframe_reg_offsets[i], greg);
	}
	assert_int_equal(a->prstatus.size, sizeof(struct elf_prstatus));
	assert_int_equal(a->prstatus.cursig, offsetof(struct elf_prstatus, pr_cursig));
	assert_int_equal(a->prstatus.pid, offsetof(struct elf_prstatus, pr_pid));
	assert_int_equal(a->prstatus.regs, offsetof(struct elf_prstatus, pr_reg));
	assert_int_equal(a->prstatus.n_slots * 8, sizeof(elf_gregset_t));
	assert_int_equal(a->prpsinfo.size, sizeof(struct elf_prpsinfo));
	assert_int_equal(a->prpsinfo.uid, offsetof(struct elf_prpsinfo, pr_uid));
	assert_int_equal(a->prpsinfo.gid, offsetof(struct elf_prpsinfo, pr_gid));
	assert_int_equal(a->prpsinfo.pid, offsetof(struct elf_prpsinfo, pr_pid));
	assert_int_equal(a->prpsinfo.ppid, offsetof(struct elf_prpsinfo, pr_ppid));
	assert_int_equal(a->prpsinfo.fname, offsetof(struct elf_prpsinfo, pr_fname));
	assert_int_equal(a->prpsinfo.psargs, offsetof(struct elf_prpsinfo, pr_psargs));
#else
	skip();
#endif
}

#if defined(__x86_64__)
static volatile size_t info_distance;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	info_distance = (size_t)((const char *)info - (const char *)context);
}
#endif

/** Where the kernel puts the siginfo is in no header: a signal tells. */
static void x86_64_siginfo_in_the_frame(void **state)
{
	(void)state;
#if defined(__x86_64__)
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	assert_int_equal(find(EM_X86_64)->sigframe_info, info_distance);
#else
	skip();
#endif
}

/** A translation unit of assertions, compiled by the cross compiler, proves the numbers. */
static void aarch64_offsets_are_the_headers(void **state)
{
	const struct cs_arch *a = find(EM_AARCH64);
	char path[] = "/tmp/corescan-arch.XXXXXX", command[256];
	FILE *f;

	(void)state;
	if (system("command -v aarch64-linux-gnu-gcc >/dev/null") != 0)
		skip();
	f = fdopen(mkstemp(path), "w");
	assert_non_null(f);
	fprintf(f, "#include <stddef.h>\n#include <signal.h>\n"
		   "#include <sys/procfs.h>\n#include <ucontext.h>\n"
		   "#define SAME(a, b) _Static_assert((a) == (b), #a)\n"
		   "SAME(sizeof(struct elf_prstatus), %u);\n"
		   "SAME(offsetof(struct elf_prstatus, pr_cursig), %u);\n"
		   "SAME(offsetof(struct elf_prstatus, pr_pid), %u);\n"
		   "SAME(offsetof(struct elf_prstatus, pr_reg), %u);\n"
		   "SAME(sizeof(elf_gregset_t), 8 * %u);\n",
		a->prstatus.size, a->prstatus.cursig, a->prstatus.pid, a->prstatus.regs,
		a->prstatus.n_slots);
	fprintf(f, "SAME(sizeof(struct elf_prpsinfo), %u);\n"
		   "SAME(offsetof(struct elf_prpsinfo, pr_pid), %u);\n"
		   "SAME(offsetof(struct elf_prpsinfo, pr_fname), %u);\n"
		   "SAME(offsetof(struct elf_prpsinfo, pr_psargs), %u);\n",
		a->prpsinfo.size, a->prpsinfo.pid, a->prpsinfo.fname, a->prpsinfo.psargs);
	for (unsigned i = 0; i < 31; i++)
		fprintf(f, "SAME(sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.regs[%u]), %d);\n", i,
			(int)a->sigframe_regs + a->sigframe_reg_offsets[i]);
	fprintf(f, "SAME(sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.sp), %d);\n"
		   "SAME(sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext.pc), %d);\n"
		   "SAME(0, %u);\n",
		(int)a->sigframe_regs + a->sigframe_reg_offsets[a->sp],
		(int)a->sigframe_regs + a->sigframe_reg_offsets[a->pc], a->sigframe_info);
	fclose(f);
	snprintf(command, sizeof(command), "aarch64-linux-gnu-gcc -fsyntax-only -x c %s", path);
	assert_int_equal(system(command), 0);
	unlink(path);
}

static void calls_are_known_by_the_bytes_before(void **state)
{
	static const struct {
		uint16_t machine;
		const char *bytes;
		size_t n;
		bool is_call;
	} cases[] = {
		{EM_X86_64, "\xe8\x01\x02\x03\x04", 5, true},              /* call rel32 */
		{EM_X86_64, "\xff\xd0", 2, true},                          /* call *%rax */
		{EM_X86_64, "\x41\xff\xd3", 3, true},                      /* call *%r11 */
		{EM_X86_64, "\xff\x10", 2, true},                          /* call *(%rax) */
		{EM_X86_64, "\xff\x50\x18", 3, true},                      /* call *0x18(%rax) */
		{EM_X86_64, "\xff\x90\x00\x01\x00\x00", 6, true},          /* call *0x100(%rax) */
		{EM_X86_64, "\xff\x15\x00\x01\x00\x00", 6, true},          /* call *0x100(%rip) */
		{EM_X86_64, "\xff\x14\xc8", 3, true},                      /* call *(%rax,%rcx,8) */
		{EM_X86_64, "\xff\x54\xc8\x08", 4, true},                  /* call *8(%rax,%rcx,8) */
		{EM_X86_64, "\xff\x94\xc8\x00\x01\x00\x00", 7, true},      /* call *0x100(%rax,%rcx,8) */
		{EM_X86_64, "\xff\x14\xc5\x00\x01\x00\x00", 7, true},      /* call *0x100(,%rax,8) */
		{EM_X86_64, "\xff\xe0", 2, false},                         /* jmp *%rax */
		{EM_X86_64, "\xe9\x01\x02\x03\x04", 5, false},             /* jmp */
		{EM_X86_64, "\x90\x90\x90\x90\x90\x90\x90", 7, false},
		{EM_X86_64, "\xd0", 1, false},
		{EM_X86_64, "", 0, false},
		{EM_AARCH64, "\x05\x00\x00\x94", 4, true},                 /* bl */
		{EM_AARCH64, "\xff\xff\xff\x97", 4, true},                 /* bl, backwards */
		{EM_AARCH64, "\x60\x02\x3f\xd6", 4, true},                 /* blr x19 */
		{EM_AARCH64, "\x61\x0a\x3f\xd7", 4, true},                 /* blraa x19, x1 */
		{EM_AARCH64, "\x7f\x0e\x3f\xd6", 4, true},                 /* blrabz x19 */
		{EM_AARCH64, "\x05\x00\x00\x14", 4, false},                /* b */
		{EM_AARCH64, "\x60\x02\x1f\xd6", 4, false},                /* br x19 */
		{EM_AARCH64, "\xc0\x03\x5f\xd6", 4, false},                /* ret */
		{EM_AARCH64, "\x00\x00\x94", 3, false},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		uint8_t *copy = malloc(cases[i].n + 1); /* ASan sees a look in front of it */

		assert_non_null(copy);
		memcpy(copy, cases[i].bytes, cases[i].n);
		if (find(cases[i].machine)->call_before(copy, cases[i].n) != cases[i].is_call)
			fail_msg("case %zu", i);
		free(copy);
	}
}

static void direct_calls_have_a_target(void **state)
{
	const struct cs_arch *x86 = find(EM_X86_64), *arm = find(EM_AARCH64);
	uint64_t to;

	(void)state;
	assert_true(x86->call_target((const uint8_t *)"\xe8\xfb\xff\xff\xff", 5, 0x401005, &to));
	assert_true(to == 0x401000);
	assert_true(x86->call_target((const uint8_t *)"\xe8\x10\x00\x00\x00", 5, 0x401005, &to));
	assert_true(to == 0x401015);
	assert_false(x86->call_target((const uint8_t *)"\x90\x90\x90\xff\xd0", 5, 0x401005, &to));
	assert_true(arm->call_target((const uint8_t *)"\xff\xff\xff\x97", 4, 0x401004, &to));
	assert_true(to == 0x400ffc);
	assert_true(arm->call_target((const uint8_t *)"\x04\x00\x00\x94", 4, 0x401004, &to));
	assert_true(to == 0x401010);
	assert_false(arm->call_target((const uint8_t *)"\x60\x02\x3f\xd6", 4, 0x401004, &to));
}

static void addresses_that_no_table_translates(void **state)
{
	const struct cs_arch *x86 = find(EM_X86_64), *arm = find(EM_AARCH64);

	(void)state;
	assert_false(x86->non_canonical(0));
	assert_false(x86->non_canonical(0x7fffffffffff));
	assert_false(x86->non_canonical(0x00ffffffffffffff)); /* five levels: 57 bits, half of them */
	assert_false(x86->non_canonical(0xffffffffff600000));
	assert_true(x86->non_canonical(0x4141414141414141));
	assert_true(x86->non_canonical(0xdead000000000000));
	assert_false(arm->non_canonical(0x0000ffffffffffff));
	assert_false(arm->non_canonical(0xffff000000000000));
	assert_false(arm->non_canonical(0x4200ffff12345678)); /* a tag in the top byte */
	assert_true(arm->non_canonical(0x4141414141414141));
}

static void machines_have_names(void **state)
{
	(void)state;
	assert_null(cs_arch_find(EM_PPC64));
	assert_null(cs_arch_find(0));
	assert_string_equal(cs_machine_name(EM_X86_64), "x86_64");
	assert_string_equal(cs_machine_name(EM_AARCH64), "aarch64");
	assert_non_null(strstr(cs_machine_name(EM_PPC64), "ppc64"));
	assert_null(cs_machine_name(0xfffe));
}

/** Epilogues as compilers and CPython's trampolines (Python/asm_trampoline.S) have them. */
static void test_x86_64_epilogue(void **state)
{
	static const uint8_t add[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
	static const uint8_t add_large[] = {0x48, 0x81, 0xc4, 0x28, 0x01, 0x00, 0x00, 0xc3};
	static const uint8_t pops[] = {0x48, 0x83, 0xc4, 0x10, 0x5b, 0x5d, 0x41, 0x5c, 0xc3};
	static const uint8_t leave[] = {0xc9, 0xc3};
	static const uint8_t other[] = {0x48, 0x89, 0xc3, 0x5b, 0xc3}; /* mov rbx, rax first */
	static const uint8_t pop_sp[] = {0x5c, 0xc3};
	const struct cs_arch *arch = cs_arch_find(EM_X86_64);
	struct cs_epilogue e;

	(void)state;
	assert_true(arch->epilogue(add, sizeof(add), &e));
	assert_false(e.from_fp);
	assert_int_equal(e.ra_at, 8);
	assert_int_equal(e.restored, 0);
	assert_true(arch->epilogue(add_large, sizeof(add_large), &e));
	assert_int_equal(e.ra_at, 0x128);
	assert_true(arch->epilogue(pops, sizeof(pops), &e));
	assert_int_equal(e.ra_at, 0x28);
	assert_int_equal(e.restored, 1U << 3 | 1U << 6 | 1U << 12); /* rbx, rbp, r12 */
	assert_int_equal(e.at[3], 0x10);
	assert_int_equal(e.at[6], 0x18);
	assert_int_equal(e.at[12], 0x20);
	assert_true(arch->epilogue(leave, sizeof(leave), &e));
	assert_true(e.from_fp);
	assert_int_equal(e.ra_at, 8);
	assert_int_equal(e.at[6], 0);
	assert_false(arch->epilogue(other, sizeof(other), &e));
	assert_false(arch->epilogue(pop_sp, sizeof(pop_sp), &e));
	for (size_t n = 0; n < sizeof(pops); n++) /* ret is not reached */
		assert_false(arch->epilogue(pops, n, &e));
}

static void test_stubs(void **state)
{
	static const uint8_t plain[] = {0xff, 0x25, 0x12, 0x34, 0x00, 0x00};
	static const uint8_t guarded[] = {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x00};
	static const uint8_t function[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0x25};
	static const uint8_t arm[] = {0x10, 0x01, 0x00, 0x90, 0x11, 0x02, 0x40, 0xf9,
				      0x10, 0x02, 0x00, 0x91, 0x20, 0x02, 0x1f, 0xd6};
	const struct cs_arch *x86 = cs_arch_find(EM_X86_64), *arm64 = cs_arch_find(EM_AARCH64);

	(void)state;
	assert_true(x86->is_stub(plain, sizeof(plain)));
	assert_true(x86->is_stub(guarded, sizeof(guarded)));
	assert_false(x86->is_stub(function, sizeof(function)));
	assert_false(x86->is_stub(plain, 1));
	assert_true(arm64->is_stub(arm, sizeof(arm)));
	assert_false(arm64->is_stub(arm, sizeof(arm) - 4));
	assert_false(arm64->is_stub(function, sizeof(function)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_64_offsets_are_the_headers),
		cmocka_unit_test(x86_64_siginfo_in_the_frame),
		cmocka_unit_test(aarch64_offsets_are_the_headers),
		cmocka_unit_test(calls_are_known_by_the_bytes_before),
		cmocka_unit_test(direct_calls_have_a_target),
		cmocka_unit_test(addresses_that_no_table_translates),
		cmocka_unit_test(machines_have_names),
		cmocka_unit_test(test_x86_64_epilogue),
		cmocka_unit_test(test_stubs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
