/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NumPy's arrays and scalars. Knows PyArrayObject and PyArray_Descr, which are the same
 * in 1.x and 2.x up to the size of an item (numpy: ndarraytypes.h); refuses to show what
 * is in an array.
 */
#include "python/repr.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_DIMENSIONS 64 /* NPY_MAXDIMS of 2.x; 32 before */

/** Offset @words words behind the object's header. */
static int32_t behind(const struct cs_py_repr *r, unsigned words)
{
	return r->py->layout.object_size < 0
		       ? CS_ABSENT
		       : r->py->layout.object_size + (int32_t)words * 8;
}

/** The first number of numpy.__version__; 0: not known. */
static unsigned numpy_major(const struct cs_py *py)
{
	uint64_t dict = cs_py_module_dict(py, py->first_interp, "numpy");
	const char *version;

	version = dict ? cs_py_str(py, cs_py_dict_get(py, dict, "__version__"), 64, NULL)
		       : NULL;
	return version ? (unsigned)strtoul(version, NULL, 10) : 0;
}

/** "float64", ">i4", "<U5"; false: no descriptor there. */
static bool dtype(struct cs_py_repr *r, uint64_t descr, char ret[64])
{
	/* By type_num, NPY_BOOL .. NPY_HALF (numpy: ndarraytypes.h). */
	static const char *const names[] = {
		"bool",       "int8",        "uint8",       "int16",      "uint16",
		"int32",      "uint32",      "int64",       "uint64",     "int64",
		"uint64",     "float32",     "float64",     "longdouble", "complex64",
		"complex128", "clongdouble", "object",      "S",          "U",
		"V",          "datetime64",  "timedelta64", "float16",
	};
	bool second = numpy_major(r->py) >= 2;
	uint8_t order;
	uint32_t num;
	uint64_t size = 0;
	uint32_t size32;

	if (!descr || !cs_py_u8(r->py, descr, behind(r, 1) + 2, &order) ||
	    !cs_py_u32(r->py, descr, behind(r, 1) + 4, &num))
		return false;
	if (second && !cs_py_u64(r->py, descr, behind(r, 3), &size))
		return false;
	if (!second) {
		if (!cs_py_u32(r->py, descr, behind(r, 2), &size32))
			return false;
		size = size32;
	}
	if (num >= CS_COUNT(names))
		snprintf(ret, 64, "number %u", num);
	else if (num >= 18 && num <= 20)
		snprintf(ret, 64, "%s%s%llu",
			 num == 19   ? "<"
			 : num == 20 ? "|"
				     : "",
			 names[num], (unsigned long long)(num == 19 ? size / 4 : size));
	else
		snprintf(ret, 64, "%s%s", order == '>' ? "big-endian " : "", names[num]);
	return true;
}

bool cs_py_repr_ndarray(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_type_full_name(r->py, type);
	uint64_t data, dims, size;
	char text[64];
	uint32_t nd;

	if (!cs_py_u64(r->py, object, behind(r, 0), &data) ||
	    !cs_py_u32(r->py, object, behind(r, 1), &nd) || nd > MAX_DIMENSIONS ||
	    !cs_py_pointer(r->py, object, behind(r, 2), &dims) || (nd && !dims) ||
	    !dtype(r, cs_py_get(r->py, object, behind(r, 5)), text))
		return false;
	cs_strbuf_printf(&r->out, "<%s shape=(", name ? name : "numpy.ndarray");
	for (uint32_t i = 0; i < nd; i++) {
		if (cs_py_u64(r->py, dims, (int32_t)i * 8, &size))
			cs_strbuf_printf(&r->out, "%s%lld", i ? ", " : "",
					 (long long)size);
		else
			cs_strbuf_printf(&r->out, "%s?", i ? ", " : "");
	}
	cs_strbuf_printf(&r->out, "%s) dtype=%s data=%#llx>", nd == 1 ? "," : "", text,
			 (unsigned long long)data);
	return true;
}

bool cs_py_repr_numpy_dtype(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	char text[64];

	(void)type;
	if (!dtype(r, object, text))
		return false;
	cs_strbuf_printf(&r->out, "dtype('%s')", text);
	return true;
}

/* ---- scalars ---- */

enum scalar_kind {
	SCALAR_BOOL,
	SCALAR_SIGNED,
	SCALAR_UNSIGNED,
	SCALAR_FLOAT,
	SCALAR_COMPLEX
};

struct scalar {
	const char *name;
	enum scalar_kind kind;
	unsigned bytes;
};

/** Other names that the module has for its types: they are found where tp_name is not to
 * be had. */
static const char *canonical(const char *name)
{
	static const char *const aliases[][2] = {
		{"byte", "int8"},           {"short", "int16"},
		{"intc", "int32"},          {"int_", "int64"},
		{"intp", "int64"},          {"ubyte", "uint8"},
		{"ushort", "uint16"},       {"uintc", "uint32"},
		{"uint", "uint64"},         {"uintp", "uint64"},
		{"half", "float16"},        {"single", "float32"},
		{"double", "float64"},      {"float_", "float64"},
		{"csingle", "complex64"},   {"cdouble", "complex128"},
		{"complex_", "complex128"},
	};

	for (size_t i = 0; i < CS_COUNT(aliases); i++)
		if (strcmp(aliases[i][0], name) == 0)
			return aliases[i][1];
	return name;
}

static const struct scalar *scalar_named(const char *name)
{
	static const struct scalar scalars[] = {
		{"bool", SCALAR_BOOL, 1},           {"bool_", SCALAR_BOOL, 1},
		{"int8", SCALAR_SIGNED, 1},         {"int16", SCALAR_SIGNED, 2},
		{"int32", SCALAR_SIGNED, 4},        {"int64", SCALAR_SIGNED, 8},
		{"longlong", SCALAR_SIGNED, 8},     {"uint8", SCALAR_UNSIGNED, 1},
		{"uint16", SCALAR_UNSIGNED, 2},     {"uint32", SCALAR_UNSIGNED, 4},
		{"uint64", SCALAR_UNSIGNED, 8},     {"ulonglong", SCALAR_UNSIGNED, 8},
		{"float16", SCALAR_FLOAT, 2},       {"float32", SCALAR_FLOAT, 4},
		{"float64", SCALAR_FLOAT, 8},       {"complex64", SCALAR_COMPLEX, 8},
		{"complex128", SCALAR_COMPLEX, 16},
	};

	name = canonical(name);
	for (size_t i = 0; i < CS_COUNT(scalars); i++)
		if (strcmp(scalars[i].name, name) == 0)
			return &scalars[i];
	return NULL;
}

static uint64_t little(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

/** The shortest decimal that is nearest to the value of IEEE half @bits, as a double. */
static double half(uint16_t bits)
{
	int exponent = bits >> 10 & 0x1f;
	double fraction = bits & 0x3ff, v, step, near = 0;
	char text[32];

	if (exponent == 31)
		return fraction != 0 ? NAN : bits >> 15 ? -INFINITY : INFINITY;
	step = ldexp(1, CS_MAX(exponent, 1) - 25);
	v = (fraction + (exponent ? 1024 : 0)) * step;
	if (bits >> 15)
		v = -v;
	for (int digits = 0; digits < 6; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits, v);
		near = strtod(text, NULL);
		if (fabs(near - v) < step / 2)
			break;
	}
	return near;
}

static double real(const uint8_t *p, unsigned n)
{
	uint64_t bits = little(p, n);
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (n == 2)
		return half((uint16_t)bits);
	if (n == 4) {
		memcpy(&f, &low, sizeof(f));
		return (double)f;
	}
	memcpy(&d, &bits, sizeof(d));
	return d;
}

static void put_scalar(struct cs_py_repr *r, const struct scalar *s, const uint8_t *p,
		       bool prefix)
{
	uint64_t v = little(p, CS_MIN(s->bytes, 8U));
	unsigned shift = 64 - 8 * CS_MIN(s->bytes, 8U);

	if (s->kind == SCALAR_BOOL && prefix) {
		cs_strbuf_puts(&r->out, v ? "np.True_" : "np.False_");
		return;
	}
	if (prefix)
		cs_strbuf_printf(&r->out, "np.%s(", s->name);
	if (s->kind == SCALAR_BOOL)
		cs_strbuf_puts(&r->out, v ? "True" : "False");
	else if (s->kind == SCALAR_SIGNED)
		cs_strbuf_printf(&r->out, "%lld",
				 (long long)((int64_t)(v << shift) >> shift));
	else if (s->kind == SCALAR_UNSIGNED)
		cs_strbuf_printf(&r->out, "%llu", (unsigned long long)v);
	else if (s->kind == SCALAR_FLOAT)
		cs_py_repr_double(r, real(p, s->bytes), s->bytes == 4);
	else
		cs_py_repr_complex(r, real(p, s->bytes / 2),
				   real(p + s->bytes / 2, s->bytes / 2), s->bytes == 8,
				   !prefix);
	if (prefix)
		cs_strbuf_putc(&r->out, ')');
}

bool cs_py_repr_numpy_scalar(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const struct scalar *s = scalar_named(cs_py_short_name(r->py, type));
	bool prefix = numpy_major(r->py) != 1;
	uint64_t at = cs_py_add(object, (uint64_t)CS_MAX(behind(r, 0), 0));
	uint8_t bytes[16];

	if (s && at && cs_py_read(r->py, at, bytes, s->bytes)) {
		put_scalar(r, s, bytes, prefix);
		return true;
	}
	if (!cs_py_type_has(r->py, type, CS_PY_STR))
		return false;
	cs_strbuf_puts(&r->out, prefix ? "np.str_(" : "");
	cs_py_repr_str(r, object);
	cs_strbuf_puts(&r->out, prefix ? ")" : "");
	return true;
}
