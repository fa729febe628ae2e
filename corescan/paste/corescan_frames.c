/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames and titles of threads, as report/text_frames.c and report/text_threads.c print them. Some are cut:
 * what is left of a name is no name, so a name is used up to a bracket that is not closed, and else says by
 * its dots that it goes on.
 */
#include "paste/corescan_page.h"

#include "base/limits.h"

#include <ctype.h>
#include <string.h>

#define MOST_REPEATED 64 /* frames of a run */
#define TURNS 12         /* of a run, so that it is known for a recursion where the page does not say it */

static struct cs_span before(struct cs_span s, size_t len)
{
	return (struct cs_span){s.at, CS_MIN(len, s.len)};
}

bool cs_own_number(struct cs_span *s, uint64_t *ret)
{
	uint64_t n = 0;
	size_t i = 0;

	for (; i < s->len && i < 24; i++) {
		bool comma = s->at[i] == ',' && i && i + 1 < s->len && isdigit((unsigned char)s->at[i + 1]);

		if (isdigit((unsigned char)s->at[i]))
			n = n * 10 + (uint64_t)(s->at[i] - '0');
		else if (!comma)
			break;
	}
	if (!i)
		return false;
	*s = cs_span_from(*s, i);
	*ret = n;
	return true;
}

/* ---- frames ---- */

/* How a frame was found, behind it. */
static struct cs_span without_doubt(struct cs_span s)
{
	static const char *const words[] = {" [inlined]", " [frame pointer]",
					    " [found by scanning: may be stale]"};

	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (cs_span_ends(s, words[i]))
			s.len -= strlen(words[i]);
	return s;
}

/* "0x00007f0012345678 f", with --all. What is in no module begins with such a number, too, and ends with a
 * remark. */
static struct cs_span without_address(struct cs_span s)
{
	if (s.len < 20 || !cs_span_begins(s, "0x") || s.at[18] != ' ' ||
	    strspn(s.at + 2, "0123456789abcdef") != 16)
		return s;
	if (s.at[19] == '(' && cs_span_close(s, 19) == s.len)
		return s;
	return cs_span_from(s, 19);
}

/* "f+0x12", with --all */
static struct cs_span without_offset(struct cs_span s)
{
	const char *plus = s.len ? memrchr(s.at, '+', s.len) : NULL;
	size_t at = plus ? (size_t)(plus - s.at) : 0;

	if (!at || s.len < at + 4 || memcmp(plus, "+0x", 3))
		return s;
	for (size_t i = at + 3; i < s.len; i++)
		if (!isxdigit((unsigned char)s.at[i]))
			return s;
	return before(s, at);
}

/* Where the outermost bracket that is not closed stands; s.len: all are closed. */
static size_t unclosed(struct cs_span s)
{
	for (size_t i = 0; i < s.len; i++) {
		size_t end;

		if (!strchr("(<[{", s.at[i]))
			continue;
		/* operator<, operator(), operator-> */
		if (s.at[i] == '<' && i >= 8 && !memcmp(s.at + i - 8, "operator", 8))
			continue;
		end = cs_span_close(s, i);
		if (end > s.len)
			return i;
		i = end - 1;
	}
	return s.len;
}

/* What is left of a name that was cut. */
static struct cs_span uncut(struct cs_span name)
{
	struct cs_span left;
	size_t at;

	if (!cs_span_ends(name, "..."))
		return name;
	left = before(name, name.len - 3);
	at = unclosed(left);
	return at && at < left.len ? before(left, at) : name;
}

/* "libx.so" of " (libx.so)" at the end of @s, which is taken off; one that was cut is taken off alone. */
static struct cs_span take_library(struct cs_span *s)
{
	const char *open = s->len ? memrchr(s->at, '(', s->len) : NULL;
	size_t at = open ? (size_t)(open - s->at) : 0;
	struct cs_span library = {0}, rest;

	if (at < 2 || s->at[at - 1] != ' ')
		return library;
	rest = before(*s, at - 1);
	if (cs_span_ends(*s, ")")) {
		library = (struct cs_span){s->at + at + 1, s->len - at - 2};
		*s = rest;
	} else if (cs_span_ends(*s, "...") && unclosed(rest) == rest.len) {
		*s = rest;
	}
	return library;
}

static void put_named(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame)
{
	struct cs_span library = take_library(&s), name;
	size_t at = cs_span_find(s, " at ");

	if (at < s.len)
		cs_paste_place(p, cs_span_from(s, at + 4), frame);
	name = uncut(without_offset(before(s, at)));
	if (name.len)
		frame->function = cs_paster_keep(p, name.at, name.len);
	frame->library = cs_paste_library(p, library);
}

/* "libx.so+0x12 (nearest exported: f+0x3)": whose code it is, nobody knows. */
static bool put_nameless(struct cs_paster *p, struct cs_span s, struct cs_paste_frame *frame)
{
	size_t at = CS_MIN(cs_span_find(s, " (nearest "), cs_span_find(s, " (no sym"));
	struct cs_span place = before(s, at), library = without_offset(place);

	if (cs_span_begins(s, "0x"))
		return true;
	if (library.len == place.len || (at == s.len && !cs_span_ends(s, "...")))
		return false;
	frame->library = cs_paste_library(p, library);
	return true;
}

static void add(struct cs_paster *p, const struct cs_paste_frame *frame)
{
	cs_paster_frame(p, frame);
	cs_paster_state(p)->counts[CS_OWN_FRAMES]++;
}

void cs_own_native(struct cs_paster *p, struct cs_span s, uint64_t n)
{
	struct cs_paste_frame frame = {.number = n <= INT64_MAX ? (int64_t)n : -1};

	s = without_address(without_doubt(cs_span_trim(s)));
	if (cs_span_begins(s, "<signal handler called>"))
		frame.function = "<signal handler called>";
	else if (!put_nameless(p, s, &frame))
		put_named(p, s, &frame);
	add(p, &frame);
}

void cs_own_python(struct cs_paster *p, struct cs_span s)
{
	struct cs_paste_frame frame = {.python = true, .number = -1};
	size_t at;

	s = without_address(without_doubt(cs_span_trim(s)));
	at = cs_span_find(s, " at ");
	if (at < s.len)
		cs_paste_place(p, cs_span_from(s, at + 4), &frame);
	if (at && !cs_span_begins(s, "<unreadable "))
		frame.function = cs_paster_keep(p, s.at, at);
	add(p, &frame);
}

bool cs_own_repeat(struct cs_paster *p, struct cs_span s, bool explained)
{
	struct cs_paster_state *state = cs_paster_state(p);
	const struct cs_paste_frame *last = cs_paster_last_frame(p);
	struct cs_paste_frame run[MOST_REPEATED];
	uint64_t period = 1, times = 0, turns;

	if (!cs_span_begins(s, "... the "))
		return false;
	s = cs_span_from(s, strlen("... the "));
	if (cs_span_begins(s, "frame above is there "))
		s = cs_span_from(s, strlen("frame above is there "));
	else if (cs_own_number(&s, &period) && cs_span_begins(s, " frames above repeat "))
		s = cs_span_from(s, strlen(" frames above repeat "));
	if (!cs_own_number(&s, &times) || !cs_span_begins(s, " times"))
		return false;
	if (!last || !period || period > MOST_REPEATED || period > state->counts[CS_OWN_FRAMES])
		return true;
	memcpy(run, last - (period - 1), period * sizeof(*run));
	/* Twice, as the report's own facts have them, where it is known whether they used up the stack. */
	turns = CS_MIN(times, explained ? 2 : (uint64_t)TURNS);
	for (uint64_t i = 1; i < turns && i * period < CS_MAX_PASTE_REPEAT; i++)
		for (uint64_t k = 0; k < period; k++)
			add(p, &run[k]);
	return true;
}

/* ---- titles ---- */

/* ` "name"`, taken off; a name may have anything in it. */
static const char *take_name(struct cs_paster *p, struct cs_span *s)
{
	if (!cs_span_begins(*s, " \""))
		return NULL;
	for (size_t i = 2; i < s->len; i++) {
		struct cs_span rest = cs_span_from(*s, i + 1);
		const char *name;

		if (s->at[i] != '"' ||
		    (rest.len && !strchr(",:", rest.at[0]) && !cs_span_begins(rest, " (")))
			continue;
		name = cs_paster_keep(p, s->at + 2, i - 2);
		*s = rest;
		return name;
	}
	return NULL;
}

/* " (nccl-watchdog)", taken off; an exception's state is in words. */
static const char *take_role(struct cs_paster *p, struct cs_span *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	size_t n = cs_span_begins(*s, " (") ? 2 : s->len, begin = n;
	const char *role;

	while (n < s->len && strchr(letters, s->at[n]))
		n++;
	if (n == begin || n >= s->len || s->at[n] != ')')
		return NULL;
	role = cs_paster_keep(p, s->at + begin, n - begin);
	*s = cs_span_from(*s, n + 1);
	return role;
}

static bool says(struct cs_span s, const char *words)
{
	return cs_span_find(s, words) < s.len;
}

/* ", holds the GIL, deadlocked: waits for a mutex that 17 has" */
static void read_state(struct cs_paster *p, struct cs_span s, struct cs_paste_thread *t)
{
	t->holds_gil = says(s, ", holds the GIL");
	t->waits_for_gil = says(s, ", waits for the GIL");
	if (t->holds_gil && t->waits_for_gil) {
		cs_paster_fact(p, "gil-holder-waits");
		t->holds_gil = false;
	}
	t->deadlocked = says(s, ", deadlocked");
	t->orphaned = says(s, " does not exist");
	if (says(s, ", collects garbage"))
		cs_paster_fact(p, "collecting");
	if (t->orphaned)
		cs_paster_fact(p, "lock-owner-gone");
}

/* How many of @n threads do it: "all wait for the GIL", "one holds the GIL", "8 wait for the GIL". */
static uint64_t share(struct cs_span s, const char *one, const char *many, uint64_t n)
{
	size_t at = CS_MIN(cs_span_find(s, one), cs_span_find(s, many)), begin = at;
	struct cs_span word;
	uint64_t count = 0;

	if (at >= s.len)
		return 0;
	while (begin && (isalnum((unsigned char)s.at[begin - 1]) || s.at[begin - 1] == ','))
		begin--;
	word = (struct cs_span){s.at + begin, at - begin};
	if (cs_span_is(word, "all"))
		return n;
	if (cs_span_is(word, "one"))
		return 1;
	return cs_own_number(&word, &count) ? count : 0;
}

struct group {
	uint64_t n, holding, waiting, deadlocked;
	struct cs_paste_thread like;
};

/* Thread number @i of a group: which of them do it is not said, only how many. */
static void begin_member(struct cs_paster *p, const struct group *g, uint64_t i, uint64_t tid)
{
	struct cs_paste_thread t = g->like;

	t.tid = tid <= INT32_MAX ? (int32_t)tid : 0;
	t.holds_gil = i < g->holding;
	t.waits_for_gil = i < g->waiting;
	t.deadlocked = i < g->deadlocked;
	cs_paster_thread(p, &t, false);
}

/* `, 18 "name"`: the next of a list, taken off; false at its end. */
static bool next_member(struct cs_paster *p, struct cs_span *list, uint64_t *ret, const char **ret_name)
{
	while (list->len && strchr(", ", list->at[0]))
		*list = cs_span_from(*list, 1);
	/* No "1,234": a comma is between two. */
	*ret = 0;
	if (!list->len || !isdigit((unsigned char)list->at[0]))
		return false;
	while (list->len && isdigit((unsigned char)list->at[0]) && *ret <= INT32_MAX) {
		*ret = *ret * 10 + (uint64_t)(list->at[0] - '0');
		*list = cs_span_from(*list, 1);
	}
	*ret_name = take_name(p, list);
	return !list->len || strchr(", )", list->at[0]);
}

static void add_members(struct cs_paster *p, struct group *g, struct cs_span list)
{
	struct cs_paster_state *state = cs_paster_state(p);
	const char *name;
	uint64_t tid;

	for (uint64_t i = 0; i < CS_MAX_THREADS && next_member(p, &list, &tid, &name); i++) {
		struct group named = *g;

		named.like.name = name ? name : g->like.name;
		if (i)
			state->counts[CS_OWN_FOLLOWERS]++;
		begin_member(p, &named, i, tid);
	}
}

static bool take_group(struct cs_paster *p, struct cs_span s)
{
	struct group g = {0};
	size_t colon;

	if (!cs_own_number(&s, &g.n) || !cs_span_begins(s, " threads"))
		return false;
	s = cs_span_from(s, strlen(" threads"));
	g.like.name = take_name(p, &s);
	g.like.role = take_role(p, &s);
	colon = cs_span_find(s, ":");
	if (s.len && s.at[0] != ',' && s.at[0] != ':')
		return false;
	cs_own_end_thread(p);
	g.holding = share(before(s, colon), " holds the GIL", " hold the GIL", g.n);
	g.waiting = share(before(s, colon), " waits for the GIL", " wait for the GIL", g.n);
	g.deadlocked = share(before(s, colon), " is in a deadlock", " are in a deadlock", g.n);
	if (share(before(s, colon), " collects garbage", " collect garbage", g.n))
		cs_paster_fact(p, "collecting");
	add_members(p, &g, cs_span_from(s, colon + (colon < s.len)));
	if (!cs_paster_current(p)) /* the list is on the next line */
		begin_member(p, &g, 0, 0);
	return true;
}

bool cs_own_title(struct cs_paster *p, struct cs_span s, bool crashed)
{
	struct cs_paste_thread t = {.crashed = crashed};
	struct cs_span rest = s;
	uint64_t tid;

	if (!crashed && take_group(p, s))
		return true;
	if (!cs_own_number(&rest, &tid) || (rest.len && !strchr(" ,", rest.at[0])))
		return false;
	t.tid = tid <= INT32_MAX ? (int32_t)tid : 0;
	t.name = take_name(p, &rest);
	t.role = take_role(p, &rest);
	read_state(p, rest, &t);
	cs_own_end_thread(p);
	cs_paster_thread(p, &t, false);
	return true;
}

bool cs_own_followers(struct cs_paster *p, struct cs_span list)
{
	struct cs_paste_thread *open = cs_paster_current(p), first;
	struct cs_paster_state *state = cs_paster_state(p);
	const char *name;
	uint64_t tid;
	size_t n = 0;

	if (!open || cs_paster_last_frame(p))
		return false;
	first = *open;
	cs_paster_forget_thread(p, cs_paster_count_threads(p) - 1);
	for (; n < CS_MAX_THREADS && next_member(p, &list, &tid, &name); n++) {
		struct cs_paste_thread t = first;

		t.tid = tid <= INT32_MAX ? (int32_t)tid : 0;
		t.name = name ? name : first.name;
		t.crashed = false;
		t.holds_gil = false;
		cs_paster_thread(p, &t, false);
	}
	/* One without a number stood for the list that had no room on its title's line. */
	state->counts[CS_OWN_FOLLOWERS] += n && !first.tid ? n - 1 : n;
	if (first.tid || !n)
		cs_paster_thread(p, &first, false);
	return n != 0;
}

void cs_own_end_thread(struct cs_paster *p)
{
	struct cs_paster_state *state = cs_paster_state(p);
	size_t followers = state->counts[CS_OWN_FOLLOWERS], n;

	cs_paster_end_thread(p);
	n = cs_paster_count_threads(p);
	for (size_t i = 0; i < followers && i + 1 < n; i++) {
		const struct cs_paste_thread *like = cs_paster_thread_at(p, n - 1);
		struct cs_paste_thread *t = cs_paster_thread_at(p, n - 2 - i);

		t->frames = like->frames;
		t->n_frames = like->n_frames;
	}
	state->counts[CS_OWN_FOLLOWERS] = 0;
	state->counts[CS_OWN_FRAMES] = 0;
}
