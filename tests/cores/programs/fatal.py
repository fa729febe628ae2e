# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends by Py_FatalError() in the way that its argument names."""
import atexit
import ctypes
import sys

WITHOUT_GIL = ctypes.CDLL(None)  # a call of it gives the lock up
TEXT = b"the tensor store is gone: shard 17 of 64"


def own_message():
    function = ctypes.pythonapi.Py_FatalError
    function.argtypes, function.restype = [ctypes.c_char_p], None
    function(TEXT)


def no_thread():
    WITHOUT_GIL.PyThreadState_Get()


def restored():
    function = WITHOUT_GIL.PyEval_RestoreThread
    function.argtypes, function.restype = [ctypes.c_void_p], None
    function(None)


def at_exit():
    atexit.register(no_thread)


def none_freed():
    """Until 3.11 None has a count of references that can come to nothing."""
    for _ in range(100_000_000):
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(None))


globals()[sys.argv[1]]()
