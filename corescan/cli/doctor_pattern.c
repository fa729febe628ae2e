/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where kernel.core_pattern sends a core: a file, a program, a socket. Knows the
 * pattern's own rules (linux: fs/coredump.c, core(5)); how a known program keeps cores is
 * doctor_handler.c.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATTERN "/proc/sys/kernel/core_pattern"
#define SUGGESTED "sudo sysctl -w kernel.core_pattern=/var/tmp/core.%e.%p"

static void suggest_pattern(struct cs_doctor *d)
{
	cs_doctor_fix(d, SUGGESTED,
		      d->container ? "on the host: the setting is one for all containers"
				   : "a file for each process, until the next boot");
}

/* The process's own root folder, for what its paths mean to it. */
static const char *process_root(struct cs_doctor *d)
{
	return d->env.pid ? cs_doctor_path(d, cs_doctor_proc(d, "root")) : d->env.root;
}

/* Working directory as the process sees it; NULL: not readable. */
static const char *working_directory(struct cs_doctor *d)
{
	char link[4096];
	ssize_t len = readlink(cs_doctor_path(d, cs_doctor_proc(d, "cwd")), link,
			       sizeof(link) - 1);

	if (len <= 0)
		return NULL;
	link[len] = '\0';
	return cs_doctor_printf(d, "%s", link);
}

/* May a process of user @uid make a file there? Its supplementary groups are not known.
 */
static bool may_write(const struct cs_doctor *d, const char *path, const struct stat *st)
{
	if (d->uid < 0 || (uid_t)d->uid == geteuid())
		return !access(path, W_OK | X_OK);
	if (!d->uid)
		return true;
	if (st->st_uid == (uid_t)d->uid)
		return (st->st_mode & S_IWUSR) != 0;
	return (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

static void check_folder(struct cs_doctor *d, const char *folder)
{
	const char *path = cs_doctor_printf(d, "%s%s", process_root(d), folder);
	struct stat st;

	if (stat(path, &st)) {
		if (errno == EACCES && d->env.pid)
			return; /* another user's process: its root folder may not be
				   looked into */
		cs_doctor_add(d, "core-folder", "folder for cores", CS_CHECK_PROBLEM,
			      folder,
			      "There is no such folder, so no core is written; the "
			      "kernel does not make it.");
		cs_doctor_fix(d,
			      cs_doctor_printf(d, "sudo mkdir -p -m 1777 '%s'", folder),
			      d->container ? "in the container, or mount a volume there"
					   : NULL);
	} else if (!S_ISDIR(st.st_mode)) {
		cs_doctor_add(
			d, "core-folder", "folder for cores", CS_CHECK_PROBLEM, folder,
			"This is not a directory, so no core can be written into it.");
		suggest_pattern(d);
	} else if (!may_write(d, path, &st)) {
		cs_doctor_add(d, "core-folder", "folder for cores", CS_CHECK_PROBLEM,
			      folder,
			      "The process may not write there, so no core is written.");
		cs_doctor_fix(d, cs_doctor_printf(d, "sudo chmod 1777 '%s'", folder),
			      NULL);
		suggest_pattern(d);
	} else {
		cs_doctor_add(d, "core-folder", "folder for cores", CS_CHECK_OK, folder,
			      NULL);
	}
}

/* All processes that share a folder write the same file, unless the name tells them
 * apart. */
static void check_names(struct cs_doctor *d, const char *pattern)
{
	uint64_t uses_pid = 0;
	bool known =
		cs_doctor_read_number(d, "/proc/sys/kernel/core_uses_pid", &uses_pid);

	if (strstr(pattern, "%p") || strstr(pattern, "%P") || strstr(pattern, "%i") ||
	    strstr(pattern, "%I") || (known && uses_pid))
		return;
	cs_doctor_add(d, "core-name", "name of cores", CS_CHECK_NOTE, pattern,
		      "The name does not hold the process id, so the cores of several "
		      "ranks that run in one folder overwrite each other: only the last "
		      "one remains.");
	suggest_pattern(d);
}

static void check_file(struct cs_doctor *d, const char *pattern)
{
	const char *slash = strrchr(pattern, '/'), *folder;

	d->sink = CS_SINK_FILE;
	if (*pattern == '/') {
		folder = cs_doctor_printf(d, "%.*s",
					  slash == pattern ? 1 : (int)(slash - pattern),
					  pattern);
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_OK, pattern,
			      "A file; %p is the process id, %e the program, %h the "
			      "host, %t the time.");
	} else {
		const char *cwd = working_directory(d);

		folder = cwd && slash ? cs_doctor_printf(d, "%s/%.*s", cwd,
							 (int)(slash - pattern), pattern)
				      : cwd;
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_OK, pattern,
			      "A file in the working directory that the process has when "
			      "it dies. A program that changes directory takes its cores "
			      "along; an absolute pattern does not.");
	}
	check_names(d, pattern);
	if (!folder || strchr(folder, '%'))
		return; /* made of the dying process's own names: nothing to look at yet
			 */
	d->destination = folder;
	check_folder(d, folder);
	if (d->container) {
		cs_doctor_add(d, "core-container", "cores and the container",
			      CS_CHECK_NOTE, folder,
			      "The path is one of the crashing process's container, so "
			      "the core is lost with the container unless a volume is "
			      "mounted there.");
		cs_doctor_fix(d,
			      cs_doctor_printf(d, "docker run -v /var/tmp/cores:'%s' ...",
					       folder),
			      NULL);
	}
}

static enum cs_core_sink known_handler(const char *program)
{
	static const struct {
		const char *part;
		enum cs_core_sink sink;
	} handlers[] = {
		{"apport", CS_SINK_APPORT},
		{"systemd-coredump", CS_SINK_SYSTEMD},
		{"abrt", CS_SINK_ABRT},
	};

	for (size_t i = 0; i < CS_COUNT(handlers); i++)
		if (strstr(program, handlers[i].part))
			return handlers[i].sink;
	return CS_SINK_PROGRAM;
}

static void check_pipe(struct cs_doctor *d, const char *pattern)
{
	const char *start = pattern + 1 + strspn(pattern + 1, " ");
	const char *program =
		cs_doctor_printf(d, "%.*s", (int)strcspn(start, " \t"), start);
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;

	d->sink = known_handler(program);
	if (!*program || !strcmp(name, "false") || !strcmp(name, "true")) {
		d->sink = CS_SINK_NOTHING;
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_PROBLEM,
			      pattern,
			      "Cores are piped into a program that throws them away.");
		suggest_pattern(d);
		return;
	}
	if (*program != '/') {
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_PROBLEM,
			      pattern,
			      "The program after | must be an absolute path, or the "
			      "kernel starts nothing.");
		suggest_pattern(d);
		return;
	}
	if (!d->container && access(cs_doctor_path(d, program), X_OK)) {
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_PROBLEM,
			      pattern,
			      "Cores are piped into a program that is not there or "
			      "cannot be executed, so they are lost.");
		suggest_pattern(d);
		return;
	}
	cs_doctor_add(
		d, "core-pattern", "core_pattern",
		d->container ? CS_CHECK_NOTE : CS_CHECK_OK, pattern,
		d->container
			? cs_doctor_printf(
				  d,
				  "Cores are piped into %s, which runs on the host and "
				  "not in this container: look for the core there.",
				  program)
			: cs_doctor_printf(
				  d,
				  "Cores are piped into %s, which decides what is kept.",
				  program));
	if (d->container || d->sink == CS_SINK_PROGRAM)
		suggest_pattern(d);
}

static void check_socket(struct cs_doctor *d, const char *pattern)
{
	const char *path = pattern + strspn(pattern, "@");

	d->sink = CS_SINK_SOCKET;
	if (!d->container && !cs_doctor_exists(d, path)) {
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_PROBLEM,
			      pattern,
			      "Cores go to a server at a socket that is not there, so "
			      "they are lost.");
		suggest_pattern(d);
		return;
	}
	cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_NOTE, pattern,
		      "Cores go to the server that listens at this socket (Linux 6.16 "
		      "and later), which decides what is kept.");
}

void cs_doctor_check_pattern(struct cs_doctor *d)
{
	const char *pattern = cs_doctor_read(d, PATTERN);
	uint64_t uses_pid = 0;

	if (!pattern) {
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_NOTE, NULL,
			      PATTERN
			      " cannot be read here, so where cores go is not known.");
		return;
	}
	if (*pattern == '|') {
		check_pipe(d, pattern);
	} else if (*pattern == '@') {
		check_socket(d, pattern);
	} else if (*pattern) {
		check_file(d, pattern);
	} else if (cs_doctor_read_number(d, "/proc/sys/kernel/core_uses_pid",
					 &uses_pid) &&
		   uses_pid) {
		check_file(d, ".%p"); /* linux: the pid is appended to the empty name */
	} else {
		d->sink = CS_SINK_NOTHING;
		cs_doctor_add(d, "core-pattern", "core_pattern", CS_CHECK_PROBLEM,
			      "empty", "An empty pattern means that no core is written.");
		suggest_pattern(d);
	}
}
