/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's modules, libraries and kernels. Nothing is read of what is loaded: a
 * module has every name. */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "driver_api.h"

static char module_handle, link_handle, cubin[64];

static int load(const char *call, void *ret, const void *image)
{
	void *handle = &module_handle;
	int error = rig_begin(call, NULL, RIG_CONTEXT_CALL);

	if (!error && !image)
		error = RIG_INVALID_VALUE;
	if (!error)
		memcpy(ret, &handle, sizeof(handle));
	return error;
}

cuda_error cuModuleLoad(cuda_module *ret, const char *path)
{
	return (cuda_error)load(__func__, ret, path);
}

cuda_error cuModuleLoadData(cuda_module *ret, const void *image)
{
	return (cuda_error)load(__func__, ret, image);
}

cuda_error cuModuleLoadDataEx(cuda_module *ret, const void *image, unsigned count,
			      cuda_enum *options, void **values)
{
	(void)count;
	(void)options;
	(void)values;
	return (cuda_error)load(__func__, ret, image);
}

cuda_error cuModuleUnload(cuda_module module)
{
	(void)module;
	return (cuda_error)rig_begin(__func__, NULL, RIG_CONTEXT_CALL);
}

static int get_kernel(const char *call, void *ret, const char *name)
{
	struct rig_kernel *kernel;
	int error = rig_begin(call, name, RIG_CONTEXT_CALL);

	if (error)
		return error;
	kernel = rig_kernel_create(name);
	memcpy(ret, &kernel, sizeof(kernel));
	return kernel ? 0 : RIG_OUT_OF_MEMORY;
}

cuda_error cuModuleGetFunction(cuda_symbol *ret, cuda_module module, const char *name)
{
	(void)module;
	return (cuda_error)get_kernel(__func__, ret, name);
}

/* No module has variables. */
cuda_error cuModuleGetGlobal_v2(cuda_address *address, size_t *bytes, cuda_module module,
				const char *name)
{
	int error = rig_begin("cuModuleGetGlobal", name, RIG_CONTEXT_CALL);

	(void)address;
	(void)bytes;
	(void)module;
	return (cuda_error)(error ? error : RIG_NOT_FOUND);
}

cuda_error cuLibraryLoadData(cuda_library *ret, const void *code, cuda_enum *options,
			     void **values, unsigned count, cuda_enum *library_options,
			     void **library_values, unsigned library_count)
{
	(void)options;
	(void)values;
	(void)count;
	(void)library_options;
	(void)library_values;
	(void)library_count;
	return (cuda_error)load(__func__, ret, code);
}

cuda_error cuLibraryGetKernel(cuda_kernel *ret, cuda_library library, const char *name)
{
	(void)library;
	return (cuda_error)get_kernel(__func__, ret, name);
}

cuda_error cuLibraryUnload(cuda_library library)
{
	(void)library;
	return (cuda_error)rig_begin(__func__, NULL, RIG_CONTEXT_CALL);
}

cuda_error cuKernelGetFunction(cuda_symbol *ret, cuda_kernel kernel)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (!error)
		memcpy(ret, &kernel, sizeof(kernel));
	return (cuda_error)error;
}

cuda_error cuLinkCreate_v2(unsigned count, cuda_enum *options, void **values,
			   cuda_link *ret)
{
	void *handle = &link_handle;
	int error = rig_begin("cuLinkCreate", NULL, RIG_CONTEXT_CALL);

	(void)count;
	(void)options;
	(void)values;
	if (!error)
		memcpy(ret, &handle, sizeof(handle));
	return (cuda_error)error;
}

cuda_error cuLinkAddData_v2(cuda_link link, cuda_enum type, void *data, size_t bytes,
			    const char *name, unsigned count, cuda_enum *options,
			    void **values)
{
	(void)link;
	(void)type;
	(void)data;
	(void)bytes;
	(void)name;
	(void)count;
	(void)options;
	(void)values;
	return (cuda_error)rig_begin("cuLinkAddData", NULL, RIG_CONTEXT_CALL);
}

cuda_error cuLinkComplete(cuda_link link, void **ret, size_t *bytes)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	(void)link;
	if (error)
		return (cuda_error)error;
	*ret = cubin;
	if (bytes)
		*bytes = sizeof(cubin);
	return 0;
}

cuda_error cuLinkDestroy(cuda_link link)
{
	(void)link;
	return (cuda_error)rig_begin(__func__, NULL, RIG_USES_DRIVER);
}

/* ---- launches ---- */

static int launch(const char *call, const void *function, struct rig_stream *stream,
		  const unsigned grid[3], const unsigned block[3])
{
	const char *name = rig_kernel_name(function);
	bool captured = false;
	int error;

	if (!name)
		return RIG_INVALID_HANDLE;
	error = rig_begin_work(call, "launch", name, stream, &captured);
	if (error)
		return error;
	if (!grid[0] || !grid[1] || !grid[2] || !block[0] || !block[1] || !block[2] ||
	    (uint64_t)block[0] * block[1] * block[2] > 1024)
		return RIG_INVALID_VALUE;
	if (captured)
		rig_capture_add(stream, RIG_NODE_KERNEL, name);
	return 0;
}

cuda_error cuLaunchKernel(cuda_symbol function, unsigned grid_x, unsigned grid_y,
			  unsigned grid_z, unsigned block_x, unsigned block_y,
			  unsigned block_z, unsigned shared, cuda_stream stream,
			  void **parameters, void **extra)
{
	(void)shared;
	(void)parameters;
	(void)extra;
	return (cuda_error)launch(__func__, (const void *)function,
				  (struct rig_stream *)stream,
				  (unsigned[]){grid_x, grid_y, grid_z},
				  (unsigned[]){block_x, block_y, block_z});
}

cuda_error cuLaunchCooperativeKernel(cuda_symbol function, unsigned grid_x,
				     unsigned grid_y, unsigned grid_z, unsigned block_x,
				     unsigned block_y, unsigned block_z, unsigned shared,
				     cuda_stream stream, void **parameters)
{
	(void)shared;
	(void)parameters;
	return (cuda_error)launch(__func__, (const void *)function,
				  (struct rig_stream *)stream,
				  (unsigned[]){grid_x, grid_y, grid_z},
				  (unsigned[]){block_x, block_y, block_z});
}

cuda_error cuLaunchKernelEx(const cuda_driver_launch *configuration, cuda_symbol function,
			    void **parameters, void **extra)
{
	struct rt_launch_driver c;

	(void)parameters;
	(void)extra;
	memcpy(&c, configuration, sizeof(c));
	return (cuda_error)launch(__func__, (const void *)function, c.stream, c.grid,
				  c.block);
}

/* ---- what kernels say of themselves ---- */

static int begin_function(const char *call, const void *function)
{
	int error = rig_begin(call, NULL, RIG_CONTEXT_CALL);

	return error || rig_kernel_name(function) ? error : RIG_INVALID_HANDLE;
}

/* Attributes: CUfunction_attribute in cuda.h of CUDA 12.4. */
cuda_error cuFuncGetAttribute(int *value, cuda_enum attribute, cuda_symbol function)
{
	static const int values[] = {1024,  0,  0, 0, 32, 0, 0, 0,
				     49152, -1, 0, 0, 0,  0, 0, 0};
	const struct rig_gpu *gpu = rig_gpu();
	int error = begin_function(__func__, (const void *)function);

	if (!error && attribute >= sizeof(values) / sizeof(values[0]))
		error = RIG_INVALID_VALUE;
	if (!error)
		*value = attribute == 5 || attribute == 6 ? gpu->major * 10 + gpu->minor
							  : values[attribute];
	return (cuda_error)error;
}

cuda_error cuFuncSetAttribute(cuda_symbol function, cuda_enum attribute, int value)
{
	(void)attribute;
	(void)value;
	return (cuda_error)begin_function(__func__, (const void *)function);
}

cuda_error cuFuncSetCacheConfig(cuda_symbol function, cuda_enum configuration)
{
	(void)configuration;
	return (cuda_error)begin_function(__func__, (const void *)function);
}

cuda_error cuFuncGetName(const char **name, cuda_symbol function)
{
	int error = begin_function(__func__, (const void *)function);

	if (!error)
		*name = rig_kernel_name((const void *)function);
	return (cuda_error)error;
}

static int occupancy(const char *call, int *blocks, const void *function, int threads)
{
	int error = begin_function(call, function);

	if (!error && threads < 1)
		error = RIG_INVALID_VALUE;
	if (!error)
		*blocks = threads > 1024 ? 0 : 2048 / threads > 32 ? 32 : 2048 / threads;
	return error;
}

cuda_error cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cuda_symbol function,
						       int threads, size_t shared)
{
	(void)shared;
	return (cuda_error)occupancy(__func__, blocks, (const void *)function, threads);
}

cuda_error cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, cuda_symbol function, int threads, size_t shared, unsigned flags)
{
	(void)shared;
	(void)flags;
	return (cuda_error)occupancy(__func__, blocks, (const void *)function, threads);
}

/* A description for the device alone: 128 bytes that the host cannot read anyway. */
cuda_error cuTensorMapEncodeTiled(cuda_tensor_map *ret, cuda_enum type, unsigned rank,
				  void *address, const cuda_flags *dimensions,
				  const cuda_flags *strides, const unsigned *box,
				  const unsigned *steps, cuda_enum interleave,
				  cuda_enum swizzle, cuda_enum promotion, cuda_enum fill)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	(void)type;
	(void)address;
	(void)dimensions;
	(void)strides;
	(void)box;
	(void)steps;
	(void)interleave;
	(void)swizzle;
	(void)promotion;
	(void)fill;
	if (!error && (rank < 1 || rank > 5))
		error = RIG_INVALID_VALUE;
	if (!error)
		memset(ret, 0, 128);
	return (cuda_error)error;
}
