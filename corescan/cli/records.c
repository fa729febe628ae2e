/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading records line by line. A line may be anybody's: its length is bounded, what is wrong with it is
 * its own affair and not the file's, and what one needs in memory is gone before the next is read.
 */
#include "cli/records.h"

#include "base/limits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lines {
	FILE *in;
	char *bytes; /* owned; not terminated */
	size_t len, cap;
	bool too_long; /* only the beginning of the line is in `bytes` */
};

static void lines_deinit(struct lines *l)
{
	if (l->in && l->in != stdin)
		fclose(l->in);
	free(l->bytes);
}

static struct cs_error *add_byte(struct lines *l, int c)
{
	if (l->len == CS_MAX_RECORD) {
		l->too_long = true;
		return NULL;
	}
	if (l->len == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 65536;
		char *bigger = realloc(l->bytes, cap);

		if (!bigger)
			return &cs_nomem;
		l->bytes = bigger;
		l->cap = cap;
	}
	l->bytes[l->len++] = (char)c;
	return NULL;
}

/* The next line; *@ret_more is false at the end of the file. */
static struct cs_error *next_line(struct lines *l, bool *ret_more)
{
	int c;

	l->len = 0;
	l->too_long = false;
	*ret_more = true;
	while ((c = getc_unlocked(l->in)) != EOF && c != '\n')
		CS_TRY(add_byte(l, c));
	if (ferror(l->in))
		return cs_error_os(errno, "cannot read the records");
	*ret_more = c != EOF || l->len;
	return NULL;
}

static bool is_blank(const struct lines *l)
{
	for (size_t i = 0; i < l->len; i++)
		if (!strchr(" \t\r", l->bytes[i]))
			return false;
	return true;
}

static struct cs_error *match_line(const struct lines *l, struct cs_examiner *examiner,
				   struct cs_record *record, cs_record_fn *fn, void *arg)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	CS_CLEANUP(cs_error_destroyp) struct cs_error *wrong = NULL;
	struct cs_facts facts;

	if (!arena)
		return &cs_nomem;
	if (l->too_long)
		wrong = cs_error_new(CS_ERR_LIMIT, "more than %lu bytes", CS_MAX_RECORD);
	else
		wrong = cs_facts_of_record(l->bytes, l->len, arena, &facts, &record->source);
	if (wrong && cs_error_code(wrong) == CS_ERR_NOMEM)
		return CS_TAKE(wrong);
	if (!wrong)
		CS_TRY(cs_examine(examiner, &facts, arena, &record->found));
	record->error = wrong;
	return fn(arg, record);
}

struct cs_error *cs_records_match(const char *path, const struct cs_signature_set *set, cs_record_fn *fn,
				  void *arg)
{
	CS_CLEANUP(cs_examiner_destroyp) struct cs_examiner *examiner = NULL;
	CS_CLEANUP(lines_deinit) struct lines l = {0};
	size_t number = 0;
	bool more;

	CS_TRY(cs_examiner_create(set, &examiner));
	l.in = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!l.in)
		return cs_error_os(errno, "%s", path);
	while (true) {
		struct cs_record record = {.line = ++number};

		CS_TRY(next_line(&l, &more));
		if (!more)
			return NULL;
		if (is_blank(&l))
			continue;
		record.text = l.bytes;
		record.len = l.len;
		CS_TRY(match_line(&l, examiner, &record, fn, arg));
	}
}

struct cs_error *cs_signatures_choose(const char *dir, struct cs_arena *arena,
				      struct cs_signature_set *ret)
{
	struct cs_complaints complaints = {.arena = arena};
	struct cs_error *err = NULL;

	*ret = cs_signatures_builtin;
	if (!dir)
		return NULL;
	err = cs_signatures_load(dir, &cs_signatures_builtin, arena, &complaints, ret);
	if (!err && complaints.list.n > 1)
		err = cs_error_new(CS_ERR_ARGUMENT, "%s (and %zu more: corescan signatures lint %s)",
				   complaints.list.v[0], complaints.list.n + complaints.dropped - 1, dir);
	else if (!err && complaints.list.n)
		err = cs_error_new(CS_ERR_ARGUMENT, "%s", complaints.list.v[0]);
	free(complaints.list.v);
	return err;
}
