/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Making errors. Making one cannot fail: without memory it is &cs_nomem. */
#ifndef CS_BASE_ERROR_H
#define CS_BASE_ERROR_H

#include "base/util.h"
#include "corescan/error.h"

/** Static objects; cs_error_destroy() leaves them alone. */
extern struct cs_error cs_nomem;
extern struct cs_error cs_not_found;

/** An error of @code with a one-line message that names file, field and what to do next. */
CS_MUST_CHECK struct cs_error *cs_error_new(enum cs_error_code code, const char *fmt, ...)
	CS_PRINTF(2, 3);

/** A CS_ERR_OS error: "@fmt: strerror(@os_errno)". */
CS_MUST_CHECK struct cs_error *cs_error_os(int os_errno, const char *fmt, ...)
	CS_PRINTF(2, 3);

/** A CS_ERR_FAULT error at target address @addr. */
CS_MUST_CHECK struct cs_error *cs_error_fault(uint64_t addr, const char *fmt, ...)
	CS_PRINTF(2, 3);

/** The same error with "@fmt: " before its message; takes @err over. */
CS_MUST_CHECK struct cs_error *cs_error_prefix(struct cs_error *err, const char *fmt, ...)
	CS_PRINTF(2, 3);

/** True if @err is NULL; ends it otherwise. For the places where a failure is one of the answers. */
bool cs_ok(struct cs_error *err);

CS_DEFINE_CLEANUP(struct cs_error *, cs_error_destroy)

#endif
