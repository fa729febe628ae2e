/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * threads COUNT HOW: COUNT threads, parked in eight different ways, and then the end that HOW names.
 * It knows nothing of how it will be examined; the parked stacks differ in depth so that not all
 * threads fold into one group.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t parked, empty;
static int silent[2];
static volatile int *volatile near_null = (volatile int *)16;

static void __attribute__((noinline)) wait_cond(void)
{
	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

static void __attribute__((noinline)) wait_until(void)
{
	struct timespec far = { .tv_sec = time(NULL) + 100000 };

	pthread_mutex_lock(&mutex);
	for (;;)
		pthread_cond_timedwait(&never, &mutex, &far);
}

static void __attribute__((noinline)) wait_read(void)
{
	char byte;

	while (read(silent[0], &byte, 1) < 0 && errno == EINTR)
		continue;
}

static void __attribute__((noinline)) wait_sleep(void)
{
	for (;;)
		sleep(100000);
}

static void __attribute__((noinline)) wait_poll(void)
{
	struct pollfd fd = { .fd = silent[0], .events = POLLIN };

	poll(&fd, 1, -1);
}

static void __attribute__((noinline)) wait_select(void)
{
	select(0, NULL, NULL, NULL, NULL);
}

static void (*const waits[])(void) = {
	wait_cond, wait_until, wait_read, wait_sleep, wait_poll, wait_select,
};

/* Not a tail call: each level leaves a frame. */
static int __attribute__((noinline)) descend(int depth, size_t which)
{
	int below;

	if (depth > 0) {
		below = descend(depth - 1, which);
		return below + depth;
	}
	sem_post(&parked);
	if (which % 8 == 6) {
		pthread_mutex_lock(&held);
		pthread_mutex_unlock(&held);
	} else if (which % 8 == 7) {
		while (sem_wait(&empty) < 0)
			continue;
	} else {
		waits[which % 8]();
	}
	return 0;
}

static void *park(void *which)
{
	size_t number = (size_t)which;

	return (void *)(size_t)descend((int)(number % 5), number);
}

static int __attribute__((noinline)) end(const char *how)
{
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "segv"))
		*near_null = 1;
	/* For a debugger, or for a signal from outside. */
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	pthread_attr_t small;
	pthread_t thread;

	if (pipe(silent) || sem_init(&parked, 0, 0) || sem_init(&empty, 0, 0))
		return 2;
	pthread_mutex_lock(&held);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 * 1024);
	for (int i = 0; i < count; i++)
		if (pthread_create(&thread, &small, park, (void *)(size_t)i))
			return 2;
	for (int i = 0; i < count; i++)
		while (sem_wait(&parked) < 0)
			continue;
	usleep(100 * 1000); /* the last ones go from the semaphore into their wait */
	return end(argc > 2 ? argv[2] : "wait");
}
