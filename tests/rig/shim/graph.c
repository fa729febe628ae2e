/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Graphs, and how a stream's work becomes one. A graph that is launched asks the rules
 * about each of its kernels. */
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define GRAPH_MAGIC 0x47525048U
#define NODE_MAGIC 0x4e4f4445U
#define EXEC_MAGIC 0x45584543U

struct rig_node {
	uint32_t magic;
	int type;
	char *name; /* of a kernel; NULL: none */
	struct node_set after;
	bool seen; /* for walks, under the lock */
};

/* Something of the program's that has to live as long as the graph does. */
struct kept {
	void (*drop)(void *object);
	void *object;
	int references;
};
struct kept_list {
	struct kept **items;
	size_t count;
};

struct rig_graph {
	uint32_t magic;
	struct node_set nodes;
	struct kept_list kept;
};

struct rig_exec {
	uint32_t magic;
	char **kernels;
	size_t count;
	struct kept_list kept;
};

static struct capture *captures;
static uint64_t capture_ids;
static __thread int thread_mode;

static bool set_add(struct node_set *set, struct rig_node *node)
{
	struct rig_node **grown;

	for (size_t i = 0; i < set->count; i++)
		if (set->nodes[i] == node)
			return true;
	grown = reallocarray(set->nodes, set->count + 1, sizeof(struct rig_node *));
	if (!grown)
		return false;
	set->nodes = grown;
	set->nodes[set->count++] = node;
	return true;
}

bool set_join(struct node_set *to, const struct node_set *from)
{
	for (size_t i = 0; i < from->count; i++)
		if (!set_add(to, from->nodes[i]))
			return false;
	return true;
}

bool set_assign(struct node_set *to, const struct node_set *from)
{
	free(to->nodes);
	*to = (struct node_set){0};
	return set_join(to, from);
}

/* ---- graphs ---- */

struct rig_graph *rig_graph_create(void)
{
	struct rig_graph *graph = calloc(1, sizeof(*graph));

	if (graph)
		graph->magic = GRAPH_MAGIC;
	return graph;
}

bool rig_graph_is(const struct rig_graph *graph)
{
	return graph && graph->magic == GRAPH_MAGIC;
}

static void drop_all(struct kept_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (__atomic_sub_fetch(&list->items[i]->references, 1,
				       __ATOMIC_ACQ_REL) == 0) {
			list->items[i]->drop(list->items[i]->object);
			free(list->items[i]);
		}
	free(list->items);
	*list = (struct kept_list){0};
}

static bool keep(struct kept_list *list, struct kept *item)
{
	struct kept **grown =
		reallocarray(list->items, list->count + 1, sizeof(struct kept *));

	if (!grown)
		return false;
	list->items = grown;
	list->items[list->count++] = item;
	__atomic_add_fetch(&item->references, 1, __ATOMIC_ACQ_REL);
	return true;
}

int rig_graph_keep(struct rig_graph *graph, void (*drop)(void *), void *object)
{
	struct kept *item;

	if (!rig_graph_is(graph))
		return RIG_INVALID_VALUE;
	item = calloc(1, sizeof(*item));
	if (!item)
		return RIG_OUT_OF_MEMORY;
	item->drop = drop;
	item->object = object;
	if (keep(&graph->kept, item))
		return 0;
	free(item);
	return RIG_OUT_OF_MEMORY;
}

int rig_graph_destroy(struct rig_graph *graph)
{
	if (!rig_graph_is(graph))
		return RIG_INVALID_VALUE;
	for (size_t i = 0; i < graph->nodes.count; i++) {
		struct rig_node *node = graph->nodes.nodes[i];

		node->magic = 0;
		free(node->after.nodes);
		free(node->name);
		free(node);
	}
	free(graph->nodes.nodes);
	drop_all(&graph->kept);
	graph->magic = 0;
	free(graph);
	return 0;
}

struct rig_node *rig_graph_add(struct rig_graph *graph, int type, const char *name,
			       struct rig_node *const *after, size_t count)
{
	struct rig_node *node = calloc(1, sizeof(*node));
	bool fine = node;

	if (!node)
		return NULL;
	node->magic = NODE_MAGIC;
	node->type = type;
	node->name = name ? strdup(name) : NULL;
	fine = !name || node->name;
	for (size_t i = 0; fine && i < count; i++)
		fine = set_add(&node->after, after[i]);
	if (fine && set_add(&graph->nodes, node))
		return node;
	free(node->after.nodes);
	free(node->name);
	free(node);
	return NULL;
}

/* Fills in what there is room for; *COUNT becomes what was filled in or, without NODES,
 * what there is. */
static void give_out(const struct node_set *set, struct rig_node **nodes, size_t *count)
{
	size_t room = nodes ? *count : set->count;

	for (size_t i = 0; nodes && i < room; i++)
		nodes[i] = i < set->count ? set->nodes[i] : NULL;
	*count = room < set->count ? room : set->count;
}

int rig_graph_nodes(struct rig_graph *graph, struct rig_node **nodes, size_t *count)
{
	if (!rig_graph_is(graph) || !count)
		return RIG_INVALID_VALUE;
	give_out(&graph->nodes, nodes, count);
	return 0;
}

static bool is_node(const struct rig_node *node)
{
	return node && node->magic == NODE_MAGIC;
}

int rig_node_type(struct rig_node *node)
{
	return is_node(node) ? node->type : -1;
}

const char *rig_node_name(struct rig_node *node)
{
	return is_node(node) ? node->name : NULL;
}

int rig_node_dependencies(struct rig_node *node, struct rig_node **nodes, size_t *count)
{
	if (!is_node(node) || !count)
		return RIG_INVALID_VALUE;
	give_out(&node->after, nodes, count);
	return 0;
}

int rig_exec_destroy(struct rig_exec *exec)
{
	if (!exec || exec->magic != EXEC_MAGIC)
		return RIG_INVALID_VALUE;
	for (size_t i = 0; i < exec->count; i++)
		free(exec->kernels[i]);
	free(exec->kernels);
	drop_all(&exec->kept);
	exec->magic = 0;
	free(exec);
	return 0;
}

struct rig_exec *rig_exec_create(struct rig_graph *graph)
{
	struct rig_exec *exec;
	bool fine = true;

	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return NULL;
	exec->magic = EXEC_MAGIC;
	exec->kernels = calloc(graph->nodes.count + 1, sizeof(char *));
	fine = exec->kernels;
	for (size_t i = 0; fine && i < graph->nodes.count; i++) {
		const struct rig_node *node = graph->nodes.nodes[i];

		if (node->type != RIG_NODE_KERNEL || !node->name)
			continue;
		exec->kernels[exec->count] = strdup(node->name);
		fine = exec->kernels[exec->count];
		exec->count += fine;
	}
	for (size_t i = 0; fine && i < graph->kept.count; i++)
		fine = keep(&exec->kept, graph->kept.items[i]);
	if (fine)
		return exec;
	rig_exec_destroy(exec);
	return NULL;
}

int rig_exec_launch(struct rig_exec *exec, struct rig_stream *stream)
{
	if (!exec || exec->magic != EXEC_MAGIC)
		return RIG_INVALID_VALUE;
	for (size_t i = 0; i < exec->count; i++) {
		int error = rig_begin_kernel(exec->kernels[i], stream);

		if (error)
			return error;
	}
	return 0;
}

/* ---- capture ---- */

/* A stream leaves its capture. */
static void leave(struct rig_stream *stream)
{
	stream->capture = NULL;
	free(stream->ends.nodes);
	stream->ends = (struct node_set){0};
}

static void leave_if(struct rig_stream *stream, void *capture)
{
	if (stream->capture == capture)
		leave(stream);
}

int rig_capture_begin(struct rig_stream *handle, struct rig_graph *graph, int mode)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	struct rig_graph *own = graph ? graph : rig_graph_create();
	struct rig_stream *stream;
	int error = 0;

	rig_lock();
	stream = stream_of(handle);
	if (!capture || !own)
		error = RIG_OUT_OF_MEMORY;
	else if (!stream || mode < RIG_CAPTURE_GLOBAL || mode > RIG_CAPTURE_RELAXED)
		error = RIG_INVALID_VALUE;
	else if (!handle || handle == (struct rig_stream *)1)
		error = RIG_CAPTURE_UNSUPPORTED; /* the legacy stream cannot be captured
						  */
	else if (stream->capture)
		error = stream->capture->status == 2 ? RIG_CAPTURE_INVALIDATED
						     : RIG_CAPTURE_UNSUPPORTED;
	if (!error) {
		*capture = (struct capture){.id = ++capture_ids,
					    .mode = mode,
					    .status = 1,
					    .thread = pthread_self(),
					    .origin = stream,
					    .graph = own,
					    .next = captures};
		captures = capture;
		stream->capture = capture;
		capture = NULL;
		own = NULL;
	}
	rig_unlock();
	free(capture);
	if (own && own != graph)
		rig_graph_destroy(own);
	return error;
}

static void mark(struct rig_node *node)
{
	if (node->seen)
		return;
	node->seen = true;
	for (size_t i = 0; i < node->after.count; i++)
		mark(node->after.nodes[i]);
}

struct unjoined {
	const struct capture *capture;
	bool found;
};

static void look_for_unjoined(struct rig_stream *stream, void *argument)
{
	struct unjoined *u = argument;

	if (stream->capture != u->capture)
		return;
	for (size_t i = 0; i < stream->ends.count; i++)
		u->found |= !stream->ends.nodes[i]->seen;
}

/* Does a stream still hold work that the origin does not wait for? Walks over at most
 * each node once. */
static bool unjoined(struct capture *capture)
{
	struct unjoined u = {.capture = capture};
	const struct node_set *nodes = &capture->graph->nodes;

	for (size_t i = 0; i < nodes->count; i++)
		nodes->nodes[i]->seen = false;
	for (size_t i = 0; i < capture->origin->ends.count; i++)
		mark(capture->origin->ends.nodes[i]);
	streams_each(look_for_unjoined, &u);
	return u.found;
}

int rig_capture_end(struct rig_stream *handle, struct rig_graph **graph)
{
	struct rig_stream *stream;
	struct capture *capture, **link = &captures;
	struct rig_graph *lost = NULL;
	int error = 0;

	*graph = NULL;
	rig_lock();
	stream = stream_of(handle);
	capture = stream ? stream->capture : NULL;
	if (!capture)
		error = stream ? RIG_INVALID_VALUE : RIG_INVALID_HANDLE;
	else if (capture->mode != RIG_CAPTURE_RELAXED &&
		 !pthread_equal(capture->thread, pthread_self()))
		error = RIG_CAPTURE_WRONG_THREAD;
	else if (capture->origin != stream)
		error = RIG_CAPTURE_UNMATCHED;
	if (error) {
		rig_unlock();
		return error;
	}
	if (capture->status == 2)
		error = RIG_CAPTURE_INVALIDATED;
	else if (unjoined(capture))
		error = RIG_CAPTURE_UNJOINED;
	while (*link != capture)
		link = &(*link)->next;
	*link = capture->next;
	streams_each(leave_if, capture);
	if (error)
		lost = capture->graph;
	else
		*graph = capture->graph;
	free(capture);
	rig_unlock();
	if (lost)
		rig_graph_destroy(lost);
	return error;
}

int rig_capture_info(struct rig_stream *handle, struct rig_capture_info *info)
{
	const struct rig_stream *stream;

	*info = (struct rig_capture_info){0};
	rig_lock();
	stream = stream_of(handle);
	if (stream && stream->capture)
		*info = (struct rig_capture_info){.status = stream->capture->status,
						  .id = stream->capture->id,
						  .graph = stream->capture->graph,
						  .tail = stream->ends.nodes,
						  .tails = stream->ends.count};
	rig_unlock();
	return stream ? 0 : RIG_INVALID_HANDLE;
}

int rig_capture_depend(struct rig_stream *handle, struct rig_node **nodes, size_t count,
		       bool add)
{
	const struct node_set given = {.nodes = nodes, .count = count};
	struct rig_stream *stream;
	int error = RIG_INVALID_VALUE;

	rig_lock();
	stream = stream_of(handle);
	if (stream && stream->capture)
		error = (add ? set_join(&stream->ends, &given)
			     : set_assign(&stream->ends, &given))
				? 0
				: RIG_OUT_OF_MEMORY;
	rig_unlock();
	return error;
}

bool rig_capture_add(struct rig_stream *handle, int type, const char *name)
{
	struct rig_stream *stream;
	bool captured;

	rig_lock();
	stream = stream_of(handle);
	captured = stream && stream->capture;
	if (captured && stream->capture->status == 1) {
		struct rig_node *node =
			rig_graph_add(stream->capture->graph, type, name,
				      stream->ends.nodes, stream->ends.count);
		const struct node_set last = {.nodes = &node, .count = 1};

		if (!node || !set_assign(&stream->ends, &last))
			stream->capture->status = 2;
	}
	rig_unlock();
	return captured;
}

bool capture_record(struct rig_stream *stream, struct rig_event *event)
{
	if (!stream->capture)
		return false;
	event->recorded = false;
	event->capture = stream->capture->id;
	if (!set_assign(&event->nodes, &stream->ends))
		stream->capture->status = 2;
	return true;
}

bool capture_hold(struct rig_stream *stream, struct rig_event *event, int *error)
{
	struct capture *capture = captures;

	if (!event->capture) {
		if (!stream->capture || !event->recorded)
			return stream->capture;
		/* What is captured cannot wait for what is not. */
		stream->capture->status = 2;
		*error = RIG_CAPTURE_ISOLATION;
		return true;
	}
	while (capture && capture->id != event->capture)
		capture = capture->next;
	if (!capture) { /* that capture is over */
		*error = RIG_INVALID_VALUE;
		return true;
	}
	if (stream->capture && stream->capture != capture) {
		stream->capture->status = capture->status = 2;
		*error = RIG_CAPTURE_MERGE;
		return true;
	}
	stream->capture = capture;
	if (!set_join(&stream->ends, &event->nodes))
		capture->status = 2;
	return true;
}

int rig_capture_exchange(int mode)
{
	int before = thread_mode;

	thread_mode = mode;
	return before;
}

int rig_capture_forbids(void)
{
	int error = 0;

	rig_lock();
	for (struct capture *c = captures; c; c = c->next) {
		bool own = pthread_equal(c->thread, pthread_self());

		if (c->status == 1 && ((c->mode == RIG_CAPTURE_GLOBAL &&
					thread_mode == RIG_CAPTURE_GLOBAL) ||
				       (own && c->mode != RIG_CAPTURE_RELAXED &&
					thread_mode != RIG_CAPTURE_RELAXED))) {
			c->status = 2;
			error = RIG_CAPTURE_UNSUPPORTED;
		}
	}
	rig_unlock();
	return error;
}

int rig_capture_forbids_wait(struct rig_stream *handle)
{
	struct rig_stream *stream;
	int error = 0;

	rig_lock();
	stream = stream_of(handle);
	if (stream && stream->capture) {
		error = stream->capture->status == 2 ? RIG_CAPTURE_INVALIDATED
						     : RIG_CAPTURE_UNSUPPORTED;
		stream->capture->status = 2;
	}
	rig_unlock();
	return error;
}
