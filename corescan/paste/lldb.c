/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lldb: bt, bt all, thread list, and what it prints when a process stops.
 *
 * Forms: the settings frame-format and thread-format of lldb/source/Core/CoreProperties.td.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <string.h>

/* The dialect's `phase`. */
enum {
	IN_THREAD = 1,
};

/* The quoted text behind @key in "name = 'x', stop reason = ..."; `at` NULL: there is none. */
static struct cs_span value_of(struct cs_span s, const char *key)
{
	struct cs_span value = cs_span_from(s, cs_span_find(s, key));

	if (!value.len)
		return (struct cs_span){0};
	value = cs_span_from(value, strlen(key));
	value.len = cs_span_find(value, "'");
	return value;
}

/* "signal SIGSEGV: invalid address (fault address: 0x0)" kills; "breakpoint 1.1", "signal SIGSTOP" do not. */
static bool take_reason(struct cs_paster *p, struct cs_span reason)
{
	static const char *const stops[] = {"SIGSTOP", "SIGINT", "SIGTRAP", "SIGCONT"};
	static const struct {
		const char *code, *signal;
	} codes[] = {
		{"EXC_BAD_ACCESS", "SIGSEGV"},
		{"EXC_BAD_INSTRUCTION", "SIGILL"},
		{"EXC_ARITHMETIC", "SIGFPE"},
		{"EXC_BREAKPOINT", "SIGTRAP"},
	};
	struct cs_span name = cs_span_from(reason, strlen("signal "));

	for (size_t i = 0; i < CS_COUNT(codes); i++)
		if (cs_span_begins(reason, codes[i].code)) {
			cs_paster_signal(p, codes[i].signal);
			return true;
		}
	if (!cs_span_begins(reason, "signal SIG"))
		return false;
	for (size_t i = 0; i < CS_COUNT(stops); i++)
		if (cs_span_begins(name, stops[i]))
			return false;
	name.len = strspn(name.at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
	cs_paster_signal(p, cs_paster_keep(p, name.at, name.len));
	return true;
}

/* Where @t is printed again: the same one of this report, or of another, which this begins. */
static bool is_again(struct cs_paster *p, const struct cs_line *line, uint32_t ordinal)
{
	size_t n = cs_paster_count_threads(p);

	for (size_t i = 0; i < n && n <= CS_MAX_PASTE_COMPARED; i++) {
		const struct cs_paste_thread *t = cs_paster_thread_at(p, i);

		if (t->ordinal != ordinal)
			continue;
		if (t->n_frames > 1) {
			/* bt, and then bt all */
			if (n > 1)
				cs_paster_fresh(p, line);
			else
				cs_paster_forget_thread(p, i);
		} else {
			cs_paster_forget_thread(p, i);
		}
		return true;
	}
	return false;
}

/*
 * "* thread #1, name = 'python', stop reason = signal SIGSEGV", "  thread #2: tid = 17, 0x.. libc`read +
 * 3"
 */
static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_thread t = {0};
	struct cs_span rest = cs_span_of_group(g, 3), name;
	size_t reason;
	uint64_t n;

	if (!cs_group_number(g, 2, 10, &n) || n > UINT32_MAX)
		return false;
	cs_paster_end_thread(p);
	t.ordinal = (uint32_t)n;
	is_again(p, line, t.ordinal);
	name = value_of(rest, "name = '");
	if (name.at)
		t.name = cs_paster_keep(p, name.at, name.len);
	t.main = cs_span_find(rest, "com.apple.main-thread") < rest.len;
	reason = cs_span_find(rest, "stop reason = ");
	if (reason < rest.len)
		t.crashed = take_reason(p, cs_span_from(rest, reason + strlen("stop reason = ")));
	t.crashed = t.crashed && cs_group_is(g, 1);
	if (rest.len > 8 && cs_span_find(rest, "tid = ") < rest.len) {
		unsigned long tid = strtoul(rest.at + cs_span_find(rest, "tid = ") + 6, NULL, 0);

		t.tid = tid <= INT32_MAX ? (int32_t)tid : 0;
	}
	cs_paster_thread(p, &t, false);
	cs_paster_state(p)->phase = IN_THREAD;
	return true;
}

/* "f<int>(this=0x1, x=3) const" without the values; "f(int)" is a name. */
static struct cs_span without_values(struct cs_span s)
{
	size_t at = 0;

	while (at < s.len) {
		size_t open = at + cs_span_find(cs_span_from(s, at), "(");
		size_t end = open < s.len ? cs_span_close(s, open) : s.len;

		if (open >= s.len || end > s.len)
			return s;
		if (cs_span_find((struct cs_span){s.at + open, end - open}, "=") < end - open)
			return (struct cs_span){s.at, open};
		at = end;
	}
	return s;
}

static const char *function_of(struct cs_paster *p, struct cs_span s)
{
	struct cs_strbuf name;
	const char *kept;

	s = without_values(s);
	if (cs_span_begins(s, "::"))
		s = cs_span_from(s, 2);
	if (cs_span_begins(s, "___lldb_unnamed_symbol"))
		return NULL;
	if (!cs_span_is(s, "operator") && !cs_span_ends(s, ":operator"))
		return cs_paste_function(p, s);
	/* Its name ends with "()", which lldb replaces by the values. */
	cs_strbuf_init(&name, CS_MAX_FACT_NAME);
	cs_strbuf_put(&name, s.at, s.len);
	cs_strbuf_puts(&name, "()");
	kept = cs_paste_function(p, CS_SPAN(cs_strbuf_text(&name)));
	cs_strbuf_deinit(&name);
	return kept;
}

/* "f(x=3) at a.c:3:5 [opt]", "raise + 325", "f [inlined] g(int) at b.h:7:1" */
static void split_symbol(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame)
{
	static const char *const marks[] = {" [opt]", " [artificial]"};
	size_t inlined = cs_span_find(s, " [inlined] "), at = s.len;

	for (size_t i = 0; i < CS_COUNT(marks); i++)
		if (cs_span_ends(s, marks[i]))
			s.len -= strlen(marks[i]);
	if (inlined < s.len)
		s = cs_span_from(s, inlined + strlen(" [inlined] "));
	for (size_t i = 0; i < s.len; i += 4) {
		i += cs_span_find(cs_span_from(s, i), " at ");
		if (i < s.len)
			at = i;
	}
	if (at < s.len) {
		cs_paste_place(p, cs_span_from(s, at + 4), frame);
		s.len = at;
	}
	for (at = s.len; at > 3 && s.at[at - 1] >= '0' && s.at[at - 1] <= '9';)
		at--;
	if (at < s.len && at > 3 && !memcmp(s.at + at - 3, " + ", 3))
		s.len = at - 3;
	frame->function = function_of(p, s);
}

/* "  * frame #0: 0x00007f.. libc.so.6`raise + 325" */
static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};
	const struct cs_paste_frame *last = cs_paster_last_frame(p);

	if (!cs_group_frame(g, 1, &frame.number))
		return false;
	if (last && !frame.number && last->number > 0)
		cs_paster_fresh(p, line);
	else if (last && frame.number <= last->number && cs_group_is(g, 3))
		return true;
	frame.library = cs_paste_library(p, cs_span_of_group(g, 2));
	split_symbol(p, cs_span_of_group(g, 3), &frame);
	cs_paste_native(p, &frame);
	cs_paster_state(p)->phase = IN_THREAD;
	return true;
}

/* "(lldb) target create --core x", "Core file 'x' (x86_64) was loaded.", "Process 17 stopped" */
static bool take_begin(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	cs_paster_fresh(p, line);
	cs_paster_pid(p, cs_group_id(g, 1));
	return true;
}

static const struct cs_rule rules[] = {
	{"frame #", "^ *\\*? *frame #(\\d+): 0x[0-9a-f]+(?: ([^`]*)`(.*))?$", take_frame},
	{"thread #", "^ *(\\*)? *thread #(\\d+)(?:[,:] *(.*))?$", take_thread},
	{"Core file '", "^Core file '.*' \\(\\w+\\) was loaded", take_begin},
	{"(lldb) ", "^\\(lldb\\) (?:target create|process attach|attach)", take_begin},
	{"(lldb)", "^\\(lldb\\)", NULL},
};

const struct cs_dialect cs_dialect_lldb = {
	.name = "lldb",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
};
