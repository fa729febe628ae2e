/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors, the cursor, vectors, arena, text buffers, UTF-8, and what kinds of files are refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/diag.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/strbuf.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void error_prefix_keeps_what_it_is(void **state)
{
	struct cs_error *err = cs_error_fault(0x1234, "no byte at %#x", 0x1234);

	(void)state;
	err = cs_error_prefix(err, "thread %d", 7);
	assert_int_equal(cs_error_code(err), CS_ERR_FAULT);
	assert_int_equal(cs_error_address(err), 0x1234);
	assert_string_equal(cs_error_message(err), "thread 7: no byte at 0x1234");
	cs_error_destroy(err);
	err = cs_error_os(ENOENT, "/x");
	assert_int_equal(cs_error_errno(err), ENOENT);
	assert_string_equal(cs_error_message(err), "/x: No such file or directory");
	assert_false(cs_ok(err));
	assert_true(cs_ok(NULL));
	cs_error_destroy(&cs_nomem); /* static: stays */
	assert_int_equal(cs_error_code(&cs_nomem), CS_ERR_NOMEM);
}

/** u8, u16, u32, u64, 3 bytes and a string: on every prefix, the field that is named is the one cut. */
static void buf_names_the_field_of_every_prefix(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
					16, 17, 18, 'h', 'i', 0};
	static const struct {
		size_t end;
		const char *name;
	} fields[] = {{1, "u8"}, {3, "u16"}, {7, "u32"}, {15, "u64"}, {18, "take"}, {21, "text"}};

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		uint8_t *copy = malloc(len + 1); /* a reader that goes too far is seen by ASan */
		struct cs_buf b;
		const uint8_t *p = NULL;
		const char *text = NULL;
		uint8_t u8 = 0;
		uint16_t u16 = 0;
		uint32_t u32 = 0;
		uint64_t u64 = 0;
		size_t whole = 0;

		assert_non_null(copy);
		memcpy(copy, bytes, len);
		b = cs_buf_of(copy, len);
		while (whole < CS_COUNT(fields) && fields[whole].end <= len)
			whole++;
		assert_int_equal(cs_buf_u8(&b, "u8", &u8), whole > 0);
		assert_int_equal(cs_buf_u16(&b, "u16", &u16), whole > 1);
		assert_int_equal(cs_buf_u32(&b, "u32", &u32), whole > 2);
		assert_int_equal(cs_buf_u64(&b, "u64", &u64), whole > 3);
		assert_int_equal(cs_buf_take(&b, 3, "take", &p), whole > 4);
		assert_int_equal(cs_buf_cstr(&b, "text", &text), whole > 5);
		if (whole < CS_COUNT(fields)) {
			assert_string_equal(b.bad, fields[whole].name);
			assert_int_equal(cs_buf_offset(&b), whole ? fields[whole - 1].end : 0);
		} else {
			assert_null(b.bad);
			assert_int_equal(u8, 1);
			assert_int_equal(u16, 0x0302);
			assert_int_equal(u32, 0x07060504);
			assert_true(u64 == 0x0f0e0d0c0b0a0908);
			assert_string_equal(text, "hi");
		}
		free(copy);
	}
}

static void buf_is_not_fooled_by_lengths(void **state)
{
	static const uint8_t bytes[8] = {0, 0, 0, 0, 0, 0, 0, 1};
	struct cs_buf b = cs_buf_of(bytes, sizeof(bytes));
	const uint8_t *p;
	uint64_t v;

	(void)state;
	b.big_endian = true;
	assert_true(cs_buf_u64(&b, "v", &v));
	assert_int_equal(v, 1);
	assert_true(cs_buf_seek(&b, 4, "back"));
	assert_false(cs_buf_take(&b, UINT64_MAX - 2, "wraps", &p));
	assert_string_equal(b.bad, "wraps");
	assert_false(cs_buf_seek(&b, 0, "after")); /* stays failed, and keeps the first name */
	assert_string_equal(b.bad, "wraps");
	b = cs_buf_of(bytes, 5);
	assert_false(cs_buf_seek(&b, 6, "beyond"));
	b = cs_buf_of(bytes, 5);
	cs_buf_skip(&b, 5, "all");
	cs_buf_pad(&b, 4); /* stops at the end */
	assert_int_equal(cs_buf_left(&b), 0);
	assert_null(b.bad);
}

static void vec_stops_at_its_limit(void **state)
{
	CS_VEC(int) v = {0};
	struct cs_error *err;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_null(CS_PUSH(&v, i, 1000UL, "things"));
	err = CS_PUSH(&v, 1000, 1000UL, "things");
	assert_int_equal(cs_error_code(err), CS_ERR_LIMIT);
	assert_non_null(strstr(cs_error_message(err), "things"));
	cs_error_destroy(err);
	assert_int_equal(v.n, 1000);
	assert_int_equal(v.v[999], 999);
	free(v.v);
}

static void arena_keeps_to_its_maximum(void **state)
{
	struct cs_arena *a = cs_arena_create(1000);
	uint8_t *p;

	(void)state;
	p = cs_arena_alloc(a, 500);
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
	for (size_t i = 0; i < 500; i++)
		assert_int_equal(p[i], 0);
	assert_null(cs_arena_alloc(a, 501));
	assert_null(cs_arena_calloc(a, SIZE_MAX / 2, 4)); /* the product wraps */
	assert_null(cs_arena_alloc(a, SIZE_MAX));
	assert_non_null(cs_arena_alloc(a, 100)); /* a refusal does not end it */
	assert_true(cs_arena_used(a) <= 1000);
	assert_null(cs_arena_strdup(a, NULL));
	assert_ptr_equal(cs_arena_intern(a, "name"), cs_arena_intern(a, "name"));
	cs_arena_destroy(a);
}

static void strbuf_is_never_cut_and_continued(void **state)
{
	struct cs_strbuf sb;

	(void)state;
	cs_strbuf_init(&sb, 10);
	assert_string_equal(cs_strbuf_text(&sb), "");
	cs_strbuf_puts(&sb, "12345");
	cs_strbuf_printf(&sb, "%d", 678);
	assert_false(sb.cut);
	cs_strbuf_puts(&sb, "9abc"); /* does not fit: nothing of it comes */
	assert_true(sb.cut);
	cs_strbuf_putc(&sb, 'd'); /* would fit, but would continue a cut text */
	assert_string_equal(cs_strbuf_text(&sb), "12345678");
	cs_strbuf_deinit(&sb);
	cs_strbuf_init(&sb, 3);
	cs_strbuf_puts(&sb, "abc"); /* the maximum is inclusive */
	assert_false(sb.cut);
	cs_strbuf_truncate(&sb, 1);
	assert_string_equal(cs_strbuf_text(&sb), "a");
	cs_strbuf_deinit(&sb);
}

static void utf8_replaces_what_is_invalid(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"a\xff" "b", "a\xef\xbf\xbd" "b"},
		{"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong NUL */
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
		{"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"x\xe2\x82", "x\xef\xbf\xbd\xef\xbf\xbd"},               /* cut off */
		{"\x1b[31m", "\x1b[31m"},                                 /* kept: JSON escapes it */
	};
	struct cs_arena *a = cs_arena_create(4096);

	(void)state;
	for (size_t i = 0; i < CS_COUNT(cases); i++)
		assert_string_equal(cs_text_utf8(a, cases[i].in, strlen(cases[i].in)),
				    cases[i].out);
	assert_false(cs_text_is_safe((const unsigned char *)"\x1b", 1));
	assert_false(cs_text_is_safe((const unsigned char *)"\xc2\x9b", 2));     /* C1: CSI */
	assert_false(cs_text_is_safe((const unsigned char *)"\xe2\x80\xae", 3)); /* RLO */
	assert_true(cs_text_is_safe((const unsigned char *)"\xc3\xa4", 2));
	cs_arena_destroy(a);
}

static void diagnostics_are_counted_beyond_their_limit(void **state)
{
	struct cs_arena *a = cs_arena_create(1UL << 20);
	struct cs_diags d = {.arena = a};

	(void)state;
	for (size_t i = 0; i < CS_MAX_DIAGNOSTICS + 5; i++)
		cs_diag(&d, CS_SEVERITY_WARNING, "base", "test", 0, "number %zu", i);
	assert_int_equal(d.list.n, CS_MAX_DIAGNOSTICS);
	assert_int_equal(d.dropped, 5);
	free(d.list.v);
	cs_arena_destroy(a);
}

static void refuses(const char *path, enum cs_error_code code, const char *word)
{
	struct cs_file *file = NULL;
	struct cs_error *err = cs_file_open(path, &file);

	assert_non_null(err);
	assert_null(file);
	assert_int_equal(cs_error_code(err), code);
	assert_non_null(strstr(cs_error_message(err), path));
	assert_non_null(strstr(cs_error_message(err), word));
	cs_error_destroy(err);
}

static void only_regular_files_are_opened(void **state)
{
	char folder[] = "/tmp/corescan-base.XXXXXX", path[64];
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	refuses(folder, CS_ERR_UNSUPPORTED, "a directory");
	refuses("/dev/zero", CS_ERR_UNSUPPORTED, "a character device");
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(10); /* a FIFO without a writer must not hold us */
	refuses(path, CS_ERR_UNSUPPORTED, "a FIFO");
	alarm(0);
	unlink(path);
	refuses(path, CS_ERR_OS, "No such file");
	snprintf(path, sizeof(path), "%s/socket", folder);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	refuses(path, CS_ERR_OS, "No such device"); /* open(2) of a socket: ENXIO */
	close(fd);
	unlink(path);
	rmdir(folder);
}

static void reads_say_where_a_file_ends(void **state)
{
	char path[] = "/tmp/corescan-base.XXXXXX";
	int fd = mkstemp(path);
	struct cs_file *file;
	struct cs_error *err;
	char bytes[8];
	size_t got;

	(void)state;
	assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	assert_null(cs_file_open(path, &file));
	assert_int_equal(file->size, 10);
	assert_null(cs_file_read(file, 2, bytes, 8));
	assert_memory_equal(bytes, "23456789", 8);
	assert_null(cs_file_read_some(file, 7, bytes, 8, &got));
	assert_int_equal(got, 3);
	assert_null(cs_file_read_some(file, UINT64_MAX - 2, bytes, 8, &got));
	assert_int_equal(got, 0);
	err = cs_file_read(file, 7, bytes, 8);
	assert_int_equal(cs_error_code(err), CS_ERR_FORMAT);
	assert_non_null(strstr(cs_error_message(err), "ends at byte 10"));
	cs_error_destroy(err);
	cs_file_close(file);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_prefix_keeps_what_it_is),
		cmocka_unit_test(buf_names_the_field_of_every_prefix),
		cmocka_unit_test(buf_is_not_fooled_by_lengths),
		cmocka_unit_test(vec_stops_at_its_limit),
		cmocka_unit_test(arena_keeps_to_its_maximum),
		cmocka_unit_test(strbuf_is_never_cut_and_continued),
		cmocka_unit_test(utf8_replaces_what_is_invalid),
		cmocka_unit_test(diagnostics_are_counted_beyond_their_limit),
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(reads_say_where_a_file_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
