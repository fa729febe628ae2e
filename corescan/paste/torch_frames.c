/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of C++ that an exception of PyTorch brings along: where it was thrown, so it belongs to who
 * ended. The text before it is the exception's own, which the tracebacks and logs have.
 *
 * Forms: c10/util/Backtrace.cpp, c10/util/Exception.cpp, torch/csrc/profiler/combined_traceback.cpp.
 */
#include "paste/text.h"

#include "base/limits.h"

#include <string.h>

/* The dialect's `phase`. */
enum {
	IN_LIST = 1, /* frames are being added */
	CAPTURED = 2, /* they are in the newer form, with source lines */
};

/* The list that ended may be the same exception's, printed by another handler. */
static void end_list(struct cs_paster *p)
{
	if (cs_paster_state(p)->phase & IN_LIST)
		cs_paste_end_repeated(p);
	cs_paster_state(p)->phase = 0;
}

/* "Exception raised from f at ../c10/x.cpp:123 (most recent call first):" */
static bool take_head(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	end_list(p);
	return true;
}

static bool take_captured(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	end_list(p);
	cs_paster_state(p)->phase = CAPTURED;
	return true;
}

static void add_frame(struct cs_paster *p, struct cs_paste_frame *frame)
{
	static const struct cs_paste_thread thrower = {.crashed = true};
	struct cs_paste_frame *last = cs_paster_last_frame(p);
	int captured = cs_paster_state(p)->phase & CAPTURED;

	if (!(cs_paster_state(p)->phase & IN_LIST) || (last && frame->number <= last->number)) {
		end_list(p);
		cs_paster_thread(p, &thrower, false);
		cs_paster_kind(p, CS_PASTE_CRASH);
		cs_paster_state(p)->phase = IN_LIST | captured;
	}
	if (frame->python)
		cs_paster_frame(p, frame);
	else
		cs_paste_native(p, frame);
}

/* "c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7f.. in /x/libc10.so)" */
static void add_address(struct cs_paster *p, uint64_t number, struct cs_span s)
{
	struct cs_paste_frame frame = {.number = (int64_t)number};
	size_t module = s.len;

	for (size_t at = 0; at < s.len; at += 4) { /* the last: names hold parentheses, too */
		at += cs_span_find(cs_span_from(s, at), " (0x");
		if (at < s.len)
			module = at;
	}
	if (module < s.len) {
		struct cs_span path = cs_span_from(s, module);

		path = cs_span_from(path, cs_span_find(path, " in ") + strlen(" in "));
		path.len = CS_MIN(cs_span_find(path, ")"), path.len);
		frame.library = cs_paste_library(p, path);
		s.len = module;
	}
	for (size_t at = s.len; at > 4; at--) {
		if (!cs_span_begins(cs_span_from(s, at - 4), " + 0"))
			continue;
		s.len = at - 4;
		break;
	}
	frame.function = cs_paste_function(p, s);
	add_frame(p, &frame);
}

/* All of the line, for trackers run lines together. */
static bool take_frames(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	static const char word[] = "frame #";
	struct cs_span s = cs_span_from((struct cs_span){line->text, line->len}, 0);
	bool any = false;

	(void)g;
	s = cs_span_from(s, cs_span_find(s, word));
	while (s.len) {
		struct cs_span frame;
		uint64_t number = 0;
		size_t at = strlen(word), next;

		while (at < s.len && s.at[at] >= '0' && s.at[at] <= '9' && number < CS_MAX_FACT_FRAMES)
			number = number * 10 + (uint64_t)(s.at[at++] - '0');
		next = at + cs_span_find(cs_span_from(s, at), word);
		frame = cs_span_from((struct cs_span){s.at, next}, at);
		if (!cs_span_begins(frame, ": "))
			return any;
		frame = cs_span_trim(cs_span_from(frame, 2));
		if (cs_span_find(frame, "`") < frame.len && cs_span_begins(frame, "0x"))
			return any; /* lldb's */
		add_address(p, number, frame);
		any = true;
		s = cs_span_from(s, next);
	}
	return any;
}

/* "#4 c10::Error::Error(...) from ??:0", "#7 forward from /x/model.py:12" */
static bool take_line(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame frame = {0};

	(void)line;
	if (!(cs_paster_state(p)->phase & CAPTURED) || !cs_group_frame(g, 1, &frame.number))
		return false;
	frame.function = cs_paste_function(p, cs_span_of_group(g, 2));
	cs_paste_place(p, cs_span_of_group(g, 3), &frame);
	frame.python = frame.file && cs_span_ends(CS_SPAN(frame.file), ".py");
	add_frame(p, &frame);
	return true;
}

static const struct cs_rule rules[] = {
	{"frame #", "frame #\\d+: ", take_frames},
	{"Exception raised from ", "Exception raised from .* \\(most recent call first\\):", take_head},
	{"C++ CapturedTraceback:", "C\\+\\+ CapturedTraceback:", take_captured},
	{" from ", "^ *#(\\d+) (.*) from (\\S.*:\\d+)$", take_line},
};

const struct cs_dialect cs_dialect_torch = {
	.name = "torch",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.end = end_list,
};
