/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a rank keeps of a communicator, from its first moment to its end; who waits for whom is
 * in nccl_job.c and nccl_group.c.
 */
#include "nccl_comm.h"

#include <stdlib.h>
#include <time.h>

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *all; /* for a leak checker: they live for ever */

void rig_nccl_nap(unsigned turn)
{
	struct timespec nap = {.tv_nsec = turn < 20    ? 200000
					  : turn < 200 ? 1000000
						       : 10000000};

	nanosleep(&nap, NULL);
}

struct ncclComm *rig_nccl_comm_create(bool blocking)
{
	struct ncclComm *comm = calloc(1, sizeof(*comm));
	pthread_condattr_t attributes;

	if (!comm)
		return NULL;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&comm->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&comm->lock, NULL);
	comm->last = &comm->first;
	comm->blocking = blocking;
	comm->device = rig_device();
	comm->result = ncclInProgress;
	comm->starting = true;
	comm->magic = RIG_NCCL_MAGIC;
	pthread_mutex_lock(&all_lock);
	comm->next = all;
	all = comm;
	pthread_mutex_unlock(&all_lock);
	return comm;
}

ncclResult_t rig_nccl_comm_start(struct ncclComm *comm)
{
	int n = comm->nranks, error;

	comm->send = calloc((size_t)n, sizeof(*comm->send));
	comm->receive = calloc((size_t)n, sizeof(*comm->receive));
	if (!comm->send || !comm->receive)
		return rig_nccl_fail(ncclSystemError, "Failed to calloc %d lanes", n);
	comm->collectives.comm = comm;
	comm->collectives.side = comm->rank;
	rig_nccl_collectives(comm->shared, &comm->collectives.channel);
	for (int i = 0; i < n; i++) {
		comm->send[i] = (struct rig_nccl_lane){.comm = comm, .side = 0};
		comm->receive[i] = (struct rig_nccl_lane){.comm = comm, .side = 1};
		rig_nccl_pair(comm->shared, comm->rank, i, &comm->send[i].channel);
		rig_nccl_pair(comm->shared, i, comm->rank, &comm->receive[i].channel);
	}
	error = rig_nccl_threads_start(comm);
	if (error)
		return rig_nccl_fail(
			ncclSystemError,
			"Error : pthread_create of the proxy failed : error %d", error);
	return ncclSuccess;
}

ncclResult_t rig_nccl_comm_check(struct ncclComm *comm, const char *call)
{
	if (!comm)
		return rig_nccl_fail(ncclInvalidArgument, "%s : comm argument is NULL",
				     call);
	if (comm->magic != RIG_NCCL_MAGIC)
		return rig_nccl_fail(ncclInvalidArgument,
				     "Error: corrupted comm object detected");
	return ncclSuccess;
}

ncclResult_t rig_nccl_comm_ready(struct ncclComm *comm, const char *call)
{
	ncclResult_t result = rig_nccl_comm_check(comm, call);

	if (result)
		return result;
	result = (ncclResult_t)comm->result;
	if (result == ncclInProgress)
		return rig_nccl_fail(
			ncclInvalidArgument,
			"Attempt to use communicator before the previous operation "
			"returned ncclSuccess");
	return result;
}

void rig_nccl_comm_fail(struct ncclComm *comm, ncclResult_t result)
{
	int now = comm->result;

	while (now == ncclSuccess || now == ncclInProgress) {
		if (atomic_compare_exchange_weak(&comm->result, &now, (int)result))
			return;
	}
}

static bool lane_idle(struct rig_nccl_lane *lane)
{
	return rig_nccl_done(&lane->channel) >= lane->next;
}

bool rig_nccl_comm_idle(struct ncclComm *comm)
{
	bool idle;

	if (comm->quiet || !comm->send)
		return true;
	pthread_mutex_lock(&comm->lock);
	rig_nccl_drain(comm);
	idle = !comm->waiting && lane_idle(&comm->collectives);
	for (int i = 0; idle && i < comm->nranks; i++)
		idle = lane_idle(&comm->send[i]) && lane_idle(&comm->receive[i]);
	pthread_mutex_unlock(&comm->lock);
	return idle;
}

void rig_nccl_comm_quiet(struct ncclComm *comm)
{
	comm->quiet = true;
	pthread_mutex_lock(&comm->lock);
	rig_nccl_drain(comm);
	pthread_mutex_unlock(&comm->lock);
}

void rig_nccl_comm_end(struct ncclComm *comm, enum rig_nccl_state state)
{
	uint64_t magic = RIG_NCCL_MAGIC;

	if (!atomic_compare_exchange_strong(&comm->magic, &magic, 0))
		return;
	for (unsigned i = 0; comm->starting; i++)
		rig_nccl_nap(i);
	rig_nccl_threads_end(comm);
	if (comm->shared)
		comm->shared->rank[comm->rank].state = state;
	comm->quiet = true;
}
