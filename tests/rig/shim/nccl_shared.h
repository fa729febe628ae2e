/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the ranks of one communicator share: a file without a name.
 *
 * The process that makes the unique id keeps the file; the others open it through
 * /proc/PID/fd, for the id says which. So nothing is left behind, however a rank ends,
 * and whoever comes after the id's maker is gone cannot join: as with the real id, which
 * is the address of a socket.
 *
 * There are no locks in it, only counters that grow: a rank that is killed leaves nothing
 * half done.
 */
#ifndef RIG_NCCL_SHARED_H
#define RIG_NCCL_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl.h"

enum {
	RIG_NCCL_RANKS = 64, /* of one communicator: processes on this machine */
	RIG_NCCL_COLLECTIVES =
		1024, /* logged of each rank: as far as one can be ahead of another */
	RIG_NCCL_MESSAGES = 128, /* the same of each pair of ranks */
};

enum rig_nccl_state {
	RIG_NCCL_ABSENT,
	RIG_NCCL_COMES,
	RIG_NCCL_HERE,
	RIG_NCCL_LEFT,
	RIG_NCCL_ABORTED
};

/* What a rank says when all, or some, agree on a new communicator. */
struct rig_nccl_word {
	int color, key;
	bool has_id; /* the id below is to be used */
	ncclUniqueId id;
};

struct rig_nccl_rank {
	_Atomic int state; /* enum rig_nccl_state */
	_Atomic int pid;
	_Atomic uint64_t started; /* of the process, as /proc says it: a number that is
				     used again is another */
	_Atomic int device;       /* of the machine, not of the process */
	_Atomic uint64_t
		words; /* said so far; two are kept, for nobody can be further ahead */
	struct rig_nccl_word word[2];
};

struct rig_nccl_shared {
	uint8_t cookie[16]; /* as in the id */
	_Atomic int nranks; /* 0: nobody has come yet */
	_Atomic int here;   /* how many are */
	struct rig_nccl_rank rank[RIG_NCCL_RANKS];
};

/* An operation as it is logged; the same of all who take part, or it never ends. */
struct rig_nccl_entry {
	uint64_t bytes;
	uint64_t what; /* kind, type, root */
};

/*
 * A channel: its sides log operation after operation, number 0, 1, 2 ...; one is done
 * when all sides have logged the same. The collectives of a communicator are a channel
 * with a side for each rank, each ordered pair of ranks is one with two: sender and
 * receiver.
 */
struct rig_nccl_channel {
	_Atomic uint64_t *done;
	unsigned char *sides;
	int count;
	uint32_t depth;
};

/* 0 or errno. The file lives until rig_nccl_forget(), or until this process ends. */
int rig_nccl_make_id(ncclUniqueId *id);
void rig_nccl_forget(const ncclUniqueId *id);

/* The id's file, mapped for a communicator of NRANKS; on failure *WHY has the words for
 * ncclGetLastError(). */
ncclResult_t rig_nccl_map(const ncclUniqueId *id, int nranks,
			  struct rig_nccl_shared **shared, const char **why);
void rig_nccl_collectives(struct rig_nccl_shared *shared,
			  struct rig_nccl_channel *channel);
void rig_nccl_pair(struct rig_nccl_shared *shared, int from, int to,
		   struct rig_nccl_channel *channel);

/* Logs operation NUMBER of a side: false if the log is full. */
bool rig_nccl_post(struct rig_nccl_channel *channel, int side, uint64_t number,
		   struct rig_nccl_entry entry);
/* How many operations are done. */
uint64_t rig_nccl_done(struct rig_nccl_channel *channel);

/* Start of a process in clock ticks; 0: it is gone, or dead and not yet waited for. */
uint64_t rig_nccl_started(int pid);

#endif
