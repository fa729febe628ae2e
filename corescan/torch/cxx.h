/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * C++ exceptions in target memory: headers, types, strings, texts.
 *
 * As in the python layer, every function takes any address and answers "not that" for what is not readable
 * or not plausible. A text is given whole and checked, or not at all: there are no guesses among them.
 */
#ifndef CS_TORCH_CXX_H
#define CS_TORCH_CXX_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "crash/crash.h"
#include "python/python.h"

/** A type as its type_info has it. */
struct cs_cxx_type {
	uint64_t address; /* of the type_info */
	const char *raw;  /* mangled, without "_Z": "St13runtime_error" */
	const char *name; /* demangled */
};

/** All of one process while it is read. */
struct cs_cxx {
	const struct cs_scene *scene; /* not owned; memory, modules, arena and diagnostics */
	struct cs_mem *mem;           /* of the scene */
	struct cs_arena *arena;       /* of the scene */
	const struct cs_pythons *pythons; /* NULL: none */
	CS_VEC(struct cs_cxx_type) types; /* seen so far; owned */
	size_t depth; /* exceptions nested in the one that is read */
};

void cs_cxx_deinit(struct cs_cxx *cx);

/* ---- headers (header.c) ---- */

#define CS_CXX_HEADER 112     /* sizeof(__cxa_exception): from the header to the thrown object */
#define CS_CXX_UNWIND 80      /* from the header to its _Unwind_Exception */
#define CS_CXX_COUNT 16       /* from the reference count to the header */
#define CS_CXX_CLASS 0x474e5543432b2b00ULL /* "GNUCC++\0"; a dependent one ends in \1 */

/** __cxa_exception, or the primary one that a dependent one stands for. */
struct cs_cxx_header {
	uint64_t address;  /* of the header itself */
	uint64_t object;   /* what was thrown */
	uint64_t type;     /* address of its type_info */
	uint64_t next;     /* caught before this one on its thread; 0: none */
	int32_t handlers;  /* how many handle it now; negative: it was thrown again */
	bool dependent;    /* made by std::rethrow_exception() */
	bool has_handler;  /* the unwinder found a function that handles it; not so for std::terminate() */
};

/**
 * Read the header at @address. False: there is none that is alive. Memory that was freed has a count of 0,
 * or the allocator's own words where a live header has zeroes.
 */
CS_MUST_CHECK bool cs_cxx_header_read(struct cs_cxx *cx, uint64_t address, struct cs_cxx_header *ret);

/* ---- types (rtti.c) ---- */

/** Name of the type whose type_info lies at @address. False: there is none, or it cannot be read. */
CS_MUST_CHECK bool cs_cxx_type_read(struct cs_cxx *cx, uint64_t address, struct cs_cxx_type *ret);

/** An object's part: the object itself, or a base within it. */
struct cs_cxx_part {
	const char *raw; /* its type, mangled */
	uint64_t at;     /* address of the part */
};

/** @object of @type and all bases whose place is known, the most derived first; returns how many of @max. */
size_t cs_cxx_parts(struct cs_cxx *cx, uint64_t type, uint64_t object, struct cs_cxx_part *ret,
		    size_t max);

/** Mangled name of the dynamic type of the polymorphic object at @object; NULL: not known. */
const char *cs_cxx_dynamic_type(struct cs_cxx *cx, uint64_t object);

/* ---- texts (strings.c): in the arena, valid UTF-8, cut and marked at @max bytes; NULL: it is none ---- */

/** A std::string of either ABI. */
const char *cs_cxx_string(struct cs_cxx *cx, uint64_t at, size_t max);
/** The same where the ABI is known: @old has copy on write. */
const char *cs_cxx_string_of(struct cs_cxx *cx, uint64_t at, bool old, size_t max);
/** A NUL-terminated string. */
const char *cs_cxx_chars(struct cs_cxx *cx, uint64_t at, size_t max);

/* ---- functions that only return a text (what_code.c) ---- */

/**
 * What virtual function number @slot of the object at @object returns, a const char *, if its code does no
 * more than to load it: a member, or a constant. False: it does more, or its code is not to be had.
 */
CS_MUST_CHECK bool cs_cxx_returned(struct cs_cxx *cx, uint64_t object, unsigned slot, uint64_t *ret);

/* ---- what an exception says (what.c, c10_error.c, python_error.c) ---- */

/** Fill in type, message, code, backtrace, cause and context of the exception that @header is of. */
CS_MUST_CHECK struct cs_error *cs_cxx_describe(struct cs_cxx *cx, const struct cs_cxx_header *header,
					       struct cs_exception *ret);

/** c10::Error and what inherits from it; the object's part is at @at. False: not plausible. */
CS_MUST_CHECK bool cs_cxx_c10_read(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret);
/** The error code of a c10::AcceleratorError at @at; false: not known. */
CS_MUST_CHECK bool cs_cxx_c10_code(struct cs_cxx *cx, uint64_t at, int32_t *ret);

/** pybind11::error_already_set at @at: the Python exception becomes the cause. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_cxx_pybind_read(struct cs_cxx *cx, uint64_t at,
						  struct cs_exception *ret);
/** torch's own python_error at @at, in the same way. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_cxx_python_error_read(struct cs_cxx *cx, uint64_t at,
							struct cs_exception *ret);

/* ---- where exceptions are (globals.c, search.c) ---- */

/** What libstdc++ knows of one thread. */
struct cs_cxx_globals {
	uint64_t caught;   /* header of the innermost exception that is handled; 0: none */
	uint32_t uncaught; /* exceptions that were thrown and not caught yet */
	bool unsure;       /* nothing is caught, and where among others the count lies is not known */
};

struct cs_cxx_runtimes;

/** Find the C++ runtimes that keep their exceptions in thread-local memory. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_cxx_runtimes_find(struct cs_cxx *cx, struct cs_cxx_runtimes **ret);
void cs_cxx_runtimes_destroy(struct cs_cxx_runtimes *runtimes);
/** Number of C++ runtimes; each has globals of its own in each thread. */
size_t cs_cxx_runtimes_count(const struct cs_cxx_runtimes *runtimes);
/** What runtime number @i knows of the thread with thread pointer @pointer. */
struct cs_cxx_globals cs_cxx_globals_read(struct cs_cxx *cx, const struct cs_cxx_runtimes *runtimes,
					  size_t i, uint64_t pointer);

/** Called for each header found, with the word that led to it (0: none did); false ends the search. */
typedef bool cs_cxx_found_fn(void *arg, const struct cs_cxx_header *header, uint64_t word);

/**
 * Headers to which words of the stack between @sp and its end point (CS_MAX_CXX_STACK bytes at most);
 * @pointer is the thread's. One header may come more than once.
 */
void cs_cxx_search_stack(struct cs_cxx *cx, uint64_t sp, uint64_t pointer, cs_cxx_found_fn *fn,
			 void *arg);
/** Live primary headers in all writable memory. False: a limit of bytes or of time ended it. */
bool cs_cxx_search_memory(struct cs_cxx *cx, cs_cxx_found_fn *fn, void *arg);

CS_DEFINE_CLEANUP(struct cs_cxx_runtimes *, cs_cxx_runtimes_destroy)

#endif
