/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corescan signatures: what there is, what one says, whether files are right, whether cases hold. */
#include "cli/signatures_command.h"

#include "base/limits.h"
#include "cli/output.h"
#include "cli/records.h"
#include "report/text_out.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#define FILES "corpus/signatures" /* where they are in the source tree */
#define CASES "corpus/cases"
#define INDENT 2

typedef struct cs_error *verb_fn(const struct cs_cli *cli, struct cs_text *t,
				 const struct cs_signature_set *set, enum cs_exit *status);

static struct cs_error *list(const struct cs_cli *cli, struct cs_text *t,
			     const struct cs_signature_set *set, enum cs_exit *status)
{
	(void)status;
	if (cli->n_operands > 1)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "signatures list takes no argument (%s); "
				    "corescan signatures show ID shows one",
				    cli->operands[1]);
	for (uint32_t i = 0; i < set->n_signatures; i++) {
		const struct cs_signature *s = &set->signatures[i];

		cs_text_put(t, s->id);
		cs_text_printf(t, "\t%" PRId32 "\t%s\t", s->priority, cs_severity_word(s->severity));
		cs_text_put(t, s->category);
		cs_text_printf(t, "\t");
		cs_text_put(t, s->title);
		cs_text_printf(t, "\n");
	}
	return NULL;
}

/* ---- show ---- */

static void put_patterns(struct cs_text *t, const struct cs_signature_set *set, const char *label,
			 const struct cs_patterns *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		cs_text_label(t, i ? "" : label);
		cs_text_put(t, set->patterns[p->v[i]].text);
		cs_text_printf(t, "\n");
	}
}

static void put_pattern(struct cs_text *t, const struct cs_signature_set *set, const char *label,
			uint32_t pattern)
{
	struct cs_patterns one = {.v = &pattern, .n = pattern ? 1 : 0};

	put_patterns(t, set, label, &one);
}

static void put_thread_test(struct cs_text *t, const struct cs_signature_set *set,
			    const struct cs_thread_test *test)
{
	put_patterns(t, set, "frames", &test->frames);
	put_patterns(t, set, "python", &test->python);
	put_pattern(t, set, "top frame", test->top);
	cs_text_fact(t, "of thread", test->thread);
}

/* What an alternative asks of the process as a whole, and how sure it is by itself. */
static void put_process_tests(struct cs_text *t, const struct cs_alternative *a)
{
	for (uint32_t i = 0; i < a->n_exits; i++) {
		cs_text_label(t, "exit");
		cs_text_printf(t, "%" PRId32 "\n", a->exits[i]);
	}
	for (uint32_t i = 0; i < a->versions.n; i++) {
		cs_text_label(t, "version");
		cs_text_put(t, a->versions.v[i].name);
		cs_text_put(t, a->versions.v[i].op);
		cs_text_put(t, a->versions.v[i].version);
		cs_text_printf(t, "\n");
	}
	if (a->has_confidence)
		cs_text_fact(t, "then it is", cs_confidence_word(a->confidence));
}

static void put_alternative(struct cs_text *t, const struct cs_signature_set *set,
			    const struct cs_alternative *a)
{
	static const char *const kinds[] = {"crash", "hang", "oom"};

	put_patterns(t, set, "message", &a->message);
	put_thread_test(t, set, &a->self);
	for (uint32_t i = 0; i < a->n_others; i++) {
		cs_text_printf(t, "  and of another thread\n");
		put_thread_test(t, set, &a->others[i]);
	}
	put_pattern(t, set, "signal", a->signal);
	put_patterns(t, set, "module", &a->modules);
	for (unsigned k = 0; k < CS_COUNT(kinds); k++)
		if (a->kinds & 1U << k)
			cs_text_fact(t, "kind", kinds[k]);
	for (uint32_t i = 0; i < a->n_env; i++)
		put_pattern(t, set, a->env[i].name, a->env[i].value);
	for (unsigned k = 0; k < CS_FACT_COUNT; k++)
		if (a->facts & UINT64_C(1) << k)
			cs_text_fact(t, "fact", cs_fact_word((enum cs_fact)k));
	put_process_tests(t, a);
}

static void put_alternatives(struct cs_text *t, const struct cs_signature_set *set, const char *heading,
			     const struct cs_alternative *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		cs_text_heading(t, "%s", i ? "or" : heading);
		put_alternative(t, set, &v[i]);
	}
}

static void put_signature(struct cs_text *t, const struct cs_signature_set *set,
			  const struct cs_signature *s)
{
	cs_text_styled(t, CS_STYLE_HEAD, s->title);
	cs_text_printf(t, "\n");
	cs_text_fact(t, "id", s->id);
	cs_text_fact(t, "category", s->category);
	cs_text_fact(t, "severity", cs_severity_word(s->severity));
	cs_text_label(t, "priority");
	cs_text_printf(t, "%" PRId32 "\n", s->priority);
	cs_text_fact(t, "confidence", cs_confidence_word(s->confidence));
	cs_text_fact(t, "versions", s->versions);
	for (uint32_t i = 0; i < s->wins_over.n; i++)
		cs_text_fact(t, "wins over", s->wins_over.v[i]);
	cs_text_printf(t, "\n%*s", INDENT, "");
	cs_text_wrapped(t, INDENT, s->explanation);
	for (uint32_t i = 0; i < s->n_steps; i++) {
		cs_text_printf(t, "  %" PRIu32 ". ", i + 1);
		cs_text_wrapped(t, 5, s->steps[i].text);
	}
	put_alternatives(t, set, "Fits if there is", s->any, s->n_any);
	put_alternatives(t, set, "And not if there is", s->nots, s->n_nots);
	for (uint32_t i = 0; i < s->references.n; i++)
		cs_text_fact(t, i ? "" : "reported in", s->references.v[i]);
}

static struct cs_error *show(const struct cs_cli *cli, struct cs_text *t,
			     const struct cs_signature_set *set, enum cs_exit *status)
{
	(void)status;
	if (cli->n_operands < 2)
		return cs_error_new(CS_ERR_ARGUMENT,
				    "signatures show needs an id; corescan signatures list has them");
	for (size_t i = 1; i < cli->n_operands; i++) {
		const struct cs_signature *s = cs_signature_find(set, cli->operands[i]);

		if (!s)
			return cs_error_new(CS_ERR_ARGUMENT,
					    "there is no signature %s; corescan signatures list has them",
					    cli->operands[i]);
		if (i > 1)
			cs_text_printf(t, "\n");
		put_signature(t, set, s);
	}
	return NULL;
}

/* ---- lint ---- */

static struct cs_error *lint_folder(const char *dir, struct cs_text *t,
				    const struct cs_signature_set *set, enum cs_exit *status)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	struct cs_complaints complaints = {.arena = arena, .strict = true};
	struct cs_signature_set found = {0};
	struct cs_error *err;

	if (!arena)
		return &cs_nomem;
	err = cs_signatures_load(dir, set, arena, &complaints, &found);
	for (size_t i = 0; !err && i < complaints.list.n; i++) {
		cs_text_put(t, complaints.list.v[i]);
		cs_text_printf(t, "\n");
	}
	if (!err)
		cs_text_printf(t, "%" PRIu32 " signatures with the built-in ones, %zu complaints\n",
			       found.n_signatures, complaints.list.n + complaints.dropped);
	if (complaints.list.n)
		*status = CS_EXIT_INCOMPLETE;
	free(complaints.list.v);
	return err;
}

static struct cs_error *lint(const struct cs_cli *cli, struct cs_text *t,
			     const struct cs_signature_set *set, enum cs_exit *status)
{
	if (cli->n_operands < 2)
		return lint_folder(FILES, t, set, status);
	for (size_t i = 1; i < cli->n_operands; i++)
		CS_TRY(lint_folder(cli->operands[i], t, set, status));
	return NULL;
}

/* ---- test ---- */

struct testing {
	struct cs_text *t;
	const char *path;
	size_t cases, failed;
};

static bool has_finding(const struct cs_findings *f, const char *id)
{
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->v[i].id, id))
			return true;
	return false;
}

static void fail(struct testing *test, const struct cs_record *record, const char *what)
{
	struct cs_text *t = test->t;

	test->failed++;
	cs_text_put(t, test->path);
	cs_text_printf(t, ":%zu: ", record->line);
	cs_text_put(t, record->source ? record->source : "no source");
	cs_text_printf(t, ": ");
	cs_text_put(t, what);
	for (size_t i = 0; i < record->found.findings.n; i++) {
		cs_text_printf(t, "%s", i ? ", " : "; found: ");
		cs_text_put(t, record->found.findings.v[i].id);
	}
	cs_text_printf(t, "\n");
}

static struct cs_error *test_record(void *arg, const struct cs_record *record)
{
	CS_CLEANUP(json_decrefp) json_t *json = json_loadb(record->text, record->len, 0, NULL);
	struct testing *test = arg;
	const char *expected = json_string_value(json_object_get(json, "expected"));
	const char *must_not = json_string_value(json_object_get(json, "must_not"));
	const char *first = record->found.findings.n ? record->found.findings.v[0].id : "unknown";
	char what[256];

	test->cases++;
	if (record->error) {
		fail(test, record, cs_error_message(record->error));
	} else if (!expected && !must_not) {
		fail(test, record, "has neither expected nor must_not: it tests nothing");
	} else if (must_not && has_finding(&record->found.findings, must_not)) {
		snprintf(what, sizeof(what), "must not be %.64s", must_not);
		fail(test, record, what);
	} else if (expected && strcmp(expected, first)) {
		snprintf(what, sizeof(what), "must be %.64s", expected);
		fail(test, record, what);
	}
	return NULL;
}

static struct cs_error *test_file(struct testing *test, const char *path,
				  const struct cs_signature_set *set)
{
	test->path = path;
	return cs_records_match(path, set, test_record, test);
}

static struct cs_error *test_folder(struct testing *test, const struct cs_signature_set *set)
{
	struct cs_error *err = NULL;
	glob_t files;

	if (glob(CASES "/*.jsonl", 0, NULL, &files))
		return cs_error_new(CS_ERR_ARGUMENT, "no cases given, and none in " CASES
						     ": corescan signatures test FILE.jsonl...");
	for (size_t i = 0; !err && i < files.gl_pathc; i++)
		err = test_file(test, files.gl_pathv[i], set);
	globfree(&files);
	return err;
}

static struct cs_error *test_cases(const struct cs_cli *cli, struct cs_text *t,
				   const struct cs_signature_set *set, enum cs_exit *status)
{
	struct testing test = {.t = t};

	if (cli->n_operands < 2)
		CS_TRY(test_folder(&test, set));
	for (size_t i = 1; i < cli->n_operands; i++)
		CS_TRY(test_file(&test, cli->operands[i], set));
	cs_text_printf(t, "%zu cases, %zu failed\n", test.cases, test.failed);
	if (test.failed)
		*status = CS_EXIT_INCOMPLETE;
	return NULL;
}

static const struct {
	const char *name;
	verb_fn *run;
} verbs[] = {
	{"list", list},
	{"show", show},
	{"lint", lint},
	{"test", test_cases},
};

static struct cs_error *run(const struct cs_cli *cli, struct cs_output *output, enum cs_exit *status)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	const struct cs_text_options options = {
		.color = output->color, .width = output->width, .all = true};
	struct cs_text t = {.out = output->stream, .options = &options, .whole = true};
	struct cs_signature_set set;

	if (!arena)
		return &cs_nomem;
	CS_TRY(cs_signatures_choose(cli->analysis.signatures, arena, &set));
	for (size_t i = 0; i < CS_COUNT(verbs); i++)
		if (!strcmp(verbs[i].name, cli->operands[0]))
			return verbs[i].run(cli, &t, &set, status);
	return NULL;
}

enum cs_exit cs_command_signatures(const struct cs_cli *cli)
{
	return cs_output_run(cli, run);
}
