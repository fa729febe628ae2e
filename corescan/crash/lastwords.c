/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * abort(): who called it, and what the process said before. Knows the functions on the
 * way to abort() in the C and C++ libraries, CPython and others; refuses to know what an
 * exception or an assertion means.
 */
#include "crash/internal.h"
#include "crash/panic.h"

#include "base/limits.h"
#include "base/text.h"

#include <string.h>

/** A function on the way to abort(), clones of it (".constprop.0") included. @by: how the
 * abort is described if this is the outermost of them. */
struct way {
	const char *pattern; /* start of the function's name; a '$' at its end: the whole
				name */
	const char *by;      /* NULL: says nothing by itself */
};

static const struct way ways[] = {
	/* the C library (glibc: nptl/pthread_kill.c, stdlib/abort.c,
	   sysdeps/posix/libc_fatal.c) */
	{"__pthread_kill_implementation$", NULL},
	{"__pthread_kill_internal$", NULL},
	{"__pthread_kill$", NULL},
	{"pthread_kill$", NULL},
	{"__GI_raise$", NULL},
	{"__GI___pthread_kill$", NULL},
	{"raise$", NULL},
	{"gsignal$", NULL},
	{"__libc_signal_", NULL},
	{"tgkill$", NULL},
	{"__GI_abort$", NULL},
	{"abort$", NULL},
	{"__libc_message", "the C library"},
	{"__libc_fatal$", "the C library"},
	{"__libc_assert_fail$", "a failed assertion"},
	{"__assert_fail_base$", "a failed assertion"},
	{"__assert_fail$", "a failed assertion"},
	{"__GI___assert_fail$", "a failed assertion"},
	{"__assert_perror_fail$", "a failed assertion"},
	{"__assert$", "a failed assertion"},
	{"malloc_printerr$", "malloc: the heap is damaged"},
	{"malloc_consolidate$", "malloc: the heap is damaged"},
	{"_int_free", "malloc: the heap is damaged"},
	{"_int_malloc$", "malloc: the heap is damaged"},
	{"_int_realloc$", "malloc: the heap is damaged"},
	{"munmap_chunk$", "malloc: the heap is damaged"},
	{"unlink_chunk$", "malloc: the heap is damaged"},
	{"tcache_double_free_verify$", "malloc: the heap is damaged"},
	{"__fortify_fail", "_FORTIFY_SOURCE: a buffer overflow"},
	{"__GI___fortify_fail", "_FORTIFY_SOURCE: a buffer overflow"},
	{"__chk_fail$", "_FORTIFY_SOURCE: a buffer overflow"},
	{"__GI___chk_fail$", "_FORTIFY_SOURCE: a buffer overflow"},
	{"__stack_chk_fail", "the stack protector: a stack buffer overflow"},
	{"__GI___stack_chk_fail$", "the stack protector: a stack buffer overflow"},
	/* what those are called from */
	{"free$", NULL},
	{"cfree$", NULL},
	{"__libc_free$", NULL},
	{"__GI___libc_free$", NULL},
	{"malloc$", NULL},
	{"__libc_malloc$", NULL},
	{"realloc$", NULL},
	{"calloc$", NULL},
	{"kill$", NULL},
	{"__kill$", NULL},
	{"memcpy$", NULL},
	{"memmove$", NULL},
	{"memset$", NULL},
	{"strcpy$", NULL},
	{"strncpy$", NULL},
	{"strcat$", NULL},
	{"sprintf$", NULL},
	{"snprintf$", NULL},
	{"vsnprintf$", NULL},
	{"read$", NULL},
	/* C++ */
	{"__gnu_cxx::__verbose_terminate_handler", "std::terminate"},
	{"__cxxabiv1::__terminate", "std::terminate"},
	{"std::terminate", "std::terminate"},
	{"std::__terminate", "std::terminate"},
	{"__clang_call_terminate", "std::terminate"},
	{"__cxa_call_terminate", "std::terminate"},
	{"__gxx_personality_v0", "std::terminate"},
	{"_Unwind_RaiseException", "std::terminate"},
	{"_Unwind_Resume", "std::terminate"},
	{"__cxa_throw$", "std::terminate: an exception that nothing catches"},
	{"__cxa_rethrow$", "std::terminate: an exception that nothing catches"},
	{"std::rethrow_exception", "std::terminate: an exception that nothing catches"},
	{"std::unexpected", "std::terminate"},
	{"__cxa_pure_virtual$", "a call of a pure virtual function"},
	{"__cxa_deleted_virtual$", "a call of a deleted virtual function"},
	{"std::__glibcxx_assert_fail", "a failed assertion of libstdc++"},
	{"std::__replacement_assert", "a failed assertion of libstdc++"},
	/* CPython: Python/pylifecycle.c */
	{"fatal_error", "Py_FatalError"},
	{"Py_FatalError$", "Py_FatalError"},
	{"_Py_FatalError", "Py_FatalError"},
	{"_Py_FatalRefcountError", "Py_FatalError"},
	{"_PyObject_AssertFailed", "Py_FatalError"},
	{"_Py_EnsureFuncTstateNotNULL$", "Py_FatalError"},
	{"_Py_EnsureTstateNotNULL$", "Py_FatalError"},
	{"ensure_tstate_not_null$", "Py_FatalError"},
	{"Py_ExitStatusException$", "Py_FatalError"},
	{"faulthandler_fatal_error", "the faulthandler module"},
	{"faulthandler_sigabrt", "the faulthandler module"},
	{"os_abort", "os.abort()"},
	/* libraries that check their own state */
	{"google::LogMessageFatal", "a failed CHECK or LOG(FATAL) of glog"},
	{"google::LogMessage", "a failed CHECK or LOG(FATAL) of glog"},
	{"google::DumpStackTraceAndExit", "a failed CHECK or LOG(FATAL) of glog"},
	{"google::logging_fail", "a failed CHECK or LOG(FATAL) of glog"},
	{"google::CheckNotNull", "a failed CHECK or LOG(FATAL) of glog"},
	{"google::RawLog", "a failed CHECK or LOG(FATAL) of glog"},
	{"c10::MessageLogger", "a failed CHECK or LOG(FATAL) of c10"},
	{"absl::", "a failed CHECK or LOG(FATAL) of Abseil"},
	{"tsl::internal::LogMessage", "a failed CHECK or LOG(FATAL) of TensorFlow or XLA"},
	{"tensorflow::internal::LogMessage", "a failed CHECK or LOG(FATAL) of TensorFlow or XLA"},
	{"gpr_assertion_failed", "a failed assertion of gRPC"},
	{"__kmp_abort", "the OpenMP runtime"},
	{"__kmp_fatal", "the OpenMP runtime"},
	{"gomp_fatal", "the OpenMP runtime"},
	{"gomp_vfatal", "the OpenMP runtime"},
	{"ucs_fatal_error", "UCX"},
	{"ucs_handle_error", "UCX"},
	{"ucs_error_freeze", "UCX"},
	{"MPI_Abort", "MPI_Abort()"},
	{"PMPI_Abort", "MPI_Abort()"},
	{"ompi_mpi_abort", "MPI_Abort()"},
	{"ompi_rte_abort", "MPI_Abort()"},
	{"std::process::abort", "Rust"},
	{"std::sys::", "Rust"},
	{"std::rt::__rust_abort", "Rust"},
	{"__rustc::__rust_abort", "Rust"},
	{"panic_abort::", "a Rust panic"},
	{"rust_panic", "a Rust panic"},
	{"rust_begin_unwind", "a Rust panic"},
	{"__rust_start_panic", "a Rust panic"},
	{"__rustc::", "a Rust panic"},
	{"std::panicking::", "a Rust panic"},
	{"core::panicking::", "a Rust panic"},
	{"std::panic::panic_any", "a Rust panic"},
	/* what those are called from */
	{"std::sys_common::backtrace::__rust_end_short_backtrace", "a Rust panic"},
	{"core::option::Option<T>::unwrap", "a Rust panic"},
	{"core::option::Option<T>::expect", "a Rust panic"},
	{"core::result::Result<T,E>::unwrap", "a Rust panic"},
	{"core::result::Result<T,E>::expect", "a Rust panic"},
	{"core::option::unwrap_failed", "a Rust panic"},
	{"core::option::expect_failed", "a Rust panic"},
	{"core::result::unwrap_failed", "a Rust panic"},
	{"core::cell::panic_already", "a Rust panic"},
	{"core::cell::RefCell<T>::borrow", "a Rust panic"},
	{"core::slice::index::slice_", "a Rust panic"},
	{"core::str::slice_error_fail", "a Rust panic"},
	{"je_", "jemalloc"},
	{"__sanitizer::", "a sanitizer"},
	{"__asan::", "AddressSanitizer"},
	{"__ubsan::", "UndefinedBehaviorSanitizer"},
	{"g_assertion_message", "a failed assertion of GLib"},
	{"g_log", "a fatal message of GLib"},
};

#define MAX_HELPERS 3 /* nameless frames in a row that a reporter calls */

/** Where frames lack names, the C library's own words tell who they were. */
static const struct way texts[] = {
	{"*** stack smashing detected", "the stack protector: a stack buffer overflow"},
	{"*** buffer overflow detected", "_FORTIFY_SOURCE: a buffer overflow"},
	{"*** ", "_FORTIFY_SOURCE"},
	{"free(): ", "malloc: the heap is damaged"},
	{"double free", "malloc: the heap is damaged"},
	{"malloc", "malloc: the heap is damaged"},
	{"realloc(): ", "malloc: the heap is damaged"},
	{"munmap_chunk(): ", "malloc: the heap is damaged"},
	{"corrupted ", "malloc: the heap is damaged"},
	{"corrupted", "malloc: the heap is damaged"},
	{"mremap_chunk(): ", "malloc: the heap is damaged"},
	{"chunk_", "malloc: the heap is damaged"},
	{"unaligned ", "malloc: the heap is damaged"},
	{"invalid ", "malloc: the heap is damaged"},
	{"break adjusted to free malloc space", "malloc: the heap is damaged"},
};

static bool matches(const char *pattern, const char *function)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '$')
		return !strncmp(pattern, function, n - 1) &&
		       (!function[n - 1] || strchr("(@. ", function[n - 1]));
	return !strncmp(pattern, function, n);
}

static const struct way *way_of(const struct cs_frame *frame)
{
	if (!frame->function || frame->nearest)
		return NULL;
	/* The whole name of an instance of a template begins with its return type. */
	for (size_t i = 0; i < CS_COUNT(ways); i++)
		if (matches(ways[i].pattern, frame->function) ||
		    (frame->short_name && matches(ways[i].pattern, frame->short_name)))
			return &ways[i];
	return NULL;
}

bool cs_function_raises(const char *function)
{
	static const char *const names[] = {"raise$",           "gsignal$",
					    "abort$",           "kill$",
					    "tgkill$",          "__kill$",
					    "pthread_kill",     "__pthread_kill",
					    "__GI_raise$",      "__GI___pthread_kill",
					    "__GI_kill$",       "__GI_abort$",
					    "sigqueue$",        "__sigqueue$",
					    "pthread_sigqueue$"};

	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (matches(names[i], function))
			return true;
	return false;
}

/** "__memcpy_chk" and the like: glibc's checked forms of what was called. */
static bool is_checked_form(const char *function)
{
	size_t n = strlen(function);

	return n > 6 && !strncmp(function, "__", 2) && !strcmp(function + n - 4, "_chk");
}

/**
 * True if @frame lies in a library that abort() goes through, and has no name of its own
 * or that of a checked function.
 */
static bool is_nameless_way(const struct cs_frame *frame)
{
	static const char *const libraries[] = {"libc.so",       "libc-2.",
						"libpthread.so", "libstdc++.so",
						"libgcc_s.so",   "libc++abi.so"};

	if (!frame->module || !frame->module->name ||
	    (frame->function && !frame->nearest && !is_checked_form(frame->function)))
		return false;
	for (size_t i = 0; i < CS_COUNT(libraries); i++)
		if (!strncmp(frame->module->name, libraries[i], strlen(libraries[i])))
			return true;
	return false;
}

/**
 * True if frame @i, which has no name, belongs to a way: a little further out, in the same module,
 * is a function that does. Reporters call helpers that a stripped library has no names for.
 */
static bool is_helper(const struct cs_incident *in, size_t i)
{
	const struct cs_frame *f = &in->frames[i];

	if (!f->module || f->kind != CS_FRAME_NATIVE || (f->function && !f->nearest))
		return false;
	for (size_t j = i + 1; j < in->n_frames && j <= i + MAX_HELPERS; j++) {
		const struct cs_frame *outer = &in->frames[j];
		const struct way *way = way_of(outer);

		if (outer->module != f->module)
			return false;
		if (way)
			return way->by != NULL;
		if (outer->function && !outer->nearest)
			return false;
	}
	return false;
}

/** Walk out from raise(); the description of the outermost function on the way, and the
 * frames passed. */
static const char *walk(const struct cs_incident *in, size_t *ret_passed)
{
	const char *by = NULL;
	size_t passed = 0;

	for (size_t i = 0; i < in->n_frames && i < CS_MAX_ABORT_FRAMES; i++) {
		const struct way *way = way_of(&in->frames[i]);

		if (way) {
			by = way->by ? way->by : by;
			passed = i + 1;
		} else if (is_helper(in, i)) {
			continue;
		} else if (!is_nameless_way(&in->frames[i])) {
			break;
		} else if (in->frames[i].function && !in->frames[i].nearest) {
			passed = i + 1; /* a checked form */
		}
	}
	*ret_passed = passed;
	return by;
}

size_t cs_abort_frames(const struct cs_incident *in)
{
	size_t passed;

	(void)walk(in, &passed);
	return passed;
}

const char *cs_abort_message(const struct cs_scene *scene)
{
	/* struct abort_msg_s { unsigned int size; char msg[]; }; glibc: include/stdlib.h
	 */
	static const char *const libraries[] = {"libc.so.6", "libc-2."};
	struct cs_mod *libc = NULL;
	uint64_t variable, at;
	char *raw, *text;
	size_t len;

	for (size_t i = 0; !libc && i < CS_COUNT(libraries); i++)
		libc = cs_modules_named(scene->modules, libraries[i]);
	if (!libc)
		libc = cs_modules_executable(scene->modules); /* linked statically */
	if (!libc || !cs_mod_symbol(libc, "__abort_msg", &variable, NULL) ||
	    !cs_mem_u64(scene->mem, variable, &at) || !at ||
	    at > UINT64_MAX - CS_MAX_STRING ||
	    !cs_ok(cs_mem_string(scene->mem, at + 4, CS_MAX_STRING, &raw)))
		return NULL;
	len = strlen(raw);
	while (len && raw[len - 1] == '\n')
		len--;
	text = len ? cs_text_utf8(scene->arena, raw, len) : NULL;
	free(raw);
	return text;
}

static const char *by_text(const char *message)
{
	for (size_t i = 0; message && i < CS_COUNT(texts); i++)
		if (matches(texts[i].pattern, message))
			return texts[i].by;
	return message && strstr(message, "Assertion `") ? "a failed assertion" : NULL;
}

/** Where nobody on the stack has a name, where the text was found tells who aborted. */
static const char *by_source(const char *source)
{
	static const struct {
		const char *source, *by;
	} list[] = {
		{CS_SOURCE_RUST, "a Rust panic"},
		{CS_SOURCE_GLOG, "a failed CHECK or LOG(FATAL) of glog"},
		{CS_SOURCE_ABSL, "a failed CHECK or LOG(FATAL) of Abseil"},
	};

	for (size_t i = 0; i < CS_COUNT(list); i++)
		if (!strcmp(list[i].source, source))
			return list[i].by;
	return NULL;
}

void cs_abort_explain(const struct cs_incident *in, struct cs_crash *ret)
{
	size_t passed = 0;
	const char *by = walk(in, &passed), *place;
	const char *said = cs_abort_message(in->scene), *told = by_text(said);

	ret->fault = CS_FAULT_ABORT;
	if (said) {
		ret->message = said;
		ret->message_source = "__abort_msg";
	} else if ((!by || strncmp(by, "std::terminate", 14)) && cs_panic_find(in, ret)) {
		by = by ? by : by_source(ret->message_source);
	}
	/* "the C library" is the least that its own text can better */
	if (told && (!by || !strcmp(by, "the C library")))
		by = told;
	ret->culprit = cs_incident_frame(in, passed);
	place = cs_incident_place(in, passed);
	ret->summary =
		by ? cs_arena_printf(in->scene->arena, "abort() by %s%s", by, place)
		   : cs_arena_printf(in->scene->arena, "abort()%s", place);
}
