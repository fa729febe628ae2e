/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is asked of a communicator, and the ways it ends: finalized, destroyed, aborted, revoked,
 * suspended.
 */
#include "nccl_comm.h"

static ncclResult_t begin(struct ncclComm *comm, const char *call)
{
	ncclResult_t result = rig_nccl_enter(call, NULL);

	return result ? result : rig_nccl_comm_check(comm, call);
}

/* An error on cue stays, as those of the library do. */
RIG_NCCL_PUBLIC(ncclCommGetAsyncError);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	struct rig_verdict verdict = rig_enter(__func__, NULL);
	ncclResult_t result = rig_nccl_comm_check(comm, __func__);

	if (result)
		return result;
	if (!error)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : asyncError argument is NULL", __func__);
	if (verdict.error) {
		rig_nccl_comm_fail(comm, (ncclResult_t)verdict.error);
		if (verdict.text)
			rig_nccl_fail(ncclSuccess, "%s", verdict.text);
	}
	if (verdict.sticky)
		rig_break(verdict.sticky);
	if (comm->finalized && comm->result == ncclInProgress && rig_nccl_comm_idle(comm))
		comm->result = ncclSuccess;
	*error = (ncclResult_t)comm->result;
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommCount);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
	ncclResult_t result = begin(comm, __func__);

	if (result)
		return result;
	if (!count)
		return rig_nccl_fail(ncclInvalidArgument,
				     "CommCount : count argument is NULL");
	*count = comm->nranks;
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommCuDevice);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
	ncclResult_t result = begin(comm, __func__);

	if (result)
		return result;
	if (!device)
		return rig_nccl_fail(ncclInvalidArgument,
				     "CommCuDevice : device argument is NULL");
	*device = comm->device;
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommUserRank);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
	ncclResult_t result = begin(comm, __func__);

	if (result)
		return result;
	if (!rank)
		return rig_nccl_fail(ncclInvalidArgument,
				     "CommUserRank : rank argument is NULL");
	*rank = comm->rank;
	return ncclSuccess;
}

/* It takes no memory of the device here. */
RIG_NCCL_PUBLIC(ncclCommMemStats);
ncclResult_t ncclCommMemStats(ncclComm_t comm, ncclCommMemStat_t what, uint64_t *value)
{
	ncclResult_t result = begin(comm, __func__);

	if (result)
		return result;
	if (!value || (unsigned)what > ncclStatGpuMemTotal)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : value argument is NULL or stat %d unknown",
				     __func__, (int)what);
	*value = what == ncclStatGpuMemSuspended && comm->suspended;
	return ncclSuccess;
}

/* ---- its end ---- */

/* Where a rank hangs whose operations do not end: until they do, or the device or the
 * communicator is broken. */
static ncclResult_t rig_nccl_flush(struct ncclComm *comm)
{
	for (unsigned turn = 0; !rig_nccl_comm_idle(comm); turn++) {
		if (rig_broken())
			return rig_nccl_cuda_fails(rig_broken());
		rig_nccl_nap(turn);
	}
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommFinalize);
ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result || !comm)
		return result;
	result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	if (comm->finalized || comm->revoked)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : the communicator is %s already", __func__,
				     comm->revoked ? "revoked" : "finalized");
	comm->finalized = true;
	if (comm->blocking)
		return rig_nccl_flush(comm);
	comm->result = ncclInProgress;
	return ncclInProgress;
}

RIG_NCCL_PUBLIC(ncclCommDestroy);
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result || !comm)
		return result;
	result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	for (unsigned turn = 0; comm->starting; turn++)
		rig_nccl_nap(turn);
	result = rig_nccl_flush(comm);
	rig_nccl_comm_end(comm, RIG_NCCL_LEFT);
	return result;
}

RIG_NCCL_PUBLIC(ncclCommAbort);
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result || !comm)
		return result;
	result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	comm->aborted = true;
	rig_nccl_comm_quiet(comm);
	rig_nccl_comm_end(comm, RIG_NCCL_ABORTED);
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommRevoke);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result || !comm)
		return result;
	result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	if (flags || comm->revoked || comm->finalized)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : flags %d, or the communicator is %s already",
				     __func__, flags,
				     comm->revoked ? "revoked" : "finalized");
	comm->revoked = true;
	rig_nccl_comm_quiet(comm);
	return ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclCommSuspend);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	if (flags != 1 || comm->suspended)
		return rig_nccl_fail(
			ncclInvalidArgument,
			"%s : flags %d, or the communicator is suspended already",
			__func__, flags);
	result = rig_nccl_flush(comm);
	comm->suspended = !result;
	return result;
}

RIG_NCCL_PUBLIC(ncclCommResume);
ncclResult_t ncclCommResume(ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	if (!comm->suspended)
		return rig_nccl_fail(ncclInvalidUsage,
				     "%s : the communicator is not suspended", __func__);
	comm->suspended = false;
	return ncclSuccess;
}
