/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of the CUDA runtime that are played; parameters as of CUDA 13.0. */
#ifndef RIG_RUNTIME_API_H
#define RIG_RUNTIME_API_H

#include "abi.h"

/* runtime_device.c */
RIG_EXPORT cuda_error cudaGetDeviceCount(int *count);
RIG_EXPORT cuda_error cudaGetDevice(int *device);
RIG_EXPORT cuda_error cudaSetDevice(int device);
RIG_EXPORT cuda_error cudaGetDeviceProperties(cuda_properties *ret, int device);
RIG_EXPORT cuda_error cudaGetDeviceProperties_v2(cuda_properties *ret, int device);
RIG_EXPORT cuda_error cudaDeviceGetAttribute(int *value, cuda_enum attribute, int device);
RIG_EXPORT cuda_error cudaDeviceGetPCIBusId(char *text, int length, int device);
RIG_EXPORT cuda_error cudaDeviceGetByPCIBusId(int *device, const char *text);
RIG_EXPORT cuda_error cudaDeviceSynchronize(void);
RIG_EXPORT cuda_error cudaDeviceReset(void);
RIG_EXPORT cuda_error cudaDeviceSetLimit(cuda_enum limit, size_t value);
RIG_EXPORT cuda_error cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
RIG_EXPORT cuda_error cudaDeviceCanAccessPeer(int *can, int device, int peer);
RIG_EXPORT cuda_error cudaDeviceEnablePeerAccess(int peer, unsigned flags);
RIG_EXPORT cuda_error cudaDeviceDisablePeerAccess(int peer);
RIG_EXPORT cuda_error cudaProfilerStart(void);
RIG_EXPORT cuda_error cudaProfilerStop(void);
RIG_EXPORT cuda_error cudaGetDriverEntryPoint(const char *symbol, void **function,
					      unsigned long long flags,
					      cuda_enum *status);
RIG_EXPORT cuda_error cudaGetDriverEntryPointByVersion(const char *symbol,
						       void **function, unsigned version,
						       unsigned long long flags,
						       cuda_enum *status);

/* runtime_error.c */
RIG_EXPORT cuda_error cudaGetLastError(void);
RIG_EXPORT cuda_error cudaPeekAtLastError(void);
RIG_EXPORT const char *cudaGetErrorName(cuda_error error);
RIG_EXPORT const char *cudaGetErrorString(cuda_error error);
RIG_EXPORT cuda_error cudaRuntimeGetVersion(int *version);
RIG_EXPORT cuda_error cudaDriverGetVersion(int *version);

/* runtime_graph.c */
RIG_EXPORT cuda_error cudaStreamBeginCapture(cuda_stream stream, cuda_enum mode);
RIG_EXPORT cuda_error cudaStreamBeginCaptureToGraph(cuda_stream stream, cuda_graph graph,
						    const cuda_node *after,
						    const cuda_edge *edges, size_t count,
						    cuda_enum mode);
RIG_EXPORT cuda_error cudaStreamEndCapture(cuda_stream stream, cuda_graph *graph);
RIG_EXPORT cuda_error cudaStreamIsCapturing(cuda_stream stream, cuda_enum *status);
RIG_EXPORT cuda_error cudaStreamGetCaptureInfo(cuda_stream stream, cuda_enum *status,
					       unsigned long long *id, cuda_graph *graph,
					       const cuda_node **after,
					       const cuda_edge **edges, size_t *count);
RIG_EXPORT cuda_error cudaStreamGetCaptureInfo_v2(cuda_stream stream, cuda_enum *status,
						  unsigned long long *id,
						  cuda_graph *graph,
						  const cuda_node **after, size_t *count);
RIG_EXPORT cuda_error cudaStreamGetCaptureInfo_v3(cuda_stream stream, cuda_enum *status,
						  unsigned long long *id,
						  cuda_graph *graph,
						  const cuda_node **after,
						  const cuda_edge **edges, size_t *count);
RIG_EXPORT cuda_error cudaStreamUpdateCaptureDependencies(cuda_stream stream,
							  cuda_node *nodes,
							  const cuda_edge *edges,
							  size_t count, unsigned flags);
RIG_EXPORT cuda_error cudaStreamUpdateCaptureDependencies_v2(cuda_stream stream,
							     cuda_node *nodes,
							     const cuda_edge *edges,
							     size_t count,
							     unsigned flags);
RIG_EXPORT cuda_error cudaThreadExchangeStreamCaptureMode(cuda_enum *mode);
RIG_EXPORT cuda_error cudaGraphCreate(cuda_graph *graph, unsigned flags);
RIG_EXPORT cuda_error cudaGraphDestroy(cuda_graph graph);
RIG_EXPORT cuda_error cudaGraphAddEmptyNode(cuda_node *ret, cuda_graph graph,
					    const cuda_node *after, size_t count);
RIG_EXPORT cuda_error cudaGraphAddKernelNode(cuda_node *ret, cuda_graph graph,
					     const cuda_node *after, size_t count,
					     const cuda_kernel_node *parameters);
RIG_EXPORT cuda_error cudaGraphAddHostNode(cuda_node *ret, cuda_graph graph,
					   const cuda_node *after, size_t count,
					   const cuda_host_node *parameters);
RIG_EXPORT cuda_error cudaGraphAddEventRecordNode(cuda_node *ret, cuda_graph graph,
						  const cuda_node *after, size_t count,
						  cuda_event event);
RIG_EXPORT cuda_error cudaGraphAddEventWaitNode(cuda_node *ret, cuda_graph graph,
						const cuda_node *after, size_t count,
						cuda_event event);
RIG_EXPORT cuda_error cudaGraphAddNode(cuda_node *ret, cuda_graph graph,
				       const cuda_node *after, const cuda_edge *edges,
				       size_t count, cuda_node_parameters *parameters);
RIG_EXPORT cuda_error cudaGraphAddNode_v2(cuda_node *ret, cuda_graph graph,
					  const cuda_node *after, const cuda_edge *edges,
					  size_t count, cuda_node_parameters *parameters);
RIG_EXPORT cuda_error cudaGraphConditionalHandleCreate(cuda_conditional *handle,
						       cuda_graph graph, unsigned value,
						       unsigned flags);
RIG_EXPORT cuda_error cudaGraphGetNodes(cuda_graph graph, cuda_node *nodes,
					size_t *count);
RIG_EXPORT cuda_error cudaGraphNodeGetDependencies(cuda_node node, cuda_node *nodes,
						   cuda_edge *edges, size_t *count);
RIG_EXPORT cuda_error cudaGraphNodeGetType(cuda_node node, cuda_enum *type);
RIG_EXPORT cuda_error cudaGraphDebugDotPrint(cuda_graph graph, const char *path,
					     unsigned flags);
RIG_EXPORT cuda_error cudaGraphInstantiate(cuda_exec *ret, cuda_graph graph,
					   unsigned long long flags);
RIG_EXPORT cuda_error cudaGraphInstantiateWithFlags(cuda_exec *ret, cuda_graph graph,
						    unsigned long long flags);
RIG_EXPORT cuda_error cudaGraphExecDestroy(cuda_exec exec);
RIG_EXPORT cuda_error cudaGraphUpload(cuda_exec exec, cuda_stream stream);
RIG_EXPORT cuda_error cudaGraphLaunch(cuda_exec exec, cuda_stream stream);
RIG_EXPORT cuda_error cudaUserObjectCreate(cuda_object *ret, void *pointer,
					   cuda_host_function destroy,
					   unsigned references, unsigned flags);
RIG_EXPORT cuda_error cudaUserObjectRetain(cuda_object object, unsigned count);
RIG_EXPORT cuda_error cudaUserObjectRelease(cuda_object object, unsigned count);
RIG_EXPORT cuda_error cudaGraphRetainUserObject(cuda_graph graph, cuda_object object,
						unsigned count, unsigned flags);

/* runtime_launch.c */
RIG_EXPORT void **__cudaRegisterFatBinary(void *binary);
RIG_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
RIG_EXPORT void __cudaUnregisterFatBinary(void **handle);
RIG_EXPORT char __cudaInitModule(void **handle);
RIG_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device,
				       const char *name, int threads, void *thread,
				       void *block, void *block_size, void *grid_size,
				       int *warp);
RIG_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device,
				  const char *name, int external, size_t bytes,
				  int constant, int global);
RIG_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device,
					 const char *name, int external, size_t bytes,
					 int constant, int global);
RIG_EXPORT unsigned __cudaPushCallConfiguration(cuda_dim grid, cuda_dim block,
						size_t shared, cuda_stream stream);
RIG_EXPORT cuda_error __cudaPopCallConfiguration(cuda_dim *grid, cuda_dim *block,
						 size_t *shared, void *stream);
RIG_EXPORT cuda_error cudaLaunchKernel(const void *function, cuda_dim grid,
				       cuda_dim block, void **arguments, size_t shared,
				       cuda_stream stream);
RIG_EXPORT cuda_error cudaLaunchCooperativeKernel(const void *function, cuda_dim grid,
						  cuda_dim block, void **arguments,
						  size_t shared, cuda_stream stream);
RIG_EXPORT cuda_error cudaLaunchKernelExC(const cuda_launch *configuration,
					  const void *function, void **arguments);
RIG_EXPORT cuda_error __cudaLaunchKernel(cuda_kernel kernel, cuda_dim grid,
					 cuda_dim block, void **arguments, size_t shared,
					 cuda_stream stream);
RIG_EXPORT cuda_error __cudaGetKernel(cuda_kernel *kernel, const void *function);
RIG_EXPORT cuda_error cudaGetFuncBySymbol(cuda_symbol *ret, const void *function);
RIG_EXPORT cuda_error cudaGetKernel(cuda_kernel *ret, const void *function);
RIG_EXPORT cuda_error cudaFuncGetName(const char **name, const void *function);
RIG_EXPORT cuda_error cudaFuncGetAttributes(cuda_function *ret, const void *function);
RIG_EXPORT cuda_error cudaFuncSetAttribute(const void *function, cuda_enum attribute,
					   int value);
RIG_EXPORT cuda_error cudaFuncSetCacheConfig(const void *function,
					     cuda_enum configuration);
RIG_EXPORT cuda_error cudaKernelSetAttributeForDevice(cuda_kernel kernel,
						      cuda_enum attribute, int value,
						      int device);
RIG_EXPORT cuda_error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
								    const void *function,
								    int threads,
								    size_t shared);
RIG_EXPORT cuda_error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *function, int threads, size_t shared, unsigned flags);
RIG_EXPORT cuda_error cudaGetSymbolAddress(void **ret, const void *symbol);
RIG_EXPORT cuda_error cudaLibraryLoadData(cuda_library *library, const void *code,
					  cuda_enum *options, void **values,
					  unsigned count, cuda_enum *library_options,
					  void **library_values, unsigned library_count);
RIG_EXPORT cuda_error cudaLibraryGetKernel(cuda_kernel *ret, cuda_library library,
					   const char *name);
RIG_EXPORT cuda_error cudaLibraryUnload(cuda_library library);

/* runtime_memory.c */
RIG_EXPORT cuda_error cudaMalloc(void **ret, size_t bytes);
RIG_EXPORT cuda_error cudaFree(void *pointer);
RIG_EXPORT cuda_error cudaMallocManaged(void **ret, size_t bytes, unsigned flags);
RIG_EXPORT cuda_error cudaHostAlloc(void **ret, size_t bytes, unsigned flags);
RIG_EXPORT cuda_error cudaMallocHost(void **ret, size_t bytes);
RIG_EXPORT cuda_error cudaFreeHost(void *pointer);
RIG_EXPORT cuda_error cudaHostRegister(void *pointer, size_t bytes, unsigned flags);
RIG_EXPORT cuda_error cudaHostUnregister(void *pointer);
RIG_EXPORT cuda_error cudaHostGetDevicePointer(void **ret, void *pointer, unsigned flags);
RIG_EXPORT cuda_error cudaHostGetFlags(unsigned *flags, void *pointer);
RIG_EXPORT cuda_error cudaMemGetInfo(size_t *available, size_t *total);
RIG_EXPORT cuda_error cudaPointerGetAttributes(cuda_pointer *ret, const void *pointer);
RIG_EXPORT cuda_error cudaMemcpy(void *to, const void *from, size_t bytes,
				 cuda_enum kind);
RIG_EXPORT cuda_error cudaMemcpyAsync(void *to, const void *from, size_t bytes,
				      cuda_enum kind, cuda_stream stream);
RIG_EXPORT cuda_error cudaMemcpy2D(void *to, size_t to_stride, const void *from,
				   size_t from_stride, size_t width, size_t height,
				   cuda_enum kind);
RIG_EXPORT cuda_error cudaMemcpy2DAsync(void *to, size_t to_stride, const void *from,
					size_t from_stride, size_t width, size_t height,
					cuda_enum kind, cuda_stream stream);
RIG_EXPORT cuda_error cudaMemcpyPeer(void *to, int to_device, const void *from,
				     int from_device, size_t bytes);
RIG_EXPORT cuda_error cudaMemcpyPeerAsync(void *to, int to_device, const void *from,
					  int from_device, size_t bytes,
					  cuda_stream stream);
RIG_EXPORT cuda_error cudaMemcpyToSymbol(const void *symbol, const void *from,
					 size_t bytes, size_t offset, cuda_enum kind);
RIG_EXPORT cuda_error cudaMemset(void *to, int value, size_t bytes);
RIG_EXPORT cuda_error cudaMemsetAsync(void *to, int value, size_t bytes,
				      cuda_stream stream);
RIG_EXPORT cuda_error cudaMemset2DAsync(void *to, size_t stride, int value, size_t width,
					size_t height, cuda_stream stream);
RIG_EXPORT cuda_error cudaIpcGetMemHandle(cuda_ipc_memory *handle, void *pointer);
RIG_EXPORT cuda_error cudaIpcOpenMemHandle(void **pointer, cuda_ipc_memory handle,
					   unsigned flags);
RIG_EXPORT cuda_error cudaIpcCloseMemHandle(void *pointer);
RIG_EXPORT cuda_error cudaIpcGetEventHandle(cuda_ipc_event *handle, cuda_event event);
RIG_EXPORT cuda_error cudaIpcOpenEventHandle(cuda_event *event, cuda_ipc_event handle);

/* runtime_pool.c */
RIG_EXPORT cuda_error cudaMallocAsync(void **ret, size_t bytes, cuda_stream stream);
RIG_EXPORT cuda_error cudaMallocFromPoolAsync(void **ret, size_t bytes, cuda_pool pool,
					      cuda_stream stream);
RIG_EXPORT cuda_error cudaFreeAsync(void *pointer, cuda_stream stream);
RIG_EXPORT cuda_error cudaDeviceGetDefaultMemPool(cuda_pool *pool, int device);
RIG_EXPORT cuda_error cudaDeviceGetMemPool(cuda_pool *pool, int device);
RIG_EXPORT cuda_error cudaDeviceSetMemPool(int device, cuda_pool pool);
RIG_EXPORT cuda_error cudaMemPoolCreate(cuda_pool *pool,
					const cuda_pool_properties *properties);
RIG_EXPORT cuda_error cudaMemPoolDestroy(cuda_pool pool);
RIG_EXPORT cuda_error cudaMemPoolGetAttribute(cuda_pool pool, cuda_enum attribute,
					      void *value);
RIG_EXPORT cuda_error cudaMemPoolSetAttribute(cuda_pool pool, cuda_enum attribute,
					      void *value);
RIG_EXPORT cuda_error cudaMemPoolSetAccess(cuda_pool pool, const cuda_access *list,
					   size_t count);
RIG_EXPORT cuda_error cudaMemPoolTrimTo(cuda_pool pool, size_t least);
RIG_EXPORT cuda_error cudaDeviceGetGraphMemAttribute(int device, cuda_enum attribute,
						     void *value);
RIG_EXPORT cuda_error cudaDeviceSetGraphMemAttribute(int device, cuda_enum attribute,
						     void *value);

/* runtime_stream.c */
RIG_EXPORT cuda_error cudaStreamCreate(cuda_stream *ret);
RIG_EXPORT cuda_error cudaStreamCreateWithFlags(cuda_stream *ret, unsigned flags);
RIG_EXPORT cuda_error cudaStreamCreateWithPriority(cuda_stream *ret, unsigned flags,
						   int priority);
RIG_EXPORT cuda_error cudaStreamDestroy(cuda_stream stream);
RIG_EXPORT cuda_error cudaStreamQuery(cuda_stream stream);
RIG_EXPORT cuda_error cudaStreamSynchronize(cuda_stream stream);
RIG_EXPORT cuda_error cudaStreamGetPriority(cuda_stream stream, int *priority);
RIG_EXPORT cuda_error cudaStreamGetFlags(cuda_stream stream, unsigned *flags);
RIG_EXPORT cuda_error cudaStreamGetId(cuda_stream stream, unsigned long long *id);
RIG_EXPORT cuda_error cudaStreamGetDevice(cuda_stream stream, int *device);
RIG_EXPORT cuda_error cudaStreamWaitEvent(cuda_stream stream, cuda_event event,
					  unsigned flags);
RIG_EXPORT cuda_error cudaLaunchHostFunc(cuda_stream stream, cuda_host_function function,
					 void *argument);
RIG_EXPORT cuda_error cudaStreamAddCallback(cuda_stream stream, cuda_callback callback,
					    void *argument, unsigned flags);
RIG_EXPORT cuda_error cudaEventCreate(cuda_event *ret);
RIG_EXPORT cuda_error cudaEventCreateWithFlags(cuda_event *ret, unsigned flags);
RIG_EXPORT cuda_error cudaEventDestroy(cuda_event event);
RIG_EXPORT cuda_error cudaEventRecord(cuda_event event, cuda_stream stream);
RIG_EXPORT cuda_error cudaEventRecordWithFlags(cuda_event event, cuda_stream stream,
					       unsigned flags);
RIG_EXPORT cuda_error cudaEventQuery(cuda_event event);
RIG_EXPORT cuda_error cudaEventSynchronize(cuda_event event);
RIG_EXPORT cuda_error cudaEventElapsedTime(float *milliseconds, cuda_event start,
					   cuda_event end);

#endif
