/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `many N`: N threads parked eight frames deep, then abort. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static sem_t ready;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
volatile int sink;

NOINLINE static void many_3(void)
{
	pthread_mutex_lock(&mutex);
	sem_post(&ready);
	pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

NOINLINE static void many_2(void)
{
	many_3();
	sink++;
}

NOINLINE static void many_1(void)
{
	many_2();
	sink++;
}

static void *many(void *arg)
{
	many_1();
	sink++;
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 0;
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&ready, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, many, NULL) != 0)
			return 2;
	for (int i = 0; i < n; i++)
		sem_wait(&ready);
	pthread_mutex_lock(&mutex);
	abort();
}
