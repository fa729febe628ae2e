/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From raw stacks to the model. Knows how stacks are grouped, folded and cut to what a report can hold;
 * refuses to know how a frame was found or what a function's name means.
 *
 * The order matters for speed: equal stacks are grouped by their pcs first, so that folding and symbols
 * cost per distinct stack and per distinct pc, not per thread.
 */
#include "stacks.h"

#include "base/limits.h"
#include "base/text.h"
#include "symbols/symbolize.h"
#include "unwind/fold.h"

#include <string.h>

#define CUT_TAIL 512UL /* outermost frames kept where a stack is cut to CS_MAX_FRAMES */

/** One distinct stack while it is built. */
struct draft {
	size_t first;   /* the thread that showed it first */
	size_t n_tids;
	uint64_t hash;
	struct cs_fold_run *runs; /* owned */
	size_t n_runs;
	size_t head, tail;        /* runs kept at either end */
	bool crashed;
};

struct build {
	const struct cs_scene *scene;
	const struct cs_target *target;
	struct cs_thread_stack *stacks;
	size_t crashed;
	CS_VEC(struct draft) drafts;
	size_t *order; /* drafts in the order of the report; owned */
	struct cs_location *locations; /* owned, sorted by lookup */
	size_t n_locations;
};

static uint64_t lookup_of(const struct cs_raw_frame *f)
{
	/* A return address may be the first byte after its function, when that ends in a call. */
	return f->exact || f->pc == 0 ? f->pc : f->pc - 1;
}

static uint64_t stack_hash(const struct cs_raw_stack *s)
{
	uint64_t h = 0xcbf29ce484222325ULL ^ (uint64_t)s->stop;

	for (size_t i = 0; i < s->n; i++) {
		h = (h ^ s->frames[i].pc) * 0x100000001b3ULL;
		h ^= h >> 29;
	}
	return h;
}

static bool stack_equal(const struct cs_raw_stack *a, const struct cs_raw_stack *b)
{
	if (a->n != b->n || a->stop != b->stop)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct cs_raw_frame *x = &a->frames[i], *y = &b->frames[i];

		if (x->pc != y->pc || x->trust != y->trust || x->exact != y->exact ||
		    x->signal != y->signal)
			return false;
	}
	return true;
}

/** The draft whose stack equals thread @i's, or a new one. Slots hold draft index + 1. */
static struct cs_error *draft_find(struct build *b, size_t *slots, size_t n_slots, size_t i)
{
	struct draft d = {.first = i, .hash = stack_hash(&b->stacks[i].raw)};
	size_t slot = d.hash & (n_slots - 1);

	for (; slots[slot]; slot = (slot + 1) & (n_slots - 1)) {
		struct draft *other = &b->drafts.v[slots[slot] - 1];

		if (other->hash == d.hash &&
		    stack_equal(&b->stacks[other->first].raw, &b->stacks[i].raw))
			break;
	}
	if (!slots[slot]) {
		CS_TRY(CS_PUSH(&b->drafts, d, CS_MAX_THREADS, "distinct stacks"));
		slots[slot] = b->drafts.n;
	}
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
static struct cs_error *draft_fold(struct build *b, struct draft *d)
{
	const struct cs_raw_stack *raw = &b->stacks[d->first].raw;
	size_t total = 0, tail = 0;

	CS_TRY(cs_fold(raw->frames, raw->n, &d->runs, &d->n_runs));
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

static int compare_locations(const void *a, const void *b)
{
	const struct cs_location *x = a, *y = b;

	return x->lookup < y->lookup ? -1 : x->lookup > y->lookup;
}

/** All distinct addresses of all frames that are kept. */
static struct cs_error *locations_collect(struct build *b)
{
	size_t n = 0, unique = 0;

	for (size_t g = 0; g < b->drafts.n; g++)
		for (size_t r = 0; r < b->drafts.v[g].n_runs; r++)
			if (run_is_kept(&b->drafts.v[g], r))
				n += b->drafts.v[g].runs[r].period;
	b->locations = calloc(n ? n : 1, sizeof(*b->locations));
	if (!b->locations)
		return &cs_nomem;
	n = 0;
	for (size_t g = 0; g < b->drafts.n; g++) {
		const struct draft *d = &b->drafts.v[g];
		const struct cs_raw_frame *frames = b->stacks[d->first].raw.frames;

		for (size_t r = 0; r < d->n_runs; r++)
			for (size_t i = 0; run_is_kept(d, r) && i < d->runs[r].period; i++)
				b->locations[n++].lookup = lookup_of(&frames[d->runs[r].first + i]);
	}
	qsort(b->locations, n, sizeof(*b->locations), compare_locations);
	for (size_t i = 0; i < n; i++)
		if (!unique || b->locations[unique - 1].lookup != b->locations[i].lookup)
			b->locations[unique++] = b->locations[i];
	b->n_locations = unique;
	return NULL;
}

static const struct cs_location *location_of(const struct build *b, const struct cs_raw_frame *f)
{
	struct cs_location key = {.lookup = lookup_of(f)};

	return bsearch(&key, b->locations, b->n_locations, sizeof(key), compare_locations);
}

static size_t frames_of_raw(const struct build *b, const struct cs_raw_frame *f)
{
	return f->signal ? 1 : 1 + location_of(b, f)->n_inlines;
}

/** What an address without module is: code made at run time, data, a mapped file, or nothing. */
static const char *place_of(const struct build *b, uint64_t pc)
{
	const struct cs_region *region = cs_mem_region(b->scene->mem, pc);
	const struct cs_mapping *file = cs_mem_mapping(b->scene->mem, pc);
	bool executable = region && region->prot & CS_PROT_EXEC;
	char *path;

	if (!region && !file)
		return "not mapped";
	if (!file)
		return executable ? "code made at run time" : "memory without code";
	path = cs_text_utf8(b->scene->arena, file->path, strlen(file->path));
	return path && executable ? path : "data of a mapped file";
}

/** Write the model's frames for raw frame @f to @out: its inlined calls, innermost first, then itself. */
static size_t frames_write(const struct build *b, const struct cs_raw_frame *f,
			   struct cs_frame *out)
{
	const struct cs_location *l = location_of(b, f);
	struct cs_frame base = {
		.kind = CS_FRAME_NATIVE,
		.trust = f->trust,
		.address = f->pc,
		.module = l->module,
		.module_offset = l->module ? f->pc - l->module->bias : 0,
		.place = l->module ? NULL : place_of(b, f->pc),
	};
	size_t n = 0;

	if (f->signal) {
		base.kind = CS_FRAME_SIGNAL;
		base.function = "<signal handler called>";
		out[n++] = base;
		return n;
	}
	for (size_t i = 0; i < l->n_inlines; i++) {
		const struct cs_inline_call *call = &l->inlines[i];

		out[n] = base;
		out[n].kind = CS_FRAME_INLINE;
		out[n].function = call->function;
		out[n].short_name = call->short_name;
		out[n].file = call->file;
		out[n].line = call->line;
		out[n++].column = call->column;
	}
	base.function = l->function;
	base.short_name = l->short_name;
	base.offset = l->offset + (f->pc - l->lookup);
	base.nearest = l->nearest;
	base.file = l->file;
	base.line = l->line;
	base.column = l->column;
	out[n++] = base;
	return n;
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

static struct cs_error *group_frames(const struct build *b, const struct draft *d,
				     struct cs_stack_group *ret)
{
	const struct cs_raw_stack *raw = &b->stacks[d->first].raw;
	bool cut = d->head < d->n_runs;
	size_t n = cut, at = 0;
	struct cs_frame *frames;

	for (size_t r = 0; r < d->n_runs; r++)
		for (size_t i = 0; run_is_kept(d, r) && i < d->runs[r].period; i++)
			n += frames_of_raw(b, &raw->frames[d->runs[r].first + i]);
	frames = cs_arena_calloc(b->scene->arena, n, sizeof(*frames));
	if (!frames && n)
		return &cs_nomem;
	for (size_t r = 0; r < d->n_runs; r++) {
		size_t begin = at;

		if (cut && r == d->head)
			CS_TRY(gap_write(b, d, &frames[at++]));
		if (!run_is_kept(d, r))
			continue;
		begin = at;
		for (size_t i = 0; i < d->runs[r].period; i++)
			at += frames_write(b, &raw->frames[d->runs[r].first + i], frames + at);
		if (d->runs[r].count > 1) {
			frames[begin].repeat_period = (uint32_t)(at - begin);
			frames[begin].repeat_count = d->runs[r].count;
		}
	}
	ret->frames = frames;
	ret->n_frames = at;
	ret->total_frames = raw->n;
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
	/* The kernel writes one name, that of the thread group's leader (fs/binfmt_elf.c, fill_psinfo). */
	if (is_main && info->name[0]) {
		ret->name = a->process.name;
		ret->name_source = "note";
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
	CS_TRY(group_stacks(b));
	for (size_t g = 0; g < b->drafts.n; g++)
		CS_TRY(draft_fold(b, &b->drafts.v[g]));
	CS_TRY(locations_collect(b));
	CS_TRY(cs_symbolize(b->scene->modules, b->scene->arena, b->scene->diags, b->locations,
			    b->n_locations));
	CS_TRY(order_groups(b));
	CS_TRY(groups_write(b, ret));
	return threads_write(b, ret);
}

struct cs_error *cs_stacks_build(const struct cs_scene *scene, struct cs_thread_stack *stacks,
				 size_t crashed, struct cs_analysis *ret)
{
	struct build b = {.scene = scene,
			  .target = cs_core_target(scene->core),
			  .stacks = stacks,
			  .crashed = crashed};
	struct cs_error *err = build_all(&b, ret);

	for (size_t g = 0; g < b.drafts.n; g++)
		free(b.drafts.v[g].runs);
	free(b.drafts.v);
	free(b.order);
	free(b.locations);
	return err;
}
