/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Inside the core layer: the parts of one opened core. */
#ifndef CS_CORE_INTERNAL_H
#define CS_CORE_INTERNAL_H

#include "base/limits.h"
#include "base/vec.h"
#include "core/core.h"

struct cs_core_thread {
	struct cs_regs regs;
	bool has_regs; /* false: its NT_PRSTATUS is shorter than the machine's */
	struct cs_siginfo siginfo;
};

struct cs_auxv_entry {
	uint64_t type, value;
};

/** Where a PT_NOTE lies in the file. */
struct cs_note_segment {
	uint64_t offset;
	uint64_t size;
	uint64_t align; /* 4 or 8 */
};

struct cs_core {
	struct cs_target target; /* first: ops get a pointer to it */
	struct cs_core_info info;
	const struct cs_arch *arch;
	struct cs_file *file; /* the unpacked one, if it was compressed */
	struct cs_diags *diags;
	CS_VEC(struct cs_region) regions;
	CS_VEC(struct cs_note_segment) note_segments;
	CS_VEC(struct cs_mapping) mappings;
	CS_VEC(struct cs_thread_info) thread_infos;
	CS_VEC(struct cs_core_thread) threads; /* same indices as thread_infos */
	CS_VEC(struct cs_auxv_entry) auxv;
	size_t n_notes;      /* read so far, of all segments */
	bool thread_dropped; /* the thread of the last NT_PRSTATUS is beyond the limit */
	bool limit_said;     /* a limit on notes has its diagnostic */
	char *mapping_names; /* owned; what mappings[].path points into */
};

/**
 * The descriptor that holds the core's bytes, unpacked where @path is compressed or a pipe.
 * Sets info.bytes, info.compression, info.file_time and file. Errors: as cs_core_open().
 */
CS_MUST_CHECK struct cs_error *cs_core_unpack(struct cs_core *core, const char *path,
					      const struct cs_core_options *options);

/** ELF header and program headers: arch, regions, note segments, completeness. */
CS_MUST_CHECK struct cs_error *cs_core_read_headers(struct cs_core *core);

/** All notes: threads, mappings, auxv, process facts. Damage becomes a diagnostic. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_core_read_notes(struct cs_core *core);

#endif
