# SPDX-License-Identifier: GPL-3.0-or-later
"""faulthandler is on: it prints, and raises the signal again in its handler."""
import ctypes
import faulthandler
import sys

import truth

faulthandler.enable()


def crash(depth):
    if depth:
        return crash(depth - 1)
    truth.record(sys._getframe(), WEAVE), ctypes._string_at(8, 1)


WEAVE = ["=.", "crash*4", "<module>", truth.MAIN]
crash(3)
