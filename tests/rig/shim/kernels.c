/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels by name: those that a program registers at its start (tens of thousands in
 * PyTorch), those of modules. */
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct rig_kernel {
	char *name;
};

/* Pointer to name; open addressing, never more than half full. */
struct entry {
	const void *key;
	const char *name;
};
static struct entry *table;
static size_t size, used;

static struct entry *find(struct entry *entries, size_t n, const void *key)
{
	uint64_t h = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = (size_t)(h >> 20);; i++) {
		struct entry *e = &entries[i & (n - 1)];

		if (!e->key || e->key == key)
			return e;
	}
}

static bool grow(void)
{
	size_t wanted = size ? size * 2 : 4096;
	struct entry *entries = calloc(wanted, sizeof(*entries));

	if (!entries)
		return false;
	for (size_t i = 0; i < size; i++)
		if (table[i].key)
			*find(entries, wanted, table[i].key) = table[i];
	free(table);
	table = entries;
	size = wanted;
	return true;
}

void rig_kernel_register(const void *host, const char *name)
{
	rig_lock();
	if (host && (used * 2 < size || grow())) {
		struct entry *e = find(table, size, host);

		used += !e->key;
		*e = (struct entry){.key = host, .name = name};
	}
	rig_unlock();
}

const char *rig_kernel_name(const void *function)
{
	const char *name = NULL;

	rig_lock();
	if (function && size)
		name = find(table, size, function)->name;
	rig_unlock();
	return name;
}

struct rig_kernel *rig_kernel_create(const char *name)
{
	struct rig_kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->name = strdup(name);
	if (!kernel->name) {
		free(kernel);
		return NULL;
	}
	rig_kernel_register(kernel, kernel->name);
	return kernel;
}
