/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cores of the unit tests. Knows how cores are laid out, and nothing of the code that reads them. */
#include "core_builder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EHDR 64u
#define PHDR 56u
#define SHDR 64u
#define MANY 0xffffu /* from so many program headers on, the count is in section 0 */

struct bytes {
	uint8_t *v;
	size_t n, cap;
};

struct segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, filesz, memsz;
	bool placed; /* offset counts from the first load's bytes */
};

struct core_builder {
	uint16_t machine;
	struct bytes notes, loads, file;
	struct segment *segments;
	size_t n_segments, cap_segments;
	char path[32];
};

static void want(bool ok)
{
	if (!ok)
		abort();
}

static void put(struct bytes *b, const void *data, size_t n)
{
	if (n > b->cap - b->n) {
		b->cap = (b->cap + n) * 2;
		b->v = realloc(b->v, b->cap);
		want(b->v);
	}
	if (n && data)
		memcpy(b->v + b->n, data, n);
	else if (n)
		memset(b->v + b->n, 0, n);
	b->n += n;
}

static void store(uint8_t *p, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static void put_le(struct bytes *b, uint64_t value, unsigned width)
{
	uint8_t bytes[8];

	store(bytes, value, width);
	put(b, bytes, width);
}

static void pad(struct bytes *b, size_t align)
{
	put(b, NULL, -b->n & (align - 1));
}

struct core_builder *core_create(uint16_t machine)
{
	struct core_builder *b = calloc(1, sizeof(*b));

	want(b);
	b->machine = machine;
	return b;
}

void core_path_close(const char *path)
{
	int fd;

	if (path[0] && sscanf(path, "/proc/self/fd/%d", &fd) == 1)
		close(fd);
}

void core_destroy(struct core_builder *b)
{
	if (!b)
		return;
	core_path_close(b->path);
	free(b->notes.v);
	free(b->loads.v);
	free(b->file.v);
	free(b->segments);
	free(b);
}

void core_note_bytes(struct core_builder *b, const void *bytes, size_t len)
{
	put(&b->notes, bytes, len);
}

void core_note(struct core_builder *b, const char *name, uint32_t type, const void *desc, size_t len)
{
	put_le(&b->notes, strlen(name) + 1, 4);
	put_le(&b->notes, len, 4);
	put_le(&b->notes, type, 4);
	put(&b->notes, name, strlen(name) + 1);
	pad(&b->notes, 4);
	put(&b->notes, desc, len);
	pad(&b->notes, 4);
}

void core_prstatus(struct core_builder *b, const struct core_thread *t)
{
	uint8_t desc[392] = {0};
	/* struct user_regs_struct: 27 longs; struct user_pt_regs: 34. */
	bool arm = b->machine == 183;
	size_t len = arm ? 392 : 336;

	store(desc, (uint64_t)t->signo, 4);       /* pr_info.si_signo */
	store(desc + 12, (uint64_t)t->signo, 2);  /* pr_cursig */
	store(desc + 32, (uint64_t)t->tid, 4);    /* pr_pid */
	store(desc + 112 + 8 * (arm ? 32 : 16), t->pc, 8);
	store(desc + 112 + 8 * (arm ? 31 : 19), t->sp, 8);
	store(desc + 112 + 8 * (arm ? 29 : 4), t->fp, 8);
	want(t->cut <= len);
	core_note(b, "CORE", 1, desc, len - t->cut);
}

void core_prpsinfo(struct core_builder *b, int32_t pid, const char *name, const char *arguments)
{
	uint8_t desc[136] = {0};

	store(desc + 16, 1000, 4);
	store(desc + 20, 1001, 4);
	store(desc + 24, (uint64_t)pid, 4);
	store(desc + 28, 1, 4);
	memcpy(desc + 40, name, strnlen(name, 16));
	memcpy(desc + 56, arguments, strnlen(arguments, 80));
	core_note(b, "CORE", 3, desc, sizeof(desc));
}

void core_siginfo(struct core_builder *b, int signo, int code, uint64_t payload)
{
	uint8_t desc[128] = {0};

	store(desc, (uint64_t)signo, 4);
	store(desc + 8, (uint64_t)code, 4);
	store(desc + 16, payload, 8);
	core_note(b, "CORE", 0x53494749, desc, sizeof(desc));
}

void core_auxv(struct core_builder *b, const uint64_t *pairs, size_t n)
{
	struct bytes desc = {0};

	for (size_t i = 0; i < 2 * n; i++)
		put_le(&desc, pairs[i], 8);
	put(&desc, NULL, 16);
	core_note(b, "CORE", 6, desc.v, desc.n);
	free(desc.v);
}

void core_files(struct core_builder *b, uint64_t start, const char *const *paths, size_t n)
{
	struct bytes desc = {0};

	put_le(&desc, n, 8);
	put_le(&desc, 4096, 8);
	for (size_t i = 0; i < n; i++) {
		put_le(&desc, start + i * 4096, 8);
		put_le(&desc, start + (i + 1) * 4096, 8);
		put_le(&desc, i, 8); /* pages */
	}
	for (size_t i = 0; i < n; i++)
		put(&desc, paths[i], strlen(paths[i]) + 1);
	core_note(b, "CORE", 0x46494c45, desc.v, desc.n);
	free(desc.v);
}

static void add(struct core_builder *b, const struct segment *s)
{
	want(!b->file.n);
	if (b->n_segments == b->cap_segments) {
		b->cap_segments = b->cap_segments * 2 + 8;
		b->segments = realloc(b->segments, b->cap_segments * sizeof(*s));
		want(b->segments);
	}
	b->segments[b->n_segments++] = *s;
}

void core_load(struct core_builder *b, uint64_t vaddr, unsigned flags, const void *bytes, uint64_t filesz,
	       uint64_t memsz)
{
	add(b, &(struct segment){.type = 1, .flags = flags, .offset = b->loads.n, .vaddr = vaddr,
				 .filesz = filesz, .memsz = memsz, .placed = true});
	put(&b->loads, bytes, (size_t)filesz);
}

void core_segment(struct core_builder *b, uint32_t type, uint64_t offset, uint64_t vaddr, uint64_t filesz,
		  uint64_t memsz)
{
	add(b, &(struct segment){.type = type, .flags = 6, .offset = offset, .vaddr = vaddr,
				 .filesz = filesz, .memsz = memsz});
}

static void put_phdr(struct bytes *f, const struct segment *s, uint64_t loads)
{
	put_le(f, s->type, 4);
	put_le(f, s->flags, 4);
	put_le(f, s->offset + (s->placed ? loads : 0), 8);
	put_le(f, s->vaddr, 8);
	put_le(f, 0, 8);
	put_le(f, s->filesz, 8);
	put_le(f, s->memsz, 8);
	put_le(f, s->type == 4 ? 4 : 4096, 8);
}

static void put_ehdr(struct bytes *f, uint16_t machine, size_t n_phdrs, bool many)
{
	static const uint8_t ident[16] = {0x7f, 'E', 'L', 'F', 2, 1, 1};

	put(f, ident, sizeof(ident));
	put_le(f, 4, 2); /* ET_CORE */
	put_le(f, machine, 2);
	put_le(f, 1, 4);
	put_le(f, 0, 8);
	put_le(f, EHDR + (many ? SHDR : 0), 8);
	put_le(f, many ? EHDR : 0, 8);
	put_le(f, 0, 4);
	put_le(f, EHDR, 2);
	put_le(f, PHDR, 2);
	put_le(f, many ? MANY : n_phdrs, 2);
	put_le(f, many ? SHDR : 0, 2);
	put_le(f, many, 2);
	put_le(f, 0, 2);
}

size_t core_phdr_offset(struct core_builder *b, size_t index)
{
	return EHDR + (b->n_segments + 1 >= MANY ? SHDR : 0) + index * PHDR;
}

size_t core_notes_offset(struct core_builder *b)
{
	return core_phdr_offset(b, b->n_segments + 1);
}

uint8_t *core_bytes(struct core_builder *b, size_t *len_ret)
{
	size_t n = b->n_segments + 1, notes = core_notes_offset(b);
	struct segment note = {.type = 4, .offset = notes, .filesz = b->notes.n};

	if (!b->file.n) {
		put_ehdr(&b->file, b->machine, n, n >= MANY);
		if (n >= MANY) {
			put(&b->file, NULL, SHDR);
			store(b->file.v + EHDR + 44, n, 4); /* sh_info */
		}
		put_phdr(&b->file, &note, 0);
		for (size_t i = 0; i < b->n_segments; i++)
			put_phdr(&b->file, &b->segments[i], notes + b->notes.n);
		put(&b->file, b->notes.v, b->notes.n);
		put(&b->file, b->loads.v, b->loads.n);
	}
	*len_ret = b->file.n;
	return b->file.v;
}

void core_poke(struct core_builder *b, size_t offset, uint64_t value, unsigned width)
{
	size_t len;
	uint8_t *bytes = core_bytes(b, &len);

	want(offset <= len && width <= len - offset);
	store(bytes + offset, value, width);
}

const char *core_path_of(const void *bytes, size_t len, char path[32])
{
	int fd = memfd_create("core", MFD_CLOEXEC);

	want(fd >= 0);
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, (const char *)bytes + done, len - done);

		want(n > 0);
		done += (size_t)n;
	}
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return path;
}

const char *core_path_cut(struct core_builder *b, size_t len)
{
	size_t whole;
	uint8_t *bytes = core_bytes(b, &whole);

	want(len <= whole);
	core_path_close(b->path);
	return core_path_of(bytes, len, b->path);
}

const char *core_path(struct core_builder *b)
{
	size_t len;

	core_bytes(b, &len);
	return core_path_cut(b, len);
}
