/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The report being made: threads, frames and messages as dialects find them. Where one report ends and the
 * next begins is decided here: a dump's beginning ends a report that has stacks, and takes along the messages
 * right before it.
 */
#include "paste/reading.h"

#include "base/limits.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

struct cs_arena *cs_paster_arena(struct cs_paster *p)
{
	if (!p->arena)
		p->arena = cs_arena_create(CS_MAX_PASTE_ARENA);
	p->reading->nomem |= !p->arena;
	return p->arena;
}

const char *cs_paster_keep(struct cs_paster *p, const char *text, size_t len)
{
	struct cs_arena *arena = cs_paster_arena(p);
	const char *copy = arena ? cs_arena_strndup(arena, text, len) : NULL;

	if (!copy)
		p->paste.dropped++;
	return copy ? copy : "";
}

static void reach(struct cs_paster *p, const struct cs_line *line)
{
	if (!p->first_line)
		p->first_line = line->at;
	p->last_line = line->at;
}

/* A text of a report that may have ended since: in this report's arena, once for all of its copies. */
static const char *own(struct cs_paster *p, const char *text)
{
	const char *copy = text && cs_paster_arena(p) ? cs_arena_intern(p->arena, text) : NULL;

	p->paste.dropped += text && !copy;
	return copy;
}

/* ---- threads and frames ---- */

static void reverse(struct cs_paste_frame *v, size_t n)
{
	for (size_t i = 0; i + 1 < n - i; i++) {
		struct cs_paste_frame swap = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = swap;
	}
}

void cs_paster_end_thread(struct cs_paster *p)
{
	struct cs_paste_thread *t = p->in_thread ? &p->threads.v[p->threads.n - 1] : NULL;
	struct cs_paste_frame *copy;

	if (!t)
		return;
	p->in_thread = false;
	if (p->outermost_first)
		reverse(p->frames.v, p->frames.n);
	copy = cs_paster_arena(p) ? cs_arena_calloc(p->arena, p->frames.n + 1, sizeof(*copy)) : NULL;
	if (copy && p->frames.n) {
		memcpy(copy, p->frames.v, p->frames.n * sizeof(*copy));
		t->frames = copy;
		t->n_frames = p->frames.n;
	}
	p->paste.dropped += copy ? 0 : p->frames.n;
	p->frames.n = 0;
}

void cs_paster_thread(struct cs_paster *p, const struct cs_paste_thread *like, bool outermost_first)
{
	struct cs_paste_thread *thread;

	cs_paster_end_thread(p);
	if (p->threads.n >= CS_MAX_THREADS ||
	    !cs_ok(CS_PUSH(&p->threads, *like, CS_MAX_THREADS, "threads"))) {
		p->paste.dropped++;
		return;
	}
	p->in_thread = true;
	p->outermost_first = outermost_first;
	thread = &p->threads.v[p->threads.n - 1];
	thread->name = own(p, thread->name);
	thread->role = own(p, thread->role);
	thread->frames = NULL;
	thread->n_frames = 0;
}

struct cs_paste_thread *cs_paster_current(struct cs_paster *p)
{
	return p->in_thread ? &p->threads.v[p->threads.n - 1] : NULL;
}

void cs_paster_frame(struct cs_paster *p, const struct cs_paste_frame *frame)
{
	static const struct cs_paste_thread unknown = {0};
	struct cs_paste_frame copy = *frame;

	if (!p->in_thread)
		cs_paster_thread(p, &unknown, false);
	copy.function = own(p, frame->function);
	copy.library = own(p, frame->library);
	copy.file = own(p, frame->file);
	if (!p->in_thread || p->n_frames >= CS_MAX_FACT_FRAMES ||
	    !cs_ok(CS_PUSH(&p->frames, copy, CS_MAX_FACT_FRAMES, "frames"))) {
		p->paste.dropped++;
		return;
	}
	p->n_frames++;
	p->n_frames_ever++;
	/* At once: the report may end before the line does. */
	p->had |= UINT64_C(1) << p->asked;
	if (!p->paste.format)
		p->paste.format = cs_dialects[p->asked]->name;
}

struct cs_paste_frame *cs_paster_last_frame(struct cs_paster *p)
{
	return p->in_thread && p->frames.n ? &p->frames.v[p->frames.n - 1] : NULL;
}

size_t cs_paster_count_threads(const struct cs_paster *p)
{
	return p->threads.n;
}

struct cs_paste_thread *cs_paster_thread_at(struct cs_paster *p, size_t i)
{
	return &p->threads.v[i];
}

void cs_paster_forget_thread(struct cs_paster *p, size_t i)
{
	if (p->in_thread && i + 1 == p->threads.n) {
		p->in_thread = false;
		p->frames.n = 0;
	}
	p->threads.n--;
	memmove(p->threads.v + i, p->threads.v + i + 1, (p->threads.n - i) * sizeof(*p->threads.v));
}

bool cs_paster_has_tid(const struct cs_paster *p, int32_t tid)
{
	for (size_t i = 0; tid && i < p->threads.n; i++)
		if (p->threads.v[i].tid == tid)
			return true;
	return false;
}

bool cs_paster_has(const struct cs_paster *p, const struct cs_dialect *dialect)
{
	for (size_t i = 0; cs_dialects[i]; i++)
		if (cs_dialects[i] == dialect)
			return p->had >> i & 1;
	return false;
}

/* ---- messages ---- */

void cs_paster_message(struct cs_paster *p, const struct cs_line *line, const char *text)
{
	struct cs_message_part part = {
		.first = line->number,
		.last = line->number,
		.at = line->at,
		.after_stack = p->threads.n != 0,
	};

	reach(p, line);
	cs_strbuf_init(&part.text, CS_MAX_FACT_MESSAGE);
	cs_strbuf_puts(&part.text, text);
	if (p->messages.n < CS_MAX_FACT_MESSAGES &&
	    cs_ok(CS_PUSH(&p->messages, part, CS_MAX_FACT_MESSAGES, "messages")))
		return;
	cs_strbuf_deinit(&part.text);
	p->paste.dropped++;
}

void cs_paster_continue(struct cs_paster *p, const struct cs_line *line, const char *text)
{
	struct cs_message_part *last = p->messages.n ? &p->messages.v[p->messages.n - 1] : NULL;

	if (!last) {
		cs_paster_message(p, line, text);
		return;
	}
	reach(p, line);
	cs_strbuf_putc(&last->text, '\n');
	cs_strbuf_puts(&last->text, text);
	last->last = line->number;
}

const char *cs_paster_last_message(const struct cs_paster *p, size_t *ret_line)
{
	const struct cs_message_part *last = p->messages.n ? &p->messages.v[p->messages.n - 1] : NULL;

	*ret_line = last ? last->last : 0;
	return last ? cs_strbuf_text(&last->text) : NULL;
}

size_t cs_paster_count_messages(const struct cs_paster *p)
{
	return p->messages.n;
}

void cs_paster_weigh(struct cs_paster *p, size_t i, enum cs_paste_weight weight)
{
	if (i < p->messages.n)
		p->messages.v[i].weight = weight;
}

/* ---- what is known of the process ---- */

void cs_paster_signal(struct cs_paster *p, const char *name)
{
	static const struct {
		const char *text, *name;
	} words[] = {
		{"segfault", "SIGSEGV"},
		{"segmentation fault", "SIGSEGV"},
		{"segmentation violation", "SIGSEGV"},
		{"bus error", "SIGBUS"},
		{"aborted", "SIGABRT"},
		{"abort", "SIGABRT"},
		{"illegal instruction", "SIGILL"},
		{"floating point exception", "SIGFPE"},
		{"floating-point exception", "SIGFPE"},
		{"arithmetic exception", "SIGFPE"},
		{"killed", "SIGKILL"},
		{"terminated", "SIGTERM"},
		{"hangup", "SIGHUP"},
		{"interrupt", "SIGINT"},
		{"trace/breakpoint trap", "SIGTRAP"},
		{"bad system call", "SIGSYS"},
	};

	if (p->paste.signal || !name)
		return;
	for (size_t i = 0; i < CS_COUNT(words); i++)
		if (!strcasecmp(name, words[i].text))
			name = words[i].name;
	if (!strncmp(name, "SIG", 3))
		p->paste.signal = cs_paster_keep(p, name, strlen(name));
}

void cs_paster_signal_number(struct cs_paster *p, int number)
{
	const char *name = number > 0 && number < NSIG ? sigabbrev_np(number) : NULL;
	char full[32];

	if (!name)
		return;
	snprintf(full, sizeof(full), "SIG%s", name);
	cs_paster_signal(p, full);
}

void cs_paster_exit(struct cs_paster *p, int32_t status)
{
	if (p->paste.has_exit || status < -64 || status > 255)
		return;
	p->paste.has_exit = true;
	p->paste.exit = status;
}

void cs_paster_kind(struct cs_paster *p, enum cs_paste_kind kind)
{
	if (!p->paste.kind)
		p->paste.kind = kind;
}

enum cs_paste_kind cs_paster_known_kind(const struct cs_paster *p)
{
	return p->paste.kind;
}

int32_t cs_paster_known_pid(const struct cs_paster *p)
{
	return p->paste.pid;
}

void cs_paster_drop(struct cs_paster *p, size_t n)
{
	p->paste.dropped += n;
}

void cs_paster_pid(struct cs_paster *p, int32_t pid)
{
	if (!p->paste.pid && pid > 0)
		p->paste.pid = pid;
}

#define ADD_PAIR(list, name, value)                                                                      \
	do {                                                                                             \
		struct cs_paste_pair pair_ = {cs_paster_keep(p, name, strlen(name)),                     \
					      cs_paster_keep(p, value, strlen(value))};                  \
		if (!cs_ok(CS_PUSH(list, pair_, CS_MAX_PASTE_PAIRS, "pairs")))                           \
			p->paste.dropped++;                                                              \
	} while (0)

void cs_paster_version(struct cs_paster *p, const char *name, const char *value)
{
	ADD_PAIR(&p->versions, name, value);
}

void cs_paster_variable(struct cs_paster *p, const char *name, const char *value)
{
	ADD_PAIR(&p->environment, name, value);
}

void cs_paster_fact(struct cs_paster *p, const char *word)
{
	for (size_t i = 0; i < p->facts.n; i++)
		if (!strcmp(p->facts.v[i], word))
			return;
	if (!cs_ok(CS_PUSH(&p->facts, word, CS_MAX_PASTE_PAIRS, "facts")))
		p->paste.dropped++;
}

void cs_paster_explained(struct cs_paster *p)
{
	p->paste.explained = true;
}

void cs_paster_module(struct cs_paster *p, const char *name)
{
	const char *kept = own(p, name);

	if (!kept || !cs_ok(CS_PUSH(&p->modules, kept, CS_MAX_MODULES, "modules")))
		p->paste.dropped++;
}

struct cs_paster_state *cs_paster_state(struct cs_paster *p)
{
	return &p->states[p->asked];
}

/* ---- where a report ends ---- */

static void *copy_list(struct cs_paster *p, const void *v, size_t n, size_t size)
{
	void *copy = cs_arena_calloc(p->arena, n + 1, size);

	if (copy && n)
		memcpy(copy, v, n * size);
	p->reading->nomem |= !copy;
	return copy;
}

/* Whether it died, where no line says so: who has an error or a signal did; who has only stacks was looked
 * at. */
static enum cs_paste_kind kind_of(const struct cs_paste *paste)
{
	if (paste->kind)
		return paste->kind;
	if (paste->signal || (paste->has_exit && paste->exit))
		return CS_PASTE_CRASH;
	return paste->n_messages || !paste->n_threads ? CS_PASTE_CRASH : CS_PASTE_HANG;
}

static void fill_messages(struct cs_paster *p, const char **texts)
{
	enum cs_paste_weight *weights = cs_arena_calloc(p->arena, p->messages.n + 1, sizeof(*weights));

	p->reading->nomem |= !weights;
	for (size_t i = 0; weights && i < p->messages.n; i++) {
		texts[i] = cs_strbuf_text(&p->messages.v[i].text);
		weights[i] = p->messages.v[i].weight;
	}
	p->paste.messages = texts;
	p->paste.weights = weights;
}

static void fill(struct cs_paster *p, const char **texts)
{
	struct cs_paste *paste = &p->paste;

	paste->n_threads = p->threads.n;
	paste->n_messages = p->messages.n;
	paste->kind = kind_of(paste);
	/* A dialect may have taken the thread that a dump names for where it struck. */
	for (size_t i = 0; paste->kind == CS_PASTE_HANG && i < p->threads.n; i++)
		p->threads.v[i].crashed = false;
	paste->threads = copy_list(p, p->threads.v, p->threads.n, sizeof(*p->threads.v));
	paste->versions = copy_list(p, p->versions.v, p->versions.n, sizeof(*p->versions.v));
	paste->n_versions = p->versions.n;
	paste->environment = copy_list(p, p->environment.v, p->environment.n, sizeof(*p->environment.v));
	paste->n_environment = p->environment.n;
	paste->facts = copy_list(p, p->facts.v, p->facts.n, sizeof(*p->facts.v));
	paste->n_facts = p->facts.n;
	if (p->modules.n)
		paste->modules = copy_list(p, p->modules.v, p->modules.n, sizeof(*p->modules.v));
	paste->n_modules = paste->modules ? p->modules.n : 0;
	fill_messages(p, texts);
	paste->format = paste->format ? paste->format : "log";
	paste->line = p->first_line;
	paste->n_lines = p->last_line - p->first_line + 1;
	if (!paste->source)
		paste->source = p->label;
}

static void hand_over(struct cs_paster *p)
{
	const char **texts = calloc(p->messages.n + 1, sizeof(*texts));

	if (texts && cs_paster_arena(p))
		fill(p, texts);
	p->reading->nomem |= !texts;
	if (!p->reading->nomem && !p->reading->error)
		p->reading->error = p->reading->fn(p->reading->arg, &p->paste);
	free(texts);
}

static bool says_anything(const struct cs_paster *p)
{
	return p->n_frames || p->messages.n || p->paste.signal || p->paste.has_exit;
}

static void forget(struct cs_paster *p)
{
	for (size_t i = 0; i < p->messages.n; i++)
		cs_strbuf_deinit(&p->messages.v[i].text);
	p->messages.n = 0;
	p->threads.n = 0;
	p->frames.n = 0;
	p->versions.n = 0;
	p->environment.n = 0;
	p->facts.n = 0;
	p->modules.n = 0;
	p->n_frames = 0;
	p->in_thread = false;
	p->had = 0;
	p->first_line = 0;
	p->last_line = 0;
	p->last_stack_line = 0;
	p->paste = (struct cs_paste){0};
	/* A dialect may begin a report with texts that it has from the same line. */
	if (p->arena && !cs_ok(CS_PUSH(&p->retired, p->arena, CS_MAX_PASTE_STREAMS, "arenas")))
		cs_arena_destroy(p->arena);
	p->arena = NULL;
}

void cs_paster_line_over(struct cs_paster *p)
{
	while (p->retired.n)
		cs_arena_destroy(p->retired.v[--p->retired.n]);
}

void cs_paster_close_dialect(struct cs_paster *p)
{
	size_t asked = p->asked;

	if (p->open == CS_NO_DIALECT)
		return;
	p->asked = p->open;
	if (cs_dialects[p->open]->end)
		cs_dialects[p->open]->end(p);
	cs_strbuf_deinit(&p->states[p->open].text);
	p->states[p->open] = (struct cs_paster_state){0};
	p->open = CS_NO_DIALECT;
	p->asked = asked;
}

void cs_paster_finish(struct cs_paster *p)
{
	cs_paster_close_dialect(p);
	cs_paster_end_thread(p);
	if (says_anything(p))
		hand_over(p);
	forget(p);
}

void cs_paster_fresh(struct cs_paster *p, const struct cs_line *line)
{
	struct cs_message_part moved = {0};
	struct cs_message_part *last = p->messages.n ? &p->messages.v[p->messages.n - 1] : NULL;

	if (!p->threads.n) {
		reach(p, line);
		return;
	}
	if (last && last->after_stack && last->last + 1 == line->number &&
	    last->first > p->last_stack_line + 1) {
		moved = *last;
		p->messages.n--;
	}
	cs_paster_finish(p);
	if (moved.first) {
		moved.after_stack = false;
		p->first_line = moved.at;
		if (!cs_ok(CS_PUSH(&p->messages, moved, CS_MAX_FACT_MESSAGES, "messages")))
			cs_strbuf_deinit(&moved.text);
	}
	reach(p, line);
}

void cs_paster_cut(struct cs_paster *p, const struct cs_line *line, const char *source)
{
	char *kept = source ? strdup(source) : NULL; /* its text may end with the report */

	cs_paster_finish(p);
	if (!kept)
		return;
	p->paste.source = cs_paster_keep(p, kept, strlen(kept));
	reach(p, line);
	free(kept);
}

void cs_paster_separate(struct cs_paster *p, const struct cs_line *line, const char *source)
{
	p->reading->separated |= !line->label;
	if (source || says_anything(p)) /* else a box: what it is of comes next, and versions stay */
		cs_paster_cut(p, line, source);
}

void cs_paster_deinit(struct cs_paster *p)
{
	forget(p);
	for (size_t i = 0; i < CS_MOST_DIALECTS; i++)
		cs_strbuf_deinit(&p->states[i].text);
	cs_paster_line_over(p);
	free(p->retired.v);
	free(p->threads.v);
	free(p->frames.v);
	free(p->messages.v);
	free(p->versions.v);
	free(p->environment.v);
	free(p->facts.v);
	free(p->modules.v);
	free(p->label);
}
