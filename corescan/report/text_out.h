/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The sheet of paper that the text report is written on: columns, colours, and the one
 * gate through which every byte from the target passes, so that a hostile core cannot
 * drive the reader's terminal.
 */
#ifndef CS_REPORT_TEXT_OUT_H
#define CS_REPORT_TEXT_OUT_H

#include "base/util.h"
#include "report/report.h"

#define CS_TEXT_LABEL                                                                    \
	13 /* columns of a label in a block of facts, its indent not counted */

enum cs_style {
	CS_STYLE_BAD,
	CS_STYLE_HEAD,
	CS_STYLE_DIM,
	CS_STYLE_STRONG,
	CS_STYLE_DOUBT,
	CS_STYLE_PYTHON
};

struct cs_text {
	FILE *out; /* not owned */
	const struct cs_text_options *options;
	unsigned column; /* columns written of this line */
	char held[64];   /* the last columns and their styles, until it is known whether
			    more follow */
	size_t held_len;
	bool cut;   /* the rest of this line has no room */
	bool whole; /* lines are wrapped where they can be, but never cut */
	bool issue; /* read by people who have no core: nothing is said of options */
};

/** Our own words, printed as they are; @fmt must not hold texts from the target. A
 * newline ends the line. */
void cs_text_printf(struct cs_text *t, const char *fmt, ...) CS_PRINTF(2, 3);
/** A text from the target: what is not fit for a terminal is shown as "\x1b". NULL prints
 * nothing. */
void cs_text_put(struct cs_text *t, const char *s);
/** As cs_text_put(), but at most @max columns unless --all; "..." marks the cut. */
void cs_text_put_cut(struct cs_text *t, const char *s, size_t max);
/** As cs_text_put(), cut on the left, where paths are least telling. */
void cs_text_put_tail(struct cs_text *t, const char *s, size_t max);
/** As cs_text_put(), in @style. */
void cs_text_styled(struct cs_text *t, enum cs_style style, const char *s);

/** " (--all)", for whoever can give that option. */
CS_UNUSED static inline const char *cs_text_hint(const struct cs_text *t)
{
	return t->issue ? "" : " (--all)";
}

/** Switch a style on or off; nothing without colours. */
void cs_text_style(struct cs_text *t, enum cs_style style);
void cs_text_plain(struct cs_text *t);

/** "Heading" on a line of its own, after an empty line. */
void cs_text_heading(struct cs_text *t, const char *fmt, ...) CS_PRINTF(2, 3);
/** "  label        " at the begin of a line of facts; the caller goes on and ends the
 * line. */
void cs_text_label(struct cs_text *t, const char *label);
/** A whole fact; a @value of several lines goes on below itself. Nothing for a NULL
 * @value. */
void cs_text_fact(struct cs_text *t, const char *label, const char *value);
/** @s wrapped at the width with @indent columns before each further line; ends the line.
 */
void cs_text_wrapped(struct cs_text *t, unsigned indent, const char *s);

/** A blank, or a new line that is indented if @columns more do not fit on this one. */
void cs_text_gap(struct cs_text *t, unsigned indent, size_t columns);

/** Columns that @s takes when put. */
size_t cs_text_columns(const char *s);
/** Columns left on this line; a large number when lines are not cut. */
size_t cs_text_left(const struct cs_text *t);

/** "26,666": counts are read by people. Valid until the fourth call from now. */
const char *cs_text_count(uint64_t n);
/** "626.0 MiB". Valid as long as a cs_text_count(). */
const char *cs_text_size(uint64_t bytes);

#endif
