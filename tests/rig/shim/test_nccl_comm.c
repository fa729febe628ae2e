/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How communicators of the played NCCL begin and end: init, split, shrink, grow, abort, death. */
#include "test_ranks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

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

/* Rank 3 is killed: the others hang, or get an error if that is asked for; and no file
 * stays. */
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
		EXPECT(ncclCommAbort(comm) == ncclSuccess &&
		       ncclCommAbort(comm) == ncclInvalidArgument);
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
	EXPECT(ncclCommRevoke(comm, 0) == ncclSuccess &&
	       ncclCommRevoke(comm, 0) == ncclInvalidArgument);
	EXPECT(comes(stream));
	EXPECT(all_reduce(comm, 7, stream) == ncclInvalidUsage);
	if (rank != 2) {
		EXPECT(ncclCommShrink(comm, &out, 1, &smaller, NULL, 0) == ncclSuccess);
		EXPECT(ncclCommCount(smaller, &n) == ncclSuccess && n == 3);
		EXPECT(ncclCommUserRank(smaller, &n) == ncclSuccess &&
		       n == (rank == 3 ? 2 : rank));
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
	EXPECT(ncclCommDestroy(half) == ncclSuccess &&
	       ncclCommDestroy(comm) == ncclSuccess);
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
		EXPECT(ncclCommGrow(comm, 4, rank == 1 ? &id : NULL, -1, &bigger, NULL) ==
		       ncclSuccess);
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

	EXPECT(ncclCommInitAll(comms, RANKS, NULL) == ncclSuccess &&
	       rig_device() == rank);
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
	EXPECT(ncclCommInitRank(&comm, 2, id_of_stage(rank), rank) == ncclInvalidUsage &&
	       comm == NULL);
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
	EXPECT(rig_rule("on ncclCommInitRank nth=1: error=2 text=\"no route to host\"") ==
	       0);
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclSystemError);
	EXPECT(!strcmp(ncclGetLastError(NULL), "no route to host"));
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) == ncclSuccess);
	EXPECT(ncclCommInitRank(&comm, 1, id, 0) ==
	       ncclRemoteError); /* an id is for one communicator */
}

static void test_wrong_init(void **state)
{
	(void)state;
	run(1, wrong_init);
}

/* Without a second rank init goes on for ever; a handle that does not block can be asked
 * and aborted. */
static void alone(int rank)
{
	ncclConfig_t config = {
		.size = sizeof(config), .magic = RIG_NCCL_CONFIG_MAGIC, .blocking = 0};
	ncclComm_t comm = NULL;
	ncclResult_t error;

	EXPECT(ncclCommInitRankConfig(&comm, 2, id_of_stage(rank), 0, &config) ==
		       ncclInProgress &&
	       comm);
	nap(100);
	EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess &&
	       error == ncclInProgress);
	EXPECT(all_reduce(comm, 3, NULL) == ncclInvalidArgument);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void does_not_block(int rank)
{
	ncclConfig_t config = {
		.size = sizeof(config), .magic = RIG_NCCL_CONFIG_MAGIC, .blocking = 0};
	struct rig_stream *stream = rig_stream_create(0);
	ncclComm_t comm = NULL, half = NULL;
	ncclResult_t error = ncclInProgress;

	EXPECT(ncclCommInitRankConfig(&comm, RANKS, id_of_stage(rank), rank, &config) ==
	       ncclInProgress);
	while (error == ncclInProgress)
		EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess);
	EXPECT(error == ncclSuccess);
	error = ncclCommSplit(comm, rank % 2, 0, &half, NULL);
	EXPECT(error == ncclInProgress && half);
	while (error == ncclInProgress)
		EXPECT(ncclCommGetAsyncError(half, &error) == ncclSuccess);
	EXPECT(all_reduce(half, 3, stream) == ncclSuccess && comes(stream));
	EXPECT(ncclCommFinalize(half) == ncclInProgress);
	EXPECT(ncclCommGetAsyncError(half, &error) == ncclSuccess &&
	       error == ncclSuccess);
	EXPECT(ncclCommDestroy(half) == ncclSuccess);
	EXPECT(ncclCommAbort(comm) == ncclSuccess);
}

static void test_does_not_block(void **state)
{
	(void)state;
	run(1, alone);
	run(RANKS, does_not_block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed),      cmocka_unit_test(test_waits),
		cmocka_unit_test(test_aborted),     cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_split),       cmocka_unit_test(test_grow),
		cmocka_unit_test(test_one_process), cmocka_unit_test(test_same_device),
		cmocka_unit_test(test_wrong_init),  cmocka_unit_test(test_does_not_block),
	};

	return make_stage()
		       ? cmocka_run_group_tests_name("test_nccl_comm", tests, NULL, NULL)
		       : 1;
}
