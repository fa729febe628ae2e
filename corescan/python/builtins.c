/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has a rule of its own by the name of its type: floats, functions, modules,
 * generators, enum members, deques, ... Knows the words behind the object header that
 * these keep in all versions; refuses types whose structure a version has changed.
 */
#include "python/repr.h"

#include <stdio.h>
#include <string.h>

#define DEQUE_BLOCK 64 /* BLOCKLEN (CPython: Modules/_collectionsmodule.c) */

/** Word number @i behind the object's header, as a pointer. */
static uint64_t word(const struct cs_py_repr *r, uint64_t object, unsigned i)
{
	if (r->py->layout.object_size < 0)
		return 0;
	return cs_py_get(r->py, object, r->py->layout.object_size + (int32_t)i * 8);
}

/* ---- numbers and the like ---- */

static bool repr_float(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	int32_t at = r->py->layout.float_value;
	double v;

	(void)type;
	if (at < 0 || !cs_py_double(r->py, object + (uint64_t)at, &v))
		return false;
	cs_py_repr_double(r, v, false);
	return true;
}

static bool repr_complex(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	int32_t at = r->py->layout.complex_value;
	double re, im;

	(void)type;
	if (at < 0 || !cs_py_double(r->py, object + (uint64_t)at, &re) ||
	    !cs_py_double(r->py, object + (uint64_t)at + 8, &im))
		return false;
	cs_py_repr_complex(r, re, im, false, true);
	return true;
}

static bool repr_bool(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	int64_t v;

	(void)type;
	if (!cs_py_int(r->py, object, &v))
		return false;
	cs_strbuf_puts(&r->out, v ? "True" : "False");
	return true;
}

static bool repr_ellipsis(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)object, (void)type;
	cs_strbuf_puts(&r->out, "Ellipsis");
	return true;
}

static bool repr_not_implemented(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)object, (void)type;
	cs_strbuf_puts(&r->out, "NotImplemented");
	return true;
}

/** range and slice: start, stop and step are objects; a range leaves out a step of 1. */
static bool three_objects(struct cs_py_repr *r, uint64_t object, const char *name,
			  bool whole)
{
	uint64_t start = word(r, object, 0), stop = word(r, object, 1),
		 step = word(r, object, 2);
	int64_t v;

	if (!start || !stop || !step)
		return false;
	cs_strbuf_printf(&r->out, "%s(", name);
	cs_py_repr_value(r, start);
	cs_strbuf_puts(&r->out, ", ");
	cs_py_repr_value(r, stop);
	if (whole || !cs_py_int(r->py, step, &v) || v != 1) {
		cs_strbuf_puts(&r->out, ", ");
		cs_py_repr_value(r, step);
	}
	cs_strbuf_putc(&r->out, ')');
	return true;
}

static bool repr_range(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)type;
	return three_objects(r, object, "range", false);
}

static bool repr_slice(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)type;
	return three_objects(r, object, "slice", true);
}

/* ---- containers ---- */

static bool repr_bytearray(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t len, start;

	if (!cs_py_u64(r->py, object, r->py->layout.var_size, &len) || len > INT64_MAX ||
	    !cs_py_u64(r->py, object, r->py->layout.bytearray_start, &start) ||
	    (len && !start))
		return false;
	cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	cs_py_repr_bytes(r, start, len);
	cs_strbuf_putc(&r->out, ')');
	return true;
}

static bool repr_set(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name = cs_py_short_name(r->py, type);
	bool bare = strcmp(name, "set") == 0;
	uint64_t used;

	if (!cs_py_u64(r->py, object, r->py->layout.set_used, &used))
		return false;
	if (used == 0) {
		cs_strbuf_printf(&r->out, "%s()", name);
		return true;
	}
	if (!bare)
		cs_strbuf_printf(&r->out, "%s(", name);
	cs_py_repr_set(r, object);
	if (!bare)
		cs_strbuf_putc(&r->out, ')');
	return true;
}

/** A subclass of dict as "Counter({'a': 1})". */
static bool repr_named_dict(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	cs_py_repr_dict(r, object);
	cs_strbuf_putc(&r->out, ')');
	return true;
}

/** The value under the very key at @key. */
static uint64_t value_under(struct cs_py_repr *r, uint64_t dict, uint64_t key)
{
	uint64_t k = 0, v = 0;
	struct cs_py_dict_iter it;

	if (!cs_py_dict_begin(r->py, dict, &it))
		return 0;
	it.n = CS_MIN(it.n, r->steps);
	while (cs_py_dict_next(&it, &k, &v) && k != key)
		;
	r->steps -= CS_MIN(r->steps, it.i);
	return k == key ? v : 0;
}

/**
 * An OrderedDict in its own order, which move_to_end() changes: its nodes (key, hash,
 * next) are a list whose first is the word behind the dict (cpython:
 * Objects/odictobject.c). Up to 3.11 it shows pairs.
 */
static bool repr_ordered_dict(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	bool pairs = r->py->layout.minor < 12;
	uint64_t node = cs_py_get(r->py, object, r->py->layout.dict_values + 8), key,
		 used, n = 0;

	if (!cs_py_u64(r->py, object, r->py->layout.dict_used, &used) || (used && !node))
		return false;
	if (used && cs_py_repr_closed(r, object, "", ""))
		return true;
	cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	if (used) {
		cs_strbuf_puts(&r->out, pairs ? "[" : "{");
		for (; node && n < used && cs_py_repr_item(r, n, used); n++) {
			if (!cs_py_u64(r->py, node, 0, &key)) {
				cs_strbuf_puts(&r->out, "...");
				break;
			}
			cs_strbuf_puts(&r->out, pairs ? "(" : "");
			cs_py_repr_value(r, key);
			cs_strbuf_puts(&r->out, pairs ? ", " : ": ");
			cs_py_repr_value(r, value_under(r, object, key));
			cs_strbuf_puts(&r->out, pairs ? ")" : "");
			node = cs_py_pointer_at(r->py, cs_py_add(node, 16));
		}
		cs_strbuf_puts(&r->out, pairs ? "]" : "}");
	}
	cs_strbuf_putc(&r->out, ')');
	return true;
}

static bool repr_default_dict(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	/* The factory is the word behind the dict (CPython:
	 * Modules/_collectionsmodule.c). */
	uint64_t factory = cs_py_get(r->py, object, r->py->layout.dict_values + 8);

	cs_strbuf_printf(&r->out, "%s(", cs_py_short_name(r->py, type));
	if (factory)
		cs_py_repr_value(r, factory);
	else
		cs_strbuf_puts(&r->out, "None");
	cs_strbuf_puts(&r->out, ", ");
	cs_py_repr_dict(r, object);
	cs_strbuf_putc(&r->out, ')');
	return true;
}

/** Blocks of 64 items in a list: previous block, items, next block. */
static bool repr_deque(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	int32_t at = r->py->layout.var_size;
	uint64_t n, block, index, max;

	if (at < 0 || !cs_py_u64(r->py, object, at, &n) || n > (1UL << 48) ||
	    !cs_py_pointer(r->py, object, at + 8, &block) || !block ||
	    !cs_py_u64(r->py, object, at + 24, &index) || index > DEQUE_BLOCK ||
	    !cs_py_u64(r->py, object, at + 48, &max))
		return false;
	cs_strbuf_printf(&r->out, "%s([", cs_py_short_name(r->py, type));
	for (uint64_t i = 0; i < n && !r->out.cut; i++, index++) {
		if (index >= DEQUE_BLOCK) {
			block = cs_py_pointer_at(r->py,
						 cs_py_add(block, 8 + DEQUE_BLOCK * 8));
			index = 0;
		}
		if (i)
			cs_strbuf_puts(&r->out, ", ");
		if (i >= CS_MAX_PY_SHOWN || !block) {
			cs_strbuf_printf(&r->out, "... %llu more",
					 (unsigned long long)(n - i));
			break;
		}
		cs_py_repr_at(r, cs_py_add(block, 8 + index * 8));
	}
	cs_strbuf_putc(&r->out, ']');
	if (max <= INT64_MAX)
		cs_strbuf_printf(&r->out, ", maxlen=%llu", (unsigned long long)max);
	cs_strbuf_putc(&r->out, ')');
	return true;
}

static bool repr_proxy(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)type;
	cs_strbuf_puts(&r->out, "mappingproxy(");
	cs_py_repr_value(r, word(r, object, 0));
	cs_strbuf_putc(&r->out, ')');
	return true;
}

/* ---- code ---- */

/** "<KIND NAME at 0x...>" with the str at @name. */
static bool named_thing(struct cs_py_repr *r, const char *kind, uint64_t object,
			uint64_t name)
{
	const char *text =
		name ? cs_py_str(r->py, name, CS_MAX_PY_INNER_TEXT, NULL) : NULL;

	cs_strbuf_printf(&r->out, "<%s %s at %#llx>", kind, text ? text : "?",
			 (unsigned long long)object);
	return true;
}

static bool repr_function(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	(void)type;
	return named_thing(r, "function", object,
			   cs_py_get(r->py, object, r->py->layout.function_qualname));
}

static bool repr_code(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const struct cs_py_layout *l = &r->py->layout;
	uint64_t name = cs_py_get(r->py, object, l->code_name);
	uint64_t file = cs_py_get(r->py, object, l->code_filename);
	const char *text = cs_py_str(r->py, name, CS_MAX_PY_INNER_TEXT, NULL);
	const char *path = cs_py_str(r->py, file, CS_MAX_PY_NAME, NULL);
	uint32_t line = 0;

	(void)type;
	if (!cs_py_u32(r->py, object, l->code_firstlineno, &line))
		return false;
	cs_strbuf_printf(&r->out, "<code object %s at %#llx, file \"%s\", line %u>",
			 text ? text : "?", (unsigned long long)object, path ? path : "?",
			 line);
	return true;
}

static bool repr_generator(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *kind = cs_py_short_name(r->py, type);
	char text[64];

	snprintf(text, sizeof(text), "%s object", kind);
	return named_thing(r, text, object,
			   cs_py_get(r->py, object, r->py->layout.gen_qualname));
}

/** The name of a function in C: of its PyMethodDef in .rodata, else the one that its
 * module has for it. */
static const char *builtin_name(const struct cs_py_repr *r, uint64_t object,
				uint64_t self)
{
	uint64_t def = word(r, object, 0), at, dict;
	char name[128];

	if (def && cs_py_u64(r->py, def, 0, &at) &&
	    cs_py_c_string(r->py, at, name, sizeof(name)))
		return cs_arena_intern(r->py->arena, name);
	dict = self && cs_py_is_a(r->py, self, "module")
		       ? cs_py_get(r->py, self, r->py->layout.module_dict)
		       : 0;
	return cs_py_name_in(r->py, dict, object);
}

static bool repr_builtin(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t self = word(r, object, 1), owner = self ? cs_py_type(r->py, self) : 0;
	const char *text = owner ? cs_py_type_full_name(r->py, owner) : NULL;
	const char *name = builtin_name(r, object, self);

	(void)type;
	if (!name || (self && !text))
		return false;
	if (!text || strcmp(text, "module") == 0)
		cs_strbuf_printf(&r->out, "<built-in function %s>", name);
	else
		cs_strbuf_printf(&r->out, "<built-in method %s of %s object at %#llx>",
				 name, text, (unsigned long long)self);
	return true;
}

static bool repr_method(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t function = cs_py_get(r->py, object, r->py->layout.method_func);
	uint64_t self = cs_py_get(r->py, object, r->py->layout.method_self), self_type;
	const char *name = NULL;

	(void)type;
	self_type = self ? cs_py_type(r->py, self) : 0;
	if (!function || !self_type)
		return false;
	if (cs_py_is_a(r->py, function, "function"))
		name = cs_py_str(
			r->py,
			cs_py_get(r->py, function, r->py->layout.function_qualname),
			CS_MAX_PY_INNER_TEXT, NULL);
	cs_strbuf_printf(&r->out, "<bound method %s of ", name ? name : "?");
	cs_py_repr_plain(r, self, self_type);
	cs_strbuf_putc(&r->out, '>');
	return true;
}

/** "from '/lib/os.py'" or "(built-in)", out of the module's spec; NULL: it has none. */
static const char *module_origin(const struct cs_py *py, uint64_t dict, bool *is_file)
{
	uint64_t spec = cs_py_dict_get(py, dict, "__spec__"), origin;

	if (!spec || cs_py_is_none(py, spec))
		return NULL;
	origin = cs_py_attribute(py, spec, "origin");
	/* ModuleSpec.has_location (cpython: Lib/importlib/_bootstrap.py) */
	*is_file = cs_py_attribute(py, spec, "_set_fileattr") == py->true_object;
	return origin ? cs_py_str(py, origin, CS_MAX_PY_NAME, NULL) : NULL;
}

static bool repr_module(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const struct cs_py *py = r->py;
	uint64_t dict = cs_py_get(py, object, py->layout.module_dict), name, file;
	const char *text, *origin;
	bool is_file = true;

	(void)type;
	name = dict ? cs_py_dict_get(py, dict, "__name__") : 0;
	text = name ? cs_py_str(py, name, CS_MAX_PY_NAME, NULL) : NULL;
	if (!text)
		return false;
	origin = module_origin(py, dict, &is_file);
	if (!origin) {
		file = cs_py_dict_get(py, dict, "__file__");
		origin = file ? cs_py_str(py, file, CS_MAX_PY_NAME, NULL) : NULL;
		is_file = true;
	}
	cs_strbuf_printf(&r->out, "<module '%s'", text);
	if (origin)
		cs_strbuf_printf(&r->out, is_file ? " from '%s'" : " (%s)", origin);
	cs_strbuf_putc(&r->out, '>');
	return true;
}

static bool repr_cell(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t value = cs_py_get(r->py, object, r->py->layout.cell_ref);

	(void)type;
	cs_strbuf_printf(&r->out, "<cell at %#llx: ", (unsigned long long)object);
	if (value)
		cs_py_repr_value(r, value);
	else
		cs_strbuf_puts(&r->out, "empty");
	cs_strbuf_putc(&r->out, '>');
	return true;
}

/* ---- classes of the standard library ---- */

/** "<Color.RED: 1>" */
static bool repr_enum(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t name = cs_py_attribute(r->py, object, "_name_");
	uint64_t value = cs_py_attribute(r->py, object, "_value_");
	const char *text =
		name ? cs_py_str(r->py, name, CS_MAX_PY_INNER_TEXT, NULL) : NULL;

	if (!value)
		return false;
	cs_strbuf_printf(&r->out, "<%s%s%s: ", cs_py_short_name(r->py, type),
			 text ? "." : "", text ? text : "");
	cs_py_repr_value(r, value);
	cs_strbuf_putc(&r->out, '>');
	return true;
}

/** "namespace(a=1)" */
static bool repr_namespace(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	uint64_t key, value, n = 0;
	struct cs_py_dict_iter it;
	const char *name;

	if (!cs_py_attributes_begin(r->py, object, &it))
		return false;
	name = cs_py_short_name(r->py, type);
	cs_strbuf_printf(&r->out, "%s(",
			 strcmp(name, "SimpleNamespace") == 0 ? "namespace" : name);
	while (!r->out.cut && n <= CS_MAX_PY_SHOWN &&
	       cs_py_dict_next(&it, &key, &value)) {
		name = cs_py_str(r->py, key, CS_MAX_PY_INNER_TEXT, NULL);
		cs_strbuf_puts(&r->out, n++ ? ", " : "");
		if (n > CS_MAX_PY_SHOWN) {
			cs_strbuf_puts(&r->out, "...");
			break;
		}
		cs_strbuf_printf(&r->out, "%s=", name ? name : "?");
		cs_py_repr_value(r, value);
	}
	cs_strbuf_putc(&r->out, ')');
	return true;
}

/* ---- the rules ---- */

struct rule {
	const char *module; /* NULL: a builtin */
	const char *name;
	bool (*repr)(struct cs_py_repr *r, uint64_t object, uint64_t type);
};

static const struct rule rules[] = {
	{NULL, "float", repr_float},
	{NULL, "bool", repr_bool},
	{NULL, "complex", repr_complex},
	{NULL, "set", repr_set},
	{NULL, "frozenset", repr_set},
	{NULL, "bytearray", repr_bytearray},
	{NULL, "range", repr_range},
	{NULL, "slice", repr_slice},
	{NULL, "ellipsis", repr_ellipsis},
	{NULL, "NotImplementedType", repr_not_implemented},
	{NULL, "mappingproxy", repr_proxy},
	{NULL, "function", repr_function},
	{NULL, "builtin_function_or_method", repr_builtin},
	{NULL, "method", repr_method},
	{NULL, "module", repr_module},
	{NULL, "code", repr_code},
	{NULL, "cell", repr_cell},
	{NULL, "generator", repr_generator},
	{NULL, "coroutine", repr_generator},
	{NULL, "async_generator", repr_generator},
	{"collections", "deque", repr_deque},
	{"collections", "defaultdict", repr_default_dict},
	{"collections", "OrderedDict", repr_ordered_dict},
	{"collections", "Counter", repr_named_dict},
	{"types", "SimpleNamespace", repr_namespace},
	{"_thread", "lock", cs_py_repr_lock},
	{"_thread", "RLock", cs_py_repr_rlock},
	{"datetime", "datetime", cs_py_repr_datetime},
	{"datetime", "date", cs_py_repr_date},
	{"datetime", "time", cs_py_repr_time},
	{"datetime", "timedelta", cs_py_repr_timedelta},
	{"enum", "Enum", repr_enum},
	{"numpy", "ndarray", cs_py_repr_ndarray},
	{"numpy", "generic", cs_py_repr_numpy_scalar},
	{"numpy", "dtype", cs_py_repr_numpy_dtype},
	{"torch", "Size", cs_py_repr_torch_size},
	{"torch", "dtype", cs_py_repr_torch_dtype},
	{"torch", "device", cs_py_repr_torch_device},
	{"torch", "Tensor", cs_py_repr_tensor},
	{"torch._C", "_TensorBase", cs_py_repr_tensor},
	{"torch._C", "TensorBase", cs_py_repr_tensor},
};

/** True if full type name @name ("collections.deque") is the rule's. */
static bool matches(const struct rule *rule, const char *name)
{
	size_t len = rule->module ? strlen(rule->module) : 0;

	if (!rule->module)
		return strcmp(name, rule->name) == 0;
	return strncmp(name, rule->module, len) == 0 && name[len] == '.' &&
	       strcmp(name + len + 1, rule->name) == 0;
}

/** True if a rule may fit the last part of the name: most types are none of ours. */
static bool may_match(const char *name)
{
	for (size_t i = 0; i < CS_COUNT(rules); i++)
		if (strcmp(name, rules[i].name) == 0)
			return true;
	return false;
}

bool cs_py_repr_named(struct cs_py_repr *r, uint64_t object, uint64_t type)
{
	const char *name;
	uint64_t base;

	for (uint64_t i = 0; (base = cs_py_type_base(r->py, type, i)); i++) {
		if (!may_match(cs_py_short_name(r->py, base)))
			continue;
		name = cs_py_type_full_name(r->py, base);
		for (size_t k = 0; name && k < CS_COUNT(rules); k++)
			if (matches(&rules[k], name) && rules[k].repr(r, object, type))
				return true;
	}
	return false;
}
