/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ELF header, program headers and build id. Knows the layout of <elf.h>; refuses to know sections,
 * symbols and what the image is for.
 */
#include "symbols/elfhead.h"

#include <stdio.h>
#include <string.h>

#define HEAD_BYTES 4096UL /* holds header, program headers and build id of nearly every file */

/** Where an image's bytes come from: a file by offset, or memory by address. */
struct source {
	const struct cs_file *file;
	struct cs_mem *mem;
	uint64_t base; /* address of the image's first byte */
	uint64_t bias;
};

static size_t source_head(const struct source *s, uint64_t offset, void *buf, size_t len)
{
	size_t got = 0;

	if (s->file)
		return cs_ok(cs_file_read_some(s->file, offset, buf, len, &got)) ? got : 0;
	return cs_mem_read_some(s->mem, s->base + offset, buf, len);
}

static size_t source_segment(const struct source *s, const Elf64_Phdr *p, void *buf, size_t len)
{
	if (s->file)
		return source_head(s, p->p_offset, buf, len);
	return cs_mem_read_some(s->mem, s->bias + p->p_vaddr, buf, len);
}

void cs_elf_head_deinit(struct cs_elf_head *head)
{
	free(head->phdrs);
	head->phdrs = NULL;
	head->n_phdrs = 0;
}

bool cs_elf_head_copy(const struct cs_elf_head *head, struct cs_elf_head *ret)
{
	Elf64_Phdr *phdrs = calloc(head->n_phdrs + 1, sizeof(*phdrs));

	if (!phdrs)
		return false;
	if (head->n_phdrs)
		memcpy(phdrs, head->phdrs, head->n_phdrs * sizeof(*phdrs));
	*ret = *head;
	ret->phdrs = phdrs;
	return true;
}

static bool read_ehdr(struct cs_buf *b, Elf64_Ehdr *e)
{
	const uint8_t *ident;

	if (!cs_buf_take(b, EI_NIDENT, "e_ident", &ident))
		return false;
	memcpy(e->e_ident, ident, EI_NIDENT);
	cs_buf_u16(b, "e_type", &e->e_type);
	cs_buf_u16(b, "e_machine", &e->e_machine);
	cs_buf_u32(b, "e_version", &e->e_version);
	cs_buf_u64(b, "e_entry", &e->e_entry);
	cs_buf_u64(b, "e_phoff", &e->e_phoff);
	cs_buf_u64(b, "e_shoff", &e->e_shoff);
	cs_buf_u32(b, "e_flags", &e->e_flags);
	cs_buf_u16(b, "e_ehsize", &e->e_ehsize);
	cs_buf_u16(b, "e_phentsize", &e->e_phentsize);
	cs_buf_u16(b, "e_phnum", &e->e_phnum);
	cs_buf_u16(b, "e_shentsize", &e->e_shentsize);
	cs_buf_u16(b, "e_shnum", &e->e_shnum);
	return cs_buf_u16(b, "e_shstrndx", &e->e_shstrndx);
}

static bool read_phdr(struct cs_buf *b, Elf64_Phdr *p)
{
	cs_buf_u32(b, "p_type", &p->p_type);
	cs_buf_u32(b, "p_flags", &p->p_flags);
	cs_buf_u64(b, "p_offset", &p->p_offset);
	cs_buf_u64(b, "p_vaddr", &p->p_vaddr);
	cs_buf_u64(b, "p_paddr", &p->p_paddr);
	cs_buf_u64(b, "p_filesz", &p->p_filesz);
	cs_buf_u64(b, "p_memsz", &p->p_memsz);
	return cs_buf_u64(b, "p_align", &p->p_align);
}

/** Why @e is not a header we can work with, or NULL. */
static const char *ehdr_problem(const Elf64_Ehdr *e)
{
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0)
		return "not an ELF file";
	if (e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_ident[EI_DATA] != ELFDATA2LSB)
		return "not a 64-bit little-endian ELF file";
	if (e->e_type != ET_EXEC && e->e_type != ET_DYN)
		return "neither an executable nor a shared object";
	if (e->e_phentsize != sizeof(Elf64_Phdr) || e->e_phnum == 0)
		return "has no program headers";
	if (e->e_phnum > CS_MAX_ELF_SEGMENTS)
		return "has too many program headers";
	return NULL;
}

static struct cs_error *take_phdrs(const struct source *s, const uint8_t *head, size_t n_head,
				   struct cs_elf_head *h)
{
	size_t n = h->ehdr.e_phnum, bytes = n * sizeof(Elf64_Phdr), i;
	CS_CLEANUP(cs_freep) uint8_t *far = NULL;
	struct cs_buf b;

	if (h->ehdr.e_phoff <= n_head && bytes <= n_head - h->ehdr.e_phoff) {
		b = cs_buf_of(head + h->ehdr.e_phoff, bytes);
	} else {
		far = malloc(bytes);
		if (!far)
			return &cs_nomem;
		b = cs_buf_of(far, source_head(s, h->ehdr.e_phoff, far, bytes));
	}
	h->phdrs = calloc(n, sizeof(*h->phdrs));
	if (!h->phdrs)
		return &cs_nomem;
	for (i = 0; i < n; i++) {
		if (!read_phdr(&b, &h->phdrs[i]))
			return cs_error_new(CS_ERR_FORMAT, "%s of program header %zu is cut off",
					    b.bad, i);
	}
	h->n_phdrs = n;
	return NULL;
}

/** The range of the PT_LOADs. False: none, or one that wraps around. */
static bool find_extent(struct cs_elf_head *h, uint64_t page_size)
{
	uint64_t low = UINT64_MAX, high = 0;
	size_t i;

	for (i = 0; i < h->n_phdrs; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];

		if (p->p_type != PT_LOAD || p->p_memsz == 0)
			continue;
		if (p->p_memsz > UINT64_MAX - p->p_vaddr - page_size ||
		    p->p_vaddr > UINT64_MAX - page_size || p->p_filesz > p->p_memsz)
			return false;
		low = CS_MIN(low, p->p_vaddr & -page_size);
		high = CS_MAX(high, (p->p_vaddr + p->p_memsz + page_size - 1) & -page_size);
	}
	h->low = low;
	h->high = high;
	return low < high;
}

bool cs_elf_notes_build_id(struct cs_buf *notes, size_t align, const uint8_t **id_ret,
			   size_t *len_ret)
{
	while (cs_buf_left(notes) >= sizeof(Elf64_Nhdr)) {
		uint32_t namesz = 0, descsz = 0, type = 0;
		const uint8_t *name, *desc;

		cs_buf_u32(notes, "n_namesz", &namesz);
		cs_buf_u32(notes, "n_descsz", &descsz);
		cs_buf_u32(notes, "n_type", &type);
		if (!cs_buf_take(notes, namesz, "note name", &name))
			return false;
		cs_buf_pad(notes, align);
		if (!cs_buf_take(notes, descsz, "note descriptor", &desc))
			return false;
		cs_buf_pad(notes, align);
		if (type == NT_GNU_BUILD_ID && namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
		    descsz > 0 && descsz <= CS_MAX_BUILD_ID) {
			*id_ret = desc;
			*len_ret = descsz;
			return true;
		}
	}
	return false;
}

static struct cs_error *find_build_id(const struct source *s, const uint8_t *head, size_t n_head,
				      struct cs_elf_head *h)
{
	size_t i;

	h->id_state = CS_ID_NONE;
	for (i = 0; i < h->n_phdrs; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];
		CS_CLEANUP(cs_freep) uint8_t *far = NULL;
		const uint8_t *id;
		struct cs_buf b;

		if (p->p_type != PT_NOTE || p->p_filesz == 0)
			continue;
		if (p->p_filesz > CS_MAX_ELF_NOTES) {
			h->id_state = CS_ID_UNKNOWN;
			continue;
		}
		if (p->p_offset <= n_head && p->p_filesz <= n_head - p->p_offset) {
			b = cs_buf_of(head + p->p_offset, p->p_filesz);
		} else {
			far = malloc(p->p_filesz);
			if (!far)
				return &cs_nomem;
			b = cs_buf_of(far, source_segment(s, p, far, p->p_filesz));
			if (cs_buf_left(&b) < p->p_filesz)
				h->id_state = CS_ID_UNKNOWN;
		}
		if (cs_elf_notes_build_id(&b, p->p_align == 8 ? 8 : 4, &id, &h->id_len)) {
			memcpy(h->id, id, h->id_len);
			h->id_state = CS_ID_PRESENT;
			return NULL;
		}
	}
	return NULL;
}

/**
 * Bias of an image whose first byte (file offset 0) lies at s->base: the dynamic linker and the kernel
 * both map whole pages, so the PT_LOAD that holds offset 0 starts there.
 */
static bool find_bias(struct source *s, const struct cs_elf_head *h, uint64_t page_size)
{
	size_t i;

	for (i = 0; i < h->n_phdrs; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];

		if (p->p_type == PT_LOAD && p->p_offset < page_size && p->p_memsz) {
			s->bias = s->base - (p->p_vaddr & -page_size);
			return true;
		}
	}
	return false;
}

static struct cs_error *head_read(struct source *s, uint64_t page_size, struct cs_elf_head *h)
{
	uint8_t head[HEAD_BYTES];
	size_t n = source_head(s, 0, head, sizeof(head));
	struct cs_buf b = cs_buf_of(head, n);
	const char *problem;

	if (!read_ehdr(&b, &h->ehdr))
		return cs_error_new(CS_ERR_FORMAT, "ELF header is cut off in %s", b.bad);
	problem = ehdr_problem(&h->ehdr);
	if (problem)
		return cs_error_new(CS_ERR_FORMAT, "%s", problem);
	CS_TRY(take_phdrs(s, head, n, h));
	if (!find_extent(h, page_size))
		return cs_error_new(CS_ERR_FORMAT, "no usable PT_LOAD program header");
	if (s->mem && !find_bias(s, h, page_size))
		return cs_error_new(CS_ERR_FORMAT, "no PT_LOAD holds the ELF header");
	return find_build_id(s, head, n, h);
}

struct cs_error *cs_elf_head_of_file(const struct cs_file *file, uint64_t page_size,
				     struct cs_elf_head *ret)
{
	struct source s = {.file = file};
	struct cs_elf_head h = {0};
	struct cs_error *err = head_read(&s, page_size, &h);

	if (err) {
		cs_elf_head_deinit(&h);
		return cs_error_prefix(err, "%s", file->path);
	}
	*ret = h;
	return NULL;
}

struct cs_error *cs_elf_head_of_memory(struct cs_mem *mem, uint64_t base, uint64_t page_size,
				       struct cs_elf_head *ret, uint64_t *bias_ret)
{
	struct source s = {.mem = mem, .base = base};
	struct cs_elf_head h = {0};
	struct cs_error *err = head_read(&s, page_size, &h);

	if (err) {
		cs_elf_head_deinit(&h);
		return cs_error_prefix(err, "image at %#llx", (unsigned long long)base);
	}
	*ret = h;
	*bias_ret = s.bias;
	return NULL;
}

const Elf64_Phdr *cs_elf_head_segment(const struct cs_elf_head *head, uint32_t type)
{
	size_t i;

	for (i = 0; i < head->n_phdrs; i++) {
		if (head->phdrs[i].p_type == type)
			return &head->phdrs[i];
	}
	return NULL;
}

const Elf64_Phdr *cs_elf_head_load(const struct cs_elf_head *head, uint64_t page_size,
				   uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < head->n_phdrs; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];
		uint64_t first = p->p_vaddr & -page_size;

		/* find_extent() has made sure that the sums do not wrap. */
		if (p->p_type == PT_LOAD && p->p_memsz && vaddr >= first &&
		    vaddr < ((p->p_vaddr + p->p_memsz + page_size - 1) & -page_size))
			return p;
	}
	return NULL;
}

bool cs_elf_head_same_id(const struct cs_elf_head *a, const struct cs_elf_head *b)
{
	return a->id_state == CS_ID_PRESENT && b->id_state == CS_ID_PRESENT &&
	       a->id_len == b->id_len && memcmp(a->id, b->id, a->id_len) == 0;
}

bool cs_elf_head_same_layout(const struct cs_elf_head *a, const struct cs_elf_head *b)
{
	return a->ehdr.e_machine == b->ehdr.e_machine && a->ehdr.e_type == b->ehdr.e_type &&
	       a->ehdr.e_entry == b->ehdr.e_entry && a->n_phdrs == b->n_phdrs &&
	       memcmp(a->phdrs, b->phdrs, a->n_phdrs * sizeof(*a->phdrs)) == 0;
}

void cs_elf_head_id_text(const struct cs_elf_head *head, char text[2 * CS_MAX_BUILD_ID + 1])
{
	size_t i;

	text[0] = 0;
	for (i = 0; head->id_state == CS_ID_PRESENT && i < head->id_len; i++)
		snprintf(text + 2 * i, 3, "%02x", head->id[i]);
}
