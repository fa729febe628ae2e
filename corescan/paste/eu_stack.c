/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * eu-stack, and what systemd-coredump writes to the journal and coredumpctl shows: both walk by elfutils, and
 * print a line for each frame with its address.
 *
 * Forms: src/stack.c of elfutils; src/coredump/coredump.c, coredumpctl.c and src/shared/elf-util.c of
 * systemd.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <string.h>

/* The dialect's `phase`. */
enum {
	IN_THREAD = 1,
	DIED = 2, /* the journal says that it dumped core: its first thread did */
	BEGUN = 4, /* what coredumpctl says of it began, and there is no stack yet */
};

static bool take_process(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_fresh(p, line);
	cs_paster_pid(p, cs_group_id(g, 1));
	return true;
}

/* "PID 17 - core", whose first thread is who died, if it did; "PID 17 - process" */
static bool take_head(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	take_process(p, line, g);
	cs_paster_state(p)->phase = cs_group_is(g, 2) ? DIED : 0;
	return true;
}

/* "TID 17:", "Stack trace of thread 17:" */
static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_paste_thread t = {0};

	(void)line;
	t.tid = cs_group_id(g, 1);
	t.crashed = s->phase & DIED && !(s->phase & IN_THREAD);
	cs_paster_thread(p, &t, false);
	s->phase = (s->phase & DIED) | IN_THREAD;
	return true;
}

/* "raise (libc.so.6 + 0x3d1)", as systemd prints it: the module is behind the last parenthesis. */
static bool split_systemd(struct cs_span s, struct cs_span *function, struct cs_span *library)
{
	const char *open = memrchr(s.at, '(', s.len);
	size_t at = open ? (size_t)(open - s.at) : 0, plus;

	if (!at || !cs_span_ends(s, ")"))
		return false;
	*library = cs_span_from(s, at + 1);
	library->len--;
	plus = cs_span_find(*library, " + 0x");
	if (plus == library->len)
		return false;
	library->len = plus;
	*function = cs_span_trim((struct cs_span){s.at, at});
	return true;
}

/* "pthread_cond_wait - /lib/libc.so.6", "f (inlined)", "f" */
static void split_elfutils(struct cs_span s, struct cs_span *function, struct cs_span *library)
{
	const char *dash = NULL;

	for (size_t at = 0; at + 3 < s.len; at++)
		if (cs_span_begins(cs_span_from(s, at), " - "))
			dash = s.at + at;
	*library = (struct cs_span){0};
	if (dash) {
		*library = cs_span_from(s, (size_t)(dash + 3 - s.at));
		s.len = (size_t)(dash - s.at);
	} else if (cs_span_begins(s, "- ")) {
		*library = cs_span_from(s, 2);
		s.len = 0;
	}
	s = cs_span_trim(s);
	if (cs_span_ends(s, " (inlined)"))
		s.len -= strlen(" (inlined)");
	*function = s;
}

/*
 * "#0  0x00007f..     f - /lib/libc.so.6", "#1  0x00007f.. - 1 f", "#0  0x00007f.. n/a (libc.so.6 +
 * 0x3d1)"
 */
static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span rest = cs_span_trim(cs_span_of_group(g, 3)), function = {0}, library = {0};
	struct cs_paste_frame frame = {0}, *last = cs_paster_last_frame(p);
	bool systemd = rest.len && split_systemd(rest, &function, &library);

	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	if (!systemd) {
		size_t gap;

		cs_group_bytes(g, 2, &gap);
		/* LLVM's form is close to it: one blank, and "(/lib/x.so+0x3d1)" */
		if (!(s->phase & IN_THREAD) && gap < 2)
			return false;
		split_elfutils(rest, &function, &library);
	}
	if (last && !frame.number && last->number > 0 && !(s->phase & IN_THREAD))
		cs_paster_fresh(p, line);
	frame.function = cs_paste_function(p, function);
	frame.library = cs_paste_library(p, library);
	cs_paste_native(p, &frame);
	s->phase |= IN_THREAD;
	return true;
}

/* ---- the journal ---- */

/* "Process 17 (python) of user 0 dumped core." */
static bool take_dumped(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!(s->phase & BEGUN))
		take_process(p, line, g);
	cs_paster_kind(p, CS_PASTE_CRASH);
	s->phase = DIED;
	return true;
}

/* "           PID: 17 (python)" */
static bool take_pid(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	take_process(p, line, g);
	cs_paster_state(p)->phase = BEGUN;
	return true;
}

/* "        Signal: 11 (SEGV)" */
static bool take_signal(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	uint64_t n;

	(void)line;
	if (!(cs_paster_state(p)->phase & BEGUN) || !cs_group_number(g, 1, 10, &n) || n > 64)
		return false;
	cs_paster_signal_number(p, (int)n);
	cs_paster_state(p)->phase |= DIED;
	return true;
}

static bool take_remark(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	return cs_paster_state(p)->phase != 0;
}

static const struct cs_rule rules[] = {
	{"#", "^ *#(\\d+)( +)0x[0-9a-f]{8,16}(?: +- 1)?(?!.*\\+0x[0-9a-f]+\\)$)(?: +(?!in )(\\S.*))?$",
	 take_frame},
	{"TID ", "^TID (\\d+):$", take_thread},
	{"PID ", "^PID (\\d+) - (?:process|(core))", take_head},
	{"Stack trace of thread ", "^ *(?:\\S+: )?Stack trace of thread (\\d+)\\b.*:$", take_thread},
	{" dumped core.", "\\bProcess (\\d+) \\(.*\\) of user \\d+ .*dumped core\\.", take_dumped},
	{"PID: ", "^ +PID: (\\d+) \\(", take_pid},
	{"Signal: ", "^ +Signal: (\\d+) \\([A-Z0-9]+\\)", take_signal},
	{"odule ", "^ *(?:Found m|M)odule \\S+ (?:with|from|without) ", take_remark},
	{"ELF object binary architecture", "", take_remark},
};

/* With -s, the line of the source stands below its frame, and with -b its build id. */
static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_span s = cs_span_trim((struct cs_span){line->text, line->len});
	struct cs_paste_frame *last = cs_paster_last_frame(p);

	if (!(cs_paster_state(p)->phase & IN_THREAD) || !last || line->indent < 4 || line->indent > 8)
		return false;
	if (cs_span_begins(s, "[") && cs_span_find(s, "]@0x") < s.len)
		return true;
	if (last->file || cs_span_find(s, ":") == s.len || cs_span_find(s, " ") < s.len)
		return false;
	cs_paste_place(p, s, last);
	return true;
}

const struct cs_dialect cs_dialect_eu_stack = {
	.name = "eu-stack",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
};
