/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code objects and their line tables, in the three formats. What a position's line is was asked of the
 * interpreters themselves (python_lines.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "fake_python.h"
#include "python_lines.h"

#include <stdlib.h>
#include <string.h>

#define VERSION(minor) (0x030000f0U | (uint32_t)(minor) << 16)

static size_t from_hex(const char *hex, uint8_t *ret)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		char byte[3] = {hex[2 * i], hex[2 * i + 1], 0};

		ret[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

/** A code object alone in a process; the caller ends both. */
struct alone {
	struct fake_python *f;
	struct cs_py_codes *codes;
	const struct cs_py_code *code;
};

static struct alone alone(unsigned minor, bool free_threaded, const uint8_t *table, size_t n)
{
	struct alone a = {.f = fake_python_create(VERSION(minor), free_threaded)};
	uint64_t at = fake_code(a.f, "f", "f.py", 1, table, n, 16);

	assert_true(cs_ok(cs_py_codes_create(fake_python_open(a.f), &a.codes)));
	a.code = cs_py_code_at(a.codes, at);
	assert_non_null(a.code);
	return a;
}

static void done(struct alone *a)
{
	cs_py_codes_destroy(a->codes);
	fake_python_destroy(a->f);
}

static void every_position_has_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < CS_COUNT(line_tables); i++) {
		const struct line_table *t = &line_tables[i];
		uint8_t table[1024];
		struct alone a = alone(t->minor, false, table, from_hex(t->hex, table));

		for (const struct line_run *r = t->runs; r->line != UINT32_MAX; r++)
			for (uint32_t at = r[0].start; at < r[1].start; at++)
				if (cs_py_code_line(a.codes, a.code, at) != r->line)
					fail_msg("3.%u %s at %u: %u, not %u", t->minor, t->name, at,
						 cs_py_code_line(a.codes, a.code, at), r->line);
		assert_int_equal(cs_py_code_line(a.codes, a.code, -1), 1);
		done(&a);
	}
}

/** The formats did not change since: what 3.13 wrote reads the same in 3.14, 3.15 and without a GIL. */
static void newer_versions_read_the_same_tables(void **state)
{
	const struct line_table *t = &line_tables[CS_COUNT(line_tables) - 3];
	uint8_t table[1024];
	size_t n = from_hex(t->hex, table);

	(void)state;
	assert_int_equal(t->minor, 13);
	for (unsigned minor = 13; minor <= 15; minor++)
		for (unsigned ft = 0; ft < 2; ft++) {
			struct alone a = alone(minor, ft, table, n);

			for (const struct line_run *r = t->runs; r->line != UINT32_MAX; r++)
				assert_int_equal(cs_py_code_line(a.codes, a.code, r->start), r->line);
			done(&a);
		}
}

static void names_are_read_once(void **state)
{
	static const unsigned minors[] = {6, 8, 10, 11, 12, 13, 14, 15};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(minors); i++) {
		struct alone a = alone(minors[i], false, (const uint8_t *)"", 0);
		const struct cs_py_layout *l = &a.f->py.layout;

		assert_string_equal(a.code->name, "f");
		assert_string_equal(a.code->filename, "f.py");
		assert_int_equal(a.code->first_line, 1);
		if (l->code_adaptive != CS_ABSENT)
			assert_int_equal(a.code->instructions,
					 a.code->address + (uint64_t)l->code_adaptive);
		assert_ptr_equal(cs_py_code_at(a.codes, a.code->address), a.code);
		assert_null(cs_py_code_at(a.codes, a.code->address + 8));
		assert_null(cs_py_code_at(a.codes, a.f->type_code));
		assert_null(cs_py_code_at(a.codes, 0));
		assert_null(cs_py_code_at(a.codes, UINT64_MAX - 7));
		done(&a);
	}
}

static void names_in_two_byte_characters(void **state)
{
	static const uint16_t name[] = {'f', 0xfc, 'r', '_', 0x3bb}; /* "für_λ" */

	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		struct fake_python *f = fake_python_create(VERSION(minor), false);
		uint64_t at = fake_code(f, "g", "f.py", 7, "", 0, 0);
		struct cs_py_codes *codes;

		fake_put64(f, at, f->py.layout.code_name, fake_str16(f, name, CS_COUNT(name)));
		fake_put64(f, at, f->py.layout.code_qualname, fake_str16(f, name, CS_COUNT(name)));
		assert_true(cs_ok(cs_py_codes_create(fake_python_open(f), &codes)));
		assert_string_equal(cs_py_code_at(codes, at)->name, "f\303\274r_\316\273");
		cs_py_codes_destroy(codes);
		fake_python_destroy(f);
	}
}

/** The type of code objects is learnt from the first that has the shape of one. */
static void without_symbols_the_shape_tells(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		struct fake_python *f = fake_python_create(VERSION(minor), false);
		uint64_t at = fake_code(f, "f", "f.py", 1, "", 0, 0);
		uint64_t no_table = fake_code(f, "f", "f.py", 1, "", 0, 0);
		uint64_t other = fake_code(f, "f", "f.py", 1, "", 0, 0);
		struct cs_py_codes *codes;

		fake_put64(f, no_table, f->py.layout.code_linetable, f->type_type);
		fake_put64(f, other, f->py.layout.object_type, f->type_tuple);
		fake_python_open(f);
		f->py.type_code = 0;
		assert_true(cs_ok(cs_py_codes_create(&f->py, &codes)));
		assert_null(cs_py_code_at(codes, no_table));
		assert_non_null(cs_py_code_at(codes, at));
		assert_non_null(cs_py_code_at(codes, no_table)); /* its type is known now */
		assert_null(cs_py_code_at(codes, other));
		cs_py_codes_destroy(codes);
		fake_python_destroy(f);
	}
}

static void a_table_that_is_not_there_has_no_lines(void **state)
{
	(void)state;
	for (unsigned minor = 6; minor <= 15; minor++) {
		struct fake_python *f = fake_python_create(VERSION(minor), false);
		uint64_t at = fake_code(f, "f", "f.py", 3, "\x00\x01", 2, 8), table;
		struct cs_py_codes *codes;

		/* Longer than memory: nothing of it is believed. */
		table = fake_bytes(f, "\x00\x01", 2);
		fake_put64(f, table, f->py.layout.var_size, INT64_MAX);
		fake_put64(f, at, f->py.layout.code_linetable, table);
		assert_true(cs_ok(cs_py_codes_create(fake_python_open(f), &codes)));
		assert_int_equal(cs_py_code_line(codes, cs_py_code_at(codes, at), 0), 0);
		assert_int_equal(cs_py_code_line(codes, cs_py_code_at(codes, at), INT64_MAX), 0);
		cs_py_codes_destroy(codes);
		fake_python_destroy(f);
	}
}

/** Whatever the bytes are, a line is 0 or one that fits, and the same each time. */
static void random_tables_are_survived(void **state)
{
	static const unsigned minors[] = {6, 10, 11, 15};
	uint32_t seed = 1;

	(void)state;
	for (unsigned round = 0; round < 400; round++) {
		uint8_t table[400];
		struct alone a;

		for (size_t i = 0; i < sizeof(table); i++) {
			seed = seed * 1664525 + 1013904223;
			table[i] = (uint8_t)(seed >> 24);
			/* Line steps of any size, also those that overflow. */
			if (round % 3 == 0)
				table[i] = (uint8_t)(i % 12 ? table[i] | 0x7f : 0x80 | 14 << 3);
		}
		a = alone(minors[round % CS_COUNT(minors)], false, table, round % sizeof(table));
		for (int64_t at = 0; at < 400; at++) {
			uint32_t line = cs_py_code_line(a.codes, a.code, at);

			assert_true(line <= INT32_MAX);
			assert_int_equal(cs_py_code_line(a.codes, a.code, at), line);
		}
		done(&a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_position_has_its_line),
		cmocka_unit_test(newer_versions_read_the_same_tables),
		cmocka_unit_test(names_are_read_once),
		cmocka_unit_test(names_in_two_byte_characters),
		cmocka_unit_test(without_symbols_the_shape_tells),
		cmocka_unit_test(a_table_that_is_not_there_has_no_lines),
		cmocka_unit_test(random_tables_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
