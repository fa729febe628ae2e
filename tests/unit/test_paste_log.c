/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What logs, launchers, schedulers and the kernel say of an end; and what people say that
 * tells of none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/util.h"
#include "paste/paste.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each report: "kind signal exit pid source|thread frame|message|message;", without what
 * is not known. */
static struct cs_error *print(void *arg, const struct cs_paste *paste)
{
	static const char *const kinds[] = {"unknown", "crash", "hang", "oom"};
	FILE *out = arg;

	fprintf(out, "%s", kinds[paste->kind]);
	if (paste->signal)
		fprintf(out, " %s", paste->signal);
	if (paste->has_exit)
		fprintf(out, " %d", paste->exit);
	if (paste->pid)
		fprintf(out, " pid %d", paste->pid);
	if (paste->source)
		fprintf(out, " <%s>", paste->source);
	for (size_t i = 0; i < paste->n_threads; i++) {
		const struct cs_paste_thread *t = &paste->threads[i];

		fprintf(out, "|T%s", t->crashed ? "*" : "");
		if (t->tid)
			fprintf(out, " %d", t->tid);
		if (t->name)
			fprintf(out, " %s", t->name);
		for (size_t k = 0; k < t->n_frames; k++)
			fprintf(out, " %s(%s)",
				t->frames[k].function ? t->frames[k].function : "?",
				t->frames[k].library ? t->frames[k].library : "");
	}
	for (size_t i = 0; i < paste->n_messages; i++)
		fprintf(out, "|%s", paste->messages[i]);
	for (size_t i = 0; i < paste->n_versions; i++)
		fprintf(out, "|%s=%s", paste->versions[i].name, paste->versions[i].value);
	for (size_t i = 0; i < paste->n_environment; i++)
		fprintf(out, "|%s=%s", paste->environment[i].name,
			paste->environment[i].value);
	fprintf(out, ";");
	return NULL;
}

static void check(const char *text, const char *want)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r"), *out;
	char *got = NULL;
	size_t size;

	out = open_memstream(&got, &size);
	assert_non_null(in);
	assert_non_null(out);
	assert_null(cs_paste_read(in, print, out));
	fclose(in);
	fclose(out);
	if (strcmp(got, want))
		fail_msg("%s\ngave: %s\nnot:  %s", text, got, want);
	free(got);
}

struct row {
	const char *text, *want;
};

#define CHECK(rows)                                                                      \
	for (size_t i = 0; i < CS_COUNT(rows); i++)                                      \
	check((rows)[i].text, (rows)[i].want)
/* The whole line is the message, and nothing else is known but @is. */
#define SAME(is, line)                                                                   \
	{                                                                                \
		line "\n", is "|" line ";"                                               \
	}

static void test_shells(void **state)
{
	static const struct row rows[] = {
		SAME("crash SIGSEGV", "Segmentation fault (core dumped)"),
		SAME("crash SIGABRT", "Aborted (core dumped)"),
		SAME("crash SIGKILL", "Killed"),
		SAME("crash SIGKILL", "Killed: 9"),
		SAME("crash SIGFPE", "Arithmetic exception (core dumped)"),
		SAME("crash SIGABRT", "Abort trap: 6"),
		SAME("crash SIGILL", "zsh: illegal hardware instruction  python x.py"),
		SAME("crash SIGKILL 137", "worker-1 exited with code 137"),
		SAME("crash SIGSEGV 139",
		     "abc123  image  \"python\"  2 days ago  Exited (139) 2 minutes ago"),
		SAME("crash SIGBUS", "Bus error (core dumped)"),
		SAME("crash SIGKILL",
		     "./run.sh: line 3:   123 Killed                  python train.py"),
		SAME("crash SIGSEGV",
		     "zsh: segmentation fault (core dumped)  python train.py"),
		SAME("crash SIGBUS", "[1]    4939 bus error  python demo_network.py"),
		SAME("crash SIGSEGV 139", "Process finished with exit code 139 "
					  "(interrupted by signal 11: SIGSEGV)"),
		SAME("crash SIGKILL 137", "Process finished with exit code 137"),
		SAME("crash 1", "Process finished with exit code 1"),
		SAME("crash SIGKILL -9",
		     "[launch.py] ['python', 'x.py'] exits with return code = -9"),
		SAME("crash SIGBUS -7", "worker 3 has failed (exitcode -7)"),
		SAME("crash SIGKILL",
		     "Command '['python']' died with <Signals.SIGKILL: 9>."),
		SAME("crash SIGSEGV", "process 0 terminated with signal SIGSEGV"),
		SAME("crash SIGSEGV",
		     "x.service: Main process exited, code=dumped, status=11/SEGV"),
		SAME("crash 3", "x.service: Main process exited, code=exited, "
				"status=3/NOTIMPLEMENTED"),
		SAME("oom", "x.service: Failed with result 'oom-kill'."),
		{"Process finished with exit code 0\n", ""},
		SAME("crash", "Killed processes are counted"),
		{"I always get Segmentation fault here\n", ""},
	};

	(void)state;
	CHECK(rows);
}

static void test_schedulers(void **state)
{
	static const struct row rows[] = {
		SAME("crash SIGKILL", "srun: error: node1: task 3: Killed"),
		SAME("crash SIGSEGV",
		     "srun: error: node1: tasks 0-7: Segmentation fault (core dumped)"),
		SAME("crash SIGABRT 134",
		     "srun: error: node1: task 0: Exited with exit code 134"),
		SAME("oom", "srun: error: node1: task 0: Out Of Memory"),
		SAME("oom",
		     "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0."),
		SAME("oom", "slurmstepd: error: Some of your processes may have been "
			    "killed by the cgroup "
			    "out-of-memory handler."),
		SAME("crash", "slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT "
			      "2024-05-01T12:00:00 DUE TO "
			      "TIME LIMIT ***"),
		SAME("crash SIGSEGV", "mpirun noticed that process rank 3 with PID 17 on "
				      "node n1 exited on signal 11 "
				      "(Segmentation fault)."),
		{"    Last State:     Terminated\n      Reason:       OOMKilled\n      "
		 "Exit Code:    137\n",
		 "oom SIGKILL 137|Last State:     Terminated\nReason:       OOMKilled\n"
		 "Exit Code:    137;"},
		SAME("crash", "(raylet) A worker died or was killed while executing a "
			      "task by an unexpected system "
			      "error. Worker exit type: SYSTEM_ERROR"),
	};

	(void)state;
	CHECK(rows);
}

#define ROW(name, value) "  " name ": " value "\n"
#define FAILURE(number, rank, exit)                                                      \
	"[" number "]:\n" ROW("time      ", "2025-03-25_20:57:27")                       \
		ROW("host      ", "node1")                                               \
			ROW("rank      ", rank " (local_rank: " rank ")")                \
				ROW("exitcode  ", exit " (pid: 263" rank ")")            \
					ROW("error_file", "<N/A>")
#define BOX "=====================================================\n"
#define LINE "-----------------------------------------------------\n"

/* Who failed first is the root cause; the others were stopped because of it. */
static void test_torchrun(void **state)
{
	static const struct row rows[] = {
		{BOX "train.py FAILED\n" LINE "Failures:\n" FAILURE("1", "6", "-15") LINE
		 "Root Cause (first observed failure):\n" FAILURE(
			 "0", "5", "-11") "  traceback : Signal 11 (SIGSEGV) received by "
					  "PID 2635\n" BOX
					  "Segmentation fault (core dumped)\n",
		 "crash SIGSEGV -11 pid 2635|exitcode : -15 (pid: 2636)|exitcode : -11 "
		 "(pid: 2635)|"
		 "traceback : Signal 11 (SIGSEGV) received by PID 2635|Segmentation "
		 "fault (core dumped);"},
		{"train.py FAILED\n" LINE "Failures:\n" FAILURE("0", "0", "-9") "text\n",
		 "crash SIGKILL -9|exitcode : -9 (pid: 2630);"},
		SAME("crash SIGKILL -9", "failed (exitcode: -9) local_rank: 5 (pid: "
					 "2630) of binary: /usr/bin/python"),
	};

	(void)state;
	CHECK(rows);
}

static void test_messages(void **state)
{
	static const struct row rows[] = {
		{"terminate called after throwing an instance of 'c10::Error'\n  what(): "
		 " CUDA error: x\n"
		 "CUDA kernel errors might be asynchronously reported at some other API "
		 "call.\n"
		 "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n\nepoch 3\n",
		 "crash|terminate called after throwing an instance of "
		 "'c10::Error'\nwhat():  CUDA error: x\n"
		 "CUDA kernel errors might be asynchronously reported at some other API "
		 "call.\n"
		 "For debugging consider passing CUDA_LAUNCH_BLOCKING=1.;"},
		SAME("crash", "terminate called without an active exception"),
		{"[rank4]:[E318 07:39:53.792795153 ProcessGroupNCCL.cpp:636] [Rank 4] We "
		 "are going down.\n",
		 "crash <rank4>|[Rank 4] We are going down.;"},
		{"RuntimeError:\n        An attempt has been made to start a new process "
		 "before the\n"
		 "        current process has finished its bootstrapping phase.\n",
		 "crash|RuntimeError:\nAn attempt has been made to start a new process "
		 "before the\n"
		 "current process has finished its bootstrapping phase.;"},
		SAME("crash",
		     "thread main panicked: not initialized: IOError(Os { code: 11 })"),
		{"terminate called after throwing an instance of "
		 "'c10::DistBackendError'\n"
		 "  what():  NCCL error in: ../a.cpp:1970, remote process exited, NCCL "
		 "version 2.18.5\n"
		 "ncclRemoteError: A call failed possibly due to a network error.\nLast "
		 "error:\n"
		 "NET/IB : Got completion from peer 10.0.0.1<1> with error 12\n",
		 "crash|terminate called after throwing an instance of "
		 "'c10::DistBackendError'\n"
		 "what():  NCCL error in: ../a.cpp:1970, remote process exited, NCCL "
		 "version 2.18.5\n"
		 "ncclRemoteError: A call failed possibly due to a network error.\nLast "
		 "error:\n"
		 "NET/IB : Got completion from peer 10.0.0.1<1> with error "
		 "12|nccl=2.18.5;"},
		SAME("crash", "*** Error in `python': double free or corruption (!prev): "
			      "0x000000000123 ***"),
		SAME("crash", "free(): invalid pointer"),
		SAME("crash", "corrupted size vs. prev_size"),
		SAME("crash", "*** stack smashing detected ***: terminated"),
		SAME("crash", "python: malloc.c:2401: sysmalloc: Assertion `old_top == "
			      "0' failed."),
		SAME("crash", "Inconsistency detected by ld.so: dl-open.c: 812: "
			      "_dl_open: Assertion `x' failed!"),
		SAME("crash",
		     "python: symbol lookup error: /x/liby.so: undefined symbol: f"),
		SAME("crash", "libgomp.so.1: cannot allocate memory in static TLS block"),
		SAME("crash", "F0501 12:34:56.789 123 client.cc:12] Check failed: a == b "
			      "(1 vs. 2)"),
		SAME("crash", "node1:534:1763 [3] misc/socket.cc:50 NCCL WARN Connect to "
			      "10.0.0.1<1> failed"),
		SAME("crash", "OMP: Error #15: Initializing libiomp5.so, but found "
			      "libomp.so already initialized."),
		{"========= Invalid __global__ read of size 4 bytes\n",
		 "crash|Invalid __global__ read of size 4 bytes;"},
		{"2024-05-01 12:00:00,123 - INFO - x - retry after a failed attempt\n",
		 ""},
		{"2024-05-01 12:00:00,123 - ERROR - x - it broke\n", ""},
		{"2024-05-01 12:00:00,123 - ERROR - x - it failed for node3\n",
		 "crash|it failed for node3;"},
		{"## free(): invalid pointer\n", "crash|free(): invalid pointer;"},
		{"When I train I see `RuntimeError: CUDA error: device-side assert "
		 "triggered`. Any idea?\n",
		 "crash|RuntimeError: CUDA error: device-side assert triggered;"},
	};

	(void)state;
	CHECK(rows);
}

/* The words of an error, of which none is told. */
static void test_nothing_is_said(void **state)
{
	static const char *const rows[] = {
		"I always get CUDA out of memory when I run this.",
		"How to fix this error?",
		"# Bug: training failed",
		"- [x] I have searched existing issues for this error",
		"    except RuntimeError as e:",
		"    raise ValueError(\"failed\")",
		"    logger.error(\"it failed\")",
		"assert x == y",
		"timeout: 600",
		"\"fail_on_error\": false,",
		"max_errors=5",
		"| error | what to do |",
		"step 100 loss 0.3 error_rate 0.1",
		"We think that the watchdog of NCCL is too strict.",
		"node1:534:1763 [3] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.",
		"Epoch 3: 100%|##########| 3/3 [00:01<00:00]",
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		check(rows[i], "");
}

static void test_separators(void **state)
{
#define A "free(): invalid pointer\n"
#define B "munmap_chunk(): invalid pointer\n"
#define TWO "crash|free(): invalid pointer;crash|munmap_chunk(): invalid pointer;"
	static const struct row rows[] = {
		{A "=====\n" B, TWO},
		{A "-----\n" B, TWO},
		{A "~~~~~~~~\n" B, TWO},
		{A "\f\n" B, TWO},
		{A "====\n" B,
		 "crash|free(): invalid pointer|munmap_chunk(): invalid pointer;"},
		{A "---- x y\n" B,
		 "crash|free(): invalid pointer|munmap_chunk(): invalid pointer;"},
		{A "==> rank1.log <==\n" B,
		 "crash|free(): invalid pointer;crash <rank1.log>|munmap_chunk(): "
		 "invalid pointer;"},
		{A "--- report 3 ---\n" B, "crash|free(): invalid pointer;crash <report "
					   "3>|munmap_chunk(): invalid pointer;"},
		{A "===== rank 5 =====\n" B, "crash|free(): invalid pointer;crash <rank "
					     "5>|munmap_chunk(): invalid pointer;"},
		{A "===== FAILURES =====\n" B,
		 "crash|free(): invalid pointer|munmap_chunk(): invalid pointer;"},
		{A "---------------------------------------------------------------------"
		   "-----\n" B,
		 "crash|free(): invalid pointer|munmap_chunk(): invalid pointer;"},
		{A "## Again\n" B,
		 "crash|free(): invalid pointer|munmap_chunk(): invalid pointer;"},
		{"#0  f () from /lib/libx.so\n#1  main () from /lib/libx.so\n## "
		 "Again\n" B,
		 "hang|T f(libx.so) main(libx.so);crash <Again>|munmap_chunk(): invalid "
		 "pointer;"},
		{"=====\n-----\n=====\n", ""},
		{"==> a <==\n=====\n info\n=====\nPyTorch version: 2.6.0\n=====\n "
		 "more\n=====\n" A,
		 "crash <a>|free(): invalid pointer|torch=2.6.0;"},
	};

	(void)state;
	CHECK(rows);
}

static void test_facts(void **state)
{
	static const struct row rows[] = {
		{A "PyTorch version: 2.6.0+cu124\nCUDA used to build PyTorch: 12.4\n"
		   "Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] "
		   "(64-bit runtime)\n"
		   "[pip3] numpy==1.26.4\nvllm                     0.6.3\n"
		   "node1:5:6 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n",
		 "crash|free(): invalid "
		 "pointer|torch=2.6.0+cu124|cuda=12.4|python=3.10.12|numpy=1.26.4|"
		 "vllm=0.6.3|nccl=2.21.5+cuda12.4;"},
		{"export NCCL_DEBUG=INFO\n$ CUDA_VISIBLE_DEVICES=0,1 "
		 "OMP_NUM_THREADS=\"1\" python x.py\n" A,
		 "crash|free(): invalid "
		 "pointer|NCCL_DEBUG=INFO|CUDA_VISIBLE_DEVICES=0,1|OMP_NUM_THREADS=1;"},
		{"I set NCCL_P2P_DISABLE=1 and it works\n" A,
		 "crash|free(): invalid pointer;"},
	};

	(void)state;
	CHECK(rows);
}

#define FAULT                                                                            \
	"python[17]: segfault at 0 ip 00007f01 sp 00007f02 error 4 in "                  \
	"libx.so.1[7f00+800]"

static void test_kernel(void **state)
{
	static const struct row rows[] = {
		{"[  12.345678] " FAULT "\n[  12.345679] Code: 48 8b\n",
		 "crash SIGSEGV pid 17|T* 17 python ?(libx.so.1)|" FAULT ";"},
		{FAULT "\npython[18]: segfault at 0 ip 00007f01 sp 00007f02 error 4\n",
		 "crash SIGSEGV pid 17|T* 17 python ?(libx.so.1)|" FAULT ";"
		 "crash SIGSEGV pid 18|python[18]: segfault at 0 ip 00007f01 sp 00007f02 "
		 "error 4;"},
		{"traps: pt_main[9] trap invalid opcode ip:7f sp:7f error:0 in "
		 "liby.so[7f+1]\n",
		 "crash SIGILL pid 9|T* 9 pt_main ?(liby.so)|traps: pt_main[9] trap "
		 "invalid opcode ip:7f sp:7f "
		 "error:0 in liby.so[7f+1];"},
		{"Nov 30 01:02:03 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=123, "
		 "name=python, GPU has fallen "
		 "off the bus.\n",
		 "crash pid 123|NVRM: Xid (PCI:0000:07:00): 79, pid=123, name=python, "
		 "GPU has fallen off the bus.;"},
		{"python[5]: unhandled level 2 translation fault (11) at 0x0, esr "
		 "0x92000046, in libx.so[7f+1]\n",
		 "crash SIGSEGV pid 5|T* 5 python ?(libx.so)|python[5]: unhandled level "
		 "2 translation fault "
		 "(11) at 0x0, esr 0x92000046, in libx.so[7f+1];"},
		{"Out of memory: Killed process 5 (python) total-vm:1kB\n",
		 "oom SIGKILL pid 5|Out of memory: Killed process 5 (python) "
		 "total-vm:1kB;"},
		{"[ 1.000000] INFO: task python:555 blocked for more than 120 seconds.\n"
		 "[ 1.000001]       Tainted: P OE 5.15\n"
		 "[ 1.000002] Call Trace:\n[ 1.000003]  <TASK>\n[ 1.000004]  "
		 "__schedule+0x2d1/0x870\n"
		 "[ 1.000005]  ? old+0x1/0x2\n[ 1.000006]  os_acquire_mutex+0x35/0x40 "
		 "[nvidia]\n"
		 "[ 1.000007]  </TASK>\n",
		 "hang pid 555|T 555 python __schedule() os_acquire_mutex(nvidia)|"
		 "INFO: task python:555 blocked for more than 120 "
		 "seconds.\n__schedule+0x2d1/0x870\n"
		 "os_acquire_mutex+0x35/0x40 [nvidia];"},
	};

	(void)state;
	CHECK(rows);
}

/* Ranks that write to one terminal: each has a report, with what its logger did not
 * label. */
static void test_ranks(void **state)
{
#define C10(rank, text)                                                                  \
	"[rank" rank "]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] " text "\n"
	static const struct row rows[] = {
		{"[rank0]: free(): invalid pointer\n[rank1]: munmap_chunk(): invalid "
		 "pointer\nKilled\n",
		 "crash <rank0>|free(): invalid pointer;crash <rank1>|munmap_chunk(): "
		 "invalid pointer;"
		 "crash SIGKILL|Killed;"},
		{C10("0", "[Rank 0] CUDA error: a") "CUDA kernel errors are late\n" C10(
			 "1", "[Rank 1] CUDA error: b") "CUDA kernel errors are later\n",
		 "crash <rank0>|[Rank 0] CUDA error: a\nCUDA kernel errors are late;"
		 "crash <rank1>|[Rank 1] CUDA error: b\nCUDA kernel errors are later;"},
	};

	(void)state;
	CHECK(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shells),          cmocka_unit_test(test_schedulers),
		cmocka_unit_test(test_torchrun),        cmocka_unit_test(test_messages),
		cmocka_unit_test(test_nothing_is_said), cmocka_unit_test(test_separators),
		cmocka_unit_test(test_facts),           cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
