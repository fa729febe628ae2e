/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF images for libelf: the module's file, or an image rebuilt from the core's memory. Knows segments;
 * refuses to know what is in them.
 *
 * A rebuilt image is a copy of the saved pages at the offsets that the program headers give, with the
 * section headers struck out (they are not in memory). Pages that the core lacks stay zero and, as they
 * are never touched, cost no memory.
 */
#include "symbols/mod.h"

#include <string.h>
#include <sys/mman.h>

#define COPY_BYTES 65536UL

void cs_elf_image_deinit(struct cs_elf_image *image)
{
	if (image->elf)
		elf_end(image->elf);
	if (image->map)
		munmap(image->map, image->size);
	free(image->heap);
	cs_file_close(image->file);
	*image = (struct cs_elf_image){0};
}

static bool holds(const Elf64_Phdr *outer, const Elf64_Phdr *inner)
{
	return inner && inner->p_vaddr >= outer->p_vaddr &&
	       inner->p_vaddr - outer->p_vaddr < outer->p_filesz;
}

/**
 * Code alone is read through the address space, not through the image: of an executable segment only
 * one that also holds unwind tables or the dynamic section is copied.
 */
static bool is_wanted(const struct cs_elf_head *head, const Elf64_Phdr *p)
{
	if (p->p_type != PT_LOAD || p->p_filesz == 0)
		return false;
	return !(p->p_flags & PF_X) || p->p_offset < sizeof(Elf64_Ehdr) ||
	       holds(p, cs_elf_head_segment(head, PT_GNU_EH_FRAME)) ||
	       holds(p, cs_elf_head_segment(head, PT_DYNAMIC));
}

/** Bytes of the image, or 0 if it has none or too many. */
static size_t image_size(const struct cs_elf_head *head)
{
	uint64_t size = 0;
	size_t i;

	for (i = 0; i < head->n_phdrs; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];

		if (!is_wanted(head, p))
			continue;
		if (p->p_offset > CS_MAX_MEMORY_IMAGE ||
		    p->p_filesz > CS_MAX_MEMORY_IMAGE - p->p_offset)
			return 0;
		size = CS_MAX(size, p->p_offset + p->p_filesz);
	}
	return size >= sizeof(Elf64_Ehdr) ? size : 0;
}

static void copy_segment(struct cs_mod *mod, const Elf64_Phdr *p, uint8_t *image)
{
	struct cs_mem *mem = mod->owner->mem;
	uint64_t done = 0;

	while (done < p->p_filesz) {
		uint64_t at = mod->pub.bias + p->p_vaddr + done;
		size_t want = CS_MIN(COPY_BYTES, p->p_filesz - done);
		size_t got = cs_mem_read_some(mem, at, image + p->p_offset + done, want);
		const struct cs_region *r;

		done += got;
		if (got == want)
			continue;
		/* A hole: go on at the next page; where a region saved nothing more, behind it. */
		at += got;
		r = cs_mem_region(mem, at);
		if (r && cs_mem_presence(mem, at) == CS_NOT_SAVED)
			done += r->end - at;
		else
			done += mod->owner->page_size - (at & (mod->owner->page_size - 1));
	}
}

/** Write the headers back, without sections, wherever the core's own copy has them. */
static void put_headers(const struct cs_elf_head *head, uint8_t *image, size_t size)
{
	Elf64_Ehdr e;

	memcpy(&e, image, sizeof(e));
	e.e_shoff = 0;
	e.e_shnum = 0;
	e.e_shstrndx = 0;
	memcpy(image, &e, sizeof(e));
	if (head->ehdr.e_phoff <= size &&
	    head->n_phdrs * sizeof(Elf64_Phdr) <= size - head->ehdr.e_phoff)
		return;
	/* libelf must not look for program headers outside of the image. */
	memset(image, 0, SELFMAG);
}

void cs_mod_memory_image(struct cs_mod *mod, struct cs_elf_image *image)
{
	size_t size = mod->head_in_core ? image_size(&mod->head) : 0, i;
	void *map;

	if (!size)
		return;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (map == MAP_FAILED)
		return;
	for (i = 0; i < mod->head.n_phdrs; i++) {
		if (is_wanted(&mod->head, &mod->head.phdrs[i]))
			copy_segment(mod, &mod->head.phdrs[i], map);
	}
	put_headers(&mod->head, map, size);
	image->map = map;
	image->size = size;
	image->elf = elf_memory(map, size);
	if (image->elf && elf_kind(image->elf) == ELF_K_ELF)
		return;
	cs_elf_image_deinit(image);
	image->tried = true;
}

/** Ask the debuginfod servers for a file that is nowhere else; only once it is needed. */
static void ask_for_file(struct cs_mod *mod)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	const char *path;

	if (mod->file || mod->vdso || !mod->owner->options.debuginfod)
		return;
	path = cs_debuginfod_find(mod->owner, mod, false);
	if (path && cs_ok(cs_open_in_root(NULL, path, &file)) &&
	    cs_mod_offer_file(mod, &file, true))
		mod->pub.note = NULL;
}

Elf *cs_mod_elf(struct cs_mod *mod)
{
	struct cs_elf_image *image = &mod->image;

	if (image->tried)
		return image->elf;
	image->tried = true;
	ask_for_file(mod);
	if (mod->file)
		image->elf = elf_begin(mod->file->fd, ELF_C_READ_MMAP, NULL);
	if (image->elf)
		return image->elf;
	/* No file, or one whose section headers libelf refuses: those of memory are left out. */
	cs_mod_memory_image(mod, image);
	mod->image_is_memory = image->elf != NULL;
	return image->elf;
}

bool cs_mod_elf_is_memory(struct cs_mod *mod)
{
	return cs_mod_elf(mod) && mod->image_is_memory;
}
