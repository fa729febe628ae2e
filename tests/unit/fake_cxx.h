/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * C++ types and exceptions that a test lays out by hand in a made-up target. Link fake_cxx.c and
 * fake_modules.c instead of the symbols, crash and python layers.
 *
 *	struct fake_cxx *f = fake_cxx_create(EM_X86_64);
 *	uint64_t type = fake_cxx_type(f, "St13runtime_error", fake_cxx_type(f, "St9exception", 0));
 *	uint64_t object = fake_cxx_throw(f, type, 16);
 *	fake_cxx_caught(f, 0, object - CS_CXX_HEADER, 0);
 *	fake_cxx_read(f, &analysis);
 *	...
 *	fake_cxx_destroy(f);
 *
 * Everything is built before fake_cxx_read(), since memory that was read once is cached.
 */
#ifndef TESTS_FAKE_CXX_H
#define TESTS_FAKE_CXX_H

#include "fake_target.h"
#include "torch/cxx.h"
#include "torch/torch.h"

#define FAKE_CXX_BASE 0x10000000UL
#define FAKE_CXX_SIZE 0x40000UL
#define FAKE_CXX_THREADS 2
#define FAKE_CXX_STACK 0x800UL  /* bytes of one thread's stack; they begin the memory */
#define FAKE_CXX_GLOBALS 0x1800UL /* offset of the first thread's block; 0x100 on for the next */
#define FAKE_CXX_FIRST 0x2000UL /* offset of the first byte that nothing is at */

struct fake_cxx {
	struct fake_target *target;
	struct cs_modules *modules;
	struct cs_mem *mem;
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_scene scene;
	struct cs_cxx cx; /* for calls of the layer's own functions; from fake_cxx_open() on */
	uint64_t next;    /* first free byte */
	uint64_t class_type, si_type, vmi_type; /* virtual tables of the kinds of type_info */
};

/** Two threads, 41 and 42, in memory that begins with the @n bytes at @bytes, or holds nothing but kinds. */
struct fake_cxx *fake_cxx_create(uint16_t machine, const void *bytes, size_t n);
void fake_cxx_destroy(struct fake_cxx *f);
struct cs_cxx *fake_cxx_open(struct fake_cxx *f);
/** The whole layer; @analysis has a crash and may have threads. */
void fake_cxx_read(struct fake_cxx *f, struct cs_analysis *analysis);

/** @size zeroed bytes, aligned to 16. */
uint64_t fake_cxx_alloc(struct fake_cxx *f, size_t size);
uint64_t fake_cxx_bytes(struct fake_cxx *f, const void *bytes, size_t n);
/** A type_info; @base: the one that it inherits from, or 0. */
uint64_t fake_cxx_type(struct fake_cxx *f, const char *raw, uint64_t base);
/** A live exception with a zeroed object of @size bytes; returns the object's address. */
uint64_t fake_cxx_throw(struct fake_cxx *f, uint64_t type, size_t size);
/** Write a std::string of either ABI. */
void fake_cxx_string(struct fake_cxx *f, uint64_t at, bool old, const char *text);
/** What libstdc++ knows of thread number @thread. */
void fake_cxx_globals(struct fake_cxx *f, unsigned thread, uint64_t caught, uint64_t uncaught);

#endif
