/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic linker's list of loaded objects. Knows struct r_debug and struct link_map (glibc:
 * elf/link.h; musl has the same public part); refuses to know what the objects hold.
 *
 * The way there is AT_PHDR -> PT_DYNAMIC -> DT_DEBUG, all in memory that every core saves.
 */
#include "symbols/mod.h"


/* glibc: elf/link.h, struct r_debug and struct r_debug_extended (r_version 2, glibc 2.35), LP64. */
#define R_VERSION 0
#define R_MAP 8
#define R_NEXT 40
#define LM_ADDR 0
#define LM_NAME 8
#define LM_LD 16
#define LM_NEXT 24
#define LM_BYTES 32

static bool phdr_read(struct cs_mem *mem, uint64_t at, Elf64_Phdr *ret)
{
	/* Host order: AT_PHDR lies in a core of a little-endian machine, as all supported ones are. */
	if (!cs_ok(cs_mem_read(mem, at, ret, sizeof(*ret), NULL)))
		return false;
	ret->p_type = le32toh(ret->p_type);
	ret->p_vaddr = le64toh(ret->p_vaddr);
	ret->p_memsz = le64toh(ret->p_memsz);
	return true;
}

static bool dynamic_of(const struct cs_mod *mod, uint64_t *ret)
{
	const Elf64_Phdr *p = cs_elf_head_segment(&mod->head, PT_DYNAMIC);

	if (!p)
		return false;
	*ret = mod->pub.bias + p->p_vaddr;
	return true;
}

/** Address of the main executable's dynamic section; false for static programs and bad headers. */
static bool find_dynamic(struct cs_modules *ms, uint64_t *ret)
{
	uint64_t phdr, phnum, bias = 0, vaddr = 0, i;
	bool found = false;
	Elf64_Phdr p;

	if (ms->executable && ms->executable->has_bias)
		return dynamic_of(ms->executable, ret);
	if (!cs_core_auxv(ms->core, AT_PHDR, &phdr) || !cs_core_auxv(ms->core, AT_PHNUM, &phnum))
		return false;
	for (i = 0; i < CS_MIN(phnum, (uint64_t)CS_MAX_ELF_SEGMENTS); i++) {
		if (!phdr_read(ms->mem, phdr + i * sizeof(p), &p))
			return false;
		if (p.p_type == PT_PHDR)
			bias = phdr - p.p_vaddr;
		if (p.p_type == PT_DYNAMIC) {
			vaddr = p.p_vaddr;
			found = true;
		}
	}
	*ret = bias + vaddr;
	return found;
}

static bool find_r_debug(struct cs_modules *ms, uint64_t *ret)
{
	uint64_t dynamic, tag, value, i;

	if (!find_dynamic(ms, &dynamic))
		return false;
	for (i = 0; i < CS_MAX_DYNAMIC; i++, dynamic += 16) {
		if (!cs_mem_u64(ms->mem, dynamic, &tag) || tag == DT_NULL)
			return false;
		if (tag != DT_DEBUG)
			continue;
		if (!cs_mem_u64(ms->mem, dynamic + 8, &value) || value == 0)
			return false;
		*ret = value;
		return true;
	}
	return false;
}

static const char *entry_name(struct cs_modules *ms, uint64_t at)
{
	CS_CLEANUP(cs_freep) char *name = NULL;

	if (!at || !cs_ok(cs_mem_string(ms->mem, at, CS_MAX_PATH, &name)))
		return "";
	return cs_arena_strdup(ms->arena, name);
}

/**
 * One namespace's list. A list that loops is longer than CS_MAX_MODULES; Brent's method finds that after
 * at most three rounds, so that a short loop does not fill the list with copies.
 */
static struct cs_error *walk(struct cs_modules *ms, uint64_t at, struct cs_link_map *ret)
{
	uint64_t anchor = 0, steps = 0, power = 1;

	while (at) {
		struct cs_link_entry e = {0};
		uint8_t raw[LM_BYTES];
		struct cs_buf b = cs_buf_of(raw, sizeof(raw));
		uint64_t name = 0, next = 0;

		if (at == anchor || ret->list.n >= CS_MAX_MODULES ||
		    !cs_ok(cs_mem_read(ms->mem, at, raw, sizeof(raw), NULL))) {
			ret->broken = true;
			return NULL;
		}
		cs_buf_u64(&b, "l_addr", &e.bias);
		cs_buf_u64(&b, "l_name", &name);
		cs_buf_u64(&b, "l_ld", &e.dynamic);
		cs_buf_u64(&b, "l_next", &next);
		e.name = entry_name(ms, name);
		if (!e.name)
			return &cs_nomem;
		CS_TRY(CS_PUSH(&ret->list, e, CS_MAX_MODULES, "link map entries"));
		if (++steps == power) {
			anchor = at;
			power *= 2;
			steps = 0;
		}
		at = next;
	}
	return NULL;
}

struct cs_error *cs_link_map_read(struct cs_modules *ms, struct cs_link_map *ret)
{
	uint64_t debug, map, i;
	uint32_t version;

	*ret = (struct cs_link_map){0};
	if (!find_r_debug(ms, &debug))
		return NULL;
	for (i = 0; debug && i < CS_MAX_NAMESPACES; i++) {
		if (!cs_mem_u32(ms->mem, debug + R_VERSION, &version) ||
		    !cs_mem_u64(ms->mem, debug + R_MAP, &map)) {
			ret->broken = true;
			return NULL;
		}
		CS_TRY(walk(ms, map, ret));
		/* Only version 2 has further namespaces (dlmopen). */
		if (version < 2 || !cs_mem_u64(ms->mem, debug + R_NEXT, &debug))
			break;
	}
	return NULL;
}

void cs_link_map_deinit(struct cs_link_map *map)
{
	free(map->list.v);
	map->list.v = NULL;
	map->list.n = map->list.cap = 0;
}
