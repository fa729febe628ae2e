/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Everything else that a process, its launcher or its scheduler says: errors and ends
 * that no dialect with stacks took, separators between reports, versions. It is asked
 * last, even while it goes on.
 */
#include "paste/log.h"

#include "base/util.h"

#include <string.h>

#define MAX_CONTINUED                                                                    \
	16 /* lines of a message after its first that bear no word of their own */

void cs_log_say(struct cs_paster *p, const struct cs_line *line, const char *text,
		size_t len, bool goes_on)
{
	struct cs_paster_state *state = cs_paster_state(p);
	bool next = state->phase && state->line + 1 == line->number;
	const char *kept = cs_paster_keep(p, text, len);

	if (next && (state->phase == CS_LOG_SPOKE || state->phase == CS_LOG_SPEAKS)) {
		goes_on |= state->phase == CS_LOG_SPEAKS;
		cs_paster_continue(p, line, kept);
	} else {
		cs_paster_message(p, line, kept);
	}
	state->phase = goes_on ? CS_LOG_SPEAKS : CS_LOG_SPOKE;
	state->line = line->number;
	state->number = 0;
}

void cs_log_say_line(struct cs_paster *p, const struct cs_line *line)
{
	size_t skip = line->lead ? 0 : line->indent;

	cs_log_say(p, line, line->text - line->lead + skip, line->lead + line->len - skip,
		   false);
}

static bool say_weighed(struct cs_paster *p, const struct cs_line *line,
			const struct cs_groups *g)
{
	const char *text;
	size_t len;
	enum cs_log_weight weight = cs_log_weigh(line, &text, &len);

	(void)g;
	if (weight == CS_LOG_NOTHING)
		return false;
	if (line->lead && text == line->text + line->indent) {
		text = line->text - line->lead;
		len = line->lead + line->len;
	}
	cs_log_say(p, line, text, len, weight == CS_LOG_GOES_ON);
	return true;
}

/* What is said of a message after its first line has no word that tells: it is where the
 * message is. */
static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *state = cs_paster_state(p);
	uint64_t continued = state->number;

	if (state->phase != CS_LOG_SPEAKS || state->line + 1 != line->number ||
	    continued >= MAX_CONTINUED || !cs_log_may_go_on(line))
		return false;
	cs_log_say(p, line, line->text + line->indent, line->len - line->indent, true);
	state->number = continued + 1;
	return true;
}

#define TITLE_WORDS                                                                      \
	"report|rank|pid|process|core|host|node|worker|case|issue|crash|run|job|file|"   \
	"dump"
#define VERSIONED                                                                        \
	"torch|pytorch|torchvision|numpy|vllm|triton|jax|jaxlib|tensorflow|deepspeed|"   \
	"transformers"

static const struct cs_rule rules[] = {
	{"==> ", "^ *==> (.+) <==$", cs_log_tail},
	{NULL, "^ *(?:([-=#*_~])\\1{4,}|\\f)$", cs_log_rule},
	{" -",
	 "^-{3} (\\S.*?) -{3}$|^-{3,} ?((?i)(?:" TITLE_WORDS ")\\b.*\\d.*?) ?-{3,}$",
	 cs_log_titled},
	{" =",
	 "^={3} (\\S.*?) ={3}$|^={3,} ?((?i)(?:" TITLE_WORDS ")\\b.*\\d.*?) ?={3,}$",
	 cs_log_titled},
	{" *", "^\\*{3} ?((?i)(?:" TITLE_WORDS ")\\b.*\\d.*?) ?\\*{3,}$", cs_log_titled},
	{" #", "^#{3,} ?((?i)(?:" TITLE_WORDS ")\\b.*\\d.*?) ?#{3,}$", cs_log_titled},
	{"# ", "^#{1,6} ([^\\d\\s#].*)$", cs_log_heading},
	{"From ", "^(From \\S+@\\S+ .*\\d{4})$", cs_log_tail},
	{"-----", "^-{5,} ?((?:Original|Forwarded) [Mm]essage) ?-{5,}$", cs_log_tail},

	{"exitcode", "^ *exitcode *: (-?\\d+) \\(pid: (\\d+)\\)", cs_log_summary_row},
	{"received by PID",
	 "^ *()traceback *: ()(Signal \\d+ \\(SIG\\w+\\) received by PID)",
	 cs_log_summary_row},
	{"time ", "^ *time *: \\d{4}-\\d\\d-\\d\\d_\\d\\d:\\d\\d:\\d\\d$",
	 cs_log_summary_row},
	{"rank ", "^ *rank *: \\d+ \\(local_rank: \\d+\\)$", cs_log_summary_row},
	{"FAILED", "^ *[^ =\\[]\\S* FAILED$", cs_log_summary},
	{"Failures:", "^ *(?:Other )?Failures:$", cs_log_summary},
	{"<NO_OTHER_FAILURES>", "^ *<NO_OTHER_FAILURES>$", cs_log_summary},
	{"Root Cause", "^ *(Root Cause)(?: \\(first observed failure\\))?:$",
	 cs_log_summary},

	{"exit", CS_LOG_EXIT, cs_log_exit},
	{"Exit", CS_LOG_EXIT, cs_log_exit},
	{"EXIT", CS_LOG_EXIT, cs_log_exit},
	{"return", CS_LOG_EXIT, cs_log_exit},
	{"ignal", CS_LOG_SIGNAL, cs_log_signal},
	{"IGNAL", CS_LOG_SIGNAL, cs_log_signal},
	{"Segmentation fault", CS_LOG_SHELL, cs_log_shell},
	{"Aborted", CS_LOG_SHELL, cs_log_shell},
	{"Killed", CS_LOG_SHELL, cs_log_shell},
	{"Bus error", CS_LOG_SHELL, cs_log_shell},
	{"Abort trap", CS_LOG_SHELL, cs_log_shell},
	{"Arithmetic exception", CS_LOG_SHELL, cs_log_shell},
	{"core dumped", CS_LOG_SHELL, cs_log_shell},
	{"Illegal instruction", CS_LOG_SHELL, cs_log_shell},
	{"Floating point exception", CS_LOG_SHELL, cs_log_shell},
	{"zsh: ",
	 "^zsh: (segmentation fault|abort|killed|bus error|illegal hardware "
	 "instruction|terminated|"
	 "floating point exception)\\b",
	 cs_log_shell},
	{"[",
	 "^ *\\[\\d+\\] +(?:[-+] *)?\\d+ (segmentation fault|abort|killed|bus "
	 "error|terminated|"
	 "floating point exception)\\b",
	 cs_log_shell},
	{"srun: error:",
	 "^srun: error: \\S+: tasks? [\\d,-]+: (?:(Killed|Segmentation fault|Aborted|Bus "
	 "error|"
	 "Illegal instruction|Terminated|Floating point exception)|"
	 "Exited with exit code (\\d+)|(Out Of Memory))",
	 cs_log_srun},
	{"code=", "code=(exited|killed|dumped), status=(\\d+)", cs_log_systemd},
	{"oom", "(?i)oom[-_]kill event|result 'oom-kill'", cs_log_oom},
	{"out-of-memory handler", "cgroup out-of-memory handler", cs_log_oom},
	{"OOMKilled", "\\bOOMKilled\\b", cs_log_oom},
	{"memory pressure", "killed due to memory pressure|low on memory", cs_log_oom},

	{"ersion",
	 "^ *(?:\\S+ NCCL INFO )?(PyTorch version|Python version|NCCL version|Nvidia "
	 "driver version|"
	 "vLLM Version) ?:? *v?(\\d[\\w.+-]*)",
	 cs_log_collected},
	{"used to build", "^ *((?:CUDA|ROCM) used to build PyTorch): (\\d[\\w.+-]*)",
	 cs_log_collected},
	{"NCCL version", "(NCCL version) (\\d[\\w.+-]*)", cs_log_collected},
	{"==", "^ *(?:\\[\\w+\\] )?(" VERSIONED ")==(\\d[\\w.+-]*)", cs_log_package},
	{"  ", "^ *(?:\\[\\w+\\] )?(" VERSIONED ") {2,}(\\d[\\w.+-]*)", cs_log_package},
	{"=", "^ *(?:\\$ |export |env |ENV |set |%env |!)*([A-Z][A-Z0-9_]{2,}=\\S.*)$",
	 cs_log_variables},

	{NULL, "^", say_weighed},
};

const struct cs_dialect cs_dialect_log = {
	.name = "log",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
	.end = cs_log_end,
	.patient = true,
};
