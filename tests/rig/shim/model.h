/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of the played GPU share among themselves; NCCL's stand-in needs shim.h
 * alone.
 *
 * One lock guards the whole model. It is never held while a ticket, a callback or another
 * library is called.
 */
#ifndef RIG_MODEL_H
#define RIG_MODEL_H

#include <signal.h>

#include "shim.h"

#define RIG_MAX_DEVICES 64

/* Errors of cudaError_t that the model itself gives; CUresult has the same numbers for
 * all of them. */
enum {
	RIG_OK = 0,
	RIG_INVALID_VALUE = 1,
	RIG_OUT_OF_MEMORY = 2,
	RIG_NOT_INITIALIZED = 3,
	RIG_INVALID_DEVICE = 101,
	RIG_INVALID_IMAGE = 200,
	RIG_INVALID_HANDLE = 400,
	RIG_NOT_FOUND = 500,
	RIG_NOT_READY = 600,
	RIG_PEER_ENABLED = 704,
	RIG_PEER_NOT_ENABLED = 705,
	RIG_HOST_REGISTERED = 712,
	RIG_HOST_NOT_REGISTERED = 713,
	RIG_NOT_SUPPORTED = 801,
	RIG_CAPTURE_UNSUPPORTED = 900,
	RIG_CAPTURE_INVALIDATED = 901,
	RIG_CAPTURE_MERGE = 902,
	RIG_CAPTURE_UNMATCHED = 903,
	RIG_CAPTURE_UNJOINED = 904,
	RIG_CAPTURE_ISOLATION = 905,
	RIG_CAPTURE_IMPLICIT = 906,
	RIG_CAPTURED_EVENT = 907,
	RIG_CAPTURE_WRONG_THREAD = 908,
};

RIG_EXPORT void rig_lock(void);
RIG_EXPORT void rig_unlock(void);

/* ---- rules: rules.c, rules_parse.c ---- */

struct rig_rule {
	char *call;
	char *match;      /* glob; NULL: any */
	char *cue;        /* NULL: none */
	uint64_t nth;     /* 0: none */
	uint64_t every;   /* 0: none */
	double after;     /* seconds since the start */
	int rank, device; /* -1: any */
	uint64_t count;   /* how often it applies; 0: without end */
	uint64_t hits, applied;
	int error, sticky, signal;
	bool pending, hang;
	double delay;
	char *text;
	struct rig_rule *next;
};

/*
 * Adds the rules of TEXT. SOURCE names it in messages. GPU: where a `gpu` line goes;
 * NULL: there may be none. Returns 0, or -1 with *MESSAGE ("source:line:column: ...", to
 * be freed); nothing is added then.
 */
int rig_parse(const char *source, const char *text, struct rig_gpu *gpu,
	      struct rig_rule **rules, char **message);
void rig_rules_free(struct rig_rule *rules);
/* Takes RULES, at the end of those that are in force. */
void rig_rules_add(struct rig_rule *rules);
/* For tests: without rules, counts and cues again. */
void rig_rules_reset(void);
/* Seconds since the library was loaded. */
RIG_EXPORT double rig_seconds(void);

/* ---- process and devices: process.c, device.c ---- */

/* What a call needs; for rig_begin(). */
enum {
	RIG_USES_DRIVER =
		1, /* the driver is up from here on: worker thread, no use after fork() */
	RIG_USES_CONTEXT =
		2,     /* the current device's primary context exists from here on */
	RIG_LOOKS = 4, /* a broken context is reported */
	RIG_UNSAFE =
		8, /* not while a stream is captured, unless the thread says otherwise */
	RIG_CONTEXT_CALL = RIG_USES_DRIVER | RIG_USES_CONTEXT | RIG_LOOKS,
};

/* What every call begins with: rules, fork, broken context, capture. 0, or the call's
 * result. */
RIG_EXPORT int rig_begin(const char *call, const char *match, unsigned flags);
/* The same without rules and counting: for a call's second half. */
RIG_EXPORT int rig_begin_nameless(unsigned flags);
/* An entry point of the driver's by its name, with or without version suffix; NULL: none.
 */
RIG_EXPORT void *rig_entry(const char *name);
/*
 * The same for one that puts work on STREAM. GROUP: launch or copy. *CAPTURED: the work
 * goes into a graph. Tells nothing of a graph's launch, for this the kernels within are
 * asked about: rig_begin_kernel().
 */
RIG_EXPORT int rig_begin_work(const char *call, const char *group, const char *match,
			      struct rig_stream *stream, bool *captured);
RIG_EXPORT int rig_begin_kernel(const char *name, struct rig_stream *stream);

RIG_EXPORT bool
rig_forked(void); /* CUDA was used before the fork() that made this process */
/* A thread of the driver's: all signals blocked, NAME. */
RIG_EXPORT int rig_thread(const char *name, void *(*body)(void *), void *argument);
RIG_EXPORT bool rig_context_active(int device);
RIG_EXPORT void rig_context_open(int device);
RIG_EXPORT void rig_context_release(int device);
/* The context is broken and a call has said so. */
RIG_EXPORT bool rig_noticed(void);
/* CUDA version that is played: 1000 * major + 10 * minor, as the runtime counts. */
RIG_EXPORT int rig_cuda_version(void);
RIG_EXPORT int rig_driver_version(void);

/* cudaDeviceAttr and CUdevice_attribute have the same numbers. False: no such attribute.
 */
RIG_EXPORT bool rig_attribute(int device, int attribute, int *value);
RIG_EXPORT void rig_bus_id(int device, char text[16]); /* 0000:19:00.0 */
RIG_EXPORT int rig_bus_number(int device);
RIG_EXPORT void rig_uuid(int device, unsigned char uuid[16]);

/* ---- memory: memory.c, vmm.c, pool.c ---- */

enum rig_kind {
	RIG_DEVICE_MEMORY,
	RIG_POOLED,
	RIG_MAPPED,
	RIG_PINNED,
	RIG_REGISTERED,
	RIG_MANAGED
};
struct rig_range {
	uint64_t address, bytes;
	enum rig_kind kind;
	int device;
	void *owner; /* pool or physical memory; NULL: none */
};
/* The range that ADDRESS lies in; false: none. */
RIG_EXPORT bool rig_range_at(uint64_t address, struct rig_range *range);
RIG_EXPORT int rig_range_add(const struct rig_range *range); /* 0 or 2 */
RIG_EXPORT bool rig_range_remove(uint64_t address, struct rig_range *range);
/* Address space that nobody can touch: aligned to 2 MiB, 0 if there is none. */
RIG_EXPORT uint64_t rig_space(uint64_t bytes);
RIG_EXPORT void rig_space_free(uint64_t address, uint64_t bytes);

/* Host memory that the device reaches by itself. */
RIG_EXPORT bool rig_pinned(const void *address);
RIG_EXPORT int rig_host_allocate(uint64_t bytes, void **address);
RIG_EXPORT int rig_host_free(void *address);
RIG_EXPORT int rig_host_register(void *address, uint64_t bytes);
RIG_EXPORT int rig_host_unregister(void *address);
/* Unified memory: the host can touch it. */
RIG_EXPORT int rig_managed_allocate(int device, uint64_t bytes, uint64_t *address);

RIG_EXPORT int rig_vmm_reserve(uint64_t bytes, uint64_t alignment, uint64_t *address);
RIG_EXPORT int rig_vmm_unreserve(uint64_t address, uint64_t bytes);
RIG_EXPORT int rig_vmm_create(int device, uint64_t bytes, uint64_t *handle);
RIG_EXPORT int rig_vmm_release(uint64_t handle);
RIG_EXPORT int rig_vmm_retain(uint64_t address, uint64_t *handle);
RIG_EXPORT int rig_vmm_device(uint64_t handle); /* -1: no such handle */
RIG_EXPORT int rig_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset,
			   uint64_t handle);
RIG_EXPORT int rig_vmm_unmap(uint64_t address, uint64_t bytes);
RIG_EXPORT int rig_vmm_access(uint64_t address, uint64_t bytes);

struct rig_pool;
RIG_EXPORT struct rig_pool *rig_pool_default(int device);
RIG_EXPORT struct rig_pool *rig_pool_create(int device);
RIG_EXPORT int rig_pool_destroy(struct rig_pool *pool);
RIG_EXPORT int rig_pool_allocate(struct rig_pool *pool, uint64_t bytes,
				 uint64_t *address);
RIG_EXPORT int rig_pool_free(uint64_t address);
RIG_EXPORT int rig_pool_trim(struct rig_pool *pool, uint64_t keep);
/* What a synchronisation gives back: everything over the threshold. */
RIG_EXPORT void rig_pool_settle(int device);
RIG_EXPORT int rig_pool_attribute(struct rig_pool *pool, int attribute, void *value,
				  bool set);

/* ---- streams, events: stream.c ---- */

/* NULL: no such stream (error 400). */
RIG_EXPORT struct rig_stream *rig_stream_of(struct rig_stream *handle);
RIG_EXPORT int rig_stream_priority(struct rig_stream *stream);
RIG_EXPORT int rig_stream_device(struct rig_stream *stream);
RIG_EXPORT unsigned rig_stream_flags(struct rig_stream *stream);
RIG_EXPORT void rig_stream_set_flags(struct rig_stream *stream, unsigned flags);
RIG_EXPORT uint64_t rig_stream_id(struct rig_stream *stream);
/* What is done when all that is on the stream now is done. */
RIG_EXPORT struct rig_ticket rig_stream_now(struct rig_stream *stream);
/* Every stream of the device. */
RIG_EXPORT bool rig_device_done(int device);
RIG_EXPORT int rig_device_wait(int device);
/* Blocks until the ticket is done: 0 or the sticky error. */
RIG_EXPORT int rig_ticket_wait(struct rig_ticket ticket);

RIG_EXPORT struct rig_event *rig_event_create(unsigned flags);
RIG_EXPORT int rig_event_destroy(struct rig_event *event);
RIG_EXPORT int rig_event_record(struct rig_event *event, struct rig_stream *stream);
RIG_EXPORT int rig_event_query(struct rig_event *event); /* 0, 600, 400, 907 */
RIG_EXPORT int rig_event_wait(struct rig_event *event);
RIG_EXPORT int rig_event_elapsed(struct rig_event *start, struct rig_event *end,
				 float *milliseconds);
RIG_EXPORT int rig_event_hold(struct rig_stream *stream,
			      struct rig_event *event); /* cudaStreamWaitEvent */
/* FUNCTION is called, from a thread of the driver's, when all that is on the stream is
 * done; the stream waits. */
RIG_EXPORT int rig_stream_call(struct rig_stream *stream, void (*function)(void *, int),
			       void *argument);

/* ---- capture and graphs: graph.c ---- */

enum {
	RIG_NODE_KERNEL = 0,
	RIG_NODE_MEMCPY = 1,
	RIG_NODE_MEMSET = 2,
	RIG_NODE_HOST = 3,
	RIG_NODE_EMPTY = 5,
	RIG_NODE_WAIT = 6,
	RIG_NODE_RECORD = 7,
	RIG_NODE_ALLOC = 10,
	RIG_NODE_FREE = 11,
	RIG_NODE_CONDITIONAL = 13
};
enum { RIG_CAPTURE_GLOBAL = 0, RIG_CAPTURE_THREAD = 1, RIG_CAPTURE_RELAXED = 2 };
struct rig_graph;
struct rig_node;
struct rig_exec;
struct rig_capture_info {
	int status; /* 0: none, 1: active, 2: invalidated */
	uint64_t id;
	struct rig_graph *graph;
	struct rig_node *
		*tail; /* what the next node depends on; valid until the next node */
	size_t tails;
};
RIG_EXPORT int rig_capture_begin(struct rig_stream *stream, struct rig_graph *graph,
				 int mode);
RIG_EXPORT int rig_capture_end(struct rig_stream *stream, struct rig_graph **graph);
RIG_EXPORT int rig_capture_info(struct rig_stream *stream, struct rig_capture_info *info);
RIG_EXPORT int rig_capture_depend(struct rig_stream *stream, struct rig_node **nodes,
				  size_t count, bool add);
/* Adds a node where the stream is captured: true. */
RIG_EXPORT bool rig_capture_add(struct rig_stream *stream, int type, const char *name);
RIG_EXPORT int rig_capture_exchange(int mode);
/* A call that is not allowed while captures go on: 0 or 900; the captures are invalid
 * then. */
RIG_EXPORT int rig_capture_forbids(void);
/* The same for one that waits for STREAM. */
RIG_EXPORT int rig_capture_forbids_wait(struct rig_stream *stream);

RIG_EXPORT struct rig_graph *rig_graph_create(void);
RIG_EXPORT int rig_graph_destroy(struct rig_graph *graph);
RIG_EXPORT struct rig_node *rig_graph_add(struct rig_graph *graph, int type,
					  const char *name, struct rig_node *const *after,
					  size_t count);
RIG_EXPORT int rig_graph_nodes(struct rig_graph *graph, struct rig_node **nodes,
			       size_t *count);
RIG_EXPORT int rig_node_type(struct rig_node *node);
RIG_EXPORT int rig_node_dependencies(struct rig_node *node, struct rig_node **nodes,
				     size_t *count);
RIG_EXPORT const char *rig_node_name(struct rig_node *node);
RIG_EXPORT bool rig_graph_is(const struct rig_graph *graph);
RIG_EXPORT int rig_graph_keep(struct rig_graph *graph, void (*drop)(void *),
			      void *object);
RIG_EXPORT struct rig_exec *rig_exec_create(struct rig_graph *graph);
RIG_EXPORT int rig_exec_destroy(struct rig_exec *exec);
RIG_EXPORT int rig_exec_launch(struct rig_exec *exec, struct rig_stream *stream);

/* ---- errors: error_names.c ---- */

/* As the runtime says them, "unrecognized error code" for what it does not know. */
RIG_EXPORT const char *rig_error_name(int error);
RIG_EXPORT const char *rig_error_text(int error);

/* ---- kernels: kernels.c ---- */

struct rig_kernel;
/* A kernel of a module or library; NAME is copied. */
RIG_EXPORT struct rig_kernel *rig_kernel_create(const char *name);
/* The kernel that the host knows by HOST; NAME lives as long as its library. */
RIG_EXPORT void rig_kernel_register(const void *host, const char *name);
/* Of a host's function or of a kernel; NULL: neither. */
RIG_EXPORT const char *rig_kernel_name(const void *function);

#endif
