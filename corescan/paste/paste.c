/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From bytes to reports: lines are read, put together where they were wrapped, given to the stream whose
 * label they bear, and there to the dialects. What one report needs in memory is gone before the next.
 */
#include "paste/reading.h"

#include "base/limits.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

const struct cs_dialect *const cs_dialects[] = {
	&cs_dialect_corescan,
	&cs_dialect_py_spy_json, &cs_dialect_gdb,	  &cs_dialect_lldb,     &cs_dialect_eu_stack,
	&cs_dialect_torch,       &cs_dialect_sanitizer,   &cs_dialect_backtrace, &cs_dialect_py_spy,
	&cs_dialect_pystack,     &cs_dialect_faulthandler, &cs_dialect_traceback, &cs_dialect_kernel,
	&cs_dialect_log,	 NULL,
};
static_assert(CS_COUNT(cs_dialects) - 1 <= CS_MOST_DIALECTS, "each dialect has a state");

struct input {
	struct cs_reading reading;
	CS_VEC(struct cs_paster *) streams; /* owned; [0] has no label */
	FILE *in;
	struct cs_strbuf raw, clean; /* a line as it was read, and what is in it */
	struct cs_strbuf held;       /* the line that the next may continue */
	char held_label[CS_MAX_PASTE_LABEL + 1];
	struct cs_line_owners owners; /* of lines without a label */
	struct cs_line line; /* what `held` is */
	size_t number;
	bool holds;
};

static void input_deinit(struct input *in)
{
	for (size_t i = 0; i < in->streams.n; i++) {
		cs_paster_deinit(in->streams.v[i]);
		free(in->streams.v[i]);
	}
	free(in->streams.v);
	cs_rules_deinit(&in->reading);
	cs_strbuf_deinit(&in->raw);
	cs_strbuf_deinit(&in->clean);
	cs_strbuf_deinit(&in->held);
	cs_error_destroy(in->reading.error);
}

/* ---- streams ---- */

static struct cs_paster *add_stream(struct input *in, const char *label)
{
	struct cs_paster *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->reading = &in->reading;
	p->open = CS_NO_DIALECT;
	p->label = label ? strdup(label) : NULL;
	if ((!label || p->label) && cs_ok(CS_PUSH(&in->streams, p, CS_MAX_PASTE_STREAMS, "streams")))
		return p;
	free(p->label);
	free(p);
	return NULL;
}

/* The stream of that label; beyond CS_MAX_PASTE_STREAMS of them, that of the lines without one. */
static struct cs_paster *stream_of(struct input *in, const char *label)
{
	struct cs_paster *p;

	for (size_t i = 1; label && i < in->streams.n; i++)
		if (!strcmp(in->streams.v[i]->label, label))
			return in->streams.v[i];
	if (!label || in->streams.n >= CS_MAX_PASTE_STREAMS)
		return in->streams.v[0];
	p = add_stream(in, label);
	in->reading.nomem |= !p;
	return p ? p : in->streams.v[0];
}

/* ---- dialects ---- */

/* After a dialect took @line; @frames had been added before. */
static void note_taken(struct cs_paster *p, const struct cs_line *line, size_t frames)
{
	if (!p->first_line)
		p->first_line = line->at;
	p->last_line = line->at;
	if (p->n_frames_ever == frames || !p->n_frames)
		return;
	p->last_stack_line = line->number;
}

static bool offer(struct cs_paster *p, size_t i, const struct cs_line *line)
{
	size_t frames = p->n_frames_ever;

	p->asked = i;
	if (!cs_rules_take(p, i, line))
		return false;
	if (p->open != i)
		cs_paster_close_dialect(p);
	p->open = i;
	note_taken(p, line, frames);
	return true;
}

static bool offer_more(struct cs_paster *p, size_t open, const struct cs_line *line)
{
	size_t frames = p->n_frames_ever;

	p->asked = open;
	if (open == CS_NO_DIALECT || !cs_dialects[open]->more || cs_line_separates(line) ||
	    !cs_dialects[open]->more(p, line))
		return false;
	p->open = open; /* a report may have ended in between */
	note_taken(p, line, frames);
	/* What goes on after a stack, as an exception's message does, belongs to it. */
	if (p->had >> open & 1)
		p->last_stack_line = line->number;
	return true;
}

/* A dialect that does not take the line stays open until another takes one: its text may go on. */
static void dispatch(struct cs_paster *p, const struct cs_line *line)
{
	size_t open = p->open;
	bool first = open != CS_NO_DIALECT && !cs_dialects[open]->patient;

	cs_paster_line_over(p);
	if (first && (offer(p, open, line) || offer_more(p, open, line)))
		return;
	for (size_t i = 0; cs_dialects[i]; i++)
		if ((i != open || !first) && offer(p, i, line))
			return;
	if (!first)
		offer_more(p, open, line);
}

/* ---- lines ---- */

static void look_at_held(struct input *in)
{
	if (in->line.lead > in->held.len) /* there was no memory to keep it */
		in->line.lead = in->held.len;
	in->line.text = cs_strbuf_text(&in->held) + in->line.lead;
	in->line.len = in->held.len - in->line.lead;
}

static void flush_held(struct input *in)
{
	struct cs_paster *p;

	if (!in->holds)
		return;
	in->holds = false;
	look_at_held(in);
	p = stream_of(in, in->line.label);
	in->line.number = ++p->n_lines;
	dispatch(p, &in->line);
	for (size_t i = 1; in->reading.separated && i < in->streams.n; i++)
		cs_paster_finish(in->streams.v[i]);
	in->reading.separated = false;
}

static void hold(struct input *in, const struct cs_line *line)
{
	cs_strbuf_truncate(&in->held, 0);
	in->held.cut = false;
	cs_strbuf_put(&in->held, line->text - line->lead, line->lead + line->len);
	in->line = *line;
	if (line->label) {
		snprintf(in->held_label, sizeof(in->held_label), "%s", line->label);
		in->line.label = in->held_label;
	}
	in->holds = true;
}

static bool same_label(const struct cs_line *a, const struct cs_line *b)
{
	return (!a->label && !b->label) || (a->label && b->label && !strcmp(a->label, b->label));
}

static void take_line(struct input *in)
{
	struct cs_line next;
	bool blank;

	cs_strbuf_truncate(&in->clean, 0);
	in->clean.cut = false;
	cs_line_clean(&in->clean, cs_strbuf_text(&in->raw), in->raw.len, &next);
	cs_line_inherit(&in->owners, &next);
	next.at = ++in->number;
	look_at_held(in);
	if (in->holds && same_label(&in->line, &next) && cs_line_is_continued(&in->line, &next, &blank)) {
		if (blank)
			cs_strbuf_putc(&in->held, ' ');
		cs_strbuf_put(&in->held, next.text + next.indent, next.len - next.indent);
		return;
	}
	flush_held(in);
	hold(in, &next);
}

/* The next line into `raw`, cut at its limit; false at the end of the input. */
static bool read_line(struct input *in)
{
	size_t n = 0;
	int c;

	cs_strbuf_truncate(&in->raw, 0);
	in->raw.cut = false;
	while ((c = getc_unlocked(in->in)) != EOF && c != '\n') {
		cs_strbuf_putc(&in->raw, (char)c);
		n++;
	}
	return c != EOF || n;
}

static struct cs_error *error_of(struct input *in)
{
	if (in->reading.error)
		return CS_TAKE(in->reading.error);
	return in->reading.nomem ? &cs_nomem : NULL;
}

static int by_first_line(const void *a, const void *b)
{
	const struct cs_paster *const *x = a, *const *y = b;

	return ((*x)->first_line > (*y)->first_line) - ((*x)->first_line < (*y)->first_line);
}

/* What begins so is no text. A core has texts in it that would be taken for reports. */
static struct cs_error *check_beginning(const struct input *in)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *what;
	} magics[] = {
		{"\177ELF", 4, "an ELF file; if it is a core, leave out the word match"},
		{"\x1f\x8b", 2, "compressed (gzip); unpack it; a core needs no match"},
		{"\3757zXZ", 5, "compressed (xz); unpack it; a core needs no match"},
		{"\x28\xb5\x2f\xfd", 4, "compressed (zstd); unpack it; a core needs no match"},
		{"\x04\x22\x4d\x18", 4, "compressed (lz4); unpack it; a core needs no match"},
		{"BZh", 3, "compressed (bzip2); unpack it; a core needs no match"},
		{"PK\003\004", 4, "a zip archive; unpack it"},
	};

	for (size_t i = 0; i < CS_COUNT(magics); i++)
		if (in->raw.len >= magics[i].len && !memcmp(in->raw.data, magics[i].bytes, magics[i].len))
			return cs_error_new(CS_ERR_FORMAT, "is no text but %s", magics[i].what);
	return NULL;
}

struct cs_error *cs_paste_read(FILE *file, cs_paste_fn *fn, void *arg)
{
	CS_CLEANUP(input_deinit) struct input in = {.reading = {.fn = fn, .arg = arg}, .in = file};
	bool first = true;

	cs_strbuf_init(&in.raw, CS_MAX_PASTE_LINE);
	cs_strbuf_init(&in.clean, 4 * CS_MAX_PASTE_LINE);
	cs_strbuf_init(&in.held, 4 * CS_MAX_PASTE_LINE);
	CS_TRY(cs_rules_init(&in.reading));
	if (!add_stream(&in, NULL))
		return &cs_nomem;
	while (read_line(&in)) {
		if (first)
			CS_TRY(check_beginning(&in));
		first = false;
		take_line(&in);
		CS_TRY(error_of(&in));
	}
	if (ferror(file))
		return cs_error_os(errno, "cannot be read");
	flush_held(&in);
	qsort(in.streams.v, in.streams.n, sizeof(*in.streams.v), by_first_line);
	for (size_t i = 0; i < in.streams.n; i++)
		cs_paster_finish(in.streams.v[i]);
	return error_of(&in);
}
