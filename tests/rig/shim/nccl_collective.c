/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operations: checked as the library checks them, and handed to the group. */
#include "nccl_comm.h"

enum kind {
	ALL_REDUCE,
	BROADCAST,
	REDUCE,
	ALL_GATHER,
	REDUCE_SCATTER,
	ALL_TO_ALL,
	GATHER,
	SCATTER,
	SEND,
	RECV,
};

/* What a call brings. ROOT: or peer. */
struct request {
	const char *call;
	enum kind kind;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	int root;
	ncclComm_t comm;
	cudaStream_t stream;
};

/* Name for rules and messages, and of the kernel. */
static const char *const names[][2] = {
	[ALL_REDUCE] = {"AllReduce", "ncclDevKernel_AllReduce"},
	[BROADCAST] = {"Broadcast", "ncclDevKernel_Broadcast"},
	[REDUCE] = {"Reduce", "ncclDevKernel_Reduce"},
	[ALL_GATHER] = {"AllGather", "ncclDevKernel_AllGather"},
	[REDUCE_SCATTER] = {"ReduceScatter", "ncclDevKernel_ReduceScatter"},
	[ALL_TO_ALL] = {"AlltoAll", "ncclDevKernel_SendRecv"},
	[GATHER] = {"Gather", "ncclDevKernel_SendRecv"},
	[SCATTER] = {"Scatter", "ncclDevKernel_SendRecv"},
	[SEND] = {"Send", "ncclDevKernel_SendRecv"},
	[RECV] = {"Recv", "ncclDevKernel_SendRecv"},
};

static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8,
				2, 4, 8, 2, 1, 1}; /* by ncclDataType_t */

enum { TYPES = sizeof(sizes), OWN_OPERATIONS = 64 * 8 };

static bool is_operation(struct ncclComm *comm, int op)
{
	int own = op - ncclNumOps;

	if (op < 0 || own >= OWN_OPERATIONS)
		return false;
	return own < 0 || (comm->operations[own / 64] >> (own % 64) & 1);
}

static ncclResult_t check(const struct request *request)
{
	struct ncclComm *comm = request->comm;
	const char *name = names[request->kind][0];
	ncclResult_t result = rig_nccl_comm_ready(comm, name);

	if (result)
		return result;
	if (comm->revoked || comm->suspended || comm->finalized)
		return rig_nccl_fail(ncclInvalidUsage, "%s : the communicator is %s",
				     name,
				     comm->revoked     ? "revoked"
				     : comm->suspended ? "suspended"
						       : "finalized");
	if (request->root < 0 || request->root >= comm->nranks)
		return rig_nccl_fail(
			ncclInvalidArgument,
			"%s : invalid root %d (root should be in the 0..%d range)", name,
			request->root, comm->nranks);
	if ((unsigned)request->type >= TYPES)
		return rig_nccl_fail(ncclInvalidArgument, "%s : invalid type %d", name,
				     (int)request->type);
	if (!is_operation(comm, (int)request->op))
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : invalid reduction operation %d", name,
				     (int)request->op);
	if (rig_broken())
		return rig_nccl_cuda_fails(rig_broken());
	return ncclSuccess;
}

static ncclResult_t put(const struct request *request)
{
	const char *name = names[request->kind][0];
	struct rig_nccl_operation operation = {.lane = NULL};
	ncclResult_t result = rig_nccl_enter(request->call, &operation.verdict[0]);

	if (result)
		return result;
	operation.verdict[1] = rig_enter("collective", name);
	if (operation.verdict[1].error) {
		if (operation.verdict[1].text)
			rig_nccl_fail(ncclSuccess, "%s", operation.verdict[1].text);
		return (ncclResult_t)operation.verdict[1].error;
	}
	result = check(request);
	if (result)
		return result;
	/* Now, for at the end of a group the thread's device may be another. */
	operation.stream = rig_stream_of((struct rig_stream *)request->stream);
	if (!operation.stream)
		return rig_nccl_cuda_fails(RIG_INVALID_HANDLE);
	if (request->kind == SEND)
		operation.lane = &request->comm->send[request->root];
	else if (request->kind == RECV)
		operation.lane = &request->comm->receive[request->root];
	else if (request->count)
		operation.lane = &request->comm->collectives;
	else
		return ncclSuccess; /* nobody takes part in a collective of nothing */
	operation.entry.bytes = request->count * sizes[request->type];
	/* A message is the same on both sides, though each names the other as its peer.
	 */
	operation.entry.what = request->kind == SEND || request->kind == RECV
				       ? 0
				       : 1 + (uint64_t)request->kind +
						 ((uint64_t)request->type << 8) +
						 ((uint64_t)request->root << 16);
	/* A graph that is launched later plays a kernel of that name, without the other
	 * ranks. */
	if (rig_capture_add(operation.stream, RIG_NODE_KERNEL, names[request->kind][1]))
		return ncclSuccess;
	return rig_nccl_operate(&operation);
}

static ncclResult_t request(const char *call, enum kind kind, size_t count,
			    ncclDataType_t type, ncclRedOp_t op, int root,
			    ncclComm_t comm, cudaStream_t stream)
{
	const struct request wanted = {call, kind, count, type, op, root, comm, stream};

	return rig_nccl_group_note(put(&wanted));
}

RIG_NCCL_PUBLIC(ncclReduce);
ncclResult_t ncclReduce(const void *send, void *receive, size_t count,
			ncclDataType_t type, ncclRedOp_t op, int root, ncclComm_t comm,
			cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, REDUCE, count, type, op, root, comm, stream);
}

RIG_NCCL_PUBLIC(ncclBcast);
ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root,
		       ncclComm_t comm, cudaStream_t stream)
{
	(void)buffer;
	return request(__func__, BROADCAST, count, type, ncclSum, root, comm, stream);
}

RIG_NCCL_PUBLIC(ncclBroadcast);
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
			   ncclDataType_t type, int root, ncclComm_t comm,
			   cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, BROADCAST, count, type, ncclSum, root, comm, stream);
}

RIG_NCCL_PUBLIC(ncclAllReduce);
ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
			   ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
			   cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, ALL_REDUCE, count, type, op, 0, comm, stream);
}

RIG_NCCL_PUBLIC(ncclReduceScatter);
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
			       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
			       cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, REDUCE_SCATTER, count, type, op, 0, comm, stream);
}

RIG_NCCL_PUBLIC(ncclAllGather);
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
			   ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, ALL_GATHER, count, type, ncclSum, 0, comm, stream);
}

RIG_NCCL_PUBLIC(ncclAlltoAll);
ncclResult_t ncclAlltoAll(const void *send, void *receive, size_t count,
			  ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, ALL_TO_ALL, count, type, ncclSum, 0, comm, stream);
}

RIG_NCCL_PUBLIC(ncclGather);
ncclResult_t ncclGather(const void *send, void *receive, size_t count,
			ncclDataType_t type, int root, ncclComm_t comm,
			cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, GATHER, count, type, ncclSum, root, comm, stream);
}

RIG_NCCL_PUBLIC(ncclScatter);
ncclResult_t ncclScatter(const void *send, void *receive, size_t count,
			 ncclDataType_t type, int root, ncclComm_t comm,
			 cudaStream_t stream)
{
	(void)send, (void)receive;
	return request(__func__, SCATTER, count, type, ncclSum, root, comm, stream);
}

RIG_NCCL_PUBLIC(ncclSend);
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream)
{
	(void)send;
	return request(__func__, SEND, count, type, ncclSum, peer, comm, stream);
}

RIG_NCCL_PUBLIC(ncclRecv);
ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream)
{
	(void)receive;
	return request(__func__, RECV, count, type, ncclSum, peer, comm, stream);
}

/* ---- reductions of the program's own ---- */

RIG_NCCL_PUBLIC(ncclRedOpCreatePreMulSum);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type,
				      ncclScalarResidence_t residence, ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	if (!op || !scalar || (unsigned)type >= TYPES ||
	    (unsigned)residence > ncclScalarHostImmediate)
		return rig_nccl_fail(ncclInvalidArgument,
				     "%s : NULL or a number that is not known", __func__);
	result = ncclInternalError;
	pthread_mutex_lock(&comm->lock);
	for (int i = 0; i < OWN_OPERATIONS && result; i++) {
		if (comm->operations[i / 64] >> (i % 64) & 1)
			continue;
		comm->operations[i / 64] |= 1ull << (i % 64);
		*op = (ncclRedOp_t)(ncclNumOps + i);
		result = ncclSuccess;
	}
	pthread_mutex_unlock(&comm->lock);
	if (result)
		rig_nccl_fail(result, "%s : more than %d operations", __func__,
			      OWN_OPERATIONS);
	return result;
}

RIG_NCCL_PUBLIC(ncclRedOpDestroy);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);
	int own = (int)op - (int)ncclNumOps;

	if (!result)
		result = rig_nccl_comm_check(comm, __func__);
	if (result)
		return result;
	if (own < 0)
		return rig_nccl_fail(ncclInvalidArgument,
				     "ncclRedOpDestroy : operator is a NCCL builtin.");
	pthread_mutex_lock(&comm->lock);
	if (is_operation(comm, (int)op))
		comm->operations[own / 64] &= ~(1ull << (own % 64));
	else
		result = ncclInvalidArgument;
	pthread_mutex_unlock(&comm->lock);
	if (result)
		rig_nccl_fail(result,
			      "ncclRedOpDestroy : operator unknown to this communicator");
	return result;
}
