/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Building JSON values and writing them as they are built.
 *
 * A report is written member by member, so its memory is that of one thread's stack and
 * not that of all. Every value is made and escaped by jansson; only the braces and commas
 * of the outermost levels are ours.
 */
#ifndef CS_REPORT_JSON_BUILD_H
#define CS_REPORT_JSON_BUILD_H

#include "base/error.h"

#include <jansson.h>
#include <stdio.h>

#define CS_REPORT_SCHEMA "corescan-report/1"

/** Where values go. `nomem` stays set from the first value that could not be made. */
struct cs_json {
	FILE *out;  /* not owned */
	bool comma; /* a value came before on the level being written */
	bool nomem;
	uint64_t frames; /* written so far, copies included: see CS_MAX_JSON_FRAMES */
};

/* ---- making values; all take @value over, and a failed one only sets `nomem` ---- */

void cs_json_set(struct cs_json *j, json_t *object, const char *key, json_t *value);
void cs_json_append(struct cs_json *j, json_t *array, json_t *value);

/**
 * @s as valid UTF-8, cut at CS_MAX_JSON_STRING bytes; *@cut becomes true then, else is
 * left alone. NULL @s is null.
 */
json_t *cs_json_string(const char *s, bool *cut);
/** Set @key to @s; a cut text puts "truncated": true beside it. */
void cs_json_set_text(struct cs_json *j, json_t *object, const char *key, const char *s);
/** Addresses are strings: a double of a JavaScript consumer cannot hold 64 bits. */
void cs_json_set_hex(struct cs_json *j, json_t *object, const char *key, uint64_t value);
/** Sizes and counts; a value that does not fit JSON's signed 64 bits becomes the largest
 * that does. */
void cs_json_set_size(struct cs_json *j, json_t *object, const char *key, uint64_t value);
/** Null unless @known. */
void cs_json_set_int(struct cs_json *j, json_t *object, const char *key, int64_t value,
		     bool known);

/* ---- writing ---- */

/** Begin or end a level: @bracket is one of "{", "}", "[", "]". */
void cs_json_open(struct cs_json *j, const char *bracket);
void cs_json_close(struct cs_json *j, const char *bracket);
/** @key must be a literal that needs no escaping. */
void cs_json_key(struct cs_json *j, const char *key);
/** Write @value as the next one of its level and end it. */
void cs_json_write(struct cs_json *j, json_t *value);
/** Write the members of object @value into the level that is open, and end it. */
void cs_json_write_members(struct cs_json *j, json_t *value);
/** Text that jansson made, as the next value. */
void cs_json_write_raw(struct cs_json *j, const char *json);
/** @key and @value in one step. */
void cs_json_member(struct cs_json *j, const char *key, json_t *value);

/** Flags of every dump; see json_build.c for why it is ASCII. */
extern const size_t cs_json_flags;

/** What went wrong so far: NOMEM or OS; flushes the stream first. */
CS_MUST_CHECK struct cs_error *cs_json_finish(struct cs_json *j);

#endif
