/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of types. Knows __qualname__ of heap types, tp_name of static ones, and under
 * which names the modules have those whose tp_name is not to be had: it lies in the
 * .rodata of the interpreter or of an extension, which a core does not hold. Refuses to
 * guess: a type in none of these has no name.
 */
#include "base/limits.h"
#include "python/value.h"

#include <string.h>

#define SLOTS 512 /* types whose names are kept; programs work with few at a time */

struct cs_py_names {
	struct type_name {
		uint64_t type;      /* 0: free */
		const char *name;   /* NULL: it has none */
		const char *module; /* NULL: builtins, or not known */
	} slots[SLOTS];
};

/* ---- what the builtins know ---- */

uint64_t cs_py_builtin(const struct cs_py *py, const char *name)
{
	uint64_t builtins = cs_py_get(py, py->first_interp, py->layout.interp_builtins);

	return builtins ? cs_py_dict_get(py, builtins, name) : 0;
}

uint64_t cs_py_singleton(const struct cs_py *py, uint64_t known, const char *name)
{
	return known ? known : cs_py_builtin(py, name);
}

static void learn_from(struct cs_py *py, struct cs_py_dict_iter *it)
{
	uint64_t key, value;

	while ((!py->none || !py->true_object || !py->false_object) &&
	       cs_py_dict_next(it, &key, &value)) {
		if (!py->none && cs_py_str_is(py, key, "None"))
			py->none = value;
		else if (!py->true_object && cs_py_str_is(py, key, "True"))
			py->true_object = value;
		else if (!py->false_object && cs_py_str_is(py, key, "False"))
			py->false_object = value;
	}
}

void cs_py_learn(struct cs_py *py)
{
	uint64_t builtins = cs_py_get(py, py->first_interp, py->layout.interp_builtins);
	struct cs_py_dict_iter it;

	if (!py->names)
		py->names = cs_arena_alloc(py->arena, sizeof(*py->names));
	if (builtins && cs_py_dict_begin(py, builtins, &it))
		learn_from(py, &it);
	if (!py->type_none && py->none)
		py->type_none = cs_py_type(py, py->none);
}

const char *cs_py_name_in(const struct cs_py *py, uint64_t dict, uint64_t object)
{
	struct cs_py_dict_iter it;
	uint64_t key, value;

	if (!dict || !object || !cs_py_dict_begin(py, dict, &it))
		return NULL;
	while (cs_py_dict_next(&it, &key, &value))
		if (value == object)
			return cs_py_str(py, key, CS_MAX_PY_NAME, NULL);
	return NULL;
}

/* ---- static types ---- */

/** Types that a module has under another name than their own. */
static bool name_of_known(const struct cs_py *py, uint64_t type, struct type_name *ret)
{
	static const char *const known[][2] = {
		{"FunctionType", "function"},
		{"CodeType", "code"},
		{"BuiltinFunctionType", "builtin_function_or_method"},
		{"MethodType", "method"},
		{"ModuleType", "module"},
		{"GeneratorType", "generator"},
		{"CoroutineType", "coroutine"},
		{"AsyncGeneratorType", "async_generator"},
		{"MappingProxyType", "mappingproxy"},
		{"MemberDescriptorType", "member_descriptor"},
		{"GetSetDescriptorType", "getset_descriptor"},
		{"FrameType", "frame"},
		{"TracebackType", "traceback"},
		{"CellType", "cell"},
	};
	uint64_t dict = cs_py_module_dict(py, py->first_interp, "types"), threads;

	for (size_t i = 0; dict && i < CS_COUNT(known); i++) {
		if (cs_py_dict_get(py, dict, known[i][0]) != type)
			continue;
		ret->name = known[i][1];
		return true;
	}
	if (type == py->type_none)
		ret->name = "NoneType";
	else if (type == cs_py_type(py, cs_py_builtin(py, "Ellipsis")))
		ret->name = "ellipsis";
	else if (type == cs_py_type(py, cs_py_builtin(py, "NotImplemented")))
		ret->name = "NotImplementedType";
	if (ret->name)
		return true;
	threads = cs_py_module_dict(py, py->first_interp, "_thread");
	if (threads && cs_py_dict_get(py, threads, "LockType") == type) {
		ret->name = "lock";
		ret->module = "_thread";
	}
	return ret->name != NULL;
}

/** By looking for the type in the modules: where its own name cannot be read. */
static void name_by_modules(const struct cs_py *py, uint64_t type, struct type_name *ret)
{
	static const char *const modules[] = {
		"collections", "types",     "_io",      "_thread", "threading",
		"functools",   "itertools", "datetime", "decimal", "_socket",
		"numpy",       "torch",     "torch._C",
	};
	uint64_t builtins = cs_py_get(py, py->first_interp, py->layout.interp_builtins);

	ret->name = cs_py_name_in(py, builtins, type);
	if (ret->name || name_of_known(py, type, ret))
		return;
	for (size_t i = 0; i < CS_COUNT(modules); i++) {
		ret->name = cs_py_name_in(
			py, cs_py_module_dict(py, py->first_interp, modules[i]), type);
		if (!ret->name)
			continue;
		ret->module = modules[i];
		return;
	}
}

static void name_static(const struct cs_py *py, uint64_t type, struct type_name *ret)
{
	const char *dot;
	char buf[256];
	uint64_t at;

	if (!cs_py_u64(py, type, py->layout.type_name, &at) ||
	    !cs_py_c_string(py, at, buf, sizeof(buf))) {
		name_by_modules(py, type, ret);
		return;
	}
	dot = strrchr(buf, '.');
	ret->name = cs_arena_intern(py->arena, dot ? dot + 1 : buf);
	if (dot)
		ret->module = cs_arena_strndup(py->arena, buf, (size_t)(dot - buf));
}

/* ---- heap types ---- */

static void name_heap(const struct cs_py *py, uint64_t type, struct type_name *ret)
{
	uint64_t name = cs_py_get(py, type, py->layout.heaptype_qualname), dict, module;

	ret->name = cs_py_str(py, name, CS_MAX_PY_NAME, NULL);
	if (!ret->name) {
		name = cs_py_get(py, type, py->layout.heaptype_name);
		ret->name = cs_py_str(py, name, CS_MAX_PY_NAME, NULL);
	}
	dict = cs_py_get(py, type, py->layout.type_dict);
	module = dict ? cs_py_dict_get(py, dict, "__module__") : 0;
	ret->module = module ? cs_py_str(py, module, CS_MAX_PY_NAME, NULL) : NULL;
}

static struct type_name name_get(const struct cs_py *py, uint64_t type)
{
	struct type_name n = {.type = type}, *slot = NULL;

	if (!type)
		return n;
	if (py->names) {
		slot = &py->names->slots[(type >> 4) % SLOTS];
		if (slot->type == type)
			return *slot;
	}
	if (!cs_py_is_type(py, type))
		return n;
	if (cs_py_type_has(py, type, CS_PY_HEAPTYPE))
		name_heap(py, type, &n);
	else
		name_static(py, type, &n);
	if (n.module && strcmp(n.module, "builtins") == 0)
		n.module = NULL;
	if (slot)
		*slot = n;
	return n;
}

/* ---- for others ---- */

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

const char *cs_py_type_name(const struct cs_py *py, uint64_t type)
{
	return name_get(py, type).name;
}

const char *cs_py_short_name(const struct cs_py *py, uint64_t type)
{
	const char *name = cs_py_type_name(py, type);

	return name ? last_part(name) : "unknown";
}

const char *cs_py_type_full_name(const struct cs_py *py, uint64_t type)
{
	struct type_name n = name_get(py, type);

	if (!n.name || !n.module)
		return n.name;
	return cs_arena_printf(py->arena, "%s.%s", n.module, n.name);
}

bool cs_py_type_is(const struct cs_py *py, uint64_t type, const char *name)
{
	struct type_name n = name_get(py, type);
	size_t len = n.module ? strlen(n.module) : 0;

	if (!n.name)
		return false;
	if (strcmp(n.name, name) == 0)
		return true;
	return n.module && strncmp(name, n.module, len) == 0 && name[len] == '.' &&
	       strcmp(name + len + 1, n.name) == 0;
}

bool cs_py_type_inherits(const struct cs_py *py, uint64_t type, const char *name)
{
	uint64_t base;

	if (!type || !cs_py_is_type(py, type))
		return false;
	if (cs_py_type_is(py, type, name))
		return true;
	for (uint64_t i = 1; (base = cs_py_type_base(py, type, i)); i++)
		if (cs_py_type_is(py, base, name))
			return true;
	return false;
}

bool cs_py_is_a(const struct cs_py *py, uint64_t object, const char *name)
{
	return cs_py_type_inherits(py, cs_py_type(py, object), name);
}

uint64_t cs_py_class_attribute(const struct cs_py *py, uint64_t type, const char *name)
{
	uint64_t base, dict, value;

	for (uint64_t i = 0; (base = cs_py_type_base(py, type, i)); i++) {
		dict = cs_py_get(py, base, py->layout.type_dict);
		value = dict ? cs_py_dict_get(py, dict, name) : 0;
		if (value)
			return value;
	}
	return 0;
}
