/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operations of the played NCCL between real processes, and its errors: those on cue, of the
 * device, after fork(); and its words.
 */
#include "test_ranks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
	EXPECT(ncclBroadcast(NULL, NULL, 5, ncclInt8, 1, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclBcast(NULL, 5, ncclInt8, 1, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclReduce(NULL, NULL, 5, ncclInt8, ncclMax, 1, comm,
			  (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclAllGather(NULL, NULL, 5, ncclInt8, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclReduceScatter(NULL, NULL, 5, ncclInt8, ncclMin, comm,
				 (cudaStream_t)stream) == ncclSuccess);
	EXPECT(ncclAlltoAll(NULL, NULL, 5, ncclInt8, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclGather(NULL, NULL, 5, ncclInt8, 3, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(ncclScatter(NULL, NULL, 5, ncclInt8, 3, comm, (cudaStream_t)stream) ==
	       ncclSuccess);
	EXPECT(comes(stream));
	EXPECT(rig_calls("ncclAllReduce", NULL) == 3000 &&
	       rig_calls("collective", "AllReduce") == 3000);
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

/* Rank 1 skips the second: then its third is the second of the others, and their third
 * never ends. */
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

/* Another size, another type of another size, another operation: all hang, and what comes
 * after, too. */
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
		EXPECT(ncclAllGather(NULL, NULL, 7, ncclFloat32, comm,
				     (cudaStream_t)stream) == ncclSuccess);
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

	EXPECT(ncclBroadcast(NULL, NULL, 7, ncclInt8, rank == 2, comm,
			     (cudaStream_t)stream) == ncclSuccess);
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

/* A rank whose stream hangs in something else is not there for the others until it goes
 * on. */
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
	/* 0 sends twice to 1, who takes one of them; the others have nothing to do with
	 * it. */
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
		EXPECT(receive_from(comm, 0, 10, other) ==
		       ncclSuccess); /* another size */
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
	EXPECT(ncclGroupEnd() ==
	       ncclInvalidArgument); /* the outermost tells what went wrong inside */
	EXPECT(ncclGroupStart() == ncclSuccess && ncclGroupEnd() == ncclSuccess);
	EXPECT(all_reduce(comm, 3, stream) == ncclSuccess && comes(stream));
	EXPECT(ncclAllReduce(NULL, NULL, 3, (ncclDataType_t)77, ncclSum, comm, NULL) ==
	       ncclInvalidArgument);
	EXPECT(ncclAllReduce(NULL, NULL, 3, ncclInt8, (ncclRedOp_t)5, comm, NULL) ==
	       ncclInvalidArgument);
	EXPECT(ncclRedOpCreatePreMulSum(&op, &scalar, ncclFloat32,
					ncclScalarHostImmediate, comm) == ncclSuccess);
	EXPECT(ncclAllReduce(NULL, NULL, 3, ncclFloat32, op, comm, NULL) == ncclSuccess);
	EXPECT(ncclRedOpDestroy(op, comm) == ncclSuccess &&
	       ncclRedOpDestroy(op, comm) == ncclInvalidArgument);
	EXPECT(ncclRedOpDestroy(ncclSum, comm) == ncclInvalidArgument);
	EXPECT(ncclSend(NULL, 1, ncclInt8, 1, comm, NULL) == ncclInvalidArgument);
	EXPECT(all_reduce(NULL, 3, stream) == ncclInvalidArgument);
	EXPECT(ncclCommDestroy(comm) == ncclSuccess &&
	       ncclCommDestroy(NULL) == ncclSuccess);
}

static void test_group_errors(void **state)
{
	(void)state;
	run(1, group_errors);
}

/* ---- errors ---- */

static void on_cue(int rank)
{
	ncclComm_t comm = join(1, rank);
	ncclResult_t error;

	EXPECT(rig_rule("on ncclCommGetAsyncError cue=now count=1: error=2 text=\"link "
			"down\"") == 0);
	EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess &&
	       error == ncclSuccess);
	rig_cue("now");
	for (int i = 0; i < 2; i++) /* it stays */
		EXPECT(ncclCommGetAsyncError(comm, &error) == ncclSuccess &&
		       error == ncclSystemError);
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

/* A child can use nothing of it, and does not hinder the parent: loaders of data are such
 * children. */
static void after_fork(int rank)
{
	ncclComm_t comm = join(1, rank);
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		EXPECT(all_reduce(comm, 3, NULL) == ncclUnhandledCudaError);
		EXPECT(ncclCommAbort(comm) == ncclUnhandledCudaError);
		EXPECT(ncclGetVersion(&status) == ncclSuccess);
		while (!stage->flag)
			nap(1);
		_exit(0);
	}
	EXPECT(ncclCommDestroy(comm) == ncclSuccess);
	stage->flag = 1;
	EXPECT(waitpid(pid, &status, 0) == pid && status == 0);
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
		assert_string_equal(ncclGetErrorString((ncclResult_t)99),
				    "unknown result code");
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

	EXPECT(ncclMemAlloc(&address, 1 << 20) == ncclSuccess &&
	       rig_owner((uintptr_t)address) == rank);
	EXPECT(ncclCommRegister(comm, address, 1 << 20, &handle) == ncclSuccess &&
	       handle);
	EXPECT(ncclCommDeregister(comm, handle) == ncclSuccess);
	EXPECT(ncclCommWindowRegister(comm, address, 1 << 20, &window, 0) ==
		       ncclSuccess &&
	       !window);
	EXPECT(ncclCommWindowDeregister(comm, window) == ncclSuccess);
	EXPECT(ncclDevCommCreate(comm, NULL, NULL) == ncclInvalidUsage);
	EXPECT(ncclMemFree(address) == ncclSuccess &&
	       ncclMemFree(address) == ncclUnhandledCudaError);
	EXPECT(ncclMemAlloc(&address, 1ull << 50) == ncclUnhandledCudaError);
	EXPECT(ncclCommSuspend(comm, 1) == ncclSuccess &&
	       all_reduce(comm, 3, NULL) == ncclInvalidUsage);
	EXPECT(ncclCommResume(comm) == ncclSuccess &&
	       all_reduce(comm, 3, NULL) == ncclSuccess);
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
		cmocka_unit_test(test_all_meet),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_skipped),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_stuck_stream),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_both_send_first),
		cmocka_unit_test(test_group_errors),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_memory),
	};

	return make_stage() ? cmocka_run_group_tests_name("test_nccl", tests, NULL, NULL)
			    : 1;
}
