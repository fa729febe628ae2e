/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Python tracebacks, as the interpreter, its modules, IPython and rich print them.
 *
 *	Traceback (most recent call last):
 *	  File "x.py", line 3, in f
 *	    the source
 *	    ~~^^^^^^^^
 *	RuntimeError: what
 *	and more of it
 *
 * Each traceback is a thread, outermost frame first; its exception, with all its lines, is a message.
 *
 * What belongs together, by what real logs look like:
 * - Tracebacks that are chained ("During handling of ...", "The above exception was ...", "Original
 *   Traceback" of a worker, "-- Process 0 terminated with ...", the members of an exception group) are one
 *   report. The crashed thread's frames are those of the last; of a group, the group's own.
 * - What the interpreter prints besides ("Exception ignored in") belongs to the report whose process printed
 *   it, and is not where the process died.
 * - A traceback that follows a complete one, not chained, is another report: of another rank, another
 *   attempt, or a parent that saw its child die. So is one after a tool's dump of a process.
 * - A traceback after lines of a log is their report's, if that has no stacks but what a C++ exception lists;
 *   what follows a traceback (terminate(), faulthandler, a launcher's summary) is up to who reads that.
 * - An exception's message goes on until an empty line, after which only indented lines do; a line of a log,
 *   or one that another tool begins with, ends it.
 * - KeyboardInterrupt alone is what ends a process that hung.
 */
#include "paste/python_text.h"

#include "base/limits.h"

#include <stdio.h>
#include <string.h>

enum {
	OUTSIDE,
	HEADER, /* its frames follow */
	FRAMES,
	MESSAGE,
	BLANK, /* an empty line ended the message, unless what follows is indented */
	DONE,
	CHAIN, /* the next one belongs to the same report */
	CALLER, /* frames follow that are no exception's */
};

/* state->number: how far the traceback is indented, and these */
#define INDENT UINT64_C(0xffff)
#define FLAT (UINT64_C(1) << 17)    /* blanks at the beginning of lines were lost */
#define GROUP (UINT64_C(1) << 18)   /* an exception group's: lines begin with "|" */
#define BOX (UINT64_C(1) << 19)     /* rich's */
#define IPYTHON (UINT64_C(1) << 20) /* its exception's name is in state->text */
#define ASIDE (UINT64_C(1) << 21)   /* not what the process ends of */
#define THREAD (UINT64_C(1) << 22)  /* what a thread ended of; its name is in state->text */
#define CUT (UINT64_C(1) << 23)     /* its header is not there */
#define BROKEN (UINT64_C(1) << 24)  /* a frame's line goes on; its beginning is in state->text */
#define INNERMOST (UINT64_C(1) << 25) /* a thread begins with its first frame, which is the innermost */
#define LEVEL_SHIFT 32              /* above: what log prefix its exception has */

#define MAX_MESSAGE_LINES 100U
#define MAX_WORD 512U

struct start {
	uint64_t flags;
	size_t indent;
	bool chained;
	char word[MAX_WORD]; /* for state->text */
};

static void set_word(struct cs_paster_state *s, const char *word, size_t len)
{
	cs_strbuf_deinit(&s->text);
	cs_strbuf_init(&s->text, MAX_WORD - 1);
	if (len)
		cs_strbuf_put(&s->text, word, len < MAX_WORD ? len : MAX_WORD - 1);
}

static uint64_t level_of(const struct cs_line *line)
{
	return (uint64_t)(unsigned char)line->level << LEVEL_SHIFT;
}

static const char *keep(struct cs_paster *p, struct cs_span s)
{
	return s.len ? cs_paster_keep(p, s.at, s.len) : "";
}

static size_t indent_of(const struct cs_paster_state *s)
{
	return (size_t)(s->number & INDENT);
}

/* ---- tracebacks ---- */

/* Those before it, of the same process, are not what it ended of. */
static void excuse(struct cs_paster *p)
{
	for (size_t i = cs_paster_count_threads(p); i-- > 0 && cs_paster_thread_at(p, i)->crashed;)
		cs_paster_thread_at(p, i)->crashed = false;
}

static void begin(struct cs_paster *p, const struct cs_line *line, const struct start *start)
{
	struct cs_paste_thread thread = {.crashed = !(start->flags & ASIDE)};
	struct cs_paster_state *s = cs_paster_state(p);

	if (!start->chained && (cs_paste_has_dump(p) || cs_paster_has(p, &cs_dialect_traceback)))
		cs_paster_fresh(p, line);
	if (thread.crashed && cs_paster_has(p, &cs_dialect_traceback))
		excuse(p);
	if (start->flags & THREAD && *start->word)
		thread.name = cs_paster_keep(p, start->word, strlen(start->word));
	cs_paster_thread(p, &thread, true);
	set_word(s, start->word, strlen(start->word));
	s->phase = HEADER;
	s->number = start->flags | (start->indent & INDENT);
	s->line = line->number;
}

/* What comes next has been announced: "Exception in thread Thread-1:", "During handling of ...". */
static void announce(struct cs_paster *p, uint64_t flags, const char *word, size_t len)
{
	struct cs_paster_state *s = cs_paster_state(p);

	s->phase = CHAIN;
	s->number = flags;
	set_word(s, word, len);
}

static void start_of(struct cs_paster *p, const struct cs_line *line, struct start *ret)
{
	struct cs_paster_state *s = cs_paster_state(p);

	*ret = (struct start){.indent = line->indent, .chained = s->phase == CHAIN || s->phase == CALLER};
	if (s->phase == CHAIN) {
		ret->flags = s->number & (ASIDE | THREAD);
		snprintf(ret->word, sizeof(ret->word), "%s", cs_strbuf_text(&s->text));
	}
}

/* "Traceback (most recent call last):", and what may stand before it. */
static bool take_header(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span before = cs_span_trim(cs_span_of_group(g, 1));
	struct start start;

	if (cs_paster_state(p)->number & GROUP && cs_span_begins(before, "|"))
		return false; /* of a member */
	start_of(p, line, &start);
	if (cs_span_ends(before, "+ Exception Group") || cs_span_is(before, "Exception Group")) {
		start.flags |= GROUP;
	} else if (cs_span_is(before, "Original")) {
		start.chained |= cs_paster_has(p, &cs_dialect_traceback);
	} else if (cs_span_begins(before, "traceback") && cs_span_ends(before, ":")) {
		/* torchrun's summary has again what the rank has printed. */
		if (cs_paster_has(p, &cs_dialect_traceback))
			start.flags |= ASIDE;
		start.chained = true;
	} else if (before.len && before.at[before.len - 1] == ':') {
		/* "ERROR: worker failed: Traceback ..." */
		if (!start.chained &&
		    (cs_paste_has_dump(p) || cs_paster_has(p, &cs_dialect_traceback)))
			cs_paster_fresh(p, line);
		start.chained = true;
		cs_paster_message(p, line, keep(p, before));
	}
	begin(p, line, &start);
	return true;
}

static bool take_last_first(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	/* gdb's py-bt: of a thread that gdb showed before. */
	static const struct cs_paste_thread thread = {0};

	(void)g;
	cs_paster_thread(p, &thread, false);
	cs_paster_state(p)->phase = FRAMES;
	cs_paster_state(p)->number = CUT | (line->indent & INDENT);
	cs_paster_state(p)->line = line->number;
	return true;
}

/* TVM's handler of SIGSEGV: native frames in Python's form, the innermost first. */
static bool take_tvm(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	if (cs_paster_has(p, &cs_dialect_traceback))
		cs_paster_fresh(p, line);
	cs_paster_message(p, line, line->text + line->indent);
	cs_paster_signal(p, "SIGSEGV");
	cs_paster_kind(p, CS_PASTE_CRASH);
	cs_paster_state(p)->phase = HEADER;
	cs_paster_state(p)->number = CUT | INNERMOST;
	cs_paster_state(p)->line = line->number;
	return true;
}

/* ---- frames ---- */

/* A frame without a header: it was cut off, or a line of somebody else's came between. */
static void begin_without_header(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	const struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct start start;

	if (s->phase == OUTSIDE && last && last->python && cs_paster_has(p, &cs_dialect_traceback)) {
		s->line = line->number;
		return;
	}
	start_of(p, line, &start);
	/* ray prints its error first, and then frames. */
	start.chained |= s->phase == MESSAGE && s->line + 1 == line->number;
	start.flags |= CUT;
	begin(p, line, &start);
}

static void add_place(struct cs_paster *p, const struct cs_line *line, const struct cs_python_place *place)
{
	static const struct cs_paste_thread crashed = {.crashed = true};
	struct cs_paster_state *s = cs_paster_state(p);

	if (s->phase == HEADER && s->number & INNERMOST)
		cs_paster_thread(p, &crashed, false);
	else if (s->phase != HEADER && s->phase != FRAMES)
		begin_without_header(p, line);
	if (s->phase != FRAMES && !(s->number & (BOX | IPYTHON | GROUP))) {
		/* The header may have words before it: only frames tell. */
		if (line->indent >= 2)
			s->number = (s->number & ~INDENT) | ((line->indent - 2) & INDENT);
		else
			s->number |= FLAT;
	}
	s->phase = FRAMES;
	s->line = line->number;
	/* Where a SyntaxError is in a file, nothing runs. */
	if (place->function.at)
		cs_python_frame(p, place);
}

static bool take_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_python_place place;

	if (!cs_python_place(cs_span_of_group(g, 1), &place))
		return false;
	if (cs_paster_state(p)->phase != CALLER)
		add_place(p, line, &place);
	return true;
}

/* `File "/a/long/path/to/mo`, `dules/x.py", line 3, in f`: a terminal or a tracker broke the line. */
static bool take_broken(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = cs_span_of_group(g, 1);

	if ((s->phase != HEADER && s->phase != FRAMES) || s->number & (BOX | IPYTHON | GROUP))
		return false;
	set_word(s, text.at, text.len);
	s->number |= BROKEN;
	s->line = line->number;
	return true;
}

/* The rest of it. */
static bool mend(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_python_place place;
	char whole[2 * MAX_WORD];

	s->number &= ~BROKEN;
	for (int blank = 0; blank < 2; blank++) {
		snprintf(whole, sizeof(whole), "%s%s%s", cs_strbuf_text(&s->text), blank ? " " : "",
			 line->text + line->indent);
		if (line->number == s->line + 1 && cs_python_place(CS_SPAN(whole), &place) &&
		    place.function.at) {
			s->phase = FRAMES;
			s->line = line->number;
			cs_python_frame(p, &place);
			return true;
		}
	}
	return false;
}

static bool take_repeated(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	const struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct cs_paste_frame again;
	uint64_t n;

	(void)line;
	if (cs_paster_state(p)->phase != FRAMES || !last || !cs_group_number(g, 1, 10, &n))
		return false;
	again = *last;
	for (uint64_t i = 0; i < n && i < CS_MAX_PASTE_REPEAT; i++)
		cs_paster_frame(p, &again);
	if (n > CS_MAX_PASTE_REPEAT)
		cs_paster_drop(p, n - CS_MAX_PASTE_REPEAT);
	return true;
}

/* ---- exceptions ---- */

/* The length of "torch.cuda.OutOfMemoryError", "f.<locals>.E", "RayTaskError(ValueError)" in @s. */
static size_t name_length(struct cs_span s, struct cs_span *ret_last)
{
	size_t i = 0, from = 0;

	while (i < s.len) {
		char c = s.at[i];

		if (c == '.' || c == '<' || c == '>') {
			from = i + 1;
		} else if (c != '_' && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
			   !(c >= '0' && c <= '9')) {
			break;
		}
		i++;
	}
	*ret_last = (struct cs_span){s.at + from, i - from};
	if (i < s.len && s.at[i] == '(' && cs_span_close(s, i) <= s.len)
		i = cs_span_close(s, i);
	return i;
}

/* Words that begin a log's lines. */
static bool is_level(struct cs_span s)
{
	static const char *const words[] = {"WARNING", "WARN", "INFO", "ERROR",	  "NOTE", "Note",
					    "DEBUG",   "FATAL", "TRACE", "CRITICAL", "Warning"};

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (cs_span_is(s, words[i]))
			return true;
	return false;
}

static bool sounds_wrong(struct cs_span name)
{
	static const char *const ends[] = {"Error", "Exception", "Interrupt", "Exit", "Warning", "Group",
					   "Timeout", "Empty", "Full", "Killed", "Abort", "Stop"};

	for (size_t i = 0; i < CS_COUNT(ends); i++)
		if (cs_span_ends(name, ends[i]))
			return true;
	return false;
}

/* "ValueError: what", "KeyboardInterrupt". @strict: it may as well be a source line. */
static bool is_exception(struct cs_span s, bool strict)
{
	struct cs_span last;
	size_t n = name_length(s, &last);
	bool dotted = last.at != s.at;

	if (!last.len || (s.at[0] >= '0' && s.at[0] <= '9') || is_level(last))
		return false;
	if (n < s.len && (s.at[n] != ':' || (n + 1 < s.len && s.at[n + 1] != ' ')))
		return false;
	if (strict)
		return sounds_wrong(last) || (dotted && n < s.len && last.at[0] <= 'Z');
	return last.at[0] == '_' || (last.at[0] >= 'A' && last.at[0] <= 'Z') || (dotted && n < s.len);
}

static void say(struct cs_paster *p, const struct cs_line *line, struct cs_span text)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t where;

	if (cs_span_begins(text, "KeyboardInterrupt") && !cs_paster_last_message(p, &where))
		cs_paster_kind(p, CS_PASTE_HANG);
	cs_paster_message(p, line, keep(p, text));
	s->phase = MESSAGE;
	s->number = level_of(line) | (s->number & ((UINT64_C(1) << LEVEL_SHIFT) - 1));
	s->line = line->number;
}

/* What begins something else, and never goes on with an exception's message. */
static bool begins_other(struct cs_span s)
{
	static const char *const words[] = {
		"terminate called", "Fatal Python error", "frame #", "Exception raised from",
		"*** ", "Segmentation fault", "Aborted", "Killed", "====", "----", "#0 ", "Thread ",
		"Current thread", "srun: ", "slurmstepd: ", "Exception ignored", "$ ", "(gdb)",
		"Extension modules: ", "libc++abi", ">>> ", "In [", "\"\"\"", "```", "</details>", "Process ",
	};

	struct cs_span level = s;

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (cs_span_begins(s, words[i]))
			return true;
	level.len = cs_span_find(s, ":");
	if (level.len < s.len && is_level(level))
		return true;
	/* a bar of progress: "10%|#    | 10/100 [00:10<01:30, 1.0it/s]" */
	return s.len > 8 && cs_span_find((struct cs_span){s.at, 8}, "%|") < 8;
}

static bool go_on(struct cs_paster *p, const struct cs_line *line, struct cs_span text)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!text.len && !(s->number & GROUP)) {
		s->phase = BLANK;
		return false;
	}
	/* state->line is where the message's first lines are, once it has many. */
	if (begins_other(cs_span_trim(text)) || s->number >> LEVEL_SHIFT != level_of(line) >> LEVEL_SHIFT ||
	    (s->phase == BLANK && line->indent <= indent_of(s)) ||
	    line->number > s->line + MAX_MESSAGE_LINES) {
		s->phase = DONE;
		return false;
	}
	if (s->phase == BLANK)
		cs_paster_continue(p, line, "");
	s->phase = MESSAGE;
	cs_paster_continue(p, line, keep(p, text));
	return true;
}

/* ---- what is announced ---- */

static bool take_chain(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	announce(p, 0, "", 0);
	return true;
}

static bool take_ignored(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	cs_paster_message(p, line, line->text + line->indent);
	announce(p, ASIDE, "", 0);
	return true;
}

static bool take_thread(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span name = cs_span_of_group(g, 1);
	char word[MAX_WORD];

	if (cs_paste_has_dump(p) || cs_paster_has(p, &cs_dialect_traceback))
		cs_paster_fresh(p, line);
	snprintf(word, sizeof(word), "%.*s", (int)(name.len < MAX_WORD ? name.len : MAX_WORD - 1), name.at);
	announce(p, THREAD, word, strlen(word));
	return true;
}

/* logging could not write; what it was asked to write, and by whom, it says below. */
static bool take_logging(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)line;
	(void)g;
	announce(p, ASIDE, "", 0);
	return true;
}

static bool take_caller(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);

	(void)line;
	(void)g;
	if (!(s->number & ASIDE))
		return false;
	s->phase = CALLER;
	return true;
}

static bool take_process(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	(void)g;
	if (cs_paste_has_dump(p) || cs_paster_has(p, &cs_dialect_traceback))
		cs_paster_fresh(p, line);
	announce(p, 0, "", 0);
	return true;
}

/* A traceback that came from another process, between quotation marks. */
static bool take_quote(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);

	(void)line;
	(void)g;
	if (s->phase == MESSAGE || s->phase == BLANK)
		s->phase = DONE;
	return true;
}

/* ---- exception groups ---- */

/* What stands behind the bar. */
static void add_group_line(struct cs_paster *p, const struct cs_line *line, struct cs_span text)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct start start = {.flags = GROUP | ASIDE, .chained = true};
	struct cs_span trimmed = cs_span_trim(text);
	struct cs_python_place place;

	if (cs_span_ends(trimmed, "Traceback (most recent call last):"))
		begin(p, line, &start);
	else if (cs_python_place(trimmed, &place))
		add_place(p, line, &place);
	else if ((s->phase == FRAMES || s->phase == CHAIN) && text.len && text.at[0] != ' ' &&
		 is_exception(text, false))
		say(p, line, text);
	else if (s->phase == MESSAGE)
		cs_paster_continue(p, line, keep(p, text));
}

static bool take_group_rule(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (!(s->number & GROUP))
		return false;
	/* A member follows, or the group is complete. */
	s->phase = cs_group_is(g, 1) ? CHAIN : DONE;
	s->line = line->number;
	return true;
}

static bool take_group_line(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	if (!(cs_paster_state(p)->number & GROUP))
		return false;
	add_group_line(p, line, cs_span_of_group(g, 1));
	return true;
}

/* ---- rich ---- */

static bool take_box(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct start start;

	(void)g;
	start_of(p, line, &start);
	start.flags |= BOX;
	begin(p, line, &start);
	return true;
}

static bool take_box_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_python_place place = {.function = cs_span_of_group(g, 3)};
	struct cs_span file = cs_span_of_group(g, 1);
	char whole[2 * MAX_WORD];

	if (!(s->number & BOX) || !cs_span_number(cs_span_of_group(g, 2), &place.line))
		return false;
	/* Long paths are broken. */
	snprintf(whole, sizeof(whole), "%s%.*s", cs_strbuf_text(&s->text), (int)file.len, file.at);
	set_word(s, "", 0);
	place.file = CS_SPAN(whole);
	add_place(p, line, &place);
	return true;
}

static bool take_box_module(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_python_place place = {.function = cs_span_of_group(g, 1)};

	if (!(cs_paster_state(p)->number & BOX) || !cs_span_number(cs_span_of_group(g, 2), &place.line))
		return false;
	add_place(p, line, &place);
	return true;
}

static bool take_box_line(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span path = cs_span_of_group(g, 1);

	if (!(s->number & BOX))
		return false;
	set_word(s, path.at, path.len);
	s->line = line->number;
	return true;
}

static bool take_box_end(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paster_state *s = cs_paster_state(p);

	(void)g;
	if (!(s->number & BOX))
		return false;
	s->number &= ~BOX;
	s->phase = FRAMES;
	s->line = line->number;
	return true;
}

/* ---- IPython ---- */

static bool take_ipython(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_span name = cs_span_of_group(g, 1);
	struct start start;

	start_of(p, line, &start);
	start.flags |= IPYTHON;
	snprintf(start.word, sizeof(start.word), "%.*s",
		 (int)(name.len < MAX_WORD ? name.len : MAX_WORD - 1), name.at);
	begin(p, line, &start);
	return true;
}

/* Groups: file, line, function. */
static bool take_ipython_frame(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_python_place place = {.file = cs_span_of_group(g, 1), .function = cs_span_of_group(g, 3)};

	if (!(cs_paster_state(p)->number & IPYTHON))
		return false;
	cs_span_number(cs_span_of_group(g, 2), &place.line);
	if (!place.function.at)
		place.function = CS_SPAN("<module>");
	add_place(p, line, &place);
	return true;
}

/* "----> 5     f(0)": older versions have the line's number only here. */
static bool take_ipython_arrow(struct cs_paster *p, const struct cs_line *line, const struct cs_groups *g)
{
	struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct cs_paster_state *s = cs_paster_state(p);

	if (!(s->number & IPYTHON))
		return false;
	if (last && !last->line)
		cs_span_number(cs_span_of_group(g, 1), &last->line);
	s->line = line->number;
	return true;
}

static bool more_ipython(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	struct cs_span text = {line->text, line->len};
	const char *name = cs_strbuf_text(&s->text);
	struct cs_span after = cs_span_begins(text, name) ? cs_span_from(text, strlen(name)) : text;

	if (*name && after.at != text.at && (!after.len || after.at[0] == ':')) {
		say(p, line, text);
		return true;
	}
	/* Source, numbered, around the line that runs; also of lines cut out. */
	return !line->len || line->indent || (line->text[0] >= '0' && line->text[0] <= '9');
}

/* ---- lines that no rule takes ---- */

/* Source, and the exception that ends the frames. */
static bool more_frames(struct cs_paster *p, const struct cs_line *line, struct cs_span text)
{
	struct cs_paster_state *s = cs_paster_state(p);

	if (s->number & IPYTHON)
		return more_ipython(p, line);
	if (!line->len || s->number & BOX || line->number > s->line + 4)
		return false;
	if (line->indent > indent_of(s)) {
		s->line = line->number;
		return true;
	}
	if (is_exception(text, s->number & FLAT)) {
		say(p, line, text);
		return true;
	}
	if (!(s->number & FLAT) || begins_other(text) || line->level)
		return false;
	s->line = line->number;
	return true;
}

static bool more(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_paster_state *s = cs_paster_state(p);
	size_t base = line->indent < indent_of(s) ? line->indent : indent_of(s);
	struct cs_span text = {line->text + base, line->len - base};

	if (s->number & BROKEN && mend(p, line))
		return true;
	switch (s->phase) {
	case MESSAGE:
	case BLANK:
		return go_on(p, line, text);
	case CALLER:
		return line->indent > 0;
	case CHAIN: /* in a group, an exception may have no frames */
		return s->number & GROUP && more_frames(p, line, text);
	case HEADER:
	case FRAMES:
		return more_frames(p, line, text);
	default:
		return false;
	}
}

/* Who printed one died of an exception, unless its message said something else. */
static void end(struct cs_paster *p)
{
	const struct cs_paster_state *s = cs_paster_state(p);

	if (s->phase != OUTSIDE && s->phase != CHAIN && !(s->number & (CUT | ASIDE)))
		cs_paster_kind(p, CS_PASTE_CRASH);
}

#define BAR "\xe2\x94\x82" /* rich's boxes */
#define ARROW "\xe2\x9d\xb1"
#define LAST "Traceback (most recent call last)"
#define IN_FILE "File \""

static const struct cs_rule rules[] = {
	{IN_FILE, "^ *(File \".*\", line \\d+(?:, in .+)?)$", take_frame},
	{IN_FILE, "^ *(File \"(?:[^\"]+|.*\", line \\d+,(?: in)?))$", take_broken},
	{LAST, "^ *\xe2\x95\xad", take_box},
	{LAST, "^([A-Za-z_]\\w*) {3,}Traceback \\(most recent call last\\)$", take_ipython},
	{LAST, "^(.*?)Traceback \\(most recent call last\\):?$", take_header},
	{"above exception", "^[ |]*(?:During handling of the above exception, another exception occurred|"
			    "The above exception was the direct cause of the following exception):?$",
	 take_chain},
	{"Exception in thread ", "^ *Exception in thread (.+?):?$", take_thread},
	{"Exception ignored ", "^ *Exception ignored (?:in|while|on) ?(?:.*)$", take_ignored},
	{"terminated with the following error:", "^ *-- Process \\d+ terminated with the following error:$",
	 take_chain},
	{"Process ", "^ *Process ([A-Za-z_]\\S*):$", take_process},
	{"[Previous line repeated ", "^ *\\[Previous line repeated (\\d+) more times?\\]$", take_repeated},
	{"\"\"\"", "^ *\"\"\"$", take_quote},
	{"RemoteTraceback:", "^(?:[a-z_]+\\.)*_?RemoteTraceback:$", take_quote},
	{"|", "^ *\\| ?(.*)$", take_group_line},
	{"+-", "^ *\\+-[-+]*(?: (\\d+) -+)?$", take_group_rule},
	{BAR, "^ *" BAR " ([/~<A-Za-z](?:(?!" ARROW ").)*?):(\\d+) in (\\S.*?) *(?:" BAR ")?$",
	 take_box_frame},
	{BAR, "^ *" BAR " in (\\S+):(\\d+) *(?:" BAR ")?$", take_box_module},
	{BAR, "^ *" BAR " (/\\S+)? *", take_box_line},
	{"\xe2\x95\xb0", "^ *\xe2\x95\xb0", take_box_end},
	{"File ", "^File (.+?):(\\d+), in ([^(]+)(?:\\(.*)?$", take_ipython_frame},
	{"Cell In", "^(Cell In ?\\[\\d+\\]), line (\\d+)(?:, in ([^(]+)(?:\\(.*)?)?$", take_ipython_frame},
	{"Input In", "^(Input In \\[\\d+\\])(x)?, in ([^(]+)(?:\\(.*)?$", take_ipython_frame},
	{" in ", "^([/~<][^ ]*)(x)? in ([^( ]+)(?:\\(.*)?$", take_ipython_frame},
	{"-> ", "^-+> ?(\\d+)", take_ipython_arrow},
	{"Traceback (most recent call first)", "^ *Traceback \\(most recent call first\\):", take_last_first},
	{"Error in ", "^ *Error in (?:atexit\\._run_exitfuncs|sys\\.excepthook):$", take_ignored},
	{"--- Logging error ---", "^ *--- Logging error ---$", take_logging},
	{"Call stack:", "^ *Call stack:$", take_caller},
	{"Segfault", "^ *!!+ (?:TVM FFI encountered a Segfault|Segfault encountered) !!+$", take_tvm},
	{"Original exception was:", "^ *Original exception was:$", take_chain},
};

const struct cs_dialect cs_dialect_traceback = {
	.name = "traceback",
	.rules = rules,
	.n_rules = CS_COUNT(rules),
	.more = more,
	.end = end,
};
