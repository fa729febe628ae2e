/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Section headers without libelf, so that looking at a section of a 1 GB library reads its headers and no
 * more. Knows the section header table; refuses to know what sections mean.
 */
#include "symbols/tables.h"

#include <string.h>

size_t cs_bytes_read(const struct cs_bytes *from, uint64_t at, void *buf, size_t len)
{
	size_t got = 0;

	if (from->file)
		return cs_ok(cs_file_read_some(from->file, at, buf, len, &got)) ? got : 0;
	if (from->mem)
		return cs_mem_read_some(from->mem, at, buf, len);
	if (at >= from->size)
		return 0;
	got = CS_MIN(len, from->size - at);
	memcpy(buf, from->data + at, got);
	return got;
}

char *cs_bytes_string(const struct cs_bytes *from, uint64_t at, uint64_t left)
{
	size_t max = CS_MIN(left, CS_MAX_MANGLED), want, got;
	char *text = NULL;

	for (want = CS_MIN(max, 256UL); want > 0; want = CS_MIN(max, want * 8)) {
		char *grown = realloc(text, want);

		if (!grown)
			break;
		text = grown;
		got = cs_bytes_read(from, at, text, want);
		if (memchr(text, 0, got))
			return text;
		if (got < want || want == max)
			break;
	}
	free(text);
	return NULL;
}

static void section_parse(struct cs_buf *b, struct cs_section *s)
{
	uint64_t ignored;
	uint32_t info;

	cs_buf_u32(b, "sh_name", &s->name);
	cs_buf_u32(b, "sh_type", &s->type);
	cs_buf_u64(b, "sh_flags", &s->flags);
	cs_buf_u64(b, "sh_addr", &s->addr);
	cs_buf_u64(b, "sh_offset", &s->offset);
	cs_buf_u64(b, "sh_size", &s->size);
	cs_buf_u32(b, "sh_link", &s->link);
	cs_buf_u32(b, "sh_info", &info);
	cs_buf_u64(b, "sh_addralign", &ignored);
	cs_buf_u64(b, "sh_entsize", &s->entsize);
}

/** Header fields e_shoff, e_shnum, e_shstrndx; counts that do not fit 16 bits are in section 0. */
static bool table_bounds(const struct cs_bytes *from, uint64_t *offset, uint64_t *n,
			 uint32_t *names)
{
	uint8_t raw[sizeof(Elf64_Ehdr)], first[sizeof(Elf64_Shdr)];
	struct cs_buf b = cs_buf_of(raw, cs_bytes_read(from, 0, raw, sizeof(raw)));
	struct cs_section zero = {0};
	uint16_t size = 0, n16 = 0, names16 = 0;

	if (cs_buf_left(&b) < sizeof(raw) || memcmp(raw, ELFMAG, SELFMAG) != 0 ||
	    raw[EI_CLASS] != ELFCLASS64 || raw[EI_DATA] != ELFDATA2LSB)
		return false;
	cs_buf_seek(&b, offsetof(Elf64_Ehdr, e_shoff), "e_shoff");
	cs_buf_u64(&b, "e_shoff", offset);
	cs_buf_seek(&b, offsetof(Elf64_Ehdr, e_shentsize), "e_shentsize");
	cs_buf_u16(&b, "e_shentsize", &size);
	cs_buf_u16(&b, "e_shnum", &n16);
	cs_buf_u16(&b, "e_shstrndx", &names16);
	if (size != sizeof(Elf64_Shdr) || *offset == 0 ||
	    cs_bytes_read(from, *offset, first, sizeof(first)) < sizeof(first))
		return false;
	b = cs_buf_of(first, sizeof(first));
	section_parse(&b, &zero);
	*n = n16 ? n16 : zero.size;
	*names = names16 == SHN_XINDEX ? zero.link : names16;
	return *n <= CS_MAX_ELF_SECTIONS;
}

void cs_sections_read(const struct cs_bytes *from, struct cs_sections *ret)
{
	CS_CLEANUP(cs_freep) uint8_t *raw = NULL;
	uint64_t offset = 0, n = 0, i;
	uint32_t names = 0;
	struct cs_buf b;

	*ret = (struct cs_sections){.from = *from};
	if (!table_bounds(from, &offset, &n, &names) || n == 0)
		return;
	raw = malloc(n * sizeof(Elf64_Shdr));
	ret->v = calloc(n, sizeof(*ret->v));
	if (!raw || !ret->v)
		return;
	b = cs_buf_of(raw, cs_bytes_read(from, offset, raw, n * sizeof(Elf64_Shdr)));
	ret->n = CS_MIN(n, cs_buf_left(&b) / sizeof(Elf64_Shdr));
	for (i = 0; i < ret->n; i++)
		section_parse(&b, &ret->v[i]);
	if (names < ret->n) {
		ret->names = ret->v[names].offset;
		ret->names_size = ret->v[names].size;
	}
}

void cs_sections_deinit(struct cs_sections *sections)
{
	free(sections->v);
	*sections = (struct cs_sections){0};
}

const struct cs_section *cs_sections_named(const struct cs_sections *s, const char *name)
{
	size_t want = strlen(name) + 1, i;
	char found[64];

	if (want > sizeof(found))
		return NULL;
	for (i = 0; i < s->n; i++) {
		const struct cs_section *sec = &s->v[i];

		if (sec->name < s->names_size && want <= s->names_size - sec->name &&
		    sec->type != SHT_NOBITS &&
		    cs_bytes_read(&s->from, s->names + sec->name, found, want) == want &&
		    memcmp(found, name, want) == 0)
			return sec;
	}
	return NULL;
}

const struct cs_section *cs_sections_typed(const struct cs_sections *s, uint32_t type)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->v[i].type == type)
			return &s->v[i];
	}
	return NULL;
}
