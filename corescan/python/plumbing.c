/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which native functions only carry Python calls. Knows their names in CPython 3.6 to 3.15 and nothing else;
 * refuses to look at addresses: a loop that has no name is found by where its frame lies (weave.c).
 *
 * Plumbing passes on what one line of Python asked for: a call, an operator, an attribute, a step of a
 * generator. What does something by itself (list_sort, builtin_sorted, map_next, gc_collect, take_gil,
 * subtype_dealloc) is not, also where it calls back into Python, and neither is what a C program calls to
 * get things done by name (PyImport_Import).
 *
 * The names are those that stood on the stacks of all versions from 3.6 to 3.15 while a program called
 * through classes, descriptors, operators, iterators, imports, threads and C; for 3.14 and 3.15, of which
 * only stripped builds were at hand, others are from CPython: Python/ceval.c, Objects/call.c.
 */
#include "python/state.h"

#include <string.h>

/** Sorted: looked up by bsearch(). */
static const char *const names[] = {
	"PyCFunction_Call", "PyEval_CallFunction", "PyEval_CallMethod",
	"PyEval_CallObjectWithKeywords", "PyEval_EvalCode", "PyEval_EvalCodeEx",
	"PyEval_EvalFrame", "PyEval_EvalFrameEx", "PyGen_am_send", "PyImport_ImportModuleLevel",
	"PyImport_ImportModuleLevelObject", "PyIter_Next", "PyIter_NextItem", "PyIter_Send",
	"PyMapping_GetItemString", "PyMapping_GetOptionalItem",
	"PyMapping_GetOptionalItemString", "PyMapping_Length", "PyMapping_Size",
	"PyObject_ASCII", "PyObject_Bytes", "PyObject_Call", "PyObject_CallFinalizer",
	"PyObject_CallFinalizerFromDealloc", "PyObject_CallFunction",
	"PyObject_CallFunctionObjArgs", "PyObject_CallMethod", "PyObject_CallMethodNoArgs",
	"PyObject_CallMethodObjArgs", "PyObject_CallMethodOneArg", "PyObject_CallNoArgs",
	"PyObject_CallObject", "PyObject_CallOneArg", "PyObject_DelAttr",
	"PyObject_DelAttrString", "PyObject_DelItem", "PyObject_Format",
	"PyObject_GenericGetAttr", "PyObject_GenericSetAttr", "PyObject_GetAIter",
	"PyObject_GetAttr", "PyObject_GetAttrString", "PyObject_GetItem", "PyObject_GetIter",
	"PyObject_GetOptionalAttr", "PyObject_GetOptionalAttrString", "PyObject_HasAttr",
	"PyObject_HasAttrString", "PyObject_HasAttrStringWithError", "PyObject_HasAttrWithError",
	"PyObject_Hash", "PyObject_IsInstance", "PyObject_IsSubclass", "PyObject_IsTrue",
	"PyObject_Length", "PyObject_LengthHint", "PyObject_Not", "PyObject_Repr",
	"PyObject_RichCompare", "PyObject_RichCompareBool", "PyObject_SetAttr",
	"PyObject_SetAttrString", "PyObject_SetItem", "PyObject_Size", "PyObject_Str",
	"PyObject_Vectorcall", "PyObject_VectorcallDict", "PyObject_VectorcallMethod",
	"PySequence_Contains", "PySequence_DelItem", "PySequence_GetItem", "PySequence_Length",
	"PySequence_SetItem", "PySequence_Size", "PyVectorcall_Call", "Py_BytesMain",
	"Py_DECREF", "Py_DecRef", "Py_Main", "Py_RunMain", "Py_XDECREF", "RunMainFromImporter",
	"RunModule", "_PyAsyncGenASend_Send", "_PyCFunction_FastCallDict",
	"_PyCFunction_FastCallKeywords", "_PyCFunction_Vectorcall", "_PyEvalFrameClearAndPop",
	"_PyEval_CallTracing", "_PyEval_EvalCode", "_PyEval_EvalCodeWithName",
	"_PyEval_EvalFrame", "_PyEval_FrameClearAndPop", "_PyEval_ImportFrom",
	"_PyEval_ImportName", "_PyEval_LazyImportName", "_PyEval_UnpackIterable",
	"_PyEval_UnpackIterableStackRef", "_PyEval_Vector", "_PyForIter_NextWithIndex",
	"_PyForIter_VirtualIteratorNext", "_PyFrame_Clear", "_PyFrame_ClearExceptCode",
	"_PyFrame_ClearLocals", "_PyFunction_FastCall", "_PyFunction_FastCallDict",
	"_PyFunction_FastCallKeywords", "_PyFunction_Vectorcall", "_PyGen_Send", "_PyJIT_Entry",
	"_PyLong_FromNbInt", "_PyMethodDef_RawFastCallDict", "_PyMethodDef_RawFastCallKeywords",
	"_PyMethodDescr_FastCallKeywords", "_PyMethodDescr_Vectorcall",
	"_PyObject_GenericGetAttrWithDict", "_PyObject_GenericSetAttrWithDict",
	"_PyObject_GetAttrId", "_PyObject_GetAttrStackRef", "_PyObject_GetMethod",
	"_PyObject_GetMethodStackRef", "_PyObject_HasAttrId", "_PyObject_HashFast",
	"_PyObject_LookupAttr", "_PyObject_LookupAttrId", "_PyObject_MakeTpCall",
	"_PyObject_RealIsInstance", "_PyObject_RealIsSubclass", "_PyObject_SetAttrId",
	"_PyTier2Interpreter", "_PyVectorcall_Call", "_Py_DECREF", "_Py_Dealloc", "_Py_DecRef",
	"_Py_LoadAttr_StackRefSteal", "_Py_UnixMain", "_Py_XDECREF", "_Py_slot_tp_getattr_hook",
	"_Py_slot_tp_getattro", "async_gen_asend_iternext", "async_gen_asend_send",
	"async_gen_asend_throw", "async_gen_athrow_iternext", "async_gen_athrow_send",
	"async_gen_athrow_throw", "binary_iop", "binary_iop1", "binary_op", "binary_op1",
	"call_attribute", "call_exc_trace", "call_function", "call_function_tail",
	"call_instrumentation_vector", "call_maybe", "call_method", "call_one_instrument",
	"call_profile_func", "call_trace", "call_trace_func", "call_trace_protected",
	"call_trampoline", "call_unbound", "call_unbound_noarg", "callmethod",
	"capi_call_instrumentation", "cfunction_call", "cfunction_call_varargs",
	"classmethoddescr_call", "clear_gen_frame", "clear_thread_frame", "cmp_outcome",
	"coro_wrapper_close", "coro_wrapper_iternext", "coro_wrapper_send", "coro_wrapper_throw",
	"do_call", "do_call_core", "do_richcompare", "dotted_getattr", "ext_do_call",
	"fast_function", "frame_dealloc", "function_call", "function_code_fastcall",
	"gen_close_iter", "gen_iternext", "gen_send", "gen_send_ex", "gen_send_ex2",
	"import_ensure_initialized", "import_find_and_load", "import_from", "import_name",
	"instancemethod_call", "jit_entry", "lookup_maybe_method", "lookup_method",
	"maybe_call_line_trace", "method_call", "method_vectorcall", "methoddescr_call",
	"object_isinstance", "object_issubclass", "object_recursive_isinstance", "object_vacall",
	"property_descr_get", "property_descr_set", "py::jit:executor", "py::jit_entry",
	"py_trampoline_evaluator", "pyrun_file", "pyrun_simple_file", "pythread_wrapper",
	"richcmp_eq", "richcmp_ge", "richcmp_gt", "richcmp_le", "richcmp_lt", "richcmp_ne",
	"run_command", "run_eval_code_obj", "run_file", "run_mod", "t_bootstrap", "ternary_iop",
	"ternary_op", "thread_run", "trace_call_function", "trace_function_entry", "type_call",
	"unpack_iterable", "vectorcall_maybe", "vectorcall_method", "vectorcall_unbound",
	"wrap_binaryfunc", "wrap_binaryfunc_l", "wrap_binaryfunc_r", "wrap_buffer", "wrap_call",
	"wrap_del", "wrap_delattr", "wrap_delitem", "wrap_descr_delete", "wrap_descr_get",
	"wrap_descr_set", "wrap_hashfunc", "wrap_indexargfunc", "wrap_init", "wrap_inquirypred",
	"wrap_lenfunc", "wrap_next", "wrap_objobjargproc", "wrap_objobjproc",
	"wrap_releasebuffer", "wrap_setattr", "wrap_sq_delitem", "wrap_sq_item",
	"wrap_sq_setitem", "wrap_ternaryfunc", "wrap_ternaryfunc_r", "wrap_unaryfunc",
	"wrapper_call", "wrapperdescr_call", "wrapperdescr_raw_call",
};

/** Families whose members are all plumbing. */
static const char *const families[] = {
	"PyNumber_", /* PyNumber_Add, ... */
	"PyRun_",
	"_PyCallMethodDescriptor", /* 3.14+ */
	"_PyNumber_",
	"_PyObject_Call",
	"_PyObject_FastCall",
	"_PyObject_Vectorcall",
	"_PyRun_",
	"_Py_BuiltinCall",     /* 3.14+ */
	"_Py_CallBuiltinClass", /* 3.14+ */
	"_Py_VectorCall",      /* 3.14+ */
	"_Py_call_instrumentation",
	"cfunction_vectorcall_",
	"method_vectorcall_",
	"pymain_",
	"slot_am_", /* operators and special methods that a class defines in Python */
	"slot_bf_",
	"slot_mp_",
	"slot_nb_",
	"slot_sq_",
	"slot_tp_",
	"sys_profile_", /* 3.12+; the C function that calls the one in Python is profile_trampoline */
	"sys_trace_",
	/* What Cython puts around a function of the user (Cython: Cython/Compiler/Naming.py, Utility/) */
	"__Pyx_",
	"__pyx_FusedFunction_call",
	"__pyx_getprop_",
	"__pyx_mp_",
	"__pyx_nb_",
	"__pyx_setprop_",
	"__pyx_specialmethod_",
	"__pyx_sq_",
	"__pyx_tp_call_",
	"__pyx_tp_getattro_",
	"__pyx_tp_new_vectorcall_",
	"__pyx_tp_setattro_",
	"__pyx_tp_vectorcall_",
};

/**
 * Length of @function without what a compiler or linker adds for a part or a copy of it: .cold, .warm,
 * .part.1, .constprop.0, .isra.0, .lto_priv.0, .llvm.123, .localalias. A C identifier has no dot.
 */
static size_t base_length(const char *function)
{
	return strcspn(function, ".");
}

struct text {
	const char *text;
	size_t len;
};

static int compare(const void *a, const void *b)
{
	const struct text *key = a;
	const char *name = *(const char *const *)b;
	int order = strncmp(key->text, name, key->len);

	return order ? order : -(name[key->len] != 0);
}

static bool starts_with(const char *function, const char *prefix)
{
	return strncmp(function, prefix, strlen(prefix)) == 0;
}

bool cs_py_is_eval_loop(const char *function)
{
	static const char loop[] = "_PyEval_EvalFrameDefault";

	if (base_length(function) == sizeof(loop) - 1 && starts_with(function, loop))
		return true;
	/* With Py_TAIL_CALL_INTERP (3.14+) each instruction is a function, which jumps to the next. */
	return starts_with(function, "_TAIL_CALL_");
}

bool cs_py_is_plumbing(const char *function)
{
	struct text key = {function, base_length(function)};

	if (cs_py_is_eval_loop(function))
		return true;
	for (size_t i = 0; i < CS_COUNT(families); i++)
		if (starts_with(function, families[i]))
			return true;
	return bsearch(&key, names, CS_COUNT(names), sizeof(names[0]), compare) != NULL;
}
