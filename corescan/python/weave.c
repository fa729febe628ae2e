/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The weave: each run of Python frames goes to the native frame of the evaluation loop that runs it.
 *
 * From 3.10 on the loop keeps a structure in its native frame to which Python memory points, so an address
 * decides. Before that there is one native call of the loop for each Python frame, and the loop has the
 * frame's address in its part of the stack: they are paired by order, and each pair is checked by that.
 * What has no place is shown between its neighbours, behind a mark, and never costs the others theirs.
 */
#include "python/weave.h"

#include "base/limits.h"

#include <string.h>

#define NOWHERE SIZE_MAX
#define MAX_WINDOW 65536UL /* bytes of one native frame that are looked through for a Python frame */
#define MAX_ITEMS (CS_MAX_RAW_FRAMES + 2 * CS_MAX_PY_FRAMES + 2)
#define MAX_STRANDS ((size_t)UINT16_MAX) /* thread states of one thread */
#define MAX_STRAY 64       /* native calls of the loop passed over for one Python frame */

/* ---- which stack addresses belong to which native frame ---- */

/** Frame @native has [@start, @end) of the stack: from its own stack pointer to its CFA. */
struct window {
	uint64_t start, end;
	size_t native;
};

struct windows {
	const struct cs_raw_stack *raw;
	uint64_t sp;
	/*
	 * By end, where the frames' own order is not that: a signal ran on a stack of its own, or a
	 * frame has no CFA. NULL: it is, as in nearly all stacks. Owned.
	 */
	struct window *sorted;
	size_t n_sorted;
};

static bool window_at(const struct windows *w, size_t i, struct window *ret)
{
	uint64_t start = w->sp;

	for (size_t k = i; k--;)
		if (w->raw->frames[k].cfa) {
			start = w->raw->frames[k].cfa;
			break;
		}
	*ret = (struct window){start, w->raw->frames[i].cfa, i};
	return start && ret->end > start;
}

static int compare_windows(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static struct cs_error *windows_sort(struct windows *w)
{
	uint64_t start = w->sp;

	w->sorted = calloc(w->raw->n + 1, sizeof(*w->sorted));
	if (!w->sorted)
		return &cs_nomem;
	for (size_t i = 0; i < w->raw->n; i++) {
		uint64_t cfa = w->raw->frames[i].cfa;

		if (start && cfa > start)
			w->sorted[w->n_sorted++] = (struct window){start, cfa, i};
		start = cfa ? cfa : start;
	}
	qsort(w->sorted, w->n_sorted, sizeof(*w->sorted), compare_windows);
	return NULL;
}

static struct cs_error *windows_init(struct windows *w, const struct cs_scene *scene,
				     const struct cs_py_native *native)
{
	*w = (struct windows){.raw = native->raw};
	if (!cs_regs_get(native->regs, scene->arch->sp, &w->sp))
		w->sp = 0;
	for (size_t i = 0; i < w->raw->n; i++)
		if (w->raw->frames[i].cfa <= (i ? w->raw->frames[i - 1].cfa : w->sp))
			return windows_sort(w);
	return NULL;
}

/** Index of the native frame in whose part of the stack @address lies; NOWHERE: none. */
static size_t windows_find(const struct windows *w, uint64_t address)
{
	size_t low = 0, high = w->sorted ? w->n_sorted : w->raw->n;
	size_t n = high;
	struct window found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t end = w->sorted ? w->sorted[middle].end : w->raw->frames[middle].cfa;

		if (end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n)
		return NOWHERE;
	if (w->sorted)
		found = w->sorted[low];
	else if (!window_at(w, low, &found))
		return NOWHERE;
	return found.start <= address ? found.native : NOWHERE;
}

/* ---- where each run belongs ---- */

struct placed {
	const struct cs_py_strand *strand;
	const struct cs_py_run *run;
	size_t native; /* index of the loop's frame, or NOWHERE */
	size_t before; /* NOWHERE's place: in front of this native frame; n: behind all of them */
};

struct weaver {
	const struct cs_scene *scene;
	const struct cs_py_native *native;
	struct windows windows;
	struct placed *placed; /* owned */
	size_t n_placed;
	size_t *loops; /* native frames that are calls of the loop by their pc; owned */
	size_t n_loops;
	const struct cs_py_strand *strands;
	bool lost; /* the frame written last is a Python one without a place */
	struct cs_weave *ret;
};

/** The names under which a pc is in the loop before 3.10. */
static const char *const loop_names[] = {
	"_PyEval_EvalFrameDefault", "_PyEval_EvalFrameDefault.cold", "_PyEval_EvalFrameDefault.cold.0",
	"_PyEval_EvalFrameDefault.cold.1", "_PyEval_EvalFrameDefault.part.0"};

struct code_range {
	uint64_t start, end;
};

static size_t loop_ranges(const struct cs_py_process *p, struct code_range *ret)
{
	size_t n = 0;
	uint64_t start, size;

	for (size_t i = 0; p->py.module && i < CS_COUNT(loop_names); i++)
		if (cs_mod_symbol(p->py.module, loop_names[i], &start, &size) && size)
			ret[n++] = (struct code_range){start, start + size};
	return n;
}

static struct cs_error *find_loops(struct weaver *w, const struct cs_py_process *p)
{
	struct code_range ranges[CS_COUNT(loop_names)];
	size_t n = loop_ranges(p, ranges);
	const struct cs_raw_stack *raw = w->native->raw;

	free(w->loops);
	w->n_loops = 0;
	w->loops = calloc(raw->n + 1, sizeof(*w->loops));
	if (!w->loops)
		return &cs_nomem;
	for (size_t i = 0; i < raw->n; i++) {
		uint64_t pc = raw->frames[i].pc - !raw->frames[i].exact;

		for (size_t r = 0; r < n; r++)
			if (pc >= ranges[r].start && pc < ranges[r].end) {
				w->loops[w->n_loops++] = i;
				break;
			}
	}
	return NULL;
}

enum held { HELD, NOT_HELD, NOT_KNOWN };

/** Is the word @value in the part of the stack that belongs to native frame @i? */
static enum held holds(const struct weaver *w, size_t i, uint64_t value)
{
	struct window window;
	uint64_t words[64], at;

	if (!window_at(&w->windows, i, &window) || window.end - window.start > MAX_WINDOW)
		return NOT_KNOWN;
	for (at = (window.start + 7) & ~7ULL; at < window.end;) {
		size_t want = (size_t)CS_MIN(window.end - at, (uint64_t)sizeof(words));
		size_t got = cs_mem_read_some(w->scene->mem, at, words, want);

		for (size_t k = 0; k < got / 8; k++)
			if (words[k] == value)
				return HELD;
		if (got < want)
			return NOT_KNOWN;
		at += got;
	}
	return NOT_HELD;
}

static const struct cs_py_frame *frame_of(const struct placed *p)
{
	return &p->strand->state->chain.frames.v[p->run->first];
}

/** The loop may have kept its frame in a register, which then the function it called has saved. */
static enum held loop_holds(const struct weaver *w, size_t i, uint64_t frame)
{
	enum held own = holds(w, i, frame), inner = i ? holds(w, i - 1, frame) : NOT_HELD;

	if (own == HELD || inner == HELD)
		return HELD;
	return own == NOT_KNOWN || inner == NOT_KNOWN ? NOT_KNOWN : NOT_HELD;
}

/** As many calls as frames: paired in order, unless a call is seen not to hold its frame. */
static bool pair_in_order(struct weaver *w, struct placed *runs, size_t n)
{
	if (w->n_loops != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (loop_holds(w, w->loops[i], frame_of(&runs[i])->address) == NOT_HELD)
			return false;
	for (size_t i = 0; i < n; i++)
		runs[i].native = w->loops[i];
	return true;
}

/** From the outermost on, each frame to the next call that holds it. */
static void pair_by_address(struct weaver *w, struct placed *runs, size_t n)
{
	size_t left = w->n_loops;

	for (size_t j = n; j-- && left;) {
		if (runs[j].native != NOWHERE || !runs[j].run->n)
			continue;
		for (size_t m = left; m-- && left - m <= MAX_STRAY;) {
			if (loop_holds(w, w->loops[m], frame_of(&runs[j])->address) != HELD)
				continue;
			runs[j].native = w->loops[m];
			left = m;
			break;
		}
	}
}

static bool all_placed(const struct placed *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs[i].native == NOWHERE)
			return false;
	return true;
}

/** The runs of one thread state, innermost first. */
static struct cs_error *place_strand(struct weaver *w, const struct cs_py_strand *strand)
{
	const struct cs_py_chain *chain = &strand->state->chain;
	struct placed *runs = w->placed + w->n_placed;
	size_t n = chain->runs.n;

	for (size_t i = 0; i < n; i++) {
		const struct cs_py_run *run = &chain->runs.v[i];

		runs[i] = (struct placed){
			.strand = strand,
			.run = run,
			.native = run->anchor ? windows_find(&w->windows, run->anchor) : NOWHERE};
	}
	w->n_placed += n;
	/* 3.10 has one call of the loop a frame, too, and its CFrames may not be in the core. */
	if (strand->process->py.layout.minor > 10 || all_placed(runs, n))
		return NULL;
	CS_TRY(find_loops(w, strand->process));
	if (strand->process->py.layout.minor == 10 || !pair_in_order(w, runs, n))
		pair_by_address(w, runs, n);
	return NULL;
}

/**
 * Give the runs without a place one in front of the next native frame that has a run of the same thread
 * state; drop a place that is further in than that of a run which was called later.
 */
static void settle(struct weaver *w, struct placed *runs, size_t n)
{
	size_t outer = w->native->raw->n;

	for (size_t i = n; i--;) {
		if (runs[i].native != NOWHERE && runs[i].native < outer)
			outer = runs[i].native;
		else
			runs[i].native = NOWHERE;
		runs[i].before = outer;
	}
}

/* ---- writing it down ---- */

static size_t place_of(const struct placed *p)
{
	return p->native != NOWHERE ? p->native : p->before;
}

static struct cs_error *put(struct weaver *w, enum cs_woven_kind kind, size_t index)
{
	struct cs_woven item = {.kind = (uint8_t)kind, .index = (uint32_t)index};

	return CS_PUSH(&w->ret->items, item, MAX_ITEMS, "woven frames");
}

static struct cs_error *put_gap(struct weaver *w, const char *text)
{
	CS_TRY(CS_PUSH(&w->ret->texts, text, MAX_ITEMS, "gaps between frames"));
	return put(w, CS_WOVEN_GAP, w->ret->texts.n - 1);
}

static struct cs_error *put_run(struct weaver *w, const struct placed *p)
{
	if (!p->run->n)
		return NULL;
	if (p->native == NOWHERE && !w->lost)
		CS_TRY(put_gap(w, "the native frames that run these Python frames were not found"));
	w->lost = p->native == NOWHERE;
	for (size_t i = 0; i < p->run->n; i++) {
		struct cs_woven item = {.kind = CS_WOVEN_PYTHON,
					.entry = i + 1 == p->run->n,
					.strand = (uint16_t)(p->strand - w->strands),
					.index = (uint32_t)(p->run->first + i)};

		CS_TRY(CS_PUSH(&w->ret->items, item, MAX_ITEMS, "woven frames"));
	}
	return NULL;
}

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	size_t px = place_of(x), py = place_of(y);

	if (px != py)
		return px < py ? -1 : 1;
	/* What has no place comes in front of what has this one. */
	if ((x->native == NOWHERE) != (y->native == NOWHERE))
		return x->native == NOWHERE ? -1 : 1;
	return x->run < y->run ? -1 : x->run > y->run;
}

static struct cs_error *write_all(struct weaver *w)
{
	size_t n = w->native->raw->n, next = 0;

	for (size_t i = 0; i <= n; i++) {
		bool loop = false;

		for (; next < w->n_placed && place_of(&w->placed[next]) == i; next++) {
			loop |= w->placed[next].native == i;
			CS_TRY(put_run(w, &w->placed[next]));
		}
		if (i == n)
			break;
		w->lost = false;
		CS_TRY(put(w, loop ? CS_WOVEN_LOOP : CS_WOVEN_NATIVE, i));
	}
	return NULL;
}

void cs_weave_deinit(struct cs_weave *weave)
{
	free(weave->items.v);
	free(weave->strands.v);
	free(weave->texts.v);
}

static struct cs_error *weave(struct weaver *w, const struct cs_py_strand *strands, size_t n)
{
	size_t runs = 0;

	for (size_t i = 0; i < n; i++) {
		const struct cs_py_chain *chain = &strands[i].state->chain;
		struct cs_woven_strand one = {&strands[i].process->py, chain->frames.v};

		runs += chain->runs.n;
		CS_TRY(CS_PUSH(&w->ret->strands, one, MAX_STRANDS, "thread states of a thread"));
	}
	w->placed = calloc(runs + 1, sizeof(*w->placed));
	if (!w->placed)
		return &cs_nomem;
	CS_TRY(windows_init(&w->windows, w->scene, w->native));
	for (size_t i = 0; i < n; i++) {
		size_t first = w->n_placed;

		CS_TRY(place_strand(w, &strands[i]));
		settle(w, w->placed + first, w->n_placed - first);
	}
	if (w->n_placed)
		qsort(w->placed, w->n_placed, sizeof(*w->placed), compare_placed);
	CS_TRY(write_all(w));
	for (size_t i = 0; i < n; i++)
		if (strands[i].state->chain.broken)
			CS_TRY(put_gap(w, strands[i].state->chain.broken));
	return NULL;
}

struct cs_error *cs_py_weave(const struct cs_scene *scene, const struct cs_py_native *native,
			     const struct cs_py_strand *strands, size_t n, struct cs_weave *ret)
{
	struct weaver w = {.scene = scene, .native = native, .strands = strands, .ret = ret};
	struct cs_error *err = weave(&w, strands, n);

	free(w.windows.sorted);
	free(w.placed);
	free(w.loops);
	return err;
}
