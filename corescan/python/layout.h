/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * Where one build of CPython keeps its fields.
 *
 * There is one list of fields, symbols/layouts/cpython.def; everything here is expanded from it. A layout
 * comes from the offsets that the runtime publishes about itself (3.13+), from the debug information of
 * that very build, or from the table of its version.
 */
#ifndef CS_PYTHON_LAYOUT_H
#define CS_PYTHON_LAYOUT_H

#include "corescan/analysis.h"
#include "mem/space.h"

#include <gelf.h>

#define CS_ABSENT (-1) /* this version has no such field */

/** Columns of the table. */
enum cs_py_column {
	CS_PY_3_6, CS_PY_3_7, CS_PY_3_8, CS_PY_3_9, CS_PY_3_10, CS_PY_3_11, CS_PY_3_12,
	CS_PY_3_13, CS_PY_3_13T, CS_PY_3_14, CS_PY_3_14T, CS_PY_3_15, CS_PY_3_15T,
	CS_PY_COLUMNS
};

/** Byte offsets, or CS_ABSENT: `tstate_interp` is field interp of object tstate. */
struct cs_py_layout {
	uint32_t version; /* PY_VERSION_HEX: 0x030c01f0 is 3.12.1 final */
	unsigned minor;   /* 12 of 3.12 */
	bool free_threaded;
	enum cs_layout_source source;
#define F(object, field, bytes, declared, ...) int32_t object##_##field;
#include "symbols/layouts/cpython.def"
#undef F
};

/** One field, for code that goes over all of them. */
struct cs_py_field {
	const char *name;     /* "tstate_interp" */
	const char *declared; /* "PyThreadState.interp", alternatives separated by '|' */
	unsigned bytes;       /* 0: the field is the size of its structure */
	size_t position;      /* of the int32_t in struct cs_py_layout */
};
extern const struct cs_py_field cs_py_fields[];
extern const size_t cs_py_n_fields;

/** The offset at `position` of a layout, of one field of cs_py_fields. */
CS_UNUSED static inline int32_t *cs_py_layout_at(struct cs_py_layout *layout, size_t position)
{
	return (int32_t *)(void *)((char *)layout + position);
}

/** The table's layout of a version, e.g. 0x030b07f0; false: none for that version. */
CS_MUST_CHECK bool cs_py_layout_table(uint32_t version, bool free_threaded, uint16_t machine,
				      struct cs_py_layout *ret);

#define CS_PY_COOKIE "xdebugpy" /* the first 8 bytes of _Py_DebugOffsets */

/**
 * The layout that the runtime at @runtime publishes: the table of its version with every offset replaced
 * that _Py_DebugOffsets has. Everything read is taken to be hostile: each offset must lie within its
 * structure and be aligned, each size be sane.
 * Errors: NOT_FOUND (no cookie there), FORMAT (the message names the field), UNSUPPORTED (a version that
 * has no table), FAULT.
 */
CS_MUST_CHECK struct cs_error *cs_py_layout_published(struct cs_mem *mem, uint64_t runtime,
						      uint16_t machine, struct cs_py_layout *ret);

/**
 * Replace every offset of @layout that the debug information @elf declares. True if enough was there (the
 * thread state and the frame) for the layout to count as DWARF's.
 */
CS_MUST_CHECK bool cs_py_layout_dwarf(Elf *elf, struct cs_py_layout *layout);

#endif
