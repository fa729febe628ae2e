/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's memory in stream order: cudaMallocAsync() and the pools that it draws
 * from. */
#include <string.h>

#include "runtime.h"
#include "runtime_api.h"

static struct rig_pool *chosen[RIG_MAX_DEVICES]; /* by cudaDeviceSetMemPool() */

static struct rig_pool *current(int device)
{
	return chosen[device] ? chosen[device] : rig_pool_default(device);
}

static int allocate(const char *call, void **ret, size_t bytes, struct rig_pool *pool,
		    struct rig_stream *stream)
{
	bool captured = false;
	uint64_t address = 0;
	int error = rt_begin_work(call, NULL, NULL, stream, &captured);

	if (!error && bytes)
		error = rig_pool_allocate(pool ? pool
					       : current(rig_stream_device(stream)),
					  bytes, &address);
	if (error)
		return rt_done(error);
	/* In a graph the memory is there already when the node is made; it stays until it
	 * is freed. */
	rig_capture_add(stream, RIG_NODE_ALLOC, NULL);
	*ret = (void *)(uintptr_t)address; /* NOLINT */
	return 0;
}

cuda_error cudaMallocAsync(void **ret, size_t bytes, cuda_stream stream)
{
	return allocate(__func__, ret, bytes, NULL, (struct rig_stream *)stream);
}

cuda_error cudaMallocFromPoolAsync(void **ret, size_t bytes, cuda_pool pool,
				   cuda_stream stream)
{
	return allocate(__func__, ret, bytes, (struct rig_pool *)pool,
			(struct rig_stream *)stream);
}

cuda_error cudaFreeAsync(void *pointer, cuda_stream stream)
{
	bool captured = false;
	int error = rt_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				  &captured);

	if (error || !pointer)
		return error;
	if (rig_capture_add((struct rig_stream *)stream, RIG_NODE_FREE, NULL))
		return 0;
	error = rig_pool_free((uint64_t)(uintptr_t)pointer);
	return rt_done(error ? rig_free((uint64_t)(uintptr_t)pointer) : 0);
}

static int get_pool(const char *call, struct rig_pool **pool, int device, bool standard)
{
	int error = rt_begin(call, RIG_USES_DRIVER);

	if (!error && (device < 0 || device >= rig_gpu()->count))
		error = RIG_INVALID_DEVICE;
	if (!error)
		*pool = standard ? rig_pool_default(device) : current(device);
	return rt_done(error);
}

cuda_error cudaDeviceGetDefaultMemPool(cuda_pool *pool, int device)
{
	return get_pool(__func__, (struct rig_pool **)pool, device, true);
}

cuda_error cudaDeviceGetMemPool(cuda_pool *pool, int device)
{
	return get_pool(__func__, (struct rig_pool **)pool, device, false);
}

cuda_error cudaDeviceSetMemPool(int device, cuda_pool pool)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && (device < 0 || device >= rig_gpu()->count))
		error = RIG_INVALID_DEVICE;
	if (!error)
		chosen[device] = (struct rig_pool *)pool;
	return rt_done(error);
}

cuda_error cudaMemPoolCreate(cuda_pool *pool, const cuda_pool_properties *properties)
{
	struct rt_pool_properties wanted;
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (error)
		return error;
	memcpy(&wanted, properties, sizeof(wanted));
	if (wanted.location_type == 1 &&
	    (wanted.location_id < 0 || wanted.location_id >= rig_gpu()->count))
		return rt_done(RIG_INVALID_DEVICE);
	*(struct rig_pool **)pool = rig_pool_create(
		wanted.location_type == 1 ? wanted.location_id : rig_device());
	return rt_done(*pool ? 0 : RIG_OUT_OF_MEMORY);
}

cuda_error cudaMemPoolDestroy(cuda_pool pool)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	return rt_done(error ? error : rig_pool_destroy((struct rig_pool *)pool));
}

cuda_error cudaMemPoolGetAttribute(cuda_pool pool, cuda_enum attribute, void *value)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	return rt_done(error ? error
			     : rig_pool_attribute((struct rig_pool *)pool, (int)attribute,
						  value, false));
}

cuda_error cudaMemPoolSetAttribute(cuda_pool pool, cuda_enum attribute, void *value)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	return rt_done(error ? error
			     : rig_pool_attribute((struct rig_pool *)pool, (int)attribute,
						  value, true));
}

cuda_error cudaMemPoolSetAccess(cuda_pool pool, const cuda_access *list, size_t count)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	(void)pool;
	(void)list;
	(void)count;
	return error;
}

cuda_error cudaMemPoolTrimTo(cuda_pool pool, size_t least)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	return rt_done(error ? error : rig_pool_trim((struct rig_pool *)pool, least));
}

/* Graphs own no memory here: all four numbers are 0. */
cuda_error cudaDeviceGetGraphMemAttribute(int device, cuda_enum attribute, void *value)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && (device < 0 || device >= rig_gpu()->count))
		error = RIG_INVALID_DEVICE;
	if (!error && attribute > 3)
		error = RIG_INVALID_VALUE;
	if (!error)
		memset(value, 0, sizeof(uint64_t));
	return rt_done(error);
}

cuda_error cudaDeviceSetGraphMemAttribute(int device, cuda_enum attribute, void *value)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	(void)value;
	if (!error && (device < 0 || device >= rig_gpu()->count))
		error = RIG_INVALID_DEVICE;
	return rt_done(error || attribute <= 3 ? error : RIG_INVALID_VALUE);
}
