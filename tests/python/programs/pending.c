/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dies while an exception is set that nobody handles yet. Without Python.h: it is built once and loaded by
 * every interpreter, whose functions it finds at run time.
 */
#include <stdlib.h>

extern void PyErr_SetObject(void *type, void *value);
extern void *PyObject_CallObject(void *callable, void *args);

/** As C functions raise: up to 3.11 the exception is not made yet. */
void *set_and_die(void *type, void *value)
{
	PyErr_SetObject(type, value);
	abort();
}

/** @callable raises. */
void *call_and_die(void *callable)
{
	PyObject_CallObject(callable, NULL);
	abort();
}
