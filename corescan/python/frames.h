/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Python frames: chains of frames, the code they run, and the line each is at.
 *
 * A frame that cannot be read keeps its place, without a code. Code objects are read once each.
 */
#ifndef CS_PYTHON_FRAMES_H
#define CS_PYTHON_FRAMES_H

#include "python/object.h"

/** A code object, read; lives as long as the codes. Strings are in the arena. */
struct cs_py_code {
	uint64_t address;
	const char *name;     /* qualified from 3.11 on; NULL: not readable */
	const char *filename; /* NULL: not readable */
	uint32_t first_line;
	uint64_t instructions; /* address of the first instruction (3.11+) */
	uint32_t first_traceable; /* code units (3.11+) */
	uint64_t table;        /* address of the line table's bytes; 0: not readable */
	uint64_t table_len;
	bool shim;             /* 3.12: the trampoline that every native entry pushes */
	/* Decoded at first use: the line of each range of code units, sorted; owned by the codes. */
	struct cs_py_line *lines;
	size_t n_lines;
	bool lines_read;
};

struct cs_py_line {
	uint32_t start; /* first code unit (3.10+) or byte (before) */
	uint32_t line;  /* 0: this range has no line */
};

struct cs_py_codes;
CS_MUST_CHECK struct cs_error *cs_py_codes_create(const struct cs_py *py, struct cs_py_codes **ret);
void cs_py_codes_destroy(struct cs_py_codes *codes);
CS_DEFINE_CLEANUP(struct cs_py_codes *, cs_py_codes_destroy)

/** The code at @address, or NULL if no code object is there. Valid until the codes are destroyed. */
const struct cs_py_code *cs_py_code_at(struct cs_py_codes *codes, uint64_t address);
/**
 * The line of position @at: code units from the first instruction from 3.10 on, bytes before; -1 is
 * "before the first instruction". 0: not known, or the position has no line.
 */
uint32_t cs_py_code_line(struct cs_py_codes *codes, const struct cs_py_code *code, int64_t at);

/** One frame. */
struct cs_py_frame {
	uint64_t address;              /* of PyFrameObject (3.6-3.10) or _PyInterpreterFrame */
	const struct cs_py_code *code; /* NULL: not readable */
	uint32_t line;                 /* 0: not known */
};

/** Frames that one call of the evaluation loop runs: inner ones were called without leaving it. */
struct cs_py_run {
	size_t first, n; /* of the chain's frames, innermost first; n may be 0 */
	/*
	 * An address within the native frame of the loop (3.10+: its CFrame, _PyCFrame or shim); 0: this
	 * version has none, or it could not be read.
	 */
	uint64_t anchor;
};

/** What runs in one thread state, innermost first. */
struct cs_py_chain {
	CS_VEC(struct cs_py_frame) frames; /* owned */
	CS_VEC(struct cs_py_run) runs;     /* owned */
	const char *broken; /* why there may be more frames further out; NULL: it is complete */
};
void cs_py_chain_deinit(struct cs_py_chain *chain);

/** The frames of thread state @tstate. Errors: NOMEM. */
CS_MUST_CHECK struct cs_error *cs_py_chain_read(const struct cs_py *py, struct cs_py_codes *codes,
						uint64_t tstate, struct cs_py_chain *ret);
/**
 * The frames from frame @frame on outwards along its chain: those of a suspended generator's own frame
 * (one), of a greenlet, of a traceback's frame object. @max of them at most. Errors: NOMEM.
 */
CS_MUST_CHECK struct cs_error *cs_py_chain_from(const struct cs_py *py, struct cs_py_codes *codes,
						uint64_t frame, size_t max,
						struct cs_py_chain *ret);
/** One frame read; false where it is not a frame of Python code (shim, incomplete, unreadable). */
CS_MUST_CHECK bool cs_py_frame_read(const struct cs_py *py, struct cs_py_codes *codes,
				    uint64_t frame, struct cs_py_frame *ret);
/** From a frame object (traceback, 3.11+ `frame`) to the frame that cs_py_frame_read() takes; 0: none. */
uint64_t cs_py_frame_of_object(const struct cs_py *py, uint64_t frame_object);

/** The model's frame for @frame: name, file, line; values and source are added by others. */
struct cs_frame cs_py_frame_model(const struct cs_py_frame *frame);

#endif
