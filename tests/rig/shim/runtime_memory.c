/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's memory: allocations, and copies that move nothing. */
#include <string.h>

#include "runtime.h"
#include "runtime_api.h"

enum { TO_HOST = 2, BY_ADDRESS = 4 }; /* of cudaMemcpyKind */

static uint64_t address_of(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

cuda_error cudaMalloc(void **ret, size_t bytes)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);
	uint64_t address = 0;

	if (!error && !ret)
		error = RIG_INVALID_VALUE;
	if (!error && bytes)
		error = rig_allocate(rig_device(), bytes, &address);
	if (!error)
		*ret = (void *)(uintptr_t)address; /* NOLINT */
	return rt_done(error);
}

/* cudaFree waits for the device. */
cuda_error cudaFree(void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | (pointer ? RIG_UNSAFE : 0));
	struct rig_range range;

	if (error || !pointer)
		return error;
	if (rig_range_at(address_of(pointer), &range))
		error = rig_device_wait(range.device);
	if (!error)
		error = rig_free(address_of(pointer));
	if (error == RIG_INVALID_VALUE)
		error = rig_pool_free(address_of(pointer));
	return rt_done(error);
}

cuda_error cudaMallocManaged(void **ret, size_t bytes, unsigned flags)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);
	uint64_t address = 0;

	(void)flags;
	if (!error)
		error = rig_managed_allocate(rig_device(), bytes, &address);
	if (!error)
		*ret = (void *)(uintptr_t)address; /* NOLINT */
	return rt_done(error);
}

static int host_allocate(const char *call, void **ret, size_t bytes)
{
	int error = rt_begin(call, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return rt_done(error ? error : rig_host_allocate(bytes, ret));
}

cuda_error cudaHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	(void)flags;
	return host_allocate(__func__, ret, bytes);
}

cuda_error cudaMallocHost(void **ret, size_t bytes)
{
	return host_allocate(__func__, ret, bytes);
}

cuda_error cudaFreeHost(void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return rt_done(error || !pointer ? error : rig_host_free(pointer));
}

cuda_error cudaHostRegister(void *pointer, size_t bytes, unsigned flags)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	(void)flags;
	return rt_done(error ? error : rig_host_register(pointer, bytes));
}

cuda_error cudaHostUnregister(void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return rt_done(error ? error : rig_host_unregister(pointer));
}

/* Unified addressing: the device sees the host's memory where the host does. */
cuda_error cudaHostGetDevicePointer(void **ret, void *pointer, unsigned flags)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);
	struct rig_range range;

	(void)flags;
	if (!error && (!rig_range_at(address_of(pointer), &range) ||
		       (range.kind != RIG_PINNED && range.kind != RIG_REGISTERED)))
		error = RIG_INVALID_VALUE;
	if (!error)
		*ret = pointer;
	return rt_done(error);
}

cuda_error cudaHostGetFlags(unsigned *flags, void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);
	struct rig_range range;

	if (!error &&
	    (!rig_range_at(address_of(pointer), &range) || range.kind != RIG_PINNED))
		error = RIG_INVALID_VALUE;
	if (!error)
		*flags = 2; /* cudaHostAllocMapped */
	return rt_done(error);
}

cuda_error cudaMemGetInfo(size_t *available, size_t *total)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);
	const struct rig_gpu *gpu = rig_gpu();

	if (error)
		return error;
	*total = gpu->memory;
	*available = gpu->memory - gpu->other - rig_used(rig_device());
	return 0;
}

cuda_error cudaPointerGetAttributes(cuda_pointer *ret, const void *pointer)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);
	struct rt_pointer found = {.device = -2,
				   .host_pointer = (void *)pointer}; /* -2: no device */
	struct rig_range range;

	if (error)
		return error;
	if (rig_range_at(address_of(pointer), &range)) {
		bool host = range.kind == RIG_PINNED || range.kind == RIG_REGISTERED;

		found.type = host ? 1 : range.kind == RIG_MANAGED ? 3 : 2;
		found.device = range.device;
		found.device_pointer = (void *)pointer;
		if (!host && range.kind != RIG_MANAGED)
			found.host_pointer = NULL;
	}
	memcpy(ret, &found, sizeof(found));
	return 0;
}

/* ---- copies ---- */

static bool on_device(const void *pointer)
{
	return rig_owner(address_of(pointer)) >= 0;
}

/* Which of HtoH, HtoD, DtoH, DtoD a copy is. */
static unsigned direction(const void *to, const void *from, cuda_enum kind)
{
	if (kind == BY_ADDRESS)
		return (on_device(from) ? TO_HOST : 0) + (on_device(to) ? 1 : 0);
	return kind & 3;
}

/*
 * What arrives at the host is zero: nothing is known of the device's memory. ROWS of
 * WIDTH bytes, STRIDE apart.
 */
static int copied(unsigned kind, void *to, size_t to_stride, const void *from,
		  size_t from_stride, size_t width, size_t rows)
{
	struct rig_range range;

	if (kind & 1 || !width || !rows)
		return 0;
	/* Who calls a device's address the host's crashes with CUDA; here it is an error.
	 */
	if (rig_range_at(address_of(to), &range) && range.kind < RIG_PINNED)
		return RIG_INVALID_VALUE;
	for (size_t i = 0; i < rows; i++) {
		if (kind == TO_HOST)
			memset((char *)to + i * to_stride, 0, width);
		else
			memmove((char *)to + i * to_stride,
				(const char *)from + i * from_stride, width);
	}
	return 0;
}

struct copy {
	void *to;
	size_t to_stride;
	const void *from;
	size_t from_stride, width, rows;
	cuda_enum kind;
};

static int copy(const char *call, const struct copy *c, struct rig_stream *stream,
		bool wait)
{
	static const char *const names[] = {"HtoH", "HtoD", "DtoH", "DtoD"};
	unsigned kind = direction(c->to, c->from, c->kind);
	bool captured = false;
	int error;

	if (c->kind > BY_ADDRESS)
		return rt_done(21); /* cudaErrorInvalidMemcpyDirection */
	error = rt_begin_work(call, "copy", names[kind], stream, &captured);
	if (!error && captured && wait)
		error = rig_capture_forbids_wait(stream);
	if (error)
		return rt_done(error);
	if (rig_capture_add(stream, RIG_NODE_MEMCPY, NULL))
		return 0;
	/* A copy to memory that is not pinned is over when the call returns, so it waits
	 * for the stream. */
	if (wait || (kind == TO_HOST && !rig_pinned(c->to)))
		error = rig_stream_wait(stream);
	if (!error)
		error = copied(kind, c->to, c->to_stride, c->from, c->from_stride,
			       c->width, c->rows);
	return rt_done(error);
}

cuda_error cudaMemcpy(void *to, const void *from, size_t bytes, cuda_enum kind)
{
	return copy(__func__, &(struct copy){to, 0, from, 0, bytes, 1, kind}, NULL, true);
}

cuda_error cudaMemcpyAsync(void *to, const void *from, size_t bytes, cuda_enum kind,
			   cuda_stream stream)
{
	return copy(__func__, &(struct copy){to, 0, from, 0, bytes, 1, kind},
		    (struct rig_stream *)stream, false);
}

cuda_error cudaMemcpy2D(void *to, size_t to_stride, const void *from, size_t from_stride,
			size_t width, size_t height, cuda_enum kind)
{
	return copy(__func__,
		    &(struct copy){to, to_stride, from, from_stride, width, height, kind},
		    NULL, true);
}

cuda_error cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from,
			     size_t from_stride, size_t width, size_t height,
			     cuda_enum kind, cuda_stream stream)
{
	return copy(__func__,
		    &(struct copy){to, to_stride, from, from_stride, width, height, kind},
		    (struct rig_stream *)stream, false);
}

cuda_error cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
			  size_t bytes)
{
	(void)to_device;
	(void)from_device;
	return copy(__func__, &(struct copy){to, 0, from, 0, bytes, 1, 3}, NULL, true);
}

cuda_error cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
			       size_t bytes, cuda_stream stream)
{
	(void)to_device;
	(void)from_device;
	return copy(__func__, &(struct copy){to, 0, from, 0, bytes, 1, 3},
		    (struct rig_stream *)stream, false);
}

cuda_error cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
			      size_t offset, cuda_enum kind)
{
	bool captured = false;
	int error = rt_begin_work(__func__, "copy", kind == 3 ? "DtoD" : "HtoD", NULL,
				  &captured);

	(void)from;
	(void)bytes;
	(void)offset;
	return rt_done(error || symbol ? error : 13); /* cudaErrorInvalidSymbol */
}

static int set(const char *call, void *to, int value, size_t stride, size_t width,
	       size_t rows, struct rig_stream *stream)
{
	struct rig_range range;
	bool captured = false;
	int error = rt_begin_work(call, "copy", "memset", stream, &captured);

	if (error)
		return error;
	if (width && rows && !rig_range_at(address_of(to), &range))
		return rt_done(RIG_INVALID_VALUE);
	if (rig_capture_add(stream, RIG_NODE_MEMSET, NULL) || !width || !rows ||
	    range.kind < RIG_PINNED)
		return 0;
	for (size_t i = 0; i < rows; i++)
		memset((char *)to + i * stride, value, width);
	return 0;
}

cuda_error cudaMemset(void *to, int value, size_t bytes)
{
	return set(__func__, to, value, 0, bytes, 1, NULL);
}

cuda_error cudaMemsetAsync(void *to, int value, size_t bytes, cuda_stream stream)
{
	return set(__func__, to, value, 0, bytes, 1, (struct rig_stream *)stream);
}

cuda_error cudaMemset2DAsync(void *to, size_t stride, int value, size_t width,
			     size_t height, cuda_stream stream)
{
	return set(__func__, to, value, stride, width, height,
		   (struct rig_stream *)stream);
}

/* ---- memory between processes: not played ---- */

cuda_error cudaIpcGetMemHandle(cuda_ipc_memory *handle, void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)handle;
	(void)pointer;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cudaIpcOpenMemHandle(void **pointer, cuda_ipc_memory handle, unsigned flags)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)pointer;
	(void)handle;
	(void)flags;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cudaIpcCloseMemHandle(void *pointer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)pointer;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cudaIpcGetEventHandle(cuda_ipc_event *handle, cuda_event event)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)handle;
	(void)event;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cudaIpcOpenEventHandle(cuda_event *event, cuda_ipc_event handle)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)event;
	(void)handle;
	return rt_done(error ? error : RIG_NOT_SUPPORTED);
}
