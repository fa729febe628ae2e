/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * C++ exceptions that carry a Python one through native code. Knows where pybind11 and torch keep the
 * references (pybind11: include/pybind11/pytypes.h; pytorch: torch/csrc/Exceptions.h); what they lead to is
 * read by the python layer.
 */
#include "torch/cxx.h"

#include "base/limits.h"

#include <string.h>

/** Type, value and traceback as three references from @at on; the Python exception becomes the cause. */
static struct cs_error *read_references(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret)
{
	uint64_t words[3];

	if (!cx->pythons || cs_mem_read_some(cx->mem, at, words, sizeof(words)) != sizeof(words))
		return NULL;
	CS_TRY(cs_pythons_exception(cx->pythons, le64toh(words[0]), le64toh(words[1]), le64toh(words[2]),
				    &ret->cause));
	if (!ret->cause || !ret->cause->type)
		return NULL;
	if (ret->cause->message)
		ret->message = cs_arena_printf(cx->arena, "%s: %s", ret->cause->type,
					       ret->cause->message);
	else
		ret->message = ret->cause->type;
	return ret->message ? NULL : &cs_nomem;
}

/**
 * Since 2.10 a shared_ptr to error_fetch_and_normalize {type, value, traceback, text, ...}; before, the
 * exception is a std::runtime_error with the three references behind it.
 */
struct cs_error *cs_cxx_pybind_read(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret)
{
	uint64_t fetched;
	const char *text;

	if (at > UINT64_MAX - 4096)
		return NULL;
	if (cs_mem_u64(cx->mem, at + 8, &fetched) && fetched && fetched < UINT64_MAX - 4096) {
		CS_TRY(read_references(cx, fetched, ret));
		if (ret->cause)
			return NULL;
		/* The type's name until what() is asked for, the message later. */
		text = cs_cxx_string(cx, fetched + 24, CS_MAX_CXX_MESSAGE);
		if (text && *text) {
			ret->message = text;
			return NULL;
		}
	}
	return read_references(cx, at + 16, ret);
}

/** {virtual table, type, value, traceback, message} */
struct cs_error *cs_cxx_python_error_read(struct cs_cxx *cx, uint64_t at, struct cs_exception *ret)
{
	const char *text;

	if (at > UINT64_MAX - 4096)
		return NULL;
	CS_TRY(read_references(cx, at + 8, ret));
	if (ret->cause)
		return NULL;
	text = cs_cxx_string(cx, at + 32, CS_MAX_CXX_MESSAGE);
	if (text && *text)
		ret->message = text;
	return NULL;
}
