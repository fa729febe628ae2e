/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source lines of Python files that the target names. Knows when a file is not what ran: when it is newer
 * than the core. Reads no file twice, and each only if it is a regular one of reasonable size.
 */
#include "source.h"

#include "base/limits.h"
#include "base/text.h"
#include "base/vec.h"
#include "symbols/sysroot.h"

#include <ctype.h>
#include <string.h>

struct file {
	const char *path; /* interned in the arena */
	char *text;       /* owned; NULL: not to be had */
	size_t len;
	CS_VEC(uint32_t) starts; /* of each line, in text; owned */
};

struct cs_source {
	const struct cs_scene *scene;
	const char *sysroot;
	char *folder; /* the process's working directory as its shell told it; owned; NULL: not known */
	CS_VEC(struct file) files;
};

#define MAX_FILES 4096UL /* files of one report */

/** PWD of the environment: where a relative path began, unless the program went elsewhere. */
static char *working_directory(const struct cs_scene *scene)
{
	struct cs_core_strings strings = {0};
	char *folder = NULL;

	if (!cs_ok(cs_core_strings(scene->core, scene->mem, &strings)))
		return NULL;
	for (size_t i = 0; i < strings.n_envp && !folder; i++)
		if (!strncmp(strings.envp[i], "PWD=/", 5))
			folder = strdup(strings.envp[i] + 4);
	cs_core_strings_deinit(&strings);
	return folder;
}

struct cs_error *cs_source_create(const struct cs_scene *scene, const char *sysroot,
				  struct cs_source **ret)
{
	struct cs_source *s = calloc(1, sizeof(*s));

	if (!s)
		return &cs_nomem;
	s->scene = scene;
	s->sysroot = sysroot;
	s->folder = working_directory(scene);
	*ret = s;
	return NULL;
}

void cs_source_destroy(struct cs_source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->files.n; i++) {
		free(source->files.v[i].text);
		free(source->files.v[i].starts.v);
	}
	free(source->files.v);
	free(source->folder);
	free(source);
}

static void file_read(const struct cs_source *s, struct file *f)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	int64_t core_time = cs_core_info(s->scene->core)->file_time;
	const char *path = f->path;

	if (path[0] == '<')
		return;
	if (path[0] != '/')
		path = s->folder ? cs_arena_printf(s->scene->arena, "%s/%s", s->folder, path) : NULL;
	if (!path || !cs_ok(cs_open_in_root(s->sysroot, path, &file)))
		return;
	if (file->size > CS_MAX_SOURCE_FILE || (core_time && file->mtime > core_time))
		return;
	f->text = malloc((size_t)file->size + 1);
	if (!f->text)
		return;
	if (!cs_ok(cs_file_read_some(file, 0, f->text, (size_t)file->size, &f->len))) {
		free(f->text);
		f->text = NULL;
	}
}

/** Where each line begins: many frames ask for lines of one file. */
static void lines_index(struct file *f)
{
	const char *end = f->text + f->len;

	for (const char *at = f->text; at && at < end;) {
		uint32_t start = (uint32_t)(at - f->text);

		if (!cs_ok(CS_PUSH(&f->starts, start, CS_MAX_SOURCE_FILE, "source lines")))
			return;
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
}

static const struct file *file_of(struct cs_source *s, const char *path)
{
	struct file f = {.path = cs_arena_intern(s->scene->arena, path)};

	for (size_t i = 0; f.path && i < s->files.n; i++)
		if (s->files.v[i].path == f.path)
			return &s->files.v[i];
	if (!f.path || s->files.n >= MAX_FILES)
		return NULL;
	file_read(s, &f);
	if (f.text)
		lines_index(&f);
	if (!cs_ok(CS_PUSH(&s->files, f, MAX_FILES, "source files"))) {
		free(f.text);
		free(f.starts.v);
		return NULL;
	}
	return &s->files.v[s->files.n - 1];
}

const char *cs_source_line(struct cs_source *source, const char *path, uint32_t line)
{
	const struct file *f = path && line ? file_of(source, path) : NULL;
	const char *at, *end, *stop, *text;

	if (!f || line > f->starts.n)
		return NULL;
	at = f->text + f->starts.v[line - 1];
	end = f->text + f->len;
	stop = memchr(at, '\n', (size_t)(end - at));
	stop = stop ? stop : end;
	while (at < stop && isspace((unsigned char)*at))
		at++;
	while (stop > at && isspace((unsigned char)stop[-1]))
		stop--;
	text = cs_text_utf8(source->scene->arena, at, CS_MIN((size_t)(stop - at), CS_MAX_SOURCE_LINE));
	return text ? cs_mask_value(source->scene->arena, text) : NULL;
}
