/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * ET_CORE files: segments, notes, threads, mapped files, arguments and environment.
 *
 * Knows the formats that the Linux kernel (fs/binfmt_elf.c) and gdb (gcore) write. Refuses to know what a
 * module or a stack frame is.
 */
#ifndef CS_CORE_CORE_H
#define CS_CORE_CORE_H

#include "arch/arch.h"
#include "base/diag.h"
#include "mem/space.h"

struct cs_core;

struct cs_siginfo {
	bool present;
	int signo, code;
	int32_t sender_pid; /* SI_USER, SI_TKILL, SI_QUEUE; else -1 */
	int64_t sender_uid; /* else -1 */
	uint64_t address;   /* SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP */
};

/** Facts of the core as a whole. Strings are raw bytes of the target. */
struct cs_core_info {
	uint64_t bytes;          /* size of the file as given, compressed if it is */
	const char *compression; /* "zstd"; NULL: none */
	bool complete;
	uint64_t expected_bytes; /* end of the last segment or note by the headers */
	const char *writer;      /* "kernel", "gdb" or NULL */
	int64_t file_time;       /* mtime, 0 for standard input */
	bool has_prpsinfo;
	int32_t pid, ppid;       /* pid of the process, from NT_PRPSINFO, else of the first thread's note */
	int64_t uid, gid;        /* -1: unknown */
	char name[17];           /* pr_fname */
	char arguments[81];      /* pr_psargs, cut at 80 bytes by the kernel */
	uint64_t pac_mask;       /* aarch64: NT_ARM_PAC_MASK insn_mask; 0: none */
	size_t crashed_thread;   /* index into target->threads; n_threads: none did (gcore) */
};

struct cs_core_options {
	cs_progress_fn *progress; /* while a compressed core is unpacked; may be NULL */
	void *progress_arg;
};

/**
 * Open a core: @path, "-" for standard input. gzip, xz, zstd, lz4 and bzip2 are unpacked into an unlinked
 * temporary file in $TMPDIR (else /var/tmp), sparsely.
 *
 * What is damaged or cut off, but not needed to go on, becomes a diagnostic.
 * Errors: OS, FORMAT, UNSUPPORTED (every message: file, field, what to do next), LIMIT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_core_open(const char *path, const struct cs_core_options *options,
					    struct cs_diags *diags, struct cs_core **ret);
void cs_core_close(struct cs_core *core);

/** The core as a target; owned by @core. */
struct cs_target *cs_core_target(struct cs_core *core);
const struct cs_core_info *cs_core_info(const struct cs_core *core);
const struct cs_arch *cs_core_arch(const struct cs_core *core);

/** NT_SIGINFO of thread number @index (gdb writes one a thread, the kernel one for the crashed one). */
const struct cs_siginfo *cs_core_siginfo(const struct cs_core *core, size_t index);

/** Value of auxiliary vector entry @type (AT_PHDR, AT_ENTRY, ...); false if it is not there. */
CS_MUST_CHECK bool cs_core_auxv(const struct cs_core *core, uint64_t type, uint64_t *ret);

/** Arguments and environment, read from the initial stack. */
struct cs_core_strings {
	char **argv;
	size_t n_argv;
	char **envp; /* "NAME=value" */
	size_t n_envp;
};

/**
 * argv and envp as they lie on the initial stack, below the auxiliary vector that equals NT_AUXV (layout:
 * linux fs/binfmt_elf.c, create_elf_tables). The caller ends @ret with cs_core_strings_deinit().
 * Errors: NOT_FOUND (the vector is not in the saved memory), NOMEM, LIMIT.
 */
CS_MUST_CHECK struct cs_error *cs_core_strings(struct cs_core *core, struct cs_mem *mem,
					       struct cs_core_strings *ret);
void cs_core_strings_deinit(struct cs_core_strings *strings);

CS_DEFINE_CLEANUP(struct cs_core *, cs_core_close)

#endif
