/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * CPython objects that a test lays out by hand in a made-up target, for any version: types, strings, code.
 *
 *	struct fake_python *f = fake_python_create(0x030b07f0, false);
 *	uint64_t code = fake_code(f, "f", "f.py", 1, table, sizeof(table));
 *	const struct cs_py *py = fake_python_open(f);
 *	...
 *	fake_python_destroy(f);
 *
 * Where fields lie is taken from the layout under test; that the layout is right is for test_layout.py to
 * say. Everything is built before fake_python_open(), since memory that was read once is cached.
 */
#ifndef TESTS_FAKE_PYTHON_H
#define TESTS_FAKE_PYTHON_H

#include "fake_target.h"
#include "python/frames.h"

#define FAKE_PYTHON_BASE 0x10000000UL
#define FAKE_PYTHON_SIZE 0x100000UL

struct fake_python {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_scene scene;
	struct cs_py py;
	uint64_t next; /* first free byte */
	uint64_t type_type, type_str, type_bytes, type_code, type_tuple;
};

struct fake_python *fake_python_create(uint32_t version, bool free_threaded);
void fake_python_destroy(struct fake_python *f);
/** The context to hand to the code under test; owned by @f. */
const struct cs_py *fake_python_open(struct fake_python *f);

/** @size zeroed bytes, aligned to 16. */
uint64_t fake_alloc(struct fake_python *f, size_t size);
/** Write a field; one that the version has not is left alone. */
void fake_put64(struct fake_python *f, uint64_t object, int32_t field, uint64_t value);
void fake_put32(struct fake_python *f, uint64_t object, int32_t field, uint32_t value);
void fake_put8(struct fake_python *f, uint64_t object, int32_t field, uint8_t value);

/** A static type with bits @flags of tp_flags. */
uint64_t fake_type(struct fake_python *f, const char *name, uint64_t flags);
/** An object of @type with @size bytes. */
uint64_t fake_object(struct fake_python *f, uint64_t type, size_t size);
/** An ASCII str; one of 2-byte characters. */
uint64_t fake_str(struct fake_python *f, const char *text);
uint64_t fake_str16(struct fake_python *f, const uint16_t *text, size_t n);
uint64_t fake_bytes(struct fake_python *f, const void *bytes, size_t n);
/** A code object with the line table @table; its instructions are @units code units. */
uint64_t fake_code(struct fake_python *f, const char *name, const char *file, uint32_t first_line,
		   const void *table, size_t n, size_t units);

#endif
