/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's log: segfaults, Xid errors of the NVIDIA driver, the OOM killer, tasks
 * that hang. A line that names a process is a dump of it; what it says of the machine is
 * a message. Forms are those of Linux's arch/x86/mm/fault.c, arch/x86/kernel/traps.c,
 * arch/arm64/kernel/traps.c, mm/oom_kill.c, mm/memcontrol.c, kernel/hung_task.c and
 * lib/dump_stack.c, and of nvidia's nv.c and osapi.c.
 */
#include "paste/paster.h"

#include "base/util.h"

#include <string.h>

/* The dialect's `phase`; its `number` is the process that lines are about, its `line` who
 * used a GPU. */
enum phase {
	NONE,
	SAID,  /* the line before is a message */
	TASK,  /* a task is said to hang */
	TRACE, /* its call trace has begun */
};

/*
 * It is said of process number group @pid: another than that of the lines before ends
 * their report. A line that names none may be about the same.
 */
static void of_process(struct cs_paster *p, const struct cs_line *line,
		       const struct cs_groups *g, unsigned pid)
{
	uint64_t number, before = cs_paster_state(p)->number;

	if (!cs_group_number(g, pid, 10, &number) || number > INT32_MAX)
		number = 0;
	if (before && number && before != number)
		cs_paster_cut(p, line, NULL);
	else if (cs_paster_has(p, &cs_dialect_kernel))
		cs_paster_fresh(p, line);
	cs_paster_pid(p, (int32_t)number);
	cs_paster_state(p)->number = number ? number : before;
}

/* Adjacent lines are one message: what the driver says explains who hangs after it. */
static void say(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *state = cs_paster_state(p);
	size_t last;

	if (cs_paster_last_message(p, &last) && state->phase && last + 1 == line->number)
		cs_paster_continue(p, line, line->text + line->indent);
	else
		cs_paster_message(p, line, line->text + line->indent);
	state->phase = SAID;
}

/*
 * "python[123]: segfault at 0 ip 00007f sp 00007f error 4 in libx.so.1[7f+1000]", "traps:
 * python[1] trap invalid opcode ip:7f sp:7f error:0 in libx.so[7f+1000]". With a
 * debugger's stack of it there, the frame adds nothing. Groups: name, pid, what, library.
 */
static bool take_fault(struct cs_paster *p, const struct cs_line *line,
		       const struct cs_groups *g)
{
	static const struct {
		const char *what, *signal;
	} rows[] = {
		{"segfault", "SIGSEGV"},       {"general protection", "SIGSEGV"},
		{"stack segment", "SIGBUS"},   {"invalid opcode", "SIGILL"},
		{"divide error", "SIGFPE"},    {"int3", "SIGTRAP"},
		{"alignment check", "SIGBUS"}, {"bounds", "SIGSEGV"},
		{"bus error", "SIGBUS"},       {"unhandled level", "SIGSEGV"},
	};
	struct cs_paste_thread thread = {.crashed = true};
	struct cs_paste_frame frame = {.number = -1};
	const char *what = cs_group_text(p, g, 3);
	bool stack;

	of_process(p, line, g, 2);
	stack = cs_paster_count_threads(p) != 0;
	for (size_t i = 0; what && i < CS_COUNT(rows); i++)
		if (!strncmp(what, rows[i].what, strlen(rows[i].what)))
			cs_paster_signal(p, rows[i].signal);
	cs_paster_kind(p, CS_PASTE_CRASH);
	thread.name = cs_group_text(p, g, 1);
	thread.tid = cs_group_id(g, 2);
	frame.library = cs_group_text(p, g, 4);
	if (!stack && frame.library) {
		cs_paster_thread(p, &thread, false);
		cs_paster_frame(p, &frame);
		cs_paster_end_thread(p);
	}
	say(p, line);
	return true;
}

static bool take_killed(struct cs_paster *p, const struct cs_line *line,
			const struct cs_groups *g)
{
	of_process(p, line, g, 1);
	cs_paster_kind(p, CS_PASTE_OOM);
	cs_paster_signal(p, "SIGKILL");
	say(p, line);
	return true;
}

static bool take_oom(struct cs_paster *p, const struct cs_line *line,
		     const struct cs_groups *g)
{
	of_process(p, line, g, 1);
	cs_paster_kind(p, CS_PASTE_OOM);
	say(p, line);
	return true;
}

/* Of the machine or of a GPU: who used it is who the report is about if no other line
 * says so. */
static bool take_message(struct cs_paster *p, const struct cs_line *line,
			 const struct cs_groups *g)
{
	struct cs_paster_state *state;

	if (cs_paster_has(p, &cs_dialect_kernel))
		cs_paster_fresh(p, line);
	say(p, line);
	state = cs_paster_state(p);
	if (!state->line)
		state->line = (size_t)cs_group_id(g, 1);
	return true;
}

static void end(struct cs_paster *p)
{
	cs_paster_pid(p, (int32_t)cs_paster_state(p)->line);
}

/* "INFO: task python:123 blocked for more than 120 seconds." Its stack follows. */
static bool take_hung(struct cs_paster *p, const struct cs_line *line,
		      const struct cs_groups *g)
{
	struct cs_paste_thread thread = {.name = cs_group_text(p, g, 1)};
	struct cs_paster_state *state;

	of_process(p, line, g, 2);
	thread.tid = cs_group_id(g, 2);
	cs_paster_kind(p, CS_PASTE_HANG);
	say(p, line);
	cs_paster_thread(p, &thread, false);
	state = cs_paster_state(p);
	state->phase = TASK;
	return true;
}

/* "task:python state:D stack:0 pid:123 ppid:1 flags:0x4000": the hung task's, or of
 * sysrq's list of tasks. */
static bool take_state(struct cs_paster *p, const struct cs_line *line,
		       const struct cs_groups *g)
{
	struct cs_paste_thread thread = {.name = cs_group_text(p, g, 1)};
	struct cs_paster_state *state = cs_paster_state(p);

	cs_paster_continue(p, line, line->text + line->indent);
	if (state->phase == TASK)
		return true;
	thread.tid = cs_group_id(g, 2);
	cs_paster_kind(p, CS_PASTE_HANG);
	cs_paster_thread(p, &thread, false);
	state = cs_paster_state(p);
	state->phase = TASK;
	return true;
}

static bool take_trace(struct cs_paster *p, const struct cs_line *line,
		       const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);

	(void)line;
	(void)g;
	if (state->phase != TASK)
		return false;
	state->phase = TRACE;
	return true;
}

/* " __schedule+0x2d1/0x870", " ? uvm_va_block_lock+0x1/0x20 [nvidia_uvm]", " [<ffff>]
 * schedule+0x29/0x70" */
static bool take_frame(struct cs_paster *p, const struct cs_line *line,
		       const struct cs_groups *g)
{
	struct cs_paste_frame frame = {.number = -1};

	if (cs_paster_state(p)->phase != TRACE)
		return false;
	if (cs_group_is(g, 1)) /* "?": an old value on the stack, no caller */
		return true;
	frame.function = cs_group_text(p, g, 2);
	frame.library = cs_group_text(p, g, 3);
	cs_paster_frame(p, &frame);
	cs_paster_continue(p, line,
			   line->text + line->indent); /* what hangs is said by where */
	return true;
}

static bool take_end(struct cs_paster *p, const struct cs_line *line,
		     const struct cs_groups *g)
{
	struct cs_paster_state *state = cs_paster_state(p);

	(void)line;
	(void)g;
	if (state->phase != TRACE)
		return false;
	state->phase = NONE;
	cs_paster_end_thread(p);
	return true;
}

#define NAME_PID "^ *([^\\s\\[\\]][^\\[\\]]{0,31})\\[(\\d+)\\]"
#define LIBRARY "(?:.*? in ([^\\s\\[]+)\\[)?"

static const struct cs_rule rules[] = {
	{"+0x",
	 "^ *(?:\\[<[0-9a-f]+>\\] ?)?(\\? "
	 ")?([A-Za-z_.$][\\w.$]*)\\+0x[0-9a-f]+/0x[0-9a-f]+"
	 "(?: \\[(\\w+)(?: [^\\]]*)?\\])?$",
	 take_frame},
	{"segfault at ", NAME_PID ": (segfault) at [0-9a-f]+ ip " LIBRARY, take_fault},
	{"trap",
	 "^ *traps: ([^\\[\\]]{1,32})\\[(\\d+)\\] (?:trap )?(general protection|invalid "
	 "opcode|divide error|"
	 "int3|stack segment|bounds|alignment check)\\b" LIBRARY,
	 take_fault},
	{" general protection", NAME_PID " (general protection)\\b" LIBRARY, take_fault},
	{"unhandled ", NAME_PID ": (unhandled level \\d).*?,? in ([^\\s\\[]+)\\[",
	 take_fault},
	{"Killed process",
	 "(?:Out of memory|Memory cgroup out of memory).*?: Killed process (\\d+)",
	 take_killed},
	{"Kill process",
	 "(?:Out of memory|Memory cgroup out of memory): Kill process (\\d+)",
	 take_killed},
	{"oom-kill:", "\\boom-kill:constraint=(?:.*\\bpid=(\\d+))?", take_oom},
	{"oom-killer", " invoked oom-killer: ", take_oom},
	{"oom_reaper:", "\\boom_reaper: reaped process (\\d+)", take_oom},
	{"NVRM: ", "^ *NVRM: (?:.*\\bpid='?(\\d+))?", take_message},
	{"Xid (", "^ *(?:\\S+ )?Xid \\(", take_message},
	{"SXid", "\\bSXid \\(", take_message},
	{"blocked for more than",
	 "^ *INFO: task (.{1,31}?):(\\d+) blocked for more than \\d+ seconds", take_hung},
	{"state:", "^ *task:(\\S+) +state:[A-Z] .*?\\bpid: *(\\d+)", take_state},
	{"Call Trace:", "^ *Call [Tt]race:$", take_trace},
	{"Call trace:", "^ *Call trace:$", take_trace},
	{"<TASK>", "^ *<TASK>$", take_trace},
	{"</TASK>", "^ *</TASK>$", take_end},
	{"Hardware Error", "\\[Hardware Error\\]", take_message},
	{"EDAC ", "^ *EDAC \\S+: \\d+ (?:CE|UE) ", take_message},
	{"nvidia-",
	 "^ *nvidia-(?:modeset|nvlink|nvswitch\\d*|uvm): .*(?i)(?:error|fatal|fail)",
	 take_message},
	{"soft lockup", "watchdog: BUG: soft lockup", take_message},
	{"AER: ", "^ *(?:pcieport|nvidia) \\S+: (?:AER|PCIe Bus Error): ", take_message},
};

const struct cs_dialect cs_dialect_kernel = {
	.name = "dmesg",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.end = end,
};
