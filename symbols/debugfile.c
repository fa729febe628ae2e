/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug information: .build-id folders, .gnu_debuglink, debuginfod, and the small symbol table
 * packed into .gnu_debugdata. Knows how these are found and checked (gdb: Separate Debug Files,
 * MiniDebugInfo); refuses to use a debug file that does not belong to the very build.
 */
#include "symbols/tables.h"

#include <elfutils/libdwelf.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>

#define CRC_CHUNK 65536UL

bool cs_mod_file_bytes(struct cs_mod *mod, struct cs_bytes *ret)
{
	*ret = (struct cs_bytes){.file = cs_mod_file(mod)};
	return ret->file != NULL;
}

/* ---- debug files ---- */

/** A debug file keeps its note's section, but its program headers may be those of the stripped file. */
static bool same_build(const struct cs_mod *mod, Elf *elf)
{
	const void *id;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &id);

	return mod->head.id_state == CS_ID_PRESENT && n >= 0 && (size_t)n == mod->head.id_len &&
	       memcmp(id, mod->head.id, mod->head.id_len) == 0;
}

static bool crc_matches(const struct cs_file *file, uint32_t want)
{
	CS_CLEANUP(cs_freep) uint8_t *buf = malloc(CRC_CHUNK);
	uint64_t at = 0;
	uint32_t crc = 0;
	size_t got;

	if (!buf || file->size > CS_MAX_DEBUG_FILE)
		return false;
	do {
		if (!cs_ok(cs_file_read_some(file, at, buf, CRC_CHUNK, &got)))
			return false;
		crc = lzma_crc32(buf, got, crc); /* the same polynomial as .gnu_debuglink's */
		at += got;
	} while (got == CRC_CHUNK);
	return crc == want;
}

/** Take the debug file at @path if it is of @mod's build, or, without build id, has CRC *@crc. */
static bool try_debug_file(struct cs_mod *mod, const char *path, const uint32_t *crc)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	bool fits = false;
	Elf *elf;

	if (!path || !cs_ok(cs_open_in_root(NULL, path, &file)))
		return false;
	elf = elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		if (mod->head.id_state == CS_ID_PRESENT)
			fits = same_build(mod, elf);
		else
			fits = crc && crc_matches(file, *crc);
	}
	if (!fits) {
		elf_end(elf);
		return false;
	}
	mod->debug.elf = elf;
	mod->debug.file = CS_TAKE(file);
	mod->pub.debug_file = cs_arena_strdup(mod->owner->arena, path);
	return true;
}

/** One of the folders that hold debug files: by build id. */
static bool try_build_id(struct cs_mod *mod, const char *root, const char *dir)
{
	CS_CLEANUP(cs_freep) char *path = NULL;
	char id[2 * CS_MAX_BUILD_ID + 1];

	cs_elf_head_id_text(&mod->head, id);
	if (strlen(id) < 4 ||
	    asprintf(&path, "%s%s/.build-id/%.2s/%s.debug", root, dir, id, id + 2) < 0) {
		path = NULL;
		return false;
	}
	return try_debug_file(mod, path, NULL);
}

static bool try_build_ids(struct cs_mod *mod)
{
	const struct cs_modules_options *o = &mod->owner->options;
	size_t i;

	for (i = 0; i < o->n_debug_dirs; i++) {
		if (try_build_id(mod, "", o->debug_dirs[i]))
			return true;
	}
	return (o->sysroot && try_build_id(mod, o->sysroot, "/usr/lib/debug")) ||
	       try_build_id(mod, "", "/usr/lib/debug");
}

/** Name and CRC out of .gnu_debuglink: a string, padding to 4 bytes, the CRC. Caller frees @name. */
static bool read_debuglink(struct cs_mod *mod, char **name, uint32_t *crc)
{
	const struct cs_section *s;
	struct cs_sections sections;
	uint8_t raw[CS_MAX_PATH];
	const char *text;
	struct cs_bytes from;
	struct cs_buf b;
	bool ok = false;

	if (!cs_mod_file_bytes(mod, &from))
		return false;
	cs_sections_read(&from, &sections);
	s = cs_sections_named(&sections, ".gnu_debuglink");
	if (s && s->size <= sizeof(raw)) {
		b = cs_buf_of(raw, cs_bytes_read(&from, s->offset, raw, s->size));
		ok = cs_buf_cstr(&b, "debug link", &text);
		cs_buf_pad(&b, 4);
		/* A link is a file's name: one with a slash would lead anywhere. */
		ok = ok && cs_buf_u32(&b, "debug link CRC", crc) && text[0] && !strchr(text, '/');
		*name = ok ? strdup(text) : NULL;
	}
	cs_sections_deinit(&sections);
	return ok && *name;
}

static bool try_link_in(struct cs_mod *mod, const char *root, const char *dir, const char *sub,
			const char *name, uint32_t crc)
{
	CS_CLEANUP(cs_freep) char *path = NULL;

	if (asprintf(&path, "%s%s%s/%s", root, dir, sub, name) < 0) {
		path = NULL;
		return false;
	}
	return strcmp(path, mod->file->path) != 0 && try_debug_file(mod, path, &crc);
}

static bool try_debuglink(struct cs_mod *mod)
{
	const struct cs_modules_options *o = &mod->owner->options;
	CS_CLEANUP(cs_freep) char *name = NULL, *dir = NULL;
	uint32_t crc = 0;
	size_t i;

	if (!read_debuglink(mod, &name, &crc))
		return false;
	dir = realpath(mod->file->path, NULL);
	if (!dir || !strrchr(dir, '/'))
		return false;
	*strrchr(dir, '/') = 0;
	if (try_link_in(mod, "", dir, "", name, crc) ||
	    try_link_in(mod, "", dir, "/.debug", name, crc))
		return true;
	for (i = 0; i < o->n_debug_dirs; i++) {
		if (try_link_in(mod, o->debug_dirs[i], dir, "", name, crc))
			return true;
	}
	return try_link_in(mod, "/usr/lib/debug", dir, "", name, crc);
}

static void find_debug(struct cs_mod *mod)
{
	if (mod->debug.tried)
		return;
	mod->debug.tried = true;
	if (mod->vdso || (!mod->file && mod->head.id_state != CS_ID_PRESENT) ||
	    try_debug_file(mod, mod->debug_hint, NULL) || try_build_ids(mod) || try_debuglink(mod))
		return;
	(void)try_debug_file(mod, cs_debuginfod_find(mod->owner, mod, true), NULL);
}

Elf *cs_mod_debug_elf(struct cs_mod *mod)
{
	find_debug(mod);
	return mod->debug.elf;
}

bool cs_mod_debug_bytes(struct cs_mod *mod, struct cs_bytes *ret)
{
	find_debug(mod);
	*ret = (struct cs_bytes){.file = mod->debug.file};
	return ret->file != NULL;
}

/* ---- .gnu_debugdata ---- */

/** Unpack @packed up to CS_MAX_DEBUGDATA bytes; caller frees. NULL: damaged, too large, no memory. */
static uint8_t *unpack(const uint8_t *packed, size_t n, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t cap = CS_MIN(CS_MAX_DEBUGDATA, n * 4 + 65536);
	uint8_t *out = malloc(cap);
	lzma_ret status = LZMA_OK;

	if (!out || lzma_stream_decoder(&stream, CS_MAX_XZ_MEMORY, 0) != LZMA_OK) {
		free(out);
		return NULL;
	}
	stream.next_in = packed;
	stream.avail_in = n;
	while (status == LZMA_OK) {
		if (stream.total_out == cap) {
			size_t more = CS_MIN(CS_MAX_DEBUGDATA, cap * 2);
			uint8_t *grown = more > cap ? realloc(out, more) : NULL;

			if (!grown)
				break;
			out = grown;
			cap = more;
		}
		stream.next_out = out + stream.total_out;
		stream.avail_out = cap - stream.total_out;
		status = lzma_code(&stream, LZMA_FINISH);
	}
	*ret_size = stream.total_out;
	lzma_end(&stream);
	if (status == LZMA_STREAM_END)
		return out;
	free(out);
	return NULL;
}

static uint8_t *read_packed(struct cs_mod *mod, size_t *n)
{
	const struct cs_section *s;
	struct cs_sections sections;
	uint8_t *packed = NULL;
	struct cs_bytes from;

	if (!cs_mod_file_bytes(mod, &from))
		return NULL;
	cs_sections_read(&from, &sections);
	s = cs_sections_named(&sections, ".gnu_debugdata");
	if (s && s->size && s->size <= CS_MAX_DEBUGDATA)
		packed = malloc(s->size);
	if (packed)
		*n = cs_bytes_read(&from, s->offset, packed, s->size);
	cs_sections_deinit(&sections);
	return packed;
}

static void find_mini(struct cs_mod *mod)
{
	CS_CLEANUP(cs_freep) uint8_t *packed = NULL;
	struct cs_elf_image *image = &mod->mini;
	size_t n = 0;

	if (image->tried)
		return;
	image->tried = true;
	packed = read_packed(mod, &n);
	if (!packed)
		return;
	image->heap = unpack(packed, n, &image->size);
	if (!image->heap) {
		cs_diag(mod->owner->diags, CS_SEVERITY_WARNING, "symbols", "debugdata", 0,
			"%s: .gnu_debugdata cannot be unpacked (damaged, or more than %lu MB)",
			mod->pub.path, CS_MAX_DEBUGDATA >> 20);
		return;
	}
	image->elf = elf_memory((char *)image->heap, image->size);
}

Elf *cs_mod_mini_elf(struct cs_mod *mod)
{
	find_mini(mod);
	return mod->mini.elf;
}

bool cs_mod_mini_bytes(struct cs_mod *mod, struct cs_bytes *ret)
{
	find_mini(mod);
	*ret = (struct cs_bytes){.data = mod->mini.heap, .size = mod->mini.size};
	return ret->data != NULL;
}
