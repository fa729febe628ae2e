# SPDX-License-Identifier: GPL-3.0-or-later
"""Dies in a finalizer that the garbage collector calls, in the middle of allocations."""
import gc
import sys
import weakref

import truth


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        weak = Simple()
        keep = weakref.ref(weak, gone)
        del weak
        return keep


class Simple:
    pass


def gone(reference):
    truth.record(sys._getframe(), WEAVE, collecting=True), truth.end()


def collect():
    Cycle()
    gc.collect()


WEAVE = [
    truth.END,
    "gone",
    "@PyObject_ClearWeakRefs|handle_callback|subtype_dealloc",
    "__del__",
    "@gc_collect",
    "collect",
    "<module>",
    truth.MAIN,
]
gc.disable()
collect()
