/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's kernels: registered by the program's start, launched by name. */
#include <string.h>

#include "embedded.h"
#include "runtime.h"
#include "runtime_api.h"

/* ---- what nvcc puts into every program ---- */

/* Handles of fat binaries: nothing is read of them. */
static void *fat_binary;

void **__cudaRegisterFatBinary(void *binary)
{
	(void)binary;
	embedded_replace(); /* all that belongs to the program is mapped, and nothing of
			       it runs yet */
	return &fat_binary;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device,
			    const char *name, int threads, void *thread, void *block,
			    void *block_size, void *grid_size, int *warp)
{
	(void)handle;
	(void)device;
	(void)threads;
	(void)thread;
	(void)block;
	(void)block_size;
	(void)grid_size;
	(void)warp;
	rig_kernel_register(host, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
		       int external, size_t bytes, int constant, int global)
{
	(void)handle;
	(void)host;
	(void)device;
	(void)name;
	(void)external;
	(void)bytes;
	(void)constant;
	(void)global;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
			      int external, size_t bytes, int constant, int global)
{
	(void)handle;
	(void)host;
	(void)device;
	(void)name;
	(void)external;
	(void)bytes;
	(void)constant;
	(void)global;
}

/* <<<...>>> pushes, the launching function pops. */
struct configuration {
	cuda_dim grid, block;
	size_t shared;
	cuda_stream stream;
};
static __thread struct configuration configurations[16];
static __thread unsigned depth;

unsigned __cudaPushCallConfiguration(cuda_dim grid, cuda_dim block, size_t shared,
				     cuda_stream stream)
{
	if (depth == sizeof(configurations) / sizeof(configurations[0]))
		return (unsigned)rt_done(9); /* cudaErrorInvalidConfiguration */
	configurations[depth++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

cuda_error __cudaPopCallConfiguration(cuda_dim *grid, cuda_dim *block, size_t *shared,
				      void *stream)
{
	const struct configuration *c;

	if (!depth)
		return rt_done(52); /* cudaErrorMissingConfiguration */
	c = &configurations[--depth];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	memcpy(stream, &c->stream, sizeof(c->stream));
	return 0;
}

/* ---- launches ---- */

static int launch(const char *call, const void *function, const cuda_dim *grid,
		  const cuda_dim *block, cuda_stream stream)
{
	const char *name = rig_kernel_name(function);
	bool captured = false;
	int error;

	if (!name)
		return rt_done(98); /* cudaErrorInvalidDeviceFunction */
	error = rt_begin_work(call, "launch", name, (struct rig_stream *)stream,
			      &captured);
	if (error)
		return error;
	if (!grid->x || !grid->y || !grid->z || !block->x || !block->y || !block->z ||
	    (uint64_t)block->x * block->y * block->z > 1024)
		return rt_done(9); /* cudaErrorInvalidConfiguration */
	if (captured)
		rig_capture_add((struct rig_stream *)stream, RIG_NODE_KERNEL, name);
	return 0;
}

cuda_error cudaLaunchKernel(const void *function, cuda_dim grid, cuda_dim block,
			    void **arguments, size_t shared, cuda_stream stream)
{
	(void)arguments;
	(void)shared;
	return launch(__func__, function, &grid, &block, stream);
}

cuda_error cudaLaunchCooperativeKernel(const void *function, cuda_dim grid,
				       cuda_dim block, void **arguments, size_t shared,
				       cuda_stream stream)
{
	(void)arguments;
	(void)shared;
	return launch(__func__, function, &grid, &block, stream);
}

cuda_error cudaLaunchKernelExC(const cuda_launch *configuration, const void *function,
			       void **arguments)
{
	struct rt_launch c;

	(void)arguments;
	memcpy(&c, configuration, sizeof(c));
	return launch(__func__, function, &(cuda_dim){c.grid[0], c.grid[1], c.grid[2]},
		      &(cuda_dim){c.block[0], c.block[1], c.block[2]},
		      (cuda_stream)c.stream);
}

/* What nvcc 13 launches with instead. */
cuda_error __cudaLaunchKernel(cuda_kernel kernel, cuda_dim grid, cuda_dim block,
			      void **arguments, size_t shared, cuda_stream stream)
{
	(void)arguments;
	(void)shared;
	return launch("cudaLaunchKernel", (const void *)kernel, &grid, &block, stream);
}

/* A host function's kernel is that function's address: both are looked up the same way.
 */
cuda_error __cudaGetKernel(cuda_kernel *kernel, const void *function)
{
	if (!rig_kernel_name(function))
		return rt_done(98);
	memcpy(kernel, &function, sizeof(function));
	return 0;
}

cuda_error cudaGetFuncBySymbol(cuda_symbol *ret, const void *function)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error && !rig_kernel_name(function))
		error = 98;
	if (!error)
		memcpy(ret, &function, sizeof(function));
	return rt_done(error);
}

cuda_error cudaGetKernel(cuda_kernel *ret, const void *function)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error && !rig_kernel_name(function))
		error = 98;
	if (!error)
		memcpy(ret, &function, sizeof(function));
	return rt_done(error);
}

cuda_error cudaFuncGetName(const char **name, const void *function)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error)
		*name = rig_kernel_name(function);
	return rt_done(error || *name ? error : 98);
}

/* ---- what kernels say of themselves ---- */

static int begin_function(const char *call, const void *function)
{
	int error = rt_begin(call, RIG_CONTEXT_CALL);

	return rt_done(error || rig_kernel_name(function) ? error : 98);
}

/* Compiled for the device itself, with what an ordinary kernel needs. */
cuda_error cudaFuncGetAttributes(cuda_function *ret, const void *function)
{
	const struct rig_gpu *gpu = rig_gpu();
	struct rt_function a = {.threads = 1024,
				.registers = 32,
				.dynamic_shared = 49152,
				.carveout = -1};
	int error = begin_function(__func__, function);

	if (error)
		return error;
	a.ptx_version = a.binary_version = gpu->major * 10 + gpu->minor;
	memcpy(ret, &a,
	       rig_cuda_version() >= 11080 ? sizeof(a)
					   : offsetof(struct rt_function, cluster_must));
	return 0;
}

cuda_error cudaFuncSetAttribute(const void *function, cuda_enum attribute, int value)
{
	(void)attribute;
	(void)value;
	return begin_function(__func__, function);
}

cuda_error cudaFuncSetCacheConfig(const void *function, cuda_enum configuration)
{
	(void)configuration;
	return begin_function(__func__, function);
}

cuda_error cudaKernelSetAttributeForDevice(cuda_kernel kernel, cuda_enum attribute,
					   int value, int device)
{
	(void)attribute;
	(void)value;
	(void)device;
	return begin_function(__func__, (const void *)kernel);
}

static int occupancy(const char *call, int *blocks, const void *function, int threads)
{
	int error = begin_function(call, function);

	if (error)
		return error;
	if (threads < 1)
		return rt_done(RIG_INVALID_VALUE);
	*blocks = threads > 1024 ? 0 : 2048 / threads > 32 ? 32 : 2048 / threads;
	return 0;
}

cuda_error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
							 const void *function,
							 int threads, size_t shared)
{
	(void)shared;
	return occupancy(__func__, blocks, function, threads);
}

cuda_error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *function, int threads, size_t shared, unsigned flags)
{
	(void)shared;
	(void)flags;
	return occupancy(__func__, blocks, function, threads);
}

/* A variable of the device's has no address that is known: its host's stands for it. */
cuda_error cudaGetSymbolAddress(void **ret, const void *symbol)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error)
		*ret = (void *)symbol;
	return rt_done(error || symbol ? error : 13); /* cudaErrorInvalidSymbol */
}

/* ---- libraries of kernels ---- */

cuda_error cudaLibraryLoadData(cuda_library *library, const void *code,
			       cuda_enum *options, void **values, unsigned count,
			       cuda_enum *library_options, void **library_values,
			       unsigned library_count)
{
	static char handles; /* every library has all names */
	void *handle = &handles;
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)options;
	(void)values;
	(void)count;
	(void)library_options;
	(void)library_values;
	(void)library_count;
	if (!error && !code)
		error = RIG_INVALID_VALUE;
	if (!error)
		memcpy(library, &handle, sizeof(handle));
	return rt_done(error);
}

cuda_error cudaLibraryGetKernel(cuda_kernel *ret, cuda_library library, const char *name)
{
	struct rig_kernel *kernel;
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	(void)library;
	if (error)
		return error;
	kernel = rig_kernel_create(name);
	memcpy(ret, &kernel, sizeof(kernel));
	return rt_done(kernel ? 0 : RIG_OUT_OF_MEMORY);
}

cuda_error cudaLibraryUnload(cuda_library library)
{
	(void)library;
	return rt_begin(__func__, RIG_CONTEXT_CALL);
}
