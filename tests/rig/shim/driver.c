/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver's entry points by name, its devices and contexts. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "driver.h"
#include "driver_api.h"

/* ---- names ---- */

/* A name means its newest version, as in the programs that were built with the headers of
 * these years. */
void *rig_entry(const char *name)
{
	static const char *const suffixes[] = {"_v3", "_v2", ""};
	char full[128];
	void *found = NULL;

	for (size_t i = 0; !found && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (snprintf(full, sizeof(full), "%s%s", name, suffixes[i]) <
		    (int)sizeof(full))
			found = dlsym(RTLD_DEFAULT, full);
	return found;
}

static int entry(const char *symbol, void **function, int version)
{
	int error = rig_begin("cuGetProcAddress", symbol, 0);

	if (error)
		return error;
	if (!symbol || !function)
		return RIG_INVALID_VALUE;
	*function = rig_entry(symbol);
	if (!strcmp(symbol, "cuGetProcAddress") && version < 12000)
		*function = (void *)(uintptr_t)cuGetProcAddress; /* NOLINT */
	return *function ? 0 : RIG_NOT_FOUND;
}

cuda_error cuGetProcAddress(const char *symbol, void **function, int version,
			    cuda_flags flags)
{
	(void)flags;
	return (cuda_error)entry(symbol, function, version);
}

cuda_error cuGetProcAddress_v2(const char *symbol, void **function, int version,
			       cuda_flags flags, cuda_enum *status)
{
	int error = entry(symbol, function, version);

	(void)flags;
	if (status)
		*status =
			error == RIG_NOT_FOUND; /* CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND */
	return (cuda_error)error;
}

/* Tables without a description: of NVIDIA's own libraries, which the rig has none of. */
cuda_error cuGetExportTable(const void **table, const cuda_uuid *id)
{
	(void)id;
	*table = NULL;
	return RIG_NOT_FOUND;
}

/* ---- start and devices ---- */

cuda_error cuInit(unsigned flags)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	return (cuda_error)(error || !flags ? error : RIG_INVALID_VALUE);
}

cuda_error cuDriverGetVersion(int *version)
{
	int error = rig_begin(__func__, NULL, 0);

	if (!error)
		*version = rig_driver_version();
	return (cuda_error)error;
}

int driver_device(const char *call, int device)
{
	int error = rig_begin(call, NULL, RIG_USES_DRIVER);

	return error || (device >= 0 && device < rig_gpu()->count) ? error
								   : RIG_INVALID_DEVICE;
}

cuda_error cuDeviceGet(cuda_device *ret, int device)
{
	int error = driver_device(__func__, device);

	if (!error)
		*ret = device;
	return (cuda_error)error;
}

cuda_error cuDeviceGetCount(int *count)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error)
		*count = rig_gpu()->count;
	return (cuda_error)error;
}

cuda_error cuDeviceGetName(char *name, int size, cuda_device device)
{
	int error = driver_device(__func__, device);

	if (!error && size < 1)
		error = RIG_INVALID_VALUE;
	if (!error)
		snprintf(name, (size_t)size, "%s", rig_gpu()->name);
	return (cuda_error)error;
}

static int uuid_of(const char *call, void *uuid, int device)
{
	int error = driver_device(call, device);

	if (!error)
		rig_uuid(device, uuid);
	return error;
}

cuda_error cuDeviceGetUuid(cuda_uuid *uuid, cuda_device device)
{
	return (cuda_error)uuid_of(__func__, uuid, device);
}

cuda_error cuDeviceGetUuid_v2(cuda_uuid *uuid, cuda_device device)
{
	return (cuda_error)uuid_of("cuDeviceGetUuid", uuid, device);
}

cuda_error cuDeviceTotalMem_v2(size_t *bytes, cuda_device device)
{
	int error = driver_device("cuDeviceTotalMem", device);

	if (!error)
		*bytes = rig_gpu()->memory;
	return (cuda_error)error;
}

cuda_error cuDeviceGetAttribute(int *value, cuda_enum attribute, cuda_device device)
{
	int error = driver_device(__func__, device);

	if (!error && !rig_attribute(device, (int)attribute, value))
		error = RIG_INVALID_VALUE;
	return (cuda_error)error;
}

cuda_error cuDeviceGetPCIBusId(char *text, int size, cuda_device device)
{
	char full[16];
	int error = driver_device(__func__, device);

	if (!error && size < 13)
		error = RIG_INVALID_VALUE;
	if (!error) {
		rig_bus_id(device, full);
		snprintf(text, (size_t)size, "%s", full);
	}
	return (cuda_error)error;
}

cuda_error cuDeviceGetByPCIBusId(cuda_device *device, const char *text)
{
	char full[16];
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (error)
		return (cuda_error)error;
	for (int i = 0; i < rig_gpu()->count; i++) {
		rig_bus_id(i, full);
		if (!strcasecmp(full, text)) {
			*device = i;
			return 0;
		}
	}
	return RIG_INVALID_DEVICE;
}

/* ---- contexts: each device has its primary one, and there are no others ---- */

struct rig_context {
	int device;
};
static struct rig_context primary[RIG_MAX_DEVICES];
static __thread int stack[32];
static __thread size_t depth;

static cuda_context context_of(int device)
{
	primary[device].device = device;
	return (cuda_context)&primary[device];
}

/* -1: none of ours */
static int device_of(cuda_context context)
{
	const struct rig_context *c = (const struct rig_context *)context;

	return c >= primary && c < primary + RIG_MAX_DEVICES ? (int)(c - primary) : -1;
}

cuda_error cuDevicePrimaryCtxRetain(cuda_context *context, cuda_device device)
{
	int error = driver_device(__func__, device);

	if (error)
		return (cuda_error)error;
	rig_context_open(device);
	*context = context_of(device);
	return 0;
}

cuda_error cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
	return (cuda_error)driver_device("cuDevicePrimaryCtxRelease", device);
}

cuda_error cuDevicePrimaryCtxReset_v2(cuda_device device)
{
	int error = driver_device("cuDevicePrimaryCtxReset", device);

	if (!error)
		rig_context_release(device);
	return (cuda_error)error;
}

cuda_error cuDevicePrimaryCtxSetFlags_v2(cuda_device device, unsigned flags)
{
	(void)flags;
	return (cuda_error)driver_device("cuDevicePrimaryCtxSetFlags", device);
}

cuda_error cuDevicePrimaryCtxGetState(cuda_device device, unsigned *flags, int *active)
{
	int error = driver_device(__func__, device);

	if (error)
		return (cuda_error)error;
	*flags = 0;
	*active = rig_context_active(device);
	return 0;
}

cuda_error cuCtxGetCurrent(cuda_context *context)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error)
		*context = rig_context_active(rig_device()) ? context_of(rig_device())
							    : NULL;
	return (cuda_error)error;
}

static int set_current(cuda_context context)
{
	int device = device_of(context);

	if (!context) /* none: the device stays what it is, as there are primary contexts
			 alone */
		return 0;
	return device >= 0 && rig_set_device(device)
		       ? 0
		       : 201; /* CUDA_ERROR_INVALID_CONTEXT */
}

cuda_error cuCtxSetCurrent(cuda_context context)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	return (cuda_error)(error ? error : set_current(context));
}

cuda_error cuCtxPushCurrent_v2(cuda_context context)
{
	int error = rig_begin("cuCtxPushCurrent", NULL, RIG_USES_DRIVER),
	    before = rig_device();

	if (!error && depth == sizeof(stack) / sizeof(stack[0]))
		error = RIG_INVALID_VALUE;
	if (!error)
		error = set_current(context);
	if (!error)
		stack[depth++] = before;
	return (cuda_error)error;
}

cuda_error cuCtxPopCurrent_v2(cuda_context *context)
{
	int error = rig_begin("cuCtxPopCurrent", NULL, RIG_USES_DRIVER);

	if (!error && !depth)
		error = 201; /* CUDA_ERROR_INVALID_CONTEXT */
	if (error)
		return (cuda_error)error;
	if (context)
		*context = context_of(rig_device());
	rig_set_device(stack[--depth]);
	return 0;
}

cuda_error cuCtxGetDevice(cuda_device *device)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	if (!error && !rig_context_active(rig_device()))
		error = 201; /* CUDA_ERROR_INVALID_CONTEXT */
	if (!error)
		*device = rig_device();
	return (cuda_error)error;
}

cuda_error cuCtxGetId(cuda_context context, unsigned long long *id)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);
	int device = context ? device_of(context) : rig_device();

	if (!error && device < 0)
		error = 201; /* CUDA_ERROR_INVALID_CONTEXT */
	if (!error)
		*id = (unsigned long long)device + 1;
	return (cuda_error)error;
}

cuda_error cuCtxGetApiVersion(cuda_context context, unsigned *version)
{
	int error = rig_begin(__func__, NULL, RIG_USES_DRIVER);

	(void)context;
	if (!error)
		*version = 3020;
	return (cuda_error)error;
}

cuda_error cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL);

	if (error)
		return (cuda_error)error;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return 0;
}

cuda_error cuCtxSynchronize(void)
{
	int error = rig_begin(__func__, NULL, RIG_CONTEXT_CALL | RIG_UNSAFE);

	return (cuda_error)(error ? error : rig_device_wait(rig_device()));
}
