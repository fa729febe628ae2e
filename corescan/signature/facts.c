/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames and messages as the texts that patterns are searched in.
 *
 * One function has many names: __GI_abort and abort, pthread_cond_wait@@GLIBC_2.3.2 and
 * ___pthread_cond_wait, f.cold and f, Queue.get (/usr/lib/python3.11/queue.py) and get (queue.py). A text
 * has a line for each, so that an expression finds the one that its author saw.
 */
#include "signature/facts.h"

#include "base/limits.h"
#include "base/strbuf.h"
#include "symbols/demangle.h"

#include <ctype.h>
#include <string.h>

void cs_facts_maker_deinit(struct cs_facts_maker *m)
{
	free(m->texts.v);
	free(m->frames.v);
	free(m->python.v);
	free(m->stacks.v);
	free(m->threads.v);
	free(m->messages.v);
	free(m->modules.v);
	free(m->slots);
}

/* ---- the table of texts ---- */

static size_t hash_of(const char *s, enum cs_text_kind kind)
{
	size_t h = 5381 + (size_t)kind;

	while (*s)
		h = h * 33 ^ (unsigned char)*s++;
	return h ^ h >> 15;
}

/* The slot that has @text, or the free one where it belongs. */
static uint32_t *slot_of(struct cs_facts_maker *m, const char *text, enum cs_text_kind kind)
{
	size_t i = hash_of(text, kind) & (m->n_slots - 1);

	while (m->slots[i] && (m->texts.v[m->slots[i] - 1].kind != kind ||
			       strcmp(m->texts.v[m->slots[i] - 1].text, text)))
		i = (i + 1) & (m->n_slots - 1);
	return &m->slots[i];
}

static bool grow_slots(struct cs_facts_maker *m)
{
	size_t n = m->n_slots ? m->n_slots * 2 : 1024;
	uint32_t *bigger = calloc(n, sizeof(*bigger));

	if (!bigger)
		return false;
	free(m->slots);
	m->slots = bigger;
	m->n_slots = n;
	for (uint32_t i = 0; i < m->texts.n; i++)
		*slot_of(m, m->texts.v[i].text, m->texts.v[i].kind) = i + 1;
	return true;
}

/* The number of the text; UINT32_MAX where there is no room for it. */
static uint32_t text_number(struct cs_facts_maker *m, const char *text, const char *shown,
			    enum cs_text_kind kind)
{
	struct cs_fact_text entry = {.kind = kind};
	uint32_t *slot;

	if (m->texts.n * 2 >= m->n_slots && !grow_slots(m)) {
		m->nomem = true;
		return UINT32_MAX;
	}
	slot = slot_of(m, text, kind);
	if (*slot)
		return *slot - 1;
	if (m->texts.n >= CS_MAX_FACT_TEXTS) {
		m->dropped++;
		return UINT32_MAX;
	}
	entry.text = cs_arena_strdup(m->arena, text);
	entry.shown = shown == text ? entry.text : cs_arena_strdup(m->arena, shown);
	if (!entry.text || !entry.shown ||
	    !cs_ok(CS_PUSH(&m->texts, entry, CS_MAX_FACT_TEXTS, "texts"))) {
		m->nomem = true;
		return UINT32_MAX;
	}
	*slot = (uint32_t)m->texts.n;
	return *slot - 1;
}

/* ---- native names ---- */

/* Length of @name without the version and the suffixes that compilers put on parts and copies. */
static size_t plain_length(const char *name, size_t len)
{
	static const char *const suffixes[] = {".cold",  ".part.",     ".constprop.",
					       ".isra.", ".lto_priv.", ".llvm."};
	const char *at;

	if (memchr(name, '(', len) || memchr(name, ' ', len))
		return len; /* of C++, already read by a demangler */
	at = memchr(name, '@', len);
	if (at && at > name)
		len = (size_t)(at - name);
	for (size_t i = 0; i < CS_COUNT(suffixes); i++) {
		at = memmem(name, len, suffixes[i], strlen(suffixes[i]));
		if (at && at > name)
			len = (size_t)(at - name);
	}
	return len;
}

/* @name without " [clone .cold]" and its like, versions and suffixes. */
static void put_plain(struct cs_strbuf *sb, const char *name)
{
	const char *clone = strstr(name, " [clone "), *plus = strrchr(name, '+');
	size_t len = clone ? (size_t)(clone - name) : strlen(name);

	/* "start_thread+0xd9" */
	if (!clone && plus && plus > name && !strncmp(plus, "+0x", 3) &&
	    !plus[3 + strspn(plus + 3, "0123456789abcdefABCDEF")])
		len = (size_t)(plus - name);

	cs_strbuf_put(sb, name, CS_MIN(plain_length(name, len), (size_t)CS_MAX_FACT_NAME));
}

/* The function as it is called in programs: "abort" of "__GI_abort"; NULL: it has no other name. */
static const char *public_name(const char *name)
{
	static const char *const prefixes[] = {"__GI_", "__libc_", "__IO_"};
	const char *p = name;

	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < CS_COUNT(prefixes); i++) {
			size_t n = strlen(prefixes[i]);

			if (strncmp(p, prefixes[i], n) ||
			    !isalpha((unsigned char)p[n + strspn(p + n, "_")]))
				continue;
			p += n;
			more = true;
		}
	}
	p += strspn(p, "_");
	return p != name && isalpha((unsigned char)*p) ? p : NULL;
}

/* Or one that is not known: reports leave libraries out. */
static bool may_be_c_library(const char *library)
{
	static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-",
					    "librt", "libdl", "ld.", "?"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (!strncmp(library, names[i], strlen(names[i])))
			return true;
	return false;
}

/* No name, as debuggers write it. */
static bool is_unnamed(const char *function)
{
	return !function || !*function || !strncmp(function, "??", 2) || !strcmp(function, "n/a") ||
	       !strncmp(function, "0x", 2);
}

static bool may_add_frame(struct cs_facts_maker *m)
{
	if (m->total_frames >= CS_MAX_FACT_FRAMES) {
		m->dropped++;
		return false;
	}
	m->total_frames++;
	return true;
}

static void push_frame(struct cs_facts_maker *m, bool python, uint32_t text, int64_t number)
{
	struct cs_fact_frame frame = {.text = text, .number = number};
	struct cs_error *err;

	if (text == UINT32_MAX)
		return;
	if (python)
		err = CS_PUSH(&m->python, frame, CS_MAX_FACT_FRAMES, "frames");
	else
		err = CS_PUSH(&m->frames, frame, CS_MAX_FACT_FRAMES, "frames");
	m->nomem |= !cs_ok(err);
}

/* Length of short name @brief without the template arguments that it ends with. */
static size_t without_arguments(const char *brief)
{
	size_t len = strlen(brief), at = len;
	int depth = 0;

	if (!len || brief[len - 1] != '>')
		return len;
	while (at > 0) {
		at--;
		depth += brief[at] == '>' ? 1 : brief[at] == '<' ? -1 : 0;
		if (!depth)
			break;
	}
	/* "operator>", "operator->" have no beginning that would fit. */
	return at > 0 && !depth && brief[at - 1] != ' ' ? at : len;
}

/* "g::f" of "void g::f<int>(int)": others print it without arguments, or have it without them. */
static void put_brief(struct cs_facts_maker *m, struct cs_strbuf *sb, const char *name, const char *brief,
		      const char *library)
{
	size_t len;

	if (!brief && strpbrk(name, "(<") && name[0] != '<')
		brief = cs_short_name(m->arena, name);
	len = brief ? without_arguments(brief) : 0;
	if (!len || (len == strlen(name) && !strncmp(brief, name, len)))
		return;
	cs_strbuf_putc(sb, '\n');
	cs_strbuf_put(sb, brief, len);
	cs_strbuf_printf(sb, " (%.255s)", library);
}

void cs_facts_native(struct cs_facts_maker *m, const char *function, const char *brief,
		     const char *library, int64_t number)
{
	struct cs_strbuf name, text;
	const char *other;

	if (!may_add_frame(m))
		return;
	library = library && *library ? library : "?";
	/* as backtrace_symbols() and glibc's own reports have names */
	if (function && !strncmp(function, "_Z", 2)) {
		function = cs_demangle(m->arena, function);
		m->nomem |= !function;
	}
	cs_strbuf_init(&name, CS_MAX_FACT_NAME);
	cs_strbuf_init(&text, 2 * CS_MAX_FACT_NAME + 1024);
	if (is_unnamed(function))
		cs_strbuf_puts(&name, "??");
	else
		put_plain(&name, function);
	cs_strbuf_printf(&text, "%s (%.255s)", cs_strbuf_text(&name), library);
	other = may_be_c_library(library) && !strpbrk(cs_strbuf_text(&name), "(<:") ?
			public_name(cs_strbuf_text(&name)) :
			NULL;
	if (other)
		cs_strbuf_printf(&text, "\n%s (%.255s)", other, library);
	else
		put_brief(m, &text, cs_strbuf_text(&name), brief, library);
	push_frame(m, false,
		   text_number(m, cs_strbuf_text(&text),
			       cs_arena_printf(m->arena, "%s (%.255s)", cs_strbuf_text(&name), library),
			       CS_TEXT_NATIVE),
		   number);
	cs_strbuf_deinit(&name);
	cs_strbuf_deinit(&text);
}

/* ---- Python names ---- */

/* The part of @file that is the same on every machine: behind site-packages or lib/python3.x. */
static const char *library_path(const char *file)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
	const char *p, *best = NULL;

	for (size_t i = 0; i < CS_COUNT(folders); i++)
		if ((p = strstr(file, folders[i])))
			return p + strlen(folders[i]);
	for (p = file; (p = strstr(p, "/python")); p++) {
		size_t digits = strspn(p + 7, "0123456789.t");

		if (digits && p[7 + digits] == '/')
			best = p + 7 + digits + 1;
	}
	if (best)
		return best;
	p = strrchr(file, '/');
	return p ? p + 1 : file;
}

void cs_facts_python(struct cs_facts_maker *m, const char *function, const char *file, int64_t number)
{
	const char *dot, *plain, *path;
	struct cs_strbuf text;
	size_t first;

	if (!may_add_frame(m))
		return;
	function = function && *function ? function : "?";
	file = file && *file ? file : "?";
	dot = strrchr(function, '.');
	plain = dot && dot[1] ? dot + 1 : function;
	path = library_path(file);
	cs_strbuf_init(&text, 4 * CS_MAX_FACT_NAME);
	cs_strbuf_printf(&text, "%.1000s (%.1000s)", function, file);
	first = text.len;
	if (plain != function)
		cs_strbuf_printf(&text, "\n%.1000s (%.1000s)", plain, file);
	if (path != file)
		cs_strbuf_printf(&text, "\n%.1000s (%.1000s)", function, path);
	if (path != file && plain != function)
		cs_strbuf_printf(&text, "\n%.1000s (%.1000s)", plain, path);
	push_frame(m, true,
		   text_number(m, cs_strbuf_text(&text),
			       cs_arena_strndup(m->arena, cs_strbuf_text(&text), first), CS_TEXT_PYTHON),
		   number);
	cs_strbuf_deinit(&text);
}

/* ---- the rest ---- */

/* A copy of the @n objects at @v in the arena; NULL without memory. */
static void *keep(struct cs_facts_maker *m, const void *v, size_t n, size_t size)
{
	void *copy = cs_arena_calloc(m->arena, n + 1, size);

	if (copy && n)
		memcpy(copy, v, n * size);
	m->nomem |= !copy;
	return copy;
}

uint32_t cs_facts_stack(struct cs_facts_maker *m)
{
	struct cs_fact_stack stack = {.n_frames = (uint32_t)m->frames.n,
				      .n_python = (uint32_t)m->python.n};

	stack.frames = keep(m, m->frames.v, m->frames.n, sizeof(struct cs_fact_frame));
	stack.python = keep(m, m->python.v, m->python.n, sizeof(struct cs_fact_frame));
	m->frames.n = 0;
	m->python.n = 0;
	m->nomem |= !cs_ok(CS_PUSH(&m->stacks, stack, CS_MAX_THREADS, "stacks"));
	return (uint32_t)m->stacks.n - 1;
}

void cs_facts_thread(struct cs_facts_maker *m, const struct cs_fact_thread *thread)
{
	m->nomem |= !cs_ok(CS_PUSH(&m->threads, *thread, CS_MAX_THREADS, "threads"));
}

void cs_facts_message(struct cs_facts_maker *m, const char *text, const struct cs_fact_message *like)
{
	struct cs_fact_message message = *like;

	if (!text || !*text)
		return;
	if (m->messages.n >= CS_MAX_FACT_MESSAGES) {
		m->dropped++;
		return;
	}
	if (strlen(text) > CS_MAX_FACT_MESSAGE) {
		text = cs_arena_strndup(m->arena, text, CS_MAX_FACT_MESSAGE);
		m->dropped++;
	}
	if (text)
		message.text = text_number(m, text, text, CS_TEXT_MESSAGE);
	if (!text || message.text == UINT32_MAX)
		return;
	m->nomem |= !cs_ok(CS_PUSH(&m->messages, message, CS_MAX_FACT_MESSAGES, "messages"));
}

void cs_facts_module(struct cs_facts_maker *m, const char *name)
{
	size_t before = m->texts.n;
	uint32_t text = name && *name ? text_number(m, name, name, CS_TEXT_MODULE) : UINT32_MAX;

	if (text != UINT32_MAX && m->texts.n != before) /* it was not there yet */
		m->nomem |= !cs_ok(CS_PUSH(&m->modules, text, CS_MAX_FACT_TEXTS, "modules"));
}

void cs_facts_signal(struct cs_facts_maker *m, const char *name, struct cs_facts *ret)
{
	uint32_t text = name && *name ? text_number(m, name, name, CS_TEXT_SIGNAL) : UINT32_MAX;

	ret->has_signal = text != UINT32_MAX;
	ret->signal = ret->has_signal ? text : 0;
}

/* The first line of the text begins with one of the names. */
static bool begins_with_any(const struct cs_fact_text *t, enum cs_text_kind kind,
			    const char *const *names, size_t n)
{
	for (size_t i = 0; t->kind == kind && i < n; i++)
		if (!strncmp(t->text, names[i], strlen(names[i])))
			return true;
	return false;
}

static uint64_t facts_of_texts(const struct cs_facts_maker *m)
{
	static const char *const finalizing[] = {"Py_FinalizeEx",
						 "Py_Finalize",
						 "finalize_modules",
						 "finalize_interp_clear",
						 "_PyInterpreterState_Clear",
						 "interpreter_clear",
						 "wait_for_thread_shutdown"};
	static const char *const exiting[] = {"__run_exit_handlers", "exit (", "__GI_exit", "_dl_fini",
					      "__cxa_finalize"};
	static const char *const gil[] = {"take_gil"};
	static const char *const ending[] = {"std::terminate", "__cxxabiv1::__terminate"};
	static const char *const collecting[] = {"gc_collect_main", "gc_collect_region",
						 "deduce_unreachable", "subtract_refs",
						 "collect_with_callback"};
	static const char *const first[] = {"libgomp"}, *const second[] = {"libiomp5", "libomp."};
	uint64_t facts = 0;
	unsigned openmp = 0;

	for (size_t i = 0; i < m->texts.n; i++) {
		const struct cs_fact_text *t = &m->texts.v[i];

		if (begins_with_any(t, CS_TEXT_NATIVE, finalizing, CS_COUNT(finalizing)))
			facts |= CS_FACT_BIT(PYTHON_FINALIZING);
		if (begins_with_any(t, CS_TEXT_NATIVE, exiting, CS_COUNT(exiting)))
			facts |= CS_FACT_BIT(PROCESS_EXITING);
		if (begins_with_any(t, CS_TEXT_NATIVE, gil, CS_COUNT(gil)))
			facts |= CS_FACT_BIT(GIL_WAITED_FOR);
		if (begins_with_any(t, CS_TEXT_NATIVE, ending, CS_COUNT(ending)))
			facts |= CS_FACT_BIT(TERMINATED);
		if (begins_with_any(t, CS_TEXT_NATIVE, collecting, CS_COUNT(collecting)))
			facts |= CS_FACT_BIT(COLLECTING);
		if (t->kind == CS_TEXT_MESSAGE &&
		    (strstr(t->text, "OutOfMemoryError") || strstr(t->text, "CUDA out of memory") ||
		     !strncmp(t->text, "MemoryError", 11)))
			facts |= CS_FACT_BIT(OOM_ERROR_STORED);
		openmp |= begins_with_any(t, CS_TEXT_MODULE, first, CS_COUNT(first)) ? 1 : 0;
		openmp |= begins_with_any(t, CS_TEXT_MODULE, second, CS_COUNT(second)) ? 2 : 0;
	}
	if (openmp == 3)
		facts |= CS_FACT_BIT(TWO_OPENMP) | CS_FACT_BIT(TWO_RUNTIMES);
	return facts;
}

struct cs_error *cs_facts_finish(struct cs_facts_maker *m, struct cs_facts *ret)
{
	ret->texts = keep(m, m->texts.v, m->texts.n, sizeof(*m->texts.v));
	ret->n_texts = (uint32_t)m->texts.n;
	ret->stacks = keep(m, m->stacks.v, m->stacks.n, sizeof(*m->stacks.v));
	ret->n_stacks = (uint32_t)m->stacks.n;
	ret->threads = keep(m, m->threads.v, m->threads.n, sizeof(*m->threads.v));
	ret->n_threads = (uint32_t)m->threads.n;
	ret->messages = keep(m, m->messages.v, m->messages.n, sizeof(*m->messages.v));
	ret->n_messages = (uint32_t)m->messages.n;
	ret->modules = keep(m, m->modules.v, m->modules.n, sizeof(*m->modules.v));
	ret->n_modules = (uint32_t)m->modules.n;
	ret->facts |= facts_of_texts(m);
	ret->dropped = m->dropped;
	return m->nomem ? &cs_nomem : NULL;
}
