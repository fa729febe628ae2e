/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The offsets that CPython 3.13 and later publish about themselves: _Py_DebugOffsets, at the start of
 * _PyRuntime. Knows the order of its words and what they may be; takes every one of them to be hostile.
 */
#include "python/layout.h"

#include <stddef.h>
#include <string.h>

#define MAX_STRUCT (1U << 20)      /* bytes of the largest structures; _PyRuntime has 400 KiB */
#define MAX_LOCK 1024              /* bytes of the interpreter's lock; 3.15 has 224 */
#define NONE SIZE_MAX
#define N_FIXED 2                  /* version, free_threaded: the same words in all versions */

enum word {
#define D(since, object, field, ours) W_##object##_##field,
#include "symbols/layouts/cpython_published.def"
#undef D
	N_WORDS
};

static const struct {
	unsigned since;
	const char *object; /* "thread_state" */
	const char *field;
	size_t ours; /* position in struct cs_py_layout, or NONE */
} words[] = {
#define OURS(field) offsetof(struct cs_py_layout, field)
#define D(since_minor, object_name, field_name, our_position)                            \
	{.since = (since_minor),                                                         \
	 .object = #object_name,                                                         \
	 .field = #field_name,                                                           \
	 .ours = (our_position)},
#include "symbols/layouts/cpython_published.def"
#undef D
};
struct published {
	uint64_t value[N_WORDS];
	bool present[N_WORDS];
	unsigned minor;
};

static struct cs_error *read_words(struct cs_mem *mem, uint64_t at, struct published *p)
{
	uint64_t raw[N_WORDS];
	size_t n = 0, next = 0;

	for (size_t i = 0; i < N_WORDS; i++)
		n += words[i].since <= p->minor;
	CS_TRY(cs_mem_read(mem, at, raw, n * sizeof(raw[0]), NULL));
	for (size_t i = 0; i < N_WORDS; i++) {
		p->present[i] = words[i].since <= p->minor;
		if (p->present[i])
			p->value[i] = raw[next++];
	}
	return NULL;
}

/** The size word of the structure that word @i belongs to; 0: none is published. */
static uint64_t size_of(const struct published *p, size_t i)
{
	for (size_t s = 0; s < N_WORDS; s++)
		if (p->present[s] && !strcmp(words[s].field, "size") &&
		    !strcmp(words[s].object, words[i].object))
			return p->value[s];
	return 0;
}

/** Sizes: of the structure itself, or of another one (asciiobject_size). */
static bool is_size(size_t i)
{
	const char *field = words[i].field;
	size_t len = strlen(field);

	return len >= 4 && !strcmp(field + len - 4, "size") && strcmp(field, "ob_size") != 0;
}

static struct cs_error *bad_word(size_t i, uint64_t value, const char *why)
{
	return cs_error_new(CS_ERR_FORMAT,
			    "_Py_DebugOffsets.%s.%s is 0x%llx, %s: the offsets that the runtime "
			    "publishes are damaged",
			    words[i].object, words[i].field, (unsigned long long)value, why);
}

static struct cs_error *check_word(const struct published *p, size_t i)
{
	uint64_t value = p->value[i], size = size_of(p, i);

	if (value > MAX_STRUCT)
		return bad_word(i, value, "larger than any structure of CPython");
	if (is_size(i) && (!value || value % 8))
		return bad_word(i, value, "no size of a structure");
	if ((i == W_interpreter_state_gc || i == W_interpreter_state_gil_runtime_state) && value % 8)
		return bad_word(i, value, "not aligned");
	/*
	 * Also where an array ends the structure: its size counts one item, or what comes before. A str
	 * begins with the smaller structures that it gives the sizes of; gc's other size is elsewhere.
	 */
	if (!strcmp(words[i].field, "size") || i == W_gc_generation_stats_size)
		return NULL;
	if (size && value >= size)
		return bad_word(i, value, "outside its structure");
	return NULL;
}

static struct cs_error *check_words(const struct published *p)
{
	for (size_t i = N_FIXED; i < N_WORDS; i++)
		if (p->present[i])
			CS_TRY(check_word(p, i));
	return NULL;
}

/** Fields that hold a pointer or a size must be aligned to 8. */
static struct cs_error *check_alignment(const struct cs_py_layout *layout)
{
	for (size_t i = 0; i < cs_py_n_fields; i++) {
		const struct cs_py_field *f = &cs_py_fields[i];
		int32_t at = *(const int32_t *)(const void *)((const char *)layout + f->position);

		if (f->bytes >= 4 && at != CS_ABSENT &&
		    at % (f->bytes >= 8 ? 8 : (int)f->bytes) != 0)
			return cs_error_new(CS_ERR_FORMAT,
					    "the runtime publishes offset %d for %s, which is not "
					    "aligned: its offsets are damaged",
					    at, f->declared);
	}
	return NULL;
}

static void override(const struct published *p, struct cs_py_layout *layout)
{
	uint64_t gc = p->value[W_interpreter_state_gc];

	for (size_t i = 0; i < N_WORDS; i++) {
		int32_t *ours;

		if (!p->present[i] || words[i].ours == NONE)
			continue;
		ours = cs_py_layout_at(layout, words[i].ours);
		/* A field that only builds without a GIL have is published as 0 by the others. */
		if (p->value[i] || *ours != CS_ABSENT)
			*ours = (int32_t)p->value[i];
	}
	/* These are relative to the collector's state, which lies in the interpreter. */
	layout->interp_gc_collecting = (int32_t)(gc + p->value[W_gc_collecting]);
	if (p->present[W_gc_frame])
		layout->interp_gc_frame = (int32_t)(gc + p->value[W_gc_frame]);
	/* The lock's own fields are given from the interpreter on. */
	layout->gil_last_holder = (int32_t)(p->value[W_interpreter_state_gil_runtime_state_holder] -
					    p->value[W_interpreter_state_gil_runtime_state]);
	layout->gil_locked = (int32_t)(p->value[W_interpreter_state_gil_runtime_state_locked] -
				       p->value[W_interpreter_state_gil_runtime_state]);
	/* Builds with a GIL have no copies of bytecode, and publish 0. */
	if (!layout->free_threaded) {
		layout->code_tlbc = CS_ABSENT;
		layout->frame_tlbc_index = CS_ABSENT;
	}
	/* _PyThreadStateImpl goes on with this behind the thread state, which 3.13.1 made larger. */
	if (p->minor == 13)
		layout->tstate_running_loop = layout->tstate_size;
	layout->source = CS_LAYOUT_PUBLISHED;
}

/** The gil_* words must lie in the lock, for they are subtracted. */
static struct cs_error *check_lock(const struct published *p)
{
	static const enum word in_lock[] = {W_interpreter_state_gil_runtime_state_locked,
					    W_interpreter_state_gil_runtime_state_holder};
	uint64_t lock = p->value[W_interpreter_state_gil_runtime_state];

	for (size_t i = 0; i < CS_COUNT(in_lock); i++)
		if (p->value[in_lock[i]] < lock || p->value[in_lock[i]] - lock > MAX_LOCK)
			return bad_word(in_lock[i], p->value[in_lock[i]], "outside the lock");
	return NULL;
}

struct cs_error *cs_py_layout_published(struct cs_mem *mem, uint64_t runtime, uint16_t machine,
					struct cs_py_layout *ret)
{
	struct {
		char cookie[8];
		uint64_t version, free_threaded;
	} head;
	struct published p = {0};
	struct cs_py_layout layout;

	CS_TRY(cs_mem_read(mem, runtime, &head, sizeof(head), NULL));
	if (memcmp(head.cookie, CS_PY_COOKIE, sizeof(head.cookie)) != 0)
		return &cs_not_found;
	if (head.version >> 32 || head.free_threaded > 1)
		return cs_error_new(CS_ERR_FORMAT,
				    "_Py_DebugOffsets.version is 0x%llx, free_threaded %llu: the "
				    "offsets that the runtime publishes are damaged",
				    (unsigned long long)head.version,
				    (unsigned long long)head.free_threaded);
	p.minor = (unsigned)(head.version >> 16 & 0xff);
	if (p.minor < 13 || !cs_py_layout_table((uint32_t)head.version, head.free_threaded,
						machine, &layout))
		return cs_error_new(CS_ERR_UNSUPPORTED,
				    "CPython %u.%u is not known to this version of corescan",
				    (unsigned)(head.version >> 24), p.minor);
	CS_TRY(read_words(mem, runtime + sizeof(head.cookie), &p));
	CS_TRY(check_words(&p));
	CS_TRY(check_lock(&p));
	override(&p, &layout);
	CS_TRY(check_alignment(&layout));
	*ret = layout;
	return NULL;
}
