/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's memory: allocations, virtual memory management, pointers' attributes,
 * copies. */
#include <string.h>

#include "driver.h"
#include "driver_api.h"

#define GRANULARITY (UINT64_C(2) << 20)

cuda_error cuMemAlloc_v2(cuda_address *address, size_t bytes)
{
	uint64_t found = 0;
	int error = rig_begin("cuMemAlloc", NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	if (!error && !bytes)
		error = RIG_INVALID_VALUE;
	if (!error)
		error = rig_allocate(rig_device(), bytes, &found);
	if (!error)
		*address = found;
	return (cuda_error)error;
}

cuda_error cuMemFree_v2(cuda_address address)
{
	int error = rig_begin("cuMemFree", NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	if (!error && address)
		error = rig_device_wait(rig_device());
	return (cuda_error)(error || !address ? error : rig_free(address));
}

cuda_error cuMemGetInfo_v2(size_t *available, size_t *total)
{
	int error = rig_begin("cuMemGetInfo", NULL, RIG_CONTEXT_CALL);
	const struct rig_gpu *gpu = rig_gpu();

	if (error)
		return (cuda_error)error;
	*total = gpu->memory;
	*available = gpu->memory - gpu->other - rig_used(rig_device());
	return 0;
}

cuda_error cuMemHostAlloc(void **ret, size_t bytes, unsigned flags)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	(void)flags;
	return (cuda_error)(error ? error : rig_host_allocate(bytes, ret));
}

cuda_error cuMemFreeHost(void *pointer)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return (cuda_error)(error ? error : rig_host_free(pointer));
}

cuda_error cuMemHostRegister_v2(void *pointer, size_t bytes, unsigned flags)
{
	int error = rig_begin("cuMemHostRegister", NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	(void)flags;
	return (cuda_error)(error ? error : rig_host_register(pointer, bytes));
}

cuda_error cuMemHostUnregister(void *pointer)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return (cuda_error)(error ? error : rig_host_unregister(pointer));
}

/* ---- virtual memory management ---- */

cuda_error cuMemAddressReserve(cuda_address *ret, size_t bytes, size_t alignment,
			       cuda_address wanted, unsigned long long flags)
{
	uint64_t found = 0;
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	(void)wanted; /* a hint */
	if (!error && flags)
		error = RIG_INVALID_VALUE;
	if (!error)
		error = rig_vmm_reserve(bytes, alignment, &found);
	if (!error)
		*ret = found;
	return (cuda_error)error;
}

cuda_error cuMemAddressFree(cuda_address address, size_t bytes)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	return (cuda_error)(error ? error : rig_vmm_unreserve(address, bytes));
}

cuda_error cuMemCreate(cuda_handle *ret, size_t bytes, const cuda_physical *properties,
		       unsigned long long flags)
{
	struct rt_physical wanted;
	uint64_t found = 0;
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (error)
		return (cuda_error)error;
	memcpy(&wanted, properties, sizeof(wanted));
	if (flags || wanted.type != 1) /* CU_MEM_ALLOCATION_TYPE_PINNED is all there is */
		return RIG_INVALID_VALUE;
	if (wanted.handle_types &
	    ~1) /* file descriptors (1) are the handles that every driver has */
		return RIG_NOT_SUPPORTED;
	if (wanted.location_type != 1) /* CU_MEM_LOCATION_TYPE_DEVICE */
		return RIG_NOT_SUPPORTED;
	error = rig_vmm_create(wanted.location_id, bytes, &found);
	if (!error)
		*ret = found;
	return (cuda_error)error;
}

cuda_error cuMemRelease(cuda_handle handle)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	return (cuda_error)(error ? error : rig_vmm_release(handle));
}

cuda_error cuMemMap(cuda_address address, size_t bytes, size_t offset, cuda_handle handle,
		    unsigned long long flags)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (!error && flags)
		error = RIG_INVALID_VALUE;
	return (cuda_error)(error ? error : rig_vmm_map(address, bytes, offset, handle));
}

cuda_error cuMemUnmap(cuda_address address, size_t bytes)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	return (cuda_error)(error ? error : rig_vmm_unmap(address, bytes));
}

cuda_error cuMemSetAccess(cuda_address address, size_t bytes,
			  const cuda_physical_access *list, size_t count)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (!error && (!list || !count))
		error = RIG_INVALID_VALUE;
	return (cuda_error)(error ? error : rig_vmm_access(address, bytes));
}

cuda_error cuMemGetAllocationGranularity(size_t *ret, const cuda_physical *properties,
					 cuda_enum option)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)properties;
	if (!error && option > 1)
		error = RIG_INVALID_VALUE;
	if (!error)
		*ret = GRANULARITY;
	return (cuda_error)error;
}

cuda_error cuMemGetAllocationPropertiesFromHandle(cuda_physical *properties,
						  cuda_handle handle)
{
	struct rt_physical found = {
		.type = 1, .location_type = 1, .location_id = rig_vmm_device(handle)};
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error && found.location_id < 0)
		error = RIG_INVALID_VALUE;
	if (!error)
		memcpy(properties, &found, sizeof(found));
	return (cuda_error)error;
}

cuda_error cuMemRetainAllocationHandle(cuda_handle *ret, void *address)
{
	uint64_t found = 0;
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error)
		error = rig_vmm_retain((uint64_t)(uintptr_t)address, &found);
	if (!error)
		*ret = found;
	return (cuda_error)error;
}

/* Memory between processes, and on several devices at once, is not played. */
cuda_error cuMemExportToShareableHandle(void *ret, cuda_handle handle, cuda_enum type,
					unsigned long long flags)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)ret;
	(void)handle;
	(void)type;
	(void)flags;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMemImportFromShareableHandle(cuda_handle *ret, void *handle, cuda_enum type)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)ret;
	(void)handle;
	(void)type;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMemGetHandleForAddressRange(void *ret, cuda_address address, size_t bytes,
					 cuda_enum type, unsigned long long flags)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)ret;
	(void)address;
	(void)bytes;
	(void)type;
	(void)flags;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMulticastCreate(cuda_handle *ret, const cuda_multicast *properties)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)ret;
	(void)properties;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMulticastAddDevice(cuda_handle handle, cuda_device device)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)handle;
	(void)device;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMulticastBindMem(cuda_handle handle, size_t offset, cuda_handle memory,
			      size_t memory_offset, size_t bytes,
			      unsigned long long flags)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)handle;
	(void)offset;
	(void)memory;
	(void)memory_offset;
	(void)bytes;
	(void)flags;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

cuda_error cuMulticastUnbind(cuda_handle handle, cuda_device device, size_t offset,
			     size_t bytes)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)handle;
	(void)device;
	(void)offset;
	(void)bytes;
	return (cuda_error)(error ? error : RIG_NOT_SUPPORTED);
}

/* ---- pointers ---- */

cuda_error cuMemGetAddressRange_v2(cuda_address *start, size_t *bytes,
				   cuda_address address)
{
	struct rig_range range;
	int error = rig_begin("cuMemGetAddressRange", NULL, RIG_USES_DRIVER);

	if (!error && !rig_range_at(address, &range))
		error = RIG_NOT_FOUND;
	if (error)
		return (cuda_error)error;
	if (start)
		*start = range.address;
	if (bytes)
		*bytes = range.bytes;
	return 0;
}

/* Attributes: CUpointer_attribute in cuda.h of CUDA 12.4. */
static int attribute(void *ret, cuda_enum which, uint64_t address,
		     const struct rig_range *range)
{
	bool host = range->kind == RIG_PINNED || range->kind == RIG_REGISTERED;
	uint64_t wide = address;
	unsigned number = 0;
	cuda_context context = NULL;

	switch (which) {
	case 1: /* context */
		cuDevicePrimaryCtxRetain(&context, range->device);
		memcpy(ret, &context, sizeof(context));
		return 0;
	case 2: /* memory type */
		number = host ? 1 : 2;
		memcpy(ret, &number, sizeof(number));
		return 0;
	case 3: /* the device's pointer */
		memcpy(ret, &wide, sizeof(wide));
		return 0;
	case 4: /* the host's */
		if (!host && range->kind != RIG_MANAGED)
			return RIG_INVALID_VALUE;
		memcpy(ret, &wide, sizeof(wide));
		return 0;
	case 7: /* an id that no other allocation has */
		memcpy(ret, &range->address, sizeof(range->address));
		return 0;
	case 8:  /* managed? */
	case 10: /* to be shared by cuIpcGetMemHandle()? */
	case 13: /* mapped? */
		*(unsigned char *)ret =
			which == 8 ? range->kind == RIG_MANAGED : which == 13;
		return 0;
	case 6: /* synchronous copies? */
		number = 0;
		memcpy(ret, &number, sizeof(number));
		return 0;
	case 9: /* device */
		memcpy(ret, &range->device, sizeof(range->device));
		return 0;
	case 11:
		memcpy(ret, &range->address, sizeof(range->address));
		return 0;
	case 12:
		memcpy(ret, &range->bytes, sizeof(range->bytes));
		return 0;
	default:
		return RIG_NOT_SUPPORTED;
	}
}

cuda_error cuPointerGetAttribute(void *ret, cuda_enum which, cuda_address address)
{
	struct rig_range range;
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error && (!ret || !rig_range_at(address, &range)))
		error = RIG_INVALID_VALUE;
	return (cuda_error)(error ? error : attribute(ret, which, address, &range));
}

/* Of many at once; what does not apply stays as it is, and that is no error. */
cuda_error cuPointerGetAttributes(unsigned count, cuda_enum *which, void **ret,
				  cuda_address address)
{
	struct rig_range range;
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (error)
		return (cuda_error)error;
	if (!rig_range_at(address, &range))
		return 0;
	for (unsigned i = 0; i < count; i++)
		attribute(ret[i], which[i], address, &range);
	return 0;
}

/* ---- copies ---- */

static int copy(const char *call, const char *name, void *host, size_t bytes,
		struct rig_stream *stream, bool wait)
{
	bool captured = false;
	int error = rig_begin_work(call, "copy", name, stream, &captured);

	if (!error && captured && wait)
		error = rig_capture_forbids_wait(stream);
	if (error || rig_capture_add(stream, RIG_NODE_MEMCPY, NULL))
		return error;
	if (wait || (host && !rig_pinned(host)))
		error = rig_stream_wait(stream);
	if (!error && host) /* nothing is known of the device's memory */
		memset(host, 0, bytes);
	return error;
}

cuda_error cuMemcpyHtoD_v2(cuda_address to, const void *from, size_t bytes)
{
	(void)to;
	(void)from;
	return (cuda_error)copy("cuMemcpyHtoD", "HtoD", NULL, bytes, NULL, true);
}

cuda_error cuMemcpyDtoH_v2(void *to, cuda_address from, size_t bytes)
{
	(void)from;
	return (cuda_error)copy("cuMemcpyDtoH", "DtoH", to, bytes, NULL, true);
}

cuda_error cuMemcpyDtoD_v2(cuda_address to, cuda_address from, size_t bytes)
{
	(void)to;
	(void)from;
	return (cuda_error)copy("cuMemcpyDtoD", "DtoD", NULL, bytes, NULL, false);
}

cuda_error cuMemcpyHtoDAsync_v2(cuda_address to, const void *from, size_t bytes,
				cuda_stream stream)
{
	(void)to;
	(void)from;
	return (cuda_error)copy("cuMemcpyHtoDAsync", "HtoD", NULL, bytes,
				(struct rig_stream *)stream, false);
}

cuda_error cuMemcpyDtoHAsync_v2(void *to, cuda_address from, size_t bytes,
				cuda_stream stream)
{
	(void)from;
	return (cuda_error)copy("cuMemcpyDtoHAsync", "DtoH", to, bytes,
				(struct rig_stream *)stream, false);
}

cuda_error cuMemcpyDtoDAsync_v2(cuda_address to, cuda_address from, size_t bytes,
				cuda_stream stream)
{
	(void)to;
	(void)from;
	return (cuda_error)copy("cuMemcpyDtoDAsync", "DtoD", NULL, bytes,
				(struct rig_stream *)stream, false);
}

static int set(const char *call, struct rig_stream *stream)
{
	bool captured = false;
	int error = rig_begin_work(call, "copy", "memset", stream, &captured);

	if (!error)
		rig_capture_add(stream, RIG_NODE_MEMSET, NULL);
	return error;
}

cuda_error cuMemsetD8_v2(cuda_address to, unsigned char value, size_t count)
{
	(void)to;
	(void)value;
	(void)count;
	return (cuda_error)set("cuMemsetD8", NULL);
}

cuda_error cuMemsetD32_v2(cuda_address to, unsigned value, size_t count)
{
	(void)to;
	(void)value;
	(void)count;
	return (cuda_error)set("cuMemsetD32", NULL);
}

cuda_error cuMemsetD8Async(cuda_address to, unsigned char value, size_t count,
			   cuda_stream stream)
{
	(void)to;
	(void)value;
	(void)count;
	return (cuda_error)set(__func__, (struct rig_stream *)stream);
}

cuda_error cuMemsetD32Async(cuda_address to, unsigned value, size_t count,
			    cuda_stream stream)
{
	(void)to;
	(void)value;
	(void)count;
	return (cuda_error)set(__func__, (struct rig_stream *)stream);
}
