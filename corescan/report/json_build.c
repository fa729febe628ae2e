/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON values and their stream. Knows JSON and UTF-8; refuses to know what a core is. */
#include "report/json_build.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/*
 * ASCII only: the same values for every parser, and a report that a person prints on a
 * terminal cannot carry C1 controls or bidirectional overrides out of a hostile core.
 */
const size_t cs_json_flags =
	JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9);

void cs_json_set(struct cs_json *j, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		j->nomem = true;
}

void cs_json_append(struct cs_json *j, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		j->nomem = true;
}

/* The longest prefix of @s that ends at a character and has at most @max bytes. */
static size_t prefix_length(const char *s, size_t max)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t len = strnlen(s, max + 1), end;

	if (len <= max)
		return len;
	for (end = max; end > 0 && max - end < 3 && (p[end] & 0xc0) == 0x80; end--)
		;
	return (p[end] & 0xc0) == 0x80 ? max : end;
}

json_t *cs_json_string(const char *s, bool *cut)
{
	const unsigned char *p = (const unsigned char *)s;
	struct cs_strbuf sb;
	json_t *value;
	size_t len;

	if (!s)
		return json_null();
	len = prefix_length(s, CS_MAX_JSON_STRING);
	if (s[len])
		*cut = true;
	value = json_stringn(s, len);
	if (value)
		return value;
	/* Not UTF-8 (an argument of our own command line can be anything), or no memory.
	 */
	cs_strbuf_init(&sb, len * 3);
	for (size_t i = 0; i < len;) {
		size_t n = cs_utf8_sequence(p + i, len - i);

		cs_strbuf_put(&sb, n ? s + i : "\xef\xbf\xbd", n ? n : 3);
		i += n ? n : 1;
	}
	value = sb.cut ? NULL : json_string(cs_strbuf_text(&sb));
	cs_strbuf_deinit(&sb);
	return value;
}

void cs_json_set_text(struct cs_json *j, json_t *object, const char *key, const char *s)
{
	bool cut = false;

	cs_json_set(j, object, key, cs_json_string(s, &cut));
	if (cut)
		cs_json_set(j, object, "truncated", json_true());
}

void cs_json_set_hex(struct cs_json *j, json_t *object, const char *key, uint64_t value)
{
	cs_json_set(j, object, key, json_sprintf("0x%" PRIx64, value));
}

void cs_json_set_size(struct cs_json *j, json_t *object, const char *key, uint64_t value)
{
	cs_json_set(j, object, key,
		    json_integer((json_int_t)CS_MIN(value, (uint64_t)INT64_MAX)));
}

void cs_json_set_int(struct cs_json *j, json_t *object, const char *key, int64_t value,
		     bool known)
{
	cs_json_set(j, object, key, known ? json_integer(value) : json_null());
}

static int write_chunk(const char *bytes, size_t len, void *out)
{
	return fwrite(bytes, 1, len, out) == len ? 0 : -1;
}

/* A comma before every value but the first of its level. */
static void separate(struct cs_json *j)
{
	if (j->comma)
		fputc(',', j->out);
	j->comma = true;
}

void cs_json_open(struct cs_json *j, const char *bracket)
{
	separate(j);
	fputs(bracket, j->out);
	j->comma = false;
}

void cs_json_close(struct cs_json *j, const char *bracket)
{
	fputs(bracket, j->out);
	j->comma = true;
}

void cs_json_key(struct cs_json *j, const char *key)
{
	separate(j);
	fprintf(j->out, "\"%s\":", key);
	j->comma = false; /* the value follows its key directly */
}

void cs_json_write_raw(struct cs_json *j, const char *json)
{
	separate(j);
	fputs(json, j->out);
}

void cs_json_write(struct cs_json *j, json_t *value)
{
	if (!value)
		j->nomem = true;
	separate(j);
	/* A failed stream is found by cs_json_finish(), so the result of the dump is not
	 * needed here. */
	if (!value || json_dump_callback(value, write_chunk, j->out, cs_json_flags))
		fputs("null", j->out);
	json_decref(value);
}

void cs_json_write_members(struct cs_json *j, json_t *value)
{
	const char *key;
	json_t *member;

	if (!value)
		j->nomem = true;
	json_object_foreach(value, key, member)
	{
		cs_json_key(j, key);
		cs_json_write(j, json_incref(member));
	}
	json_decref(value);
}

void cs_json_member(struct cs_json *j, const char *key, json_t *value)
{
	cs_json_key(j, key);
	cs_json_write(j, value);
}

struct cs_error *cs_json_finish(struct cs_json *j)
{
	errno = 0;
	if (fflush(j->out) || ferror(j->out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return j->nomem ? &cs_nomem : NULL;
}
