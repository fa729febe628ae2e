/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * A process that a test makes up: memory, registers and file mappings, and faults where it asks for them.
 *
 *	struct fake_target *f = fake_create(EM_X86_64);
 *	fake_map(f, 0x7ffe0000, stack, sizeof(stack), CS_PROT_READ | CS_PROT_WRITE);
 *	size_t t = fake_thread(f, 41, 0);
 *	fake_reg(f, t, 16, 0x401000);
 *	cs_mem_create(fake_cs(f), &mem);
 *	...
 *	cs_mem_destroy(mem);
 *	fake_destroy(f);
 *
 * Calls may come in any order and also after fake_cs(), but pointers to regions, mappings and threads
 * taken from the target end with the next fake_map*(), fake_file() or fake_thread(). A misuse (overlap,
 * unknown address) ends the test by abort().
 */
#ifndef TESTS_FAKE_TARGET_H
#define TESTS_FAKE_TARGET_H

#include "mem/target.h"

struct fake_target;

/** @machine: EM_X86_64 or EM_AARCH64. The page size is 4096. */
struct fake_target *fake_create(uint16_t machine);
void fake_destroy(struct fake_target *f);

/** The target to hand to the code under test; lives until fake_destroy() (or its own destroy). */
struct cs_target *fake_cs(struct fake_target *f);

/** A region of @len bytes at @addr with a copy of @bytes (NULL: zeroes), all of it saved. */
void fake_map(struct fake_target *f, uint64_t addr, const void *bytes, size_t len, unsigned prot);
/** A region of @len bytes of which only the first @saved have bytes; 0: none. */
void fake_map_partial(struct fake_target *f, uint64_t addr, const void *bytes, size_t saved,
		      uint64_t len, unsigned prot);
/** Change the rights of the region that holds @addr. */
void fake_prot(struct fake_target *f, uint64_t addr, unsigned prot);

/** Write into saved memory. */
void fake_poke(struct fake_target *f, uint64_t addr, const void *bytes, size_t len);
void fake_poke64(struct fake_target *f, uint64_t addr, uint64_t value);

/** One more thread without any known register; returns its index. */
size_t fake_thread(struct fake_target *f, int32_t tid, int signal);
/** What the thread's pthread_self() is, as the kernel saves it; 0 (not known) until then. */
void fake_thread_pointer(struct fake_target *f, size_t index, uint64_t value);
/** Set register @dwarf of thread number @index. */
void fake_reg(struct fake_target *f, size_t index, unsigned dwarf, uint64_t value);
void fake_regs(struct fake_target *f, size_t index, const struct cs_regs *regs);

/** A file mapping [@start, @end), as NT_FILE has them; @path is copied. */
void fake_file(struct fake_target *f, uint64_t start, uint64_t end, uint64_t offset,
	       const char *path);

/** From now on every read that touches [@addr, @addr + @len) is a FAULT, although it is saved. */
void fake_fail(struct fake_target *f, uint64_t addr, uint64_t len);
/** From now on the registers of thread number @index are a FORMAT error. */
void fake_fail_registers(struct fake_target *f, size_t index);
/** Calls of the target's read so far: what a cache did not answer. */
size_t fake_reads(const struct fake_target *f);

#endif
