/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What corescan's own reports tell of the process: the verdict, the values behind labels, tables. A verdict
 * is made of few sentences (crash/fault.c, crash/crash.c, crash/lastwords.c); each says what kind of fault it
 * was.
 */
#include "paste/corescan_page.h"

#include "base/limits.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define LABEL 13 /* columns of a label, after two blanks */
#define VALUE (2 + LABEL)

static bool says(struct cs_span s, const char *words)
{
	return cs_span_find(s, words) < s.len;
}

/* ---- the verdict ---- */

/* "SIGSEGV", or "signal 35", and the status that a launcher would tell. */
static void take_signal(struct cs_paster *p, struct cs_span s)
{
	char name[24];
	uint64_t n = 0;
	size_t len = 0;

	if (cs_span_begins(s, "signal ") || cs_span_begins(s, "Signal ")) {
		s = cs_span_from(s, strlen("signal "));
		if (cs_own_number(&s, &n) && n < NSIG) {
			cs_paster_signal_number(p, (int)n);
			cs_paster_exit(p, -(int32_t)n);
		}
		return;
	}
	while (len < s.len && !strchr(" :,(", s.at[len]))
		len++;
	if (len >= sizeof(name) || !cs_span_begins(s, "SIG"))
		return;
	memcpy(name, s.at, len);
	name[len] = '\0';
	cs_paster_signal(p, name);
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && !strcmp(sigabbrev_np(i), name + 3))
			cs_paster_exit(p, -i);
}

static void take_fault(struct cs_paster *p, struct cs_span s)
{
	static const struct {
		const char *words, *fact;
	} rows[] = {
		{", a small offset from NULL", "null-"},
		{", the NULL pointer", "null-"},
		{", a call through a NULL function pointer", "null-"},
		{": stack overflow", "stack-overflow"},
		{", where nothing is mapped: a damaged", "exec-fault"},
		{", which is data and not code", "exec-fault"},
		{", where nothing is mapped", "unmapped"},
		{", where nothing was mapped then", "unmapped"},
		{", which no program can map", "non-canonical"},
		{", which may only be ", "protection"},
		{", which is reserved and may not be accessed", "protection"},
		{", which has no such byte", "file-end"},
		{"SIGILL: ", "illegal-instruction"},
		{": abort()", "aborted"},
	};

	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		if (!says(s, rows[i].words))
			continue;
		if (strcmp(rows[i].fact, "null-") != 0)
			cs_paster_fact(p, rows[i].fact);
		else
			cs_paster_fact(p, says(s, ": write to ") ? "null-write" : "null-read");
		return;
	}
}

/* Signals that stop or end a process from outside: what its threads did is the question. */
static bool is_from_outside(struct cs_span s)
{
	static const char *const names[] = {"SIGSTOP", "SIGTRAP", "SIGKILL"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (cs_span_begins(s, names[i]))
			return true;
	return says(s, " sent by process ") || says(s, " sent by a process outside ");
}

void cs_own_explain(struct cs_paster *p, struct cs_span verdict)
{
	bool none = cs_span_begins(verdict, "No thread ") || cs_span_begins(verdict, "no thread ");

	cs_paster_state(p)->phase |= CS_OWN_EXPLAINED;
	cs_paster_explained(p);
	if (none || is_from_outside(verdict))
		cs_paster_kind(p, CS_PASTE_HANG);
	else
		cs_paster_kind(p, CS_PASTE_CRASH);
	if (none)
		return;
	take_signal(p, verdict);
	if (says(verdict, " sent by process ") || says(verdict, " sent by a process outside "))
		cs_paster_fact(p, "sent-from-outside");
	if (cs_paster_known_kind(p) != CS_PASTE_HANG)
		take_fault(p, verdict);
}

/* ---- labels ---- */

/* "17 "MainThread", holds the GIL, one of 4 threads" */
static void take_thread(struct cs_paster *p, struct cs_span value)
{
	size_t at = cs_span_find(value, ", one of ");

	if (at == value.len)
		cs_paster_state(p)->phase |= CS_OWN_ALONE;
	if (!cs_paster_count_threads(p))
		cs_own_title(p, (struct cs_span){value.at, at}, true);
}

static void put_number(struct cs_paster *p, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	cs_paster_variable(p, name, text);
}

/* "6 of 64, local rank 6" */
static void take_rank(struct cs_paster *p, struct cs_span s)
{
	static const char local[] = "local rank ";
	size_t at = cs_span_find(s, local);
	struct cs_span after = at < s.len ? cs_span_from(s, at + strlen(local)) : (struct cs_span){0};
	uint64_t n;

	if (!at)
		s.len = 0;
	if (s.len && cs_own_number(&s, &n)) {
		put_number(p, "RANK", n);
		if (cs_span_begins(s, " of ")) {
			s = cs_span_from(s, strlen(" of "));
			if (cs_own_number(&s, &n))
				put_number(p, "WORLD_SIZE", n);
		}
	}
	if (after.at && cs_own_number(&after, &n))
		put_number(p, "LOCAL_RANK", n);
}

static void put_version(struct cs_paster *p, struct cs_span s)
{
	size_t blank = cs_span_find(s, " "), end;
	struct cs_span value = cs_span_from(s, blank + (blank < s.len));

	end = cs_span_find(value, " ("); /* with --all: where it was read */
	value.len = CS_MIN(value.len, end);
	if (blank && value.len)
		cs_paster_version(p, cs_paster_keep(p, s.at, blank), cs_paster_keep(p, value.at, value.len));
}

/* "python 3.11.2, glibc 2.36" */
static void take_versions(struct cs_paster *p, struct cs_span s)
{
	while (s.len) {
		size_t comma = CS_MIN(cs_span_find(s, ", "), s.len);
		struct cs_span one = {s.at, comma};

		if (cs_span_ends(one, ","))
			one.len--;
		put_version(p, one);
		s = cs_span_from(s, CS_MIN(comma + 2, s.len));
	}
}

/* "3.11.2, finalizing, 4 threads, nobody holds the GIL, 2 thread states left over from fork()" */
static void take_runtime(struct cs_paster *p, struct cs_span s)
{
	struct cs_paster_state *state = cs_paster_state(p);

	if (state->phase & CS_OWN_PYTHON) {
		cs_paster_fact(p, "two-pythons");
		cs_paster_fact(p, "two-runtimes");
	}
	state->phase |= CS_OWN_PYTHON;
	if (says(s, ", nobody holds the GIL"))
		state->phase |= CS_OWN_NOBODY;
	if (says(s, ", finalizing"))
		cs_paster_fact(p, "python-finalizing");
	if (says(s, " collects garbage"))
		cs_paster_fact(p, "collecting");
	if (says(s, " left over from fork()"))
		cs_paster_fact(p, "forked-child");
}

void cs_own_variable(struct cs_paster *p, struct cs_span s)
{
	size_t is = cs_span_find(s, "=");
	struct cs_span value = cs_span_from(s, is + (is < s.len));

	if (!is || is == s.len || s.at[0] == '(' || cs_span_find((struct cs_span){s.at, is}, " ") < is)
		return;
	cs_paster_variable(p, cs_paster_keep(p, s.at, is), cs_paster_keep(p, value.at, value.len));
}

static void take_signal_line(struct cs_paster *p, struct cs_span s)
{
	take_signal(p, s);
	if (says(s, ", sent by process "))
		cs_paster_fact(p, "sent-from-outside");
}

/* "ValueError: its first line ... (being handled)", which is no state of a thread. */
static void take_first_exception(struct cs_paster *p, struct cs_span value)
{
	static const char *const states[] = {
		" (nothing catches it)", " (being handled when the process ended)", " (being handled)",
		" (raised, not handled yet)", " (kept after it was handled)", " (kept for later)"};
	struct cs_paster_state *s = cs_paster_state(p);
	size_t state = CS_COUNT(states);

	for (size_t i = 0; i < CS_COUNT(states); i++)
		if (cs_span_ends(value, states[i]))
			state = i;
	if (state < CS_COUNT(states))
		value.len -= strlen(states[state]);
	cs_own_say(p, "");
	/* It is the crashed thread's. */
	s->phase |= state < 4 ? CS_OWN_FIRST : CS_OWN_FIRST | CS_OWN_KEPT;
	cs_strbuf_put(&s->text, value.at, value.len);
}

/* Of the first lines. */
static void take_fact(struct cs_paster *p, const char *label, struct cs_span value)
{
	struct cs_paster_state *s = cs_paster_state(p);
	uint64_t n;

	if (!strcmp(label, "thread")) {
		take_thread(p, value);
	} else if (!strcmp(label, "process")) {
		if (cs_own_number(&value, &n) && n <= INT32_MAX)
			cs_paster_pid(p, (int32_t)n);
	} else if (!strcmp(label, "rank")) {
		take_rank(p, value);
	} else if (!strcmp(label, "signal")) {
		take_signal_line(p, value);
	} else if (!strcmp(label, "last words")) {
		cs_own_say(p, cs_paster_keep(p, value.at, value.len));
		s->phase |= CS_OWN_SAID;
	} else if (!strcmp(label, "exception")) {
		take_first_exception(p, value);
	}
}

static void take_label(struct cs_paster *p, const char *label, struct cs_span value)
{
	struct cs_paster_state *s = cs_paster_state(p);

	s->phase &= ~CS_OWN_LABEL_BITS;
	if (SECTION(s) == CS_OWN_FACTS)
		take_fact(p, label, value);
	else if (!strcmp(label, "python"))
		take_runtime(p, value);
	else if (!strcmp(label, "versions"))
		take_versions(p, value);
	else if (!strcmp(label, "environment"))
		cs_own_variable(p, value);
	if (!strcmp(label, "versions"))
		s->phase |= CS_OWN_VERSIONS;
	else if (!strcmp(label, "environment"))
		s->phase |= CS_OWN_ENVIRONMENT;
}

/* Below a label: more of its value. */
static void go_on(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span value = cs_span_from((struct cs_span){line->text, line->len}, VALUE);

	switch (s->phase & CS_OWN_LABEL_BITS) {
	case CS_OWN_SAID:
		if (s->phase & CS_OWN_BLANK)
			cs_strbuf_putc(&s->text, '\n');
		cs_own_say_more(p, line, VALUE);
		s->phase &= ~CS_OWN_BLANK;
		break;
	case CS_OWN_VERSIONS:
		take_versions(p, value);
		break;
	case CS_OWN_ENVIRONMENT:
		cs_own_variable(p, value);
		break;
	default:
		break;
	}
}

bool cs_own_labelled(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span label = {line->text + 2, LABEL};
	char name[LABEL + 1] = "";

	if (line->indent >= VALUE) {
		go_on(p, line);
		return true;
	}
	if (line->len <= VALUE || line->indent < 2 || line->text[VALUE - 1] != ' ')
		return false;
	label = cs_span_trim(label);
	memcpy(name, label.at, CS_MIN(label.len, (size_t)LABEL));
	if (!(s->phase & CS_OWN_FIRST))
		cs_own_said(p);
	take_label(p, name, cs_span_from((struct cs_span){line->text, line->len}, VALUE));
	return true;
}

/* ---- tables ---- */

/* Code within a cell, without its marks and the backslashes before "|". */
static const char *cell(struct cs_paster *p, struct cs_span s)
{
	struct cs_strbuf text;
	const char *kept;

	s = cs_span_trim(s);
	while (s.len > 1 && s.at[0] == '`' && s.at[s.len - 1] == '`')
		s = (struct cs_span){s.at + 1, s.len - 2};
	s = cs_span_trim(s);
	cs_strbuf_init(&text, CS_MAX_FACT_NAME);
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] != '\\' || i + 1 == s.len || s.at[i + 1] != '|')
			cs_strbuf_putc(&text, s.at[i]);
	kept = cs_paster_keep(p, cs_strbuf_text(&text), text.len);
	cs_strbuf_deinit(&text);
	return kept;
}

bool cs_own_row(struct cs_paster *p, const struct cs_line *line)
{
	static const char *const others[] = {"machine", "command", "program", "more", ""};
	struct cs_span s = {line->text, line->len}, value;
	const char *name;
	size_t end;

	if (!cs_span_begins(s, "| ") || !cs_span_ends(s, " |") || s.len < 6)
		return s.len && s.at[0] == '|';
	s = (struct cs_span){s.at + 2, s.len - 4};
	end = cs_span_find(s, " | ");
	if (end == s.len)
		return true;
	name = cell(p, (struct cs_span){s.at, end});
	value = cs_span_from(s, end + 3);
	if (!strcmp(name, "rank")) {
		take_rank(p, CS_SPAN(cell(p, value)));
		return true;
	}
	for (size_t i = 0; i < CS_COUNT(others); i++)
		if (!strcmp(name, others[i]))
			return true;
	cs_paster_version(p, name, cell(p, value));
	return true;
}

/* "  0x00007f0000000000 0x00007f0000001000 verified   dynsym  /usr/lib/libx.so" */
void cs_own_module(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_span s = {line->text, line->len};
	const char *name;
	size_t at = 0;

	if (!cs_span_begins(s, "  0x") || !cs_span_begins(cs_span_from(s, CS_MIN(s.len, (size_t)20)), " 0x"))
		return;
	for (int i = 0; i < 4; i++) {
		while (at < s.len && s.at[at] == ' ')
			at++;
		while (at < s.len && s.at[at] != ' ')
			at++;
	}
	name = cs_paste_library(p, cs_span_trim(cs_span_from(s, at)));
	if (name && *name)
		cs_paster_module(p, name);
}

/* ---- the end ---- */

void cs_own_conclude(struct cs_paster *p)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t waiters = 0, running = 0;

	for (size_t i = 0; i < cs_paster_count_threads(p); i++) {
		const struct cs_paste_thread *t = cs_paster_thread_at(p, i);

		waiters += t->waits_for_gil;
		running += t->holds_gil;
		if (t->deadlocked)
			cs_paster_fact(p, "lock-cycle");
	}
	if (waiters)
		cs_paster_fact(p, "gil-waited-for");
	if (waiters == 1 && !running && s->phase & CS_OWN_WHOLE)
		cs_paster_fact(p, "gil-one-waiter");
	if (waiters && s->phase & CS_OWN_NOBODY)
		cs_paster_fact(p, "gil-held-by-nobody");
	if (s->phase & CS_OWN_ALONE && s->phase & CS_OWN_WHOLE && cs_paster_count_threads(p) == 1)
		cs_paster_fact(p, "only-thread");
}
