/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The fingerprint: a line to be copied into a search. With --all, what it was made of, and what of each frame
 * became, in the words that lists of frames are written in (corpus/signatures/fingerprint.yaml).
 */
#include "report/text_sections.h"

#include <inttypes.h>

#define TEXT_COLUMNS 200

static void put_frame(struct cs_text *t, const struct cs_print_frame *f, const char *label)
{
	cs_text_label(t, label);
	if (f->frame >= 0)
		cs_text_printf(t, "#%-3" PRId64 " ", f->frame);
	cs_text_put(t, f->text ? f->text : "(no name)");
	cs_text_printf(t, "\n");
}

static void put_frames(struct cs_text *t, const struct cs_fingerprint *f)
{
	const char *last = NULL;

	for (size_t i = 0; i < f->n_frames; i++) {
		const char *part = cs_print_part_name(f->frames[i].part);

		put_frame(t, &f->frames[i], part == last ? "" : part);
		last = part;
	}
}

void cs_text_fingerprint(struct cs_text *t, const struct cs_fingerprint *f)
{
	if (!f->short_form && !f->long_form)
		return;
	cs_text_label(t, "fingerprint");
	cs_text_put(t, f->short_form ? f->short_form : f->long_form);
	if (!f->short_form)
		cs_text_printf(t, ", the long one: frames without Python say too little");
	cs_text_printf(t, "\n");
	if (!t->options->all)
		return;
	if (f->tid > 0)
		cs_text_heading(t, "Fingerprint, of thread %" PRId32, f->tid);
	else
		cs_text_heading(t, "Fingerprint");
	cs_text_fact(t, "short", f->short_form);
	cs_text_fact(t, "long", f->long_form);
	cs_text_label(t, "made of");
	cs_text_put_cut(t, f->text ? f->text : "", TEXT_COLUMNS);
	cs_text_printf(t, "\n");
	put_frames(t, f);
}
