/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * corescan's own reports: the text (report/text*.c), whole, with --threads or --all, or cut to a terminal's
 * width, and the page for an issue (report/markdown*.c).
 *
 * What the process did is read: its end, its stacks, what it said. What corescan made of that - findings,
 * evidence, advice, the fingerprint - is passed over, so that it is made anew and proves nothing. So are
 * stacks that the page has twice, and those of tasks, which have no thread.
 */
#include "paste/corescan_page.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

/* ---- where a page begins ---- */

/* Another page, unless this one only goes on after a line that somebody else took. */
static void begin(struct cs_paster *p, const struct cs_line *line)
{
	if (SECTION(cs_paster_state(p)) || cs_paster_has(p, &cs_dialect_corescan))
		cs_paster_cut(p, line, NULL);
	else
		cs_paster_fresh(p, line);
	cs_paster_state(p)->counts[CS_OWN_LINE] = line->at;
}

/* "SIGSEGV: write to address 0x10, the NULL pointer, in f()", which may go on in the next line. */
static bool take_verdict(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span verdict = {line->text, line->len};
	struct cs_paster_state *s;

	(void)g;
	begin(p, line);
	s = cs_paster_state(p);
	s->phase = CS_OWN_FACTS | CS_OWN_VERDICT;
	cs_strbuf_deinit(&s->text);
	cs_strbuf_init(&s->text, CS_MAX_FACT_MESSAGE);
	cs_strbuf_put(&s->text, verdict.at, verdict.len);
	s->counts[CS_OWN_LONGEST] = line->len;
	return true;
}

/* "**SIGABRT: `abort()` by std::terminate**, in `f`." */
static bool take_markdown(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span bold = cs_span_of_group(g, 1);
	struct cs_paster_state *s;
	struct cs_strbuf text;

	begin(p, line);
	s = cs_paster_state(p);
	s->phase = CS_OWN_FINDING | CS_OWN_MARKDOWN | CS_OWN_ALONE;
	cs_strbuf_deinit(&s->text);
	cs_strbuf_init(&s->text, CS_MAX_FACT_MESSAGE);
	cs_strbuf_init(&text, CS_MAX_FACT_MESSAGE);
	for (size_t i = 0; i < bold.len; i++)
		if (bold.at[i] != '`')
			cs_strbuf_putc(&text, bold.at[i]);
	cs_own_explain(p, CS_SPAN(cs_strbuf_text(&text)));
	cs_strbuf_deinit(&text);
	return true;
}

/* "## Core 2 of 3: `core.2`" */
static bool take_core(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span path = cs_span_of_group(g, 1);
	char name[256];

	snprintf(name, sizeof(name), "%.*s", (int)CS_MIN(path.len, sizeof(name) - 1), path.at);
	cs_paster_separate(p, line, name);
	return true;
}

/* True if it is one of an open page, or of one that begins here. */
static bool enter(struct cs_paster *p, const struct cs_line *line, bool markdown)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!SECTION(s)) {
		if (!cs_paster_has(p, &cs_dialect_corescan))
			begin(p, line);
		s = cs_paster_state(p);
		s->phase = CS_OWN_OTHER | (markdown ? CS_OWN_MARKDOWN : 0);
		cs_strbuf_deinit(&s->text);
		cs_strbuf_init(&s->text, CS_MAX_FACT_MESSAGE);
	}
	cs_own_leave(p);
	return true;
}

/* "Stack of the crashed thread 17", of which the first lines may have told more already. */
static bool take_crashed(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	const struct cs_paste_thread *open;
	struct cs_span title = cs_span_of_group(g, 1);

	enter(p, line, false);
	open = cs_paster_current(p);
	if (!open || !open->crashed || cs_paster_last_frame(p))
		cs_own_title(p, title, true);
	cs_paster_kind(p, CS_PASTE_CRASH);
	cs_own_section(p, CS_OWN_STACK);
	return true;
}

/* **Stack of the crashed thread** `17 "MainThread", holds the GIL` */
static bool take_crashed_markdown(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	enter(p, line, true);
	cs_own_title(p, cs_span_of_group(g, 1), true);
	cs_own_crashed(p);
	cs_paster_kind(p, CS_PASTE_CRASH);
	cs_own_section(p, CS_OWN_STACK);
	return true;
}

/* "Other threads: 3 in 1 distinct stack"; "Threads: ..." where none crashed. */
static bool take_others(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span n = cs_span_of_group(g, 2);
	struct cs_paster_state *s;
	uint64_t count = 0;

	enter(p, line, cs_span_begins((struct cs_span){line->text, line->len}, "**"));
	s = cs_paster_state(p);
	s->phase &= ~CS_OWN_ALONE;
	if (!cs_group_is(g, 1)) {
		cs_paster_kind(p, CS_PASTE_HANG);
		cs_own_number(&n, &count);
		s->phase |= count == 1 ? CS_OWN_ALONE : 0;
	}
	cs_own_section(p, CS_OWN_STACK);
	return true;
}

/* ---- frames ---- */

static bool is_in_stack(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (SECTION(s) != CS_OWN_STACK || !cs_paster_current(p))
		return false;
	s->counts[CS_OWN_LONGEST] = CS_MAX(s->counts[CS_OWN_LONGEST], line->len);
	s->counts[CS_OWN_LINE] = line->at;
	return true;
}

static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	uint64_t n;

	if (!is_in_stack(p, line))
		return false;
	cs_own_native(p, cs_span_of_group(g, 2), cs_group_number(g, 1, 10, &n) ? n : UINT64_MAX);
	return true;
}

static bool take_python(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	if (!is_in_stack(p, line))
		return false;
	cs_own_python(p, cs_span_of_group(g, 1));
	return true;
}

/* How signals are told; in an issue some words are marked as code. */
#define SIGNAL "(?:SIG[A-Z0-9+]+|[Ss]ignal \\d+)"
#define TOLD                                                                                             \
	"(?:: `?(?:(?:write to|read of|jump to|access to) address `?0x[0-9a-f]|abort\\(\\)|"             \
	"no details: the core|general protection fault; the kernel|the privileged instruction|"          \
	"the bytes at the program counter|deliberate trap|instruction of |illegal instruction: |"        \
	"floating-point exception that the program|integer division|breakpoint or trap instruction|"     \
	"a system call that the process)| sent (?:in |near |by (?:the process itself|process `?\\d|"       \
	"a process outside))| sent$)"

/* After the bold words of a verdict. */
#define PLACE "\\*\\*(?:, in `|, called from |\\.$)"
#define NONE                                                                                             \
	"o thread (?:crashed: the core was taken of a process|received a fatal signal: this core was)"

static const struct cs_rule rules[] = {
	{"#", "^ {0,3}#(\\d+) +(\\S.*)$", take_frame},
	{"py ", "^ {0,3}py +(\\S.*)$", take_python},
	{"SIG", "^" SIGNAL TOLD, take_verdict},
	{"**SIG", "^\\*\\*(" SIGNAL TOLD ".*)" PLACE, take_markdown},
	{"Stack of the crashed thread ", "^Stack of the crashed thread (\\d+)$", take_crashed},
	{"**Stack of the crashed thread**", "^\\*\\*Stack of the crashed thread\\*\\* `+ ?(.*?) ?`+$",
	 take_crashed_markdown},
	{" distinct stack",
	 "^(?:\\*\\*)?(?:(Other )t|T)hreads: ([\\d,]+) in [\\d,]+ distinct stacks?(?:\\*\\*)?$", take_others},
	{"ignal ", "^signal \\d+" TOLD, take_verdict},
	{"**Signal ", "^\\*\\*(" SIGNAL TOLD ".*)" PLACE, take_markdown},
	{"o thread ", "^[Nn]" NONE, take_verdict},
	{"**No thread ", "^\\*\\*(N" NONE ".*)" PLACE, take_markdown},
	{"## Core ", "^## Core \\d+ of \\d+: `+ ?(.*?) ?`+$", take_core},
};

const struct cs_dialect cs_dialect_corescan = {
	.name = "corescan",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = cs_own_more,
	.end = cs_own_end,
};
