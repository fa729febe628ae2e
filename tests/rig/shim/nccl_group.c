/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operations on their way to the streams: at once, or all of a group at its end.
 *
 * An operation enters the log when its stream has come to it, not when it is called:
 * ranks whose streams hang in something else are not there for the others, as in life.
 * Until then it waits, and progress looks after it.
 */
#include <stdlib.h>

#include "nccl_comm.h"

enum { MOST_WAITING = 1024 }; /* launches that CUDA takes before the caller blocks */

struct group {
	int depth;
	ncclResult_t result;
	struct rig_nccl_job *jobs, **last_job;
	struct rig_nccl_operation *operations, **last_operation;
};

static _Thread_local struct group group;

/* A ticket of a stream: called often, by any thread. */
static bool is_done(void *owner, uint64_t number)
{
	struct rig_nccl_lane *lane = owner;

	return lane->comm->quiet || rig_nccl_done(&lane->channel) > number;
}

/* Where a program hangs that is too far ahead of its GPU. */
static void rig_nccl_wait_for_room(struct ncclComm *comm)
{
	for (unsigned turn = 0;; turn++) {
		pthread_mutex_lock(&comm->lock);
		rig_nccl_drain(comm);
		bool room = comm->waiting < MOST_WAITING;
		pthread_mutex_unlock(&comm->lock);

		if (room)
			return;
		rig_nccl_nap(turn);
	}
}

static ncclResult_t enqueue(const struct rig_nccl_operation *operation,
			    struct rig_ticket after)
{
	struct rig_nccl_lane *lane = operation->lane;
	struct ncclComm *comm = lane->comm;
	struct rig_nccl_waiting *waiting = malloc(sizeof(*waiting));
	uint64_t number;

	if (!waiting)
		return rig_nccl_fail(ncclSystemError, "Failed to malloc %zu bytes",
				     sizeof(*waiting));
	*waiting = (struct rig_nccl_waiting){
		.lane = lane, .entry = operation->entry, .after = after};
	pthread_mutex_lock(&comm->lock);
	number = waiting->number = lane->next++;
	*comm->last = waiting;
	comm->last = &waiting->next;
	comm->waiting++;
	rig_nccl_drain(comm);
	if (comm->waiting)
		pthread_cond_signal(&comm->wake);
	pthread_mutex_unlock(&comm->lock);
	rig_stream_depend(operation->stream, (struct rig_ticket){is_done, lane, number});
	return ncclSuccess;
}

/* All of them have the streams' work before the first as what they wait for, not each
 * other. */
static ncclResult_t launch(const struct rig_nccl_operation *operations, size_t count)
{
	struct rig_ticket *after = calloc(count, sizeof(*after));
	const struct rig_nccl_operation *operation = operations;
	ncclResult_t result = ncclSuccess;

	if (!after)
		return rig_nccl_fail(ncclSystemError, "Failed to calloc %zu tickets",
				     count);
	for (size_t i = 0; i < count; i++, operation = operation->next) {
		rig_nccl_wait_for_room(operation->lane->comm);
		rig_stream_apply(operation->stream, &operation->verdict[0]);
		rig_stream_apply(operation->stream, &operation->verdict[1]);
		after[i] = rig_stream_now(operation->stream);
	}
	operation = operations;
	for (size_t i = 0; i < count && !result; i++, operation = operation->next)
		result = enqueue(operation, after[i]);
	free(after);
	return result;
}

bool rig_nccl_grouped(void)
{
	return group.depth > 0;
}

ncclResult_t rig_nccl_group_note(ncclResult_t result)
{
	if (group.depth && result != ncclSuccess && result != ncclInProgress &&
	    !group.result)
		group.result = result;
	return result;
}

void rig_nccl_group_job(struct rig_nccl_job *job)
{
	job->next = NULL;
	if (!group.jobs)
		group.last_job = &group.jobs;
	*group.last_job = job;
	group.last_job = &job->next;
}

ncclResult_t rig_nccl_operate(const struct rig_nccl_operation *operation)
{
	struct rig_nccl_operation *copy;

	if (!group.depth)
		return launch(operation, 1);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return rig_nccl_fail(ncclSystemError, "Failed to malloc %zu bytes",
				     sizeof(*copy));
	*copy = *operation;
	copy->next = NULL;
	if (!group.operations)
		group.last_operation = &group.operations;
	*group.last_operation = copy;
	group.last_operation = &copy->next;
	return ncclSuccess;
}

static size_t count_operations(void)
{
	size_t count = 0;

	for (const struct rig_nccl_operation *o = group.operations; o; o = o->next)
		count++;
	return count;
}

static void drop_operations(void)
{
	while (group.operations) {
		struct rig_nccl_operation *operation = group.operations;

		group.operations = operation->next;
		free(operation);
	}
}

static bool any_in_background(const struct rig_nccl_job *jobs)
{
	for (; jobs; jobs = jobs->next)
		if (jobs->comm && !jobs->comm->blocking)
			return true;
	return false;
}

/* What was gathered takes effect: DO, or is dropped because something failed. */
static ncclResult_t end_outermost(void)
{
	struct rig_nccl_job *jobs = group.jobs;
	ncclResult_t result = group.result;

	group.jobs = NULL;
	group.result = ncclSuccess;
	if (result) {
		rig_nccl_jobs_drop(jobs, result);
	} else {
		size_t count = count_operations();

		if (jobs)
			result = rig_nccl_jobs_run(jobs, any_in_background(jobs));
		if (count && (result == ncclSuccess || result == ncclInProgress)) {
			ncclResult_t launched = launch(group.operations, count);

			result = launched ? launched : result;
		}
	}
	drop_operations();
	return result;
}

RIG_NCCL_PUBLIC(ncclGroupStart);
ncclResult_t ncclGroupStart(void)
{
	struct rig_verdict verdict;
	ncclResult_t result = rig_nccl_enter("ncclGroupStart", &verdict);

	if (!result)
		group.depth++;
	return result;
}

RIG_NCCL_PUBLIC(ncclGroupEnd);
ncclResult_t ncclGroupEnd(void)
{
	ncclResult_t result = rig_nccl_enter("ncclGroupEnd", NULL);

	if (!group.depth)
		return result ? result
			      : rig_nccl_fail(ncclInvalidUsage,
					      "ncclGroupEnd: not in a group call.");
	rig_nccl_group_note(result);
	return --group.depth ? ncclSuccess : end_outermost();
}

/* Nothing takes effect, and nothing is known of how long it would take. */
RIG_NCCL_PUBLIC(ncclGroupSimulateEnd);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
	ncclResult_t result = rig_nccl_enter("ncclGroupSimulateEnd", NULL);

	if (result)
		return result;
	if (!group.depth)
		return rig_nccl_fail(ncclInvalidUsage,
				     "ncclGroupEnd: not in a group call.");
	if (info && info->magic != RIG_NCCL_SIMULATION_MAGIC)
		return rig_nccl_fail(ncclInvalidArgument,
				     "ncclSimInfo_t argument not initialized via "
				     "NCCL_SIM_INFO_INITIALIZER");
	if (--group.depth)
		return ncclSuccess;
	rig_nccl_jobs_drop(group.jobs, ncclSuccess);
	group.jobs = NULL;
	group.result = ncclSuccess;
	drop_operations();
	return ncclSuccess;
}
