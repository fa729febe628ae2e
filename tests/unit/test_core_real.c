/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores that the kernel and gdb write of a process of this program's own, against what that process said
 * of itself and against eu-readelf. Skipped where the kernel gives cores to a handler or writes none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/core.h"
#include "core_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct said *shared;

/** @folder gets the core; the process's own words are in shared. */
static pid_t start(const char *folder, bool dies)
{
	static const char *const env[] = {"RANK=3", "EMPTY=", "TEXT=a b=c", NULL};
	int fd = memfd_create("said", 0);
	char number[16];
	pid_t pid;

	assert_int_equal(ftruncate(fd, 4096), 0);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	snprintf(number, sizeof(number), "%d", fd);
	pid = fork();
	if (!pid) {
		struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
		const char *argv[] = {"a process", dies ? "die" : "wait", number, "", "last \xff word", NULL};

		setrlimit(RLIMIT_CORE, &all);
		if (chdir(folder) == 0)
			execve(CORE_PROCESS, (char **)argv, (char **)env);
		_exit(99);
	}
	close(fd);
	return pid;
}

struct opened {
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_core *core;
	struct cs_target *target;
	struct cs_mem *mem;
};

static void open_core(const char *path, struct opened *o)
{
	struct cs_error *err;

	*o = (struct opened){.arena = cs_arena_create(1UL << 20)};
	o->diags.arena = o->arena;
	err = cs_core_open(path, NULL, &o->diags, &o->core);
	if (err)
		fail_msg("%s", cs_error_message(err));
	o->target = cs_core_target(o->core);
	assert_null(cs_mem_create(o->target, &o->mem));
	assert_int_equal(o->diags.list.n, 0);
	assert_true(cs_core_info(o->core)->complete);
}

static void done(struct opened *o)
{
	cs_mem_destroy(o->mem);
	cs_core_close(o->core);
	free(o->diags.list.v);
	cs_arena_destroy(o->arena);
}

static size_t thread_of(const struct opened *o, int32_t tid)
{
	for (size_t i = 0; i < o->target->n_threads; i++)
		if (o->target->threads[i].tid == tid)
			return i;
	fail_msg("thread %d is not there", tid);
	return 0;
}

static void check_strings(struct opened *o, const char *verb)
{
	struct cs_core_strings s;

	assert_null(cs_core_strings(o->core, o->mem, &s));
	assert_int_equal(s.n_argv, 5);
	assert_string_equal(s.argv[0], "a process");
	assert_string_equal(s.argv[1], verb);
	assert_string_equal(s.argv[3], "");
	assert_string_equal(s.argv[4], "last \xff word");
	assert_int_equal(s.n_envp, 3);
	assert_string_equal(s.envp[0], "RANK=3");
	assert_string_equal(s.envp[1], "EMPTY=");
	assert_string_equal(s.envp[2], "TEXT=a b=c");
	cs_core_strings_deinit(&s);
}

/** What both writers must give: ids, threads, arguments, memory, and the program's own mapping. */
static void check_common(struct opened *o, const char *verb)
{
	const struct cs_core_info *info = cs_core_info(o->core);
	const struct cs_mapping *m;
	uint64_t entry;

	assert_int_equal(info->pid, shared->pid);
	assert_int_equal(info->ppid, getpid());
	assert_int_equal(info->uid, getuid());
	assert_int_equal(o->target->n_threads, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		size_t t = thread_of(o, shared->tids[i]);

		assert_int_equal(o->target->threads[t].signal, 0);
	}
	check_strings(o, verb);
	assert_true(cs_core_auxv(o->core, 9, &entry)); /* AT_ENTRY */
	m = cs_mem_mapping(o->mem, entry);
	assert_non_null(m);
	assert_non_null(strstr(m->path, "core_process"));
}

static void output_of(const char *command, char *out, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n = f ? fread(out, 1, size - 1, f) : 0;

	out[n] = 0;
	if (f)
		pclose(f);
}

/** eu-readelf prints the same thread ids in the same order. */
static void check_against_readelf(const struct opened *o, const char *path)
{
	static char out[1 << 20];
	char command[4200], *at = out;
	size_t n = 0;

	snprintf(command, sizeof(command),
		 "eu-readelf -n %s 2>/dev/null | grep -E '^ *info.si_signo|^ *pid:'", path);
	output_of(command, out, sizeof(out));
	while ((at = strstr(at, "info.si_signo"))) {
		char *pid = strstr(at, "pid:");

		if (!pid || n == o->target->n_threads)
			break;
		assert_int_equal(atoi(pid + 4), o->target->threads[n].tid);
		n++;
		at = pid;
	}
	if (out[0])
		assert_int_equal(n, o->target->n_threads);
}

static void remove_folder(const char *folder)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		perror(folder);
}

static bool core_in(const char *folder, pid_t pid, char path[256])
{
	snprintf(path, 256, "%s/core", folder);
	if (!access(path, R_OK))
		return true;
	snprintf(path, 256, "%s/core.%d", folder, pid);
	return !access(path, R_OK);
}

static void core_of_the_kernel(void **state)
{
	char folder[] = "/var/tmp/corescan-real.XXXXXX", path[256];
	const struct cs_siginfo *s;
	struct cs_regs regs;
	struct opened o;
	uint64_t v = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(folder));
	pid = start(folder, true);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	if (!core_in(folder, pid, path)) {
		print_message("no core: see /proc/sys/kernel/core_pattern and ulimit -Hc\n");
		remove_folder(folder);
		skip();
	}
	open_core(path, &o);
	check_common(&o, "die");
	assert_string_equal(cs_core_info(o.core)->writer, "kernel");
	assert_int_equal(cs_core_info(o.core)->crashed_thread, 0);
	assert_int_equal(o.target->threads[0].tid, shared->crashing_tid);
	assert_int_equal(o.target->threads[0].signal, SIGSEGV);
	s = cs_core_siginfo(o.core, 0);
	assert_true(s->present && s->signo == SIGSEGV && s->code == SEGV_MAPERR);
	assert_true(s->address == shared->fault);
	assert_null(o.target->ops->registers(o.target, 0, &regs));
	assert_true(cs_regs_get(&regs, cs_core_arch(o.core)->pc, &v));
	assert_true(v == shared->code_begin);
	assert_true(cs_regs_get(&regs, cs_core_arch(o.core)->sp, &v));
	assert_true(v <= shared->sp && shared->sp - v < 4096);
	assert_true(cs_mem_region(o.mem, shared->code_begin)->prot & CS_PROT_EXEC);
	check_against_readelf(&o, path);
	done(&o);
	remove_folder(folder);
}

static void core_of_gdb(void **state)
{
	char folder[] = "/var/tmp/corescan-real.XXXXXX", path[256], command[512];
	struct opened o;
	pid_t pid;

	(void)state;
	if (system("command -v gdb >/dev/null") != 0)
		skip();
	assert_non_null(mkdtemp(folder));
	pid = start(folder, false);
	for (int i = 0; i < 1000 && !((volatile struct said *)shared)->fault; i++)
		usleep(10000);
	snprintf(path, sizeof(path), "%s/gcore", folder);
	snprintf(command, sizeof(command),
		 "gdb -nx -q -batch -p %d -ex 'generate-core-file %s' >/dev/null 2>&1", pid,
		 path);
	if (system(command) != 0 || access(path, R_OK)) {
		print_message("no core: gdb may not attach to a process\n");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		remove_folder(folder);
		skip();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	open_core(path, &o);
	check_common(&o, "wait");
	assert_string_equal(cs_core_info(o.core)->writer, "gdb");
	assert_int_equal(cs_core_info(o.core)->crashed_thread, o.target->n_threads); /* none did */
	check_against_readelf(&o, path);
	done(&o);
	remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(core_of_the_kernel),
		cmocka_unit_test(core_of_gdb),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
