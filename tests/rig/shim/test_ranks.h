/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of the played NCCL run in real processes: a test is a function that every rank
 * runs in one of its own. What a rank may see of another goes over `stage`; a wrong
 * answer ends the rank with a line on stderr, and the test with it.
 */
#ifndef RIG_TEST_RANKS_H
#define RIG_TEST_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nccl.h"
#include "shim.h"

enum {
	RANKS = 4,
	KILLED = 200, /* in `flag`: a rank may die of SIGKILL */
};

/* Shared by all processes; cleared before each run. */
struct stage {
	ncclUniqueId id;
	_Atomic int has_id, arrived, flag;
};
extern struct stage *stage;

/* Not cmocka's assertions: these are for processes that it knows nothing of. */
#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)
void expect(bool holds, const char *what, const char *file, int line);

/* Forks RANKS processes with RANK and a device each, and waits for them. */
void run(int ranks, void (*body)(int rank));
/* As run() for tests whose main() has made the stage. */
bool make_stage(void);

void nap(long ms);
/* Waits until so many have arrived, all runs of meet_all() together; meet(): all ranks,
 * for the TURN-th time. */
void meet_all(int arrivals);
void meet(int turn);
/* Done within a time that is long for a computer; not done after a while that is long for
 * the played one.
 */
bool comes(struct rig_stream *stream);
bool hangs(struct rig_stream *stream);
/* How many entries a folder has. */
int entries(const char *path);

/* Rank 0 makes an id, all get it; join(): and a communicator of RANKS from it. */
ncclUniqueId id_of_stage(int rank);
ncclComm_t join(int ranks, int rank);
ncclResult_t all_reduce(ncclComm_t comm, size_t count, struct rig_stream *stream);
ncclResult_t send_to(ncclComm_t comm, int peer, size_t count, struct rig_stream *stream);
ncclResult_t receive_from(ncclComm_t comm, int peer, size_t count,
			  struct rig_stream *stream);

#endif
