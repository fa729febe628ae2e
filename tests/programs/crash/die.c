/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dies in the way that its argument names, after it has written what it knows to the file
 * "truth": the address that it is about to touch, in hexadecimal. Every way has its own
 * function, never inlined, so that a test can ask for it by name.
 */
#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* The compiler must not see through what is about to go wrong. */
static void *volatile hidden;
static volatile int sink;

static void truth(const volatile void *address)
{
	FILE *f = fopen("truth", "w");

	if (!f || fprintf(f, "0x%lx\n", (unsigned long)(uintptr_t)address) < 0 ||
	    fclose(f))
		_exit(99);
}

static void check(int ok)
{
	if (!ok)
		_exit(98);
}

static NOINLINE void null_read(void)
{
	volatile int *p = hidden = NULL;

	truth(p);
	sink = *p;
}

static NOINLINE void null_write(void)
{
	volatile int *p = hidden = NULL;

	truth(p);
	*p = 1;
}

struct node {
	char pad[0x18];
	long value;
};

static NOINLINE void null_field(void)
{
	volatile struct node *n = hidden = NULL;

	truth(&n->value);
	sink = (int)n->value;
}

static NOINLINE void jump_null(void)
{
	void (*volatile f)(void) = NULL;

	truth(NULL);
	f();
	sink = 1;
}

static NOINLINE void jump_data(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void (*volatile f)(void) = (void (*)(void))(uintptr_t)page;

	check(page != MAP_FAILED);
	truth(page);
	f();
	sink = 1;
}

static NOINLINE void jump_unmapped(void)
{
	void (*volatile f)(void) = (void (*)(void))0x123456789000;

	truth((void *)0x123456789000);
	f();
	sink = 1;
}

static NOINLINE void jump_wild(void)
{
	void (*volatile f)(void) = (void (*)(void))0xdeadbeefcafe0000;

	truth((void *)0xdeadbeefcafe0000);
	f();
	sink = 1;
}

static NOINLINE void write_constant(void)
{
	static const char text[] = "constant";
	volatile char *p = hidden = (void *)(uintptr_t)text;

	truth(p);
	*p = 'x';
}

static NOINLINE void read_reserved(void)
{
	char *page = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile char *p = hidden = page + 32768;

	check(page != MAP_FAILED);
	truth(p);
	sink = *p;
}

/* The stack grows by what a frame takes, so the address is not known beforehand: none is
 * written. */
static NOINLINE int recurse(int depth)
{
	volatile char room[200];

	room[0] = (char)depth;
	room[depth % 200] = 1;
	return recurse(depth + 1) + room[0];
}

static NOINLINE void stack_main(void)
{
	sink = recurse(0);
}

static void *recurse_thread(void *arg)
{
	(void)arg;
	sink = recurse(0);
	return NULL;
}

static NOINLINE void in_thread(void *(*body)(void *))
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, body, NULL) == 0);
	pthread_join(thread, NULL);
}

static NOINLINE void stack_thread(void)
{
	in_thread(recurse_thread);
}

static NOINLINE void use_after_unmap(void)
{
	size_t size = 4UL << 20;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	volatile char *p = hidden = area + size / 2;

	check(area != MAP_FAILED && munmap(area, size) == 0);
	truth(p);
	*p = 1;
}

static NOINLINE void non_canonical(void)
{
	volatile long *p = hidden = (void *)0x4141414141414140;

	truth(p);
	sink = (int)*p;
}

static NOINLINE void past_end_of_file(void)
{
	int fd = open("mapped.bin", O_RDWR | O_CREAT, 0600);
	volatile char *p;
	char *area;

	check(fd >= 0 && ftruncate(fd, 16384) == 0);
	area = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	check(area != MAP_FAILED);
	area[0] = 1;
	check(ftruncate(fd, 4096) == 0);
	p = hidden = area + 8192;
	truth(p);
	sink = *p;
}

static NOINLINE void divide_by_zero(void)
{
	volatile int zero = 0;

	sink = 7 / zero;
}

/* The same with the divisor in a register. */
static NOINLINE void divide_by_register(void)
{
	volatile long zero = 0;
	long divisor = zero;

	sink = (int)(7 % divisor);
}

static NOINLINE void divide_overflow(void)
{
	volatile int least = INT_MIN, minus_one = -1;

	sink = least / minus_one;
}

static NOINLINE void trap(void)
{
	__builtin_trap();
}

static NOINLINE void fail_assertion(void)
{
	volatile int ranks = 0;

	assert(ranks == 8);
}

static NOINLINE void double_free(void)
{
	void *p = hidden = malloc(4000);

	hidden = malloc(16); /* keeps the block away from the top */
	free(p);
	p = *(void *volatile *)&p;
	free(p);
}

static NOINLINE void free_garbage(void)
{
	char *p = malloc(64);

	hidden = p;
	free((char *)hidden + 8);
}

static NOINLINE void smash_stack(void)
{
	char room[16];
	volatile size_t n = 64;

	hidden = room;
	for (size_t i = 0; i < n; i++)
		((volatile char *)hidden)[i] = 'A';
}

static NOINLINE void overflow_fortified(void)
{
	char room[16];
	volatile size_t n = 64;

	memset(hidden = malloc(64), 'B', 64);
	memcpy(room, hidden, n);
	sink = room[3];
}

static NOINLINE void overflow_printed(void)
{
	char room[16];
	volatile size_t n = 64;

	snprintf(room, n, "%d", sink);
	sink = room[3];
}

static void *abort_thread(void *arg)
{
	(void)arg;
	abort();
}

static NOINLINE void abort_in_thread(void)
{
	in_thread(abort_thread);
}

static NOINLINE void wait_for_signal(void)
{
	truth(NULL);
	for (;;)
		pause();
}

static NOINLINE void raise_segv(void)
{
	raise(SIGSEGV);
}

#ifdef __x86_64__
/* No address comes with a general protection fault. */
static NOINLINE void misaligned(void)
{
	char *p = hidden = (char *)malloc(64) + 1;

	truth(p);
	__asm__ volatile("movaps %%xmm0, (%0)" : : "r"(p) : "memory");
}

static NOINLINE void privileged(void)
{
	__asm__ volatile("hlt");
}
#endif

static NOINLINE void write_code(void)
{
	volatile char *p = hidden = (void *)(uintptr_t)truth;

	truth(p);
	*p = 0;
}

/* Eight bytes of which only the first four are mapped: the address is that of the fifth.
 */
static NOINLINE void tail_of_page(void)
{
	char *area = mmap(NULL, 16UL << 20, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile long *p;

	check(area != MAP_FAILED && munmap(area + (8UL << 20), 4UL << 20) == 0);
	p = hidden = area + (8UL << 20) - 4;
	truth(area + (8UL << 20));
	sink = (int)*p;
}

static void raise_again(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

static NOINLINE void fault_with_handler(void)
{
	volatile long *p = hidden = (void *)0x28;
	struct sigaction action = {.sa_handler = raise_again, .sa_flags = SA_NODEFER};

	check(sigaction(SIGSEGV, &action, NULL) == 0);
	truth(p);
	*p = 5;
}

static void raise_again_info(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	raise_again(signo);
}

/* The same with SA_SIGINFO: the kernel saves siginfo for such a handler alone. */
static NOINLINE void fault_with_info(void)
{
	volatile long *p = hidden = (void *)0x30;
	struct sigaction action = {.sa_sigaction = raise_again_info,
				   .sa_flags = SA_SIGINFO};

	check(sigaction(SIGSEGV, &action, NULL) == 0);
	truth(p);
	sink = (int)*p;
}

/* A handler for an abort(), as glog and c10 install one. */
static NOINLINE void assert_with_handler(void)
{
	struct sigaction action = {.sa_handler = raise_again, .sa_flags = SA_NODEFER};

	check(sigaction(SIGABRT, &action, NULL) == 0);
	fail_assertion();
}

/* The handler is for one signal and dies of another, its own mistake. */
static void fault_in_handler(int signo)
{
	volatile long *p = hidden = (void *)0x40;

	(void)signo;
	truth(p);
	*p = 1;
}

static NOINLINE void handler_faults(void)
{
	check(signal(SIGUSR1, fault_in_handler) != SIG_ERR);
	raise(SIGUSR1);
}

static void abort_handler(int signo)
{
	(void)signo;
	abort();
}

/* A handler on a stack of its own ends the process by abort() after the stack overflowed.
 */
static NOINLINE void overflow_with_handler(void)
{
	size_t size = 65536;
	stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
	struct sigaction action = {.sa_handler = abort_handler, .sa_flags = SA_ONSTACK};

	check(stack.ss_sp && sigaltstack(&stack, NULL) == 0 &&
	      sigaction(SIGSEGV, &action, NULL) == 0);
	sink = recurse(0);
}

/* Like a DataLoader worker's: prints, restores the default and sends the signal to its
 * own process. */
static void kill_again(int signo)
{
	signal(signo, SIG_DFL);
	kill(getpid(), signo);
	for (;;)
		pause();
}

static NOINLINE void bus_with_handler(void)
{
	struct sigaction action = {.sa_handler = kill_again, .sa_flags = SA_NODEFER};

	check(sigaction(SIGBUS, &action, NULL) == 0);
	past_end_of_file();
}

struct way {
	const char *name;
	void (*die)(void);
};

static const struct way ways[] = {
	{"null-read", null_read},
	{"null-write", null_write},
	{"null-field", null_field},
	{"jump-null", jump_null},
	{"jump-data", jump_data},
	{"jump-unmapped", jump_unmapped},
	{"jump-wild", jump_wild},
	{"write-constant", write_constant},
	{"read-reserved", read_reserved},
	{"stack-main", stack_main},
	{"stack-thread", stack_thread},
	{"use-after-unmap", use_after_unmap},
	{"non-canonical", non_canonical},
	{"past-end-of-file", past_end_of_file},
#ifdef __x86_64__
	{"misaligned", misaligned},
	{"privileged", privileged},
#endif
	{"self-modify", write_code},
	{"tail-of-page", tail_of_page},
	{"divide-by-zero", divide_by_zero},
	{"divide-by-register", divide_by_register},
	{"divide-overflow", divide_overflow},
	{"trap", trap},
	{"assert", fail_assertion},
	{"double-free", double_free},
	{"free-garbage", free_garbage},
	{"smash-stack", smash_stack},
	{"overflow-fortified", overflow_fortified},
	{"overflow-printed", overflow_printed},
	{"abort-thread", abort_in_thread},
	{"wait", wait_for_signal},
	{"raise-segv", raise_segv},
	{"reraise", fault_with_handler},
	{"reraise-info", fault_with_info},
	{"assert-handled", assert_with_handler},
	{"handler-faults", handler_faults},
	{"overflow-handled", overflow_with_handler},
	{"bus-handled", bus_with_handler},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, argv[1]))
			ways[i].die();
	return 97;
}
