/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runtimes without a symbol, in cores made by hand: what is found, and what must not be taken for one.
 *
 * The interpreter is "/nowhere/libpython3.N.so.1.0", of which no file exists: one page of code, and behind
 * it the data with a version text and the head of the list of interpreters. Names say what must happen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "core_builder.h"
#include "python/state.h"

#include <stdio.h>
#include <string.h>

#define X86_64 62
#define CODE 0x10000000UL
#define DATA 0x10001000UL
#define HEAP 0x20000000UL
#define DATA_SIZE 0x2000UL
#define HEAP_SIZE 0x8000UL
#define TEXT 0x40UL         /* of Py_GetVersion(), in the data */
#define RUNTIME 0x400UL     /* _PyRuntime, in the data */
#define INTERP 0x100UL      /* on the heap */
#define SECOND 0x2100UL     /* another interpreter */
#define TSTATE 0x4000UL
#define TSTATE_2 0x4400UL
#define FRAME 0x4800UL
#define THREAD 0x7f0000001700UL /* pthread_self() of the only thread */

struct process {
	uint8_t data[DATA_SIZE], heap[HEAP_SIZE];
	struct cs_py_layout layout;
	const char *file;
	uint64_t thread_pointer;
	/* the result */
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_modules *modules;
	struct cs_py_found found[4];
	size_t n;
};

static void put(uint8_t *memory, uint64_t at, int32_t field, uint64_t value)
{
	assert_true(field >= 0);
	memcpy(memory + at + field, &value, sizeof(value));
}

static void put_tstate(struct process *p, uint64_t at, uint64_t interp, uint64_t prev, uint64_t next)
{
	const struct cs_py_layout *l = &p->layout;

	put(p->heap, at, l->tstate_interp, interp);
	put(p->heap, at, l->tstate_prev, prev);
	put(p->heap, at, l->tstate_next, next);
	put(p->heap, at, l->tstate_thread_id, THREAD);
	put(p->heap, at, l->tstate_frame != CS_ABSENT ? l->tstate_frame : l->tstate_cframe,
	    HEAP + FRAME);
}

/** A process of @version with one interpreter and two thread states, as it should be. */
static struct process *process_of(uint32_t version, const char *text, const char *file)
{
	struct process *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	assert_true(cs_py_layout_table(version, false, X86_64, &p->layout));
	p->file = file;
	p->thread_pointer = THREAD;
	snprintf((char *)p->data + TEXT, 64, "%s", text);
	if (p->layout.minor > 6) {
		put(p->data, RUNTIME, p->layout.runtime_interpreters_head, HEAP + INTERP);
		put(p->data, RUNTIME, p->layout.runtime_interpreters_main, HEAP + INTERP);
		put(p->heap, INTERP, p->layout.interp_id, 0);
	} else {
		put(p->data, RUNTIME, 0, HEAP + INTERP);
	}
	put(p->heap, INTERP, p->layout.interp_threads_head, HEAP + TSTATE);
	put_tstate(p, TSTATE, HEAP + INTERP, 0, HEAP + TSTATE_2);
	put_tstate(p, TSTATE_2, HEAP + INTERP, HEAP + TSTATE, 0);
	return p;
}

static struct process *good_3_8(void)
{
	return process_of(0x030812f0, "3.8.18 (default, Aug 25 2023, 13:20:30) \n[GCC 12.2.0]",
			  "/nowhere/libpython3.8.so.1.0");
}

static void add_thread(struct core_builder *b, uint64_t thread_pointer)
{
	uint8_t prstatus[336] = {[32] = 41};

	memcpy(prstatus + 112 + 21 * 8, &thread_pointer, sizeof(thread_pointer)); /* fs_base */
	core_note(b, "CORE", 1, prstatus, sizeof(prstatus));
}

static void search(struct process *p)
{
	struct core_builder *b = core_create(X86_64);
	const struct cs_modules_options options = {0};
	struct cs_scene scene;

	add_thread(b, p->thread_pointer);
	core_files(b, CODE, &p->file, 1);
	core_load(b, CODE, 5, NULL, 0, 0x1000);
	core_load(b, DATA, 6, p->data, DATA_SIZE, DATA_SIZE);
	core_load(b, HEAP, 6, p->heap, HEAP_SIZE, HEAP_SIZE);
	p->arena = cs_arena_create(16UL << 20);
	p->diags.arena = p->arena;
	assert_null(cs_core_open(core_path(b), NULL, &p->diags, &p->core));
	core_destroy(b);
	assert_null(cs_mem_create(cs_core_target(p->core), &p->mem));
	assert_null(cs_modules_create(p->core, p->mem, &options, p->arena, &p->diags,
				      &p->modules));
	scene = (struct cs_scene){.core = p->core,
				  .mem = p->mem,
				  .modules = p->modules,
				  .arch = cs_core_arch(p->core),
				  .arena = p->arena,
				  .diags = &p->diags};
	assert_null(cs_py_search(&scene, p->found, CS_COUNT(p->found), &p->n));
}

static bool has_diag(const struct process *p, const char *code, const char *words)
{
	for (size_t i = 0; i < p->diags.list.n; i++)
		if (!strcmp(p->diags.list.v[i].code, code) &&
		    strstr(p->diags.list.v[i].text, words))
			return true;
	return false;
}

static void end(struct process *p)
{
	cs_modules_destroy(p->modules);
	cs_mem_destroy(p->mem);
	cs_core_close(p->core);
	free(p->diags.list.v);
	cs_arena_destroy(p->arena);
	free(p);
}

/** Nothing may be found, and the report says which file would help. */
static void finds_nothing(struct process *p)
{
	search(p);
	assert_int_equal(p->n, 0);
	assert_true(has_diag(p, "python-not-found", "--lib-path DIR"));
	end(p);
}

static void finds(struct process *p, uint32_t version, uint64_t runtime, uint64_t interp)
{
	search(p);
	assert_int_equal(p->n, 1);
	assert_int_equal(p->found[0].layout.version, version);
	assert_int_equal(p->found[0].layout.source, CS_LAYOUT_TABLE);
	assert_int_equal(p->found[0].runtime, runtime);
	assert_int_equal(p->found[0].interp, interp);
	assert_non_null(strstr(p->found[0].how, "libpython3."));
	assert_true(has_diag(p, "python-file", p->file));
	assert_false(has_diag(p, "python-not-found", ""));
	end(p);
}

/* ---- good ---- */

static void good_versions(void **state)
{
	(void)state;
	finds(good_3_8(), 0x030812f0, DATA + RUNTIME, HEAP + INTERP);
	finds(process_of(0x03060ff0, "3.6.15 (default, ", "/nowhere/libpython3.6m.so.1.0"),
	      0x03060ff0, DATA + RUNTIME, HEAP + INTERP);
	finds(process_of(0x030c00c2, "3.12.0rc2+ (heads/3.12:", "/nowhere/libpython3.12.so.1.0"),
	      0x030c00c2, DATA + RUNTIME, HEAP + INTERP);
}

static void good_by_its_text_alone(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	p->file = "/nowhere/libpython3.engine.so"; /* linked into something else */
	finds(p, 0x030812f0, DATA + RUNTIME, HEAP + INTERP);
}

static void good_subinterpreter(void **state)
{
	struct process *p = good_3_8();
	const struct cs_py_layout *l = &p->layout;

	(void)state;
	put(p->data, RUNTIME, l->runtime_interpreters_head, HEAP + SECOND);
	put(p->heap, SECOND, l->interp_next, HEAP + INTERP);
	put(p->heap, SECOND, l->interp_id, 1); /* and no thread in it */
	finds(p, 0x030812f0, DATA + RUNTIME, HEAP + SECOND);
}

static void good_without_known_thread_pointers(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	p->thread_pointer = 0;
	finds(p, 0x030812f0, DATA + RUNTIME, HEAP + INTERP);
}

/* ---- bad: it is none, or it cannot be proven ---- */

static void bad_structures(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	put(p->heap, TSTATE, p->layout.tstate_interp, HEAP + SECOND);
	finds_nothing(p);
	p = good_3_8();
	put(p->heap, TSTATE_2, p->layout.tstate_prev, HEAP + SECOND);
	finds_nothing(p);
	p = good_3_8();
	put(p->heap, TSTATE, p->layout.tstate_frame, 0x1234567);
	finds_nothing(p);
	p = good_3_8();
	put(p->heap, INTERP, p->layout.interp_threads_head, 0);
	finds_nothing(p);
	p = good_3_8();
	put(p->heap, INTERP, p->layout.interp_id, 1);
	finds_nothing(p);
	p = good_3_8();
	put(p->data, RUNTIME, p->layout.runtime_interpreters_main, HEAP + SECOND);
	finds_nothing(p);
	/* sys.modules is no dict: objects are laid out in another way. */
	p = good_3_8();
	put(p->heap, INTERP, p->layout.interp_modules, HEAP + SECOND);
	put(p->heap, SECOND, p->layout.object_type, HEAP + SECOND + 0x100);
	finds_nothing(p);
}

static void bad_threads_of_another_process(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	p->thread_pointer = THREAD + 0x1000;
	finds_nothing(p);
}

static void bad_lists_that_never_end(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	put(p->heap, INTERP, p->layout.interp_next, HEAP + INTERP);
	finds_nothing(p);
	/* Of thread states only the first are looked at; frames come from those that are there. */
	p = good_3_8();
	put(p->heap, TSTATE_2, p->layout.tstate_next, HEAP + TSTATE_2);
	finds_nothing(p);
}

/** Its name says 3.8, and the structures fit: that is no proof of the version. */
static void bad_without_text(void **state)
{
	struct process *p = good_3_8();

	(void)state;
	memset(p->data + TEXT, 0, 64);
	finds_nothing(p);
}

/** A text of another version, as a static buffer may hold any. */
static void bad_text(void **state)
{
	static const char *const texts[] = {"3.12.1 (main, ",  "3.8 (default, ",   "3.8.18",
					    "3.8.18-custom (", "3.8.18rc (broken", "3.999.1 (x"};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(texts); i++) {
		struct process *p = good_3_8();

		memset(p->data + TEXT, 0, 64);
		snprintf((char *)p->data + TEXT, 64, "%s", texts[i]);
		finds_nothing(p);
	}
}

static void bad_cookie(void **state)
{
	static const uint64_t words[] = {0x030d00f0, 0, UINT64_MAX, UINT64_MAX};
	struct process *p = good_3_8();

	(void)state;
	memset(p->data, 0, sizeof(p->data));
	for (size_t at = 0; at < DATA_SIZE; at += 0x400) {
		memcpy(p->data + at, CS_PY_COOKIE, 8);
		memcpy(p->data + at + 8, words, sizeof(words));
	}
	search(p);
	assert_int_equal(p->n, 0);
	assert_true(has_diag(p, "layout-damaged", "libpython3.8.so.1.0"));
	assert_in_range(p->diags.list.n, 1, 8);
	end(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_versions),
		cmocka_unit_test(good_by_its_text_alone),
		cmocka_unit_test(good_subinterpreter),
		cmocka_unit_test(good_without_known_thread_pointers),
		cmocka_unit_test(bad_structures),
		cmocka_unit_test(bad_threads_of_another_process),
		cmocka_unit_test(bad_lists_that_never_end),
		cmocka_unit_test(bad_without_text),
		cmocka_unit_test(bad_text),
		cmocka_unit_test(bad_cookie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
