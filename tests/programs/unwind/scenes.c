/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that die with a known stack: `scenes NAME` dies in the way that NAME says. The functions'
 * names tell their order: scene_NAME is called by run() by main(), and its callees are NAME_1, NAME_2, ...
 */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

volatile int sink;
int *volatile null_pointer;

NOINLINE static void die(void)
{
	*null_pointer = 1;
	sink++;
}

/* ---- recursion ---- */

NOINLINE static int deep_1(int n)
{
	int r;

	if (n == 0) {
		die();
		return 0;
	}
	r = deep_1(n - 1);
	return r + sink;
}

static void scene_deep(void)
{
	sink = deep_1(80000);
}

NOINLINE static int overflow_1(int n)
{
	volatile char block[200];

	block[n & 127] = (char)n;
	return overflow_1(n + 1) + block[n & 63];
}

static void scene_overflow(void)
{
	sink = overflow_1(sink);
}

NOINLINE static int mutual_2(int n);
NOINLINE static int mutual_1(int n)
{
	return mutual_2(n - 1) + sink;
}

NOINLINE static int mutual_2(int n)
{
	if (n <= 0)
		die();
	return mutual_1(n) + sink;
}

static void scene_mutual(void)
{
	sink = mutual_1(500);
}

/* ---- shapes of frames ---- */

NOINLINE static void alloca_2(volatile char *p)
{
	p[0] = 1;
	die();
	sink = p[0];
}

NOINLINE static void alloca_1(int n)
{
	volatile char *p = alloca((size_t)n);

	alloca_2(p);
	sink = p[n - 1];
}

static void scene_alloca(void)
{
	alloca_1(1000 + sink);
}

NOINLINE static void tail_3(void)
{
	die();
	sink++;
}

NOINLINE static void tail_2(void)
{
	sink++;
	tail_3(); /* a jump with -O2 */
}

NOINLINE static void tail_1(void)
{
	tail_2();
	sink++;
}

static void scene_tail(void)
{
	tail_1();
	sink++;
}

/* The call is the last instruction: the return address lies behind the function. */
NOINLINE __attribute__((noreturn)) static void noreturn_2(void)
{
	sink++;
	abort();
}

NOINLINE __attribute__((noreturn)) static void noreturn_1(void)
{
	noreturn_2();
}

static void scene_noreturn(void)
{
	noreturn_1();
}

static jmp_buf jump;

NOINLINE static void longjmp_2(void)
{
	sink++;
	longjmp(jump, 1);
}

NOINLINE static void longjmp_1(void)
{
	if (setjmp(jump) == 0)
		longjmp_2();
	die();
	sink++;
}

static void scene_longjmp(void)
{
	longjmp_1();
	sink++;
}

/* ---- pcs where no code is ---- */

typedef void function(void);
function *volatile nothing;

NOINLINE static void null_call_1(void)
{
	nothing();
	sink++;
}

static void scene_null_call(void)
{
	null_call_1();
	sink++;
}

NOINLINE static void wild_call_1(void)
{
	nothing();
	sink++;
}

static void scene_wild_call(void)
{
	nothing = (function *)0x123456789000;
	wild_call_1();
	sink++;
}

NOINLINE static void data_call_1(void)
{
	nothing();
	sink++;
}

static void scene_data_call(void)
{
	nothing = (function *)&sink;
	data_call_1();
	sink++;
}

/* ---- signals ---- */

static void on_signal(int signo)
{
	(void)signo;
	die();
	sink++;
}

NOINLINE static void handler_1(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	sink++;
}

static void scene_handler(void)
{
	handler_1();
	sink++;
}

/* The fault itself is handled, on another stack, and the handler aborts. */
static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	abort();
}

static void catch_on_other_stack(int signo)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t other = {.ss_size = 65536};

	other.ss_sp = malloc(other.ss_size);
	sigaltstack(&other, NULL);
	sigaction(signo, &action, NULL);
}

NOINLINE static void altstack_1(void)
{
	die();
	sink++;
}

static void scene_altstack(void)
{
	catch_on_other_stack(SIGSEGV);
	altstack_1();
	sink++;
}

static void scene_overflow_caught(void)
{
	catch_on_other_stack(SIGSEGV);
	sink = overflow_1(sink);
}

static void scene_null_call_caught(void)
{
	catch_on_other_stack(SIGSEGV);
	null_call_1();
	sink++;
}

/* With SA_SIGINFO the kernel saves the signal's number beside the registers. */
static void on_second(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	die();
	sink++;
}

static void catch_signal(int signo, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	sigaction(signo, &action, NULL);
}

static void on_first(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)info;
	(void)context;
	catch_signal(SIGUSR2, on_second);
	raise(SIGUSR2);
	sink++;
}

NOINLINE static void nested_1(void)
{
	catch_signal(SIGUSR1, on_first);
	raise(SIGUSR1);
	sink++;
}

static void scene_nested(void)
{
	nested_1();
	sink++;
}

/* ---- damage ---- */

/* Writes over its caller's frame pointer and return address. */
NOINLINE static void smash_3(uint64_t *frame)
{
	for (int i = 0; i < 3; i++)
		frame[i] = 0x4141414141414141;
	die();
	sink++;
}

NOINLINE static void smash_2(void)
{
	uint64_t *frame = __builtin_frame_address(0);

	smash_3(frame);
	sink++;
}

NOINLINE static void smash_1(void)
{
	volatile char room[256];

	room[0] = 1;
	smash_2();
	sink = room[0];
}

static void scene_smash(void)
{
	smash_1();
	sink++;
}

/* ---- threads and processes ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

NOINLINE static void thread_2(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

NOINLINE static void *thread_1(void *arg)
{
	thread_2();
	return arg;
}

NOINLINE static void *sleeper_1(void *arg)
{
	pause();
	sink++;
	return arg;
}

static void scene_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, i % 2 ? sleeper_1 : thread_1, NULL);
	usleep(200000);
	die();
	sink++;
}

NOINLINE static void parked_1(void)
{
	printf("parked\n");
	fflush(stdout);
	pause();
	sink++;
}

/* Never dies: for gcore. */
static void scene_parked(void)
{
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, i % 2 ? sleeper_1 : thread_1, NULL);
	usleep(200000);
	parked_1();
	sink++;
}

/* As a thread of its own, so that it is the thread's function that dies. */
NOINLINE static void *worker_1(void *arg)
{
	die();
	sink++;
	return arg;
}

static void scene_worker(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, worker_1, NULL);
	pthread_join(thread, NULL);
	sink++;
}

NOINLINE static void vfork_1(void)
{
	int status;

	if (vfork() == 0)
		_exit(0);
	wait(&status);
	die();
	sink++;
}

static void scene_vfork(void)
{
	vfork_1();
	sink++;
}

#define SCENE(name) {#name, scene_##name}
static const struct {
	const char *name;
	void (*run)(void);
} scenes[] = {
	SCENE(deep),	    SCENE(overflow),	    SCENE(mutual),	    SCENE(alloca),
	SCENE(tail),	    SCENE(noreturn),	    SCENE(longjmp),	    SCENE(null_call),
	SCENE(wild_call),   SCENE(data_call),	    SCENE(handler),	    SCENE(altstack),
	SCENE(overflow_caught), SCENE(null_call_caught), SCENE(nested),	    SCENE(smash),
	SCENE(threads),	    SCENE(worker),	    SCENE(vfork),	    SCENE(parked),
};

NOINLINE static void run(const char *name)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (strcmp(scenes[i].name, name) == 0)
			scenes[i].run();
	sink++;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		run(argv[1]);
	fprintf(stderr, "usage: scenes NAME\n");
	return 2;
}
