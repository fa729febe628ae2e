/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Inside the dialect of corescan's own reports: the sections of a page. */
#ifndef CS_PASTE_CORESCAN_PAGE_H
#define CS_PASTE_CORESCAN_PAGE_H

#include "paste/text.h"

/** What a dialect's `counts` are here. */
enum {
	CS_OWN_FOLLOWERS, /* threads right before the open one that have its stack */
	CS_OWN_FRAMES,    /* of the open thread */
	CS_OWN_LONGEST,   /* bytes of the page's longest line until now */
	CS_OWN_LINE,      /* the last line: its place in the input */
};

/** Where in the page a line stands; in `phase`, with the flags below. */
enum cs_own_section {
	CS_OWN_OUTSIDE,
	CS_OWN_FACTS,      /* the first lines: what happened, and where */
	CS_OWN_FINDING,    /* what corescan made of it */
	CS_OWN_STACK,      /* stacks of threads */
	CS_OWN_EXCEPTIONS,
	CS_OWN_PROCESS,
	CS_OWN_MODULES,
	CS_OWN_OTHER,      /* nothing that is read */
	CS_OWN_VARIABLES,  /* in an issue: a block of them */
	CS_OWN_WORDS,      /* in an issue: a block of last words follows */
	CS_OWN_WORDS_OPEN, /* and this is it */
};
#define CS_OWN_SECTION_BITS 0xf

/** Whose value the next lines go on with; in `phase`, too. */
enum cs_own_label {
	CS_OWN_NO_LABEL = 0,
	CS_OWN_SAID = 0x10,
	CS_OWN_VERSIONS = 0x20,
	CS_OWN_ENVIRONMENT = 0x30,
};
#define CS_OWN_LABEL_BITS 0xf0

#define CS_OWN_MARKDOWN 0x100
#define CS_OWN_VERDICT 0x200   /* the verdict may go on */
#define CS_OWN_ALONE 0x400     /* no thread but this one was told of */
#define CS_OWN_WHOLE 0x800     /* the page was read up to where all threads have been told */
#define CS_OWN_EXPLAINED 0x1000
#define CS_OWN_FIRST 0x2000    /* `text` is the exception's first line, of which more may follow */
#define CS_OWN_TRACE 0x4000    /* in a traceback */
#define CS_OWN_BLANK 0x8000    /* after an empty line */
#define CS_OWN_PYTHON 0x10000  /* a runtime was told of */
#define CS_OWN_NOBODY 0x20000  /* nobody holds its GIL */
#define CS_OWN_LIST 0x40000 /* the lines are a thrower's own list of frames */
#define CS_OWN_KEPT 0x80000    /* what the messages weigh */
#define CS_OWN_HANDLED 0x100000

#define SECTION(state) ((unsigned)(state)->phase & CS_OWN_SECTION_BITS)

/** A new section: what the one before had is written down. */
void cs_own_leave(struct cs_paster *p);
void cs_own_section(struct cs_paster *p, enum cs_own_section section);
/** Any line of an open page. */
bool cs_own_more(struct cs_paster *p, const struct cs_line *line);
void cs_own_end(struct cs_paster *p);

/* ---- corescan_said.c ---- */

/** A message begins in `text`; what was there is written down. */
void cs_own_say(struct cs_paster *p, const char *text);
/** It goes on: in a new line, unless a terminal was too narrow for the line before. */
void cs_own_say_more(struct cs_paster *p, const struct cs_line *line, size_t indent);
/** What is in `text` becomes messages, the last of a chain first. */
void cs_own_said(struct cs_paster *p);
/** The title above an exception: `Thread 17 "name" (being handled)`, which says what it weighs. */
void cs_own_exception(struct cs_paster *p, struct cs_span title);
/** Who crashed is known now: its exceptions are final, those of others are not. */
void cs_own_crashed(struct cs_paster *p);
/** A line below it. */
void cs_own_exception_line(struct cs_paster *p, const struct cs_line *line);

/* ---- corescan_facts.c ---- */

/** What a verdict says: signal, kind of fault, who sent it. */
void cs_own_explain(struct cs_paster *p, struct cs_span verdict);
/** "  signal       SIGSEGV (11), ...", and the lines with which a value goes on. False: no such line. */
bool cs_own_labelled(struct cs_paster *p, const struct cs_line *line);
/** "| torch | `2.6.0` |" */
bool cs_own_row(struct cs_paster *p, const struct cs_line *line);
/** "NAME=value" */
void cs_own_variable(struct cs_paster *p, struct cs_span s);
/** A line of the table of modules. */
void cs_own_module(struct cs_paster *p, const struct cs_line *line);
/** What follows from all threads together. */
void cs_own_conclude(struct cs_paster *p);

/** Frame number @n, without its number: "f (libx.so)", "f at a.c:5", "libx.so+0x12 (no symbol)". */
void cs_own_native(struct cs_paster *p, struct cs_span s, uint64_t n);
/** "f at a.py:5" */
void cs_own_python(struct cs_paster *p, struct cs_span s);
/** "... the 3 frames above repeat 1,000 times": so often that it is seen. False: it is no such line. */
bool cs_own_repeat(struct cs_paster *p, struct cs_span s, bool explained);

/**
 * Begin the threads of a title: `17 "name" (role), holds the GIL`, or `3 threads "name", all are daemons: 17,
 * 18, 19`. False: it is none.
 */
bool cs_own_title(struct cs_paster *p, struct cs_span s, bool crashed);
/** "20, 21 "name", ... 4 more": further threads with the stack of the open one, which has no frame yet. */
bool cs_own_followers(struct cs_paster *p, struct cs_span list);
/** The open thread ends; its followers get its frames. */
void cs_own_end_thread(struct cs_paster *p);

/** The number that @s begins with, "1,234" included, which is taken off. */
bool cs_own_number(struct cs_span *s, uint64_t *ret);

#endif
