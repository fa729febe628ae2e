/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits for whom, of made-up threads of both architectures: a system call's arguments, a mutex, the
 * threads' own tids. What real programs look like is tested in tests/corpus/test_waits.py.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "crash/crash.h"
#include "fake_target.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define RW (CS_PROT_READ | CS_PROT_WRITE)
#define RX (CS_PROT_READ | CS_PROT_EXEC)
#define CODE 0x400000UL  /* the system call instruction is at its start */
#define DATA 0x600000UL  /* mutexes, 64 bytes each */
#define BLOCKS 0x700000UL /* thread control blocks, one a page */
#define MOST 4
#define WAIT_PRIVATE 128

struct world {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_arena *arena;
	const struct cs_arch *arch;
	struct cs_scene scene;
	struct cs_module libc;
	struct cs_frame frames[MOST][3];
	struct cs_stack_group groups[MOST];
	struct cs_thread threads[MOST];
	struct cs_python_thread pythons[MOST];
	struct cs_python_runtime runtime;
	struct cs_regs regs[MOST];
	struct cs_raw_stack raws[MOST];
	struct cs_wait_thread inputs[MOST];
	struct cs_analysis analysis;
	int64_t tid_at; /* from the thread pointer */
};

static void open_world(struct world *w, uint16_t machine)
{
	uint8_t code[16] = {0};

	memset(w, 0, sizeof(*w));
	w->arch = cs_arch_find(machine);
	w->target = fake_create(machine);
	w->arena = cs_arena_create(1UL << 20);
	memcpy(code, w->arch->syscall_code, w->arch->syscall_len);
	fake_map(w->target, CODE, code, sizeof(code), RX);
	fake_map(w->target, DATA, NULL, 4096, RW);
	fake_map(w->target, BLOCKS, NULL, (MOST + 2) * 4096UL, RW);
	w->libc = (struct cs_module){.name = "libc.so.6", .path = "/lib/libc.so.6"};
	w->tid_at = w->arch->thread_tid ? (int64_t)w->arch->thread_tid : -1500;
	w->analysis.threads = w->threads;
	w->analysis.groups = w->groups;
	w->analysis.python.runtimes = &w->runtime;
	w->analysis.python.n_runtimes = 1;
}

static void end_world(struct world *w)
{
	cs_mem_destroy(w->mem);
	cs_arena_destroy(w->arena);
	fake_destroy(w->target);
}

static void poke32(struct world *w, uint64_t at, uint32_t value)
{
	fake_poke(w->target, at, &value, sizeof(value));
}

/* A thread whose innermost frames are a system call's and @function's. */
static size_t add_thread(struct world *w, int32_t tid, const char *function)
{
	size_t i = fake_thread(w->target, tid, 0);
	uint64_t block = BLOCKS + (i + 1) * 4096UL;

	fake_thread_pointer(w->target, i, block);
	poke32(w, block + (uint64_t)w->tid_at, (uint32_t)tid);
	w->frames[i][0] = (struct cs_frame){.function = "__futex_abstimed_wait_common64",
					    .module = &w->libc};
	w->frames[i][1] = (struct cs_frame){.function = function, .module = &w->libc};
	w->frames[i][2] = (struct cs_frame){.function = "main"};
	w->groups[i] = (struct cs_stack_group){.id = (uint32_t)i, .frames = w->frames[i], .n_frames = 3};
	w->threads[i] = (struct cs_thread){.tid = tid, .group = &w->groups[i]};
	w->inputs[i] = (struct cs_wait_thread){.regs = &w->regs[i], .raw = &w->raws[i]};
	w->analysis.n_threads = i + 1;
	return i;
}

/* ... which is in futex(@address, @op, @value, @timeout). */
static void set_call(struct world *w, size_t i, uint64_t address, uint64_t op, uint64_t value,
		     uint64_t timeout)
{
	const uint64_t args[] = {address, op, value, timeout};

	cs_regs_set(&w->regs[i], w->arch->pc, CODE + w->arch->syscall_len);
	for (size_t k = 0; k < 4; k++)
		cs_regs_set(&w->regs[i], w->arch->syscall_args[k], args[k]);
	if (w->arch->syscall_number >= 0)
		cs_regs_set(&w->regs[i], (unsigned)w->arch->syscall_number, w->arch->futex_number);
}

static void set_mutex(struct world *w, uint64_t at, uint32_t owner, uint32_t kind)
{
	poke32(w, at, 2);
	poke32(w, at + 8, owner);
	poke32(w, at + 12, 1);
	poke32(w, at + 16, kind);
}

static void look(struct world *w)
{
	const struct cs_wait_input input = {.scene = &w->scene, .threads = w->inputs};

	cs_mem_destroy(w->mem); /* so that nothing is remembered */
	w->mem = NULL;
	for (size_t i = 0; i < w->analysis.n_threads; i++)
		w->threads[i].wait = NULL;
	assert_true(cs_ok(cs_mem_create(fake_cs(w->target), &w->mem)));
	w->scene = (struct cs_scene){.mem = w->mem, .arch = w->arch, .arena = w->arena};
	assert_true(cs_ok(cs_waits_read(&input, &w->analysis)));
}

/* Two threads that wait for each other's mutex. */
static void make_ring(struct world *w, uint16_t machine)
{
	open_world(w, machine);
	add_thread(w, 41, "pthread_mutex_lock");
	add_thread(w, 42, "___pthread_mutex_lock");
	set_mutex(w, DATA, 42, 0);
	set_mutex(w, DATA + 64, 41, 0);
	set_call(w, 0, DATA, WAIT_PRIVATE, 2, 0);
	set_call(w, 1, DATA + 64, WAIT_PRIVATE, 2, 0);
}

static void check_ring(uint16_t machine)
{
	struct world w;

	make_ring(&w, machine);
	look(&w);
	for (size_t i = 0; i < 2; i++) {
		assert_non_null(w.threads[i].wait);
		assert_string_equal(w.threads[i].wait->kind, "mutex");
		assert_int_equal(w.threads[i].wait->address, DATA + 64 * i);
		assert_int_equal(w.threads[i].wait->owner, i ? 41 : 42);
		assert_true(w.threads[i].wait->deadlock);
		assert_false(w.threads[i].wait->owner_gone);
	}
	/* Started again: the pc is on the instruction. */
	cs_regs_set(&w.regs[0], w.arch->pc, CODE);
	look(&w);
	assert_true(w.threads[0].wait && w.threads[0].wait->deadlock);
	end_world(&w);
}

static void test_ring(void **state)
{
	(void)state;
	check_ring(EM_X86_64);
	check_ring(EM_AARCH64);
}

/* What takes the proof away, one at a time. */
static void test_no_proof(void **state)
{
	struct world w;

	(void)state;
	make_ring(&w, EM_X86_64);
	set_call(&w, 1, DATA + 64, WAIT_PRIVATE, 2, DATA + 512); /* it gives up some time */
	look(&w);
	assert_true(w.threads[1].wait->timed);
	assert_false(w.threads[0].wait->deadlock || w.threads[1].wait->deadlock);
	set_call(&w, 1, DATA + 64, WAIT_PRIVATE, 2, 0);

	set_mutex(&w, DATA, 0, 0); /* nobody has it at this moment */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);
	assert_false(w.threads[0].wait->deadlock);

	set_mutex(&w, DATA, 42, 0x80); /* processes share it */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);

	set_mutex(&w, DATA, 42, 0xffff); /* no kind of mutex */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);

	set_mutex(&w, DATA, 42, 1);
	poke32(&w, DATA, 0); /* let go, and not taken yet */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);

	set_mutex(&w, DATA, 42, 0);
	set_call(&w, 0, DATA + 4, WAIT_PRIVATE, 2, 0); /* no place for a mutex */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);
	set_call(&w, 0, 0x123456789000, WAIT_PRIVATE, 2, 0); /* nothing there */
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);

	set_call(&w, 0, DATA, WAIT_PRIVATE | 1, 2, 0); /* it wakes others */
	look(&w);
	assert_null(w.threads[0].wait);
	set_call(&w, 0, DATA, WAIT_PRIVATE, 2, 0);
	cs_regs_set(&w.regs[0], w.arch->pc, CODE + 8); /* it is in no system call */
	look(&w);
	assert_null(w.threads[0].wait);
	end_world(&w);
}

/* The names must be the C library's own, and known. */
static void test_names(void **state)
{
	struct world w;

	(void)state;
	make_ring(&w, EM_X86_64);
	w.frames[0][1].function = "pthread_mutex_lock@@GLIBC_2.2.5";
	look(&w);
	assert_true(w.threads[0].wait->deadlock);
	w.frames[0][1].nearest = true; /* nameless: the next one tells */
	look(&w);
	assert_null(w.threads[0].wait);
	w.frames[0][1].nearest = false;
	w.frames[0][0].function = NULL;
	look(&w);
	assert_true(w.threads[0].wait->deadlock);
	w.frames[0][1].module = NULL;
	look(&w);
	assert_null(w.threads[0].wait);
	w.frames[0][1].module = &w.libc;
	w.frames[0][1].function = "pthread_cond_wait"; /* its futex is no mutex */
	look(&w);
	assert_null(w.threads[0].wait);
	end_world(&w);
}

static void check_gone(uint16_t machine)
{
	struct world w;

	make_ring(&w, machine);
	set_mutex(&w, DATA, 77, 0);
	look(&w);
	assert_true(w.threads[0].wait->owner_gone);
	assert_int_equal(w.threads[0].wait->owner, 77);
	assert_false(w.threads[0].wait->deadlock);
	end_world(&w);
}

static void test_owner_gone(void **state)
{
	(void)state;
	check_gone(EM_X86_64);
	check_gone(EM_AARCH64);
}

/* The core has the tids of another pid namespace than the process's own. */
static void test_namespace(void **state)
{
	struct world w;

	(void)state;
	make_ring(&w, EM_X86_64);
	for (size_t i = 0; i < 2; i++)
		poke32(&w, BLOCKS + (i + 1) * 4096UL + (uint64_t)w.tid_at, 7 + (uint32_t)i);
	set_mutex(&w, DATA, 8, 0);
	set_mutex(&w, DATA + 64, 7, 0);
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 42);
	assert_int_equal(w.threads[1].wait->owner, 41);
	assert_true(w.threads[0].wait->deadlock);
	end_world(&w);
	/* Where the library keeps them is not known: then it is not known whose it is, either. */
	make_ring(&w, EM_AARCH64);
	for (size_t i = 0; i < 2; i++)
		poke32(&w, BLOCKS + (i + 1) * 4096UL + (uint64_t)w.tid_at, 7 + (uint32_t)i);
	set_mutex(&w, DATA, 8, 0);
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);
	assert_false(w.threads[0].wait->owner_gone);
	end_world(&w);
}

/* A join, the GIL and a mutex in one ring; a thread that waits for the ring is not of it. */
static void test_mixed_ring(void **state)
{
	struct world w;

	(void)state;
	open_world(&w, EM_X86_64);
	add_thread(&w, 1, "__pthread_clockjoin_ex");
	add_thread(&w, 2, "pthread_mutex_lock");
	add_thread(&w, 3, "pthread_cond_timedwait");
	add_thread(&w, 4, "pthread_mutex_lock");
	poke32(&w, DATA, 2); /* of thread 2's own record */
	set_call(&w, 0, DATA, 9 | 256, 2, 0);
	set_mutex(&w, DATA + 64, 3, 1);
	set_call(&w, 1, DATA + 64, WAIT_PRIVATE, 2, 0);
	w.runtime.gil_holder = 1;
	w.pythons[2] = (struct cs_python_thread){.waits_for_gil = true};
	w.threads[2].python = &w.pythons[2];
	set_call(&w, 3, DATA + 64, WAIT_PRIVATE, 2, 0);
	look(&w);
	assert_string_equal(w.threads[0].wait->kind, "thread");
	assert_int_equal(w.threads[0].wait->owner, 2);
	assert_string_equal(w.threads[2].wait->kind, "gil");
	assert_int_equal(w.threads[2].wait->owner, 1);
	for (size_t i = 0; i < 3; i++)
		assert_true(w.threads[i].wait->deadlock);
	assert_int_equal(w.threads[3].wait->owner, 3);
	assert_false(w.threads[3].wait->deadlock);
	/* The joined thread has just ended. */
	poke32(&w, DATA, 0);
	look(&w);
	assert_int_equal(w.threads[0].wait->owner, 0);
	assert_false(w.threads[1].wait->deadlock);
	end_world(&w);
}

/* A handler runs in a thread that waits: what it interrupted counts. */
static void test_interrupted(void **state)
{
	static struct cs_frame frames[5];
	struct world w;

	(void)state;
	make_ring(&w, EM_X86_64);
	frames[0] = (struct cs_frame){.function = "on_signal"};
	frames[1] = (struct cs_frame){.kind = CS_FRAME_SIGNAL};
	memcpy(&frames[2], w.frames[0], sizeof(w.frames[0]));
	w.groups[0].frames = frames;
	w.groups[0].n_frames = CS_COUNT(frames);
	w.raws[0].n_interrupted = 1;
	w.raws[0].interrupted[0].regs = w.regs[0];
	w.regs[0].known = 0;
	look(&w);
	assert_true(w.threads[0].wait && w.threads[0].wait->deadlock);
	w.raws[0].interrupted[0].regs.known = 0;
	look(&w);
	assert_null(w.threads[0].wait);
	end_world(&w);
}

/* A mutex that a thread has itself. */
static void test_self(void **state)
{
	struct world w;

	(void)state;
	make_ring(&w, EM_X86_64);
	set_mutex(&w, DATA, 41, 0);
	look(&w);
	assert_true(w.threads[0].wait->deadlock);
	assert_int_equal(w.threads[0].wait->owner, 41);
	assert_false(w.threads[1].wait->deadlock); /* it only waits for one that is lost */
	end_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring),       cmocka_unit_test(test_no_proof),
		cmocka_unit_test(test_names),      cmocka_unit_test(test_owner_gone),
		cmocka_unit_test(test_namespace),  cmocka_unit_test(test_mixed_ring),
		cmocka_unit_test(test_interrupted), cmocka_unit_test(test_self),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
