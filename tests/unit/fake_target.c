/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The made-up target of the unit tests. Knows nothing of cores; errors are of the kinds a core gives. */
#include "fake_target.h"

#include "base/error.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 4096

struct fake_target {
	struct cs_target target; /* first: the two are cast into each other */
	struct cs_region regions[MAX_ITEMS];
	uint8_t *bytes[MAX_ITEMS]; /* by cs_region.source */
	struct cs_mapping mappings[MAX_ITEMS];
	struct cs_thread_info threads[MAX_ITEMS];
	struct cs_regs regs[MAX_ITEMS];
	bool regs_fail[MAX_ITEMS];
	struct {
		uint64_t addr, len;
	} faults[MAX_ITEMS];
	size_t n_faults;
	size_t n_reads;
};

static void want(bool ok)
{
	if (!ok)
		abort();
}

static struct cs_region *region_at(struct fake_target *f, uint64_t addr)
{
	for (size_t i = 0; i < f->target.n_regions; i++)
		if (f->regions[i].start <= addr && addr < f->regions[i].end)
			return &f->regions[i];
	abort();
}

static struct cs_error *fake_read(struct cs_target *target, const struct cs_region *region,
				  uint64_t addr, void *buf, size_t len)
{
	struct fake_target *f = (struct fake_target *)target;

	want(addr >= region->start && addr <= region->saved_end &&
	     len <= region->saved_end - addr);
	f->n_reads++;
	for (size_t i = 0; i < f->n_faults; i++) {
		uint64_t bad = f->faults[i].addr;

		if (bad < addr ? addr - bad < f->faults[i].len : bad - addr < len)
			return cs_error_fault(CS_MAX(bad, addr), "fault asked for by the test");
	}
	memcpy(buf, f->bytes[region->source] + (addr - region->start), len);
	return NULL;
}

static struct cs_error *fake_registers(struct cs_target *target, size_t index,
				       struct cs_regs *ret)
{
	struct fake_target *f = (struct fake_target *)target;

	if (index >= target->n_threads)
		return &cs_not_found;
	if (f->regs_fail[index])
		return cs_error_new(CS_ERR_FORMAT, "bad registers asked for by the test");
	*ret = f->regs[index];
	return NULL;
}

static void fake_target_end(struct cs_target *target)
{
	fake_destroy((struct fake_target *)target);
}

static const struct cs_target_ops fake_ops = {
	.read = fake_read,
	.registers = fake_registers,
	.destroy = fake_target_end,
};

struct fake_target *fake_create(uint16_t machine)
{
	struct fake_target *f = calloc(1, sizeof(*f));

	want(f);
	f->target = (struct cs_target){
		.ops = &fake_ops,
		.kind = "fake",
		.machine = machine,
		.page_size = 4096,
		.regions = f->regions,
		.mappings = f->mappings,
		.threads = f->threads,
	};
	return f;
}

void fake_destroy(struct fake_target *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->target.n_regions; i++)
		free(f->bytes[i]);
	for (size_t i = 0; i < f->target.n_mappings; i++)
		free((char *)f->mappings[i].path);
	free(f);
}

struct cs_target *fake_cs(struct fake_target *f)
{
	return &f->target;
}

void fake_map_partial(struct fake_target *f, uint64_t addr, const void *bytes, size_t saved,
		      uint64_t len, unsigned prot)
{
	size_t n = f->target.n_regions, at = 0;
	uint8_t *copy = calloc(1, saved + 1);

	want(copy && n < MAX_ITEMS && len && saved <= len && len - 1 <= UINT64_MAX - 1 - addr);
	if (bytes)
		memcpy(copy, bytes, saved);
	while (at < n && f->regions[at].start < addr)
		at++;
	want(at == 0 || f->regions[at - 1].end <= addr);
	want(at == n || addr + len <= f->regions[at].start);
	memmove(&f->regions[at + 1], &f->regions[at], (n - at) * sizeof(f->regions[0]));
	f->regions[at] = (struct cs_region){
		.start = addr,
		.end = addr + len,
		.saved_end = addr + saved,
		.prot = prot,
		.source = n,
	};
	f->bytes[n] = copy;
	f->target.n_regions++;
}

void fake_map(struct fake_target *f, uint64_t addr, const void *bytes, size_t len, unsigned prot)
{
	fake_map_partial(f, addr, bytes, len, len, prot);
}

void fake_prot(struct fake_target *f, uint64_t addr, unsigned prot)
{
	region_at(f, addr)->prot = prot;
}

void fake_poke(struct fake_target *f, uint64_t addr, const void *bytes, size_t len)
{
	struct cs_region *r = region_at(f, addr);

	want(addr <= r->saved_end && len <= r->saved_end - addr);
	memcpy(f->bytes[r->source] + (addr - r->start), bytes, len);
}

void fake_poke64(struct fake_target *f, uint64_t addr, uint64_t value)
{
	uint64_t le = htole64(value);

	fake_poke(f, addr, &le, sizeof(le));
}

size_t fake_thread(struct fake_target *f, int32_t tid, int signal)
{
	want(f->target.n_threads < MAX_ITEMS);
	f->threads[f->target.n_threads] = (struct cs_thread_info){.tid = tid, .signal = signal};
	return f->target.n_threads++;
}

void fake_thread_pointer(struct fake_target *f, size_t index, uint64_t value)
{
	want(index < f->target.n_threads);
	f->threads[index].thread_pointer = value;
}

void fake_reg(struct fake_target *f, size_t index, unsigned dwarf, uint64_t value)
{
	want(index < f->target.n_threads && dwarf < CS_REGS);
	cs_regs_set(&f->regs[index], dwarf, value);
}

void fake_regs(struct fake_target *f, size_t index, const struct cs_regs *regs)
{
	want(index < f->target.n_threads);
	f->regs[index] = *regs;
}

void fake_file(struct fake_target *f, uint64_t start, uint64_t end, uint64_t offset,
	       const char *path)
{
	size_t n = f->target.n_mappings, at = 0;
	char *copy = strdup(path);

	want(copy && n < MAX_ITEMS && start < end);
	while (at < n && f->mappings[at].start < start)
		at++;
	memmove(&f->mappings[at + 1], &f->mappings[at], (n - at) * sizeof(f->mappings[0]));
	f->mappings[at] = (struct cs_mapping){start, end, offset, copy};
	f->target.n_mappings++;
}

void fake_fail(struct fake_target *f, uint64_t addr, uint64_t len)
{
	want(f->n_faults < MAX_ITEMS);
	f->faults[f->n_faults].addr = addr;
	f->faults[f->n_faults++].len = len;
}

void fake_fail_registers(struct fake_target *f, size_t index)
{
	want(index < f->target.n_threads);
	f->regs_fail[index] = true;
}

size_t fake_reads(const struct fake_target *f)
{
	return f->n_reads;
}
