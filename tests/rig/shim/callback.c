/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of the host's that a stream calls: from a thread of the driver's, in each
 * stream's order. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "model.h"

struct call {
	struct rig_ticket before; /* what has to be done first */
	uint64_t number;
	void (*function)(void *argument, int error);
	void *argument;
	struct call *next;
};
static pthread_mutex_t lock =
	PTHREAD_MUTEX_INITIALIZER; /* inside this one, the model's is never taken */
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct call *calls, **calls_end = &calls;
static uint64_t numbers;
static bool running;

/* Not in the list any more. */
static bool called(void *owner, uint64_t number)
{
	const struct call *c;

	(void)owner;
	pthread_mutex_lock(&lock);
	for (c = calls; c && c->number != number; c = c->next)
		;
	pthread_mutex_unlock(&lock);
	return !c;
}

static void take_out(struct call *call)
{
	struct call **link = &calls;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	if (!call->next)
		calls_end = link;
}

/* The next that is to be asked; only the thread below takes calls out, so they stay while
 * it asks. */
static struct call *after(const struct call *call)
{
	struct call *next;

	pthread_mutex_lock(&lock);
	while (!calls)
		pthread_cond_wait(&more, &lock);
	next = call ? call->next : calls;
	pthread_mutex_unlock(&lock);
	return next;
}

static void *body(void *argument)
{
	struct call *call = NULL;

	for (;;) {
		int error = rig_broken();

		call = after(call);
		if (!call) {
			nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
			continue;
		}
		if (!error && !call->before.done(call->before.owner, call->before.number))
			continue;
		call->function(call->argument, error);
		pthread_mutex_lock(&lock);
		take_out(call);
		pthread_mutex_unlock(&lock);
		free(call);
		call = NULL;
	}
	return argument;
}

int rig_stream_call(struct rig_stream *stream, void (*function)(void *, int),
		    void *argument)
{
	struct call *call = calloc(1, sizeof(*call));
	bool first;

	if (!call)
		return RIG_OUT_OF_MEMORY;
	call->before = rig_stream_now(stream);
	call->function = function;
	call->argument = argument;
	pthread_mutex_lock(&lock);
	call->number = ++numbers;
	rig_stream_depend(stream,
			  (struct rig_ticket){.done = called, .number = call->number});
	*calls_end = call;
	calls_end = &call->next;
	first = !running;
	running = true;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
	return first ? rig_thread("cuda-EvtHandlr", body, NULL) : 0;
}
