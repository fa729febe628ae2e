/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exceptions and stacks for an issue: those of the crashed thread in full view, the others folded up with
 * what they are in on the line that is seen. Knows which of them a reader wants first; frames look as in the
 * text report, whose writers write them.
 */
#include "report/markdown_parts.h"
#include "report/text_fold.h"
#include "report/text_sections.h"
#include "report/thread_table.h"

#include <inttypes.h>
#include <string.h>

#define MAX_EXCEPTIONS 3
#define MAX_TITLE 300
#define MIN_TOLD 20 /* bytes of a message that another one may have by chance */
#define MAX_STACKS 12 /* of other threads, without --threads */
#define TAIL_ROOM 250 /* bytes kept for what tells that stacks were left out */
#define PYTHON_HEAD 40
#define PYTHON_TAIL 10

static void put_title(struct cs_strbuf *out, const char *title, const char *rest)
{
	cs_strbuf_printf(out, "**%s**", title);
	if (*rest) {
		cs_strbuf_putc(out, ' ');
		cs_md_code(out, rest, MAX_TITLE);
	}
	cs_strbuf_puts(out, "\n\n");
}

/* ---- exceptions ---- */

static struct cs_error *put_exception(struct cs_md *m, struct cs_strbuf *out,
				      const struct cs_text_folds *folds, const struct cs_text_fold *fold)
{
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet title = {0};
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet chain = {0};
	size_t room = cs_md_room(m);

	CS_TRY(cs_md_sheet_init(&title));
	cs_text_exception_title(&title.text, m->a, folds, fold);
	CS_TRY(cs_md_sheet_done(&title));
	CS_TRY(cs_md_sheet_init(&chain));
	cs_text_exception_chain(&chain.text, &m->a->exceptions[fold->first]);
	CS_TRY(cs_md_sheet_done(&chain));
	put_title(out, "Exception", title.bytes);
	cs_md_block(out, chain.bytes, room > out->len ? room - out->len : 0);
	return NULL;
}

/* One that some C++ library keeps and of which nothing is known helps nobody. */
static bool says_something(const struct cs_exception *e)
{
	return e->type || e->message || e->n_frames || e->cause || e->context;
}

/* A shown exception of the same thread has its message within its own: the one that it was wrapped into. */
static bool is_told(const struct cs_md *m, const struct cs_text_folds *folds, size_t i)
{
	const struct cs_exception *e = &m->a->exceptions[folds->folds[i].first];
	size_t len = e->message ? strcspn(e->message, "\n") : 0;
	char line[MAX_TITLE];

	if (len < MIN_TOLD || len >= sizeof(line) || e->cause)
		return false;
	memcpy(line, e->message, len);
	line[len] = '\0';
	for (size_t k = 0; k < i; k++) {
		const struct cs_exception *before = &m->a->exceptions[folds->folds[k].first];

		if (before->tid == e->tid && before->message && strstr(before->message, line))
			return true;
	}
	return false;
}

struct cs_error *cs_md_exceptions(struct cs_md *m)
{
	CS_CLEANUP(cs_text_folds_deinit) struct cs_text_folds folds = {0};
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf unit;
	size_t shown = 0, rest = 0;
	bool fits = true;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	if (!m->a->n_exceptions)
		return NULL;
	CS_TRY(cs_text_exceptions_fold(m->a, &folds));
	for (size_t i = 0; i < folds.n; i++) {
		if (!says_something(&m->a->exceptions[folds.folds[i].first]) || is_told(m, &folds, i))
			continue;
		if (!fits || shown == MAX_EXCEPTIONS || cs_md_room(m) < CS_MD_MIN_BLOCK) {
			rest++;
			continue;
		}
		cs_strbuf_puts(&unit, shown ? "\n" : "");
		CS_TRY(put_exception(m, &unit, &folds, &folds.folds[i]));
		CS_TRY(cs_md_add(m, &unit, &fits));
		shown += fits;
		rest += !fits;
	}
	if (!rest)
		return NULL;
	cs_strbuf_printf(&unit, "\n%s more exception%s: `corescan --threads CORE`\n", cs_text_count(rest),
			 rest == 1 ? "" : "s");
	return cs_md_add(m, &unit, &fits);
}

/* ---- one stack ---- */

/* What every thread begins with. */
static bool is_beginning(const struct cs_frame *f)
{
	static const char *const names[] = {
		"__clone",	       "__clone3",		 "__libc_start_call_main",
		"__libc_start_main",   "__libc_start_main_impl", "_start",
		"clone",	       "clone3",		 "execute_native_thread_routine",
		"pythread_wrapper",    "start_thread",		 "thread_run",
		"thread_start",
	};
	const char *dot;
	size_t len;

	if (!f->function || f->nearest || f->repeat_period)
		return f->plumbing && !f->repeat_period;
	if (f->kind == CS_FRAME_PYTHON) {
		dot = strrchr(f->function, '.');
		dot = dot ? dot + 1 : f->function;
		return f->file && strstr(f->file, "/threading.py") &&
		       (!strcmp(dot, "_bootstrap") || !strcmp(dot, "_bootstrap_inner"));
	}
	if (f->kind != CS_FRAME_NATIVE || f->plumbing)
		return f->plumbing;
	len = strcspn(f->function, "(@");
	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (strlen(names[i]) == len && !strncmp(f->function, names[i], len))
			return true;
	return false;
}

/* @g without the frames that every thread begins with. */
static struct cs_stack_group without_beginning(const struct cs_stack_group *g)
{
	struct cs_stack_group cut = *g;

	while (cut.n_frames > 1 && is_beginning(&cut.frames[cut.n_frames - 1])) {
		cut.n_frames--;
		cut.total_frames -= cut.total_frames > 0 && cut.frames[cut.n_frames].kind == CS_FRAME_NATIVE;
	}
	return cut;
}

/* The stack as a block, of as many frames as have room in @budget bytes. */
static struct cs_error *put_stack(struct cs_strbuf *out, const struct cs_stack_group *group,
				  const struct cs_frames_view *most, size_t budget)
{
	struct cs_frames_view view = *most;

	for (;; view.head /= 2, view.tail /= 2) {
		CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet sheet = {0};

		CS_TRY(cs_md_sheet_init(&sheet));
		cs_text_frames(&sheet.text, group, &view);
		CS_TRY(cs_md_sheet_done(&sheet));
		if (sheet.len + 100 > budget && view.head > 4)
			continue;
		cs_md_block(out, sheet.bytes, budget);
		return NULL;
	}
}

static void put_thread(struct cs_text *t, const struct cs_analysis *a, const struct cs_thread *thread)
{
	size_t others = thread->group->n_tids > 1 ? thread->group->n_tids - 1 : 0;

	cs_text_thread_name(t, a, thread);
	if (others)
		cs_text_printf(t, ", the same as of %s other thread%s", cs_text_count(others),
			       others == 1 ? "" : "s");
}

struct cs_error *cs_md_crashed_stack(struct cs_md *m)
{
	const struct cs_thread *thread = cs_text_crashed_thread(m->a);
	struct cs_frames_view view = {.head = 48, .tail = 12};
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet title = {0};
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf unit;
	bool fits;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	if (!thread || !thread->group)
		return NULL;
	if (cs_md_room(m) < CS_MD_MIN_BLOCK)
		return cs_md_no_room(m, "the crashed thread's stack", "corescan CORE");
	CS_TRY(cs_md_sheet_init(&title));
	put_thread(&title.text, m->a, thread);
	CS_TRY(cs_md_sheet_done(&title));
	view.marked = cs_text_blamed_frame(m->a, thread->group);
	view.broken = thread->python ? thread->python->broken : NULL;
	put_title(&unit, "Stack of the crashed thread", title.bytes);
	CS_TRY(put_stack(&unit, thread->group, &view, cs_md_room(m) - CS_MIN(unit.len, cs_md_room(m))));
	return cs_md_add(m, &unit, &fits);
}

/* ---- Python alone ---- */

static void put_python_frame(struct cs_text *t, const struct cs_frame *f)
{
	cs_text_printf(t, "  File \"");
	cs_text_put(t, f->file ? f->file : "?");
	cs_text_printf(t, "\"");
	if (f->line)
		cs_text_printf(t, ", line %" PRIu32, f->line);
	cs_text_printf(t, " in ");
	cs_text_put(t, f->function ? f->function : "<unreadable>");
	cs_text_printf(t, "\n");
	if (!f->source)
		return;
	cs_text_printf(t, "    ");
	cs_text_put(t, f->source + strspn(f->source, " \t\f"));
	cs_text_printf(t, "\n");
}

/* How often the frames above are there, once their run has ended at @i. */
static void put_repeats(struct cs_text *t, const struct cs_stack_group *g, size_t i)
{
	for (size_t k = i + 1; k-- > 0 && i - k < 64;) {
		const struct cs_frame *f = &g->frames[k];
		size_t python = 0;

		if (!f->repeat_period)
			continue;
		if (k + f->repeat_period != i + 1 || f->repeat_count < 2)
			return;
		for (size_t j = k; j <= i; j++)
			python += g->frames[j].kind == CS_FRAME_PYTHON;
		if (python == 1)
			cs_text_printf(t, "  ... the frame above is there %s times in a row\n",
				       cs_text_count(f->repeat_count));
		else if (python)
			cs_text_printf(t, "  ... the %s frames above repeat %s times\n",
				       cs_text_count(python), cs_text_count(f->repeat_count));
		return;
	}
}

static void put_python(struct cs_text *t, const struct cs_stack_group *g, size_t n)
{
	bool all = n <= PYTHON_HEAD + PYTHON_TAIL + 1;
	size_t ordinal = 0;

	for (size_t i = 0; i < g->n_frames; i++) {
		bool python = g->frames[i].kind == CS_FRAME_PYTHON;
		bool shown = all || ordinal < PYTHON_HEAD || ordinal >= n - PYTHON_TAIL;

		if (python && shown)
			put_python_frame(t, &g->frames[i]);
		else if (python && ordinal == PYTHON_HEAD)
			cs_text_printf(t, "  ... %s more frames\n",
				       cs_text_count(n - PYTHON_HEAD - PYTHON_TAIL));
		ordinal += python;
		if (shown)
			put_repeats(t, g, i);
	}
}

struct cs_error *cs_md_python_stack(struct cs_md *m)
{
	const struct cs_thread *thread = cs_text_crashed_thread(m->a);
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet sheet = {0};
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf unit;
	size_t n = 0;
	bool fits;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	for (size_t i = 0; thread && thread->group && i < thread->group->n_frames; i++)
		n += thread->group->frames[i].kind == CS_FRAME_PYTHON;
	if (!n)
		return NULL;
	if (cs_md_room(m) < CS_MD_MIN_BLOCK)
		return cs_md_no_room(m, "the Python stack alone", "corescan --python CORE");
	CS_TRY(cs_md_sheet_init(&sheet));
	put_python(&sheet.text, thread->group, n);
	CS_TRY(cs_md_sheet_done(&sheet));
	cs_strbuf_puts(&unit, "**Its Python stack** (most recent call first, as faulthandler prints it)\n\n");
	cs_md_block(&unit, sheet.bytes, cs_md_room(m) - CS_MIN(unit.len, cs_md_room(m)));
	return cs_md_add(m, &unit, &fits);
}

/* ---- the other threads ---- */

/* The smaller, the more a reader wants to see it. */
static unsigned turn_of(const struct cs_thread_members *m)
{
	const char *role = m->threads[0]->role;

	if (m->holding)
		return 0;
	if (m->deadlocked)
		return 1;
	if (m->interest == CS_INTEREST_LEADING || (role && !strcmp(role, "main")))
		return 2;
	if (role && (!strcmp(role, "nccl-watchdog") || !strcmp(role, "nccl-heartbeat")))
		return 3;
	return m->interest == CS_INTEREST_PYTHON ? 4 : 5;
}

static int compare_members(const void *a, const void *b)
{
	const struct cs_thread_members *x = *(const struct cs_thread_members *const *)a;
	const struct cs_thread_members *y = *(const struct cs_thread_members *const *)b;
	unsigned of_x = turn_of(x), of_y = turn_of(y);

	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	return x < y ? -1 : x > y; /* as the analysis has them: the largest group first */
}

/* Python's own library, where most threads wait for what their program has them wait for. */
static bool is_library(const struct cs_frame *f)
{
	return f->file && (*f->file == '<' || (strstr(f->file, "/lib/python3") &&
					       !strstr(f->file, "-packages/")));
}

/* Whose functions every program waits in. */
static bool is_system(const struct cs_module *module)
{
	static const char *const names[] = {"libc.so", "libc-", "libpthread", "libstdc++", "ld-linux"};

	for (size_t i = 0; module && module->name && i < CS_COUNT(names); i++)
		if (!strncmp(module->name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The frame that tells best what a thread is doing: not how libc waits, but who asked it to. */
static const struct cs_frame *telling_frame(const struct cs_stack_group *g)
{
	const struct cs_frame *named = NULL;

	for (size_t i = 0; i < g->n_frames; i++) {
		if (g->frames[i].kind != CS_FRAME_PYTHON || is_beginning(&g->frames[i]))
			continue;
		if (!is_library(&g->frames[i]))
			return &g->frames[i];
		named = named ? named : &g->frames[i];
	}
	for (size_t i = 0; i < g->n_frames && (!named || named->kind != CS_FRAME_PYTHON); i++) {
		const struct cs_frame *f = &g->frames[i];

		if (!f->function || f->nearest || is_beginning(f) ||
		    (f->kind != CS_FRAME_NATIVE && f->kind != CS_FRAME_INLINE))
			continue;
		if (!is_system(f->module))
			return f;
		named = f;
	}
	return named;
}

static struct cs_error *put_summary(struct cs_md *m, struct cs_strbuf *out,
				    const struct cs_thread_members *members)
{
	const struct cs_frame *telling = telling_frame(members->threads[0]->group);
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet title = {0};
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet place = {0};

	CS_TRY(cs_md_sheet_init(&title));
	cs_text_threads_title(&title.text, m->a, members);
	CS_TRY(cs_md_sheet_done(&title));
	/* Where nothing crashed, the first stacks are what the report is about. */
	cs_strbuf_printf(out, "<details%s><summary>",
			 !cs_text_crashed_thread(m->a) && turn_of(members) <= 2 ? " open" : "");
	cs_md_html_code(out, title.bytes, MAX_TITLE);
	if (telling) {
		CS_TRY(cs_md_sheet_init(&place));
		cs_text_place(&place.text, telling);
		CS_TRY(cs_md_sheet_done(&place));
		cs_strbuf_puts(out, " in ");
		cs_md_html_code(out, place.bytes, MAX_TITLE);
	}
	cs_strbuf_puts(out, "</summary>\n\n");
	return NULL;
}

static struct cs_error *put_group(struct cs_md *m, struct cs_strbuf *out,
				  const struct cs_thread_members *members)
{
	static const struct {
		size_t head, tail, most;
	} sizes[] = {
		[CS_INTEREST_NATIVE] = {10, 2, 2000},
		[CS_INTEREST_PYTHON] = {16, 2, 3000},
		[CS_INTEREST_LEADING] = {40, 4, 7000},
	};
	static const char end[] = "\n</details>\n\n";
	const struct cs_stack_group group = without_beginning(members->threads[0]->group);
	const struct cs_frames_view view = {
		.head = sizes[members->interest].head,
		.tail = sizes[members->interest].tail,
		.marked = CS_NO_FRAME,
		.broken = members->broken,
	};
	size_t room = cs_md_room(m), taken;

	CS_TRY(put_summary(m, out, members));
	taken = out->len + strlen(end);
	CS_TRY(put_stack(out, &group, &view,
			 CS_MIN(room > taken ? room - taken : 0, sizes[members->interest].most)));
	cs_strbuf_puts(out, end);
	return NULL;
}

/* The stacks that are not the crashed thread's, in the order of interest; how many there are in @ret. */
static const struct cs_thread_members **sorted(const struct cs_md *m, const struct cs_thread_table *table,
					       size_t *ret, size_t *ret_threads)
{
	const struct cs_thread_members **list = calloc(m->a->n_groups + 1, sizeof(*list));
	size_t n = 0;

	*ret_threads = 0;
	for (size_t i = 0; list && i < m->a->n_groups; i++) {
		if (!table->groups[i].n || table->groups[i].crashed)
			continue;
		list[n++] = &table->groups[i];
		*ret_threads += table->groups[i].n;
	}
	if (list)
		qsort(list, n, sizeof(*list), compare_members);
	*ret = n;
	return list;
}

/* "12 more distinct stacks of 40 threads: ..." and the tasks, of which nothing is shown. */
static void put_rest(struct cs_md *m, struct cs_strbuf *out, size_t stacks, size_t threads)
{
	const struct cs_python *p = &m->a->python;

	if (stacks)
		cs_strbuf_printf(out,
				 "%s more distinct stack%s of %s thread%s: `corescan --threads CORE`\n\n",
				 cs_text_count(stacks), stacks == 1 ? "" : "s", cs_text_count(threads),
				 threads == 1 ? "" : "s");
	if (p->n_tasks)
		cs_strbuf_printf(out, "%s asyncio task%s: `corescan CORE`\n\n", cs_text_count(p->n_tasks),
				 p->n_tasks == 1 ? "" : "s");
	if (p->n_greenlets)
		cs_strbuf_printf(out, "%s greenlet%s: `corescan CORE`\n\n", cs_text_count(p->n_greenlets),
				 p->n_greenlets == 1 ? "" : "s");
}

static struct cs_error *add_groups(struct cs_md *m, const struct cs_thread_members *const *list, size_t n,
				   size_t threads)
{
	CS_CLEANUP(cs_strbuf_deinit) struct cs_strbuf unit;
	/* One that is hidden takes as much room as the line that says so. */
	size_t most = m->options->threads || n == MAX_STACKS + 1 ? n : MAX_STACKS;
	size_t shown = 0, whole = m->budget;
	bool fits = true;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	m->budget -= CS_MIN(whole, (size_t)TAIL_ROOM);
	if (n)
		cs_strbuf_printf(&unit, "**%s: %s in %s distinct stack%s**\n\n",
				 cs_text_crashed_thread(m->a) ? "Other threads" : "Threads",
				 cs_text_count(threads), cs_text_count(n), n == 1 ? "" : "s");
	CS_TRY(cs_md_add(m, &unit, &fits));
	for (; shown < CS_MIN(n, most) && cs_md_room(m) >= CS_MD_MIN_BLOCK; shown++) {
		CS_TRY(put_group(m, &unit, list[shown]));
		CS_TRY(cs_md_add(m, &unit, &fits));
		if (!fits)
			break;
		threads -= list[shown]->n;
	}
	m->budget = whole;
	put_rest(m, &unit, n - shown, threads);
	CS_TRY(cs_md_add(m, &unit, &fits));
	/* The page puts the empty line between its parts. */
	if (m->out.len)
		cs_strbuf_truncate(&m->out, m->out.len - 1);
	return NULL;
}

struct cs_error *cs_md_threads(struct cs_md *m)
{
	CS_CLEANUP(cs_thread_table_deinit) struct cs_thread_table table = {0};
	CS_CLEANUP(cs_freep) const struct cs_thread_members **list = NULL;
	size_t n, threads;

	CS_TRY(cs_thread_table_init(&table, m->a, false));
	list = sorted(m, &table, &n, &threads);
	return list ? add_groups(m, list, n, threads) : &cs_nomem;
}
