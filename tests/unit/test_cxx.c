/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ exceptions laid out by hand: every layout of c10::Error, what is alive, what is not, hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "fake_cxx.h"
#include "fake_modules.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define HEADER 112 /* of an object: its distance from the header */

struct world {
	struct fake_cxx *f;
	uint64_t exception, runtime_error, c10_error;
};

static struct world create(void)
{
	struct world w = {.f = fake_cxx_create(EM_X86_64, NULL, 0)};

	w.exception = fake_cxx_type(w.f, "St9exception", 0);
	w.runtime_error = fake_cxx_type(w.f, "St13runtime_error", w.exception);
	w.c10_error = fake_cxx_type(w.f, "N3c105ErrorE", w.exception);
	return w;
}

static uint64_t throw_text(struct world *w, const char *text)
{
	uint64_t object = fake_cxx_throw(w->f, w->runtime_error, 16);

	fake_cxx_string(w->f, object + 8, true, text);
	return object;
}

/** What is said of the exception that @object is. */
static struct cs_exception describe(struct world *w, uint64_t object)
{
	struct cs_cxx *cx = w->f->mem ? &w->f->cx : fake_cxx_open(w->f);
	struct cs_exception e = {0};
	struct cs_cxx_header header;

	assert_true(cs_cxx_header_read(cx, object - HEADER, &header));
	assert_int_equal(header.object, object);
	assert_null(cs_cxx_describe(cx, &header, &e));
	return e;
}

static void caught_and_on_its_way(void **state)
{
	struct world w = create();
	uint64_t inner = throw_text(&w, "inner"), outer = throw_text(&w, "outer");
	uint64_t way = throw_text(&w, "on its way"), other = throw_text(&w, "kept");
	struct cs_analysis a = {.crash = {.tid = 41, .fault = CS_FAULT_ABORT}};

	(void)state;
	fake_cxx_globals(w.f, 0, outer - HEADER, 0);
	fake_cxx_globals(w.f, 0, inner - HEADER, 0);
	fake_poke64(w.f->target, inner - HEADER + 32, outer - HEADER);
	fake_cxx_globals(w.f, 1, 0, 1);
	/* On the second stack: what is kept, by its object; what the unwinder works on, by its own part. */
	fake_poke64(w.f->target, FAKE_CXX_BASE + FAKE_CXX_STACK + 0x10, other);
	fake_poke64(w.f->target, FAKE_CXX_BASE + FAKE_CXX_STACK + 0x20, way - 32);
	fake_cxx_read(w.f, &a);
	assert_int_equal(a.n_exceptions, 3);
	assert_string_equal(a.exceptions[0].message, "inner");
	assert_true(a.exceptions[0].fatal);
	assert_string_equal(a.exceptions[1].message, "outer");
	assert_string_equal(a.exceptions[1].state, "caught");
	assert_false(a.exceptions[1].fatal);
	assert_int_equal(a.exceptions[2].tid, 42);
	assert_string_equal(a.exceptions[2].message, "on its way");
	assert_string_equal(a.exceptions[2].state, "in-flight");
	fake_cxx_destroy(w.f);
}

/** std::terminate() without an exception: what is kept is shown, and what was freed is not. */
static void only_live_ones(void **state)
{
	static const struct cs_frame frames[] = {{.function = "abort"}, {.function = "std::terminate()"}};
	static const struct cs_stack_group group = {.frames = frames, .n_frames = 2};
	static const struct cs_thread thread = {.tid = 41, .crashed = true, .group = &group};
	struct world w = create();
	uint64_t kept = throw_text(&w, "kept"), freed = throw_text(&w, "freed");
	uint64_t dropped = throw_text(&w, "dropped"), nameless = throw_text(&w, "nameless");
	struct cs_analysis a = {.crash = {.tid = 41, .fault = CS_FAULT_ABORT},
				.threads = &thread,
				.n_threads = 1};

	(void)state;
	(void)kept;
	fake_poke64(w.f->target, freed - 128 + 8, 0x1234567812345678); /* the allocator's own */
	fake_poke64(w.f->target, dropped - 128, 0);
	fake_poke64(w.f->target, nameless - HEADER, fake_cxx_type(w.f, "no name", 0));
	fake_cxx_read(w.f, &a);
	assert_int_equal(a.n_exceptions, 1);
	assert_string_equal(a.exceptions[0].message, "kept");
	assert_string_equal(a.exceptions[0].state, "stored");
	assert_false(a.exceptions[0].fatal);
	assert_int_equal(a.exceptions[0].tid, 0);
	fake_cxx_destroy(w.f);
}

/** What libc++ keeps is not read, and the report says so where it may be the reason. */
static void another_runtime(void **state)
{
	static const struct cs_frame frames[] = {{.function = "abort"}, {.function = "std::terminate()"}};
	static const struct cs_stack_group group = {.frames = frames, .n_frames = 2};
	static const struct cs_thread thread = {.tid = 41, .crashed = true, .group = &group};
	struct world w = create();
	struct cs_analysis a = {.crash = {.tid = 41, .fault = CS_FAULT_ABORT},
				.threads = &thread,
				.n_threads = 1};

	(void)state;
	cs_mod_public(fake_module(w.f->modules, 0x600000, 0x700000, 0x600000, NULL, 0))->name =
		"libc++abi.so.1";
	fake_cxx_read(w.f, &a);
	assert_int_equal(a.n_exceptions, 0);
	assert_int_equal(w.f->diags.list.n, 1);
	assert_string_equal(w.f->diags.list.v[0].code, "cxx-runtime-not-read");
	fake_cxx_destroy(w.f);
}

static void circles_end(void **state)
{
	struct world w = create();
	uint64_t first = throw_text(&w, "first"), second = throw_text(&w, "second");
	uint64_t loop = fake_cxx_type(w.f, "4Loop", 0), object = fake_cxx_throw(w.f, loop, 64);
	struct cs_analysis a = {0};
	struct cs_cxx_part parts[256];

	(void)state;
	fake_cxx_globals(w.f, 0, first - HEADER, 0);
	fake_poke64(w.f->target, first - HEADER + 32, second - HEADER);
	fake_poke64(w.f->target, second - HEADER + 32, first - HEADER);
	fake_poke64(w.f->target, loop, w.f->si_type);
	fake_poke64(w.f->target, loop + 16, loop);
	fake_cxx_read(w.f, &a);
	assert_int_equal(a.n_exceptions, 2);
	assert_in_range(cs_cxx_parts(&w.f->cx, loop, object, parts, 256), 1, CS_MAX_CXX_BASES);
	assert_string_equal(describe(&w, object).type, "Loop");
	fake_cxx_destroy(w.f);
}

/** A class with two bases, the second a virtual one. */
static void several_bases(void **state)
{
	struct world w = create();
	uint64_t info = fake_cxx_alloc(w.f, 24 + 2 * 16), object, table = fake_cxx_alloc(w.f, 64);
	static const char raw[] = "N6plugin7FailureE";
	uint32_t two = 2;

	(void)state;
	fake_poke64(w.f->target, info, w.f->vmi_type);
	fake_poke64(w.f->target, info + 8, fake_cxx_bytes(w.f, raw, sizeof(raw)));
	fake_poke(w.f->target, info + 20, &two, sizeof(two));
	fake_poke64(w.f->target, info + 24, fake_cxx_type(w.f, "4Base", 0));
	fake_poke64(w.f->target, info + 32, 2); /* public, at 0 */
	fake_poke64(w.f->target, info + 40, w.runtime_error);
	fake_poke64(w.f->target, info + 48, (uint64_t)(-24 * 256) | 3); /* public, virtual */
	object = fake_cxx_throw(w.f, info, 64);
	fake_poke64(w.f->target, object, table + 32);
	fake_poke64(w.f->target, table + 32 - 24, 16); /* where the virtual base is */
	fake_cxx_string(w.f, object + 16 + 8, true, "in a virtual base");
	assert_string_equal(describe(&w, object).type, "plugin::Failure");
	assert_string_equal(describe(&w, object).message, "in a virtual base");
	fake_cxx_destroy(w.f);
}

static void hostile_strings(void **state)
{
	static const struct {
		int field; /* bytes from the string's data */
		uint64_t value;
	} changes[] = {{-24, UINT64_MAX}, {-24, 1UL << 40}, {-24, 1000}, {-16, 3},
		       {-16, 1UL << 40},  {-8, 0xffffff00}, {-24, 6},    {2, 0x4100}};
	struct world w = create();
	uint64_t good = throw_text(&w, "harmless"), bad[CS_COUNT(changes)], data;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(changes); i++) {
		bad[i] = throw_text(&w, "harmless");
		/* The string was laid out behind the object, its characters 24 bytes on. */
		data = bad[i] + 32 + 24;
		fake_poke64(w.f->target, data + (uint64_t)(int64_t)changes[i].field, changes[i].value);
	}
	assert_string_equal(describe(&w, good).message, "harmless");
	for (size_t i = 0; i < CS_COUNT(changes); i++)
		assert_null(describe(&w, bad[i]).message);
	fake_cxx_destroy(w.f);
}

/** Every generation and both ABIs: pytorch up to 2.3, and later. */
static void c10_errors(void **state)
{
	static const struct {
		bool old, lazy;
		unsigned context, backtrace, what, message, code;
	} layouts[] = {{false, false, 40, 64, 96, 128, 168},
		       {false, true, 40, 64, 80, 88, 128},
		       {true, false, 16, 40, 48, 56, 72},
		       {true, true, 16, 40, 56, 64, 80}};
	static const char text[] = "CUDA error: an illegal memory access was encountered";
	static const char trace[] = "Exception raised from f at g.cpp:7 (most recent call first):\nframe #0";

	(void)state;
	for (size_t i = 0; i < CS_COUNT(layouts); i++) {
		struct world w = create();
		uint64_t type = fake_cxx_type(w.f, "N3c1016AcceleratorErrorE", w.c10_error);
		uint64_t object = fake_cxx_throw(w.f, type, 256), lazy, value;
		struct cs_exception e;
		char whole[512];
		bool old = layouts[i].old;

		snprintf(whole, sizeof(whole), "%s (in a hook)", text);
		fake_cxx_string(w.f, object + 8, old, text);
		fake_cxx_string(w.f, object + layouts[i].message, old, whole);
		if (layouts[i].lazy) {
			lazy = fake_cxx_alloc(w.f, 64);
			value = fake_cxx_alloc(w.f, 32);
			fake_cxx_string(w.f, value, old, trace);
			fake_poke64(w.f->target, lazy + 8, value);
			fake_poke64(w.f->target, object + layouts[i].backtrace, lazy);
			fake_poke64(w.f->target, object + layouts[i].backtrace + 8, lazy - 16);
		} else {
			fake_cxx_string(w.f, object + layouts[i].backtrace, old, trace);
			fake_cxx_string(w.f, object + layouts[i].what, old, whole);
		}
		fake_poke64(w.f->target, object + layouts[i].code, 700);
		e = describe(&w, object);
		assert_string_equal(e.type, "c10::AcceleratorError");
		assert_string_equal(e.message, whole);
		assert_string_equal(e.backtrace, trace);
		assert_string_equal(e.code, "700");
		fake_cxx_destroy(w.f);
	}
}

/** Thrown again in another thread: the primary one is what is told. */
static void dependent(void **state)
{
	struct world w = create();
	uint64_t primary = throw_text(&w, "token hf_abcdefghijklmnopqrstuvwxyzabcdefgh");
	uint64_t header = fake_cxx_alloc(w.f, 128), lost = fake_cxx_alloc(w.f, 128);
	struct cs_cxx_header h;
	struct cs_exception e = {0};
	struct cs_cxx *cx;

	(void)state;
	fake_poke64(w.f->target, header, primary);
	fake_poke(w.f->target, header + 80, "\1++CCUNG", 8);
	fake_poke64(w.f->target, lost, header + HEADER); /* a dependent one of a dependent one */
	fake_poke(w.f->target, lost + 80, "\1++CCUNG", 8);
	cx = fake_cxx_open(w.f);
	assert_true(cs_cxx_header_read(cx, header, &h));
	assert_true(h.dependent);
	assert_int_equal(h.object, primary);
	assert_null(cs_cxx_describe(cx, &h, &e));
	assert_string_equal(e.message, "token ***");
	assert_false(cs_cxx_header_read(cx, lost, &h));
	assert_false(cs_cxx_header_read(cx, UINT64_MAX - 15, &h));
	fake_cxx_destroy(w.f);
}

static void carried_from_python(void **state)
{
	struct world w = create();
	uint64_t pybind = fake_cxx_type(w.f, "N8pybind1117error_already_setE", w.exception);
	uint64_t torch = fake_cxx_type(w.f, "12python_error", w.exception);
	uint64_t newer = fake_cxx_throw(w.f, pybind, 64), older = fake_cxx_throw(w.f, pybind, 64);
	uint64_t own = fake_cxx_throw(w.f, torch, 64), empty = fake_cxx_throw(w.f, torch, 64);
	uint64_t fetched = fake_cxx_alloc(w.f, 64);

	(void)state;
	fake_poke64(w.f->target, fetched + 8, 0x1000);
	fake_poke64(w.f->target, newer + 8, fetched);
	fake_cxx_string(w.f, older + 8, true, "ValueError: ...");
	fake_poke64(w.f->target, older + 24, 0x1000);
	fake_poke64(w.f->target, own + 16, 0x1000);
	fake_cxx_string(w.f, empty + 32, false, "from the time before");
	assert_string_equal(describe(&w, newer).message, "ValueError: from Python");
	assert_string_equal(describe(&w, older).cause->message, "from Python");
	assert_string_equal(describe(&w, own).message, "ValueError: from Python");
	assert_string_equal(describe(&w, empty).message, "from the time before");
	assert_null(describe(&w, empty).cause);
	fake_cxx_destroy(w.f);
}

/** what() by its code: it is followed only as far as it does nothing but load the text. */
static void code_of_what(void **state)
{
	static const struct {
		const char *code;
		size_t n;
		bool known;
	} cases[] = {
		{"\xf3\x0f\x1e\xfa\x48\x8b\x47\x10\xc3", 9, true}, /* mov 16(%rdi),%rax; ret */
		{"\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x48\x8b\x40\x10\x5d\xc3", 18, true},
		{"\x48\x83\xc7\x10\xeb\x00\x48\x8b\x07\xc3", 10, true}, /* a jump to another function */
		{"\x48\x83\xc7\x10\xe8\x01\x00\x00\x00\xc3\x48\x8b\x07\xc3", 14, true}, /* a call */
		{"\xff\x57\x10\xc3", 4, false},  /* a call of a virtual function */
		{"\xeb\xfe", 2, false},          /* for ever */
		{"\x48\x8b\x47\x10", 4, false},  /* goes on into what is no code */
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		struct world w = create();
		uint64_t own = fake_cxx_type(w.f, "3Own", w.exception), table = fake_cxx_alloc(w.f, 64);
		uint64_t object = fake_cxx_throw(w.f, own, 64);

		fake_poke64(w.f->target, object, table);
		fake_poke64(w.f->target, table + 16, fake_cxx_bytes(w.f, cases[i].code, cases[i].n));
		fake_poke64(w.f->target, object + 16, fake_cxx_bytes(w.f, "a member", 9));
		if (cases[i].known)
			assert_string_equal(describe(&w, object).message, "a member");
		else
			assert_null(describe(&w, object).message);
		fake_cxx_destroy(w.f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(caught_and_on_its_way), cmocka_unit_test(only_live_ones),
		cmocka_unit_test(another_runtime),
		cmocka_unit_test(circles_end),           cmocka_unit_test(several_bases),
		cmocka_unit_test(hostile_strings),       cmocka_unit_test(c10_errors),
		cmocka_unit_test(dependent),             cmocka_unit_test(carried_from_python),
		cmocka_unit_test(code_of_what),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
