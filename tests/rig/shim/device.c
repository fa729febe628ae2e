/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The devices of the played machine, and what they say of themselves when they are asked.
 */
#include <stdio.h>
#include <string.h>

#include "process.h"

static struct rig_gpu gpu;
static __thread int current;

void gpu_defaults(struct rig_gpu *ret, int version)
{
	/* CUDA 11.8 is the first that knows capability 9.0 ("CUDA C++ Programming Guide",
	 * compute capabilities). */
	bool hopper = version >= 11080;

	*ret = (struct rig_gpu){.count = 8,
				.memory = UINT64_C(80) << 30,
				.other = UINT64_C(500) << 20,
				.major = hopper ? 9 : 8,
				.multiprocessors = hopper ? 132 : 108};
	strcpy(ret->name, hopper ? "NVIDIA H100 80GB HBM3" : "NVIDIA A100-SXM4-80GB");
}

void gpu_set(const struct rig_gpu *own)
{
	gpu = *own;
}

const struct rig_gpu *rig_gpu(void)
{
	return &gpu;
}

int rig_device(void)
{
	return current;
}

bool rig_set_device(int device)
{
	if (device < 0 || device >= gpu.count)
		return false;
	current = device;
	return true;
}

/* Bus numbers as far apart as in a server with a switch for every two GPUs. */
int rig_bus_number(int device)
{
	return 0x10 + 3 * device;
}

void rig_bus_id(int device, char text[16])
{
	snprintf(text, 16, "0000:%02X:00.0", (unsigned)rig_bus_number(device) & 0xff);
}

void rig_uuid(int device, unsigned char uuid[16])
{
	static const unsigned char played[16] = {0x52, 0x49, 0x47, 0,    0x70, 0x6c,
						 0x41, 0x79, 0x80, 0x65, 0x64, 0,
						 0,    0,    0,    0};

	memcpy(uuid, played, sizeof(played));
	uuid[15] = (unsigned char)device;
}

/*
 * Attributes that are the same on every device. Numbers: cudaDeviceAttr, driver_types.h
 * of CUDA 12.4; values: the "CUDA C++ Programming Guide", technical specifications per
 * compute capability 8.0 and 9.0.
 */
static const struct {
	short attribute;
	int value;
} attributes[] = {
	{1, 1024},                                  /* threads per block */
	{2, 1024},        {3, 1024},    {4, 64},    /* block dimensions */
	{5, 0x7fffffff},  {6, 65535},   {7, 65535}, /* grid dimensions */
	{8, 49152},                                 /* shared memory per block */
	{9, 65536},                                 /* constant memory */
	{10, 32},                                   /* warp */
	{11, 0x7fffffff},                           /* pitch */
	{12, 65536},                                /* registers per block */
	{13, 1980000},                              /* kHz */
	{14, 512},                                  /* texture alignment */
	{15, 1},                                    /* copies overlap */
	{17, 0},                                    /* no time limit */
	{18, 0},                                    /* not integrated */
	{19, 1},                                    /* host memory can be mapped */
	{20, 0},                                    /* compute mode: default */
	{21, 131072},     {22, 131072}, {23, 65536},      {24, 16384},
	{25, 16384},      {26, 16384},  {27, 32768},      {28, 32768},
	{29, 2048},       {30, 512},    {31, 1}, /* concurrent kernels */
	{32, 1},                                 /* ECC */
	{34, 0},                                 /* PCI device */
	{35, 0},                                 /* TCC */
	{36, 2619000},    {37, 5120},            /* memory clock and bus */
	{38, 52428800},                          /* L2 */
	{39, 2048},                              /* threads per multiprocessor */
	{40, 3},                                 /* copy engines */
	{41, 1},                                 /* unified addressing */
	{50, 0},                                 /* PCI domain */
	{51, 32},                                /* texture pitch alignment */
	{78, 1},                                 /* stream priorities */
	{79, 1},          {80, 1},               /* L1 */
	{82, 65536},                             /* registers per multiprocessor */
	{83, 1},                                 /* managed memory */
	{84, 0},          {86, 0},      {87, 2}, /* single to double */
	{88, 0},                                 /* no pageable access */
	{89, 1},          {90, 1},      {91, 1},          {92, 0},
	{93, 0},          {94, 0},      {95, 1}, /* cooperative launch */
	{96, 0},          {98, 0},      {99, 1},          {100, 0},
	{101, 0},         {102, 1}, /* virtual memory management; the runtime knows no
				       such attribute */
	{103, 1},                   /* ... and its handles as file descriptors */
	{104, 0},         {105, 0},     {106, 32}, /* blocks per multiprocessor */
	{107, 0},         {108, 0},     {109, 134213632}, {110, 0},
	{111, 1024}, /* shared memory that the system keeps */
	{112, 0},         {113, 1},     {114, 1},         {115, 1}, /* memory pools */
	{116, 0},         {117, 0},     {118, 0},         {119, 1},
	{121, 0},         {122, 0},     {123, 1},         {124, 1},
	{125, 1},         {126, 0},     {127, 0},         {128, 0},
	{129, 1},         {130, 0},     {131, 0},         {132, 0},
	{133, 0},         {134, -1}, /* host NUMA id */
	{135, 0},         {136, 0},     {137, 0},         {138, 0},
	{139, 0},
};

bool rig_attribute(int device, int attribute, int *value)
{
	bool hopper = gpu.major >= 9;

	switch (attribute) {
	case 16:
		*value = gpu.multiprocessors;
		return true;
	case 33:
		*value = rig_bus_number(device);
		return true;
	case 75:
		*value = gpu.major;
		return true;
	case 76:
		*value = gpu.minor;
		return true;
	case 81: /* shared memory per multiprocessor */
		*value = hopper ? 233472 : 167936;
		return true;
	case 97: /* shared memory per block, at most */
		*value = hopper ? 232448 : 166912;
		return true;
	case 120: /* launches in clusters */
		*value = hopper;
		return true;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (attributes[i].attribute == attribute) {
			*value = attributes[i].value;
			return true;
		}
	return false;
}
