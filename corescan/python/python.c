/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All runtimes of a process from end to end: interpreters, thread states, which thread each belongs to,
 * what the readers know of them, and the weave. Knows the order of things and nothing of how each is done.
 */
#include "python/python.h"

#include "base/limits.h"
#include "base/text.h"
#include "python/runtime.h"
#include "python/weave.h"

#include <elf.h>
#include <string.h>

#define LOCK_SIZE 256 /* bytes of the lock with its mutex and condition; 3.15t has 232 */
#define MAX_STACK_SEARCH (1UL << 20) /* bytes of a stack searched for frames before 3.10 */
#define MAX_FRAMES_SOUGHT 8
#define RSI 4 /* DWARF numbers: the second and the first argument of a system call on x86_64 */
#define RDI 5

struct keyed {
	uint64_t key;
	size_t thread;
};

/** A thread state with the runtime and the thread it belongs to. */
struct owned_state {
	size_t thread;
	struct cs_py_strand strand;
	struct cs_py_state *state;
};

struct cs_pythons {
	const struct cs_scene *scene;
	const struct cs_py_native *natives;
	CS_VEC(struct cs_py_process *) processes; /* owned */
	struct cs_weave *weaves; /* one a thread; owned */
	size_t n;
	struct keyed *by_sp;      /* threads by stack pointer; owned */
	struct keyed *by_pointer; /* threads by thread pointer; owned */
	size_t n_by_sp, n_by_pointer; /* those without one are left out */
	uint64_t total_frames;
	struct cs_py_exceptions exceptions; /* owned until they are in the model; so the next two */
	struct cs_py_tasks tasks;
	struct cs_py_greenlets greenlets;
};

/* ---- interpreters and thread states ---- */

static void process_destroy(struct cs_py_process *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->states.n; i++)
		cs_py_chain_deinit(&p->states.v[i].chain);
	free(p->states.v);
	free(p->interps.v);
	cs_py_codes_destroy(p->codes);
	free(p);
}
CS_DEFINE_CLEANUP(struct cs_py_process *, process_destroy)

static void complain(const struct cs_py_process *p, const char *code, const char *what, uint64_t at)
{
	cs_diag(p->py.scene->diags, CS_SEVERITY_ERROR, "python", code, 0,
		"%s at 0x%llx: threads of Python may be missing", what, (unsigned long long)at);
}

static struct cs_error *add_state(struct cs_py_process *p, size_t interp, uint64_t address)
{
	const struct cs_py_layout *l = &p->py.layout;
	struct cs_py_state s = {.address = address, .interp = interp, .thread = CS_PY_NO_THREAD};

	if (!cs_py_u64(&p->py, address, l->tstate_thread_id, &s.thread_id) ||
	    !cs_py_u64(&p->py, address, l->tstate_native_thread_id, &s.native_thread_id))
		s.native_thread_id = 0;
	s.model = cs_arena_calloc(p->py.arena, 1, sizeof(*s.model));
	if (!s.model)
		return &cs_nomem;
	s.model->ident = s.thread_id;
	s.model->interpreter = p->interps.v[interp].id;
	return CS_PUSH(&p->states, s, CS_MAX_THREADS, "thread states");
}

static struct cs_error *states_read(struct cs_py_process *p, size_t interp)
{
	const struct cs_py_layout *l = &p->py.layout;
	uint64_t at = cs_py_get(&p->py, p->interps.v[interp].address, l->interp_threads_head);
	uint64_t mark = 0;

	for (size_t n = 0; at; n++) {
		uint64_t here = at;

		if (cs_py_get(&p->py, at, l->tstate_interp) != p->interps.v[interp].address) {
			complain(p, "thread-state-damaged", "no thread state", at);
			return NULL;
		}
		/* A loop is noticed at the next power of two. */
		if (n >= CS_MAX_THREADS || at == mark) {
			complain(p, "thread-states-loop", "the list of thread states is a loop", at);
			return NULL;
		}
		CS_TRY(add_state(p, interp, at));
		mark = n & (n - 1) ? mark : at;
		if (!cs_py_pointer(&p->py, here, l->tstate_next, &at)) {
			complain(p, "thread-state-damaged", "the list of thread states ends",
				 here);
			return NULL;
		}
	}
	return NULL;
}

static struct cs_error *interps_read(struct cs_py_process *p)
{
	const struct cs_py_layout *l = &p->py.layout;
	uint64_t at = p->py.first_interp;

	while (at && p->interps.n < CS_MAX_PY_INTERPRETERS) {
		struct cs_py_interp i = {.address = at, .id = -1};
		uint64_t id;

		for (size_t k = 0; k < p->interps.n; k++)
			if (p->interps.v[k].address == at)
				return NULL;
		if (cs_py_u64(&p->py, at, l->interp_id, &id))
			i.id = (int64_t)id;
		CS_TRY(CS_PUSH(&p->interps, i, CS_MAX_PY_INTERPRETERS, "interpreters"));
		at = cs_py_get(&p->py, at, l->interp_next);
	}
	/* 3.6 numbers none; the main one is the first that was made, and the last of the list. */
	for (size_t k = p->interps.n; l->interp_id == CS_ABSENT && k--;)
		p->interps.v[k].id = (int64_t)(p->interps.n - 1 - k);
	return NULL;
}

/* ---- which thread a state belongs to ---- */

static uint64_t sp_of(const struct cs_pythons *ps, size_t thread)
{
	uint64_t sp = 0;

	return cs_regs_get(ps->natives[thread].regs, ps->scene->arch->sp, &sp) ? sp : 0;
}

static int compare_keyed(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static struct cs_error *index_threads(struct cs_pythons *ps)
{
	const struct cs_target *target = cs_mem_target(ps->scene->mem);

	ps->by_sp = calloc(ps->n + 1, sizeof(*ps->by_sp));
	ps->by_pointer = calloc(ps->n + 1, sizeof(*ps->by_pointer));
	if (!ps->by_sp || !ps->by_pointer)
		return &cs_nomem;
	for (size_t i = 0; i < ps->n; i++) {
		uint64_t sp = sp_of(ps, i), pointer = target->threads[i].thread_pointer;

		if (sp)
			ps->by_sp[ps->n_by_sp++] = (struct keyed){sp, i};
		if (pointer)
			ps->by_pointer[ps->n_by_pointer++] = (struct keyed){pointer, i};
	}
	qsort(ps->by_sp, ps->n_by_sp, sizeof(*ps->by_sp), compare_keyed);
	qsort(ps->by_pointer, ps->n_by_pointer, sizeof(*ps->by_pointer), compare_keyed);
	return NULL;
}

/** The last entry whose key is not above @key, or NULL. */
static const struct keyed *floor_of(const struct keyed *v, size_t n, uint64_t key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v[middle].key <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &v[low - 1] : NULL;
}

/**
 * True if @address is further out than @sp on a stack of thread @i. The C library may keep stacks side by
 * side in one region (glibc 2.42 and later guard them without a mapping); it begins each at what the thread
 * pointer points to.
 */
static bool same_stack(const struct cs_pythons *ps, size_t i, uint64_t sp, uint64_t address)
{
	const struct cs_region *r = cs_mem_region(ps->scene->mem, sp);
	uint64_t top = cs_mem_target(ps->scene->mem)->threads[i].thread_pointer;

	if (!r || address < sp || address >= r->end)
		return false;
	return top <= sp || top >= r->end || address < top;
}

/** True if @address is in a part of thread @i's stack that is in use: its own, or one a signal left. */
static bool on_stack(const struct cs_pythons *ps, size_t i, uint64_t address)
{
	const struct cs_raw_stack *raw = ps->natives[i].raw;

	if (same_stack(ps, i, sp_of(ps, i), address))
		return true;
	for (size_t k = 0; k < raw->n_interrupted; k++) {
		uint64_t sp;

		if (cs_regs_get(&raw->interrupted[k].regs, ps->scene->arch->sp, &sp) &&
		    same_stack(ps, i, sp, address))
			return true;
	}
	return false;
}

/** The thread whose stack holds @address. */
static size_t thread_of_stack(const struct cs_pythons *ps, uint64_t address)
{
	const struct keyed *below = floor_of(ps->by_sp, ps->n_by_sp, address);

	if (below && on_stack(ps, below->thread, address))
		return below->thread;
	for (size_t i = 0; i < ps->n; i++)
		if (ps->natives[i].raw->n_interrupted && on_stack(ps, i, address))
			return i;
	return CS_PY_NO_THREAD;
}

/** What thread_id is less than the thread pointer: 0 on x86_64, sizeof(struct pthread) on aarch64. */
static uint64_t pointer_distance(const struct cs_pythons *ps, const struct cs_py_process *p)
{
	const struct cs_target *target = cs_mem_target(ps->scene->mem);

	if (ps->scene->arch->machine == EM_X86_64)
		return 0;
	/* One main thread with both numbers known tells it for all. */
	for (size_t s = 0; s < p->states.n; s++)
		for (size_t i = 0; i < ps->n; i++)
			if (p->states.v[s].native_thread_id == (uint64_t)target->threads[i].tid &&
			    target->threads[i].thread_pointer > p->states.v[s].thread_id)
				return target->threads[i].thread_pointer - p->states.v[s].thread_id;
	return 0;
}

static size_t thread_of_id(const struct cs_pythons *ps, const struct cs_py_state *s, uint64_t distance)
{
	const struct cs_target *target = cs_mem_target(ps->scene->mem);

	const struct keyed *below =
		floor_of(ps->by_pointer, ps->n_by_pointer, s->thread_id + distance);

	if (s->thread_id && below && below->key == s->thread_id + distance)
		return below->thread;
	if (ps->n_by_pointer == ps->n)
		return CS_PY_NO_THREAD;
	for (size_t i = 0; s->native_thread_id && i < ps->n; i++)
		if (!target->threads[i].thread_pointer &&
		    (uint64_t)target->threads[i].tid == s->native_thread_id)
			return i;
	return CS_PY_NO_THREAD;
}

/** The innermost address that the evaluation loop left on a stack; 0: none. */
static uint64_t anchor_of(const struct cs_py_chain *chain)
{
	for (size_t i = 0; i < chain->runs.n; i++)
		if (chain->runs.v[i].anchor)
			return chain->runs.v[i].anchor;
	return 0;
}

/** How many of the frame objects that @chain begins with are named by words of thread @i's stack. */
static size_t frames_on_stack(const struct cs_pythons *ps, size_t i, const struct cs_py_chain *chain)
{
	uint64_t words[512], at = (sp_of(ps, i) + 7) & ~7ULL;
	const struct cs_region *r = cs_mem_region(ps->scene->mem, at);
	uint64_t end = r ? CS_MIN(r->end, at + MAX_STACK_SEARCH) : at;
	size_t want = CS_MIN(chain->frames.n, (size_t)MAX_FRAMES_SOUGHT);
	bool seen[MAX_FRAMES_SOUGHT] = {false};
	size_t found = 0, got;

	for (; at < end; at += got) {
		got = cs_mem_read_some(ps->scene->mem, at, words,
				       (size_t)CS_MIN(end - at, (uint64_t)sizeof(words)));
		if (got < 8)
			break;
		for (size_t w = 0; w < got / 8; w++)
			for (size_t f = 0; f < want; f++)
				seen[f] |= words[w] == chain->frames.v[f].address;
	}
	for (size_t f = 0; f < want; f++)
		found += seen[f];
	return found;
}

/**
 * Up to 3.9, and where what the loop left on its stack cannot be read, nothing but the loop's own variables
 * says on which stack a frame runs. That is asked only where two thread states claim one thread: one of them
 * was lent to another (a subinterpreter).
 */
static size_t thread_of_frames(const struct cs_pythons *ps, const struct cs_py_state *s, size_t claimed)
{
	size_t best = claimed, best_n = frames_on_stack(ps, claimed, &s->chain);

	for (size_t i = 0; i < ps->n && best_n < CS_MIN(s->chain.frames.n, (size_t)MAX_FRAMES_SOUGHT);
	     i++) {
		size_t n = i == claimed ? 0 : frames_on_stack(ps, i, &s->chain);

		if (n > best_n) {
			best = i;
			best_n = n;
		}
	}
	return best;
}

/**
 * Where the state's frames run decides; its thread_id can be that of another thread (subinterpreters before
 * 3.13), and serves where nothing is on a stack.
 */
static void match_state(const struct cs_pythons *ps, struct cs_py_state *s, uint64_t distance)
{
	uint64_t anchor = anchor_of(&s->chain);
	size_t by_id = thread_of_id(ps, s, distance);

	if (anchor && (by_id == CS_PY_NO_THREAD || !on_stack(ps, by_id, anchor)))
		s->thread = thread_of_stack(ps, anchor);
	if (s->thread == CS_PY_NO_THREAD)
		s->thread = by_id;
	s->own_id = s->thread == by_id;
}

static struct cs_error *match_states(struct cs_pythons *ps, struct cs_py_process *p)
{
	CS_CLEANUP(cs_freep) uint32_t *claims = calloc(ps->n + 1, sizeof(*claims));
	uint64_t distance = pointer_distance(ps, p);

	if (!claims)
		return &cs_nomem;
	for (size_t i = 0; i < p->states.n; i++) {
		match_state(ps, &p->states.v[i], distance);
		if (p->states.v[i].thread != CS_PY_NO_THREAD && p->states.v[i].chain.frames.n)
			claims[p->states.v[i].thread]++;
	}
	for (size_t i = 0; i < p->states.n; i++) {
		struct cs_py_state *s = &p->states.v[i];

		/* A subinterpreter's state of which no frame is left may have been lent to any thread. */
		if (s->thread != CS_PY_NO_THREAD && claims[s->thread] && s->chain.broken &&
		    !s->chain.frames.n && p->interps.v[s->interp].id != 0)
			s->thread = CS_PY_NO_THREAD;
		if (s->thread == CS_PY_NO_THREAD)
			continue;
		if (claims[s->thread] > 1 && s->chain.frames.n && !anchor_of(&s->chain)) {
			size_t thread = thread_of_frames(ps, s, s->thread);

			s->own_id = thread == s->thread;
			s->thread = thread;
		}
		s->tid = cs_mem_target(ps->scene->mem)->threads[s->thread].tid;
	}
	return NULL;
}

/* ---- who waits for the GIL ---- */

/** Address of the lock of interpreter @interp; 0: not known. */
static uint64_t lock_of(const struct cs_py_process *p, size_t interp)
{
	const struct cs_py_layout *l = &p->py.layout;

	if (l->interp_gil != CS_ABSENT)
		return cs_py_get(&p->py, p->interps.v[interp].address, l->interp_gil);
	return l->runtime_gil_last_holder == CS_ABSENT
		       ? 0
		       : p->py.runtime + (uint64_t)l->runtime_gil_last_holder - 8;
}

/**
 * The thread is in futex(FUTEX_WAIT_BITSET), the wait of a condition with a time limit. Plain FUTEX_WAIT is
 * that of a mutex, or within pthread_cond_signal(): whoever lets the lock go comes there, too.
 */
static bool in_futex_wait(const struct cs_pythons *ps, const struct cs_regs *regs)
{
	static const uint8_t syscall_code[] = {0x0f, 0x05};
	uint8_t code[sizeof(syscall_code)];
	uint64_t pc, op;

	if (!cs_regs_get(regs, ps->scene->arch->pc, &pc) || !cs_regs_get(regs, RSI, &op) ||
	    cs_mem_read_some(ps->scene->mem, pc - sizeof(code), code, sizeof(code)) != sizeof(code))
		return false;
	op &= 0x7f; /* without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME; linux: futex.h */
	return !memcmp(code, syscall_code, sizeof(code)) && op == 9;
}

/** The thread sleeps on a condition of the lock. */
static bool sleeps_on(const struct cs_pythons *ps, size_t thread, uint64_t lock)
{
	uint64_t word;

	return lock && ps->scene->arch->machine == EM_X86_64 &&
	       in_futex_wait(ps, ps->natives[thread].regs) &&
	       cs_regs_get(ps->natives[thread].regs, RDI, &word) && word >= lock &&
	       word - lock < LOCK_SIZE;
}

static void waiters_read(const struct cs_pythons *ps, struct cs_py_process *p)
{
	for (size_t i = 0; i < p->states.n; i++) {
		struct cs_py_state *s = &p->states.v[i];

		if (s->thread != CS_PY_NO_THREAD && !s->model->holds_gil &&
		    sleeps_on(ps, s->thread, lock_of(p, s->interp)))
			s->model->waits_for_gil = true;
	}
}

/* ---- one runtime ---- */

static struct cs_error *chains_read(struct cs_pythons *ps, struct cs_py_process *p)
{
	for (size_t i = 0; i < p->states.n; i++) {
		struct cs_py_state *s = &p->states.v[i];

		if (ps->total_frames > CS_MAX_PY_TOTAL_FRAMES) {
			s->chain.broken = "more Python frames in all threads than are looked at";
			continue;
		}
		CS_TRY(cs_py_chain_read(&p->py, p->codes, s->address, &s->chain));
		s->model->broken = s->chain.broken;
		ps->total_frames += s->chain.frames.n;
	}
	return NULL;
}

static void describe(struct cs_py_process *p, const struct cs_py_found *found)
{
	static const char *const levels = "??????????abcf";
	struct cs_python_runtime *m = &p->model;
	uint32_t v = p->py.layout.version;
	char level = levels[CS_MIN(v >> 4 & 15, 13U)];

	m->layout = p->py.layout.source;
	m->found = found->how;
	m->module = found->module ? cs_mod_public(found->module) : NULL;
	m->free_threaded = p->py.layout.free_threaded;
	m->n_interpreters = p->interps.n;
	if (!(v & 0xff))
		m->version = cs_arena_printf(p->py.arena, "3.%u", p->py.layout.minor);
	else if (v >> 4 & 15 && level >= 'a' && level <= 'c')
		m->version = cs_arena_printf(p->py.arena, "3.%u.%u%s%u", p->py.layout.minor,
					     v >> 8 & 0xff, level == 'c' ? "rc" : level == 'b' ? "b" : "a",
					     v & 15);
	else
		m->version = cs_arena_printf(p->py.arena, "3.%u.%u", p->py.layout.minor,
					     v >> 8 & 0xff);
	for (size_t i = 0; i < p->states.n; i++) {
		m->n_threads += p->states.v[i].thread != CS_PY_NO_THREAD;
		m->n_stale += p->states.v[i].thread == CS_PY_NO_THREAD;
	}
}

/** The version out of sys.hexversion, where the layout was found without it. */
static void ask_version(struct cs_py_process *p)
{
	struct cs_py_layout *l = &p->py.layout;
	int64_t version;

	for (size_t i = 0; i < p->interps.n && !(l->version & 0xff); i++) {
		uint64_t sys = cs_py_get(&p->py, p->interps.v[i].address, l->interp_sysdict);

		if (cs_py_int(&p->py, cs_py_dict_get(&p->py, sys, "hexversion"), &version) &&
		    version >> 16 == l->version >> 16)
			l->version = (uint32_t)version;
	}
}

static struct cs_error *process_read(struct cs_pythons *ps, const struct cs_py_found *found)
{
	CS_CLEANUP(process_destroyp) struct cs_py_process *p = calloc(1, sizeof(*p));

	if (!p)
		return &cs_nomem;
	cs_py_open(ps->scene, found, &p->py);
	CS_TRY(cs_py_codes_create(&p->py, &p->codes));
	CS_TRY(interps_read(p));
	for (size_t i = 0; i < p->interps.n; i++)
		CS_TRY(states_read(p, i));
	ask_version(p);
	CS_TRY(chains_read(ps, p));
	CS_TRY(match_states(ps, p));
	describe(p, found);
	cs_py_names_read(p);
	cs_py_gil_read(p);
	cs_py_collectors_confirm(p, ps->natives);
	waiters_read(ps, p);
	CS_TRY(cs_py_exceptions_read(p, &ps->exceptions));
	CS_TRY(cs_py_tasks_read(p, &ps->tasks));
	CS_TRY(cs_py_greenlets_read(p, &ps->greenlets));
	CS_TRY(CS_PUSH(&ps->processes, p, CS_MAX_PY_RUNTIMES, "runtimes"));
	p = NULL;
	return NULL;
}

/* ---- the whole ---- */

/**
 * The state whose model stands for a thread: its own one, of the first interpreter, with what the others do
 * there. A state that was lent to it (a subinterpreter's) says name and ident of another thread.
 */
static void choose_model(struct cs_weave *w, const struct cs_py_state *s, bool *own)
{
	const struct cs_python_thread *other = s->model;

	if (!w->thread || (s->own_id && !*own) ||
	    (s->own_id == *own && s->model->interpreter < w->thread->interpreter)) {
		other = w->thread ? w->thread : s->model;
		w->thread = s->model;
		*own = s->own_id;
	}
	w->thread->holds_gil |= other->holds_gil;
	w->thread->waits_for_gil |= other->waits_for_gil;
	w->thread->collecting |= other->collecting;
}

static int compare_owned(const void *a, const void *b)
{
	const struct owned_state *x = a, *y = b;

	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/** The @n states of one thread. */
static struct cs_error *weave_thread(struct cs_pythons *ps, const struct owned_state *states, size_t n)
{
	CS_CLEANUP(cs_freep) struct cs_py_strand *strands = calloc(n, sizeof(*strands));
	struct cs_weave *weave = &ps->weaves[states[0].thread];
	bool own = false;

	if (!strands)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++) {
		strands[i] = states[i].strand;
		choose_model(weave, states[i].state, &own);
	}
	return cs_py_weave(ps->scene, &ps->natives[states[0].thread], strands, n, weave);
}

/** All states that have a thread; @ret has room for them. */
static size_t collect_states(struct cs_pythons *ps, struct owned_state *ret)
{
	size_t n = 0;

	for (size_t k = 0; k < ps->processes.n; k++) {
		struct cs_py_process *p = ps->processes.v[k];

		for (size_t s = 0; s < p->states.n; s++)
			if (p->states.v[s].thread != CS_PY_NO_THREAD)
				ret[n++] = (struct owned_state){.thread = p->states.v[s].thread,
								.strand = {p, &p->states.v[s]},
								.state = &p->states.v[s]};
	}
	return n;
}

static struct cs_error *weave_all(struct cs_pythons *ps)
{
	CS_CLEANUP(cs_freep) struct owned_state *states = NULL;
	size_t n = 0;

	for (size_t k = 0; k < ps->processes.n; k++)
		n += ps->processes.v[k]->states.n;
	ps->weaves = calloc(ps->n + 1, sizeof(*ps->weaves));
	states = calloc(n + 1, sizeof(*states));
	if (!states || !ps->weaves)
		return &cs_nomem;
	n = collect_states(ps, states);
	qsort(states, n, sizeof(*states), compare_owned);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && states[end].thread == states[i].thread;)
			end++;
		CS_TRY(weave_thread(ps, &states[i], end - i));
	}
	return NULL;
}

/** A copy of @n objects of @size bytes in the arena. */
static struct cs_error *copy_list(const struct cs_pythons *ps, const void *v, size_t n, size_t size,
				  const void **ret, size_t *ret_n)
{
	void *copy = n ? cs_arena_calloc(ps->scene->arena, n, size) : NULL;

	if (n && !copy)
		return &cs_nomem;
	if (n)
		memcpy(copy, v, n * size);
	*ret = copy;
	*ret_n = n;
	return NULL;
}

/** The crashed thread's exceptions first; else in the order in which they were found. */
static struct cs_error *exceptions_write(struct cs_pythons *ps, struct cs_analysis *ret)
{
	const struct cs_target *target = cs_mem_target(ps->scene->mem);
	size_t crashed = cs_core_info(ps->scene->core)->crashed_thread, at = 0;
	struct cs_exception *list =
		cs_arena_calloc(ps->scene->arena, ps->exceptions.n, sizeof(*list));

	if (!list && ps->exceptions.n)
		return &cs_nomem;
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < ps->exceptions.n; i++) {
			bool first = crashed < target->n_threads &&
				     ps->exceptions.v[i].tid == target->threads[crashed].tid;

			if (first == !pass)
				list[at++] = ps->exceptions.v[i];
		}
	ret->exceptions = list;
	ret->n_exceptions = at;
	return NULL;
}

static struct cs_error *model_write(struct cs_pythons *ps, struct cs_analysis *ret)
{
	struct cs_python *python = &ret->python;
	struct cs_python_runtime *runtimes =
		cs_arena_calloc(ps->scene->arena, ps->processes.n, sizeof(*runtimes));

	if (!runtimes && ps->processes.n)
		return &cs_nomem;
	for (size_t i = 0; i < ps->processes.n; i++) {
		runtimes[i] = ps->processes.v[i]->model;
		for (size_t s = 0; s < ps->processes.v[i]->states.n; s++)
			ps->processes.v[i]->states.v[s].model->runtime = (uint32_t)i;
	}
	python->runtimes = runtimes;
	python->n_runtimes = ps->processes.n;
	CS_TRY(copy_list(ps, ps->tasks.v, ps->tasks.n, sizeof(*ps->tasks.v),
			 (const void **)&python->tasks, &python->n_tasks));
	CS_TRY(copy_list(ps, ps->greenlets.v, ps->greenlets.n, sizeof(*ps->greenlets.v),
			 (const void **)&python->greenlets, &python->n_greenlets));
	return exceptions_write(ps, ret);
}

static int compare_processes(const void *a, const void *b)
{
	const struct cs_py_process *x = *(struct cs_py_process *const *)a;
	const struct cs_py_process *y = *(struct cs_py_process *const *)b;

	return x->model.n_threads > y->model.n_threads ? -1 : x->model.n_threads < y->model.n_threads;
}

static struct cs_error *read_all(struct cs_pythons *ps, struct cs_analysis *ret)
{
	struct cs_py_found found[CS_MAX_PY_RUNTIMES];
	size_t n = 0;

	CS_TRY(cs_py_runtimes_find(ps->scene, found, CS_COUNT(found), &n));
	CS_TRY(index_threads(ps));
	for (size_t i = 0; i < n; i++)
		CS_TRY(process_read(ps, &found[i]));
	if (ps->processes.n)
		qsort(ps->processes.v, ps->processes.n, sizeof(*ps->processes.v),
		      compare_processes);
	CS_TRY(weave_all(ps));
	return model_write(ps, ret);
}

struct cs_error *cs_pythons_read(const struct cs_scene *scene, const struct cs_py_native *natives,
				 size_t n, struct cs_analysis *ret, struct cs_pythons **pythons_ret)
{
	CS_CLEANUP(cs_pythons_destroyp) struct cs_pythons *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return &cs_nomem;
	ps->scene = scene;
	ps->natives = natives;
	ps->n = n;
	CS_TRY(read_all(ps, ret));
	*pythons_ret = CS_TAKE(ps);
	return NULL;
}

void cs_pythons_destroy(struct cs_pythons *pythons)
{
	if (!pythons)
		return;
	for (size_t i = 0; pythons->weaves && i < pythons->n; i++)
		cs_weave_deinit(&pythons->weaves[i]);
	free(pythons->weaves);
	for (size_t i = 0; i < pythons->processes.n; i++)
		process_destroy(pythons->processes.v[i]);
	free(pythons->processes.v);
	free(pythons->exceptions.v);
	free(pythons->tasks.v);
	free(pythons->greenlets.v);
	free(pythons->by_sp);
	free(pythons->by_pointer);
	free(pythons);
}

const struct cs_weave *cs_pythons_weave(const struct cs_pythons *pythons, size_t i)
{
	return &pythons->weaves[i];
}

struct cs_error *cs_pythons_exception(const struct cs_pythons *pythons, uint64_t type, uint64_t value,
				      uint64_t traceback, const struct cs_exception **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < pythons->processes.n; i++) {
		struct cs_exception e = {0}, *copy;
		bool found;

		CS_TRY(cs_py_exception_read(pythons->processes.v[i], type, value, traceback, &e, &found));
		if (!found)
			continue;
		copy = cs_arena_alloc(pythons->scene->arena, sizeof(*copy));
		if (!copy)
			return &cs_nomem;
		*copy = e;
		*ret = copy;
		break;
	}
	return NULL;
}

bool cs_pythons_own(const struct cs_pythons *pythons, const struct cs_module *module)
{
	for (size_t i = 0; module && i < pythons->processes.n; i++)
		if (pythons->processes.v[i]->model.module == module)
			return true;
	return false;
}
