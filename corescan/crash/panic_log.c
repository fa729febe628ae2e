/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fatal log messages of glog, Abseil, c10 and TensorFlow. Each has put its message together in a
 * buffer that is still there: on the stack, or where the stack points to. Knows the heads that
 * begin them:
 *
 *	F20260131 12:34:56.789012 4711 store.cc:12] glog: src/logging.cc, from 0.6 on
 *	F0131 12:34:56.789012 4711 store.cc:12]     before, and absl/log/internal/log_format.cc
 *	[store.cc : 12] RAW:                        absl/base/internal/raw_logging.cc
 *	[F131 12:34:56.789012345 store.cpp:12]      pytorch: c10/util/Logging.cpp, MessageLogger
 *	[F store.cpp:12]                            up to 2.1
 *
 * TensorFlow's message has no head, but its object has what the head is made of (tensorflow, xla:
 * tsl/platform/default/logging.h, LogMessage: std::basic_ostringstream, fname_, line_, severity_).
 */
#include "crash/panic_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define MAX_HEAD 320  /* bytes of a head, most of which are the file's name */
#define MAX_LEAD 8    /* bytes in front of it in a buffer */
#define MAX_SECONDS 12U
#define MAX_DATA 32    /* words of an object that can have the pointer to a message */
#define MAX_PROBES 65536U /* words of all such objects */
#define MAX_NAMELESS 2 /* frames from abort() on that can be a stripped reporter's */

enum family { NONE, GLOG, ABSL, RAW, C10, TSL };

struct head {
	enum family family;
	int64_t tid; /* -1: it has none */
};

/** Skip @n digits; NULL: there are fewer. */
static const char *digits(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!s || !isdigit((unsigned char)s[i]))
			return NULL;
	return s + n;
}

static const char *one(const char *s, char c)
{
	return s && *s == c ? s + 1 : NULL;
}

static size_t count_digits(const char *s)
{
	return s ? strspn(s, "0123456789") : 0;
}

/** Skip "file:12] ". */
static const char *place(const char *s, const char *colon)
{
	size_t n = s ? strcspn(s, " :[]\n\t") : 0;

	if (!n || strncmp(s + n, colon, strlen(colon)))
		return NULL;
	s += n + strlen(colon);
	n = count_digits(s);
	return n && n < 10 && s[n] == ']' && s[n + 1] == ' ' ? s + n + 2 : NULL;
}

static size_t seconds_width(const char *s)
{
	size_t n = count_digits(s);

	return n > 2 && n <= MAX_SECONDS ? n : 2;
}

/**
 * Skip "0131 12:34:56.789012 ". Abseil that does not know the time zone yet has all seconds in the
 * last field.
 */
static const char *when(const char *s, size_t date, size_t fraction)
{
	s = one(digits(s, date), ' ');
	s = one(digits(s, 2), ':');
	s = one(digits(s, 2), ':');
	s = one(digits(s, seconds_width(s)), '.');
	return one(digits(s, fraction), ' ');
}

static bool parse_bracket(const char *s, struct head *ret)
{
	const char *rest;

	ret->tid = -1;
	if (!strncmp(s, "[F", 2)) {
		size_t date = count_digits(s + 2);

		rest = date == 3 || date == 4 ? when(s + 2, date, 9) : one(s + 2, ' ');
		ret->family = C10;
		return place(rest, ":") != NULL;
	}
	rest = place(s + 1, " : ");
	ret->family = RAW;
	return rest && !strncmp(rest, "RAW: ", 5);
}

/** @s is NUL-terminated within MAX_HEAD bytes. */
static bool parse_head(const char *s, struct head *ret)
{
	size_t date, n;
	char *end;

	if (*s == '[')
		return parse_bracket(s, ret);
	if (*s != 'F')
		return false;
	date = count_digits(s + 1);
	if (date != 4 && date != 8)
		return false;
	ret->family = date == 8 ? GLOG : ABSL;
	s = when(s + 1, date, 6);
	if (!s)
		return false;
	s += strspn(s, " "); /* the thread's number is right-aligned */
	n = count_digits(s);
	if (!n || n > 10)
		return false;
	ret->tid = strtoll(s, &end, 10);
	return *end == ' ' && place(end + 1, ":");
}

static bool is_glog(const char *function)
{
	return !strncmp(function, "google::LogMessage", 18) || !strncmp(function, "google::RawLog", 14) ||
	       !strncmp(function, "google::LogDestination", 22);
}

static bool is_absl(const char *function)
{
	return strstr(function, "log_internal::") || strstr(function, "raw_logging_internal::");
}

static bool is_c10(const char *function)
{
	return !strncmp(function, "c10::MessageLogger", 18);
}

static bool is_tsl(const char *function)
{
	return !strncmp(function, "tsl::internal::LogMessage", 25) ||
	       !strncmp(function, "tensorflow::internal::LogMessage", 32);
}

/** Who reports, by the names on the stack, and the frame after theirs; NONE: no frame has such a name. */
static enum family reporter(const struct cs_panic *p, size_t *ret_end)
{
	enum family family = NONE;

	for (size_t i = p->first; i < p->n; i++) {
		const struct cs_panic_frame *f = &p->frames[i];
		enum family now = cs_panic_any(f, is_glog)   ? GLOG
				  : cs_panic_any(f, is_absl) ? ABSL
				  : cs_panic_any(f, is_c10)  ? C10
				  : cs_panic_any(f, is_tsl)  ? TSL
							     : NONE;

		if (now == NONE)
			continue;
		family = now;
		*ret_end = i + 1;
	}
	return family;
}

/** What is searched, and who is known to have spoken. */
struct search {
	const struct cs_panic *panic;
	enum family by;
	uint64_t near_end; /* end of the frames that can be a reporter's although it has no name */
	size_t probes;     /* words looked at that only pointers lead to */
};

static bool fits(const struct search *s, const struct head *head, uint64_t at)
{
	bool is_glog_head = head->family == GLOG || head->family == ABSL;

	switch (s->by) {
	case GLOG:
		return is_glog_head;
	case ABSL:
		return head->family == ABSL || head->family == RAW;
	case C10:
		return head->family == C10;
	case TSL:
		return false;
	default: /* nobody has a name: the message must be this very thread's */
		if (is_glog_head)
			return head->tid == s->panic->in->tid;
		return head->family == RAW && at < s->near_end;
	}
}

/**
 * Bytes from @begin on that a stream has written, if word @i is one of the pointers that its buffer
 * has to its beginning: libstdc++'s std::streambuf has {begin, at, end} of what is read and the
 * same of what is written. 0: it is not.
 */
static uint64_t written(const struct cs_panic *p, size_t i)
{
	uint64_t begin = p->words[i], n = 0;

	for (size_t k = i + 1; k < p->n_words && k < i + 6; k++)
		if (p->words[k - 1] == begin && p->words[k] - begin <= CS_MAX_PANIC_TEXT)
			n = p->words[k] - begin;
	return n;
}

/**
 * Take the message at @at, of which @bytes (NUL-terminated) are the beginning; it ends with a NUL
 * unless @len is known.
 */
static bool take(const struct search *s, const char *bytes, uint64_t at, uint64_t len, struct cs_crash *ret)
{
	static const char *const sources[] = {
		[GLOG] = CS_SOURCE_GLOG, [ABSL] = CS_SOURCE_ABSL,
		[RAW] = CS_SOURCE_ABSL, [C10] = CS_SOURCE_C10};
	const char *text;
	struct head head;

	if (!parse_head(bytes, &head) || !fits(s, &head, at))
		return false;
	text = len ? cs_panic_text_of(s->panic, at, len) : cs_panic_text(s->panic, at);
	if (!text)
		return false;
	ret->message = text;
	ret->message_source = sources[s->by == NONE ? head.family : s->by];
	return true;
}

/** The message can begin anywhere in the word @i of the stack. */
static bool from_stack(const struct search *s, size_t i, struct cs_crash *ret)
{
	const struct cs_panic *p = s->panic;
	const char *bytes = (const char *)&p->words[i];
	size_t left = (p->n_words - i) * 8;
	char head[MAX_HEAD];

	for (size_t k = 0; k < 8; k++) {
		size_t n = CS_MIN(left - k, sizeof(head) - 1);

		if (bytes[k] != 'F' && bytes[k] != '[')
			continue;
		memcpy(head, bytes + k, n);
		head[n] = 0;
		if (take(s, head, p->low + i * 8 + k, 0, ret))
			return true;
	}
	return false;
}

/** True if @at lies in memory that is written to, but not on the part of the stack that is searched. */
static bool is_data(const struct cs_panic *p, uint64_t at)
{
	const struct cs_region *region =
		at >= 4096 && at - p->low >= p->n_words * 8 ? cs_mem_region(p->in->scene->mem, at) : NULL;

	return region && (region->prot & CS_PROT_WRITE);
}

/** The message lies at @at, or a few bytes behind it; @len bytes from @at on, 0: to a NUL. */
static bool from_buffer(const struct search *s, uint64_t at, uint64_t len, struct cs_crash *ret)
{
	char bytes[MAX_LEAD + MAX_HEAD];
	size_t n = cs_mem_read_some(s->panic->in->scene->mem, at, bytes, sizeof(bytes) - 1);

	bytes[n] = 0;
	for (size_t k = 0; k < MAX_LEAD && k < n; k++)
		if ((bytes[k] == 'F' || bytes[k] == '[') &&
		    take(s, bytes + k, at + k, len > k ? len - k : 0, ret))
			return true;
	return false;
}

/** Abseil's message object on the stack only points to its data, which point to the text. */
static bool from_data(struct search *s, uint64_t at, struct cs_crash *ret)
{
	uint64_t words[MAX_DATA];
	struct cs_mem *mem = s->panic->in->scene->mem;
	size_t n = cs_mem_read_some(mem, at, words, sizeof(words)) / 8;
	char first;

	for (size_t i = 0; i < n && s->probes < MAX_PROBES; i++) {
		s->probes++;
		if (is_data(s->panic, words[i]) && cs_mem_read_some(mem, words[i], &first, 1) &&
		    first == 'F' && from_buffer(s, words[i], 0, ret))
			return true;
	}
	return false;
}

/** The message can lie in memory that word @i points to. */
static bool from_pointer(struct search *s, size_t i, struct cs_crash *ret)
{
	uint64_t at = s->panic->words[i];

	if (!is_data(s->panic, at))
		return false;
	return from_buffer(s, at, written(s->panic, i), ret) ||
	       ((s->by == ABSL || s->by == NONE) && !(at & 7) && from_data(s, at, ret));
}

/** What a TensorFlow message's object has, in words; libstdc++ lays out the stream. */
enum { TSL_OUT = 5, TSL_OUT_AT, TSL_OUT_END, TSL_STRING = 10, TSL_FILE = 14, TSL_LINE, TSL_WORDS };

#define TSL_FATAL 3

/** The object of a fatal TensorFlow message begins at word @i. */
static bool from_stream(const struct search *s, size_t i, struct cs_crash *ret)
{
	const struct cs_panic *p = s->panic;
	const uint64_t *w = p->words + i;
	const char *file, *text;
	uint32_t line;

	if (p->n_words - i < TSL_WORDS || w[TSL_LINE] >> 32 != TSL_FATAL || w[TSL_OUT] != w[TSL_STRING] ||
	    w[TSL_OUT] < 4096 || w[TSL_OUT_AT] - w[TSL_OUT] > CS_MAX_PANIC_TEXT ||
	    w[TSL_OUT_AT] > w[TSL_OUT_END])
		return false;
	line = (uint32_t)w[TSL_LINE];
	file = cs_panic_text(p, w[TSL_FILE]);
	text = cs_panic_text_of(p, w[TSL_OUT], w[TSL_OUT_AT] - w[TSL_OUT]);
	if (!file || strpbrk(file, " \n\t") || !line || line > 9999999 || !text)
		return false;
	ret->message = cs_arena_printf(p->in->scene->arena, "F %s:%" PRIu32 "] %s", file, line, text);
	ret->message_source = ret->message ? CS_SOURCE_TSL : NULL;
	return ret->message != NULL;
}

static bool has_name(const struct cs_panic_frame *f)
{
	const struct cs_frame *own = cs_panic_own(f);

	return own && own->function && !own->nearest;
}

bool cs_panic_log(const struct cs_panic *p, struct cs_crash *ret)
{
	struct search s = {.panic = p};
	size_t last = p->n, end;

	s.by = reporter(p, &last);
	/* The message's own object is in the frame of who wanted to log. */
	last = CS_MIN(last, p->n - 1);
	end = cs_panic_word(p, p->frames[last].high);
	for (size_t i = p->first; i < p->n && i < p->first + MAX_NAMELESS && !has_name(&p->frames[i]); i++)
		s.near_end = p->frames[i].high;
	for (size_t i = cs_panic_word(p, p->frames[p->first].low); i < end; i++)
		if (s.by == TSL ? from_stream(&s, i, ret)
				: from_stack(&s, i, ret) || from_pointer(&s, i, ret))
			return true;
	return false;
}
