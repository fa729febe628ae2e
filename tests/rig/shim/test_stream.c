/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams, events, what is pending, contexts that break, captures, host functions,
 * fork(). */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver_api.h"
#include "process.h"
#include "runtime_api.h"

static const char kernel_one, kernel_two; /* only their addresses count */

static int setup(void **state)
{
	struct rig_gpu gpu;

	(void)state;
	gpu_defaults(&gpu, 12040);
	gpu_set(&gpu);
	__cudaRegisterFunction(NULL, &kernel_one, NULL, "_Z3oneP", -1, NULL, NULL, NULL,
			       NULL, NULL);
	__cudaRegisterFunction(NULL, &kernel_two, NULL, "_Z3twoP", -1, NULL, NULL, NULL,
			       NULL, NULL);
	rig_rules_reset();
	rig_process_reset();
	cudaGetLastError();
	return cudaSetDevice(0) != 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_release();
	rig_process_reset();
	return cudaDeviceSynchronize() != 0;
}

static unsigned launch(const void *kernel, struct rig_stream *stream)
{
	cuda_dim one = {1, 1, 1};

	return cudaLaunchKernel(kernel, one, one, NULL, 0, stream);
}

static void *release_soon(void *argument)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	rig_release();
	return argument;
}

static void *break_soon(void *argument)
{
	nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	rig_break(719);
	return argument;
}

static void test_pending(void **state)
{
	struct rig_stream *first, *second;
	struct rig_event *before, *after, *over;
	pthread_t thread;
	float time = -1;

	(void)state;
	assert_int_equal(cudaStreamCreateWithFlags(&first, 1), 0);
	assert_int_equal(cudaStreamCreate(&second), 0);
	assert_int_equal(cudaEventCreate(&before), 0);
	assert_int_equal(cudaEventCreate(&after), 0);
	assert_int_equal(cudaEventCreate(&over), 0);
	assert_int_equal(rig_rule("on launch match=*two* nth=1: pending"), 0);
	assert_int_equal(cudaEventRecord(before, first), 0);
	assert_int_equal(launch(&kernel_two, first), 0);
	assert_int_equal(cudaEventRecord(after, first), 0);
	assert_int_equal(cudaEventQuery(before), 0);
	assert_int_equal(cudaEventQuery(after), 600);
	assert_int_equal(cudaStreamQuery(first), 600);
	assert_int_equal(cudaGetLastError(), 600);
	assert_int_equal(cudaStreamQuery(second), 0);
	assert_int_equal(cudaEventElapsedTime(&time, before, after), 600);
	/* The other stream waits from here on. */
	assert_int_equal(cudaStreamWaitEvent(second, before, 0), 0);
	assert_int_equal(cudaStreamQuery(second), 0);
	assert_int_equal(cudaStreamWaitEvent(second, after, 0), 0);
	assert_int_equal(cudaEventRecord(over, second), 0);
	assert_int_equal(cudaEventQuery(over), 600);
	pthread_create(&thread, NULL, release_soon, NULL);
	assert_int_equal(cudaEventSynchronize(over), 0);
	pthread_join(thread, NULL);
	assert_int_equal(cudaStreamSynchronize(first), 0);
	assert_int_equal(cudaEventElapsedTime(&time, before, over), 0);
	assert_true(time > 0 && time < 60000);
	assert_int_equal(cudaStreamDestroy(first), 0);
	assert_int_equal(cudaStreamDestroy(first), 400);
	assert_int_equal(cudaStreamSynchronize(first), 400);
	assert_int_equal(cudaStreamDestroy(second), 0);
	assert_int_equal(cudaEventDestroy(over), 0);
	assert_int_equal(cudaEventQuery(over), 400);
	cudaEventDestroy(before);
	cudaEventDestroy(after);
}

/* What is asked about an event that was never recorded, or keeps no time. */
static void test_events(void **state)
{
	struct rig_event *one, *two;
	float time;

	(void)state;
	assert_int_equal(cudaEventCreateWithFlags(&one, 2), 0);
	assert_int_equal(cudaEventCreate(&two), 0);
	assert_int_equal(cudaEventQuery(one), 0);
	assert_int_equal(cudaEventSynchronize(one), 0);
	assert_int_equal(cudaEventElapsedTime(&time, two, two), 400);
	assert_int_equal(cudaEventRecord(one, NULL), 0);
	assert_int_equal(cudaEventRecord(two, NULL), 0);
	assert_int_equal(cudaEventElapsedTime(&time, one, two), 400);
	cudaEventDestroy(one);
	cudaEventDestroy(two);
}

/* A queue that is long and stuck gets no slower, and is let go at once. */
static void test_long_queue(void **state)
{
	struct rig_stream *stream;
	struct rig_event *event;

	(void)state;
	assert_int_equal(cudaStreamCreate(&stream), 0);
	assert_int_equal(cudaEventCreate(&event), 0);
	assert_int_equal(rig_rule("on launch: pending"), 0);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(launch(&kernel_one, stream), 0);
		if (i % 500 == 0)
			rig_release();
		assert_int_equal(cudaEventRecord(event, stream), 0);
		if (i % 500)
			assert_int_equal(cudaEventQuery(event), 600);
	}
	rig_release();
	assert_int_equal(cudaStreamQuery(stream), 0);
	cudaStreamDestroy(stream);
	cudaEventDestroy(event);
}

static void *ask(void *argument)
{
	*(unsigned *)argument = cudaStreamQuery(NULL);
	return NULL;
}

static void test_sticky(void **state)
{
	static const int errors[] = {700, 710, 714, 715, 716, 717, 718, 719};
	void *memory;
	pthread_t thread;
	unsigned other;
	char rule[64];
	int count;

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		unsigned error = (unsigned)errors[i];

		setup(NULL);
		snprintf(rule, sizeof(rule), "on launch match=*one* nth=2: sticky=%u",
			 error);
		assert_int_equal(rig_rule(rule), 0);
		assert_int_equal(launch(&kernel_one, NULL), 0);
		assert_int_equal(cudaDeviceSynchronize(), 0);
		/* The launch itself goes well: what went wrong on the device shows later.
		 */
		assert_int_equal(launch(&kernel_one, NULL), 0);
		assert_int_equal(cudaGetLastError(), 0);
		assert_int_equal(cudaStreamSynchronize(NULL), error);
		assert_int_equal(cudaGetLastError(), error);
		assert_int_equal(cudaGetLastError(), error);
		assert_int_equal(cudaPeekAtLastError(), error);
		assert_int_equal(cudaMalloc(&memory, 100), error);
		assert_int_equal(cudaMemcpyAsync(&other, &other, 4, 0, NULL), error);
		assert_int_equal(launch(&kernel_one, NULL), error);
		assert_int_equal(cuCtxSynchronize(), error);
		assert_int_equal(cudaGetDeviceCount(&count), 0); /* looks at no context */
		pthread_create(&thread, NULL, ask, &other);
		pthread_join(thread, NULL);
		assert_int_equal(other, error);
	}
	assert_string_equal(cudaGetErrorString(710), "device-side assert triggered");
	assert_string_equal(cudaGetErrorName(700), "cudaErrorIllegalAddress");
	assert_string_equal(cudaGetErrorName(4711), "unrecognized error code");
}

/* Who waits when the context breaks is told. */
static void test_broken_wait(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(rig_rule("on launch nth=1: pending"), 0);
	assert_int_equal(launch(&kernel_one, NULL), 0);
	pthread_create(&thread, NULL, break_soon, NULL);
	assert_int_equal(cudaDeviceSynchronize(), 719);
	pthread_join(thread, NULL);
}

/* A kernel that has not run yet fails when somebody waits for it, not sooner. */
static void test_late_failure(void **state)
{
	struct rig_event *event;

	(void)state;
	assert_int_equal(rig_rule("on launch nth=2: pending sticky=700"), 0);
	assert_int_equal(cudaEventCreate(&event), 0);
	assert_int_equal(launch(&kernel_one, NULL), 0);
	assert_int_equal(cudaDeviceSynchronize(), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(launch(&kernel_one, NULL), 0);
	assert_int_equal(cudaGetLastError(), 0);
	assert_int_equal(cudaEventRecord(event, NULL), 0);
	assert_int_equal(cudaStreamSynchronize(NULL), 700);
	assert_int_equal(cudaEventQuery(event), 700);
	assert_int_equal(launch(&kernel_one, NULL), 700);

	setup(NULL); /* a broken context lets nothing be destroyed */
	assert_int_equal(cudaEventDestroy(event), 0);
	assert_int_equal(rig_rule("on launch nth=1: pending sticky=719"), 0);
	assert_int_equal(cudaEventCreate(&event), 0);
	assert_int_equal(launch(&kernel_one, NULL), 0);
	assert_int_equal(cudaEventRecord(event, NULL), 0);
	assert_int_equal(cudaEventQuery(event), 719);
	setup(NULL);
	assert_int_equal(cudaEventDestroy(event), 0);
}

static void test_errors(void **state)
{
	int value;

	(void)state;
	assert_int_equal(
		rig_rule("on launch nth=1: error=701\non cudaGetDevice: error=999"), 0);
	assert_int_equal(launch(&kernel_one, NULL), 701);
	assert_int_equal(cudaGetLastError(), 701);
	assert_int_equal(launch(&kernel_one, NULL), 0);
	assert_int_equal(launch(&value, NULL), 98);
	assert_int_equal(cudaLaunchKernel(&kernel_one, (cuda_dim){1, 1, 1},
					  (cuda_dim){1025, 1, 1}, NULL, 0, NULL),
			 9);
	assert_int_equal(cudaGetDevice(&value), 999);
	assert_int_equal(rig_calls("cudaLaunchKernel", "_Z3oneP"), 3);
}

/* ---- captures ---- */

static unsigned status_of(struct rig_stream *stream)
{
	unsigned status = 99;

	assert_int_equal(cudaStreamIsCapturing(stream, &status), 0);
	return status;
}

static void test_capture(void **state)
{
	struct rig_stream *origin, *side;
	struct rig_event *fork, *join;
	struct rig_node *nodes[8], *after[8];
	struct rig_graph *graph;
	struct rig_exec *exec;
	size_t count = 8;
	unsigned type;

	(void)state;
	cudaStreamCreate(&origin);
	cudaStreamCreate(&side);
	cudaEventCreate(&fork);
	cudaEventCreate(&join);
	assert_int_equal(rig_rule("on launch match=*two* nth=3: sticky=700"), 0);
	assert_int_equal(cudaStreamBeginCapture(NULL, 0), 900);
	assert_int_equal(cudaStreamBeginCapture(origin, 1), 0);
	assert_int_equal(status_of(origin), 1);
	assert_int_equal(launch(&kernel_one, origin), 0);
	assert_int_equal(cudaEventRecord(fork, origin), 0);
	assert_int_equal(status_of(side), 0);
	assert_int_equal(cudaStreamWaitEvent(side, fork, 0), 0);
	assert_int_equal(status_of(side), 1);
	assert_int_equal(launch(&kernel_two, side), 0);
	assert_int_equal(launch(&kernel_one, origin), 0);
	assert_int_equal(cudaEventRecord(join, side), 0);
	assert_int_equal(cudaStreamWaitEvent(origin, join, 0), 0);
	assert_int_equal(launch(&kernel_two, origin), 0);
	assert_int_equal(rig_calls("launch", NULL), 0);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 0);
	assert_int_equal(status_of(side), 0);
	assert_int_equal(cudaGraphGetNodes(graph, nodes, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(cudaGraphNodeGetType(nodes[3], &type), 0);
	assert_int_equal(type, 0);
	count = 8;
	assert_int_equal(rig_node_dependencies(nodes[3], after, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(cudaGraphDestroy(graph), 0);
	assert_int_equal(cudaGraphLaunch(exec, side), 0);
	assert_int_equal(rig_calls("launch", "_Z3twoP"), 2);
	assert_int_equal(cudaStreamSynchronize(side), 0);
	assert_int_equal(cudaGraphLaunch(exec, side), 0); /* the third of these kernels */
	assert_int_equal(cudaStreamSynchronize(side), 700);
	assert_int_equal(cudaGraphExecDestroy(exec), 0);
	cudaStreamDestroy(origin);
	cudaStreamDestroy(side);
	cudaEventDestroy(fork);
	cudaEventDestroy(join);
}

/* What ends a capture without a graph. */
static void test_invalid_capture(void **state)
{
	struct rig_stream *origin, *side;
	struct rig_event *event;
	struct rig_graph *graph;
	void *memory;
	unsigned mode = 2;

	(void)state;
	cudaStreamCreate(&origin);
	cudaStreamCreate(&side);
	cudaEventCreate(&event);
	assert_int_equal(cudaStreamBeginCapture(origin, 0), 0);
	assert_int_equal(cudaStreamSynchronize(origin), 900);
	assert_int_equal(launch(&kernel_one, origin), 901);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 901);
	assert_null(graph);
	/* Memory is not to be had, unless the thread says that it knows. */
	assert_int_equal(cudaStreamBeginCapture(origin, 0), 0);
	assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), 0);
	assert_int_equal(mode, 0);
	assert_int_equal(cudaMalloc(&memory, 100), 0);
	assert_int_equal(cudaThreadExchangeStreamCaptureMode(&mode), 0);
	assert_int_equal(mode, 2);
	assert_int_equal(status_of(origin), 1);
	assert_int_equal(cudaFree(memory), 900);
	assert_int_equal(status_of(origin), 2);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 901);
	assert_int_equal(cudaFree(memory), 0);
	/* Work that nobody waits for. */
	assert_int_equal(cudaStreamBeginCapture(origin, 2), 0);
	assert_int_equal(launch(&kernel_one, origin), 0);
	assert_int_equal(cudaEventRecord(event, origin), 0);
	assert_int_equal(cudaEventQuery(event), 907);
	assert_int_equal(cudaStreamWaitEvent(side, event, 0), 0);
	assert_int_equal(launch(&kernel_two, side), 0);
	assert_int_equal(cudaStreamEndCapture(side, &graph), 903);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 904);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 1);
	/* A wait for what is not captured. */
	assert_int_equal(cudaEventRecord(event, side), 0);
	assert_int_equal(cudaStreamBeginCapture(origin, 2), 0);
	assert_int_equal(cudaStreamWaitEvent(origin, event, 0), 905);
	assert_int_equal(cudaStreamEndCapture(origin, &graph), 901);
	cudaStreamDestroy(origin);
	cudaStreamDestroy(side);
	cudaEventDestroy(event);
}

/* ---- host functions, fork() ---- */

static pthread_t caller;
static unsigned told;
static int called;

static void function(void *argument)
{
	caller = pthread_self();
	__atomic_store_n((int *)argument, 1, __ATOMIC_RELEASE);
}

static void callback(cuda_stream stream, cuda_error error, void *argument)
{
	(void)stream;
	told = error;
	function(argument);
}

static void test_host_function(void **state)
{
	struct rig_stream *stream, *stuck;

	(void)state;
	called = 0;
	cudaStreamCreate(&stream);
	cudaStreamCreate(&stuck);
	assert_int_equal(rig_rule("on launch match=*two*: pending"), 0);
	assert_int_equal(launch(&kernel_two, stuck), 0);
	assert_int_equal(cudaStreamAddCallback(stuck, callback, &called, 0), 0);
	assert_int_equal(cudaStreamQuery(stuck), 600);
	assert_int_equal(called, 0);
	/* Another stream's function does not wait for it. */
	assert_int_equal(cudaLaunchHostFunc(stream, function, &called), 0);
	assert_int_equal(cudaStreamSynchronize(stream), 0);
	assert_int_equal(__atomic_load_n(&called, __ATOMIC_ACQUIRE), 1);
	assert_false(pthread_equal(caller, pthread_self()));
	called = 0;
	rig_release();
	assert_int_equal(cudaStreamSynchronize(stuck), 0);
	assert_int_equal(__atomic_load_n(&called, __ATOMIC_ACQUIRE), 1);
	assert_int_equal(told, 0);
	cudaStreamDestroy(stream);
	cudaStreamDestroy(stuck);
}

static void test_fork(void **state)
{
	int status, count;
	void *memory;
	pid_t child;

	(void)state;
	assert_int_equal(cudaGetDeviceCount(&count), 0);
	child = fork();
	if (!child) {
		int wrong = cudaGetDeviceCount(&count) != 3;

		wrong |= (cudaMalloc(&memory, 100) != 3) << 1;
		wrong |= (cuInit(0) != 3) << 2;
		wrong |= (cudaDeviceSynchronize() != 3) << 3;
		wrong |= (cudaGetLastError() != 3) << 4;
		_exit(wrong);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Before CUDA is used, a fork() does no harm. Has to be the first test. */
static void test_early_fork(void **state)
{
	int status, count;
	pid_t child;

	(void)state;
	child = fork();
	if (!child)
		_exit((int)cudaGetDeviceCount(&count));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The threads that the driver has. */
static void test_threads(void **state)
{
	char path[64], name[32];
	int found = 0, count;

	(void)state;
	assert_int_equal(cudaGetDeviceCount(&count), 0);
	for (int i = 1; i < 4096; i++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%d/comm", getpid() + i);
		file = fopen(path, "re");
		if (!file)
			continue;
		found += fgets(name, sizeof(name), file) &&
			 !strcmp(name, "cuda-EvtHandlr\n");
		fclose(file);
	}
	assert_true(found >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_early_fork),
		cmocka_unit_test_setup_teardown(test_pending, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sticky, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_capture, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_capture, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
