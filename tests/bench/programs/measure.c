/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run a command and print its wall seconds, CPU seconds, peak KiB and exit status to a file, where a status
 * from 128 on is the signal that ended it: measure OUT COMMAND...
 *
 * A process's peak memory as wait4() tells it includes what its parent had before exec (linux: fs/exec.c,
 * exec_mmap), so that a large interpreter cannot measure a small program. This one is small.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
	struct timespec start, end;
	struct rusage usage;
	int status;
	pid_t pid;

	if (!out)
		return 127;
	clock_gettime(CLOCK_MONOTONIC, &start);
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
		return 127;
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(out, "%.6f %.6f %ld %d\n",
		(double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9,
		seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss,
		WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
	return fclose(out) == 0 ? 0 : 127;
}
