/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What killed the process: picks the signal that matters, and the place where it struck,
 * then has it explained. Knows how signals are sent and raised again; what a fault or an
 * abort means is in fault.c and lastwords.c.
 */
#include "crash/internal.h"

#include "base/limits.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define MAX_INSN_BYTES 16

const char *cs_frame_name(const struct cs_frame *frame)
{
	return frame->short_name ? frame->short_name : frame->function;
}

/** True if @f has no name and lies in the module whose other functions carry Python calls here. */
static bool is_nameless_interpreter(const struct cs_incident *in, const struct cs_frame *f)
{
	if (f->kind != CS_FRAME_NATIVE || !f->module || (f->function && !f->nearest))
		return false;
	for (size_t i = 0; i < in->n_frames; i++)
		if (in->frames[i].plumbing && in->frames[i].module)
			return in->frames[i].module == f->module;
	return false;
}

/**
 * The first frame from @skip on that can be to blame: no signal's, and none of those that only carry
 * Python calls, unless it is the very place.
 */
static size_t blamed(const struct cs_incident *in, size_t skip)
{
	size_t i = skip, python;

	while (i < in->n_frames && (in->frames[i].kind == CS_FRAME_SIGNAL ||
				    (in->frames[i].plumbing && i)))
		i++;
	/* A stripped interpreter: who called its nameless os.abort() says more. */
	for (python = i; i && python < in->n_frames; python++)
		if (!in->frames[python].plumbing &&
		    !is_nameless_interpreter(in, &in->frames[python]))
			break;
	return python < in->n_frames && in->frames[python].kind == CS_FRAME_PYTHON ? python
										   : i;
}

const struct cs_frame *cs_incident_frame(const struct cs_incident *in, size_t skip)
{
	skip = blamed(in, skip);
	return skip < in->n_frames ? &in->frames[skip] : NULL;
}

/** "f()", or "libx.so+0x12" where the function is not known; NULL: neither is. */
static const char *where(const struct cs_scene *scene, const struct cs_frame *frame)
{
	const char *name = cs_frame_name(frame);

	if (name && frame->kind == CS_FRAME_PYTHON && frame->file)
		return cs_arena_printf(scene->arena, "%s%s at %s:%" PRIu32, name,
				       name[strlen(name) - 1] == '>' ? "" : "()",
				       frame->file, frame->line);
	if (name && !frame->nearest)
		return cs_arena_printf(scene->arena, "%s()", name);
	if (frame->module && frame->module->name)
		return cs_arena_printf(scene->arena, "%s+0x%" PRIx64, frame->module->name,
				       frame->module_offset);
	return NULL;
}

static bool is_in_libc(const struct cs_frame *frame)
{
	const char *name = frame->module ? frame->module->name : NULL;

	return name && (!strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7));
}

const char *cs_incident_place(const struct cs_incident *in, size_t skip)
{
	struct cs_arena *arena = in->scene->arena;
	const char *text, *caller = NULL, *result;
	size_t i = blamed(in, skip);

	text = i < in->n_frames ? where(in->scene, &in->frames[i]) : NULL;
	if (!text)
		return "";
	/* strlen() and memcpy() are never to blame: who gave them the pointer? */
	if (is_in_libc(&in->frames[i])) {
		while (i < in->n_frames && is_in_libc(&in->frames[i]))
			i++;
		i = blamed(in, i);
		caller = i < in->n_frames ? where(in->scene, &in->frames[i]) : NULL;
	}
	result = cs_arena_printf(arena, ", in %s%s%s", text,
				 caller ? " called from " : "", caller ? caller : "");
	return result ? result : "";
}

/** True if the process sent itself the signal, by raise() or the like: nothing else
 * struck here. */
static bool raised_by_itself(const struct cs_incident *in, const struct cs_siginfo *info,
			     int32_t pid)
{
	if (info && info->present)
		return info->code <= 0 &&
		       (info->sender_pid < 0 || info->sender_pid == pid);
	/* Without siginfo the innermost functions tell. */
	for (size_t i = 0; i < in->n_frames && i < 4; i++)
		if (in->frames[i].function && cs_function_raises(in->frames[i].function))
			return true;
	return false;
}

void cs_incident_set_registers(struct cs_incident *in, const struct cs_regs *regs)
{
	const struct cs_scene *scene = in->scene;
	const struct cs_region *region;
	uint8_t bytes[MAX_INSN_BYTES];
	size_t n;

	in->regs = regs;
	in->pc = in->sp = 0;
	in->has_insn = false;
	(void)cs_regs_get(regs, scene->arch->pc, &in->pc);
	(void)cs_regs_get(regs, scene->arch->sp, &in->sp);
	region = cs_mem_region(scene->mem, in->pc);
	if (!in->pc || (region && !(region->prot & CS_PROT_EXEC)))
		return;
	n = cs_mem_read_some(scene->mem, in->pc, bytes, sizeof(bytes));
	in->has_insn =
		n && cs_ok(cs_disasm(scene->arch, bytes, n, in->pc, regs, &in->insn));
}

static const char *who_sent(const struct cs_scene *scene, const struct cs_siginfo *info,
			    int32_t pid)
{
	if (!info || !info->present || info->sender_pid < 0)
		return NULL;
	if (info->sender_pid == pid)
		return "by the process itself";
	if (info->sender_pid == 0) /* a sender outside the process's pid namespace is 0 */
		return cs_arena_printf(scene->arena,
				       "by a process outside its container, uid %" PRId64,
				       info->sender_uid);
	return cs_arena_printf(scene->arena, "by process %" PRId32 ", uid %" PRId64,
			       info->sender_pid, info->sender_uid);
}

/** A signal that was sent: nothing went wrong at this very place. */
static void explain_sent(const struct cs_incident *in, const struct cs_siginfo *info,
			 int32_t pid, struct cs_crash *ret)
{
	const char *who = who_sent(in->scene, info, pid);

	ret->fault = CS_FAULT_NONE;
	ret->summary = cs_arena_printf(in->scene->arena, "%s sent%s%s%s",
				       ret->signal_name, who ? " " : "", who ? who : "",
				       cs_incident_place(in, cs_abort_frames(in)));
}

static void explain_incident(const struct cs_incident *in, const struct cs_siginfo *info,
			     bool by_itself, int32_t pid, struct cs_crash *ret)
{
	ret->culprit = cs_incident_frame(in, 0);
	if (in->signo == SIGABRT && (by_itself || !info || !info->present))
		cs_abort_explain(in, ret);
	else if (cs_signal_is_fault(in->signo) && (in->code > 0 || !in->has_siginfo))
		cs_fault_explain(in, ret);
	else
		explain_sent(in, info, pid, ret);
	if (in->has_insn) {
		ret->instruction = cs_arena_strdup(in->scene->arena, in->insn.text);
		if (in->insn.has_operand)
			ret->operand =
				cs_arena_strdup(in->scene->arena, in->insn.operand);
		else if (in->insn.has_implicit && in->insn.implicit[0] &&
			 ret->has_address)
			ret->operand =
				cs_arena_strdup(in->scene->arena, in->insn.implicit);
	}
}

static const char *signal_text(const struct cs_scene *scene, int signo)
{
	const char *name = cs_signal_name(signo);

	return name ? name : cs_arena_printf(scene->arena, "signal %d", signo);
}

/** Go over to what the signal handler on the stack was called for. */
static void see_through(struct cs_incident *in, const struct cs_original *original,
			struct cs_crash *ret)
{
	const char *final = ret->signal_name;

	in->frames += original->first;
	in->n_frames -= original->first;
	in->raw_first = original->raw_first;
	in->signo = original->signo;
	in->code = original->code;
	in->address = original->address;
	in->has_siginfo = original->signo != SIGABRT;
	cs_incident_set_registers(in, original->regs);
	ret->reraised = true;
	ret->sender_pid = -1;
	ret->sender_uid = -1;
	ret->signal = in->signo;
	ret->signal_name = signal_text(in->scene, in->signo);
	ret->code = in->code;
	ret->code_name =
		in->has_siginfo ? cs_signal_code_name(in->signo, in->code) : NULL;
	ret->detail = cs_arena_printf(
		in->scene->arena,
		"a signal handler caught %s and ended the process with %s of its "
		"own; this is the original",
		ret->signal_name, final);
}

/**
 * The instruction at hand is bound to fault: it did, where a handler raised the signal in
 * vain, and where the core has no siginfo (qemu and older debuggers write none).
 */
static void take_from_instruction(struct cs_incident *in, bool by_itself,
				  struct cs_crash *ret)
{
	if (!cs_original_here(in))
		return;
	if (!in->has_siginfo) {
		in->has_siginfo = true;
		ret->detail = "the core has no details of the signal: they are worked "
			      "out from the "
			      "instruction";
		return;
	}
	ret->reraised = by_itself;
	ret->sender_pid = -1;
	ret->sender_uid = -1;
	ret->code = in->code;
	ret->code_name = cs_signal_code_name(in->signo, in->code);
	ret->detail = cs_arena_printf(
		in->scene->arena,
		"a signal handler caught %s and sent it again; code and address are "
		"worked out from the instruction",
		ret->signal_name);
}

/** The signal as the core tells it: in @in to be explained, and in @ret. */
static void take_signal(struct cs_incident *in, const struct cs_siginfo *info,
			const struct cs_thread_info *thread, struct cs_crash *ret)
{
	in->has_siginfo = info && info->present;
	in->signo = in->has_siginfo ? info->signo : thread->signal;
	in->code = in->has_siginfo ? info->code : 0;
	in->address = in->has_siginfo ? info->address : 0;
	ret->tid = thread->tid;
	ret->signal = in->signo;
	ret->signal_name = signal_text(in->scene, in->signo);
	ret->code = in->code;
	ret->code_name =
		in->has_siginfo ? cs_signal_code_name(in->signo, in->code) : NULL;
	if (in->has_siginfo && info->sender_pid >= 0) {
		ret->sender_pid = info->sender_pid;
		ret->sender_uid = info->sender_uid;
	}
}

/* What the process said goes into public issues. */
static void hide_secrets(const struct cs_scene *scene, struct cs_crash *c)
{
	const char **texts[] = {&c->message, &c->summary, &c->detail};

	for (size_t i = 0; i < CS_COUNT(texts); i++)
		if (*texts[i])
			*texts[i] = cs_mask_value(scene->arena, *texts[i]);
}

void cs_crash_explain(const struct cs_scene *scene, const struct cs_regs *regs,
		      const struct cs_raw_stack *stack,
		      const struct cs_stack_group *group, struct cs_crash *ret)
{
	const struct cs_core_info *core = cs_core_info(scene->core);
	const struct cs_target *target = cs_core_target(scene->core);
	const struct cs_siginfo *info;
	struct cs_incident in = {.scene = scene};
	struct cs_original original;
	bool by_itself;

	*ret = (struct cs_crash){.sender_pid = -1, .sender_uid = -1};
	if (!regs || !group || !stack || core->crashed_thread >= target->n_threads) {
		ret->summary =
			"no thread received a fatal signal: this core was written of a "
			"running process";
		return;
	}
	info = cs_core_siginfo(scene->core, core->crashed_thread);
	in.frames = group->frames;
	in.n_frames = group->n_frames;
	in.stack = stack;
	in.tid = target->threads[core->crashed_thread].tid;
	take_signal(&in, info, &target->threads[core->crashed_thread], ret);
	cs_incident_set_registers(&in, regs);
	by_itself = raised_by_itself(&in, info, core->pid);
	if (by_itself && cs_original_find(scene, stack, group, in.signo, &original))
		see_through(&in, &original, ret);
	if (!ret->reraised && cs_signal_is_fault(in.signo) &&
	    (by_itself || !in.has_siginfo))
		take_from_instruction(&in, by_itself, ret);
	/* Of a signal that was sent no instruction is to blame. */
	in.has_insn = in.has_insn && cs_signal_is_fault(in.signo) &&
		      (in.code > 0 || !in.has_siginfo);
	explain_incident(&in, info, by_itself, core->pid, ret);
	hide_secrets(scene, ret);
}
