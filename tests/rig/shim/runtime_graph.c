/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The runtime's captures and graphs. Some names had other parameters before CUDA 12 or
 * 13; which are meant is said by the version that is played.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "runtime_api.h"

cuda_error cudaStreamBeginCapture(cuda_stream stream, cuda_enum mode)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	return rt_done(
		error ? error
		      : rig_capture_begin((struct rig_stream *)stream, NULL, (int)mode));
}

cuda_error cudaStreamBeginCaptureToGraph(cuda_stream stream, cuda_graph graph,
					 const cuda_node *after, const cuda_edge *edges,
					 size_t count, cuda_enum mode)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)edges;
	if (!error && !rig_graph_is((struct rig_graph *)graph))
		error = RIG_INVALID_VALUE;
	if (!error)
		error = rig_capture_begin((struct rig_stream *)stream,
					  (struct rig_graph *)graph, (int)mode);
	if (!error && count)
		error = rig_capture_depend((struct rig_stream *)stream,
					   (struct rig_node **)after, count, true);
	return rt_done(error);
}

cuda_error cudaStreamEndCapture(cuda_stream stream, cuda_graph *graph)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	return rt_done(error ? error
			     : rig_capture_end((struct rig_stream *)stream,
					       (struct rig_graph **)graph));
}

/* The legacy stream may not be asked while another stream is captured; nobody is the
 * worse for an answer here. */
cuda_error cudaStreamIsCapturing(cuda_stream stream, cuda_enum *status)
{
	struct rig_capture_info info;
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error)
		error = rig_capture_info((struct rig_stream *)stream, &info);
	if (!error)
		*status = (cuda_enum)info.status;
	return rt_done(error);
}

static int capture_info(cuda_stream stream, cuda_enum *status, unsigned long long *id,
			cuda_graph *graph, const cuda_node **after, size_t *count)
{
	struct rig_capture_info info;
	int error = rt_begin("cudaStreamGetCaptureInfo", RIG_USES_DRIVER);

	if (!error)
		error = rig_capture_info((struct rig_stream *)stream, &info);
	if (error)
		return rt_done(error);
	*status = (cuda_enum)info.status;
	if (info.status != 1)
		return 0;
	if (id)
		*id = info.id;
	if (graph)
		*graph = (cuda_graph)info.graph;
	if (after)
		*after = (const cuda_node *)info.tail;
	if (count)
		*count = info.tails;
	return 0;
}

/* Until CUDA 13 there were three parameters; further ones are whatever the registers
 * held. */
cuda_error cudaStreamGetCaptureInfo(cuda_stream stream, cuda_enum *status,
				    unsigned long long *id, cuda_graph *graph,
				    const cuda_node **after, const cuda_edge **edges,
				    size_t *count)
{
	if (rig_cuda_version() < 13000)
		return (cuda_error)capture_info(stream, status, id, NULL, NULL, NULL);
	if (edges)
		*edges = NULL;
	return (cuda_error)capture_info(stream, status, id, graph, after, count);
}

cuda_error cudaStreamGetCaptureInfo_v2(cuda_stream stream, cuda_enum *status,
				       unsigned long long *id, cuda_graph *graph,
				       const cuda_node **after, size_t *count)
{
	return (cuda_error)capture_info(stream, status, id, graph, after, count);
}

cuda_error cudaStreamGetCaptureInfo_v3(cuda_stream stream, cuda_enum *status,
				       unsigned long long *id, cuda_graph *graph,
				       const cuda_node **after, const cuda_edge **edges,
				       size_t *count)
{
	if (edges)
		*edges = NULL;
	return (cuda_error)capture_info(stream, status, id, graph, after, count);
}

static int update(cuda_stream stream, cuda_node *nodes, size_t count, unsigned flags)
{
	int error = rt_begin("cudaStreamUpdateCaptureDependencies", RIG_USES_DRIVER);

	if (!error && flags > 1) /* 0: add, 1: set */
		error = RIG_INVALID_VALUE;
	if (!error)
		error = rig_capture_depend((struct rig_stream *)stream,
					   (struct rig_node **)nodes, count, !flags);
	return rt_done(error);
}

/* The edges' data came in with CUDA 13; before, what is COUNT now was FLAGS. */
cuda_error cudaStreamUpdateCaptureDependencies(cuda_stream stream, cuda_node *nodes,
					       const cuda_edge *edges, size_t count,
					       unsigned flags)
{
	if (rig_cuda_version() < 13000)
		return (cuda_error)update(stream, nodes, (size_t)(uintptr_t)edges,
					  (unsigned)count);
	return (cuda_error)update(stream, nodes, count, flags);
}

cuda_error cudaStreamUpdateCaptureDependencies_v2(cuda_stream stream, cuda_node *nodes,
						  const cuda_edge *edges, size_t count,
						  unsigned flags)
{
	(void)edges;
	return (cuda_error)update(stream, nodes, count, flags);
}

cuda_error cudaThreadExchangeStreamCaptureMode(cuda_enum *mode)
{
	int error = rt_begin(__func__, 0);

	if (!error && *mode > RIG_CAPTURE_RELAXED)
		error = RIG_INVALID_VALUE;
	if (!error)
		*mode = (cuda_enum)rig_capture_exchange((int)*mode);
	return rt_done(error);
}

/* ---- graphs ---- */

cuda_error cudaGraphCreate(cuda_graph *graph, unsigned flags)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	(void)flags;
	if (!error) {
		*graph = (cuda_graph)rig_graph_create();
		error = *graph ? 0 : RIG_OUT_OF_MEMORY;
	}
	return rt_done(error);
}

cuda_error cudaGraphDestroy(cuda_graph graph)
{
	int error = rt_begin(__func__, 0);

	return rt_done(error ? error : rig_graph_destroy((struct rig_graph *)graph));
}

static int add(const char *call, cuda_node *ret, cuda_graph graph, const cuda_node *after,
	       size_t count, int type, const char *name)
{
	int error = rt_begin(call, RIG_USES_DRIVER);
	struct rig_node *node;

	if (!error && !rig_graph_is((struct rig_graph *)graph))
		error = RIG_INVALID_VALUE;
	if (error)
		return rt_done(error);
	node = rig_graph_add((struct rig_graph *)graph, type, name,
			     (struct rig_node *const *)after, count);
	*ret = (cuda_node)node;
	return rt_done(node ? 0 : RIG_OUT_OF_MEMORY);
}

cuda_error cudaGraphAddEmptyNode(cuda_node *ret, cuda_graph graph, const cuda_node *after,
				 size_t count)
{
	return (cuda_error)add(__func__, ret, graph, after, count, RIG_NODE_EMPTY, NULL);
}

cuda_error cudaGraphAddKernelNode(cuda_node *ret, cuda_graph graph,
				  const cuda_node *after, size_t count,
				  const cuda_kernel_node *parameters)
{
	struct rt_kernel_node p;
	const char *name;

	memcpy(&p, parameters, sizeof(p));
	name = rig_kernel_name(p.function);
	if (!name)
		return rt_done(98); /* cudaErrorInvalidDeviceFunction */
	return (cuda_error)add(__func__, ret, graph, after, count, RIG_NODE_KERNEL, name);
}

cuda_error cudaGraphAddHostNode(cuda_node *ret, cuda_graph graph, const cuda_node *after,
				size_t count, const cuda_host_node *parameters)
{
	(void)parameters;
	return (cuda_error)add(__func__, ret, graph, after, count, RIG_NODE_HOST, NULL);
}

cuda_error cudaGraphAddEventRecordNode(cuda_node *ret, cuda_graph graph,
				       const cuda_node *after, size_t count,
				       cuda_event event)
{
	(void)event;
	return (cuda_error)add(__func__, ret, graph, after, count, RIG_NODE_RECORD, NULL);
}

cuda_error cudaGraphAddEventWaitNode(cuda_node *ret, cuda_graph graph,
				     const cuda_node *after, size_t count,
				     cuda_event event)
{
	(void)event;
	return (cuda_error)add(__func__, ret, graph, after, count, RIG_NODE_WAIT, NULL);
}

static int add_any(cuda_node *ret, cuda_graph graph, const cuda_node *after, size_t count,
		   const void *parameters)
{
	struct rt_node p;

	memcpy(&p, parameters, sizeof(p));
	if (p.type == RIG_NODE_CONDITIONAL) /* its bodies are graphs that nothing decides
					       about here */
		return rt_done(RIG_NOT_SUPPORTED);
	return add("cudaGraphAddNode", ret, graph, after, count, p.type,
		   p.type == RIG_NODE_KERNEL ? rig_kernel_name(p.function) : NULL);
}

/* As with cudaStreamUpdateCaptureDependencies(): before CUDA 13 there were no edges. */
cuda_error cudaGraphAddNode(cuda_node *ret, cuda_graph graph, const cuda_node *after,
			    const cuda_edge *edges, size_t count,
			    cuda_node_parameters *parameters)
{
	if (rig_cuda_version() < 13000)
		return (cuda_error)add_any(ret, graph, after, (size_t)(uintptr_t)edges,
					   (const void *)(uintptr_t)count); /* NOLINT */
	return (cuda_error)add_any(ret, graph, after, count, parameters);
}

cuda_error cudaGraphAddNode_v2(cuda_node *ret, cuda_graph graph, const cuda_node *after,
			       const cuda_edge *edges, size_t count,
			       cuda_node_parameters *parameters)
{
	(void)edges;
	return (cuda_error)add_any(ret, graph, after, count, parameters);
}

cuda_error cudaGraphConditionalHandleCreate(cuda_conditional *handle, cuda_graph graph,
					    unsigned value, unsigned flags)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	(void)handle;
	(void)graph;
	(void)value;
	(void)flags;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cudaGraphGetNodes(cuda_graph graph, cuda_node *nodes, size_t *count)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error)
		error = rig_graph_nodes((struct rig_graph *)graph,
					(struct rig_node **)nodes, count);
	return rt_done(error);
}

/* The edges' data, since CUDA 13, come third. */
cuda_error cudaGraphNodeGetDependencies(cuda_node node, cuda_node *nodes,
					cuda_edge *edges, size_t *count)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error)
		error = rig_node_dependencies(
			(struct rig_node *)node, (struct rig_node **)nodes,
			rig_cuda_version() < 13000 ? (size_t *)edges : count);
	return rt_done(error);
}

cuda_error cudaGraphNodeGetType(cuda_node node, cuda_enum *type)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);
	int found = rig_node_type((struct rig_node *)node);

	if (!error && found < 0)
		error = RIG_INVALID_VALUE;
	if (!error)
		*type = (cuda_enum)found;
	return rt_done(error);
}

/* One line a node and one an edge, in the language of Graphviz. */
cuda_error cudaGraphDebugDotPrint(cuda_graph graph, const char *path, unsigned flags)
{
	struct rig_node *nodes[256], *after[64];
	size_t count = 256, edges;
	int error = rt_begin(__func__, RIG_USES_DRIVER);
	FILE *file;

	(void)flags;
	if (!error)
		error = rig_graph_nodes((struct rig_graph *)graph, nodes, &count);
	if (error)
		return rt_done(error);
	file = fopen(path, "we");
	if (!file)
		return rt_done(304); /* cudaErrorOperatingSystem */
	fputs("digraph {\n", file);
	for (size_t i = 0; i < count; i++) {
		const char *name = rig_node_name(nodes[i]);

		edges = 64;
		rig_node_dependencies(nodes[i], after, &edges);
		fprintf(file, "n%p [label=\"%s\"];\n", (void *)nodes[i],
			name ? name : "");
		for (size_t k = 0; k < edges; k++)
			fprintf(file, "n%p -> n%p;\n", (void *)after[k],
				(void *)nodes[i]);
	}
	fputs("}\n", file);
	return fclose(file) ? rt_done(304) : 0;
}

static int instantiate(const char *call, cuda_exec *ret, cuda_graph graph)
{
	int error = rt_begin(call, RIG_CONTEXT_CALL);

	if (!error && !rig_graph_is((struct rig_graph *)graph))
		error = RIG_INVALID_VALUE;
	if (error)
		return rt_done(error);
	*ret = (cuda_exec)rig_exec_create((struct rig_graph *)graph);
	return rt_done(*ret ? 0 : RIG_OUT_OF_MEMORY);
}

/* What follows the graph, the flags and before CUDA 12 a place for messages, changes
 * nothing here. */
cuda_error cudaGraphInstantiate(cuda_exec *ret, cuda_graph graph,
				unsigned long long flags)
{
	(void)flags;
	return (cuda_error)instantiate(__func__, ret, graph);
}

cuda_error cudaGraphInstantiateWithFlags(cuda_exec *ret, cuda_graph graph,
					 unsigned long long flags)
{
	(void)flags;
	return (cuda_error)instantiate(__func__, ret, graph);
}

cuda_error cudaGraphExecDestroy(cuda_exec exec)
{
	int error = rt_begin(__func__, 0);

	return rt_done(error ? error : rig_exec_destroy((struct rig_exec *)exec));
}

cuda_error cudaGraphUpload(cuda_exec exec, cuda_stream stream)
{
	bool captured = false;

	(void)exec;
	return rt_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
			     &captured);
}

cuda_error cudaGraphLaunch(cuda_exec exec, cuda_stream stream)
{
	bool captured = false;
	int error = rt_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				  &captured);

	if (!error && captured)
		rig_capture_add((struct rig_stream *)stream, RIG_NODE_EMPTY, NULL);
	else if (!error)
		error = rig_exec_launch((struct rig_exec *)exec,
					(struct rig_stream *)stream);
	return rt_done(error);
}

/* ---- what of the program's a graph keeps alive ---- */

struct rig_object {
	void *pointer;
	void (*destroy)(void *pointer);
	unsigned references;
};

cuda_error cudaUserObjectCreate(cuda_object *ret, void *pointer,
				cuda_host_function destroy, unsigned references,
				unsigned flags)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);
	struct rig_object *object;

	if (!error && (flags != 1 ||
		       !references)) /* cudaUserObjectNoDestructorSync has to be given */
		error = RIG_INVALID_VALUE;
	if (error)
		return rt_done(error);
	object = malloc(sizeof(*object));
	if (!object)
		return rt_done(RIG_OUT_OF_MEMORY);
	*object = (struct rig_object){
		.pointer = pointer, .destroy = destroy, .references = references};
	*ret = (cuda_object)object;
	return 0;
}

static void release(struct rig_object *object, unsigned count)
{
	if (__atomic_sub_fetch(&object->references, count, __ATOMIC_ACQ_REL))
		return;
	object->destroy(object->pointer);
	free(object);
}

static void release_one(void *object)
{
	release(object, 1);
}

cuda_error cudaUserObjectRetain(cuda_object object, unsigned count)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error)
		__atomic_add_fetch(&((struct rig_object *)object)->references, count,
				   __ATOMIC_ACQ_REL);
	return error;
}

cuda_error cudaUserObjectRelease(cuda_object object, unsigned count)
{
	int error = rt_begin(__func__, 0);

	if (!error)
		release((struct rig_object *)object, count);
	return error;
}

cuda_error cudaGraphRetainUserObject(cuda_graph graph, cuda_object object, unsigned count,
				     unsigned flags)
{
	enum { MOVE = 1 }; /* cudaGraphUserObjectMove */
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && (!count || flags > MOVE))
		error = RIG_INVALID_VALUE;
	for (unsigned i = 0; !error && i < count; i++) {
		error = rig_graph_keep((struct rig_graph *)graph, release_one, object);
		if (!error && !(flags & MOVE))
			__atomic_add_fetch(&((struct rig_object *)object)->references, 1,
					   __ATOMIC_ACQ_REL);
	}
	return rt_done(error);
}
