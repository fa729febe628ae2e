/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Last words in made-up stacks: each text with all that proves it, and then without one of the
 * proofs. What real processes leave is tested in tests/e2e/test_last_words.py.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "arch/arch.h"
#include "base/arena.h"
#include "crash/internal.h"
#include "crash/panic.h"
#include "fake_modules.h"
#include "fake_target.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define RW (CS_PROT_READ | CS_PROT_WRITE)
#define RX (CS_PROT_READ | CS_PROT_EXEC)
#define CODE 0x400000UL   /* functions, 256 bytes each */
#define CONSTANTS 0x500000UL
#define HEAP 0x10000000000UL
#define STACK 0x7ffe00000000UL
#define FRAME 256UL /* bytes of each frame's part of the stack */
#define TID 4711
#define MOST 8

struct world {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_arena *arena;
	struct cs_modules *modules;
	struct cs_module module, libc;
	struct cs_scene scene;
	struct cs_frame frames[MOST];
	struct cs_raw_frame raws[MOST];
	struct cs_raw_stack raw;
	struct cs_incident in;
	struct cs_crash crash;
};

/** Stands in for lastwords.c. */
bool cs_function_raises(const char *function)
{
	return !strcmp(function, "abort");
}

static uint64_t function_at(size_t i)
{
	return CODE + i * 256;
}

static uint64_t frame_at(size_t i)
{
	return STACK + i * FRAME;
}

/**
 * abort() called by functions @names, the outermost last, each 128 bytes after its start; NULL: has
 * no name.
 */
static void open_world(struct world *w, const char *const *names, size_t n)
{
	uint8_t code[4096];

	memset(w, 0, sizeof(*w));
	memset(code, 0x90, sizeof(code)); /* nop */
	w->target = fake_create(EM_X86_64);
	w->arena = cs_arena_create(1UL << 20);
	w->modules = fake_modules_create();
	fake_module(w->modules, CODE, CONSTANTS + 0x10000, 0, NULL, 0);
	fake_map(w->target, CODE, code, sizeof(code), RX);
	fake_map(w->target, CONSTANTS, NULL, 4096, CS_PROT_READ);
	fake_map(w->target, HEAP, NULL, 32768, RW);
	fake_map(w->target, STACK, NULL, MOST * FRAME, RW);
	assert_true(cs_ok(cs_mem_create(fake_cs(w->target), &w->mem)));
	w->libc = (struct cs_module){.name = "libc.so.6"};
	w->module = (struct cs_module){.name = "program"};
	w->scene = (struct cs_scene){.mem = w->mem,
				     .modules = w->modules,
				     .arch = cs_arch_find(EM_X86_64),
				     .arena = w->arena};
	for (size_t i = 0; i <= n; i++) {
		uint64_t pc = function_at(i) + 128;

		w->frames[i] = (struct cs_frame){.kind = CS_FRAME_NATIVE,
						 .address = pc,
						 .function = i ? names[i - 1] : "abort",
						 .offset = 128,
						 .module = i ? &w->module : &w->libc};
		w->raws[i] = (struct cs_raw_frame){.pc = pc, .cfa = frame_at(i + 1)};
	}
	w->raw = (struct cs_raw_stack){.frames = w->raws, .n = n + 1};
	w->in = (struct cs_incident){.scene = &w->scene,
				     .frames = w->frames,
				     .n_frames = n + 1,
				     .stack = &w->raw,
				     .tid = TID,
				     .sp = STACK};
}

static void close_world(struct world *w)
{
	cs_modules_destroy(w->modules);
	cs_mem_destroy(w->mem);
	cs_arena_destroy(w->arena);
	fake_destroy(w->target);
}

/** The text that is found, and its source; NULL: none. */
static const char *found(struct world *w, const char *source)
{
	/* What was read before is remembered. */
	cs_mem_destroy(w->mem);
	assert_true(cs_ok(cs_mem_create(fake_cs(w->target), &w->mem)));
	w->scene.mem = w->mem;
	w->crash = (struct cs_crash){0};
	if (!cs_panic_find(&w->in, &w->crash)) {
		assert_null(w->crash.message);
		return NULL;
	}
	assert_string_equal(w->crash.message_source, source);
	return w->crash.message;
}

#define OPEN(w, ...)                                                                               \
	static const char *const names_[] = {__VA_ARGS__};                                         \
	open_world(w, names_, sizeof(names_) / sizeof(*names_))

static void put(struct world *w, uint64_t at, const char *text)
{
	fake_poke(w->target, at, text, strlen(text) + 1);
}

/** Code that ends at the return address of frame @i: @bytes, then a call. @moves: lea instructions, whose
 * displacements are worked out: the register's byte and where it is to point. */
struct lea {
	uint8_t modrm; /* 0x3d: %rdi, 0x35: %rsi */
	uint64_t to;
};

static void call_with(struct world *w, size_t i, const struct lea *leas, size_t n, const uint8_t *between,
		      size_t n_between)
{
	uint64_t at = function_at(i) + 128 - 5 - n_between - 7 * n;
	uint8_t call[5] = {0xe8};

	for (size_t k = 0; k < n; k++, at += 7) {
		uint32_t disp = (uint32_t)(leas[k].to - (at + 7));
		uint8_t code[7] = {0x48, 0x8d, leas[k].modrm};

		memcpy(code + 3, &disp, 4);
		fake_poke(w->target, at, code, sizeof(code));
	}
	if (n_between)
		fake_poke(w->target, at, between, n_between);
	fake_poke(w->target, at + n_between, call, sizeof(call));
}

#define FUNC CONSTANTS
#define TEXT (CONSTANTS + 256)
static const struct lea func_and_text[] = {{0x3d, FUNC}, {0x35, TEXT}};

static void put_python_texts(struct world *w)
{
	put(w, FUNC, "PyThreadState_Get");
	put(w, TEXT, "the lock is not held");
}

static void test_python_constants(void **state)
{
	static const uint8_t harmless[] = {0x31, 0xc0};             /* xor %eax,%eax */
	static const uint8_t other[] = {0x48, 0x89, 0xde};          /* mov %rbx,%rsi */
	static const uint8_t second_call[] = {0xe8, 0, 0, 0, 0};
	struct world w;

	(void)state;
	OPEN(&w, "fatal_error", "_Py_FatalErrorFunc", "PyThreadState_Get", "main");
	put_python_texts(&w);
	call_with(&w, 3, func_and_text, 2, NULL, 0);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	call_with(&w, 3, func_and_text, 2, harmless, sizeof(harmless));
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	/* Neither register is what it was before: nothing is known of the text. */
	call_with(&w, 3, func_and_text, 2, other, sizeof(other));
	assert_null(found(&w, NULL));
	call_with(&w, 3, func_and_text, 2, second_call, sizeof(second_call));
	assert_null(found(&w, NULL));
	close_world(&w);
}

static void test_python_bad_constants(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "fatal_error", "_Py_FatalErrorFunc", "PyThreadState_Get", "main");
	call_with(&w, 3, func_and_text, 2, NULL, 0);
	assert_null(found(&w, NULL)); /* empty texts */
	put_python_texts(&w);
	put(&w, TEXT, "not \x01 a text");
	assert_null(found(&w, NULL));
	put(&w, TEXT, "not UTF-8: \xff");
	assert_null(found(&w, NULL));
	put(&w, TEXT, "the lock is not held");
	put(&w, FUNC, "no name of a function");
	assert_string_equal(found(&w, CS_SOURCE_PYTHON), "Fatal Python error: ...: the lock is not held");
	fake_fail(w.target, CODE, 4096);
	close_world(&w);
}

/** An argument that is only handed on is its caller's. */
static void test_python_handed_on(void **state)
{
	static const struct lea text[] = {{0x35, TEXT}}, func[] = {{0x3d, FUNC}};
	static const uint8_t entry[] = {0x48, 0x83, 0xec, 0x08}; /* sub $8,%rsp */
	struct world w;

	(void)state;
	OPEN(&w, "_Py_FatalErrorFunc", "_Py_FatalError_TstateNULL", "PyThreadState_Get");
	put_python_texts(&w);
	call_with(&w, 2, text, 1, NULL, 0);
	call_with(&w, 3, func, 1, NULL, 0);
	/* The function begins too far away: what it got may have been lost. */
	w.frames[2].offset = 200;
	assert_string_equal(found(&w, CS_SOURCE_PYTHON), "Fatal Python error: ...: the lock is not held");
	w.frames[2].offset = 5 + 7 + sizeof(entry);
	fake_poke(w.target, function_at(2) + 128 - w.frames[2].offset, entry, sizeof(entry));
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	w.frames[2].nearest = true;
	assert_string_equal(found(&w, CS_SOURCE_PYTHON), "Fatal Python error: ...: the lock is not held");
	close_world(&w);
}

/* On aarch64: adrp x0; add x0, x0; adrp x1; mov x29, sp; add x1, x1; add x1, x1; bl */
static void put_arm64(struct world *w, size_t i)
{
	static const uint32_t code[] = {0x90000800, 0x91000000, 0x90000801, 0x910003fd,
					0x9103c021, 0x91004021, 0x94000000};

	fake_poke(w->target, function_at(i) + 128 - sizeof(code), code, sizeof(code));
}

static void test_python_arm64(void **state)
{
	static const uint32_t moved = 0xaa1303e1, loaded = 0xf9400001, called = 0x94000000; /* ... x1 */
	struct world w;

	(void)state;
	OPEN(&w, "fatal_error", "_Py_FatalErrorFunc", "PyThreadState_Get", "main");
	w.scene.arch = cs_arch_find(EM_AARCH64);
	put_python_texts(&w);
	put_arm64(&w, 3);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	/* Of what was in x19 before nothing is known. */
	fake_poke(w.target, function_at(3) + 120, &moved, 4);
	assert_null(found(&w, NULL));
	fake_poke(w.target, function_at(3) + 120, &loaded, 4);
	assert_null(found(&w, NULL));
	fake_poke(w.target, function_at(3) + 120, &called, 4);
	assert_null(found(&w, NULL));
	put_arm64(&w, 3);
	fake_poke(w.target, function_at(3) + 124, &loaded, 4); /* it ends with no call */
	assert_null(found(&w, NULL));
	close_world(&w);
}

/** What the function itself was handed is its caller's. */
static void test_python_arm64_handed_on(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "_Py_FatalErrorFunc", "_Py_FatalError_TstateNULL", "PyThreadState_Get");
	w.scene.arch = cs_arch_find(EM_AARCH64);
	put_python_texts(&w);
	put_arm64(&w, 2);
	fake_poke(w.target, function_at(2) + 128 - 28, "\xfd\x7b\xbf\xa9\xfd\x03\x00\x91", 8); /* stp; mov */
	put_arm64(&w, 3);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON), "Fatal Python error: ...: the lock is not held");
	w.frames[2].offset = 28;
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	close_world(&w);
}

static void test_python_saved(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "fatal_error", "_Py_FatalErrorFunc", "PyThreadState_Get");
	put_python_texts(&w);
	fake_poke64(w.target, frame_at(1) + 40, FUNC);
	assert_null(found(&w, NULL));
	fake_poke64(w.target, frame_at(1) + 48, TEXT);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: PyThreadState_Get: the lock is not held");
	/* The frame of the function itself can have anything. */
	fake_poke64(w.target, frame_at(1) + 40, 0);
	fake_poke64(w.target, frame_at(2) + 40, FUNC);
	fake_poke64(w.target, frame_at(2) + 48, TEXT);
	assert_null(found(&w, NULL));
	close_world(&w);
}

static void test_python_saved_alone(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "fatal_error", "Py_FatalError", "main");
	put_python_texts(&w);
	put(&w, HEAP, "x");
	fake_poke64(w.target, frame_at(1) + 16, HEAP); /* a number that happens to be a letter */
	fake_poke64(w.target, frame_at(1) + 40, TEXT);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON), "Fatal Python error: the lock is not held");
	fake_poke64(w.target, frame_at(1) + 64, FUNC);
	assert_null(found(&w, NULL)); /* which of the two? */
	close_world(&w);
}

static void test_python_forms(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "_Py_FatalErrorFormat", "none_dealloc");
	put(&w, FUNC, "none_dealloc");
	put(&w, TEXT, "%s: could not take %5.2f%% of %zd, %");
	call_with(&w, 2, func_and_text, 2, NULL, 0);
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: none_dealloc: ...: could not take ...% of ..., ...");
	w.frames[1].function = "_Py_FatalRefcountErrorFunc";
	put(&w, TEXT, "deallocating None");
	assert_string_equal(found(&w, CS_SOURCE_PYTHON),
			    "Fatal Python error: none_dealloc: deallocating None: bug likely caused by a "
			    "refcount error in a C extension");
	w.frames[1].function = "_Py_FatalErrorFuncs"; /* another function */
	assert_null(found(&w, NULL));
	close_world(&w);
}

static void test_python_state(void **state)
{
	struct cs_python_runtime runtimes[2] = {{.version = "3.11.2", .phase = "finalizing"}};
	struct cs_python python = {.runtimes = runtimes, .n_runtimes = 1};
	struct cs_arena *arena = cs_arena_create(1UL << 20);
	struct cs_crash crash = {.message = "m", .message_source = CS_SOURCE_PYTHON};

	(void)state;
	cs_panic_add_state(arena, &python, &crash);
	assert_string_equal(crash.message, "m\nPython runtime state: finalizing");
	crash.message = "m";
	runtimes[0].phase = "running";
	cs_panic_add_state(arena, &python, &crash);
	assert_string_equal(crash.message, "m\nPython runtime state: initialized");
	crash.message = "m";
	runtimes[0].version = "3.7.16";
	cs_panic_add_state(arena, &python, &crash);
	runtimes[0] = (struct cs_python_runtime){.version = "3.12.1", .phase = "starting"};
	cs_panic_add_state(arena, &python, &crash);
	runtimes[0].phase = "running";
	python.n_runtimes = 2;
	cs_panic_add_state(arena, &python, &crash);
	python.n_runtimes = 1;
	crash.message_source = CS_SOURCE_GLOG;
	cs_panic_add_state(arena, &python, &crash);
	assert_string_equal(crash.message, "m");
	cs_arena_destroy(arena);
}

#define LOCATION (CONSTANTS + 512)
#define VTABLE (CONSTANTS + 768)
#define HOOK (STACK + FRAME + 64) /* in the frame of the function that called abort() */

/** What the hook is handed: a payload of @size bytes at HEAP, and a place. */
static void put_panic(struct world *w, uint64_t size, size_t between)
{
	put(w, CONSTANTS, "src/main.rs");
	fake_poke64(w->target, LOCATION, CONSTANTS);
	fake_poke64(w->target, LOCATION + 8, 11);
	fake_poke64(w->target, LOCATION + 16, 3 | 5ULL << 32);
	fake_poke64(w->target, VTABLE, function_at(3));
	fake_poke64(w->target, VTABLE + 8, size);
	fake_poke64(w->target, VTABLE + 16, 8);
	fake_poke64(w->target, VTABLE + 24, function_at(4));
	put(w, HEAP + 64, "no room");
	fake_poke64(w->target, HOOK, HEAP);
	fake_poke64(w->target, HOOK + 8, VTABLE);
	fake_poke64(w->target, HOOK + 16 + 8 * between, LOCATION);
	fake_poke64(w->target, HOOK + 24 + 8 * between, 1);
}

static void put_str(struct world *w)
{
	fake_poke64(w->target, HEAP, HEAP + 64);
	fake_poke64(w->target, HEAP + 8, 7);
}

static void test_rust(void **state)
{
	struct world w;

	(void)state;
	for (size_t between = 0; between < 2; between++) {
		OPEN(&w, "std::panicking::rust_panic_with_hook", "main");
		put_panic(&w, 16, between);
		put_str(&w);
		assert_string_equal(found(&w, CS_SOURCE_RUST), "panicked at src/main.rs:3:5: no room");
		fake_poke64(w.target, VTABLE + 8, 24); /* String: capacity, pointer, length */
		fake_poke64(w.target, HEAP, 16);
		fake_poke64(w.target, HEAP + 8, HEAP + 64);
		fake_poke64(w.target, HEAP + 16, 7);
		assert_string_equal(found(&w, CS_SOURCE_RUST), "panicked at src/main.rs:3:5: no room");
		fake_poke64(w.target, HEAP, HEAP + 64); /* pointer, capacity, length */
		fake_poke64(w.target, HEAP + 8, 16);
		assert_string_equal(found(&w, CS_SOURCE_RUST), "panicked at src/main.rs:3:5: no room");
		fake_poke64(w.target, VTABLE + 8, 4); /* i32 */
		assert_string_equal(found(&w, CS_SOURCE_RUST), "panicked at src/main.rs:3:5: Box<dyn Any>");
		close_world(&w);
	}
}

/** Change one proof at a time. */
static void test_rust_proofs(void **state)
{
	static const struct {
		uint64_t at, value;
	} lies[] = {
		{LOCATION, 0},                /* no path */
		{LOCATION, CONSTANTS + 1000}, /* an empty one */
		{LOCATION + 8, 10},           /* "src/main.r" */
		{LOCATION + 8, 1ULL << 40},
		{LOCATION + 16, 5ULL << 32},  /* line 0 */
		{LOCATION + 16, 3},           /* column 0 */
		{VTABLE, HEAP},               /* no code */
		{VTABLE + 8, 1ULL << 40},
		{VTABLE + 16, 3},             /* no alignment */
		{VTABLE + 24, 0},
		{HOOK, 0x1000},               /* not mapped */
		{HOOK + 8, HEAP},             /* not in a module */
		{HOOK + 16, HEAP},
		{HOOK + 24, 2},               /* no bool */
		{HEAP, 0x1000},               /* text not mapped */
		{HEAP + 8, 1ULL << 40},       /* too long */
		{HEAP + 8, 9},                /* with NUL */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
		struct world w;

		OPEN(&w, "std::panicking::rust_panic_with_hook", "main");
		put_panic(&w, 16, 0);
		put_str(&w);
		fake_poke64(w.target, lies[i].at, lies[i].value);
		assert_null(found(&w, NULL));
		close_world(&w);
	}
}

/** Without names it has to be near abort(); with other names it is not looked for. */
static void test_rust_names(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, NULL, NULL);
	put_panic(&w, 16, 0);
	put_str(&w);
	assert_string_equal(found(&w, CS_SOURCE_RUST), "panicked at src/main.rs:3:5: no room");
	w.frames[1].function = "std::panicking::catch_unwind";
	assert_null(found(&w, NULL));
	w.frames[1].function = "sample::give_up";
	assert_null(found(&w, NULL));
	close_world(&w);
}

static const char *const heads[][2] = {
	{"F20260131 12:34:56.789012 4711 store.cc:12] Check failed: a == b (1 vs. 2)", CS_SOURCE_GLOG},
	{"F0131 12:34:56.789012    4711 store.cc:12] no", CS_SOURCE_ABSL},
	{"F0000 00:00:1796003893.860488    4711 store.cc:12] no\nsecond line", CS_SOURCE_ABSL},
};

static void test_log(void **state)
{
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		OPEN(&w, NULL, NULL, "main");
		put(&w, HEAP + 4, heads[i][0]);
		fake_poke64(w.target, frame_at(2) + 40, HEAP);
		assert_string_equal(found(&w, heads[i][1]), heads[i][0]);
		w.in.tid = 4712; /* another thread's message, and nobody is known to log here */
		assert_null(found(&w, NULL));
		w.frames[2].function = "absl::log_internal::LogMessage::Die()";
		if (strcmp(heads[i][1], CS_SOURCE_GLOG)) {
			assert_string_equal(found(&w, CS_SOURCE_ABSL), heads[i][0]);
		} else {
			w.frames[2].function = "google::LogMessage::Fail()";
			assert_string_equal(found(&w, CS_SOURCE_GLOG), heads[i][0]);
		}
		close_world(&w);
	}
}

static void test_log_heads(void **state)
{
	static const char *const wrong[] = {
		"E0131 12:34:56.789012 4711 store.cc:12] no",
		"F0131 12:34:56.78901 4711 store.cc:12] no",
		"F0131 12:34:5.789012 4711 store.cc:12] no",
		"F01310 12:34:56.789012 4711 store.cc:12] no",
		"F0131 12:34:56.789012 x store.cc:12] no",
		"F0131 12:34:56.789012 4711 store.cc:] no",
		"F0131 12:34:56.789012 4711 store.cc:12]no",
		"F0131 12:34:56.789012 4711 :12] no",
		"F0131 12:34:56.789012 4711 store.cc",
		"F", "[", "F0131", "[F", "[F ", "[store.cc : 12] ",
	};
	struct world w;

	(void)state;
	OPEN(&w, "google::LogMessage::Fail()", "main");
	fake_poke64(w.target, frame_at(1) + 40, HEAP);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		put(&w, HEAP, wrong[i]);
		assert_null(found(&w, NULL));
	}
	put(&w, HEAP, "F0131 12:34:56.789012 4711 store.cc:12] \x02");
	assert_null(found(&w, NULL));
	put(&w, HEAP, "F0131 12:34:56.789012 4711 store.cc:12] yes\n");
	assert_string_equal(found(&w, CS_SOURCE_GLOG), "F0131 12:34:56.789012 4711 store.cc:12] yes");
	close_world(&w);
}

static void test_log_on_stack(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, NULL, "main");
	put(&w, frame_at(1) + 43, "[store.cc : 12] RAW: no room");
	assert_string_equal(found(&w, CS_SOURCE_ABSL), "[store.cc : 12] RAW: no room");
	w.frames[1].function = "sample::parse"; /* a text that it reads */
	assert_null(found(&w, NULL));
	close_world(&w);
}

static void test_log_behind_pointer(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "absl::log_internal::LogMessage::Die()", "main");
	put(&w, HEAP + 1024, heads[1][0]);
	fake_poke64(w.target, HEAP + 96, HEAP + 1024);
	fake_poke64(w.target, frame_at(2) + 8, HEAP);
	assert_string_equal(found(&w, CS_SOURCE_ABSL), heads[1][0]);
	w.frames[1].function = "google::LogMessage::Fail()"; /* which has no such object */
	assert_null(found(&w, NULL));
	close_world(&w);
}

/** A stream's text has no end of its own: what it has written ends it. */
static void test_log_of_stream(void **state)
{
	static const char text[] = "[F1130 01:48:45.093720831 die.cc:3] no room|old";
	struct world w;

	(void)state;
	OPEN(&w, "c10::MessageLogger::~MessageLogger()", "main");
	put(&w, HEAP, text);
	for (size_t i = 0; i < 2; i++)
		fake_poke64(w.target, frame_at(2) + 16 + 8 * i, HEAP);
	fake_poke64(w.target, frame_at(2) + 32, HEAP + 10); /* the end of what can be read lags behind */
	fake_poke64(w.target, frame_at(2) + 40, HEAP);
	fake_poke64(w.target, frame_at(2) + 48, HEAP + strlen(text) - 4);
	fake_poke64(w.target, frame_at(2) + 56, HEAP + 512);
	assert_string_equal(found(&w, CS_SOURCE_C10), "[F1130 01:48:45.093720831 die.cc:3] no room");
	close_world(&w);
}

static void test_tensorflow(void **state)
{
	uint64_t object = STACK + 2 * FRAME + 32;
	struct world w;

	(void)state;
	OPEN(&w, "tsl::internal::LogMessageFatal::~LogMessageFatal()", "main");
	put(&w, HEAP, "Check failed: no room|old");
	put(&w, CONSTANTS, "xla/store.cc");
	fake_poke64(w.target, object + 40, HEAP);
	fake_poke64(w.target, object + 48, HEAP + 21);
	fake_poke64(w.target, object + 56, HEAP + 512);
	fake_poke64(w.target, object + 80, HEAP);
	fake_poke64(w.target, object + 112, CONSTANTS);
	fake_poke64(w.target, object + 120, 226 | 3ULL << 32);
	assert_string_equal(found(&w, CS_SOURCE_TSL), "F xla/store.cc:226] Check failed: no room");
	fake_poke64(w.target, object + 120, 226 | 2ULL << 32); /* an error is not fatal */
	assert_null(found(&w, NULL));
	fake_poke64(w.target, object + 120, 226 | 3ULL << 32);
	fake_poke64(w.target, object + 48, HEAP + (1UL << 40));
	assert_null(found(&w, NULL));
	close_world(&w);
}

/** Nothing of the stack can be trusted to be there. */
static void test_missing(void **state)
{
	struct world w;

	(void)state;
	OPEN(&w, "google::LogMessage::Fail()", "main");
	put(&w, HEAP, heads[1][0]);
	fake_poke64(w.target, frame_at(1) + 40, HEAP);
	assert_non_null(found(&w, CS_SOURCE_GLOG));
	w.raws[1].cfa = STACK - 8; /* further in than its callee */
	assert_null(found(&w, NULL));
	w.raws[1].cfa = STACK + (1UL << 40);
	assert_null(found(&w, NULL));
	w.raws[1].cfa = frame_at(2);
	w.in.sp = 0;
	assert_null(found(&w, NULL));
	w.in.sp = STACK;
	w.in.raw_first = 99;
	assert_null(found(&w, NULL));
	w.in.raw_first = 0;
	w.in.stack = NULL;
	assert_null(found(&w, NULL));
	w.in.stack = &w.raw;
	w.in.n_frames = 0; /* nobody has a name; it is this thread's all the same */
	assert_non_null(found(&w, CS_SOURCE_ABSL));
	fake_fail(w.target, STACK, MOST * FRAME);
	close_world(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python_constants),
		cmocka_unit_test(test_python_bad_constants),
		cmocka_unit_test(test_python_handed_on),
		cmocka_unit_test(test_python_arm64),
		cmocka_unit_test(test_python_arm64_handed_on),
		cmocka_unit_test(test_python_saved),
		cmocka_unit_test(test_python_saved_alone),
		cmocka_unit_test(test_python_forms),
		cmocka_unit_test(test_python_state),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_rust_proofs),
		cmocka_unit_test(test_rust_names),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_log_heads),
		cmocka_unit_test(test_log_on_stack),
		cmocka_unit_test(test_log_behind_pointer),
		cmocka_unit_test(test_log_of_stream),
		cmocka_unit_test(test_tensorflow),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
