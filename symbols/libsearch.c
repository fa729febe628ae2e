/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --lib-path: folders with the original files, found by build id and never by name alone, because the
 * same names occur in every version. Refuses to know why a module needs one.
 *
 * No index is kept: one walk looks for all modules that need a file and stops once it has them all.
 */
#include "symbols/mod.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct search {
	struct cs_modules *ms;
	struct cs_mod **wanted; /* sorted by build id */
	size_t n_wanted, n_found;
	size_t n_files; /* looked at in this folder */
	bool cut; /* a limit was reached */
};

static bool needs_file(const struct cs_mod *mod)
{
	return !mod->file && !mod->vdso && mod->head_in_core &&
	       mod->head.id_state == CS_ID_PRESENT;
}

static int compare_ids(const struct cs_elf_head *a, const struct cs_elf_head *b)
{
	if (a->id_len != b->id_len)
		return a->id_len < b->id_len ? -1 : 1;
	return memcmp(a->id, b->id, a->id_len);
}

static int compare_wanted(const void *a, const void *b)
{
	return compare_ids(&(*(struct cs_mod *const *)a)->head,
			   &(*(struct cs_mod *const *)b)->head);
}

static size_t first_wanted(const struct search *s, const struct cs_elf_head *head)
{
	size_t lo = 0, hi = s->n_wanted;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_ids(&s->wanted[mid]->head, head) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/** Give the file at @path to every module of its build (two, where a library is loaded twice). */
static void look_at(struct search *s, const char *path)
{
	struct cs_elf_head head = {0};
	struct cs_file *file = NULL;
	size_t i;

	if (!cs_ok(cs_open_in_root(NULL, path, &file)))
		return;
	if (cs_ok(cs_elf_head_of_file(file, s->ms->page_size, &head)) &&
	    head.id_state == CS_ID_PRESENT) {
		for (i = first_wanted(s, &head);
		     i < s->n_wanted && compare_ids(&s->wanted[i]->head, &head) == 0; i++) {
			if (!file && !cs_ok(cs_open_in_root(NULL, path, &file)))
				break;
			if (!s->wanted[i]->file && cs_mod_offer_file(s->wanted[i], &file, true))
				s->n_found++;
		}
	}
	cs_elf_head_deinit(&head);
	cs_file_close(file);
}

/** Links to files are followed, links to folders are not: they may lead round in circles. */
static mode_t kind_of(int dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type == DT_DIR)
		return S_IFDIR;
	if (entry->d_type == DT_REG)
		return S_IFREG;
	if (entry->d_type == DT_LNK)
		return fstatat(dir, entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) ? S_IFREG : 0;
	if (entry->d_type != DT_UNKNOWN ||
	    fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mode & S_IFMT;
}

static void walk(struct search *s, const char *path, size_t depth)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
	const struct dirent *entry;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	while (s->n_found < s->n_wanted && !s->cut && (entry = readdir(dir))) {
		CS_CLEANUP(cs_freep) char *child = NULL;
		mode_t kind = kind_of(fd, entry);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || !kind)
			continue;
		if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) {
			child = NULL;
			continue;
		}
		if (kind == S_IFDIR && depth + 1 < CS_MAX_LIBRARY_DEPTH)
			walk(s, child, depth + 1);
		else if (kind == S_IFDIR || ++s->n_files > CS_MAX_LIBRARY_FILES)
			s->cut = true;
		else if (kind == S_IFREG)
			look_at(s, child);
	}
	closedir(dir);
}

static void search_folder(struct search *s, const char *path)
{
	struct stat st;

	s->n_files = 0;
	s->cut = false;
	if (stat(path, &st) < 0) {
		cs_diag_error(s->ms->diags, CS_SEVERITY_ERROR, "symbols", "lib-path", 0,
			      cs_error_os(errno, "--lib-path %s", path));
		return;
	}
	if (S_ISREG(st.st_mode))
		look_at(s, path);
	else
		walk(s, path, 0);
	if (s->cut)
		cs_diag(s->ms->diags, CS_SEVERITY_WARNING, "symbols", "lib-path-limit", 0,
			"--lib-path %s: searched up to %lu files, %lu folders deep, and not beyond; "
			"name a smaller folder", path, CS_MAX_LIBRARY_FILES, CS_MAX_LIBRARY_DEPTH);
}

struct cs_error *cs_modules_search_libraries(struct cs_modules *ms)
{
	CS_CLEANUP(cs_freep) struct cs_mod **wanted = NULL;
	struct search s = {.ms = ms};
	size_t i;

	if (ms->options.n_lib_paths == 0)
		return NULL;
	wanted = calloc(ms->list.n + 1, sizeof(struct cs_mod *));
	if (!wanted)
		return &cs_nomem;
	for (i = 0; i < ms->list.n; i++) {
		if (needs_file(ms->list.v[i]))
			wanted[s.n_wanted++] = ms->list.v[i];
	}
	if (s.n_wanted)
		qsort(wanted, s.n_wanted, sizeof(struct cs_mod *), compare_wanted);
	s.wanted = wanted;
	for (i = 0; i < ms->options.n_lib_paths && s.n_found < s.n_wanted; i++)
		search_folder(&s, ms->options.lib_paths[i]);
	return NULL;
}
