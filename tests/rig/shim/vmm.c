/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual memory management: reserved address space, physical memory, and what is mapped
 * where. */
#include <stdlib.h>

#include "model.h"

#define UNIT (UINT64_C(2) << 20)
#define PHYSICAL_MAGIC 0x50485953U

/* Lives until it is released and mapped nowhere. */
struct physical {
	uint32_t magic;
	int device, references;
	uint64_t bytes;
};
struct reservation {
	uint64_t address, bytes;
	struct reservation *next;
};
static struct reservation *reservations;

int rig_vmm_reserve(uint64_t bytes, uint64_t alignment, uint64_t *address)
{
	struct reservation *r;

	if (!bytes || bytes % UNIT || (alignment & (alignment - 1)) || alignment > UNIT)
		return RIG_INVALID_VALUE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return RIG_OUT_OF_MEMORY;
	r->bytes = bytes;
	r->address = rig_space(bytes);
	if (!r->address) {
		free(r);
		return RIG_OUT_OF_MEMORY;
	}
	*address = r->address;
	rig_lock();
	r->next = reservations;
	reservations = r;
	rig_unlock();
	return 0;
}

static bool reserved(uint64_t address, uint64_t bytes)
{
	const struct reservation *r;

	rig_lock();
	for (r = reservations; r; r = r->next)
		if (address >= r->address && address - r->address <= r->bytes &&
		    bytes <= r->bytes - (address - r->address))
			break;
	rig_unlock();
	return r;
}

/* Is something mapped within? */
static bool mapped(uint64_t address, uint64_t bytes)
{
	struct rig_range range;

	for (uint64_t offset = 0; offset < bytes; offset += UNIT)
		if (rig_range_at(address + offset, &range))
			return true;
	return false;
}

int rig_vmm_unreserve(uint64_t address, uint64_t bytes)
{
	struct reservation **link, *found;

	if (mapped(address, bytes))
		return RIG_INVALID_VALUE;
	rig_lock();
	for (link = &reservations; *link; link = &(*link)->next)
		if ((*link)->address == address && (*link)->bytes == bytes)
			break;
	found = *link;
	if (found)
		*link = found->next;
	rig_unlock();
	if (!found)
		return RIG_INVALID_VALUE;
	rig_space_free(address, bytes);
	free(found);
	return 0;
}

static struct physical *physical(uint64_t handle)
{
	struct physical *p = (struct physical *)(uintptr_t)handle; /* NOLINT */

	return p && p->magic == PHYSICAL_MAGIC ? p : NULL;
}

int rig_vmm_create(int device, uint64_t bytes, uint64_t *handle)
{
	struct physical *p;

	if (device < 0 || device >= rig_gpu()->count)
		return RIG_INVALID_DEVICE;
	if (!bytes || bytes % UNIT)
		return RIG_INVALID_VALUE;
	p = calloc(1, sizeof(*p));
	if (!p || rig_charge(device, (int64_t)bytes)) {
		free(p);
		return RIG_OUT_OF_MEMORY;
	}
	*p = (struct physical){.magic = PHYSICAL_MAGIC,
			       .device = device,
			       .references = 1,
			       .bytes = bytes};
	*handle = (uint64_t)(uintptr_t)p;
	return 0;
}

static void drop(struct physical *p)
{
	int left;

	rig_lock();
	left = --p->references;
	rig_unlock();
	if (left)
		return;
	rig_charge(p->device, -(int64_t)p->bytes);
	p->magic = 0;
	free(p);
}

int rig_vmm_release(uint64_t handle)
{
	struct physical *p = physical(handle);

	if (!p)
		return RIG_INVALID_VALUE;
	drop(p);
	return 0;
}

int rig_vmm_retain(uint64_t address, uint64_t *handle)
{
	struct rig_range range;
	struct physical *p;

	if (!rig_range_at(address, &range) || range.kind != RIG_MAPPED)
		return RIG_INVALID_VALUE;
	p = range.owner;
	rig_lock();
	p->references++;
	rig_unlock();
	*handle = (uint64_t)(uintptr_t)p;
	return 0;
}

int rig_vmm_device(uint64_t handle)
{
	const struct physical *p = physical(handle);

	return p ? p->device : -1;
}

int rig_vmm_map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle)
{
	struct physical *p = physical(handle);
	struct rig_range range = {
		.address = address, .bytes = bytes, .kind = RIG_MAPPED, .owner = p};
	int error;

	if (!p || offset || bytes != p->bytes || address % UNIT ||
	    !reserved(address, bytes) || mapped(address, bytes))
		return RIG_INVALID_VALUE;
	range.device = p->device;
	error = rig_range_add(&range);
	if (error)
		return error;
	rig_lock();
	p->references++;
	rig_unlock();
	return 0;
}

/* Only whole mappings, one or several, leave. */
int rig_vmm_unmap(uint64_t address, uint64_t bytes)
{
	struct rig_range range;
	uint64_t offset;

	if (!bytes || !reserved(address, bytes))
		return RIG_INVALID_VALUE;
	for (offset = 0; offset < bytes; offset += range.bytes)
		if (!rig_range_at(address + offset, &range) ||
		    range.address != address + offset || range.bytes > bytes - offset)
			return RIG_INVALID_VALUE;
	for (offset = 0; offset < bytes; offset += range.bytes) {
		if (!rig_range_remove(address + offset, &range))
			return RIG_INVALID_VALUE;
		drop(range.owner);
	}
	return 0;
}

int rig_vmm_access(uint64_t address, uint64_t bytes)
{
	struct rig_range range;

	for (uint64_t offset = 0; offset < bytes; offset += UNIT)
		if (!rig_range_at(address + offset, &range))
			return RIG_INVALID_VALUE;
	return bytes && reserved(address, bytes) ? 0 : RIG_INVALID_VALUE;
}
