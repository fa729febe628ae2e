/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A signature file's documents, and those of reporters.yaml and decoys.yaml. */
#include "signature/read.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

#define SIGNATURE(field) offsetof(struct cs_signature, field)
#define MIN_EXPLANATION 40 /* characters: less than that explains nothing */

static bool is_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n && !s[n] && n <= CS_MAX_SIGNATURE_ID && s[0] != '-' && s[n - 1] != '-';
}

static void read_id(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	if (node->kind != CS_YAML_TEXT || !is_id(node->text))
		cs_read_complain(r, node, "must be of a-z, 0-9 and -, %lu at most", CS_MAX_SIGNATURE_ID);
	else
		*(const char **)ret = node->text;
}

static void read_severity(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	for (int s = CS_HIGH; s <= CS_LOW; s++) {
		if (node->kind != CS_YAML_TEXT ||
		    strcmp(node->text, cs_severity_word((enum cs_severity_of)s)))
			continue;
		*(enum cs_severity_of *)ret = (enum cs_severity_of)s;
		return;
	}
	cs_read_complain(r, node, "must be high, medium or low");
}

static void read_priority(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	char *end = NULL;
	long value = node->kind == CS_YAML_TEXT ? strtol(node->text, &end, 10) : 0;

	if (!end || *end || value < 1 || value > 99)
		cs_read_complain(r, node,
				 "must be 1 to 99: 90-95 hardware and loader texts, 80-89 specific "
				 "messages, 60-79 specific frames, 40-59 families, below 40 fall-backs");
	else
		*(int32_t *)ret = (int32_t)value;
}

static void read_any(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_signature *s = (struct cs_signature *)((char *)ret - SIGNATURE(any));

	s->any = cs_read_alternatives(r, node, &s->n_any);
}

static void read_not(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_signature *s = (struct cs_signature *)((char *)ret - SIGNATURE(nots));

	s->nots = cs_read_alternatives(r, node, &s->n_nots);
}

static const struct cs_key step_keys[] = {
	{"text", cs_read_text, offsetof(struct cs_advice, text), true},
	{"unless_env", cs_read_text, offsetof(struct cs_advice, unless_env), false},
	{"versions", cs_read_versions, offsetof(struct cs_advice, versions), false},
};

static void read_steps(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_signature *s = (struct cs_signature *)((char *)ret - SIGNATURE(steps));
	size_t n = cs_yaml_count(node), i = 0;
	struct cs_advice *v;

	if (node->kind != CS_YAML_LIST || !n) {
		cs_read_complain(r, node, "must be a list: what to do, most useful first");
		return;
	}
	v = cs_arena_calloc(r->arena, n, sizeof(*v));
	r->nomem |= !v;
	for (const struct cs_yaml *item = node->first; v && item; item = item->next, i++) {
		v[i].text = "";
		if (item->kind == CS_YAML_TEXT)
			cs_read_text(r, item, &v[i].text);
		else
			cs_read_map(r, item, step_keys, CS_COUNT(step_keys), &v[i]);
	}
	s->steps = v;
	s->n_steps = v ? (uint32_t)n : 0;
}

/* "owner/repo#123", with words behind it if need be. */
static bool is_reference(const char *s)
{
	const char *slash = strchr(s, '/'), *hash = strchr(s, '#');

	return slash && hash && slash > s && hash > slash + 1 && isdigit((unsigned char)hash[1]);
}

static void read_references(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_texts *texts = ret;

	cs_read_texts(r, node, ret);
	for (uint32_t i = 0; i < texts->n; i++)
		if (!is_reference(texts->v[i]))
			cs_read_complain(r, node, "'%s': must be owner/repository#number", texts->v[i]);
}

static const struct cs_key keys[] = {
	{"id", read_id, SIGNATURE(id), true},
	{"title", cs_read_text, SIGNATURE(title), true},
	{"category", read_id, SIGNATURE(category), true},
	{"severity", read_severity, SIGNATURE(severity), true},
	{"priority", read_priority, SIGNATURE(priority), true},
	{"confidence", cs_read_confidence, SIGNATURE(confidence), true},
	{"any", read_any, SIGNATURE(any), true},
	{"not", read_not, SIGNATURE(nots), false},
	{"wins_over", cs_read_texts, SIGNATURE(wins_over), false},
	{"explanation", cs_read_text, SIGNATURE(explanation), true},
	{"steps", read_steps, SIGNATURE(steps), true},
	{"versions", cs_read_text, SIGNATURE(versions), false},
	{"references", read_references, SIGNATURE(references), false},
};

static void check_signature(struct cs_reader *r, const struct cs_yaml *node, const struct cs_signature *s)
{
	if (r->complaints->strict && s->category && strcmp(s->category, r->stem))
		cs_read_complain(r, node, "category is %s, but the file is of %s", s->category, r->stem);
	if (s->explanation && strlen(s->explanation) < MIN_EXPLANATION)
		cs_read_complain(r, node, "explanation is too short to explain anything");
}

void cs_read_signature(struct cs_reader *r, const struct cs_yaml *node)
{
	struct cs_signature s = {.file = r->file, .line = node->line};
	size_t before = r->complaints->list.n + r->complaints->dropped;

	for (const struct cs_yaml *m = node->first; node->kind == CS_YAML_MAP && m; m = m->next)
		if (!strcmp(m->key, "id") && m->kind == CS_YAML_TEXT)
			r->subject = m->text;
	if (cs_read_map(r, node, keys, CS_COUNT(keys), &s))
		check_signature(r, node, &s);
	r->subject = NULL;
	/* One with a complaint is left out: half a condition would match too much. */
	if (r->complaints->list.n + r->complaints->dropped != before)
		return;
	if (!cs_ok(CS_PUSH(&r->signatures, s, CS_MAX_SIGNATURES, "signatures")))
		r->nomem = true;
}

struct reporters {
	struct cs_patterns reporters, plain;
};

static const struct cs_key reporter_keys[] = {
	{"reporters", cs_read_patterns, offsetof(struct reporters, reporters), false},
	{"plain", cs_read_patterns, offsetof(struct reporters, plain), false},
};

void cs_read_reporters(struct cs_reader *r, const struct cs_yaml *node)
{
	struct reporters found = {0};

	cs_read_map(r, node, reporter_keys, CS_COUNT(reporter_keys), &found);
	for (uint32_t i = 0; i < found.reporters.n; i++)
		if (found.reporters.v[i] &&
		    !cs_ok(CS_PUSH(&r->reporters, found.reporters.v[i], CS_MAX_PATTERNS, "patterns")))
			r->nomem = true;
	for (uint32_t i = 0; i < found.plain.n; i++)
		if (found.plain.v[i] &&
		    !cs_ok(CS_PUSH(&r->plain, found.plain.v[i], CS_MAX_PATTERNS, "patterns")))
			r->nomem = true;
}

static const struct cs_key decoy_keys[] = {
	{"name", cs_read_text, offsetof(struct cs_decoy, name), true},
	{"frames", cs_read_patterns, offsetof(struct cs_decoy, frames), false},
	{"only", cs_read_patterns, offsetof(struct cs_decoy, only), false},
	{"python", cs_read_patterns, offsetof(struct cs_decoy, python), false},
	{"only_python", cs_read_patterns, offsetof(struct cs_decoy, only_python), false},
};

void cs_read_decoy(struct cs_reader *r, const struct cs_yaml *node)
{
	struct cs_decoy decoy = {0};
	size_t before = r->complaints->list.n;

	if (cs_read_map(r, node, decoy_keys, CS_COUNT(decoy_keys), &decoy) && !decoy.frames.n &&
	    !decoy.python.n)
		cs_read_complain(r, node, "every thread would be idle; give frames or python");
	if (r->complaints->list.n == before &&
	    !cs_ok(CS_PUSH(&r->decoys, decoy, CS_MAX_PATTERNS, "decoys")))
		r->nomem = true;
}

static void read_algorithm(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	char *end = NULL;
	long value = node->kind == CS_YAML_TEXT ? strtol(node->text, &end, 10) : 0;

	if (!end || *end || value < 1 || value > 9999)
		cs_read_complain(r, node, "must be a number from 1; one more whenever a fingerprint changes");
	else
		*(uint32_t *)ret = (uint32_t)value;
}

#define PRINT(member) offsetof(struct cs_print_lists, member)
static const struct cs_key print_keys[] = {
	{"algorithm", read_algorithm, PRINT(algorithm), true},
	{"sentinel", cs_read_patterns, PRINT(sentinel), true},
	{"irrelevant", cs_read_patterns, PRINT(irrelevant), true},
	{"interpreter", cs_read_patterns, PRINT(interpreter), true},
	{"prefix", cs_read_patterns, PRINT(prefix), true},
	{"silent_messages", cs_read_patterns, PRINT(silent), true},
};

/* One name must not be asked of two lists, and no pattern of every name. */
static void check_lists(struct cs_reader *r, const struct cs_yaml *node)
{
	for (const struct cs_yaml *list = node->first; list; list = list->next) {
		for (const struct cs_yaml *item = list->first; item; item = item->next) {
			const struct cs_yaml *other = list;
			bool same = false;

			for (const struct cs_yaml *k = item->next; k && !same; k = k->next)
				same = item->text && k->text && !strcmp(k->text, item->text);
			while (!same && (other = other->next))
				for (const struct cs_yaml *k = other->first; k && !same; k = k->next)
					same = item->text && k->text && !strcmp(k->text, item->text);
			if (same)
				cs_read_complain(r, item, "'%s' occurs twice; keep one", item->text);
		}
	}
}

void cs_read_fingerprint(struct cs_reader *r, const struct cs_yaml *node)
{
	struct cs_pattern_list own = r->patterns;
	struct cs_pattern none = {.text = ""};

	if (r->adds && !r->complaints->strict) {
		cs_read_complain(r, node,
				 "fingerprints are to be compared with those of others, so their lists are "
				 "built in; remove this file");
		return;
	}
	r->patterns = r->print_patterns;
	if (!r->patterns.n)
		r->nomem |= !cs_ok(CS_PUSH(&r->patterns, none, CS_MAX_PATTERNS, "patterns"));
	if (cs_read_map(r, node, print_keys, CS_COUNT(print_keys), &r->print))
		check_lists(r, node);
	r->print_patterns = r->patterns;
	r->patterns = own;
}
