/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process, its versions and environment, and the core file itself. */
#include "report/text_sections.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define DEFAULT_VARIABLES 16
#define MAX_COMMAND 400 /* columns of the command line unless --all */
#define MAX_ARGUMENT 120

static bool plain_argument(const char *s)
{
	return *s && !s[strcspn(s, " \t\n'\"\\$`*?[]{}()<>|&;!#~")];
}

/* Quoted so that it could be typed again, but for the escapes of what may not reach a
 * terminal. */
static void put_argument(struct cs_text *t, const char *s)
{
	if (plain_argument(s)) {
		cs_text_put_cut(t, s, MAX_ARGUMENT);
		return;
	}
	cs_text_printf(t, "'");
	cs_text_put_cut(t, s, MAX_ARGUMENT);
	cs_text_printf(t, "'");
}

void cs_text_command(struct cs_text *t, const struct cs_process *p)
{
	unsigned start = t->column;
	size_t columns = 0;

	for (size_t i = 0; i < p->n_command; i++) {
		columns +=
			1 + CS_MIN(cs_text_columns(p->command[i]), (size_t)MAX_ARGUMENT);
		if (i)
			cs_text_gap(t, start,
				    CS_MIN(cs_text_columns(p->command[i]),
					   (size_t)MAX_ARGUMENT) +
					    2);
		if (!t->options->all && columns > MAX_COMMAND) {
			cs_text_printf(t, "... %s more arguments (--all)",
				       cs_text_count(p->n_command - i));
			return;
		}
		put_argument(t, p->command[i]);
	}
	if (!p->command_complete)
		cs_text_printf(t, " (the first 80 bytes)");
}

static void put_time(struct cs_text *t, const char *label, int64_t when)
{
	time_t seconds = (time_t)when;
	char text[64];
	struct tm tm;

	if (when <= 0 || !gmtime_r(&seconds, &tm))
		return;
	if (strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		cs_text_fact(t, label, text);
}

static void put_ids(struct cs_text *t, const struct cs_process *p)
{
	cs_text_label(t, "ids");
	if (p->pid > 0)
		cs_text_printf(t, "process %" PRId32, p->pid);
	else
		cs_text_printf(t, "process id not known");
	if (p->ppid > 0)
		cs_text_printf(t, ", parent %" PRId32, p->ppid);
	if (p->uid >= 0)
		cs_text_printf(t, ", user %" PRId64, p->uid);
	if (p->gid >= 0)
		cs_text_printf(t, ", group %" PRId64, p->gid);
	cs_text_printf(t, "\n");
}

static void put_versions(struct cs_text *t, const struct cs_analysis *a)
{
	if (!a->n_versions)
		return;
	cs_text_label(t, "versions");
	for (size_t i = 0; i < a->n_versions; i++) {
		const struct cs_version *v = &a->versions[i];

		if (i && t->options->all) {
			cs_text_label(t, "");
		} else if (i) {
			cs_text_printf(t, ",");
			cs_text_gap(t, 2 + CS_TEXT_LABEL,
				    cs_text_columns(v->name) + cs_text_columns(v->value) +
					    2);
		}
		cs_text_put(t, v->name);
		cs_text_printf(t, " ");
		cs_text_put_cut(t, v->value, MAX_ARGUMENT);
		if (t->options->all) {
			if (v->source) {
				cs_text_printf(t, " (");
				cs_text_put(t, v->source);
				cs_text_printf(t, ")");
			}
			cs_text_printf(t, "\n");
		}
	}
	if (!t->options->all)
		cs_text_printf(t, "\n");
}

/* ", GIL held by ...": who may run Python now. */
static void put_gil(struct cs_text *t, const struct cs_analysis *a,
		    const struct cs_python_runtime *r)
{
	const struct cs_thread *holder = cs_text_thread(a, r->gil_holder);
	const char *name = holder && holder->python ? holder->python->name : NULL;

	if (r->gil_holder) {
		cs_text_printf(t, ", GIL held by %" PRId32, r->gil_holder);
		if (name) {
			cs_text_printf(t, " \"");
			cs_text_put_cut(t, name, MAX_ARGUMENT);
			cs_text_printf(t, "\"");
		}
	} else if (r->gil && !strcmp(r->gil, "free")) {
		cs_text_printf(t, ", nobody holds the GIL");
	} else if (r->gil && !r->free_threaded) {
		cs_text_printf(t, ", GIL ");
		cs_text_put(t, r->gil);
	}
	if (r->collecting)
		cs_text_printf(t, ", %" PRId32 " collects garbage", r->collecting);
}

static void put_layout(struct cs_text *t, const struct cs_python_runtime *r)
{
	static const char *const words[] = {
		[CS_LAYOUT_PUBLISHED] = "the offsets that it publishes",
		[CS_LAYOUT_DWARF] = "its debug information",
		[CS_LAYOUT_TABLE] = "the table of its version",
	};

	if (r->found)
		cs_text_fact(t, "  found by", r->found);
	if (r->layout < CS_COUNT(words))
		cs_text_fact(t, "  read with", words[r->layout]);
}

static void put_runtime(struct cs_text *t, const struct cs_analysis *a,
			const struct cs_python_runtime *r)
{
	cs_text_label(t, "python");
	cs_text_put(t, r->version ? r->version : "version not known");
	if (r->free_threaded)
		cs_text_printf(t, ", free-threaded");
	if (r->phase && strcmp(r->phase, "running") != 0) {
		cs_text_printf(t, ", ");
		cs_text_put(t, r->phase);
	}
	if (r->n_interpreters > 1)
		cs_text_printf(t, ", %s interpreters", cs_text_count(r->n_interpreters));
	cs_text_printf(t, ", %s thread%s", cs_text_count(r->n_threads),
		       r->n_threads == 1 ? "" : "s");
	put_gil(t, a, r);
	if (r->n_stale)
		cs_text_printf(t, ", %s thread state%s left over from fork()",
			       cs_text_count(r->n_stale), r->n_stale == 1 ? "" : "s");
	cs_text_printf(t, "\n");
	if (t->options->all)
		put_layout(t, r);
}

static void put_environment(struct cs_text *t, const struct cs_process *p)
{
	size_t n = p->n_environment;
	size_t shown =
		t->options->all || n <= DEFAULT_VARIABLES + 1 ? n : DEFAULT_VARIABLES;

	for (size_t i = 0; i < shown; i++) {
		cs_text_label(t, i ? "" : "environment");
		cs_text_put(t, p->environment[i].name);
		cs_text_printf(t, "=");
		cs_text_put_cut(t, p->environment[i].value, MAX_ARGUMENT);
		cs_text_printf(t, "\n");
	}
	if (shown < n) {
		cs_text_label(t, "");
		cs_text_printf(t, "(%s more: --all)\n", cs_text_count(n - shown));
	}
	if (p->n_environment_hidden) {
		cs_text_label(t, n ? "" : "environment");
		cs_text_printf(
			t, "(%s more, not on the list of those that are shown)\n",
			cs_text_count(p->n_environment_hidden));
	}
}

void cs_text_process(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_process *p = &a->process;

	cs_text_heading(t, "Process");
	cs_text_fact(t, "executable", p->executable ? p->executable : "not known");
	put_ids(t, p);
	put_time(t, "started", p->start_time);
	put_versions(t, a);
	for (size_t i = 0; i < a->python.n_runtimes; i++)
		put_runtime(t, a, &a->python.runtimes[i]);
	put_environment(t, p);
}

void cs_text_core(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_input *in = &a->input;

	cs_text_heading(t, "Core file");
	cs_text_fact(t, "path", in->path);
	cs_text_label(t, "size");
	cs_text_printf(t, "%s", cs_text_size(in->bytes));
	if (in->compression)
		cs_text_printf(t, ", compressed with %s", in->compression);
	if (in->complete)
		cs_text_printf(t, ", complete\n");
	else if (in->expected_bytes > in->bytes && !in->compression)
		cs_text_printf(t, ", cut off: its headers ask for %s\n",
			       cs_text_size(in->expected_bytes));
	else
		cs_text_printf(t, ", cut off\n");
	cs_text_label(t, "of");
	cs_text_printf(t, "%s",
		       a->process.machine ? a->process.machine : "unknown machine");
	if (in->writer)
		cs_text_printf(t, ", written by %s%s",
			       strcmp(in->writer, "kernel") ? "" : "the ", in->writer);
	cs_text_printf(t, "\n");
	put_time(t, "written", a->process.core_time);
	if (!t->options->all || !a->n_timing)
		return;
	cs_text_label(t, "analysed");
	cs_text_printf(t, "in %.0f ms", a->total_ms);
	for (size_t i = 0; i < a->n_timing; i++)
		cs_text_printf(t, "%s%s %.1f", i ? ", " : " (", a->timing[i].layer,
			       a->timing[i].ms);
	cs_text_printf(t, ")\n");
}
