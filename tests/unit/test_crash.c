/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What killed a process, asked of real cores: each case runs a program that dies in a
 * known way, has the kernel write its core, and compares the analysis with what the
 * program itself knew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "corescan/analysis.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KNOWN (-1) /* the address is what the program wrote */
#define ANY (-2)   /* it cannot know it */
#define NONE (-3)  /* there is none */

struct expected {
	const char *way;
	int signal;
	enum cs_fault_class fault;
	const char *access; /* NULL: none */
	int address;
	const char *function; /* that summary must name; NULL: none */
	const char *summary;  /* a part of it */
	const char *message;  /* a part of it; NULL: there is none */
	bool reraised;
};

static const struct expected cases[] = {
	{"null-read", SIGSEGV, CS_FAULT_NULL, "read", KNOWN, "null_read",
	 "read of address 0x0, the NULL pointer", NULL, false},
	{"null-write", SIGSEGV, CS_FAULT_NULL, "write", KNOWN, "null_write",
	 "write to address 0x0", NULL, false},
	{"null-field", SIGSEGV, CS_FAULT_NULL, "read", KNOWN, "null_field",
	 "0x18, a small offset from NULL", NULL, false},
	{"jump-null", SIGSEGV, CS_FAULT_NULL, "execute", KNOWN, "jump_null",
	 "NULL function pointer", NULL, false},
	{"jump-data", SIGSEGV, CS_FAULT_EXECUTE_DATA, "execute", KNOWN, "jump_data",
	 "is data and not code", NULL, false},
	{"jump-unmapped", SIGSEGV, CS_FAULT_EXECUTE_DATA, "execute", KNOWN,
	 "jump_unmapped", "jump to address 0x123456789000", NULL, false},
	{"jump-wild", SIGSEGV, CS_FAULT_NON_CANONICAL, "execute", KNOWN, "jump_wild",
	 "jump to address 0xdeadbeefcafe0000", NULL, false},
	{"write-constant", SIGSEGV, CS_FAULT_PROTECTION, "write", KNOWN, "write_constant",
	 "may only be read", NULL, false},
	{"read-reserved", SIGSEGV, CS_FAULT_PROTECTION, "read", KNOWN, "read_reserved",
	 "may not be accessed", NULL, false},
	{"stack-main", SIGSEGV, CS_FAULT_STACK_OVERFLOW, "write", ANY, "recurse",
	 "stack overflow", NULL, false},
	{"stack-thread", SIGSEGV, CS_FAULT_STACK_OVERFLOW, "write", ANY, "recurse",
	 "stack overflow", NULL, false},
	{"use-after-unmap", SIGSEGV, CS_FAULT_UNMAPPED, "write", KNOWN, "use_after_unmap",
	 "where nothing is mapped", NULL, false},
	{"non-canonical", SIGSEGV, CS_FAULT_NON_CANONICAL, "read", KNOWN, "non_canonical",
	 "0x4141414141414140", NULL, false},
	{"past-end-of-file", SIGBUS, CS_FAULT_FILE_END, "read", KNOWN, "past_end_of_file",
	 "byte 8192 of mapped file /", NULL, false},
	{"divide-by-zero", SIGFPE, CS_FAULT_ARITHMETIC, NULL, ANY, "divide_by_zero",
	 "integer division by zero", NULL, false},
	{"divide-by-register", SIGFPE, CS_FAULT_ARITHMETIC, NULL, ANY,
	 "divide_by_register", "integer division by zero", NULL, false},
	{"divide-overflow", SIGFPE, CS_FAULT_ARITHMETIC, NULL, ANY, "divide_overflow",
	 "does not fit (such as INT_MIN / -1)", NULL, false},
	{"trap", SIGILL, CS_FAULT_ILLEGAL_INSTRUCTION, NULL, ANY, "trap",
	 "deliberate trap (ud2)", NULL, false},
	{"assert", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "fail_assertion",
	 "abort() by a failed assertion", "Assertion `ranks == 8' failed.", false},
	{"double-free", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "double_free",
	 "malloc: the heap is damaged", "double free or corruption", false},
	{"free-garbage", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "free_garbage",
	 "malloc: the heap is damaged", "free(): invalid pointer", false},
	{"smash-stack", SIGABRT, CS_FAULT_ABORT, NULL, NONE, NULL,
	 "the stack protector: a stack buffer overflow",
	 "*** stack smashing detected ***: terminated", false},
	{"overflow-fortified", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "overflow_fortified",
	 "_FORTIFY_SOURCE: a buffer overflow",
	 "*** buffer overflow detected ***: terminated", false},
	{"overflow-printed", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "in overflow_printed()",
	 "_FORTIFY_SOURCE: a buffer overflow", "*** buffer overflow detected ***", false},
	{"abort-thread", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "abort_thread",
	 "abort(), in abort_thread()", NULL, false},
	{"raise-segv", SIGSEGV, CS_FAULT_NONE, NULL, NONE, NULL,
	 "SIGSEGV sent by the process itself", NULL, false},
	{"reraise", SIGSEGV, CS_FAULT_NULL, "write", KNOWN, "fault_with_handler",
	 "write to address 0x28", NULL, true},
	{"reraise-info", SIGSEGV, CS_FAULT_NULL, "read", KNOWN, "fault_with_info",
	 "read of address 0x30", NULL, true},
	{"assert-handled", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "fail_assertion",
	 "abort() by a failed assertion", "Assertion `ranks == 8' failed.", true},
	{"handler-faults", SIGSEGV, CS_FAULT_NULL, "write", KNOWN, "fault_in_handler",
	 "write to address 0x40", NULL, false},
	{"misaligned", SIGSEGV, CS_FAULT_OTHER, "write", KNOWN, "misaligned",
	 "which the instruction needs aligned", NULL, false},
	{"privileged", SIGSEGV, CS_FAULT_OTHER, NULL, NONE, "privileged",
	 "privileged instruction may not be executed", NULL, false},
	{"self-modify", SIGSEGV, CS_FAULT_PROTECTION, "write", KNOWN, "write_code",
	 "may only be read and executed: it belongs to /", NULL, false},
	{"tail-of-page", SIGSEGV, CS_FAULT_UNMAPPED, "read", KNOWN, "tail_of_page",
	 "where nothing is mapped", NULL, false},
	{"overflow-handled", SIGSEGV, CS_FAULT_STACK_OVERFLOW, "write", ANY, "recurse",
	 "stack overflow", NULL, true},
	{"bus-handled", SIGBUS, CS_FAULT_FILE_END, "read", KNOWN, "past_end_of_file",
	 "mapped.bin", NULL, true},
};

/** One run of a program in a folder of its own. */
struct run {
	char folder[64];
	char core[512];
	uint64_t truth;
	bool has_truth;
	pid_t pid;
	const struct cs_analysis *analysis;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void run_end(struct run *r)
{
	cs_analysis_destroy(r->analysis);
	nftw(r->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void child(const char *folder, const char *const *argv)
{
	const struct rlimit cores = {RLIM_INFINITY, RLIM_INFINITY};

	if (chdir(folder) || setrlimit(RLIMIT_CORE, &cores) ||
	    !freopen("/dev/null", "w", stderr))
		_exit(96);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(95);
}

static void find_core(struct run *r)
{
	DIR *dir = opendir(r->folder);

	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		/* qemu writes the guest's core as "qemu_PROGRAM_TIME.core", and dies
		 * itself */
		if (!strncmp(e->d_name, "qemu_", 5) ||
		    (!strncmp(e->d_name, "core", 4) && !r->core[0]))
			snprintf(r->core, sizeof(r->core), "%s/%s", r->folder, e->d_name);
	closedir(dir);
}

static void read_truth(struct run *r)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/truth", r->folder);
	f = fopen(path, "r");
	if (!f)
		return;
	r->has_truth = fscanf(f, "%" SCNx64, &r->truth) == 1;
	fclose(f);
}

/** Wait until the program has written its truth: then it is where it wants to be. */
static void send_when_ready(struct run *r, int signo)
{
	for (int i = 0; i < 5000 && !r->has_truth; i++) {
		read_truth(r);
		usleep(1000);
	}
	kill(r->pid, signo);
}

/** Run @argv to its death and analyse its core; false if the kernel writes none here. */
static bool run_command(struct run *r, const char *const *argv, int signo)
{
	int status;

	*r = (struct run){.folder = "/tmp/corescan-test-XXXXXX"};
	assert_non_null(mkdtemp(r->folder));
	r->pid = fork();
	assert_true(r->pid >= 0);
	if (!r->pid)
		child(r->folder, argv);
	if (signo)
		send_when_ready(r, signo);
	assert_int_equal(waitpid(r->pid, &status, 0), r->pid);
	read_truth(r);
	find_core(r);
	if (!WIFSIGNALED(status) || !r->core[0]) {
		print_message("%s: status %#x and no core in %s; see "
			      "/proc/sys/kernel/core_pattern\n",
			      argv[0], (unsigned)status, r->folder);
		run_end(r);
		return false;
	}
	assert_null(cs_analyze(r->core, NULL, &r->analysis));
	return true;
}

static bool run_program(struct run *r, const char *program, const char *way, int signo)
{
	const char *const argv[] = {program,  way,        "--api-key",
				    "abc123", "--lr=0.1", NULL};

	return run_command(r, argv, signo);
}

static void contains(const char *text, const char *part)
{
	assert_non_null(text);
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void check_crash(const struct run *r, const struct expected *e)
{
	const struct cs_crash *c = &r->analysis->crash;

	print_message("%s: %s\n", e->way, c->summary ? c->summary : "(none)");
	assert_int_equal(c->signal, e->signal);
	assert_int_equal(c->fault, e->fault);
	assert_int_equal(c->reraised, e->reraised);
	contains(c->summary, e->summary);
	if (e->function)
		contains(c->summary, e->function);
	if (e->access) {
		assert_non_null(c->access);
		assert_string_equal(c->access, e->access);
	} else {
		assert_null(c->access);
	}
	if (e->address == KNOWN) {
		assert_true(r->has_truth);
		assert_true(c->has_address);
		assert_int_equal(c->address, r->truth);
	}
	if (e->address == NONE)
		assert_false(c->has_address);
	if (e->message)
		contains(c->message, e->message);
	else
		assert_null(c->message);
	if (e->fault == CS_FAULT_NULL && strcmp(e->access, "execute")) {
		assert_non_null(c->instruction);
		assert_non_null(c->operand);
	}
}

static void one_way(void **state)
{
	const struct expected *e = *state;
	struct run r;

	if (!run_program(&r, DIE, e->way, 0))
		skip();
	check_crash(&r, e);
	run_end(&r);
}

static void a_signal_from_outside_names_its_sender(void **state)
{
	struct run r;

	(void)state;
	if (!run_program(&r, DIE, "wait", SIGABRT))
		skip();
	assert_int_equal(r.analysis->crash.fault, CS_FAULT_NONE);
	assert_int_equal(r.analysis->crash.sender_pid, getpid());
	assert_int_equal(r.analysis->crash.sender_uid, getuid());
	assert_null(r.analysis->crash.message);
	run_end(&r);
}

static void the_process_is_described(void **state)
{
	const struct cs_process *p;
	struct run r;
	bool rank = false;

	(void)state;
	setenv("RANK", "3", 1);
	setenv("WORLD_SIZE", "8", 1);
	setenv("SLURM_LOCALID", "1", 1);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("CUDA_API_TOKEN", "visible-to-nobody", 1);
	setenv("MY_PRIVATE_THING", "visible-to-nobody", 1);
	setenv("TORCH_URL", "s3://me:visible-to-nobody@host/x", 1);
	if (!run_program(&r, DIE, "null-read", 0))
		skip();
	p = &r.analysis->process;
	assert_int_equal(p->pid, r.pid);
	assert_int_equal(p->ppid, getpid());
	assert_int_equal(p->uid, getuid());
	assert_int_equal(p->rank, 3);
	assert_int_equal(p->world_size, 8);
	assert_int_equal(p->local_rank, 1);
	assert_string_equal(p->executable, DIE);
	assert_true(p->command_complete);
	assert_int_equal(p->n_command, 5);
	assert_string_equal(p->command[1], "null-read");
	assert_string_equal(p->command[2], "--api-key");
	assert_string_equal(p->command[3], "***");
	assert_string_equal(p->command[4], "--lr=0.1");
	for (size_t i = 0; i < p->n_environment; i++) {
		const struct cs_variable *v = &p->environment[i];

		assert_null(strstr(v->value, "visible-to-nobody"));
		assert_string_not_equal(v->name, "MY_PRIVATE_THING");
		rank |= !strcmp(v->name, "RANK") && !strcmp(v->value, "3");
		if (i)
			assert_true(strcmp(p->environment[i - 1].name, v->name) < 0);
	}
	assert_true(rank);
	assert_true(p->n_environment_hidden >= 1);
	run_end(&r);
}

static const char *version_of(const struct cs_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->n_versions; i++)
		if (!strcmp(a->versions[i].name, name))
			return a->versions[i].value;
	return NULL;
}

/** The version that the C library itself says. */
extern const char *gnu_get_libc_version(void);

static void the_version_of_glibc_is_read(void **state)
{
	struct run r;

	(void)state;
	if (!run_program(&r, DIE, "null-read", 0))
		skip();
	assert_non_null(version_of(r.analysis, "glibc"));
	assert_string_equal(version_of(r.analysis, "glibc"), gnu_get_libc_version());
	run_end(&r);
}

static void the_version_of_python_is_read(void **state)
{
	static const char *const argv[] = {"python3", "-c",
					   "import os, platform; open('version', "
					   "'w').write(platform.python_version());"
					   "os.abort()",
					   NULL};
	char path[128], version[32] = "";
	struct run r;
	FILE *f;

	(void)state;
	if (!run_command(&r, argv, 0))
		skip();
	snprintf(path, sizeof(path), "%s/version", r.folder);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(version, sizeof(version), f));
	fclose(f);
	assert_non_null(version_of(r.analysis, "python"));
	assert_string_equal(version_of(r.analysis, "python"), version);
	run_end(&r);
}

/** Its handler has no SA_SIGINFO and raises the signal again: nearly every Python core
 * looks like this. */
static void faulthandler_is_seen_through(void **state)
{
	static const char *const argv[] = {"python3",
					   "-X",
					   "faulthandler",
					   "-c",
					   "import ctypes; ctypes.string_at(0x4321)",
					   NULL};
	struct run r;

	(void)state;
	if (!run_command(&r, argv, 0))
		skip();
	assert_true(r.analysis->crash.reraised);
	assert_int_equal(r.analysis->crash.signal, SIGSEGV);
	assert_int_equal(r.analysis->crash.address, 0x4321);
	assert_string_equal(r.analysis->crash.access, "read");
	assert_int_equal(r.analysis->crash.fault, CS_FAULT_NULL);
	contains(r.analysis->crash.summary, " called from ");
	run_end(&r);
}

/** qemu's cores have no siginfo: the instruction is all there is. */
static void aarch64_faults_come_from_the_instruction(void **state)
{
	static const struct expected ways[] = {
		{"null-field", SIGSEGV, CS_FAULT_NULL, "read", KNOWN, "null_field",
		 "0x18, a small offset from NULL", NULL, false},
		{"null-write", SIGSEGV, CS_FAULT_NULL, "write", KNOWN, "null_write",
		 "write to address 0x0", NULL, false},
		{"jump-data", SIGSEGV, CS_FAULT_EXECUTE_DATA, "execute", KNOWN,
		 "jump_data", "is data and not code", NULL, false},
		{"read-reserved", SIGSEGV, CS_FAULT_PROTECTION, "read", KNOWN,
		 "read_reserved", "may not be accessed", NULL, false},
		{"non-canonical", SIGSEGV, CS_FAULT_NON_CANONICAL, "read", KNOWN,
		 "non_canonical", "which no program can map", NULL, false},
		{"stack-main", SIGSEGV, CS_FAULT_STACK_OVERFLOW, "write", ANY, "recurse",
		 "stack overflow", NULL, false},
		{"reraise", SIGSEGV, CS_FAULT_NULL, "write", KNOWN, "fault_with_handler",
		 "write to address 0x28", NULL, true},
		{"assert", SIGABRT, CS_FAULT_ABORT, NULL, NONE, "fail_assertion",
		 "abort() by a failed assertion", "Assertion `ranks == 8' failed.", false},
	};
	struct run r;

	(void)state;
	if (access(DIE_ARM64, X_OK))
		skip();
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const char *const argv[] = {"qemu-aarch64", DIE_ARM64, ways[i].way, NULL};

		if (!run_command(&r, argv, 0))
			skip();
		assert_string_equal(r.analysis->process.machine, "aarch64");
		check_crash(&r, &ways[i]);
		run_end(&r);
	}
}

/* Without a libc.so of its own the last words are in the program itself. */
static void static_programs_speak_too(void **state)
{
	static const char *const ways[] = {"assert", "double-free", "smash-stack"};
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
			if (strcmp(cases[k].way, ways[i]))
				continue;
			if (!run_program(&r, DIE_STATIC, ways[i], 0))
				skip();
			check_crash(&r, &cases[k]);
			run_end(&r);
		}
	}
}

static void exceptions_end_in_terminate(void **state)
{
	struct run r;

	(void)state;
	if (access(THROW, X_OK) || !run_program(&r, THROW, "throw", 0))
		skip();
	assert_int_equal(r.analysis->crash.fault, CS_FAULT_ABORT);
	contains(r.analysis->crash.summary, "abort() by std::terminate");
	contains(r.analysis->crash.summary, "in sample::fail()");
	run_end(&r);
}

static void pure_virtual_calls_are_told(void **state)
{
	struct run r;

	(void)state;
	if (access(THROW, X_OK) || !run_program(&r, THROW, "pure", 0))
		skip();
	contains(r.analysis->crash.summary,
		 "abort() by a call of a pure virtual function");
	contains(r.analysis->crash.summary, "in sample::call()");
	run_end(&r);
}

int main(void)
{
	const size_t n = sizeof(cases) / sizeof(*cases);
	struct CMUnitTest tests[sizeof(cases) / sizeof(*cases) + 16];
	size_t at = 0;

	for (; at < n; at++)
		tests[at] = (struct CMUnitTest){cases[at].way, one_way, NULL, NULL,
						(void *)(uintptr_t)&cases[at]};
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(
		a_signal_from_outside_names_its_sender);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(the_process_is_described);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(the_version_of_glibc_is_read);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(the_version_of_python_is_read);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(faulthandler_is_seen_through);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(
		aarch64_faults_come_from_the_instruction);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(static_programs_speak_too);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(exceptions_end_in_terminate);
	tests[at++] = (struct CMUnitTest)cmocka_unit_test(pure_virtual_calls_are_told);
	return _cmocka_run_group_tests("crash", tests, at, NULL, NULL);
}
