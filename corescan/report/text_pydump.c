/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Python stacks of all threads as `py-spy dump` prints them (py-spy: src/dump.rs),
 * for people and programs that read those. Knows its habits, and which functions of libc
 * wait; refuses to know anything native beyond that.
 */
#include "report/text_fold.h"
#include "report/text_sections.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIBC_FRAMES                                                                  \
	8 /* innermost frames that may be libc's own, inlined ones included */

/* Functions that wait, without leading underscores, "GI_" and "libc_"; sorted. */
static const char *const waiting[] = {
	"accept",
	"accept4",
	"clock_nanosleep",
	"connect",
	"do_futex_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"epoll_wait",
	"flock",
	"futex_abstimed_wait",
	"futex_abstimed_wait64",
	"futex_abstimed_wait_cancelable",
	"futex_abstimed_wait_cancelable64",
	"futex_abstimed_wait_common",
	"futex_abstimed_wait_common64",
	"futex_lock_pi64",
	"futex_wait",
	"futex_wait_cancelable",
	"lll_lock_wait",
	"lll_lock_wait_private",
	"mq_timedreceive",
	"msgrcv",
	"nanosleep",
	"new_sem_wait_slow",
	"new_sem_wait_slow64",
	"pause",
	"poll",
	"ppoll",
	"pselect",
	"pthread_clockjoin_ex",
	"pthread_cond_clockwait",
	"pthread_cond_timedwait",
	"pthread_cond_wait",
	"pthread_join",
	"pthread_mutex_lock",
	"pthread_rwlock_rdlock",
	"pthread_rwlock_wrlock",
	"read",
	"readv",
	"recv",
	"recvfrom",
	"recvmmsg",
	"recvmsg",
	"select",
	"sem_clockwait",
	"sem_timedwait",
	"sem_wait",
	"semop",
	"semtimedop",
	"sigsuspend",
	"sigtimedwait",
	"sigwait",
	"sigwaitinfo",
	"sleep",
	"syscall_cancel",
	"syscall_cancel_arch",
	"usleep",
	"wait",
	"wait3",
	"wait4",
	"waitid",
	"waitpid",
};

static int compare_words(const void *key, const void *word)
{
	return strcmp(key, *(const char *const *)word);
}

static bool function_waits(const char *function)
{
	char name[64];

	function += strspn(function, "_");
	if (!strncmp(function, "GI_", 3))
		function += 3;
	function += strspn(function, "_");
	if (!strncmp(function, "libc_", 5))
		function += 5;
	function += strspn(function, "_");
	snprintf(name, sizeof(name), "%.*s",
		 (int)CS_MIN(strcspn(function, "@(."), (size_t)63), function);
	return bsearch(name, waiting, CS_COUNT(waiting), sizeof(*waiting), compare_words);
}

/*
 * The innermost function waits. Where libc is stripped its inner names are not known, and
 * the exported function that called them tells it.
 */
static bool is_idle(const struct cs_thread *thread)
{
	const struct cs_stack_group *g = thread->group;

	for (size_t i = 0;
	     g && !thread->crashed && i < CS_MIN(g->n_frames, (size_t)MAX_LIBC_FRAMES);
	     i++) {
		const struct cs_frame *f = &g->frames[i];

		if ((f->kind != CS_FRAME_NATIVE && f->kind != CS_FRAME_INLINE) ||
		    f->module != g->frames[0].module)
			return false;
		if (!f->function || f->nearest)
			continue;
		if (function_waits(f->function))
			return true;
		if (f->kind == CS_FRAME_NATIVE)
			return false;
	}
	return false;
}

/* Folders whose contents are shown with their path below: what can be imported. */
static const char *const roots[] = {"/site-packages/", "/dist-packages/"};

/* The end of "/lib/python3.12/" in @file; NULL: none. */
static const char *after_stdlib(const char *file)
{
	const char *p = file, *end;

	while ((p = strstr(p, "/python"))) {
		p += strlen("/python");
		end = p + strspn(p, "0123456789.t");
		if (end > p && *end == '/')
			return end + 1;
	}
	return NULL;
}

/*
 * py-spy looks for __init__.py beside and above the file and keeps the path from the
 * outermost package on. The files of a core may be gone, or be a stranger's, so here the
 * path itself has to tell.
 */
static const char *short_file(const char *file)
{
	const char *stdlib, *slash = strrchr(file, '/');

	for (size_t i = 0; i < CS_COUNT(roots); i++) {
		const char *p = strstr(file, roots[i]);

		if (p)
			return p + strlen(roots[i]);
	}
	stdlib = after_stdlib(file);
	if (stdlib)
		return stdlib;
	if (slash && !strcmp(slash, "/__init__.py"))
		while (slash > file && slash[-1] != '/')
			slash--;
	else if (slash)
		slash++;
	return slash ? slash : file;
}

static void put_variables(struct cs_text *t, const struct cs_frame *f, bool arguments)
{
	bool first = true;

	for (size_t i = 0; i < f->n_variables; i++) {
		const struct cs_python_variable *v = &f->variables[i];

		if (!v->value || cs_text_same(v->kind, "argument") != arguments)
			continue;
		if (first)
			cs_text_printf(t, "        %s:\n",
				       arguments ? "Arguments" : "Locals");
		first = false;
		cs_text_printf(t, "            ");
		cs_text_put(t, v->name ? v->name : "?");
		cs_text_printf(t, ": ");
		cs_text_put_cut(t, v->value, CS_TEXT_MAX_VALUE);
		cs_text_printf(t, "\n");
	}
}

static void put_frame(struct cs_text *t, const struct cs_frame *f)
{
	cs_text_printf(t, "    ");
	if (f->function)
		cs_text_put(t, f->function);
	else
		cs_text_printf(t, "<unreadable code of frame 0x%" PRIx64 ">", f->address);
	cs_text_printf(t, " (");
	if (f->file)
		cs_text_put(t, t->options->all ? f->file : short_file(f->file));
	if (f->line)
		cs_text_printf(t, ":%" PRIu32, f->line);
	cs_text_printf(t, ")\n");
	if (f->source) {
		cs_text_printf(t, "        ");
		cs_text_put(t, f->source + strspn(f->source, " \t\f"));
		cs_text_printf(t, "\n");
	}
	put_variables(t, f, true);
	put_variables(t, f, false);
}

/* A run of frames that repeats is printed once: py-spy would print each. */
static void put_frames(struct cs_text *t, const struct cs_stack_group *g)
{
	const struct cs_frame *run = NULL;
	size_t left = 0, shown = 0;

	for (size_t i = 0; i < g->n_frames; i++) {
		const struct cs_frame *f = &g->frames[i];

		if (f->repeat_period) {
			run = f;
			left = f->repeat_period;
			shown = 0;
		}
		if (f->kind == CS_FRAME_PYTHON)
			put_frame(t, f);
		shown += f->kind == CS_FRAME_PYTHON;
		if (!left || --left || run->repeat_count < 2 || !shown)
			continue;
		if (shown == 1)
			cs_text_printf(
				t, "    ... the frame above is there %s times in a row\n",
				cs_text_count(run->repeat_count));
		else
			cs_text_printf(t, "    ... the %s frames above repeat %s times\n",
				       cs_text_count(shown),
				       cs_text_count(run->repeat_count));
	}
}

static void put_thread(struct cs_text *t, const struct cs_thread *thread)
{
	const struct cs_python_thread *p = thread->python;

	cs_text_printf(t, "Thread %" PRId32 " (%s)", thread->tid,
		       p->holds_gil      ? "active+gil"
		       : is_idle(thread) ? "idle"
					 : "active");
	if (p->name) {
		cs_text_printf(t, ": \"");
		cs_text_put(t, p->name);
		cs_text_printf(t, "\"");
	}
	cs_text_printf(t, "\n");
	if (thread->group)
		put_frames(t, thread->group);
	if (p->broken) {
		cs_text_printf(t, "    (Python frames are missing: ");
		cs_text_put(t, p->broken);
		cs_text_printf(t, ")\n");
	}
}

static void put_process(struct cs_text *t, const struct cs_analysis *a)
{
	const struct cs_process *p = &a->process;

	if (p->pid > 0)
		cs_text_printf(t, "Process %" PRId32 ":", p->pid);
	else
		cs_text_printf(t, "Process:");
	for (size_t i = 0; i < p->n_command; i++) {
		cs_text_printf(t, " ");
		cs_text_put(t, p->command[i]);
	}
	cs_text_printf(t, "\n");
	for (size_t i = 0; i < a->python.n_runtimes; i++) {
		const struct cs_python_runtime *r = &a->python.runtimes[i];
		const char *path = p->executable;

		/* Which of several it is, only the library tells. */
		if (r->module && (!path || a->python.n_runtimes > 1))
			path = r->module->path;
		cs_text_printf(t, "Python v");
		cs_text_put(t, r->version ? r->version : "?");
		cs_text_printf(t, " (");
		cs_text_put(t, path ? path : "?");
		cs_text_printf(t, ")\n");
	}
	cs_text_printf(t, "\n");
}

/*
 * The main thread first, the others by id: in the order in which they were started. Ids
 * below the process's own were given after the kernel had run out of larger ones.
 */
static int compare_threads(const void *a, const void *b, void *arg)
{
	const struct cs_thread *x = *(const struct cs_thread *const *)a;
	const struct cs_thread *y = *(const struct cs_thread *const *)b;
	int32_t pid = *(const int32_t *)arg;

	if (x->python->is_main != y->python->is_main)
		return x->python->is_main ? -1 : 1;
	if ((x->tid < pid) != (y->tid < pid))
		return x->tid < pid ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct cs_error *put_threads(struct cs_text *t, const struct cs_analysis *a)
{
	CS_CLEANUP(cs_freep)
	const struct cs_thread **threads = calloc(a->n_threads + 1, sizeof(*threads));
	int32_t pid = a->process.pid;
	size_t n = 0;

	if (!threads)
		return &cs_nomem;
	for (size_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].python)
			threads[n++] = &a->threads[i];
	qsort_r(threads, n, sizeof(*threads), compare_threads, &pid);
	for (size_t i = 0; i < n; i++)
		put_thread(t, threads[i]);
	if (!n)
		cs_text_printf(t, "No thread of the process is known to run Python.\n");
	return NULL;
}

/* What limits the answer: there is no other place to say it. */
static void put_cautions(struct cs_text *t, const struct cs_analysis *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_diagnostics; i++) {
		const struct cs_diagnostic *d = &a->diagnostics[i];

		if (d->severity != CS_SEVERITY_ERROR &&
		    (!cs_text_same(d->layer, "python") ||
		     d->severity == CS_SEVERITY_NOTE))
			continue;
		cs_text_printf(t, "%sCaution: ", n++ ? "" : "\n");
		cs_text_put(t, d->text);
		cs_text_printf(t, "\n");
	}
	if (a->limit_hit)
		cs_text_printf(t,
			       "%sCaution: a limit of time or memory ended the analysis "
			       "early\n",
			       n ? "" : "\n");
}

struct cs_error *cs_report_python(const struct cs_analysis *a,
				  const struct cs_text_options *options, FILE *out)
{
	/* Programs read this too, so no line is cut or coloured. */
	const struct cs_text_options plain = {.all = options->all};
	struct cs_text t = {.out = out, .options = &plain};

	put_process(&t, a);
	CS_TRY(put_threads(&t, a));
	put_cautions(&t, a);
	errno = 0;
	if (fflush(out) || ferror(out))
		return cs_error_os(errno ? errno : EIO, "cannot write the report");
	return NULL;
}
