# SPDX-License-Identifier: GPL-3.0-or-later
"""Callbacks from C by ctypes: with the GIL given up and taken again, and nested."""
import ctypes
import sys
import threading

import truth

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
Numbers = ctypes.c_int * 4
forever = threading.Event()


def sort(compare):
    numbers = Numbers(4, 3, 2, 1)
    libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), COMPARE(compare))


def outer(a, b):
    sort(inner)
    return 0


def inner(a, b):
    truth.record(sys._getframe(), WEAVE), truth.end()
    return 0


def waiting(a, b):
    forever.wait()
    return 0


WEAVE = [
    truth.END,
    "inner",
    "=qsort",
    "sort",
    "outer",
    "=qsort",
    "sort",
    "<module>",
    truth.MAIN,
]
threading.Thread(target=sort, args=(waiting,), daemon=True, name="in qsort").start()
sort(outer)
