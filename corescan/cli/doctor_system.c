/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What belongs to the machine or the container: disk, memory, the kernel's other
 * settings. */
#include "cli/doctor.h"

#include "report/text_out.h"

#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

/* Words in /proc/PID/cgroup that give a container away where the cgroup namespace does
 * not hide it. */
static const struct {
	const char *part, *kind;
} cgroup_words[] = {
	{"kubepods", "kubernetes"},   {"docker", "docker"}, {"libpod", "podman"},
	{"containerd", "containerd"}, {"/lxc", "lxc"},      {"crio-", "cri-o"},
};

static const char *container_kind(struct cs_doctor *d)
{
	const char *cgroup = cs_doctor_read(d, cs_doctor_proc(d, "cgroup"));
	const char *systemd = cs_doctor_read(d, "/run/systemd/container");

	for (size_t i = 0; cgroup && i < CS_COUNT(cgroup_words); i++)
		if (strstr(cgroup, cgroup_words[i].part))
			return cgroup_words[i].kind;
	if (cs_doctor_exists(d, "/.dockerenv"))
		return "docker";
	if (cs_doctor_exists(d, "/run/.containerenv"))
		return "podman";
	return systemd && *systemd ? systemd : NULL;
}

void cs_doctor_check_container(struct cs_doctor *d)
{
	d->container = container_kind(d);
	if (!d->container)
		return;
	cs_doctor_add(d, "container", "container", CS_CHECK_NOTE, d->container,
		      "core_pattern is one for the whole machine. A path in it is looked "
		      "up in the container of the process that crashes; a program in it "
		      "is run on the host.");
}

void cs_doctor_check_space(struct cs_doctor *d)
{
	struct statvfs fs;
	uint64_t free_bytes;
	const char *value;

	if (!d->destination || *d->destination != '/' ||
	    (d->container && d->sink != CS_SINK_FILE))
		return;
	if (statvfs(cs_doctor_path(d, d->destination), &fs))
		return; /* that it is not there was said by the check of the folder */
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	value = cs_doctor_printf(d, "%s free in %s", cs_text_size(free_bytes),
				 d->destination);
	if (!free_bytes || (d->env.pid && free_bytes < d->memory)) {
		cs_doctor_add(d, "disk-space", "disk space", CS_CHECK_PROBLEM, value,
			      cs_doctor_printf(d,
					       "A core of a process with %s of memory "
					       "does not fit: it is cut off.",
					       cs_text_size(d->memory)));
		cs_doctor_fix(
			d, "sudo sysctl -w kernel.core_pattern=/LARGER-DISK/core.%e.%p",
			NULL);
	} else if (free_bytes < d->memory) {
		cs_doctor_add(
			d, "disk-space", "disk space", CS_CHECK_NOTE, value,
			cs_doctor_printf(
				d,
				"Less than the memory of this machine (%s): a core of a "
				"process that uses more than is free is cut off.",
				cs_text_size(d->memory)));
	} else {
		cs_doctor_add(d, "disk-space", "disk space", CS_CHECK_OK, value, NULL);
	}
}

static void check_ptrace(struct cs_doctor *d)
{
	static const char *const meanings[] = {
		"every process of the same user can be looked at",
		"a process can be looked at only by those that started it, or by root",
		"a process can be looked at only by root (CAP_SYS_PTRACE)",
		"no process can be looked at while it runs, until the next boot",
	};
	uint64_t scope;

	if (!cs_doctor_read_number(d, "/proc/sys/kernel/yama/ptrace_scope", &scope) ||
	    scope >= CS_COUNT(meanings)) {
		cs_doctor_add(d, "ptrace-scope", "ptrace scope", CS_CHECK_OK, "none",
			      NULL);
		return;
	}
	cs_doctor_add(d, "ptrace-scope", "ptrace scope",
		      scope ? CS_CHECK_NOTE : CS_CHECK_OK,
		      cs_doctor_printf(d, "%" PRIu64 ": %s", scope, meanings[scope]),
		      scope ? "It matters to gdb and gcore, not to cores that the kernel "
			      "writes."
			    : NULL);
	if (scope && scope < 3)
		cs_doctor_fix(d, "sudo sysctl -w kernel.yama.ptrace_scope=0",
			      "to use gcore without root");
}

void cs_doctor_check_kernel(struct cs_doctor *d)
{
	static const char *const meanings[] = {
		"programs that are set-user-ID or have capabilities leave no core",
		"all programs leave cores",
		"cores of set-user-ID programs are for root alone",
	};
	uint64_t value;

	if (cs_doctor_read_number(d, "/proc/sys/fs/suid_dumpable", &value) &&
	    value < CS_COUNT(meanings))
		cs_doctor_add(
			d, "suid-dumpable", "suid_dumpable", CS_CHECK_OK,
			cs_doctor_printf(d, "%" PRIu64 ": %s", value, meanings[value]),
			NULL);
	if (cs_doctor_read_number(d, "/proc/sys/kernel/core_pipe_limit", &value) &&
	    value && d->sink != CS_SINK_FILE)
		cs_doctor_add(d, "core-pipe-limit", "core_pipe_limit", CS_CHECK_NOTE,
			      cs_doctor_printf(d, "%" PRIu64, value),
			      "When more processes than this crash at the same time, the "
			      "others leave no core: think of the ranks of one machine.");
	check_ptrace(d);
}

/* Folder of the process's memory control group: version 2, then version 1. */
static const char *memory_group(struct cs_doctor *d, bool *ret_v2)
{
	const char *cgroup = cs_doctor_read(d, cs_doctor_proc(d, "cgroup"));
	const char *path;

	*ret_v2 = cs_doctor_exists(d, "/sys/fs/cgroup/cgroup.controllers");
	if (*ret_v2) {
		path = cgroup ? cs_doctor_value(d, cgroup, "0:", ':') : NULL;
		path = cs_doctor_printf(d, "/sys/fs/cgroup%s", path ? path : "");
		/* In a container without its own cgroup namespace the path is the host's.
		 */
		return cs_doctor_exists(d, path) ? path : "/sys/fs/cgroup";
	}
	path = cgroup ? strstr(cgroup, ":memory:") : NULL;
	if (path)
		path = cs_doctor_printf(d, "/sys/fs/cgroup/memory%.*s",
					(int)strcspn(path + 8, "\n"), path + 8);
	return path && cs_doctor_exists(d, path) ? path : "/sys/fs/cgroup/memory";
}

void cs_doctor_check_memory(struct cs_doctor *d)
{
	bool v2;
	const char *group = memory_group(d, &v2), *events, *kills = NULL;
	uint64_t limit;

	if (cs_doctor_read_number(
		    d,
		    cs_doctor_printf(d, "%s/%s", group,
				     v2 ? "memory.max" : "memory.limit_in_bytes"),
		    &limit) &&
	    limit < UINT64_C(1) << 60)
		cs_doctor_add(d, "memory-limit", "memory limit", CS_CHECK_NOTE,
			      cs_doctor_printf(d, "%s", cs_text_size(limit)),
			      "A process that takes more is ended by the out-of-memory "
			      "killer with SIGKILL, which leaves no core.");
	events = cs_doctor_read(
		d, cs_doctor_printf(d, "%s/%s", group,
				    v2 ? "memory.events" : "memory.oom_control"));
	if (events)
		kills = cs_doctor_value(d, events, "oom_kill", ' ');
	if (!kills && (events = cs_doctor_read(d, "/proc/vmstat")))
		kills = cs_doctor_value(d, events, "oom_kill", ' ');
	if (!kills || !strcmp(kills, "0"))
		return;
	cs_doctor_add(d, "oom-kills", "out-of-memory kills", CS_CHECK_NOTE, kills,
		      "The out-of-memory killer has ended processes here since the "
		      "start; such a death leaves no core.");
	cs_doctor_fix(d, "sudo dmesg -T | grep -i 'killed process'",
		      "to see whether it was yours");
}
