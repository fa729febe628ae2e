/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Suspended coroutines. Knows how each version says that a generator waits for another object and where
 * that object lies on its stack (CPython: Objects/genobject.c, Include/internal/pycore_frame.h), and what
 * the awaitables of the interpreter and of asyncio wrap; refuses to know what runs tasks (tasks.c).
 *
 * What is a generator is proven by its frame, which points back to it or lies in it: the names of static
 * types are in the interpreter's file, and that may be missing.
 */
#include "python/await.h"

#include "base/limits.h"
#include "python/value.h"

#include <string.h>

#define OWNER_GENERATOR 1 /* 3.11+; Include/internal/pycore_frame.h, enum _frameowner */
#define STACKREF_TAG 3ULL /* 3.14+: tag bits of a _PyStackRef; all set: a small int */
#define YIELD_FROM 72     /* 3.6 to 3.10; Include/opcode.h */
#define RESUME_IN_AWAIT 2 /* 3.11, 3.12: RESUME's argument after `yield from`; 3 after `await` */

/** What a generator does. */
enum activity {
	FINISHED,
	CREATED,
	SUSPENDED, /* at a plain yield */
	AWAITING,  /* at `await` or `yield from` */
	RUNNING,
};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* ---- generators, coroutines, asynchronous generators: one structure ---- */

static bool generator_owns(const struct cs_py *py, uint64_t frame)
{
	uint8_t owner;

	if (py->layout.minor <= 10)
		return cs_py_get(py, frame, py->layout.pyframe_gen) != 0;
	return cs_py_u8(py, frame, py->layout.frame_owner, &owner) && owner == OWNER_GENERATOR;
}

/** The frame of generator @object, and itself as read; false: it is none, or has ended. */
static bool generator_frame(const struct cs_py_asyncio *a, uint64_t object, struct cs_py_frame *ret)
{
	static const char *const names[] = {"generator", "coroutine", "async_generator"};
	const struct cs_py_layout *l = &a->py->layout;
	uint64_t type = cs_py_type(a->py, object), frame;
	const char *name = cs_py_type_name(a->py, type);

	if (!type || (name && !is_one_of(name, names, CS_COUNT(names))))
		return false;
	if (l->minor <= 10) {
		frame = cs_py_get(a->py, object, l->gen_frame);
		if (!frame || cs_py_get(a->py, frame, l->pyframe_gen) != object)
			return false;
	} else {
		frame = l->gen_iframe == CS_ABSENT ? 0 : cs_py_add(object, (uint64_t)l->gen_iframe);
		if (!frame || !generator_owns(a->py, frame))
			return false;
	}
	return cs_py_frame_read(a->py, a->p->codes, frame, ret) && (ret->code || name);
}

/** 3.6 to 3.10: the next instruction of a suspended frame is YIELD_FROM. */
static bool at_yield_from(const struct cs_py *py, uint64_t frame)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t code = cs_py_get(py, cs_py_get(py, frame, l->pyframe_code), l->code_code);
	uint64_t data, len, at;
	uint32_t lasti;
	uint8_t opcode;

	if (!cs_py_u32(py, frame, l->pyframe_lasti, &lasti) || (int32_t)lasti < 0 ||
	    !cs_py_bytes(py, code, &data, &len))
		return false;
	at = l->minor == 10 ? 2 * ((uint64_t)lasti + 1) : (uint64_t)lasti + 2;
	return at < len && cs_py_u8(py, data + at, 0, &opcode) && opcode == YIELD_FROM;
}

static enum activity activity_3_9(const struct cs_py *py, uint64_t gen, uint64_t frame)
{
	const struct cs_py_layout *l = &py->layout;
	uint32_t lasti;
	uint8_t running;

	if (cs_py_u8(py, gen, l->gen_running, &running) && running)
		return RUNNING;
	if (!cs_py_get(py, frame, l->pyframe_stacktop))
		return FINISHED;
	if (cs_py_u32(py, frame, l->pyframe_lasti, &lasti) && (int32_t)lasti < 0)
		return CREATED;
	return at_yield_from(py, frame) ? AWAITING : SUSPENDED;
}

/** 3.11, 3.12: a yield within `await` or `yield from` is followed by a RESUME that says so. */
static bool resumes_in_await(const struct cs_py *py, uint64_t frame)
{
	uint64_t at;
	uint8_t argument;

	return cs_py_u64(py, frame, py->layout.frame_instr_ptr, &at) && at < UINT64_MAX - 3 &&
	       cs_py_u8(py, at + 3, 0, &argument) && (argument & 3) >= RESUME_IN_AWAIT;
}

static enum activity activity_of(const struct cs_py *py, uint64_t gen, uint64_t frame)
{
	static const enum activity since_3_15[] = {CREATED,  SUSPENDED, AWAITING,
						   AWAITING, RUNNING,   FINISHED};
	const struct cs_py_layout *l = &py->layout;
	uint8_t byte;
	int state;

	if (l->minor <= 9)
		return activity_3_9(py, gen, frame);
	if (l->minor == 10 ? !cs_py_u8(py, frame, l->pyframe_state, &byte)
			   : !cs_py_u8(py, gen, l->gen_frame_state, &byte))
		return FINISHED;
	state = (int8_t)byte;
	if (l->minor >= 15)
		return byte < CS_COUNT(since_3_15) ? since_3_15[byte] : FINISHED;
	if (state >= 0)
		return state ? FINISHED : RUNNING;
	if (l->minor >= 13) /* -3, -2, -1 */
		return state == -1 ? AWAITING : state == -2 ? SUSPENDED : CREATED;
	if (state != -1)
		return CREATED;
	if (l->minor == 10)
		return at_yield_from(py, frame) ? AWAITING : SUSPENDED;
	return resumes_in_await(py, frame) ? AWAITING : SUSPENDED;
}

/** Address of the slot where a frame that waits has what it waits for; 0: not readable. */
static uint64_t awaited_slot(const struct cs_py *py, uint64_t frame)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t bottom, top, slots = 1;
	uint32_t depth;

	if (l->minor <= 10) {
		bottom = cs_py_get(py, frame, l->pyframe_valuestack);
		if (l->minor == 10)
			top = cs_py_u32(py, frame, l->pyframe_stackdepth, &depth)
				      ? bottom + 8 * (uint64_t)depth
				      : 0;
		else
			top = cs_py_get(py, frame, l->pyframe_stacktop);
	} else {
		bottom = frame + (uint64_t)l->frame_localsplus;
		if (l->minor <= 13)
			top = cs_py_u32(py, frame, l->frame_stacktop, &depth)
				      ? bottom + 8 * (uint64_t)depth
				      : 0;
		else
			top = cs_py_get(py, frame, l->frame_stackpointer);
		/* 3.15 has an index of its own on top. */
		slots = l->minor >= 15 ? 2 : 1;
	}
	if (!bottom || top < bottom || top - bottom > 8 * CS_MAX_PY_STACK || top - bottom < 8 * slots)
		return 0;
	return top - 8 * slots;
}

static uint64_t awaited_object(const struct cs_py *py, uint64_t frame)
{
	uint64_t slot = awaited_slot(py, frame), value;

	if (!slot || !cs_py_u64(py, slot, 0, &value))
		return 0;
	if (py->layout.minor >= 14) {
		if ((value & STACKREF_TAG) == STACKREF_TAG)
			return 0;
		value &= ~STACKREF_TAG;
	}
	return cs_py_type(py, value) ? value : 0;
}

/* ---- futures and tasks ---- */

static bool inherits(const struct cs_py *py, uint64_t type, uint64_t base)
{
	uint64_t t;

	if (!base || type == base)
		return base != 0;
	for (uint64_t i = 1; (t = cs_py_type_base(py, type, i)); i++)
		if (t == base)
			return true;
	return false;
}

/** None counts as nothing. */
static uint64_t or_none(const struct cs_py *py, uint64_t object)
{
	return cs_py_is_none(py, object) ? 0 : object;
}

static uint64_t attribute(const struct cs_py *py, uint64_t object, const char *name)
{
	return or_none(py, cs_py_attribute(py, object, name));
}

static void read_c(const struct cs_py_asyncio *a, uint64_t object, struct cs_py_future *ret)
{
	uint32_t state;

	ret->loop = or_none(a->py, cs_py_get(a->py, object, a->future_loop));
	ret->pending = cs_py_u32(a->py, object, a->future_state, &state) && state == 0;
	if (!ret->task)
		return;
	ret->coro = or_none(a->py, cs_py_get(a->py, object, a->task_coro));
	ret->name = or_none(a->py, cs_py_get(a->py, object, a->task_name));
	ret->waiter = or_none(a->py, cs_py_get(a->py, object, a->task_waiter));
}

/** The part of a task that is written in Python: then it has a coroutine. */
static void read_python_task(const struct cs_py_asyncio *a, uint64_t object, struct cs_py_future *ret)
{
	ret->coro = attribute(a->py, object, "_coro");
	ret->task = ret->coro != 0;
	if (!ret->task)
		return;
	ret->name = attribute(a->py, object, "_name");
	ret->waiter = attribute(a->py, object, "_fut_waiter");
}

/** A future written in Python: it has what asyncio itself asks of one. */
static bool read_python(const struct cs_py_asyncio *a, uint64_t object, struct cs_py_future *ret)
{
	uint64_t state;

	if (!cs_py_attribute(a->py, object, "_callbacks"))
		return false;
	ret->loop = attribute(a->py, object, "_loop");
	if (!ret->loop)
		return false;
	/* The class has "PENDING"; the object has a state of its own once it has another. */
	state = cs_py_attribute(a->py, object, "_state");
	ret->pending = !state || cs_py_str_is(a->py, state, "PENDING");
	read_python_task(a, object, ret);
	return true;
}

bool cs_py_future_read(const struct cs_py_asyncio *a, uint64_t object, struct cs_py_future *ret)
{
	uint64_t type = cs_py_type(a->py, object);
	struct cs_py_future f = {0};

	if (!type)
		return false;
	f.task = inherits(a->py, type, a->c_task);
	if (f.task || inherits(a->py, type, a->c_future)) {
		read_c(a, object, &f);
		/* In 3.6 the Python class of tasks inherits from the C class of futures. */
		if (!f.task && type != a->c_future)
			read_python_task(a, object, &f);
	} else if (!read_python(a, object, &f)) {
		return false;
	}
	*ret = f;
	return true;
}

const char *cs_py_task_name(const struct cs_py_asyncio *a, const struct cs_py_future *task)
{
	const char *name = cs_py_str(a->py, task->name, CS_MAX_PY_NAME, NULL);
	int64_t number;

	/* From 3.13 on the number alone, until somebody asks for the name. */
	if (!name && task->name && cs_py_int(a->py, task->name, &number))
		name = cs_arena_printf(a->py->arena, "Task-%lld", (long long)number);
	return name;
}

const char *cs_py_coroutine_name(const struct cs_py_asyncio *a, uint64_t coro)
{
	const struct cs_py_layout *l = &a->py->layout;
	struct cs_py_frame frame;
	const char *name = NULL;

	if (!coro)
		return NULL;
	if (generator_frame(a, coro, &frame)) {
		name = cs_py_str(a->py, cs_py_get(a->py, coro, l->gen_qualname), CS_MAX_PY_NAME,
				 NULL);
		if (!name && frame.code)
			name = frame.code->name;
	}
	return name ? name : cs_py_type_full_name(a->py, cs_py_type(a->py, coro));
}

/* ---- the chain ---- */

void cs_py_await_deinit(struct cs_py_await *await)
{
	free(await->frames.v);
	*await = (struct cs_py_await){0};
}

/** What @object has in its first field. */
static uint64_t first_field(const struct cs_py_asyncio *a, uint64_t object)
{
	uint64_t inner = cs_py_get(a->py, object, a->py->layout.object_size);

	return cs_py_type(a->py, inner) ? inner : 0;
}

/**
 * What @object is a mere wrapper of; 0: it is something of its own. All wrappers have it in their first
 * field. A type without a readable name must prove itself by what it holds.
 */
static uint64_t wrapped(const struct cs_py_asyncio *a, uint64_t object)
{
	static const char *const names[] = {"FutureIter", "coroutine_wrapper",
					    "async_generator_asend", "async_generator_athrow",
					    "anext_awaitable"};
	const char *name = cs_py_type_name(a->py, cs_py_type(a->py, object));
	uint64_t inner = first_field(a, object), innermost = inner;
	struct cs_py_frame frame;
	struct cs_py_future future;

	if (name)
		return is_one_of(name, names, CS_COUNT(names)) ? inner : 0;
	for (int i = 0; i < 2 && innermost; i++, innermost = first_field(a, innermost))
		if (generator_frame(a, innermost, &frame) ||
		    cs_py_future_read(a, innermost, &future))
			return inner;
	return 0;
}

/** The frames from the one of a running coroutine on inwards, as far as they are coroutines' again. */
static struct cs_error *add_running(const struct cs_py_asyncio *a, uint64_t frame,
				    struct cs_py_await *await)
{
	await->running = true;
	for (size_t s = 0; s < a->p->states.n; s++) {
		const struct cs_py_state *state = &a->p->states.v[s];
		const struct cs_py_chain *chain = &state->chain;
		size_t i = 0;

		while (i < chain->frames.n && chain->frames.v[i].address != frame)
			i++;
		if (i == chain->frames.n)
			continue;
		await->tid = state->tid;
		while (i-- && await->frames.n < CS_MAX_PY_TASK_FRAMES &&
		       generator_owns(a->py, chain->frames.v[i].address))
			CS_TRY(CS_PUSH(&await->frames, chain->frames.v[i], CS_MAX_PY_TASK_FRAMES,
				       "coroutines"));
		break;
	}
	return NULL;
}

static const char *broken_at(const struct cs_py *py, const char *what, uint64_t at)
{
	const char *text = cs_arena_printf(py->arena, "%s at 0x%llx cannot be read", what,
					   (unsigned long long)at);

	return text ? text : what;
}

/** The next object after suspended frame @frame; 0: there is none, or @broken says why not. */
static uint64_t next_object(const struct cs_py *py, enum activity activity, uint64_t frame,
			    const char **broken)
{
	uint64_t next = activity == AWAITING ? awaited_object(py, frame) : 0;

	if (activity == AWAITING && !next)
		*broken = broken_at(py, "what is awaited by the frame", frame);
	return next;
}

struct cs_error *cs_py_await_read(const struct cs_py_asyncio *a, uint64_t coro,
				  struct cs_py_await *ret)
{
	uint64_t at = coro;

	*ret = (struct cs_py_await){0};
	if (!coro || !cs_py_type(a->py, coro))
		ret->broken = broken_at(a->py, "the coroutine", coro);
	/* Every second one may be a wrapper. */
	for (size_t n = 0; at && !ret->broken; n++) {
		struct cs_py_frame frame;
		uint64_t inner;

		if (generator_frame(a, at, &frame)) {
			enum activity activity = activity_of(a->py, at, frame.address);

			if (activity == FINISHED)
				return NULL;
			CS_TRY(CS_PUSH(&ret->frames, frame, CS_MAX_PY_TASK_FRAMES, "coroutines"));
			if (activity == RUNNING)
				return add_running(a, frame.address, ret);
			at = next_object(a->py, activity, frame.address, &ret->broken);
		} else {
			inner = wrapped(a, at);
			if (!inner) {
				ret->last = at;
				return NULL;
			}
			at = inner;
		}
		if (ret->frames.n >= CS_MAX_PY_TASK_FRAMES || n >= 2 * CS_MAX_PY_TASK_FRAMES)
			ret->broken = "more coroutines than are looked at";
	}
	return NULL;
}

/* ---- in words ---- */

/** Value of the first argument of @frame, where that has the name @name; 0: it has not. */
static uint64_t first_argument(const struct cs_py *py, const struct cs_py_frame *frame, const char *name)
{
	const struct cs_py_layout *l = &py->layout;
	bool old = l->minor <= 10;
	uint64_t names, items, n, value, type;
	uint32_t argcount;

	if (!frame->code || !cs_py_u32(py, frame->code->address, l->code_argcount, &argcount) ||
	    !argcount)
		return 0;
	names = cs_py_get(py, frame->code->address,
			  old ? l->code_varnames : l->code_localsplusnames);
	if (!cs_py_items(py, names, &items, &n) || !n ||
	    !cs_py_str_is(py, cs_py_pointer_at(py, items), name) ||
	    !cs_py_u64(py, frame->address, old ? l->pyframe_localsplus : l->frame_localsplus, &value))
		return 0;
	if (l->minor >= 14)
		value = (value & STACKREF_TAG) == STACKREF_TAG ? 0 : value & ~STACKREF_TAG;
	type = cs_py_type(py, value);
	/* An inner function uses it as well. */
	if (type && strcmp(cs_py_short_name(py, type), "cell") == 0) {
		value = cs_py_get(py, value, l->cell_ref);
		type = cs_py_type(py, value);
	}
	return type ? value : 0;
}

/** "sleep(3.5)" */
static const char *sleep_text(const struct cs_py *py, const struct cs_py_frame *frame)
{
	uint64_t delay = first_argument(py, frame, "delay");
	struct cs_strbuf sb;
	const char *text = "sleep";

	cs_strbuf_init(&sb, CS_MAX_PY_REPR);
	if (delay)
		cs_py_repr(py, delay, &sb);
	if (sb.len && !sb.cut)
		text = cs_arena_printf(py->arena, "sleep(%s)", cs_strbuf_text(&sb));
	cs_strbuf_deinit(&sb);
	return text;
}

/** True if @file is asyncio's own module @name; NULL: any of them. */
static bool in_asyncio(const char *file, const char *name)
{
	const char *base = file ? strrchr(file, '/') : NULL;
	static const char folder[] = "/asyncio";
	size_t n = sizeof(folder) - 1;

	return base && (size_t)(base - file) >= n && strncmp(base - n, folder, n) == 0 &&
	       (!name || strcmp(base + 1, name) == 0);
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

/** The function of asyncio that the task waits in: "sleep(3.5)", "Lock.acquire", "wait"; NULL: none. */
static const char *library_text(const struct cs_py *py, const struct cs_py_await *await)
{
	const struct cs_py_frame *frame = NULL;
	const char *name;
	uint64_t self;

	/* Innermost of all may be Future.__await__(). */
	for (size_t i = await->frames.n; i-- && !frame;)
		if (!await->frames.v[i].code || !await->frames.v[i].code->name ||
		    !in_asyncio(await->frames.v[i].code->filename, "futures.py"))
			frame = &await->frames.v[i];
	if (!frame || !frame->code || !frame->code->name || !in_asyncio(frame->code->filename, NULL))
		return NULL;
	name = last_part(frame->code->name);
	if (in_asyncio(frame->code->filename, "tasks.py")) {
		if (strcmp(name, "sleep") == 0)
			return sleep_text(py, frame);
		return cs_arena_strdup(py->arena, name + (*name == '_'));
	}
	self = first_argument(py, frame, "self");
	if (!self)
		return cs_arena_strdup(py->arena, name);
	if (strncmp(name, "__", 2) == 0)
		return cs_arena_strdup(py->arena, cs_py_short_name(py, cs_py_type(py, self)));
	return cs_arena_printf(py->arena, "%s.%s", cs_py_short_name(py, cs_py_type(py, self)), name);
}

/** The future that gather() returned; @task_ret: its last task, where only one is not done. */
static const char *gather_text(const struct cs_py_asyncio *a, uint64_t waiter, uint64_t *task_ret)
{
	uint64_t items, n, pending = 0, task = 0;

	if (!cs_py_items(a->py, cs_py_attribute(a->py, waiter, "_children"), &items, &n))
		return NULL;
	n = CS_MIN(n, CS_MAX_PY_ITEMS);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t child = cs_py_pointer_at(a->py, items + 8 * i);
		struct cs_py_future f;

		if (!cs_py_future_read(a, child, &f) || !f.pending)
			continue;
		pending++;
		task = f.task ? child : 0;
	}
	if (pending == 1)
		*task_ret = task;
	return cs_arena_printf(a->py->arena, "gather of %llu, %llu pending", (unsigned long long)n,
			       (unsigned long long)pending);
}

/** "Task-3", or what else tells one task from the others. */
static const char *task_text(const struct cs_py_asyncio *a, const struct cs_py_future *f)
{
	const char *text = cs_py_task_name(a, f);

	if (!text)
		text = cs_py_coroutine_name(a, f->coro);
	return text ? text : "Task";
}

const char *cs_py_await_text(const struct cs_py_asyncio *a, const struct cs_py_await *await,
			     uint64_t waiter, uint64_t *task_ret)
{
	const char *text = NULL, *type;
	struct cs_py_future f;
	uint64_t object = waiter ? waiter : await->last;
	bool future = object && cs_py_future_read(a, object, &f);

	*task_ret = 0;
	if (await->running)
		return NULL;
	if (future && f.task) {
		*task_ret = object;
		return task_text(a, &f);
	}
	if (future && cs_py_type(a->py, object) != a->c_future)
		text = gather_text(a, object, task_ret);
	if (!text)
		text = library_text(a->py, await);
	if (!text && future) {
		type = cs_py_type(a->py, object) == a->c_future
			       ? "Future"
			       : cs_py_short_name(a->py, cs_py_type(a->py, object));
		text = cs_arena_printf(a->py->arena, "%s %s", type, f.pending ? "pending" : "done");
	}
	if (!text && object)
		text = cs_py_type_full_name(a->py, cs_py_type(a->py, object));
	return text;
}
