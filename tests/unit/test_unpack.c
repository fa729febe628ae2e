/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compressed cores, whole and cut off, and cores on standard input. Packed by libarchive's writers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/core.h"
#include "core_builder.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK 0x7ffe00000000
#define BIG (3UL << 20) /* bytes of the load, most of them zero */

static const char *const filters[] = {"gzip", "xz", "zstd", "lz4", "bzip2"};

struct opened {
	struct cs_arena *arena;
	struct cs_diags diags;
	struct cs_core *core;
};

static struct cs_error *open_path(const char *path, struct opened *o)
{
	*o = (struct opened){.arena = cs_arena_create(1UL << 20)};
	o->diags.arena = o->arena;
	return cs_core_open(path, NULL, &o->diags, &o->core);
}

static void done(struct opened *o)
{
	cs_core_close(o->core);
	free(o->diags.list.v);
	cs_arena_destroy(o->arena);
}

static struct core_builder *make_core(void)
{
	struct core_builder *b = core_create(62);
	uint8_t *bytes = calloc(1, BIG);
	uint32_t noise = 1;

	for (size_t i = 0; i < (1UL << 20); i++) { /* what no filter can make small */
		noise = noise * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(noise >> 24);
	}
	memset(bytes + BIG - 100, 'e', 100);
	core_prstatus(b, &(struct core_thread){.tid = 41, .signo = 11, .pc = 0x401000});
	core_load(b, STACK, 6, bytes, BIG, BIG);
	free(bytes);
	return b;
}

/** @data packed with @filter; caller frees. NULL where this libarchive cannot. */
static uint8_t *pack(const char *filter, const void *data, size_t len, size_t *len_ret)
{
	struct archive *a = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	uint8_t *out = malloc(2 * len);
	bool ok;

	ok = archive_write_add_filter_by_name(a, filter) == ARCHIVE_OK &&
	     archive_write_set_format_raw(a) == ARCHIVE_OK &&
	     archive_write_set_bytes_in_last_block(a, 1) == ARCHIVE_OK &&
	     archive_write_open_memory(a, out, 2 * len, len_ret) == ARCHIVE_OK;
	archive_entry_set_filetype(entry, AE_IFREG);
	ok = ok && archive_write_header(a, entry) == ARCHIVE_OK &&
	     archive_write_data(a, data, len) == (la_ssize_t)len &&
	     archive_write_close(a) == ARCHIVE_OK;
	archive_entry_free(entry);
	archive_write_free(a);
	if (!ok) {
		free(out);
		return NULL;
	}
	return out;
}

static void check_whole(const struct opened *o)
{
	struct cs_target *t = cs_core_target(o->core);
	struct cs_mem *mem;
	uint8_t tail[100];

	assert_int_equal(o->diags.list.n, 0);
	assert_true(cs_core_info(o->core)->complete);
	assert_int_equal(t->threads[0].tid, 41);
	assert_null(cs_mem_create(t, &mem));
	assert_null(cs_mem_read(mem, STACK + BIG - 100, tail, 100, NULL));
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(tail[i], 'e');
	assert_null(cs_mem_read(mem, STACK + BIG / 2, tail, 100, NULL)); /* a hole */
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(tail[i], 0);
	cs_mem_destroy(mem);
}

static void good_of_each_filter(void **state)
{
	struct core_builder *b = make_core();
	size_t len, packed_len, n = 0;
	const uint8_t *bytes = core_bytes(b, &len);

	(void)state;
	for (size_t i = 0; i < CS_COUNT(filters); i++) {
		uint8_t *packed = pack(filters[i], bytes, len, &packed_len);
		struct cs_error *err;
		struct opened o;
		char path[32];

		if (!packed)
			continue;
		err = open_path(core_path_of(packed, packed_len, path), &o);
		if (err)
			fail_msg("%s: %s", filters[i], cs_error_message(err));
		check_whole(&o);
		assert_string_equal(cs_core_info(o.core)->compression, filters[i]);
		assert_int_equal(cs_core_info(o.core)->bytes, packed_len);
		done(&o);
		core_path_close(path);
		free(packed);
		n++;
	}
	assert_true(n >= 3);
	core_destroy(b);
}

/** Cut off anywhere: the part that could be unpacked is used, or the file is refused by its name. */
static void partial_cut_stream(void **state)
{
	struct core_builder *b = make_core();
	size_t len, packed_len, used = 0;
	const uint8_t *bytes = core_bytes(b, &len);

	(void)state;
	for (size_t i = 0; i < CS_COUNT(filters); i++) {
		uint8_t *packed = pack(filters[i], bytes, len, &packed_len);

		for (size_t k = 1; packed && k < 8; k++) {
			struct opened o;
			struct cs_error *err;
			char path[32];

			core_path_of(packed, packed_len * k / 8, path);
			err = open_path(path, &o);
			if (err) {
				assert_non_null(strstr(cs_error_message(err), path));
				cs_error_destroy(err);
			} else {
				assert_false(cs_core_info(o.core)->complete);
				assert_string_equal(o.diags.list.v[0].code, "compressed-stream-cut");
				used++;
			}
			done(&o);
			core_path_close(path);
		}
		free(packed);
	}
	assert_true(used >= 7);
	core_destroy(b);
}

static void bad_stream(void **state)
{
	static const char junk[] = "\x1f\x8b\x08\x00garbage that no one can unpack, whatever comes";
	char path[32];
	struct opened o;
	struct cs_error *err = open_path(core_path_of(junk, sizeof(junk), path), &o);

	(void)state;
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_FORMAT);
	assert_non_null(strstr(cs_error_message(err), path));
	cs_error_destroy(err);
	done(&o);
	core_path_close(path);
}

static void unsupported_temporary_folder(void **state)
{
	struct core_builder *b = make_core();
	size_t len, packed_len;
	const uint8_t *bytes = core_bytes(b, &len);
	uint8_t *packed = pack("gzip", bytes, len, &packed_len);
	struct cs_error *err;
	struct opened o;
	char path[32];

	(void)state;
	setenv("TMPDIR", "/nowhere/at/all", 1);
	err = open_path(core_path_of(packed, packed_len, path), &o);
	assert_int_equal(cs_error_code(err), CS_ERR_OS);
	assert_non_null(strstr(cs_error_message(err), "TMPDIR"));
	cs_error_destroy(err);
	done(&o);
	unsetenv("TMPDIR");
	core_path_close(path);
	free(packed);
	core_destroy(b);
}

/** Open "-" with @in as standard input in this process; restores it. */
static struct cs_error *open_stdin(int in, struct opened *o)
{
	int saved = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	struct cs_error *err;

	dup2(in, STDIN_FILENO);
	err = open_path("-", o);
	if (saved >= 0) {
		dup2(saved, STDIN_FILENO);
		close(saved);
	} else {
		close(STDIN_FILENO);
	}
	return err;
}

static void check_pipe(const uint8_t *bytes, size_t len, const char *compression)
{
	struct cs_error *err;
	struct opened o;
	int fds[2], status;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		close(fds[0]);
		for (size_t at = 0; at < len;) {
			ssize_t n = write(fds[1], bytes + at, len - at);

			if (n < 0)
				_exit(1);
			at += (size_t)n;
		}
		_exit(0);
	}
	close(fds[1]);
	err = open_stdin(fds[0], &o);
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (err)
		fail_msg("%s", cs_error_message(err));
	assert_int_equal(status, 0);
	check_whole(&o);
	if (compression)
		assert_string_equal(cs_core_info(o.core)->compression, compression);
	else
		assert_null(cs_core_info(o.core)->compression);
	assert_int_equal(cs_core_info(o.core)->bytes, len);
	done(&o);
}

static void good_standard_input(void **state)
{
	struct core_builder *b = make_core();
	size_t len, packed_len;
	const uint8_t *bytes = core_bytes(b, &len);
	uint8_t *packed = pack("gzip", bytes, len, &packed_len);
	struct opened o;
	int fd = open(core_path(b), O_RDONLY | O_CLOEXEC);

	(void)state;
	check_pipe(bytes, len, NULL);
	check_pipe(packed, packed_len, "gzip");
	assert_null(open_stdin(fd, &o)); /* a file: not copied */
	check_whole(&o);
	done(&o);
	close(fd);
	free(packed);
	core_destroy(b);
}

static void unsupported_standard_input(void **state)
{
	static const char *const paths[] = {"/dev/zero", "/tmp"};
	struct opened o;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct cs_error *err = open_stdin(fd, &o);

		assert_int_equal(cs_error_code(err), CS_ERR_UNSUPPORTED);
		assert_non_null(strstr(cs_error_message(err), "standard input"));
		cs_error_destroy(err);
		done(&o);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_of_each_filter),
		cmocka_unit_test(partial_cut_stream),
		cmocka_unit_test(bad_stream),
		cmocka_unit_test(unsupported_temporary_folder),
		cmocka_unit_test(good_standard_input),
		cmocka_unit_test(unsupported_standard_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
