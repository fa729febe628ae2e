/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's streams and events: the same objects as the runtime's. */
#include <stdlib.h>

#include "driver.h"
#include "driver_api.h"

static int create(const char *call, cuda_stream *ret, unsigned flags, int priority)
{
	struct rig_stream *stream;
	int error = rig_begin(call, NULL, RIG_CONTEXT_CALL);

	if (error || flags > 1)
		return error ? error : RIG_INVALID_VALUE;
	stream = rig_stream_create(priority > 0 ? 0 : priority < -5 ? -5 : priority);
	if (!stream)
		return RIG_OUT_OF_MEMORY;
	rig_stream_set_flags(stream, flags);
	*ret = (cuda_stream)stream;
	return 0;
}

cuda_error cuStreamCreate(cuda_stream *ret, unsigned flags)
{
	return (cuda_error)create(__func__, ret, flags, 0);
}

cuda_error cuStreamCreateWithPriority(cuda_stream *ret, unsigned flags, int priority)
{
	return (cuda_error)create(__func__, ret, flags, priority);
}

static int begin(const char *call, cuda_stream stream, unsigned flags)
{
	int error = rig_begin(call, NULL, flags);

	return error || rig_stream_of((struct rig_stream *)stream) ? error
								   : RIG_INVALID_HANDLE;
}

cuda_error cuStreamDestroy_v2(cuda_stream stream)
{
	int error = begin("cuStreamDestroy", stream, RIG_USES_DRIVER);

	if (!error && (uintptr_t)stream <= 2)
		error = RIG_INVALID_HANDLE;
	if (!error)
		rig_stream_destroy((struct rig_stream *)stream);
	return (cuda_error)error;
}

cuda_error cuStreamQuery(cuda_stream stream)
{
	int error = begin(__func__, stream, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_capture_forbids_wait((struct rig_stream *)stream);
	if (!error)
		error = rig_stream_done((struct rig_stream *)stream) ? rig_broken()
								     : RIG_NOT_READY;
	return (cuda_error)error;
}

cuda_error cuStreamSynchronize(cuda_stream stream)
{
	int error = begin(__func__, stream, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_capture_forbids_wait((struct rig_stream *)stream);
	return (cuda_error)(error ? error : rig_stream_wait((struct rig_stream *)stream));
}

cuda_error cuStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags)
{
	bool captured = false;
	int error = rig_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				   &captured);

	if (!error && flags > 1)
		error = RIG_INVALID_VALUE;
	if (!error)
		error = rig_event_hold((struct rig_stream *)stream,
				       (struct rig_event *)event);
	return (cuda_error)error;
}

cuda_error cuStreamIsCapturing(cuda_stream stream, cuda_enum *status)
{
	struct rig_capture_info info;
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error)
		error = rig_capture_info((struct rig_stream *)stream, &info);
	if (!error)
		*status = (cuda_enum)info.status;
	return (cuda_error)error;
}

cuda_error cuStreamGetCtx(cuda_stream stream, cuda_context *context)
{
	int error = begin(__func__, stream, RIG_USES_DRIVER);

	if (error)
		return (cuda_error)error;
	return cuDevicePrimaryCtxRetain(context,
					rig_stream_device((struct rig_stream *)stream));
}

/* A word of the device's that is written in the stream's order: nothing is known of the
 * device's memory. */
static int write_value(cuda_stream stream, cuda_address address, unsigned flags)
{
	struct rig_range range;
	bool captured = false;
	int error = rig_begin_work("cuStreamWriteValue32", NULL, NULL,
				   (struct rig_stream *)stream, &captured);

	if (!error && (flags > 1 || address % 4 || !rig_range_at(address, &range)))
		error = RIG_INVALID_VALUE;
	return error;
}

/* Under both names: PyTorch 2.6 asks dlsym() for the one without a version. */
cuda_error cuStreamWriteValue32(cuda_stream stream, cuda_address address, unsigned value,
				unsigned flags)
{
	(void)value;
	return (cuda_error)write_value(stream, address, flags);
}

cuda_error cuStreamWriteValue32_v2(cuda_stream stream, cuda_address address,
				   unsigned value, unsigned flags)
{
	(void)value;
	return (cuda_error)write_value(stream, address, flags);
}

cuda_error cuThreadExchangeStreamCaptureMode(cuda_enum *mode)
{
	int error = rig_begin(__func__, NULL, 0);

	if (!error && *mode > RIG_CAPTURE_RELAXED)
		error = RIG_INVALID_VALUE;
	if (!error)
		*mode = (cuda_enum)rig_capture_exchange((int)*mode);
	return (cuda_error)error;
}

struct host_call {
	cuda_host_function function;
	void *argument;
};

static void call_host(void *argument, int error)
{
	const struct host_call *call = argument;

	if (!error)
		call->function(call->argument);
	free(argument);
}

cuda_error cuLaunchHostFunc(cuda_stream stream, cuda_host_function function,
			    void *argument)
{
	struct host_call *call;
	bool captured = false;
	int error = rig_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				   &captured);

	if (error || rig_capture_add((struct rig_stream *)stream, RIG_NODE_HOST, NULL))
		return (cuda_error)error;
	call = malloc(sizeof(*call));
	if (!call)
		return RIG_OUT_OF_MEMORY;
	*call = (struct host_call){.function = function, .argument = argument};
	error = rig_stream_call((struct rig_stream *)stream, call_host, call);
	if (error)
		free(call);
	return (cuda_error)error;
}

/* ---- events ---- */

cuda_error cuEventCreate(cuda_event *ret, unsigned flags)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (!error && flags > 7)
		error = RIG_INVALID_VALUE;
	if (error)
		return (cuda_error)error;
	*ret = (cuda_event)rig_event_create(flags);
	return *ret ? 0 : RIG_OUT_OF_MEMORY;
}

cuda_error cuEventRecord(cuda_event event, cuda_stream stream)
{
	bool captured = false;
	int error = rig_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				   &captured);

	if (!error)
		error = rig_event_record((struct rig_event *)event,
					 (struct rig_stream *)stream);
	return (cuda_error)error;
}

cuda_error cuEventQuery(cuda_event event)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return (cuda_error)(error ? error : rig_event_query((struct rig_event *)event));
}

cuda_error cuEventSynchronize(cuda_event event)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return (cuda_error)(error ? error : rig_event_wait((struct rig_event *)event));
}

cuda_error cuEventDestroy_v2(cuda_event event)
{
	int error = rig_begin("cuEventDestroy", NULL, RIG_USES_DRIVER);

	return (cuda_error)(error ? error : rig_event_destroy((struct rig_event *)event));
}

cuda_error cuEventElapsedTime(float *milliseconds, cuda_event start, cuda_event end)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_event_elapsed((struct rig_event *)start,
					  (struct rig_event *)end, milliseconds);
	return (cuda_error)error;
}
