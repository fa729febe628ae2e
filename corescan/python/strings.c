/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Strings. Knows the three kinds of characters, the strings of 3.11 and older that hold
 * wchar_t until somebody needs them, and how each version packs the state; refuses
 * strings that contradict themselves.
 */
#include "base/limits.h"
#include "base/text.h"
#include "python/value.h"

#include <endian.h>
#include <string.h>

#define CHUNK 1024U
#define LAST_WSTR_MINOR 11 /* PEP 623 took wchar_t strings out of 3.12 */

/** Where the bits of PyASCIIObject.state lie. */
struct state_bits {
	unsigned kind, compact, ascii;
};

static struct state_bits bits_of(const struct cs_py *py)
{
	/* Free-threaded builds from 3.14 on keep `interned` in a byte of its own. */
	if (py->layout.free_threaded && py->layout.minor >= 14)
		return (struct state_bits){8, 11, 12};
	return (struct state_bits){2, 5, 6};
}

/** A string that was made from wchar_t and has no other form yet: its pointer ends
 * PyASCIIObject. */
static bool wide_text(const struct cs_py *py, uint64_t str, uint64_t *data,
		      uint64_t *length)
{
	const struct cs_py_layout *l = &py->layout;

	if (l->minor > LAST_WSTR_MINOR || l->str_ascii_data < 8 ||
	    l->str_compact_data < 8)
		return false;
	return cs_py_pointer(py, str, l->str_ascii_data - 8, data) && *data &&
	       cs_py_u64(py, str, l->str_compact_data - 8, length);
}

bool cs_py_text(const struct cs_py *py, uint64_t str, struct cs_py_text *ret)
{
	const struct cs_py_layout *l = &py->layout;
	struct state_bits at = bits_of(py);
	struct cs_py_text t = {0};
	uint32_t state;
	bool compact;

	if (!cs_py_is(py, str, CS_PY_STR) || !cs_py_u32(py, str, l->str_state, &state) ||
	    !cs_py_u64(py, str, l->str_length, &t.length))
		return false;
	t.width = state >> at.kind & 7;
	compact = state >> at.compact & 1;
	t.ascii = state >> at.ascii & 1;
	if (t.width == 0 && !compact) {
		if (!wide_text(py, str, &t.data, &t.length))
			return false;
		t.width = 4;
	} else if (t.width != 1 && t.width != 2 && t.width != 4) {
		return false;
	} else if (compact) {
		t.data = cs_py_add(str, (uint64_t)(t.ascii ? l->str_ascii_data
							   : l->str_compact_data));
	} else {
		/* Subclasses. With one byte a character the data need not be aligned by
		 * much. */
		if (!cs_py_u64(py, str, l->str_data, &t.data))
			return false;
	}
	if ((t.ascii && t.width != 1) || !t.data ||
	    t.length > (UINT64_MAX - t.data) / t.width)
		return false;
	*ret = t;
	return true;
}

size_t cs_py_text_read(const struct cs_py *py, const struct cs_py_text *text,
		       uint64_t from, uint32_t *ret, size_t n)
{
	uint8_t bytes[CHUNK * 4];
	size_t done = 0;

	if (from >= text->length)
		return 0;
	n = (size_t)CS_MIN((uint64_t)n, text->length - from);
	while (done < n) {
		size_t want = CS_MIN(n - done, (size_t)CHUNK), got;

		got = cs_mem_read_some(py->mem, text->data + (from + done) * text->width,
				       bytes, want * text->width) /
		      text->width;
		for (size_t i = 0; i < got; i++) {
			const uint8_t *p = bytes + i * text->width;

			ret[done + i] = text->width == 1 ? p[0]
					: text->width == 2
						? p[0] | (uint32_t)p[1] << 8
						: p[0] | (uint32_t)p[1] << 8 |
							  (uint32_t)p[2] << 16 |
							  (uint32_t)p[3] << 24;
		}
		done += got;
		if (got < want)
			break;
	}
	return done;
}

size_t cs_py_utf8(uint32_t c, char ret[4])
{
	if (c < 0x80) {
		ret[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		ret[0] = (char)(0xc0 | c >> 6);
		ret[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x10000) {
		ret[0] = (char)(0xe0 | c >> 12);
		ret[1] = (char)(0x80 | (c >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | c >> 18);
	ret[1] = (char)(0x80 | (c >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (c >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/**
 * True if @n characters can be what a str of @text's kind holds: ASCII ones say so, and
 * no character is above the last one of Unicode.
 */
static bool plausible(const struct cs_py_text *text, const uint32_t *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c[i] > 0x10ffff || (text->ascii && c[i] > 0x7f))
			return false;
	return true;
}

const char *cs_py_str(const struct cs_py *py, uint64_t object, size_t max, bool *cut_ret)
{
	CS_CLEANUP(cs_freep) char *out = NULL;
	uint32_t chunk[CHUNK];
	struct cs_py_text text;
	uint64_t i = 0;
	size_t len = 0;
	bool cut = false;

	if (!cs_py_text(py, object, &text))
		return NULL;
	max = CS_MIN(max, CS_MAX_STRING);
	out = malloc(max + 1);
	if (!out)
		return NULL;
	while (i < text.length && !cut) {
		size_t n = cs_py_text_read(py, &text, i, chunk, CHUNK);

		if (n != CS_MIN(text.length - i, CHUNK) || !plausible(&text, chunk, n))
			return NULL;
		for (size_t k = 0; k < n && !cut; k++) {
			char bytes[4];
			size_t m = cs_py_utf8(chunk[k], bytes);

			cut = m > max - len;
			if (!cut) {
				memcpy(out + len, bytes, m);
				len += m;
			}
		}
		i += n;
	}
	if (cut_ret)
		*cut_ret = cut;
	out[len] = '\0';
	/* A NUL within would end the text early for everybody else. */
	for (size_t k = 0; k < len; k++)
		if (!out[k])
			out[k] = ' ';
	return cs_arena_intern(py->arena, out);
}

bool cs_py_str_is(const struct cs_py *py, uint64_t object, const char *text)
{
	size_t len = strlen(text);
	char bytes[CHUNK];
	struct cs_py_text t;

	if (len >= sizeof(bytes) || !cs_py_text(py, object, &t) || t.length != len ||
	    t.width != 1)
		return false;
	return len == 0 ||
	       (cs_py_read(py, t.data, bytes, len) && memcmp(bytes, text, len) == 0);
}
