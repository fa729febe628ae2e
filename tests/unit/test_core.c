/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cores that are good, bad, partial or unsupported: what is read of the good, and what is said of the
 * others. Names of cases say which they are.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "core/core.h"
#include "core_builder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define X86_64 62
#define AARCH64 183
#define STACK 0x7ffe00000000

struct opened {
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_core *core;
	struct cs_target *target;
	const struct cs_core_info *info;
};

static struct cs_error *open_path(const char *path, struct opened *o)
{
	struct cs_error *err;

	*o = (struct opened){.arena = cs_arena_create(16UL << 20)};
	o->diags.arena = o->arena;
	err = cs_core_open(path, NULL, &o->diags, &o->core);
	if (!err) {
		o->target = cs_core_target(o->core);
		o->info = cs_core_info(o->core);
	}
	return err;
}

static void done(struct opened *o)
{
	cs_core_close(o->core);
	free(o->diags.list.v);
	cs_arena_destroy(o->arena);
}

static bool has_diag(const struct opened *o, const char *code, const char *word)
{
	for (size_t i = 0; i < o->diags.list.n; i++)
		if (!strcmp(o->diags.list.v[i].code, code) &&
		    strstr(o->diags.list.v[i].text, word))
			return true;
	return false;
}

static void open_good(struct core_builder *b, struct opened *o)
{
	struct cs_error *err = open_path(core_path(b), o);

	if (err)
		fail_msg("%s", cs_error_message(err));
}

/** The message names the file and @word; the kind is @code. */
static void refused(const char *path, enum cs_error_code code, const char *word)
{
	struct opened o;
	struct cs_error *err = open_path(path, &o);

	assert_non_null(err);
	if (cs_error_code(err) != code || !strstr(cs_error_message(err), word) ||
	    !strstr(cs_error_message(err), path))
		fail_msg("%s: code %d: %s", path, cs_error_code(err), cs_error_message(err));
	cs_error_destroy(err);
	done(&o);
}

static const uint64_t auxv[] = {33, 0, 16, 0xbfebfbff, 6, 4096, 17, 100, 3, 0x400040, 4, 56,
				5,  5, 7,  0,          8, 0,    9,  0x401000, 25, STACK + 0xff0};

/** argc, argv, envp and auxv as the kernel lays them out, with @argc arguments and @envc variables. */
static void put_stack(uint8_t page[4096], size_t argc, size_t envc)
{
	uint64_t words[64] = {0};
	size_t n = 0, text = 0xc00;

	memset(page, 0, 4096);
	words[n++] = argc;
	for (size_t i = 0; i < argc + envc; i++) {
		if (i == argc)
			words[n++] = 0;
		words[n++] = STACK + text;
		text += 1 + (size_t)sprintf((char *)page + text, i < argc ? "arg%zu" : "V%zu=x", i);
	}
	n += envc ? 1 : 2;
	memcpy(page + 0x400, words, n * 8);
	memcpy(page + 0x400 + n * 8, auxv, sizeof(auxv));
}

/** Written as the kernel does: two threads, signal 11. */
static struct core_builder *kernel_core(uint16_t machine)
{
	static const char *const paths[] = {"/usr/bin/prog", "/lib/x.so"};
	struct core_builder *b = core_create(machine);
	uint8_t page[4096];

	core_prstatus(b, &(struct core_thread){41, 11, 0x401234, STACK + 0x100, STACK + 0x180, 0});
	core_prpsinfo(b, 40, "prog", "prog --flag");
	core_siginfo(b, 11, 1, 0xdeadbeef);
	core_auxv(b, auxv, CS_COUNT(auxv) / 2);
	core_files(b, 0x400000, paths, 2);
	core_note(b, "LINUX", 0x999, "unknown", 7);
	core_prstatus(b, &(struct core_thread){42, 11, 0x405678, STACK + 0x200, 0, 0});
	put_stack(page, 2, 2);
	core_load(b, 0x400000, 5, NULL, 0, 8192);
	core_load(b, STACK, 6, page, 4096, 8192);
	return b;
}

static void good_core_of_the_kernel(void **state)
{
	struct core_builder *b = kernel_core(X86_64);
	struct opened o;
	struct cs_regs regs;
	uint64_t v;

	(void)state;
	open_good(b, &o);
	assert_int_equal(o.diags.list.n, 0);
	assert_string_equal(o.info->writer, "kernel");
	assert_true(o.info->complete);
	assert_int_equal(o.info->bytes, o.info->expected_bytes);
	assert_int_equal(o.info->pid, 40);
	assert_int_equal(o.info->ppid, 1);
	assert_int_equal(o.info->uid, 1000);
	assert_int_equal(o.info->gid, 1001);
	assert_string_equal(o.info->name, "prog");
	assert_string_equal(o.info->arguments, "prog --flag");
	assert_int_equal(o.target->n_threads, 2);
	assert_int_equal(o.info->crashed_thread, 0);
	assert_int_equal(o.target->threads[0].tid, 41);
	assert_int_equal(o.target->threads[0].signal, 11);
	assert_int_equal(o.target->threads[1].tid, 42);
	assert_int_equal(o.target->threads[1].signal, 0); /* the kernel writes it into all */
	assert_null(o.target->ops->registers(o.target, 1, &regs));
	assert_true(cs_regs_get(&regs, 16, &v) && v == 0x405678);
	assert_true(cs_regs_get(&regs, 7, &v) && v == STACK + 0x200);
	assert_true(cs_core_siginfo(o.core, 0)->present);
	assert_true(cs_core_siginfo(o.core, 0)->address == 0xdeadbeef);
	assert_false(cs_core_siginfo(o.core, 1)->present);
	assert_false(cs_core_siginfo(o.core, 99)->present);
	assert_int_equal(o.target->n_mappings, 2);
	assert_string_equal(o.target->mappings[1].path, "/lib/x.so");
	assert_int_equal(o.target->mappings[1].start, 0x401000);
	assert_int_equal(o.target->mappings[1].offset, 4096);
	assert_true(cs_core_auxv(o.core, 9, &v) && v == 0x401000);
	assert_false(cs_core_auxv(o.core, 51, &v));
	done(&o);
	core_destroy(b);
}

static void good_core_of_gdb(void **state)
{
	static const int stops[] = {0, 5, 19, 20, 2};
	static const int fatal[] = {11, 6, 7, 8, 4, 15};
	struct opened o;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(stops) + CS_COUNT(fatal); i++) {
		bool died = i >= CS_COUNT(stops);
		int signo = died ? fatal[i - CS_COUNT(stops)] : stops[i];
		struct core_builder *b = core_create(X86_64);

		core_prpsinfo(b, 40, "prog", "prog");
		for (int t = 0; t < 2; t++) {
			core_prstatus(b, &(struct core_thread){.tid = 41 + t, .signo = signo});
			core_siginfo(b, signo + t, -6, 77 | 1000ULL << 32);
		}
		open_good(b, &o);
		assert_string_equal(o.info->writer, "gdb");
		assert_int_equal(o.info->crashed_thread, died ? 0 : 2);
		assert_int_equal(cs_core_siginfo(o.core, 1)->signo, signo + 1);
		assert_int_equal(cs_core_siginfo(o.core, 0)->sender_pid, 77);
		assert_int_equal(cs_core_siginfo(o.core, 0)->sender_uid, 1000);
		assert_int_equal(cs_core_siginfo(o.core, 0)->address, 0);
		done(&o);
		core_destroy(b);
	}
}

static void good_core_of_aarch64(void **state)
{
	static const uint64_t masks[] = {0x7f000000000000, 0xff7f000000000000};
	struct core_builder *b = kernel_core(AARCH64);
	struct opened o;
	struct cs_regs regs;
	uint64_t v;

	(void)state;
	core_note(b, "LINUX", 0x406, masks, sizeof(masks));
	open_good(b, &o);
	assert_string_equal(cs_core_arch(o.core)->name, "aarch64");
	assert_true(o.info->pac_mask == 0xff7f000000000000);
	assert_null(o.target->ops->registers(o.target, 0, &regs));
	assert_true(cs_regs_get(&regs, 31, &v) && v == STACK + 0x100);
	assert_true(cs_regs_get(&regs, 29, &v) && v == STACK + 0x180);
	assert_true(cs_regs_get(&regs, cs_core_arch(o.core)->pc, &v) && v == 0x401234);
	done(&o);
	core_destroy(b);
}

static void good_arguments_and_environment(void **state)
{
	struct opened o;

	(void)state;
	for (size_t argc = 0; argc <= 3; argc++) {
		for (size_t envc = 0; envc <= 2; envc++) {
			struct core_builder *b = core_create(X86_64);
			struct cs_core_strings s;
			struct cs_mem *mem;
			uint8_t page[4096];

			core_auxv(b, auxv, CS_COUNT(auxv) / 2);
			put_stack(page, argc, envc);
			core_load(b, STACK, 6, page, 4096, 4096);
			open_good(b, &o);
			assert_null(cs_mem_create(o.target, &mem));
			assert_null(cs_core_strings(o.core, mem, &s));
			assert_int_equal(s.n_argv, argc);
			assert_int_equal(s.n_envp, envc);
			if (argc)
				assert_string_equal(s.argv[0], "arg0");
			if (envc == 2 && argc == 3)
				assert_string_equal(s.envp[1], "V4=x");
			cs_core_strings_deinit(&s);
			cs_mem_destroy(mem);
			done(&o);
			core_destroy(b);
		}
	}
}

/** unsetenv() moves the later pointers down in place, so that two NULLs end the vector. */
static void good_environment_after_unsetenv(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct cs_core_strings s;
	struct cs_mem *mem;
	struct opened o;
	uint8_t page[4096];

	(void)state;
	core_auxv(b, auxv, CS_COUNT(auxv) / 2);
	put_stack(page, 2, 3);
	memmove(page + 0x400 + 4 * 8, page + 0x400 + 5 * 8, 3 * 8); /* envp[0] goes */
	core_load(b, STACK, 6, page, 4096, 4096);
	open_good(b, &o);
	assert_null(cs_mem_create(o.target, &mem));
	assert_null(cs_core_strings(o.core, mem, &s));
	assert_int_equal(s.n_argv, 2);
	assert_string_equal(s.argv[1], "arg1");
	assert_int_equal(s.n_envp, 2);
	assert_string_equal(s.envp[0], "V3=x");
	assert_string_equal(s.envp[1], "V4=x");
	cs_core_strings_deinit(&s);
	cs_mem_destroy(mem);
	done(&o);
	core_destroy(b);
}

/** Without the vector's copy in memory there are no arguments, and that is no damage. */
static void partial_stack_not_saved(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct cs_core_strings s;
	struct cs_error *err;
	struct cs_mem *mem;
	struct opened o;

	(void)state;
	core_auxv(b, auxv, CS_COUNT(auxv) / 2);
	core_load(b, STACK, 6, NULL, 0, 4096);
	open_good(b, &o);
	assert_null(cs_mem_create(o.target, &mem));
	err = cs_core_strings(o.core, mem, &s);
	assert_int_equal(cs_error_code(err), CS_ERR_NOT_FOUND);
	cs_error_destroy(err);
	cs_mem_destroy(mem);
	done(&o);
	core_destroy(b);
}

/** Every prefix is refused or read, and where it is read the loss is told. */
static void partial_every_prefix(void **state)
{
	struct core_builder *b = kernel_core(X86_64);
	size_t len, opened = 0, threads = 0;

	(void)state;
	core_bytes(b, &len);
	for (size_t cut = 0; cut < len; cut++) {
		struct opened o;
		struct cs_error *err = open_path(core_path_cut(b, cut), &o);

		if (err) {
			assert_true(cs_error_code(err) == CS_ERR_FORMAT ||
				    cs_error_code(err) == CS_ERR_UNSUPPORTED);
			assert_true(cut >= 64 || cs_error_code(err) == CS_ERR_FORMAT || cut < 4);
			cs_error_destroy(err);
		} else {
			assert_false(o.info->complete);
			assert_true(has_diag(&o, "core-truncated", "cut off"));
			assert_true(o.target->n_threads >= threads); /* more bytes, not less */
			threads = o.target->n_threads;
			opened++;
		}
		done(&o);
	}
	assert_int_equal(threads, 2);
	assert_true(opened > len / 2);
	core_destroy(b);
}

static void partial_notes_that_end_early(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
	core_note_bytes(b, "\5\0\0\0\377\377\377\177\1\0\0\0CORE\0\0\0", 20);
	core_prstatus(b, &(struct core_thread){.tid = 42, .signo = 11});
	core_load(b, STACK, 6, "x", 1, 4096);
	open_good(b, &o);
	assert_int_equal(o.target->n_threads, 1);
	assert_true(has_diag(&o, "notes-damaged", "note descriptor"));
	done(&o);
	core_destroy(b);
}

/** A short NT_PRSTATUS stays a thread: the next one did not take the signal. */
static void partial_thread_note_too_short(void **state)
{
	static const size_t cuts[] = {336, 336 - 13, 336 - 33, 336 - 120, 336 - 271};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cuts); i++) {
		struct core_builder *b = core_create(X86_64);
		struct cs_error *err;
		struct cs_regs regs;
		struct opened o;

		core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11, .cut = cuts[i]});
		core_siginfo(b, 11, 1, 0x10);
		core_prstatus(b, &(struct core_thread){.tid = 42, .signo = 11, .pc = 9});
		open_good(b, &o);
		assert_int_equal(o.target->n_threads, 2);
		assert_int_equal(o.info->crashed_thread, 0);
		assert_true(cs_core_siginfo(o.core, 0)->present);
		assert_int_equal(o.target->threads[0].tid, cuts[i] <= 336 - 36 ? 41 : 0);
		assert_int_equal(o.target->threads[1].tid, 42);
		err = o.target->ops->registers(o.target, 0, &regs);
		assert_int_equal(cs_error_code(err), CS_ERR_FORMAT);
		cs_error_destroy(err);
		assert_null(o.target->ops->registers(o.target, 1, &regs));
		assert_true(has_diag(&o, "note-damaged", "NT_PRSTATUS"));
		done(&o);
		core_destroy(b);
	}
}

static void bad_file_list(void **state)
{
	static const uint64_t counts[] = {3, 1000, 1ULL << 60, UINT64_MAX, 0xaaaaaaaaaaaaaab};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(counts); i++) {
		static const char *const paths[] = {"/a", "/b"};
		struct core_builder *b = core_create(X86_64);
		struct opened o;

		core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
		core_files(b, 0x400000, paths, 2);
		core_poke(b, core_notes_offset(b) + 20 + 336 + 20, counts[i], 8);
		open_good(b, &o);
		assert_true(has_diag(&o, "note-damaged", "NT_FILE"));
		assert_true(o.target->n_mappings <= 2);
		done(&o);
		core_destroy(b);
	}
}

static void bad_file_list_overlaps(void **state)
{
	static const char *const paths[] = {"/a", "/b", "/c"};
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_files(b, 0x400000, paths, 3);
	core_load(b, STACK, 6, "x", 1, 4096);
	core_poke(b, core_notes_offset(b) + 20 + 16 + 8, 0x402000, 8); /* /a reaches over /b */
	open_good(b, &o);
	assert_int_equal(o.target->n_mappings, 2);
	assert_string_equal(o.target->mappings[1].path, "/c");
	assert_true(has_diag(&o, "mappings-overlap", "1 file mappings"));
	done(&o);
	core_destroy(b);
}

static void bad_other_notes_too_short(void **state)
{
	static const struct {
		uint32_t type;
		const char *word;
	} notes[] = {{3, "NT_PRPSINFO"}, {0x53494749, "NT_SIGINFO"}, {0x46494c45, "NT_FILE"}};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(notes); i++) {
		struct core_builder *b = core_create(X86_64);
		struct opened o;

		core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
		core_note(b, "CORE", notes[i].type, "short", 5);
		core_note(b, "CORE", 6, "short", 5);
		open_good(b, &o);
		assert_true(has_diag(&o, "note-damaged", notes[i].word));
		assert_int_equal(o.info->pid, 41); /* the first thread stands for the process */
		assert_false(o.info->has_prpsinfo);
		done(&o);
		core_destroy(b);
	}
}

static void bad_segments_overlap_wrap_and_lie(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;
	struct cs_mem *mem;
	uint8_t byte;

	(void)state;
	core_load(b, 0x30000, 6, "ccc", 3, 0x1000);              /* not sorted */
	core_load(b, 0x10000, 6, "aaaa", 4, 0x2000);
	core_load(b, 0x11000, 6, "bbbb", 4, 0x2000);             /* overlaps the one before */
	core_load(b, 0x11800, 6, "dd", 2, 0x100);                /* lies within it */
	core_segment(b, 1, 0, UINT64_MAX - 0xfff, 0, 0x2000);    /* wraps */
	core_segment(b, 1, UINT64_MAX - 8, 0x50000, 64, 0x1000); /* offset + size wraps */
	core_segment(b, 1, 1 << 20, 0x60000, 0x1000, 0x1000);    /* behind the file's end */
	core_segment(b, 1, 0, 0x70000, UINT64_MAX, 0x1000);      /* larger than its memory */
	core_segment(b, 1, 0, 0x80000, 0, 0);                    /* empty */
	open_good(b, &o);
	assert_true(has_diag(&o, "segments-overlap", "2 segments"));
	assert_true(has_diag(&o, "segment-wraps", "p_memsz"));
	assert_true(has_diag(&o, "core-truncated", "cut off"));
	assert_int_equal(o.target->n_regions, 6);
	for (size_t i = 1; i < o.target->n_regions; i++)
		assert_true(o.target->regions[i - 1].end <= o.target->regions[i].start);
	assert_null(cs_mem_create(o.target, &mem));
	assert_null(cs_mem_read(mem, 0x30002, &byte, 1, NULL));
	assert_int_equal(byte, 'c');
	assert_int_equal(cs_mem_presence(mem, 0x11000), CS_NOT_SAVED); /* the lower one keeps it */
	assert_int_equal(cs_mem_presence(mem, 0x50000), CS_NOT_SAVED);
	assert_int_equal(cs_mem_presence(mem, 0x60000), CS_NOT_SAVED);
	assert_null(cs_mem_read(mem, 0x70000, &byte, 1, NULL));
	assert_int_equal(byte, 0x7f); /* the file's first byte, as it asked for */
	cs_mem_destroy(mem);
	done(&o);
	core_destroy(b);
}

static void good_70000_segments(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
	for (uint64_t i = 0; i < 70000; i++)
		core_load(b, (70000 - i) * 0x2000, 4, "x", 1, 0x1000);
	open_good(b, &o);
	assert_int_equal(o.target->n_regions, 70000);
	assert_int_equal(o.target->n_threads, 1);
	assert_true(o.info->complete);
	assert_int_equal(o.target->regions[0].start, 0x2000);
	done(&o);
	core_destroy(b);
}

/** Section 0 is the last thing the kernel writes: without it, the notes' place tells the number. */
static void partial_70000_segments_without_section_0(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
	for (uint64_t i = 0; i < 70000; i++)
		core_load(b, (i + 1) * 0x2000, 4, "x", 1, 0x1000);
	core_poke(b, 40, UINT64_MAX - 4, 8); /* e_shoff */
	open_good(b, &o);
	assert_int_equal(o.target->n_regions, 70000);
	assert_int_equal(o.target->n_threads, 1);
	assert_false(has_diag(&o, "phnum-unreadable", "e_shoff"));
	done(&o);
	core_poke(b, core_phdr_offset(b, 0) + 8, 64, 8); /* p_offset: the notes are elsewhere */
	open_good(b, &o);
	assert_int_equal(o.target->n_regions, 65534); /* the first 65,535 headers, one is PT_NOTE */
	assert_true(has_diag(&o, "phnum-unreadable", "e_shoff"));
	done(&o);
	core_destroy(b);
}

/** More notes than fit into any one read, of sizes that put the windows' ends everywhere. */
static void good_notes_of_80_megabytes(void **state)
{
	static const char *const path[] = {"/usr/bin/prog"};
	struct core_builder *b = core_create(X86_64);
	static char filler[4096];
	struct opened o;

	(void)state;
	for (int i = 0; i < 25000; i++) {
		core_prstatus(b, &(struct core_thread){
					 .tid = i + 1, .signo = 11, .pc = 0x1000U + (unsigned)i});
		core_note(b, "LINUX", 0x202, filler, 2800 + (size_t)i % 41);
	}
	core_note(b, "LINUX", 0x999, filler, sizeof(filler));
	core_files(b, 0x400000, path, 1);
	open_good(b, &o);
	assert_int_equal(o.diags.list.n, 0);
	assert_int_equal(o.target->n_threads, 25000);
	for (size_t i = 0; i < 25000; i++) {
		struct cs_regs regs;

		assert_int_equal(o.target->threads[i].tid, i + 1);
		assert_null(o.target->ops->registers(o.target, i, &regs));
		assert_int_equal(regs.value[16], 0x1000 + i);
	}
	assert_string_equal(o.target->mappings[0].path, path[0]);
	done(&o);
	core_destroy(b);
}

/** One note that is larger than the window, and a segment that is all notes of nothing. */
static void partial_large_and_empty_notes(void **state)
{
	struct core_builder *b = core_create(X86_64);
	uint8_t *zeroes = calloc(1, 13UL << 20);
	struct opened o;

	(void)state;
	assert_non_null(zeroes);
	core_note(b, "CORE", 0x999, zeroes, (3UL << 20) + 1);
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
	open_good(b, &o);
	assert_int_equal(o.diags.list.n, 0);
	assert_int_equal(o.target->n_threads, 1);
	done(&o);
	core_destroy(b);

	b = core_create(X86_64);
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11});
	core_note_bytes(b, zeroes, 12 * (CS_MAX_NOTES - 2));
	core_prstatus(b, &(struct core_thread){.tid = 42, .signo = 11});
	core_prstatus(b, &(struct core_thread){.tid = 43, .signo = 11});
	open_good(b, &o);
	assert_int_equal(o.target->n_threads, 2);
	assert_true(has_diag(&o, "note-limit", "notes"));
	assert_int_equal(o.diags.list.n, 1);
	done(&o);
	core_destroy(b);
	free(zeroes);
}

/** Beyond the limit: the mark comes once, and what was dropped does not speak for what was kept. */
static void partial_too_many_threads(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_prpsinfo(b, 40, "prog", "prog");
	for (size_t i = 0; i < CS_MAX_THREADS + 3; i++)
		core_prstatus(b, &(struct core_thread){.tid = (int)i + 1, .signo = 11});
	core_siginfo(b, 7, 1, 0x10);
	open_good(b, &o);
	assert_int_equal(o.target->n_threads, CS_MAX_THREADS);
	assert_true(has_diag(&o, "note-limit", "threads"));
	assert_int_equal(o.diags.list.n, 1);
	assert_false(cs_core_siginfo(o.core, CS_MAX_THREADS - 1)->present);
	done(&o);
	core_destroy(b);
}

static void partial_no_threads(void **state)
{
	struct core_builder *b = core_create(X86_64);
	struct opened o;

	(void)state;
	core_load(b, STACK, 6, "x", 1, 4096);
	open_good(b, &o);
	assert_true(has_diag(&o, "no-threads", "NT_PRSTATUS"));
	assert_int_equal(o.info->crashed_thread, 0);
	assert_int_equal(o.target->n_threads, 0);
	done(&o);
	core_destroy(b);
	b = core_create(X86_64);
	refused(core_path(b), CS_ERR_FORMAT, "without threads and without memory");
	core_destroy(b);
}

static void unsupported_header(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		unsigned width;
		enum cs_error_code code;
		const char *word;
	} cases[] = {
		{0, 0, 1, CS_ERR_UNSUPPORTED, "not a core"},
		{4, 1, 1, CS_ERR_UNSUPPORTED, "EI_CLASS"},
		{5, 2, 1, CS_ERR_UNSUPPORTED, "EI_DATA"},
		{16, 2, 2, CS_ERR_UNSUPPORTED, "an executable"},
		{16, 3, 2, CS_ERR_UNSUPPORTED, "shared library"},
		{16, 1, 2, CS_ERR_UNSUPPORTED, "an object file"},
		{16, 0xff00, 2, CS_ERR_UNSUPPORTED, "e_type"},
		{18, 21, 2, CS_ERR_UNSUPPORTED, "ppc64"},
		{18, 22, 2, CS_ERR_UNSUPPORTED, "s390"},
		{18, 190, 2, CS_ERR_UNSUPPORTED, "cuda-gdb"},
		{18, 40000, 2, CS_ERR_UNSUPPORTED, "e_machine 40000"},
		{54, 32, 2, CS_ERR_FORMAT, "e_phentsize"},
		{56, 0, 2, CS_ERR_FORMAT, "e_phnum"},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		struct core_builder *b = kernel_core(X86_64);

		core_poke(b, cases[i].offset, cases[i].value, cases[i].width);
		refused(core_path(b), cases[i].code, cases[i].word);
		core_destroy(b);
	}
}

static void unsupported_files(void **state)
{
	static const struct {
		const char *bytes, *word;
	} others[] = {
		{"#!/bin/sh\n", "a script"},
		{"ProblemType: Crash\nArchitecture: amd64\n", "apport-unpack"},
		{"MDMP\x93\xa7", "a minidump"},
		{"PK\3\4 zip", "a zip archive"},
		{"Fatal Python error: Aborted\n", "does not begin with an ELF header"},
		{"M", "does not begin with an ELF header"},
	};
	char folder[] = "/tmp/corescan-core.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/fifo", folder);
	refused(path, CS_ERR_OS, "No such file");
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10);
	refused(path, CS_ERR_UNSUPPORTED, "a FIFO");
	refused("/dev/zero", CS_ERR_UNSUPPORTED, "a character device");
	alarm(0);
	refused(folder, CS_ERR_UNSUPPORTED, "a directory");
	refused("/proc/self/exe", CS_ERR_UNSUPPORTED, "shared library");
	unlink(path);
	rmdir(folder);
	refused(core_path_of("", 0, path), CS_ERR_FORMAT, "is empty");
	core_path_close(path);
	for (size_t i = 0; i < CS_COUNT(others); i++) {
		refused(core_path_of(others[i].bytes, strlen(others[i].bytes), path), CS_ERR_UNSUPPORTED,
			others[i].word);
		core_path_close(path);
	}
}

static void unsupported_not_readable(void **state)
{
	char path[] = "/tmp/corescan-core.XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	assert_int_equal(chmod(path, 0), 0);
	if (geteuid() == 0 && seteuid(65534) < 0)
		skip();
	refused(path, CS_ERR_OS, "use sudo");
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_core_of_the_kernel),
		cmocka_unit_test(good_core_of_gdb),
		cmocka_unit_test(good_core_of_aarch64),
		cmocka_unit_test(good_arguments_and_environment),
		cmocka_unit_test(good_environment_after_unsetenv),
		cmocka_unit_test(partial_stack_not_saved),
		cmocka_unit_test(partial_every_prefix),
		cmocka_unit_test(partial_notes_that_end_early),
		cmocka_unit_test(partial_thread_note_too_short),
		cmocka_unit_test(bad_file_list),
		cmocka_unit_test(bad_file_list_overlaps),
		cmocka_unit_test(bad_other_notes_too_short),
		cmocka_unit_test(bad_segments_overlap_wrap_and_lie),
		cmocka_unit_test(good_70000_segments),
		cmocka_unit_test(partial_70000_segments_without_section_0),
		cmocka_unit_test(good_notes_of_80_megabytes),
		cmocka_unit_test(partial_large_and_empty_notes),
		cmocka_unit_test(partial_too_many_threads),
		cmocka_unit_test(partial_no_threads),
		cmocka_unit_test(unsupported_header),
		cmocka_unit_test(unsupported_files),
		cmocka_unit_test(unsupported_not_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
