/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Errors of libcorescan.
 *
 * A function that can fail returns a `struct cs_error *`; NULL is success. The caller owns a returned
 * error and ends it with cs_error_destroy(). There is no last-error state anywhere, so two analyses in
 * one process never see each other's errors.
 */
#ifndef CORESCAN_ERROR_H
#define CORESCAN_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CS_API __attribute__((visibility("default")))
#define CS_MUST_CHECK __attribute__((warn_unused_result))
#define CS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CS_API
#define CS_MUST_CHECK
#define CS_PRINTF(fmt, args)
#endif

enum cs_error_code {
	CS_ERR_NOMEM,       /* out of memory */
	CS_ERR_NOT_FOUND,   /* what was asked for is not there; not a damage */
	CS_ERR_OS,          /* a system call failed: see cs_error_errno() */
	CS_ERR_FAULT,       /* target memory is not readable: see cs_error_address() */
	CS_ERR_FORMAT,      /* bytes that break the format; the message names file and field */
	CS_ERR_LIMIT,       /* a named limit of base/limits.h was reached */
	CS_ERR_UNSUPPORTED, /* well formed, but of a kind that is not handled */
	CS_ERR_ARGUMENT,    /* the caller's mistake */
};

struct cs_error;

/** Which kind of failure @err is. @err must not be NULL. */
CS_API enum cs_error_code cs_error_code(const struct cs_error *err);

/** One line for people, without a newline; lives as long as @err. */
CS_API const char *cs_error_message(const struct cs_error *err);

/** errno of a CS_ERR_OS error, else 0. */
CS_API int cs_error_errno(const struct cs_error *err);

/** First unreadable target address of a CS_ERR_FAULT error, else 0. */
CS_API uint64_t cs_error_address(const struct cs_error *err);

/** End @err. NULL and the static errors are fine. */
CS_API void cs_error_destroy(struct cs_error *err);

#ifdef __cplusplus
}
#endif
#endif
