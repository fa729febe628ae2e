/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What waits without a thread of its own: asyncio tasks and greenlets, one paragraph for
 * each distinct chain of calls. Knows how many to show; refuses to know how they were
 * found.
 */
#include "report/text_fold.h"
#include "report/text_sections.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_CHAINS 6
#define DEFAULT_HEAD 8
#define DEFAULT_TAIL 2
#define ALL_HEAD 40 /* with --threads */
#define ALL_TAIL 8
#define DEFAULT_NAMES 6
#define MAX_NAME 80

/* A task or a greenlet. */
struct chain {
	const char *name; /* of a task: its own; NULL: it has none */
	const char *what; /* what it runs, or of which type it is */
	const char *state;
	const char *awaits;
	uint64_t awaits_task;
	int32_t tid;
	uint64_t address;
	const char *broken;
	const struct cs_frame *frames;
	size_t n_frames;
};

/* All of one kind. */
struct section {
	const char *title;    /* "asyncio tasks" */
	const char *one;      /* "Task" */
	const char *many;     /* "tasks" */
	struct chain *chains; /* owned */
	size_t n;
	const struct chain **by_address; /* owned; sorted */
	bool several_threads;
};

static void section_deinit(struct section *s)
{
	free(s->chains);
	free(s->by_address);
}

static int compare_address(const void *a, const void *b)
{
	const struct chain *x = *(const struct chain *const *)a;
	const struct chain *y = *(const struct chain *const *)b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static const struct chain *chain_at(const struct section *s, uint64_t address)
{
	const struct chain key = {.address = address}, *p = &key;
	const struct chain **found =
		bsearch(&p, s->by_address, s->n, sizeof(*s->by_address), compare_address);

	return found ? *found : NULL;
}

static struct cs_error *section_init(struct section *s, size_t n)
{
	s->chains = calloc(n + 1, sizeof(*s->chains));
	s->by_address = calloc(n + 1, sizeof(*s->by_address));
	s->n = n;
	return s->chains && s->by_address ? NULL : &cs_nomem;
}

static void section_sort(struct section *s)
{
	for (size_t i = 0; i < s->n; i++) {
		s->by_address[i] = &s->chains[i];
		s->several_threads |= s->chains[i].tid != s->chains[0].tid;
	}
	qsort(s->by_address, s->n, sizeof(*s->by_address), compare_address);
}

static uint64_t chain_hash(const void *things, size_t i)
{
	const struct chain *c = &((const struct chain *)things)[i];
	uint64_t h = cs_text_hash(cs_text_hash(0, c->what), c->state);

	return cs_text_hash_frames(h, c->frames, c->n_frames);
}

static bool chain_equal(const void *things, size_t i, size_t j)
{
	const struct chain *a = &((const struct chain *)things)[i];
	const struct chain *b = &((const struct chain *)things)[j];

	return cs_text_same(a->what, b->what) && cs_text_same(a->state, b->state) &&
	       cs_text_same_frames(a->frames, a->n_frames, b->frames, b->n_frames);
}

static void put_quoted(struct cs_text *t, const char *s)
{
	cs_text_printf(t, "\"");
	cs_text_put_cut(t, s, MAX_NAME);
	cs_text_printf(t, "\"");
}

/* What all of @fold wait for, as far as they wait for the same. */
static void put_awaits(struct cs_text *t, const struct section *s,
		       const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	const struct chain *first = &s->chains[fold->first], *other;
	bool same = true, tasks = first->awaits_task;

	for (size_t i = fold->first; i != CS_FOLD_END; i = folds->next[i]) {
		same &= s->chains[i].awaits_task == first->awaits_task &&
			cs_text_same(s->chains[i].awaits, first->awaits);
		tasks &= s->chains[i].awaits_task != 0;
	}
	other = same && tasks ? chain_at(s, first->awaits_task) : NULL;
	if (other && other->name) {
		cs_text_printf(t, " for task ");
		put_quoted(t, other->name);
	} else if (same && first->awaits) {
		cs_text_printf(t, " for ");
		cs_text_put_cut(t, first->awaits, MAX_NAME);
	} else if (tasks) {
		cs_text_printf(t, fold->n > 1 ? " for other tasks" : " for another task");
	}
}

static void put_state(struct cs_text *t, const struct section *s,
		      const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	const struct chain *c = &s->chains[fold->first];
	bool threads_differ = false;

	if (c->what) {
		cs_text_printf(t, " (");
		cs_text_put_cut(t, c->what, MAX_NAME);
		cs_text_printf(t, ")");
	}
	cs_text_printf(t, ", ");
	cs_text_put(t, c->state ? c->state : "state not known");
	if (c->state && !strcmp(c->state, "waiting"))
		put_awaits(t, s, folds, fold);
	for (size_t i = fold->first; i != CS_FOLD_END; i = folds->next[i])
		threads_differ |= s->chains[i].tid != c->tid;
	if (threads_differ)
		cs_text_printf(t, ", in several threads");
	else if (s->several_threads && c->tid)
		cs_text_printf(t, ", in thread %" PRId32, c->tid);
}

static void put_head(struct cs_text *t, const struct section *s,
		     const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	size_t shown = 0, max = t->options->all ? fold->n : DEFAULT_NAMES;
	const struct chain *c = &s->chains[fold->first];

	cs_text_printf(t, "\n");
	cs_text_style(t, CS_STYLE_STRONG);
	if (fold->n > 1) {
		cs_text_printf(t, "%s %s", cs_text_count(fold->n), s->many);
	} else {
		cs_text_printf(t, "%s", s->one);
		if (c->name) {
			cs_text_printf(t, " ");
			put_quoted(t, c->name);
		}
	}
	put_state(t, s, folds, fold);
	cs_text_plain(t);
	max = fold->n == max + 1 ? fold->n : max;
	for (size_t i = fold->first; fold->n > 1 && c->name && i != CS_FOLD_END;
	     i = folds->next[i]) {
		const char *name = s->chains[i].name ? s->chains[i].name : "?";

		if (shown == max) {
			cs_text_printf(t, ", ... %s more", cs_text_count(fold->n - max));
			break;
		}
		cs_text_printf(t, "%s", shown++ ? "," : ":");
		cs_text_gap(t, 4, CS_MIN(cs_text_columns(name), (size_t)MAX_NAME) + 3);
		put_quoted(t, name);
	}
	cs_text_printf(t, "\n");
}

static void put_fold(struct cs_text *t, const struct section *s,
		     const struct cs_text_folds *folds, const struct cs_text_fold *fold,
		     bool every)
{
	const struct chain *c = &s->chains[fold->first];
	const struct cs_stack_group stack = {
		.frames = c->frames, .n_frames = c->n_frames, .stop = CS_STOP_BOTTOM};
	const struct cs_frames_view view = {
		.head = every ? ALL_HEAD : DEFAULT_HEAD,
		.tail = every ? ALL_TAIL : DEFAULT_TAIL,
		.marked = CS_NO_FRAME,
		.broken = c->broken,
	};

	put_head(t, s, folds, fold);
	if (c->n_frames) {
		cs_text_frames(t, &stack, &view);
	} else if (c->broken) {
		cs_text_printf(t, "  (no frames: ");
		cs_text_put(t, c->broken);
		cs_text_printf(t, ")\n");
	}
}

static bool is_running(const struct chain *c)
{
	return c->state && !strcmp(c->state, "running");
}

/* What runs comes first, then what most of them do. */
static int compare_folds(const void *a, const void *b, void *arg)
{
	const struct section *s = arg;
	const struct cs_text_fold *x = a, *y = b;
	bool x_runs = is_running(&s->chains[x->first]);
	bool y_runs = is_running(&s->chains[y->first]);

	if (x_runs != y_runs)
		return x_runs ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static struct cs_error *put_section(struct cs_text *t, struct section *s)
{
	const struct cs_text_fold_by by = {
		.hash = chain_hash, .equal = chain_equal, .things = s->chains};
	CS_CLEANUP(cs_text_folds_deinit) struct cs_text_folds folds = {0};
	bool every = t->options->threads || t->options->all;
	size_t shown = 0, left = s->n, max;

	CS_TRY(cs_text_folds_init(&folds, s->n, &by));
	qsort_r(folds.folds, folds.n, sizeof(*folds.folds), compare_folds, s);
	max = every || folds.n == DEFAULT_CHAINS + 1
		      ? folds.n
		      : CS_MIN(folds.n, (size_t)DEFAULT_CHAINS);
	cs_text_heading(t, "%s: %s in %s distinct stack%s", s->title, cs_text_count(s->n),
			cs_text_count(folds.n), folds.n == 1 ? "" : "s");
	for (; shown < max; shown++) {
		put_fold(t, s, &folds, &folds.folds[shown], every);
		left -= folds.folds[shown].n;
	}
	if (left)
		cs_text_printf(t, "\n(%s more in %s more stack%s: --threads)\n",
			       cs_text_count(left), cs_text_count(folds.n - shown),
			       folds.n - shown == 1 ? "" : "s");
	return NULL;
}

static struct cs_error *put_tasks(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(section_deinit)
	struct section s = {.title = "asyncio tasks", .one = "Task", .many = "tasks"};

	CS_TRY(section_init(&s, a->python.n_tasks));
	for (size_t i = 0; i < s.n; i++) {
		const struct cs_python_task *task = &a->python.tasks[i];

		s.chains[i] = (struct chain){
			.name = task->name,
			.what = task->coroutine,
			.state = task->state,
			.awaits = task->awaits,
			.awaits_task = task->awaits_task,
			.tid = task->tid,
			.address = task->address,
			.broken = task->broken,
			.frames = task->frames,
			.n_frames = task->n_frames,
		};
	}
	section_sort(&s);
	return put_section(t, &s);
}

static struct cs_error *put_greenlets(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(section_deinit)
	struct section s = {.title = "Greenlets", .one = "Greenlet", .many = "greenlets"};

	CS_TRY(section_init(&s, a->python.n_greenlets));
	for (size_t i = 0; i < s.n; i++) {
		const struct cs_python_greenlet *g = &a->python.greenlets[i];

		s.chains[i] = (struct chain){
			.what = g->name,
			.state = g->state,
			.tid = g->tid,
			.address = g->address,
			.broken = g->broken,
			.frames = g->frames,
			.n_frames = g->n_frames,
		};
	}
	section_sort(&s);
	return put_section(t, &s);
}

struct cs_error *cs_text_tasks(struct cs_text *t, const struct cs_analysis *a)
{
	if (a->python.n_tasks)
		CS_TRY(put_tasks(t, a));
	return a->python.n_greenlets ? put_greenlets(t, a) : NULL;
}
