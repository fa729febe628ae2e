/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The target's address space: saved memory first, then the bytes of verified module files.
 *
 * A read never invents bytes: what was not saved and is in no file is a FAULT that says which of the two
 * it is. Reads go through a small page cache; nothing is mapped or loaded whole.
 */
#ifndef CS_MEM_SPACE_H
#define CS_MEM_SPACE_H

#include "base/file.h"
#include "mem/target.h"

struct cs_mem;

enum cs_origin {
	CS_ORIGIN_TARGET, /* saved in the core, or read from the live process */
	CS_ORIGIN_FILE,   /* taken from the mapped file on disk */
};

/** What is known of one address. */
enum cs_presence {
	CS_PRESENT,
	CS_NOT_SAVED, /* mapped in the process, but its bytes are nowhere to be had */
	CS_NOT_MAPPED,
};

/** @target is not owned and must outlive the space. */
CS_MUST_CHECK struct cs_error *cs_mem_create(struct cs_target *target, struct cs_mem **ret);
void cs_mem_destroy(struct cs_mem *mem);

/**
 * Let [@start, @end) be served from @file at @offset where the target saved nothing.
 *
 * @file is not owned and must outlive the space. Later calls for an overlapping range are ignored.
 * Errors: NOMEM, LIMIT, ARGUMENT (empty range).
 */
CS_MUST_CHECK struct cs_error *cs_mem_add_file(struct cs_mem *mem, uint64_t start, uint64_t end,
					       const struct cs_file *file, uint64_t offset);

/**
 * Read exactly @len bytes of the target's memory.
 *
 * @addr        no alignment needed; @addr + @len may not wrap
 * @len         bytes, 1 .. CS_MAX_READ
 * @buf         filled only on success; caller owns it
 * @origin_ret  where the first byte came from; may be NULL
 *
 * Errors: FAULT (address of the first missing byte; the message says whether it was never mapped or not
 * saved), OS, LIMIT. Never returns zeroes for missing memory.
 */
CS_MUST_CHECK struct cs_error *cs_mem_read(struct cs_mem *mem, uint64_t addr, void *buf, size_t len,
					   enum cs_origin *origin_ret);

/** As cs_mem_read(), but as many bytes as can be had from @addr on, up to @len; 0 if none. */
size_t cs_mem_read_some(struct cs_mem *mem, uint64_t addr, void *buf, size_t len);

/** Little-endian integers; false where cs_mem_read() would fail. */
CS_MUST_CHECK bool cs_mem_u64(struct cs_mem *mem, uint64_t addr, uint64_t *ret);
CS_MUST_CHECK bool cs_mem_u32(struct cs_mem *mem, uint64_t addr, uint32_t *ret);

/**
 * A NUL-terminated string of at most @max bytes without its NUL; caller frees @ret.
 * Errors: as cs_mem_read(); LIMIT if no NUL comes within @max bytes.
 */
CS_MUST_CHECK struct cs_error *cs_mem_string(struct cs_mem *mem, uint64_t addr, size_t max,
					     char **ret);

/** The region that holds @addr, or NULL. Valid as long as the target. */
const struct cs_region *cs_mem_region(const struct cs_mem *mem, uint64_t addr);
enum cs_presence cs_mem_presence(const struct cs_mem *mem, uint64_t addr);

/** The file mapping (NT_FILE) that holds @addr, or NULL. */
const struct cs_mapping *cs_mem_mapping(const struct cs_mem *mem, uint64_t addr);

struct cs_target *cs_mem_target(const struct cs_mem *mem);

CS_DEFINE_CLEANUP(struct cs_mem *, cs_mem_destroy)

#endif
