/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All C++ exceptions of a process: of which threads and where to look, and which one is why the process
 * ended. Knows the order of things; refuses to know how a header or a type is read.
 */
#include "torch/torch.h"

#include "base/limits.h"
#include "torch/cxx.h"

#include <string.h>

struct found {
	struct cs_exception model;
	uint64_t header;
	int32_t handlers;
	bool has_handler;
};

struct reader {
	struct cs_cxx cx;
	const struct cs_torch_input *in;
	const struct cs_analysis *analysis;
	struct cs_cxx_runtimes *runtimes; /* owned */
	CS_VEC(struct found) found;       /* owned */
	struct cs_error *err;             /* of a search's callback; owned */
	bool limit_told;
	/* What a search is for: */
	int32_t tid;
	const char *state;
	size_t left;
	bool on_way; /* only what the unwinder works on: thrown, and not handled yet */
};

static int32_t tid_of(const struct reader *r, size_t i)
{
	return cs_mem_target(r->cx.mem)->threads[i].tid;
}

static bool is_known(const struct reader *r, uint64_t header, int32_t tid)
{
	for (size_t i = r->found.n; i-- > 0;)
		if (r->found.v[i].header == header && (!tid || r->found.v[i].model.tid == tid))
			return true;
	return false;
}

static struct cs_error *add(struct reader *r, const struct cs_cxx_header *header, int32_t tid,
			    const char *state)
{
	struct found f = {.header = header->address, .handlers = header->handlers,
			  .has_handler = header->has_handler};

	if (r->found.n >= CS_MAX_CXX_EXCEPTIONS) {
		if (r->limit_told)
			return NULL;
		r->limit_told = true;
		cs_diag(r->cx.scene->diags, CS_SEVERITY_NOTE, "torch", "cxx-exceptions-limit", 0,
			"not all C++ exceptions of the process were read");
		return NULL;
	}
	f.model.tid = tid;
	f.model.state = state;
	CS_TRY(cs_cxx_describe(&r->cx, header, &f.model));
	return CS_PUSH(&r->found, f, CS_MAX_CXX_EXCEPTIONS + 1, "C++ exceptions");
}

/* ---- what threads know ---- */

/** Innermost first; one that is thrown again while it is handled has a negative count. */
static struct cs_error *read_caught(struct reader *r, size_t i, uint64_t at)
{
	struct cs_cxx_header header;

	for (size_t n = 0; at && n < CS_MAX_CXX_CHAIN; n++) {
		if (!cs_cxx_header_read(&r->cx, at, &header)) {
			cs_diag(r->cx.scene->diags, CS_SEVERITY_WARNING, "torch", "cxx-exception-unreadable",
				tid_of(r, i), "a C++ exception of this thread, at 0x%llx, cannot be read",
				(unsigned long long)at);
			return NULL;
		}
		if (is_known(r, at, tid_of(r, i)))
			return NULL;
		CS_TRY(add(r, &header, tid_of(r, i), header.handlers < 0 ? "in-flight" : "caught"));
		at = header.next;
	}
	return NULL;
}

static bool take_found(void *arg, const struct cs_cxx_header *header, uint64_t word)
{
	struct reader *r = arg;
	struct cs_cxx_type type;

	if (r->on_way && (header->handlers != 0 || word != header->address + CS_CXX_UNWIND))
		return true;
	if (is_known(r, header->address, r->tid) || !cs_cxx_type_read(&r->cx, header->type, &type))
		return true;
	r->err = add(r, header, r->tid, r->state);
	return !r->err && --r->left;
}

/** Search the stack of thread @i, and those that signals left on it. */
static struct cs_error *search_stacks(struct reader *r, size_t i, bool on_way, size_t max)
{
	const struct cs_py_native *native = &r->in->natives[i];
	unsigned sp = r->cx.scene->arch->sp;
	uint64_t pointer = cs_mem_target(r->cx.mem)->threads[i].thread_pointer, at;

	r->tid = tid_of(r, i);
	r->state = "in-flight";
	r->on_way = on_way;
	r->left = max;
	if (cs_regs_get(native->regs, sp, &at))
		cs_cxx_search_stack(&r->cx, at, pointer, take_found, r);
	for (size_t k = 0; !r->err && r->left && k < native->raw->n_interrupted; k++)
		if (cs_regs_get(&native->raw->interrupted[k].regs, sp, &at))
			cs_cxx_search_stack(&r->cx, at, pointer, take_found, r);
	return CS_TAKE(r->err);
}

/** Exceptions that are thrown again while they are handled are counted, too, and were seen already. */
static size_t thrown_again(const struct reader *r, int32_t tid)
{
	size_t n = 0;

	for (size_t i = r->found.n; i-- > 0 && r->found.v[i].model.tid == tid;)
		n += r->found.v[i].handlers < 0;
	return n;
}

static struct cs_error *read_thread(struct reader *r, size_t i)
{
	uint64_t pointer = cs_mem_target(r->cx.mem)->threads[i].thread_pointer;
	bool crashed = tid_of(r, i) == r->analysis->crash.tid;
	size_t uncaught = 0, seen;

	for (size_t k = 0; k < cs_cxx_runtimes_count(r->runtimes); k++) {
		struct cs_cxx_globals g = cs_cxx_globals_read(&r->cx, r->runtimes, k, pointer);

		uncaught += g.unsure && crashed ? 1 : g.uncaught;
		CS_TRY(read_caught(r, i, g.caught));
	}
	seen = thrown_again(r, tid_of(r, i));
	return uncaught > seen ? search_stacks(r, i, true, uncaught - seen) : NULL;
}

/* ---- why the process ended ---- */

static bool begins(const char *function, const char *const *names, size_t n)
{
	for (size_t i = 0; function && i < n; i++)
		if (!strncmp(function, names[i], strlen(names[i])))
			return true;
	return false;
}

/** Functions of the C++ runtime that end a process, and those that call them for want of a handler. */
static const char *const enders[] = {"std::terminate", "__cxxabiv1::__terminate",
				     "__gnu_cxx::__verbose_terminate_handler", "__cxa_call_terminate",
				     "__clang_call_terminate"};
static const char *const throwers[] = {"__cxa_throw",           "__cxa_rethrow",
				       "std::rethrow_exception", "__gxx_personality_v0",
				       "_Unwind_",              "__cxa_call_unexpected",
				       "__cxa_call_terminate",  "__clang_call_terminate"};

/** abort() by the process, and not a SIGABRT that someone sent to see what it does. */
static bool aborted_itself(const struct cs_analysis *a)
{
	const struct cs_crash *c = &a->crash;

	return c->fault == CS_FAULT_ABORT &&
	       (c->sender_pid <= 0 || c->sender_pid == a->process.pid);
}

/**
 * The way to abort() has std::terminate(), or a function that only calls it; @unhandled_ret: because nothing
 * catches. What std::terminate() itself calls has no names in a stripped library.
 */
static bool was_terminated(const struct cs_analysis *a, bool *unhandled_ret)
{
	const struct cs_stack_group *g = a->n_threads && a->threads[0].crashed ? a->threads[0].group : NULL;
	bool ended = false;

	*unhandled_ret = false;
	if (!g || !aborted_itself(a))
		return false;
	for (size_t i = 0; i < CS_MIN(g->n_frames, CS_MAX_ABORT_FRAMES); i++) {
		const char *f = g->frames[i].nearest ? NULL : g->frames[i].function;

		if (&g->frames[i] == a->crash.culprit)
			break;
		ended |= begins(f, enders, CS_COUNT(enders));
		*unhandled_ret |= begins(f, throwers, CS_COUNT(throwers));
	}
	return ended || *unhandled_ret;
}

/** Caught, and not by a handler: by std::terminate(). */
static bool is_unhandled(const struct found *f)
{
	return f->handlers > 0 && !f->has_handler;
}

/**
 * The innermost exception of the thread that called abort(): where that was by std::terminate(), or without a
 * word of the C library.
 */
static struct found *fatal_of(struct reader *r, bool terminated)
{
	const struct cs_crash *c = &r->analysis->crash;

	for (size_t i = 0; aborted_itself(r->analysis) && i < r->found.n; i++) {
		struct found *f = &r->found.v[i];

		if (f->model.tid == c->tid)
			return terminated || !c->message || is_unhandled(f) ? f : NULL;
	}
	return NULL;
}

static size_t index_of(const struct reader *r, int32_t tid)
{
	for (size_t i = 0; i < r->in->n; i++)
		if (tid_of(r, i) == tid)
			return i;
	return r->in->n;
}

static bool has_role(const struct cs_analysis *a, const char *role)
{
	for (size_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].role && !strcmp(a->threads[i].role, role))
			return true;
	return false;
}

/** LLVM's C++ runtime has globals and marks of its own. */
static void tell_other_runtime(const struct reader *r)
{
	const struct cs_modules *modules = r->cx.scene->modules;

	for (size_t i = 0; i < cs_modules_count(modules); i++) {
		const char *name = cs_mod_public(cs_modules_at(modules, i))->name;

		if (!name || (strncmp(name, "libc++abi.so", 12) != 0 && strncmp(name, "libc++.so", 9) != 0))
			continue;
		cs_diag(r->cx.scene->diags, CS_SEVERITY_NOTE, "torch", "cxx-runtime-not-read",
			r->analysis->crash.tid,
			"std::terminate() was called, perhaps for an exception of %s: those are not read",
			name);
		return;
	}
}

static struct cs_error *search_memory(struct reader *r)
{
	r->tid = 0;
	r->state = "stored";
	r->on_way = false;
	r->left = CS_MAX_CXX_STORED;
	if (!cs_cxx_search_memory(&r->cx, take_found, r) || !r->left)
		cs_diag(r->cx.scene->diags, CS_SEVERITY_NOTE, "torch", "cxx-search-limit", 0,
			"the search for stored C++ exceptions ended at a limit: there may be more");
	return CS_TAKE(r->err);
}

/**
 * Where no thread says why: the stack of the one that std::terminate() ended, then all memory. All memory is
 * also searched in a process that did not crash and has NCCL's watchdog, which keeps what went wrong in
 * its work objects until it may throw it.
 */
static struct cs_error *search_further(struct reader *r, bool terminated, struct found **fatal)
{
	const struct cs_crash *c = &r->analysis->crash;
	size_t crashed = index_of(r, c->tid);

	if (!*fatal && terminated && crashed < r->in->n) {
		size_t first = r->found.n;

		CS_TRY(search_stacks(r, crashed, false, CS_MAX_CXX_CHAIN));
		for (size_t i = first; i < r->found.n && !*fatal; i++)
			if (r->found.v[i].handlers)
				*fatal = &r->found.v[i];
		/* One that is only kept may be any; it is shown, but not as the reason. */
		for (size_t i = first; i < r->found.n; i++)
			if (!r->found.v[i].handlers)
				r->found.v[i].model.state = "stored";
		if (*fatal)
			return NULL;
		tell_other_runtime(r);
		return search_memory(r);
	}
	if ((c->fault == CS_FAULT_NONE || c->fault == CS_FAULT_ABORT) && !aborted_itself(r->analysis) &&
	    has_role(r->analysis, "nccl-watchdog"))
		return search_memory(r);
	return NULL;
}

/* ---- into the model ---- */

static int weight(const struct cs_exception *e, int32_t crashed)
{
	return e->fatal ? 0 : crashed && e->tid == crashed ? 1 : 2;
}

static struct cs_error *write_model(const struct reader *r, struct cs_analysis *ret)
{
	size_t total = ret->n_exceptions + r->found.n, at = 0;
	struct cs_exception *list;

	if (!r->found.n)
		return NULL;
	list = cs_arena_calloc(r->cx.arena, total, sizeof(*list));
	if (!list)
		return &cs_nomem;
	for (int w = 0; w <= 2; w++) {
		for (size_t i = 0; i < ret->n_exceptions; i++)
			if (weight(&ret->exceptions[i], ret->crash.tid) == w)
				list[at++] = ret->exceptions[i];
		for (size_t i = 0; i < r->found.n; i++)
			if (weight(&r->found.v[i].model, ret->crash.tid) == w)
				list[at++] = r->found.v[i].model;
	}
	ret->exceptions = list;
	ret->n_exceptions = at;
	return NULL;
}

static struct cs_error *read_all(struct reader *r, struct cs_analysis *ret)
{
	struct found *fatal;
	bool unhandled, terminated = was_terminated(ret, &unhandled);

	CS_TRY(cs_cxx_runtimes_find(&r->cx, &r->runtimes));
	for (size_t i = 0; i < r->in->n; i++)
		CS_TRY(read_thread(r, i));
	fatal = fatal_of(r, terminated);
	CS_TRY(search_further(r, terminated, &fatal));
	if (fatal) {
		fatal->model.fatal = true;
		if (unhandled || is_unhandled(fatal))
			fatal->model.state = "in-flight";
	}
	return write_model(r, ret);
}

struct cs_error *cs_torch_exceptions_read(const struct cs_torch_input *in, struct cs_analysis *ret)
{
	struct reader r = {
		.cx = {.scene = in->scene,
		       .mem = in->scene->mem,
		       .arena = in->scene->arena,
		       .pythons = in->pythons},
		.in = in,
		.analysis = ret,
	};
	struct cs_error *err = read_all(&r, ret);

	cs_cxx_runtimes_destroy(r.runtimes);
	cs_cxx_deinit(&r.cx);
	free(r.found.v);
	return err;
}
