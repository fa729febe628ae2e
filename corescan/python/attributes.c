/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Attributes of instances. Knows the places where versions keep them: a dict behind
 * tp_dictoffset, the managed dict before the object (3.11+), values within the object
 * (3.13+), and __slots__; refuses properties and everything else that only code could
 * answer.
 */
#include "base/limits.h"
#include "python/value.h"

#define MEMBER_OBJECT                                                                    \
	6 /* T_OBJECT of PyMemberDef.type (CPython: Include/descrobject.h) */
#define MEMBER_OBJECT_EX 16 /* T_OBJECT_EX: what __slots__ make */

/** Values that the object keeps without a dict: their address, or 0. */
static uint64_t inline_values(const struct cs_py *py, uint64_t object, uint64_t type)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t word, basic, item, at;
	uint8_t valid;

	if (object < 64)
		return 0;
	if (l->minor == 11) /* the values, and the dict in the next word */
		return cs_py_pointer_at(py, object - 32);
	if (l->minor == 12) /* one word for both: the low bit marks values */
		return cs_py_u64(py, object - 24, 0, &word) && word & 1 ? word + 1 : 0;
	if (l->minor < 13 || !cs_py_type_has(py, type, CS_PY_INLINE_VALUES) ||
	    !cs_py_type_size(py, type, &basic, &item))
		return 0;
	at = cs_py_add(object, basic);
	return at && cs_py_u8(py, at, l->values_valid, &valid) && valid ? at : 0;
}

/** The word of the managed dict, which lies before the object. */
static uint64_t managed_dict(const struct cs_py *py, uint64_t object)
{
	uint64_t word, before = py->layout.free_threaded ? 8 : 24;

	if (object < 64 || !cs_py_u64(py, object - before, 0, &word))
		return 0;
	return word & 7 ? 0 : word; /* 3.12: odd ones are values */
}

/** From tp_dictoffset, which counts from the end of objects of variable size where it is
 * negative. */
static uint64_t dict_by_offset(const struct cs_py *py, uint64_t object, uint64_t type)
{
	uint64_t offset, basic, item, n = 0, digits, size;
	int sign;

	if (!cs_py_u64(py, type, py->layout.type_dictoffset, &offset) || !offset)
		return 0;
	if (offset >> 63) {
		if (!cs_py_type_size(py, type, &basic, &item))
			return 0;
		if (cs_py_type_has(py, type, CS_PY_INT)) {
			if (!cs_py_int_parts(py, object, &sign, &n, &digits))
				return 0;
		} else if (item && !cs_py_u64(py, object, py->layout.var_size, &n)) {
			return 0;
		}
		if (n > (1UL << 40))
			return 0;
		size = (basic + n * item + 7) / 8 * 8;
		if (size > INT64_MAX || size < -offset)
			return 0;
		offset = size + offset;
	}
	return cs_py_pointer_at(py, cs_py_add(object, offset));
}

uint64_t cs_py_own_dict(const struct cs_py *py, uint64_t object)
{
	uint64_t type = cs_py_type(py, object), dict;

	if (!type)
		return 0;
	if (py->layout.minor >= 11 && cs_py_type_has(py, type, CS_PY_MANAGED_DICT))
		dict = managed_dict(py, object);
	else
		dict = dict_by_offset(py, object, type);
	return dict && cs_py_is(py, dict, CS_PY_DICT) ? dict : 0;
}

bool cs_py_attributes_begin(const struct cs_py *py, uint64_t object,
			    struct cs_py_dict_iter *ret)
{
	uint64_t type = cs_py_type(py, object), dict, values, keys;

	if (!type)
		return false;
	dict = cs_py_own_dict(py, object);
	if (dict)
		return cs_py_dict_begin(py, dict, ret);
	if (py->layout.minor < 11 || !cs_py_type_has(py, type, CS_PY_MANAGED_DICT) ||
	    !cs_py_type_has(py, type, CS_PY_HEAPTYPE))
		return false;
	values = inline_values(py, object, type);
	keys = cs_py_get(py, type, py->layout.heaptype_cached_keys);
	return values && keys && cs_py_values_begin(py, keys, values, ret);
}

/** A pointer at @address that is not NULL, or not readable: what is behind it was not
 * found. */
static bool is_lost(const struct cs_py *py, uint64_t address)
{
	uint64_t word;

	return !cs_py_u64(py, address, 0, &word) || word;
}

bool cs_py_attributes_lost(const struct cs_py *py, uint64_t object)
{
	uint64_t type = cs_py_type(py, object), offset, basic, item;
	struct cs_py_dict_iter it;
	uint8_t valid;

	if (!type || object < 64 || cs_py_attributes_begin(py, object, &it))
		return false;
	if (py->layout.minor < 11 || !cs_py_type_has(py, type, CS_PY_MANAGED_DICT)) {
		if (!cs_py_u64(py, type, py->layout.type_dictoffset, &offset))
			return true;
		return offset && offset >> 63 == 0 &&
		       is_lost(py, cs_py_add(object, offset));
	}
	if (is_lost(py, object - (py->layout.free_threaded ? 8 : 24)) ||
	    (py->layout.minor == 11 && is_lost(py, object - 32)))
		return true;
	if (py->layout.minor < 13 || !cs_py_type_has(py, type, CS_PY_INLINE_VALUES))
		return false;
	return !cs_py_type_size(py, type, &basic, &item) ||
	       !cs_py_u8(py, cs_py_add(object, basic), py->layout.values_valid, &valid) ||
	       valid;
}

uint64_t cs_py_slot(const struct cs_py *py, uint64_t object, uint64_t owner,
		    uint64_t descriptor)
{
	uint64_t at = cs_py_add(descriptor, (uint64_t)CS_MAX(py->layout.object_size, 0));
	uint64_t member, offset;
	uint32_t kind;

	/*
	 * PyMemberDescrObject: d_type, d_name, d_qualname, d_member; PyMemberDef: name,
	 * type, offset, flags (CPython: Include/descrobject.h). Other descriptors have a
	 * function where `type` is.
	 */
	if (!cs_py_type(py, descriptor) || cs_py_pointer_at(py, at) != owner)
		return 0;
	member = cs_py_pointer_at(py, cs_py_add(at, 24));
	if (!member || !cs_py_u32(py, member, 8, &kind) ||
	    (kind != MEMBER_OBJECT && kind != MEMBER_OBJECT_EX) ||
	    !cs_py_u64(py, member, 16, &offset) || offset < 16 || offset > (1UL << 32))
		return 0;
	return cs_py_add(object, offset);
}

/** Out of the __slots__ of the object's classes. */
static uint64_t slot_named(const struct cs_py *py, uint64_t object, const char *name)
{
	uint64_t type = cs_py_type(py, object), base, dict, descriptor, value;

	for (uint64_t i = 0; (base = cs_py_type_base(py, type, i)); i++) {
		dict = cs_py_get(py, base, py->layout.type_dict);
		descriptor = dict ? cs_py_dict_get(py, dict, name) : 0;
		if (!descriptor)
			continue;
		value = cs_py_pointer_at(py, cs_py_slot(py, object, base, descriptor));
		return value && cs_py_type(py, value) ? value : 0;
	}
	return 0;
}

uint64_t cs_py_attribute(const struct cs_py *py, uint64_t object, const char *name)
{
	struct cs_py_dict_iter it;
	uint64_t key, value;

	if (cs_py_attributes_begin(py, object, &it))
		while (cs_py_dict_next(&it, &key, &value))
			if (cs_py_str_is(py, key, name))
				return value;
	return slot_named(py, object, name);
}

uint64_t cs_py_module_dict(const struct cs_py *py, uint64_t interp, const char *name)
{
	uint64_t modules = cs_py_get(py, interp, py->layout.interp_modules), module, dict;

	module = modules ? cs_py_dict_get(py, modules, name) : 0;
	if (!module || !cs_py_type(py, module))
		return 0;
	dict = cs_py_get(py, module, py->layout.module_dict);
	return dict && cs_py_is(py, dict, CS_PY_DICT) ? dict : cs_py_own_dict(py, module);
}
