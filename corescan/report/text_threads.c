/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that did not crash, one paragraph for each distinct stack. Knows how many
 * to show, and that the threads that run Python come first; in which order among them was
 * decided by whoever sorted the groups.
 */
#include "report/text_fold.h"
#include "report/text_sections.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_GROUPS 6
#define DEFAULT_HEAD 8
#define PYTHON_HEAD 16  /* of a thread that runs Python */
#define LEADING_HEAD 40 /* of the main thread, and of the one that holds the GIL */
#define DEFAULT_TAIL 2
#define ALL_GROUPS_HEAD 40 /* with --threads */
#define ALL_GROUPS_TAIL 8
#define DEFAULT_TIDS 6

/* The name that Python gave is the one a person chose; the kernel's is often the
 * program's. */
static const char *name_of(const struct cs_thread *thread)
{
	return thread->python && thread->python->name ? thread->python->name
						      : thread->name;
}

static void put_name(struct cs_text *t, const char *name)
{
	if (!name)
		return;
	cs_text_printf(t, " \"");
	cs_text_put(t, name);
	cs_text_printf(t, "\"");
}

/* Not what the thread's name or its frames say already. */
static void put_role(struct cs_text *t, const struct cs_thread *thread)
{
	const char *role = thread->role, *name = name_of(thread);

	if (!role || (thread->python &&
		      (!strcmp(role, "python-thread") ||
		       (!strcmp(role, "main") && name && !strcmp(name, "MainThread")))))
		return;
	cs_text_printf(t, " (");
	cs_text_put(t, role);
	cs_text_printf(t, ")");
}

/* ", holds the GIL": what matters of a thread's state in Python. */
static void put_python(struct cs_text *t, const struct cs_analysis *a,
		       const struct cs_python_thread *p)
{
	if (!p)
		return;
	if (p->holds_gil)
		cs_text_printf(t, ", holds the GIL");
	if (p->waits_for_gil)
		cs_text_printf(t, ", waits for the GIL");
	if (p->collecting)
		cs_text_printf(t, ", collects garbage");
	if (p->state) {
		cs_text_printf(t, ", ");
		cs_text_put(t, p->state);
	}
	if (p->daemon)
		cs_text_printf(t, ", daemon");
	if (p->interpreter > 0)
		cs_text_printf(t, ", interpreter %" PRId64, p->interpreter);
	if (a->python.n_runtimes > 1 && p->runtime < a->python.n_runtimes) {
		cs_text_printf(t, ", of Python ");
		cs_text_put(t, a->python.runtimes[p->runtime].version);
	}
}

void cs_text_thread_name(struct cs_text *t, const struct cs_analysis *a,
			 const struct cs_thread *thread)
{
	cs_text_printf(t, "%" PRId32, thread->tid);
	put_name(t, name_of(thread));
	put_role(t, thread);
	put_python(t, a, thread->python);
}

/* A person looks first at the main thread and at the one that all others wait for. */
enum interest { NATIVE, PYTHON, LEADING, INTERESTS };

/* The threads of one group, and how many of them are in which state. */
struct members {
	const struct cs_thread **threads; /* a part of the table's; n of them */
	size_t n;
	size_t room;  /* how many will come, while the table is filled */
	bool crashed; /* one of them is the crashed thread */
	bool names_differ;
	size_t holding, waiting, collecting, daemons;
	enum interest interest; /* of the most interesting one */
	const char *broken;     /* of the first whose Python frames end early */
	size_t n_stacks; /* groups that differ only in what is hidden: all but the first
			    have no members */
	uint64_t least_plumbing, most_plumbing; /* hidden frames of any of them */
};

/* The threads by group. */
struct table {
	struct members *groups;           /* owned */
	const struct cs_thread **threads; /* owned */
	size_t *shown_as; /* by group: the one that its threads are shown with; owned */
};

/* What folding groups must know. */
struct folding {
	const struct cs_analysis *a;
	const struct cs_stack_group *crashed; /* NULL: none */
	bool every_frame;                     /* nothing is hidden */
};

static void table_deinit(struct table *table)
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

static struct cs_error *table_fold(struct table *table, const struct cs_analysis *a,
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
		struct members *m = &table->groups[folds.folds[i].first];

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

static struct members *members_of(const struct table *table, const struct cs_analysis *a,
				  const struct cs_thread *thread)
{
	if (!thread->group || thread->group->id >= a->n_groups)
		return NULL;
	return &table->groups[table->shown_as[thread->group->id]];
}

static void member_add(struct members *m, const struct cs_thread *thread)
{
	const struct cs_python_thread *p = thread->python;

	m->threads[m->n++] = thread;
	m->crashed |= thread->crashed;
	m->names_differ |= !cs_text_same(name_of(m->threads[0]), name_of(thread));
	if (!p)
		return;
	m->holding += p->holds_gil;
	m->waiting += p->waits_for_gil;
	m->collecting += p->collecting;
	m->daemons += p->daemon;
	m->broken = m->broken ? m->broken : p->broken;
	if (p->holds_gil || p->is_main)
		m->interest = LEADING;
	else if (m->interest == NATIVE)
		m->interest = PYTHON;
}

static struct cs_error *table_init(struct table *table, const struct cs_analysis *a,
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
		struct members *m = members_of(table, a, &a->threads[i]);

		if (m)
			m->room++;
	}
	next = table->threads;
	for (size_t i = 0; i < a->n_groups; next += table->groups[i++].room)
		table->groups[i].threads = next;
	for (size_t i = 0; i < a->n_threads; i++) {
		struct members *m = members_of(table, a, &a->threads[i]);

		if (m)
			member_add(m, &a->threads[i]);
	}
	return NULL;
}

static void put_share(struct cs_text *t, size_t n, size_t of, const char *one,
		      const char *many)
{
	if (!n)
		return;
	cs_text_printf(t, ",");
	cs_text_gap(t, 4, strlen(many) + 8);
	cs_text_printf(t, "%s %s",
		       n == of  ? "all"
		       : n == 1 ? "one"
				: cs_text_count(n),
		       n == 1 ? one : many);
}

static void put_thread_head(struct cs_text *t, const struct cs_analysis *a,
			    const struct members *m)
{
	cs_text_printf(t, "Thread ");
	cs_text_thread_name(t, a, m->threads[0]);
	cs_text_plain(t);
	cs_text_printf(t, "\n");
}

/* "9 threads of one name, 8 wait for the GIL: 1, 2, ..." */
static void put_threads_head(struct cs_text *t, const struct members *m)
{
	size_t n = m->n, shown = t->options->all ? n : CS_MIN(n, (size_t)DEFAULT_TIDS);

	/* One hidden number would be replaced by "... 1 more". */
	if (n == shown + 1)
		shown = n;
	cs_text_printf(t, "%s threads", cs_text_count(n));
	if (!m->names_differ)
		put_name(t, name_of(m->threads[0]));
	put_role(t, m->threads[0]);
	put_share(t, m->holding, n, "holds the GIL", "hold the GIL");
	put_share(t, m->waiting, n, "waits for the GIL", "wait for the GIL");
	put_share(t, m->collecting, n, "collects garbage", "collect garbage");
	put_share(t, m->daemons, n, "is a daemon", "are daemons");
	cs_text_plain(t);
	for (size_t i = 0; i < shown; i++) {
		const char *name = m->names_differ ? name_of(m->threads[i]) : NULL;

		cs_text_printf(t, "%s", i ? "," : ":");
		/* the longest number, the name in quotes, and a comma */
		cs_text_gap(t, 4, 12 + (name ? cs_text_columns(name) + 3 : 0));
		cs_text_printf(t, "%" PRId32, m->threads[i]->tid);
		put_name(t, name);
	}
	if (shown < n)
		cs_text_printf(t, ", ... %s more", cs_text_count(n - shown));
	cs_text_printf(t, "\n");
}

static bool is_other(const struct members *m)
{
	return m->n && !m->crashed;
}

static size_t count_other(const struct cs_analysis *a, const struct table *table,
			  size_t *ret_threads)
{
	size_t groups = 0;

	*ret_threads = 0;
	for (size_t i = 0; i < a->n_groups; i++) {
		if (!is_other(&table->groups[i]))
			continue;
		groups++;
		*ret_threads += table->groups[i].n;
	}
	return groups;
}

static void put_group(struct cs_text *t, const struct cs_analysis *a,
		      const struct members *m, bool every)
{
	static const size_t heads[] = {[NATIVE] = DEFAULT_HEAD,
				       [PYTHON] = PYTHON_HEAD,
				       [LEADING] = LEADING_HEAD};
	struct cs_frames_view view = {
		.head = every ? ALL_GROUPS_HEAD : heads[m->interest],
		.tail = every ? ALL_GROUPS_TAIL : DEFAULT_TAIL,
		.marked = CS_NO_FRAME,
		.broken = m->broken,
		.like = m->n_stacks > 1,
		.least_plumbing = m->least_plumbing,
		.most_plumbing = m->most_plumbing,
	};

	cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_STRONG);
	if (m->n == 1)
		put_thread_head(t, a, m);
	else
		put_threads_head(t, m);
	cs_text_frames(t, m->threads[0]->group, &view);
}

static void put_groups(struct cs_text *t, const struct cs_analysis *a,
		       const struct table *table)
{
	bool every = t->options->threads || t->options->all;
	size_t threads, groups = count_other(a, table, &threads), shown = 0;
	bool crashed = cs_text_crashed_thread(a);
	/* A paragraph that says "1 more" is not shorter than the one it hides. */
	size_t max = every || groups == DEFAULT_GROUPS + 1 ? groups : DEFAULT_GROUPS;

	if (!groups)
		return;
	cs_text_heading(t, "%s: %s in %s distinct stack%s",
			crashed ? "Other threads" : "Threads", cs_text_count(threads),
			cs_text_count(groups), groups == 1 ? "" : "s");
	for (int interest = INTERESTS - 1; interest >= 0; interest--) {
		for (size_t i = 0; i < a->n_groups && shown < max; i++) {
			const struct members *m = &table->groups[i];

			if (!is_other(m) || (int)m->interest != interest)
				continue;
			put_group(t, a, m, every);
			shown++;
			threads -= m->n;
		}
	}
	if (shown < groups)
		cs_text_printf(t, "\n(%s more thread%s in %s more stack%s: --threads)\n",
			       cs_text_count(threads), threads == 1 ? "" : "s",
			       cs_text_count(groups - shown),
			       groups - shown == 1 ? "" : "s");
}

struct cs_error *cs_text_threads(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(table_deinit) struct table table = {0};

	CS_TRY(table_init(&table, a, t->options->all));
	put_groups(t, a, &table);
	return NULL;
}
