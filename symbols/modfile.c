/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file on this machine is the very build that a module was loaded from. Knows paths, build ids and
 * program headers; refuses to use a file that it cannot tell to be the same build.
 */
#include "base/strbuf.h"
#include "base/text.h"
#include "symbols/mod.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ID_SHOWN 12 /* hex digits of a build id in a message: enough to tell two apart */
#define NAMES_SHOWN 4 /* modules named in one diagnostic */

/* ---- is it the same build? ---- */

bool cs_mod_range_fits(const struct cs_mod *mod, const struct cs_elf_head *head, uint64_t bias,
		       const struct cs_mod_range *r)
{
	uint64_t page = mod->owner->page_size;
	size_t i;

	if (r->start - bias < head->low || r->end - bias > head->high || r->end < bias)
		return false;
	for (i = 0; i < head->n_phdrs; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];
		uint64_t first = p->p_vaddr & -page;
		uint64_t last = (p->p_vaddr + p->p_memsz + page - 1) & -page;

		if (p->p_type == PT_LOAD && r->start - bias >= first && r->start - bias < last &&
		    r->offset == (p->p_offset & -page) + (r->start - bias - first) &&
		    (!(r->prot & CS_PROT_EXEC) || (p->p_flags & PF_X)))
			return true;
	}
	return r->prot == 0;
}

static bool ranges_agree(const struct cs_mod *mod, const struct cs_elf_head *head, uint64_t bias)
{
	size_t i;

	for (i = 0; i < mod->ranges.n; i++) {
		if (mod->ranges.v[i].from_file &&
		    !cs_mod_range_fits(mod, head, bias, &mod->ranges.v[i]))
			return false;
	}
	return true;
}

/**
 * Could the mappings be those of a file with @head? Used where the core has nothing of the image itself,
 * only NT_FILE's addresses and offsets.
 */
static bool layout_agrees(const struct cs_mod *mod, const struct cs_elf_head *head,
			  uint64_t *bias_ret)
{
	uint64_t page = mod->owner->page_size;
	size_t i;

	if (mod->ranges.n == 0 ||
	    head->ehdr.e_machine != cs_mem_target(mod->owner->mem)->machine)
		return false;
	for (i = 0; i < head->n_phdrs; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];
		uint64_t bias = mod->ranges.v[0].start - (p->p_vaddr & -page);

		if (p->p_type != PT_LOAD || p->p_memsz == 0 ||
		    (p->p_offset & -page) != mod->ranges.v[0].offset ||
		    (head->ehdr.e_type == ET_EXEC && bias != 0) || !ranges_agree(mod, head, bias))
			continue;
		*bias_ret = bias;
		return true;
	}
	return false;
}

static enum cs_file_state compare(struct cs_mod *mod, const struct cs_elf_head *head,
				  uint64_t *bias_ret)
{
	*bias_ret = mod->pub.bias;
	if (mod->head_in_core) {
		if (mod->head.id_state == CS_ID_PRESENT)
			return cs_elf_head_same_id(&mod->head, head) &&
					       mod->head.ehdr.e_machine == head->ehdr.e_machine
				       ? CS_FILE_VERIFIED
				       : CS_FILE_MISMATCH;
		if (!cs_elf_head_same_layout(&mod->head, head) ||
		    (mod->head.id_state == CS_ID_NONE && head->id_state == CS_ID_PRESENT))
			return CS_FILE_MISMATCH;
	} else if (mod->ranges.n && mod->ranges.v[0].from_file &&
		   !layout_agrees(mod, head, bias_ret)) {
		return CS_FILE_MISMATCH;
	}
	/* The path's present file is not the mapped one for certain, and nothing can show otherwise. */
	return mod->deleted ? CS_FILE_MISMATCH : CS_FILE_UNVERIFIED;
}

/** True for a file whose code was stripped off into section headers without bytes (SHT_NOBITS). */
static bool is_debug_only(const struct cs_file *file, const struct cs_elf_head *head)
{
	size_t n = head->ehdr.e_shnum, i;
	bool nobits = false;

	if (head->ehdr.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	for (i = 0; i < n; i++) {
		uint8_t raw[sizeof(Elf64_Shdr)];
		struct cs_buf b = cs_buf_of(raw, sizeof(raw));
		uint32_t name, type = 0;
		uint64_t flags = 0;

		if (head->ehdr.e_shoff > INT64_MAX ||
		    !cs_ok(cs_file_read(file, head->ehdr.e_shoff + i * sizeof(raw), raw,
					sizeof(raw))))
			return false;
		cs_buf_u32(&b, "sh_name", &name);
		cs_buf_u32(&b, "sh_type", &type);
		cs_buf_u64(&b, "sh_flags", &flags);
		if ((flags & SHF_EXECINSTR) && type == SHT_PROGBITS)
			return false;
		nobits |= (flags & SHF_EXECINSTR) && type == SHT_NOBITS;
	}
	return nobits;
}

/** @head is taken over where this succeeds. */
static bool take_file(struct cs_mod *mod, struct cs_file **file, struct cs_elf_head *head,
		      enum cs_file_state state, uint64_t bias)
{
	char text[2 * CS_MAX_BUILD_ID + 1];
	struct cs_elf_head copy = {0};

	if (!mod->head_in_core && !cs_elf_head_copy(head, &copy))
		return false;
	cs_file_close(mod->file);
	cs_elf_head_deinit(&mod->file_head);
	mod->file = CS_TAKE(*file);
	mod->file_head = *head;
	*head = (struct cs_elf_head){0};
	mod->pub.file = cs_text_utf8(mod->owner->arena, mod->file->path, strlen(mod->file->path));
	mod->pub.file_state = state;
	if (mod->head_in_core)
		return true;
	cs_elf_head_deinit(&mod->head);
	mod->head = copy;
	mod->pub.bias = bias;
	mod->has_bias = true;
	cs_elf_head_id_text(&mod->head, text);
	mod->pub.build_id = text[0] ? cs_arena_strdup(mod->owner->arena, text) : NULL;
	return true;
}

bool cs_mod_offer_file(struct cs_mod *mod, struct cs_file **file, bool sections)
{
	struct cs_elf_head head = {0};
	enum cs_file_state state = CS_FILE_MISMATCH;
	uint64_t bias = 0;
	bool taken = false;

	if (cs_ok(cs_elf_head_of_file(*file, mod->owner->page_size, &head)))
		state = compare(mod, &head, &bias);
	if (state != CS_FILE_MISMATCH && sections && is_debug_only(*file, &head)) {
		mod->debug_hint = cs_arena_strdup(mod->owner->arena, (*file)->path);
	} else if (state != CS_FILE_MISMATCH) {
		taken = take_file(mod, file, &head, state, bias);
	} else if (!mod->other_file) {
		mod->other_file = cs_text_utf8(mod->owner->arena, (*file)->path,
					       strlen((*file)->path));
		cs_elf_head_id_text(&head, mod->other_id);
	}
	cs_elf_head_deinit(&head);
	return taken;
}

/* ---- where it may be ---- */

static bool try_path(struct cs_mod *mod, const char *path)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	struct cs_error *err = cs_open_in_root(mod->owner->options.sysroot, path, &file);

	if (!err)
		return cs_mod_offer_file(mod, &file, false);
	if (cs_error_errno(err) == EMFILE || cs_error_errno(err) == ENFILE)
		mod->owner->n_not_opened++;
	if (!mod->open_problem && cs_error_errno(err) != ENOENT && cs_error_errno(err) != ENOTDIR)
		mod->open_problem = cs_arena_strdup(mod->owner->arena, cs_error_message(err));
	cs_error_destroy(err);
	return false;
}

/** Folders of build ids may hold the executable itself, beside or instead of its debug file. */
static bool try_build_id_dir(struct cs_mod *mod, const char *dir)
{
	CS_CLEANUP(cs_freep) char *path = NULL;
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	char id[2 * CS_MAX_BUILD_ID + 1];

	cs_elf_head_id_text(&mod->head, id);
	if (asprintf(&path, "%s/.build-id/%.2s/%s", dir, id, id + 2) < 0) {
		path = NULL;
		return false;
	}
	return cs_ok(cs_open_in_root(NULL, path, &file)) && cs_mod_offer_file(mod, &file, true);
}

static bool try_build_id_dirs(struct cs_mod *mod)
{
	const struct cs_modules_options *o = &mod->owner->options;
	size_t i;

	if (!mod->head_in_core || mod->head.id_state != CS_ID_PRESENT || mod->head.id_len < 2)
		return false;
	for (i = 0; i < o->n_debug_dirs; i++) {
		if (try_build_id_dir(mod, o->debug_dirs[i]))
			return true;
	}
	return try_build_id_dir(mod, "/usr/lib/debug");
}

/** --exe: the user's word for the main executable; a file that is another build is an error. */
static bool try_given_executable(struct cs_mod *mod)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	struct cs_modules *ms = mod->owner;
	const char *path = ms->options.executable;
	char id[2 * CS_MAX_BUILD_ID + 1];
	struct cs_error *err;

	if (!path || !mod->executable)
		return false;
	err = cs_open_in_root(NULL, path, &file);
	if (err) {
		cs_diag_error(ms->diags, CS_SEVERITY_ERROR, "symbols", "exe-unreadable", 0,
			      cs_error_prefix(err, "--exe"));
		return false;
	}
	if (cs_mod_offer_file(mod, &file, true))
		return true;
	cs_elf_head_id_text(&mod->head, id);
	if (mod->debug_hint)
		cs_diag(ms->diags, CS_SEVERITY_ERROR, "symbols", "exe-debug-file", 0,
			"--exe %s: holds debug information only; give the program itself "
			"(the debug file is used beside it)", path);
	else
		cs_diag(ms->diags, CS_SEVERITY_ERROR, "symbols", "exe-mismatch", 0,
			"--exe %s: not used, it is not the program that died (its build id is %s, "
			"the core has %s for %s); leave --exe out or give the original file", path,
			mod->other_id[0] ? mod->other_id : "none", id[0] ? id : "none",
			mod->pub.path);
	mod->other_file = NULL;
	return false;
}

static void find_file(struct cs_mod *mod)
{
	static const char memfd[] = "/memfd:";
	CS_CLEANUP(cs_freep) char *plain = NULL;

	if (mod->file)
		return; /* found together with the module */
	mod->pub.file_state = CS_FILE_MISSING;
	if (mod->vdso) {
		/* Its bytes are the core's own: there is no file to compare. */
		if (mod->head_in_core)
			mod->pub.file_state = CS_FILE_VERIFIED;
		return;
	}
	if (try_given_executable(mod) || strncmp(mod->raw_path, memfd, sizeof(memfd) - 1) == 0 ||
	    mod->raw_path[0] != '/' || try_path(mod, mod->raw_path))
		return;
	if (mod->deleted) {
		plain = strndup(mod->raw_path, strlen(mod->raw_path) - strlen(" (deleted)"));
		if (plain && try_path(mod, plain))
			return;
	}
	try_build_id_dirs(mod);
}

/* ---- what is said about it ---- */

static const char *short_id(const char *id)
{
	return id && id[0] ? id : "none";
}

static const char *mismatch_note(const struct cs_mod *mod)
{
	const char *other = short_id(mod->other_id), *core = short_id(mod->pub.build_id);
	const char *give = mod->executable ? "--exe FILE or --lib-path DIR" : "--lib-path DIR";

	if (mod->deleted && !mod->pub.build_id)
		return cs_arena_printf(mod->owner->arena,
				       "the file was deleted while the process ran, and without a build "
				       "id the one that is now at %s cannot be told to be the same: give "
				       "the folder of the original with %s", mod->other_file, give);
	if (!mod->head_in_core)
		return cs_arena_printf(mod->owner->arena,
				       "%s does not fit the mappings of the process: replaced since it "
				       "started? Give the original with %s", mod->other_file, give);
	return cs_arena_printf(mod->owner->arena,
			       "%s is another build (build id %.*s%s, the core has %.*s%s): replaced "
			       "since the process started? Give the original with %s", mod->other_file,
			       ID_SHOWN, other, strlen(other) > ID_SHOWN ? "…" : "", ID_SHOWN, core,
			       strlen(core) > ID_SHOWN ? "…" : "", give);
}

static const char *missing_note(const struct cs_mod *mod)
{
	struct cs_arena *arena = mod->owner->arena;
	const char *give = mod->executable ? "--exe FILE, --lib-path DIR or --sysroot DIR"
					   : "--lib-path DIR or --sysroot DIR";

	if (strncmp(mod->raw_path, "/memfd:", 7) == 0)
		return "loaded from memory (memfd): there is no file; what is known of it comes from "
		       "the core";
	if (mod->vdso)
		return "the core did not save it";
	if (mod->deleted)
		return cs_arena_printf(arena, "deleted while the process ran: give the original with %s",
				       give);
	if (mod->open_problem)
		return cs_arena_printf(arena, "%s: make it readable, or give a copy with %s",
				       mod->open_problem, give);
	return cs_arena_printf(arena, "not on this machine: give the folder that holds it, or the root "
				      "of its container, with %s", give);
}

static void describe(struct cs_mod *mod)
{
	if (mod->file || mod->pub.file_state == CS_FILE_VERIFIED)
		return;
	if (mod->other_file) {
		mod->pub.file_state = CS_FILE_MISMATCH;
		mod->pub.note = mismatch_note(mod);
	} else {
		mod->pub.note = missing_note(mod);
	}
}

static void name_modules(struct cs_strbuf *sb, const struct cs_modules *ms,
			 enum cs_file_state state, size_t *count)
{
	size_t i;

	*count = 0;
	for (i = 0; i < ms->list.n; i++) {
		const struct cs_mod *mod = ms->list.v[i];

		if (mod->pub.file_state != state || mod->vdso ||
		    strncmp(mod->raw_path, "/memfd:", 7) == 0)
			continue;
		if (*count < NAMES_SHOWN)
			cs_strbuf_printf(sb, "%s%s", *count ? ", " : "", mod->pub.name);
		++*count;
	}
	if (*count > NAMES_SHOWN)
		cs_strbuf_printf(sb, " and %zu more", *count - NAMES_SHOWN);
}

static void summarise(struct cs_modules *ms, enum cs_file_state state, enum cs_severity severity,
		      const char *code, const char *what)
{
	struct cs_strbuf names;
	size_t count;

	cs_strbuf_init(&names, CS_MAX_STRING);
	name_modules(&names, ms, state, &count);
	if (count)
		cs_diag(ms->diags, severity, "symbols", code, 0, "%zu of %zu modules: %s (%s)", count,
			ms->list.n, what, cs_strbuf_text(&names));
	cs_strbuf_deinit(&names);
}

struct cs_error *cs_modules_find_files(struct cs_modules *ms)
{
	char text[2 * CS_MAX_BUILD_ID + 1];
	size_t i;

	for (i = 0; i < ms->list.n; i++) {
		struct cs_mod *mod = ms->list.v[i];

		cs_elf_head_id_text(&mod->head, text);
		if (mod->head_in_core && text[0]) {
			mod->pub.build_id = cs_arena_strdup(ms->arena, text);
			if (!mod->pub.build_id)
				return &cs_nomem;
		}
		find_file(mod);
	}
	CS_TRY(cs_modules_search_libraries(ms));
	for (i = 0; i < ms->list.n; i++)
		describe(ms->list.v[i]);
	if (ms->n_not_opened)
		cs_diag(ms->diags, CS_SEVERITY_WARNING, "symbols", "open-files", 0,
			"%zu module files could not be opened: each takes one open file, and this "
			"process may have no more; allow more with ulimit -n and run again",
			ms->n_not_opened);
	summarise(ms, CS_FILE_MISMATCH, CS_SEVERITY_WARNING, "module-mismatch",
		  "the file at the path is another build than the process had, and is not used; give the "
		  "originals with --lib-path DIR");
	summarise(ms, CS_FILE_MISSING, CS_SEVERITY_WARNING, "module-missing",
		  "the file is not on this machine; give the folders that hold them with --lib-path DIR, "
		  "or the container's root with --sysroot DIR");
	summarise(ms, CS_FILE_UNVERIFIED, CS_SEVERITY_NOTE, "module-unverified",
		  "the core holds no build id of them to compare; the files at their paths have the same "
		  "layout and are used");
	return NULL;
}
