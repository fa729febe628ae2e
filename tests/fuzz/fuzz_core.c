/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that is said to be a core: everything that the core layer tells of it, and the reads through the
 * address space that the other layers would make. The input is the file.
 */
#include "core/core.h"

#include "base/limits.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void want(bool ok)
{
	if (!ok)
		abort();
}

static void check_regions(const struct cs_target *t)
{
	uint64_t floor = 0;

	for (size_t i = 0; i < t->n_regions; i++) {
		const struct cs_region *r = &t->regions[i];

		want(r->start >= floor && r->start < r->end);
		want(r->saved_end >= r->start && r->saved_end <= r->end);
		floor = r->end;
	}
}

static void check_mappings(const struct cs_target *t, struct cs_mem *mem)
{
	for (size_t i = 0; i < t->n_mappings; i++) {
		const struct cs_mapping *m = &t->mappings[i];

		want(m->start < m->end && m->path && strlen(m->path) < CS_MAX_NOTE_BYTES);
		want(i == 0 || t->mappings[i - 1].start <= m->start);
		(void)cs_mem_mapping(mem, m->start);
	}
}

static void check_threads(struct cs_core *core, struct cs_target *t)
{
	for (size_t i = 0; i < t->n_threads; i++) {
		const struct cs_siginfo *s = cs_core_siginfo(core, i);
		struct cs_regs regs;

		want(s->present || (!s->address && s->sender_pid == -1));
		if (cs_ok(t->ops->registers(t, i, &regs)))
			want(regs.known >> cs_core_arch(core)->pc & 1);
	}
	want(cs_core_info(core)->crashed_thread <= t->n_threads);
}

static void check_reads(struct cs_target *t, struct cs_mem *mem)
{
	uint8_t bytes[64];

	for (size_t i = 0; i < t->n_regions; i++) {
		const struct cs_region *r = &t->regions[i];
		uint64_t saved = r->saved_end - r->start;
		enum cs_presence presence = cs_mem_presence(mem, r->start);
		char *text;

		want(presence == (saved ? CS_PRESENT : CS_NOT_SAVED));
		want(cs_mem_read_some(mem, r->start, bytes, sizeof(bytes)) >=
		     CS_MIN(saved, sizeof(bytes)));
		if (saved && cs_ok(cs_mem_string(mem, r->start, 4096, &text)))
			free(text);
	}
}

static void use_core(struct cs_core *core)
{
	struct cs_target *t = cs_core_target(core);
	struct cs_core_strings strings;
	struct cs_mem *mem;
	uint64_t value;

	want(cs_ok(cs_mem_create(t, &mem)));
	check_regions(t);
	check_mappings(t, mem);
	check_threads(core, t);
	check_reads(t, mem);
	for (uint64_t type = 0; type <= AT_MINSIGSTKSZ; type++)
		(void)!cs_core_auxv(core, type, &value);
	if (cs_ok(cs_core_strings(core, mem, &strings)))
		cs_core_strings_deinit(&strings);
	cs_mem_destroy(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_arena *arena = cs_arena_create(16UL << 20);
	struct cs_diags diags = {.arena = arena};
	struct cs_core *core;
	struct cs_error *err;
	int fd = memfd_create("core", MFD_CLOEXEC);
	char path[32];

	want(arena && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = cs_core_open(path, NULL, &diags, &core);
	if (!err) {
		use_core(core);
		cs_core_close(core);
	} else {
		want(strstr(cs_error_message(err), path) != NULL); /* it names the file */
		cs_error_destroy(err);
	}
	free(diags.list.v);
	cs_arena_destroy(arena);
	close(fd);
	return 0;
}
