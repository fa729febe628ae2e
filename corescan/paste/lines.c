/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line as its author printed it. Terminals colour it, loggers and launchers put words
 * before it, trackers quote and wrap it; none of that is the tool's.
 */
#include "paste/paster.h"
#include "paste/prefix.h"

#include "base/limits.h"
#include "base/text.h"

#include <jansson.h>
#include <string.h>

/* Length of the escape sequence at @p: ESC [ ... letter, ESC ] ... BEL, ESC x. */
static size_t escape_length(const char *p, size_t left)
{
	size_t i = 2;

	if (left < 2)
		return left;
	if (p[1] == '[') {
		while (i < left && (unsigned char)p[i] >= 0x20 &&
		       (unsigned char)p[i] < 0x40)
			i++;
	} else if (p[1] == ']') {
		while (i < left && p[i] != '\a')
			i++;
	} else {
		return 2;
	}
	return i < left ? i + 1 : left;
}

struct entity {
	const char *name, *text;
};

/* What trackers and their exports make of the marks in C++ names; NULL: something else
 * stands at @p. */
static const struct entity *entity_at(const char *p, size_t left)
{
	static const struct entity entities[] = {
		{"&lt;", "<"},  {"&gt;", ">"},   {"&amp;", "&"},  {"&quot;", "\""},
		{"&#39;", "'"}, {"&#x27;", "'"}, {"&#34;", "\""}, {"&nbsp;", " "},
	};

	for (size_t i = 0; i < CS_COUNT(entities); i++) {
		size_t n = strlen(entities[i].name);

		if (n <= left && !memcmp(p, entities[i].name, n))
			return &entities[i];
	}
	return NULL;
}

/* @bytes without escape sequences and control characters, as UTF-8. */
static void put_visible(struct cs_strbuf *sb, const char *bytes, size_t len)
{
	const struct entity *entity;

	for (size_t i = 0; i < len;) {
		size_t n = cs_utf8_sequence((const unsigned char *)bytes + i, len - i);

		if (bytes[i] == '\033') {
			i += escape_length(bytes + i, len - i);
			continue;
		}
		entity = bytes[i] == '&' ? entity_at(bytes + i, len - i) : NULL;
		if (entity)
			cs_strbuf_puts(sb, entity->text);
		else if (!n)
			cs_strbuf_puts(sb, "\xef\xbf\xbd");
		else if (bytes[i] == '\t')
			cs_strbuf_puts(sb, "    ");
		else if ((unsigned char)bytes[i] >= 0x20)
			cs_strbuf_put(sb, bytes + i, n);
		i += entity ? strlen(entity->name) : n ? n : 1;
	}
}

/* A bar of progress writes over itself: what stands after the last carriage return is
 * what was seen. */
static void cut_overwritten(const char **bytes, size_t *len)
{
	while (*len && (*bytes)[*len - 1] == '\r')
		--*len;
	for (size_t i = *len; i > 0; i--) {
		if ((*bytes)[i - 1] != '\r')
			continue;
		*bytes += i;
		*len -= i;
		return;
	}
}

/* ---- marks of trackers ---- */

static const char *skip_quotes(const char *p)
{
	while (*p == '>' &&
	       (p[1] == ' ' || !p[1] || (p[1] == '>' && p[2] == ' ' && p[3] == '>')))
		p += p[1] == ' ' ? 2 : 1;
	return p;
}

/* Length of one of the tags that wrap a paste, at @p; 0: no such tag. */
static size_t tag_length(const char *p)
{
	static const char *const names[] = {"details", "summary",    "pre", "code",
					    "p",       "br",         "br/", "br /",
					    "b",       "blockquote", "div", "span"};
	const char *q = *p == '<' ? p + 1 + (p[1] == '/') : NULL;

	for (size_t i = 0; q && i < CS_COUNT(names); i++) {
		size_t n = strlen(names[i]);
		const char *end;

		if (strncmp(q, names[i], n) || (q[n] != '>' && q[n] != ' '))
			continue;
		end = strchr(q + n, '>');
		/* Attributes have a "=": <p x> may be a template's argument. */
		if (end && (end == q + n || memchr(q + n, '=', (size_t)(end - q - n))))
			return (size_t)(end - p) + 1;
	}
	return 0;
}

static const char *skip_tags(const char *p)
{
	size_t n;

	for (int i = 0; i < 8 && (n = tag_length(p)) != 0; i++)
		p += n;
	return p;
}

/* Where @p's text ends, of @len bytes, without blanks, tags and fences. */
static size_t cut_end(const char *p, size_t len)
{
	for (int i = 0; i < 8; i++) {
		size_t n = len;

		while (len && p[len - 1] == ' ')
			len--;
		if (len > 3 && !memcmp(p + len - 3, "```", 3))
			len -= 3;
		if (len && p[len - 1] == '>' && memchr(p, '<', len))
			for (size_t k = len - 1; k > 0 && len - k < 16; k--)
				if (p[k] == '<' && p[k + 1] == '/' &&
				    k + tag_length(p + k) == len)
					len = k;
		if (n == len)
			break;
	}
	return len;
}

/* "```bash", "~~~": a fence and its language; text right after it is the paste's. */
static const char *skip_fence(const char *p, size_t *len)
{
	const char *q = p + strspn(p, " ");
	size_t left = *len - (size_t)(q - p), word;

	if (left >= 3 && (!memcmp(q, "```", 3) || !memcmp(q, "~~~", 3))) {
		word = 3 + strspn(q + 3, *q == '`' ? "`" : "~");
		if (*q == '~' && (word > 4 || word != left))
			return p; /* a separator */
		word += strcspn(q + word, " ") == left - word && left - word < 16
				? left - word
				: 0;
		*len = left - word;
		return q + word;
	}
	if (left > 2 && *q == '`' && q[left - 1] == '`' &&
	    !memchr(q + 1, '`', left - 2)) {
		*len = left - 2;
		return q + 1;
	}
	return p;
}

/* "87%|###   | 7/8 [00:01<00:00, 5.2it/s]RuntimeError": a bar that nobody ended with a
 * new line. */
static const char *skip_progress(const char *p)
{
	const char *bar = strstr(p, "%|"), *rate, *end;

	if (!bar)
		return p;
	rate = strstr(bar, "it/s");
	rate = rate ? rate : strstr(bar, "s/it");
	end = rate ? strchr(rate, ']') : NULL;
	return end && end[1] && end[1] != ' ' ? end + 1 : p;
}

/* The text of a collector's JSON line, {"log": "...", "stream": "stderr"}, owned by the
 * caller; NULL: none. */
static json_t *unwrap(const char *bytes, size_t len)
{
	static const char *const keys[] = {"log", "textPayload", "line", "message"};
	json_t *line;

	if (len < 10 || len > 65536 || bytes[0] != '{' || bytes[len - 1] != '}')
		return NULL;
	if (!memmem(bytes, len, "\"stream\"", 8) && !memmem(bytes, len, "\"log\"", 5) &&
	    !memmem(bytes, len, "\"textPayload\"", 13))
		return NULL;
	line = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
	for (size_t i = 0; line && i < CS_COUNT(keys); i++) {
		json_t *text = json_object_get(line, keys[i]);

		if (!json_is_string(text))
			continue;
		json_incref(text);
		json_decref(line);
		return text;
	}
	json_decref(line);
	return NULL;
}

/* ---- all ---- */

/* What is in @scratch from @from on, with the marks of trackers taken off: @ret's text.
 */
static void unmark(struct cs_strbuf *scratch, size_t from, struct cs_line *ret)
{
	const char *begin = cs_strbuf_text(scratch) + from, *text = skip_quotes(begin);
	const char *quoted = text;
	size_t len;

	text = skip_tags(text);
	text = skip_progress(text);
	len = cut_end(text, strlen(text));
	ret->fence = len != 0;
	text = skip_fence(text, &len);
	ret->fence &= !len;
	cs_strbuf_truncate(scratch, (size_t)(text - cs_strbuf_text(scratch)) + len);
	ret->quote = text == quoted ? (size_t)(text - begin) : 0;
	ret->text = text;
	ret->len = len;
}

void cs_line_clean(struct cs_strbuf *scratch, const char *bytes, size_t len,
		   struct cs_line *ret)
{
	static const char room[CS_MAX_PASTE_LABEL + 1];
	struct cs_prefix prefix;
	json_t *json;

	*ret = (struct cs_line){.text = ""};
	cut_overwritten(&bytes, &len);
	if (len && bytes[0] == '\f' && strspn(bytes, "\f \r") >= len) {
		ret->text = "\f";
		ret->len = 1;
		return;
	}
	cs_strbuf_put(scratch, room, sizeof(room)); /* for the label */
	json = len && bytes[0] == '{' ? unwrap(bytes, len) : NULL;
	put_visible(scratch, json ? json_string_value(json) : bytes,
		    json ? json_string_length(json) : len);
	json_decref(json);
	if (scratch->len < sizeof(room))
		return; /* no memory */
	unmark(scratch, sizeof(room), ret);
	cs_prefix_read(ret->text, &prefix);
	if (prefix.label[0]) {
		memcpy(scratch->data, prefix.label, sizeof(prefix.label));
		ret->label = scratch->data;
	}
	ret->text += prefix.len;
	ret->len -= prefix.len;
	ret->quote = prefix.len ? 0 : ret->quote;
	ret->lead = prefix.lead;
	ret->level = prefix.level;
	ret->carries = prefix.carries;
	ret->indent = strspn(ret->text, " ");
}

bool cs_line_separates(const struct cs_line *line)
{
	const char *p = line->text;

	if (!line->len || !strchr("-=#*_~\f", *p))
		return false;
	if (strspn(p, (const char[]){*p, '\0'}) >= 5)
		return p[line->len - 1] == *p;
	return !strncmp(p, "==> ", 4) || !strncmp(p, "--- ", 4) ||
	       !strncmp(p, "=== ", 4) || !strncmp(p, "## ", 3) || *p == '\f';
}

/* Length of "node1:17" in "[node1:17] *** Process received signal ***", "[node1:17] [ 0]
 * ..."; 0: no such. */
static size_t process_length(const struct cs_line *line)
{
	static const char *const forms[] = {"*** ", "Signal", "Failing at", "[ ", "[1"};
	const char *p = line->text, *end = *p == '[' ? strchr(p, ']') : NULL,
		   *colon = end;

	while (colon && colon > p && colon[-1] != ':')
		colon--;
	if (!end || colon <= p + 2 || colon == end ||
	    strspn(colon, "0123456789") != (size_t)(end - colon) ||
	    memchr(p, ' ', (size_t)(end - p)) || end[1] != ' ' ||
	    (size_t)(end - p) > CS_MAX_PASTE_LABEL)
		return 0;
	for (size_t i = 0; i < CS_COUNT(forms); i++)
		if (!strncmp(end + 2, forms[i], strlen(forms[i])))
			return (size_t)(end - p - 1);
	return 0;
}

static void name_process(struct cs_line_owners *owners, struct cs_line *line)
{
	size_t len = process_length(line);

	if (!len)
		return;
	if (!owners->process[0])
		snprintf(owners->process, sizeof(owners->process), "%.*s", (int)len,
			 line->text + 1);
	if (!strncmp(owners->process, line->text + 1, len) && !owners->process[len])
		return;
	snprintf(owners->other, sizeof(owners->other), "%.*s", (int)len, line->text + 1);
	line->label = owners->other;
}

/* With another prefix it is another logger's; PyTorch's own tracebacks bear the rank on
 * each line. */
static bool ends_record(const struct cs_line *line)
{
	static const char *const launchers[] = {
		"Traceback (", "srun: ", "slurmstepd: ", "mpirun ", "mpiexec "};

	for (size_t i = 0; i < CS_COUNT(launchers); i++)
		if (!strncmp(line->text, launchers[i], strlen(launchers[i])))
			return true;
	return line->level || line->fence;
}

void cs_line_inherit(struct cs_line_owners *owners, struct cs_line *line)
{
	if (line->label) {
		snprintf(owners->carried, sizeof(owners->carried), "%s",
			 line->carries ? line->label : "");
		return;
	}
	if (cs_line_separates(line))
		*owners = (struct cs_line_owners){0};
	if (ends_record(line))
		owners->carried[0] = '\0';
	if (owners->carried[0])
		line->label = owners->carried;
	else
		name_process(owners, line);
}
