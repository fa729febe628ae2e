/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A compiled module of the tests: calls back into Python through two functions of its own, from a
 * type's tp_call, and from a thread that Python did not make. It knows CPython's public API alone.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pthread.h>
#include <unistd.h>

__attribute__((noinline)) static PyObject *bouncer_hop(PyObject *function, PyObject *depth)
{
	PyObject *result = PyObject_CallFunctionObjArgs(function, depth, NULL);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return result;
}

__attribute__((noinline)) static PyObject *bouncer_bounce(PyObject *self, PyObject *args)
{
	PyObject *function, *depth, *result;

	(void)self;
	if (!PyArg_ParseTuple(args, "OO", &function, &depth))
		return NULL;
	result = bouncer_hop(function, depth);
	__asm__ volatile("" ::: "memory");
	return result;
}

static void *bouncer_thread(void *function)
{
	PyGILState_STATE state = PyGILState_Ensure();
	PyObject *result = PyObject_CallObject(function, NULL);

	Py_XDECREF(result);
	PyGILState_Release(state);
	return NULL;
}

static PyObject *bouncer_run_in_thread(PyObject *self, PyObject *function)
{
	pthread_t thread;

	(void)self;
	Py_INCREF(function);
	if (pthread_create(&thread, NULL, bouncer_thread, function) != 0)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

static void *native_thread(void *arg)
{
	(void)arg;
	for (;;)
		pause();
}

/* A thread that never enters Python. */
static PyObject *bouncer_native_thread(PyObject *self, PyObject *unused)
{
	pthread_t thread;

	(void)self;
	(void)unused;
	if (pthread_create(&thread, NULL, native_thread, NULL) != 0)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

static PyMethodDef bouncer_methods[] = {
	{"bounce", bouncer_bounce, METH_VARARGS, NULL},
	{"run_in_thread", bouncer_run_in_thread, METH_O, NULL},
	{"native_thread", bouncer_native_thread, METH_NOARGS, NULL},
	{NULL, NULL, 0, NULL},
};

static PyObject *caller_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *depth, *result;

	(void)kwargs;
	if (!PyArg_ParseTuple(args, "O", &depth))
		return NULL;
	result = PyObject_CallMethod(self, "method", "O", depth);
	__asm__ volatile("" ::: "memory");
	return result;
}

static PyType_Slot caller_slots[] = {
	{Py_tp_call, (void *)caller_call},
	{0, NULL},
};

static PyType_Spec caller_spec = {
	.name = "bouncer.Caller",
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = caller_slots,
};

static struct PyModuleDef bouncer_module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "bouncer",
	.m_size = -1,
	.m_methods = bouncer_methods,
};

PyMODINIT_FUNC PyInit_bouncer(void)
{
	PyObject *module = PyModule_Create(&bouncer_module);
	PyObject *caller = module ? PyType_FromSpec(&caller_spec) : NULL;

	if (!caller || PyModule_AddObject(module, "Caller", caller) < 0)
		return NULL;
#ifdef Py_GIL_DISABLED
	PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);
#endif
	return module;
}
