/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Items of a stack made into frames of the model: what a native address means, what a Python frame shows,
 * and which native frames only carry Python calls. Knows nothing of how stacks are grouped or folded.
 */
#include "stack_frames.h"

#include "base/limits.h"
#include "base/text.h"
#include "python/state.h"
#include "source.h"

#include <string.h>
#include <strings.h>

struct cs_woven cs_stack_view_item(const struct cs_stack_view *v, size_t i)
{
	if (v->weave->items.n)
		return v->weave->items.v[i];
	return (struct cs_woven){.kind = CS_WOVEN_NATIVE, .index = (uint32_t)i};
}

static const struct cs_raw_frame *native_of(const struct cs_stack_view *v,
					    const struct cs_woven *item)
{
	return item->kind == CS_WOVEN_NATIVE || item->kind == CS_WOVEN_LOOP
		       ? &v->raw->frames[item->index]
		       : NULL;
}

static uint64_t lookup_of(const struct cs_raw_frame *f)
{
	/* A return address may be the first byte after its function, when that ends in a call. */
	return f->exact || f->pc == 0 ? f->pc : f->pc - 1;
}

struct cs_error *cs_frame_maker_init(struct cs_frame_maker *m, const struct cs_stack_input *input)
{
	*m = (struct cs_frame_maker){.input = input};
	return input->source ? cs_source_create(input->scene, input->sysroot, &m->source) : NULL;
}

void cs_frame_maker_deinit(struct cs_frame_maker *m)
{
	cs_source_destroy(m->source);
	free(m->locations.v);
}

struct cs_error *cs_frame_maker_want(struct cs_frame_maker *m, const struct cs_stack_view *v,
				     size_t i)
{
	struct cs_woven item = cs_stack_view_item(v, i);
	const struct cs_raw_frame *f = native_of(v, &item);
	struct cs_location l = {.lookup = f ? lookup_of(f) : 0};

	return f ? CS_PUSH(&m->locations, l, SIZE_MAX / sizeof(l), "locations") : NULL;
}

static int compare_locations(const void *a, const void *b)
{
	const struct cs_location *x = a, *y = b;

	return x->lookup < y->lookup ? -1 : x->lookup > y->lookup;
}

struct cs_error *cs_frame_maker_symbolize(struct cs_frame_maker *m)
{
	const struct cs_scene *scene = m->input->scene;
	size_t unique = 0;

	if (m->locations.n)
		qsort(m->locations.v, m->locations.n, sizeof(*m->locations.v), compare_locations);
	for (size_t i = 0; i < m->locations.n; i++)
		if (!unique || m->locations.v[unique - 1].lookup != m->locations.v[i].lookup)
			m->locations.v[unique++] = m->locations.v[i];
	m->locations.n = unique;
	return cs_symbolize(scene->modules, scene->arena, scene->diags, m->locations.v, unique);
}

static const struct cs_location *location_of(const struct cs_frame_maker *m,
					     const struct cs_raw_frame *f)
{
	struct cs_location key = {.lookup = lookup_of(f)};

	return bsearch(&key, m->locations.v, m->locations.n, sizeof(key), compare_locations);
}

size_t cs_frame_maker_count(const struct cs_frame_maker *m, const struct cs_stack_view *v, size_t i)
{
	struct cs_woven item = cs_stack_view_item(v, i);
	const struct cs_raw_frame *f = native_of(v, &item);

	return !f || f->signal ? 1 : 1 + location_of(m, f)->n_inlines;
}

/** What an address without module is: code made at run time, data, a mapped file, or nothing. */
static const char *place_of(const struct cs_scene *scene, uint64_t pc)
{
	const struct cs_region *region = cs_mem_region(scene->mem, pc);
	const struct cs_mapping *file = cs_mem_mapping(scene->mem, pc);
	bool executable = region && region->prot & CS_PROT_EXEC;
	char *path;

	if (!region && !file)
		return "not mapped";
	if (!file)
		return executable ? "code made at run time" : "memory without code";
	path = cs_text_utf8(scene->arena, file->path, strlen(file->path));
	return path && executable ? path : "data of a mapped file";
}

/** A function that Cython made says so in its name alone; its own name is what its author knows. */
static void name_cython(const struct cs_frame_maker *m, struct cs_frame *f)
{
	const char *name;

	if (!f->function || f->nearest || strncmp(f->function, "__pyx_", 6) != 0)
		return;
	name = cs_py_cython_name(m->input->scene->arena, f->function);
	if (name)
		f->short_name = name;
}

/** Raw frame @f: its inlined calls, innermost first, then itself. */
static size_t write_native(const struct cs_frame_maker *m, const struct cs_raw_frame *f, bool loop,
			   struct cs_frame *ret)
{
	const struct cs_location *l = location_of(m, f);
	struct cs_frame base = {
		.kind = CS_FRAME_NATIVE,
		.trust = f->trust,
		.address = f->pc,
		.module = l->module,
		.module_offset = l->module ? f->pc - l->module->bias : 0,
		.place = l->module ? NULL : place_of(m->input->scene, f->pc),
		.plumbing = loop,
	};
	size_t n = 0;

	if (f->signal) {
		base.kind = CS_FRAME_SIGNAL;
		base.function = "<signal handler called>";
		ret[n++] = base;
		return n;
	}
	for (size_t i = 0; i < l->n_inlines; i++) {
		const struct cs_inline_call *call = &l->inlines[i];

		ret[n] = base;
		ret[n].kind = CS_FRAME_INLINE;
		ret[n].function = call->function;
		ret[n].short_name = call->short_name;
		ret[n].file = call->file;
		ret[n].line = call->line;
		ret[n++].column = call->column;
	}
	base.function = l->function;
	base.short_name = l->short_name;
	base.offset = l->offset + (f->pc - l->lookup);
	base.nearest = l->nearest;
	base.file = l->file;
	base.line = l->line;
	base.column = l->column;
	name_cython(m, &base);
	ret[n++] = base;
	return n;
}

static struct cs_error *write_python(const struct cs_frame_maker *m, const struct cs_weave *weave,
				     const struct cs_woven *item, struct cs_frame *ret)
{
	const struct cs_py *py = weave->strands.v[item->strand].py;
	const struct cs_py_frame *frame = cs_woven_frame(weave, item);

	*ret = cs_py_frame_model(frame);
	ret->entry = item->entry;
	if (m->source)
		ret->source = cs_source_line(m->source, ret->file, ret->line);
	return m->input->locals ? cs_py_locals_read(py, frame, ret) : NULL;
}

struct cs_error *cs_frame_maker_write(const struct cs_frame_maker *m, const struct cs_stack_view *v,
				      size_t i, struct cs_frame *ret, size_t *ret_n)
{
	struct cs_woven item = cs_stack_view_item(v, i);
	const struct cs_raw_frame *f = native_of(v, &item);

	*ret_n = 1;
	if (f) {
		*ret_n = write_native(m, f, item.kind == CS_WOVEN_LOOP, ret);
		return NULL;
	}
	if (item.kind == CS_WOVEN_PYTHON)
		return write_python(m, v->weave, &item, ret);
	*ret = (struct cs_frame){
		.kind = CS_FRAME_GAP, .trust = CS_TRUST_RUNTIME, .function = v->weave->texts.v[item.index]};
	return NULL;
}

static void frames_source(const struct cs_frame_maker *m, const struct cs_frame *frames, size_t n)
{
	/* They are of the arena, and the analysis is not handed out yet. */
	struct cs_frame *own = (struct cs_frame *)(uintptr_t)frames;

	for (size_t i = 0; i < n; i++)
		own[i].source = cs_source_line(m->source, own[i].file, own[i].line);
}

/** Causes and contexts make a tree without loops, as deep as CS_MAX_PY_EXCEPTIONS. */
static void exception_source(const struct cs_frame_maker *m, const struct cs_exception *e)
{
	frames_source(m, e->frames, e->n_frames);
	if (e->cause)
		exception_source(m, e->cause);
	if (e->context)
		exception_source(m, e->context);
}

void cs_frame_maker_sources(const struct cs_frame_maker *m, struct cs_analysis *ret)
{
	if (!m->source)
		return;
	for (size_t i = 0; i < ret->n_exceptions; i++)
		exception_source(m, &ret->exceptions[i]);
	for (size_t i = 0; i < ret->python.n_tasks; i++)
		frames_source(m, ret->python.tasks[i].frames, ret->python.tasks[i].n_frames);
	for (size_t i = 0; i < ret->python.n_greenlets; i++)
		frames_source(m, ret->python.greenlets[i].frames,
			      ret->python.greenlets[i].n_frames);
}

/* ---- the interpreter's own frames ---- */

static bool is_plumbing(const struct cs_frame_maker *m, const struct cs_frame *f, bool python_further_in)
{
	const char *name = f->short_name ? f->short_name : f->function;

	if (f->kind != CS_FRAME_NATIVE && f->kind != CS_FRAME_INLINE)
		return false;
	/* Cython puts its helpers into each module that it makes. */
	if (f->function && !f->nearest && !strncasecmp(f->function, "__pyx_", 6))
		return cs_py_is_plumbing(f->function);
	if (!cs_pythons_own(m->input->pythons, f->module))
		return false;
	if (name && !f->nearest)
		return cs_py_is_plumbing(name) || cs_py_is_eval_loop(name);
	/* A stripped interpreter: what called a Python function is of no interest without its name. */
	return python_further_in;
}

/**
 * Code made at run time that is the interpreter's: a stub through which the loop was called (-X perf), or
 * what its compiler made of the Python function that it stands in front of.
 */
static bool is_made(const struct cs_frame *frames, size_t n, size_t i)
{
	if (frames[i].kind != CS_FRAME_NATIVE || frames[i].module || frames[i].function)
		return false;
	return (i && frames[i - 1].plumbing && frames[i - 1].kind == CS_FRAME_NATIVE) ||
	       (i + 1 < n && frames[i + 1].kind == CS_FRAME_PYTHON);
}

/** A Cython function's body and the wrapper around it are one function to its author: the body stays. */
static bool is_wrapper(struct cs_frame *frames, size_t i)
{
	if (!i || !frames[i].function || !frames[i - 1].function || frames[i].nearest ||
	    frames[i - 1].nearest || frames[i - 1].kind == CS_FRAME_PYTHON ||
	    !cs_py_cython_same(frames[i - 1].function, frames[i].function))
		return false;
	if (frames[i].short_name)
		frames[i - 1].short_name = frames[i].short_name;
	return true;
}

void cs_frame_maker_plumbing(const struct cs_frame_maker *m, struct cs_frame *frames, size_t n)
{
	bool python = false;

	for (size_t i = 0; i < n; i++) {
		python |= frames[i].kind == CS_FRAME_PYTHON || frames[i].plumbing;
		frames[i].plumbing = frames[i].plumbing || is_plumbing(m, &frames[i], python) ||
				     is_made(frames, n, i) || is_wrapper(frames, i);
	}
}
