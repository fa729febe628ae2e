/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Made-up Python objects. Knows what a reader must see, not what an interpreter would need to run them. */
#include "fake_python.h"

#include "python/value.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define READY (1UL << 12)
#define TYPE_BYTES 1024
#define STR_COMPACT 1U
#define STR_ASCII 2U

static void want(bool ok)
{
	if (!ok)
		abort();
}

uint64_t fake_alloc(struct fake_python *f, size_t size)
{
	uint64_t at = f->next;

	f->next += (size + 15) & ~15UL;
	want(f->next <= FAKE_PYTHON_BASE + FAKE_PYTHON_SIZE);
	return at;
}

void fake_put64(struct fake_python *f, uint64_t object, int32_t field, uint64_t value)
{
	if (field != CS_ABSENT)
		fake_poke(f->target, object + (uint64_t)field, &value, sizeof(value));
}

void fake_put32(struct fake_python *f, uint64_t object, int32_t field, uint32_t value)
{
	if (field != CS_ABSENT)
		fake_poke(f->target, object + (uint64_t)field, &value, sizeof(value));
}

void fake_put8(struct fake_python *f, uint64_t object, int32_t field, uint8_t value)
{
	if (field != CS_ABSENT)
		fake_poke(f->target, object + (uint64_t)field, &value, sizeof(value));
}

uint64_t fake_object(struct fake_python *f, uint64_t type, size_t size)
{
	uint64_t object = fake_alloc(f, size);

	fake_put64(f, object, f->py.layout.object_type, type);
	return object;
}

uint64_t fake_type(struct fake_python *f, const char *name, uint64_t flags)
{
	uint64_t type = fake_object(f, f->type_type, TYPE_BYTES);
	uint64_t text = fake_alloc(f, strlen(name) + 1);

	fake_poke(f->target, text, name, strlen(name) + 1);
	fake_put64(f, type, f->py.layout.type_name, text);
	fake_put64(f, type, f->py.layout.type_flags, flags | READY);
	if (!f->type_type) {
		f->type_type = type;
		fake_put64(f, type, f->py.layout.object_type, type);
	}
	return type;
}

static uint64_t new_str(struct fake_python *f, unsigned width, unsigned form, size_t n)
{
	const struct cs_py_layout *l = &f->py.layout;
	bool wide_bits = l->free_threaded && l->minor >= 14; /* `interned` has a byte of its own */
	uint64_t str = fake_object(f, f->type_str, (size_t)l->str_compact_data + n * width + 4);

	fake_put64(f, str, l->str_length, n);
	fake_put32(f, str, l->str_state,
		   wide_bits ? width << 8 | form << 11 : width << 2 | form << 5 | 1U << 7);
	return str;
}

uint64_t fake_str(struct fake_python *f, const char *text)
{
	uint64_t str = new_str(f, 1, STR_COMPACT | STR_ASCII, strlen(text));

	fake_poke(f->target, str + (uint64_t)f->py.layout.str_ascii_data, text, strlen(text) + 1);
	return str;
}

uint64_t fake_str16(struct fake_python *f, const uint16_t *text, size_t n)
{
	uint64_t str = new_str(f, 2, STR_COMPACT, n);

	fake_poke(f->target, str + (uint64_t)f->py.layout.str_compact_data, text, n * 2);
	return str;
}

uint64_t fake_bytes(struct fake_python *f, const void *bytes, size_t n)
{
	const struct cs_py_layout *l = &f->py.layout;
	uint64_t object = fake_object(f, f->type_bytes, (size_t)l->bytes_data + n + 1);

	fake_put64(f, object, l->var_size, n);
	if (n)
		fake_poke(f->target, object + (uint64_t)l->bytes_data, bytes, n);
	return object;
}

uint64_t fake_code(struct fake_python *f, const char *name, const char *file, uint32_t first_line,
		   const void *table, size_t n, size_t units)
{
	const struct cs_py_layout *l = &f->py.layout;
	uint64_t code = fake_object(f, f->type_code, (size_t)l->code_size + units * 2);

	fake_put64(f, code, l->code_name, fake_str(f, name));
	fake_put64(f, code, l->code_qualname, fake_str(f, name));
	fake_put64(f, code, l->code_filename, fake_str(f, file));
	fake_put32(f, code, l->code_firstlineno, first_line);
	fake_put64(f, code, l->code_linetable, fake_bytes(f, table, n));
	return code;
}

struct fake_python *fake_python_create(uint32_t version, bool free_threaded)
{
	struct fake_python *f = calloc(1, sizeof(*f));

	want(f && cs_py_layout_table(version, free_threaded, EM_X86_64, &f->py.layout));
	f->target = fake_create(EM_X86_64);
	f->next = FAKE_PYTHON_BASE;
	fake_map(f->target, FAKE_PYTHON_BASE, NULL, FAKE_PYTHON_SIZE, CS_PROT_READ | CS_PROT_WRITE);
	fake_type(f, "type", 1UL << CS_PY_TYPE);
	f->type_str = fake_type(f, "str", 1UL << CS_PY_STR);
	f->type_bytes = fake_type(f, "bytes", 1UL << CS_PY_BYTES);
	f->type_tuple = fake_type(f, "tuple", 1UL << CS_PY_TUPLE);
	f->type_code = fake_type(f, "code", 0);
	return f;
}

const struct cs_py *fake_python_open(struct fake_python *f)
{
	f->arena = cs_arena_create(64UL << 20);
	f->diags.arena = f->arena;
	want(f->arena && cs_ok(cs_mem_create(fake_cs(f->target), &f->mem)));
	f->scene = (struct cs_scene){.mem = f->mem,
				     .arch = cs_arch_find(EM_X86_64),
				     .arena = f->arena,
				     .diags = &f->diags};
	f->py.scene = &f->scene;
	f->py.mem = f->mem;
	f->py.arena = f->arena;
	f->py.type_type = f->type_type;
	f->py.type_code = f->type_code;
	cs_py_learn(&f->py);
	return &f->py;
}

void fake_python_destroy(struct fake_python *f)
{
	cs_mem_destroy(f->mem);
	fake_destroy(f->target);
	free(f->diags.list.v);
	cs_arena_destroy(f->arena);
	free(f);
}
