/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runtime's devices: how many, their properties, peers, entry points of their driver.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "embedded.h"
#include "properties.h"
#include "runtime.h"
#include "runtime_api.h"

static bool exists(int device)
{
	return device >= 0 && device < rig_gpu()->count;
}

cuda_error cudaGetDeviceCount(int *count)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && !count)
		error = RIG_INVALID_VALUE;
	if (!error)
		*count = rig_gpu()->count;
	return rt_done(error);
}

cuda_error cudaGetDevice(int *device)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	embedded_replace(); /* PyTorch asks this before all else: a library that came late
			       is found here */
	if (!error)
		*device = rig_device();
	return error;
}

/* From CUDA 12.0 on, the context is made here ("CUDA Runtime API", cudaSetDevice). */
cuda_error cudaSetDevice(int device)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (error)
		return error;
	if (!rig_set_device(device))
		return rt_done(RIG_INVALID_DEVICE);
	return rig_cuda_version() >= 12000 ? rt_done(rig_begin_nameless(RIG_CONTEXT_CALL))
					   : 0;
}

static int properties(const char *call, void *properties, int device,
		      enum properties_layout layout)
{
	int error = rt_begin(call, RIG_USES_DRIVER);

	if (!error && !exists(device))
		error = RIG_INVALID_DEVICE;
	if (!error)
		properties_fill(properties, device, layout);
	return rt_done(error);
}

/* The same name has meant another structure since CUDA 13. */
cuda_error cudaGetDeviceProperties(cuda_properties *ret, int device)
{
	return properties(__func__, ret, device,
			  rig_cuda_version() >= 13000 ? PROPERTIES_13 : PROPERTIES_11);
}

cuda_error cudaGetDeviceProperties_v2(cuda_properties *ret, int device)
{
	return properties("cudaGetDeviceProperties", ret, device, PROPERTIES_12);
}

cuda_error cudaDeviceGetAttribute(int *value, cuda_enum attribute, int device)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && !exists(device))
		error = RIG_INVALID_DEVICE;
	if (!error && !rig_attribute(device, (int)attribute, value))
		error = RIG_INVALID_VALUE;
	return rt_done(error);
}

cuda_error cudaDeviceGetPCIBusId(char *text, int length, int device)
{
	char full[16];
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && !exists(device))
		error = RIG_INVALID_DEVICE;
	if (!error && length < 13)
		error = RIG_INVALID_VALUE;
	if (!error) {
		rig_bus_id(device, full);
		snprintf(text, (size_t)length, "%s", full);
	}
	return rt_done(error);
}

cuda_error cudaDeviceGetByPCIBusId(int *device, const char *text)
{
	char full[16];
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	for (int i = 0; !error && i < rig_gpu()->count; i++) {
		rig_bus_id(i, full);
		if (!strcasecmp(full, text)) {
			*device = i;
			return 0;
		}
	}
	return rt_done(error ? error : RIG_INVALID_VALUE);
}

cuda_error cudaDeviceSynchronize(void)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL | RIG_UNSAFE);

	if (!error)
		error = rig_device_wait(rig_device());
	if (!error)
		rig_pool_settle(rig_device());
	return rt_done(error);
}

cuda_error cudaDeviceReset(void)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error)
		rig_context_release(rig_device());
	return error;
}

cuda_error cudaDeviceSetLimit(cuda_enum limit, size_t value)
{
	(void)limit;
	(void)value;
	return rt_begin(__func__, RIG_CONTEXT_CALL);
}

cuda_error cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (error)
		return error;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return 0;
}

/* Peers: every device reaches every other one. */
static bool peers[RIG_MAX_DEVICES][RIG_MAX_DEVICES];

cuda_error cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	int error = rt_begin(__func__, RIG_USES_DRIVER);

	if (!error && (!exists(device) || !exists(peer)))
		error = RIG_INVALID_DEVICE;
	if (!error)
		*can = device != peer;
	return rt_done(error);
}

static int set_peer(int peer, bool on)
{
	int error = 0;

	if (!exists(peer) || peer == rig_device())
		return RIG_INVALID_DEVICE;
	rig_lock();
	if (peers[rig_device()][peer] == on)
		error = on ? RIG_PEER_ENABLED : RIG_PEER_NOT_ENABLED;
	peers[rig_device()][peer] = on;
	rig_unlock();
	return error;
}

cuda_error cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	if (!error && flags)
		error = RIG_INVALID_VALUE;
	return rt_done(error ? error : set_peer(peer, true));
}

cuda_error cudaDeviceDisablePeerAccess(int peer)
{
	int error = rt_begin(__func__, RIG_CONTEXT_CALL);

	return rt_done(error ? error : set_peer(peer, false));
}

cuda_error cudaProfilerStart(void)
{
	return rt_begin(__func__, RIG_CONTEXT_CALL);
}

cuda_error cudaProfilerStop(void)
{
	return rt_begin(__func__, RIG_CONTEXT_CALL);
}

/* What the driver has under a name; since CUDA 12.5 also by version, which says which of
 * several is meant. */
static int entry_point(const char *call, const char *symbol, void **function,
		       cuda_enum *status)
{
	int error = rt_begin(call, RIG_USES_DRIVER);
	void *found;

	if (error)
		return error;
	found = rig_entry(symbol);
	*function = found;
	if (status)
		*status = found ? 0 : 1; /* cudaDriverEntryPointSymbolNotFound */
	return found || status ? 0 : rt_done(RIG_NOT_FOUND);
}

cuda_error cudaGetDriverEntryPoint(const char *symbol, void **function,
				   unsigned long long flags, cuda_enum *status)
{
	(void)flags;
	return entry_point(__func__, symbol, function,
			   rig_cuda_version() >= 12000 ? status : NULL);
}

cuda_error cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
					    unsigned version, unsigned long long flags,
					    cuda_enum *status)
{
	(void)version;
	(void)flags;
	return entry_point(__func__, symbol, function, status);
}
