/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opening and reading regular files. Refuses to know what is in them. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a FIFO";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	case S_IFSOCK:
		return "a socket";
	default:
		return "not a regular file";
	}
}

struct cs_error *cs_file_from_fd(int fd, const char *path, struct cs_file **ret)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *file = calloc(1, sizeof(*file));
	struct stat st;

	if (!file) {
		close(fd);
		return &cs_nomem;
	}
	file->fd = fd;
	file->path = strdup(path);
	if (!file->path)
		return &cs_nomem;
	if (fstat(fd, &st) < 0)
		return cs_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return cs_error_new(CS_ERR_UNSUPPORTED, "%s: is %s, not a regular file", path,
				    kind_of(st.st_mode));
	file->size = (uint64_t)st.st_size;
	file->mtime = st.st_mtime;
	*ret = CS_TAKE(file);
	return NULL;
}

struct cs_error *cs_file_open(const char *path, struct cs_file **ret)
{
	/* O_NONBLOCK: opening a FIFO that a core names must not wait for a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return cs_error_os(errno, "%s", path);
	return cs_file_from_fd(fd, path, ret);
}

void cs_file_close(struct cs_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

struct cs_error *cs_file_read_some(const struct cs_file *file, uint64_t offset, void *buf,
				   size_t len, size_t *ret_len)
{
	size_t done = 0;

	while (done < len && offset + done <= INT64_MAX) {
		ssize_t n = pread(file->fd, (char *)buf + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return cs_error_os(errno, "%s: read at offset %#llx", file->path,
					   (unsigned long long)(offset + done));
		if (n == 0)
			break;
		done += (size_t)n;
	}
	*ret_len = done;
	return NULL;
}

struct cs_error *cs_file_read(const struct cs_file *file, uint64_t offset, void *buf, size_t len)
{
	size_t got;

	CS_TRY(cs_file_read_some(file, offset, buf, len, &got));
	if (got < len)
		return cs_error_new(CS_ERR_FORMAT, "%s: ends at byte %llu, inside %zu bytes at offset %#llx",
				    file->path, (unsigned long long)(offset + got), len,
				    (unsigned long long)offset);
	return NULL;
}
