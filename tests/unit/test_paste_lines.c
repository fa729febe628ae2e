/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of pasted text: what stands before and around them is taken off, and nothing of
 * the line's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "paste/paster.h"

#include <string.h>

struct row {
	const char *raw, *text, *label;
	char level;
	const char *whole; /* with the lead; NULL: as text */
};

static void check(const struct row *row)
{
	struct cs_strbuf scratch;
	struct cs_line line;
	const char *label = row->label ? row->label : "";

	cs_strbuf_init(&scratch, 4 * CS_MAX_PASTE_LINE);
	cs_line_clean(&scratch, row->raw, strlen(row->raw), &line);
	if (strcmp(line.text, row->text) || line.len != strlen(row->text) ||
	    strcmp(line.label ? line.label : "", label) || line.level != row->level ||
	    strcmp(line.text - line.lead, row->whole ? row->whole : row->text))
		fail_msg("%s\nbecame '%s' (whole '%s'), label %s, level %c", row->raw,
			 line.text, line.text - line.lead, line.label ? line.label : "-",
			 line.level ? line.level : '0');
	assert_int_equal(line.indent, strspn(line.text, " "));
	cs_strbuf_deinit(&scratch);
}

#define CHECK(rows)                                                                      \
	for (size_t i = 0; i < CS_COUNT(rows); i++)                                      \
	check(&(rows)[i])

static void test_labels(void **state)
{
	static const struct row rows[] = {
		{"[rank3]: Traceback (most recent call last):",
		 "Traceback (most recent call last):", "rank3", 0, NULL},
		{"[rank3]:   File \"a.py\", line 3, in f",
		 "  File \"a.py\", line 3, in f", "rank3", 0, NULL},
		{"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] "
		 "Watchdog caught",
		 "[Rank 0] Watchdog caught", "rank0", 'E', NULL},
		{"[80746] [rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] "
		 "[Rank 0] x",
		 "[Rank 0] x", "rank0", 'E', NULL},
		{"[default0]:[rank0]: Traceback (most", "Traceback (most", "default0", 0,
		 NULL},
		{"[default7]:Traceback (most", "Traceback (most", "default7", 0, NULL},
		{"[1,3]<stderr>:Segmentation fault", "Segmentation fault", "rank3", 0,
		 NULL},
		{"[1,13]<stdout>: x", "x", "rank13", 0, NULL},
		{"3: Traceback (most recent call last):",
		 "Traceback (most recent call last):", "task3", 0, NULL},
		{"3:   File \"a.py\", line 3, in f", "  File \"a.py\", line 3, in f",
		 "task3", 0, NULL},
		{"12: [rank12]: RuntimeError: x", "RuntimeError: x", "task12", 0, NULL},
		{" 3: torch.cuda.OutOfMemoryError: CUDA out of memory.",
		 "torch.cuda.OutOfMemoryError: CUDA out of memory.", "task3", 0, NULL},
		{"node1: [rank3]: RuntimeError: x", "RuntimeError: x", "node1 rank3", 0,
		 NULL},
		{"gpu-12: Traceback (most recent call last):",
		 "Traceback (most recent call last):", "gpu-12", 0, NULL},
		{"(Worker pid=123, ip=10.0.0.1) Traceback (", "Traceback (",
		 "Worker pid=123, ip=10.0.0.1", 0, NULL},
		{"(EngineCore_0 pid=123) ERROR 01-02 03:04:05 [core.py:12] RuntimeError: "
		 "x",
		 "RuntimeError: x", "EngineCore_0 pid=123", 'E', NULL},
		{"(VllmWorker rank=1 pid=123)   File \"a.py\", line 3, in f",
		 "  File \"a.py\", line 3, in f", "VllmWorker rank=1 pid=123", 0, NULL},
		{"worker-1  | Traceback (most recent", "Traceback (most recent",
		 "worker-1", 0, NULL},
		{"worker_1  |   File \"a.py\", line 3", "  File \"a.py\", line 3",
		 "worker_1", 0, NULL},
		{"[2025-01-01 12:00:00 TP0] Scheduler hit an exception: Traceback (most "
		 "recent call last):",
		 "Scheduler hit an exception: Traceback (most recent call last):", "TP0",
		 '-', NULL},
		{"[2025-01-01 12:00:00 DP0 TP1] x", "x", "DP0 TP1", '-', NULL},
		{"Nov 30 01:02:03 node1 python[123]: Fatal Python error: Aborted",
		 "Fatal Python error: Aborted", "python[123]", '-', NULL},
		{"2024-05-01T12:00:00+0000 node1 python3[99]:   File \"a.py\", line 3, "
		 "in f",
		 "  File \"a.py\", line 3, in f", "python3[99]", '-', NULL},
	};

	(void)state;
	CHECK(rows);
}

static void test_loggers(void **state)
{
	static const struct row rows[] = {
		{"2024-05-01 12:00:00,123 - INFO - x - done", "done", NULL, 'I', NULL},
		{"2024-05-01 12:00:00,123 - __main__ - ERROR - it failed", "it failed",
		 NULL, 'E', NULL},
		{"2024-05-01 12:00:00.123 | ERROR    | mod.sub:func:12 - it failed",
		 "it failed", NULL, 'E', NULL},
		{"2024-05-01 12:00:00 ERROR torch.cuda.OutOfMemoryError: CUDA out of "
		 "memory",
		 "torch.cuda.OutOfMemoryError: CUDA out of memory", NULL, 'E', NULL},
		{"2024-05-01 12:00:00 [error] libx.so.1: cannot open shared object file",
		 "libx.so.1: cannot open shared object file", NULL, 'E', NULL},
		{"[2024-05-01 12:00:00,123] "
		 "torch.distributed.elastic.multiprocessing.api: [ERROR] failed "
		 "(exitcode: -9)",
		 "failed (exitcode: -9)", NULL, 'E', NULL},
		{"[2024-05-01 12:00:00,123] [INFO] [launch.py:12:sigkill_handler] "
		 "Killing subprocess 1",
		 "Killing subprocess 1", NULL, 'I', NULL},
		{"[2024-05-01 12:00:00,123] [ERROR] [launch.py:321:sigkill_handler] "
		 "['python'] exits with return code = -9",
		 "['python'] exits with return code = -9", NULL, 'E', NULL},
		{"2024-05-01 12:00:00,123    ERROR worker.py:12 -- it failed",
		 "it failed", NULL, 'E', NULL},
		{"[INFO|trainer.py:12] 2024-05-01 12:00:00,123 >> text", "text", NULL,
		 'I', NULL},
		{"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: "
		 "-9) local_rank: 3",
		 "failed (exitcode: -9) local_rank: 3", NULL, 'E', NULL},
		{"ERROR 01-02 03:04:05 engine.py:12] Traceback (most recent call last):",
		 "Traceback (most recent call last):", NULL, 'E', NULL},
		{"ERROR 01-02 03:04:05 [core.py:12]   File \"a.py\", line 3, in f",
		 "  File \"a.py\", line 3, in f", NULL, 'E', NULL},
		{"F0501 12:34:56.789 123 file.cc:12] Check failed: a == b",
		 "Check failed: a == b", NULL, 'F',
		 "F0501 12:34:56.789 123 file.cc:12] Check failed: a == b"},
		{"E0000 00:00:1733333333.123456    123 cuda_dnn.cc:12] Unable to x",
		 "Unable to x", NULL, 'E',
		 "E0000 00:00:1733333333.123456    123 cuda_dnn.cc:12] Unable to x"},
		{"E0325 20:57:27.620000 2606 "
		 "site-packages/torch/distributed/elastic/multiprocessing/api.py:869] "
		 "failed "
		 "(exitcode: -9)",
		 "failed (exitcode: -9)", NULL, 'E', NULL},
		{"2024-05-01 12:00:00.123456: F tensorflow/core/a.cc:12] Check failed: x",
		 "Check failed: x", NULL, 'F',
		 "F tensorflow/core/a.cc:12] Check failed: x"},
		{"[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog", "[Rank 1] Watchdog",
		 NULL, 'E', NULL},
		{"[W1130 01:02:03.000000000 ProcessGroupNCCL.cpp:123] Warning: x",
		 "Warning: x", NULL, 'W', NULL},
		{"[W C:\\cb\\pytorch\\a.cpp:12] Warning: x", "Warning: x", NULL, 'W',
		 NULL},
		{"2024-05-01T12:00:00.123Z stderr F   File \"a.py\", line 3, in f",
		 "  File \"a.py\", line 3, in f", NULL, '-', NULL},
		{"2024-05-01T12:00:00.123456789Z stderr F [rank1]:[E501 "
		 "12:00:00.123456789 ProcessGroupNCCL.cpp:616] x",
		 "x", "rank1", 'E', NULL},
		{"[ 1843.308145] NVRM: Xid (PCI:0000:07:00): 79",
		 "NVRM: Xid (PCI:0000:07:00): 79", NULL, '-', NULL},
		{"[Mon Nov 30 01:02:03 2026] python[1]: segfault at 0",
		 "python[1]: segfault at 0", NULL, '-', NULL},
		{"Nov 30 01:02:03 node1 kernel: [  12.345678] [T12] NVRM: x", "NVRM: x",
		 NULL, '-', NULL},
		{"[ 2000.000000] INFO: task python:555 blocked",
		 "INFO: task python:555 blocked", NULL, '-', NULL},
		{"Nov 30 01:02:03 node1 kernel: NVRM: x", "NVRM: x", NULL, '-', NULL},
		{"[1700000000.123456] [node:1:0]   a.c:12  UCX  ERROR x",
		 "[node:1:0]   a.c:12  UCX  ERROR x", NULL, '-', NULL},
		{"{\"log\":\"  File \\\"a.py\\\", line 3, in "
		 "f\\n\",\"stream\":\"stderr\",\"time\":\"2024\"}",
		 "  File \"a.py\", line 3, in f", NULL, 0, NULL},
	};

	(void)state;
	CHECK(rows);
}

/* What looks like a prefix and is none. */
static void test_own_text(void **state)
{
	static const char *const rows[] = {
		"#0  0x00007ffff7c58859 in abort () from /lib/libc.so.6",
		"   0: rust_begin_unwind",
		"   0:     0x55d0a1b2c3d4 - std::sys_common::backtrace::_print",
		"  12: core::ops::function::FnOnce::call_once",
		" 0  /lib/libucs.so.0(ucs_handle_error+0x2e4) [0x7f]",
		"[New Thread 0x7ffff3a6b700 (LWP 9551)]",
		"[Switching to thread 2 (Thread 0x7f (LWP 12))]",
		"[Inferior 1 (process 12) exited with code 01]",
		"[node1:12345] *** Process received signal ***",
		"[node1:12345] [ 0] /lib/libpthread.so.0(+0x1) [0x7f]",
		"frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 "
		"(0x7f in /x/libc10.so)",
		"    #0 0x4f in main /a.c:3",
		"==123==ERROR: AddressSanitizer: heap-use-after-free",
		"Thread 0x00007f (most recent call first):",
		"Thread 123 (idle): \"MainThread\"",
		"    (Python) File \"/a.py\", line 3, in f",
		"  File \"a.py\", line 3 in f",
		"RuntimeError: CUDA error: device-side assert triggered",
		"RuntimeError: [2] is setting up NCCL communicator and",
		"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] "
		"Connection closed by peer",
		"[enforce fail at alloc_cpu.cpp:75] err == 0",
		"python3: malloc.c:2401: sysmalloc: Assertion `x' failed.",
		"srun: error: node1: task 3: Killed",
		"slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.",
		"node1:534:1763 [3] NCCL WARN Call to connect returned",
		"(raylet) node_manager.cc:3084: 4 Workers killed due to memory pressure "
		"(OOM)",
		"Error: it failed",
		"ERROR: it failed",
		"  | Traceback (most recent call last):",
		"  + Exception Group Traceback (most recent call last):",
		">>> import torch",
		"<module> is there",
		"12 | def f():",
		"Process 123: python train.py",
		"Current thread 0x7f (most recent call first):",
		"std::vector<int>::at() + 0x1",
		"1: x = 5",
		"TID 123:",
		"4096 2024-05-01",
		"E 12",
		"[rank3]",
		"[",
		"(pid=",
		"2024-05-01",
		"",
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(rows); i++)
		check(&(struct row){rows[i], rows[i], NULL, 0, NULL});
}

static void test_marks(void **state)
{
	static const struct row rows[] = {
		{"> > #0  f ()", "#0  f ()", NULL, 0, NULL},
		{"```", "", NULL, 0, NULL},
		{"```bash", "", NULL, 0, NULL},
		{"~~~", "", NULL, 0, NULL},
		{"~~~~~~", "~~~~~~", NULL, 0, NULL},
		{"```Traceback (most recent call last):",
		 "Traceback (most recent call last):", NULL, 0, NULL},
		{"RuntimeError: x```", "RuntimeError: x", NULL, 0, NULL},
		{"`Segmentation fault (core dumped)`", "Segmentation fault (core dumped)",
		 NULL, 0, NULL},
		{"<details><summary>Log</summary>", "Log", NULL, 0, NULL},
		{"<pre><code>#0 f ()", "#0 f ()", NULL, 0, NULL},
		{"<pre class=\"log\">#0 f ()</code></pre>", "#0 f ()", NULL, 0, NULL},
		{"#1 std::vector&lt;int&gt;::at (this=&amp;x)",
		 "#1 std::vector<int>::at (this=&x)", NULL, 0, NULL},
		{"\033[1m\033[31mRuntimeError\033[0m: \033[35mx\033[0m\r",
		 "RuntimeError: x", NULL, 0, NULL},
		{"\r 10%|#  | 1/9 [00:01<00:09]\rRuntimeError: x", "RuntimeError: x",
		 NULL, 0, NULL},
		{" 6%|#   | 3/50 [6:28:43<94:39:17,  1.37it/s, loss=2.6][E "
		 "ProcessGroupNCCL.cpp:458] [Rank 0] x",
		 "[Rank 0] x", NULL, 'E', NULL},
		{"E       Traceback (most recent call last):",
		 "Traceback (most recent call last):", NULL, 0, NULL},
		{"E         File \"x.py\", line 3, in f", "  File \"x.py\", line 3, in f",
		 NULL, 0, NULL},
		{"E   ValueError: x", "ValueError: x", NULL, 0, NULL},
		{"E", "", NULL, 0, NULL},
		{"stderr: Traceback (most recent call last):",
		 "Traceback (most recent call last):", NULL, 0, NULL},
		{"a\tb", "a    b", NULL, 0, NULL},
		{"\f", "\f", NULL, 0, NULL},
		{"<code object f at 0x7f, file \"a.py\", line 3>",
		 "<code object f at 0x7f, file \"a.py\", line 3>", NULL, 0, NULL},
	};

	(void)state;
	CHECK(rows);
}

/* PyTorch's C++ logger labels the first line of a record only. */
static void test_inherit(void **state)
{
	static const struct {
		const char *raw, *label;
	} rows[] = {
		{"epoch 1", NULL},
		{"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG 0 Rank "
		 "0] terminated",
		 "rank0"},
		{"frame #0: f + 0x1 (0x7f in /x/libc10.so)", "rank0"},
		{"", "rank0"},
		{"[rank1]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG 0 Rank "
		 "1] terminated",
		 "rank1"},
		{"frame #0: f + 0x1 (0x7f in /x/libc10.so)", "rank1"},
		{"E0325 20:57:27.620000 2606 torch/api.py:869] failed (exitcode: -9)",
		 NULL},
		{"Traceback (most recent call last):", NULL},
		{"[rank2]: Traceback (most recent call last):", "rank2"},
		{"Segmentation fault", NULL},
		{"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG 0 Rank "
		 "0] terminated",
		 "rank0"},
		{"Traceback (most recent call last):", NULL}, /* the launcher's */
		{"[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [PG 0 Rank "
		 "0] terminated",
		 "rank0"},
		{"```", NULL}, /* the paste ends */
		{"text", NULL},
		{"[node1:17] *** Process received signal ***", NULL},
		{"[node1:18] *** Process received signal ***", "node1:18"},
		{"[node1:17] Signal: Aborted (6)", NULL},
		{"[node1:18] [ 0] /lib/libc.so.6(+0x1)[0x7f]", "node1:18"},
		{"text", NULL},
		{"[node1:18:0:18] Caught signal 11", NULL},
		{"=====", NULL},
		{"[node1:18] *** Process received signal ***", NULL},
		{"[rank0]:[W321 02:07:08.408271257 a.cpp:607] Warning: x", "rank0"},
		{"text", NULL}, /* only errors go on */
		{"[2025-01-01 12:00:00 TP0] hit an exception: Traceback (most recent "
		 "call last):",
		 "TP0"},
		{"  File \"a.py\", line 3, in f", "TP0"},
		{"srun: error: node1: task 0: Killed", NULL},
		{"[2025-01-01 12:00:00 TP1] Decode batch.", "TP1"},
		{"text", NULL},
	};
	struct cs_line_owners owners = {0};
	struct cs_strbuf scratch;
	struct cs_line line;

	(void)state;
	cs_strbuf_init(&scratch, 4 * CS_MAX_PASTE_LINE);
	for (size_t i = 0; i < CS_COUNT(rows); i++) {
		cs_strbuf_truncate(&scratch, 0);
		cs_line_clean(&scratch, rows[i].raw, strlen(rows[i].raw), &line);
		cs_line_inherit(&owners, &line);
		if (strcmp(line.label ? line.label : "",
			   rows[i].label ? rows[i].label : ""))
			fail_msg("%s: label %s", rows[i].raw,
				 line.label ? line.label : "-");
	}
	cs_strbuf_deinit(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_labels),   cmocka_unit_test(test_loggers),
		cmocka_unit_test(test_own_text), cmocka_unit_test(test_marks),
		cmocka_unit_test(test_inherit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
