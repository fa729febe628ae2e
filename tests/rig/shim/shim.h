/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The played GPU: what the driver, the runtime and the NCCL stand-ins share.
 *
 * One copy of this state lives in libcuda.so.1; the preloaded runtime and NCCL use it.
 * Nothing is computed: a kernel is over when its stream has nothing to wait for, and
 * device memory is address space without contents.
 *
 * All functions may be called from any thread. Error numbers are those of cudaError_t
 * (CUresult has the same numbers for those that are used here) and of ncclResult_t.
 */
#ifndef RIG_SHIM_H
#define RIG_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RIG_EXPORT __attribute__((visibility("default")))

/*
 * Rules: what goes wrong, and when. One a line (or between semicolons), from RIG_RULES,
 * from the file that RIG_FILE names, or at run time from rig_rule(). Grammar and
 * examples: docs/HOWTO-rig.md.
 *
 *   gpu count=8 memory=80GiB other=500MiB name="NVIDIA H100 80GB HBM3" capability=9.0
 * sms=132 on cudaMalloc nth=12: error=2 on launch match=*gelu* nth=3: sticky=700 on
 * ncclCommGetAsyncError after=2.5: error=2 text="..." on collective match=AllReduce nth=5
 * rank=1: pending
 *
 * CALL is the name of an entry point without version suffix, or `launch` (kernels, by
 * name), `copy` (memcpy and memset), `collective` (NCCL operations, by name).
 */

/* What the rules say of one call. */
struct rig_verdict {
	int error;    /* to be returned; 0: go on as usual */
	int sticky;   /* not 0: from now on the context is broken: every later call that
		       * looks at the device   answers with this error, as the runtime does
		       * for 700, 710, 719 ... */
	bool pending; /* what is put on the stream now never completes, until
			 rig_release() */
	const char *text; /* the rule's own words (ncclGetLastError), valid for ever;
			     NULL: none */
};

/*
 * Every entry point asks first. CALL: name; MATCH: kernel, operation or NULL. Sleeps,
 * hangs and signals that rules ask for happen inside. The counting of nth= is a rule's
 * own.
 */
RIG_EXPORT struct rig_verdict rig_enter(const char *call, const char *match);

/* For the program under test, through ctypes: 0, or -1 with a message on stderr. */
RIG_EXPORT int rig_rule(const char *text);
/* Conditions cue=NAME are true from now on. */
RIG_EXPORT void rig_cue(const char *name);
/* All that rules made pending completes now. */
RIG_EXPORT void rig_release(void);
/* How often CALL was entered so far (with MATCH: that name only, no pattern); for tests
 * and programs. */
RIG_EXPORT uint64_t rig_calls(const char *call, const char *match);

/* The devices. */
struct rig_gpu {
	int count;       /* devices, 1 to 64 */
	uint64_t memory; /* bytes of each */
	uint64_t other;  /* bytes of each that others have taken: the driver's context,
			    another process */
	char name[256];
	int major, minor; /* compute capability */
	int multiprocessors;
};
RIG_EXPORT const struct rig_gpu *rig_gpu(void);
RIG_EXPORT int rig_device(void);            /* current device of this thread */
RIG_EXPORT bool rig_set_device(int device); /* false: no such device */

/*
 * Device memory. Addresses are real address space (PROT_NONE, no reserve, in 0x7f... as
 * the driver gives them), so that a read of the host faults as it would.
 */
/* 0 or 2 (out of memory); *address: aligned to 512, or to 2 MiB from 1 MiB on. */
RIG_EXPORT int rig_allocate(int device, uint64_t bytes, uint64_t *address);
/* 0 or 1 (no such allocation). */
RIG_EXPORT int rig_free(uint64_t address);
/* Accounts for memory that has no address of its own (cuMemCreate, pools): 0 or 2.
 * Negative: gives back. */
RIG_EXPORT int rig_charge(int device, int64_t bytes);
RIG_EXPORT uint64_t rig_used(int device); /* bytes, without what others have */
/* The device of an allocation that ADDRESS lies in; -1: host memory. */
RIG_EXPORT int rig_owner(uint64_t address);

/* The sticky error of the process: 0, or what every call that looks at the device must
 * return. */
RIG_EXPORT int rig_broken(void);
RIG_EXPORT void rig_break(int error);

/*
 * Streams and events. A stream is NULL (the device's default stream), 1 or 2 (legacy and
 * per-thread default) or what rig_stream_create() gave. It holds tickets: what has to be
 * done before all that was put on it is done. An event takes a copy of its stream's
 * tickets when it is recorded. Work is in order within a stream.
 */
struct rig_ticket {
	bool (*done)(
		void *owner,
		uint64_t number); /* may be called at any time, from any thread, often */
	void *owner;              /* lives for ever */
	uint64_t number;
};
struct rig_stream;
struct rig_event;
RIG_EXPORT struct rig_stream *rig_stream_create(int priority);
RIG_EXPORT void rig_stream_destroy(struct rig_stream *stream);
/* All that is put on the stream from now on is done only after the ticket. */
RIG_EXPORT void rig_stream_depend(struct rig_stream *stream, struct rig_ticket ticket);
RIG_EXPORT bool rig_stream_done(struct rig_stream *stream);
/* Blocks as cudaStreamSynchronize does: 0, or the sticky error that ended the wait. */
RIG_EXPORT int rig_stream_wait(struct rig_stream *stream);
/* A verdict's pending and sticky, applied to the stream that the call puts work on. */
RIG_EXPORT void rig_stream_apply(struct rig_stream *stream,
				 const struct rig_verdict *verdict);

#endif
