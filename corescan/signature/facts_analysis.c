/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts of an analysis: its stacks, messages and crash in the form that signatures are matched against.
 */
#include "signature/facts.h"

#include "base/limits.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define MAX_CHAIN 16 /* causes and contexts of one exception */

static void add_frame(struct cs_facts_maker *m, const struct cs_frame *f, size_t number)
{
	/* A name that is only the closest one says nothing, the library all the more. */
	const char *function = f->nearest ? NULL : f->function;

	if (f->kind == CS_FRAME_PYTHON)
		cs_facts_python(m, f->function, f->file, (int64_t)number);
	else if (f->kind == CS_FRAME_NATIVE || f->kind == CS_FRAME_INLINE)
		cs_facts_native(m, function, f->nearest ? NULL : f->short_name,
				f->module ? f->module->name : NULL, (int64_t)number);
	else if (f->kind == CS_FRAME_SIGNAL)
		cs_facts_native(m, "<signal handler called>", NULL, NULL, (int64_t)number);
}

/* Frames that repeat were folded; they are there twice, for texts of other tools have them all. */
static void add_stack(struct cs_facts_maker *m, const struct cs_stack_group *group)
{
	size_t run = 0, end = 0;

	for (size_t i = 0; i < group->n_frames; i++) {
		const struct cs_frame *f = &group->frames[i];

		add_frame(m, f, i);
		if (f->repeat_count > 1 && i >= end) {
			run = i;
			end = CS_MIN(i + f->repeat_period, group->n_frames);
		}
		for (size_t k = run; i + 1 == end && k < end; k++)
			add_frame(m, &group->frames[k], k);
	}
	(void)cs_facts_stack(m);
}

/* Killed from outside, or looked at: what the threads did is the question, and no thread is to blame. */
static bool is_hang(const struct cs_analysis *a)
{
	const struct cs_crash *c = &a->crash;

	if (!c->signal || !c->tid || c->signal == SIGSTOP || c->signal == SIGTRAP || c->signal == SIGKILL)
		return true;
	return c->fault == CS_FAULT_NONE && c->sender_pid >= 0 && c->sender_pid != a->process.pid;
}

/* One that gives up by itself is not lost. */
static bool is_orphaned(const struct cs_wait *w)
{
	return w && w->owner_gone && !w->timed;
}

/* What a thread waits for, as evidence; NULL: nothing that proves anything. */
static const char *wait_text(struct cs_facts_maker *m, const struct cs_wait *w)
{
	const char *gone = w && w->owner_gone ? ", which does not exist" : "", *text;

	if (!w || !w->owner)
		return NULL;
	if (!strcmp(w->kind, "gil"))
		text = cs_arena_printf(m->arena, "waits for the GIL, which thread %" PRId32 " has",
				       w->owner);
	else if (!strcmp(w->kind, "mutex"))
		text = cs_arena_printf(m->arena,
				       "waits for the mutex at 0x%" PRIx64 ", which belongs to thread "
				       "%" PRId32 "%s",
				       w->address, w->owner, gone);
	else
		text = cs_arena_printf(m->arena, "waits for the end of thread %" PRId32 "%s", w->owner,
				       gone);
	m->nomem |= !text;
	return text;
}

static void add_threads(struct cs_facts_maker *m, const struct cs_analysis *a)
{
	bool hang = is_hang(a);

	for (size_t i = 0; i < a->n_groups; i++)
		add_stack(m, &a->groups[i]);
	for (size_t i = 0; i < a->n_threads; i++) {
		const struct cs_thread *t = &a->threads[i];

		if (!t->group)
			continue;
		cs_facts_thread(m, &(struct cs_fact_thread){
					   .tid = t->tid,
					   .name = t->name,
					   .role = t->role,
					   .crashed = t->crashed && !hang,
					   .main = (t->role && !strcmp(t->role, "main")) ||
						   (t->python && t->python->is_main),
					   .holds_gil = t->python && t->python->holds_gil &&
							!t->python->waits_for_gil,
					   .waits_for_gil = t->python && t->python->waits_for_gil,
					   .deadlocked = t->wait && t->wait->deadlock,
					   .orphaned = is_orphaned(t->wait),
					   .wait = wait_text(m, t->wait),
					   .stack = t->group->id,
				   });
	}
}

/*
 * The interpreter was about to print an exception that nobody caught, and what it called for that, a hook,
 * ended the process (CPython: Python/pythonrun.c, _PyErr_PrintEx, which first stores it as sys.last_exc).
 */
static bool ended_by_hook(const struct cs_analysis *a)
{
	const struct cs_stack_group *g = a->n_threads ? a->threads[0].group : NULL;

	if (a->crash.fault != CS_FAULT_ABORT || !g || !a->threads[0].crashed)
		return false;
	for (size_t i = 0; i < g->n_frames; i++) {
		const char *function = g->frames[i].nearest ? NULL : g->frames[i].function;

		if (function && g->frames[i].kind != CS_FRAME_PYTHON) {
			function += strspn(function, "_");
			if (!strcmp(function, "PyErr_PrintEx") || !strcmp(function, "PyErr_Print"))
				return true;
		}
	}
	return false;
}

static bool is_printed_last(const struct cs_exception *e)
{
	return !e->tid && e->state && !strcmp(e->state, "stored") && e->language &&
	       !strcmp(e->language, "python");
}

static struct cs_fact_message weight_of(const struct cs_analysis *a, const struct cs_exception *e,
					bool hang)
{
	bool kept = !e->state || !strcmp(e->state, "stored");

	return (struct cs_fact_message){
		.tid = e->tid,
		.final = e->fatal || (!hang && e->tid && e->tid == a->crash.tid && !kept) ||
			 (is_printed_last(e) && ended_by_hook(a)),
		.handled = e->state && !strcmp(e->state, "caught"),
	};
}

/* With all that led to it, which weighs as much. The number of messages bounds the walk. */
static void add_exception(struct cs_facts_maker *m, const struct cs_exception *e,
			  const struct cs_fact_message *weight, unsigned depth)
{
	const char *text;

	if (!e || depth > MAX_CHAIN || m->messages.n + m->dropped >= CS_MAX_FACT_MESSAGES)
		return;
	text = cs_arena_printf(m->arena, "%s: %s", e->type ? e->type : "exception",
			       e->message ? e->message : "");
	m->nomem |= !text;
	cs_facts_message(m, text, weight);
	for (size_t i = 0; i < e->n_notes; i++)
		cs_facts_message(m, e->notes[i], weight);
	add_exception(m, e->cause, weight, depth + 1);
	if (!e->suppress_context)
		add_exception(m, e->context, weight, depth + 1);
}

static void add_messages(struct cs_facts_maker *m, const struct cs_analysis *a)
{
	struct cs_fact_message weight = {.tid = a->crash.tid, .final = true};
	bool hang = is_hang(a);

	cs_facts_message(m, a->crash.message, &weight);
	for (size_t i = 0; i < a->n_exceptions; i++) {
		weight = weight_of(a, &a->exceptions[i], hang);
		add_exception(m, &a->exceptions[i], &weight, 0);
	}
}

static uint64_t facts_of_fault(const struct cs_crash *c)
{
	bool write = c->access && !strcmp(c->access, "write");

	switch (c->fault) {
	case CS_FAULT_NULL:
		return write ? CS_FACT_BIT(NULL_WRITE) : CS_FACT_BIT(NULL_READ);
	case CS_FAULT_STACK_OVERFLOW:
		return CS_FACT_BIT(STACK_OVERFLOW);
	case CS_FAULT_UNMAPPED:
		return CS_FACT_BIT(UNMAPPED);
	case CS_FAULT_PROTECTION:
		return CS_FACT_BIT(PROTECTION);
	case CS_FAULT_NON_CANONICAL:
		return CS_FACT_BIT(NON_CANONICAL);
	case CS_FAULT_EXECUTE_DATA:
		return CS_FACT_BIT(EXEC_FAULT);
	case CS_FAULT_FILE_END:
		return CS_FACT_BIT(FILE_END);
	case CS_FAULT_ILLEGAL_INSTRUCTION:
		return CS_FACT_BIT(ILLEGAL_INSTRUCTION);
	case CS_FAULT_ABORT:
		return CS_FACT_BIT(ABORTED);
	default:
		return 0;
	}
}

static uint64_t facts_of_python(const struct cs_analysis *a)
{
	size_t waiters = 0, running = 0;
	uint64_t facts = 0;

	for (size_t i = 0; i < a->n_threads; i++) {
		const struct cs_python_thread *p = a->threads[i].python;

		waiters += p && p->waits_for_gil;
		running += p && !p->waits_for_gil && p->holds_gil;
		if (p && p->waits_for_gil && p->holds_gil)
			facts |= CS_FACT_BIT(GIL_HOLDER_WAITS);
	}
	if (waiters)
		facts |= CS_FACT_BIT(GIL_WAITED_FOR);
	if (waiters == 1 && !running)
		facts |= CS_FACT_BIT(GIL_ONE_WAITER);
	if (a->python.n_runtimes > 1)
		facts |= CS_FACT_BIT(TWO_PYTHONS) | CS_FACT_BIT(TWO_RUNTIMES);
	for (size_t i = 0; i < a->python.n_runtimes; i++) {
		const struct cs_python_runtime *r = &a->python.runtimes[i];

		if (r->phase && !strcmp(r->phase, "finalizing"))
			facts |= CS_FACT_BIT(PYTHON_FINALIZING);
		if (waiters && r->gil && !strcmp(r->gil, "free"))
			facts |= CS_FACT_BIT(GIL_HELD_BY_NOBODY);
		if (r->collecting)
			facts |= CS_FACT_BIT(COLLECTING);
		if (r->n_stale)
			facts |= CS_FACT_BIT(FORKED_CHILD);
	}
	return facts;
}

static uint64_t facts_of_waits(const struct cs_analysis *a)
{
	uint64_t facts = a->n_threads == 1 ? CS_FACT_BIT(ONLY_THREAD) : 0;

	for (size_t i = 0; i < a->n_threads; i++) {
		if (a->threads[i].wait && a->threads[i].wait->deadlock)
			facts |= CS_FACT_BIT(LOCK_CYCLE);
		if (is_orphaned(a->threads[i].wait))
			facts |= CS_FACT_BIT(LOCK_OWNER_GONE);
	}
	return facts;
}

static void add_modules(struct cs_facts_maker *m, const struct cs_analysis *a)
{
	for (size_t i = 0; i < a->n_modules; i++)
		cs_facts_module(m, a->modules[i]->name);
}

struct cs_error *cs_facts_of_analysis(const struct cs_analysis *a, struct cs_arena *arena,
				      struct cs_facts *ret)
{
	struct cs_facts_maker m = {.arena = arena};
	const struct cs_crash *c = &a->crash;
	struct cs_error *err;

	*ret = (struct cs_facts){
		.threads_known = true,
		.kind = is_hang(a) ? CS_KIND_HANG : CS_KIND_CRASH,
		.has_exit = c->signal != 0,
		.exit = -c->signal,
		.environment = a->process.environment,
		.n_environment = a->process.n_environment,
		.versions = a->versions,
		.n_versions = a->n_versions,
	};
	if (ret->kind == CS_KIND_HANG)
		ret->facts |= CS_FACT_BIT(NO_CRASH);
	else
		ret->facts |= facts_of_fault(c);
	if (c->sender_pid >= 0 && c->sender_pid != a->process.pid)
		ret->facts |= CS_FACT_BIT(SENT_FROM_OUTSIDE);
	ret->facts |= facts_of_python(a) | facts_of_waits(a);
	cs_facts_signal(&m, c->signal_name, ret);
	add_threads(&m, a);
	add_messages(&m, a);
	add_modules(&m, a);
	err = cs_facts_finish(&m, ret);
	cs_facts_maker_deinit(&m);
	return err;
}
