/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86_64: where the kernel puts its registers, and what its calls look like. Knows nothing of stacks.
 *
 * DWARF numbers are those of the System V psABI for AMD64, section "DWARF Register Number Mapping".
 */
#include "arch/internal.h"

#include <elf.h>
#include <string.h>

enum {
	RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15, RIP, N_REGS
};

static const char *const names[N_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

/* struct user_regs_struct; linux: arch/x86/include/asm/user_64.h */
static const int8_t slots[N_REGS] = {
	[R15] = 0, [R14] = 1, [R13] = 2, [R12] = 3, [RBP] = 4, [RBX] = 5, [R11] = 6, [R10] = 7,
	[R9] = 8, [R8] = 9, [RAX] = 10, [RCX] = 11, [RDX] = 12, [RSI] = 13, [RDI] = 14,
	/* 15 is orig_rax */
	[RIP] = 16,
	/* 17 and 18 are cs and eflags */
	[RSP] = 19,
};

/* struct sigcontext_64, from its r8 on; linux: arch/x86/include/uapi/asm/sigcontext.h */
static const int16_t sigframe[N_REGS] = {
	[R8] = 0, [R9] = 8, [R10] = 16, [R11] = 24, [R12] = 32, [R13] = 40, [R14] = 48, [R15] = 56,
	[RDI] = 64, [RSI] = 72, [RBP] = 80, [RBX] = 88, [RDX] = 96, [RAX] = 104, [RCX] = 112,
	[RSP] = 120, [RIP] = 128,
};

/*
 * mov $__NR_rt_sigreturn, %rax; syscall. The C library provides it as SA_RESTORER;
 * glibc: sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c
 */
static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/**
 * Bytes of the instruction FF /2 (call through a register or memory) whose opcode is at @p; 0 if it is
 * not one. Intel SDM volume 2, "ModR/M and SIB bytes".
 */
static size_t indirect_call_len(const uint8_t *p, size_t n)
{
	uint8_t mod, rm;
	size_t len = 2;

	if (n < 2 || p[0] != 0xff || (p[1] >> 3 & 7) != 2)
		return 0;
	mod = p[1] >> 6;
	rm = p[1] & 7;
	if (mod == 3)
		return len;
	if (rm == 4) { /* a SIB byte; base 5 without displacement means disp32 */
		if (n < 3)
			return 0;
		if (mod == 0 && (p[2] & 7) == 5)
			len += 4;
		len++;
	} else if (mod == 0 && rm == 5) { /* relative to rip */
		len += 4;
	}
	if (mod == 1)
		len += 1;
	else if (mod == 2)
		len += 4;
	return len;
}

static bool call_before(const uint8_t *bytes, size_t n)
{
	if (n >= 5 && bytes[n - 5] == 0xe8)
		return true;
	/* A REX prefix in front changes the registers, not the length. */
	for (size_t len = 2; len <= 7 && len <= n; len++)
		if (indirect_call_len(bytes + n - len, len) == len)
			return true;
	return false;
}

/* E8 cd: relative to the next instruction. */
static bool call_target(const uint8_t *bytes, size_t n, uint64_t ra, uint64_t *ret)
{
	uint32_t rel;

	if (n < 5 || bytes[n - 5] != 0xe8)
		return false;
	memcpy(&rel, bytes + n - sizeof(rel), sizeof(rel));
	*ret = ra + (uint64_t)(int64_t)(int32_t)le32toh(rel);
	return true;
}

/*
 * mov $__NR_clone or $__NR_clone3, %eax; syscall; glibc: sysdeps/unix/sysv/linux/x86_64/clone.S, clone3.S.
 * What follows has no call frame information on purpose: it runs on two stacks.
 */
static const uint8_t clone_code[] = {0xb8, 0x38, 0x00, 0x00, 0x00, 0x0f, 0x05};
static const uint8_t clone3_code[] = {0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05};

/* Five-level page tables translate 57 bits; linux: Documentation/arch/x86/x86_64/mm.rst */
/** [endbr64] [bnd] jmp *disp(%rip); psABI for AMD64, "Procedure Linkage Table" */
static bool is_stub(const uint8_t *bytes, size_t n)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t i = n >= 4 && !memcmp(bytes, endbr64, 4) ? 4 : 0;

	i += i < n && bytes[i] == 0xf2;
	return i + 2 <= n && bytes[i] == 0xff && bytes[i + 1] == 0x25;
}

/** Bytes of the pop at @p; its register in *@reg. 0: it is none. */
static size_t pop_len(const uint8_t *p, size_t n, unsigned *reg)
{
	/* By the number in the instruction; DWARF numbers the first eight otherwise. */
	static const uint8_t dwarf[] = {RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI,
					R8,  R9,  R10, R11, R12, R13, R14, R15};
	size_t rex = n > 1 && p[0] == 0x41;

	if (n <= rex || (p[rex] & 0xf8) != 0x58)
		return 0;
	*reg = dwarf[(p[rex] & 7) + 8 * rex];
	return *reg == RSP ? 0 : rex + 1;
}

/** Bytes of the add to the stack pointer at @p and what it adds. 0: it is none. */
static size_t add_sp_len(const uint8_t *p, size_t n, uint32_t *added)
{
	if (n >= 4 && p[0] == 0x48 && p[1] == 0x83 && p[2] == 0xc4 && p[3] < 0x80) {
		*added = p[3];
		return 4;
	}
	if (n >= 7 && p[0] == 0x48 && p[1] == 0x81 && p[2] == 0xc4 && p[6] == 0) {
		*added = p[3] | (uint32_t)p[4] << 8 | (uint32_t)p[5] << 16;
		return 7;
	}
	return 0;
}

/** leave or adds to the stack pointer, pops, and a ret. */
static bool epilogue(const uint8_t *bytes, size_t n, struct cs_epilogue *ret)
{
	struct cs_epilogue e = {.from_fp = n && bytes[0] == 0xc9};
	size_t i = e.from_fp;
	uint32_t added;
	unsigned reg;

	if (e.from_fp) {
		e.restored = 1ULL << RBP;
		e.ra_at = 8;
	}
	while (i < n && bytes[i] != 0xc3) {
		size_t len = add_sp_len(bytes + i, n - i, &added);

		if (len) {
			e.ra_at += added;
		} else {
			len = pop_len(bytes + i, n - i, &reg);
			if (!len)
				return false;
			e.restored |= 1ULL << reg;
			e.at[reg] = e.ra_at;
			e.ra_at += 8;
		}
		i += len;
	}
	*ret = e;
	return i < n;
}

static bool non_canonical(uint64_t addr)
{
	uint64_t top = addr >> 56;

	return top != 0 && top != 0xff;
}

static const uint8_t syscall_code[] = {0x0f, 0x05};

const struct cs_arch cs_arch_x86_64 = {
	.name = "x86_64",
	.machine = EM_X86_64,
	.prstatus = {.size = 336, .cursig = 12, .pid = 32, .regs = 112, .n_slots = 27,
		     .thread_pointer = 21 /* fs_base */},
	.prpsinfo = CS_PRPSINFO_LP64,
	.n_regs = N_REGS,
	.reg_names = names,
	.reg_slots = slots,
	.pc = RIP,
	.sp = RSP,
	.fp = RBP,
	.ra = RIP,
	.link = -1,
	.callee_saved = 1 << RBX | 1 << RBP | 1 << R12 | 1 << R13 | 1 << R14 | 1 << R15,
	.fp_saved_fp = 0,
	.fp_saved_ra = 8,
	.fp_cfa = 16,
	.insn_align = 1,
	.max_call_bytes = 7,
	.call_before = call_before,
	.call_target = call_target,
	.is_stub = is_stub,
	.epilogue = epilogue,
	.clone_code = {clone_code, clone3_code},
	.clone_len = sizeof(clone_code),
	.sigreturn_code = sigreturn,
	.sigreturn_len = sizeof(sigreturn),
	/*
	 * The handler's return popped pretcode, so sp is at the ucontext: uc_flags 8, uc_link 8,
	 * uc_stack 24 bytes; linux: arch/x86/include/asm/sigframe.h, include/uapi/asm-generic/ucontext.h
	 */
	.sigframe_regs = 40,
	.sigframe_reg_offsets = sigframe,
	.sigframe_info = 40 + 256 + 8, /* behind the kernel's ucontext: sigcontext 256, uc_sigmask 8 */
	.syscall_code = syscall_code,
	.syscall_len = sizeof(syscall_code),
	/* System V psABI for AMD64, section "Linux Conventions"; arch/x86/entry/syscalls/syscall_64.tbl */
	.syscall_args = {RDI, RSI, RDX, R10},
	.futex_number = 202,
	.syscall_number = -1, /* rax is the result's */
	/*
	 * struct pthread: the thread control block's 704 bytes and two links of a list come first;
	 * glibc: nptl/descr.h, sysdeps/x86_64/nptl/tls.h (2.17 to 2.42)
	 */
	.thread_tid = 704 + 16,
	.non_canonical = non_canonical,
	.red_zone = 128,
};
