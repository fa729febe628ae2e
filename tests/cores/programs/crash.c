/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * crash KIND: dies in one of several ways, each some calls below main. It knows the deaths only;
 * what a report must say of each is the business of the tests.
 */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int zero;
static volatile int sink;

static void __attribute__((noinline)) die_null(void)
{
	*(volatile int *)(size_t)zero = 1;
}

static void __attribute__((noinline)) die_call(void)
{
	void (*volatile nowhere)(void) = NULL;

	nowhere();
	sink++;
}

static void __attribute__((noinline)) die_abort(void)
{
	abort();
}

static void __attribute__((noinline)) die_assert(void)
{
	assert(zero == 1);
}

static void __attribute__((noinline)) die_divide(void)
{
	sink = 7 / zero;
}

/* The call is the last instruction of the function: the return address lies in the next one. */
static void __attribute__((noinline, noreturn)) never_back(void)
{
	abort();
}

static int compare(const void *a, const void *b)
{
	if (zero == 0)
		never_back();
	return memcmp(a, b, 1);
}

static void __attribute__((noinline)) die_callback(void)
{
	char letters[] = "sorted";

	qsort(letters, sizeof(letters) - 1, 1, compare);
	sink++;
}

static void on_fault(int number)
{
	sink = number;
	abort();
}

static void __attribute__((noinline)) handle(int flags)
{
	static char other[64 * 1024];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction action = { .sa_handler = on_fault, .sa_flags = flags };

	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

static void __attribute__((noinline)) die_handler(void)
{
	handle(SA_ONSTACK);
	die_null();
	sink++;
}

static void __attribute__((noinline)) die_handler_same_stack(void)
{
	handle(0);
	die_null();
	sink++;
}

static int __attribute__((noinline)) deep(int depth)
{
	volatile char room[16] = { (char)depth };

	if (depth == 0)
		abort();
	return deep(depth - 1) + room[0];
}

static int __attribute__((noinline)) odd(int depth);

static int __attribute__((noinline)) even(int depth)
{
	if (depth == 0)
		abort();
	return odd(depth - 1) + 1;
}

static int __attribute__((noinline)) odd(int depth)
{
	return even(depth - 1) + 2;
}

static void *run_deep(void *depth)
{
	sink = deep(*(int *)depth);
	return NULL;
}

static void *run_mutual(void *depth)
{
	sink = even(*(int *)depth);
	return NULL;
}

/* A thread, because its stack can be made large without a change of the limit. */
static void __attribute__((noinline)) on_large_stack(void *(*body)(void *))
{
	static int depth = 80000;
	pthread_attr_t large;
	pthread_t thread;

	pthread_attr_init(&large);
	pthread_attr_setstacksize(&large, 256UL << 20);
	if (!pthread_create(&thread, &large, body, &depth))
		pthread_join(thread, NULL);
}

static void __attribute__((noinline)) die_deep(void)
{
	on_large_stack(run_deep);
}

static void __attribute__((noinline)) die_mutual(void)
{
	on_large_stack(run_mutual);
}

static int __attribute__((noinline)) forever(int depth)
{
	volatile char room[4000] = { (char)depth };

	return forever(depth + 1) + room[0];
}

/* A small stack keeps the core small. */
static void __attribute__((noinline)) die_overflow(void)
{
	struct rlimit small = { 256 * 1024, 256 * 1024 };

	setrlimit(RLIMIT_STACK, &small);
	sink = forever(1);
}

static void __attribute__((noinline)) die_raise(void)
{
	raise(SIGQUIT);
	sink++;
}

static const struct {
	const char *name;
	void (*die)(void);
} kinds[] = {
	{ "null", die_null },
	{ "call", die_call },
	{ "abort", die_abort },
	{ "assert", die_assert },
	{ "divide", die_divide },
	{ "noreturn", die_callback },
	{ "handler", die_handler },
	{ "handler-same-stack", die_handler_same_stack },
	{ "deep", die_deep },
	{ "mutual", die_mutual },
	{ "overflow", die_overflow },
	{ "raise", die_raise },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, argv[1]))
			kinds[i].die();
	fprintf(stderr, "crash: no such kind\n");
	return 2;
}
