/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of modules: made once, looked up by address or name. Knows the order of the steps; how modules
 * are found is in modscan.c, which file each one is in modfile.c, their ELF images in image.c and
 * debugfile.c.
 */
#include "symbols/modules.h"

#include "symbols/mod.h"

#include <string.h>

static int compare_ranges(const void *a, const void *b)
{
	const struct cs_mod_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_mods(const void *a, const void *b)
{
	const struct cs_mod *x = *(struct cs_mod *const *)a, *y = *(struct cs_mod *const *)b;

	return x->pub.start < y->pub.start ? -1 : x->pub.start > y->pub.start;
}

static int compare_spans(const void *a, const void *b)
{
	const struct cs_mod_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct cs_error *cs_modules_index(struct cs_modules *ms)
{
	size_t i, j;

	ms->spans.n = 0;
	for (i = 0; i < ms->list.n; i++) {
		struct cs_mod *mod = ms->list.v[i];

		if (mod->ranges.n)
			qsort(mod->ranges.v, mod->ranges.n, sizeof(*mod->ranges.v), compare_ranges);
		mod->pub.start = mod->ranges.n ? mod->ranges.v[0].start : 0;
		mod->pub.end = 0;
		for (j = 0; j < mod->ranges.n; j++) {
			struct cs_mod_span span = {mod->ranges.v[j].start, mod->ranges.v[j].end, mod};

			mod->pub.end = CS_MAX(mod->pub.end, span.end);
			CS_TRY(CS_PUSH(&ms->spans, span, 2 * CS_MAX_MAPPINGS, "module mappings"));
		}
	}
	if (ms->list.n)
		qsort(ms->list.v, ms->list.n, sizeof(*ms->list.v), compare_mods);
	if (ms->spans.n)
		qsort(ms->spans.v, ms->spans.n, sizeof(*ms->spans.v), compare_spans);
	return NULL;
}

/**
 * Code that was moved onto huge pages lies in anonymous memory amid its module's mappings: an executable
 * region inside the extent of an executable PT_LOAD, with no file mapped there, is the module's too.
 */
static struct cs_error *adopt_anonymous_code(struct cs_modules *ms)
{
	const struct cs_target *t = cs_mem_target(ms->mem);
	size_t i, j, steps = 0;

	for (i = 0; i < ms->list.n; i++) {
		struct cs_mod *mod = ms->list.v[i];
		const struct cs_region *r = cs_mem_region(ms->mem, mod->pub.start);

		if (!r || !mod->has_bias || mod->vdso)
			continue;
		for (j = (size_t)(r - t->regions); j < t->n_regions; j++) {
			const Elf64_Phdr *p;

			r = &t->regions[j];
			if (r->start >= mod->pub.bias + mod->head.high ||
			    ++steps > CS_MAX_REGION_STEPS)
				break;
			if (!(r->prot & CS_PROT_EXEC) || cs_mem_mapping(ms->mem, r->start) ||
			    cs_modules_find(ms, r->start))
				continue;
			p = cs_elf_head_load(&mod->head, ms->page_size, r->start - mod->pub.bias);
			if (p && (p->p_flags & PF_X))
				CS_TRY(cs_mod_add_range(mod, r->start, r->end,
							p->p_offset + (r->start - mod->pub.bias -
								       p->p_vaddr),
							r->prot, false));
		}
	}
	return cs_modules_index(ms);
}

/** True if a PT_LOAD that may be written holds part of @r: RELRO pages differ from the file. */
static bool was_writable(const struct cs_mod *mod, const struct cs_mod_range *r)
{
	uint64_t page = mod->owner->page_size, start = r->start - mod->pub.bias;
	uint64_t end = r->end - mod->pub.bias;
	size_t i;

	for (i = 0; i < mod->head.n_phdrs; i++) {
		const Elf64_Phdr *p = &mod->head.phdrs[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && start < p->p_vaddr + p->p_memsz &&
		    (p->p_vaddr & -page) < end)
			return true;
	}
	return false;
}

/** Let the memory serve the module's pages that cannot differ from its file. */
static struct cs_error *serve_pages(struct cs_mod *mod)
{
	size_t i;

	for (i = 0; i < mod->ranges.n; i++) {
		struct cs_mod_range r = mod->ranges.v[i];
		uint64_t end = r.end;

		/* gdb leaves out the program headers, too, of mappings that equal their files. */
		if (!cs_mem_region(mod->owner->mem, r.start))
			r.prot = CS_PROT_READ;
		if ((r.prot & CS_PROT_WRITE) || !(r.prot & CS_PROT_READ) ||
		    r.offset >= mod->file->size || was_writable(mod, &r) ||
		    !cs_mod_range_fits(mod, &mod->file_head, mod->pub.bias, &r))
			continue;
		/* What lies behind the end of the file in its last page is not in the file. */
		if (end - r.start > mod->file->size - r.offset)
			end = r.start + (mod->file->size - r.offset);
		CS_TRY(cs_mem_add_file(mod->owner->mem, r.start, end, mod->file, r.offset));
	}
	return NULL;
}

static struct cs_error *modules_fill(struct cs_modules *ms)
{
	size_t i;

	CS_TRY(cs_modules_scan(ms));
	CS_TRY(cs_modules_find_files(ms));
	CS_TRY(cs_modules_index(ms));
	CS_TRY(adopt_anonymous_code(ms));
	for (i = 0; i < ms->list.n; i++) {
		if (ms->list.v[i]->file)
			CS_TRY(serve_pages(ms->list.v[i]));
	}
	return NULL;
}

struct cs_error *cs_modules_create(struct cs_core *core, struct cs_mem *mem,
				   const struct cs_modules_options *options,
				   struct cs_arena *arena, struct cs_diags *diags,
				   struct cs_modules **ret)
{
	CS_CLEANUP(cs_modules_destroyp) struct cs_modules *ms = calloc(1, sizeof(*ms));
	const struct cs_target *target = cs_mem_target(mem);

	if (!ms)
		return &cs_nomem;
	elf_version(EV_CURRENT);
	ms->core = core;
	ms->mem = mem;
	ms->arena = arena;
	ms->diags = diags;
	if (options)
		ms->options = *options;
	ms->page_size = target->page_size ? target->page_size : 4096;
	CS_TRY(modules_fill(ms));
	*ret = CS_TAKE(ms);
	return NULL;
}

void cs_modules_destroy(struct cs_modules *ms)
{
	size_t i;

	if (!ms)
		return;
	for (i = 0; i < ms->list.n; i++)
		cs_mod_free(ms->list.v[i]);
	free(ms->list.v);
	free(ms->spans.v);
	cs_debuginfod_end(ms->debuginfod);
	free(ms);
}

size_t cs_modules_count(const struct cs_modules *modules)
{
	return modules->list.n;
}

struct cs_mod *cs_modules_at(const struct cs_modules *modules, size_t i)
{
	return i < modules->list.n ? modules->list.v[i] : NULL;
}

struct cs_mod *cs_modules_find(const struct cs_modules *ms, uint64_t addr)
{
	size_t lo = 0, hi = ms->spans.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ms->spans.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < ms->spans.v[lo - 1].end ? ms->spans.v[lo - 1].mod : NULL;
}

struct cs_mod *cs_modules_executable(const struct cs_modules *modules)
{
	return modules->executable;
}

struct cs_mod *cs_modules_named(const struct cs_modules *ms, const char *prefix)
{
	size_t i, n = strlen(prefix);

	for (i = 0; i < ms->list.n; i++) {
		if (strncmp(ms->list.v[i]->pub.name, prefix, n) == 0)
			return ms->list.v[i];
	}
	return NULL;
}

struct cs_module *cs_mod_public(struct cs_mod *mod)
{
	return &mod->pub;
}

bool cs_mod_is_vdso(const struct cs_mod *mod)
{
	return mod->vdso;
}

const struct cs_file *cs_mod_file(struct cs_mod *mod)
{
	return mod->file;
}
