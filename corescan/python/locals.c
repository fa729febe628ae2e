/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of the local variables of a frame. Knows where each version has their names,
 * their kinds and their slots; refuses the names of modules and class bodies, which are
 * in dicts.
 */
#include "base/limits.h"
#include "python/repr.h"
#include "python/state.h"
#include "python/value.h"

#include <string.h>

#define CODE_OPTIMIZED 0x1 /* locals in slots (CPython: Include/cpython/code.h) */
#define CODE_VARARGS 0x4
#define CODE_VARKEYWORDS 0x8
#define KIND_CELL 0x40 /* co_localspluskinds (CPython: pycore_code.h) */
#define KIND_FREE 0x80

/** One frame's variables while they are read. */
struct locals {
	const struct cs_py *py;
	uint64_t code, slots;
	uint64_t n_arguments;
	struct cs_python_variable *v;
	size_t n, max;
};

/* ---- one variable ---- */

/** The object in slot @address; false: the slot could not be read. An int in a tag goes
 * into @tagged. */
static bool slot_read(const struct cs_py *py, uint64_t address, uint64_t *object,
		      int64_t *tagged, bool *is_tagged)
{
	uint64_t w;

	*is_tagged = false;
	if (!cs_py_u64(py, address, 0, &w))
		return false;
	if (py->layout.minor >= 14) {
		/* _PyStackRef: 1 and 0 are NULL, 3 in the low bits marks a small int
		 * (pycore_stackref.h). */
		if ((w & 3) == 3) {
			*tagged = (int64_t)w >> 2;
			*is_tagged = true;
			return true;
		}
		if ((w & 3) == 2) /* 3.15: what is no object */
			return false;
		w &= ~3UL;
	}
	*object = w;
	return true;
}

/** True if @object is a cell: by its name, or by its shape where the name is not to be
 * had. */
static bool is_cell(const struct cs_py *py, uint64_t object)
{
	uint64_t type = cs_py_type(py, object), basic, item;
	const char *name = cs_py_type_name(py, type);

	if (name)
		return strcmp(name, "cell") == 0;
	return type && !cs_py_type_has(py, type, CS_PY_HEAPTYPE) &&
	       cs_py_type_size(py, type, &basic, &item) && !item &&
	       basic == (uint64_t)CS_MAX(py->layout.cell_ref, 0) + 8;
}

/** repr() of what is in the slot, in the arena; NULL: nothing is bound. @cell: look into
 * a cell. */
static struct cs_error *value_of(const struct locals *l, const char *name,
				 uint64_t address, bool cell, const char **ret)
{
	struct cs_strbuf text;
	uint64_t object = 0;
	int64_t tagged = 0;
	bool is_tagged;

	*ret = NULL;
	cs_strbuf_init(&text, CS_MAX_PY_REPR);
	if (!slot_read(l->py, address, &object, &tagged, &is_tagged))
		cs_strbuf_puts(&text, "<unreadable>");
	else if (is_tagged)
		cs_strbuf_printf(&text, "%lld", (long long)tagged);
	else if (object) {
		/* Before the prologue has run, the slot of a cell has the argument
		 * itself. */
		if (cell && is_cell(l->py, object) &&
		    !cs_py_pointer(l->py, object, l->py->layout.cell_ref, &object))
			cs_strbuf_puts(&text, "<unreadable>");
		else if (object && cs_py_is_secret(l->py, name, object))
			cs_strbuf_puts(&text, "'***'");
		else if (object)
			cs_py_repr(l->py, object, &text);
	}
	if (text.len) {
		*ret = cs_arena_strdup(l->py->arena, cs_strbuf_text(&text));
		/* Reports get pasted into public issues. */
		*ret = *ret ? cs_mask_value(l->py->arena, *ret) : NULL;
		cs_strbuf_deinit(&text);
		return *ret ? NULL : &cs_nomem;
	}
	cs_strbuf_deinit(&text);
	return NULL;
}

/** Add the variable whose name is at @name and whose slot has number @i. */
static struct cs_error *add(struct locals *l, uint64_t name, uint64_t i, const char *kind,
			    bool cell)
{
	struct cs_python_variable v = {.kind = kind};
	uint64_t address = cs_py_add(l->slots, i * 8);

	if (l->n >= l->max)
		return NULL;
	v.name = cs_py_str(l->py, name, CS_MAX_PY_NAME, NULL);
	if (!v.name)
		v.name = "?";
	CS_TRY(value_of(l, v.name, address, cell, &v.value));
	l->v[l->n++] = v;
	return NULL;
}

/* ---- 3.11 and later: one table for all ---- */

static struct cs_error *read_table(struct locals *l)
{
	const struct cs_py *py = l->py;
	uint64_t names = cs_py_get(py, l->code, py->layout.code_localsplusnames), n,
		 items;
	uint64_t kinds = cs_py_get(py, l->code, py->layout.code_localspluskinds), data,
		 n_kinds;

	if (!names || !kinds || !cs_py_items(py, names, &items, &n) ||
	    !cs_py_bytes(py, kinds, &data, &n_kinds) || n != n_kinds)
		return NULL;
	l->max = (size_t)CS_MIN(n, CS_MAX_PY_LOCALS);
	l->v = cs_arena_calloc(py->arena, l->max + 1, sizeof(*l->v));
	if (!l->v)
		return &cs_nomem;
	for (uint64_t i = 0; i < l->max; i++) {
		const char *kind = "local";
		uint8_t bits;

		if (!cs_py_u8(py, cs_py_add(data, i), 0, &bits))
			bits = 0;
		if (i < l->n_arguments)
			kind = "argument";
		else if (bits & KIND_FREE)
			kind = "free";
		else if (bits & KIND_CELL)
			kind = "cell";
		CS_TRY(add(l, cs_py_pointer_at(py, items + i * 8), i, kind,
			   bits & (KIND_CELL | KIND_FREE)));
	}
	return NULL;
}

/* ---- up to 3.10: three tuples ---- */

/** Number of the name at @name among @n names at @items; @n: it is not there. */
static uint64_t index_of(const struct cs_py *py, uint64_t name, uint64_t items,
			 uint64_t n)
{
	const char *text = cs_py_str(py, name, CS_MAX_PY_NAME, NULL);
	uint64_t i;

	for (i = 0; text && i < n; i++)
		if (cs_py_str_is(py, cs_py_pointer_at(py, items + i * 8), text))
			return i;
	return n;
}

static struct cs_error *read_tuples(struct locals *l)
{
	const struct cs_py_layout *lay = &l->py->layout;
	const struct cs_py *py = l->py;
	uint64_t vars, n_vars, cells, n_cells, frees, n_frees, i, at;

	if (!cs_py_items(py, cs_py_get(py, l->code, lay->code_varnames), &vars,
			 &n_vars) ||
	    !cs_py_items(py, cs_py_get(py, l->code, lay->code_cellvars), &cells,
			 &n_cells) ||
	    !cs_py_items(py, cs_py_get(py, l->code, lay->code_freevars), &frees,
			 &n_frees) ||
	    n_vars > CS_MAX_PY_LOCALS || n_cells > CS_MAX_PY_LOCALS ||
	    n_frees > CS_MAX_PY_LOCALS)
		return NULL;
	l->max = (size_t)CS_MIN(n_vars + n_cells + n_frees, CS_MAX_PY_LOCALS);
	l->v = cs_arena_calloc(py->arena, l->max + 1, sizeof(*l->v));
	if (!l->v)
		return &cs_nomem;
	for (i = 0; i < n_vars; i++) {
		uint64_t name = cs_py_pointer_at(py, vars + i * 8);

		/* An argument that inner functions use has moved from its slot into a
		 * cell. */
		at = i < l->n_arguments ? index_of(py, name, cells, n_cells) : n_cells;
		CS_TRY(add(l, name, at < n_cells ? n_vars + at : i,
			   i < l->n_arguments ? "argument" : "local", at < n_cells));
	}
	for (i = 0; i < n_cells; i++) {
		uint64_t name = cs_py_pointer_at(py, cells + i * 8);

		if (index_of(py, name, vars, CS_MIN(n_vars, l->n_arguments)) <
		    CS_MIN(n_vars, l->n_arguments))
			continue;
		CS_TRY(add(l, name, n_vars + i, "cell", true));
	}
	for (i = 0; i < n_frees; i++)
		CS_TRY(add(l, cs_py_pointer_at(py, frees + i * 8), n_vars + n_cells + i,
			   "free", true));
	return NULL;
}

/* ---- a frame ---- */

/** Names before this number are parameters, *args and **kwargs among them. */
static uint64_t count_arguments(const struct cs_py *py, uint64_t code, uint32_t flags)
{
	uint32_t positional, keyword;

	if (!cs_py_u32(py, code, py->layout.code_argcount, &positional) ||
	    !cs_py_u32(py, code, py->layout.code_kwonlyargcount, &keyword))
		return 0;
	return (uint64_t)positional + keyword + !!(flags & CODE_VARARGS) +
	       !!(flags & CODE_VARKEYWORDS);
}

struct cs_error *cs_py_locals_read(const struct cs_py *py,
				   const struct cs_py_frame *frame,
				   struct cs_frame *model)
{
	const struct cs_py_layout *lay = &py->layout;
	struct locals l = {.py = py};
	int32_t at = lay->frame_localsplus != CS_ABSENT ? lay->frame_localsplus
							: lay->pyframe_localsplus;
	uint32_t flags;

	if (!frame->address || !frame->code || at < 0)
		return NULL;
	l.code = frame->code->address;
	l.slots = cs_py_add(frame->address, (uint64_t)at);
	if (!l.slots || !cs_py_u32(py, l.code, lay->code_flags, &flags) ||
	    !(flags & CODE_OPTIMIZED))
		return NULL;
	l.n_arguments = count_arguments(py, l.code, flags);
	CS_TRY(lay->code_localsplusnames != CS_ABSENT ? read_table(&l) : read_tuples(&l));
	model->variables = l.v;
	model->n_variables = l.n;
	return NULL;
}
