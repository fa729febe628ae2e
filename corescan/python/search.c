/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes that no symbol leads to: the interpreter's file is missing, was replaced by another build, or is
 * part of a program that exports nothing. Knows what a runtime looks like in memory; refuses to guess: what
 * is not proven by the runtime's own words is not reported.
 *
 * One pass over the writable data of all modules looks for two marks. From 3.13 on _PyRuntime begins with a
 * cookie. Before, Py_GetVersion() leaves its text ("3.8.18 (default, ...") in static memory, beside
 * _PyRuntime (CPython: Python/getversion.c); with the version known, the head of the list of interpreters
 * is the word that leads to structures which point back to one another.
 */
#include "python/object.h"
#include "python/state.h"

#include "base/limits.h"
#include "symbols/elfhead.h"

#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#define PIECE 262144UL        /* bytes looked at in one go */
#define MAX_BSS (16UL << 20)  /* bytes behind the mappings of a module whose headers are not to be had */
#define MAX_SPANS 65536UL     /* writable ranges of all modules */
#define MAX_TEXTS 64UL        /* version texts of all modules */
#define MAX_FIRST 32          /* thread states of one interpreter whose links are checked */
#define MAX_LOOKED 1024       /* thread states of one interpreter asked for a thread that is there */
#define MAX_DAMAGED 4         /* cookies with damaged offsets behind them that are reported */
#define STATE_COST 512UL      /* looking at one thread state or interpreter counts as so many bytes */
#define DICT_COST (1UL << 20) /* and looking through sys.__dict__ */
#define UNLIKELY_SCAN (CS_MAX_PY_SCAN / 16) /* of a process in which no path speaks of Python */
#define MAX_TP_DISTANCE 4096UL /* aarch64: from pthread_self() up to the thread pointer */
#define FIRST_MINOR 6
#define LAST_SEARCHED 12      /* later versions have the cookie */

/* ---- does it look like an interpreter? ---- */

static bool is_pointer(uint64_t v)
{
	return v >= 4096 && v % 8 == 0 && v >> 56 == 0;
}

/** The word of @object's field; false where it is not to be had. */
static bool word_at(struct cs_mem *mem, uint64_t object, int32_t field, uint64_t *ret)
{
	return field != CS_ABSENT && object <= UINT64_MAX - (1U << 30) &&
	       cs_mem_u64(mem, object + (uint64_t)field, ret);
}

/** True if @v is what pthread_self() returns in one of the target's threads. */
static bool is_thread(const struct cs_target *t, uint64_t v)
{
	bool known = false;

	for (size_t i = 0; i < t->n_threads; i++) {
		uint64_t tp = t->threads[i].thread_pointer;

		known |= tp != 0;
		if (tp && (tp == v || (t->machine == EM_AARCH64 && tp > v &&
				       tp - v <= MAX_TP_DISTANCE)))
			return true;
	}
	return !known && is_pointer(v);
}

/** The frame that a thread state points to: none, or a pointer. 3.10 to 3.12: within its CFrame. */
static bool frame_fits(const struct cs_py *py, uint64_t tstate)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t v;

	if (l->tstate_frame != CS_ABSENT)
		return word_at(py->mem, tstate, l->tstate_frame, &v) && (!v || is_pointer(v));
	if (l->tstate_current_frame != CS_ABSENT)
		return word_at(py->mem, tstate, l->tstate_current_frame, &v) &&
		       (!v || is_pointer(v));
	return word_at(py->mem, tstate, l->tstate_cframe, &v) && is_pointer(v);
}

/** One thread state of @interp whose predecessor in the list is @prev. */
static bool tstate_fits(const struct cs_py *py, uint64_t interp, uint64_t tstate, uint64_t prev)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t owner, back;

	return is_pointer(tstate) && word_at(py->mem, tstate, l->tstate_interp, &owner) &&
	       owner == interp && word_at(py->mem, tstate, l->tstate_prev, &back) && back == prev &&
	       frame_fits(py, tstate);
}

/** Take @cost from @left; false once it is spent. */
static bool spend(uint64_t *left, uint64_t cost)
{
	*left -= CS_MIN(*left, cost);
	return *left > 0;
}

/** Links of the first thread states; @known_ret: one of them belongs to a thread of the target. */
static bool threads_fit(const struct cs_py *py, uint64_t interp, uint64_t first, uint64_t *left,
			bool *known_ret)
{
	const struct cs_target *t = cs_mem_target(py->mem);
	const struct cs_py_layout *l = &py->layout;
	uint64_t at = first, prev = 0, id;

	*known_ret = false;
	for (int i = 0; at && i < MAX_LOOKED; i++) {
		if (!spend(left, STATE_COST) ||
		    (i < MAX_FIRST && !tstate_fits(py, interp, at, prev)))
			return false;
		if (word_at(py->mem, at, l->tstate_thread_id, &id) && is_thread(t, id))
			*known_ret = true;
		if (i >= MAX_FIRST && *known_ret)
			break;
		prev = at;
		if (!word_at(py->mem, at, l->tstate_next, &at))
			break;
	}
	return true;
}

/** @interp has the shape of an interpreter; @known_ret: and one of its threads is there. */
static bool interp_fits(const struct cs_py *py, uint64_t interp, uint64_t *left, bool *known_ret)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t first, next, id;

	*known_ret = false;
	if (!is_pointer(interp) || !word_at(py->mem, interp, l->interp_threads_head, &first) ||
	    !word_at(py->mem, interp, l->interp_next, &next))
		return false;
	if ((first && !is_pointer(first)) || (next && !is_pointer(next)))
		return false;
	if (l->interp_id != CS_ABSENT &&
	    (!word_at(py->mem, interp, l->interp_id, &id) || id > UINT32_MAX))
		return false;
	return spend(left, STATE_COST) && threads_fit(py, interp, first, left, known_ret);
}

/**
 * sys.modules and its sisters must be dicts: in a debug build of 3.6 and 3.7 interpreters and threads are
 * where they always are, but every object begins two words later. What cannot be read is no evidence.
 */
static bool objects_fit(const struct cs_py *py, uint64_t interp)
{
	const struct cs_py_layout *l = &py->layout;
	const int32_t fields[] = {l->interp_modules, l->interp_sysdict, l->interp_builtins};
	bool seen = false;

	for (size_t i = 0; i < CS_COUNT(fields); i++) {
		uint64_t object, type, flags;

		if (!word_at(py->mem, interp, fields[i], &object) || !object ||
		    !word_at(py->mem, object, l->object_type, &type))
			continue;
		if (cs_py_is(py, object, CS_PY_DICT))
			return true;
		seen |= !is_pointer(type) || word_at(py->mem, type, l->type_flags, &flags);
	}
	return !seen;
}

bool cs_py_interp_plausible(const struct cs_py *py, uint64_t interp)
{
	uint64_t first, left = CS_MAX_PY_SCAN;
	bool known;

	/* One without any thread state proves nothing. */
	return interp_fits(py, interp, &left, &known) &&
	       word_at(py->mem, interp, py->layout.interp_threads_head, &first) && first &&
	       objects_fit(py, interp);
}

/* ---- what is searched ---- */

/** Writable memory of one module. */
struct span {
	uint64_t start;
	uint64_t end; /* exclusive */
	struct cs_mod *module; /* NULL: of none */
};

/** A text of Py_GetVersion(). */
struct text {
	uint32_t version; /* PY_VERSION_HEX */
	struct cs_mod *module;
	uint64_t address;
};

struct shape;

struct search {
	const struct cs_scene *scene;
	struct cs_py_found *found; /* the caller's, of which *n are filled */
	size_t max;
	size_t *n;
	uint8_t *piece; /* owned; PIECE bytes */
	uint64_t left;  /* bytes that may still be searched; following pointers costs some, too */
	size_t n_steps; /* regions looked at */
	size_t n_damaged; /* cookies with damaged offsets */
	CS_VEC(struct span) spans; /* owned; by module */
	size_t first_span;         /* of the module that is searched now */
	CS_VEC(struct text) texts; /* owned */
	unsigned minors; /* bit n: something in the process is for 3.n */
	struct shape *shape; /* what is searched for now */
};

static void search_deinit(struct search *s)
{
	free(s->piece);
	free(s->spans.v);
	free(s->texts.v);
}

/** Where the image of @mod ends, zero-initialised data included. */
static uint64_t image_end(const struct cs_scene *scene, struct cs_mod *mod)
{
	const struct cs_module *pub = cs_mod_public(mod);
	uint64_t page = cs_mem_target(scene->mem)->page_size, bias, end = 0;
	struct cs_elf_head head = {0};

	if (cs_ok(cs_elf_head_of_memory(scene->mem, pub->start, page ? page : 4096, &head, &bias)))
		end = bias + head.high;
	cs_elf_head_deinit(&head);
	return end > pub->start ? CS_MAX(end, pub->end)
				: pub->end + CS_MIN(MAX_BSS, UINT64_MAX - pub->end);
}

/** The saved writable memory of @mod: its mappings, and pages between and behind them of no one else. */
static struct cs_error *add_spans(struct search *s, struct cs_mod *mod)
{
	const struct cs_target *t = cs_mem_target(s->scene->mem);
	uint64_t end = image_end(s->scene, mod), start = cs_mod_public(mod)->start;
	const struct cs_region *r = cs_mem_region(s->scene->mem, start);

	for (; r && r < t->regions + t->n_regions && r->start < end; r++) {
		struct cs_mod *other = cs_modules_find(s->scene->modules, r->start);
		struct span span = {CS_MAX(r->start, start), CS_MIN(r->saved_end, end), mod};

		if (s->spans.n == MAX_SPANS || ++s->n_steps > CS_MAX_REGION_STEPS)
			break;
		if (!(r->prot & CS_PROT_WRITE) || span.start >= span.end ||
		    (other && other != mod) ||
		    (!other && cs_mem_mapping(s->scene->mem, r->start)))
			continue;
		CS_TRY(CS_PUSH(&s->spans, span, MAX_SPANS, "writable ranges of modules"));
	}
	return NULL;
}

/** Memory in no module: an interpreter that was unpacked into anonymous memory. */
static struct cs_error *add_other_spans(struct search *s)
{
	const struct cs_target *t = cs_mem_target(s->scene->mem);

	for (size_t i = 0; i < t->n_regions && s->spans.n < MAX_SPANS; i++) {
		const struct cs_region *r = &t->regions[i];
		struct span span = {r->start, r->saved_end, NULL};

		if ((r->prot & CS_PROT_WRITE) && span.start < span.end &&
		    !cs_modules_find(s->scene->modules, r->start))
			CS_TRY(CS_PUSH(&s->spans, span, MAX_SPANS, "writable ranges"));
	}
	return NULL;
}

/* ---- going over words ---- */

/** @at is aligned to 8, @left bytes from @p on are readable. */
typedef struct cs_error *word_fn(struct search *s, const struct span *span, uint64_t at,
				 const uint8_t *p, size_t left);

/**
 * Give every aligned word of @span that @wanted takes to @fn. Pieces overlap by what a mark needs, so that
 * none is cut in two.
 */
static struct cs_error *for_words(struct search *s, const struct span *span,
				  bool (*wanted)(uint64_t word), word_fn *fn)
{
	const size_t overlap = 64;
	uint64_t at = (span->start + 7) & ~7ULL;

	while (at < span->end && s->left && *s->n < s->max) {
		size_t want = (size_t)CS_MIN(span->end - at, (uint64_t)PIECE);
		size_t got = cs_mem_read_some(s->scene->mem, at, s->piece, want);
		size_t last = got == want && span->end - at > want ? got - overlap : got;

		for (size_t i = 0; i + 8 <= got && i < last; i += 8) {
			uint64_t word;

			memcpy(&word, s->piece + i, sizeof(word));
			if (wanted(le64toh(word)))
				CS_TRY(fn(s, span, at + i, s->piece + i, got - i));
		}
		(void)spend(&s->left, want);
		/* Behind memory that cannot be read: at the next page. */
		at = got == want ? at + CS_MAX(last, (size_t)8) : ((at + got) | 4095) + 1;
		if (at < span->start)
			break;
	}
	return NULL;
}

/* ---- the two marks ---- */

/** First bytes of the cookie, or of "3.": both are rare among the words of data. */
static bool is_mark(uint64_t word)
{
	uint64_t cookie;

	memcpy(&cookie, CS_PY_COOKIE, sizeof(cookie));
	return word == le64toh(cookie) || (word & 0xffff) == ('3' | '.' << 8);
}

/** PY_VERSION_HEX of a text like "3.8.18 (default, ..."; 0: it is none. */
static uint32_t parse_version(const char *text)
{
	unsigned minor, micro, serial = 0, level = 0xf;
	int n = 0;
	const char *p;

	if (!isdigit((unsigned char)text[2]) ||
	    sscanf(text, "3.%3u.%3u%n", &minor, &micro, &n) != 2 || !n || minor > 255 || micro > 255)
		return 0;
	p = text + n;
	if (*p == 'a' || *p == 'b' || *p == 'r') {
		level = *p == 'a' ? 0xa : *p == 'b' ? 0xb : 0xc;
		p += *p == 'r' ? 2 : 1;
		if (!isdigit((unsigned char)*p))
			return 0;
		serial = (unsigned)strtoul(p, NULL, 10) & 0xf;
		p += strspn(p, "0123456789");
	}
	p += *p == '+'; /* a build from a repository */
	if (p[0] != ' ' || p[1] != '(')
		return 0;
	return 3U << 24 | minor << 16 | micro << 8 | level << 4 | serial;
}

static bool is_found(const struct search *s, uint64_t runtime)
{
	for (size_t i = 0; i < *s->n; i++)
		if (s->found[i].runtime == runtime)
			return true;
	return false;
}

/** True if the runtime of @mod is known already. */
static bool has_runtime(const struct search *s, const struct cs_mod *mod)
{
	for (size_t i = 0; i < *s->n; i++)
		if (s->found[i].module == mod)
			return true;
	return false;
}

static const char *place_name(const struct span *span)
{
	return span->module ? cs_mod_public(span->module)->name : "memory outside of modules";
}

static void add_found(struct search *s, const struct cs_py_found *found)
{
	if (*s->n < s->max && !is_found(s, found->runtime))
		s->found[(*s->n)++] = *found;
}

/** A runtime that never ran has no interpreter; a copy of the cookie has something else there. */
static bool has_interpreter(const struct search *s, const struct cs_py_found *found)
{
	struct cs_py py = {.scene = s->scene,
			   .mem = s->scene->mem,
			   .arena = s->scene->arena,
			   .layout = found->layout};
	uint64_t head, first;

	if (!word_at(py.mem, found->runtime, found->layout.runtime_interpreters_head, &head) ||
	    !is_pointer(head))
		return false;
	/* What cannot be read speaks neither for it nor against it. */
	if (!word_at(py.mem, head, found->layout.interp_threads_head, &first) || !first)
		return true;
	return is_pointer(first) && (!word_at(py.mem, first, found->layout.tstate_interp, &first) ||
				     first == head);
}

static void take_cookie(struct search *s, const struct span *span, uint64_t at)
{
	struct cs_py_found found = {.module = span->module, .runtime = at};
	struct cs_error *err;

	if (is_found(s, at))
		return;
	err = cs_py_layout_published(s->scene->mem, at, cs_mem_target(s->scene->mem)->machine,
				     &found.layout);
	if (err && ++s->n_damaged > MAX_DAMAGED) {
		cs_error_destroy(err);
		return;
	}
	if (err) {
		cs_diag_error(s->scene->diags, CS_SEVERITY_WARNING, "python", "layout-damaged", 0,
			      cs_error_prefix(err, "%s", place_name(span)));
		return;
	}
	if (!has_interpreter(s, &found))
		return;
	found.how = cs_arena_printf(s->scene->arena, "its cookie in the data of %s",
				    place_name(span));
	add_found(s, &found);
}

static struct cs_error *take_mark(struct search *s, const struct span *span, uint64_t at,
				  const uint8_t *p, size_t left)
{
	char copy[48];
	struct text text = {.module = span->module, .address = at};
	size_t len = CS_MIN(left, sizeof(copy) - 1);

	if (p[0] == 'x') {
		take_cookie(s, span, at);
		return NULL;
	}
	memcpy(copy, p, len);
	copy[len] = '\0';
	text.version = parse_version(copy);
	if (!text.version || !span->module || s->texts.n == MAX_TEXTS)
		return NULL;
	return CS_PUSH(&s->texts, text, MAX_TEXTS, "version texts");
}

/* ---- 3.6 to 3.12: the shape of the structures ---- */

/** What the search for one version in one module has come to. */
struct shape {
	struct cs_py py;
	uint32_t version; /* exact; 0: only its minor is known, the interpreter has to say it */
	uint64_t runtime, interp;
	size_t n_interps; /* that the list has */
};

/** sys.hexversion, 0 where it cannot be read. */
static uint32_t hexversion(const struct cs_py *py, uint64_t interp)
{
	uint64_t dict = cs_py_get(py, interp, py->layout.interp_sysdict);
	int64_t value;

	if (!dict || !cs_py_int(py, cs_py_dict_get(py, dict, "hexversion"), &value) || value < 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/**
 * Go over the list of interpreters from @head to its end: every one must fit, and a thread of one of them
 * be there. @last_ret is the oldest, which is the main one.
 */
static bool list_fits(const struct cs_py *py, uint64_t head, uint64_t *left, uint64_t *last_ret,
		      size_t *n_ret)
{
	bool any = false, known;
	size_t n = 0;

	for (uint64_t at = head; at; n++) {
		if (n == CS_MAX_PY_INTERPRETERS || !interp_fits(py, at, left, &known))
			return false;
		any |= known;
		*last_ret = at;
		if (!word_at(py->mem, at, py->layout.interp_next, &at))
			return false;
	}
	*n_ret = n;
	return any;
}

/** The main interpreter has id 0, and the runtime names it right behind the head of the list. */
static bool main_fits(const struct cs_py *py, uint64_t runtime, uint64_t last)
{
	uint64_t id, named;

	return word_at(py->mem, runtime, py->layout.runtime_interpreters_main, &named) &&
	       named == last && word_at(py->mem, last, py->layout.interp_id, &id) && id == 0;
}

/** The version must be what the interpreter itself says; where it says nothing, what its text says. */
static bool version_proven(struct shape *shape, uint64_t interp)
{
	uint32_t said;

	if (!objects_fit(&shape->py, interp))
		return false;
	said = hexversion(&shape->py, interp);
	if (!said)
		return shape->version != 0;
	if (said >> 16 != shape->py.layout.version >> 16 ||
	    (shape->version && said != shape->version))
		return false;
	shape->version = said;
	return true;
}

/** @at holds the head of the list of interpreters, if what it leads to fits. */
static struct cs_error *take_head(struct search *s, const struct span *span, uint64_t at,
				  const uint8_t *p, size_t left)
{
	struct shape *shape = s->shape;
	const struct cs_py_layout *l = &shape->py.layout;
	uint64_t head, second, last, runtime = at;
	size_t n;

	(void)span;
	memcpy(&head, p, sizeof(head));
	head = le64toh(head);
	if (l->minor > FIRST_MINOR) {
		runtime = at - (uint64_t)l->runtime_interpreters_head;
		/* The main interpreter comes next in all versions; without one it cannot be it. */
		if (left >= 16) {
			memcpy(&second, p + 8, sizeof(second));
			if (!is_pointer(le64toh(second)))
				return NULL;
		}
	}
	if (!list_fits(&shape->py, head, &s->left, &last, &n) || n <= shape->n_interps ||
	    (l->minor > FIRST_MINOR && !main_fits(&shape->py, runtime, last)) ||
	    !spend(&s->left, DICT_COST) || !version_proven(shape, last))
		return NULL;
	/* 3.6 has several words that point to interpreters: the head is the one that leads to most. */
	shape->runtime = runtime;
	shape->interp = head;
	shape->n_interps = n;
	return NULL;
}

/** Search the data of @mod for a runtime of 3.@minor, of @version if that is not 0. */
static struct cs_error *search_shape(struct search *s, struct cs_mod *mod, unsigned minor,
				     uint32_t version)
{
	struct shape shape = {.version = version};
	struct cs_py_found found = {.module = mod};

	if (!cs_py_layout_table(version ? version : 3U << 24 | minor << 16, false,
				cs_mem_target(s->scene->mem)->machine, &found.layout))
		return NULL;
	shape.py = (struct cs_py){.scene = s->scene,
				  .mem = s->scene->mem,
				  .arena = s->scene->arena,
				  .layout = found.layout,
				  .module = mod};
	s->shape = &shape;
	for (size_t i = s->first_span; i < s->spans.n && s->spans.v[i].module == mod; i++)
		CS_TRY(for_words(s, &s->spans.v[i], is_pointer, take_head));
	s->shape = NULL;
	if (!shape.n_interps)
		return NULL;
	found.runtime = shape.runtime;
	found.interp = shape.interp;
	found.layout.version = shape.version;
	found.how = cs_arena_printf(s->scene->arena, "the shape of its structures in the data of %s",
				    cs_mod_public(mod)->name);
	add_found(s, &found);
	return NULL;
}

/* ---- what names tell ---- */

/** The minor version behind @prefix in @path, e.g. "python3."; 0: none. */
static unsigned minor_behind(const char *path, const char *prefix)
{
	const char *at = strstr(path, prefix);
	unsigned minor = 0;

	if (!at || !isdigit((unsigned char)at[strlen(prefix)]) ||
	    sscanf(at + strlen(prefix), "%2u", &minor) != 1)
		return 0;
	return minor < 32 ? minor : 0;
}

/** "libpython3.8.so.1.0", "python3.8"; 0: no interpreter by its name. */
static unsigned minor_of_module(const struct cs_module *m)
{
	unsigned minor = minor_behind(m->name, "python3.");

	return minor && !strstr(m->name, ".cpython-") ? minor : 0;
}

/** Versions that something in the process was built for: folders of the library, extension modules. */
static unsigned minors_of_paths(const struct cs_scene *scene)
{
	const struct cs_target *t = cs_mem_target(scene->mem);
	unsigned minors = 0, minor;

	for (size_t i = 0; i < t->n_mappings; i++) {
		const char *path = t->mappings[i].path;

		if (i && path == t->mappings[i - 1].path)
			continue;
		minor = minor_behind(path, ".cpython-3");
		minors |= minor ? 1U << minor : 0;
		minor = minor_behind(path, "python3.");
		minors |= minor ? 1U << minor : 0;
	}
	return minors;
}

/* ---- one module after the other ---- */

static struct cs_error *search_texts(struct search *s, struct cs_mod *mod)
{
	for (size_t i = 0; i < s->texts.n && !has_runtime(s, mod); i++) {
		const struct text *t = &s->texts.v[i];

		if (t->module == mod)
			CS_TRY(search_shape(s, mod, t->version >> 16 & 0xff, t->version));
	}
	return NULL;
}

/** Where the text is lost: versions that names speak for, if the interpreter itself confirms them. */
static struct cs_error *search_named(struct search *s, struct cs_mod *mod)
{
	unsigned own = minor_of_module(cs_mod_public(mod)), minors = own ? 1U << own : 0;

	if (!own && mod == cs_modules_executable(s->scene->modules))
		minors = s->minors;
	for (unsigned minor = FIRST_MINOR; minor <= LAST_SEARCHED; minor++)
		if ((minors >> minor & 1) && !has_runtime(s, mod))
			CS_TRY(search_shape(s, mod, minor, 0));
	return NULL;
}

static struct cs_error *search_modules(struct search *s)
{
	for (size_t i = 0; i < cs_modules_count(s->scene->modules); i++) {
		struct cs_mod *mod = cs_modules_at(s->scene->modules, i);

		CS_TRY(search_texts(s, mod));
		CS_TRY(search_named(s, mod));
		while (s->first_span < s->spans.n && s->spans.v[s->first_span].module == mod)
			s->first_span++;
	}
	return NULL;
}

static struct cs_error *search_marks(struct search *s)
{
	for (size_t i = 0; i < s->spans.n; i++)
		if (!has_runtime(s, s->spans.v[i].module) || !s->spans.v[i].module)
			CS_TRY(for_words(s, &s->spans.v[i], is_mark, take_mark));
	return NULL;
}

/* ---- what is said about it ---- */

static bool has_file(const struct cs_module *m)
{
	return m->file_state == CS_FILE_VERIFIED || m->file_state == CS_FILE_UNVERIFIED;
}

static const char *give(const struct search *s, struct cs_mod *mod)
{
	return mod == cs_modules_executable(s->scene->modules) ? "--exe FILE or --lib-path DIR"
							       : "--lib-path DIR";
}

static const char *file_problem(const struct cs_module *m)
{
	return m->file_state == CS_FILE_MISMATCH ? "was replaced by another build"
						 : "is not on this machine";
}

static void report_found(const struct search *s, size_t first)
{
	for (size_t i = first; i < *s->n; i++) {
		struct cs_mod *mod = s->found[i].module;
		const struct cs_module *m = mod ? cs_mod_public(mod) : NULL;

		if (m && !has_file(m))
			cs_diag(s->scene->diags, CS_SEVERITY_NOTE, "python", "python-file", 0,
				"the file of the interpreter, %s, %s; its runtime was found by %s. "
				"What only the file tells is lacking: names of native functions and "
				"of some types; give the original with %s",
				m->path, file_problem(m), s->found[i].how, give(s, mod));
	}
}

static const char *text_of(const struct search *s, const struct cs_mod *mod)
{
	for (size_t i = 0; i < s->texts.n; i++)
		if (s->texts.v[i].module == mod)
			return cs_arena_printf(s->scene->arena, "CPython 3.%u.%u",
					       s->texts.v[i].version >> 16 & 0xff,
					       s->texts.v[i].version >> 8 & 0xff);
	return NULL;
}

/** The module that should have held a runtime; false: it does not look like an interpreter. */
static bool report_module(const struct search *s, struct cs_mod *mod)
{
	const struct cs_module *m = cs_mod_public(mod);
	const char *what = text_of(s, mod);
	unsigned minor = minor_of_module(m);

	if (!what && !minor)
		return false;
	if (!what)
		what = cs_arena_printf(s->scene->arena, "CPython 3.%u", minor);
	if (!has_file(m))
		cs_diag(s->scene->diags, CS_SEVERITY_WARNING, "python", "python-not-found", 0,
			"%s was in the process, but there are no Python frames: its file %s %s, and "
			"its structures were not recognised in what the core saved; give the "
			"original with %s", what, m->path, file_problem(m), give(s, mod));
	else
		cs_diag(s->scene->diags, CS_SEVERITY_WARNING, "python", "python-not-found", 0,
			"%s was in the process, but there are no Python frames: neither a symbol of "
			"%s nor the shape of its structures leads to its interpreters. If it is a "
			"debug or changed build, give its debug information with --debug-dir DIR",
			what, m->path);
	return true;
}

static void report_nothing(const struct search *s)
{
	bool any = false;

	for (size_t i = 0; i < cs_modules_count(s->scene->modules); i++)
		any |= report_module(s, cs_modules_at(s->scene->modules, i));
	if (any || !s->minors)
		return;
	for (unsigned minor = 0; minor < 32; minor++)
		if (s->minors >> minor & 1)
			cs_diag(s->scene->diags, CS_SEVERITY_WARNING, "python",
				"python-not-found", 0,
				"files of CPython 3.%u are mapped, but no interpreter was recognised: "
				"if the program holds it, give the original program with --exe FILE",
				minor);
}

struct cs_error *cs_py_search(const struct cs_scene *scene, struct cs_py_found *found, size_t max,
			      size_t *n)
{
	CS_CLEANUP(search_deinit) struct search s = {
		.scene = scene, .found = found, .max = max, .n = n, .left = CS_MAX_PY_SCAN};
	size_t before = *n;

	s.piece = malloc(PIECE);
	if (!s.piece)
		return &cs_nomem;
	s.minors = minors_of_paths(scene);
	if (!s.minors)
		s.left = UNLIKELY_SCAN;
	for (size_t i = 0; i < cs_modules_count(scene->modules); i++)
		CS_TRY(add_spans(&s, cs_modules_at(scene->modules, i)));
	CS_TRY(search_marks(&s));
	CS_TRY(search_modules(&s));
	if (!*n && s.minors >> (LAST_SEARCHED + 1)) {
		s.spans.n = 0;
		CS_TRY(add_other_spans(&s));
		CS_TRY(search_marks(&s));
	}
	report_found(&s, before);
	if (!*n)
		report_nothing(&s);
	if (!s.left && s.minors)
		cs_diag(scene->diags, CS_SEVERITY_WARNING, "python", "python-search-limit", 0,
			"the search for an interpreter ended after %lu bytes (CS_MAX_PY_SCAN)",
			CS_MAX_PY_SCAN);
	return NULL;
}
