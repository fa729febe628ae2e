/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first screen: one line that says what happened, the facts behind it, and the stack
 * it happened in.
 *
 * The frame to look at is seldom the innermost: below it are raise(), abort() and the
 * runtime's own machinery, the same in every crash. They stay in the stack, and the mark
 * goes to their caller.
 */
#include "report/text_sections.h"

#include <inttypes.h>
#include <string.h>

#define CRASHED_HEAD 40
#define CRASHED_TAIL 8
#define MAX_SAME_TIDS 6

/* How a process ends itself, for an analysis that names no culprit; without parameters.
 */
static const char *const machinery[] = {
	"__GI_abort",
	"__GI_raise",
	"__pthread_kill_implementation",
	"__pthread_kill_internal",
	"abort",
	"gsignal",
	"pthread_kill",
	"raise",
};

static bool is_machinery(const struct cs_frame *f)
{
	size_t len;

	if (!f->function || f->nearest)
		return false;
	len = strcspn(f->function, "(@");
	for (size_t i = 0; i < CS_COUNT(machinery); i++)
		if (!strncmp(f->function, machinery[i], len) && !machinery[i][len])
			return true;
	return false;
}

const struct cs_thread *cs_text_thread(const struct cs_analysis *a, int32_t tid)
{
	for (size_t i = 0; tid && i < a->n_threads; i++)
		if (a->threads[i].tid == tid)
			return &a->threads[i];
	return NULL;
}

const struct cs_thread *cs_text_crashed_thread(const struct cs_analysis *a)
{
	for (size_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].crashed)
			return &a->threads[i];
	return NULL;
}

size_t cs_text_blamed_frame(const struct cs_analysis *a,
			    const struct cs_stack_group *group)
{
	size_t i = 0, first;

	if (!group || !group->n_frames)
		return CS_NO_FRAME;
	for (i = 0; a->crash.culprit && i < group->n_frames; i++)
		if (&group->frames[i] == a->crash.culprit)
			return i;
	i = 0;
	/* The frames down to the trampoline are the handler's that raised the signal
	 * again. */
	for (; a->crash.reraised && i < group->n_frames; i++) {
		if (group->frames[i].kind == CS_FRAME_SIGNAL) {
			i++;
			break;
		}
	}
	first = i < group->n_frames ? i : 0;
	for (i = first; i < group->n_frames; i++)
		if (!is_machinery(&group->frames[i]) &&
		    group->frames[i].kind != CS_FRAME_SIGNAL &&
		    group->frames[i].kind != CS_FRAME_GAP)
			return i;
	return first;
}

static void put_where(struct cs_text *t, const struct cs_frame *f)
{
	cs_text_label(t, "in");
	cs_text_place(t, f);
	if (f->file && f->module && f->kind != CS_FRAME_PYTHON && !t->options->all) {
		cs_text_printf(t, " (");
		cs_text_put(t, f->module->name);
		cs_text_printf(t, ")");
	}
	cs_text_printf(t, "\n");
}

/*
 * What a person who writes Python knows: the innermost Python frame. Of a handler that
 * raised the signal again it is not the handler's, so the search begins at the blamed
 * frame.
 */
static void put_python(struct cs_text *t, const struct cs_stack_group *group,
		       size_t blamed)
{
	const struct cs_frame *found = NULL;

	for (size_t i = group->n_frames; i > 0; i--)
		if (group->frames[i - 1].kind == CS_FRAME_PYTHON &&
		    (i > blamed || !found))
			found = &group->frames[i - 1];
	if (!found || found == &group->frames[blamed])
		return;
	cs_text_label(t, "python");
	cs_text_place(t, found);
	cs_text_printf(t, "\n");
	if (!found->source)
		return;
	cs_text_label(t, "");
	cs_text_put(t, found->source + strspn(found->source, " \t\f"));
	cs_text_printf(t, "\n");
}

/* What the crashed thread had raised or was handling; the whole of it is in its section.
 */
static void put_exception(struct cs_text *t, const struct cs_analysis *a, int32_t tid)
{
	const struct cs_exception *e = a->n_exceptions ? &a->exceptions[0] : NULL;

	if (!e || e->tid != tid)
		return;
	cs_text_label(t, "exception");
	cs_text_exception_line(t, e);
}

/* "SIGSEGV: ", unless the summary begins with it; nothing where no signal is known. */
static void verdict_prefix(const struct cs_crash *c, char *ret, size_t size)
{
	const char *name = c->signal_name, *colon = c->summary ? ": " : "";

	*ret = '\0';
	if (name && !(c->summary && !strncmp(c->summary, name, strlen(name))))
		snprintf(ret, size, "%s%s", name, colon);
	else if (!name && c->signal)
		snprintf(ret, size, "Signal %d%s", c->signal, colon);
}

static void put_verdict(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_crash *c = &a->crash;
	const char *summary = c->summary ? c->summary : "";
	char prefix[64];

	verdict_prefix(c, prefix, sizeof(prefix));
	if (!c->signal && !c->summary)
		summary = "No thread crashed: the core was taken of a process that went "
			  "on running";
	cs_text_style(t, c->signal ? CS_STYLE_BAD : CS_STYLE_HEAD);
	cs_text_printf(t, "%s", prefix);
	cs_text_wrapped(t, 2, summary);
	cs_text_plain(t);
	cs_text_printf(t, "\n");
}

static void put_signal(struct cs_text *t, const struct cs_crash *c, int32_t self)
{
	if (!c->signal)
		return;
	cs_text_label(t, "signal");
	cs_text_printf(t, "%s (%d)", c->signal_name ? c->signal_name : "signal",
		       c->signal);
	if (c->code_name)
		cs_text_printf(t, ", %s", c->code_name);
	else
		cs_text_printf(t, ", code %d", c->code);
	if (c->has_address)
		cs_text_printf(t, ", address 0x%" PRIx64, c->address);
	if (c->access)
		cs_text_printf(t, " (%s)", c->access);
	if (c->sender_pid >= 0 && c->sender_pid == self) {
		cs_text_printf(t, ", sent by the process itself");
	} else if (c->sender_pid >= 0) {
		cs_text_printf(t, ", sent by process %" PRId32, c->sender_pid);
		if (c->sender_uid >= 0)
			cs_text_printf(t, " of user %" PRId64, c->sender_uid);
	}
	if (c->reraised)
		cs_text_printf(t, ", raised again by a handler");
	cs_text_printf(t, "\n");
}

static void put_message(struct cs_text *t, const struct cs_crash *c)
{
	if (!c->message)
		return;
	cs_text_fact(t, "last words", c->message);
	if (t->options->all && c->message_source)
		cs_text_fact(t, "  read from", c->message_source);
}

static void put_process_line(struct cs_text *t, const struct cs_process *p)
{
	cs_text_label(t, "process");
	if (p->pid > 0)
		cs_text_printf(t, "%" PRId32 "  ", p->pid);
	if (p->n_command)
		cs_text_command(t, p);
	else if (p->name)
		cs_text_put(t, p->name);
	else
		cs_text_printf(t, "command line not known");
	cs_text_printf(t, "\n");
	if (p->rank < 0 && p->local_rank < 0)
		return;
	cs_text_label(t, "rank");
	if (p->rank >= 0)
		cs_text_printf(t, "%" PRId64, p->rank);
	else
		cs_text_printf(t, "not known");
	if (p->world_size >= 0)
		cs_text_printf(t, " of %" PRId64, p->world_size);
	if (p->local_rank >= 0)
		cs_text_printf(t, ", local rank %" PRId64, p->local_rank);
	cs_text_printf(t, "\n");
}

/* The worst thing that limits this report belongs beside what it limits; the others are
 * at the end. */
static void put_caution(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_diagnostic *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < a->n_diagnostics; i++) {
		if (a->diagnostics[i].severity != CS_SEVERITY_ERROR)
			continue;
		first = first ? first : &a->diagnostics[i];
		n++;
	}
	if (a->limit_hit)
		cs_text_fact(t, "caution",
			     "a limit of time or memory ended the analysis early: what "
			     "follows is what was found until then (--time-limit)");
	if (!first)
		return;
	cs_text_fact(t, "caution", first->text);
	if (n > 1) {
		cs_text_label(t, "");
		cs_text_printf(t, "(and %s more, at the end)\n", cs_text_count(n - 1));
	}
}

void cs_text_crash(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_thread *thread = cs_text_crashed_thread(a);
	const struct cs_stack_group *group = thread ? thread->group : NULL;
	size_t blamed = cs_text_blamed_frame(a, group);

	put_verdict(t, a);
	if (blamed != CS_NO_FRAME)
		put_where(t, &group->frames[blamed]);
	if (blamed != CS_NO_FRAME)
		put_python(t, group, blamed);
	if (thread) {
		cs_text_label(t, "thread");
		cs_text_thread_name(t, a, thread);
		if (a->n_threads > 1)
			cs_text_printf(t, ", one of %s threads",
				       cs_text_count(a->n_threads));
		cs_text_printf(t, "\n");
	}
	put_process_line(t, &a->process);
	put_message(t, &a->crash);
	if (thread)
		put_exception(t, a, thread->tid);
	put_signal(t, &a->crash, a->process.pid);
	cs_text_fact(t, "instruction", a->crash.instruction);
	cs_text_fact(t, "operand", a->crash.operand);
	cs_text_fact(t, "detail", a->crash.detail);
	put_caution(t, a);
}

static void put_registers(struct cs_text *t, const struct cs_thread *thread)
{
	cs_text_heading(t, "Registers of thread %" PRId32, thread->tid);
	for (size_t i = 0; i < thread->n_registers; i++) {
		bool last = i + 1 == thread->n_registers || i % 3 == 2;

		cs_text_printf(t, "  %-8s 0x%016" PRIx64 "%s", thread->registers[i].name,
			       thread->registers[i].value, last ? "\n" : "");
	}
}

void cs_text_crashed_stack(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_thread *thread = cs_text_crashed_thread(a);
	struct cs_frames_view view = {.head = CRASHED_HEAD, .tail = CRASHED_TAIL};
	size_t shown = 0;

	if (!thread || !thread->group)
		return;
	view.marked = cs_text_blamed_frame(a, thread->group);
	view.broken = thread->python ? thread->python->broken : NULL;
	cs_text_heading(t, "Stack of the crashed thread %" PRId32, thread->tid);
	if (thread->group->n_tids > 1) {
		size_t others = thread->group->n_tids - 1;

		cs_text_printf(t, "  (the same as of %s other thread%s:",
			       cs_text_count(others), others == 1 ? "" : "s");
		for (size_t i = 0; i < thread->group->n_tids; i++) {
			if (thread->group->tids[i] == thread->tid)
				continue;
			if (shown == MAX_SAME_TIDS && !t->options->all) {
				cs_text_printf(t, " ...");
				break;
			}
			cs_text_printf(t, " %" PRId32, thread->group->tids[i]);
			shown++;
		}
		cs_text_printf(t, ")\n");
	}
	cs_text_frames(t, thread->group, &view);
	if (t->options->all && thread->n_registers)
		put_registers(t, thread);
}
