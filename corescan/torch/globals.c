/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The exceptions that each thread handles and has thrown: __cxa_eh_globals, in the thread-local block of
 * whatever libstdc++ a thread uses, the shared one or one that was linked into a program or library
 * (gcc: libstdc++-v3/libsupc++/eh_globals.cc). Where in the block it lies no one tells, but a pointer in it
 * must lead to an exception. libc++abi has globals of its own kind and is not read.
 */
#include "torch/cxx.h"

#include "base/limits.h"
#include "symbols/tls.h"

#include <string.h>

#define GLOBALS 16 /* sizeof(__cxa_eh_globals), rounded up to its alignment */
#define MAX_UNCAUGHT 64
/* Beyond the variables of libstdc++ itself a word that looks like a count says nothing. */
#define SMALL_BLOCK 0x40

struct cs_cxx_runtimes {
	CS_VEC(struct cs_tls) list; /* owned */
};

void cs_cxx_runtimes_destroy(struct cs_cxx_runtimes *runtimes)
{
	if (!runtimes)
		return;
	free(runtimes->list.v);
	free(runtimes);
}

size_t cs_cxx_runtimes_count(const struct cs_cxx_runtimes *runtimes)
{
	return runtimes->list.n;
}

static bool named(const struct cs_mod *mod, const char *prefix)
{
	const char *name = cs_mod_public((struct cs_mod *)(uintptr_t)mod)->name;

	return name && !strncmp(name, prefix, strlen(prefix));
}

/** Libraries in which symbols would be looked for in vain, and at a cost. */
static bool has_no_runtime(const struct cs_mod *mod)
{
	static const char *const names[] = {"libc.so", "libc-2.", "ld-", "libpython", "libpthread",
					    "libm.so", "libgomp", "libcuda.so", "[vdso]"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (named(mod, names[i]))
			return true;
	return false;
}

/**
 * The shared library, or a runtime that was linked in: the module has one of its functions, or is a program,
 * perhaps a stripped one. Only asked where the module has thread-local memory.
 */
static bool may_have_runtime(struct cs_mod *mod, bool executable)
{
	uint64_t address;

	if (named(mod, "libstdc++.so"))
		return true;
	if (has_no_runtime(mod) || cs_mod_needs(mod, "libstdc++.so"))
		return false;
	return executable || cs_mod_symbol(mod, "__cxa_get_globals", &address, NULL);
}

struct cs_error *cs_cxx_runtimes_find(struct cs_cxx *cx, struct cs_cxx_runtimes **ret)
{
	CS_CLEANUP(cs_cxx_runtimes_destroyp) struct cs_cxx_runtimes *r = calloc(1, sizeof(*r));
	const struct cs_modules *modules = cx->scene->modules;
	struct cs_mod *executable = cs_modules_executable(modules);

	if (!r)
		return &cs_nomem;
	for (size_t i = 0; i < cs_modules_count(modules) && r->list.n < CS_MAX_CXX_RUNTIMES; i++) {
		struct cs_mod *mod = cs_modules_at(modules, i);
		struct cs_tls tls;

		if (cs_mod_tls_size(mod) >= GLOBALS && may_have_runtime(mod, mod == executable) &&
		    cs_mod_tls(mod, cx->scene->arch, cx->mem, mod == executable, &tls))
			CS_TRY(CS_PUSH(&r->list, tls, CS_MAX_CXX_RUNTIMES, "C++ runtimes"));
	}
	*ret = CS_TAKE(r);
	return NULL;
}

struct cs_cxx_globals cs_cxx_globals_read(struct cs_cxx *cx, const struct cs_cxx_runtimes *runtimes,
					  size_t i, uint64_t pointer)
{
	const struct cs_tls *tls = &runtimes->list.v[i];
	uint64_t block = cs_tls_block(tls, cx->scene->arch, cx->mem, pointer);
	uint64_t words[CS_MAX_CXX_TLS / 8];
	struct cs_cxx_globals g = {.unsure = tls->size > SMALL_BLOCK};
	struct cs_cxx_header header;
	size_t n;

	if (!block)
		return (struct cs_cxx_globals){0};
	n = cs_mem_read_some(cx->mem, block, words,
			     (size_t)CS_MIN(tls->size, (uint64_t)sizeof(words))) / 8;
	for (size_t k = 0; k + 1 < n; k++) {
		uint64_t first = le64toh(words[k]), count = le64toh(words[k + 1]);

		if (first && !(first & 15) && count <= MAX_UNCAUGHT &&
		    cs_cxx_header_read(cx, first, &header) && header.handlers) {
			g.caught = first;
			g.uncaught = (uint32_t)count;
			g.unsure = false;
			return g;
		}
		/* Nothing is caught: only the count says that something was thrown. */
		if (!first && count && count <= MAX_UNCAUGHT && tls->size <= SMALL_BLOCK)
			g.uncaught = (uint32_t)count;
	}
	return g;
}
