/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams, events and captures from within: for stream.c and graph.c. All is guarded by
 * the model's lock. */
#ifndef RIG_STATE_H
#define RIG_STATE_H

#include <pthread.h>

#include "model.h"

#define STREAM_MAGIC 0x5354524dU
#define EVENT_MAGIC 0x45564e54U

/* A list of nodes without order. */
struct node_set {
	struct rig_node **nodes;
	size_t count;
};

/* One capture: the origin and the streams that joined it by waiting for its events. */
struct capture {
	uint64_t id;
	int mode, status; /* status as cudaStreamCaptureStatus */
	pthread_t thread;
	struct rig_stream *origin;
	struct rig_graph *graph;
	struct capture *next;
};

/* Never freed: tickets refer to it. */
struct rig_stream {
	uint32_t magic; /* 0: destroyed */
	int priority, device;
	unsigned flags;
	uint64_t id;
	/* Tickets head to tail - 1 are open; the first in the array has number `base`. */
	struct rig_ticket *items;
	uint64_t base, head, tail;
	size_t capacity;
	struct capture *capture;
	struct node_set ends; /* what the next captured node depends on */
	struct rig_stream *next;
};

struct rig_event {
	uint32_t magic;
	unsigned flags;
	bool recorded;
	struct rig_ticket ticket;
	double seconds;
	int device;
	uint64_t capture; /* id of the capture it was recorded in; 0: none */
	struct node_set nodes;
	struct rig_event *next; /* of those to be used again */
};

/* The stream that a handle means, under the lock; NULL: none. */
struct rig_stream *stream_of(struct rig_stream *handle);
bool set_assign(struct node_set *to, const struct node_set *from);
bool set_join(struct node_set *to, const struct node_set *from);
/* With the lock held: what graph.c has to do for an event. */
bool capture_record(struct rig_stream *stream, struct rig_event *event);
/* True: the stream is or becomes captured (or must not), *error says how it went. */
bool capture_hold(struct rig_stream *stream, struct rig_event *event, int *error);
void streams_each(void (*visit)(struct rig_stream *stream, void *argument),
		  void *argument);

#endif
