/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions, lines and inlined calls, against what nm, addr2line and eu-addr2line say of the same file. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "elf_fixture.h"

#include "symbols/symbolize.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BIAS 0x7f1200000000UL
#define MAX_PCS 4096
#define LIB "-shared -fPIC -O2 "

/* Two levels of inlining, a static function, a cold part, and assembler functions without a size. */
static const char source[] =
	"extern int sink(int);\n"
	"static inline __attribute__((always_inline)) int innermost(int x)\n"
	"{\n"
	"	int y = sink(x + 1);\n"
	"	return y * 3 + sink(y);\n"
	"}\n"
	"static inline __attribute__((always_inline)) int middle(int x)\n"
	"{\n"
	"	int z = innermost(x) + 7;\n"
	"	return innermost(z) ^ sink(z);\n"
	"}\n"
	"static __attribute__((noinline)) int hidden(int x)\n"
	"{\n"
	"	return middle(x) + middle(x + 2);\n"
	"}\n"
	"int entry(int x)\n"
	"{\n"
	"	if (__builtin_expect(x == 12345, 0)) {\n"
	"		sink(99);\n"
	"		__builtin_trap();\n"
	"	}\n"
	"	return hidden(x) + middle(x);\n"
	"}\n"
	"int strong(int x) { return sink(x) - 1; }\n"
	"int weak_alias(int x) __attribute__((weak, alias(\"strong\")));\n"
	"int __global_alias(int x) __attribute__((alias(\"strong\")));\n"
	"static int local_alias(int x) __attribute__((alias(\"strong\"), used));\n"
	"__attribute__((section(\".text.zzz\"))) int sink(int x)\n"
	"{ __asm__ volatile(\"\" : \"+r\"(x)); return x; }\n"
	"__asm__(\".pushsection .text.zzzz,\\\"ax\\\"\\n.balign 16\\n\"\n"
	"	\".globl unsized\\nunsized:\\nnop\\nnop\\nnop\\nnop\\n\"\n"
	"	\".Llabel:\\nnop\\nret\\n\"\n"
	"	\".globl unsized2\\nunsized2:\\nnop\\nret\\n.popsection\");\n";

struct run {
	struct cs_location at[MAX_PCS];
	size_t n;
};

static void build(struct fixture *fx, const char *flags)
{
	fixture_write(fx, "source.c", source);
	fixture_cc(fx, flags, "source.c", "lib.so");
}

static void load(struct fixture *fx, const struct cs_modules_options *options)
{
	fixture_restart(fx);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_HEAD,
		     true);
	fixture_modules(fx, options);
}

static const struct cs_module *module(const struct fixture *fx)
{
	return cs_mod_public(cs_modules_at(fx->modules, 0));
}

/** Every byte of .text is looked up. */
static struct run *run_text(struct fixture *fx, const char *file)
{
	char *text = fixture_output(fx, "readelf -SW %s | sed 's/^ *\\[ *[0-9]*\\]//' | "
					"awk '$1 == \".text\" {print $3, $5}'", file);
	struct run *run = calloc(1, sizeof(*run));
	unsigned long start, size, i;

	assert_non_null(run);
	assert_int_equal(sscanf(text, "%lx %lx", &start, &size), 2);
	assert_in_range(size, 100, MAX_PCS);
	for (i = 0; i < size; i++)
		run->at[run->n++].lookup = BIAS + start + i;
	assert_null(cs_symbolize(fx->modules, fx->arena, &fx->diags, run->at, run->n));
	free(text);
	return run;
}

static const struct cs_location *at(const struct run *run, uint64_t vaddr)
{
	assert_in_range(BIAS + vaddr, run->at[0].lookup, run->at[run->n - 1].lookup);
	return &run->at[BIAS + vaddr - run->at[0].lookup];
}

/** Compare with each sized function that nm lists; returns how many there are. */
static unsigned check_nm(struct fixture *fx, const struct run *run, const char *nm)
{
	char *text = fixture_output(fx, "%s | grep -E ' [TtWi] '", nm), *line, *save = NULL;
	unsigned n = 0;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long value, size, i;
		char type, name[128];

		if (sscanf(line, "%lx %lx %c %127s", &value, &size, &type, name) != 4 ||
		    BIAS + value < run->at[0].lookup ||
		    BIAS + value > run->at[run->n - 1].lookup)
			continue;
		if (strstr(name, "_alias"))
			strcpy(name, "strong"); /* global, no underscores: what people know it by */
		if (strchr(name, '@'))
			*strchr(name, '@') = 0;
		for (i = 0; i < size; i++) {
			const struct cs_location *l = at(run, value + i);

			if (!l->function || strcmp(l->function, name) != 0)
				fail_msg("%#lx: %s, but nm says %s", value + i, l->function, name);
			assert_int_equal(l->offset, i);
			assert_false(l->nearest);
			assert_ptr_equal(l->module, module(fx));
		}
		n++;
	}
	free(text);
	return n;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/** One line of addr2line's answer for level @level (0: innermost) of @l. */
static void check_level(const struct cs_location *l, size_t level, const char *function,
			const char *place)
{
	const char *name = level < l->n_inlines ? l->inlines[level].function : l->function;
	const char *file = level < l->n_inlines ? l->inlines[level].file : l->file;
	uint32_t line = level < l->n_inlines ? l->inlines[level].line : l->line;
	char want[64];

	if (level > l->n_inlines || !name || strcmp(name, function) != 0)
		fail_msg("%#lx level %zu: %s, want %s", (unsigned long)l->lookup, level, name,
			 function);
	snprintf(want, sizeof(want), "%s:%u", file ? base_name(file) : "?", line);
	/* binutils calls the file of a link-time optimised unit <artificial>. */
	if ((strncmp(base_name(place), want, strlen(want)) != 0 ||
	     isdigit((unsigned char)base_name(place)[strlen(want)])) &&
	    !(strstr(place, "<artificial>") && strcmp(strchr(place, ':'), strchr(want, ':')) == 0))
		fail_msg("%#lx level %zu: %s, want %s", (unsigned long)l->lookup, level, want,
			 place);
}

/** Compare each byte's chain with @tool -a -f -i; returns the number of inlined levels seen. */
static unsigned check_addr2line(struct fixture *fx, const struct run *run, const char *tool,
				const char *file)
{
	char *text, *line, *save = NULL;
	const struct cs_location *l = NULL;
	unsigned inlined = 0;
	size_t level = 0, i, n = 0;
	FILE *f = fopen(fixture_path(fx, "addrs"), "w");

	for (i = 0; i < run->n; i++)
		fprintf(f, "%#lx\n", (unsigned long)(run->at[i].lookup - BIAS));
	fclose(f);
	text = fixture_output(fx, "%s -a -f -i -e %s < addrs", tool, file);
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *function = line, *place;

		if (strncmp(line, "0x", 2) == 0) {
			assert_true(!l || level == l->n_inlines + 1);
			l = at(run, strtoull(line, NULL, 16));
			level = 0;
			n++;
			continue;
		}
		place = strtok_r(NULL, "\n", &save);
		assert_non_null(place);
		function[strcspn(function, " ")] = 0; /* eu-addr2line: "f inlined at ..." */
		place[strcspn(place, " ")] = 0;       /* addr2line: "(discriminator 2)" */
		/* Assembler: no debug information for it, but a symbol. Aliases are nm's affair. */
		if (strcmp(function, "??") != 0 && !strstr(place, "?") &&
		    strcmp(function, "strong") != 0)
			check_level(l, level, function, place);
		inlined += level > 0;
		level++;
	}
	assert_int_equal(n, run->n);
	free(text);
	return inlined;
}

static void test_symtab(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	build(fx, LIB);
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_SYMTAB);
	assert_true(module(fx)->in_use);
	assert_true(check_nm(fx, run, "nm -S lib.so") >= 6);
	free(run);
}

/** Stripped: exported names only, and what lies between them is "nearest", with its offset. */
static void test_dynsym(void **state)
{
	struct fixture *fx = *state;
	char *hidden;
	const struct cs_location *l;
	struct run *run;

	build(fx, LIB);
	hidden = fixture_output(fx, "nm lib.so | awk '$3 == \"hidden\" {print $1}'");
	fixture_run(fx, "strip lib.so");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_DYNSYM);
	assert_true(check_nm(fx, run, "nm -DS lib.so") >= 3);
	l = at(run, strtoull(hidden, NULL, 16) + 4);
	assert_true(!l->function || l->nearest);
	free(hidden);
	free(run);
}

static void test_zero_size(void **state)
{
	struct fixture *fx = *state;
	char *value;
	const struct cs_location *l;
	struct run *run;

	build(fx, LIB);
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	value = fixture_output(fx, "nm lib.so | awk '$3 == \"unsized\" {print $1}'");
	/* Behind a local label, still the function. */
	l = at(run, strtoull(value, NULL, 16) + 5);
	assert_string_equal(l->function, "unsized");
	assert_int_equal(l->offset, 5);
	assert_false(l->nearest);
	l = at(run, strtoull(value, NULL, 16) + 7);
	assert_string_equal(l->function, "unsized2");
	assert_int_equal(l->offset, 1);
	free(value);
	free(run);
}

/** No file, but all pages: the dynamic symbols that the process itself had. */
static void test_memory(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	build(fx, LIB);
	fixture_load(fx, fixture_path(fx, "lib.so"), BIAS, fixture_path(fx, "lib.so"), SAVED_ALL,
		     true);
	fixture_run(fx, "mv lib.so elsewhere.so");
	fixture_modules(fx, NULL);
	run = run_text(fx, "elsewhere.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_MEMORY);
	assert_true(check_nm(fx, run, "nm -DS elsewhere.so") >= 3);
	free(run);
}

static void check_dwarf(struct fixture *fx, const char *flags, const char *tool, const char *nm)
{
	char all[256];
	struct run *run;

	snprintf(all, sizeof(all), LIB "%s", flags);
	build(fx, all);
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_DWARF);
	assert_true(check_addr2line(fx, run, tool, "lib.so") > 100);
	assert_true(check_nm(fx, run, nm) >= 3);
	free(run);
}

static void test_dwarf5(void **state)
{
	check_dwarf(*state, "-g -gdwarf-5", "addr2line", "nm -S lib.so");
}

static void test_dwarf4(void **state)
{
	check_dwarf(*state, "-g -gdwarf-4", "addr2line", "nm -S lib.so");
}

static void test_dwarf_compressed(void **state)
{
	check_dwarf(*state, "-g -gz=zlib", "addr2line", "nm -S lib.so");
}

static void test_dwarf_gnu_compressed(void **state)
{
	if (strstr(TEST_CC, "clang"))
		skip(); /* it does not write this older form */
	check_dwarf(*state, "-g -gz=zlib-gnu", "eu-addr2line", "nm -S lib.so");
}

static void test_dwarf_lto(void **state)
{
	check_dwarf(*state, "-g -flto", "addr2line",
		    /* Linking made the weak alias global: either name is right. */
		    "nm -S lib.so | grep -v -e strong -e alias");
}

/** Without .debug_aranges, as clang writes it, the units' own ranges must do. */
static void test_dwarf_without_aranges(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	build(fx, LIB "-g");
	fixture_run(fx, "objcopy --remove-section=.debug_aranges lib.so");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_true(check_addr2line(fx, run, "addr2line", "lib.so") > 100);
	free(run);
}

static void test_split_dwarf(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	fixture_write(fx, "source.c", source);
	fixture_run(fx, TEST_CC " " LIB "-g -gsplit-dwarf -c source.c -o source.o");
	fixture_run(fx, TEST_CC " -shared -Wl,--build-id -o lib.so source.o && test -f source.dwo");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	/* The tools do not follow .dwo files for inlined calls; the same code unsplit tells them. */
	fixture_run(fx, TEST_CC " " LIB "-g -Wl,--build-id -o whole source.c");
	assert_true(check_addr2line(fx, run, "addr2line", "whole") > 100);
	free(run);
	/* A FIFO in its place must not block. */
	fixture_run(fx, "rm source.dwo && mkfifo source.dwo");
	load(fx, NULL);
	alarm(20);
	run = run_text(fx, "lib.so");
	alarm(0);
	assert_true(check_nm(fx, run, "nm -S lib.so") >= 5);
	free(run);
}

static void test_debug_file_by_build_id(void **state)
{
	struct fixture *fx = *state;
	const char *dirs[] = {fixture_path(fx, "debug")};
	struct cs_modules_options options = {.debug_dirs = dirs, .n_debug_dirs = 1};
	struct run *run;

	build(fx, LIB "-g");
	fixture_run(fx, "id=$(readelf -n lib.so | sed -n 's/.*Build ID: //p') && "
			"d=debug/.build-id/$(echo $id | cut -c1-2) && mkdir -p $d && cp lib.so whole && "
			"objcopy --only-keep-debug lib.so $d/$(echo $id | cut -c3-).debug && strip lib.so");
	load(fx, &options);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_DWARF);
	assert_non_null(strstr(module(fx)->debug_file, "/debug/.build-id/"));
	assert_true(check_addr2line(fx, run, "addr2line", "whole") > 100);
	free(run);
}

static void test_debuglink(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	/* Without a build id only the CRC can tell. */
	build(fx, LIB "-g -Wl,--build-id=none");
	fixture_run(fx, "mkdir .debug && cp lib.so whole && objcopy --only-keep-debug lib.so lib.debug && "
			"strip lib.so && objcopy --add-gnu-debuglink=lib.debug lib.so && "
			"mv lib.debug .debug/");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_DWARF);
	assert_string_equal(module(fx)->debug_file, fixture_path(fx, ".debug/lib.debug"));
	assert_true(check_addr2line(fx, run, "addr2line", "whole") > 100);
	free(run);
	/* One bit differs: it is not the file. */
	fixture_run(fx, "printf x >> .debug/lib.debug");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_null(module(fx)->debug_file);
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_DYNSYM);
	free(run);
}

/** MiniDebugInfo: the names that .dynsym lacks, packed with xz into the stripped file. */
static void test_gnu_debugdata(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	build(fx, LIB);
	fixture_run(fx, "nm -S lib.so > names && cp lib.so mini && "
			"objcopy -S --remove-section=.gdb_index --remove-section=.comment "
			"--keep-symbol=hidden --keep-symbol=unsized mini && "
			"xz mini && strip lib.so && "
			"objcopy --add-section .gnu_debugdata=mini.xz lib.so");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_SYMTAB);
	assert_true(check_nm(fx, run, "grep -E ' (hidden|entry|strong|sink)$' names") == 4);
	assert_non_null(cs_mod_mini_elf(cs_modules_at(fx->modules, 0)));
	free(run);
	/* Damaged: said so, and the dynamic symbols remain. */
	fixture_run(fx, "printf 'XXXXXXXXXXXXXXXX' | dd of=mini.xz bs=1 seek=40 conv=notrunc 2>/dev/null && "
			"objcopy --remove-section=.gnu_debugdata lib.so && "
			"objcopy --add-section .gnu_debugdata=mini.xz lib.so");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_non_null(fixture_diag(fx, "debugdata"));
	assert_true(check_nm(fx, run, "grep -E ' (entry|strong|sink)$' names") == 3);
	free(run);
}

/** A few kilobytes that unpack to more than CS_MAX_DEBUGDATA are not unpacked. */
static void test_bad_debugdata_bomb(void **state)
{
	struct fixture *fx = *state;
	struct run *run;

	build(fx, LIB);
	fixture_run(fx, "strip lib.so && head -c 80000000 /dev/zero | xz -0 > mini.xz && "
			"objcopy --add-section .gnu_debugdata=mini.xz lib.so");
	load(fx, NULL);
	run = run_text(fx, "lib.so");
	assert_non_null(fixture_diag(fx, "debugdata"));
	assert_null(cs_mod_mini_elf(cs_modules_at(fx->modules, 0)));
	assert_string_equal(at(run, run->at[0].lookup - BIAS + 1)->module->name, "lib.so");
	free(run);
}

static void test_nothing_there(void **state)
{
	struct fixture *fx = *state;
	struct cs_location l[2] = {{.lookup = 0x1000}, {.lookup = BIAS - 1}};

	build(fx, LIB);
	load(fx, NULL);
	assert_null(cs_symbolize(fx->modules, fx->arena, &fx->diags, l, 2));
	assert_null(l[0].module);
	assert_null(l[1].function);
	assert_null(cs_symbolize(fx->modules, fx->arena, &fx->diags, NULL, 0));
	assert_false(module(fx)->in_use);
	assert_int_equal(module(fx)->symbols, CS_SYMBOLS_NONE);
}

static void test_symbol_by_name(void **state)
{
	struct fixture *fx = *state;
	char *value;
	uint64_t addr = 0, size = 0;

	build(fx, LIB);
	value = fixture_output(fx, "nm -S lib.so | awk '$4 == \"hidden\" {print $1, $2}'");
	load(fx, NULL);
	/* Not exported: through .symtab. */
	assert_true(cs_mod_symbol(cs_modules_at(fx->modules, 0), "hidden", &addr, &size));
	assert_int_equal(addr, BIAS + strtoull(value, NULL, 16));
	assert_int_equal(size, strtoull(strchr(value, ' '), NULL, 16));
	/* The tail of another name is no name. */
	assert_false(cs_mod_symbol(cs_modules_at(fx->modules, 0), "idden", &addr, &size));
	free(value);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_symtab),		  CASE(test_dynsym),
		CASE(test_zero_size),		  CASE(test_memory),
		CASE(test_dwarf5),		  CASE(test_dwarf4),
		CASE(test_dwarf_compressed),	  CASE(test_dwarf_gnu_compressed),
		CASE(test_dwarf_lto),		  CASE(test_dwarf_without_aranges),
		CASE(test_split_dwarf),		  CASE(test_debug_file_by_build_id),
		CASE(test_debuglink),		  CASE(test_gnu_debugdata),
		CASE(test_bad_debugdata_bomb),	  CASE(test_nothing_there),
		CASE(test_symbol_by_name),
	};

	return cmocka_run_group_tests_name("symbolize", tests, NULL, NULL);
}
