/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a path that a core names, in this file system or below a folder that stands for its root. Knows
 * path resolution; refuses to know what is in the files.
 *
 * Below a root, an absolute symbolic link (/lib64/ld.so -> /usr/lib/...) and ".." stay inside it, as in the
 * container that the core comes from. openat2(2) does that in the kernel (Linux 5.6); where it is missing
 * or filtered, cs_resolve_in_root() does it step by step.
 */
#include "symbols/mod.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct resolver {
	int root;
	char *done; /* CS_MAX_PATH bytes: resolved so far, no leading slash */
	char rest[2 * CS_MAX_PATH]; /* still to do */
	unsigned links;
};

static void drop_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = 0;
	else
		path[0] = 0;
}

/** Put symbolic link @target in front of what is still to do. */
static struct cs_error *follow(struct resolver *r, const char *target)
{
	char joined[2 * CS_MAX_PATH];
	int n;

	if (++r->links > CS_MAX_SYMLINKS)
		return cs_error_os(ELOOP, "%s", r->done);
	drop_last(r->done);
	if (target[0] == '/')
		r->done[0] = 0;
	n = snprintf(joined, sizeof(joined), "%s/%s", target, r->rest);
	if (n < 0 || (size_t)n >= sizeof(joined))
		return cs_error_os(ENAMETOOLONG, "%s", target);
	memcpy(r->rest, joined, (size_t)n + 1);
	return NULL;
}

/** Move the next component of r->rest, which is as large, to @component; false at the end. */
static bool next_component(struct resolver *r, char *component)
{
	for (;;) {
		char *rest = r->rest + strspn(r->rest, "/");
		size_t n = strcspn(rest, "/");

		if (n == 0)
			return false;
		memcpy(component, rest, n);
		component[n] = 0;
		memmove(r->rest, rest + n, strlen(rest + n) + 1);
		if (strcmp(component, ".") != 0)
			return true;
	}
}

static struct cs_error *step(struct resolver *r, const char *component)
{
	char target[CS_MAX_PATH];
	size_t len = strlen(r->done), more = strlen(component);
	struct stat st;
	ssize_t n;

	if (strcmp(component, "..") == 0) {
		drop_last(r->done);
		return NULL;
	}
	if (len + more + 2 > CS_MAX_PATH)
		return cs_error_os(ENAMETOOLONG, "%s/%s", r->done, component);
	if (len)
		r->done[len++] = '/';
	memcpy(r->done + len, component, more + 1);
	if (fstatat(r->root, r->done, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cs_error_os(errno, "%s", r->done);
	if (!S_ISLNK(st.st_mode))
		return NULL;
	n = readlinkat(r->root, r->done, target, sizeof(target) - 1);
	if (n < 0)
		return cs_error_os(errno, "%s", r->done);
	target[n] = 0;
	return follow(r, target);
}

struct cs_error *cs_resolve_in_root(int root_fd, const char *path, char *ret)
{
	struct resolver r = {.root = root_fd, .done = ret};
	char component[sizeof(r.rest)];

	if (strlen(path) >= CS_MAX_PATH)
		return cs_error_os(ENAMETOOLONG, "%s", path);
	strcpy(r.rest, path);
	ret[0] = 0;
	while (next_component(&r, component))
		CS_TRY(step(&r, component));
	return NULL;
}

static int openat2_in_root(int root, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static struct cs_error *open_resolved(int root, const char *path, int *ret)
{
	char inside[CS_MAX_PATH];

	CS_TRY(cs_resolve_in_root(root, path, inside));
	*ret = openat(root, inside[0] ? inside : ".",
		      O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	return *ret < 0 ? cs_error_os(errno, "%s", path) : NULL;
}

static struct cs_error *open_below(int root, const char *path, int *ret)
{
	CS_CLEANUP(cs_closep) int look = openat2_in_root(root, path, O_PATH);
	struct stat st;

	if (look < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
		return open_resolved(root, path, ret);
	/* Opening a device may do something: look before. */
	if (look < 0 || fstat(look, &st) < 0)
		return cs_error_os(errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return cs_error_new(CS_ERR_UNSUPPORTED, "%s: not a regular file", path);
	*ret = openat2_in_root(root, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	return *ret < 0 ? cs_error_os(errno, "%s", path) : NULL;
}

struct cs_error *cs_open_in_root(const char *root, const char *path, struct cs_file **ret)
{
	CS_CLEANUP(cs_freep) char *whole = NULL;
	CS_CLEANUP(cs_closep) int root_fd = -1;
	struct stat st;
	int fd = -1;

	if (!root) {
		if (stat(path, &st) < 0)
			return cs_error_os(errno, "%s", path);
		if (!S_ISREG(st.st_mode))
			return cs_error_new(CS_ERR_UNSUPPORTED, "%s: not a regular file", path);
		return cs_file_open(path, ret);
	}
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return cs_error_os(errno, "--sysroot %s", root);
	CS_TRY(open_below(root_fd, path, &fd));
	if (asprintf(&whole, "%s%s%s", root, path[0] == '/' ? "" : "/", path) < 0) {
		whole = NULL;
		close(fd);
		return &cs_nomem;
	}
	return cs_file_from_fd(fd, whole, ret);
}
