/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Streams, events and what they wait for. A stream is a queue of tickets; an event is a
 * place in it: done as soon as all tickets before it are.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "state.h"

static struct rig_stream *streams; /* all there ever were */
static struct rig_stream *defaults[RIG_MAX_DEVICES];
static __thread struct rig_stream *per_thread;
static uint64_t stream_ids;
static struct rig_event *free_events;

/* With the lock held. */
static struct rig_stream *create(int device, int priority)
{
	struct rig_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->magic = STREAM_MAGIC;
	stream->priority = priority;
	stream->device = device;
	stream->id = ++stream_ids;
	stream->next = streams;
	streams = stream;
	return stream;
}

struct rig_stream *stream_of(struct rig_stream *handle)
{
	struct rig_stream **own = NULL;

	if (!handle || handle == (struct rig_stream *)1)
		own = &defaults[rig_device()];
	else if (handle == (struct rig_stream *)2)
		own = &per_thread;
	if (own) {
		if (!*own)
			*own = create(rig_device(), 0);
		return *own;
	}
	for (struct rig_stream *s = streams; s; s = s->next)
		if (s == handle)
			return s->magic == STREAM_MAGIC ? s : NULL;
	return NULL;
}

void streams_each(void (*visit)(struct rig_stream *stream, void *argument),
		  void *argument)
{
	for (struct rig_stream *s = streams; s; s = s->next)
		visit(s, argument);
}

struct rig_stream *rig_stream_of(struct rig_stream *handle)
{
	struct rig_stream *stream;

	rig_lock();
	stream = stream_of(handle);
	rig_unlock();
	return stream;
}

struct rig_stream *rig_stream_create(int priority)
{
	struct rig_stream *stream;

	rig_lock();
	stream = create(rig_device(), priority);
	rig_unlock();
	return stream;
}

/* What is on it goes on; so the queue stays. */
void rig_stream_destroy(struct rig_stream *handle)
{
	struct rig_stream *stream;

	rig_lock();
	stream = stream_of(handle);
	if (stream && stream == handle)
		stream->magic = 0;
	rig_unlock();
}

int rig_stream_priority(struct rig_stream *handle)
{
	const struct rig_stream *stream = rig_stream_of(handle);

	return stream ? stream->priority : 0;
}

int rig_stream_device(struct rig_stream *handle)
{
	const struct rig_stream *stream = rig_stream_of(handle);

	return stream ? stream->device : -1;
}

unsigned rig_stream_flags(struct rig_stream *handle)
{
	const struct rig_stream *stream = rig_stream_of(handle);

	return stream ? stream->flags : 0;
}

void rig_stream_set_flags(struct rig_stream *handle, unsigned flags)
{
	struct rig_stream *stream = rig_stream_of(handle);

	if (stream)
		stream->flags = flags;
}

uint64_t rig_stream_id(struct rig_stream *handle)
{
	const struct rig_stream *stream = rig_stream_of(handle);

	return stream ? stream->id : 0;
}

/* Makes room for one more ticket; those that are done are left behind. */
static bool make_room(struct rig_stream *s)
{
	uint64_t open = s->tail - s->head;
	struct rig_ticket *grown;

	if (s->head > s->base && open)
		memmove(s->items, &s->items[s->head - s->base], open * sizeof(*s->items));
	s->base = s->head;
	if (open < s->capacity)
		return true;
	grown = reallocarray(s->items, s->capacity ? s->capacity * 2 : 16,
			     sizeof(*s->items));
	if (!grown)
		return false;
	s->items = grown;
	s->capacity = s->capacity ? s->capacity * 2 : 16;
	return true;
}

static void depend(struct rig_stream *s, struct rig_ticket ticket)
{
	const struct rig_ticket *last =
		s->tail > s->head ? &s->items[s->tail - 1 - s->base] : NULL;

	if (last && last->done == ticket.done && last->owner == ticket.owner &&
	    last->number == ticket.number)
		return;
	if (s->tail - s->base == s->capacity && !make_room(s))
		return; /* out of memory: then the stream waits for less */
	s->items[s->tail++ - s->base] = ticket;
}

void rig_stream_depend(struct rig_stream *handle, struct rig_ticket ticket)
{
	struct rig_stream *stream;

	rig_lock();
	stream = stream_of(handle);
	if (stream)
		depend(stream, ticket);
	rig_unlock();
}

/* Is all before PLACE done? Asks the tickets in their order, without the lock. */
static bool reached(void *owner, uint64_t place)
{
	struct rig_stream *s = owner;
	bool done = true;

	rig_lock();
	while (done && s->head < place) {
		struct rig_ticket ticket = s->items[s->head - s->base];
		uint64_t asked = s->head;

		rig_unlock();
		done = ticket.done(ticket.owner, ticket.number);
		rig_lock();
		if (done && s->head == asked)
			s->head++;
	}
	rig_unlock();
	return done;
}

struct rig_ticket rig_stream_now(struct rig_stream *handle)
{
	struct rig_ticket ticket = {.done = reached};

	rig_lock();
	ticket.owner = stream_of(handle);
	if (ticket.owner)
		ticket.number = ((struct rig_stream *)ticket.owner)->tail;
	rig_unlock();
	return ticket;
}

bool rig_stream_done(struct rig_stream *handle)
{
	struct rig_ticket now = rig_stream_now(handle);

	return !now.owner || reached(now.owner, now.number);
}

/* Politely: the longer it takes, the less often it looks. */
int rig_ticket_wait(struct rig_ticket ticket)
{
	long rest = 50000;

	for (;;) {
		int error = rig_broken();

		if (error)
			return error;
		if (ticket.done(ticket.owner, ticket.number))
			return rig_broken();
		nanosleep(&(struct timespec){.tv_nsec = rest}, NULL);
		rest = rest < 1000000 ? rest * 2 : 2000000;
	}
}

int rig_stream_wait(struct rig_stream *handle)
{
	struct rig_ticket now = rig_stream_now(handle);

	return now.owner ? rig_ticket_wait(now) : RIG_INVALID_HANDLE;
}

/* The I-th stream of a device that has open tickets, as a ticket; false: there are fewer.
 */
static bool open_stream(int device, size_t i, struct rig_ticket *ticket)
{
	const struct rig_stream *s;

	rig_lock();
	for (s = streams; s; s = s->next)
		if (s->device == device && s->head < s->tail && !i--)
			break;
	if (s)
		*ticket = (struct rig_ticket){.done = reached,
					      .owner = (void *)s,
					      .number = s->tail}; /* NOLINT */
	rig_unlock();
	return s;
}

bool rig_device_done(int device)
{
	struct rig_ticket ticket;

	while (open_stream(device, 0, &ticket))
		if (!ticket.done(ticket.owner, ticket.number))
			return false;
	return true;
}

int rig_device_wait(int device)
{
	struct rig_ticket ticket;

	while (open_stream(device, 0, &ticket)) {
		int error = rig_ticket_wait(ticket);

		if (error)
			return error;
	}
	return rig_broken();
}

/* ---- events ---- */

struct rig_event *rig_event_create(unsigned flags)
{
	struct rig_event *event;

	rig_lock();
	event = free_events;
	if (event)
		free_events = event->next;
	else
		event = calloc(1, sizeof(*event));
	if (event)
		*event = (struct rig_event){
			.magic = EVENT_MAGIC, .flags = flags, .device = rig_device()};
	rig_unlock();
	return event;
}

static bool is_event(const struct rig_event *event)
{
	return event && event->magic == EVENT_MAGIC;
}

/* The memory is kept, so that a handle that is used after this is known for what it is.
 */
int rig_event_destroy(struct rig_event *event)
{
	if (!is_event(event))
		return RIG_INVALID_HANDLE;
	rig_lock();
	event->magic = 0;
	free(event->nodes.nodes);
	event->nodes = (struct node_set){0};
	event->next = free_events;
	free_events = event;
	rig_unlock();
	return 0;
}

int rig_event_record(struct rig_event *event, struct rig_stream *handle)
{
	struct rig_stream *stream;
	int error = 0;

	if (!is_event(event))
		return RIG_INVALID_HANDLE;
	rig_lock();
	stream = stream_of(handle);
	if (!stream || stream->device != event->device) {
		error = RIG_INVALID_HANDLE;
	} else if (!capture_record(stream, event)) {
		event->recorded = true;
		event->capture = 0;
		event->ticket = (struct rig_ticket){
			.done = reached, .owner = stream, .number = stream->tail};
		event->seconds = rig_seconds();
	}
	rig_unlock();
	return error;
}

/* What the event stands for now. */
static int read_event(const struct rig_event *event, struct rig_ticket *ticket)
{
	int error = 0;

	if (!is_event(event))
		return RIG_INVALID_HANDLE;
	rig_lock();
	*ticket = event->recorded ? event->ticket : (struct rig_ticket){0};
	if (event->capture)
		error = RIG_CAPTURED_EVENT;
	rig_unlock();
	return error;
}

int rig_event_query(struct rig_event *event)
{
	struct rig_ticket ticket;
	int error = read_event(event, &ticket);

	if (error || !ticket.done)
		return error;
	return ticket.done(ticket.owner, ticket.number) ? rig_broken() : RIG_NOT_READY;
}

int rig_event_wait(struct rig_event *event)
{
	struct rig_ticket ticket;
	int error = read_event(event, &ticket);

	if (error)
		return error;
	return ticket.done ? rig_ticket_wait(ticket) : 0;
}

int rig_event_elapsed(struct rig_event *start, struct rig_event *end, float *milliseconds)
{
	enum { NO_TIMING = 2 }; /* cudaEventDisableTiming */
	int first = rig_event_query(start), second = rig_event_query(end);

	if (first && first != RIG_NOT_READY)
		return first;
	if (second && second != RIG_NOT_READY)
		return second;
	if (!start->recorded || !end->recorded || (start->flags | end->flags) & NO_TIMING)
		return RIG_INVALID_HANDLE;
	if (first || second)
		return RIG_NOT_READY;
	*milliseconds = (float)((end->seconds - start->seconds) * 1e3);
	return 0;
}

int rig_event_hold(struct rig_stream *handle, struct rig_event *event)
{
	struct rig_stream *stream;
	int error = 0;

	if (!is_event(event))
		return RIG_INVALID_HANDLE;
	rig_lock();
	stream = stream_of(handle);
	if (!stream)
		error = RIG_INVALID_HANDLE;
	else if (!capture_hold(stream, event, &error) && event->recorded &&
		 event->ticket.owner != stream)
		depend(stream, event->ticket);
	rig_unlock();
	return error;
}
