/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Objects and their types. Knows what makes an address an object of some type; refuses to
 * know what the object is good for, and never runs anything.
 *
 * Names of static types lie in the interpreter's .rodata, which a core does not hold:
 * without the file they come from the builtins module, which is on the heap.
 */
#include "base/limits.h"
#include "python/value.h"

#include <endian.h>
#include <string.h>

#define LOWEST_ADDRESS 4096UL /* nothing is mapped in the first page */
#define TYPE_READY 12         /* Py_TPFLAGS_READY: the type was set up */

bool cs_py_read(const struct cs_py *py, uint64_t addr, void *buf, size_t len)
{
	if (addr < LOWEST_ADDRESS || len > UINT64_MAX - addr)
		return false;
	return cs_mem_read_some(py->mem, addr, buf, len) == len;
}

uint64_t cs_py_add(uint64_t addr, uint64_t offset)
{
	return addr && offset <= UINT64_MAX - addr ? addr + offset : 0;
}

static bool field_read(const struct cs_py *py, uint64_t object, int32_t field, void *buf,
		       size_t len)
{
	if (!object || field < 0)
		return false;
	object = cs_py_add(object, (uint64_t)field);
	return object && cs_py_read(py, object, buf, len);
}

bool cs_py_u64(const struct cs_py *py, uint64_t object, int32_t field, uint64_t *ret)
{
	uint64_t v;

	if (!field_read(py, object, field, &v, sizeof(v)))
		return false;
	*ret = le64toh(v);
	return true;
}

bool cs_py_u32(const struct cs_py *py, uint64_t object, int32_t field, uint32_t *ret)
{
	uint32_t v;

	if (!field_read(py, object, field, &v, sizeof(v)))
		return false;
	*ret = le32toh(v);
	return true;
}

bool cs_py_u8(const struct cs_py *py, uint64_t object, int32_t field, uint8_t *ret)
{
	return field_read(py, object, field, ret, 1);
}

static bool is_pointer(uint64_t v)
{
	return v == 0 || (v >= LOWEST_ADDRESS && v % 8 == 0);
}

bool cs_py_pointer(const struct cs_py *py, uint64_t object, int32_t field, uint64_t *ret)
{
	uint64_t v;

	if (!cs_py_u64(py, object, field, &v) || !is_pointer(v))
		return false;
	*ret = v;
	return true;
}

uint64_t cs_py_get(const struct cs_py *py, uint64_t object, int32_t field)
{
	uint64_t v;

	return cs_py_pointer(py, object, field, &v) ? v : 0;
}

uint64_t cs_py_pointer_at(const struct cs_py *py, uint64_t addr)
{
	return cs_py_get(py, addr, 0);
}

bool cs_py_c_string(const struct cs_py *py, uint64_t addr, char *buf, size_t size)
{
	size_t got;

	if (addr < LOWEST_ADDRESS || size > UINT64_MAX - addr)
		return false;
	got = cs_mem_read_some(py->mem, addr, buf, size);
	for (size_t i = 0; i < got; i++) {
		if (!buf[i])
			return i > 0;
		if (buf[i] < 0x20 || buf[i] > 0x7e)
			return false;
	}
	return false;
}

/* ---- types ---- */

bool cs_py_type_has(const struct cs_py *py, uint64_t type, enum cs_py_type_flag flag)
{
	uint64_t flags;

	return cs_py_u64(py, type, py->layout.type_flags, &flags) && (flags >> flag & 1);
}

bool cs_py_is_type(const struct cs_py *py, uint64_t address)
{
	uint64_t meta = cs_py_get(py, address, py->layout.object_type), flags;

	if (!meta)
		return false;
	if (!cs_py_u64(py, address, py->layout.type_flags, &flags) ||
	    !(flags >> TYPE_READY & 1))
		return false;
	return meta == py->type_type || cs_py_type_has(py, meta, CS_PY_TYPE);
}

uint64_t cs_py_type(const struct cs_py *py, uint64_t object)
{
	uint64_t type;

	if (object % 8)
		return 0;
	type = cs_py_get(py, object, py->layout.object_type);
	return type && cs_py_is_type(py, type) ? type : 0;
}

bool cs_py_is(const struct cs_py *py, uint64_t object, enum cs_py_type_flag flag)
{
	uint64_t type = cs_py_type(py, object);

	return type && cs_py_type_has(py, type, flag);
}

bool cs_py_type_size(const struct cs_py *py, uint64_t type, uint64_t *basic_ret,
		     uint64_t *item_ret)
{
	int32_t at = py->layout.type_basicsize;

	/* tp_itemsize is the next word in every version. */
	return at >= 0 && cs_py_u64(py, type, at, basic_ret) &&
	       cs_py_u64(py, type, at + 8, item_ret) && *basic_ret < (1UL << 32) &&
	       *item_ret < (1UL << 32);
}

uint64_t cs_py_type_base(const struct cs_py *py, uint64_t type, uint64_t i)
{
	uint64_t items, n, mro = cs_py_get(py, type, py->layout.type_mro);

	if (!mro || !cs_py_items(py, mro, &items, &n) || i >= CS_MIN(n, CS_MAX_PY_MRO))
		return 0;
	return cs_py_pointer_at(py, items + i * 8);
}

/* ---- simple values ---- */

bool cs_py_is_none(const struct cs_py *py, uint64_t object)
{
	uint64_t none = cs_py_singleton(py, py->none, "None");
	uint64_t type;

	if (!object)
		return false;
	if (none)
		return object == none;
	type = cs_py_type(py, object);
	return type && (type == py->type_none || cs_py_type_is(py, type, "NoneType"));
}

bool cs_py_bytes(const struct cs_py *py, uint64_t object, uint64_t *data_ret,
		 uint64_t *len_ret)
{
	uint64_t len, data;

	if (py->layout.bytes_data < 0 || !cs_py_is(py, object, CS_PY_BYTES) ||
	    !cs_py_u64(py, object, py->layout.var_size, &len) || len > INT64_MAX)
		return false;
	data = cs_py_add(object, (uint64_t)py->layout.bytes_data);
	if (!data || len > UINT64_MAX - data)
		return false;
	*data_ret = data;
	*len_ret = len;
	return true;
}

bool cs_py_int_parts(const struct cs_py *py, uint64_t object, int *sign_ret,
		     uint64_t *n_ret, uint64_t *digits_ret)
{
	uint64_t tag, n, digits;
	int sign;

	if (py->layout.int_digits < 0 || !cs_py_is(py, object, CS_PY_INT))
		return false;
	if (py->layout.int_tag != CS_ABSENT) {
		/* Bits 0-1: 0 positive, 1 zero, 2 negative (CPython:
		 * Include/internal/pycore_long.h). */
		static const int signs[] = {1, 0, -1, 0};

		if (!cs_py_u64(py, object, py->layout.int_tag, &tag) || (tag & 3) == 3)
			return false;
		sign = signs[tag & 3];
		n = sign ? tag >> 3 : 0;
	} else {
		if (!cs_py_u64(py, object, py->layout.var_size, &tag) ||
		    tag == (1UL << 63))
			return false;
		sign = tag == 0 ? 0 : tag >> 63 ? -1 : 1;
		n = sign < 0 ? -tag : tag;
	}
	digits = cs_py_add(object, (uint64_t)py->layout.int_digits);
	if (!digits || n > (UINT64_MAX - digits) / 4)
		return false;
	*sign_ret = sign;
	*n_ret = n;
	*digits_ret = digits;
	return true;
}

bool cs_py_int(const struct cs_py *py, uint64_t object, int64_t *ret)
{
	uint64_t n, at, v = 0;
	uint32_t digit[3] = {0};
	int sign;

	if (!cs_py_int_parts(py, object, &sign, &n, &at) || n > 3)
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!cs_py_u32(py, at, (int32_t)(i * 4), &digit[i]) || digit[i] >> 30)
			return false;
	}
	v = digit[0] | (uint64_t)digit[1] << 30 | (uint64_t)digit[2] << 60;
	if (digit[2] >= 8 || v > INT64_MAX) /* the smallest one is not worth a rule */
		return false;
	*ret = sign < 0 ? -(int64_t)v : (int64_t)v;
	return true;
}

bool cs_py_items(const struct cs_py *py, uint64_t object, uint64_t *items_ret,
		 uint64_t *n_ret)
{
	uint64_t n, items, type = cs_py_type(py, object);

	if (!type || !cs_py_u64(py, object, py->layout.var_size, &n) ||
	    n > UINT64_MAX / 16)
		return false;
	if (cs_py_type_has(py, type, CS_PY_TUPLE) && py->layout.tuple_items >= 0)
		items = cs_py_add(object, (uint64_t)py->layout.tuple_items);
	else if (!cs_py_type_has(py, type, CS_PY_LIST) ||
		 !cs_py_pointer(py, object, py->layout.list_items, &items))
		return false;
	if (n && (!items || n * 8 > UINT64_MAX - items))
		return false;
	*items_ret = items;
	*n_ret = n;
	return true;
}
