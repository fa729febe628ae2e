/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One stack as text. Numbers frames as gdb does, inlined ones included, so that "#7"
 * means the same in both. Python frames stand in their places without a number, and the
 * native frames that only carry Python calls keep their numbers where they are left out.
 *
 * A name is never made better than it is: without a symbol there is only module+offset,
 * the closest symbol before an address is called that, and a frame that was found by a
 * weaker method than call frame information says so.
 */
#include "report/text_sections.h"

#include "base/strbuf.h"

#include <inttypes.h>
#include <string.h>

#define MAX_NAME 200 /* columns of one function name unless --all */
#define MIN_PATH                                                                         \
	20 /* columns that a source path keeps before the function name is cut           \
	    */

/* A repeated run of frames while it is walked; counts are those of one turn. */
struct run {
	const struct cs_frame *first; /* NULL: none is open */
	size_t left;                  /* frames until its end */
	uint64_t numbers;             /* frames that have a number */
	uint64_t native;   /* frames that unwinding counted: inlined calls are no such */
	uint64_t visible;  /* frames that are not left out as plumbing */
	uint64_t plumbing; /* those that are */
	bool shown;        /* its last visible frame was */
};

/* State while walking a group's frames. */
struct walk {
	uint64_t number;   /* of the next frame, as if nothing were folded */
	uint64_t hidden;   /* frames left out since the last line */
	uint64_t plumbing; /* frames of the interpreter left out so far */
	uint64_t missing;  /* frames that were counted but are not in the group */
	struct run run;
	int digits;
	bool plain; /* nothing is plumbing: all of it was asked for, or there is no other
		     */
	const struct cs_frame *marked;
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
	case CS_FRAME_PYTHON:
		if (f->function)
			break;
		cs_text_printf(t, "<unreadable code of frame 0x%" PRIx64 ">", f->address);
		put_source(t, f, cs_text_left(t));
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

/* The text of the line and the values of the names, below a Python frame. */
static void put_inside(struct cs_text *t, const struct walk *w, const struct cs_frame *f)
{
	int indent = w->digits + 1 + 8;

	if (f->source) {
		cs_text_printf(t, "%*s", indent, "");
		cs_text_put(t, f->source + strspn(f->source, " \t\f"));
		cs_text_printf(t, "\n");
	}
	for (size_t i = 0; i < f->n_variables; i++) {
		const struct cs_python_variable *v = &f->variables[i];

		cs_text_printf(t, "%*s", indent, "");
		cs_text_style(t, CS_STYLE_DIM);
		cs_text_put(t, v->name ? v->name : "?");
		cs_text_printf(t, v->value ? ": " : " has no value");
		cs_text_plain(t);
		cs_text_put_cut(t, v->value, CS_TEXT_MAX_VALUE);
		cs_text_printf(t, "\n");
	}
}

static bool is_numbered(const struct cs_frame *f)
{
	return f->kind != CS_FRAME_GAP && f->kind != CS_FRAME_PYTHON;
}

static void put_frame(struct cs_text *t, const struct walk *w, const struct cs_frame *f)
{
	bool marked = f == w->marked;
	char number[24] = "";

	if (is_numbered(f))
		snprintf(number, sizeof(number), "#%" PRIu64, w->number);
	else if (f->kind == CS_FRAME_PYTHON)
		snprintf(number, sizeof(number), "py");
	cs_text_style(t, marked                       ? CS_STYLE_STRONG
			 : f->kind == CS_FRAME_PYTHON ? CS_STYLE_PYTHON
						      : CS_STYLE_DIM);
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
	put_inside(t, w, f);
}

/* A remark between frames, below the names. */
static void begin_remark(struct cs_text *t, const struct walk *w, enum cs_style style)
{
	cs_text_printf(t, "  %-*s  ", w->digits + 1, "");
	cs_text_style(t, style);
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
	begin_remark(t, w, CS_STYLE_DOUBT);
	cs_text_printf(t, "... %s more frame%s%s", cs_text_count(w->hidden),
		       w->hidden == 1 ? "" : "s", cs_text_hint(t));
	end_remark(t);
	w->hidden = 0;
}

static bool is_native(const struct cs_frame *f)
{
	return f->kind == CS_FRAME_NATIVE || f->kind == CS_FRAME_SIGNAL;
}

static bool is_left_out(const struct walk *w, const struct cs_frame *f)
{
	return f->plumbing && !w->plain && f != w->marked;
}

/* A gap that hides native frames; where only Python frames have no place, none is
 * missing. */
static bool is_native_gap(const struct cs_frame *f)
{
	return f->kind == CS_FRAME_GAP && f->trust != CS_TRUST_RUNTIME;
}

/* Count frame @f in, and say how many frames its run stands for beyond the first turn. */
static uint64_t run_step(const struct walk *w, struct run *run, const struct cs_frame *f)
{
	if (f->repeat_period)
		*run = (struct run){.first = f, .left = f->repeat_period};
	if (!run->first)
		return 0;
	run->numbers += is_numbered(f);
	run->native += is_native(f);
	run->plumbing += is_left_out(w, f);
	run->visible += !is_left_out(w, f);
	if (--run->left)
		return 0;
	return run->first->repeat_count ? run->first->repeat_count - 1 : 0;
}

static void put_repeat(struct cs_text *t, const struct walk *w)
{
	uint64_t count = w->run.first->repeat_count;

	begin_remark(t, w, CS_STYLE_DOUBT);
	if (w->run.visible == 1)
		cs_text_printf(t, "... the frame above is there %s times in a row",
			       cs_text_count(count));
	else
		cs_text_printf(t, "... the %s frames above repeat %s times",
			       cs_text_count(w->run.visible), cs_text_count(count));
	end_remark(t);
}

/* Account for frame @f, shown or not, and for those that it or its run stand for. */
static void advance(struct cs_text *t, struct walk *w, const struct cs_frame *f,
		    bool shown)
{
	uint64_t more = run_step(w, &w->run, f);

	w->number += is_numbered(f);
	if (is_native_gap(f)) {
		w->number += w->missing;
		w->missing = 0; /* said by the gap itself */
	}
	if (is_left_out(w, f))
		w->plumbing++;
	else
		w->run.shown = shown;
	if (!w->run.first || w->run.left)
		return;
	w->number += more * w->run.numbers;
	w->plumbing += more * w->run.plumbing;
	if (more && w->run.visible && w->run.shown)
		put_repeat(t, w);
	else
		w->hidden += more * w->run.visible;
	w->run.first = NULL;
}

/* Frames of the group as if nothing were folded: those with a number, and the native
 * ones. */
static uint64_t count_frames(const struct walk *w, const struct cs_stack_group *group,
			     uint64_t *ret_native)
{
	struct run run = {0};
	uint64_t n = 0;

	*ret_native = 0;
	for (size_t i = 0; i < group->n_frames; i++) {
		const struct cs_frame *f = &group->frames[i];
		uint64_t more = run_step(w, &run, f);

		n += is_numbered(f);
		*ret_native += is_native(f);
		if (!run.first || run.left)
			continue;
		n += more * run.numbers;
		*ret_native += more * run.native;
		run.first = NULL;
	}
	return n;
}

/* "(23 frames of the interpreter itself are hidden: --all)" */
static void put_plumbing(struct cs_text *t, const struct walk *w,
			 const struct cs_frames_view *view)
{
	uint64_t least = w->plumbing, most = w->plumbing;

	if (view->like) {
		least = CS_MIN(least, view->least_plumbing);
		most = CS_MAX(most, view->most_plumbing);
	}
	if (!most || t->options->all)
		return;
	begin_remark(t, w, CS_STYLE_DIM);
	cs_text_printf(t, "(");
	if (least < most)
		cs_text_printf(t, "%s to ", cs_text_count(least));
	cs_text_printf(t, "%s frame%s of the interpreter itself %s hidden%s)",
		       cs_text_count(most), most == 1 ? "" : "s",
		       most == 1 ? "is" : "are", t->issue ? "" : ": --all");
	end_remark(t);
}

static void put_end(struct cs_text *t, struct walk *w, const struct cs_stack_group *group,
		    const struct cs_frames_view *view)
{
	flush_hidden(t, w);
	if (w->missing) {
		begin_remark(t, w, CS_STYLE_DOUBT);
		cs_text_printf(t, "... %s further frame%s counted but not kept",
			       cs_text_count(w->missing),
			       w->missing == 1 ? " was" : "s were");
		end_remark(t);
	}
	if (view->broken) {
		begin_remark(t, w, CS_STYLE_DOUBT);
		cs_text_printf(t, "Python frames are missing: ");
		cs_text_wrapped(t, (unsigned)w->digits + 5, view->broken);
		cs_text_plain(t);
	}
	if (group->stop != CS_STOP_BOTTOM) {
		begin_remark(t, w, CS_STYLE_DOUBT);
		cs_text_printf(t, "the stack cannot be followed further: ");
		cs_text_wrapped(t, (unsigned)w->digits + 5,
				group->stop_text ? group->stop_text
						 : cs_stop_name(group->stop));
		cs_text_plain(t);
	}
	put_plumbing(t, w, view);
}

uint64_t cs_text_plumbing(const struct cs_stack_group *group)
{
	struct walk w = {0};
	uint64_t n = 0;

	for (size_t i = 0; i < group->n_frames; i++) {
		const struct cs_frame *f = &group->frames[i];
		uint64_t more = run_step(&w, &w.run, f);

		n += is_left_out(&w, f);
		if (!w.run.first || w.run.left)
			continue;
		n += more * w.run.plumbing;
		w.run.first = NULL;
	}
	return n;
}

void cs_text_frames(struct cs_text *t, const struct cs_stack_group *group,
		    const struct cs_frames_view *view)
{
	struct walk w = {.plain = t->options->all};
	size_t visible = 0, ordinal = 0;
	uint64_t native, numbers;
	bool all;

	if (view->marked < group->n_frames)
		w.marked = &group->frames[view->marked];
	for (size_t i = 0; i < group->n_frames; i++)
		visible += !is_left_out(&w, &group->frames[i]);
	w.plain |= !visible;
	visible = visible ? visible : group->n_frames;
	/* One line saying that one frame is hidden would be no shorter. */
	all = t->options->all || visible <= view->head + view->tail + 1;
	numbers = count_frames(&w, group, &native);
	if (group->total_frames > native)
		w.missing = group->total_frames - native;
	w.digits = snprintf(NULL, 0, "%" PRIu64, CS_MAX(numbers + w.missing, 1UL) - 1);
	if (!group->n_frames)
		cs_text_printf(t,
			       "  (no frames: the program counter is not in the core)\n");
	for (size_t i = 0; i < group->n_frames; i++) {
		const struct cs_frame *f = &group->frames[i];
		bool out = is_left_out(&w, f);
		bool shown = !out && (all || ordinal < view->head ||
				      ordinal >= visible - view->tail || f == w.marked);

		if (shown) {
			flush_hidden(t, &w);
			put_frame(t, &w, f);
		} else if (!out) {
			w.hidden += f->kind != CS_FRAME_GAP ? 1
				    : is_native_gap(f)      ? w.missing
							    : 0;
		}
		ordinal += !out;
		advance(t, &w, f, shown);
	}
	put_end(t, &w, group, view);
}
