/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that did not crash, one paragraph for each distinct stack. Knows how many
 * to show, and that the threads that run Python come first; in which order among them was
 * decided by whoever sorted the groups.
 */
#include "report/text_sections.h"
#include "report/thread_table.h"

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
#define ISSUE_TIDS 3 /* on the one line that is seen of what is folded up */

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
	const char *role = thread->role, *name = cs_thread_shown_name(thread);

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

/* ", deadlocked: waits for a mutex that 123 has": who must act first. */
static void put_wait(struct cs_text *t, const struct cs_wait *w)
{
	const char *head = w && w->deadlock ? ", deadlocked:" : ",";

	if (!w)
		return;
	if (!strcmp(w->kind, "mutex") && w->owner_gone)
		cs_text_printf(t, "%s waits for a mutex of thread %" PRId32 ", which does not exist",
			       head, w->owner);
	else if (!strcmp(w->kind, "mutex") && w->owner)
		cs_text_printf(t, "%s waits for a mutex that %" PRId32 " has", head, w->owner);
	else if (!strcmp(w->kind, "mutex"))
		cs_text_printf(t, "%s waits for a mutex", head);
	else if (!strcmp(w->kind, "thread") && w->owner)
		cs_text_printf(t, "%s waits for the end of %s%" PRId32, head,
			       w->owner_gone ? "a thread that does not exist: " : "", w->owner);
	else if (w->deadlock) /* for the GIL, which is said already */
		cs_text_printf(t, ", deadlocked");
}

void cs_text_thread_name(struct cs_text *t, const struct cs_analysis *a,
			 const struct cs_thread *thread)
{
	cs_text_printf(t, "%" PRId32, thread->tid);
	put_name(t, cs_thread_shown_name(thread));
	put_role(t, thread);
	put_python(t, a, thread->python);
	put_wait(t, thread->wait);
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
			    const struct cs_thread_members *m)
{
	cs_text_printf(t, "Thread ");
	cs_text_thread_name(t, a, m->threads[0]);
	cs_text_plain(t);
}

/* "9 threads of one name, 8 wait for the GIL: 1, 2, ..." */
static void put_threads_head(struct cs_text *t, const struct cs_thread_members *m)
{
	size_t n = m->n, most = t->issue ? ISSUE_TIDS : DEFAULT_TIDS;
	size_t shown = t->options->all ? n : CS_MIN(n, most);

	/* One hidden number would be replaced by "... 1 more". */
	if (n == shown + 1)
		shown = n;
	cs_text_printf(t, "%s threads", cs_text_count(n));
	if (!m->names_differ)
		put_name(t, cs_thread_shown_name(m->threads[0]));
	put_role(t, m->threads[0]);
	put_share(t, m->holding, n, "holds the GIL", "hold the GIL");
	put_share(t, m->waiting, n, "waits for the GIL", "wait for the GIL");
	put_share(t, m->collecting, n, "collects garbage", "collect garbage");
	put_share(t, m->daemons, n, "is a daemon", "are daemons");
	put_share(t, m->deadlocked, n, "is in a deadlock", "are in a deadlock");
	cs_text_plain(t);
	for (size_t i = 0; i < shown; i++) {
		const char *name = m->names_differ ? cs_thread_shown_name(m->threads[i]) : NULL;

		cs_text_printf(t, "%s", i ? "," : ":");
		/* the longest number, the name in quotes, and a comma */
		cs_text_gap(t, 4, 12 + (name ? cs_text_columns(name) + 3 : 0));
		cs_text_printf(t, "%" PRId32, m->threads[i]->tid);
		put_name(t, name);
	}
	if (shown < n)
		cs_text_printf(t, ", ... %s more", cs_text_count(n - shown));
}

void cs_text_threads_title(struct cs_text *t, const struct cs_analysis *a,
			   const struct cs_thread_members *m)
{
	if (m->n == 1)
		put_thread_head(t, a, m);
	else
		put_threads_head(t, m);
}

static bool is_other(const struct cs_thread_members *m)
{
	return m->n && !m->crashed;
}

static size_t count_other(const struct cs_analysis *a, const struct cs_thread_table *table,
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
		      const struct cs_thread_members *m, bool every)
{
	static const size_t heads[] = {[CS_INTEREST_NATIVE] = DEFAULT_HEAD,
				       [CS_INTEREST_PYTHON] = PYTHON_HEAD,
				       [CS_INTEREST_LEADING] = LEADING_HEAD};
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
	cs_text_threads_title(t, a, m);
	cs_text_printf(t, "\n");
	cs_text_frames(t, m->threads[0]->group, &view);
}

static void put_groups(struct cs_text *t, const struct cs_analysis *a,
		       const struct cs_thread_table *table)
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
	for (int interest = CS_INTERESTS - 1; interest >= 0; interest--) {
		for (size_t i = 0; i < a->n_groups && shown < max; i++) {
			const struct cs_thread_members *m = &table->groups[i];

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
	CS_CLEANUP(cs_thread_table_deinit) struct cs_thread_table table = {0};

	CS_TRY(cs_thread_table_init(&table, a, t->options->all));
	put_groups(t, a, &table);
	return NULL;
}
