/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Device memory as address space, and host memory that the device knows. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model.h"

#define LARGE (UINT64_C(2) << 20)
#define SMALL UINT64_C(512)

/* All ranges that the device knows, by address. */
static struct rig_range *ranges;
static size_t count, capacity;

/* Small allocations share 2 MiB, as they do with the driver. */
struct slab {
	uint64_t address, next; /* next: offset that is free from here on */
	int device, live;
	struct slab *older;
};
static struct slab *slabs;

static uint64_t used[RIG_MAX_DEVICES];

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) & ~(unit - 1);
}

/* The first range that begins behind ADDRESS. */
static size_t behind(uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct rig_range *at(uint64_t address)
{
	size_t i = behind(address);

	if (!i || address - ranges[i - 1].address >= ranges[i - 1].bytes)
		return NULL;
	return &ranges[i - 1];
}

static int add(const struct rig_range *range)
{
	size_t i;

	if (count == capacity) {
		size_t wanted = capacity ? capacity * 2 : 256;
		struct rig_range *grown = reallocarray(ranges, wanted, sizeof(*ranges));

		if (!grown)
			return RIG_OUT_OF_MEMORY;
		ranges = grown;
		capacity = wanted;
	}
	i = behind(range->address);
	memmove(&ranges[i + 1], &ranges[i], (count - i) * sizeof(*ranges));
	ranges[i] = *range;
	count++;
	return 0;
}

static void drop(const struct rig_range *range)
{
	size_t i = (size_t)(range - ranges);

	memmove(&ranges[i], &ranges[i + 1], (--count - i) * sizeof(*ranges));
}

bool rig_range_at(uint64_t address, struct rig_range *range)
{
	const struct rig_range *found;

	rig_lock();
	found = at(address);
	if (found)
		*range = *found;
	rig_unlock();
	return found;
}

int rig_range_add(const struct rig_range *range)
{
	int error;

	rig_lock();
	error = add(range);
	rig_unlock();
	return error;
}

bool rig_range_remove(uint64_t address, struct rig_range *range)
{
	struct rig_range *found;
	bool whole;

	rig_lock();
	found = at(address);
	whole = found && found->address == address;
	if (whole) {
		*range = *found;
		drop(found);
	}
	rig_unlock();
	return whole;
}

/*
 * Without a reserve, and aligned: a little more is asked for and the ends are given back.
 * Not for dumps, as what a driver maps of a device: gdb would read gigabytes of it, page
 * by page.
 */
uint64_t rig_space(uint64_t bytes)
{
	uint64_t whole = bytes + LARGE, address, first;
	void *map = whole < bytes
			    ? MAP_FAILED
			    : mmap(NULL, whole, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return 0;
	first = (uint64_t)(uintptr_t)map;
	address = round_up(first, LARGE);
	if (address > first)
		munmap(map, address - first);
	if (first + whole > address + bytes)
		munmap((void *)(uintptr_t)(address + bytes),
		       first + whole - address - bytes);           /* NOLINT */
	madvise((void *)(uintptr_t)address, bytes, MADV_DONTDUMP); /* NOLINT */
	return address;
}

void rig_space_free(uint64_t address, uint64_t bytes)
{
	munmap((void *)(uintptr_t)address, bytes); /* NOLINT */
}

static int charge(int device, int64_t bytes)
{
	const struct rig_gpu *gpu = rig_gpu();

	if (bytes > 0 && (uint64_t)bytes > gpu->memory - gpu->other - used[device])
		return RIG_OUT_OF_MEMORY;
	used[device] += (uint64_t)bytes;
	return 0;
}

int rig_charge(int device, int64_t bytes)
{
	int error;

	rig_lock();
	error = charge(device, bytes);
	rig_unlock();
	return error;
}

uint64_t rig_used(int device)
{
	uint64_t bytes;

	rig_lock();
	bytes = used[device];
	rig_unlock();
	return bytes;
}

/* Charged and mapped. */
static int take(int device, uint64_t bytes, uint64_t *address)
{
	if (charge(device, (int64_t)bytes))
		return RIG_OUT_OF_MEMORY;
	*address = rig_space(bytes);
	if (*address)
		return 0;
	charge(device, -(int64_t)bytes);
	return RIG_OUT_OF_MEMORY;
}

static struct slab *slab_with(int device, uint64_t bytes)
{
	struct slab *slab = slabs;

	while (slab && (slab->device != device || LARGE - slab->next < bytes))
		slab = slab->older;
	if (slab)
		return slab;
	slab = calloc(1, sizeof(*slab));
	if (!slab || take(device, LARGE, &slab->address)) {
		free(slab);
		return NULL;
	}
	slab->device = device;
	slab->older = slabs;
	slabs = slab;
	return slab;
}

static void slab_leave(struct slab *slab)
{
	struct slab **link = &slabs;

	if (--slab->live)
		return;
	while (*link != slab)
		link = &(*link)->older;
	*link = slab->older;
	rig_space_free(slab->address, LARGE);
	charge(slab->device, -(int64_t)LARGE);
	free(slab);
}

static int allocate(int device, uint64_t bytes, uint64_t *address)
{
	struct rig_range range = {.kind = RIG_DEVICE_MEMORY, .device = device};
	struct slab *slab = NULL;
	int error;

	if (bytes > rig_gpu()->memory)
		return RIG_OUT_OF_MEMORY;
	if (bytes < LARGE / 2) {
		range.bytes = round_up(bytes ? bytes : 1, SMALL);
		slab = slab_with(device, range.bytes);
		if (!slab)
			return RIG_OUT_OF_MEMORY;
		range.address = slab->address + slab->next;
		range.owner = slab;
		slab->live++;
		slab->next += range.bytes;
	} else {
		range.bytes = round_up(bytes, LARGE);
		if (take(device, range.bytes, &range.address))
			return RIG_OUT_OF_MEMORY;
	}
	error = add(&range);
	if (error && slab) {
		slab_leave(slab);
	} else if (error) {
		rig_space_free(range.address, range.bytes);
		charge(device, -(int64_t)range.bytes);
	}
	*address = range.address;
	return error;
}

int rig_allocate(int device, uint64_t bytes, uint64_t *address)
{
	int error;

	rig_lock();
	error = allocate(device, bytes, address);
	rig_unlock();
	return error;
}

int rig_free(uint64_t address)
{
	struct rig_range *found, range;

	rig_lock();
	found = at(address);
	if (!found || found->address != address ||
	    (found->kind != RIG_DEVICE_MEMORY && found->kind != RIG_MANAGED)) {
		rig_unlock();
		return RIG_INVALID_VALUE;
	}
	range = *found;
	drop(found);
	if (range.owner) {
		slab_leave(range.owner);
	} else {
		rig_space_free(range.address, range.bytes);
		charge(range.device, -(int64_t)range.bytes);
	}
	rig_unlock();
	return 0;
}

int rig_owner(uint64_t address)
{
	struct rig_range range;

	if (!rig_range_at(address, &range) || range.kind == RIG_PINNED ||
	    range.kind == RIG_REGISTERED)
		return -1;
	return range.device;
}

bool rig_pinned(const void *address)
{
	struct rig_range range;

	return rig_range_at((uint64_t)(uintptr_t)address, &range) &&
	       range.kind >= RIG_PINNED;
}

/* Shared and anonymous, as what the driver maps: so it is in a core, if the process lets
 * such memory be dumped. */
static void *shared(uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

int rig_host_allocate(uint64_t bytes, void **address)
{
	struct rig_range range = {.kind = RIG_PINNED, .device = rig_device()};
	void *map;

	range.bytes = round_up(bytes ? bytes : 1, (uint64_t)sysconf(_SC_PAGESIZE));
	map = range.bytes < bytes ? NULL : shared(range.bytes);
	if (!map)
		return RIG_OUT_OF_MEMORY;
	range.address = (uint64_t)(uintptr_t)map;
	if (rig_range_add(&range)) {
		munmap(map, range.bytes);
		return RIG_OUT_OF_MEMORY;
	}
	*address = map;
	return 0;
}

int rig_host_free(void *address)
{
	struct rig_range range;

	if (!rig_range_at((uint64_t)(uintptr_t)address, &range) ||
	    range.kind != RIG_PINNED ||
	    !rig_range_remove((uint64_t)(uintptr_t)address, &range))
		return RIG_INVALID_VALUE;
	munmap(address, range.bytes);
	return 0;
}

int rig_host_register(void *address, uint64_t bytes)
{
	struct rig_range range = {.address = (uint64_t)(uintptr_t)address,
				  .bytes = bytes,
				  .kind = RIG_REGISTERED,
				  .device = rig_device()};
	struct rig_range other;

	if (!address || !bytes)
		return RIG_INVALID_VALUE;
	if (rig_range_at(range.address, &other) ||
	    rig_range_at(range.address + bytes - 1, &other))
		return RIG_HOST_REGISTERED;
	return rig_range_add(&range);
}

int rig_host_unregister(void *address)
{
	struct rig_range range;

	if (!rig_range_at((uint64_t)(uintptr_t)address, &range) ||
	    range.kind != RIG_REGISTERED ||
	    !rig_range_remove((uint64_t)(uintptr_t)address, &range))
		return RIG_HOST_NOT_REGISTERED;
	return 0;
}

int rig_managed_allocate(int device, uint64_t bytes, uint64_t *address)
{
	struct rig_range range = {.kind = RIG_MANAGED, .device = device};
	void *map;
	int error;

	range.bytes = round_up(bytes ? bytes : 1, LARGE);
	if (range.bytes < bytes || rig_charge(device, (int64_t)range.bytes))
		return RIG_OUT_OF_MEMORY;
	map = shared(range.bytes);
	range.address = (uint64_t)(uintptr_t)map;
	error = map ? rig_range_add(&range) : RIG_OUT_OF_MEMORY;
	if (!error) {
		*address = range.address;
		return 0;
	}
	if (map)
		munmap(map, range.bytes);
	rig_charge(device, -(int64_t)range.bytes);
	return error;
}
