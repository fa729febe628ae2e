/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads that did not crash, one paragraph for each distinct stack. Knows how many
 * to show; which stack is more interesting than another was decided by whoever sorted the
 * groups.
 */
#include "report/text_sections.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_GROUPS 6
#define DEFAULT_HEAD 8
#define DEFAULT_TAIL 2
#define ALL_GROUPS_HEAD 40 /* with --threads */
#define ALL_GROUPS_TAIL 8
#define DEFAULT_TIDS 6

void cs_text_thread_name(struct cs_text *t, const struct cs_thread *thread)
{
	cs_text_printf(t, "%" PRId32, thread->tid);
	if (thread->name) {
		cs_text_printf(t, " \"");
		cs_text_put(t, thread->name);
		cs_text_printf(t, "\"");
	}
	if (thread->role) {
		cs_text_printf(t, " (");
		cs_text_put(t, thread->role);
		cs_text_printf(t, ")");
	}
}

/* What the threads of one group have in common. */
struct group_names {
	const struct cs_thread *first; /* NULL: no thread names this group */
	const char *name;              /* NULL: none, or they differ */
	bool names_differ;
	bool crashed; /* one of them is the crashed thread */
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void collect_names(const struct cs_analysis *a, struct group_names *names)
{
	for (size_t i = 0; i < a->n_threads; i++) {
		const struct cs_thread *thread = &a->threads[i];
		struct group_names *g;

		if (!thread->group || thread->group->id >= a->n_groups)
			continue;
		g = &names[thread->group->id];
		if (!g->first) {
			g->first = thread;
			g->name = thread->name;
		} else if (!same_text(g->name, thread->name)) {
			g->name = NULL;
			g->names_differ = true;
		}
		g->crashed |= thread->crashed;
	}
}

static void put_group_head(struct cs_text *t, const struct cs_stack_group *group,
			   const struct group_names *names)
{
	size_t n = group->n_tids,
	       shown = t->options->all ? n : CS_MIN(n, (size_t)DEFAULT_TIDS);

	/* One hidden number would be replaced by "... 1 more". */
	if (n == shown + 1)
		shown = n;
	cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_STRONG);
	if (n > 1)
		cs_text_printf(t, "%s threads", cs_text_count(n));
	else
		cs_text_printf(t, "Thread");
	if (n == 1)
		cs_text_printf(t, " %" PRId32, group->tids[0]);
	if (names->name) {
		cs_text_printf(t, " \"");
		cs_text_put(t, names->name);
		cs_text_printf(t, "\"");
	} else if (names->names_differ) {
		cs_text_printf(t, " of several names");
	}
	if (names->first && names->first->role) {
		cs_text_printf(t, " (");
		cs_text_put(t, names->first->role);
		cs_text_printf(t, ")");
	}
	cs_text_plain(t);
	for (size_t i = 0; n > 1 && i < shown; i++) {
		cs_text_printf(t, "%s", i ? "," : ":");
		cs_text_gap(t, 4, 12); /* the longest number and its comma */
		cs_text_printf(t, "%" PRId32, group->tids[i]);
	}
	if (shown < n)
		cs_text_printf(t, ", ... %s more", cs_text_count(n - shown));
	cs_text_printf(t, "\n");
}

static size_t count_other(const struct cs_analysis *a, const struct group_names *names,
			  size_t *ret_threads)
{
	size_t groups = 0;

	*ret_threads = 0;
	for (size_t i = 0; i < a->n_groups; i++) {
		if (names[i].crashed)
			continue;
		groups++;
		*ret_threads += a->groups[i].n_tids;
	}
	return groups;
}

static void put_groups(struct cs_text *t, const struct cs_analysis *a,
		       const struct group_names *names)
{
	bool every = t->options->threads || t->options->all;
	struct cs_frames_view view = {
		.head = every ? ALL_GROUPS_HEAD : DEFAULT_HEAD,
		.tail = every ? ALL_GROUPS_TAIL : DEFAULT_TAIL,
		.marked = CS_NO_FRAME,
	};
	size_t threads, groups = count_other(a, names, &threads), shown = 0;
	bool crashed = cs_text_crashed_thread(a);

	if (!groups)
		return;
	cs_text_heading(t, "%s: %s in %s distinct stack%s",
			crashed ? "Other threads" : "Threads", cs_text_count(threads),
			cs_text_count(groups), groups == 1 ? "" : "s");
	/* A paragraph that says "1 more" is not shorter than the one it hides. */
	if (groups == DEFAULT_GROUPS + 1)
		every = true;
	for (size_t i = 0; i < a->n_groups; i++) {
		if (names[i].crashed)
			continue;
		if (shown == DEFAULT_GROUPS && !every)
			break;
		put_group_head(t, &a->groups[i], &names[i]);
		cs_text_frames(t, &a->groups[i], &view);
		shown++;
		threads -= a->groups[i].n_tids;
	}
	if (shown < groups)
		cs_text_printf(t, "\n(%s more thread%s in %s more stacks: --threads)\n",
			       cs_text_count(threads), threads == 1 ? "" : "s",
			       cs_text_count(groups - shown));
}

struct cs_error *cs_text_threads(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(cs_freep)
	struct group_names *names = calloc(a->n_groups + 1, sizeof(*names));

	if (!names)
		return &cs_nomem;
	collect_names(a, names);
	put_groups(t, a, names);
	return NULL;
}
