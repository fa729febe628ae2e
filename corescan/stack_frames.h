/* SPDX-License-Identifier: GPL-3.0-or-later */
/** From the items of a stack, native and Python, to frames of the model; private to the analyze layer. */
#ifndef CS_STACK_FRAMES_H
#define CS_STACK_FRAMES_H

#include "stacks.h"
#include "symbols/symbolize.h"

/** One thread's stack as it is shown: its raw frames, or the weave of these with Python frames. */
struct cs_stack_view {
	const struct cs_raw_stack *raw;
	const struct cs_weave *weave; /* items.n == 0: native frames alone */
};

CS_UNUSED static inline size_t cs_stack_view_n(const struct cs_stack_view *v)
{
	return v->weave->items.n ? v->weave->items.n : v->raw->n;
}

/** Item number @i; a native frame where there is no weave. */
struct cs_woven cs_stack_view_item(const struct cs_stack_view *v, size_t i);

/** The addresses of all frames that are shown, and what they mean. */
struct cs_frame_maker {
	const struct cs_stack_input *input;
	CS_VEC(struct cs_location) locations; /* owned; sorted and distinct once looked up */
	struct cs_source *source;             /* owned; NULL: source lines are not asked for */
};

CS_MUST_CHECK struct cs_error *cs_frame_maker_init(struct cs_frame_maker *m,
						   const struct cs_stack_input *input);
void cs_frame_maker_deinit(struct cs_frame_maker *m);
/** Note that item @i of @v is going to be shown. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_frame_maker_want(struct cs_frame_maker *m,
						   const struct cs_stack_view *v, size_t i);
/** Look all of them up at once. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_frame_maker_symbolize(struct cs_frame_maker *m);
/** How many frames of the model item @i becomes: a native frame and the calls inlined into it. */
size_t cs_frame_maker_count(const struct cs_frame_maker *m, const struct cs_stack_view *v, size_t i);
/** Write them to @ret, innermost first; the number of frames written. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_frame_maker_write(const struct cs_frame_maker *m,
						    const struct cs_stack_view *v, size_t i,
						    struct cs_frame *ret, size_t *ret_n);
/** Source lines of tracebacks, tasks and greenlets in @ret, where they are asked for. */
void cs_frame_maker_sources(const struct cs_frame_maker *m, struct cs_analysis *ret);
/** Mark the frames of a whole stack that only carry Python calls. */
void cs_frame_maker_plumbing(const struct cs_frame_maker *m, struct cs_frame *frames, size_t n);

#endif
