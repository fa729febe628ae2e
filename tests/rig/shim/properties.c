/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * cudaDeviceProp in its three layouts. Offsets: struct cudaDeviceProp in driver_types.h
 * of nvidia-cuda-runtime-cu11 11.7.99, nvidia-cuda-runtime-cu12 12.4.127 (on PyPI) and
 * CUDA 13.0; attributes: enum cudaDeviceAttr there.
 */
#include <string.h>

#include "model.h"
#include "properties.h"

const struct property properties_table[] = {
	{"name", {0, 0, 0}, 256, 0},
	{"uuid", {256, 256, 256}, 16, 0},
	{"luid", {272, 272, 272}, 8, 0},
	{"luidDeviceNodeMask", {280, 280, 280}, 4, 0},
	{"totalGlobalMem", {288, 288, 288}, 8, 0},
	{"sharedMemPerBlock", {296, 296, 296}, 8, 8},
	{"regsPerBlock", {304, 304, 304}, 4, 12},
	{"warpSize", {308, 308, 308}, 4, 10},
	{"memPitch", {312, 312, 312}, 8, 11},
	{"maxThreadsPerBlock", {320, 320, 320}, 4, 1},
	{"maxThreadsDim", {324, 324, 324}, 12, 0},
	{"maxGridSize", {336, 336, 336}, 12, 0},
	{"clockRate", {348, 348, -1}, 4, 13},
	{"totalConstMem", {352, 352, 352}, 8, 9},
	{"major", {360, 360, 360}, 4, 75},
	{"minor", {364, 364, 364}, 4, 76},
	{"textureAlignment", {368, 368, 368}, 8, 14},
	{"texturePitchAlignment", {376, 376, 376}, 8, 51},
	{"deviceOverlap", {384, 384, -1}, 4, 15},
	{"multiProcessorCount", {388, 388, 384}, 4, 16},
	{"kernelExecTimeoutEnabled", {392, 392, -1}, 4, 17},
	{"integrated", {396, 396, 388}, 4, 18},
	{"canMapHostMemory", {400, 400, 392}, 4, 19},
	{"computeMode", {404, 404, -1}, 4, 20},
	{"maxTexture1D", {408, 408, 396}, 4, 21},
	{"maxTexture1DMipmap", {412, 412, 400}, 4, 0},
	{"maxTexture1DLinear", {416, 416, -1}, 4, 0},
	{"maxTexture2D", {420, 420, 404}, 8, 0},
	{"maxTexture2DMipmap", {428, 428, 412}, 8, 0},
	{"maxTexture2DLinear", {436, 436, 420}, 12, 0},
	{"maxTexture2DGather", {448, 448, 432}, 8, 0},
	{"maxTexture3D", {456, 456, 440}, 12, 0},
	{"maxTexture3DAlt", {468, 468, 452}, 12, 0},
	{"maxTextureCubemap", {480, 480, 464}, 4, 0},
	{"maxTexture1DLayered", {484, 484, 468}, 8, 0},
	{"maxTexture2DLayered", {492, 492, 476}, 12, 0},
	{"maxTextureCubemapLayered", {504, 504, 488}, 8, 0},
	{"maxSurface1D", {512, 512, 496}, 4, 0},
	{"maxSurface2D", {516, 516, 500}, 8, 0},
	{"maxSurface3D", {524, 524, 508}, 12, 0},
	{"maxSurface1DLayered", {536, 536, 520}, 8, 0},
	{"maxSurface2DLayered", {544, 544, 528}, 12, 0},
	{"maxSurfaceCubemap", {556, 556, 540}, 4, 0},
	{"maxSurfaceCubemapLayered", {560, 560, 544}, 8, 0},
	{"surfaceAlignment", {568, 568, 552}, 8, 30},
	{"concurrentKernels", {576, 576, 560}, 4, 31},
	{"ECCEnabled", {580, 580, 564}, 4, 32},
	{"pciBusID", {584, 584, 568}, 4, 33},
	{"pciDeviceID", {588, 588, 572}, 4, 34},
	{"pciDomainID", {592, 592, 576}, 4, 50},
	{"tccDriver", {596, 596, 580}, 4, 35},
	{"asyncEngineCount", {600, 600, 584}, 4, 40},
	{"unifiedAddressing", {604, 604, 588}, 4, 41},
	{"memoryClockRate", {608, 608, -1}, 4, 36},
	{"memoryBusWidth", {612, 612, 592}, 4, 37},
	{"l2CacheSize", {616, 616, 596}, 4, 38},
	{"persistingL2CacheMaxSize", {620, 620, 600}, 4, 108},
	{"maxThreadsPerMultiProcessor", {624, 624, 604}, 4, 39},
	{"streamPrioritiesSupported", {628, 628, 608}, 4, 78},
	{"globalL1CacheSupported", {632, 632, 612}, 4, 79},
	{"localL1CacheSupported", {636, 636, 616}, 4, 80},
	{"sharedMemPerMultiprocessor", {640, 640, 624}, 8, 81},
	{"regsPerMultiprocessor", {648, 648, 632}, 4, 82},
	{"managedMemory", {652, 652, 636}, 4, 83},
	{"isMultiGpuBoard", {656, 656, 640}, 4, 84},
	{"multiGpuBoardGroupID", {660, 660, 644}, 4, 85},
	{"hostNativeAtomicSupported", {664, 664, 648}, 4, 86},
	{"singleToDoublePrecisionPerfRatio", {668, 668, -1}, 4, 87},
	{"pageableMemoryAccess", {672, 672, 652}, 4, 88},
	{"concurrentManagedAccess", {676, 676, 656}, 4, 89},
	{"computePreemptionSupported", {680, 680, 660}, 4, 90},
	{"canUseHostPointerForRegisteredMem", {684, 684, 664}, 4, 91},
	{"cooperativeLaunch", {688, 688, 668}, 4, 95},
	{"cooperativeMultiDeviceLaunch", {692, 692, -1}, 4, 96},
	{"sharedMemPerBlockOptin", {696, 696, 672}, 8, 97},
	{"pageableMemoryAccessUsesHostPageTables", {704, 704, 680}, 4, 100},
	{"directManagedMemAccessFromHost", {708, 708, 684}, 4, 101},
	{"maxBlocksPerMultiProcessor", {712, 712, 688}, 4, 106},
	{"accessPolicyMaxWindowSize", {716, 716, 692}, 4, 109},
	{"reservedSharedMemPerBlock", {720, 720, 696}, 8, 111},
	{"hostRegisterSupported", {-1, 728, 704}, 4, 99},
	{"sparseCudaArraySupported", {-1, 732, 708}, 4, 112},
	{"hostRegisterReadOnlySupported", {-1, 736, 712}, 4, 113},
	{"timelineSemaphoreInteropSupported", {-1, 740, 716}, 4, 114},
	{"memoryPoolsSupported", {-1, 744, 720}, 4, 115},
	{"gpuDirectRDMASupported", {-1, 748, 724}, 4, 116},
	{"gpuDirectRDMAFlushWritesOptions", {-1, 752, 728}, 4, 117},
	{"gpuDirectRDMAWritesOrdering", {-1, 756, 732}, 4, 118},
	{"memoryPoolSupportedHandleTypes", {-1, 760, 736}, 4, 119},
	{"deferredMappingCudaArraySupported", {-1, 764, 740}, 4, 121},
	{"ipcEventSupported", {-1, 768, 744}, 4, 125},
	{"clusterLaunch", {-1, 772, 748}, 4, 120},
	{"unifiedFunctionPointers", {-1, 776, 752}, 4, 129},
	{"deviceNumaConfig", {-1, -1, 756}, 4, 0},
	{"deviceNumaId", {-1, -1, 760}, 4, 0},
	{"mpsEnabled", {-1, -1, 764}, 4, 0},
	{"hostNumaId", {-1, -1, 768}, 4, 0},
	{"gpuPciDeviceID", {-1, -1, 772}, 4, 0},
	{"gpuPciSubsystemID", {-1, -1, 776}, 4, 0},
	{"hostNumaMultinodeIpcSupported", {-1, -1, 780}, 4, 0},
};
const size_t properties_count = sizeof(properties_table) / sizeof(properties_table[0]);

size_t properties_size(enum properties_layout layout)
{
	static const size_t sizes[] = {
		[PROPERTIES_11] = 728, [PROPERTIES_12] = 1032, [PROPERTIES_13] = 1008};

	return sizes[layout];
}

/* Members that are no attribute, or several. */
static const struct {
	const char *name;
	int values[3];
} several[] = {
	{"maxThreadsDim", {1024, 1024, 64}},
	{"maxGridSize", {0x7fffffff, 65535, 65535}},
	{"maxTexture1DMipmap", {32768}},
	{"maxTexture1DLinear", {268435456}},
	{"maxTexture2D", {131072, 65536}},
	{"maxTexture2DMipmap", {32768, 32768}},
	{"maxTexture2DLinear", {131072, 65000, 2097120}},
	{"maxTexture2DGather", {32768, 32768}},
	{"maxTexture3D", {16384, 16384, 16384}},
	{"maxTexture3DAlt", {8192, 8192, 32768}},
	{"maxTextureCubemap", {32768}},
	{"maxTexture1DLayered", {32768, 2048}},
	{"maxTexture2DLayered", {32768, 32768, 2048}},
	{"maxTextureCubemapLayered", {32768, 2046}},
	{"maxSurface1D", {32768}},
	{"maxSurface2D", {131072, 65536}},
	{"maxSurface3D", {16384, 16384, 16384}},
	{"maxSurface1DLayered", {32768, 2048}},
	{"maxSurface2DLayered", {32768, 32768, 2048}},
	{"maxSurfaceCubemap", {32768}},
	{"maxSurfaceCubemapLayered", {32768, 2046}},
};

static void put(unsigned char *at, const struct property *p, int device)
{
	const struct rig_gpu *gpu = rig_gpu();
	size_t wide;
	int value = 0;

	for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++)
		if (!strcmp(p->name, several[i].name)) {
			memcpy(at, several[i].values, (size_t)p->size);
			return;
		}
	if (!strcmp(p->name, "name"))
		memcpy(at, gpu->name, strlen(gpu->name));
	else if (!strcmp(p->name, "uuid"))
		rig_uuid(device, at);
	else if (!strcmp(p->name, "totalGlobalMem"))
		memcpy(at, &gpu->memory, sizeof(gpu->memory));
	if (!p->attribute || !rig_attribute(device, p->attribute, &value))
		return;
	wide = (size_t)value;
	if (p->size == 4)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &wide, sizeof(wide));
}

void properties_fill(void *ret, int device, enum properties_layout layout)
{
	unsigned char *bytes = ret;

	memset(bytes, 0, properties_size(layout));
	for (size_t i = 0; i < properties_count; i++) {
		const struct property *p = &properties_table[i];

		if (p->offset[layout] >= 0)
			put(bytes + p->offset[layout], p, device);
	}
}
