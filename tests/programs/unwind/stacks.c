/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `unwind_stacks CORE [MASK]`: the raw stacks of a core, one line a thread, then one a frame, for the
 * comparison with a debugger; timing goes to stderr. MASK (bits of enum cs_stepper) takes steppers away.
 *
 *	thread TID frames N stop STOP ADDRESS
 *	PC TRUST FLAGS MODULE OFFSET
 */
#include "unwind/stepper.h"

#include "base/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void print_stack(struct cs_modules *modules, int32_t tid, const struct cs_raw_stack *stack)
{
	static const char *const trust[] = {"context", "cfi", "runtime", "fp", "scan"};
	static const char *const stop[] = {"bottom",	  "no-info", "unreadable",
					   "no-progress", "limit",   "cycle"};

	printf("thread %" PRId32 " frames %zu stop %s %" PRIx64 "\n", tid, stack->n,
	       stop[stack->stop], stack->stop_address);
	for (size_t i = 0; i < stack->n_interrupted; i++)
		printf("interrupted %zu signal %d code %d address %" PRIx64 "\n",
		       stack->interrupted[i].frame, stack->interrupted[i].signo,
		       stack->interrupted[i].code, stack->interrupted[i].address);
	for (size_t i = 0; i < stack->n; i++) {
		const struct cs_raw_frame *f = &stack->frames[i];
		uint64_t lookup = f->pc - !(f->exact || f->signal);
		struct cs_mod *mod = cs_modules_find(modules, lookup);

		printf("%" PRIx64 " %s %s %s %" PRIx64 "\n", f->pc, trust[f->trust],
		       f->signal  ? "signal"
		       : f->exact ? "exact"
				  : "-",
		       mod ? cs_mod_public(mod)->path : "-",
		       mod ? lookup - cs_mod_public(mod)->bias : 0);
	}
}

static struct cs_error *print_stacks(struct cs_core *core, struct cs_modules *modules,
				     struct cs_mem *mem, unsigned steppers)
{
	CS_CLEANUP(cs_unwinder_destroyp) struct cs_unwinder *u = NULL;
	struct cs_target *t = cs_core_target(core);
	CS_CLEANUP(cs_freep) struct cs_raw_stack *stacks = calloc(t->n_threads + 1, sizeof(*stacks));
	double start = now_ms();

	if (!stacks)
		return &cs_nomem;
	CS_TRY(cs_unwinder_create(mem, modules, cs_core_arch(core), cs_core_info(core)->pac_mask,
				  &u));
	u->steppers = steppers;
	for (size_t i = 0; i < t->n_threads; i++) {
		struct cs_regs regs = {0};

		if (cs_ok(t->ops->registers(t, i, &regs)))
			CS_TRY(cs_unwind(u, &regs, &stacks[i]));
	}
	fprintf(stderr, "unwound in %.1f ms\n", now_ms() - start);
	for (size_t i = 0; i < t->n_threads; i++) {
		print_stack(modules, t->threads[i].tid, &stacks[i]);
		cs_raw_stack_deinit(&stacks[i]);
	}
	return NULL;
}

static struct cs_error *run(const char *path, unsigned steppers)
{
	CS_CLEANUP(cs_arena_destroyp) struct cs_arena *arena = cs_arena_create(CS_MAX_ARENA);
	CS_CLEANUP(cs_core_closep) struct cs_core *core = NULL;
	CS_CLEANUP(cs_mem_destroyp) struct cs_mem *mem = NULL;
	CS_CLEANUP(cs_modules_destroyp) struct cs_modules *modules = NULL;
	struct cs_core_options core_options = {0};
	struct cs_modules_options options = {0};
	struct cs_diags diags = {.arena = arena};
	struct cs_error *err;

	if (!arena)
		return &cs_nomem;
	CS_TRY(cs_core_open(path, &core_options, &diags, &core));
	CS_TRY(cs_mem_create(cs_core_target(core), &mem));
	CS_TRY(cs_modules_create(core, mem, &options, arena, &diags, &modules));
	err = print_stacks(core, modules, mem, steppers);
	free(diags.list.v);
	return err;
}

int main(int argc, char **argv)
{
	struct cs_error *err;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: unwind_stacks CORE [MASK]\n");
		return 2;
	}
	err = run(argv[1], argc == 3 ? (unsigned)strtoul(argv[2], NULL, 0) : CS_STEPPERS_ALL);
	if (!err)
		return 0;
	fprintf(stderr, "unwind_stacks: %s\n", cs_error_message(err));
	cs_error_destroy(err);
	return 1;
}
