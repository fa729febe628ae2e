/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Python's tools print: py-spy, pystack, faulthandler, tracebacks. */
#include "base/limits.h"
#include "paste/paste.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8

struct seen {
	char *reports[MOST]; /* owned */
	size_t n, dropped, n_frames;
};

static void put_frame(FILE *out, const struct cs_paste_frame *f)
{
	fprintf(out, " %s", f->function ? f->function : "?");
	if (!f->python)
		fprintf(out, "!%s", f->library ? f->library : "?");
	if (f->file)
		fprintf(out, "@%s", f->file);
	if (f->line)
		fprintf(out, ":%u", f->line);
}

/* "crash SIGABRT 17 python=3.10.1|*tid name main gil: frame frame|...\nmessage\nmessage" */
static struct cs_error *keep(void *arg, const struct cs_paste *paste)
{
	static const char *const kinds[] = {"unknown", "crash", "hang", "oom"};
	struct seen *seen = arg;
	size_t size;
	FILE *out;

	seen->dropped += paste->dropped;
	if (seen->n == MOST) {
		seen->dropped++;
		return NULL;
	}
	out = open_memstream(&seen->reports[seen->n++], &size);
	assert_non_null(out);
	fprintf(out, "%s %s", paste->format, kinds[paste->kind]);
	if (paste->signal)
		fprintf(out, " %s", paste->signal);
	if (paste->pid)
		fprintf(out, " %d", paste->pid);
	for (size_t i = 0; i < paste->n_versions; i++)
		fprintf(out, " %s=%s", paste->versions[i].name, paste->versions[i].value);
	for (size_t i = 0; i < paste->n_threads; i++) {
		const struct cs_paste_thread *t = &paste->threads[i];

		fprintf(out, "|%s%d %s%s%s%s:", t->crashed ? "*" : "", t->tid, t->name ? t->name : "-",
			t->main ? " main" : "", t->holds_gil ? " gil" : "", t->waits_for_gil ? " waits" : "");
		seen->n_frames += t->n_frames;
		for (size_t k = 0; k < t->n_frames && k < 8; k++)
			put_frame(out, &t->frames[k]);
	}
	for (size_t i = 0; i < paste->n_messages; i++)
		fprintf(out, "\n%s", paste->messages[i]);
	fclose(out);
	return NULL;
}

static void read_text(const char *text, size_t len, struct seen *seen)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, len, "r");

	*seen = (struct seen){0};
	assert_non_null(in);
	assert_null(cs_paste_read(in, keep, seen));
	fclose(in);
}

static void forget(struct seen *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		free(seen->reports[i]);
	*seen = (struct seen){0};
}

/* Reports as keep() writes them, up to NULL. */
static void check(const char *text, ...)
{
	struct seen seen;
	const char *want;
	size_t n = 0;
	va_list ap;

	read_text(text, strlen(text), &seen);
	va_start(ap, text);
	for (; (want = va_arg(ap, const char *)); n++) {
		if (n >= seen.n)
			fail_msg("no report, but wanted: %s", want);
		assert_string_equal(seen.reports[n], want);
	}
	va_end(ap);
	if (seen.n > n)
		fail_msg("one more: %s", seen.reports[n]);
	assert_int_equal(seen.dropped, 0);
	forget(&seen);
}

/* ---- py-spy ---- */

#define PY_SPY                                                                                           \
	"Process 17: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n\n"                           \
	"Thread 17 (idle): \"MainThread\"\n    wait (threading.py:320)\n    <module> (train.py:12)\n"
#define PY_SPY_SEEN                                                                                      \
	"py-spy hang 17 python=3.10.12|17 MainThread main: wait@threading.py:320 <module>@train.py:12"

static void test_py_spy(void **state)
{
	(void)state;
	check(PY_SPY, PY_SPY_SEEN, NULL);
	check(PY_SPY "Thread 18 (active+gil): \"a (b): \"c\"\"\n    spin (t.py:9)\n",
	      PY_SPY_SEEN "|18 a (b): \"c\" gil: spin@t.py:9", NULL);
	/* native frames, of which one has its source, and one no name */
	check("Thread 0x7F4AA36D9700 (active)\n    pthread_cond_wait (libc.so.6)\n"
	      "    at::native::f(int, char) (libtorch_cpu.so)\n    run (a/engine.cpp:77)\n"
	      "    0x7f3ce524524a (libc.so.6)\n    f (<string>:1)\n    g (x/ops.pyx:3)\n",
	      "py-spy hang|0 -: pthread_cond_wait!libc.so.6 at::native::f(int, char)!libtorch_cpu.so "
	      "run!?@a/engine.cpp:77 ?!libc.so.6 f@<string>:1 g@x/ops.pyx:3",
	      NULL);
	/* values of locals are not frames */
	check("Thread 17 (idle): \"MainThread\"\n    f (t.py:4)\n        Arguments:\n"
	      "            x: \"g (t.py:9)\"\n            y: <A (b:3)>\n            h (t.py:5)\n"
	      "        Locals:\n            z: 1\n    g (t.py:7)\n",
	      "py-spy hang|17 MainThread main: f@t.py:4 g@t.py:7", NULL);
	/* quoted, with tabs, and without blanks at the beginning */
	check("> Thread 17 (idle): \"MainThread\"\n> \t f (t.py:4)\n> g (t.py:5)\n",
	      "py-spy hang|17 MainThread main: f@t.py:4 g@t.py:5", NULL);
	/* ray stack */
	check("Stack dump for me     20 0.1 0.1 17 1 pts/0 Sl 12:48 0:01 ray\nThread 0x7F4A (active)\n"
	      "\t f (t.py:4)\nStack dump for me     21 0.1 0.1 17 1 pts/0 Sl 12:48 0:01 ray\n"
	      "Thread 0x7F4B (active)\n\t g (t.py:5)\n",
	      "py-spy hang 20|0 -: f@t.py:4", "py-spy hang 21|0 -: g@t.py:5", NULL);
	/* no dump */
	check("Process 1: loss 0.3\nf (t.py:4)\nProcess 2: loss 0.2\n", NULL);
}

static void test_py_spy_processes(void **state)
{
	(void)state;
	check(PY_SPY PY_SPY, PY_SPY_SEEN, PY_SPY_SEEN, NULL);
	check("Thread 5 (idle): \"MainThread\"\n    f (t.py:4)\n\nThread 5 (idle): \"MainThread\"\n"
	      "    f (t.py:4)\n",
	      "py-spy hang|5 MainThread main: f@t.py:4", "py-spy hang|5 MainThread main: f@t.py:4", NULL);
#define DASHES "----------------------------------------" "----------------------------------------\n"
#define CHILD                                                                                            \
	DASHES "Process 20: python train.py\nPython v3.10.12 (/usr/bin/python3.10)\n"                      \
	"Parent Process 17: python train.py\n\nThread 20 (idle): \"MainThread\"\n    work (train.py:30)\n"
	/* --subprocesses prints a child again after each thread of its parent */
	check(PY_SPY "\n" CHILD "Thread 18 (idle): \"w\"\n    f (t.py:1)\n\n" CHILD, PY_SPY_SEEN,
	      "py-spy hang 20 python=3.10.12|20 MainThread main: work@train.py:30|18 w: f@t.py:1", NULL);
	check(PY_SPY CHILD PY_SPY, PY_SPY_SEEN,
	      "py-spy hang 20 python=3.10.12|20 MainThread main: work@train.py:30", PY_SPY_SEEN, NULL);
}

/* ---- py-spy --json ---- */

#define MEMBERS(pid, tid, name, gil)                                                                     \
	"\"pid\": " pid ", \"thread_id\": 140387358828224, \"thread_name\": " name                         \
	", \"os_thread_id\": " tid ", \"active\": true, \"owns_gil\": " gil ", \"frames\": ["              \
	"{\"name\": \"f\", \"filename\": \"/x/t.py\", \"module\": null, \"short_filename\": \"t.py\", "    \
	"\"line\": 9, \"locals\": [{\"name\": \"a\", \"repr\": \"} ] \\\\\\\" [ {\"}]}, "                  \
	"{\"name\": \"0x7f01\", \"filename\": \"/lib/libc.so.6\", \"module\": \"/lib/libc.so.6\", "         \
	"\"line\": 0}], \"process_info\": null"
#define MEMBERS_SEEN ": f@/x/t.py:9 ?!libc.so.6"

static void test_json(void **state)
{
	(void)state;
	check("[{" MEMBERS("17", "18", "\"w\"", "true") "}, {" MEMBERS("17", "17", "\"MainThread\"", "false")
	      "}]\n",
	      "py-spy hang 17|18 w gil" MEMBERS_SEEN "|17 MainThread main" MEMBERS_SEEN, NULL);
	/* over many lines, twice, with other text around */
	check("$ py-spy dump --json --pid 17\n[\n  {\n    " MEMBERS("17", "17", "null", "false") "\n  }\n]\n"
	      "[\n  {\n    \"pid\": 19,\n    \"frames\": []\n  },\n  {\n    " MEMBERS("19", "20", "null",
	      "false")
	      "\n  }\n]\n$ exit\n",
	      "py-spy hang 17|17 -" MEMBERS_SEEN, "py-spy hang 19|0 -:|20 -" MEMBERS_SEEN, NULL);
	/* threads of two processes in one array, and threads without an array */
	check("[{" MEMBERS("17", "17", "null", "false") "}, {" MEMBERS("19", "19", "null", "true") "}]",
	      "py-spy hang 17|17 -" MEMBERS_SEEN, "py-spy hang 19|19 - gil" MEMBERS_SEEN, NULL);
	check("{" MEMBERS("17", "17", "null", "false") "}\n{" MEMBERS("17", "18", "null", "true") "}\n",
	      "py-spy hang 17|17 -" MEMBERS_SEEN "|18 - gil" MEMBERS_SEEN, NULL);
	/* brackets of other programs, before what another dialect reads */
	check("[\n  {\n    \"loss\": 1\n  }\n]\n{\n[\n" PY_SPY, PY_SPY_SEEN, NULL);
}

static void test_json_that_ends_early(void **state)
{
	static const char *const texts[] = {
		/* cut off, and cut off by something else */
		"[\n{\n" MEMBERS("17", "17", "null", "false") "\n},\n{\n\"pid\": 17,\n\"frames\": [\n",
		"[\n{\n" MEMBERS("17", "17", "null", "false") "\n},\n{\n\"pid\": 17,\n" PY_SPY,
		/* not JSON, though the brackets match */
		"[\n{\n" MEMBERS("17", "17", "null", "false") "\n},\n{\n\"pid\": 17, 3 }\n]\n" PY_SPY,
		"[\n{\n" MEMBERS("17", "17", "null", "false") "\n},\n{\n\"pid\": 17, \"frames\": 3 }\n]\n",
	};
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(texts); i++) {
		read_text(texts[i], strlen(texts[i]), &seen);
		assert_true(seen.n >= 1);
		assert_string_equal(seen.reports[0], "py-spy hang 17|17 -" MEMBERS_SEEN);
		assert_int_equal(seen.dropped, 1);
		if (seen.n == 2)
			assert_string_equal(seen.reports[1], PY_SPY_SEEN);
		assert_int_equal(seen.n, strstr(texts[i], "Process 17") ? 2 : 1);
		forget(&seen);
	}
}

static void test_json_of_brackets(void **state)
{
	size_t n = 100000;
	char *text = malloc(n + 64);
	struct seen seen;
	size_t len;

	(void)state;
	assert_non_null(text);
	len = (size_t)sprintf(text, "[\n{\n\"pid\": 17,\n\"frames\": ");
	memset(text + len, '[', n);
	read_text(text, len + n, &seen);
	assert_int_equal(seen.n, 0);
	forget(&seen);
	free(text);
}

/* ---- pystack ---- */

static void test_pystack(void **state)
{
	(void)state;
	check("Traceback for thread 19 (python) [Waiting for the GIL,Garbage collecting] "
	      "(most recent call last):\n"
	      "    (C) File \"???\", line 0, in __clone3 (/usr/lib/libc.so.6)\n"
	      "    (Python) File \"/lib/threading.py\", line 10, in run\n        self.f()\n"
	      "      Arguments:\n        self: <Thread (x) at 0x7f>\n"
	      "    (C) File \"a/b.cpp\", line 5, in ns::f(int) const (inlined) (libtorch.so)\n"
	      "    (C) File \"libffi.so.8\", line 0, in ??? (libffi.so.8)\n\n"
	      "Traceback for thread 17 (python) [Has the GIL] (most recent call last):\n"
	      "    (Python) File \"t.py\", line 3, in <module>\n        f()\n"
	      "    (Python) File \"t.py\", line 2, in f\n\n"
	      "Traceback for thread 30 [] (most recent call last):\n"
	      "    (Python) File \"u.py\", line 1, in <module>\n",
	      "pystack hang|19 python waits: ?!libffi.so.8 ns::f(int) const!libtorch.so@a/b.cpp:5 "
	      "run@/lib/threading.py:10 __clone3!libc.so.6|17 python main gil: f@t.py:2 <module>@t.py:3",
	      "pystack hang|30 - main: <module>@u.py:1", NULL);
	check("Using executable found in the core file: /usr/bin/python3\n\nCore file information:\n"
	      "state: R zombie: True niceness: 0\npid: 71 ppid: 1 sid: 2\nuid: 0 gid: 0 pgrp: 9\n"
	      "executable: python arguments: python t.py \n\nThe process died due receiving signal SIGBUS\n"
	      "Traceback for thread 71 [] (most recent call last):\n"
	      "    (Python) File \"t.py\", line 3, in <module>\n"
	      "\nCore file information:\npid: 72 ppid: 1 sid: 2\n"
	      "The process died due a segmentation fault accessing address: 0x10\n"
	      "The frame stack for thread 72 is empty\n",
	      "pystack crash SIGBUS 71|71 - main: <module>@t.py:3", "log crash SIGSEGV 72|72 -:", NULL);
	check("Core file information:\npid: 72 ppid: 1 sid: 2\n"
	      "The core file seems to have been generated on demand (the process did not crash)\n"
	      "Traceback for thread 72 [] (most recent call last):\n"
	      "* - Unable to merge native stack due to insufficient native information - *\n"
	      "    (Python) File \"t.py\", line 3, in <module>\n",
	      "pystack hang 72|72 - main: <module>@t.py:3", NULL);
}

/* ---- faulthandler ---- */

#define DUMP                                                                                             \
	"Thread 0x00007f1c (most recent call first):\n  File \"w.py\", line 5 in wait\n\n"                  \
	"Current thread 0x00007f1d [py (x)] (most recent call first):\n  File \"t.py\", line 3 in f\n"     \
	"  File \"t.py\", line 9 in <module>\n"

static void test_faulthandler(void **state)
{
	(void)state;
	check("Fatal Python error: Segmentation fault\n\n" DUMP
	      "\nExtension modules: numpy.core._multiarray_umath, torch._C, \nPIL._imaging (total: 34)\n",
	      "faulthandler crash SIGSEGV|0 -: wait@w.py:5|*0 py (x): f@t.py:3 <module>@t.py:9\n"
	      "Fatal Python error: Segmentation fault",
	      NULL);
	check("Fatal Python error: PyGILState_Release: no thread state\nPython runtime state: finalizing "
	      "(tstate=0x1)\n\n" DUMP "Fatal Python error: Bus error\n\n"
	      "Current thread 0x00007f1d (most recent call first):\n  <no Python frame>\n",
	      "faulthandler crash SIGABRT|0 -: wait@w.py:5|*0 py (x): f@t.py:3 <module>@t.py:9\n"
	      "Fatal Python error: PyGILState_Release: no thread state\n"
	      "Python runtime state: finalizing (tstate=0x1)",
	      "log crash SIGBUS|*0 -:\nFatal Python error: Bus error", NULL);
	/* it lives */
	check(DUMP DUMP "Timeout (0:00:05)!\n" DUMP "Stack (most recent call first):\n"
	      "  File \"t.py\", line 1 in g\n",
	      "faulthandler hang|0 -: wait@w.py:5|0 py (x): f@t.py:3 <module>@t.py:9",
	      "faulthandler hang|0 -: wait@w.py:5|0 py (x): f@t.py:3 <module>@t.py:9",
	      "faulthandler hang|0 -: wait@w.py:5|0 py (x): f@t.py:3 <module>@t.py:9",
	      "faulthandler hang|0 -: g@t.py:1", NULL);
}

static void test_faulthandler_c_stack(void **state)
{
	(void)state;
	check("Fatal Python error: Aborted\n\n" DUMP
	      "\nCurrent thread's C stack trace (most recent call first):\n"
	      "  Binary file \"/opt/python\", at _Py_DumpStack+0x42 [0x5b27f7d7147e]\n"
	      "  Binary file \"/lib/libc.so.6\", at +0x32dcbd [0x5b27f7d85cbd]\n"
	      "  Binary file \"/lib/libx.so\", at _ZN3c105ErrorC1Ev+0xdf [0x7fb899a1]\n"
	      "  <truncated rest of calls>\n",
	      "faulthandler crash SIGABRT|0 -: wait@w.py:5|*0 py (x): _Py_DumpStack!python ?!libc.so.6 "
	      "c10::Error::Error()!libx.so f@t.py:3 <module>@t.py:9\nFatal Python error: Aborted",
	      NULL);
	/* as 3.14 prints it: no symbol at all */
	check("Fatal Python error: Aborted\n\n" DUMP
	      "\nCurrent thread's C stack trace (most recent call first):\n"
	      "  Binary file \"/opt/python3.14\" [0x53d28e]\n"
	      "  Binary file \"/lib/libc.so.6\", at abort+0x24 [0x7f]\n",
	      "faulthandler crash SIGABRT|0 -: wait@w.py:5|*0 py (x): ?!python3.14 abort!libc.so.6 f@t.py:3 "
	      "<module>@t.py:9\nFatal Python error: Aborted",
	      NULL);
	/* what follows is another dump */
	check("Fatal Python error: Aborted\n\n" DUMP
	      "\nCurrent thread's C stack trace (most recent call first):\n"
	      "  Binary file \"/opt/python3.14\" [0x53d28e]\n\n" DUMP,
	      "faulthandler crash SIGABRT|0 -: wait@w.py:5|*0 py (x): ?!python3.14 f@t.py:3 "
	      "<module>@t.py:9\nFatal Python error: Aborted",
	      "faulthandler hang|0 -: wait@w.py:5|0 py (x): f@t.py:3 <module>@t.py:9", NULL);
	/* without the GIL only one thread is shown */
	check("Fatal Python error: Segmentation fault\n\n"
	      "<Cannot show all threads while the GIL is disabled>\n"
	      "Stack (most recent call first):\n  File \"t.py\", line 1 in g\n",
	      "faulthandler crash SIGSEGV|*0 -: g@t.py:1\nFatal Python error: Segmentation fault", NULL);
}

/* ---- tracebacks ---- */

#define TB(function)                                                                                     \
	"Traceback (most recent call last):\n  File \"t.py\", line 9, in <module>\n    main()\n"          \
	"    ~~~~^^\n  File \"t.py\", line 3, in " function "\n    x = 1\n"
#define TB_SEEN(function) function "@t.py:3 <module>@t.py:9"

static void test_traceback(void **state)
{
	(void)state;
	check(TB("f") "ValueError: what\n", "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what", NULL);
	/* all lines of a message, and notes; what has no message */
	check(TB("f") "torch.cuda.OutOfMemoryError: one\n two\nthree\n\n   four\n\nThank you!\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\ntorch.cuda.OutOfMemoryError: one\n two\nthree\n\n"
	      "   four",
	      NULL);
	check(TB("f") "AssertionError\n", "traceback crash|*0 -: " TB_SEEN("f") "\nAssertionError", NULL);
	check(TB("f") "KeyboardInterrupt\n", "traceback hang|0 -: " TB_SEEN("f") "\nKeyboardInterrupt", NULL);
	check(TB("f") "  File \"u.py\", line 4\n    x = (\n        ^\nSyntaxError: '(' was never closed\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nSyntaxError: '(' was never closed", NULL);
	check(TB("f"), "traceback crash|*0 -: " TB_SEEN("f"), NULL);
	/* its beginning is cut off */
	check("  File \"t.py\", line 3, in f\n    x = 1\nmod.E<T>\n", "traceback hang|0 -: f@t.py:3", NULL);
	check("    x = 1\n  File \"t.py\", line 3, in f\n    raise E\nm.f.<locals>.E: why\n",
	      "traceback crash|*0 -: f@t.py:3\nm.f.<locals>.E: why", NULL);
	/* with blanks at the beginning, and without those of its own */
	check("    Traceback (most recent call last):\n      File \"t.py\", line 3, in f\n        x = 1\n"
	      "    ValueError: what\n    more\n",
	      "traceback crash|*0 -: f@t.py:3\nValueError: what\nmore", NULL);
	check("Traceback (most recent call last):\nFile \"t.py\", line 9, in <module>\nfor x in f(y):\n"
	      "File \"t.py\", line 3, in f\nelse:\nRuntimeError: what\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nRuntimeError: what", NULL);
}

static void test_traceback_repeats(void **state)
{
	struct seen seen;
	char text[256];

	(void)state;
	for (unsigned n = 996; n < 3000000; n += 2000000) {
		snprintf(text, sizeof(text),
			 "Traceback (most recent call last):\n  File \"t.py\", line 3, in f\n"
			 "  [Previous line repeated %u more times]\nRecursionError: deep\n", n);
		read_text(text, strlen(text), &seen);
		assert_int_equal(seen.n_frames, n == 996 ? 997 : 1 + CS_MAX_PASTE_REPEAT);
		assert_int_equal(seen.dropped, n == 996 ? 0 : n - CS_MAX_PASTE_REPEAT);
		forget(&seen);
	}
}

static void test_traceback_chains(void **state)
{
#define BOTH "traceback crash|0 -: " TB_SEEN("f") "|*0 -: " TB_SEEN("g") "\nValueError: what\nKeyError: 'k'"
	(void)state;
	check(TB("f") "ValueError: what\n\n"
	      "During handling of the above exception, another exception occurred:\n\n"
	      TB("g") "KeyError: 'k'\n", BOTH, NULL);
	check(TB("f") "ValueError: what\n\n"
	      "The above exception was the direct cause of the following exception:\n\n"
	      TB("g") "KeyError: 'k'\n", BOTH, NULL);
	check("multiprocessing.pool.RemoteTraceback: \n\"\"\"\n" TB("f") "ValueError: what\n\"\"\"\n\n"
	      "The above exception was the direct cause of the following exception:\n\n" TB("g")
	      "KeyError: 'k'\n", BOTH, NULL);
	check(TB("f") "ValueError: what\n\n-- Process 0 terminated with the following error:\n" TB("g")
	      "KeyError: 'k'\n", BOTH, NULL);
	check(TB("f") "ValueError: Caught KeyError in DataLoader worker process 0.\nOriginal " TB("g")
	      "KeyError: 'k'\n",
	      "traceback crash|0 -: " TB_SEEN("f") "|*0 -: " TB_SEEN("g")
	      "\nValueError: Caught KeyError in DataLoader worker process 0.\nKeyError: 'k'", NULL);
	/* not chained */
	check(TB("f") "ValueError: what\n" TB("g") "KeyError: 'k'\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what",
	      "traceback crash|*0 -: " TB_SEEN("g") "\nKeyError: 'k'", NULL);
	check("Process SpawnProcess-1:\n" TB("f") "ValueError: what\n"
	      "Exception in thread Thread-3 (g):\n" TB("g") "KeyError: 'k'\n"
	      "Exception ignored in: <function D.__del__ at 0x7f>\n" TB("h") "TypeError: t\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what",
	      "traceback crash|*0 Thread-3 (g): " TB_SEEN("g") "|0 -: " TB_SEEN("h")
	      "\nKeyError: 'k'\nException ignored in: <function D.__del__ at 0x7f>\nTypeError: t",
	      NULL);
}

static void test_traceback_groups(void **state)
{
	(void)state;
	check("  + Exception Group Traceback (most recent call last):\n"
	      "  |   File \"t.py\", line 30, in <module>\n"
	      "  |     raise ExceptionGroup(\"many\", [v])\n  | ExceptionGroup: many (3 sub-exceptions)\n"
	      "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
	      "    |   File \"t.py\", line 6, in a\n    |     raise ValueError\n"
	      "    | ValueError: first line\n"
	      "    |   second: line\n    | \n    | last\n    +---------------- 2 ----------------\n"
	      "    | E: two\n"
	      "    +---------------- 3 ----------------\n    | ExceptionGroup: in (1 sub-exception)\n"
	      "    +-+---------------- 1 ----------------\n      | TypeError: t\n"
	      "      +------------------------------------\n" TB("f") "ValueError: what\n",
	      "traceback crash|*0 -: <module>@t.py:30|0 -: a@t.py:6\n"
	      "ExceptionGroup: many (3 sub-exceptions)\n"
	      "ValueError: first line\n  second: line\n\nlast\nE: two\nExceptionGroup: in (1 sub-exception)\n"
	      "TypeError: t",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what", NULL);
}

static void test_traceback_boxes(void **state)
{
	(void)state;
	check("---------------------------------------------------------------------------\n"
	      "RuntimeError                              Traceback (most recent call last)\n"
	      "Cell In[2], line 1\n----> 1 g()\n\nFile ~/x.py:7, in g(a)\n      5     f(0)\n"
	      "----> 7     raise RuntimeError(\"a\") from e\n\nRuntimeError: a\nb\n",
	      "traceback crash|*0 -: g@~/x.py:7 <module>@Cell In[2]:1\nRuntimeError: a\nb", NULL);
	check("RuntimeError                              Traceback (most recent call last)\n"
	      "<ipython-input-7-2d2e> in <module>\n      1 for i in x:\n----> 2     train(i)\n\n"
	      "/lib/m.py in call(self, *input)\n    725         else:\n--> 727             f(x)\n\n"
	      "RuntimeError: a\n",
	      "traceback crash|*0 -: call@/lib/m.py:727 <module>@<ipython-input-7-2d2e>:2\nRuntimeError: a",
	      NULL);
	check("╭──────────── Traceback (most recent call last) ─────────────╮\n"
	      "│ in <module>:2                                              │\n"
	      "│ ╭──────── locals ─────────╮                                │\n"
	      "│ │ x = f:3 in y            │                                │\n"
	      "│ ╰─────────────────────────╯                                │\n"
	      "│ /a/very/long/path/                                         │\n"
	      "│ x.py:7 in g                                                │\n"
	      "│                                                            │\n"
	      "│   4 │   try:                                               │\n"
	      "│ ❱ 7 │   │   raise E                                        │\n"
	      "╰────────────────────────────────────────────────────────────╯\n"
	      "RuntimeError: a\n",
	      "traceback crash|*0 -: g@/a/very/long/path/x.py:7 <module>:2\nRuntimeError: a", NULL);
}

/* Tracebacks with other things of the same process, and of others. */
static void test_traceback_among_others(void **state)
{
	(void)state;
	check(TB("f") "ValueError: what\nFatal Python error: Aborted\n\n" DUMP,
	      "traceback crash SIGABRT|*0 -: " TB_SEEN("f")
	      "|0 -: wait@w.py:5|*0 py (x): f@t.py:3 <module>@t.py:9\n"
	      "ValueError: what\nFatal Python error: Aborted", NULL);
	check(PY_SPY "\n" TB("f") "ValueError: what\n", PY_SPY_SEEN,
	      "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what", NULL);
	check("[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
	      "[rank0]:   File \"a.py\", line 1, in f\n[rank1]:   File \"b.py\", line 2, in g\n"
	      "[rank1]: ValueError: one\n[rank0]: ValueError: zero\n",
	      "traceback crash|*0 -: f@a.py:1\nValueError: zero",
	      "traceback crash|*0 -: g@b.py:2\nValueError: one", NULL);
	/* what ends a message; logging that cannot write is no end of a process */
	check(TB("f") "ValueError: what\n  0%|     | 0/100 [00:10<?, ?it/s]\n" TB("g") "ValueError: what\n"
	      "WARNING: bye\n",
	      "traceback crash|*0 -: " TB_SEEN("f") "\nValueError: what",
	      "traceback crash|*0 -: " TB_SEEN("g") "\nValueError: what", NULL);
	check("--- Logging error ---\n" TB("f") "ValueError: what\nCall stack:\n"
	      "  File \"a.py\", line 1, in a\n    b\n"
	      "Message: 'x'\nArguments: ()\n" TB("g") "KeyError: 'k'\n",
	      "traceback crash|0 -: " TB_SEEN("f") "|*0 -: " TB_SEEN("g") "\nValueError: what\nKeyError: 'k'",
	      NULL);
	/* TVM's own, of native frames */
	check("!!!!!!! Segfault encountered !!!!!!!\n"
	      "  File \"a/b.cc\", line 154, in TVMFFISegFaultHandler(int)\n"
	      "  File \"<unknown>\", line 0, in tvm::f<int>(int) const\n",
	      "traceback crash SIGSEGV|*0 -: TVMFFISegFaultHandler(int)!?@a/b.cc:154 "
	      "tvm::f<int>(int) const!?\n"
	      "!!!!!!! Segfault encountered !!!!!!!", NULL);
	check("!!!!!!! Segfault encountered !!!!!!!\n" PY_SPY,
	      "py-spy crash SIGSEGV 17 python=3.10.12|17 MainThread main: wait@threading.py:320 "
	      "<module>@train.py:12\n!!!!!!! Segfault encountered !!!!!!!", NULL);
	/* broken lines */
	check("Traceback (most recent call last):\n  File \"/a/b\nc.py\", line 3, in f\n    x\n"
	      "  File \"t.py\", line 9,\nin g\n    y\nValueError: what\n",
	      "traceback crash|*0 -: g@t.py:9 f@/a/bc.py:3\nValueError: what", NULL);
	/* each line with a log's prefix */
	check("ERROR 05-11 14:16:39 [core.py:396] Traceback (most recent call last):\n"
	      "ERROR 05-11 14:16:39 [core.py:396]   File \"a.py\", line 1, in f\n"
	      "ERROR 05-11 14:16:39 [core.py:396]     f()\n"
	      "ERROR 05-11 14:16:39 [core.py:396] RuntimeError: one\n"
	      "ERROR 05-11 14:16:39 [core.py:396] two\nINFO 05-11 14:16:39 [core.py:9] bye\n",
	      "traceback crash|*0 -: f@a.py:1\nRuntimeError: one\ntwo", NULL);
}

/* 10,000 pastes are 10,000 reports. */
static void test_many(void **state)
{
	static const char *const texts[] = {
		PY_SPY, TB("f") "ValueError: what\n", "Fatal Python error: Segmentation fault\n\n" DUMP,
		"[{" MEMBERS("17", "17", "null", "false") "}]\n",
		("Traceback for thread 30 [] (most recent call last):\n"
		 "    (Python) File \"u.py\", line 1, in <module>\n"),
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(texts); i++) {
		size_t len = strlen(texts[i]), n = 10000;
		char *text = malloc(n * len);
		struct seen seen;

		assert_non_null(text);
		for (size_t k = 0; k < n; k++)
			memcpy(text + k * len, texts[i], len);
		read_text(text, n * len, &seen);
		assert_int_equal(seen.n, MOST);
		assert_int_equal(seen.dropped, n - MOST);
		forget(&seen);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_py_spy),
		cmocka_unit_test(test_py_spy_processes),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_that_ends_early),
		cmocka_unit_test(test_json_of_brackets),
		cmocka_unit_test(test_pystack),
		cmocka_unit_test(test_faulthandler),
		cmocka_unit_test(test_faulthandler_c_stack),
		cmocka_unit_test(test_traceback),
		cmocka_unit_test(test_traceback_repeats),
		cmocka_unit_test(test_traceback_chains),
		cmocka_unit_test(test_traceback_groups),
		cmocka_unit_test(test_traceback_boxes),
		cmocka_unit_test(test_traceback_among_others),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
