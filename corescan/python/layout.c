/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The table of layouts by version. Knows which column belongs to which build; what a field means is the
 * business of whoever reads it.
 */
#include "python/layout.h"

#include <elf.h>
#include <stddef.h>

const struct cs_py_field cs_py_fields[] = {
#define F(object, field, n_bytes, declared_at, ...)                                      \
	{.name = #object "_" #field,                                                     \
	 .declared = (declared_at),                                                      \
	 .bytes = (n_bytes),                                                             \
	 .position = offsetof(struct cs_py_layout, object##_##field)},
#include "symbols/layouts/cpython.def"
#undef F
};
const size_t cs_py_n_fields = CS_COUNT(cs_py_fields);

static const int32_t table[][CS_PY_COLUMNS] = {
#define F(object, field, n_bytes, declared_at, ...) {__VA_ARGS__},
#include "symbols/layouts/cpython.def"
#undef F
};

/** What differs from the table on aarch64. */
static const struct {
	enum cs_py_column column;
	size_t position;
	int32_t offset;
} aarch64[] = {
#define A(col, object, field, at) {col, offsetof(struct cs_py_layout, object##_##field), at},
#include "symbols/layouts/cpython_aarch64.def"
#undef A
};

/** The column of 3.@minor; CS_PY_COLUMNS: none. */
static enum cs_py_column column_of(unsigned minor, bool free_threaded)
{
	if (minor < 6 || minor > 15 || (free_threaded && minor < 13))
		return CS_PY_COLUMNS;
	if (minor < 13)
		return (enum cs_py_column)(CS_PY_3_6 + (minor - 6));
	return (enum cs_py_column)(CS_PY_3_13 + (minor - 13) * 2 + free_threaded);
}

bool cs_py_layout_table(uint32_t version, bool free_threaded, uint16_t machine,
			struct cs_py_layout *ret)
{
	unsigned minor = version >> 16 & 0xff;
	enum cs_py_column column = column_of(minor, free_threaded);

	if (version >> 24 != 3 || column == CS_PY_COLUMNS)
		return false;
	*ret = (struct cs_py_layout){.version = version,
				     .minor = minor,
				     .free_threaded = free_threaded,
				     .source = CS_LAYOUT_TABLE};
	for (size_t i = 0; i < cs_py_n_fields; i++)
		*cs_py_layout_at(ret, cs_py_fields[i].position) = table[i][column];
	for (size_t i = 0; machine == EM_AARCH64 && i < CS_COUNT(aarch64); i++)
		if (aarch64[i].column == column)
			*cs_py_layout_at(ret, aarch64[i].position) = aarch64[i].offset;
	/* 3.7.0 to 3.7.3 kept the current thread state elsewhere. py-spy: src/python_bindings/mod.rs */
	if (minor == 7 && (version >> 8 & 0xff) < 4)
		ret->runtime_tstate_current = 1392;
	return true;
}
