/* SPDX-License-Identifier: GPL-3.0-or-later */
/* corescan's own reports as text: what is read of them, and what is passed over. */
#include "base/limits.h"
#include "paste/paste.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char weights[] = {[CS_PASTE_FINAL] = '!', [CS_PASTE_KEPT] = '~', [CS_PASTE_HANDLED] = '?'};

static void show_threads(FILE *out, const struct cs_paste *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		const struct cs_paste_thread *t = &p->threads[i];

		fprintf(out, "%s%d", t->crashed ? "*" : "", t->tid);
		fprintf(out, "%s%s", t->name ? " " : "", t->name ? t->name : "");
		fprintf(out, "%s%s%s", t->role ? " (" : "", t->role ? t->role : "", t->role ? ")" : "");
		fprintf(out, "%s%s%s%s\n", t->holds_gil ? " holds" : "", t->waits_for_gil ? " waits" : "",
			t->deadlocked ? " deadlocked" : "", t->orphaned ? " orphaned" : "");
		for (size_t k = 0; k < t->n_frames; k++) {
			const struct cs_paste_frame *f = &t->frames[k];

			fprintf(out, "%s%s", f->python ? "> " : "", f->function ? f->function : "-");
			if (f->library)
				fprintf(out, " (%s)", f->library);
			if (f->file)
				fprintf(out, " %s:%u", f->file, f->line);
			fputc('\n', out);
		}
	}
}

/*
 * "SIGABRT 17" for the report, its facts, "! text" for a message (~ kept, ? handled), "*17 name (role)" for a
 * thread (* crashed), "function (library) file:line" for a frame, "> " before one of Python.
 */
static struct cs_error *show(void *arg, const struct cs_paste *p)
{
	FILE *out = arg;

	fprintf(out, "%s%s %d%s%s%s", strcmp(p->format, "corescan") ? p->format : "",
		p->signal ? p->signal : "-", p->pid, p->kind == CS_PASTE_HANG ? " hang" : "",
		p->source ? " of " : "", p->source ? p->source : "");
	for (size_t i = 0; i < p->n_facts; i++)
		fprintf(out, " %s", p->facts[i]);
	for (size_t i = 0; i < p->n_versions; i++)
		fprintf(out, " %s=%s", p->versions[i].name, p->versions[i].value);
	for (size_t i = 0; i < p->n_environment; i++)
		fprintf(out, " $%s=%s", p->environment[i].name, p->environment[i].value);
	fputc('\n', out);
	for (size_t i = 0; i < p->n_messages; i++)
		fprintf(out, "%c %s\n", weights[p->weights[i]], p->messages[i]);
	show_threads(out, p);
	return NULL;
}

static void expect(const char *text, const char *expected)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r"), *out;
	char *all = NULL;
	size_t size;

	assert_non_null(in);
	out = open_memstream(&all, &size);
	assert_non_null(out);
	assert_null(cs_paste_read(in, show, out));
	fclose(in);
	fclose(out);
	assert_string_equal(all, expected);
	free(all);
}

#define VERDICT "SIGSEGV: read of address 0x10, a small offset from NULL, in f()\n\n"
#define STACK "\nStack of the crashed thread 17\n"

static void test_first_screen(void **state)
{
	(void)state;
	expect(VERDICT "  in           f (libx.so)\n"
		       "  thread       17 \"a (b), \"c\"\" (main), holds the GIL, one of 3 threads\n"
		       "  process      15  python train.py\n"
		       "  rank         6 of 64, local rank 2\n"
		       "  exception    ValueError: bad (being handled)\n"
		       "  signal       SIGSEGV (11), SEGV_MAPERR, address 0x10 (read)\n",
	       "logSIGSEGV 15 null-read $RANK=6 $WORLD_SIZE=64 $LOCAL_RANK=2\n"
	       "! ValueError: bad\n"
	       "*17 a (b), \"c\" (main) holds\n");
}

/* What corescan concluded does not become a message. */
static void test_findings(void **state)
{
	(void)state;
	expect(VERDICT "  thread       17\n\n"
		       "Finding: RuntimeError: CUDA error: out of memory (likely)\n"
		       "  terminate called after throwing an instance of 'c10::Error'\n"
		       "  why          in torch::error (libtorch.so)\n"
		       "  fingerprint  1-0123456789abcdef\n" STACK "> #0  f (libx.so)\n  #1  main (a.out)\n"
		       "\nProcess\n  executable   /bin/a.out\n",
	       "SIGSEGV 0 null-read only-thread\n*17\nf (libx.so)\nmain (a.out)\n");
}

static void test_frames(void **state)
{
	(void)state;
	expect(VERDICT STACK
	       "> #0   ns::f<int>(std::function<void (int)>) const (libx.so.1)\n"
	       "  #1   g at ../src/a.cc:12 [inlined]\n"
	       "  #2   libx.so.1+0x12 (nearest exported: h+0x2)\n"
	       "  #3   [vdso]+0x12 (no symbol)\n"
	       "  #4   0x7f0000001000 (in no module)\n"
	       "  #5   <signal handler called>\n"
	       "       <frames are missing here>\n"
	       "  py   Net.forward at /srv/at home/net.py:7\n"
	       "         x = ops.f(x)\n"
	       "         x: #1  no_frame (libx.so)\n"
	       "  py   <unreadable code of frame 0x7f0000001000>\n"
	       "  #16  operator new(unsigned long) (libstdc++.so.6) [frame pointer]\n"
	       "       (10 frames of the interpreter itself are hidden: --all)\n",
	       "SIGSEGV 0 null-read\n*17\n"
	       "ns::f<int>(std::function<void (int)>) const (libx.so.1)\n"
	       "g ../src/a.cc:12\n- (libx.so.1)\n- ([vdso])\n-\n<signal handler called>\n"
	       "> Net.forward /srv/at home/net.py:7\n> -\noperator new(unsigned long) (libstdc++.so.6)\n");
}

static void test_all_frames(void **state)
{
	(void)state;
	expect(VERDICT STACK "> #0   0x00007f0000001000 f(int)+0x12 at a.cc:5 (libx.so)\n"
			     "  #1   0x00007f0000001000 0x7f0000001000 (in no module)\n"
			     "  #2   0x00007f0000001000 (anonymous namespace)::g()+0x1 (libx.so)\n"
			     "  py   0x00007f0000001000 f at a.py:3\n"
			     "\nRegisters of thread 17\n  rax      0x0000000000000010\n",
	       "SIGSEGV 0 null-read\n*17\nf(int) (libx.so) a.cc:5\n-\n(anonymous namespace)::g() (libx.so)\n"
	       "> f a.py:3\n");
}

/* What a terminal had no room for. */
static void test_cut_frames(void **state)
{
	(void)state;
	expect("SIGSEGV: read of address 0x10, a small offset\n  from NULL, in f()\n" STACK
	       "> #0   ns::f<std::function<void (int)>, ...\n"
	       "  py   f at a.py:3\n"
	       "  #1   ns::g<std::vec... at ...c/a.cc:12\n"
	       "  #2   ns::name_that_goes_...\n"
	       "  #3   h (libtorch_cp...\n"
	       "       (10 frames of the interpreter itself are hidden: --all)\n",
	       "SIGSEGV 0 null-read\n*17\nns::f\n> f a.py:3\nns::g "
	       "...c/a.cc:12\nns::name_that_goes_...\nh\n");
}

static void test_repeats(void **state)
{
	(void)state;
	expect("SIGSEGV: write to address 0x7f0000000ff8, just below the "
	"thread's stack: stack overflow, in f()\n"
	       STACK "> #0      f (a.out)\n  #1      g (a.out)\n"
		     "          ... the 2 frames above repeat 26,664 times\n"
		     "  #53328  main (a.out)\n          ... the 9 frames above repeat 5 times\n",
	       "SIGSEGV 0 stack-overflow\n*17\nf (a.out)\ng (a.out)\nf (a.out)\ng (a.out)\nmain (a.out)\n");
	/* Without a verdict it must be seen in the stack. */
	expect("Stack of the crashed thread 17\n> #0  f (a.out)\n"
	       "      ... the frame above is there 9,000 times in a row\n",
	       "- 0\n*17\nf (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\n"
	       "f (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\nf (a.out)\n");
}

static void test_threads(void **state)
{
	(void)state;
	expect(VERDICT STACK "  (the same as of 2 other threads: 18 19)\n> #0  f (a.out)\n"
	       "\nOther threads: 5 in 4 distinct stacks\n\n"
	       "2 threads \"w\" (openmp-worker), one waits for the GIL: 20, 21\n  #0  poll (libc.so.6)\n\n"
	       "Thread 22, deadlocked: waits for a mutex that 23 has\n  #0  lock (libc.so.6)\n\n"
	       "Thread 23 \"x\", waits for the GIL\n  #0  take_gil (python3)\n\n"
	       "2 threads, all are daemons: 24 \"y: z\",\n    25 \"u\"\n  #0  read (libc.so.6)\n\n"
	       "(9 more threads in 2 more stacks: --threads)\n\n"
	       "asyncio tasks: 2 in 1 distinct stack\n\n2 tasks (f), waiting: "
	       "\"a\", \"b\"\n  py  f at a.py:1\n",
	       "SIGSEGV 0 null-read lock-cycle gil-waited-for\n"
	       "18\nf (a.out)\n19\nf (a.out)\n*17\nf (a.out)\n"
	       "20 w (openmp-worker) waits\npoll (libc.so.6)\n21 w (openmp-worker)\npoll (libc.so.6)\n"
	       "22 deadlocked\nlock (libc.so.6)\n23 x waits\ntake_gil (python3)\n"
	       "25 u\nread (libc.so.6)\n24 y: z\nread (libc.so.6)\n");
}

static void test_hang(void **state)
{
	(void)state;
	expect("SIGQUIT sent by process 9, uid 0 in poll()\n\n  thread     "
	"  17 \"a\", one of 2 threads\n" STACK
	       "> #0  poll (libc.so.6)\n",
	       "SIGQUIT 0 hang sent-from-outside\n17 a\npoll (libc.so.6)\n");
	expect("no thread received a fatal signal: this core was written of a running process\n\n"
	       "  process      17  python\n\nThreads: 1 in 1 distinct stack\n\n"
	       "Thread 17 \"MainThread\", waits for the GIL\n  py  f at a.py:3\n\nProcess\n"
	       "  versions     python 3.11.2, torch 2.6.0+cpu (/x.so)\n"
	       "  python       3.11.2, finalizing, 1 thread, nobody holds the GIL\n"
	       "  environment  RANK=1\n               PYTHONPATH=/a b\n               (3 more: --all)\n",
	       "- 17 hang python-finalizing gil-waited-for gil-one-waiter gil-held-by-nobody only-thread "
	       "python=3.11.2 torch=2.6.0+cpu $RANK=1 $PYTHONPATH=/a b\n"
	       "17 MainThread waits\n> f a.py:3\n");
}

static void test_messages(void **state)
{
	(void)state;
	expect("SIGABRT: abort() by std::terminate, in f()\n\n"
	       "  thread       17, one of 2 threads\n"
	       "  last words   first line\n\n                 indented\n"
	       "  exception    ValueError: bad ... (being handled)\n" STACK "> #0  f (a.out)\n"
	       "\nExceptions: 2\n\nThread 17 (being handled)\n"
	       "  Traceback (most recent call last):\n    File \"a.py\", line 3, in f\n      raise KeyError\n"
	       "  KeyError: 'a'\n\n"
	       "  The next one names the one above as its cause (raise ... from ...):\n\n"
	       "  Traceback (most recent call last):\n    File \"a.py\", line 5, in g\n"
	       "  ValueError: bad\n  second line\n\n    third line\n\n"
	       "Thread 18 \"x\" (kept after it was handled)\n  OSError: gone\n\nProcess\n",
	       "SIGABRT 0 aborted\n! first line\n\n  indented\n! ValueError: "
	       "bad\nsecond line\n\n  third line\n"
	       "! KeyError: 'a'\n~ OSError: gone\n*17\nf (a.out)\n");
}

#define PAGE                                                                                             \
	"**SIGABRT: `abort()` by std::terminate**, in `f (a.out)`, called from Python in `g at "         \
	"a.py:3`.\n\n"                                                                                  \
	"Known problem: **CUDA ran out of memory** (confidence: likely). RuntimeError: x.\n\n"           \
	"Its last words:\n\n```\nterminate called\n\n  what(): x\n```\n\n"                               \
	"**What to do**\n\n1. RuntimeError: never mind.\n\n"                                             \
	"| | |\n|---|---|\n| torch | `2.6.0` |\n| rank | `1 of 2` |\n| command | `a \\| b` |\n\n"        \
	"**Exception** `Thread 18 (being handled)`\n\n```\n  ValueError: other\n```\n\n"                 \
	"**Stack of the crashed thread** `17 \"MainThread\"`\n\n```\n> #0  f (a.out)\n"                  \
	"  py  g at a.py:3\n```\n\n"                                                                     \
	"**Its Python stack** (most recent call first, as faulthandler prints it)\n\n"                   \
	"```\n  File \"a.py\", line 3 in g\n```\n\n"                                                     \
	"**Other threads: 1 in 1 distinct stack**\n\n"                                                   \
	"<details><summary><code>Thread 18 \"x &lt;y&gt;\"</code> in <code>poll</code></summary>\n\n"    \
	"```\n  #0  poll (libc.so.6)\n```\n\n</details>\n\n"                                             \
	"<details><summary>Environment</summary>\n\n```\nRANK=1\n```\n\n</details>\n\n"                  \
	"Fingerprint: `1-0123456789abcdef`, made of `SIGABRT | f`\n\n"                                   \
	"corescan 0.1.0, fingerprints by algorithm 1\n"
#define READ                                                                                             \
	" aborted torch=2.6.0 $RANK=1 $WORLD_SIZE=2 $RANK=1\n! terminate called\n\n  what(): x\n"        \
	"? ValueError: other\n*17 MainThread\nf (a.out)\n> g a.py:3\n18 x <y>\npoll (libc.so.6)\n"

static void test_page(void **state)
{
	(void)state;
	expect(PAGE, "SIGABRT 0" READ);
	expect("## Core 1 of 2: `core.1`\n\n" PAGE "\n## Core 2 of 2: `core.2`\n\n" PAGE,
	       "SIGABRT 0 of core.1" READ "SIGABRT 0 of core.2" READ);
	expect(PAGE PAGE, "SIGABRT 0" READ "SIGABRT 0" READ);
}

static void test_several(void **state)
{
	(void)state;
	expect("==> core.1 <==\n" VERDICT STACK "> #0  f (a.out)\n\n==> core.2 <==\n" VERDICT STACK
	       "> #0  g (a.out)\n\n" VERDICT STACK "> #0  h (a.out)\n",
	       "SIGSEGV 0 of core.1 null-read\n*17\nf (a.out)\nSIGSEGV 0 of "
	       "core.2 null-read\n*17\ng (a.out)\n"
	       "SIGSEGV 0 null-read\n*17\nh (a.out)\n");
}

/* What looks like it, and is another tool's. */
static void test_others(void **state)
{
	(void)state;
	expect("SIGSEGV: segmentation violation\nPC=0x45 m=0 sigcode=1\n",
	       "log- 0\n! SIGSEGV: segmentation violation\n");
	expect("#0  f () at a.c:5\n#1  main () at a.c:9\n", "gdb- 0 hang\n0\nf a.c:5\nmain a.c:9\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_screen), cmocka_unit_test(test_findings),
		cmocka_unit_test(test_frames),	     cmocka_unit_test(test_all_frames),
		cmocka_unit_test(test_cut_frames),   cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_threads),	     cmocka_unit_test(test_hang),
		cmocka_unit_test(test_messages),     cmocka_unit_test(test_page),
		cmocka_unit_test(test_several),	     cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
