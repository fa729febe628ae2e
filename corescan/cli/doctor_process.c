/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What belongs to the process: its limits, its coredump filter, whether it may be dumped
 * at all, and what it does with fatal signals.
 */
#include "cli/doctor.h"

#include "report/text_out.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define UNLIMITED UINT64_MAX
/* A Python process that has imported torch takes more than this. */
#define SMALL_CORE (256ULL << 20)
/* linux: a core limit below the page size is none (min_coredump of fs/binfmt_elf.c). */
#define SMALLEST_CORE 4096

static uint64_t parse_limit(const char *s)
{
	return strncmp(s, "unlimited", 9) ? strtoull(s, NULL, 10) : UNLIMITED;
}

/* Soft and hard value of the line @name of /proc/PID/limits. */
static bool read_limit(struct cs_doctor *d, const char *name, uint64_t *ret_soft,
		       uint64_t *ret_hard)
{
	const char *text = cs_doctor_read(d, cs_doctor_proc(d, "limits"));
	const char *line = text ? strstr(text, name) : NULL;

	if (!line)
		return false;
	line += strlen(name);
	line += strspn(line, " ");
	*ret_soft = parse_limit(line);
	line += strcspn(line, " \n");
	line += strspn(line, " ");
	*ret_hard = parse_limit(line);
	return true;
}

static const char *limit_text(struct cs_doctor *d, uint64_t limit)
{
	if (limit == UNLIMITED)
		return "unlimited";
	return cs_doctor_printf(d, "%s", limit ? cs_text_size(limit) : "0");
}

static void fix_core_limit(struct cs_doctor *d, uint64_t hard)
{
	if (d->env.pid)
		cs_doctor_fix(d,
			      cs_doctor_printf(d, "%sprlimit --pid %d --core=unlimited",
					       hard == UNLIMITED ? "" : "sudo ",
					       d->env.pid),
			      "for the process that runs");
	if (hard == UNLIMITED)
		cs_doctor_fix(d, "ulimit -c unlimited", "this shell and what it starts");
	else
		cs_doctor_fix(d,
			      "echo '* hard core unlimited' | sudo tee -a "
			      "/etc/security/limits.conf",
			      "the hard limit forbids more; then log in again");
	cs_doctor_fix(d, "ulimit -c unlimited; srun --propagate=CORE ...",
		      "in a Slurm batch script");
	cs_doctor_fix(d, "docker run --ulimit core=-1 ...", NULL);
	cs_doctor_fix(d, "LimitCORE=infinity",
		      "in the [Service] section of a systemd unit");
}

/* What a limit of nothing means depends on who gets the core. */
static const char *no_core_text(const struct cs_doctor *d)
{
	switch (d->sink) {
	case CS_SINK_SYSTEMD:
		return "systemd-coredump heeds the limit of the process: the crash is "
		       "logged, no core is kept.";
	case CS_SINK_APPORT:
		return "apport writes no core file for such a process; at best there is "
		       "one within a report in /var/crash.";
	default:
		return "A limit below one page means that no core is written.";
	}
}

static void check_core_limit(struct cs_doctor *d)
{
	uint64_t soft, hard;
	const char *value;
	bool ignores = d->sink == CS_SINK_PROGRAM || d->sink == CS_SINK_ABRT ||
		       d->sink == CS_SINK_SOCKET;

	if (!read_limit(d, "Max core file size", &soft, &hard)) {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)",
			      CS_CHECK_NOTE, NULL,
			      "The limits of the process cannot be read.");
		return;
	}
	value = cs_doctor_printf(d, "%s (at most %s)", limit_text(d, soft),
				 limit_text(d, hard));
	if (ignores && soft != 1) {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)", CS_CHECK_OK,
			      value,
			      "The kernel does not apply it to a core that is piped into "
			      "a program.");
	} else if (soft < SMALLEST_CORE) {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)",
			      CS_CHECK_PROBLEM, value,
			      soft == 1 && ignores
				      ? "A limit of 1 means that no core is piped."
				      : no_core_text(d));
		fix_core_limit(d, hard);
	} else if (soft < SMALL_CORE || (d->env.pid && d->memory && soft < d->memory)) {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)",
			      CS_CHECK_PROBLEM, value,
			      "A core is cut off at this size, which is less than such a "
			      "process takes.");
		fix_core_limit(d, hard);
	} else if (soft < d->memory) {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)",
			      CS_CHECK_NOTE, value, "A larger core is cut off.");
		fix_core_limit(d, hard);
	} else {
		cs_doctor_add(d, "core-limit", "core size limit (ulimit -c)", CS_CHECK_OK,
			      value, NULL);
	}
}

static void check_file_limit(struct cs_doctor *d)
{
	uint64_t soft, hard;
	const char *value;

	if (d->sink != CS_SINK_FILE || !read_limit(d, "Max file size", &soft, &hard) ||
	    soft == UNLIMITED)
		return;
	value = cs_doctor_printf(d, "%s (at most %s)", limit_text(d, soft),
				 limit_text(d, hard));
	cs_doctor_add(d, "file-limit", "file size limit (ulimit -f)",
		      soft < SMALL_CORE ? CS_CHECK_PROBLEM : CS_CHECK_NOTE, value,
		      "It bounds cores like all other files: a larger one is cut off.");
	cs_doctor_fix(d, "ulimit -f unlimited", "this shell and what it starts");
}

void cs_doctor_check_limits(struct cs_doctor *d)
{
	check_core_limit(d);
	check_file_limit(d);
}

/* Bits of coredump_filter, core(5). */
#define FILTER_ANONYMOUS 0x01U
#define FILTER_FILE_PRIVATE 0x04U
#define FILTER_ELF_HEADERS 0x10U

void cs_doctor_check_filter(struct cs_doctor *d)
{
	const char *text = cs_doctor_read(d, cs_doctor_proc(d, "coredump_filter"));
	const char *value, *path = d->env.pid ? cs_doctor_proc(d, "coredump_filter")
					      : "/proc/self/coredump_filter";
	const char *fix = cs_doctor_printf(d, "echo 0x33 >%s", path);
	unsigned long filter;

	if (!text)
		return; /* a kernel without CONFIG_ELF_CORE: core_pattern is missing too
			 */
	filter = strtoul(text, NULL, 16);
	value = cs_doctor_printf(d, "0x%lx", filter);
	if (!(filter & FILTER_ANONYMOUS)) {
		cs_doctor_add(d, "coredump-filter", "coredump_filter", CS_CHECK_PROBLEM,
			      value,
			      "Private memory is left out: the core has neither stacks "
			      "nor heap.");
		cs_doctor_fix(d, fix,
			      "in the shell that starts the program: it is inherited");
	} else if (!(filter & FILTER_ELF_HEADERS)) {
		cs_doctor_add(d, "coredump-filter", "coredump_filter", CS_CHECK_NOTE,
			      value,
			      "The first page of program and libraries is left out, and "
			      "with it their build ids: that the files found are those "
			      "that ran cannot be verified.");
		cs_doctor_fix(d, fix,
			      "in the shell that starts the program: it is inherited");
	} else if (!(filter & FILTER_FILE_PRIVATE)) {
		cs_doctor_add(d, "coredump-filter", "coredump_filter", CS_CHECK_OK, value,
			      "Enough, as long as the files of program and libraries can "
			      "be found later. 0x3f saves their code and read-only data "
			      "too, for a core that is to be analysed elsewhere.");
	} else {
		cs_doctor_add(d, "coredump-filter", "coredump_filter", CS_CHECK_OK, value,
			      "The files of program and libraries are saved too.");
	}
}

/* The mask of /proc/PID/status line @key, and whether @signo is in it. */
static bool has_signal(struct cs_doctor *d, const char *status, const char *key,
		       int signo)
{
	const char *mask = cs_doctor_value(d, status, key, ':');

	return mask && strtoull(mask, NULL, 16) >> (signo - 1) & 1;
}

static void check_signals(struct cs_doctor *d, const char *status)
{
	static const struct {
		int signo;
		const char *name;
	} fatal[] = {{SIGSEGV, "SIGSEGV"},
		     {SIGABRT, "SIGABRT"},
		     {SIGBUS, "SIGBUS"},
		     {SIGFPE, "SIGFPE"}};
	const char *caught = "", *ignored = "";

	for (size_t i = 0; i < CS_COUNT(fatal); i++) {
		if (has_signal(d, status, "SigCgt", fatal[i].signo))
			caught = cs_doctor_printf(d, "%s%s%s", caught,
						  *caught ? ", " : "", fatal[i].name);
		if (has_signal(d, status, "SigIgn", fatal[i].signo))
			ignored = cs_doctor_printf(d, "%s%s%s", ignored,
						   *ignored ? ", " : "", fatal[i].name);
	}
	if (*ignored)
		cs_doctor_add(d, "signals-ignored", "ignored signals", CS_CHECK_NOTE,
			      ignored, "Sent by another process, these do nothing.");
	if (*caught)
		cs_doctor_add(d, "signals-caught", "caught signals", CS_CHECK_NOTE,
			      caught,
			      "A handler of the process gets them first; a core is "
			      "written only if it raises the signal again, as Python's "
			      "faulthandler does.");
}

/* linux: the files of a process that may not be dumped belong to root, whoever it runs as
 * (fs/proc/base.c). */
static void check_dumpable(struct cs_doctor *d)
{
	struct stat st;

	if (d->uid <= 0 || stat(cs_doctor_path(d, cs_doctor_proc(d, "limits")), &st) ||
	    st.st_uid)
		return;
	cs_doctor_add(d, "dumpable", "dumpable", CS_CHECK_PROBLEM, "no",
		      "The process is not dumpable: its program is set-user-ID, has "
		      "capabilities or cannot be read by its user, or it asked for it "
		      "(prctl PR_SET_DUMPABLE).");
	cs_doctor_fix(d, "sudo sysctl -w fs.suid_dumpable=2",
		      "with a core_pattern that is absolute or a pipe; cores are then "
		      "for root alone");
}

void cs_doctor_check_process(struct cs_doctor *d)
{
	const char *status =
		d->env.pid ? cs_doctor_read(d, cs_doctor_proc(d, "status")) : NULL;
	const char *meminfo = cs_doctor_read(d, "/proc/meminfo");
	const char *rss = status ? cs_doctor_value(d, status, "VmRSS", ':') : NULL;
	const char *total = meminfo ? cs_doctor_value(d, meminfo, "MemTotal", ':') : NULL;
	const char *uid = status ? cs_doctor_value(d, status, "Uid", ':') : NULL;

	if (rss)
		d->memory = strtoull(rss, NULL, 10) << 10;
	else if (total)
		d->memory = strtoull(total, NULL, 10) << 10;
	if (uid)
		d->uid = strtol(uid, NULL, 10);
	if (!status)
		return;
	check_signals(d, status);
	check_dumpable(d);
}
