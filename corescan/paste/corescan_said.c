/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the process said, in corescan's own reports: last words and exceptions. A chain of exceptions is told
 * from its beginning; its last one is what counts. Messages are gathered in the state's text, one after a
 * mark.
 */
#include "paste/corescan_page.h"

#include "base/limits.h"

#include <string.h>

#define NEXT '\x1e' /* between messages: no cleaned line has it */
#define TERMINAL 80 /* columns of most terminals */
#define WIDEST 250  /* of any: longer lines are no terminal's */

static struct cs_line here(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);

	return (struct cs_line){
		.text = "", .at = s->counts[CS_OWN_LINE], .number = s->counts[CS_OWN_LINE]};
}

/* What a message ends with where the report had no room for it. */
static size_t without_hint(const char *text, size_t len)
{
	static const char *const hints[] = {" ... (--all)", " ..."};
	struct cs_span s = {text, len};

	for (size_t i = 0; i < CS_COUNT(hints); i++)
		if (cs_span_ends(s, hints[i]))
			return len - strlen(hints[i]);
	return len;
}

static void put_message(struct cs_paster *p, const char *text, size_t len)
{
	int phase = cs_paster_state(p)->phase;
	struct cs_line line = here(p);
	const char *kept;

	len = without_hint(text, len);
	while (len && strchr(" \n", text[len - 1]))
		len--;
	if (!len)
		return;
	kept = cs_paster_keep(p, text, len);
	cs_paster_message(p, &line, kept);
	cs_paster_weigh(p, cs_paster_count_messages(p) - 1,
			phase & CS_OWN_HANDLED ? CS_PASTE_HANDLED
			: phase & CS_OWN_KEPT  ? CS_PASTE_KEPT
					       : CS_PASTE_FINAL);
}

void cs_own_said(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const char *text = cs_strbuf_text(&s->text);
	size_t end = s->text.len;

	if (s->phase & CS_OWN_VERDICT) {
		s->phase &= ~CS_OWN_VERDICT;
		cs_own_explain(p, (struct cs_span){text, end});
		end = 0;
	}
	while (end) {
		const char *mark = memrchr(text, NEXT, end);
		size_t from = mark ? (size_t)(mark - text) + 1 : 0;

		put_message(p, text + from, end - from);
		end = mark ? from - 1 : 0;
	}
	cs_strbuf_truncate(&s->text, 0);
	s->text.cut = false;
	s->phase &= ~(CS_OWN_FIRST | CS_OWN_TRACE | CS_OWN_LIST | CS_OWN_BLANK);
}

void cs_own_say(struct cs_paster *p, const char *text)
{
	cs_own_said(p);
	cs_paster_state(p)->phase &= ~(CS_OWN_KEPT | CS_OWN_HANDLED);
	cs_strbuf_puts(&cs_paster_state(p)->text, text);
}

/* True if a terminal had no room for the first word of @word on the line that ends with @len bytes. */
static bool was_wrapped(const struct cs_paster_state *s, size_t len, const char *word)
{
	size_t width = CS_MAX(s->counts[CS_OWN_LONGEST], (size_t)TERMINAL);

	return !(s->phase & (CS_OWN_MARKDOWN | CS_OWN_BLANK)) && width <= WIDEST && len <= width &&
	       len + 1 + strcspn(word, " ") > width;
}

void cs_own_say_more(struct cs_paster *p, const struct cs_line *line, size_t indent)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const char *text = line->text + CS_MIN(line->len, indent);

	if (s->text.len)
		cs_strbuf_putc(&s->text, was_wrapped(s, s->line, text) ? ' ' : '\n');
	cs_strbuf_puts(&s->text, text);
}

/* ---- exceptions ---- */

static bool is_crashed(struct cs_paster *p, uint64_t tid)
{
	for (size_t i = 0; i < cs_paster_count_threads(p); i++) {
		const struct cs_paste_thread *t = cs_paster_thread_at(p, i);

		if (t->crashed)
			return tid && (uint64_t)t->tid == tid;
	}
	return false;
}

/* Any of "3 threads: 17, 18, 19", or the one of "Thread 17". */
static bool has_crashed(struct cs_paster *p, struct cs_span title)
{
	uint64_t tid;

	if (cs_span_begins(title, "Thread ")) {
		title = cs_span_from(title, strlen("Thread "));
		return cs_own_number(&title, &tid) && is_crashed(p, tid);
	}
	for (size_t i = cs_span_find(title, ": "); i < title.len; i++) {
		struct cs_span rest = cs_span_from(title, i);

		if (title.at[i - 1] == ' ' && cs_own_number(&rest, &tid) && is_crashed(p, tid))
			return true;
	}
	return false;
}

/*
 * In an issue exceptions come before the stack of the crashed thread. The first that is raised is thought to
 * be its own - they stand before those of others - until its number is known. The state's number has the
 * thread, the first of its messages, and how many these are.
 */
static bool assume(struct cs_paster *p, struct cs_span title)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t first = cs_paster_count_messages(p);
	uint64_t tid;

	if (!(s->phase & CS_OWN_MARKDOWN) || cs_paster_count_threads(p) || s->number || first > UINT16_MAX ||
	    !cs_span_begins(title, "Thread "))
		return false;
	title = cs_span_from(title, strlen("Thread "));
	if (!cs_own_number(&title, &tid) || !tid || tid > INT32_MAX)
		return false;
	s->number = tid << 32 | first << 16;
	return true;
}

/* All messages of the assumed exception have been added. */
static void end_assumed(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t first = s->number >> 16 & UINT16_MAX, n = cs_paster_count_messages(p);

	if (s->number && !(s->number & UINT16_MAX) && n > first)
		s->number |= CS_MIN(n - first, (size_t)UINT16_MAX);
}

void cs_own_crashed(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t first = s->number >> 16 & UINT16_MAX;

	end_assumed(p);
	if (s->number && !is_crashed(p, s->number >> 32))
		for (size_t i = 0; i < (s->number & UINT16_MAX); i++)
			cs_paster_weigh(p, first + i, CS_PASTE_HANDLED);
	s->number = 0;
}

void cs_own_exception(struct cs_paster *p, struct cs_span title)
{
	struct cs_paster_state *s = cs_paster_state(p);
	bool fatal = cs_span_ends(title, " (nothing catches it)") ||
		     cs_span_ends(title, " (being handled when the process ended)");
	bool caught = cs_span_ends(title, " (being handled)");
	bool raised = caught || cs_span_ends(title, " (raised, not handled yet)");

	cs_own_said(p);
	end_assumed(p);
	s->phase &= ~(CS_OWN_KEPT | CS_OWN_HANDLED);
	if (fatal || (raised && cs_paster_known_kind(p) != CS_PASTE_HANG &&
		      (has_crashed(p, title) || assume(p, title))))
		return;
	s->phase |= caught ? CS_OWN_HANDLED : CS_OWN_KEPT;
}

/* True of what stands between two exceptions of a chain. */
static bool is_link(struct cs_span s)
{
	return cs_span_begins(s, "  The next one ") ||
	       cs_span_begins(s, "  While the one above was being ") ||
	       (cs_span_begins(s, "  ... ") && cs_span_find(s, " more exceptions") < s.len);
}

static bool is_message_open(const struct cs_paster_state *s)
{
	return s->text.len && cs_strbuf_text(&s->text)[s->text.len - 1] != NEXT;
}

static void end_message(struct cs_paster_state *s)
{
	if (is_message_open(s))
		cs_strbuf_putc(&s->text, NEXT);
	s->phase &= ~CS_OWN_LIST;
}

void cs_own_exception_line(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = {line->text, line->len};

	if (!line->len) {
		s->phase |= CS_OWN_BLANK;
		return;
	}
	if ((s->phase & CS_OWN_BLANK && is_link(text)) ||
	    cs_span_is(text, "  Traceback (most recent call last):")) {
		end_message(s);
		s->phase &= ~(CS_OWN_BLANK | CS_OWN_TRACE);
		s->phase |= cs_span_begins(text, "  Traceback") ? CS_OWN_TRACE : 0;
		return;
	}
	if (s->phase & CS_OWN_TRACE && line->indent >= 4)
		return;
	s->phase &= ~CS_OWN_TRACE;
	if (cs_span_begins(text, "  Exception raised from ") && is_message_open(s))
		s->phase |= CS_OWN_LIST;
	if (s->phase & CS_OWN_LIST || (is_message_open(s) && cs_span_begins(text, "  error code ")))
		return;
	if (!is_message_open(s)) {
		cs_strbuf_puts(&s->text, line->text + CS_MIN(line->len, (size_t)2));
	} else {
		if (s->phase & CS_OWN_BLANK)
			cs_strbuf_putc(&s->text, '\n');
		cs_own_say_more(p, line, 2);
	}
	s->phase &= ~CS_OWN_BLANK;
}
