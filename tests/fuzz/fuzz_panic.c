/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Last words of an abort() whose memory is the input: a byte that says who is on the stack (and, by its
 * highest bit, on which machine), then the functions'
 * code, constants, the heap, and the stack. What comes out has to be a text that a report may show.
 */
#include "arch/arch.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/text.h"
#include "crash/internal.h"
#include "crash/panic.h"
#include "tests/unit/fake_modules.h"
#include "tests/unit/fake_target.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* tests/fuzz/panic_seeds.py has the same numbers. */
#define CODE 0x400000UL
#define CONSTANTS 0x500000UL
#define HEAP 0x10000000000UL
#define STACK 0x7ffe00000000UL
#define AREA 1024UL /* bytes of each */
#define FRAMES 4UL  /* equal parts of the stack */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Stands in for lastwords.c. */
bool cs_function_raises(const char *function)
{
	return !strcmp(function, "abort");
}

static void want(bool ok)
{
	if (!ok)
		abort();
}

static const char *const names[][FRAMES] = {
	{"abort", "fatal_error", "_Py_FatalErrorFunc", "PyThreadState_Get"},
	{"abort", "fatal_error", "Py_FatalError", "main"},
	{"abort", "_Py_FatalErrorFormat", "_Py_FatalRefcountErrorFunc", "none_dealloc"},
	{"abort", "_Py_FatalErrorFormat", "sample", "main"},
	{"abort", "std::panicking::rust_panic_with_hook", "core::panicking::panic_fmt", "main"},
	{"abort", "google::LogMessage::Fail()", "google::LogMessageFatal::~LogMessageFatal()", "main"},
	{"abort", "absl::log_internal::LogMessage::Die()", "sample", "main"},
	{"abort", "c10::MessageLogger::~MessageLogger()", "sample", "main"},
	{"abort", "tsl::internal::LogMessageFatal::~LogMessageFatal()", "sample", "main"},
	{"abort", NULL, NULL, NULL},
};

/** The next AREA bytes of the input, or what is left of it. */
static void map(struct fake_target *f, uint64_t at, unsigned prot, const uint8_t **data, size_t *size)
{
	uint8_t bytes[AREA] = {0};
	size_t n = CS_MIN(*size, AREA);

	if (n)
		memcpy(bytes, *data, n);
	fake_map(f, at, bytes, AREA, prot);
	*data += n;
	*size -= n;
}

static void find(struct cs_scene *scene, const char *const *functions)
{
	struct cs_module libc = {.name = "libc.so.6"}, module = {.name = "program"};
	struct cs_frame frames[FRAMES];
	struct cs_raw_frame raws[FRAMES];
	struct cs_raw_stack raw = {.frames = raws, .n = FRAMES};
	struct cs_incident in = {.scene = scene, .frames = frames, .n_frames = FRAMES, .stack = &raw,
				 .tid = 4711, .sp = STACK};
	struct cs_crash crash = {0};

	for (size_t i = 0; i < FRAMES; i++) {
		uint64_t pc = CODE + (i + 1) * AREA / FRAMES;

		frames[i] = (struct cs_frame){.kind = CS_FRAME_NATIVE, .address = pc,
					      .function = functions[i], .offset = 64,
					      .module = i ? &module : &libc};
		raws[i] = (struct cs_raw_frame){.pc = pc, .cfa = STACK + (i + 1) * AREA / FRAMES};
	}
	if (!cs_panic_find(&in, &crash)) {
		want(!crash.message && !crash.message_source);
		return;
	}
	want(crash.message && crash.message_source);
	want(strlen(crash.message) <= 2 * CS_MAX_PANIC_TEXT + CS_MAX_PATH + 256);
	for (const char *s = crash.message; *s;) {
		size_t n = cs_utf8_sequence((const unsigned char *)s, strlen(s));

		want(n && (cs_text_is_safe((const unsigned char *)s, n) || strchr("\n\r\t", *s)));
		s += n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake_target *f;
	struct cs_scene scene = {0};
	const char *const *functions;
	uint16_t machine;

	if (!size)
		return 0;
	machine = data[0] & 0x80 ? EM_AARCH64 : EM_X86_64;
	functions = names[(data[0] & 0x7f) % CS_COUNT(names)];
	scene.arch = cs_arch_find(machine);
	data++;
	size--;
	f = fake_create(machine);
	map(f, CODE, CS_PROT_READ | CS_PROT_EXEC, &data, &size);
	map(f, CONSTANTS, CS_PROT_READ, &data, &size);
	map(f, HEAP, CS_PROT_READ | CS_PROT_WRITE, &data, &size);
	map(f, STACK, CS_PROT_READ | CS_PROT_WRITE, &data, &size);
	want(cs_ok(cs_mem_create(fake_cs(f), &scene.mem)));
	scene.arena = cs_arena_create(1UL << 20);
	scene.modules = fake_modules_create();
	want(scene.arena != NULL);
	fake_module(scene.modules, CODE, CONSTANTS + AREA, 0, NULL, 0);
	find(&scene, functions);
	cs_modules_destroy(scene.modules);
	cs_arena_destroy(scene.arena);
	cs_mem_destroy(scene.mem);
	fake_destroy(f);
	return 0;
}
