/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects of every version, laid out by hand: values, tables, attributes, repr(), and hostile ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "fake_python.h"
#include "python/value.h"

#include <stdlib.h>
#include <string.h>

#define BIT(flag) (1UL << (flag))

static const struct version {
	uint32_t hex;
	bool free_threaded;
} versions[] = {
	{0x03060ff0, false}, {0x030710f0, false}, {0x030812f0, false},
	{0x030912f0, false}, {0x030a0df0, false}, {0x030b07f0, false},
	{0x030c01f0, false}, {0x030d00f0, false}, {0x030d00f0, true},
	{0x030e0af0, false}, {0x030e0af0, true},  {0x030f02f0, false},
	{0x030f02f0, true},
};

/** A runtime of one version with the types that the tests need. */
struct world {
	struct fake_python *f;
	const struct cs_py_layout *l;
	uint64_t type_int, type_list, type_dict, type_set, type_float;
	uint64_t zero; /* the int 0 */
};

static uint64_t tuple(struct world *w, const uint64_t *items, size_t n)
{
	uint64_t object = fake_object(w->f, w->f->type_tuple, 64 + n * 8);

	fake_put64(w->f, object, w->l->var_size, n);
	for (size_t i = 0; i < n; i++)
		fake_put64(w->f, object, w->l->tuple_items + (int32_t)i * 8, items[i]);
	return object;
}

/** A type whose method resolution order is itself alone. */
static uint64_t type(struct world *w, const char *name, uint64_t flags)
{
	uint64_t t = fake_type(w->f, name, flags);

	fake_put64(w->f, t, w->l->type_mro, tuple(w, &t, 1));
	return t;
}

static void world_create(struct world *w, const struct version *v)
{
	w->f = fake_python_create(v->hex, v->free_threaded);
	w->l = &w->f->py.layout;
	w->type_int = type(w, "int", BIT(CS_PY_INT));
	w->type_list = type(w, "list", BIT(CS_PY_LIST));
	w->type_dict = type(w, "dict", BIT(CS_PY_DICT));
	w->type_set = type(w, "set", 0);
	w->type_float = type(w, "float", 0);
}

static uint64_t integer(struct world *w, int sign, const uint32_t *digits, size_t n)
{
	uint64_t object = fake_object(w->f, w->type_int, 64 + n * 4);

	if (w->l->int_tag != CS_ABSENT)
		fake_put64(w->f, object, w->l->int_tag,
			   n << 3 | (sign == 0  ? 1U
				     : sign < 0 ? 2U
						: 0U));
	else
		fake_put64(w->f, object, w->l->var_size,
			   sign < 0 ? (uint64_t) - (int64_t)n : (uint64_t)n);
	for (size_t i = 0; i < n; i++)
		fake_put32(w->f, object, w->l->int_digits + (int32_t)i * 4, digits[i]);
	return object;
}

static uint64_t small(struct world *w, uint32_t value)
{
	return integer(w, value ? 1 : 0, &value, value ? 1 : 0);
}

static uint64_t list(struct world *w, const uint64_t *items, size_t n)
{
	uint64_t object = fake_object(w->f, w->type_list, 64),
		 at = fake_alloc(w->f, n * 8 + 8);

	fake_put64(w->f, object, w->l->var_size, n);
	fake_put64(w->f, object, w->l->list_items, at);
	fake_poke(w->f->target, at, items, n * 8);
	return object;
}

/* ---- dicts ---- */

/** A table of 8 slots with room for 5 entries; the kind is that of 3.11 and later. */
static uint64_t keys(struct world *w, uint8_t kind, size_t n)
{
	uint64_t at = fake_alloc(w->f, 256);

	fake_put64(w->f, at, w->l->keys_size, 8);
	fake_put8(w->f, at, w->l->keys_log2_size, 3);
	fake_put8(w->f, at, w->l->keys_log2_index_bytes, 3);
	fake_put8(w->f, at, w->l->keys_kind, kind);
	fake_put64(w->f, at, w->l->keys_nentries, n);
	return at;
}

static void entry(struct world *w, uint64_t table, uint8_t kind, size_t i, uint64_t key,
		  uint64_t value)
{
	bool wide = w->l->keys_kind == CS_ABSENT || kind == 0;
	uint64_t at = table + (uint64_t)w->l->keys_indices + 8 + i * (wide ? 24 : 16);

	fake_poke64(w->f->target, at + (wide ? 8 : 0), key);
	fake_poke64(w->f->target, at + (wide ? 16 : 8), value);
}

static uint64_t dict(struct world *w, uint64_t table, uint64_t values, size_t used)
{
	uint64_t object = fake_object(w->f, w->type_dict, 96);

	fake_put64(w->f, object, w->l->dict_used, used);
	fake_put64(w->f, object, w->l->dict_keys, table);
	fake_put64(w->f, object, w->l->dict_values, values);
	return object;
}

/** {'a': 1, 'c': 3}, with the place of a deleted entry between them. */
static uint64_t two_entries(struct world *w, uint8_t kind)
{
	uint64_t table = keys(w, kind, 3);

	entry(w, table, kind, 0, fake_str(w->f, "a"), small(w, 1));
	entry(w, table, kind, 1, fake_str(w->f, "b"), 0);
	entry(w, table, kind, 2, fake_str(w->f, "c"), small(w, 3));
	return dict(w, table, 0, 2);
}

/** Values of a split table, which were set in the order @order. */
static uint64_t values(struct world *w, const uint64_t *v, const uint8_t *order, size_t n)
{
	uint64_t at = fake_alloc(w->f, 128) + 32;

	for (size_t i = 0; i < n; i++)
		fake_put64(w->f, at, CS_MAX(w->l->values_values, 0) + (int32_t)i * 8,
			   v[i]);
	if (w->l->values_valid != CS_ABSENT) {
		uint8_t head[4] = {(uint8_t)n, (uint8_t)n, 0, 1};

		fake_poke(w->f->target, at, head, sizeof(head));
		fake_poke(w->f->target, at + 8 + n * 8, order, n);
	} else {
		fake_put8(w->f, at - 2, 0, (uint8_t)n);
		for (size_t i = 0; i < n; i++)
			fake_put8(w->f, at - 3 - i, 0, order[i]);
	}
	return at;
}

/* ---- what is expected ---- */

static void shows(const struct cs_py *py, uint64_t object, const char *want)
{
	struct cs_strbuf out;

	cs_strbuf_init(&out, CS_MAX_PY_REPR);
	cs_py_repr(py, object, &out);
	assert_string_equal(cs_strbuf_text(&out), want);
	cs_strbuf_deinit(&out);
}

/** Run @test on each version. */
static void each(void (*test)(struct world *w))
{
	for (size_t i = 0; i < CS_COUNT(versions); i++) {
		struct world w = {0};

		world_create(&w, &versions[i]);
		test(&w);
		fake_python_destroy(w.f);
	}
}

static void texts_of(struct world *w)
{
	static const uint16_t wide[] = {0x65e5, 0x672c, 0xd800, '!'};
	uint64_t ascii = fake_str(w->f, "it's"), two = fake_str16(w->f, wide, 4);
	uint64_t lies = fake_str(w->f, "high"), huge = fake_str(w->f, "huge");
	const struct cs_py *py;
	bool cut;

	fake_put8(w->f, lies, w->l->str_ascii_data, 0xe9);
	fake_put64(w->f, huge, w->l->str_length, UINT64_MAX);
	py = fake_python_open(w->f);
	assert_string_equal(cs_py_str(py, ascii, 100, &cut), "it's");
	assert_false(cut);
	assert_true(cs_py_str_is(py, ascii, "it's"));
	assert_false(cs_py_str_is(py, ascii, "it"));
	assert_string_equal(cs_py_str(py, two, 100, NULL), "日本\xef\xbf\xbd!");
	assert_string_equal(cs_py_str(py, two, 5, &cut), "日"); /* no half characters */
	assert_true(cut);
	assert_null(cs_py_str(py, lies, 100, NULL));
	assert_null(cs_py_str(py, huge, 100, NULL));
	assert_null(cs_py_str(py, 0, 100, NULL));
	assert_null(cs_py_str(py, ascii + 8, 100, NULL));
	shows(py, ascii, "\"it's\"");
	shows(py, two, "'日本\\ud800!'");
}

static void texts(void **state)
{
	(void)state;
	each(texts_of);
}

static void wide_text(void **state)
{
	static const uint32_t text[] = {'a', 0x1f600, 'b'};
	struct world w = {0};
	uint64_t str, at;
	const struct cs_py *py;

	(void)state;
	world_create(&w, &versions[2]); /* 3.8: not ready yet, so it has wchar_t only */
	str = fake_object(w.f, w.f->type_str, 128);
	at = fake_alloc(w.f, sizeof(text));
	fake_poke(w.f->target, at, text, sizeof(text));
	fake_put64(w.f, str, w.l->str_ascii_data - 8, at);
	fake_put64(w.f, str, w.l->str_compact_data - 8, 3);
	py = fake_python_open(w.f);
	assert_string_equal(cs_py_str(py, str, 100, NULL), "a😀b");
	fake_python_destroy(w.f);
}

static void ints_of(struct world *w)
{
	static const uint32_t big[] = {0, 0, 1}, largest[] = {0x3fffffff, 0x3fffffff, 7};
	static const uint32_t above[] = {0, 0, 8}, all[100] = {[99] = 1};
	uint64_t zero = small(w, 0), seven = integer(w, -1, (const uint32_t[]){7}, 1);
	uint64_t two60 = integer(w, 1, big, 3), max = integer(w, 1, largest, 3);
	uint64_t more = integer(w, -1, above, 3), long_one = integer(w, 1, all, 100);
	const struct cs_py *py = fake_python_open(w->f);
	int64_t v;

	assert_true(cs_py_int(py, zero, &v) && v == 0);
	assert_true(cs_py_int(py, seven, &v) && v == -7);
	assert_true(cs_py_int(py, two60, &v) && v == 1L << 60);
	assert_true(cs_py_int(py, max, &v) && v == INT64_MAX);
	assert_false(cs_py_int(py, more, &v));
	shows(py, zero, "0");
	shows(py, seven, "-7");
	shows(py, max, "9223372036854775807");
	shows(py, more, "-9223372036854775808");
	shows(py, long_one, "<int of about 3000 bits>");
}

static void ints(void **state)
{
	(void)state;
	each(ints_of);
}

static void tables_of(struct world *w)
{
	uint64_t general = two_entries(w, 0), unicode = two_entries(w, 1), key, value;
	uint64_t split = keys(w, 2, 2), broken = two_entries(w, 0), set, entries;
	static const uint8_t order[] = {1, 0};
	uint64_t both[2] = {small(w, 10), small(w, 20)}, by_order, huge_set;
	const struct cs_py *py;
	struct cs_py_dict_iter it;
	struct cs_py_set_iter s;

	entry(w, split, 2, 0, fake_str(w->f, "x"), 0);
	entry(w, split, 2, 1, fake_str(w->f, "y"), 0);
	by_order = dict(w, split, values(w, both, order, 2), 2);
	fake_put64(w->f, broken, w->l->dict_keys, 0x7f0000000000);
	set = fake_object(w->f, w->type_set, 256);
	entries = fake_alloc(w->f, 64);
	fake_put64(w->f, set, w->l->set_mask, 3);
	fake_put64(w->f, set, w->l->set_used, 1);
	fake_put64(w->f, set, w->l->set_table, entries);
	fake_poke64(w->f->target, entries + 16, small(w, 9)); /* taken out */
	fake_poke64(w->f->target, entries + 24, UINT64_MAX);
	fake_poke64(w->f->target, entries + 32, small(w, 5));
	fake_poke64(w->f->target, entries + 40, 5);
	huge_set = fake_object(w->f, w->type_set, 256);
	fake_put64(w->f, huge_set, w->l->set_mask, UINT64_MAX);
	py = fake_python_open(w->f);
	shows(py, general, "{'a': 1, 'c': 3}");
	shows(py, unicode, "{'a': 1, 'c': 3}");
	shows(py, by_order,
	      w->l->keys_kind == CS_ABSENT ? "{'x': 10, 'y': 20}" : "{'y': 20, 'x': 10}");
	shows(py, broken, "<unreadable dict>");
	assert_true(cs_py_dict_get(py, general, "c") != 0);
	assert_true(cs_py_dict_get(py, general, "b") == 0);
	assert_true(cs_py_dict_get(py, set, "b") == 0);
	assert_true(cs_py_dict_begin(py, general, &it) &&
		    cs_py_dict_next(&it, &key, &value));
	assert_true(cs_py_set_begin(py, set, &s) && cs_py_set_next(&s, &key));
	assert_false(cs_py_set_next(&s, &key));
	assert_false(cs_py_set_begin(py, huge_set, &s) ||
		     cs_py_set_begin(py, general, &s));
	shows(py, set, "{5}");
}

static void tables(void **state)
{
	(void)state;
	each(tables_of);
}

/** A heap type "Point" whose objects have attributes x and y, and one of these as its
 * version keeps it. */
static uint64_t point(struct world *w, uint64_t flags)
{
	unsigned minor = w->l->minor;
	uint64_t table = keys(w, minor >= 11 ? 2 : 0, 2), t, object;
	uint64_t both[2] = {small(w, 1), small(w, 2)}, block = fake_alloc(w->f, 256), at;
	static const uint8_t order[] = {0, 1};

	entry(w, table, minor >= 11 ? 2 : 0, 0, fake_str(w->f, "x"),
	      minor >= 11 ? 0 : both[0]);
	entry(w, table, minor >= 11 ? 2 : 0, 1, fake_str(w->f, "y"),
	      minor >= 11 ? 0 : both[1]);
	t = type(w, "Point", flags | BIT(CS_PY_HEAPTYPE));
	fake_put64(w->f, t, w->l->heaptype_qualname, fake_str(w->f, "Point"));
	fake_put64(w->f, t, w->l->heaptype_cached_keys, table);
	fake_put64(w->f, t, w->l->type_dict, two_entries(w, 0));
	fake_put64(w->f, t, w->l->type_basicsize, (uint64_t)w->l->object_size + 16);
	object = block + 64;
	fake_put64(w->f, object, w->l->object_type, t);
	if (minor < 11) {
		fake_put64(w->f, t, w->l->type_dictoffset, 16);
		fake_put64(w->f, object, 16, dict(w, table, 0, 2));
		return object;
	}
	at = values(w, both, order, 2);
	if (minor == 11)
		fake_poke64(w->f->target, object - 32, at);
	else if (minor == 12)
		fake_poke64(w->f->target, object - 24, at - 1);
	else if (flags & BIT(CS_PY_INLINE_VALUES)) {
		uint8_t head[4] = {2, 2, 1, 1};

		at = object + (uint64_t)w->l->object_size + 16;
		fake_poke(w->f->target, at, head, sizeof(head));
		fake_poke64(w->f->target, at + 8, both[0]);
		fake_poke64(w->f->target, at + 16, both[1]);
		fake_poke(w->f->target, at + 24, order, sizeof(order));
	} else {
		fake_poke64(w->f->target, object - (w->l->free_threaded ? 8 : 24),
			    dict(w, table, at, 2));
	}
	return object;
}

static void attributes_of(struct world *w)
{
	uint64_t managed = w->l->minor >= 11 ? BIT(CS_PY_MANAGED_DICT) : 0;
	uint64_t a =
		point(w, managed | (w->l->minor >= 13 ? BIT(CS_PY_INLINE_VALUES) : 0));
	uint64_t b = point(w, managed);
	const struct cs_py *py = fake_python_open(w->f);
	int64_t v;

	assert_true(cs_py_int(py, cs_py_attribute(py, a, "y"), &v) && v == 2);
	assert_true(cs_py_int(py, cs_py_attribute(py, b, "x"), &v) && v == 1);
	assert_true(cs_py_attribute(py, a, "z") == 0);
	shows(py, a, "<Point x=1 y=2>");
	shows(py, b, "<Point x=1 y=2>");
}

static void attributes(void **state)
{
	(void)state;
	each(attributes_of);
}

static void containers_of(struct world *w)
{
	uint64_t items[40], inner, self, deep, many;
	const struct cs_py *py;

	inner = small(w, 5);
	deep = tuple(w, &inner, 1);
	self = fake_object(w->f, w->type_list, 64);
	many = fake_alloc(w->f, 16);
	fake_put64(w->f, self, w->l->var_size, 2);
	fake_put64(w->f, self, w->l->list_items, many);
	fake_poke64(w->f->target, many, inner);
	fake_poke64(w->f->target, many + 8, self);
	for (size_t i = 0; i < 40; i++)
		items[i] = inner;
	many = list(w, items, 40);
	items[0] = deep;
	for (size_t i = 0; i < 2 * CS_MAX_PY_DEPTH; i++)
		items[0] = list(w, items, 1);
	py = fake_python_open(w->f);
	shows(py, deep, "(5,)");
	shows(py, self, "[5, [...]]");
	shows(py, many,
	      "[5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, "
	      "5, 5, 5, 5, "
	      "5, 5, 5, 5, ... 8 more]");
	shows(py, items[0], "[[[[[[[[...]]]]]]]]");
}

static void containers(void **state)
{
	(void)state;
	each(containers_of);
}

/** A page that the core does not hold is not the same as NULL or nothing. */
static void missing_of(struct world *w)
{
	uint64_t managed = w->l->minor >= 11 ? BIT(CS_PY_MANAGED_DICT) : 0;
	uint64_t object = fake_object(w->f, w->type_list, 64), page, plain;
	uint64_t t = type(w, "Lost", managed | BIT(CS_PY_HEAPTYPE));
	const struct cs_py *py;

	fake_put64(w->f, t, w->l->heaptype_qualname, fake_str(w->f, "Lost"));
	fake_put64(w->f, t, w->l->type_dictoffset, 64);
	fake_put64(w->f, t, w->l->type_dict, two_entries(w, 0));
	plain = fake_object(w->f, t, 128) + 64;
	fake_put64(w->f, plain, w->l->object_type, t);
	page = (w->f->next + 4095) & ~4095UL;
	fake_alloc(w->f, page + 4096 - w->f->next);
	fake_put64(w->f, object, w->l->var_size, 2);
	fake_put64(w->f, object, w->l->list_items, page);
	for (int32_t at = -32; at <= -8; at += 8) /* every place of a managed dict */
		fake_poke64(w->f->target, plain + (uint64_t)(int64_t)at, page + 64);
	fake_put64(w->f, plain, 64, page + 64);
	fake_fail(w->f->target, page, 4096);
	py = fake_python_open(w->f);
	shows(py, object, "[<unreadable>, <unreadable>]");
	assert_true(cs_py_attributes_lost(py, plain));
	assert_false(cs_py_attributes_lost(py, object));
}

static void missing(void **state)
{
	(void)state;
	each(missing_of);
}

static void floats(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{0.1, "0.1"},
		{1.0, "1.0"},
		{-0.0, "-0.0"},
		{1e16, "1e+16"},
		{123456789012345680.0, "1.2345678901234568e+17"},
		{1e-5, "1e-05"},
		{0.0001, "0.0001"},
		{5e-324, "5e-324"},
		{1.0 / 3, "0.3333333333333333"},
	};
	uint64_t objects[CS_COUNT(cases)];
	struct world w = {0};

	(void)state;
	world_create(&w, &versions[6]);
	for (size_t i = 0; i < CS_COUNT(cases); i++) {
		objects[i] = fake_object(w.f, w.type_float, 32);
		fake_poke(w.f->target, objects[i] + 16, &cases[i].value, 8);
	}
	fake_python_open(w.f);
	for (size_t i = 0; i < CS_COUNT(cases); i++)
		shows(&w.f->py, objects[i], cases[i].text);
	fake_python_destroy(w.f);
}

/** Every reader on every address of memory in which every word may point anywhere. */
static void hostile_of(struct world *w)
{
	uint64_t seed = 88172645463325252ULL + w->l->version, start = w->f->next;
	const struct cs_py *py;
	struct cs_strbuf out;

	for (uint64_t at = start; at < start + 0x8000; at += 8) {
		uint64_t types[] = {w->type_int,     w->type_list,   w->type_dict,
				    w->type_set,     w->f->type_str, w->f->type_tuple,
				    w->f->type_bytes};
		uint64_t v;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		v = seed % 7 == 0   ? seed
		    : seed % 7 == 1 ? UINT64_MAX - seed % 64
		    : seed % 7 == 2 ? seed % 64
		    : seed % 7 < 5  ? types[(seed >> 8) % CS_COUNT(types)]
				    : start + (seed >> 8) % 0x1000 * 8;
		fake_poke64(w->f->target, at, v);
	}
	py = fake_python_open(w->f);
	for (uint64_t at = start; at < start + 0x8000; at += 8) {
		uint64_t v;
		int64_t i;

		cs_strbuf_init(&out, CS_MAX_PY_REPR);
		cs_py_repr(py, at, &out);
		assert_true(out.len > 0 && out.len <= CS_MAX_PY_REPR && !out.cut);
		cs_strbuf_deinit(&out);
		(void)!cs_py_int(py, at, &i);
		(void)!cs_py_bytes(py, at, &v, &v);
		(void)cs_py_attribute(py, at, "x");
		(void)cs_py_type_full_name(py, at);
		(void)cs_py_type_inherits(py, at, "float");
	}
}

static void hostile(void **state)
{
	(void)state;
	each(hostile_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),      cmocka_unit_test(wide_text),
		cmocka_unit_test(ints),       cmocka_unit_test(tables),
		cmocka_unit_test(attributes), cmocka_unit_test(containers),
		cmocka_unit_test(floats),     cmocka_unit_test(hostile),
		cmocka_unit_test(missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
