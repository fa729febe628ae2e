/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which threads are shown as one paragraph. Knows what a reader takes for the same stack; refuses to know how
 * it is shown.
 */
#include "report/thread_table.h"

#include "report/text_fold.h"
#include "report/text_sections.h"

/* The name that Python gave is the one a person chose; the kernel's is often the program's. */
const char *cs_thread_shown_name(const struct cs_thread *thread)
{
	return thread->python && thread->python->name ? thread->python->name : thread->name;
}

/* What folding groups must know. */
struct folding {
	const struct cs_analysis *a;
	const struct cs_stack_group *crashed; /* NULL: none */
	bool every_frame;                     /* nothing is hidden */
};

void cs_thread_table_deinit(struct cs_thread_table *table)
{
	free(table->groups);
	free(table->threads);
	free(table->shown_as);
}

static uint64_t stack_hash(const void *things, size_t i)
{
	const struct folding *folding = things;
	const struct cs_stack_group *g = &folding->a->groups[i];
	uint64_t h = g->stop;

	for (size_t k = 0; k < g->n_frames; k++) {
		const struct cs_frame *f = &g->frames[k];

		if (f->plumbing)
			continue;
		h ^= f->kind == CS_FRAME_PYTHON ? f->line : f->address;
		h = (h ^ h >> 29) * 0x9e3779b97f4a7c15ULL;
	}
	return h ^ h >> 32;
}

static bool same_place(const struct cs_frame *a, const struct cs_frame *b)
{
	if (a->repeat_period || b->repeat_period || a->n_variables || b->n_variables)
		return false;
	return cs_text_same_frame(a, b) &&
	       (a->kind == CS_FRAME_PYTHON || a->address == b->address);
}

/*
 * Stacks that differ only in the interpreter's own frames look the same: a call that the
 * interpreter has specialised takes another way through it.
 */
static bool stack_equal(const void *things, size_t i, size_t j)
{
	const struct folding *folding = things;
	const struct cs_stack_group *a = &folding->a->groups[i];
	const struct cs_stack_group *b = &folding->a->groups[j];
	size_t x = 0, y = 0;

	if (folding->every_frame || a == folding->crashed || b == folding->crashed ||
	    a->stop != b->stop || !cs_text_same(a->stop_text, b->stop_text))
		return false;
	for (;; x++, y++) {
		while (x < a->n_frames && a->frames[x].plumbing)
			x++;
		while (y < b->n_frames && b->frames[y].plumbing)
			y++;
		if (x == a->n_frames || y == b->n_frames)
			break;
		if (!same_place(&a->frames[x], &b->frames[y]))
			return false;
	}
	return x == a->n_frames && y == b->n_frames && (a->n_frames || b->n_frames);
}

static struct cs_error *table_fold(struct cs_thread_table *table, const struct cs_analysis *a,
				   bool every_frame)
{
	const struct cs_thread *crashed = cs_text_crashed_thread(a);
	const struct folding folding = {
		.a = a,
		.crashed = crashed ? crashed->group : NULL,
		.every_frame = every_frame,
	};
	const struct cs_text_fold_by by = {
		.hash = stack_hash, .equal = stack_equal, .things = &folding};
	CS_CLEANUP(cs_text_folds_deinit) struct cs_text_folds folds = {0};

	CS_TRY(cs_text_folds_init(&folds, a->n_groups, &by));
	for (size_t i = 0; i < folds.n; i++) {
		struct cs_thread_members *m = &table->groups[folds.folds[i].first];

		m->n_stacks = folds.folds[i].n;
		for (size_t k = folds.folds[i].first; k != CS_FOLD_END;
		     k = folds.next[k]) {
			uint64_t plumbing =
				m->n_stacks > 1 ? cs_text_plumbing(&a->groups[k]) : 0;

			table->shown_as[k] = folds.folds[i].first;
			m->most_plumbing = CS_MAX(m->most_plumbing, plumbing);
			if (k == folds.folds[i].first || plumbing < m->least_plumbing)
				m->least_plumbing = plumbing;
		}
	}
	return NULL;
}

static struct cs_thread_members *members_of(const struct cs_thread_table *table, const struct cs_analysis *a,
				  const struct cs_thread *thread)
{
	if (!thread->group || thread->group->id >= a->n_groups)
		return NULL;
	return &table->groups[table->shown_as[thread->group->id]];
}

static void member_add(struct cs_thread_members *m, const struct cs_thread *thread)
{
	const struct cs_python_thread *p = thread->python;

	m->threads[m->n++] = thread;
	m->crashed |= thread->crashed;
	m->deadlocked += thread->wait && thread->wait->deadlock;
	m->names_differ |= !cs_text_same(cs_thread_shown_name(m->threads[0]), cs_thread_shown_name(thread));
	if (!p)
		return;
	m->holding += p->holds_gil;
	m->waiting += p->waits_for_gil;
	m->collecting += p->collecting;
	m->daemons += p->daemon;
	m->broken = m->broken ? m->broken : p->broken;
	if (p->holds_gil || p->is_main)
		m->interest = CS_INTEREST_LEADING;
	else if (m->interest == CS_INTEREST_NATIVE)
		m->interest = CS_INTEREST_PYTHON;
}

struct cs_error *cs_thread_table_init(struct cs_thread_table *table, const struct cs_analysis *a,
				      bool every_frame)
{
	const struct cs_thread **next;

	table->groups = calloc(a->n_groups + 1, sizeof(*table->groups));
	table->threads = calloc(a->n_threads + 1, sizeof(*table->threads));
	table->shown_as = calloc(a->n_groups + 1, sizeof(*table->shown_as));
	if (!table->groups || !table->threads || !table->shown_as)
		return &cs_nomem;
	CS_TRY(table_fold(table, a, every_frame));
	for (size_t i = 0; i < a->n_threads; i++) {
		struct cs_thread_members *m = members_of(table, a, &a->threads[i]);

		if (m)
			m->room++;
	}
	next = table->threads;
	for (size_t i = 0; i < a->n_groups; next += table->groups[i++].room)
		table->groups[i].threads = next;
	for (size_t i = 0; i < a->n_threads; i++) {
		struct cs_thread_members *m = members_of(table, a, &a->threads[i]);

		if (m)
			member_add(m, &a->threads[i]);
	}
	return NULL;
}
