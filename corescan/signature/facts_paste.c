/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts of a report that somebody pasted or recorded. A report is cut: what it does not say is not known,
 * which is not the same as absent.
 */
#include "signature/facts.h"

#include "base/limits.h"
#include "paste/record.h"

#include <string.h>

struct reported {
	const struct cs_paste *paste;
	struct cs_facts_maker maker;
	struct cs_facts *facts;
};

static void reported_deinit(struct reported *r)
{
	cs_facts_maker_deinit(&r->maker);
}

/* Threads by the names that PyTorch, CUDA and others give them; 15 characters at most. */
static const char *role_of_name(const char *name)
{
	static const struct {
		const char *name, *role;
	} rows[] = {
		{"pt_nccl_watchdg", "nccl-watchdog"},
		{"pt_nccl_heartbt", "nccl-heartbeat"},
		{"pt_main_thread", "main"},
		{"MainThread", "main"},
		{"pt_autograd_", "autograd"},
		{"jemalloc_bg_thd", "jemalloc-background"},
		{"cuda-EvtHandlr", "cuda-driver"},
		{"cuda0", "cuda-driver"},
		{"NCCL", "nccl-proxy"},
	};

	for (size_t i = 0; name && i < CS_COUNT(rows); i++)
		if (!strncmp(name, rows[i].name, strlen(rows[i].name)))
			return rows[i].role;
	return NULL;
}

/* "(exitcode: -7)", "exit code 137": the number behind such words. */
static void exit_of_message(struct cs_facts *f, const char *message)
{
	static const char *const words[] = {"exitcode", "exit code", "exit status", "returncode",
					    "return code"};

	for (size_t i = 0; i < CS_COUNT(words) && !f->has_exit; i++) {
		const char *p = strstr(message, words[i]);
		char *end;
		long value;

		if (!p)
			continue;
		p += strlen(words[i]);
		p += strspn(p, " :=\"'");
		value = strtol(p, &end, 10);
		if (end == p || value < -64 || value > 255)
			continue;
		f->has_exit = true;
		f->exit = (int32_t)value;
	}
}

/* The interpreter's own functions take turns on every stack that runs Python. */
static bool is_interpreter(const char *text)
{
	static const char *const names[] = {"_Py",           "Py",       "call_function", "cfunction",
					    "method_",       "slot_",    "type_call",     "object_",
					    "function_code", "do_call",  "vectorcall",    "builtin_",
					    "fast_function", "partial_", "wrap",          "??"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A group of frames that repeats, as far as the report goes: what a stack that is used up looks like. */
static bool recurs(const struct reported *r, const struct cs_fact_frame *frames, uint32_t n)
{
	for (uint32_t period = 1; period <= 12; period++) {
		uint32_t run = 0;
		bool says = false;

		for (uint32_t i = 0; i + period < n; i++) {
			bool same = frames[i].text == frames[i + period].text;

			run = same ? run + 1 : 0;
			says = same && (says || !is_interpreter(r->maker.texts.v[frames[i].text].text));
			if (says && run >= period && run + period >= 10)
				return true;
		}
	}
	return false;
}

static void find_recursion(struct reported *r)
{
	const char *signal = r->facts->has_signal ? r->maker.texts.v[r->facts->signal].text : "";

	if (strcmp(signal, "SIGSEGV") && strcmp(signal, "SIGBUS"))
		return;
	for (size_t i = 0; i < r->maker.threads.n; i++) {
		const struct cs_fact_thread *t = &r->maker.threads.v[i];
		const struct cs_fact_stack *s = &r->maker.stacks.v[t->stack];

		if (t->crashed &&
		    (recurs(r, s->frames, s->n_frames) || recurs(r, s->python, s->n_python)))
			r->facts->facts |= CS_FACT_BIT(STACK_OVERFLOW);
	}
}

static void add_frame(struct reported *r, const struct cs_paste_frame *f, size_t i)
{
	int64_t number = f->number >= 0 ? f->number : (int64_t)i;

	if (f->python)
		cs_facts_python(&r->maker, f->function, f->file, number);
	else
		cs_facts_native(&r->maker, f->function, NULL, f->library, number);
	/* Without a list of modules, those on stacks are what is known of them. */
	if (f->library && !r->paste->modules)
		cs_facts_module(&r->maker, f->library);
}

/* The thread that ended a process which did not only hang: the one that the text names, the only one, or
 * the one that a debugger begins with; SIZE_MAX: not known. */
static size_t crashed_of(const struct cs_paste *paste)
{
	size_t first = SIZE_MAX;

	if (paste->kind == CS_PASTE_HANG)
		return SIZE_MAX;
	for (size_t i = 0; i < paste->n_threads; i++) {
		if (paste->threads[i].crashed)
			return i;
		if (paste->threads[i].ordinal == 1)
			first = i;
	}
	return paste->n_threads == 1 ? 0 : first;
}

static void add_threads(struct reported *r)
{
	size_t crashed = crashed_of(r->paste);

	for (size_t i = 0; i < r->paste->n_threads; i++) {
		const struct cs_paste_thread *t = &r->paste->threads[i];
		const char *role = t->role ? t->role : role_of_name(t->name);

		for (size_t k = 0; k < t->n_frames; k++)
			add_frame(r, &t->frames[k], k);
		cs_facts_thread(&r->maker, &(struct cs_fact_thread){
						   .tid = t->tid,
						   .name = t->name,
						   .role = role,
						   .crashed = i == crashed,
						   .main = t->main || (role && !strcmp(role, "main")),
						   .holds_gil = t->holds_gil,
						   .waits_for_gil = t->waits_for_gil,
						   .deadlocked = t->deadlocked,
						   .orphaned = t->orphaned,
						   .stack = cs_facts_stack(&r->maker),
					   });
	}
}

static void add_messages(struct reported *r)
{
	for (size_t i = 0; i < r->paste->n_messages; i++) {
		enum cs_paste_weight weight = r->paste->weights ? r->paste->weights[i] : CS_PASTE_FINAL;

		cs_facts_message(&r->maker, r->paste->messages[i],
				 &(struct cs_fact_message){
					 .final = weight == CS_PASTE_FINAL,
					 .handled = weight == CS_PASTE_HANDLED,
				 });
		exit_of_message(r->facts, r->paste->messages[i]);
	}
}

static struct cs_error *add_words(struct reported *r)
{
	for (size_t i = 0; i < r->paste->n_facts; i++) {
		enum cs_fact fact = cs_fact_named(r->paste->facts[i]);

		if (fact == CS_FACT_COUNT)
			return cs_error_new(CS_ERR_FORMAT, "facts: there is no fact '%.40s'",
					    r->paste->facts[i]);
		r->facts->facts |= UINT64_C(1) << fact;
	}
	return NULL;
}

static struct cs_error *add_pairs(struct reported *r)
{
	struct cs_arena *arena = r->maker.arena;
	struct cs_variable *env = cs_arena_calloc(arena, r->paste->n_environment + 1, sizeof(*env));
	struct cs_version *versions = cs_arena_calloc(arena, r->paste->n_versions + 1, sizeof(*versions));

	if (!env || !versions)
		return &cs_nomem;
	for (size_t i = 0; i < r->paste->n_environment; i++)
		env[i] = (struct cs_variable){r->paste->environment[i].name,
					      r->paste->environment[i].value};
	for (size_t i = 0; i < r->paste->n_versions; i++)
		versions[i] = (struct cs_version){.name = r->paste->versions[i].name,
						  .value = r->paste->versions[i].value};
	r->facts->environment = env;
	r->facts->n_environment = r->paste->n_environment;
	r->facts->versions = versions;
	r->facts->n_versions = r->paste->n_versions;
	return NULL;
}

static enum cs_kind kind_of(const struct cs_paste *paste)
{
	switch (paste->kind) {
	case CS_PASTE_HANG:
		return CS_KIND_HANG;
	case CS_PASTE_OOM:
		return CS_KIND_OOM;
	default:
		return CS_KIND_CRASH;
	}
}

struct cs_error *cs_facts_of_paste(const struct cs_paste *paste, struct cs_arena *arena,
				   struct cs_facts *ret)
{
	CS_CLEANUP(reported_deinit)
	struct reported r = {.paste = paste, .maker = {.arena = arena}, .facts = ret};

	*ret = (struct cs_facts){
		.kind = kind_of(paste),
		.facts = CS_FACT_BIT(REPORT),
		.has_exit = paste->has_exit,
		.exit = paste->exit,
	};
	if (ret->kind == CS_KIND_HANG)
		ret->facts |= CS_FACT_BIT(NO_CRASH);
	cs_facts_signal(&r.maker, paste->signal, ret);
	for (size_t i = 0; i < paste->n_modules; i++)
		cs_facts_module(&r.maker, paste->modules[i]);
	add_threads(&r);
	add_messages(&r);
	CS_TRY(add_words(&r));
	CS_TRY(add_pairs(&r));
	if (r.maker.nomem)
		return &cs_nomem;
	if (!paste->explained)
		find_recursion(&r);
	return cs_facts_finish(&r.maker, ret);
}

struct cs_error *cs_facts_of_record(const char *line, size_t len, struct cs_arena *arena,
				    struct cs_facts *ret, const char **source_ret)
{
	struct cs_paste paste;
	struct cs_error *err = cs_paste_of_record(line, len, arena, &paste);

	*source_ret = paste.source;
	return err ? err : cs_facts_of_paste(&paste, arena, ret);
}
