/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that wait for one another, each way that the first argument names; prints "ready" once they do.
 * Its standard error says which thread is which: "a" waits first, for "b" or what "b" has.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static pthread_t main_thread;

static void say(const char *what)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %d\n", what, (int)syscall(SYS_gettid));

	(void)!write(2, line, (size_t)n);
}

static void ready(void)
{
	usleep(200000);
	(void)!write(1, "ready\n", 6);
}

static void *second(void *arg)
{
	say("b");
	pthread_mutex_lock(&two);
	pthread_barrier_wait(&both);
	if (!strcmp(arg, "timed")) {
		struct timespec until = {.tv_sec = time(NULL) + 600};

		pthread_mutex_timedlock(&one, &until);
	} else if (!strcmp(arg, "holder") || !strcmp(arg, "shared") || !strcmp(arg, "robust") ||
		   !strcmp(arg, "inherits")) {
		pause();
	} else if (!strcmp(arg, "join")) {
		pthread_join(main_thread, NULL);
	} else if (!strcmp(arg, "dies")) {
		return NULL;
	} else {
		pthread_mutex_lock(&one);
	}
	return NULL;
}

static void prepare(const char *way)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	if (!strcmp(way, "recursive"))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	if (!strcmp(way, "adaptive"))
		pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	if (!strcmp(way, "shared"))
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!strcmp(way, "robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(way, "inherits"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&one, &attr);
	pthread_mutex_init(&two, &attr);
	pthread_barrier_init(&both, NULL, 2);
}

/* The lock is held by a thread that the child does not have. */
static void in_child(void)
{
	pthread_barrier_wait(&both);
	if (fork()) {
		wait(NULL);
		return;
	}
	say("a");
	fprintf(stderr, "child %d\n", (int)getpid());
	ready();
	pthread_mutex_lock(&two);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "cycle";
	pthread_t other;

	main_thread = pthread_self();
	prepare(way);
	if (!strcmp(way, "self")) {
		say("a");
		pthread_mutex_lock(&one);
		ready();
		pthread_mutex_lock(&one);
		return 0;
	}
	if (strcmp(way, "fork"))
		say("a");
	pthread_mutex_lock(&one);
	pthread_create(&other, NULL, second, (void *)(!strcmp(way, "fork") ? "holder" : way));
	if (!strcmp(way, "fork")) {
		in_child();
		return 0;
	}
	pthread_barrier_wait(&both);
	if (!strcmp(way, "dies"))
		usleep(200000);
	ready();
	if (!strcmp(way, "joins-holder"))
		pthread_join(other, NULL);
	pthread_mutex_lock(&two);
	return 0;
}
