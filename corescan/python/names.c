/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names, daemon flags and the main thread. Knows how the threading module keeps its
 * Thread objects (CPython: Lib/threading.py; `_active` maps idents to them) and matches
 * them with thread states. Refuses to look at `_limbo`: those threads have not begun, so
 * no thread state is theirs.
 */
#include "base/limits.h"
#include "python/state.h"

/** Thread states by something that a Thread object says of itself. */
struct index {
	struct key {
		size_t interp;
		uint64_t id;
		struct cs_py_state *state;
	} * v; /* sorted */
	size_t n;
};

struct reader {
	struct cs_py_process *p;
	struct index idents; /* by thread_id */
	struct index tids;   /* by the number that the system gives it */
	uint64_t budget; /* entries of all `_active` together that are still looked at */
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->interp != y->interp)
		return x->interp < y->interp ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return 0;
}

/** The first key that is not less than (@interp, @id). */
static size_t first_key(const struct index *index, size_t interp, uint64_t id)
{
	const struct key wanted = {.interp = interp, .id = id};
	size_t low = 0, high = index->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_keys(&index->v[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void read_thread(const struct cs_py *py, uint64_t thread, uint64_t main_thread,
			struct cs_python_thread *ret)
{
	uint64_t daemon = cs_py_attribute(py, thread, "_daemonic");
	int64_t value = 0;

	ret->name =
		cs_py_str(py, cs_py_attribute(py, thread, "_name"), CS_MAX_PY_NAME, NULL);
	ret->is_main = thread == main_thread;
	ret->daemon = daemon && cs_py_int(py, daemon, &value) && value == 1;
}

/** The states of @interp that have @id in @index and no name yet are those of Thread
 * object @thread. */
static void match(struct reader *r, const struct index *index, size_t interp, uint64_t id,
		  uint64_t thread, uint64_t main_thread)
{
	size_t i = first_key(index, interp, id);

	for (; i < index->n && index->v[i].interp == interp && index->v[i].id == id;
	     i++) {
		if (!r->budget)
			return;
		r->budget--;
		/* Whose thread_id is right has been asked by it already. */
		if (index == &r->tids && index->v[i].state->own_id)
			continue;
		if (!index->v[i].state->model->name)
			read_thread(&r->p->py, thread, main_thread,
				    index->v[i].state->model);
		/* What a subinterpreter calls its main thread is not that of the process. */
		if (r->p->interps.v[interp].id > 0)
			index->v[i].state->model->is_main = false;
	}
}

/** True if some state of @interp that belongs to a thread of the process has no name yet.
 */
static bool nameless(const struct reader *r, size_t interp)
{
	size_t i = first_key(&r->tids, interp, 1);

	for (; i < r->tids.n && r->tids.v[i].interp == interp; i++)
		if (!r->tids.v[i].state->model->name && !r->tids.v[i].state->own_id)
			return true;
	return false;
}

/** False where the interpreter has not imported threading, or its main thread cannot be
 * read. */
static bool read_interp(struct reader *r, size_t interp)
{
	const struct cs_py *py = &r->p->py;
	uint64_t module =
		cs_py_module_dict(py, r->p->interps.v[interp].address, "threading");
	uint64_t active = module ? cs_py_dict_get(py, module, "_active") : 0;
	uint64_t main_thread = module ? cs_py_dict_get(py, module, "_main_thread") : 0;
	uint64_t key, thread;
	struct cs_py_dict_iter it;
	int64_t id;
	int pass;

	/*
	 * The second time by _native_id (3.8+): states of subinterpreters of 3.9 to 3.12
	 * have the thread_id of the thread that made them. Only for those: the object of
	 * the main thread has the _native_id of whoever imported threading.
	 */
	for (pass = 0; pass < 2 && active && (pass == 0 || nameless(r, interp)); pass++) {
		if (!cs_py_dict_begin(py, active, &it))
			break;
		while (r->budget && cs_py_dict_next(&it, &key, &thread)) {
			r->budget--;
			if (pass == 1)
				key = cs_py_attribute(py, thread, "_native_id");
			if (key && cs_py_int(py, key, &id) && id > 0)
				match(r, pass ? &r->tids : &r->idents, interp,
				      (uint64_t)id, thread, main_thread);
		}
	}
	return main_thread != 0;
}

/**
 * The main thread of the main interpreter @interp where threading cannot tell: the
 * runtime remembers who initialized it (3.8+); before that it is the oldest thread state,
 * the last one of the list.
 */
static void find_main(struct cs_py_process *p, size_t interp)
{
	const struct cs_py *py = &p->py;
	bool known = py->layout.minor >= 8;
	struct cs_py_state *last = NULL;
	uint64_t main_thread = 0;

	if (known &&
	    !cs_py_u64(py, py->runtime, py->layout.runtime_main_thread, &main_thread))
		return;
	for (size_t i = 0; i < p->states.n; i++) {
		struct cs_py_state *state = &p->states.v[i];

		if (state->interp != interp)
			continue;
		last = state;
		if (known && main_thread && state->thread_id == main_thread)
			state->model->is_main = true;
	}
	if (!known && last)
		last->model->is_main = true;
}

void cs_py_names_read(struct cs_py_process *p)
{
	size_t n = p->states.n;
	CS_CLEANUP(cs_freep) struct key *idents = calloc(n + 1, sizeof(*idents));
	CS_CLEANUP(cs_freep) struct key *tids = calloc(n + 1, sizeof(*tids));
	struct reader r = {.p = p, .budget = CS_MAX_PY_ITEMS};

	if (!idents || !tids)
		return;
	for (size_t i = 0; i < n; i++) {
		struct cs_py_state *state = &p->states.v[i];

		idents[i] = (struct key){state->interp, state->thread_id, state};
		tids[i] = (struct key){state->interp, (uint32_t)state->tid, state};
	}
	qsort(idents, n, sizeof(*idents), compare_keys);
	qsort(tids, n, sizeof(*tids), compare_keys);
	r.idents = (struct index){idents, n};
	r.tids = (struct index){tids, n};
	for (size_t i = 0; i < p->interps.n; i++)
		if (!read_interp(&r, i) && p->interps.v[i].id == 0)
			find_main(p, i);
}
