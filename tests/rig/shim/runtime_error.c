/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's errors: each thread's last one, names and texts, and versions. */
#include "runtime.h"
#include "runtime_api.h"

static __thread int last;

int rt_done(int error)
{
	if (error)
		last = error;
	return error;
}

int rt_begin(const char *call, unsigned flags)
{
	return rt_done(rig_begin(call, NULL, flags));
}

int rt_begin_work(const char *call, const char *group, const char *match,
		  struct rig_stream *stream, bool *captured)
{
	return rt_done(rig_begin_work(call, group, match, stream, captured));
}

/* A context that is broken stays so, and what was said of it, too. */
cuda_error cudaGetLastError(void)
{
	int error = rig_begin(__func__, NULL, 0);

	if (error)
		return error;
	error = last;
	last = rig_noticed() && error == rig_broken() ? error : 0;
	return error;
}

cuda_error cudaPeekAtLastError(void)
{
	int error = rig_begin(__func__, NULL, 0);

	return error ? error : last;
}

const char *cudaGetErrorName(cuda_error error)
{
	return rig_error_name((int)error);
}

const char *cudaGetErrorString(cuda_error error)
{
	return rig_error_text((int)error);
}

cuda_error cudaRuntimeGetVersion(int *version)
{
	int error = rt_begin(__func__, 0);

	if (!error && !version)
		error = rt_done(RIG_INVALID_VALUE);
	if (!error)
		*version = rig_cuda_version();
	return error;
}

cuda_error cudaDriverGetVersion(int *version)
{
	int error = rt_begin(__func__, 0);

	if (!error && !version)
		error = rt_done(RIG_INVALID_VALUE);
	if (!error)
		*version = rig_driver_version();
	return error;
}
