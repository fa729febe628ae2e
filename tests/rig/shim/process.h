/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between process.c, device.c and the tests. */
#ifndef RIG_PROCESS_H
#define RIG_PROCESS_H

#include "model.h"

/* A GPU of the time of a CUDA version (1000 * major + 10 * minor). */
void gpu_defaults(struct rig_gpu *gpu, int version);
void gpu_set(const struct rig_gpu *gpu);
/* For tests: a context that is whole again. */
void rig_process_reset(void);

#endif
