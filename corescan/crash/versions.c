/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Versions of the software that was loaded, and where each was read. Prefers a symbol's
 * value to a file's name, and a name to a search; searches one section of one module at
 * most. Says nothing rather than guess.
 */
#include "crash/internal.h"

#include "base/limits.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define CHUNK 65536UL
#define MAX_TEXT 128UL /* bytes of one version text with what announces it */
#define MAX_VERSIONS 16

struct versions {
	const struct cs_scene *scene;
	struct cs_version list[MAX_VERSIONS];
	size_t n;
};

static const char *path_of(struct cs_mod *mod)
{
	const char *path = cs_mod_public(mod)->path;

	return path ? path : "module";
}

/** Add a version of @len bytes; @source lives as long as the arena. */
static void add(struct versions *v, const char *name, const char *value, size_t len,
		const char *source)
{
	const char *text = len ? cs_text_utf8(v->scene->arena, value, len) : NULL;

	if (text && v->n < MAX_VERSIONS)
		v->list[v->n++] = (struct cs_version){
			.name = name, .value = text, .source = source};
}

/** Length of "2.28.9+cuda13.0" at @p: digits, then letters, digits, '.', '+', '-'. */
static size_t version_len(const char *p)
{
	size_t n = 0;

	if (!isdigit((unsigned char)*p))
		return 0;
	while (n < MAX_TEXT / 2 && (isalnum((unsigned char)p[n]) || p[n] == '.' ||
				    p[n] == '+' || p[n] == '-' || p[n] == '_'))
		n++;
	while (n && !isalnum((unsigned char)p[n - 1]))
		n--; /* the full stop of a sentence */
	return n;
}

/** Where in a text of @len bytes and a NUL a version begins, or NULL. */
typedef const char *find_fn(const char *text, size_t len);

static const char *after(const char *text, size_t len, const char *words)
{
	const char *p = memmem(text, len, words, strlen(words));

	p = p ? p + strlen(words) : NULL;
	return p && version_len(p) ? p : NULL;
}

static const char *find_glibc(const char *text, size_t len)
{
	return after(text, len, "release version "); /* glibc: csu/version.c, banner */
}

static const char *find_nccl(const char *text, size_t len)
{
	return after(text, len, "NCCL version "); /* nccl: src/init.cc, VERSION_STRING */
}

/** "3.8.18 (default, ...": what Py_GetVersion() once wrote into its buffer. CPython:
 * Python/getversion.c */
static const char *find_python(const char *text, size_t len)
{
	const char *p = text;

	while ((p = memmem(p, len - (size_t)(p - text), "3.", 2))) {
		int digits = 0;
		size_t n = version_len(p);

		sscanf(p, "3.%*2[0-9].%*2[0-9]%n", &digits);
		if (digits && p[n] == ' ' && p[n + 1] == '(' && (p == text || !p[-1]))
			return p;
		p += 2;
	}
	return NULL;
}

/** Read bytes [@at, @at + @len) from the module's file if it has one, else from target
 * memory. */
static size_t read_at(const struct versions *v, const struct cs_file *file, uint64_t at,
		      char *buf, size_t len)
{
	size_t n = 0;

	if (!file)
		return cs_mem_read_some(v->scene->mem, at, buf, len);
	return cs_ok(cs_file_read_some(file, at, buf, len, &n)) ? n : 0;
}

/** Search [@at, @at + @size) in one pass. Chunks overlap, so that no text is cut in two.
 */
static bool scan(struct versions *v, const struct cs_file *file, uint64_t at,
		 uint64_t size, find_fn *find, const char *name, const char *source)
{
	CS_CLEANUP(cs_freep) char *buf = malloc(CHUNK + 1);

	if (!buf)
		return false;
	size = CS_MIN(size, (uint64_t)CS_MAX_VERSION_SCAN);
	for (uint64_t done = 0; done < size; done += CHUNK - MAX_TEXT) {
		size_t n = read_at(v, file, at + done, buf,
				   (size_t)CS_MIN(size - done, (uint64_t)CHUNK));
		const char *p;

		buf[n] = '\0';
		p = n ? find(buf, n) : NULL;
		if (p) {
			add(v, name, p, version_len(p), source);
			return true;
		}
		if (n < CHUNK)
			break;
	}
	return false;
}

/** Search the module's .rodata in its file. */
static bool scan_rodata(struct versions *v, struct cs_mod *mod, find_fn *find,
			const char *name)
{
	const struct cs_file *file = cs_mod_file(mod);
	Elf *elf = file && !cs_mod_elf_is_memory(mod) ? cs_mod_elf(mod) : NULL;
	Elf_Scn *scn = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return false;
	for (size_t i = 0; i < CS_MAX_ELF_SECTIONS && (scn = elf_nextscn(elf, scn));
	     i++) {
		GElf_Shdr shdr;
		const char *section;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS)
			continue;
		section = elf_strptr(elf, names, shdr.sh_name);
		if (section && !strcmp(section, ".rodata"))
			return scan(v, file, shdr.sh_offset, shdr.sh_size, find, name,
				    path_of(mod));
	}
	return false;
}

/** The version at the end of a library's real name: "libcuda.so.535.104.05",
 * "libc-2.31.so". */
static size_t version_in_name(const char *name, const char **ret)
{
	const char *so = strstr(name, ".so");
	const char *dash = so ? memrchr(name, '-', (size_t)(so - name)) : NULL;
	size_t n;

	if (!so)
		return 0;
	if (so[3] == '.') {
		*ret = so + 4;
		return strspn(*ret, "0123456789.");
	}
	*ret = dash ? dash + 1 : NULL;
	n = dash ? strspn(dash + 1, "0123456789.") : 0;
	return dash && dash + 1 + n >= so ? (size_t)(so - dash - 1) : 0;
}

static size_t count_dots(const char *p, size_t len)
{
	size_t n = 0;

	while (len--)
		n += p[len] == '.';
	return n;
}

/** Take the version from the module's file name if it has more than @dots dots. */
static bool add_by_name(struct versions *v, struct cs_mod *mod, const char *name,
			size_t dots)
{
	const char *value, *file = cs_mod_public(mod)->name;
	size_t n = file ? version_in_name(file, &value) : 0;

	if (!n || count_dots(value, n) < dots)
		return false;
	add(v, name, value, n, path_of(mod));
	return true;
}

/** PY_VERSION_HEX, 0x030c01f0, in words. CPython: Include/patchlevel.h */
static bool add_python_hex(struct versions *v, uint32_t hex, const char *source)
{
	char text[32];
	unsigned level = hex >> 4 & 0xf, serial = hex & 0xf;
	int n;

	if (hex >> 24 != 3)
		return false;
	n = snprintf(text, sizeof(text), "3.%u.%u", hex >> 16 & 0xff, hex >> 8 & 0xff);
	if (level != 0xf)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%u",
			      level == 0xa   ? "a"
			      : level == 0xb ? "b"
					     : "rc",
			      serial);
	add(v, "python", text, (size_t)n, source);
	return true;
}

/** Search what the module writes to, in target memory. */
static bool scan_writable(struct versions *v, struct cs_mod *mod, find_fn *find,
			  const char *name)
{
	Elf *elf = cs_mod_elf(mod);
	uint64_t bias = cs_mod_public(mod)->bias;
	size_t n;

	if (!elf || elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < CS_MIN(n, CS_MAX_ELF_SEGMENTS); i++) {
		GElf_Phdr phdr;

		if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD &&
		    (phdr.p_flags & PF_W) &&
		    scan(v, NULL, phdr.p_vaddr + bias, phdr.p_memsz, find, name,
			 "core memory"))
			return true;
	}
	return false;
}

/** "python3.8" in a program's or "libpython3.8.so.1.0" in a library's name. */
static void python_by_name(struct versions *v, struct cs_mod *mod)
{
	const char *name = cs_mod_public(mod)->name;
	const char *p = name ? strstr(name, "python3.") : NULL;
	size_t n;

	p = p ? p + strlen("python") : NULL;
	n = p ? 2 + strspn(p + 2, "0123456789") : 0;
	if (n > 2)
		add(v, "python", p, n, path_of(mod));
}

static void python_version(struct versions *v)
{
	struct cs_mod *mod = cs_modules_named(v->scene->modules, "libpython3.");
	uint64_t at;
	uint32_t hex;

	if (!mod)
		mod = cs_modules_executable(v->scene->modules);
	if (!mod)
		return;
	if (cs_mod_symbol(mod, "Py_Version", &at, NULL)) { /* since 3.11 */
		if (cs_mem_u32(v->scene->mem, at, &hex) &&
		    add_python_hex(v, hex, path_of(mod)))
			return;
	} else if (!cs_mod_symbol(mod, "Py_GetVersion", &at, NULL)) {
		return; /* no Python */
	}
	if (!scan_writable(v, mod, find_python, "python"))
		python_by_name(v, mod);
}

/** The value of `@key = '...'` at the start of a line of torch's version.py. */
static size_t python_assignment(const char *text, const char *key, const char **ret)
{
	size_t n = strlen(key);

	for (const char *line = text; line;
	     line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *p = line + n;

		if (strncmp(line, key, n))
			continue;
		p += strcspn(p, "=\n"); /* also "__version__: str = " */
		if (*p++ != '=')
			continue;
		p += strspn(p, " ");
		if (*p != '\'' && *p != '"')
			continue;
		*ret = p + 1;
		return version_len(p + 1);
	}
	return 0;
}

/**
 * torch keeps its version in no library, but in version.py beside them. It is read only
 * where the library of that installation passes for the one that the core has.
 */
static void torch_version_file(struct versions *v, const char *file, size_t folder_len)
{
	CS_CLEANUP(cs_file_closep) struct cs_file *f = NULL;
	char *path = cs_arena_printf(v->scene->arena, "%.*s/version.py", (int)folder_len,
				     file);
	char text[CS_MAX_VERSION_FILE + 1];
	const char *value;
	size_t n = 0;

	if (!path || !cs_ok(cs_file_open(path, &f)) ||
	    !cs_ok(cs_file_read_some(f, 0, text, CS_MAX_VERSION_FILE, &n)))
		return;
	text[n] = '\0';
	n = python_assignment(text, "__version__", &value);
	add(v, "torch", value, n, path);
	if (!n)
		return;
	n = python_assignment(text, "cuda", &value);
	if (n)
		add(v, "torch-cuda", value, n, path);
}

static void torch_version(struct versions *v)
{
	/* "torch/_C.cpython-311-x86_64-linux-gnu.so" and "torch/lib/libtorch_cpu.so" */
	static const char *const places[] = {"/torch/_C.", "/torch/lib/libtorch_cpu.so",
					     "/torch/lib/libtorch_python.so",
					     "/torch/lib/libtorch.so"};
	size_t count = cs_modules_count(v->scene->modules);

	for (size_t i = 0; i < count; i++) {
		struct cs_module *m = cs_mod_public(cs_modules_at(v->scene->modules, i));

		/* A file that is used: PyPI's wheels have no build ids, theirs is never verified. */
		if (!m->file)
			continue;
		for (size_t k = 0; k < CS_COUNT(places); k++) {
			const char *at = strstr(m->file, places[k]);

			if (!at)
				continue;
			torch_version_file(v, m->file,
					   (size_t)(at - m->file) + strlen("/torch"));
			if (v->n && !strncmp(v->list[v->n - 1].name, "torch", 5))
				return;
		}
	}
}

static void library_versions(struct versions *v)
{
	const struct cs_modules *modules = v->scene->modules;
	struct cs_mod *mod = cs_modules_named(modules, "libnccl.so");

	/*
	 * Wheels name it libnccl.so.2. Wheels of torch 1.x have it within libtorch_cuda,
	 * whose read-only data is too much to search for it.
	 */
	if (mod && !add_by_name(v, mod, "nccl", 2))
		scan_rodata(v, mod, find_nccl, "nccl");
	mod = cs_modules_named(modules, "libcudart.so");
	if (!mod)
		mod = cs_modules_named(modules, "libcudart-");
	if (mod)
		(void)add_by_name(v, mod, "cuda-runtime", 0);
	mod = cs_modules_named(modules, "libcuda.so");
	if (mod) /* libcuda.so.1 is the link, the file is named after the driver */
		(void)add_by_name(v, mod, "cuda-driver", 1);
	mod = cs_modules_named(modules, "libc-2.");
	if (!mod)
		mod = cs_modules_named(modules, "libc.so.6");
	if (mod && !add_by_name(v, mod, "glibc", 1))
		scan_rodata(v, mod, find_glibc, "glibc");
}

void cs_versions_read(const struct cs_scene *scene, const struct cs_version **ret,
		      size_t *ret_n)
{
	struct versions v = {.scene = scene};
	struct cs_version *list;

	*ret = NULL;
	*ret_n = 0;
	python_version(&v);
	torch_version(&v);
	library_versions(&v);
	list = cs_arena_calloc(scene->arena, v.n, sizeof(*list));
	if (!list || !v.n)
		return;
	memcpy(list, v.list, v.n * sizeof(*list));
	*ret = list;
	*ret_n = v.n;
}
