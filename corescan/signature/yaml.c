/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML text into nodes, by libyaml's events. Knows YAML; refuses to know what a signature is. Only what
 * people write by hand is taken: an alias could make a small file a large tree, a tag could ask for
 * types.
 */
#include "signature/yaml.h"

#include "base/limits.h"
#include "base/text.h"

#include <stdarg.h>
#include <string.h>
#include <yaml.h>

struct tree {
	const char *name;
	struct cs_arena *arena;
	struct cs_complaints *complaints;
	yaml_parser_t parser;
	size_t nodes;
	bool bad; /* a complaint was made: reading ends */
	bool nomem;
};

void cs_complain(struct cs_complaints *c, const char *file, uint32_t line, const char *fmt, ...)
{
	char text[1024];
	const char *whole;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (line)
		whole = cs_arena_printf(c->arena, "%s:%u: %s", file, line, text);
	else
		whole = cs_arena_printf(c->arena, "%s: %s", file, text);
	if (!whole || !cs_ok(CS_PUSH(&c->list, whole, CS_MAX_SIGNATURE_COMPLAINTS, "complaints")))
		c->dropped++;
}

static void refuse(struct tree *t, size_t line, const char *what)
{
	cs_complain(t->complaints, t->name, (uint32_t)line + 1, "%s", what);
	t->bad = true;
}

static struct cs_yaml *new_node(struct tree *t, enum cs_yaml_kind kind, size_t line)
{
	struct cs_yaml *node;

	if (t->nodes++ >= CS_MAX_YAML_NODES) {
		refuse(t, line, "more values than a signature file can have; split the file");
		return NULL;
	}
	node = cs_arena_alloc(t->arena, sizeof(*node));
	if (!node) {
		t->nomem = true;
		return NULL;
	}
	node->kind = kind;
	node->line = (uint32_t)line + 1;
	return node;
}

/* The next event; false at an error, which has been said. */
static bool next(struct tree *t, yaml_event_t *event)
{
	const char *why;

	if (yaml_parser_parse(&t->parser, event))
		return true;
	why = t->parser.problem ? t->parser.problem : "cannot be read";
	if (t->parser.error == YAML_MEMORY_ERROR)
		t->nomem = true;
	else
		cs_complain(t->complaints, t->name, (uint32_t)t->parser.problem_mark.line + 1,
			    "not YAML: %s; quote texts that have ': ', ' #', or begin with one of "
			    "{[&*!|>%%@`",
			    why);
	t->bad = true;
	return false;
}

static struct cs_yaml *scalar(struct tree *t, const yaml_event_t *event)
{
	struct cs_yaml *node = new_node(t, CS_YAML_TEXT, event->start_mark.line);

	if (!node)
		return NULL;
	if (strlen((const char *)event->data.scalar.value) != event->data.scalar.length) {
		refuse(t, event->start_mark.line, "a text has a NUL character; take it out");
		return NULL;
	}
	node->text = cs_text_utf8(t->arena, event->data.scalar.value, event->data.scalar.length);
	t->nomem |= !node->text;
	return node->text ? node : NULL;
}

static struct cs_yaml *value(struct tree *t, const yaml_event_t *event, size_t depth);

static bool known_key(struct tree *t, const struct cs_yaml *map, const char *key, size_t line)
{
	for (const struct cs_yaml *m = map->first; m; m = m->next) {
		if (strcmp(m->key, key))
			continue;
		cs_complain(t->complaints, t->name, (uint32_t)line + 1,
			    "%s: occurs twice; put both values into one (the first is on line %u)", key,
			    m->line);
		return true;
	}
	return false;
}

static struct cs_yaml *member(struct tree *t, struct cs_yaml *map, const yaml_event_t *key, size_t depth)
{
	struct cs_yaml *node, *name;
	yaml_event_t event;

	if (key->type != YAML_SCALAR_EVENT) {
		refuse(t, key->start_mark.line, "a key must be a word");
		return NULL;
	}
	name = scalar(t, key);
	if (!name || !next(t, &event))
		return NULL;
	node = value(t, &event, depth);
	yaml_event_delete(&event);
	if (!node)
		return NULL;
	if (known_key(t, map, name->text, key->start_mark.line)) {
		t->bad = true;
		return NULL;
	}
	node->key = name->text;
	node->line = name->line;
	return node;
}

/* All up to the end event of @parent. */
static void children(struct tree *t, struct cs_yaml *parent, size_t depth)
{
	struct cs_yaml **tail = &parent->first;
	yaml_event_t event;

	while (!t->bad && !t->nomem && next(t, &event)) {
		struct cs_yaml *node = NULL;
		bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;

		if (!end && parent->kind == CS_YAML_MAP)
			node = member(t, parent, &event, depth);
		else if (!end)
			node = value(t, &event, depth);
		yaml_event_delete(&event);
		if (!node)
			return;
		*tail = node;
		tail = &node->next;
	}
}

static bool is_plain(struct tree *t, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	switch (event->type) {
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	default:
		refuse(t, event->start_mark.line, "aliases (*NAME) are not allowed; write it out");
		return false;
	}
	if (!anchor && !tag)
		return true;
	refuse(t, event->start_mark.line,
	       "anchors (&NAME) and tags (!NAME) are not allowed; quote the text that begins so");
	return false;
}

static struct cs_yaml *value(struct tree *t, const yaml_event_t *event, size_t depth)
{
	struct cs_yaml *node;

	if (!is_plain(t, event))
		return NULL;
	if (event->type == YAML_SCALAR_EVENT)
		return scalar(t, event);
	if (depth >= CS_MAX_YAML_DEPTH) {
		refuse(t, event->start_mark.line, "lists within lists too deep for a signature file");
		return NULL;
	}
	node = new_node(t, event->type == YAML_MAPPING_START_EVENT ? CS_YAML_MAP : CS_YAML_LIST,
			event->start_mark.line);
	if (node)
		children(t, node, depth + 1);
	return t->bad || t->nomem ? NULL : node;
}

static void read_all(struct tree *t, struct cs_yaml **tail)
{
	yaml_event_t event;

	while (!t->bad && !t->nomem && next(t, &event)) {
		bool end = event.type == YAML_STREAM_END_EVENT;
		struct cs_yaml *node = NULL;

		if (!end && event.type != YAML_STREAM_START_EVENT &&
		    event.type != YAML_DOCUMENT_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT)
			node = value(t, &event, 0);
		yaml_event_delete(&event);
		if (end)
			return;
		if (!node)
			continue;
		*tail = node;
		tail = &node->next;
	}
}

struct cs_error *cs_yaml_read(const char *name, const void *bytes, size_t len, struct cs_arena *arena,
			      struct cs_complaints *complaints, struct cs_yaml **ret)
{
	struct tree t = {.name = name, .arena = arena, .complaints = complaints};

	*ret = NULL;
	if (!yaml_parser_initialize(&t.parser))
		return &cs_nomem;
	yaml_parser_set_encoding(&t.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&t.parser, bytes, len);
	read_all(&t, ret);
	yaml_parser_delete(&t.parser);
	return t.nomem ? &cs_nomem : NULL;
}
