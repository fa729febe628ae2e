/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the signatures of a folder as C: embed_signatures FOLDER FILE. Run by the build, with the loader
 * that corescan itself has; complains as `corescan signatures lint` does and fails if anything is wrong.
 *
 * Lists are written before the structs that point to them, each under a number of its own.
 */
#include "base/limits.h"
#include "signature/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static FILE *out;
static unsigned last_list;

static void put_text(const char *s)
{
	if (!s) {
		fputs("0", out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\' || c == '?')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

/* Each list function writes an array and returns its number; 0 for an empty one. */

static unsigned list_texts(const char *const *v, uint32_t n)
{
	if (!n)
		return 0;
	fprintf(out, "static const char *const l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < n; i++) {
		put_text(v[i]);
		fputs(", ", out);
	}
	fputs("};\n", out);
	return last_list;
}

static unsigned list_numbers(const struct cs_patterns *p)
{
	if (!p->n)
		return 0;
	fprintf(out, "static const uint32_t l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < p->n; i++)
		fprintf(out, "%" PRIu32 ", ", p->v[i]);
	fputs("};\n", out);
	return last_list;
}

static unsigned list_versions(const struct cs_version_tests *tests)
{
	if (!tests->n)
		return 0;
	fprintf(out, "static const struct cs_version_test l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < tests->n; i++) {
		fputs("{", out);
		put_text(tests->v[i].name);
		fputs(", ", out);
		put_text(tests->v[i].op);
		fputs(", ", out);
		put_text(tests->v[i].version);
		fputs("}, ", out);
	}
	fputs("};\n", out);
	return last_list;
}

/* ".name = {.v = l7, .n = 2}, ", the form that lists of structs with a count have. */
static void put_list(const char *name, unsigned list, uint32_t n)
{
	if (list)
		fprintf(out, ".%s = {.v = l%u, .n = %" PRIu32 "}, ", name, list, n);
}

/* ".name = l7, .n_name = 2, " */
static void put_array(const char *name, const char *count, unsigned list, uint32_t n)
{
	if (list)
		fprintf(out, ".%s = l%u, .%s = %" PRIu32 ", ", name, list, count, n);
}

struct thread_lists {
	unsigned frames, python;
};

static struct thread_lists list_thread(const struct cs_thread_test *t)
{
	return (struct thread_lists){.frames = list_numbers(&t->frames),
				     .python = list_numbers(&t->python)};
}

static void put_thread(const struct cs_thread_test *t, struct thread_lists lists)
{
	fputs("{.thread = ", out);
	put_text(t->thread);
	fputs(", ", out);
	put_list("frames", lists.frames, t->frames.n);
	put_list("python", lists.python, t->python.n);
	fprintf(out, ".top = %" PRIu32 ", .apart = %d}, ", t->top, t->apart);
}

static unsigned list_others(const struct cs_alternative *a)
{
	struct thread_lists *lists = calloc((size_t)a->n_others + 1, sizeof(*lists));

	if (!a->n_others || !lists) {
		free(lists);
		return 0;
	}
	for (uint32_t i = 0; i < a->n_others; i++)
		lists[i] = list_thread(&a->others[i]);
	fprintf(out, "static const struct cs_thread_test l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < a->n_others; i++)
		put_thread(&a->others[i], lists[i]);
	fputs("};\n", out);
	free(lists);
	return last_list;
}

static unsigned list_exits(const struct cs_alternative *a)
{
	if (!a->n_exits)
		return 0;
	fprintf(out, "static const int32_t l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < a->n_exits; i++)
		fprintf(out, "%" PRId32 ", ", a->exits[i]);
	fputs("};\n", out);
	return last_list;
}

static unsigned list_env(const struct cs_alternative *a)
{
	if (!a->n_env)
		return 0;
	fprintf(out, "static const struct cs_env_test l%u[] = {", ++last_list);
	for (uint32_t i = 0; i < a->n_env; i++) {
		fputs("{", out);
		put_text(a->env[i].name);
		fprintf(out, ", %" PRIu32 "}, ", a->env[i].value);
	}
	fputs("};\n", out);
	return last_list;
}

struct alternative_lists {
	unsigned message, others, exits, modules, env, versions;
	struct thread_lists self;
};

static void put_alternative(const struct cs_alternative *a, const struct alternative_lists *l)
{
	fputs("\t{", out);
	put_list("message", l->message, a->message.n);
	fputs(".self = ", out);
	put_thread(&a->self, l->self);
	put_array("others", "n_others", l->others, a->n_others);
	put_array("exits", "n_exits", l->exits, a->n_exits);
	put_list("modules", l->modules, a->modules.n);
	put_array("env", "n_env", l->env, a->n_env);
	put_list("versions", l->versions, a->versions.n);
	fprintf(out, ".signal = %" PRIu32 ", .kinds = %" PRIu32 ", .facts = UINT64_C(%" PRIu64 "), ",
		a->signal, a->kinds, a->facts);
	fprintf(out, ".has_confidence = %d, .confidence = (enum cs_confidence)%d},\n", a->has_confidence,
		(int)a->confidence);
}

static unsigned list_alternatives(const struct cs_alternative *v, uint32_t n)
{
	struct alternative_lists *lists = calloc((size_t)n + 1, sizeof(*lists));

	if (!n || !lists) {
		free(lists);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		lists[i] = (struct alternative_lists){
			.message = list_numbers(&v[i].message),
			.others = list_others(&v[i]),
			.exits = list_exits(&v[i]),
			.modules = list_numbers(&v[i].modules),
			.env = list_env(&v[i]),
			.versions = list_versions(&v[i].versions),
			.self = list_thread(&v[i].self),
		};
	fprintf(out, "static const struct cs_alternative l%u[] = {\n", ++last_list);
	for (uint32_t i = 0; i < n; i++)
		put_alternative(&v[i], &lists[i]);
	fputs("};\n", out);
	free(lists);
	return last_list;
}

static unsigned list_steps(const struct cs_signature *s)
{
	unsigned *versions = calloc((size_t)s->n_steps + 1, sizeof(*versions));

	if (!s->n_steps || !versions) {
		free(versions);
		return 0;
	}
	for (uint32_t i = 0; i < s->n_steps; i++)
		versions[i] = list_versions(&s->steps[i].versions);
	fprintf(out, "static const struct cs_advice l%u[] = {\n", ++last_list);
	for (uint32_t i = 0; i < s->n_steps; i++) {
		fputs("\t{.text = ", out);
		put_text(s->steps[i].text);
		fputs(", .unless_env = ", out);
		put_text(s->steps[i].unless_env);
		fputs(", ", out);
		put_list("versions", versions[i], s->steps[i].versions.n);
		fputs("},\n", out);
	}
	fputs("};\n", out);
	free(versions);
	return last_list;
}

static void put_member(const char *name, const char *text)
{
	fprintf(out, "\t .%s = ", name);
	put_text(text);
	fputs(",\n", out);
}

struct signature_lists {
	unsigned any, nots, wins_over, steps, references;
};

static void put_signature(const struct cs_signature *s, const struct signature_lists *l)
{
	const char *slash = strrchr(s->file, '/');

	fputs("\t{\n", out);
	put_member("id", s->id);
	put_member("title", s->title);
	put_member("category", s->category);
	put_member("explanation", s->explanation);
	put_member("versions", s->versions);
	put_member("file", slash ? slash + 1 : s->file);
	fprintf(out, "\t .line = %" PRIu32 ", .priority = %" PRId32 ", ", s->line, s->priority);
	fprintf(out, ".severity = (enum cs_severity_of)%d, .confidence = (enum cs_confidence)%d,\n\t ",
		(int)s->severity, (int)s->confidence);
	put_array("any", "n_any", l->any, s->n_any);
	put_array("nots", "n_nots", l->nots, s->n_nots);
	put_list("wins_over", l->wins_over, s->wins_over.n);
	put_array("steps", "n_steps", l->steps, s->n_steps);
	put_list("references", l->references, s->references.n);
	fputs("},\n", out);
}

static void put_signatures(const struct cs_signature_set *set)
{
	struct signature_lists *lists = calloc((size_t)set->n_signatures + 1, sizeof(*lists));

	for (uint32_t i = 0; lists && i < set->n_signatures; i++) {
		const struct cs_signature *s = &set->signatures[i];

		lists[i] = (struct signature_lists){
			.any = list_alternatives(s->any, s->n_any),
			.nots = list_alternatives(s->nots, s->n_nots),
			.wins_over = list_texts(s->wins_over.v, s->wins_over.n),
			.steps = list_steps(s),
			.references = list_texts(s->references.v, s->references.n),
		};
	}
	fputs("static const struct cs_signature signatures[] = {\n", out);
	for (uint32_t i = 0; lists && i < set->n_signatures; i++)
		put_signature(&set->signatures[i], &lists[i]);
	fputs("\t{.id = 0},\n};\n", out); /* C has no empty arrays */
	free(lists);
}

static void put_patterns(const char *name, const struct cs_pattern *patterns, uint32_t n)
{
	unsigned *lists = calloc((size_t)n + 1, sizeof(*lists));

	for (uint32_t i = 0; lists && i < n; i++)
		lists[i] = list_texts(patterns[i].literals, patterns[i].n_literals);
	fprintf(out, "static const struct cs_pattern %s[] = {\n", name);
	for (uint32_t i = 0; lists && i < n; i++) {
		fputs("\t{.text = ", out);
		put_text(patterns[i].text);
		fputs(", ", out);
		put_array("literals", "n_literals", lists[i], patterns[i].n_literals);
		fputs("},\n", out);
	}
	fputs("\t{.text = 0},\n};\n", out);
	free(lists);
}

/* The member of the set with the lists for fingerprints. */
static void put_print(const struct cs_print_lists *print, const unsigned *lists)
{
	fprintf(out, "\n\t.print = {.algorithm = %" PRIu32 ", ", print->algorithm);
	fprintf(out, ".patterns = print_patterns, .n_patterns = %" PRIu32 ",\n\t\t", print->n_patterns);
	put_list("sentinel", lists[0], print->sentinel.n);
	put_list("irrelevant", lists[1], print->irrelevant.n);
	put_list("interpreter", lists[2], print->interpreter.n);
	put_list("prefix", lists[3], print->prefix.n);
	put_list("silent", lists[4], print->silent.n);
	fputs("},", out);
}

struct decoy_lists {
	unsigned frames, only, python, only_python;
};

static void put_decoys(const struct cs_signature_set *set)
{
	struct decoy_lists *lists = calloc((size_t)set->n_decoys + 1, sizeof(*lists));

	for (uint32_t i = 0; lists && i < set->n_decoys; i++) {
		lists[i].frames = list_numbers(&set->decoys[i].frames);
		lists[i].only = list_numbers(&set->decoys[i].only);
		lists[i].python = list_numbers(&set->decoys[i].python);
		lists[i].only_python = list_numbers(&set->decoys[i].only_python);
	}
	fputs("static const struct cs_decoy decoys[] = {\n", out);
	for (uint32_t i = 0; lists && i < set->n_decoys; i++) {
		const struct cs_decoy *d = &set->decoys[i];

		fputs("\t{.name = ", out);
		put_text(d->name);
		fputs(", ", out);
		put_list("frames", lists[i].frames, d->frames.n);
		put_list("only", lists[i].only, d->only.n);
		put_list("python", lists[i].python, d->python.n);
		put_list("only_python", lists[i].only_python, d->only_python.n);
		fputs("},\n", out);
	}
	fputs("\t{.name = 0},\n};\n", out);
	free(lists);
}

static void put_set(const struct cs_signature_set *set)
{
	const struct cs_print_lists *print = &set->print;
	unsigned reporters, plain, prints[5];

	fputs("/* Made by embed_signatures from corpus/signatures. */\n"
	      "#include \"signature/signature.h\"\n\n",
	      out);
	put_patterns("patterns", set->patterns, set->n_patterns);
	put_patterns("print_patterns", print->patterns, print->n_patterns);
	put_decoys(set);
	put_signatures(set);
	reporters = list_numbers(&set->reporters);
	plain = list_numbers(&set->plain);
	prints[0] = list_numbers(&print->sentinel);
	prints[1] = list_numbers(&print->irrelevant);
	prints[2] = list_numbers(&print->interpreter);
	prints[3] = list_numbers(&print->prefix);
	prints[4] = list_numbers(&print->silent);
	fputs("\nconst struct cs_signature_set cs_signatures_builtin = {\n\t", out);
	fprintf(out, ".patterns = patterns, .n_patterns = %" PRIu32 ",\n\t", set->n_patterns);
	fprintf(out, ".signatures = signatures, .n_signatures = %" PRIu32 ",\n\t", set->n_signatures);
	fprintf(out, ".decoys = decoys, .n_decoys = %" PRIu32 ",\n\t", set->n_decoys);
	put_list("reporters", reporters, set->reporters.n);
	put_list("plain", plain, set->plain.n);
	put_print(print, prints);
	fputs("\n};\n", out);
}

static int complain(const struct cs_complaints *c)
{
	for (size_t i = 0; i < c->list.n; i++)
		fprintf(stderr, "%s\n", c->list.v[i]);
	return c->list.n || c->dropped;
}

int main(int argc, char **argv)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	CS_CLEANUP(cs_error_destroyp) struct cs_error *err = NULL;
	struct cs_complaints complaints = {.arena = arena};
	struct cs_signature_set set = {0};
	int failed;

	if (argc != 3 || !arena) {
		fprintf(stderr, "usage: embed_signatures FOLDER FILE\n");
		return 2;
	}
	err = cs_signatures_load(argv[1], NULL, arena, &complaints, &set);
	if (err)
		fprintf(stderr, "%s\n", cs_error_message(err));
	failed = complain(&complaints) || err;
	free(complaints.list.v);
	if (failed)
		return 1;
	out = fopen(argv[2], "w");
	if (!out) {
		perror(argv[2]);
		return 1;
	}
	put_set(&set);
	if (fflush(out) || ferror(out) || fclose(out)) {
		perror(argv[2]);
		return 1;
	}
	return 0;
}
