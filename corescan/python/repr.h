/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Inside cs_py_repr(): the state of one rendering, and who renders what. */
#ifndef CS_PYTHON_REPR_H
#define CS_PYTHON_REPR_H

#include "base/limits.h"
#include "python/value.h"

struct cs_py_repr {
	const struct cs_py *py;
	struct cs_strbuf out; /* cut: the value has more, and nothing is added any more */
	uint64_t path[CS_MAX_PY_DEPTH]; /* objects around the present one */
	size_t depth;
	size_t objects; /* those of them that are shown by their fields */
	uint64_t steps; /* table entries that may still be looked at */
};

/** Whatever is at @object, within the present depth. */
void cs_py_repr_value(struct cs_py_repr *r, uint64_t object);
/** The object whose address is at @address. */
void cs_py_repr_at(struct cs_py_repr *r, uint64_t address);
/** "<torch.Tensor object at 0x...>" */
void cs_py_repr_plain(struct cs_py_repr *r, uint64_t object, uint64_t type);
/** True, with "..." between brackets, if @object must not be opened: it is around itself, or too deep. */
bool cs_py_repr_closed(struct cs_py_repr *r, uint64_t object, const char *open, const char *close);
/** True for a text that by its name is a password, a key or the like: reports get pasted into issues. */
bool cs_py_is_secret(const struct cs_py *py, const char *name, uint64_t object);
/** The value of what is called @name (may be NULL): '***' for a text whose name says that it is a secret. */
void cs_py_repr_named_value(struct cs_py_repr *r, const char *name, uint64_t object);
/** ", " in front of all items but the first; "... 17 more" and false once enough of @n is shown. */
bool cs_py_repr_item(struct cs_py_repr *r, uint64_t i, uint64_t n);
/** @n items at @items with @open before and @close behind them; those left out are counted. */
void cs_py_repr_items(struct cs_py_repr *r, uint64_t items, uint64_t n, const char *open,
		      const char *close);

/** A dict (or subclass) as {key: value, ...}, a set's items as {item, ...}; whatever they are called. */
void cs_py_repr_dict(struct cs_py_repr *r, uint64_t object);
void cs_py_repr_set(struct cs_py_repr *r, uint64_t object);

/* ---- scalars.c ---- */
void cs_py_repr_int(struct cs_py_repr *r, uint64_t object);
void cs_py_repr_str(struct cs_py_repr *r, uint64_t object);
/** @len bytes at @data as b'...'. */
void cs_py_repr_bytes(struct cs_py_repr *r, uint64_t data, uint64_t len);
/** Shortest digits that give the same double (or float) again, as Python writes them. */
void cs_py_repr_double(struct cs_py_repr *r, double value, bool single);
/** "1j", "(1+2j)"; without brackets "1+2j". */
void cs_py_repr_complex(struct cs_py_repr *r, double real, double imaginary, bool single,
			bool brackets);
CS_MUST_CHECK bool cs_py_double(const struct cs_py *py, uint64_t addr, double *ret);

/* ---- builtins.c ---- */

/**
 * The object by the name of its type or of a type that it inherits from ("float", "collections.deque",
 * "enum.Enum"); false: no rule for it, and nothing was added.
 */
bool cs_py_repr_named(struct cs_py_repr *r, uint64_t object, uint64_t type);

/* ---- stdlib.c, numpy.c, tensor.c; false: it is not what it seems, and nothing was added ---- */
bool cs_py_repr_lock(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_rlock(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_date(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_datetime(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_time(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_timedelta(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_ndarray(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_numpy_scalar(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_numpy_dtype(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_tensor(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_torch_size(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_torch_dtype(struct cs_py_repr *r, uint64_t object, uint64_t type);
bool cs_py_repr_torch_device(struct cs_py_repr *r, uint64_t object, uint64_t type);

#endif
