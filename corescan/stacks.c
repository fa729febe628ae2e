/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From raw stacks to the model. Knows how stacks are grouped, folded and cut to what a report can hold;
 * refuses to know how a frame was found or what it shows.
 *
 * The order matters for speed: equal stacks are grouped by what their frames are made of first, so that
 * folding and symbols cost per distinct stack and per distinct pc, not per thread.
 */
#include "stacks.h"

#include "base/limits.h"
#include "python/state.h"
#include "stack_frames.h"
#include "unwind/fold.h"

#include <string.h>

#define CUT_TAIL 512UL /* outermost frames kept where a stack is cut to CS_MAX_FRAMES */
#define WAIT_FRAMES 8  /* innermost native frames that tell what a thread waits for */

/** One distinct stack while it is built. */
struct draft {
	size_t first;   /* the thread that showed it first */
	size_t n_tids;
	uint64_t hash;
	uint64_t *keys; /* one an item: equal keys are equal frames; owned */
	size_t n_keys;
	struct cs_fold_run *runs; /* owned */
	size_t n_runs;
	size_t head, tail;        /* runs kept at either end */
	bool crashed;
};

struct build {
	const struct cs_stack_input *input;
	const struct cs_scene *scene;
	const struct cs_target *target;
	struct cs_thread_stack *stacks;
	size_t crashed;
	CS_VEC(struct draft) drafts;
	size_t *order; /* drafts in the order of the report; owned */
	struct cs_frame_maker maker;
};

static struct cs_stack_view view_of(const struct build *b, size_t thread)
{
	return (struct cs_stack_view){.raw = &b->stacks[thread].raw,
				      .weave = cs_pythons_weave(b->input->pythons, thread)};
}

static uint64_t mix(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

/** What an item shows, as a number. Python frames of one code at one line are equal. */
static uint64_t item_key(const struct build *b, const struct cs_stack_view *v,
			 const struct cs_woven *item)
{
	const struct cs_py_frame *python;
	const struct cs_raw_frame *f;

	switch ((enum cs_woven_kind)item->kind) {
	case CS_WOVEN_PYTHON:
		python = cs_woven_frame(v->weave, item);
		return mix(mix(mix(1, (uintptr_t)python->code), python->line),
			   b->input->locals ? python->address : item->entry);
	case CS_WOVEN_GAP:
		return mix(2, (uintptr_t)v->weave->texts.v[item->index]);
	case CS_WOVEN_LOOP:
	case CS_WOVEN_NATIVE:
		break;
	}
	f = &v->raw->frames[item->index];
	return mix(mix(3 + (item->kind == CS_WOVEN_LOOP), f->pc),
		   (uint64_t)f->trust << 2 | (uint64_t)f->exact << 1 | f->signal);
}

/** The keys of thread @i's stack; the caller frees them. */
static struct cs_error *keys_make(const struct build *b, size_t i, struct draft *ret)
{
	struct cs_stack_view v = view_of(b, i);

	ret->n_keys = cs_stack_view_n(&v);
	ret->keys = malloc((ret->n_keys + 1) * sizeof(*ret->keys));
	if (!ret->keys)
		return &cs_nomem;
	ret->hash = 0xcbf29ce484222325ULL ^ (uint64_t)v.raw->stop;
	for (size_t k = 0; k < ret->n_keys; k++) {
		struct cs_woven item = cs_stack_view_item(&v, k);

		ret->keys[k] = item_key(b, &v, &item);
		ret->hash = mix(ret->hash, ret->keys[k]);
	}
	return NULL;
}

static bool draft_equal(const struct build *b, const struct draft *x, const struct draft *y)
{
	return x->hash == y->hash && x->n_keys == y->n_keys &&
	       b->stacks[x->first].raw.stop == b->stacks[y->first].raw.stop &&
	       !memcmp(x->keys, y->keys, x->n_keys * sizeof(*x->keys));
}

/** The draft whose stack equals thread @i's, or a new one. Slots hold draft index + 1. */
static struct cs_error *draft_find(struct build *b, size_t *slots, size_t n_slots, size_t i)
{
	struct draft d = {.first = i};
	struct cs_error *err = keys_make(b, i, &d);
	size_t slot = d.hash & (n_slots - 1);

	for (; !err && slots[slot]; slot = (slot + 1) & (n_slots - 1))
		if (draft_equal(b, &b->drafts.v[slots[slot] - 1], &d))
			break;
	if (!err && !slots[slot]) {
		err = CS_PUSH(&b->drafts, d, CS_MAX_THREADS, "distinct stacks");
		if (!err) {
			slots[slot] = b->drafts.n;
			d.keys = NULL; /* the draft's now */
		}
	}
	free(d.keys);
	if (err)
		return err;
	b->stacks[i].group = slots[slot] - 1;
	b->drafts.v[slots[slot] - 1].n_tids++;
	b->drafts.v[slots[slot] - 1].crashed |= i == b->crashed;
	return NULL;
}

static struct cs_error *group_stacks(struct build *b)
{
	CS_CLEANUP(cs_freep) size_t *slots = NULL;
	size_t n_slots = 16;

	while (n_slots < b->target->n_threads * 2)
		n_slots *= 2;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return &cs_nomem;
	for (size_t i = 0; i < b->target->n_threads; i++)
		CS_TRY(draft_find(b, slots, n_slots, i));
	return NULL;
}

/** Fold @d's stack and choose the runs that are kept: all, or the innermost and the outermost. */
static struct cs_error *draft_fold(struct draft *d)
{
	size_t total = 0, tail = 0;

	CS_TRY(cs_fold(d->keys, d->n_keys, &d->runs, &d->n_runs));
	for (size_t i = 0; i < d->n_runs; i++)
		total += d->runs[i].period;
	d->head = d->n_runs;
	if (total <= CS_MAX_FRAMES)
		return NULL;
	while (d->tail < d->n_runs && tail < CUT_TAIL)
		tail += d->runs[d->n_runs - ++d->tail].period;
	for (d->head = 0, total = tail; total < CS_MAX_FRAMES; d->head++)
		total += d->runs[d->head].period;
	return NULL;
}

static bool run_is_kept(const struct draft *d, size_t run)
{
	return run < d->head || run >= d->n_runs - d->tail;
}

/** Note every frame that is kept. */
static struct cs_error *frames_want(struct build *b)
{
	for (size_t g = 0; g < b->drafts.n; g++) {
		const struct draft *d = &b->drafts.v[g];
		struct cs_stack_view v = view_of(b, d->first);

		for (size_t r = 0; r < d->n_runs; r++)
			for (size_t i = 0; run_is_kept(d, r) && i < d->runs[r].period; i++)
				CS_TRY(cs_frame_maker_want(&b->maker, &v, d->runs[r].first + i));
	}
	return NULL;
}

static struct cs_error *gap_write(const struct build *b, const struct draft *d,
				  struct cs_frame *out)
{
	uint64_t hidden = 0;

	for (size_t r = d->head; r < d->n_runs - d->tail; r++)
		hidden += d->runs[r].period * d->runs[r].count;
	*out = (struct cs_frame){.kind = CS_FRAME_GAP, .trust = CS_TRUST_CFI};
	out->function = cs_arena_printf(b->scene->arena, "%llu frames left out: more than %lu",
					(unsigned long long)hidden, CS_MAX_FRAMES);
	return out->function ? NULL : &cs_nomem;
}

/** The frames of run @r, which is kept, to @frames; @at is moved behind them. */
static struct cs_error *run_write(const struct build *b, const struct cs_stack_view *v,
				  const struct cs_fold_run *run, struct cs_frame *frames, size_t *at)
{
	size_t begin = *at, n;

	for (size_t i = 0; i < run->period; i++) {
		CS_TRY(cs_frame_maker_write(&b->maker, v, run->first + i, frames + *at, &n));
		*at += n;
	}
	if (run->count > 1) {
		frames[begin].repeat_period = (uint32_t)(*at - begin);
		frames[begin].repeat_count = run->count;
	}
	return NULL;
}

static struct cs_error *group_frames(const struct build *b, const struct draft *d,
				     struct cs_stack_group *ret)
{
	struct cs_stack_view v = view_of(b, d->first);
	bool cut = d->head < d->n_runs;
	size_t n = cut, at = 0;
	struct cs_frame *frames;

	for (size_t r = 0; r < d->n_runs; r++)
		for (size_t i = 0; run_is_kept(d, r) && i < d->runs[r].period; i++)
			n += cs_frame_maker_count(&b->maker, &v, d->runs[r].first + i);
	frames = cs_arena_calloc(b->scene->arena, n, sizeof(*frames));
	if (!frames && n)
		return &cs_nomem;
	for (size_t r = 0; r < d->n_runs; r++) {
		if (cut && r == d->head)
			CS_TRY(gap_write(b, d, &frames[at++]));
		if (run_is_kept(d, r))
			CS_TRY(run_write(b, &v, &d->runs[r], frames, &at));
	}
	if (v.weave->items.n)
		cs_frame_maker_plumbing(&b->maker, frames, at);
	ret->frames = frames;
	ret->n_frames = at;
	ret->total_frames = v.raw->n;
	return NULL;
}

static const char *stop_text(const struct cs_scene *scene, const struct cs_raw_stack *raw)
{
	unsigned long long at = raw->stop_address;

	switch (raw->stop) {
	case CS_STOP_BOTTOM:
		return NULL;
	case CS_STOP_NO_UNWIND_INFO:
		return cs_arena_printf(scene->arena, "nothing says how to unwind from %#llx", at);
	case CS_STOP_UNREADABLE:
		return cs_arena_printf(scene->arena,
				       "stack memory at %#llx is not in the core", at);
	case CS_STOP_NO_PROGRESS:
		return cs_arena_printf(scene->arena,
				       "the caller found at %#llx is not further out: stack or "
				       "unwind information is damaged", at);
	case CS_STOP_CYCLE:
		return cs_arena_printf(scene->arena, "the same frame again at %#llx", at);
	case CS_STOP_LIMIT:
		break;
	}
	return cs_arena_printf(scene->arena, "stopped by a limit after %zu frames", raw->n);
}

static int order_compare(const void *a, const void *b, void *arg)
{
	const struct build *build = arg;
	const struct draft *x = &build->drafts.v[*(const size_t *)a];
	const struct draft *y = &build->drafts.v[*(const size_t *)b];

	if (x->crashed != y->crashed)
		return x->crashed ? -1 : 1;
	if (x->n_tids != y->n_tids)
		return x->n_tids > y->n_tids ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/** Number the groups in the order of the report and let threads point to them by that number. */
static struct cs_error *order_groups(struct build *b)
{
	CS_CLEANUP(cs_freep) size_t *place = calloc(b->drafts.n + 1, sizeof(*place));

	b->order = calloc(b->drafts.n + 1, sizeof(*b->order));
	if (!b->order || !place)
		return &cs_nomem;
	for (size_t g = 0; g < b->drafts.n; g++)
		b->order[g] = g;
	qsort_r(b->order, b->drafts.n, sizeof(*b->order), order_compare, b);
	for (size_t g = 0; g < b->drafts.n; g++)
		place[b->order[g]] = g;
	for (size_t i = 0; i < b->target->n_threads; i++)
		b->stacks[i].group = place[b->stacks[i].group];
	return NULL;
}

static struct cs_error *groups_write(struct build *b, struct cs_analysis *ret)
{
	struct cs_arena *arena = b->scene->arena;
	struct cs_stack_group *groups = cs_arena_calloc(arena, b->drafts.n, sizeof(*groups));

	if (!groups && b->drafts.n)
		return &cs_nomem;
	for (size_t g = 0; g < b->drafts.n; g++) {
		const struct draft *d = &b->drafts.v[b->order[g]];
		int32_t *tids = cs_arena_calloc(arena, d->n_tids, sizeof(*tids));

		if (!tids)
			return &cs_nomem;
		groups[g].id = (uint32_t)g;
		groups[g].tids = tids;
		groups[g].stop = b->stacks[d->first].raw.stop;
		groups[g].stop_text = stop_text(b->scene, &b->stacks[d->first].raw);
		CS_TRY(group_frames(b, d, &groups[g]));
	}
	for (size_t i = 0; i < b->target->n_threads; i++) {
		struct cs_stack_group *g = &groups[b->stacks[i].group];

		((int32_t *)g->tids)[g->n_tids++] = b->target->threads[i].tid;
	}
	ret->groups = groups;
	ret->n_groups = b->drafts.n;
	return NULL;
}

static struct cs_error *registers_write(const struct build *b, const struct cs_regs *regs,
					struct cs_thread *ret)
{
	const struct cs_arch *arch = b->scene->arch;
	struct cs_register *r = cs_arena_calloc(b->scene->arena, arch->n_regs, sizeof(*r));

	if (!r)
		return &cs_nomem;
	ret->registers = r;
	for (unsigned i = 0; i < arch->n_regs; i++) {
		uint64_t value;

		if (!cs_regs_get(regs, i, &value))
			continue;
		r[ret->n_registers++] =
			(struct cs_register){.name = arch->reg_names[i], .value = value};
	}
	return NULL;
}

/** What Python knows of thread @i; the names of its innermost frames may tell that it wants the GIL. */
static const struct cs_python_thread *python_of(const struct build *b, const struct cs_stack_group *g,
						size_t i)
{
	struct cs_python_thread *python = cs_pythons_weave(b->input->pythons, i)->thread;
	const char *names[WAIT_FRAMES];
	size_t n = 0;

	if (!python || python->holds_gil || python->waits_for_gil)
		return python;
	for (size_t k = 0; k < g->n_frames && n < WAIT_FRAMES; k++)
		if (g->frames[k].function && !g->frames[k].nearest &&
		    g->frames[k].kind != CS_FRAME_PYTHON)
			names[n++] = g->frames[k].function;
	python->waits_for_gil = cs_py_waits_for_gil(names, n);
	return python;
}

static struct cs_error *thread_write(const struct build *b, const struct cs_analysis *a, size_t i,
				     struct cs_thread *ret)
{
	const struct cs_core_info *info = cs_core_info(b->scene->core);
	const struct cs_thread_info *t = &b->target->threads[i];
	bool is_main = t->tid == info->pid;

	ret->tid = t->tid;
	ret->signal = t->signal;
	ret->crashed = i == b->crashed;
	ret->group = &a->groups[b->stacks[i].group];
	ret->role = cs_thread_role(ret->group, is_main);
	ret->python = python_of(b, ret->group, i);
	/* The kernel writes one name, that of the thread group's leader (fs/binfmt_elf.c, fill_psinfo). */
	if (is_main && info->name[0]) {
		ret->name = a->process.name;
		ret->name_source = "note";
	}
	if (ret->python && ret->python->name) {
		ret->name = ret->python->name;
		ret->name_source = "python";
	}
	return ret->crashed ? registers_write(b, &b->stacks[i].regs, ret) : NULL;
}

static struct cs_error *threads_write(const struct build *b, struct cs_analysis *ret)
{
	size_t n = b->target->n_threads, at = 0;
	struct cs_thread *threads = cs_arena_calloc(b->scene->arena, n, sizeof(*threads));

	if (!threads && n)
		return &cs_nomem;
	if (b->crashed < n)
		CS_TRY(thread_write(b, ret, b->crashed, &threads[at++]));
	for (size_t i = 0; i < n; i++)
		if (i != b->crashed)
			CS_TRY(thread_write(b, ret, i, &threads[at++]));
	ret->threads = threads;
	ret->n_threads = n;
	return NULL;
}

static struct cs_error *build_all(struct build *b, struct cs_analysis *ret)
{
	CS_TRY(cs_frame_maker_init(&b->maker, b->input));
	CS_TRY(group_stacks(b));
	for (size_t g = 0; g < b->drafts.n; g++)
		CS_TRY(draft_fold(&b->drafts.v[g]));
	CS_TRY(frames_want(b));
	CS_TRY(cs_frame_maker_symbolize(&b->maker));
	CS_TRY(order_groups(b));
	cs_frame_maker_sources(&b->maker, ret);
	CS_TRY(groups_write(b, ret));
	return threads_write(b, ret);
}

struct cs_error *cs_stacks_build(const struct cs_stack_input *input, struct cs_analysis *ret)
{
	struct build b = {.input = input,
			  .scene = input->scene,
			  .target = cs_core_target(input->scene->core),
			  .stacks = input->stacks,
			  .crashed = input->crashed};
	struct cs_error *err = build_all(&b, ret);

	for (size_t g = 0; g < b.drafts.n; g++) {
		free(b.drafts.v[g].keys);
		free(b.drafts.v[g].runs);
	}
	free(b.drafts.v);
	free(b.order);
	cs_frame_maker_deinit(&b.maker);
	return err;
}
