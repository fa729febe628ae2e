/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exceptions that are raised or handled. Knows where each version keeps them (the thread
 * state up to 3.6, the stack of handled exceptions later; CPython:
 * Include/cpython/pystate.h, Python/errors.c), and follows tracebacks, causes and
 * contexts; refuses to know what a message says (exception_text.c).
 */
#include "base/limits.h"
#include "python/exception.h"
#include "python/state.h"
#include "python/value.h"

#include <string.h>

/** Type, value and traceback, as far as the version keeps them apart. */
struct raised {
	uint64_t type;
	uint64_t
		value; /* up to 3.11 perhaps only what the exception would be made from */
	uint64_t traceback; /* 0: the exception's own, if any */
};

struct reader {
	struct cs_py_process *p;
	const struct cs_py *py;
	const struct cs_py_state *state; /* NULL: what no thread has */
	struct cs_py_exceptions *ret;
	uint64_t steps; /* traceback entries of all exceptions that may still be looked at
			 */
	size_t total;   /* exceptions of all threads that may still be looked at */
	size_t left;    /* and of this thread */
	uint64_t seen[CS_MAX_PY_EXCEPTIONS]; /* told already; not again as a cause or
						context */
	size_t n_seen;
};

/* ---- tracebacks ---- */

/** Entries from @first on, at most @max; @broken_ret says why there may be more. */
static uint64_t count_entries(struct reader *r, uint64_t first, const char **broken_ret)
{
	const struct cs_py *py = r->py;
	uint64_t tb = first, type = cs_py_type(py, first), mark = first, n = 0, power = 1;
	const char *name = cs_py_type_name(py, type);

	*broken_ret = NULL;
	if (name && strcmp(name, "traceback") != 0)
		return 0;
	while (tb) {
		uint64_t next;

		if (!r->steps || n >= CS_MAX_PY_FRAMES) {
			*broken_ret = "traceback too long";
			break;
		}
		r->steps--;
		if (!type || cs_py_type(py, tb) != type ||
		    !cs_py_pointer(py, tb, py->layout.traceback_next, &next)) {
			*broken_ret = "traceback not readable";
			break;
		}
		n++;
		tb = next;
		if (tb == mark) {
			*broken_ret = "traceback runs in a circle";
			break;
		}
		if (n == power) { /* Brent's way to notice a circle */
			power *= 2;
			mark = tb;
		}
	}
	return n;
}

static const struct cs_py_code *code_of_frame(const struct reader *r, uint64_t frame)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t code = 0;

	if (l->minor <= 10)
		code = cs_py_get(r->py, frame, l->pyframe_code);
	else if (cs_py_u64(r->py, frame, l->frame_executable, &code))
		code &= ~7ULL; /* 3.14+: the low bits say how it is owned */
	return code ? cs_py_code_at(r->p->codes, code) : NULL;
}

static struct cs_frame frame_of_entry(const struct reader *r, uint64_t tb)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t object = cs_py_get(r->py, tb, l->traceback_frame);
	struct cs_py_frame frame = {
		.address = object ? cs_py_frame_of_object(r->py, object) : 0};
	uint32_t line = 0, lasti = 0;

	frame.code = frame.address ? code_of_frame(r, frame.address) : NULL;
	if (cs_py_u32(r->py, tb, l->traceback_lineno, &line) && (int32_t)line > 0)
		frame.line = line;
	else if (frame.code && cs_py_u32(r->py, tb, l->traceback_lasti, &lasti))
		/* Newer versions work the line out when they are asked. tb_lasti counts
		 * bytes. */
		frame.line = cs_py_code_line(r->p->codes, frame.code,
					     l->minor >= 10 ? (int32_t)lasti / 2
							    : (int32_t)lasti);
	return cs_py_frame_model(&frame);
}

static struct cs_frame gap(const char *text)
{
	return (struct cs_frame){
		.kind = CS_FRAME_GAP, .trust = CS_TRUST_RUNTIME, .function = text};
}

/** The innermost entries are kept: they say where it was raised. */
static struct cs_error *read_traceback(struct reader *r, uint64_t tb,
				       struct cs_exception *ret)
{
	const struct cs_py *py = r->py;
	const char *broken = NULL, *text;
	uint64_t n = count_entries(r, tb, &broken), skipped, i;
	size_t kept, at = 0;
	struct cs_frame *frames;

	if (!n && !broken)
		return NULL;
	kept = (size_t)CS_MIN(n, (uint64_t)CS_MAX_PY_TRACEBACK);
	skipped = n - kept;
	frames = cs_arena_calloc(py->arena, kept + 2, sizeof(*frames));
	if (!frames)
		return &cs_nomem;
	if (broken) {
		text = cs_arena_strdup(py->arena, broken);
		if (!text)
			return &cs_nomem;
		frames[at++] = gap(text);
	}
	for (i = 0; i < n && tb; i++, tb = cs_py_get(py, tb, py->layout.traceback_next))
		if (i >= skipped)
			frames[at + (size_t)(n - 1 - i)] = frame_of_entry(r, tb);
	at += kept;
	if (skipped) {
		text = cs_arena_printf(py->arena, "%llu outer frames left out",
				       (unsigned long long)skipped);
		if (!text)
			return &cs_nomem;
		frames[at++] = gap(text);
	}
	ret->frames = frames;
	ret->n_frames = at;
	return NULL;
}

/* ---- one exception ---- */

/** __notes__ lies in its __dict__ (CPython: Objects/exceptions.c,
 * BaseException_add_note). */
static struct cs_error *read_notes(const struct reader *r, uint64_t value,
				   struct cs_exception *ret)
{
	const struct cs_py *py = r->py;
	uint64_t dict = cs_py_get(py, value, py->layout.exception_dict);
	uint64_t list = dict ? cs_py_dict_get(py, dict, "__notes__") : 0, items, n, shown;
	const char **notes;

	if (!list || !cs_py_items(py, list, &items, &n) || !n)
		return NULL;
	shown = CS_MIN(n, (uint64_t)CS_MAX_PY_SHOWN);
	notes = cs_arena_calloc(py->arena, (size_t)shown + 1, sizeof(*notes));
	if (!notes)
		return &cs_nomem;
	for (uint64_t i = 0; i < shown; i++) {
		const char *note = cs_py_exception_note(
			py, cs_py_pointer_at(py, cs_py_add(items, 8 * i)));

		note = note ? cs_mask_value(py->arena, note) : NULL;
		notes[ret->n_notes++] = note ? note : "";
	}
	if (shown < n) {
		notes[ret->n_notes] = cs_arena_printf(py->arena, "… (%llu more notes)",
						      (unsigned long long)(n - shown));
		if (!notes[ret->n_notes++])
			return &cs_nomem;
	}
	ret->notes = notes;
	return NULL;
}

static int32_t tid_of(const struct reader *r)
{
	return r->state ? r->state->tid : 0;
}

static bool may_read(const struct reader *r)
{
	return r->left && r->total;
}

static bool is_seen(const struct reader *r, uint64_t value)
{
	for (size_t i = 0; i < r->n_seen; i++)
		if (r->seen[i] == value)
			return true;
	return false;
}

static struct cs_error *read_chain(struct reader *r, const struct raised *raised,
				   struct cs_exception *ret);

/**
 * The exception that @value's @field points to. One that the chain has already is left
 * out: as the cause mostly is the context, too, the two would else double with each link.
 */
static struct cs_error *read_link(struct reader *r, uint64_t value, int32_t field,
				  const struct cs_exception **ret)
{
	struct raised next = {.value = cs_py_get(r->py, value, field)};
	struct cs_exception *e;

	if (!next.value || !cs_py_is(r->py, next.value, CS_PY_EXCEPTION) ||
	    is_seen(r, next.value))
		return NULL;
	if (!may_read(r)) {
		cs_diag(r->py->scene->diags, CS_SEVERITY_NOTE, "python",
			"exceptions-limit", tid_of(r),
			"not all exceptions of this thread were read");
		return NULL;
	}
	next.type = cs_py_type(r->py, next.value);
	e = cs_arena_alloc(r->py->arena, sizeof(*e));
	if (!e)
		return &cs_nomem;
	e->state = "stored";
	CS_TRY(read_chain(r, &next, e));
	*ret = e;
	return NULL;
}

/** @raised and what led to it; as deep as there are exceptions left to look at. */
static struct cs_error *read_chain(struct reader *r, const struct raised *raised,
				   struct cs_exception *ret)
{
	const struct cs_py *py = r->py;
	uint64_t value = raised->value, traceback = raised->traceback;
	uint8_t suppress = 0;

	r->left--;
	r->total--;
	ret->tid = tid_of(r);
	ret->language = "python";
	ret->type = cs_py_exception_type(py, raised->type);
	ret->message = cs_py_exception_message(py, raised->type, value);
	if (ret->message)
		ret->message = cs_mask_value(py->arena, ret->message);
	if (!cs_py_is(py, value, CS_PY_EXCEPTION))
		return traceback ? read_traceback(r, traceback, ret) : NULL;
	r->seen[r->n_seen++] = value;
	if (!traceback)
		traceback = cs_py_get(py, value, py->layout.exception_traceback);
	if (traceback)
		CS_TRY(read_traceback(r, traceback, ret));
	if (cs_py_u8(py, value, py->layout.exception_suppress_context, &suppress))
		ret->suppress_context = suppress != 0;
	CS_TRY(read_notes(r, value, ret));
	CS_TRY(read_link(r, value, py->layout.exception_cause, &ret->cause));
	return read_link(r, value, py->layout.exception_context, &ret->context);
}

/* ---- all of one thread ---- */

/** A pointer to an object that is not None; 0 for all else, of which only what is
 * unreadable is told. */
static uint64_t object_at(const struct reader *r, uint64_t base, int32_t field)
{
	uint64_t v = cs_py_get(r->py, base, field);

	if (!v || cs_py_is_none(r->py, v))
		return 0;
	if (cs_py_type(r->py, v))
		return v;
	cs_diag(r->py->scene->diags, CS_SEVERITY_WARNING, "python",
		"exception-unreadable", tid_of(r),
		"an exception of this thread, at 0x%llx, cannot be read",
		(unsigned long long)v);
	return 0;
}

/** False where there is no exception at all: no type, or one that is none of an
 * exception. */
static bool complete(const struct cs_py *py, struct raised *raised)
{
	if (!raised->type && cs_py_is(py, raised->value, CS_PY_EXCEPTION))
		raised->type = cs_py_type(py, raised->value);
	return raised->type && cs_py_type_has(py, raised->type, CS_PY_EXCEPTION);
}

static struct cs_error *add(struct reader *r, struct raised raised, const char *state)
{
	struct cs_exception e = {.state = state};

	if (!complete(r->py, &raised) || !may_read(r) || is_seen(r, raised.value))
		return NULL;
	CS_TRY(read_chain(r, &raised, &e));
	return CS_PUSH(r->ret, e, CS_MAX_PY_TOTAL_EXCEPTIONS, "Python exceptions");
}

static struct cs_error *read_pending(struct reader *r)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t tstate = r->state->address;
	struct raised raised = {0};

	if (l->tstate_current_exception != CS_ABSENT) {
		raised.value = object_at(r, tstate, l->tstate_current_exception);
	} else {
		raised.type = object_at(r, tstate, l->tstate_curexc_type);
		raised.value = object_at(r, tstate, l->tstate_curexc_value);
		raised.traceback = object_at(r, tstate, l->tstate_curexc_traceback);
	}
	return add(r, raised, "in-flight");
}

/** What the stack of handled exceptions has at @item; up to 3.10 in three parts. */
static struct raised read_item(const struct reader *r, uint64_t item)
{
	const struct cs_py_layout *l = &r->py->layout;

	return (struct raised){.type = object_at(r, item, l->exc_item_type),
			       .value = object_at(r, item, l->exc_item_value),
			       .traceback = object_at(r, item, l->exc_item_traceback)};
}

/**
 * The innermost one is what sys.exc_info() says. Further out are those that the callers
 * of a generator handle; most are the context of the first, and these are not told twice.
 */
static struct cs_error *read_handled(struct reader *r)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t tstate = r->state->address, item;

	r->n_seen = 0; /* one that is pending may have the handled one as its context */
	if (l->tstate_exc_info == CS_ABSENT)
		return add(r,
			   (struct raised){object_at(r, tstate, l->tstate_exc_type),
					   object_at(r, tstate, l->tstate_exc_value),
					   object_at(r, tstate, l->tstate_exc_traceback)},
			   "caught");
	item = cs_py_get(r->py, tstate, l->tstate_exc_info);
	for (size_t i = 0; item && i < CS_MAX_PY_TRACEBACK; i++) {
		CS_TRY(add(r, read_item(r, item), "caught"));
		item = cs_py_get(r->py, item, l->exc_item_previous);
	}
	return NULL;
}

/**
 * What the interpreter printed last before it went on to its end (CPython:
 * Python/pythonrun.c, _PyErr_PrintEx); a crash on the way out often has its reason there.
 */
static struct cs_error *read_stored(struct reader *r, uint64_t interp)
{
	uint64_t sys = cs_py_get(r->py, interp, r->py->layout.interp_sysdict);
	struct raised raised = {.value = cs_py_dict_get(r->py, sys, "last_exc")};

	if (!raised.value) /* before 3.12 */
		raised.value = cs_py_dict_get(r->py, sys, "last_value");
	if (!raised.value || !cs_py_is(r->py, raised.value, CS_PY_EXCEPTION))
		return NULL;
	return add(r, raised, "stored");
}

static void begin(struct reader *r, const struct cs_py_state *state)
{
	r->state = state;
	r->left = CS_MAX_PY_EXCEPTIONS;
	r->n_seen = 0;
}

struct cs_error *cs_py_exceptions_read(struct cs_py_process *p,
				       struct cs_py_exceptions *ret)
{
	struct reader r = {.p = p,
			   .py = &p->py,
			   .ret = ret,
			   .steps = CS_MAX_PY_TRACEBACKS,
			   .total = CS_MAX_PY_TOTAL_EXCEPTIONS -
				    CS_MIN(ret->n, CS_MAX_PY_TOTAL_EXCEPTIONS)};

	for (size_t i = 0; i < p->states.n; i++) {
		/* Those of threads that a fork left behind are none of this process. */
		if (p->model.n_threads && p->states.v[i].thread == CS_PY_NO_THREAD)
			continue;
		begin(&r, &p->states.v[i]);
		CS_TRY(read_pending(&r));
		CS_TRY(read_handled(&r));
	}
	for (size_t i = 0; i < p->interps.n; i++) {
		begin(&r, NULL);
		CS_TRY(read_stored(&r, p->interps.v[i].address));
	}
	return NULL;
}

struct cs_error *cs_py_exception_read(struct cs_py_process *p, uint64_t type,
				      uint64_t value, uint64_t traceback,
				      struct cs_exception *ret, bool *found)
{
	struct reader r = {.p = p,
			   .py = &p->py,
			   .steps = CS_MAX_PY_TRACEBACK,
			   .total = CS_MAX_PY_EXCEPTIONS};
	struct raised raised = {type, value, traceback};

	begin(&r, NULL);
	*found = complete(r.py, &raised);
	if (!*found)
		return NULL;
	ret->state = "stored";
	return read_chain(&r, &raised, ret);
}
