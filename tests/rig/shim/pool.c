/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory pools, cudaMallocAsync and its like: what is reserved stays until it is trimmed
 * or a wait settles it. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define POOL_MAGIC 0x504f4f4cU
#define GROWTH                                                                           \
	(UINT64_C(32)                                                                    \
	 << 20) /* as much as a pool takes from the device at once, at least */

struct rig_pool {
	uint32_t magic;
	int device, flags[4]; /* flags: of attributes 1 to 3 */
	uint64_t reserved, reserved_high, used, used_high, threshold;
	struct rig_pool *next;
};
static struct rig_pool *pools;
static struct rig_pool *defaults[RIG_MAX_DEVICES];

struct rig_pool *rig_pool_create(int device)
{
	struct rig_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	*pool = (struct rig_pool){
		.magic = POOL_MAGIC, .device = device, .flags = {0, 1, 1, 1}};
	rig_lock();
	pool->next = pools;
	pools = pool;
	rig_unlock();
	return pool;
}

struct rig_pool *rig_pool_default(int device)
{
	struct rig_pool *pool = defaults[device], *own = NULL;

	if (pool)
		return pool;
	own = rig_pool_create(device);
	rig_lock();
	if (!defaults[device])
		defaults[device] = own;
	pool = defaults[device];
	rig_unlock();
	return pool;
}

static bool is_pool(const struct rig_pool *pool)
{
	return pool && pool->magic == POOL_MAGIC;
}

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

int rig_pool_allocate(struct rig_pool *pool, uint64_t bytes, uint64_t *address)
{
	struct rig_range range = {.kind = RIG_POOLED, .owner = pool};
	uint64_t more;

	if (!is_pool(pool) || !bytes)
		return RIG_INVALID_VALUE;
	if (bytes > rig_gpu()->memory)
		return RIG_OUT_OF_MEMORY;
	range.bytes = round_up(bytes, 4096);
	range.device = pool->device;
	rig_lock();
	more = pool->used + range.bytes > pool->reserved
		       ? round_up(pool->used + range.bytes - pool->reserved, GROWTH)
		       : 0;
	rig_unlock();
	if (more && rig_charge(pool->device, (int64_t)more))
		return RIG_OUT_OF_MEMORY;
	range.address = rig_space(range.bytes);
	if (!range.address || rig_range_add(&range)) {
		if (range.address)
			rig_space_free(range.address, range.bytes);
		rig_charge(pool->device, -(int64_t)more);
		return RIG_OUT_OF_MEMORY;
	}
	rig_lock();
	pool->reserved += more;
	pool->used += range.bytes;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	rig_unlock();
	*address = range.address;
	return 0;
}

int rig_pool_free(uint64_t address)
{
	struct rig_range range;
	struct rig_pool *pool;

	if (!rig_range_at(address, &range) || range.address != address ||
	    range.kind != RIG_POOLED)
		return RIG_INVALID_VALUE;
	pool = range.owner;
	rig_range_remove(address, &range);
	rig_space_free(range.address, range.bytes);
	rig_lock();
	pool->used -= range.bytes;
	rig_unlock();
	return 0;
}

int rig_pool_trim(struct rig_pool *pool, uint64_t least)
{
	uint64_t keep, back = 0;

	if (!is_pool(pool))
		return RIG_INVALID_VALUE;
	rig_lock();
	keep = round_up(pool->used, GROWTH);
	if (keep < least)
		keep = least;
	if (pool->reserved > keep) {
		back = pool->reserved - keep;
		pool->reserved = keep;
	}
	rig_unlock();
	if (back)
		rig_charge(pool->device, -(int64_t)back);
	return 0;
}

void rig_pool_settle(int device)
{
	for (struct rig_pool *pool = pools; pool; pool = pool->next)
		if (pool->device == device && is_pool(pool))
			rig_pool_trim(pool, pool->threshold);
}

int rig_pool_destroy(struct rig_pool *pool)
{
	if (!is_pool(pool) || pool == defaults[pool->device])
		return RIG_INVALID_VALUE;
	rig_pool_trim(pool, 0);
	pool->magic = 0; /* the memory stays: an address may still name it as its owner */
	return 0;
}

/* Attributes as cudaMemPoolAttr, driver_types.h of CUDA 12.4: 1 to 3 are int, 4 to 8 are
 * 64 bits. */
int rig_pool_attribute(struct rig_pool *pool, int attribute, void *value, bool set)
{
	uint64_t *const numbers[] = {&pool->threshold, &pool->reserved,
				     &pool->reserved_high, &pool->used, &pool->used_high};
	uint64_t number;

	if (!is_pool(pool) || !value || attribute < 1 || attribute > 8)
		return RIG_INVALID_VALUE;
	if (attribute <= 3) {
		memcpy(set ? (void *)&pool->flags[attribute] : value,
		       set ? value : &pool->flags[attribute], sizeof(int));
		return 0;
	}
	if (!set) {
		memcpy(value, numbers[attribute - 4], sizeof(number));
		return 0;
	}
	memcpy(&number, value, sizeof(number));
	if (attribute == 4)
		pool->threshold = number;
	else if (attribute == 6 && !number)
		pool->reserved_high = pool->reserved;
	else if (attribute == 8 && !number)
		pool->used_high = pool->used;
	else
		return RIG_INVALID_VALUE;
	return 0;
}
