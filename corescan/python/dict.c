/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dicts and sets. Knows the tables of each version, split ones included, and their order;
 * refuses to know hashes: a look-up compares keys.
 */
#include "base/limits.h"
#include "python/value.h"

#include <endian.h>

#define UNICODE_KEYS                                                                     \
	1 /* dk_kind: 0 general, 1 unicode, 2 split (CPython: pycore_dict.h) */
#define SPLIT_KEYS 2
#define MAX_LOG2 40 /* larger tables than any memory; keeps shifts defined */

/** Bytes of the index table in front of the entries, and the number of its slots. */
static bool table_shape(const struct cs_py *py, uint64_t keys, uint64_t *index_bytes,
			uint64_t *slots)
{
	const struct cs_py_layout *l = &py->layout;
	uint8_t log2_size, log2_bytes;
	uint64_t size, width;

	if (l->keys_log2_size != CS_ABSENT) {
		if (!cs_py_u8(py, keys, l->keys_log2_size, &log2_size) ||
		    log2_size > MAX_LOG2 ||
		    !cs_py_u8(py, keys, l->keys_log2_index_bytes, &log2_bytes) ||
		    log2_bytes > MAX_LOG2 + 3)
			return false;
		*slots = 1UL << log2_size;
		*index_bytes = 1UL << log2_bytes;
		return true;
	}
	if (!cs_py_u64(py, keys, l->keys_size, &size) || !size ||
	    size > (1UL << MAX_LOG2) || (size & (size - 1)))
		return false;
	width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	*slots = size;
	*index_bytes = size * width;
	return true;
}

/** Fill in @it from the keys object; values are set by the caller. */
static bool keys_begin(const struct cs_py *py, uint64_t keys, struct cs_py_dict_iter *it)
{
	const struct cs_py_layout *l = &py->layout;
	uint64_t index_bytes, slots, n;
	uint8_t kind = 0;

	if (l->keys_indices < 0 || !table_shape(py, keys, &index_bytes, &slots) ||
	    !cs_py_u64(py, keys, l->keys_nentries, &n) || n > slots)
		return false;
	if (l->keys_kind != CS_ABSENT &&
	    (!cs_py_u8(py, keys, l->keys_kind, &kind) || kind > SPLIT_KEYS))
		return false;
	it->entries = cs_py_add(keys, (uint64_t)l->keys_indices + index_bytes);
	it->entry_size =
		kind ? 16
		     : 24; /* hash, key, value; without the hash where all keys are str */
	it->key_at = kind ? 0 : 8;
	it->value_at = it->key_at + 8;
	it->n = CS_MIN(n, CS_MAX_PY_ITEMS);
	it->cut = n > CS_MAX_PY_ITEMS;
	return it->entries && n <= (UINT64_MAX - it->entries) / it->entry_size;
}

/**
 * The values of a split table at @values, and the order in which they were set: 3.13+
 * keeps it behind the values, 3.11 and 3.12 before them, growing downwards (CPython:
 * pycore_dict.h).
 */
static void values_begin(const struct cs_py *py, uint64_t values,
			 struct cs_py_dict_iter *it)
{
	const struct cs_py_layout *l = &py->layout;
	uint8_t capacity, size;

	it->values =
		cs_py_add(values, l->values_values > 0 ? (uint64_t)l->values_values : 0);
	if (l->values_valid != CS_ABSENT) {
		if (!cs_py_u8(py, values, 0, &capacity) ||
		    !cs_py_u8(py, values, 1, &size))
			return;
		it->order = cs_py_add(it->values, (uint64_t)capacity * 8);
		it->order_down = false;
	} else if (l->values_values != CS_ABSENT) {
		if (values < 4096 || !cs_py_u8(py, values - 2, 0, &size))
			return;
		it->order = values - 3;
		it->order_down = true;
		capacity = size;
	} else {
		return;
	}
	if (size > it->n ||
	    size > capacity) { /* keys were added by another object meanwhile: no */
		it->order = 0;
		return;
	}
	it->n_keys = it->n;
	it->n = size;
}

bool cs_py_values_begin(const struct cs_py *py, uint64_t keys, uint64_t values,
			struct cs_py_dict_iter *ret)
{
	struct cs_py_dict_iter it = {.py = py};

	if (!keys_begin(py, keys, &it))
		return false;
	values_begin(py, values, &it);
	*ret = it;
	return true;
}

bool cs_py_dict_begin(const struct cs_py *py, uint64_t dict, struct cs_py_dict_iter *ret)
{
	struct cs_py_dict_iter it = {.py = py};
	uint64_t keys, values;

	if (!cs_py_is(py, dict, CS_PY_DICT) ||
	    !cs_py_pointer(py, dict, py->layout.dict_keys, &keys) || !keys ||
	    !cs_py_pointer(py, dict, py->layout.dict_values, &values) ||
	    !keys_begin(py, keys, &it))
		return false;
	if (values)
		values_begin(py, values, &it);
	*ret = it;
	return true;
}

/** Index of the next entry; false at the end. */
static bool next_index(struct cs_py_dict_iter *it, uint64_t *ret)
{
	uint64_t at = it->i;
	uint8_t index;

	if (it->i >= it->n)
		return false;
	it->i++;
	*ret = at;
	if (!it->order)
		return true;
	if (!cs_py_u8(it->py, it->order_down ? it->order - at : it->order + at, 0,
		      &index) ||
	    index >= it->n_keys) {
		it->cut = true;
		return false;
	}
	*ret = index;
	return true;
}

bool cs_py_dict_next(struct cs_py_dict_iter *it, uint64_t *key, uint64_t *value)
{
	uint64_t i, word[3], k, v;

	while (next_index(it, &i)) {
		if (!cs_py_read(it->py, it->entries + i * it->entry_size, word,
				it->entry_size)) {
			it->cut = true;
			return false;
		}
		k = le64toh(word[it->key_at / 8]);
		v = le64toh(word[it->value_at / 8]);
		if (it->values &&
		    !cs_py_u64(it->py, cs_py_add(it->values, i * 8), 0, &v)) {
			it->cut = true;
			return false;
		}
		if (!k || !v || k % 8 || v % 8) /* unused, or overwritten */
			continue;
		*key = k;
		*value = v;
		return true;
	}
	return false;
}

uint64_t cs_py_dict_get(const struct cs_py *py, uint64_t dict, const char *key)
{
	struct cs_py_dict_iter it;
	uint64_t k, v;

	if (!dict || !cs_py_dict_begin(py, dict, &it))
		return 0;
	while (cs_py_dict_next(&it, &k, &v))
		if (cs_py_str_is(py, k, key))
			return v;
	return 0;
}

/* ---- sets ---- */

bool cs_py_set_begin(const struct cs_py *py, uint64_t set, struct cs_py_set_iter *ret)
{
	uint64_t mask, table, type = cs_py_type(py, set);

	if (!type || (!cs_py_type_inherits(py, type, "set") &&
		      !cs_py_type_inherits(py, type, "frozenset")))
		return false;
	if (!cs_py_u64(py, set, py->layout.set_mask, &mask) ||
	    mask >= (1UL << MAX_LOG2) || (mask & (mask + 1)) ||
	    !cs_py_pointer(py, set, py->layout.set_table, &table) || !table ||
	    (mask + 1) * 16 > UINT64_MAX - table)
		return false;
	*ret = (struct cs_py_set_iter){
		.py = py, .table = table, .n = CS_MIN(mask + 1, CS_MAX_PY_ITEMS)};
	return true;
}

bool cs_py_set_next(struct cs_py_set_iter *it, uint64_t *item)
{
	while (it->i < it->n) {
		uint64_t word[2], key;

		if (!cs_py_read(it->py, it->table + it->i++ * 16, word, sizeof(word)))
			continue; /* the rest of the table may be there */
		key = le64toh(word[0]);
		/* A hash is never -1: that marks the place of an item that was taken out.
		 */
		if (!key || key % 8 || word[1] == UINT64_MAX)
			continue;
		*item = key;
		return true;
	}
	return false;
}
