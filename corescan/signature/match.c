/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions against facts. A signature is first asked whether its literals occur at all, which nearly
 * none survives; only then are threads walked.
 *
 * The thread that a condition is about is, unless it says so, the one that crashed; in a process that
 * did not crash, any thread that is not idle. Nearly every process has dozens of threads that wait for
 * work in the same libraries as a thread that waits in vain: decoys.yaml tells them apart.
 *
 * How sure a finding may be: an exception that was kept or handled proves less than the one that ended
 * the process; and a process that was only looked at may be waiting rightly, so that stacks alone prove
 * little, and general waits next to nothing - but where memory proves that a wait cannot end.
 */
#include "signature/match.h"

#include "base/limits.h"
#include "base/text.h"

#include <string.h>

#define IS_REPORTER 1U
#define IS_PLAIN 2U
#define GENERAL_PRIORITY 60 /* below: families and fall-backs */
#define NO_THREAD UINT32_MAX
/* Of a wait that cannot end: a process that has one of these does not wait rightly. */
#define PROOFS (CS_FACT_BIT(LOCK_CYCLE) | CS_FACT_BIT(LOCK_OWNER_GONE) | CS_FACT_BIT(ONLY_THREAD))

struct matcher {
	const struct cs_signature_set *set;
	struct cs_scanner *scanner;
	const struct cs_facts *facts;
	struct cs_arena *arena;
	uint8_t *flags;  /* of texts: IS_REPORTER, IS_PLAIN */
	bool *idle;      /* of stacks */
	uint32_t *tried; /* of stacks: the walk that it failed in */
	uint32_t walk;
	bool crashed;                        /* there is a crashed thread */
	CS_VEC(struct cs_evidence) evidence; /* of the alternative being tried */
	bool said;    /* it needs a message of what ended the process, and has it */
	bool handled; /* one of its messages is of an exception that is being handled */
	bool kept;    /* ... and has it only of an exception that was kept or handled */
	bool nomem;
};

static void matcher_deinit(struct matcher *m)
{
	free(m->flags);
	free(m->idle);
	free(m->tried);
	free(m->evidence.v);
}

/* ---- evidence ---- */

static void see(struct matcher *m, int32_t tid, int64_t frame, const char *text)
{
	struct cs_evidence e = {.tid = tid, .frame = frame, .text = text};

	if (m->evidence.n < CS_MAX_EVIDENCE)
		m->nomem |= !text || !cs_ok(CS_PUSH(&m->evidence, e, CS_MAX_EVIDENCE, "evidence"));
}

/* The line of a message that the pattern is found in, its middle if it is long. */
static void see_message(struct matcher *m, uint32_t pattern, const struct cs_fact_message *message)
{
	const char *text = m->facts->texts[message->text].text;
	size_t start, end, first, last;

	cs_scan_where(m->scanner, pattern, message->text, &start, &end);
	for (first = start;
	     first > 0 && text[first - 1] != '\n' && start - first < CS_MAX_EVIDENCE_TEXT / 4;)
		first--;
	while (first > 0 && first < start && text[first - 1] != '\n' && text[first - 1] != ' ')
		first++; /* not in the middle of a word */
	for (last = start; text[last] && text[last] != '\n' && last - first < CS_MAX_EVIDENCE_TEXT;)
		last++;
	while (first < start && ((unsigned char)text[first] & 0xc0) == 0x80)
		first++; /* not in the middle of a character */
	while (last > first && ((unsigned char)text[last] & 0xc0) == 0x80)
		last--;
	see(m, message->tid, -1, cs_text_utf8(m->arena, text + first, last - first));
}

/* ---- one thread ---- */

static bool found(const struct matcher *m, uint32_t pattern, uint32_t text)
{
	return cs_scan_text(m->scanner, pattern, text);
}

/* All patterns in frames from the innermost on, in order. @seen NULL: nobody asks for evidence. */
static bool in_order(struct matcher *m, const struct cs_patterns *patterns,
		     const struct cs_fact_frame *frames, uint32_t n, const struct cs_fact_thread *seen)
{
	size_t before = m->evidence.n;
	uint32_t next = 0;

	for (uint32_t i = 0; i < n && next < patterns->n; i++) {
		if (m->flags[frames[i].text] & IS_REPORTER)
			continue;
		if (!found(m, patterns->v[next], frames[i].text))
			continue;
		if (seen)
			see(m, seen->tid, frames[i].number, m->facts->texts[frames[i].text].shown);
		next++;
	}
	if (next < patterns->n)
		m->evidence.n = before;
	return next == patterns->n;
}

static bool top_is(struct matcher *m, uint32_t pattern, const struct cs_fact_stack *stack,
		   const struct cs_fact_thread *seen)
{
	const struct cs_fact_frame *top = NULL;

	for (uint32_t i = 0; i < stack->n_frames && !top; i++)
		if (!(m->flags[stack->frames[i].text] & (IS_REPORTER | IS_PLAIN)))
			top = &stack->frames[i];
	if (!top && !stack->n_frames && stack->n_python)
		top = &stack->python[0];
	if (!top || !found(m, pattern, top->text))
		return false;
	see(m, seen->tid, top->number, m->facts->texts[top->text].shown);
	return true;
}

static bool may_be(const struct matcher *m, const struct cs_thread_test *test,
		   const struct cs_fact_thread *t)
{
	if (!test->thread)
		return m->crashed ? t->crashed : !m->idle[t->stack];
	if (!strcmp(test->thread, "any"))
		return true;
	if (!strcmp(test->thread, "crashed"))
		return t->crashed;
	if (!strcmp(test->thread, "gil-holder"))
		return t->holds_gil;
	if (!strcmp(test->thread, "gil-waiter"))
		return t->waits_for_gil;
	if (!strcmp(test->thread, "deadlocked"))
		return t->deadlocked;
	if (!strcmp(test->thread, "orphaned"))
		return t->orphaned;
	/* What a report does not say of a thread is not known, so it may be. */
	if (!t->role && !t->name && !m->facts->threads_known)
		return true;
	if (!strcmp(test->thread, "main"))
		return t->main;
	return (t->role && !strcmp(t->role, test->thread)) || (t->name && !strcmp(t->name, test->thread));
}

/* True if the thread must be one of which memory proves that it waits in vain. */
static bool is_stuck(const struct cs_thread_test *test)
{
	return test->thread && (!strcmp(test->thread, "deadlocked") || !strcmp(test->thread, "orphaned"));
}

static bool shows(struct matcher *m, const struct cs_thread_test *test, const struct cs_fact_thread *t)
{
	const struct cs_fact_stack *stack = &m->facts->stacks[t->stack];
	size_t before = m->evidence.n;

	if (in_order(m, &test->frames, stack->frames, stack->n_frames, t) &&
	    in_order(m, &test->python, stack->python, stack->n_python, t) &&
	    (!test->top || top_is(m, test->top, stack, t))) {
		if (t->wait && is_stuck(test))
			see(m, t->tid, -1, t->wait);
		return true;
	}
	m->evidence.n = before;
	return false;
}

/* The first thread from @from on, besides @but, that passes; NO_THREAD: none. */
static uint32_t find_thread(struct matcher *m, const struct cs_thread_test *test, uint32_t from,
			    uint32_t but)
{
	if (from == 0)
		m->walk++;
	for (uint32_t i = from; i < m->facts->n_threads; i++) {
		const struct cs_fact_thread *t = &m->facts->threads[i];

		if (i == but || m->tried[t->stack] == m->walk || !may_be(m, test, t))
			continue;
		if (shows(m, test, t))
			return i;
		m->tried[t->stack] = m->walk;
	}
	return NO_THREAD;
}

static bool tests_thread(const struct cs_thread_test *test)
{
	return test->frames.n || test->python.n || test->top || is_stuck(test);
}

/* Every one of @tests holds for a thread that is not @but; each for itself. */
static bool others_hold(struct matcher *m, const struct cs_alternative *a, uint32_t but)
{
	for (uint32_t i = 0; i < a->n_others; i++) {
		struct cs_thread_test test = a->others[i];
		bool crashed = m->crashed, any;

		/* Another thread than the crashed one is any that is not idle. */
		m->crashed = false;
		any = find_thread(m, &test, 0, but) != NO_THREAD;
		m->crashed = crashed;
		if (!any)
			return false;
	}
	return true;
}

/* `same_thread: false`: frames of one thread, Python frames of one thread, which may be two. */
static bool apart_hold(struct matcher *m, const struct cs_alternative *a)
{
	struct cs_thread_test native = a->self, python = a->self;

	native.python.n = 0;
	python.frames.n = 0;
	python.top = 0;
	return find_thread(m, &native, 0, NO_THREAD) != NO_THREAD &&
	       find_thread(m, &python, 0, NO_THREAD) != NO_THREAD && others_hold(m, a, NO_THREAD);
}

static bool threads_hold(struct matcher *m, const struct cs_alternative *a)
{
	size_t before = m->evidence.n;
	uint32_t at = 0;

	if (!tests_thread(&a->self))
		return others_hold(m, a, NO_THREAD);
	if (a->self.apart && a->self.python.n)
		return apart_hold(m, a);
	/* Each of the others there must be at all. Then one is missing only besides the very thread that
	   it is, so that the loop below ends soon. */
	if (!others_hold(m, a, NO_THREAD))
		return false;
	m->evidence.n = before;
	while ((at = find_thread(m, &a->self, at, NO_THREAD)) != NO_THREAD) {
		if (others_hold(m, a, at))
			return true;
		m->evidence.n = before;
		m->walk++; /* that of the others is over, and what failed in it may be right here */
		at++;
	}
	return false;
}

/* ---- the process ---- */

static bool messages_hold(struct matcher *m, const struct cs_patterns *patterns)
{
	for (uint32_t i = 0; i < patterns->n; i++) {
		const struct cs_fact_message *best = NULL;

		for (uint32_t k = 0; k < m->facts->n_messages; k++) {
			const struct cs_fact_message *message = &m->facts->messages[k];

			if ((!best || (message->final && !best->final)) &&
			    found(m, patterns->v[i], message->text))
				best = message;
		}
		if (!best)
			return false;
		see_message(m, patterns->v[i], best);
		m->said |= best->final;
		m->kept |= !best->final;
		m->handled |= best->handled && !best->final;
	}
	return true;
}

static bool modules_hold(struct matcher *m, const struct cs_patterns *patterns)
{
	for (uint32_t i = 0; i < patterns->n; i++) {
		uint32_t k = 0;

		while (k < m->facts->n_modules && !found(m, patterns->v[i], m->facts->modules[k]))
			k++;
		if (k == m->facts->n_modules)
			return false;
	}
	return true;
}

static bool exit_holds(const struct cs_alternative *a, const struct cs_facts *f)
{
	for (uint32_t i = 0; i < a->n_exits && f->has_exit; i++) {
		/* -9 and 137 are the same end, told by the kernel and by a shell. */
		int32_t want = a->exits[i] < 0 ? 128 - a->exits[i] : a->exits[i];

		if (want == (f->exit < 0 ? 128 - f->exit : f->exit))
			return true;
	}
	return !a->n_exits;
}

static bool environment_holds(struct matcher *m, const struct cs_alternative *a)
{
	for (uint32_t i = 0; i < a->n_env; i++) {
		const char *value = cs_facts_variable(m->facts, a->env[i].name);

		if (!value || !cs_scan_bytes(m->scanner, a->env[i].value, value))
			return false;
	}
	return true;
}

static bool all_may(const struct matcher *m, const struct cs_patterns *patterns, enum cs_text_kind kind)
{
	for (uint32_t i = 0; i < patterns->n; i++)
		if (!cs_scan_may(m->scanner, patterns->v[i], kind))
			return false;
	return true;
}

static bool thread_may(const struct matcher *m, const struct cs_thread_test *test)
{
	return all_may(m, &test->frames, CS_TEXT_NATIVE) && all_may(m, &test->python, CS_TEXT_PYTHON) &&
	       (!test->top || cs_scan_may(m->scanner, test->top, CS_TEXT_NATIVE) ||
		cs_scan_may(m->scanner, test->top, CS_TEXT_PYTHON));
}

/* What costs nothing to ask, and is false of nearly every alternative. */
static bool may_hold(const struct matcher *m, const struct cs_alternative *a)
{
	const struct cs_facts *f = m->facts;

	if ((a->kinds && !(a->kinds & 1U << f->kind)) || (a->facts & ~f->facts) ||
	    (a->signal && !f->has_signal) || (a->n_exits && !f->has_exit))
		return false;
	if (!all_may(m, &a->message, CS_TEXT_MESSAGE) || !all_may(m, &a->modules, CS_TEXT_MODULE) ||
	    !thread_may(m, &a->self))
		return false;
	for (uint32_t i = 0; i < a->n_others; i++)
		if (!thread_may(m, &a->others[i]))
			return false;
	return true;
}

static bool holds(struct matcher *m, const struct cs_alternative *a)
{
	m->evidence.n = 0;
	m->said = false;
	m->kept = false;
	m->handled = false;
	return may_hold(m, a) && (!a->signal || found(m, a->signal, m->facts->signal)) &&
	       exit_holds(a, m->facts) && cs_versions_hold(&a->versions, m->facts) &&
	       environment_holds(m, a) && messages_hold(m, &a->message) && modules_hold(m, &a->modules) &&
	       threads_hold(m, a);
}

static enum cs_confidence own_confidence(const struct cs_signature *s, const struct cs_alternative *a)
{
	return a->has_confidence ? a->confidence : s->confidence;
}

static enum cs_confidence confidence_of(const struct matcher *m, const struct cs_signature *s,
					const struct cs_alternative *a)
{
	enum cs_confidence c = own_confidence(s, a);

	if (m->kept && !m->said && c > CS_CONFIDENCE_POSSIBLE)
		c--;
	if (m->handled && m->facts->kind == CS_KIND_HANG)
		c = CS_CONFIDENCE_POSSIBLE; /* a program that goes on after an error is no rarity */
	if (m->facts->kind == CS_KIND_HANG && m->facts->threads_known && !m->said && !m->kept &&
	    !(a->facts & PROOFS)) {
		enum cs_confidence most = CS_CONFIDENCE_LIKELY;

		if (s->priority < GENERAL_PRIORITY)
			most = CS_CONFIDENCE_POSSIBLE;
		c = CS_MIN(c, most);
	}
	return c;
}

static bool keep_evidence(struct matcher *m, struct cs_hit *hit)
{
	hit->n_evidence = m->evidence.n;
	hit->evidence = cs_arena_calloc(m->arena, m->evidence.n + 1, sizeof(*hit->evidence));
	m->nomem |= !hit->evidence;
	if (hit->evidence && m->evidence.n)
		memcpy(hit->evidence, m->evidence.v, m->evidence.n * sizeof(*hit->evidence));
	return hit->evidence != NULL;
}

/* The alternative that says it most surely. */
static bool fits(struct matcher *m, const struct cs_signature *s, struct cs_hit *ret)
{
	ret->signature = NULL;
	for (uint32_t i = 0; i < s->n_any; i++) {
		enum cs_confidence c;

		if (!holds(m, &s->any[i]))
			continue;
		c = confidence_of(m, s, &s->any[i]);
		if (ret->signature && c <= ret->confidence)
			continue;
		ret->signature = s;
		ret->confidence = c;
		ret->doubted = c < own_confidence(s, &s->any[i]);
		if (!keep_evidence(m, ret))
			return false;
	}
	for (uint32_t i = 0; ret->signature && i < s->n_nots; i++)
		if (holds(m, &s->nots[i]))
			ret->signature = NULL;
	return ret->signature != NULL;
}

/* ---- all of it ---- */

static void flag_texts(struct matcher *m, const struct cs_patterns *patterns, uint8_t flag)
{
	for (uint32_t i = 0; i < patterns->n; i++) {
		if (!cs_scan_may(m->scanner, patterns->v[i], CS_TEXT_NATIVE) &&
		    !cs_scan_may(m->scanner, patterns->v[i], CS_TEXT_PYTHON))
			continue;
		for (uint32_t k = 0; k < m->facts->n_texts; k++)
			if (m->facts->texts[k].kind <= CS_TEXT_PYTHON && found(m, patterns->v[i], k))
				m->flags[k] |= flag;
	}
}

static bool is_one_of(const struct matcher *m, const struct cs_patterns *patterns, uint32_t text)
{
	for (uint32_t i = 0; i < patterns->n; i++)
		if (found(m, patterns->v[i], text))
			return true;
	return false;
}

/* No frame but those and plain ones; no patterns ask for nothing. */
static bool has_only(const struct matcher *m, const struct cs_patterns *patterns,
		     const struct cs_fact_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; patterns->n && i < n; i++)
		if (!m->flags[frames[i].text] && !is_one_of(m, patterns, frames[i].text))
			return false;
	return true;
}

static bool only_plain(const struct matcher *m, const struct cs_fact_stack *stack)
{
	for (uint32_t i = 0; i < stack->n_frames; i++)
		if (!m->flags[stack->frames[i].text])
			return false;
	return !stack->n_python;
}

/* Idle: a stack without a frame that says anything, or one that a decoy describes. */
static bool is_idle(struct matcher *m, const struct cs_fact_stack *stack)
{
	if (only_plain(m, stack))
		return true;
	for (uint32_t i = 0; i < m->set->n_decoys; i++) {
		const struct cs_decoy *d = &m->set->decoys[i];

		if (all_may(m, &d->frames, CS_TEXT_NATIVE) && all_may(m, &d->python, CS_TEXT_PYTHON) &&
		    in_order(m, &d->frames, stack->frames, stack->n_frames, NULL) &&
		    in_order(m, &d->python, stack->python, stack->n_python, NULL) &&
		    has_only(m, &d->only, stack->frames, stack->n_frames) &&
		    has_only(m, &d->only_python, stack->python, stack->n_python))
			return true;
	}
	return false;
}

struct cs_error *cs_match_idle(const struct cs_signature_set *set, struct cs_scanner *scanner,
			       const struct cs_facts *facts, bool *ret)
{
	CS_CLEANUP(matcher_deinit)
	struct matcher m = {.set = set, .scanner = scanner, .facts = facts};

	m.flags = calloc((size_t)facts->n_texts + 1, sizeof(*m.flags));
	if (!m.flags)
		return &cs_nomem;
	flag_texts(&m, &set->reporters, IS_REPORTER);
	flag_texts(&m, &set->plain, IS_PLAIN);
	for (uint32_t i = 0; i < facts->n_stacks; i++) {
		struct cs_fact_stack stack = facts->stacks[i];

		if (stack.n_frames)
			stack.n_python = 0;
		ret[i] = is_idle(&m, &stack);
	}
	return cs_scan_nomem(scanner) ? &cs_nomem : NULL;
}

static struct cs_error *prepare(struct matcher *m)
{
	const struct cs_facts *f = m->facts;

	CS_TRY(cs_scanner_load(m->scanner, f));
	m->flags = calloc((size_t)f->n_texts + 1, sizeof(*m->flags));
	m->idle = calloc((size_t)f->n_stacks + 1, sizeof(*m->idle));
	m->tried = calloc((size_t)f->n_stacks + 1, sizeof(*m->tried));
	if (!m->flags || !m->idle || !m->tried)
		return &cs_nomem;
	flag_texts(m, &m->set->reporters, IS_REPORTER);
	flag_texts(m, &m->set->plain, IS_PLAIN);
	for (uint32_t i = 0; i < f->n_stacks; i++)
		m->idle[i] = is_idle(m, &f->stacks[i]);
	for (uint32_t i = 0; i < f->n_threads; i++)
		m->crashed |= f->threads[i].crashed;
	return NULL;
}

static struct cs_error *make_findings(const struct matcher *m, struct cs_hit *hits, size_t n,
				      struct cs_findings *ret)
{
	struct cs_finding *v;

	cs_hits_order(hits, n);
	ret->dropped = n > CS_MAX_FINDINGS ? n - CS_MAX_FINDINGS : 0;
	n -= ret->dropped;
	v = cs_arena_calloc(m->arena, n + 1, sizeof(*v));
	if (!v)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++)
		CS_TRY(cs_finding_make(&hits[i], m->facts, m->arena, &v[i]));
	ret->v = v;
	ret->n = n;
	return NULL;
}

struct cs_error *cs_match(const struct cs_signature_set *set, struct cs_scanner *scanner,
			  const struct cs_facts *facts, struct cs_arena *arena, struct cs_findings *ret)
{
	CS_CLEANUP(matcher_deinit)
	struct matcher m = {.set = set, .scanner = scanner, .facts = facts, .arena = arena};
	CS_CLEANUP(cs_freep) struct cs_hit *hits = calloc((size_t)set->n_signatures + 1, sizeof(*hits));
	size_t n = 0;

	*ret = (struct cs_findings){0};
	if (!hits)
		return &cs_nomem;
	CS_TRY(prepare(&m));
	for (uint32_t i = 0; i < set->n_signatures; i++)
		n += fits(&m, &set->signatures[i], &hits[n]);
	if (m.nomem || cs_scan_nomem(scanner))
		return &cs_nomem;
	ret->limits_hit = cs_scan_limits_hit(scanner);
	return make_findings(&m, hits, n, ret);
}
