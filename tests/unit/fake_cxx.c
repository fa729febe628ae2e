/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Knows how libstdc++ lays out what it throws, by itself: not by the reader's constants. Stands in for the
 * layers between mem and torch: one module, which is libstdc++, with 32 bytes for each thread.
 */
#include "fake_cxx.h"

#include "fake_modules.h"
#include "symbols/tls.h"

#include <stdlib.h>
#include <string.h>

#define POINTER(thread) (FAKE_CXX_BASE + FAKE_CXX_GLOBALS + (thread) * 0x100UL)

/* ---- the layers between ---- */

struct cs_mod *cs_modules_executable(const struct cs_modules *modules)
{
	(void)modules;
	return NULL;
}

bool cs_mod_symbol(struct cs_mod *mod, const char *name, uint64_t *ret, uint64_t *size_ret)
{
	(void)mod;
	(void)name;
	(void)ret;
	(void)size_ret;
	return false;
}

bool cs_mod_needs(struct cs_mod *mod, const char *prefix)
{
	(void)mod;
	(void)prefix;
	return false;
}

uint64_t cs_mod_tls_size(const struct cs_mod *mod)
{
	(void)mod;
	return 32;
}

bool cs_mod_tls(struct cs_mod *mod, const struct cs_arch *arch, struct cs_mem *mem, bool executable,
		struct cs_tls *ret)
{
	(void)mod;
	(void)arch;
	(void)mem;
	(void)executable;
	*ret = (struct cs_tls){.size = 32, .fixed = true};
	return true;
}

uint64_t cs_tls_block(const struct cs_tls *tls, const struct cs_arch *arch, struct cs_mem *mem,
		      uint64_t pointer)
{
	(void)tls;
	(void)arch;
	(void)mem;
	return pointer;
}

/** Any value is an exception if it is not 0; @traceback says nothing. */
struct cs_error *cs_pythons_exception(const struct cs_pythons *pythons, uint64_t type, uint64_t value,
				      uint64_t traceback, const struct cs_exception **ret)
{
	static const struct cs_exception e = {
		.language = "python", .type = "ValueError", .message = "from Python", .state = "stored"};

	(void)pythons;
	(void)type;
	(void)traceback;
	*ret = value ? &e : NULL;
	return NULL;
}

/* ---- the process ---- */

uint64_t fake_cxx_alloc(struct fake_cxx *f, size_t size)
{
	uint64_t at = f->next;

	f->next += (size + 31) & ~15UL;
	if (f->next > FAKE_CXX_BASE + FAKE_CXX_SIZE)
		abort();
	return at;
}

uint64_t fake_cxx_bytes(struct fake_cxx *f, const void *bytes, size_t n)
{
	uint64_t at = fake_cxx_alloc(f, n);

	fake_poke(f->target, at, bytes, n);
	return at;
}

/** A kind's virtual table: the word before it is its own type_info, of which only the name matters. */
static uint64_t kind(struct fake_cxx *f, const char *raw)
{
	uint64_t info = fake_cxx_alloc(f, 16), table = fake_cxx_alloc(f, 48);

	fake_poke64(f->target, info + 8, fake_cxx_bytes(f, raw, strlen(raw) + 1));
	fake_poke64(f->target, table + 8, info);
	return table + 16;
}

struct fake_cxx *fake_cxx_create(uint16_t machine, const void *bytes, size_t n)
{
	struct fake_cxx *f = calloc(1, sizeof(*f));

	if (!f || n > FAKE_CXX_SIZE)
		abort();
	f->target = fake_create(machine);
	f->modules = fake_modules_create();
	cs_mod_public(fake_module(f->modules, 0x400000, 0x500000, 0x400000, NULL, 0))->name =
		"libstdc++.so.6";
	fake_map(f->target, FAKE_CXX_BASE, NULL, FAKE_CXX_SIZE, CS_PROT_READ | CS_PROT_WRITE);
	f->next = FAKE_CXX_BASE + FAKE_CXX_FIRST;
	for (unsigned i = 0; i < FAKE_CXX_THREADS; i++)
		fake_thread_pointer(f->target, fake_thread(f->target, 41 + (int32_t)i, 0), POINTER(i));
	if (n) {
		fake_poke(f->target, FAKE_CXX_BASE, bytes, n);
	} else {
		f->class_type = kind(f, "N10__cxxabiv117__class_type_infoE");
		f->si_type = kind(f, "N10__cxxabiv120__si_class_type_infoE");
		f->vmi_type = kind(f, "N10__cxxabiv121__vmi_class_type_infoE");
	}
	return f;
}

void fake_cxx_destroy(struct fake_cxx *f)
{
	cs_cxx_deinit(&f->cx);
	cs_mem_destroy(f->mem);
	cs_arena_destroy(f->arena);
	free(f->diags.list.v);
	cs_modules_destroy(f->modules);
	fake_destroy(f->target);
	free(f);
}

struct cs_cxx *fake_cxx_open(struct fake_cxx *f)
{
	static int python; /* something that is not NULL */

	f->arena = cs_arena_create(256UL << 20);
	if (!f->arena || !cs_ok(cs_mem_create(fake_cs(f->target), &f->mem)))
		abort();
	f->diags.arena = f->arena;
	f->scene = (struct cs_scene){.mem = f->mem,
				     .modules = f->modules,
				     .arch = cs_arch_find(fake_cs(f->target)->machine),
				     .arena = f->arena,
				     .diags = &f->diags};
	f->cx = (struct cs_cxx){.scene = &f->scene,
				.mem = f->mem,
				.arena = f->arena,
				.pythons = (const struct cs_pythons *)&python};
	return &f->cx;
}

void fake_cxx_read(struct fake_cxx *f, struct cs_analysis *analysis)
{
	struct cs_regs regs[FAKE_CXX_THREADS] = {{{0}, 0}};
	struct cs_raw_stack raw = {0};
	struct cs_py_native natives[FAKE_CXX_THREADS];
	struct cs_torch_input in = {.scene = &f->scene, .natives = natives, .n = FAKE_CXX_THREADS};

	if (!f->mem)
		fake_cxx_open(f);
	in.pythons = f->cx.pythons;
	for (unsigned i = 0; i < FAKE_CXX_THREADS; i++) {
		cs_regs_set(&regs[i], f->scene.arch->sp, FAKE_CXX_BASE + i * FAKE_CXX_STACK);
		natives[i] = (struct cs_py_native){.regs = &regs[i], .raw = &raw};
	}
	if (!cs_ok(cs_torch_exceptions_read(&in, analysis)))
		abort();
}

/* ---- types and exceptions ---- */

uint64_t fake_cxx_type(struct fake_cxx *f, const char *raw, uint64_t base)
{
	uint64_t info = fake_cxx_alloc(f, 24);

	fake_poke64(f->target, info, base ? f->si_type : f->class_type);
	fake_poke64(f->target, info + 8, fake_cxx_bytes(f, raw, strlen(raw) + 1));
	if (base)
		fake_poke64(f->target, info + 16, base);
	return info;
}

uint64_t fake_cxx_throw(struct fake_cxx *f, uint64_t type, size_t size)
{
	uint64_t at = fake_cxx_alloc(f, 128 + size), object = at + 128;

	fake_poke64(f->target, at, 1); /* one reference */
	fake_poke64(f->target, object - 112, type);
	fake_poke(f->target, object - 32, "\0++CCUNG", 8);
	return object;
}

void fake_cxx_string(struct fake_cxx *f, uint64_t at, bool old, const char *text)
{
	size_t n = strlen(text);
	uint64_t data;

	if (old) {
		data = fake_cxx_alloc(f, 24 + n + 1) + 24;
		fake_poke64(f->target, data - 24, n);
		fake_poke64(f->target, data - 16, n + 5);
	} else {
		data = n < 16 ? at + 16 : fake_cxx_alloc(f, n + 1);
		fake_poke64(f->target, at + 8, n);
		if (n >= 16)
			fake_poke64(f->target, at + 16, n + 7);
	}
	fake_poke64(f->target, at, data);
	fake_poke(f->target, data, text, n + 1);
}

void fake_cxx_globals(struct fake_cxx *f, unsigned thread, uint64_t caught, uint64_t uncaught)
{
	uint32_t one = 1;

	fake_poke64(f->target, POINTER(thread), caught);
	fake_poke64(f->target, POINTER(thread) + 8, uncaught);
	if (caught)
		fake_poke(f->target, caught + 40, &one, sizeof(one));
}
