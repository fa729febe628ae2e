/* SPDX-License-Identifier: GPL-3.0-or-later */
/**
 * CPython objects in target memory: types, strings, containers, attributes.
 *
 * Every function takes any address and answers "not that" for what is not readable or not plausible; none
 * of them fails otherwise. 0 stands for no object. Nothing of the target is executed, so only what plain
 * memory tells is known: no properties, no __getattr__.
 */
#ifndef CS_PYTHON_OBJECT_H
#define CS_PYTHON_OBJECT_H

#include "base/strbuf.h"
#include "crash/crash.h"
#include "python/layout.h"

struct cs_py_names;

/** One runtime while it is read. */
struct cs_py {
	const struct cs_scene *scene; /* not owned; memory, modules, arena and diagnostics */
	struct cs_mem *mem;           /* of the scene */
	struct cs_arena *arena;       /* of the scene */
	struct cs_py_layout layout;
	struct cs_mod *module; /* NULL: not known */
	uint64_t runtime;      /* address of _PyRuntime; 3.6: of interp_head */
	uint64_t first_interp; /* head of the list of interpreters */
	/* Addresses of static types, from exported symbols or learned; 0: not known. */
	uint64_t type_type, type_code, type_none;
	uint64_t none, true_object, false_object; /* _Py_NoneStruct, ...; 0: not known */
	struct cs_py_names *names; /* names of types already found, in the arena; NULL: not kept */
};

/**
 * Fill in the addresses of None, True and False, where they are not known, from the builtins, and make room
 * for the names of types. Once for each runtime.
 */
void cs_py_learn(struct cs_py *py);

/* Bits of tp_flags, the same in all versions but where noted (CPython: Include/object.h). */
enum cs_py_type_flag {
	CS_PY_INLINE_VALUES = 2, /* 3.13+ */
	CS_PY_MANAGED_DICT = 4,  /* 3.11+ */
	CS_PY_HEAPTYPE = 9,
	CS_PY_INT = 24,
	CS_PY_LIST = 25,
	CS_PY_TUPLE = 26,
	CS_PY_BYTES = 27,
	CS_PY_STR = 28,
	CS_PY_DICT = 29,
	CS_PY_EXCEPTION = 30,
	CS_PY_TYPE = 31,
};

/* ---- fields: false, and *@ret untouched, if the version has none such or it cannot be read ---- */

CS_MUST_CHECK bool cs_py_u64(const struct cs_py *py, uint64_t object, int32_t field, uint64_t *ret);
bool cs_py_u32(const struct cs_py *py, uint64_t object, int32_t field, uint32_t *ret);
bool cs_py_u8(const struct cs_py *py, uint64_t object, int32_t field, uint8_t *ret);
/** A pointer: 0, or aligned to 8 and above the first page. */
CS_MUST_CHECK bool cs_py_pointer(const struct cs_py *py, uint64_t object, int32_t field,
				 uint64_t *ret);
/** As cs_py_pointer(), but 0 stands for all that is not a good pointer. */
uint64_t cs_py_get(const struct cs_py *py, uint64_t object, int32_t field);

/* ---- types ---- */

/** The object's type; 0 where what is there does not look like an object. */
uint64_t cs_py_type(const struct cs_py *py, uint64_t object);
/** True if the object's type is, or inherits from, the builtin type of the flag. */
bool cs_py_is(const struct cs_py *py, uint64_t object, enum cs_py_type_flag flag);
bool cs_py_type_has(const struct cs_py *py, uint64_t type, enum cs_py_type_flag flag);
/** tp_name or __qualname__ of a type, without module: "dict"; NULL: not known. In the arena. */
const char *cs_py_type_name(const struct cs_py *py, uint64_t type);
/** With its module where it has one that is not builtins: "torch.Tensor". In the arena; NULL: not known. */
const char *cs_py_type_full_name(const struct cs_py *py, uint64_t type);
/** True if @type or a type that it inherits from (tp_mro) has tp_name or __qualname__ @name. */
bool cs_py_type_inherits(const struct cs_py *py, uint64_t type, const char *name);
bool cs_py_is_none(const struct cs_py *py, uint64_t object);

/* ---- values ---- */

/**
 * The text of a str (or subclass) as UTF-8, in the arena; NULL: no str, or not readable. At most @max
 * bytes; @cut_ret (may be NULL) says whether there were more. Lone surrogates become U+FFFD, and NULs
 * become spaces.
 */
const char *cs_py_str(const struct cs_py *py, uint64_t object, size_t max, bool *cut_ret);
/** True if the object is a str with exactly the ASCII text @text. */
bool cs_py_str_is(const struct cs_py *py, uint64_t object, const char *text);
/** Address and length of a bytes object's data. */
CS_MUST_CHECK bool cs_py_bytes(const struct cs_py *py, uint64_t object, uint64_t *data_ret,
			       uint64_t *len_ret);
/** An int that fits; false for others. */
CS_MUST_CHECK bool cs_py_int(const struct cs_py *py, uint64_t object, int64_t *ret);
/** Number of items of a tuple or list (or subclass), and the address of its first item's pointer. */
CS_MUST_CHECK bool cs_py_items(const struct cs_py *py, uint64_t object, uint64_t *items_ret,
			       uint64_t *n_ret);

struct cs_py_dict_iter {
	const struct cs_py *py;
	uint64_t entries;    /* address of the first entry */
	uint64_t values;     /* split table: address of its values; else 0 */
	uint64_t i, n;       /* entries, those unused included; at most CS_MAX_PY_ITEMS are looked at */
	unsigned entry_size; /* bytes */
	unsigned key_at, value_at; /* within an entry */
	uint64_t order;      /* of values: address of the index of the first one that was set; 0: none */
	bool order_down;     /* the next index is before it, not after */
	uint64_t n_keys;     /* with an order: no index is above */
	bool cut;            /* a limit ended it, or memory that is not readable */
};

/** Over the entries of a dict (or subclass), in its order. False: not a dict. */
CS_MUST_CHECK bool cs_py_dict_begin(const struct cs_py *py, uint64_t dict,
				    struct cs_py_dict_iter *ret);
/** The next key and value; false at the end. */
CS_MUST_CHECK bool cs_py_dict_next(struct cs_py_dict_iter *it, uint64_t *key, uint64_t *value);
/** The value under str key @key; 0: none. */
uint64_t cs_py_dict_get(const struct cs_py *py, uint64_t dict, const char *key);

struct cs_py_set_iter {
	const struct cs_py *py;
	uint64_t table, i, n;
};
/** Over the items of a set or frozenset. False: no set by its type's name. */
CS_MUST_CHECK bool cs_py_set_begin(const struct cs_py *py, uint64_t set, struct cs_py_set_iter *ret);
CS_MUST_CHECK bool cs_py_set_next(struct cs_py_set_iter *it, uint64_t *item);

/**
 * Attribute @name out of the object's own __dict__, wherever the version keeps it (dict pointer, managed
 * dict, inline values), or its __slots__ (member descriptors of its type); 0: none.
 */
uint64_t cs_py_attribute(const struct cs_py *py, uint64_t object, const char *name);
/** The object's instance attributes, like cs_py_dict_begin(). */
CS_MUST_CHECK bool cs_py_attributes_begin(const struct cs_py *py, uint64_t object,
					  struct cs_py_dict_iter *ret);
/** __dict__ of module @name of interpreter @interp, through sys.modules; 0: not imported. */
uint64_t cs_py_module_dict(const struct cs_py *py, uint64_t interp, const char *name);

/**
 * Append what repr() would show, bounded in depth, items and bytes (CS_MAX_PY_REPR and its sisters); what
 * was left out is marked. @out must have room for CS_MAX_PY_REPR bytes.
 */
void cs_py_repr(const struct cs_py *py, uint64_t object, struct cs_strbuf *out);

#endif
