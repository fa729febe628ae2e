/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the driver's files share. */
#ifndef RIG_DRIVER_H
#define RIG_DRIVER_H

#include "abi.h"

/* A call about a device, as a number: 0, or its result. */
int driver_device(const char *call, int device);

#endif
