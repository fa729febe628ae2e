// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The played NCCL between real processes: each test is a function that every rank runs in a process of
 * its own. What one rank may see of another goes over `stage`; a wrong answer ends the rank with a line
 * on stderr.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "nccl.h"
#include "shim.h"

enum { RANKS = 4, KILLED = 200 };

struct stage {
	ncclUniqueId id;
	_Atomic int has_id, arrived, flag;
};

static struct stage *stage;

/* Not cmocka's assertions: these are processes of their own. */
#define EXPECT(condition) expect(condition, #condition, __LINE__)
static void expect(bool holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "test_nccl.c:%d: rank %s: not so: %s (last error: %s)\n", line, getenv("RANK"),
		what, ncclGetLastError(NULL));
	_exit(1);
}

static void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void meet_all(int arrivals)
{
	atomic_fetch_add(&stage->arrived, 1);
	while (stage->arrived < arrivals)
		nap(1);
}

/* All ranks are here. */
static void meet(int turn)
{
	meet_all(turn * RANKS);
}

/* Done within a time that is long for a computer. */
static bool comes(struct rig_stream *stream)
{
	for (int i = 0; i < 5000; i++) {
		if (rig_stream_done(stream))
			return true;
		nap(1);
	}
	return false;
}

static bool hangs(struct rig_stream *stream)
{
	nap(150);
	return !rig_stream_done(stream);
}

static void run(int ranks, void (*body)(int rank))
{
	pid_t pids[RANKS];

	memset(stage, 0, sizeof(*stage));
	fflush(NULL);
	for (int i = 0; i < ranks; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			char text[16];

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			alarm(60);
			snprintf(text, sizeof(text), "%d", i);
			setenv("RANK", text, 1);
			EXPECT(rig_set_device(i));
			body(i);
			exit(0);
		}
	}
	for (int i = 0; i < ranks; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && stage->flag == KILLED)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail_msg("rank %d ended with status 0x%x", i, (unsigned)status);
	}
}

static ncclUniqueId id_of_stage(int rank)
{
	if (rank == 0) {
		EXPECT(ncclGetUniqueId(&stage->id) == ncclSuccess);
		stage->has_id = 1;
	}
	while (!stage->has_id)
		nap(1);
	return stage->id;
}

static ncclComm_t join(int ranks, int rank)
{
	ncclComm_t comm = NULL;

	EXPECT(ncclCommInitRank(&comm, ranks, id_of_stage(rank), rank) == ncclSuccess);
	EXPECT(comm != NULL);
	return comm;
}

static ncclResult_t all_reduce(ncclComm_t comm, size_t count, struct rig_stream *stream)
{
	return ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm, (cudaStream_t)stream);
}

static ncclResult_t send_to(ncclComm_t comm, int peer, size_t count, struct rig_stream *stream)
{
	return ncclSend(NULL, count, ncclFloat32, peer, comm, (cudaStream_t)stream);
}

static ncclResult_t receive_from(ncclComm_t comm, int peer, size_t count, struct rig_stream *stream)
{
	return ncclRecv(NULL, count, ncclFloat32, peer, comm, (cudaStream_t)stream);
}

/* ---- operations ---- */

static void all_meet(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);
	int n = -1;

	EXPECT(ncclCommCount(comm, &n) == ncclSuccess && n == RANKS);
	EXPECT(ncclCommUserRank(comm, &n) == ncclSuccess && n == rank);
	EXPECT(ncclCommCuDevice(comm, &n) == ncclSuccess && n == rank);
	for (int i = 0; i < 3000; i++) /* more than the log holds */
		EXPECT(all_reduce(comm, 100, stream) == ncclSuccess);
	EXPECT(ncclBroadcast(NULL, NULL, 5, ncclInt8, 1, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclBcast(NULL, 5, ncclInt8, 1, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclReduce(NULL, NULL, 5, ncclInt8, ncclMax, 1, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclAllGather(NULL, NULL, 5, ncclInt8, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclReduceScatter(NULL, NULL, 5, ncclInt8, ncclMin, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclAlltoAll(NULL, NULL, 5, ncclInt8, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclGather(NULL, NULL, 5, ncclInt8, 3, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclScatter(NULL, NULL, 5, ncclInt8, 3, comm, (cudaStream_t)stream) == ncclSuccess);
	EXPECT(comes(stream));
	EXPECT(rig_calls("ncclAllReduce", NULL) == 3000 && rig_calls("collective", "AllReduce") == 3000);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
	EXPECT(ncclCommCount(comm, &n) == ncclInvalidArgument); /* it is gone */
	EXPECT(ncclCommDestroy(comm) == ncclInvalidArgument);
}

static void test_all_meet(void **state)
{
	(void)state;
	run(RANKS, all_meet);
}

static void late(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	if (rank != 2) {
		EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
		EXPECT(hangs(stream));
		meet(1);
	} else {
		meet(1);
		EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	}
	EXPECT(comes(stream));
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_late(void **state)
{
	(void)state;
	run(RANKS, late);
}

/* Rank 1 skips the second: then its third is the second of the others, and their third never ends. */
static void skipped(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	for (int i = 0; i < 3; i++)
		if (rank != 1 || i != 1)
			EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	if (rank == 1)
		EXPECT(comes(stream));
	else
		EXPECT(hangs(stream));
	meet(1);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
	EXPECT(rig_stream_done(stream));
}

static void test_skipped(void **state)
{
	(void)state;
	run(RANKS, skipped);
}

/* Another size, another type of another size, another operation: all hang, and what comes after, too. */
static void mismatch(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(comes(stream));
	EXPECT(all_reduce(comm, rank == 3 ? 8 : 7, stream) == ncclSuccess);
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	meet(1);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
	EXPECT(comes(stream));
}

static void other_kind(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	if (rank == 0)
		EXPECT(ncclAllGather(NULL, NULL, 7, ncclFloat32, comm, (cudaStream_t)stream) ==
		       ncclSuccess);
	else
		EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	meet(1);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void other_root(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	EXPECT(ncclBroadcast(NULL, NULL, 7, ncclInt8, rank == 2, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(hangs(stream));
	meet(1);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void test_mismatch(void **state)
{
	(void)state;
	run(RANKS, mismatch);
	run(RANKS, other_kind);
	run(RANKS, other_root);
}

/* A rank whose stream hangs in something else is not there for the others until it goes on. */
static void stuck_stream(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	EXPECT(rig_rule("on collective match=All* nth=2 rank=1: pending") == 0);
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(comes(stream));
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	meet(1);
	rig_release();
	EXPECT(comes(stream));
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_stuck_stream(void **state)
{
	(void)state;
	run(RANKS, stuck_stream);
}

static void messages(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0), *other = rig_stream_create(0);
	int next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;

	/* A ring, as one group: nobody waits for its turn. */
	EXPECT(ncclGroupStart() == ncclSuccess);
	EXPECT(send_to(comm, next, 3, stream) == ncclSuccess);
	EXPECT(receive_from(comm, before, 3, stream) == ncclSuccess);
	EXPECT(rig_stream_done(stream)); /* nothing is on it before the group's end */
	EXPECT(ncclGroupEnd() == ncclSuccess);
	EXPECT(comes(stream));
	/* To itself. */
	EXPECT(ncclGroupStart() == ncclSuccess);
	EXPECT(receive_from(comm, rank, 3, stream) == ncclSuccess);
	EXPECT(send_to(comm, rank, 3, stream) == ncclSuccess);
	EXPECT(ncclGroupEnd() == ncclSuccess);
	EXPECT(comes(stream));
	meet(1);
	/* 0 sends twice to 1, who takes one of them; the others have nothing to do with it. */
	if (rank == 0) {
		EXPECT(send_to(comm, 1, 9, stream) == ncclSuccess);
		EXPECT(send_to(comm, 1, 9, other) == ncclSuccess);
		EXPECT(comes(stream));
		EXPECT(hangs(other));
	} else if (rank == 1) {
		EXPECT(receive_from(comm, 0, 9, stream) == ncclSuccess);
		EXPECT(comes(stream));
	}
	meet(2);
	if (rank == 1)
		EXPECT(receive_from(comm, 0, 10, other) == ncclSuccess); /* another size */
	if (rank < 2)
		EXPECT(hangs(other));
	meet(3);
	EXPECT((rank < 2 ? ncclCommAbort : ncclCommDestroy)(comm) == ncclSuccess);
}

static void test_messages(void **state)
{
	(void)state;
	run(RANKS, messages);
}

/* One after the other on one stream, both send first: they wait for ever, as in life. */
static void both_send_first(int rank)
{
	ncclComm_t comm = join(2, rank);
	struct rig_stream *stream = rig_stream_create(0);

	EXPECT(send_to(comm, 1 - rank, 3, stream) == ncclSuccess);
	EXPECT(receive_from(comm, 1 - rank, 3, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	meet_all(2);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
	EXPECT(comes(stream));
}

static void test_both_send_first(void **state)
{
	(void)state;
	run(2, both_send_first);
}

static void group_errors(int rank)
{
	ncclComm_t comm = join(1, rank);
	struct rig_stream *stream = rig_stream_create(0);
	ncclRedOp_t op;
	float scalar = 2;

	EXPECT(ncclGroupEnd() == ncclInvalidUsage);
	EXPECT(!strcmp(ncclGetLastError(comm), "ncclGroupEnd: not in a group call."));
	EXPECT(ncclGroupStart() == ncclSuccess && ncclGroupStart() == ncclSuccess);
	EXPECT(all_reduce(comm, 3, stream) == ncclSuccess);
	EXPECT(ncclBroadcast(NULL, NULL, 3, ncclInt8, 1, comm, (cudaStream_t)stream) ==
	       ncclInvalidArgument);
	EXPECT(strstr(ncclGetLastError(comm), "Broadcast : invalid root 1"));
	EXPECT(ncclGroupEnd() == ncclSuccess);
	EXPECT(ncclGroupEnd() == ncclInvalidArgument); /* the outermost tells what went wrong inside */
	EXPECT(ncclGroupStart() == ncclSuccess && ncclGroupEnd() == ncclSuccess);
	EXPECT(all_reduce(comm, 3, stream) == ncclSuccess && comes(stream));
	EXPECT(ncclAllReduce(NULL, NULL, 3, (ncclDataType_t)77, ncclSum, comm, NULL) ==
	       ncclInvalidArgument);
	EXPECT(ncclAllReduce(NULL, NULL, 3, ncclInt8, (ncclRedOp_t)5, comm, NULL) == ncclInvalidArgument);
	EXPECT(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32, ncclScalarHostImmediate, comm) ==
	       ncclSuccess);
	EXPECT(ncclAllReduce(NULL, NULL, 3, ncclFloat32, op, comm, NULL) == ncclSuccess);
	EXPECT(ncclRedOpDestroy(op, comm) == ncclSuccess &&
	       ncclRedOpDestroy(op, comm) == ncclInvalidArgument);
	EXPECT(ncclRedOpDestroy(ncclSum, comm) == ncclInvalidArgument);
	EXPECT(ncclSend(NULL, 1, ncclInt8, 1, comm, NULL) == ncclInvalidArgument);
	EXPECT(all_reduce(NULL, 3, stream) == ncclInvalidArgument);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess && ncclCommDestroy(NULL) == ncclSuccess);
}

static void test_group_errors(void **state)
{
	(void)state;
	run(1, group_errors);
}

/* ---- ends ---- */

/* Whether a peer that is gone is an error, if that is asked for, and none otherwise. */
static bool death_is_told(ncclComm_t comm)
{
	bool wanted = getenv("RIG_NCCL_PEER_DEATH");
	ncclResult_t error = ncclSuccess;

	for (int i = 0; i < (wanted ? 5000 : 500) && !error; i++) {
		EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess);
		nap(1);
	}
	return error == (wanted ? ncclRemoteError : ncclSuccess);
}

static void killed(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);
	ncclResult_t error = ncclSuccess;

	meet(1);
	if (rank == 3) {
		stage->flag = KILLED;
		raise(SIGKILL);
	}
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	EXPECT(death_is_told(comm));
	error = getenv("RIG_NCCL_PEER_DEATH") ? ncclRemoteError : ncclSuccess;
	if (error)
		EXPECT(strstr(ncclGetLastError(comm), "remote peer rank 3") &&
		       all_reduce(comm, 7, stream) == ncclRemoteError);
	EXPECT(!rig_stream_done(stream));
	meet_all(2 * RANKS - 1); /* for who aborts is gone, too */
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
	EXPECT(comes(stream));
}

static int entries(const char *path)
{
	DIR *folder = opendir(path);
	int n = 0;

	if (!folder)
		return -1;
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

/* Rank 3 is killed: the others hang, or get an error if that is asked for; and no file stays. */
static void test_killed(void **state)
{
	int before = entries("/dev/shm");

	(void)state;
	run(RANKS, killed);
	assert_int_equal(entries("/dev/shm"), before);
	setenv("RIG_NCCL_PEER_DEATH", "0.2", 1);
	run(RANKS, killed);
	unsetenv("RIG_NCCL_PEER_DEATH");
}

/* Init waits for the last rank; what it needed is given back at the end. */
static void waits(int rank)
{
	int files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
	ncclComm_t comm;
	struct rig_stream *stream = rig_stream_create(0);

	if (rank == 3) {
		nap(100);
		EXPECT(stage->flag == 0);
	}
	comm = join(RANKS, rank);
	stage->flag = 1;
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess && comes(stream));
	EXPECT(entries("/proc/self/task") == threads + 2); /* progress and service */
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
	EXPECT(entries("/proc/self/fd") == files);
	EXPECT(entries("/proc/self/task") == threads);
}

static void test_waits(void **state)
{
	(void)state;
	run(RANKS, waits);
}

/* Rank 1 aborts: the others notice nothing; with the death of peers, an error. */
static void aborted(int rank)
{
	ncclComm_t comm = join(RANKS, rank);
	struct rig_stream *stream = rig_stream_create(0);

	if (rank == 1)
		EXPECT(ncclCommAbort(comm) == ncclSuccess && ncclCommAbort(comm) == ncclInvalidArgument);
	meet(1);
	if (rank == 1)
		return;
	EXPECT(all_reduce(comm, 7, stream) == ncclSuccess);
	EXPECT(hangs(stream));
	EXPECT(death_is_told(comm));
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void test_aborted(void **state)
{
	(void)state;
	run(RANKS, aborted);
	setenv("RIG_NCCL_PEER_DEATH", "0", 1);
	run(RANKS, aborted);
	unsetenv("RIG_NCCL_PEER_DEATH");
}

static void revoked(int rank)
{
	ncclComm_t comm = join(RANKS, rank), smaller = NULL;
	struct rig_stream *stream = rig_stream_create(0);
	int out = 2, n = -1;

	if (rank != 2)
		EXPECT(all_reduce(comm, 7, stream) == ncclSuccess && hangs(stream));
	EXPECT(ncclCommRevoke(comm, 0) == ncclSuccess && ncclCommRevoke(comm, 0) == ncclInvalidArgument);
	EXPECT(comes(stream));
	EXPECT(all_reduce(comm, 7, stream) == ncclInvalidUsage);
	if (rank != 2) {
		EXPECT(ncclCommShrink(comm, &out, 1, &smaller, NULL, 0) == ncclSuccess);
		EXPECT(ncclCommCount(smaller, &n) == ncclSuccess && n == 3);
		EXPECT(ncclCommUserRank(smaller, &n) == ncclSuccess && n == (rank == 3 ? 2 : rank));
		EXPECT(all_reduce(smaller, 7, stream) == ncclSuccess && comes(stream));
		EXPECT(ncclCommDestroy(smaller) == ncclSuccess);
	}
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_revoked(void **state)
{
	(void)state;
	run(RANKS, revoked);
}

/* ---- from communicators ---- */

static void split(int rank)
{
	ncclComm_t comm = join(RANKS, rank), half = NULL, third = NULL;
	struct rig_stream *stream = rig_stream_create(0);
	int n = -1;

	/* In a group, two at once; the keys turn the order around. */
	EXPECT(ncclGroupStart() == ncclSuccess);
	EXPECT(ncclCommSplit(comm, rank % 2, -rank, &half, NULL) == ncclSuccess);
	EXPECT(ncclCommSplit(comm, rank == 0 ? -1 : 5, 0, &third, NULL) == ncclSuccess);
	EXPECT(ncclGroupEnd() == ncclSuccess);
	EXPECT(ncclCommCount(half, &n) == ncclSuccess && n == 2);
	EXPECT(ncclCommUserRank(half, &n) == ncclSuccess && n == (rank < 2));
	EXPECT((rank == 0) == (third == NULL));
	EXPECT(all_reduce(half, 3, stream) == ncclSuccess && comes(stream));
	if (third) {
		EXPECT(ncclCommUserRank(third, &n) == ncclSuccess && n == rank - 1);
		EXPECT(all_reduce(third, 3, stream) == ncclSuccess && comes(stream));
		EXPECT(ncclCommDestroy(third) == ncclSuccess);
	}
	for (int i = 0; i < 5; i++) {
		ncclComm_t again = NULL;

		EXPECT(ncclCommSplit(comm, 0, rank, &again, NULL) == ncclSuccess);
		EXPECT(ncclCommDestroy(again) == ncclSuccess);
	}
	EXPECT(ncclCommDestroy(half) == ncclSuccess && ncclCommDestroy(comm) == ncclSuccess);
}

static void test_split(void **state)
{
	(void)state;
	run(RANKS, split);
}

/* Three ranks become four. */
static void grow(int rank)
{
	ncclComm_t comm = NULL, bigger = NULL;
	struct rig_stream *stream = rig_stream_create(0);
	ncclUniqueId id;
	int n = -1;

	if (rank < 3) {
		comm = join(3, rank);
		if (rank == 1) {
			EXPECT(ncclCommGetUniqueId(comm, &id) == ncclSuccess);
			stage->id = id;
			stage->flag = 1;
		}
		EXPECT(ncclCommGrow(comm, 4, rank == 1 ? &id : NULL, -1, &bigger, NULL) == ncclSuccess);
		EXPECT(ncclCommDestroy(comm) == ncclSuccess);
	} else {
		while (!stage->flag)
			nap(1);
		id = stage->id;
		EXPECT(ncclCommGrow(NULL, 4, &id, 3, &bigger, NULL) == ncclSuccess);
	}
	EXPECT(ncclCommUserRank(bigger, &n) == ncclSuccess && n == rank);
	EXPECT(all_reduce(bigger, 3, stream) == ncclSuccess && comes(stream));
	EXPECT(ncclCommDestroy(bigger) == ncclSuccess);
}

static void test_grow(void **state)
{
	(void)state;
	run(RANKS, grow);
}

static void one_process(int rank)
{
	struct rig_stream *stream = rig_stream_create(0);
	ncclComm_t comms[RANKS];

	EXPECT(ncclCommInitAll(comms, RANKS, NULL) == ncclSuccess && rig_device() == rank);
	EXPECT(all_reduce(comms[0], 3, stream) == ncclSuccess && hangs(stream));
	EXPECT(ncclGroupStart() == ncclSuccess);
	for (int i = 1; i < RANKS; i++)
		EXPECT(all_reduce(comms[i], 3, rig_stream_create(0)) == ncclSuccess);
	EXPECT(!rig_stream_done(stream));
	EXPECT(ncclGroupEnd() == ncclSuccess && comes(stream));
	for (int i = 0; i < RANKS; i++)
		EXPECT(ncclCommDestroy(comms[i]) == ncclSuccess);
}

static void test_one_process(void **state)
{
	(void)state;
	run(1, one_process);
}

/* ---- init ---- */

static void same_device(int rank)
{
	ncclComm_t comm = NULL;

	EXPECT(rig_set_device(0));
	EXPECT(ncclCommInitRank(&comm, 2, id_of_stage(rank), rank) == ncclInvalidUsage && comm == NULL);
	EXPECT(strstr(ncclGetLastError(NULL), "Duplicate GPU detected"));
	setenv("CUDA_VISIBLE_DEVICES", rank ? "5" : "3", 1); /* each one its own */
	meet_all(2);
	if (rank == 0) {
		EXPECT(ncclGetUniqueId(&stage->id) == ncclSuccess);
		stage->flag = 1;
	}
	while (!stage->flag)
		nap(1);
	EXPECT(ncclCommInitRank(&comm, 2, stage->id, rank) == ncclSuccess);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_same_device(void **state)
{
	(void)state;
	run(2, same_device);
}

static void wrong_init(int rank)
{
	ncclConfig_t config = {.size = sizeof(config)};
	ncclComm_t comm = NULL;
	ncclUniqueId id = {{0}};

	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclInvalidArgument);
	id = id_of_stage(rank);
	EXPECT(ncclCommInitRank(&comm, 2, id, 2) == ncclInvalidArgument);
	EXPECT(ncclCommInitRank(&comm, 65, id, 2) == ncclSystemError);
	EXPECT(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclInvalidArgument);
	EXPECT(rig_rule("on ncclCommInitRank nth=1: error=2 text=\"no route to host\"") == 0);
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclSystemError);
	EXPECT(!strcmp(ncclGetLastError(NULL), "no route to host"));
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess);
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclRemoteError); /* an id is for one communicator */
}

static void test_wrong_init(void **state)
{
	(void)state;
	run(1, wrong_init);
}

/* Without a second rank init goes on for ever; a handle that does not block can be asked and aborted. */
static void alone(int rank)
{
	ncclConfig_t config = {.size = sizeof(config), .magic = RIG_NCCL_CONFIG_MAGIC, .blocking = 0};
	ncclComm_t comm = NULL;
	ncclResult_t error;

	EXPECT(ncclCommInitRankConfig(&comm, 2, id_of_stage(rank), 0, &config) == ncclInProgress && comm);
	nap(100);
	EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess && error == ncclInProgress);
	EXPECT(all_reduce(comm, 3, NULL) == ncclInvalidArgument);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void does_not_block(int rank)
{
	ncclConfig_t config = {.size = sizeof(config), .magic = RIG_NCCL_CONFIG_MAGIC, .blocking = 0};
	struct rig_stream *stream = rig_stream_create(0);
	ncclComm_t comm = NULL, half = NULL;
	ncclResult_t error = ncclInProgress;

	EXPECT(ncclCommInitRankConfig(&comm, RANKS, id_of_stage(rank), rank, &config) == ncclInProgress);
	while (error == ncclInProgress)
		EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess);
	EXPECT(error == ncclSuccess);
	error = ncclCommSplit(comm, rank % 2, 0, &half, NULL);
	EXPECT(error == ncclInProgress && half);
	while (error == ncclInProgress)
		EXPECT(ncclCommGetAsyncError(half, &error) == ncclSuccess);
	EXPECT(all_reduce(half, 3, stream) == ncclSuccess && comes(stream));
	EXPECT(ncclCommFinalize(half) == ncclInProgress);
	EXPECT(ncclCommGetAsyncError(half, &error) == ncclSuccess && error == ncclSuccess);
	EXPECT(ncclCommDestroy(half) == ncclSuccess);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void test_does_not_block(void **state)
{
	(void)state;
	run(1, alone);
	run(RANKS, does_not_block);
}

/* ---- errors ---- */

static void on_cue(int rank)
{
	ncclComm_t comm = join(1, rank);
	ncclResult_t error;

	EXPECT(rig_rule("on ncclCommGetAsyncError cue=now count=1: error=2 text=\"link down\"") == 0);
	EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess && error == ncclSuccess);
	rig_cue("now");
	for (int i = 0; i < 2; i++) /* it stays */
		EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess && error == ncclSystemError);
	EXPECT(!strcmp(ncclGetLastError(comm), "link down"));
	EXPECT(!strcmp(ncclGetErrorString(error),
		       "unhandled system error (run with NCCL_DEBUG=INFO for details)"));
	EXPECT(all_reduce(comm, 3, NULL) == ncclSystemError);
	EXPECT(rig_rule("on ncclCommAbort nth=1: error=3") == 0);
	EXPECT(ncclCommAbort(comm) == ncclInternalError);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void broken_device(int rank)
{
	ncclComm_t comm = join(1, rank);
	struct rig_stream *stream = rig_stream_create(0);

	EXPECT(rig_rule("on collective match=AllReduce nth=1: sticky=700") == 0);
	EXPECT(all_reduce(comm, 3, stream) ==
	       ncclSuccess); /* the error is the device's, and comes later */
	EXPECT(rig_broken() == 700);
	EXPECT(all_reduce(comm, 3, stream) == ncclUnhandledCudaError);
	EXPECT(strstr(ncclGetLastError(comm), "Cuda failure"));
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void after_fork(int rank)
{
	ncclComm_t comm = join(1, rank);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		EXPECT(all_reduce(comm, 3, NULL) == ncclUnhandledCudaError);
		EXPECT(ncclCommAbort(comm) == ncclUnhandledCudaError);
		EXPECT(ncclGetVersion(&status) == ncclSuccess);
		_exit(0);
	}
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_errors(void **state)
{
	(void)state;
	run(1, on_cue);
	run(1, broken_device);
	run(1, after_fork);
}

static void test_words(void **state)
{
	static const struct {
		const char *version, *usage;
		int code;
	} cases[] = {
		{"2.14.3", "invalid usage", 21403},
		{"2.27.5", "invalid usage (run with NCCL_DEBUG=WARN for details)", 22705},
		{"2.8.4", "invalid usage", 2804},
	};
	int code;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		setenv("RIG_NCCL_VERSION", cases[i].version, 1);
		assert_int_equal(ncclGetVersion(&code), ncclSuccess);
		assert_int_equal(code, cases[i].code);
		assert_string_equal(ncclGetErrorString(ncclInvalidUsage), cases[i].usage);
		assert_string_equal(ncclGetErrorString((ncclResult_t)99), "unknown result code");
	}
	setenv("RIG_NCCL_VERSION", "2.x", 1);
	assert_int_equal(ncclGetVersion(&code), ncclSystemError);
	unsetenv("RIG_NCCL_VERSION");
	assert_int_equal(ncclGetVersion(NULL), ncclInvalidArgument);
}

static void memory(int rank)
{
	ncclComm_t comm = join(1, rank);
	void *address = NULL, *handle = NULL;
	ncclWindow_t window = (ncclWindow_t)&handle;

	EXPECT(ncclMemAlloc(&address, 1 << 20) == ncclSuccess && rig_owner((uintptr_t)address) == rank);
	EXPECT(ncclCommRegister(comm, address, 1 << 20, &handle) == ncclSuccess && handle);
	EXPECT(ncclCommDeregister(comm, handle) == ncclSuccess);
	EXPECT(ncclCommWindowRegister(comm, address, 1 << 20, &window, 0) == ncclSuccess && !window);
	EXPECT(ncclCommWindowDeregister(comm, window) == ncclSuccess);
	EXPECT(ncclDevCommCreate(comm, NULL, NULL) == ncclInvalidUsage);
	EXPECT(ncclMemFree(address) == ncclSuccess && ncclMemFree(address) == ncclUnhandledCudaError);
	EXPECT(ncclMemAlloc(&address, 1ull << 50) == ncclUnhandledCudaError);
	EXPECT(ncclCommSuspend(comm, 1) == ncclSuccess && all_reduce(comm, 3, NULL) == ncclInvalidUsage);
	EXPECT(ncclCommResume(comm) == ncclSuccess && all_reduce(comm, 3, NULL) == ncclSuccess);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
}

static void test_memory(void **state)
{
	(void)state;
	run(1, memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_meet),        cmocka_unit_test(test_late),
		cmocka_unit_test(test_skipped),         cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_stuck_stream),    cmocka_unit_test(test_messages),
		cmocka_unit_test(test_both_send_first), cmocka_unit_test(test_group_errors),
		cmocka_unit_test(test_killed),          cmocka_unit_test(test_waits),
		cmocka_unit_test(test_aborted),         cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_split),           cmocka_unit_test(test_grow),
		cmocka_unit_test(test_one_process),     cmocka_unit_test(test_same_device),
		cmocka_unit_test(test_wrong_init),      cmocka_unit_test(test_does_not_block),
		cmocka_unit_test(test_errors),          cmocka_unit_test(test_words),
		cmocka_unit_test(test_memory),
	};

	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (stage == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}
