/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVML, as far as PyTorch asks it: how many devices there are before CUDA starts, and who
 * has their memory when it runs out. Numbers and layouts: pynvml.py of nvidia-ml-py (on
 * PyPI). The device's memory here is this process's; what the rules call other is
 * another's.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "model.h"
#include "nvml_api.h"

enum {
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
};
#define OTHER_PROCESS 1 /* there is a process of this number everywhere */

struct nvml_device {
	int index;
};
static struct nvml_device devices[RIG_MAX_DEVICES];

static unsigned begin(const char *call)
{
	return (unsigned)rig_begin(call, NULL, 0);
}

/* -1: none */
static int index_of(const struct nvml_device *device)
{
	int index = device >= devices && device < devices + RIG_MAX_DEVICES
			    ? (int)(device - devices)
			    : -1;

	return index < rig_gpu()->count ? index : -1;
}

static unsigned begin_device(const char *call, const struct nvml_device *device)
{
	unsigned error = begin(call);

	return error || index_of(device) >= 0 ? error : NVML_INVALID_ARGUMENT;
}

unsigned nvmlInit(void)
{
	return begin(__func__);
}

unsigned nvmlInit_v2(void)
{
	return begin("nvmlInit");
}

unsigned nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return begin(__func__);
}

unsigned nvmlShutdown(void)
{
	return begin(__func__);
}

const char *nvmlErrorString(unsigned error)
{
	static const char *const texts[] = {
		"Success", "Uninitialized", "Invalid Argument", "Not Supported", NULL,
		NULL,      "Not Found",     "Insufficient Size"};

	if (error < sizeof(texts) / sizeof(texts[0]) && texts[error])
		return texts[error];
	return "Unknown Error";
}

unsigned nvmlSystemGetDriverVersion(char *text, unsigned size)
{
	unsigned error = begin(__func__);

	if (!error && snprintf(text, size, "550.54.14") >= (int)size)
		error = NVML_INSUFFICIENT_SIZE;
	return error;
}

static unsigned cuda_version(int *version)
{
	unsigned error = begin("nvmlSystemGetCudaDriverVersion");

	if (!error)
		*version = rig_driver_version();
	return error;
}

unsigned nvmlSystemGetCudaDriverVersion(int *version)
{
	return cuda_version(version);
}

unsigned nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	return cuda_version(version);
}

static unsigned device_count(unsigned *count)
{
	unsigned error = begin("nvmlDeviceGetCount");

	if (!error)
		*count = (unsigned)rig_gpu()->count;
	return error;
}

unsigned nvmlDeviceGetCount(unsigned *count)
{
	return device_count(count);
}

unsigned nvmlDeviceGetCount_v2(unsigned *count)
{
	return device_count(count);
}

static unsigned by_index(unsigned index, struct nvml_device **device)
{
	unsigned error = begin("nvmlDeviceGetHandleByIndex");

	if (!error && index >= (unsigned)rig_gpu()->count)
		error = NVML_INVALID_ARGUMENT;
	if (!error)
		*device = &devices[index];
	return error;
}

unsigned nvmlDeviceGetHandleByIndex(unsigned index, struct nvml_device **device)
{
	return by_index(index, device);
}

unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device)
{
	return by_index(index, device);
}

/* The domain has four digits or, since version 2 of this call, eight. */
static unsigned by_bus(const char *text, struct nvml_device **device)
{
	char bus[16];
	size_t length = text ? strlen(text) : 0;
	unsigned error = begin("nvmlDeviceGetHandleByPciBusId");

	if (error)
		return error;
	for (int i = 0; i < rig_gpu()->count; i++) {
		rig_bus_id(i, bus);
		if (length >= 12 && !strcasecmp(text + length - 12, bus)) {
			*device = &devices[i];
			return 0;
		}
	}
	return NVML_NOT_FOUND;
}

unsigned nvmlDeviceGetHandleByPciBusId(const char *text, struct nvml_device **device)
{
	return by_bus(text, device);
}

unsigned nvmlDeviceGetHandleByPciBusId_v2(const char *text, struct nvml_device **device)
{
	return by_bus(text, device);
}

static void uuid_text(int device, char text[48])
{
	unsigned char u[16];

	rig_uuid(device, u);
	snprintf(text, 48,
		 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%"
		 "02x",
		 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
		 u[12], u[13], u[14], u[15]);
}

unsigned nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **device)
{
	char text[48];
	unsigned error = begin(__func__);

	if (error)
		return error;
	for (int i = 0; i < rig_gpu()->count; i++) {
		uuid_text(i, text);
		if (uuid && !strcasecmp(uuid, text)) {
			*device = &devices[i];
			return 0;
		}
	}
	return NVML_NOT_FOUND;
}

unsigned nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned size)
{
	char full[48];
	unsigned error = begin_device(__func__, device);

	if (error)
		return error;
	uuid_text(index_of(device), full);
	return snprintf(text, size, "%s", full) < (int)size ? 0 : NVML_INSUFFICIENT_SIZE;
}

unsigned nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned size)
{
	unsigned error = begin_device(__func__, device);

	if (!error && snprintf(text, size, "%s", rig_gpu()->name) >= (int)size)
		error = NVML_INSUFFICIENT_SIZE;
	return error;
}

unsigned nvmlDeviceGetIndex(struct nvml_device *device, unsigned *index)
{
	unsigned error = begin_device(__func__, device);

	if (!error)
		*index = (unsigned)index_of(device);
	return error;
}

unsigned nvmlDeviceGetCudaComputeCapability(struct nvml_device *device, int *major,
					    int *minor)
{
	unsigned error = begin_device(__func__, device);

	if (error)
		return error;
	*major = rig_gpu()->major;
	*minor = rig_gpu()->minor;
	return 0;
}

/* nvmlMemory_t: total, free, used. */
unsigned nvmlDeviceGetMemoryInfo(struct nvml_device *device, unsigned long long *memory)
{
	const struct rig_gpu *gpu = rig_gpu();
	unsigned error = begin_device(__func__, device);

	if (error)
		return error;
	memory[0] = gpu->memory;
	memory[2] = gpu->other + rig_used(index_of(device));
	memory[1] = memory[0] - memory[2];
	return 0;
}

/* ---- who has the memory ---- */

/* nvmlProcessInfo_t: 16 bytes until version 2 of the call, which has two numbers of MIG
 * more. */
struct process {
	unsigned pid;
	unsigned long long bytes;
	unsigned instance, compute_instance;
};

static unsigned processes(struct nvml_device *device, unsigned *count, void *ret,
			  size_t size)
{
	struct process list[2] = {{.instance = ~0U, .compute_instance = ~0U},
				  {.instance = ~0U, .compute_instance = ~0U}};
	unsigned error = begin_device("nvmlDeviceGetComputeRunningProcesses", device),
		 n = 0, room;
	uint64_t own;

	if (error)
		return error;
	own = rig_used(index_of(device));
	if (rig_context_active(index_of(device))) {
		list[n].pid = (unsigned)getpid();
		list[n++].bytes = own;
	}
	if (rig_gpu()->other) {
		list[n].pid = OTHER_PROCESS;
		list[n++].bytes = rig_gpu()->other;
	}
	room = *count;
	*count = n;
	if (room < n)
		return NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < n; i++)
		memcpy((char *)ret + i * size, &list[i], size);
	return 0;
}

unsigned nvmlDeviceGetComputeRunningProcesses(struct nvml_device *device, unsigned *count,
					      void *ret)
{
	return processes(device, count, ret, 16);
}

unsigned nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *device,
						 unsigned *count, void *ret)
{
	return processes(device, count, ret, sizeof(struct process));
}

unsigned nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device,
						 unsigned *count, void *ret)
{
	return processes(device, count, ret, sizeof(struct process));
}

/* ---- links: the played devices have none ---- */

static unsigned no_links(const char *call, struct nvml_device *device)
{
	unsigned error = begin_device(call, device);

	return error ? error : NVML_NOT_SUPPORTED;
}

unsigned nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned link,
				  unsigned *active)
{
	(void)link;
	(void)active;
	return no_links(__func__, device);
}

unsigned nvmlDeviceGetNvLinkCapability(struct nvml_device *device, unsigned link,
				       unsigned capability, unsigned *ret)
{
	(void)link;
	(void)capability;
	(void)ret;
	return no_links(__func__, device);
}

unsigned nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *device, unsigned link,
					     unsigned *type)
{
	(void)link;
	(void)type;
	return no_links(__func__, device);
}

unsigned nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *device, unsigned link,
					     void *pci)
{
	(void)link;
	(void)pci;
	return no_links("nvmlDeviceGetNvLinkRemotePciInfo", device);
}

unsigned nvmlDeviceGetGpuFabricInfoV(struct nvml_device *device, void *fabric)
{
	(void)fabric;
	return no_links(__func__, device);
}
