/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error objects: one allocation each, message included. Knows nothing about what failed. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_MAX 1024 /* bytes; a longer message is cut, which is fine for one line */

struct cs_error {
	enum cs_error_code code;
	int os_errno;
	uint64_t address;
	bool is_static;
	char message[MESSAGE_MAX];
};

struct cs_error cs_nomem = {
	.code = CS_ERR_NOMEM, .is_static = true, .message = "out of memory"};
struct cs_error cs_not_found = {
	.code = CS_ERR_NOT_FOUND, .is_static = true, .message = "not found"};

static struct cs_error *error_alloc(enum cs_error_code code)
{
	struct cs_error *err = calloc(1, sizeof(*err));

	if (!err)
		return &cs_nomem;
	err->code = code;
	return err;
}

CS_PRINTF(2, 0)
static void error_format(struct cs_error *err, const char *fmt, va_list ap)
{
	if (!err->is_static)
		vsnprintf(err->message, sizeof(err->message), fmt, ap);
}

struct cs_error *cs_error_new(enum cs_error_code code, const char *fmt, ...)
{
	struct cs_error *err = error_alloc(code);
	va_list ap;

	va_start(ap, fmt);
	error_format(err, fmt, ap);
	va_end(ap);
	return err;
}

struct cs_error *cs_error_os(int os_errno, const char *fmt, ...)
{
	struct cs_error *err = error_alloc(CS_ERR_OS);
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	error_format(err, fmt, ap);
	va_end(ap);
	if (err->is_static)
		return err;
	err->os_errno = os_errno;
	used = strlen(err->message);
	snprintf(err->message + used, sizeof(err->message) - used, ": %s", strerror(os_errno));
	return err;
}

struct cs_error *cs_error_fault(uint64_t addr, const char *fmt, ...)
{
	struct cs_error *err = error_alloc(CS_ERR_FAULT);
	va_list ap;

	va_start(ap, fmt);
	error_format(err, fmt, ap);
	va_end(ap);
	if (!err->is_static)
		err->address = addr;
	return err;
}

struct cs_error *cs_error_prefix(struct cs_error *err, const char *fmt, ...)
{
	char old[MESSAGE_MAX];
	size_t used;
	va_list ap;

	if (err->is_static)
		return err; /* "out of memory" needs no place */
	memcpy(old, err->message, sizeof(old));
	va_start(ap, fmt);
	error_format(err, fmt, ap);
	va_end(ap);
	used = strlen(err->message);
	if (used + 2 < sizeof(err->message)) {
		err->message[used++] = ':';
		err->message[used++] = ' ';
		strncpy(err->message + used, old, sizeof(err->message) - used - 1);
	}
	return err;
}

enum cs_error_code cs_error_code(const struct cs_error *err)
{
	return err->code;
}

const char *cs_error_message(const struct cs_error *err)
{
	return err->message;
}

int cs_error_errno(const struct cs_error *err)
{
	return err->os_errno;
}

uint64_t cs_error_address(const struct cs_error *err)
{
	return err->address;
}

void cs_error_destroy(struct cs_error *err)
{
	if (err && !err->is_static)
		free(err);
}

bool cs_ok(struct cs_error *err)
{
	bool ok = !err;

	cs_error_destroy(err);
	return ok;
}

void cs_closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
