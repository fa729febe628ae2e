/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exceptions as a Python traceback reads: the most recent call last, what came first
 * above what followed from it. Knows how a traceback looks; refuses to know which
 * exception matters, for whoever filled the model sorted them.
 */
#include "base/limits.h"
#include "report/text_fold.h"
#include "report/text_sections.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define DEFAULT_EXCEPTIONS 3
#define DEFAULT_TIDS 6
#define CHAIN_TAIL                                                                       \
	3            /* latest exceptions of a chain that are shown, besides the first   \
		      */
#define TRACE_HEAD 4 /* outermost calls of a traceback */
#define TRACE_TAIL 20
#define MAX_FILE 120     /* columns of a file's path */
#define MAX_LINE 200     /* bytes of a message on the first screen */
#define MAX_MESSAGE 1200 /* bytes of a message unless --all */

static bool is_cxx(const struct cs_exception *e)
{
	return e->language && !strcmp(e->language, "c++");
}

/* The one for which std::terminate() was called, and those that native code keeps. */
static const char *cxx_state(const struct cs_exception *e)
{
	if (e->fatal)
		return e->state && !strcmp(e->state, "caught")
			       ? "being handled when the process ended"
			       : "nothing catches it";
	return e->state && !strcmp(e->state, "stored") ? "kept for later" : NULL;
}

const char *cs_text_exception_state(const struct cs_exception *e)
{
	static const struct {
		const char *state, *words;
	} all[] = {
		{"in-flight", "raised, not handled yet"},
		{"caught", "being handled"},
		{"stored", "kept after it was handled"},
	};

	if (is_cxx(e) && cxx_state(e))
		return cxx_state(e);
	for (size_t i = 0; e->state && i < CS_COUNT(all); i++)
		if (!strcmp(all[i].state, e->state))
			return all[i].words;
	return e->state;
}

static void put_type(struct cs_text *t, const struct cs_exception *e)
{
	cs_text_style(t, CS_STYLE_BAD);
	cs_text_put(t, e->type ? e->type : "<type not readable>");
	cs_text_plain(t);
}

/* The first @max bytes of @s at most, and no half of a character. */
static size_t prefix(const char *s, size_t max)
{
	size_t len = strnlen(s, max + 1);

	if (len <= max)
		return len;
	for (len = max; len && ((unsigned char)s[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

void cs_text_exception_line(struct cs_text *t, const struct cs_exception *e)
{
	const char *state = cs_text_exception_state(e);
	char line[MAX_LINE + 1];
	size_t len;

	put_type(t, e);
	if (e->message && *e->message) {
		len = CS_MIN(prefix(e->message, MAX_LINE), strcspn(e->message, "\n"));
		memcpy(line, e->message, len);
		line[len] = '\0';
		cs_text_printf(t, ": ");
		cs_text_put(t, line);
		if (e->message[len])
			cs_text_printf(t, " ...");
	}
	if (state) {
		cs_text_printf(t, " (");
		cs_text_put(t, state);
		cs_text_printf(t, ")");
	}
	cs_text_printf(t, "\n");
}

/* Where the last line of the first @len bytes begins; @len if there are not two. */
static size_t last_line(const char *s, size_t len)
{
	const char *end = memrchr(s, '\n', len);

	return end && end > s ? (size_t)(end + 1 - s) : len;
}

static void put_message(struct cs_text *t, const char *message)
{
	size_t len = prefix(message, MAX_MESSAGE);
	char text[MAX_MESSAGE + sizeof(" ... (--all)")];

	if (t->options->all || !message[len]) {
		cs_text_wrapped(t, 2, message);
		return;
	}
	if (t->issue) /* half a line looks like a whole one to who does not know that it was cut */
		len = last_line(message, len);
	memcpy(text, message, len);
	snprintf(text + len, sizeof(text) - len, "%s...%s", t->issue ? "" : " ",
		 cs_text_hint(t));
	cs_text_wrapped(t, 2, text);
}

/* Where a C++ exception was thrown, as it says itself: many lines, of which the first is the place. */
static void put_backtrace(struct cs_text *t, const char *backtrace)
{
	char line[MAX_LINE + 1];
	size_t len = CS_MIN(prefix(backtrace, MAX_LINE), strcspn(backtrace, "\n"));

	cs_text_printf(t, "  ");
	if (t->options->all) {
		cs_text_wrapped(t, 2, backtrace);
		return;
	}
	memcpy(line, backtrace, len);
	line[len] = '\0';
	cs_text_put(t, line);
	cs_text_printf(t, "%s%s\n", backtrace[len] ? " ..." : "", backtrace[len] ? cs_text_hint(t) : "");
}

/* "ValueError: its message" and its notes, each wrapped below itself. */
static void put_exception(struct cs_text *t, const struct cs_exception *e)
{
	cs_text_printf(t, "  ");
	put_type(t, e);
	if (e->message && *e->message) {
		cs_text_printf(t, ": ");
		put_message(t, e->message);
	} else {
		cs_text_printf(t, "\n");
	}
	if (e->code) {
		cs_text_printf(t, "  error code ");
		cs_text_put(t, e->code);
		cs_text_printf(t, "\n");
	}
	if (e->backtrace && *e->backtrace)
		put_backtrace(t, e->backtrace);
	for (size_t i = 0; i < e->n_notes; i++) {
		if (!e->notes[i] || !*e->notes[i])
			continue;
		cs_text_printf(t, "  ");
		put_message(t, e->notes[i]);
	}
}

static void put_call(struct cs_text *t, const struct cs_frame *f)
{
	cs_text_printf(t, "    File \"");
	if (t->issue)
		cs_text_put(t, f->file ? f->file : "?"); /* cut on the left, a home would not be known */
	else
		cs_text_put_tail(t, f->file ? f->file : "?", MAX_FILE);
	cs_text_printf(t, "\"");
	if (f->line)
		cs_text_printf(t, ", line %" PRIu32, f->line);
	cs_text_printf(t, ", in ");
	if (f->function)
		cs_text_put(t, f->function);
	else
		cs_text_printf(t, "<unreadable code of frame 0x%" PRIx64 ">", f->address);
	cs_text_printf(t, "\n");
	if (f->source) {
		cs_text_printf(t, "      ");
		cs_text_put(t, f->source + strspn(f->source, " \t\f"));
		cs_text_printf(t, "\n");
	}
}

static void put_remark(struct cs_text *t, const char *fmt, ...) CS_PRINTF(2, 3);
static void put_remark(struct cs_text *t, const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cs_text_printf(t, "    ");
	cs_text_style(t, CS_STYLE_DOUBT);
	cs_text_printf(t, "%s", text);
	cs_text_plain(t);
	cs_text_printf(t, "\n");
}

/* Index after the equal calls that end before @end, going inwards: a recursion's. */
static size_t equal_calls(const struct cs_exception *e, size_t end)
{
	size_t i = end - 1;

	while (i > 0 && !e->frames[i].repeat_period && !e->frames[i - 1].repeat_period &&
	       cs_text_same_frame(&e->frames[i], &e->frames[i - 1]))
		i--;
	return i;
}

static void put_calls(struct cs_text *t, const struct cs_exception *e, size_t begin,
		      size_t end)
{
	const struct cs_frame *f = &e->frames[begin];

	if (f->kind == CS_FRAME_GAP) {
		put_remark(t, "... calls are missing here");
		return;
	}
	put_call(t, f);
	if (end - begin > 1)
		put_remark(t, "... the call above is there %s times in a row",
			   cs_text_count(end - begin));
	else if (f->repeat_period == 1 && f->repeat_count > 1)
		put_remark(t, "... the call above is there %s times in a row",
			   cs_text_count(f->repeat_count));
	else if (f->repeat_period && f->repeat_count > 1)
		put_remark(t, "... the %s calls above repeat %s times",
			   cs_text_count(f->repeat_period),
			   cs_text_count(f->repeat_count));
}

static void put_traceback(struct cs_text *t, const struct cs_exception *e)
{
	size_t n = 0, at = 0, hidden;

	for (size_t end = e->n_frames; end > 0; end = equal_calls(e, end))
		n++;
	if (!n)
		return;
	hidden = t->options->all || n <= TRACE_HEAD + TRACE_TAIL + 1
			 ? 0
			 : n - TRACE_HEAD - TRACE_TAIL;
	cs_text_printf(t, "  Traceback (most recent call last):\n");
	for (size_t end = e->n_frames; end > 0; at++) {
		size_t begin = equal_calls(e, end);

		if (!hidden || at < TRACE_HEAD || at >= TRACE_HEAD + hidden)
			put_calls(t, e, begin, end);
		else if (at == TRACE_HEAD)
			put_remark(t, "... %s more calls%s", cs_text_count(hidden), cs_text_hint(t));
		end = begin;
	}
}

/* What led to @e, as Python tells it; NULL: nothing, or `raise ... from None`. */
static const struct cs_exception *before(const struct cs_exception *e)
{
	return e->cause ? e->cause : e->suppress_context ? NULL : e->context;
}

/* How the one above led to @e. */
static const char *link_words(const struct cs_exception *e)
{
	if (is_cxx(e))
		return e->cause ? "The next one carries the one above through native code:"
				: "The next one has the one above nested in it:";
	return e->cause ? "The next one names the one above as its cause (raise ... from ...):"
			: "While the one above was being handled, the next one was raised:";
}

void cs_text_exception_chain(struct cs_text *t, const struct cs_exception *last)
{
	const struct cs_exception *chain[CS_MAX_PY_EXCEPTIONS];
	size_t n = 0, hidden;

	for (const struct cs_exception *e = last; e && n < CS_COUNT(chain); e = before(e))
		chain[n++] = e;
	hidden = t->options->all || n <= CHAIN_TAIL + 2 ? 0 : n - CHAIN_TAIL - 1;
	for (size_t i = n; i-- > 0;) {
		if (hidden && i >= CHAIN_TAIL && i < n - 1) {
			if (i == CHAIN_TAIL)
				cs_text_printf(t, "\n  ... %s more exceptions%s\n",
					       cs_text_count(hidden), cs_text_hint(t));
			continue;
		}
		if (i + 1 < n) {
			cs_text_printf(t, "\n  ");
			cs_text_style(t, CS_STYLE_DIM);
			cs_text_printf(t, "%s", link_words(chain[i]));
			cs_text_plain(t);
			cs_text_printf(t, "\n\n");
		}
		put_traceback(t, chain[i]);
		put_exception(t, chain[i]);
	}
}

/* "3 threads: 1, 2, 3" */
static void put_tids(struct cs_text *t, const struct cs_analysis *a,
		     const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	size_t shown = 0, max = t->options->all ? fold->n : DEFAULT_TIDS;

	max = fold->n == max + 1 ? fold->n : max;
	cs_text_printf(t, "%s threads", cs_text_count(fold->n));
	for (size_t i = fold->first; i != CS_FOLD_END; i = folds->next[i]) {
		if (shown == max) {
			cs_text_printf(t, ", ... %s more", cs_text_count(fold->n - max));
			break;
		}
		cs_text_printf(t, "%s", shown++ ? "," : ":");
		cs_text_gap(t, 4, 12); /* the longest number and its comma */
		cs_text_printf(t, "%" PRId32, a->exceptions[i].tid);
	}
}

void cs_text_exception_title(struct cs_text *t, const struct cs_analysis *a,
			     const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	const struct cs_exception *e = &a->exceptions[fold->first];
	const struct cs_thread *thread = cs_text_thread(a, e->tid);
	const char *state = cs_text_exception_state(e);

	cs_text_style(t, CS_STYLE_STRONG);
	if (fold->n > 1) {
		put_tids(t, a, folds, fold);
	} else if (thread) {
		cs_text_printf(t, "Thread ");
		cs_text_thread_name(t, a, thread);
	} else {
		cs_text_printf(t, "No thread");
	}
	cs_text_plain(t);
	if (state) {
		cs_text_printf(t, " (");
		cs_text_put(t, state);
		cs_text_printf(t, ")");
	}
}

static uint64_t exception_hash(const void *things, size_t i)
{
	const struct cs_exception *e = &((const struct cs_exception *)things)[i];
	uint64_t h = cs_text_hash(cs_text_hash(e->fatal, e->type), e->message);

	return cs_text_hash_frames(cs_text_hash(h, e->state), e->frames, e->n_frames);
}

/* Chains are equal if each link is; the bound is that of the model. */
static bool exception_equal(const void *things, size_t i, size_t j)
{
	const struct cs_exception *a = &((const struct cs_exception *)things)[i];
	const struct cs_exception *b = &((const struct cs_exception *)things)[j];

	for (size_t n = 0; a && b && a != b && n < CS_MAX_PY_EXCEPTIONS; n++) {
		if (!cs_text_same(a->type, b->type) ||
		    !cs_text_same(a->message, b->message) ||
		    !cs_text_same(a->state, b->state) || a->fatal != b->fatal ||
		    !cs_text_same(a->code, b->code) ||
		    !cs_text_same(a->backtrace, b->backtrace) || a->n_notes != b->n_notes ||
		    !cs_text_same_frames(a->frames, a->n_frames, b->frames, b->n_frames))
			return false;
		for (size_t k = 0; k < a->n_notes; k++)
			if (!cs_text_same(a->notes[k], b->notes[k]))
				return false;
		a = before(a);
		b = before(b);
	}
	return !a == !b;
}

struct cs_error *cs_text_exceptions_fold(const struct cs_analysis *a, struct cs_text_folds *ret)
{
	const struct cs_text_fold_by by = {.hash = exception_hash,
					   .equal = exception_equal,
					   .things = a->exceptions};

	return cs_text_folds_init(ret, a->n_exceptions, &by);
}

struct cs_error *cs_text_exceptions(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(cs_text_folds_deinit) struct cs_text_folds folds = {0};
	bool every = t->options->threads || t->options->all;
	size_t shown = 0;

	if (!a->n_exceptions)
		return NULL;
	CS_TRY(cs_text_exceptions_fold(a, &folds));
	every |= folds.n <= DEFAULT_EXCEPTIONS + 1;
	if (a->n_exceptions > 1)
		cs_text_heading(t, "Exceptions: %s", cs_text_count(a->n_exceptions));
	else
		cs_text_heading(t, "Exception");
	for (; shown < folds.n && (every || shown < DEFAULT_EXCEPTIONS); shown++) {
		cs_text_printf(t, "\n");
		cs_text_exception_title(t, a, &folds, &folds.folds[shown]);
		cs_text_printf(t, "\n");
		cs_text_exception_chain(t, &a->exceptions[folds.folds[shown].first]);
	}
	if (shown < folds.n)
		cs_text_printf(t, "\n(%s more: --threads)\n",
			       cs_text_count(folds.n - shown));
	return NULL;
}
