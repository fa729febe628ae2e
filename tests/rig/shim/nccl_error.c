/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the library says of versions and errors, and what every entry point begins with: rules,
 * and that nothing works in a child made by fork().
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_comm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last_error[1024];
static bool used, forked;

ncclResult_t rig_nccl_fail(ncclResult_t result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	pthread_mutex_lock(&lock);
	vsnprintf(last_error, sizeof(last_error), format, arguments);
	pthread_mutex_unlock(&lock);
	va_end(arguments);
	return result;
}

/* The runtime's words (cudaGetErrorString); a program without it gets the number. */
extern const char *rig_runtime_words(int error) __asm__("cudaGetErrorString")
	__attribute__((weak));

ncclResult_t rig_nccl_cuda_fails(int error)
{
	if (rig_runtime_words)
		return rig_nccl_fail(ncclUnhandledCudaError, "Cuda failure '%s'",
				     rig_runtime_words(error));
	return rig_nccl_fail(ncclUnhandledCudaError, "Cuda failure %d", error);
}

static void in_child(void)
{
	forked = used;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

void rig_nccl_used(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	used = true;
}

ncclResult_t rig_nccl_enter(const char *call, struct rig_verdict *ret)
{
	struct rig_verdict verdict = rig_enter(call, NULL);

	if (verdict.error) {
		if (verdict.text)
			rig_nccl_fail(ncclSuccess, "%s", verdict.text);
		return (ncclResult_t)verdict.error;
	}
	if (forked || rig_forked())
		return rig_nccl_cuda_fails(RIG_NOT_INITIALIZED);
	if (ret)
		*ret = verdict;
	else if (verdict.sticky)
		rig_break(verdict.sticky);
	return ncclSuccess;
}

/* MAJOR.MINOR.PATCH, as src/nccl.h.in computes NCCL_VERSION_CODE. */
int rig_nccl_version(void)
{
	const char *text = getenv("RIG_NCCL_VERSION");
	int major, minor, patch, end = 0;

	if (!text || !*text)
		text = "2.21.5";
	if (sscanf(text, "%d.%d.%d%n", &major, &minor, &patch, &end) != 3 || text[end] ||
	    major != 2 || minor < 0 || minor > 99 || patch < 0 || patch > 99) {
		fprintf(stderr,
			"rig: RIG_NCCL_VERSION=%s is not a version of NCCL 2: say "
			"2.MINOR.PATCH, as "
			"2.21.5\n",
			text);
		return 0;
	}
	return minor <= 8 ? major * 1000 + minor * 100 + patch
			  : major * 10000 + minor * 100 + patch;
}

RIG_NCCL_PUBLIC(ncclGetVersion);
ncclResult_t ncclGetVersion(int *version)
{
	struct rig_verdict verdict = rig_enter("ncclGetVersion", NULL);

	if (verdict.error)
		return (ncclResult_t)verdict.error;
	if (!version)
		return rig_nccl_fail(ncclInvalidArgument,
				     "GetVersion : version argument is NULL");
	*version = rig_nccl_version();
	return *version ? ncclSuccess : ncclSystemError;
}

/* src/init.cc, ncclGetErrorString(): v2.14.3 and before, v2.18.1 to v2.30.7. */
RIG_NCCL_PUBLIC(ncclGetErrorString);
const char *ncclGetErrorString(ncclResult_t result)
{
	static const char *const words[] = {
		"no error",
		"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		"internal error - please report this issue to the NCCL developers",
		"invalid argument (run with NCCL_DEBUG=WARN for details)",
		"invalid usage (run with NCCL_DEBUG=WARN for details)",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
		"timeout",
	};
	static const char *const old_words[] = {
		"no error",       "unhandled cuda error", "unhandled system error",
		"internal error", "invalid argument",     "invalid usage",
	};
	size_t number = (size_t)result;
	int version = rig_nccl_version();

	rig_enter("ncclGetErrorString", NULL);
	if (version < 21500 && number < sizeof(old_words) / sizeof(*old_words))
		return old_words[number];
	if (number == RIG_NCCL_TIMEOUT && version < 23000)
		return "unknown result code";
	return number < sizeof(words) / sizeof(*words) ? words[number]
						       : "unknown result code";
}

/* The process's last error, whatever the communicator: as the library itself. */
RIG_NCCL_PUBLIC(ncclGetLastError);
const char *ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	rig_enter("ncclGetLastError", NULL);
	return last_error;
}

/* There is no log whose settings could be read again. */
RIG_NCCL_PUBLIC(ncclResetDebugInit);
void ncclResetDebugInit(void)
{
	rig_enter("ncclResetDebugInit", NULL);
}
