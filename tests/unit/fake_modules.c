/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A module list without files: knows addresses and bytes that a test hands it, and refuses
 * to look for anything.
 */
#include "fake_modules.h"

#include <stdlib.h>

#define MAX_FAKE_MODULES 8

struct cs_mod {
	struct cs_module public;
	Elf *elf;
};

struct cs_modules {
	struct cs_mod mods[MAX_FAKE_MODULES];
	size_t n;
};

struct cs_modules *fake_modules_create(void)
{
	struct cs_modules *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	elf_version(EV_CURRENT);
	return m;
}

struct cs_mod *fake_module(struct cs_modules *modules, uint64_t start, uint64_t end, uint64_t bias,
			   void *image, size_t len)
{
	struct cs_mod *mod = &modules->mods[modules->n];

	if (modules->n++ == MAX_FAKE_MODULES)
		abort();
	mod->public = (struct cs_module){.path = "fake", .start = start, .end = end, .bias = bias};
	if (image)
		mod->elf = elf_memory(image, len);
	return mod;
}

void cs_modules_destroy(struct cs_modules *modules)
{
	for (size_t i = 0; modules && i < modules->n; i++)
		elf_end(modules->mods[i].elf);
	free(modules);
}

size_t cs_modules_count(const struct cs_modules *modules)
{
	return modules->n;
}

struct cs_mod *cs_modules_at(const struct cs_modules *modules, size_t i)
{
	return (struct cs_mod *)&modules->mods[i];
}

struct cs_mod *cs_modules_find(const struct cs_modules *modules, uint64_t addr)
{
	for (size_t i = 0; i < modules->n; i++)
		if (addr >= modules->mods[i].public.start && addr < modules->mods[i].public.end)
			return cs_modules_at(modules, i);
	return NULL;
}

struct cs_module *cs_mod_public(struct cs_mod *mod)
{
	return &mod->public;
}

Elf *cs_mod_elf(struct cs_mod *mod)
{
	return mod->elf;
}

Elf *cs_mod_debug_elf(struct cs_mod *mod)
{
	(void)mod;
	return NULL;
}
