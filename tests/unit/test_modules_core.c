/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules of a real process: it lists its own modules with dl_iterate_phdr(), dies, and the kernel's core
 * must tell the same. Skipped where the kernel writes no core into the current folder.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "core/core.h"
#include "symbols/symbolize.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* One library in two namespaces, one out of a memfd, one deleted, one mapped as data. */
static const char program[] =
	"#define _GNU_SOURCE\n"
	"#include <dlfcn.h>\n#include <fcntl.h>\n#include <link.h>\n#include <stdio.h>\n"
	"#include <stdlib.h>\n#include <sys/mman.h>\n#include <unistd.h>\n"
	"static FILE *out;\n"
	"static int print(struct dl_phdr_info *i, size_t n, void *arg)\n"
	"{ fprintf(out, \"%lx %s\\n\", (long)i->dlpi_addr, i->dlpi_name); return 0; }\n"
	"static void copy(const char *from, int to)\n"
	"{ char b[65536]; long n; int f = open(from, O_RDONLY);\n"
	"  while ((n = read(f, b, sizeof(b))) > 0) if (write(to, b, n) != n) abort(); close(f); }\n"
	"int main(void)\n{\n"
	"  char path[64]; void *f, *h; int fd = memfd_create(\"secret\", 0);\n"
	"  out = fopen(\"modules\", \"w\");\n"
	"  copy(\"./lib.so\", fd); snprintf(path, sizeof(path), \"/proc/self/fd/%d\", fd);\n"
	"  if (!dlopen(\"./lib.so\", RTLD_NOW) || !dlopen(\"./gone.so\", RTLD_NOW) ||\n"
	"      !(h = dlmopen(LM_ID_NEWLM, \"./lib.so\", RTLD_NOW)) || !dlopen(path, RTLD_NOW))\n"
	"    { fprintf(stderr, \"%s\\n\", dlerror()); return 1; }\n"
	"  mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(\"data.so\", O_RDONLY), 0);\n"
	"  unlink(\"gone.so\"); dl_iterate_phdr(print, 0);\n"
	"  f = dlsym(h, \"answer\"); fprintf(out, \"answer %lx\\n\", (long)f); fclose(out);\n"
	"  abort();\n}\n";

struct fixture {
	char dir[64];
	char core_path[256];
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_core *core;
	struct cs_mem *mem;
	struct cs_modules *modules;
};

CS_PRINTF(2, 3)
static void run(const struct fixture *fx, const char *fmt, ...)
{
	char command[1024];
	int n = snprintf(command, sizeof(command), "cd '%s' && ", fx->dir);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		fail_msg("command failed: %s", command);
}

static void put(const struct fixture *fx, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fx->dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/** Build it all and let it die; false without a core. @filter: the process's coredump_filter. */
static bool make_core(struct fixture *fx, const char *filter)
{
	struct rlimit limit;
	char pattern[128];
	glob_t found;
	bool made;

	put(fx, "prog.c", program);
	put(fx, "lib.c", "int answer(void) { return 42; }\n");
	run(fx, TEST_CC " -shared -fPIC -Wl,--build-id -o lib.so lib.c && cp lib.so gone.so && "
		"cp lib.so data.so && " TEST_CC " -Wl,--build-id -o prog prog.c -ldl");
	getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
	run(fx, "sh -c 'echo %s > /proc/self/coredump_filter; exec ./prog' 2> log; test -s modules",
	    filter);
	snprintf(pattern, sizeof(pattern), "%s/core*", fx->dir);
	made = glob(pattern, 0, NULL, &found) == 0;
	if (made)
		snprintf(fx->core_path, sizeof(fx->core_path), "%s", found.gl_pathv[0]);
	globfree(&found);
	return made;
}

static void open_core(struct fixture *fx)
{
	struct cs_core_options options = {0};
	struct cs_error *err;

	err = cs_core_open(fx->core_path, &options, &fx->diags, &fx->core);
	if (err)
		fail_msg("%s", cs_error_message(err));
	assert_null(cs_mem_create(cs_core_target(fx->core), &fx->mem));
	assert_null(cs_modules_create(fx->core, fx->mem, NULL, fx->arena, &fx->diags, &fx->modules));
}

static int setup(void **state)
{
	struct fixture *fx = calloc(1, sizeof(*fx));

	if (!fx)
		return -1;
	strcpy(fx->dir, "/tmp/corescan-mod-XXXXXX");
	fx->arena = cs_arena_create(CS_MAX_ARENA);
	fx->diags.arena = fx->arena;
	*state = fx;
	return mkdtemp(fx->dir) && fx->arena ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;
	char command[128];
	int status;

	cs_modules_destroy(fx->modules);
	cs_mem_destroy(fx->mem);
	cs_core_close(fx->core);
	free(fx->diags.list.v);
	cs_arena_destroy(fx->arena);
	snprintf(command, sizeof(command), "rm -rf '%s'", fx->dir);
	status = system(command);
	free(fx);
	return status;
}

static enum cs_file_state expected_state(const char *name)
{
	return strstr(name, "gone.so") || strstr(name, "/proc/self/fd") ? CS_FILE_MISSING
									 : CS_FILE_VERIFIED;
}

static struct cs_mod *with_bias(const struct fixture *fx, uint64_t bias)
{
	size_t i;

	for (i = 0; i < cs_modules_count(fx->modules); i++) {
		struct cs_mod *mod = cs_modules_at(fx->modules, i);

		if (cs_mod_public(mod)->bias == bias)
			return mod;
	}
	return NULL;
}

/** Every module that the process listed is there, with its bias and file; returns how many. */
static size_t check_list(const struct fixture *fx, uint64_t *answer)
{
	char path[256], line[512];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/modules", fx->dir);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long bias;
		char name[256] = "";
		struct cs_mod *mod;

		if (sscanf(line, "answer %lx", &bias) == 1) {
			*answer = bias;
			continue;
		}
		assert_true(sscanf(line, "%lx %255[^\n]", &bias, name) >= 1);
		mod = with_bias(fx, bias);
		if (!mod)
			fail_msg("no module has bias %#lx: %s", bias, name);
		if (cs_mod_public(mod)->file_state != expected_state(name))
			fail_msg("%s: state %d, note: %s", name, cs_mod_public(mod)->file_state,
				 cs_mod_public(mod)->note);
		n++;
	}
	fclose(f);
	return n;
}

static void check(struct fixture *fx, const char *filter)
{
	struct cs_location at = {0};
	struct cs_mod *exe, *gone, *mem;
	uint64_t answer = 0, value;
	size_t n, i, same = 0;

	if (!make_core(fx, filter))
		skip();
	open_core(fx);
	n = check_list(fx, &answer);
	assert_true(n >= 6); /* program, vdso, lib, gone, memfd, libc, ld.so */
	for (i = 0; i < cs_modules_count(fx->modules); i++) {
		const struct cs_module *m = cs_mod_public(cs_modules_at(fx->modules, i));

		same += strcmp(m->name, "lib.so") == 0;
		assert_string_not_equal(m->name, "data.so");
	}
	assert_int_equal(same, 2);
	exe = cs_modules_executable(fx->modules);
	assert_non_null(exe);
	assert_string_equal(cs_mod_public(exe)->name, "prog");
	at.lookup = answer + 4;
	assert_null(cs_symbolize(fx->modules, fx->arena, &fx->diags, &at, 1));
	assert_string_equal(at.function, "answer");
	assert_int_equal(at.offset, 4);
	assert_string_equal(at.module->name, "lib.so");
	/* Without a file there is what the core saved: of so small a library, the first page has it all. */
	gone = cs_modules_named(fx->modules, "gone.so (deleted)");
	mem = cs_modules_named(fx->modules, "memfd:secret");
	assert_non_null(gone);
	assert_non_null(mem);
	assert_true(cs_mod_symbol(gone, "answer", &value, NULL));
	assert_true(cs_mod_symbol(mem, "answer", &value, NULL));
	assert_true(cs_mod_is_vdso(cs_modules_named(fx->modules, "[vdso]")));
	assert_true(cs_mod_symbol(cs_modules_named(fx->modules, "[vdso]"),
				  "__vdso_clock_gettime", &value, NULL) ||
		    cs_mod_symbol(cs_modules_named(fx->modules, "[vdso]"),
				  "__kernel_clock_gettime", &value, NULL));
}

static void test_kernel_core(void **state)
{
	check(*state, "0x33");
}

static void test_kernel_core_whole(void **state)
{
	check(*state, "0x7f");
}

/** Cut off behind its notes, a core still tells all modules, from mappings and layouts alone. */
static void test_partial_kernel_core(void **state)
{
	struct fixture *fx = *state;
	uint64_t answer;

	if (!make_core(fx, "0x33"))
		skip();
	assert_int_equal(truncate(fx->core_path, 16384), 0);
	open_core(fx);
	assert_non_null(cs_modules_named(fx->modules, "libc.so"));
	assert_int_equal(cs_mod_public(cs_modules_named(fx->modules, "libc.so"))->file_state,
			 CS_FILE_UNVERIFIED);
	assert_non_null(cs_modules_executable(fx->modules));
	assert_true(cs_mod_symbol(cs_modules_named(fx->modules, "libc.so"), "abort", &answer, NULL));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_kernel_core),
		CASE(test_kernel_core_whole),
		CASE(test_partial_kernel_core),
	};

	return cmocka_run_group_tests_name("modules of a kernel core", tests, NULL, NULL);
}
