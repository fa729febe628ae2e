/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of the driver that are played; parameters as of CUDA 13.0. */
#ifndef RIG_DRIVER_API_H
#define RIG_DRIVER_API_H

#include "abi.h"

/* driver.c */
RIG_EXPORT cuda_error cuGetProcAddress(const char *symbol, void **function, int version,
				       cuda_flags flags);
RIG_EXPORT cuda_error cuGetProcAddress_v2(const char *symbol, void **function,
					  int version, cuda_flags flags,
					  cuda_enum *status);
RIG_EXPORT cuda_error cuGetExportTable(const void **table, const cuda_uuid *id);
RIG_EXPORT cuda_error cuInit(unsigned flags);
RIG_EXPORT cuda_error cuDriverGetVersion(int *version);
RIG_EXPORT cuda_error cuDeviceGet(cuda_device *ret, int device);
RIG_EXPORT cuda_error cuDeviceGetCount(int *count);
RIG_EXPORT cuda_error cuDeviceGetName(char *name, int size, cuda_device device);
RIG_EXPORT cuda_error cuDeviceGetUuid(cuda_uuid *uuid, cuda_device device);
RIG_EXPORT cuda_error cuDeviceGetUuid_v2(cuda_uuid *uuid, cuda_device device);
RIG_EXPORT cuda_error cuDeviceTotalMem_v2(size_t *bytes, cuda_device device);
RIG_EXPORT cuda_error cuDeviceGetAttribute(int *value, cuda_enum attribute,
					   cuda_device device);
RIG_EXPORT cuda_error cuDeviceGetPCIBusId(char *text, int size, cuda_device device);
RIG_EXPORT cuda_error cuDeviceGetByPCIBusId(cuda_device *device, const char *text);
RIG_EXPORT cuda_error cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device);
RIG_EXPORT cuda_error cuDevicePrimaryCtxRelease_v2(cuda_device device);
RIG_EXPORT cuda_error cuDevicePrimaryCtxReset_v2(cuda_device device);
RIG_EXPORT cuda_error cuDevicePrimaryCtxSetFlags_v2(cuda_device device, unsigned flags);
RIG_EXPORT cuda_error cuDevicePrimaryCtxGetState(cuda_device device, unsigned *flags,
						 int *active);
RIG_EXPORT cuda_error cuCtxGetCurrent(cuda_context *context);
RIG_EXPORT cuda_error cuCtxSetCurrent(cuda_context context);
RIG_EXPORT cuda_error cuCtxPushCurrent_v2(cuda_context context);
RIG_EXPORT cuda_error cuCtxPopCurrent_v2(cuda_context *context);
RIG_EXPORT cuda_error cuCtxGetDevice(cuda_device *device);
RIG_EXPORT cuda_error cuCtxGetId(cuda_context context, unsigned long long *id);
RIG_EXPORT cuda_error cuCtxGetApiVersion(cuda_context context, unsigned *version);
RIG_EXPORT cuda_error cuCtxGetStreamPriorityRange(int *least, int *greatest);
RIG_EXPORT cuda_error cuCtxSynchronize(void);

/* driver_launch.c */
RIG_EXPORT cuda_error cuModuleLoad(cuda_module *ret, const char *path);
RIG_EXPORT cuda_error cuModuleLoadData(cuda_module *ret, const void *image);
RIG_EXPORT cuda_error cuModuleLoadDataEx(cuda_module *ret, const void *image,
					 unsigned count, cuda_enum *options,
					 void **values);
RIG_EXPORT cuda_error cuModuleUnload(cuda_module module);
RIG_EXPORT cuda_error cuModuleGetFunction(cuda_symbol *ret, cuda_module module,
					  const char *name);
RIG_EXPORT cuda_error cuModuleGetGlobal_v2(cuda_address *address, size_t *bytes,
					   cuda_module module, const char *name);
RIG_EXPORT cuda_error cuLibraryLoadData(cuda_library *ret, const void *code,
					cuda_enum *options, void **values, unsigned count,
					cuda_enum *library_options, void **library_values,
					unsigned library_count);
RIG_EXPORT cuda_error cuLibraryGetKernel(cuda_kernel *ret, cuda_library library,
					 const char *name);
RIG_EXPORT cuda_error cuLibraryUnload(cuda_library library);
RIG_EXPORT cuda_error cuKernelGetFunction(cuda_symbol *ret, cuda_kernel kernel);
RIG_EXPORT cuda_error cuLinkCreate_v2(unsigned count, cuda_enum *options, void **values,
				      cuda_link *ret);
RIG_EXPORT cuda_error cuLinkAddData_v2(cuda_link link, cuda_enum type, void *data,
				       size_t bytes, const char *name, unsigned count,
				       cuda_enum *options, void **values);
RIG_EXPORT cuda_error cuLinkComplete(cuda_link link, void **ret, size_t *bytes);
RIG_EXPORT cuda_error cuLinkDestroy(cuda_link link);
RIG_EXPORT cuda_error cuLaunchKernel(cuda_symbol function, unsigned grid_x,
				     unsigned grid_y, unsigned grid_z, unsigned block_x,
				     unsigned block_y, unsigned block_z, unsigned shared,
				     cuda_stream stream, void **parameters, void **extra);
RIG_EXPORT cuda_error cuLaunchCooperativeKernel(cuda_symbol function, unsigned grid_x,
						unsigned grid_y, unsigned grid_z,
						unsigned block_x, unsigned block_y,
						unsigned block_z, unsigned shared,
						cuda_stream stream, void **parameters);
RIG_EXPORT cuda_error cuLaunchKernelEx(const cuda_driver_launch *configuration,
				       cuda_symbol function, void **parameters,
				       void **extra);
RIG_EXPORT cuda_error cuFuncGetAttribute(int *value, cuda_enum attribute,
					 cuda_symbol function);
RIG_EXPORT cuda_error cuFuncSetAttribute(cuda_symbol function, cuda_enum attribute,
					 int value);
RIG_EXPORT cuda_error cuFuncSetCacheConfig(cuda_symbol function, cuda_enum configuration);
RIG_EXPORT cuda_error cuFuncGetName(const char **name, cuda_symbol function);
RIG_EXPORT cuda_error cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
								  cuda_symbol function,
								  int threads,
								  size_t shared);
RIG_EXPORT cuda_error cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, cuda_symbol function, int threads, size_t shared, unsigned flags);
RIG_EXPORT cuda_error cuTensorMapEncodeTiled(cuda_tensor_map *ret, cuda_enum type,
					     unsigned rank, void *address,
					     const cuda_flags *dimensions,
					     const cuda_flags *strides,
					     const unsigned *box, const unsigned *steps,
					     cuda_enum interleave, cuda_enum swizzle,
					     cuda_enum promotion, cuda_enum fill);

/* driver_memory.c */
RIG_EXPORT cuda_error cuMemAlloc_v2(cuda_address *address, size_t bytes);
RIG_EXPORT cuda_error cuMemFree_v2(cuda_address address);
RIG_EXPORT cuda_error cuMemGetInfo_v2(size_t *available, size_t *total);
RIG_EXPORT cuda_error cuMemHostAlloc(void **ret, size_t bytes, unsigned flags);
RIG_EXPORT cuda_error cuMemFreeHost(void *pointer);
RIG_EXPORT cuda_error cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags);
RIG_EXPORT cuda_error cuMemHostUnregister(void *pointer);
RIG_EXPORT cuda_error cuMemAddressReserve(cuda_address *ret, size_t bytes,
					  size_t alignment, cuda_address wanted,
					  unsigned long long flags);
RIG_EXPORT cuda_error cuMemAddressFree(cuda_address address, size_t bytes);
RIG_EXPORT cuda_error cuMemCreate(cuda_handle *ret, size_t bytes,
				  const cuda_physical *properties,
				  unsigned long long flags);
RIG_EXPORT cuda_error cuMemRelease(cuda_handle handle);
RIG_EXPORT cuda_error cuMemMap(cuda_address address, size_t bytes, size_t offset,
			       cuda_handle handle, unsigned long long flags);
RIG_EXPORT cuda_error cuMemUnmap(cuda_address address, size_t bytes);
RIG_EXPORT cuda_error cuMemSetAccess(cuda_address address, size_t bytes,
				     const cuda_physical_access *list, size_t count);
RIG_EXPORT cuda_error cuMemGetAllocationGranularity(size_t *ret,
						    const cuda_physical *properties,
						    cuda_enum option);
RIG_EXPORT cuda_error cuMemGetAllocationPropertiesFromHandle(cuda_physical *properties,
							     cuda_handle handle);
RIG_EXPORT cuda_error cuMemRetainAllocationHandle(cuda_handle *ret, void *address);
RIG_EXPORT cuda_error cuMemExportToShareableHandle(void *ret, cuda_handle handle,
						   cuda_enum type,
						   unsigned long long flags);
RIG_EXPORT cuda_error cuMemImportFromShareableHandle(cuda_handle *ret, void *handle,
						     cuda_enum type);
RIG_EXPORT cuda_error cuMemGetHandleForAddressRange(void *ret, cuda_address address,
						    size_t bytes, cuda_enum type,
						    unsigned long long flags);
RIG_EXPORT cuda_error cuMulticastCreate(cuda_handle *ret,
					const cuda_multicast *properties);
RIG_EXPORT cuda_error cuMulticastAddDevice(cuda_handle handle, cuda_device device);
RIG_EXPORT cuda_error cuMulticastBindMem(cuda_handle handle, size_t offset,
					 cuda_handle memory, size_t memory_offset,
					 size_t bytes, unsigned long long flags);
RIG_EXPORT cuda_error cuMulticastUnbind(cuda_handle handle, cuda_device device,
					size_t offset, size_t bytes);
RIG_EXPORT cuda_error cuMemGetAddressRange_v2(cuda_address *start, size_t *bytes,
					      cuda_address address);
RIG_EXPORT cuda_error cuPointerGetAttribute(void *ret, cuda_enum which,
					    cuda_address address);
RIG_EXPORT cuda_error cuPointerGetAttributes(unsigned count, cuda_enum *which, void **ret,
					     cuda_address address);
RIG_EXPORT cuda_error cuMemcpyHtoD_v2(cuda_address to, const void *from, size_t bytes);
RIG_EXPORT cuda_error cuMemcpyDtoH_v2(void *to, cuda_address from, size_t bytes);
RIG_EXPORT cuda_error cuMemcpyDtoD_v2(cuda_address to, cuda_address from, size_t bytes);
RIG_EXPORT cuda_error cuMemcpyHtoDAsync_v2(cuda_address to, const void *from,
					   size_t bytes, cuda_stream stream);
RIG_EXPORT cuda_error cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t bytes,
					   cuda_stream stream);
RIG_EXPORT cuda_error cuMemcpyDtoDAsync_v2(cuda_address to, cuda_address from,
					   size_t bytes, cuda_stream stream);
RIG_EXPORT cuda_error cuMemsetD8_v2(cuda_address to, unsigned char value, size_t count);
RIG_EXPORT cuda_error cuMemsetD32_v2(cuda_address to, unsigned value, size_t count);
RIG_EXPORT cuda_error cuMemsetD8Async(cuda_address to, unsigned char value, size_t count,
				      cuda_stream stream);
RIG_EXPORT cuda_error cuMemsetD32Async(cuda_address to, unsigned value, size_t count,
				       cuda_stream stream);

/* driver_names.c */
RIG_EXPORT cuda_error cuGetErrorName(cuda_error error, const char **name);
RIG_EXPORT cuda_error cuGetErrorString(cuda_error error, const char **text);

/* driver_stream.c */
RIG_EXPORT cuda_error cuStreamCreate(cuda_stream *ret, unsigned flags);
RIG_EXPORT cuda_error cuStreamCreateWithPriority(cuda_stream *ret, unsigned flags,
						 int priority);
RIG_EXPORT cuda_error cuStreamDestroy_v2(cuda_stream stream);
RIG_EXPORT cuda_error cuStreamQuery(cuda_stream stream);
RIG_EXPORT cuda_error cuStreamSynchronize(cuda_stream stream);
RIG_EXPORT cuda_error cuStreamWaitEvent(cuda_stream stream, cuda_event event,
					unsigned flags);
RIG_EXPORT cuda_error cuStreamIsCapturing(cuda_stream stream, cuda_enum *status);
RIG_EXPORT cuda_error cuStreamGetCtx(cuda_stream stream, cuda_context *context);
RIG_EXPORT cuda_error cuStreamWriteValue32(cuda_stream stream, cuda_address address,
					   unsigned value, unsigned flags);
RIG_EXPORT cuda_error cuStreamWriteValue32_v2(cuda_stream stream, cuda_address address,
					      unsigned value, unsigned flags);
RIG_EXPORT cuda_error cuThreadExchangeStreamCaptureMode(cuda_enum *mode);
RIG_EXPORT cuda_error cuLaunchHostFunc(cuda_stream stream, cuda_host_function function,
				       void *argument);
RIG_EXPORT cuda_error cuEventCreate(cuda_event *ret, unsigned flags);
RIG_EXPORT cuda_error cuEventRecord(cuda_event event, cuda_stream stream);
RIG_EXPORT cuda_error cuEventQuery(cuda_event event);
RIG_EXPORT cuda_error cuEventSynchronize(cuda_event event);
RIG_EXPORT cuda_error cuEventDestroy_v2(cuda_event event);
RIG_EXPORT cuda_error cuEventElapsedTime(float *milliseconds, cuda_event start,
					 cuda_event end);

#endif
