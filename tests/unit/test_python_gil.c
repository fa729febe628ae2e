/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits for the GIL, by the names of native functions: those of real threads of CPython 3.6, 3.9 and 3.13
 * on glibc 2.36 in gdb, of which some wanted the GIL and some waited for other things.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "python/state.h"

#define FUTEX                                                                                      \
	"__futex_abstimed_wait_common64", "__futex_abstimed_wait_common",                          \
		"__GI___futex_abstimed_wait_cancelable64"
#define CONDITION FUTEX, "__pthread_cond_wait_common", "___pthread_cond_timedwait64"

#define WAITS(...)                                                                                 \
	({                                                                                         \
		static const char *const names_[] = {__VA_ARGS__};                                 \
		cs_py_waits_for_gil(names_, CS_COUNT(names_));                                     \
	})

static void take_gil_in_a_wait_is_one(void **state)
{
	(void)state;
	assert_true(WAITS(CONDITION, "PyCOND_TIMEDWAIT", "take_gil", "_PyEval_EvalFrameDefault"));
	assert_true(WAITS(CONDITION, "take_gil", "PyEval_RestoreThread"));
	assert_true(WAITS("__futex_abstimed_wait_common", "pthread_cond_timedwait@@GLIBC_2.3.2",
			  "take_gil.constprop.0"));
	assert_true(WAITS("pthread_cond_timedwait", "take_gil"));
}

static void so_it_is_where_take_gil_has_no_name(void **state)
{
	(void)state;
	assert_true(WAITS(CONDITION, NULL, "PyEval_RestoreThread"));
	assert_true(WAITS(CONDITION, "PyEval_RestoreThread"));
	assert_true(WAITS(CONDITION, "_PyEval_EvalFrameDefault.cold"));
	assert_true(WAITS(CONDITION, "_PyThreadState_Attach", "PyEval_RestoreThread"));
}

static void other_waits_are_none(void **state)
{
	(void)state;
	/* lock.acquire() with and without a limit */
	assert_false(WAITS(FUTEX, "do_futex_wait", "__new_sem_wait_slow64", "___sem_clockwait64",
			   "PyThread_acquire_lock_timed", "_PyEval_EvalFrameDefault"));
	assert_false(WAITS(FUTEX, "do_futex_wait", "__new_sem_wait", "PyThread_acquire_lock_timed"));
	/* a wait of somebody else's, called from Python */
	assert_false(WAITS(CONDITION, "std::condition_variable::wait_until", "take_gil"));
	assert_false(WAITS(CONDITION, NULL, NULL, "PyEval_RestoreThread"));
	assert_false(WAITS(CONDITION, "my_take_gil"));
	/* drop_gil() waits until somebody else has it */
	assert_false(WAITS(FUTEX, "__pthread_cond_wait_common", "___pthread_cond_wait", "drop_gil",
			   "_PyEval_EvalFrameDefault"));
	assert_false(WAITS("__GI___select", "pysleep", "time_sleep"));
}

static void nothing_is_no_wait(void **state)
{
	(void)state;
	assert_false(cs_py_waits_for_gil(NULL, 0));
	assert_false(WAITS("take_gil"));
	assert_false(WAITS(CONDITION));
	assert_false(WAITS(CONDITION, NULL));
	assert_false(WAITS("", "_", "__"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take_gil_in_a_wait_is_one),
		cmocka_unit_test(so_it_is_where_take_gil_has_no_name),
		cmocka_unit_test(other_waits_are_none),
		cmocka_unit_test(nothing_is_no_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
