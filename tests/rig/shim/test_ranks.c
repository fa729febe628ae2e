/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the ranks of a test in processes of their own, and what these use to meet and to wait. */
#include "test_ranks.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct stage *stage;

void expect(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: rank %s: not so: %s (last error: %s)\n", file, line,
		getenv("RANK"), what, ncclGetLastError(NULL));
	_exit(1);
}

void nap(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

void meet_all(int arrivals)
{
	atomic_fetch_add(&stage->arrived, 1);
	while (stage->arrived < arrivals)
		nap(1);
}

void meet(int turn)
{
	meet_all(turn * RANKS);
}

bool comes(struct rig_stream *stream)
{
	for (int i = 0; i < 5000; i++) {
		if (rig_stream_done(stream))
			return true;
		nap(1);
	}
	return false;
}

bool hangs(struct rig_stream *stream)
{
	nap(150);
	return !rig_stream_done(stream);
}

void run(int ranks, void (*body)(int rank))
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
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
		    stage->flag == KILLED)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail_msg("rank %d ended with status 0x%x", i, (unsigned)status);
	}
}

ncclUniqueId id_of_stage(int rank)
{
	if (rank == 0) {
		EXPECT(ncclGetUniqueId(&stage->id) == ncclSuccess);
		stage->has_id = 1;
	}
	while (!stage->has_id)
		nap(1);
	return stage->id;
}

ncclComm_t join(int ranks, int rank)
{
	ncclComm_t comm = NULL;

	EXPECT(ncclCommInitRank(&comm, ranks, id_of_stage(rank), rank) == ncclSuccess);
	EXPECT(comm != NULL);
	return comm;
}

ncclResult_t all_reduce(ncclComm_t comm, size_t count, struct rig_stream *stream)
{
	return ncclAllReduce(NULL, NULL, count, ncclFloat32, ncclSum, comm,
			     (cudaStream_t)stream);
}

ncclResult_t send_to(ncclComm_t comm, int peer, size_t count, struct rig_stream *stream)
{
	return ncclSend(NULL, count, ncclFloat32, peer, comm, (cudaStream_t)stream);
}

ncclResult_t receive_from(ncclComm_t comm, int peer, size_t count,
			  struct rig_stream *stream)
{
	return ncclRecv(NULL, count, ncclFloat32, peer, comm, (cudaStream_t)stream);
}

int entries(const char *path)
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

bool make_stage(void)
{
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return stage != MAP_FAILED;
}
