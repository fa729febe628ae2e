/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cudaDeviceProp in the layout of each CUDA version, and what a call means in which
 * version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "driver_api.h"
#include "process.h"
#include "properties.h"
#include "runtime_api.h"

static int number(const unsigned char *bytes, size_t offset)
{
	int value;

	memcpy(&value, bytes + offset, sizeof(value));
	return value;
}

/* Where multiProcessorCount, warpSize, major and maxThreadsPerMultiProcessor are; nothing
 * behind the end. */
static void check(const char *version, unsigned (*get)(void *, int), size_t size,
		  size_t processors, size_t threads)
{
	unsigned char bytes[1100];
	int runtime;

	setenv("RIG_CUDA_VERSION", version, 1);
	memset(bytes, 0xaa, sizeof(bytes));
	assert_int_equal(get(bytes, 3), 0);
	assert_string_equal((char *)bytes, "NVIDIA H100 80GB HBM3");
	assert_int_equal(number(bytes, 308), 32);
	assert_int_equal(number(bytes, 360), 9);
	assert_int_equal(number(bytes, processors), 132);
	assert_int_equal(number(bytes, threads), 2048);
	assert_int_not_equal(bytes[size - 1], 0xaa);
	for (size_t i = size; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0xaa);
	assert_int_equal(cudaRuntimeGetVersion(&runtime), 0);
	assert_int_equal(runtime,
			 atoi(version) * 1000 + atoi(strchr(version, '.') + 1) * 10);
}

static void test_layouts(void **state)
{
	struct rig_gpu gpu;

	(void)state;
	gpu_defaults(&gpu, 12040);
	gpu_set(&gpu);
	check("11.7", cudaGetDeviceProperties, 728, 388, 624);
	check("12.1", cudaGetDeviceProperties, 728, 388, 624);
	check("12.4", cudaGetDeviceProperties_v2, 1032, 388, 624);
	check("12.8", cudaGetDeviceProperties_v2, 1032, 388, 624);
	check("13.0", cudaGetDeviceProperties, 1008, 384, 604);
	assert_int_equal(cudaGetDeviceProperties(&gpu, 8), 101);
}

/* A member lies within its structure and over no other. */
static void test_table(void **state)
{
	(void)state;
	for (int layout = 0; layout < PROPERTIES_LAYOUTS; layout++) {
		size_t end = 0;

		for (size_t i = 0; i < properties_count; i++) {
			const struct property *p = &properties_table[i];

			if (p->offset[layout] < 0)
				continue;
			assert_true((size_t)p->offset[layout] >= end);
			end = (size_t)p->offset[layout] + (size_t)p->size;
		}
		assert_true(end <= properties_size((enum properties_layout)layout));
	}
}

/* What the old parameters were, CUDA 11 and 12 still have. */
static void test_capture_info(void **state)
{
	struct rig_stream *stream;
	struct rig_graph *graph = NULL;
	const cuda_node *after = NULL;
	unsigned status;
	unsigned long long id = 0;
	size_t count = 77;

	(void)state;
	assert_int_equal(cudaStreamCreate(&stream), 0);
	assert_int_equal(cudaStreamBeginCapture(stream, 2), 0);
	setenv("RIG_CUDA_VERSION", "11.7", 1);
	assert_int_equal(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &after,
						  NULL, &count),
			 0);
	assert_int_equal(status, 1);
	assert_true(id > 0);
	assert_null(graph);
	assert_int_equal(count, 77);
	setenv("RIG_CUDA_VERSION", "13.0", 1);
	assert_int_equal(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &after,
						  NULL, &count),
			 0);
	assert_non_null(graph);
	assert_int_equal(count, 0);
	assert_int_equal(cudaStreamEndCapture(stream, &graph), 0);
	assert_int_equal(cudaGraphDestroy(graph), 0);
	assert_int_equal(cudaStreamDestroy(stream), 0);
}

static void test_entry_points(void **state)
{
	const char *text;
	void *function;
	unsigned status;

	(void)state;
	assert_int_equal(
		cuGetProcAddress_v2("cuNoSuchFunction", &function, 12040, 0, &status),
		500);
	assert_int_equal(status, 1);
	assert_null(function);
	assert_int_equal(cuGetProcAddress("cuNoSuchFunction", &function, 11070, 0), 500);
	assert_int_equal(cuGetErrorName(500, &text), 0);
	assert_string_equal(text, "CUDA_ERROR_NOT_FOUND");
	assert_int_equal(cuGetErrorString(2, &text), 0);
	assert_string_equal(text, "out of memory");
	assert_int_equal(cuGetErrorName(4711, &text), 1);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_capture_info),
		cmocka_unit_test(test_entry_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
