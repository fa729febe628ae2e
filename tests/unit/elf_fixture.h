/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Real ELF files for tests, made by the compiler, and laid out in a made-up process as the dynamic linker
 * would. Also takes the place of the core layer: do not link both.
 */
#ifndef TESTS_ELF_FIXTURE_H
#define TESTS_ELF_FIXTURE_H

#include "base/diag.h"
#include "core/core.h"
#include "fake_target.h"
#include "symbols/modules.h"

/** What a process is made of and what is found out about it. */
struct fixture {
	char dir[64]; /* a fresh folder */
	struct fake_target *target;
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_modules *modules;
};

/** What the core has of a library that fixture_load() maps. */
enum fixture_saved {
	SAVED_NOTHING,
	SAVED_HEAD, /* first page and what was written: the kernel's default */
	SAVED_ALL,  /* coredump_filter 0x7f */
};

int fixture_setup(void **state);
int fixture_teardown(void **state);
/** Forget the process, keep the folder. */
void fixture_restart(struct fixture *fx);

/** @fmt in @fx->dir, in one of a few static buffers. */
const char *fixture_path(const struct fixture *fx, const char *fmt, ...) CS_PRINTF(2, 3);
/** Write @text to file @name. */
void fixture_write(const struct fixture *fx, const char *name, const char *text);
/** Run a shell command in the folder; it must succeed. */
void fixture_run(const struct fixture *fx, const char *fmt, ...) CS_PRINTF(2, 3);
/** Standard output of a shell command run in the folder; the caller frees it. */
char *fixture_output(const struct fixture *fx, const char *fmt, ...) CS_PRINTF(2, 3);
/** Compile @source (a file in the folder) to @out with the test's C compiler and @flags. */
void fixture_cc(const struct fixture *fx, const char *flags, const char *source, const char *out);

/** Map the ELF file at @file for the process at @bias, under the name @path; false @listed: no NT_FILE. */
void fixture_load(struct fixture *fx, const char *file, uint64_t bias, const char *path,
		  enum fixture_saved saved, bool listed);
/** One auxiliary vector entry. */
void fixture_auxv(struct fixture *fx, uint64_t type, uint64_t value);

/** cs_modules_create() over what was loaded. */
void fixture_modules(struct fixture *fx, const struct cs_modules_options *options);
/** The only module called @name; fails the test if there is none. */
struct cs_mod *fixture_module(const struct fixture *fx, const char *name);
/** The diagnostic @code, or NULL. */
const struct cs_diagnostic *fixture_diag(const struct fixture *fx, const char *code);

#endif
