/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which modules a process has, and which files are used for them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf_fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIAS 0x7f1200000000UL
#define LIB "-shared -fPIC -O1 "

static const char source_a[] = "int answer(void) { return 42; }\n"
			       "int table[2000] = {1};\n"
			       "int (*const pointer)(void) = answer;\n";
static const char source_b[] = "int answer(void) { return 43; }\n"
			       "int table[2000] = {1};\n"
			       "int (*const pointer)(void) = answer;\n";
/* Code enough for another layout. */
static const char source_c[] = "char big[20000] = {1};\n"
			       "const char wide[9000] = {1};\n"
			       "int answer(void) { return big[3] + wide[4]; }\n";

static void build(struct fixture *fx, const char *flags, const char *source, const char *out)
{
	fixture_write(fx, "source.c", source);
	fixture_cc(fx, flags, "source.c", out);
}

/** Build @out and map it under its own path. */
static void build_and_load(struct fixture *fx, const char *flags, enum fixture_saved saved)
{
	build(fx, flags, source_a, "lib.so");
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), saved, true);
}

static char *build_id_of(const struct fixture *fx, const char *file)
{
	char *id = fixture_output(fx, "readelf -n %s | sed -n 's/.*Build ID: //p' | tr -d '\\n'", file);

	assert_true(strlen(id) >= 16);
	return id;
}

static const struct cs_module *only(const struct fixture *fx)
{
	assert_int_equal(cs_modules_count(fx->modules), 1);
	return cs_mod_public(cs_modules_at(fx->modules, 0));
}

static void test_good_verified(void **state)
{
	struct fixture *fx = *state;
	const struct cs_module *m;
	char *id;

	build_and_load(fx, LIB, SAVED_HEAD);
	id = build_id_of(fx, "lib.so");
	fixture_modules(fx, NULL);
	m = only(fx);
	assert_int_equal(m->file_state, CS_FILE_VERIFIED);
	assert_string_equal(m->build_id, id);
	assert_string_equal(m->name, "lib.so");
	assert_string_equal(m->file, fixture_path(fx, "lib.so"));
	assert_int_equal(m->bias, BIAS);
	assert_int_equal(m->start, BIAS);
	assert_true(m->end > BIAS + 0x3000);
	assert_null(m->note);
	assert_int_equal(fx->diags.list.n, 0);
	assert_ptr_equal(cs_modules_find(fx->modules, BIAS + 0x1000), cs_modules_at(fx->modules, 0));
	assert_null(cs_modules_find(fx->modules, BIAS - 1));
	assert_null(cs_modules_find(fx->modules, m->end));
	assert_ptr_equal(cs_modules_named(fx->modules, "lib.s"), cs_modules_at(fx->modules, 0));
	assert_null(cs_modules_named(fx->modules, "libc.so"));
	free(id);
}

/** What the core did not save of the code comes from the verified file, RELRO pages never do. */
static void test_good_pages_from_file(void **state)
{
	struct fixture *fx = *state;
	uint8_t bytes[4], wrong[64];
	enum cs_origin origin;
	uint64_t answer, pointer, size;

	build_and_load(fx, LIB "-Wl,-z,relro,-z,now", SAVED_NOTHING);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_UNVERIFIED);
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "answer", &answer, &size));
	assert_null(cs_mem_read(fx->mem, answer, bytes, sizeof(bytes), &origin));
	assert_int_equal(origin, CS_ORIGIN_FILE);
	/* "pointer" lies in .data.rel.ro: linked as PT_LOAD that is written to before it is sealed. */
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "pointer", &pointer, &size));
	assert_int_equal(size, 8);
	assert_false(cs_mem_u64(fx->mem, pointer, &size));
	/* The file ends within its last page: nothing is made up behind it. */
	assert_int_equal(cs_mem_read_some(fx->mem, BIAS - 8, wrong, sizeof(wrong)), 0);
}

/** gdb lists mappings that equal their files in NT_FILE alone: what was written is told by the module. */
static void test_good_pages_without_region(void **state)
{
	struct fixture *fx = *state;
	uint8_t head[0x1000] = {0};
	uint64_t at;
	FILE *file;

	build(fx, LIB "-Wl,-z,relro,-z,now",
	      "const int constant[4] = {7}; int answer(void) { return 42; }"
	      "int (*const pointer)(void) = answer;",
	      "lib.so");
	file = fopen(fixture_path(fx, "lib.so"), "r");
	assert_non_null(file);
	assert_int_equal(fread(head, 1, sizeof(head), file), sizeof(head));
	fclose(file);
	fake_map(fx->target, BIAS, head, sizeof(head), CS_PROT_READ);
	fake_map_partial(fx->target, BIAS + 0x1000, NULL, 0, 0x1000,
			 CS_PROT_READ | CS_PROT_EXEC);
	for (uint64_t offset = 0; offset < 0x3000; offset += 0x1000)
		fake_file(fx->target, BIAS + offset, BIAS + offset + 0x1000, offset,
			  fixture_path(fx, "lib.so"));
	fake_file(fx->target, BIAS + 0x3000, BIAS + 0x4000, 0x2000, fixture_path(fx, "lib.so"));
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_VERIFIED);
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "constant", &at, NULL));
	assert_in_range(at, BIAS + 0x2000, BIAS + 0x2fff);
	assert_int_equal(cs_mem_read_some(fx->mem, at, head, 4), 4);
	assert_int_equal(head[0], 7);
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "pointer", &at, NULL));
	assert_in_range(at, BIAS + 0x3000, BIAS + 0x3fff);
	assert_int_equal(cs_mem_read_some(fx->mem, at, head, 8), 0);
}

/** The same build, laid out anew as patchelf does: its symbols serve, its pages must not. */
static void test_partial_other_layout(void **state)
{
	struct fixture *fx = *state;
	struct cs_mod *mod;
	uint64_t answer;
	uint8_t byte;

	build(fx, LIB "-Wl,--build-id=0x1234567812345678", source_a, "lib.so");
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_HEAD,
		     true);
	build(fx, LIB "-Wl,--build-id=0x1234567812345678 -Wl,-z,noseparate-code", source_a, "lib.so");
	fixture_modules(fx, NULL);
	mod = cs_modules_at(fx->modules, 0);
	assert_int_equal(only(fx)->file_state, CS_FILE_VERIFIED);
	assert_true(cs_mod_symbol(mod, "answer", &answer, NULL));
	assert_int_equal(cs_mem_read_some(fx->mem, BIAS + 0x1000, &byte, 1), 0);
}

static void test_bad_replaced(void **state)
{
	struct fixture *fx = *state;
	const struct cs_module *m;
	char *old, *new;

	build_and_load(fx, LIB, SAVED_HEAD);
	old = build_id_of(fx, "lib.so");
	build(fx, LIB, source_b, "lib.so");
	new = build_id_of(fx, "lib.so");
	assert_string_not_equal(old, new);
	fixture_modules(fx, NULL);
	m = only(fx);
	assert_int_equal(m->file_state, CS_FILE_MISMATCH);
	assert_null(m->file);
	assert_string_equal(m->build_id, old);
	old[12] = new[12] = 0;
	assert_non_null(strstr(m->note, old));
	assert_non_null(strstr(m->note, new));
	assert_non_null(strstr(m->note, "--lib-path"));
	assert_null(cs_mod_file(cs_modules_at(fx->modules, 0)));
	assert_non_null(fixture_diag(fx, "module-mismatch"));
	assert_int_equal(fx->diags.list.n, 1);
	free(old);
	free(new);
}

static void test_bad_missing(void **state)
{
	struct fixture *fx = *state;

	build_and_load(fx, LIB, SAVED_HEAD);
	fixture_run(fx, "rm lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISSING);
	assert_non_null(strstr(only(fx)->note, "--sysroot"));
	assert_non_null(strstr(fixture_diag(fx, "module-missing")->text, "lib.so"));
}

static void test_bad_no_descriptors(void **state)
{
	struct fixture *fx = *state;
	struct rlimit limit, none;

	build_and_load(fx, LIB, SAVED_HEAD);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fixture_modules(fx, NULL);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISSING);
	assert_non_null(strstr(fixture_diag(fx, "open-files")->text, "ulimit -n"));
}

static void test_bad_fifo(void **state)
{
	struct fixture *fx = *state;

	build_and_load(fx, LIB, SAVED_HEAD);
	fixture_run(fx, "rm lib.so");
	assert_int_equal(mkfifo(fixture_path(fx, "lib.so"), 0600), 0);
	alarm(20); /* a hang must fail the test, not the day */
	fixture_modules(fx, NULL);
	alarm(0);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISSING);
	assert_non_null(strstr(only(fx)->note, "regular file"));
}

static void test_deleted(void **state)
{
	struct fixture *fx = *state;

	/* The library was replaced by the same build: the name says deleted, the build id says fine. */
	build(fx, LIB, source_a, "lib.so");
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so (deleted)"),
		     SAVED_HEAD, true);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_VERIFIED);
	/* By another build. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so (deleted)"),
		     SAVED_HEAD, true);
	build(fx, LIB, source_b, "lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISMATCH);
	/* Nothing of it was saved: the file of that name must not be taken for it. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so (deleted)"),
		     SAVED_NOTHING, true);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISMATCH);
	assert_non_null(strstr(only(fx)->note, "deleted"));
	/* Nothing there at all. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "gone.so (deleted)"),
		     SAVED_HEAD, true);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISSING);
	assert_non_null(strstr(only(fx)->note, "deleted while"));
}

static void test_lib_path_by_build_id(void **state)
{
	struct fixture *fx = *state;
	const char *paths[] = {fixture_path(fx, "libs")};
	struct cs_modules_options options = {.lib_paths = paths, .n_lib_paths = 1};

	build_and_load(fx, LIB "-g", SAVED_HEAD);
	/* The right build under another name, deep down; its debug file; a decoy of the right name. */
	fixture_run(fx, "mkdir -p libs/a/b libs/0 && mv lib.so libs/a/b/other.so.7 && "
			"objcopy --only-keep-debug libs/a/b/other.so.7 libs/0/lib.so.debug && "
			"ln -s .. libs/a/loop && mkfifo libs/0/fifo");
	build(fx, LIB, source_b, "libs/lib.so");
	alarm(20);
	fixture_modules(fx, &options);
	alarm(0);
	assert_int_equal(only(fx)->file_state, CS_FILE_VERIFIED);
	assert_string_equal(only(fx)->file, fixture_path(fx, "libs/a/b/other.so.7"));
	assert_int_equal(fx->diags.list.n, 0);
}

static void test_bad_lib_path(void **state)
{
	struct fixture *fx = *state;
	const char *paths[] = {fixture_path(fx, "nowhere")};
	struct cs_modules_options options = {.lib_paths = paths, .n_lib_paths = 1};

	build_and_load(fx, LIB, SAVED_HEAD);
	fixture_run(fx, "rm lib.so");
	fixture_modules(fx, &options);
	assert_non_null(strstr(fixture_diag(fx, "lib-path")->text, "nowhere"));
}

static void test_without_build_id(void **state)
{
	struct fixture *fx = *state;
	static const char flags[] = LIB "-Wl,--build-id=none";

	build_and_load(fx, flags, SAVED_HEAD);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_UNVERIFIED);
	assert_non_null(only(fx)->file);
	assert_non_null(fixture_diag(fx, "module-unverified"));
	/* Another layout at the path. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_HEAD,
		     true);
	build(fx, flags, source_c, "lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISMATCH);
	/* The core's image has none and was seen whole: a file with one is another. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_ALL,
		     true);
	build(fx, LIB, source_c, "lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISMATCH);
}

static void test_partial_head_not_saved(void **state)
{
	struct fixture *fx = *state;
	char *id;

	build_and_load(fx, LIB, SAVED_NOTHING);
	id = build_id_of(fx, "lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_UNVERIFIED);
	assert_int_equal(only(fx)->bias, BIAS);
	assert_string_equal(only(fx)->build_id, id);
	/* The mappings do not fit a file of another layout. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_NOTHING,
		     true);
	build(fx, LIB, source_c, "lib.so");
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_MISMATCH);
	assert_non_null(strstr(only(fx)->note, "does not fit the mappings"));
	free(id);
}

static void test_same_library_twice(void **state)
{
	struct fixture *fx = *state;
	const uint64_t second = BIAS + 0x100000;

	build_and_load(fx, LIB, SAVED_HEAD);
	fixture_load(fx, fixture_path(fx, "lib.so"), second, fixture_path(fx, "lib.so"), SAVED_HEAD,
		     true);
	fixture_modules(fx, NULL);
	assert_int_equal(cs_modules_count(fx->modules), 2);
	assert_int_equal(cs_mod_public(cs_modules_find(fx->modules, second + 0x1000))->bias, second);
	assert_int_equal(cs_mod_public(cs_modules_find(fx->modules, BIAS + 0x1000))->bias, BIAS);
	/* With no head saved the offsets alone tell them apart. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_NOTHING,
		     true);
	fixture_load(fx, fixture_path(fx, "lib.so"), second, fixture_path(fx, "lib.so"),
		     SAVED_NOTHING, true);
	fixture_modules(fx, NULL);
	assert_int_equal(cs_modules_count(fx->modules), 2);
	assert_int_equal(cs_mod_public(cs_modules_find(fx->modules, second + 0x1000))->bias, second);
}

/** Map the 4096 bytes of @file for reading, under the name @path. */
static void load_data(struct fixture *fx, const char *file, const char *path)
{
	char page[4096];
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_int_equal(fread(page, 1, sizeof(page), f), sizeof(page));
	fclose(f);
	fake_map_partial(fx->target, BIAS, page, sizeof(page), 0x4000, CS_PROT_READ);
	fake_file(fx->target, BIAS, BIAS + 0x4000, 0, path);
}

static void test_data_is_no_module(void **state)
{
	struct fixture *fx = *state;

	build(fx, LIB, source_a, "lib.so");
	fixture_write(fx, "data", "some data\n");
	/* A library that a tool maps to read it, whole and at once, and a file of data. */
	fixture_run(fx, "head -c 4096 lib.so > head");
	load_data(fx, fixture_path(fx, "head"), fixture_path(fx, "lib.so"));
	fake_map_partial(fx->target, BIAS + 0x10000, NULL, 0, 0x1000, CS_PROT_READ);
	fake_file(fx->target, BIAS + 0x10000, BIAS + 0x11000, 0, fixture_path(fx, "data"));
	fixture_modules(fx, NULL);
	assert_int_equal(cs_modules_count(fx->modules), 0);
	assert_null(cs_modules_find(fx->modules, BIAS));
}

/* ---- the dynamic linker's list ---- */

#define EXE_PHDRS 0x600000000040UL
#define EXE_DYNAMIC 0x600000001000UL
#define R_DEBUG 0x600000002000UL
#define MAPS 0x600000003000UL

/** A main program of nothing but program headers, a dynamic section and r_debug. */
static void put_r_debug(struct fixture *fx)
{
	Elf64_Phdr phdrs[2] = {{.p_type = PT_PHDR, .p_vaddr = 0x40},
			       {.p_type = PT_DYNAMIC, .p_vaddr = 0x1000, .p_memsz = 32}};

	fake_map(fx->target, EXE_PHDRS & -0x1000UL, NULL, 0x4000, CS_PROT_READ | CS_PROT_WRITE);
	fake_poke(fx->target, EXE_PHDRS, phdrs, sizeof(phdrs));
	fake_poke64(fx->target, EXE_DYNAMIC, DT_DEBUG);
	fake_poke64(fx->target, EXE_DYNAMIC + 8, R_DEBUG);
	fake_poke64(fx->target, R_DEBUG, 1);
	fake_poke64(fx->target, R_DEBUG + 8, MAPS);
	fixture_auxv(fx, AT_PHDR, EXE_PHDRS);
	fixture_auxv(fx, AT_PHNUM, 2);
}

static void put_link_map(struct fixture *fx, unsigned index, uint64_t bias, const char *name,
			 uint64_t dynamic, uint64_t next)
{
	uint64_t at = MAPS + index * 0x200;

	fake_poke64(fx->target, at, bias);
	fake_poke64(fx->target, at + 8, at + 0x40);
	fake_poke64(fx->target, at + 16, dynamic);
	fake_poke64(fx->target, at + 24, next);
	fake_poke(fx->target, at + 0x40, name, strlen(name) + 1);
}

static uint64_t dynamic_of(const struct fixture *fx, const char *file)
{
	char *text = fixture_output(fx, "readelf -lW %s | awk '$1 == \"DYNAMIC\" {print $3}'", file);
	uint64_t at = strtoull(text, NULL, 0);

	free(text);
	assert_true(at > 0);
	return at;
}

static void test_link_map_only(void **state)
{
	struct fixture *fx = *state;
	const struct cs_module *m;

	build(fx, LIB, source_a, "lib.so");
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, "", SAVED_HEAD, false);
	put_r_debug(fx);
	put_link_map(fx, 0, 0, "", 0x1000, MAPS + 0x200);
	put_link_map(fx, 1, BIAS, fixture_path(fx, "lib.so"), BIAS + dynamic_of(fx, "lib.so"), 0);
	fixture_modules(fx, NULL);
	m = only(fx);
	assert_string_equal(m->path, fixture_path(fx, "lib.so"));
	assert_int_equal(m->file_state, CS_FILE_VERIFIED);
	assert_int_equal(m->bias, BIAS);
	assert_non_null(cs_modules_find(fx->modules, BIAS + 0x1000));
	assert_null(fixture_diag(fx, "link-map-broken"));
	/* Neither listed nor saved, but the file agrees with where its dynamic section is. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, "", SAVED_NOTHING, false);
	put_r_debug(fx);
	put_link_map(fx, 0, BIAS, fixture_path(fx, "lib.so"), BIAS + dynamic_of(fx, "lib.so"), 0);
	fixture_modules(fx, NULL);
	assert_int_equal(only(fx)->file_state, CS_FILE_UNVERIFIED);
}

static void test_bad_link_map(void **state)
{
	struct fixture *fx = *state;

	put_r_debug(fx);
	put_link_map(fx, 0, 0, "", 1, MAPS + 0x200);
	put_link_map(fx, 1, 0, "x", 2, MAPS + 0x400);
	put_link_map(fx, 2, 0, "y", 3, MAPS + 0x200);
	alarm(20);
	fixture_modules(fx, NULL);
	alarm(0);
	assert_int_equal(cs_modules_count(fx->modules), 0);
	assert_non_null(fixture_diag(fx, "link-map-broken"));
	/* Ends in memory that is not there. */
	fixture_restart(fx);
	put_r_debug(fx);
	put_link_map(fx, 0, 0, "", 1, 0x1234567890UL);
	fixture_modules(fx, NULL);
	assert_non_null(fixture_diag(fx, "link-map-broken"));
}

static void test_vdso(void **state)
{
	struct fixture *fx = *state;
	uint64_t addr;

	build(fx, LIB, source_a, "lib.so");
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, "", SAVED_ALL, false);
	fixture_auxv(fx, AT_SYSINFO_EHDR, BIAS);
	fixture_modules(fx, NULL);
	assert_string_equal(only(fx)->path, "[vdso]");
	assert_true(cs_mod_is_vdso(cs_modules_at(fx->modules, 0)));
	assert_null(only(fx)->file);
	assert_true(cs_mod_elf_is_memory(cs_modules_at(fx->modules, 0)));
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "answer", &addr, NULL));
}

/* ---- the main executable ---- */

static void load_program(struct fixture *fx)
{
	build(fx, "-pie -fPIE", "int main(void) { return 0; }\n", "prog");
	fixture_load(fx, fixture_path(fx, "prog"), BIAS, fixture_path(fx, "prog"), SAVED_HEAD, true);
	fixture_auxv(fx, AT_PHDR, BIAS + 64);
	fixture_auxv(fx, AT_PHNUM, 8);
}

static void test_executable(void **state)
{
	struct fixture *fx = *state;
	struct cs_modules_options options = {.executable = fixture_path(fx, "copy")};
	char *id, *other;

	load_program(fx);
	id = build_id_of(fx, "prog");
	fixture_run(fx, "mv prog copy");
	fixture_modules(fx, &options);
	assert_ptr_equal(cs_modules_executable(fx->modules), cs_modules_at(fx->modules, 0));
	assert_string_equal(only(fx)->file, options.executable);
	assert_int_equal(only(fx)->file_state, CS_FILE_VERIFIED);
	/* Another program: an error that names both builds, and it is not used. */
	fixture_restart(fx);
	load_program(fx);
	build(fx, "-pie -fPIE", "int main(void) { return 1; }\n", "wrong");
	other = build_id_of(fx, "wrong");
	options.executable = fixture_path(fx, "wrong");
	fixture_modules(fx, &options);
	assert_int_equal(fixture_diag(fx, "exe-mismatch")->severity, CS_SEVERITY_ERROR);
	assert_non_null(strstr(fixture_diag(fx, "exe-mismatch")->text, id));
	assert_non_null(strstr(fixture_diag(fx, "exe-mismatch")->text, other));
	assert_string_equal(only(fx)->file, fixture_path(fx, "prog"));
	/* None there. */
	fixture_restart(fx);
	load_program(fx);
	options.executable = fixture_path(fx, "nowhere");
	fixture_modules(fx, &options);
	assert_non_null(strstr(fixture_diag(fx, "exe-unreadable")->text, "nowhere"));
	free(id);
	free(other);
}

/** No NT_FILE and nothing of the program saved: its file, if the auxiliary vector fits it. */
static void test_executable_by_auxv(void **state)
{
	struct fixture *fx = *state;
	struct cs_modules_options options = {.executable = fixture_path(fx, "prog")};
	char *entry, *phnum;

	build(fx, "-pie -fPIE", "int main(void) { return 0; }\n", "prog");
	entry = fixture_output(fx, "readelf -hW prog | sed -n 's/.*Entry point address: *//p'");
	phnum = fixture_output(fx, "readelf -hW prog | sed -n 's/.*Number of program headers: *//p'");
	fixture_load(fx, fixture_path(fx, "prog"), BIAS, "", SAVED_NOTHING, false);
	fixture_auxv(fx, AT_PHDR, BIAS + 64);
	fixture_auxv(fx, AT_PHNUM, strtoull(phnum, NULL, 0));
	fixture_auxv(fx, AT_ENTRY, BIAS + strtoull(entry, NULL, 0));
	fixture_modules(fx, &options);
	assert_int_equal(only(fx)->bias, BIAS);
	assert_int_equal(only(fx)->file_state, CS_FILE_UNVERIFIED);
	assert_ptr_equal(cs_modules_executable(fx->modules), cs_modules_at(fx->modules, 0));
	/* Another entry point: another program. */
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "prog"), BIAS, "", SAVED_NOTHING, false);
	fixture_auxv(fx, AT_PHDR, BIAS + 64);
	fixture_auxv(fx, AT_PHNUM, strtoull(phnum, NULL, 0));
	fixture_auxv(fx, AT_ENTRY, BIAS + strtoull(entry, NULL, 0) + 16);
	fixture_modules(fx, &options);
	assert_int_equal(cs_modules_count(fx->modules), 0);
	assert_non_null(strstr(fixture_diag(fx, "executable-unknown")->text, "--exe"));
	free(entry);
	free(phnum);
}

/* ---- sysroot ---- */

static void test_sysroot(void **state)
{
	struct fixture *fx = *state;
	struct cs_modules_options options = {.sysroot = fixture_path(fx, "root")};

	/* /lib64 -> /usr/lib (absolute), lib.so -> ../../../../opt/real.so (out and back in). */
	build(fx, LIB, source_a, "real.so");
	fixture_run(fx, "mkdir -p root/usr/lib root/opt && ln -s /usr/lib root/lib64 && "
			"ln -s ../../../../opt/real.so root/usr/lib/lib.so && mv real.so root/opt/");
	fixture_load(fx, fixture_path(fx, "root/opt/real.so"), BIAS, "/lib64/lib.so", SAVED_HEAD,
		     true);
	/* A path that exists on this machine, but not below the root. */
	fixture_load(fx, fixture_path(fx, "root/opt/real.so"), BIAS + 0x100000,
		     fixture_path(fx, "root/opt/real.so"), SAVED_HEAD, true);
	fixture_modules(fx, &options);
	assert_int_equal(cs_mod_public(fixture_module(fx, "lib.so"))->file_state, CS_FILE_VERIFIED);
	assert_int_equal(cs_mod_public(fixture_module(fx, "real.so"))->file_state, CS_FILE_MISSING);
}

/* ---- images from memory ---- */

static void test_memory_image(void **state)
{
	struct fixture *fx = *state;
	struct cs_mod *mod;
	uint64_t addr = 0, size = 0;
	char *want;
	Elf *elf;

	build_and_load(fx, LIB, SAVED_ALL);
	want = fixture_output(fx, "nm -D lib.so | awk '$3 == \"answer\" {print $1}'");
	fixture_run(fx, "rm lib.so");
	fixture_modules(fx, NULL);
	mod = cs_modules_at(fx->modules, 0);
	elf = cs_mod_elf(mod);
	assert_non_null(elf);
	assert_true(cs_mod_elf_is_memory(mod));
	assert_null(cs_mod_file(mod));
	assert_true(cs_mod_symbol(mod, "answer", &addr, &size));
	assert_int_equal(addr, BIAS + strtoull(want, NULL, 16));
	assert_true(size > 0 && size < 64);
	assert_false(cs_mod_symbol(mod, "no_such_symbol", &addr, &size));
	assert_false(cs_mod_symbol(mod, "", &addr, &size));
	free(want);
}

/** Text that was moved to huge pages is anonymous memory amid the module's mappings. */
static void test_anonymous_code(void **state)
{
	struct fixture *fx = *state;

	build(fx, LIB, source_a, "lib.so");
	fake_map(fx->target, BIAS + 0x200000, NULL, 0x1000, CS_PROT_READ | CS_PROT_EXEC);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, "", SAVED_HEAD, false);
	fake_file(fx->target, BIAS, BIAS + 0x1000, 0, fixture_path(fx, "lib.so"));
	fake_file(fx->target, BIAS + 0x2000, BIAS + 0x3000, 0x2000, fixture_path(fx, "lib.so"));
	fake_prot(fx->target, BIAS, CS_PROT_READ | CS_PROT_EXEC);
	fixture_modules(fx, NULL);
	assert_ptr_equal(cs_modules_find(fx->modules, BIAS + 0x1000), cs_modules_at(fx->modules, 0));
	assert_null(cs_modules_find(fx->modules, BIAS + 0x200000));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_good_verified),	   CASE(test_good_pages_from_file),
		CASE(test_good_pages_without_region),
		CASE(test_partial_other_layout),   CASE(test_bad_replaced),
		CASE(test_bad_missing),		   CASE(test_bad_fifo),
		CASE(test_bad_no_descriptors),
		CASE(test_deleted),
		CASE(test_lib_path_by_build_id),   CASE(test_bad_lib_path),
		CASE(test_without_build_id),	   CASE(test_partial_head_not_saved),
		CASE(test_same_library_twice),	   CASE(test_data_is_no_module),
		CASE(test_link_map_only),	   CASE(test_bad_link_map),
		CASE(test_vdso),		   CASE(test_executable),
		CASE(test_executable_by_auxv),	   CASE(test_sysroot),
		CASE(test_memory_image),	   CASE(test_anonymous_code),
	};

	return cmocka_run_group_tests_name("modules", tests, NULL, NULL);
}
