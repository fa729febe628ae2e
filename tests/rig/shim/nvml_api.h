/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of NVML that are played. */
#ifndef RIG_NVML_API_H
#define RIG_NVML_API_H

#include "shim.h"

struct nvml_device;

RIG_EXPORT unsigned nvmlInit(void);
RIG_EXPORT unsigned nvmlInit_v2(void);
RIG_EXPORT unsigned nvmlInitWithFlags(unsigned flags);
RIG_EXPORT unsigned nvmlShutdown(void);
RIG_EXPORT const char *nvmlErrorString(unsigned error);
RIG_EXPORT unsigned nvmlSystemGetDriverVersion(char *text, unsigned size);
RIG_EXPORT unsigned nvmlSystemGetCudaDriverVersion(int *version);
RIG_EXPORT unsigned nvmlSystemGetCudaDriverVersion_v2(int *version);
RIG_EXPORT unsigned nvmlDeviceGetCount(unsigned *count);
RIG_EXPORT unsigned nvmlDeviceGetCount_v2(unsigned *count);
RIG_EXPORT unsigned nvmlDeviceGetHandleByIndex(unsigned index,
					       struct nvml_device **device);
RIG_EXPORT unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index,
						  struct nvml_device **device);
RIG_EXPORT unsigned nvmlDeviceGetHandleByPciBusId(const char *text,
						  struct nvml_device **device);
RIG_EXPORT unsigned nvmlDeviceGetHandleByPciBusId_v2(const char *text,
						     struct nvml_device **device);
RIG_EXPORT unsigned nvmlDeviceGetHandleByUUID(const char *uuid,
					      struct nvml_device **device);
RIG_EXPORT unsigned nvmlDeviceGetUUID(struct nvml_device *device, char *text,
				      unsigned size);
RIG_EXPORT unsigned nvmlDeviceGetName(struct nvml_device *device, char *text,
				      unsigned size);
RIG_EXPORT unsigned nvmlDeviceGetIndex(struct nvml_device *device, unsigned *index);
RIG_EXPORT unsigned nvmlDeviceGetCudaComputeCapability(struct nvml_device *device,
						       int *major, int *minor);
RIG_EXPORT unsigned nvmlDeviceGetMemoryInfo(struct nvml_device *device,
					    unsigned long long *memory);
RIG_EXPORT unsigned nvmlDeviceGetComputeRunningProcesses(struct nvml_device *device,
							 unsigned *count, void *ret);
RIG_EXPORT unsigned nvmlDeviceGetComputeRunningProcesses_v2(struct nvml_device *device,
							    unsigned *count, void *ret);
RIG_EXPORT unsigned nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device,
							    unsigned *count, void *ret);
RIG_EXPORT unsigned nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned link,
					     unsigned *active);
RIG_EXPORT unsigned nvmlDeviceGetNvLinkCapability(struct nvml_device *device,
						  unsigned link, unsigned capability,
						  unsigned *ret);
RIG_EXPORT unsigned nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *device,
							unsigned link, unsigned *type);
RIG_EXPORT unsigned nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *device,
							unsigned link, void *pci);
RIG_EXPORT unsigned nvmlDeviceGetGpuFabricInfoV(struct nvml_device *device, void *fabric);

#endif
