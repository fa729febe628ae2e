/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How processes ended, as shells, launchers, schedulers and supervisors say it. What they
 * say of the exit status or the signal is a fact; the line is a message, too. Forms are
 * those of bash's jobs.c, torchrun's multiprocessing/errors, Python's subprocess and
 * multiprocessing, Slurm's srun and slurmstepd, Open MPI's orterun, MPICH's mpiexec,
 * systemd's unit log and PyCharm's console.
 */
#include "paste/log.h"

#include "base/util.h"

#include <stdlib.h>
#include <string.h>

/* Shells say 128 + N of a process that signal N ended; of these nobody exits with such a
 * status by himself. */
static bool is_signal_status(long status)
{
	return status == 132 || status == 134 || status == 135 || status == 136 ||
	       status == 137 || status == 139;
}

/* The decimal number of group @n, which may be negative; false: none that a status can
 * be. */
static bool group_status(const struct cs_groups *g, unsigned n, long *ret)
{
	char digits[16];
	size_t len;
	const char *bytes = cs_group_bytes(g, n, &len);

	if (!bytes || len >= sizeof(digits))
		return false;
	memcpy(digits, bytes, len);
	digits[len] = '\0';
	*ret = strtol(digits, NULL, 10);
	return *ret >= -64 && *ret <= 255;
}

static void ended_with(struct cs_paster *p, long status)
{
	cs_paster_exit(p, (int32_t)status);
	if (status < 0)
		cs_paster_signal_number(p, (int)-status);
	else if (is_signal_status(status))
		cs_paster_signal_number(p, (int)status - 128);
}

/* Nobody says "exit code 0" of what failed; a person's sentence with such a number tells
 * of none, either. */
bool cs_log_exit(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g)
{
	const char *text;
	size_t len;
	long status;

	if (!group_status(g, 1, &status) || !status)
		return false;
	if (cs_log_weigh(line, &text, &len) == CS_LOG_NOTHING && cs_log_is_sentence(line))
		return false;
	if (status != 1)
		ended_with(p, status);
	else
		cs_paster_exit(p, 1);
	cs_log_say_line(p, line);
	return true;
}

static void set_signal(struct cs_paster *p, const struct cs_groups *g, unsigned number,
		       unsigned name, unsigned words)
{
	uint64_t value;

	if (cs_group_number(g, number, 10, &value) && value < 65)
		cs_paster_signal_number(p, (int)value);
	cs_paster_signal(p, cs_group_text(p, g, name));
	cs_paster_signal(p, cs_group_text(p, g, words));
}

bool cs_log_signal(struct cs_paster *p, const struct cs_line *line,
		   const struct cs_groups *g)
{
	if (cs_log_is_sentence(line) || line->level == 'I' || line->level == 'D')
		return false;
	set_signal(p, g, 1, 2, 3);
	cs_log_say_line(p, line);
	return true;
}

bool cs_log_shell(struct cs_paster *p, const struct cs_line *line,
		  const struct cs_groups *g)
{
	const char *what = cs_group_text(p, g, 1);

	if (what && !strcmp(what, "illegal hardware instruction")) /* zsh */
		what = "SIGILL";
	cs_paster_signal(p, what && !strcmp(what, "Abort trap") ? "SIGABRT"
								: what); /* macOS */
	cs_log_say_line(p, line);
	return true;
}

/* "srun: error: node1: task 3: Killed", "... tasks 0-7: Exited with exit code 1" */
bool cs_log_srun(struct cs_paster *p, const struct cs_line *line,
		 const struct cs_groups *g)
{
	uint64_t status;

	cs_paster_signal(p, cs_group_text(p, g, 1));
	if (cs_group_number(g, 2, 10, &status) && status && status < 256)
		ended_with(p, (long)status);
	if (cs_group_is(g, 3))
		cs_paster_kind(p, CS_PASTE_OOM);
	cs_log_say_line(p, line);
	return true;
}

/* "Main process exited, code=dumped, status=11/SEGV" */
bool cs_log_systemd(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g)
{
	long status;
	size_t len;
	const char *how = cs_group_bytes(g, 1, &len);

	if (!how || !group_status(g, 2, &status))
		return false;
	if (*how == 'e')
		cs_paster_exit(p, (int32_t)status);
	else
		cs_paster_signal_number(p, (int)status);
	cs_log_say_line(p, line);
	return true;
}

bool cs_log_oom(struct cs_paster *p, const struct cs_line *line,
		const struct cs_groups *g)
{
	(void)g;
	if (cs_log_is_sentence(line))
		return false;
	cs_paster_kind(p, CS_PASTE_OOM);
	cs_log_say_line(p, line);
	return true;
}

/* ---- torchrun's summary ---- */

/* The message of a summary's line: without the blanks that put its columns in order. */
static void say_row(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_strbuf text;
	const char *s = line->text + line->indent;

	cs_strbuf_init(&text, 4096);
	for (; *s; s++)
		if (*s != ' ' || s[1] != ' ')
			cs_strbuf_putc(&text, *s);
	cs_log_say(p, line, cs_strbuf_text(&text), text.len, false);
	cs_strbuf_deinit(&text);
}

/* "train.py FAILED", "Failures:", "Root Cause (first observed failure):",
 * "<NO_OTHER_FAILURES>" */
bool cs_log_summary(struct cs_paster *p, const struct cs_line *line,
		    const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	bool root = cs_group_is(g, 1);

	state->phase = root ? CS_LOG_ROOT : CS_LOG_FAILURES;
	state->line = line->number;
	return true;
}

/*
 * "exitcode  : -9 (pid: 123)" and the other rows. The root cause's is the process's end;
 * those of the other failures are of who was stopped because of it.
 */
bool cs_log_summary_row(struct cs_paster *p, const struct cs_line *line,
			const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);
	int phase = state->phase == CS_LOG_ROOT ? CS_LOG_ROOT : CS_LOG_FAILURES;
	uint64_t number = state->number;
	long status;

	if (group_status(g, 1, &status) && status) {
		if (phase == CS_LOG_ROOT) {
			ended_with(p, status);
			cs_paster_pid(p, cs_group_id(g, 2));
		} else if (!number) {
			number = (uint64_t)(status + 1000);
		}
	}
	if (cs_group_is(g, 1) || cs_group_is(g, 3))
		say_row(p, line);
	state->phase = phase;
	state->number = number;
	state->line = line->number;
	return true;
}

void cs_log_end(struct cs_paster *p)
{
	struct cs_paster_state *state = cs_paster_state(p);

	if (state->number)
		ended_with(p, (long)state->number - 1000);
}
