/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that the ranks share: how it is found by the id, what lies where in it, and when an
 * operation is done.
 */
#include "nccl_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096 };

/* The id, opaque to all others: filled up with random bytes. */
struct id {
	uint8_t magic[8];
	uint64_t started;
	int32_t pid;
	int32_t file;
	uint8_t cookie[16];
};
_Static_assert(sizeof(struct id) <= RIG_NCCL_BYTES_OF_ID, "id");

static const uint8_t magic[8] = {'r', 'i', 'g', 'n', 'c', 'c', 'l', 1};

/* One side's log. The words are read while they are written by ranks that are ahead: see
 * rig_nccl_done().
 */
struct side {
	_Atomic uint64_t posted;
	_Atomic uint64_t words[][2];
};

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static size_t side_size(uint32_t depth)
{
	return round_up(sizeof(struct side) + (size_t)depth * 2 * sizeof(uint64_t), LINE);
}

static size_t channel_size(int sides, uint32_t depth)
{
	return LINE + (size_t)sides * side_size(depth);
}

static size_t pairs_start(int nranks)
{
	return round_up(sizeof(struct rig_nccl_shared), PAGE) +
	       channel_size(nranks, RIG_NCCL_COLLECTIVES);
}

static size_t file_size(int nranks)
{
	return round_up(pairs_start(nranks) + (size_t)(nranks * nranks) *
						      channel_size(2, RIG_NCCL_MESSAGES),
			PAGE);
}

uint64_t rig_nccl_started(int pid)
{
	unsigned long long started = 0;
	char path[64], text[1024];
	char state = 'X';
	ssize_t n;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	n = read(file, text, sizeof(text) - 1);
	close(file);
	text[n > 0 ? n : 0] = 0;
	/* The name, in parentheses, may hold anything. */
	char *end = strrchr(text, ')');

	if (!end || sscanf(end + 1,
			   " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
			   "%*d %*d %*d %*d %llu",
			   &state, &started) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : started;
}

int rig_nccl_make_id(ncclUniqueId *id)
{
	struct id own;

	if (getrandom(id->internal, sizeof(id->internal), 0) !=
	    (ssize_t)sizeof(id->internal))
		return EIO;
	memcpy(&own, id->internal, sizeof(own));
	memcpy(own.magic, magic, sizeof(magic));
	own.pid = getpid();
	own.started = rig_nccl_started(own.pid);
	own.file = memfd_create("rig-nccl", MFD_CLOEXEC);
	if (own.file < 0)
		return errno;
	/* The size for a number of ranks that is not known yet: what nobody touches takes
	 * no memory. */
	if (ftruncate(own.file, (off_t)file_size(RIG_NCCL_RANKS)) ||
	    pwrite(own.file, own.cookie, sizeof(own.cookie), 0) !=
		    (ssize_t)sizeof(own.cookie)) {
		int error = errno;

		close(own.file);
		return error;
	}
	memcpy(id->internal, &own, sizeof(own));
	return 0;
}

static bool is_file_of(int file, const struct id *own)
{
	uint8_t cookie[sizeof(own->cookie)];

	return pread(file, cookie, sizeof(cookie), 0) == (ssize_t)sizeof(cookie) &&
	       memcmp(cookie, own->cookie, sizeof(cookie)) == 0;
}

void rig_nccl_forget(const ncclUniqueId *id)
{
	static pthread_mutex_t lock =
		PTHREAD_MUTEX_INITIALIZER; /* two ranks of one process may be here */
	struct id own;

	memcpy(&own, id->internal, sizeof(own));
	if (memcmp(own.magic, magic, sizeof(magic)) != 0 || own.pid != getpid())
		return;
	pthread_mutex_lock(&lock);
	if (is_file_of(own.file, &own))
		close(own.file);
	pthread_mutex_unlock(&lock);
}

ncclResult_t rig_nccl_map(const ncclUniqueId *id, int nranks,
			  struct rig_nccl_shared **ret, const char **why)
{
	struct rig_nccl_shared *shared;
	int expected = 0, file;
	char path[64];
	struct id own;

	memcpy(&own, id->internal, sizeof(own));
	*why = "the unique id is not one that ncclGetUniqueId() gave";
	if (memcmp(own.magic, magic, sizeof(magic)) != 0)
		return ncclInvalidArgument;
	*why = "Connection to the process that made the unique id refused: it is gone";
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", own.pid, own.file);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return ncclRemoteError;
	if (!is_file_of(file, &own)) {
		close(file);
		return ncclRemoteError;
	}
	*why = "no memory for the communicator";
	shared = mmap(NULL, file_size(nranks), PROT_READ | PROT_WRITE, MAP_SHARED, file,
		      0);
	close(file);
	if (shared == MAP_FAILED)
		return ncclSystemError;
	if (!atomic_compare_exchange_strong(&shared->nranks, &expected, nranks) &&
	    expected != nranks) {
		*why = "mismatch in rank count: another rank has come with another "
		       "number";
		munmap(shared, file_size(nranks));
		return ncclInvalidUsage;
	}
	*ret = shared;
	return ncclSuccess;
}

static void channel_at(struct rig_nccl_shared *shared, size_t start, int sides,
		       uint32_t depth, struct rig_nccl_channel *channel)
{
	unsigned char *at = (unsigned char *)shared + start;

	channel->done = (_Atomic uint64_t *)(void *)at;
	channel->sides = at + LINE;
	channel->count = sides;
	channel->depth = depth;
}

void rig_nccl_collectives(struct rig_nccl_shared *shared,
			  struct rig_nccl_channel *channel)
{
	channel_at(shared, round_up(sizeof(*shared), PAGE), shared->nranks,
		   RIG_NCCL_COLLECTIVES, channel);
}

void rig_nccl_pair(struct rig_nccl_shared *shared, int from, int to,
		   struct rig_nccl_channel *channel)
{
	size_t number = (size_t)(from * shared->nranks + to);

	channel_at(shared,
		   pairs_start(shared->nranks) +
			   number * channel_size(2, RIG_NCCL_MESSAGES),
		   2, RIG_NCCL_MESSAGES, channel);
}

static struct side *side_of(const struct rig_nccl_channel *channel, int side)
{
	return (struct side *)(void *)(channel->sides +
				       (size_t)side * side_size(channel->depth));
}

bool rig_nccl_post(struct rig_nccl_channel *channel, int side, uint64_t number,
		   struct rig_nccl_entry entry)
{
	struct side *own = side_of(channel, side);

	if (number - rig_nccl_done(channel) >= channel->depth)
		return false;
	atomic_store_explicit(&own->words[number % channel->depth][0], entry.bytes,
			      memory_order_relaxed);
	atomic_store_explicit(&own->words[number % channel->depth][1], entry.what,
			      memory_order_relaxed);
	atomic_store_explicit(&own->posted, number + 1, memory_order_release);
	return true;
}

/* Whether all sides have logged operation NUMBER, all the same. */
static bool agreed(const struct rig_nccl_channel *channel, uint64_t number)
{
	uint64_t bytes = 0, what = 0;

	for (int i = 0; i < channel->count; i++) {
		struct side *side = side_of(channel, i);
		_Atomic uint64_t *words = side->words[number % channel->depth];

		if (atomic_load_explicit(&side->posted, memory_order_acquire) <= number)
			return false;
		if (i == 0) {
			bytes = atomic_load_explicit(&words[0], memory_order_relaxed);
			what = atomic_load_explicit(&words[1], memory_order_relaxed);
		} else if (atomic_load_explicit(&words[0], memory_order_relaxed) !=
				   bytes ||
			   atomic_load_explicit(&words[1], memory_order_relaxed) !=
				   what) {
			return false;
		}
	}
	return true;
}

/*
 * Whoever asks moves the counter on. If another rank was quicker, the words may be those
 * of a later operation already: then the comparison says nothing, and neither exchange
 * nor answer follows from it.
 */
uint64_t rig_nccl_done(struct rig_nccl_channel *channel)
{
	uint64_t done = atomic_load(channel->done);

	for (;;) {
		if (agreed(channel, done)) {
			if (atomic_compare_exchange_strong(channel->done, &done,
							   done + 1))
				done++;
		} else {
			uint64_t again = atomic_load(channel->done);

			if (again == done)
				return done;
			done = again;
		}
	}
}
