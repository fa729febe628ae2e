/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which modules hold a CPython runtime, and of which version.
 *
 * Goes from the certain to the likely: the runtime's own words, its version constant, the module's name,
 * and at last every version whose layout the memory confirms. A layout is used only if the interpreter that
 * it leads to is one.
 */
#include "python/runtime.h"

#include "base/limits.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define NEWEST_MINOR 15

/* ---- reading a runtime ---- */

/** Address of a static object: a program may have copied it (a copy relocation), and then that one counts. */
static uint64_t static_object(const struct cs_scene *scene, struct cs_mod *mod, const char *name)
{
	struct cs_mod *program = cs_modules_executable(scene->modules);
	uint64_t address = 0;

	if (program && program != mod && cs_mod_symbol(program, name, &address, NULL))
		return address;
	return mod && cs_mod_symbol(mod, name, &address, NULL) ? address : 0;
}

/** 3.6: exported PyInterpreterState_Head() is one load of interp_head and a return. */
static uint64_t interp_head(const struct cs_scene *scene, struct cs_mod *mod)
{
	uint64_t at, size;
	uint8_t code[8];
	int32_t distance;

	if (cs_mod_symbol(mod, "interp_head", &at, &size))
		return at;
	if (cs_mod_public(mod)->bias + 1 == 0 || scene->arch->machine != EM_X86_64 ||
	    !cs_mod_symbol(mod, "PyInterpreterState_Head", &at, &size) ||
	    !cs_ok(cs_mem_read(scene->mem, at, code, sizeof(code), NULL)))
		return 0;
	if (code[0] != 0x48 || code[1] != 0x8b || code[2] != 0x05 || code[7] != 0xc3)
		return 0;
	memcpy(&distance, code + 3, sizeof(distance));
	return at + 7 + (uint64_t)(int64_t)distance;
}

/** All but what symbols and builtins tell: enough to follow the list of interpreters. */
static void attach(const struct cs_scene *scene, const struct cs_py_found *found, struct cs_py *ret)
{
	uint64_t head_at = found->layout.minor == 6
				   ? found->runtime
				   : found->runtime + (uint64_t)found->layout.runtime_interpreters_head;

	*ret = (struct cs_py){.scene = scene,
			      .mem = scene->mem,
			      .arena = scene->arena,
			      .layout = found->layout,
			      .module = found->module,
			      .runtime = found->runtime,
			      .first_interp = found->interp};
	if (!ret->first_interp && found->runtime)
		ret->first_interp = cs_py_get(ret, head_at, 0);
}

void cs_py_open(const struct cs_scene *scene, const struct cs_py_found *found, struct cs_py *ret)
{
	attach(scene, found, ret);
	ret->type_type = static_object(scene, found->module, "PyType_Type");
	ret->type_code = static_object(scene, found->module, "PyCode_Type");
	ret->none = static_object(scene, found->module, "_Py_NoneStruct");
	ret->true_object = static_object(scene, found->module, "_Py_TrueStruct");
	ret->false_object = static_object(scene, found->module, "_Py_FalseStruct");
	cs_py_learn(ret);
}

/* ---- one module ---- */

/** True if the layout leads to interpreters; @starting_ret: there is none yet, where none must be. */
static bool layout_fits(const struct cs_scene *scene, const struct cs_py_found *found,
			bool *starting_ret)
{
	struct cs_py py;

	cs_py_open(scene, found, &py);
	*starting_ret = !py.first_interp;
	return py.first_interp && cs_py_interp_plausible(&py, py.first_interp);
}

/** "3.12" out of "libpython3.12.so.1.0", "python3.12"; 0: none. */
static unsigned minor_in(const char *name)
{
	const char *at = name ? strstr(name, "python3.") : NULL;
	unsigned minor = 0;

	return at && sscanf(at, "python3.%2u", &minor) == 1 && minor <= NEWEST_MINOR ? minor : 0;
}

/** The version that the module tells: its constant (3.11+), or its name. 0: neither. */
static uint32_t version_told(const struct cs_scene *scene, struct cs_mod *mod)
{
	const struct cs_module *pub = cs_mod_public(mod);
	uint64_t at, version;
	unsigned minor;

	if (cs_mod_symbol(mod, "Py_Version", &at, NULL) && cs_mem_u64(scene->mem, at, &version) &&
	    version >> 24 == 3)
		return (uint32_t)version;
	minor = minor_in(pub->name);
	return minor ? 3U << 24 | minor << 16 : 0;
}

/** sizeof(_PyRuntimeState) tells the version where nothing else does. 0: no version has that size. */
static uint32_t version_of_size(uint64_t size, uint16_t machine)
{
	struct cs_py_layout l;

	for (unsigned minor = 7; minor <= 12; minor++)
		if (cs_py_layout_table(3U << 24 | minor << 16, false, machine, &l) &&
		    (uint64_t)l.runtime_size == size)
			return 3U << 24 | minor << 16;
	return 0;
}

static bool try_version(const struct cs_scene *scene, uint32_t version, struct cs_py_found *f,
			bool *starting)
{
	return cs_py_layout_table(version, false, scene->arch->machine, &f->layout) &&
	       layout_fits(scene, f, starting);
}

/** Does the debug information of that very build say otherwise than the table? */
static bool try_dwarf(const struct cs_scene *scene, uint32_t version, struct cs_py_found *f,
		      bool *starting)
{
	Elf *elf = cs_mod_debug_elf(f->module);

	elf = elf ? elf : cs_mod_elf(f->module);
	if (!elf || !cs_py_layout_table(version, false, scene->arch->machine, &f->layout) ||
	    !cs_py_layout_dwarf(elf, &f->layout))
		return false;
	f->layout.source = CS_LAYOUT_DWARF;
	return layout_fits(scene, f, starting);
}

/** 3.7 to 3.12 at f->runtime, and newer ones whose published offsets are damaged. */
static bool find_layout(const struct cs_scene *scene, uint64_t size, struct cs_py_found *f)
{
	uint32_t told = version_told(scene, f->module);
	bool starting = false, any_starting = false;

	if (!told)
		told = version_of_size(size, scene->arch->machine);
	if (told) {
		if (try_version(scene, told, f, &starting))
			return true;
		if (starting)
			return true;
		if (try_dwarf(scene, told, f, &starting))
			return true;
	}
	/* A build that changed what it is called: whatever the memory confirms. */
	for (unsigned minor = 7; !told && minor <= 12; minor++) {
		if (try_version(scene, 3U << 24 | minor << 16, f, &starting))
			return true;
		any_starting |= starting;
	}
	return any_starting && told;
}

static void report_damaged(const struct cs_scene *scene, struct cs_mod *mod, struct cs_error *err)
{
	cs_diag_error(scene->diags, CS_SEVERITY_WARNING, "python", "layout-damaged", 0,
		      cs_error_prefix(err, "%s", cs_mod_public(mod)->name));
}

/** 3.7 and later: the runtime has a symbol. */
static bool module_runtime(const struct cs_scene *scene, struct cs_py_found *f)
{
	uint64_t size = 0;
	struct cs_error *err;

	if (!cs_mod_symbol(f->module, "_PyRuntime", &f->runtime, &size))
		return false;
	f->how = cs_arena_printf(scene->arena, "symbol _PyRuntime of %s",
				 cs_mod_public(f->module)->name);
	err = cs_py_layout_published(scene->mem, f->runtime, scene->arch->machine, &f->layout);
	if (!err)
		return true;
	if (cs_error_code(err) == CS_ERR_NOT_FOUND)
		cs_error_destroy(err);
	else
		report_damaged(scene, f->module, err);
	return find_layout(scene, size, f);
}

/** 3.6: no runtime structure, but a list of interpreters. */
static bool module_3_6(const struct cs_scene *scene, struct cs_py_found *f)
{
	bool starting;
	uint64_t at;

	if (!cs_mod_symbol(f->module, "_PyThreadState_Current", &at, NULL))
		return false;
	f->runtime = interp_head(scene, f->module);
	f->how = cs_arena_printf(scene->arena, "PyInterpreterState_Head() of %s",
				 cs_mod_public(f->module)->name);
	return f->runtime && (try_version(scene, 3U << 24 | 6U << 16, f, &starting) || starting);
}

static bool module_find(const struct cs_scene *scene, struct cs_mod *mod, struct cs_py_found *ret)
{
	*ret = (struct cs_py_found){.module = mod};
	return module_runtime(scene, ret) || module_3_6(scene, ret);
}

/* ---- all modules ---- */

static bool named_python(const struct cs_module *m)
{
	return strstr(m->name, "python") && !strstr(m->name, ".cpython-") &&
	       strncmp(m->name, "libtorch", 8) != 0;
}

/** A process without any of this in its modules' paths has no Python in it. */
static bool smells_of_python(const struct cs_scene *scene)
{
	for (size_t i = 0; i < cs_modules_count(scene->modules); i++) {
		const struct cs_module *m = cs_mod_public(cs_modules_at(scene->modules, i));

		if (strstr(m->path, "python") || strstr(m->path, ".cpython-3") ||
		    strstr(m->path, "lib-dynload"))
			return true;
	}
	return false;
}

/** Look into the modules for which @pick holds. */
static void look_into(const struct cs_scene *scene, bool likely, struct cs_py_found *found,
		      size_t max, size_t *n)
{
	struct cs_mod *program = cs_modules_executable(scene->modules);

	for (size_t i = 0; i < cs_modules_count(scene->modules) && *n < max; i++) {
		struct cs_mod *mod = cs_modules_at(scene->modules, i);

		if (cs_mod_is_vdso(mod) ||
		    likely != (mod == program || named_python(cs_mod_public(mod))))
			continue;
		*n += module_find(scene, mod, &found[*n]);
	}
}

static bool runs(const struct cs_scene *scene, const struct cs_py_found *found)
{
	struct cs_py py;

	attach(scene, found, &py);
	return py.first_interp != 0;
}

static bool any_runs(const struct cs_scene *scene, const struct cs_py_found *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (runs(scene, &found[i]))
			return true;
	return false;
}

/** A copy that was loaded beside the one in use (Debian's program and its libpython) has never run. */
static void drop_unused(const struct cs_scene *scene, struct cs_py_found *found, size_t *n)
{
	size_t kept = 0;

	if (!any_runs(scene, found, *n)) {
		*n = CS_MIN(*n, (size_t)1);
		return;
	}
	for (size_t i = 0; i < *n; i++)
		if (runs(scene, &found[i]))
			found[kept++] = found[i];
	*n = kept;
}

struct cs_error *cs_py_runtimes_find(const struct cs_scene *scene, struct cs_py_found *found,
				     size_t max, size_t *n_ret)
{
	size_t n = 0;

	look_into(scene, true, found, max, &n);
	if (!any_runs(scene, found, n) && smells_of_python(scene))
		look_into(scene, false, found, max, &n);
	/* A copy that has never run must not hide the one that did and whose file is missing. */
	if (!any_runs(scene, found, n))
		CS_TRY(cs_py_search(scene, found, max, &n));
	drop_unused(scene, found, &n);
	*n_ret = n;
	return NULL;
}
