/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chains of Python frames, and the places on the native stack that they name. Knows how each version links
 * its frames and where the evaluation loop keeps what points to them (CPython: Include/cpython/pystate.h,
 * Include/internal/pycore_frame.h); refuses to know what native frames are.
 */
#include "python/frames.h"

#include "base/limits.h"

#define STACKREF_TAG 3ULL /* 3.14+: tag bits of a _PyStackRef; Include/internal/pycore_stackref.h */
#define OWNER_GENERATOR 1
#define OWNER_SHIM 3 /* and above; Include/internal/pycore_frame.h, enum _frameowner */

void cs_py_chain_deinit(struct cs_py_chain *chain)
{
	free(chain->frames.v);
	free(chain->runs.v);
	*chain = (struct cs_py_chain){0};
}

/** A walk along one chain. */
struct walk {
	const struct cs_py *py;
	const struct cs_py_layout *l;
	struct cs_py_codes *codes;
	struct cs_py_chain *chain;
	uint64_t tstate; /* 0: not a thread's chain */
	size_t run_first;
	size_t max;
	/* Brent's cycle detection: a frame seen before, moved up at each power of two. */
	uint64_t seen;
	size_t steps, next_mark;
};

/* ---- one frame ---- */

static uint64_t code_of(const struct cs_py *py, uint64_t frame)
{
	uint64_t code = 0;

	if (py->layout.minor <= 10)
		return cs_py_get(py, frame, py->layout.pyframe_code);
	if (!cs_py_u64(py, frame, py->layout.frame_executable, &code))
		return 0;
	return py->layout.minor >= 14 ? code & ~STACKREF_TAG : code;
}

/** Where the frame's instructions begin: in the code object, or in its thread's copy (3.14t+). */
static uint64_t instructions_of(const struct cs_py *py, uint64_t frame,
				const struct cs_py_code *code)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t copies, count, base;
	uint32_t index;

	if (l->code_tlbc == CS_ABSENT || !cs_py_u32(py, frame, l->frame_tlbc_index, &index) || !index)
		return code->instructions;
	/* _PyCodeArray: a count, then pointers. CPython: Include/cpython/code.h */
	copies = cs_py_get(py, code->address, l->code_tlbc);
	if (!copies || !cs_mem_u64(py->mem, copies, &count) || index >= count)
		return code->instructions;
	base = cs_py_get(py, copies + 8 + 8 * (uint64_t)index, 0);
	return base ? base : code->instructions;
}

/** Position in the units of cs_py_code_line(); false: not known. */
static bool position_of(const struct cs_py *py, uint64_t frame, const struct cs_py_code *code,
			int64_t *ret)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t at, base;
	uint32_t lasti;

	if (l->minor <= 10) {
		if (!cs_py_u32(py, frame, l->pyframe_lasti, &lasti))
			return false;
		*ret = (int32_t)lasti;
		return true;
	}
	if (!cs_py_u64(py, frame, l->frame_instr_ptr, &at))
		return false;
	base = instructions_of(py, frame, code);
	/* Before the first one: one unit in front of it. */
	if (at - base > CS_MAX_PY_LINE_TABLE * 16 && base - at != 2)
		return false;
	*ret = (int64_t)(at - base) / 2;
	return true;
}

/** A line that the frame object itself has: set by a tracer or a debugger. 0: none. */
static uint32_t line_override(const struct cs_py *py, uint64_t frame)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t object = l->minor <= 10 ? frame : cs_py_get(py, frame, l->frame_frame_obj);
	uint32_t line = 0;

	if (!object || (l->minor <= 9 && !cs_py_get(py, frame, l->pyframe_trace)))
		return 0;
	return cs_py_u32(py, object, l->pyframe_lineno, &line) && line <= INT32_MAX ? line : 0;
}

static uint8_t owner_of(const struct cs_py *py, uint64_t frame)
{
	uint8_t owner = 0;

	cs_py_u8(py, frame, py->layout.frame_owner, &owner);
	return owner;
}

/** True while a function's prologue runs: CPython's own tools do not show such frames. */
static bool incomplete(const struct cs_py *py, uint64_t frame, const struct cs_py_code *code,
		       int64_t at)
{
	return py->layout.minor >= 11 && at < (int64_t)code->first_traceable &&
	       owner_of(py, frame) != OWNER_GENERATOR;
}

bool cs_py_frame_read(const struct cs_py *py, struct cs_py_codes *codes, uint64_t frame,
		      struct cs_py_frame *ret)
{
	const struct cs_py_code *code = cs_py_code_at(codes, code_of(py, frame));
	struct cs_py_frame f = {.address = frame, .code = code};
	int64_t at;

	if (py->layout.minor >= 11 && owner_of(py, frame) >= OWNER_SHIM)
		return false;
	if (code && code->shim)
		return false;
	if (code && position_of(py, frame, code, &at)) {
		if (incomplete(py, frame, code, at))
			return false;
		f.line = line_override(py, frame);
		if (!f.line)
			f.line = cs_py_code_line(codes, code, at);
	}
	*ret = f;
	return true;
}

uint64_t cs_py_frame_of_object(const struct cs_py *py, uint64_t frame_object)
{
	return py->layout.minor <= 10 ? frame_object
				      : cs_py_get(py, frame_object, py->layout.pyframe_frame);
}

struct cs_frame cs_py_frame_model(const struct cs_py_frame *frame)
{
	struct cs_frame f = {.kind = CS_FRAME_PYTHON,
			     .trust = CS_TRUST_RUNTIME,
			     .address = frame->address};

	if (frame->code) {
		f.function = frame->code->name;
		f.file = frame->code->filename;
		f.line = frame->line;
	}
	return f;
}

/* ---- chains ---- */

static const char *broken_at(const struct walk *w, const char *what, uint64_t at)
{
	const char *text = cs_arena_printf(w->py->arena, "%s at 0x%llx", what,
					   (unsigned long long)at);

	return text ? text : what;
}

static struct cs_error *add_frame(struct walk *w, uint64_t address)
{
	struct cs_py_frame f;

	if (!cs_py_frame_read(w->py, w->codes, address, &f))
		return NULL;
	return CS_PUSH(&w->chain->frames, f, w->max, "Python frames");
}

static struct cs_error *end_run(struct walk *w, uint64_t anchor)
{
	struct cs_py_run run = {.first = w->run_first,
				.n = w->chain->frames.n - w->run_first,
				.anchor = anchor};

	w->run_first = w->chain->frames.n;
	return CS_PUSH(&w->chain->runs, run, w->max + 1, "runs of Python frames");
}

/** False once the chain is a loop or too long; w->chain->broken says so. */
static bool may_step(struct walk *w, uint64_t frame)
{
	if (w->chain->frames.n >= w->max || w->steps >= 2 * w->max) {
		w->chain->broken = broken_at(w, "more Python frames than are looked at", frame);
		return false;
	}
	if (frame == w->seen) {
		w->chain->broken = broken_at(w, "the chain of Python frames is a loop", frame);
		return false;
	}
	if (++w->steps >= w->next_mark) {
		w->seen = frame;
		w->next_mark = w->next_mark * 2 + 1;
	}
	return true;
}

/** The frame that called @frame; false, with `broken` set, where that cannot be read. */
static bool step_out(struct walk *w, uint64_t frame, int32_t field, uint64_t *ret)
{
	if (cs_py_pointer(w->py, frame, field, ret))
		return true;
	w->chain->broken = broken_at(w, "the Python frame cannot be read", frame);
	return false;
}

/** 3.6 to 3.10: frame objects, one for each call of the loop. */
static struct cs_error *walk_objects(struct walk *w, uint64_t frame)
{
	while (frame && may_step(w, frame)) {
		size_t before = w->chain->frames.n;

		CS_TRY(add_frame(w, frame));
		if (w->tstate && w->chain->frames.n > before)
			CS_TRY(end_run(w, 0));
		if (!step_out(w, frame, w->l->pyframe_back, &frame))
			break;
	}
	return NULL;
}

/**
 * 3.10: one CFrame for each call of the loop, innermost first, the last one in the thread state. Counted
 * from the outermost one, for the loop pushes its CFrame before its frame.
 */
static void anchor_objects(struct walk *w)
{
	uint64_t at = cs_py_get(w->py, w->tstate, w->l->tstate_cframe);
	uint64_t root = w->tstate + (uint64_t)w->l->tstate_root_cframe;
	struct cs_py_chain *chain = w->chain;
	size_t n = 0, skip;

	if (chain->broken || w->l->cframe_previous == CS_ABSENT)
		return;
	for (uint64_t c = at; c != root; n++)
		if (n > chain->runs.n || !(c = cs_py_get(w->py, c, w->l->cframe_previous)))
			return;
	if (n < chain->runs.n || n > chain->runs.n + 1)
		return;
	skip = n - chain->runs.n;
	for (size_t i = 0; i < n; i++) {
		if (i >= skip)
			chain->runs.v[i - skip].anchor = at;
		at = cs_py_get(w->py, at, w->l->cframe_previous);
	}
}

/** 3.11: the frame that a native call began with is marked, and each such call has its _PyCFrame. */
static struct cs_error *walk_entries(struct walk *w, uint64_t frame)
{
	uint64_t cframe = w->tstate ? cs_py_get(w->py, w->tstate, w->l->tstate_cframe) : 0;

	while (frame && may_step(w, frame)) {
		uint8_t entry = 0;

		/* The chain of _PyCFrames must agree with that of the frames, or it is not followed. */
		if (cframe && w->chain->frames.n == w->run_first &&
		    cs_py_get(w->py, cframe, w->l->cframe_current_frame) != frame)
			cframe = 0;
		CS_TRY(add_frame(w, frame));
		if (w->tstate && cs_py_u8(w->py, frame, w->l->frame_is_entry, &entry) && entry) {
			CS_TRY(end_run(w, cframe));
			if (cframe)
				cframe = cs_py_get(w->py, cframe, w->l->cframe_previous);
		}
		if (!step_out(w, frame, w->l->frame_previous, &frame))
			break;
	}
	return NULL;
}

/** 3.12 and later: behind the frames of a native call comes the shim that lies in its native frame. */
static struct cs_error *walk_shims(struct walk *w, uint64_t frame)
{
	uint64_t base = w->tstate && w->l->tstate_base_frame != CS_ABSENT
				? w->tstate + (uint64_t)w->l->tstate_base_frame
				: 0;

	while (frame && frame != base && may_step(w, frame)) {
		uint8_t owner;

		if (w->tstate && cs_py_u8(w->py, frame, w->l->frame_owner, &owner) &&
		    owner >= OWNER_SHIM)
			CS_TRY(end_run(w, frame));
		else
			CS_TRY(add_frame(w, frame));
		if (!step_out(w, frame, w->l->frame_previous, &frame))
			break;
	}
	return NULL;
}

static struct cs_error *walk_chain(struct walk *w, uint64_t frame)
{
	w->next_mark = 1;
	if (w->l->minor <= 10)
		return walk_objects(w, frame);
	if (w->l->minor == 11)
		return walk_entries(w, frame);
	return walk_shims(w, frame);
}

/** The innermost frame of a thread state; false where that cannot be read. */
static bool innermost(const struct walk *w, uint64_t *ret)
{
	const struct cs_py_layout *l = w->l;
	uint64_t cframe;

	if (l->minor <= 10)
		return cs_py_pointer(w->py, w->tstate, l->tstate_frame, ret);
	if (l->tstate_current_frame != CS_ABSENT)
		return cs_py_pointer(w->py, w->tstate, l->tstate_current_frame, ret);
	return cs_py_pointer(w->py, w->tstate, l->tstate_cframe, &cframe) && cframe &&
	       cs_py_pointer(w->py, cframe, l->cframe_current_frame, ret);
}

struct cs_error *cs_py_chain_read(const struct cs_py *py, struct cs_py_codes *codes,
				  uint64_t tstate, struct cs_py_chain *ret)
{
	struct walk w = {.py = py,
			 .l = &py->layout,
			 .codes = codes,
			 .chain = ret,
			 .tstate = tstate,
			 .max = CS_MAX_PY_FRAMES};
	uint64_t frame = 0;

	*ret = (struct cs_py_chain){0};
	if (!innermost(&w, &frame)) {
		ret->broken = broken_at(&w, "the thread state cannot be read", tstate);
		return NULL;
	}
	CS_TRY(walk_chain(&w, frame));
	if (ret->frames.n > w.run_first)
		CS_TRY(end_run(&w, 0));
	if (py->layout.minor == 10)
		anchor_objects(&w);
	return NULL;
}

struct cs_error *cs_py_chain_from(const struct cs_py *py, struct cs_py_codes *codes, uint64_t frame,
				  size_t max, struct cs_py_chain *ret)
{
	struct walk w = {.py = py,
			 .l = &py->layout,
			 .codes = codes,
			 .chain = ret,
			 .max = max};

	*ret = (struct cs_py_chain){0};
	CS_TRY(walk_chain(&w, frame));
	/* The one who asks for that many wants no more. */
	if (ret->frames.n >= max)
		ret->broken = NULL;
	return NULL;
}
