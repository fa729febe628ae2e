/* SPDX-License-Identifier: GPL-3.0-or-later */
/** What the readers of objects and of their values share, beside object.h. */
#ifndef CS_PYTHON_VALUE_H
#define CS_PYTHON_VALUE_H

#include "python/object.h"

/** Exactly @len bytes; false where one of them is not to be had. */
CS_MUST_CHECK bool cs_py_read(const struct cs_py *py, uint64_t addr, void *buf, size_t len);
/** @addr + @offset, or 0 where @addr is 0 or the sum wraps. */
uint64_t cs_py_add(uint64_t addr, uint64_t offset);
/** The pointer at @addr: 0 for all that is not a good one. */
uint64_t cs_py_pointer_at(const struct cs_py *py, uint64_t addr);
/** A NUL-terminated text of printable ASCII at @addr, less than @size bytes. */
CS_MUST_CHECK bool cs_py_c_string(const struct cs_py *py, uint64_t addr, char *buf, size_t size);

/** True if there is a type at @address: its own type is a metatype. */
bool cs_py_is_type(const struct cs_py *py, uint64_t address);
/** True if the object's type is, or inherits from, the builtin type of that name: "set", "float". */
bool cs_py_is_a(const struct cs_py *py, uint64_t object, const char *name);
/** The builtin object of that name (None, True, NotImplemented, float, ...); 0: not found. */
uint64_t cs_py_builtin(const struct cs_py *py, const char *name);
/** The singletons, where the runtime's symbols do not tell: from the builtins. 0: not known. */
uint64_t cs_py_singleton(const struct cs_py *py, uint64_t known, const char *name);
/** The key under which dict @dict has @object, in the arena; NULL: under none. */
const char *cs_py_name_in(const struct cs_py *py, uint64_t dict, uint64_t object);
/** True if @type itself is called @name: "deque" or "collections.deque". */
bool cs_py_type_is(const struct cs_py *py, uint64_t type, const char *name);
/** Type number @i of the method resolution order; 0: there are no more. */
uint64_t cs_py_type_base(const struct cs_py *py, uint64_t type, uint64_t i);
/** What @type, or the nearest type that it inherits from, has under @name in its dict; 0: nothing. */
uint64_t cs_py_class_attribute(const struct cs_py *py, uint64_t type, const char *name);
/** __name__ of a type: without module and without the classes and functions around it. Never NULL. */
const char *cs_py_short_name(const struct cs_py *py, uint64_t type);
/** Bytes of an object of @type, without its items; false if the type does not say. */
CS_MUST_CHECK bool cs_py_type_size(const struct cs_py *py, uint64_t type, uint64_t *basic_ret,
				   uint64_t *item_ret);

/** Where the characters of a str are. */
struct cs_py_text {
	uint64_t data;
	uint64_t length; /* characters */
	unsigned width;  /* bytes of each: 1, 2, 4 */
	bool ascii;
};
CS_MUST_CHECK bool cs_py_text(const struct cs_py *py, uint64_t str, struct cs_py_text *ret);
/** Up to @n characters from number @from on into @ret; how many could be read. */
size_t cs_py_text_read(const struct cs_py *py, const struct cs_py_text *text, uint64_t from,
		       uint32_t *ret, size_t n);
/** @c as UTF-8 into @ret; surrogates and what is no character become U+FFFD. Its length, 1 .. 4. */
size_t cs_py_utf8(uint32_t c, char ret[4]);

/** Sign (-1, 0, 1), number of digits, and address of the digits (30 bits each) of an int. */
CS_MUST_CHECK bool cs_py_int_parts(const struct cs_py *py, uint64_t object, int *sign_ret,
				   uint64_t *n_ret, uint64_t *digits_ret);

/** As cs_py_dict_begin(), from the keys that a class shares and the values of one of its objects. */
CS_MUST_CHECK bool cs_py_values_begin(const struct cs_py *py, uint64_t keys, uint64_t values,
				      struct cs_py_dict_iter *ret);
/** The object's own __dict__, where it is a dict object; 0: none, or its values are inline. */
uint64_t cs_py_own_dict(const struct cs_py *py, uint64_t object);
/** True if it has attributes, but they cannot be read. */
bool cs_py_attributes_lost(const struct cs_py *py, uint64_t object);
/**
 * Address of the slot that member descriptor @descriptor of @owner names, in @object; 0: it is no such
 * descriptor.
 */
uint64_t cs_py_slot(const struct cs_py *py, uint64_t object, uint64_t owner, uint64_t descriptor);

#endif
