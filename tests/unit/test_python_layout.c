/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Layouts of CPython: the table, and the offsets that a runtime publishes. Good ones are those of real
 * interpreters (debug_offsets.h); then each word in turn is made one that no interpreter has.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "debug_offsets.h"
#include "fake_target.h"
#include "python/layout.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define RUNTIME 0x7f0000001000UL
#define RW (CS_PROT_READ | CS_PROT_WRITE)
#define N_WORDS CS_COUNT(debug_words)
#define WORD(name) word_of(name)

static size_t word_of(const char *name)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (!strcmp(debug_words[i].name, name))
			return i;
	fail_msg("no word %s", name);
	return 0;
}

/** What build @build has at the start of _PyRuntime, word number @changed being @value; its bytes. */
static size_t runtime_of(unsigned build, size_t changed, uint64_t value, uint64_t *ret)
{
	size_t n = 1;

	memcpy(ret, "xdebugpy", 8);
	for (size_t i = 0; i < N_WORDS; i++)
		if (debug_words[i].value[build] != NO_WORD)
			ret[n++] = i == changed ? value : debug_words[i].value[build];
	return n * 8;
}

/** cs_py_layout_published() on @len bytes at @address. */
static struct cs_error *published(const void *bytes, size_t len, uint64_t address, uint16_t machine,
				  struct cs_py_layout *ret)
{
	struct fake_target *target = fake_create(machine);
	struct cs_error *err;
	struct cs_mem *mem;

	if (len)
		fake_map(target, address, bytes, len, RW);
	assert_true(cs_ok(cs_mem_create(fake_cs(target), &mem)));
	err = cs_py_layout_published(mem, address, machine, ret);
	cs_mem_destroy(mem);
	fake_destroy(target);
	return err;
}

/** One process for each build, of which a word is changed for a while: making one takes its time. */
static struct fake_target *builds[N_BUILDS];

static int setup(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++) {
		uint64_t words[N_WORDS + 1];
		size_t len = runtime_of(build, NO_WORD, 0, words);

		builds[build] = fake_create(build == V3_14_ARM64 ? EM_AARCH64 : EM_X86_64);
		fake_map(builds[build], RUNTIME, words, len, RW);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++)
		fake_destroy(builds[build]);
	return 0;
}

/** What build @build publishes with word number @changed (NO_WORD: none) being @value. */
static struct cs_error *published_with(unsigned build, size_t changed, uint64_t value,
				       struct cs_py_layout *ret)
{
	struct cs_target *target = fake_cs(builds[build]);
	uint64_t words[N_WORDS + 1];
	struct cs_error *err;
	struct cs_mem *mem;

	fake_poke(builds[build], RUNTIME, words, runtime_of(build, changed, value, words));
	assert_true(cs_ok(cs_mem_create(target, &mem)));
	err = cs_py_layout_published(mem, RUNTIME, target->machine, ret);
	cs_mem_destroy(mem);
	return err;
}

static int32_t field(const struct cs_py_layout *layout, size_t i)
{
	return *(const int32_t *)(const void *)((const char *)layout + cs_py_fields[i].position);
}

static void expect(struct cs_error *err, enum cs_error_code code)
{
	assert_non_null(err);
	assert_int_equal(cs_error_code(err), code);
	cs_error_destroy(err);
}

/* ---- the table ---- */

static void the_table_has_what_it_says(void **state)
{
	struct cs_py_layout l;

	(void)state;
	assert_true(cs_py_layout_table(0x030b07f0, false, EM_X86_64, &l));
	assert_int_equal(l.version, 0x030b07f0);
	assert_int_equal(l.minor, 11);
	assert_int_equal(l.source, CS_LAYOUT_TABLE);
	assert_int_equal(l.frame_owner, 69);
	assert_int_equal(l.code_adaptive, 184);
	assert_int_equal(l.pyframe_code, CS_ABSENT);
	assert_true(cs_py_layout_table(0x03060000, false, EM_X86_64, &l));
	assert_int_equal(l.pyframe_lasti, 120);
	assert_int_equal(l.runtime_interpreters_head, CS_ABSENT);
	assert_true(cs_py_layout_table(0x030d00f0, true, EM_X86_64, &l));
	assert_int_equal(l.object_type, 24);
	assert_true(l.free_threaded);
	/* 3.7.0 to 3.7.3 had another end of the runtime. */
	assert_true(cs_py_layout_table(0x030703f0, false, EM_X86_64, &l));
	assert_int_equal(l.runtime_tstate_current, 1392);
	assert_true(cs_py_layout_table(0x030704f0, false, EM_X86_64, &l));
	assert_int_equal(l.runtime_tstate_current, 1480);
	assert_true(cs_py_layout_table(0x030704f0, false, EM_AARCH64, &l));
	assert_int_equal(l.runtime_tstate_current, 1496);
}

static void other_versions_have_no_table(void **state)
{
	static const uint32_t versions[] = {0, 0x02070000, 0x030500f0, 0x03100000, 0x03ff0000, 0x04060000,
					    0xffffffff};
	struct cs_py_layout l;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(versions); i++)
		assert_false(cs_py_layout_table(versions[i], false, EM_X86_64, &l));
	for (unsigned minor = 6; minor <= 15; minor++) {
		assert_true(cs_py_layout_table(3U << 24 | minor << 16, false, EM_X86_64, &l));
		assert_true(cs_py_layout_table(3U << 24 | minor << 16, true, EM_X86_64, &l) ==
			    (minor >= 13));
	}
}

/** The field "object_size" that goes with "object_field"; its value, or CS_ABSENT. */
static int32_t size_beside(const struct cs_py_layout *l, const char *name)
{
	for (size_t i = 0; i < cs_py_n_fields; i++) {
		size_t len = strlen(cs_py_fields[i].name) - strlen("size");

		if (cs_py_fields[i].bytes == 0 && !strncmp(cs_py_fields[i].name, name, len) &&
		    !strcmp(cs_py_fields[i].name + len, "size"))
			return field(l, i);
	}
	return CS_ABSENT;
}

/** Fields that do not lie in the structure that their object's size is of. */
static bool is_elsewhere(const struct cs_py_field *f)
{
	/* _PyThreadStateImpl and _PyTaskObj begin with the structure; arrays end one. */
	return strstr(f->declared, "Impl.") || strstr(f->declared, "localsplus") ||
	       strstr(f->declared, "co_code_adaptive");
}

static void fields_lie_in_their_structures(void **state)
{
	static const uint16_t machines[] = {EM_X86_64, EM_AARCH64};
	struct cs_py_layout l;

	(void)state;
	for (unsigned build = 0; build < 40; build++) {
		uint32_t version = 3U << 24 | (6 + build / 4) << 16;

		if (!cs_py_layout_table(version, build & 1, machines[build >> 1 & 1], &l))
			continue;
		for (size_t i = 0; i < cs_py_n_fields; i++) {
			const struct cs_py_field *f = &cs_py_fields[i];
			int32_t at = field(&l, i), size = size_beside(&l, f->name);

			if (at == CS_ABSENT || f->bytes == 0)
				continue;
			if (at < 0 || (uint32_t)at % CS_MIN(f->bytes, 8U))
				fail_msg("%x %s: %d", version, f->name, at);
			if (size != CS_ABSENT && !is_elsewhere(f) && (int64_t)at + f->bytes > size)
				fail_msg("%x %s: %d + %u of %d", version, f->name, at, f->bytes, size);
		}
	}
}

/* ---- published ---- */

static void real_offsets_are_taken(void **state)
{
	static const uint32_t versions[] = {0x030d00f0, 0x030d0ff0, 0x030e0af0, 0x030f02f0, 0x030e0af0};

	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++) {
		struct cs_py_layout l;

		assert_null(published_with(build, NO_WORD, 0, &l));
		assert_int_equal(l.version, versions[build]);
		assert_int_equal(l.source, CS_LAYOUT_PUBLISHED);
		assert_int_equal(l.free_threaded, build == V3_13T);
		assert_int_equal(l.interp_size, debug_words[WORD("interpreter_state.size")].value[build]);
		assert_int_equal(l.runtime_size, debug_words[WORD("runtime_state.size")].value[build]);
		assert_int_equal(l.frame_executable, 0);
		assert_int_equal(l.interp_threads_head,
				 debug_words[WORD("interpreter_state.threads_head")].value[build]);
		assert_int_equal(l.code_adaptive,
				 debug_words[WORD("code_object.co_code_adaptive")].value[build]);
		/* those that are given relative to another */
		assert_int_equal(l.interp_gc_collecting,
				 debug_words[WORD("interpreter_state.gc")].value[build] +
					 debug_words[WORD("gc.collecting")].value[build]);
		assert_int_equal(l.gil_locked, build == V3_13T ? 24 : 16);
		assert_int_equal(l.gil_last_holder, build == V3_13T ? 16 : 8);
		/* in 3.13 it begins what only asyncio knows, behind what all thread states have */
		if (build == V3_13 || build == V3_13T)
			assert_int_equal(l.tstate_running_loop, l.tstate_size);
		/* those that are not published come from the table */
		assert_int_equal(l.tstate_exc_info, build == V3_15 ? 144 : 120);
	}
}

/** True for what differs between patch releases: sizes, and what lies behind a structure that grew. */
static bool differs_by_patch(const char *name)
{
	return strstr(name, "_size") || !strcmp(name, "tstate_running_loop");
}

/** The table says the same as the interpreters. */
static void the_table_agrees_with_real_offsets(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++) {
		struct cs_py_layout real, table;

		assert_null(published_with(build, NO_WORD, 0, &real));
		assert_true(cs_py_layout_table(real.version, real.free_threaded,
					       build == V3_14_ARM64 ? EM_AARCH64 : EM_X86_64, &table));
		for (size_t i = 0; i < cs_py_n_fields; i++)
			if (!differs_by_patch(cs_py_fields[i].name) &&
			    field(&real, i) != field(&table, i))
				fail_msg("%x %s: %d, not %d", real.version, cs_py_fields[i].name,
					 field(&real, i), field(&table, i));
	}
}

/** True if the two differ in no field that is aligned to more than @bytes. */
static bool same_but_small(const struct cs_py_layout *a, const struct cs_py_layout *b, unsigned bytes)
{
	for (size_t i = 0; i < cs_py_n_fields; i++)
		if ((!cs_py_fields[i].bytes || cs_py_fields[i].bytes > bytes) && field(a, i) != field(b, i))
			return false;
	return true;
}

static void refuse(unsigned build, size_t word, uint64_t value)
{
	const char *name = debug_words[word].name;
	struct cs_py_layout l;
	struct cs_error *err = published_with(build, word, value, &l);

	if (!err)
		fail_msg("%u %s = 0x%llx is taken", build, name, (unsigned long long)value);
	if (cs_error_code(err) != CS_ERR_FORMAT || !strstr(cs_error_message(err), name))
		fail_msg("%u %s = 0x%llx: %s", build, name, (unsigned long long)value,
			 cs_error_message(err));
	cs_error_destroy(err);
}

/** @by bytes further on there is room for no field that is aligned to more: refused, or of no use to us. */
static void refuse_shifted(unsigned build, size_t word, unsigned by)
{
	uint64_t value = debug_words[word].value[build] + by;
	struct cs_py_layout good, l;
	struct cs_error *err = published_with(build, word, value, &l);

	assert_null(published_with(build, NO_WORD, 0, &good));
	if (err)
		expect(err, CS_ERR_FORMAT);
	else if (!same_but_small(&good, &l, by))
		fail_msg("%u %s = 0x%llx is taken", build, debug_words[word].name,
			 (unsigned long long)value);
}

static bool is_size(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && !strcmp(dot, ".size");
}

/** The size of the structure that @word is of; 0: it is not published. */
static uint64_t structure_size(unsigned build, size_t word)
{
	const char *name = debug_words[word].name;
	size_t len = (size_t)(strchr(name, '.') - name);

	for (size_t i = 0; i < N_WORDS; i++)
		if (is_size(debug_words[i].name) && !strncmp(debug_words[i].name, name, len + 1) &&
		    debug_words[i].value[build] != NO_WORD)
			return debug_words[i].value[build];
	return 0;
}

static void a_hostile_word_is_refused_by_name(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++)
		for (size_t i = WORD("free_threaded") + 1; i < N_WORDS; i++) {
			uint64_t old = debug_words[i].value[build];

			if (old == NO_WORD)
				continue;
			/* larger than any structure; what a cast to 32 bits would make good again */
			refuse(build, i, (1UL << 20) + 8);
			refuse(build, i, 1UL << 31);
			refuse(build, i, 1UL << 32 | old);
			refuse(build, i, 1UL << 63);
			refuse(build, i, UINT64_MAX - 7);
			refuse(build, i, UINT64_MAX);
			refuse_shifted(build, i, 1);
			refuse_shifted(build, i, 4);
		}
}

static void a_field_outside_of_its_structure_is_refused(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++)
		for (size_t i = WORD("free_threaded") + 1; i < N_WORDS; i++) {
			const char *name = debug_words[i].name;
			uint64_t old = debug_words[i].value[build], size = structure_size(build, i);

			/* generation_stats_size is that of another structure */
			if (old == NO_WORD || !size || is_size(name) || strstr(name, "stats_size"))
				continue;
			refuse(build, i, size);
			refuse(build, i, (size + 15) & ~7UL);
		}
}

/** A size that is too small leaves fields outside; none at all would let everything in. */
static void a_hostile_size_is_refused(void **state)
{
	(void)state;
	for (unsigned build = 0; build < N_BUILDS; build++)
		for (size_t i = WORD("free_threaded") + 1; i < N_WORDS; i++) {
			struct cs_py_layout l;

			if (debug_words[i].value[build] == NO_WORD || !is_size(debug_words[i].name))
				continue;
			expect(published_with(build, i, 0, &l), CS_ERR_FORMAT);
			/* Two objects of nothing but a header have fields no further than that. */
			if (strcmp(debug_words[i].name, "pyobject.size") != 0)
				expect(published_with(build, i, 8, &l), CS_ERR_FORMAT);
		}
}

static void the_lock_must_be_where_its_fields_are(void **state)
{
	static const char *const names[] = {"interpreter_state.gil_runtime_state",
					    "interpreter_state.gil_runtime_state_locked",
					    "interpreter_state.gil_runtime_state_holder"};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(names); i++)
		for (uint64_t value = 0; value < 180000; value += 60000) {
			struct cs_py_layout l;

			expect(published_with(V3_13, WORD(names[i]), value, &l), CS_ERR_FORMAT);
		}
}

static void other_versions_are_not_supported(void **state)
{
	static const uint64_t versions[] = {0,		0x030c01f0, 0x031000f0, 0x040d00f0,
					    0x020d00f0, 0xffffffff, 0x000d00f0};
	struct cs_py_layout l;

	(void)state;
	for (size_t i = 0; i < CS_COUNT(versions); i++)
		expect(published_with(V3_13, WORD("version"), versions[i], &l), CS_ERR_UNSUPPORTED);
	expect(published_with(V3_13, WORD("version"), 1UL << 32 | 0x030d00f0, &l), CS_ERR_FORMAT);
	expect(published_with(V3_13, WORD("version"), UINT64_MAX, &l), CS_ERR_FORMAT);
	expect(published_with(V3_13, WORD("free_threaded"), 2, &l), CS_ERR_FORMAT);
	expect(published_with(V3_13, WORD("free_threaded"), UINT64_MAX, &l), CS_ERR_FORMAT);
}

/** Whatever of it is missing, nothing is taken, and the answer says where memory ended. */
static void truncated_memory_is_no_layout(void **state)
{
	uint64_t words[N_WORDS + 1];
	size_t len = runtime_of(V3_15, NO_WORD, 0, words);
	struct cs_py_layout l;

	(void)state;
	for (size_t n = 0; n < len; n += n < 40 ? 1 : 8)
		expect(published(words, n, RUNTIME, EM_X86_64, &l), CS_ERR_FAULT);
	expect(published(words, 8, RUNTIME, EM_X86_64, &l), CS_ERR_FAULT); /* the cookie alone */
	assert_null(published(words, len, RUNTIME, EM_X86_64, &l));
	/* at any address, and up to the very end of the address space */
	assert_null(published(words, len, RUNTIME + 1, EM_X86_64, &l));
	assert_false(cs_ok(published(words, 32, UINT64_MAX - 32, EM_X86_64, &l)));
	assert_false(cs_ok(published(NULL, 0, UINT64_MAX, EM_X86_64, &l)));
}

static void without_cookie_there_is_nothing(void **state)
{
	uint64_t words[N_WORDS + 1];
	size_t len = runtime_of(V3_14, NO_WORD, 0, words);
	struct cs_py_layout l;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		((char *)words)[i] ^= 1;
		expect(published(words, len, RUNTIME, EM_X86_64, &l), CS_ERR_NOT_FOUND);
		((char *)words)[i] ^= 1;
	}
	memset(words, 0, sizeof(words));
	expect(published(words, len, RUNTIME, EM_X86_64, &l), CS_ERR_NOT_FOUND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_has_what_it_says),
		cmocka_unit_test(other_versions_have_no_table),
		cmocka_unit_test(fields_lie_in_their_structures),
		cmocka_unit_test(real_offsets_are_taken),
		cmocka_unit_test(the_table_agrees_with_real_offsets),
		cmocka_unit_test(a_hostile_word_is_refused_by_name),
		cmocka_unit_test(a_field_outside_of_its_structure_is_refused),
		cmocka_unit_test(a_hostile_size_is_refused),
		cmocka_unit_test(the_lock_must_be_where_its_fields_are),
		cmocka_unit_test(other_versions_are_not_supported),
		cmocka_unit_test(truncated_memory_is_no_layout),
		cmocka_unit_test(without_cookie_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
