/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of an abort(), laid out for those who look for last words in it. Knows frames, words
 * and texts, and in which order to ask; refuses to know what any runtime leaves.
 */
#include "crash/panic_internal.h"

#include "base/text.h"

#include <string.h>

const struct cs_frame *cs_panic_own(const struct cs_panic_frame *frame)
{
	return frame->n ? &frame->frames[frame->n - 1] : NULL;
}

bool cs_panic_any(const struct cs_panic_frame *frame, bool (*is)(const char *function))
{
	for (size_t i = 0; i < frame->n; i++)
		if (frame->frames[i].function && !frame->frames[i].nearest &&
		    is(frame->frames[i].function))
			return true;
	return false;
}

size_t cs_panic_word(const struct cs_panic *p, uint64_t at)
{
	return at <= p->low ? 0 : (size_t)CS_MIN((at - p->low) / 8, p->n_words);
}

bool cs_panic_is_text(const char *bytes, size_t len)
{
	const unsigned char *s = (const unsigned char *)bytes;

	for (size_t i = 0, n; i < len; i += n) {
		n = cs_utf8_sequence(s + i, len - i);
		if (!n || (!cs_text_is_safe(s + i, n) && !strchr("\n\r\t", s[i])))
			return false;
	}
	return true;
}

static const char *text_in_arena(const struct cs_panic *p, const char *bytes, size_t len)
{
	while (len && (bytes[len - 1] == '\n' || bytes[len - 1] == '\r'))
		len--;
	return memchr(bytes, 0, len) || !cs_panic_is_text(bytes, len)
		       ? NULL
		       : cs_arena_strndup(p->in->scene->arena, bytes, len);
}

const char *cs_panic_text(const struct cs_panic *p, uint64_t at)
{
	const char *text;
	char *raw;

	if (at < 4096 || !cs_ok(cs_mem_string(p->in->scene->mem, at, CS_MAX_PANIC_TEXT, &raw)))
		return NULL;
	text = text_in_arena(p, raw, strlen(raw));
	free(raw);
	return text && *text ? text : NULL;
}

const char *cs_panic_text_of(const struct cs_panic *p, uint64_t at, uint64_t len)
{
	const char *text = NULL;
	char *raw;

	if (!len)
		return "";
	if (at < 4096 || len > CS_MAX_PANIC_TEXT || !(raw = malloc(len)))
		return NULL;
	if (cs_ok(cs_mem_read(p->in->scene->mem, at, raw, len, NULL)))
		text = text_in_arena(p, raw, len);
	free(raw);
	return text;
}

/** The frames in the report for @pc, from *@at on; those passed over are not the stack's own (Python's) or
 * could not be matched. */
static void take_frames(const struct cs_incident *in, uint64_t pc, size_t *at,
			struct cs_panic_frame *ret)
{
	size_t i = *at, end;

	while (i < in->n_frames && (in->frames[i].address != pc ||
				    (in->frames[i].kind != CS_FRAME_NATIVE &&
				     in->frames[i].kind != CS_FRAME_INLINE)))
		i++;
	for (end = i; end < in->n_frames && in->frames[end].kind == CS_FRAME_INLINE;)
		end++;
	if (end == in->n_frames || in->frames[end].kind != CS_FRAME_NATIVE)
		return;
	ret->frames = &in->frames[i];
	ret->n = end + 1 - i;
	*at = end + 1;
}

static void lay_out(const struct cs_incident *in, struct cs_panic *p)
{
	uint64_t low = in->sp;
	size_t at = 0;

	for (size_t i = in->raw_first; i < in->stack->n && p->n < CS_MAX_ABORT_FRAMES; i++) {
		const struct cs_raw_frame *raw = &in->stack->frames[i];
		struct cs_panic_frame *f = &p->frames[p->n];

		/* Where the frame of a scan ends is not known: all of it counts as the next one's. */
		uint64_t high = raw->cfa ? raw->cfa : low;

		if (raw->signal || high < low || high - in->sp > CS_MAX_PANIC_STACK)
			break;
		*f = (struct cs_panic_frame){.pc = raw->pc, .low = low, .high = high};
		take_frames(in, raw->pc, &at, f);
		low = high;
		p->n++;
	}
}

/** True for the functions that carry an abort() out, and for what has no name in the C library. */
static bool is_raising(const struct cs_panic_frame *f)
{
	const struct cs_frame *own = cs_panic_own(f);
	const char *module = own && own->module ? own->module->name : NULL;

	return cs_panic_any(f, cs_function_raises) ||
	       (module && (!strncmp(module, "libc.so", 7) || !strncmp(module, "libc-2.", 7) ||
			   !strncmp(module, "libpthread", 10)));
}

static bool read_words(const struct cs_scene *scene, struct cs_panic *p)
{
	uint64_t high = p->frames[p->n - 1].high;
	uint64_t *words;
	size_t got;

	p->low = (p->frames[0].low + 7) & ~7ULL;
	if (high <= p->low || !(words = cs_arena_alloc(scene->arena, high - p->low)))
		return false;
	got = cs_mem_read_some(scene->mem, p->low, words, high - p->low);
	p->words = words;
	p->n_words = got / 8;
	return p->n_words != 0;
}

bool cs_panic_find(const struct cs_incident *in, struct cs_crash *ret)
{
	struct cs_panic p = {.in = in};

	if (!in->stack || !in->sp)
		return false;
	lay_out(in, &p);
	while (p.first < p.n && is_raising(&p.frames[p.first]))
		p.first++;
	if (p.first == p.n || !read_words(in->scene, &p))
		return false;
	return cs_panic_python(&p, ret) || cs_panic_rust(&p, ret) || cs_panic_log(&p, ret);
}

/** Whether @python has a runtime of CPython 3.8 or newer in the named phase. */
static const char *state_of(const struct cs_python_runtime *runtime)
{
	const char *minor = runtime->version && !strncmp(runtime->version, "3.", 2) ? runtime->version + 2
										    : "";

	if (strtoul(minor, NULL, 10) < 8 || !runtime->phase)
		return NULL;
	if (!strcmp(runtime->phase, "finalizing"))
		return "finalizing";
	return !strcmp(runtime->phase, "running") ? "initialized" : NULL;
}

void cs_panic_add_state(struct cs_arena *arena, const struct cs_python *python, struct cs_crash *crash)
{
	const char *state, *text;

	/* Which of two runtimes spoke is not known here. */
	if (python->n_runtimes != 1 || !crash->message_source ||
	    strcmp(crash->message_source, CS_SOURCE_PYTHON))
		return;
	state = state_of(&python->runtimes[0]);
	text = state ? cs_arena_printf(arena, "%s\nPython runtime state: %s", crash->message, state) : NULL;
	if (text)
		crash->message = text;
}
