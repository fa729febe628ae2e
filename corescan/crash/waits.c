/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What threads wait for, where it can be proven: who has the mutex, who is joined, who has the GIL, and
 * whether the threads of a ring wait for one another for ever.
 *
 * The names of the innermost functions only tell where to look. The address is the first argument of the
 * system call futex(), which is still in its register; the owner is what the C library wrote into the mutex
 * (glibc: sysdeps/nptl/bits/struct_mutex.h; the same offsets on all machines of 64 bits since 2.3) or, of
 * pthread_join(), the value that the kernel was told to compare (nptl/pthread_join_common.c).
 */
#include "crash/internal.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

#define MUTEX_OWNER_AT 8 /* __lock is at 0 */
#define MUTEX_KIND_AT 16
#define MUTEX_ROBUST 0x10 /* bits of __kind; glibc: nptl/pthreadP.h, enum and PTHREAD_MUTEX_* */
#define MUTEX_INHERITS 0x20
#define MUTEX_SHARED 0x80
#define MUTEX_KINDS 0x3ff /* all bits that any version sets */

/* linux: include/uapi/linux/futex.h */
#define FUTEX_TID_MASK 0x3fffffff
#define FUTEX_OPTIONS (128 | 256) /* FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME */
enum { FUTEX_WAIT = 0, FUTEX_LOCK_PI = 6, FUTEX_WAIT_BITSET = 9, FUTEX_LOCK_PI2 = 13 };

#define MOST_INNER 8   /* frames from the system call to the function that a program calls */
#define MOST_HANDLER 64 /* frames of a signal handler in front of what it interrupted */
#define TID_SEARCH 4096 /* bytes before and behind the thread pointer */
#define MOST_ASKED 16   /* threads whose own record of their tid is looked for */
#define NO_THREAD SIZE_MAX

/** A thread of the analysis by the tid that the process itself has for it. */
struct known {
	int32_t tid;
	size_t thread;
};

struct waits {
	const struct cs_wait_input *in;
	struct cs_analysis *a;
	struct cs_wait *waits;  /* one a thread of the analysis, in the arena */
	size_t *index;          /* of the analysis' threads: in the target's; owned */
	struct known *own;      /* by tid: what the C library knows the threads as; owned */
	size_t n_own;
	size_t *next;           /* of the analysis' threads: the one that must act first; owned */
	size_t holder;          /* thread of the analysis that was found last to have a GIL */
};

/* ---- what the innermost functions are ---- */

enum wait_kind { WAITS_NOT, WAITS_MUTEX, WAITS_JOIN };

static bool is_c_library(const struct cs_module *m)
{
	static const char *const names[] = {"libc.so", "libc-2.", "libpthread.so", "libpthread-2."};

	for (size_t i = 0; m && m->name && i < CS_COUNT(names); i++)
		if (!strncmp(m->name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Between the system call and the function that was called; some have no name in a stripped library. */
static bool is_inner(const struct cs_frame *f)
{
	static const char *const names[] = {
		"futex_wait", "futex_wait_simple", "lll_lock_wait", "lll_timedlock_wait",
		"lll_clocklock_wait", "lll_mutex_lock_optimized", "lll_lock_elision",
		"lll_wait_tid", "lll_timedwait_tid", "lll_clockwait_tid", "clockwait_tid",
		"timedwait_tid", "wait_tid", "futex_abstimed_wait", "futex_abstimed_wait_cancelable",
		"futex_abstimed_wait_common", "futex_lock_pi", "syscall_cancel_arch",
		"internal_syscall_cancel", "syscall_cancel",
	};

	if (!f->function || f->nearest)
		return is_c_library(f->module);
	return cs_libc_name_is(f->function, names, CS_COUNT(names)) ||
	       !strncmp(f->function, "_L_lock_", 8) || !strncmp(f->function, "_L_timedlock_", 13);
}

static enum wait_kind kind_of(const struct cs_frame *f)
{
	static const char *const mutexes[] = {"pthread_mutex_lock", "pthread_mutex_timedlock",
					      "pthread_mutex_clocklock", "pthread_mutex_cond_lock",
					      "pthread_mutex_lock_full",
					      "pthread_mutex_clocklock_common"};
	static const char *const joins[] = {"pthread_join", "pthread_timedjoin_np",
					    "pthread_clockjoin_np", "pthread_clockjoin_ex",
					    "pthread_timedjoin_ex"};

	if (!f->function || f->nearest || !is_c_library(f->module))
		return WAITS_NOT;
	if (cs_libc_name_is(f->function, mutexes, CS_COUNT(mutexes)))
		return WAITS_MUTEX;
	return cs_libc_name_is(f->function, joins, CS_COUNT(joins)) ? WAITS_JOIN : WAITS_NOT;
}

static enum wait_kind kind_of_stack(const struct cs_frame *frames, size_t n)
{
	for (size_t i = 0; i < n && i < MOST_INNER; i++) {
		enum wait_kind kind = kind_of(&frames[i]);

		if (kind || !is_inner(&frames[i]))
			return kind;
	}
	return WAITS_NOT;
}

/* ---- the system call ---- */

struct futex_call {
	uint64_t address;
	uint32_t op;    /* without options */
	uint32_t value; /* that was compared */
	bool timed;
};

/**
 * True if the thread is in a system call: its pc is behind the instruction, or on it where the call is to
 * be started again.
 */
static bool is_in_call(const struct cs_scene *scene, const struct cs_regs *regs)
{
	const struct cs_arch *arch = scene->arch;
	uint8_t code[CS_MAX_SYSCALL_CODE];
	uint64_t pc;

	if (!cs_regs_get(regs, arch->pc, &pc) || pc < arch->syscall_len)
		return false;
	for (uint64_t at = pc - arch->syscall_len; at <= pc; at += arch->syscall_len)
		if (cs_mem_read_some(scene->mem, at, code, arch->syscall_len) == arch->syscall_len &&
		    !memcmp(code, arch->syscall_code, arch->syscall_len))
			return true;
	return false;
}

static bool futex_call_read(const struct cs_scene *scene, const struct cs_regs *regs,
			    struct futex_call *ret)
{
	const struct cs_arch *arch = scene->arch;
	uint64_t args[4], number;

	if (!arch->syscall_len || !is_in_call(scene, regs))
		return false;
	if (arch->syscall_number >= 0 &&
	    (!cs_regs_get(regs, (unsigned)arch->syscall_number, &number) || number != arch->futex_number))
		return false;
	for (size_t i = 0; i < CS_COUNT(args); i++)
		if (!cs_regs_get(regs, arch->syscall_args[i], &args[i]))
			return false;
	*ret = (struct futex_call){.address = args[0],
				   .op = (uint32_t)args[1] & ~(uint32_t)FUTEX_OPTIONS,
				   .value = (uint32_t)args[2],
				   .timed = args[3] != 0};
	return ret->op == FUTEX_WAIT || ret->op == FUTEX_WAIT_BITSET || ret->op == FUTEX_LOCK_PI ||
	       ret->op == FUTEX_LOCK_PI2;
}

/* ---- who has to act ---- */

/** The tid that the mutex has; 0: nobody has it now, or it is no mutex whose owner is known. */
static int32_t mutex_owner(const struct cs_scene *scene, const struct futex_call *call)
{
	uint32_t word, owner, kind;
	bool by_kernel;

	if (call->address & 7 || !cs_mem_u32(scene->mem, call->address, &word) || !word ||
	    !cs_mem_u32(scene->mem, call->address + MUTEX_OWNER_AT, &owner) ||
	    !cs_mem_u32(scene->mem, call->address + MUTEX_KIND_AT, &kind))
		return 0;
	/* One that processes share may be owned by another process. */
	if (kind & ~(uint32_t)MUTEX_KINDS || kind & MUTEX_SHARED)
		return 0;
	by_kernel = (kind & (MUTEX_ROBUST | MUTEX_INHERITS)) != 0;
	return (int32_t)((by_kernel ? word : owner) & FUTEX_TID_MASK);
}

/** The tid that the thread being joined had; 0: it is over. */
static int32_t joined_thread(const struct cs_scene *scene, const struct futex_call *call)
{
	uint32_t word;

	if (!cs_mem_u32(scene->mem, call->address, &word) || word != call->value)
		return 0;
	return (int32_t)(word & FUTEX_TID_MASK);
}

/** The offset from thread pointers at which the C library keeps tids equal to the core's. */
static bool find_tid_offset(const struct waits *w, int64_t *ret)
{
	const struct cs_target *target = cs_mem_target(w->in->scene->mem);

	for (size_t i = 0; i < target->n_threads && i < MOST_ASKED; i++) {
		const struct cs_thread_info *t = &target->threads[i];
		uint32_t word;

		for (int64_t at = 0; t->thread_pointer && at < TID_SEARCH; at += 4) {
			for (int sign = 1; sign >= -1; sign -= 2) {
				if (cs_mem_u32(w->in->scene->mem, t->thread_pointer + (uint64_t)(sign * at),
					       &word) &&
				    word == (uint32_t)t->tid) {
					*ret = sign * at;
					return true;
				}
			}
		}
	}
	return false;
}

static int compare_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/**
 * What the threads call themselves. A debugger outside of a container writes other tids into a core than
 * those that are in the process's memory.
 */
static void read_own_tids(struct waits *w)
{
	const struct cs_target *target = cs_mem_target(w->in->scene->mem);
	unsigned offset = w->in->scene->arch->thread_tid;
	int64_t at;
	bool same = find_tid_offset(w, &at);

	for (size_t i = 0; i < w->a->n_threads; i++) {
		struct known *k = &w->own[w->n_own];
		uint64_t pointer;
		uint32_t word = 0;

		*k = (struct known){.tid = w->a->threads[i].tid, .thread = i};
		pointer = w->index[i] == NO_THREAD ? 0 : target->threads[w->index[i]].thread_pointer;
		if (!same && (!offset || !pointer ||
			      !cs_mem_u32(w->in->scene->mem, pointer + offset, &word)))
			continue;
		if (!same)
			k->tid = (int32_t)(word & FUTEX_TID_MASK);
		w->n_own++;
	}
	qsort(w->own, w->n_own, sizeof(*w->own), compare_known);
}

static void take_owner(const struct waits *w, int32_t own, size_t thread, struct cs_wait *ret)
{
	const struct known key = {.tid = own}, *found;

	if (own <= 0 || !w->n_own)
		return;
	found = bsearch(&key, w->own, w->n_own, sizeof(*w->own), compare_known);
	ret->owner_gone = !found;
	ret->owner = found ? w->a->threads[found->thread].tid : own;
	if (found && !ret->timed)
		w->next[thread] = found->thread;
}

/* ---- each thread ---- */

/** The registers and the stack of what a signal handler interrupted, where the thread is in one. */
static const struct cs_regs *at_work(const struct waits *w, size_t thread, size_t *first)
{
	const struct cs_stack_group *g = w->a->threads[thread].group;
	const struct cs_raw_stack *raw = w->in->threads[w->index[thread]].raw;

	*first = 0;
	for (size_t i = 0; raw->n_interrupted && i < g->n_frames && i < MOST_HANDLER; i++) {
		if (g->frames[i].kind == CS_FRAME_SIGNAL) {
			*first = i + 1;
			return &raw->interrupted[0].regs;
		}
	}
	return w->in->threads[w->index[thread]].regs;
}

static bool read_futex_wait(struct waits *w, size_t thread, struct cs_wait *ret)
{
	const struct cs_stack_group *g = w->a->threads[thread].group;
	const struct cs_scene *scene = w->in->scene;
	const struct cs_regs *regs;
	struct futex_call call;
	enum wait_kind kind;
	size_t first;

	if (!g || w->index[thread] == NO_THREAD)
		return false;
	regs = at_work(w, thread, &first);
	kind = kind_of_stack(g->frames + first, g->n_frames - first);
	if (!kind || !futex_call_read(scene, regs, &call))
		return false;
	ret->timed = call.timed;
	ret->kind = kind == WAITS_MUTEX ? "mutex" : "thread";
	ret->address = kind == WAITS_MUTEX ? call.address : 0;
	take_owner(w, kind == WAITS_MUTEX ? mutex_owner(scene, &call) : joined_thread(scene, &call), thread,
		   ret);
	return true;
}

/** The lock of the main interpreter; others may have one of their own. */
static bool read_gil_wait(struct waits *w, size_t thread, struct cs_wait *ret)
{
	const struct cs_python_thread *p = w->a->threads[thread].python;
	int32_t holder;

	if (!p || !p->waits_for_gil || p->interpreter != 0 || p->runtime >= w->a->python.n_runtimes)
		return false;
	holder = w->a->python.runtimes[p->runtime].gil_holder;
	ret->kind = "gil";
	if (!holder)
		return true;
	for (size_t i = 0; w->a->threads[w->holder].tid != holder && i < w->a->n_threads; i++)
		if (w->a->threads[i].tid == holder)
			w->holder = i;
	if (w->a->threads[w->holder].tid == holder) {
		ret->owner = holder;
		w->next[thread] = w->holder;
	}
	return true;
}

/** Mark the threads that wait for themselves in the end: each has one successor at most. */
static void mark_deadlocks(struct waits *w, size_t *seen)
{
	for (size_t i = 0; i < w->a->n_threads; i++) {
		size_t at = i, ring;

		while (at != NO_THREAD && !seen[at]) {
			seen[at] = i + 1;
			at = w->next[at];
		}
		if (at == NO_THREAD || seen[at] != i + 1)
			continue;
		for (ring = at; !w->waits[ring].deadlock; ring = w->next[ring])
			w->waits[ring].deadlock = true;
	}
}

/** @index becomes the place of each thread of the analysis in the target's list. */
static void find_indices(struct waits *w)
{
	const struct cs_target *target = cs_mem_target(w->in->scene->mem);
	size_t at = 0;

	/* But for the crashed thread, which comes first, both have the same order. */
	for (size_t i = 0; i < w->a->n_threads; i++) {
		int32_t tid = w->a->threads[i].tid;
		size_t tried = 0;

		while (tried < target->n_threads && target->threads[at].tid != tid) {
			at = (at + 1) % target->n_threads;
			tried++;
		}
		w->index[i] = tried < target->n_threads ? at : NO_THREAD;
		at = tried < target->n_threads ? (at + 1) % target->n_threads : 0;
	}
}

static void waits_deinit(struct waits *w)
{
	free(w->index);
	free(w->own);
	free(w->next);
}

struct cs_error *cs_waits_read(const struct cs_wait_input *in, struct cs_analysis *ret)
{
	CS_CLEANUP(waits_deinit) struct waits w = {.in = in, .a = ret};
	CS_CLEANUP(cs_freep) size_t *seen = calloc(ret->n_threads + 1, sizeof(*seen));
	struct cs_thread *threads = (struct cs_thread *)(uintptr_t)ret->threads; /* still being built */
	bool any = false;

	w.index = calloc(ret->n_threads + 1, sizeof(*w.index));
	w.next = calloc(ret->n_threads + 1, sizeof(*w.next));
	w.own = calloc(ret->n_threads + 1, sizeof(*w.own));
	w.waits = cs_arena_calloc(in->scene->arena, ret->n_threads + 1, sizeof(*w.waits));
	if (!seen || !w.index || !w.next || !w.own || !w.waits)
		return &cs_nomem;
	find_indices(&w);
	read_own_tids(&w);
	for (size_t i = 0; i < ret->n_threads; i++) {
		w.next[i] = NO_THREAD;
		if (read_futex_wait(&w, i, &w.waits[i]) || read_gil_wait(&w, i, &w.waits[i])) {
			threads[i].wait = &w.waits[i];
			any = true;
		}
	}
	if (any)
		mark_deadlocks(&w, seen);
	return NULL;
}
