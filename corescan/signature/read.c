/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of signature files: texts, patterns, versions, and maps by a table of their keys. Every
 * complaint names file, line, signature and key, says what is wrong and what would be right.
 */
#include "signature/read.h"

#include "base/limits.h"
#include "signature/pattern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cs_read_complain(struct cs_reader *r, const struct cs_yaml *node, const char *fmt, ...)
{
	char text[768];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cs_complain(r->complaints, r->file, node->line, "%s%s%s%s%s", r->subject ? r->subject : "",
		    r->subject ? ": " : "", node->key ? node->key : "", node->key ? ": " : "", text);
}

size_t cs_yaml_count(const struct cs_yaml *node)
{
	size_t n = 0;

	for (const struct cs_yaml *item = node->first; item; item = item->next)
		n++;
	return n;
}

static const struct cs_key *key_of(const struct cs_key *keys, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static void complain_of_key(struct cs_reader *r, const struct cs_yaml *member, const struct cs_key *keys,
			    size_t n)
{
	char known[512] = "";
	size_t at = 0;

	for (size_t i = 0; i < n && at < sizeof(known); i++)
		at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "",
				       keys[i].name);
	cs_read_complain(r, member, "there is no such key here; known are: %s", known);
}

bool cs_read_map(struct cs_reader *r, const struct cs_yaml *node, const struct cs_key *keys, size_t n,
		 void *ret)
{
	const struct cs_key *last = NULL;

	if (node->kind != CS_YAML_MAP) {
		cs_read_complain(r, node, "must be keys and values (\"%s: ...\")", keys[0].name);
		return false;
	}
	for (const struct cs_yaml *m = node->first; m; m = m->next) {
		const struct cs_key *key = key_of(keys, n, m->key);

		if (!key) {
			complain_of_key(r, m, keys, n);
			continue;
		}
		if (r->complaints->strict && !r->any_order && last && key < last)
			cs_read_complain(r, m, "must stand before %s", last->name);
		last = key;
		key->read(r, m, (char *)ret + key->offset);
	}
	for (size_t i = 0; i < n; i++) {
		bool there = false;

		for (const struct cs_yaml *m = node->first; m; m = m->next)
			there = there || !strcmp(m->key, keys[i].name);
		if (keys[i].required && !there)
			cs_read_complain(r, node, "%s is missing", keys[i].name);
	}
	return true;
}

void cs_read_text(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	if (node->kind != CS_YAML_TEXT || !*node->text)
		cs_read_complain(r, node, "must be a text");
	else
		*(const char **)ret = node->text;
}

/* The items of a list, or the node itself as the only one. */
static const struct cs_yaml *items_of(const struct cs_yaml *node, size_t *n)
{
	*n = node->kind == CS_YAML_LIST ? cs_yaml_count(node) : 1;
	return node->kind == CS_YAML_LIST ? node->first : node;
}

static void *room(struct cs_reader *r, const struct cs_yaml *node, size_t n, size_t size)
{
	void *v = NULL;

	if (!n) {
		cs_read_complain(r, node, "is empty; leave the key out, or name something");
		return NULL;
	}
	v = cs_arena_calloc(r->arena, n, size);
	r->nomem |= !v;
	return v;
}

void cs_read_texts(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	size_t n;
	const struct cs_yaml *item = items_of(node, &n);
	const char **v = room(r, node, n, sizeof(*v));

	if (!v)
		return;
	for (size_t i = 0; i < n; i++, item = item->next) {
		v[i] = "";
		cs_read_text(r, item, &v[i]);
	}
	*(struct cs_texts *)ret = (struct cs_texts){.v = v, .n = (uint32_t)n};
}

static bool matches_nothing(const pcre2_code *code)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int n = data ? pcre2_match(code, (PCRE2_SPTR) "", 0, 0, 0, data, NULL) : PCRE2_ERROR_NOMEMORY;

	pcre2_match_data_free(data);
	return n >= 0;
}

/* Complain of what is no expression, or one that is of no use. */
static bool check_pattern(struct cs_reader *r, const struct cs_yaml *node)
{
	char why[256];
	pcre2_code *code;
	bool ok = true;

	if (strlen(node->text) > CS_MAX_PATTERN) {
		cs_read_complain(r, node, "the expression is longer than %lu bytes; split it",
				 CS_MAX_PATTERN);
		return false;
	}
	code = cs_pattern_compile(node->text, why, sizeof(why));
	if (!code) {
		cs_read_complain(r, node, "'%s' is no regular expression (PCRE2): %s", node->text, why);
		return false;
	}
	if (matches_nothing(code)) {
		cs_read_complain(r, node, "'%s' matches every text; say what must be there", node->text);
		ok = false;
	}
	pcre2_code_free(code);
	return ok;
}

/* Its number; the same text has one. */
static uint32_t pattern_number(struct cs_reader *r, const char *text)
{
	struct cs_pattern pattern = {.text = text};

	for (size_t i = 1; i < r->patterns.n; i++)
		if (!strcmp(r->patterns.v[i].text, text))
			return (uint32_t)i;
	if (!cs_ok(cs_pattern_literals(r->arena, &pattern)) ||
	    !cs_ok(CS_PUSH(&r->patterns, pattern, CS_MAX_PATTERNS, "patterns"))) {
		r->nomem = true;
		return 0;
	}
	return (uint32_t)r->patterns.n - 1;
}

void cs_read_pattern(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	uint32_t number = 0;

	if (node->kind != CS_YAML_TEXT || !*node->text)
		cs_read_complain(r, node, "must be a regular expression in quotes");
	else if (check_pattern(r, node))
		number = pattern_number(r, node->text);
	*(uint32_t *)ret = number;
}

void cs_read_patterns(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	size_t n;
	const struct cs_yaml *item = items_of(node, &n);
	uint32_t *v = room(r, node, n, sizeof(*v));

	if (!v)
		return;
	for (size_t i = 0; i < n; i++, item = item->next)
		cs_read_pattern(r, item, &v[i]);
	*(struct cs_patterns *)ret = (struct cs_patterns){.v = v, .n = (uint32_t)n};
}

/* "torch>=2.2" of @len bytes. */
static bool version_test(struct cs_reader *r, const char *text, size_t len, struct cs_version_test *ret)
{
	static const char *const ops[] = {"<=", ">=", "!=", "==", "<", ">", "="};
	size_t name = strcspn(text, "<>=! ,"), at = name;

	at += strspn(text + at, " ");
	for (size_t i = 0; name && i < CS_COUNT(ops); i++) {
		size_t op = strlen(ops[i]), version;

		if (strncmp(text + at, ops[i], op))
			continue;
		at += op;
		at += strspn(text + at, " ");
		version = strcspn(text + at, ", ");
		if (!version || strspn(text + at + version, " ") < len - at - version || text[at] < '0' ||
		    text[at] > '9')
			return false;
		ret->name = cs_arena_strndup(r->arena, text, name);
		ret->op = !strcmp(ops[i], "==") ? "=" : ops[i];
		ret->version = cs_arena_strndup(r->arena, text + at, version);
		r->nomem |= !ret->name || !ret->version;
		return true;
	}
	return false;
}

void cs_read_versions(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_version_test *v;
	const char *p;
	size_t n = 1, i = 0;

	if (node->kind != CS_YAML_TEXT) {
		cs_read_complain(r, node, "must be like 'torch>=2.2,python<3.12'");
		return;
	}
	for (p = node->text; *p; p++)
		n += *p == ',';
	v = room(r, node, n, sizeof(*v));
	if (!v)
		return;
	for (p = node->text; i < n; i++) {
		size_t len;

		p += strspn(p, " ");
		len = strcspn(p, ",");
		if (!version_test(r, p, len, &v[i])) {
			cs_read_complain(r, node, "'%s': must be like 'torch>=2.2,python<3.12'",
					 node->text);
			return;
		}
		p += len;
		p += *p == ',';
	}
	*(struct cs_version_tests *)ret = (struct cs_version_tests){.v = v, .n = (uint32_t)n};
}

void cs_read_confidence(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	for (int c = CS_CONFIDENCE_POSSIBLE; c <= CS_CONFIDENCE_CERTAIN; c++) {
		if (node->kind != CS_YAML_TEXT ||
		    strcmp(node->text, cs_confidence_word((enum cs_confidence)c)))
			continue;
		*(enum cs_confidence *)ret = (enum cs_confidence)c;
		return;
	}
	cs_read_complain(r, node, "must be certain, likely or possible");
}
