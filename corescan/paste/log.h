/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Inside the dialect of logs: which lines tell of an error or an end, and what ends say.
 */
#ifndef CS_PASTE_LOG_H
#define CS_PASTE_LOG_H

#include "paste/paster.h"

enum cs_log_weight {
	CS_LOG_NOTHING,
	CS_LOG_SAID,
	CS_LOG_GOES_ON, /* the lines after it may belong to it */
};

/**
 * Whether @line tells of an error or an end. It decides by words and by what the line
 * looks like: a person's sentence about errors, source code and settings tell of none.
 * *@ret, of *@ret_len bytes, becomes the part that tells: all of it, or what a person's
 * sentence quotes.
 */
enum cs_log_weight cs_log_weigh(const struct cs_line *line, const char **ret,
				size_t *ret_len);
/** True if @line is a person's: a question, a heading, an item of a list, a sentence. */
bool cs_log_is_sentence(const struct cs_line *line);
/** True if @line looks like more of the message before it: no code, no sentence, no form
 * of another tool. */
bool cs_log_may_go_on(const struct cs_line *line);

/** @line is part of a message; one right after another is the same. */
void cs_log_say(struct cs_paster *p, const struct cs_line *line, const char *text,
		size_t len, bool goes_on);
void cs_log_say_line(struct cs_paster *p, const struct cs_line *line);

/** What a dialect's state says of the log. */
enum cs_log_phase {
	CS_LOG_QUIET,
	CS_LOG_SPOKE,    /* the last line was said */
	CS_LOG_SPEAKS,   /* it was, and may go on */
	CS_LOG_FAILURES, /* in torchrun's summary: one of the failures */
	CS_LOG_ROOT,     /* in torchrun's summary: the first of them */
};

/* ---- log_end.c: how processes ended, as launchers, shells and schedulers say it ---- */

#define CS_LOG_EXIT                                                                      \
	"(?i)\\b(?:exit(?:ed|s|ing)?[ _]?(?:with )?(?:return "                           \
	")?(?:code|status)|exitcode|return[ _]?code|"                                    \
	"non-zero exit status|exited(?= \\())(?: of)?[\"']?[ :=(]+(-?\\d+)\\b"
#define CS_LOG_SIGNAL                                                                    \
	"(?:[Kk]illed by signal:?|exited on signal|[Tt]erminated (?:by|with) "           \
	"signal|[Gg]ot (?:a )?signal:?|"                                                 \
	"[Cc]aught signal|KILLED BY SIGNAL:|died with (?:signal|<)|interrupted by "      \
	"signal|"                                                                        \
	"[Rr]eceived signal|due to signal|^ *Signal) "                                   \
	"*(?:(\\d+)|(?:Signals\\.)?(SIG[A-Z]+)|"                                         \
	"(Segmentation fault|Bus error|Aborted|Killed|Terminated|Illegal instruction|"   \
	"Floating point exception))"
#define CS_LOG_SHELL                                                                     \
	"^ *(?:\\S+: line \\d+: +\\d+ +|make: \\*\\*\\* \\[[^]]*\\] |(?:fish|timeout): " \
	".{0,80})?"                                                                      \
	"(Segmentation fault|Bus error|Aborted|Killed|Illegal instruction|Floating "     \
	"point exception|"                                                               \
	"Terminated|Trace/breakpoint trap|Bad system call|Abort trap|Arithmetic "        \
	"exception)(?:: \\d+)?(?: "                                                      \
	"*\\(core dumped\\))?"                                                           \
	"(?:$| {2,}\\S|\\.?$| +[^a-z ]| +python| +bash| +\\./)"

bool cs_log_exit(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g);
bool cs_log_signal(struct cs_paster *p, const struct cs_line *line,
		   const struct cs_groups *g);
bool cs_log_shell(struct cs_paster *p, const struct cs_line *line,
		  const struct cs_groups *g);
bool cs_log_srun(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g);
bool cs_log_systemd(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g);
bool cs_log_oom(struct cs_paster *p, const struct cs_line *line,
		const struct cs_groups *g);
bool cs_log_summary(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g);
bool cs_log_summary_row(struct cs_paster *p, const struct cs_line *line,
			const struct cs_groups *g);
/** The report ends: what torchrun's summary said of its first failure holds if it named
 * no root cause. */
void cs_log_end(struct cs_paster *p);

/* ---- log_facts.c: versions and variables ---- */

bool cs_log_collected(struct cs_paster *p, const struct cs_line *line,
		      const struct cs_groups *g);
bool cs_log_package(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g);
bool cs_log_variables(struct cs_paster *p, const struct cs_line *line,
		      const struct cs_groups *g);

/* ---- log_cut.c: separators ---- */

bool cs_log_rule(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g);
bool cs_log_titled(struct cs_paster *p, const struct cs_line *line,
		   const struct cs_groups *g);
bool cs_log_tail(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g);
bool cs_log_heading(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g);

#endif
