/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The address space. Knows ranges and where their bytes come from; refuses to know what they mean.
 *
 * The cache is direct mapped with 4 KiB lines: reads of stacks and of unwind tables are local, and a core
 * of 100 GB costs no more memory than one of 1 MB.
 */
#include "mem/space.h"

#include "base/limits.h"
#include "base/search.h"
#include "base/vec.h"

#include <endian.h>
#include <string.h>

#define LINE_BYTES 4096UL
#define LINES 1024UL /* 4 MiB in all: the stacks' tops of about a thousand threads */
#define LONG_READ 65536UL /* from this size on a search goes past the cache */

struct overlay {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t offset;
	const struct cs_file *file;
};

struct line {
	uint64_t addr; /* multiple of LINE_BYTES; valid if first < last */
	uint16_t first; /* cached bytes: [first, last) of the line */
	uint16_t last;
	uint8_t origin;
	uint8_t bytes[LINE_BYTES];
};

struct cs_mem {
	struct cs_target *target;
	CS_VEC(struct overlay) overlays; /* sorted by start, disjoint */
	size_t last_region; /* where the last look-up ended: the next is often the same */
	struct line *lines;
};

/** A run of bytes with one origin: either a region's saved part or an overlay. */
struct extent {
	uint64_t start;
	uint64_t end;
	const struct cs_region *region;
	const struct overlay *overlay;
};

struct cs_error *cs_mem_create(struct cs_target *target, struct cs_mem **ret)
{
	CS_CLEANUP(cs_mem_destroyp) struct cs_mem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return &cs_nomem;
	mem->target = target;
	mem->lines = calloc(LINES, sizeof(*mem->lines));
	if (!mem->lines)
		return &cs_nomem;
	*ret = CS_TAKE(mem);
	return NULL;
}

void cs_mem_destroy(struct cs_mem *mem)
{
	if (!mem)
		return;
	free(mem->overlays.v);
	free(mem->lines);
	free(mem);
}

struct cs_target *cs_mem_target(const struct cs_mem *mem)
{
	return mem->target;
}

/** Index of the first overlay that ends above @addr. */
static size_t overlay_after(const struct cs_mem *mem, uint64_t addr)
{
	return CS_FIRST_ENDING_AFTER(mem->overlays.v, mem->overlays.n, addr);
}

struct cs_error *cs_mem_add_file(struct cs_mem *mem, uint64_t start, uint64_t end,
				 const struct cs_file *file, uint64_t offset)
{
	struct overlay o = {.start = start, .end = end, .offset = offset, .file = file};
	size_t at = overlay_after(mem, start);

	if (start >= end)
		return cs_error_new(CS_ERR_ARGUMENT, "empty range for %s", file->path);
	if (at < mem->overlays.n && mem->overlays.v[at].start < end)
		return NULL;
	CS_TRY(CS_PUSH(&mem->overlays, o, CS_MAX_MAPPINGS, "file mappings"));
	memmove(&mem->overlays.v[at + 1], &mem->overlays.v[at],
		(mem->overlays.n - 1 - at) * sizeof(o));
	mem->overlays.v[at] = o;
	return NULL;
}

static size_t region_after(const struct cs_target *t, uint64_t addr)
{
	return CS_FIRST_ENDING_AFTER(t->regions, t->n_regions, addr);
}

const struct cs_region *cs_mem_region(const struct cs_mem *mem, uint64_t addr)
{
	const struct cs_target *t = mem->target;
	size_t i = region_after(t, addr);

	return i < t->n_regions && t->regions[i].start <= addr ? &t->regions[i] : NULL;
}

const struct cs_mapping *cs_mem_mapping(const struct cs_mem *mem, uint64_t addr)
{
	const struct cs_target *t = mem->target;
	size_t i = CS_FIRST_ENDING_AFTER(t->mappings, t->n_mappings, addr);

	return i < t->n_mappings && t->mappings[i].start <= addr ? &t->mappings[i] : NULL;
}

static bool extent_find(struct cs_mem *mem, uint64_t addr, struct extent *ret)
{
	const struct cs_target *t = mem->target;
	const struct cs_region *r = NULL;
	uint64_t floor = 0, limit = UINT64_MAX; /* a file serves only between what is saved */
	size_t i = mem->last_region;

	if (i >= t->n_regions || addr < t->regions[i].start || addr >= t->regions[i].end)
		i = region_after(t, addr);
	if (i < t->n_regions) {
		r = &t->regions[i];
		limit = r->start;
	}
	if (i > 0)
		floor = t->regions[i - 1].saved_end;
	if (r && r->start <= addr) {
		mem->last_region = i;
		if (addr < r->saved_end) {
			*ret = (struct extent){r->start, r->saved_end, r, NULL};
			return true;
		}
		floor = CS_MAX(floor, r->saved_end);
		limit = i + 1 < t->n_regions ? t->regions[i + 1].start : UINT64_MAX;
	}
	i = overlay_after(mem, addr);
	if (i == mem->overlays.n || mem->overlays.v[i].start > addr)
		return false;
	*ret = (struct extent){CS_MAX(mem->overlays.v[i].start, floor),
			       CS_MIN(mem->overlays.v[i].end, limit), NULL, &mem->overlays.v[i]};
	return true;
}

enum cs_presence cs_mem_presence(const struct cs_mem *mem, uint64_t addr)
{
	const struct cs_region *r = cs_mem_region(mem, addr);
	size_t i;

	if (r && addr < r->saved_end)
		return CS_PRESENT;
	i = overlay_after(mem, addr);
	if (i < mem->overlays.n && mem->overlays.v[i].start <= addr)
		return CS_PRESENT;
	return r || cs_mem_mapping(mem, addr) ? CS_NOT_SAVED : CS_NOT_MAPPED;
}

static struct cs_error *extent_read(struct cs_mem *mem, const struct extent *e, uint64_t addr,
				    void *buf, size_t len)
{
	if (e->region)
		return mem->target->ops->read(mem->target, e->region, addr, buf, len);
	return cs_file_read(e->overlay->file, e->overlay->offset + (addr - e->overlay->start),
			    buf, len);
}

/** The cached line that holds @addr, filled as far as one extent reaches. */
static struct cs_error *line_get(struct cs_mem *mem, uint64_t addr, struct line **ret)
{
	uint64_t base = addr & ~(LINE_BYTES - 1);
	struct line *line = &mem->lines[(base / LINE_BYTES) % LINES];
	uint64_t from, to;
	struct extent e;

	*ret = line;
	if (line->first < line->last && line->addr == base &&
	    addr - base >= line->first && addr - base < line->last)
		return NULL;
	if (!extent_find(mem, addr, &e))
		return cs_error_fault(
			addr, "address %#llx %s", (unsigned long long)addr,
			cs_mem_presence(mem, addr) == CS_NOT_MAPPED
				? "was not mapped in the process"
				: "is mapped, but its bytes were not saved in the core");
	from = CS_MAX(e.start, base);
	to = e.end - base < LINE_BYTES ? e.end : base + LINE_BYTES;
	line->first = line->last = 0;
	CS_TRY(extent_read(mem, &e, from, line->bytes + (from - base), (size_t)(to - from)));
	line->addr = base;
	line->first = (uint16_t)(from - base);
	line->last = (uint16_t)(to - base);
	line->origin = e.region ? CS_ORIGIN_TARGET : CS_ORIGIN_FILE;
	return NULL;
}

struct cs_error *cs_mem_read(struct cs_mem *mem, uint64_t addr, void *buf, size_t len,
			     enum cs_origin *origin_ret)
{
	uint8_t *out = buf;
	bool first = true;

	if (len == 0 || len > CS_MAX_READ || len - 1 > UINT64_MAX - addr)
		return cs_error_new(CS_ERR_LIMIT, "read of %zu bytes at %#llx", len,
				    (unsigned long long)addr);
	while (len) {
		size_t skip = addr & (LINE_BYTES - 1), n;
		struct line *line;

		CS_TRY(line_get(mem, addr, &line));
		n = CS_MIN(len, line->last - skip);
		memcpy(out, line->bytes + skip, n);
		if (first && origin_ret)
			*origin_ret = line->origin;
		first = false;
		out += n;
		addr += n;
		len -= n;
	}
	return NULL;
}

/**
 * Bytes read at once, past the cache: who searches memory would drive out all that others read again. 0 where
 * there are too few of one origin, or the read fails somewhere among them.
 */
static size_t read_long(struct cs_mem *mem, uint64_t addr, void *buf, size_t len)
{
	struct extent e;
	size_t n;

	if (len < LONG_READ || !extent_find(mem, addr, &e))
		return 0;
	n = (size_t)CS_MIN((uint64_t)len, e.end - addr);
	return n >= LONG_READ && cs_ok(extent_read(mem, &e, addr, buf, n)) ? n : 0;
}

size_t cs_mem_read_some(struct cs_mem *mem, uint64_t addr, void *buf, size_t len)
{
	uint8_t *out = buf;
	size_t done = 0;

	while (done < len) {
		size_t skip = (addr + done) & (LINE_BYTES - 1), n;
		struct line *line;

		n = addr + done < addr ? 0 : read_long(mem, addr + done, out + done, len - done);
		if (n) {
			done += n;
			continue;
		}
		if (addr + done < addr || !cs_ok(line_get(mem, addr + done, &line)))
			break;
		n = CS_MIN(len - done, line->last - skip);
		memcpy(out + done, line->bytes + skip, n);
		done += n;
	}
	return done;
}

bool cs_mem_u64(struct cs_mem *mem, uint64_t addr, uint64_t *ret)
{
	uint64_t v;

	if (!cs_ok(cs_mem_read(mem, addr, &v, sizeof(v), NULL)))
		return false;
	*ret = le64toh(v);
	return true;
}

bool cs_mem_u32(struct cs_mem *mem, uint64_t addr, uint32_t *ret)
{
	uint32_t v;

	if (!cs_ok(cs_mem_read(mem, addr, &v, sizeof(v), NULL)))
		return false;
	*ret = le32toh(v);
	return true;
}

struct cs_error *cs_mem_string(struct cs_mem *mem, uint64_t addr, size_t max, char **ret)
{
	CS_CLEANUP(cs_freep) char *text = NULL;
	size_t len = 0, cap = 0;

	for (;;) {
		size_t want = CS_MIN(cap ? cap : (size_t)256, max + 1 - len), got;
		char *grown = realloc(text, len + want), *nul;

		if (!grown)
			return &cs_nomem;
		text = grown;
		cap = len + want;
		got = cs_mem_read_some(mem, addr + len, text + len, want);
		nul = memchr(text + len, 0, got);
		if (nul)
			break;
		len += got;
		if (got < want)
			return cs_error_fault(addr + len, "string at %#llx is not readable to its end",
					      (unsigned long long)addr);
		if (len > max)
			return cs_error_new(CS_ERR_LIMIT, "string at %#llx is longer than %zu bytes",
					    (unsigned long long)addr, max);
	}
	*ret = CS_TAKE(text);
	return NULL;
}
