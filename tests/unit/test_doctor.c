/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The doctor shown other machines: each case writes a small tree with the files that
 * matter and says what must be found in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "cli/doctor.h"

#include <ftw.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNLIMITED                                                                        \
	"Max core file size        unlimited            unlimited            bytes     " \
	"\n"
#define NONE                                                                             \
	"Max core file size        0                    unlimited            bytes     " \
	"\n"
#define NONE_HARD                                                                        \
	"Max core file size        0                    0                    bytes     " \
	"\n"
#define SMALL                                                                            \
	"Max core file size        1048576              unlimited            bytes     " \
	"\n"

struct machine {
	char root[64];
	struct cs_arena *arena;
	struct cs_doctor doctor;
};

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int setup(void **state)
{
	struct machine *m = calloc(1, sizeof(*m));

	snprintf(m->root, sizeof(m->root), "/tmp/corescan-doctor-XXXXXX");
	assert_non_null(mkdtemp(m->root));
	m->arena = cs_arena_create(CS_MAX_DOCTOR_MEMORY);
	assert_non_null(m->arena);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	struct machine *m = *state;

	cs_doctor_deinit(&m->doctor);
	cs_arena_destroy(m->arena);
	nftw(m->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(m);
	return 0;
}

static void make_folders(const char *path)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(copy, 0755);
		*slash = '/';
	}
}

static void put(struct machine *m, const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", m->root, path);
	make_folders(whole);
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	chmod(whole, 0755);
}

static void put_link(struct machine *m, const char *path, const char *target)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "%s%s", m->root, path);
	make_folders(whole);
	assert_int_equal(symlink(target, whole), 0);
}

/* A machine where all is well: cores named by process in /cores, no limit. */
static void put_well(struct machine *m)
{
	put(m, "/proc/sys/kernel/core_pattern", "/cores/core.%p\n");
	put(m, "/proc/sys/kernel/core_uses_pid", "0\n");
	put(m, "/proc/self/limits", UNLIMITED);
	put(m, "/proc/self/coredump_filter", "00000033\n");
	put(m, "/proc/self/cgroup", "0::/user.slice\n");
	put(m, "/cores/.keep", "");
	put_link(m, "/proc/self/cwd", "/cores");
}

static void examine(struct machine *m, int pid)
{
	const struct cs_doctor_env env = {.root = m->root, .pid = pid};

	assert_null(cs_doctor_run(&env, m->arena, &m->doctor));
}

static const struct cs_check *find(const struct machine *m, const char *id)
{
	for (size_t i = 0; i < m->doctor.checks.n; i++)
		if (!strcmp(m->doctor.checks.v[i].id, id))
			return &m->doctor.checks.v[i];
	return NULL;
}

static void expect(const struct machine *m, const char *id, enum cs_check_result result,
		   const char *part)
{
	const struct cs_check *check = find(m, id);

	if (!check)
		fail_msg("no check %s", id);
	if (check->result != result)
		fail_msg("%s: result %d: %s: %s", id, check->result,
			 check->value ? check->value : "",
			 check->text ? check->text : "");
	if (!strstr(check->value ? check->value : "", part) &&
	    !strstr(check->text ? check->text : "", part))
		fail_msg("%s: %s: %s: no %s in it", id, check->value ? check->value : "",
			 check->text ? check->text : "", part);
	if (result == CS_CHECK_PROBLEM && !check->n_fixes)
		fail_msg("%s: a problem without a remedy", id);
}

static void test_well(void **state)
{
	struct machine *m = *state;

	put_well(m);
	examine(m, 0);
	assert_true(cs_doctor_is_well(&m->doctor));
	assert_string_equal(m->doctor.destination, "/cores");
	expect(m, "core-limit", CS_CHECK_OK, "unlimited");
	expect(m, "core-pattern", CS_CHECK_OK, "/cores/core.%p");
	expect(m, "core-folder", CS_CHECK_OK, "/cores");
	expect(m, "coredump-filter", CS_CHECK_OK, "0x33");
	assert_null(find(m, "core-name"));
	assert_null(find(m, "container"));
	assert_non_null(find(m, "no-core-deaths"));
}

static void test_limits(void **state)
{
	static const struct {
		const char *limits, *fix;
	} cases[] = {{NONE, "ulimit -c unlimited"},
		     {NONE_HARD, "/etc/security/limits.conf"},
		     {SMALL, "ulimit -c unlimited"}};
	struct machine *m = *state;

	put_well(m);
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		put(m, "/proc/self/limits", cases[i].limits);
		examine(m, 0);
		assert_false(cs_doctor_is_well(&m->doctor));
		expect(m, "core-limit", CS_CHECK_PROBLEM, "");
		assert_non_null(
			strstr(find(m, "core-limit")->fixes[0].command, cases[i].fix));
		cs_doctor_deinit(&m->doctor);
	}
	put(m, "/proc/self/limits",
	    UNLIMITED "Max file size             1024                 unlimited          "
		      "  bytes\n");
	examine(m, 0);
	expect(m, "file-limit", CS_CHECK_PROBLEM, "1.0 KiB");
}

static void test_relative_pattern(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern", "core\n");
	examine(m, 0);
	assert_true(cs_doctor_is_well(&m->doctor));
	assert_string_equal(m->doctor.destination, "/cores");
	expect(m, "core-pattern", CS_CHECK_OK, "working directory");
	expect(m, "core-name", CS_CHECK_NOTE, "overwrite");
	cs_doctor_deinit(&m->doctor);
	put(m, "/proc/sys/kernel/core_uses_pid", "1\n");
	examine(m, 0);
	assert_null(find(m, "core-name"));
}

static void test_missing_folder(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern", "/no/such/core.%p\n");
	examine(m, 0);
	expect(m, "core-folder", CS_CHECK_PROBLEM, "/no/such");
	cs_doctor_deinit(&m->doctor);
	put(m, "/proc/sys/kernel/core_pattern", "/proc/self/limits/core.%p\n");
	examine(m, 0);
	expect(m, "core-folder", CS_CHECK_PROBLEM, "/proc/self/limits");
	cs_doctor_deinit(&m->doctor);
	/* Made of the process's name: nothing to look at, and no false alarm. */
	put(m, "/proc/sys/kernel/core_pattern", "/cores/%e/core.%p\n");
	examine(m, 0);
	assert_null(find(m, "core-folder"));
	assert_true(cs_doctor_is_well(&m->doctor));
}

static void test_thrown_away(void **state)
{
	static const char *const patterns[] = {"|/bin/false\n",
					       "|/bin/true\n",
					       "|\n",
					       "\n",
					       "|helper %p\n",
					       "|/no/such/helper %p\n",
					       "@/run/no-such.socket\n"};
	struct machine *m = *state;

	put_well(m);
	for (size_t i = 0; i < CS_COUNT(patterns); i++) {
		put(m, "/proc/sys/kernel/core_pattern", patterns[i]);
		examine(m, 0);
		expect(m, "core-pattern", CS_CHECK_PROBLEM, "");
		cs_doctor_deinit(&m->doctor);
	}
}

static void test_other_program(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern", "|/opt/keep-cores %p %s\n");
	put(m, "/opt/keep-cores", "");
	put(m, "/proc/self/limits", NONE);
	examine(m, 0);
	/* The kernel pipes a core whatever the limit is. */
	assert_true(cs_doctor_is_well(&m->doctor));
	expect(m, "core-pattern", CS_CHECK_OK, "/opt/keep-cores");
	assert_int_equal(m->doctor.sink, CS_SINK_PROGRAM);
}

static void put_systemd(struct machine *m)
{
	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern",
	    "|/usr/lib/systemd/systemd-coredump %P %u %g %s %t 9223372036854775808 %h\n");
	put(m, "/usr/lib/systemd/systemd-coredump", "");
}

static void test_systemd(void **state)
{
	struct machine *m = *state;

	put_systemd(m);
	examine(m, 0);
	assert_true(cs_doctor_is_well(&m->doctor));
	assert_string_equal(m->doctor.destination, "/var/lib/systemd/coredump");
	expect(m, "systemd-storage", CS_CHECK_OK, "coredumpctl");
	expect(m, "systemd-size", CS_CHECK_OK, "not set");
	cs_doctor_deinit(&m->doctor);

	put(m, "/proc/self/limits", NONE);
	examine(m, 0);
	expect(m, "core-limit", CS_CHECK_PROBLEM, "systemd-coredump heeds the limit");
	cs_doctor_deinit(&m->doctor);

	put(m, "/proc/self/limits", UNLIMITED);
	put(m, "/etc/systemd/coredump.conf",
	    "[Coredump]\n#Storage=none\nExternalSizeMax = 0\n");
	examine(m, 0);
	expect(m, "systemd-size", CS_CHECK_PROBLEM, "ExternalSizeMax=0");
	cs_doctor_deinit(&m->doctor);

	/* A file in the folder is stronger than the main one. */
	put(m, "/etc/systemd/coredump.conf.d/50-none.conf", "[Coredump]\nStorage=none\n");
	examine(m, 0);
	expect(m, "systemd-storage", CS_CHECK_PROBLEM, "Storage=none");
	assert_null(m->doctor.destination);
}

static void test_systemd_size_against_memory(void **state)
{
	struct machine *m = *state;

	put_systemd(m);
	put(m, "/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
	put(m, "/etc/systemd/coredump.conf",
	    "[Coredump]\nExternalSizeMax=2G\nKeepFree=1G\n");
	examine(m, 0);
	expect(m, "systemd-size", CS_CHECK_NOTE, "ExternalSizeMax=2G");
	expect(m, "systemd-storage", CS_CHECK_OK, "KeepFree=1G");
	cs_doctor_deinit(&m->doctor);
	put(m, "/etc/systemd/coredump.conf", "[Coredump]\nExternalSizeMax=infinity\n");
	examine(m, 0);
	expect(m, "systemd-size", CS_CHECK_OK, "infinity");
}

static void test_apport(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern",
	    "|/usr/share/apport/apport -p%p -s%s -c%c -d%d -P%P -u%u -g%g -F%F -- %E\n");
	put(m, "/proc/sys/kernel/core_pipe_limit", "10\n");
	put(m, "/usr/share/apport/apport", "");
	examine(m, 0);
	assert_true(cs_doctor_is_well(&m->doctor));
	expect(m, "apport", CS_CHECK_NOTE, "/var/lib/apport/coredump");
	assert_non_null(strstr(find(m, "apport")->fixes[0].command, "unpackaged=true"));
	expect(m, "core-pipe-limit", CS_CHECK_NOTE, "10");
	cs_doctor_deinit(&m->doctor);
	put(m, "/proc/self/limits", NONE);
	examine(m, 0);
	expect(m, "core-limit", CS_CHECK_PROBLEM, "/var/crash");
}

static void test_abrt(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/kernel/core_pattern",
	    "|/usr/libexec/abrt-hook-ccpp %s %c %p %u %g %t %P %I\n");
	put(m, "/usr/libexec/abrt-hook-ccpp", "");
	put(m, "/etc/abrt/abrt-action-save-package-data.conf",
	    "OpenGPGCheck = yes\nProcessUnpackaged = no\n");
	examine(m, 0);
	expect(m, "abrt", CS_CHECK_PROBLEM, "ProcessUnpackaged = no");
	assert_string_equal(m->doctor.destination, "/var/spool/abrt");
	cs_doctor_deinit(&m->doctor);
	put(m, "/etc/abrt/abrt-action-save-package-data.conf",
	    "ProcessUnpackaged = yes\n");
	examine(m, 0);
	expect(m, "abrt", CS_CHECK_OK, "abrt list");
	assert_true(cs_doctor_is_well(&m->doctor));
}

static void test_container(void **state)
{
	static const struct {
		const char *path, *text, *kind;
	} cases[] = {
		{"/proc/self/cgroup", "0::/kubepods/burstable/pod1/2\n", "kubernetes"},
		{"/.dockerenv", "", "docker"},
		{"/run/.containerenv", "", "podman"},
		{"/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"},
	};
	struct machine *m = *state;
	char path[512];

	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		put_well(m);
		put(m, cases[i].path, cases[i].text);
		examine(m, 0);
		assert_non_null(m->doctor.container);
		assert_string_equal(m->doctor.container, cases[i].kind);
		expect(m, "core-container", CS_CHECK_NOTE, "/cores");
		assert_true(cs_doctor_is_well(&m->doctor));
		cs_doctor_deinit(&m->doctor);
		snprintf(path, sizeof(path), "%s%s", m->root, cases[i].path);
		unlink(path);
		snprintf(path, sizeof(path), "%s/proc/self/cwd", m->root);
		unlink(path);
	}
	/* The handler of the host cannot be seen from here, which is no reason to call it
	 * missing. */
	put_well(m);
	put(m, "/.dockerenv", "");
	put(m, "/proc/sys/kernel/core_pattern",
	    "|/usr/lib/systemd/systemd-coredump %P\n");
	examine(m, 0);
	expect(m, "core-pattern", CS_CHECK_NOTE, "runs on the host");
	assert_string_equal(m->doctor.destination, "/var/lib/systemd/coredump");
	assert_true(cs_doctor_is_well(&m->doctor));
}

static void test_filter(void **state)
{
	static const struct {
		const char *filter;
		enum cs_check_result result;
		const char *part;
	} cases[] = {
		{"00000000\n", CS_CHECK_PROBLEM, "neither stacks nor heap"},
		{"00000032\n", CS_CHECK_PROBLEM, "0x32"},
		{"00000023\n", CS_CHECK_NOTE, "build ids"},
		{"00000033\n", CS_CHECK_OK, "0x3f"},
		{"0000003f\n", CS_CHECK_OK, "saved too"},
	};
	struct machine *m = *state;

	put_well(m);
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		put(m, "/proc/self/coredump_filter", cases[i].filter);
		examine(m, 0);
		expect(m, "coredump-filter", cases[i].result, cases[i].part);
		cs_doctor_deinit(&m->doctor);
	}
}

static void test_kernel_and_memory(void **state)
{
	struct machine *m = *state;

	put_well(m);
	put(m, "/proc/sys/fs/suid_dumpable", "2\n");
	put(m, "/proc/sys/kernel/yama/ptrace_scope", "1\n");
	put(m, "/sys/fs/cgroup/cgroup.controllers", "memory\n");
	put(m, "/sys/fs/cgroup/user.slice/memory.max", "8589934592\n");
	put(m, "/sys/fs/cgroup/user.slice/memory.events", "low 0\noom 3\noom_kill 2\n");
	examine(m, 0);
	expect(m, "suid-dumpable", CS_CHECK_OK, "root alone");
	expect(m, "ptrace-scope", CS_CHECK_NOTE, "1:");
	expect(m, "memory-limit", CS_CHECK_NOTE, "8.0 GiB");
	expect(m, "oom-kills", CS_CHECK_NOTE, "2");
	cs_doctor_deinit(&m->doctor);
	put(m, "/sys/fs/cgroup/user.slice/memory.max", "max\n");
	put(m, "/sys/fs/cgroup/user.slice/memory.events", "oom 0\noom_kill 0\n");
	examine(m, 0);
	assert_null(find(m, "memory-limit"));
	assert_null(find(m, "oom-kills"));
}

static void test_process(void **state)
{
	struct machine *m = *state;
	const struct cs_doctor_env nobody = {.root = m->root, .pid = 43};
	struct cs_error *err;

	put_well(m);
	put(m, "/proc/42/limits", NONE);
	put(m, "/proc/42/coredump_filter", "00000031\n");
	put(m, "/proc/42/status",
	    "Name:\tpython\nUid:\t0\t0\t0\t0\nVmRSS:\t  99999999999 "
	    "kB\nSigIgn:\t0000000000000020\n"
	    "SigCgt:\t0000000000000400\n");
	put_link(m, "/proc/42/cwd", "/cores");
	put_link(m, "/proc/42/root", "../..");
	examine(m, 42);
	assert_false(cs_doctor_is_well(&m->doctor));
	expect(m, "core-limit", CS_CHECK_PROBLEM, "0 (at most unlimited)");
	assert_string_equal(find(m, "core-limit")->fixes[0].command,
			    "prlimit --pid 42 --core=unlimited");
	expect(m, "coredump-filter", CS_CHECK_OK, "0x31");
	expect(m, "core-folder", CS_CHECK_OK, "/cores");
	expect(m, "disk-space", CS_CHECK_PROBLEM, "does not fit");
	expect(m, "signals-caught", CS_CHECK_NOTE, "SIGSEGV");
	expect(m, "signals-ignored", CS_CHECK_NOTE, "SIGABRT");
	cs_doctor_deinit(&m->doctor);

	err = cs_doctor_run(&nobody, m->arena, &m->doctor);
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_NOT_FOUND);
	cs_error_destroy(err);
}

/* Nothing of /proc is there: all is unknown, nothing is claimed. */
static void test_empty_machine(void **state)
{
	struct machine *m = *state;

	examine(m, 0);
	expect(m, "core-pattern", CS_CHECK_NOTE, "cannot be read");
	expect(m, "core-limit", CS_CHECK_NOTE, "cannot be read");
	assert_null(m->doctor.destination);
}

static void test_reports(void **state)
{
	struct machine *m = *state;
	char *text = NULL;
	size_t len;
	FILE *out;
	json_t *report;

	put_well(m);
	put(m, "/proc/self/limits", NONE);
	examine(m, 0);
	out = open_memstream(&text, &len);
	assert_null(cs_doctor_report_text(&m->doctor, false, 40, out));
	fclose(out);
	assert_non_null(strstr(text, "No: 1 problem."));
	assert_non_null(strstr(text, "fix: ulimit -c unlimited"));
	assert_non_null(strstr(text, "Cores land in /cores"));
	assert_null(strchr(text, '\033'));
	/* No command is cut, however narrow the terminal. */
	assert_non_null(strstr(text, "or docker run --ulimit core=-1 ...\n"));
	free(text);
	out = open_memstream(&text, &len);
	assert_null(cs_doctor_report_json(&m->doctor, out));
	fclose(out);
	report = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(report);
	assert_string_equal(json_string_value(json_object_get(report, "schema")),
			    "corescan-doctor/1");
	assert_true(json_is_false(json_object_get(report, "would_leave_core")));
	assert_int_equal(json_array_size(json_object_get(report, "checks")),
			 m->doctor.checks.n);
	json_decref(report);
	free(text);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_well),
		CASE(test_limits),
		CASE(test_relative_pattern),
		CASE(test_missing_folder),
		CASE(test_thrown_away),
		CASE(test_other_program),
		CASE(test_systemd),
		CASE(test_systemd_size_against_memory),
		CASE(test_apport),
		CASE(test_abrt),
		CASE(test_container),
		CASE(test_filter),
		CASE(test_kernel_and_memory),
		CASE(test_process),
		CASE(test_empty_machine),
		CASE(test_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
