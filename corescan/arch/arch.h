/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Everything that differs between the architectures of analysed processes, one struct each.
 *
 * The analysed machine may differ from the host: nothing else in the tree has #if on an architecture.
 *
 * To add one: 1. a file arch/NAME.c with its struct, every offset with kernel source and file; 2. its line
 * in arch/arch.c; 3. real cores in tests/ made with a cross compiler and qemu-user; 4. disassembler and
 * operand rules in symbols/disasm.c; 5. docs/HOWTO-architecture.md.
 */
#ifndef CS_ARCH_ARCH_H
#define CS_ARCH_ARCH_H

#include "base/buf.h"
#include "mem/target.h"

/** Byte offsets in NT_PRSTATUS (struct elf_prstatus; linux: include/linux/elfcore.h). */
struct cs_prstatus_layout {
	uint16_t size;    /* bytes of the whole descriptor */
	uint16_t cursig;  /* u16 */
	uint16_t pid;     /* u32: the thread's id */
	uint16_t regs;    /* first byte of pr_reg */
	uint16_t n_slots; /* 8-byte slots in pr_reg */
	int8_t thread_pointer; /* slot in pr_reg; -1: it has a note of its own */
};

/** Byte offsets in NT_PRPSINFO (struct elf_prpsinfo). */
struct cs_prpsinfo_layout {
	uint16_t size;
	uint16_t uid, gid; /* u32 */
	uint16_t pid, ppid; /* u32 */
	uint16_t fname;    /* 16 bytes */
	uint16_t psargs;   /* 80 bytes */
};

/** What the end of a function does to its frame; offsets in bytes from its stack pointer. */
struct cs_epilogue {
	bool from_fp;     /* it begins with leave: offsets are from the frame pointer instead */
	uint32_t ra_at;   /* where the return address lies */
	uint64_t restored; /* bit n: DWARF register n is popped, from at[n] */
	uint32_t at[CS_REGS];
};

struct cs_arch {
	const char *name; /* "x86_64" */
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	struct cs_prstatus_layout prstatus;
	struct cs_prpsinfo_layout prpsinfo;

	unsigned n_regs; /* DWARF numbers 0 .. n_regs - 1 have a name */
	const char *const *reg_names;
	/** pr_reg slot of each DWARF register; -1: not in pr_reg. */
	const int8_t *reg_slots;
	unsigned pc, sp, fp; /* DWARF numbers; on x86_64 pc is 16, the return address column */
	/** DWARF number of the return address column in CFI. */
	unsigned ra;
	/** aarch64: a leaf function keeps its return address in this register; -1: always on the stack. */
	int link;
	/** Registers that a called function preserves, as a bit mask of DWARF numbers. */
	uint64_t callee_saved;

	/** Saved frame pointer and return address, bytes from the frame pointer. */
	int fp_saved_fp, fp_saved_ra;
	/** CFA - frame pointer in a function with a standard frame, bytes. */
	int fp_cfa;
	unsigned insn_align; /* 1 on x86_64, 4 on aarch64 */
	/** Bytes in front of a return address that call_before() wants at most. */
	unsigned max_call_bytes;
	/** True if the @n bytes that end at a return address end with a call instruction. */
	bool (*call_before)(const uint8_t *bytes, size_t n);

	/**
	 * Where the direct call leads whose @n bytes end at return address @ra; false: it is not a
	 * direct call.
	 */
	bool (*call_target)(const uint8_t *bytes, size_t n, uint64_t ra, uint64_t *ret);

	/** True if the code at @bytes only jumps to where a word says: a stub of a linkage table. */
	bool (*is_stub)(const uint8_t *bytes, size_t n);

	/** What the @n bytes of code do if they are an epilogue up to its ret; NULL: not known here. */
	bool (*epilogue)(const uint8_t *bytes, size_t n, struct cs_epilogue *ret);

	/** Code of the C library's system calls clone and clone3, both of clone_len bytes. */
	const uint8_t *clone_code[2];
	unsigned clone_len; /* CS_MAX_CLONE_CODE at most */

	/** Code of the kernel's signal return trampoline, at the pc of a signal frame. */
	const uint8_t *sigreturn_code;
	unsigned sigreturn_len;
	/** Bytes from sp in the trampoline to the ucontext's first register slot (linux: rt_sigframe). */
	unsigned sigframe_regs;
	/** Byte offset from there of each DWARF register; -1: none. */
	const int16_t *sigframe_reg_offsets;
	/** Bytes from sp in the trampoline to the siginfo_t. */
	unsigned sigframe_info;

	/**
	 * Pointer authentication code bits of a return address, to try where the core does not tell
	 * them (no NT_ARM_PAC_MASK): the fewest first; 0: none.
	 */
	uint64_t pac_masks[2];

	/** The system call instruction, DWARF numbers of arguments 1 to 4, and the number of futex(). */
	const uint8_t *syscall_code;
	unsigned syscall_len; /* CS_MAX_SYSCALL_CODE at most */
	uint8_t syscall_args[4];
	unsigned futex_number;
	/** DWARF number of the register that keeps the number after the call; -1: none does. */
	int syscall_number;
	/** Bytes from the thread pointer to the C library's record of the tid; 0: differs by version. */
	unsigned thread_tid;

	/** True for addresses that no process can map, whatever its page tables. */
	bool (*non_canonical)(uint64_t addr);
	unsigned red_zone; /* bytes below sp that a function may use */
};

#define CS_MAX_CLONE_CODE 8
#define CS_MAX_SYSCALL_CODE 4

/**
 * True if the @n bytes end with a system call of clone_code. A thread whose pc is behind it and whose
 * return value (register 0 in DWARF's numbers) is 0 has not begun to run.
 */
bool cs_arch_after_clone(const struct cs_arch *arch, const uint8_t *bytes, size_t n);

/** The architecture of ELF machine @machine, or NULL if it is not supported. */
const struct cs_arch *cs_arch_find(uint16_t machine);

/** A name for any ELF machine value that users meet ("x86_64", "ppc64le", ...), or NULL. */
const char *cs_machine_name(uint16_t machine);

/** The thread pointer out of an NT_PRSTATUS descriptor; 0: it is not there. */
uint64_t cs_arch_prstatus_thread_pointer(const struct cs_arch *arch, struct cs_buf *desc);

/**
 * Registers out of an NT_PRSTATUS descriptor.
 * False if it is shorter than the layout; @desc->bad names the field then.
 */
CS_MUST_CHECK bool cs_arch_prstatus_regs(const struct cs_arch *arch, struct cs_buf *desc,
					 struct cs_regs *ret);

#endif
