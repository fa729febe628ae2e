/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compiled where CUDA 13's headers are installed, and never run: every prototype of ours
 * is a second declaration of the public one, so the compiler compares them; layouts and
 * numbers are assertions.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_PUBLIC_TYPES
typedef struct cudaDeviceProp cuda_properties;
typedef cudaGraphEdgeData cuda_edge;
typedef struct cudaMemAccessDesc cuda_access;
typedef CUdevice cuda_device;
typedef CUdeviceptr cuda_address;
typedef CUmemGenericAllocationHandle cuda_handle;
typedef cuuint64_t cuda_flags;
typedef CUcontext cuda_context;
typedef CUmodule cuda_module;
typedef CUlinkState cuda_link;
typedef CUmemAllocationProp cuda_physical;
typedef CUmemAccessDesc cuda_physical_access;
typedef CUmulticastObjectProp cuda_multicast;
typedef CUuuid cuda_uuid;
typedef CUtensorMap cuda_tensor_map;
typedef CUlaunchConfig cuda_driver_launch;
typedef cudaStream_t cuda_stream;
typedef cudaEvent_t cuda_event;
typedef cudaGraph_t cuda_graph;
typedef cudaGraphNode_t cuda_node;
typedef cudaGraphExec_t cuda_exec;
typedef cudaMemPool_t cuda_pool;
typedef cudaUserObject_t cuda_object;
typedef cudaKernel_t cuda_kernel;
typedef cudaLibrary_t cuda_library;
typedef dim3 cuda_dim;
typedef struct cudaPointerAttributes cuda_pointer;
typedef struct cudaFuncAttributes cuda_function;
typedef cudaLaunchConfig_t cuda_launch;
typedef struct cudaMemPoolProps cuda_pool_properties;
typedef struct cudaKernelNodeParams cuda_kernel_node;
typedef struct cudaHostNodeParams cuda_host_node;
typedef struct cudaGraphNodeParams cuda_node_parameters;
typedef cudaIpcMemHandle_t cuda_ipc_memory;
typedef cudaIpcEventHandle_t cuda_ipc_event;
typedef cudaFunction_t cuda_symbol;
typedef cudaGraphConditionalHandle cuda_conditional;
typedef cudaHostFn_t cuda_host_function;
typedef cudaStreamCallback_t cuda_callback;

/* Names whose older versions ours are, too. */
#undef cuGetProcAddress
#undef cuDeviceGetUuid
#undef cuEventElapsedTime
#undef cuStreamWriteValue32
#include "driver_api.h"
#include "runtime_api.h"

#define SAME(a, b) _Static_assert((size_t)(a) == (size_t)(b), #a " is not " #b)
#define OFFSET(ours, member, public, name)                                               \
	SAME(offsetof(struct ours, member), offsetof(public, name))

OFFSET(rt_pointer, type, struct cudaPointerAttributes, type);
OFFSET(rt_pointer, device, struct cudaPointerAttributes, device);
OFFSET(rt_pointer, device_pointer, struct cudaPointerAttributes, devicePointer);
OFFSET(rt_pointer, host_pointer, struct cudaPointerAttributes, hostPointer);
OFFSET(rt_function, shared, struct cudaFuncAttributes, sharedSizeBytes);
OFFSET(rt_function, threads, struct cudaFuncAttributes, maxThreadsPerBlock);
OFFSET(rt_function, ptx_version, struct cudaFuncAttributes, ptxVersion);
OFFSET(rt_function, binary_version, struct cudaFuncAttributes, binaryVersion);
OFFSET(rt_function, dynamic_shared, struct cudaFuncAttributes, maxDynamicSharedSizeBytes);
OFFSET(rt_function, cluster_must, struct cudaFuncAttributes, clusterDimMustBeSet);
OFFSET(rt_function, non_portable, struct cudaFuncAttributes,
       nonPortableClusterSizeAllowed);
OFFSET(rt_launch, grid, cudaLaunchConfig_t, gridDim);
OFFSET(rt_launch, block, cudaLaunchConfig_t, blockDim);
OFFSET(rt_launch, shared, cudaLaunchConfig_t, dynamicSmemBytes);
OFFSET(rt_launch, stream, cudaLaunchConfig_t, stream);
OFFSET(rt_launch, count, cudaLaunchConfig_t, numAttrs);
OFFSET(rt_launch_driver, block, CUlaunchConfig, blockDimX);
OFFSET(rt_launch_driver, shared, CUlaunchConfig, sharedMemBytes);
OFFSET(rt_launch_driver, stream, CUlaunchConfig, hStream);
OFFSET(rt_launch_driver, count, CUlaunchConfig, numAttrs);
OFFSET(rt_physical, type, CUmemAllocationProp, type);
OFFSET(rt_physical, handle_types, CUmemAllocationProp, requestedHandleTypes);
OFFSET(rt_physical, location_type, CUmemAllocationProp, location.type);
OFFSET(rt_physical, location_id, CUmemAllocationProp, location.id);
SAME(sizeof(struct rt_physical), sizeof(CUmemAllocationProp));
OFFSET(rt_pool_properties, location_type, struct cudaMemPoolProps, location.type);
OFFSET(rt_pool_properties, location_id, struct cudaMemPoolProps, location.id);
OFFSET(rt_kernel_node, function, struct cudaKernelNodeParams, func);
OFFSET(rt_node, type, struct cudaGraphNodeParams, type);
OFFSET(rt_node, function, struct cudaGraphNodeParams, kernel.func);
SAME(sizeof(struct rt_ipc), sizeof(cudaIpcMemHandle_t));
SAME(sizeof(struct rt_ipc), sizeof(cudaIpcEventHandle_t));

/* The ends of the table, and what moved, of cudaDeviceProp as it is since 13.0:
 * properties.c. */
SAME(sizeof(struct cudaDeviceProp), 1008);
SAME(offsetof(struct cudaDeviceProp, multiProcessorCount), 384);
SAME(offsetof(struct cudaDeviceProp, maxThreadsPerMultiProcessor), 604);
SAME(offsetof(struct cudaDeviceProp, sharedMemPerBlockOptin), 672);
SAME(offsetof(struct cudaDeviceProp, unifiedFunctionPointers), 752);

SAME(RIG_INVALID_VALUE, cudaErrorInvalidValue);
SAME(RIG_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
SAME(RIG_NOT_INITIALIZED, cudaErrorInitializationError);
SAME(RIG_INVALID_DEVICE, cudaErrorInvalidDevice);
SAME(RIG_INVALID_HANDLE, cudaErrorInvalidResourceHandle);
SAME(RIG_NOT_FOUND, cudaErrorSymbolNotFound);
SAME(RIG_NOT_READY, cudaErrorNotReady);
SAME(RIG_PEER_ENABLED, cudaErrorPeerAccessAlreadyEnabled);
SAME(RIG_PEER_NOT_ENABLED, cudaErrorPeerAccessNotEnabled);
SAME(RIG_HOST_REGISTERED, cudaErrorHostMemoryAlreadyRegistered);
SAME(RIG_HOST_NOT_REGISTERED, cudaErrorHostMemoryNotRegistered);
SAME(RIG_NOT_SUPPORTED, cudaErrorNotSupported);
SAME(RIG_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported);
SAME(RIG_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated);
SAME(RIG_CAPTURE_MERGE, cudaErrorStreamCaptureMerge);
SAME(RIG_CAPTURE_UNMATCHED, cudaErrorStreamCaptureUnmatched);
SAME(RIG_CAPTURE_UNJOINED, cudaErrorStreamCaptureUnjoined);
SAME(RIG_CAPTURE_ISOLATION, cudaErrorStreamCaptureIsolation);
SAME(RIG_CAPTURED_EVENT, cudaErrorCapturedEvent);
SAME(RIG_CAPTURE_WRONG_THREAD, cudaErrorStreamCaptureWrongThread);
SAME(RIG_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME(RIG_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME(RIG_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
SAME(RIG_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
SAME(RIG_NOT_SUPPORTED, CUDA_ERROR_NOT_SUPPORTED);
SAME(RIG_CAPTURE_GLOBAL, cudaStreamCaptureModeGlobal);
SAME(RIG_CAPTURE_THREAD, cudaStreamCaptureModeThreadLocal);
SAME(RIG_CAPTURE_RELAXED, cudaStreamCaptureModeRelaxed);
SAME(RIG_NODE_KERNEL, cudaGraphNodeTypeKernel);
SAME(RIG_NODE_MEMCPY, cudaGraphNodeTypeMemcpy);
SAME(RIG_NODE_MEMSET, cudaGraphNodeTypeMemset);
SAME(RIG_NODE_HOST, cudaGraphNodeTypeHost);
SAME(RIG_NODE_EMPTY, cudaGraphNodeTypeEmpty);
SAME(RIG_NODE_WAIT, cudaGraphNodeTypeWaitEvent);
SAME(RIG_NODE_RECORD, cudaGraphNodeTypeEventRecord);
SAME(RIG_NODE_ALLOC, cudaGraphNodeTypeMemAlloc);
SAME(RIG_NODE_FREE, cudaGraphNodeTypeMemFree);
SAME(RIG_NODE_CONDITIONAL, cudaGraphNodeTypeConditional);
