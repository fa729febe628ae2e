/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cudaDeviceProp, which has had three layouts. */
#ifndef RIG_PROPERTIES_H
#define RIG_PROPERTIES_H

#include <stddef.h>

enum properties_layout {
	PROPERTIES_11, /* CUDA 11, and cudaGetDeviceProperties of 12: 728 bytes */
	PROPERTIES_12, /* the same with more behind it: 1032 bytes */
	PROPERTIES_13, /* without what 12 had called obsolete: 1008 bytes */
	PROPERTIES_LAYOUTS,
};

/* A member: where it is in each layout (-1: not at all), and how it comes about. */
struct property {
	const char *name;
	short offset[PROPERTIES_LAYOUTS];
	short size;      /* 4: int, 8: size_t, others: not from a number */
	short attribute; /* of cudaDeviceAttr; 0: none */
};
extern const struct property properties_table[];
extern const size_t properties_count;
size_t properties_size(enum properties_layout layout);

void properties_fill(void *ret, int device, enum properties_layout layout);

#endif
