/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From facts to a fingerprint: one thread, its frames by name, and of each what it is worth.
 *
 * What ran because of the crash is cut off at the innermost end; what says nothing is passed over; a run of
 * frames that repeats counts once. The first few that then say something are the short form. A debugger's
 * text has neither Python frames nor messages, so these are in the long form, and in the short one only
 * where there are no native frames at all, or where no frame says anything.
 */
#include "signature/fingerprint.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "python/plumbing.h"
#include "signature/match.h"
#include "signature/print.h"

#include <nettle/sha2.h>
#include <string.h>

#define TELLING 4     /* frames that say something, in the short form */
#define SENTINELS 40  /* frames among which sentinels are looked for */
#define OVERFLOWING 10 /* times that a run of frames must repeat to be what used the stack up */
#define MAIN_FRAMES 8 /* outermost frames in which a process begins */
#define MAX_PERIOD 32 /* frames of a run that repeats */
#define NO_NAME UINT32_MAX

enum kind { TELLS, PREFIX, INTERPRETER, IRRELEVANT, SENTINEL };

struct name {
	const char *text; /* interned: equal names are one pointer; NULL: says nothing */
	enum kind kind;
	bool python;
};

/** A frame of the chosen thread. */
struct item {
	uint32_t name;
	int64_t number;
	enum cs_print_part part;
	bool repeated; /* another like it was counted */
};

struct cs_fingerprinter {
	const struct cs_print_lists *lists;
	struct cs_signature_set set; /* the lists' patterns as the scanner wants them */
	struct cs_scanner *scanner;
	enum kind *kinds; /* of patterns */
};

CS_VEC_TYPE(items, struct item);
CS_VEC_TYPE(indices, uint32_t);

struct maker {
	struct cs_fingerprinter *p;
	const struct cs_facts *facts;
	struct cs_arena *arena;
	CS_VEC(struct name) names;
	uint32_t *of_text; /* of each text of the facts: index of its name, + 1 */
	struct items native, python;
	struct indices kept, folded; /* names that are compared */
	bool overflowed; /* the stack is used up */
	bool died;       /* the chosen thread did what it died of itself */
};

/** What is said of one thread. */
struct print {
	const struct cs_fact_thread *thread; /* NULL: none is chosen */
	const char *message;                 /* NULL: none that says anything */
	size_t telling;                      /* frames in the short form that say something */
	bool by_python;                      /* which Python frames they are */
};

/* ---- lists ---- */

static void set_kinds(struct cs_fingerprinter *p, const struct cs_patterns *list, enum kind kind)
{
	for (uint32_t i = 0; i < list->n; i++)
		p->kinds[list->v[i]] = kind;
}

struct cs_error *cs_fingerprinter_create(const struct cs_print_lists *lists, struct cs_fingerprinter **ret)
{
	CS_CLEANUP(cs_fingerprinter_destroyp) struct cs_fingerprinter *p = calloc(1, sizeof(*p));

	if (!p)
		return &cs_nomem;
	p->lists = lists;
	p->set.patterns = lists->patterns;
	p->set.n_patterns = lists->n_patterns;
	p->kinds = calloc((size_t)lists->n_patterns + 1, sizeof(*p->kinds));
	if (!p->kinds)
		return &cs_nomem;
	set_kinds(p, &lists->sentinel, SENTINEL);
	set_kinds(p, &lists->irrelevant, IRRELEVANT);
	set_kinds(p, &lists->interpreter, INTERPRETER);
	set_kinds(p, &lists->prefix, PREFIX);
	CS_TRY(cs_scanner_create(&p->set, &p->scanner));
	*ret = CS_TAKE(p);
	return NULL;
}

void cs_fingerprinter_destroy(struct cs_fingerprinter *p)
{
	if (!p)
		return;
	cs_scanner_destroy(p->scanner);
	free(p->kinds);
	free(p);
}

static void maker_deinit(struct maker *m)
{
	free(m->names.v);
	free(m->of_text);
	free(m->native.v);
	free(m->python.v);
	free(m->kept.v);
	free(m->folded.v);
}

/* ---- names ---- */

static struct cs_error *add_names(struct maker *m, const struct cs_fact_frame *frames, uint32_t n,
				  bool python)
{
	for (uint32_t i = 0; i < n; i++) {
		struct name name = {.python = python};
		uint32_t text = frames[i].text;

		if (m->of_text[text])
			continue;
		if (python)
			CS_TRY(cs_print_python(m->arena, m->facts->texts[text].text, &name.text));
		else
			CS_TRY(cs_print_native(m->arena, m->facts->texts[text].text, &name.text));
		CS_TRY(CS_PUSH(&m->names, name, CS_MAX_FACT_TEXTS, "names"));
		m->of_text[text] = (uint32_t)m->names.n;
	}
	return NULL;
}

/* What the lists say of name number @text of those loaded; where several do, the one that says least. */
static enum kind kind_of(struct maker *m, uint32_t text)
{
	struct cs_fingerprinter *p = m->p;
	enum kind kind = TELLS;
	uint32_t pattern;

	for (size_t at = 0; (pattern = cs_scan_next(p->scanner, text, &at));)
		kind = CS_MAX(kind, p->kinds[pattern]);
	return kind;
}

/* Sort the names from number @from on. */
static struct cs_error *sort_names(struct maker *m, size_t from)
{
	size_t n = m->names.n - from;
	CS_CLEANUP(cs_freep) struct cs_fact_text *texts = calloc(n + 1, sizeof(*texts));
	struct cs_facts facts = {.texts = texts, .n_texts = (uint32_t)n};

	if (!texts)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++) {
		const char *text = m->names.v[from + i].text;

		texts[i] = (struct cs_fact_text){.text = text ? text : "", .kind = CS_TEXT_NATIVE};
	}
	CS_TRY(cs_scanner_load(m->p->scanner, &facts));
	for (size_t i = 0; i < n; i++) {
		struct name *name = &m->names.v[from + i];

		if (!name->text || (!name->python && cs_py_is_plumbing(name->text)))
			name->kind = IRRELEVANT;
		else
			name->kind = kind_of(m, (uint32_t)i);
	}
	return cs_scan_nomem(m->p->scanner) ? &cs_nomem : NULL;
}

static struct cs_error *name_stack(struct maker *m, const struct cs_fact_stack *stack)
{
	size_t before = m->names.n;

	CS_TRY(add_names(m, stack->frames, stack->n_frames, false));
	CS_TRY(add_names(m, stack->python, stack->n_python, true));
	return m->names.n > before ? sort_names(m, before) : NULL;
}

/* ---- one stack ---- */

static struct cs_error *list_items(struct maker *m, const struct cs_fact_frame *frames, uint32_t n,
				   struct items *ret)
{
	size_t cut = 0;

	ret->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct item item = {.name = m->of_text[frames[i].text] - 1, .number = frames[i].number};
		enum kind kind = m->names.v[item.name].kind;

		item.part = kind == TELLS	 ? CS_PRINT_COUNTED
			    : kind == PREFIX ? CS_PRINT_PREFIX
					     : CS_PRINT_IRRELEVANT;
		if (kind == SENTINEL && i < SENTINELS)
			cut = (size_t)i + 1;
		CS_TRY(CS_PUSH(ret, item, CS_MAX_FACT_FRAMES, "frames"));
	}
	for (size_t i = 0; i < cut; i++)
		ret->v[i].part = CS_PRINT_CUT;
	return NULL;
}

static bool counts(const struct item *item)
{
	return (item->part == CS_PRINT_COUNTED || item->part == CS_PRINT_PREFIX) && !item->repeated;
}

static const char *text_of(const struct maker *m, const struct item *item)
{
	return m->names.v[item->name].text;
}

/* Items that count, by number. */
static struct cs_error *list_kept(struct maker *m, const struct items *items)
{
	m->kept.n = 0;
	for (size_t i = 0; i < items->n; i++)
		if (counts(&items->v[i]))
			CS_TRY(CS_PUSH(&m->kept, (uint32_t)i, CS_MAX_FACT_FRAMES, "frames"));
	return NULL;
}

static bool same(const struct maker *m, const struct items *items, size_t a, size_t b)
{
	return text_of(m, &items->v[m->kept.v[a]]) == text_of(m, &items->v[m->kept.v[b]]);
}

/* How many frames from @at on are a run of @period that repeats, the part of one at its end included. */
static size_t run_at(const struct maker *m, const struct items *items, size_t at, size_t period)
{
	size_t n = 0;

	while (at + n + period < m->kept.n && same(m, items, at + n, at + n + period))
		n++;
	return n >= period ? n + period : 0;
}

/* Which of the @period names from @at on is the first of the cycle: the same wherever it was left. */
static size_t first_of_cycle(const struct maker *m, const struct items *items, size_t at, size_t period)
{
	size_t best = 0;

	for (size_t i = 1; i < period; i++)
		for (size_t k = 0; k < period; k++) {
			int order = strcmp(text_of(m, &items->v[m->kept.v[at + (i + k) % period]]),
					   text_of(m, &items->v[m->kept.v[at + (best + k) % period]]));

			if (order < 0)
				best = i;
			if (order)
				break;
		}
	return best;
}

/*
 * The names in the order in which they are compared, into m->folded (items by number): a run that repeats
 * counts once, and begins with the same frame wherever the innermost one happened to be.
 */
static struct cs_error *fold(struct maker *m, struct items *items)
{
	m->folded.n = 0;
	for (size_t at = 0; at < m->kept.n;) {
		size_t len = 0, period = 0, first;

		while (!len && ++period <= MAX_PERIOD && at + 2 * period <= m->kept.n)
			len = run_at(m, items, at, period);
		if (!len) {
			CS_TRY(CS_PUSH(&m->folded, m->kept.v[at++], CS_MAX_FACT_FRAMES, "frames"));
			continue;
		}
		/* What used the stack up is the run, not where it happened to end. */
		if (m->overflowed || len / period >= OVERFLOWING) {
			for (size_t i = 0; i < m->folded.n; i++)
				items->v[m->folded.v[i]].part = CS_PRINT_CUT;
			m->folded.n = 0;
			m->overflowed = false;
		}
		first = first_of_cycle(m, items, at, period);
		for (size_t i = 0; i < period; i++)
			CS_TRY(CS_PUSH(&m->folded, m->kept.v[at + (first + i) % period],
				       CS_MAX_FACT_FRAMES, "frames"));
		for (size_t i = period; i < len; i++)
			items->v[m->kept.v[at + i]].repeated = true;
		at += len;
	}
	return NULL;
}

/* Tell the frames of the short form from those further out: how many say something. */
static size_t end_short(struct maker *m, struct items *items)
{
	size_t telling = 0;

	for (size_t i = 0; i < m->folded.n; i++) {
		struct item *item = &items->v[m->folded.v[i]];

		if (telling == TELLING)
			item->part = CS_PRINT_LONG;
		else
			telling += item->part == CS_PRINT_COUNTED;
	}
	return telling;
}

/* Every program has main(): it counts where nothing else is known. */
static void drop_main(struct maker *m, struct items *items)
{
	struct item *last;

	if (m->folded.n < 2)
		return;
	last = &items->v[m->folded.v[m->folded.n - 1]];
	if (strcmp(text_of(m, last), "main") != 0)
		return;
	last->part = CS_PRINT_IRRELEVANT;
	m->folded.n--;
}

/*
 * Where a thread died, frames that say too little are better than a message, which the text of a debugger has
 * not. Where it only waits, half of all threads have them.
 */
static size_t make_do(const struct maker *m, const struct items *items)
{
	size_t n = 0;

	for (size_t i = 0; i < m->folded.n; i++)
		n += items->v[m->folded.v[i]].part == CS_PRINT_PREFIX;
	return m->died ? n : 0;
}

static struct cs_error *sum_up(struct maker *m, struct items *items, size_t *ret)
{
	m->overflowed = (m->facts->facts & CS_FACT_BIT(STACK_OVERFLOW)) != 0;
	CS_TRY(list_kept(m, items));
	CS_TRY(fold(m, items));
	drop_main(m, items);
	*ret = end_short(m, items);
	if (!*ret && items == &m->native)
		*ret = make_do(m, items);
	return NULL;
}

/* Look at @items as a stack: how many frames say something. What is compared is in m->folded. */
static struct cs_error *weigh(struct maker *m, struct items *items, size_t *ret)
{
	CS_TRY(sum_up(m, items, ret));
	if (*ret || !m->died || items != &m->native)
		return NULL;
	/* It died within the interpreter itself, as where an extension has damaged an object. */
	for (size_t i = 0; i < items->n; i++)
		if (items->v[i].part == CS_PRINT_IRRELEVANT &&
		    m->names.v[items->v[i].name].kind == INTERPRETER)
			items->v[i].part = CS_PRINT_COUNTED;
	return sum_up(m, items, ret);
}

/* ---- which thread ---- */

/* True if the stack says something: of native frames, where there are any. */
static bool tells(const struct maker *m, const struct cs_fact_stack *stack)
{
	const struct cs_fact_frame *frames = stack->n_frames ? stack->frames : stack->python;
	uint32_t n = stack->n_frames ? stack->n_frames : stack->n_python, from = 0;

	for (uint32_t i = 0; i < n && i < SENTINELS; i++)
		if (m->names.v[m->of_text[frames[i].text] - 1].kind == SENTINEL)
			from = i + 1;
	for (uint32_t i = from; i < n; i++)
		if (m->names.v[m->of_text[frames[i].text] - 1].kind == TELLS)
			return true;
	return false;
}

static bool has_sentinel(const struct maker *m, const struct cs_fact_stack *stack)
{
	for (uint32_t i = 0; i < stack->n_frames && i < SENTINELS; i++)
		if (m->names.v[m->of_text[stack->frames[i].text] - 1].kind == SENTINEL)
			return true;
	return false;
}

/* Signals that a thread gets for what it did itself. */
static bool is_fault(const struct cs_facts *facts)
{
	static const char *const names[] = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS"};

	for (size_t i = 0; i < CS_COUNT(names) && facts->has_signal; i++)
		if (!strcmp(facts->texts[facts->signal].text, names[i]))
			return true;
	return false;
}

/* True for the frames in which a process begins: where nobody says it, its main thread has them. */
static bool is_begin(const char *text)
{
	static const char *const names[] = {"_start", "main (", "Py_BytesMain", "Py_RunMain", "pymain_run",
					    "__libc_start", "__libc_start_call_main"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

static const struct cs_fact_thread *main_thread(const struct cs_facts *f)
{
	for (uint32_t i = 0; i < f->n_threads; i++)
		if (f->threads[i].main)
			return &f->threads[i];
	for (uint32_t i = 0; i < f->n_threads; i++) {
		const struct cs_fact_stack *stack = &f->stacks[f->threads[i].stack];
		uint32_t n = stack->n_frames;

		for (uint32_t k = n > MAIN_FRAMES ? n - MAIN_FRAMES : 0; k < n; k++)
			if (is_begin(f->texts[stack->frames[k].text].text))
				return &f->threads[i];
	}
	return NULL;
}

/* Compare stacks by the names of their frames: an order that does not depend on that of the threads. */
static int compare_stacks(const struct maker *m, const struct cs_fact_stack *a,
			  const struct cs_fact_stack *b)
{
	uint32_t i = 0, k = 0;

	for (;; i++, k++) {
		int order;

		while (i < a->n_frames && m->names.v[m->of_text[a->frames[i].text] - 1].kind != TELLS)
			i++;
		while (k < b->n_frames && m->names.v[m->of_text[b->frames[k].text] - 1].kind != TELLS)
			k++;
		if (i >= a->n_frames || k >= b->n_frames)
			return (i < a->n_frames) - (k < b->n_frames);
		order = strcmp(m->names.v[m->of_text[a->frames[i].text] - 1].text,
			       m->names.v[m->of_text[b->frames[k].text] - 1].text);
		if (order)
			return order;
	}
}

/* The first, by its frames, of the threads that are not idle and say something. */
static struct cs_error *busy_thread(struct maker *m, const struct cs_signature_set *set,
				    struct cs_scanner *scanner, const struct cs_fact_thread **ret)
{
	const struct cs_facts *f = m->facts;
	CS_CLEANUP(cs_freep) bool *idle = calloc((size_t)f->n_stacks + 1, sizeof(*idle));
	size_t before = m->names.n;

	if (!idle)
		return &cs_nomem;
	for (uint32_t i = 0; i < f->n_stacks; i++) {
		CS_TRY(add_names(m, f->stacks[i].frames, f->stacks[i].n_frames, false));
		CS_TRY(add_names(m, f->stacks[i].python, f->stacks[i].n_python, true));
	}
	if (m->names.n > before)
		CS_TRY(sort_names(m, before));
	CS_TRY(cs_match_idle(set, scanner, f, idle));
	for (uint32_t i = 0; i < f->n_threads; i++) {
		const struct cs_fact_thread *t = &f->threads[i];

		if (idle[t->stack] || !tells(m, &f->stacks[t->stack]))
			continue;
		if (!*ret || compare_stacks(m, &f->stacks[t->stack], &f->stacks[(*ret)->stack]) < 0)
			*ret = t;
	}
	return NULL;
}

/*
 * The crashed thread. A process that was killed from outside, or only looked at, has none - and the text of a
 * debugger calls the thread crashed that happened to take the signal: then its main thread if that says
 * something, else one that works.
 */
static struct cs_error *choose_thread(struct maker *m, const struct cs_signature_set *set,
				      struct cs_scanner *scanner, const struct cs_fact_thread **ret)
{
	const struct cs_facts *f = m->facts;
	const struct cs_fact_thread *crashed = NULL, *first = main_thread(f), *busy = NULL;

	for (uint32_t i = 0; i < f->n_threads && !crashed; i++)
		if (f->threads[i].crashed)
			crashed = &f->threads[i];
	if (crashed) {
		const struct cs_fact_stack *stack = &f->stacks[crashed->stack];

		CS_TRY(name_stack(m, stack));
		*ret = crashed;
		m->died = is_fault(f) || has_sentinel(m, stack);
		if (tells(m, stack) || m->died || !f->has_signal)
			return NULL;
	}
	if (first) {
		CS_TRY(name_stack(m, &f->stacks[first->stack]));
		*ret = first;
		if (tells(m, &f->stacks[first->stack]))
			return NULL;
	}
	CS_TRY(busy_thread(m, set, scanner, &busy));
	if (busy)
		*ret = busy;
	else if (!*ret && f->n_threads == 1)
		*ret = &f->threads[0];
	return NULL;
}

/* ---- messages ---- */

static bool is_silent(struct maker *m, const char *message)
{
	const struct cs_patterns *silent = &m->p->lists->silent;

	for (uint32_t i = 0; i < silent->n; i++)
		if (cs_scan_bytes(m->p->scanner, silent->v[i], message))
			return true;
	return !*message;
}

/* The first message of what ended the process that says something. */
static struct cs_error *find_message(struct maker *m, const char **ret)
{
	const struct cs_facts *f = m->facts;

	for (uint32_t i = 0; i < f->n_messages; i++) {
		const char *message;

		if (!f->messages[i].final)
			continue;
		CS_TRY(cs_print_message(m->arena, f->texts[f->messages[i].text].text, &message));
		if (is_silent(m, message))
			continue;
		*ret = message;
		return NULL;
	}
	return NULL;
}

/* ---- the result ---- */

static void digest(const struct cs_strbuf *sb, size_t bytes, unsigned algorithm, char *ret, size_t size)
{
	uint8_t out[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;
	size_t n;

	sha256_init(&ctx);
	sha256_update(&ctx, sb->len, (const uint8_t *)cs_strbuf_text(sb));
	sha256_digest(&ctx, sizeof(out), out);
	n = (size_t)snprintf(ret, size, "%u-", algorithm);
	for (size_t i = 0; i < bytes && n + 2 < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%02x", out[i]);
}

static const char *how_it_ended(const struct cs_facts *f)
{
	if (f->kind == CS_KIND_HANG)
		return "hang";
	if (f->has_signal)
		return f->texts[f->signal].text;
	return f->kind == CS_KIND_OOM ? "oom" : "crash";
}

/* The names of @items that are in the short form, or all; each after @separator. */
static void put_items(const struct maker *m, struct cs_strbuf *sb, const struct items *items,
		      const struct indices *order, const char *separator, bool all)
{
	for (size_t i = 0; i < order->n; i++) {
		const struct item *item = &items->v[order->v[i]];

		if (item->part == CS_PRINT_CUT || (!all && item->part == CS_PRINT_LONG))
			continue;
		cs_strbuf_puts(sb, separator);
		cs_strbuf_puts(sb, text_of(m, item));
	}
}

static bool is_short(const struct print *print, bool python)
{
	return print->telling && print->by_python == python;
}

static struct cs_error *put_forms(struct maker *m, const struct print *print,
				  const struct indices *native, const struct indices *python,
				  struct cs_fingerprint *ret)
{
	const struct items *items = print->by_python ? &m->python : &m->native;
	const struct indices *order = print->by_python ? python : native;
	const char *end = how_it_ended(m->facts);
	struct cs_strbuf form, text;
	char digits[2][80];

	cs_strbuf_init(&form, CS_MAX_FACT_FRAMES * 64);
	cs_strbuf_init(&text, CS_MAX_PRINT_TEXT);
	cs_strbuf_printf(&text, "%s%s%s", end, print->message ? " | " : "",
			 print->message ? print->message : "");
	if (print->telling) {
		cs_strbuf_puts(&form, "frames");
		put_items(m, &form, items, order, "\n", false);
		put_items(m, &text, items, order, " | ", false);
	} else if (print->message) {
		cs_strbuf_printf(&form, "message\n%s", print->message);
	}
	if (form.len) {
		digest(&form, 8, ret->algorithm, digits[0], sizeof(digits[0]));
		ret->short_form = cs_arena_strdup(m->arena, digits[0]);
	}
	cs_strbuf_truncate(&form, 0);
	cs_strbuf_printf(&form, "%s\n%s", end, print->message ? print->message : "");
	put_items(m, &form, &m->native, native, "\n", true);
	cs_strbuf_puts(&form, "\n");
	put_items(m, &form, &m->python, python, "\n", true);
	digest(&form, 16, ret->algorithm, digits[1], sizeof(digits[1]));
	ret->long_form = cs_arena_strdup(m->arena, digits[1]);
	ret->text = cs_arena_strdup(m->arena, cs_strbuf_text(&text));
	cs_strbuf_deinit(&form);
	cs_strbuf_deinit(&text);
	return ret->long_form && ret->text && (ret->short_form || !(print->telling || print->message))
		       ? NULL
		       : &cs_nomem;
}

/* What became of each frame. The second round of a run that repeats is in the facts, but not in the stack. */
static void explain(const struct maker *m, const struct items *items, bool in_short,
		    struct cs_print_frame *v, size_t *n)
{
	int64_t last = -1;

	for (size_t i = 0; i < items->n && *n < CS_MAX_PRINT_FRAMES; i++) {
		const struct item *item = &items->v[i];
		struct cs_print_frame *f = &v[*n];

		if (item->number >= 0 && item->number <= last)
			continue;
		last = item->number;
		f->frame = item->number;
		f->text = text_of(m, item);
		f->part = item->repeated ? CS_PRINT_IRRELEVANT : item->part;
		if (!in_short && (f->part == CS_PRINT_COUNTED || f->part == CS_PRINT_PREFIX))
			f->part = CS_PRINT_LONG;
		(*n)++;
	}
}

static struct cs_error *make_frames(struct maker *m, const struct print *print,
				    struct cs_fingerprint *ret)
{
	size_t most = CS_MIN(m->native.n + m->python.n, (size_t)CS_MAX_PRINT_FRAMES);
	struct cs_print_frame *v = cs_arena_calloc(m->arena, most + 1, sizeof(*v));

	if (!v)
		return &cs_nomem;
	explain(m, &m->native, is_short(print, false), v, &ret->n_frames);
	explain(m, &m->python, is_short(print, true), v, &ret->n_frames);
	ret->frames = v;
	return NULL;
}

static struct cs_error *keep_order(struct maker *m, struct indices *ret)
{
	for (size_t i = 0; i < m->folded.n; i++)
		CS_TRY(CS_PUSH(ret, m->folded.v[i], CS_MAX_FACT_FRAMES, "frames"));
	return NULL;
}

static void indices_deinit(struct indices *v)
{
	free(v->v);
}

static struct cs_error *make(struct maker *m, const struct print *chosen, struct cs_fingerprint *ret)
{
	CS_CLEANUP(indices_deinit) struct indices native = {0};
	CS_CLEANUP(indices_deinit) struct indices python = {0};
	struct print print = *chosen;
	size_t telling_python = 0;

	if (print.thread) {
		const struct cs_fact_stack *stack = &m->facts->stacks[print.thread->stack];

		CS_TRY(name_stack(m, stack));
		CS_TRY(list_items(m, stack->frames, stack->n_frames, &m->native));
		CS_TRY(list_items(m, stack->python, stack->n_python, &m->python));
		CS_TRY(weigh(m, &m->python, &telling_python));
		CS_TRY(keep_order(m, &python));
		CS_TRY(weigh(m, &m->native, &print.telling));
		CS_TRY(keep_order(m, &native));
		print.by_python = !stack->n_frames;
		if (print.by_python)
			print.telling = telling_python;
		ret->tid = print.thread->tid;
		CS_TRY(make_frames(m, &print, ret));
	}
	/* Nothing known is nothing in common. */
	if (!print.telling && !python.n && !print.message)
		return NULL;
	return put_forms(m, &print, &native, &python, ret);
}

struct cs_error *cs_fingerprint_make(struct cs_fingerprinter *p, const struct cs_signature_set *set,
				     struct cs_scanner *scanner, const struct cs_facts *facts,
				     struct cs_arena *arena, struct cs_fingerprint *ret)
{
	CS_CLEANUP(maker_deinit) struct maker m = {.p = p, .facts = facts, .arena = arena};
	struct print print = {0};

	*ret = (struct cs_fingerprint){.algorithm = p->lists->algorithm};
	m.of_text = calloc((size_t)facts->n_texts + 1, sizeof(*m.of_text));
	if (!m.of_text)
		return &cs_nomem;
	CS_TRY(choose_thread(&m, set, scanner, &print.thread));
	CS_TRY(find_message(&m, &print.message));
	return make(&m, &print, ret);
}
