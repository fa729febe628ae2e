/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of signatures from files. The same code reads the folder that --signatures names, checks what
 * `corescan signatures lint` is given, and makes the built-in set when the program is built.
 */
#include "signature/read.h"

#include "base/file.h"
#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

CS_VEC_TYPE(name_list, char *);

const char *cs_confidence_word(enum cs_confidence confidence)
{
	static const char *const words[] = {
		[CS_CONFIDENCE_POSSIBLE] = "possible",
		[CS_CONFIDENCE_LIKELY] = "likely",
		[CS_CONFIDENCE_CERTAIN] = "certain",
	};

	return words[confidence];
}

const char *cs_severity_word(enum cs_severity_of severity)
{
	static const char *const words[] = {
		[CS_HIGH] = "high",
		[CS_MEDIUM] = "medium",
		[CS_LOW] = "low",
	};

	return words[severity];
}

const struct cs_signature *cs_signature_find(const struct cs_signature_set *set, const char *id)
{
	for (uint32_t i = 0; i < set->n_signatures; i++)
		if (!strcmp(set->signatures[i].id, id))
			return &set->signatures[i];
	return NULL;
}

static void reader_deinit(struct cs_reader *r)
{
	free(r->patterns.v);
	free(r->signatures.v);
	free(r->reporters.v);
	free(r->plain.v);
	free(r->decoys.v);
	free(r->print_patterns.v);
}

/* Numbers of patterns go on where those of @base end, so that nothing of it need be changed. */
static struct cs_error *reader_init(struct cs_reader *r, const struct cs_signature_set *base,
				    struct cs_arena *arena, struct cs_complaints *complaints)
{
	*r = (struct cs_reader){.arena = arena, .complaints = complaints, .adds = base != NULL};
	if (!base || !base->n_patterns) {
		struct cs_pattern none = {.text = ""};

		return CS_PUSH(&r->patterns, none, CS_MAX_PATTERNS, "patterns");
	}
	for (uint32_t i = 0; i < base->n_patterns; i++)
		CS_TRY(CS_PUSH(&r->patterns, base->patterns[i], CS_MAX_PATTERNS, "patterns"));
	for (uint32_t i = 0; i < base->reporters.n; i++)
		CS_TRY(CS_PUSH(&r->reporters, base->reporters.v[i], CS_MAX_PATTERNS, "patterns"));
	for (uint32_t i = 0; i < base->plain.n; i++)
		CS_TRY(CS_PUSH(&r->plain, base->plain.v[i], CS_MAX_PATTERNS, "patterns"));
	for (uint32_t i = 0; i < base->n_decoys; i++)
		CS_TRY(CS_PUSH(&r->decoys, base->decoys[i], CS_MAX_PATTERNS, "decoys"));
	return NULL;
}

static struct cs_error *read_file(struct cs_reader *r, const char *name, const void *bytes, size_t len)
{
	const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;
	struct cs_yaml *documents;

	r->file = cs_arena_strdup(r->arena, name);
	r->stem = cs_arena_strndup(r->arena, last, strcspn(last, "."));
	if (!r->file || !r->stem)
		return &cs_nomem;
	CS_TRY(cs_yaml_read(r->file, bytes, len, r->arena, r->complaints, &documents));
	for (const struct cs_yaml *node = documents; node; node = node->next) {
		if (!strcmp(r->stem, "reporters"))
			cs_read_reporters(r, node);
		else if (!strcmp(r->stem, "decoys"))
			cs_read_decoy(r, node);
		else if (!strcmp(r->stem, "fingerprint"))
			cs_read_fingerprint(r, node);
		else
			cs_read_signature(r, node);
	}
	return r->nomem ? &cs_nomem : NULL;
}

static const struct cs_signature *read_before(const struct cs_reader *r, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(r->signatures.v[i].id, id))
			return &r->signatures.v[i];
	return NULL;
}

/* Ids are unique among the files, and `wins_over` names signatures that there are. */
static void check_all(struct cs_reader *r, const struct cs_signature_set *base)
{
	for (size_t i = 0; i < r->signatures.n; i++) {
		const struct cs_signature *s = &r->signatures.v[i], *first = read_before(r, i, s->id);

		if (first)
			cs_complain(r->complaints, s->file, s->line,
				    "%s: id: occurs twice (first in %s:%u); choose another", s->id,
				    first->file, first->line);
		for (uint32_t k = 0; k < s->wins_over.n; k++) {
			const char *id = s->wins_over.v[k];

			if (!read_before(r, r->signatures.n, id) &&
			    !(base && cs_signature_find(base, id)))
				cs_complain(r->complaints, s->file, s->line,
					    "%s: wins_over: there is no signature '%s' (or it has an "
					    "error)",
					    s->id, id);
		}
	}
}

/* A copy of the @n objects at @v in the arena; NULL without memory. */
static void *keep(struct cs_arena *arena, const void *v, size_t n, size_t size)
{
	void *copy = cs_arena_calloc(arena, n + 1, size);

	if (copy && n)
		memcpy(copy, v, n * size);
	return copy;
}

/* Signatures of @base that are not replaced, then those that were read. */
static struct cs_error *finish(struct cs_reader *r, const struct cs_signature_set *base,
			       struct cs_signature_set *ret)
{
	CS_VEC(struct cs_signature) all = {0};
	struct cs_error *err = NULL;

	for (uint32_t i = 0; base && !err && i < base->n_signatures; i++)
		if (!read_before(r, r->signatures.n, base->signatures[i].id))
			err = CS_PUSH(&all, base->signatures[i], CS_MAX_SIGNATURES, "signatures");
	for (size_t i = 0; !err && i < r->signatures.n; i++)
		err = CS_PUSH(&all, r->signatures.v[i], CS_MAX_SIGNATURES, "signatures");
	ret->signatures = keep(r->arena, all.v, all.n, sizeof(*all.v));
	ret->n_signatures = (uint32_t)all.n;
	free(all.v);
	if (err)
		return err;
	ret->patterns = keep(r->arena, r->patterns.v, r->patterns.n, sizeof(*r->patterns.v));
	ret->n_patterns = (uint32_t)r->patterns.n;
	ret->reporters.v = keep(r->arena, r->reporters.v, r->reporters.n, sizeof(uint32_t));
	ret->reporters.n = (uint32_t)r->reporters.n;
	ret->plain.v = keep(r->arena, r->plain.v, r->plain.n, sizeof(uint32_t));
	ret->plain.n = (uint32_t)r->plain.n;
	ret->decoys = keep(r->arena, r->decoys.v, r->decoys.n, sizeof(*r->decoys.v));
	ret->n_decoys = (uint32_t)r->decoys.n;
	if (base) {
		ret->print = base->print;
	} else {
		ret->print = r->print;
		ret->print.patterns = keep(r->arena, r->print_patterns.v, r->print_patterns.n,
					   sizeof(*r->print_patterns.v));
		ret->print.n_patterns = (uint32_t)r->print_patterns.n;
	}
	if (!ret->signatures || !ret->patterns || !ret->reporters.v || !ret->plain.v || !ret->decoys)
		return &cs_nomem;
	return NULL;
}

struct cs_error *cs_signatures_parse(const char *name, const void *bytes, size_t len,
				     const struct cs_signature_set *base, struct cs_arena *arena,
				     struct cs_complaints *complaints, struct cs_signature_set *ret)
{
	CS_CLEANUP(reader_deinit) struct cs_reader r = {0};
	struct cs_signature_set set = {0};

	CS_TRY(reader_init(&r, base, arena, complaints));
	CS_TRY(read_file(&r, name, bytes, len));
	check_all(&r, base);
	CS_TRY(finish(&r, base, &set));
	*ret = set;
	return NULL;
}

static void names_deinit(struct name_list *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct cs_error *list_folder(const char *dir, struct name_list *ret)
{
	DIR *folder = opendir(dir);
	struct cs_error *err = NULL;
	const struct dirent *entry;

	if (!folder)
		return cs_error_os(errno, "%s", dir);
	while (!err && (entry = readdir(folder))) {
		const char *dot = strrchr(entry->d_name, '.');
		char *name;

		if (!dot || strcmp(dot, ".yaml") || entry->d_name[0] == '.')
			continue;
		name = strdup(entry->d_name);
		err = name ? CS_PUSH(ret, name, CS_MAX_SIGNATURE_FILES, "signature files") : &cs_nomem;
		if (err)
			free(name);
	}
	closedir(folder);
	if (!err && ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_names);
	return err;
}

static struct cs_error *read_path(struct cs_reader *r, const char *dir, const char *name)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = NULL;
	CS_CLEANUP(cs_freep) char *bytes = NULL;
	const char *path = cs_arena_printf(r->arena, "%s/%s", dir, name);

	if (!path)
		return &cs_nomem;
	CS_TRY(cs_file_open(path, &file));
	if (file->size > CS_MAX_SIGNATURE_FILE)
		return cs_error_new(CS_ERR_LIMIT, "%s: has more than %lu bytes; split the file", path,
				    CS_MAX_SIGNATURE_FILE);
	bytes = malloc(file->size + 1);
	if (!bytes)
		return &cs_nomem;
	CS_TRY(cs_file_read(file, 0, bytes, file->size));
	return read_file(r, path, bytes, file->size);
}

struct cs_error *cs_signatures_load(const char *dir, const struct cs_signature_set *base,
				    struct cs_arena *arena, struct cs_complaints *complaints,
				    struct cs_signature_set *ret)
{
	CS_CLEANUP(names_deinit) struct name_list names = {0};
	CS_CLEANUP(reader_deinit) struct cs_reader r = {0};
	struct cs_signature_set set = {0};

	CS_TRY(list_folder(dir, &names));
	CS_TRY(reader_init(&r, base, arena, complaints));
	for (size_t i = 0; i < names.n; i++)
		CS_TRY(read_path(&r, dir, names.v[i]));
	if (!names.n)
		cs_complain(complaints, dir, 0, "no signature files here (NAME.yaml)");
	check_all(&r, base);
	CS_TRY(finish(&r, base, &set));
	*ret = set;
	return NULL;
}
