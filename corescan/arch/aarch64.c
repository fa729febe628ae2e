/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aarch64: where the kernel puts its registers, and what its calls look like. Knows nothing of stacks.
 *
 * DWARF numbers 0 to 31 are those of the ABI ("DWARF for the Arm 64-bit Architecture"); it gives pc the
 * number 32 (ELR_mode is 33), and return addresses live in column 30.
 */
#include "arch/internal.h"

#include <elf.h>

enum { X0, X8 = 8, X19 = 19, X29 = 29, LR = 30, SP = 31, PC = 32, N_REGS = 33 };

static const char *const names[N_REGS] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc"};

/* struct user_pt_regs: regs[31], sp, pc, pstate; linux: arch/arm64/include/uapi/asm/ptrace.h */
static const int8_t slots[N_REGS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				     11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				     22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/* struct sigcontext, from its regs on; linux: arch/arm64/include/uapi/asm/sigcontext.h */
static const int16_t sigframe[N_REGS] = {
	0,   8,   16,  24,  32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120, 128,
	136, 144, 152, 160, 168, 176, 184, 192, 200, 208, 216, 224, 232, 240, 248, 256};

/*
 * mov x8, #__NR_rt_sigreturn; svc #0. In the vdso, whichever C library is used;
 * linux: arch/arm64/kernel/vdso/sigreturn.S
 */
static const uint8_t sigreturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

/* Arm ARM, C6.2: BL, BLR, and the pointer-authenticating BLRAA, BLRAB, BLRAAZ, BLRABZ. */
static bool call_before(const uint8_t *bytes, size_t n)
{
	struct cs_buf b;
	uint32_t insn;

	if (n < 4)
		return false;
	b = cs_buf_of(bytes + n - 4, 4);
	if (!cs_buf_u32(&b, "instruction", &insn))
		return false;
	return (insn & 0xfc000000) == 0x94000000 || /* bl */
	       (insn & 0xfffffc1f) == 0xd63f0000 || /* blr */
	       (insn & 0xfffff800) == 0xd73f0800 || /* blraa, blrab */
	       (insn & 0xfffff81f) == 0xd63f081f;   /* blraaz, blrabz */
}

/* BL: 26 bits of signed distance in instructions. */
static bool call_target(const uint8_t *bytes, size_t n, uint64_t ra, uint64_t *ret)
{
	uint32_t insn;

	if (n < 4)
		return false;
	memcpy(&insn, bytes + n - 4, 4);
	insn = le32toh(insn);
	if (insn >> 26 != 0x25)
		return false;
	*ret = ra - 4 + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36);
	return true;
}

/** adrp x16; ldr x17, [x16, #]; add x16, x16, #; br x17, a bti in front or not; AAELF64, "PLT" */
static bool is_stub(const uint8_t *bytes, size_t n)
{
	const uint32_t br_x17 = 0xd61f0220;
	uint32_t insn;

	for (size_t i = 12; i <= 16 && i + 4 <= n; i += 4) {
		memcpy(&insn, bytes + i, 4);
		if (le32toh(insn) == br_x17)
			return true;
	}
	return false;
}

/* mov x8, #__NR_clone or #__NR_clone3; svc #0; glibc: sysdeps/unix/sysv/linux/aarch64/clone3.S */
static const uint8_t clone_code[] = {0x88, 0x1b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
static const uint8_t clone3_code[] = {0x68, 0x36, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};

/*
 * At most 52 bits are translated, by the table that bit 55 chooses; the top byte is ignored in user
 * space. linux: Documentation/arch/arm64/memory.rst, tagged-pointers.rst
 */
static bool non_canonical(uint64_t addr)
{
	uint64_t top = addr >> 52 & 0xf;

	return top != 0 && top != 0xf;
}

/* svc #0 */
static const uint8_t syscall_code[] = {0x01, 0x00, 0x00, 0xd4};

const struct cs_arch cs_arch_aarch64 = {
	.name = "aarch64",
	.machine = EM_AARCH64,
	.prstatus = {.size = 392, .cursig = 12, .pid = 32, .regs = 112, .n_slots = 34, .thread_pointer = -1},
	.prpsinfo = CS_PRPSINFO_LP64,
	.n_regs = N_REGS,
	.reg_names = names,
	.reg_slots = slots,
	.pc = PC,
	.sp = SP,
	.fp = X29,
	.ra = LR,
	.link = LR,
	/* x19 to x29; AAPCS64, "General-purpose Registers" */
	.callee_saved = (1ULL << LR) - (1ULL << X19),
	/* The frame record is a pair at x29; where it lies in the frame is not fixed, low is usual. */
	.fp_saved_fp = 0,
	.fp_saved_ra = 8,
	.fp_cfa = 16,
	.insn_align = 4,
	.max_call_bytes = 4,
	.call_before = call_before,
	.call_target = call_target,
	.is_stub = is_stub,
	.clone_code = {clone_code, clone3_code},
	.clone_len = sizeof(clone_code),
	.sigreturn_code = sigreturn,
	.sigreturn_len = sizeof(sigreturn),
	/*
	 * sp is at struct rt_sigframe: siginfo 128 bytes, then the ucontext: uc_flags 8, uc_link 8,
	 * uc_stack 24, uc_sigmask 8 and 120 reserved, padding to 16, and in the sigcontext the 8 bytes
	 * of fault_address; linux: arch/arm64/kernel/signal.c, arch/arm64/include/uapi/asm/ucontext.h
	 */
	.sigframe_regs = 128 + 176 + 8,
	.sigframe_reg_offsets = sigframe,
	/* Bit 55 tells the halves of the address space apart; below lie 48 or 39 bits of address. */
	.pac_masks = {0x007f000000000000, 0x007fff8000000000},
	.syscall_code = syscall_code,
	.syscall_len = sizeof(syscall_code),
	/* linux: include/uapi/asm-generic/unistd.h */
	.syscall_args = {X0, X0 + 1, X0 + 2, X0 + 3},
	.futex_number = 98,
	.syscall_number = X8,
	.non_canonical = non_canonical,
	.red_zone = 0,
};
