/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The asyncio tasks of a runtime. Knows where each version registers them (CPython: Lib/asyncio/tasks.py,
 * Modules/_asynciomodule.c): a WeakSet up to 3.13, lists within the interpreter and the thread states from
 * 3.14 on, whose offsets the process publishes; refuses to know how a coroutine waits (await.c).
 */
#include "base/limits.h"
#include "python/await.h"
#include "python/value.h"

#include <endian.h>
#include <string.h>

/** A task that was found. */
struct found {
	uint64_t task;
	size_t interp; /* index into the process's interpreters */
	int32_t tid;   /* of the thread that it is listed with; 0: none */
	bool running;
};

struct reader {
	struct cs_py_process *p;
	const struct cs_py *py;
	struct cs_py_asyncio a; /* of the interpreter that is read */
	size_t interp;
	CS_VEC(struct found) found; /* owned */
	bool cut;
};

/* ---- the offsets that 3.14 and later publish ---- */

/* Words of the section, in order; CPython: Modules/_asynciomodule.c, struct _Py_AsyncioModuleDebugOffsets. */
enum word {
	TASK_SIZE,
	TASK_NAME,
	TASK_AWAITED_BY,
	TASK_IS_TASK,
	TASK_AWAITED_BY_IS_SET,
	TASK_CORO,
	TASK_NODE,
	INTERP_SIZE,
	INTERP_TASKS,
	TSTATE_SIZE,
	TSTATE_LOOP,
	TSTATE_TASK,
	TSTATE_TASKS,
	WORDS,
};

#define MAX_STRUCT 1048576U /* bytes of one structure */

/** @n bytes of 8-byte fields at @at fit into a structure of @size bytes. */
static bool fits(uint64_t at, uint64_t n, uint64_t size)
{
	return size <= MAX_STRUCT && at % 8 == 0 && at >= 8 && n <= size && at <= size - n;
}

static bool plausible(const uint64_t *w)
{
	return fits(w[TASK_NAME], 8, w[TASK_SIZE]) && fits(w[TASK_AWAITED_BY], 16, w[TASK_SIZE]) &&
	       fits(w[TASK_CORO], 8, w[TASK_SIZE]) && w[TASK_CORO] >= 24 &&
	       fits(w[TASK_NODE], 16, w[TASK_SIZE]) && fits(w[INTERP_TASKS], 16, w[INTERP_SIZE]) &&
	       fits(w[TSTATE_TASK], 8, w[TSTATE_SIZE]) && fits(w[TSTATE_TASKS], 16, w[TSTATE_SIZE]);
}

/** Address of section .AsyncioDebug of @mod, else of its symbol; 0: neither is there. */
static uint64_t debug_section(struct cs_mod *mod)
{
	static const char *const symbols[] = {"_AsyncioDebug", "_Py_AsyncioDebug"};
	Elf *elf = cs_mod_elf(mod);
	uint64_t addr, size;
	size_t names;

	if (elf && !cs_mod_elf_is_memory(mod) && elf_getshdrstrndx(elf, &names) == 0) {
		size_t n = 0;

		for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) && n < CS_MAX_ELF_SECTIONS; n++) {
			GElf_Shdr header;
			const char *name = gelf_getshdr(s, &header)
						   ? elf_strptr(elf, names, header.sh_name)
						   : NULL;

			if (name && strcmp(name, ".AsyncioDebug") == 0)
				return cs_mod_public(mod)->bias + header.sh_addr;
		}
	}
	for (size_t i = 0; i < CS_COUNT(symbols); i++)
		if (cs_mod_symbol(mod, symbols[i], &addr, &size))
			return addr;
	return 0;
}

static bool read_words(const struct cs_py *py, struct cs_mod *mod, uint64_t *ret)
{
	uint64_t at = mod ? debug_section(mod) : 0;

	if (!at || !cs_py_read(py, at, ret, WORDS * sizeof(*ret)))
		return false;
	for (size_t i = 0; i < WORDS; i++)
		ret[i] = le64toh(ret[i]);
	return plausible(ret);
}

/** In 3.15 the interpreter has the section, before that the extension module, where there is one. */
static bool find_words(const struct cs_py *py, uint64_t *ret)
{
	const struct cs_modules *modules = py->scene->modules;
	size_t n = cs_modules_count(modules);

	if (read_words(py, py->module, ret))
		return true;
	for (size_t i = 0; i < n; i++) {
		struct cs_mod *mod = cs_modules_at(modules, i);
		const char *name = cs_mod_public(mod)->name;

		if (name && strncmp(name, "_asyncio.", 9) == 0 && read_words(py, mod, ret))
			return true;
	}
	return false;
}

/** The table's offsets, or those that the process publishes. */
static void learn_offsets(struct cs_py_asyncio *a)
{
	const struct cs_py_layout *l = &a->py->layout;
	uint64_t w[WORDS];

	a->future_loop = l->task_loop;
	a->future_state = l->task_state;
	a->task_waiter = l->task_fut_waiter;
	a->task_coro = l->task_coro;
	a->task_name = l->task_name;
	a->task_node = l->task_node;
	a->interp_tasks = l->interp_asyncio_tasks;
	a->tstate_tasks = l->tstate_asyncio_tasks;
	a->tstate_running = l->tstate_running_task;
	if (l->minor < 14 || !find_words(a->py, w))
		return;
	a->task_coro = (int32_t)w[TASK_CORO];
	a->task_name = (int32_t)w[TASK_NAME];
	a->task_node = (int32_t)w[TASK_NODE];
	a->interp_tasks = (int32_t)w[INTERP_TASKS];
	a->tstate_tasks = (int32_t)w[TSTATE_TASKS];
	a->tstate_running = (int32_t)w[TSTATE_TASK];
	/* Not published, but they have these neighbours: Modules/_asynciomodule.c, TaskObj. */
	a->future_state = (int32_t)w[TASK_AWAITED_BY] + 8;
	a->task_waiter = a->task_coro - 8;
}

/* ---- collecting ---- */

static struct cs_error *add(struct reader *r, uint64_t task, int32_t tid, bool running)
{
	struct found f = {.task = task, .interp = r->interp, .tid = tid, .running = running};

	if (!task)
		return NULL;
	/* The same task can be found in several ways. */
	if (r->found.n >= 4 * CS_MAX_PY_TASKS) {
		r->cut = true;
		return NULL;
	}
	return CS_PUSH(&r->found, f, 4 * CS_MAX_PY_TASKS, "asyncio tasks");
}

/** Members of a set, or of a WeakSet: of a set of weak references. */
static struct cs_error *add_set(struct reader *r, uint64_t set)
{
	uint64_t data = set ? cs_py_attribute(r->py, set, "data") : 0, item, used, n = 0;
	struct cs_py_set_iter it;

	if (!set)
		return NULL;
	if (!cs_py_set_begin(r->py, data ? data : set, &it)) {
		r->cut = true;
		return NULL;
	}
	for (; cs_py_set_next(&it, &item); n++) {
		if (data) /* a dead one has None */
			item = cs_py_get(r->py, item, r->py->layout.weakref_object);
		r->cut |= !item;
		if (item && !cs_py_is_none(r->py, item))
			CS_TRY(add(r, item, 0, false));
	}
	if (!cs_py_u64(r->py, data ? data : set, r->py->layout.set_used, &used) || n < used)
		r->cut = true;
	return NULL;
}

/** _current_tasks: event loops and the task that each runs. */
static struct cs_error *add_current(struct reader *r, uint64_t dict)
{
	struct cs_py_dict_iter it;
	uint64_t loop, task;

	if (!dict || !cs_py_dict_begin(r->py, dict, &it))
		return NULL;
	while (cs_py_dict_next(&it, &loop, &task))
		if (!cs_py_is_none(r->py, task))
			CS_TRY(add(r, task, 0, true));
	return NULL;
}

/** What asyncio.tasks or the C module has under @name. */
static uint64_t registry(const struct reader *r, const char *name)
{
	static const char *const modules[] = {"asyncio.tasks", "_asyncio"};
	uint64_t found = 0;

	for (size_t i = 0; i < CS_COUNT(modules) && !found; i++) {
		uint64_t dict = cs_py_module_dict(r->py, r->a.interp, modules[i]);

		found = dict ? cs_py_dict_get(r->py, dict, name) : 0;
	}
	return found;
}

/** True if @dict maps event loops to tasks. */
static bool maps_to_tasks(const struct reader *r, uint64_t dict)
{
	struct cs_py_dict_iter it;
	struct cs_py_future f;
	uint64_t loop, task;

	return cs_py_is(r->py, dict, CS_PY_DICT) && cs_py_dict_begin(r->py, dict, &it) &&
	       cs_py_dict_next(&it, &loop, &task) && cs_py_future_read(&r->a, task, &f) && f.task;
}

/** 3.6: the C module keeps its registries in static variables that no name leads to. */
static struct cs_error *add_statics(struct reader *r)
{
	struct cs_mod *mod = cs_modules_named(r->py->scene->modules, "_asyncio.");
	uint64_t at, end, word;

	if (!mod)
		return NULL;
	at = (cs_mod_public(mod)->start + 7) / 8 * 8;
	end = cs_mod_public(mod)->end;
	/* Zero-initialised data ends on the page of the last mapping, or on the next. */
	end += CS_MIN(cs_mem_target(r->py->mem)->page_size, UINT64_MAX - end);
	if (end - at > CS_MAX_PY_STATICS)
		return NULL;
	for (; at < end; at += 8) {
		const struct cs_region *region = cs_mem_region(r->py->mem, at);

		if (!region || !(region->prot & CS_PROT_WRITE) || !cs_mem_u64(r->py->mem, at, &word))
			continue;
		word = cs_py_type(r->py, word) ? word : 0;
		if (word && strcmp(cs_py_short_name(r->py, cs_py_type(r->py, word)), "WeakSet") == 0)
			CS_TRY(add_set(r, word));
		else if (word && maps_to_tasks(r, word))
			CS_TRY(add_current(r, word));
	}
	return NULL;
}

/** 3.6: the class has them, where tasks are written in Python. */
static struct cs_error *add_of_class(struct reader *r)
{
	uint64_t dict = cs_py_module_dict(r->py, r->a.interp, "asyncio.tasks");
	uint64_t type = dict ? cs_py_dict_get(r->py, dict, "_PyTask") : 0;

	if (dict && !type)
		type = cs_py_dict_get(r->py, dict, "Task");
	if (!type)
		return NULL;
	CS_TRY(add_current(r, cs_py_class_attribute(r->py, type, "_current_tasks")));
	return add_set(r, cs_py_class_attribute(r->py, type, "_all_tasks"));
}

static struct cs_error *add_registered(struct reader *r)
{
	if (r->py->layout.minor == 6) {
		CS_TRY(add_of_class(r));
		return add_statics(r);
	}
	CS_TRY(add_current(r, registry(r, "_current_tasks")));
	CS_TRY(add_set(r, registry(r, "_all_tasks")));
	CS_TRY(add_set(r, registry(r, "_scheduled_tasks")));
	return add_set(r, registry(r, "_eager_tasks"));
}

/**
 * Along one direction of a circular list: the word at @link of a node leads on, the other one back. True if
 * it came round to @head.
 */
static struct cs_error *add_nodes(struct reader *r, uint64_t head, int32_t tid, unsigned link,
				  bool *whole_ret)
{
	uint64_t previous = head, at, back;

	*whole_ret = false;
	if (!cs_mem_u64(r->py->mem, head + link, &at))
		return NULL;
	for (size_t n = 0; at != head; n++) {
		/* What does not point back is no node of this list. */
		if (n >= CS_MAX_PY_TASKS || at < 4096 || at % 8 || at > UINT64_MAX - 16 ||
		    !cs_mem_u64(r->py->mem, at + 8 - link, &back) || back != previous)
			return NULL;
		CS_TRY(add(r, at - (uint64_t)r->a.task_node, tid, false));
		previous = at;
		if (!cs_mem_u64(r->py->mem, at + link, &at))
			return NULL;
	}
	*whole_ret = true;
	return NULL;
}

/** 3.14 and later: a list whose head lies at @head; each node is within its task. */
static struct cs_error *add_list(struct reader *r, uint64_t head, int32_t tid)
{
	uint64_t next, previous;
	bool whole;

	if (!cs_mem_u64(r->py->mem, head, &next) || !cs_mem_u64(r->py->mem, head + 8, &previous) ||
	    (!next && !previous))
		return NULL; /* not in use yet */
	CS_TRY(add_nodes(r, head, tid, 0, &whole));
	if (whole)
		return NULL;
	/* Behind the damage is what can be reached from the other end. */
	r->cut = true;
	return add_nodes(r, head, tid, 8, &whole);
}

static struct cs_error *add_lists(struct reader *r)
{
	const struct cs_py_asyncio *a = &r->a;

	if (a->task_node == CS_ABSENT || a->interp_tasks == CS_ABSENT ||
	    a->tstate_tasks == CS_ABSENT)
		return NULL;
	CS_TRY(add_list(r, a->interp + (uint64_t)a->interp_tasks, 0));
	for (size_t i = 0; i < r->p->states.n; i++) {
		const struct cs_py_state *s = &r->p->states.v[i];
		uint64_t task;

		if (s->interp != r->interp)
			continue;
		task = cs_py_get(r->py, s->address, a->tstate_running);
		CS_TRY(add(r, task, s->tid, true));
		CS_TRY(add_list(r, s->address + (uint64_t)a->tstate_tasks, s->tid));
	}
	return NULL;
}

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->task < y->task ? -1 : x->task > y->task;
}

/** Each task once, with all that is known of it. */
static void unite(struct reader *r)
{
	struct found *v = r->found.v;
	size_t n = 0;

	if (!r->found.n)
		return;
	qsort(v, r->found.n, sizeof(*v), compare_found);
	for (size_t i = 0; i < r->found.n; i++) {
		if (!n || v[n - 1].task != v[i].task) {
			v[n++] = v[i];
			continue;
		}
		v[n - 1].running |= v[i].running;
		if (!v[n - 1].tid)
			v[n - 1].tid = v[i].tid;
	}
	r->found.n = n;
}

/* ---- the model ---- */

/** True if @loop runs in the thread of @state, as the C module has written down. */
static bool runs_in(const struct cs_py *py, const struct cs_py_state *state, uint64_t loop)
{
	const struct cs_py_layout *l = &py->layout;
	/* In 3.13 it is the first word behind what all thread states have, whose size is published. */
	int32_t at = l->minor == 13 ? l->tstate_size : l->tstate_running_loop;
	uint64_t dict, value;

	if (at != CS_ABSENT)
		return cs_py_get(py, state->address, at) == loop;
	/* 3.7 to 3.12: in the thread's dict, up to 3.11 within an object of its own. */
	dict = cs_py_get(py, state->address, l->tstate_dict);
	value = dict ? cs_py_dict_get(py, dict, "__asyncio_running_event_loop__") : 0;
	return value && (value == loop || cs_py_get(py, value, l->object_size) == loop);
}

/** The thread that runs @loop; 0: not known. */
static int32_t thread_of_loop(const struct reader *r, uint64_t loop)
{
	uint64_t ident = loop ? cs_py_attribute(r->py, loop, "_thread_id") : 0;
	int64_t id;

	if (!cs_py_int(r->py, ident, &id))
		id = 0;
	for (size_t i = 0; loop && i < r->p->states.n; i++) {
		const struct cs_py_state *s = &r->p->states.v[i];

		if (s->interp == r->interp && ((id && s->thread_id == (uint64_t)id) ||
					       (!id && runs_in(r->py, s, loop))))
			return s->tid;
	}
	return 0;
}

/** The frames of @await, innermost first. Errors: NOMEM. */
static struct cs_error *write_frames(const struct reader *r, const struct cs_py_await *await,
				     struct cs_python_task *ret)
{
	size_t n = await->frames.n;
	struct cs_frame *frames = n ? cs_arena_calloc(r->py->arena, n, sizeof(*frames)) : NULL;

	if (!n)
		return NULL;
	if (!frames)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++)
		frames[i] = cs_py_frame_model(&await->frames.v[n - 1 - i]);
	ret->frames = frames;
	ret->n_frames = n;
	return NULL;
}

static bool waits(const struct cs_py_asyncio *a, const struct cs_py_future *task)
{
	struct cs_py_future waiter;

	return task->waiter && (!cs_py_future_read(a, task->waiter, &waiter) || waiter.pending);
}

static struct cs_error *write_task(const struct reader *r, const struct found *found,
				   const struct cs_py_future *f, struct cs_python_task *ret)
{
	CS_CLEANUP(cs_py_await_deinit) struct cs_py_await await = {0};
	struct cs_python_task t = {.address = found->task, .loop = f->loop};
	bool running;

	CS_TRY(cs_py_await_read(&r->a, f->coro, &await));
	CS_TRY(write_frames(r, &await, &t));
	t.broken = await.broken;
	running = found->running || await.running;
	t.name = cs_py_task_name(&r->a, f);
	t.coroutine = cs_py_coroutine_name(&r->a, f->coro);
	t.state = running ? "running" : waits(&r->a, f) ? "waiting" : "ready";
	if (!running)
		t.awaits = cs_py_await_text(&r->a, &await, f->waiter, &t.awaits_task);
	t.tid = thread_of_loop(r, f->loop);
	if (!t.tid)
		t.tid = await.tid ? await.tid : found->tid;
	*ret = t;
	return NULL;
}

static struct cs_error *write_tasks(struct reader *r, struct cs_py_tasks *ret)
{
	for (size_t i = 0; i < r->found.n; i++) {
		struct cs_py_future f;
		struct cs_python_task t;

		if (!cs_py_future_read(&r->a, r->found.v[i].task, &f)) {
			r->cut = true;
			continue;
		}
		if (!f.task || !f.pending)
			continue;
		if (ret->n >= CS_MAX_PY_TASKS) {
			r->cut = true;
			break;
		}
		CS_TRY(write_task(r, &r->found.v[i], &f, &t));
		CS_TRY(CS_PUSH(ret, t, CS_MAX_PY_TASKS, "asyncio tasks"));
	}
	return NULL;
}

/** Running ones first, then in the order of their names: Task-2 before Task-10. */
static int compare_tasks(const void *a, const void *b)
{
	const struct cs_python_task *x = a, *y = b;
	bool x_runs = strcmp(x->state, "running") == 0, y_runs = strcmp(y->state, "running") == 0;
	int order = 0;

	if (x_runs != y_runs)
		return x_runs ? -1 : 1;
	if (x->name && y->name)
		order = strverscmp(x->name, y->name);
	return order ? order : x->address < y->address ? -1 : x->address > y->address;
}

static struct cs_error *read_interp(struct reader *r, struct cs_py_tasks *ret)
{
	uint64_t dict;

	r->a.interp = r->p->interps.v[r->interp].address;
	r->found.n = 0;
	if (!cs_py_module_dict(r->py, r->a.interp, "asyncio.tasks") &&
	    !cs_py_module_dict(r->py, r->a.interp, "_asyncio"))
		return NULL;
	dict = cs_py_module_dict(r->py, r->a.interp, "_asyncio");
	r->a.c_future = dict ? cs_py_dict_get(r->py, dict, "Future") : 0;
	r->a.c_task = dict ? cs_py_dict_get(r->py, dict, "Task") : 0;
	learn_offsets(&r->a);
	CS_TRY(add_registered(r));
	CS_TRY(add_lists(r));
	unite(r);
	return write_tasks(r, ret);
}

struct cs_error *cs_py_tasks_read(struct cs_py_process *p, struct cs_py_tasks *ret)
{
	struct reader r = {.p = p, .py = &p->py, .a = {.p = p, .py = &p->py}};
	struct cs_error *err = NULL;

	for (; !err && r.interp < p->interps.n; r.interp++)
		err = read_interp(&r, ret);
	free(r.found.v);
	if (r.cut)
		cs_diag(p->py.scene->diags, CS_SEVERITY_WARNING, "python", "asyncio-tasks-cut", 0,
			"not all asyncio tasks could be found: their list is damaged, or longer than "
			"%lu",
			CS_MAX_PY_TASKS);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_tasks);
	return err;
}
