/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What people and programs put between reports. A tool's own lines must not cut what the
 * tool prints: a dialect whose tool ends with a line of "=" takes that line itself;
 * torchrun's are known here.
 */
#include "paste/log.h"

#include "base/util.h"

#include <ctype.h>
#include <string.h>

#define OPEN_MPI_RULE                                                                    \
	74 /* "-" above and below what orterun has to say (opal/util/show_help.c) */

/* torchrun prints its summary right after the exception that it belongs to. */
static bool begins_summary(const struct cs_paster *p, const struct cs_line *line)
{
	size_t last;
	const char *text = cs_paster_last_message(p, &last);

	return text && last + 3 >= line->number && strstr(text, "ChildFailedError");
}

/* "==========": five at least of one kind, and nothing else */
bool cs_log_rule(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	char mark = line->text[line->indent];

	(void)g;
	if (strchr("=-*", mark) &&
	    (state->phase == CS_LOG_FAILURES || state->phase == CS_LOG_ROOT)) {
		state->phase = mark == '-' ? state->phase
					   : CS_LOG_QUIET; /* its last line is of "=" */
		state->line = line->number;
		return true;
	}
	if (mark == '-' && line->len - line->indent == OPEN_MPI_RULE)
		return true;
	if (begins_summary(p, line)) {
		state->phase = CS_LOG_FAILURES;
		return true;
	}
	cs_paster_separate(p, line, NULL);
	return true;
}

/* Words of headings that say what comes next, not that another report does. */
static bool continues(const char *title)
{
	static const char *const words[] = {
		"version",   "environment", "system info", "additional", "expected",
		"reproduc",  "config",      "setup",       "hardware",   "context",
		"checklist", "note",        "question",    "before",     "backtrace",
		"stack",     "output",      "log"};
	char lower[128];
	size_t n = 0;

	for (; title[n] && n < sizeof(lower) - 1; n++)
		lower[n] = (char)tolower((unsigned char)title[n]);
	lower[n] = '\0';
	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (strstr(lower, words[i]))
			return true;
	return false;
}

/* "--- report 3 ---", "===== rank 5 =====" */
bool cs_log_titled(struct cs_paster *p, const struct cs_line *line,
		   const struct cs_groups *g)
{
	const char *title = cs_group_text(p, g, 1);

	title = title ? title : cs_group_text(p, g, 2);
	if (!title)
		return false;
	cs_paster_separate(p, line, title);
	return true;
}

/* "==> rank3.log <==": tail prints it before each of several files */
bool cs_log_tail(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g)
{
	cs_paster_separate(p, line, cs_group_text(p, g, 1));
	return true;
}

/* "## Another one", after stacks: of what was there before, a heading only says what it
 * is. */
bool cs_log_heading(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g)
{
	const char *title;

	if (!cs_paster_count_threads(p))
		return false;
	title = cs_group_text(p, g, 1);
	if (!title || continues(title))
		return false;
	cs_paster_separate(p, line, title);
	return true;
}
