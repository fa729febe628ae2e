/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is said in words: the verdict, the findings, the table of versions, the environment, and what limits
 * it all. Knows what a stranger needs to be told; how a text is made harmless, the gates know.
 */
#include "report/markdown_parts.h"
#include "report/text_sections.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define MAX_SENTENCE 700
#define MAX_NAME 200
#define MAX_VALUE 300
#define MAX_COMMAND 600
#define MORE_ROOM 48 /* bytes kept to say that there is more */
#define MAX_STEPS 6
#define MAX_REFERENCES 6
#define MAX_WHY 2
#define MAX_OTHERS 5
#define MAX_DIAGNOSTICS 6

/* ---- the verdict ---- */

/* What ended it, as the first half of a sentence. */
static void put_cause(struct cs_strbuf *out, const struct cs_crash *c)
{
	char signal[64] = "";
	size_t begin;

	if (!c->signal && !c->summary) {
		cs_strbuf_puts(out, "**No thread crashed: the core was taken of a process that went on "
				    "running**");
		return;
	}
	if (c->signal_name && !(c->summary && !strncmp(c->summary, c->signal_name, strlen(c->signal_name))))
		snprintf(signal, sizeof(signal), "%s", c->signal_name);
	else if (!c->signal_name && c->signal)
		snprintf(signal, sizeof(signal), "Signal %d", c->signal);
	cs_strbuf_puts(out, "**");
	begin = out->len;
	cs_md_prose(out, signal, MAX_NAME);
	cs_strbuf_puts(out, *signal && c->summary ? ": " : "");
	cs_md_prose(out, c->summary, MAX_SENTENCE);
	cs_strbuf_puts(out, "**");
	if (!out->cut)
		out->data[begin] = (char)toupper((unsigned char)out->data[begin]);
}

/*
 * @lead and the frame as the text report has it, "function at file:line (module)"; nothing where @told, if
 * there is one, has its name already.
 */
static struct cs_error *put_place(struct cs_strbuf *out, const char *lead, const struct cs_frame *f,
				  const char *told)
{
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet sheet = {0};
	char name[MAX_NAME];

	CS_TRY(cs_md_sheet_init(&sheet));
	cs_text_place(&sheet.text, f);
	CS_TRY(cs_md_sheet_done(&sheet));
	snprintf(name, sizeof(name), "%.*s", (int)CS_MIN(strcspn(sheet.bytes, " "), sizeof(name)),
		 sheet.bytes);
	if (told && strstr(told, name))
		return NULL;
	cs_strbuf_puts(out, lead);
	cs_md_code(out, sheet.bytes, MAX_VALUE);
	return NULL;
}

static struct cs_error *put_where(struct cs_strbuf *out, const struct cs_analysis *a)
{
	const struct cs_thread *thread = cs_text_crashed_thread(a);
	const struct cs_stack_group *g = thread ? thread->group : NULL;
	size_t blamed = cs_text_blamed_frame(a, g);
	const struct cs_frame *python = NULL, *f;

	if (blamed == CS_NO_FRAME)
		return NULL;
	f = &g->frames[blamed];
	CS_TRY(put_place(out, ", in ", f, a->crash.summary));
	for (size_t i = g->n_frames; i-- > blamed + 1;)
		if (g->frames[i].kind == CS_FRAME_PYTHON)
			python = &g->frames[i];
	if (f->kind == CS_FRAME_PYTHON || !python)
		return NULL;
	return put_place(out, ", called from Python in ", python, NULL);
}

static void put_problem(struct cs_strbuf *out, const struct cs_analysis *a)
{
	const struct cs_finding *f = a->n_findings ? &a->findings[0] : NULL;

	if (f && f->title) {
		cs_strbuf_puts(out, "\nKnown problem: **");
		cs_md_prose(out, f->title, MAX_SENTENCE);
		cs_strbuf_printf(out, "** (confidence: %s).", cs_confidence_name(f->confidence));
		if (f->explanation) {
			cs_strbuf_putc(out, ' ');
			cs_md_prose(out, f->explanation, 2 * MAX_SENTENCE);
		}
		cs_strbuf_puts(out, "\n");
	} else if (a->n_signatures && a->crash.signal) {
		cs_strbuf_printf(out, "\nNone of the %s problems that corescan knows fits.\n",
				 cs_text_count(a->n_signatures));
	}
}

/* The last words, unless an exception says the same. */
static bool is_told_by_exception(const struct cs_analysis *a, const char *message)
{
	for (size_t i = 0; i < a->n_exceptions; i++) {
		const char *said = a->exceptions[i].message;
		char line[MAX_NAME];

		snprintf(line, sizeof(line), "%.*s", said ? (int)strcspn(said, "\n") : 0, said ? said : "");
		if (*line && strstr(message, line))
			return true;
	}
	return false;
}

struct cs_error *cs_md_verdict(struct cs_md *m)
{
	const struct cs_crash *c = &m->a->crash;
	struct cs_strbuf unit;
	struct cs_error *err;
	bool fits;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	put_cause(&unit, c);
	err = put_where(&unit, m->a);
	if (err) {
		cs_strbuf_deinit(&unit);
		return err;
	}
	cs_strbuf_puts(&unit, ".\n");
	CS_TRY(cs_md_add(m, &unit, &fits));
	put_problem(&unit, m->a);
	CS_TRY(cs_md_add(m, &unit, &fits));
	if (!c->message || is_told_by_exception(m->a, c->message) || cs_md_room(m) < CS_MD_MIN_BLOCK)
		return NULL;
	cs_strbuf_puts(&unit, "\nIts last words:\n\n");
	cs_md_block(&unit, c->message, cs_md_room(m) - unit.len);
	return cs_md_add(m, &unit, &fits);
}

/* ---- findings ---- */

static void put_references(struct cs_strbuf *out, const struct cs_finding *f)
{
	size_t n = CS_MIN(f->n_references, (size_t)MAX_REFERENCES);

	for (size_t i = 0; i < n; i++) {
		cs_strbuf_puts(out, i ? ", " : "");
		cs_md_reference(out, f->references[i]);
	}
	if (n < f->n_references)
		cs_strbuf_printf(out, " and %s more", cs_text_count(f->n_references - n));
}

/* Evidence, but for what stands in the last words, which the reader has just read. */
static void put_why(struct cs_strbuf *out, const struct cs_finding *f, const char *last_words)
{
	size_t shown = 0;

	for (size_t i = 0; i < f->n_evidence && shown < MAX_WHY; i++) {
		const struct cs_evidence *e = &f->evidence[i];

		if (!e->text || (last_words && strstr(last_words, e->text)))
			continue;
		cs_strbuf_puts(out, shown++ ? "; " : "Seen here: ");
		if (e->tid > 0)
			cs_strbuf_printf(out, "thread %" PRId32 " %s ", e->tid,
					 e->frame >= 0 ? "in" : "says");
		cs_md_code(out, e->text, MAX_VALUE);
	}
	if (shown)
		cs_strbuf_puts(out, ".\n");
}

/* The parts of a list, one after the other, and how many had no room. */
static struct cs_error *add_steps(struct cs_md *m, const struct cs_finding *f)
{
	size_t shown = 0, n = CS_MIN(f->n_steps, (size_t)MAX_STEPS);
	struct cs_strbuf unit;
	bool fits = true;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	for (; shown < n && fits; shown += fits) {
		if (!shown)
			cs_strbuf_puts(&unit, m->out.len ? "\n**What to do**\n\n" : "**What to do**\n\n");
		cs_strbuf_printf(&unit, "%zu. ", shown + 1);
		cs_md_prose(&unit, f->steps[shown], MAX_SENTENCE);
		cs_strbuf_puts(&unit, "\n");
		CS_TRY(cs_md_add(m, &unit, &fits));
	}
	if (!shown || shown == f->n_steps)
		return NULL;
	cs_strbuf_printf(&unit, "\n%s more: `corescan --all CORE`\n", cs_text_count(f->n_steps - shown));
	return cs_md_add(m, &unit, &fits);
}

struct cs_error *cs_md_finding(struct cs_md *m)
{
	const struct cs_finding *f = m->a->n_findings ? &m->a->findings[0] : NULL;
	struct cs_strbuf unit;
	bool fits;

	if (!f || !f->title)
		return NULL;
	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	put_why(&unit, f, m->a->crash.message);
	CS_TRY(cs_md_add(m, &unit, &fits));
	CS_TRY(add_steps(m, f));
	cs_strbuf_puts(&unit, m->out.len ? "\n" : "");
	cs_strbuf_puts(&unit, f->n_references ? "Reported as " : "Signature ");
	put_references(&unit, f);
	cs_strbuf_puts(&unit, f->n_references ? " (signature " : "");
	cs_md_code(&unit, f->id, MAX_NAME);
	cs_strbuf_puts(&unit, f->n_references ? ").\n" : ".\n");
	return cs_md_add(m, &unit, &fits);
}

struct cs_error *cs_md_others(struct cs_md *m)
{
	size_t n = m->a->n_findings, shown = 1, last = CS_MIN(n, (size_t)MAX_OTHERS + 1);
	struct cs_strbuf unit;
	bool fits = true;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	for (; shown < last && fits; shown += fits) {
		const struct cs_finding *f = &m->a->findings[shown];

		cs_strbuf_puts(&unit, shown > 1 ? "* " : "**Also fits**\n\n* ");
		cs_md_prose(&unit, f->title, MAX_SENTENCE);
		cs_strbuf_printf(&unit, " (%s, ", cs_confidence_name(f->confidence));
		cs_md_code(&unit, f->id, MAX_NAME);
		cs_strbuf_puts(&unit, f->n_references ? "): " : ")");
		put_references(&unit, f);
		cs_strbuf_puts(&unit, "\n");
		CS_TRY(cs_md_add(m, &unit, &fits));
	}
	if (shown >= n || shown == 1)
		return NULL;
	cs_strbuf_printf(&unit, "* %s more: `corescan --all CORE`\n", cs_text_count(n - shown));
	return cs_md_add(m, &unit, &fits);
}

/* ---- the table ---- */

static struct cs_error *add_row(struct cs_md *m, const char *name, const char *value, size_t max)
{
	struct cs_strbuf unit;
	bool fits;

	if (!value || !*value)
		return NULL;
	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	if (!m->out.len)
		cs_strbuf_puts(&unit, "| | |\n|---|---|\n");
	cs_strbuf_puts(&unit, "| ");
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789- ")])
		cs_md_cell(&unit, name, MAX_NAME);
	else
		cs_strbuf_puts(&unit, name);
	cs_strbuf_puts(&unit, " | ");
	cs_md_cell(&unit, value, max);
	cs_strbuf_puts(&unit, " |\n");
	CS_TRY(cs_md_add(m, &unit, &fits));
	m->left_out += !fits;
	return NULL;
}

static struct cs_error *add_command(struct cs_md *m, const struct cs_process *p)
{
	CS_CLEANUP(cs_md_sheet_deinit) struct cs_md_sheet sheet = {0};

	if (!p->n_command)
		return add_row(m, "program", p->executable ? p->executable : p->name, MAX_VALUE);
	CS_TRY(cs_md_sheet_init(&sheet));
	cs_text_command(&sheet.text, p);
	CS_TRY(cs_md_sheet_done(&sheet));
	return add_row(m, "command", sheet.bytes, MAX_COMMAND);
}

static struct cs_error *add_rank(struct cs_md *m, const struct cs_process *p)
{
	struct cs_strbuf text;
	struct cs_error *err;

	if (p->rank < 0 && p->local_rank < 0)
		return NULL;
	cs_strbuf_init(&text, 256);
	if (p->rank >= 0)
		cs_strbuf_printf(&text, "%" PRId64, p->rank);
	if (p->rank >= 0 && p->world_size >= 0)
		cs_strbuf_printf(&text, " of %" PRId64, p->world_size);
	if (p->local_rank >= 0)
		cs_strbuf_printf(&text, "%slocal rank %" PRId64, p->rank >= 0 ? ", " : "", p->local_rank);
	err = add_row(m, "rank", cs_strbuf_text(&text), MAX_NAME);
	cs_strbuf_deinit(&text);
	return err;
}

struct cs_error *cs_md_versions(struct cs_md *m)
{
	const struct cs_analysis *a = m->a;
	size_t whole = m->budget;

	m->budget -= CS_MIN(whole, (size_t)MORE_ROOM);
	for (size_t i = 0; i < a->n_versions; i++)
		if (a->versions[i].name)
			CS_TRY(add_row(m, a->versions[i].name, a->versions[i].value, MAX_NAME));
	CS_TRY(add_row(m, "machine", a->process.machine, MAX_NAME));
	CS_TRY(add_rank(m, &a->process));
	CS_TRY(add_command(m, &a->process));
	m->budget = whole;
	return m->left_out ? add_row(m, "more", "corescan CORE", MAX_NAME) : NULL;
}

/* ---- what is only looked up ---- */

static void put_one_line(struct cs_strbuf *out, const char *s)
{
	for (; s && *s; s++)
		cs_strbuf_putc(out, *s == '\n' ? ' ' : *s);
}

struct cs_error *cs_md_environment(struct cs_md *m)
{
	const struct cs_process *p = &m->a->process;
	struct cs_strbuf unit, lines;
	bool fits;

	if (!p->n_environment)
		return NULL;
	if (cs_md_room(m) < CS_MD_MIN_BLOCK)
		return cs_md_no_room(m, "the environment", "corescan CORE");
	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	cs_strbuf_init(&lines, CS_MD_MAX_UNIT);
	for (size_t i = 0; i < p->n_environment && lines.len < CS_MD_MAX_UNIT / 4; i++) {
		put_one_line(&lines, p->environment[i].name);
		cs_strbuf_putc(&lines, '=');
		put_one_line(&lines, p->environment[i].value);
		cs_strbuf_putc(&lines, '\n');
	}
	if (p->n_environment_hidden)
		cs_strbuf_printf(&lines, "(%s more, not on the list of those that are shown)\n",
				 cs_text_count(p->n_environment_hidden));
	cs_strbuf_puts(&unit, "<details><summary>Environment</summary>\n\n");
	cs_md_block(&unit, cs_strbuf_text(&lines), cs_md_room(m) - unit.len - strlen("\n</details>\n"));
	cs_strbuf_puts(&unit, "\n</details>\n");
	unit.cut |= lines.cut;
	cs_strbuf_deinit(&lines);
	return cs_md_add(m, &unit, &fits);
}

struct cs_error *cs_md_fingerprint(struct cs_md *m)
{
	const struct cs_fingerprint *f = &m->a->fingerprint;
	struct cs_strbuf unit;
	bool fits;

	if (!f->short_form)
		return NULL;
	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	cs_strbuf_puts(&unit, "Fingerprint: ");
	cs_md_code(&unit, f->short_form, MAX_NAME);
	if (f->long_form) {
		cs_strbuf_puts(&unit, ", with the message ");
		cs_md_code(&unit, f->long_form, MAX_NAME);
	}
	if (f->text && *f->text) {
		cs_strbuf_puts(&unit, ", made of ");
		cs_md_code(&unit, f->text, MAX_VALUE);
	}
	cs_strbuf_puts(&unit, "\n");
	return cs_md_add(m, &unit, &fits);
}

static struct cs_error *add_limit(struct cs_md *m, const char *text, bool *ret)
{
	struct cs_strbuf unit;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	cs_strbuf_puts(&unit, m->out.len ? "* " : "**What limits this report**\n\n* ");
	cs_md_prose(&unit, text, MAX_SENTENCE);
	cs_strbuf_puts(&unit, "\n");
	return cs_md_add(m, &unit, ret);
}

struct cs_error *cs_md_diagnostics(struct cs_md *m)
{
	const struct cs_analysis *a = m->a;
	size_t shown = 0, wanted = 0, whole = m->budget;
	bool fits = true;
	char rest[64];

	m->budget -= CS_MIN(whole, (size_t)MORE_ROOM);
	if (a->limit_hit)
		CS_TRY(add_limit(m, "A limit of time or memory ended the analysis early.", &fits));
	for (int severity = CS_SEVERITY_ERROR; severity >= CS_SEVERITY_WARNING; severity--) {
		for (size_t i = 0; i < a->n_diagnostics; i++) {
			const struct cs_diagnostic *d = &a->diagnostics[i];

			if ((int)d->severity != severity)
				continue;
			wanted++;
			if (shown >= MAX_DIAGNOSTICS || !fits)
				continue;
			CS_TRY(add_limit(m, d->text ? d->text : d->code, &fits));
			shown += fits;
		}
	}
	wanted += a->n_diagnostics_dropped;
	m->budget = whole;
	if (shown == wanted)
		return NULL;
	snprintf(rest, sizeof(rest), "%s more", cs_text_count(wanted - shown));
	return add_limit(m, rest, &fits);
}

struct cs_error *cs_md_footer(struct cs_md *m)
{
	struct cs_strbuf unit;
	bool fits;

	cs_strbuf_init(&unit, CS_MD_MAX_UNIT);
	cs_strbuf_puts(&unit, "corescan " CORESCAN_VERSION);
	if (m->a->fingerprint.algorithm)
		cs_strbuf_printf(&unit, ", fingerprints by algorithm %u", m->a->fingerprint.algorithm);
	cs_strbuf_puts(&unit, "\n");
	return cs_md_add(m, &unit, &fits);
}
