/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of native functions: which only carry Python calls, which are the evaluation loop, and which Python
 * names are in Cython's C names. The names are those of real stacks (CPython 3.6 to 3.13 in gdb) and of
 * modules that Cython 0.29.37 and 3.3.1 made; what they stand for is what Cython's own tracebacks say.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/limits.h"
#include "python/state.h"

#include <stdlib.h>
#include <string.h>

static int setup(void **state)
{
	*state = cs_arena_create(16UL << 20);
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	cs_arena_destroy(*state);
	return 0;
}

static void what_carries_calls_is_plumbing(void **state)
{
	static const char *const names[] = {
		/* calls, from 3.6 on */
		"PyEval_EvalCodeEx", "_PyEval_EvalCodeWithName", "fast_function", "call_function",
		"do_call_core", "_PyFunction_FastCallDict", "_PyFunction_Vectorcall", "function_call",
		"function_code_fastcall", "trace_call_function", "_PyEval_Vector", "PyEval_EvalFrameEx",
		"_PyObject_FastCallKeywords", "_PyObject_Call_Prepend", "PyObject_CallFunctionObjArgs",
		"PyObject_Vectorcall", "_PyObject_VectorcallTstate", "_PyObject_MakeTpCall",
		"_PyObject_CallMethodIdObjArgs", "_PyMethodDef_RawFastCallKeywords", "object_vacall",
		"cfunction_call", "cfunction_vectorcall_FASTCALL_KEYWORDS", "method_vectorcall",
		"method_vectorcall_O", "method_call", "wrapperdescr_call", "wrap_unaryfunc",
		"type_call", "PyVectorcall_Call", "_PyCFunction_FastCallDict",
		"_Py_VectorCall_StackRefSteal", "_PyCallMethodDescriptorFast_StackRefSteal",
		/* special methods and operators */
		"slot_tp_call", "slot_tp_getattr_hook", "_Py_slot_tp_getattr_hook", "slot_nb_add",
		"slot_mp_subscript", "slot_sq_contains", "vectorcall_method", "vectorcall_unbound",
		"call_unbound_noarg", "binary_op1", "PyNumber_Add", "PyObject_RichCompare",
		"do_richcompare", "PyObject_GetAttr", "_PyObject_GenericGetAttrWithDict",
		"PyObject_Repr", "PyObject_IsTrue", "PyObject_GetItem", "PyObject_GetIter",
		"PyIter_Next", "property_descr_get", "_PyNumber_PowerNoMod",
		"_PyObject_GetAttrStackRef", "_PyForIter_VirtualIteratorNext",
		/* generators, imports, start and end of a thread */
		"gen_send_ex", "gen_send_ex2", "gen_iternext", "PyGen_am_send", "_PyGen_Send",
		"async_gen_asend_send", "import_name", "_PyEval_ImportName",
		"PyImport_ImportModuleLevelObject", "run_mod",
		"run_eval_code_obj", "pyrun_file", "PyRun_SimpleFileExFlags", "_PyRun_AnyFileObject",
		"pymain_run_python", "Py_RunMain", "Py_BytesMain", "Py_Main", "thread_run",
		"pythread_wrapper", "t_bootstrap", "py_trampoline_evaluator",
		/* parts and copies */
		"_PyObject_VectorcallTstate.lto_priv.3", "slot_tp_hash.cold", "type_call.part.0",
		"call_method.constprop.1", "vectorcall_method.constprop.0.isra.0", "pymain_main.warm",
		"gen_send_ex2.llvm.1234567890", "PyImport_ImportModuleLevelObject.localalias",
		"_PyEval_EvalFrameDefault", "_TAIL_CALL_LOAD_FAST",
		/* what Cython puts around the user's functions */
		"__Pyx_PyObject_Call", "__Pyx_CyFunction_Vectorcall_FASTCALL_KEYWORDS",
		"__Pyx_Generator_Next", "__pyx_getprop_3pkg_5sub_x_5model_3Ext_prop",
		"__pyx_specialmethod___pyx_pw_3pkg_5sub_x_5model_3Ext_17__next__",
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (!cs_py_is_plumbing(names[i]))
			fail_msg("%s", names[i]);
}

static void what_does_something_stays(void **state)
{
	static const char *const names[] = {
		"list_sort", "list_sort_impl", "listsort", "builtin_sorted", "map_next", "filter_next",
		"builtin_exec", "builtin_exec_impl", "builtin___build_class__", "functools_reduce",
		"time_sleep", "list_extend", "dict_subscript", "subtype_dealloc", "gen_close",
		"_gen_throw", "gen_dealloc", "gc_collect_main", "take_gil", "PyEval_RestoreThread",
		"PyEval_AcquireThread", "PyImport_Import", "partial_vectorcall", "task_step",
		"context_run", "PyObject_ClearWeakRefs", "PyObject_GC_Del", "PyObject_Malloc",
		"_PyObject_GC_Alloc", "PySequence_Tuple", "trace_trampoline", "profile_trampoline",
		"_PyEval_MakePendingCalls", "handle_signals", "Py_FatalError", "Py_FinalizeEx",
		"PyCFuncPtr_call", "_CallPythonObject", "methodcaller_call", "lru_cache_call",
		"list_vectorcall", "long_new", "main", "_start", "thread_PyThread_exit_thread",
		/* nearly names of plumbing */
		"", ".", "call", "call_function_", "call_functio", "PyObject_", "PyObject_CallX",
		"gen_sen", "type_call_", "slot_", "xslot_tp_call", "_PyEval_EvalFrameDefaul",
		"_PyEval_EvalFrameDefault2",
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(names); i++)
		if (cs_py_is_plumbing(names[i]))
			fail_msg("%s", names[i]);
}

static void the_loop_has_many_names(void **state)
{
	static const char *const loops[] = {
		"_PyEval_EvalFrameDefault",
		"_PyEval_EvalFrameDefault.cold",
		"_PyEval_EvalFrameDefault.cold.12",
		"_PyEval_EvalFrameDefault.part.0",
		"_PyEval_EvalFrameDefault.constprop.0",
		"_PyEval_EvalFrameDefault.isra.0.cold",
		"_PyEval_EvalFrameDefault.lto_priv.0",
		"_PyEval_EvalFrameDefault.warm",
		"_PyEval_EvalFrameDefault.llvm.8123",
		"_TAIL_CALL_CALL_KW",
		"_TAIL_CALL_start_frame.llvm.123",
	};
	static const char *const others[] = {"PyEval_EvalFrameEx", "_PyEval_EvalFrame", "_PyEval_Vector",
					     "_PyEval_EvalFrameDefaultX", "_TAIL_CALL", "", ".cold"};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(loops); i++)
		if (!cs_py_is_eval_loop(loops[i]))
			fail_msg("%s", loops[i]);
	for (size_t i = 0; i < CS_COUNT(others); i++)
		if (cs_py_is_eval_loop(others[i]))
			fail_msg("%s", others[i]);
}

static const struct {
	const char *c, *python; /* NULL: it tells none */
} cython_pairs[] = {
	{"__pyx_pw_5model_7Encoder_3forward", "model.Encoder.forward"},
	{"__pyx_pw_3pkg_5sub_x_5model_1nap", "pkg.sub_x.model.nap"},
	{"__pyx_pf_3pkg_5sub_x_5model_4top", "pkg.sub_x.model.top"},
	{"__pyx_pw_3pkg_5sub_x_5model_33name_with_1_digits_22x",
	 "pkg.sub_x.model.name_with_1_digits_22x"},
	{"__pyx_pw_3pkg_5sub_x_5model_31_private", "pkg.sub_x.model._private"},
	{"__pyx_pw_3pkg_5sub_x_5model_35f3.cold", "pkg.sub_x.model.f3"},
	/* C functions have no count */
	{"__pyx_f_3pkg_5sub_x_5model_3Ext_cpmeth", "pkg.sub_x.model.Ext.cpmeth"},
	{"__pyx_f_3pkg_5sub_x_5model_cnap", "pkg.sub_x.model.cnap"},
	{"__pyx_f_5model_4load_data", "model.load.data"},
	{"__pyx_f_5model_2cnap", NULL},
	/* special methods, properties, functions in functions */
	{"__pyx_pw_3pkg_5sub_x_5model_3Ext_1__init__", "pkg.sub_x.model.Ext.__init__"},
	{"__pyx_pf_3pkg_5sub_x_5model_3Ext___init__", "pkg.sub_x.model.Ext.__init__"},
	{"__pyx_pf_9importlib_10_bootstrap_16_DummyModuleLock_6__repr__",
	 "importlib._bootstrap._DummyModuleLock.__repr__"},
	{"__pyx_pf_3pkg_5sub_x_5model_3Ext_4prop___get__",
	 "pkg.sub_x.model.Ext.prop.__get__"},
	{"__pyx_pw_3pkg_5sub_x_5model_3Ext_4prop_3__set__",
	 "pkg.sub_x.model.Ext.prop.__set__"},
	{"__pyx_pw_3pkg_5sub_x_5model_5outer_3mid_1inmost",
	 "pkg.sub_x.model.outer.mid.inmost"},
	{"__pyx_pf_3pkg_5sub_x_5model_7PyClass_method", "pkg.sub_x.model.PyClass.method"},
	/* a count or a length: a wrapper's name always has a count, a body's need not */
	{"__pyx_pw_5model_4load_data", "model.load_data"},
	{"__pyx_pf_5model_4load_data", NULL},
	{"__pyx_pf_5model_4Load_data", "model.Load.data"},
	/* lambdas, generator expressions, generators */
	{"__pyx_pw_3pkg_5sub_x_5model_3run___pyx_lambda_funcdef_lambda3",
	 "pkg.sub_x.model.run.<lambda>"},
	{"__pyx_pw_3pkg_5sub_x_5model_3run_20__pyx_lambda_funcdef_lambda23",
	 "pkg.sub_x.model.run.<lambda>"},
	{"__pyx_pw_3pkg_5sub_x_5model_3run_10lambda13", "pkg.sub_x.model.run.<lambda>"},
	{"__pyx_lambda_funcdef_lambda12", "<lambda>"},
	{"__pyx_pf_3pkg_5sub_x_5model_4gexp_genexpr", "pkg.sub_x.model.gexp.<genexpr>"},
	{"__pyx_gb_3pkg_5sub_x_5model_7PyClass_12generator",
	 "pkg.sub_x.model.PyClass.<generator>"},
	{"__pyx_gb_3pkg_5sub_x_5model_4gexp_2generator6",
	 "pkg.sub_x.model.gexp.<generator>"},
	/* fused types: Cython 3, and 0.29 */
	{"__pyx_fuse_1__pyx_pw_3pkg_5sub_x_5model_51fused_fn", "pkg.sub_x.model.fused_fn"},
	{"__pyx_fuse_0_1__pyx_f_3pkg_5sub_x_5model_fused_cp", "pkg.sub_x.model.fused_cp"},
	{"__pyx_pw_3pkg_5sub_x_5model_55__pyx_fuse_0__pyx_f_3pkg_5sub_x_5model_fused_cp",
	 "pkg.sub_x.model.fused_cp"},
	{"__pyx_pw_3pkg_5sub_x_5model_49__pyx_fuse_0fused_cp", "pkg.sub_x.model.fused_cp"},
	/* not ASCII */
	{"__pyx_Upw_3pkg_5sub_x_5model_39berfunktion_xje",
	 "pkg.sub_x.model.\303\274berfunktion"},
	{"__pyx_Upw_3pkg_5sub_x_5model_10berklasse_1mthode_bwd36d",
	 "pkg.sub_x.model.\303\234berklasse.m\303\251thode"},
	{"__pyx_Upf_3pkg_5sub_x_5model_38berfunktion_xje",
	 "pkg.sub_x.model.\303\274berfunktion"},
	/* C++ */
	{"__pyx_pw_5model_1f(_object*, _object*)", "model.f"},
	{"__pyx_pymod_exec_model(_object*)", "model.<module>"},
	{"__pyx_pymod_exec_model", "model.<module>"},
	/* none */
	{"__pyx_tp_new_3pkg_5sub_x_5model_Ext", NULL},
	{"__pyx_pymod_exec_", NULL},
	{"__pyx_pw_", NULL},
	{"__pyx_pw_5model", NULL},
	{"__pyx_pw_5model_", NULL},
	{"__pyx_pw_5model_1", NULL},
	{"__pyx_pw_f", NULL},
	{"__pyx_pw_0_1f", NULL},
	{"__pyx_pw_99999999999999999999model_1f", NULL},
	{"__pyx_fuse_", NULL},
	{"__pyx_fuse_0", NULL},
	{"__pyx_pw_5model_1__pyx_fuse_0__pyx_f_", NULL},
	{"__pyx_U", NULL},
	{"__pyx_Upw_", NULL},
	{"__pyx_Upw_5model_1f", NULL},
	{"__pyx_Upw_5model_1f_999999999", NULL},
	{"__pyx_Upw_5model_1f_A", NULL},
	{"", NULL},
	{"main", NULL},
};

static void cython_names(void **state)
{
	for (size_t i = 0; i < CS_COUNT(cython_pairs); i++) {
		const char *python = cs_py_cython_name(*state, cython_pairs[i].c);

		if (!python != !cython_pairs[i].python ||
		    (python && strcmp(python, cython_pairs[i].python) != 0))
			fail_msg("%s is %s", cython_pairs[i].c, python ? python : "none");
	}
}

static void wrappers_and_bodies_are_one_function(void **state)
{
	static const struct {
		const char *inner, *outer;
		bool same;
	} pairs[] = {
		{"__pyx_pf_3pkg_5sub_x_5model_nap", "__pyx_pw_3pkg_5sub_x_5model_1nap", true},
		{"__pyx_pf_5model_10gen", "__pyx_pw_5model_11gen", true},
		{"__pyx_pf_5model_4load_data", "__pyx_pw_5model_5load_data", true},
		{"__pyx_pf_3pkg_5sub_x_5model_3Ext_4prop___get__",
		 "__pyx_pw_3pkg_5sub_x_5model_3Ext_4prop_1__get__", true},
		{"__pyx_f_5model_3Ext_cpmeth", "__pyx_pw_5model_3Ext_25cpmeth", true},
		{"__pyx_f_5model_3Ext_cpmeth", "__pyx_pf_5model_3Ext_24cpmeth", true},
		{"__pyx_pf_3pkg_5sub_x_5model_50fused_fn",
		 "__pyx_fuse_1__pyx_pw_3pkg_5sub_x_5model_51fused_fn", true},
		{"__pyx_fuse_0__pyx_f_5model_fused_cp",
		 "__pyx_pw_5model_55__pyx_fuse_0__pyx_f_5model_fused_cp", true},
		{"__pyx_Upf_3pkg_5sub_x_5model_10berklasse_mthode_otd94d",
		 "__pyx_Upw_3pkg_5sub_x_5model_10berklasse_1mthode_bwd36d", true},
		{"__pyx_lambda_funcdef_lambda1",
		 "__pyx_pw_3pkg_5sub_x_5model_6mapper___pyx_lambda_funcdef_lambda1", true},
		{"__pyx_lambda_funcdef_lambda12", "__pyx_pw_5model_3run_9lambda12", true},
		{"__pyx_Upf_3pkg_5sub_x_5model_38berfunktion_xje",
		 "__pyx_Upw_3pkg_5sub_x_5model_39berfunktion_xje", true},
		{"__pyx_pf_5model_6f.cold", "__pyx_pw_5model_7f", true},
		/* the other way round one function calls another: recursion */
		{"__pyx_pw_5model_1nap", "__pyx_pf_5model_nap", false},
		{"__pyx_f_5model_f", "__pyx_f_5model_f", false},
		{"__pyx_pf_5model_6f", "__pyx_pf_5model_6f", false},
		/* different functions */
		{"__pyx_pf_5model_6f", "__pyx_pw_5model_9f", false},
		{"__pyx_pf_5model_f", "__pyx_pw_5model_f", false},
		{"__pyx_pf_5model_6f", "__pyx_pw_5model_7g", false},
		{"__pyx_pf_5model_1A_6f", "__pyx_pw_5model_1B_7f", false},
		{"__pyx_lambda_funcdef_lambda2", "__pyx_pw_5model_3run_9lambda12", false},
		{"__pyx_f_5model_g", "__pyx_pw_5model_1f", false},
		{"__pyx_gb_5model_2generator", "__pyx_pw_5model_1generator", false},
		{"time_sleep", "__pyx_pw_5model_1f", false},
		{"__pyx_pf_5model_6f", "slot_tp_call", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < CS_COUNT(pairs); i++)
		if (cs_py_cython_same(pairs[i].inner, pairs[i].outer) != pairs[i].same)
			fail_msg("%s in %s", pairs[i].inner, pairs[i].outer);
}

/** Names come from files that a core chose: any length, any bytes. */
static void hostile_names_are_survived(void **state)
{
	static const char *const heads[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_Upw_", "__pyx_U",
					    "__pyx_fuse_0", "__pyx_pw_5model_", "__pyx_gb_1m_"};
	static const char alphabet[] = "0123456789_azAZ\303\274.(\377";
	static char name[3 * CS_MAX_PY_NAME];
	uint32_t seed = 7;

	for (unsigned round = 0; round < 20000; round++) {
		const char *head = heads[round % CS_COUNT(heads)];
		size_t len = round % 500 ? round % 60 : round % (sizeof(name) - 64);
		size_t at = strlen(head);

		memcpy(name, head, at);
		for (size_t i = 0; i < len; i++) {
			seed = seed * 1664525 + 1013904223;
			name[at++] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		name[at] = 0;
		(void)cs_py_cython_name(*state, name);
		(void)cs_py_cython_same(name, name);
		(void)cs_py_is_plumbing(name);
		(void)cs_py_is_eval_loop(name);
	}
	memset(name, '9', sizeof(name) - 1);
	memcpy(name, "__pyx_Upw_1", 11);
	assert_null(cs_py_cython_name(*state, name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_carries_calls_is_plumbing),
		cmocka_unit_test(what_does_something_stays),
		cmocka_unit_test(the_loop_has_many_names),
		cmocka_unit_test(cython_names),
		cmocka_unit_test(wrappers_and_bodies_are_one_function),
		cmocka_unit_test(hostile_names_are_survived),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
