/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The global interpreter lock, the garbage collector and the phase of a runtime, from the
 * interpreter's own memory. Knows where each version says who has the lock: statics
 * in 3.6, the runtime in 3.7 to 3.11, the lock that each interpreter points to from 3.12
 * on (CPython: Python/ceval_gil.h, later ceval_gil.c). Before 3.15 no memory says who
 * waits for it; that is the native stack's to tell, by exact names. Refuses to conclude
 * anything about the collector from names.
 */
#include "base/limits.h"
#include "python/python.h"
#include "python/state.h"

#include <string.h>

/** One lock; interpreters without one of their own share that of the main interpreter. */
struct lock {
	bool known;
	bool held;
	bool disabled;   /* a free-threaded build that runs without */
	uint64_t holder; /* thread state; 0: nobody, or not known */
	size_t thread;   /* of the process, that holds it; CS_PY_NO_THREAD: none */
	struct cs_py_state *state; /* of the holder; NULL: not one of ours */
};

struct reader {
	struct cs_py_process *p;
	struct lock *locks; /* one for each interpreter */
	size_t *lock_of;    /* interpreter: index into locks */
	size_t main;        /* the main interpreter */
};

/** A variable of the interpreter's binary, by its symbol; 3.6 has no runtime structure.
 */
static bool static_u64(const struct cs_py *py, const char *name, uint64_t *ret)
{
	uint64_t at;

	return py->module && cs_mod_symbol(py->module, name, &at, NULL) &&
	       cs_mem_u64(py->mem, at, ret);
}

static bool static_u32(const struct cs_py *py, const char *name, uint32_t *ret)
{
	uint64_t at;

	return py->module && cs_mod_symbol(py->module, name, &at, NULL) &&
	       cs_mem_u32(py->mem, at, ret);
}

/**
 * Of 3.6 to 3.11: @locked is -1 while there is no lock, which in 3.6 is so until the
 * first thread starts;
 * @current is the thread state that runs, which a subinterpreter changes without taking
 * the lock anew.
 */
static void lock_of_process(bool has_locked, uint32_t locked, uint64_t current,
			    uint64_t last_holder, struct lock *ret)
{
	bool none_yet = has_locked && locked == UINT32_MAX;

	if (!has_locked || none_yet)
		ret->held = current != 0;
	else
		ret->held = locked == 1;
	ret->known = has_locked || current;
	if (ret->held)
		ret->holder = current ? current : last_holder;
}

static void read_lock_3_6(const struct cs_py *py, struct lock *ret)
{
	uint64_t current = 0, last_holder = 0;
	uint32_t locked = 0;
	bool has_locked = static_u32(py, "gil_locked", &locked);
	bool has_current = static_u64(py, "_PyThreadState_Current", &current);

	if (!static_u64(py, "gil_last_holder", &last_holder))
		last_holder = 0;
	lock_of_process(has_locked, locked, current, last_holder, ret);
	/* Stripped: without a current thread state nobody holds it, but for a moment on
	 * the way. */
	ret->known = ret->known || has_current;
}

static void read_lock_3_7(const struct cs_py *py, struct lock *ret)
{
	const struct cs_py_layout *l = &py->layout;
	uint32_t locked = 0;
	bool has_locked = cs_py_u32(py, py->runtime, l->runtime_gil_locked, &locked);

	lock_of_process(has_locked, locked,
			cs_py_get(py, py->runtime, l->runtime_tstate_current),
			cs_py_get(py, py->runtime, l->runtime_gil_last_holder), ret);
}

static void read_lock_3_12(const struct cs_py *py, uint64_t interp, struct lock *ret)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t gil = cs_py_get(py, interp, l->interp_gil);
	uint32_t locked = 0, enabled = 1;

	if (l->free_threaded && !(gil && cs_py_u32(py, gil, l->gil_enabled, &enabled)) &&
	    !cs_py_u32(py, interp, l->interp_gil_enabled, &enabled))
		return;
	if (!enabled) {
		ret->known = true;
		ret->disabled = true;
		return;
	}
	if (!gil || !cs_py_u32(py, gil, l->gil_locked, &locked))
		return;
	ret->known = true;
	ret->held = locked == 1;
	/* Who had it last stays written down after it was let go. */
	if (ret->held)
		ret->holder = cs_py_get(py, gil, l->gil_last_holder);
}

/** The main interpreter: number 0; the oldest, which the list has last, where no number
 * tells. */
static size_t main_interp(const struct cs_py_process *p)
{
	for (size_t i = 0; i < p->interps.n; i++)
		if (p->interps.v[i].id == 0)
			return i;
	return p->interps.n - 1;
}

static void read_locks(struct reader *r)
{
	const struct cs_py *py = &r->p->py;
	uint32_t own;

	for (size_t i = 0; i < r->p->interps.n; i++) {
		uint64_t interp = r->p->interps.v[i].address;

		r->locks[i].thread = CS_PY_NO_THREAD;
		r->lock_of[i] = r->main;
		if (i != r->main &&
		    (py->layout.minor < 12 ||
		     !cs_py_u32(py, interp, py->layout.interp_own_gil, &own) || !own))
			continue;
		r->lock_of[i] = i;
		if (py->layout.minor >= 12)
			read_lock_3_12(py, interp, &r->locks[i]);
		else if (py->layout.minor >= 7)
			read_lock_3_7(py, &r->locks[i]);
		else
			read_lock_3_6(py, &r->locks[i]);
	}
}

static struct lock *lock_of_state(const struct reader *r, const struct cs_py_state *state)
{
	return &r->locks[r->lock_of[state->interp]];
}

/** What a free-threaded thread is in; CPython: Include/internal/pycore_pystate.h,
 * _Py_THREAD_*. */
static const char *attachment(const struct cs_py *py, const struct cs_py_state *state)
{
	static const char *const names[] = {"detached", "attached", "suspended"};
	uint32_t value;

	if (!cs_py_u32(py, state->address, py->layout.tstate_state, &value) ||
	    value >= CS_COUNT(names))
		return NULL;
	return names[value];
}

static void mark_states(struct reader *r)
{
	const struct cs_py *py = &r->p->py;
	uint32_t requested;

	for (size_t i = 0; i < r->p->states.n; i++) {
		struct cs_py_state *state = &r->p->states.v[i];
		struct lock *lock = lock_of_state(r, state);

		if (lock->holder == state->address) {
			lock->state = state;
			lock->thread = state->thread;
		}
		if (lock->disabled)
			state->model->state = attachment(py, state);
	}
	for (size_t i = 0; i < r->p->states.n; i++) {
		struct cs_py_state *state = &r->p->states.v[i];
		struct lock *lock = lock_of_state(r, state);

		/* A thread has it under all its states: those of subinterpreters that it
		 * is in. */
		state->model->holds_gil =
			lock->state == state || (lock->thread != CS_PY_NO_THREAD &&
						 lock->thread == state->thread);
		if (!lock->disabled && !state->model->holds_gil &&
		    cs_py_u32(py, state->address, py->layout.tstate_gil_requested,
			      &requested))
			state->model->waits_for_gil = requested != 0;
	}
}

/** True if garbage is collected in interpreter @i; before 3.9 the process has one
 * collector. */
static bool collects(const struct reader *r, size_t i)
{
	const struct cs_py *py = &r->p->py;
	const struct cs_py_layout *l = &py->layout;
	uint32_t flag = 0;
	bool known;

	if (l->minor >= 9)
		known = cs_py_u32(py, r->p->interps.v[i].address, l->interp_gc_collecting,
				  &flag);
	else if (i != r->main)
		return false;
	else if (l->minor >= 7)
		known = cs_py_u32(py, py->runtime, l->runtime_gc_collecting, &flag);
	else
		known = static_u32(py, "collecting", &flag);
	return known && flag == 1;
}

/** The thread state of interpreter @i in whose frames the collection began (3.15). */
static struct cs_py_state *state_of_frame(const struct cs_py_process *p, size_t i,
					  uint64_t frame)
{
	for (size_t s = 0; s < p->states.n; s++) {
		struct cs_py_state *state = &p->states.v[s];

		for (size_t f = 0; state->interp == i && f < state->chain.frames.n; f++)
			if (state->chain.frames.v[f].address == frame)
				return state;
	}
	return NULL;
}

/** The thread state @address of interpreter @i; @address 0: its only one. NULL: there is
 * none such. */
static struct cs_py_state *state_at(const struct cs_py_process *p, size_t i,
				    uint64_t address)
{
	struct cs_py_state *only = NULL;
	size_t n = 0;

	for (size_t s = 0; s < p->states.n; s++) {
		struct cs_py_state *state = &p->states.v[s];

		if (state->interp != i)
			continue;
		if (address && state->address == address)
			return state;
		only = state;
		n++;
	}
	return !address && n == 1 ? only : NULL;
}

/**
 * Who collects in interpreter @i: whose frame the collector wrote down, or who stopped
 * the world, or who has the lock. A finalizer can let the lock go meanwhile, so a lock
 * that nobody of this interpreter has tells nothing.
 */
static struct cs_py_state *collector(const struct reader *r, size_t i)
{
	const struct cs_py *py = &r->p->py;
	uint64_t interp = r->p->interps.v[i].address;
	uint64_t frame = cs_py_get(py, interp, py->layout.interp_gc_frame);
	const struct lock *lock = &r->locks[r->lock_of[i]];
	struct cs_py_state *state = frame ? state_of_frame(r->p, i, frame) : NULL;

	if (!state && lock->disabled) {
		uint64_t requester =
			cs_py_get(py, interp, py->layout.interp_world_requester);

		state = requester ? state_at(r->p, i, requester) : NULL;
	}
	if (!state && lock->state && lock->state->interp == i)
		state = lock->state;
	return state ? state : state_at(r->p, i, 0);
}

/** The main interpreter's collector stands for the runtime. */
static void tell_collector(struct cs_py_process *p, size_t main)
{
	p->model.collecting = 0;
	for (size_t i = 0; i < p->states.n; i++) {
		const struct cs_py_state *state = &p->states.v[i];

		if (state->model->collecting &&
		    (state->interp == main || !p->model.collecting))
			p->model.collecting = state->tid;
	}
}

static void mark_collectors(struct reader *r)
{
	for (size_t i = 0; i < r->p->interps.n; i++) {
		struct cs_py_state *state = collects(r, i) ? collector(r, i) : NULL;

		if (state)
			state->model->collecting = true;
	}
	tell_collector(r->p, r->main);
}

/* ---- who collects, by the native stacks ---- */

#define CHUNK 512 /* words read at once */
#define LINK_FLAGS                                                                       \
	3U /* low bits of a link that are flags (CPython: pycore_gc.h, _PyGC_PREV_SHIFT) \
	    */
#define HAVE_GC 14 /* bit of tp_flags: its objects are the collector's business */

/** True if a collectable object is linked at @link, whose neighbour on one side (@at) is
 * @head. */
static bool is_linked(const struct cs_py *py, uint64_t link, uint64_t at, uint64_t head)
{
	uint64_t back, type, flags,
		size = py->layout.minor < 8 ? 32 : 16; /* of PyGC_Head */

	if (!cs_mem_u64(py->mem, link + at, &back) ||
	    (back & ~(uint64_t)LINK_FLAGS) != head)
		return false;
	type = cs_py_type(py, link + size);
	return type && cs_py_u64(py, type, py->layout.type_flags, &flags) &&
	       (flags >> HAVE_GC & 1);
}

/**
 * True if @words, at @address of a stack, are the two links of a list of garbage: the
 * collector has its lists on its own stack, and while it calls finalizers there is
 * something in one of them.
 */
static bool is_garbage_list(const struct cs_py *py, const uint64_t words[2],
			    uint64_t address)
{
	uint64_t next = words[0] & ~(uint64_t)LINK_FLAGS,
		 prev = words[1] & ~(uint64_t)LINK_FLAGS;

	if (next == address || next < 4096 || prev < 4096 || (next | prev) & 7 ||
	    (next | prev) >> 48)
		return false;
	return is_linked(py, next, 8, address) && is_linked(py, prev, 0, address);
}

/** Search the stack from @sp on; @budget is the number of words that may be looked at. */
static bool has_garbage_list(const struct cs_py *py, uint64_t sp, uint64_t *budget)
{
	const struct cs_region *region = cs_mem_region(py->mem, sp);
	uint64_t words[CHUNK + 1], at = (sp + 7) & ~7ULL;

	while (region && at < region->end && *budget) {
		size_t got = cs_mem_read_some(py->mem, at, words, sizeof(words)) / 8;

		for (size_t i = 0; i + 1 < got; i++)
			if (is_garbage_list(py, &words[i], at + 8 * i))
				return true;
		if (got < CHUNK + 1)
			break;
		at += (uint64_t)8 * CHUNK;
		*budget -= CS_MIN((uint64_t)CHUNK, *budget);
	}
	return false;
}

/** In any part of the thread's stack: what a signal interrupted may be on another one. */
static bool is_collector(const struct cs_py *py, const struct cs_py_native *native,
			 uint64_t *budget)
{
	unsigned sp_number = py->scene->arch->sp;
	uint64_t sp;

	if (cs_regs_get(native->regs, sp_number, &sp) && has_garbage_list(py, sp, budget))
		return true;
	for (size_t i = 0; i < native->raw->n_interrupted; i++)
		if (cs_regs_get(&native->raw->interrupted[i].regs, sp_number, &sp) &&
		    has_garbage_list(py, sp, budget))
			return true;
	return false;
}

/** The one of interpreter @i, the guess first; NULL: none is in a finalizer's call. */
static struct cs_py_state *confirmed(const struct cs_py_process *p, size_t i,
				     const struct cs_py_native *natives, uint64_t *budget)
{
	for (int guessed = 1; guessed >= 0; guessed--) {
		for (size_t s = 0; s < p->states.n; s++) {
			struct cs_py_state *state = &p->states.v[s];

			if (state->interp == i && state->thread != CS_PY_NO_THREAD &&
			    state->model->collecting == (guessed != 0) &&
			    is_collector(&p->py, &natives[state->thread], budget))
				return state;
		}
	}
	return NULL;
}

void cs_py_collectors_confirm(struct cs_py_process *p, const struct cs_py_native *natives)
{
	uint64_t budget = CS_MAX_PY_COLLECTOR_STACK / 8;
	struct reader r = {.p = p};

	if (!p->interps.n || p->py.layout.free_threaded)
		return; /* free-threaded: its lists look otherwise, and who stopped the
			   world is known */
	r.main = main_interp(p);
	for (size_t i = 0; i < p->interps.n; i++) {
		struct cs_py_state *state =
			collects(&r, i) ? confirmed(p, i, natives, &budget) : NULL;

		for (size_t s = 0; state && s < p->states.n; s++)
			if (p->states.v[s].interp == i)
				p->states.v[s].model->collecting =
					&p->states.v[s] == state;
	}
	tell_collector(p, r.main);
}

/* ---- the runtime ---- */

static const char *phase_of(const struct cs_py *py)
{
	uint64_t finalizing = 0;
	uint32_t initialized = 0;

	/* 3.6 sets its flag before the first interpreter is made, so none is without. */
	if (py->layout.minor < 7) {
		if (!static_u64(py, "_Py_Finalizing", &finalizing))
			return NULL;
		return finalizing ? "finalizing" : "running";
	}
	if (cs_py_get(py, py->runtime, py->layout.runtime_finalizing))
		return "finalizing";
	if (!cs_py_u32(py, py->runtime, py->layout.runtime_initialized, &initialized))
		return NULL;
	return initialized ? "running" : "starting";
}

static void fill_runtime(const struct reader *r)
{
	const struct lock *lock = &r->locks[r->main];
	struct cs_python_runtime *model = &r->p->model;

	if (!lock->known)
		return;
	model->gil = lock->disabled ? "disabled" : lock->held ? "held" : "free";
	model->gil_holder = lock->state ? lock->state->tid : 0;
}

void cs_py_gil_read(struct cs_py_process *p)
{
	CS_CLEANUP(cs_freep)
	struct lock *locks = calloc(p->interps.n + 1, sizeof(*locks));
	CS_CLEANUP(cs_freep) size_t *lock_of = calloc(p->interps.n + 1, sizeof(*lock_of));
	struct reader r = {.p = p, .locks = locks, .lock_of = lock_of};

	p->model.phase = phase_of(&p->py);
	if (!locks || !lock_of || !p->interps.n)
		return;
	r.main = main_interp(p);
	read_locks(&r);
	mark_states(&r);
	mark_collectors(&r);
	fill_runtime(&r);
}

/* ---- who waits for it, by the innermost native functions ---- */

static bool is_condition_wait(const char *name)
{
	static const char *const names[] = {"pthread_cond_timedwait",
					    "pthread_cond_clockwait"};

	return cs_libc_name_is(name, names, CS_COUNT(names));
}

/** What glibc and musl have inside of a condition wait, and what CPython wraps it in. */
static bool is_wait_part(const char *name)
{
	static const char *const names[] = {
		"futex_abstimed_wait_common",
		"futex_abstimed_wait_cancelable",
		"futex_reltimed_wait_cancelable",
		"futex_wait_cancelable",
		"futex_wait",
		"lll_futex_timed_wait",
		"pthread_cond_wait_common",
		"syscall_cancel_arch",
		"internal_syscall_cancel",
		"syscall_cancel",
		"syscall_cp",
		"syscall_cp_c",
		"syscall_cp_asm",
		"cp_end",
		"timedwait",
		"timedwait_cp",
		"syscall",
		"PyCOND_TIMEDWAIT",
	};

	return cs_libc_name_is(name, names, CS_COUNT(names));
}

/** Who waits on a condition with a time limit: of these, only take_gil() and what it is
 * inlined into. */
static bool is_gil_wait(const char *name)
{
	static const char *const names[] = {
		"take_gil",
		"PyEval_RestoreThread",
		"PyEval_AcquireThread",
		"PyEval_AcquireLock",
		"PyGILState_Ensure",
		"PyThreadState_Attach",
		"PyThreadState_Swap",
		"PyEval_EvalFrameDefault",
		"Py_HandlePending",
		"eval_frame_handle_pending",
	};

	return cs_libc_name_is(name, names, CS_COUNT(names));
}

bool cs_py_waits_for_gil(const char *const *functions, size_t n)
{
	bool waits = false;
	size_t i = 0;

	for (; i < n && functions[i]; i++) {
		if (is_condition_wait(functions[i]))
			waits = true;
		else if (!is_wait_part(functions[i]))
			break;
	}
	/* A stripped interpreter has no name for take_gil() itself. */
	if (waits && i < n && !functions[i])
		i++;
	return waits && i < n && functions[i] && is_gil_wait(functions[i]);
}
