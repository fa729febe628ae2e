/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process whose cores test_core_real reads: core_process die|wait DESCRIPTOR WORD WORD. A program of its
 * own, without sanitizers: theirs would fill its cores with terabytes of shadow memory.
 */
#include "core_process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct said *shared;
static pthread_barrier_t barrier;

static void *wait_forever(void *arg)
{
	shared->tids[*(int *)arg] = gettid();
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
	return NULL;
}

/** A load from shared->fault at a known place: code in a page of its own, called with rdi or x0. */
static void crash(void)
{
#if defined(__x86_64__)
	static const uint8_t code[] = {0x48, 0x8b, 0x07, 0xc3}; /* mov (%rdi),%rax; ret */
#else
	static const uint8_t code[] = {0x00, 0x00, 0x40, 0xf9, 0xc0, 0x03, 0x5f, 0xd6};
#endif
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof(code));
	__builtin___clear_cache((char *)page, (char *)page + sizeof(code));
	shared->code_begin = (uintptr_t)page;
	shared->code_end = shared->code_begin + sizeof(code);
	shared->sp = (uintptr_t)__builtin_frame_address(0);
	((void (*)(uint64_t))page)(shared->fault);
}

int main(int argc, char **argv)
{
	static int numbers[THREADS] = {0, 1, 2};
	pthread_t thread;

	if (argc != 5)
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, wait_forever, &numbers[i]);
	pthread_barrier_wait(&barrier);
	shared->crashing_tid = gettid();
	shared->pid = getpid();
	shared->fault = 0x123456;
	if (!strcmp(argv[1], "die"))
		crash();
	for (;;)
		pause();
}
