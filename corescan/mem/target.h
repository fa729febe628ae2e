/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * The seam: the only way to get at a process.
 *
 * A core file, a live process, a debugger over a pipe, a test's fake and a fault injector are
 * implementations of struct cs_target_ops. Everything to the right of mem works on this alone.
 */
#ifndef CS_MEM_TARGET_H
#define CS_MEM_TARGET_H

#include "base/error.h"

#include <sys/types.h>

/** Registers of one frame, indexed by DWARF number of the architecture; see arch/arch.h. */
#define CS_REGS 34
struct cs_regs {
	uint64_t value[CS_REGS];
	uint64_t known; /* bit n: value[n] is valid */
};

CS_UNUSED static inline bool cs_regs_get(const struct cs_regs *r, unsigned n, uint64_t *ret)
{
	if (n >= CS_REGS || !(r->known >> n & 1))
		return false;
	*ret = r->value[n];
	return true;
}

CS_UNUSED static inline void cs_regs_set(struct cs_regs *r, unsigned n, uint64_t value)
{
	r->value[n] = value;
	r->known |= 1ULL << n;
}

enum cs_prot { CS_PROT_READ = 4, CS_PROT_WRITE = 2, CS_PROT_EXEC = 1 };

/** One range of the target's address space. Regions do not overlap and are sorted by start. */
struct cs_region {
	uint64_t start;
	uint64_t end;       /* exclusive */
	uint64_t saved_end; /* [start, saved_end) can be read from the target itself */
	unsigned prot;      /* enum cs_prot */
	uint64_t source;    /* private to the target: a core's file offset */
};

/** One file mapping, as NT_FILE or /proc/PID/maps have it; sorted by start. */
struct cs_mapping {
	uint64_t start;
	uint64_t end;    /* exclusive */
	uint64_t offset; /* in the file, bytes */
	const char *path; /* owned by the target; raw bytes, not checked for UTF-8 */
};

struct cs_thread_info {
	int32_t tid;
	int signal; /* pr_cursig; 0: none */
	/* fs_base, tpidr_el0: pthread_self(), or a fixed distance from it; 0: not known */
	uint64_t thread_pointer;
};

struct cs_target;

struct cs_target_ops {
	/** Read exactly @len bytes that lie within [start, saved_end) of region @region. */
	struct cs_error *(*read)(struct cs_target *target, const struct cs_region *region,
				 uint64_t addr, void *buf, size_t len);
	/** Registers of thread number @index. Errors: NOT_FOUND, FORMAT. */
	struct cs_error *(*registers)(struct cs_target *target, size_t index,
				      struct cs_regs *ret);
	void (*destroy)(struct cs_target *target);
};

/**
 * What every target has; implementations embed it as first member. The lists are filled by the time
 * the target is handed out, and owned by it.
 */
struct cs_target {
	const struct cs_target_ops *ops;
	const char *kind; /* "core", "fake" */
	uint16_t machine; /* ELF EM_ value */
	uint64_t page_size; /* bytes, a power of two */
	const struct cs_region *regions;
	size_t n_regions;
	const struct cs_mapping *mappings;
	size_t n_mappings;
	const struct cs_thread_info *threads;
	size_t n_threads;
};

CS_UNUSED static inline void cs_target_destroy(struct cs_target *target)
{
	if (target)
		target->ops->destroy(target);
}
CS_DEFINE_CLEANUP(struct cs_target *, cs_target_destroy)

#endif
