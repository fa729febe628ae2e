/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The first bytes of an ELF file or of its image in memory: header, program headers, build id.
 *
 * Enough to tell which build a file is, without libelf: hundreds of files are looked at in each analysis.
 * 64-bit little-endian only, which is what the supported machines use.
 */
#ifndef CS_SYMBOLS_ELFHEAD_H
#define CS_SYMBOLS_ELFHEAD_H

#include "base/buf.h"
#include "base/file.h"
#include "base/limits.h"
#include "mem/space.h"

#include <elf.h>

enum cs_id_state {
	CS_ID_UNKNOWN, /* a note segment could not be read */
	CS_ID_NONE,    /* all notes were read: there is none */
	CS_ID_PRESENT,
};

/** Zero-initialise; n_phdrs is 0 while nothing was read. */
struct cs_elf_head {
	Elf64_Ehdr ehdr; /* in host byte order */
	Elf64_Phdr *phdrs; /* owned */
	size_t n_phdrs;
	enum cs_id_state id_state;
	size_t id_len;
	uint8_t id[CS_MAX_BUILD_ID];
	uint64_t low;  /* lowest and highest address that a PT_LOAD covers, whole pages */
	uint64_t high; /* exclusive */
};

void cs_elf_head_deinit(struct cs_elf_head *head);
/** A copy with program headers of its own. False without memory. */
CS_MUST_CHECK bool cs_elf_head_copy(const struct cs_elf_head *head, struct cs_elf_head *ret);

/** Read @file's. Errors: FORMAT (not such an ELF file; the message says why), OS, NOMEM. */
CS_MUST_CHECK struct cs_error *cs_elf_head_of_file(const struct cs_file *file, uint64_t page_size,
						   struct cs_elf_head *ret);

/**
 * Read the one whose first byte lies at @base in @mem; @bias_ret: address in memory - address in the ELF
 * file. Errors: as cs_mem_read(), FORMAT, NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_elf_head_of_memory(struct cs_mem *mem, uint64_t base,
						     uint64_t page_size, struct cs_elf_head *ret,
						     uint64_t *bias_ret);

/** The first program header of @type, or NULL. */
const Elf64_Phdr *cs_elf_head_segment(const struct cs_elf_head *head, uint32_t type);
/** The PT_LOAD whose pages (@page_size) hold @vaddr, or NULL. */
const Elf64_Phdr *cs_elf_head_load(const struct cs_elf_head *head, uint64_t page_size,
				   uint64_t vaddr);
/** Equal build ids, both present. */
bool cs_elf_head_same_id(const struct cs_elf_head *a, const struct cs_elf_head *b);
/** Equal machine, type and program headers. */
bool cs_elf_head_same_layout(const struct cs_elf_head *a, const struct cs_elf_head *b);
/** Build id in lower-case hex in @text; "" without one. */
void cs_elf_head_id_text(const struct cs_elf_head *head, char text[2 * CS_MAX_BUILD_ID + 1]);

/** Find the build id among the notes in @notes; @align 4 or 8. False: none, @notes->bad when damaged. */
CS_MUST_CHECK bool cs_elf_notes_build_id(struct cs_buf *notes, size_t align, const uint8_t **id_ret,
					 size_t *len_ret);


#endif
