/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of the played CUDA runtime share. */
#ifndef RIG_RUNTIME_H
#define RIG_RUNTIME_H

#include "abi.h"

/* A call's result: kept for cudaGetLastError() unless it is 0. */
int rt_done(int error);
/* rig_begin() and its like, with the result kept. */
int rt_begin(const char *call, unsigned flags);
int rt_begin_work(const char *call, const char *group, const char *match,
		  struct rig_stream *stream, bool *captured);

#endif
