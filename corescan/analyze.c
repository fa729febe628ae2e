/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One analysis from end to end: opens the core, runs the layers in order, keeps the time budget and
 * collects the diagnostics. Knows the order of things and nothing of how each is done.
 */
#include "base/diag.h"
#include "base/limits.h"
#include "base/text.h"
#include "corescan/analysis.h"
#include "crash/crash.h"
#include "crash/panic.h"
#include "python/python.h"
#include "signature/match.h"
#include "stacks.h"
#include "torch/torch.h"

#include <string.h>
#include <time.h>

#define MAX_LAYERS 12 /* entries of the timing table */

/** The analysis with what it owns; the public part comes first. */
struct analysis {
	struct cs_analysis pub;
	struct cs_arena *arena;
};

struct work {
	struct cs_options options; /* zero where the caller's struct ends */
	struct analysis *result;
	struct cs_scene scene;
	struct cs_diags diags;
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_modules *modules;
	struct cs_unwinder *unwinder;
	struct cs_py_native *natives; /* one a thread; points into stacks; owned */
	struct cs_pythons *pythons;
	struct cs_thread_stack *stacks;
	size_t n_stacks;
	struct cs_timing timing[MAX_LAYERS];
	size_t n_timing;
	double start_ms, layer_ms;
};

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/** The time since the last call goes to @layer. */
static void layer_done(struct work *w, const char *layer)
{
	double now = now_ms();

	if (w->n_timing < MAX_LAYERS)
		w->timing[w->n_timing++] =
			(struct cs_timing){.layer = layer, .ms = now - w->layer_ms};
	w->layer_ms = now;
}

static bool out_of_time(const struct work *w)
{
	return w->options.time_limit_ms &&
	       now_ms() - w->start_ms > (double)w->options.time_limit_ms;
}

static void describe_input(struct work *w, const char *path)
{
	const struct cs_core_info *info = cs_core_info(w->core);
	struct cs_input *in = &w->result->pub.input;

	in->path = cs_text_utf8(w->scene.arena, path, strlen(path));
	in->kind = "core";
	in->bytes = info->bytes;
	in->compression = info->compression;
	in->complete = info->complete;
	in->expected_bytes = info->expected_bytes;
	in->writer = info->writer;
}

static struct cs_error *open_all(struct work *w, const char *path)
{
	const struct cs_core_options core_options = {
		.progress = w->options.progress,
		.progress_arg = w->options.progress_arg,
	};
	const struct cs_modules_options module_options = {
		.executable = w->options.executable,
		.sysroot = w->options.sysroot,
		.lib_paths = w->options.lib_paths,
		.n_lib_paths = w->options.n_lib_paths,
		.debug_dirs = w->options.debug_dirs,
		.n_debug_dirs = w->options.n_debug_dirs,
		.debuginfod = w->options.debuginfod,
		.all_lines = w->options.all_lines,
	};

	CS_TRY(cs_core_open(path, &core_options, &w->diags, &w->core));
	w->scene.core = w->core;
	w->scene.arch = cs_core_arch(w->core);
	describe_input(w, path);
	CS_TRY(cs_mem_create(cs_core_target(w->core), &w->mem));
	w->scene.mem = w->mem;
	layer_done(w, "core");
	CS_TRY(cs_modules_create(w->core, w->mem, &module_options, w->scene.arena, &w->diags,
				 &w->modules));
	w->scene.modules = w->modules;
	layer_done(w, "modules");
	return NULL;
}

/** What is said of a thread that is not unwound: where it was. */
static struct cs_error *context_only(const struct work *w, const struct cs_regs *regs,
				     enum cs_stop stop, struct cs_raw_stack *ret)
{
	uint64_t pc, sp = 0;

	*ret = (struct cs_raw_stack){.stop = stop};
	if (!cs_regs_get(regs, w->scene.arch->pc, &pc))
		return NULL;
	(void)cs_regs_get(regs, w->scene.arch->sp, &sp);
	ret->frames = calloc(1, sizeof(*ret->frames));
	if (!ret->frames)
		return &cs_nomem;
	ret->frames[0] = (struct cs_raw_frame){
		.pc = pc, .cfa = sp, .trust = CS_TRUST_CONTEXT, .exact = true};
	ret->n = 1;
	ret->stop_address = pc;
	return NULL;
}

static struct cs_error *unwind_thread(struct work *w, size_t i, bool may_unwind)
{
	struct cs_target *target = cs_core_target(w->core);
	struct cs_thread_stack *s = &w->stacks[i];
	struct cs_error *err = target->ops->registers(target, i, &s->regs);

	if (err && cs_error_code(err) == CS_ERR_NOMEM)
		return err;
	if (err) {
		cs_diag_error(&w->diags, CS_SEVERITY_ERROR, "core", "registers-unreadable",
			      target->threads[i].tid, err);
		return context_only(w, &s->regs, CS_STOP_UNREADABLE, &s->raw);
	}
	if (!may_unwind)
		return context_only(w, &s->regs, CS_STOP_LIMIT, &s->raw);
	return cs_unwind(w->unwinder, &s->regs, &s->raw);
}

/** One line for all threads whose stacks end where the core has no memory. */
static void report_missing_stacks(struct work *w)
{
	size_t missing = 0;

	for (size_t i = 0; i < w->n_stacks; i++)
		missing += w->stacks[i].raw.stop == CS_STOP_UNREADABLE;
	if (missing)
		cs_diag(&w->diags, CS_SEVERITY_ERROR, "unwind", "stacks-not-saved", 0,
			"the stacks of %zu of %zu threads are not in the core to their end: it is cut off, "
			"or was written with a coredump_filter without bit 0 (0x33 is usual); run "
			"`corescan doctor` where it is to be written",
			missing, w->n_stacks);
}

static struct cs_error *unwind_all(struct work *w)
{
	struct cs_target *target = cs_core_target(w->core);
	size_t crashed = cs_core_info(w->core)->crashed_thread, total = 0, skipped = 0;

	w->stacks = calloc(target->n_threads + 1, sizeof(*w->stacks));
	if (!w->stacks)
		return &cs_nomem;
	w->n_stacks = target->n_threads;
	CS_TRY(cs_unwinder_create(w->mem, w->modules, w->scene.arch,
				  cs_core_info(w->core)->pac_mask, &w->unwinder));
	/* The crashed thread comes first, so that a limit can never cost it. */
	if (crashed < target->n_threads)
		CS_TRY(unwind_thread(w, crashed, true));
	for (size_t i = 0; i < target->n_threads; i++) {
		bool ok = total < CS_MAX_TOTAL_FRAMES && !out_of_time(w);

		if (i == crashed)
			continue;
		CS_TRY(unwind_thread(w, i, ok));
		total += w->stacks[i].raw.n;
		skipped += !ok;
	}
	if (skipped) {
		w->result->pub.limit_hit = true;
		cs_diag(&w->diags, CS_SEVERITY_ERROR, "unwind", "threads-not-unwound", 0,
			"%zu of %zu threads were not unwound: the limit of time or of frames was "
			"reached; raise --time-limit", skipped, target->n_threads);
	}
	report_missing_stacks(w);
	layer_done(w, "unwind");
	return NULL;
}

static struct cs_error *read_pythons(struct work *w)
{
	w->natives = calloc(w->n_stacks + 1, sizeof(*w->natives));
	if (!w->natives)
		return &cs_nomem;
	for (size_t i = 0; i < w->n_stacks; i++)
		w->natives[i] = (struct cs_py_native){.regs = &w->stacks[i].regs,
						      .raw = &w->stacks[i].raw};
	CS_TRY(cs_pythons_read(&w->scene, w->natives, w->n_stacks, &w->result->pub, &w->pythons));
	layer_done(w, "python");
	return NULL;
}

static struct cs_error *build_stacks(struct work *w)
{
	const struct cs_stack_input input = {
		.scene = &w->scene,
		.stacks = w->stacks,
		.crashed = cs_core_info(w->core)->crashed_thread,
		.pythons = w->pythons,
		.locals = w->options.locals,
		.source = w->options.source,
		.sysroot = w->options.sysroot,
	};

	return cs_stacks_build(&input, &w->result->pub);
}

static struct cs_error *read_waits(struct work *w)
{
	CS_CLEANUP(cs_freep)
	struct cs_wait_thread *threads = calloc(w->n_stacks + 1, sizeof(*threads));
	const struct cs_wait_input input = {.scene = &w->scene, .threads = threads};

	if (!threads)
		return &cs_nomem;
	for (size_t i = 0; i < w->n_stacks; i++)
		threads[i] = (struct cs_wait_thread){.regs = &w->stacks[i].regs,
						     .raw = &w->stacks[i].raw};
	return cs_waits_read(&input, &w->result->pub);
}

static struct cs_error *explain(struct work *w)
{
	struct cs_analysis *pub = &w->result->pub;
	size_t crashed = cs_core_info(w->core)->crashed_thread;

	pub->crash.sender_pid = -1;
	pub->crash.sender_uid = -1;
	if (crashed < w->n_stacks) {
		const struct cs_thread_stack *s = &w->stacks[crashed];

		cs_crash_explain(&w->scene, &s->regs, &s->raw, pub->threads[0].group, &pub->crash);
	} else {
		cs_crash_explain(&w->scene, NULL, NULL, NULL, &pub->crash);
	}
	cs_panic_add_state(w->scene.arena, &pub->python, &pub->crash);
	cs_versions_read(&w->scene, &pub->versions, &pub->n_versions);
	CS_TRY(read_waits(w));
	layer_done(w, "crash");
	return NULL;
}

static struct cs_error *read_torch(struct work *w)
{
	const struct cs_torch_input input = {
		.scene = &w->scene,
		.natives = w->natives,
		.n = w->n_stacks,
		.pythons = w->pythons,
	};

	CS_TRY(cs_torch_exceptions_read(&input, &w->result->pub));
	layer_done(w, "torch");
	return NULL;
}

static struct cs_error *collect_modules(struct work *w)
{
	size_t n = cs_modules_count(w->modules);
	const struct cs_module **list = cs_arena_calloc(w->scene.arena, n, sizeof(*list));

	if (!list && n)
		return &cs_nomem;
	for (size_t i = 0; i < n; i++)
		list[i] = cs_mod_public(cs_modules_at(w->modules, i));
	w->result->pub.modules = list;
	w->result->pub.n_modules = n;
	return NULL;
}

static struct cs_error *collect_rest(struct work *w)
{
	struct cs_analysis *pub = &w->result->pub;
	struct cs_diagnostic *diagnostics =
		cs_arena_calloc(w->scene.arena, w->diags.list.n, sizeof(*diagnostics));
	struct cs_timing *timing = cs_arena_calloc(w->scene.arena, w->n_timing, sizeof(*timing));

	if ((!diagnostics && w->diags.list.n) || (!timing && w->n_timing))
		return &cs_nomem;
	if (w->diags.list.n)
		memcpy(diagnostics, w->diags.list.v, w->diags.list.n * sizeof(*diagnostics));
	pub->diagnostics = diagnostics;
	pub->n_diagnostics = w->diags.list.n;
	pub->n_diagnostics_dropped = w->diags.dropped;
	if (w->n_timing)
		memcpy(timing, w->timing, w->n_timing * sizeof(*timing));
	pub->timing = timing;
	pub->n_timing = w->n_timing;
	pub->total_ms = now_ms() - w->start_ms;
	return NULL;
}

static struct cs_error *run(struct work *w, const char *path)
{
	struct cs_analysis *pub = &w->result->pub;

	CS_TRY(open_all(w, path));
	cs_process_describe(&w->scene, &pub->process);
	CS_TRY(unwind_all(w));
	CS_TRY(read_pythons(w));
	CS_TRY(build_stacks(w));
	layer_done(w, "symbols");
	CS_TRY(explain(w));
	CS_TRY(read_torch(w));
	CS_TRY(collect_modules(w));
	CS_TRY(cs_signatures_match(w->options.signatures, w->scene.arena, &w->diags, pub));
	layer_done(w, "signature");
	return collect_rest(w);
}

static void work_deinit(struct work *w)
{
	for (size_t i = 0; i < w->n_stacks; i++)
		cs_raw_stack_deinit(&w->stacks[i].raw);
	free(w->stacks);
	cs_pythons_destroy(w->pythons);
	free(w->natives);
	cs_unwinder_destroy(w->unwinder);
	cs_modules_destroy(w->modules);
	cs_mem_destroy(w->mem);
	cs_core_close(w->core);
	free(w->diags.list.v);
}

struct cs_error *cs_analyze(const char *path, const struct cs_options *options,
			    const struct cs_analysis **ret)
{
	struct work w = {.start_ms = now_ms()};
	struct cs_error *err;

	w.layer_ms = w.start_ms;
	if (options)
		memcpy(&w.options, options, CS_MIN(options->size, sizeof(w.options)));
	w.result = calloc(1, sizeof(*w.result));
	if (!w.result)
		return &cs_nomem;
	w.result->arena = cs_arena_create(CS_MAX_ARENA);
	if (!w.result->arena) {
		free(w.result);
		return &cs_nomem;
	}
	w.diags.arena = w.result->arena;
	w.scene.arena = w.result->arena;
	w.scene.diags = &w.diags;
	err = run(&w, path);
	work_deinit(&w);
	if (err) {
		cs_analysis_destroy(&w.result->pub);
		return err;
	}
	*ret = &w.result->pub;
	return NULL;
}

void cs_analysis_destroy(const struct cs_analysis *analysis)
{
	/* The public part is the first member of what was allocated. */
	struct analysis *a = (struct analysis *)(uintptr_t)analysis;

	if (!a)
		return;
	cs_arena_destroy(a->arena);
	free(a);
}
