/* SPDX-License-Identifier: GPL-3.0-or-later */
/** Native functions that only carry Python calls, by name. */
#ifndef CS_PYTHON_PLUMBING_H
#define CS_PYTHON_PLUMBING_H

#include <stdbool.h>

/** True if @function (of the interpreter, without parameters) is plumbing: _PyEval_Vector, ... */
bool cs_py_is_plumbing(const char *function);
/** True if @function is the evaluation loop, under any of its names. */
bool cs_py_is_eval_loop(const char *function);

#endif
