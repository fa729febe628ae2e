/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Files that are only read, and only if they are what they should be.
 *
 * A path may come from a hostile core: it is opened without blocking, must be a regular file, and is read
 * with pread, so a FIFO, a device or a terminal can neither hang nor feed us.
 */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include "base/error.h"

#include <sys/types.h>
#include <time.h>

struct cs_file {
	int fd;        /* owned */
	uint64_t size; /* bytes when it was opened */
	time_t mtime;
	char *path; /* owned, as given */
};

/**
 * Open regular file @path for reading.
 * Errors: OS (cannot open), UNSUPPORTED (directory, FIFO, device, socket: the message says which), NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_file_open(const char *path, struct cs_file **ret);

/** As cs_file_open(), for an open descriptor that is taken over, also on failure. @path is for messages. */
CS_MUST_CHECK struct cs_error *cs_file_from_fd(int fd, const char *path, struct cs_file **ret);
void cs_file_close(struct cs_file *file);

/** Read up to @len bytes at @offset; fewer only at the end of the file. Errors: OS. */
CS_MUST_CHECK struct cs_error *cs_file_read_some(const struct cs_file *file, uint64_t offset, void *buf,
						 size_t len, size_t *ret_len);

/** Read exactly @len bytes. Errors: OS, FORMAT (the file ends before; the message says at which byte). */
CS_MUST_CHECK struct cs_error *cs_file_read(const struct cs_file *file, uint64_t offset, void *buf,
					    size_t len);

CS_DEFINE_CLEANUP(struct cs_file *, cs_file_close)

#endif
