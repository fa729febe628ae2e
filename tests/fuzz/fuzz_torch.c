/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The torch layer on the memory of a made-up process: what threads handle and have thrown, types, texts, the
 * searches, and what() by its code. tests/unit/fake_cxx.c says where the stacks and libstdc++'s globals are.
 *
 * The input is 8 bytes, then the memory:
 *
 *	0   flags: 1 aarch64, 2 std::terminate() was called, 4 the process did not crash and has a watchdog
 *	2-3 where an object is, in units of 8 bytes: it is read as all that can be asked for
 *	4-7 not used
 */
#include "base/limits.h"
#include "base/text.h"
#include "tests/unit/fake_cxx.h"

#include <elf.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER 8

enum flag { ARM64 = 1, TERMINATED = 2, WATCHDOG = 4 };

static void want(bool ok)
{
	if (!ok)
		abort();
}

/** Valid UTF-8 of bounded length; masking and context lines may add to it. */
static void check_text(const char *text, size_t max)
{
	size_t n = text ? strlen(text) : 0;

	want(n <= max);
	for (size_t i = 0, len; i < n; i += len) {
		len = cs_utf8_sequence((const unsigned char *)text + i, n - i);
		want(len > 0);
	}
}

static void check_exception(const struct cs_exception *e)
{
	size_t depth = 0;

	for (; e; e = e->context, depth++) {
		want(depth <= CS_MAX_CXX_CHAIN);
		want(e->language != NULL);
		check_text(e->type, CS_MAX_DEMANGLED);
		check_text(e->message, 4 * CS_MAX_CXX_MESSAGE);
		check_text(e->backtrace, 4 * CS_MAX_CXX_MESSAGE);
		check_text(e->code, 256);
		want(!e->cause || !strcmp(e->cause->language, "python"));
	}
}

static void ask(struct fake_cxx *f, uint64_t object)
{
	struct cs_cxx *cx = &f->cx;
	struct cs_cxx_part parts[8];
	struct cs_cxx_header header;
	struct cs_exception e = {.language = "c++"};
	uint64_t text;
	int32_t code;

	check_text(cs_cxx_string(cx, object, 64), 3 * 64 + 8);
	check_text(cs_cxx_chars(cx, object, 64), 3 * 64 + 8);
	check_text(cs_cxx_dynamic_type(cx, object), CS_MAX_MANGLED);
	want(cs_cxx_parts(cx, object, object, parts, CS_COUNT(parts)) <= CS_COUNT(parts));
	if (cs_cxx_returned(cx, object, 2, &text))
		check_text(cs_cxx_chars(cx, text, 64), 3 * 64 + 8);
	if (cs_cxx_c10_read(cx, object, &e) && cs_cxx_c10_code(cx, object, &code))
		e.code = "1";
	check_exception(&e);
	e = (struct cs_exception){.language = "c++"};
	want(cs_ok(cs_cxx_pybind_read(cx, object, &e)) && cs_ok(cs_cxx_python_error_read(cx, object, &e)));
	check_exception(&e);
	if (cs_cxx_header_read(cx, object, &header))
		want(header.object != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cs_frame frames[] = {{.function = "abort"}, {.function = "std::terminate()"}};
	static const struct cs_stack_group group = {.frames = frames, .n_frames = 2};
	struct cs_thread thread = {.tid = 41, .group = &group};
	struct cs_analysis a = {.threads = &thread, .n_threads = 1};
	struct fake_cxx *f;

	if (size <= HEADER || size - HEADER > FAKE_CXX_SIZE)
		return 0;
	f = fake_cxx_create(data[0] & ARM64 ? EM_AARCH64 : EM_X86_64, data + HEADER, size - HEADER);
	if (data[0] & TERMINATED) {
		thread.crashed = true;
		a.crash = (struct cs_crash){.tid = 41, .fault = CS_FAULT_ABORT};
	} else if (data[0] & WATCHDOG) {
		thread.role = "nccl-watchdog";
	}
	fake_cxx_read(f, &a);
	want(a.n_exceptions <= CS_MAX_CXX_EXCEPTIONS);
	for (size_t i = 0; i < a.n_exceptions; i++)
		check_exception(&a.exceptions[i]);
	ask(f, FAKE_CXX_BASE + 8 * (data[2] | (uint64_t)data[3] << 8));
	fake_cxx_destroy(f);
	return 0;
}
