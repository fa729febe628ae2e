/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The global interpreter lock, the garbage collector and the phase of a runtime, from the
 * interpreter's own memory. Knows where each version says who has the lock: statics
 * in 3.6, the runtime in 3.7 to 3.11, the lock that each interpreter points to from 3.12
 * on (CPython: Python/ceval_gil.h, later ceval_gil.c). Before 3.15 no memory says who
 * waits for it; that is the native stack's to tell, by exact names. Refuses to conclude
 * from a name that garbage is collected.
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

struct code_range {
	uint64_t start, end;
};

/** The collector's own function, which stays on the stack while finalizers run. */
static size_t collector_code(const struct cs_py *py, struct code_range *ret, size_t max)
{
	/* CPython: Modules/gcmodule.c, later Python/gc.c and Python/gc_free_threading.c.
	 */
	static const char *const names[] = {
		"gc_collect_main",     "gc_collect_internal",
		"gc_collect_region",   "collect",
		"collect.constprop.0", "collect.constprop.1",
		"collect.constprop.2", "collect.isra.0",
	};
	uint64_t size = 0;
	size_t n = 0;

	for (size_t i = 0; py->module && n < max && i < CS_COUNT(names); i++) {
		if (!cs_mod_symbol(py->module, names[i], &ret[n].start, &size) ||
		    size > CS_MAX_FUNCTION || ret[n].start > UINT64_MAX - size)
			continue;
		ret[n].end = ret[n].start + size;
		n++;
	}
	return n;
}

static bool runs_in(const struct cs_raw_stack *stack, const struct code_range *ranges,
		    size_t n)
{
	for (size_t i = 0; i < stack->n; i++)
		for (size_t k = 0; k < n; k++)
			/* A return address may be the first one after its function. */
			if (stack->frames[i].pc - 1 - ranges[k].start <
			    ranges[k].end - ranges[k].start)
				return true;
	return false;
}

void cs_py_collectors_confirm(struct cs_py_process *p, const struct cs_py_native *natives)
{
	struct reader r = {.p = p};
	struct code_range ranges[8];
	size_t n = 0;

	r.main = p->interps.n ? main_interp(p) : 0;
	for (size_t i = 0; i < p->interps.n; i++) {
		struct cs_py_state *found = NULL;

		if (!collects(&r, i))
			continue;
		n = n ? n : collector_code(&p->py, ranges, CS_COUNT(ranges));
		for (size_t s = 0; n && s < p->states.n && !found; s++)
			if (p->states.v[s].interp == i &&
			    p->states.v[s].thread != CS_PY_NO_THREAD &&
			    runs_in(natives[p->states.v[s].thread].raw, ranges, n))
				found = &p->states.v[s];
		for (size_t s = 0; found && s < p->states.n; s++)
			if (p->states.v[s].interp == i)
				p->states.v[s].model->collecting =
					&p->states.v[s] == found;
	}
	tell_collector(p, r.main);
}

/* ---- the runtime ---- */

static const char *phase_of(const struct cs_py *py)
{
	uint64_t finalizing = 0;
	uint32_t initialized = 0;

	/* 3.6 sets its flag before the first interpreter is made, so there is no
	 * interpreter without. */
	if (py->layout.minor < 7)
		return static_u64(py, "_Py_Finalizing", &finalizing) && finalizing
			       ? "finalizing"
			       : "running";
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

/** @name without leading underscores, without what compilers and versions put behind it.
 */
static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	size_t len;

	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3)) /* glibc's own alias */
		name += strspn(name + 3, "_") + 3;
	len = strcspn(name, ".@");
	if (len > 2 && !strncmp(name + len - 2, "64", 2)) /* glibc's 64-bit time_t */
		len -= 2;
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && !strncmp(name, list[i], len))
			return true;
	return false;
}

static bool is_condition_wait(const char *name)
{
	static const char *const names[] = {"pthread_cond_timedwait",
					    "pthread_cond_clockwait"};

	return is_one_of(name, names, CS_COUNT(names));
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

	return is_one_of(name, names, CS_COUNT(names));
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

	return is_one_of(name, names, CS_COUNT(names));
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
