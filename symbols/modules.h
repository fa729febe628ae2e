/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The modules of a process: which ELF files lie where, under which build id, and which file on this
 * machine is the very same build.
 *
 * Sources, in this order: file mappings (NT_FILE) that begin with an ELF header or belong to one; the
 * dynamic linker's link map; the vdso (AT_SYSINFO_EHDR). A file's bytes are used only if its build id
 * equals the one in the core's image of the module; without a build id in the core it is UNVERIFIED.
 */
#ifndef CS_SYMBOLS_MODULES_H
#define CS_SYMBOLS_MODULES_H

#include "base/diag.h"
#include "core/core.h"
#include "corescan/analysis.h"
#include "mem/space.h"

#include <gelf.h>

struct cs_mod;
struct cs_modules;

struct cs_modules_options {
	const char *executable; /* --exe */
	const char *sysroot;
	const char *const *lib_paths;
	size_t n_lib_paths;
	const char *const *debug_dirs;
	size_t n_debug_dirs;
	bool debuginfod;
	bool all_lines; /* unpack compressed debug files of any size */
};

/**
 * Find all modules and their files, and let @mem serve their read-only pages that the core lacks.
 *
 * @core, @mem, @arena and @diags are not owned and must outlive the result. One broken module never
 * costs the others: it becomes a diagnostic. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_modules_create(struct cs_core *core, struct cs_mem *mem,
						 const struct cs_modules_options *options,
						 struct cs_arena *arena, struct cs_diags *diags,
						 struct cs_modules **ret);
void cs_modules_destroy(struct cs_modules *modules);

size_t cs_modules_count(const struct cs_modules *modules);
/** By start address; owned by @modules. */
struct cs_mod *cs_modules_at(const struct cs_modules *modules, size_t i);
/** The module that has @addr in one of its mappings, or NULL. */
struct cs_mod *cs_modules_find(const struct cs_modules *modules, uint64_t addr);
/** The main executable, or NULL. */
struct cs_mod *cs_modules_executable(const struct cs_modules *modules);
/** The first module whose file name begins with @prefix ("libc.so", "libpython3."), or NULL. */
struct cs_mod *cs_modules_named(const struct cs_modules *modules, const char *prefix);

/** The model's record of @mod; its symbols, in_use and debug_file are final after cs_symbolize(). */
struct cs_module *cs_mod_public(struct cs_mod *mod);
bool cs_mod_is_vdso(const struct cs_mod *mod);

/**
 * The module's ELF image, opened at first use: its verified (or unverified) file, else an image rebuilt
 * from the core's memory, in which file offset and memory offset agree with the program headers. NULL:
 * neither is to be had. Owned by @mod.
 */
Elf *cs_mod_elf(struct cs_mod *mod);
/**
 * True if cs_mod_elf() is a rebuilt image: no section headers, perhaps with holes. The module may have a
 * file all the same, one that libelf refuses for its section headers.
 */
bool cs_mod_elf_is_memory(struct cs_mod *mod);

/** The verified file's descriptor for streaming reads, or NULL (missing, memory image). */
const struct cs_file *cs_mod_file(struct cs_mod *mod);

/**
 * The separate debug file's image, or NULL: .build-id folders, .gnu_debuglink (CRC checked), debuginfod
 * if asked for. Searched at first use. Owned by @mod.
 */
Elf *cs_mod_debug_elf(struct cs_mod *mod);

/** The unpacked .gnu_debugdata (an ELF with .symtab only), or NULL. Owned by @mod. */
Elf *cs_mod_mini_elf(struct cs_mod *mod);

/**
 * Address in the target of exported symbol @name (any version), through the module's .gnu.hash or a pass
 * over its symbol tables; @size_ret may be NULL. False: not there.
 */
CS_MUST_CHECK bool cs_mod_symbol(struct cs_mod *mod, const char *name, uint64_t *ret,
				 uint64_t *size_ret);

CS_DEFINE_CLEANUP(struct cs_modules *, cs_modules_destroy)

#endif
