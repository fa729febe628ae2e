/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dynamic symbols through the tables that the dynamic linker itself uses: they are there without section
 * headers, in files and in memory. Knows PT_DYNAMIC and both hash tables (glibc: elf/dl-lookup.c,
 * sysdeps/generic/dl-hash.h); refuses to know versions: any version of a name will do.
 */
#include "symbols/tables.h"

#include <string.h>

/** File offset of ELF address @vaddr and the bytes there in its segment; false: not in the file. */
static bool to_offset(const struct cs_elf_head *head, uint64_t vaddr, uint64_t *offset,
		      uint64_t *left)
{
	size_t i;

	for (i = 0; i < head->n_phdrs; i++) {
		const Elf64_Phdr *p = &head->phdrs[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr &&
		    vaddr - p->p_vaddr < p->p_filesz) {
			*offset = p->p_offset + (vaddr - p->p_vaddr);
			*left = p->p_filesz - (vaddr - p->p_vaddr);
			return true;
		}
	}
	return false;
}

size_t cs_mod_read(struct cs_mod *mod, uint64_t vaddr, void *buf, size_t len)
{
	const struct cs_file *file = cs_mod_file(mod);
	uint64_t offset, left;
	size_t got = 0;

	if (!mod->has_bias)
		return 0;
	if (!file)
		return cs_mem_read_some(mod->owner->mem, mod->pub.bias + vaddr, buf, len);
	if (!to_offset(&mod->file_head, vaddr, &offset, &left) ||
	    !cs_ok(cs_file_read_some(file, offset, buf, CS_MIN(len, left), &got)))
		return 0;
	return got;
}

static bool read_u32(struct cs_mod *mod, uint64_t vaddr, uint32_t *ret)
{
	uint8_t raw[4];
	struct cs_buf b = cs_buf_of(raw, cs_mod_read(mod, vaddr, raw, sizeof(raw)));

	return cs_buf_u32(&b, "word", ret);
}

static bool read_u64(struct cs_mod *mod, uint64_t vaddr, uint64_t *ret)
{
	uint8_t raw[8];
	struct cs_buf b = cs_buf_of(raw, cs_mod_read(mod, vaddr, raw, sizeof(raw)));

	return cs_buf_u64(&b, "word", ret);
}

/** glibc relocates these in memory, other linkers and the vdso do not: both end as ELF addresses. */
static uint64_t unrelocate(const struct cs_mod *mod, uint64_t value)
{
	const struct cs_elf_head *h = mod->file ? &mod->file_head : &mod->head;

	if (value >= h->low && value < h->high)
		return value;
	if (value - mod->pub.bias >= h->low && value - mod->pub.bias < h->high)
		return value - mod->pub.bias;
	return 0;
}

bool cs_dynamic_read(struct cs_mod *mod, struct cs_dynamic *ret)
{
	const Elf64_Phdr *p = cs_elf_head_segment(mod->file ? &mod->file_head : &mod->head,
						  PT_DYNAMIC);
	uint64_t i, tag, value;

	*ret = (struct cs_dynamic){0};
	if (!p)
		return false;
	for (i = 0; i < CS_MIN(p->p_memsz / 16, (uint64_t)CS_MAX_DYNAMIC); i++) {
		if (!read_u64(mod, p->p_vaddr + i * 16, &tag) ||
		    !read_u64(mod, p->p_vaddr + i * 16 + 8, &value) || tag == DT_NULL)
			break;
		if (tag == DT_SYMTAB)
			ret->symtab = unrelocate(mod, value);
		else if (tag == DT_STRTAB)
			ret->strtab = unrelocate(mod, value);
		else if (tag == DT_GNU_HASH)
			ret->gnu_hash = unrelocate(mod, value);
		else if (tag == DT_HASH)
			ret->hash = unrelocate(mod, value);
		else if (tag == DT_STRSZ)
			ret->strsz = value;
	}
	return ret->symtab && ret->strtab && ret->strsz;
}

struct gnu_hash {
	uint32_t n_buckets, first_symbol, n_bloom, shift;
	uint64_t bloom, buckets, chains; /* ELF addresses */
};

static bool gnu_hash_read(struct cs_mod *mod, uint64_t at, struct gnu_hash *h)
{
	uint8_t raw[16];
	struct cs_buf b = cs_buf_of(raw, at ? cs_mod_read(mod, at, raw, sizeof(raw)) : 0);

	cs_buf_u32(&b, "nbuckets", &h->n_buckets);
	cs_buf_u32(&b, "symoffset", &h->first_symbol);
	cs_buf_u32(&b, "bloom_size", &h->n_bloom);
	if (!cs_buf_u32(&b, "bloom_shift", &h->shift) || !h->n_buckets || !h->n_bloom ||
	    h->shift >= 32)
		return false;
	h->bloom = at + sizeof(raw);
	h->buckets = h->bloom + 8ULL * h->n_bloom;
	h->chains = h->buckets + 4ULL * h->n_buckets;
	return true;
}

/** The last symbol of the highest bucket's chain: the table's size is written nowhere else. */
static uint64_t gnu_hash_count(struct cs_mod *mod, uint64_t at)
{
	uint32_t bucket, highest = 0, word;
	struct gnu_hash h;
	uint64_t i;

	if (!gnu_hash_read(mod, at, &h) || h.n_buckets > CS_MAX_SYMBOLS)
		return 0;
	for (i = 0; i < h.n_buckets; i++) {
		if (!read_u32(mod, h.buckets + 4 * i, &bucket))
			return 0;
		highest = CS_MAX(highest, bucket);
	}
	if (highest < h.first_symbol)
		return h.first_symbol;
	for (i = highest; i - highest < CS_MAX_HASH_CHAIN; i++) {
		if (!read_u32(mod, h.chains + 4 * (i - h.first_symbol), &word))
			return 0;
		if (word & 1)
			return i + 1;
	}
	return 0;
}

uint64_t cs_dynamic_count(struct cs_mod *mod, const struct cs_dynamic *dynamic)
{
	uint32_t n_chains;
	uint64_t n;

	/* DT_HASH: nbucket, nchain; nchain is the number of symbols. */
	if (dynamic->hash && read_u32(mod, dynamic->hash + 4, &n_chains))
		n = n_chains;
	else
		n = gnu_hash_count(mod, dynamic->gnu_hash);
	return CS_MIN(n, (uint64_t)CS_MAX_SYMBOLS);
}

static bool symbol_is(struct cs_mod *mod, const struct cs_dynamic *d, uint64_t index,
		      const char *name, uint64_t *value, uint64_t *size)
{
	size_t want = strlen(name) + 1;
	uint8_t raw[sizeof(Elf64_Sym)], info = 0, other;
	char found[256];
	uint32_t at = 0;
	uint16_t shndx = 0;
	struct cs_buf b;

	b = cs_buf_of(raw, cs_mod_read(mod, d->symtab + index * sizeof(raw), raw, sizeof(raw)));
	cs_buf_u32(&b, "st_name", &at);
	cs_buf_u8(&b, "st_info", &info);
	cs_buf_u8(&b, "st_other", &other);
	cs_buf_u16(&b, "st_shndx", &shndx);
	cs_buf_u64(&b, "st_value", value);
	if (!cs_buf_u64(&b, "st_size", size) || shndx == SHN_UNDEF || *value == 0 ||
	    (info & 15) == STT_TLS || at >= d->strsz || want > sizeof(found))
		return false;
	return cs_mod_read(mod, d->strtab + at, found, want) == want &&
	       memcmp(found, name, want) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

static bool gnu_hash_find(struct cs_mod *mod, const struct cs_dynamic *d, const char *name,
			  uint64_t *value, uint64_t *size)
{
	uint32_t hash = gnu_hash_of(name), bucket, word;
	struct gnu_hash h;
	uint64_t bits, i;

	if (!gnu_hash_read(mod, d->gnu_hash, &h) ||
	    !read_u64(mod, h.bloom + 8ULL * ((hash / 64) % h.n_bloom), &bits) ||
	    !(bits >> (hash % 64) & bits >> ((hash >> h.shift) % 64) & 1) ||
	    !read_u32(mod, h.buckets + 4ULL * (hash % h.n_buckets), &bucket) ||
	    bucket < h.first_symbol)
		return false;
	for (i = bucket; i - bucket < CS_MAX_HASH_CHAIN; i++) {
		if (!read_u32(mod, h.chains + 4 * (i - h.first_symbol), &word))
			return false;
		if ((word | 1) == (hash | 1) && symbol_is(mod, d, i, name, value, size))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

/** By a pass over whole tables: static programs, and names that are not exported. */
static bool find_in_tables(struct cs_mod *mod, const char *name, uint64_t *value, uint64_t *size)
{
	struct cs_sym_tables tables;
	struct cs_sym sym;
	bool found = false;
	size_t i;

	cs_sym_tables_open(mod, &tables);
	for (i = 0; i < tables.n && !found; i++) {
		if (cs_sym_by_name(&tables.v[i], name, &sym)) {
			found = true;
			*value = sym.value;
			*size = sym.size;
		}
	}
	cs_sym_tables_deinit(&tables);
	return found;
}

bool cs_mod_symbol(struct cs_mod *mod, const char *name, uint64_t *ret, uint64_t *size_ret)
{
	uint64_t value = 0, size = 0;
	struct cs_dynamic d;
	bool dynamic = cs_dynamic_read(mod, &d);

	if (!mod->has_bias || !name[0])
		return false;
	if (!(dynamic && gnu_hash_find(mod, &d, name, &value, &size)) &&
	    !find_in_tables(mod, name, &value, &size))
		return false;
	*ret = mod->pub.bias + value;
	if (size_ret)
		*size_ret = size;
	return true;
}
