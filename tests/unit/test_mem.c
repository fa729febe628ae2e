/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address space on a made-up target: origins, faults, the cache's lines, strings, presence. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "fake_target.h"
#include "mem/space.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RW (CS_PROT_READ | CS_PROT_WRITE)
#define PAGE 4096UL

struct fixture {
	struct fake_target *target;
	struct cs_mem *mem;
	struct cs_file *file; /* 0x4000 bytes 'f' */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd = memfd_create("module", MFD_CLOEXEC);
	uint8_t bytes[4 * PAGE];

	memset(bytes, 'f', sizeof(bytes));
	if (!f || write(fd, bytes, sizeof(bytes)) != (ssize_t)sizeof(bytes))
		return -1;
	f->target = fake_create(EM_X86_64);
	*state = f;
	return cs_ok(cs_file_from_fd(fd, "module", &f->file)) &&
			       cs_ok(cs_mem_create(fake_cs(f->target), &f->mem))
		       ? 0
		       : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cs_mem_destroy(f->mem);
	fake_destroy(f->target);
	cs_file_close(f->file);
	free(f);
	return 0;
}

/** Saved memory in which each byte tells its address. */
static void map_pattern(struct fake_target *t, uint64_t addr, size_t saved, size_t len)
{
	uint8_t *bytes = malloc(saved + 1);

	for (size_t i = 0; i < saved; i++)
		bytes[i] = (uint8_t)((addr + i) * 131 >> 3);
	fake_map_partial(t, addr, bytes, saved, len, RW);
	free(bytes);
}

static void check_pattern(const uint8_t *bytes, uint64_t addr, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], (uint8_t)((addr + i) * 131 >> 3));
}

static void faults_at(struct cs_mem *mem, uint64_t addr, size_t len, uint64_t first, const char *word)
{
	uint8_t bytes[64];
	struct cs_error *err = cs_mem_read(mem, addr, bytes, len, NULL);

	assert_non_null(err);
	assert_int_equal(cs_error_code(err), CS_ERR_FAULT);
	assert_true(cs_error_address(err) == first);
	assert_non_null(strstr(cs_error_message(err), word));
	cs_error_destroy(err);
}

/** Regions that begin and end within lines, next to each other and apart: every read of up to 48 bytes. */
static void reads_cross_lines_and_regions(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[3 * PAGE];

	map_pattern(f->target, 0x10010, 0x1ff0, 0x1ff0);
	map_pattern(f->target, 0x12000, 0x800, 0x800);
	for (uint64_t addr = 0x10ff0; addr < 0x11020; addr++) {
		for (size_t len = 1; len <= 48; len += 7) {
			assert_null(cs_mem_read(f->mem, addr, bytes, len, NULL));
			check_pattern(bytes, addr, len);
		}
	}
	assert_null(cs_mem_read(f->mem, 0x10010, bytes, 0x27f0, NULL));
	check_pattern(bytes, 0x10010, 0x27f0);
	faults_at(f->mem, 0x127f8, 16, 0x12800, "was not mapped");
	faults_at(f->mem, 0x1000f, 4, 0x1000f, "was not mapped");
	assert_int_equal(cs_mem_read_some(f->mem, 0x127f8, bytes, 16), 8);
	assert_int_equal(cs_mem_read_some(f->mem, 0x12800, bytes, 16), 0);
}

/** A line that is evicted by another one comes back right; a second read costs nothing. */
static void the_cache_is_only_a_cache(void **state)
{
	struct fixture *f = *state;
	const uint64_t stride = 1024 * PAGE; /* the same slot of the cache */
	uint8_t bytes[16];
	size_t reads;

	map_pattern(f->target, 0x40000000, PAGE, PAGE);
	map_pattern(f->target, 0x40000000 + stride, PAGE, PAGE);
	for (int i = 0; i < 3; i++) {
		for (uint64_t a = 0x40000000; a <= 0x40000000 + stride; a += stride) {
			assert_null(cs_mem_read(f->mem, a + 8, bytes, 16, NULL));
			check_pattern(bytes, a + 8, 16);
		}
	}
	reads = fake_reads(f->target);
	assert_null(cs_mem_read(f->mem, 0x40000000 + stride + 100, bytes, 16, NULL));
	assert_int_equal(fake_reads(f->target), reads);
}

static void a_failed_read_leaves_no_bytes_behind(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[16] = {0};

	map_pattern(f->target, 0x20000, PAGE, PAGE);
	map_pattern(f->target, 0x420000, PAGE, PAGE); /* the same slot */
	assert_null(cs_mem_read(f->mem, 0x20000, bytes, 8, NULL));
	fake_fail(f->target, 0x420000, PAGE);
	assert_false(cs_ok(cs_mem_read(f->mem, 0x420000, bytes, 8, NULL)));
	assert_false(cs_ok(cs_mem_read(f->mem, 0x420000, bytes, 8, NULL)));
	assert_null(cs_mem_read(f->mem, 0x20000, bytes, 8, NULL));
	check_pattern(bytes, 0x20000, 8);
}

static void files_fill_only_what_was_not_saved(void **state)
{
	struct fixture *f = *state;
	enum cs_origin origin;
	uint8_t b;

	map_pattern(f->target, 0x30000, 0x800, PAGE);         /* half a page saved */
	map_pattern(f->target, 0x31400, 0x100, 0x400);        /* within the next page */
	assert_null(cs_mem_add_file(f->mem, 0x30000, 0x34000, f->file, 0));
	/* The file's bytes first: they must not bring the saved half's place with them. */
	assert_null(cs_mem_read(f->mem, 0x30900, &b, 1, &origin));
	assert_int_equal(b, 'f');
	assert_int_equal(origin, CS_ORIGIN_FILE);
	assert_null(cs_mem_read(f->mem, 0x30100, &b, 1, &origin));
	assert_int_equal(origin, CS_ORIGIN_TARGET);
	check_pattern(&b, 0x30100, 1);
	/* Between regions, from above and from below of a saved part in the same line. */
	assert_null(cs_mem_read(f->mem, 0x31000, &b, 1, &origin));
	assert_int_equal(origin, CS_ORIGIN_FILE);
	assert_null(cs_mem_read(f->mem, 0x31900, &b, 1, &origin));
	assert_int_equal(origin, CS_ORIGIN_FILE);
	assert_null(cs_mem_read(f->mem, 0x31450, &b, 1, &origin));
	assert_int_equal(origin, CS_ORIGIN_TARGET);
	check_pattern(&b, 0x31450, 1);
	assert_null(cs_mem_read(f->mem, 0x31500, &b, 1, &origin));
	assert_int_equal(origin, CS_ORIGIN_FILE);
}

static void overlapping_files_are_ignored(void **state)
{
	struct fixture *f = *state;
	struct cs_error *err;
	uint8_t b;

	assert_null(cs_mem_add_file(f->mem, 0x50000, 0x51000, f->file, 0));
	assert_null(cs_mem_add_file(f->mem, 0x50800, 0x52000, f->file, 0)); /* ignored */
	faults_at(f->mem, 0x51000, 1, 0x51000, "was not mapped");
	assert_null(cs_mem_read(f->mem, 0x50fff, &b, 1, NULL));
	err = cs_mem_add_file(f->mem, 0x60000, 0x60000, f->file, 0);
	assert_int_equal(cs_error_code(err), CS_ERR_ARGUMENT);
	cs_error_destroy(err);
	/* A file that is shorter than its mapping gives no zeroes. */
	assert_null(cs_mem_add_file(f->mem, 0x70000, 0x71000, f->file, 4 * PAGE - 16));
	assert_false(cs_ok(cs_mem_read(f->mem, 0x70100, &b, 1, NULL)));
}

static void missing_is_not_zero_and_has_two_reasons(void **state)
{
	struct fixture *f = *state;
	uint64_t value = 42;

	map_pattern(f->target, 0x80000, 0x10, PAGE);
	fake_file(f->target, 0x90000, 0x91000, 0, "/lib/x.so");
	assert_int_equal(cs_mem_presence(f->mem, 0x8000f), CS_PRESENT);
	assert_int_equal(cs_mem_presence(f->mem, 0x80010), CS_NOT_SAVED);
	assert_int_equal(cs_mem_presence(f->mem, 0x90800), CS_NOT_SAVED);
	assert_int_equal(cs_mem_presence(f->mem, 0x91000), CS_NOT_MAPPED);
	faults_at(f->mem, 0x80008, 16, 0x80010, "not saved");
	faults_at(f->mem, 0x90000, 1, 0x90000, "not saved");
	assert_false(cs_mem_u64(f->mem, 0x8000c, &value));
	assert_int_equal(value, 42);
	assert_true(cs_mem_u64(f->mem, 0x80008, &value));
	assert_ptr_equal(cs_mem_mapping(f->mem, 0x90fff), &fake_cs(f->target)->mappings[0]);
	assert_null(cs_mem_mapping(f->mem, 0x91000));
	assert_null(cs_mem_region(f->mem, 0x81000));
}

static void reads_at_the_top_do_not_wrap(void **state)
{
	struct fixture *f = *state;
	const uint64_t top = UINT64_MAX - 0xfff;
	uint8_t bytes[64];
	struct cs_error *err;

	map_pattern(f->target, top, 0xfff, 0xfff);
	assert_null(cs_mem_read(f->mem, UINT64_MAX - 16, bytes, 16, NULL));
	check_pattern(bytes, UINT64_MAX - 16, 16);
	assert_int_equal(cs_mem_read_some(f->mem, UINT64_MAX - 16, bytes, 64), 16);
	for (size_t len = 0; len <= CS_MAX_READ + 1; len += CS_MAX_READ + 1) {
		err = cs_mem_read(f->mem, top, bytes, len, NULL);
		assert_int_equal(cs_error_code(err), CS_ERR_LIMIT);
		cs_error_destroy(err);
	}
	err = cs_mem_read(f->mem, UINT64_MAX - 7, bytes, 64, NULL);
	assert_int_equal(cs_error_code(err), CS_ERR_LIMIT);
	cs_error_destroy(err);
}

static void strings_end_at_nul_limit_or_fault(void **state)
{
	struct fixture *f = *state;
	char text[PAGE];
	struct cs_error *err;
	char *s = NULL;

	memset(text, 'a', sizeof(text));
	text[1000] = 0;
	fake_map(f->target, 0xa0000, text, sizeof(text), RW);
	assert_null(cs_mem_string(f->mem, 0xa0000, 1000, &s)); /* the maximum is without the NUL */
	assert_int_equal(strlen(s), 1000);
	free(s);
	err = cs_mem_string(f->mem, 0xa0000, 999, &s);
	assert_int_equal(cs_error_code(err), CS_ERR_LIMIT);
	cs_error_destroy(err);
	err = cs_mem_string(f->mem, 0xa0000 + 1001, 65536, &s);
	assert_int_equal(cs_error_code(err), CS_ERR_FAULT);
	assert_int_equal(cs_error_address(err), 0xa1000);
	cs_error_destroy(err);
	assert_null(cs_mem_string(f->mem, 0xa0000 + 1000, 0, &s));
	assert_string_equal(s, "");
	free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_cross_lines_and_regions),
		TEST(the_cache_is_only_a_cache),
		TEST(a_failed_read_leaves_no_bytes_behind),
		TEST(files_fill_only_what_was_not_saved),
		TEST(overlapping_files_are_ignored),
		TEST(missing_is_not_zero_and_has_two_reasons),
		TEST(reads_at_the_top_do_not_wrap),
		TEST(strings_end_at_nul_limit_or_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
