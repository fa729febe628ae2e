/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which modules a process has. Knows how the kernel and the dynamic linker lay an ELF file out in memory;
 * refuses to know files on this machine, except where the core names an object and saved nothing of it.
 *
 * NT_FILE lists every mapped file: libraries, but also caches, fonts and checkpoints. A run of mappings of
 * one path is looked at only if one of them is executable, begins with an ELF header that the core saved,
 * or holds a dynamic section that the link map knows. A run may hold several modules (the same library
 * in two namespaces) and a module may have foreign mappings in its gaps.
 */
#include "base/text.h"
#include "symbols/mod.h"

#include <string.h>

#define RECENT 16 /* modules searched backwards for the owner of a mapping behind a foreign one */

#define MAX_LOOKED_AT_TWICE 2048 /* modules; PyTorch loads some hundreds, and each is compared with all */

struct scan {
	struct cs_modules *ms;
	struct cs_link_map map; /* sorted by l_ld */
};

struct cs_error *cs_mod_new(struct cs_modules *ms, const char *raw_path, struct cs_mod **ret)
{
	static const char suffix[] = " (deleted)";
	size_t len = strlen(raw_path), n = sizeof(suffix) - 1;
	/* In the arena: the model's record is part of it and outlives the rest. */
	struct cs_mod *mod = cs_arena_alloc(ms->arena, sizeof(*mod));
	struct cs_error *err;
	const char *slash;

	if (!mod)
		return &cs_nomem;
	mod->owner = ms;
	mod->raw_path = raw_path;
	mod->deleted = len > n && strcmp(raw_path + len - n, suffix) == 0;
	mod->pub.path = cs_text_utf8(ms->arena, raw_path, len);
	err = mod->pub.path ? CS_PUSH(&ms->list, mod, CS_MAX_MODULES, "modules") : &cs_nomem;
	if (err) {
		cs_mod_free(mod);
		return err;
	}
	slash = strrchr(mod->pub.path, '/');
	mod->pub.name = slash && slash[1] ? slash + 1 : mod->pub.path;
	*ret = mod;
	return NULL;
}

void cs_mod_free(struct cs_mod *mod)
{
	if (!mod)
		return;
	cs_elf_image_deinit(&mod->mini);
	cs_elf_image_deinit(&mod->debug);
	cs_elf_image_deinit(&mod->image);
	cs_file_close(mod->file);
	cs_elf_head_deinit(&mod->file_head);
	cs_elf_head_deinit(&mod->head);
	free(mod->ranges.v);
}

struct cs_error *cs_mod_add_range(struct cs_mod *mod, uint64_t start, uint64_t end,
				  uint64_t offset, unsigned prot, bool from_file)
{
	struct cs_mod_range r = {start, end, offset, prot, from_file};

	return CS_PUSH(&mod->ranges, r, CS_MAX_MAPPINGS, "mappings of one module");
}

bool cs_mod_has(const struct cs_mod *mod, uint64_t addr)
{
	size_t i;

	for (i = 0; i < mod->ranges.n; i++) {
		if (addr >= mod->ranges.v[i].start && addr < mod->ranges.v[i].end)
			return true;
	}
	return false;
}

static struct cs_mod *list_find(const struct cs_modules *ms, uint64_t addr)
{
	size_t i;

	for (i = 0; i < ms->list.n; i++) {
		if (cs_mod_has(ms->list.v[i], addr))
			return ms->list.v[i];
	}
	return NULL;
}

static unsigned prot_at(const struct cs_modules *ms, uint64_t addr)
{
	const struct cs_region *r = cs_mem_region(ms->mem, addr);

	return r ? r->prot : 0;
}

static bool elf_magic_at(struct cs_modules *ms, uint64_t addr)
{
	char magic[SELFMAG];

	return cs_mem_presence(ms->mem, addr) == CS_PRESENT &&
	       cs_ok(cs_mem_read(ms->mem, addr, magic, SELFMAG, NULL)) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/** Take the head of the image at @base from memory, if the core saved it. */
static void take_head(struct cs_mod *mod, uint64_t base)
{
	struct cs_modules *ms = mod->owner;

	mod->base = base;
	if (!elf_magic_at(ms, base) ||
	    !cs_ok(cs_elf_head_of_memory(ms->mem, base, ms->page_size, &mod->head, &mod->pub.bias)))
		return;
	mod->head_in_core = mod->has_bias = true;
}

/** The range of a module's pages that its head claims; false while it has none. */
static bool extent_of(const struct cs_mod *mod, uint64_t *start, uint64_t *end)
{
	if (!mod->has_bias)
		return false;
	*start = mod->pub.bias + mod->head.low;
	*end = mod->pub.bias + mod->head.high;
	return *start < *end;
}

/** Without a head: does @m go on where the mappings of @mod leave off? */
static bool continues(const struct cs_mod *mod, const struct cs_mapping *m, unsigned prot)
{
	const struct cs_mod_range *last = &mod->ranges.v[mod->ranges.n - 1];
	size_t i;

	if (m->offset > 0)
		return m->offset >= last->offset;
	/* lld maps the page at offset 0 again, executable, right behind the first mapping. */
	if (m->start != last->end || !(prot & CS_PROT_EXEC))
		return false;
	for (i = 0; i < mod->ranges.n; i++) {
		if (mod->ranges.v[i].prot & CS_PROT_EXEC)
			return false;
	}
	return true;
}

/** The module that mapping @m of the same path belongs to, or NULL. */
static struct cs_mod *owner_of(const struct cs_modules *ms, const struct cs_mapping *m,
			       unsigned prot)
{
	size_t i;

	for (i = 0; i < CS_MIN(ms->list.n, (size_t)RECENT); i++) {
		struct cs_mod *mod = ms->list.v[ms->list.n - 1 - i];
		uint64_t start, end;

		if (strcmp(mod->raw_path, m->path) != 0)
			continue;
		if (extent_of(mod, &start, &end)) {
			if (m->start >= start && m->start < end)
				return mod;
		} else if (mod->ranges.n && continues(mod, m, prot)) {
			return mod;
		}
	}
	return NULL;
}

static bool holds_dynamic(const struct scan *s, uint64_t start, uint64_t end)
{
	size_t lo = 0, hi = s->map.list.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->map.list.v[mid].dynamic < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->map.list.n && s->map.list.v[lo].dynamic < end;
}

static bool run_matters(const struct scan *s, const struct cs_mapping *run, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct cs_mapping *m = &run[i];

		if ((prot_at(s->ms, m->start) & CS_PROT_EXEC) ||
		    holds_dynamic(s, m->start, m->end) ||
		    (m->offset == 0 && elf_magic_at(s->ms, m->start)))
			return true;
	}
	return false;
}

static struct cs_error *scan_run(struct scan *s, const struct cs_mapping *run, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		const struct cs_mapping *m = &run[i];
		unsigned prot = prot_at(s->ms, m->start);
		struct cs_mod *mod = owner_of(s->ms, m, prot);

		if (!mod && m->offset > 0 && !(prot & CS_PROT_EXEC) &&
		    !holds_dynamic(s, m->start, m->end))
			continue;
		if (!mod) {
			CS_TRY(cs_mod_new(s->ms, m->path, &mod));
			if (m->offset == 0)
				take_head(mod, m->start);
		}
		if (holds_dynamic(s, m->start, m->end))
			mod->in_link_map = true;
		CS_TRY(cs_mod_add_range(mod, m->start, m->end, m->offset, prot, true));
	}
	return NULL;
}

static struct cs_error *scan_mappings(struct scan *s)
{
	const struct cs_target *t = cs_mem_target(s->ms->mem);
	size_t i, n;

	for (i = 0; i < t->n_mappings; i += n) {
		const struct cs_mapping *run = &t->mappings[i];

		for (n = 1; i + n < t->n_mappings && (run[n].path == run->path ||
						      strcmp(run[n].path, run->path) == 0);)
			n++;
		if (run_matters(s, run, n))
			CS_TRY(scan_run(s, run, n));
	}
	return NULL;
}

static bool has_first_page(const struct cs_mod *mod)
{
	for (size_t i = 0; i < mod->ranges.n; i++)
		if (mod->ranges.v[i].offset == 0)
			return true;
	return false;
}

/**
 * A piece of a module's file that the module has mapped once more (libffi 3.4 and later, for its
 * trampolines): it has code, but neither the file's layout nor an entry in the link map. The first @n of the
 * list are looked at.
 */
static bool is_second_look(const struct cs_modules *ms, size_t n, const struct cs_mod *mod)
{
	if (mod->in_link_map || mod == ms->executable || has_first_page(mod))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct cs_mod *other = ms->list.v[i];

		if (other != mod && other->in_link_map && has_first_page(other) &&
		    !strcmp(other->raw_path, mod->raw_path))
			return true;
	}
	return false;
}

static void drop_second_looks(struct cs_modules *ms)
{
	size_t n = ms->list.n;

	if (n > MAX_LOOKED_AT_TWICE)
		return;
	/* From behind: those that stay are still where they were while the rest is looked at. */
	for (size_t i = n; i--;)
		if (is_second_look(ms, n, ms->list.v[i])) {
			cs_mod_free(ms->list.v[i]);
			memmove(&ms->list.v[i], &ms->list.v[i + 1],
				(n - i - 1) * sizeof(ms->list.v[0]));
			n--;
		}
	ms->list.n = n;
}

/** A file that is mapped as data only is no module: neither executable nor known to the linker. */
static void drop_data(struct cs_modules *ms)
{
	size_t i, j, kept = 0;

	for (i = 0; i < ms->list.n; i++) {
		struct cs_mod *mod = ms->list.v[i];
		bool keep = mod->in_link_map || mod == ms->executable;

		for (j = 0; j < mod->ranges.n && !keep; j++)
			keep = mod->ranges.v[j].prot & CS_PROT_EXEC;
		if (keep)
			ms->list.v[kept++] = mod;
		else
			cs_mod_free(mod);
	}
	ms->list.n = kept;
}

/** Ranges of a module that NT_FILE does not list, from its program headers. */
static struct cs_error *ranges_from_head(struct cs_mod *mod)
{
	uint64_t page = mod->owner->page_size;
	size_t i;

	for (i = 0; i < mod->head.n_phdrs; i++) {
		const Elf64_Phdr *p = &mod->head.phdrs[i];
		uint64_t start = mod->pub.bias + (p->p_vaddr & -page);
		uint64_t end = mod->pub.bias + ((p->p_vaddr + p->p_memsz + page - 1) & -page);
		unsigned prot = p->p_flags & (PF_R | PF_W | PF_X); /* same bits as enum cs_prot */

		if (p->p_type == PT_LOAD && p->p_memsz && start < end)
			CS_TRY(cs_mod_add_range(mod, start, end, p->p_offset & -page, prot, false));
	}
	return NULL;
}

/** True if the object whose head is @head and whose bias is @bias has its dynamic section at @at. */
static bool dynamic_agrees(const struct cs_elf_head *head, uint64_t bias, uint64_t at)
{
	const Elf64_Phdr *p = cs_elf_head_segment(head, PT_DYNAMIC);

	return p && bias + p->p_vaddr == at;
}

/** An object that only the link map knows: no NT_FILE, or loaded from anonymous memory. */
static struct cs_error *scan_link_entry(struct cs_modules *ms, const struct cs_link_entry *e)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	struct cs_mod *mod;

	if (!e->name[0] || !cs_mem_region(ms->mem, e->dynamic))
		return NULL;
	CS_TRY(cs_mod_new(ms, e->name, &mod));
	mod->in_link_map = true;
	/* Shared objects are linked at 0, so that the bias is where the image begins. */
	take_head(mod, e->bias);
	if (!mod->head_in_core && cs_ok(cs_open_in_root(ms->options.sysroot, e->name, &file)) &&
	    cs_ok(cs_elf_head_of_file(file, ms->page_size, &mod->head))) {
		mod->pub.bias = e->bias;
		mod->has_bias = true;
	}
	if (mod->has_bias && mod->pub.bias == e->bias &&
	    dynamic_agrees(&mod->head, e->bias, e->dynamic)) {
		CS_TRY(ranges_from_head(mod));
		if (file)
			(void)!cs_mod_offer_file(mod, &file, false);
		return NULL;
	}
	ms->list.n--;
	cs_mod_free(mod);
	return NULL;
}

static struct cs_error *scan_link_map(struct scan *s)
{
	size_t i;

	CS_TRY(cs_modules_index(s->ms));
	for (i = 0; i < s->map.list.n; i++) {
		const struct cs_link_entry *e = &s->map.list.v[i];

		/* Entries are sorted: two nodes that name one object are neighbours. */
		if ((i == 0 || e->dynamic != e[-1].dynamic) &&
		    !cs_modules_find(s->ms, e->dynamic))
			CS_TRY(scan_link_entry(s->ms, e));
	}
	/* NT_FILE alone has nearly all of them. */
	if (s->map.broken)
		cs_diag(s->ms->diags,
			cs_mem_target(s->ms->mem)->n_mappings ? CS_SEVERITY_NOTE
							      : CS_SEVERITY_WARNING,
			"symbols", "link-map-broken", 0,
			"the dynamic linker's list of modules is damaged or was not saved "
			"(link_map.l_next, after entry %zu): modules that only it names are missing",
			s->map.list.n);
	return NULL;
}

static struct cs_error *scan_vdso(struct cs_modules *ms)
{
	const struct cs_region *r;
	struct cs_mod *mod;
	uint64_t base;

	if (!cs_core_auxv(ms->core, AT_SYSINFO_EHDR, &base))
		return NULL;
	r = cs_mem_region(ms->mem, base);
	if (!r || list_find(ms, base))
		return NULL;
	CS_TRY(cs_mod_new(ms, "[vdso]", &mod));
	mod->vdso = true;
	take_head(mod, base);
	return cs_mod_add_range(mod, base, r->end, 0, r->prot, false);
}

/** The path that the program was started as; relative to a folder that the core does not name. */
static const char *started_as(struct cs_modules *ms)
{
	CS_CLEANUP(cs_freep) char *name = NULL;
	uint64_t at;

	if (!cs_core_auxv(ms->core, AT_EXECFN, &at) ||
	    !cs_ok(cs_mem_string(ms->mem, at, CS_MAX_PATH, &name)) || !name[0])
		return "[executable]";
	return cs_arena_strdup(ms->arena, name);
}

/** Could @head be that of the running program? The kernel's auxiliary vector tells where it lies. */
static bool auxv_agrees(struct cs_modules *ms, const struct cs_elf_head *head, uint64_t *bias_ret)
{
	uint64_t phdr, phnum, entry, vaddr = 0;
	bool found = false;
	size_t i;

	if (!cs_core_auxv(ms->core, AT_PHDR, &phdr) || !cs_core_auxv(ms->core, AT_PHNUM, &phnum) ||
	    !cs_core_auxv(ms->core, AT_ENTRY, &entry) || phnum != head->n_phdrs ||
	    head->ehdr.e_machine != cs_mem_target(ms->mem)->machine)
		return false;
	for (i = 0; i < head->n_phdrs && !found; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];

		found = p->p_type == PT_LOAD && head->ehdr.e_phoff >= p->p_offset &&
			head->ehdr.e_phoff - p->p_offset < p->p_filesz;
		vaddr = p->p_vaddr + (head->ehdr.e_phoff - p->p_offset);
	}
	*bias_ret = phdr - vaddr;
	return found && *bias_ret + head->ehdr.e_entry == entry &&
	       (head->ehdr.e_type == ET_DYN || *bias_ret == 0);
}

/**
 * A core without NT_FILE that saved nothing of the program's own header (qemu's user emulation writes
 * such): the file named by the user or by AT_EXECFN, if it agrees with the auxiliary vector.
 */
static struct cs_error *executable_from_file(struct cs_modules *ms, const char *path,
					     struct cs_mod **ret)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	const char *given = ms->options.executable;
	struct cs_elf_head head = {0};
	struct cs_mod *mod;
	uint64_t bias;

	if (!cs_ok(cs_open_in_root(given ? NULL : ms->options.sysroot, given ? given : path, &file)) ||
	    !cs_ok(cs_elf_head_of_file(file, ms->page_size, &head)))
		return NULL;
	if (!auxv_agrees(ms, &head, &bias)) {
		cs_elf_head_deinit(&head);
		return NULL;
	}
	/* The limit of modules is far away: this is the first. */
	mod = NULL;
	if (!cs_ok(cs_mod_new(ms, path, &mod))) {
		cs_elf_head_deinit(&head);
		return &cs_nomem;
	}
	mod->head = head;
	mod->pub.bias = bias;
	mod->has_bias = true;
	CS_TRY(ranges_from_head(mod));
	if (cs_mod_offer_file(mod, &file, false))
		*ret = mod;
	return NULL;
}

/** The main executable is what AT_PHDR points into: for a script that is its interpreter. */
static struct cs_error *scan_executable(struct cs_modules *ms)
{
	const char *path;
	struct cs_mod *mod;
	uint64_t phdr, base;

	if (!cs_core_auxv(ms->core, AT_PHDR, &phdr))
		return NULL;
	mod = list_find(ms, phdr);
	base = phdr & -ms->page_size;
	if (!mod && !cs_mem_mapping(ms->mem, phdr)) {
		path = started_as(ms);
		if (!path)
			return &cs_nomem;
		if (elf_magic_at(ms, base)) {
			CS_TRY(cs_mod_new(ms, path, &mod));
			take_head(mod, base);
			CS_TRY(ranges_from_head(mod));
		} else {
			CS_TRY(executable_from_file(ms, path, &mod));
		}
	}
	if (mod)
		mod->executable = true;
	ms->executable = mod;
	return NULL;
}

static int compare_entries(const void *a, const void *b)
{
	const struct cs_link_entry *x = a, *y = b;

	return x->dynamic < y->dynamic ? -1 : x->dynamic > y->dynamic;
}

static struct cs_error *scan_all(struct scan *s)
{
	uint64_t phdr;

	/* Where NT_FILE does not list the program, its dynamic section is found through its file. */
	CS_TRY(scan_executable(s->ms));
	CS_TRY(cs_link_map_read(s->ms, &s->map));
	if (s->map.list.n)
		qsort(s->map.list.v, s->map.list.n, sizeof(*s->map.list.v), compare_entries);
	CS_TRY(scan_mappings(s));
	drop_data(s->ms);
	drop_second_looks(s->ms);
	CS_TRY(scan_vdso(s->ms));
	if (!s->ms->executable)
		CS_TRY(scan_executable(s->ms));
	CS_TRY(scan_link_map(s));
	if (!s->ms->executable && cs_core_auxv(s->ms->core, AT_PHDR, &phdr))
		cs_diag(s->ms->diags, CS_SEVERITY_WARNING, "symbols", "executable-unknown", 0,
			"the core does not tell where its program lies (no NT_FILE entry and no saved "
			"ELF header at AT_PHDR), and %s is not there or not that program; give it with "
			"--exe FILE",
			s->ms->options.executable ? s->ms->options.executable : started_as(s->ms));
	return NULL;
}

struct cs_error *cs_modules_scan(struct cs_modules *ms)
{
	struct scan s = {.ms = ms};
	struct cs_error *err = scan_all(&s);

	cs_link_map_deinit(&s.map);
	if (!err || cs_error_code(err) != CS_ERR_LIMIT)
		return err;
	cs_diag_error(ms->diags, CS_SEVERITY_WARNING, "symbols", "module-limit", 0, err);
	return NULL;
}
