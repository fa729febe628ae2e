/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thread-local storage of one module. Knows the relocations by which a module learns its number, and the
 * vector in which each thread has a block for every number; refuses to know what lies in a block.
 */
#include "symbols/tls.h"

#include "symbols/tables.h"

#include <elf.h>
#include <string.h>

#define RELA_SIZE 24 /* sizeof(Elf64_Rela) */
#define CHUNK 512    /* relocations read at once */
#define MAX_ID 65536 /* more modules than a process can have (CS_MAX_MODULES) */

/** Where the relocations are, in addresses of the ELF file. */
struct relocations {
	uint64_t at[2], size[2]; /* DT_RELA, DT_JMPREL */
};

static uint32_t module_relocation(const struct cs_arch *arch)
{
	return arch->machine == EM_AARCH64 ? R_AARCH64_TLS_DTPMOD : R_X86_64_DTPMOD64;
}

static uint32_t descriptor_relocation(const struct cs_arch *arch)
{
	return arch->machine == EM_AARCH64 ? R_AARCH64_TLSDESC : R_X86_64_TLSDESC;
}

/** glibc relocates the addresses of some entries in memory, and a file never has them relocated. */
static uint64_t unrelocate(const struct cs_mod *mod, uint64_t value)
{
	const struct cs_elf_head *h = mod->file ? &mod->file_head : &mod->head;

	if (value >= h->low && value < h->high)
		return value;
	value -= mod->pub.bias;
	return value >= h->low && value < h->high ? value : 0;
}

/** The entries of a dynamic section, read at once: real ones have about 30. */
struct entries {
	uint8_t raw[128 * 16];
	struct cs_buf b;
};

static void entries_read(struct cs_mod *mod, struct entries *e)
{
	const Elf64_Phdr *p = cs_elf_head_segment(mod->file ? &mod->file_head : &mod->head,
						  PT_DYNAMIC);
	size_t n = p ? (size_t)CS_MIN(p->p_memsz, (uint64_t)sizeof(e->raw)) : 0;

	e->b = cs_buf_of(e->raw, n ? cs_mod_read(mod, p->p_vaddr, e->raw, n) : 0);
}

static bool entry_next(struct entries *e, uint64_t *tag, uint64_t *value)
{
	return cs_buf_u64(&e->b, "d_tag", tag) && cs_buf_u64(&e->b, "d_val", value) && *tag != DT_NULL;
}

bool cs_mod_needs(struct cs_mod *mod, const char *prefix)
{
	struct cs_dynamic d;
	struct entries e;
	uint64_t tag, value;
	size_t n = strlen(prefix);
	char name[64];

	if (n > sizeof(name) || !cs_dynamic_read(mod, &d))
		return false;
	entries_read(mod, &e);
	while (entry_next(&e, &tag, &value))
		if (tag == DT_NEEDED && value < d.strsz &&
		    cs_mod_read(mod, d.strtab + value, name, n) == n && !memcmp(name, prefix, n))
			return true;
	return false;
}

static bool relocations_find(struct cs_mod *mod, struct relocations *ret)
{
	struct entries e;
	uint64_t tag, value;

	*ret = (struct relocations){0};
	entries_read(mod, &e);
	while (entry_next(&e, &tag, &value)) {
		if (tag == DT_RELA)
			ret->at[0] = unrelocate(mod, value);
		else if (tag == DT_RELASZ)
			ret->size[0] = value;
		else if (tag == DT_JMPREL)
			ret->at[1] = unrelocate(mod, value);
		else if (tag == DT_PLTRELSZ)
			ret->size[1] = value;
	}
	return ret->at[0] || ret->at[1];
}

/**
 * What the linker wrote where a descriptor is: a distance, or where {number, offset} lie. The blocks that it
 * sets up at the start are before the thread pointer on x86_64, and not far behind it on aarch64.
 */
static bool descriptor_read(const struct cs_arch *arch, struct cs_mem *mem, uint64_t slot,
			    struct cs_tls *ret)
{
	uint64_t argument, id;

	if (!cs_mem_u64(mem, slot + 8, &argument))
		return false;
	if (argument > UINT64_MAX - (1UL << 32) ||
	    (arch->machine == EM_AARCH64 && argument < 1UL << 24)) {
		ret->fixed = true;
		ret->distance = (int64_t)argument;
		return true;
	}
	if (!cs_mem_u64(mem, argument, &id) || !id || id >= MAX_ID)
		return false;
	ret->id = id;
	return true;
}

/** One relocation; true once it tells the number or the distance. */
static bool relocation_read(const struct cs_mod *mod, const struct cs_arch *arch, struct cs_mem *mem,
			    const uint8_t *raw, struct cs_tls *ret)
{
	struct cs_buf b = cs_buf_of(raw, RELA_SIZE);
	uint64_t offset = 0, info = 0, addend = 0, id;

	cs_buf_u64(&b, "r_offset", &offset);
	cs_buf_u64(&b, "r_info", &info);
	cs_buf_u64(&b, "r_addend", &addend);
	if (info >> 32) /* of a named variable, which may be that of another module */
		return false;
	if ((uint32_t)info == module_relocation(arch) &&
	    cs_mem_u64(mem, mod->pub.bias + offset, &id) && id && id < MAX_ID) {
		ret->id = id;
		return true;
	}
	if ((uint32_t)info != descriptor_relocation(arch) ||
	    !descriptor_read(arch, mem, mod->pub.bias + offset, ret))
		return false;
	if (ret->fixed) /* what was written is the variable's distance */
		ret->distance -= (int64_t)addend;
	return true;
}

static bool table_search(struct cs_mod *mod, const struct cs_arch *arch, struct cs_mem *mem, uint64_t at,
			 uint64_t size, struct cs_tls *ret)
{
	uint8_t raw[CHUNK * RELA_SIZE];

	size = CS_MIN(size, (uint64_t)CS_MAX_RELOCATIONS * RELA_SIZE);
	for (uint64_t done = 0; at && size - done >= RELA_SIZE;) {
		size_t got = cs_mod_read(mod, at + done, raw,
					 (size_t)CS_MIN(size - done, (uint64_t)sizeof(raw)));

		for (size_t i = 0; got - i >= RELA_SIZE; i += RELA_SIZE)
			if (relocation_read(mod, arch, mem, raw + i, ret))
				return true;
		if (got < RELA_SIZE)
			break;
		done += got - got % RELA_SIZE;
	}
	return false;
}

uint64_t cs_mod_tls_size(const struct cs_mod *mod)
{
	const Elf64_Phdr *p = cs_elf_head_segment(mod->file ? &mod->file_head : &mod->head, PT_TLS);

	return p && mod->has_bias ? p->p_memsz : 0;
}

bool cs_mod_tls(struct cs_mod *mod, const struct cs_arch *arch, struct cs_mem *mem, bool executable,
		struct cs_tls *ret)
{
	struct relocations r;

	if (!cs_mod_tls_size(mod))
		return false;
	*ret = (struct cs_tls){.size = cs_mod_tls_size(mod)};
	if (executable) {
		ret->id = 1;
		return true;
	}
	if (relocations_find(mod, &r))
		for (size_t i = 0; i < CS_COUNT(r.at); i++)
			if (table_search(mod, arch, mem, r.at[i], r.size[i], ret))
				break;
	return true;
}

uint64_t cs_tls_block(const struct cs_tls *tls, const struct cs_arch *arch, struct cs_mem *mem,
		      uint64_t pointer)
{
	/* tcbhead_t: on x86_64 {tcb, dtv, ...}, on aarch64 {dtv, private} (glibc: sysdeps/ARCH/nptl/tls.h) */
	uint64_t at = arch->machine == EM_AARCH64 ? pointer : pointer + 8, dtv, length, block;

	if (!pointer)
		return 0;
	if (tls->fixed)
		return pointer + (uint64_t)tls->distance;
	/* The vector has two words for each module; the entry before the first has its length. */
	if (!tls->id || !cs_mem_u64(mem, at, &dtv) || dtv < 16 || !cs_mem_u64(mem, dtv - 16, &length) ||
	    tls->id > length || !cs_mem_u64(mem, dtv + 16 * tls->id, &block))
		return 0;
	return block == UINT64_MAX ? 0 : block; /* TLS_DTV_UNALLOCATED */
}
