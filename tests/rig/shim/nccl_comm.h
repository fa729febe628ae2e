/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A played communicator: what one rank keeps of it, and how the entry points of nccl_*.c
 * use it.
 *
 * A communicator is never freed: streams hold tickets of its operations for as long as
 * they like, and a program that uses a destroyed one gets an error. What ends is its
 * threads.
 */
#ifndef RIG_NCCL_COMM_H
#define RIG_NCCL_COMM_H

#include <pthread.h>

#include "model.h"
#include "nccl_shared.h"

/* The other name of a public entry point, as the library itself has it for profilers. */
#define RIG_NCCL_PUBLIC(name)                                                            \
	extern RIG_EXPORT __typeof__(name) name;                                         \
	extern RIG_EXPORT __typeof__(name) p##name __attribute__((alias(#name)))

/* This rank's end of a channel; the owner of the tickets. */
struct rig_nccl_lane {
	struct ncclComm *comm;
	struct rig_nccl_channel channel;
	int side;
	uint64_t next; /* number of the next operation; under the communicator's lock */
};

/* An operation that is not in the log yet: its stream has not come to it, or the log is
 * full. */
struct rig_nccl_waiting {
	struct rig_nccl_waiting *next;
	struct rig_nccl_lane *lane;
	uint64_t number;
	struct rig_nccl_entry entry;
	struct rig_ticket after; /* all that was on the stream before */
};

struct ncclComm {
	_Atomic uint64_t magic; /* RIG_NCCL_MAGIC while the program may use it */
	struct ncclComm *next;  /* of all that ever were */
	int rank, nranks, device;
	bool blocking;
	struct rig_nccl_shared *shared;
	struct rig_nccl_lane collectives;
	struct rig_nccl_lane *send, *receive; /* by peer */

	_Atomic int result;    /* ncclResult_t that ncclCommGetAsyncError() gives */
	_Atomic bool starting; /* a thread that joins it may still be at work */
	_Atomic bool quiet;    /* its operations are over, whatever the others do */
	_Atomic bool aborted;  /* and whatever waits for other ranks gives up */
	_Atomic bool revoked, suspended, finalized;

	pthread_mutex_t lock; /* guards what follows, and the lanes' numbers */
	pthread_cond_t wake;
	struct rig_nccl_waiting *first, **last;
	unsigned waiting;
	bool stop;
	uint64_t operations[8]; /* bits: reductions that the program has made */

	bool has_threads;
	pthread_t progress, service;
	int socket[2]; /* the service thread's, and the end that stops it */
};

#define RIG_NCCL_MAGIC 0x6c63636e67697221u

/* ---- nccl_error.c ---- */

/* What ncclGetLastError() says from now on. Returns RESULT. */
ncclResult_t rig_nccl_fail(ncclResult_t result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* CUDA's error, as NCCL words it. */
ncclResult_t rig_nccl_cuda_fails(int error);
/*
 * What every entry point that needs the device begins with: rules, fork. ncclSuccess, or
 * what the call returns. VERDICT may be NULL: then what a rule breaks is broken here.
 */
ncclResult_t rig_nccl_enter(const char *call, struct rig_verdict *verdict);
/* From now on a child made by fork() can use nothing of this. */
void rig_nccl_used(void);
/* MAJOR, MINOR, PATCH in NCCL's own code; 0: RIG_NCCL_VERSION is not a version (said on
 * stderr). */
int rig_nccl_version(void);

/* ---- nccl_comm.c ---- */

void rig_nccl_nap(unsigned turn); /* between two looks: short at first */
struct ncclComm *rig_nccl_comm_create(bool blocking);
/* The communicator's own state when all ranks are there: lanes and threads. */
ncclResult_t rig_nccl_comm_start(struct ncclComm *comm);
/* ncclSuccess: COMM is one that may be used. READY: and its last call is over, nothing
 * has failed. */
ncclResult_t rig_nccl_comm_check(struct ncclComm *comm, const char *call);
ncclResult_t rig_nccl_comm_ready(struct ncclComm *comm, const char *call);
/* The first error stays. */
void rig_nccl_comm_fail(struct ncclComm *comm, ncclResult_t result);
/* All that was put on it is done. */
bool rig_nccl_comm_idle(struct ncclComm *comm);
/* No operation waits for anybody any more. */
void rig_nccl_comm_quiet(struct ncclComm *comm);
/* Ends the threads; the program's handle is worth nothing from now on. */
void rig_nccl_comm_end(struct ncclComm *comm, enum rig_nccl_state state);

/* ---- nccl_job.c: what needs other ranks before it is over ---- */

enum rig_nccl_phase {
	RIG_NCCL_SAY,
	RIG_NCCL_HEAR,
	RIG_NCCL_COME,
	RIG_NCCL_ALL,
	RIG_NCCL_OVER
};

struct rig_nccl_job {
	struct rig_nccl_job *next;
	enum rig_nccl_phase phase;
	struct ncclComm *comm;   /* the new one */
	ncclComm_t *ret;         /* where the program wants it */
	struct ncclComm *parent; /* that it comes from; NULL: none */
	uint64_t members;        /* of the parent: who has to be heard */
	uint64_t number;         /* of the word that is said to the parent's ranks */
	struct rig_nccl_word word;
	bool grow; /* the parent's ranks keep their numbers, the id is the one that has
		      one */
	ncclUniqueId id;
	int nranks, rank;
	ncclResult_t result;
};

/*
 * Runs a copy of the job now, in the background (a communicator that does not block) or
 * at the end of the group. CONFIG may be NULL. The job's communicator is made here.
 */
ncclResult_t rig_nccl_job_start(const struct rig_nccl_job *wanted,
				const ncclConfig_t *config);
/* Runs a list of jobs to their end, all together, or lets them fail; frees them. */
ncclResult_t rig_nccl_jobs_run(struct rig_nccl_job *jobs, bool background);
void rig_nccl_jobs_drop(struct rig_nccl_job *jobs, ncclResult_t result);

/* ---- nccl_group.c ---- */

struct rig_nccl_operation {
	struct rig_nccl_operation *next;
	struct rig_nccl_lane *lane;
	struct rig_nccl_entry entry;
	struct rig_stream *stream;
	struct rig_verdict verdict[2]; /* of the entry point, of the collective */
};

bool rig_nccl_grouped(void);
void rig_nccl_group_job(struct rig_nccl_job *job);
/* Puts the operation on its stream, now or at the end of the group. */
ncclResult_t rig_nccl_operate(const struct rig_nccl_operation *operation);
/* The group's result is this one, unless it has failed already. Returns RESULT. */
ncclResult_t rig_nccl_group_note(ncclResult_t result);

/* ---- nccl_thread.c ---- */

int rig_nccl_threads_start(struct ncclComm *comm); /* 0 or errno */
void rig_nccl_threads_end(struct ncclComm *comm);
/* Logs what can be logged, under the lock. */
void rig_nccl_drain(struct ncclComm *comm);

#endif
