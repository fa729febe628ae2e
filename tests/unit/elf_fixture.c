/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF fixtures. Reads the files it maps with <elf.h> alone, not with the code under test, so that both
 * would have to make the same mistake.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf_fixture.h"

#include "base/limits.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096UL
#define MAX_AUXV 8

struct cs_core {
	uint64_t type[MAX_AUXV], value[MAX_AUXV];
	size_t n;
};

bool cs_core_auxv(const struct cs_core *core, uint64_t type, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < core->n; i++) {
		if (core->type[i] == type) {
			*ret = core->value[i];
			return true;
		}
	}
	return false;
}

void fixture_auxv(struct fixture *fx, uint64_t type, uint64_t value)
{
	assert_true(fx->core->n < MAX_AUXV);
	fx->core->type[fx->core->n] = type;
	fx->core->value[fx->core->n++] = value;
}

static void start(struct fixture *fx)
{
	fx->target = fake_create(EM_X86_64);
	fx->core = calloc(1, sizeof(*fx->core));
	fx->arena = cs_arena_create(CS_MAX_ARENA);
	assert_non_null(fx->target);
	assert_non_null(fx->core);
	assert_non_null(fx->arena);
	fx->diags = (struct cs_diags){.arena = fx->arena};
	assert_null(cs_mem_create(fake_cs(fx->target), &fx->mem));
}

static void stop(struct fixture *fx)
{
	cs_modules_destroy(fx->modules);
	fx->modules = NULL;
	cs_mem_destroy(fx->mem);
	fake_destroy(fx->target);
	free(fx->core);
	free(fx->diags.list.v);
	cs_arena_destroy(fx->arena);
}

void fixture_restart(struct fixture *fx)
{
	stop(fx);
	start(fx);
}

int fixture_setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	if (!fx)
		return -1;
	strcpy(fx->dir, "/tmp/corescan-elf-XXXXXX");
	if (!mkdtemp(fx->dir))
		return -1;
	start(fx);
	*state = fx;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *fx = *state;
	char command[128];
	int status;

	stop(fx);
	snprintf(command, sizeof(command), "rm -rf '%s'", fx->dir);
	status = system(command);
	free(fx);
	return status;
}

const char *fixture_path(const struct fixture *fx, const char *fmt, ...)
{
	static char buffers[8][512];
	static unsigned next;
	char *out = buffers[next++ % 8];
	int n = snprintf(out, sizeof(buffers[0]), "%s/", fx->dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + n, sizeof(buffers[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	return out;
}

void fixture_write(const struct fixture *fx, const char *name, const char *text)
{
	FILE *f = fopen(fixture_path(fx, "%s", name), "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

CS_PRINTF(4, 0)
static void format_command(const struct fixture *fx, char *out, size_t size, const char *fmt,
			   va_list ap)
{
	int n = snprintf(out, size, "cd '%s' && ", fx->dir);

	vsnprintf(out + n, size - (size_t)n, fmt, ap);
}

void fixture_run(const struct fixture *fx, const char *fmt, ...)
{
	char command[4096];
	va_list ap;

	va_start(ap, fmt);
	format_command(fx, command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("command failed: %s", command);
}

char *fixture_output(const struct fixture *fx, const char *fmt, ...)
{
	char command[4096], *text = NULL;
	size_t len = 0, got;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	format_command(fx, command, sizeof(command), fmt, ap);
	va_end(ap);
	f = popen(command, "r");
	assert_non_null(f);
	do {
		text = realloc(text, len + 65536);
		assert_non_null(text);
		got = fread(text + len, 1, 65535, f);
		len += got;
	} while (got);
	text[len] = 0;
	if (pclose(f) != 0)
		fail_msg("command failed: %s", command);
	return text;
}

void fixture_cc(const struct fixture *fx, const char *flags, const char *source, const char *out)
{
	fixture_run(fx, "%s -Wl,--build-id %s -o %s %s", TEST_CC, flags, out, source);
}

static uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes = NULL;
	struct stat st;

	if (!f)
		fail_msg("cannot open %s", path);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*n = (size_t)st.st_size;
	bytes = calloc(1, *n + PAGE);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *n, f), *n);
	fclose(f);
	return bytes;
}

/** The pages of one PT_LOAD that come from the file, and the anonymous ones behind (.bss). */
static void load_segment(struct fixture *fx, const uint8_t *file, const Elf64_Phdr *p,
			 uint64_t bias, const char *path, enum fixture_saved saved, bool listed)
{
	uint64_t start_addr = bias + (p->p_vaddr & -PAGE);
	uint64_t offset = p->p_offset & -PAGE;
	size_t file_len = (p->p_offset + p->p_filesz - offset + PAGE - 1) & -PAGE;
	size_t all_len = ((p->p_vaddr + p->p_memsz + PAGE - 1) & -PAGE) - (p->p_vaddr & -PAGE);
	size_t have = 0;

	if (saved == SAVED_ALL || (saved == SAVED_HEAD && (p->p_flags & PF_W)))
		have = file_len;
	else if (saved == SAVED_HEAD && offset == 0)
		have = PAGE;
	fake_map_partial(fx->target, start_addr, file + offset, have, file_len, p->p_flags & 7);
	if (listed)
		fake_file(fx->target, start_addr, start_addr + file_len, offset, path);
	if (all_len > file_len)
		fake_map(fx->target, start_addr + file_len, NULL, all_len - file_len,
			 p->p_flags & 7);
}

void fixture_load(struct fixture *fx, const char *file, uint64_t bias, const char *path,
		  enum fixture_saved saved, bool listed)
{
	size_t n, i;
	uint8_t *bytes = slurp(file, &n);
	Elf64_Ehdr e;

	assert_true(n > sizeof(e));
	memcpy(&e, bytes, sizeof(e));
	assert_memory_equal(e.e_ident, ELFMAG, SELFMAG);
	for (i = 0; i < e.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, bytes + e.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD)
			load_segment(fx, bytes, &p, bias, path, saved, listed);
	}
	free(bytes);
}

void fixture_modules(struct fixture *fx, const struct cs_modules_options *options)
{
	assert_null(cs_modules_create(fx->core, fx->mem, options, fx->arena, &fx->diags,
				      &fx->modules));
}

struct cs_mod *fixture_module(const struct fixture *fx, const char *name)
{
	struct cs_mod *found = NULL;
	size_t i;

	for (i = 0; i < cs_modules_count(fx->modules); i++) {
		struct cs_mod *mod = cs_modules_at(fx->modules, i);

		if (strcmp(cs_mod_public(mod)->name, name) != 0)
			continue;
		if (found)
			fail_msg("two modules are called %s", name);
		found = mod;
	}
	if (!found)
		fail_msg("no module is called %s", name);
	return found;
}

const struct cs_diagnostic *fixture_diag(const struct fixture *fx, const char *code)
{
	size_t i;

	for (i = 0; i < fx->diags.list.n; i++) {
		if (strcmp(fx->diags.list.v[i].code, code) == 0)
			return &fx->diags.list.v[i];
	}
	return NULL;
}
