/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The conditions of signature files: what must hold of messages, threads, signal, modules, environment.
 */
#include "signature/facts.h"
#include "signature/read.h"

#include "base/limits.h"
#include "signature/pattern.h"

#include <errno.h>
#include <string.h>

#define THREAD(field) offsetof(struct cs_thread_test, field)
#define SELF(field) (offsetof(struct cs_alternative, self) + THREAD(field))
#define ALTERNATIVE(field) offsetof(struct cs_alternative, field)

static const char *const kinds[] = {
	[CS_KIND_CRASH] = "crash",
	[CS_KIND_HANG] = "hang",
	[CS_KIND_OOM] = "oom",
};

/* same_thread: false */
static void read_same_thread(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	bool no = node->kind == CS_YAML_TEXT && !strcmp(node->text, "false");

	if (!no && (node->kind != CS_YAML_TEXT || strcmp(node->text, "true")))
		cs_read_complain(r, node, "must be true or false");
	*(bool *)ret = no;
}

static const struct cs_key thread_keys[] = {
	{"frames", cs_read_patterns, THREAD(frames), false},
	{"python", cs_read_patterns, THREAD(python), false},
	{"top", cs_read_pattern, THREAD(top), false},
	{"thread", cs_read_text, THREAD(thread), false},
	{"same_thread", read_same_thread, THREAD(apart), false},
};

static void read_others(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	/* The count stands directly behind the pointer: see struct cs_alternative. */
	struct cs_alternative *a = (struct cs_alternative *)((char *)ret - ALTERNATIVE(others));
	size_t n = cs_yaml_count(node), i = 0;
	struct cs_thread_test *v;

	if (node->kind != CS_YAML_LIST || !n) {
		cs_read_complain(r, node, "must be a list of conditions of other threads");
		return;
	}
	v = cs_arena_calloc(r->arena, n, sizeof(*v));
	r->nomem |= !v;
	for (const struct cs_yaml *item = node->first; v && item; item = item->next)
		cs_read_map(r, item, thread_keys, CS_COUNT(thread_keys), &v[i++]);
	a->others = v;
	a->n_others = v ? (uint32_t)n : 0;
}

static void read_kind(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	const struct cs_yaml *item = node->kind == CS_YAML_LIST ? node->first : node;

	for (; item; item = node->kind == CS_YAML_LIST ? item->next : NULL) {
		size_t k = 0;

		while (k < CS_COUNT(kinds) &&
		       (item->kind != CS_YAML_TEXT || strcmp(item->text, kinds[k])))
			k++;
		if (k == CS_COUNT(kinds))
			cs_read_complain(r, node, "must be crash, hang or oom");
		else
			*(uint32_t *)ret |= 1U << k;
	}
}

static bool exit_of(const struct cs_yaml *item, int32_t *ret)
{
	char *end;
	long value;

	if (item->kind != CS_YAML_TEXT || !*item->text)
		return false;
	errno = 0;
	value = strtol(item->text, &end, 10);
	if (errno || *end || value < -64 || value > 255)
		return false;
	*ret = (int32_t)value;
	return true;
}

static void read_exits(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_alternative *a = (struct cs_alternative *)((char *)ret - ALTERNATIVE(exits));
	const struct cs_yaml *item = node->kind == CS_YAML_LIST ? node->first : node;
	size_t n = node->kind == CS_YAML_LIST ? cs_yaml_count(node) : 1, i = 0;
	int32_t *v = cs_arena_calloc(r->arena, n + 1, sizeof(*v));

	r->nomem |= !v;
	for (; v && item && i < n; item = item->next, i++)
		if (!exit_of(item, &v[i]))
			cs_read_complain(r, node, "must be numbers like 137 or -9 (a signal)");
	a->exits = v;
	a->n_exits = v ? (uint32_t)n : 0;
}

static void read_env(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_alternative *a = (struct cs_alternative *)((char *)ret - ALTERNATIVE(env));
	size_t n = cs_yaml_count(node), i = 0;
	struct cs_env_test *v;

	if (node->kind != CS_YAML_MAP || !n) {
		cs_read_complain(r, node, "must be {NAME: 'regular expression'}");
		return;
	}
	v = cs_arena_calloc(r->arena, n, sizeof(*v));
	r->nomem |= !v;
	for (const struct cs_yaml *m = node->first; v && m; m = m->next, i++) {
		v[i].name = m->key;
		cs_read_pattern(r, m, &v[i].value);
	}
	a->env = v;
	a->n_env = v ? (uint32_t)n : 0;
}

static void read_facts(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_texts words = {0};

	cs_read_texts(r, node, &words);
	for (uint32_t i = 0; i < words.n; i++) {
		enum cs_fact fact = cs_fact_named(words.v[i]);

		if (fact == CS_FACT_COUNT)
			cs_read_complain(r, node,
					 "there is no fact '%s'; docs/HOWTO-signatures.md lists them",
					 words.v[i]);
		else
			*(uint64_t *)ret |= UINT64_C(1) << fact;
	}
}

static void read_own_confidence(struct cs_reader *r, const struct cs_yaml *node, void *ret)
{
	struct cs_alternative *a = (struct cs_alternative *)((char *)ret - ALTERNATIVE(confidence));

	cs_read_confidence(r, node, ret);
	a->has_confidence = true;
}

static const struct cs_key keys[] = {
	{"message", cs_read_patterns, ALTERNATIVE(message), false},
	{"frames", cs_read_patterns, SELF(frames), false},
	{"python", cs_read_patterns, SELF(python), false},
	{"top", cs_read_pattern, SELF(top), false},
	{"thread", cs_read_text, SELF(thread), false},
	{"same_thread", read_same_thread, SELF(apart), false},
	{"others", read_others, ALTERNATIVE(others), false},
	{"signal", cs_read_pattern, ALTERNATIVE(signal), false},
	{"kind", read_kind, ALTERNATIVE(kinds), false},
	{"exit", read_exits, ALTERNATIVE(exits), false},
	{"modules", cs_read_patterns, ALTERNATIVE(modules), false},
	{"env", read_env, ALTERNATIVE(env), false},
	{"versions", cs_read_versions, ALTERNATIVE(versions), false},
	{"fact", read_facts, ALTERNATIVE(facts), false},
	{"confidence", read_own_confidence, ALTERNATIVE(confidence), false},
};

/* One that only says where or how sure, but not what, would hold of every process. */
static bool says_something(const struct cs_alternative *a)
{
	return a->message.n || a->self.frames.n || a->self.python.n || a->self.top || a->n_others ||
	       a->signal || a->n_exits || a->modules.n || a->n_env || a->facts;
}

static bool has_word(const struct cs_reader *r, const struct cs_patterns *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (r->patterns.v[p->v[i]].n_literals)
			return true;
	return false;
}

/* One without any is tried in full on every process. */
static bool is_cheap(const struct cs_reader *r, const struct cs_alternative *a)
{
	struct cs_patterns top = {.v = &a->self.top, .n = 1};
	bool cheap = has_word(r, &a->message) || has_word(r, &a->self.frames) ||
		     has_word(r, &a->self.python) || has_word(r, &a->modules) || has_word(r, &top);

	for (uint32_t i = 0; i < a->n_others; i++)
		cheap = cheap || has_word(r, &a->others[i].frames) || has_word(r, &a->others[i].python);
	return cheap || a->signal || a->n_exits || a->n_env || a->facts;
}

static void check_alternative(struct cs_reader *r, const struct cs_yaml *item,
			      const struct cs_alternative *a)
{
	if (!says_something(a))
		cs_read_complain(r, item,
				 "this alternative holds of every process; say what must "
				 "be seen (message, frames, python, ...)");
	else if (!is_cheap(r, a) && r->complaints->strict)
		cs_read_complain(r, item,
				 "no expression of this alternative has a word of %d letters that must "
				 "occur, so it would be tried on every process; say more",
				 CS_LEAST_LITERAL);
}

const struct cs_alternative *cs_read_alternatives(struct cs_reader *r, const struct cs_yaml *node,
						  uint32_t *ret_n)
{
	size_t n = cs_yaml_count(node), i = 0;
	struct cs_alternative *v;

	if (node->kind != CS_YAML_LIST || !n) {
		cs_read_complain(r, node, "must be a list of conditions (\"- message: ...\")");
		return NULL;
	}
	v = cs_arena_calloc(r->arena, n, sizeof(*v));
	r->nomem |= !v;
	for (const struct cs_yaml *item = node->first; v && item; item = item->next, i++) {
		r->any_order = true; /* conditions may stand in any, the keys of a signature may not */
		if (cs_read_map(r, item, keys, CS_COUNT(keys), &v[i]))
			check_alternative(r, item, &v[i]);
		r->any_order = false;
	}
	*ret_n = v ? (uint32_t)n : 0;
	return v;
}
