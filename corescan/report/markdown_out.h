/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * What Markdown is made of: the gates through which every text of the target passes, and the page's budget.
 *
 * A tracker turns much more than Markdown into something: "@name" mails somebody, "#1" marks another issue,
 * addresses become links, HTML is HTML. None of that is wanted of a text that a core holds, and escapes do
 * not help against all of it: mentions are looked for in the text that comes out. Code does, so outside
 * blocks each word that is not plainly a word is set as code.
 *
 * Home folders become "~" and what is not visible becomes an escape in all of them.
 */
#ifndef CS_REPORT_MARKDOWN_OUT_H
#define CS_REPORT_MARKDOWN_OUT_H

#include "base/strbuf.h"
#include "report/text_out.h"

#define CS_MD_MAX_UNIT (1UL << 20) /* bytes of one thing before it is fitted in: never reached */
#define CS_MD_MAX_LINE 240         /* columns of one line of a block; cut in its middle */
#define CS_MD_MIN_BLOCK 400        /* bytes below which a block says too little to be begun */

/** One part of the page while it is written: it has a budget, and what does not fit is not begun. */
struct cs_md {
	const struct cs_analysis *a;
	const struct cs_markdown_options *options;
	struct cs_strbuf out;
	size_t budget; /* bytes of `out` */
	size_t left_out; /* things of a list that had no room */
};

CS_UNUSED static inline size_t cs_md_room(const struct cs_md *m)
{
	return m->out.len < m->budget ? m->budget - m->out.len : 0;
}

/** Add what @unit holds if it fits; *@ret says whether it did. Empties @unit. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_md_add(struct cs_md *m, struct cs_strbuf *unit, bool *ret);

/** Say that @what had no room, and @how to see it; nothing if not even that has room. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_md_no_room(struct cs_md *m, const char *what, const char *how);

/* ---- gates: they append @s to @out, cut to @max bytes or a little more ---- */

/** As code within a line. */
void cs_md_code(struct cs_strbuf *out, const char *s, size_t max);
/** As code in a cell of a table. */
void cs_md_cell(struct cs_strbuf *out, const char *s, size_t max);
/** As a sentence; words that are more than that as code. Line ends become blanks. */
void cs_md_prose(struct cs_strbuf *out, const char *s, size_t max);
/** As HTML code, for the summary of something folded up. */
void cs_md_html_code(struct cs_strbuf *out, const char *s, size_t max);
/** "owner/repository#123" as it is, so that trackers link it; anything else as code. */
void cs_md_reference(struct cs_strbuf *out, const char *s);

/**
 * As a block of code of at most @budget bytes, fences included; what has no room is counted in its last line.
 * The lines of @s end in newlines.
 */
void cs_md_block(struct cs_strbuf *out, const char *s, size_t budget);

/* ---- what the text report's writers write, as a text ---- */

/** A sheet of paper that is read as one text. */
struct cs_md_sheet {
	struct cs_text text; /* write here */
	struct cs_text_options options;
	char *bytes; /* owned; after cs_md_sheet_done() */
	size_t len;
};

/** Errors: NOMEM. @ret is for cs_md_sheet_deinit() in any case, and must not move. */
CS_MUST_CHECK struct cs_error *cs_md_sheet_init(struct cs_md_sheet *ret);
/** End writing; @bytes may be read. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_md_sheet_done(struct cs_md_sheet *sheet);
void cs_md_sheet_deinit(struct cs_md_sheet *sheet);

#endif
