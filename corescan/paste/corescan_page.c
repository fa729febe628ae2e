/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sections of corescan's own reports: where each begins, and who reads its lines. */
#include "paste/corescan_page.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

void cs_own_leave(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (cs_paster_current(p) && s->counts[CS_OWN_FRAMES])
		cs_own_end_thread(p);
	if (!(s->phase & CS_OWN_FIRST))
		cs_own_said(p);
	s->phase &= ~CS_OWN_LABEL_BITS;
}

void cs_own_section(struct cs_paster *p, enum cs_own_section section)
{
	struct cs_paster_state *s = cs_paster_state(p);

	cs_own_leave(p);
	s->phase = (int)((unsigned)s->phase & ~(unsigned)CS_OWN_SECTION_BITS) | (int)section;
}

/* ---- headings ---- */

struct heading {
	const char *text;
	bool whole; /* nothing comes after it on its line */
	enum cs_own_section section;
};

static bool take_heading(struct cs_paster *p, struct cs_span s, const struct heading *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].whole ? !cs_span_is(s, rows[i].text) : !cs_span_begins(s, rows[i].text))
			continue;
		cs_own_section(p, rows[i].section);
		return true;
	}
	return false;
}

static bool is_text_heading(struct cs_paster *p, struct cs_span s)
{
	static const struct heading rows[] = {
		{"Finding: ", false, CS_OWN_FINDING},
		{"Fingerprint", true, CS_OWN_OTHER},
		{"Fingerprint, of thread ", false, CS_OWN_OTHER},
		{"Registers of thread ", false, CS_OWN_OTHER},
		{"Exception", true, CS_OWN_EXCEPTIONS},
		{"Exceptions: ", false, CS_OWN_EXCEPTIONS},
		{"asyncio tasks: ", false, CS_OWN_OTHER},
		{"Greenlets: ", false, CS_OWN_OTHER},
		{"Process", true, CS_OWN_PROCESS},
		{"Core file", true, CS_OWN_OTHER},
		{"Modules: ", false, CS_OWN_MODULES},
		{"Notes: ", false, CS_OWN_OTHER},
		{"What limits this report", true, CS_OWN_OTHER},
	};
	struct cs_paster_state *state = cs_paster_state(p);

	if (cs_span_begins(s, "Exception") && state->phase & CS_OWN_FIRST) {
		cs_strbuf_truncate(&state->text, 0);
		state->phase &= ~CS_OWN_FIRST;
	}
	if (!take_heading(p, s, rows, CS_COUNT(rows)))
		return false;
	if (SECTION(state) == CS_OWN_PROCESS)
		state->phase |= CS_OWN_WHOLE;
	return true;
}

/* "**Exception** `Thread 17 (being handled)`" */
static void take_exception(struct cs_paster *p, struct cs_span s)
{
	s = cs_span_trim(cs_span_from(s, strlen("**Exception**")));
	while (s.len > 1 && s.at[0] == '`' && s.at[s.len - 1] == '`')
		s = cs_span_trim((struct cs_span){s.at + 1, s.len - 2});
	cs_own_section(p, CS_OWN_EXCEPTIONS);
	cs_own_exception(p, s);
}

static bool is_page_heading(struct cs_paster *p, struct cs_span s)
{
	static const struct heading rows[] = {
		{"Its last words:", true, CS_OWN_WORDS},
		{"Environment", true, CS_OWN_VARIABLES},
		{"Fingerprint: ", false, CS_OWN_OTHER},
		{"No room for ", false, CS_OWN_OTHER},
		{"Known problem: ", false, CS_OWN_FINDING},
		{"**", false, CS_OWN_OTHER},
	};

	if (!cs_span_begins(s, "**Exception**"))
		return take_heading(p, s, rows, CS_COUNT(rows));
	take_exception(p, s);
	return true;
}

/* "corescan 0.1.0, fingerprints by algorithm 1": the page's last line. */
static bool is_footer(struct cs_span s)
{
	static const char name[] = "corescan ";

	return cs_span_begins(s, name) && s.len > strlen(name) &&
	       isdigit((unsigned char)s.at[strlen(name)]) && cs_span_find(s, "`") == s.len;
}

/* ---- titles ---- */

/* The title of threads, which in an issue has the place behind it. */
static bool take_title(struct cs_paster *p, struct cs_span s)
{
	static const char open[] = "<details open><summary><code>";

	if (cs_span_begins(s, open))
		s = cs_span_from(s, strlen(open));
	s.len = CS_MIN(s.len, cs_span_find(s, "</code>"));
	if (cs_span_begins(s, "Thread "))
		s = cs_span_from(s, strlen("Thread "));
	else if (!s.len || !isdigit((unsigned char)s.at[0]) || cs_span_find(s, " threads") == s.len)
		return false;
	return cs_own_title(p, s, false);
}

static bool is_exception_title(struct cs_span s)
{
	return cs_span_begins(s, "Thread ") || cs_span_begins(s, "No thread") ||
	       (s.len && isdigit((unsigned char)s.at[0]) && cs_span_find(s, " threads") < s.len);
}

/* ---- lines ---- */

/* Remarks between frames; what Python frames have below them is further right. */
static void take_in_stack(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_span s = cs_span_trim((struct cs_span){line->text, line->len});
	static const char same[] = "(the same as of ";
	size_t colon = cs_span_find(s, ": ");

	if (cs_own_repeat(p, s, cs_paster_state(p)->phase & CS_OWN_EXPLAINED))
		return;
	if (cs_span_begins(s, same) && colon < s.len)
		cs_own_followers(p, cs_span_from(s, colon + 2));
	else if (line->indent == 4 && s.len && isdigit((unsigned char)s.at[0]))
		cs_own_followers(p, s);
}

static void take_words(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (line->fence && SECTION(s) == CS_OWN_WORDS) {
		cs_own_section(p, CS_OWN_WORDS_OPEN);
		cs_own_say(p, "");
	} else if (line->fence) {
		cs_own_section(p, CS_OWN_FINDING);
	} else if (SECTION(s) == CS_OWN_WORDS_OPEN) {
		struct cs_line whole = *line;

		/* With what a logger put before it, which is the message's own here. */
		whole.text -= line->lead;
		whole.len += line->lead;
		cs_own_say_more(p, &whole, 0);
	}
}

/* The verdict goes on in lines that begin with two blanks, until one is empty. */
static bool is_verdict(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!(s->phase & CS_OWN_VERDICT))
		return false;
	if (line->indent != 2) {
		cs_own_said(p);
		return !line->len;
	}
	cs_strbuf_putc(&s->text, ' ');
	cs_strbuf_puts(&s->text, line->text + 2);
	return true;
}

static bool take_in_section(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);

	switch (SECTION(s)) {
	case CS_OWN_FACTS:
	case CS_OWN_PROCESS:
		cs_own_labelled(p, line);
		break;
	case CS_OWN_STACK:
		take_in_stack(p, line);
		break;
	case CS_OWN_EXCEPTIONS:
		cs_own_exception_line(p, line);
		break;
	case CS_OWN_MODULES:
		cs_own_module(p, line);
		break;
	case CS_OWN_VARIABLES:
		cs_own_variable(p, (struct cs_span){line->text, line->len});
		break;
	default:
		break;
	}
	return true;
}

/* `Task "train" (train), waiting`, "3 greenlets, waiting: ..."; in an issue any sentence or item. */
static bool is_task(const struct cs_paster_state *s, struct cs_span text)
{
	uint64_t n;

	if (s->phase & CS_OWN_MARKDOWN || cs_span_begins(text, "Task") || cs_span_begins(text, "Greenlet"))
		return true;
	return cs_own_number(&text, &n) &&
	       (cs_span_begins(text, " tasks") || cs_span_begins(text, " greenlets"));
}

/* A line at the left edge that is no heading: a title, or a line of a block; else somebody else's. */
static bool take_at_edge(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = {line->text, line->len};
	unsigned section = SECTION(s);

	if (section == CS_OWN_STACK && take_title(p, text))
		return true;
	if (section == CS_OWN_EXCEPTIONS && !(s->phase & CS_OWN_MARKDOWN) && is_exception_title(text)) {
		cs_own_exception(p, text);
		return true;
	}
	if (cs_span_begins(text, "(") && cs_span_ends(text, ")") && cs_span_find(text, ": --") < text.len)
		return true;
	if (section == CS_OWN_VARIABLES)
		return take_in_section(p, line);
	/* Tasks and greenlets, and in an issue all that is told in sentences. */
	if (section == CS_OWN_OTHER || !(s->phase & CS_OWN_MARKDOWN))
		return section == CS_OWN_OTHER && is_task(s, text);
	return section == CS_OWN_FINDING || cs_span_ends(text, "`");
}

static bool take_any(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = {line->text, line->len};
	bool markdown = s->phase & CS_OWN_MARKDOWN;

	if (SECTION(s) == CS_OWN_WORDS || SECTION(s) == CS_OWN_WORDS_OPEN) {
		take_words(p, line);
		return true;
	}
	if (is_verdict(p, line))
		return true;
	if (!line->len) {
		if (SECTION(s) == CS_OWN_EXCEPTIONS && !line->fence)
			cs_own_exception_line(p, line);
		else if ((s->phase & CS_OWN_LABEL_BITS) == CS_OWN_SAID)
			s->phase |= CS_OWN_BLANK;
		return true;
	}
	if (line->indent)
		return take_in_section(p, line);
	if (markdown && is_footer(text)) {
		s->phase |= CS_OWN_WHOLE;
		cs_paster_state(p)->counts[CS_OWN_LINE] = line->at;
		cs_own_end(p);
		s->phase = CS_OWN_OUTSIDE;
		return true;
	}
	if (markdown ? is_page_heading(p, text) || cs_own_row(p, line) : is_text_heading(p, text))
		return true;
	return take_at_edge(p, line);
}

bool cs_own_more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	bool taken;

	if (!SECTION(s))
		return false;
	s->counts[CS_OWN_LINE] = line->at;
	taken = take_any(p, line);
	s = cs_paster_state(p);
	s->counts[CS_OWN_LONGEST] = CS_MAX(s->counts[CS_OWN_LONGEST], s->line);
	s->line = line->len; /* it counts for the one after the next: a message is not its own measure */
	return taken;
}

void cs_own_end(struct cs_paster *p)
{
	if (!SECTION(cs_paster_state(p)))
		return;
	if (cs_paster_current(p))
		cs_own_end_thread(p);
	cs_own_said(p);
	cs_own_conclude(p);
}
