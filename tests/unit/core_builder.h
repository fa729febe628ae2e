/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * ELF cores made byte by byte, and lies about them.
 *
 *	struct core_builder *b = core_create(EM_X86_64);
 *	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11, .pc = 0x401000, .sp = 0x7ffe0000});
 *	core_load(b, 0x7ffe0000, 6, stack, 16, 4096);   16 bytes saved of a page
 *	core_open_fails(core_path(b), ...)
 *	core_destroy(b);
 *
 * Shares no struct and no constant with the reader, so that it cannot agree with the reader's mistakes; the
 * layout is that of linux: fs/binfmt_elf.c. Misuse ends the test by abort().
 */
#ifndef TESTS_CORE_BUILDER_H
#define TESTS_CORE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core_builder;

struct core_thread {
	int32_t tid;
	int signo;
	uint64_t pc, sp, fp;
	size_t cut; /* bytes left out at the end of the note's descriptor */
};

/** A core for ELF machine 62 (x86_64) or 183 (aarch64); others get x86_64's notes. */
struct core_builder *core_create(uint16_t machine);
void core_destroy(struct core_builder *b);

/** One more note in the only PT_NOTE, which comes first. */
void core_note(struct core_builder *b, const char *name, uint32_t type, const void *desc, size_t len);
/** Bytes in the PT_NOTE as they are. */
void core_note_bytes(struct core_builder *b, const void *bytes, size_t len);
void core_prstatus(struct core_builder *b, const struct core_thread *thread);
void core_prpsinfo(struct core_builder *b, int32_t pid, const char *name, const char *arguments);
/** @payload: the eight bytes of the union, si_addr or si_pid and si_uid. */
void core_siginfo(struct core_builder *b, int signo, int code, uint64_t payload);
/** @pairs: @n times type and value; AT_NULL is added. */
void core_auxv(struct core_builder *b, const uint64_t *pairs, size_t n);
/** An NT_FILE with one mapping of each path, of one page each from @start on. */
void core_files(struct core_builder *b, uint64_t start, const char *const *paths, size_t n);

/** A PT_LOAD; @flags as in p_flags (4 read, 2 write, 1 execute); the first @filesz of @memsz bytes saved. */
void core_load(struct core_builder *b, uint64_t vaddr, unsigned flags, const void *bytes, uint64_t filesz,
	       uint64_t memsz);
/** A program header with these numbers, true or not, and no bytes. */
void core_segment(struct core_builder *b, uint32_t type, uint64_t offset, uint64_t vaddr, uint64_t filesz,
		  uint64_t memsz);

/** The finished file; valid until core_destroy(). More parts cannot be added. */
uint8_t *core_bytes(struct core_builder *b, size_t *len_ret);
/** Change it: @width bytes little-endian at @offset. */
void core_poke(struct core_builder *b, size_t offset, uint64_t value, unsigned width);
/** Offset in the file of program header @index (0 is the PT_NOTE), of the notes, and of a load's bytes. */
size_t core_phdr_offset(struct core_builder *b, size_t index);
size_t core_notes_offset(struct core_builder *b);

/** A path under which the finished file, or its first @len bytes, can be opened; until core_destroy(). */
const char *core_path(struct core_builder *b);
const char *core_path_cut(struct core_builder *b, size_t len);
/** A path for any bytes; the descriptor lives until the program ends or core_path_close(). */
const char *core_path_of(const void *bytes, size_t len, char path[32]);
void core_path_close(const char *path);

#endif
