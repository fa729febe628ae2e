/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's streams and events, and the host's functions that a stream calls. */
#include <stdlib.h>

#include "runtime.h"
#include "runtime_api.h"

static int create_stream(const char *call, cuda_stream *ret, unsigned flags, int priority)
{
	struct rig_stream *stream = NULL;
	int error = rt_begin(call, RIG_CONTEXT_CALL);

	if (!error && (!ret || flags > 1))
		error = RIG_INVALID_VALUE;
	if (!error) {
		stream = rig_stream_create(priority > 0    ? 0
					   : priority < -5 ? -5
							   : priority);
		error = stream ? 0 : RIG_OUT_OF_MEMORY;
	}
	if (error)
		return rt_done(error);
	rig_stream_set_flags(stream, flags);
	*ret = (cuda_stream)stream;
	return 0;
}

cuda_error cudaStreamCreate(cuda_stream *ret)
{
	return create_stream(__func__, ret, 0, 0);
}

cuda_error cudaStreamCreateWithFlags(cuda_stream *ret, unsigned flags)
{
	return create_stream(__func__, ret, flags, 0);
}

cuda_error cudaStreamCreateWithPriority(cuda_stream *ret, unsigned flags, int priority)
{
	return create_stream(__func__, ret, flags, priority);
}

/* A call about one stream that puts nothing on it. */
static int begin_stream(const char *call, cuda_stream stream, unsigned flags)
{
	int error = rt_begin(call, flags);

	if (!error && !rig_stream_of((struct rig_stream *)stream))
		error = RIG_INVALID_HANDLE;
	return rt_done(error);
}

cuda_error cudaStreamDestroy(cuda_stream stream)
{
	int error = begin_stream(__func__, stream, RIG_USES_DRIVER);

	if (!error && (uintptr_t)stream <= 2)
		error = RIG_INVALID_HANDLE;
	if (!error)
		rig_stream_destroy((struct rig_stream *)stream);
	return rt_done(error);
}

cuda_error cudaStreamQuery(cuda_stream stream)
{
	int error = begin_stream(__func__, stream, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_capture_forbids_wait((struct rig_stream *)stream);
	if (!error)
		error = rig_stream_done((struct rig_stream *)stream) ? rig_broken()
								     : RIG_NOT_READY;
	return rt_done(error);
}

cuda_error cudaStreamSynchronize(cuda_stream stream)
{
	int error = begin_stream(__func__, stream, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_capture_forbids_wait((struct rig_stream *)stream);
	if (!error)
		error = rig_stream_wait((struct rig_stream *)stream);
	if (!error)
		rig_pool_settle(rig_stream_device((struct rig_stream *)stream));
	return rt_done(error);
}

cuda_error cudaStreamGetPriority(cuda_stream stream, int *priority)
{
	int error = begin_stream(__func__, stream, RIG_USES_DRIVER);

	if (!error)
		*priority = rig_stream_priority((struct rig_stream *)stream);
	return error;
}

cuda_error cudaStreamGetFlags(cuda_stream stream, unsigned *flags)
{
	int error = begin_stream(__func__, stream, RIG_USES_DRIVER);

	if (!error)
		*flags = rig_stream_flags((struct rig_stream *)stream);
	return error;
}

cuda_error cudaStreamGetId(cuda_stream stream, unsigned long long *id)
{
	int error = begin_stream(__func__, stream, RIG_USES_DRIVER);

	if (!error)
		*id = rig_stream_id((struct rig_stream *)stream);
	return error;
}

cuda_error cudaStreamGetDevice(cuda_stream stream, int *device)
{
	int error = begin_stream(__func__, stream, RIG_USES_DRIVER);

	if (!error)
		*device = rig_stream_device((struct rig_stream *)stream);
	return error;
}

cuda_error cudaStreamWaitEvent(cuda_stream stream, cuda_event event, unsigned flags)
{
	bool captured = false;
	int error = rt_begin_work(__func__, NULL, NULL, (struct rig_stream *)stream,
				  &captured);

	if (!error && flags > 1)
		error = RIG_INVALID_VALUE;
	return rt_done(error ? error
			     : rig_event_hold((struct rig_stream *)stream,
					      (struct rig_event *)event));
}

/* ---- functions of the host's ---- */

static int put_function(const char *call, struct rig_stream *stream,
			void (*function)(void *, int), void *argument)
{
	bool captured = false;
	int error = rt_begin_work(call, NULL, NULL, stream, &captured);

	if (!error && rig_capture_add(stream, RIG_NODE_HOST, NULL)) {
		free(argument); /* a graph that is launched calls nothing of the host's */
		return 0;
	}
	if (!error)
		error = rig_stream_call(stream, function, argument);
	if (error)
		free(argument);
	return rt_done(error);
}

struct host_call {
	cuda_host_function function;
	cuda_callback callback;
	cuda_stream stream;
	void *argument;
};

/* A host function is not called where the context is broken; a callback is, with the
 * error. */
static void call_host(void *argument, int error)
{
	const struct host_call *call = argument;

	if (call->callback)
		call->callback(call->stream, (cuda_error)error, call->argument);
	else if (!error)
		call->function(call->argument);
	free(argument);
}

static int host_call(const char *name, const struct host_call *call)
{
	struct host_call *own = malloc(sizeof(*own));

	if (!own)
		return rt_done(RIG_OUT_OF_MEMORY);
	*own = *call;
	return put_function(name, (struct rig_stream *)call->stream, call_host, own);
}

cuda_error cudaLaunchHostFunc(cuda_stream stream, cuda_host_function function,
			      void *argument)
{
	return host_call(__func__, &(struct host_call){.function = function,
						       .stream = stream,
						       .argument = argument});
}

cuda_error cudaStreamAddCallback(cuda_stream stream, cuda_callback callback,
				 void *argument, unsigned flags)
{
	if (flags)
		return rt_done(RIG_INVALID_VALUE);
	return host_call(__func__, &(struct host_call){.callback = callback,
						       .stream = stream,
						       .argument = argument});
}

/* ---- events ---- */

static int create_event(const char *call, cuda_event *ret, unsigned flags)
{
	int error = rt_begin(call, RIG_CONTEXT_CALL);

	if (!error && (!ret || flags > 7))
		error = RIG_INVALID_VALUE;
	if (!error) {
		*ret = (cuda_event)rig_event_create(flags);
		error = *ret ? 0 : RIG_OUT_OF_MEMORY;
	}
	return rt_done(error);
}

cuda_error cudaEventCreate(cuda_event *ret)
{
	return create_event(__func__, ret, 0);
}

cuda_error cudaEventCreateWithFlags(cuda_event *ret, unsigned flags)
{
	return create_event(__func__, ret, flags);
}

cuda_error cudaEventDestroy(cuda_event event)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	return rt_done(error ? error : rig_event_destroy((struct rig_event *)event));
}

static int record(const char *call, cuda_event event, cuda_stream stream)
{
	bool captured = false;
	int error =
		rt_begin_work(call, NULL, NULL, (struct rig_stream *)stream, &captured);

	return rt_done(error ? error
			     : rig_event_record((struct rig_event *)event,
						(struct rig_stream *)stream));
}

cuda_error cudaEventRecord(cuda_event event, cuda_stream stream)
{
	return record(__func__, event, stream);
}

cuda_error cudaEventRecordWithFlags(cuda_event event, cuda_stream stream, unsigned flags)
{
	return flags > 1 ? rt_done(RIG_INVALID_VALUE) : record(__func__, event, stream);
}

cuda_error cudaEventQuery(cuda_event event)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return rt_done(error ? error : rig_event_query((struct rig_event *)event));
}

cuda_error cudaEventSynchronize(cuda_event event)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return rt_done(error ? error : rig_event_wait((struct rig_event *)event));
}

cuda_error cudaEventElapsedTime(float *milliseconds, cuda_event start, cuda_event end)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error)
		error = rig_event_elapsed((struct rig_event *)start,
					  (struct rig_event *)end, milliseconds);
	return rt_done(error);
}
