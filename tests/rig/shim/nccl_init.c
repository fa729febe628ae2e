/* SPDX-License-Identifier: GPL-3.0-or-later */
/* New communicators: from an id, or from another communicator. */
#include <string.h>

#include "nccl_comm.h"

static ncclResult_t make_id(ncclUniqueId *id)
{
	int error = rig_nccl_make_id(id);

	return error ? rig_nccl_fail(ncclSystemError,
				     "no file in memory for a unique id: error %d", error)
		     : ncclSuccess;
}

RIG_NCCL_PUBLIC(ncclGetUniqueId);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result)
		return result;
	return id ? make_id(id)
		  : rig_nccl_fail(ncclInvalidArgument,
				  "GetUniqueId : out argument is NULL");
}

static ncclResult_t init(const char *call, ncclComm_t *comm, int nranks,
			 const ncclUniqueId *id, int rank, const ncclConfig_t *config)
{
	struct rig_nccl_job job = {.ret = comm, .nranks = nranks, .rank = rank};
	ncclResult_t result = rig_nccl_enter(call, NULL);

	if (result)
		return result;
	if (!comm || !id)
		return rig_nccl_fail(ncclInvalidArgument,
				     "CommInitRank : newcomm argument is NULL");
	if (nranks < 1 || rank < 0 || rank >= nranks)
		return rig_nccl_fail(ncclInvalidArgument,
				     "Invalid rank requested : %d/%d", rank, nranks);
	if (nranks > RIG_NCCL_RANKS)
		return rig_nccl_fail(ncclSystemError,
				     "%d ranks: the played NCCL takes %d", nranks,
				     RIG_NCCL_RANKS);
	if (rig_broken())
		return rig_nccl_cuda_fails(rig_broken());
	job.id = *id;
	return rig_nccl_job_start(&job, config);
}

RIG_NCCL_PUBLIC(ncclCommInitRank);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
	return rig_nccl_group_note(init(__func__, comm, nranks, &id, rank, NULL));
}

RIG_NCCL_PUBLIC(ncclCommInitRankConfig);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id,
				    int rank, ncclConfig_t *config)
{
	return rig_nccl_group_note(init(__func__, comm, nranks, &id, rank, config));
}

/* More than one id only makes the real one quicker: the first is enough to meet. */
RIG_NCCL_PUBLIC(ncclCommInitRankScalable);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids,
				      ncclUniqueId *ids, ncclConfig_t *config)
{
	if (nids < 1 || nids > nranks)
		return rig_nccl_group_note(
			rig_nccl_fail(ncclInvalidArgument,
				      "improper usage of ncclCommInitRankScalable: nId = "
				      "%d, nranks = %d",
				      nids, nranks));
	return rig_nccl_group_note(init(__func__, comm, nranks, ids, rank, config));
}

static ncclResult_t init_all(ncclComm_t *comms, int count, const int *devices)
{
	int before = rig_device();
	ncclUniqueId id;
	ncclResult_t result = make_id(&id);

	if (result)
		return result;
	result = ncclGroupStart();
	for (int i = 0; i < count && !result; i++) {
		if (!rig_set_device(devices ? devices[i] : i))
			result = rig_nccl_group_note(
				rig_nccl_cuda_fails(RIG_INVALID_DEVICE));
		else
			result = rig_nccl_group_note(
				init("ncclCommInitRank", &comms[i], count, &id, i, NULL));
	}
	rig_set_device(before);
	return ncclGroupEnd();
}

RIG_NCCL_PUBLIC(ncclCommInitAll);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devices)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (result)
		return result;
	if (!comms || ndev < 1 || ndev > RIG_NCCL_RANKS)
		return rig_nccl_fail(ncclInvalidArgument,
				     "Invalid device count requested : %d", ndev);
	for (int i = 0; devices && i < ndev; i++)
		for (int j = 0; j < i; j++)
			if (devices[i] == devices[j])
				return rig_nccl_fail(
					ncclInvalidUsage,
					"Invalid device list: %d is in it twice",
					devices[i]);
	return init_all(comms, ndev, devices);
}

static uint64_t all_of(const struct ncclComm *comm)
{
	return comm->nranks == 64 ? UINT64_MAX : (1ull << comm->nranks) - 1;
}

static ncclResult_t split(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
			  const ncclConfig_t *config)
{
	struct rig_nccl_job job = {
		.ret = newcomm, .parent = comm, .word = {.color = color, .key = key}};
	ncclResult_t result = rig_nccl_enter("ncclCommSplit", NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, "CommSplit");
	if (result)
		return result;
	if (!newcomm || color < RIG_NCCL_NO_COLOR)
		return rig_nccl_fail(
			ncclInvalidArgument,
			"CommSplit : newcomm argument is NULL or color %d negative",
			color);
	job.members = all_of(comm);
	if (color != RIG_NCCL_NO_COLOR) {
		job.word.has_id = true;
		result = make_id(&job.word.id);
	}
	return result ? result : rig_nccl_job_start(&job, config);
}

RIG_NCCL_PUBLIC(ncclCommSplit);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
			   ncclConfig_t *config)
{
	return rig_nccl_group_note(split(comm, color, key, newcomm, config));
}

static ncclResult_t shrink(ncclComm_t comm, const int *excluded, int count,
			   ncclComm_t *newcomm, const ncclConfig_t *config, int flags)
{
	struct rig_nccl_job job = {
		.ret = newcomm, .parent = comm, .word = {.has_id = true}};
	ncclResult_t result = rig_nccl_enter("ncclCommShrink", NULL);

	if (!result)
		result = rig_nccl_comm_check(comm, "CommShrink");
	if (result)
		return result;
	if (!newcomm || !excluded || count < 1 || count >= comm->nranks)
		return rig_nccl_fail(ncclInvalidArgument,
				     "CommShrink : %d of %d ranks to leave out", count,
				     comm->nranks);
	job.members = all_of(comm);
	for (int i = 0; i < count; i++) {
		if (excluded[i] < 0 || excluded[i] >= comm->nranks ||
		    excluded[i] == comm->rank)
			return rig_nccl_fail(ncclInvalidArgument,
					     "CommShrink : invalid rank %d to leave out",
					     excluded[i]);
		job.members &= ~(1ull << excluded[i]);
	}
	if (flags & RIG_NCCL_SHRINK_ABORT)
		rig_nccl_comm_quiet(comm);
	else if (comm->result)
		return (ncclResult_t)comm->result;
	result = make_id(&job.word.id);
	return result ? result : rig_nccl_job_start(&job, config);
}

RIG_NCCL_PUBLIC(ncclCommShrink);
ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count,
			    ncclComm_t *newcomm, ncclConfig_t *config, int flags)
{
	return rig_nccl_group_note(shrink(comm, excluded, count, newcomm, config, flags));
}

RIG_NCCL_PUBLIC(ncclCommGetUniqueId);
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id)
{
	ncclResult_t result = rig_nccl_enter(__func__, NULL);

	if (!result)
		result = rig_nccl_comm_ready(comm, __func__);
	if (result)
		return result;
	return id ? make_id(id)
		  : rig_nccl_fail(ncclInvalidArgument,
				  "CommGetUniqueId : uniqueId argument is NULL");
}

/* The ranks that are there learn the id from the one that has it; the new ones bring it.
 */
static ncclResult_t grow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank,
			 ncclComm_t *newcomm, const ncclConfig_t *config)
{
	struct rig_nccl_job job = {
		.ret = newcomm, .parent = comm, .grow = true, .nranks = nranks};
	ncclResult_t result;

	if (!comm)
		return init("ncclCommGrow", newcomm, nranks, id, rank, config);
	result = rig_nccl_enter("ncclCommGrow", NULL);
	if (!result)
		result = rig_nccl_comm_ready(comm, "ncclCommGrow");
	if (result)
		return result;
	if (!newcomm || nranks <= comm->nranks || nranks > RIG_NCCL_RANKS)
		return rig_nccl_fail(
			ncclInvalidArgument,
			"ncclCommGrow: total ranks %d is less than current ranks %d",
			nranks, comm->nranks);
	job.members = all_of(comm);
	job.rank = comm->rank;
	if (id) {
		job.word.has_id = true;
		job.word.id = *id;
	}
	return rig_nccl_job_start(&job, config);
}

RIG_NCCL_PUBLIC(ncclCommGrow);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank,
			  ncclComm_t *newcomm, ncclConfig_t *config)
{
	return rig_nccl_group_note(grow(comm, nranks, id, rank, newcomm, config));
}
