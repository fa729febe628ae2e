/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process that uses the played GPU: its start, its fork()s, its driver threads, and
 * what every call begins with. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "model.h"
#include "process.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct timespec began;
static bool driver_up, driver_lost;
static bool contexts[RIG_MAX_DEVICES];
static int broken;
static bool noticed;

void rig_lock(void)
{
	pthread_mutex_lock(&lock);
}

void rig_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

double rig_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - began.tv_sec) +
	       (double)(now.tv_nsec - began.tv_nsec) / 1e9;
}

/* The driver's threads do not survive fork(), and neither does its use. */
static void in_child(void)
{
	driver_lost |= driver_up;
	rig_unlock();
}

bool rig_forked(void)
{
	return __atomic_load_n(&driver_lost, __ATOMIC_ACQUIRE);
}

__attribute__((noreturn)) static void give_up(const char *message)
{
	fprintf(stderr, "rig: %s\n", message);
	_exit(2); /* the program has not begun: nothing of it is to be tidied up */
}

static void read_rules(const char *source, const char *text, struct rig_gpu *gpu)
{
	struct rig_rule *rules;
	char *message;

	if (rig_parse(source, text, gpu, &rules, &message))
		give_up(message);
	rig_rules_add(rules);
}

static void read_file(const char *path, struct rig_gpu *gpu)
{
	char *text = NULL, message[512];
	size_t size = 0;
	FILE *file = fopen(path, "re");

	if (!file || (getdelim(&text, &size, 0, file) < 0 && !feof(file))) {
		snprintf(message, sizeof(message), "RIG_FILE: cannot read %s: %s", path,
			 strerror(errno));
		give_up(message);
	}
	fclose(file);
	if (text)
		read_rules(path, text, gpu);
	free(text);
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("RIG_RULES"), *path = getenv("RIG_FILE");
	struct rig_gpu gpu;

	clock_gettime(CLOCK_MONOTONIC, &began);
	pthread_atfork(rig_lock, rig_unlock, in_child);
	gpu_defaults(&gpu, rig_cuda_version());
	if (path && *path)
		read_file(path, &gpu);
	if (text && *text)
		read_rules("RIG_RULES", text, &gpu);
	gpu_set(&gpu);
}

int rig_cuda_version(void)
{
	const char *text = getenv("RIG_CUDA_VERSION");
	int major = 12, minor = 4, used = 0;

	if (text && (sscanf(text, "%2d.%1d%n", &major, &minor, &used) != 2 ||
		     text[used] || major < 10))
		give_up("RIG_CUDA_VERSION: such as 11.7 or 12.4");
	return major * 1000 + minor * 10;
}

int rig_driver_version(void)
{
	/* A driver runs what is as old as itself: never older than the runtime. */
	return rig_cuda_version() > 12040 ? rig_cuda_version() : 12040;
}

int rig_thread(const char *name, void *(*body)(void *), void *argument)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, body, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return RIG_OUT_OF_MEMORY;
	pthread_setname_np(thread, name);
	pthread_detach(thread);
	return 0;
}

/* As the driver's own: it waits for interrupts of the device, which never come. */
static void *events_thread(void *argument)
{
	struct pollfd fd = {.fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN};

	while (poll(&fd, 1, -1) < 0 && errno == EINTR)
		;
	return argument;
}

static int driver_start(void)
{
	bool first;

	rig_lock();
	first = !driver_up;
	driver_up = true;
	rig_unlock();
	return first ? rig_thread("cuda-EvtHandlr", events_thread, NULL) : 0;
}

bool rig_context_active(int device)
{
	return device >= 0 && device < RIG_MAX_DEVICES &&
	       __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE);
}

void rig_context_open(int device)
{
	__atomic_store_n(&contexts[device], true, __ATOMIC_RELEASE);
}

void rig_context_release(int device)
{
	__atomic_store_n(&contexts[device], false, __ATOMIC_RELEASE);
}

void rig_break(int error)
{
	int none = 0;

	__atomic_compare_exchange_n(&broken, &none, error, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_ACQUIRE);
}

int rig_broken(void)
{
	int error = __atomic_load_n(&broken, __ATOMIC_ACQUIRE);

	if (error)
		__atomic_store_n(&noticed, true, __ATOMIC_RELEASE);
	return error;
}

bool rig_noticed(void)
{
	return __atomic_load_n(&noticed, __ATOMIC_ACQUIRE);
}

void rig_process_reset(void)
{
	__atomic_store_n(&broken, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&noticed, false, __ATOMIC_RELEASE);
}

/* What comes behind the rules. */
static int look(unsigned flags)
{
	int error;

	if (rig_forked() && (flags & (RIG_USES_DRIVER | RIG_LOOKS)))
		return RIG_NOT_INITIALIZED;
	if (flags & RIG_USES_DRIVER) {
		error = driver_start();
		if (error)
			return error;
	}
	if (flags & RIG_USES_CONTEXT)
		__atomic_store_n(&contexts[rig_device()], true, __ATOMIC_RELEASE);
	if (flags & RIG_LOOKS) {
		error = rig_broken();
		if (error)
			return error;
	}
	return flags & RIG_UNSAFE ? rig_capture_forbids() : 0;
}

int rig_begin(const char *call, const char *match, unsigned flags)
{
	struct rig_verdict verdict = rig_enter(call, match);
	int error = look(flags);

	if (error)
		return error;
	rig_stream_apply(NULL, &verdict);
	if (verdict.error)
		return verdict.error;
	/* The call itself finds the context broken, if it is one that looks. */
	return verdict.sticky && (flags & RIG_LOOKS) ? rig_broken() : 0;
}

int rig_begin_nameless(unsigned flags)
{
	return look(flags);
}

static void merge(struct rig_verdict *to, const struct rig_verdict *from)
{
	to->error = to->error ? to->error : from->error;
	to->sticky = to->sticky ? to->sticky : from->sticky;
	to->pending |= from->pending;
}

int rig_begin_work(const char *call, const char *group, const char *match,
		   struct rig_stream *stream, bool *captured)
{
	struct rig_capture_info info = {0};
	struct rig_verdict verdict = rig_enter(call, match);
	int error = look(RIG_CONTEXT_CALL);

	if (!error && !rig_stream_of(stream))
		error = RIG_INVALID_HANDLE;
	if (error)
		return error;
	rig_capture_info(stream, &info);
	*captured = info.status == 1;
	if (info.status == 2)
		return RIG_CAPTURE_INVALIDATED;
	if (group && !*captured) { /* what goes into a graph is done when the graph is */
		struct rig_verdict second = rig_enter(group, match);

		merge(&verdict, &second);
	}
	if (verdict.error)
		return verdict.error;
	/* What goes wrong on the device shows at a later call. */
	rig_stream_apply(stream, &verdict);
	return 0;
}

int rig_begin_kernel(const char *name, struct rig_stream *stream)
{
	struct rig_verdict verdict = rig_enter("launch", name);

	rig_stream_apply(stream, &verdict);
	return verdict.error;
}
