/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules out of a hostile core and hostile files. Input: 1 byte of flags, then the bytes of an image: it
 * lies in memory as one mapping, with a link map and an AT_PHDR that lead into it, and, if asked for, as the
 * file of that mapping. Header, notes, tables, the rebuilt image and the search by name all read it.
 */
#include "symbols/tables.h"
#include "symbols/tls.h"

#include "tests/unit/fake_target.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define AT 0x10000UL
#define MAX_IMAGE (256UL << 10)

enum flags { HAS_FILE = 1, IS_LISTED = 2, IS_VDSO = 4, IS_EXECUTABLE = 8, HAS_LINK_MAP = 16 };

/** In place of the core layer's: the auxiliary vector alone. */
struct cs_core {
	unsigned flags;
};

bool cs_core_auxv(const struct cs_core *core, uint64_t type, uint64_t *ret)
{
	*ret = type == AT_PHNUM ? 4 : AT + (type == AT_PHDR ? 64 : 0);
	return (type == AT_SYSINFO_EHDR && (core->flags & IS_VDSO)) ||
	       ((type == AT_PHDR || type == AT_PHNUM) &&
		(core->flags & (IS_EXECUTABLE | HAS_LINK_MAP)));
}

static int file_with(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/** What the unwinder and the symbolizer do with a module. */
static void use_module(struct cs_mod *mod)
{
	uint64_t value, total = 0;
	size_t i, n;

	if (cs_mod_symbol(mod, "main", &value, NULL))
		total += value;
	if (cs_mod_elf(mod) && elf_getphdrnum(cs_mod_elf(mod), &n) == 0) {
		for (i = 0; i < n && i < CS_MAX_ELF_SEGMENTS; i++) {
			GElf_Phdr phdr;

			if (gelf_getphdr(cs_mod_elf(mod), (int)i, &phdr))
				total += phdr.p_type;
		}
	}
	if (cs_mod_elf_is_memory(mod) && elf_getshdrnum(cs_mod_elf(mod), &n) == 0 && n)
		abort(); /* an image from memory has no section headers */
	if (total == 42)
		putchar('.');
}

/** What the torch layer asks of a module with thread-local memory; the thread's own is in the image. */
static void use_tls(struct cs_mod *mod, struct cs_mem *mem)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
	struct cs_tls tls;

	for (size_t i = 0; i < CS_COUNT(machines); i++) {
		const struct cs_arch *arch = cs_arch_find(machines[i]);

		if (!cs_mod_tls(mod, arch, mem, i == 1, &tls))
			continue;
		if (tls.size != cs_mod_tls_size(mod) || (tls.fixed && tls.id))
			abort();
		if (cs_tls_block(&tls, arch, mem, AT + 0xe00) && cs_mod_needs(mod, "libstdc++.so"))
			putchar(',');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cs_core core = {.flags = size ? data[0] : 0};
	struct fake_target *target = fake_create(EM_X86_64);
	struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	struct cs_diags diags = {.arena = arena};
	struct cs_modules *modules = NULL;
	struct cs_mem *mem = NULL;
	char path[64] = "/nowhere/lib.so";
	int fd = -1;
	size_t i;

	if (size < 2 || size > MAX_IMAGE) {
		fake_destroy(target);
		cs_arena_destroy(arena);
		return -1;
	}
	fake_map(target, AT, data + 1, size - 1, CS_PROT_READ | CS_PROT_EXEC);
	if (core.flags & HAS_FILE) {
		fd = file_with(data + 1, size - 1);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (core.flags & IS_LISTED)
		fake_file(target, AT, AT + size - 1, 0, path);
	if (!cs_ok(cs_mem_create(fake_cs(target), &mem)) ||
	    !cs_ok(cs_modules_create(&core, mem, NULL, arena, &diags, &modules)))
		abort();
	for (i = 0; i < cs_modules_count(modules); i++) {
		struct cs_mod *mod = cs_modules_at(modules, i);

		if (cs_mod_public(mod)->start > cs_mod_public(mod)->end)
			abort();
		use_module(mod);
		use_tls(mod, mem);
	}
	cs_modules_destroy(modules);
	cs_mem_destroy(mem);
	fake_destroy(target);
	free(diags.list.v);
	cs_arena_destroy(arena);
	if (fd >= 0)
		close(fd);
	return 0;
}
