/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What needs other ranks before it is over: a new communicator, alone or out of another
 * one. All jobs of a group go on together, one look at each in turn, for ranks of one
 * process may wait for each other.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl_comm.h"

/* Only one job of a parent may be between word and answer: the others hear the words in
 * this order. */
static bool must_wait(const struct rig_nccl_job *jobs, const struct rig_nccl_job *job)
{
	for (const struct rig_nccl_job *other = jobs; other != job; other = other->next)
		if (other->parent == job->parent && other->phase <= RIG_NCCL_HEAR)
			return true;
	return false;
}

static void say(struct rig_nccl_job *job)
{
	struct rig_nccl_rank *own = &job->parent->shared->rank[job->parent->rank];

	job->number = own->words;
	own->word[job->number % 2] = job->word;
	atomic_store(&own->words, job->number + 1);
	job->phase = RIG_NCCL_HEAR;
}

static bool is_before(const struct rig_nccl_word *a, int rank,
		      const struct rig_nccl_word *b, int other)
{
	return a->key != b->key ? a->key < b->key : rank < other;
}

/* The new communicator's id, size and the own rank in it. */
static void understand(struct rig_nccl_job *job)
{
	struct ncclComm *parent = job->parent;
	int first = -1, own = parent->rank;

	if (!job->grow)
		job->nranks = job->rank = 0;
	for (int i = 0; i < parent->nranks; i++) {
		const struct rig_nccl_word *word =
			&parent->shared->rank[i].word[job->number % 2];
		const struct rig_nccl_word *best =
			&parent->shared->rank[first < 0 ? 0 : first]
				 .word[job->number % 2];

		if (!(job->members >> i & 1) || word->color != job->word.color)
			continue;
		if (job->grow) {
			first = word->has_id ? i : first;
			continue;
		}
		job->nranks++;
		job->rank += is_before(word, i, &job->word, own);
		if (first < 0 || is_before(word, i, best, first))
			first = i;
	}
	if (job->word.has_id && first != own)
		rig_nccl_forget(&job->word.id);
	if (job->word.color == RIG_NCCL_NO_COLOR) {
		job->phase = RIG_NCCL_OVER;
	} else if (first < 0) {
		job->result =
			rig_nccl_fail(ncclInvalidArgument,
				      "ncclCommGrow: no rank has brought the unique id");
		job->phase = RIG_NCCL_OVER;
	} else {
		job->id = parent->shared->rank[first].word[job->number % 2].id;
		job->phase = RIG_NCCL_COME;
	}
}

static void hear(struct rig_nccl_job *job)
{
	for (int i = 0; i < job->parent->nranks; i++)
		if (job->members >> i & 1 &&
		    job->parent->shared->rank[i].words <= job->number)
			return;
	understand(job);
}

/* The device's number on the machine: CUDA_VISIBLE_DEVICES may give every process a
 * device 0 of its own.
 */
static int device_of_machine(int device)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	for (int i = 0; visible && *visible; i++) {
		char *end;
		long number = strtol(visible, &end, 10);

		if (end == visible)
			break;
		if (i == device)
			return (int)number;
		visible = *end == ',' ? end + 1 : end;
	}
	return device;
}

static void come(struct rig_nccl_job *job)
{
	struct ncclComm *comm = job->comm;
	int absent = RIG_NCCL_ABSENT;
	struct rig_nccl_rank *own;
	const char *why;

	job->phase = RIG_NCCL_OVER;
	job->result = rig_nccl_map(&job->id, job->nranks, &comm->shared, &why);
	if (job->result) {
		rig_nccl_fail(job->result, "%s", why);
		return;
	}
	comm->rank = job->rank;
	comm->nranks = job->nranks;
	own = &comm->shared->rank[job->rank];
	if (!atomic_compare_exchange_strong(&own->state, &absent, RIG_NCCL_COMES)) {
		comm->shared = NULL; /* the place is another's */
		job->result = rig_nccl_fail(
			ncclInvalidUsage,
			"Bootstrap Root : rank %d of %d ranks has already checked in",
			job->rank, job->nranks);
		return;
	}
	own->pid = getpid();
	own->started = rig_nccl_started(getpid());
	own->device = device_of_machine(comm->device);
	own->state = RIG_NCCL_HERE;
	atomic_fetch_add(&comm->shared->here, 1);
	job->phase = RIG_NCCL_ALL;
}

static ncclResult_t check_devices(struct ncclComm *comm)
{
	const char *allowed = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
	const struct rig_nccl_rank *rank = comm->shared->rank;

	if (allowed && *allowed && *allowed != '0')
		return ncclSuccess;
	for (int i = 0; i < comm->nranks; i++) {
		if (i == comm->rank || rank[i].device != rank[comm->rank].device)
			continue;
		if (rig_nccl_version() >= 23000)
			return rig_nccl_fail(
				ncclInvalidUsage,
				"Multiple Ranks are using the same GPU/Partition. Set "
				"NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this "
				"configuration.");
		return rig_nccl_fail(ncclInvalidUsage,
				     "Duplicate GPU detected : rank %d and rank %d both "
				     "on CUDA device %x",
				     comm->rank, i,
				     (unsigned)rig_bus_number(comm->device) << 12);
	}
	return ncclSuccess;
}

static void all_there(struct rig_nccl_job *job)
{
	if (job->comm->shared->here < job->nranks)
		return;
	rig_nccl_forget(&job->id);
	job->phase = RIG_NCCL_OVER;
	job->result = check_devices(job->comm);
	if (!job->result)
		job->result = rig_nccl_comm_start(job->comm);
}

static void step(const struct rig_nccl_job *jobs, struct rig_nccl_job *job)
{
	if ((job->comm && job->comm->aborted) || (job->parent && job->parent->aborted)) {
		job->result =
			rig_nccl_fail(ncclInternalError, "Communicator was aborted");
		job->phase = RIG_NCCL_OVER;
	} else if (job->phase == RIG_NCCL_SAY && !must_wait(jobs, job)) {
		say(job);
	} else if (job->phase == RIG_NCCL_HEAR) {
		hear(job);
	} else if (job->phase == RIG_NCCL_COME) {
		come(job);
	} else if (job->phase == RIG_NCCL_ALL) {
		all_there(job);
	}
}

/* A handle that does not block stays, to be asked for the error. */
static void finish(struct rig_nccl_job *job)
{
	struct ncclComm *comm = job->comm;

	if (!comm)
		return;
	if (comm->result == ncclInProgress)
		comm->result = job->result;
	comm->starting = false;
	if (job->result && comm->blocking) {
		*job->ret = NULL;
		rig_nccl_comm_end(comm, RIG_NCCL_LEFT);
	}
}

/* Where a rank hangs until all others have come. */
static ncclResult_t rig_nccl_bootstrap(struct rig_nccl_job *jobs)
{
	ncclResult_t result = ncclSuccess;
	bool over = false;

	for (unsigned turn = 0; !over; turn++) {
		over = true;
		for (struct rig_nccl_job *job = jobs; job; job = job->next) {
			enum rig_nccl_phase before = job->phase;

			if (job->phase == RIG_NCCL_OVER)
				continue;
			step(jobs, job);
			turn = job->phase == before ? turn : 0;
			over = over && job->phase == RIG_NCCL_OVER;
		}
		if (!over && turn)
			rig_nccl_nap(turn);
	}
	while (jobs) {
		struct rig_nccl_job *job = jobs;

		jobs = job->next;
		result = result ? result : job->result;
		finish(job);
		free(job);
	}
	return result;
}

static void *rig_nccl_async_job(void *argument)
{
	rig_nccl_bootstrap(argument);
	return NULL;
}

ncclResult_t rig_nccl_jobs_run(struct rig_nccl_job *jobs, bool background)
{
	pthread_t thread;

	if (!background)
		return rig_nccl_bootstrap(jobs);
	if (pthread_create(&thread, NULL, rig_nccl_async_job, jobs)) {
		for (struct rig_nccl_job *job = jobs; job; job = job->next) {
			job->phase = RIG_NCCL_OVER;
			job->result = ncclSystemError;
		}
		return rig_nccl_bootstrap(jobs);
	}
	pthread_detach(thread);
	return ncclInProgress;
}

void rig_nccl_jobs_drop(struct rig_nccl_job *jobs, ncclResult_t result)
{
	for (struct rig_nccl_job *job = jobs; job; job = job->next) {
		if (job->word.has_id && !job->grow)
			rig_nccl_forget(&job->word.id);
		job->phase = RIG_NCCL_OVER;
		job->result = result;
	}
	rig_nccl_bootstrap(jobs);
}

static bool wants_to_block(const struct rig_nccl_job *job, const ncclConfig_t *config)
{
	const char *asked = getenv("NCCL_COMM_BLOCKING");

	if (asked && *asked)
		return *asked != '0';
	if (config && config->blocking != INT_MIN)
		return config->blocking != 0;
	return !job->parent || config || job->parent->blocking;
}

ncclResult_t rig_nccl_job_start(const struct rig_nccl_job *wanted,
				const ncclConfig_t *config)
{
	struct rig_nccl_job *job;

	if (config && (config->magic != RIG_NCCL_CONFIG_MAGIC ||
		       config->size < sizeof(size_t) + 3 * sizeof(int)))
		return rig_nccl_fail(ncclInvalidArgument,
				     "ncclConfig_t argument not initialized via "
				     "NCCL_CONFIG_INITIALIZER");
	rig_nccl_used();
	job = malloc(sizeof(*job));
	if (!job)
		return rig_nccl_fail(ncclSystemError, "Failed to malloc %zu bytes",
				     sizeof(*job));
	*job = *wanted;
	job->phase = job->parent ? RIG_NCCL_SAY : RIG_NCCL_COME;
	*job->ret = NULL;
	if (!job->parent || job->word.color != RIG_NCCL_NO_COLOR) {
		job->comm = rig_nccl_comm_create(wants_to_block(job, config));
		if (!job->comm) {
			free(job);
			return rig_nccl_fail(ncclSystemError,
					     "Failed to calloc a communicator");
		}
		*job->ret = job->comm;
	}
	if (rig_nccl_grouped()) {
		bool blocks = !job->comm || job->comm->blocking;

		rig_nccl_group_job(job);
		return blocks ? ncclSuccess : ncclInProgress;
	}
	return rig_nccl_jobs_run(job, job->comm ? !job->comm->blocking
						: !job->parent->blocking);
}
