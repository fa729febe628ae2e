/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The header in front of a thrown object. Knows libstdc++'s __cxa_refcounted_exception and
 * __cxa_dependent_exception, which are the same on all 64-bit machines (gcc: libstdc++-v3/libsupc++/
 * unwind-cxx.h, eh_alloc.cc); refuses to know what was thrown.
 */
#include "torch/cxx.h"

#include "base/buf.h"
#include "base/limits.h"

#include <string.h>

#define BEFORE_OBJECT (CS_CXX_HEADER + CS_CXX_COUNT)
#define MAX_COUNT (1U << 20) /* references to one exception; each future that failed with it has one */
#define LOWEST 4096U         /* nothing is mapped in the first page */

struct fields {
	uint64_t first; /* exceptionType; of a dependent one: the primary object */
	uint64_t next, class, landing;
	int32_t handlers;
};

static bool plausible(uint64_t pointer)
{
	return pointer >= LOWEST && pointer <= UINT64_MAX - 4096 && !(pointer & 7);
}

static bool fields_read(struct cs_cxx *cx, uint64_t address, struct fields *ret)
{
	uint8_t raw[CS_CXX_HEADER];
	struct cs_buf b;
	uint32_t handlers = 0;

	if (!plausible(address) || (address & 15) ||
	    cs_mem_read_some(cx->mem, address, raw, sizeof(raw)) != sizeof(raw))
		return false;
	b = cs_buf_of(raw, sizeof(raw));
	cs_buf_u64(&b, "exceptionType", &ret->first);
	cs_buf_seek(&b, 32, "nextException");
	cs_buf_u64(&b, "nextException", &ret->next);
	cs_buf_u32(&b, "handlerCount", &handlers);
	cs_buf_seek(&b, 64, "catchTemp"); /* where the handler's code is */
	cs_buf_u64(&b, "catchTemp", &ret->landing);
	cs_buf_seek(&b, CS_CXX_UNWIND, "exception_class");
	ret->handlers = (int32_t)handlers;
	return cs_buf_u64(&b, "exception_class", &ret->class);
}

/** The count in front of a primary header; the words behind it are zero as long as it is alive. */
static bool alive(struct cs_cxx *cx, uint64_t address)
{
	uint64_t words[2];

	if (cs_mem_read_some(cx->mem, address - CS_CXX_COUNT, words, sizeof(words)) != sizeof(words))
		return false;
	words[0] = le64toh(words[0]);
	return words[0] && words[0] <= MAX_COUNT && !words[1];
}

bool cs_cxx_header_read(struct cs_cxx *cx, uint64_t address, struct cs_cxx_header *ret)
{
	struct fields f = {0};
	struct cs_cxx_header h = {.address = address};

	if (!fields_read(cx, address, &f) || (f.class & ~1ULL) != CS_CXX_CLASS)
		return false;
	h.next = plausible(f.next) ? f.next : 0;
	h.handlers = f.handlers;
	h.has_handler = f.landing != 0;
	h.dependent = f.class & 1;
	h.object = address + CS_CXX_HEADER;
	if (h.dependent) {
		h.object = f.first;
		if (!plausible(h.object) || h.object < BEFORE_OBJECT + LOWEST ||
		    !fields_read(cx, h.object - CS_CXX_HEADER, &f) || f.class != CS_CXX_CLASS)
			return false;
	}
	if (!alive(cx, h.object - CS_CXX_HEADER) || !plausible(f.first))
		return false;
	h.type = f.first;
	*ret = h;
	return true;
}
