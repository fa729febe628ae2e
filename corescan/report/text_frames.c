/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One stack as text. Numbers frames as gdb does, inlined ones included, so that "#7"
 * means the same in both.
 *
 * A name is never made better than it is: without a symbol there is only module+offset,
 * the closest symbol before an address is called that, and a frame that was found by a
 * weaker method than call frame information says so.
 */
#include "report/text_sections.h"

#include "base/strbuf.h"

#include <inttypes.h>

#define MAX_NAME 200 /* columns of one function name unless --all */
#define MIN_PATH                                                                         \
	20 /* columns that a source path keeps before the function name is cut           \
	    */

/* State while walking a group's frames. */
struct walk {
	uint64_t number; /* of the next frame, as if nothing were folded */
	uint64_t hidden; /* frames left out since the last line */
	size_t run_left; /* frames until the end of the repeated run */
	const struct cs_frame *run;
	uint64_t missing; /* frames that were counted but are not in the group */
	int digits;
};

static const char *frame_name(const struct cs_text *t, const struct cs_frame *f)
{
	return f->short_name && !t->options->all ? f->short_name : f->function;
}

static void put_module_offset(struct cs_text *t, const struct cs_frame *f)
{
	if (!f->module) {
		cs_text_printf(t, "0x%" PRIx64, f->address);
		return;
	}
	cs_text_put_cut(t, f->module->name, MAX_NAME);
	cs_text_printf(t, "+0x%" PRIx64, f->module_offset);
}

/* The symbol ends before this address: whose code it is, nobody knows. */
static void put_nearest(struct cs_text *t, const struct cs_frame *f)
{
	bool whole = f->module->symbols == CS_SYMBOLS_SYMTAB ||
		     f->module->symbols == CS_SYMBOLS_DWARF;

	cs_text_style(t, CS_STYLE_DIM);
	cs_text_printf(t, " (nearest %s: ", whole ? "symbol" : "exported");
	cs_text_put_cut(t, frame_name(t, f), MAX_NAME);
	cs_text_printf(t, "+0x%" PRIx64 ")", f->offset);
	cs_text_plain(t);
}

static void put_nameless(struct cs_text *t, const struct cs_frame *f)
{
	put_module_offset(t, f);
	if (!f->module) {
		cs_text_style(t, CS_STYLE_DIM);
		cs_text_printf(t, " (");
		cs_text_put_cut(t, f->place ? f->place : "in no module", MAX_NAME);
		cs_text_printf(t, ")");
		cs_text_plain(t);
	} else if (f->function) {
		put_nearest(t, f);
	} else {
		cs_text_styled(t, CS_STYLE_DIM, " (no symbol)");
	}
}

/* "at file:line" fits, or is shortened from the left; false when there is no source. */
static bool put_source(struct cs_text *t, const struct cs_frame *f, size_t room)
{
	char line[16] = "";
	size_t len = 0;

	if (!f->file)
		return false;
	if (f->line)
		len = (size_t)snprintf(line, sizeof(line), ":%" PRIu32, f->line);
	cs_text_printf(t, " at ");
	cs_text_style(t, CS_STYLE_DIM);
	cs_text_put_tail(t, f->file, room > len ? room - len : 0);
	cs_text_printf(t, "%s", line);
	cs_text_plain(t);
	return true;
}

static void put_named(struct cs_text *t, const struct cs_frame *f)
{
	const char *name = frame_name(t, f);
	size_t left = cs_text_left(t), name_columns = cs_text_columns(name), room;
	size_t path = f->file ? cs_text_columns(f->file) + 4 + 6 : 0;
	size_t keep = CS_MIN(path, (size_t)MIN_PATH + 4 + 6);

	room = left > keep ? left - keep : left;
	cs_text_put_cut(t, name, CS_MIN(room, (size_t)MAX_NAME));
	if (t->options->all && f->kind == CS_FRAME_NATIVE)
		cs_text_printf(t, "+0x%" PRIx64, f->offset);
	name_columns = cs_text_left(t);
	if (put_source(t, f, name_columns > 4 ? name_columns - 4 : 0) && !t->options->all)
		return;
	if (f->module && f->kind != CS_FRAME_PYTHON) {
		cs_text_style(t, CS_STYLE_DIM);
		cs_text_printf(t, " (");
		cs_text_put_cut(t, f->module->name, MAX_NAME);
		cs_text_printf(t, ")");
		cs_text_plain(t);
	}
}

void cs_text_place(struct cs_text *t, const struct cs_frame *f)
{
	switch (f->kind) {
	case CS_FRAME_SIGNAL:
		cs_text_printf(t, "<signal handler called>");
		return;
	case CS_FRAME_GAP:
		cs_text_printf(t, "<frames are missing here");
		if (f->function)
			cs_text_printf(t, ": ");
		cs_text_put_cut(t, f->function, MAX_NAME);
		cs_text_printf(t, ">");
		return;
	default:
		break;
	}
	if (!f->function || f->nearest)
		put_nameless(t, f);
	else
		put_named(t, f);
}

static void put_doubt(struct cs_text *t, const struct cs_frame *f)
{
	const char *doubt = NULL;

	if (f->trust == CS_TRUST_FRAME_POINTER)
		doubt = " [frame pointer]";
	else if (f->trust == CS_TRUST_SCAN)
		doubt = " [found by scanning: may be stale]";
	else if (f->kind == CS_FRAME_INLINE)
		doubt = " [inlined]";
	if (doubt)
		cs_text_styled(t,
			       f->kind == CS_FRAME_INLINE ? CS_STYLE_DIM : CS_STYLE_DOUBT,
			       doubt);
}

static void put_frame(struct cs_text *t, const struct walk *w, const struct cs_frame *f,
		      bool marked)
{
	char number[24] = "";

	if (f->kind != CS_FRAME_GAP)
		snprintf(number, sizeof(number), "#%" PRIu64, w->number);
	cs_text_style(t, marked ? CS_STYLE_STRONG : CS_STYLE_DIM);
	cs_text_printf(t, "%s%-*s  ", marked ? "> " : "  ", w->digits + 1, number);
	cs_text_plain(t);
	if (t->options->all && f->kind != CS_FRAME_GAP)
		cs_text_printf(t, "0x%016" PRIx64 " ", f->address);
	if (marked)
		cs_text_style(t, CS_STYLE_STRONG);
	cs_text_place(t, f);
	cs_text_plain(t);
	put_doubt(t, f);
	cs_text_printf(t, "\n");
}

/* A remark between frames, below the names. */
static void begin_remark(struct cs_text *t, const struct walk *w)
{
	cs_text_printf(t, "  %-*s  ", w->digits + 1, "");
	cs_text_style(t, CS_STYLE_DOUBT);
}

static void end_remark(struct cs_text *t)
{
	cs_text_plain(t);
	cs_text_printf(t, "\n");
}

static void flush_hidden(struct cs_text *t, struct walk *w)
{
	if (!w->hidden)
		return;
	begin_remark(t, w);
	cs_text_printf(t, "... %s more frame%s (--all)", cs_text_count(w->hidden),
		       w->hidden == 1 ? "" : "s");
	end_remark(t);
	w->hidden = 0;
}

static bool is_native(const struct cs_frame *f)
{
	return f->kind == CS_FRAME_NATIVE || f->kind == CS_FRAME_SIGNAL;
}

/* Account for frame @f, shown or not, and for those that it or its run stand for. */
static void advance(struct cs_text *t, struct walk *w, const struct cs_frame *f,
		    bool shown)
{
	uint64_t extra;

	if (f->kind == CS_FRAME_GAP) {
		w->number += w->missing;
		w->missing = 0; /* said by the gap itself */
	} else {
		w->number++;
	}
	if (!w->run_left || --w->run_left || !w->run->repeat_count)
		return;
	extra = (w->run->repeat_count - 1) * w->run->repeat_period;
	w->number += extra;
	if (!shown) {
		w->hidden += extra;
		return;
	}
	begin_remark(t, w);
	if (w->run->repeat_period == 1)
		cs_text_printf(t, "... the frame above is there %s times in a row",
			       cs_text_count(w->run->repeat_count));
	else
		cs_text_printf(t, "... the %s frames above repeat %s times",
			       cs_text_count(w->run->repeat_period),
			       cs_text_count(w->run->repeat_count));
	end_remark(t);
}

/* Frames of the group as if nothing were folded: all of them, and the native ones. */
static uint64_t count_frames(const struct cs_stack_group *group, uint64_t *ret_native)
{
	uint64_t n = 0, run_native = 0;
	const struct cs_frame *run = NULL;
	size_t left = 0;

	*ret_native = 0;
	for (size_t i = 0; i < group->n_frames; i++) {
		const struct cs_frame *f = &group->frames[i];

		if (f->repeat_period) {
			run = f;
			left = f->repeat_period;
			run_native = 0;
		}
		n += f->kind != CS_FRAME_GAP;
		run_native += is_native(f);
		*ret_native += is_native(f);
		if (left && !--left && run->repeat_count) {
			n += (run->repeat_count - 1) * run->repeat_period;
			*ret_native += (run->repeat_count - 1) * run_native;
		}
	}
	return n;
}

static void put_end(struct cs_text *t, struct walk *w, const struct cs_stack_group *group)
{
	flush_hidden(t, w);
	if (w->missing) {
		begin_remark(t, w);
		cs_text_printf(t, "... %s further frames were counted but not kept",
			       cs_text_count(w->missing));
		end_remark(t);
	}
	if (group->stop == CS_STOP_BOTTOM)
		return;
	begin_remark(t, w);
	cs_text_printf(t, "the stack cannot be followed further: ");
	cs_text_wrapped(t, (unsigned)w->digits + 5,
			group->stop_text ? group->stop_text : cs_stop_name(group->stop));
	cs_text_plain(t);
}

void cs_text_frames(struct cs_text *t, const struct cs_stack_group *group,
		    const struct cs_frames_view *view)
{
	size_t n = group->n_frames;
	uint64_t native, numbers = count_frames(group, &native);
	struct walk w = {0};
	/* One line saying that one frame is hidden would be no shorter. */
	bool all = t->options->all || n <= view->head + view->tail + 1;

	if (group->total_frames > native)
		w.missing = group->total_frames - native;
	w.digits = snprintf(NULL, 0, "%" PRIu64, CS_MAX(numbers + w.missing, 1UL) - 1);
	if (!n)
		cs_text_printf(t,
			       "  (no frames: the program counter is not in the core)\n");
	for (size_t i = 0; i < n; i++) {
		const struct cs_frame *f = &group->frames[i];
		bool shown =
			all || i < view->head || i >= n - view->tail || i == view->marked;

		if (f->repeat_period) {
			w.run = f;
			w.run_left = f->repeat_period;
		}
		if (shown) {
			flush_hidden(t, &w);
			put_frame(t, &w, f, i == view->marked);
		} else {
			w.hidden += f->kind == CS_FRAME_GAP ? w.missing : 1;
		}
		advance(t, &w, f, shown);
	}
	put_end(t, &w, group);
}
