/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The types of CUDA's functions. They are our own, so that the rig builds where CUDA is
 * not installed; for the check against the public headers (check_*.c) they are what those
 * headers declare.
 */
#ifndef RIG_ABI_H
#define RIG_ABI_H

#include "model.h"

/* Layouts, from driver_types.h of CUDA 11.7, 12.4 and 13.0. */

/* cudaPointerAttributes, without what 13.0 keeps for later. */
struct rt_pointer {
	int type; /* 0: unregistered, 1: host, 2: device, 3: managed */
	int device;
	void *device_pointer, *host_pointer;
};

/* cudaFuncAttributes of 11.7; 12.0 has clusters behind it, which are written only there.
 */
struct rt_function {
	size_t shared, constant, local;
	int threads, registers, ptx_version, binary_version, cache_mode, dynamic_shared,
		carveout;
	int cluster_must, cluster_width, cluster_height, cluster_depth, cluster_policy,
		non_portable;
};

/* cudaLaunchConfig_t */
struct rt_launch {
	unsigned grid[3], block[3];
	size_t shared;
	struct rig_stream *stream;
	const void *attributes;
	unsigned count;
};

/* CUlaunchConfig */
struct rt_launch_driver {
	unsigned grid[3], block[3], shared;
	struct rig_stream *stream;
	const void *attributes;
	unsigned count;
};

/* CUmemAllocationProp */
struct rt_physical {
	int type, handle_types, location_type, location_id;
	void *security;
	unsigned char flags[8];
};

/* cudaMemLocation, cudaMemPoolProps up to what is used */
struct rt_pool_properties {
	int allocation_type, handle_types, location_type, location_id;
};

/* cudaKernelNodeParams, cudaHostNodeParams: their first members */
struct rt_kernel_node {
	void *function;
};

/* cudaGraphNodeParams: type, then what belongs to the type at 16 */
struct rt_node {
	int type;
	int reserved[3];
	void *function;
};

struct rt_ipc {
	char bytes[64];
};

/* Enumerations without negative values are this in C, so both compilers take them for the
 * same type. */
typedef unsigned cuda_error; /* cudaError_t, CUresult */
typedef unsigned cuda_enum;

#ifndef RIG_PUBLIC_TYPES

typedef void cuda_properties;
typedef void cuda_edge;
typedef void cuda_access;
typedef void cuda_copy_3d;
typedef int cuda_device;
typedef unsigned long long cuda_address;
typedef unsigned long long cuda_handle; /* of physical memory */
typedef uint64_t cuda_flags;            /* cuuint64_t */
typedef struct rig_context *cuda_context;
typedef struct rig_module *cuda_module;
typedef struct rig_link *cuda_link;
typedef struct rt_physical cuda_physical;
typedef void cuda_physical_access;
typedef void cuda_multicast;
typedef void cuda_uuid;
typedef void cuda_tensor_map;
typedef struct rt_launch_driver cuda_driver_launch;
typedef struct rig_stream *cuda_stream;
typedef struct rig_event *cuda_event;
typedef struct rig_graph *cuda_graph;
typedef struct rig_node *cuda_node;
typedef struct rig_exec *cuda_exec;
typedef struct rig_pool *cuda_pool;
typedef struct rig_object *cuda_object;
typedef struct rig_kernel *cuda_kernel;
typedef struct rig_module *cuda_library;
typedef struct {
	unsigned x, y, z;
} cuda_dim;
typedef struct rt_pointer cuda_pointer;
typedef struct rt_function cuda_function;
typedef struct rt_launch cuda_launch;
typedef struct rt_pool_properties cuda_pool_properties;
typedef struct rt_kernel_node cuda_kernel_node;
typedef void cuda_host_node;
typedef struct rt_node cuda_node_parameters;
typedef struct rt_ipc cuda_ipc_memory;
typedef struct rt_ipc cuda_ipc_event;
typedef struct rig_kernel *cuda_symbol;
typedef uint64_t cuda_conditional;
typedef void (*cuda_host_function)(void *argument);
typedef void (*cuda_callback)(cuda_stream stream, cuda_error error, void *argument);

#endif

#endif
