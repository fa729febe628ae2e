/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The two threads that a communicator has: progress moves operations whose stream has
 * come to them into the log and sleeps on a condition otherwise; service sleeps in poll()
 * on a socket, and looks after the peers if it is to tell their death. Named as the
 * library names its own, if it is asked to.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nccl_comm.h"

enum { SHORTEST_NS = 50000, LONGEST_NS = 10000000, PEERS_MS = 250 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void rig_nccl_drain(struct ncclComm *comm)
{
	struct rig_nccl_waiting *head;

	while ((head = comm->first)) {
		if (!comm->quiet &&
		    (!head->after.done(head->after.owner, head->after.number) ||
		     !rig_nccl_post(&head->lane->channel, head->lane->side, head->number,
				    head->entry)))
			return;
		comm->first = head->next;
		if (!comm->first)
			comm->last = &comm->first;
		comm->waiting--;
		free(head);
	}
}

static void sleep_on(struct ncclComm *comm, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&comm->wake, &comm->lock, &until);
}

static void *rig_nccl_proxy_progress(void *argument)
{
	struct ncclComm *comm = argument;
	long ns = SHORTEST_NS;

	pthread_mutex_lock(&comm->lock);
	while (!comm->stop) {
		unsigned before = comm->waiting;

		rig_nccl_drain(comm);
		if (!comm->waiting) {
			pthread_cond_wait(&comm->wake, &comm->lock);
			ns = SHORTEST_NS;
			continue;
		}
		ns = comm->waiting < before ? SHORTEST_NS : ns * 2;
		sleep_on(comm, ns < LONGEST_NS ? ns : LONGEST_NS);
		ns = ns < LONGEST_NS ? ns : LONGEST_NS;
	}
	pthread_mutex_unlock(&comm->lock);
	return NULL;
}

/* Seconds after which a peer's death is an error; negative: never, as over NVLink. */
static double patience(void)
{
	const char *text = getenv("RIG_NCCL_PEER_DEATH");
	char *end;
	double seconds;

	if (!text || !*text)
		return -1;
	seconds = strtod(text, &end);
	if (*end || !(seconds >= 0)) {
		fprintf(stderr,
			"rig: RIG_NCCL_PEER_DEATH=%s is not a number of seconds: say 0 "
			"or more\n",
			text);
		return -1;
	}
	return seconds;
}

/* The first peer that is gone without having said so; -1: none. */
static int gone(struct ncclComm *comm)
{
	for (int i = 0; i < comm->nranks; i++) {
		struct rig_nccl_rank *peer = &comm->shared->rank[i];

		if (i == comm->rank || peer->state == RIG_NCCL_LEFT)
			continue;
		if (peer->state == RIG_NCCL_ABORTED ||
		    rig_nccl_started(peer->pid) != peer->started)
			return i;
	}
	return -1;
}

static void *rig_nccl_proxy_service(void *argument)
{
	struct ncclComm *comm = argument;
	struct pollfd file = {.fd = comm->socket[0], .events = POLLIN};
	double seconds = patience(), since = -1;

	/* Whatever comes over the socket means the end. */
	for (;;) {
		int n = poll(&file, 1, seconds < 0 ? -1 : PEERS_MS);

		if (n > 0 || (n < 0 && errno != EINTR))
			return NULL;
		int peer = seconds < 0 ? -1 : gone(comm);

		if (peer < 0)
			continue;
		if (since < 0)
			since = now();
		if (now() - since < seconds)
			continue;
		rig_nccl_comm_fail(
			comm,
			rig_nccl_fail(
				ncclRemoteError,
				"Connection closed by remote peer rank %d (process %d)",
				peer, comm->shared->rank[peer].pid));
		seconds = -1;
	}
}

/* Only if asked: most cores show these threads under the program's name. */
static void name_thread(pthread_t thread, const char *what, int device)
{
	const char *wanted = getenv("NCCL_SET_THREAD_NAME");
	char name[16];

	if (!wanted || strcmp(wanted, "1") != 0)
		return;
	snprintf(name, sizeof(name), "NCCL %s%2d", what, device);
	pthread_setname_np(thread, name);
}

int rig_nccl_threads_start(struct ncclComm *comm)
{
	int error;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, comm->socket))
		return errno;
	error = pthread_create(&comm->service, NULL, rig_nccl_proxy_service, comm);
	if (error) {
		close(comm->socket[0]);
		close(comm->socket[1]);
		return error;
	}
	error = pthread_create(&comm->progress, NULL, rig_nccl_proxy_progress, comm);
	if (error) {
		shutdown(comm->socket[1], SHUT_RDWR);
		pthread_join(comm->service, NULL);
		close(comm->socket[0]);
		close(comm->socket[1]);
		return error;
	}
	name_thread(comm->service, "Service", comm->device);
	name_thread(comm->progress, "Progress", comm->device);
	comm->has_threads = true;
	return 0;
}

void rig_nccl_threads_end(struct ncclComm *comm)
{
	if (!comm->has_threads)
		return;
	comm->has_threads = false;
	pthread_mutex_lock(&comm->lock);
	comm->stop = true;
	pthread_cond_broadcast(&comm->wake);
	pthread_mutex_unlock(&comm->lock);
	/* A child made by fork() may still have both ends: close() would tell the thread
	 * nothing. */
	shutdown(comm->socket[1], SHUT_RDWR);
	pthread_join(comm->progress, NULL);
	pthread_join(comm->service, NULL);
	close(comm->socket[0]);
	close(comm->socket[1]);
}
