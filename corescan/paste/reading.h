/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Shared by paste.c, build.c and rules.c; dialects use paster.h alone. */
#ifndef CS_PASTE_READING_H
#define CS_PASTE_READING_H

#include "base/vec.h"
#include "paste/paster.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define CS_MOST_DIALECTS 32
#define CS_NO_DIALECT SIZE_MAX

/** What all streams of one input share. */
struct cs_reading {
	cs_paste_fn *fn;
	void *arg;
	pcre2_code ***codes; /* of each dialect's rules; NULL: not compiled yet */
	size_t n_dialects;
	pcre2_match_data *data;
	pcre2_match_context *context;
	struct cs_error *error; /* of @fn; owned until it is handed on */
	bool nomem;
	bool separated; /* the line that is looked at ends the reports of all streams */
};

struct cs_message_part {
	struct cs_strbuf text;
	size_t first, last; /* numbers of its lines */
	size_t at;          /* where it begins in the input */
	bool after_stack;   /* a thread came before it */
	enum cs_paste_weight weight;
};

/** One stream of lines: the input, or those of its lines with one label. */
struct cs_paster {
	struct cs_reading *reading; /* not owned */
	char *label;                /* owned; NULL: the lines without one */
	struct cs_arena *arena;     /* of the report being made; NULL: none is */
	/* Of reports that ended with the line being read: what a rule took from the line may be there. */
	CS_VEC(struct cs_arena *) retired;
	size_t open;  /* the dialect that took the last line: its place in cs_dialects[], or CS_NO_DIALECT */
	size_t asked; /* the dialect whose functions run */
	struct cs_paster_state states[CS_MOST_DIALECTS];
	struct cs_paste paste; /* all but its lists */
	size_t n_lines;               /* of the stream until now */
	size_t first_line, last_line; /* of the report, in the input */
	size_t last_stack_line;       /* number of the last line that had a frame */
	uint64_t had; /* dialects that gave stacks, by their place in cs_dialects[] */
	CS_VEC(struct cs_paste_thread) threads;
	CS_VEC(struct cs_paste_frame) frames; /* of the last thread, while it is open */
	bool in_thread, outermost_first;
	CS_VEC(struct cs_message_part) messages;
	CS_VEC(struct cs_paste_pair) versions;
	CS_VEC(struct cs_paste_pair) environment;
	CS_VEC(const char *) facts;
	CS_VEC(const char *) modules;
	size_t n_frames;      /* of all threads */
	size_t n_frames_ever; /* of all reports of the stream */
};

struct cs_groups {
	const char *subject;
	const PCRE2_SIZE *at;
	unsigned n;
};

/** Offer @line to the rules of dialect number @dialect. */
bool cs_rules_take(struct cs_paster *p, size_t dialect, const struct cs_line *line);
CS_MUST_CHECK struct cs_error *cs_rules_init(struct cs_reading *r);
void cs_rules_deinit(struct cs_reading *r);

/** The dialect that is open, if one is, has no more lines. */
void cs_paster_close_dialect(struct cs_paster *p);
/** Free what reports before this line had; a line is over. */
void cs_paster_line_over(struct cs_paster *p);
/** Hand over what the stream has, if it says anything, and begin anew. */
void cs_paster_finish(struct cs_paster *p);
void cs_paster_deinit(struct cs_paster *p);

#endif
