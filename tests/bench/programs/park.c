/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process of many parked threads, with or without a big heap, that aborts: what the benchmark reads.
 * usage: park THREADS HEAP_MIB
 */
#include <pthread.h>
#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t parked;

__attribute__((noinline)) static void wait_condition(void)
{
	pthread_mutex_lock(&mutex);
	sem_post(&parked);
	for (;;)
		pthread_cond_wait(&never, &mutex);
}

__attribute__((noinline)) static void wait_poll(void)
{
	sem_post(&parked);
	for (;;)
		poll(NULL, 0, -1);
}

__attribute__((noinline)) static void wait_pause(void)
{
	sem_post(&parked);
	for (;;)
		pause();
}

/* A few frames of its own, so that stacks are as deep as a worker's are. */
__attribute__((noinline)) static void descend(unsigned depth, unsigned kind)
{
	volatile char pad[128];

	memset((char *)pad, (int)depth, sizeof(pad));
	if (depth)
		descend(depth - 1, kind);
	else if (kind == 0)
		wait_condition();
	else if (kind == 1)
		wait_poll();
	else
		wait_pause();
	pad[0] = 1;
}

static void *work(void *arg)
{
	unsigned n = (unsigned)(size_t)arg;

	descend(n % 4 + 2, n % 3);
	return NULL;
}

static void fill_heap(size_t mib)
{
	for (size_t i = 0; i < mib; i++) {
		unsigned *block = malloc(1 << 20);

		if (!block)
			exit(1);
		for (size_t k = 0; k < (1 << 20) / sizeof(*block); k++)
			block[k] = (unsigned)(k * 2654435761u + i);
	}
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&parked, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, work, (void *)(size_t)i) != 0)
			return 1;
	for (unsigned i = 0; i < n; i++)
		sem_wait(&parked);
	fill_heap(argc > 2 ? (size_t)atoi(argv[2]) : 0);
	usleep(200000); /* the last ones are past sem_post, not yet asleep */
	abort();
}
