/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory, its limit, what pointers say, virtual memory management, pools. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "driver_api.h"
#include "nvml_api.h"
#include "process.h"
#include "runtime_api.h"

#define MIB ((size_t)1 << 20)

static int setup(void **state)
{
	struct rig_gpu gpu;

	(void)state;
	gpu_defaults(&gpu, 12040);
	gpu.count = 2;
	gpu.memory = 100 * MIB;
	gpu.other = 10 * MIB;
	gpu_set(&gpu);
	rig_rules_reset();
	rig_process_reset();
	cudaGetLastError();
	return cudaSetDevice(0) != 0;
}

/* What every test leaves behind: nothing. */
static int teardown(void **state)
{
	(void)state;
	rig_pool_trim(rig_pool_default(0), 0);
	return rig_used(0) || rig_used(1);
}

/* Can the host read it? The kernel says, without a fault. */
static bool readable(const void *address)
{
	int ends[2];
	bool fine;

	if (pipe(ends))
		return false;
	fine = write(ends[1], address, 1) == 1;
	close(ends[0]);
	close(ends[1]);
	return fine;
}

static void test_limit(void **state)
{
	void *big, *small[3], *more = (void *)1;
	size_t available, total;

	(void)state;
	assert_int_equal(cudaMalloc(&big, 80 * MIB), 0);
	assert_int_equal((uintptr_t)big % (2 * MIB), 0);
	assert_int_equal((uintptr_t)big >> 40, 0x7f);
	assert_false(readable(big));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cudaMalloc(&small[i], 1000), 0);
		assert_int_equal((uintptr_t)small[i] % 512, 0);
	}
	assert_int_equal((char *)small[1] - (char *)small[0], 1024);
	cudaMemGetInfo(&available, &total);
	assert_int_equal(total, 100 * MIB);
	assert_int_equal(available, 8 * MIB); /* 80 and 2 of ours, 10 of others */
	assert_int_equal(cudaMalloc(&more, 9 * MIB), 2);
	assert_ptr_equal(more, (void *)1);
	assert_int_equal(cudaPeekAtLastError(), 2);
	assert_int_equal(cudaGetLastError(), 2);
	assert_int_equal(cudaGetLastError(), 0);
	assert_int_equal(cudaMalloc(&more, 8 * MIB), 0);
	assert_int_equal(cudaFree(big), 0);
	assert_int_equal(cudaFree(big), 1);
	assert_int_equal(cudaGetLastError(), 1);
	assert_int_equal(cudaFree((char *)more + 512), 1);
	assert_int_equal(cudaFree(more), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cudaFree(small[i]), 0);
	assert_int_equal(cudaMalloc(&more, SIZE_MAX - 5), 2);
	assert_int_equal(cudaFree(NULL), 0);
}

/* Every device has its own. */
static void test_devices(void **state)
{
	struct rt_pointer attributes;
	void *first, *second;
	int device = -1;

	(void)state;
	assert_int_equal(cudaMalloc(&first, 60 * MIB), 0);
	assert_int_equal(cudaSetDevice(2), 101);
	assert_int_equal(cudaSetDevice(1), 0);
	assert_int_equal(cudaMalloc(&second, 60 * MIB), 0);
	assert_int_equal(cudaPointerGetAttributes(&attributes, (char *)second + 5), 0);
	assert_int_equal(attributes.device, 1);
	assert_int_equal(
		cuPointerGetAttribute(&device, 9, (uintptr_t)first + 60 * MIB - 1), 0);
	assert_int_equal(device, 0);
	assert_int_equal(rig_owner((uintptr_t)first + 60 * MIB), -1);
	cudaFree(first);
	cudaFree(second);
}

static void test_pointers(void **state)
{
	struct rt_pointer a;
	void *pinned, *managed, *own = malloc(8192), *address;
	unsigned type;

	(void)state;
	assert_int_equal(cudaHostAlloc(&pinned, 10000, 0), 0);
	memset(pinned, 7, 10000);
	assert_int_equal(cudaPointerGetAttributes(&a, (char *)pinned + 9999), 0);
	assert_int_equal(a.type, 1);
	assert_ptr_equal(a.device_pointer, (char *)pinned + 9999);
	assert_int_equal(cudaPointerGetAttributes(&a, own),
			 0); /* not known: no error since CUDA 11 */
	assert_int_equal(a.type, 0);
	assert_int_equal(a.device, -2);
	assert_null(a.device_pointer);
	assert_int_equal(cuPointerGetAttribute(&type, 2, (uintptr_t)own), 1);
	assert_int_equal(cuPointerGetAttribute(&type, 2, (uintptr_t)pinned), 0);
	assert_int_equal(type, 1);
	assert_int_equal(cudaHostRegister(own, 8192, 0), 0);
	assert_int_equal(cudaHostRegister((char *)own + 100, 10, 0), 712);
	assert_int_equal(cudaHostGetDevicePointer(&address, own, 0), 0);
	assert_ptr_equal(address, own);
	assert_int_equal(cudaPointerGetAttributes(&a, own), 0);
	assert_int_equal(a.type, 1);
	assert_int_equal(cudaHostUnregister(own), 0);
	assert_int_equal(cudaHostUnregister(own), 713);
	assert_int_equal(cudaFreeHost(own), 1);
	assert_int_equal(cudaFreeHost(pinned), 0);
	assert_int_equal(cudaMallocManaged(&managed, 100, 1), 0);
	*(char *)managed = 1;
	assert_int_equal(cudaPointerGetAttributes(&a, managed), 0);
	assert_int_equal(a.type, 3);
	assert_int_equal(cudaFree(managed), 0);
	free(own);
}

static void test_copies(void **state)
{
	char host[256], other[256];
	void *device;

	(void)state;
	assert_int_equal(cudaMalloc(&device, 256), 0);
	memset(host, 5, sizeof(host));
	assert_int_equal(cudaMemcpy(device, host, sizeof(host), 1), 0);
	assert_int_equal(cudaMemcpy(host, device, 100, 2), 0);
	assert_int_equal(host[99],
			 0); /* the device's memory has no contents: always the same */
	assert_int_equal(host[100], 5);
	assert_int_equal(cudaMemcpy(other, host, sizeof(host), 0), 0);
	assert_memory_equal(host, other, sizeof(host));
	assert_int_equal(cudaMemcpy2DAsync(host, 64, device, 64, 2, 4, 4, NULL), 0);
	assert_int_equal(host[128], 0);
	assert_int_equal(host[130], 5);
	assert_int_equal(cudaMemcpy(host, device, 1, 5), 21);
	assert_int_equal(cudaMemcpy(device, host, 1, 2),
			 1); /* that is no host's address */
	assert_int_equal(cudaMemset(device, 0, 256), 0);
	assert_int_equal(cudaMemset(host, 0, 256), 1);
	assert_int_equal(rig_calls("copy", "DtoH"), 3);
	assert_int_equal(rig_calls("copy", "HtoD"), 1);
	cudaFree(device);
}

static void test_virtual(void **state)
{
	struct rt_physical properties = {.type = 1, .location_type = 1, .location_id = 1};
	unsigned long long address, one, two, again;
	size_t unit;

	(void)state;
	assert_int_equal(cuMemGetAllocationGranularity(&unit, &properties, 0), 0);
	assert_int_equal(unit, 2 * MIB);
	assert_int_equal(cuMemAddressReserve(&address, 1000 * MIB, 0, 0, 0),
			 0); /* not memory: more than there is */
	assert_int_equal(rig_used(1), 0);
	assert_int_equal(cuMemCreate(&one, 20 * MIB, &properties, 0), 0);
	assert_int_equal(cuMemCreate(&two, 20 * MIB + 1, &properties, 0), 1);
	assert_int_equal(cuMemCreate(&two, 72 * MIB, &properties, 0), 2);
	assert_int_equal(cuMemCreate(&two, 70 * MIB, &properties, 0), 0);
	assert_int_equal(rig_used(1), 90 * MIB);
	assert_int_equal(cuMemMap(address, 20 * MIB, 0, one, 0), 0);
	assert_int_equal(cuMemMap(address + 18 * MIB, 70 * MIB, 0, two, 0),
			 1); /* over the other */
	assert_int_equal(cuMemMap(address + 20 * MIB, 70 * MIB, 0, two, 0), 0);
	assert_int_equal(cuMemSetAccess(address, 90 * MIB, &properties, 1), 0);
	assert_int_equal(cuMemSetAccess(address, 92 * MIB, &properties, 1), 1);
	assert_int_equal(rig_owner(address + 89 * MIB), 1);
	assert_int_equal(rig_owner(address + 90 * MIB), -1);
	assert_int_equal(
		cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address + 5)), 0);
	assert_int_equal(again, one);
	assert_int_equal(cuMemRelease(again), 0);
	assert_int_equal(cuMemRelease(one), 0);
	assert_int_equal(rig_used(1), 90 * MIB); /* still mapped */
	assert_int_equal(cuMemAddressFree(address, 1000 * MIB), 1);
	assert_int_equal(cuMemUnmap(address, 10 * MIB), 1);
	assert_int_equal(cuMemUnmap(address, 20 * MIB), 0);
	assert_int_equal(rig_used(1), 70 * MIB);
	assert_int_equal(cuMemUnmap(address + 20 * MIB, 70 * MIB), 0);
	assert_int_equal(cuMemRelease(two), 0);
	assert_int_equal(cuMemAddressFree(address, 1000 * MIB), 0);
	assert_int_equal(cuMemAddressFree(address, 1000 * MIB), 1);
	properties.location_id = 2;
	assert_int_equal(cuMemCreate(&one, 2 * MIB, &properties, 0), 101);
}

static uint64_t pool_number(struct rig_pool *pool, int attribute)
{
	uint64_t value = 0;

	assert_int_equal(cudaMemPoolGetAttribute(pool, (unsigned)attribute, &value), 0);
	return value;
}

static void test_pools(void **state)
{
	enum { THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH };
	uint64_t all = UINT64_MAX;
	struct rig_pool *pool;
	void *one, *two, *three = (void *)1;

	(void)state;
	assert_int_equal(cudaDeviceGetDefaultMemPool(&pool, 0), 0);
	assert_int_equal(cudaMallocAsync(&one, 10 * MIB, NULL), 0);
	assert_int_equal(cudaMallocAsync(&two, 30 * MIB, NULL), 0);
	assert_int_equal(pool_number(pool, USED), 40 * MIB);
	assert_int_equal(pool_number(pool, RESERVED), 64 * MIB);
	assert_int_equal(rig_used(0), 64 * MIB);
	assert_int_equal(cudaMallocAsync(&three, 60 * MIB, NULL), 2);
	assert_ptr_equal(three, (void *)1);
	assert_int_equal(cudaFreeAsync((char *)one + 4096, NULL), 1);
	assert_int_equal(cudaFreeAsync(one, NULL), 0);
	assert_int_equal(pool_number(pool, USED), 30 * MIB);
	assert_int_equal(pool_number(pool, RESERVED), 64 * MIB); /* until the next wait */
	assert_int_equal(cudaStreamSynchronize(NULL), 0);
	assert_int_equal(pool_number(pool, RESERVED), 32 * MIB);
	assert_int_equal(cudaMemPoolSetAttribute(pool, THRESHOLD, &all), 0);
	assert_int_equal(pool_number(pool, USED_HIGH), 40 * MIB);
	all = 0;
	assert_int_equal(cudaMemPoolSetAttribute(pool, USED_HIGH, &all), 0);
	assert_int_equal(pool_number(pool, USED_HIGH), 30 * MIB);
	assert_int_equal(cudaMemPoolSetAttribute(pool, USED, &all), 1);
	assert_int_equal(cudaFree(two), 0);
	assert_int_equal(cudaMemPoolSetAttribute(pool, THRESHOLD, &all), 0);
	assert_int_equal(cudaMemPoolTrimTo(pool, 0), 0);
	assert_int_equal(pool_number(pool, RESERVED), 0);
	assert_int_equal(pool_number(pool, RESERVED_HIGH), 64 * MIB);
}

/* Who has the memory: this process and another. */
static void test_nvml(void **state)
{
	struct {
		unsigned pid;
		unsigned long long bytes;
	} list[2];
	unsigned long long memory[3];
	struct nvml_device *device;
	unsigned count = 1;
	void *own;

	(void)state;
	assert_int_equal(cudaMalloc(&own, 20 * MIB), 0);
	assert_int_equal(nvmlInit_v2(), 0);
	assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("00000000:10:00.0", &device),
			 0);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &count, list), 7);
	assert_int_equal(count, 2);
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses(device, &count, list), 0);
	assert_int_equal(list[0].pid, getpid());
	assert_int_equal(list[0].bytes, 20 * MIB);
	assert_int_equal(list[1].bytes, 10 * MIB);
	assert_int_equal(nvmlDeviceGetMemoryInfo(device, memory), 0);
	assert_int_equal(memory[0], 100 * MIB);
	assert_int_equal(memory[1], 70 * MIB);
	assert_int_equal(memory[2], 30 * MIB);
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(2, &device), 2);
	cudaFree(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pointers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pools, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nvml, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
