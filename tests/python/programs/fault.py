# SPDX-License-Identifier: GPL-3.0-or-later
"""faulthandler is on: it prints, and raises the signal again in its handler."""
import ctypes
import faulthandler
import functools
import sys

import truth

faulthandler.enable()
die = functools.partial(ctypes._string_at, 8, 1) if truth.FINISH == "abort" else truth.end


def crash(depth):
    if depth:
        return crash(depth - 1)
    truth.record(sys._getframe(), WEAVE), die()


WEAVE = ["=.", "crash*4", "<module>", truth.MAIN]
crash(3)
