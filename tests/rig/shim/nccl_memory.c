/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory, its registration, and what builds on it. Symmetric memory and one-sided
 * operations are what the library has on some machines only; the played one answers as it
 * does on the others.
 */
#include <stdlib.h>

#include "nccl_comm.h"

RIG_NCCL_PUBLIC(ncclMemAlloc);
ncclResult_t ncclMemAlloc(void **address, size_t size)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);
	uint64_t got;
	int error;

	if (result)
		return result;
	if (!address || !size)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : NULL, or nothing to allocate", __func__);
	error = rig_broken();
	if (!error)
		error = rig_allocate(rig_device(), size, &got);
	if (error)
		return rig_nccl_cuda_fails(error);
	*address = (void *)(uintptr_t)got;
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclMemFree);
ncclResult_t ncclMemFree(void *address)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);
	int error;

	if (result || !address)
		return result;
	error = rig_free((uint64_t)(uintptr_t)address);
	return error ? rig_nccl_cuda_fails(error) : ncclSuccess;
}

/* A handle that is worth something to ncclCommDeregister() alone. */
RIG_NCCL_PUBLIC(ncclCommRegister);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t size,
			      void **handle)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	if (!handle || !buffer || !size)
		return rig_nccl_fail(ncclInvalidArgument, "invalid pointer %p / size %zu",
				     buffer, size);
	*handle = malloc(1);
	return *handle ? ncclSuccess
		       : rig_nccl_fail(ncclSystemError, "Failed to malloc a handle");
}

RIG_NCCL_PUBLIC(ncclCommDeregister);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	free(handle);
	return ncclSuccess;
}

/* Without symmetric memory: success, and no window. */
RIG_NCCL_PUBLIC(ncclCommWindowRegister);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size,
				    ncclWindow_t *window, int flags)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	(void)flags;
	if (!result)
		result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	if (!window || !buffer || !size)
		return rig_nccl_fail(ncclInvalidArgument, "invalid pointer %p / size %zu",
				     buffer, size);
	*window = NULL;
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommWindowDeregister);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_check(comm, __func__);
	if (!result && window)
		return rig_nccl_fail(ncclInvalidArgument, "%s : no such window",
				     __func__);
	return result;
}

RIG_NCCL_PUBLIC(ncclWinGetUserPtr);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **address)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	(void)window;
	if (!result)
		result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	if (!address)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : outUserPtr argument is NULL", __func__);
	*address = NULL;
	return ncclSuccess;
}

static ncclResult_t needs_symmetric_memory(ncclComm_t comm, const char *call)
{
	ncclResult_t result = rig_nccl_enter(call, NULL);

	if (!result)
		result = rig_nccl_comm_check(comm, call);
	return result ? result
		      : rig_nccl_fail(ncclInvalidUsage,
				      "Communicator does not support symmetric memory!");
}

RIG_NCCL_PUBLIC(ncclDevCommCreate);
ncclResult_t ncclDevCommCreate(ncclComm_t comm,
			       const struct ncclDevCommRequirements *wanted,
			       struct ncclDevComm *device)
{
	(void)wanted, (void)device;
	return needs_symmetric_memory(comm, __func__);
}

RIG_NCCL_PUBLIC(ncclDevCommDestroy);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const struct ncclDevComm *device)
{
	(void)device;
	return needs_symmetric_memory(comm, __func__);
}

/* A window there is none of. */
static ncclResult_t needs_window(const char *call)
{
	ncclResult_t result = rig_nccl_enter(call, NULL);

	return result ? result
		      : rig_nccl_fail(ncclInvalidArgument, "%s : window argument is NULL",
				      call);
}

RIG_NCCL_PUBLIC(ncclGetLsaMultimemDevicePointer);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset,
					     void **address)
{
	(void)window, (void)offset, (void)address;
	return needs_window(__func__);
}

RIG_NCCL_PUBLIC(ncclGetPeerDevicePointer);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer,
				      void **address)
{
	(void)window, (void)offset, (void)peer, (void)address;
	return needs_window(__func__);
}

static ncclResult_t needs_one_sided(ncclComm_t comm, const char *call)
{
	ncclResult_t result = rig_nccl_enter(call, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, call);
	if (!result)
		result = rig_nccl_fail(
			ncclInvalidArgument,
			"One sided RMA: host RMA is not supported in this communicator.");
	return rig_nccl_group_note(result);
}

RIG_NCCL_PUBLIC(ncclPutSignal);
ncclResult_t ncclPutSignal(const void *local, size_t count, ncclDataType_t type, int peer,
			   ncclWindow_t window, size_t offset, int signal, int context,
			   unsigned int flags, ncclComm_t comm, cudaStream_t stream)
{
	(void)local, (void)count, (void)type, (void)peer, (void)window, (void)offset,
		(void)signal, (void)context;
	(void)flags, (void)stream;
	return needs_one_sided(comm, __func__);
}

RIG_NCCL_PUBLIC(ncclSignal);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags,
			ncclComm_t comm, cudaStream_t stream)
{
	(void)peer, (void)signal, (void)context, (void)flags, (void)stream;
	return needs_one_sided(comm, __func__);
}

RIG_NCCL_PUBLIC(ncclWaitSignal);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm,
			    cudaStream_t stream)
{
	(void)count, (void)signals, (void)stream;
	return needs_one_sided(comm, __func__);
}
